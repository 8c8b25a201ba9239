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

extern "C" fn log(message: &LogRec<'_>) {
    // A logger that panics must not end the process.
    let _ = caught(|| {
        log::logger().log(
            &log::Record::builder()
                .level(logger::level(message.level))
                .target(message.target.as_str())
                .module_path(Some(message.module.as_str()))
                .file(Some(message.file.as_str()))
                .line(Some(message.line))
                .args(format_args!("{}", escaped(&cut(&message.message))))
                .build(),
        );
    });
}
