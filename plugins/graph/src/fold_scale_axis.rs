//! Folds scales along an axis into convolutions: `FoldConstant`, so that a scale that is computed from constants is one,
//! then `BackwardFoldScaleAxis` and `ForwardFoldScaleAxis`, and `DeadCodeElimination` of what each replaced.
//!
//! ```text
//! %0 = Conv(%x, %w);
//! %1 = Mul(%0, %scale);
//! ```
//! becomes
//! ```text
//! %1 = Conv(%x, %w1);
//! ```
//! where `%w1` is a constant, as `%w` and `%scale` are.
//!
//! TVM's pass of this name folds backward first, too; it folds constants at its end, because its folds leave products of
//! them.

use relais_plugin_api::prelude::*;

/// Folds scales along an axis into convolutions.
#[sequential_pass(
    name = "relais.FoldScaleAxis",
    aliases = ["relay._transform.FoldScaleAxis"],
    opt_level = 0,
    required = ["relais.InferType"],
    passes = [
        "relais.FoldConstant",
        "relais.BackwardFoldScaleAxis",
        // The values that it replaced use the scaled ones.
        "relais.DeadCodeElimination",
        "relais.ForwardFoldScaleAxis",
        "relais.DeadCodeElimination",
    ],
)]
pub fn fold_scale_axis() {}
