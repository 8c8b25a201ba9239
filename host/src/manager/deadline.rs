//! Passes that have to be done by a moment.

use crate::{instruments::OVER_BUDGET, pass::Deadline, plugin::end_process};
use relais_plugin_api::{
    boundary::abi::{PassErrorRec, error_kind},
    diagnostics::PassError,
};
use std::{
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How often it is looked whether the whole run was cancelled.
const PERIOD: Duration = Duration::from_millis(10);
/// How long after its time a pass that does not stop is named, and how often.
const GRACE: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_secs(60);

/// Runs a pass, and asks it to stop at the deadline, or when `cancel` is set. A pass that does not check is also late,
/// but not before it returns: it is named while it runs, and ends the process if the deadline says so. `who` is the pass, as
/// messages call it.
///
/// # Errors
/// Returns the error of the pass; if it was not done in time, an error that says so, whatever it returned, and where the
/// pass was when it stopped.
pub(super) fn keep<T>(
    deadline: &Deadline,
    who: &str,
    cancel: &AtomicBool,
    run: impl FnOnce(&AtomicBool) -> Result<T, PassError>,
) -> Result<T, PassError> {
    let stop = AtomicBool::new(false);
    let (is_done, bell) = (Mutex::new(false), Condvar::new());
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            let mut done = is_done.lock().unwrap_or_else(PoisonError::into_inner);
            let mut next = GRACE;
            while !*done {
                let now = Instant::now();
                let left = deadline.at.saturating_duration_since(now);
                let late = now.saturating_duration_since(deadline.at);
                if left.is_zero() || cancel.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                }
                if late >= next {
                    log::warn!("{who} does not stop: {}, and it has not looked since", deadline.message);
                    next = late + AGAIN;
                }
                if deadline.ends_after.is_some_and(|most| late >= most) {
                    let message = &deadline.message;
                    end_process(&format!(
                        "error: {who} does not stop: {message}\n  note: no result was put in place\n  help: its author lets it look \
                         whether it should: `cx.check_cancelled()?`\n"
                    ));
                }
                let wait = if left.is_zero() { PERIOD } else { left.min(PERIOD) };
                done = bell.wait_timeout(done, wait).unwrap_or_else(PoisonError::into_inner).0;
            }
        });
        // Also when the pass panics, or the scope would wait for the deadline.
        let _ring = Ring { is_done: &is_done, bell: &bell };
        run(&stop)
    });
    if Instant::now() < deadline.at || cancel.load(Ordering::Relaxed) {
        return result;
    }
    let stopped = result.err().filter(|error| error.rec().kind == error_kind::CANCELLED);
    let PassErrorRec { node, function, notes, .. } = stopped.map(|error| error.rec().clone()).unwrap_or_default();
    let message = deadline.message.as_str().into();
    let late = PassError::from_rec(PassErrorRec { node, function, notes, message, ..PassErrorRec::default() });
    Err(late.code(OVER_BUDGET).help("raise the options of the instrument `budget`, or leave the pass out"))
}

struct Ring<'a> {
    is_done: &'a Mutex<bool>,
    bell: &'a Condvar,
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        *self.is_done.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_plugin_api::ir::NodeId;

    fn deadline(from_now: Duration) -> Deadline {
        Deadline { at: Instant::now() + from_now, message: "too slow".into(), ends_after: None }
    }

    #[test]
    fn what_is_done_in_time_is_kept_and_nobody_waits_for_the_deadline() {
        let began = Instant::now();
        let cancel = AtomicBool::new(false);
        assert_eq!(keep(&deadline(Duration::from_secs(600)), "it", &cancel, |_| Ok(7)).ok(), Some(7));
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn what_takes_too_long_is_told_to_stop_and_is_late() {
        let cancel = AtomicBool::new(false);
        let until_stopped = |stop: &AtomicBool| {
            while !stop.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            let error = PassError::with_kind(error_kind::CANCELLED, "cancelled");
            Err::<(), _>(error.at(NodeId(7)).in_function("main").with_note("at a call"))
        };
        let error = keep(&deadline(Duration::from_millis(20)), "it", &cancel, until_stopped).unwrap_err();
        assert_eq!(error.rec().code, OVER_BUDGET);
        let told = error.to_string();
        assert!(told.starts_with("too slow (at %7 in `@main`)\n  note: at a call\n  help: raise "), "{told}");
    }

    #[test]
    fn what_a_late_pass_returned_otherwise_does_not_count() {
        let cancel = AtomicBool::new(false);
        for result in [Ok(()), Err(PassError::new("it fails").at(NodeId(7)))] {
            let slow = |_: &AtomicBool| {
                thread::sleep(Duration::from_millis(20));
                result
            };
            let error = keep(&deadline(Duration::ZERO), "it", &cancel, slow).unwrap_err();
            assert!(error.to_string().starts_with("too slow\n  help: raise "), "{error}");
        }
    }

    #[test]
    fn a_cancellation_of_the_run_reaches_the_pass() {
        let cancel = AtomicBool::new(true);
        let until_stopped = |stop: &AtomicBool| {
            while !stop.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            Ok(3)
        };
        assert_eq!(keep(&deadline(Duration::from_secs(600)), "it", &cancel, until_stopped).ok(), Some(3));
    }
}
