//! Moves transposes past other calls to where fewest of them are left.
//!
//! ```text
//! %1 = Transpose(%x, perm = [0, 2, 3, 1]);
//! %2 = Pad(%1, %pads);                               // [0, 1, 1, 0, 0, 1, 1, 0]
//! %3 = Transpose(%2, perm = [0, 3, 1, 2]);
//! ```
//! becomes
//! ```text
//! %1 = Pad(%x, %4);                                  // [0, 0, 1, 1, 0, 0, 1, 1]
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
//! and two transposes in a row are one:
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
//! The layouts of models that were made for channels-last, such as those of TensorFlow, are settled in this way: between
//! their convolutions, which ONNX has channels-first only, no transposes are left.
//!
//! For two orders of axes at a time, each call that computes the same in both may be in either. Which of them are is chosen
//! for all at once, as a least cut of a graph, so that no other choice leaves fewer transposes; where none would be gone,
//! nothing is moved. A `Shape` that moves costs a `Gather` of its entries, which counts as one transpose.
//!
//! Transposes are moved past elementwise operators, with operands that are broadcast if these have as many axes or are
//! constant; past `Concat`, `Split`, `Pad`, `Slice`, `Gather`, `Tile`, `Softmax` along one axis, reductions, `ArgMax`,
//! `CumSum` and `Resize` of nearest elements, whose axes are then others; past `Squeeze`, `Unsqueeze`, `Reshape` and
//! `Flatten` where the elements are in the same order; and `Transpose` to a third order. Not past a call whose axes,
//! pads or sizes are not constant, past a quantisation, nor between one and what it belongs to; not where a rank is not
//! known, across the border of a branch or loop body, or where a large constant is used elsewhere, too.
//!
//! Sums along an axis, as in `ReduceMean` and `Softmax`, may be added up in another order, unless `exact` is set.

use crate::layout::{self, moves::Sums};
use relais_plugin_api::prelude::*;

/// Options of `SimplifyTranspose`.
#[derive(PassOptions)]
pub struct SimplifyTransposeOptions {
    /// Whether nothing is moved that runtimes may then compute with other last digits.
    #[option(default = false)]
    pub exact: bool,
}

/// Moves transposes to where fewest are left.
#[function_pass(
    name = "relais.SimplifyTranspose",
    opt_level = 1,
    required = ["relais.InferType"],
    statistics(removed = "transposes that are gone"),
)]
pub fn simplify_transpose(
    edit: &mut Editor,
    cx: &PassCx<'_>,
    options: &SimplifyTransposeOptions,
) -> Result<(), PassError> {
    let sums = if options.exact { Sums::Keep } else { Sums::Reorder };
    let n_gone = layout::settle(edit, cx, sums)?;
    cx.count("removed", n_gone);
    Ok(())
}
