//! Several calls with one input and weights of their own as one call, whose result is split: what the passes
//! `CombineParallelConv2D`, `CombineParallelDense` and `CombineParallelBatchMatmul` have in common.

use crate::numbers::is_quantization;
use relais_plugin_api::{
    build::Builder,
    facts::OpFactsTable,
    ir::{BlockId, BlockTree, Users},
    op::FusionKind,
    prelude::*,
};
use std::collections::{BTreeMap, BTreeSet};

/// Options of the passes that combine calls.
#[derive(PassOptions)]
pub struct CombineOptions {
    /// The fewest calls that are combined.
    #[option(default = 3, range = 2..)]
    pub min_num_branches: u32,
}

/// A call that may be combined with others.
pub(crate) struct Branch {
    pub call: NodeId,
    /// The argument that the calls have in common.
    pub input: NodeId,
    /// A constant that nothing else uses.
    pub weights: NodeId,
    /// One number for each part of the result along the axis.
    pub bias: Option<NodeId>,
    /// The axis of the weights along which those of several calls are put together.
    pub weights_axis: usize,
    /// The size of the result along the axis.
    pub size: u64,
    /// The axis along which the result is split, from the first one or, if it is negative, from behind the last one.
    pub axis: i64,
    /// The number of axes from this one to the last.
    pub from_end: usize,
}

impl Branch {
    /// Reads a call that nothing keeps from being combined: `axes` are those of the weights and of the result.
    pub fn of(
        f: &Function,
        users: &Users,
        call: CallView<'_>,
        weights_axis: usize,
        (axis, from_end): (i64, usize),
    ) -> Result<Self, &'static str> {
        let (Some(input), Some(weights)) = (call.arg(0), call.arg(1)) else { return Err("an argument is absent") };
        let size = f.constant(weights).ok_or("the weights are not constant")?.dims()[weights_axis];
        let bias = call.arg(2);
        if users.only(weights) != Some(call.id) {
            return Err("something else uses the weights, which would be stored twice");
        }
        if bias.is_some_and(|bias| f.constant(bias).is_none_or(|bias| bias.dims() != [size])) {
            return Err("the bias is not a constant with a number for each part of the result");
        }
        let is_quantized = |id: NodeId| f.call(id).and_then(CallView::op).is_some_and(|op| is_quantization(f, op));
        if is_quantized(input) || users.of(call.id).iter().any(|&user| is_quantized(user)) {
            return Err("it belongs to a value that is quantised");
        }
        Ok(Self { call: call.id, input, weights, bias, weights_axis, size, axis, from_end })
    }
}

/// The last axis of a call's result, as [`Branch::of`] takes it.
pub(crate) fn last_axis(f: &Function, call: CallView<'_>) -> Result<(i64, usize), &'static str> {
    match f.type_of(call.id).shape() {
        Some([]) => Err("the result has no axes"),
        Some(shape) => Ok((shape.len() as i64 - 1, 1)),
        None if f.opset_version("").unwrap_or(0) >= 11 => Ok((-1, 1)),
        None => Err("the rank of the result is not known"),
    }
}

/// Reads a call; the error says why it cannot be combined.
type Read = fn(&Function, &Users, &OpFactsTable<'_>, CallView<'_>) -> Result<Branch, &'static str>;

/// Combines calls of an operator that have one input, equal attributes, and weights of equal sizes along the other axes:
/// at least `min_num_branches`. Calls that follow, elementwise and with constants, are combined with them.
pub(crate) fn combine(
    edit: &mut Editor,
    cx: &PassCx<'_>,
    options: &CombineOptions,
    op: &str,
    read: Read,
) -> Result<(), PassError> {
    let f = edit.function();
    if !f.all_bindings().any(|id| f.call(id).is_some_and(|call| call.is_op(op))) {
        return Ok(());
    }
    let (users, places) = (cx.analysis::<Users>(edit)?, cx.analysis::<BlockTree>(edit)?);
    let f = edit.function();
    let mut ops = cx.ops(f);
    let mut siblings: Vec<Vec<Branch>> = Vec::new();
    let mut known: BTreeMap<(Option<BlockId>, NodeId), Vec<usize>> = BTreeMap::new();
    for call in f.all_bindings().filter_map(|id| f.call(id)).filter(|call| call.is_op(op) && users.is_used(call.id)) {
        let branch = match read(f, &users, &ops, call) {
            Ok(branch) => branch,
            Err(why) => {
                cx.remark(call.id, why);
                continue;
            }
        };
        let same_input = known.entry((places.block_of(call.id), branch.input)).or_default();
        match same_input.iter().find(|&&at| is_alike(f, &siblings[at][0], &branch)) {
            Some(&at) => siblings[at].push(branch),
            None => {
                same_input.push(siblings.len());
                siblings.push(vec![branch]);
            }
        }
    }
    let is_enough = |branches: &Vec<Branch>| branches.len() >= options.min_num_branches as usize;
    let plans =
        siblings.into_iter().filter(is_enough).filter_map(|branches| Plan::of(f, &users, &places, &ops, branches));
    let mut plans: BTreeMap<NodeId, Plan> = plans.map(|plan| (plan.branches[0].call, plan)).collect();
    let gone: BTreeSet<NodeId> = plans.values().flat_map(Plan::calls).collect();
    edit.rebuild(&mut |at: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
        if let Some(plan) = plans.remove(&id) {
            cx.count("combined", plan.branches.len());
            plan.build(at, &mut ops)?;
        }
        Ok(if gone.contains(&id) { Action::Drop } else { Action::Keep })
    })
}

/// Whether calls differ in nothing but the numbers in their weights and the size along the axis.
fn is_alike(f: &Function, a: &Branch, b: &Branch) -> bool {
    let sizes = |branch: &Branch| {
        let mut dims = f.constant(branch.weights).map(|weights| weights.dims().to_vec()).unwrap_or_default();
        if let Some(size) = dims.get_mut(branch.weights_axis) {
            *size = 0;
        }
        (dims, f.type_of(branch.weights).elem(), branch.weights_axis, branch.axis)
    };
    sizes(a) == sizes(b) && f.has_same_attrs(a.call, b.call)
}

/// Calls that become one, with those that follow.
struct Plan {
    branches: Vec<Branch>,
    weights: Tensor,
    bias: Option<Tensor>,
    /// The calls that follow those of the step before, one for each branch.
    steps: Vec<Step>,
}

struct Step {
    calls: Vec<NodeId>,
    /// The place of the value of the step before among the arguments.
    place: usize,
    /// The other arguments, by place.
    others: BTreeMap<usize, Tensor>,
}

impl Plan {
    fn of(
        f: &Function,
        users: &Users,
        places: &BlockTree,
        ops: &OpFactsTable<'_>,
        branches: Vec<Branch>,
    ) -> Option<Self> {
        let all = |ids: &mut dyn Iterator<Item = NodeId>| ids.map(|id| f.constant(id)).collect::<Option<Vec<_>>>();
        let first = &branches[0];
        let weights = concat(&all(&mut branches.iter().map(|branch| branch.weights))?, first.weights_axis)?;
        let bias = match branches.iter().any(|branch| branch.bias.is_some()) {
            false => None,
            true => {
                let none = |size| Tensor::full(weights.elem(), &[size], 0.0);
                let bias = |branch: &Branch| match branch.bias {
                    Some(bias) => f.constant(bias).cloned(),
                    None => none(branch.size),
                };
                let biases = branches.iter().map(bias).collect::<Option<Vec<Tensor>>>()?;
                Some(concat(&biases.iter().collect::<Vec<_>>(), 0)?)
            }
        };
        let mut plan = Self { branches, weights, bias, steps: Vec::new() };
        while let Some(step) = plan.step(f, users, places, ops) {
            plan.steps.push(step);
        }
        Some(plan)
    }

    /// The calls whose results are those of the combined call, one for each branch.
    fn ends(&self) -> Vec<NodeId> {
        match self.steps.last() {
            Some(step) => step.calls.clone(),
            None => self.branches.iter().map(|branch| branch.call).collect(),
        }
    }

    /// All calls that go.
    fn calls(&self) -> Vec<NodeId> {
        let steps = self.steps.iter().flat_map(|step| step.calls.iter().copied());
        self.branches.iter().map(|branch| branch.call).chain(steps).collect()
    }

    /// Returns the calls that follow, if they are alike; none if one of them is of another kind.
    fn step(&self, f: &Function, users: &Users, places: &BlockTree, ops: &OpFactsTable<'_>) -> Option<Step> {
        let ends = self.ends();
        let block = places.block_of(ends[0]);
        let calls: Vec<NodeId> = ends.iter().map(|&end| users.only(end)).collect::<Option<_>>()?;
        let first = f.call(calls[0])?;
        let place = first.args().iter().position(|&arg| arg == ends[0])?;
        let is_like_first = |(&id, &end): (&NodeId, &NodeId)| {
            f.call(id).is_some_and(|call| {
                call.op() == first.op()
                    && call.args().len() == first.args().len()
                    && call.args().get(place) == Some(&end)
                    && call.n_results().is_none()
                    && places.block_of(id) == block
                    && f.has_same_attrs(id, first.id)
            })
        };
        let facts = ops.of(first)?;
        let is_elementwise = facts.fusion <= FusionKind::BROADCAST && facts.effects.is_mergeable();
        if !is_elementwise || !first.regions().is_empty() || !calls.iter().zip(&ends).all(is_like_first) {
            return None;
        }
        let rank = f.type_of(ends[0]).shape()?.len();
        let mut others = BTreeMap::new();
        for at in (0..first.args().len()).filter(|&at| at != place) {
            let args: Vec<NodeId> = calls.iter().filter_map(|&id| f.call(id)?.args().get(at).copied()).collect();
            if args.iter().all(|arg| arg.is_absent()) {
                continue;
            }
            let constants: Vec<&Tensor> = args.iter().map(|&arg| f.constant(arg)).collect::<Option<_>>()?;
            others.insert(at, self.side_by_side(&constants, rank)?);
        }
        Some(Step { calls, place, others })
    }

    /// The constants of the branches as one: those that vary along the axis one after another, else the one that all
    /// branches have.
    fn side_by_side(&self, constants: &[&Tensor], rank: usize) -> Option<Tensor> {
        let from_end = self.branches[0].from_end;
        let axis = |tensor: &Tensor| tensor.dims().len().checked_sub(from_end).filter(|_| tensor.dims().len() <= rank);
        let is_per_part =
            |(tensor, branch): (&&Tensor, &Branch)| axis(tensor).is_some_and(|axis| tensor.dims()[axis] == branch.size);
        if constants.iter().zip(&self.branches).all(is_per_part) {
            return concat(constants, axis(constants[0])?);
        }
        let is_uniform =
            constants[0].dims().len() <= rank && axis(constants[0]).is_none_or(|axis| constants[0].dims()[axis] == 1);
        (is_uniform && constants.iter().all(|tensor| *tensor == constants[0])).then(|| constants[0].clone())
    }

    /// Makes the combined calls, and lets the parts of the last one take the places of the results.
    fn build(self, at: &mut RebuildCx<'_>, ops: &mut OpFactsTable<'_>) -> Result<(), PassError> {
        let (ends, first) = (self.ends(), &self.branches[0]);
        let sizes: Vec<i64> = self.branches.iter().map(|branch| branch.size as i64).collect();
        let input = at.resolve(first.input);
        let f = at.function();
        let attrs = |call: CallView<'_>| -> Vec<Attr> {
            call.attrs().iter().filter_map(|(name, value)| Attr::of(name.to_owned(), value)).collect()
        };
        let of_call = |id: NodeId| f.call(id).map(|call| (call.op_name().to_owned(), attrs(call)));
        let made = |id| of_call(id).ok_or_else(|| PassError::new("a call became something else"));
        let (name, attrs) = made(first.call)?;
        let steps: Vec<_> = self.steps.iter().map(|step| made(step.calls[0])).collect::<Result<_, _>>()?;
        let has_attribute = f.opset_version("").unwrap_or(0) < 13;
        let mut build = Builder::before(at, ops);
        let mut args = vec![input, build.constant(self.weights)];
        args.extend(self.bias.map(|bias| build.constant(bias)));
        let mut value = build.call(name, &args, attrs)?;
        for (step, (name, attrs)) in self.steps.into_iter().zip(steps) {
            let n_args = step.others.keys().copied().chain([step.place]).max().unwrap_or(0) + 1;
            let mut args = vec![NodeId::ABSENT; n_args];
            args[step.place] = value;
            for (place, tensor) in step.others {
                args[place] = build.constant(tensor);
            }
            value = build.call(name, &args, attrs)?;
        }
        let (mut args, mut attrs) = (vec![value], vec![Attr::new("axis", first.axis)]);
        match has_attribute {
            true => attrs.push(Attr::new("split", sizes.clone())),
            false => args.push(build.constant(Tensor::from_i64(&[sizes.len() as u64], &sizes))),
        }
        let parts = build.call_results("", "Split", &args, attrs, sizes.len() as u16)?.1;
        for (end, part) in ends.into_iter().zip(parts) {
            at.take_over(end, part);
        }
        Ok(())
    }
}

/// Tensors one after another along an axis; none if their other sizes or element types differ.
fn concat(parts: &[&Tensor], axis: usize) -> Option<Tensor> {
    let first = parts.first()?;
    let elem = first.elem();
    let others = |tensor: &Tensor| -> Vec<u64> {
        tensor.dims().iter().enumerate().filter(|&(at, _)| at != axis).map(|(_, &size)| size).collect()
    };
    let is_alike = |part: &&Tensor| part.elem() == elem && others(part) == others(first);
    if axis >= first.dims().len() || !parts.iter().all(is_alike) || elem.bits() % 8 != 0 {
        return None;
    }
    let mut dims = first.dims().to_vec();
    dims[axis] = parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.dims()[axis]))?;
    let n_outer: u64 = first.dims()[..axis].iter().product();
    let bytes: Vec<_> = parts.iter().map(|part| part.to_bytes()).collect();
    let mut data = Vec::with_capacity(bytes.iter().map(|part| part.len()).sum());
    for outer in 0..n_outer as usize {
        for part in &bytes {
            let len = part.len() / n_outer as usize;
            data.extend_from_slice(&part[outer * len..][..len]);
        }
    }
    Tensor::dense(elem, &dims, data).ok()
}
