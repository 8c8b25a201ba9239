//! Every file below `filetests/` is a separate test. `RELAIS_BLESS=1` writes the current output of passes as the
//! expectation.

// Linked, so that their passes, operators and evaluators are registered.
use {
    relais_emit_c as _, relais_evaluator as _, relais_gradient as _, relais_graph as _, relais_loops as _,
    relais_onnxruntime as _, relais_operators as _,
};

use libtest_mimic::{Arguments, Failed, Trial};
use relais_conformance::filetest::{Case, CaseFile};
use relais_tests::{
    cargo_built::workspace,
    filetest::{Libraries, cases},
    reference::Judge,
};
use std::{fmt::Display, fs, process::ExitCode, sync::Arc};

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
    trials.push(Trial::test(
        "there_are_cases",
        move || {
            if n_cases > 0 { Ok(()) } else { Err("no case was found".into()) }
        },
    ));
    libtest_mimic::run(&arguments, trials).exit_code()
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
