//! `LoopPartition`: its options; the filetests have the rest.

use crate::common::*;
use relais_plugin_api::{
    prelude::*,
    prim::{CoreOp, PrimBuilder},
};

/// A loop of 20 turns with a condition in its middle; `hint` is its metadata.
fn halves(op: CoreOp, at: i64, hint: Option<i64>) -> Function {
    program(|b, [x, _, _, y, _]| {
        let [extent, at, zero] = [20, at, 0].map(|value| b.index(value));
        let id = b.each(extent, |b, i| {
            let is_first = b.op(op, &[i, at]);
            let (value, other) = (b.load(x, &[zero]), b.float(F32, 0.5));
            let value = b.op(CoreOp::Select, &[is_first, value, other]);
            b.store(y, value, &[i]);
        });
        mark(b, id, hint);
    })
}

fn mark(b: &mut PrimBuilder<'_>, id: NodeId, hint: Option<i64>) {
    let Some(hint) = hint else { return };
    let f = b.function_mut();
    let meta = f.encode_attr(&Attr::meta("partition_hint", hint));
    let all: Vec<_> = f.attr_recs(id).iter().chain([&meta]).copied().collect();
    f.set_attr_recs(id, &all);
}

fn try_with(f: Function, options: &[&str]) -> Result<Ran, PassError> {
    let fields = options.iter().map(|&option| (option.to_owned(), Value::Bool(true))).collect();
    try_run("LoopPartition", f, &[("tir.LoopPartition".to_owned(), Value::Struct(fields))])
}

fn with(f: Function, options: &[&str]) -> Ran {
    let ran = try_with(f, options).unwrap();
    assert!(!ran.changed_again, "{}", ran.text);
    ran
}

#[track_caller]
fn has(ran: &Ran, n_loops: usize, n_selects: usize) {
    let count = |word: &str| ran.text.matches(word).count();
    assert_eq!((count("for "), count("select ")), (n_loops, n_selects), "{}", ran.text);
}

#[test]
fn constant_loops_are_cut_if_the_option_says_so() {
    has(&with(halves(CoreOp::Lt, 14, None), &[]), 1, 1);
    has(&with(halves(CoreOp::Lt, 14, None), &["partition_const_loop"]), 2, 0);
    has(&with(halves(CoreOp::Lt, 14, Some(1)), &[]), 2, 0);
    has(&with(halves(CoreOp::Lt, 14, Some(0)), &["partition_const_loop"]), 1, 1);
}

#[test]
fn a_part_of_one_turn_is_no_loop_unless_the_option_says_so() {
    has(&with(halves(CoreOp::Eq, 5, Some(1)), &[]), 2, 0);
    has(&with(halves(CoreOp::Eq, 5, Some(1)), &["no_unroll_loop_with_extent_one"]), 3, 0);
}

#[test]
fn a_hint_without_a_place_unrolls_if_the_option_says_so() {
    let option = ["unroll_loop_with_partition_hint_no_interval"];
    let ran = with(halves(CoreOp::Lt, 20, Some(1)), &option);
    assert!(ran.text.contains("unrolled"), "{}", ran.text);
    assert!(!with(halves(CoreOp::Lt, 20, Some(1)), &[]).changed);
    // One that is cut is not unrolled.
    assert!(!with(halves(CoreOp::Lt, 14, Some(1)), &option).text.contains("unrolled"));
    // Nor is one whose turns are not known: `UnrollLoop` could not do it.
    let unknown = program(|b, [_, n, _, y, _]| {
        let (n, half, zero) = (b.load(n, &[]), b.float(F32, 0.5), b.index(0));
        let id = b.each(n, |b, _| {
            b.store(y, half, &[zero]);
        });
        mark(b, id, Some(1));
    });
    assert!(!with(unknown, &option).changed);
}

#[test]
fn a_hint_is_a_number() {
    let f = program(|b, [_, _, _, y, _]| {
        let (extent, half) = (b.index(3), b.float(F32, 0.5));
        let id = b.each(extent, |b, i| {
            b.store(y, half, &[i]);
        });
        let f = b.function_mut();
        let meta = f.encode_attr(&Attr::meta("partition_hint", "yes"));
        let all: Vec<_> = f.attr_recs(id).iter().chain([&meta]).copied().collect();
        f.set_attr_recs(id, &all);
    });
    let error = try_with(f, &[]).map(|ran| ran.text).unwrap_err();
    assert!(error.to_string().contains("`partition_hint` is not an integer"), "{error}");
}

/// Loops in each other, each of which is cut by the conditions in the innermost one.
#[test]
fn a_function_grows_within_bounds() {
    fn nest(b: &mut PrimBuilder<'_>, depth: usize, outer: &mut Vec<NodeId>, y: NodeId) {
        let extent = b.index(9);
        let id = b.each(extent, |b, i| {
            outer.push(i);
            if depth > 1 {
                return nest(b, depth - 1, outer, y);
            }
            let (half, zero) = (b.float(F32, 0.5), b.index(0));
            for at in 1..8 {
                let at = b.index(at);
                for &i in outer.iter() {
                    let is_at = b.op(CoreOp::Eq, &[i, at]);
                    b.when(is_at, |b| {
                        b.store(y, half, &[zero]);
                    });
                }
            }
        });
        mark(b, id, Some(1));
    }
    let f = program(|b, [_, _, _, y, _]| nest(b, 6, &mut Vec::new(), y));
    let ran = try_with(f, &[]).unwrap();
    let n = ran.function.all_bindings().count();
    assert!(ran.changed && n > 1000 && n < 1 << 17, "{n}");
}
