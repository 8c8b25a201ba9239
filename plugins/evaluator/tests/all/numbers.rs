//! Where runtimes differ from each other or from the standard's text, nothing is folded (rule N5 of `docs/numbers.md`):
//! each case beside one in which they agree.

use crate::common::*;
use half::f16;
use relais_plugin_api::ir::*;

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

fn row(values: &[f32]) -> Tensor {
    f32s(&[values.len() as u64], values)
}

fn i32s(values: &[i32]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    raw(ElemType::INT32, &[values.len() as u64], &bytes)
}

fn halves(values: &[f32]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect();
    raw(ElemType::FLOAT16, &[values.len() as u64], &bytes)
}

#[test]
fn n05_nan_is_not_compared() {
    for op in ["Max", "Min"] {
        call(op, 13).input(row(&[NAN, 1.0])).input(row(&[0.0, 0.0])).unsupported();
        call(op, 13).input(row(&[0.0, 1.0])).input(row(&[0.0, NAN])).unsupported();
    }
    for op in ["ReduceMax", "ReduceMin"] {
        call(op, 18).input(row(&[1.0, NAN])).unsupported();
        assert_eq!(call(op, 18).input(row(&[INF])).eval(), row(&[INF]));
    }
    let clip =
        |x, least, greatest| call("Clip", 13).input(row(&[x])).input(f32s(&[], &[least])).input(f32s(&[], &[greatest]));
    clip(NAN, 0.0, 1.0).unsupported();
    clip(0.0, NAN, 1.0).unsupported();
    clip(0.0, 0.0, NAN).unsupported();
    assert_eq!(clip(2.0, 0.0, 1.0).eval(), row(&[1.0]));
    assert_eq!(call("Max", 13).input(row(&[INF, 1.0])).input(row(&[0.0, 3.0])).eval(), row(&[INF, 3.0]));
}

#[test]
fn n05_zeros_of_both_signs_are_not_compared() {
    call("Max", 13).input(row(&[-0.0])).input(row(&[0.0])).unsupported();
    call("Min", 13).input(row(&[0.0])).input(row(&[-0.0])).unsupported();
    call("ReduceMax", 18).input(row(&[-0.0, 0.0])).unsupported();
    call("Relu", 14).input(row(&[-0.0])).unsupported();
    call("Clip", 13).input(row(&[-0.0])).input(f32s(&[], &[0.0])).unsupported();
    let slope = |slope| call("PRelu", 16).input(row(&[-1.0])).input(row(&[slope]));
    slope(0.0).unsupported();
    let of_zero = |slope| call("PRelu", 16).input(row(&[0.0])).input(row(&[slope]));
    of_zero(-2.0).unsupported();
    of_zero(INF).unsupported();
    assert_eq!(of_zero(2.0).eval(), row(&[0.0]));
    assert_eq!(call("PRelu", 16).input(i32s(&[0])).input(i32s(&[-2])).eval(), i32s(&[0]));
    assert_eq!(slope(0.5).eval(), row(&[-0.5]));
    assert_eq!(call("Max", 13).input(row(&[-0.0])).input(row(&[-0.0])).eval(), row(&[-0.0]));
    assert_eq!(call("Relu", 14).input(row(&[0.0, -1.0])).eval(), row(&[0.0, 0.0]));
    assert_eq!(call("Sign", 13).input(row(&[-0.0])).eval(), row(&[0.0]));
}

#[test]
fn n05_integers_that_overflow_are_not_reduced() {
    let most = i32::MAX;
    call("ReduceSum", 18).input(i32s(&[most, 1])).unsupported();
    call("ReduceSum", 18).input(i32s(&[most, 1, -1])).unsupported();
    call("ReduceProd", 18).input(i32s(&[1 << 16, 1 << 16])).unsupported();
    call("ReduceSumSquare", 18).input(i32s(&[1 << 16])).unsupported();
    call("ReduceL1", 18).input(i32s(&[i32::MIN])).unsupported();
    call("ReduceMean", 18).input(i32s(&[most, most])).unsupported();
    call("ReduceMean", 18).input(list(&[(1 << 60) + 1])).unsupported();
    call("ReduceSumSquare", 18).input(list(&[1 << 30])).unsupported();
    assert_eq!(call("ReduceSum", 18).input(i32s(&[most, 0])).eval(), i32s(&[most]));
    call("ReduceSum", 18).input(list(&[1 << 53, -3])).unsupported();
    assert_eq!(call("ReduceSum", 18).input(list(&[1 << 52, -3])).eval(), list(&[(1 << 52) - 3]));
    assert_eq!(call("ReduceProd", 18).input(i32s(&[-3, 0, 7])).eval(), i32s(&[0]));
    assert_eq!(call("ReduceSumSquare", 18).input(i32s(&[-3, 4])).eval(), i32s(&[25]));
    assert_eq!(call("ReduceMean", 18).input(i32s(&[-3, -4])).eval(), i32s(&[-3]));
}

#[test]
fn n05_integers_that_trap_or_pass_through_doubles_stay() {
    call("Div", 14).input(i32s(&[i32::MIN])).input(i32s(&[-1])).unsupported();
    call("Mod", 13).input(i32s(&[i32::MIN])).input(i32s(&[-1])).unsupported();
    call("Pow", 15).input(list(&[i64::MAX])).input(list(&[1])).unsupported();
    assert_eq!(call("Div", 14).input(i32s(&[-i32::MAX])).input(i32s(&[-1])).eval(), i32s(&[i32::MAX]));
    assert_eq!(call("Pow", 15).input(list(&[3])).input(list(&[2])).eval(), list(&[9]));
}

#[test]
fn n05_accumulators_may_be_as_wide_as_the_type() {
    for (op, large, small) in [
        ("ReduceSum", [2e38, 2e38], [1e-40, 0.0]),
        ("ReduceSumSquare", [1e19, 1e19], [1e-20, 0.0]),
        ("ReduceL2", [1e30, 1e30], [1e-30, 1e-30]),
        ("ReduceL1", [2e38, -2e38], [1e-40, 0.0]),
        ("ReduceMean", [3e38, -3e38], [1e-40, 0.0]),
        ("ReduceLogSum", [3e38, 3e38], [1e-40, 0.0]),
        ("ReduceProd", [1e30, 1e7], [1e-30, 1e-30]),
    ] {
        call(op, 18).input(row(&large)).unsupported();
        call(op, 18).input(row(&small)).unsupported();
        call(op, 18).input(row(&[1.0, 2.0])).eval();
    }
    call("ReduceSum", 18).input(row(&[-0.0, -0.0])).unsupported();
    assert_eq!(call("ReduceSum", 18).input(row(&[-0.0, 1.0])).eval(), row(&[1.0]));
    assert_eq!(call("ReduceSum", 18).input(row(&[INF, 1.0])).eval(), row(&[INF]));
    // Terms that are small compared with others do not matter.
    assert_eq!(call("ReduceSum", 18).input(row(&[1.0, 1e-40])).eval(), row(&[1.0]));
    call("ReduceLogSumExp", 18).input(row(&[INF])).unsupported();
    call("ReduceLogSumExp", 18).input(halves(&[60000.0])).unsupported();
    let product = |a: f32, b: f32| call("MatMul", 13).input(f32s(&[1, 1], &[a])).input(f32s(&[1, 1], &[b]));
    product(1e30, 1e30).unsupported();
    product(1e-30, 1e-30).unsupported();
    product(-0.0, 1.0).unsupported();
    assert_eq!(product(3.0, -2.0).eval(), f32s(&[1, 1], &[-6.0]));
    let half = |a: f32| call("MatMul", 13).input(halves(&[a])).input(halves(&[a]));
    half(100.0).unsupported();
    assert_eq!(half(8.0).eval().to_f64(), Some(64.0));
}

#[test]
fn n05_a_bias_that_is_multiplied_by_zero_is_not_read() {
    let gemm = |beta: f32, c: f32| {
        let one = || f32s(&[1, 1], &[2.0]);
        call("Gemm", 13).attr("beta", beta).input(one()).input(one()).input(row(&[c]))
    };
    assert_eq!(gemm(0.0, NAN).eval(), f32s(&[1, 1], &[4.0]));
    assert_eq!(gemm(0.0, INF).eval(), f32s(&[1, 1], &[4.0]));
    assert_eq!(gemm(1.0, INF).eval(), f32s(&[1, 1], &[INF]));
    gemm(1.0, 3e38).unsupported();
}

#[test]
fn n05_a_slice_backwards_ends_within_its_axis() {
    let slice = |start, end, step| {
        let data = list(&[0, 1, 2]);
        call("Slice", 13).input(data).input(list(&[start])).input(list(&[end])).input(list(&[0])).input(list(&[step]))
    };
    slice(-1, i64::MAX, -1).unsupported();
    slice(0, 3, -1).unsupported();
    assert_eq!(slice(1, 2, -1).eval(), list(&[]));
    assert_eq!(slice(2, -9, -1).eval(), list(&[2, 1, 0]));
    assert_eq!(slice(0, i64::MAX, 1).eval(), list(&[0, 1, 2]));
}

#[test]
fn n05_casts_out_of_range_stay() {
    for elem in [ElemType::INT8, ElemType::UINT8, ElemType::INT32, ElemType::INT64, ElemType::UINT64] {
        let cast = |value: f32| call("Cast", 13).attr("to", i64::from(elem.0)).input(row(&[value]));
        for value in [NAN, INF, -INF, 1e30] {
            cast(value).unsupported();
        }
        cast(100.5).eval();
    }
    assert_eq!(call("Cast", 13).attr("to", 10).input(row(&[1e6])).eval(), halves(&[INF]));
}

#[test]
fn n05_values_that_depend_on_the_order_of_rounding_stay() {
    let range = |limit: f32, delta: f32| {
        let scalar = |value| f32s(&[], &[value]);
        call("Range", 11).input(scalar(0.0)).input(scalar(limit)).input(scalar(delta))
    };
    range(1.0, 0.1).unsupported();
    assert_eq!(range(1.0, 0.25).eval(), row(&[0.0, 0.25, 0.5, 0.75]));
    let slope = |x: f32| call("LeakyRelu", 16).attr("alpha", 0.01f32).input(halves(&[x]));
    slope(-2.5).unsupported();
    assert_eq!(slope(2.5).eval(), halves(&[2.5]));
}

#[test]
fn n05_what_runtimes_compute_with_fewer_digits_stays() {
    let double = |value: f64| raw(ElemType::DOUBLE, &[1], &value.to_le_bytes());
    call("Erf", 13).input(double(0.5)).unsupported();
    call("Gelu", 20).input(double(0.5)).unsupported();
    call("Shrink", 9).input(double(0.1)).unsupported();
    assert_eq!(call("Shrink", 9).input(double(1.5)).eval().to_f64(), Some(1.5));
    assert_eq!(call("Erf", 13).input(row(&[0.0])).eval(), row(&[0.0]));
}

/// A lenient call has the result that the standard's text gives where runtimes differ, and none where it gives none.
#[test]
fn n05_lenient_calls_are_evaluated() {
    let matrix = |value: f32| f32s(&[1, 1], &[value]);
    let lenient = |call: Call| call.lenient().eval();
    assert_eq!(lenient(call("Relu", 14).input(row(&[-0.0, -1.0, 2.0]))).to_f32s().unwrap()[1..], [0.0, 2.0]);
    assert_eq!(lenient(call("ReduceMax", 18).input(row(&[-0.0, 0.0, -1.0]))).to_f64(), Some(0.0));
    let product = || call("MatMul", 13).input(matrix(1e30)).input(matrix(1e7));
    product().unsupported();
    assert_eq!(lenient(product()), matrix(1e37));
    let tiny = || call("Gemm", 13).input(matrix(1e-30)).input(matrix(1e-30)).input(matrix(1.0));
    tiny().unsupported();
    assert_eq!(lenient(tiny()), matrix(1.0));
    let pixel = |value: f32| f32s(&[1, 1, 1, 1], &[value]);
    let conv = || call("Conv", 11).input(pixel(-1.0)).input(pixel(0.0));
    conv().unsupported();
    assert_eq!(lenient(conv()).to_f64(), Some(0.0));
    let cast = || call("Cast", 13).input(row(&[-1.5, 300.0])).attr("to", i64::from(ElemType::INT8.0));
    cast().unsupported();
    assert_eq!(lenient(cast()), raw(ElemType::INT8, &[2], &[0xff, 127]));
    let dropout = || call("Dropout", 7).input(row(&[0.5, 2.0])).outputs(2);
    dropout().unsupported();
    assert_eq!(dropout().lenient().eval_all().unwrap(), [row(&[0.5, 2.0]), row(&[1.0, 1.0])]);
    // Sums of integers that overflow are not computed at all.
    call("ReduceSum", 18).input(i32s(&[i32::MAX, 1])).lenient().unsupported();
    call("Div", 14).input(i32s(&[1])).input(i32s(&[0])).lenient().unsupported();
}
