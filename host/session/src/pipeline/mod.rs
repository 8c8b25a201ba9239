//! Pipelines that users ask for: by name, by level or by passes, with rules, conversions, options and instruments.

mod around;
mod instruments;
mod isolated;
mod named;
mod request;
mod stated;

pub use instruments::{InstrumentRequest, OptionRequest};
pub(crate) use instruments::{add_instruments, missing_functions};
pub use isolated::with_isolated;
pub use named::files_of_pipeline;
pub(crate) use request::NoPipeline;
pub use request::{Chosen, PipelineRequest};
pub use stated::StatedRules;
