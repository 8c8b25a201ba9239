//! Gradients in models that onnxruntime runs, of operators of plugins, and of those that lie about theirs.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
    venv::{judge, program},
};
use std::{fs, path::Path, process::Command};

/// Convolution, both kinds of pooling, normalisation, and a loss by its body.
const NETWORK: &str = r#"def @main(%x: Tensor[(N, 1, 8, 8), float32], %t: Tensor[(N), int64]) -> (%loss) #[opset = {"": 17}] {
  %w1 = @"w1";
  %b1 = const(float32, [0.1, -0.1, 0.2, 0.0]) #[form = initializer];
  %scale = const(float32, [1.0, 0.5, 2.0, 1.5]) #[form = initializer];
  %bias = const(float32, [0.0, 0.1, -0.2, 0.3]) #[form = initializer];
  %mean = const(float32, [0.0, 0.1, 0.0, 0.2]) #[form = initializer];
  %variance = const(float32, [1.0, 0.5, 2.0, 1.0]) #[form = initializer];
  %w2 = @"w2";
  %w3 = @"w3";
  %c1 = Conv(%x, %w1, %b1, pads = [1, 1, 1, 1]);
  %n1 = BatchNormalization(%c1, %scale, %bias, %mean, %variance);
  %r1 = Relu(%n1);
  %p1 = MaxPool(%r1, kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]);
  %c2 = Conv(%p1, %w2, group = 4, pads = [1, 1, 1, 1]);
  %r2 = Relu(%c2);
  %p2 = AveragePool(%r2, kernel_shape = [2, 2], strides = [2, 2]);
  %g = GlobalAveragePool(%p2);
  %f = Flatten(%g);
  %logits = Gemm(%f, %w3, transB = 1);
  %loss = SoftmaxCrossEntropyLoss(%logits, %t);
  %loss
}
"#;

/// Attention, `LayerNormalization` and `Gelu` by their bodies, and a lookup of vectors.
const BLOCK: &str = r#"def @main(%x: Tensor[(N, 5), int64], %t: Tensor[(N, 5), int64]) -> (%loss) #[opset = {"": 20}] {
  %words = @"words";
  %s = const(float32, [1.0, 1.1, 0.9, 1.2, 1.0, 0.8, 1.0, 1.0]) #[form = initializer];
  %b = const(float32, [0.0, 0.1, 0.0, -0.1, 0.0, 0.0, 0.2, 0.0]) #[form = initializer];
  %wq = @"wq";
  %wk = @"wk";
  %wv = @"wv";
  %wo = @"wo";
  %wf = @"wf";
  %wg = @"wg";
  %e = Gather(%words, %x);
  %n = LayerNormalization(%e, %s, %b);
  %q0 = MatMul(%n, %wq);
  %k0 = MatMul(%n, %wk);
  %v0 = MatMul(%n, %wv);
  %q1 = Reshape(%q0, [0, 5, 2, 4]);
  %k1 = Reshape(%k0, [0, 5, 2, 4]);
  %v1 = Reshape(%v0, [0, 5, 2, 4]);
  %q2 = Transpose(%q1, perm = [0, 2, 1, 3]);
  %k2 = Transpose(%k1, perm = [0, 2, 3, 1]);
  %v2 = Transpose(%v1, perm = [0, 2, 1, 3]);
  %a0 = MatMul(%q2, %k2);
  %a1 = Div(%a0, 2.0);
  %a2 = Softmax(%a1);
  %a3 = MatMul(%a2, %v2);
  %a4 = Transpose(%a3, perm = [0, 2, 1, 3]);
  %a5 = Reshape(%a4, [0, 5, 8]);
  %a6 = MatMul(%a5, %wo);
  %h = Add(%e, %a6);
  %f0 = MatMul(%h, %wf);
  %f1 = Gelu(%f0);
  %f2 = MatMul(%f1, %wg);
  %y = Add(%h, %f2);
  %turned = Transpose(%words);
  %scores = MatMul(%y, %turned);
  %classes = Transpose(%scores, perm = [0, 2, 1]);
  %loss = SoftmaxCrossEntropyLoss(%classes, %t);
  %loss
}
"#;

/// Writes a module with a weight of small numbers for each of `weights`, and runs the pass with these options and two more.
fn differentiate(here: &Path, text: &str, weights: &[(&str, &[u64])], options: &str) -> Run {
    let mut text = text.to_owned();
    for (seed, (name, dims)) in weights.iter().enumerate() {
        let n: u64 = dims.iter().product();
        let value = |at: u64| ((at * 37 + seed as u64 * 17) % 61) as f32 / 61.0 - 0.47;
        let values: Vec<String> = (0..n).map(|at| format!("{:?}", value(at))).collect();
        let sizes: Vec<String> = dims.iter().map(ToString::to_string).collect();
        let (sizes, values) = (sizes.join(", "), values.join(", "));
        let constant = format!("const(float32, ({sizes}), [{values}]) #[form = initializer]");
        text = text.replace(&format!("@\"{name}\""), &constant);
    }
    fs::write(here.join("model.relay"), text).unwrap();
    let pass = format!("{{ pass = \"FirstOrderGradient\", options = {{ {options} }} }}");
    let steps = format!("name = \"train\"\nsteps = [{pass}, \"DeadCodeElimination\"]\n");
    fs::write(here.join("train.toml"), steps).unwrap();
    let run = |args: &[&str]| {
        let mut relais = command();
        Run::of(
            relais
                .current_dir(here)
                .args(args)
                .args(["--no-reproducer", "--allow-writable-plugins", "--plugin"])
                .arg(plugin("bodies")),
        )
    };
    run(&["run", "model.relay", "--passes", "InferType", "-o", "model.onnx"]).expect_success();
    run(&["run", "model.onnx", "-p", "train.toml", "-o", "train.onnx"])
}

/// Takes a step in onnxruntime, on inputs that are written by this program of NumPy.
fn descend(here: &Path, inputs: &str) {
    let script = format!("import numpy as np; r = np.random.default_rng(7); np.savez('inputs.npz', {inputs})");
    let made = Run::of(Command::new(program("python")).current_dir(here).args(["-c", &script]));
    assert_eq!(made.status, Some(0), "{}", made.stderr);
    judge(["descent".as_ref(), here.join("train.onnx").as_os_str(), here.join("inputs.npz").as_os_str()]);
}

#[test]
fn a_step_of_training_a_small_network_lowers_its_loss_in_onnxruntime() {
    let here = folder("gradients-network");
    let weights: &[(&str, &[u64])] = &[("w1", &[4, 1, 3, 3]), ("w2", &[4, 1, 3, 3]), ("w3", &[3, 4])];
    let wrt = r#"outputs = true, wrt = ["w1", "b1", "scale", "bias", "w2", "w3"]"#;
    differentiate(&here, NETWORK, weights, wrt).expect_success();
    descend(&here, "x = r.normal(size = (6, 1, 8, 8)).astype('float32'), t = r.integers(0, 3, 6)");
}

#[test]
fn a_step_of_training_a_transformer_block_lowers_its_loss_in_onnxruntime() {
    let here = folder("gradients-block");
    let square: &[u64] = &[8, 8];
    let weights: &[(&str, &[u64])] = &[
        ("words", &[11, 8]),
        ("wq", square),
        ("wk", square),
        ("wv", square),
        ("wo", square),
        ("wf", &[8, 12]),
        ("wg", &[12, 8]),
    ];
    let wrt = r#"outputs = true, wrt = ["words", "s", "b", "wq", "wk", "wv", "wo", "wf", "wg"]"#;
    differentiate(&here, BLOCK, weights, wrt).expect_success();
    descend(&here, "x = r.integers(0, 11, (3, 5)), t = r.integers(0, 11, (3, 5))");
}

#[test]
fn an_operator_of_a_plugin_brings_its_gradient() {
    let here = folder("gradients-plugin");
    let text = r#"def @main(%x: Tensor[(2, 3), float32]) -> (%loss) #[opset = {"": 18, "acme": 1}] {
  %w = const(float32, [0.5, -0.25, 0.75]) #[form = initializer];
  %p = Mul(%x, %w);
  %c = acme::Cube(%p);
  %q = Mul(%c, %c);
  %loss = ReduceSum(%q, keepdims = 0);
  %loss
}
"#;
    differentiate(&here, text, &[], r#"outputs = true, wrt = ["w"]"#).expect_success();
    descend(&here, "x = r.normal(size = (2, 3)).astype('float32') / 2");
}

#[test]
fn a_gradient_beside_a_model_is_written_with_it() {
    let here = folder("gradients-beside");
    let text = r#"def @main(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {"": 17}] {
  %w = const(float32, [0.5, -0.25, 0.75]) #[form = initializer];
  %p = Mul(%x, %w);
  %y = Tanh(%p);
  %y
}
"#;
    differentiate(&here, text, &[], r#"wrt = ["x", "w"]"#).expect_success();
    judge(["same".as_ref(), here.as_os_str(), here.join("train.onnx").as_os_str()]);
    let shown = Run::of(command().current_dir(&here).args(["show", "train.onnx"])).expect_success().stdout;
    assert!(shown.contains("main_grad") && shown.contains("x_grad") && shown.contains("w_grad"), "{shown}");
}

#[test]
fn everything_without_a_gradient_is_named_at_once_and_nothing_is_written() {
    let here = folder("gradients-refused");
    let text = r#"def @main(%x: Tensor[(2, 2), float32]) -> (%y) #[opset = {"": 17, "acme": 1}] {
  %a = acme::Unknown(%x);
  %b = Det(%x);
  %c = Add(%a, %b);
  %y = Exp(%c);
  %y
}
"#;
    let run = differentiate(&here, text, &[], "outputs = true").expect_failure();
    for expected in [
        "error[D003]: `acme::Unknown` has no gradient: no plugin describes its gradient",
        "error[D003]: `Det` has no gradient: no plugin describes its gradient",
        "%b = Det(%x)",
        "nothing was written",
    ] {
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
    }
    assert!(!here.join("train.onnx").exists());
}

#[test]
fn a_gradient_that_lies_is_a_fault_of_its_plugin() {
    let here = folder("gradients-untrue");
    for (op, why) in [
        ("GradientText", "expected"),
        ("GradientCount", "it made a gradient with 1 parameters and 1 results for a call with 1 arguments"),
        ("GradientLong", "it made a gradient of 1000000 bytes"),
        ("GradientType", "the gradient of argument 0: elements of type `int64` are not of type `float32`"),
        ("GradientPanics", "a body of a careless author"),
    ] {
        let text = format!(
            "def @main(%x: Tensor[(2), float32]) #[opset = {{\"\": 17, \"untrue\": 1}}] {{ %y = untrue::{op}(%x); %y }}\n"
        );
        fs::write(here.join("model.relay"), text).unwrap();
        let args = ["run", "model.relay", "--passes", "FirstOrderGradient", "-o", "out.relay", "--no-reproducer"];
        let mut relais = command();
        relais.current_dir(&here).args(args).args(["--allow-writable-plugins", "--plugin"]).arg(plugin("untrue"));
        let run = Run::of(&mut relais).expect_failure();
        let guilty = format!("the gradient of `untrue::{op}`, of plugin `untrue 0.6.6`, is at fault");
        assert!(run.stderr.contains(&guilty) && run.stderr.contains(why), "{op}: {}", run.stderr);
        assert!(!here.join("out.relay").exists());
    }
}
