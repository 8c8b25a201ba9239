//! The edges of kernels: numbers that are special, of which they make what evaluators do, and calls that they decline,
//! since not everything makes the same of them.

use crate::{
    kernels::{Outcome, compute, registry},
    node_cases::{Tolerance, call, difference},
};
use relais_operators::operators;
use relais_plugin_api::ir::*;

/// Zeros of either sign, NaN, infinities, and the least and greatest finite numbers.
const VALUES: [f32; 14] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    2.5,
    -2.5,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MIN_POSITIVE / 4.0,
    65504.0,
    -65504.0,
];

/// Operators whose numbers depend on their places.
const OF_PLACES: [&str; 2] = ["EyeLike", "Trilu"];

/// The arguments of functions of `n` numbers: each value with each other.
fn arguments(n: u16) -> Vec<Vec<f32>> {
    match n {
        1 => VALUES.map(|value| vec![value]).to_vec(),
        _ => VALUES.iter().flat_map(|&a| VALUES.map(|b| vec![a, b])).collect(),
    }
}

/// Numbers below each other.
fn column(elem: ElemType, values: &[f32]) -> Tensor {
    Tensor::from_f32(&[values.len() as u64, 1], values).rounded_to(elem).unwrap()
}

fn doubles(tensor: &Tensor) -> Option<Vec<f64>> {
    tensor.rounded_to(ElemType::DOUBLE)?.to_f64s()
}

/// Why a kernel's number is not that of an evaluator: the sign of zeros counts.
fn unlike(found: f64, expected: &Tensor) -> Option<String> {
    let found = Tensor::from_f64s(expected.elem(), expected.dims(), &[found])?;
    let is_zero = |tensor: &Tensor| tensor.to_f64s() == Some(vec![0.0]);
    if is_zero(&found) && is_zero(expected) && found != *expected {
        return Some("a zero of the other sign".to_owned());
    }
    difference(&found, expected, Tolerance::Digits)
}

/// Differences between the kernel and the evaluator of an operator, and the number of elements that both compute.
fn differences(name: &str, version: i64, n_inputs: u16, elem: ElemType) -> (Vec<String>, usize) {
    let arguments = arguments(n_inputs);
    let columns = (0..usize::from(n_inputs)).map(|at| arguments.iter().map(|values| values[at]).collect::<Vec<_>>());
    let given: Vec<_> = columns.map(|values| (Some(column(elem, &values)), false)).collect();
    let Outcome::Ran(found) = compute(&registry(), (name, version, 1), &given, &[], None) else { return (vec![], 0) };
    let Some(found) = doubles(&found[0]).filter(|found| found.len() == arguments.len()) else { return (vec![], 0) };
    let (mut differences, mut n_compared) = (Vec::new(), 0);
    for (values, &found) in arguments.iter().zip(&found) {
        let one = values.iter().fold(call(name, version), |call, &value| call.input(column(elem, &[value])));
        let Some(Ok(expected)) = one.try_eval() else { continue };
        n_compared += 1;
        let why = unlike(found, &expected[0]);
        differences.extend(why.map(|why| format!("{name} {version} of {elem:?} {values:?} is {found}: {why}")));
    }
    (differences, n_compared)
}

#[test]
fn kernels_and_evaluators_agree_on_special_numbers() {
    let (mut wrong, mut n_operators, mut n_compared) = (Vec::new(), 0, 0);
    for operator in operators().filter(|operator| operator.compute.is_some() && operator.domain.is_empty()) {
        let n_inputs = operator.inputs.0;
        if !matches!(n_inputs, 1 | 2) || OF_PLACES.contains(&operator.name) {
            continue;
        }
        for elem in [ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16] {
            let (differences, n) = differences(operator.name, operator.since_version.into(), n_inputs, elem);
            wrong.extend(differences);
            n_operators += usize::from(n > 0);
            n_compared += n;
        }
    }
    println!("{n_compared} numbers of {n_operators} operators and types");
    assert_eq!(wrong, [""; 0]);
    assert!(n_operators > 200);
}

/// Tensors without elements, and with elements that are equal.
fn empty_and_equal(elem: ElemType) -> Vec<Tensor> {
    let sizes: [&[u64]; 7] = [&[0], &[2, 0], &[0, 3], &[1, 2, 0], &[2, 3], &[1, 2, 3], &[1, 1, 4, 3]];
    let values = [1.0, 1.0, -0.0, 0.0, 2.5, 2.5].into_iter().cycle();
    let tensor = |sizes: &&[u64]| {
        let values: Vec<f32> = values.clone().take(sizes.iter().product::<u64>() as usize).collect();
        Tensor::from_f32(sizes, &values).rounded_to(elem).unwrap()
    };
    sizes.iter().map(tensor).collect()
}

#[test]
fn kernels_and_evaluators_agree_on_empty_tensors_and_ties() {
    let (mut wrong, mut n_compared) = (Vec::new(), 0);
    for operator in operators().filter(|operator| operator.compute.is_some() && operator.domain.is_empty()) {
        for tensor in empty_and_equal(ElemType::FLOAT).into_iter().chain(empty_and_equal(ElemType::DOUBLE)) {
            let (version, inputs) = (i64::from(operator.since_version), vec![tensor; operator.inputs.0.into()]);
            let evaluated = inputs.iter().fold(call(operator.name, version), |call, input| call.input(input.clone()));
            let Some(Ok(expected)) = evaluated.try_eval() else { continue };
            let given: Vec<_> = inputs.iter().map(|tensor| (Some(tensor.clone()), false)).collect();
            let outcome = compute(&registry(), (operator.name, version, 1), &given, &[], None);
            let Outcome::Ran(found) = outcome else { continue };
            n_compared += 1;
            let why = difference(&found[0], &expected[0], Tolerance::Digits);
            wrong.extend(why.map(|why| format!("{} {version} of {:?}: {why}", operator.name, inputs[0])));
        }
    }
    println!("{n_compared} calls");
    assert_eq!(wrong, [""; 0]);
    assert!(n_compared > 1000);
}

/// The outcome of the kernel of a call whose lists are constants, and whose result may be declared.
fn outcome(
    (name, version): (&str, i64),
    inputs: &[Tensor],
    attrs: &[(&str, AttrData)],
    declared: Option<&Tensor>,
) -> Outcome {
    let given: Vec<_> = inputs.iter().map(|tensor| (Some(tensor.clone()), tensor.elem().is_integer())).collect();
    let attrs: Vec<_> = attrs.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    compute(&registry(), (name, version, 1), &given, &attrs, declared)
}

/// The result of a kernel, which runs.
fn result(operator: (&str, i64), inputs: &[Tensor], attrs: &[(&str, AttrData)]) -> Tensor {
    match outcome(operator, inputs, attrs, None) {
        Outcome::Ran(mut results) => results.remove(0),
        Outcome::Declined(why) => panic!("{operator:?}: {why}"),
        Outcome::Failed(why) => panic!("{operator:?}: {why}"),
        Outcome::None => panic!("{operator:?} has no kernel"),
    }
}

fn assert_declined(outcome: Outcome, why: &str) {
    match outcome {
        Outcome::Declined(found) if found.to_string().contains(why) => {}
        Outcome::Declined(found) => panic!("{found} instead of {why}"),
        _ => panic!("it is not declined"),
    }
}

#[test]
fn a_flag_is_zero_or_one() {
    let matrix = |values: &[f32]| Tensor::from_f32(&[2, 2], values);
    let inputs = [matrix(&[1.0, 2.0, 3.0, 4.0]), matrix(&[1.0, 0.0, 0.0, 1.0])];
    let turned = |flag: i64| [("transA", AttrData::Int(flag))];
    assert_eq!(result(("Gemm", 13), &inputs, &turned(0)), inputs[0]);
    assert_eq!(result(("Gemm", 13), &inputs, &turned(1)), matrix(&[1.0, 3.0, 2.0, 4.0]));
    assert_declined(outcome(("Gemm", 13), &inputs, &turned(2), Some(&inputs[0])), "`transA`");
}

#[test]
fn a_slice_backwards_ends_within_its_axis() {
    let list = |value: i64| Tensor::from_i64(&[1], &[value]);
    let slice = |end: i64, declared: &[f32]| {
        let x = Tensor::from_f32(&[3], &[0.0, 1.0, 2.0]);
        let declared = Tensor::from_f32(&[declared.len() as u64], declared);
        outcome(("Slice", 13), &[x, list(2), list(end), list(0), list(-1)], &[], Some(&declared))
    };
    assert!(matches!(slice(-9, &[2.0, 1.0, 0.0]), Outcome::Ran(_)));
    assert!(matches!(slice(2, &[]), Outcome::Ran(_)));
    assert_declined(slice(i64::MAX, &[]), "its end is behind its axis");
}

#[test]
fn groups_are_normalized_in_the_precision_that_is_asked_for() {
    let parts = |elem: ElemType| {
        let tensor = |dims: &[u64], values: &[f32]| Tensor::from_f32(dims, values).rounded_to(elem).unwrap();
        [tensor(&[1, 2, 2], &[1.0, 2.0, 3.0, 5.0]), tensor(&[2], &[1.0, 2.0]), tensor(&[2], &[0.0, 1.0])]
    };
    let groups = [("num_groups", AttrData::Int(2))];
    // Version 18 does not say.
    result(("GroupNormalization", 18), &parts(ElemType::DOUBLE), &groups);
    result(("GroupNormalization", 21), &parts(ElemType::FLOAT), &groups);
    let of_doubles = outcome(("GroupNormalization", 21), &parts(ElemType::DOUBLE), &groups, None);
    assert_declined(of_doubles, "it is not computed in single precision");
}

#[test]
fn a_remainder_of_floats_has_a_sign_that_is_asked_for_or_that_of_the_divisor() {
    let inputs = [Tensor::from_f32(&[2], &[-7.0, 7.0]), Tensor::from_f32(&[2], &[3.0, -3.0])];
    let fmod = [("fmod", AttrData::Int(1))];
    assert_eq!(result(("Mod", 13), &inputs, &fmod), Tensor::from_f32(&[2], &[-1.0, 1.0]));
    assert_eq!(result(("Mod", 28), &inputs, &[]), Tensor::from_f32(&[2], &[2.0, -2.0]));
    assert!(matches!(outcome(("Mod", 13), &inputs, &[], None), Outcome::Failed(why) if why.contains("`fmod`")));
}

/// Before version 11, the bounds that are not given are the greatest finite numbers.
#[test]
fn early_clips_leave_nothing_infinite() {
    let x = [Tensor::from_f32(&[2], &[f32::NEG_INFINITY, f32::INFINITY])];
    let above = [("min", AttrData::Float(0.0))];
    assert_eq!(result(("Clip", 6), &x, &above), Tensor::from_f32(&[2], &[0.0, f32::MAX]));
    assert_eq!(result(("Clip", 13), &x, &[]), x[0]);
}

#[test]
fn functions_of_recurrent_networks_are_those_of_the_evaluator() {
    let one = |value: f32| Tensor::from_f32(&[1, 1, 1], &[value]).rounded_to(ElemType::DOUBLE).unwrap();
    let agree = |x: f32, attrs: &[(&str, AttrData)]| {
        let inputs = [one(x), one(1.0), one(0.5)];
        let found = result(("RNN", 14), &inputs, attrs);
        let evaluated = inputs.iter().fold(call("RNN", 14).lenient(), |call, input| call.input(input.clone()));
        let expected = attrs.iter().fold(evaluated, |call, (name, value)| call.attr(name, value.clone())).eval();
        assert_eq!(difference(&found, &expected, Tolerance::Digits), None, "{attrs:?} of {x}");
        doubles(&expected).unwrap()[0]
    };
    let function = |name: &str| ("activations", AttrData::Strings(vec![name.as_bytes().to_vec()]));
    // Its slope is 0.2 in single precision.
    assert_eq!(agree(1.0, &[function("HardSigmoid")]), f64::from(0.2f32) + 0.5);
    assert!(agree(f32::NAN, &[function("Relu")]).is_nan());
    assert!(agree(f32::NAN, &[function("Tanh")]).is_nan());
}

/// Loop programs and evaluators have an error function each.
#[test]
fn the_error_function_has_the_same_bits_everywhere() {
    let values: Vec<f64> = (-700..700).map(|at| f64::from(at) / 97.0).chain([1e-300, 0.84375, 1.25, 6.0]).collect();
    let x = Tensor::from_f64s(ElemType::DOUBLE, &[values.len() as u64], &values).unwrap();
    assert_eq!(result(("Erf", 13), std::slice::from_ref(&x), &[]), call("Erf", 13).lenient().input(x).eval());
}
