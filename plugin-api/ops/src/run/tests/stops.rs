//! Programs that stop: at faults, at limits, at inputs that do not fit.

use super::*;

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
                let dim = if name == "?" { relais_ir::Dim::Unknown } else { relais_ir::Dim::Symbol(f.intern(name)) };
                let ty = f.tensor_type(I64, &[dim]);
                f.add_var("", ty)
            })
            .collect();
        f.set_params(f.root(), &params);
        f.set_attrs(f.root(), &[Attr::meta(relais_ir::prim::OUTPUTS, 1_i64)]);
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
        let n = relais_ir::Dim::Symbol(f.intern("N"));
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
        b.scalar(id).is_some() && !relais_ir::prim::LoopOps::new(b.function()).is_memory(b.function(), id)
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
                let ops = relais_ir::prim::LoopOps::new(f);
                if relais_ir::prim::rule(f, &ops, id).is_ok() || numbers.below(1000) == 0 {
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
