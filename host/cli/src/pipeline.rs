//! `relais pipeline`.

use super::{
    args::{PipelineCommand, PipelineFileArgs, Verbosity},
    catalogue,
    progress::Progress,
    request,
    terminal::{self, CliError},
};
use relais::pipeline::{Pipeline, json_schema};
use relais_session::pipeline::Chosen;

/// Checks, prints and describes pipelines.
pub(crate) fn pipeline(command: &PipelineCommand, verbosity: Verbosity) -> Result<(), CliError> {
    match command {
        PipelineCommand::Check(args) => {
            let pipeline = resolve(args, verbosity)?;
            let n_steps = pipeline.n_steps();
            let n_passes = pipeline.passes.len();
            terminal::print(&format!("`{}` is in order: {n_steps} steps, {n_passes} passes\n", args.pipeline))
        }
        PipelineCommand::Print(args) => terminal::print(&resolve(args, verbosity)?.print()),
        PipelineCommand::Schema { plugins } => {
            terminal::print(&format!("{:#}\n", json_schema(&catalogue::registry(plugins)?)))
        }
    }
}

fn resolve(args: &PipelineFileArgs, verbosity: Verbosity) -> Result<Pipeline, CliError> {
    let request = request::adjusted(Chosen::Named(args.pipeline.clone()), &args.adjust);
    Ok(catalogue::session(&args.plugins)?.resolve(&request, &Progress::new(verbosity))?)
}
