//! Makes accesses to memory of several dimensions those to memory of one dimension.
//!
//! ```text
//! prim @k(%x: Tensor[(4, 8), float32]) -> (%y: Tensor[(4, 8), float32]) {
//!   for %i in 0..4 {
//!     for %j in 0..8 { %y[%i, %j] = %x[%i, %j]; }
//!   }
//! }
//! ```
//! becomes
//! ```text
//! prim @k(%x: Tensor[(4, 8), float32]) -> (%y: Tensor[(4, 8), float32]) {
//!   %1 = view(%x, shape = [32]);
//!   %2 = view(%y, shape = [32]);
//!   for %i in 0..4 {
//!     for %j in 0..8 { %2[%i * 8 + %j] = %1[%i * 8 + %j]; }
//!   }
//! }
//! ```
//!
//! Elements are in row-major order. Parameters and constants keep their types, and get a view of one dimension in front
//! of everything, or behind the constant. The memory of an `alloc` has one dimension itself, one of size 1 if it had none; calls
//! get a view in its former shape. Views of several dimensions that only accesses used go.
//!
//! Where a size is not known, it is what `dim` says. Indices are computed as `int64`, or as `int32` if all are and the memory
//! has no more elements than that; quotient and remainder of one number by a size become that number. Of vectors, the last index stays contiguous. An index out of bounds ends the program only
//! if the element that it stands for is not in the memory. Memory of more elements than an `int64` counts is an error.
//!
//! `Simplify` afterwards folds the indices. TVM's pass differs: it makes bytes of `bool`, which are bytes here. It has no
//! options.

use crate::program::{call, is_program, is_same_value};
use relais_plugin_api::{
    ir::{AttrRec, Imm, element_count, kind},
    prelude::*,
    prim::{CoreOp, LoopOps, fold, rule, value_type},
};
use std::collections::{HashMap, HashSet};

/// Makes accesses to memory of several dimensions those to memory of one dimension.
#[prim_func_pass(
    name = "relais.FlattenBuffer",
    aliases = [
        "tir.transform.FlattenBuffer", "tirx.transform.FlattenBuffer", "s_tir.transform.FlattenBuffer",
        "tir.transform.StorageFlatten",
    ],
    opt_level = 0,
    phase = "none",
    statistics(accesses = "accesses rewritten"),
)]
pub fn flatten_buffer(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    if !is_program(f) {
        return Ok(());
    }
    let ops = LoopOps::new(f);
    let plan = Plan::new(f, &ops)?;
    if plan.shapes.is_empty() {
        return Ok(());
    }
    // Views of parameters come first.
    let waiting = f.params().iter().copied().filter(|param| plan.is_accessed(*param)).collect();
    let mut flatten =
        Flatten { ops, plan, waiting, flat: HashMap::new(), sizes: HashMap::new(), shaped: HashMap::new(), n: 0 };
    edit.rebuild(&mut |cx: &mut RebuildCx<'_>, id: NodeId| flatten.binding(cx, id))?;
    cx.count("accesses", flatten.n);
    Ok(())
}

/// The work of the pass.
#[derive(Default)]
struct Plan {
    /// The former dimensions of memory that is flattened; `None` for a size that is not known.
    shapes: HashMap<NodeId, Vec<Option<u64>>>,
    /// How many accesses there are to memory that is flattened, itself or by a view of it.
    n_accesses: HashMap<NodeId, u32>,
    /// Memory of an `alloc` that calls take.
    called: HashSet<NodeId>,
    n_uses: Vec<u32>,
}

impl Plan {
    fn new(f: &Function, ops: &LoopOps) -> Result<Self, PassError> {
        let mut plan = Self { n_uses: f.use_counts(), ..Self::default() };
        for id in f.all_bindings() {
            match ops.of(f, id) {
                Some(CoreOp::Alloc) => plan.add(f, id)?,
                Some(op) if op.first_index().is_some() && rule(f, ops, id).is_ok() => {
                    let memory = f.operands(id)[1];
                    // A view shows the elements of its memory, in the same order.
                    let root = ops.memory_of(f, memory);
                    plan.add(f, memory)?;
                    if plan.shapes.contains_key(&memory) {
                        plan.add(f, root)?;
                        *plan.n_accesses.entry(memory).or_default() += 1;
                        if root != memory {
                            plan.n_accesses.entry(root).or_default();
                        }
                    }
                }
                None if f.kind(id) == kind::CALL => {
                    let memory = f.operands(id)[1..].iter().copied();
                    plan.called.extend(memory.filter(|&memory| ops.of(f, memory) == Some(CoreOp::Alloc)));
                }
                _ => {}
            }
        }
        Ok(plan)
    }

    /// Notes memory that has not one dimension.
    fn add(&mut self, f: &Function, memory: NodeId) -> Result<(), PassError> {
        let Some((_, dims)) = f.type_of(memory).as_tensor().filter(|(_, dims)| dims.len() != 1) else { return Ok(()) };
        if self.shapes.contains_key(&memory) {
            return Ok(());
        }
        let sizes: Vec<Option<u64>> = dims.iter().map(|&dim| Dim::from(dim).known()).collect();
        if count(&sizes).is_some_and(|count| count.is_none()) {
            let sizes: Vec<String> = sizes.iter().flatten().map(u64::to_string).collect();
            let message = format_args!("memory of {} elements is more than an `int64` counts", sizes.join(" * "));
            return Err(PassError::new(message).at(memory).help("split the memory into parts"));
        }
        self.shapes.insert(memory, sizes);
        Ok(())
    }

    fn is_accessed(&self, memory: NodeId) -> bool {
        self.shapes.contains_key(&memory) && self.n_accesses.contains_key(&memory)
    }
}

/// The number of elements, if it is known: `None` within it if it is more than an `int64` counts.
fn count(sizes: &[Option<u64>]) -> Option<Option<i64>> {
    let sizes: Vec<u64> = sizes.iter().copied().collect::<Option<_>>()?;
    Some(element_count(&sizes).and_then(|count| i64::try_from(count).ok()))
}

struct Flatten {
    ops: LoopOps,
    plan: Plan,
    /// Memory whose views are made before the next binding.
    waiting: Vec<NodeId>,
    /// By memory, its elements in one dimension.
    flat: HashMap<NodeId, NodeId>,
    /// By memory, its sizes except the first one.
    sizes: HashMap<NodeId, Vec<NodeId>>,
    /// By memory of an `alloc`, the view in its former shape.
    shaped: HashMap<NodeId, NodeId>,
    n: usize,
}

impl Flatten {
    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, PassError> {
        for memory in std::mem::take(&mut self.waiting) {
            self.define(cx, memory);
        }
        let is_flattened = self.plan.shapes.contains_key(&id);
        let f = cx.function();
        let Some(op) = self.ops.of(f, id) else {
            if f.kind(id) == kind::CALL {
                for at in 1..cx.function().operands(id).len() {
                    if let Some(&view) = self.shaped.get(&cx.function().operands(id)[at]) {
                        cx.function_mut().set_operand(id, at, view);
                    }
                }
            } else if is_flattened {
                self.waiting.push(id);
            }
            return Ok(Action::Keep);
        };
        match op {
            CoreOp::Alloc if is_flattened => {
                self.reshape(cx, id);
                self.waiting.push(id);
            }
            CoreOp::View if is_flattened => {
                let n_accesses = self.plan.n_accesses.get(&id).copied().unwrap_or(0);
                let has_sizes = self.plan.shapes[&id].iter().skip(1).all(Option::is_some);
                if has_sizes && n_accesses == self.plan.n_uses[id.index()] {
                    self.define(cx, id);
                    return Ok(Action::Drop);
                }
                self.waiting.push(id);
            }
            CoreOp::Dim => {
                if let Some(&memory) = f.operands(id).get(1)
                    && self.ops.of(f, memory) == Some(CoreOp::Alloc)
                    && let Some(size) = self.size(f, memory, id)
                {
                    let size = cx.function_mut().add_imm(Imm::index(size));
                    return Ok(Action::Replace(size));
                }
            }
            _ if op.first_index().is_some() => return Ok(self.access(cx, op, id).unwrap_or(Action::Keep)),
            _ => {}
        }
        Ok(Action::Keep)
    }

    /// The size that a `dim` asks for, of memory that is flattened.
    fn size(&self, f: &Function, memory: NodeId, dim: NodeId) -> Option<i64> {
        let axis = usize::try_from(f.attrs(dim).int("axis")?).ok()?;
        i64::try_from((*self.plan.shapes.get(&memory)?.get(axis)?)?).ok()
    }

    fn emit(&mut self, cx: &mut RebuildCx<'_>, op: CoreOp, args: &[NodeId], attrs: &[Attr]) -> NodeId {
        let id = call(cx.function_mut(), &mut self.ops, op, args, attrs);
        cx.insert(id);
        id
    }

    /// Gives an `alloc` one dimension.
    fn reshape(&self, cx: &mut RebuildCx<'_>, id: NodeId) {
        let Some(Some(count)) = count(&self.plan.shapes[&id]) else { return };
        let f = cx.function_mut();
        let shape = f.encode_attr(&Attr::new("shape", vec![count]));
        let is_shape = |rec: &AttrRec| rec.name == shape.name && rec.flags == shape.flags;
        let recs: Vec<_> = f.attr_recs(id).iter().map(|rec| if is_shape(rec) { shape } else { *rec }).collect();
        f.set_attr_recs(id, &recs);
        if let Ok(made) = rule(f, &self.ops, id) {
            let ty = made.add_to(f);
            f.set_type(id, ty);
        }
    }

    /// Makes what accesses to memory need, where it is visible.
    fn define(&mut self, cx: &mut RebuildCx<'_>, memory: NodeId) {
        let shape = self.plan.shapes[&memory].clone();
        let view = |sizes: &[i64]| [Attr::new("shape", sizes.to_vec())];
        let is_alloc = self.ops.of(cx.function(), memory) == Some(CoreOp::Alloc);
        let root = self.ops.memory_of(cx.function(), memory);
        let is_flat = is_alloc || !self.plan.shapes.contains_key(&root);
        if is_alloc && self.plan.called.contains(&memory) {
            let sizes: Vec<i64> = shape.iter().map(|&size| size.unwrap_or(0) as i64).collect();
            let shaped = self.emit(cx, CoreOp::View, &[memory], &view(&sizes));
            self.shaped.insert(memory, shaped);
        }
        if !self.plan.is_accessed(memory) {
            return;
        }
        let flat = match self.flat.get(&root) {
            Some(&flat) => flat,
            None if is_flat => root,
            None => {
                let count = count(&shape).flatten().unwrap_or(-1);
                self.emit(cx, CoreOp::View, &[root], &view(&[count]))
            }
        };
        self.flat.insert(memory, flat);
        let n_axes = shape.len() as i64;
        let sizes = (1..n_axes)
            .zip(shape.iter().skip(1))
            .map(|(axis, size)| match size.and_then(|size| i64::try_from(size).ok()) {
                Some(size) => cx.function_mut().add_imm(Imm::index(size)),
                None => self.emit(cx, CoreOp::Dim, &[memory], &[Attr::new("axis", axis)]),
            })
            .collect();
        self.sizes.insert(memory, sizes);
    }

    /// Rewrites a load or store.
    fn access(&mut self, cx: &mut RebuildCx<'_>, op: CoreOp, id: NodeId) -> Option<Action> {
        let operands = cx.function().operands(id).to_vec();
        let memory = *operands.get(1)?;
        let (flat, sizes) = (*self.flat.get(&memory)?, self.sizes.get(&memory)?.clone());
        let (others, indices) = operands.split_at_checked(1 + op.first_index()?)?;
        let is_vector = matches!(op, CoreOp::Gather | CoreOp::Scatter);
        let elem = self.index_type(cx.function(), memory, indices);
        let index = self.index(cx, elem, indices, &sizes, is_vector);
        let mut args = others[1..].to_vec();
        args[0] = flat;
        args.push(index);
        let f = cx.function_mut();
        let op = self.ops.id(f, op);
        let access = f.add_call(op, &args);
        let recs = f.attr_recs(id).to_vec();
        f.set_attr_recs(access, &recs);
        f.set_type(access, f.type_id(id));
        cx.insert(access);
        self.n += 1;
        Some(Action::Replace(access))
    }

    /// The type in which an index is computed.
    fn index_type(&self, f: &Function, memory: NodeId, indices: &[NodeId]) -> ElemType {
        let is_narrow = |&id: &NodeId| value_type(f.type_of(id)).is_some_and(|ty| ty.elem == ElemType::INT32);
        let count = count(&self.plan.shapes[&memory]).flatten();
        let is_small = count.is_some_and(|count| count <= i64::from(i32::MAX));
        let has_indices = !indices.is_empty();
        if has_indices && is_small && indices.iter().all(is_narrow) { ElemType::INT32 } else { ElemType::INT64 }
    }

    /// The index in row-major order.
    fn index(
        &mut self,
        cx: &mut RebuildCx<'_>,
        elem: ElemType,
        indices: &[NodeId],
        sizes: &[NodeId],
        is_vector: bool,
    ) -> NodeId {
        let Some((&first, rest)) = indices.split_first() else { return cx.function_mut().add_imm(Imm::index(0)) };
        let mut sum = self.cast(cx, elem, first);
        for (at, (&index, &size)) in rest.iter().zip(sizes).enumerate() {
            if let Some(whole) = self.whole(cx.function(), sum, size, index) {
                sum = whole;
                continue;
            }
            let (index, size) = (self.cast(cx, elem, index), self.cast(cx, elem, size));
            sum = self.arithmetic(cx, CoreOp::Mul, sum, size);
            if is_vector && at + 1 == rest.len() && !is_imm(cx.function(), sum, 0) {
                let lanes = value_type(cx.function().type_of(index)).and_then(|ty| ty.lanes).unwrap_or(1);
                sum = self.emit(cx, CoreOp::Broadcast, &[sum], &[Attr::new("lanes", lanes as i64)]);
            }
            sum = self.arithmetic(cx, CoreOp::Add, sum, index);
        }
        sum
    }

    /// The number whose quotient and remainder by a size two indices are: an index that was taken apart.
    fn whole(&self, f: &Function, quotient: NodeId, size: NodeId, remainder: NodeId) -> Option<NodeId> {
        let parts = match (self.ops.of(f, quotient)?, self.ops.of(f, remainder)?) {
            (CoreOp::FloorDiv, CoreOp::FloorMod) | (CoreOp::Div, CoreOp::Mod) => [quotient, remainder],
            _ => return None,
        };
        let [&[_, a, by], &[_, b, other]] = parts.map(|id| f.operands(id)) else { return None };
        let number = |id| f.imm(id).and_then(Imm::as_int);
        let is_divided = number(by).is_some_and(|by| by != 0 && number(other) == Some(by) && number(size) == Some(by));
        (is_same_value(f, a, b) && is_divided).then_some(a)
    }

    /// An index in another type.
    fn cast(&mut self, cx: &mut RebuildCx<'_>, elem: ElemType, id: NodeId) -> NodeId {
        let f = cx.function();
        if value_type(f.type_of(id)).is_none_or(|ty| ty.elem == elem) {
            return id;
        }
        if let Some(imm) = f.imm(id).and_then(Imm::as_int).and_then(|value| Imm::int(elem, value)) {
            return cx.function_mut().add_imm(imm);
        }
        self.emit(cx, CoreOp::Cast, &[id], &[Attr::new("elem", elem.name().unwrap_or_default())])
    }

    /// A sum or product, folded where it is known.
    fn arithmetic(&mut self, cx: &mut RebuildCx<'_>, op: CoreOp, a: NodeId, b: NodeId) -> NodeId {
        let f = cx.function();
        let neutral = i64::from(op == CoreOp::Mul);
        if is_imm(f, a, neutral) {
            return b;
        }
        if is_imm(f, b, neutral) || op == CoreOp::Mul && is_imm(f, a, 0) {
            return a;
        }
        if let (Some(x), Some(y)) = (f.imm(a), f.imm(b))
            && let Ok(value) = fold(op, &[x, y], x.elem())
        {
            return cx.function_mut().add_imm(value);
        }
        self.emit(cx, op, &[a, b], &[])
    }
}

fn is_imm(f: &Function, id: NodeId, value: i64) -> bool {
    f.imm(id).and_then(Imm::as_int) == Some(value)
}
