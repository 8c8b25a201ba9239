//! `log` in a plugin: its static is the library's own, so messages are handed to the host's.

use crate::abi::{HostSetupRef, LogRec, log_level};
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::{borrow::Cow, sync::OnceLock};

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
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(record.args().to_string()),
        };
        let target = target(self.plugin, record.target(), record.module_path());
        (self.host.log())(&LogRec {
            level: record.level() as u8,
            target: (&*target).into(),
            message: (&*message).into(),
            module: record.module_path().unwrap_or_default().into(),
            file: record.file().unwrap_or_default().into(),
            line: record.line().unwrap_or_default(),
            more: abi_stable::std_types::RSlice::EMPTY,
        });
    }

    fn flush(&self) {}
}

/// The target of a message in the host: the plugin, and the target that the message was given, if it was.
fn target<'a>(plugin: &'a str, target: &str, module: Option<&str>) -> Cow<'a, str> {
    match Some(target) == module || target.is_empty() {
        true => Cow::Borrowed(plugin),
        false => Cow::Owned(format!("{plugin}::{target}")),
    }
}

/// Hands messages to the host from now on, unless there is a logger already: a plugin that is linked statically
/// shares the host's.
pub(crate) fn install(host: HostSetupRef, plugin: &'static str, level: u8) {
    let forwarder = FORWARDER.get_or_init(|| Forwarder { host, plugin });
    if log::set_logger(forwarder).is_ok() {
        log::set_max_level(level_filter(level));
    }
}

/// Follows the host's level, where messages are handed to it.
#[inline]
pub(crate) fn follow(level: u8) {
    if log::max_level() as u8 != level && FORWARDER.get().is_some() {
        log::set_max_level(level_filter(level));
    }
}

fn level_filter(level: u8) -> LevelFilter {
    match level {
        log_level::OFF => LevelFilter::Off,
        log_level::ERROR => LevelFilter::Error,
        log_level::WARN => LevelFilter::Warn,
        log_level::INFO => LevelFilter::Info,
        log_level::DEBUG => LevelFilter::Debug,
        log_level::TRACE.. => LevelFilter::Trace,
    }
}

/// The level of a message that crossed the boundary.
pub fn level(number: u8) -> Level {
    // None that is off crosses; it would be an error.
    level_filter(number).to_level().unwrap_or(Level::Error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_begin_with_the_plugin() {
        assert_eq!(target("acme", "acme_crate::fold", Some("acme_crate::fold")), "acme");
        assert_eq!(target("acme", "timing", Some("acme_crate::fold")), "acme::timing");
        assert_eq!((target("acme", "timing", None), target("acme", "", None)), ("acme::timing".into(), "acme".into()));
    }

    #[test]
    fn levels_are_those_of_the_log() {
        use log_level::*;
        for (number, filter) in [OFF, ERROR, WARN, INFO, DEBUG, TRACE].into_iter().zip(LevelFilter::iter()) {
            assert_eq!((number, level_filter(number)), (filter as u8, filter));
        }
        assert_eq!((level_filter(9), level(9), level(OFF)), (LevelFilter::Trace, Level::Trace, Level::Error));
        assert!(Level::iter().all(|it| level(it as u8) == it));
    }
}
