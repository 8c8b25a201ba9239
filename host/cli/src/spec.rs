//! The pipeline that arguments ask for.

use super::{
    args::{AdjustArgs, PipelineArgs},
    terminal::{self, CliError},
};
use relais::{
    frontend::{convert_dtype_last, convert_opset_first, pipeline, pipeline_of_passes, rewrite_first, set_options},
    pipeline::{
        Addition, Disk, Pipeline, PipelineSpec,
        spec::{Extensions, Written},
    },
    registry::Registry,
};
use relais_plugin_api::pattern;
use std::path::Path;

/// The pipeline that the arguments request; `registry` has the pipelines of plugins.
pub(crate) fn spec(args: &PipelineArgs, registry: &Registry) -> Result<PipelineSpec, CliError> {
    let rules = rules(args)?;
    let chosen = match (&args.pipeline, args.opt_level, &args.passes) {
        (Some(name), level, _) => {
            let mut spec = pipeline(name, registry)?;
            spec.scope.opt_level = level.or(spec.scope.opt_level);
            Some(spec)
        }
        (None, Some(level), _) => Some(PipelineSpec::read(Path::new(&format!("builtin:O{level}")), &Disk)?),
        (None, None, Some(passes)) => Some(pipeline_of_passes(passes)?),
        (None, None, None) => None,
    };
    let rewritten = if rules.is_empty() { chosen } else { Some(rewrite_first(chosen, &rules)?) };
    let mut spec = match (args.target_opset, rewritten) {
        (Some(target), spec) => convert_opset_first(spec, "--target-opset", target)?,
        (None, Some(spec)) => spec,
        (None, None) => PipelineSpec::read(Path::new("builtin:default"), &Disk)?,
    };
    if let Some(dtype) = &args.dtype {
        convert_dtype_last(&mut spec, "--dtype", dtype)?;
    }
    adjust(&mut spec, &args.adjust)?;
    Ok(spec)
}

/// The texts of the rules that the arguments give, with where each comes from.
fn rules(args: &PipelineArgs) -> Result<Vec<(String, String)>, CliError> {
    let given = args.rule.iter().enumerate();
    let mut rules: Vec<_> = given.map(|(at, rule)| (format!("--rule[{at}]"), rule.clone())).collect();
    for path in &args.rules {
        rules.push((path.display().to_string(), pattern::read_file(path)?));
    }
    Ok(rules)
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
