//! Removes calls whose result is their argument.
//!
//! ```text
//! %0 = Identity(%x);
//! %1 = Mul(%0, const(float32, 1.0));
//! %2 = Relu(%1);
//! ```
//! becomes
//! ```text
//! %2 = Relu(%x);
//! ```
//!
//! `Identity`, `Dropout` outside training, `Cast` to the same type, `Reshape`, `Flatten`, `Expand`, `Squeeze` and
//! `Unsqueeze` to the same shape, `Transpose` in order, `Slice` of everything, `Pad` by nothing, `Concat`, `Sum`, `Mean`,
//! `Max` and `Min` of one, `Split` into one, `Tile` by 1, reductions of nothing and, where that is exact, of axes of size 1,
//! and arithmetic with the unit element where that is exact for every input,
//! `-0.0` and NaN included: `x - 0` and `x * 1` are, `x + 0` of floats is only where `x` cannot be `-0.0` (`-0.0 + 0.0` is
//! `0.0`), as after `Abs`, `Exp`, a `Cast` from integers or another addition of a constant.

use crate::{axes::Reduction, numbers::is_never_negative_zero};
use relais_plugin_api::{
    ir::{DimRec, OpId},
    pass::drive,
    prelude::*,
    rewrite::DriveOptions,
};

/// The operators that are looked at.
const OPS: &[&str] = &[
    "Identity",
    "Dropout",
    "Cast",
    "Reshape",
    "Flatten",
    "Expand",
    "Squeeze",
    "Unsqueeze",
    "Transpose",
    "Slice",
    "Pad",
    "Concat",
    "Sum",
    "Mean",
    "Max",
    "Min",
    "Split",
    "Tile",
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "And",
    "Or",
];

/// Removes calls that do nothing.
#[function_pass(
    name = "relais.EliminateNoOp",
    opt_level = 1,
    required = ["relais.InferType"],
    statistics(rewritten = "calls replaced"),
)]
pub fn eliminate_no_op(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    drive(edit, cx, &mut no_op, OPS, DriveOptions::default()).map(|_| ())
}

fn no_op(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let Some(input) = call.arg(0) else { return Rewrite::Keep };
    let is_no_op = match call.op_name() {
        "Identity" => true,
        "Dropout" => return dropout(call, input, cx),
        "Cast" => cast(call, input, cx),
        "Reshape" => reshape(call, input, cx),
        "Flatten" => flatten(call, input, cx),
        "Expand" | "Squeeze" | "Unsqueeze" => has_same_shape(call, input, cx),
        "Transpose" => transpose(call, input, cx),
        "Slice" => slice(call, input, cx),
        "Pad" => pad(call, cx),
        "Concat" | "Sum" | "Mean" | "Max" | "Min" => call.args().len() == 1,
        "Split" => return split(call, input),
        "Tile" => has_same_shape(call, input, cx) || has_ones(call, cx),
        "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" => return reduction(call, input, cx),
        _ => return unit(call, cx),
    };
    if is_no_op { Rewrite::Replace(input) } else { Rewrite::Keep }
}

/// Whether the input has the two dimensions of the result, or its shape.
fn flatten(call: CallView<'_>, input: NodeId, cx: &RewriteCx<'_>) -> bool {
    let is_matrix = cx.type_of(input).shape().is_some_and(|shape| shape.len() == 2);
    (is_matrix && matches!(cx.attrs(call).int("axis"), Some(1 | -1))) || has_same_shape(call, input, cx)
}

/// Whether the result certainly has the shape of `input`.
fn has_same_shape(call: CallView<'_>, input: NodeId, cx: &RewriteCx<'_>) -> bool {
    let (Some(from), Some(to)) = (cx.type_of(input).shape(), cx.type_of(call.id).shape()) else { return false };
    from.len() == to.len() && from.iter().zip(to).all(|(&a, &b)| Dim::from(a).is_same(b.into()))
}

pub(crate) fn dropout(call: CallView<'_>, input: NodeId, cx: &RewriteCx<'_>) -> Rewrite {
    // Inference is the only mode from version 7 to 11; before, an attribute chooses, and after, an input.
    let is_inference = match call.owner().op_version(call.op().unwrap_or(OpId(0))) {
        ..=6 => cx.attrs(call).int("is_test") == Some(1),
        7..=11 => true,
        _ => match call.arg(2) {
            None => true,
            Some(mode) => cx.tensor(mode).is_some_and(|mode| mode.len() == 1 && mode.to_bytes().first() == Some(&0)),
        },
    };
    match call.n_results() {
        _ if !is_inference => Rewrite::Keep,
        None => Rewrite::Replace(input),
        // The mask of what was dropped has no value any more.
        Some(n) => {
            Rewrite::ReplaceResults((0..n).map(|index| if index == 0 { input } else { NodeId::ABSENT }).collect())
        }
    }
}

fn cast(call: CallView<'_>, input: NodeId, cx: &RewriteCx<'_>) -> bool {
    let to = call.attrs().int("to").and_then(|to| u8::try_from(to).ok()).map(ElemType);
    to.is_some() && cx.type_of(input).elem() == to
}

fn reshape(call: CallView<'_>, input: NodeId, cx: &RewriteCx<'_>) -> bool {
    let (Some(from), Some(to)) = (cx.type_of(input).shape(), cx.type_of(call.id).shape()) else { return false };
    if from.len() != to.len() {
        return false;
    }
    // The number of elements stays the same, so the known information may differ for one dimension, unless another is
    // zero.
    let differing = from.iter().zip(to).filter(|&(&a, &b)| !Dim::from(a).is_same(b.into())).count();
    let may_be_empty = from.iter().any(|&dim| Dim::from(dim).known().is_none_or(|size| size == 0));
    match differing {
        0 => true,
        1 => {
            let others_known = from
                .iter()
                .zip(to)
                .all(|(&a, &b)| !Dim::from(a).is_same(b.into()) || Dim::from(a).known().is_some_and(|size| size > 0));
            others_known || (!may_be_empty && from.len() == 1)
        }
        _ => false,
    }
}

fn transpose(call: CallView<'_>, input: NodeId, cx: &RewriteCx<'_>) -> bool {
    match call.attrs().ints("perm") {
        Some(perm) => perm.iter().enumerate().all(|(at, &axis)| axis == at as i64),
        // The default reverses the axes.
        None => cx.type_of(input).shape().is_some_and(|shape| shape.len() <= 1),
    }
}

fn slice(call: CallView<'_>, input: NodeId, cx: &RewriteCx<'_>) -> bool {
    let by_inputs = call.args().len() > 1;
    let all_are = |index: usize, is_wanted: fn(i64) -> bool| {
        let values = call.arg(index).and_then(|arg| axis_values(arg, cx));
        values.is_some_and(|values| values.into_iter().all(is_wanted))
    };
    // A step of -1 keeps the shape and turns the order round.
    let is_forward = !by_inputs || call.arg(4).is_none() || all_are(4, |step| step == 1);
    if !is_forward {
        return false;
    }
    if has_same_shape(call, input, cx) {
        return true;
    }
    // From the first to "the end", however far that is.
    const END: i64 = i32::MAX as i64;
    if by_inputs {
        return all_are(1, |start| start == 0) && all_are(2, |end| end >= END);
    }
    let list = |name| call.attrs().ints(name).unwrap_or_default();
    !list("starts").is_empty() && list("starts").iter().all(|&s| s == 0) && list("ends").iter().all(|&e| e >= END)
}

/// The elements of a constant that lists something for each axis. No rank is near the limit: a splat of any length takes
/// a few bytes of a file.
fn axis_values(constant: NodeId, cx: &RewriteCx<'_>) -> Option<Vec<i64>> {
    const MOST: u64 = 1 << 16;
    cx.tensor(constant).filter(|tensor| tensor.len() <= MOST)?.to_i64s()
}

fn pad(call: CallView<'_>, cx: &RewriteCx<'_>) -> bool {
    let pads = match call.arg(1) {
        Some(pads) => axis_values(pads, cx),
        None => call.attrs().ints("pads").or_else(|| call.attrs().ints("paddings")),
    };
    pads.is_some_and(|pads| pads.iter().all(|&pad| pad == 0))
}

fn has_ones(call: CallView<'_>, cx: &RewriteCx<'_>) -> bool {
    let repeats = call.arg(1).and_then(|repeats| axis_values(repeats, cx));
    repeats.is_some_and(|repeats| repeats.iter().all(|&n| n == 1))
}

fn reduction(call: CallView<'_>, input: NodeId, cx: &RewriteCx<'_>) -> Rewrite {
    let Some(reduction) = Reduction::of(call, cx) else { return Rewrite::Keep };
    let has_size_1 = |&axis: &usize| Dim::from(reduction.from[axis]) == Dim::Static(1);
    // A scalar has no axes, and is reduced anyway.
    let is_scalar = reduction.from.is_empty();
    if reduction.axes.is_empty() && !is_scalar {
        return Rewrite::Replace(input);
    }
    if !reduction.keeps && !is_scalar || !reduction.axes.iter().all(has_size_1) {
        return Rewrite::Keep;
    }
    let elem = cx.type_of(input).elem();
    match call.op_name() {
        "ReduceSum" | "ReduceMean" if !elem.is_some_and(ElemType::is_integer) => {
            Rewrite::decline("a sum of one term may turn -0.0 into 0.0")
        }
        "ReduceSum" | "ReduceMean" | "ReduceProd" if elem.is_none_or(|elem| elem == ElemType::INT64) => {
            Rewrite::decline("runtimes reduce 64-bit integers in double precision")
        }
        _ => Rewrite::Replace(input),
    }
}

fn split(call: CallView<'_>, input: NodeId) -> Rewrite {
    match call.n_results() {
        Some(1) => Rewrite::ReplaceResults(vec![input]),
        Some(_) => Rewrite::Keep,
        None => Rewrite::Replace(input),
    }
}

/// Arithmetic with the unit element.
fn unit(call: CallView<'_>, cx: &RewriteCx<'_>) -> Rewrite {
    let [a, b] = *call.args() else { return Rewrite::Keep };
    let name = call.op_name();
    let mut sides = vec![(a, b)];
    if matches!(name, "Add" | "Mul" | "And" | "Or") {
        sides.push((b, a));
    }
    for (kept, other) in sides {
        let Some(tensor) = cx.tensor(other) else { continue };
        if is_zero(name, tensor) && !is_never_negative_zero(kept, cx) {
            return Rewrite::decline("adding zero turns -0.0 into 0.0");
        }
        let is_wide = cx.type_of(kept).elem().is_none_or(|elem| elem == ElemType::INT64);
        if name == "Pow" && is_wide && is_unit(name, tensor) {
            return Rewrite::decline("runtimes compute powers of 64-bit integers in double precision");
        }
        if is_unit(name, tensor) || is_zero(name, tensor) {
            // Broadcasting by the unit element must not enlarge the remaining operand.
            if !has_same_shape(call, kept, cx) && tensor.dims().iter().any(|&dim| dim != 1) {
                return Rewrite::decline("the unit element may broadcast the other operand");
            }
            let rank = cx.type_of(kept).shape().map(<[DimRec]>::len);
            if !has_same_shape(call, kept, cx) && rank.is_none_or(|rank| rank < tensor.dims().len()) {
                return Rewrite::decline("the unit element may raise the rank of the other operand");
            }
            return Rewrite::Replace(kept);
        }
    }
    Rewrite::Keep
}

/// Whether a tensor is floating-point zeros that are added.
fn is_zero(op: &str, tensor: &Tensor) -> bool {
    let zero = if op == "Add" && tensor.elem().is_float() { zero(tensor.elem()) } else { None };
    zero.is_some_and(|zero| is_all(tensor, &zero))
}

/// Whether every element of `tensor` leaves the other operand of `op` as it is, bit for bit.
fn is_unit(op: &str, tensor: &Tensor) -> bool {
    let elem = tensor.elem();
    let unit: Option<Vec<u8>> = match op {
        "Mul" | "Div" | "Pow" => one(elem),
        // Subtracting positive zero is exact; adding is exact for negative zero.
        "Sub" => zero(elem),
        "Add" if elem.is_float() => negative_zero(elem),
        "Add" => zero(elem),
        "And" if elem == ElemType::BOOL => Some(vec![1]),
        "Or" if elem == ElemType::BOOL => Some(vec![0]),
        _ => None,
    };
    unit.is_some_and(|unit| is_all(tensor, &unit))
}

/// Whether every element of a tensor has these bytes.
pub(crate) fn is_all(tensor: &Tensor, wanted: &[u8]) -> bool {
    // Unit elements beyond this size do not occur in practice, and reading it all would cost more than it saves.
    const MOST: u64 = 1 << 20;
    match tensor.as_splat() {
        Some(element) => element == wanted,
        None => {
            tensor.byte_len() <= MOST
                && !tensor.is_empty()
                && tensor.to_bytes().chunks_exact(wanted.len()).all(|element| element == wanted)
        }
    }
}

fn one(elem: ElemType) -> Option<Vec<u8>> {
    Some(match elem {
        ElemType::FLOAT => 1f32.to_le_bytes().to_vec(),
        ElemType::DOUBLE => 1f64.to_le_bytes().to_vec(),
        ElemType::FLOAT16 => vec![0x00, 0x3c],
        ElemType::BFLOAT16 => vec![0x80, 0x3f],
        _ if elem.is_integer() && elem.bits() >= 8 => {
            let mut bytes = vec![0; elem.bits() as usize / 8];
            bytes[0] = 1;
            bytes
        }
        _ => return None,
    })
}

/// The bytes of positive zero.
pub(crate) fn zero(elem: ElemType) -> Option<Vec<u8>> {
    one(elem).map(|bytes| vec![0; bytes.len()])
}

fn negative_zero(elem: ElemType) -> Option<Vec<u8>> {
    let mut bytes = zero(elem)?;
    *bytes.last_mut()? = 0x80;
    Some(bytes)
}
