//! Plugins in processes of their own: only bytes cross, which are copied and checked before they are used.
//!
//! A plugin that is isolated is opened by a worker, which is this program again, started by the host when something of the
//! plugin is first needed. For each thread that calls the plugin there is a lane, a pair of connected sockets. A pass is called
//! by a message with its argument as it is shipped (`docs/abi.md`), and may make the requests of any pass meanwhile. An answer
//! over a socket, unlike one in shared memory, cannot change after it was checked.

#[cfg(target_os = "linux")]
mod analyses;
#[cfg(target_os = "linux")]
mod away;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod instruments;
#[cfg(target_os = "linux")]
mod lane;
#[cfg(target_os = "linux")]
mod message;
#[cfg(target_os = "linux")]
mod of_plugin;
#[cfg(target_os = "linux")]
mod operators;
#[cfg(target_os = "linux")]
mod passes;
#[cfg(target_os = "linux")]
mod process;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::Worker;
#[cfg(not(target_os = "linux"))]
use elsewhere::description;
#[cfg(target_os = "linux")]
use process::description;
#[cfg(target_os = "linux")]
pub(crate) use {
    lane::{Files, Lane, LaneError, count_messages},
    message::{
        LOST, Message, PROTOCOL, diagnostic_bytes, diagnostic_of, error_of, hook, kind, sandbox, tag, with_lists,
    },
    of_plugin::Worker,
    operators::failure,
    process::usual_memory,
};

use crate::{
    isolation::Isolation,
    plugin::{Described, DropFaults, ProgramReport, sha256_of},
};
use relais_plugin_api::diagnostics::PassError;
use std::path::{Path, PathBuf};

/// Has the process of a program say what it has.
///
/// # Errors
/// Returns an error if the process cannot be started, the program cannot be loaded, or this host cannot use what it has.
pub(crate) fn describe_program(
    program: &Path,
    isolation: &Isolation,
    beside: Beside,
) -> Result<ProgramReport, PassError> {
    let unreadable = |error| PassError::new(format_args!("`{}` cannot be read: {error}", program.display()));
    let sha256 = sha256_of(program).map_err(unreadable)?;
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let spec = WorkerSpec {
        plugin: name,
        file: Some(program.to_owned()),
        program: Some(None),
        interpreter: None,
        beside,
        sha256: Some(sha256.clone()),
        files: vec![program.to_owned()],
        is_linked: true,
        target: String::new(),
        preferences: Vec::new(),
        isolation: isolation.clone(),
        faults: DropFaults::default(),
    };
    let report = description(&spec)?;
    match report.described.sha256 == sha256 {
        true => Ok(report),
        false => Err(PassError::new("its process describes another file")),
    }
}

/// Whether a program can import the files beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beside {
    /// It can.
    Imported,
    /// It cannot, as when it is copied elsewhere.
    Left,
}

/// The plugin that a worker opens, and everything that it may use.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no workers"))]
pub(crate) struct WorkerSpec {
    /// The plugin's name.
    pub plugin: String,
    /// Its file; none if it is linked into the program.
    pub file: Option<PathBuf>,
    /// If its file is a program, the records that its process has to agree with; inner none if they are not known yet.
    pub program: Option<Option<Described>>,
    /// Whether a program can import the files beside it.
    pub beside: Beside,
    /// The version that its interpreter must have.
    pub interpreter: Option<String>,
    /// The SHA-256 that its file must have.
    pub sha256: Option<String>,
    /// The files of all plugins, whose operators it may use.
    pub files: Vec<PathBuf>,
    /// Whether linked plugins count.
    pub is_linked: bool,
    /// The target of the pipeline.
    pub target: String,
    /// The operators that are taken from a plugin: domain, name, plugin.
    pub preferences: Vec<[String; 3]>,
    /// Its limits, and what it can reach.
    pub isolation: Isolation,
    /// Receives failures where no error can be returned.
    pub faults: DropFaults,
}
