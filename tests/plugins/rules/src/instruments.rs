//! Instruments that watch passes.

use relais_plugin_api::{
    context::PassContext,
    instrument::{Findings, Said, SkipKind, Skipped, TimeLimit},
    prelude::*,
};
use std::{
    fs::OpenOptions,
    io::Write,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

#[derive(Default)]
struct Counter(AtomicUsize);

/// Counts the passes that ran.
///
/// Says how many they were when its context is left.
#[instrument(name = "acme.Counter")]
impl Instrument for Counter {
    fn after(&self, _: &IRModule, _: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn exit(&self, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        cx.warn(format_args!("{} passes ran", self.0.load(Ordering::Relaxed)));
        Ok(())
    }
}

/// Where something fails.
#[derive(PassOptions, PartialEq)]
enum Hook {
    /// Nowhere.
    Never,
    /// When it is made.
    New,
    /// In the hook of that name.
    Enter,
    /// In the hook of that name.
    Exit,
    /// In the hook of that name.
    ShouldRun,
    /// In the hook of that name.
    Before,
    /// In the hook of that name.
    After,
    /// In the hook of that name.
    Skipped,
    /// In the hook of that name.
    Failed,
    /// When it is dropped.
    Drop,
}

/// How something fails.
#[derive(PassOptions)]
enum How {
    /// With an error.
    Error,
    /// With a panic.
    Panic,
}

/// Options of [`Scribe`].
#[derive(PassOptions)]
struct Options {
    /// The file that it writes to.
    path: String,
    /// Passes that it does not let run.
    #[option(default = [])]
    vetoes: Vec<String>,
    /// Where it fails.
    #[option(default = "never")]
    fails_at: Hook,
    /// How it fails.
    #[option(default = "error")]
    how: How,
}

struct Scribe(Options);

impl Scribe {
    fn hook(&self, hook: Hook, line: &str) -> Result<(), PassError> {
        let file = OpenOptions::new().create(true).append(true).open(&self.0.path);
        let mut file = file.map_err(|error| PassError::new(format_args!("`{}`: {error}", self.0.path)))?;
        writeln!(file, "{line}").map_err(PassError::new)?;
        match self.0.how {
            _ if hook != self.0.fails_at => Ok(()),
            How::Error => Err(PassError::new("told to fail").code("told").help("tell it otherwise")),
            How::Panic => panic!("told to panic"),
        }
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        assert!(self.0.fails_at != Hook::Drop, "told to panic");
    }
}

/// Writes down what it is told.
#[instrument(name = "acme.Scribe")]
impl Instrument for Scribe {
    type Options = Options;

    fn new(options: Options) -> Result<Self, PassError> {
        let made = Self(options);
        made.hook(Hook::New, "new")?;
        Ok(made)
    }

    fn enter(&self, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        self.hook(Hook::Enter, &format!("{} enter, level {}", cx.name(), cx.context().opt_level()))
    }

    fn exit(&self, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        self.hook(Hook::Exit, &format!("exit, level {}", cx.context().opt_level()))
    }

    fn should_run(&self, _: &IRModule, pass: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<bool, PassError> {
        let short = pass.name.rsplit('.').next().unwrap_or(pass.name);
        let is_vetoed = self.0.vetoes.iter().any(|name| name == short);
        self.hook(Hook::ShouldRun, &format!("should_run {short}"))?;
        Ok(!is_vetoed)
    }

    fn before(&self, module: &IRModule, pass: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        let PassInfo { name, plugin, level, opt_level, required, .. } = pass;
        let kind = level.name();
        let n_globals = module.globals().len();
        let context = PassContext::current().opt_level();
        self.hook(
            Hook::Before,
            &format!(
                "before {name} of {plugin:?}, {kind}, {opt_level}, {required:?}, {n_globals} global, level {context}"
            ),
        )
    }

    fn after(&self, _: &IRModule, pass: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        self.hook(Hook::After, &format!("after {}", pass.name))
    }

    fn skipped(&self, _: &IRModule, pass: &PassInfo<'_>, reason: &Skipped<'_>, _: &InstrumentCx<'_>) {
        let is_veto = if reason.kind == SkipKind::VETOED { "vetoed" } else { "other" };
        self.hook(Hook::Skipped, &format!("skipped {}: {reason} ({is_veto})", pass.name)).unwrap();
    }

    fn failed(&self, pass: &PassInfo<'_>, error: &PassError, _: &InstrumentCx<'_>) {
        self.hook(Hook::Failed, &format!("failed {}: {error}", pass.name)).unwrap();
    }
}

/// Options of [`Reviewer`].
#[derive(PassOptions)]
struct ReviewerOptions {
    /// An operator whose calls no pass may leave behind; none by default.
    #[option(default = "")]
    refused: String,
    /// The passes to which it gives no time.
    #[option(default = "")]
    hurried: String,
    /// The hook in which it panics.
    #[option(default = "")]
    panics: String,
}

/// Reviews what passes do, by the hooks that tell more than beginnings and ends.
struct Reviewer {
    options: ReviewerOptions,
    seen: Mutex<Vec<String>>,
}

impl Reviewer {
    fn see(&self, hook: &str, what: String) {
        assert!(self.options.panics != hook, "told to panic");
        self.seen.lock().unwrap().push(format!("{hook} {what}"));
    }
}

#[instrument(name = "acme.Reviewer")]
impl Instrument for Reviewer {
    type Options = ReviewerOptions;

    fn new(options: ReviewerOptions) -> Result<Self, PassError> {
        Ok(Self { options, seen: Mutex::default() })
    }

    fn counted(&self, pass: &PassInfo<'_>, statistic: &str, n: u64, _: &InstrumentCx<'_>) {
        self.see("counted", format!("{} {statistic} {n}", pass.name));
    }

    fn said(&self, pass: &PassInfo<'_>, said: &Said<'_>, _: &InstrumentCx<'_>) {
        let rec = said.diagnostic.rec();
        let line = said.line.unwrap_or("nothing");
        self.see("said", format!("{} {} about {line}", pass.name, rec.message));
    }

    fn took(&self, pass: &PassInfo<'_>, duration: Duration, _: &InstrumentCx<'_>) {
        assert!(duration < Duration::from_secs(1000));
        self.see("took", pass.name.to_owned());
    }

    fn accept(&self, module: &IRModule, pass: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        self.see("accept", pass.name.to_owned());
        let is_refused = |f: &Function, id| f.call(id).is_some_and(|call| call.op_name() == self.options.refused);
        let mut calls = module.functions().flat_map(|(_, f)| f.all_bindings().map(move |id| (f, id)));
        match calls.any(|(f, id)| is_refused(f, id)) {
            true => Err(PassError::new(format_args!("`{}` is left", self.options.refused))),
            false => Ok(()),
        }
    }

    fn findings(&self, _: &InstrumentCx<'_>) -> Option<Findings> {
        assert!(self.options.panics != "findings", "told to panic");
        let seen = self.seen.lock().unwrap();
        let data = seen.iter().map(|line| Value::Str(line.clone())).collect();
        let data = Value::Struct(vec![("seen".into(), Value::List(data)), ("half".into(), Value::Float(0.5))]);
        Some(Findings { text: seen.iter().map(|line| format!("{line}\n")).collect(), data })
    }

    fn wants_remarks(&self) -> bool {
        true
    }

    fn time_limit(&self, pass: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Option<TimeLimit> {
        let message = "was hurried".to_owned();
        (pass.name == self.options.hurried).then_some(TimeLimit { duration: Duration::ZERO, message })
    }
}
