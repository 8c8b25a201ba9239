//! Analyses of plugins.

use super::services::{CallState, Entered, Run, host};
use crate::{
    ir::IRModule,
    pass::RunCx,
    plugin::{Here, Running, cut_error},
    registry::Registry,
};
use relais_plugin_api::{
    analysis::{AnalysisObject, SubjectRec},
    boundary::abi::error_kind,
    diagnostics::PassError,
};
use std::sync::PoisonError;

/// Has the plugin that provides an analysis compute it.
///
/// # Errors
/// Returns an error if the plugin cannot be opened, or the analysis or a part of an operator fails.
pub(crate) fn compute_analysis(
    registry: &Registry,
    name: &str,
    of: &SubjectRec<'_>,
    cx: &RunCx<'_>,
) -> Result<AnalysisObject, PassError> {
    let (provider, _) = registry.provider_of_analysis(name).map_err(|error| host(&error))?;
    let open = provider.open().map_err(|refusal| {
        let error = host(&format_args!("plugin {} was refused: {refusal}", provider.describe()));
        refusal.help().into_iter().fold(error, PassError::help)
    })?;
    let lacks = || host(&format_args!("plugin {} lacks what its records say", provider.describe()));
    let plugin = &provider.records().plugin;
    let guarded = provider.guarded(&format!("analysis `{name}`"));
    let run = Run::new(cx, registry, plugin, &[]);
    let none = IRModule::new();
    let state = CallState::new(&run, of.as_module().unwrap_or(&none), "");
    let entered = Entered::begin();
    let running = (Running::new(&guarded), Here::new(&guarded, ""));
    let result = open.analyse(&state.call(), name, of).unwrap_or_else(|| Err(lacks())).map_err(cut_error);
    drop((running, entered));
    let result = state.fault().map_or(result, Err);
    let broken = state.broken.into_inner().unwrap_or_else(PoisonError::into_inner);
    broken.map_or(result, Err).map_err(|error| {
        let note = format!("in analysis `{name}` of plugin `{} {}`", plugin.name, plugin.version);
        // The process of an isolated plugin has said it.
        let is_noted = error.rec().notes.iter().any(|known| known.as_str() == note);
        let error = if is_noted { error } else { error.with_note(note) };
        match error.rec().plugin.is_empty() && error.rec().kind != error_kind::CANCELLED {
            true => error.of_plugin(&plugin.name),
            false => error,
        }
    })
}
