//! A pipeline over a model.

use crate::{
    check::{self, Failed},
    context::{self, Around},
    errors,
    library::{known_of, library_of, registry},
    module::PyIrModule,
    pass::{PyPass, say},
    rewrite::of_rules,
    rules,
    run::{RunState, detached, run},
    value,
};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString},
};
use relais::{
    frontend::{
        self, StatedRules, convert_dtype_last, convert_opset_first, extract, forget_outdated_sizes, keep, names_input,
        pipeline, release, rewrite_first, set_input_shapes, set_options,
    },
    lock::{Lock, LockError},
    manager::{self, Failure, Report},
    pipeline::{
        Disk, Faults, PipelineSpec,
        spec::{StepSpec, Written},
        toml,
    },
    registry::Registry,
    transform::Pass,
};
use relais_conformance::numbers::Tolerance;
use relais_plugin_api::{
    diagnostics::PassError,
    pattern::{self, Rules},
};
use std::{
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What a caller asks for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Wanted {
    level: Option<u8>,
    pipeline: Option<String>,
    passes: Option<Vec<Asked>>,
    disable: Vec<String>,
    require: Vec<String>,
    input_shapes: Vec<String>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    keep: Vec<String>,
    target_opset: Option<u32>,
    rules: Vec<String>,
    rule_files: Vec<PathBuf>,
    dtype: Option<String>,
    check: u32,
    check_rtol: f64,
    check_atol: Option<f64>,
    threads: Option<NonZero<u16>>,
}

/// A pass that is asked for.
#[derive(FromPyObject)]
enum Asked {
    Name(String),
    Pass(Py<PyPass>),
}

/// The arguments of a call, which were checked except for what only native code can tell.
fn wanted(dict: &Bound<'_, PyDict>) -> PyResult<Wanted> {
    dict.extract().map_err(|error| {
        let is_wrong = |object: &Bound<'_, PyAny>| {
            object.is_instance_of::<PyBytes>() || object.cast::<PyString>().is_ok_and(|text| text.to_cow().is_err())
        };
        let wrong_in = |(key, given): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let items = given.cast::<PyList>().map_or_else(|_| vec![given.clone()], |list| list.iter().collect());
            let wrong = items.into_iter().find(is_wrong)?;
            Some(value::wrong(&wrong, &format!("`{key}`"), "a str or a path"))
        };
        dict.iter().find_map(wrong_in).unwrap_or(error)
    })
}

impl Asked {
    /// The name of the step that runs it. That of an object is none that a pass can have: two objects may have the same.
    fn step(&self, at: usize) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Pass(_) => format!("passes[{at}]"),
        }
    }
}

/// Why nothing came out.
enum Stopped {
    Faults(Faults),
    Model(frontend::Error),
    Rule(String),
    /// Rules that cannot be parsed.
    Malformed(PassError),
    NotLocked(String),
    /// A pass of the program, where the plugins decide about the result.
    Own(String),
    Failed(Box<Failure>),
    Check(Failed),
}

impl From<Faults> for Stopped {
    fn from(faults: Faults) -> Self {
        Self::Faults(faults)
    }
}

impl From<frontend::Error> for Stopped {
    fn from(error: frontend::Error) -> Self {
        Self::Model(error)
    }
}

/// The options of passes as settings of a pipeline: those of the call, then those of the context around it.
fn settings(config: Option<&Bound<'_, PyAny>>, around: &Around) -> PyResult<Vec<String>> {
    let given = value::entries(config, "`config`")?;
    let others = around.config.iter().filter(|(key, _)| !given.iter().any(|(known, _)| known == key));
    Ok(given.iter().chain(others).map(|(key, value)| format!("{key}={}", toml(value))).collect())
}

/// Runs a pipeline over a model, also by the settings of the context that was entered around the call if `in_context` says
/// so.
#[pyfunction]
#[pyo3(signature = (module, wanted, config, in_context = false))]
pub(crate) fn optimize(
    py: Python<'_>,
    module: &PyIrModule,
    wanted: &Bound<'_, PyDict>,
    config: Option<&Bound<'_, PyAny>>,
    in_context: bool,
) -> PyResult<PyIrModule> {
    let wanted = self::wanted(wanted)?;
    let around = if in_context { context::around() } else { Around::default() };
    let settings = settings(config, &around)?;
    let registry = registry(py)?;
    let threads = wanted.threads.map(|n| usize::from(n.get()));
    let (outcome, state) = run(py, threads, |options| work(module, &wanted, (&around, &settings), registry, options))?;
    match outcome {
        Ok((new, report)) => {
            say(py, &report)?;
            Ok(PyIrModule::new(new, module.origin.clone()))
        }
        Err(stopped) => Err(stopped.exception(py, &state)),
    }
}

/// What decides about the result beside the model: the pipeline with all its options, and the plugins that provide its
/// passes, by their contents.
#[pyfunction]
pub(crate) fn lock(py: Python<'_>, wanted: &Bound<'_, PyDict>, config: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    let wanted = self::wanted(wanted)?;
    let settings = settings(config, &Around::default())?;
    let registry = registry(py)?;
    let locked = detached(py, || -> Result<Lock, Stopped> {
        for asked in wanted.passes.iter().flatten() {
            if let Asked::Pass(object) = asked {
                return Err(Stopped::Own(object.get().pass.info().name.clone()));
            }
        }
        let mut spec = spec(&wanted, &Around::default(), registry)?;
        set_options(&mut spec, "config", &settings)?;
        let registry = &spec.choose(registry);
        let pipeline = spec.resolve(&library_of(registry))?;
        if let Some(own) = pipeline.passes.iter().find(|instance| instance.facts.plugin.is_empty()) {
            return Err(Stopped::Own(own.facts.name.clone()));
        }
        Lock::of(&spec, registry, &[]).map_err(|error| match error {
            LockError::Pipeline(faults) => Stopped::Faults(faults),
            error => Stopped::NotLocked(error.to_string()),
        })
    })?;
    locked.map(|lock| lock.to_toml()).map_err(|stopped| stopped.exception(py, &Arc::default()))
}

/// Whether a pipeline can be resolved.
#[pyfunction]
pub(crate) fn resolve(py: Python<'_>, wanted: &Bound<'_, PyDict>, config: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let wanted = self::wanted(wanted)?;
    let settings = settings(config, &Around::default())?;
    let registry = registry(py)?;
    let resolved = detached(py, || -> Result<(), Stopped> {
        let mut spec = spec(&wanted, &Around::default(), registry)?;
        set_options(&mut spec, "config", &settings)?;
        let registry = &spec.choose(registry);
        Ok(spec.resolve(&library_of(registry)).map(drop)?)
    })?;
    resolved.map_err(|stopped| stopped.exception(py, &Arc::default()))
}

fn work(
    given: &PyIrModule,
    wanted: &Wanted,
    (around, settings): (&Around, &[String]),
    registry: &Registry,
    options: &manager::RunOptions<'_>,
) -> Result<(relais::ir::IRModule, Report), Stopped> {
    let mut spec = spec(wanted, around, registry)?;
    set_options(&mut spec, "config", settings)?;
    let registry = &spec.choose(registry);
    let (mut library, own) = known_of(registry);
    let mut own_rules = Vec::new();
    for (at, asked) in wanted.passes.iter().flatten().enumerate() {
        if let Asked::Pass(object) = asked {
            let object = object.get();
            library.register(&Pass::sequence(&asked.step(at), [object.pass.clone()]));
            own_rules.extend(object.rules.iter().cloned());
        }
    }
    let pipeline = spec.resolve(&library)?;
    pipeline.warnings.iter().for_each(crate::log::warn);
    rules::judge(&StatedRules::of(&pipeline)?, registry).map_err(Stopped::Rule)?;
    own_rules.extend(pipeline.passes.iter().flat_map(|instance| own.rules_of(&instance.facts)));
    own_rules.iter().try_for_each(|rules| rules.judge_here(registry)).map_err(Stopped::Rule)?;
    let mut module = given.module.clone();
    // Shapes of inputs that a part has and the model has not are set once it is cut out.
    let is_part = !wanted.inputs.is_empty() || !wanted.outputs.is_empty();
    let (shapes, of_part): (Vec<String>, Vec<String>) =
        wanted.input_shapes.iter().cloned().partition(|shape| !is_part || names_input(&module, shape));
    let mut changes = set_input_shapes(&mut module, &shapes, registry)?;
    let outdated = forget_outdated_sizes(&mut module, registry);
    changes.extend(extract(&mut module, &wanted.inputs, &wanted.outputs, registry)?);
    changes.extend(set_input_shapes(&mut module, &of_part, registry)?);
    changes.into_iter().for_each(crate::log::note);
    if let Some((first, more)) = outdated.split_first() {
        let more = if more.is_empty() { String::new() } else { format!(" and of {} more values", more.len()) };
        crate::log::warn(format!(
            "the model fixes sizes of `{first}`{more} that its inputs leave open; what it declares there is not used"
        ));
    }
    let before = module.clone();
    let n_kept = keep(&mut module, &wanted.keep, registry)?;
    let options = manager::RunOptions { instruments: around.instruments.clone(), ..options.clone() };
    let (mut new, report) = manager::run(&pipeline, &module, &library, &options).map_err(Stopped::Failed)?;
    release(&mut new, n_kept)?.into_iter().for_each(crate::log::warn);
    if wanted.check > 0 {
        let tolerance = Tolerance { relative: wanted.check_rtol, absolute: wanted.check_atol };
        check::check(&before, &new, &given.origin.operators, wanted.check, tolerance, registry)
            .map_err(Stopped::Check)?;
    }
    Ok((new, report))
}

/// The pipeline that is asked for.
fn spec(wanted: &Wanted, around: &Around, registry: &Registry) -> Result<PipelineSpec, Stopped> {
    let rules = wanted.rules.iter().enumerate();
    let mut rules: Vec<_> = rules.map(|(at, rule)| (format!("rules[{at}]"), rule.clone())).collect();
    for path in &wanted.rule_files {
        let text = pattern::read_file(path).map_err(|error| Stopped::Model(error.into()))?;
        rules.push((path.display().to_string(), text));
    }
    Rules::parse_all(rules.iter().cloned(), &[]).map_err(Stopped::Malformed)?;
    let built_in = |name: &str| PipelineSpec::read(Path::new(&format!("builtin:{name}")), &Disk);
    let chosen = match (&wanted.pipeline, wanted.level, &wanted.passes) {
        (Some(name), level, _) => {
            let mut spec = pipeline(name, registry)?;
            spec.scope.opt_level = level.or(around.level).or(spec.scope.opt_level);
            Some(spec)
        }
        (None, Some(level), _) => Some(built_in(&format!("O{level}"))?),
        (None, None, Some(passes)) => Some(of_passes(passes)),
        (None, None, None) => None,
    };
    let rewritten = if rules.is_empty() { chosen } else { Some(rewrite_first(chosen, &rules)?) };
    let mut spec = match (wanted.target_opset, rewritten) {
        (Some(target), spec) => convert_opset_first(spec, "target_opset", target)?,
        (None, Some(spec)) => spec,
        (None, None) => {
            let mut spec = built_in("default")?;
            spec.scope.opt_level = around.level.or(spec.scope.opt_level);
            spec
        }
    };
    if let Some(dtype) = &wanted.dtype {
        convert_dtype_last(&mut spec, "dtype", dtype)?;
    }
    let mut names = |origin: &str, names: &[String]| -> Vec<Written<String>> {
        names.iter().map(|name| Written::at(spec.sources.add_whole(origin, name), name.clone())).collect()
    };
    let (disabled, required) = (names("disable", &wanted.disable), names("require", &wanted.require));
    let context = "the current context";
    let (off, on) = (names(context, &around.disabled), names(context, &around.required));
    spec.scope.disabled.extend(off);
    spec.scope.required.extend(on);
    spec.scope.disabled.extend(disabled);
    spec.scope.required.extend(required);
    Ok(spec)
}

/// A pipeline of passes, each on and with all its members, whatever the levels.
fn of_passes(passes: &[Asked]) -> PipelineSpec {
    let mut spec = PipelineSpec { name: "passes".into(), ..PipelineSpec::default() };
    for (at, asked) in passes.iter().enumerate() {
        let name = asked.step(at);
        let place = spec.sources.add_whole(format!("passes[{at}]"), &name);
        let name = Written::at(place, name);
        spec.steps.push(spec.nodes.len());
        spec.nodes.push(Written::at(place, StepSpec::Pass { name, options: Vec::new() }));
    }
    spec.scope.opt_level = Some(u8::MAX);
    spec
}

impl Stopped {
    fn exception(&self, py: Python<'_>, state: &Arc<RunState>) -> PyErr {
        match self {
            Self::Faults(faults) => errors::of_faults(py, "PipelineError", faults),
            Self::Model(error) => errors::of_model(py, error),
            Self::NotLocked(message) => errors::helped(py, "ModelError", message, ""),
            Self::Own(name) => {
                let message = format!("pass `{name}` is one of this program: nothing tells when it changes");
                errors::helped(py, "PipelineError", message, "name passes of plugins, and give rules in `rules`")
            }
            Self::Malformed(error) => of_rules(py, error),
            Self::Rule(message) => rules::unsound(py, message.clone()),
            Self::Failed(failure) => errors::of_failure(py, failure, state),
            Self::Check(failed) => failed.exception(py),
        }
    }
}
