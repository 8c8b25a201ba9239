//! Passes that fail or break the program, run by the program itself: a failure with a name, no output, nothing lost.

use crate::proto::{graph, model, node};
use relais_tests::{
    cargo_built::plugin,
    golden::{Golden, Transcript, Workshop},
};
use std::{path::PathBuf, sync::LazyLock};

static PLUGIN: LazyLock<PathBuf> = LazyLock::new(|| plugin("bad"));

/// A folder with a model whose two nodes can be made one, and the plugin of bad passes.
fn workshop() -> Workshop {
    let here = Workshop::new();
    let nodes = vec![node("Relu", &["x"], &["r"]), node("Identity", &["r"], &["i"]), node("Neg", &["i"], &["y"])];
    here.write("model.onnx", model(graph(&["x"], nodes, &["y"])).0);
    std::fs::copy(&*PLUGIN, here.path("bad.so")).expect("the plugin can be copied");
    here
}

/// Runs a bad pass between two passes of others.
fn run(here: &Workshop, fault: &str, verify: &str) -> Transcript {
    run_with(here, fault, verify, &[])
}

fn run_with(here: &Workshop, fault: &str, verify: &str, more: &[&str]) -> Transcript {
    let pipeline = format!(
        "opt_level = 3\nverify = \"{verify}\"\nsteps = [\"InferType\", {{ pass = \"bad.Fault\", options = {{ fault = \"{fault}\" }} }}, \
         \"EliminateNoOp\", \"DeadCodeElimination\"]\n"
    );
    here.write("pipeline.toml", pipeline);
    let mut arguments = vec!["run", "-q", "model.onnx", "-o", "out.onnx", "-p", "pipeline.toml", "--plugin", "bad.so"];
    // Which is a file that a failing run leaves, and means to.
    arguments.push("--no-reproducer");
    here.fails(&[&arguments, more].concat())
}

/// The message without the parts that differ from build to build: the number of a thread, a backtrace, and the
/// functions of a plugin.
fn portable(said: &Transcript) -> String {
    let mut is_function = false;
    let mut portable = String::new();
    for line in said.golden().lines() {
        is_function = line == FUNCTIONS || is_function && line.starts_with("    ");
        let is_of_run = ["thread '", "stack backtrace:"].iter().any(|start| line.trim_start().starts_with(start));
        if !is_function && !is_of_run && !line.contains("RUST_BACKTRACE") {
            portable += &format!("{line}\n");
        }
    }
    portable
}

/// The line before the functions in which a plugin was when its process died.
const FUNCTIONS: &str = "  note: it was in:";

/// The ways to fail that a process survives, or names as it ends.
const FAILS: &[&str] = &[
    "error",
    "say_error",
    "panic",
    "panic_formatted",
    "panic_on_thread",
    "panic_with_number",
    "panic_with_bomb",
    "panic_in_drop",
    "exit",
    "exit_on_thread",
    "call_itself",
];

#[test]
fn a_failing_pass_is_named() {
    let here = workshop();
    let mut golden = Golden::new("passes");
    for fault in FAILS {
        let said = run(&here, fault, "off");
        assert!(said.stderr.contains("`bad.Fault`"), "{fault}: {}", said.stderr);
        assert!(said.stderr.contains("bad-passes"), "{fault}: {}", said.stderr);
        assert!(said.stderr.contains("6.6.6"), "{fault}: {}", said.stderr);
        assert!(said.stdout.is_empty(), "{fault}: {}", said.stdout);
        golden.check(fault, &portable(&said));
    }
    golden.finish();
}

#[test]
fn each_error_that_a_pass_says_is_printed_however_quiet_the_run() {
    let said = run(&workshop(), "say_error", "off");
    let errors = said.stderr.lines().filter_map(|line| line.strip_prefix("error: "));
    let of_pass: Vec<&str> = errors.filter(|error| !error.starts_with("pass ")).collect();
    assert_eq!(of_pass, ["`x` has no shape", "`y` has no shape either"], "{}", said.stderr);
}

#[test]
fn a_pass_that_crashes_leaves_nothing_behind() {
    let said = run(&workshop(), "abort", "off");
    assert!(said.status.starts_with("signal"), "{said:?}");
}

/// The ways to break the module.
const BREAKS: &[&str] = &[
    "dangling_id",
    "duplicate_binding",
    "unbound",
    "too_early",
    "cycle",
    "region_cycle",
    "type_mismatch",
    "no_result",
    "duplicate_name",
    "unknown_global",
    "empty_main",
];

#[test]
fn a_pass_that_breaks_the_program_is_named_when_each_is_verified() {
    let here = workshop();
    let mut golden = Golden::new("breaks");
    for fault in BREAKS {
        let said = run(&here, fault, "each");
        assert!(said.stderr.contains("pass `bad.Fault` of plugin `bad-passes` 6.6.6 failed"), "{fault}: {said:?}");
        golden.check(fault, &portable(&said));
    }
    golden.finish();
}

#[test]
fn c09_a_broken_program_is_not_written_when_nothing_is_verified() {
    let here = workshop();
    let mut golden = Golden::new("breaks-unverified");
    for fault in BREAKS {
        golden.check(fault, &portable(&run(&here, fault, "off")));
    }
    golden.finish();
}

/// In a process of its own, whatever a pass does is its failure, and the host goes on to say so.
#[test]
#[cfg(target_os = "linux")]
fn every_bad_pass_is_survived_and_named_when_it_is_isolated() {
    let here = workshop();
    let mut golden = Golden::new("passes-isolated");
    let deadly = ["abort", "panic_twice", "overflow", "allocate", "hang", "remove_main"];
    for fault in FAILS.iter().chain(&deadly).chain(BREAKS) {
        let limits = if *fault == "hang" { "bad-passes:pass-seconds=1" } else { "bad-passes:memory=256MiB" };
        let said = run_with(&here, fault, "off", &["--isolate", limits]);
        assert_eq!(said.status, "status 1", "{fault}: {}", said.golden());
        assert!(said.stderr.contains("`bad.Fault` of plugin `bad-passes"), "{fault}: {}", said.stderr);
        golden.check(fault, &portable(&said));
        let function = match *fault {
            "abort" | "panic_twice" | "allocate" => Some("bad_passes::faults::fault"),
            "overflow" => Some("bad_passes::faults::deeper ("),
            _ => None,
        };
        let mut lines = said.stderr.lines().skip_while(|line| *line != FUNCTIONS).skip(1);
        if let Some(function) = function {
            let is_named = lines.any(|line| line.trim_start().starts_with(function));
            assert!(is_named, "{fault}: {}", said.stderr);
        }
    }
    golden.finish();
}

#[test]
fn watching_a_broken_program_ends_in_its_error_alone() {
    let here = workshop();
    for (at, fault) in BREAKS.iter().enumerate() {
        let (set, dump) = (format!("bad.Fault.fault=\"{fault}\""), format!("dump-{at}"));
        here.write(
            "pipeline.toml",
            "verify = \"off\"\non_failure = \"skip\"\nsteps = [\"InferType\", \"bad.Fault\", \"DeadCodeElimination\"]",
        );
        let mut arguments = vec!["run", "model.onnx", "-o", "out.onnx", "-p", "pipeline.toml", "--plugin", "bad.so"];
        arguments.extend([
            "--set",
            &set,
            "--print-changed=diff",
            "--print-after",
            "*",
            "--print-before",
            "*",
            "--remarks",
        ]);
        arguments.extend(["--dump-dir", &dump, "--instrument", "ir-size", "--time-passes", "--stats"]);
        let said = here.run(&arguments);
        let is_told = said.status == "status 1" || (said.status == "status 0" && said.stderr.contains("bad.Fault"));
        assert!(is_told, "{fault}: {}", said.golden());
    }
}

#[test]
fn r25_a_pass_that_grows_the_program_over_its_budget_is_named_and_replays() {
    let here = workshop();
    let run = |nodes: u32, output: &str| {
        let budget = format!("budget:nodes={nodes}");
        let passes = ["--passes", "bad.Grows,bad.Grows", "--instrument", &budget];
        here.run(&[&["run", "-q", "model.onnx", "-o", output, "--plugin", "bad.so"], &passes[..]].concat())
    };
    // Three calls, and one more each time.
    assert_eq!(run(5, "out.onnx").status, "status 0");
    let said = run(4, "none.onnx");
    assert_eq!(said.status, "status 1");
    assert!(said.stderr.starts_with("error[over-budget]: pass `bad.Grows`"), "{}", said.stderr);
    assert!(said.stderr.contains("it leaves 5 operator calls, over the budget of 4"), "{}", said.stderr);
    assert!(!here.path("none.onnx").exists());
    let again = here.run(&["replay", "none.onnx.repro", "--plugin", "bad.so"]);
    assert!(again.stderr.contains("this is the error that was recorded"), "{}", again.golden());
}

#[test]
fn a_rewrite_that_panics_or_takes_too_long_names_the_call_and_replays() {
    let here = workshop();
    let run = |pass: &str, output: &str, seconds: &str| {
        let budget = format!("budget:pass_seconds={seconds}");
        let arguments = ["--passes", pass, "--instrument", &budget, "--plugin", "bad.so"];
        here.run(&[&["run", "-q", "model.onnx", "-o", output], &arguments[..]].concat())
    };
    let note = "note: the rewrite was offered %";
    for (pass, seconds, told) in [
        ("bad.PanicsAtCall", "600.0", "the rule of a careless author (at %"),
        ("bad.DawdlesAtCall", "1.0", "it took longer than 1s, the budget of a pass (at %"),
    ] {
        let output = format!("{pass}.onnx");
        let said = run(pass, &output, seconds);
        assert_eq!(said.status, "status 1");
        for told in [told, "in `@main`)", note, ", a call of `Neg`"] {
            assert!(said.stderr.contains(told), "{told}: {}", said.stderr);
        }
        // A pass that takes too long is not tried again.
        let is_cut = pass == "bad.PanicsAtCall";
        let read = |name: &str| std::fs::read_to_string(here.path(&format!("{output}.repro/{name}"))).unwrap();
        let (module, pipeline) = (read("module.relay"), read("pipeline.toml"));
        assert_eq!(module.contains("Relu("), !is_cut, "{module}");
        assert!(module.contains("Neg("), "{module}");
        assert_eq!(pipeline.contains("# Of the module, only a call of `Neg` in `@main` is left"), is_cut, "{pipeline}");
        let again = here.run(&["replay", &format!("{output}.repro"), "--plugin", "bad.so"]);
        assert!(again.stderr.contains("this is the error that was recorded"), "{}", again.golden());
    }
    assert_eq!(run("bad.DawdlesAtCall", "out.onnx", "600.0").status, "status 0");
}

#[test]
fn files_of_instruments_stay_where_they_were_named() {
    let here = workshop();
    let said = here.run(&[
        "run",
        "-q",
        "model.onnx",
        "-o",
        "out.onnx",
        "--plugin",
        "bad.so",
        "--set",
        "bad.Fault.fault=\"change_folder\"",
        "--passes",
        "bad.Fault,InferType",
        "--trace",
        "t.json",
        "--dump-dir",
        "dump",
    ]);
    assert_eq!(said.status, "status 0", "{}", said.golden());
    assert!(here.path("t.json").exists() && here.path("dump/index.jsonl").exists() && here.path("out.onnx").exists());
}

#[test]
fn a_module_without_an_entry_is_not_written() {
    for verify in ["each", "off"] {
        let said = run(&workshop(), "remove_main", verify);
        assert!(said.stderr.contains("the entry function is gone"), "{said:?}");
    }
}

#[test]
fn what_does_no_harm_does_no_harm() {
    let here = workshop();
    for fault in ["none", "print", "say", "log", "ask_from_thread", "change_folder", "leave_thread"] {
        let set = format!("bad.Fault.fault=\"{fault}\"");
        let said = here.run(&[
            "run",
            "-q",
            "model.onnx",
            "-o",
            "out.onnx",
            "--plugin",
            "bad.so",
            "--set",
            &set,
            "--passes",
            "InferType,bad.Fault,EliminateNoOp,DeadCodeElimination",
        ]);
        assert_eq!(said.status, "status 0", "{fault}: {said:?}");
        let shown = here.run(&["show", "out.onnx"]);
        assert!(!shown.stdout.contains("Identity"), "{fault}: {shown:?}");
        std::fs::remove_file(here.path("out.onnx")).expect("it was written");
    }
}

#[test]
fn a_fixpoint_ends_whatever_its_passes_say() {
    let here = workshop();
    for pass in ["bad.SaysChanged", "bad.Grows"] {
        let pipeline = format!("opt_level = 3\nsteps = [{{ fixpoint = [\"{pass}\"], max_rounds = 5 }}]\n");
        here.write("pipeline.toml", pipeline);
        let said = here.run(&["run", "model.onnx", "-o", "out.onnx", "-p", "pipeline.toml", "--plugin", "bad.so"]);
        assert_eq!(said.status, "status 0", "{pass}: {said:?}");
        assert!(said.stderr.contains("a fixpoint did not settle in 5 rounds"), "{pass}: {said:?}");
    }
}
