//! Steps that are put around those of a pipeline: rules and conversions that a user asks for.

use super::named::read_built_in;
use crate::argument::Argument;
use relais::pipeline::{
    Faults, PipelineSpec,
    fault::Place,
    spec::{SpecEntry, SpecValue, StepSpec, Written},
};
use relais_plugin_api::pattern::{self, RuleLevel};

/// The pipeline that rewrites by rules, and the option of its step that takes them.
pub(super) const RULES: &str = "rules";
/// The option of that step that takes files of rules.
pub(super) const FILES: &str = "files";
/// The option of that step that takes where each text of rules comes from.
pub(super) const ORIGINS: &str = "origins";

/// Rewrites by rules before the steps of a pipeline, or alone: texts of `docs/patterns.md`.
///
/// # Errors
/// Returns the faults of the built-in pipeline `rules`; it has none.
pub(super) fn rewrite_first(spec: Option<PipelineSpec>, rules: &[Argument]) -> Result<PipelineSpec, Faults> {
    let (mut first, mut spec) = begin(spec, RULES)?;
    let mut given = LEVELS.map(|_| (Vec::new(), Vec::new()));
    for Argument { origin, value: text } in rules {
        let place = spec.sources.add_whole(origin, text);
        for (level, text) in by_level(origin, text) {
            let (origins, texts) = &mut given[level];
            origins.push(Written::at(place, SpecValue::Str(origin.clone())));
            texts.push(Written::at(place, SpecValue::Str(text)));
        }
    }
    let is_given = given.each_ref().map(|(_, texts)| !texts.is_empty());
    let takers: Vec<usize> = first.steps.iter().copied().filter(|&step| takes_rules(&first.nodes[step])).collect();
    for (step, (origins, texts)) in takers.iter().zip(given) {
        let StepSpec::Pass { options, .. } = &mut first.nodes[*step].value else { continue };
        for SpecEntry { key, value } in options {
            match key.value.as_str() {
                RULES => value.value = SpecValue::List(texts.clone()),
                ORIGINS => value.value = SpecValue::List(origins.clone()),
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
pub(super) const LEVELS: [RuleLevel; 2] = [RuleLevel::Graph, RuleLevel::Prim];

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
pub(super) fn takes_rules(step: &Written<StepSpec>) -> bool {
    matches!(&step.value, StepSpec::Pass { options, .. } if options.iter().any(|option| option.key.value == RULES))
}

/// The pipeline that converts to another operator set.
const OPSET: &str = "opset";
/// The option of its step that names the version.
const TARGET: &str = "target";

/// Converts to a version of ONNX's operator set before the steps of a pipeline, or alone. Steps of the pipeline that
/// convert, as `modern` has one, do so to the same version.
///
/// # Errors
/// Returns the faults of the built-in pipeline `opset`; it has none. Whether the version exists is determined when the
/// pipeline is resolved, and before it runs.
pub(super) fn convert_opset_first(spec: Option<PipelineSpec>, target: &Argument<u32>) -> Result<PipelineSpec, Faults> {
    let (mut first, mut spec) = begin(spec, OPSET)?;
    let Argument { origin, value: target } = target;
    let given = Written::at(spec.sources.add_whole(origin, target.to_string()), SpecValue::Int((*target).into()));
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
    let first = read_built_in(built_in)?;
    let spec = spec.unwrap_or_else(|| PipelineSpec { steps: Vec::new(), nodes: Vec::new(), ..first.clone() });
    Ok((first, spec))
}

/// The pipeline that converts element types, and the option of its step that takes one.
const DTYPE: &str = "dtype";

/// Computes in another element type after the steps of a pipeline.
///
/// # Errors
/// Returns the faults of the built-in pipeline `dtype`; it has none. Whether the type exists is determined when the pipeline is
/// resolved.
pub(super) fn convert_dtype_last(spec: &mut PipelineSpec, dtype: &Argument) -> Result<(), Faults> {
    let mut last = read_built_in(DTYPE)?;
    let given = Written::at(spec.sources.add_whole(&dtype.origin, &dtype.value), SpecValue::Str(dtype.value.clone()));
    let steps = take_steps(spec, &mut last, DTYPE, |key, _| (key == DTYPE).then(|| given.clone()));
    spec.steps.extend(steps);
    Ok(())
}

/// The passes that convert to an operator set or an element type, as the user asks for by an argument.
///
/// # Errors
/// Returns the faults of the built-in pipelines; they have none.
pub(super) fn converting_passes(
    opset: Option<&Argument<u32>>,
    dtype: Option<&Argument>,
) -> Result<Vec<String>, Faults> {
    let wanted = [opset.map(|_| OPSET), dtype.map(|_| DTYPE)];
    let mut passes = Vec::new();
    for built_in in wanted.into_iter().flatten() {
        let names = read_built_in(built_in)?.nodes.iter().filter_map(|step| pass_name(&step.value)).collect::<Vec<_>>();
        passes.extend(names);
    }
    Ok(passes)
}

/// Whether a pass is the one of a name without the prefix of shipped ones.
pub(super) fn is_shipped(pass: &str, name: &str) -> bool {
    pass.strip_prefix("relais.") == Some(name)
}

/// Moves the steps of a built-in pipeline to another one, with the values that `given` returns for options of its passes.
/// Returns where they are; they are not among the steps of that one yet.
fn take_steps(
    spec: &mut PipelineSpec,
    from: &mut PipelineSpec,
    name: &str,
    given: impl Fn(&str, Place) -> Option<Written<SpecValue>>,
) -> Vec<usize> {
    let mut steps = Vec::new();
    for step in std::mem::take(&mut from.steps) {
        let StepSpec::Pass { name: pass, options, .. } = &mut from.nodes[step].value else { continue };
        let place = spec.sources.add_whole(format!("builtin:{name}"), &pass.value);
        pass.place = Some(place);
        for option in options {
            if let Some(value) = given(&option.key.value, place) {
                *option = SpecEntry { key: Written::at(place, option.key.value.clone()), value };
            }
        }
        steps.push(spec.nodes.len());
        spec.nodes.push(Written::at(place, from.nodes[step].value.clone()));
    }
    steps
}
