//! Keeping what is said.

use crate::listener::{Listener, Notice};
use relais::{instruments::Output, manager::Progress};
use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicBool};

/// A listener that keeps the notices for the result.
pub(super) struct Heard<'a> {
    listener: &'a dyn Listener,
    notices: Mutex<Vec<Notice>>,
}

impl<'a> Heard<'a> {
    pub fn new(listener: &'a dyn Listener) -> Self {
        Self { listener, notices: Mutex::default() }
    }

    /// The notices so far, which it forgets.
    pub fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn warnings(&self, messages: &[String]) {
        messages.iter().for_each(|message| self.notice(&Notice::warning(message)));
    }
}

impl Listener for Heard<'_> {
    fn notice(&self, notice: &Notice) {
        self.listener.notice(notice);
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice.clone());
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
        self.listener.is_stopped()
    }
}
