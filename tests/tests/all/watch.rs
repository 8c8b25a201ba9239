//! `relais watch`: runs that are done again when something has changed.
#![cfg(unix)]

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

const MODEL: &str = "def @main(%x: Tensor[(2,), float32]) -> (%y) #[opset = {\"\": 17}] {\n  %z = Relu(%x);\n  %y = Abs(%x);\n  %y\n}\n";

/// A watch that goes on, and what it prints.
struct Watching {
    process: Child,
    printed: PathBuf,
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Watching {
    fn begin(here: &Path, arguments: &[&str]) -> Self {
        let printed = here.join("printed");
        let file = File::create(&printed).unwrap();
        let mut watch = command();
        watch
            .current_dir(here)
            .args(["watch", "m.relay", "-o", "out.relay", "--allow-writable-plugins"])
            .args(arguments);
        watch.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        Self { process: watch.spawn().unwrap(), printed }
    }

    /// The output of a round, of which the first is 0, once it has ended.
    fn round(&self, n: usize) -> String {
        let begun = Instant::now();
        loop {
            let printed = fs::read_to_string(&self.printed).unwrap();
            let rounds: Vec<&str> = printed.split("-- changed:").collect();
            if let Some(round) = rounds.get(n).filter(|round| round.contains("ended with status")) {
                return (*round).to_owned();
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "round {n} of: {printed}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn with_model(name: &str) -> PathBuf {
    let here = folder(&format!("watch-{name}"));
    fs::write(here.join("m.relay"), MODEL).unwrap();
    here
}

#[test]
fn the_differences_of_a_round_are_printed() {
    let here = with_model("rounds");
    let steps = |steps: &str| fs::write(here.join("steps.toml"), format!("steps = [{steps}]\n")).unwrap();
    steps("\"InferType\"");
    fs::write(here.join("p.toml"), "steps = [{ include = \"steps.toml\" }]\n").unwrap();
    let watching = Watching::begin(&here, &["-p", "p.toml"]);
    let round = watching.round(0);
    assert!(round.contains("-- watching `m.relay`, `p.toml`, `steps.toml`"), "{round}");
    assert!(round.contains("total nodes") && round.contains("-- the run ended with status 0 after "), "{round}");
    // A file that the pipeline includes. The program has one line less, and so has the table.
    steps("\"DeadCodeElimination\"");
    let round = watching.round(1);
    assert!(round.starts_with(" `steps.toml`\n"), "{round}");
    assert!(round.contains("-   %z: Tensor[(2), float32] = Relu(%x);") && !round.contains("%y = Abs"), "{round}");
    steps("\"DeadCodeEliminaton\"");
    let round = watching.round(2);
    assert!(round.contains("+ error[P") && round.contains("status 1"), "{round}");
    // The program is compared with the last one that there was.
    steps("\"DeadCodeElimination\"");
    let round = watching.round(3);
    assert!(round.contains("- error[P") && !round.contains("%z") && round.contains("status 0"), "{round}");
}

#[test]
fn a_library_that_is_being_written_is_waited_for() {
    let here = with_model("library");
    let library = fs::read(plugin("sample")).unwrap();
    let file = here.join("libsample.so");
    fs::write(&file, &library).unwrap();
    let arguments = ["--plugin", "libsample.so", "--passes", "sample.Nothing"];
    let watching = Watching::begin(&here, &arguments);
    assert!(watching.round(0).contains("status 0"));
    fs::write(&file, &library[..library.len() / 2]).unwrap();
    thread::sleep(Duration::from_millis(700));
    fs::write(&file, &library).unwrap();
    let round = watching.round(1);
    assert!(round.contains("`libsample.so`") && round.contains("status 0") && !round.contains("error"), "{round}");
}

#[test]
fn a_library_that_was_built_is_that_of_the_round() {
    let here = with_model("built");
    fs::create_dir(here.join("src")).unwrap();
    fs::write(here.join("src/lib.rs"), "").unwrap();
    fs::copy(plugin("sample"), here.join("next")).unwrap();
    let build = ["--build", "cp next libsample.so", "--source", "src"];
    let run = ["--plugin", "libsample.so", "--passes", "sample.Nothing"];
    let watching = Watching::begin(&here, &[&build[..], &run].concat());
    assert!(watching.round(0).contains("status 0"));
    fs::write(here.join("src/lib.rs"), "changed").unwrap();
    let round = watching.round(1);
    assert!(round.starts_with(" `lib.rs`\n") && round.contains("status 0"), "{round}");
    thread::sleep(Duration::from_millis(1200));
    let printed = fs::read_to_string(&watching.printed).unwrap();
    assert_eq!(printed.matches("-- changed:").count(), 1, "{printed}");
}

#[test]
fn plugins_are_built_and_tested() {
    let here = with_model("once");
    fs::create_dir(here.join("src")).unwrap();
    fs::write(here.join("src/lib.rs"), "").unwrap();
    let once = |arguments: &[&str]| {
        let mut watch = command();
        watch.current_dir(&here).args(["watch", "m.relay", "--once", "-o", "out.relay"]).args(arguments);
        Run::of(&mut watch)
    };
    let run = once(&["--passes", "InferType", "--build", "echo made >made", "--source=src"]).expect_success();
    assert!(run.stdout.contains("the run ended with status 0") && here.join("made").exists(), "{}", run.stdout);
    fs::remove_file(here.join("out.relay")).unwrap();
    let run = once(&["--passes", "InferType", "--build", "exit 3", "--source", "src"]).expect_failure();
    assert!(run.stdout.contains("-- the build ended with status 3") && !here.join("out.relay").exists());
    let examples = here.join("DeadCodeElimination");
    fs::create_dir(&examples).unwrap();
    let example = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n  %1 = Neg(%x);\n  %1\n}\n";
    for (directive, status) in [("//! unchanged = true\n", 0), ("", 1)] {
        fs::write(examples.join("live.relay"), format!("{directive}{example}")).unwrap();
        let run = once(&["--passes", "InferType", "--filetests", "DeadCodeElimination"]);
        let said = format!("-- the examples ended with status {status}");
        assert!(run.stdout.contains(&said) && run.status == Some(status), "{}{}", run.stdout, run.stderr);
    }
    for (arguments, why) in [
        (&["--out-dir", "all"][..], "cannot be used with"),
        (&["--build", "true"], "--source"),
        (&["-o", "m.relay"], "cannot be used multiple times"),
    ] {
        let run = once(arguments);
        assert!(run.status == Some(2) && run.stderr.contains(why), "{why}: {}", run.stderr);
    }
    let run = Run::of(command().current_dir(&here).args(["watch", "m.relay", "-o", "./m.relay"]));
    assert!(run.status == Some(2) && run.stderr.contains("would replace the model that is watched"), "{}", run.stderr);
}
