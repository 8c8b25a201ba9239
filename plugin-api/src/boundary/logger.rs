//! `log` in a plugin: its static is the library's own, so messages are handed to the host's.

use super::abi::{HostSetupRef, LogRec};
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::sync::OnceLock;

static FORWARDER: OnceLock<Forwarder> = OnceLock::new();

struct Forwarder {
    host: HostSetupRef,
    plugin: &'static str,
}

impl Log for Forwarder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        let message = match record.args().as_str() {
            Some(text) => std::borrow::Cow::Borrowed(text),
            None => std::borrow::Cow::Owned(record.args().to_string()),
        };
        (self.host.log())(&LogRec {
            level: record.level() as u8,
            target: self.plugin.into(),
            message: (&*message).into(),
            module: record.module_path().unwrap_or_default().into(),
            file: record.file().unwrap_or_default().into(),
            line: record.line().unwrap_or_default(),
            more: abi_stable::std_types::RSlice::EMPTY,
        });
    }

    fn flush(&self) {}
}

/// Hands messages to the host from now on, unless there is a logger already: a plugin that is linked statically
/// shares the host's.
pub(super) fn install(host: HostSetupRef, plugin: &'static str, level: u8) {
    let forwarder = FORWARDER.get_or_init(|| Forwarder { host, plugin });
    if log::set_logger(forwarder).is_ok() {
        log::set_max_level(level_filter(level));
    }
}

/// Follows the host's level, where messages are handed to it.
#[inline]
pub(super) fn follow(level: u8) {
    if log::max_level() as u8 != level && FORWARDER.get().is_some() {
        log::set_max_level(level_filter(level));
    }
}

fn level_filter(level: u8) -> LevelFilter {
    LevelFilter::iter().nth(level.into()).unwrap_or(LevelFilter::Trace)
}

/// The level of a message that crossed the boundary.
pub fn level(number: u8) -> Level {
    Level::iter().nth(usize::from(number).saturating_sub(1)).unwrap_or(Level::Trace)
}
