//! Convolutions of one value as one convolution, whose result is split.
//!
//! ```text
//! %1 = Conv(%x, %v);            // %v: 8 filters, %w: 16 filters of the same size
//! %2 = Relu(%1);
//! %3 = Conv(%x, %w);
//! %4 = Relu(%3);
//! ```
//! becomes, with `min_num_branches = 2`,
//! ```text
//! %5 = Conv(%x, %vw);           // %vw: 24 filters
//! %6 = Relu(%5);
//! %7 = Split(%6, const(int64, [8, 16]), axis = 1) -> 2;
//! %2 = %7[0];
//! %4 = %7[1];
//! ```
//!
//! The convolutions are two-dimensional and have one group, equal attributes and filters of one size, constant and used
//! nowhere else; where only some have a bias, the others get zeros. Elementwise calls behind them are combined, too, as
//! long as all branches have the same one, whose other arguments are constants: equal ones, or one number for each
//! channel. Convolutions of quantised values stay.
//!
//! Runtimes may add up a wider convolution in another order, so results may be rounded differently: hence the level.

use crate::combine_parallel::{Branch, CombineOptions, combine};
use relais_plugin_api::{facts::OpFactsTable, ir::Users, prelude::*};

/// Makes one convolution of several of one value.
#[function_pass(
    name = "relais.CombineParallelConv2D",
    aliases = ["relay._transform.CombineParallelConv2D"],
    opt_level = 4,
    required = ["relais.InferType"],
    statistics(combined = "convolutions combined"),
)]
pub fn combine_parallel_conv2d(edit: &mut Editor, cx: &PassCx<'_>, options: &CombineOptions) -> Result<(), PassError> {
    combine(edit, cx, options, "Conv", convolution)
}

fn convolution(
    f: &Function,
    users: &Users,
    ops: &OpFactsTable<'_>,
    call: CallView<'_>,
) -> Result<Branch, &'static str> {
    let rank = call.arg(1).and_then(|weights| f.constant(weights)).ok_or("the weights are not constant")?.dims().len();
    if rank != 4 {
        return Err("the convolution is not two-dimensional");
    }
    if ops.attrs(call).int("group") != Some(1) {
        return Err("the convolution has several groups");
    }
    Branch::of(f, users, call, 0, (1, rank - 1))
}
