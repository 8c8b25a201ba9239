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
//! - [`memory_needs`] says what memory is needed when, [`checked_arena`] whether a plan of it holds.
//! - With the feature `loop-analysis`, `Intervals` says what is known about integers, `Accesses` where memory is accessed,
//!   and in which turns of loops the same elements.
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

#[doc(inline)]
pub use relais_ir::prim::{
    Broken, Class, CoreOp, DOMAIN, LoopKind, LoopOps, Made, OUTPUTS, OpInfo, Scalar, infer, is_value_op, n_outputs,
    number_of, remove_unused, rule, value_type,
};
#[doc(inline)]
pub use relais_ir::{
    PrimBuilder, count_fits,
    memory::{
        ARENA, ARENA_ALIGNMENT, Need, OFFSET, ORIGINS, all_memory_needs, arena_offset, checked_arena, memory_needs,
    },
    prim_func,
};
#[cfg(feature = "loop-analysis")]
#[doc(inline)]
pub use relais_loop_analysis::{Access, Accesses, AxisIndex, Bounds, Dependence, Intervals, Linear, Mark, Slice, Term};
#[doc(inline)]
pub use relais_ops::{
    core_facts::CoreFacts,
    run::{Cause, Order, ProgramPlace, RunOptions, Stop, run},
    scalar::{NoValue, erf, erfc, fold},
};
