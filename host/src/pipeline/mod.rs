//! Pipelines: the contents of a TOML file, its names resolved, and TOML again.

mod additions;
mod built_in;
mod called;
mod extend;
#[cfg(test)]
pub(crate) mod fake;
pub mod fault;
mod file_parser;
mod json_schema;
mod load;
mod parse;
mod parse_run;
mod parse_value;
mod print;
mod requirements;
mod resolve;
mod resolved;
mod resolver;
mod schema;
mod settings;
pub mod spec;
mod watchers;

pub use built_in::{BUILT_IN, EXTENSION_POINTS, ONNXRUNTIME_TARGET, built_in};
pub(crate) use extend::points_of as extension_points;
pub use fault::{Code, Faults, PipelineFault, Style};
pub use json_schema::json_schema;
pub use load::{Disk, Files, NamedPipeline};
pub use parse_value::parse_setting;
pub use print::{quote, toml};
pub use resolved::{AddedPass, Demand, PassInstance, Pipeline, ResolvedStep, RunSettings};
pub use schema::{Paths, check_options, check_value, defaults, mandatory};
pub use spec::PipelineSpec;
pub(crate) use {called::Callee, resolve::Outline};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_extend;
