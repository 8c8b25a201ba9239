//! Folds scales along an axis into convolutions, and the constants that this makes: `BackwardFoldScaleAxis`, then
//! `FoldConstant`.
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
//! TVM's pass of this name also folds forward, into a convolution that follows the scale; that is not done yet.

use relais_plugin_api::prelude::*;

/// Folds scales along an axis into convolutions.
#[sequential_pass(
    name = "relay._transform.FoldScaleAxis",
    opt_level = 0,
    passes = ["relay._transform.BackwardFoldScaleAxis", "relay._transform.FoldConstant"],
)]
pub fn fold_scale_axis() {}
