use super::*;
use crate::*;

const F32: ElemType = ElemType::FLOAT;

fn module(f: Function) -> IRModule {
    let mut module = IRModule::new();
    module.set_prim_func("k", f);
    module
}

fn codes(f: Function) -> Vec<FaultCode> {
    verify(&module(f)).iter().map(|fault| fault.code).collect()
}

/// `y[i] = Σ_k a[i, k] * b[k]`
fn product() -> Function {
    let mut f = prim_func(&[("a", F32, &[16, 64]), ("b", F32, &[64])], &[("y", F32, &[16])]);
    let [a, b, y] = *f.params() else { panic!() };
    let mut build = PrimBuilder::new(&mut f);
    let (rows, columns, zero, start) = (build.index(16), build.index(64), build.float(F32, 0.0), build.index(0));
    build.each_of(LoopKind::Parallel, rows, |build, i| {
        let [sum] = build.fold(start, columns, [zero], |build, k, [sum]| {
            let (x, w) = (build.load(a, &[i, k]), build.load(b, &[k]));
            let product = build.op(CoreOp::Mul, &[x, w]);
            [build.op(CoreOp::Add, &[sum, product])]
        });
        build.store(y, sum, &[i]);
    });
    build.finish().unwrap();
    f
}

#[test]
fn what_is_built_is_right_and_typing_it_again_changes_nothing() {
    let mut f = product();
    let before = module(f.clone());
    assert_eq!(verify(&before), []);
    infer(&mut f);
    assert!(equal(&before, &module(f.clone())).is_ok());
    // Without types it is wrong, and typing it fixes that.
    let ids: Vec<NodeId> = f.all_bindings().collect();
    ids.iter().for_each(|&id| f.set_type(id, TypeId::UNKNOWN));
    assert!(codes(f.clone()).contains(&FaultCode::PrimType));
    infer(&mut f);
    assert_eq!(verify(&module(f)), []);
}

#[test]
fn control_is_built_with_its_results() {
    let mut f = prim_func(&[("n", ElemType::INT64, &[])], &[("y", ElemType::INT64, &[2])]);
    let [n, y] = *f.params() else { panic!() };
    let mut b = PrimBuilder::new(&mut f);
    let (zero, one) = (b.index(0), b.index(1));
    let n = b.load(n, &[]);
    let [i, sum] = b.while_loop(
        [n, zero],
        |b, [i, _]| b.op(CoreOp::Gt, &[i, zero]),
        |b, [i, sum]| [b.op(CoreOp::Sub, &[i, one]), b.op(CoreOp::Add, &[sum, i])],
    );
    let is_zero = b.op(CoreOp::Eq, &[i, zero]);
    let value = b.lazy(is_zero, |_| sum, |_| n);
    b.when_else(is_zero, |b| _ = b.store(y, value, &[zero]), |b| _ = b.store(y, zero, &[zero]));
    b.store(y, n, &[one]);
    b.finish().unwrap();
    assert_eq!(codes(f), []);
}

#[test]
fn the_first_fault_is_the_one_that_is_told() {
    let mut f = prim_func(&[("x", F32, &[4])], &[("y", F32, &[4])]);
    let [x, y] = *f.params() else { panic!() };
    let mut b = PrimBuilder::new(&mut f);
    let zero = b.index(0);
    let value = b.load(x, &[zero, zero]);
    b.store(y, value, &[zero]);
    let error = b.finish().unwrap_err().to_string();
    assert!(error.starts_with("2 indices into memory of 1 dimensions, at `"), "{error}");
}

/// A prim func with inputs `x` (4 floats), `n` (an integer) and `c` (a bool), and the output `y` (4 floats).
fn wrong(body: impl FnOnce(&mut PrimBuilder<'_>, [NodeId; 4])) -> Vec<FaultCode> {
    let inputs: [(&str, ElemType, &[u64]); 3] =
        [("x", F32, &[4]), ("n", ElemType::INT64, &[]), ("c", ElemType::BOOL, &[])];
    let mut f = prim_func(&inputs, &[("y", F32, &[4])]);
    let params: [NodeId; 4] = f.params().try_into().unwrap();
    let mut b = PrimBuilder::new(&mut f);
    body(&mut b, params);
    drop(b.finish());
    codes(f)
}

#[test]
fn each_rule_is_checked() {
    use FaultCode::*;
    let cases: Vec<(FaultCode, Vec<FaultCode>)> = vec![
        (MemoryUse, wrong(|b, [x, ..]| _ = b.op(CoreOp::Neg, &[x]))),
        (
            MemoryUse,
            wrong(|b, _| {
                let one = b.index(1);
                b.load(one, &[]);
            }),
        ),
        (Access, wrong(|b, [x, ..]| _ = b.load(x, &[]))),
        (
            Access,
            wrong(|b, [x, ..]| {
                let half = b.float(F32, 0.5);
                b.load(x, &[half]);
            }),
        ),
        (
            StoreType,
            wrong(|b, [.., y]| {
                let one = b.index(1);
                b.store(y, one, &[one]);
            }),
        ),
        (
            ReadOnly,
            wrong(|b, [x, ..]| {
                let (zero, half) = (b.index(0), b.float(F32, 0.5));
                b.store(x, half, &[zero]);
            }),
        ),
        (
            Control,
            wrong(|b, [.., y]| {
                let (two, half) = (b.index(2), b.float(F32, 0.5));
                let id = b.each(two, |b, i| _ = b.store(y, half, &[i]));
                b.function_mut().set_attrs(id, &[Attr::new("kind", "fast"), Attr::new("body", AttrData::Graph(0))]);
            }),
        ),
        (
            OperandTypes,
            wrong(|b, [_, n, ..]| {
                let (n, half) = (b.load(n, &[]), b.float(F32, 0.5));
                b.op(CoreOp::Add, &[n, half]);
            }),
        ),
        (
            OperandTypes,
            wrong(|b, [_, n, ..]| {
                let n = b.load(n, &[]);
                b.when(n, |_| {});
            }),
        ),
        (
            OperandTypes,
            wrong(|b, [_, n, ..]| {
                let n = b.load(n, &[]);
                b.op_with(CoreOp::Neg, &[n], &[Attr::new("axis", 1_i64)]);
            }),
        ),
        (
            ElemType,
            wrong(|b, _| {
                _ = b.op_with(CoreOp::Alloc, &[], &[Attr::new("shape", vec![4_i64]), Attr::new("elem", "string")])
            }),
        ),
        (PrimCall, wrong(|b, [x, ..]| _ = b.call("k", &[x]))),
        (
            Immediate,
            wrong(|b, [.., y]| {
                let bad = b.function_mut().add_leaf(kind::IMM, 0, super::tests::F32.0.into(), 0, 1);
                let zero = b.index(0);
                b.store(y, bad, &[zero]);
            }),
        ),
        (
            ForeignOp,
            wrong(|b, [x, ..]| {
                let f = b.function_mut();
                let op = f.add_op("", "Relu", "", 0);
                let id = f.add_call(op, &[x]);
                f.append(f.body(), id);
            }),
        ),
    ];
    for (at, (wanted, found)) in cases.into_iter().enumerate() {
        assert!(found.contains(&wanted), "case {at}: {wanted:?} is not in {found:?}");
    }
}

#[test]
fn signatures_are_checked() {
    let string = || prim_func(&[("x", ElemType::STRING, &[4])], &[]);
    assert_eq!(codes(string()), [FaultCode::ElemType]);
    let mut f = prim_func(&[], &[("y", F32, &[1])]);
    f.set_attrs(f.root(), &[Attr::meta(OUTPUTS, 2_i64)]);
    assert_eq!(codes(f), [FaultCode::PrimResult]);
    let mut f = prim_func(&[], &[("y", F32, &[1])]);
    let one = f.add_imm(Imm::index(1));
    f.set_results(f.body(), &[one]);
    assert_eq!(codes(f), [FaultCode::PrimResult]);
}

#[test]
fn memory_does_not_leave_its_block() {
    let mut f = prim_func(&[], &[("y", F32, &[1])]);
    let mut b = PrimBuilder::new(&mut f);
    let (zero, two, half) = (b.index(0), b.index(2), b.float(F32, 0.5));
    let [_] = b.fold(zero, two, [half], |b, _, _| [b.alloc(F32, &[])]);
    drop(b.finish());
    assert!(codes(f).contains(&FaultCode::Escape));
}

#[test]
fn a_prim_func_does_not_call_itself_through_others() {
    let calling = |callee: &str| {
        let mut f = prim_func(&[], &[("y", F32, &[1])]);
        let y = f.params()[0];
        let mut b = PrimBuilder::new(&mut f);
        b.call(callee, &[y]);
        b.finish().unwrap();
        f
    };
    let mut module = IRModule::new();
    module.set_prim_func("a", calling("b"));
    module.set_prim_func("b", calling("c"));
    module.set_prim_func("c", prim_func(&[], &[("y", F32, &[1])]));
    assert_eq!(verify(&module), []);
    module.set_prim_func("c", calling("a"));
    let faults = verify(&module);
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert!(faults.iter().all(|fault| fault.code == FaultCode::PrimCall));
}

#[test]
fn one_memory_is_not_two_arguments_if_it_is_written() {
    let mut module = IRModule::new();
    module.set_prim_func("copy", prim_func(&[("x", F32, &[4])], &[("y", F32, &[4])]));
    let mut f = prim_func(&[("x", F32, &[4])], &[("y", F32, &[4])]);
    let [x, y] = *f.params() else { panic!() };
    let mut b = PrimBuilder::new(&mut f);
    b.call("copy", &[x, y]);
    b.call("copy", &[y, y]);
    b.call("copy", &[y, x]);
    b.call("copy", &[x]);
    b.finish().unwrap();
    module.set_prim_func("main", f);
    let messages: Vec<String> = verify(&module).into_iter().map(|fault| fault.message).collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert_eq!(messages[0], "arguments 0 and 1 are the same memory");
    assert!(messages[1].ends_with("is not written: an input or a constant"), "{messages:?}");
    assert_eq!(messages[2], "`@copy` takes 2 parameters and returns nothing");
}

#[test]
fn the_levels_meet_in_calls_only() {
    let text = |call: &str| {
        let text = format!("def @main(%x: Tensor[(4), float32]) #[opset = {{\"\": 17}}] {{ {call} }}");
        let mut module = crate::text::parse_str(&text).unwrap();
        module.set_prim_func("k", prim_func(&[("x", F32, &[4])], &[("y", F32, &[4])]));
        verify(&module).into_iter().map(|fault| fault.code).collect::<Vec<_>>()
    };
    assert_eq!(text("%y = @k(%x); %y"), []);
    assert_eq!(text("%y = @k(%x, %x); %y"), [FaultCode::PrimCall]);
    assert_eq!(text("%t = Transpose(%x); %u: Tensor[(5), float32] = Relu(%t); %y = @k(%u); %y"), [FaultCode::PrimCall]);
    assert_eq!(text("%y = tir::sqrt(%x); %y"), [FaultCode::ForeignOp]);
}

#[test]
fn the_call_of_a_prim_func_has_no_functions_of_its_own() {
    let mut f = prim_func(&[], &[("y", F32, &[1])]);
    let (callee, region) = (f.add_global_var("other"), f.add_function(&[]));
    let params = f.params().to_vec();
    let call = |f: &mut Function, regions: &[NodeId]| f.add_call_with(callee, &params, regions, None);
    let [wrong, right] = [&[region][..], &[]].map(|regions| call(&mut f, regions));
    let codes = [wrong, right].map(|id| rule(&f, &LoopOps::new(&f), id).map_err(|broken| broken.code));
    assert_eq!(codes, [Err(FaultCode::PrimCall), Ok(Made::Unit)]);
}

#[test]
fn malformed_nodes_break_rules_and_nothing_else() {
    let mut f = prim_func(&[], &[]);
    let region = f.add_function(&[]);
    let two = f.add_imm(Imm::index(2));
    for (kind, operands, n_regions) in [
        (kind::CALL, vec![], 0),
        (kind::CALL, vec![region], 1),
        (kind::IF, vec![], 0),
        (kind::IF, vec![two, two, two], 2),
        (kind::IF, vec![region, region], 2),
        (kind::TUPLE_GET_ITEM, vec![], 0),
    ] {
        let id = f.add_raw(kind, 0, 0, &operands, Some(n_regions));
        assert!(rule(&f, &LoopOps::new(&f), id).is_err(), "{kind}");
        f.append(f.body(), id);
    }
    infer(&mut f);
}
