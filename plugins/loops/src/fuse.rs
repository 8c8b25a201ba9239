//! Removing memory that passes values from one loop to another: the loops become one, in whose turns the memory holds what one
//! turn needs, or nothing.

use crate::program::{
    Loop, bindings_of, call, constant_int, is_only_accessed, n_elements, remove, remove_from, replace,
};
use relais_plugin_api::{
    ir::{BlockId, Imm, element_count, kind},
    prelude::*,
    prim::{Access, Accesses, AxisIndex, CoreOp, LoopKind, LoopOps, PrimBuilder, remove_unused},
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Why memory stays as it is.
pub type Why = &'static str;

/// A function in which memory was made smaller.
pub struct Shrunk {
    pub function: Function,
    /// The bytes of what is left of the memory: 0 if it is gone.
    pub bytes: u64,
    /// The block of what is left of the memory, and its `alloc`.
    pub place: (BlockId, NodeId),
}

/// Makes the memory of an `alloc` in a block as small as it can be, by fusing the statements that use it.
///
/// # Errors
/// Returns the reason if it stays as it is.
pub fn shrink(f: &Function, block: BlockId, alloc: NodeId) -> Result<Shrunk, Why> {
    let mut work = Fuse { f: f.clone(), ops: LoopOps::new(f) };
    let mut best = None;
    let (mut block, mut alloc) = (block, alloc);
    loop {
        match work.step(block, alloc) {
            Ok(None) => return Ok(Shrunk { function: without_unused(work.f), bytes: 0, place: (block, alloc) }),
            Ok(Some(inner)) => {
                (block, alloc) = inner;
                best = Some(Shrunk { function: work.f.clone(), bytes: bytes(&work.f, alloc), place: inner });
            }
            Err(why) => {
                let best: Shrunk = best.ok_or(why)?;
                return Ok(Shrunk { function: without_unused(best.function), ..best });
            }
        }
    }
}

/// A function without the values and the memory that nothing uses.
pub fn without_unused(f: Function) -> Function {
    let mut edit = Editor::new(f.into());
    remove_unused(&mut edit);
    Function::clone(&edit.into_function())
}

/// The bytes of memory whose sizes are known.
pub fn bytes(f: &Function, memory: NodeId) -> u64 {
    let elem = f.type_of(memory).elem().map_or(0, |elem| u64::from(elem.bits().div_ceil(8)));
    n_elements(f, memory).and_then(|n| n.checked_mul(elem)).unwrap_or(u64::MAX)
}

/// The bytes of memory on the stack of a loop program.
pub fn stack(f: &Function) -> u64 {
    let ops = LoopOps::new(f);
    let allocs = f.all_bindings().filter(|&id| ops.of(f, id) == Some(CoreOp::Alloc));
    allocs.fold(0, |sum, id| sum.saturating_add(bytes(f, id)))
}

/// The memory that a statement reads and writes.
#[derive(Default)]
pub struct Effects {
    pub reads: HashSet<NodeId>,
    pub writes: HashSet<NodeId>,
    /// Whether it does something that has to stay in its place: a call, or an end of the program.
    pub is_fixed: bool,
}

impl Effects {
    /// Those of a statement.
    pub fn of(f: &Function, ops: &LoopOps, statement: NodeId) -> Self {
        let mut effects = Self::default();
        for id in bindings_of(f, statement) {
            let Some(op) = ops.of(f, id) else {
                effects.is_fixed |= f.kind(id) == kind::CALL;
                if f.kind(id) == kind::CALL {
                    effects.writes.extend(f.operands(id).iter().map(|&operand| ops.memory_of(f, operand)));
                }
                continue;
            };
            effects.is_fixed |= op == CoreOp::Assert;
            if op.first_index().is_none() {
                continue;
            }
            let memory = ops.memory_of(f, f.operands(id)[1]);
            match op {
                CoreOp::Store | CoreOp::Scatter | CoreOp::StoreMasked => effects.writes.insert(memory),
                _ => effects.reads.insert(memory),
            };
        }
        effects
    }

    /// Whether the order of the two matters.
    pub fn is_bound_to(&self, other: &Self) -> bool {
        let meets = |a: &HashSet<NodeId>, b: &HashSet<NodeId>| !a.is_disjoint(b);
        self.is_fixed && other.is_fixed
            || meets(&self.writes, &other.writes)
            || meets(&self.writes, &other.reads)
            || meets(&self.reads, &other.writes)
    }
}

struct Fuse {
    f: Function,
    ops: LoopOps,
}

impl Fuse {
    /// Fuses the statements of a block that use the memory of an `alloc` of it, and takes the memory into their loop: returns the
    /// body of that loop and the smaller memory, or `None` if the memory is gone.
    fn step(&mut self, block: BlockId, alloc: NodeId) -> Result<Option<(BlockId, NodeId)>, Why> {
        is_only_accessed(&self.f, &self.ops, alloc)?;
        if self.forward(block, alloc) {
            return Ok(None);
        }
        let accesses = Accesses::new(&self.f, &self.ops);
        let uses = |id: &NodeId| {
            let of = |id| accesses.of(id).is_some_and(|access| access.root == alloc);
            bindings_of(&self.f, *id).into_iter().any(of)
        };
        let users: Vec<NodeId> = self.f.bindings(block).iter().copied().filter(uses).collect();
        let Some((&(mut fused), rest)) = users.split_first() else { return Err("nothing uses it") };
        for &next in rest {
            self.fuse(block, fused, next)?;
            fused = next;
        }
        self.contract(alloc, fused).map(Some)
    }

    /// Replaces loads of memory of one element, which the statements of its block store, by the value that was stored last.
    fn forward(&mut self, block: BlockId, alloc: NodeId) -> bool {
        let f = &self.f;
        if n_elements(f, alloc) != Some(1) {
            return false;
        }
        let accesses = Accesses::new(f, &self.ops);
        let mut values: HashMap<NodeId, NodeId> = HashMap::new();
        let mut stores = HashSet::new();
        let mut last = None;
        for access in accesses.all().iter().filter(|access| access.root == alloc) {
            match (self.ops.of(f, access.id), last) {
                (Some(CoreOp::Store), _) if access.block == block && access.lanes == 1 => {
                    let value = f.operands(access.id)[2];
                    last = Some(values.get(&value).copied().unwrap_or(value));
                    stores.insert(access.id);
                }
                (Some(CoreOp::Load), Some(value)) if access.lanes == 1 => {
                    values.insert(access.id, value);
                }
                _ => return false,
            }
        }
        let body = self.f.body();
        replace(&mut self.f, body, |id| values.get(&id).copied().unwrap_or(id));
        let (f, ops) = (&self.f, &self.ops);
        let is_it = |id: NodeId| ops.memory_of(f, id) == alloc && ops.is_memory(f, id);
        let is_gone = |&id: &NodeId| stores.contains(&id) || values.contains_key(&id) || is_it(id);
        let gone: HashSet<NodeId> = f.all_bindings().filter(is_gone).collect();
        remove(&mut self.f, &gone);
        true
    }

    // ---- fusing -------------------------------------------------------------------------------------------------------

    /// Makes two loops of a block one, in the place of the second one, whose node stands for it. Where one has a multiple of the
    /// other's turns, it is taken in as many steps.
    fn fuse(&mut self, block: BlockId, p: NodeId, c: NodeId) -> Result<(), Why> {
        let (f, ops) = (&self.f, &self.ops);
        let parts = |id| Loop::of(f, ops, id).ok_or("what uses it is not only loops");
        let (first, second) = (parts(p)?, parts(c)?);
        let kinds = [p, c].map(|id| LoopOps::loop_kind(f, id));
        let is_parallel = kinds[0] == Some(LoopKind::Parallel);
        if kinds[0] != kinds[1] || !is_parallel && kinds[0] != Some(LoopKind::Serial) {
            return Err("the kinds of its loops differ, or are wishes");
        }
        if first.params.len() > 1 {
            return Err("the loop that writes it carries values");
        }
        let all = [first.turns(f, ops), second.turns(f, ops)].map(|turns| turns.and_then(|n| i64::try_from(n).ok()));
        let mins = [first.min, second.min].map(|min| constant_int(f, ops, min));
        let ([Some(n_first), Some(n_second)], [Some(min), Some(other)]) = (all, mins) else {
            return Err("the bounds of its loops are not known");
        };
        let n = n_first.min(n_second);
        if min != other || n == 0 || n_first % n != 0 || n_second % n != 0 {
            return Err("its loops have different numbers of turns");
        }
        let by = [n_first / n, n_second / n];
        if by != [1, 1] && min != 0 || by[1] > 1 && second.params.len() > 1 {
            return Err("one of its loops cannot be split");
        }
        self.can_move(block, p, c)?;
        let variables = [first.params[0], second.params[0]];
        let accesses = Accesses::new(f, ops);
        let within = |id| bindings_of(f, id).into_iter().filter_map(|id| accesses.of(id)).collect::<Vec<&Access>>();
        let seconds = within(c);
        for a in within(p) {
            for b in seconds.iter().filter(|b| b.root == a.root && (a.is_write || b.is_write)) {
                let slices = (accesses.slice(a, variables[0], by[0]), accesses.slice(b, variables[1], by[1]));
                let (Some(x), Some(y)) = slices else { return Err("it is not known which elements its loops use") };
                let dependence = x.meets(&y);
                let is_kept = if is_parallel { dependence.is_within_turn() } else { dependence.is_not_later() };
                if !is_kept {
                    return Err("a turn may use what later turns write");
                }
            }
        }
        for (id, by) in [p, c].into_iter().zip(by).filter(|&(_, by)| by > 1) {
            self.split(id, by)?;
        }
        self.join(block, p, c);
        Ok(())
    }

    /// Whether a statement can stand directly before a later one.
    fn can_move(&self, block: BlockId, from: NodeId, to: NodeId) -> Result<(), Why> {
        let effects = |id| Effects::of(&self.f, &self.ops, id);
        let moved = effects(from);
        if moved.is_fixed || effects(to).is_fixed {
            return Err("a loop that uses it calls something, or may end the program");
        }
        let statements = self.f.bindings(block).iter().skip_while(|&&id| id != from).skip(1);
        for &id in statements.take_while(|&&id| id != to) {
            if moved.is_bound_to(&effects(id)) {
                return Err("what is between its loops has to stay there");
            }
        }
        Ok(())
    }

    /// `for i in 0..n·by { … }` becomes `for o in 0..n { for k in 0..by { i = o·by + k; … } }`.
    fn split(&mut self, id: NodeId, by: i64) -> Result<(), Why> {
        const FAULT: Why = "one of its loops cannot be split";
        let f = &mut self.f;
        let function = f.regions(id)[0];
        let (block, variable) = (f.block_of(function), f.operands(function)[0]);
        let extent = f.imm(f.operands(id)[2]).and_then(|imm| imm.as_int());
        let elem = f.type_of(variable).elem().unwrap_or(ElemType::INT64);
        let (Some(extent), Some(step)) = (extent, Imm::int(elem, by)) else { return Err(FAULT) };
        let extent = f.add_imm(Imm::int(elem, extent / by).ok_or(FAULT)?);
        let outer = f.add_var("", f.type_id(variable));
        f.set_name_id(outer, f.name_id(variable));
        let moved = f.bindings(block).to_vec();
        f.set_bindings(block, &[]);
        f.set_params(function, &[outer]);
        f.set_operand(id, 2, extent);
        let mut b = PrimBuilder::at(f, block);
        let step = b.imm(step);
        let start = b.op(CoreOp::Mul, &[outer, step]);
        let mut index = start;
        let inner = b.each(step, |b, at| index = b.op(CoreOp::Add, &[start, at]));
        b.finish().map_err(|_| FAULT)?;
        let body = f.block_of(f.regions(inner)[0]);
        let all: Vec<NodeId> = f.bindings(body).iter().chain(&moved).copied().collect();
        f.set_bindings(body, &all);
        self.ops.update(&self.f);
        replace(&mut self.f, body, |id| if id == variable { index } else { id });
        Ok(())
    }

    /// Puts the body of one loop in front of that of another one, whose variable it uses from then on.
    fn join(&mut self, block: BlockId, p: NodeId, c: NodeId) {
        let [from, to] = [p, c].map(|id| self.f.regions(id)[0]);
        let [old, new] = [from, to].map(|function| self.f.operands(function)[0]);
        let taken: HashSet<String> = names_of(&self.f, c).map(|(_, name)| name.to_owned()).collect();
        let unnamed: Vec<NodeId> =
            names_of(&self.f, p).filter(|(_, name)| taken.contains(*name)).map(|(id, _)| id).collect();
        let [from, to] = [from, to].map(|function| self.f.block_of(function));
        replace(&mut self.f, from, |id| if id == old { new } else { id });
        let f = &mut self.f;
        unnamed.into_iter().for_each(|id| f.set_name(id, ""));
        let all: Vec<NodeId> = f.bindings(from).iter().chain(f.bindings(to)).copied().collect();
        f.set_bindings(from, &[]);
        f.set_bindings(to, &all);
        remove_from(&mut self.f, block, &HashSet::from([p]));
    }

    // ---- smaller memory -----------------------------------------------------------------------------------------------

    /// Takes memory into the only loop that uses it, if each turn uses a part of its own.
    fn contract(&mut self, alloc: NodeId, id: NodeId) -> Result<(BlockId, NodeId), Why> {
        let (f, ops) = (&self.f, &self.ops);
        let variable = Loop::of(f, ops, id).ok_or("what uses it is not a loop")?.params[0];
        let accesses = Accesses::new(f, ops);
        let mut parts: BTreeMap<NodeId, Part> = BTreeMap::new();
        let mut used = Vec::new();
        let mut n = None;
        for access in accesses.all().iter().filter(|access| access.root == alloc) {
            let unknown = "the elements that a turn uses are not a part of their own";
            let part = Part::of(access, variable).ok_or(unknown)?;
            let count = element_count(&part.shape).ok_or(unknown)?;
            let is_same =
                *n.get_or_insert(count) == count && *parts.entry(access.memory).or_insert_with(|| part.clone()) == part;
            if !is_same {
                return Err(unknown);
            }
            used.push((access.id, access.memory, access.axes[part.axis].clone()));
        }
        let (Some(n), Some(elem)) = (n, f.type_of(alloc).elem()) else { return Err("nothing uses it") };
        let old: HashSet<NodeId> =
            f.all_bindings().filter(|&id| ops.is_memory(f, id) && ops.memory_of(f, id) == alloc).collect();
        let (body, name) = (f.block_of(f.regions(id)[0]), f.name_id(alloc));
        let moved = f.bindings(body).to_vec();
        self.f.set_bindings(body, &[]);
        let mut b = PrimBuilder::at(&mut self.f, body);
        let shape = parts.get(&alloc).map_or_else(|| vec![n], |part| part.shape.clone());
        let small = b.alloc(elem, &shape);
        let mut now: BTreeMap<NodeId, NodeId> = BTreeMap::new();
        for (&memory, part) in &parts {
            let shape: Vec<i64> = part.shape.iter().map(|&size| size as i64).collect();
            let is_view = memory != alloc;
            now.insert(
                memory,
                if is_view { b.op_with(CoreOp::View, &[small], &[Attr::new("shape", shape)]) } else { small },
            );
        }
        b.finish().map_err(|_| "the smaller memory cannot be made")?;
        let all: Vec<NodeId> = self.f.bindings(body).iter().chain(&moved).copied().collect();
        self.f.set_bindings(body, &all);
        self.ops.update(&self.f);
        for (access, memory, axis) in used {
            self.move_access(&accesses, access, now[&memory], parts[&memory].axis, &axis, variable);
        }
        remove(&mut self.f, &old);
        self.f.set_name_id(small, name);
        Ok((body, small))
    }

    /// Lets an access use the smaller memory, at an index without the part that the loop's variable is.
    fn move_access(
        &mut self,
        accesses: &Accesses,
        id: NodeId,
        memory: NodeId,
        at: usize,
        axis: &AxisIndex,
        variable: NodeId,
    ) {
        let f = &mut self.f;
        let elem = f.type_of(axis.index).elem().unwrap_or(ElemType::INT64);
        let number = |f: &mut Function, value: i64| f.add_imm(Imm::int(elem, value).unwrap_or(Imm::index(value)));
        let mut made = Vec::new();
        let mut sum = None;
        for term in axis.terms.iter().filter(|term| term.value != variable) {
            let mut value = term.value;
            if term.factor != 1 {
                let factor = number(f, term.factor);
                value = call(f, &mut self.ops, CoreOp::Mul, &[value, factor], &[]);
                made.push(value);
            }
            sum = Some(match sum {
                Some(sum) => {
                    let sum = call(f, &mut self.ops, CoreOp::Add, &[sum, value], &[]);
                    made.push(sum);
                    sum
                }
                None => value,
            });
        }
        let index = match sum {
            Some(sum) if axis.constant == 0 => sum,
            Some(sum) => {
                let constant = number(f, axis.constant);
                let sum = call(f, &mut self.ops, CoreOp::Add, &[sum, constant], &[]);
                made.push(sum);
                sum
            }
            None => number(f, axis.constant),
        };
        let first = self.ops.of(f, id).and_then(CoreOp::first_index).unwrap_or_default();
        f.set_operand(id, 1, memory);
        f.set_operand(id, 1 + first + at, index);
        let Some(block) = accesses.of(id).map(|access| access.block).filter(|_| !made.is_empty()) else { return };
        let mut list = f.bindings(block).to_vec();
        if let Some(place) = list.iter().position(|&binding| binding == id) {
            list.splice(place..place, made);
            f.set_bindings(block, &list);
        }
    }
}

/// The names in a statement, those of the parameters of its functions among them.
fn names_of(f: &Function, statement: NodeId) -> impl Iterator<Item = (NodeId, &str)> {
    let named = bindings_of(f, statement).into_iter().flat_map(move |id| {
        let params = f.regions(id).iter().flat_map(|&region| f.operands(region).iter().copied());
        std::iter::once(id).chain(params)
    });
    named.map(|id| (id, f.name(id))).filter(|(_, name)| !name.is_empty())
}

/// The part of memory that one turn of a loop uses, in one of the shapes in which the memory is seen.
#[derive(Clone, PartialEq, Eq)]
struct Part {
    /// The axis whose index the variable is part of.
    axis: usize,
    shape: Vec<u64>,
}

impl Part {
    fn of(access: &Access, variable: NodeId) -> Option<Self> {
        let factor_in =
            |axis: &AxisIndex| axis.terms.iter().find(|term| term.value == variable).map(|term| term.factor);
        let mut factors = access.axes.iter().enumerate().filter_map(|(at, axis)| Some((at, factor_in(axis)?)));
        let (at, factor) = factors.next().filter(|&(_, factor)| factor > 0)?;
        if factors.next().is_some() || access.axes[..at].iter().any(|axis| axis.size != 1) {
            return None;
        }
        // The rest of the index.
        let axis = &access.axes[at];
        let (mut min, mut max) = (i128::from(axis.constant), i128::from(axis.constant));
        for term in axis.terms.iter().filter(|term| term.value != variable) {
            let ends = [term.bounds.min, term.bounds.max].map(|end| i128::from(end) * i128::from(term.factor));
            (min, max) = (min + ends[0].min(ends[1]), max + ends[0].max(ends[1]));
        }
        if at + 1 == access.axes.len() {
            max += i128::from(access.lanes - 1);
        }
        if min < 0 || max >= i128::from(factor) {
            return None;
        }
        let sizes = access.axes.iter().enumerate().map(|(axis, part)| if axis == at { factor } else { part.size });
        Some(Self { axis: at, shape: sizes.map(|size| u64::try_from(size).ok()).collect::<Option<_>>()? })
    }
}
