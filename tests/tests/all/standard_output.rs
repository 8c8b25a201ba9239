//! `-o -`: the model alone goes to standard output, what is said of it is true, and a terminal gets no binary.

#![cfg(unix)]

use relais_tests::{
    cargo_built::{plugin, workspace},
    cli::{Run, command, folder},
    venv::program,
};
use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

/// A model with constants that are nodes in ONNX, and others that are not.
const MODEL: &str = r#"def @main(%x: Tensor[(200,), float32]) -> (%y) #[opset = {"": 17}, ir_version = 9] {
  %w = const(float32, (1), [1.0]) #[form = initializer];
  %v = splat(float32, (200), 3.0);
  %a = Identity(%x);
  %b = Mul(%a, %v);
  %y = Add(%b, %w);
  %y
}
"#;

fn relais(here: &Path, arguments: &[&str]) -> Command {
    let mut relais = command();
    relais.current_dir(here).args(["run", "--allow-writable-plugins", "--passes", "EliminateNoOp"]);
    relais.args(arguments);
    relais
}

fn report(here: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(here.join(name)).unwrap()).unwrap()
}

/// The lines of a table, except how long it took.
fn table(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| !line.starts_with("operator ")).filter(|line| !line.contains("elapsed")).collect()
}

#[test]
fn what_was_sent_is_counted() {
    let here = folder("stdout-counts");
    fs::write(here.join("m.relay"), MODEL).unwrap();
    for ending in ["onnx", "relay"] {
        let file = format!("out.{ending}");
        let input = if ending == "onnx" { "m.onnx" } else { "m.relay" };
        if ending == "onnx" {
            Run::of(relais(&here, &["m.relay", "-o", "m.onnx"]).args(["--disable", "EliminateNoOp"])).expect_success();
        }
        let kept = Run::of(&mut relais(&here, &[input, "-o", &file, "--report", &format!("{file}.json")]));
        let kept = kept.expect_success().stdout;
        let sent = relais(&here, &[input, "-o", "-", "--report", &format!("sent.{ending}.json")]).output().unwrap();
        assert!(sent.status.success());
        assert_eq!(sent.stdout, fs::read(here.join(&file)).unwrap());
        let (of_file, of_sent) =
            (report(&here, &format!("{file}.json")), report(&here, &format!("sent.{ending}.json")));
        assert_eq!(of_sent["after"], of_file["after"]);
        assert_eq!(of_sent["after"]["model_bytes"], sent.stdout.len());
        assert_eq!(table(&String::from_utf8(sent.stderr).unwrap()), table(&kept));
        // Constants that are nodes are among them.
        let n_nodes = if ending == "onnx" { 3 } else { 2 };
        assert_eq!(of_sent["after"]["n_nodes"], n_nodes, "{of_sent}");
    }
}

/// Runs a program whose standard streams are a terminal.
fn on_terminal(here: &Path, arguments: &[&str]) -> Output {
    const SPAWN: &str = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
    let mut python = Command::new(program("python"));
    python.current_dir(here).args(["-c", SPAWN]).arg(&workspace().relais).args(arguments);
    python.env("RELAIS_HOME", relais_tests::cli::no_home()).env_remove("RELAIS_PLUGIN_PATH").output().unwrap()
}

#[test]
fn a_terminal_gets_no_binary_model() {
    let here = folder("stdout-terminal");
    fs::write(here.join("m.relay"), MODEL).unwrap();
    Run::of(&mut relais(&here, &["m.relay", "-o", "m.onnx"])).expect_success();
    for output in ["-", "/dev/stdout", "/dev/tty"] {
        let run = ["run", "m.onnx", "-o", output, "--passes", "EliminateNoOp", "--allow-writable-plugins"];
        let said = on_terminal(&here, &run);
        let shown = String::from_utf8_lossy(&said.stdout).into_owned();
        assert_eq!(said.status.code(), Some(1), "{shown}");
        assert!(shown.contains(&format!("output `{output}` is a terminal, and a model in ONNX is binary")), "{shown}");
        assert!(shown.contains("help: name a file, `-o FILE`, or pipe the output into another program"), "{shown}");
        assert!(!shown.contains('\0'), "{shown}");
    }
    // A text is for people, and a file is none of it.
    let said = on_terminal(&here, &["run", "m.relay", "-o", "-", "--passes", "EliminateNoOp"]);
    let shown = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.status.success() && shown.contains("def @main(%x: Tensor[(200), float32])"), "{shown}");
    let said = on_terminal(&here, &["run", "m.onnx", "-o", "out.onnx", "--passes", "EliminateNoOp"]);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
}

#[test]
fn what_a_plugin_prints_is_not_in_the_model() {
    let here = folder("stdout-plugin");
    fs::write(here.join("m.relay"), MODEL).unwrap();
    Run::of(&mut relais(&here, &["m.relay", "-o", "m.onnx"])).expect_success();
    let quitter = plugin("quitter");
    let quitter = quitter.to_str().unwrap();
    for place in ["module", "check", "options-drop", "steps"] {
        let pass = if place == "steps" { "quit.Sequence" } else { "quit.Module" };
        let run = |arguments: &[&str]| {
            let mut run = command();
            run.current_dir(&here).args(["run", "m.onnx", "-q", "--allow-writable-plugins", "--plugin", quitter]);
            run.args(["--passes", pass]).args(arguments);
            run
        };
        assert!(run(&["-o", "silent.onnx"]).output().unwrap().status.success());
        let silent = fs::read(here.join("silent.onnx")).unwrap();
        let printed = format!("printed at {place}");
        for output in ["-", "/dev/stdout"] {
            let said = run(&["-o", output]).env("RELAIS_TEST_QUIT", format!("{place}:print")).output().unwrap();
            let shown = String::from_utf8_lossy(&said.stderr).into_owned();
            assert!(said.status.success(), "{shown}");
            assert_eq!(said.stdout, silent, "{place}");
            assert!(shown.contains(&printed), "{place}: {shown}");
        }
        // A report is as whole as a model.
        let report = ["-o", "out.onnx", "--report", "-"];
        let said = run(&report).env("RELAIS_TEST_QUIT", format!("{place}:print")).output().unwrap();
        let json: Value = serde_json::from_slice(&said.stdout).unwrap();
        assert_eq!(json["output"], "out.onnx");
        // Where nothing goes there, it is the plugin's.
        let said = run(&["-o", "out.onnx"]).env("RELAIS_TEST_QUIT", format!("{place}:print")).output().unwrap();
        assert!(String::from_utf8(said.stdout).unwrap().contains(&printed), "{place}");
    }
}
