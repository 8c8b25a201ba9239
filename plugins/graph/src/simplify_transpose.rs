//! A transpose of a transpose is one transpose, or none, also where elementwise calls are between the two.
//!
//! ```text
//! %1 = Transpose(%x, perm = [0, 2, 3, 1]);
//! %2 = Relu(%1);
//! %3 = Transpose(%2, perm = [0, 2, 1, 3]);
//! ```
//! becomes
//! ```text
//! %2 = Relu(%x);
//! %3 = Transpose(%2, perm = [0, 3, 2, 1]);
//! ```
//!
//! Values that are transposed alike are added, multiplied, compared or concatenated before:
//!
//! ```text
//! %1 = Transpose(%x, perm = [0, 2, 1]);
//! %2 = Transpose(%y, perm = [0, 2, 1]);
//! %3 = Add(%1, %2);
//! ```
//! becomes
//! ```text
//! %1 = Add(%x, %y);
//! %3 = Transpose(%1, perm = [0, 2, 1]);
//! ```
//!
//! Constants on the way may have one axis whose size is not 1, which changes its place. Values with other users stay, so
//! that there is always one transpose less. Nothing is moved between a `DequantizeLinear` and the call that uses it.

use crate::numbers::is_quantization;
use relais_plugin_api::prelude::*;

/// Makes one transpose, or none, of several with elementwise calls between them.
#[rewrite_pass(
    name = "relais.SimplifyTranspose",
    opt_level = 1,
    required = ["relais.InferType"],
    ops = [
        "Transpose", "Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Equal", "Less", "Greater", "LessOrEqual",
        "GreaterOrEqual", "Max", "Min", "Sum", "Concat",
    ],
)]
pub fn simplify_transpose(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    match call.op_name() {
        "Transpose" => of_transpose(call, cx),
        _ => of_alike(call, cx),
    }
    .unwrap_or_else(Rewrite::decline)
}

/// Elementwise calls of one argument; what else they take are numbers.
const UNARY: &[&str] = &[
    "Abs",
    "Cast",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "Not",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tanh",
    "ThresholdedRelu",
];

/// Elementwise calls of two arguments, one of which may be constant.
const BINARY: &[&str] = &["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"];

/// The version from which on these broadcast as they do today.
const BROADCASTING: i64 = 8;

/// The most elementwise calls between two transposes.
const MOST_STEPS: usize = 8;

/// A value that elementwise calls make of a transposed one.
struct Transposed<'f> {
    /// The calls, the last one first, with the argument that leads to the transpose.
    steps: Vec<(CallView<'f>, usize)>,
    transpose: NodeId,
    /// The argument of the transpose.
    input: NodeId,
    /// For each axis of the transposed value, that of the input.
    perm: Vec<i64>,
}

impl<'f> Transposed<'f> {
    /// Follows a value back to a transpose, unless something else uses a value on the way.
    fn behind(value: NodeId, cx: &RewriteCx<'f>) -> Option<Self> {
        let (mut at, mut steps) = (value, Vec::new());
        while steps.len() <= MOST_STEPS {
            let call = cx.call_of(at)?;
            if let Some(transpose) = cx.call_of_op(at, "Transpose") {
                let (input, perm) = (transpose.arg(0)?, permutation(transpose, cx)?);
                return Some(Self { steps, transpose: at, input, perm });
            }
            if cx.n_uses(at) != 1 || !cx.is_in_same_block(at) || call.n_results().is_some() {
                return None;
            }
            let is_one_of = |names: &[&str]| names.iter().any(|name| call.is_op(name));
            let from = match *call.args() {
                _ if is_one_of(UNARY) => 0,
                [_, other] if is_one_of(BINARY) && cx.opset() >= BROADCASTING && cx.tensor(other).is_some() => 0,
                [other, _] if is_one_of(BINARY) && cx.opset() >= BROADCASTING && cx.tensor(other).is_some() => 1,
                _ => return None,
            };
            steps.push((call, from));
            at = call.arg(from)?;
        }
        None
    }

    /// Makes the calls for the input of the transpose.
    fn before(&self, cx: &mut RewriteCx<'_>) -> Result<NodeId, &'static str> {
        let mut value = self.input;
        for &(call, from) in self.steps.iter().rev() {
            let mut args = call.args().to_vec();
            if !UNARY.iter().any(|name| call.is_op(name)) {
                args[1 - from] = self.moved(args[1 - from], cx)?;
            }
            args[from] = value;
            value = cx.call_like(call, &args, Vec::new());
        }
        Ok(value)
    }

    /// The constant that stands beside the input as `constant` stands beside the transposed value.
    fn moved(&self, constant: NodeId, cx: &mut RewriteCx<'_>) -> Result<NodeId, &'static str> {
        let Some(tensor) = cx.tensor(constant) else { return Err("an argument is not constant") };
        if tensor.dims().is_empty() {
            return Ok(constant);
        }
        let (dims, rank) = (tensor.dims(), self.perm.len());
        if dims.len() > rank || dims.iter().filter(|&&size| size != 1).count() > 1 {
            return Err("a constant has several axes, or more than the value");
        }
        if cx.n_uses(constant) > 1 && tensor.len() > 1 {
            return Err("something else uses a constant");
        }
        let mut sizes = vec![1; rank];
        for (&size, &axis) in dims.iter().rev().zip(self.perm.iter().rev()) {
            let place = usize::try_from(axis).ok().and_then(|axis| sizes.get_mut(axis));
            *place.ok_or("the order of the axes is not one")? = size;
        }
        let tensor = tensor.reshaped(&sizes).map_err(|_| "a constant cannot be reshaped")?;
        Ok(cx.constant(tensor))
    }
}

/// A transpose of a transpose.
fn of_transpose(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Result<Rewrite, &'static str> {
    let Some(inner) = call.arg(0).and_then(|arg| Transposed::behind(arg, cx)) else { return Ok(Rewrite::Keep) };
    let outer = permutation(call, cx).ok_or("the order of the axes is not known")?;
    let composed: Option<Vec<i64>> =
        outer.iter().map(|&axis| inner.perm.get(usize::try_from(axis).ok()?).copied()).collect();
    let perm = composed.ok_or("the two have different ranks")?;
    let is_undone = perm.iter().enumerate().all(|(at, &axis)| axis == at as i64);
    if !inner.steps.is_empty() && !is_undone && cx.n_uses(inner.transpose) != 1 {
        return Err("something else uses what is transposed first");
    }
    let value = inner.before(cx)?;
    match is_undone {
        true => Ok(Rewrite::Replace(value)),
        false => Ok(Rewrite::Replace(cx.call_with("Transpose", &[value], vec![Attr::new("perm", perm)]))),
    }
}

/// A call of several values that are transposed alike.
fn of_alike(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Result<Rewrite, &'static str> {
    let is_concat = call.is_op("Concat");
    if call.args().len() < 2 || (!is_concat && cx.opset() < BROADCASTING) {
        return Ok(Rewrite::Keep);
    }
    // Before anything is followed back.
    if call.args().iter().any(|&arg| cx.call_of(arg).is_none()) {
        return Ok(Rewrite::Keep);
    }
    let behind = |&arg: &NodeId| Transposed::behind(arg, cx);
    let Some(values) = call.args().iter().map(behind).collect::<Option<Vec<_>>>() else { return Ok(Rewrite::Keep) };
    let perm = values[0].perm.clone();
    if values.iter().any(|value| value.perm != perm) {
        return Err("the values are not transposed alike");
    }
    // One of them stays, behind the call.
    if values.iter().any(|value| cx.n_uses(value.transpose) != 1) {
        return Err("something else uses what is transposed");
    }
    let is_dequantized = |value: &Transposed<'_>| {
        cx.call_of(value.input).and_then(CallView::op).is_some_and(|op| is_quantization(cx.function(), op))
    };
    if values.iter().any(is_dequantized) {
        return Err("a value is dequantised");
    }
    let mut attrs = Vec::new();
    if is_concat {
        let rank = perm.len() as i64;
        let axis = cx.attrs(call).int("axis").map(|axis| if axis < 0 { axis + rank } else { axis });
        let axis = axis.and_then(|axis| perm.get(usize::try_from(axis).ok()?)).ok_or("the axis is not known")?;
        attrs.push(Attr::new("axis", *axis));
    }
    let mut args = Vec::new();
    for value in &values {
        args.push(value.before(cx)?);
    }
    let value = cx.call_like(call, &args, attrs);
    Ok(Rewrite::Replace(cx.call_with("Transpose", &[value], vec![Attr::new("perm", perm)])))
}

/// For each axis of the result, that of the argument. Without the attribute, the axes are reversed.
fn permutation(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<Vec<i64>> {
    call.attrs().ints("perm").or_else(|| {
        let rank = cx.type_of(call.id).shape()?.len() as i64;
        Some((0..rank).rev().collect())
    })
}
