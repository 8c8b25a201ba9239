//! Where transposes stand: each value is computed with its axes in that order in which fewest transposes are left.
//!
//! For two orders of axes, `First` and `Second`, each value that a transpose from one to the other can be moved to belongs
//! to a net: the value, what transposes make of it, and all that uses them. A call that computes the same in both orders is
//! free to be in either; everything else is in the order in which it was written. A net costs one transpose if something
//! uses it in the other order than the one in which it is computed. The orders with the least cost are a least cut of the
//! graph whose source and sink are the two orders, so that what is found cannot be bettered by moving transposes between
//! these orders. What does not cost less than before stays as it is.

mod cut;
pub mod forms;
pub mod moves;

use cut::{Graph, NEVER};
use moves::{Asked, Edit, FIXED, Move, Order, Reason, Side, Sums, inverse};
use relais_plugin_api::{
    build::Builder,
    facts::OpFactsTable,
    ir::{BlockId, BlockTree, DimRec, Rebuild, Users, kind},
    prelude::*,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

/// How many pairs of orders are looked at in one round.
const MAX_PAIRS: usize = 16;

/// How many rounds there are at most: one pair of orders may uncover work for another.
const MAX_ROUNDS: usize = 8;

/// The version from which on `Reshape` takes the shape as an argument.
const SHAPE_AS_ARGUMENT: i64 = 5;

/// Moves the transposes of a function to where fewest are left; returns how many are gone.
///
/// # Errors
/// Returns an error if a call that is made is refused, or the pass should stop.
pub fn settle(edit: &mut Editor, cx: &PassCx<'_>, sums: Sums) -> Result<usize, PassError> {
    let mut n_gone = 0;
    for _ in 0..MAX_ROUNDS {
        let before = n_gone;
        for pair in pairs(edit.function()) {
            cx.check_cancelled()?;
            let (users, places) = (edit.analysis::<Users>(), edit.analysis::<BlockTree>());
            let ops = cx.ops(edit.function());
            let plan = Plan::of(edit.function(), &ops, &users, &places, pair, sums);
            if plan.n_gone == 0 {
                for (&call, reason) in plan.refused.iter().filter(|(_, reason)| **reason != FIXED) {
                    cx.remark(call, reason);
                }
                continue;
            }
            n_gone += plan.n_gone;
            let ops = cx.ops(edit.function());
            let mut apply = Apply { ops, plan, open: Vec::new(), values: HashMap::new(), results: HashMap::new() };
            edit.rebuild(&mut apply)?;
        }
        if n_gone == before {
            break;
        }
    }
    Ok(n_gone)
}

/// One of the two orders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Layout {
    First,
    Second,
}

impl Layout {
    fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// Two orders of axes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Pair {
    /// Makes the second order of the first.
    forth: Order,
    /// Makes the first order of the second.
    back: Order,
}

impl Pair {
    /// What makes one order of the other.
    fn to(&self, layout: Layout) -> &[usize] {
        match layout {
            Layout::First => &self.back,
            Layout::Second => &self.forth,
        }
    }
}

/// The argument of a call that changes the order of axes, and the order: that of a `Transpose`, or of a `Reshape` that
/// only moves axes of size 1.
fn transpose(f: &Function, id: NodeId) -> Option<(NodeId, Order)> {
    let call = f.call(id).filter(|call| call.n_results().is_none())?;
    let from = call.arg(0)?;
    let order = match call.attrs().get("perm") {
        _ if call.is_op("Reshape") => moved_units(f.type_of(from).shape()?, f.type_of(id).shape()?)?,
        _ if !call.is_op("Transpose") => return None,
        Some(_) => {
            call.attrs().ints("perm")?.iter().map(|&axis| usize::try_from(axis).ok()).collect::<Option<Order>>()?
        }
        None => (0..f.type_of(id).shape()?.len()).rev().collect(),
    };
    let axes: BTreeSet<usize> = order.iter().copied().collect();
    axes.into_iter().eq(0..order.len()).then_some((from, order))
}

/// The order that makes one shape of another, if only axes of size 1 have other places.
fn moved_units(from: &[DimRec], to: &[DimRec]) -> Option<Order> {
    let are_units = |shape: &[DimRec], are_units: fn(&DimRec) -> bool| -> Order {
        shape.iter().enumerate().filter(|(_, dim)| are_units(dim)).map(|(axis, _)| axis).collect()
    };
    let (is_unit, is_other): (fn(&DimRec) -> bool, fn(&DimRec) -> bool) = (|dim| dim.0 == 1, |dim| dim.0 != 1);
    let (others, other_places) = (are_units(from, is_other), are_units(to, is_other));
    if from.len() != to.len() || others.len() != other_places.len() {
        return None;
    }
    let is_same = |&(&a, &b): &(&usize, &usize)| Dim::from(from[a]).is_same(to[b].into());
    let n_same = others.iter().zip(&other_places).filter(is_same).count();
    // One size follows from the others if none of these is 0.
    let is_known = |&(&a, &b): &(&usize, &usize)| from[a].0 > 0 && from[a] == to[b];
    let n_known = others.iter().zip(&other_places).filter(is_known).count();
    if n_same != others.len() && n_known + 1 != others.len() {
        return None;
    }
    let mut order = vec![0; to.len()];
    let moved = others.iter().zip(&other_places);
    for (&a, &b) in moved.chain(are_units(from, is_unit).iter().zip(&are_units(to, is_unit))) {
        order[b] = a;
    }
    (!order.is_sorted()).then_some(order)
}

/// The pairs of orders between which a function has transposes, the most frequent ones first.
fn pairs(f: &Function) -> Vec<Pair> {
    let Some(_) = f.find_string("Transpose") else { return Vec::new() };
    let mut counts: BTreeMap<Pair, usize> = BTreeMap::new();
    let transposes = f.all_bindings().filter(|&id| f.call(id).is_some_and(|call| call.is_op("Transpose")));
    for (_, forth) in transposes.filter_map(|id| transpose(f, id)) {
        let back = inverse(&forth);
        let (forth, back) = if forth <= back { (forth, back) } else { (back, forth) };
        if !forth.is_sorted() {
            *counts.entry(Pair { forth, back }).or_default() += 1;
        }
    }
    let mut pairs: Vec<(Pair, usize)> = counts.into_iter().collect();
    pairs.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    pairs.into_iter().take(MAX_PAIRS).map(|(pair, _)| pair).collect()
}

/// What computes or uses a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Something that stays in the order in which it was written.
    Fixed(Layout),
    /// A call that is free.
    Free(usize),
}

/// A value, and what uses it in either order.
struct Net {
    /// The value as it is computed.
    value: NodeId,
    /// What computes it.
    from: End,
    users: Vec<End>,
    /// How many transposes make the one order of the other.
    n_links: u32,
    /// Whether one of its ends is a quantisation.
    is_quantised: bool,
}

impl Net {
    /// How many transposes are needed, if its ends are in these orders.
    fn cost(&self, layout: impl Fn(End) -> Layout) -> u32 {
        u32::from(self.users.iter().any(|&user| layout(user) != layout(self.from)))
    }
}

/// A call that can be in either order.
struct Free {
    /// The order in which it was written.
    layout: Layout,
    /// What it is in the other one; `None` for a transpose to a third order, whose argument or result it is.
    moved: Option<Move>,
    /// The arguments that follow the order, as the call was written.
    args: Vec<NodeId>,
    /// Whether it turned out not to be free.
    is_pinned: bool,
}

impl Free {
    /// What it costs in the other order.
    fn cost(&self) -> u32 {
        u32::from(self.moved.as_ref().is_some_and(|moved| moved.gathered.is_some()))
    }
}

/// A value in a block. Values of outer blocks have a net of their own in each block that uses them.
type Place = (BlockId, NodeId);

/// The orders in which the values of a function are computed.
struct Plan {
    pair: Pair,
    members: HashMap<Place, (usize, Layout)>,
    nets: Vec<Net>,
    free: Vec<Free>,
    by_call: HashMap<(NodeId, Side), usize>,
    /// By free call: the order in which it is computed.
    layouts: Vec<Layout>,
    /// How many transposes there are less.
    n_gone: usize,
    /// The calls that transposes cannot be moved past, and why.
    refused: BTreeMap<NodeId, Reason>,
}

impl Plan {
    fn of(f: &Function, ops: &OpFactsTable<'_>, users: &Rc<Users>, places: &BlockTree, pair: Pair, sums: Sums) -> Self {
        let plan = Self {
            pair,
            members: HashMap::new(),
            nets: Vec::new(),
            free: Vec::new(),
            by_call: HashMap::new(),
            layouts: Vec::new(),
            n_gone: 0,
            refused: BTreeMap::new(),
        };
        let asked = Asked { f, ops, users, sums };
        let mut planner = Planner { asked, places, plan, to_add: Vec::new(), to_visit: Vec::new() };
        planner.flood();
        let mut plan = planner.plan;
        plan.choose();
        plan
    }

    fn written(&self, end: End) -> Layout {
        match end {
            End::Fixed(layout) => layout,
            End::Free(free) => self.free[free].layout,
        }
    }

    fn chosen(&self, end: End) -> Layout {
        match end {
            End::Fixed(layout) => layout,
            End::Free(free) => self.layouts[free],
        }
    }

    /// How many transposes of a net are not needed as it was written: those that undo each other, and equal ones.
    fn surplus(&self, net: &Net) -> u32 {
        net.n_links.saturating_sub(net.cost(|end| self.written(end)))
    }

    fn is_moved(&self, free: usize) -> bool {
        self.layouts[free] != self.free[free].layout
    }

    /// Whether transposes of a net go, or something that uses or computes it is moved.
    fn is_touched(&self, net: &Net) -> bool {
        let is_moved = |end: &End| matches!(*end, End::Free(free) if self.is_moved(free));
        self.surplus(net) > 0 || is_moved(&net.from) || net.users.iter().any(is_moved)
    }

    /// Whether something uses a net in an order.
    fn is_needed(&self, net: usize, layout: Layout) -> bool {
        self.nets[net].users.iter().any(|&user| self.chosen(user) == layout)
    }

    /// Chooses the orders.
    fn choose(&mut self) {
        const SOURCE: usize = 0;
        const SINK: usize = 1;
        self.layouts = self.free.iter().map(|free| free.layout).collect();
        self.n_gone = self.nets.iter().map(|net| self.surplus(net) as usize).sum();
        let mut graph = Graph::new(2 + self.free.len());
        let node = |end: End| match end {
            End::Fixed(Layout::First) => SOURCE,
            End::Fixed(Layout::Second) => SINK,
            End::Free(free) => 2 + free,
        };
        for net in self.nets.iter().filter(|net| !net.users.is_empty()) {
            let is_whole = net.cost(|end| self.written(end)) == 0;
            let capacity = if net.is_quantised && is_whole { NEVER } else { 1 };
            let (from, to, back) = (node(net.from), graph.add_node(), graph.add_node());
            graph.add_edge(from, to, capacity);
            graph.add_edge(back, from, capacity);
            for user in net.users.iter().map(|&user| node(user)) {
                graph.add_edge(to, user, NEVER);
                graph.add_edge(user, back, NEVER);
            }
        }
        for (at, free) in self.free.iter().enumerate() {
            let capacity = if free.is_pinned { NEVER } else { free.cost() };
            match free.layout {
                Layout::First => graph.add_edge(SOURCE, 2 + at, capacity),
                Layout::Second => graph.add_edge(2 + at, SINK, capacity),
            }
        }
        let Some(is_first) = graph.cut(SOURCE, SINK) else { return };
        for (at, layout) in self.layouts.iter_mut().enumerate() {
            *layout = if is_first[2 + at] { Layout::First } else { Layout::Second };
        }
        self.keep_what_gains_nothing();
    }

    /// Leaves the parts of the graph as they were in which no transpose is gone.
    fn keep_what_gains_nothing(&mut self) {
        let parts = self.parts();
        let mut gains = vec![0i64; self.free.len()];
        for net in &self.nets {
            let free = net.users.iter().chain([&net.from]).find_map(|&end| match end {
                End::Free(free) => Some(free),
                End::Fixed(_) => None,
            });
            let Some(free) = free else { continue };
            let (before, after) = (net.cost(|end| self.written(end)), net.cost(|end| self.chosen(end)));
            gains[parts[free]] += i64::from(before) - i64::from(after);
        }
        for (at, free) in self.free.iter().enumerate().filter(|&(at, _)| self.is_moved(at)) {
            gains[parts[at]] -= i64::from(free.cost());
        }
        for (at, free) in self.free.iter().enumerate() {
            if gains[parts[at]] <= 0 {
                self.layouts[at] = free.layout;
            }
        }
        self.n_gone += gains.into_iter().filter(|&gain| gain > 0).sum::<i64>() as usize;
    }

    /// By free call: the first one that it is connected to.
    fn parts(&self) -> Vec<usize> {
        let mut parts: Vec<usize> = (0..self.free.len()).collect();
        let root = |parts: &mut Vec<usize>, mut at: usize| {
            while parts[at] != at {
                parts[at] = parts[parts[at]];
                at = parts[at];
            }
            at
        };
        for net in &self.nets {
            let mut first = None;
            for &end in net.users.iter().chain([&net.from]) {
                let End::Free(free) = end else { continue };
                let this = root(&mut parts, free);
                let first = *first.get_or_insert(this);
                let (a, b) = (root(&mut parts, first), this);
                parts[a.max(b)] = a.min(b);
            }
        }
        (0..parts.len()).map(|at| root(&mut parts, at)).collect()
    }
}

/// Finds what a pair of orders concerns.
struct Planner<'a, 'cx> {
    asked: Asked<'a, 'cx>,
    places: &'a BlockTree,
    plan: Plan,
    /// Values that follow an order.
    to_add: Vec<(Place, Layout)>,
    /// Members whose users have not been looked at.
    to_visit: Vec<Place>,
}

impl Planner<'_, '_> {
    /// Looks at everything that is connected to a transpose between the two orders.
    fn flood(&mut self) {
        let f = self.asked.f;
        for block in f.all_blocks() {
            for &id in f.bindings(block) {
                let Some((_, order)) = transpose(f, id) else { continue };
                let to = [Layout::Second, Layout::First].into_iter().find(|&to| self.plan.pair.to(to) == order);
                self.to_add.extend(to.map(|to| ((block, id), to)));
                loop {
                    if let Some((place, layout)) = self.to_add.pop() {
                        self.add(place, layout);
                    } else if let Some(place) = self.to_visit.pop() {
                        self.visit(place);
                    } else {
                        break;
                    }
                }
            }
        }
    }

    fn is_local(&self, (block, value): Place) -> bool {
        self.asked.f.kind(value) != kind::VAR && self.places.block_of(value) == Some(block)
    }

    /// Finds the net of a value: that of what it is a transpose of, or one of its own.
    fn add(&mut self, (block, value): Place, layout: Layout) {
        if self.plan.members.contains_key(&(block, value)) {
            return;
        }
        let mut chain = vec![(value, layout)];
        let net = loop {
            let &(value, layout) = chain.last().unwrap_or(&(value, layout));
            let inner = transpose(self.asked.f, value)
                .filter(|(_, order)| self.is_local((block, value)) && self.plan.pair.to(layout) == order.as_slice());
            match inner.map(|(from, _)| (from, self.plan.members.get(&(block, from)))) {
                Some((from, None)) => chain.push((from, layout.other())),
                Some((_, Some(&(net, known)))) if known == layout.other() => break net,
                _ => {
                    let (from, is_quantised) = self.definition((block, value), layout);
                    self.plan.nets.push(Net { value, from, users: Vec::new(), n_links: 0, is_quantised });
                    break self.plan.nets.len() - 1;
                }
            }
        };
        for (value, layout) in chain {
            self.plan.nets[net].n_links += u32::from(value != self.plan.nets[net].value);
            self.plan.members.insert((block, value), (net, layout));
            self.to_visit.push((block, value));
        }
    }

    /// What computes a value, and whether that is a quantisation.
    fn definition(&mut self, (block, value): Place, layout: Layout) -> (End, bool) {
        let f = self.asked.f;
        let fixed = End::Fixed(layout);
        if !self.is_local((block, value)) {
            return (fixed, false);
        }
        let call = match f.expr(value) {
            Expr::Call(call) => call,
            Expr::TupleGetItem { tuple, .. } => match f.call(tuple).filter(|_| self.is_local((block, tuple))) {
                Some(call) => call,
                None => return (fixed, false),
            },
            _ => return (fixed, false),
        };
        let is_quantised = call.op().is_some_and(|op| crate::numbers::is_quantization(f, op));
        let Some(free) = self.free(block, call, layout, Side::Result) else { return (fixed, is_quantised) };
        let Free { layout: known, moved, is_pinned, .. } = &mut self.plan.free[free];
        if *known != layout || moved.as_ref().is_some_and(|moved| !moved.has_results) {
            *is_pinned |= *known != layout;
            return (fixed, is_quantised);
        }
        (End::Free(free), is_quantised)
    }

    /// The number of a call that can be in either order.
    fn free(&mut self, block: BlockId, call: CallView<'_>, layout: Layout, side: Side) -> Option<usize> {
        if let Some(&free) = self.plan.by_call.get(&(call.id, side)) {
            return Some(free);
        }
        if self.plan.refused.contains_key(&call.id) {
            return None;
        }
        let f = self.asked.f;
        if transpose(f, call.id).is_some() {
            self.plan.by_call.insert((call.id, side), self.plan.free.len());
            let args = if side == Side::Argument { call.args().to_vec() } else { Vec::new() };
            self.plan.free.push(Free { layout, moved: None, args, is_pinned: false });
            return Some(self.plan.free.len() - 1);
        }
        let results: Vec<NodeId> = match call.n_results() {
            None => vec![call.id],
            Some(_) => self.asked.users.of(call.id).to_vec(),
        };
        let are_projections = call.n_results().is_none()
            || (!self.asked.users.is_result(call.id)
                && results.iter().all(|&result| {
                    f.kind(result) == kind::TUPLE_GET_ITEM && self.places.block_of(result) == Some(block)
                }));
        let moved = match are_projections {
            true => self.asked.move_of(call, self.plan.pair.to(layout.other()), side),
            false => Err("something uses all results at once"),
        };
        let moved = match moved {
            Ok(moved) => moved,
            Err(reason) => {
                self.plan.refused.insert(call.id, reason);
                return None;
            }
        };
        let args: Vec<NodeId> = moved.args.iter().filter_map(|&at| call.arg(at)).collect();
        self.to_add.extend(args.iter().map(|&arg| ((block, arg), layout)));
        if moved.has_results {
            self.to_add.extend(results.iter().map(|&result| ((block, result), layout)));
        }
        let free = self.plan.free.len();
        self.plan.by_call.extend([((call.id, Side::Argument), free), ((call.id, Side::Result), free)]);
        self.plan.free.push(Free { layout, moved: Some(moved), args, is_pinned: false });
        Some(free)
    }

    /// Looks at what uses a member of a net.
    fn visit(&mut self, (block, value): Place) {
        let Some(&(net, layout)) = self.plan.members.get(&(block, value)) else { return };
        let f = self.asked.f;
        let is_own = self.places.block_of(value) == Some(block);
        let mut found = Vec::new();
        let mut is_quantised = false;
        if self.asked.users.is_result(value) {
            found.push(End::Fixed(layout));
        }
        let mut last = NodeId::ABSENT;
        for &user in self.asked.users.of(value) {
            if std::mem::replace(&mut last, user) == user {
                continue;
            }
            if self.places.block_of(user) != Some(block) {
                // In a block of its own the value has another net.
                found.extend(is_own.then_some(End::Fixed(layout)));
                continue;
            }
            let Some(call) = f.call(user) else {
                found.push(End::Fixed(layout));
                continue;
            };
            if transpose(f, user).is_some_and(|(_, order)| self.plan.pair.to(layout.other()) == order.as_slice()) {
                match self.plan.members.get(&(block, user)) {
                    None => {
                        self.plan.nets[net].n_links += 1;
                        self.plan.members.insert((block, user), (net, layout.other()));
                        self.to_visit.push((block, user));
                        continue;
                    }
                    Some(&known) if known == (net, layout.other()) => continue,
                    Some(_) => {}
                }
            }
            is_quantised |= call.op().is_some_and(|op| crate::numbers::is_quantization(f, op));
            found.push(self.user(block, call, value, layout));
        }
        let net = &mut self.plan.nets[net];
        net.users.append(&mut found);
        net.is_quantised |= is_quantised;
    }

    /// The end of a net at a call that uses a member of it.
    fn user(&mut self, block: BlockId, call: CallView<'_>, value: NodeId, layout: Layout) -> End {
        let Some(free) = self.free(block, call, layout, Side::Argument) else { return End::Fixed(layout) };
        let Free { layout: known, moved, is_pinned, .. } = &mut self.plan.free[free];
        let follows = |at: usize| moved.as_ref().is_none_or(|moved| moved.args.contains(&at));
        let mut uses = call.args().iter().enumerate().filter(|&(_, &arg)| arg == value).map(|(at, _)| follows(at));
        let is_free = *known == layout && uses.clone().all(|follows| follows);
        if is_free {
            return End::Free(free);
        }
        // Another argument determines its order.
        *is_pinned |= uses.any(|follows| follows);
        End::Fixed(layout)
    }
}

/// Moves what a plan moves.
struct Apply<'cx> {
    ops: OpFactsTable<'cx>,
    plan: Plan,
    open: Vec<BlockId>,
    /// The value of a net in an order.
    values: HashMap<(usize, Layout), NodeId>,
    /// The results of calls that have several.
    results: HashMap<NodeId, Vec<NodeId>>,
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
fn projected(f: &Function, id: NodeId) -> Option<(NodeId, usize)> {
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

/// The shape of a value in another order, if a `Reshape` makes it: only axes of size 1 move, and at most one size is not
/// known.
fn reshaped(shape: &[DimRec], order: &[usize]) -> Option<Vec<i64>> {
    let sizes: Vec<DimRec> = order.iter().map(|&from| shape[from]).collect();
    let n_unknown = sizes.iter().filter(|size| size.0 < 0).count();
    let is_known = n_unknown <= 1 && sizes.iter().all(|size| size.0 != 0);
    let keeps_elements = order.iter().filter(|&&from| shape[from].0 != 1).is_sorted();
    (is_known && keeps_elements).then(|| sizes.iter().map(|size| size.0.max(-1)).collect())
}
