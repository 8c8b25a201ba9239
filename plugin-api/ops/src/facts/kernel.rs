//! The kernels of calls, as passes ask for them.

use super::{OpFacts, OpFactsTable, OpSource};
use crate::{
    abi::{CallEntry, operator_part},
    error::OpError,
    op::static_sizes,
    request::CallParts,
};
use relais_ir::*;

impl<'a, S: OpSource<'a>> OpFactsTable<'a, S> {
    /// Returns the prim func that computes a call, typed; `None` if the operator has no kernels. Its parameters are the
    /// memory of the arguments that are present, then that of the results.
    ///
    /// # Errors
    /// Returns an error if there is none for this call, or the operator's plugin is at fault.
    pub fn kernel(&mut self, function: &Function, call: NodeId) -> Option<Result<Function, OpError>> {
        let op = function.call(call).and_then(CallView::op)?;
        self.extend(function);
        let kernel = self.kernel_of(function, call, op)?;
        if let (Err(error), Some(id)) = (&kernel, self.find(op)?.compute.id) {
            self.tell_broken(operator_part::COMPUTE, id, error);
        }
        Some(kernel)
    }

    /// The same, without telling whose fault an error is.
    pub(super) fn kernel_of(&self, function: &Function, call: NodeId, op: OpId) -> Option<Result<Function, OpError>> {
        let facts = self.find(op)?;
        let entry = facts.compute.get(|id| self.source.call_entry(operator_part::COMPUTE, id))?;
        Some(entry.and_then(|entry| self.make_kernel(facts, entry, function, call, op)))
    }

    fn make_kernel(
        &self,
        facts: &OpFacts<'_>,
        entry: CallEntry,
        function: &Function,
        call: NodeId,
        op: OpId,
    ) -> Result<Function, OpError> {
        let parts = CallParts::new(function, call).with_results();
        let value = parts.value(op, facts.version);
        let n_results = function.n_results(call).unwrap_or(1);
        let (_, request) = self.ask_about(facts, entry, value, n_results)?;
        let kernel = parse(request.made("kernel")?)?;
        let present = value.args.iter().filter(|arg| arg.present != 0);
        let wanted: Vec<_> = present.map(|arg| static_sizes(value.types_of.ty(arg.ty))).collect();
        let given: Vec<_> = kernel.params().iter().map(|&param| static_sizes(kernel.type_of(param))).collect();
        if given != wanted || prim::n_outputs(&kernel) != n_results {
            return Err(OpError::lied("it made a kernel for other arguments or results than those of the call"));
        }
        Ok(kernel)
    }
}

/// The prim func that a text is.
fn parse(text: &str) -> Result<Function, OpError> {
    let lied = |why: &dyn std::fmt::Display| OpError::lied(format_args!("it made a kernel that is wrong: {why}"));
    let mut module = text::parse("the kernel", text, &text::SideFile::default())
        .map_err(|faults| lied(&faults.first().map(ToString::to_string).unwrap_or_default()))?;
    let [global] = module.globals() else { return Err(lied(&"it is not one function")) };
    let Some(f) = global.prim_func() else { return Err(lied(&"it is not a prim func")) };
    let (name, mut f) = (global.name.to_string(), Function::clone(f));
    prim::infer(&mut f);
    module.set_prim_func(&name, f.clone());
    match verify(&module).first() {
        Some(fault) => Err(lied(fault)),
        None => Ok(f),
    }
}
