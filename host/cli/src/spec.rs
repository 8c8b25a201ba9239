//! The pipeline that arguments ask for.

use super::{
    args::{AdjustArgs, PipelineArgs},
    terminal::{self, CliError},
};
use relais::{
    pipeline::{
        Addition, BUILT_IN, Code, Disk, Fault, Faults, Pipeline, PipelineSpec, built_in, parse_setting,
        spec::{Extensions, RunSpec, ScopeSpec, StepSpec, Written},
    },
    registry::{Registry, ResolveError},
};
use std::path::Path;

/// The pipeline that the arguments request; `registry` has the pipelines of plugins.
pub(crate) fn spec(args: &PipelineArgs, registry: &Registry) -> Result<PipelineSpec, CliError> {
    let mut spec = match (&args.pipeline, args.opt_level, &args.passes) {
        (Some(name), level, _) => {
            let mut spec = named(name, registry)?;
            spec.scope.opt_level = level.or(spec.scope.opt_level);
            spec
        }
        (None, Some(level), _) => PipelineSpec::read(Path::new(&format!("builtin:O{level}")), &Disk)?,
        (None, None, Some(passes)) => of_passes(passes)?,
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
    let mut faults = Vec::new();
    for setting in &args.set {
        match parse_setting(&mut spec.sources, "--set", setting) {
            Ok(entry) => spec.settings.push(entry),
            Err(fault) => faults.push(*fault),
        }
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Faults { list: faults, sources: spec.sources.clone() }.into()),
    }
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

/// A file, otherwise a pipeline of that name.
fn named(name: &str, registry: &Registry) -> Result<PipelineSpec, CliError> {
    let (spec, faults) = named_in_part(name, registry)?;
    match faults.is_empty() {
        true => Ok(spec),
        false => Err(Faults { list: faults, sources: spec.sources }.into()),
    }
}

/// The same, as far as it can be parsed, with its faults.
pub(crate) fn named_in_part(name: &str, registry: &Registry) -> Result<(PipelineSpec, Vec<Fault>), CliError> {
    let path = Path::new(name);
    if !path.exists() && built_in(name).is_some() {
        return Ok(PipelineSpec::read_in_part(Path::new(&format!("builtin:{name}")), registry)?);
    }
    let is_provided = !path.exists() && !matches!(registry.pipeline(name), Err(ResolveError::Unknown { .. }));
    if is_provided {
        return Ok(PipelineSpec::read_in_part(Path::new(&format!("plugin:{name}")), registry)?);
    }
    PipelineSpec::read_in_part(path, registry).map_err(|mut faults| {
        if let ([fault], false) = (faults.list.as_mut_slice(), path.exists()) {
            let provided = registry.pipelines().map(|(pipeline, _)| pipeline.name.as_str());
            let names = BUILT_IN.iter().map(|(name, _)| *name).chain(provided);
            *fault = fault.clone().nearest(&relais::words::nearest(name, names));
        }
        faults.into()
    })
}

/// A pipeline of passes, each on and with all its members, whatever the levels.
fn of_passes(passes: &str) -> Result<PipelineSpec, CliError> {
    let mut spec = PipelineSpec { name: "passes".into(), ..PipelineSpec::default() };
    let source = spec.sources.add("--passes", passes);
    let mut start = 0;
    let mut faults = Vec::new();
    for part in passes.split(',') {
        let at = start + (part.len() - part.trim_start().len());
        let name = part.trim();
        start += part.len() + 1;
        let place = relais::pipeline::fault::Place::new(source, at..at + name.len());
        if name.is_empty() {
            faults.push(Fault::new(Code::Value, place, "`--passes` has an empty name").help("write `--passes A,B`"));
            continue;
        }
        let name = Written::at(place, name.to_owned());
        spec.steps.push(spec.nodes.len());
        spec.nodes.push(Written::at(place, StepSpec::Pass { name, options: Vec::new() }));
    }
    spec.scope = ScopeSpec { opt_level: Some(u8::MAX), ..spec.scope };
    spec.run = RunSpec::default();
    match faults.is_empty() {
        true => Ok(spec),
        false => Err(Faults { list: faults, sources: spec.sources }.into()),
    }
}
