//! Orders of axes, and the calls that make one of another.

use super::moves::{Order, inverse};
use relais_plugin_api::{ir::DimRec, prelude::*};
use std::collections::{BTreeMap, BTreeSet};

/// How many pairs of orders are looked at in one round.
const MAX_PAIRS: usize = 16;

/// One of the two orders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Layout {
    First,
    Second,
}

impl Layout {
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// Two orders of axes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pair {
    /// Makes the second order of the first.
    pub forth: Order,
    /// Makes the first order of the second.
    pub back: Order,
}

impl Pair {
    /// The order of axes by which a value in the other order gets into one of the two.
    pub fn to(&self, layout: Layout) -> &[usize] {
        match layout {
            Layout::First => &self.back,
            Layout::Second => &self.forth,
        }
    }
}

/// The argument of a call that changes the order of axes, and the order: that of a `Transpose`, or of a `Reshape` that
/// only moves axes of size 1.
pub fn transpose(f: &Function, id: NodeId) -> Option<(NodeId, Order)> {
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
    // A model may contradict itself.
    let is_of_rank = |id: NodeId| f.type_of(id).shape().is_none_or(|shape| shape.len() == order.len());
    let axes: BTreeSet<usize> = order.iter().copied().collect();
    (axes.into_iter().eq(0..order.len()) && is_of_rank(from) && is_of_rank(id)).then_some((from, order))
}

/// The order that makes one shape of another, if only axes of size 1 have other places.
fn moved_units(from: &[DimRec], to: &[DimRec]) -> Option<Order> {
    let split = |shape: &[DimRec]| -> (Order, Order) { (0..shape.len()).partition(|&axis| shape[axis].0 == 1) };
    let ((units, others), (unit_places, other_places)) = (split(from), split(to));
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
    for (&a, &b) in others.iter().zip(&other_places).chain(units.iter().zip(&unit_places)) {
        order[b] = a;
    }
    (!order.is_sorted()).then_some(order)
}

/// The pairs of orders between which a function has transposes, the most frequent ones first.
pub fn pairs(f: &Function) -> Vec<Pair> {
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

/// The shape of a value in another order, if a `Reshape` makes it: only axes of size 1 move, and at most one size is not
/// known.
pub fn reshaped(shape: &[DimRec], order: &[usize]) -> Option<Vec<i64>> {
    if shape.len() != order.len() {
        return None;
    }
    let sizes: Vec<DimRec> = order.iter().map(|&from| shape[from]).collect();
    let n_unknown = sizes.iter().filter(|size| size.0 < 0).count();
    let is_known = n_unknown <= 1 && sizes.iter().all(|size| size.0 != 0);
    let keeps_elements = order.iter().filter(|&&from| shape[from].0 != 1).is_sorted();
    (is_known && keeps_elements).then(|| sizes.iter().map(|size| size.0.max(-1)).collect())
}
