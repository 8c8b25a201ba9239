//! The match of a rewrite rule that a function of Python looks at.

use crate::errors;
use pyo3::prelude::*;
use relais::ir::Function;
use scoped_tls::scoped_thread_local;
use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering},
};

// The function that a match is in, while a function of Python looks at it.
scoped_thread_local!(static MATCHED: Function);

thread_local! {
    /// The number of the match that a function of Python looks at; 0 is none.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// The number of the next match.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Reads the function of a match, while it lasts.
pub(crate) fn read_match<R>(py: Python<'_>, number: u64, read: impl FnOnce(&Function) -> R) -> PyResult<R> {
    match is_current(number) && MATCHED.is_set() {
        true => Ok(MATCHED.with(read)),
        false => Err(gone(py)),
    }
}

/// Whether a function of Python looks at the match of that number.
pub(crate) fn is_current(number: u64) -> bool {
    CURRENT.get() == number
}

/// The exception of a match that is over.
pub(crate) fn gone(py: Python<'_>) -> PyErr {
    let message = "the match is over: its nodes mean something only while the function that is given them runs";
    errors::exception(py, "StaleNodeError", message, |_| Ok(()))
}

/// Lets a function of Python look at a match.
pub(crate) fn looking<R>(function: &Function, look: impl FnOnce(u64) -> R) -> R {
    /// Ends it, also after a panic.
    struct Ends(u64);
    impl Drop for Ends {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let _ends = Ends(CURRENT.replace(number));
    MATCHED.set(function, || look(number))
}
