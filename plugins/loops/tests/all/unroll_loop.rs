//! `UnrollLoop`: the cases of TVM's tests, and where it differs.

use crate::common::*;
use relais_plugin_api::{
    ir::{AttrData, AttrRec},
    prelude::*,
    prim::{CoreOp, LoopKind, PrimBuilder},
};

type Config<'a> = &'a [(&'a str, i64)];

fn try_unroll(f: Function, config: Config<'_>) -> Result<Ran, PassError> {
    let field = |&(name, value): &(&str, i64)| {
        let value = if name == "explicit_unroll" || name == "unroll_local_access" {
            Value::Bool(value != 0)
        } else {
            Value::Int(value)
        };
        (name.to_owned(), value)
    };
    let fields = Value::Struct(config.iter().map(field).collect());
    try_run("UnrollLoop", f, &[("tir.UnrollLoop".to_owned(), fields)])
}

#[track_caller]
fn unroll(f: Function, config: Config<'_>) -> String {
    try_unroll(f, config).unwrap().text
}

/// How many loops are left, by `for`s, and how many stores there are.
#[track_caller]
fn counts(f: Function, config: Config<'_>) -> (usize, usize) {
    let text = unroll(f, config);
    (text.matches("for ").count(), text.matches("store ").count())
}

fn steps(n: i64) -> Vec<(&'static str, i64)> {
    vec![("auto_max_step", n)]
}

fn zero(b: &mut PrimBuilder<'_>) -> NodeId {
    b.float(F32, 0.0)
}

/// Stores zero.
fn store(b: &mut PrimBuilder<'_>, y: NodeId, i: NodeId) {
    let zero = zero(b);
    b.store(y, zero, &[i]);
}

/// A loop with constant extent.
fn each(
    b: &mut PrimBuilder<'_>,
    kind: LoopKind,
    extent: i64,
    body: impl FnOnce(&mut PrimBuilder<'_>, NodeId),
) -> NodeId {
    let extent = b.index(extent);
    b.each_of(kind, extent, body)
}

use LoopKind::{Parallel, Serial, Unrolled};

/// Two turns around eight that are marked as unrolled, the other bound not being known where `is_dynamic`.
fn two_times_eight(is_dynamic: bool) -> Function {
    program(|b, [_, n, _, y, _]| {
        let outer = if is_dynamic { b.load(n, &[]) } else { b.index(2) };
        b.each(outer, |b, _| _ = each(b, Unrolled, 8, |b, i| store(b, y, i)));
    })
}

#[test]
fn steps_are_counted_from_the_inside_out() {
    assert_eq!(counts(two_times_eight(false), &steps(16)), (0, 16));
    assert_eq!(counts(two_times_eight(false), &steps(15)), (1, 8));
    assert_eq!(counts(two_times_eight(true), &steps(1000)), (1, 8));
}

#[test]
fn loops_are_marked_where_unrolling_is_not_explicit() {
    let text = unroll(two_times_eight(false), &[("auto_max_step", 16), ("explicit_unroll", 0)]);
    assert_eq!(text, "for 0 2 unrolled (%1) { for 0 8 unrolled (%2) { store y 0.0 %2; } }");
    let ran = try_unroll(two_times_eight(false), &[("explicit_unroll", 0)]).unwrap();
    assert!(!ran.changed, "{}", ran.text);
}

fn four_times_four() -> Function {
    program(|b, [.., y, _]| _ = each(b, Serial, 4, |b, _| _ = each(b, Serial, 4, |b, j| store(b, y, j))))
}

#[test]
fn a_nest_is_unrolled_as_far_as_its_steps_or_extents_allow() {
    assert!(!try_unroll(four_times_four(), &[]).unwrap().changed);
    assert_eq!(counts(four_times_four(), &steps(3)), (2, 1));
    assert_eq!(counts(four_times_four(), &steps(4)), (1, 4));
    assert_eq!(counts(four_times_four(), &steps(15)), (1, 4));
    assert_eq!(counts(four_times_four(), &steps(16)), (0, 16));
    assert_eq!(counts(four_times_four(), &[("auto_max_extent", 4)]), (0, 16));
    assert_eq!(counts(four_times_four(), &[("auto_max_extent", 3)]), (2, 1));
}

#[test]
fn depth_limits_how_many_loops_are_unrolled_in_one_run() {
    let limited = [("auto_max_step", 16), ("auto_max_depth", 0)];
    let ran = try_unroll(four_times_four(), &limited).unwrap();
    assert_eq!((ran.text.matches("for ").count(), ran.text.matches("store ").count()), (1, 4));
    assert!(ran.changed_again);
    assert_eq!(counts(ran.function, &limited), (0, 16));
}

#[test]
fn statements_of_a_sequence_add_up() {
    let siblings = || {
        program(|b, [.., y, z]| {
            each(b, Serial, 2, |b, _| {
                each(b, Serial, 4, |b, j| store(b, y, j));
                each(b, Serial, 4, |b, j| store(b, z, j));
            });
        })
    };
    assert_eq!(counts(siblings(), &steps(16)), (0, 16));
    assert_eq!(counts(siblings(), &steps(8)), (1, 8));
}

#[test]
fn both_branches_count() {
    let branches = || {
        program(|b, [_, n, _, y, z]| {
            let n = b.load(n, &[]);
            each(b, Serial, 2, |b, i| {
                let is_less = b.op(CoreOp::Lt, &[i, n]);
                b.when_else(is_less, |b| store(b, y, i), |b| store(b, z, i));
            });
        })
    };
    assert_eq!(counts(branches(), &steps(4)), (0, 4));
    assert_eq!(counts(branches(), &steps(3)), (1, 2));
}

/// A branch that is one loop alone goes on counting where the other branch stopped; in a sequence, counting starts again.
#[test]
fn the_other_branch_goes_on_where_the_first_stopped() {
    let branches = |n_stores: usize| {
        program(|b, [_, n, _, y, z]| {
            let n = b.load(n, &[]);
            let is_zero = b.op(CoreOp::Eq, &[n, n]);
            b.when_else(
                is_zero,
                |b| store(b, y, n),
                |b| {
                    (1..n_stores).for_each(|_| store(b, z, n));
                    each(b, Serial, 2, |b, i| store(b, z, i));
                },
            );
        })
    };
    assert_eq!(counts(branches(1), &steps(2)), (1, 2));
    assert_eq!(counts(branches(1), &steps(4)), (0, 3));
    assert_eq!(counts(branches(2), &steps(2)), (0, 4));
}

#[test]
fn a_loop_to_be_unrolled_has_a_constant_extent() {
    let of = |extent: fn(&mut PrimBuilder<'_>, NodeId) -> NodeId| {
        program(|b, [_, n, _, y, _]| {
            let extent = extent(b, n);
            b.each_of(Unrolled, extent, |b, i| store(b, y, i));
        })
    };
    let error = try_unroll(of(|b, n| b.load(n, &[])), &[]).map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("cannot unroll a loop whose extent is not constant (at "), "{error}");
    assert!(error.contains("in `@k`") && error.contains("help: make it a serial loop"), "{error}");
    // One operation on immediates is constant.
    let difference = |b: &mut PrimBuilder<'_>, _| {
        let (seven, four) = (b.index(7), b.index(4));
        b.op(CoreOp::Sub, &[seven, four])
    };
    assert_eq!(counts(of(difference), &[]), (0, 3));
    let negative = |b: &mut PrimBuilder<'_>, _| b.index(-1);
    assert_eq!(counts(of(negative), &[]), (0, 0));
}

#[test]
fn a_loop_without_turns_leaves_its_first_values() {
    let none = |kind: LoopKind| program(|b, [.., y, _]| _ = each(b, kind, 0, |b, i| store(b, y, i)));
    assert_eq!((unroll(none(Serial), &[]), unroll(none(Unrolled), &[])), (String::new(), String::new()));
    assert!(!try_unroll(none(Parallel), &[]).unwrap().changed);
    let carried = program(|b, [_, n, m, y, _]| {
        let (n, m, zero) = (b.load(n, &[]), b.load(m, &[]), b.index(0));
        let [p, q] = b.fold(zero, zero, [n, m], |b, i, [p, q]| [b.op(CoreOp::Add, &[q, i]), p]);
        store(b, y, p);
        store(b, y, q);
    });
    assert_eq!(unroll(carried, &[]), "%1 = load n; %2 = load m; store y 0.0 %1; store y 0.0 %2;");
}

#[test]
fn loops_of_one_turn_go_whatever_they_are() {
    let one = |kind: LoopKind| {
        program(|b, [_, n, _, y, _]| {
            let n = b.load(n, &[]);
            each(b, kind, 1, |b, _| _ = b.each(n, |b, j| store(b, y, j)));
        })
    };
    for kind in [Serial, Parallel] {
        assert_eq!(counts(one(kind), &[("auto_max_extent", 1)]), (1, 1), "{kind:?}");
        assert_eq!(counts(one(kind), &[("auto_max_extent", 2)]), (2, 1), "{kind:?}");
    }
}

#[test]
fn each_turn_has_memory_of_its_own() {
    let f = program(|b, [.., y, _]| {
        each(b, Unrolled, 2, |b, i| {
            let (memory, zero) = (b.alloc(F32, &[1]), b.index(0));
            store(b, memory, zero);
            let value = b.load(memory, &[zero]);
            b.store(y, value, &[i]);
        });
    });
    let one = |at: u32, i: u32| {
        format!("%{at} = alloc [1]; store %{at} 0.0 0; %{} = load %{at} 0; store y %{} {i};", at + 1, at + 1)
    };
    assert_eq!(unroll(f, &[]), format!("{} {}", one(1, 0), one(3, 1)));
}

#[test]
fn a_loop_that_stays_keeps_loops_around_it() {
    let f = || {
        program(|b, [_, n, _, y, z]| {
            let n = b.load(n, &[]);
            each(b, Serial, 2, |b, _| {
                b.each(n, |b, j| store(b, y, j));
                each(b, Serial, 4, |b, j| store(b, z, j));
            });
        })
    };
    assert_eq!(counts(f(), &steps(100)), (2, 5));
}

#[test]
fn a_parallel_loop_stays() {
    let f = || program(|b, [.., y, _]| _ = each(b, Parallel, 2, |b, _| _ = each(b, Serial, 2, |b, j| store(b, y, j))));
    assert_eq!(unroll(f(), &steps(100)), "for 0 2 parallel (%1) { store y 0.0 0; store y 0.0 1; }");
}

/// TVM multiplies 32-bit integers, which gives 0 here.
#[test]
fn the_product_of_turns_and_steps_does_not_overflow() {
    for extent in [1 << 16, 1 << 32, i64::MAX] {
        let f = program(|b, [.., y, _]| {
            each(b, Serial, extent, |b, _| _ = each(b, Serial, extent, |b, j| store(b, y, j)));
        });
        assert!(!try_unroll(f, &steps(70000 / 2)).unwrap().changed);
    }
}

#[test]
fn carried_values_are_passed_on_in_order() {
    let sum = |min: i64| {
        program(move |b, [x, .., y, _]| {
            let (min, four, zero) = (b.index(min), b.index(4), zero(b));
            let [sum] = b.fold(min, four, [zero], |b, k, [sum]| {
                let value = b.load(x, &[k]);
                [b.op(CoreOp::Add, &[sum, value])]
            });
            b.store(y, sum, &[min]);
        })
    };
    let turn = |i: i64, at: i64, sum: &str| format!("%{at} = load x {i}; %{} = add {sum} %{at};", at + 1);
    let turns = [turn(2, 1, "0.0"), turn(3, 3, "%2"), turn(4, 5, "%4"), turn(5, 7, "%6")].join(" ");
    assert_eq!(unroll(sum(2), &steps(4)), format!("{turns} store y %8 2;"));
    // A carried value is a step.
    assert!(!try_unroll(sum(0), &steps(3)).unwrap().changed);
    let swap = program(|b, [_, n, m, y, _]| {
        let (n, m, zero, three) = (b.load(n, &[]), b.load(m, &[]), b.index(0), b.index(3));
        let [p, q] = b.fold(zero, three, [n, m], |_, _, [p, q]| [q, p]);
        store(b, y, p);
        store(b, y, q);
    });
    assert_eq!(unroll(swap, &steps(6)), "%1 = load n; %2 = load m; store y 0.0 %2; store y 0.0 %1;");
}

#[test]
fn loops_in_unrolled_loops_are_copied_whole() {
    let f = program(|b, [x, n, _, y, _]| {
        let n = b.load(n, &[]);
        each(b, Unrolled, 2, |b, i| {
            let (start, zero) = (b.index(0), zero(b));
            let [sum] = b.fold(start, n, [zero], |b, k, [sum]| {
                let value = b.load(x, &[k]);
                let is_less = b.op(CoreOp::Lt, &[k, i]);
                let value = b.lazy(is_less, |_| value, |_| sum);
                [b.op(CoreOp::Add, &[sum, value])]
            });
            b.store(y, sum, &[i]);
        });
    });
    let turn = |i: u32, n: u32| {
        let [a, k, sum, v, l, c, d] = [n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6].map(|n| format!("%{n}"));
        format!(
            "{a} = for 0 %1 0.0 ({k} {sum}) {{ {v} = load x {k}; {l} = lt {k} {i}; {c} = if {l} () {{ {v} }} () {{ {sum} }} \
             {d} = add {sum} {c}; {d} }} store y {a} {i};"
        )
    };
    assert_eq!(unroll(f, &[]), format!("%1 = load n; {} {}", turn(0, 2), turn(1, 9)));
}

#[test]
fn a_start_that_is_not_constant_is_added_to() {
    let f = program(|b, [_, n, _, y, _]| {
        let (n, two) = (b.load(n, &[]), b.index(2));
        let [] = b.fold(n, two, [], |b, i, []| {
            store(b, y, i);
            []
        });
    });
    assert_eq!(unroll(f, &steps(2)), "%1 = load n; store y 0.0 %1; %2 = add %1 1; store y 0.0 %2;");
}

#[test]
fn a_loop_without_effects_is_a_step() {
    let f = || program(|b, _| _ = each(b, Serial, 4, |_, _| {}));
    assert!(!try_unroll(f(), &steps(3)).unwrap().changed);
    assert_eq!(unroll(f(), &steps(4)), "");
}

/// A nest of 4 by 4 with metadata at the outer loop.
fn with_metadata(name: &'static str, value: impl Into<AttrData>) -> Function {
    let mut f = four_times_four();
    let outer = f.bindings(f.body())[0];
    let meta = f.encode_attr(&Attr::meta(name, value));
    let recs: Vec<AttrRec> = f.attr_recs(outer).iter().copied().chain([meta]).collect();
    f.set_attr_recs(outer, &recs);
    f
}

#[test]
fn metadata_stands_for_options() {
    let loops = |f: Function, config: Config<'_>| unroll(f, config).matches("for ").count();
    assert_eq!(loops(with_metadata("auto_unroll_max_step", 16_i64), &[]), 0);
    assert_eq!(loops(with_metadata("auto_unroll_max_step", 4_i64), &steps(16)), 1);
    let text = unroll(with_metadata("unroll_explicit", 0_i64), &steps(16));
    assert_eq!(text.matches(" unrolled ").count(), 2, "{text}");
    assert_eq!(loops(with_metadata("unroll_explicit", 1_i64), &[("auto_max_step", 16), ("explicit_unroll", 0)]), 0);
    let error = try_unroll(with_metadata("unroll_explicit", "no"), &[]).map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("the metadata `unroll_explicit` is not an integer"), "{error}");
    assert!(error.contains("help: "), "{error}");
}

#[test]
fn variables_of_indices_into_memory_on_the_stack_are_unrolled() {
    let f = |is_local: bool| {
        program(move |b, [.., y, _]| {
            let memory = if is_local { b.alloc(F32, &[8]) } else { y };
            let two = b.index(2);
            each(b, Serial, 4, |b, i| {
                let at = b.op(CoreOp::Mul, &[i, two]);
                store(b, memory, at);
            });
        })
    };
    let local = [("unroll_local_access", 1)];
    assert_eq!(counts(f(true), &local), (0, 4));
    assert_eq!(counts(f(false), &local), (1, 1));
    assert_eq!(counts(f(true), &[]), (1, 1));
}

#[test]
fn a_function_grows_within_bounds() {
    let f =
        |kind: LoopKind, extent: i64| program(move |b, [.., y, _]| _ = each(b, kind, extent, |b, i| store(b, y, i)));
    let all = [("auto_max_extent", i64::MAX)];
    assert!(!try_unroll(f(Serial, 1 << 40), &all).unwrap().changed);
    assert!(!try_unroll(f(Serial, (1 << 16) + 2), &all).unwrap().changed);
    let error = try_unroll(f(Unrolled, 1 << 40), &[]).map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("unrolling the loop makes more than 65536 bindings (at "), "{error}");
    assert!(error.contains("help: "), "{error}");
    // Loops in each other together.
    let nest = |inner: i64| {
        program(move |b, [.., y, _]| {
            each(b, Serial, 1024, |b, _| _ = each(b, Serial, inner, |b, j| store(b, y, j)));
        })
    };
    assert_eq!(counts(nest(2048), &all), (1, 2048));
}

#[test]
fn names_are_not_given_twice() {
    let f = program(|b, [x, .., y, _]| {
        for _ in 0..2 {
            each(b, Unrolled, 2, |b, i| {
                let value = b.load(x, &[i]);
                b.function_mut().set_name(value, "value");
                b.store(y, value, &[i]);
            });
        }
    });
    assert_eq!(counts(f, &[]), (0, 4));
}

#[test]
fn a_deep_nest_needs_no_stack() {
    let mut f = program(|_, _| {});
    // Built from the inside out, without recursion.
    let inner = {
        let mut b = PrimBuilder::new(&mut f);
        let one = b.index(1);
        b.each(one, |_, _| {})
    };
    let body = f.body();
    let mut loop_ = inner;
    for _ in 0..10_000 {
        f.set_bindings(body, &[]);
        let mut b = PrimBuilder::new(&mut f);
        let one = b.index(1);
        let outer = b.each(one, |_, _| {});
        let block = f.block_of(f.regions(outer)[0]);
        f.set_bindings(block, &[loop_]);
        loop_ = outer;
    }
    let text = unroll(f, &[("auto_max_extent", 1)]);
    assert_eq!(text, "");
}
