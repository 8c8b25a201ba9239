//! Trying instruments.

use super::{check_options, parse};
use crate::{
    boundary::{
        instrument::PassInfoRec,
        local::{self, LocalInstrument},
        record::Level,
    },
    diagnostics::PassError,
    instrument::SkipKind,
    ir::IRModule,
    options::Value,
};
use abi_stable::std_types::RSlice;
use std::{cell::RefCell, sync::Once};

/// An instrument of this crate that is to be tried: it watches passes that are made up, each of which leaves the module
/// that the test says.
///
/// ```
/// use relais_plugin_api::{prelude::*, testing::Watch};
///
/// #[derive(PassOptions)]
/// struct Limit {
///     /// The most functions that a pass may leave.
///     #[option(default = 1)]
///     functions: usize,
/// }
///
/// struct Few(Limit);
///
/// /// Keeps modules small.
/// #[instrument(name = "acme.Few")]
/// impl Instrument for Few {
///     type Options = Limit;
///
///     fn new(options: Limit) -> Result<Self, PassError> {
///         Ok(Self(options))
///     }
///
///     fn after(&self, module: &IRModule, pass: &PassInfo<'_>, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
///         let n = module.functions().count();
///         cx.info(format_args!("{n} after `{}`", pass.name));
///         if n > self.0.functions { Err("too many functions".into()) } else { Ok(()) }
///     }
/// }
///
/// # fn main() -> Result<(), PassError> {
/// let one = "def @main(%x) { %x }";
/// let two = "def @main(%x) { %x } def @other(%x) { %x }";
/// let seen = Watch::of("acme.Few").option("functions", 2).pass("acme.Split", two).run(one)?;
/// assert_eq!(seen.ran, ["acme.Split"]);
/// assert_eq!(seen.logged, ["info: acme.Few: 2 after `acme.Split`"]);
/// let error = Watch::of("acme.Few").pass("acme.Split", two).run(one).unwrap_err();
/// assert_eq!(error.to_string(), "too many functions");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Watch {
    instrument: String,
    options: Vec<(String, Value)>,
    config: Vec<(String, Value)>,
    passes: Vec<MadeUp>,
}

/// The outcome of an instrument.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Watched {
    /// The passes that it let run, by name.
    pub ran: Vec<String>,
    /// The passes that it kept from running.
    pub vetoed: Vec<String>,
    /// Its log messages, `info: acme.Few: …`, unless the test has set a logger of its own.
    pub logged: Vec<String>,
}

#[derive(Clone, Debug)]
struct MadeUp {
    name: String,
    end: End,
}

#[derive(Clone, Debug)]
enum End {
    Leaves(String),
    Fails(String),
}

impl Watch {
    /// An instrument by its name, with its default options.
    pub fn of(instrument: &str) -> Self {
        let (options, config, passes) = (Vec::new(), Vec::new(), Vec::new());
        Self { instrument: instrument.to_owned(), options, config, passes }
    }

    /// The same with an option.
    pub fn option(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.options.push((name.to_owned(), value.into()));
        self
    }

    /// The same with an option of the context.
    pub fn config(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.config.push((key.to_owned(), value.into()));
        self
    }

    /// Then a pass of this name runs and leaves this module, in text form.
    pub fn pass(mut self, name: &str, leaves: &str) -> Self {
        self.passes.push(MadeUp { name: name.to_owned(), end: End::Leaves(leaves.to_owned()) });
        self
    }

    /// Then a pass of this name fails.
    pub fn failing_pass(mut self, name: &str, message: &str) -> Self {
        self.passes.push(MadeUp { name: name.to_owned(), end: End::Fails(message.to_owned()) });
        self
    }

    /// Lets it watch the passes, which begin with this module. Hooks are called as by a host: each pass is asked about,
    /// a veto keeps it from running, and `exit` is called on every path except after a failing `enter`.
    ///
    /// # Errors
    /// Returns an error if the instrument cannot be made, or a hook fails.
    ///
    /// # Panics
    /// With the reason, when a text is at fault.
    pub fn run(&self, text: &str) -> Result<Watched, PassError> {
        let Self { instrument, options, config, .. } = self;
        let info = local::instrument_info(instrument);
        check_options(instrument, info.map_or(&[], |info| info.options), options)?;
        record();
        let watching = local::instrument(instrument, &Value::Struct(options.clone()), config)?;
        watching.hook(|it, call| it.enter(call)).into_result()?;
        let mut seen = Watched::default();
        let end = self.watch(&watching, parse(text), &mut seen);
        let exit = watching.hook(|it, call| it.exit(call)).into_result();
        seen.logged = recorded();
        end.and(exit).map(|()| seen)
    }

    fn watch(&self, watching: &LocalInstrument, mut module: IRModule, seen: &mut Watched) -> Result<(), PassError> {
        for MadeUp { name, end } in &self.passes {
            let pass = PassInfoRec {
                name: name.as_str().into(),
                plugin: "made-up".into(),
                level: Level::MODULE.0,
                opt_level: 0,
                required: RSlice::from_slice(&[]),
            };
            if watching.hook(|it, call| it.should_run(call, &module, &pass)).into_result()? == 0 {
                let skipped = watching
                    .hook(|it, call| it.skipped(call, &module, &pass, SkipKind::VETOED, "an instrument said no"));
                skipped.into_result()?;
                seen.vetoed.push(name.clone());
                continue;
            }
            watching.hook(|it, call| it.before(call, &module, &pass)).into_result()?;
            match end {
                End::Leaves(text) => {
                    module = parse(text);
                    watching.hook(|it, call| it.after(call, &module, &pass)).into_result()?;
                }
                End::Fails(message) => {
                    let error = PassError::new(message);
                    watching.hook(|it, call| it.failed(call, &pass, &error)).into_result()?;
                }
            }
            seen.ran.push(name.clone());
        }
        Ok(())
    }
}

thread_local! {
    /// The log messages of this thread since recording began.
    static LOGGED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

struct Recorder;

impl log::Log for Recorder {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = || format!("{}: {}", record.level().as_str().to_lowercase(), record.args());
        LOGGED.with_borrow_mut(|logged| logged.as_mut().map(|logged| logged.push(line())));
    }

    fn flush(&self) {}
}

fn record() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // A test that has a logger keeps it.
        if log::set_logger(&Recorder).is_ok() {
            log::set_max_level(log::LevelFilter::Trace);
        }
    });
    LOGGED.set(Some(Vec::new()));
}

fn recorded() -> Vec<String> {
    LOGGED.take().unwrap_or_default()
}
