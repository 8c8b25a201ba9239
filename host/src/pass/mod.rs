//! Passes as pipelines, instruments and the manager know them: the facts about them, their environment, the contexts and
//! instruments around them, and where they come from.

mod analyses;
mod asked;
mod context;
mod facts;
mod globals;
mod instrument;
mod nest;
mod runnable;
mod said;
mod scope;
mod threads;
mod verify;
mod watch;

pub use analyses::AnalysisUse;
pub use asked::RunAnalyses;
pub use context::{ContextError, ContextGuard, PassContext, ScopeError};
pub use facts::{
    AnalysisFacts, Candidate, ConfigFacts, InstrumentFacts, NoPass, OperatorName, PROGRAM, PassFacts, PassOwner,
    PluginFacts,
};
pub use instrument::{Deadline, Hook, HookFault, InstrumentFindings, PassInfo, PassInstrument, SkipReason};
pub use runnable::{Catalogue, HeldPass, Member, Remarks, RunCx, RunnablePass, TakeFile};
pub use said::PassMessage;
pub use scope::{DEFAULT_OPT_LEVEL, Dependencies, OnFailure, Scope, Verify};
pub use threads::with_threads;

pub(crate) use {
    analyses::{Analyses, Touched},
    asked::check_preserved,
    globals::{Answer, Shown, cancelled, changed_within, over_globals},
    nest::{Nest, Order, Quarantine},
    runnable::built_in_analysis,
    said::line_of,
    threads::spread,
    verify::{check as check_module, check_arena, check_programs},
    watch::Watch,
};
