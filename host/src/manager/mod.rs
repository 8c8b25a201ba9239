//! Runs resolved pipelines: contexts, requirements, instruments, roll-back (rules R1 to R20, R25 to R27).

mod checks;
mod context_builder;
mod deadline;
mod execute;
mod machine;
mod module_state;
mod nested;
mod options;
mod preflight;
mod report;
mod reproducer;
mod smaller;

pub use context_builder::ContextBuilder;
pub use options::{ManagerOptions, Progress};
pub use report::{Execution, Failure, FailureKind, Fate, MAX_FAULTS, PassFault, RunReport, Statistic};
pub use reproducer::{PluginState, Reproducer, ReproducerError, ReproducerFacts, free_folder};

pub(crate) use nested::{resolve_nested, run_nested};

use crate::{
    pass::{Catalogue, PassContext},
    pipeline::Pipeline,
};
use machine::Machine;
use relais_plugin_api::ir::IRModule;

/// Runs a pipeline. The input module is unchanged (rule R15).
///
/// # Errors
/// Returns an error if a pass or an instrument fails and the policy is not to go on.
pub fn run(
    pipeline: &Pipeline,
    module: &IRModule,
    catalogue: &dyn Catalogue,
    options: &ManagerOptions<'_>,
) -> Result<(IRModule, RunReport), Box<Failure>> {
    on_pool(options, || Machine::new(pipeline, module.clone(), catalogue, options).run())
}

/// Runs the one pass of a pipeline, whatever its level and the lists, and without its requirements (rule R3).
///
/// # Errors
/// Returns an error if the pass or an instrument fails.
pub(crate) fn run_directly(
    pipeline: &Pipeline,
    module: &IRModule,
    catalogue: &dyn Catalogue,
    options: &ManagerOptions<'_>,
) -> Result<(IRModule, RunReport), Box<Failure>> {
    on_pool(options, || Machine::new(pipeline, module.clone(), catalogue, options).run_directly())
}

/// Runs `f` on the requested pool, in the context of this thread.
fn on_pool<T: Send>(options: &ManagerOptions<'_>, f: impl FnOnce() -> T + Send) -> T {
    let Some(pool) = options.pool else { return f() };
    let context = PassContext::current();
    pool.install(|| {
        let _current = context.adopt();
        f()
    })
}

#[cfg(test)]
mod tests;
