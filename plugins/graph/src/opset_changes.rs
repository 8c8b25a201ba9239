//! The changes of ONNX's operators from one version of the operator set to the next, and back.
//!
//! Most follow from the records of both versions: see [`Site::convert`]. The tables below hold the rest.

mod image;
mod math;
mod shape;
mod site;

use image::*;
use math::*;
use shape::*;
use site::Form;
pub(crate) use site::{Move, NEGATIVE_AXES, Outcome, Row, Site};

/// A version that changed an operator in a way that its record does not tell.
struct Change {
    op: &'static str,
    since: i64,
    /// From the version before.
    up: Row,
    /// To the version before.
    down: Row,
}

/// The row of an operator for the step between two neighbouring versions.
pub(crate) fn row_of(op: &str, from: i64, to: i64) -> Option<Row> {
    let change = CHANGES.iter().find(|change| change.since == from.max(to) && change.op == op)?;
    Some(if from < to { change.up } else { change.down })
}

/// The attributes of an operator that become arguments in that step, or the reverse.
pub(crate) fn moves_of(op: &str, from: i64, to: i64) -> Vec<&'static Move> {
    MOVES.iter().filter(|it| it.since == from.max(to) && it.op == op).collect()
}

const fn row(op: &'static str, since: i64, up: Row, down: Row) -> Change {
    Change { op, since, up, down }
}

/// The changes; those before version 8 are not needed.
const CHANGES: &[Change] = &[
    row("AveragePool", 22, windows, windows),
    row("BatchNormalization", 14, no_training, by_records),
    row("Clip", 11, clip_up, clip_down),
    row("ConvTranspose", 11, no_same_padding, no_same_padding),
    row("DFT", 20, dft_up, dft_down),
    row("DequantizeLinear", 23, by_records, dequantize_down),
    row("Dropout", 10, no_mask, no_mask),
    row("Dropout", 12, no_mask, dropout_down),
    row("Gemm", 11, by_records, gemm_down),
    row("GridSample", 20, grid_sample_up, grid_sample_down),
    row("GroupNormalization", 21, group_norm_up, by_records),
    row("Hardmax", 13, softmax_up, softmax_down),
    row("LogSoftmax", 13, softmax_up, softmax_down),
    row("LpPool", 22, windows, windows),
    row("Max", 8, by_records, equal_shapes),
    row("MaxPool", 22, windows, windows),
    row("Mean", 8, by_records, equal_shapes),
    row("MeanVarianceNormalization", 13, state_axes, by_records),
    row("Min", 8, by_records, equal_shapes),
    row("Mod", 28, by_records, mod_down),
    row("OneHot", 11, by_records, one_hot_down),
    row("Pad", 18, by_records, pad_axes_down),
    row("Pad", 19, by_records, pad_wrap_down),
    row("QuantizeLinear", 21, by_records, quantize_down),
    row("ReduceL1", 18, by_records, reduce_down),
    row("ReduceL2", 18, by_records, reduce_down),
    row("ReduceLogSum", 18, by_records, reduce_down),
    row("ReduceLogSumExp", 18, by_records, reduce_down),
    row("ReduceMax", 18, by_records, reduce_down),
    row("ReduceMean", 18, by_records, reduce_down),
    row("ReduceMin", 18, by_records, reduce_down),
    row("ReduceProd", 18, by_records, reduce_down),
    row("ReduceSum", 13, by_records, reduce_down),
    row("ReduceSumSquare", 18, by_records, reduce_down),
    row("Reshape", 14, by_records, reshape_down),
    row("Resize", 10, by_records, resize_to_upsample),
    row("Resize", 11, resize_up, resize_down),
    row("Resize", 13, resize_optional_up, resize_optional_down),
    row("Resize", 18, by_records, resize_axes_down),
    row("Resize", 19, by_records, resize_symmetric_down),
    row("RoiAlign", 16, roi_align_up, roi_align_down),
    row("Scan", 9, scan, scan),
    row("Scatter", 11, scatter_up, by_records),
    row("ScatterElements", 11, by_records, scatter_down),
    row("ScatterElements", 18, by_records, scatter_reduction_down),
    row("ScatterND", 18, by_records, scatter_reduction_down),
    row("Shape", 15, by_records, shape_down),
    row("Slice", 10, by_records, slice_down),
    row("Softmax", 13, softmax_up, softmax_down),
    row("Split", 18, split_up, split_down),
    row("Sum", 8, by_records, equal_shapes),
    row("TopK", 10, by_records, top_k_down),
    row("Upsample", 10, upsample_up, by_records),
];

const fn to_arg(op: &'static str, since: i64, attr: &'static str, arg: usize, form: Form) -> Move {
    Move { op, since, attr, arg, form }
}

const MOVES: &[Move] = &[
    to_arg("Clip", 11, "min", 1, Form::Element),
    to_arg("Clip", 11, "max", 2, Form::Element),
    to_arg("DFT", 20, "axis", 2, Form::Scalar),
    to_arg("Dropout", 12, "ratio", 1, Form::Scalar),
    to_arg("Pad", 11, "pads", 1, Form::List),
    to_arg("Pad", 11, "value", 2, Form::Element),
    to_arg("ReduceL1", 18, "axes", 1, Form::List),
    to_arg("ReduceL2", 18, "axes", 1, Form::List),
    to_arg("ReduceLogSum", 18, "axes", 1, Form::List),
    to_arg("ReduceLogSumExp", 18, "axes", 1, Form::List),
    to_arg("ReduceMax", 18, "axes", 1, Form::List),
    to_arg("ReduceMean", 18, "axes", 1, Form::List),
    to_arg("ReduceMin", 18, "axes", 1, Form::List),
    to_arg("ReduceProd", 18, "axes", 1, Form::List),
    to_arg("ReduceSum", 13, "axes", 1, Form::List),
    to_arg("ReduceSumSquare", 18, "axes", 1, Form::List),
    to_arg("Slice", 10, "starts", 1, Form::List),
    to_arg("Slice", 10, "ends", 2, Form::List),
    to_arg("Slice", 10, "axes", 3, Form::List),
    to_arg("Split", 13, "split", 1, Form::List),
    to_arg("Squeeze", 13, "axes", 1, Form::List),
    to_arg("TopK", 10, "k", 1, Form::List),
    to_arg("Unsqueeze", 13, "axes", 1, Form::List),
    to_arg("Upsample", 9, "scales", 1, Form::List),
];
