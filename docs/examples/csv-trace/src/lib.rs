//! An instrument that writes a line of CSV for each pass that runs.

use relais_plugin_api::{instrument::Findings, prelude::*};
use std::{
    fmt::Write as _,
    fs,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

plugin! { description = "writes what each pass did into a table" }

/// Options of [`Trace`].
#[derive(PassOptions)]
pub struct Options {
    /// The file for the table. If it is empty, the table is shown after the run.
    #[option(default = "")]
    path: String,
    /// Whether the table has times; without them, two runs on a model give the same table.
    #[option(default = true)]
    seconds: bool,
}

pub struct Trace {
    options: Options,
    /// Hooks may be called from different threads.
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    /// The passes that run: a pass may run others.
    open: Vec<Open>,
    lines: String,
}

/// A pass that runs.
struct Open {
    before: usize,
    took: Option<Duration>,
}

impl Trace {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn table(&self) -> String {
        let header = if self.options.seconds { "pass,before,after,seconds" } else { "pass,before,after" };
        format!("{header}\n{}", self.log().lines)
    }

    /// Adds the line of the innermost pass; `after` is empty if it failed.
    fn close(&self, pass: &PassInfo<'_>, after: &str) {
        let mut log = self.log();
        let Some(Open { before, took }) = log.open.pop() else { return };
        // Writing to a string does not fail.
        let _ = write!(log.lines, "{},{before},{after}", pass.name);
        if self.options.seconds {
            let seconds = took.map_or_else(String::new, |took| format!("{:.6}", took.as_secs_f64()));
            let _ = write!(log.lines, ",{seconds}");
        }
        log.lines.push('\n');
    }
}

/// Writes a line of CSV for each pass that runs: its name, the bindings of the module before and after, and the
/// seconds that it took by itself.
///
/// A pass that runs others comes after them. If a pass fails, the number of bindings after it is left out.
#[instrument(name = "trace.Csv")]
impl Instrument for Trace {
    type Options = Options;

    fn new(options: Options) -> Result<Self, PassError> {
        Ok(Self { options, log: Mutex::default() })
    }

    fn before(&self, module: &IRModule, _: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        self.log().open.push(Open { before: n_bindings(module), took: None });
        Ok(())
    }

    fn took(&self, _: &PassInfo<'_>, duration: Duration, _: &InstrumentCx<'_>) {
        if let Some(open) = self.log().open.last_mut() {
            open.took = Some(duration);
        }
    }

    fn after(&self, module: &IRModule, pass: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        self.close(pass, &n_bindings(module).to_string());
        Ok(())
    }

    fn failed(&self, pass: &PassInfo<'_>, _: &PassError, _: &InstrumentCx<'_>) {
        self.close(pass, "");
    }

    fn exit(&self, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        let path = &self.options.path;
        if !path.is_empty()
            && let Err(error) = fs::write(path, self.table())
        {
            // The model does not depend on its trace.
            cx.error(format_args!("`{path}` cannot be written: {error}"));
        }
        Ok(())
    }

    fn findings(&self, _: &InstrumentCx<'_>) -> Option<Findings> {
        let is_shown = self.options.path.is_empty();
        is_shown.then(|| Findings { text: self.table(), data: Value::Str(self.table()) })
    }
}

/// The bindings of all functions, those in branches and loops too.
fn n_bindings(module: &IRModule) -> usize {
    module.functions().map(|(_, f)| f.all_bindings().count()).sum()
}

#[cfg(test)]
mod tests {
    use relais_plugin_api::testing::Watch;
    use std::fs;

    const LARGE: &str = "def @main(%x) { %a = Relu(%x); %b = Relu(%a); %b }";
    const SMALL: &str = "def @main(%x) { %a = Relu(%x); %a }";

    /// The table of these passes.
    fn table(name: &str, seconds: bool, passes: impl FnOnce(Watch) -> Watch) -> String {
        let path = std::env::temp_dir().join(format!("csv-trace-{name}-{}.csv", std::process::id()));
        let watch = Watch::of("trace.Csv").option("path", path.to_str().unwrap()).option("seconds", seconds);
        passes(watch).run(LARGE).unwrap();
        let table = fs::read_to_string(&path).unwrap();
        fs::remove_file(path).unwrap();
        table
    }

    #[test]
    fn each_pass_has_a_line() {
        let passes = |watch: Watch| watch.pass("acme.Same", LARGE).pass("acme.Shrink", SMALL);
        assert_eq!(table("lines", false, passes), "pass,before,after\nacme.Same,2,2\nacme.Shrink,2,1\n");
        // Nobody measures how long a made-up pass takes.
        let passes = |watch: Watch| watch.pass("acme.Shrink", SMALL);
        assert_eq!(table("seconds", true, passes), "pass,before,after,seconds\nacme.Shrink,2,1,\n");
    }

    #[test]
    fn a_pass_that_fails_has_one_too() {
        let passes = |watch: Watch| watch.failing_pass("acme.Fails", "it cannot").pass("acme.Shrink", SMALL);
        assert_eq!(table("fails", false, passes), "pass,before,after\nacme.Fails,2,\nacme.Shrink,2,1\n");
        assert_eq!(table("none", false, |watch| watch), "pass,before,after\n");
    }

    #[test]
    fn a_table_that_cannot_be_written_does_not_fail_the_run() {
        let watch = Watch::of("trace.Csv").option("path", "/no/such/folder/table.csv").pass("acme.Same", LARGE);
        let seen = watch.run(LARGE).unwrap();
        assert!(seen.logged[0].contains("`/no/such/folder/table.csv` cannot be written"), "{:?}", seen.logged);
    }
}
