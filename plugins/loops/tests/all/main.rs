//! The passes on programs that are built.

mod common;
mod flatten_buffer;
mod hostile;
mod loop_partition;
mod random;
mod remove_no_op;
mod schedule_cpu;
mod storage_rewrite;
mod unroll_loop;
mod vectorize_loop;
