//! Passes that a pass runs: instruments see them as they see a step (rule R3).

use super::{
    context::PassContext,
    instrument::{HookFault, PassInfo, SkipReason},
    watch::Watch,
};
use crate::pass::{Outcome, PassFailure, PassHandle, RunCx};
use relais_plugin_api::{boundary::abi::error_kind, diagnostics::PassError, ir::IRModule};
use std::time::Instant;

/// Runs a pass for another one. The fault of a hook is the run's as well (rule R18), whatever the outer pass makes of it.
pub(crate) fn run_nested(pass: &PassHandle, module: &IRModule, cx: &RunCx<'_>) -> Result<Outcome, PassFailure> {
    let context = PassContext::current();
    let watch = Watch::new(context.instruments());
    if !cx.is_watched() || watch.is_empty() {
        return pass.run(module, cx);
    }
    let record = pass.record();
    let info = PassInfo {
        name: &record.name,
        plugin: &pass.plugin().name,
        level: record.level,
        opt_level: record.opt_level,
        required: &record.required,
    };
    let broken = |fault: HookFault| {
        let error = PassError::with_kind(error_kind::HOST, &fault);
        context.keep_fault(fault);
        pass.failure(error)
    };
    // What the context requires is not asked about (rule R17).
    let is_required = context.settings().required.contains(&record.name);
    if !is_required && !watch.should_run(module, &info).map_err(broken)? {
        watch.skipped(module, &info, &SkipReason::Vetoed);
        return Ok(Outcome::default());
    }
    watch.before(module, &info).map_err(broken)?;
    let began = Instant::now();
    let result = pass.run(module, cx);
    watch.took(&info, began.elapsed());
    match result {
        Ok(outcome) => {
            watch.after(outcome.module.as_ref().unwrap_or(module), &info).map_err(broken)?;
            Ok(outcome)
        }
        Err(failure) => {
            watch.failed(&info, &failure.error);
            Err(failure)
        }
    }
}
