//! Activations.

use super::shared::{Made, body, number, scalar};
use crate::calls::{elem, float, string, unknown};
use relais_operator_math::activation::{GELU_CUBE, GELU_SCALE};
use relais_plugin_api::{
    ir::ElemType,
    op::{OpCall, OpError},
};

/// A body of numbers of the element type of `x`: attributes, and those of [`ZERO`] and [`ONE`].
fn activation(call: &OpCall<'_>, params: &[&str], numbers: &[&str], lines: &str) -> Made {
    let like = |value: f32| match call.elem(0) {
        ElemType::UNKNOWN => format!("CastLike({}, %{})", number(value), params[0]),
        elem => format!("Identity({})", scalar(elem, value)),
    };
    if call.elem(0) == ElemType::UNKNOWN && call.version() < 15 {
        return Err(unknown("the element type of input 0"));
    }
    let mut all = String::new();
    for &name in numbers {
        let value = match name {
            ZERO => 0.0,
            ONE => 1.0,
            _ => float(call, name)? as f32,
        };
        all += &format!("  %{name} = {};\n", like(value));
    }
    body(call, params, &(all + lines), &["y"])
}

const ZERO: &str = "zero";
const ONE: &str = "one";

/// `Celu`: alpha * (exp(x / alpha) - 1) for what is below 0.
pub fn celu(call: &OpCall<'_>) -> Made {
    let lines = "  %s = Div(%x, %alpha);\n  %e = Exp(%s);\n  %d = Sub(%e, %one);\n  %m = Mul(%alpha, %d);\n  \
                 %n = Less(%x, %zero);\n  %y = Where(%n, %m, %x);\n";
    activation(call, &["x"], &["alpha", ZERO, ONE], lines)
}

/// `Elu`: alpha * (exp(x) - 1) for what is below 0.
pub fn elu(call: &OpCall<'_>) -> Made {
    let lines = "  %e = Exp(%x);\n  %d = Sub(%e, %one);\n  %m = Mul(%alpha, %d);\n  %n = Less(%x, %zero);\n  \
                 %y = Where(%n, %m, %x);\n";
    activation(call, &["x"], &["alpha", ZERO, ONE], lines)
}

/// `HardSigmoid`: alpha * x + beta, between 0 and 1.
pub fn hard_sigmoid(call: &OpCall<'_>) -> Made {
    let lines = "  %m = Mul(%x, %alpha);\n  %s = Add(%m, %beta);\n  %l = Min(%s, %one);\n  %y = Max(%l, %zero);\n";
    activation(call, &["x"], &["alpha", "beta", ZERO, ONE], lines)
}

/// `LeakyRelu`: alpha * x for what is below 0.
pub fn leaky_relu(call: &OpCall<'_>) -> Made {
    let lines = "  %n = Less(%x, %zero);\n  %m = Mul(%alpha, %x);\n  %y = Where(%n, %m, %x);\n";
    activation(call, &["x"], &["alpha", ZERO], lines)
}

/// `PRelu`: slope * x for what is below 0.
pub fn prelu(call: &OpCall<'_>) -> Made {
    let lines = "  %n = Less(%x, %zero);\n  %m = Mul(%slope, %x);\n  %y = Where(%n, %m, %x);\n";
    activation(call, &["x", "slope"], &[ZERO], lines)
}

/// `Relu`.
pub fn relu(call: &OpCall<'_>) -> Made {
    activation(call, &["x"], &[ZERO], "  %y = Max(%x, %zero);\n")
}

/// `Selu`: gamma * x, and gamma * (alpha * exp(x) - alpha) for what is below 0.
pub fn selu(call: &OpCall<'_>) -> Made {
    let lines = "  %e = Exp(%x);\n  %m = Mul(%alpha, %e);\n  %d = Sub(%m, %alpha);\n  %l = Mul(%gamma, %d);\n  \
                 %r = Mul(%gamma, %x);\n  %n = Less(%x, %zero);\n  %y = Where(%n, %l, %r);\n";
    activation(call, &["x"], &["alpha", "gamma", ZERO], lines)
}

/// `Shrink`: x + bias below -lambda, x - bias above lambda, 0 between.
pub fn shrink(call: &OpCall<'_>) -> Made {
    let elem = call.elem(0);
    if elem.is_integer() && !elem.is_signed() {
        return Err(OpError::unsupported("its elements have no negative"));
    }
    let lines = "  %k = Neg(%lambd);\n  %n = Less(%x, %k);\n  %a = Add(%x, %bias);\n  %s = Sub(%x, %bias);\n  \
                 %p = Less(%lambd, %x);\n  %r = Where(%p, %s, %zero);\n  %y = Where(%n, %a, %r);\n";
    activation(call, &["x"], &["lambd", "bias", ZERO], lines)
}

/// `Softplus`: log(exp(x) + 1).
pub fn softplus(call: &OpCall<'_>) -> Made {
    activation(call, &["x"], &[ONE], "  %e = Exp(%x);\n  %s = Add(%e, %one);\n  %y = Log(%s);\n")
}

/// `Softsign`: x / (1 + |x|).
pub fn softsign(call: &OpCall<'_>) -> Made {
    activation(call, &["x"], &[ONE], "  %a = Abs(%x);\n  %s = Add(%a, %one);\n  %y = Div(%x, %s);\n")
}

/// `Swish`: x * sigmoid(alpha * x).
pub fn swish(call: &OpCall<'_>) -> Made {
    activation(call, &["x"], &["alpha"], "  %m = Mul(%alpha, %x);\n  %s = Sigmoid(%m);\n  %y = Mul(%x, %s);\n")
}

/// `SwiGLU`: the first argument's `Swish`, times the second one.
pub fn swiglu(call: &OpCall<'_>) -> Made {
    let lines = "  %m = Mul(%alpha, %a);\n  %s = Sigmoid(%m);\n  %w = Mul(%a, %s);\n  %y = Mul(%w, %b);\n";
    activation(call, &["a", "b"], &["alpha"], lines)
}

/// `ThresholdedRelu`: 0 for what is not above alpha.
pub fn thresholded_relu(call: &OpCall<'_>) -> Made {
    let lines = "  %n = Less(%alpha, %x);\n  %y = Where(%n, %x, %zero);\n";
    activation(call, &["x"], &["alpha", ZERO], lines)
}

/// `Clip`: bounds that are not there do not bound.
pub fn clip(call: &OpCall<'_>) -> Made {
    let from = elem(call, 0)?;
    // Runtimes compare few of the small integer types.
    let is_small = matches!(from, ElemType::INT8 | ElemType::UINT8 | ElemType::INT16 | ElemType::UINT16);
    let (mut lines, mut names) = (String::new(), ["x", "min", "max"]);
    if is_small {
        for (at, wide) in ["wx", "wmin", "wmax"].into_iter().enumerate().filter(|&(at, _)| call.has_arg(at)) {
            lines += &format!("  %{wide} = Cast(%{}, to = {});\n", names[at], ElemType::INT32.0);
            names[at] = wide;
        }
    }
    let [mut value, min, max] = names;
    if call.has_arg(1) {
        lines += &format!("  %low = Max(%{value}, %{min});\n");
        value = "low";
    }
    if call.has_arg(2) {
        lines += &format!("  %high = Min(%{value}, %{max});\n");
        value = "high";
    }
    lines += &match is_small {
        true => format!("  %y = Cast(%{value}, to = {});\n", from.0),
        false => format!("  %y = Identity(%{value});\n"),
    };
    body(call, &["x", "min", "max"], &lines, &["y"])
}

/// `Gelu`, exact or approximated with `Tanh`.
pub fn gelu(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let number = |value: f32| scalar(elem, value);
    let (half, one) = (number(0.5), number(1.0));
    let inner = match string(call, "approximate")? {
        "none" => {
            let root = number(std::f32::consts::SQRT_2);
            format!("  %s = Div(%x, {root});\n  %t = Erf(%s);\n")
        }
        "tanh" => {
            let (root, cubic) = (number(GELU_SCALE as f32), number(GELU_CUBE as f32));
            format!(
                "  %q = Mul(%x, %x);\n  %c = Mul(%q, %x);\n  %m = Mul(%c, {cubic});\n  %a = Add(%x, %m);\n  \
                 %s = Mul(%a, {root});\n  %t = Tanh(%s);\n"
            )
        }
        other => return Err(OpError::unsupported(format_args!("`approximate` is `{other}`"))),
    };
    let lines = format!("{inner}  %o = Add(%t, {one});\n  %h = Mul(%x, {half});\n  %y = Mul(%h, %o);\n");
    body(call, &["x"], &lines, &["y"])
}

pub const HARD_SWISH: &str = r#"def @HardSwish(%x) #[opset = {"": 22}] {
    %h = HardSigmoid(%x, alpha = 0.16666667, beta = 0.5); Mul(%x, %h)
}"#;

pub const MISH: &str = r#"def @Mish(%x) #[opset = {"": 22}] {
    %s = Softplus(%x); %t = Tanh(%s); Mul(%x, %t)
}"#;
