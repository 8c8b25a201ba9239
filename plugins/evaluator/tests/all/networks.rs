//! `Einsum`, `Resize`, recurrent networks and losses: each case beside one that is refused or has another result.

use crate::common::*;
use relais_plugin_api::ir::*;

fn plane(values: &[f32]) -> Tensor {
    f32s(&[2, values.len() as u64 / 2], values)
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_bytes().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[track_caller]
fn assert_close(found: &Tensor, expected: &[f32]) {
    let found = floats(found);
    let is_close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-5);
    assert!(found.len() == expected.len() && is_close, "{found:?}");
}

#[test]
fn labelled_axes_are_summed() {
    let einsum = |equation: &str, args: &[Tensor]| {
        args.iter().fold(call("Einsum", 12).attr("equation", equation), |call, arg| call.input(arg.clone()))
    };
    let (a, b) = (plane(&[1.0, 2.0, 3.0, 4.0]), plane(&[5.0, 6.0, 7.0, 8.0]));
    let product = || plane(&[19.0, 22.0, 43.0, 50.0]);
    assert_eq!(einsum("ij,jk->ik", &[a.clone(), b.clone()]).eval(), product());
    assert_eq!(einsum(" ij , jk ", &[a.clone(), b.clone()]).eval(), product());
    assert_eq!(einsum("...j,j...->...", &[a.clone(), f32s(&[2, 1], &[1.0, 2.0])]).eval(), f32s(&[2], &[5.0, 11.0]));
    assert_eq!(einsum("ii->i", std::slice::from_ref(&a)).eval(), f32s(&[2], &[1.0, 4.0]));
    assert_eq!(einsum("ii", std::slice::from_ref(&a)).eval(), f32s(&[], &[5.0]));
    assert_eq!(einsum("ba", std::slice::from_ref(&a)).eval(), plane(&[1.0, 3.0, 2.0, 4.0]));
    let three = einsum("i,ij,j->", &[f32s(&[2], &[1.0, 2.0]), a.clone(), f32s(&[2], &[1.0, 10.0])]);
    assert_eq!(three.eval(), f32s(&[], &[107.0]));
    let bytes = |values: &[u8]| raw(ElemType::INT8, &[2], values);
    assert_eq!(einsum("i,i->", &[bytes(&[100, 255]), bytes(&[2, 1])]).eval(), raw(ElemType::INT8, &[], &[199]));
    assert_eq!(einsum("ij->i", &[f32s(&[2, 0], &[])]).eval(), f32s(&[2], &[0.0, 0.0]));
    let is_invalid = |equation: &str, args: &[Tensor]| einsum(equation, args).invalid();
    is_invalid("ij->ik", std::slice::from_ref(&a));
    is_invalid("ij->ii", std::slice::from_ref(&a));
    is_invalid("ij,jk->ik", std::slice::from_ref(&a));
    is_invalid("ijk->i", std::slice::from_ref(&a));
    is_invalid("i.j", std::slice::from_ref(&a));
    is_invalid("i......", std::slice::from_ref(&a));
    is_invalid("i1->i", std::slice::from_ref(&a));
    is_invalid("ij,jk->ik", &[a.clone(), f32s(&[3, 1], &[1.0; 3])]);
    einsum("i...->i", std::slice::from_ref(&a)).unsupported();
    einsum("i->i", &[bools(&[2], &[0, 1])]).unsupported();
}

#[test]
fn n05_products_of_labelled_axes_may_be_near_the_limits() {
    let dot = |a: &[f32; 2], b: &[f32; 2]| {
        let call = call("Einsum", 12).attr("equation", "i,i->");
        call.input(f32s(&[2], a)).input(f32s(&[2], b))
    };
    dot(&[1e30, 1.0], &[1e30, 1.0]).unsupported();
    dot(&[1e-30, 1.0], &[1e-30, 1.0]).unsupported();
    dot(&[1.0, 1.0], &[1.0, -1.0]).unsupported();
    assert_eq!(dot(&[1.0, 1.0], &[1.0, -2.0]).eval(), f32s(&[], &[-1.0]));
    // Elements that are only moved stay as they are.
    let moved = call("Einsum", 12).attr("equation", "i->i").input(f32s(&[2], &[-0.0, 1e-40])).eval();
    assert_eq!(moved, f32s(&[2], &[-0.0, 1e-40]));
}

fn resized(version: i64, x: &[f32], scale: f32) -> Call {
    let call = call("Resize", version).input(f32s(&[x.len() as u64], x)).absent();
    call.input(f32s(&[1], &[scale]))
}

#[test]
fn axes_are_resized() {
    let x = [1.0, 2.0, 3.0, 4.0];
    assert_close(&resized(13, &x[..2], 2.0).eval(), &[1.0, 1.0, 2.0, 2.0]);
    assert_close(&resized(13, &x[..2], 2.0).attr("mode", "linear").eval(), &[1.0, 1.25, 1.75, 2.0]);
    let corners = resized(13, &x[..2], 1.5).attr("mode", "linear");
    assert_close(&corners.attr("coordinate_transformation_mode", "align_corners").eval(), &[1.0, 1.5, 2.0]);
    let nearest = |mode: &str| {
        let call = resized(13, &x, 0.5).attr("nearest_mode", mode).eval();
        floats(&call)
    };
    assert_eq!(nearest("floor"), [1.0, 3.0]);
    assert_eq!(nearest("ceil"), [2.0, 4.0]);
    assert_eq!(nearest("round_prefer_floor"), [1.0, 3.0]);
    assert_eq!(nearest("round_prefer_ceil"), [2.0, 4.0]);
    let by_size = |sizes: &[i64]| {
        let call = call("Resize", 18).input(f32s(&[2, 1], &[1.0, 2.0])).absent().absent();
        call.input(list(sizes))
    };
    assert_close(&by_size(&[4, 1]).eval(), &[1.0, 1.0, 2.0, 2.0]);
    assert_eq!(by_size(&[4, 1]).attr("keep_aspect_ratio_policy", "not_smaller").eval().dims(), [4, 2]);
    assert_eq!(by_size(&[4]).attr("axes", vec![-2]).eval().dims(), [4, 1]);
    by_size(&[4]).invalid();
    by_size(&[4]).attr("axes", vec![2]).invalid();
    by_size(&[-4, 1]).unsupported();
    by_size(&[1 << 40, 1]).unsupported();
    resized(13, &x, 0.0).invalid();
    resized(13, &x, 2.0).attr("mode", "sharp").invalid();
    resized(13, &x, 2.0).input(list(&[8])).invalid();
    call("Resize", 13).input(list(&[1, 2])).absent().input(f32s(&[1], &[2.0])).attr("mode", "linear").unsupported();
    let moved = call("Resize", 13).input(list(&[1, 2])).absent().input(f32s(&[1], &[2.0]));
    assert_eq!(moved.eval(), list(&[1, 1, 2, 2]));
}

#[test]
fn old_scales_are_attributes() {
    let x = || f32s(&[1, 1, 1, 2], &[1.0, 2.0]);
    let by_attrs = call("Upsample", 1).attr("height_scale", 1.0f32).attr("width_scale", 2.0f32);
    assert_close(&by_attrs.input(x()).eval(), &[1.0, 1.0, 2.0, 2.0]);
    call("Upsample", 1).attr("height_scale", 1.0f32).input(x()).invalid();
    let by_list = call("Upsample", 7).attr("scales", AttrData::Floats(vec![1.0, 1.0, 1.0, 2.0]));
    assert_close(&by_list.attr("mode", "linear").input(x()).eval(), &[1.0, 1.5, 2.0, 2.0]);
    call("Upsample", 7).input(x()).invalid();
    let smaller = |mode: &str| {
        let call = call("Resize", 10).attr("mode", mode).input(x());
        call.input(f32s(&[4], &[1.0, 1.0, 1.0, 0.5]))
    };
    assert_close(&smaller("linear").eval(), &[1.0]);
    smaller("nearest").unsupported();
    smaller("cubic").invalid();
}

#[test]
fn n05_places_depend_on_rounding() {
    let corners = |scale: f32| {
        let call = resized(13, &[1.0, 2.0, 3.0, 4.0], scale).attr("mode", "linear");
        call.attr("coordinate_transformation_mode", "align_corners")
    };
    assert_close(&corners(0.5).eval(), &[1.0, 4.0]);
    corners(0.6).unsupported();
    resized(13, &[1.0; 10], 0.7).unsupported();
    assert_eq!(resized(13, &[1.0; 10], 0.75).eval().dims(), [7]);
}

fn recurrent(op: &str, n_gates: u64) -> Call {
    let x = f32s(&[2, 1, 1], &[1.0, -2.0]);
    let weight = || f32s(&[1, n_gates, 1], &vec![0.5; n_gates as usize]);
    call(op, 14).outputs(3).input(x).input(weight()).input(weight())
}

#[test]
fn networks_take_steps() {
    let (first, sigmoid) = (0.5f32.tanh(), |x: f32| 1.0 / (1.0 + (-x).exp()));
    let second = (0.5 * first - 1.0).tanh();
    let results = recurrent("RNN", 1).outputs(2).eval_all().unwrap();
    assert_close(&results[0], &[first, second]);
    assert_close(&results[1], &[second]);
    assert_eq!((results[0].dims(), results[1].dims()), (&[2, 1, 1, 1][..], &[1, 1, 1][..]));
    let back = recurrent("RNN", 1).outputs(2).attr("direction", "reverse").eval_all().unwrap();
    assert_close(&back[1], &[(0.5 + 0.5 * (-1.0f32).tanh()).tanh()]);
    let relu = recurrent("RNN", 1).outputs(1).attr("activations", AttrData::Strings(vec![b"relu".to_vec()]));
    assert_close(&relu.eval(), &[0.5, 0.0]);
    let clipped = recurrent("RNN", 1).outputs(1).attr("clip", 0.25f32).eval();
    assert_close(&clipped, &[0.25f32.tanh(), (-0.25f32).tanh()]);
    let of_nan = call("RNN", 14).attr("clip", 0.25f32).input(f32s(&[1, 1, 1], &[f32::NAN]));
    let of_nan = of_nan.input(f32s(&[1, 1, 1], &[0.5])).input(f32s(&[1, 1, 1], &[0.5])).lenient().eval();
    assert!(floats(&of_nan)[0].is_nan());
    let gate = sigmoid(0.5);
    let gru = recurrent("GRU", 3).outputs(2).eval_all().unwrap();
    assert_close(&f32s(&[1], &floats(&gru[0])[..1]), &[(1.0 - gate) * first]);
    let lstm = recurrent("LSTM", 4).eval_all().unwrap();
    let cell = gate * first;
    assert_close(&f32s(&[1], &floats(&lstm[0])[..1]), &[gate * cell.tanh()]);
    assert_eq!(lstm[2].dims(), [1, 1, 1]);
    let by_batch = call("RNN", 14).attr("layout", 1).input(f32s(&[1, 2, 1], &[1.0, -2.0]));
    let by_batch = by_batch.input(f32s(&[1, 1, 1], &[0.5])).input(f32s(&[1, 1, 1], &[0.5])).eval();
    assert_close(&by_batch, &[first, second]);
}

#[test]
fn networks_refuse_what_is_not_determined() {
    let lens = |len: i32| recurrent("RNN", 1).absent().input(raw(ElemType::INT32, &[1], &len.to_le_bytes()));
    lens(2).eval();
    lens(1).unsupported();
    lens(3).invalid();
    recurrent("LSTM", 4).attr("input_forget", 1).unsupported();
    recurrent("LSTM", 4).attr("clip", 1.0f32).unsupported();
    recurrent("RNN", 1).attr("hidden_size", 2).invalid();
    recurrent("RNN", 1).attr("direction", "sideways").invalid();
    recurrent("RNN", 1).attr("direction", "bidirectional").invalid();
    recurrent("GRU", 1).invalid();
    let activations = |names: &[&str]| {
        let names = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        recurrent("GRU", 3).attr("activations", AttrData::Strings(names))
    };
    activations(&["Sigmoid", "Elu"]).eval();
    activations(&["Sigmoid"]).invalid();
    activations(&["Sigmoid", "Sine"]).invalid();
    activations(&["Sigmoid", "Affine"]).unsupported();
    activations(&["Elu", "Tanh"]).attr("activation_alpha", AttrData::Floats(vec![2.0])).eval();
    activations(&["Sigmoid", "Elu"]).attr("activation_alpha", AttrData::Floats(vec![2.0])).unsupported();
}

#[test]
fn losses_are_weighted() {
    let logs = || f32s(&[2, 2], &[-1.0, -2.0, -3.0, -4.0]);
    let loss = |target: &[i64]| call("NegativeLogLikelihoodLoss", 13).input(logs()).input(i64s(&[2], target));
    assert_close(&loss(&[0, 1]).eval(), &[2.5]);
    assert_close(&loss(&[0, 1]).attr("reduction", "sum").eval(), &[5.0]);
    assert_close(&loss(&[0, 1]).attr("reduction", "none").eval(), &[1.0, 4.0]);
    assert_close(&loss(&[0, 7]).attr("ignore_index", 7).eval(), &[1.0]);
    assert_close(&loss(&[0, 1]).input(f32s(&[2], &[1.0, 3.0])).eval(), &[13.0 / 4.0]);
    loss(&[0, 2]).invalid();
    loss(&[0, -1]).invalid();
    loss(&[0, 1]).attr("reduction", "max").invalid();
    loss(&[0, 1]).input(f32s(&[3], &[1.0; 3])).invalid();
    call("NegativeLogLikelihoodLoss", 13).input(logs()).input(i64s(&[1], &[0])).invalid();
    let entropy = call("SoftmaxCrossEntropyLoss", 13).outputs(2).input(plane(&[0.0, 0.0])).input(i64s(&[2], &[0, 0]));
    assert_close(&entropy.eval(), &[0.0]);
    let entropy = call("SoftmaxCrossEntropyLoss", 13).input(plane(&[0.0, 0.0, 0.0, 0.0])).input(i64s(&[2], &[0, 1]));
    assert_close(&entropy.eval(), &[2f32.ln()]);
}

#[test]
fn n05_losses_may_have_no_weight() {
    let ignored = |target: i64| {
        let call = call("NegativeLogLikelihoodLoss", 13).attr("ignore_index", 0);
        call.input(f32s(&[1, 2], &[-1.0, -2.0])).input(i64s(&[1], &[target]))
    };
    ignored(0).unsupported();
    assert_close(&ignored(1).eval(), &[2.0]);
}
