//! The gradients of operators, as passes ask for them.

use super::{OpFacts, OpFactsTable, OpSource};
use crate::{
    abi::{CallEntry, operator_part},
    bodies::{adapt, gradient_of_call, owned_imports, parse_gradient},
    error::OpError,
    infer::{Coverage, infer_function},
    request::CallParts,
};
use relais_ir::*;

impl<'a, S: OpSource<'a>> OpFactsTable<'a, S> {
    /// Returns the function that computes the gradients of a call's arguments, typed; `None` if the operator describes
    /// none. Its parameters are the arguments that are present, the results, and the gradients of the results; its results
    /// are the gradients of the arguments, absent or omitted where there is none.
    ///
    /// # Errors
    /// Returns an error if there is none for this call, or the operator's plugin is at fault.
    pub fn gradient(&mut self, function: &Function, call: NodeId) -> Option<Result<Function, OpError>> {
        let op = function.call(call).and_then(CallView::op)?;
        self.extend(function);
        let facts = self.find(op)?;
        let id = facts.gradient_of.id?;
        let entry = facts.gradient_of.get(|id| self.source.call_entry(operator_part::GRADIENT, id))?;
        let gradient = entry.and_then(|entry| self.make_gradient(facts, entry, function, call, op));
        if let Err(error) = &gradient {
            self.tell_broken(operator_part::GRADIENT, id, error);
        }
        Some(gradient)
    }

    fn make_gradient(
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
        let (schema, request) = self.ask_about(facts, entry, value, n_results)?;
        let n_args = value.args.len() - n_results;
        let name = (facts.name.0.as_str(), facts.name.1.as_str());
        let mut made = parse_gradient(name, schema, request.made("gradient")?, (n_args, n_results))?;
        let mut bodies = Self::empty(self.source);
        adapt(&mut made, "gradient", name.1, &owned_imports(function), &mut bodies)
            .map_err(|error| OpError::unsupported(error.rec().message.as_str()))?;
        self.check_calls(facts, &made, "gradient")?;
        let mut gradient = gradient_of_call(&made, &value, n_results)?;
        let typed = infer_function(&mut gradient, &mut self.for_body(facts)?, Coverage::Everything);
        if let Some(first) = typed.faults.first() {
            let op = gradient.call(first.node).map_or("", CallView::op_name);
            let message = format!("its gradient: `{op}`: {}", first.error.message);
            return Err(OpError { message: message.into(), ..first.error.clone() });
        }
        for (index, (&result, arg)) in gradient.results(gradient.body()).iter().zip(value.args.iter()).enumerate() {
            if result.is_absent() {
                continue;
            }
            if arg.present == 0 {
                let why = format_args!("it gives argument {index}, which the call does not have, a gradient");
                return Err(OpError::lied(why));
            }
            if let Some(why) = contradiction(function.ty(arg.ty), gradient.type_of(result)) {
                return Err(OpError::lied(format_args!("the gradient of argument {index}: {why}")));
            }
        }
        Ok(gradient)
    }
}
