//! Testing passes: random modules and options, and the properties of every pass on each.

mod smaller;

use super::{
    Settings,
    bench::{Bench, Checks, Knob, PassShape, has_refused_call},
    generate::{self, Vocabulary},
    instances,
    interface::same_interface,
    interpret::Compute,
    journal::Log,
    knobs, nests,
    numbers::{Judgement, same_numbers},
    random::Random,
    report::{Finding, Judged, Kind},
};
use relais_ir::wild::Tape;
use relais_plugin_api::{
    boundary::{abi::error_kind, record::Level},
    diagnostics::PassError,
    ir::*,
    options::Value,
    pattern::{self, Rule},
    text::{self, PrintOptions},
};
use smaller::Smaller;
use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

/// How many threads run a pass at once.
const N_THREADS: usize = 4;

/// One in this many modules is used for options that are not the defaults.
const OPTIONS_SHARE: usize = 8;

/// The most runs that make a failing module smaller, and the longest time.
const N_SHRINKS: usize = 120;
const SHRINK_TIME: Duration = Duration::from_secs(10);

/// The codes with which the rules C3, C4, C5, C6, C7 and C8 refuse what a pass makes, without the last two digits.
const REFUSALS: [&str; 3] = ["I0", "M0", "R0"];

/// The time that any run may take, however small the module is.
const LEAST_TIME: Duration = Duration::from_millis(250);

/// The number of bindings of a large module, which shows the time per node.
const N_LARGE: usize = 1000;

/// Where a module comes from.
enum Source<'a> {
    /// The text of the author.
    Given(&'a str),
    /// An instance of the left side of a rule.
    Instance(&'a IRModule),
    Sensible(Vec<u8>),
    Nest(Vec<u8>),
    Wild(Vec<u8>),
    Large(Vec<u8>),
}

impl Source<'_> {
    /// The bytes that a random module is made from.
    fn tape(&self) -> Option<&[u8]> {
        match self {
            Self::Sensible(bytes) | Self::Nest(bytes) | Self::Wild(bytes) | Self::Large(bytes) => Some(bytes),
            Self::Given(_) | Self::Instance(_) => None,
        }
    }

    /// A random module of the same sort, of other bytes.
    fn with_tape(&self, bytes: Vec<u8>) -> Self {
        match self {
            Self::Given(text) => Self::Given(text),
            Self::Instance(module) => Self::Instance(module),
            Self::Sensible(_) => Self::Sensible(bytes),
            Self::Nest(_) => Self::Nest(bytes),
            Self::Wild(_) => Self::Wild(bytes),
            Self::Large(_) => Self::Large(bytes),
        }
    }
}

/// The outcome of one case.
#[derive(Default)]
struct CaseOutcome {
    faults: Vec<(Kind, String)>,
    is_changed: bool,
    is_error: bool,
    is_compared: bool,
    not_evaluated: Option<(String, String)>,
}

impl CaseOutcome {
    fn fault(mut self, kind: Kind, message: impl ToString) -> Self {
        self.faults.push((kind, message.to_string()));
        self
    }
}

/// One pass under test.
struct Trial<'a> {
    bench: &'a dyn Bench,
    settings: &'a Settings,
    log: &'a dyn Log,
    pass: &'a PassShape,
    subject: String,
    vocabulary: Vocabulary,
    found: BTreeSet<Kind>,
    judged: Judged,
}

/// Whether an error is a host's, about what a pass makes.
fn is_refusal(error: &PassError) -> bool {
    let code = error.rec().code.as_str();
    error.rec().kind == error_kind::RETURNED
        && code.len() == 4
        && REFUSALS.iter().any(|refusal| code.starts_with(refusal))
}

/// Judges one pass.
pub fn judge_pass(bench: &dyn Bench, settings: &Settings, log: &dyn Log, pass: &PassShape) -> Judged {
    let subject = format!("pass {}", pass.name);
    let vocabulary = Vocabulary::of(bench, &pass.ops);
    let judged = Judged { subject: subject.clone(), ..Judged::default() };
    let mut trial = Trial { bench, settings, log, pass, subject, vocabulary, found: BTreeSet::new(), judged };
    let start = Instant::now();
    trial.run();
    Judged { time: start.elapsed(), ..trial.judged }
}

impl Trial<'_> {
    fn run(&mut self) {
        let mut random = Random::of(self.settings.seed, &self.pass.name, u64::MAX);
        let is_kept = |knob: &&Knob| {
            let name = format!("{}.{}", self.pass.name, knob.name);
            (knob.default.is_some() || knob.is_optional) && self.settings.kept.contains(&name)
        };
        let turned: Vec<Knob> = self.pass.options.iter().filter(|knob| !is_kept(knob)).cloned().collect();
        let mut sets = knobs::legal(&turned, &mut random);
        sets.retain(|options| self.makes(options));
        if self.bench.checks_options() == Checks::Host {
            for options in knobs::illegal(&self.pass.options, &mut random) {
                self.log.beat();
                if self.bench.make(&self.pass.name, &options).is_ok() {
                    self.find(Kind::Options, "it takes a value outside of its schema".into(), &options, String::new());
                }
            }
        }
        let Some((defaults, others)) = sets.split_first() else {
            if self.found.is_empty() {
                self.judged.not_judged = Some(not_judged(&turned));
            }
            return;
        };
        for text in &self.settings.modules {
            self.case(&Source::Given(text), defaults);
            others.iter().for_each(|options| self.case(&Source::Given(text), options));
        }
        self.rules(defaults);
        let n = self.settings.n_modules;
        for at in 0..n {
            let mut random = Random::of(self.settings.seed, &self.pass.name, at as u64);
            let bytes = generate::tape(&mut random, at, n);
            let source = match at % 4 {
                3 => Source::Wild(bytes),
                // Others see a few, among their graphs.
                1 if self.pass.level == Level::MODULE && at % 16 == 1 => Source::Nest(bytes),
                _ if self.pass.level == Level::PRIM_FUNC => Source::Nest(bytes),
                _ => Source::Sensible(bytes),
            };
            self.case(&source, defaults);
            for (nth, options) in others.iter().enumerate() {
                if (at + nth) % OPTIONS_SHARE == 0 {
                    self.case(&source, options);
                }
            }
        }
        if n > 0 {
            let bytes = Random::of(self.settings.seed, &self.pass.name, n as u64).bytes(32 * N_LARGE);
            self.case(&Source::Large(bytes), defaults);
        }
        if self.judged.n_changed == 0 && self.judged.n_cases > 0 {
            self.silent("it");
        }
    }

    /// Tests the rules of a pass that consists of rules.
    fn rules(&mut self, options: &Value) {
        // The text is the record's: if it cannot be parsed, the pass fails in every case.
        let rules = pattern::read("rules", &self.pass.rules).unwrap_or_default();
        for (at, rule) in rules.iter().enumerate() {
            // While instances are made, relations of the author's may run.
            self.log.case(&self.subject, &shown(options), &rule.to_string());
            let name = rule.name.as_ref().map_or_else(|| format!("rule {}", at + 1), |name| format!("`{}`", name.text));
            let instances = match self.instances(rule) {
                Ok(instances) => instances,
                Err(why) => {
                    self.not_judged(&name, &why);
                    continue;
                }
            };
            let before = self.judged.n_changed;
            for module in &instances {
                self.case(&Source::Instance(module), options);
            }
            if self.judged.n_changed == before {
                self.silent(&name);
            }
        }
    }

    /// Returns the author's examples of a rule's left side, and random ones, which know nothing of functions.
    fn instances(&self, rule: &Rule) -> Result<Vec<IRModule>, String> {
        let is_own = |of: &str| rule.name.as_ref().is_some_and(|name| name.text == of);
        let own = self.pass.samples.iter().filter(|(of, _)| is_own(of));
        let own = own.enumerate().map(|(at, (_, text))| {
            let module = text::parse_str(text).map_err(|errors| lines(&errors)).and_then(|module| {
                let faults = verify(&module);
                if faults.is_empty() { Ok(module) } else { Err(lines(&faults)) }
            });
            module.map_err(|why| format!("its sample {} is not a module: {why}", at + 1))
        });
        let mut instances: Vec<IRModule> = own.collect::<Result<_, _>>()?;
        match relais_patterns::functions(rule).next() {
            None => instances.extend(instances::of_rule(rule, self.settings.seed, self.bench, self.log)),
            Some(function) if instances.is_empty() => {
                return Err(format!("its condition `{}` is a function, and it has no samples", function.text));
            }
            Some(_) => {}
        }
        if instances.is_empty() { Err("no module was found that can be computed".to_owned()) } else { Ok(instances) }
    }

    /// Notes that a rule was not tested.
    fn not_judged(&mut self, rule: &str, why: &str) {
        self.judged.rules_not_judged.push(format!("{rule} ({why})"));
        if self.settings.is_strict {
            let message = format!("{rule} was not judged: {why}");
            self.find(Kind::NotJudged, message, &Value::Struct(Vec::new()), String::new());
        }
    }

    /// Notes that the pass, or one of its rules, never applied.
    fn silent(&mut self, what: &str) {
        self.judged.silent.push(what.to_owned());
        if self.settings.is_strict {
            let message = format!("{what} never changed a module");
            self.find(Kind::NeverApplies, message, &Value::Struct(Vec::new()), String::new());
        }
    }

    /// Whether the pass can be made with these options.
    fn makes(&mut self, options: &Value) -> bool {
        self.log.case(&self.subject, &shown(options), "");
        let Err(error) = self.bench.make(&self.pass.name, options) else { return true };
        if is_refused(&error, options) {
            return false;
        }
        let kind = match (error.is_panic(), *options == Value::Struct(Vec::new())) {
            (true, _) => Kind::Panic,
            (false, true) => Kind::NotMade,
            (false, false) => Kind::Options,
        };
        self.find(kind, message(&error), options, String::new());
        false
    }

    fn module(&self, source: &Source<'_>) -> Option<IRModule> {
        let compute: &dyn Compute = self.bench;
        let module = match source {
            Source::Given(text) => text::parse_str(text).ok()?,
            Source::Instance(module) => (*module).clone(),
            Source::Sensible(bytes) => generate::sensible(bytes, &self.vocabulary, compute),
            Source::Large(bytes) => generate::large(bytes, &self.vocabulary, compute, N_LARGE),
            Source::Nest(bytes) => nests::module(&mut Tape::new(bytes))?,
            Source::Wild(bytes) => generate::wild(bytes),
        };
        verify(&module).is_empty().then_some(module)
    }

    fn case(&mut self, source: &Source<'_>, options: &Value) {
        if self.bench.is_stopped() {
            return;
        }
        let Some(module) = self.module(source) else { return };
        let outcome = self.try_case(source, &module, options);
        self.judged.n_cases += 1;
        self.judged.n_changed += usize::from(outcome.is_changed);
        self.judged.n_errors += usize::from(outcome.is_error);
        self.judged.n_compared += usize::from(outcome.is_compared);
        // Parameters without values are due to the modules, operators without evaluators to the plugins.
        let not_evaluated = outcome.not_evaluated.filter(|(what, _)| !what.starts_with('%'));
        self.judged.not_evaluated.extend(not_evaluated);
        for (kind, message) in outcome.faults {
            if self.found.contains(&kind) {
                continue;
            }
            let (module, message) = self.smallest(source, options, kind).unwrap_or_else(|| (module.clone(), message));
            self.find(kind, message, options, printed(&module));
        }
    }

    fn find(&mut self, kind: Kind, message: String, options: &Value, module: String) {
        // A pass that is not deterministic sporadically shows other faults too.
        let is_implied = kind == Kind::NotIdempotent && self.found.contains(&Kind::NotDeterministic);
        if is_implied || !self.found.insert(kind) {
            return;
        }
        self.log.finding(&Finding { subject: self.subject.clone(), kind, message, options: shown(options), module });
    }

    /// A smaller module with a fault of the same kind.
    fn smallest(&self, source: &Source<'_>, options: &Value, kind: Kind) -> Option<(IRModule, String)> {
        let bytes = source.tape()?;
        if kind == Kind::Slow {
            return None;
        }
        let end = Instant::now() + SHRINK_TIME;
        let mut best = None;
        let mut smaller = Smaller::new(bytes);
        for _ in 0..N_SHRINKS {
            if Instant::now() >= end || self.bench.is_stopped() {
                break;
            }
            let Some(candidate) = smaller.candidate() else { break };
            let source = source.with_tape(candidate);
            let module = self.module(&source);
            let faults =
                module.as_ref().map(|module| self.try_case(&source, module, options).faults).unwrap_or_default();
            let same = faults.into_iter().find(|(other, _)| *other == kind);
            smaller.settle(same.is_some());
            best = module.zip(same.map(|(_, message)| message)).or(best);
        }
        best
    }

    fn try_case(&self, source: &Source<'_>, module: &IRModule, options: &Value) -> CaseOutcome {
        self.log.case(&self.subject, &shown(options), &printed(module));
        let mut before = module.clone();
        for required in &self.pass.before {
            self.log.beat();
            match self.bench.run(&required.pass, &required.options, &before) {
                Ok(new) => before = new.unwrap_or(before),
                // It fails for a reason of its own, which is tested separately.
                Err(_) => return CaseOutcome { is_error: true, ..CaseOutcome::default() },
            }
        }
        self.check(source, &before, options)
    }

    fn run_once(&self, module: &IRModule, options: &Value) -> Result<Option<IRModule>, PassError> {
        self.log.beat();
        self.bench.run(&self.pass.name, options, module)
    }

    fn check(&self, source: &Source<'_>, before: &IRModule, options: &Value) -> CaseOutcome {
        let mut outcome = CaseOutcome::default();
        let text_before = printed(before);
        let start = Instant::now();
        let first = self.run_once(before, options);
        let time = start.elapsed();
        if printed(before) != text_before {
            return outcome.fault(Kind::InputModified, "the module that it was given is another one afterwards");
        }
        let after = match first {
            Err(error) if error.is_panic() => return outcome.fault(Kind::Panic, message(&error)),
            Err(error) => {
                let outcome = CaseOutcome { is_error: true, ..outcome };
                // A module that has a refused call may have the same error before.
                let is_blamed =
                    is_refusal(&error) && !matches!(source, Source::Wild(_)) && !has_refused_call(before, self.bench);
                return if is_blamed { outcome.fault(Kind::Refused, message(&error)) } else { outcome };
            }
            Ok(after) => after,
        };
        let budget = LEAST_TIME + self.settings.time_per_node * u32::try_from(n_bindings(before)).unwrap_or(u32::MAX);
        if time > budget && self.is_slow(before, options, budget) {
            let message = format!("{time:.1?} for {} bindings, over the budget of {budget:.1?}", n_bindings(before));
            // The remaining checks would take as long again, each time.
            return outcome.fault(Kind::Slow, message);
        }
        if let Some(after) = &after {
            let faults = verify(after);
            if !faults.is_empty() {
                return outcome.fault(Kind::Broken, lines(&faults));
            }
            if let Err(how) = reads_back(after) {
                return outcome.fault(Kind::Text, how);
            }
        }
        if let Err(how) = self.is_same_again(before, options, after.as_ref()) {
            return outcome.fault(Kind::NotDeterministic, how);
        }
        let Some(after) = after else { return outcome };
        if equal(before, &after).is_ok() {
            return outcome.fault(Kind::FalseChange, "it says that it changed the module, and nothing differs");
        }
        outcome.is_changed = true;
        let (old, new) = (n_bindings(before), n_bindings(&after));
        if new > 16 * old + 64 {
            return outcome.fault(Kind::Growth, format!("{old} bindings became {new}"));
        }
        // Wild modules contradict themselves, so that passes may set them right.
        if !matches!(source, Source::Wild(_)) {
            outcome = self.compare(before, &after, options, outcome);
        }
        if self.pass.level == Level::SEQUENTIAL {
            // A later member may give an earlier one work.
            return outcome;
        }
        match self.run_once(&after, options) {
            Err(error) => outcome.fault(Kind::NotIdempotent, format!("the second run fails: {}", message(&error))),
            Ok(Some(again)) => match equal(&after, &again) {
                Err(difference) => outcome.fault(Kind::NotIdempotent, difference),
                Ok(()) => outcome,
            },
            Ok(None) => outcome,
        }
    }

    /// Whether the module looks the same from outside, and computes the same.
    fn compare(&self, before: &IRModule, after: &IRModule, options: &Value, mut outcome: CaseOutcome) -> CaseOutcome {
        let compute: &dyn Compute = self.bench;
        match same_interface(before, after) {
            Err(_) if before.main().is_none() || self.bench.changes_interface(&self.pass.name, options) => {}
            Err(how) => outcome = outcome.fault(Kind::Interface, how),
            Ok(()) => match same_numbers(before, after, self.settings.tolerance, compute) {
                Ok(Judgement::Same) => outcome.is_compared = true,
                Ok(Judgement::NotEvaluated { what, why }) => outcome.not_evaluated = Some((what, why)),
                Err(differ) if !differ.is_fault_of_after => {}
                Err(differ) if differ.is_special => outcome = outcome.fault(Kind::SpecialNumbers, differ.how),
                Err(differ) => outcome = outcome.fault(Kind::Numbers, differ.how),
            },
        }
        outcome
    }

    /// Whether other runs are as slow: a single slow run may have had another cause.
    fn is_slow(&self, before: &IRModule, options: &Value, budget: Duration) -> bool {
        (0..2).all(|_| {
            let start = Instant::now();
            // The result is checked elsewhere.
            let _ = self.run_once(before, options);
            start.elapsed() > budget
        })
    }

    /// Whether the pass does the same when it runs again, and on several threads at once.
    fn is_same_again(&self, before: &IRModule, options: &Value, after: Option<&IRModule>) -> Result<(), String> {
        let expected = after.map(printed);
        let check = |again: Result<Option<IRModule>, PassError>, when: &str| match again {
            Err(error) => Err(format!("{when} it fails: {}", message(&error))),
            Ok(again) => match (&expected, again.as_ref().map(printed)) {
                (expected, again) if *expected == again => Ok(()),
                (Some(expected), Some(again)) => {
                    let mut pairs = expected.lines().zip(again.lines());
                    let (a, b) = pairs.find(|(a, b)| a != b).unwrap_or(("…", "nothing more"));
                    Err(format!("{when} `{}` is `{}`", a.trim(), b.trim()))
                }
                (Some(_), None) => Err(format!("{when} it changes nothing")),
                (None, _) => Err(format!("{when} it changes the module")),
            },
        };
        for _ in 0..2 {
            check(self.run_once(before, options), "in another run")?;
        }
        let runs: Vec<_> = thread::scope(|scope| {
            let one = || self.run_once(before, options);
            let threads: Vec<_> = (0..N_THREADS).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        runs.into_iter().flatten().try_for_each(|run| check(run, "beside other threads"))
    }
}

/// Tests one instrument: it watches a pass that does nothing, with all its options.
pub fn judge_instrument(
    bench: &dyn Bench,
    settings: &Settings,
    log: &dyn Log,
    name: &str,
    options: &[super::bench::Knob],
) -> Judged {
    let subject = format!("instrument {name}");
    let start = Instant::now();
    let mut judged = Judged { subject: subject.clone(), ..Judged::default() };
    let mut random = Random::of(settings.seed, name, 0);
    let modules: Vec<IRModule> = (0..8).map(|at| generate::wild(&random.bytes(8 + 32 * at))).collect();
    let mut found = BTreeSet::new();
    for options in knobs::legal(options, &mut random) {
        log.case(&subject, &shown(&options), "");
        let result = bench.watch(name, &options, &modules);
        if result.as_ref().is_err_and(|error| is_refused(error, &options)) {
            continue;
        }
        judged.n_cases += modules.len();
        let Err(error) = result else { continue };
        judged.n_errors += 1;
        let kind = if error.is_panic() { Kind::Panic } else { Kind::NotMade };
        if found.insert(kind) {
            let (subject, options) = (subject.clone(), shown(&options));
            log.finding(&Finding { subject, kind, message: message(&error), options, module: String::new() });
        }
    }
    if judged.n_cases == 0 {
        judged.not_judged = Some(not_judged(options));
    }
    Judged { time: start.elapsed(), ..judged }
}

/// Whether made-up options are refused by the check of the author. The defaults must be accepted.
fn is_refused(error: &PassError, options: &Value) -> bool {
    error.rec().kind == error_kind::OPTIONS && *options != Value::Struct(Vec::new())
}

/// Why there are no options to run with.
fn not_judged(options: &[Knob]) -> String {
    match knobs::not_made_up(options) {
        Some(knob) => format!("option `{}` must be given, and is not made up", knob.name),
        None => "it refuses all options that were made up".into(),
    }
}

fn reads_back(module: &IRModule) -> Result<(), String> {
    let text = printed(module);
    let read = text::parse_str(&text).map_err(|errors| lines(&errors))?;
    equal(module, &read).map_err(|difference| difference.to_string())
}

fn n_bindings(module: &IRModule) -> usize {
    module.functions().map(|(_, f)| f.all_bindings().count()).sum()
}

pub(super) fn printed(module: &IRModule) -> String {
    text::print(module, &PrintOptions::default())
}

pub(super) fn shown(options: &Value) -> String {
    match options {
        Value::Struct(entries) if entries.is_empty() => String::new(),
        options => options.to_string(),
    }
}

pub(super) fn message(error: &PassError) -> String {
    error.to_string()
}

fn lines(items: &[impl std::fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            bench::{KnobKind, OpShape, Passes},
            journal::Memory,
        },
        *,
    };
    use relais_plugin_api::{infer::Operators, pass::Requirement};

    #[test]
    fn what_matters_is_left() {
        let bytes: Vec<u8> = (0..200).collect();
        let mut smaller = Smaller::new(&bytes);
        let mut n = 0;
        while let Some(candidate) = smaller.candidate() {
            smaller.settle(candidate.contains(&7) && candidate.contains(&150));
            n += 1;
        }
        assert_eq!(smaller.best, [7, 150]);
        assert!(n < 400, "{n}");
    }

    /// A pass that does nothing, and refuses options in which `least` exceeds `most`.
    #[derive(Default)]
    struct Bounds {
        options: Vec<Knob>,
        /// The default of `least`.
        least: i64,
        rules: &'static str,
        samples: Vec<(String, String)>,
    }

    impl Compute for Bounds {
        fn with_ops(&self, _: &Function, _: &mut dyn FnMut(&mut dyn Operators)) {}
    }

    impl Passes for Bounds {
        fn required(&self, _: &str) -> Result<Vec<Requirement>, PassError> {
            Ok(Vec::new())
        }

        fn make(&self, _: &str, options: &Value) -> Result<(), PassError> {
            let number = |name: &str, default: i64| match options.get(name) {
                Some(Value::Int(value)) => *value,
                _ => default,
            };
            match number("least", self.least) > number("most", 5) {
                true => Err(PassError::with_kind(error_kind::OPTIONS, "not in order")),
                false => Ok(()),
            }
        }

        fn run(&self, _: &str, _: &Value, _: &IRModule) -> Result<Option<IRModule>, PassError> {
            Ok(None)
        }
    }

    impl Bench for Bounds {
        fn passes(&self) -> Vec<PassShape> {
            let options = self.options.clone();
            vec![PassShape {
                name: "a.B".into(),
                level: Level::MODULE,
                before: vec![],
                ops: vec![],
                options,
                rules: self.rules.to_owned(),
                samples: self.samples.clone(),
            }]
        }

        fn operators(&self) -> Vec<OpShape> {
            Vec::new()
        }

        fn checks_options(&self) -> Checks {
            Checks::Nobody
        }
    }

    /// The findings about a pass with these options, and what is said about it.
    fn judged(options: Vec<Knob>) -> (Vec<Kind>, String) {
        judged_from(0, options)
    }

    fn judged_from(least: i64, options: Vec<Knob>) -> (Vec<Kind>, String) {
        let (bench, log) = (Bounds { options, least, ..Bounds::default() }, Memory::new());
        let settings = Settings { n_modules: 2, ..Settings::default() };
        let judged = judge_pass(&bench, &settings, &log, &bench.passes()[0]);
        (log.with(|kept| kept.findings.iter().map(|finding| finding.kind).collect()), judged.to_string())
    }

    fn bound(name: &str, (least, most): (i64, i64), default: Option<i64>) -> Knob {
        let kind = KnobKind::Int(least, most);
        Knob { name: name.into(), kind, default: default.map(Value::Int), is_optional: false }
    }

    #[test]
    fn options_that_are_refused_together_are_no_finding() {
        let (kinds, told) = judged(vec![bound("least", (0, 9), Some(0)), bound("most", (0, 9), Some(5))]);
        assert!(kinds.is_empty() && told.starts_with("pass a.B: ") && !told.contains("not judged"), "{kinds:?} {told}");
        assert_eq!(judged_from(6, Vec::new()).0, [Kind::NotMade], "the defaults go together");
        assert_eq!(
            judged(vec![bound("least", (6, 9), None)]),
            (vec![], "pass a.B: not judged: it refuses all options that were made up".into())
        );
    }

    #[test]
    fn a_rule_with_a_function_is_judged_on_samples_that_are_modules() {
        let judged = |samples: &[&str]| {
            let samples = samples.iter().map(|&module| ("a".to_owned(), module.to_owned())).collect();
            let rules = "a: t::Neg(x) => x if holds(x)";
            let (bench, log) = (Bounds { rules, samples, ..Bounds::default() }, Memory::new());
            let settings = Settings { n_modules: 0, ..Settings::default() };
            judge_pass(&bench, &settings, &log, &bench.passes()[0])
        };
        let module = "def @main(%x) { t::Neg(%x) }";
        let good = judged(&[module, module]);
        assert_eq!((good.n_cases, good.rules_not_judged.len(), good.silent.first()), (2, 0, Some(&"`a`".to_owned())));
        let why = |samples: &[&str]| judged(samples).rules_not_judged.concat();
        assert_eq!(why(&[]), "`a` (its condition `holds` is a function, and it has no samples)");
        assert!(why(&[module, "def @main("]).starts_with("`a` (its sample 2 is not a module: "), "{}", why(&["def"]));
    }

    #[test]
    fn a_pass_that_must_be_given_a_path_is_not_judged() {
        let path = |is_optional| {
            let kind = KnobKind::Path;
            Knob { name: "file".into(), kind, default: None, is_optional }
        };
        let told = "pass a.B: not judged: option `file` must be given, and is not made up";
        assert_eq!(judged(vec![path(false)]), (vec![], told.into()));
        assert!(!judged(vec![path(true)]).1.contains("not judged"));
    }
}
