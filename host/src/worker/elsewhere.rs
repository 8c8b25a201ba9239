//! Workers, on systems on which there are none.

use super::WorkerSpec;
use crate::plugin::{Away, ProgramReport};
use relais_plugin_api::{boundary::abi::PassObject, diagnostics::PassError};
use std::sync::Arc;

/// Elsewhere, a program describes itself here.
pub(super) fn description(_: &WorkerSpec) -> Result<ProgramReport, PassError> {
    Err(nowhere())
}

fn nowhere() -> PassError {
    PassError::new("plugins cannot be isolated on this system").help("isolation is supported on Linux")
}

/// The process of a plugin.
pub(crate) struct Worker;

impl Worker {
    pub fn new(_: WorkerSpec) -> Self {
        Self
    }
}

impl Away for Worker {
    fn create_pass(self: Arc<Self>, _: &str, _: &[u8]) -> Result<PassObject, PassError> {
        Err(nowhere())
    }
}
