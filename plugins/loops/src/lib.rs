//! Passes over loop programs.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `program`: the questions that the passes ask of loop programs, and how they make calls
//! 2. `calls`: the loop programs that the entry function calls, while passes make others of them
//! 3. `motion`: moving values to earlier places, and the values that may be
//! 4. `fuse`: removing memory that passes values from one loop to another: the loops become one, in whose turns the
//!    memory holds what one turn needs, or nothing
//! 5. `rows`: loops over rows: of the statements that compute memory, those whose turns touch elements next to each
//!    other that no other turn does, so that any part of the memory can be computed alone
//! 6. `compute_at`: computes memory in the turns of the loop that reads it, so that the memory holds what one turn
//!    needs
//! 7. `simplify`: simplifies the integers, the conditions and the control of loop programs
//! 8. `cuts`: finding where loops can be cut, so that conditions in them are decided
//! 9. `inline_producers`: computes the elements of memory where they are read, so that the memory is not needed
//! 10. `graphs`: the questions that are asked of graphs while they are lowered
//! 11. `obstacles`: the errors about models that cannot become loop programs, in few messages, which `LowerOps` and
//!     `LowerMain` report
//! 12. `lower_main`: makes a loop program of the entry function, so that nothing but loop programs is left
//! 13. `groups`: loop programs of groups: of functions whose calls are computed together, as `FuseOps` makes them
//! 14. `unroll_loop`: writes out the turns of loops whose number is known
//! 15. `plan_memory`: gives each `alloc` of the entry function a place in one piece of memory, the *arena*
//! 16. `vectorize_loop`: computes the turns of `vectorized` loops in the lanes of vectors

use relais_plugin_api::prelude::*;

mod calls;
pub mod common_subexpr_elim;
pub mod compute_at;
mod cuts;
pub mod flatten_buffer;
mod fuse;
pub mod fuse_kernels;
pub mod fuse_loops;
mod graphs;
mod groups;
pub mod hoist;
pub mod inline_producers;
pub mod intervals;
pub mod loop_partition;
pub mod lower_main;
pub mod lower_ops;
mod motion;
pub mod narrow_index;
mod obstacles;
pub mod plan_memory;
mod program;
pub mod remove_no_op;
pub mod reuse_memory;
pub mod rewrite_loops;
mod rows;
pub mod schedule_cpu;
pub mod simplify;
pub mod storage_rewrite;
pub mod unroll_loop;
pub mod vectorize_loop;

plugin! { description = "Passes over loop programs." }
