//! Finding, judging and opening plugins.

mod c_plugin;
mod c_table;
mod crash_guard;
mod describe;
mod description;
mod discovery;
mod exit_guard;
mod file;
#[cfg(target_os = "linux")]
mod frames;
mod hash;
mod inherited;
mod loader;
mod needs;
mod operator_record;
mod program;
mod record;
mod setup;
mod signal_stack;
mod texts;
mod verdict;
mod writers;

pub use crash_guard::name_crashes;
pub use describe::{DescriptionError, describe};
pub use description::{ProgramFacts, describe_facts};
pub use discovery::{
    Discovery, FoundPlugin, FoundProgram, Origin, Policy, RefusedPlugin, SearchDir, WritableFiles, discover,
};
pub use file::{read_section, section_of};
pub use hash::{sha256_of, sha256_of_bytes};
#[cfg(target_os = "linux")]
pub(crate) use inherited::close_inherited;
pub use loader::{Away, OpenPlugin};
pub use needs::{Needed, Needs};
pub use operator_record::{AdditionRecord, AttrRecord, EvaluatorRecord, OperatorRecord};
pub use program::{Described, ProgramReport, is_program, records_beside};
pub use record::{
    AnalysisRecord, InstrumentRecord, PassRecord, PipelineRecord, PluginRecord, RecordError, Records, SampleRecord,
    StatisticRecord, read_records,
};
pub use texts::{cut, escaped};
pub use verdict::{FileWriter, Mover, Refusal, judge};

pub(crate) use exit_guard::{Close, DropFaults, Here, Made, Running, end_process};
#[cfg(target_os = "linux")]
pub(crate) use program::MOST_DESCRIBED;
pub(crate) use record::OWN_PLUGINS;
pub(crate) use texts::{cut_diagnostic, cut_error};
#[cfg(target_os = "linux")]
pub(crate) use {crash_guard::tell_crashes_to, frames::functions};

/// For inspecting a file that may not be a plugin.
pub(crate) use {
    discovery::{is_same_file, writable},
    file::{foreign, open, own_slice, records_of, slices},
    needs::needs,
    program::described,
    verdict::reasons,
};
