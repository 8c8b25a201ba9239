//! Makes the loops and the indices of a loop program `int32` instead of `int64`, where they are proven to fit.
//!
//! ```text
//! for %i in 0..4 {
//!   for %j in 0..8 {
//!     %y[%i * 8 + %j] = 1.0;
//!   }
//! }
//! ```
//! becomes
//! ```text
//! for %i in 0i32..4i32 {
//!   for %j in 0i32..8i32 {
//!     %y[%i * 8 + %j] = 1.0;
//!   }
//! }
//! ```
//!
//! For processors whose registers have 32 bits. The bounds of loops and the conditions around have to say that a variable, or the
//! result of a sum, a product, a quotient, a remainder, `min`, `max`, `select` or a conversion, is an `int32`: each
//! intermediate one, not the last one only. If a value may be larger, it stays `int64`, and so does all that it is computed from
//! and that is computed from it, so that conversions are needed in few places: where a value is
//! stored, carried by a loop, or compared with one that stays. Loads, and what loops carry, stay what they are.
//!
//! TVM's pass `NarrowDataType` has the argument `target_bits`; here it is 32, as indices are `int32` or `int64`.

use crate::program::{self, call, is_program, set_attr};
use relais_plugin_api::{
    ir::{Imm, Type, TypeId, Walk, WalkStep},
    prelude::*,
    prim::{Bounds, CoreOp, Intervals, LoopOps, Scalar, value_type},
};
use std::collections::HashMap;

/// Makes loops and indices `int32` where they are proven to fit.
#[prim_func_pass(
    name = "relais.NarrowIndex",
    aliases = ["tir.transform.NarrowDataType", "tirx.transform.NarrowDataType"],
    opt_level = 0,
    phase = "none",
    statistics(narrowed = "values that became `int32`"),
)]
pub fn narrow_index(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    if !is_program(f) {
        return Ok(());
    }
    let ops = LoopOps::new(f);
    let narrow = Plan::new(f, &ops, cx).narrow;
    let n_narrow = narrow.iter().filter(|&&is_narrow| is_narrow).count();
    if n_narrow > 0 {
        cx.count("narrowed", n_narrow);
        write(edit.function_mut(), ops, &narrow);
    }
    Ok(())
}

/// The numbers of an `int32`.
const NARROW: Bounds = Bounds::range(i32::MIN as i64, i32::MAX as i64);

fn fits(bounds: Bounds) -> bool {
    bounds.min >= NARROW.min && bounds.max <= NARROW.max
}

fn is_wide(f: &Function, id: NodeId) -> bool {
    value_type(f.type_of(id)) == Some(Scalar { elem: ElemType::INT64, lanes: None })
}

/// How a binding takes an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// In either type: an index, or the operand of a conversion.
    Any,
    /// In the type of the other operands and of the result, which is one of those that may become narrow.
    Same,
    /// The same, but it chooses one of its operands, so a conversion before it costs little.
    Choice,
    /// In the type of the other operand of a comparison.
    Compared,
    /// As a bound of a loop, in the type of its variable.
    Bound,
    /// As an `int64`.
    Wide,
}

/// How a binding takes the operand at a position.
fn use_of(op: Option<CoreOp>, at: usize) -> Use {
    let Some(op) = op else { return Use::Wide };
    match op {
        CoreOp::Add | CoreOp::Sub | CoreOp::Mul | CoreOp::Neg | CoreOp::Abs => Use::Same,
        CoreOp::Div | CoreOp::Mod | CoreOp::FloorDiv | CoreOp::FloorMod => Use::Same,
        CoreOp::Min | CoreOp::Max => Use::Choice,
        CoreOp::Select if at > 1 => Use::Choice,
        CoreOp::Cast => Use::Any,
        CoreOp::For if at == 1 || at == 2 => Use::Bound,
        _ if op.negated().is_some() => Use::Compared,
        _ if op.first_index().is_some_and(|first| at > first) => Use::Any,
        _ => Use::Wide,
    }
}

/// The values that become `int32`.
struct Plan<'a> {
    f: &'a Function,
    ops: &'a LoopOps,
    /// By node.
    narrow: Vec<bool>,
    /// By node that may become narrow: the bindings that take it.
    users: HashMap<NodeId, Vec<NodeId>>,
    /// The variables of loops, by their bounds; and the reverse.
    vars: HashMap<NodeId, NodeId>,
    loops: HashMap<NodeId, NodeId>,
}

impl<'a> Plan<'a> {
    fn new(f: &'a Function, ops: &'a LoopOps, cx: &PassCx<'_>) -> Self {
        let narrow = vec![false; f.n_nodes()];
        let mut plan = Self { f, ops, narrow, users: HashMap::new(), vars: HashMap::new(), loops: HashMap::new() };
        let too_wide = plan.survey();
        for &id in &too_wide {
            plan.widen(id);
        }
        if cx.wants_remarks() {
            let mut stay: Vec<_> =
                plan.vars.iter().filter(|(_, var)| is_wide(f, **var) && !plan.narrow[var.index()]).collect();
            stay.sort_unstable();
            for (&id, var) in stay {
                let why = match too_wide.contains(var) {
                    true => "its variable may be larger",
                    false => "a value that is computed from its variable, or a bound, may be larger",
                };
                cx.remark(id, format_args!("the loop stays `int64`: {why} than an `int32`"));
            }
        }
        plan
    }

    /// Takes the values that fit as narrow, and returns those that may not be an `int32`.
    fn survey(&mut self) -> Vec<NodeId> {
        let (f, ops) = (self.f, self.ops);
        let mut too_wide = Vec::new();
        let mut known = Intervals::new(f);
        let (mut marks, mut owners) = (Vec::new(), Vec::new());
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => {
                    marks.push(known.mark());
                    let Some(&owner) = owners.last() else { continue };
                    known.enter(f, ops, owner, block);
                    if let (Some(CoreOp::For), Some(&var)) =
                        (ops.of(f, owner), f.operands(f.block(block).owner).first())
                    {
                        self.vars.insert(owner, var);
                        self.loops.insert(var, owner);
                        self.take(&known, var, &mut too_wide);
                    }
                }
                WalkStep::Exit(_) => {
                    if let Some(mark) = marks.pop() {
                        known.undo(mark);
                    }
                }
                WalkStep::Leave(_) => drop(owners.pop()),
                WalkStep::Binding(id) => {
                    let op = ops.of(f, id);
                    let n_operands = f.operands(id).len() - f.n_regions(id);
                    for &operand in &f.operands(id)[..n_operands] {
                        if is_wide(f, operand) && f.imm(operand).is_none() {
                            self.users.entry(operand).or_default().push(id);
                        }
                    }
                    if f.n_regions(id) > 0 {
                        owners.push(id);
                        continue;
                    }
                    known.bind(f, ops, id);
                    if op == Some(CoreOp::Assert) {
                        known.assume(f, ops, f.operands(id)[1], true);
                    }
                    let is_integer = |id: NodeId| value_type(f.type_of(id)).is_some_and(|ty| ty.elem.is_integer());
                    match use_of(op, 2) {
                        Use::Same | Use::Choice => self.take(&known, id, &mut too_wide),
                        Use::Any if op == Some(CoreOp::Cast) && is_integer(f.operands(id)[1]) => {
                            self.take(&known, id, &mut too_wide);
                        }
                        _ if is_wide(f, id) => too_wide.push(id),
                        _ => {}
                    }
                }
            }
        }
        // The operands of what seemed to fit.
        for at in 0..self.narrow.len() {
            let id = NodeId::from_index(at);
            if self.narrow[at] && !self.has_narrow_operands(id) {
                too_wide.push(id);
            }
        }
        too_wide
    }

    fn take(&mut self, known: &Intervals, id: NodeId, too_wide: &mut Vec<NodeId>) {
        if is_wide(self.f, id) {
            match fits(known.of(self.f, id)) {
                true => self.narrow[id.index()] = true,
                false => too_wide.push(id),
            }
        }
    }

    /// The operands that have the type of a value.
    fn operands(&self, id: NodeId) -> &'a [NodeId] {
        match self.loops.get(&id) {
            Some(&owner) => &self.f.operands(owner)[1..3],
            None if self.ops.of(self.f, id) == Some(CoreOp::Cast) => &[],
            None => &self.f.operands(id)[1..],
        }
    }

    fn has_narrow_operands(&self, id: NodeId) -> bool {
        let f = self.f;
        self.operands(id).iter().all(|&operand| match f.imm(operand).and_then(Imm::as_int) {
            Some(number) => fits(Bounds::one(number)),
            None => !is_wide(f, operand) || self.narrow[operand.index()],
        })
    }

    /// Keeps a value `int64`, with what has to have its type.
    fn widen(&mut self, id: NodeId) {
        let (f, ops) = (self.f, self.ops);
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            self.narrow[id.index()] = false;
            // The values that it is computed from.
            if !self.loops.contains_key(&id) && use_of(ops.of(f, id), 2) == Use::Same {
                open.extend(self.operands(id).iter().filter(|operand| self.narrow[operand.index()]));
            }
            // The values that are computed from it.
            for &user in self.users.get(&id).into_iter().flatten() {
                for at in f.operands(user).iter().enumerate().filter(|(_, operand)| **operand == id).map(|(at, _)| at) {
                    match use_of(ops.of(f, user), at) {
                        Use::Same | Use::Choice => open.extend(Some(user).filter(|user| self.narrow[user.index()])),
                        Use::Bound => open.extend(self.vars.get(&user).filter(|var| self.narrow[var.index()])),
                        Use::Any | Use::Compared | Use::Wide => {}
                    }
                }
            }
        }
    }
}

/// Writes what was decided.
fn write(f: &mut Function, mut ops: LoopOps, narrow: &[bool]) {
    let int32 = f.add_type(Type::Tensor { elem: ElemType::INT32, shape: Some(&[]) });
    let mut writer = Writer { narrow, int32, same: HashMap::new() };
    let mut steps = Vec::new();
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        steps.push(step);
    }
    let mut lists: Vec<Vec<NodeId>> = Vec::new();
    for step in steps {
        match step {
            WalkStep::Enter(_) => lists.push(Vec::new()),
            WalkStep::Leave(_) => {}
            WalkStep::Binding(id) => {
                let Some(list) = lists.last_mut() else { continue };
                writer.binding(f, &mut ops, id, list);
            }
            WalkStep::Exit(block) => {
                let mut list = lists.pop().unwrap_or_default();
                let results = f.results(block).to_vec();
                let new: Vec<NodeId> = results.iter().map(|&id| writer.wide(f, &mut ops, id, &mut list)).collect();
                if new != results {
                    f.set_results(block, &new);
                }
                if f.bindings(block) != list {
                    f.set_bindings(block, &list);
                }
            }
        }
    }
    let same = writer.same;
    if !same.is_empty() {
        program::replace(f, f.body(), |id| same.get(&id).copied().unwrap_or(id));
    }
}

struct Writer<'a> {
    narrow: &'a [bool],
    int32: TypeId,
    /// Conversions to `int64` that became nothing, with their operands.
    same: HashMap<NodeId, NodeId>,
}

impl Writer<'_> {
    fn is_narrow(&self, id: NodeId) -> bool {
        self.narrow.get(id.index()) == Some(&true)
    }

    /// Whether an operand is an `int32`, or can be written as one.
    fn may_be_narrow(&self, f: &Function, id: NodeId) -> bool {
        match f.imm(id).and_then(Imm::as_int) {
            Some(number) => fits(Bounds::one(number)),
            None => self.is_narrow(id),
        }
    }

    /// Puts a binding into the list of its block, behind the conversions that it needs.
    fn binding(&mut self, f: &mut Function, ops: &mut LoopOps, id: NodeId, list: &mut Vec<NodeId>) {
        let op = ops.of(f, id);
        let operands = f.operands(id).to_vec();
        let n = operands.len() - f.n_regions(id);
        let var = f.regions(id).first().and_then(|&region| f.operands(region).first()).copied();
        let var = var.filter(|&var| op == Some(CoreOp::For) && self.is_narrow(var));
        let is_narrow_comparison = n > 2
            && operands[1..n].iter().all(|&id| self.may_be_narrow(f, id))
            && operands[1..n].iter().any(|&id| self.is_narrow(id));
        let mut new = operands.clone();
        for (at, &operand) in operands[..n].iter().enumerate() {
            let is_taken_narrow = match use_of(op, at) {
                Use::Same | Use::Choice => self.is_narrow(id),
                Use::Compared => is_narrow_comparison,
                Use::Bound => var.is_some(),
                Use::Any => continue,
                Use::Wide => false,
            };
            new[at] = match f.imm(operand).filter(|imm| is_taken_narrow && imm.elem() == ElemType::INT64) {
                Some(imm) => match imm.as_int().and_then(|number| Imm::int(ElemType::INT32, number)) {
                    Some(imm) => f.add_imm(imm),
                    None => operand,
                },
                None if is_taken_narrow => operand,
                None => self.wide(f, ops, operand, list),
            };
        }
        if new != operands {
            let mut new = new.into_iter();
            f.map_operands(id, |operand| new.next().unwrap_or(operand));
        }
        if let Some(var) = var {
            f.set_type(var, self.int32);
        }
        if self.is_narrow(id) {
            if op == Some(CoreOp::Cast) {
                if f.type_id(operands[1]) == self.int32 {
                    let operand = self.same.get(&operands[1]).copied().unwrap_or(operands[1]);
                    self.same.insert(id, operand);
                    return;
                }
                set_attr(f, id, &elem(ElemType::INT32));
            }
            f.set_type(id, self.int32);
        }
        list.push(id);
    }

    /// A value as it was before, by a conversion if it is an `int32` now.
    fn wide(&self, f: &mut Function, ops: &mut LoopOps, id: NodeId, list: &mut Vec<NodeId>) -> NodeId {
        if !self.is_narrow(id) {
            return id;
        }
        let wide = call(f, ops, CoreOp::Cast, &[id], &[elem(ElemType::INT64)]);
        list.push(wide);
        wide
    }
}

fn elem(elem: ElemType) -> Attr {
    Attr::new("elem", elem.name().unwrap_or_default())
}
