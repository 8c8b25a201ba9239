//! Products of one value with several stacks of matrices as one product, whose result is split.
//!
//! ```text
//! %1 = MatMul(%x, %v);          // %v: 8 matrices of 16 columns, %w: 8 matrices of 32 columns
//! %2 = MatMul(%x, %w);
//! ```
//! becomes, with `min_num_branches = 2`,
//! ```text
//! %3 = MatMul(%x, %vw);         // %vw: 8 matrices of 48 columns
//! %4 = Split(%3, const(int64, [16, 32]), axis = 2) -> 2;
//! %1 = %4[0];
//! %2 = %4[1];
//! ```
//!
//! The stacks have three axes or more and equal sizes except for the columns, are constant, and nothing else uses them.
//! Elementwise calls behind them are combined as `CombineParallelConv2D` does it. Products of quantised values stay.
//!
//! Runtimes may add up a wider product in another order, so results may be rounded differently: hence the level.

use crate::combine_parallel::{Branch, CombineOptions, combine, last_axis};
use relais_plugin_api::{facts::OpFactsTable, ir::Users, prelude::*};

/// Makes one product of several of one value with stacks of matrices.
#[function_pass(
    name = "relais.CombineParallelBatchMatmul",
    aliases = ["relay._transform.CombineParallelBatchMatmul"],
    opt_level = 4,
    required = ["relais.InferType"],
    statistics(combined = "products combined"),
)]
pub fn combine_parallel_batch_matmul(
    edit: &mut Editor,
    cx: &PassCx<'_>,
    options: &CombineOptions,
) -> Result<(), PassError> {
    combine(edit, cx, options, "MatMul", product)
}

fn product(f: &Function, users: &Users, _: &OpFactsTable<'_>, call: CallView<'_>) -> Result<Branch, &'static str> {
    let weights = call.arg(1).and_then(|weights| f.constant(weights)).ok_or("the weights are not constant")?;
    let rank = weights.dims().len();
    if rank < 3 {
        return Err("the weights are not a stack of matrices");
    }
    Branch::of(f, users, call, rank - 1, last_axis(f, call)?)
}
