//! Simplifies the integers, the conditions and the control of loop programs.
//!
//! ```text
//! for %i in 0..4 {
//!   for %j in 0..4 {
//!     when (%i * 4 + %j < 16) {
//!       %y[floordiv(%i * 4 + %j, 4), %j] = %x[%i + %j - %i] * 1.0;
//!     }
//!   }
//! }
//! ```
//! becomes
//! ```text
//! for %i in 0..4 {
//!   for %j in 0..4 {
//!     %y[%i, %j] = %x[%j];
//!   }
//! }
//! ```
//!
//! The bounds of integers, from those of loops, their remainders, and the conditions of the `when`, `if` and `assert` around
//! decide comparisons, `min`, `max` and `select`; a `when` or an `if` that is decided is replaced by
//! its branch, and a loop without turns goes. Sums are written with fewer operations where they can be, and divisors are
//! drawn into the parts of a sum that they divide. Operations on numbers are computed, except for functions such as `exp`, in
//! which C libraries differ. A store of what was loaded from that place goes.
//!
//! Integers wrap: `n + 1 > n` holds of loop variables, which have bounds, and not of a number that may be the largest. Floats
//! are not changed by what holds of real numbers: `x * 0`, `x - x` and `x + 0` stay, as NaN, infinities and the sign of zero
//! require; `x * 1`, `x / 1` and `--x` keep every bit.
//!
//! Three options are off by default. Each can be set for the pass, or as TVM has them in the context's `tir.Simplify`. They prove
//! comparisons from several conditions together, write conditions as an `and` of `or`s, and
//! simplify each side of `and` and `or` by the other one. They take longer. The second one may make conditions longer; where
//! it would join more than 16, it leaves them alone.
//!
//! TVM's pass takes `n + 1 > n` to be true of every integer, `x * 0` to be 0 and `x - x` to be 0 of floats too, and drops
//! `A[0] = A[0] + 0.0`. A remark says where there are such operations on floats.

mod conditions;
mod sums;

use crate::program::{is_program, remove_second_names};
use relais_plugin_api::{
    ir::{BlockId, Imm, Rebuild, TypeId, kind},
    prelude::*,
    prim::{CoreOp, Intervals, Linear, LoopOps, Mark, fold, remove_unused, rule, value_type},
};
use std::collections::HashMap;

/// Options of [`simplify`], those of TVM's `StmtSimplifyConfig`.
#[derive(Default, PassOptions)]
pub struct SimplifyConfig {
    /// Whether comparisons are proven from several conditions together, such as `i < k` from `i < j` and `j < k`.
    #[option(default = false)]
    transitively_prove_inequalities: bool,
    /// Whether conditions are written as an `and` of `or`s, in which more of them decide others.
    #[option(default = false)]
    convert_boolean_to_and_of_ors: bool,
    /// Whether each side of `and` and `or` is simplified by the other one.
    #[option(default = false)]
    apply_constraints_to_boolean_branches: bool,
}

impl SimplifyConfig {
    /// The options that one of two asks for.
    fn or(&self, other: &Self) -> Self {
        Self {
            transitively_prove_inequalities: self.transitively_prove_inequalities
                || other.transitively_prove_inequalities,
            convert_boolean_to_and_of_ors: self.convert_boolean_to_and_of_ors || other.convert_boolean_to_and_of_ors,
            apply_constraints_to_boolean_branches: self.apply_constraints_to_boolean_branches
                || other.apply_constraints_to_boolean_branches,
        }
    }
}

config_option! {
    "tir.Simplify": SimplifyConfig, aliases = ["tirx.StmtSimplify"],
    doc = "How loop programs are simplified."
}

/// Simplifies the integers, the conditions and the control of loop programs.
#[prim_func_pass(
    name = "relais.Simplify",
    aliases = [
        "tir.transform.Simplify", "tir.transform.StmtSimplify", "tirx.transform.StmtSimplify",
        "s_tir.transform.StmtSimplify",
    ],
    opt_level = 0,
    phase = "none",
)]
pub fn simplify(edit: &mut Editor, cx: &PassCx<'_>, options: &SimplifyConfig) -> Result<(), PassError> {
    let everywhere: SimplifyConfig = cx.config("tir.Simplify")?.ok_or("nobody registered `tir.Simplify`")?;
    if is_program(edit.function()) {
        simplify_with(edit, options.or(&everywhere), HashMap::new())?;
        if cx.wants_remarks() {
            remark_identities(edit.function(), cx);
        }
    }
    Ok(())
}

/// Says which operations on floats TVM would simplify as those of real numbers.
fn remark_identities(f: &Function, cx: &PassCx<'_>) {
    let ops = LoopOps::new(f);
    let is_zero = |id: NodeId| f.imm(id).and_then(|imm| imm.as_float()) == Some(0.0);
    let real = |&id: &NodeId| {
        let (op, &[a, b]) = (ops.of(f, id)?, f.call(id)?.args()) else { return None };
        let is_float = f.type_of(id).elem().is_some_and(ElemType::is_float);
        match op {
            _ if !is_float => None,
            CoreOp::Mul if is_zero(a) || is_zero(b) => Some("0"),
            CoreOp::Sub if a == b => Some("0"),
            CoreOp::Add if is_zero(a) || is_zero(b) => Some("the other operand"),
            _ => None,
        }
    };
    let all: Vec<(NodeId, &str)> = f.all_bindings().filter_map(|id| Some((id, real(&id)?))).collect();
    if let Some(&(id, value)) = all.first() {
        let more = match all.len() - 1 {
            0 => String::new(),
            n => format!(", and so do {n} more in this function"),
        };
        cx.remark(
            id,
            format_args!(
                "it stays{more}: with real numbers it would be {value}, which TVM makes of it; with floats, NaN, infinities \
                 and the sign of zero differ"
            ),
        );
    }
}

/// The facts that hold in the turns of loops, by their variables: how sums compare with 0.
pub type Facts = HashMap<NodeId, Vec<(CoreOp, Linear)>>;

/// Simplifies a loop program, of which more is known than it says.
pub fn simplify_with(edit: &mut Editor, config: SimplifyConfig, facts: Facts) -> Result<(), PassError> {
    let f = edit.function();
    let ops = LoopOps::new(f);
    let mut known = Intervals::new(f);
    if config.transitively_prove_inequalities {
        known.combine_conditions();
    }
    let is_inner = match config.convert_boolean_to_and_of_ors {
        true => conditions::inner_conditions(f, &ops),
        false => Vec::new(),
    };
    let mut simplify = Simplify {
        config,
        is_inner,
        known,
        ops,
        facts,
        branches: HashMap::new(),
        scopes: Vec::new(),
        writes: HashMap::new(),
        n_calls: 0,
        loads: HashMap::new(),
        inlines: false,
    };
    edit.rebuild(&mut simplify)?;
    if simplify.inlines {
        remove_second_names(edit.function_mut());
    }
    remove_unused(edit);
    Ok(())
}

struct Simplify {
    config: SimplifyConfig,
    ops: LoopOps,
    known: Intervals,
    facts: Facts,
    /// The facts that hold in the blocks of a binding that was kept.
    branches: HashMap<BlockId, Entry>,
    scopes: Vec<(BlockId, Mark)>,
    /// How often each memory was written so far; with calls, any may be.
    writes: HashMap<NodeId, u32>,
    n_calls: u32,
    /// The state of its memory when a value was loaded.
    loads: HashMap<NodeId, (u32, u32)>,
    /// By node, if conditions are converted to a normal form: whether it is a condition within another one.
    is_inner: Vec<bool>,
    /// Whether the bindings of a branch came into the block around it.
    inlines: bool,
}

/// The fact that holds when a block begins.
#[derive(Clone, Copy)]
enum Entry {
    Loop { var: NodeId, min: NodeId, extent: NodeId },
    Branch { condition: NodeId, truth: bool },
}

impl Rebuild for Simplify {
    type Error = PassError;

    fn enter(&mut self, editor: &mut Editor, block: BlockId) -> Result<(), PassError> {
        self.scopes.push((block, self.known.mark()));
        let f = editor.function();
        match self.branches.get(&block) {
            Some(&Entry::Loop { var, min, extent }) => {
                self.known.enter_loop(f, &self.ops, var, min, extent);
                for (op, sum) in self.facts.get(&var).into_iter().flatten() {
                    self.known.assume_sum(f, *op, sum.clone());
                }
            }
            Some(&Entry::Branch { condition, truth }) => self.known.assume(f, &self.ops, condition, truth),
            None => {}
        }
        Ok(())
    }

    fn exit(&mut self, _: &mut Editor, block: BlockId) -> Result<(), PassError> {
        if let Some((open, mark)) = self.scopes.pop() {
            debug_assert!(open == block);
            self.known.undo(mark);
        }
        Ok(())
    }

    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, PassError> {
        // New operands may have let its type go.
        if cx.function().type_id(id) == TypeId::UNKNOWN
            && cx.function().n_regions(id) == 0
            && let Ok(made) = rule(cx.function(), &self.ops, id)
        {
            let ty = made.add_to(cx.function_mut());
            cx.function_mut().set_type(id, ty);
        }
        let f = cx.function();
        if f.kind(id) == kind::IF {
            let &[condition, then, otherwise] = f.operands(id) else { return Ok(Action::Keep) };
            let branches = [then, otherwise];
            if branches.iter().any(|&branch| f.kind(branch) != kind::FUNCTION) {
                return Ok(Action::Keep);
            }
            let blocks = branches.map(|branch| f.block_of(branch));
            return Ok(match self.known.truth(f, &self.ops, condition) {
                Some(truth) => {
                    self.inlines = true;
                    Action::Inline(blocks[usize::from(!truth)])
                }
                None => {
                    self.branch(blocks[0], condition, true);
                    self.branch(blocks[1], condition, false);
                    Action::Keep
                }
            });
        }
        let Some(op) = self.ops.of(f, id) else {
            self.n_calls += u32::from(f.kind(id) == kind::CALL);
            return Ok(Action::Keep);
        };
        match op {
            CoreOp::For => Ok(self.for_loop(cx, id)),
            CoreOp::When => Ok(self.when(cx, id)),
            CoreOp::While => {
                // Its body may write before its condition is asked again.
                self.forget_memory();
                Ok(Action::Keep)
            }
            CoreOp::Assert => {
                let Some(condition) = first(f, id) else { return Ok(Action::Keep) };
                if self.known.truth(f, &self.ops, condition) == Some(true) {
                    return Ok(Action::Drop);
                }
                self.known.assume(f, &self.ops, condition, true);
                Ok(Action::Keep)
            }
            CoreOp::Store => Ok(self.store(f, id)),
            CoreOp::Scatter | CoreOp::StoreMasked => {
                if let Some(memory) = first(f, id) {
                    self.written(self.ops.memory_of(f, memory));
                }
                Ok(Action::Keep)
            }
            CoreOp::Load => {
                if let Some(memory) = first(f, id) {
                    let state = (self.n_writes(self.ops.memory_of(f, memory)), self.n_calls);
                    self.loads.insert(id, state);
                }
                Ok(Action::Keep)
            }
            _ => Ok(match self.value(cx, op, id)? {
                Some(by) => Action::Replace(by),
                None => {
                    self.known.bind(cx.function(), &self.ops, id);
                    Action::Keep
                }
            }),
        }
    }
}

impl Simplify {
    // ---- memory -------------------------------------------------------------------------------------------------------

    fn n_writes(&self, memory: NodeId) -> u32 {
        self.writes.get(&memory).copied().unwrap_or(0)
    }

    fn written(&mut self, memory: NodeId) {
        *self.writes.entry(memory).or_default() += 1;
    }

    /// From here on nothing is known of what memory contains.
    fn forget_memory(&mut self) {
        self.n_calls += 1;
    }

    /// `b[i] = b[i]` does nothing, unless `b` was written since it was loaded.
    fn store(&mut self, f: &Function, id: NodeId) -> Action {
        let [memory, value, indices @ ..] = &f.operands(id)[1..] else { return Action::Keep };
        let root = self.ops.memory_of(f, *memory);
        let is_same = |&(a, b): &(&NodeId, &NodeId)| a == b || f.imm(*a).is_some() && f.imm(*a) == f.imm(*b);
        let is_loaded = self.ops.of(f, *value) == Some(CoreOp::Load)
            && self.loads.get(value) == Some(&(self.n_writes(root), self.n_calls))
            && match &f.operands(*value)[1..] {
                [from, at @ ..] => from == memory && at.iter().zip(indices).all(|pair| is_same(&pair)),
                [] => false,
            };
        if is_loaded {
            return Action::Drop;
        }
        self.written(root);
        Action::Keep
    }

    // ---- control ------------------------------------------------------------------------------------------------------

    fn branch(&mut self, block: BlockId, condition: NodeId, truth: bool) {
        self.branches.insert(block, Entry::Branch { condition, truth });
    }

    fn for_loop(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Action {
        let f = cx.function();
        let Some(call) = f.call(id) else { return Action::Keep };
        let ([min, extent, carried @ ..], &[region]) = (call.args(), call.regions()) else { return Action::Keep };
        if self.known.of(f, *extent).max <= 0 {
            return match carried {
                [] => Action::Drop,
                [one] => Action::Replace(*one),
                _ => {
                    let carried = carried.to_vec();
                    cx.replace_results(id, carried);
                    Action::Drop
                }
            };
        }
        self.forget_memory();
        if let Some(&var) = f.operands(region).first() {
            self.branches.insert(f.block_of(region), Entry::Loop { var, min: *min, extent: *extent });
        }
        Action::Keep
    }

    fn when(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Action {
        let f = cx.function();
        let regions = f.regions(id);
        let (Some(condition), Some(&then)) = (first(f, id), regions.first()) else { return Action::Keep };
        let truth = self.known.truth(f, &self.ops, condition);
        self.inlines |= truth.is_some();
        match truth {
            Some(true) => Action::Inline(f.block_of(then)),
            Some(false) => regions.get(1).map_or(Action::Drop, |&region| Action::Inline(f.block_of(region))),
            None => {
                self.forget_memory();
                self.branch(f.block_of(then), condition, true);
                if let Some(&otherwise) = regions.get(1) {
                    self.branch(f.block_of(otherwise), condition, false);
                }
                Action::Keep
            }
        }
    }

    // ---- values -------------------------------------------------------------------------------------------------------

    /// A simpler value, if there is one.
    fn value(&mut self, cx: &mut RebuildCx<'_>, op: CoreOp, id: NodeId) -> Result<Option<NodeId>, PassError> {
        let f = cx.function();
        let Some(ty) = value_type(f.type_of(id)) else { return Ok(None) };
        if ty.lanes.is_some() {
            return Ok(None);
        }
        let args = &f.operands(id)[1..];
        if args.iter().all(|&arg| f.imm(arg).is_some()) && is_exact(op) {
            let numbers: Vec<Imm> = args.iter().filter_map(|&arg| f.imm(arg)).collect();
            return match fold(op, &numbers, ty.elem) {
                Ok(imm) => Ok(Some(number(cx, imm))),
                Err(_) => Ok(None),
            };
        }
        if let (CoreOp::Cast | CoreOp::Bitcast, &[a]) = (op, args)
            && f.type_id(a) == f.type_id(id)
        {
            return Ok(Some(a));
        }
        if let Some(by) = identity(f, op, args) {
            return Ok(Some(by));
        }
        if ty.elem == ElemType::BOOL
            && let Some(by) = self.condition(cx, op, id)?
        {
            return Ok(Some(by));
        }
        let f = cx.function();
        let args = &f.operands(id)[1..];
        let by = match (op, args) {
            (CoreOp::Select, &[c, a, b]) => {
                return Ok(self.known.truth(f, &self.ops, c).map(|truth| if truth { a } else { b }));
            }
            (CoreOp::Min | CoreOp::Max, &[a, b]) if ty.elem.is_integer() => {
                let is_first = match op {
                    CoreOp::Min => self.known.compare(f, &self.ops, CoreOp::Le, a, b),
                    _ => self.known.compare(f, &self.ops, CoreOp::Ge, a, b),
                };
                // Equal ones are the same value.
                let is_second = match op {
                    CoreOp::Min => self.known.compare(f, &self.ops, CoreOp::Le, b, a),
                    _ => self.known.compare(f, &self.ops, CoreOp::Ge, b, a),
                };
                return Ok(match (is_first, is_second) {
                    (Some(true), _) => Some(a),
                    (_, Some(true)) => Some(b),
                    _ => None,
                });
            }
            (CoreOp::FloorDiv | CoreOp::FloorMod | CoreOp::Div | CoreOp::Mod, &[a, b]) if ty.elem.is_integer() => {
                let by = f.imm(b).and_then(Imm::as_int).filter(|&by| by > 0);
                match by {
                    Some(by) => self.division(cx, op, a, by, ty.elem)?,
                    None if a == b && self.known.of(f, b).min > 0 => {
                        let value = i64::from(matches!(op, CoreOp::FloorDiv | CoreOp::Div));
                        Imm::int(ty.elem, value).map(|imm| number(cx, imm))
                    }
                    None => None,
                }
            }
            (CoreOp::Add | CoreOp::Sub | CoreOp::Mul | CoreOp::Neg, _) if ty.elem.is_integer() => {
                self.linear(cx, op, id, ty.elem)?
            }
            _ => None,
        };
        Ok(by)
    }

    fn note(&mut self, cx: &RebuildCx<'_>, id: NodeId) {
        self.known.bind(cx.function(), &self.ops, id);
    }
}

/// The first argument of a call.
fn first(f: &Function, id: NodeId) -> Option<NodeId> {
    f.call(id)?.arg(0)
}

/// A number, which is in no block.
fn number(cx: &mut RebuildCx<'_>, imm: Imm) -> NodeId {
    cx.function_mut().add_imm(imm)
}

/// Whether the result on numbers is the same on every machine: C libraries differ in functions such as `exp`.
fn is_exact(op: CoreOp) -> bool {
    use CoreOp::*;
    !matches!(
        op,
        Exp | Log | Pow | Erf | Sin | Cos | Tan | Asin | Acos | Atan | Sinh | Cosh | Tanh | Asinh | Acosh | Atanh
    )
}

/// Operations that leave an operand as it is, bit by bit.
fn identity(f: &Function, op: CoreOp, args: &[NodeId]) -> Option<NodeId> {
    let is_number = |id: NodeId, number: f64| {
        f.imm(id).is_some_and(|imm| match imm.as_int() {
            Some(value) => value as f64 == number,
            None => imm.as_float().is_some_and(|value| value == number && (value != 0.0 || value.is_sign_negative())),
        })
    };
    let is_integer = |id: NodeId| value_type(f.type_of(id)).is_some_and(|ty| ty.elem.is_integer());
    match (op, args) {
        (CoreOp::Mul, &[a, b]) if is_number(b, 1.0) => Some(a),
        (CoreOp::Mul, &[a, b]) if is_number(a, 1.0) => Some(b),
        (CoreOp::Div, &[a, b]) if is_number(b, 1.0) => Some(a),
        (CoreOp::Add | CoreOp::Sub | CoreOp::Or | CoreOp::Xor | CoreOp::Shl | CoreOp::Shr, &[a, b])
            if is_integer(a) && is_number(b, 0.0) =>
        {
            Some(a)
        }
        (CoreOp::Add | CoreOp::Or | CoreOp::Xor, &[a, b]) if is_integer(b) && is_number(a, 0.0) => Some(b),
        (CoreOp::Mul | CoreOp::And, &[a, b]) if is_integer(b) && is_number(a, 0.0) => Some(a),
        (CoreOp::Mul | CoreOp::And, &[a, b]) if is_integer(a) && is_number(b, 0.0) => Some(b),
        (CoreOp::And | CoreOp::Or, &[a, b]) if a == b => Some(a),
        (CoreOp::Min | CoreOp::Max, &[a, b]) if a == b => Some(a),
        (CoreOp::Select, &[_, a, b]) if a == b => Some(a),
        (CoreOp::Neg | CoreOp::Not, &[a]) => {
            let inner = f.call(a)?;
            let is_same = inner.is_op(if op == CoreOp::Neg { "tir::neg" } else { "tir::not" });
            is_same.then(|| inner.arg(0)).flatten()
        }
        _ => None,
    }
}
