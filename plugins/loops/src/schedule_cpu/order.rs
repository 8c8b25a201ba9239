//! The order of loops of which one is all that the other one does.

use super::{MOST_BINDINGS, are_pairs, is_fixed, loops};
use crate::program::{Loop, bindings_of};
use relais_plugin_api::{
    ir::AttrRec,
    prelude::*,
    prim::{Access, Accesses, LoopKind, LoopOps},
};
use std::collections::HashSet;

/// The cost of an access whose elements are apart in the turns of the innermost loop; it is 1 if they follow each other, and
/// nothing if it is one element.
const APART: u64 = 8;

/// The fewest turns of a loop that is taken inside, if their number is known.
const FEWEST_TURNS: u64 = 4;

/// Exchanges loops of which one is all that the other one does, as long as the innermost one gets better.
pub fn interchange(edit: &mut Editor, cx: &PassCx<'_>) {
    let mut n = 0;
    let ops = LoopOps::new(edit.function());
    let all = loops(edit.function(), &ops);
    // The answers that are needed do not change as loops of other nests do.
    let accesses = Accesses::new(edit.function(), &ops);
    // The outermost loop of each nest.
    let mut inner: HashSet<NodeId> = HashSet::new();
    for (_, id) in all {
        if inner.contains(&id) {
            continue;
        }
        let nest = nest_of(edit.function(), &ops, id);
        inner.extend(&nest[1..]);
        if let Some(at) = better(edit.function(), cx, &ops, &accesses, &nest) {
            // It passes all loops inside of it, one by one.
            nest[at..].windows(2).for_each(|pair| exchange(edit.function_mut(), pair[0], pair[1]));
            n += nest.len() - 1 - at;
        }
    }
    if n > 0 {
        cx.count("exchanged", n);
    }
}

/// A loop, and those in it, as long as one is all that the one around it does.
fn nest_of(f: &Function, ops: &LoopOps, id: NodeId) -> Vec<NodeId> {
    let is_movable = |id: NodeId| {
        Loop::of(f, ops, id).is_some_and(|parts| parts.params.len() == 1)
            && LoopOps::loop_kind(f, id) == Some(LoopKind::Serial)
    };
    let mut nest = vec![id];
    while let Some(&last) = nest.last().filter(|&&last| is_movable(last)) {
        match *f.bindings(f.block_of(f.regions(last)[0])) {
            [inner] if is_movable(inner) => nest.push(inner),
            _ => break,
        }
    }
    nest
}

/// The loop of a nest that had better be the innermost one, if it may be.
fn better(f: &Function, cx: &PassCx<'_>, ops: &LoopOps, accesses: &Accesses, nest: &[NodeId]) -> Option<usize> {
    let &innermost = nest.last()?;
    if nest.len() < 2 {
        return None;
    }
    let all: Vec<NodeId> = bindings_of(f, innermost);
    if all.len() > MOST_BINDINGS {
        return None;
    }
    let touched: Vec<&Access> = all.iter().filter_map(|&id| accesses.of(id)).collect();
    let variable = |f: &Function, id: NodeId| f.operands(f.regions(id)[0])[0];
    let cost = |id: NodeId| -> Option<u64> {
        let strides = touched.iter().map(|access| Some(stride(access, variable(f, id))?.unsigned_abs()));
        strides.map(|stride| Some(stride?.saturating_mul(if stride? > 1 { APART } else { 1 }).min(APART))).sum()
    };
    let costs = nest.iter().map(|&id| cost(id)).collect::<Option<Vec<u64>>>()?;
    let turns = |id: NodeId| Loop::of(f, ops, id).and_then(|parts| parts.turns(f, ops));
    let last = nest.len() - 1;
    let is_long = |&at: &usize| turns(nest[at]).is_none_or(|turns| turns >= FEWEST_TURNS);
    // Of equal ones, the innermost.
    let best = (0..last).rev().filter(is_long).min_by_key(|&at| costs[at]);
    let best = best.filter(|&best| costs[best] < costs[last])?;
    if let Err(why) = can_pass(f, ops, &touched, &all, nest, best) {
        cx.remark(nest[best], format_args!("it stays around the loop in it: {why}"));
        return None;
    }
    Some(best)
}

/// The elements from one turn of a loop to the next, in the loops in it, too; `None` if they are not known.
fn stride(access: &Access, variable: NodeId) -> Option<i64> {
    let mut sum = 0_i64;
    for axis in &access.axes {
        for term in axis.terms.iter().filter(|term| term.value == variable) {
            sum = sum.checked_add(term.factor.checked_mul(axis.stride)?)?;
        }
    }
    Some(sum)
}

/// Whether a loop of a nest can be taken inside of all loops in it.
fn can_pass(
    f: &Function,
    ops: &LoopOps,
    touched: &[&Access],
    all: &[NodeId],
    nest: &[NodeId],
    at: usize,
) -> Result<(), &'static str> {
    let variable = |id: NodeId| f.operands(f.regions(id)[0])[0];
    let moved = variable(nest[at]);
    let passed: Vec<NodeId> = nest[at + 1..].iter().map(|&id| variable(id)).collect();
    let bounds = nest[at + 1..].iter().flat_map(|&id| &f.operands(id)[1..3]);
    // The bounds are from outside, as nothing else is in the loops; they may be a variable itself.
    if bounds.into_iter().any(|bound| *bound == moved || passed.contains(bound)) {
        return Err("the number of its turns depends on it");
    }
    if all.iter().any(|&id| is_fixed(f, ops, id)) {
        return Err("it calls something, or may end the program");
    }
    let is_known =
        |access: &&&Access| f.type_of(access.memory).static_shape().is_some_and(|it| it.len() == access.axes.len());
    if !touched.iter().all(|access| is_known(&access)) {
        return Err("the sizes of its memory are not known");
    }
    let inside = |id: NodeId| all.contains(&id);
    let shared: Vec<&Access> = touched.iter().copied().filter(|access| !inside(access.root)).collect();
    // Where two turns of the nest touch one element, one of the variables has to be the same in both: then the order in which they
    // run is that of the other ones.
    let is_kept =
        |a: &Access, b: &Access| pins(a, b, moved, nest, f) || passed.iter().all(|&it| pins(a, b, it, nest, f));
    match are_pairs(&shared, is_kept) {
        true => Ok(()),
        false => Err("a turn may use what another one writes"),
    }
}

/// Whether two accesses touch the same element only where a variable of the nest is the same for both.
fn pins(a: &Access, b: &Access, variable: NodeId, nest: &[NodeId], f: &Function) -> bool {
    let is_of_nest = |id: NodeId| nest.iter().any(|&it| f.operands(f.regions(it)[0])[0] == id);
    let body = bindings_of(f, *nest.last().unwrap_or(&NodeId::ABSENT));
    a.memory == b.memory
        && a.lanes == 1
        && b.lanes == 1
        && a.axes.iter().zip(&b.axes).any(|(x, y)| {
            let is_alone = |value: NodeId| value == variable || !is_of_nest(value) && !is_inside(f, &body, value);
            x.terms == y.terms
                && x.constant == y.constant
                && x.terms.iter().any(|term| term.value == variable)
                && x.terms.iter().all(|term| is_alone(term.value))
        })
}

/// Whether a value is one of the body of a nest, or a parameter in it.
fn is_inside(f: &Function, body: &[NodeId], value: NodeId) -> bool {
    body.iter().any(|&id| id == value || f.regions(id).iter().any(|&region| f.operands(region).contains(&value)))
}

/// Exchanges a loop and the only one in it.
fn exchange(f: &mut Function, outer: NodeId, inner: NodeId) {
    let parts = |f: &Function, id: NodeId| {
        let attrs: Vec<AttrRec> = f.attr_recs(id).to_vec();
        (f.operands(id)[1..3].to_vec(), f.operands(f.regions(id)[0]).to_vec(), attrs)
    };
    let (of_outer, of_inner) = (parts(f, outer), parts(f, inner));
    for (id, (bounds, params, attrs)) in [(outer, of_inner), (inner, of_outer)] {
        f.set_operand(id, 1, bounds[0]);
        f.set_operand(id, 2, bounds[1]);
        f.set_params(f.regions(id)[0], &params);
        f.set_attr_recs(id, &attrs);
    }
}
