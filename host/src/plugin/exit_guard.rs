//! A plugin that ends the process must not make a run look as if it had succeeded.
#![expect(unsafe_code, reason = "the C library's exit functions")]

use std::{
    collections::BTreeMap,
    io::Write,
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// What runs now, in the order in which it began. The one thing that hosts of one process share: a process ends once.
static RUNNING: Mutex<BTreeMap<u64, Arc<str>>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);
static REGISTER: Once = Once::new();

/// The exit status of a process that a plugin ended.
const STATUS: i32 = 70;

/// While this is alive, an end of the process is a plugin's doing.
pub(crate) struct Running(u64);

impl Running {
    /// `what` completes "… ended the process".
    pub(crate) fn new(what: &Arc<str>) -> Self {
        REGISTER.call_once(|| {
            // SAFETY: the function is one of this program, which is never unloaded.
            unsafe { libc::atexit(at_exit) };
        });
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).insert(id, what.clone());
        Self(id)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

extern "C" fn at_exit() {
    // The lock is held for moments only; who ended the process does not hold it.
    let Ok(running) = RUNNING.lock() else { return };
    let names: Vec<String> = running.values().map(ToString::to_string).collect();
    if names.is_empty() {
        return;
    }
    let who = names.join(", or ");
    let mut stderr = std::io::stderr().lock();
    // There is nobody left to tell that standard error is closed.
    let _ = writeln!(stderr, "error: {who} ended the process\n  help: a plugin returns an error instead");
    let _ = stderr.flush();
    // SAFETY: ends the process at once, without further exit functions.
    unsafe { libc::_exit(STATUS) };
}
