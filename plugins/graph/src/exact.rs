//! N6: which operators every runtime computes to the same bits.

use crate::numbers::is_of_onnx;
use relais_plugin_api::{ir::Type, prelude::*};

/// These move elements about, whatever their type.
const MOVING: &[&str] = &[
    "Compress",
    "Concat",
    "ConstantOfShape",
    "DepthToSpace",
    "Expand",
    "EyeLike",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Identity",
    "NonZero",
    "OneHot",
    "Pad",
    "Reshape",
    "ReverseSequence",
    "Shape",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
];

/// The standard for floating-point numbers determines the last bit of these, or they choose among their arguments.
const ROUNDING_ONCE: &[&str] = &[
    "Abs",
    "Add",
    "ArgMax",
    "ArgMin",
    "Cast",
    "CastLike",
    "Ceil",
    "Clip",
    "Div",
    "Equal",
    "Floor",
    "Greater",
    "GreaterOrEqual",
    "IsInf",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "Max",
    "Min",
    "Mul",
    "Neg",
    "ReduceMax",
    "ReduceMin",
    "Relu",
    "Round",
    "Sign",
    "Sqrt",
    "Sub",
    "TopK",
];

/// Not these of integers: runtimes go through floating-point numbers.
const INEXACT_OF_INTEGERS: &[&str] =
    &["Pow", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "Mean", "Resize"];

/// Whether every runtime gives the same bits for a call.
pub fn is_exact(f: &Function, call: CallView<'_>) -> bool {
    if !is_of_onnx(f, call) {
        return false;
    }
    let name = call.op_name();
    if MOVING.contains(&name) {
        return true;
    }
    let result = match f.type_of(call.id) {
        // Of several results the other ones are places in the first.
        Type::Tuple(results) => results.first().and_then(|&first| f.ty(first).elem()),
        one => one.elem(),
    };
    let args = call.args().iter().filter(|arg| !arg.is_absent()).map(|&arg| f.constant(arg).map(Tensor::elem));
    let types: Option<Vec<ElemType>> = args.chain([result]).collect();
    let Some(types) = types else { return false };
    let is_whole = |elem: ElemType| elem.is_integer() || elem == ElemType::BOOL;
    // Shorter ones pass through longer ones, and may be rounded twice.
    let is_plain = |elem: ElemType| is_whole(elem) || matches!(elem, ElemType::FLOAT | ElemType::DOUBLE);
    match types.iter().all(|&elem| is_whole(elem)) {
        true => !INEXACT_OF_INTEGERS.contains(&name),
        false => ROUNDING_ONCE.contains(&name) && types.iter().all(|&elem| is_plain(elem)),
    }
}
