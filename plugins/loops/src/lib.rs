//! Passes over loop programs.

use relais_plugin_api::prelude::*;

mod calls;
pub mod common_subexpr_elim;
pub mod compute_at;
mod cuts;
pub mod flatten_buffer;
mod fuse;
pub mod fuse_kernels;
pub mod fuse_loops;
mod groups;
pub mod hoist;
pub mod inline_producers;
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
