//! The parts of the command line that other programs offer, too: reading models, setting the shapes of their inputs,
//! finding plugins, pipelines from names and settings, and lists as JSON. Messages are for the users of these programs.

mod error;
mod list;
mod model;
mod pipelines;
mod search;
mod shapes;

pub use error::Error;
pub use list::{Instrument, Listed, NOT_USED, headline, instruments, list_json, operator_json, option_json, pass_json};
pub use model::{Format, Model};
pub use pipelines::{pipeline, pipeline_in_part, pipeline_of_passes, set_options};
pub use search::{Search, user_dir};
pub use shapes::set_input_shapes;
