//! Comparing an output with its model, and finding the pass to which a difference is due.

mod inputs;
mod kept;
mod reference;
mod request;
mod runner;
mod words;

pub use request::{CheckRequest, CheckWith, FailedOutput, UnseenParts};

use crate::{
    error::Error,
    listener::Listener,
    model::{OperatorNames, with_bodies},
};
use inputs::values;
use reference::{bounds, yardsticks};
use relais::{
    ir::{ElemType, Function, IRModule, Tensor},
    manager::{Execution, Fate},
    registry::Registry,
};
use relais_conformance::{
    check::{Evaluators, Telling, Unseen, random_inputs, telling},
    numbers::{TensorComparison, Tolerance, Yardstick, compare_computed, is_as_good},
};
use relais_plugin_api::text;
use runner::{Loaded, NotRun, Runner};
use serde_json::{Value, json};
use std::{
    cell::OnceCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use words::{Told, differ, other_type, output_name, shape, shapes};

/// The code of an output that differs, and of one that cannot be compared.
const DIFFERS: &str = "D001";
const NOT_CHECKED: &str = "D002";

/// A check that a request has.
pub struct OutputCheck<'a> {
    request: &'a CheckRequest,
    runner: Runner,
    /// The files with inputs, and the arrays in them.
    given: Vec<(&'a Path, Vec<(String, Tensor)>)>,
}

/// The modules that are compared, and what is needed to find the pass to which a difference is due.
pub struct Subject<'a> {
    /// The model, as it runs everywhere.
    pub before: &'a IRModule,
    /// The output, as it was written.
    pub after: &'a IRModule,
    /// The type that floats are computed in, if the pipeline converts them to one with fewer digits.
    pub computed: ElemType,
    /// The passes that made the output of the model, if that is known.
    pub passes: Option<RanPasses<'a>>,
    /// The operators.
    pub registry: &'a Registry,
    /// Receives the work that is under way.
    pub listener: &'a dyn Listener,
}

/// Passes that ran.
pub struct RanPasses<'a> {
    /// The module that they left.
    pub left: &'a IRModule,
    /// Each of them.
    pub executions: &'a [Execution],
    /// Runs them again, up to an execution.
    pub rerun: &'a dyn Fn(u64) -> Result<IRModule, String>,
    /// Makes of what they left a module that runs everywhere.
    pub complete: &'a dyn Fn(&IRModule) -> Result<IRModule, Error>,
}

/// Compares two modules, of which nothing says how one was made of the other. Operators have bodies, apart from those
/// `without`.
///
/// # Errors
/// Returns an error if they differ, or cannot be compared.
pub fn compare(
    (before, after): (&IRModule, &IRModule),
    without: &OperatorNames,
    request: &CheckRequest,
    registry: &Registry,
    listener: &dyn Listener,
) -> Result<CheckPassed, Box<CheckFailed>> {
    let whole = |module| with_bodies(module, without, registry);
    let (before, after) = (&*whole(before)?, &*whole(after)?);
    let computed = ElemType::UNKNOWN;
    OutputCheck::new(request)?.run(&Subject { before, after, computed, passes: None, registry, listener })
}

/// The results of a check that passed.
#[derive(Clone, Debug)]
pub struct CheckPassed {
    /// On how many sets of inputs the two were compared.
    pub n_runs: usize,
    /// How long that took.
    pub elapsed: Duration,
    /// The largest difference of floats; none if no floats were compared.
    pub largest: Option<Largest>,
    /// The parts of the output that did not run, although the passes changed them.
    pub unseen: Vec<Unseen>,
    /// The values that were compared, run by run.
    pub json: Value,
}

/// The largest difference of floats between two models.
#[derive(Clone, PartialEq, Debug)]
pub struct Largest {
    /// How far the two are apart.
    pub distance: f64,
    /// The output, in words.
    pub output: String,
    /// The bound relative to a value, and the one beside that.
    pub bounds: (f64, f64),
    /// Whether it is more than these, and the output is as near to the values in `float64` as the model.
    pub is_by_error: bool,
}

/// Why a check did not pass.
#[derive(Clone, Debug)]
pub struct CheckFailed {
    /// The words about it.
    pub error: Error,
    /// The values that were compared, run by run, and those that differ.
    pub json: Value,
    /// The inputs for which the output differs; none if it was not compared.
    pub inputs: Option<Vec<(String, Tensor)>>,
}

impl From<Error> for Box<CheckFailed> {
    fn from(error: Error) -> Self {
        Self::new(CheckFailed { error, json: Value::Null, inputs: None })
    }
}

impl CheckFailed {
    /// Whether the output differs; otherwise it was not compared.
    pub fn is_difference(&self) -> bool {
        self.error.code() == DIFFERS
    }
}

/// Inputs, and what the model gives for them.
struct Run {
    origin: Origin,
    inputs: Vec<Tensor>,
    old: Vec<Tensor>,
    /// The same in other precisions, once that is needed; none where it cannot be computed.
    yardsticks: OnceCell<Vec<Option<Yardstick>>>,
}

impl Run {
    fn new(origin: Origin, inputs: Vec<Tensor>, old: Vec<Tensor>) -> Self {
        Self { origin, inputs, old, yardsticks: OnceCell::new() }
    }

    /// The values of an output in other precisions, where evaluators compute them.
    fn yardstick(&self, subject: &Subject<'_>, at: usize) -> Option<&Yardstick> {
        let all = self.yardsticks.get_or_init(|| yardsticks(subject, &self.inputs).unwrap_or_default());
        all.get(at)?.as_ref()
    }

    fn facts(&self, main: &Function) -> Value {
        match &self.origin {
            Origin::File(path) => json!({ "inputs": path.display().to_string() }),
            Origin::Random { seed, .. } => json!({ "seed": seed, "shapes": shapes(main, &self.inputs) }),
            Origin::Telling { input, value } => json!({ "input": input, "value": value }),
        }
    }
}

/// Where inputs come from.
enum Origin {
    File(PathBuf),
    Random {
        run: u32,
        of: u32,
        seed: u64,
    },
    /// Random inputs, except for one that has the value of a constant beside it in the model.
    Telling {
        input: String,
        value: String,
    },
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
            Self::Telling { input, value } => {
                format!("random inputs, of which `{input}` is {value} as a constant of the model")
            }
        }
    }
}

/// How the outputs of a model compare with those of another one.
enum Verdict {
    /// The largest difference of floats.
    Close(Option<Largest>),
    Differ(Told),
}

impl<'a> OutputCheck<'a> {
    /// A check that can be made: the files and the program that it names are there.
    ///
    /// # Errors
    /// Returns an error if one cannot be used.
    pub fn new(request: &'a CheckRequest) -> Result<Self, Error> {
        let read = |path: &'a PathBuf| Ok((path.as_path(), inputs::read(path)?));
        let given = request.inputs.iter().map(read).collect::<Result<_, Error>>()?;
        Ok(Self { request, runner: Runner::of(&request.with)?, given })
    }

    /// Looks at the inputs that are given, before anything runs.
    ///
    /// # Errors
    /// Returns an error if they are not those of the module.
    pub fn look_at(&self, module: &IRModule) -> Result<(), Error> {
        self.given_inputs(main_of(module)?).map(drop)
    }

    /// Compares the output with the model.
    ///
    /// # Errors
    /// Returns an error if they differ, or cannot be compared.
    pub fn run(&self, subject: &Subject<'_>) -> Result<CheckPassed, Box<CheckFailed>> {
        let began = Instant::now();
        let main = main_of(subject.before)?;
        let before = self.runner.load(subject.before, subject.registry, subject.listener)?;
        let after = self.runner.load(subject.after, subject.registry, subject.listener)?;
        let given = self.given_inputs(main)?;
        let telling = if self.request.n_random > 0 { telling(main) } else { Vec::new() };
        let n_wanted = given.len() + self.request.n_random as usize;
        let mut runs = Vec::with_capacity(n_wanted + telling.len());
        let mut largest: Option<Largest> = None;
        for at in 0..n_wanted + telling.len() {
            let run_began = Instant::now();
            let run = match (given.get(at), at.checked_sub(n_wanted)) {
                (Some((path, inputs)), _) => {
                    let old = before.run(inputs).map_err(|why| self.not_checked(subject, &why))?;
                    Run::new(Origin::File(path.to_path_buf()), inputs.clone(), old)
                }
                (None, None) => self.random_run(subject, main, &before, ((at - given.len()) as u32, None))?,
                (None, Some(at)) => match self.random_run(subject, main, &before, (0, Some(&telling[at]))) {
                    Ok(run) => run,
                    Err(error) if subject.listener.is_stopped() => return Err(error.into()),
                    // A model need not take every value.
                    Err(_) => continue,
                },
            };
            let verdict = self.compare(subject, main, &run, &after).map_err(|why| self.not_checked(subject, &why))?;
            let mut facts = run.facts(main);
            facts["seconds"] = run_began.elapsed().as_secs_f64().into();
            match verdict {
                Verdict::Close(found) => {
                    facts["largest_difference"] = found.as_ref().map_or(0.0, |found| found.distance).into();
                    runs.push(facts);
                    largest = largest.into_iter().chain(found).max_by(|a, b| a.distance.total_cmp(&b.distance));
                }
                Verdict::Differ(told) => {
                    runs.push(facts);
                    return Err(Box::new(self.failed(subject, main, &before, run, told, runs)));
                }
            }
        }
        let unseen = after.unseen_changes(subject.before);
        if self.request.unseen == UnseenParts::Refuse && !unseen.is_empty() {
            return Err(Box::new(self.unseen(&unseen, runs)));
        }
        let elapsed = began.elapsed();
        let n_runs = runs.len();
        let mut json = self.facts();
        json["passed"] = true.into();
        json["runs"] = runs.into();
        json["seconds"] = elapsed.as_secs_f64().into();
        json["largest"] = largest.as_ref().map(Largest::to_json).into();
        json["unseen"] = unseen.iter().map(Unseen::to_string).collect::<Vec<_>>().into();
        Ok(CheckPassed { n_runs, elapsed, largest, unseen, json })
    }

    /// The failure of a check that did not reach parts of the output.
    fn unseen(&self, unseen: &[Unseen], runs: Vec<Value>) -> CheckFailed {
        let error = Error::new("the check did not reach all that the passes changed").with_code(NOT_CHECKED);
        let error = unseen.iter().fold(error, |error, part| error.with_line(part));
        let mut json = self.facts();
        json["passed"] = false.into();
        json["runs"] = runs.into();
        json["unseen"] = unseen.iter().map(Unseen::to_string).collect::<Vec<_>>().into();
        let error = error.with_help("give inputs for which they run: `--check-inputs FILE.npz`");
        CheckFailed { error, json, inputs: None }
    }

    fn facts(&self) -> Value {
        let Tolerance { relative: rtol, absolute: atol } = self.request.tolerance;
        json!({ "with": self.runner.name(), "rtol": rtol, "atol": atol })
    }

    /// Random inputs that the model takes, and what it gives for them.
    fn random_run(
        &self,
        subject: &Subject<'_>,
        main: &Function,
        before: &Loaded<'_>,
        (run, telling): (u32, Option<&Telling>),
    ) -> Result<Run, Error> {
        let of = self.request.n_random;
        let mut first_miss = None;
        for inputs in random_inputs(main, self.request.seed, run.into()) {
            let mut inputs = inputs.map_err(|param| {
                let ty = text::display_type(main, main.type_id(param));
                let message = format!("there are no random values for input `{}`, of type `{ty}`", main.name(param));
                Error::new(message).with_code(NOT_CHECKED).with_help("give it one: `--check-inputs FILE.npz`")
            })?;
            if let Some(Telling { param, value }) = telling {
                inputs[*param] = value.clone();
            }
            match before.run(&inputs) {
                Ok(old) if old.is_empty() || old.iter().any(|output| !output.is_empty()) => {
                    let seed = self.request.seed.wrapping_add(run.into());
                    let origin = match telling {
                        None => Origin::Random { run: run + 1, of, seed },
                        Some(telling) => Origin::Telling {
                            input: main.name(main.params()[telling.param]).to_owned(),
                            value: telling.to_string(),
                        },
                    };
                    return Ok(Run::new(origin, inputs, old));
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
    fn not_checked(&self, subject: &Subject<'_>, why: &NotRun) -> Error {
        let error = |why: &str| Error::new(format_args!("the output cannot be checked: {why}")).with_code(NOT_CHECKED);
        if !matches!(self.runner, Runner::Evaluators) {
            return error(why.why()).with_help("give inputs that the model takes: `--check-inputs FILE.npz`");
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
        error.with_help(format_args!("{inputs}compare in a runtime: `--check-with onnxruntime`"))
    }

    /// Compares the outputs of a model with those of another one for the same inputs.
    fn compare(
        &self,
        subject: &Subject<'_>,
        main: &Function,
        run: &Run,
        model: &Loaded<'_>,
    ) -> Result<Verdict, NotRun> {
        let new = match model.run(&run.inputs) {
            Ok(new) => new,
            Err(NotRun::Failed(why)) => {
                let lines = vec![format!("the output cannot be run: {why}")];
                return Ok(Verdict::Differ(Told { lines, json: json!({ "error": why }) }));
            }
            Err(why) => return Err(why),
        };
        if run.old.len() != new.len() {
            let lines = vec![format!("the model has {} outputs, and the output {}", run.old.len(), new.len())];
            return Ok(Verdict::Differ(Told { lines, json: json!({ "n_outputs": [run.old.len(), new.len()] }) }));
        }
        let mut largest: Option<Largest> = None;
        for (at, (old, new)) in run.old.iter().zip(&new).enumerate() {
            let name = || output_name(main, at);
            let (distance, is_by_error) = match compare_computed(old, new, self.request.tolerance, subject.computed) {
                TensorComparison::Close(distance) => (distance, false),
                TensorComparison::OtherType => return Ok(Verdict::Differ(other_type(&name(), old, new))),
                TensorComparison::Differ(difference) => {
                    let yardstick = run.yardstick(subject, at);
                    let is_good = |yardstick: &Yardstick| {
                        is_as_good(old, new, yardstick, self.request.tolerance, subject.computed)
                    };
                    if yardstick.is_none() && subject.listener.is_stopped() {
                        return Err(NotRun::NotCovered("the comparison was stopped".to_owned()));
                    }
                    if !yardstick.is_some_and(is_good) {
                        return Ok(Verdict::Differ(differ(&name(), &difference, old.len())));
                    }
                    (difference.distance, true)
                }
            };
            if old.elem().is_float() && largest.as_ref().is_none_or(|largest| largest.distance < distance) {
                let bounds = bounds(old, self.request.tolerance, subject.computed);
                largest = Some(Largest { distance, output: name(), bounds, is_by_error });
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
        Told { lines, json: difference }: Told,
        runs: Vec<Value>,
    ) -> CheckFailed {
        let shown = run.origin.shown(main, &run.inputs);
        let mut lines = lines.into_iter();
        let first = lines.next().unwrap_or_default();
        let error = Error::new(format_args!("the output differs from the model: {first}")).with_code(DIFFERS);
        let error = lines.fold(error, Error::with_line).with_line(format_args!("with {shown}"));
        let (error, culprit) = match &subject.passes {
            Some(passes) => self.blamed(error, passes, subject, (main, before, &run)),
            None => (error, Value::Null),
        };
        let mut json = self.facts();
        json["passed"] = false.into();
        json["runs"] = runs.into();
        json["difference"] = difference;
        json["culprit"] = culprit;
        let names = main.params().iter().map(|&param| main.name(param).to_owned());
        CheckFailed { error, json, inputs: Some(names.zip(run.inputs).collect()) }
    }

    /// Adds to an error the pass to which a difference is due. Returns that as JSON, too.
    fn blamed(
        &self,
        error: Error,
        passes: &RanPasses<'_>,
        subject: &Subject<'_>,
        differs: (&Function, &Loaded<'_>, &Run),
    ) -> (Error, Value) {
        subject.listener.begins("looking for the pass that did it");
        match self.culprit(passes, subject, differs) {
            Ok(Culprit { execution, pass, plugin }) => {
                let of = if plugin.is_empty() { String::new() } else { format!(" of plugin `{plugin}`") };
                let line =
                    format!("it is due to pass `{pass}`{of}, execution {execution}: before it, there is no difference");
                let help = format!("leave the pass out: `--disable {pass}`; see what it did: `--print-changed=diff`");
                let json = json!({ "pass": pass, "plugin": plugin, "execution": execution });
                (error.with_line(line).with_help(help), json)
            }
            Err(why) => (error.with_line(format_args!("the pass that did it is not known: {why}")), Value::Null),
        }
    }

    /// The first pass after which the module differs: by bisection over what the passes left, one by one.
    fn culprit(
        &self,
        RanPasses { left, executions, rerun, complete }: &RanPasses<'_>,
        subject: &Subject<'_>,
        (main, before, run): (&Function, &Loaded<'_>, &Run),
    ) -> Result<Culprit, String> {
        let why = |error: NotRun| error.why().to_owned();
        if matches!(self.compare(subject, main, run, before).map_err(why)?, Verdict::Differ(_)) {
            return Err("the model itself gives other results each time".to_owned());
        }
        let ran = executions.iter().filter(|execution| !matches!(execution.fate, Fate::Skipped(_)));
        let changed: Vec<(u64, &Execution)> =
            (1..).zip(ran).filter(|(_, execution)| execution.fate == Fate::Changed).collect();
        let Some(&(last, _)) = changed.last() else { return Err("no pass changed the model".to_owned()) };
        if relais::ir::equal(&rerun(last)?, left).is_err() {
            return Err("the passes do something else when they run again".to_owned());
        }
        let told = |error: Error| error.to_string();
        let whole = complete(left).map_err(told)?;
        let loaded = self.runner.load(&whole, subject.registry, subject.listener).map_err(told)?;
        if let Verdict::Close(_) = self.compare(subject, main, run, &loaded).map_err(why)? {
            return Err("what the passes left computes the same, and what was written of it does not".to_owned());
        }
        // The first `good` changes are harmless, and one of the first `bad` is not.
        let (mut good, mut bad) = (0, changed.len());
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            let (execution, changer) = changed[middle - 1];
            subject.listener.begins(&format!("looking for the pass that did it: `{}`", changer.name));
            let module = complete(&rerun(execution)?).map_err(told)?;
            let loaded = self.runner.load(&module, subject.registry, subject.listener).map_err(told)?;
            match self.compare(subject, main, run, &loaded).map_err(why)? {
                Verdict::Close(_) => good = middle,
                Verdict::Differ(_) => bad = middle,
            }
        }
        let (execution, changer) = changed[bad - 1];
        Ok(Culprit { execution, pass: changer.name.clone(), plugin: changer.plugin.trim().to_owned() })
    }

    /// The values for the parameters of a function in each file.
    fn given_inputs(&self, main: &Function) -> Result<Vec<(&'a Path, Vec<Tensor>)>, Error> {
        let of = |(path, arrays): &(&'a Path, Vec<(String, Tensor)>)| Ok((*path, values(main, path, arrays)?));
        self.given.iter().map(of).collect()
    }
}

/// The pass to which a difference is due.
struct Culprit {
    execution: u64,
    pass: String,
    plugin: String,
}

fn main_of(module: &IRModule) -> Result<&Function, Error> {
    let missing = || Error::new("the module has no function `main`, so that nothing can be checked");
    module.main().map(|main| &**main).ok_or_else(|| missing().with_code(NOT_CHECKED))
}
