//! Runs resolved pipelines: contexts, requirements, instruments, roll-back (rules R1 to R20, R25 to R27).

mod checks;
mod context;
mod deadline;
mod execute;
mod instrument;
mod machine;
mod module_state;
mod nested;
mod preflight;
mod report;
mod reproducer;
mod verifier;
mod watch;

pub use context::{ContextError, ContextGuard, PassContext, ScopeError};
pub use instrument::{Deadline, Findings, Hook, HookFault, Instrument, PassInfo, SkipReason};
pub use report::{Execution, Failure, FailureKind, Fate, MAX_FAULTS, PassFault, Report, Said, Statistic};
pub use reproducer::{PluginState, Reproducer, ReproducerError, ReproducerFacts, free_folder};

pub(crate) use {
    nested::{Nest, run_nested},
    verifier::check as check_module,
};

use crate::{
    instruments::Output,
    pass::Remarks,
    pipeline::{
        Catalogue, Pipeline,
        spec::{Dependencies, Verify},
    },
};
use machine::Machine;
use relais_plugin_api::ir::IRModule;
use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

/// How a pipeline is run, beyond what it says itself.
#[derive(Clone, Default)]
pub struct RunOptions<'a> {
    /// When the verifier runs, whatever the pipeline says. If neither says: after each pass in builds with debug
    /// assertions, else once at the end.
    pub verify: Option<Verify>,
    /// Whether passes say why they did not do something.
    pub remarks: Remarks,
    /// What watches the passes, after the instruments that the pipeline names, or those of the context.
    pub instruments: Vec<Arc<dyn Instrument>>,
    /// Where the instruments that the pipeline names print; standard error when nobody says.
    pub output: Option<Arc<dyn Output>>,
    /// After so many executions of passes nothing more runs: for finding the one that does harm.
    pub stop_after: Option<u64>,
    /// Set when passes should stop.
    pub cancel: Option<&'a AtomicBool>,
    /// Hears of what runs.
    pub progress: Option<&'a dyn Progress>,
    /// The threads that functions are shared out among, and that passes run on; those of the caller when nobody says.
    pub pool: Option<&'a rayon::ThreadPool>,
    /// How requirements are followed, where the pipeline does not say.
    pub dependencies: Option<Dependencies>,
    /// The context that was entered for the run: its instruments watch, and [`instruments`](Self::instruments); none is
    /// entered for the pipeline's.
    pub context: Option<Arc<PassContext>>,
}

/// Hears of what runs.
pub trait Progress: Sync {
    /// A pass begins.
    fn begins(&self, pass: &str);

    /// A pass is so far, of a total.
    fn is_at(&self, done: u64, total: u64);

    /// A pass said something.
    fn said(&self, _said: &Said) {}

    /// A pass counted something.
    fn counted(&self, _pass: &str, _statistic: &str, _n: u64) {}

    /// A pass is done, well or not, after so long.
    fn took(&self, _pass: &str, _duration: Duration) {}
}

/// Runs a pipeline. The module that is given stays as it is (rule R15).
///
/// # Errors
/// When a pass or an instrument fails and the policy is not to go on.
pub fn run(
    pipeline: &Pipeline,
    module: &IRModule,
    catalogue: &dyn Catalogue,
    options: &RunOptions<'_>,
) -> Result<(IRModule, Report), Box<Failure>> {
    on_pool(options, || Machine::new(pipeline, module.clone(), catalogue, options).run())
}

/// Runs the one pass of a pipeline, whatever its level and the lists say, and without what it requires (rule R3).
///
/// # Errors
/// When the pass or an instrument fails.
pub(crate) fn run_directly(
    pipeline: &Pipeline,
    module: &IRModule,
    catalogue: &dyn Catalogue,
    options: &RunOptions<'_>,
) -> Result<(IRModule, Report), Box<Failure>> {
    on_pool(options, || Machine::new(pipeline, module.clone(), catalogue, options).run_directly())
}

/// Runs `f` on the pool that is asked for, in the context of this thread.
fn on_pool<T: Send>(options: &RunOptions<'_>, f: impl FnOnce() -> T + Send) -> T {
    let Some(pool) = options.pool else { return f() };
    let context = PassContext::current();
    pool.install(|| {
        let _current = context.push_quietly();
        f()
    })
}

#[cfg(test)]
mod tests;
