//! `relais pipeline`.

use super::{
    args::{PipelineCommand, PipelineFileArgs},
    catalogue, spec,
    terminal::{self, CliError},
};
use relais::{
    frontend::pipeline_in_part,
    pipeline::{Pipeline, json_schema},
};

/// Checks, prints and describes pipelines.
pub(crate) fn pipeline(command: &PipelineCommand) -> Result<(), CliError> {
    match command {
        PipelineCommand::Check(args) => {
            let pipeline = resolve(args)?;
            let n_steps = pipeline.n_steps();
            let n_passes = pipeline.passes.len();
            terminal::print(&format!("`{}` is in order: {n_steps} steps, {n_passes} passes\n", args.pipeline))
        }
        PipelineCommand::Print(args) => terminal::print(&resolve(args)?.print()),
        PipelineCommand::Schema { plugins } => {
            terminal::print(&format!("{:#}\n", json_schema(&catalogue::registry(plugins)?)))
        }
    }
}

fn resolve(args: &PipelineFileArgs) -> Result<Pipeline, CliError> {
    let all = catalogue::registry(&args.plugins)?;
    let (mut spec, faults) = pipeline_in_part(&args.pipeline, &all)?;
    spec::adjust(&mut spec, &args.adjust)?;
    let registry = catalogue::choose(&all, &spec, &args.plugins);
    let pipeline = spec.resolve_after(faults, &registry)?;
    pipeline.warnings.iter().for_each(terminal::warn);
    Ok(pipeline)
}
