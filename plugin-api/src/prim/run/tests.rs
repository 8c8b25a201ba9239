use super::*;
use crate::prim::{CoreOp, LoopKind, PrimBuilder, prim_func};
use CoreOp::*;

const F32: ElemType = ElemType::FLOAT;
const I64: ElemType = ElemType::INT64;
const I32: ElemType = ElemType::INT32;

type Param<'a> = (&'a str, ElemType, &'a [u64]);

/// A prim func with that body, which is given the builder and the parameters.
fn prim<const N: usize>(
    inputs: &[Param<'_>],
    outputs: &[Param<'_>],
    body: impl FnOnce(&mut PrimBuilder<'_>, [NodeId; N]),
) -> Function {
    let mut f = prim_func(inputs, outputs);
    let params = f.params().try_into().unwrap();
    let mut b = PrimBuilder::new(&mut f);
    body(&mut b, params);
    b.finish().unwrap();
    f
}

fn module<const N: usize>(prims: [(&str, Function); N]) -> IRModule {
    let mut module = IRModule::new();
    prims.into_iter().for_each(|(name, f)| module.set_prim_func(name, f));
    module
}

fn run_with(f: Function, inputs: &[Tensor], options: &RunOptions) -> Result<Vec<Tensor>, Stop> {
    run(&module([("k", f)]), "k", inputs, options)
}

fn run_one(f: Function, inputs: &[Tensor]) -> Result<Tensor, Stop> {
    run_with(f, inputs, &RunOptions::default()).map(|mut outputs| outputs.remove(0))
}

#[track_caller]
fn ints(f: Function, inputs: &[Tensor]) -> Vec<i64> {
    run_one(f, inputs).unwrap().to_i64s().unwrap()
}

#[track_caller]
fn floats(f: Function, inputs: &[Tensor]) -> Vec<f32> {
    run_one(f, inputs).unwrap().to_f32s().unwrap()
}

#[track_caller]
fn stop(f: Function, inputs: &[Tensor]) -> Stop {
    run_one(f, inputs).unwrap_err()
}

fn i64s(values: &[i64]) -> Tensor {
    Tensor::from_i64(&[values.len() as u64], values)
}

/// Sums over `0..n` of an int64 loop, into the one element of `y`.
fn count(n: i64) -> Function {
    prim(&[], &[("y", I64, &[])], |b, [y]| {
        let (zero, n) = (b.index(0), b.index(n));
        let [sum] = b.fold(zero, n, [zero], |b, i, [sum]| [b.op(Add, &[sum, i])]);
        b.store(y, sum, &[]);
    })
}

/// `c[i, j] = Σ_k a[i, k] * b[k, j]`
fn product(m: u64, n: u64, depth: u64) -> Function {
    prim(&[("a", F32, &[m, depth]), ("b", F32, &[depth, n])], &[("c", F32, &[m, n])], |build, [a, b, c]| {
        let [m, n, depth] = [m, n, depth].map(|size| build.index(size as i64));
        let (start, zero) = (build.index(0), build.float(F32, 0.0));
        build.each_of(LoopKind::Parallel, m, |build, i| {
            build.each(n, |build, j| {
                let [sum] = build.fold(start, depth, [zero], |build, k, [sum]| {
                    let (x, y) = (build.load(a, &[i, k]), build.load(b, &[k, j]));
                    let product = build.op(Mul, &[x, y]);
                    [build.op(Add, &[sum, product])]
                });
                build.store(c, sum, &[i, j]);
            });
        });
    })
}

fn numbers(n: u64) -> Vec<f32> {
    (0..n).map(|at| ((at * 37 % 101) as f32 - 50.0) / 7.0).collect()
}

// ---- what runs --------------------------------------------------------------------------------------------------------

#[test]
fn a_matrix_product_is_that_of_plain_loops() {
    let (m, n, depth) = (5, 7, 11);
    let (a, b) = (numbers(m * depth), numbers(depth * n));
    let mut wanted = Vec::new();
    for i in 0..m {
        for j in 0..n {
            let terms = (0..depth).map(|k| a[(i * depth + k) as usize] * b[(k * n + j) as usize]);
            wanted.push(terms.fold(0.0, |sum, term| sum + term));
        }
    }
    let inputs = [Tensor::from_f32(&[m, depth], &a), Tensor::from_f32(&[depth, n], &b)];
    for order in [Order::Forward, Order::Backward, Order::Shuffled(3)] {
        let options = RunOptions { order, ..RunOptions::default() };
        let outputs = run_with(product(m, n, depth), &inputs, &options).unwrap();
        assert_eq!(outputs, [Tensor::from_f32(&[m, n], &wanted)], "{order:?}");
    }
}

#[test]
fn loops_carry_values() {
    assert_eq!(ints(count(10), &[]), [45]);
    // An empty loop gives what it was given; so does one of negative extent.
    assert_eq!((ints(count(0), &[]), ints(count(-5), &[])), (vec![0], vec![0]));
    // Values that change places: Fibonacci, and a rotation of three.
    let f = prim(&[], &[("y", I64, &[5])], |b, [y]| {
        let at: Vec<NodeId> = (0..10).map(|at| b.index(at)).collect();
        let [a, _] = b.fold(at[0], at[9], [at[0], at[1]], |b, _, [x, y]| [y, b.op(Add, &[x, y])]);
        b.store(y, a, &[at[0]]);
        let rotated = b.fold(at[0], at[4], [at[7], at[8], at[9]], |_, _, [x, y, z]| [z, x, y]);
        (1..).zip(rotated).for_each(|(place, value)| _ = b.store(y, value, &[at[place]]));
        let [same, _] = b.fold(at[0], at[3], [at[5], at[6]], |_, _, [x, y]| [x, y]);
        b.store(y, same, &[at[4]]);
    });
    assert_eq!(ints(f, &[]), [34, 9, 7, 8, 5]);
}

#[test]
fn nested_loops_begin_anew_at_each_turn() {
    // Σ_i Π_{j < 3} (i + j), where the inner loop carries on from a value of the outer one.
    let f = prim(&[], &[("y", I64, &[])], |b, [y]| {
        let (zero, one, three, four) = (b.index(0), b.index(1), b.index(3), b.index(4));
        let [sum] = b.fold(one, four, [zero], |b, i, [sum]| {
            let [product] = b.fold(zero, three, [one], |b, j, [product]| {
                let term = b.op(Add, &[i, j]);
                [b.op(Mul, &[product, term])]
            });
            [b.op(Add, &[sum, product])]
        });
        b.store(y, sum, &[]);
    });
    assert_eq!(ints(f, &[]), [6 + 24 + 60 + 120]);
}

#[test]
fn loops_have_narrow_indices_too() {
    for order in [Order::Forward, Order::Backward] {
        let f = prim(&[], &[("y", I32, &[5]), ("z", I64, &[])], |b, [y, z]| {
            let [min, extent, two] = [-2, 5, 2].map(|value| b.imm(Imm::int(I32, value).unwrap()));
            let last = b.each_of(LoopKind::Parallel, extent, |b, i| {
                let shifted = b.op(Sub, &[i, two]);
                b.store(y, shifted, &[i]);
            });
            assert!(!last.is_absent());
            let start = b.index(0);
            let [sum] = b.fold(min, extent, [start], |b, i, [sum]| {
                let wide = b.cast(i, I64);
                [b.op(Add, &[sum, wide])]
            });
            b.store(z, sum, &[]);
        });
        let options = RunOptions { order, ..RunOptions::default() };
        let outputs = run_with(f, &[], &options).unwrap();
        assert_eq!(outputs[0].to_i64s().unwrap(), [-2, -1, 0, 1, 2]);
        assert_eq!(outputs[1].to_i64s().unwrap(), [0]);
    }
}

#[test]
fn while_loops_run_as_long_as_the_condition_holds() {
    // The steps of the Collatz sequence, and how high it goes.
    let f = prim(&[("n", I64, &[])], &[("y", I64, &[2])], |b, [n, y]| {
        let (zero, one, two, three) = (b.index(0), b.index(1), b.index(2), b.index(3));
        let n = b.load(n, &[]);
        let [_, steps, top] = b.while_loop(
            [n, zero, n],
            |b, [n, ..]| b.op(Gt, &[n, one]),
            |b, [n, steps, top]| {
                let odd = b.op(And, &[n, one]);
                let is_odd = b.op(Eq, &[odd, one]);
                let next = b.lazy(
                    is_odd,
                    |b| {
                        let tripled = b.op(Mul, &[n, three]);
                        b.op(Add, &[tripled, one])
                    },
                    |b| b.op(Div, &[n, two]),
                );
                [next, b.op(Add, &[steps, one]), b.op(Max, &[top, next])]
            },
        );
        b.store(y, steps, &[zero]);
        b.store(y, top, &[one]);
    });
    assert_eq!(ints(f.clone(), &[Tensor::from_i64(&[], &[27])]), [111, 9232]);
    assert_eq!(ints(f, &[Tensor::from_i64(&[], &[1])]), [0, 1]);
}

#[test]
fn only_the_branch_that_is_taken_is_computed() {
    // The other branches divide by zero, or read beyond the memory.
    let f = prim(&[("x", I64, &[4])], &[("y", I64, &[4])], |b, [x, y]| {
        let (zero, four, ten) = (b.index(0), b.index(4), b.index(10));
        b.each(four, |b, i| {
            let value = b.load(x, &[i]);
            let is_zero = b.op(Eq, &[value, zero]);
            let quotient = b.lazy(is_zero, |_| ten, |b| b.op(Div, &[ten, value]));
            b.when_else(
                is_zero,
                |b| _ = b.store(y, ten, &[i]),
                |b| {
                    let rest = b.op(Mod, &[ten, value]);
                    let sum = b.op(Add, &[quotient, rest]);
                    b.store(y, sum, &[i]);
                },
            );
            b.when(is_zero, |b| _ = b.store(y, zero, &[i]));
        });
    });
    assert_eq!(ints(f, &[i64s(&[3, 0, 5, -4])]), [3 + 1, 0, 2, -2 + 2]);
}

#[test]
fn prims_call_prims_with_memory_of_other_sizes() {
    // `double` has a symbolic size; `main` calls it for a part of four, a part of two, and a view.
    let mut double = prim(&[("x", I64, &[1])], &[("y", I64, &[1])], |b, [x, y]| {
        let n = b.op_with(Dim, &[x], &[Attr::new("axis", 0_i64)]);
        b.each(n, |b, i| {
            let value = b.load(x, &[i]);
            let twice = b.op(Add, &[value, value]);
            b.store(y, twice, &[i]);
        });
    });
    let n = crate::ir::Dim::Symbol(double.intern("N"));
    let ty = double.tensor_type(I64, &[n]);
    double.params().to_vec().into_iter().for_each(|param| double.set_type(param, ty));
    let main = prim(&[("x", I64, &[4])], &[("y", I64, &[4]), ("z", I64, &[2, 1])], |b, [x, y, z]| {
        let middle = b.alloc(I64, &[4]);
        b.call("double", &[x, middle]);
        b.call("double", &[middle, y]);
        let two = b.constant(i64s(&[7, 8]));
        let flat = b.op_with(View, &[z], &[Attr::new("shape", vec![-1_i64])]);
        b.call("double", &[two, flat]);
    });
    let module = module([("main", main), ("double", double)]);
    let outputs = run(&module, "main", &[i64s(&[1, 2, 3, 4])], &RunOptions::default()).unwrap();
    assert_eq!(outputs, [i64s(&[4, 8, 12, 16]), Tensor::from_i64(&[2, 1], &[14, 16])]);
    // The symbol stands for the input's size.
    let outputs = run(&module, "double", &[i64s(&[5, 6, 7])], &RunOptions::default()).unwrap();
    assert_eq!(outputs, [i64s(&[10, 12, 14])]);
}

#[test]
fn memory_of_a_loop_is_new_at_each_turn() {
    // Each turn reads what it did not write.
    let f = || {
        prim(&[], &[("y", I64, &[3])], |b, [y]| {
            let (zero, one, three) = (b.index(0), b.index(1), b.index(3));
            b.each(three, |b, i| {
                let memory = b.alloc(I64, &[2]);
                let before = b.load(memory, &[one]);
                b.store(memory, i, &[one]);
                b.store(memory, i, &[zero]);
                b.store(y, before, &[i]);
            });
        })
    };
    assert_eq!(ints(f(), &[]), [0, 0, 0]);
    let poisoned = run_with(f(), &[], &RunOptions { poison: true, ..RunOptions::default() }).unwrap();
    assert_eq!(poisoned[0].to_i64s().unwrap(), [0x5555_5555_5555_5555; 3]);
}

#[test]
fn poison_shows_what_is_not_written() {
    let f = |n: i64| {
        prim(&[], &[("y", F32, &[4])], |b, [y]| {
            let (n, half) = (b.index(n), b.float(F32, 0.5));
            b.each(n, |b, i| _ = b.store(y, half, &[i]));
        })
    };
    let poison = RunOptions { poison: true, ..RunOptions::default() };
    let of = |n| run_with(f(n), &[], &poison).unwrap()[0].to_f32s().unwrap();
    assert_eq!((of(4), floats(f(4), &[])), (vec![0.5; 4], vec![0.5; 4]));
    assert!(of(3)[3].is_nan());
    assert_eq!(floats(f(3), &[]), [0.5, 0.5, 0.5, 0.0]);
}

#[test]
fn another_order_shows_a_race() {
    // Each turn reads what the turn before wrote.
    let f = |kind| {
        prim(&[], &[("y", I64, &[64])], |b, [y]| {
            let (n, one, zero) = (b.index(63), b.index(1), b.index(0));
            b.store(y, one, &[zero]);
            b.each_of(kind, n, |b, i| {
                let value = b.load(y, &[i]);
                let next = b.op(Add, &[i, one]);
                b.store(y, value, &[next]);
            });
        })
    };
    let of = |kind, order| {
        let options = RunOptions { order, ..RunOptions::default() };
        run_with(f(kind), &[], &options).unwrap()[0].to_i64s().unwrap()
    };
    assert_eq!(of(LoopKind::Parallel, Order::Forward), [1; 64]);
    assert_ne!(of(LoopKind::Parallel, Order::Backward), [1; 64]);
    assert_ne!(of(LoopKind::Parallel, Order::Shuffled(1)), [1; 64]);
    // Other kinds of loops keep their order.
    for kind in [LoopKind::Serial, LoopKind::Vectorized, LoopKind::Unrolled] {
        assert_eq!(of(kind, Order::Shuffled(1)), [1; 64]);
    }
    // Without a race every order gives the same, whatever the extent.
    for n in [-1, 0, 1, 37] {
        let f = || {
            prim(&[], &[("y", I64, &[37])], |b, [y]| {
                let n = b.index(n);
                b.each_of(LoopKind::Parallel, n, |b, i| _ = b.store(y, i, &[i]));
            })
        };
        let options = RunOptions { order: Order::Shuffled(9), ..RunOptions::default() };
        assert_eq!(run_with(f(), &[], &options), run_with(f(), &[], &RunOptions::default()));
    }
}

#[test]
fn types_of_each_width_are_stored_and_computed() {
    for &elem in ElemType::ALL.iter().filter(|elem| elem.is_scalar() && **elem != ElemType::BOOL) {
        let f = prim(&[("x", I64, &[3])], &[("y", I64, &[3])], |b, [x, y]| {
            let three = b.index(3);
            let memory = b.alloc(elem, &[1, 3]);
            b.each(three, |b, i| {
                let zero = b.index(0);
                let value = b.load(x, &[i]);
                let value = b.cast(value, elem);
                b.store(memory, value, &[zero, i]);
                let value = b.load(memory, &[zero, i]);
                let sum = b.op(Add, &[value, value]);
                let sum = b.cast(sum, I64);
                b.store(y, sum, &[i]);
            });
        });
        assert_eq!(ints(f, &[i64s(&[1, 2, 50])]), [2, 4, 100], "{elem}");
    }
}

// ---- vectors ----------------------------------------------------------------------------------------------------------

fn lanes(n: i64) -> [Attr; 1] {
    [Attr::new("lanes", n)]
}

#[test]
fn vectors_are_loaded_computed_and_stored() {
    // Rows of eight, four at a time: y = x < 0 ? 10 : x * x + i
    let f = prim(&[("x", I64, &[2, 8])], &[("y", I64, &[2, 8])], |b, [x, y]| {
        let (zero, one, two, four) = (b.index(0), b.index(1), b.index(2), b.index(4));
        let ten = b.index(10);
        let tens = b.op_with(Broadcast, &[ten], &lanes(4));
        let zeros = b.op_with(Broadcast, &[zero], &lanes(4));
        b.each(two, |b, i| {
            b.each(two, |b, j| {
                let at = b.op(Mul, &[j, four]);
                let value = b.op_with(Load, &[x, i, at], &lanes(4));
                let square = b.op(Mul, &[value, value]);
                let ramp = b.op_with(Ramp, &[at, one], &lanes(4));
                let sum = b.op(Add, &[square, ramp]);
                let is_negative = b.op(Lt, &[value, zeros]);
                let chosen = b.op(Select, &[is_negative, tens, sum]);
                b.store(y, chosen, &[i, at]);
            });
        });
    });
    let x: Vec<i64> = (0..16).map(|at| if at % 5 == 3 { -at } else { at }).collect();
    let wanted: Vec<i64> = (0..16).zip(&x).map(|(at, &x)| if x < 0 { 10 } else { x * x + at % 8 }).collect();
    assert_eq!(ints(f, &[Tensor::from_i64(&[2, 8], &x)]), wanted);
}

#[test]
fn vectors_are_carried_and_their_lanes_taken() {
    let f = prim(&[("x", I64, &[12])], &[("y", I64, &[3])], |b, [x, y]| {
        let (zero, three, four) = (b.index(0), b.index(3), b.index(4));
        let zeros = b.op_with(Broadcast, &[zero], &lanes(4));
        let ones = b.index(1);
        let ones = b.op_with(Broadcast, &[ones], &lanes(4));
        // The two vectors change places each time.
        let [a, c] = b.fold(zero, three, [zeros, ones], |b, i, [a, c]| {
            let at = b.op(Mul, &[i, four]);
            let value = b.op_with(Load, &[x, at], &lanes(4));
            [c, b.op(Add, &[a, value])]
        });
        let holds = b.op(Eq, &[zero, zero]);
        let chosen = b.op(Select, &[holds, a, c]);
        let picked = b.lazy(holds, |_| c, |_| a);
        let two = b.index(2);
        let values = [b.op(Lane, &[chosen, two]), b.op(Lane, &[c, three]), b.op(Lane, &[picked, zero])];
        let places = [zero, ones, two];
        for (at, value) in values.into_iter().enumerate() {
            let place = if at == 1 { b.index(1) } else { places[at] };
            b.store(y, value, &[place]);
        }
    });
    // a, c = 0, 1; 1, 0 + x0; x0, 1 + x1; 1 + x1, x0 + x2
    let x: Vec<i64> = (0..12).collect();
    assert_eq!(ints(f, &[i64s(&x)]), [1 + 6, 3 + 11, 8]);
}

#[test]
fn lanes_are_gathered_and_scattered_in_order() {
    for elem in [I64, I32] {
        let f = prim(&[("x", I64, &[2, 5])], &[("y", I64, &[6])], |b, [x, y]| {
            let one = b.index(1);
            let [base, stride, same] = [4, -1, 0].map(|value| b.imm(Imm::int(elem, value).unwrap()));
            let down = b.op_with(Ramp, &[base, stride], &lanes(5));
            let value = b.op(Gather, &[x, one, down]);
            b.op(Scatter, &[y, value, down]);
            // All lanes at one place: the last one stays.
            let five = b.imm(Imm::int(elem, 5).unwrap());
            let at_once = b.op_with(Ramp, &[five, same], &lanes(5));
            b.op(Scatter, &[y, value, at_once]);
        });
        let x: Vec<i64> = (0..10).collect();
        assert_eq!(ints(f, &[Tensor::from_i64(&[2, 5], &x)]), [5, 6, 7, 8, 9, 5]);
    }
}

#[test]
fn lanes_that_are_masked_out_are_not_touched() {
    // Five elements, four lanes at a time, where they exist.
    let f = |n: i64| {
        prim(&[("x", F32, &[5])], &[("y", F32, &[5]), ("z", F32, &[8])], |b, [x, y, z]| {
            let (one, two, four) = (b.index(1), b.index(2), b.index(4));
            let n = b.index(n);
            let ns = b.op_with(Broadcast, &[n], &lanes(4));
            b.each(two, |b, i| {
                let at = b.op(Mul, &[i, four]);
                let ramp = b.op_with(Ramp, &[at, one], &lanes(4));
                let mask = b.op(Lt, &[ramp, ns]);
                let value = b.op(LoadMasked, &[x, mask, at]);
                b.store(z, value, &[at]);
                let sum = b.op(Add, &[value, value]);
                b.op(StoreMasked, &[y, sum, mask, at]);
            });
        })
    };
    let x = Tensor::from_f32(&[5], &[1.0, 2.0, 3.0, 4.0, 5.0]);
    let poison = RunOptions { poison: true, ..RunOptions::default() };
    let outputs = run_with(f(5), std::slice::from_ref(&x), &poison).unwrap();
    assert_eq!(outputs[0].to_f32s().unwrap(), [2.0, 4.0, 6.0, 8.0, 10.0]);
    assert_eq!(outputs[1].to_f32s().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0]);
    let outputs = run_with(f(3), std::slice::from_ref(&x), &poison).unwrap();
    assert!(outputs[0].to_f32s().unwrap()[3].is_nan());
    let stopped = run_with(f(6), &[x], &poison).unwrap_err();
    assert_eq!(stopped.cause, Cause::OutOfBounds { memory: "%x".into(), axis: 0, index: 5, size: 5 });
}

#[test]
fn a_row_is_looked_for_only_if_a_lane_is_on() {
    let f = |n: i64| {
        prim(&[("x", I64, &[2, 4])], &[("y", I64, &[4])], |b, [x, y]| {
            let (zero, one, seven, n) = (b.index(0), b.index(1), b.index(7), b.index(n));
            let ramp = b.op_with(Ramp, &[zero, one], &lanes(4));
            let ns = b.op_with(Broadcast, &[n], &lanes(4));
            let mask = b.op(Lt, &[ramp, ns]);
            let value = b.op(LoadMasked, &[x, mask, seven, zero]);
            b.store(y, value, &[zero]);
        })
    };
    let x = [Tensor::from_i64(&[2, 4], &[1; 8])];
    assert_eq!(ints(f(0), &x), [0; 4]);
    assert_eq!(stop(f(1), &x).cause, Cause::OutOfBounds { memory: "%x".into(), axis: 0, index: 7, size: 2 });
}

#[test]
fn vectors_take_every_kind_of_operator() {
    let f = |divisor: i64| {
        prim(&[("x", F32, &[4])], &[("y", F32, &[4])], |b, [x, y]| {
            let zero = b.index(0);
            let value = b.op_with(Load, &[x, zero], &lanes(4));
            let fused = b.op(Fma, &[value, value, value]);
            let root = b.op(Sqrt, &[fused]);
            let whole = b.cast(root, I64);
            let divisor = b.index(divisor);
            let divisors = b.op_with(Broadcast, &[divisor], &lanes(4));
            let quotient = b.op(FloorDiv, &[whole, divisors]);
            let result = b.cast(quotient, F32);
            b.store(y, result, &[zero]);
        })
    };
    let x = |last: f32| [Tensor::from_f32(&[4], &[3.0, 8.0, 15.0, last])];
    assert_eq!(floats(f(2), &x(24.0)), [1.0, 4.0, 7.0, 12.0]);
    assert_eq!(stop(f(0), &x(24.0)).cause, Cause::DivisionByZero);
    assert_eq!(stop(f(2), &x(f32::NAN)).cause, Cause::Undefined);
}

// ---- what stops -------------------------------------------------------------------------------------------------------

#[test]
fn accesses_outside_the_memory_stop() {
    let f = |at: i64, is_store: bool| {
        prim(&[("x", F32, &[3, 4])], &[("y", F32, &[4])], |b, [x, y]| {
            let (one, at) = (b.index(1), b.index(at));
            let half = b.float(F32, 0.5);
            if is_store {
                b.store(y, half, &[at]);
            } else {
                let value = b.load(x, &[one, at]);
                b.store(y, value, &[one]);
            }
        })
    };
    let x = [Tensor::from_f32(&[3, 4], &[1.0; 12])];
    for (at, is_store) in [(0, false), (3, false), (0, true), (3, true)] {
        assert!(run_one(f(at, is_store), &x).is_ok());
    }
    // Row 1, column 4 is an element of the memory, and still no element of the row.
    for index in [4, -1, i64::MAX, i64::MIN] {
        let cause = |memory: &str, axis| Cause::OutOfBounds { memory: memory.into(), axis, index, size: 4 };
        assert_eq!(stop(f(index, false), &x).cause, cause("%x", 1));
        assert_eq!(stop(f(index, true), &x).cause, cause("%y", 0));
    }
    let message = stop(f(4, false), &x).to_string();
    assert!(
        message.starts_with("index 4 is out of bounds: the size of axis 1 of `%x` is 4, in `@k`, at `"),
        "{message}"
    );
    assert!(message.contains("%x") && message.contains("; help: "), "{message}");
}

#[test]
fn lanes_outside_the_row_or_the_vector_stop() {
    let x = [Tensor::from_f32(&[2, 8], &[1.0; 16])];
    let f = |at: i64, lane: i64| {
        prim(&[("x", F32, &[2, 8])], &[("y", F32, &[])], |b, [x, y]| {
            let (zero, at, lane) = (b.index(0), b.index(at), b.index(lane));
            let vector = b.op_with(Load, &[x, zero, at], &lanes(4));
            let value = b.op(Lane, &[vector, lane]);
            b.store(y, value, &[]);
        })
    };
    assert!(run_one(f(4, 3), &x).is_ok());
    let cause = |at, lane| stop(f(at, lane), &x).cause;
    assert_eq!(cause(5, 0), Cause::OutOfBounds { memory: "%x".into(), axis: 1, index: 8, size: 8 });
    assert_eq!(cause(-1, 0), Cause::OutOfBounds { memory: "%x".into(), axis: 1, index: -1, size: 8 });
    for index in [4, -1] {
        assert!(matches!(cause(0, index), Cause::OutOfBounds { index: i, size: 4, .. } if i == index));
    }
}

#[test]
fn divisions_asserts_and_casts_stop() {
    let divide = |op| {
        prim(&[("x", I64, &[])], &[("y", I64, &[])], |b, [x, y]| {
            let (ten, x) = (b.index(10), b.load(x, &[]));
            let value = b.op(op, &[ten, x]);
            b.store(y, value, &[]);
        })
    };
    for op in [Div, Mod, FloorDiv, FloorMod] {
        assert!(run_one(divide(op), &[Tensor::from_i64(&[], &[3])]).is_ok());
        let stopped = stop(divide(op), &[Tensor::from_i64(&[], &[0])]);
        assert_eq!(stopped.cause, Cause::DivisionByZero);
        assert!(stopped.place.unwrap().text.contains("%"));
    }
    let check = |x: i64| {
        let f = prim(&[("x", I64, &[])], &[], |b, [x]| {
            let (ten, x) = (b.index(10), b.load(x, &[]));
            let holds = b.op(Lt, &[x, ten]);
            b.op_with(Assert, &[holds], &[Attr::new("message", "x is small")]);
        });
        run_with(f, &[Tensor::from_i64(&[], &[x])], &RunOptions::default())
    };
    assert_eq!(check(9), Ok(vec![]));
    let stopped = check(10).unwrap_err();
    assert_eq!(stopped.cause, Cause::Assert("x is small".into()));
    assert!(stopped.to_string().starts_with("an assertion does not hold: x is small, in `@k`, at `"));
    let cast = || {
        prim(&[("x", F32, &[])], &[("y", I32, &[])], |b, [x, y]| {
            let value = b.load(x, &[]);
            let value = b.cast(value, I32);
            b.store(y, value, &[]);
        })
    };
    assert_eq!(ints(cast(), &[Tensor::from_f32(&[], &[-2.9])]), [-2]);
    for value in [f32::NAN, 2_147_483_648.0, f32::NEG_INFINITY] {
        assert_eq!(stop(cast(), &[Tensor::from_f32(&[], &[value])]).cause, Cause::Undefined);
    }
}

#[test]
fn fuel_is_used_up() {
    // Two steps a turn, an addition and the end of the turn; a move of the sum; and some around the loop.
    let with = |fuel| run_with(count(1000), &[], &RunOptions { fuel, ..RunOptions::default() });
    assert_eq!(with(1000).unwrap_err().cause, Cause::Fuel(1000));
    assert!(with(4000).is_ok());
    assert!(with(u64::MAX).is_ok());
    // A loop that does nothing, forever.
    let f = prim(&[], &[("y", I64, &[])], |b, [_]| {
        let one = b.index(1);
        b.while_loop([], |b, []| b.op(Eq, &[one, one]), |_, []| []);
    });
    let stopped = run_with(f, &[], &RunOptions { fuel: 10_000, ..RunOptions::default() }).unwrap_err();
    assert_eq!(stopped.cause, Cause::Fuel(10_000));
    // Memory that is cleared takes more than one step.
    let f = prim(&[], &[("y", I64, &[])], |b, [_]| {
        let n = b.index(1000);
        b.each(n, |b, _| _ = b.alloc(I64, &[10_000]));
    });
    let stopped = run_with(f, &[], &RunOptions { fuel: 100_000, ..RunOptions::default() }).unwrap_err();
    assert_eq!(stopped.cause, Cause::Fuel(100_000));
}

#[test]
fn memory_is_limited() {
    let with = |f: Function, inputs: &[Tensor], max_bytes| {
        run_with(f, inputs, &RunOptions { max_bytes, ..RunOptions::default() })
    };
    let refused = |result: Result<Vec<Tensor>, Stop>| matches!(result.unwrap_err().cause, Cause::Memory { .. });
    // In an `alloc`, an output, an input that is one repeated number, and a constant.
    let alloc = |size: u64| prim(&[], &[("y", I64, &[])], |b, [_]| _ = b.alloc(I64, &[size]));
    assert!(with(alloc(1000), &[], 20_000).is_ok() && refused(with(alloc(10_000), &[], 20_000)));
    assert!(refused(with(alloc(1 << 60), &[], u64::MAX)));
    let output = |size: u64| prim(&[], &[("y", I64, &[size])], |_, [_]| {});
    assert!(with(output(1000), &[], 20_000).is_ok() && refused(with(output(10_000), &[], 20_000)));
    assert!(refused(with(output(1 << 62), &[], u64::MAX)));
    let input = |size: u64| prim(&[("x", F32, &[size])], &[], |_, [_]| {});
    let splat = |size: u64| [Tensor::full(F32, &[size], 1.0).unwrap()];
    assert!(with(input(1000), &splat(1000), 20_000).is_ok());
    assert!(refused(with(input(1 << 50), &splat(1 << 50), 20_000)));
    let constant = |size: u64| prim(&[], &[("y", I64, &[])], |b, [_]| _ = b.constant(splat(size)[0].clone()));
    assert!(with(constant(1000), &[], 20_000).is_ok() && refused(with(constant(1 << 50), &[], 20_000)));
    // In vectors.
    let vectors = |n: usize| {
        prim(&[], &[("y", I64, &[])], |b, [_]| {
            let one = b.index(1);
            (0..n).for_each(|_| _ = b.op_with(Broadcast, &[one], &lanes(1024)));
        })
    };
    assert!(with(vectors(1), &[], 20_000).is_ok() && refused(with(vectors(3), &[], 20_000)));
    // The bytes that a call took are there for the next one.
    let callee = prim(&[], &[("y", I64, &[])], |b, [_]| _ = b.alloc(I64, &[1000]));
    let caller = prim(&[], &[("y", I64, &[])], |b, [y]| (0..10).for_each(|_| _ = b.call("callee", &[y])));
    let module = module([("k", caller), ("callee", callee)]);
    assert!(run(&module, "k", &[], &RunOptions { max_bytes: 20_000, ..RunOptions::default() }).is_ok());
}

#[test]
fn calls_are_as_deep_as_is_allowed() {
    let mut module = IRModule::new();
    for at in 0..50 {
        let f = prim(&[], &[("y", I64, &[])], |b, [y]| {
            if at == 0 {
                let seven = b.index(7);
                b.store(y, seven, &[]);
            } else {
                b.call(&format!("f{}", at - 1), &[y]);
            }
        });
        module.set_prim_func(&format!("f{at}"), f);
    }
    let with = |max_depth| run(&module, "f49", &[], &RunOptions { max_depth, ..RunOptions::default() });
    assert_eq!(with(50).unwrap(), [Tensor::from_i64(&[], &[7])]);
    let stopped = with(49).unwrap_err();
    assert_eq!(stopped.cause, Cause::Depth(49));
    assert_eq!(stopped.place.unwrap().function, "f1");
    assert_eq!(with(0).unwrap_err().cause, Cause::Depth(0));
}

#[test]
fn wrong_programs_and_inputs_are_refused() {
    let wrong = |result: Result<Vec<Tensor>, Stop>| match result.unwrap_err() {
        Stop { cause: Cause::Wrong(message), .. } => message,
        other => panic!("{other}"),
    };
    let input = || prim(&[("x", F32, &[3])], &[], |_, [_]| {});
    let with = |tensors: &[Tensor]| run_with(input(), tensors, &RunOptions::default());
    assert_eq!(with(&[Tensor::from_f32(&[3], &[0.0; 3])]), Ok(vec![]));
    assert_eq!(wrong(with(&[])), "there are 1 inputs, and 0 tensors are given");
    assert_eq!(wrong(with(&[i64s(&[1, 2, 3])])), "the input `%x` has elements of float32, the tensor is of int64");
    assert_eq!(wrong(with(&[Tensor::from_f32(&[2], &[0.0; 2])])), "axis 0 of `%x` has the size 3, not 2");
    assert_eq!(wrong(with(&[Tensor::from_f32(&[], &[0.0])])), "`%x` has 1 dimensions, not 0");
    let later = wrong(with(&[Tensor::opaque(200, F32, &[3], vec![1])]));
    assert_eq!(later, "the input `%x` has elements of float32, the tensor is in a form of a later version");
    let options = RunOptions::default();
    assert_eq!(wrong(run(&IRModule::new(), "k", &[], &options)), "the module has no prim func `@k`");
    let mut module = IRModule::new();
    module.set_function("main", Function::new());
    assert_eq!(wrong(run(&module, "main", &[], &options)), "`@main` is not a prim func");
    // A program that the verifier refuses, also in a prim that is called.
    let mut bad = prim_func(&[("x", F32, &[3])], &[("y", F32, &[3])]);
    let [x, y] = *bad.params() else { panic!() };
    let mut b = PrimBuilder::new(&mut bad);
    b.store(y, x, &[]);
    drop(b.finish());
    module.set_prim_func("bad", bad);
    let call = prim(&[("x", F32, &[3])], &[("y", F32, &[3])], |b, [x, y]| _ = b.call("bad", &[x, y]));
    module.set_prim_func("call", call);
    for name in ["bad", "call"] {
        let message = wrong(run(&module, name, &[Tensor::from_f32(&[3], &[0.0; 3])], &options));
        assert!(message.starts_with("error[V2") && message.contains("in `@bad`"), "{message}");
    }
    let later = prim(&[], &[], |b, []| _ = b.constant(Tensor::opaque(200, F32, &[3], vec![1])));
    assert!(wrong(run_with(later, &[], &options)).contains("later version"));
}

#[test]
fn sizes_of_outputs_come_from_inputs() {
    let with = |output: &str, inputs: &[&str], tensors: &[Tensor]| {
        let mut f = Function::new();
        let params: Vec<NodeId> = inputs
            .iter()
            .chain([&output])
            .map(|&name| {
                let dim = if name == "?" { crate::ir::Dim::Unknown } else { crate::ir::Dim::Symbol(f.intern(name)) };
                let ty = f.tensor_type(I64, &[dim]);
                f.add_var("", ty)
            })
            .collect();
        f.set_params(f.root(), &params);
        f.set_attrs(f.root(), &[Attr::meta(crate::prim::OUTPUTS, 1_i64)]);
        f.set_results(f.body(), &[]);
        run_with(f, tensors, &RunOptions::default())
    };
    let (two, three) = (i64s(&[1, 2]), i64s(&[1, 2, 3]));
    assert_eq!(with("N", &["N", "M"], &[two.clone(), three.clone()]), Ok(vec![i64s(&[0, 0])]));
    assert_eq!(with("M", &["N", "M"], &[two.clone(), three.clone()]), Ok(vec![i64s(&[0, 0, 0])]));
    assert_eq!(with("M", &["?", "M"], &[two.clone(), three.clone()]), Ok(vec![i64s(&[0, 0, 0])]));
    let message = |result: Result<Vec<Tensor>, Stop>| result.unwrap_err().to_string();
    let conflict = message(with("N", &["N", "N"], &[two.clone(), three]));
    assert!(conflict.contains("has the size `N`, which is 2, not 3"), "{conflict}");
    assert!(message(with("K", &["N"], std::slice::from_ref(&two))).contains("`K`, which no input determines"));
    assert!(message(with("?", &["N"], &[two])).contains("is unknown"));
}

#[test]
fn views_fit_what_they_show_when_they_are_made() {
    let f = |sizes: Vec<i64>| {
        let mut f = prim_func(&[("x", I64, &[1])], &[("y", I64, &[])]);
        let n = crate::ir::Dim::Symbol(f.intern("N"));
        let ty = f.tensor_type(I64, &[n]);
        let [x, y] = *f.params() else { panic!() };
        f.set_type(x, ty);
        let mut b = PrimBuilder::new(&mut f);
        let view = b.op_with(View, &[x], &[Attr::new("shape", sizes)]);
        let size = b.op_with(Dim, &[view], &[Attr::new("axis", 0_i64)]);
        b.store(y, size, &[]);
        b.finish().unwrap();
        f
    };
    let six = [i64s(&[1, 2, 3, 4, 5, 6])];
    assert_eq!((ints(f(vec![-1, 2]), &six), ints(f(vec![2, 3]), &six)), (vec![3], vec![2]));
    for sizes in [vec![-1, 4], vec![2, 2], vec![-1, 0]] {
        let message = stop(f(sizes), &six).to_string();
        assert!(message.contains("memory of 6 elements does not have the shape ["), "{message}");
    }
}

#[test]
fn regions_on_the_call_of_a_prim_are_refused() {
    let mut f = prim_func(&[], &[("y", I64, &[])]);
    let y = f.params()[0];
    let callee = f.add_global_var("callee");
    let region = f.add_function(&[]);
    f.set_results(f.block_of(region), &[]);
    let call = f.add_call_with(callee, &[y], &[region], None);
    f.set_attrs(call, &[Attr::new("body", AttrData::Graph(0))]);
    let unit = f.add_type(Type::Tuple(&[]));
    f.set_type(call, unit);
    f.append(f.body(), call);
    let module = module([("k", f), ("callee", prim(&[], &[("y", I64, &[])], |_, [_]| {}))]);
    let stopped = run(&module, "k", &[], &RunOptions::default()).unwrap_err();
    assert!(matches!(&stopped.cause, Cause::Wrong(message) if message.contains("functions")), "{stopped}");
}

#[test]
fn programs_may_be_nested_deep() {
    // Far deeper than any stack, were each level a call of a function.
    let mut f = prim_func(&[], &[("y", I64, &[])]);
    let y = f.params()[0];
    let mut block = f.body();
    for _ in 0..20_000 {
        let mut b = PrimBuilder::at(&mut f, block);
        let one = b.index(1);
        let id = b.each(one, |_, _| {});
        b.finish().unwrap();
        block = f.block_of(f.regions(id)[0]);
    }
    let mut b = PrimBuilder::at(&mut f, block);
    let seven = b.index(7);
    b.store(y, seven, &[]);
    b.finish().unwrap();
    assert_eq!(ints(f, &[]), [7]);
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Adds bindings that are right as far as the rules go, and seldom one that is not.
fn some_bindings(b: &mut PrimBuilder<'_>, pool: &mut Vec<NodeId>, numbers: &mut Numbers, depth: usize) {
    let is_value = |b: &PrimBuilder<'_>, id| {
        b.scalar(id).is_some() && !crate::prim::LoopOps::new(b.function()).is_memory(b.function(), id)
    };
    for _ in 0..10 {
        let pick = |numbers: &mut Numbers, pool: &[NodeId]| pool[numbers.below(pool.len())];
        match numbers.below(8) {
            0 if depth > 0 => {
                let (min, extent) = (b.index(numbers.below(5) as i64 - 2), b.index(numbers.below(6) as i64 - 1));
                let values: Vec<NodeId> = pool.iter().copied().filter(|&id| is_value(b, id)).collect();
                let carried = pick(numbers, &values);
                let mut inner = pool.clone();
                let results = b.fold(min, extent, [carried], |b, i, [value]| {
                    inner.extend([i, value]);
                    some_bindings(b, &mut inner, numbers, depth - 1);
                    let like = b.scalar(value);
                    let fits = inner.iter().copied().filter(|&id| is_value(b, id) && b.scalar(id) == like);
                    let fits: Vec<NodeId> = fits.collect();
                    [fits[numbers.below(fits.len())]]
                });
                pool.extend(results);
            }
            1 if depth > 0 => {
                let mut conditions = pool.iter().copied().filter(|&id| {
                    b.scalar(id).is_some_and(|value| value.elem == ElemType::BOOL && value.lanes.is_none())
                });
                let Some(c) = conditions.next_back() else { continue };
                let (mut then, mut other) = (pool.clone(), pool.clone());
                let numbers = std::cell::RefCell::new(&mut *numbers);
                b.when_else(
                    c,
                    |b| some_bindings(b, &mut then, &mut numbers.borrow_mut(), depth - 1),
                    |b| some_bindings(b, &mut other, &mut numbers.borrow_mut(), depth - 1),
                );
            }
            _ => {
                let op = CoreOp::ALL[numbers.below(CoreOp::ALL.len())];
                let info = op.info();
                if !info.regions.is_empty() {
                    continue;
                }
                let n_args = info.arity.0 + if info.arity.1 == usize::MAX { numbers.below(3) } else { 0 };
                let args: Vec<NodeId> = (0..n_args).map(|_| pick(numbers, pool)).collect();
                let elems = ["float32", "int64", "int8", "bfloat16", "bool"];
                let attrs: Vec<Attr> = (info.attrs.iter())
                    .filter_map(|&name| match name {
                        "lanes" => Some(Attr::new(name, [4_i64, 2, 3][numbers.below(3)])),
                        "axis" => Some(Attr::new(name, numbers.below(2) as i64)),
                        "elem" => Some(Attr::new(name, elems[numbers.below(5)])),
                        "shape" => Some(Attr::new(
                            name,
                            [vec![4_i64], vec![-1, 2], vec![0], vec![2, 4]][numbers.below(4)].clone(),
                        )),
                        _ => None,
                    })
                    .collect();
                let f = b.function_mut();
                let id = f.add_op("tir", op.name(), "", 0);
                let id = f.add_call(id, &args);
                f.set_attrs(id, &attrs);
                let ops = crate::prim::LoopOps::new(f);
                if crate::prim::rule(f, &ops, id).is_ok() || numbers.below(1000) == 0 {
                    let id = b.op_with(op, &args, &attrs);
                    if !op.is_statement() {
                        pool.push(id);
                    }
                }
            }
        }
    }
}

#[test]
fn random_programs_end_or_stop() {
    let (mut n_ended, mut n_stopped, mut n_wrong) = (0, 0, 0);
    let inputs = [
        Tensor::from_f32(&[4], &[0.5, -1.0, 3.0, f32::NAN]),
        Tensor::from_i64(&[2, 4], &[0, 1, -1, 2, i64::MAX, i64::MIN, 3, 7]),
    ];
    for seed in 0..150 {
        let mut numbers = Numbers(seed);
        let mut f = prim_func(&[("x", F32, &[4]), ("n", I64, &[2, 4])], &[("y", F32, &[4]), ("z", I64, &[8])]);
        let mut pool = f.params().to_vec();
        let mut b = PrimBuilder::new(&mut f);
        pool.extend([b.index(0), b.index(1), b.index(2), b.float(F32, 0.5), b.imm(Imm::bool(true))]);
        pool.extend([b.index(0), b.index(1)]);
        some_bindings(&mut b, &mut pool, &mut numbers, 2);
        drop(b.finish());
        let module = module([("k", f)]);
        let with = |order, poison| {
            let options = RunOptions { order, poison, fuel: 20_000, max_bytes: 1 << 20, ..RunOptions::default() };
            run(&module, "k", &inputs, &options)
        };
        match with(Order::Forward, false) {
            Ok(outputs) => {
                n_ended += 1;
                assert_eq!(outputs.len(), 2);
                assert_eq!(with(Order::Shuffled(seed), false), Ok(outputs), "no loop is parallel");
            }
            Err(Stop { cause: Cause::Wrong(_), .. }) => n_wrong += 1,
            Err(stopped) => {
                n_stopped += 1;
                assert!(!stopped.to_string().is_empty() && stopped.place.is_some());
            }
        }
        drop(with(Order::Backward, true));
    }
    assert!(n_ended > 15 && n_stopped > 15 && n_wrong > 5, "{n_ended} ended, {n_stopped} stopped, {n_wrong} wrong");
}
