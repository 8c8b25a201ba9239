//! Runs a function on tensors, with the registered evaluators and, for the few operators that folding never computes,
//! straightforward loops of its own: the judge of the filetests.

use crate::reference;
use relais_plugin_api::{boundary::local, infer::Operators, ir::*};
use std::collections::HashMap;

/// Why a function was not run to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Something is not covered here.
    NotCovered {
        /// The operator or the value.
        what: String,
        /// The reason: it has no evaluator, or that does not cover the case.
        why: String,
    },
    /// The program is wrong.
    Wrong(String),
}

/// Runs the function of that name on `inputs`, one for each parameter.
///
/// # Errors
/// When it cannot be run to its end.
pub fn run(module: &IRModule, name: &str, inputs: &[Tensor]) -> Result<Vec<Tensor>, Stop> {
    let f = module.function(name).ok_or_else(|| Stop::Wrong(format!("no function `{name}`")))?;
    local::with_ops(f, |ops| {
        let mut run = Run { module, f, ops, values: HashMap::new() };
        for (&param, input) in f.params().iter().zip(inputs) {
            run.values.insert(param, Value::Tensor(input.clone()));
        }
        run.block(f.body())
    })
}

#[derive(Clone)]
enum Value {
    Tensor(Tensor),
    Tuple(Vec<Value>),
}

struct Run<'a> {
    module: &'a IRModule,
    f: &'a Function,
    ops: &'a mut dyn Operators,
    values: HashMap<NodeId, Value>,
}

impl Run<'_> {
    fn block(&mut self, block: BlockId) -> Result<Vec<Tensor>, Stop> {
        for &id in self.f.bindings(block) {
            let value = self.binding(id)?;
            self.values.insert(id, value);
        }
        self.f.results(block).iter().map(|&id| self.tensor(id)).collect()
    }

    fn tensor(&self, id: NodeId) -> Result<Tensor, Stop> {
        match self.values.get(&id) {
            Some(Value::Tensor(tensor)) => Ok(tensor.clone()),
            _ => Err(Stop::Wrong(format!("{id} has no tensor"))),
        }
    }

    fn binding(&mut self, id: NodeId) -> Result<Value, Stop> {
        let f = self.f;
        match f.expr(id) {
            Expr::Constant(tensor) => Ok(Value::Tensor(tensor.clone())),
            Expr::Tuple(fields) => {
                let fields = fields.iter().map(|field| self.values.get(field).cloned());
                fields.collect::<Option<_>>().map(Value::Tuple).ok_or_else(|| Stop::Wrong("a field is missing".into()))
            }
            Expr::TupleGetItem { tuple, index } => match self.values.get(&tuple) {
                Some(Value::Tuple(fields)) => {
                    fields.get(index).cloned().ok_or_else(|| Stop::Wrong(format!("{tuple} has no item {index}")))
                }
                _ => Err(Stop::Wrong(format!("{tuple} is no tuple"))),
            },
            Expr::If(branch) => {
                let taken = match self.tensor(branch.cond())?.to_bytes().first() {
                    Some(0) | None => branch.else_branch(),
                    Some(_) => branch.then_branch(),
                };
                let results = self.block(f.block_of(taken))?;
                Ok(pack(results, f.n_results(id)))
            }
            Expr::Call(call) => self.call(call),
            _ => Err(Stop::NotCovered { what: id.to_string(), why: format!("`{id}` is neither value nor call") }),
        }
    }

    fn call(&mut self, call: CallView<'_>) -> Result<Value, Stop> {
        let f = self.f;
        let inputs: Vec<Option<Tensor>> = call
            .args()
            .iter()
            .map(|&arg| if arg.is_absent() { Ok(None) } else { self.tensor(arg).map(Some) })
            .collect::<Result<_, _>>()?;
        if let Expr::GlobalVar(name) = f.expr(call.callee()) {
            let inputs: Vec<Tensor> = inputs.into_iter().flatten().collect();
            return Ok(pack(run(self.module, name, &inputs)?, call.n_results()));
        }
        let what = call.op_name();
        let not_covered = |why: &str| Stop::NotCovered { what: what.to_owned(), why: format!("`{what}` {why}") };
        let op = call.op().ok_or_else(|| not_covered("is no operator"))?;
        let results = match reference::evaluate(call, &inputs) {
            Some(result) => vec![result],
            None => self
                .ops
                .evaluate(op, f, call.id, &inputs, u64::MAX)
                .ok_or_else(|| not_covered("has no evaluator"))?
                .map_err(|error| not_covered(&format!("is not evaluated: {error}")))?,
        };
        Ok(pack(results, call.n_results()))
    }
}

fn pack(mut results: Vec<Tensor>, n_results: Option<usize>) -> Value {
    match n_results {
        Some(_) => Value::Tuple(results.into_iter().map(Value::Tensor).collect()),
        None => Value::Tensor(results.swap_remove(0)),
    }
}
