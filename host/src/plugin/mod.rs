//! Finding, judging and opening plugins.

mod discovery;
mod exit_guard;
mod file;
mod loader;
mod record;
mod verdict;

pub use discovery::{Discovery, FoundPlugin, Origin, Policy, RefusedPlugin, SearchDir, WritableFiles, discover};
pub use file::{read_section, section_of};
pub use loader::OpenPlugin;
pub use record::{
    AttrRecord, EvaluatorRecord, InstrumentRecord, OperatorRecord, PassRecord, PluginRecord, RecordError, Records,
    StatisticRecord, read_records,
};
pub use verdict::{Refusal, judge};

pub(crate) use exit_guard::Running;
