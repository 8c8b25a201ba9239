//! Passes that have to be done by a moment.

use crate::{instruments::OVER_BUDGET, pass::Deadline};
use relais_plugin_api::diagnostics::PassError;
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

/// A pass that was not done in time, whatever it returned.
pub(super) struct Late(pub PassError);

/// Runs a pass, and asks it to stop at the deadline, or when `cancel` is set. A pass that does not check is also late,
/// but not before it returns.
pub(super) fn keep<T>(deadline: &Deadline, cancel: &AtomicBool, run: impl FnOnce(&AtomicBool) -> T) -> Result<T, Late> {
    let stop = AtomicBool::new(false);
    let (is_done, bell) = (Mutex::new(false), Condvar::new());
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            let mut done = is_done.lock().unwrap_or_else(PoisonError::into_inner);
            while !*done {
                let left = deadline.at.saturating_duration_since(Instant::now());
                if left.is_zero() || cancel.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
                done = bell.wait_timeout(done, left.min(PERIOD)).unwrap_or_else(PoisonError::into_inner).0;
            }
        });
        // Also when the pass panics, or the scope would wait for the deadline.
        let _ring = Ring { is_done: &is_done, bell: &bell };
        run(&stop)
    });
    match Instant::now() < deadline.at || cancel.load(Ordering::Relaxed) {
        true => Ok(result),
        false => {
            let error = PassError::new(&deadline.message).code(OVER_BUDGET);
            Err(Late(error.help("raise the options of the instrument `budget`, or leave the pass out")))
        }
    }
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

    fn deadline(from_now: Duration) -> Deadline {
        Deadline { at: Instant::now() + from_now, message: "too slow".into() }
    }

    #[test]
    fn what_is_done_in_time_is_kept_and_nobody_waits_for_the_deadline() {
        let began = Instant::now();
        let cancel = AtomicBool::new(false);
        assert_eq!(keep(&deadline(Duration::from_secs(600)), &cancel, |_| 7).ok(), Some(7));
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn what_takes_too_long_is_told_to_stop_and_is_late() {
        let cancel = AtomicBool::new(false);
        let until_stopped = |stop: &AtomicBool| {
            while !stop.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        };
        let Err(Late(error)) = keep(&deadline(Duration::from_millis(20)), &cancel, until_stopped) else {
            panic!("it is late");
        };
        assert_eq!(error.rec().code, OVER_BUDGET);
    }

    #[test]
    fn a_cancellation_of_the_run_reaches_the_pass() {
        let cancel = AtomicBool::new(true);
        let until_stopped = |stop: &AtomicBool| {
            while !stop.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            3
        };
        assert_eq!(keep(&deadline(Duration::from_secs(600)), &cancel, until_stopped).ok(), Some(3));
    }
}
