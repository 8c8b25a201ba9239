//! Normalisations and `Softmax`: each case beside one that is refused or has another result.

use crate::common::*;
use half::f16;
use relais_plugin_api::ir::*;

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

fn halves(dims: &[u64], values: &[f32]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect();
    raw(ElemType::FLOAT16, dims, &bytes)
}

fn doubles(tensor: &Tensor) -> Vec<f64> {
    let wide = call("Cast", 13).attr("to", i64::from(ElemType::DOUBLE.0)).input(tensor.clone()).eval();
    wide.to_bytes().chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[track_caller]
fn assert_close(found: &Tensor, expected: &[f64]) {
    let found = doubles(found);
    let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-3 || (a.is_nan() && b.is_nan());
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(is_close), "{found:?}");
}

#[test]
fn softmax_flattens_before_version_13() {
    let x = || f32s(&[1, 2, 2], &[0.0, 0.0, 0.0, 0.0]);
    assert_eq!(call("Softmax", 11).input(x()).eval(), f32s(&[1, 2, 2], &[0.25; 4]));
    assert_eq!(call("Softmax", 13).input(x()).eval(), f32s(&[1, 2, 2], &[0.5; 4]));
    let log = call("LogSoftmax", 13).attr("axis", 0).input(f32s(&[2, 1], &[1000.0, 1001.0])).eval();
    assert_close(&log, &[-1.313_26, -0.313_26]);
    assert_eq!(call("Softmax", 13).input(f32s(&[2, 0], &[])).eval(), f32s(&[2, 0], &[]));
    call("Softmax", 13).attr("axis", 3).input(x()).invalid();
    call("Softmax", 13).input(list(&[1])).unsupported();
}

#[test]
fn softmax_of_no_finite_number_is_nan() {
    let softmax = |x: &[f32]| call("Softmax", 13).input(f32s(&[2], x)).eval();
    assert_close(&softmax(&[-INF, 1.0]), &[0.0, 1.0]);
    assert_close(&softmax(&[-INF, -INF]), &[f64::NAN; 2]);
    assert_close(&softmax(&[NAN, 1.0]), &[f64::NAN; 2]);
    assert_close(&softmax(&[INF, 1.0]), &[f64::NAN; 2]);
}

#[test]
fn batches_are_normalised_by_given_numbers() {
    let ones = || f32s(&[2], &[1.0, 1.0]);
    let normalized = |version: i64| {
        let x = f32s(&[1, 2, 1], &[3.0, 8.0]);
        let call = call("BatchNormalization", version).attr("epsilon", 0.0f32).input(x).input(f32s(&[2], &[1.0, 2.0]));
        call.input(ones()).input(f32s(&[2], &[1.0, 4.0])).input(f32s(&[2], &[4.0, 16.0]))
    };
    assert_eq!(normalized(15).eval(), f32s(&[1, 2, 1], &[2.0, 3.0]));
    assert_eq!(normalized(6).attr("is_test", 1).eval(), f32s(&[1, 2, 1], &[2.0, 3.0]));
    assert!(normalized(6).unsupported().contains("training"));
    assert!(normalized(15).attr("training_mode", 1).unsupported().contains("training"));
    assert!(normalized(9).outputs(5).unsupported().contains("training"));
    assert!(normalized(7).attr("spatial", 0).unsupported().contains("each element"));
    let other = |parameter: Tensor, variance: f32| {
        let x = f32s(&[1, 2, 1], &[3.0, 8.0]);
        let call = call("BatchNormalization", 15).attr("epsilon", 0.0f32).input(x).input(parameter).input(ones());
        call.input(ones()).input(f32s(&[2], &[1.0, variance]))
    };
    other(f32s(&[3], &[1.0; 3]), 1.0).invalid();
    other(ones(), 1.0).eval();
}

#[test]
fn n05_scales_near_the_limits_stay() {
    let normalized = |scale: f32, variance: f32| {
        let one = || f32s(&[1], &[1.0]);
        let call = call("BatchNormalization", 15).attr("epsilon", 0.0f32).input(f32s(&[1, 1], &[3.0]));
        call.input(f32s(&[1], &[scale])).input(one()).input(one()).input(f32s(&[1], &[variance]))
    };
    normalized(1.0, 0.0).unsupported();
    normalized(1.0, -1.0).unsupported();
    normalized(1e37, 1.0).unsupported();
    assert_eq!(normalized(1.0, 1.0).eval(), f32s(&[1, 1], &[3.0]));
}

#[test]
fn groups_have_scales_of_their_own_or_of_their_channels() {
    let x = || f32s(&[1, 4, 1], &[1.0, 3.0, 1.0, 3.0]);
    let group = |version: i64, scale: &[f32]| {
        let scale = f32s(&[scale.len() as u64], scale);
        let zeros = f32s(scale.dims(), &vec![0.0; scale.len() as usize]);
        call("GroupNormalization", version).attr("num_groups", 2).input(x()).input(scale).input(zeros)
    };
    assert_close(&group(18, &[1.0, 2.0]).eval(), &[-1.0, 1.0, -2.0, 2.0]);
    assert_close(&group(21, &[1.0, 2.0, 3.0, 4.0]).eval(), &[-1.0, 2.0, -3.0, 4.0]);
    group(21, &[1.0, 2.0]).invalid();
    let instance =
        |x: Tensor| call("InstanceNormalization", 22).input(x).input(f32s(&[1], &[2.0])).input(f32s(&[1], &[1.0]));
    assert_close(&instance(f32s(&[1, 1, 2], &[1.0, 3.0])).eval(), &[-1.0, 3.0]);
    instance(f32s(&[2], &[1.0, 3.0])).invalid();
    let uneven = call("GroupNormalization", 21).attr("num_groups", 3).input(x());
    uneven.input(f32s(&[4], &[1.0; 4])).input(f32s(&[4], &[0.0; 4])).invalid();
}

#[test]
fn last_axes_are_normalised() {
    let x = || f32s(&[2, 2], &[1.0, 3.0, -2.0, 2.0]);
    let layer = || call("LayerNormalization", 17).outputs(3).input(x()).input(f32s(&[2], &[1.0, 2.0]));
    let results = layer().input(f32s(&[2], &[0.0, 1.0])).eval_all().unwrap();
    assert_close(&results[0], &[-1.0, 3.0, -1.0, 3.0]);
    assert_close(&results[1], &[2.0, 0.0]);
    assert_close(&results[2], &[1.0, 0.5]);
    assert_eq!(results[1].dims(), [2, 1]);
    layer().input(f32s(&[3], &[0.0; 3])).invalid();
    layer().attr("axis", 2).invalid();
    layer().attr("stash_type", 11).unsupported();
    let wide = f64s(&[2], &[1.0, 3.0]);
    call("LayerNormalization", 17).input(wide.clone()).input(wide).unsupported();
    let rms = |scale: Tensor| call("RMSNormalization", 23).input(f32s(&[1, 2], &[1.0, 7.0])).input(scale);
    assert_close(&rms(f32s(&[2], &[1.0, 2.0])).eval(), &[0.2, 2.8]);
    rms(halves(&[2], &[1.0, 2.0])).invalid();
    call("RMSNormalization", 23).input(halves(&[2], &[1.0, 7.0])).input(halves(&[2], &[1.0, 1.0])).eval();
}

#[test]
fn n05_small_deviations_beside_large_means_stay() {
    let layer = |x: &[f32]| call("LayerNormalization", 17).input(f32s(&[2], x)).input(f32s(&[2], &[1.0, 1.0]));
    assert_close(&layer(&[10.0, 12.0]).eval(), &[-1.0, 1.0]);
    layer(&[10000.0, 10002.0]).unsupported();
    layer(&[1e20, -1e20]).unsupported();
    let by_axis =
        |x: &[f32]| call("MeanVarianceNormalization", 13).attr("axes", vec![0]).input(f32s(&[x.len() as u64, 1], x));
    assert_close(&by_axis(&[1.0, 3.0]).eval(), &[-1.0, 1.0]);
    by_axis(&[3.0, 3.0]).unsupported();
    let own = call("MeanVarianceNormalization", 13).attr("axes", vec![2]).input(f32s(&[2, 1], &[1.0, 2.0]));
    own.invalid();
}

#[test]
fn n05_norms_of_negative_numbers_stay() {
    let norm = |p: i64, x: &[f32]| call("LpNormalization", 22).attr("p", p).input(f32s(&[x.len() as u64], x));
    norm(1, &[3.0, -4.0]).unsupported();
    norm(2, &[NAN, 4.0]).unsupported();
    norm(2, &[1e20, 4.0]).unsupported();
    assert_close(&norm(2, &[3.0, -4.0]).eval(), &[0.6, -0.8]);
}

#[test]
fn norms_divide() {
    let norm = |p: i64, x: &[f32]| call("LpNormalization", 22).attr("p", p).input(f32s(&[x.len() as u64], x));
    assert_close(&norm(2, &[3.0, -4.0]).eval(), &[0.6, -0.8]);
    assert_close(&norm(1, &[3.0, 1.0]).eval(), &[0.75, 0.25]);
    assert_close(&norm(2, &[0.0, 0.0]).eval(), &[0.0, 0.0]);
    norm(3, &[3.0, 4.0]).invalid();
    let response = |size: i64| {
        let call = call("LRN", 13).attr("alpha", 3.0f32).attr("beta", 1.0f32).attr("size", size);
        call.input(f32s(&[1, 3, 1], &[1.0, 2.0, 3.0]))
    };
    assert_close(&response(3).eval(), &[1.0 / 6.0, 2.0 / 15.0, 3.0 / 14.0]);
    assert_close(&response(1).eval(), &[0.25, 2.0 / 13.0, 3.0 / 28.0]);
    response(0).invalid();
    response(i64::MAX).eval();
}
