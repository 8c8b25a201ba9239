//! Facts about a loop program: the bounds of its integers, where it accesses memory, and which turns of loops
//! access the same elements.
//!
//! Plugins use this crate as the module `prim` of `relais_plugin_api`, with its feature `loop-analysis`.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `linear`: sums of values
//! 2. `bounds`: the facts about the integers of a loop program: the least and the largest value, divisibility, and
//!    the conditions that hold at a place
//! 3. `accesses`: the accesses of a loop program to memory: at which indices, as sums of loop variables, and in which
//!    turns of a loop two of them may touch the same element

mod accesses;
mod bounds;
mod linear;

pub use accesses::{Access, Accesses, AxisIndex, Dependence, Slice, Term};
pub use bounds::{Bounds, Intervals, Mark};
pub use linear::Linear;
