//! The functions that a plugin receives when it is opened, and when it makes something.

use super::{cut, escaped};
use abi_stable::prefix_type::WithMetadata;
use relais_plugin_api::boundary::{
    abi::{HostSetup, HostSetupRef, LogRec},
    guard::caught,
    logger,
};

const SETUP_TABLE: &WithMetadata<HostSetup> = &WithMetadata::new(HostSetup { log });

/// The functions that a plugin receives when it is opened.
pub(crate) const SETUP: HostSetupRef = HostSetupRef(SETUP_TABLE.static_as_prefix());

/// Logs a text of a plugin.
pub(super) fn log_text(plugin: &str, level: u8, message: &str) {
    log::log!(target: plugin, logger::level(level), "{message}");
}

extern "C" fn log(message: &LogRec<'_>) {
    // A logger that panics must not end the process.
    let _ = caught(|| {
        log::logger().log(
            &log::Record::builder()
                .level(logger::level(message.level))
                .target(&escaped(&cut(&message.target)))
                .module_path(Some(&escaped(&cut(&message.module))))
                .file(Some(&escaped(&cut(&message.file))))
                .line(Some(message.line))
                .args(format_args!("{}", escaped(&cut(&message.message))))
                .build(),
        );
    });
}
