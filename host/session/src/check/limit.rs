//! The time that a check may take.

use crate::listener::{Listener, Notice};
use relais::{instruments::Output, manager::Progress};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// A listener that also stops what is under way once the time is over.
pub(super) struct Limited<'a> {
    listener: &'a dyn Listener,
    end: Option<Instant>,
    is_lifted: AtomicBool,
}

impl<'a> Limited<'a> {
    /// With the time that begins now.
    pub fn new(listener: &'a dyn Listener, time: Option<Duration>) -> Self {
        Self { listener, end: time.and_then(|time| Instant::now().checked_add(time)), is_lifted: false.into() }
    }

    /// Whether the time is over.
    pub fn is_over(&self) -> bool {
        !self.is_lifted.load(Ordering::Relaxed) && self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Removes the limit.
    pub fn lift(&self) {
        self.is_lifted.store(true, Ordering::Relaxed);
    }
}

impl Listener for Limited<'_> {
    fn notice(&self, notice: &Notice) {
        self.listener.notice(notice);
    }

    fn begins(&self, work: &str) {
        self.listener.begins(work);
    }

    fn progress(&self) -> Option<&dyn Progress> {
        self.listener.progress()
    }

    fn output(&self) -> Option<Arc<dyn Output>> {
        self.listener.output()
    }

    fn cancel(&self) -> Option<&AtomicBool> {
        self.listener.cancel()
    }

    fn is_stopped(&self) -> bool {
        self.is_over() || self.listener.is_stopped()
    }
}
