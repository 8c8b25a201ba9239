//! The log of a worker, whose records go to its host.

use crate::worker::{LOST, Lane, LaneError, Message, kind, tag};
use std::{
    cell::RefCell,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A host is waited for as long as it lives.
pub(super) fn patient() -> Result<(), LaneError> {
    Ok(())
}

/// From now on, records are handed to the host.
pub(super) fn install() {
    let _ = log::set_logger(&ToHost);
}

/// The logger of a worker, for programs that have set another one before they are told that they are one.
pub fn logger() -> &'static dyn log::Log {
    &ToHost
}

/// From now on, this thread serves that lane, by which its records go.
pub(super) fn serves(lane: Arc<Mutex<Lane>>) {
    CURRENT.set(Some(lane));
}

thread_local! {
    /// The lane that this thread serves.
    static CURRENT: RefCell<Option<Arc<Mutex<Lane>>>> = const { RefCell::new(None) };
}

/// The records of the log that the host was not handed yet.
static LOGGED: Mutex<Vec<Message>> = Mutex::new(Vec::new());

/// The most records that wait.
const MOST_LOGGED: usize = 4096;

/// Hands the records of the log to the host.
pub(super) fn flush(lane: &mut Lane) {
    let logged = std::mem::take(&mut *lock(&LOGGED));
    for message in logged {
        if lane.send(&message, &[], &mut patient).is_err() {
            relais_files::leave(LOST);
        }
    }
}

/// The logger of a worker: records go to the host, with the next message if a lane is not at hand.
struct ToHost;

impl log::Log for ToHost {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &log::Record<'_>) {
        let message = Message::new(kind::LOG)
            .number(tag::LEVEL, record.level() as u64)
            .with(tag::NAME, record.target().as_bytes())
            .with(tag::TEXT, record.args().to_string().as_bytes());
        let mut logged = lock(&LOGGED);
        if logged.len() < MOST_LOGGED {
            logged.push(message);
        }
        drop(logged);
        // Records before a crash are not to be lost.
        let at_hand = CURRENT.try_with(|current| current.borrow().clone()).ok().flatten();
        if let Some(lane) = at_hand
            && let Ok(mut lane) = lane.try_lock()
        {
            flush(&mut lane);
        }
    }

    fn flush(&self) {}
}

/// The most verbose level that is logged, by its number.
pub(super) fn log_filter(level: u64) -> log::LevelFilter {
    log::LevelFilter::iter().nth(usize::try_from(level).unwrap_or(usize::MAX)).unwrap_or(log::LevelFilter::Trace)
}
