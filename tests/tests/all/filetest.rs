//! `relais filetest`, with passes that break each rule, and with files that are written.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, files, folder},
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A module with calls of everything that the liar looks for.
const MODULE: &str =
    "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] #[opset = {\"\": 17}] {
  %1 = Relu(%x);
  %2 = Add(%1, %y);
  %3 = Identity(%2);
  %3
}
";

/// Runs `relais filetest ARGUMENTS` in a folder. Folders that tests make belong to groups that may write, on some
/// machines.
fn filetest(here: &Path, arguments: &[&str]) -> Run {
    let mut command = command();
    command.current_dir(here).env("RELAIS_HOME", here.join("home")).args(["filetest", "--allow-writable-plugins"]);
    Run::of(command.args(arguments))
}

/// Writes a case, and returns its file.
fn write(here: &Path, name: &str, text: &str) -> PathBuf {
    let path = here.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// The name of each case, and the kinds of its failures.
fn kinds(run: &Run) -> Vec<(String, Vec<String>)> {
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let kinds = |case: &Value| case["failures"].as_array().unwrap().iter().map(|it| text(&it["kind"])).collect();
    report["cases"].as_array().unwrap().iter().map(|case| (text(&case["file"]), kinds(case))).collect()
}

/// The failures of passes of the liar, in the order of their names.
const LIES: &[(&str, &[&str])] = &[
    ("liar.Aborts", &["ends-process"]),
    ("liar.Breaks", &["broken"]),
    ("liar.DropsRelu", &["numbers", "expected"]),
    ("liar.Exits", &["ends-process"]),
    ("liar.Hangs", &["hangs"]),
    ("liar.LosesInText", &["text", "expected"]),
    ("liar.Renames", &["interface", "expected"]),
    ("liar.SaysChanged", &["false-change", "unchanged"]),
    ("liar.SaysUnchanged", &["input-modified"]),
    ("liar.Swaps", &["not-idempotent", "expected"]),
];

#[test]
fn each_rule_is_checked_and_every_case_is_run() {
    let here = folder("filetest-lies");
    for (pass, _) in LIES {
        write(&here, &format!("f/{pass}/a.relay"), MODULE);
    }
    // Nothing is wrong where the pass has nothing to do.
    let quiet = format!("//! unchanged = true\n{}", MODULE.replace("Relu", "Neg"));
    write(&here, "f/liar.Hangs/b.relay", &quiet);
    let liar = plugin("liar");
    let arguments = ["f", "--plugin", liar.to_str().unwrap(), "--timeout", "1", "--json", "--bless"];
    let run = filetest(&here, &arguments).expect_failure();
    let mut expected: Vec<(String, Vec<String>)> = Vec::new();
    for (pass, kinds) in LIES {
        expected.push((format!("f/{pass}/a.relay"), kinds.iter().map(|kind| (*kind).to_owned()).collect()));
    }
    let after_hangs = expected.iter().position(|(name, _)| name.contains("Hangs")).unwrap() + 1;
    expected.insert(after_hangs, ("f/liar.Hangs/b.relay".into(), Vec::new()));
    assert_eq!(kinds(&run), expected);
    // Cases with which something else is wrong are not blessed.
    for (pass, _) in LIES {
        assert_eq!(fs::read_to_string(here.join(format!("f/{pass}/a.relay"))).unwrap(), MODULE, "{pass}");
    }
}

#[test]
fn the_filetests_of_the_shipped_passes_are_cases_too() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = filetest(here, &["filetests", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let cases = report["cases"].as_array().unwrap();
    assert!(cases.len() > 90, "{run:?}");
    for failure in cases.iter().flat_map(|case| case["failures"].as_array().unwrap()) {
        // The tests compute more operators than the plugins.
        assert!(failure["message"].as_str().unwrap().starts_with("results cannot be compared: "), "{failure}");
    }
}

#[test]
fn only_what_is_expected_is_blessed() {
    let here = folder("filetest-bless");
    let module = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %1 = Relu(%x); %2 = Neg(%x); %1 }\n";
    let comment = format!("//! types = true\r\n//! before = [\"InferType\"]\n// Kept.\n{module}");
    let missing = write(&here, "f/DeadCodeElimination/missing.relay", &comment);
    let wrong = write(&here, "f/DeadCodeElimination/wrong.relay", &format!("{module}// expected:\n// old\n"));
    let unchanged = format!("//! unchanged = true\n{module}");
    let unchanged = (write(&here, "f/DeadCodeElimination/unchanged.relay", &unchanged), unchanged);
    let stays =
        (write(&here, "f/InferType/stays.relay", "def @main(%x) { %x }\n"), "def @main(%x) { %x }\n".to_owned());
    filetest(&here, &["f"]).expect_failure();
    assert_eq!(fs::read_to_string(&missing).unwrap(), comment);
    let run = filetest(&here, &["f", "--bless"]).expect_failure();
    assert!(run.stdout.contains("4 cases: 0 passed, 2 blessed, 2 failed"), "{}", run.stdout);
    assert!(run.stdout.contains("f/DeadCodeElimination/missing.relay: blessed\n"), "{}", run.stdout);
    for (path, text) in [unchanged, stays] {
        assert_eq!(fs::read_to_string(path).unwrap(), text);
    }
    let types = ": Tensor[(2), float32]";
    let expected = |types: &str| {
        format!(
            "\n// expected:\n// def @main(%x: Tensor[(2), float32]) #[opset = {{\"\": 17}}] {{\n//   %1{types} = Relu(%x);\n//   %1\n// }}\n"
        )
    };
    assert_eq!(fs::read_to_string(&missing).unwrap(), format!("{comment}{}", expected(types)));
    assert_eq!(fs::read_to_string(&wrong).unwrap(), format!("{module}{}", expected("")));
    // Nothing is left to bless.
    let run = filetest(&here, &["f", "--bless"]).expect_failure();
    assert!(run.stdout.contains("4 cases: 2 passed, 2 failed"), "{}", run.stdout);
    assert_eq!(files(&here.join("f/DeadCodeElimination")), ["missing.relay", "unchanged.relay", "wrong.relay"]);
}

#[test]
#[cfg(unix)]
fn a_file_that_cannot_be_written_or_read_is_named() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let here = folder("filetest-files");
    let module = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %1 = Relu(%x); %2 = Neg(%x); %1 }\n";
    let locked = write(&here, "f/DeadCodeElimination/locked.relay", module);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o444)).unwrap();
    symlink("nowhere", here.join("f/DeadCodeElimination/link.relay")).unwrap();
    // A folder in itself is searched once.
    symlink("..", here.join("f/DeadCodeElimination/up")).unwrap();
    let run = filetest(&here, &["f", "--bless"]).expect_failure();
    let unreadable = "f/DeadCodeElimination/link.relay:1: case: the file cannot be read: ";
    assert!(run.stdout.contains(unreadable), "{}", run.stdout);
    assert!(run.stdout.contains("f/DeadCodeElimination/locked.relay: not blessed: "), "{}", run.stdout);
    assert!(run.stdout.contains("2 cases: 0 passed, 2 failed"), "{}", run.stdout);
    assert_eq!(fs::read_to_string(&locked).unwrap(), module);
}

#[test]
fn a_name_of_several_passes_is_refused() {
    let here = folder("filetest-names");
    write(&here, "f/FoldConstant/a.relay", "//! unchanged = true\ndef @main(%x) { %x }\n");
    filetest(&here, &["f"]).expect_success();
    let rival = plugin("rival");
    let run = filetest(&here, &["f", "--plugin", rival.to_str().unwrap()]).expect_failure();
    let (_, how) = run.stdout.split_once("f/FoldConstant/a.relay:2: case: `FoldConstant` may be ").unwrap();
    assert!(how.contains("`acme.FoldConstant`") && how.contains("help: write the full name"), "{how}");
}

/// An author who has installed his plugin tests the build that he names.
#[test]
fn the_plugin_that_is_named_takes_the_place_of_an_installed_one() {
    let here = folder("filetest-installed");
    write(&here, "f/mark.Nothing/a.relay", "//! unchanged = true\ndef @main(%x) { %x }\n");
    let mark = plugin("mark");
    let mut installed = fs::read(&mark).unwrap();
    installed.push(0);
    let other = here.join("home/plugins").join(mark.file_name().unwrap());
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::write(&other, installed).unwrap();
    filetest(&here, &["f"]).expect_success();
    let mark = mark.to_str().unwrap();
    filetest(&here, &["f", "--plugin", mark]).expect_success();
    // Neither of two that are named does.
    let run = filetest(&here, &["f", "--plugin", mark, "--plugin", other.to_str().unwrap()]).expect_failure();
    assert!(run.stdout.contains("case: pass `mark.Nothing` is provided more than once, by "), "{}", run.stdout);
}
