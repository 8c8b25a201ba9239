//! Moving calls to the orders that a plan chooses.

use super::{
    moves::{Edit, Side, inverse},
    orders::{Layout, reshaped, transpose},
    plan::{Free, Plan},
};
use relais_plugin_api::{
    build::Builder,
    facts::OpFactsTable,
    ir::{BlockId, Rebuild},
    prelude::*,
};
use std::collections::HashMap;

/// The version from which on `Reshape` takes the shape as an argument.
const SHAPE_AS_ARGUMENT: i64 = 5;

/// Moves the calls that a plan moves.
pub struct Apply<'cx> {
    ops: OpFactsTable<'cx>,
    plan: Plan,
    open: Vec<BlockId>,
    /// The value of a net in an order.
    values: HashMap<(usize, Layout), NodeId>,
    /// The results of calls that have several.
    results: HashMap<NodeId, Vec<NodeId>>,
}

impl<'cx> Apply<'cx> {
    pub fn new(ops: OpFactsTable<'cx>, plan: Plan) -> Self {
        Self { ops, plan, open: Vec::new(), values: HashMap::new(), results: HashMap::new() }
    }
}

impl Rebuild for Apply<'_> {
    type Error = PassError;

    fn enter(&mut self, _: &mut Editor, block: BlockId) -> Result<(), PassError> {
        self.open.push(block);
        Ok(())
    }

    fn exit(&mut self, _: &mut Editor, _: BlockId) -> Result<(), PassError> {
        self.open.pop();
        Ok(())
    }

    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, PassError> {
        let Some(&block) = self.open.last() else { return Ok(Action::Keep) };
        let member = self.plan.members.get(&(block, id)).copied();
        if let Some((net, layout)) = member.filter(|&(net, _)| self.plan.nets[net].value != id) {
            return Ok(self.link(cx, id, net, layout));
        }
        let moved = |side| {
            let free = self.plan.by_call.get(&(id, side)).copied();
            free.filter(|&free| self.plan.is_moved(free))
        };
        let (before, behind) = (moved(Side::Argument), moved(Side::Result));
        let new = match (before, behind) {
            (None, None) => {
                return match projected(cx.function(), id).and_then(|(call, at)| self.results.get(&call)?.get(at)) {
                    Some(&new) => self.define(cx, member, new),
                    None => {
                        if let Some((net, layout)) = member {
                            self.values.insert((net, layout), id);
                        }
                        Ok(Action::Keep)
                    }
                };
            }
            (Some(free), _) if self.plan.free[free].moved.is_some() => return self.call(cx, id, block, free, member),
            (None, Some(free)) if self.plan.free[free].moved.is_some() => {
                return self.call(cx, id, block, free, member);
            }
            _ => self.transpose(cx, id, block, (before, behind))?,
        };
        if behind.is_some() {
            return self.define(cx, member, new);
        }
        if let Some((net, layout)) = member {
            self.values.insert((net, layout), new);
        }
        Ok(Action::Replace(new))
    }
}

/// The call that a node is a result of, and which.
pub fn projected(f: &Function, id: NodeId) -> Option<(NodeId, usize)> {
    match f.expr(id) {
        Expr::TupleGetItem { tuple, index } => Some((tuple, index)),
        _ => None,
    }
}

impl Apply<'_> {
    /// A transpose between the two orders.
    fn link(&mut self, cx: &mut RebuildCx<'_>, id: NodeId, net: usize, layout: Layout) -> Action {
        if !self.plan.is_touched(&self.plan.nets[net]) {
            return Action::Keep;
        }
        let of = &self.plan.nets[net];
        let computed = || (self.plan.chosen(of.from) == layout).then_some(of.value);
        if let Some(value) = self.values.get(&(net, layout)).copied().or_else(computed) {
            return Action::Replace(cx.resolve(value));
        }
        match self.plan.is_needed(net, layout) {
            true => {
                self.values.insert((net, layout), id);
                Action::Keep
            }
            false => Action::Drop,
        }
    }

    /// The value of a net in an order, at the binding that is visited.
    fn value(&mut self, cx: &mut RebuildCx<'_>, net: usize, layout: Layout) -> Result<NodeId, PassError> {
        if let Some(&value) = self.values.get(&(net, layout)) {
            return Ok(cx.resolve(value));
        }
        let computed = self.plan.chosen(self.plan.nets[net].from);
        let value = match self.values.get(&(net, computed)) {
            Some(&value) => cx.resolve(value),
            // It was computed before the block begins.
            None => cx.resolve(self.plan.nets[net].value),
        };
        self.values.insert((net, computed), value);
        if computed == layout {
            return Ok(value);
        }
        let transposed = self.transposed(cx, value, layout)?;
        self.values.insert((net, layout), transposed);
        Ok(transposed)
    }

    /// A value of a net in one of the two orders, made of that in the other one.
    fn transposed(&mut self, cx: &mut RebuildCx<'_>, value: NodeId, to: Layout) -> Result<NodeId, PassError> {
        let order = self.plan.pair.to(to).to_vec();
        self.reordered(cx, value, &order)
    }

    /// A value with its axes in another order.
    fn reordered(&mut self, cx: &mut RebuildCx<'_>, value: NodeId, order: &[usize]) -> Result<NodeId, PassError> {
        let takes_shapes = cx.function().opset_version("").is_some_and(|version| version >= SHAPE_AS_ARGUMENT);
        let shape = cx.function().type_of(value).shape().filter(|_| takes_shapes);
        let shape = shape.and_then(|shape| reshaped(shape, order));
        let mut build = Builder::before(cx, &mut self.ops);
        let Some(shape) = shape else {
            let perm: Vec<i64> = order.iter().map(|&axis| axis as i64).collect();
            return build.call("Transpose", &[value], vec![Attr::new("perm", perm)]);
        };
        let shape = build.constant(Tensor::from_i64(&[shape.len() as u64], &shape));
        build.call("Reshape", &[value, shape], Vec::new())
    }

    /// Lets a value be computed in the other order.
    fn define(
        &mut self,
        cx: &mut RebuildCx<'_>,
        member: Option<(usize, Layout)>,
        new: NodeId,
    ) -> Result<Action, PassError> {
        let Some((net, layout)) = member else { return Ok(Action::Drop) };
        self.values.insert((net, layout.other()), new);
        if !self.plan.is_needed(net, layout) {
            return Ok(Action::Drop);
        }
        let old = self.transposed(cx, new, layout)?;
        self.values.insert((net, layout), old);
        Ok(Action::Replace(old))
    }

    /// Makes a call in the other order.
    fn call(
        &mut self,
        cx: &mut RebuildCx<'_>,
        id: NodeId,
        block: BlockId,
        free: usize,
        member: Option<(usize, Layout)>,
    ) -> Result<Action, PassError> {
        let Free { layout, moved, args: written, .. } = &self.plan.free[free];
        let (to, written) = (layout.other(), written.clone());
        let Some(moved) = moved.clone() else { return Ok(Action::Keep) };
        let mut args = cx.function().call(id).map(|call| call.args().to_vec()).unwrap_or_default();
        for (&at, arg) in moved.args.iter().zip(written) {
            if let Some(&(net, _)) = self.plan.members.get(&(block, arg)) {
                args[at] = self.value(cx, net, to)?;
            }
        }
        for (at, edit) in moved.edits {
            let arg = match edit {
                Edit::Constant(tensor) => Builder::before(cx, &mut self.ops).constant(tensor),
                Edit::Reordered(tensor) => self.constant(cx, &tensor, to)?,
            };
            if args.len() <= at {
                args.resize(at + 1, NodeId::ABSENT);
            }
            args[at] = arg;
        }
        let made = Builder::before(cx, &mut self.ops).call_like(id, &args, moved.attrs)?;
        if let Some(order) = moved.gathered {
            let order: Vec<i64> = order.iter().map(|&axis| axis as i64).collect();
            let mut build = Builder::before(cx, &mut self.ops);
            let order = build.constant(Tensor::from_i64(&[order.len() as u64], &order));
            return Ok(Action::Replace(build.call("Gather", &[made[0], order], Vec::new())?));
        }
        match (moved.has_results, made.as_slice()) {
            (false, &[one]) => Ok(Action::Replace(one)),
            (true, &[one]) if cx.function().n_results(id).is_none() => self.define(cx, member, one),
            _ => {
                self.results.insert(id, made);
                Ok(Action::Drop)
            }
        }
    }

    /// A constant with its axes in the other order.
    fn constant(&mut self, cx: &mut RebuildCx<'_>, tensor: &Tensor, to: Layout) -> Result<NodeId, PassError> {
        let dims: Vec<u64> = self.plan.pair.to(to).iter().map(|&from| tensor.dims()[from]).collect();
        let is_vector = dims.iter().filter(|&&size| size != 1).count() <= 1;
        if is_vector || tensor.as_splat().is_some() {
            let tensor = tensor.reshaped(&dims).map_err(PassError::new)?;
            return Ok(Builder::before(cx, &mut self.ops).constant(tensor));
        }
        // For `FoldConstant`.
        let constant = Builder::before(cx, &mut self.ops).constant(tensor.clone());
        self.transposed(cx, constant, to)
    }

    /// Makes a transpose to a third order of what its argument is now, or to what its result is now.
    fn transpose(
        &mut self,
        cx: &mut RebuildCx<'_>,
        id: NodeId,
        block: BlockId,
        (before, behind): (Option<usize>, Option<usize>),
    ) -> Result<NodeId, PassError> {
        let Some((mut from, mut order)) = transpose(cx.function(), id) else { return Ok(id) };
        if let Some(free) = before {
            let to = self.plan.layouts[free];
            let arg = self.plan.free[free].args[0];
            if let Some(&(net, _)) = self.plan.members.get(&(block, arg)) {
                from = self.value(cx, net, to)?;
            }
            let back = inverse(self.plan.pair.to(to));
            order.iter_mut().for_each(|axis| *axis = back[*axis]);
        }
        if let Some(free) = behind {
            order = self.plan.pair.to(self.plan.layouts[free]).iter().map(|&axis| order[axis]).collect();
        }
        match order.is_sorted() {
            true => Ok(from),
            false => self.reordered(cx, from, &order),
        }
    }
}
