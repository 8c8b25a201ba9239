//! Every file below `filetests/` is a separate test. `RELAIS_BLESS=1` writes the current output of passes as the
//! expectation.

use libtest_mimic::{Arguments, Failed, Trial};
use relais_tests::{
    cargo_built::workspace,
    filetest::{Case, Libraries, Property, find_cases},
};
use std::{fs, path::Path, process::ExitCode, sync::Arc};

/// Passes that never change a program, and why.
const ONLY_LOOK: &[(&str, &str)] = &[("PrintIR", "it prints")];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let cases = find_cases(&root).unwrap_or_default();
    let libraries = Arc::new(Libraries::open(&workspace().plugins));
    let mut trials: Vec<Trial> = cases
        .into_iter()
        .map(|(name, path)| {
            let folder = name.split('/').next().unwrap_or_default().to_owned();
            let libraries = libraries.clone();
            Trial::test(name, move || run(&folder, &path, &libraries).map_err(Failed::from))
        })
        .collect();
    let n_cases = trials.len();
    let (cases, passes) = (headers(&root), libraries.passes());
    trials.push(Trial::test("every_pass_changes_something_and_leaves_something_alone", move || {
        let has = |pass: &&String, unchanged: bool| {
            cases.iter().any(|case| is_called(pass, &case.pass) && case.unchanged == unchanged)
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

/// The cases that can be read; the others fail as tests of their own.
fn headers(root: &Path) -> Vec<Case> {
    let cases = find_cases(root).unwrap_or_default().into_iter();
    cases
        .filter_map(|(name, path)| Case::parse(name.split('/').next()?, &fs::read_to_string(path).ok()?).ok())
        .collect()
}

/// Whether a name in a case means the pass of that full name.
fn is_called(pass: &str, name: &str) -> bool {
    pass == name || pass.rsplit('.').next() == Some(name)
}

fn run(folder: &str, path: &Path, libraries: &Libraries) -> Result<(), String> {
    let source = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let case = Case::parse(folder, &source)?;
    let (output, failures) = case.check(Some(libraries));
    let only_text = failures.iter().all(|failure| failure.property == Property::Expected);
    if std::env::var_os("RELAIS_BLESS").is_some() && only_text {
        let blessed = case.blessed(&output);
        return if blessed == source { Ok(()) } else { fs::write(path, blessed).map_err(|error| error.to_string()) };
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(failures.iter().map(|failure| format!("{failure}\n")).collect())
}
