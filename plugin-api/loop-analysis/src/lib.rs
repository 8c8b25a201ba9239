//! What is known about a loop program: the bounds of its integers, where it accesses memory, which turns of loops access
//! the same elements, and what memory is needed when.
//!
//! Plugins use this crate as the module `prim` of `relais_plugin_api`, with its feature `loop-analysis`.

mod accesses;
mod arena;
mod bounds;
mod linear;

pub use accesses::{Access, Accesses, AxisIndex, Dependence, Slice, Term};
pub use arena::{
    ARENA, ARENA_ALIGNMENT, Need, OFFSET, ORIGINS, all_memory_needs, arena_offset, checked_arena, memory_needs,
};
pub use bounds::{Bounds, Intervals, Mark};
pub use linear::Linear;
