//! Activation functions.

use super::shared::{Made, NONE, Text, by_slope};
use crate::calls::{elem, float, opt_float};
use relais_plugin_api::op::OpCall;

/// A gradient that is that of the result where the argument is positive, and a product elsewhere. In the slope, `$` is a
/// scalar with the given number.
fn above_zero(call: &OpCall<'_>, number: f64, slope: &[&str]) -> Made {
    let mut t = Text::new(call)?;
    let elem = elem(call, 0)?;
    let (zero, number) = (t.scalar(elem, 0.0), t.scalar(elem, number));
    let mut below = zero.clone();
    for line in slope {
        below = t.line(line.replace('$', &number).replace('#', &below));
    }
    let is_above = t.line(format_args!("Greater(%a0, {zero})"));
    let x = t.line(format_args!("Where({is_above}, %d0, {below})"));
    t.gives([x])
}

/// `Relu`.
pub fn relu(call: &OpCall<'_>) -> Made {
    above_zero(call, 0.0, &[])
}

/// `LeakyRelu`.
pub fn leaky_relu(call: &OpCall<'_>) -> Made {
    above_zero(call, float(call, "alpha")?, &["Mul(%d0, $)"])
}

/// `Elu`: below zero, the slope is `y + alpha`.
pub fn elu(call: &OpCall<'_>) -> Made {
    above_zero(call, float(call, "alpha")?, &["Add(%y0, $)", "Mul(%d0, #)"])
}

/// `Celu`: below zero, the slope is `y / alpha + 1`.
pub fn celu(call: &OpCall<'_>) -> Made {
    let one = Text::new(call)?.scalar(elem(call, 0)?, 1.0);
    above_zero(call, float(call, "alpha")?, &["Div(%y0, $)", &format!("Add(#, {one})"), "Mul(%d0, #)"])
}

/// `Selu`.
pub fn selu(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let elem = elem(call, 0)?;
    let (alpha, gamma) = (float(call, "alpha")?, float(call, "gamma")?);
    let (zero, scale, shift) = (t.scalar(elem, 0.0), t.scalar(elem, gamma), t.scalar(elem, gamma * alpha));
    let is_above = t.line(format_args!("Greater(%a0, {zero})"));
    let below = t.line(format_args!("Add(%y0, {shift})"));
    let slope = t.line(format_args!("Where({is_above}, {scale}, {below})"));
    let x = t.line(format_args!("Mul(%d0, {slope})"));
    t.gives([x])
}

/// `Softplus`.
pub fn softplus(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let slope = t.line("Sigmoid(%a0)");
    let x = t.line(format_args!("Mul(%d0, {slope})"));
    t.gives([x])
}

/// `HardSigmoid`: a line between two constants.
pub fn hard_sigmoid(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let elem = elem(call, 0)?;
    let (zero, one, alpha) = (t.scalar(elem, 0.0), t.scalar(elem, 1.0), t.scalar(elem, float(call, "alpha")?));
    let (above, below) = (t.line(format_args!("Greater(%y0, {zero})")), t.line(format_args!("Less(%y0, {one})")));
    let is_within = t.line(format_args!("And({above}, {below})"));
    let product = t.line(format_args!("Mul(%d0, {alpha})"));
    let x = t.line(format_args!("Where({is_within}, {product}, {zero})"));
    t.gives([x])
}

/// `PRelu`.
pub fn prelu(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let zero = t.scalar(elem(call, 0)?, 0.0);
    let is_above = t.line(format_args!("Greater(%a0, {zero})"));
    let (below, product) = (t.line("Mul(%d0, %a1)"), t.line("Mul(%d0, %a0)"));
    let x = t.line(format_args!("Where({is_above}, %d0, {below})"));
    let slope = t.line(format_args!("Where({is_above}, {zero}, {product})"));
    let slope = t.summed(1, &slope)?;
    t.gives([x, slope])
}

/// `Clip`: a bound gets what it cuts off.
pub fn clip(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let elem = elem(call, 0)?;
    let zero = t.scalar(elem, 0.0);
    let attrs = if call.version() < 11 { [opt_float(call, "min")?, opt_float(call, "max")?] } else { [None; 2] };
    let bound = |index: usize, given: Option<f32>| match call.has_arg(index) {
        true => Some(format!("%a{index}")),
        false => given.map(|value| t.scalar(elem, value.into())),
    };
    let bounds = [bound(1, attrs[0]), bound(2, attrs[1])];
    let mut results = vec!["%d0".to_owned()];
    for (bound, op) in bounds.into_iter().zip(["Less", "Greater"]) {
        let Some(bound) = bound else {
            results.push(NONE.to_owned());
            continue;
        };
        let is_cut = t.line(format_args!("{op}(%a0, {bound})"));
        let cut = t.line(format_args!("Where({is_cut}, %d0, {zero})"));
        let sum = t.line(format_args!("ReduceSum({cut}, keepdims = 0)"));
        results.push(if bound.starts_with('%') { t.reshaped_like(&sum, &bound) } else { NONE.to_owned() });
        results[0] = t.line(format_args!("Where({is_cut}, {zero}, {})", results[0]));
    }
    t.gives(results)
}

/// `Sigmoid`.
pub fn sigmoid(call: &OpCall<'_>) -> Made {
    let one = Text::new(call)?.scalar(elem(call, 0)?, 1.0);
    by_slope(call, &[&format!("Sub({one}, %y0)"), "Mul(%y0, $)"])
}
