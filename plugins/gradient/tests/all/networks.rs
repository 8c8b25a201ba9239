//! Whole functions: conditionals, calls, networks.

use crate::common::{agrees_at, agrees_by_body, agrees_with, parse, run, with_gradient};

const OPSET: &str = "#[opset = {\"\": 17}]";

#[test]
fn a_value_that_is_used_often_gets_the_sum() {
    agrees_with(
        &format!(
            "def @main(%x: Tensor[(3), float64], %w: Tensor[(3), float64]) {OPSET} {{
                %a = Mul(%x, %w); %b = Sin(%a); %c = Mul(%b, %a); %d = Mul(%c, %x); %e = Add(%d, %b); (%e, %a)
            }}"
        ),
        &[],
        2e-7,
    );
}

#[test]
fn a_value_without_influence_has_zeros() {
    let text = format!(
        "def @main(%x: Tensor[(3), float64], %w: Tensor[(2, N), float64]) {OPSET} {{
            %s = Shape(%w); %n = Size(%s); %m = Cast(%n, to = 11); %y = Mul(%x, %m); %y
        }}"
    );
    agrees_with(&text, &[("N", 3)], 2e-7);
}

#[test]
fn conditionals_are_differentiated_branch_by_branch() {
    // Both branches, in each of which other values are captured, and one of which has a constant.
    for cond in ["Greater(%s, const(float64, 0.0))", "Less(%s, const(float64, 0.0))"] {
        agrees_with(
            &format!(
                "def @main(%x: Tensor[(3), float64], %w: Tensor[(3), float64], %s: Tensor[(), float64]) {OPSET} {{
                    %a = Sin(%x);
                    %c = {cond};
                    (%p, %q) = if (%c) {{
                        %1 = Mul(%a, %w);
                        %2 = Exp(%1);
                        (%2, %1)
                    }} else {{
                        %3 = const(float64, [1.0, 2.0, 3.0]);
                        %4 = Mul(%a, %s);
                        %5 = Mul(%4, %a);
                        (%5, %3)
                    }} -> 2;
                    %y = Mul(%p, %q);
                    %z = Mul(%y, %a);
                    %z
                }}"
            ),
            &[],
            2e-7,
        );
    }
}

#[test]
fn conditionals_in_conditionals_are_too() {
    for (outer, inner) in [("true", "false"), ("true", "true"), ("false", "true")] {
        let text = format!(
            "def @main(%x: Tensor[(3), float64], %w: Tensor[(3), float64]) {OPSET} {{
                %c = const(bool, {outer});
                %d = const(bool, {inner});
                %y = if (%c) {{
                    %a = Mul(%x, %w);
                    %b = if (%d) {{ %1 = Sin(%a); %2 = Mul(%1, %x); %2 }} else {{ %3 = Exp(%a); %3 }};
                    %e = Mul(%b, %a);
                    %e
                }} else {{ %x }};
                %z = Mul(%y, %y);
                %z
            }}"
        );
        agrees_with(&text, &[], 2e-7);
    }
}

#[test]
fn functions_of_the_module_are_differentiated_through() {
    let text = format!(
        "def @main(%x: Tensor[(2, 3), float64], %w: Tensor[(3), float64]) {OPSET} {{
            %a = @twice(%x, %w); %b = @twice(%a, %x); %y = Mul(%b, %w); %y
        }}
        def @twice(%u, %v) {OPSET} {{ %1 = @once(%u, %v); %2 = @once(%1, %v); %2 }}
        def @once(%u, %v) {OPSET} {{ %1 = Mul(%u, %v); %2 = Tanh(%1); %2 }}"
    );
    agrees_with(&text, &[], 2e-7);
}

#[test]
fn losses_are_differentiated_through_their_bodies() {
    for (opset, loss) in [
        (13, "%y = SoftmaxCrossEntropyLoss(%x, [2, 0, 1, 2]);"),
        (17, "%y = SoftmaxCrossEntropyLoss(%x, [2, 0, 1, 2], const(float64, [0.5, 1.5, 1.0]), reduction = \"sum\");"),
        (17, "%y = SoftmaxCrossEntropyLoss(%x, [2, 0, 1, 2], reduction = \"none\", ignore_index = 0);"),
        (17, "%p = LogSoftmax(%x); %y = NegativeLogLikelihoodLoss(%p, [2, 0, 1, 2]);"),
    ] {
        agrees_at(opset, "%x: Tensor[(4, 3), float64]", loss, &[]);
    }
}

/// Two convolutions, one with groups, normalisation, both kinds of pooling, and a loss.
const NETWORK: &str =
    "def @main(%x: Tensor[(N, 2, 8, 8), float64], %w1: Tensor[(4, 2, 3, 3), float64], %b1: Tensor[(4), float64],
        %scale: Tensor[(4), float64], %bias: Tensor[(4), float64], %w2: Tensor[(4, 1, 3, 3), float64],
        %w3: Tensor[(3, 4), float64], %b3: Tensor[(3), float64]) #[opset = {\"\": 17}] {
    %c1 = Conv(%x, %w1, %b1, pads = [1, 1, 1, 1]);
    %mean = const(float64, [0.1, 0.2, -0.1, 0.3]);
    %variance = const(float64, [1.0, 0.5, 2.0, 1.5]);
    %n1 = BatchNormalization(%c1, %scale, %bias, %mean, %variance);
    %r1 = Sigmoid(%n1);
    %p1 = MaxPool(%r1, kernel_shape = [2, 2], strides = [2, 2]);
    %c2 = Conv(%p1, %w2, group = 4, strides = [2, 2], pads = [1, 1, 1, 1]);
    %r2 = Elu(%c2);
    %g = GlobalAveragePool(%r2);
    %f = Flatten(%g);
    %logits = Gemm(%f, %w3, %b3, transB = 1);
    %loss = SoftmaxCrossEntropyLoss(%logits, [1, 2]);
    %loss
}";

#[test]
fn a_small_convolutional_network() {
    agrees_with(NETWORK, &[("N", 2)], 1e-6);
}

/// Attention with two heads, both residual connections, and a network with `Gelu` by its body.
const BLOCK: &str = "def @main(%x: Tensor[(B, 3, 4), float64], %wq: Tensor[(4, 4), float64], %wk: Tensor[(4, 4), float64],
        %wv: Tensor[(4, 4), float64], %wo: Tensor[(4, 4), float64], %w1: Tensor[(4, 6), float64], %b1: Tensor[(6), float64],
        %w2: Tensor[(6, 4), float64], %s: Tensor[(4), float64]) #[opset = {\"\": 20}] {
    %m = ReduceMean(%x, [-1]);
    %d = Sub(%x, %m);
    %q = Pow(%d, const(float64, 2.0));
    %v = ReduceMean(%q, [-1]);
    %e = Add(%v, const(float64, 1e-5));
    %r = Sqrt(%e);
    %n0 = Div(%d, %r);
    %n = Mul(%n0, %s);
    %q0 = MatMul(%n, %wq);
    %k0 = MatMul(%n, %wk);
    %v0 = MatMul(%n, %wv);
    %q1 = Reshape(%q0, [0, 3, 2, 2]);
    %k1 = Reshape(%k0, [0, 3, 2, 2]);
    %v1 = Reshape(%v0, [0, 3, 2, 2]);
    %q2 = Transpose(%q1, perm = [0, 2, 1, 3]);
    %k2 = Transpose(%k1, perm = [0, 2, 3, 1]);
    %v2 = Transpose(%v1, perm = [0, 2, 1, 3]);
    %a0 = MatMul(%q2, %k2);
    %a1 = Div(%a0, const(float64, 1.41421356));
    %a2 = Softmax(%a1);
    %a3 = MatMul(%a2, %v2);
    %a4 = Transpose(%a3, perm = [0, 2, 1, 3]);
    %a5 = Reshape(%a4, [0, 3, 4]);
    %a6 = MatMul(%a5, %wo);
    %h = Add(%x, %a6);
    %f0 = MatMul(%h, %w1);
    %f1 = Add(%f0, %b1);
    %f2 = Gelu(%f1);
    %f3 = MatMul(%f2, %w2);
    %y = Add(%h, %f3);
    %z = Mul(%y, %y);
    %loss = ReduceMean(%z, keepdims = 0);
    %loss
}";

#[test]
fn a_transformer_block() {
    agrees_by_body(BLOCK, &[("B", 2)], 1e-6);
}

#[test]
fn a_small_step_against_the_gradient_lowers_the_loss() {
    let (module, differentiated) = (parse(NETWORK), with_gradient(NETWORK));
    let main = module.main().unwrap();
    let inputs = crate::common::inputs(main, &[("N", 2)]);
    let results = run(&differentiated, "main_grad", &inputs);
    let moved: Vec<_> = inputs
        .iter()
        .zip(&results[1..])
        .map(|(input, gradient)| {
            let pairs = input.to_f64s().unwrap().into_iter().zip(gradient.to_f64s().unwrap());
            let values: Vec<f64> = pairs.map(|(value, slope)| value - 0.1 * slope).collect();
            relais_plugin_api::ir::Tensor::from_f64s(input.elem(), input.dims(), &values).unwrap()
        })
        .collect();
    let loss = |inputs: &[_]| run(&module, "main", inputs)[0].to_f64().unwrap();
    let (before, after) = (loss(&inputs), loss(&moved));
    assert!(after < before - 1e-3, "{before} {after}");
}
