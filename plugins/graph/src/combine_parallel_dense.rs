//! Products of one value with several matrices as one product, whose result is split.
//!
//! ```text
//! %1 = MatMul(%x, %v);          // %v: 64 columns, %w: 32 columns
//! %2 = MatMul(%x, %w);
//! ```
//! becomes, with `min_num_branches = 2`,
//! ```text
//! %3 = MatMul(%x, %vw);         // %vw: 96 columns
//! %4 = Split(%3, const(int64, [64, 32]), axis = 1) -> 2;
//! %1 = %4[0];
//! %2 = %4[1];
//! ```
//!
//! The products are `MatMul` with a matrix or `Gemm`, with equal attributes and constant matrices that nothing else uses.
//! Elementwise calls behind them are combined as `CombineParallelConv2D` does it. Products of quantised values stay.
//!
//! Runtimes may add up a wider product in another order, so results may be rounded differently: hence the level.

use crate::combine_parallel::{Branch, CombineOptions, combine, last_axis};
use relais_plugin_api::{facts::OpFactsTable, ir::Users, prelude::*};

/// Makes one product of several of one value with matrices.
#[function_pass(
    name = "relais.CombineParallelDense",
    aliases = ["relay._transform.CombineParallelDense"],
    opt_level = 4,
    required = ["relais.InferType"],
    statistics(combined = "products combined"),
)]
pub fn combine_parallel_dense(edit: &mut Editor, cx: &PassCx<'_>, options: &CombineOptions) -> Result<(), PassError> {
    combine(edit, cx, options, "MatMul", product)?;
    combine(edit, cx, options, "Gemm", product)
}

fn product(f: &Function, users: &Users, ops: &OpFactsTable<'_>, call: CallView<'_>) -> Result<Branch, &'static str> {
    let weights = call.arg(1).and_then(|weights| f.constant(weights)).ok_or("the weights are not constant")?;
    if weights.dims().len() != 2 {
        return Err("the weights are not a matrix");
    }
    let is_transposed = ops.attrs(call).int("transB").is_some_and(|trans| trans != 0);
    Branch::of(f, users, call, usize::from(!is_transposed), last_axis(f, call)?)
}
