//! Running functions on tensors, and their slopes.

// Linked, so that their passes and operators are registered.
use relais_gradient as _;
use relais_operators as _;

use relais_plugin_api::{
    boundary::local,
    infer::Operators,
    interpret::{self, Compute},
    ir::{Dim, DimRec, Type},
    op::{Evaluation, Evaluator},
    prelude::*,
    testing::Trial,
    text,
};
use std::collections::HashSet;

/// The step of a central difference.
fn step(elem: ElemType) -> f64 {
    if elem == ElemType::DOUBLE { 1e-5 } else { 4e-3 }
}

struct Linked;

impl Compute for Linked {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        local::with_ops(function, |ops| body(ops));
    }

    /// Also what runtimes compute in another way, or with fewer digits.
    fn known(&self, call: CallView<'_>, inputs: &[Option<Tensor>]) -> Option<Tensor> {
        if call.is_op("Erf") {
            return inputs.first()?.as_ref()?.map_f64s(erf);
        }
        let is_it = |eval: &&Evaluator| call.is_op(eval.name) && i64::from(eval.since_version) <= call.version();
        let evaluator = relais_evaluator::evaluators().filter(is_it).max_by_key(|eval| eval.since_version)?;
        if call.n_results().is_some() {
            return None;
        }
        let evaluation = Evaluation {
            function: call.owner(),
            call: call.id,
            version: call.version(),
            inputs,
            max_bytes: 1 << 24,
            is_lenient: true,
        };
        evaluation.call(evaluator.eval).ok()?.pop()
    }
}

/// The error function, by its series and, where that loses digits, by a continued fraction.
fn erf(x: f64) -> f64 {
    if x.abs() > 2.5 {
        let fraction = (1..100).rev().fold(0.0, |rest, n| f64::from(n) / 2.0 / (x.abs() + rest));
        let tail = (-x * x).exp() / (std::f64::consts::PI.sqrt() * (x.abs() + fraction));
        return x.signum() * (1.0 - tail);
    }
    let mut term = x * std::f64::consts::FRAC_2_SQRT_PI;
    let mut sum = term;
    for n in 1..80 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum
}

pub fn parse(text: &str) -> IRModule {
    text::parse_str(text).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"))
}

/// Runs a function.
#[track_caller]
pub fn run(module: &IRModule, name: &str, inputs: &[Tensor]) -> Vec<Tensor> {
    let results = interpret::run(module, name, inputs, &Linked).unwrap_or_else(|stop| panic!("{stop:?}"));
    results.into_iter().map(|result| result.unwrap_or_else(|stop| panic!("`{name}`: {stop:?}"))).collect()
}

/// Numbers of both signs, no two of which are close together, and none of which is close to 0.
fn numbers(n: u64, seed: u64) -> Vec<f64> {
    let part = |at: u64| ((at * 37 + seed * 11) % 97) as f64 / 97.0;
    let number =
        |at: u64| (0.31 + 1.1 * part(at) + 0.003 * seed as f64) * if (at % 5).is_multiple_of(2) { 1.0 } else { -1.0 };
    (0..n).map(number).collect()
}

/// A value for each parameter; sizes with a name are what `sizes` says.
pub fn inputs(f: &Function, sizes: &[(&str, u64)]) -> Vec<Tensor> {
    let input = |(seed, &param): (usize, &NodeId)| {
        let Type::Tensor { elem, shape: Some(shape) } = f.type_of(param) else { panic!("a parameter is not a tensor") };
        let size = |&dim: &DimRec| match Dim::from(dim) {
            Dim::Static(size) => size,
            Dim::Symbol(name) => {
                sizes.iter().find(|(own, _)| *own == f.str(name)).unwrap_or_else(|| panic!("`{}`", f.str(name))).1
            }
            Dim::Unknown => panic!("a size has no name"),
        };
        let dims: Vec<u64> = shape.iter().map(size).collect();
        let n: u64 = dims.iter().product();
        match elem {
            ElemType::BOOL => {
                Tensor::dense(elem, &dims, (0..n).map(|at| u8::from(at % 3 == 0)).collect::<Vec<u8>>()).unwrap()
            }
            _ => Tensor::from_f64s(elem, &dims, &numbers(n, seed as u64)).unwrap(),
        }
    };
    f.params().iter().enumerate().map(input).collect()
}

fn sum(results: &[Tensor]) -> f64 {
    results.iter().filter_map(Tensor::to_f64s).flatten().sum()
}

/// The module with the gradient of `main`, with respect to all parameters.
#[track_caller]
pub fn with_gradient(text: &str) -> IRModule {
    let outcome = Trial::of("FirstOrderGradient").run(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(outcome.changed);
    parse(&outcome.text)
}

/// Holds the gradient of `main` with respect to all parameters of floats against central differences.
#[track_caller]
pub fn agrees_with(text: &str, sizes: &[(&str, u64)], tolerance: f64) {
    let module = parse(text);
    let main = module.main().unwrap();
    let inputs = inputs(main, sizes);
    let differentiated = with_gradient(text);
    let own = run(&module, "main", &inputs);
    let mut results = run(&differentiated, "main_grad", &inputs);
    let gradients = results.split_off(own.len());
    for (own, result) in own.iter().zip(&results) {
        assert_eq!(own.dims(), result.dims());
        let pairs = own.to_f64s().unwrap_or_default().into_iter().zip(result.to_f64s().unwrap_or_default());
        pairs.for_each(|(own, result)| assert!((own - result).abs() <= 1e-12 * (1.0 + own.abs()), "{own} {result}"));
    }
    let floats: Vec<usize> = (0..inputs.len()).filter(|&at| inputs[at].elem().is_float()).collect();
    assert_eq!(gradients.len(), floats.len());
    let mut is_trivial = true;
    for (&at, gradient) in floats.iter().zip(&gradients) {
        let (input, step) = (&inputs[at], step(inputs[at].elem()));
        assert_eq!((gradient.elem(), gradient.dims()), (input.elem(), input.dims()), "of parameter {at}\n{text}");
        let (values, gradient) = (input.to_f64s().unwrap(), gradient.to_f64s().unwrap());
        for element in 0..values.len() {
            let moved = |by: f64| {
                let mut values = values.clone();
                values[element] += by;
                let mut inputs = inputs.clone();
                inputs[at] = Tensor::from_f64s(input.elem(), input.dims(), &values).unwrap();
                sum(&run(&module, "main", &inputs))
            };
            let difference = (moved(step) - moved(-step)) / (2.0 * step);
            is_trivial &= difference == 0.0;
            assert!(
                (gradient[element] - difference).abs() <= tolerance * (1.0 + difference.abs()),
                "parameter {at}, element {element}: {} is not {difference}\n{text}",
                gradient[element]
            );
        }
    }
    assert!(!is_trivial, "nothing has a slope\n{text}");
}

/// As [`agrees_with`], of an expression, or of bindings that define `%y`, in a version of ONNX's operators. The elements of
/// the result get different weights.
#[track_caller]
pub fn agrees(opset: i64, params: &str, lines: &str) {
    agrees_at(opset, params, lines, &[]);
}

/// As [`agrees`], where sizes have names.
#[track_caller]
pub fn agrees_at(opset: i64, params: &str, lines: &str, sizes: &[(&str, u64)]) {
    let lines = if lines.contains(';') { lines.to_owned() } else { format!("%y = {lines};") };
    let header = format!("def @main({params}) #[opset = {{\"\": {opset}}}]");
    let text = format!("{header} {{\n  {lines}\n  %z = Mul(%y, %y);\n  %both = Add(%z, %y);\n  %both\n}}\n");
    agrees_with(&text, sizes, 2e-7);
}

/// As [`agrees_with`], of an operator that is computed by its body: in double precision, only that is evaluated.
#[track_caller]
pub fn agrees_by_body(text: &str, sizes: &[(&str, u64)], tolerance: f64) {
    let body = with_gradient(text).function("main_grad").unwrap().clone();
    let mut forward = Function::clone(&body);
    let results = forward.results(forward.body())[..1].to_vec();
    forward.set_results(forward.body(), &results);
    let mut needed: HashSet<NodeId> = results.into_iter().collect();
    let mut kept = forward.bindings(forward.body()).to_vec();
    kept.reverse();
    kept.retain(|&id| {
        needed.contains(&id) && {
            needed.extend(forward.operands(id));
            true
        }
    });
    kept.reverse();
    forward.set_bindings(forward.body(), &kept);
    let mut module = IRModule::new();
    module.set_function(MAIN, forward);
    let text = text::print(&module, &text::PrintOptions::default());
    agrees_with(&text, sizes, tolerance);
}
