//! Loop programs: prim funcs, whose statements and scalar operations are calls of the core operators.
//!
//! A prim func is a [`Function`](crate::ir::Function) whose calls are of the domain `tir`. Its parameters are memory: the
//! inputs, then as many outputs as its metadata [`OUTPUTS`] says; it returns nothing. Memory is also what `alloc` and
//! `view` give, and every constant. Everything else is a value: a scalar of the type `Tensor[(), E]` or a vector of the type
//! `Tensor[(n), E]`. Parameters do not overlap each other.
//!
//! - [`CoreOp`] is the table of operators, and says what each means.
//! - [`LoopOps`] gives the core operator of a call, [`rule`] the type of its result, [`infer`] the types of a whole
//!   function. The verifier finds what contradicts them (`V2…`).
//! - [`PrimBuilder`] makes prim funcs.
//! - [`Intervals`] says what is known about integers, [`Accesses`] where memory is accessed, and in which turns of loops
//!   the same elements.
//! - [`memory_needs`] says what memory is needed when, [`checked_arena`] whether a plan of it holds.
//! - [`fold`] computes with numbers, [`run`] with tensors: the interpreter.

#[cfg(doctest)]
#[doc = include_str!("../../docs/kernels.md")]
mod kernels {}
#[cfg(doctest)]
#[doc = include_str!("../../docs/emitters.md")]
mod emitters {}
#[cfg(doctest)]
#[doc = include_str!("../../docs/loop-programs.md")]
mod loop_programs {}

mod accesses;
mod arena;
mod bounds;
mod build;
mod facts;
mod infer;
mod linear;
mod loop_ops;
mod ops;
mod rule;
mod run;
mod scalar;
mod terms;
#[cfg(test)]
mod tests;
mod unused;

pub use accesses::{Access, Accesses, AxisIndex, Dependence, Slice, Term};
pub use arena::{
    ARENA, ARENA_ALIGNMENT, Need, OFFSET, ORIGINS, all_memory_needs, arena_offset, checked_arena, count_fits,
    memory_needs,
};
pub use bounds::{Bounds, Intervals, Mark};
pub use build::{PrimBuilder, prim_func};
pub use facts::CoreFacts;
pub(crate) use facts::NOT_A_VALUE;
pub use infer::infer;
pub use linear::Linear;
pub use loop_ops::{LoopOps, OUTPUTS, n_outputs};
pub use ops::{Class, CoreOp, DOMAIN, LoopKind, OpInfo, is_value_op, number_of};
pub use rule::{Broken, Made, Scalar, rule, value_type};
pub(crate) use run::run_counted;
pub use run::{Cause, Order, Place, RunOptions, Stop, run};
pub use scalar::{NoValue, fold};
pub use unused::remove_unused;
