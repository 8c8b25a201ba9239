//! `RemoveNoOp`: the cases of TVM's tests, and where it differs.

use crate::common::*;
use relais_plugin_api::{
    ir::{AttrData, Tensor, attr_flag},
    prelude::*,
    prim::{CoreOp, LoopKind, PrimBuilder},
};

#[track_caller]
fn text(body: impl FnOnce(&mut PrimBuilder<'_>, [NodeId; 5])) -> String {
    run("RemoveNoOp", program(body)).text
}

#[track_caller]
fn is_unchanged(body: impl FnOnce(&mut PrimBuilder<'_>, [NodeId; 5])) {
    let ran = run("RemoveNoOp", program(body));
    assert!(!ran.changed, "{}", ran.text);
}

fn store(b: &mut PrimBuilder<'_>, y: NodeId, value: f64, i: NodeId) {
    let value = b.float(F32, value);
    b.store(y, value, &[i]);
}

#[test]
fn loops_without_effects_go() {
    for kind in LoopKind::ALL {
        let loop_of = |is_empty: bool| {
            text(|b, [x, .., y, _]| {
                let eight = b.index(8);
                b.each_of(kind, eight, |b, i| {
                    let value = b.load(x, &[i]);
                    if !is_empty {
                        b.store(y, value, &[i]);
                    }
                });
            })
        };
        assert_eq!(loop_of(true), "");
        assert!(loop_of(false).starts_with("for 0 8 "));
    }
    // A nest goes whole, and so does what is carried for nothing.
    let nest = text(|b, [x, ..]| {
        let (zero, eight, start) = (b.index(0), b.index(8), b.float(F32, 0.0));
        b.each(eight, |b, _| {
            let [_] = b.fold(zero, eight, [start], |b, i, [sum]| {
                let value = b.load(x, &[i]);
                [b.op(CoreOp::Add, &[sum, value])]
            });
        });
    });
    assert_eq!(nest, "");
    is_unchanged(|b, [x, .., y, _]| {
        let (zero, eight, start) = (b.index(0), b.index(8), b.float(F32, 0.0));
        let [sum] = b.fold(zero, eight, [start], |b, i, [sum]| {
            let value = b.load(x, &[i]);
            [b.op(CoreOp::Add, &[sum, value])]
        });
        b.store(y, sum, &[zero]);
    });
}

#[test]
fn loops_without_turns_go() {
    let bounded = |n: i64| {
        text(move |b, [.., y, _]| {
            let (sixteen, less) = (b.index(16), b.index(n));
            b.each(sixteen, |b, i| {
                let extent = b.op(CoreOp::Sub, &[i, less]);
                b.each(extent, |b, j| store(b, y, 1.0, j));
            });
        })
    };
    assert_eq!((bounded(20), bounded(15)), (String::new(), String::new()));
    assert!(bounded(14).contains("store"));
    for extent in [0, -3] {
        let carried = text(|b, [_, n, m, y, _]| {
            let (n, m, zero, extent) = (b.load(n, &[]), b.load(m, &[]), b.index(0), b.index(extent));
            let [p, q] = b.fold(zero, extent, [n, m], |b, i, [p, q]| [b.op(CoreOp::Add, &[q, i]), p]);
            let [r] = b.fold(zero, extent, [p], |b, i, [r]| [b.op(CoreOp::Add, &[r, i])]);
            store(b, y, 1.0, r);
            store(b, y, 2.0, q);
        });
        assert_eq!(carried, "%1 = load n; %2 = load m; store y 1.0 %1; store y 2.0 %2;");
    }
}

/// A `when` whose condition compares what is loaded from `n` with that from `m`.
fn conditional(op: CoreOp, has_then: bool, has_else: bool) -> String {
    text(|b, [_, n, m, y, z]| {
        let (n, m) = (b.load(n, &[]), b.load(m, &[]));
        let condition = b.op(op, &[n, m]);
        let branch = |has: bool, memory: NodeId| {
            move |b: &mut PrimBuilder<'_>| {
                b.load(memory, &[n]);
                if has {
                    store(b, memory, 1.0, n);
                }
            }
        };
        b.when_else(condition, branch(has_then, y), branch(has_else, z));
    })
}

#[test]
fn empty_branches_go() {
    let loads = "%1 = load n; %2 = load m;";
    assert_eq!(conditional(CoreOp::Lt, false, false), "");
    assert_eq!(
        conditional(CoreOp::Lt, true, false),
        format!("{loads} %3 = lt %1 %2; when %3 () {{ store y 1.0 %1; }}")
    );
    for (op, negative) in [(CoreOp::Lt, "ge"), (CoreOp::Eq, "ne"), (CoreOp::Gt, "le")] {
        assert_eq!(
            conditional(op, false, true),
            format!("{loads} %3 = {negative} %1 %2; when %3 () {{ store z 1.0 %1; }}")
        );
    }
    assert_eq!(
        conditional(CoreOp::Lt, true, true),
        format!("{loads} %3 = lt %1 %2; when %3 () {{ store y 1.0 %1; }} () {{ store z 1.0 %1; }}")
    );
}

/// The condition is negated; NaN compares with nothing.
#[test]
fn conditions_are_negated_as_their_types_allow() {
    let negated = |op: CoreOp, has_not: bool, is_used: bool| {
        text(|b, [x, n, _, y, z]| {
            let n = b.load(n, &[]);
            let (value, half) = (b.load(x, &[n]), b.float(F32, 0.5));
            let mut condition = b.op(op, &[value, half]);
            if has_not {
                condition = b.op(CoreOp::Not, &[condition]);
            }
            b.when_else(condition, |_| {}, |b| store(b, y, 1.0, n));
            if is_used {
                b.when(condition, |b| store(b, z, 1.0, n));
            }
        })
    };
    let start = "%1 = load n; %2 = load x %1;";
    let end = "{ store y 1.0 %1; }";
    assert_eq!(negated(CoreOp::Lt, false, false), format!("{start} %3 = lt %2 0.5; %4 = not %3; when %4 () {end}"));
    assert_eq!(negated(CoreOp::Eq, false, false), format!("{start} %3 = ne %2 0.5; when %3 () {end}"));
    assert_eq!(negated(CoreOp::Lt, true, false), format!("{start} %3 = lt %2 0.5; when %3 () {end}"));
    // Values that are used elsewhere stay.
    assert_eq!(
        negated(CoreOp::Eq, false, true),
        format!("{start} %3 = eq %2 0.5; %4 = ne %2 0.5; when %4 () {end} when %3 () {{ store z 1.0 %1; }}")
    );
}

#[test]
fn metadata_of_a_conditional_stays() {
    let mut f = program(|b, [_, n, _, y, _]| {
        let n = b.load(n, &[]);
        let condition = b.op(CoreOp::Eq, &[n, n]);
        b.when_else(condition, |b| store(b, y, 1.0, n), |_| {});
    });
    let when = f.bindings(f.body())[2];
    let then = Attr::new("then", AttrData::Graph(0));
    let otherwise = Attr::new("else", AttrData::Graph(1));
    f.set_attrs(when, &[then, otherwise, Attr::meta("likely", 1_i64)]);
    let ran = run("RemoveNoOp", f);
    let f = &ran.function;
    let when = f.bindings(f.body())[2];
    assert_eq!(f.attr_recs(when).iter().filter(|rec| rec.flags & attr_flag::META != 0).count(), 1);
    assert_eq!(f.regions(when).len(), 1);
}

#[test]
fn stores_of_what_is_there_go() {
    let copy = |between: fn(&mut PrimBuilder<'_>, [NodeId; 5], NodeId)| {
        text(move |b, params| {
            let y = params[3];
            let eight = b.index(8);
            b.each(eight, |b, i| {
                let value = b.load(y, &[i]);
                between(b, params, i);
                b.store(y, value, &[i]);
            });
        })
    };
    assert_eq!(copy(|_, _, _| {}), "");
    // Other memory may be written between.
    assert_eq!(copy(|b, [.., z], i| store(b, z, 1.0, i)), "for 0 8 (%1) { store z 1.0 %1; }");
    // The same may not, at whatever place, by whatever statement.
    assert_eq!(
        copy(|b, [.., y, _], _| {
            let one = b.index(1);
            store(b, y, 1.0, one)
        })
        .matches("store")
        .count(),
        2
    );
    let inner = copy(|b, [_, _, _, y, _], i| {
        let one = b.index(1);
        b.each(i, |b, _| store(b, y, 1.0, one));
    });
    assert_eq!(inner.matches("store").count(), 2, "{inner}");
    assert!(copy(|b, [.., y, z], _| _ = b.call("other", &[y, z])).contains("store"));
    // Another place is another place.
    is_unchanged(|b, [.., y, _]| {
        let (zero, one) = (b.index(0), b.index(1));
        let value = b.load(y, &[zero]);
        b.store(y, value, &[one]);
    });
    // In a loop, the place may have been written by the turn before.
    is_unchanged(|b, [.., y, _]| {
        let (zero, eight) = (b.index(0), b.index(8));
        let value = b.load(y, &[zero]);
        b.each(eight, |b, i| {
            b.store(y, value, &[zero]);
            store(b, y, 1.0, i);
        });
    });
}

#[test]
fn places_are_the_same_by_what_conditions_say() {
    let under = |op: CoreOp| {
        text(move |b, [.., y, z]| {
            let (zero, eight) = (b.index(0), b.index(8));
            b.each(eight, |b, i| {
                let condition = b.op(op, &[i, zero]);
                b.when_else(
                    condition,
                    |b| store(b, z, 1.0, i),
                    |b| {
                        let value = b.load(y, &[zero]);
                        b.store(y, value, &[i]);
                    },
                );
            });
        })
    };
    assert_eq!(under(CoreOp::Ne), "for 0 8 (%1) { %2 = ne %1 0; when %2 () { store z 1.0 %1; } }");
    assert!(under(CoreOp::Eq).contains("store y"));
}

#[test]
fn a_while_stays() {
    is_unchanged(|b, [_, n, ..]| {
        let n = b.load(n, &[]);
        let zero = b.index(0);
        let [_] = b.while_loop([n], |b, [i]| b.op(CoreOp::Ne, &[i, zero]), |_, [i]| [i]);
    });
    // Nor does the loop around it end.
    is_unchanged(|b, [_, n, ..]| {
        let n = b.load(n, &[]);
        let (zero, eight) = (b.index(0), b.index(8));
        b.each(eight, |b, _| {
            let [] = b.while_loop([], |b, []| b.op(CoreOp::Ne, &[n, zero]), |_, []| []);
        });
    });
}

#[test]
fn stores_that_are_overwritten_go() {
    let twice = |between: fn(&mut PrimBuilder<'_>, [NodeId; 5])| {
        text(move |b, params| {
            let (y, three) = (params[3], b.index(3));
            store(b, y, 1.0, three);
            between(b, params);
            let three = b.index(3);
            store(b, y, 2.0, three);
        })
    };
    let stays = |text: String| assert!(text.contains("store y 1.0 3;"), "{text}");
    assert_eq!(twice(|_, _| {}), "store y 2.0 3;");
    // A value that is not needed does not come between.
    assert_eq!(twice(|b, [_, n, ..]| _ = b.load(n, &[])), "store y 2.0 3;");
    stays(twice(|b, [.., y, z]| {
        let one = b.index(1);
        let value = b.load(y, &[one]);
        b.store(z, value, &[one]);
    }));
    stays(twice(|b, [.., y, z]| _ = b.call("other", &[y, z])));
    stays(twice(|b, [_, n, m, ..]| {
        let (n, m) = (b.load(n, &[]), b.load(m, &[]));
        let is_less = b.op(CoreOp::Lt, &[n, m]);
        b.op(CoreOp::Assert, &[is_less]);
    }));
    // Another place, and only a part of the place.
    let one = text(|b, [.., y, _]| {
        let (one, two) = (b.index(1), b.index(2));
        store(b, y, 1.0, one);
        store(b, y, 1.0, two);
    });
    assert_eq!(one.matches("store").count(), 2);
    is_unchanged(|b, [.., y, _]| {
        let (zero, value) = (b.index(0), b.float(F32, 1.0));
        let vector = b.op_with(CoreOp::Broadcast, &[value], &[Attr::new("lanes", 4_i64)]);
        b.store(y, vector, &[zero]);
        b.store(y, value, &[zero]);
    });
}

/// A value that is computed for a store that is overwritten goes with it.
#[test]
fn what_an_overwritten_store_needed_goes_with_it() {
    let text = text(|b, [x, .., y, _]| {
        let zero = b.index(0);
        let value = b.load(x, &[zero]);
        b.store(y, value, &[zero]);
        store(b, y, 0.0, zero);
    });
    assert_eq!(text, "store y 0.0 0;");
}

#[test]
fn values_and_memory_that_nothing_needs_go() {
    let text = text(|b, [x, n, m, y, _]| {
        let (n, m) = (b.load(n, &[]), b.load(m, &[]));
        // A division may end the program, and is not an effect.
        b.op(CoreOp::FloorDiv, &[n, m]);
        let memory = b.alloc(F32, &[2, 4]);
        let view = b.op_with(CoreOp::View, &[memory], &[Attr::new("shape", vec![8_i64])]);
        let eight = b.index(8);
        b.each(eight, |b, i| {
            // Only itself reads it.
            let (value, one) = (b.load(view, &[i]), b.float(F32, 1.0));
            let value = b.op(CoreOp::Add, &[value, one]);
            b.store(view, value, &[i]);
        });
        let value = b.load(x, &[n]);
        b.store(y, value, &[n]);
    });
    assert_eq!(text, "%1 = load n; %2 = load x %1; store y %2 %1;");
    // Memory that is read through a view stays with the stores to it.
    is_unchanged(|b, [.., y, _]| {
        let memory = b.alloc(F32, &[2, 4]);
        let view = b.op_with(CoreOp::View, &[memory], &[Attr::new("shape", vec![8_i64])]);
        let (zero, one) = (b.index(0), b.float(F32, 1.0));
        b.store(memory, one, &[zero, zero]);
        let value = b.load(view, &[zero]);
        b.store(y, value, &[zero]);
    });
    is_unchanged(|b, _| {
        let memory = b.alloc(F32, &[64]);
        let zero = b.index(0);
        store(b, memory, 1.0, zero);
        let other = b.alloc(F32, &[64]);
        b.call("other", &[memory, other]);
    });
}

#[test]
fn constants_that_nothing_reads_go() {
    let text = text(|b, [.., y, _]| {
        let kept = b.constant(Tensor::from_f32(&[2], &[1.0, 2.0]));
        b.constant(Tensor::from_f32(&[2], &[3.0, 4.0]));
        let zero = b.index(0);
        let value = b.load(kept, &[zero]);
        b.store(y, value, &[zero]);
    });
    assert_eq!(text, "%1 = const; %2 = load %1 0; store y %2 0;");
}

#[test]
fn calls_and_assertions_stay() {
    is_unchanged(|b, [_, n, m, y, z]| {
        let (n, m, eight) = (b.load(n, &[]), b.load(m, &[]), b.index(8));
        b.each(eight, |b, _| _ = b.call("other", &[y, z]));
        let is_less = b.op(CoreOp::Lt, &[n, m]);
        b.when(is_less, |b| {
            let is_equal = b.op(CoreOp::Eq, &[n, m]);
            b.op(CoreOp::Assert, &[is_equal]);
        });
    });
}

#[test]
fn values_of_conditionals_go_if_nothing_needs_them() {
    let text = text(|b, [x, n, m, ..]| {
        let (n, m) = (b.load(n, &[]), b.load(m, &[]));
        let is_less = b.op(CoreOp::Lt, &[n, m]);
        b.lazy(is_less, |b| b.load(x, &[n]), |b| b.float(F32, 0.0));
    });
    assert_eq!(text, "");
    is_unchanged(|b, [x, n, m, y, _]| {
        let (n, m) = (b.load(n, &[]), b.load(m, &[]));
        let is_less = b.op(CoreOp::Lt, &[n, m]);
        let value = b.lazy(is_less, |b| b.load(x, &[n]), |b| b.float(F32, 0.0));
        b.store(y, value, &[n]);
    });
}

/// Programs of loops and stores with numbers as bounds, in which much is overwritten.
struct Overwrites {
    random: Random,
    memory: [NodeId; 2],
    /// Memory of a number that is not known.
    given: NodeId,
    /// Variables of loops, and what they carry: from 0 to 16.
    variables: Vec<NodeId>,
}

impl Overwrites {
    fn index(&mut self, b: &mut PrimBuilder<'_>) -> NodeId {
        let number = b.index(self.random.next(6) as i64);
        match self.variables.len() {
            0 => number,
            n => {
                let variable = self.variables[self.random.next(n)];
                match self.random.next(4) {
                    0 => number,
                    1 => b.op(CoreOp::Add, &[variable, number]),
                    2 => b.op(CoreOp::Add, &[number, variable]),
                    _ => variable,
                }
            }
        }
    }

    fn statement(&mut self, b: &mut PrimBuilder<'_>, depth: usize) {
        let memory = self.memory[usize::from(self.random.next(4) == 0)];
        match self.random.next(if depth < 3 { 10 } else { 4 }) {
            3 => {
                let (from, to) = (self.index(b), self.index(b));
                let value = b.op_with(CoreOp::Load, &[self.memory[0], from], &[Attr::new("lanes", 4)]);
                b.store(memory, value, &[to]);
            }
            0 | 1 => {
                let (index, value) = (self.index(b), self.random.next(100) as f64);
                store(b, memory, value, index);
            }
            2 => {
                let (from, to) = (self.index(b), self.index(b));
                let other = self.memory[self.random.next(2)];
                let value = b.load(other, &[from]);
                b.store(memory, value, &[to]);
            }
            4 | 5 => {
                let (index, bound) = (self.index(b), b.index(self.random.next(9) as i64));
                let op = [CoreOp::Lt, CoreOp::Le, CoreOp::Gt, CoreOp::Ne][self.random.next(4)];
                let condition = b.op(op, &[index, bound]);
                let second = self.random.next(4) == 0;
                let this = std::cell::RefCell::new(self);
                match second {
                    true => {
                        _ = b.when_else(
                            condition,
                            |b| this.borrow_mut().block(b, depth),
                            |b| this.borrow_mut().block(b, depth),
                        )
                    }
                    false => _ = b.when(condition, |b| this.borrow_mut().block(b, depth)),
                }
            }
            _ => {
                let (start, count) = (self.random.next(3) as i64, self.random.next(6) as i64);
                let (start, mut count) = (b.index(start), b.index(count));
                if self.random.next(4) == 0 {
                    // It may be negative.
                    let (given, less) = (b.load(self.given, &[]), b.index(self.random.next(9) as i64));
                    let given = b.op(CoreOp::Sub, &[given, less]);
                    count = b.op(CoreOp::Min, &[given, count]);
                }
                if self.random.next(3) == 0 {
                    // The carried value goes up or down.
                    let first = b.index(self.random.next(9) as i64);
                    let [_] = b.fold(start, count, [first], |b, variable, [carried]| {
                        self.variables.extend([variable, carried]);
                        self.block(b, depth + 1);
                        self.variables.truncate(self.variables.len() - 2);
                        let (step, least) = (b.index(self.random.next(3) as i64 - 1), b.index(0));
                        let next = b.op(CoreOp::Add, &[carried, step]);
                        [b.op(CoreOp::Max, &[next, least])]
                    });
                    return;
                }
                let [] = b.fold(start, count, [], |b, variable, []| {
                    self.variables.push(variable);
                    self.block(b, depth + 1);
                    self.variables.pop();
                    []
                });
            }
        }
    }

    fn block(&mut self, b: &mut PrimBuilder<'_>, depth: usize) {
        for _ in 0..1 + self.random.next(3) {
            self.statement(b, depth + 1);
        }
    }
}

#[test]
fn stores_that_are_overwritten_go_and_others_stay_in_programs_that_are_made_at_random() {
    let n: u64 = std::env::var("RELAIS_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
    let (mut n_changed, mut n_compared) = (0, 0);
    for seed in 0..n {
        let f = program(|b, [_, n, _, y, z]| {
            let mut made = Overwrites { random: Random(seed), memory: [y, z], given: n, variables: Vec::new() };
            for _ in 0..2 + made.random.next(4) {
                made.statement(b, 0);
            }
        });
        // It compares what is computed before and after.
        let ran = run("RemoveNoOp", f);
        n_changed += u64::from(ran.changed);
        n_compared += u64::from(ran.is_compared);
    }
    assert!(n_changed > n / 4 && n_compared > n * 9 / 10, "{n_changed} of {n} were changed, {n_compared} compared");
}
