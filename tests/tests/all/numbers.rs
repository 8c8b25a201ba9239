//! The effects of rewrites on numbers: the rules of `docs/numbers.md`, on values at which they would show.

use relais_conformance::interpret;
use relais_plugin_api::{boundary::local, ir::*, options::Value, text};
use relais_tests::{
    cli::{folder, relais},
    reference::Judge,
};

const FOLD: &str = "BackwardFoldScaleAxis";

/// Runs a pass, after types were inferred.
fn run(pass: &str, options: &[(&str, bool)], source: &str) -> (IRModule, local::LocalRun) {
    let none = Value::Struct(Vec::new());
    let module = text::parse_str(source).unwrap_or_else(|errors| panic!("{errors:?} in\n{source}"));
    let before = local::run("InferType", &none, &module).unwrap().module;
    let options = options.iter().map(|&(name, value)| (name.to_owned(), Value::Bool(value))).collect();
    let ran = local::run(pass, &Value::Struct(options), &before).unwrap();
    (before, ran)
}

/// The first result of `@main`, as doubles.
fn compute(module: &IRModule, inputs: &[Tensor]) -> Vec<f64> {
    let results = interpret::run(module, "main", inputs, &Judge).unwrap();
    results.into_iter().next().unwrap().unwrap().to_f64s().unwrap()
}

fn operators(module: &IRModule) -> Vec<String> {
    let f = module.main().unwrap();
    f.all_bindings().filter_map(|id| Some(f.call(id)?.op_name().to_owned())).collect()
}

/// A chain of arithmetic with constants, its results before and after folding, and the reasons for declining.
fn chain(elem: ElemType, steps: &[(&str, f64)], x: f64) -> (f64, f64, Vec<String>) {
    let name = elem.name().unwrap();
    let mut source = format!("def @main(%x: Tensor[(1), {name}]) #[opset = {{\"\": 17}}] {{\n");
    let mut last = "x".to_owned();
    for (at, (op, c)) in steps.iter().enumerate() {
        source += &format!("  %c{at} = const({name}, {c:?});\n  %v{at} = {op}(%{last}, %c{at});\n");
        last = format!("v{at}");
    }
    source += &format!("  %{last}\n}}\n");
    let (before, after) = run(FOLD, &[], &source);
    let input = [Tensor::from_f64s(elem, &[1], &[x]).unwrap()];
    let reasons = after.diagnostics.iter().map(ToString::to_string).collect();
    (compute(&before, &input)[0], compute(&after.module, &input)[0], reasons)
}

#[test]
fn n01_products_stay_in_range() {
    let half = ElemType::FLOAT16;
    let single = ElemType::FLOAT;
    for (elem, steps, x) in [
        (half, [("Mul", 1000.0), ("Mul", 100.0)], 1e-3),
        (half, [("Mul", 1e-4), ("Mul", 1e-4)], 3e4),
        (half, [("Mul", 0.5), ("Mul", 2000.0)], 60000.0),
        (single, [("Mul", 1e30), ("Mul", 1e30)], 1e-30),
        (single, [("Mul", 1e-30), ("Mul", 1e-30)], 1e35),
        (single, [("Mul", 1e-30), ("Mul", 1e30)], 1e-10),
        (single, [("Div", 1e-30), ("Div", 1e-30)], 1e-35),
        (single, [("Mul", 2.0), ("Mul", f64::INFINITY)], 0.0),
        (ElemType::DOUBLE, [("Mul", 1e200), ("Mul", 1e200)], 1e-200),
        (ElemType::BFLOAT16, [("Mul", 1e30), ("Mul", 1e30)], 1e-30),
    ] {
        let (old, new, reasons) = chain(elem, &steps, x);
        assert_eq!((old.to_bits(), reasons.len()), (new.to_bits(), 1), "{elem} {steps:?} of {x}: {old} and {new}");
        assert!(reasons[0].contains("factor"), "{reasons:?}");
    }
    // Folded, and within the rounding error of one constant.
    for (elem, steps, x, unit) in [
        (half, [("Mul", 3.0), ("Mul", 7.5)], 1.3, 2f64.powi(-11)),
        (half, [("Mul", 0.3), ("Div", 3.0)], 1.3, 2f64.powi(-11)),
        (single, [("Mul", 0.3), ("Mul", 700.0)], 1.3, 2f64.powi(-24)),
        (ElemType::BFLOAT16, [("Mul", 0.3), ("Mul", 700.0)], 1.3, 2f64.powi(-8)),
    ] {
        let (old, new, reasons) = chain(elem, &steps, x);
        assert!(
            (old - new).abs() <= 4.0 * unit * old.abs() && reasons.len() == 1,
            "{steps:?}: {old}, {new}, {reasons:?}"
        );
        assert!(reasons[0].contains("rewrote 1 call"), "{reasons:?}");
    }
}

#[test]
fn n02_sums_of_floats_stay() {
    for (elem, steps, x) in [
        (ElemType::FLOAT16, [("Add", 4e4), ("Add", 4e4)], -5e4),
        (ElemType::FLOAT, [("Add", 1e8), ("Sub", 1e8)], 1.0),
        (ElemType::DOUBLE, [("Sub", 1.0), ("Add", 2.0)], 0.5),
    ] {
        let (old, new, reasons) = chain(elem, &steps, x);
        assert_eq!(old.to_bits(), new.to_bits());
        assert!(reasons[0].contains("in the order in which they stand"), "{reasons:?}");
    }
    let source = "def @main(%x: Tensor[(1), float32]) #[opset = {\"\": 17}] {
        %c = const(float32, 1e+8); %1 = Add(%x, %c); %2 = Sub(%1, %c); %2 }";
    let one = [Tensor::from_f32(&[1], &[1.0])];
    let (before, asked) = run(FOLD, &[("reassociate", true)], source);
    assert_eq!((compute(&before, &one), compute(&asked.module, &one)), (vec![0.0], vec![1.0]));
}

/// The range and precision of a type, written down once more: largest value, least normal one, unit roundoff.
fn limits(elem: ElemType) -> (f64, f64, f64) {
    match elem {
        ElemType::FLOAT => (f64::from(f32::MAX), 2f64.powi(-126), 2f64.powi(-24)),
        ElemType::DOUBLE => (f64::MAX, 2f64.powi(-1022), 2f64.powi(-53)),
        ElemType::FLOAT16 => (65504.0, 2f64.powi(-14), 2f64.powi(-11)),
        _ => ((2.0 - 2f64.powi(-7)) * 2f64.powi(127), 2f64.powi(-126), 2f64.powi(-8)),
    }
}

/// A sequence of numbers that look random; the same every time.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// Numbers of either sign up to `size`, as the type holds them.
    fn numbers(&mut self, elem: ElemType, n: usize, size: f64) -> Vec<f64> {
        let values: Vec<f64> = (0..n).map(|_| size * (2.0 * self.unit() - 1.0)).collect();
        Tensor::from_f64s(elem, &[n as u64], &values).unwrap().to_f64s().unwrap()
    }
}

fn list(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", values.join(", "))
}

/// A producer of weights `w[channel][term]` and bias `b`, then a scale and a shift for each channel.
struct Scaled {
    elem: ElemType,
    kind: &'static str,
    outer: &'static str,
    n_channels: usize,
    n_terms: usize,
    w: Vec<f64>,
    b: Vec<f64>,
    s: Vec<f64>,
    t: Vec<f64>,
    x: Vec<f64>,
}

impl Scaled {
    fn new(random: &mut Random, elem: ElemType) -> Self {
        let (greatest, least, _) = limits(elem);
        let (n_channels, n_terms) = (1 + random.below(3), 3 + random.below(6));
        // Near one of the limits, on either side, or far from both.
        let edge = |random: &mut Random| match random.below(4) {
            0 => greatest / 256.0 * 2f64.powf(2.0 * random.unit() - 1.5),
            1 => least * 2f64.powf(3.0 * random.unit() - 1.0),
            _ => 1.0,
        };
        let size = 2f64.powf(8.0 * random.unit() - 4.0);
        let of_product = edge(random);
        let scale = (of_product / size).min(greatest / 2.0);
        let w = random.numbers(elem, n_channels * n_terms, size);
        let mut s = random.numbers(elem, n_channels, scale);
        if random.below(8) == 0 {
            s[0] = 0.0;
        }
        let largest = of_product.max(size);
        let bias = if random.below(4) == 0 { greatest / 128.0 } else { largest };
        let b = random.numbers(elem, n_channels, bias.min(greatest / 4.0));
        let t = random.numbers(elem, n_channels, bias.min(greatest / 4.0));
        // So that sums stay within the limits, mostly.
        let x = random.numbers(elem, n_terms, (greatest / 512.0 / n_terms as f64 / largest).min(4.0));
        let kind = ["Conv", "ConvTranspose", "Gemm"][random.below(3)];
        let outer = ["Mul", "Add", "Both", "BatchNormalization"][random.below(4)];
        Self { elem, kind, outer, n_channels, n_terms, w, b, s, t, x }
    }

    fn source(&self) -> String {
        let elem = self.elem.name().unwrap();
        let (m, n) = (self.n_channels, self.n_terms);
        let (x, ones) = if self.kind == "Gemm" { (format!("1, {n}"), "") } else { (format!("1, {n}, 1, 1"), ", 1, 1") };
        let mut source = format!("def @main(%x: Tensor[({x}), {elem}]) #[opset = {{\"\": 17}}] {{\n");
        let w = match self.kind {
            "ConvTranspose" => (0..m * n).map(|at| self.w[at % m * n + at / m]).collect(),
            _ => self.w.clone(),
        };
        let shape = if self.kind == "ConvTranspose" { format!("{n}, {m}, 1, 1") } else { format!("{m}, {n}{ones}") };
        source +=
            &format!("  %w = const({elem}, ({shape}), {});\n  %b = const({elem}, {});\n", list(&w), list(&self.b));
        let attrs = if self.kind == "Gemm" { ", transB = 1" } else { "" };
        source += &format!("  %c = {}(%x, %w, %b{attrs});\n", self.kind);
        let per_channel = |values: &[f64]| format!("const({elem}, ({m}{ones}), {})", list(values));
        source += &match self.outer {
            "Mul" => format!("  %s = {};\n  %y = Mul(%c, %s);\n", per_channel(&self.s)),
            "Add" => format!("  %t = {};\n  %y = Add(%c, %t);\n", per_channel(&self.t)),
            "Both" => format!(
                "  %s = {};\n  %p = Mul(%c, %s);\n  %t = {};\n  %y = Add(%p, %t);\n",
                per_channel(&self.s),
                per_channel(&self.t)
            ),
            _ => format!(
                "  %s = const({elem}, {});\n  %t = const({elem}, {});\n  %m = const({elem}, {});\n  \
                 %v = const({elem}, {});\n  %y = BatchNormalization(%c, %s, %t, %m, %v, epsilon = 0.0);\n",
                list(&self.s),
                list(&self.t),
                list(&vec![0.0; m]),
                list(&vec![1.0; m])
            ),
        };
        source + "  %y\n}\n"
    }

    fn scale(&self, channel: usize) -> f64 {
        if self.outer == "Add" { 1.0 } else { self.s[channel] }
    }

    fn shift(&self, channel: usize) -> f64 {
        if self.outer == "Mul" { 0.0 } else { self.t[channel] }
    }

    /// N3, from the text of the rule: whether weights and biases may be folded.
    fn may_be_folded(&self) -> bool {
        let (greatest, least, _) = limits(self.elem);
        (0..self.n_channels).all(|channel| {
            let (s, b, t) = (self.scale(channel), self.b[channel], self.shift(channel));
            let weights = &self.w[channel * self.n_terms..][..self.n_terms];
            let largest = weights.iter().map(|w| (w * s).abs()).fold(0.0, f64::max);
            let weights_fit = s == 1.0 || largest == 0.0 || (least <= largest && largest <= greatest / 256.0);
            weights_fit && [b * s, t, b * s + t].iter().all(|value| value.abs() <= greatest / 256.0)
        })
    }

    /// N4: how far each result may be off; `None` where a partial sum comes too near the limits.
    fn bounds(&self) -> Option<Vec<f64>> {
        let (greatest, least, unit) = limits(self.elem);
        let n = self.n_terms as f64;
        let sum_of_x: f64 = self.x.iter().map(|x| x.abs()).sum();
        (0..self.n_channels)
            .map(|channel| {
                let (s, b, t) = (self.scale(channel).abs(), self.b[channel].abs(), self.shift(channel).abs());
                let weights = &self.w[channel * self.n_terms..][..self.n_terms];
                let sum: f64 = weights.iter().zip(&self.x).map(|(w, x)| (w * x).abs()).sum();
                let is_far = sum + b < greatest / 256.0 && (sum + b) * s + t < greatest / 256.0;
                let underflow = 2.0 * unit * least * ((n + 1.0) * (1.0 + s) + sum_of_x);
                is_far.then_some(4.0 * unit * (n * sum * s + b * s + t) + underflow)
            })
            .collect()
    }
}

#[test]
fn n03_scales_are_folded_where_weights_and_biases_fit() {
    let mut random = Random(3);
    let mut counts = [0, 0];
    for at in 0..1200 {
        let elem = [ElemType::FLOAT, ElemType::FLOAT16, ElemType::BFLOAT16, ElemType::DOUBLE][at % 4];
        let case = Scaled::new(&mut random, elem);
        // Of two steps the first may be folded alone.
        if case.outer == "Both" {
            continue;
        }
        let (_, ran) = run(FOLD, &[], &case.source());
        let is_folded = ran.counts.get("rewritten") == Some(&1);
        assert_eq!(is_folded, case.may_be_folded(), "{}", case.source());
        let reasons: Vec<String> = ran.diagnostics.iter().map(ToString::to_string).collect();
        assert!(is_folded || reasons[0].contains("too near the limits"), "{reasons:?}");
        counts[usize::from(is_folded)] += 1;
    }
    assert!(counts.iter().all(|&n| n > 100), "{counts:?}");
}

#[test]
fn n03_a_scale_of_zero_hides_no_nan_and_no_infinity() {
    let folder = folder("scale-of-zero");
    let (input, output) = (folder.join("in.relay"), folder.join("out.relay"));
    let source = "def @main(%x: Tensor[(1, 1, 1, 4), float32]) #[opset = {\"\": 17}] {
        %w = const(float32, (2, 1, 1, 1), [2.0, 3.0]);
        %c = Conv(%x, %w);
        %gamma = const(float32, [0.0, 2.0]);
        %beta = const(float32, [0.5, 0.5]);
        %mean = const(float32, [0.0, 0.0]);
        %variance = const(float32, [1.0, 1.0]);
        %y = BatchNormalization(%c, %gamma, %beta, %mean, %variance, epsilon = 0.0);
        %y }";
    std::fs::write(&input, source).unwrap();
    let args = ["run".as_ref(), input.as_os_str(), "-o".as_ref(), output.as_os_str()];
    relais(args).expect_success();
    let before = text::parse_str(source).unwrap();
    let after = text::parse_str(&std::fs::read_to_string(&output).unwrap()).unwrap();
    assert_eq!(operators(&after), ["Conv"]);
    let x = [Tensor::from_f32(&[1, 1, 1, 4], &[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0])];
    for module in [before, after] {
        let results = format!("{:?}", compute(&module, &x));
        assert_eq!(results, "[NaN, NaN, NaN, 0.5, NaN, inf, -inf, 6.5]");
    }
}

#[test]
fn n04_results_keep_within_the_promise() {
    let mut random = Random(4);
    let (mut n_judged, mut n_differing) = ([0; 4], 0);
    for at in 0..2000 {
        let elem = [ElemType::FLOAT, ElemType::FLOAT16, ElemType::BFLOAT16, ElemType::DOUBLE][at % 4];
        let case = Scaled::new(&mut random, elem);
        let Some(bounds) = case.bounds() else { continue };
        let (before, ran) = run(FOLD, &[], &case.source());
        if !ran.changed {
            continue;
        }
        let n = case.n_terms as u64;
        let dims = if case.kind == "Gemm" { vec![1, n] } else { vec![1, n, 1, 1] };
        let x = [Tensor::from_f64s(elem, &dims, &case.x).unwrap()];
        let (old, new) = (compute(&before, &x), compute(&ran.module, &x));
        for ((old, new), bound) in old.iter().zip(&new).zip(&bounds) {
            assert!((old - new).abs() <= *bound, "{old} and {new} differ by more than {bound}\n{}", case.source());
            n_differing += usize::from(old != new);
        }
        n_judged[at % 4] += 1;
    }
    assert!(n_judged.iter().all(|&n| n > 50) && n_differing > 100, "{n_judged:?}, {n_differing}");
}

#[test]
fn n07_nothing_comes_between_quantisation_and_its_operator() {
    let source = "def @main(%x: Tensor[(1, 1, 2, 2), uint8]) #[opset = {\"\": 17}] {
        %s = const(float32, 0.5);
        %1 = DequantizeLinear(%x, %s);
        %2 = const(int8, (1, 1, 1, 1), [100]);
        %3 = DequantizeLinear(%2, %s);
        %4 = Conv(%1, %3);
        %z = const(uint8, 0);
        %5 = QuantizeLinear(%4, %s, %z);
        %6 = DequantizeLinear(%5, %s, %z);
        %6 }";
    let kept = ["DequantizeLinear", "DequantizeLinear", "Conv", "QuantizeLinear", "DequantizeLinear"];
    for pass in [FOLD, "FoldConstant", "EliminateNoOp", "EliminateCommonSubexpr", "SimplifyInference"] {
        let (_, ran) = run(pass, &[], source);
        assert_eq!(operators(&ran.module), kept, "{pass}");
    }
    let (_, ran) = run("FoldConstant", &[], source);
    assert!(ran.diagnostics.iter().any(|said| said.to_string().contains("integer kernels")), "{:?}", ran.diagnostics);
    let (_, asked) = run("FoldConstant", &[("quantization", true)], source);
    assert_eq!(operators(&asked.module), ["DequantizeLinear", "Conv", "QuantizeLinear", "DequantizeLinear"]);
}

#[test]
fn n06_the_strict_pipeline_is_exact() {
    let folder = folder("strict");
    let (input, output) = (folder.join("in.relay"), folder.join("out.relay"));
    let source = "def @main(%x: Tensor[(1, 1, 2, 2), float32]) #[opset = {\"\": 17}] {
        %w = const(float32, (1, 1, 1, 1), [0.1]);
        %1 = Conv(%x, %w);
        %c = const(float32, 3.0);
        %2 = Mul(%1, %c);
        %3 = Mul(%2, %c);
        %e = Exp(%c);
        %4 = Mul(%e, %3);
        %s = Sub(%c, %c);
        %n = Neg(%s);
        %5 = Add(%4, %n);
        %6 = Identity(%5);
        %6 }";
    std::fs::write(&input, source).unwrap();
    let run = |pipeline: &str| {
        let args =
            ["run".as_ref(), input.as_os_str(), "-o".as_ref(), output.as_os_str(), "-p".as_ref(), pipeline.as_ref()];
        relais(args).expect_success();
        operators(&text::parse_str(&std::fs::read_to_string(&output).unwrap()).unwrap())
    };
    // Exact rewrites were made, and no others.
    assert_eq!(run("strict"), ["Conv", "Mul", "Mul", "Exp", "Mul"]);
    assert_eq!(run("default"), ["Conv"]);
}
