//! Cuts loops where conditions in them change, so that these are decided in each part.
//!
//! ```text
//! for %i in 0..20 {
//!   when (%i < 14) {
//!     %y[%i] = %x[%i];
//!   } else {
//!     %y[%i] = 0.0;
//!   }
//! } #[partition_hint = 1]
//! ```
//! becomes
//! ```text
//! for %i in 0..14 {
//!   %y[%i] = %x[%i];
//! }
//! for %i in 14..20 {
//!   %y[%i] = 0.0;
//! }
//! ```
//!
//! Conditions are those of `when`, `if` and `select`, and of `min` and `max` of integers, which are decided by which operand is
//! smaller; each comparison in an `and`, `or` or `not` counts. It has to be a sum with a loop's variable, of values from outside
//! of the loop, and of others whose bounds are known, such as the variables of loops in it: the loop is then cut where the
//! condition is decided for all of these. So a padded convolution has an interior without conditions, and a border with them. If
//! a condition has several variables, the outermost loop is cut first.
//!
//! A loop is cut if it has the metadata `partition_hint`, other than 0, or if its bounds are not constants; with
//! `partition_const_loop`, the option of the context's `tir.LoopPartition`, each is that has no `partition_hint = 0`. TVM looks
//! at conditions that are marked as `likely`, which there are not here.
//!
//! The parts have the kind of the loop, and its metadata but the hint; parts whose bounds are not constants get
//! `partition_hint = 0`, so that they are cut once. They run one after another: carried values pass from one to the next.
//! A part of one turn is not a loop, unless it has metadata or `no_unroll_loop_with_extent_one` is set. With
//! `unroll_loop_with_partition_hint_no_interval`, a loop with a hint in which there is nothing to cut becomes `unrolled`. A
//! function in which a loop was cut is simplified, as `Simplify` does it.
//!
//! The bounds of the parts never wrap: where that is not proven, the loop stays whole. So it does where a condition depends on
//! a value that is computed or loaded in the loop, or on a remainder of its variable, and where an `unrolled` loop would get
//! bounds that are not constants. A function grows by at most 65,536 bindings.

use crate::{
    cuts::{Cut, HINT, Parts, Survey, hint, in_order},
    program::{Loop, call, constant_int, copy_function, is_program, remove_second_names, set_attr, set_kind},
    simplify::{SimplifyConfig, simplify_with},
    unroll_loop::write_single_turns,
};
use relais_plugin_api::{
    ir::{AttrRec, Imm, StrId, attr_flag},
    prelude::*,
    prim::{CoreOp, Linear, LoopKind, LoopOps},
};
use std::collections::HashMap;

/// Options of [`loop_partition`], those of TVM's `LoopPartitionConfig`.
#[derive(PassOptions)]
pub struct LoopPartitionConfig {
    /// Whether loops with constant bounds are cut without a hint, too.
    #[option(default = false)]
    partition_const_loop: bool,
    /// Whether parts of one turn stay loops.
    #[option(default = false)]
    no_unroll_loop_with_extent_one: bool,
    /// Whether loops with a hint that are not cut become `unrolled`.
    #[option(default = false)]
    unroll_loop_with_partition_hint_no_interval: bool,
}

config_option! {
    "tir.LoopPartition": LoopPartitionConfig, aliases = ["s_tir.LoopPartition"],
    doc = "How loops are cut."
}

/// Cuts loops where conditions in them change.
#[prim_func_pass(
    name = "relais.LoopPartition",
    aliases = ["tir.transform.LoopPartition", "s_tir.transform.LoopPartition"],
    opt_level = 0,
    phase = "none",
    statistics(cut = "cuts through loops"),
)]
pub fn loop_partition(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let config: LoopPartitionConfig = cx.config("tir.LoopPartition")?.ok_or("nobody registered `tir.LoopPartition`")?;
    if !is_program(edit.function()) {
        return Ok(());
    }
    let mut parts = Parts::default();
    let mut n_cut = 0;
    loop {
        let cuts = Survey::new(edit.function(), &parts, config.partition_const_loop).cuts()?;
        if cuts.is_empty() {
            break;
        }
        n_cut += cuts.len();
        for cut in &cuts {
            parts.n_added += cut.n_bindings;
            parts.split(edit.function_mut(), cut)?;
        }
    }
    whole_loops(edit, cx, &config, &parts)?;
    if n_cut == 0 {
        return Ok(());
    }
    cx.count("cut", n_cut);
    let f = edit.function_mut();
    let ops = LoopOps::new(f);
    let mut single = Vec::new();
    for &id in parts.ends.keys() {
        let Some(part) = Loop::of(f, &ops, id) else { continue };
        let bounds = [part.min, part.extent].map(|bound| constant_int(f, &ops, bound));
        set_hint(f, id, if bounds.contains(&None) { Some(0) } else { None });
        let has_metadata = f.attr_recs(id).iter().any(|rec| rec.flags & attr_flag::META != 0);
        if bounds[1] == Some(1) && !has_metadata && !config.no_unroll_loop_with_extent_one {
            single.push(id);
        }
    }
    write_single_turns(f, single);
    simplify_with(edit, SimplifyConfig::default(), parts.facts)?;
    remove_second_names(edit.function_mut());
    Ok(())
}

fn set_hint(f: &mut Function, id: NodeId, hint: Option<i64>) {
    if let Some(hint) = hint {
        return set_attr(f, id, &Attr::meta(HINT, hint));
    }
    let is_hint = |f: &Function, rec: &AttrRec| rec.flags & attr_flag::META != 0 && f.str(rec.name) == HINT;
    let kept: Vec<AttrRec> = f.attr_recs(id).iter().filter(|rec| !is_hint(f, rec)).copied().collect();
    if kept.len() < f.attr_recs(id).len() {
        f.set_attr_recs(id, &kept);
    }
}

/// Deals with loops that have a hint and were not cut.
fn whole_loops(
    edit: &mut Editor,
    cx: &PassCx<'_>,
    config: &LoopPartitionConfig,
    parts: &Parts,
) -> Result<(), PassError> {
    let (f, ops) = (edit.function(), LoopOps::new(edit.function()));
    let mut whole = Vec::new();
    for id in f.all_bindings().filter(|&id| ops.of(f, id) == Some(CoreOp::For) && !parts.ends.contains_key(&id)) {
        if hint(f, id)? == Some(true) {
            whole.push(id);
        }
    }
    for id in whole {
        let f = edit.function();
        let turns = Loop::of(f, &ops, id).and_then(|parts| parts.turns(f, &ops));
        let is_serial = LoopOps::loop_kind(f, id) == Some(LoopKind::Serial);
        if config.unroll_loop_with_partition_hint_no_interval && is_serial && turns.is_some() {
            set_kind(edit.function_mut(), id, LoopKind::Unrolled);
            set_hint(edit.function_mut(), id, None);
        } else {
            cx.remark(
                id,
                "the loop stays whole: no condition in it changes at a known place, or the function would be too large",
            );
        }
    }
    Ok(())
}

// ---- cutting ----------------------------------------------------------------------------------------------------------

/// Bindings in front of a loop.
struct Front<'a> {
    f: &'a mut Function,
    ops: LoopOps,
    elem: ElemType,
    made: Vec<NodeId>,
}

impl Front<'_> {
    fn int(&mut self, value: i64) -> Result<NodeId, PassError> {
        let imm = Imm::int(self.elem, value).ok_or("a bound is not of the type of its loop's variable")?;
        Ok(self.f.add_imm(imm))
    }

    /// A result of integers, none of which wraps.
    fn op(&mut self, op: CoreOp, a: NodeId, b: NodeId) -> Result<NodeId, PassError> {
        let number = |id: NodeId| self.f.imm(id).and_then(Imm::as_int);
        match (op, number(a), number(b)) {
            (CoreOp::Add, Some(a), Some(b)) => return self.int(a.wrapping_add(b)),
            (CoreOp::Sub, Some(a), Some(b)) => return self.int(a.wrapping_sub(b)),
            (CoreOp::Add | CoreOp::Sub, _, Some(0)) | (CoreOp::FloorDiv | CoreOp::Mul, _, Some(1)) => return Ok(a),
            (CoreOp::Add, Some(0), _) => return Ok(b),
            _ => {}
        }
        let id = call(self.f, &mut self.ops, op, &[a, b], &[]);
        self.made.push(id);
        Ok(id)
    }

    fn add_up(&mut self, sum: &Linear) -> Result<NodeId, PassError> {
        let mut all: Option<NodeId> = None;
        for (value, factor) in in_order(sum) {
            all = Some(match (all, factor) {
                (Some(all), -1) => self.op(CoreOp::Sub, all, value)?,
                (all, factor) => {
                    let factor = self.int(factor)?;
                    let product = self.op(CoreOp::Mul, value, factor)?;
                    all.map_or(Ok(product), |all| self.op(CoreOp::Add, all, product))?
                }
            });
        }
        let constant = self.int(sum.constant)?;
        all.map_or(Ok(constant), |all| self.op(CoreOp::Add, all, constant))
    }
}

impl Parts {
    /// Makes two loops of one: a copy that ends where it is cut, and itself from there on.
    fn split(&mut self, f: &mut Function, cut: &Cut) -> Result<(), PassError> {
        let fault = "a loop has no body";
        let Cut { id, block, place, .. } = cut;
        let (&[_, min, extent, ..], &[function]) = (f.operands(*id), f.regions(*id)) else { return Err(fault.into()) };
        let variable = *f.operands(function).first().ok_or(fault)?;
        let elem = f.type_of(variable).elem().ok_or(fault)?;
        let mut front = Front { ops: LoopOps::new(f), f, elem, made: Vec::new() };
        let end = match (self.ends.get(id), &*cut.bounds[1].terms) {
            (Some(&end), _) => end,
            (None, &[(value, 1)]) if cut.bounds[1].constant == 0 => value,
            _ => front.op(CoreOp::Add, min, extent)?,
        };
        let dividend = front.add_up(&place.dividend)?;
        let mut at = match place.turn() {
            Some(turn) => front.int(turn)?,
            None => {
                let divisor = front.int(place.divisor)?;
                front.op(CoreOp::FloorDiv, dividend, divisor)?
            }
        };
        // Without turns, the end is before the first one, and both parts have none.
        for ((bound, op), may_be_out) in [(min, CoreOp::Max), (end, CoreOp::Min)].into_iter().zip(cut.may_be_out) {
            if may_be_out {
                at = front.op(op, at, bound)?;
            }
        }
        let extents = [front.op(CoreOp::Sub, at, min)?, front.op(CoreOp::Sub, end, at)?];
        let Front { made, .. } = front;
        let (copied, copies) = copy_function(f, function);
        let first = f.add_copy(*id);
        f.set_name_id(first, StrId::EMPTY);
        f.map_operands(first, |operand| if operand == function { copied } else { operand });
        f.set_operand(first, 2, extents[0]);
        let carried = f.operands(first).len() - 4;
        let mut results = vec![first];
        if carried > 1 {
            results = (0..carried as u16).map(|at| f.add_tuple_get_item(first, at)).collect();
            for (at, &result) in results.iter().enumerate() {
                let ty = f.type_id(f.operands(first)[3 + at]);
                f.set_type(result, ty);
            }
        }
        f.set_operand(*id, 1, at);
        f.set_operand(*id, 2, extents[1]);
        (0..carried).for_each(|at| f.set_operand(*id, 3 + at, results[at]));
        let mut list = f.bindings(*block).to_vec();
        let here = list.iter().position(|binding| binding == id).ok_or(fault)?;
        let projections = if carried > 1 { &results[..] } else { &[] };
        list.splice(here..here, made.iter().chain(&[first]).chain(projections).copied());
        f.set_bindings(*block, &list);
        self.note(cut, &copies, (variable, first), [at, end]);
        Ok(())
    }

    /// Notes the parts, and what holds in them.
    fn note(
        &mut self,
        cut: &Cut,
        copies: &HashMap<NodeId, NodeId>,
        (variable, first): (NodeId, NodeId),
        [at, end]: [NodeId; 2],
    ) {
        let facts = self.facts.entry(variable).or_default();
        if !self.ends.contains_key(&cut.id) {
            let alone = Linear { terms: [(variable, 1)].into_iter().collect(), constant: 0 };
            let [min, end] = &cut.bounds;
            let bounds = [(CoreOp::Ge, alone.minus(min)), (CoreOp::Lt, alone.minus(end))];
            facts.extend(bounds.into_iter().filter_map(|(op, sum)| Some((op, sum?))));
        }
        let now = |id: NodeId| copies.get(&id).copied().unwrap_or(id);
        let copied_facts: Vec<(NodeId, Vec<(CoreOp, Linear)>)> = copies
            .iter()
            .filter_map(|(&old, &new)| Some((new, self.facts.get(&old)?)))
            .map(|(new, facts)| {
                let copied = facts.iter().map(|(op, sum)| {
                    let mut terms = sum.terms.clone();
                    terms.iter_mut().for_each(|term| term.0 = now(term.0));
                    terms.sort_unstable();
                    (*op, Linear { terms, constant: sum.constant })
                });
                (new, copied.collect())
            })
            .collect();
        self.facts.extend(copied_facts);
        let copied_parts: Vec<(NodeId, NodeId)> =
            copies.iter().filter_map(|(old, &new)| Some((new, now(*self.ends.get(old)?)))).collect();
        self.ends.extend(copied_parts);
        let (below, above) = if cut.place.factor > 0 { (CoreOp::Lt, CoreOp::Ge) } else { (CoreOp::Ge, CoreOp::Lt) };
        let mut of_first = cut.place.sum.clone();
        of_first.terms.iter_mut().for_each(|term| term.0 = now(term.0));
        of_first.terms.sort_unstable();
        self.facts.entry(now(variable)).or_default().push((below, of_first));
        self.facts.entry(variable).or_default().push((above, cut.place.sum.clone()));
        self.ends.extend([(first, at), (cut.id, end)]);
    }
}
