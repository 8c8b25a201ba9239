//! Programs that say themselves what they have.

use crate::{
    isolation::Isolation,
    plugin::{Discovery, FoundPlugin, FoundProgram, ProgramReport, Refusal, RefusedPlugin},
    worker::{Beside, describe_program},
};
use relais_plugin_api::diagnostics::PassError;
use std::path::Path;

/// Loads a program in a process of its own, isolated like that, which says what it has.
///
/// # Errors
/// Returns an error if the process cannot be started, the program cannot be loaded, or this host cannot use what it has.
pub fn report_program(path: &Path, isolation: &Isolation, beside: Beside) -> Result<ProgramReport, PassError> {
    describe_program(path, isolation, beside)
}

/// The same with the programs that had no file of records beside them: each is loaded in a process of its own, which says
/// what it has.
pub fn described(mut found: Discovery) -> Discovery {
    for FoundProgram { path, is_named, isolation } in std::mem::take(&mut found.programs) {
        match describe_program(&path, &isolation.clone().unwrap_or_default(), Beside::Imported) {
            Ok(ProgramReport { described, .. }) => found.plugins.push(FoundPlugin {
                path,
                records: described.records,
                section: described.section,
                is_named,
                isolation,
                sha256: Some(described.sha256),
            }),
            Err(error) => {
                let refusal = Refusal::Program { error };
                found.refused.push(RefusedPlugin { path, records: None, refusal });
            }
        }
    }
    found
}
