//! Runs a function on tensors, with the evaluators there are.

mod axis;
mod containers;
mod loops;

use crate::{
    relations::Operators,
    run as loop_programs,
    run::{Cause, RunOptions},
};
use containers::ContainerOp;
use relais_ir::*;
use std::collections::HashMap;

/// Why a value was not computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotComputed {
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

/// A value, and its twin: the same value as it is in another precision, if that was asked for.
#[derive(Debug, Clone)]
pub struct Computed {
    /// The value.
    pub tensor: Tensor,
    /// Its twin.
    pub twin: Option<Tensor>,
}

impl From<Tensor> for Computed {
    fn from(tensor: Tensor) -> Self {
        Self { tensor, twin: None }
    }
}

impl Computed {
    fn byte_len(&self) -> u64 {
        self.tensor.byte_len() + self.twin.as_ref().map_or(0, Tensor::byte_len)
    }

    /// The twin, or the value itself.
    pub fn twin(&self) -> &Tensor {
        self.twin.as_ref().unwrap_or(&self.tensor)
    }

    /// The twin with elements of the type that the value has.
    pub fn narrowed(&self) -> Tensor {
        let twin = self.twin();
        if twin.elem() == self.tensor.elem() {
            return twin.clone();
        }
        let narrowed = twin.to_f64s().and_then(|values| Tensor::from_f64s(self.tensor.elem(), twin.dims(), &values));
        narrowed.unwrap_or_else(|| self.tensor.clone())
    }
}

/// Computes calls of operators.
pub trait Compute {
    /// Calls `body` with the facts about the operators that a function uses.
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators));

    /// Computes a call before any evaluator is asked.
    fn known(&self, _call: CallView<'_>, _inputs: &[Option<Tensor>]) -> Option<Tensor> {
        None
    }

    /// The twin of an input or a constant.
    fn twin(&self, _tensor: &Tensor) -> Option<Tensor> {
        None
    }

    /// The twins of the results of a call.
    fn twins(
        &self,
        _call: CallView<'_>,
        _args: &[Option<Computed>],
        _results: &[Tensor],
        _ops: &mut dyn Operators,
    ) -> Vec<Option<Tensor>> {
        Vec::new()
    }

    /// Other results of a call in the place of those that were computed.
    fn others(
        &self,
        _call: CallView<'_>,
        _args: &[Option<Computed>],
        _results: &[Tensor],
        _ops: &mut dyn Operators,
    ) -> Option<Vec<Tensor>> {
        None
    }

    /// Whether there are twins.
    fn has_twins(&self) -> bool {
        false
    }

    /// Is told which block of a function runs.
    fn enters(&self, _function: &Function, _block: BlockId) {}

    /// Whether nothing more is to be computed. Asked before each binding.
    fn is_stopped(&self) -> bool {
        false
    }

    /// The most bytes that one result may take.
    fn max_bytes(&self) -> u64 {
        1 << 24
    }

    /// The most bytes that all results may take that are alive at once, with their twins.
    fn max_bytes_alive(&self) -> u64 {
        u64::MAX
    }
}

/// The maximum nesting of blocks and calls of functions: the interpreter must not overflow the stack.
const MAX_DEPTH: usize = 64;

/// The most bindings that one run computes.
const MAX_STEPS: usize = 100_000;

/// The most steps of a loop program.
const MAX_PRIM_STEPS: u64 = 1 << 26;

/// Runs the function of that name on `inputs`, one for each parameter. Each result is a tensor, or the reason why there
/// is none: a value that cannot be computed only affects the values that depend on it.
///
/// # Errors
/// Returns an error if there is no such function, or it cannot be run at all.
pub fn run(
    module: &IRModule,
    name: &str,
    inputs: &[Tensor],
    compute: &dyn Compute,
) -> Result<Vec<Result<Tensor, NotComputed>>, NotComputed> {
    let results = run_with_twins(module, name, inputs, compute)?;
    Ok(results.into_iter().map(|result| Ok(result?.tensor)).collect())
}

/// As [`run`], with the twins of the results.
///
/// # Errors
/// As for [`run`].
pub fn run_with_twins(
    module: &IRModule,
    name: &str,
    inputs: &[Tensor],
    compute: &dyn Compute,
) -> Result<Vec<Result<Computed, NotComputed>>, NotComputed> {
    let mut fuel = Fuel { steps: MAX_STEPS, depth: 0, n_bytes: 0 };
    let input = |input: &Tensor| Ok(Value::with_twin(input.clone(), compute));
    let results = run_global(module, name, inputs.iter().map(input).collect(), compute, &mut fuel)?;
    let computed = |value: Known| match value? {
        Value::Tensor(computed) => Ok(computed),
        Value::Tuple(_) => Err(wrong("a result is a tuple")),
        Value::Sequence(_) | Value::Optional(_) => Err(not_covered("a result", "is a sequence or an optional")),
    };
    Ok(results.into_iter().map(computed).collect())
}

/// The form that a result has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultForm {
    /// A tensor, also in an optional.
    Tensor,
    /// A sequence of that many tensors, also in an optional.
    Sequence(usize),
    /// An optional without an element.
    Nothing,
}

impl ResultForm {
    /// How many tensors it has.
    pub fn n_tensors(self) -> usize {
        match self {
            Self::Tensor => 1,
            Self::Sequence(n) => n,
            Self::Nothing => 0,
        }
    }
}

/// As [`run_with_twins`]: the forms of all results, and their tensors one after another.
///
/// # Errors
/// Returns an error if a result cannot be computed.
pub fn run_whole(
    module: &IRModule,
    name: &str,
    inputs: &[Tensor],
    compute: &dyn Compute,
) -> Result<(Vec<ResultForm>, Vec<Computed>), NotComputed> {
    let mut fuel = Fuel { steps: MAX_STEPS, depth: 0, n_bytes: 0 };
    let inputs = inputs.iter().map(|input| Ok(Value::with_twin(input.clone(), compute))).collect();
    let (mut forms, mut tensors) = (Vec::new(), Vec::new());
    for result in run_global(module, name, inputs, compute, &mut fuel)? {
        let mut result = result?;
        while let Value::Optional(Some(value)) = result {
            result = *value;
        }
        forms.push(match result {
            Value::Tensor(computed) => {
                tensors.push(computed);
                ResultForm::Tensor
            }
            Value::Sequence(items) => {
                let form = ResultForm::Sequence(items.len());
                tensors.extend(items);
                form
            }
            Value::Optional(_) => ResultForm::Nothing,
            Value::Tuple(_) => return Err(wrong("a result is a tuple")),
        });
    }
    Ok((forms, tensors))
}

/// Whether a call needs no evaluator: it runs its functions, or its operator is one on sequences or optionals.
pub fn is_known(call: CallView<'_>) -> bool {
    known_op(call).is_some()
}

/// An operator that is part of the interpreter.
#[derive(Clone, Copy)]
enum KnownOp {
    Loop,
    Scan,
    Container(ContainerOp),
}

fn known_op(call: CallView<'_>) -> Option<KnownOp> {
    let name = call.op_name();
    let known = match name {
        "Loop" => KnownOp::Loop,
        "Scan" => KnownOp::Scan,
        _ => KnownOp::Container(ContainerOp::of(name)?),
    };
    call.is_op(name).then_some(known)
}

type Known = Result<Value, NotComputed>;

#[derive(Clone)]
enum Value {
    Tensor(Computed),
    Tuple(Vec<Known>),
    Sequence(Vec<Computed>),
    Optional(Option<Box<Value>>),
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor.into())
    }
}

impl Value {
    fn with_twin(tensor: Tensor, compute: &dyn Compute) -> Self {
        Self::Tensor(Computed { twin: compute.twin(&tensor), tensor })
    }

    fn byte_len(&self) -> u64 {
        match self {
            Self::Tensor(computed) => computed.byte_len(),
            Self::Tuple(fields) => fields.iter().flatten().map(Self::byte_len).sum(),
            Self::Sequence(items) => items.iter().map(Computed::byte_len).sum(),
            Self::Optional(value) => value.as_ref().map_or(0, |value| value.byte_len()),
        }
    }
}

struct Fuel {
    steps: usize,
    depth: usize,
    /// The bytes of the results that are alive.
    n_bytes: u64,
}

struct Run<'a> {
    module: &'a IRModule,
    f: &'a Function,
    ops: &'a mut dyn Operators,
    compute: &'a dyn Compute,
    fuel: &'a mut Fuel,
    values: HashMap<NodeId, Known>,
    /// The bytes of those that are results of calls.
    n_bytes: u64,
    /// How often each node is yet to be read: a value that is not read any more is dropped.
    n_uses: Vec<u32>,
}

/// Counts, for each node, how often it is an operand or a result.
fn n_uses(f: &Function) -> Vec<u32> {
    let mut n_uses = vec![0u32; f.n_nodes()];
    let mut count = |ids: &[NodeId]| ids.iter().for_each(|id| n_uses[id.index()] += 1);
    count(f.results(f.body()));
    for id in f.all_bindings() {
        count(f.operands(id));
        f.regions(id).iter().for_each(|&region| count(f.results(f.block_of(region))));
    }
    // A closure and the body of a loop may run often, and read the same values each time.
    for id in f.all_bindings() {
        let repeated = match f.kind(id) {
            kind::FUNCTION => std::slice::from_ref(&id),
            kind::CALL => f.regions(id),
            _ => continue,
        };
        for &function in repeated {
            let mut walk = Walk::block(f.block_of(function));
            while let Some(step) = walk.next(f) {
                let read = match step {
                    WalkStep::Enter(block) => f.results(block),
                    WalkStep::Binding(id) => f.operands(id),
                    _ => continue,
                };
                read.iter().for_each(|id| n_uses[id.index()] = u32::MAX);
            }
        }
    }
    n_uses
}

fn wrong(how: impl ToString) -> NotComputed {
    NotComputed::Wrong(how.to_string())
}

fn not_covered(what: &str, why: impl std::fmt::Display) -> NotComputed {
    NotComputed::NotCovered { what: what.to_owned(), why: format!("`{what}` {why}") }
}

fn run_global(
    module: &IRModule,
    name: &str,
    inputs: Vec<Known>,
    compute: &dyn Compute,
    fuel: &mut Fuel,
) -> Result<Vec<Known>, NotComputed> {
    let Some(f) = module.function(name) else {
        return match module.global(name) {
            Some(_) => run_prim_func(module, name, inputs),
            None => Err(wrong(format!("no function `{name}`"))),
        };
    };
    run_function(module, f, inputs, compute, fuel)
}

fn run_function(
    module: &IRModule,
    f: &Function,
    inputs: Vec<Known>,
    compute: &dyn Compute,
    fuel: &mut Fuel,
) -> Result<Vec<Known>, NotComputed> {
    let mut results = Err(wrong("nothing ran"));
    compute.with_ops(f, &mut |ops| {
        let values = f.params().iter().copied().zip(inputs.iter().cloned()).collect();
        let mut run = Run { module, f, ops, compute, fuel, values, n_bytes: 0, n_uses: n_uses(f) };
        results = run.block(f.body());
        run.fuel.n_bytes -= run.n_bytes;
    });
    results
}

fn run_prim_func(module: &IRModule, name: &str, inputs: Vec<Known>) -> Result<Vec<Known>, NotComputed> {
    let tensor = |value: Known| match value? {
        Value::Tensor(computed) => Ok(computed.tensor),
        _ => Err(wrong(format!("`@{name}` takes a value that is not a tensor"))),
    };
    let inputs: Vec<Tensor> = inputs.into_iter().map(tensor).collect::<Result<_, _>>()?;
    let options = RunOptions { fuel: MAX_PRIM_STEPS, ..RunOptions::default() };
    match loop_programs::run(module, name, &inputs, &options) {
        Ok(outputs) => Ok(outputs.into_iter().map(|output| Ok(output.into())).collect()),
        Err(stop) if matches!(stop.cause, Cause::Wrong(_)) => Err(wrong(stop)),
        Err(stop) => Err(not_covered(name, format_args!("stops: {stop}"))),
    }
}

impl Run<'_> {
    /// As deep as blocks are nested, up to a limit.
    fn block(&mut self, block: BlockId) -> Result<Vec<Known>, NotComputed> {
        if self.fuel.depth == MAX_DEPTH {
            return Err(not_covered("a block", "is nested too deep"));
        }
        self.fuel.depth += 1;
        self.compute.enters(self.f, block);
        for &id in self.f.bindings(block) {
            self.step()?;
            let value = self.binding(id);
            if self.n_uses[id.index()] > 0 {
                self.keep(id, value)?;
            }
        }
        self.fuel.depth -= 1;
        Ok(self.f.results(block).iter().map(|&id| self.value(id)).collect())
    }

    fn step(&mut self) -> Result<(), NotComputed> {
        if self.compute.is_stopped() {
            return Err(not_covered("the program", "was stopped"));
        }
        let left = self.fuel.steps.checked_sub(1);
        self.fuel.steps = left.ok_or_else(|| not_covered("the program", "takes too many steps"))?;
        Ok(())
    }

    /// Keeps the value of a binding until it is not read any more.
    fn keep(&mut self, id: NodeId, value: Known) -> Result<(), NotComputed> {
        let n_bytes = self.n_bytes_of(id, &value);
        let before = self.values.insert(id, value);
        self.dropped(id, before.as_ref());
        self.n_bytes += n_bytes;
        self.fuel.n_bytes += n_bytes;
        if self.fuel.n_bytes > self.compute.max_bytes_alive() {
            return Err(not_covered(
                "the program",
                format_args!("takes more than {} bytes", self.compute.max_bytes_alive()),
            ));
        }
        Ok(())
    }

    /// A value of a node is gone.
    fn dropped(&mut self, id: NodeId, value: Option<&Known>) {
        let n_bytes = value.map_or(0, |value| self.n_bytes_of(id, value));
        self.n_bytes -= n_bytes;
        self.fuel.n_bytes -= n_bytes;
    }

    /// The bytes of a value that is kept, if it is the result of a call.
    fn n_bytes_of(&self, id: NodeId, value: &Known) -> u64 {
        match value {
            Ok(value) if self.f.kind(id) == kind::CALL => value.byte_len(),
            _ => 0,
        }
    }

    /// Reads a value, once for each time that the node is an operand or a result.
    fn value(&mut self, id: NodeId) -> Known {
        let n_uses = &mut self.n_uses[id.index()];
        *n_uses = if *n_uses == u32::MAX { u32::MAX } else { n_uses.saturating_sub(1) };
        let value = match *n_uses {
            0 => {
                let value = self.values.remove(&id);
                self.dropped(id, value.as_ref());
                value
            }
            _ => self.values.get(&id).cloned(),
        };
        value.unwrap_or_else(|| Err(wrong(format!("{id} has no value"))))
    }

    fn tensor(&mut self, id: NodeId) -> Result<Tensor, NotComputed> {
        Ok(self.computed(id)?.tensor)
    }

    fn computed(&mut self, id: NodeId) -> Result<Computed, NotComputed> {
        match self.value(id)? {
            Value::Tensor(computed) => Ok(computed),
            _ => Err(wrong(format!("{id} is not a tensor"))),
        }
    }

    fn binding(&mut self, id: NodeId) -> Known {
        let f = self.f;
        match f.expr(id) {
            Expr::Constant(tensor) => Ok(Value::with_twin(tensor.clone(), self.compute)),
            Expr::Tuple(fields) => Ok(Value::Tuple(fields.iter().map(|&field| self.value(field)).collect())),
            Expr::TupleGetItem { tuple, index } => match self.value(tuple)? {
                Value::Tuple(fields) => {
                    fields.into_iter().nth(index).unwrap_or_else(|| Err(wrong(format!("{tuple} has no item {index}"))))
                }
                _ => Err(wrong(format!("{tuple} is not a tuple"))),
            },
            Expr::If(branch) => {
                let cond = self.tensor(branch.cond())?;
                if cond.byte_len() > self.compute.max_bytes() {
                    return Err(not_covered("a condition", "is too large"));
                }
                let taken = match cond.to_bytes().first() {
                    Some(0) | None => branch.else_branch(),
                    Some(_) => branch.then_branch(),
                };
                let results = self.block(f.block_of(taken))?;
                pack(results, f.n_results(id))
            }
            Expr::Call(call) => self.call(call),
            _ => Err(not_covered(&id.to_string(), "is neither value nor call")),
        }
    }

    fn call(&mut self, call: CallView<'_>) -> Known {
        let f = self.f;
        if let Expr::GlobalVar(name) = f.expr(call.callee()) {
            let inputs = call.args().iter().map(|&arg| self.value(arg)).collect();
            let results = match self.module.function(name).filter(|callee| has_references(callee)) {
                None => run_global(self.module, name, inputs, self.compute, self.fuel),
                Some(callee) => {
                    self.compute.enters(callee, callee.body());
                    let callee = with_attributes_of(callee, call)?;
                    run_function(self.module, &callee, inputs, self.compute, self.fuel)
                }
            };
            return pack(results?, call.n_results());
        }
        if let Expr::Function(closure) = f.expr(call.callee()) {
            if closure.params().len() != call.args().len() {
                return Err(wrong(format!("{} has another number of arguments than the closure it calls", call.id)));
            }
            for (&param, &arg) in closure.params().iter().zip(call.args()) {
                let value = self.value(arg);
                self.values.insert(param, value);
            }
            return pack(self.block(closure.block())?, call.n_results());
        }
        match known_op(call) {
            Some(KnownOp::Loop) => return self.run_loop(call),
            Some(KnownOp::Scan) => return self.run_scan(call),
            Some(KnownOp::Container(op)) => return self.container_call(op, call),
            None => {}
        }
        let mut given: Vec<Option<Computed>> = Vec::with_capacity(call.args().len());
        for &arg in call.args() {
            given.push(match arg.is_absent() {
                true => None,
                false => match self.value(arg)? {
                    Value::Tensor(computed) => Some(computed),
                    value if call.is_op("Identity") => return Ok(value),
                    _ => return Err(wrong(format!("{arg} is not a tensor"))),
                },
            });
        }
        let inputs: Vec<Option<Tensor>> = given.iter().map(|arg| Some(arg.as_ref()?.tensor.clone())).collect();
        let what = call.op_name();
        let op = call.op().ok_or_else(|| not_covered(what, "is not an operator"))?;
        let mut results = match self.compute.known(call, &inputs) {
            Some(result) => vec![result],
            None => self
                .ops
                .evaluate(op, f, call.id, &inputs, self.compute.max_bytes())
                .ok_or_else(|| not_covered(what, "has no evaluator"))?
                .map_err(|error| not_covered(what, format_args!("is not evaluated: {error}")))?,
        };
        if let Some(others) = self.compute.others(call, &given, &results, self.ops) {
            results = others;
        }
        let mut twins = Vec::new();
        if self.compute.has_twins() {
            twins = self.compute.twins(call, &given, &results, self.ops);
        }
        twins.resize(results.len(), None);
        let both = results.into_iter().zip(twins);
        pack(both.map(|(tensor, twin)| Ok(Value::Tensor(Computed { tensor, twin }))).collect(), call.n_results())
    }
}

/// Whether attributes in a function refer to its own.
fn has_references(f: &Function) -> bool {
    f.all_bindings().any(|id| f.attr_recs(id).iter().any(|rec| rec.kind == attr_kind::REF))
}

/// A function in which attributes have the values that they refer to in a call.
fn with_attributes_of(callee: &Function, call: CallView<'_>) -> Result<Function, NotComputed> {
    let attrs: Option<Vec<Attr>> = call.attrs().iter().map(|(name, value)| Attr::of(name.to_owned(), value)).collect();
    let attrs = attrs.ok_or_else(|| not_covered("a function", "has an attribute that cannot be carried over"))?;
    let params = |f: &mut Function| callee.params().iter().map(|_| f.add_var("", TypeId::UNKNOWN)).collect();
    Ok(instantiate(callee, params, attrs))
}

fn pack(results: Vec<Known>, n_results: Option<usize>) -> Known {
    match n_results {
        Some(_) => Ok(Value::Tuple(results)),
        None => results.into_iter().next().unwrap_or_else(|| Err(wrong("a call has no result"))),
    }
}
