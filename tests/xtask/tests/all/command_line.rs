//! The help of commands, and errors about arguments that they do not have.

use relais_tests::{
    cli::{Run, folder},
    page::find,
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs `cargo xtask ARGUMENTS` in a folder.
pub fn xtask(folder: &Path, arguments: &[&str]) -> Run {
    Run::of(Command::new(env!("CARGO_BIN_EXE_xtask")).current_dir(folder).args(arguments))
}

const COMMANDS: [&str; 5] = ["fast", "ci", "full", "bless", "new-pass"];

#[test]
fn every_command_has_its_help() {
    let help = xtask(&root(), &["--help"]).expect_success().stdout;
    assert_eq!(xtask(&root(), &["help"]).expect_success().stdout, help);
    for command in COMMANDS {
        let row = help.lines().find_map(|line| line.trim_start().strip_prefix(command)).expect("it is listed");
        let said = xtask(&root(), &[command, "--help"]).expect_success().stdout;
        assert!(said.starts_with(&format!("{}\n\nUsage: cargo xtask {command}", row.trim())), "{said}");
        assert_eq!(xtask(&root(), &[command, "-h"]).expect_success().stdout, said);
    }
    assert!(help.lines().filter(|line| line.starts_with("  ")).count() == COMMANDS.len(), "{help}");
}

#[test]
fn arguments_that_no_command_has_are_named() {
    for (arguments, expected) in [
        (&[][..], "What contributors to Relais do often\n\nUsage: cargo xtask <COMMAND>\n"),
        (&["quick"], "error: there is no command `quick`\n"),
        (&["ci", "all"], "error: `cargo xtask ci` has no argument `all`\n  help: `cargo xtask ci --help`"),
        (&["fast", "graph"], "error: `cargo xtask fast` has no argument `graph`\n"),
        (&["full", "mutant"], "error: `cargo xtask full` has no argument `mutant`\n"),
        (&["bless", "--all"], "error: `cargo xtask bless` has no argument `--all`\n"),
        (&["new-pass"], "error: `cargo xtask new-pass` needs a name"),
        (&["new-pass", "A", "B"], "error: `cargo xtask new-pass` has no argument `B`\n"),
        (&["new-pass", "fuse_gelu"], "error: `fuse_gelu` is not the name of a pass\n  help: a name is like `FuseGelu`"),
        (&["new-pass", "../Fuse"], "error: `../Fuse` is not the name of a pass\n"),
        (&["new-pass", "Fuse", "--kind", "rule"], "error: `rule` is not a kind of pass\n"),
        (&["new-pass", "Fuse", "--plugin"], "error: `--plugin` needs a value"),
    ] {
        let said = xtask(&root(), arguments);
        assert!(said.status == Some(2) && said.stderr.starts_with(expected), "{arguments:?}: {said:?}");
        assert!(said.stdout.is_empty(), "{said:?}");
    }
}

#[test]
fn a_folder_elsewhere_is_an_error() {
    let said = xtask(Path::new("/"), &["ci"]).expect_failure().stderr;
    assert!(said.contains("`/` is in no folder with the file `.ci/run`\n  help: "), "{said}");
}

#[test]
fn the_parts_are_those_of_the_script() {
    let said = xtask(&root(), &["full", "--help"]).expect_success().stdout;
    let script = fs::read_to_string(root().join(".ci/full")).unwrap();
    for part in ["variants", "mutants", "packages", "free_threaded"] {
        assert!(said.contains(&format!(" {part}")) && script.contains(&format!("\n{part}() {{\n")), "{part}: {said}");
    }
}

#[test]
fn the_scripts_are_run_with_their_arguments() {
    let here = folder("xtask-scripts");
    fs::create_dir(here.join(".ci")).unwrap();
    for (name, text) in
        [("run", "echo run"), ("full", "for part in \"${@:-large kills}\"; do echo \"part $part\"; done")]
    {
        let script = here.join(".ci").join(name);
        fs::write(&script, format!("#!/bin/sh\n{text}\n")).unwrap();
        Run::of(Command::new("chmod").arg("+x").arg(script)).expect_success();
    }
    assert!(xtask(&here, &["ci"]).expect_success().stdout.contains("\nrun\n"));
    assert!(xtask(&here.join(".ci"), &["full", "kills"]).expect_success().stdout.contains("\npart kills\n"));
    fs::write(here.join(".ci/run"), "#!/bin/sh\nexit 3\n").unwrap();
    let said = xtask(&here, &["ci"]).expect_failure().stderr;
    assert!(said.contains("error: `run` failed\n"), "{said}");
}

#[test]
fn fast_wants_a_change() {
    let here = folder("xtask-fast");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&here).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        Run::of(&mut git).expect_success()
    };
    git(&["init", "--quiet"]);
    fs::create_dir(here.join(".ci")).unwrap();
    fs::write(here.join(".ci/run"), "").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "one"]);
    let said = xtask(&here, &["fast"]).expect_failure().stderr;
    assert!(said.contains("error: nothing differs from `HEAD`\n  help: `cargo xtask fast --since REVISION`"), "{said}");
    let said = xtask(&here, &["fast", "--since", "no-such"]).expect_failure().stderr;
    assert!(said.contains("no-such"), "{said}");
}

/// Nothing that `RELAIS_BLESS=1` writes is left out.
#[test]
fn bless_runs_every_test_that_writes() {
    let said = xtask(&root(), &["bless", "--help"]).expect_success().stdout;
    let mut sources = Vec::new();
    for folder in ["host", "plugin-api", "plugins", "tests"] {
        find(&root().join(folder), "rs", &mut sources);
    }
    let mut modules = BTreeSet::new();
    for path in
        sources.iter().filter(|path| path.iter().any(|part| part == "tests") && !path.ends_with("command_line.rs"))
    {
        let source = fs::read_to_string(path).unwrap();
        let is_test = path.components().filter(|part| part.as_os_str() == "tests").count() > 1
            || !path.starts_with(root().join("tests"));
        if is_test && (source.contains("var_os(\"RELAIS_BLESS\")") || source.contains("Golden::new(")) {
            modules.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    assert!(modules.len() > 12, "{modules:?}");
    for module in modules {
        assert!(said.contains(&format!(" {module}::")) || module == "filetests", "{module}: {said}");
    }
    let tests = fs::read_to_string(root().join("python/tests/test_docs.py")).unwrap();
    assert!(tests.contains("RELAIS_BLESS") && said.contains("python::test_docs"));
}
