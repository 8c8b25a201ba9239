//! Each operator against central differences.

use crate::common::{agrees, agrees_at, agrees_by_body, agrees_with};

const X: &str = "%x: Tensor[(2, 3), float64]";

#[test]
fn functions_of_single_elements() {
    for op in [
        "Neg(%x)",
        "Exp(%x)",
        "Abs(%x)",
        "Sin(%x)",
        "Cos(%x)",
        "Tan(%x)",
        "Tanh(%x)",
        "Sigmoid(%x)",
        "Erf(%x)",
        "Atan(%x)",
        "Sinh(%x)",
        "Cosh(%x)",
        "Reciprocal(%x)",
        "Identity(%x)",
        "Softplus(%x)",
        "Softsign(%x)",
        "Relu(%x)",
        "LeakyRelu(%x, alpha = 0.125)",
        "Elu(%x, alpha = 0.75)",
        "Selu(%x)",
        "HardSigmoid(%x, alpha = 0.5)",
        "Mish(%x)",
    ] {
        agrees(22, X, op);
    }
    for op in ["HardSwish(%x)", "Gelu(%x)", "Gelu(%x, approximate = \"tanh\")"] {
        let lines = format!("{{ %y = {op}; %z = Mul(%y, %y); %z }}");
        agrees_by_body(&format!("def @main({X}) #[opset = {{\"\": 22}}] {lines}"), &[], 2e-7);
    }
    // Of single precision only.
    let celu = "def @main(%x: Tensor[(3), float32]) #[opset = {\"\": 17}] { %y = Celu(%x, alpha = 0.75); %z = Mul(%y, %y); %z }";
    agrees_with(celu, &[], 1e-3);
    for op in ["%p = Exp(%x); %y = Log(%p);", "%p = Exp(%x); %y = Sqrt(%p);"] {
        agrees(17, X, op);
    }
}

#[test]
fn arithmetic_is_summed_back_where_it_was_broadcast() {
    for (a, b) in
        [("(2, 3)", "(2, 3)"), ("(2, 3)", "(3)"), ("(2, 1)", "(1, 3)"), ("(2, 3)", "()"), ("(1)", "(4, 1, 2)")]
    {
        let params = format!("%a: Tensor[{a}, float64], %b: Tensor[{b}, float64]");
        for op in ["Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean"] {
            agrees(17, &params, &format!("{op}(%a, %b)"));
        }
        agrees(17, &params, "%p = Exp(%a); %y = Pow(%p, %b);");
        agrees(17, &params, "%c = Greater(%b, const(float64, 0.2)); %y = Where(%c, %a, %b);");
    }
    agrees(17, X, "Mul(%x, %x)");
    agrees(17, X, "Pow(%x, const(float64, 3.0))");
    agrees(17, X, "Pow(%x, const(int64, 2))");
    agrees(17, X, "Pow(%x, const(float64, [0.0, 1.0, 2.0]))");
}

#[test]
fn sizes_may_be_unknown_where_ranks_are_known() {
    let params = "%a: Tensor[(N, 3), float64], %b: Tensor[(M, 3), float64]";
    for (n, m) in [(2, 2), (1, 2), (2, 1), (1, 1)] {
        for op in ["Add(%a, %b)", "Mul(%a, %b)", "Div(%a, %b)"] {
            agrees_at(17, params, op, &[("N", n), ("M", m)]);
        }
    }
    let x = "%x: Tensor[(N, 3), float64]";
    for lines in [
        "ReduceMean(%x, axes = [0], keepdims = 0)",
        "ReduceSum(%x, [1], keepdims = 0)",
        "%s = Shape(%x); %r = Reshape(%x, [3, -1]); %t = Transpose(%r); %y = Reshape(%t, %s);",
        "Concat(%x, %x, axis = 0)",
        "%e = Exp(%x); %y = Concat(%x, %e, axis = 0);",
        "Slice(%x, [1], [3], [1])",
    ] {
        agrees_at(17, x, lines, &[("N", 2)]);
    }
}

#[test]
fn products_of_matrices() {
    for (a, b) in [
        ("(2, 3)", "(3, 4)"),
        ("(3)", "(3, 4)"),
        ("(2, 3)", "(3)"),
        ("(3)", "(3)"),
        ("(2, 2, 3)", "(3, 2)"),
        ("(2, 3)", "(2, 3, 2)"),
        ("(2, 1, 2, 3)", "(3, 3, 1)"),
        ("(3)", "(2, 3, 2)"),
        ("(2, 2, 3)", "(3)"),
    ] {
        agrees(17, &format!("%a: Tensor[{a}, float64], %b: Tensor[{b}, float64]"), "MatMul(%a, %b)");
    }
    for (turn_a, a) in [(0, "(2, 3)"), (1, "(3, 2)")] {
        for (turn_b, b) in [(0, "(3, 4)"), (1, "(4, 3)")] {
            for c in ["(2, 4)", "(4)", "(2, 1)", "()"] {
                let params = format!("%a: Tensor[{a}, float64], %b: Tensor[{b}, float64], %c: Tensor[{c}, float64]");
                agrees(
                    17,
                    &params,
                    &format!("Gemm(%a, %b, %c, alpha = 0.5, beta = 1.5, transA = {turn_a}, transB = {turn_b})"),
                );
            }
        }
    }
    agrees(17, "%a: Tensor[(2, 3), float64], %b: Tensor[(3, 4), float64]", "Gemm(%a, %b)");
}

#[test]
fn convolutions() {
    for (x, w, attrs) in [
        ("(2, 3, 5, 4)", "(2, 3, 3, 2)", ""),
        ("(2, 3, 5, 4)", "(2, 3, 3, 2)", ", pads = [1, 0, 2, 1]"),
        ("(1, 2, 6, 7)", "(3, 2, 3, 3)", ", strides = [2, 3], pads = [1, 1, 1, 1]"),
        ("(1, 2, 7, 7)", "(3, 2, 2, 3)", ", dilations = [2, 2], strides = [2, 1]"),
        ("(2, 4, 5, 5)", "(4, 2, 3, 3)", ", group = 2, pads = [1, 1, 1, 1]"),
        ("(2, 3, 5, 6)", "(3, 1, 3, 3)", ", group = 3, strides = [2, 2]"),
        ("(2, 3, 5, 6)", "(6, 1, 2, 3)", ", group = 3, strides = [2, 2], auto_pad = \"SAME_UPPER\""),
        ("(2, 3, 5, 6)", "(2, 3, 2, 3)", ", strides = [2, 2], auto_pad = \"SAME_LOWER\""),
        ("(2, 3, 7)", "(2, 3, 3)", ", strides = [2], auto_pad = \"VALID\""),
    ] {
        let n = w.trim_matches(['(', ')']).split(", ").next().unwrap();
        let params = format!("%x: Tensor[{x}, float64], %w: Tensor[{w}, float64], %b: Tensor[({n}), float64]");
        agrees(17, &params, &format!("Conv(%x, %w, %b{attrs})"));
    }
    let params = "%x: Tensor[(N, 2, H, W), float64], %w: Tensor[(2, 1, 3, 3), float64]";
    agrees_at(
        17,
        params,
        "Conv(%x, %w, group = 2, strides = [2, 2], pads = [1, 1, 1, 1])",
        &[("N", 1), ("H", 6), ("W", 5)],
    );
    agrees_at(17, params, "Conv(%x, %w, group = 2)", &[("N", 2), ("H", 4), ("W", 5)]);
}

#[test]
fn pools() {
    for (x, attrs) in [
        ("(2, 2, 4, 6)", "kernel_shape = [2, 2], strides = [2, 2]"),
        ("(1, 2, 5, 5)", "kernel_shape = [3, 2], strides = [2, 1], pads = [1, 0, 1, 1]"),
        ("(1, 2, 5, 5)", "kernel_shape = [3, 3], strides = [2, 2], auto_pad = \"SAME_UPPER\""),
        ("(1, 2, 7)", "kernel_shape = [3], strides = [1]"),
    ] {
        let params = format!("%x: Tensor[{x}, float64]");
        agrees(17, &params, &format!("MaxPool(%x, {attrs})"));
        agrees(17, &params, &format!("AveragePool(%x, {attrs})"));
        agrees(17, &params, &format!("AveragePool(%x, {attrs}, count_include_pad = 1)"));
    }
    agrees(13, "%x: Tensor[(1, 2, 4, 4), float64]", "MaxPool(%x, kernel_shape = [2, 2], strides = [2, 2])");
    agrees(
        17,
        "%x: Tensor[(1, 2, 5, 5), float64]",
        "MaxPool(%x, kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1)",
    );
    agrees(17, "%x: Tensor[(2, 3, 4, 2), float64]", "GlobalAveragePool(%x)");
    agrees(17, "%x: Tensor[(2, 3, 4, 2), float64]", "GlobalMaxPool(%x)");
    agrees_at(17, "%x: Tensor[(N, 3, H, H), float64]", "GlobalAveragePool(%x)", &[("N", 2), ("H", 3)]);
}

#[test]
fn normalisations() {
    for (opset, op) in [
        (17, "Softmax(%x)"),
        (17, "Softmax(%x, axis = 0)"),
        (17, "LogSoftmax(%x)"),
        (11, "Softmax(%x)"),
        (11, "LogSoftmax(%x, axis = 0)"),
    ] {
        agrees(opset, X, op);
    }
    agrees(11, "%x: Tensor[(2, 2, 3), float64]", "Softmax(%x, axis = 1)");
    let of_channels = "%x: Tensor[(2, 3, 2), float64], %s: Tensor[(3), float64], %b: Tensor[(3), float64], %m: Tensor[(3), float64], %v: Tensor[(3), float64]";
    agrees(17, of_channels, "%p = Exp(%v); %y = BatchNormalization(%x, %s, %b, %m, %p);");
    let of_layer = "%x: Tensor[(2, 2, 3), float64], %s: Tensor[(3), float64], %b: Tensor[(3), float64]";
    for op in
        ["LayerNormalization(%x, %s, %b, stash_type = 11)", "LayerNormalization(%x, %s, axis = 1, stash_type = 11)"]
    {
        let lines = format!("{{ %y = {op}; %z = Mul(%y, %y); %both = Add(%z, %y); %both }}");
        agrees_by_body(&format!("def @main({of_layer}) #[opset = {{\"\": 17}}] {lines}"), &[], 2e-7);
    }
}

#[test]
fn reductions() {
    for op in ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"] {
        for axes in ["", ", [0]", ", [-1]", ", [0, 1]"] {
            for keepdims in [0, 1] {
                agrees(18, "%x: Tensor[(2, 3, 2), float64]", &format!("{op}(%x{axes}, keepdims = {keepdims})"));
                let axes = axes.replace(", [", ", axes = [");
                agrees(11, "%x: Tensor[(2, 3, 2), float64]", &format!("{op}(%x{axes}, keepdims = {keepdims})"));
            }
        }
    }
    agrees(18, X, "ReduceSum(%x, noop_with_empty_axes = 1)");
    for op in ["ReduceL2(%x, [1])", "ReduceSumSquare(%x, [0])", "ReduceLogSumExp(%x)"] {
        agrees(18, X, op);
    }
}

#[test]
fn elements_that_move() {
    for lines in [
        "Reshape(%x, [3, 2])",
        "Flatten(%x, axis = 0)",
        "Transpose(%x)",
        "Transpose(%x, perm = [1, 0])",
        "Unsqueeze(%x, [0, -1])",
        "%u = Unsqueeze(%x, [1]); %y = Squeeze(%u, [1]);",
        "%u = Unsqueeze(%x, [1]); %y = Expand(%u, [2, 4, 3]);",
        "Expand(%x, [2, 2, 3])",
        "Concat(%x, %x, axis = -1)",
        "(%p, %q) = Split(%x, [1, 2], axis = 1); %s = Mul(%p, %q); %y = Add(%s, %p);",
        "(%p, %q) = Split(%x, [1, 2], axis = 1); %y = Exp(%q);",
        "Slice(%x, [0], [2], [1])",
        "Slice(%x, [-1], [-4], [1], [-2])",
        "Gather(%x, [0, 2, 0, -1], axis = 1)",
        "Gather(%x, 1)",
        "GatherElements(%x, [[0, 0], [2, 1]], axis = 1)",
        "GatherND(%x, [[0, 1], [1, 2], [0, 1]])",
        "Tile(%x, [2, 1])",
        "Pad(%x, [1, 0, 0, 2], const(float64, 0.5))",
        "Pad(%x, [0, -1, 1, 0])",
        "Cast(%x, to = 11)",
        "%i = Identity(%x); %y = CastLike(%i, %x);",
        "%c = Clip(%x, const(float64, -0.5), const(float64, 0.6)); %y = Add(%c, %x);",
        "%c = Clip(%x, _, const(float64, 0.6)); %y = Add(%c, %x);",
        "%f = Floor(%x); %y = Mul(%f, %x);",
        "%d = Dropout(%x); %y = Exp(%d);",
    ] {
        agrees(17, X, lines);
    }
    agrees(17, "%x: Tensor[(2, 1), float64]", "Expand(%x, [3, 1, 4])");
    agrees(
        17,
        "%x: Tensor[(2, 3), float64], %low: Tensor[(), float64], %high: Tensor[(), float64]",
        "%h = Add(%high, const(float64, 2.5)); %c = Clip(%x, %low, %h); %y = Add(%c, %x);",
    );
    agrees(17, "%x: Tensor[(2, 3), float64], %s: Tensor[(3), float64]", "PRelu(%x, %s)");
    agrees(17, "%x: Tensor[(2, 3), float64], %v: Tensor[(), float64]", "Pad(%x, [1, 0, 0, 2], %v)");
}
