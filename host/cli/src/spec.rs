//! The pipeline that arguments ask for.

use super::{
    args::{AdjustArgs, PipelineArgs},
    terminal::{self, CliError},
};
use relais::{
    frontend::{pipeline, pipeline_of_passes, set_options},
    pipeline::{
        Addition, Disk, Pipeline, PipelineSpec,
        spec::{Extensions, Written},
    },
    registry::Registry,
};
use std::path::Path;

/// The pipeline that the arguments request; `registry` has the pipelines of plugins.
pub(crate) fn spec(args: &PipelineArgs, registry: &Registry) -> Result<PipelineSpec, CliError> {
    let mut spec = match (&args.pipeline, args.opt_level, &args.passes) {
        (Some(name), level, _) => {
            let mut spec = pipeline(name, registry)?;
            spec.scope.opt_level = level.or(spec.scope.opt_level);
            spec
        }
        (None, Some(level), _) => PipelineSpec::read(Path::new(&format!("builtin:O{level}")), &Disk)?,
        (None, None, Some(passes)) => pipeline_of_passes(passes)?,
        (None, None, None) => PipelineSpec::read(Path::new("builtin:default"), &Disk)?,
    };
    adjust(&mut spec, &args.adjust)?;
    Ok(spec)
}

/// Switches passes and sets options from outside.
pub(crate) fn adjust(spec: &mut PipelineSpec, args: &AdjustArgs) -> Result<(), CliError> {
    let mut names = |origin: &str, names: &[String]| -> Vec<Written<String>> {
        names.iter().map(|name| Written::at(spec.sources.add_whole(origin, name), name.clone())).collect()
    };
    let disabled = names("--disable", &args.disable);
    let required = names("--require", &args.require);
    if args.no_extensions {
        spec.run.extensions = Some(Extensions::Off);
    }
    spec.scope.disabled.extend(disabled);
    spec.scope.required.extend(required);
    Ok(set_options(spec, "--set", &args.set)?)
}

/// Prints the additions of plugins to a pipeline.
pub(crate) fn say_additions(pipeline: &Pipeline) {
    if pipeline.additions.is_empty() {
        return;
    }
    let one = |it: &Addition| {
        let Addition { point, pass, plugin, version } = it;
        format!("\n  `{pass}` of plugin `{plugin} {version}` at `{point}`")
    };
    let all: String = pipeline.additions.iter().map(one).collect();
    terminal::note(format_args!("plugins add to the pipeline:{all}\n  help: `--no-extensions` runs it without"));
}
