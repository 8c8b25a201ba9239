//! Finding, judging and opening plugins.

mod discovery;
mod exit_guard;
mod file;
mod inspect;
mod loader;
mod needs;
mod record;
mod verdict;

pub use discovery::{Discovery, FoundPlugin, Origin, Policy, RefusedPlugin, SearchDir, WritableFiles, discover};
pub use file::{read_section, section_of};
pub use inspect::{Inspection, Objection, inspect};
pub use loader::OpenPlugin;
pub use needs::{Needed, Needs};
pub use record::{
    AttrRecord, EvaluatorRecord, InstrumentRecord, OperatorRecord, PassRecord, PipelineRecord, PluginRecord,
    RecordError, Records, StatisticRecord, read_records,
};
pub use verdict::{Mover, Refusal, judge};

pub(crate) use exit_guard::Running;
