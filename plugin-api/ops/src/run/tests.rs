mod stops;

use super::*;
use CoreOp::*;
use relais_ir::{
    PrimBuilder,
    prim::{CoreOp, LoopKind},
    prim_func,
};

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
    let n = relais_ir::Dim::Symbol(double.intern("N"));
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
