//! Loop programs as data: prim funcs, whose statements and scalar operations are calls of the core operators.

mod infer;
mod loop_ops;
mod ops;
mod rule;
#[cfg(test)]
mod tests;
mod unused;

pub use infer::infer;
pub use loop_ops::{LoopOps, OUTPUTS, core_op, n_outputs};
pub use ops::{Class, CoreOp, DOMAIN, LoopKind, OpInfo, is_value_op, number_of};
pub use rule::{Broken, Made, Scalar, rule, value_type};
pub use unused::remove_unused;
