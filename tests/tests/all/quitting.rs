//! A plugin that ends the process or panics, wherever its code runs, is named, and the run has failed.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, files, folder},
};
use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
    sync::LazyLock,
};

const MODEL: &str = r#"def @main(%x: Tensor[(2,), float32]) -> (%y, %z) #[opset = {"": 17, "quit": 1}, ir_version = 9] {
  %w = const(float32, (2), [1.0, 2.0]);
  %a = quit::Same(%w);
  %y = Add(%x, %a);
  %z = Identity(%x);
  (%y, %z)
}
"#;

static QUITTER: LazyLock<PathBuf> = LazyLock::new(|| plugin("quitter"));

/// Runs all that the plugin has, and quits at a place.
fn quit(name: &str, at: &str) -> (Run, Vec<String>) {
    let here = folder(&format!("quit-{name}"));
    fs::write(here.join("m.relay"), MODEL).unwrap();
    let mut run = command();
    run.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "--no-reproducer", "--allow-writable-plugins"]);
    run.arg("--plugin").arg(&*QUITTER).args(["--instrument", "quit.Watch", "--passes"]);
    run.arg("quit.Module,quit.Function,quit.Sequence,quit.Rewrite,InferType,FoldConstant");
    (Run::of(run.env("RELAIS_TEST_QUIT", at)), files(&here))
}

const PLACES: &[&str] = &[
    "module",
    "function",
    "steps",
    "rewrite",
    "check",
    "instrument-new",
    "enter",
    "exit",
    "before",
    "after",
    "infer",
    "eval",
    "body",
    "verify",
    "options-drop",
    "instrument-drop",
];

#[test]
fn c12_a_plugin_that_does_not_quit_runs() {
    let (run, files) = quit("not", "");
    run.expect_success();
    assert_eq!(files, ["m.relay", "out.relay"]);
}

#[test]
fn c12_a_plugin_that_ends_the_process_is_named_wherever_it_does() {
    for place in PLACES {
        let (run, files) = quit("exit", &format!("{place}:exit"));
        assert_eq!(run.status, Some(70), "{place}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("error: plugin `quitter 0.2.0`"), "{place}: {}", run.stderr);
        assert!(run.stderr.contains(" ended the process\n"), "{place}: {}", run.stderr);
        // Passes are dropped when their work is done.
        if *place != "options-drop" {
            assert_eq!(files, ["m.relay"], "{place}");
        }
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "on other systems it goes unnoticed")]
fn c12_a_plugin_that_ends_the_process_at_once_is_named() {
    for how in ["_exit", "_Exit", "quick_exit"] {
        for place in ["module", "function", "rewrite", "infer", "eval", "after"] {
            let (run, files) = quit("at-once", &format!("{place}:{how}"));
            assert_eq!(run.status, Some(70), "{place}:{how}: {}{}", run.stdout, run.stderr);
            let said = run.stderr;
            assert!(said.contains("error: plugin `quitter 0.2.0`"), "{place}:{how}: {said}");
            assert_eq!(said.matches(" ended the process\n").count(), 1, "{place}:{how}: {said}");
            assert_eq!(files, ["m.relay"], "{place}:{how}");
        }
    }
    // Where no frame of the plugin is on the stack, and where memory may be locked.
    for how in ["_exit-in-thread", "_exit-in-handler"] {
        let (run, files) = quit("at-once", &format!("module:{how}"));
        assert_eq!(run.status, Some(70), "{how}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("error: plugin `quitter 0.2.0`"), "{how}: {}", run.stderr);
        assert!(!files.contains(&"out.relay".to_owned()), "{how}: {files:?}");
    }
    // A child that a plugin forks ends as it likes.
    let (run, files) = quit("fork", "module:fork");
    run.expect_success();
    assert_eq!(files, ["m.relay", "out.relay"]);
}

#[test]
#[cfg_attr(not(unix), ignore = "other systems have no such signals")]
fn c12_a_plugin_that_ends_the_process_by_a_signal_is_named_wherever_it_does() {
    let signals = [(":segv", "SIGSEGV at address 0x40"), (":abort", "SIGABRT"), (":panic-twice", "SIGABRT")];
    for place in PLACES {
        for (how, name) in signals {
            let (run, files) = quit("signal", &format!("{place}{how}"));
            let said = &run.stderr;
            assert_eq!(run.status, None, "{place}{how}: the signal takes its course: {said}");
            assert!(
                said.contains("error: plugin `") && said.contains("plugin `quitter 0.2.0`"),
                "{place}{how}: {said}"
            );
            assert!(said.contains(&format!(" ended the process ({name})")), "{place}{how}: {said}");
            if *place != "options-drop" {
                assert_eq!(files, ["m.relay"], "{place}{how}: nothing was put in place");
            }
        }
    }
    let (run, _) = quit("signal", "function:segv");
    assert!(run.stderr.contains("in pass `quit.Function`, on function `@main`, ended the process"), "{}", run.stderr);
    let (run, _) = quit("signal", "module:overflow");
    let said = run.stderr;
    assert!(said.contains("error: plugin `quitter 0.2.0`, in pass `quit.Module`, ended the process (SIG"), "{said}");
    assert_eq!(said.matches(" ended the process").count(), 1, "{said}");
}

#[test]
fn c12_a_pass_that_does_not_stop_is_named_and_ends_the_process_if_that_is_asked_for() {
    let here = folder("quit-late");
    fs::write(here.join("m.relay"), MODEL).unwrap();
    let mut run = command();
    run.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "--no-reproducer", "--allow-writable-plugins"]);
    run.args(["--instrument", "budget:pass_seconds=0.1,end_seconds=3.0", "--passes", "quit.Module", "--plugin"]);
    let run = Run::of(run.arg(&*QUITTER).env("RELAIS_TEST_QUIT", "module:sleep"));
    assert_eq!(run.status, Some(70), "{}", run.stderr);
    let told = "pass `quit.Module` of plugin `quitter` does not stop: it took longer than 100ms, the budget of a pass";
    assert!(run.stderr.contains(&format!("{told}, and it has not looked since")), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("error: {told}\n  note: no result was put in place\n")), "{}", run.stderr);
    assert_eq!(files(&here), ["m.relay"]);
    let mut run = command();
    run.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "--passes", "InferType"]);
    let run = Run::of(run.args(["--instrument", "budget:nodes=9,end_seconds=3.0"])).expect_failure();
    assert!(
        run.stderr.contains("and no time is limited\n  help: set `pass_seconds` or `run_seconds`"),
        "{}",
        run.stderr
    );
}

#[test]
fn c12_a_plugin_that_panics_is_named_wherever_it_does() {
    // A failure of type relations and evaluators is reported by the pass that called them.
    for place in PLACES.iter().filter(|place| !["infer", "eval", "body", "verify"].contains(place)) {
        let (run, files) = quit("panic", &format!("{place}:panic"));
        assert_eq!(run.status, Some(1), "{place}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("told to panic"), "{place}: {}", run.stderr);
        assert!(run.stderr.contains("quit"), "{place}: {}", run.stderr);
        assert_eq!(files, ["m.relay"], "{place}");
    }
}

/// Returns the output of a check of a file.
fn check(file: &Path, arguments: &[&str]) -> Run {
    let mut check = command();
    check.args(["plugin", "check", "--allow-writable-plugins"]).args(arguments).arg(file);
    Run::of(&mut check)
}

/// Returns the position of a section in an ELF file.
fn section(file: &[u8], name: &str) -> Range<usize> {
    let number = |at: usize, len: usize| file[at..at + len].iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte));
    let (headers, n_headers, names) = (number(40, 8), number(60, 2), number(62, 2));
    let header = |index: usize| headers + index * 64;
    let names = number(header(names) + 24, 8);
    let name = [name.as_bytes(), b"\0"].concat();
    let found = (0..n_headers).map(header).find(|&at| file[names + number(at, 4)..].starts_with(&name)).unwrap();
    number(found + 24, 8)..number(found + 24, 8) + number(found + 32, 8)
}

/// A few changed bits in the description of the types: none makes the host panic, and a check reports the outcome of
/// opening.
#[test]
#[cfg(target_os = "linux")]
fn c11_a_damaged_library_is_refused_and_a_check_says_so() {
    /// The most bytes that are changed, and how many of the libraries that are refused for it are run.
    const FLIPS: usize = 600;
    const RUNS: usize = 12;
    let here = folder("quit-damaged");
    fs::write(here.join("m.relay"), MODEL).unwrap();
    let bytes = fs::read(&*QUITTER).unwrap();
    // Where it is 0 there is a pointer, which the system fills in.
    let places: Vec<usize> = section(&bytes, ".data.rel.ro").filter(|&at| bytes[at] != 0).collect();
    let damaged = here.join("damaged.so");
    let (mut n_refused, mut n_panicked) = (0, 0);
    // Neighbours are alike, so that the places are far from each other.
    for place in (0..FLIPS).map(|at| places[at * 7919 % places.len()]) {
        if n_refused >= RUNS && n_panicked > 0 {
            break;
        }
        let mut bytes = bytes.clone();
        bytes[place] ^= 0x80;
        fs::write(&damaged, &bytes).unwrap();
        let opened = check(&damaged, &["--open-here"]);
        // A panic that comes to a boundary ends the process, which is said.
        let has_ended = opened.status == Some(70) && opened.stderr.contains("being opened, ended the process");
        let is_told = matches!(opened.status, Some(0 | 1) | None) || has_ended;
        assert!(is_told, "byte {place}: {:?} {}", opened.status, opened.stderr);
        assert!(!opened.stderr.contains("panicked at"), "byte {place}: {}", opened.stderr);
        if opened.status == Some(0) {
            continue;
        }
        let is_panic = opened.stderr.contains("its description of its types is damaged");
        n_refused += 1;
        n_panicked += usize::from(is_panic);
        if n_refused > RUNS && !is_panic {
            continue;
        }
        let said = check(&damaged, &[]).expect_failure();
        assert!(said.stdout.contains("it was opened in a process of its own, and "), "byte {place}: {}", said.stdout);
        let mut run = command();
        run.current_dir(&here).args([
            "run",
            "m.relay",
            "-o",
            "out.relay",
            "--no-reproducer",
            "--passes",
            "quit.Module",
        ]);
        let ran = Run::of(run.arg("--allow-writable-plugins").arg("--plugin").arg(&damaged));
        assert_eq!(ran.status, opened.status, "byte {place}: {}", ran.stderr);
        assert!(!here.join("out.relay").exists());
    }
    assert!(n_refused > 3 && n_panicked > 0, "{n_refused} were refused, {n_panicked} for a panic");
}

#[test]
fn c11_a_check_opens_what_it_accepts_unless_told_otherwise() {
    check(&QUITTER, &[]).expect_success();
    let mut mark = command();
    mark.args(["plugin", "check", "--allow-writable-plugins"]).arg(plugin("mark")).env("RELAIS_TEST_EXIT", "1");
    let said = Run::of(&mut mark).expect_failure();
    assert!(
        said.stdout.contains("opened in a process of its own, and was refused: plugin `mark 0.1.0`"),
        "{}",
        said.stdout
    );
    Run::of(mark.arg("--no-open")).expect_success();
}
