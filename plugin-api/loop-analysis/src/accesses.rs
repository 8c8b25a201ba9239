//! The accesses of a loop program to memory: at which indices, as sums of loop variables, and in which turns of a loop two of
//! them may touch the same element.

use crate::{Bounds, Intervals, Linear};
use relais_ir::prim::{CoreOp, LoopKind, LoopOps, value_type};
use relais_ir::*;
use smallvec::SmallVec;
use std::collections::HashMap;

/// One load or store, and the like.
#[derive(Clone, Debug)]
pub struct Access {
    /// The binding.
    pub id: NodeId,
    /// The block that it is in.
    pub block: BlockId,
    /// The memory that it names, which may be a view.
    pub memory: NodeId,
    /// The memory whose elements these are.
    pub root: NodeId,
    /// Whether it writes.
    pub is_write: bool,
    /// How many elements it touches in a row, from the one at its indices on; the size of the last axis if it finds them by
    /// a vector.
    pub lanes: i64,
    /// Whether the sizes of the memory are known.
    is_sized: bool,
    /// Its index along each axis of the memory that it names.
    pub axes: SmallVec<[AxisIndex; 4]>,
}

/// The index along one axis.
#[derive(Clone, Debug)]
pub struct AxisIndex {
    /// The index.
    pub index: NodeId,
    /// The size of the axis.
    pub size: i64,
    /// The elements from one index to the next.
    pub stride: i64,
    /// The index is the sum of these and [`constant`](Self::constant), exactly.
    pub terms: SmallVec<[Term; 4]>,
    /// The number in the sum.
    pub constant: i64,
    /// The least and the largest index that can be proven, whether that is within the axis or not.
    pub bounds: Bounds,
}

/// A value in a sum, with its factor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// The value.
    pub value: NodeId,
    /// Its factor, not 0.
    pub factor: i64,
    /// The bounds of the value, where the access is.
    pub bounds: Bounds,
}

/// The elements, in row-major order, that an access touches in one turn of a loop: some of those from `stride * v + first` to
/// `stride * v + last`, where `v` is the loop's variable, counted from a place that is the same in all turns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    /// The elements from one turn to the next.
    pub stride: i64,
    /// The least element.
    pub first: i64,
    /// The largest one.
    pub last: i64,
    /// The place that is the same in all turns: values from outside of the loop, with factors.
    pub base: SmallVec<[(NodeId, i64); 4]>,
}

/// In which turns two accesses may touch the same element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dependence {
    /// In none.
    Never,
    /// Only where the number of the first one's turn is that of the second one's and at least `min`, at most `max` more.
    Within {
        /// The least difference.
        min: i64,
        /// The largest difference.
        max: i64,
    },
    /// Perhaps in any.
    Unknown,
}

impl Dependence {
    /// Whether only accesses in the same turn touch the same element.
    pub fn is_within_turn(self) -> bool {
        matches!(self, Self::Never | Self::Within { min: 0, max: 0 })
    }

    /// The dependence if both hold.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never, _) | (_, Self::Never) => Self::Never,
            (Self::Unknown, known) | (known, Self::Unknown) => known,
            (Self::Within { min: a, max: b }, Self::Within { min: c, max: d }) => {
                let (min, max) = (a.max(c), b.min(d));
                if min <= max { Self::Within { min, max } } else { Self::Never }
            }
        }
    }

    /// Whether the first access touches what the second one does in the same turn or in an earlier one.
    pub fn is_not_later(self) -> bool {
        matches!(self, Self::Never | Self::Within { max: ..=0, .. })
    }
}

/// The accesses of a function, in program order.
///
/// An index out of range is an error of the program, so an access is taken to touch elements of its memory: where an index
/// cannot be proven to be in range, its dimension is the range. [`Access::is_inside`] says what is proven.
#[derive(Debug)]
pub struct Accesses {
    all: Vec<Access>,
    of: HashMap<NodeId, usize>,
    /// By node: in how many blocks it is.
    depths: Vec<u32>,
    /// By block: the binding whose function's it is, and the block of that binding.
    owners: HashMap<BlockId, (NodeId, BlockId)>,
    /// By node: its place in program order.
    order: Vec<usize>,
}

impl Accesses {
    /// Reads a function.
    pub fn new(f: &Function, ops: &LoopOps) -> Self {
        let (depths, order) = (vec![0; f.n_nodes()], vec![0; f.n_nodes()]);
        let mut accesses = Self { all: Vec::new(), of: HashMap::new(), depths, owners: HashMap::new(), order };
        let mut known = Intervals::new(f);
        let (mut marks, mut owners, mut blocks, mut n_bindings) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => {
                    marks.push(known.mark());
                    if let (Some(&owner), Some(&outer)) = (owners.last(), blocks.last()) {
                        accesses.owners.insert(block, (owner, outer));
                    }
                    blocks.push(block);
                    let depth = blocks.len() as u32;
                    for &param in f.operands(f.block(block).owner) {
                        accesses.depths[param.index()] = depth;
                    }
                    if let Some(&owner) = owners.last() {
                        known.enter(f, ops, owner, block);
                    }
                }
                WalkStep::Exit(_) => {
                    blocks.pop();
                    if let Some(mark) = marks.pop() {
                        known.undo(mark);
                    }
                }
                WalkStep::Leave(_) => drop(owners.pop()),
                WalkStep::Binding(id) => {
                    n_bindings += 1;
                    (accesses.depths[id.index()], accesses.order[id.index()]) = (blocks.len() as u32, n_bindings);
                    if f.n_regions(id) > 0 {
                        owners.push(id);
                        continue;
                    }
                    known.bind(f, ops, id);
                    if ops.of(f, id) == Some(CoreOp::Assert)
                        && let Some(&condition) = f.operands(id).get(1)
                    {
                        known.assume(f, ops, condition, true);
                    }
                    if let Some(access) = blocks.last().and_then(|&block| read(f, ops, &known, block, id)) {
                        accesses.of.insert(id, accesses.all.len());
                        accesses.all.push(access);
                    }
                }
            }
        }
        accesses
    }

    /// All of them.
    pub fn all(&self) -> &[Access] {
        &self.all
    }

    /// The access that a binding is.
    pub fn of(&self, id: NodeId) -> Option<&Access> {
        self.of.get(&id).map(|&at| &self.all[at])
    }

    /// The elements that an access touches in each turn of a loop around it, by the loop's variable, of which `by` turns are
    /// taken at once: the slice is that of a loop over `v` in which the variable is `by * v` and the `by - 1` numbers behind.
    ///
    /// `None` if the sizes of the memory are not known.
    pub fn slice(&self, access: &Access, variable: NodeId, by: i64) -> Option<Slice> {
        let parts: SmallVec<[(&AxisIndex, i64); 4]> = access.axes.iter().map(|axis| (axis, axis.stride)).collect();
        let within = self.depth(variable);
        if access.is_sized { self.part(&parts, access.lanes, variable, by, within) } else { None }
    }

    /// As [`slice`](Self::slice) of one turn, where only values from outside of the statements of a block around the loop are the
    /// same in all turns: those of loops between the block and the loop take any of their values.
    pub fn slice_in(&self, access: &Access, variable: NodeId, block: BlockId) -> Option<Slice> {
        let parts: SmallVec<[(&AxisIndex, i64); 4]> = access.axes.iter().map(|axis| (axis, axis.stride)).collect();
        let outer = std::iter::successors(Some(block), |block| self.owners.get(block).map(|&(_, outer)| outer));
        let within = u32::try_from(outer.count()).ok()?.checked_add(1)?;
        if access.is_sized { self.part(&parts, access.lanes, variable, 1, within) } else { None }
    }

    fn depth(&self, id: NodeId) -> u32 {
        self.depths.get(id.index()).copied().unwrap_or(0)
    }

    /// In which turns of a loop around both two accesses to the same memory touch the same element: by their elements in row-major
    /// order, and by each of their indices, as all of them are within their axes.
    pub fn meets(&self, a: &Access, b: &Access, variable: NodeId) -> Dependence {
        let meets = |parts: [Option<Slice>; 2]| match parts {
            [Some(x), Some(y)] => x.meets(&y),
            _ => Dependence::Unknown,
        };
        let mut dependence = meets([self.slice(a, variable, 1), self.slice(b, variable, 1)]);
        let sizes = |access: &Access| access.axes.iter().map(|axis| axis.size).collect::<SmallVec<[i64; 4]>>();
        if !a.is_sized || !b.is_sized || sizes(a) != sizes(b) {
            return dependence;
        }
        for at in 0..a.axes.len() {
            let is_last = at + 1 == a.axes.len();
            let part = |access: &Access| {
                let lanes = if is_last { access.lanes } else { 1 };
                self.part(&[(&access.axes[at], 1)], lanes, variable, 1, self.depth(variable))
            };
            dependence = dependence.and(meets([part(a), part(b)]));
        }
        dependence
    }

    /// The sum of indices with factors, in one turn; values in fewer blocks than `within` are the same in all turns.
    fn part(&self, parts: &[(&AxisIndex, i64)], lanes: i64, variable: NodeId, by: i64, within: u32) -> Option<Slice> {
        let (mut stride, mut base) = (0_i64, SmallVec::<[(NodeId, i64); 4]>::new());
        let (mut first, mut last) = (0_i128, 0_i128);
        for &(axis, by_one) in parts {
            let step = i128::from(by_one);
            let is_fixed = |term: &&Term| self.depth(term.value) < within;
            let is_varying = axis.terms.iter().any(|term| !is_fixed(&term) && term.value != variable);
            let is_mixed = axis.terms.iter().any(|term| is_fixed(&term) || term.value == variable);
            if is_varying && !is_mixed {
                let (min, max) = axis.inside();
                first += step * i128::from(min);
                last += step * i128::from(max);
                continue;
            }
            first += step * i128::from(axis.constant);
            last += step * i128::from(axis.constant);
            for term in &axis.terms {
                let factor = term.factor.checked_mul(by_one)?;
                if term.value == variable {
                    stride = stride.checked_add(factor.checked_mul(by)?)?;
                    let rest = i128::from(factor) * i128::from(by - 1);
                    first += rest.min(0);
                    last += rest.max(0);
                } else if is_fixed(&term) {
                    match base.iter_mut().find(|(value, _)| *value == term.value) {
                        Some((_, sum)) => *sum = sum.checked_add(factor)?,
                        None => base.push((term.value, factor)),
                    }
                } else {
                    let ends = [term.bounds.min, term.bounds.max].map(|end| i128::from(end) * i128::from(factor));
                    first = first.saturating_add(ends[0].min(ends[1]));
                    last = last.saturating_add(ends[0].max(ends[1]));
                }
            }
        }
        last += i128::from(lanes - 1);
        base.retain(|(_, factor)| *factor != 0);
        base.sort_unstable();
        Some(Slice { stride, first: i64::try_from(first).ok()?, last: i64::try_from(last).ok()?, base })
    }

    /// The statements that contain an access, with their blocks, from the outermost one to the access itself.
    pub fn path(&self, access: &Access) -> Vec<(BlockId, NodeId)> {
        let mut path = vec![(access.block, access.id)];
        while let Some(&(owner, outer)) = path.last().and_then(|(block, _)| self.owners.get(block)) {
            path.push((outer, owner));
        }
        path.reverse();
        path
    }

    /// Whether `load` is proven to touch no element after `store` has touched it while `within` is run once, a block that
    /// contains both. The elements of the memory of both are the same: those of one memory, or of two that are to share a
    /// place.
    pub fn is_read_first(&self, f: &Function, ops: &LoopOps, within: BlockId, load: &Access, store: &Access) -> bool {
        let paths = self.path(load).into_iter().zip(self.path(store));
        for ((block, statement), (other_block, other)) in paths.skip_while(|((block, _), _)| *block != within) {
            if block != other_block {
                // Of two branches, one runs. They are not those of a `while`, whose path ends above.
                return true;
            }
            if statement != other {
                return self.order[statement.index()] < self.order[other.index()];
            }
            let op = ops.of(f, statement);
            if op == Some(CoreOp::When) || f.kind(statement) == kind::IF {
                continue;
            }
            let variable = f.regions(statement).first().and_then(|&region| f.operands(region).first());
            let (Some(CoreOp::For), Some(&variable)) = (op, variable) else { return false };
            let slices = (self.slice(store, variable, 1), self.slice(load, variable, 1));
            let (Some(stored), Some(loaded)) = slices else { return false };
            let is_in_order = matches!(LoopOps::loop_kind(f, statement), Some(LoopKind::Serial | LoopKind::Unrolled));
            match stored.meets(&loaded) {
                Dependence::Never => return true,
                Dependence::Within { min: 1.., .. } if is_in_order => return true,
                Dependence::Within { min: 0, .. } if is_in_order => {}
                dependence if dependence.is_within_turn() => {}
                _ => return false,
            }
        }
        false
    }
}

impl Access {
    /// Whether all indices are proven to be within the memory.
    pub fn is_inside(&self) -> bool {
        let last = self.axes.len().saturating_sub(1);
        let is_inside = |(at, axis): (usize, &AxisIndex)| {
            let max = if at == last { axis.bounds.max.saturating_add(self.lanes - 1) } else { axis.bounds.max };
            axis.bounds.min >= 0 && max < axis.size
        };
        self.is_sized && self.axes.iter().enumerate().all(is_inside)
    }
}

impl AxisIndex {
    /// The bounds of the index, which is within the axis.
    fn inside(&self) -> (i64, i64) {
        let (min, max) = (self.bounds.min.max(0), self.bounds.max.min(self.size - 1));
        // If there is no such index, nothing is touched.
        (min.min(max), max)
    }
}

impl Slice {
    /// In which turns this and another access touch the same element of one memory: of the same loop, or of two loops whose
    /// variables are taken to be one.
    pub fn meets(&self, other: &Self) -> Dependence {
        if self.base != other.base || self.stride != other.stride {
            return Dependence::Unknown;
        }
        // stride * (ours - theirs) is the distance of elements of theirs and ours.
        let least = i128::from(other.first) - i128::from(self.last);
        let most = i128::from(other.last) - i128::from(self.first);
        let stride = i128::from(self.stride);
        if stride == 0 {
            return if least > 0 || most < 0 { Dependence::Never } else { Dependence::Unknown };
        }
        let (least, most) = if stride > 0 { (least, most) } else { (-most, -least) };
        let (min, max) = (-(-least).div_euclid(stride.abs()), most.div_euclid(stride.abs()));
        match (i64::try_from(min), i64::try_from(max)) {
            (Ok(min), Ok(max)) if min <= max => Dependence::Within { min, max },
            (Ok(_), Ok(_)) => Dependence::Never,
            _ => Dependence::Unknown,
        }
    }
}

/// The access that a binding is.
fn read(f: &Function, ops: &LoopOps, known: &Intervals, block: BlockId, id: NodeId) -> Option<Access> {
    let op = ops.of(f, id)?;
    let operands = f.operands(id);
    let (&memory, indices) = (operands.get(1)?, operands.get(1 + op.first_index()?..)?);
    let dims = f.type_of(memory).shape().unwrap_or_default();
    let sizes: SmallVec<[i64; 4]> =
        dims.iter().map_while(|&dim| i64::try_from(Dim::from(dim).known()?).ok().filter(|&size| size > 0)).collect();
    let is_sized = sizes.len() == indices.len() && f.type_of(memory).shape().is_some();
    let mut axes: SmallVec<[AxisIndex; 4]> = SmallVec::new();
    let mut stride = 1_i64;
    for (&index, &size) in indices.iter().zip(&sizes).rev() {
        let alone = || Linear { terms: SmallVec::from_slice(&[(index, 1)]), constant: 0 };
        let Linear { terms, constant } = known.sum(f, ops, index).unwrap_or_else(alone);
        let term = |(value, factor)| Term { value, factor, bounds: known.of(f, value) };
        let terms = terms.into_iter().map(term).collect();
        axes.push(AxisIndex { index, size, stride, terms, constant, bounds: known.of(f, index) });
        stride = stride.saturating_mul(size);
    }
    axes.reverse();
    let lanes_of = |id: NodeId| value_type(f.type_of(id)).map(|ty| ty.lanes.map_or(1, |lanes| lanes as i64));
    let lanes = match op {
        CoreOp::Load | CoreOp::LoadMasked => lanes_of(id),
        CoreOp::Store | CoreOp::StoreMasked => operands.get(2).and_then(|&value| lanes_of(value)),
        _ => None,
    };
    let lanes = lanes.or_else(|| axes.last().map(|axis| axis.size)).unwrap_or(1);
    let is_write = matches!(op, CoreOp::Store | CoreOp::Scatter | CoreOp::StoreMasked);
    Some(Access { id, block, memory, root: ops.memory_of(f, memory), is_write, lanes, is_sized, axes })
}

#[cfg(test)]
mod tests;
