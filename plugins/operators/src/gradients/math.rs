//! Functions of single elements.

use super::shared::{Made, Text, by_slope};
use crate::calls::elem;
use relais_plugin_api::op::OpCall;

/// Functions with steps only, such as `Floor` and `Sign`: where they have a slope, it is 0.
pub fn steps(call: &OpCall<'_>) -> Made {
    Text::new(call)?.gives::<&str>([])
}

/// `Neg`.
pub fn neg(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let x = t.line("Neg(%d0)");
    t.gives([x])
}

/// `Abs`.
pub fn abs(call: &OpCall<'_>) -> Made {
    by_slope(call, &["Sign(%a0)"])
}

/// `Exp`.
pub fn exp(call: &OpCall<'_>) -> Made {
    by_slope(call, &["Identity(%y0)"])
}

/// `Log`.
pub fn log(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let x = t.line("Div(%d0, %a0)");
    t.gives([x])
}

/// `Sqrt`.
pub fn sqrt(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let twice = t.line("Add(%y0, %y0)");
    let x = t.line(format_args!("Div(%d0, {twice})"));
    t.gives([x])
}

/// `Reciprocal`.
pub fn reciprocal(call: &OpCall<'_>) -> Made {
    by_slope(call, &["Mul(%y0, %y0)", "Neg($)"])
}

/// `Sin`.
pub fn sin(call: &OpCall<'_>) -> Made {
    by_slope(call, &["Cos(%a0)"])
}

/// `Cos`.
pub fn cos(call: &OpCall<'_>) -> Made {
    by_slope(call, &["Sin(%a0)", "Neg($)"])
}

/// `Sinh`.
pub fn sinh(call: &OpCall<'_>) -> Made {
    by_slope(call, &["Cosh(%a0)"])
}

/// `Cosh`.
pub fn cosh(call: &OpCall<'_>) -> Made {
    by_slope(call, &["Sinh(%a0)"])
}

/// `Atan`.
pub fn atan(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let one = t.scalar(elem(call, 0)?, 1.0);
    let square = t.line("Mul(%a0, %a0)");
    let more = t.line(format_args!("Add({square}, {one})"));
    let x = t.line(format_args!("Div(%d0, {more})"));
    t.gives([x])
}

/// `Tan`.
pub fn tan(call: &OpCall<'_>) -> Made {
    let one = Text::new(call)?.scalar(elem(call, 0)?, 1.0);
    by_slope(call, &["Mul(%y0, %y0)", &format!("Add($, {one})")])
}

/// `Tanh`.
pub fn tanh(call: &OpCall<'_>) -> Made {
    let one = Text::new(call)?.scalar(elem(call, 0)?, 1.0);
    by_slope(call, &["Mul(%y0, %y0)", &format!("Sub({one}, $)")])
}

/// `Erf`.
pub fn erf(call: &OpCall<'_>) -> Made {
    let factor = Text::new(call)?.scalar(elem(call, 0)?, std::f64::consts::FRAC_2_SQRT_PI);
    by_slope(call, &["Mul(%a0, %a0)", "Neg($)", "Exp($)", &format!("Mul($, {factor})")])
}
