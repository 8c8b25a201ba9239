//! Comparing an output with its model, and finding the pass to which a difference is due.

mod culprit;
mod inputs;
mod kept;
mod limit;
mod reference;
mod request;
mod runner;
mod words;

pub use request::{CheckRequest, CheckWith, DEFAULT_GIB, DEFAULT_SECONDS, FailedOutput, UnseenParts};

use crate::{
    error::Error,
    listener::{Listener, Notice},
    model::{OperatorNames, with_bodies},
};
use inputs::values;
use limit::Limited;
use reference::{bounds, yardsticks};
use relais::{
    ir::{ElemType, Function, IRModule, NodeId, Tensor},
    manager::Execution,
    pass::Catalogue as _,
    registry::Registry,
};
use relais_conformance::{
    check::{Evaluators, ModelOutputs, Pair, Telling, Unseen, random_inputs, telling},
    numbers::{TensorComparison, TensorDifference, Tolerance, Yardstick, compare_computed, is_as_good},
};
use relais_plugin_api::text;
use runner::{Loaded, NotRun, Runner};
use serde_json::{Value, json};
use std::{
    cell::OnceCell,
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use words::{Told, differ, other_forms, other_type, output_name, shape, shapes};

/// The code of an output that differs, and of one that cannot be compared.
const DIFFERS: &str = "D001";
pub(crate) const NOT_CHECKED: &str = "D002";

/// A check that a request has.
pub struct OutputCheck<'a> {
    request: &'a CheckRequest,
    runner: Runner,
    /// The files with inputs, and the arrays in them.
    given: Vec<(&'a Path, Vec<(String, Tensor)>)>,
}

/// The modules that are compared, and what is needed to find the pass to which a difference is due.
#[derive(Clone, Copy)]
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

/// The property of operators that compute their results from numbers of a magnitude, however small these are.
const ROUNDED_AROUND: &str = "rounded.around";

impl Subject<'_> {
    /// The magnitude of the numbers that an output is computed from, as the record of its operator says; 0 if it does not.
    fn rounded_around(&self, main: &Function, output: usize) -> f64 {
        let call = main.results(main.body()).get(output).and_then(|&id| main.call(id));
        let Some(op) = call.and_then(|call| call.op()) else { return 0.0 };
        let mut relations = self.registry.relations();
        relations.version(main, op);
        let stated = relations.schema(op).and_then(|schema| schema.property(ROUNDED_AROUND)?.parse().ok());
        stated.filter(|around: &f64| (0.0..=1.0).contains(around)).unwrap_or(0.0)
    }
}

/// Passes that ran.
#[derive(Clone, Copy)]
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
    let passed =
        OutputCheck::new(request)?.run(&Subject { before, after, computed, passes: None, registry, listener })?;
    passed.notices(request).iter().for_each(|notice| listener.notice(notice));
    Ok(passed)
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
    /// How many sets of inputs were left out, since the time was over.
    pub n_left_out: usize,
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
    /// Why it is allowed.
    pub by: Closeness,
}

/// Why a difference is allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closeness {
    /// It is within the bounds.
    Bounds,
    /// It is more, and the output is as near to the values in `float64` as the model.
    Error,
    /// The output depends on a comparison of numbers that tie within the bounds.
    Tie,
}

impl CheckPassed {
    /// The warnings of what was not checked.
    pub(crate) fn notices(&self, request: &CheckRequest) -> Vec<Notice> {
        let unseen = self.unseen.iter().map(|part| {
            let warning = format_args!("the check did not reach {part}, which the passes changed");
            Notice::warning(warning).with_help("`--check-inputs` gives inputs for which it runs")
        });
        let left_out = (self.n_left_out > 0).then(|| {
            let seconds = request.time.unwrap_or_default().as_secs();
            let n = self.n_left_out;
            let runs = if n == 1 { "1 set of inputs was".to_owned() } else { format!("{n} sets of inputs were") };
            let warning = format_args!("the check ended after {seconds} s: {runs} left out");
            Notice::warning(warning).with_help("`--check-seconds N` gives it more time")
        });
        unseen.chain(left_out).collect()
    }
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
    old: ModelOutputs,
    /// The same in other precisions, once that is needed; none where it cannot be computed.
    yardsticks: OnceCell<Vec<Option<Yardstick>>>,
}

impl Run {
    fn new(origin: Origin, inputs: Vec<Tensor>, old: ModelOutputs) -> Self {
        Self { origin, inputs, old, yardsticks: OnceCell::new() }
    }

    /// The values of a tensor of the outputs in other precisions, where evaluators compute them.
    fn yardstick(&self, subject: &Subject<'_>, max_bytes: u64, at: usize) -> Option<&Yardstick> {
        let all = self.yardsticks.get_or_init(|| yardsticks(subject, &self.inputs, max_bytes).unwrap_or_default());
        all.get(at)?.as_ref()
    }

    fn facts(&self, main: &Function) -> Value {
        match &self.origin {
            Origin::File(path) => json!({ "inputs": path.display().to_string() }),
            Origin::Random { seed, .. } => json!({ "seed": seed, "shapes": shapes(main, &self.inputs) }),
            Origin::Telling(telling @ Telling::Constant { input, .. }) => {
                json!({ "input": input_name(main, *input), "value": telling.to_string() })
            }
            Origin::Telling(Telling::Edges { input, .. }) => {
                json!({ "input": input_name(main, *input), "edges": true })
            }
            Origin::Telling(Telling::Size { .. }) => json!({ "shapes": shapes(main, &self.inputs) }),
        }
    }
}

/// Inputs of a run that is to come.
enum Planned<'a> {
    Given(&'a Path, Vec<Tensor>),
    /// The number of the run.
    Random(u32),
    /// The difference from inputs that the model takes, and these.
    Telling(Telling, Vec<Tensor>),
}

/// Where inputs come from.
enum Origin {
    File(PathBuf),
    Random { run: u32, of: u32, seed: u64 },
    Telling(Telling),
}

fn input_name(main: &Function, at: usize) -> &str {
    main.name(main.params()[at])
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
            Self::Telling(telling) => {
                let what = match telling {
                    Telling::Constant { input, .. } => {
                        format!("`{}` is {telling}, near a constant of the model", input_name(main, *input))
                    }
                    Telling::Edges { input, .. } => format!("`{}` has {telling}", input_name(main, *input)),
                    Telling::Size { .. } => format!("dimension {telling}"),
                };
                let shapes = shapes(main, inputs);
                let shapes: String = shapes.iter().map(|(name, dims)| format!(", {name}: {}", shape(dims))).collect();
                format!("random inputs, of which {what}{shapes}")
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
        Ok(Self { request, runner: Runner::of(request)?, given })
    }

    /// Looks at the model and at the inputs that are given, before anything runs.
    ///
    /// # Errors
    /// Returns an error if these are not the inputs of the module, or it is certain that it cannot be computed.
    pub fn look_at(&self, module: &IRModule, registry: &Registry) -> Result<(), Error> {
        let main = main_of(module)?;
        self.given_inputs(main)?;
        if let Runner::Evaluators { .. } = self.runner {
            let lacking = Evaluators::new(registry, &|_| {}).always_lacking(module);
            if !lacking.is_empty() {
                return Err(no_evaluator(&lacking));
            }
        }
        if self.request.n_random == 0 {
            return Ok(());
        }
        match random_inputs(main, self.request.seed, 0).next() {
            Some(Err(param)) => Err(no_values(main, param)),
            _ => Ok(()),
        }
    }

    /// Compares the output with the model.
    ///
    /// # Errors
    /// Returns an error if they differ, or cannot be compared.
    pub fn run(&self, subject: &Subject<'_>) -> Result<CheckPassed, Box<CheckFailed>> {
        let began = Instant::now();
        let limit = Limited::new(subject.listener, self.request.time);
        let subject = &Subject { listener: &limit, ..*subject };
        let main = main_of(subject.before)?;
        let before = self.runner.load(subject.before, subject.registry, subject.listener)?;
        let after = self.runner.load(subject.after, subject.registry, subject.listener)?;
        let given = self.given_inputs(main)?;
        let mut planned: VecDeque<Planned> =
            given.into_iter().map(|(path, inputs)| Planned::Given(path, inputs)).collect();
        planned.extend((0..self.request.n_random).map(Planned::Random));
        let mut runs = Vec::new();
        let mut largest: Option<Largest> = None;
        let (mut n_left_out, mut undecided) = (0, None);
        while let Some(next) = planned.pop_front() {
            let run_began = Instant::now();
            let is_first = matches!(next, Planned::Random(0));
            let is_wanted = !matches!(next, Planned::Telling(..));
            let compared = self.planned(subject, main, &before, next).and_then(|run| {
                let Some(run) = run else { return Ok(None) };
                match self.compare(subject, main, &run, &after) {
                    Ok(verdict) => Ok(Some((run, verdict))),
                    // The model takes what the output does not: a kernel of which nothing is known, for example.
                    Err(_) if !is_wanted && !subject.listener.is_stopped() => Ok(None),
                    Err(why) => {
                        if let NotRun::Undecided(why) = &why {
                            undecided = Some(why.clone());
                        }
                        Err(self.not_checked(subject, &why))
                    }
                }
            });
            if limit.is_over() && !matches!(compared, Ok(Some(_))) {
                if runs.is_empty() || undecided.is_some() {
                    return Err(self.too_slow(undecided).into());
                }
                n_left_out = planned.len() + 1;
                break;
            }
            let Some((run, verdict)) = compared? else { continue };
            if is_first {
                let telling = telling(main, &run.inputs).into_iter();
                let telling = telling.filter(|telling| telling.is_for(&run.inputs, subject.computed));
                planned.extend(telling.map(|telling| Planned::Telling(telling, run.inputs.clone())));
            }
            let mut facts = run.facts(main);
            facts["seconds"] = run_began.elapsed().as_secs_f64().into();
            match verdict {
                Verdict::Close(found) => {
                    facts["largest_difference"] = found.as_ref().map_or(0.0, |found| found.distance).into();
                    runs.push(facts);
                    largest = largest.into_iter().chain(found).max_by(Largest::compare);
                }
                Verdict::Differ(told) => {
                    limit.lift();
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
        json["left_out"] = n_left_out.into();
        json["seconds"] = elapsed.as_secs_f64().into();
        json["largest"] = largest.as_ref().map(Largest::to_json).into();
        json["unseen"] = unseen.iter().map(Unseen::to_string).collect::<Vec<_>>().into();
        Ok(CheckPassed { n_runs, elapsed, largest, unseen, n_left_out, json })
    }

    /// Inputs that are planned, with what the model gives for them. `None` if it need not take them, and does not.
    fn planned(
        &self,
        subject: &Subject<'_>,
        main: &Function,
        before: &Loaded<'_>,
        planned: Planned<'_>,
    ) -> Result<Option<Run>, Error> {
        match planned {
            Planned::Given(path, inputs) => {
                let old = before.run(&inputs).map_err(|why| self.not_checked(subject, &why))?;
                Ok(Some(Run::new(Origin::File(path.to_path_buf()), inputs, old)))
            }
            Planned::Random(run) => self.random_run(subject, main, before, run).map(Some),
            Planned::Telling(telling, taken) => {
                let Some(inputs) = telling.inputs(main, &taken, self.request.seed) else { return Ok(None) };
                match before.run(&inputs) {
                    Ok(old) => Ok(Some(Run::new(Origin::Telling(telling), inputs, old))),
                    Err(why) if subject.listener.is_stopped() => Err(self.not_checked(subject, &why)),
                    Err(why) => {
                        log::info!("the model does not take {telling}: {}", why.why());
                        Ok(None)
                    }
                }
            }
        }
    }

    /// The error of a check that made no run in its time, or left a difference undecided.
    fn too_slow(&self, undecided: Option<String>) -> Error {
        let seconds = self.request.time.unwrap_or_default().as_secs();
        let error = Error::new(format_args!("the output cannot be checked in {seconds} s")).with_code(NOT_CHECKED);
        let error = undecided.into_iter().fold(error, Error::with_line);
        error.with_help("give it more time: `--check-seconds N`")
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
    fn random_run(&self, subject: &Subject<'_>, main: &Function, before: &Loaded<'_>, run: u32) -> Result<Run, Error> {
        let of = self.request.n_random;
        let mut first_miss = None;
        for inputs in random_inputs(main, self.request.seed, run.into()) {
            let inputs = inputs.map_err(|param| no_values(main, param))?;
            match before.run(&inputs) {
                Ok(old) if old.tensors.is_empty() || old.tensors.iter().any(|output| !output.is_empty()) => {
                    let seed = self.request.seed.wrapping_add(run.into());
                    let origin = Origin::Random { run: run + 1, of, seed };
                    return Ok(Run::new(origin, inputs, old));
                }
                Ok(_) => _ = first_miss.get_or_insert(NotRun::NotCovered("all its outputs are empty".to_owned())),
                Err(why) => {
                    log::info!("the model does not take {:?}: {}", shapes(main, &inputs), why.why());
                    first_miss.get_or_insert(why);
                }
            }
            // Other sizes do not help.
            if matches!(self.runner, Runner::Evaluators { .. }) && !self.uncovered(subject).is_empty() {
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
        if !matches!(self.runner, Runner::Evaluators { .. }) {
            return error(why.why()).with_help("give inputs that the model takes: `--check-inputs FILE.npz`");
        }
        let uncovered = self.uncovered(subject);
        if !uncovered.is_empty() {
            return no_evaluator(&uncovered);
        }
        let inputs = "give inputs that it takes: `--check-inputs FILE.npz`";
        error(why.why()).with_help(format_args!("{inputs}; or {IN_A_RUNTIME}"))
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
        if let Some(told) = other_forms(main, &run.old.forms, &new.forms) {
            return Ok(Verdict::Differ(told));
        }
        let mut largest: Option<Largest> = None;
        let mut differing: Vec<(usize, TensorDifference)> = Vec::new();
        let name_of = |at| output_name(main, run.old.place(at));
        for (at, (old, new)) in run.old.tensors.iter().zip(&new.tensors).enumerate() {
            let name = || name_of(at);
            let (distance, by) = match compare_computed(old, new, self.request.tolerance, subject.computed) {
                TensorComparison::Close(distance) => (distance, Closeness::Bounds),
                TensorComparison::OtherType if old.elem() != new.elem() => {
                    return Ok(Verdict::Differ(other_type(&name(), old, new)));
                }
                TensorComparison::OtherType => {
                    differing.push((at, TensorDifference::of_shapes()));
                    continue;
                }
                TensorComparison::Differ(difference) => {
                    let yardstick = run.yardstick(subject, self.request.max_bytes, at);
                    let yardstick = yardstick.filter(|yardstick| self.is_measured(old, yardstick, subject.computed));
                    let computed = (subject.computed, subject.rounded_around(main, run.old.place(at).0));
                    let is_good =
                        |yardstick: &Yardstick| is_as_good(old, new, yardstick, self.request.tolerance, computed);
                    if yardstick.is_none() && subject.listener.is_stopped() {
                        return Err(undecided(&name()));
                    }
                    if !yardstick.is_some_and(is_good) {
                        differing.push((at, difference));
                        continue;
                    }
                    (difference.distance, Closeness::Error)
                }
            };
            if old.elem().is_float() && largest.as_ref().is_none_or(|largest| largest.distance < distance) {
                let bounds = bounds(old, self.request.tolerance, subject.computed);
                largest = Some(Largest { distance, output: name(), bounds, by });
            }
        }
        if differing.is_empty() {
            return Ok(Verdict::Close(largest));
        }
        let tied = self.tied(subject, run, &new.tensors);
        if subject.listener.is_stopped() {
            return Err(undecided(&name_of(differing[0].0)));
        }
        for (at, difference) in differing {
            let (old, new, name) = (&run.old.tensors[at], &new.tensors[at], name_of(at));
            if !tied.get(at).is_some_and(|&is_tied| is_tied) {
                return Ok(Verdict::Differ(match old.dims() == new.dims() {
                    true => differ(&name, &difference, old.len()),
                    false => other_type(&name, old, new),
                }));
            }
            let bounds = bounds(old, self.request.tolerance, subject.computed);
            largest = Some(Largest { distance: difference.distance, output: name, bounds, by: Closeness::Tie });
        }
        Ok(Verdict::Close(largest))
    }

    /// Whether the values that evaluators compute are those of the model, as another runtime computed it: approximations are,
    /// and something else is not.
    fn is_measured(&self, old: &Tensor, yardstick: &Yardstick, computed: ElemType) -> bool {
        const ROUGHLY: Tolerance = Tolerance { relative: 0.01, absolute: Some(0.01) };
        let (evaluated, tolerance) = (&yardstick.evaluated, self.request.tolerance);
        matches!(self.runner, Runner::Evaluators { .. })
            || matches!(compare_computed(evaluated, old, ROUGHLY, computed), TensorComparison::Close(_))
            || is_as_good(evaluated, old, yardstick, tolerance, (computed, 0.0))
    }

    /// Which outputs may be what they became, since what decides them ties within the bounds.
    fn tied(&self, subject: &Subject<'_>, run: &Run, new: &[Tensor]) -> Vec<bool> {
        let says = |operator: &str| subject.listener.begins(&format!("looking for ties in the model: {operator}"));
        let is_stopped = || subject.listener.is_stopped();
        let evaluators =
            Evaluators::new(subject.registry, &says).stopped_by(&is_stopped).within(self.request.max_bytes);
        let slack = |at: usize| run.yardstick(subject, self.request.max_bytes, at)?.allows(&run.old.tensors[at]);
        let pair = |(at, new)| Pair { new, slack: slack(at).unwrap_or_default() };
        let pairs: Vec<Pair<'_>> = new.iter().enumerate().map(pair).collect();
        evaluators.ties(subject.before, &run.inputs, &pairs, (self.request.tolerance, subject.computed))
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

    /// The values for the parameters of a function in each file.
    fn given_inputs(&self, main: &Function) -> Result<Vec<(&'a Path, Vec<Tensor>)>, Error> {
        let of = |(path, arrays): &(&'a Path, Vec<(String, Tensor)>)| Ok((*path, values(main, path, arrays)?));
        self.given.iter().map(of).collect()
    }
}

const IN_A_RUNTIME: &str = "compare in a runtime: `--check-with onnxruntime`";

/// The error of a model with operators that no plugin evaluates, with the number of calls of each.
fn no_evaluator(uncovered: &BTreeMap<String, u64>) -> Error {
    let times = |n: &u64| if *n == 1 { "1 call".to_owned() } else { format!("{n} calls") };
    let all: Vec<String> = uncovered.iter().map(|(name, n)| format!("`{name}` ({})", times(n))).collect();
    let error = Error::new(format_args!("the output cannot be checked: no plugin evaluates {}", all.join(", ")));
    error.with_code(NOT_CHECKED).with_help(IN_A_RUNTIME)
}

/// The error of an input of a type for which there are no random values.
fn no_values(main: &Function, param: NodeId) -> Error {
    let ty = text::display_type(main, main.type_id(param));
    let error = Error::new(format_args!("there are no random values for input `{}`, of type `{ty}`", main.name(param)));
    error.with_code(NOT_CHECKED).with_help("give it one: `--check-inputs FILE.npz`")
}

/// The stop of a comparison that found a difference.
fn undecided(output: &str) -> NotRun {
    let why = format!("{output} differs by more than the bounds, and may be as good as that of the model all the same");
    NotRun::Undecided(why)
}

fn main_of(module: &IRModule) -> Result<&Function, Error> {
    let missing = || Error::new("the module has no function `main`, so that nothing can be checked");
    module.main().map(|main| &**main).ok_or_else(|| missing().with_code(NOT_CHECKED))
}
