//! Fuses loops that pass values to each other by memory, and makes that memory smaller, or removes it.
//!
//! ```text
//! prim @k(%x: Tensor[(64, 125), float32], %s: Tensor[(64), float32]) -> (%y: Tensor[(8000), float32]) {
//!   %b = alloc float32[64, 125];
//!   for %i in 0..64 {
//!     for %j in 0..125 { %b[%i, %j] = %x[%i, %j] * %s[%i]; }
//!   }
//!   %f = view(%b, shape = [8000]);
//!   for %n in 0..8000 { %y[%n] = exp(%f[%n]); }
//! }
//! ```
//! becomes
//! ```text
//! prim @k(%x: Tensor[(64, 125), float32], %s: Tensor[(64), float32]) -> (%y: Tensor[(8000), float32]) {
//!   for %n in 0..64 {
//!     for %j in 0..125 { %y[%n * 125 + %j] = exp(%x[%n, %j] * %s[%n]); }
//!   }
//! }
//! ```
//!
//! The loops of a block that use the memory of an `alloc` in it become one, if no turn uses what a later one writes; a loop with
//! a multiple of another one's turns is taken in as many steps. The memory is then that of one turn, in the body
//! of the loop, where the same is done again. A single element that is stored once is a value. So a chain of
//! operations on elements is one nest without memory, and what follows a sum over channels is computed for each channel as soon
//! as it is there.
//!
//! Nothing is computed twice, and no sum in another order: the results are the same in each bit. Loops stay apart where one
//! needs elements of many turns of another (a sum over all of them, a window, another order of the axes), where their numbers
//! of turns are not multiples of each other, and where memory is passed to a call.
//!
//! `InlineProducers` finds elements that are read in another order; `FuseKernels` does both across the calls of loop programs.

use crate::{
    fuse::shrink,
    program::{is_program, try_allocs},
};
use relais_plugin_api::prelude::*;

/// Fuses loops that pass values to each other by memory, and makes that memory smaller, or removes it.
#[prim_func_pass(
    name = "relais.FuseLoops",
    opt_level = 0,
    phase = "none",
    statistics(removed = "memory removed", shrunk = "memory made smaller")
)]
pub fn fuse_loops(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    if is_program(edit.function()) {
        try_allocs(edit, cx, |f, block, alloc| {
            let shrunk = shrink(f, block, alloc)?;
            Ok((shrunk.function, if shrunk.bytes == 0 { "removed" } else { "shrunk" }))
        });
    }
    Ok(())
}
