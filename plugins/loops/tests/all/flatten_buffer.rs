//! `FlattenBuffer`: the cases of TVM's tests, and where it differs.

use crate::common::*;
use relais_plugin_api::{
    ir::{Imm, StrId, Tensor, Type},
    prelude::*,
    prim::{CoreOp, LoopOps, OUTPUTS, PrimBuilder, prim_func},
};

const I64: ElemType = ElemType::INT64;

/// A program with these parameters, the last being the output.
fn with(params: &[(&str, ElemType, &[u64])], body: impl FnOnce(&mut PrimBuilder<'_>, &[NodeId])) -> Function {
    let (output, inputs) = params.split_last().unwrap();
    let mut f = prim_func(inputs, &[*output]);
    let params = f.params().to_vec();
    let mut b = PrimBuilder::new(&mut f);
    body(&mut b, &params);
    b.finish().unwrap();
    f
}

/// Copies the first parameter to the second one, both of these sizes.
fn copy(elem: ElemType, sizes: &[u64]) -> Function {
    with(&[("x", elem, sizes), ("y", elem, sizes)], |b, params| {
        let [x, y] = *params else { panic!() };
        let mut extents: Vec<NodeId> = sizes.iter().map(|&size| b.index(size as i64)).collect();
        extents.reverse();
        nest(b, extents, Vec::new(), |b, indices| {
            let value = b.load(x, indices);
            b.store(y, value, indices);
        });
    })
}

fn nest(
    b: &mut PrimBuilder<'_>,
    mut extents: Vec<NodeId>,
    indices: Vec<NodeId>,
    body: impl FnOnce(&mut PrimBuilder<'_>, &[NodeId]),
) {
    match extents.pop() {
        None => body(b, &indices),
        Some(extent) => {
            b.each(extent, |b, i| nest(b, extents, [indices, vec![i]].concat(), body));
        }
    }
}

#[track_caller]
fn text(f: Function) -> String {
    run("FlattenBuffer", f).text
}

#[test]
fn elements_stand_in_row_major_order() {
    assert_eq!(
        text(copy(F32, &[4, 8])),
        "%1 = view x [32]; %2 = view y [32]; for 0 4 (%3) { for 0 8 (%4) { %5 = mul %3 8; %6 = add %5 %4; \
         %7 = load %1 %6; %8 = mul %3 8; %9 = add %8 %4; store %2 %7 %9; } }"
    );
    let three = text(copy(F32, &[2, 3, 5]));
    assert!(
        three.contains("%6 = mul %3 3; %7 = add %6 %4; %8 = mul %7 5; %9 = add %8 %5; %10 = load %1 %9;"),
        "{three}"
    );
    // Nothing is to be done.
    let ran = run("FlattenBuffer", copy(F32, &[8]));
    assert!(!ran.changed);
}

#[test]
fn indices_that_are_known_are_computed() {
    let f = with(&[("x", F32, &[4, 1, 8]), ("y", F32, &[1])], |b, params| {
        let [x, y] = *params else { panic!() };
        let [zero, two, three] = [0, 2, 3].map(|value| b.index(value));
        let value = b.load(x, &[two, zero, three]);
        b.store(y, value, &[zero]);
        let four = b.index(4);
        b.each(four, |b, i| {
            let value = b.load(x, &[zero, zero, i]);
            b.store(y, value, &[zero]);
            let value = b.load(x, &[i, zero, zero]);
            b.store(y, value, &[zero]);
        });
    });
    assert_eq!(
        text(f),
        "%1 = view x [32]; %2 = load %1 19; store y %2 0; for 0 4 (%3) { %4 = load %1 %3; store y %4 0; \
         %5 = mul %3 8; %6 = load %1 %5; store y %6 0; }"
    );
}

#[test]
fn sizes_that_are_not_known_are_asked_for() {
    // The sizes of both parameters get names.
    let symbolic = |sizes: [Dim; 3]| {
        let mut f = prim_func(&[], &[]);
        let shape: Vec<Dim> = sizes
            .iter()
            .map(|&size| if let Dim::Symbol(_) = size { Dim::Symbol(f.intern("n")) } else { size })
            .collect();
        let ty = f.tensor_type(F32, &shape);
        let x = f.add_var("x", ty);
        let y = f.add_var("y", ty);
        f.set_params(f.root(), &[x, y]);
        f.set_attrs(f.root(), &[Attr::meta(OUTPUTS, 1_i64)]);
        let mut b = PrimBuilder::new(&mut f);
        let (zero, two) = (b.index(0), b.index(2));
        b.each(two, |b, i| {
            let value = b.load(x, &[zero, i, zero]);
            b.store(y, value, &[zero, zero, i]);
        });
        b.finish().unwrap();
        f
    };
    let n = Dim::Symbol(StrId::EMPTY);
    assert_eq!(
        text(symbolic([n, Dim::Static(4), Dim::Static(2)])),
        "%1 = view x [-1]; %2 = view y [-1]; for 0 2 (%3) { %4 = mul %3 2; %5 = load %1 %4; store %2 %5 %3; }"
    );
    assert_eq!(
        text(symbolic([Dim::Static(4), n, n])),
        "%1 = view x [-1]; %2 = dim x; %3 = dim x; %4 = view y [-1]; %5 = dim y; %6 = dim y; for 0 2 (%7) { \
         %8 = mul %7 %3; %9 = load %1 %8; store %4 %9 %7; }"
    );
}

#[test]
fn memory_without_dimensions_has_one_element() {
    let f = with(&[("x", F32, &[]), ("y", F32, &[])], |b, params| {
        let [x, y] = *params else { panic!() };
        let memory = b.alloc(F32, &[]);
        let value = b.load(x, &[]);
        b.store(memory, value, &[]);
        let value = b.load(memory, &[]);
        b.store(y, value, &[]);
    });
    assert_eq!(
        text(f),
        "%1 = view x [1]; %2 = view y [1]; %3 = alloc [1]; %4 = load %1 0; store %3 %4 0; %5 = load %3 0; store %2 %5 0;"
    );
}

#[test]
fn allocations_get_one_dimension() {
    let f = with(&[("y", F32, &[6])], |b, params| {
        let y = params[0];
        let [a, c] = [b.alloc(F32, &[2, 3]), b.alloc(F32, &[4, 5])];
        let size = b.op_with(CoreOp::Dim, &[c], &[Attr::new("axis", 1_i64)]);
        let (two, three) = (b.index(2), b.index(3));
        b.each(two, |b, i| {
            b.each(three, |b, j| {
                let value = b.load(c, &[j, i]);
                b.store(a, value, &[i, j]);
                let value = b.load(a, &[i, j]);
                b.store(y, value, &[size]);
            });
        });
    });
    let text = text(f);
    assert!(text.starts_with("%1 = alloc [6]; %2 = alloc [20]; for 0 2 "), "{text}");
    assert!(text.contains("mul %4 5;") && text.contains("store y %12 5;"), "{text}");
}

#[test]
fn bools_stay_bools() {
    let ran = run("FlattenBuffer", copy(ElemType::BOOL, &[4, 8]));
    assert!(ran.changed);
    for id in ran.function.all_bindings().chain(ran.function.params().iter().copied()) {
        let ty = ran.function.type_of(id);
        assert!(!matches!(ty, Type::Tensor { elem: ElemType::INT8 | ElemType::UINT8, .. }));
    }
}

#[test]
fn parameters_keep_their_types_and_calls_their_arguments() {
    let f = with(&[("y", F32, &[4, 16])], |b, params| {
        let y = params[0];
        let memory = b.alloc(F32, &[8, 8]);
        let zero = b.index(0);
        let value = b.load(memory, &[zero, zero]);
        b.store(y, value, &[zero, zero]);
        b.call("square", &[memory]);
    });
    let before: Vec<String> = f.params().iter().map(|&param| format!("{:?}", f.type_of(param))).collect();
    let ran = run("FlattenBuffer", f);
    let after: Vec<String> =
        ran.function.params().iter().map(|&param| format!("{:?}", ran.function.type_of(param))).collect();
    assert_eq!(before, after);
    assert_eq!(
        ran.text,
        "%1 = view y [64]; %2 = alloc [64]; %3 = view %2 [8, 8]; %4 = load %2 0; store %1 %4 0; call %3;"
    );
}

#[test]
fn constants_and_views_are_seen_in_one_dimension() {
    let f = with(&[("x", F32, &[8]), ("y", F32, &[8])], |b, params| {
        let [x, y] = *params else { panic!() };
        let two = b.index(2);
        b.each(two, |b, i| {
            let weights = b.constant(Tensor::from_f32(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
            let square = b.op_with(CoreOp::View, &[x], &[Attr::new("shape", vec![2_i64, -1])]);
            let (weight, value) = (b.load(weights, &[i, i]), b.load(square, &[i, i]));
            let product = b.op(CoreOp::Mul, &[weight, value]);
            b.store(y, product, &[i]);
        });
    });
    assert_eq!(
        text(f),
        "for 0 2 (%1) { %2 = const; %3 = view %2 [4]; %4 = mul %1 2; %5 = add %4 %1; %6 = load %3 %5; %7 = mul %1 4; \
         %8 = add %7 %1; %9 = load x %8; %10 = mul %6 %9; store y %10 %1; }"
    );
    // A view of a view of a parameter, and one that is used elsewhere.
    let f = with(&[("x", F32, &[2, 4]), ("y", I64, &[8])], |b, params| {
        let [x, y] = *params else { panic!() };
        let view =
            |b: &mut PrimBuilder<'_>, of, shape: Vec<i64>| b.op_with(CoreOp::View, &[of], &[Attr::new("shape", shape)]);
        let outer = view(b, x, vec![8]);
        let inner = view(b, outer, vec![4, 2]);
        let zero = b.index(0);
        let value = b.load(inner, &[zero, zero]);
        let value = b.cast(value, I64);
        b.store(y, value, &[zero]);
        let size = b.op_with(CoreOp::Dim, &[inner], &[Attr::new("axis", 0_i64)]);
        b.store(y, size, &[size]);
    });
    assert_eq!(
        text(f),
        "%1 = view x [8]; %2 = view x [8]; %3 = view %2 [4, 2]; %4 = load %1 0; %5 = cast %4; store y %5 0; \
         %6 = dim %3; store y %6 %6;"
    );
}

#[test]
fn of_vectors_the_last_index_is_contiguous() {
    let f = with(&[("x", F32, &[4, 8]), ("y", F32, &[4, 8])], |b, params| {
        let [x, y] = *params else { panic!() };
        let lanes = [Attr::new("lanes", 4_i64)];
        let (four, zero, one, yes) = (b.index(4), b.index(0), b.index(1), b.imm(Imm::bool(true)));
        let mask = b.op_with(CoreOp::Broadcast, &[yes], &lanes);
        let ramp = b.op_with(CoreOp::Ramp, &[zero, one], &lanes);
        b.each(four, |b, i| {
            let value = b.op_with(CoreOp::Load, &[x, i, four], &lanes);
            b.op(CoreOp::Store, &[y, value, i, zero]);
            let value = b.op(CoreOp::LoadMasked, &[x, mask, i, one]);
            b.op(CoreOp::StoreMasked, &[y, value, mask, zero, i]);
            let value = b.op(CoreOp::Gather, &[x, i, ramp]);
            b.op(CoreOp::Scatter, &[y, value, zero, ramp]);
        });
    });
    assert_eq!(
        text(f),
        "%1 = view x [32]; %2 = view y [32]; %3 = broadcast true; %4 = ramp 0 1; for 0 4 (%5) { %6 = mul %5 8; \
         %7 = add %6 4; %8 = load %1 %7; %9 = mul %5 8; store %2 %8 %9; %10 = mul %5 8; %11 = add %10 1; \
         %12 = load_masked %1 %3 %11; store_masked %2 %12 %3 %5; %13 = mul %5 8; %14 = broadcast %13; \
         %15 = add %14 %4; %16 = gather %1 %15; scatter %2 %16 %4; }"
    );
}

#[test]
fn indices_are_as_wide_as_they_have_to_be() {
    let f = |rows: u64, is_mixed: bool| {
        with(&[("x", F32, &[rows, 4]), ("y", F32, &[8])], |b, params| {
            let [x, y] = *params else { panic!() };
            let int = |b: &mut PrimBuilder<'_>, value| b.imm(Imm::int(ElemType::INT32, value).unwrap());
            let two = int(b, 2);
            b.each(two, |b, i| {
                let column = if is_mixed { b.index(3) } else { int(b, 3) };
                let value = b.load(x, &[i, column]);
                b.store(y, value, &[i]);
            });
        })
    };
    let types = |f: Function| {
        let f = run("FlattenBuffer", f).function;
        let ops = LoopOps::new(&f);
        let sums = f.all_bindings().filter(|&id| ops.of(&f, id) == Some(CoreOp::Add));
        sums.map(|id| f.type_of(id).as_tensor().unwrap().0).collect::<Vec<_>>()
    };
    assert_eq!(types(f(4, false)), [ElemType::INT32]);
    assert_eq!(types(f(4, true)), [I64]);
    assert_eq!(types(f(1 << 30, false)), [I64]);
}

#[test]
fn an_index_that_was_taken_apart_is_whole_again() {
    let f = with(&[("x", F32, &[4, 8]), ("y", F32, &[32])], |b, params| {
        let [x, y] = *params else { panic!() };
        let (eight, all) = (b.index(8), b.index(32));
        b.each(all, |b, i| {
            let (row, column) = (b.op(CoreOp::FloorDiv, &[i, eight]), b.op(CoreOp::FloorMod, &[i, eight]));
            let value = b.load(x, &[row, column]);
            b.store(y, value, &[i]);
        });
    });
    let flat = run("FlattenBuffer", f).function;
    assert_eq!(run("RemoveNoOp", flat).text, "%1 = view x [32]; for 0 32 (%2) { %3 = load %1 %2; store y %3 %2; }");
}

#[test]
fn memory_of_too_many_elements_is_an_error() {
    let f = |rows: u64| {
        with(&[("x", F32, &[rows, 1 << 32]), ("y", F32, &[1])], |b, params| {
            let [x, y] = *params else { panic!() };
            let zero = b.index(0);
            let value = b.load(x, &[zero, zero]);
            b.store(y, value, &[zero]);
        })
    };
    assert!(text(f(1 << 30)).contains("view x [4611686018427387904]"));
    for rows in [1 << 31, 1 << 40] {
        let error = try_run("FlattenBuffer", f(rows), &[]).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("memory of {rows} * 4294967296 elements is more than")), "{error}");
        assert!(error.contains("in `@k`") && error.contains("help: "), "{error}");
    }
}
