//! The conformance kit: tests passes and operators on random modules, with random options.
//!
//! In an author's crate it is one line of a test, and this crate among the development dependencies, in the version of
//! `relais-plugin-api`:
//!
//! ```no_run
//! // #[test]
//! fn everything_keeps_the_rules() {
//!     relais_conformance::check_all();
//! }
//! ```
//!
//! Each pass is tested on each module, with options at their defaults, bounds, choices and at random: does it panic,
//! end the process, hang, take too long; is its result valid, parsed again from text, the same on every run and on
//! several threads; does it report correctly whether it changed something; does it leave its input alone; does it keep
//! the inputs and outputs, and the results of the module; does it change its own result again. Each operator is tested:
//! do its type relation and its evaluator accept everything that a model may contain, and agree with each other.
//! [`Kind`] lists the faults.
//!
//! The rules of a pass of rules are tested on instances of their left sides, with types, shapes, attributes and constants
//! of all kinds. The report names the passes and rules that never applied.
//!
//! Operators without a linked evaluator cannot be computed; the report names them. `relais plugin test` runs the same kit
//! on a built plugin, beside all others.
//!
//! A finding comes with the smallest module of its kind that was found, as text, and with the seed that reproduces it:
//!
//! ```no_run
//! use relais_conformance::{Kind, Kit};
//!
//! Kit::new()
//!     .seed(7)
//!     .modules(500)
//!     .module("def @main(%x: Tensor[(2), float32]) { %a = Relu(%x); %b = Relu(%a); %b }")
//!     .allow(Kind::NotIdempotent)
//!     .check("acme.ReluRelu");
//! ```
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `random`: random numbers that are the same everywhere
//! 2. `asked`: what the conditions of a rule ask for
//! 3. `bench`: the items under test, and where they run: linked into this program, or loaded by a host
//! 4. `numbers`: whether two modules compute the same, on seeded values
//! 5. `check`: running a module, to compare it with another
//! 6. `interface`: the interface that users of a model rely on
//! 7. `diff`: where two modules differ, whatever the names and the order of what is inside them
//! 8. `report`: the findings of the kit
//! 9. `outcome`: the outcome of a filetest
//! 10. `journal`: the messages of the kit, and a file of them
//! 11. `program`: starting other programs
//! 12. `supervise`: tests in a process of their own
//! 13. `filetest`: filetests: a pass on text, and the properties of every pass on every text
//! 14. `generate`: random modules of the kind that exporters write
//! 15. `instances`: modules on which a rule applies
//! 16. `knobs`: values of options to try, from the schema of a pass
//! 17. `nests`: random loop programs
//! 18. `judge`: testing passes
//! 19. `operator`: testing operators
//! 20. `rules`: judging a single rule by instances of its left side

mod asked;
pub mod bench;
pub mod check;
pub mod diff;
#[cfg(feature = "filetest")]
pub mod filetest;
mod generate;
mod instances;
pub mod interface;
mod journal;
mod judge;
mod knobs;
mod nests;
pub mod numbers;
mod operator;
#[cfg(feature = "filetest")]
mod outcome;
pub mod program;
mod random;
mod report;
mod rules;
mod supervise;

pub use generate::{sensible_modules, wild_modules};
pub use journal::Log;
pub use nests::loop_programs;
pub use relais_plugin_api::interpret;
pub use report::{Finding, Judged, Kind, KitReport};
pub use rules::{Verdict, judge_rule};

use bench::{Bench, LinkedItems};
use journal::{Entry, Journal, Memory};
use relais_plugin_api::{boundary::local, text};
use std::{env, ffi::OsString, io, panic::Location, process, sync::Arc, thread, time::Duration};
use supervise::Share;

/// Tests everything that is linked into this program: all passes and operators of the crate, in a test of it.
///
/// # Panics
/// With the report, when something is wrong.
#[track_caller]
pub fn check_all() {
    Kit::new().check_all();
}

/// Tests one pass that is linked into this program, by its full name.
///
/// # Panics
/// With the report, when something is wrong.
#[track_caller]
pub fn check(pass: &str) {
    Kit::new().check(pass);
}

/// The settings of a run of the kit.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The seed of the modules and options.
    pub seed: u64,
    /// How many random modules each pass is given.
    pub n_modules: usize,
    /// The time that a pass may take for each binding of a module.
    pub time_per_node: Duration,
    /// After how long a silence something hangs.
    pub deadline: Duration,
    /// How far floats may be apart, relative to their size.
    pub tolerance: f64,
    /// The kinds of findings that are allowed.
    pub allowed: Vec<Kind>,
    /// The options that keep their defaults, as `acme.Pass.option`.
    pub kept: Vec<String>,
    /// Modules as text, to be tried beside random ones.
    pub modules: Vec<String>,
    /// The items to test, by full name; all of them if empty.
    pub only: Vec<String>,
    /// Whether a pass or a rule that never applied is a finding.
    pub is_strict: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            n_modules: 256,
            time_per_node: Duration::from_millis(2),
            deadline: Duration::from_secs(20),
            tolerance: 1e-4,
            allowed: Vec::new(),
            kept: Vec::new(),
            modules: Vec::new(),
            only: Vec::new(),
            is_strict: false,
        }
    }
}

/// The kit, with settings of one's own.
#[derive(Clone, Debug, Default)]
pub struct Kit {
    settings: Settings,
}

impl Kit {
    /// The kit with the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// The kit with these settings.
    pub fn with(settings: Settings) -> Self {
        Self { settings }
    }

    /// The same with another seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// The same with that many random modules for each pass.
    pub fn modules(mut self, n: usize) -> Self {
        self.settings.n_modules = n;
        self
    }

    /// The same with a module of the author's own, in addition to random ones.
    pub fn module(mut self, text: &str) -> Self {
        self.settings.modules.push(text.to_owned());
        self
    }

    /// The same with something that may be wrong.
    pub fn allow(mut self, kind: Kind) -> Self {
        self.settings.allowed.push(kind);
        self
    }

    /// The same, but a pass or a rule that never applied is a finding.
    pub fn strict(mut self) -> Self {
        self.settings.is_strict = true;
        self
    }

    /// The same with an option that keeps its default, given as `acme.Pass.option`: one whose purpose is to change the
    /// results of modules.
    pub fn keep(mut self, option: &str) -> Self {
        self.settings.kept.push(option.to_owned());
        self
    }

    /// The same with another time limit for each binding of a module.
    pub fn time_per_node(mut self, time: Duration) -> Self {
        self.settings.time_per_node = time;
        self
    }

    /// The same with another time after which something hangs.
    pub fn deadline(mut self, time: Duration) -> Self {
        self.settings.deadline = time;
        self
    }

    /// The same with another tolerance of floats, relative to their size.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.settings.tolerance = tolerance;
        self
    }

    /// Judges everything that is linked into this program.
    ///
    /// # Panics
    /// Panics with the report, if something is wrong, or there is nothing to test.
    #[track_caller]
    pub fn check_all(self) {
        self.check_linked(Location::caller());
    }

    /// Tests one pass or operator that is linked into this program, by its full name.
    ///
    /// # Panics
    /// Panics with the report, if something is wrong, or it does not exist.
    #[track_caller]
    pub fn check(mut self, name: &str) {
        self.settings.only.push(name.to_owned());
        self.check_linked(Location::caller());
    }

    /// Tests in separate processes, which are this program with `arguments`: [`judges`](Self::judges) recognises them.
    ///
    /// # Errors
    /// Returns an error if no process can be started, or it ends before it begins to test.
    pub fn supervise(&self, arguments: &[OsString]) -> io::Result<KitReport> {
        self.supervise_check("", arguments)
    }

    /// Tests the items on a bench, if this is a process that [`supervise`](Self::supervise) started, and ends it. It calls
    /// `first` before any code of the items runs.
    pub fn judges(&self, bench: &dyn Bench, first: impl FnOnce()) {
        self.judges_check("", bench, first);
    }

    /// Tests the items on a bench, in this process: an item that ends it, or hangs, does so.
    pub fn judge(&self, bench: &dyn Bench, log: &dyn Log) {
        self.judge_share(bench, log, Share::ALL, &[]);
    }

    fn judge_share(&self, bench: &dyn Bench, log: &dyn Log, share: Share, skip: &[String]) {
        let settings = &self.settings;
        let (passes, ops, instruments) = (bench.passes(), bench.operators(), bench.instruments());
        let passes = passes.iter().map(|pass| (format!("pass {}", pass.name), Item::Pass(pass)));
        let ops = ops.iter().filter(|op| op.is_judged());
        let ops = ops.map(|op| (format!("operator {}", op.full_name()), Item::Operator(op)));
        let instruments = instruments.iter();
        let instruments =
            instruments.map(|(name, options)| (format!("instrument {name}"), Item::Instrument(name, options)));
        let is_meant = |subject: &str| {
            let name = subject.split_once(' ').map_or(subject, |(_, name)| name);
            settings.only.is_empty() || settings.only.iter().any(|only| only == name)
        };
        let meant = passes.chain(ops).chain(instruments).filter(|(subject, _)| is_meant(subject));
        for (_, item) in share.of(meant).filter(|(subject, _)| !skip.contains(subject)) {
            log.judged(&match item {
                Item::Pass(pass) => judge::judge_pass(bench, settings, log, pass),
                Item::Operator(op) => operator::judge_operator(bench, settings, log, op),
                Item::Instrument(name, options) => judge::judge_instrument(bench, settings, log, name, options),
            });
        }
        log.end();
    }

    fn judges_check(&self, check: &str, bench: &dyn Bench, first: impl FnOnce()) {
        let Some(orders) = supervise::orders().filter(|orders| orders.check == check) else { return };
        match Journal::open(&orders.journal) {
            Ok(journal) => {
                first();
                self.judge_share(bench, &journal, orders.share, &orders.skip);
            }
            Err(error) => log::error!("`{}` cannot be written: {error}", orders.journal.display()),
        }
        process::exit(0);
    }

    fn supervise_check(&self, check: &str, arguments: &[OsString]) -> io::Result<KitReport> {
        let mut report = KitReport { seed: self.settings.seed, ..KitReport::default() };
        let n_items = Some(self.settings.only.len()).filter(|&n| n > 0);
        for entry in supervise::supervise(n_items, self.settings.deadline, check, arguments)? {
            match entry {
                Entry::Finding(finding) => report.findings.push(finding),
                Entry::Judged(judged) => report.judged.push(judged),
                _ => {}
            }
        }
        Ok(self.settle(report))
    }

    /// Separates the findings that are allowed.
    fn settle(&self, mut report: KitReport) -> KitReport {
        let is_allowed = |finding: &Finding| self.settings.allowed.contains(&finding.kind);
        let (allowed, findings) = report.findings.into_iter().partition(is_allowed);
        (report.allowed, report.findings) = (allowed, findings);
        report
    }

    #[track_caller]
    fn check_linked(&self, place: &Location<'_>) {
        let check = place.to_string();
        let faults = local::faults();
        assert!(faults.is_empty(), "hosts refuse what is linked:\n{}", faults.join("\n"));
        for module in &self.settings.modules {
            if let Err(errors) = text::parse_str(module) {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                panic!("a module of the author's own cannot be parsed:\n{}", errors.join("\n"));
            }
        }
        self.judges_check(&check, &LinkedItems, || ());
        if supervise::orders().is_some() {
            // Another check of this test runs in this process.
            return;
        }
        let thread = thread::current();
        let report = match thread.name().filter(|name| *name != "main") {
            // A test runs on a thread of its name, and can be run alone in a separate process.
            Some(test) => {
                let arguments = [test, "--exact", "--include-ignored", "--nocapture"].map(OsString::from);
                self.supervise_check(&check, &arguments).unwrap_or_else(|error| panic!("{error}"))
            }
            None => self.settle(self.judge_on_thread()),
        };
        assert!(!report.judged.is_empty() || !report.findings.is_empty(), "there is nothing to judge");
        assert!(report.is_clean(), "\n{report}");
    }

    /// Judges on a thread that is left alone when something hangs.
    fn judge_on_thread(&self) -> KitReport {
        const TICK: Duration = Duration::from_millis(10);
        let memory = Arc::new(Memory::new());
        let (kit, log) = (self.clone(), memory.clone());
        let judging = thread::spawn(move || kit.judge(&LinkedItems, &*log));
        loop {
            let (is_done, silence) = memory.with(|kept| (kept.is_done, kept.since.elapsed()));
            if is_done || judging.is_finished() || silence > self.settings.deadline {
                break;
            }
            thread::sleep(TICK);
        }
        memory.with(|kept| {
            let (mut findings, judged) = (kept.findings.clone(), kept.judged.clone());
            if !kept.is_done {
                let journal::Case { subject, options, module } = kept.case.clone();
                let message = format!("it does not come to an end within {:.0?}", self.settings.deadline);
                findings.push(Finding { subject, kind: Kind::Hangs, message, options, module });
            }
            KitReport { seed: self.settings.seed, findings, judged, allowed: Vec::new() }
        })
    }
}

/// Something that the kit tests.
enum Item<'a> {
    Pass(&'a bench::PassShape),
    Operator(&'a bench::OpShape),
    Instrument(&'a str, &'a [bench::Knob]),
}

/// Returns the task of this process, from the arguments of the program.
pub fn own_arguments() -> Vec<OsString> {
    env::args_os().skip(1).collect()
}
