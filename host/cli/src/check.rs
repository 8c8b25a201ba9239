//! `relais run --check`: comparing the output with the model, and finding the pass to which a difference is due.

use super::{
    args_check::CheckArgs,
    check_runner::{Loaded, NotRun, Runner},
    npz,
    progress::Progress,
    terminal::CliError,
};
use relais::{
    files::{Destination, Existing, NewFolder},
    ir::{Dim, DimRec, Function, IRModule, Tensor, Type},
    manager::{Execution, Fate, free_folder},
    registry::Registry,
    words::{and_list, nearest, or_list},
};
use relais_conformance::{
    check::{Evaluators, random_inputs},
    interface::output_names,
    numbers::{Comparison, Difference, compare_tensors},
};
use relais_plugin_api::text;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The code of an output that differs, and of one that cannot be compared.
const DIFFERS: &str = "D001";
const NOT_CHECKED: &str = "D002";

/// A check that the arguments ask for.
pub(crate) struct Check<'a> {
    args: &'a CheckArgs,
    runner: Runner,
    /// The files with inputs, and the arrays in them.
    given: Vec<(&'a Path, Vec<(String, Tensor)>)>,
}

/// The modules that are compared, and what is needed to find the pass to which a difference is due.
pub(crate) struct Subject<'a> {
    /// The model, as it runs everywhere.
    pub before: &'a IRModule,
    /// The module that the passes left.
    pub left: &'a IRModule,
    /// The same as it runs everywhere.
    pub after: &'a IRModule,
    pub executions: &'a [Execution],
    /// Runs the passes again, up to an execution.
    pub rerun: &'a dyn Fn(u64) -> Result<IRModule, String>,
    /// Makes of what passes left a module that runs everywhere.
    pub complete: &'a dyn Fn(&IRModule) -> Result<IRModule, CliError>,
    pub registry: &'a Registry,
    pub progress: &'a Progress,
}

/// The results of a check.
pub(crate) struct Checked {
    pub n_runs: usize,
    pub elapsed: Duration,
    pub json: Value,
}

/// Why a check failed.
pub(crate) struct Failed {
    pub error: CliError,
    pub json: Value,
    /// The inputs for which the output differs; none if it was not compared.
    pub inputs: Option<Vec<(String, Tensor)>>,
}

impl From<CliError> for Box<Failed> {
    fn from(error: CliError) -> Self {
        Self::new(Failed { error, json: Value::Null, inputs: None })
    }
}

/// Inputs, and what the model gives for them.
struct Run {
    origin: Origin,
    inputs: Vec<Tensor>,
    old: Vec<Tensor>,
}

impl Run {
    fn facts(&self, main: &Function) -> Value {
        match &self.origin {
            Origin::File(path) => json!({ "inputs": path.display().to_string() }),
            Origin::Random { seed, .. } => json!({ "seed": seed, "shapes": shapes(main, &self.inputs) }),
        }
    }
}

/// Where inputs come from.
enum Origin {
    File(PathBuf),
    Random { run: u32, of: u32, seed: u64 },
}

impl Origin {
    fn shown(&self, main: &Function, inputs: &[Tensor]) -> String {
        match self {
            Self::File(path) => format!("the inputs in `{}`", path.display()),
            Self::Random { run, of, seed } => {
                let shapes = shapes(main, inputs);
                let shapes: String = shapes.iter().map(|(name, dims)| format!(", {name}: {}", shape(dims))).collect();
                format!("random inputs of seed {seed} (run {run} of {of}{shapes})")
            }
        }
    }
}

/// How the outputs of a model compare with those of another one.
enum Verdict {
    /// The largest difference of floats.
    Close(f64),
    Differ {
        lines: Vec<String>,
        json: Value,
    },
}

impl<'a> Check<'a> {
    /// The check that the arguments ask for, if any; what they name is there.
    pub fn of(args: &'a CheckArgs) -> Result<Option<Self>, CliError> {
        if args.check.is_none() && args.check_inputs.is_empty() {
            return Ok(None);
        }
        let read = |path: &'a PathBuf| match npz::read(path) {
            Ok(arrays) => Ok((path.as_path(), arrays)),
            Err(why) => {
                let error = CliError::new(format_args!("inputs `{}` cannot be read: {why}", path.display()));
                Err(error.help("write them in Python: `numpy.savez(\"FILE.npz\", name=array, …)`"))
            }
        };
        let given = args.check_inputs.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Some(Self { args, runner: Runner::of(args)?, given }))
    }

    /// Checks the inputs that are given before anything runs.
    pub fn look_at(&self, module: &IRModule) -> Result<(), CliError> {
        self.given_inputs(main_of(module)?).map(drop)
    }

    /// Compares the output with the model.
    pub fn run(&self, subject: &Subject<'_>) -> Result<Checked, Box<Failed>> {
        let began = Instant::now();
        let main = main_of(subject.before)?;
        let before = self.runner.load(subject.before, subject.registry, subject.progress)?;
        let after = self.runner.load(subject.after, subject.registry, subject.progress)?;
        let given = self.given_inputs(main)?;
        let n_runs = given.len() + self.args.check.unwrap_or(0) as usize;
        let mut runs = Vec::with_capacity(n_runs);
        for at in 0..n_runs {
            let run_began = Instant::now();
            let run = match given.get(at) {
                Some((path, inputs)) => {
                    let old = before.run(inputs).map_err(|why| self.not_checked(subject, &why))?;
                    Run { origin: Origin::File(path.to_path_buf()), inputs: inputs.clone(), old }
                }
                None => self.random_run(subject, main, &before, (at - given.len()) as u32)?,
            };
            let verdict = self.compare(main, &run, &after).map_err(|why| self.not_checked(subject, &why))?;
            let mut facts = run.facts(main);
            facts["seconds"] = run_began.elapsed().as_secs_f64().into();
            match verdict {
                Verdict::Close(distance) => {
                    facts["largest_difference"] = distance.into();
                    runs.push(facts);
                }
                Verdict::Differ { lines, json } => {
                    runs.push(facts);
                    return Err(Box::new(self.failed(subject, main, &before, run, (lines, json), runs)));
                }
            }
        }
        let elapsed = began.elapsed();
        let mut json = self.facts();
        json["passed"] = true.into();
        json["runs"] = runs.into();
        json["seconds"] = elapsed.as_secs_f64().into();
        Ok(Checked { n_runs, elapsed, json })
    }

    fn facts(&self) -> Value {
        let (rtol, atol) = (self.args.check_rtol, self.args.check_atol);
        json!({ "with": self.runner.name(), "rtol": rtol, "atol": atol })
    }

    /// Random inputs that the model takes, and what it gives for them.
    fn random_run(
        &self,
        subject: &Subject<'_>,
        main: &Function,
        before: &Loaded<'_>,
        run: u32,
    ) -> Result<Run, CliError> {
        let of = self.args.check.unwrap_or(0);
        let mut first_miss = None;
        for inputs in random_inputs(main, self.args.check_seed, run.into()) {
            let inputs = inputs.map_err(|param| {
                let ty = text::display_type(main, main.type_id(param));
                let message = format!("there are no random values for input `{}`, of type `{ty}`", main.name(param));
                CliError::new(message).code(NOT_CHECKED).help("give it one: `--check-inputs FILE.npz`")
            })?;
            match before.run(&inputs) {
                Ok(old) if old.is_empty() || old.iter().any(|output| !output.is_empty()) => {
                    let seed = self.args.check_seed.wrapping_add(run.into());
                    return Ok(Run { origin: Origin::Random { run: run + 1, of, seed }, inputs, old });
                }
                Ok(_) => _ = first_miss.get_or_insert(NotRun::NotCovered("all its outputs are empty".to_owned())),
                Err(why) => {
                    log::info!("the model does not take {:?}: {}", shapes(main, &inputs), why.why());
                    first_miss.get_or_insert(why);
                }
            }
            // Other sizes do not help.
            if matches!(self.runner, Runner::Evaluators) && !self.uncovered(subject).is_empty() {
                break;
            }
        }
        let why = first_miss.unwrap_or_else(|| NotRun::NotCovered("it has no inputs".to_owned()));
        Err(self.not_checked(subject, &why))
    }

    /// The operators that no plugin evaluates, and how often each is called.
    fn uncovered(&self, subject: &Subject<'_>) -> BTreeMap<String, u64> {
        let evaluators = Evaluators::new(subject.registry, &|_| {});
        let mut found = evaluators.not_covered(subject.before);
        for (name, n) in evaluators.not_covered(subject.after) {
            let most = found.entry(name).or_default();
            *most = n.max(*most);
        }
        found
    }

    /// The error of a model that cannot be run.
    fn not_checked(&self, subject: &Subject<'_>, why: &NotRun) -> CliError {
        let error = |why: &str| CliError::new(format_args!("the output cannot be checked: {why}")).code(NOT_CHECKED);
        if !matches!(self.runner, Runner::Evaluators) {
            return error(why.why()).help("give inputs that the model takes: `--check-inputs FILE.npz`");
        }
        let uncovered = self.uncovered(subject);
        let error = match uncovered.is_empty() {
            true => error(why.why()),
            false => {
                let times = |n: &u64| if *n == 1 { "1 call".to_owned() } else { format!("{n} calls") };
                let all: Vec<String> = uncovered.iter().map(|(name, n)| format!("`{name}` ({})", times(n))).collect();
                error(&format!("no plugin evaluates {}", all.join(", ")))
            }
        };
        let inputs =
            if uncovered.is_empty() { "give inputs that it takes: `--check-inputs FILE.npz`; or " } else { "" };
        error.help(format_args!("{inputs}compare in a runtime: `--check-with onnxruntime`"))
    }

    /// Compares the outputs of a model with those of another one for the same inputs.
    fn compare(&self, main: &Function, run: &Run, model: &Loaded<'_>) -> Result<Verdict, NotRun> {
        let new = match model.run(&run.inputs) {
            Ok(new) => new,
            Err(NotRun::Failed(why)) => {
                let lines = vec![format!("the output cannot be run: {why}")];
                return Ok(Verdict::Differ { lines, json: json!({ "error": why }) });
            }
            Err(why) => return Err(why),
        };
        if run.old.len() != new.len() {
            let lines = vec![format!("the model has {} outputs, and the output {}", run.old.len(), new.len())];
            return Ok(Verdict::Differ { lines, json: json!({ "n_outputs": [run.old.len(), new.len()] }) });
        }
        let mut largest = 0.0f64;
        for (at, (old, new)) in run.old.iter().zip(&new).enumerate() {
            match compare_tensors(old, new, self.args.tolerance()) {
                Comparison::Close(distance) => largest = largest.max(distance),
                Comparison::OtherType => return Ok(other_type(&output_name(main, at), old, new)),
                Comparison::Differ(difference) => {
                    return Ok(differ(&output_name(main, at), &difference, old.len()));
                }
            }
        }
        Ok(Verdict::Close(largest))
    }

    /// The failure of an output that differs.
    fn failed(
        &self,
        subject: &Subject<'_>,
        main: &Function,
        before: &Loaded<'_>,
        run: Run,
        (lines, difference): (Vec<String>, Value),
        runs: Vec<Value>,
    ) -> Failed {
        let shown = run.origin.shown(main, &run.inputs);
        let mut lines = lines.into_iter();
        let first = lines.next().unwrap_or_default();
        let error = CliError::new(format_args!("the output differs from the model: {first}")).code(DIFFERS);
        let error = lines.fold(error, CliError::line).line(format_args!("with {shown}"));
        subject.progress.says("looking for the pass that did it");
        let (error, culprit) = match self.culprit(subject, main, before, &run) {
            Ok(Culprit { execution, pass, plugin }) => {
                let of = if plugin.is_empty() { String::new() } else { format!(" of plugin `{plugin}`") };
                let line =
                    format!("it is due to pass `{pass}`{of}, execution {execution}: before it, there is no difference");
                let help = format!("leave the pass out: `--disable {pass}`; see what it did: `--print-changed=diff`");
                let json = json!({ "pass": pass, "plugin": plugin, "execution": execution });
                (error.line(line).help(help), json)
            }
            Err(why) => (error.line(format_args!("the pass that did it is not known: {why}")), Value::Null),
        };
        let mut json = self.facts();
        json["passed"] = false.into();
        json["runs"] = runs.into();
        json["difference"] = difference;
        json["culprit"] = culprit;
        let names = main.params().iter().map(|&param| main.name(param).to_owned());
        Failed { error, json, inputs: Some(names.zip(run.inputs).collect()) }
    }

    /// The first pass after which the module differs: by bisection over what the passes left, one by one.
    fn culprit(
        &self,
        subject: &Subject<'_>,
        main: &Function,
        before: &Loaded<'_>,
        run: &Run,
    ) -> Result<Culprit, String> {
        let why = |error: NotRun| error.why().to_owned();
        if matches!(self.compare(main, run, before).map_err(why)?, Verdict::Differ { .. }) {
            return Err("the model itself gives other results each time".to_owned());
        }
        let ran = subject.executions.iter().filter(|execution| !matches!(execution.fate, Fate::Skipped(_)));
        let changed: Vec<(u64, &Execution)> =
            (1..).zip(ran).filter(|(_, execution)| execution.fate == Fate::Changed).collect();
        let Some(&(last, _)) = changed.last() else { return Err("no pass changed the model".to_owned()) };
        if relais::ir::equal(&(subject.rerun)(last)?, subject.left).is_err() {
            return Err("the passes do something else when they run again".to_owned());
        }
        // The first `good` changes are harmless, and one of the first `bad` is not.
        let (mut good, mut bad) = (0, changed.len());
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            let (execution, changer) = changed[middle - 1];
            subject.progress.says(format!("looking for the pass that did it: `{}`", changer.name));
            let told = |error: CliError| error.message();
            let module = (subject.complete)(&(subject.rerun)(execution)?).map_err(told)?;
            let loaded = self.runner.load(&module, subject.registry, subject.progress).map_err(told)?;
            match self.compare(main, run, &loaded).map_err(why)? {
                Verdict::Close(_) => good = middle,
                Verdict::Differ { .. } => bad = middle,
            }
        }
        let (execution, changer) = changed[bad - 1];
        Ok(Culprit { execution, pass: changer.name.clone(), plugin: changer.plugin.trim().to_owned() })
    }

    /// The values for the parameters of a function in each file.
    fn given_inputs(&self, main: &Function) -> Result<Vec<(&'a Path, Vec<Tensor>)>, CliError> {
        let of = |(path, arrays): &(&'a Path, Vec<(String, Tensor)>)| Ok((*path, values(main, path, arrays)?));
        self.given.iter().map(of).collect()
    }
}

/// Keeps an output that differs, with the inputs for which it does, in a new folder beside its place. Adds to the error
/// where that is, or that nothing is kept.
pub(crate) fn keep(
    error: CliError,
    output: Option<&Path>,
    inputs: Option<&[(String, Tensor)]>,
    write: impl FnOnce(&Destination) -> Result<(), CliError>,
) -> CliError {
    let place = output.and_then(|output| Some((output, output.file_name()?)));
    let (Some((output, name)), Some(inputs)) = (place, inputs) else { return error.line("nothing was written") };
    let made = || -> Result<PathBuf, String> {
        let folder = free_folder(output, "failed").ok_or("there are a hundred already: remove some")?;
        let new = NewFolder::new(&folder).map_err(|error| error.to_string())?;
        let to = Destination::new(&new.path().join(name), Existing::Keep).map_err(|error| error.of("output"))?;
        write(&to).map_err(|error| error.message())?;
        let arrays: Vec<(&str, &Tensor)> = inputs.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        npz::write(&new.path().join("inputs.npz"), &arrays)?;
        new.commit().map_err(|error| error.to_string())?;
        Ok(folder)
    };
    let shown = output.display();
    match made() {
        Ok(folder) => {
            let line =
                format_args!("`{shown}` was not written; what failed is in `{}`, with the inputs", folder.display());
            error.line(line)
        }
        Err(why) => error.line(format_args!("`{shown}` was not written; what failed is not kept: {why}")),
    }
}

/// The pass to which a difference is due.
struct Culprit {
    execution: u64,
    pass: String,
    plugin: String,
}

fn main_of(module: &IRModule) -> Result<&Function, CliError> {
    let missing = || CliError::new("the module has no function `main`, so that nothing can be checked");
    module.main().map(|main| &**main).ok_or_else(|| missing().code(NOT_CHECKED))
}

/// The name of an output, as messages show it.
fn output_name(main: &Function, at: usize) -> String {
    output_names(main).get(at).map_or_else(|| format!("output {at}"), |name| format!("output `{name}`"))
}

/// The shapes of the inputs that may have several ones.
fn shapes<'a>(main: &'a Function, inputs: &'a [Tensor]) -> BTreeMap<&'a str, &'a [u64]> {
    let is_open = |&(&param, _): &(&_, &Tensor)| main.type_of(param).static_shape().is_none();
    let open = main.params().iter().zip(inputs).filter(is_open);
    open.map(|(&param, input)| (main.name(param), input.dims())).collect()
}

fn shape(dims: &[u64]) -> String {
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    format!("({})", dims.join(", "))
}

fn type_of(tensor: &Tensor) -> String {
    format!("{} of shape {}", tensor.elem().name().unwrap_or("?"), shape(tensor.dims()))
}

fn other_type(name: &str, old: &Tensor, new: &Tensor) -> Verdict {
    let (old, new) = (type_of(old), type_of(new));
    let lines = vec![format!("{name} is {new} where the model gives {old}")];
    Verdict::Differ { lines, json: json!({ "output": name, "types": [old, new] }) }
}

fn differ(name: &str, difference: &Difference, len: u64) -> Verdict {
    let Difference { index, values: [old, new], distance, count } = difference;
    let by = if distance.is_finite() { format!(", by up to {}", short(*distance)) } else { String::new() };
    let mut lines = vec![format!("{name} differs in {count} of {len} elements{by}")];
    if !old.is_empty() {
        let index: Vec<String> = index.iter().map(u64::to_string).collect();
        lines.push(format!("most at [{}]: the model gives {old}, and the output {new}", index.join(", ")));
    }
    let distance = distance.is_finite().then_some(*distance);
    let json = json!({
        "output": name,
        "index": index,
        "values": [old, new],
        "distance": distance,
        "n_differing": count,
        "n_elements": len,
    });
    Verdict::Differ { lines, json }
}

/// A number with the digits that matter.
fn short(number: f64) -> String {
    if (1e-4..1e6).contains(&number) { format!("{}", (number * 1e6).round() / 1e6) } else { format!("{number:.3e}") }
}

/// Values for the parameters of a function, of arrays by name.
fn values(main: &Function, path: &Path, arrays: &[(String, Tensor)]) -> Result<Vec<Tensor>, CliError> {
    let wrong = |what: String| CliError::new(format_args!("inputs `{}`: {what}", path.display()));
    let names: Vec<&str> = main.params().iter().map(|&param| main.name(param)).collect();
    if let Some((name, _)) = arrays.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        let near = nearest(name, names.iter().copied());
        let error = wrong(format!("the model has no input `{name}`"));
        return Err(match near.is_empty() {
            true if names.is_empty() => error,
            true => error.help(format_args!("its inputs are {}", and_list(&names))),
            false => error.help(format_args!("did you mean {}?", or_list(&near))),
        });
    }
    let mut symbols: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    let mut missing = Vec::new();
    let mut values = Vec::new();
    for &param in main.params() {
        let name = main.name(param);
        let Some((_, tensor)) = arrays.iter().find(|(known, _)| known == name) else {
            match main.default_value(param) {
                Some(tensor) => values.push(tensor.clone()),
                None => missing.push(name),
            }
            continue;
        };
        let ty = text::display_type(main, main.type_id(param));
        if !fits(main.type_of(param), tensor) {
            let is = type_of(tensor);
            return Err(wrong(format!("`{name}` is {is}, which input `{name}: {ty}` does not take")));
        }
        if let Type::Tensor { shape: Some(shape), .. } = main.type_of(param) {
            for (dim, &size) in shape.iter().zip(tensor.dims()) {
                let Dim::Symbol(symbol) = Dim::from(*dim) else { continue };
                let symbol = main.str(symbol);
                let (known, by) = *symbols.entry(symbol).or_insert((size, name));
                if known != size {
                    return Err(wrong(format!("`{symbol}` is {known} in `{by}` and {size} in `{name}`")));
                }
            }
        }
        values.push(tensor.clone());
    }
    match missing.is_empty() {
        true => Ok(values),
        false => Err(wrong(format!("there is nothing for input {}", and_list(&missing)))),
    }
}

/// Whether a parameter of a type takes a tensor.
fn fits(ty: Type<'_>, tensor: &Tensor) -> bool {
    let Type::Tensor { elem, shape } = ty else { return matches!(ty, Type::Unknown) };
    let takes = |(&dim, &size): (&DimRec, &u64)| Dim::from(dim).known().is_none_or(|dim| dim == size);
    let fits = |shape: &[DimRec]| shape.len() == tensor.dims().len() && shape.iter().zip(tensor.dims()).all(takes);
    (elem == relais::ir::ElemType::UNKNOWN || elem == tensor.elem()) && shape.is_none_or(fits)
}
