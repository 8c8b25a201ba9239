//! Panics as errors: caught before they reach the plugin boundary.

use crate::{
    NodeId,
    diagnostics::{PassError, PassErrorRec, error_kind},
};
use std::{
    any::Any,
    backtrace::{Backtrace, BacktraceStatus},
    cell::{Cell, RefCell},
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind, panic_any, set_hook, take_hook},
    sync::Once,
};

thread_local! {
    /// Whether a panic on this thread will be caught by [`caught`].
    static ARMED: Cell<bool> = const { Cell::new(false) };
    /// The most recent panic that the hook saw on this thread.
    static SEEN: RefCell<Option<Box<PassErrorRec>>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// A panic that was caught on another thread, on its way to the caller.
struct Rethrown(Box<PassErrorRec>);

/// Runs `f`; a panic becomes an error with its message, place and backtrace. The panic is fully disposed of, including
/// one that its payload causes when it is dropped.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T, PassError> {
    caught_rec(f).map_err(|rec| PassError::from_rec(*rec))
}

/// As [`caught`], and flushes standard output, whose buffer is this library's own: a host that exits would lose it.
pub fn entered<T>(f: impl FnOnce() -> Result<T, PassError>) -> Result<T, PassError> {
    // A closed standard output must not fail a pass.
    let flush = || drop(std::io::stdout().flush());
    let result = caught(|| {
        let result = f();
        flush();
        result
    });
    if result.is_err() {
        // `f` did not come to its end.
        let _ = caught(flush);
    }
    result?
}

/// Resumes a panic that another thread caught.
pub fn rethrow(rec: Box<PassErrorRec>) -> ! {
    panic_any(Rethrown(rec))
}

/// As [`caught`], with the fields of the error.
pub fn caught_rec<T>(f: impl FnOnce() -> T) -> Result<T, Box<PassErrorRec>> {
    HOOK.call_once(install_hook);
    // A pool runs one pass's task while another waits on the same thread: the previous value is restored.
    let was_armed = ARMED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    let result = result.map_err(|payload| {
        let seen = SEEN.take();
        let rec = match payload.downcast::<Rethrown>() {
            Ok(rethrown) => rethrown.0,
            Err(payload) => {
                let rec = describe(&*payload, seen);
                discard(payload);
                rec
            }
        };
        SEEN.take();
        rec
    });
    ARMED.set(was_armed);
    result
}

fn describe(payload: &(dyn Any + Send), seen: Option<Box<PassErrorRec>>) -> Box<PassErrorRec> {
    // `resume_unwind` calls no hook.
    let mut rec = seen.unwrap_or_default();
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    rec.kind = error_kind::PANIC;
    rec.node = NodeId::ABSENT;
    rec.message = text.unwrap_or("a payload that is not text").into();
    rec
}

/// Drops a payload; dropping it may panic with another one like it, so that payload is leaked.
pub fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

fn install_hook() {
    let previous = take_hook();
    set_hook(Box::new(move |info| {
        // While a thread is being torn down its locals are gone; then the panic is not one of the host's or the
        // plugin's.
        if !ARMED.try_with(Cell::get).unwrap_or(false) {
            return previous(info);
        }
        if info.payload().is::<Rethrown>() {
            return;
        }
        let backtrace = Backtrace::capture();
        let backtrace = match backtrace.status() {
            BacktraceStatus::Captured => backtrace.to_string(),
            _ => String::new(),
        };
        let place = info.location().map(|place| place.to_string()).unwrap_or_default();
        let rec = PassErrorRec { place: place.into(), backtrace: backtrace.into(), ..PassErrorRec::default() };
        let _ = SEEN.try_with(|seen| {
            if let Ok(mut seen) = seen.try_borrow_mut() {
                *seen = Some(Box::new(rec));
            }
        });
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any(Self);
        }
    }

    fn message(f: impl FnOnce()) -> String {
        caught(f).unwrap_err().rec().message.to_string()
    }

    #[test]
    fn every_payload_is_caught() {
        assert_eq!(message(|| panic!("plain")), "plain");
        let n = 3;
        assert_eq!(message(|| panic!("n is {n}")), "n is 3");
        assert_eq!(message(|| panic_any(7)), "a payload that is not text");
        assert_eq!(message(|| panic_any(Bomb)), "a payload that is not text");
        assert_eq!(message(|| std::panic::resume_unwind(Box::new("resumed"))), "resumed");
    }

    #[test]
    fn the_place_is_kept() {
        let error = caught(|| panic!("here")).unwrap_err();
        assert!(error.rec().place.contains("guard.rs:"), "{error:?}");
    }

    #[test]
    fn what_another_thread_caught_keeps_its_place() {
        let inner = caught_rec(|| panic!("inner")).unwrap_err();
        let outer = caught_rec::<()>(|| rethrow(inner.clone())).unwrap_err();
        assert_eq!(inner, outer);
    }

    #[test]
    fn a_value_passes_through() {
        assert_eq!(entered(|| Ok(1)), Ok(1));
    }
}
