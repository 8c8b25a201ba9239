//! Passes that a pass runs: instruments see them as they see a step (rule R3), and the settings of the run apply to
//! them.

use super::{
    ManagerOptions,
    machine::{Machine, Stop},
    report::FailureKind,
};
use crate::{
    pass::{PassContext, RunCx, Watch},
    pipeline::{Callee, Pipeline},
};
use relais_plugin_api::{boundary::abi::error_kind, diagnostics::PassError, ir::IRModule};

/// Resolves a pass that another one calls in a context.
pub(crate) fn resolve_nested(callee: Callee<'_>, context: &PassContext, cx: &RunCx<'_>) -> Result<Pipeline, PassError> {
    let pipeline = Pipeline::of_call(callee, &cx.scope(context), Some(cx.nest.dependencies), cx.catalogue);
    pipeline.map_err(PassError::from)
}

/// Runs a pass for another one; `None` if it changed nothing. The fault of a hook also fails the run (rule R18),
/// whatever the outer pass does with it.
pub(crate) fn run_nested(
    pipeline: &Pipeline,
    module: &IRModule,
    cx: &RunCx<'_>,
) -> Result<Option<IRModule>, PassError> {
    let host = |message: &dyn std::fmt::Display| PassError::with_kind(error_kind::HOST, message);
    let nest = cx.nest.deeper().ok_or_else(|| {
        let message = format!("`{}` is run by passes that it runs itself", pipeline.name);
        host(&message)
    })?;
    let current = PassContext::current();
    let watch = match (nest.is_watched, nest.watch) {
        (false, _) => Watch::default(),
        (true, Some(outer)) if outer.is_of(&current) => outer.again(),
        (true, _) => Watch::of(current.clone()),
    };
    // If the passes are not reported, neither are those that they run.
    let _guard = (!nest.is_watched).then(|| current.unwatched().adopt());
    let options = ManagerOptions {
        verify: Some(nest.verify),
        remarks: cx.remarks,
        cancel: Some(cx.cancel),
        ..ManagerOptions::default()
    };
    let inner = RunCx { nest, ..*cx };
    match Machine::new(pipeline, module.clone(), cx.catalogue, &options).run_within(&watch, &inner) {
        Ok(module) => Ok(module),
        Err(Stop::Hook(fault)) => {
            let error = host(&fault);
            current.keep_fault(fault);
            Err(error)
        }
        Err(Stop::Pass(kind)) => Err(match *kind {
            FailureKind::Pass { error, .. } | FailureKind::Check { error, .. } | FailureKind::Program { error, .. } => {
                error
            }
            FailureKind::Instrument(fault) => host(&fault),
        }),
    }
}
