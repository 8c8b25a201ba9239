//! Pipelines that a user asks for by name.

use super::Error;
use crate::{
    pipeline::{
        BUILT_IN, Code, Disk, Fault, Faults, Pipeline, PipelineSpec, built_in,
        fault::Place,
        parse_setting,
        spec::{Entry, Literal, ScopeSpec, StepSpec, Written},
    },
    registry::{Registry, ResolveError},
    transform::Pass,
    words::nearest,
};
use relais_plugin_api::{
    options::Value,
    pattern::{self, Rule, RuleLevel},
};
use std::path::{Path, PathBuf};

/// Sets options of a pipeline, given as `Pass.option=VALUE`, or `option=VALUE` for one of the context: the value is
/// TOML, or else a string that needs no quotes. `origin` is the place that faults name.
///
/// # Errors
/// Returns all texts that set nothing. Whether an option exists and takes the value is determined when the pipeline is
/// resolved.
pub fn set_options(spec: &mut PipelineSpec, origin: &str, settings: &[String]) -> Result<(), Faults> {
    let mut faults = Vec::new();
    for setting in settings {
        match parse_setting(&mut spec.sources, origin, setting) {
            Ok(entry) => spec.settings.push(entry),
            Err(fault) => faults.push(*fault),
        }
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Faults { list: faults, sources: spec.sources.clone() }),
    }
}

/// The pipeline in a file, otherwise the built-in one or that of a plugin with the name.
///
/// # Errors
/// Returns all faults of the pipeline, or one if there is none of that name.
pub fn pipeline(name: &str, registry: &Registry) -> Result<PipelineSpec, Faults> {
    let (spec, faults) = pipeline_in_part(name, registry)?;
    spec.unless(faults)
}

/// The same, as far as it can be parsed, with its faults.
///
/// # Errors
/// Returns an error if it cannot be read at all.
pub fn pipeline_in_part(name: &str, registry: &Registry) -> Result<(PipelineSpec, Vec<Fault>), Faults> {
    let path = Path::new(name);
    if !path.exists() && built_in(name).is_some() {
        return PipelineSpec::read_in_part(Path::new(&format!("builtin:{name}")), registry);
    }
    let is_provided = !path.exists() && !matches!(registry.pipeline(name), Err(ResolveError::Unknown { .. }));
    if is_provided {
        return PipelineSpec::read_in_part(Path::new(&format!("plugin:{name}")), registry);
    }
    PipelineSpec::read_in_part(path, registry).map_err(|mut faults| {
        if let ([fault], false) = (faults.list.as_mut_slice(), path.exists()) {
            let provided = registry.pipelines().map(|(pipeline, _)| pipeline.name.as_str());
            let names = BUILT_IN.iter().map(|(name, _)| *name).chain(provided);
            *fault = fault.clone().nearest(&nearest(name, names));
        }
        faults
    })
}

/// A pipeline of passes, named with commas between them, each on and with all its members, whatever the levels.
///
/// # Errors
/// Returns an error if a name is empty.
pub fn pipeline_of_passes(passes: &str) -> Result<PipelineSpec, Faults> {
    let mut spec = PipelineSpec { name: "passes".into(), ..PipelineSpec::default() };
    let source = spec.sources.add("--passes", passes);
    let mut start = 0;
    let mut faults = Vec::new();
    for part in passes.split(',') {
        let at = start + (part.len() - part.trim_start().len());
        let name = part.trim();
        start += part.len() + 1;
        let place = Place::new(source, at..at + name.len());
        if name.is_empty() {
            faults.push(Fault::new(Code::Value, place, "`--passes` has an empty name").help("write `--passes A,B`"));
            continue;
        }
        let name = Written::at(place, name.to_owned());
        spec.steps.push(spec.nodes.len());
        spec.nodes.push(Written::at(place, StepSpec::Pass { name, options: Vec::new() }));
    }
    spec.scope = ScopeSpec { opt_level: Some(u8::MAX), ..spec.scope };
    spec.unless(faults)
}

/// The pipeline that rewrites by rules, and the option of its step that takes them.
const RULES: &str = "rules";
/// The option of that step that takes files of rules.
const FILES: &str = "files";
/// The option of that step that takes where each text of rules comes from.
const ORIGINS: &str = "origins";

/// Rewrites by rules before the steps of a pipeline, or alone: texts of `docs/patterns.md`, each with the place that
/// faults name.
///
/// # Errors
/// Returns the faults of the built-in pipeline `rules`; it has none.
pub fn rewrite_first(spec: Option<PipelineSpec>, rules: &[(String, String)]) -> Result<PipelineSpec, Faults> {
    let (mut first, mut spec) = begin(spec, RULES)?;
    let mut given = LEVELS.map(|_| (Vec::new(), Vec::new()));
    for (origin, text) in rules {
        let place = spec.sources.add_whole(origin, text);
        for (level, text) in by_level(origin, text) {
            let (origins, texts) = &mut given[level];
            origins.push(Written::at(place, Literal::Str(origin.clone())));
            texts.push(Written::at(place, Literal::Str(text)));
        }
    }
    let is_given = given.each_ref().map(|(_, texts)| !texts.is_empty());
    let takers: Vec<usize> = first.steps.iter().copied().filter(|&step| takes_rules(&first.nodes[step])).collect();
    for (step, (origins, texts)) in takers.iter().zip(given) {
        let StepSpec::Pass { options, .. } = &mut first.nodes[*step].value else { continue };
        for Entry { key, value } in options {
            match key.value.as_str() {
                RULES => value.value = Literal::List(texts.clone()),
                ORIGINS => value.value = Literal::List(origins.clone()),
                _ => {}
            }
        }
    }
    if is_given.contains(&true) {
        let is_idle = |step: &usize| takers.iter().position(|taker| taker == step).is_some_and(|at| !is_given[at]);
        first.steps.retain(|step| !is_idle(step));
    }
    let steps = take_steps(&mut spec, &mut first, RULES, |_, _| None);
    spec.steps.splice(0..0, steps);
    Ok(spec)
}

/// The levels of the rules of the steps that take some, in order.
const LEVELS: [RuleLevel; 2] = [RuleLevel::Graph, RuleLevel::Prim];

/// A text of rules, with the index of its level; one that has rules of each level, for each with those of the level at
/// their places. The first step reports the faults of a text that cannot be parsed.
fn by_level(origin: &str, text: &str) -> Vec<(usize, String)> {
    let rules = pattern::read(origin, text).unwrap_or_default();
    let has = |level: &RuleLevel| rules.iter().any(|rule| rule.level() == *level);
    let of = |(at, level): (usize, &RuleLevel)| (at, pattern::of_level(text, &rules, *level));
    let parts: Vec<(usize, String)> = LEVELS.iter().enumerate().filter(|(_, level)| has(level)).map(of).collect();
    match parts.as_slice() {
        [] => vec![(0, text.to_owned())],
        [(level, _)] => vec![(*level, text.to_owned())],
        _ => parts,
    }
}

/// Whether a step takes rules.
fn takes_rules(step: &Written<StepSpec>) -> bool {
    matches!(&step.value, StepSpec::Pass { options, .. } if options.iter().any(|option| option.key.value == RULES))
}

/// The pipeline that converts to another operator set.
const OPSET: &str = "opset";
/// The option of its step that names the version.
const TARGET: &str = "target";

/// Converts to a version of ONNX's operator set before the steps of a pipeline, or alone; `origin` is the place that faults
/// name. Steps of the pipeline that convert, as `modern` has one, do so to the same version.
///
/// # Errors
/// Returns the faults of the built-in pipeline `opset`; it has none. Whether the version exists is determined when the
/// pipeline is resolved, and before it runs.
pub fn convert_opset_first(spec: Option<PipelineSpec>, origin: &str, target: u32) -> Result<PipelineSpec, Faults> {
    let (mut first, mut spec) = begin(spec, OPSET)?;
    let given = Written::at(spec.sources.add_whole(origin, target.to_string()), Literal::Int(target.into()));
    let converts: Vec<String> = first.nodes.iter().filter_map(|step| pass_name(&step.value)).collect();
    for step in &mut spec.nodes {
        let is_one = pass_name(&step.value).is_some_and(|name| converts.contains(&name));
        if let StepSpec::Pass { options, .. } = &mut step.value
            && is_one
        {
            let others = options.iter_mut().filter(|option| option.key.value == TARGET);
            others.for_each(|option| option.value = given.clone());
        }
    }
    let steps = take_steps(&mut spec, &mut first, OPSET, |key, _| (key == TARGET).then(|| given.clone()));
    spec.steps.splice(0..0, steps);
    Ok(spec)
}

/// The name of a step's pass, without the prefix of shipped ones.
fn pass_name(step: &StepSpec) -> Option<String> {
    match step {
        StepSpec::Pass { name, .. } => Some(name.value.strip_prefix("relais.").unwrap_or(&name.value).to_owned()),
        _ => None,
    }
}

/// A built-in pipeline, and the one that its steps go before; without one, it has no steps.
fn begin(spec: Option<PipelineSpec>, built_in: &str) -> Result<(PipelineSpec, PipelineSpec), Faults> {
    let first = PipelineSpec::read(Path::new(&format!("builtin:{built_in}")), &Disk)?;
    let spec = spec.unwrap_or_else(|| PipelineSpec { steps: Vec::new(), nodes: Vec::new(), ..first.clone() });
    Ok((first, spec))
}

/// The pipeline that converts element types, and the option of its step that takes one.
const DTYPE: &str = "dtype";

/// Computes in another element type after the steps of a pipeline; `origin` is the place that faults name.
///
/// # Errors
/// Returns the faults of the built-in pipeline `dtype`; it has none. Whether the type exists is determined when the pipeline is
/// resolved.
pub fn convert_dtype_last(spec: &mut PipelineSpec, origin: &str, dtype: &str) -> Result<(), Faults> {
    let mut last = PipelineSpec::read(Path::new(&format!("builtin:{DTYPE}")), &Disk)?;
    let given = Written::at(spec.sources.add_whole(origin, dtype), Literal::Str(dtype.to_owned()));
    let steps = take_steps(spec, &mut last, DTYPE, |key, _| (key == DTYPE).then(|| given.clone()));
    spec.steps.extend(steps);
    Ok(())
}

/// Moves the steps of a built-in pipeline to another one, with the values that `given` returns for options of its passes.
/// Returns where they are; they are not among the steps of that one yet.
fn take_steps(
    spec: &mut PipelineSpec,
    from: &mut PipelineSpec,
    name: &str,
    given: impl Fn(&str, Place) -> Option<Written<Literal>>,
) -> Vec<usize> {
    let mut steps = Vec::new();
    for step in std::mem::take(&mut from.steps) {
        let StepSpec::Pass { name: pass, options } = &mut from.nodes[step].value else { continue };
        let place = spec.sources.add_whole(format!("builtin:{name}"), &pass.value);
        pass.place = Some(place);
        for option in options {
            if let Some(value) = given(&option.key.value, place) {
                *option = Entry { key: Written::at(place, option.key.value.clone()), value };
            }
        }
        steps.push(spec.nodes.len());
        spec.nodes.push(Written::at(place, from.nodes[step].value.clone()));
    }
    steps
}

/// A text of rules that a pipeline states as an option of a pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatedRules {
    /// The pass.
    pub pass: String,
    /// Where the text comes from, as errors name it.
    pub origin: String,
    /// The text.
    pub text: String,
    /// The file that the pipeline names, if the text is in one.
    pub file: Option<PathBuf>,
    /// The level of the pass: it refuses rules of another one.
    pub level: RuleLevel,
}

impl StatedRules {
    /// The rules that a pipeline states for the passes to which [`rewrite_first`] gives its rules, in files, too.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read.
    pub fn of(pipeline: &Pipeline) -> Result<Vec<Self>, Error> {
        let passes = pipeline.passes.iter().map(|instance| (instance.facts.name.as_str(), &instance.options));
        Self::of_options(passes)
    }

    /// The rules that a pass states, if it is one to which [`rewrite_first`] gives its rules.
    ///
    /// # Errors
    /// As for [`of`](Self::of).
    pub fn of_pass(pass: &Pass) -> Result<Vec<Self>, Error> {
        Self::of_options([(pass.info().name.as_str(), pass.options())])
    }

    fn of_options<'a>(instances: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Result<Vec<Self>, Error> {
        let first = PipelineSpec::read(Path::new(&format!("builtin:{RULES}")), &Disk).map_err(Error::new)?;
        let name = |step: &usize| match &first.nodes[*step].value {
            StepSpec::Pass { name, .. } if takes_rules(&first.nodes[*step]) => Some(name.value.clone()),
            _ => None,
        };
        let passes: Vec<String> = first.steps.iter().filter_map(name).collect();
        let mut stated = Vec::new();
        for (pass, options) in instances {
            let Some((_, &level)) = passes.iter().zip(&LEVELS).find(|(name, _)| *name == pass) else { continue };
            let list = |option| strings(options, option);
            let origins = list(ORIGINS);
            for (at, text) in list(RULES).into_iter().enumerate() {
                let origin = origins.get(at).cloned().unwrap_or_else(|| format!("{RULES}[{at}]"));
                stated.push(Self { pass: pass.to_owned(), origin, text, file: None, level });
            }
            for origin in list(FILES) {
                let file = PathBuf::from(&origin);
                let text = pattern::read_file(&file)?;
                stated.push(Self { pass: pass.to_owned(), origin, text, file: Some(file), level });
            }
        }
        Ok(stated)
    }

    /// The options that state one rule, and no other.
    pub fn options_of(rule: &Rule) -> Value {
        let texts = Value::List(vec![Value::Str(rule.to_string())]);
        Value::Struct(vec![(RULES.to_owned(), texts)])
    }
}

/// The strings of an option that is a list.
fn strings(options: &Value, name: &str) -> Vec<String> {
    let Some(Value::List(items)) = options.get(name) else { return Vec::new() };
    let text = |item: &Value| if let Value::Str(text) = item { Some(text.clone()) } else { None };
    items.iter().filter_map(text).collect()
}
