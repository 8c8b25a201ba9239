//! Computes the elements of memory where they are read, so that the memory is not needed.
//!
//! ```text
//! prim @k(%x: Tensor[(4, 6), float32]) -> (%y: Tensor[(6, 4), float32]) {
//!   %a = alloc float32[24];
//!   %f = view(%x, shape = [24]);
//!   for %n in 0..24 { %a[%n] = exp(%f[%n]); }
//!   %b = view(%a, shape = [4, 6]);
//!   for %i in 0..6 {
//!     for %j in 0..4 { %y[%i, %j] = %b[%j, %i]; }
//!   }
//! }
//! ```
//! becomes
//! ```text
//! prim @k(%x: Tensor[(4, 6), float32]) -> (%y: Tensor[(6, 4), float32]) {
//!   %f = view(%x, shape = [24]);
//!   for %i in 0..6 {
//!     for %j in 0..4 { %y[%i, %j] = exp(%f[%j * 6 + %i]); }
//!   }
//! }
//! ```
//!
//! The memory of an `alloc` is filled by loops around one store, each element once, from values without loops of their own;
//! other statements of the block load it, and nothing changes in between what the values are computed from. The variables of
//! the loops follow from the index that is loaded, also where it is one of another shape with the same elements.
//!
//! Nothing is computed more often: the loads are not more than the elements. Elements that are only copied, as by a transposed
//! or sliced memory, are found more often as well, if they are as near to each other in the innermost loop as before. Quotients
//! of indices are not computed in the innermost loop.
//!
//! `FuseLoops` is the other way to go without memory, for loops that read in the order in which others write; `FuseKernels`
//! does both across calls. As `compute_inline` of TVM, which computes elements as often as they are read.

use crate::program::{
    Loop, bindings_of, call, constant_int, is_only_accessed, is_program, n_elements, remove, replace, try_allocs,
};
use relais_plugin_api::{
    ir::{BlockId, Imm, StrId, kind},
    prelude::*,
    prim::{Access, Accesses, CoreOp, LoopOps},
};
use std::collections::{HashMap, HashSet};

/// The most bindings that are made of the values at all loads.
const MOST_COPIES: usize = 512;

/// Computes the elements of memory where they are read, so that the memory is not needed.
#[prim_func_pass(
    name = "relais.InlineProducers",
    opt_level = 0,
    phase = "none",
    statistics(inlined = "memory whose elements are computed where they are read")
)]
pub fn inline_producers(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    if is_program(edit.function()) {
        try_allocs(edit, cx, |f, block, alloc| Ok((inline(f, block, alloc)?, "inlined")));
    }
    Ok(())
}

/// The function in which the elements of the memory of an `alloc` are computed where they are read.
///
/// # Errors
/// Returns the reason if the memory stays.
pub fn inline(f: &Function, block: BlockId, alloc: NodeId) -> Result<Function, &'static str> {
    let ops = LoopOps::new(f);
    is_only_accessed(f, &ops, alloc)?;
    let accesses = Accesses::new(f, &ops);
    let of: Vec<&Access> = accesses.all().iter().filter(|access| access.root == alloc).collect();
    let Some((&store, loads)) = of.split_first().filter(|(first, _)| first.is_write) else {
        return Err("it is read before it is written, or not at all");
    };
    if loads.is_empty() || loads.iter().any(|load| ops.of(f, load.id) != Some(CoreOp::Load) || load.lanes != 1) {
        return Err("it is written in several places, or read as vectors");
    }
    let producer = Producer::of(f, &ops, &accesses, block, store)?;
    producer.is_unchanged(f, &ops, &accesses, block, loads)?;
    let mut n_loads: Option<u64> = Some(0);
    let mut found: Vec<Vec<Index>> = Vec::new();
    for load in loads {
        n_loads = n_loads.zip(n_turns(f, &ops, &accesses, block, load)).map(|(sum, n)| sum.saturating_add(n));
        found.push(producer.indices(f, load)?);
    }
    let is_once = n_loads.is_some() && n_loads <= n_elements(f, alloc);
    for (load, indices) in loads.iter().zip(&found) {
        let innermost = loops_of(f, &ops, &accesses, load).last().map(|&id| f.operands(f.regions(id)[0])[0]);
        let depends = |axis: usize| {
            let is_free = |value: NodeId| Some(value) == innermost || f.kind(value) != kind::VAR;
            load.axes[axis].terms.iter().any(|term| is_free(term.value))
        };
        if indices.iter().any(|index| matches!(index, Index::Digit { axis, .. } if depends(*axis))) {
            return Err("its elements would be found by quotients in the innermost loop");
        }
        if !is_once && !innermost.is_some_and(|innermost| producer.is_as_near(&accesses, load, indices, innermost)) {
            return Err("its elements are read several times, and are not only copied in their order");
        }
    }
    if loads.len() * (producer.values.len() + 4 * store.axes.len()) > MOST_COPIES {
        return Err("its elements are read in too many places");
    }
    let loads: Vec<(NodeId, BlockId, Vec<NodeId>)> =
        loads.iter().map(|load| (load.id, load.block, load.axes.iter().map(|axis| axis.index).collect())).collect();
    producer.apply(f, ops, alloc, &loads, &found)
}

/// The loops around an access, the innermost one last.
fn loops_of(f: &Function, ops: &LoopOps, accesses: &Accesses, access: &Access) -> Vec<NodeId> {
    let statements = accesses.path(access).into_iter().map(|(_, id)| id);
    statements.filter(|&id| ops.of(f, id) == Some(CoreOp::For)).collect()
}

/// The statement of a block that contains an access.
fn statement_in(accesses: &Accesses, block: BlockId, access: &Access) -> Option<NodeId> {
    accesses.path(access).into_iter().find(|&(outer, _)| outer == block).map(|(_, id)| id)
}

/// How often an access in a block is run each time that the block is, at most; `None` if that is not known.
fn n_turns(f: &Function, ops: &LoopOps, accesses: &Accesses, block: BlockId, access: &Access) -> Option<u64> {
    let mut n = 1_u64;
    for (_, id) in accesses.path(access).into_iter().skip_while(|&(outer, _)| outer != block) {
        match ops.of(f, id) {
            Some(CoreOp::For) => n = n.checked_mul(Loop::of(f, ops, id)?.turns(f, ops)?)?,
            Some(CoreOp::While) => return None,
            _ => {}
        }
    }
    Some(n)
}

/// The variable of a loop, from the index that is loaded.
enum Index {
    /// A sum of indices along axes, with factors.
    Sum(Vec<(usize, i64)>),
    /// A part of the index along an axis: the quotient by a number, and the remainder by another one.
    Digit { axis: usize, by: i64, size: Option<i64> },
}

/// Loops around one store that fill memory.
struct Producer {
    statement: NodeId,
    store: NodeId,
    /// The variables of the loops, in the order of the axes of the memory, and the sizes of these.
    variables: Vec<(NodeId, i64)>,
    /// The variables of loops of one turn.
    single: Vec<NodeId>,
    /// The bindings in the loops, in order.
    values: Vec<NodeId>,
    reads: HashSet<NodeId>,
    /// The value that is stored, if it is loaded as it is: then the factor of each variable in its place.
    copied: Option<HashMap<NodeId, i64>>,
}

impl Producer {
    fn of(
        f: &Function,
        ops: &LoopOps,
        accesses: &Accesses,
        block: BlockId,
        store: &Access,
    ) -> Result<Self, &'static str> {
        const OTHER: &str = "what fills it is not loops around one store";
        let statement = statement_in(accesses, block, store).ok_or("what fills it is not in its block")?;
        let (mut loops, mut values, mut next) = (HashMap::new(), Vec::new(), Some(statement));
        while let Some(id) = next.take() {
            let parts = Loop::of(f, ops, id).ok_or(OTHER)?;
            let turns = parts.turns(f, ops).and_then(|n| i64::try_from(n).ok()).filter(|&n| n > 0);
            let (Some(turns), Some(0), 1) = (turns, constant_int(f, ops, parts.min), parts.params.len()) else {
                return Err(OTHER);
            };
            loops.insert(parts.params[0], turns);
            let (mut has_end, n_outer) = (false, values.len());
            for &inner in f.bindings(f.block_of(f.regions(id)[0])) {
                let is_end = inner == store.id || ops.of(f, inner) == Some(CoreOp::For);
                let is_value = ops.of(f, inner).is_some_and(|op| !op.is_statement() && !op.gives_memory());
                if is_end && !has_end {
                    has_end = true;
                    next = Some(inner).filter(|&inner| inner != store.id);
                } else if is_value && f.n_regions(inner) == 0 && !has_end {
                    values.push(inner);
                } else {
                    return Err(OTHER);
                }
            }
            if !has_end {
                return Err(OTHER);
            }
            let is_index = |id: NodeId| f.type_of(id).elem().is_some_and(ElemType::is_integer);
            let is_light = |&id: &NodeId| ops.of(f, id) == Some(CoreOp::Load) || is_index(id);
            if next.is_some() && !values[n_outer..].iter().all(is_light) {
                return Err("a part of its values is computed once for many elements");
            }
        }
        if ops.of(f, store.id) != Some(CoreOp::Store) || store.lanes != 1 {
            return Err(OTHER);
        }
        let mut variables = Vec::new();
        for axis in store.axes.iter().filter(|axis| axis.size != 1) {
            let [term] = *axis.terms else {
                return Err("its elements are not each written once, in the order of loops");
            };
            let is_whole = axis.constant == 0 && term.factor == 1 && loops.remove(&term.value) == Some(axis.size);
            if !is_whole {
                return Err("its elements are not each written once, in the order of loops");
            }
            variables.push((term.value, axis.size));
        }
        if loops.values().any(|&turns| turns != 1) {
            return Err("its elements are not each written once, in the order of loops");
        }
        let single = loops.into_keys().collect();
        let read = |id: &NodeId| accesses.of(*id).filter(|access| !access.is_write);
        let reads = values.iter().filter_map(read).map(|access| access.root).collect();
        let copied = read(&f.operands(store.id)[2]).map(|access| {
            let mut factors = HashMap::new();
            for axis in &access.axes {
                for term in &axis.terms {
                    let factor = term.factor.saturating_mul(axis.stride);
                    let sum = factors.entry(term.value).or_insert(0_i64);
                    *sum = sum.saturating_add(factor);
                }
            }
            factors
        });
        Ok(Self { statement, store: store.id, variables, single, values, reads, copied })
    }

    /// Whether what the values are computed from stays the same until the last load.
    fn is_unchanged(
        &self,
        f: &Function,
        ops: &LoopOps,
        accesses: &Accesses,
        block: BlockId,
        loads: &[&Access],
    ) -> Result<(), &'static str> {
        let list = f.bindings(block);
        let place = |id: NodeId| list.iter().position(|&other| other == id);
        let users = loads.iter().map(|load| statement_in(accesses, block, load).and_then(place));
        let users = users.collect::<Option<Vec<usize>>>().ok_or("something outside of its block uses it")?;
        let (Some(first), Some(&last)) = (place(self.statement), users.iter().max()) else {
            return Err("something outside of its block uses it");
        };
        if users.contains(&first) {
            return Err("the loops that fill it read it");
        }
        for &statement in &list[first + 1..=last] {
            for id in bindings_of(f, statement) {
                let is_write = match ops.of(f, id) {
                    Some(op) => matches!(op, CoreOp::Store | CoreOp::Scatter | CoreOp::StoreMasked),
                    None => f.kind(id) == kind::CALL,
                };
                let memory = |&operand: &NodeId| self.reads.contains(&ops.memory_of(f, operand));
                let n = if ops.of(f, id).is_some() { 2 } else { f.operands(id).len() };
                if is_write && f.operands(id).iter().take(n).any(memory) {
                    return Err("what it is computed from changes before it is read");
                }
            }
        }
        Ok(())
    }

    /// The variables of the loops, from the index that is loaded.
    fn indices(&self, f: &Function, load: &Access) -> Result<Vec<Index>, &'static str> {
        let axes: Vec<(usize, i64)> =
            load.axes.iter().enumerate().filter(|(_, axis)| axis.size != 1).map(|(at, axis)| (at, axis.size)).collect();
        let elem = |id: NodeId| f.type_of(id).elem();
        let mut types = self.variables.iter().map(|&(variable, _)| elem(variable));
        let of_index = load.axes.first().and_then(|axis| elem(axis.index));
        if types.any(|of| of != of_index) || load.axes.iter().any(|axis| elem(axis.index) != of_index) {
            return Err("its indices are of different types");
        }
        let mut indices = Vec::new();
        let (mut here, mut there) = (&axes[..], &self.variables[..]);
        while !here.is_empty() && !there.is_empty() {
            // As few axes of both as have the same number of elements.
            let (mut n, mut m, mut ours, mut theirs) = (1, 1, here[0].1, there[0].1);
            while ours != theirs {
                let (count, sizes, product) = match ours < theirs {
                    true => (&mut n, here.iter().map(|axis| axis.1).collect::<Vec<_>>(), &mut ours),
                    false => (&mut m, there.iter().map(|axis| axis.1).collect(), &mut theirs),
                };
                let size = *sizes.get(*count).ok_or("it is seen in shapes that do not match")?;
                *product = product.checked_mul(size).ok_or("it is seen in shapes that do not match")?;
                *count += 1;
            }
            match (n, m) {
                (_, 1) => {
                    let factor = |at: usize| here[at + 1..n].iter().map(|axis| axis.1).product();
                    indices.push(Index::Sum((0..n).map(|at| (here[at].0, factor(at))).collect()));
                }
                (1, _) => indices.extend((0..m).map(|at| {
                    let by = there[at + 1..m].iter().map(|axis| axis.1).product();
                    Index::Digit { axis: here[0].0, by, size: (at > 0).then_some(there[at].1) }
                })),
                _ => return Err("it is seen in shapes that do not match"),
            }
            (here, there) = (&here[n..], &there[m..]);
        }
        match here.is_empty() && there.is_empty() {
            true => Ok(indices),
            false => Err("it is seen in shapes that do not match"),
        }
    }

    /// Whether elements are only copied, and as near to each other in a loop as they are in the memory.
    fn is_as_near(&self, accesses: &Accesses, load: &Access, indices: &[Index], innermost: NodeId) -> bool {
        let Some(factors) = &self.copied else { return false };
        let Some(before) = accesses.slice(load, innermost, 1) else { return false };
        let in_axis = |axis: usize| {
            let terms = load.axes[axis].terms.iter().filter(|term| term.value == innermost);
            terms.map(|term| i128::from(term.factor)).sum::<i128>()
        };
        let mut after = 0_i128;
        for (index, (variable, _)) in indices.iter().zip(&self.variables) {
            let factor = i128::from(factors.get(variable).copied().unwrap_or(0));
            if let Index::Sum(axes) = index {
                after += axes.iter().map(|&(axis, by)| in_axis(axis) * i128::from(by) * factor).sum::<i128>();
            }
        }
        // Each place is a sum of the variables alone.
        factors.keys().all(|value| self.variables.iter().any(|(variable, _)| variable == value))
            && after.abs() <= i128::from(before.stride).abs()
    }

    fn apply(
        &self,
        f: &Function,
        mut ops: LoopOps,
        alloc: NodeId,
        loads: &[(NodeId, BlockId, Vec<NodeId>)],
        found: &[Vec<Index>],
    ) -> Result<Function, &'static str> {
        let mut f = f.clone();
        let mut now: HashMap<NodeId, NodeId> = HashMap::new();
        for ((load, block, given), indices) in loads.iter().zip(found) {
            let mut made = Vec::new();
            let elem = given.first().and_then(|&index| f.type_of(index).elem()).unwrap_or(ElemType::INT64);
            let mut apply = |f: &mut Function, op: CoreOp, value: NodeId, by: i64| {
                let by = f.add_imm(Imm::int(elem, by).unwrap_or(Imm::index(by)));
                let id = call(f, &mut ops, op, &[value, by], &[]);
                made.push(id);
                id
            };
            let mut copies: HashMap<NodeId, NodeId> = HashMap::new();
            for &variable in &self.single {
                let elem = f.type_of(variable).elem().unwrap_or(ElemType::INT64);
                copies.insert(variable, f.add_imm(Imm::int(elem, 0).unwrap_or(Imm::index(0))));
            }
            let mut sums: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
            for (index, &(variable, _)) in indices.iter().zip(&self.variables) {
                match index {
                    Index::Sum(axes) => {
                        let factors = axes.iter().map(|&(axis, by)| match by {
                            1 => given[axis],
                            _ => apply(&mut f, CoreOp::Mul, given[axis], by),
                        });
                        sums.push((variable, factors.collect()));
                    }
                    Index::Digit { axis, by, size } => {
                        let mut value = given[*axis];
                        if *by != 1 {
                            value = apply(&mut f, CoreOp::FloorDiv, value, *by);
                        }
                        if let Some(size) = size {
                            value = apply(&mut f, CoreOp::FloorMod, value, *size);
                        }
                        copies.insert(variable, value);
                    }
                }
            }
            for (variable, parts) in sums {
                let mut parts = parts.into_iter();
                let Some(mut sum) = parts.next() else { continue };
                for part in parts {
                    sum = call(&mut f, &mut ops, CoreOp::Add, &[sum, part], &[]);
                    made.push(sum);
                }
                copies.insert(variable, sum);
            }
            for &value in &self.values {
                let copy = f.add_copy(value);
                f.set_name_id(copy, StrId::EMPTY);
                f.map_operands(copy, |operand| copies.get(&operand).copied().unwrap_or(operand));
                copies.insert(value, copy);
                made.push(copy);
            }
            let value = f.operands(self.store)[2];
            now.insert(*load, copies.get(&value).copied().unwrap_or(value));
            let mut list = f.bindings(*block).to_vec();
            let place = list.iter().position(|id| id == load).ok_or("a load is not in its block")?;
            list.splice(place..place, made);
            f.set_bindings(*block, &list);
        }
        let is_it = |id: NodeId| ops.memory_of(&f, id) == alloc && ops.is_memory(&f, id);
        let is_gone = |&id: &NodeId| id == self.statement || now.contains_key(&id) || is_it(id);
        let gone: HashSet<NodeId> = f.all_bindings().filter(is_gone).collect();
        let body = f.body();
        replace(&mut f, body, |id| now.get(&id).copied().unwrap_or(id));
        remove(&mut f, &gone);
        Ok(f)
    }
}
