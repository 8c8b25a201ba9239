//! Arithmetic on several tensors.

use super::shared::{Made, NONE, Text};
use crate::calls::elem;
use relais_plugin_api::op::OpCall;

/// `Add`.
pub fn add(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let (a, b) = (t.summed(0, "%d0")?, t.summed(1, "%d0")?);
    t.gives([a, b])
}

/// `Sub`.
pub fn sub(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let b = t.line("Neg(%d0)");
    let (a, b) = (t.summed(0, "%d0")?, t.summed(1, &b)?);
    t.gives([a, b])
}

/// `Mul`.
pub fn mul(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let (a, b) = (t.line("Mul(%d0, %a1)"), t.line("Mul(%d0, %a0)"));
    let (a, b) = (t.summed(0, &a)?, t.summed(1, &b)?);
    t.gives([a, b])
}

/// `Div`: `y / b` is the slope of the quotient, except for its sign.
pub fn div(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let a = t.line("Div(%d0, %a1)");
    let slope = t.line("Div(%y0, %a1)");
    let product = t.line(format_args!("Mul(%d0, {slope})"));
    let b = t.line(format_args!("Neg({product})"));
    let (a, b) = (t.summed(0, &a)?, t.summed(1, &b)?);
    t.gives([a, b])
}

/// `Sum`.
pub fn sum(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let all = (0..call.n_args()).map(|at| t.summed(at, "%d0")).collect::<Result<Vec<_>, _>>()?;
    t.gives(all)
}

/// `Mean`.
pub fn mean(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let n = t.scalar(elem(call, 0)?, call.n_args() as f64);
    let each = t.line(format_args!("Div(%d0, {n})"));
    let all = (0..call.n_args()).map(|at| t.summed(at, &each)).collect::<Result<Vec<_>, _>>()?;
    t.gives(all)
}

/// `Max` and `Min`: the arguments that are the result share its gradient.
pub fn extreme(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let elem = elem(call, 0)?;
    let mut shares = Vec::new();
    for at in 0..call.n_args() {
        let is_it = t.line(format_args!("Equal(%a{at}, %y0)"));
        shares.push(t.line(format_args!("Cast({is_it}, to = {})", elem.0)));
    }
    let total = t.line(format_args!("Sum({})", shares.join(", ")));
    let each = t.line(format_args!("Div(%d0, {total})"));
    let mut all = Vec::new();
    for (at, share) in shares.iter().enumerate() {
        let product = t.line(format_args!("Mul({each}, {share})"));
        all.push(t.summed(at, &product)?);
    }
    t.gives(all)
}

/// `Pow`. A power of 0 has the slope 0 everywhere, and the exponent has none where the power is 0.
pub fn pow(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let (elem, of_exponent) = (elem(call, 0)?, elem(call, 1)?);
    let (zero, one) = (t.scalar(elem, 0.0), t.scalar(elem, 1.0));
    let exponent =
        if of_exponent == elem { "%a1".to_owned() } else { t.line(format_args!("Cast(%a1, to = {})", elem.0)) };
    let less = t.line(format_args!("Sub({exponent}, {one})"));
    let power = t.line(format_args!("Pow(%a0, {less})"));
    let mut slope = t.line(format_args!("Mul({exponent}, {power})"));
    let constant = call.constant(1).filter(|constant| constant.len() == 1);
    let value = constant.and_then(|constant| constant.to_f64().or_else(|| constant.to_i64().map(|value| value as f64)));
    if value.is_none_or(|value| value == 0.0) {
        let is_zero = t.line(format_args!("Equal({exponent}, {zero})"));
        slope = t.line(format_args!("Where({is_zero}, {zero}, {slope})"));
    }
    let base = t.line(format_args!("Mul(%d0, {slope})"));
    let base = t.summed(0, &base)?;
    if !of_exponent.is_float() {
        return t.gives([base.as_str(), NONE]);
    }
    let is_zero = t.line(format_args!("Equal(%y0, {zero})"));
    let log = t.line("Log(%a0)");
    let product = t.line(format_args!("Mul(%y0, {log})"));
    let slope = t.line(format_args!("Where({is_zero}, {zero}, {product})"));
    let mut by = t.line(format_args!("Mul(%d0, {slope})"));
    by = t.summed(1, &by)?;
    if of_exponent != elem {
        by = t.line(format_args!("Cast({by}, to = {})", of_exponent.0));
    }
    t.gives([base, by])
}
