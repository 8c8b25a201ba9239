//! The kernels of operators, run by the exact interpreter of loop programs: on the node cases of the `onnx` package,
//! and on random calls, whose results the evaluators know.

use crate::node_cases::{Case, INEXACT, Tolerance, call, cases, difference};
use relais::registry::{Choices, Linked, Registry};
use relais_operators as operators;
use relais_plugin_api::{
    facts::OpFactsTable,
    infer::{Coverage, infer_function},
    ir::*,
    op::OpError,
    prim::{RunOptions, run},
    text::{PrintOptions, print_function},
};
use std::collections::{BTreeMap, BTreeSet};

/// Operators with kernels, without a covered case, and the reason.
const UNCOVERED: &[(&str, &str)] = &[("GlobalLpPool", "the package has none")];

/// A call of an operator, and its arguments.
struct Trial {
    op: &'static str,
    version: i64,
    inputs: Vec<Option<Tensor>>,
    attrs: Vec<(String, AttrData)>,
}

/// The outcome of a call.
pub(crate) enum Outcome {
    /// The operator has no kernels.
    None,
    Declined(OpError),
    Failed(String),
    Ran(Vec<Tensor>),
}

/// The shipped plugins, linked into this program.
pub(crate) fn registry() -> Registry {
    Registry::new(Default::default(), Linked::Include, &Choices::new())
}

/// Whether exporters write an argument as a constant: shapes, axes, scales of sizes, and single numbers.
fn is_constant(tensor: &Tensor, name: &str) -> bool {
    let is_list = tensor.elem().is_integer() && tensor.dims().len() <= 1;
    is_list || tensor.dims().is_empty() || matches!(name, "scales" | "training_mode")
}

/// A function with one call, whose arguments are constants where that is said and parameters otherwise, and the call. The
/// type of a single result may be declared, as it is in models.
pub(crate) fn one_call(
    registry: &Registry,
    (op, version, n_outputs): (&str, i64, u32),
    inputs: &[(Option<Tensor>, bool)],
    attrs: &[(String, AttrData)],
    declared: Option<&Tensor>,
) -> (Function, NodeId) {
    let mut f = Function::new();
    f.set_opset_imports(&[("", version)]);
    let body = f.body();
    let mut params = Vec::new();
    let args: Vec<NodeId> = inputs
        .iter()
        .map(|(tensor, is_constant)| match tensor {
            None => NodeId::ABSENT,
            Some(tensor) if *is_constant => {
                let id = f.add_constant(tensor.clone(), ConstForm::ANY);
                f.append(body, id);
                id
            }
            Some(tensor) => {
                let dims: Vec<Dim> = tensor.dims().iter().map(|&dim| Dim::Static(dim)).collect();
                let ty = f.tensor_type(tensor.elem(), &dims);
                params.push(f.add_var("", ty));
                params[params.len() - 1]
            }
        })
        .collect();
    f.set_params(f.root(), &params);
    let op = f.add_op("", op, "", 0);
    let callee = f.op(op).node;
    let call = f.add_call_with(callee, &args, &[], (n_outputs != 1).then_some(n_outputs as u16));
    f.set_attrs(call, &attrs.iter().map(|(name, value)| Attr::new(name.clone(), value.clone())).collect::<Vec<_>>());
    if let Some(result) = declared {
        let dims: Vec<Dim> = result.dims().iter().map(|&dim| Dim::Static(dim)).collect();
        let ty = f.tensor_type(result.elem(), &dims);
        f.set_type(call, ty);
    }
    f.append(body, call);
    f.set_results(body, &[call]);
    let mut table = OpFactsTable::new(registry, &f);
    infer_function(&mut f, &mut table, Coverage::Everything);
    (f, call)
}

/// Makes the kernel of a call and runs it, with memory that is not zero at first.
pub(crate) fn compute(
    registry: &Registry,
    operator: (&str, i64, u32),
    inputs: &[(Option<Tensor>, bool)],
    attrs: &[(String, AttrData)],
    declared: Option<&Tensor>,
) -> Outcome {
    let (f, call) = one_call(registry, operator, inputs, attrs, declared);
    let kernel = match OpFactsTable::new(registry, &f).kernel(&f, call) {
        None => return Outcome::None,
        Some(Err(error)) if error.is_unsupported() => return Outcome::Declined(error),
        Some(Err(error)) => return Outcome::Failed(error.to_string()),
        Some(Ok(kernel)) => kernel,
    };
    let text = print_function("kernel", &kernel, &PrintOptions::default());
    let mut module = IRModule::new();
    module.set_prim_func("kernel", kernel);
    let given: Vec<Tensor> = inputs.iter().filter_map(|(tensor, _)| tensor.clone()).collect();
    match run(&module, "kernel", &given, &RunOptions { poison: true, ..RunOptions::default() }) {
        Ok(results) => Outcome::Ran(results),
        Err(stop) => Outcome::Failed(format!("{stop}\n{text}")),
    }
}

/// The result of one case: its status, and an explanation.
fn try_case(registry: &Registry, case: &Case) -> (&'static str, String) {
    let [node] = case.nodes.as_slice() else { return ("several nodes", String::new()) };
    let inputs: Vec<(Option<Tensor>, bool)> = node
        .inputs
        .iter()
        .map(|name| {
            let tensor = case.values.get(name).cloned();
            let is_constant = tensor.as_ref().is_some_and(|tensor| is_constant(tensor, name));
            (tensor, is_constant)
        })
        .collect();
    let declared = case.expected.first().map(|(_, tensor)| tensor).filter(|_| node.n_outputs == 1);
    match compute(registry, (&node.op, node.version, node.n_outputs), &inputs, &node.attrs, declared) {
        Outcome::None => ("no kernel", String::new()),
        Outcome::Declined(why) => ("declined", why.to_string()),
        Outcome::Failed(why) => ("wrong", why),
        Outcome::Ran(results) => {
            let named: BTreeMap<&String, &Tensor> = node.outputs.iter().zip(&results).collect();
            // Sums are added up in another order, and in the type of the elements.
            let tolerance = if INEXACT.contains(&&*node.op) { Tolerance::Suite } else { Tolerance::Exact };
            let why = case.expected.iter().find_map(|(name, expected)| difference(named[name], expected, tolerance));
            why.map_or(("covered", String::new()), |why| ("wrong", why))
        }
    }
}

#[test]
fn node_cases_match() {
    let registry = registry();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut by_operator: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    let (mut wrong, mut declined) = (Vec::new(), BTreeMap::new());
    for case in cases() {
        let (status, why) = try_case(&registry, case);
        let operator = case.nodes.first().map_or("", |node| &node.op);
        match status {
            "wrong" => wrong.push(format!("{}: {why}", case.name)),
            "declined" => *declined.entry(format!("{operator}: {why}")).or_insert(0) += 1,
            _ => {}
        }
        *counts.entry(status).or_default() += 1;
        *by_operator.entry(operator).or_default().entry(status).or_default() += 1;
    }
    for (operator, counts) in by_operator.iter().filter(|(_, counts)| !counts.contains_key("no kernel")) {
        println!("{operator}: {counts:?}");
    }
    for (why, n) in declined {
        println!("declined {n}: {why}");
    }
    println!("{} cases: {counts:?}", cases().len());
    assert_eq!(wrong, [""; 0]);
    assert!(counts["covered"] > 800, "{counts:?}");
    let with_kernels = operators::operators().filter(|operator| operator.compute.is_some());
    let with_kernels: BTreeSet<&str> = with_kernels.map(|operator| operator.name).collect();
    let is_covered = |name: &&str| by_operator.get(name).is_some_and(|counts| counts.contains_key("covered"));
    let uncovered: Vec<&str> = with_kernels.into_iter().filter(|name| !is_covered(name)).collect();
    assert_eq!(uncovered, UNCOVERED.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

/// Operators of ONNX that only their kernels compute, and why these may fold.
const FOLDED_BY_KERNELS: &[(&str, &str)] = &[
    ("QuantizeLinear", "it is folded on request alone (N7), and divides and rounds once"),
    ("GRU", "before version 7, which runtimes do not have"),
    ("LSTM", "before version 7, which runtimes do not have"),
    ("RNN", "before version 7, which runtimes do not have"),
];

/// The results of a kernel may differ from those of a runtime in the last digits, and folding must not show: where
/// something else computes the operator, that is asked first.
#[test]
fn shipped_operators_are_not_folded_by_their_kernels() {
    let registry = registry();
    let mut alone: BTreeSet<&str> = BTreeSet::new();
    for operator in operators::operators().filter(|operator| operator.compute.is_some()) {
        let mut f = Function::new();
        f.set_opset_imports(&[(operator.domain, operator.since_version.into())]);
        let op = f.add_op(operator.domain, operator.name, "", 0);
        let table = OpFactsTable::new(&registry, &f);
        let facts = table.get(op);
        assert!(facts.has_kernel(), "{}", operator.name);
        if !facts.has_eval() && !facts.has_body() {
            let is_quantized = operator.name == "QuantizeLinear";
            assert!(is_quantized || operator.since_version < 7, "{}@{}", operator.name, operator.since_version);
            alone.insert(operator.name);
        }
    }
    let known: BTreeSet<&str> = FOLDED_BY_KERNELS.iter().map(|(name, _)| *name).collect();
    assert_eq!(alone, known);
}

// ---- random calls ---------------------------------------------------------------------------------------------------

/// Numbers that only look random.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// From `least` to `most`.
    fn int(&mut self, least: i64, most: i64) -> i64 {
        least + (self.next() % (most - least + 1) as u64) as i64
    }

    fn size(&mut self, least: i64, most: i64) -> u64 {
        self.int(least, most) as u64
    }

    fn flag(&mut self) -> bool {
        self.int(0, 1) == 1
    }

    fn ints(&mut self, n: usize, least: i64, most: i64) -> Vec<i64> {
        (0..n).map(|_| self.int(least, most)).collect()
    }

    /// Quarters, whose sums of products are exact in single precision.
    fn floats(&mut self, dims: &[u64]) -> Tensor {
        let n = dims.iter().product::<u64>() as usize;
        let values: Vec<f32> = (0..n).map(|_| self.int(-8, 8) as f32 / 4.0 + 0.125).collect();
        Tensor::from_f32(dims, &values)
    }
}

impl Trial {
    fn new(op: &'static str, version: i64, inputs: impl IntoIterator<Item = Tensor>) -> Self {
        Self { op, version, inputs: inputs.into_iter().map(Some).collect(), attrs: Vec::new() }
    }

    fn attr(mut self, name: &str, value: impl Into<AttrData>) -> Self {
        self.attrs.push((name.to_owned(), value.into()));
        self
    }
}

/// Compares the kernels of calls with the evaluators, which do not cover all of them; of the others, `least` calls must
/// be computed. Some calls are of half or double precision.
fn compare(trials: impl IntoIterator<Item = Trial>, least: usize) {
    let registry = registry();
    let (mut n_computed, mut declined) = (0, BTreeMap::new());
    for (at, Trial { op, version, inputs, attrs }) in trials.into_iter().enumerate() {
        let elem = [ElemType::FLOAT, ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16, ElemType::FLOAT][at % 5];
        let is_list = |tensor: &Tensor| tensor.elem() != ElemType::FLOAT;
        let in_type = |tensor: Tensor| if is_list(&tensor) { tensor } else { tensor.rounded_to(elem).unwrap() };
        let inputs: Vec<Option<Tensor>> = inputs.into_iter().map(|tensor| tensor.map(in_type)).collect();
        let mut evaluated = call(op, version);
        for input in &inputs {
            evaluated = match input {
                Some(tensor) => evaluated.input(tensor.clone()),
                None => evaluated.absent(),
            };
        }
        let shown = format!("{op} {version} {attrs:?} of {inputs:?}");
        let evaluated = attrs.iter().fold(evaluated, |call, (name, value)| call.attr(name, value.clone()));
        let Some(Ok(expected)) = evaluated.try_eval() else { continue };
        let given: Vec<(Option<Tensor>, bool)> = inputs
            .into_iter()
            .map(|tensor| {
                let is_constant = tensor.as_ref().is_some_and(|tensor| is_constant(tensor, ""));
                (tensor, is_constant)
            })
            .collect();
        match compute(&registry, (op, version, 1), &given, &attrs, None) {
            Outcome::None => panic!("there are no kernels of {op}"),
            Outcome::Declined(why) => *declined.entry(why.to_string()).or_insert(0) += 1,
            Outcome::Failed(why) => panic!("{shown}: {why}"),
            Outcome::Ran(results) => {
                n_computed += 1;
                let why = difference(&results[0], &expected[0], Tolerance::Digits);
                assert!(why.is_none(), "{shown}: {why:?}");
            }
        }
    }
    println!("{n_computed} computed, declined: {declined:?}");
    assert!(n_computed >= least, "{n_computed} of {least}, declined: {declined:?}");
}

/// Strides, dilations and padding of a window over `n` axes.
fn window(dice: &mut Dice, n: usize, kernel: &[i64], trial: Trial) -> Trial {
    let trial = trial.attr("strides", dice.ints(n, 1, 3)).attr("kernel_shape", kernel.to_vec());
    match dice.int(0, 5) {
        0 => trial.attr("auto_pad", "SAME_UPPER"),
        1 => trial.attr("auto_pad", "SAME_LOWER"),
        2 => trial.attr("auto_pad", "VALID").attr("dilations", dice.ints(n, 1, 2)),
        3 => trial.attr("dilations", dice.ints(n, 1, 3)),
        _ => {
            let dilations = dice.ints(n, 1, 2);
            let pads: Vec<i64> = (0..2 * n).map(|at| dice.int(0, kernel[at % n] - 1)).collect();
            trial.attr("pads", pads).attr("dilations", dilations)
        }
    }
}

fn sizes(values: &[i64]) -> impl Iterator<Item = u64> + '_ {
    values.iter().map(|&value| value as u64)
}

#[test]
fn convolutions_are_those_of_the_evaluator() {
    let mut dice = Dice(11);
    let trials = (0..400).map(|at| {
        let n = dice.int(1, 3) as usize;
        // Of short rows, eight channels are computed at once.
        let (groups, given) = (dice.size(1, 3), dice.size(1, 6));
        let made = if at % 2 == 0 { 8 * dice.size(1, 2) } else { dice.size(1, 9) };
        let kernel = if at % 5 == 0 { vec![1; n] } else { dice.ints(n, 1, 3) };
        let image = dice.ints(n, 3, 7);
        let x: Vec<u64> = [dice.size(1, 2), groups * given].into_iter().chain(sizes(&image)).collect();
        let is_transposed = dice.flag();
        let first = if is_transposed { [groups * given, made] } else { [groups * made, given] };
        let w: Vec<u64> = first.into_iter().chain(sizes(&kernel)).collect();
        let (x, w) = (dice.floats(&x), dice.floats(&w));
        let bias = dice.flag().then(|| dice.floats(&[groups * made]));
        let op = if is_transposed { "ConvTranspose" } else { "Conv" };
        let mut trial = Trial::new(op, 22, [x, w].into_iter().chain(bias)).attr("group", groups as i64);
        if at % 10 == 0 {
            return trial;
        }
        trial = window(&mut dice, n, &kernel, trial);
        if is_transposed && at % 3 == 0 {
            trial = trial.attr("output_padding", dice.ints(n, 0, 1));
        }
        trial
    });
    compare(trials.collect::<Vec<_>>(), 150);
}

#[test]
fn pools_are_those_of_the_evaluator() {
    let mut dice = Dice(12);
    let trials = (0..300).map(|_| {
        let n = dice.int(1, 3) as usize;
        let (kernel, image) = (dice.ints(n, 1, 3), dice.ints(n, 3, 7));
        let x: Vec<u64> = [dice.size(1, 2), dice.size(1, 2)].into_iter().chain(sizes(&image)).collect();
        let op = ["MaxPool", "AveragePool", "LpPool"][dice.int(0, 2) as usize];
        let mut trial = Trial::new(op, 22, [dice.floats(&x)]).attr("ceil_mode", dice.int(0, 1));
        match op {
            "AveragePool" => trial = trial.attr("count_include_pad", dice.int(0, 1)),
            "LpPool" => trial = trial.attr("p", dice.int(1, 3)),
            _ => {}
        }
        window(&mut dice, n, &kernel, trial)
    });
    compare(trials.collect::<Vec<_>>(), 150);
    let global = (0..12).map(|at| {
        let op = ["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"][at % 3];
        Trial::new(op, 22, [dice.floats(&[2, 3, 4, 5][..3 + at % 2])])
    });
    compare(global.collect::<Vec<_>>(), 12);
}

/// Sizes of an argument that is broadcast to `result`.
fn broadcast(dice: &mut Dice, result: &[u64]) -> Vec<u64> {
    let rank = dice.int(0, result.len() as i64) as usize;
    result[result.len() - rank..].iter().map(|&size| if dice.int(0, 2) == 0 { 1 } else { size }).collect()
}

#[test]
fn products_are_those_of_the_evaluator() {
    let mut dice = Dice(13);
    let trials = (0..200).map(|at| {
        let (m, k, n) = (dice.size(1, 4), dice.size(0, 11), dice.size(1, 20));
        if at % 2 == 0 {
            let batch: Vec<u64> = (0..dice.int(0, 3)).map(|_| dice.size(1, 3)).collect();
            let (in_a, in_b) = (broadcast(&mut dice, &batch), broadcast(&mut dice, &batch));
            let a = if at % 14 == 0 { vec![k] } else { [in_a, vec![m, k]].concat() };
            let b = if at % 22 == 0 { vec![k] } else { [in_b, vec![k, n]].concat() };
            return Trial::new("MatMul", 13, [dice.floats(&a), dice.floats(&b)]);
        }
        let (turned_a, turned_b) = (dice.flag(), dice.flag());
        let a = dice.floats(&if turned_a { [k, m] } else { [m, k] });
        let b = dice.floats(&if turned_b { [n, k] } else { [k, n] });
        let c = broadcast(&mut dice, &[m, n]);
        let c = dice.flag().then(|| dice.floats(&c));
        let (alpha, beta) = (dice.int(0, 2) as f32 / 2.0, dice.int(0, 2) as f32 / 2.0);
        Trial::new("Gemm", 13, [a, b].into_iter().chain(c))
            .attr("transA", i64::from(turned_a))
            .attr("transB", i64::from(turned_b))
            .attr("alpha", AttrData::Float(alpha))
            .attr("beta", AttrData::Float(beta))
    });
    compare(trials.collect::<Vec<_>>(), 150);
}

#[test]
fn elementwise_results_are_those_of_the_evaluator() {
    let mut dice = Dice(14);
    let trials = (0..200).map(|at| {
        let result: Vec<u64> = (0..dice.int(0, 4)).map(|_| dice.size(1, 3)).collect();
        let op = ["Add", "Sub", "Mul", "Div", "Less", "Max", "Sum", "Pow"][at % 8];
        let (a, b) = (broadcast(&mut dice, &result), broadcast(&mut dice, &result));
        Trial::new(op, 15, [dice.floats(&a), dice.floats(&b)])
    });
    compare(trials.collect::<Vec<_>>(), 150);
}

#[test]
fn reductions_are_those_of_the_evaluator() {
    let mut dice = Dice(15);
    let trials = (0..200).map(|at| {
        let rank = dice.int(1, 4);
        let x: Vec<u64> = (0..rank).map(|_| dice.size(1, 3)).collect();
        let x = dice.floats(&x);
        let op = [
            "ReduceSum",
            "ReduceMean",
            "ReduceMax",
            "ReduceProd",
            "ReduceL2",
            "ReduceLogSumExp",
            "ReduceSumSquare",
            "Softmax",
            "LogSoftmax",
            "ArgMax",
            "CumSum",
            "LayerNormalization",
        ][at % 12];
        let axis = dice.int(-rank, rank - 1);
        match op {
            "Softmax" | "LogSoftmax" => Trial::new(op, if dice.flag() { 13 } else { 11 }, [x]).attr("axis", axis),
            "ArgMax" => Trial::new(op, 13, [x]).attr("axis", axis).attr("select_last_index", dice.int(0, 1)),
            "CumSum" => Trial::new(op, 14, [x, Tensor::from_i64(&[], &[axis])])
                .attr("exclusive", dice.int(0, 1))
                .attr("reverse", dice.int(0, 1)),
            "LayerNormalization" => {
                let from = (if axis < 0 { axis + rank } else { axis }) as usize;
                let of_row = x.dims()[from..].to_vec();
                Trial::new(op, 17, [x, dice.floats(&of_row), dice.floats(&of_row)]).attr("axis", axis)
            }
            _ => {
                let axes: Vec<i64> = (0..rank).filter(|_| dice.flag()).collect();
                let axes = Tensor::from_i64(&[axes.len() as u64], &axes);
                Trial::new(op, 20, [x, axes])
                    .attr("keepdims", dice.int(0, 1))
                    .attr("noop_with_empty_axes", dice.int(0, 1))
            }
        }
    });
    compare(trials.collect::<Vec<_>>(), 120);
}

#[test]
fn moved_elements_are_those_of_the_evaluator() {
    let mut dice = Dice(16);
    let trials = (0..300).map(|at| {
        let rank = dice.int(1, 4);
        let dims: Vec<u64> = (0..rank).map(|_| dice.size(1, 4)).collect();
        let x = dice.floats(&dims);
        let n = rank as usize;
        let list = |values: &[i64]| Tensor::from_i64(&[values.len() as u64], values);
        match at % 6 {
            0 => {
                let mut order: Vec<i64> = (0..rank).collect();
                (1..n).rev().for_each(|at| order.swap(at, dice.int(0, at as i64) as usize));
                Trial::new("Transpose", 13, [x]).attr("perm", order)
            }
            1 => {
                let steps: Vec<i64> = (0..n).map(|_| [-2, -1, 1, 1, 2, 3][dice.int(0, 5) as usize]).collect();
                let (starts, ends) = (dice.ints(n, -5, 5), dice.ints(n, -6, 6));
                let axes: Vec<i64> = (0..rank).collect();
                Trial::new("Slice", 13, [x, list(&starts), list(&ends), list(&axes), list(&steps)])
            }
            2 => {
                let mode = ["constant", "reflect", "edge", "wrap"][dice.int(0, 3) as usize];
                let least = if mode == "constant" { -1 } else { 0 };
                let pads = dice.ints(2 * n, least, 3);
                Trial::new("Pad", 19, [x, list(&pads)]).attr("mode", mode)
            }
            3 => {
                let (axis, more) = (dice.int(0, rank - 1), dice.size(1, 3));
                let other = dims.iter().zip(0..).map(|(&size, at)| if at == axis { more } else { size });
                let other = dice.floats(&other.collect::<Vec<_>>());
                Trial::new("Concat", 13, [x, other]).attr("axis", axis)
            }
            4 => {
                let repeats = dice.ints(n, 1, 3);
                Trial::new("Tile", 13, [x, list(&repeats)])
            }
            _ => {
                let axis = dice.int(0, rank - 1);
                let most = dims[axis as usize] as i64 - 1;
                let indices = dice.ints(6, -most - 1, most);
                Trial::new("Gather", 13, [x, Tensor::from_i64(&[2, 3], &indices)]).attr("axis", axis)
            }
        }
    });
    compare(trials.collect::<Vec<_>>(), 220);
}

#[test]
fn resized_images_are_those_of_the_evaluator() {
    let mut dice = Dice(17);
    let trials = (0..200).map(|_| {
        let x = dice.floats(&[1, 2, dice.0 % 4 + 1, dice.0 % 3 + 2]);
        let mode = ["nearest", "linear", "cubic"][dice.int(0, 2) as usize];
        let coordinates = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"]
            [dice.int(0, 4) as usize];
        let nearest = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"][dice.int(0, 3) as usize];
        let sizes = [1, 2, dice.int(1, 9), dice.int(1, 9)];
        let inputs = vec![Some(x), None, None, Some(Tensor::from_i64(&[4], &sizes))];
        Trial { op: "Resize", version: 19, inputs, attrs: Vec::new() }
            .attr("mode", mode)
            .attr("coordinate_transformation_mode", coordinates)
            .attr("nearest_mode", nearest)
            .attr("antialias", if mode == "nearest" { 0 } else { dice.int(0, 1) })
            .attr("exclude_outside", dice.int(0, 1))
    });
    compare(trials.collect::<Vec<_>>(), 100);
}

/// In older versions, attributes are what arguments are later, and defaults differ.
#[test]
fn older_versions_are_those_of_the_evaluator() {
    let mut dice = Dice(19);
    let trial = |op, version, x: Tensor| Trial::new(op, version, [x]);
    let floats = |values: &[f32]| Tensor::from_f32(&[values.len() as u64], values);
    let bytes = |dims: &[u64]| {
        let values: Vec<u8> = (0..dims.iter().product()).map(|at: u64| (at * 37 + 11) as u8).collect();
        Tensor::dense(ElemType::UINT8, dims, values).unwrap()
    };
    let three = || floats(&[0.5, 1.0, 2.0]);
    let normalize =
        |version, x: Tensor| Trial::new("BatchNormalization", version, [x, three(), three(), three(), three()]);
    let trials = vec![
        trial("Clip", 6, dice.floats(&[2, 3, 4, 4]))
            .attr("min", AttrData::Float(-1.0))
            .attr("max", AttrData::Float(0.5)),
        trial("Clip", 6, dice.floats(&[2, 3, 4, 4])).attr("max", AttrData::Float(0.5)),
        trial("Clip", 1, dice.floats(&[2, 3, 4, 4])).attr("min", AttrData::Float(0.25)),
        trial("Pad", 2, dice.floats(&[2, 3, 4, 4]))
            .attr("pads", vec![0, 0, 1, 2, 0, 0, 2, 0])
            .attr("value", AttrData::Float(3.0)),
        trial("Pad", 2, dice.floats(&[2, 3, 4, 4])).attr("pads", vec![0, 0, 1, 2, 0, 0, 2, 0]).attr("mode", "reflect"),
        trial("Pad", 1, dice.floats(&[2, 3, 4, 4])).attr("paddings", vec![0, 0, 1, 2, 0, 0, 2, 0]).attr("mode", "edge"),
        trial("Slice", 1, dice.floats(&[2, 3, 4, 4]))
            .attr("axes", vec![1, 3])
            .attr("starts", vec![1, -3])
            .attr("ends", vec![100, -1]),
        trial("Slice", 1, dice.floats(&[2, 3, 4, 4])).attr("starts", vec![1, 0]).attr("ends", vec![2, 2]),
        trial("Squeeze", 11, dice.floats(&[1, 3, 1])).attr("axes", vec![0]),
        trial("Unsqueeze", 11, dice.floats(&[3])).attr("axes", vec![0, -1]),
        trial("Reshape", 1, dice.floats(&[3, 4])).attr("shape", vec![2, 6]),
        trial("ReduceSum", 11, dice.floats(&[2, 3, 4])).attr("axes", vec![1]).attr("keepdims", 0),
        trial("ReduceMean", 13, dice.floats(&[2, 3, 4])).attr("axes", vec![-1, 0]),
        trial("ReduceMax", 11, dice.floats(&[2, 3, 4])),
        trial("ReduceL1", 1, dice.floats(&[2, 3, 4])).attr("axes", vec![2]),
        trial("Softmax", 1, dice.floats(&[2, 3, 4])),
        trial("LogSoftmax", 11, dice.floats(&[2, 3, 4])).attr("axis", 2),
        trial("Hardmax", 11, dice.floats(&[2, 3, 4])),
        trial("Upsample", 7, dice.floats(&[1, 1, 2, 3])).attr("scales", AttrData::Floats(vec![1.0, 1.0, 2.0, 3.0])),
        trial("Upsample", 7, dice.floats(&[1, 1, 2, 3]))
            .attr("scales", AttrData::Floats(vec![1.0, 1.0, 2.0, 1.5]))
            .attr("mode", "linear"),
        trial("Upsample", 1, dice.floats(&[1, 1, 2, 3]))
            .attr("height_scale", AttrData::Float(2.0))
            .attr("width_scale", AttrData::Float(1.5)),
        trial("Selu", 1, dice.floats(&[7])),
        trial("HardSigmoid", 1, dice.floats(&[7])),
        trial("LeakyRelu", 1, dice.floats(&[7])),
        Trial::new("Add", 6, [dice.floats(&[2, 3]), dice.floats(&[2, 3])]),
        Trial::new("PRelu", 6, [dice.floats(&[2, 3]), dice.floats(&[1])]),
        Trial::new("Gemm", 6, [dice.floats(&[2, 3]), dice.floats(&[3, 4]), dice.floats(&[2, 4])]),
        Trial::new("Gemm", 9, [dice.floats(&[2, 3]), dice.floats(&[3, 4]), dice.floats(&[4])]),
        Trial::new("Concat", 1, [dice.floats(&[2, 3]), dice.floats(&[2, 4])]),
        trial("AveragePool", 7, dice.floats(&[1, 1, 5, 5]))
            .attr("kernel_shape", vec![3, 2])
            .attr("pads", vec![1, 0, 1, 1]),
        trial("MaxPool", 1, dice.floats(&[1, 1, 5, 5])).attr("kernel_shape", vec![3, 2]).attr("strides", vec![2, 2]),
        normalize(9, dice.floats(&[2, 3, 4])),
        normalize(7, dice.floats(&[2, 3])),
        normalize(6, dice.floats(&[2, 3, 4])).attr("is_test", 1),
        normalize(15, dice.floats(&[2, 3, 2, 2])),
        Trial::new("MatMulInteger", 10, [bytes(&[2, 2, 3]), bytes(&[3, 9]), bytes(&[]), bytes(&[])]),
        Trial::new("ConvInteger", 10, [bytes(&[1, 2, 4, 4]), bytes(&[3, 2, 3, 3]), bytes(&[])])
            .attr("pads", vec![1; 4]),
        trial("Flatten", 1, dice.floats(&[2, 3, 4])).attr("axis", 2),
        trial("Dropout", 7, dice.floats(&[2, 3])),
        trial("Dropout", 6, dice.floats(&[2, 3])).attr("is_test", 1),
    ];
    compare(trials, 36);
}

/// Tables for long axes are part of kernels, which are text of bounded length.
#[test]
fn long_axes_have_tables() {
    let mut dice = Dice(18);
    let trials = [1000, 1700, 2900].into_iter().flat_map(|size| {
        let x = dice.floats(&[1, 1, 2, 1000]);
        let sizes = Tensor::from_i64(&[4], &[1, 1, 3, size]);
        let resize = |mode: &str| {
            let inputs = vec![Some(x.clone()), None, None, Some(sizes.clone())];
            Trial { op: "Resize", version: 19, inputs, attrs: Vec::new() }
                .attr("mode", mode)
                .attr("nearest_mode", "floor")
                .attr("coordinate_transformation_mode", "half_pixel")
        };
        let pads = Tensor::from_i64(&[2], &[size / 3, 7]);
        let pad = Trial::new("Pad", 19, [dice.floats(&[1000]), pads]).attr("mode", "reflect");
        let pool = Trial::new("AveragePool", 22, [dice.floats(&[1, 1, size as u64])])
            .attr("kernel_shape", vec![3])
            .attr("pads", vec![1, 1]);
        [resize("nearest"), resize("linear"), pad, pool]
    });
    compare(trials.collect::<Vec<_>>(), 9);
}
