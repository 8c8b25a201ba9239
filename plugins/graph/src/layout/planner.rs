//! The nets of a pair of orders, and the calls that are free.

use super::{
    moves::{Asked, Side},
    orders::{Layout, Pair, transpose},
    plan::{End, Free, Net, Place, Plan},
};
use crate::numbers::is_quantization;
use relais_plugin_api::{
    ir::{BlockId, BlockTree, kind},
    prelude::*,
};
/// Chooses the orders in which the values of a function are computed, of two.
pub fn plan(asked: Asked<'_, '_>, places: &BlockTree, pair: Pair) -> Plan {
    let plan = Plan::new(pair);
    let mut planner = Planner { asked, places, plan, to_add: Vec::new(), to_visit: Vec::new() };
    planner.flood();
    let mut plan = planner.plan;
    plan.choose();
    plan
}

/// Finds all that a pair of orders concerns.
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

    /// Where a value is computed, and whether that is a quantisation.
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
        let is_quantised = call.op().is_some_and(|op| is_quantization(f, op));
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
        if let Some((_, order)) = transpose(f, call.id) {
            if order.len() != self.plan.pair.forth.len() {
                return None;
            }
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

    /// Looks at the users of a member of a net.
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
            is_quantised |= call.op().is_some_and(|op| is_quantization(f, op));
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
