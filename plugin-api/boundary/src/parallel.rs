//! Parallel loops on the host's threads.
#![expect(unsafe_code, reason = "a closure crosses the boundary as a pointer")]

use crate::{
    abi::{CallCx, ParallelBody, PassErrorRec},
    current,
};
use relais_ir::guard::{caught_rec, rethrow};
use std::sync::{Mutex, PoisonError};

struct Loop<'a> {
    call: CallCx<'a>,
    body: &'a (dyn Fn(usize) + Sync),
    /// The panic of the lowest number.
    panic: Mutex<Option<(usize, Box<PassErrorRec>)>>,
}

/// Calls `body` for each number below `n`; returns when all calls have.
pub(crate) fn run(call: CallCx<'_>, n: usize, body: &(dyn Fn(usize) + Sync)) {
    let state = Loop { call, body, panic: Mutex::new(None) };
    // SAFETY: `turn` catches its panics and uses the pointer as a `Loop`, which is `Sync` and exists until this returns.
    unsafe { call.parallel_for(n, std::ptr::from_ref(&state).cast(), ParallelBody::new(turn)) };
    let panic = state.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, rec)) = panic {
        rethrow(rec);
    }
}

unsafe extern "C" fn turn(state: *const (), index: usize) {
    // SAFETY: `run` passes it a `Loop` that lives until all turns have returned; a `Loop` is `Sync`.
    let state = unsafe { &*state.cast::<Loop<'_>>() };
    let body = || caught_rec(|| (state.body)(index));
    let Err(rec) = current::within_call(state.call, body) else { return };
    let mut panic = state.panic.lock().unwrap_or_else(PoisonError::into_inner);
    if panic.as_ref().is_none_or(|(first, _)| index < *first) {
        *panic = Some((index, rec));
    }
}
