//! Convolutions and pooling: each case beside one that is refused or has another result.

use crate::common::*;
use relais_plugin_api::ir::*;

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

fn line(values: &[f32]) -> Tensor {
    f32s(&[1, 1, values.len() as u64], values)
}

fn bytes(dims: &[u64], values: &[u8]) -> Tensor {
    raw(ElemType::UINT8, dims, values)
}

fn i32s(dims: &[u64], values: &[i32]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    raw(ElemType::INT32, dims, &bytes)
}

#[test]
fn kernels_slide() {
    let conv = || call("Conv", 11).input(line(&[1.0, 2.0, 3.0, 4.0])).input(line(&[1.0, 10.0]));
    assert_eq!(conv().eval(), line(&[21.0, 32.0, 43.0]));
    assert_eq!(conv().attr("strides", vec![2]).eval(), line(&[21.0, 43.0]));
    assert_eq!(conv().attr("dilations", vec![3]).eval(), line(&[41.0]));
    assert_eq!(conv().attr("pads", vec![1, 0]).eval(), line(&[10.0, 21.0, 32.0, 43.0]));
    assert_eq!(conv().attr("auto_pad", "SAME_UPPER").eval(), line(&[21.0, 32.0, 43.0, 4.0]));
    assert_eq!(conv().attr("auto_pad", "SAME_LOWER").eval(), line(&[10.0, 21.0, 32.0, 43.0]));
    assert_eq!(conv().attr("auto_pad", "VALID").eval(), line(&[21.0, 32.0, 43.0]));
    assert_eq!(conv().input(f32s(&[1], &[0.5])).eval(), line(&[21.5, 32.5, 43.5]));
    conv().input(f32s(&[2], &[0.5, 0.5])).invalid();
    conv().attr("auto_pad", "SAME").invalid();
    conv().attr("kernel_shape", vec![3]).invalid();
    conv().attr("strides", vec![1, 1]).invalid();
    conv().attr("strides", vec![0]).unsupported();
    conv().attr("pads", vec![-1, 0]).unsupported();
    conv().attr("dilations", vec![4]).unsupported();
    conv().attr("dilations", vec![i64::MAX]).unsupported();
    conv().attr("group", 2).invalid();
    conv().attr("group", 0).invalid();
    let deep = conv().attr("pads", vec![1 << 30, 1 << 30]).unsupported();
    assert!(deep.contains("too large"), "{deep}");
}

#[test]
fn groups_see_their_own_channels() {
    let x = || f32s(&[1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let conv = |weight: Tensor| call("Conv", 22).attr("group", 2).input(x()).input(weight);
    assert_eq!(conv(f32s(&[2, 1, 1], &[1.0, 10.0])).eval(), f32s(&[1, 2, 2], &[1.0, 2.0, 30.0, 40.0]));
    conv(f32s(&[2, 2, 1], &[1.0; 4])).invalid();
    let transposed = |weight: Tensor| call("ConvTranspose", 22).attr("group", 2).input(x()).input(weight);
    assert_eq!(transposed(f32s(&[2, 1, 1], &[1.0, 10.0])).eval(), f32s(&[1, 2, 2], &[1.0, 2.0, 30.0, 40.0]));
    transposed(f32s(&[3, 1, 1], &[1.0; 3])).invalid();
    let plane = call("Conv", 22).input(f32s(&[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]));
    assert_eq!(plane.input(f32s(&[1, 1, 2, 1], &[1.0, 10.0])).eval(), f32s(&[1, 1, 1, 2], &[31.0, 42.0]));
}

#[test]
fn transposed_kernels_spread() {
    let conv = |version: i64| call("ConvTranspose", version).input(line(&[1.0, 2.0])).input(line(&[1.0, 10.0, 100.0]));
    assert_eq!(conv(22).eval(), line(&[1.0, 12.0, 120.0, 200.0]));
    assert_eq!(conv(22).attr("strides", vec![2]).eval(), line(&[1.0, 10.0, 102.0, 20.0, 200.0]));
    assert_eq!(conv(22).attr("pads", vec![1, 1]).eval(), line(&[12.0, 120.0]));
    assert_eq!(conv(22).attr("output_padding", vec![1]).eval(), line(&[1.0, 12.0, 120.0, 200.0, 0.0]));
    assert_eq!(conv(22).attr("output_shape", vec![6]).eval(), line(&[1.0, 12.0, 120.0, 200.0, 0.0, 0.0]));
    assert_eq!(conv(22).attr("output_shape", vec![3]).eval(), line(&[12.0, 120.0, 200.0]));
    let upper = || conv(22).attr("auto_pad", "SAME_UPPER");
    assert_eq!(upper().attr("output_shape", vec![3]).eval(), line(&[1.0, 12.0, 120.0]));
    assert_eq!(upper().eval(), line(&[12.0, 120.0]));
    conv(1).attr("output_shape", vec![3]).unsupported();
    conv(22).attr("output_shape", vec![3]).attr("pads", vec![1, 1]).unsupported();
    conv(22).attr("output_shape", vec![1, 1, 3]).unsupported();
    upper().attr("strides", vec![4]).unsupported();
    conv(22).attr("output_shape", vec![i64::MIN]).unsupported();
    conv(22).attr("output_shape", vec![i64::MAX]).unsupported();
    let nothing = |op: &str| call(op, 22).input(f32s(&[0, 1, 1 << 40], &[])).input(line(&[1.0]));
    nothing("ConvTranspose").attr("strides", vec![1 << 30]).unsupported();
    assert_eq!(nothing("Conv").eval(), f32s(&[0, 1, 1 << 40], &[]));
    let empty = || call("ConvInteger", 10).attr("auto_pad", "SAME_UPPER").input(bytes(&[1, 1, 0, 0], &[]));
    assert_eq!(empty().input(bytes(&[1, 1, 2, 2], &[1; 4])).eval(), i32s(&[1, 1, 0, 0], &[]));
    let huge = Tensor::splat(ElemType::UINT8, &[1, 1, 1 << 20, 1 << 20], &[1]).unwrap();
    empty().input(huge).unsupported();
}

#[test]
fn convolutions_of_integers_are_exact() {
    let conv = || call("ConvInteger", 10).input(bytes(&[1, 1, 3], &[250, 3, 4])).input(bytes(&[1, 1, 2], &[1, 255]));
    assert_eq!(conv().eval(), i32s(&[1, 1, 2], &[1015, 1023]));
    let zeros = conv().attr("pads", vec![1, 1]).input(bytes(&[], &[7])).input(bytes(&[1], &[3]));
    assert_eq!(zeros.eval(), i32s(&[1, 1, 4], &[61236, -1494, -748, 6]));
    conv().input(bytes(&[2], &[7, 7])).unsupported();
    conv().input(bytes(&[], &[7])).input(bytes(&[2], &[7, 7])).invalid();
    call("ConvInteger", 10).input(line(&[1.0])).input(line(&[1.0])).unsupported();
    let quantized = |y_scale: f32| {
        let scale = |scale: f32| f32s(&[], &[scale]);
        let call = call("QLinearConv", 10).input(bytes(&[1, 1, 1], &[11])).input(scale(1.0)).input(bytes(&[], &[1]));
        let call = call.input(bytes(&[1, 1, 1], &[5])).input(scale(1.0)).input(bytes(&[], &[0]));
        call.input(scale(y_scale)).input(bytes(&[], &[3]))
    };
    assert_eq!(quantized(20.0).input(i32s(&[1], &[2])).eval(), bytes(&[1, 1, 1], &[6]));
    assert_eq!(quantized(0.1).eval(), bytes(&[1, 1, 1], &[255]));
    quantized(20.0).input(line(&[1.0])).unsupported();
}

#[test]
fn products_of_quantised_matrices_are_rounded() {
    let product = |a: u8, y_scale: f32| {
        let scale = |scale: f32| f32s(&[], &[scale]);
        let call = call("QLinearMatMul", 21).input(bytes(&[1, 1], &[a])).input(scale(1.0)).input(bytes(&[], &[1]));
        let call = call.input(bytes(&[1, 1], &[5])).input(scale(1.0)).input(bytes(&[], &[0]));
        call.input(scale(y_scale)).input(bytes(&[], &[3]))
    };
    assert_eq!(product(11, 30.0).eval(), bytes(&[1, 1], &[5]));
    assert_eq!(product(1, 30.0).eval(), bytes(&[1, 1], &[3]));
    call("QLinearMatMul", 21).input(line(&[1.0])).invalid();
}

#[test]
fn windows_of_signals_have_a_period() {
    let window = |op: &str, size: i64, periodic: i64| call(op, 17).attr("periodic", periodic).input(i64s(&[], &[size]));
    let values = |call: Call| call.eval().to_f64s().unwrap();
    let is_close = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
    assert!(is_close(&values(window("HannWindow", 4, 1)), &[0.0, 0.5, 1.0, 0.5]));
    assert!(is_close(&values(window("HannWindow", 3, 0)), &[0.0, 1.0, 0.0]));
    assert!(is_close(&values(window("HammingWindow", 2, 1)), &[4.0 / 46.0, 1.0]));
    assert!(is_close(&values(window("BlackmanWindow", 2, 1)), &[0.0, 1.0]));
    window("HannWindow", -1, 1).invalid();
    window("HannWindow", 1, 0).unsupported();
    window("HannWindow", i64::MAX, 1).unsupported();
    window("HannWindow", 2, 1).attr("output_datatype", 7).unsupported();
}

#[test]
fn dropped_elements_stay_in_inference() {
    let drop = |version: i64| call("Dropout", version).input(line(&[1.0, 2.0]));
    assert_eq!(drop(7).eval(), line(&[1.0, 2.0]));
    assert_eq!(drop(13).outputs(2).eval_all().unwrap()[1], bools(&[1, 1, 2], &[1, 1]));
    // The standard does not say what the mask is, and runtimes differ.
    drop(7).outputs(2).unsupported();
    drop(10).outputs(2).unsupported();
    drop(6).unsupported();
    assert_eq!(drop(6).attr("is_test", 1).eval(), line(&[1.0, 2.0]));
    let mode = |is_training: u8| drop(13).absent().input(bools(&[], &[is_training]));
    assert_eq!(mode(0).eval(), line(&[1.0, 2.0]));
    mode(1).unsupported();
    let gated = |b: Tensor| call("SwiGLU", 28).input(line(&[0.0, 2.0])).input(b);
    assert!((gated(line(&[1.0, 3.0])).eval().to_f64s().unwrap()[1] - 5.284_782).abs() < 1e-5);
    gated(f32s(&[1], &[1.0])).invalid();
}

#[test]
fn n05_convolutions_may_accumulate_in_the_type() {
    let conv = |op: &str, x: f32, w: f32| call(op, 22).input(line(&[x])).input(line(&[w]));
    for op in ["Conv", "ConvTranspose"] {
        conv(op, 1e30, 1e30).unsupported();
        conv(op, 1e-30, 1e-30).unsupported();
        conv(op, -0.0, 1.0).unsupported();
        conv(op, 1.0, 1.0).input(f32s(&[1], &[3e38])).unsupported();
        assert_eq!(conv(op, 3.0, -2.0).eval(), line(&[-6.0]));
        assert_eq!(conv(op, INF, -2.0).eval(), line(&[-INF]));
    }
    // A place that no product reaches is zero.
    let spread = call("ConvTranspose", 22).attr("strides", vec![2]).input(line(&[1.0, 2.0])).input(line(&[-1.0]));
    assert_eq!(spread.eval(), line(&[-1.0, 0.0, -2.0]));
    let tie = |y_scale: f32| {
        let (one, zero) = (f32s(&[], &[1.0]), bytes(&[], &[0]));
        let call = call("QLinearConv", 10).input(bytes(&[1, 1, 1], &[5])).input(one.clone()).input(zero.clone());
        let call = call.input(bytes(&[1, 1, 1], &[1])).input(one).input(zero.clone());
        call.input(f32s(&[], &[y_scale])).input(zero)
    };
    tie(2.0).unsupported();
    assert_eq!(tie(3.0).eval(), bytes(&[1, 1, 1], &[2]));
}

fn pool(op: &str, version: i64, x: &[f32]) -> Call {
    call(op, version).input(line(x)).attr("kernel_shape", vec![2])
}

#[test]
fn maxima_have_places() {
    let max = |x: &[f32]| pool("MaxPool", 12, x).outputs(2);
    let results = max(&[1.0, 3.0, 3.0, 2.0]).eval_all().unwrap();
    assert_eq!(results, [line(&[3.0, 3.0, 3.0]), i64s(&[1, 1, 3], &[1, 1, 2])]);
    assert_eq!(max(&[1.0, 3.0]).attr("pads", vec![1, 0]).eval(), line(&[1.0, 3.0]));
    assert_eq!(max(&[-INF, -INF]).eval(), line(&[-INF]));
    max(&[1.0, 3.0]).attr("pads", vec![2, 0]).unsupported();
    max(&[1.0, NAN]).unsupported();
    max(&[0.0, -0.0]).unsupported();
    max(&[1.0; 4]).attr("dilations", vec![2]).attr("auto_pad", "SAME_UPPER").unsupported();
    let plane = |order: i64| {
        let x = f32s(&[1, 1, 2, 2], &[1.0, 2.0, 9.0, 4.0]);
        let call = call("MaxPool", 8).outputs(2).attr("kernel_shape", vec![2, 2]).attr("storage_order", order);
        call.input(x).eval_all().unwrap().remove(1)
    };
    assert_eq!((plane(0), plane(1)), (i64s(&[1, 1, 1, 1], &[2]), i64s(&[1, 1, 1, 1], &[1])));
    let small = call("MaxPool", 12).attr("kernel_shape", vec![2]).input(bytes(&[1, 1, 3], &[7, 255, 0]));
    assert_eq!(small.eval(), bytes(&[1, 1, 2], &[255, 255]));
    let back = |places: &[i64]| {
        let call = call("MaxUnpool", 11).attr("kernel_shape", vec![2]).attr("strides", vec![2]);
        call.input(line(&[5.0, 6.0])).input(i64s(&[1, 1, 2], places))
    };
    assert_eq!(back(&[1, 2]).eval(), line(&[0.0, 5.0, 6.0, 0.0]));
    back(&[1, 4]).invalid();
    back(&[-1, 2]).invalid();
    back(&[1, 1]).unsupported();
    back(&[1, 2]).input(list(&[1, 1, 5])).unsupported();
}

#[test]
fn last_windows_may_reach_beyond() {
    let average = || pool("AveragePool", 22, &[1.0, 2.0, 3.0]).attr("strides", vec![2]);
    assert_eq!(average().eval(), line(&[1.5]));
    assert_eq!(average().attr("ceil_mode", 1).eval(), line(&[1.5, 3.0]));
    assert_eq!(average().attr("ceil_mode", 1).attr("count_include_pad", 1).eval(), line(&[1.5, 3.0]));
    let padded = || average().attr("pads", vec![1, 0]);
    assert_eq!(padded().eval(), line(&[1.0, 2.5]));
    assert_eq!(padded().attr("count_include_pad", 1).eval(), line(&[0.5, 2.5]));
    average().attr("pads", vec![2, 0]).unsupported();
    average().attr("pads", vec![2, 0]).attr("count_include_pad", 1).eval();
    average().attr("ceil_mode", 1).attr("auto_pad", "VALID").unsupported();
    let norm = || pool("LpPool", 22, &[3.0, -4.0, 1.0]).attr("strides", vec![2]);
    assert_eq!(norm().eval(), line(&[5.0]));
    assert_eq!(norm().attr("p", 1).eval(), line(&[7.0]));
    norm().attr("p", 0).invalid();
    norm().attr("ceil_mode", 1).unsupported();
    call("AveragePool", 22).attr("kernel_shape", vec![1]).input(f32s(&[1, 1], &[1.0])).invalid();
    pool("AveragePool", 22, &[1.0]).unsupported();
}

#[test]
fn n05_means_may_accumulate_in_the_type() {
    let average = |x: &[f32]| pool("AveragePool", 22, x);
    average(&[3e38, 3e38]).unsupported();
    average(&[1e-40, 0.0]).unsupported();
    average(&[-0.0, -0.0]).unsupported();
    assert_eq!(average(&[-1.0, 2.0]).eval(), line(&[0.5]));
    pool("LpPool", 22, &[1e30, 1.0]).unsupported();
    pool("LpPool", 22, &[1e-30, 1e-30]).unsupported();
    call("GlobalLpPool", 22).input(line(&[1e30])).unsupported();
    call("GlobalAveragePool", 22).input(line(&[3e38, 3e38])).unsupported();
    call("GlobalMaxPool", 22).input(line(&[1.0, NAN])).unsupported();
}

#[test]
fn global_pools_leave_one_element() {
    let global = |op: &str| call(op, 22).input(f32s(&[1, 2, 2], &[3.0, 4.0, 1.0, 0.0]));
    assert_eq!(global("GlobalMaxPool").eval(), f32s(&[1, 2, 1], &[4.0, 1.0]));
    assert_eq!(global("GlobalAveragePool").eval(), f32s(&[1, 2, 1], &[3.5, 0.5]));
    assert_eq!(global("GlobalLpPool").eval(), f32s(&[1, 2, 1], &[5.0, 1.0]));
    let old = call("GlobalLpPool", 1).attr("p", 1.0f32).input(line(&[3.0, -4.0]));
    assert_eq!(old.eval(), line(&[7.0]));
    call("GlobalMaxPool", 22).input(f32s(&[1, 1, 0], &[])).unsupported();
    call("GlobalMaxPool", 22).input(f32s(&[1, 1], &[1.0])).invalid();
}
