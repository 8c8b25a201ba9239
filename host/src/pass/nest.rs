//! The state that a run shares with the runs of the passes that its passes call (rule R3).

use super::{
    Dependencies, OnFailure, Verify, Watch,
    analyses::{Analyses, Asking},
};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

/// The plugins, and passes of the program's own, that are excluded for the rest of a run (rule R25).
#[derive(Default)]
pub(crate) struct Quarantine(Mutex<BTreeSet<String>>);

impl Quarantine {
    pub fn contains(&self, who: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(who)
    }

    pub fn insert(&self, who: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(who.to_owned());
    }
}

/// How globals are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// One after another, on the thread of the caller.
    Serial,
    /// Over all threads.
    Parallel,
}

/// How deep passes may run passes.
const MAX_DEPTH: u8 = 16;

/// The state that a run shares with those of the passes that its passes call.
#[derive(Clone, Copy)]
pub(crate) struct Nest<'a> {
    pub dependencies: Dependencies,
    pub verify: Verify,
    pub on_failure: OnFailure,
    pub quarantine: Option<&'a Quarantine>,
    /// Those that watch the run, as long as no pass enters a context of its own.
    pub watch: Option<&'a Watch>,
    /// The results of analyses that the run keeps.
    pub analyses: Option<&'a Arc<Analyses>>,
    /// The analysis for which this is done.
    pub asking: Option<&'a Asking<'a>>,
    /// Whether instruments see the passes that a pass runs: not where functions are distributed over threads, since the
    /// order of the hooks would be undefined.
    pub is_watched: bool,
    /// How the pass receives functions.
    order: Order,
    /// How many passes that run passes are around this one.
    depth: u8,
}

impl<'a> Nest<'a> {
    /// For a pass that is called outside a run.
    pub fn alone() -> Self {
        Self {
            dependencies: Dependencies::default(),
            verify: Verify::Off,
            on_failure: OnFailure::default(),
            quarantine: None,
            watch: None,
            analyses: None,
            asking: None,
            is_watched: true,
            order: Order::Parallel,
            depth: 0,
        }
    }

    /// Returns the settings for the passes that a pass of this run runs.
    pub fn within(
        self,
        dependencies: Dependencies,
        verify: Verify,
        quarantine: &'a Quarantine,
        watch: &'a Watch,
        analyses: &'a Arc<Analyses>,
    ) -> Self {
        let analyses = Some(analyses);
        Self { dependencies, verify, quarantine: Some(quarantine), watch: Some(watch), analyses, ..self }
    }

    /// The same for the work of an analysis.
    pub fn asked_by<'b>(self, asking: &'b Asking<'b>) -> Nest<'b>
    where
        'a: 'b,
    {
        Nest { asking: Some(asking), ..self }
    }

    /// The same with the results of analyses of another run.
    pub fn with_analyses<'b>(self, analyses: Option<&'b Arc<Analyses>>, verify: Verify) -> Nest<'b>
    where
        'a: 'b,
    {
        Nest { analyses, verify, ..self }
    }

    /// The same without the results of analyses.
    pub fn unaware(self) -> Self {
        Self { analyses: None, ..self }
    }

    /// The same under a policy.
    pub fn under(self, on_failure: OnFailure) -> Self {
        Self { on_failure, ..self }
    }

    /// The same for a pass that receives its functions one after another.
    pub fn one_by_one(self) -> Self {
        Self { order: Order::Serial, ..self }
    }

    /// Returns the settings for the work of a pass on each of its functions, and how it receives them.
    pub fn for_globals(self) -> (Self, Order) {
        let nest = Self { order: Order::Parallel, is_watched: self.is_watched && self.order == Order::Serial, ..self };
        (nest, self.order)
    }

    /// The same for the passes that a pass runs; `None` where they would be nested without end.
    pub fn deeper(self) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(Self { depth: self.depth + 1, ..self })
    }

    /// The same where a pass entered a context of its own, on one thread.
    pub fn watched(self) -> Self {
        Self { is_watched: true, ..self }
    }

    /// The same where several threads work for a pass.
    pub fn shared_out(self) -> Self {
        Self { is_watched: false, ..self }
    }
}
