//! A pass that was made, and its environment while it runs.

use super::{Catalogue, Nest, PassContext, PassFacts, Scope};
use relais_plugin_api::{
    diagnostics::{Diagnostic, PassError},
    ir::IRModule,
    options::Value,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};

/// Whether passes explain why they did not do something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Remarks {
    /// They do not.
    #[default]
    Hide,
    /// They do.
    Show,
}

/// Receives a file: its name and its contents. An error is one of the pass.
pub type TakeFile<'a> = dyn Fn(&str, &[u8]) -> Result<(), PassError> + Sync + 'a;

/// The environment of a pass while it runs, in addition to the module.
#[derive(Clone, Copy)]
pub struct RunCx<'a> {
    /// Receives the diagnostics of the pass.
    pub diagnostics: &'a (dyn Fn(Diagnostic) + Sync),
    /// Takes how far the pass is: done, of a total.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    /// Receives a count of the pass: the statistic's name, and by how much it grew.
    pub count: &'a (dyn Fn(&str, u64) + Sync),
    /// Receives a file that the pass made: its name and its contents.
    pub file: &'a TakeFile<'a>,
    /// Whether the pass explains why it did not do something.
    pub remarks: Remarks,
    /// Set when the pass should stop.
    pub cancel: &'a AtomicBool,
    /// The options of the context.
    pub config: &'a BTreeMap<String, Value>,
    /// The threads that functions are distributed over; rayon's own if there are none.
    pub pool: Option<&'a rayon::ThreadPool>,
    /// The run that it is a part of, for the passes that it calls.
    pub(crate) nest: Nest<'a>,
}

static NEVER: AtomicBool = AtomicBool::new(false);
static NO_CONFIG: BTreeMap<String, Value> = BTreeMap::new();

impl<'a> RunCx<'a> {
    /// The environment of a pass that is run by itself: its messages are discarded, and nothing stops it.
    pub fn new(catalogue: &'a dyn Catalogue) -> Self {
        Self {
            diagnostics: &|_| {},
            progress: &|_, _| {},
            count: &|_, _| {},
            file: &|_, _| Ok(()),
            remarks: Remarks::default(),
            cancel: &NEVER,
            config: &NO_CONFIG,
            pool: None,
            nest: Nest::alone(catalogue),
        }
    }

    /// The same with a receiver of diagnostics.
    pub fn with_diagnostics(self, diagnostics: &'a (dyn Fn(Diagnostic) + Sync)) -> Self {
        Self { diagnostics, ..self }
    }

    /// The same with a receiver of counts.
    pub fn with_count(self, count: &'a (dyn Fn(&str, u64) + Sync)) -> Self {
        Self { count, ..self }
    }

    /// The same with options of the context, which were checked.
    pub fn with_config(self, config: &'a BTreeMap<String, Value>) -> Self {
        Self { config, ..self }
    }

    /// The same with a flag that asks passes to stop.
    pub fn with_cancel(self, cancel: &'a AtomicBool) -> Self {
        Self { cancel, ..self }
    }

    /// The same with threads.
    pub fn with_pool(self, pool: &'a rayon::ThreadPool) -> Self {
        Self { pool: Some(pool), ..self }
    }

    pub(crate) fn wants_remarks(&self) -> bool {
        self.remarks == Remarks::Show
    }

    /// The settings of the context, with the options of this run.
    pub(crate) fn scope(&self, context: &PassContext) -> Scope {
        let mut scope = context.settings().clone();
        scope.config.extend(self.config.iter().map(|(key, value)| (key.clone(), value.clone())));
        scope
    }

    /// Runs `f` on the threads.
    pub(crate) fn install<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        match self.pool {
            Some(pool) => pool.install(f),
            None => super::spread(f),
        }
    }
}

/// A pass as a sequence holds it: not its name, but the pass.
#[derive(Clone)]
pub struct HeldPass {
    /// The facts about it.
    pub facts: Arc<PassFacts>,
    /// Its options, defaults filled in.
    pub options: Value,
    /// The pass itself.
    pub pass: Arc<dyn RunnablePass>,
}

/// A member of a sequential pass.
#[derive(Clone)]
#[non_exhaustive]
pub enum Member {
    /// One that is looked up by its name, with its options.
    Named(String, Value),
    /// A pass object.
    Held(HeldPass),
}

/// A pass that was made, its options set.
pub trait RunnablePass: Send + Sync {
    /// Runs it; `None` when it changed nothing.
    ///
    /// # Errors
    /// Returns an error if it fails.
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError>;

    /// Says whether it can work on a module, before any pass of the run did.
    ///
    /// # Errors
    /// When it cannot.
    fn check(&self, _module: &IRModule, _cx: &RunCx<'_>) -> Result<(), PassError> {
        Ok(())
    }

    /// The members of a sequential pass.
    ///
    /// # Errors
    /// Returns an error if they cannot be determined.
    fn members(&self) -> Result<Vec<Member>, PassError> {
        Ok(Vec::new())
    }
}
