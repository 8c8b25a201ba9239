//! `relais filetest`: tests passes by examples, in separate processes.

use super::{
    args::Verbosity,
    args_filetest::FiletestArgs,
    catalogue,
    terminal::{self, CliError},
};
use relais::{
    files::{self, Existing},
    plugin::{FoundPlugin, escaped},
    registry::{Choices, Linked, Registry},
};
use relais_conformance::{
    filetest::{CaseFile, CaseOutcome, Cases, Reason},
    own_arguments,
};
use relais_session::rules::Registered;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

/// A case that was run.
struct Run {
    file: CaseFile,
    outcome: CaseOutcome,
    /// The current output was written as the expectation.
    is_blessed: bool,
    /// Why it could not be written.
    not_written: Option<String>,
}

impl Run {
    fn passes(&self) -> bool {
        self.is_blessed || self.outcome.failures.is_empty()
    }
}

/// Runs filetests.
pub(crate) fn filetest(args: &FiletestArgs, verbosity: Verbosity) -> Result<(), CliError> {
    let registry = registry(args)?;
    let cases = cases(args)?;
    // A process that was started for it checks a share of the cases, and ends here.
    cases.judges(&Registered::new(&registry));
    warn_of_others(&cases);
    let outcomes = cases
        .supervise(Duration::from_secs(args.timeout.into()), &own_arguments())
        .map_err(|error| CliError::new(format!("no case can be run: {error}")))?;
    let runs = cases.files.into_iter().zip(outcomes);
    let runs: Vec<Run> = runs.map(|(file, outcome)| Run::new(file, outcome, args)).collect();
    let text = if args.json { format!("{:#}\n", json(&runs)) } else { text(&runs, verbosity) };
    terminal::print(&escaped(&text))?;
    let n_failed = runs.iter().filter(|run| !run.passes()).count();
    if n_failed == 0 {
        return Ok(());
    }
    let error = CliError::new(format!("{n_failed} of {} failed", counted(runs.len())));
    let is_expected = |run: &Run| run.outcome.failures.iter().any(|failure| failure.reason == Reason::Expected);
    match !args.bless && runs.iter().any(is_expected) {
        true => Err(error.help("`--bless` writes the current output as the expectation where nothing else is wrong")),
        false => Err(error),
    }
}

/// The cases that the arguments name.
fn cases(args: &FiletestArgs) -> Result<Cases, CliError> {
    const HELP: &str = "a case is a file `PASS/CASE.relay`, with a module and, in comments, the expected output";
    let mut cases = Cases::find(&args.paths)
        .map_err(|(path, error)| CliError::new(format!("`{}` cannot be read: {error}", path.display())).help(HELP))?;
    let n_found = cases.files.len();
    if n_found == 0 {
        warn_of_others(&cases);
        let paths: Vec<String> = args.paths.iter().map(|path| format!("`{}`", path.display())).collect();
        return Err(CliError::new(format!("there is no case in {}", paths.join(", "))).help(HELP));
    }
    cases.files.retain(|file| args.only.is_empty() || args.only.iter().any(|part| file.name.contains(part.as_str())));
    if cases.files.is_empty() {
        let parts: Vec<String> = args.only.iter().map(|part| format!("`{part}`")).collect();
        let error = format!("none of {} has {} in its path", counted(n_found), parts.join(" or "));
        return Err(CliError::new(error).help("`--only` takes a part of a path, such as the name of a pass"));
    }
    Ok(cases)
}

fn warn_of_others(cases: &Cases) {
    for other in &cases.others {
        terminal::warn(format_args!("`{}` is not run: the name of a case ends in `.relay`", other.display()));
    }
}

/// The registry of all plugins, except other builds of those that are named.
fn registry(args: &FiletestArgs) -> Result<Registry, CliError> {
    let mut found = catalogue::find(&args.plugins)?;
    let is_named = |plugin: &FoundPlugin| args.plugins.plugin.contains(&plugin.path);
    let name = |plugin: &FoundPlugin| plugin.records.plugin.name.clone();
    let named: BTreeSet<String> = found.plugins.iter().filter(|plugin| is_named(plugin)).map(name).collect();
    found.plugins.retain(|plugin| is_named(plugin) || !named.contains(&plugin.records.plugin.name));
    catalogue::with_isolated(Registry::new(found, Linked::Include, &Choices::new()))
}

impl Run {
    /// A case that was run; its expectation is written if that is wanted and nothing else is wrong.
    fn new(file: CaseFile, outcome: CaseOutcome, args: &FiletestArgs) -> Self {
        let blessed = match args.bless {
            true => file.read().ok().and_then(|case| outcome.blessed(&case)),
            false => None,
        };
        let written = blessed.map(|source| files::write(&file.path, Existing::Replace, source.as_bytes()));
        let is_blessed = matches!(written, Some(Ok(())));
        let not_written = written.and_then(Result::err).map(|error| error.to_string());
        Self { file, outcome, is_blessed, not_written }
    }
}

fn counted(n: usize) -> String {
    if n == 1 { "1 case".to_owned() } else { format!("{n} cases") }
}

fn text(runs: &[Run], verbosity: Verbosity) -> String {
    let mut out = String::new();
    for run in runs {
        let name = &run.file.name;
        match (run.is_blessed, run.outcome.failures.as_slice()) {
            (true, _) => out.push_str(&format!("{name}: blessed\n")),
            (false, []) if verbosity >= Verbosity::Verbose => out.push_str(&format!("{name}: passed\n")),
            (false, failures) => {
                failures.iter().for_each(|failure| out.push_str(&format!("{name}:{}: {failure}\n\n", failure.line)));
                run.not_written.iter().for_each(|why| out.push_str(&format!("{name}: not blessed: {why}\n\n")));
            }
        }
    }
    let [n_failed, n_blessed] =
        [|run: &Run| !run.passes(), |run: &Run| run.is_blessed].map(|is| runs.iter().filter(|run| is(run)).count());
    if verbosity > Verbosity::Quiet {
        out.push_str(&format!("{}: {} passed", counted(runs.len()), runs.len() - n_failed - n_blessed));
        let more = [(n_blessed, "blessed"), (n_failed, "failed")].into_iter().filter(|(n, _)| *n > 0);
        more.for_each(|(n, what)| out.push_str(&format!(", {n} {what}")));
        out.push('\n');
    }
    out
}

fn json(runs: &[Run]) -> Value {
    let run = |run: &Run| {
        let failures = run.outcome.failures.iter().map(|failure| {
            json!({
                "kind": failure.reason.name(),
                "line": failure.line,
                "message": failure.message,
                "help": failure.help,
            })
        });
        json!({
            "file": run.file.name,
            "passed": run.passes(),
            "blessed": run.is_blessed,
            "not_blessed": run.not_written,
            "output": run.outcome.output,
            "failures": failures.collect::<Vec<_>>(),
        })
    };
    json!({ "cases": runs.iter().map(run).collect::<Vec<_>>() })
}
