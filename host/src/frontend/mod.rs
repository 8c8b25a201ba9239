//! The parts of the command line that other programs offer, too: reading models, setting the shapes of their inputs,
//! counting what they compute, cutting out parts of them, keeping nodes, finding plugins, pipelines from names and settings, and lists as JSON.
//! Messages are for the users of these programs.

mod bodies;
mod declared;
mod error;
mod extract;
mod keep;
mod list;
mod macs;
mod model;
mod pipelines;
mod search;
mod shapes;

pub use bodies::{OperatorNames, operators_of, with_bodies};
pub use declared::{Edited, forget_outdated_sizes, infer_types, renew_types};
pub use error::Error;
pub use extract::{extract, set_outputs};
pub use keep::{keep, release};
pub use list::{
    Instrument, Listed, ListedRule, NOT_USED, headline, instruments, list_json, operator_json, option_json, pass_json,
    rules_of,
};
pub use macs::{MacCount, count_macs};
pub use model::{Format, Model};
pub use pipelines::{
    StatedRules, convert_dtype_last, convert_opset_first, pipeline, pipeline_in_part, pipeline_of_passes,
    rewrite_first, set_options,
};
pub use search::{Search, user_dir};
pub use shapes::{names_input, set_input_shapes};
