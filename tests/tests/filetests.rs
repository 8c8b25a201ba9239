//! Every file below `filetests/` is a separate test. `RELAIS_BLESS=1` writes the current output of passes as the
//! expectation.

// Linked, so that their passes, operators and evaluators are registered.
use {
    relais_emit_c as _, relais_evaluator as _, relais_gradient as _, relais_graph as _, relais_loops as _,
    relais_onnxruntime as _, relais_operators as _,
};

use libtest_mimic::{Arguments, Failed, Trial};
use relais_conformance::filetest::{Case, CaseFile};
use relais_plugin_api::options::Value;
use relais_tests::{
    cargo_built::workspace,
    filetest::{Libraries, cases},
    reference::Judge,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    fs,
    process::ExitCode,
    sync::Arc,
};

/// Passes that never change a program, and why.
const ONLY_LOOK: &[(&str, &str)] = &[("EmitC", "it gives files"), ("PrintIR", "it prints")];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let cases = cases();
    let libraries = Arc::new(Libraries::open(&workspace().plugins));
    // Cases that cannot be read fail as tests of their own.
    let headers: Vec<Case> = cases.values().filter_map(|file| file.read().ok()).collect();
    let trial = |(name, file): (String, CaseFile)| {
        let libraries = libraries.clone();
        Trial::test(name, move || run(&file, &libraries).map_err(Failed::from))
    };
    let mut trials: Vec<Trial> = cases.into_iter().map(trial).collect();
    let n_cases = trials.len();
    let passes = libraries.passes();
    trials.push(Trial::test("every_pass_changes_something_and_leaves_something_alone", move || {
        let has = |pass: &&String, unchanged: bool| {
            headers.iter().any(|case| is_called(pass, &case.pass) && case.unchanged == unchanged)
        };
        let changes = |pass: &&String| !ONLY_LOOK.iter().any(|(name, _)| is_called(pass, name));
        let is_lacking = |pass: &&String| !has(pass, true) || (changes(pass) && !has(pass, false));
        let lacking: Vec<&String> = passes.iter().filter(is_lacking).collect();
        if lacking.is_empty() { Ok(()) } else { Err(format!("one of the two cases is missing for {lacking:?}").into()) }
    }));
    let with_options = cases_with_options();
    trials.push(Trial::test("options_matter", move || options_matter(with_options).map_err(Failed::from)));
    trials.push(Trial::test(
        "there_are_cases",
        move || {
            if n_cases > 0 { Ok(()) } else { Err("no case was found".into()) }
        },
    ));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The cases that pass without their options, too, with the reasons why they are there nevertheless.
const WITHOUT_OPTIONS: &str = include_str!("../filetests-without-options.toml");

fn cases_with_options() -> Vec<(String, Case)> {
    let read = cases().into_iter().filter_map(|(name, file)| Some((name, file.read().ok()?)));
    let no_options = Value::Struct(Vec::new());
    read.filter(|(_, case)| case.options != no_options || !case.config.is_empty()).collect()
}

/// Whether each case fails without its options, unless it is listed with a reason: otherwise it shows nothing about them.
fn options_matter(cases: Vec<(String, Case)>) -> Result<(), String> {
    let listed: BTreeMap<String, Vec<String>> = toml::from_str(WITHOUT_OPTIONS).map_err(|error| error.to_string())?;
    let mut listed: BTreeSet<&str> = listed.values().flatten().map(String::as_str).collect();
    let mut wrong = Vec::new();
    for (name, mut case) in cases {
        case.options = Value::Struct(Vec::new());
        case.config.clear();
        let passes = case.check(&Judge).failures.is_empty();
        match (passes, listed.remove(name.as_str())) {
            (true, false) => wrong.push(format!("`{name}` passes without its options")),
            (false, true) => wrong.push(format!("`{name}` fails without its options, and need not be listed")),
            _ => {}
        }
    }
    wrong.extend(listed.into_iter().map(|name| format!("`{name}` is listed, and no case with options")));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Whether a name in a case means the pass of that full name.
fn is_called(pass: &str, name: &str) -> bool {
    pass == name || pass.rsplit('.').next() == Some(name)
}

fn run(file: &CaseFile, libraries: &Libraries) -> Result<(), String> {
    let shown = |line: usize, how: &dyn Display| format!("{}:{line}: {how}\n", file.name);
    let case = file.read().map_err(|failure| shown(failure.line, &failure))?;
    libraries.same_as_linked(&case)?;
    let outcome = case.check(&Judge);
    if std::env::var_os("RELAIS_BLESS").is_some()
        && let Some(blessed) = outcome.blessed(&case)
    {
        return fs::write(&file.path, blessed).map_err(|error| error.to_string());
    }
    match outcome.failures.as_slice() {
        [] => Ok(()),
        failures => Err(failures.iter().map(|failure| shown(failure.line, failure)).collect()),
    }
}
