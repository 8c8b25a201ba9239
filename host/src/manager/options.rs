//! The settings of a run that are not the pipeline's.

use crate::{
    instruments::Output,
    pass::{Dependencies, PassContext, PassInstrument, PassMessage, Remarks, Verify},
};
use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

/// The settings of a run, in addition to those of the pipeline.
#[derive(Clone, Default)]
pub struct ManagerOptions<'a> {
    /// When the verifier runs, which takes precedence over the pipeline. If neither is set: after each pass in builds
    /// with debug assertions, otherwise once at the end.
    pub verify: Option<Verify>,
    /// Whether passes explain why they did not do something.
    pub remarks: Remarks,
    /// Instruments that run after those of the pipeline or the context.
    pub instruments: Vec<Arc<dyn PassInstrument>>,
    /// The output of the instruments that the pipeline names; standard error by default.
    pub output: Option<Arc<dyn Output>>,
    /// The number of executions of passes after which nothing more runs: for finding the one that does harm.
    pub stop_after: Option<u64>,
    /// Set when passes should stop.
    pub cancel: Option<&'a AtomicBool>,
    /// Receives the progress of the run.
    pub progress: Option<&'a dyn Progress>,
    /// The threads that functions are distributed over, and that passes run on; those of the caller by default.
    pub pool: Option<&'a rayon::ThreadPool>,
    /// How requirements are followed, unless the pipeline sets it.
    pub dependencies: Option<Dependencies>,
    /// The context that was entered for the run: its instruments watch, and [`instruments`](Self::instruments); the
    /// pipeline's own context is not entered.
    pub context: Option<Arc<PassContext>>,
}

/// Receives the progress of a run.
pub trait Progress: Sync {
    /// A pass begins.
    fn begins(&self, pass: &str);

    /// A pass is so far, of a total.
    fn is_at(&self, done: u64, total: u64);

    /// A pass said something.
    fn said(&self, _said: &PassMessage) {}

    /// A pass counted something.
    fn counted(&self, _pass: &str, _statistic: &str, _n: u64) {}

    /// A pass is done, well or not, after so long.
    fn took(&self, _pass: &str, _duration: Duration) {}
}
