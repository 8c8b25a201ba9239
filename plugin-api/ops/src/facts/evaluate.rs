//! Computing calls: by evaluators, by the bodies of operators, and by their kernels.

use super::{OpFactsTable, OpSource};
use crate::{
    bodies::{closed_body, one_call},
    error::OpError,
    infer::{Coverage, infer_function},
    interpret::{self, Compute, NotComputed},
    op::Evaluation,
    relations::{Operators, Way},
    request::{CallParts, InferRequest},
    run::{Cause, Order, RunOptions, run_counted},
};
use abi_stable::std_types::RArc;
use relais_ir::{prim, *};
use std::cell::Cell;

/// How many steps the kernels of a function's calls may take together where results are to stay in the module.
const MAX_STEPS: u64 = 1 << 27;

/// How many steps a kernel may take where modules are compared.
const MAX_LENIENT_STEPS: u64 = 1 << 32;

/// The steps that kernels may still take.
pub(super) struct Fuel(Cell<u64>);

impl Default for Fuel {
    fn default() -> Self {
        Self(Cell::new(MAX_STEPS))
    }
}

impl<'a, S: OpSource<'a>> OpFactsTable<'a, S> {
    /// Computes a call in a way that its operator has.
    pub(super) fn computed(
        &mut self,
        way: Way,
        op: OpId,
        function: &Function,
        call: NodeId,
        inputs: &[Option<Tensor>],
        max_bytes: u64,
    ) -> Option<Result<Vec<Tensor>, OpError>> {
        let (version, is_lenient) = (self.get(op).version, self.is_lenient);
        let evaluation = Evaluation { function, call, version, inputs, max_bytes, is_lenient };
        let (n_results, (_, most)) = (function.n_results(call).unwrap_or(1), self.outputs(op));
        if n_results > usize::from(most) {
            let why = format_args!("it has {n_results} results where the operator gives at most {most}");
            return Some(Err(OpError::invalid(why)));
        }
        // A body alone says what its results are.
        let is_typed_apart = self.get(op).has_infer() || way != Way::Body;
        let infer = |request: &mut InferRequest<'_>| is_typed_apart.then(|| self.infer(op, request))?;
        let result = evaluation.run(infer, |request| {
            let outputs = match way {
                Way::Evaluator => return self.eval(op, request),
                Way::Body => self.eval_by_body(evaluation, op),
                Way::Kernel => self.eval_by_kernel(evaluation, op),
            };
            Some(outputs.map(|outputs| request.outputs = outputs.into()))
        })?;
        if let (Err(error), (part, Some(id))) = (&result, self.get(op).part(way)) {
            self.tell_broken(part, id, error);
        }
        Some(result)
    }

    /// Computes a call of an operator by its body.
    fn eval_by_body(&self, evaluation: Evaluation<'_>, op: OpId) -> Result<Vec<Tensor>, OpError> {
        let Evaluation { function, call, inputs, max_bytes, .. } = evaluation;
        let (facts, n_results) = (self.get(op), function.n_results(call).unwrap_or(1));
        // The body sees the arguments, not what is known of them where the call is.
        let alone = one_call(function, call, op, inputs)?;
        let (node, own) = (alone.bindings(alone.body())[0], OpId(0));
        let parts = CallParts::new(&alone, node);
        let body = self.body_for(facts, &parts.value(own, facts.version), n_results);
        let body = body.unwrap_or_else(|| Err(OpError::unsupported("it has no body")))?;
        self.compute(op, closed_body(&body, &alone, node, own, inputs)?, n_results, max_bytes)
    }

    /// Computes the results of a function without parameters, which an operator's body was made to.
    fn compute(&self, op: OpId, closed: Function, n_results: usize, max_bytes: u64) -> Result<Vec<Tensor>, OpError> {
        let mut module = IRModule::new();
        module.set_function(MAIN, RArc::new(closed));
        let results = interpret::run(&module, MAIN, &[], &InBody { table: self.for_body(self.get(op))?, max_bytes });
        let stopped = |stop: NotComputed| match stop {
            NotComputed::NotCovered { why, .. } => OpError::unsupported(format_args!("its body: {why}")),
            NotComputed::Wrong(why) => OpError::broken(format_args!("its body: {why}")),
        };
        results.map_err(stopped)?.into_iter().take(n_results).map(|result| result.map_err(stopped)).collect()
    }

    /// Computes a call of an operator by its kernel. A result that is to stay in the module is computed twice, with other
    /// memory and other turns of parallel loops, on which it must not depend.
    fn eval_by_kernel(&self, evaluation: Evaluation<'_>, op: OpId) -> Result<Vec<Tensor>, OpError> {
        let Evaluation { function, call, inputs, max_bytes, is_lenient, .. } = evaluation;
        // As for a body. The sizes of the results are those that the type relation gives for these arguments.
        let mut alone = one_call(function, call, op, inputs)?;
        let node = alone.bindings(alone.body())[0];
        let mut table = OpFactsTable { nesting: self.nesting.clone(), ..Self::empty(self.source) };
        let inferred = infer_function(&mut alone, &mut table, Coverage::Everything);
        if let Some(fault) = inferred.faults.into_iter().next() {
            // The relation is to blame, which is told where it is asked.
            return Err(OpError::unsupported(fault.error));
        }
        table.extend(&alone);
        let own = alone
            .call(node)
            .and_then(CallView::op)
            .ok_or_else(|| OpError::unsupported("it does not call an operator"))?;
        let kernel =
            table.kernel_of(&alone, node, own).unwrap_or_else(|| Err(OpError::unsupported("it has no kernel")))?;
        let outputs = &kernel.params()[kernel.params().len() - prim::n_outputs(&kernel)..];
        for (at, &output) in outputs.iter().enumerate() {
            let bytes = byte_len(kernel.type_of(output));
            if bytes.is_none_or(|bytes| bytes > max_bytes) {
                let bytes = bytes.map_or_else(|| "too many".to_owned(), |bytes| bytes.to_string());
                return Err(OpError::unsupported(format_args!(
                    "result {at} takes {bytes} bytes where {max_bytes} are allowed"
                )));
            }
        }
        let mut module = IRModule::new();
        module.set_prim_func("kernel", kernel);
        let given: Vec<Tensor> = inputs.iter().flatten().cloned().collect();
        let run = |poison: bool, order: Order| {
            let fuel = if is_lenient { MAX_LENIENT_STEPS } else { self.fuel.0.get() };
            let most = RunOptions::default().max_bytes;
            let most = if is_lenient { most.max(max_bytes) } else { most };
            let options = RunOptions { order, poison, fuel, max_bytes: most, ..RunOptions::default() };
            let (results, left) = run_counted(&module, "kernel", &given, &options);
            if !is_lenient {
                self.fuel.0.set(left);
            }
            results.map_err(|stop| match stop.cause {
                Cause::Wrong(_) => OpError::lied(format_args!("its kernel: {stop}")),
                Cause::Fuel(_) if !is_lenient => {
                    let place = stop.place.map_or_else(String::new, |place| format!(", at `{}`", place.text));
                    OpError::unsupported(format_args!(
                        "its kernel does not end within the {MAX_STEPS} steps that those of a function may take together{place}"
                    ))
                }
                _ => OpError::unsupported(format_args!("its kernel: {stop}")),
            })
        };
        let results = run(false, Order::Forward)?;
        if !is_lenient && run(true, Order::Backward)? != results {
            return Err(OpError::lied(
                "its kernel reads memory that it did not write, or leaves results unwritten, or the turns of its parallel \
                 loops disturb each other",
            ));
        }
        Ok(results)
    }
}

/// The bytes of a tensor of a type with known sizes.
fn byte_len(ty: Type<'_>) -> Option<u64> {
    ty.elem()?.bytes_for(element_count(&ty.static_shape()?)?)
}

/// Computes the bodies of operators.
struct InBody<'a, S> {
    table: OpFactsTable<'a, S>,
    max_bytes: u64,
}

impl<'a, S: OpSource<'a>> Compute for InBody<'a, S> {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        let (nesting, is_lenient) = (self.table.nesting.clone(), self.table.is_lenient);
        let mut table = OpFactsTable { nesting, is_lenient, ..OpFactsTable::empty(self.table.source) };
        table.extend(function);
        body(&mut table);
    }

    fn max_bytes(&self) -> u64 {
        self.max_bytes
    }
}
