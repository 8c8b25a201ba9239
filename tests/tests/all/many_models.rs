//! `relais run` over many models: each one whole, once, and apart from the others.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, files, folder},
};
use serde_json::Value;
use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

/// A model that a pass makes smaller; `n` is a number in it.
fn text(n: usize) -> String {
    format!(
        "def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {{\"\": 17}}, ir_version = 9] {{\n  \
         %w = const(float32, {n}.0);\n  %a = Identity(%x);\n  %y = Add(%a, %w);\n  %y\n}}\n"
    )
}

/// A folder with models `in/0.relay`, `in/deep/1.relay` and so on.
fn workshop(name: &str, n: usize) -> std::path::PathBuf {
    let here = folder(name);
    fs::create_dir_all(here.join("in/deep")).unwrap();
    for at in 0..n {
        fs::write(here.join(path(at)), text(at)).unwrap();
    }
    here
}

fn path(at: usize) -> String {
    if at.is_multiple_of(2) { format!("in/{at}.relay") } else { format!("in/deep/{at}.relay") }
}

fn run(here: &Path, arguments: &[&str]) -> Run {
    let mut models: Vec<String> = vec!["in".into(), "in/deep".into()];
    models = models
        .iter()
        .flat_map(|folder| {
            let names = files(&here.join(folder)).into_iter().filter(|name| name.contains('.'));
            names.map(|name| format!("{folder}/{name}")).collect::<Vec<_>>()
        })
        .collect();
    let mut run = command();
    run.current_dir(here).args(["run", "--allow-writable-plugins", "--passes", "EliminateNoOp"]);
    Run::of(run.args(models).args(["--out-dir", "out"]).args(arguments))
}

/// The rows of the results, or of the journal.
fn rows(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    match file.extension().is_some_and(|ending| ending == "jsonl") {
        true => text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        false => serde_json::from_str(&text).unwrap(),
    }
}

/// The models of rows with this status.
fn models<'r>(rows: &'r [Value], status: &str) -> Vec<&'r str> {
    rows.iter().filter(|row| row["status"] == status).map(|row| row["model"].as_str().unwrap()).collect()
}

#[test]
fn each_model_has_a_result_at_its_path_and_a_row() {
    let here = workshop("many", 4);
    fs::write(here.join("in/broken.onnx"), "no model").unwrap();
    let said = run(&here, &[]).expect_failure();
    let found = rows(&here.join("out/relais-results.json"));
    assert_eq!(models(&found, "ok"), ["0.relay", "2.relay", "deep/1.relay", "deep/3.relay"]);
    assert_eq!(models(&found, "failed"), ["broken.onnx"]);
    for at in 0..4 {
        // As a run of the model alone leaves it.
        let mut alone = command();
        alone.current_dir(&here).args(["run", "-q", "--allow-writable-plugins", "--passes", "EliminateNoOp"]);
        Run::of(alone.args([path(at).as_str(), "-o", "alone.relay"])).expect_success();
        let result = fs::read(here.join("out").join(path(at).strip_prefix("in/").unwrap())).unwrap();
        assert_eq!(fs::read(here.join("alone.relay")).unwrap(), result);
    }
    let row = found.iter().find(|row| row["model"] == "deep/1.relay").unwrap();
    assert_eq!((&row["calls"], row["files"][0].as_str()), (&serde_json::json!([2, 1]), Some("1.relay")));
    assert!(said.stdout.contains("deep/1.relay  ok      2 -> 1"), "{}", said.stdout);
    assert!(said.stdout.contains("\n4 of 5 models\n") || said.stdout.ends_with("\n4 of 5 models\n"), "{}", said.stdout);
    assert!(said.stdout.contains("\n  model `") && said.stdout.contains("does not look like"), "{}", said.stdout);
    assert!(said.stderr.contains("error: 1 of 5 models failed"), "{}", said.stderr);
    assert_eq!(files(&here.join("out")), ["0.relay", "2.relay", "deep", "relais-journal.jsonl", "relais-results.json"]);
}

#[test]
fn what_is_done_is_not_done_again_unless_something_changed() {
    let here = workshop("many-again", 3);
    let journal = here.join("out/relais-journal.jsonl");
    run(&here, &[]).expect_success();
    assert_eq!(rows(&journal).len(), 3);
    let said = run(&here, &["--jobs", "1", "--threads", "1"]).expect_success();
    assert_eq!((rows(&journal).len(), said.stdout.matches("known").count()), (3, 3), "{}", said.stdout);
    // A model, a result and an option.
    fs::write(here.join(path(1)), text(7)).unwrap();
    run(&here, &[]).expect_success();
    assert_eq!(rows(&journal).len(), 4);
    assert!(fs::read_to_string(here.join("out/deep/1.relay")).unwrap().contains("7.0"));
    fs::remove_file(here.join("out/0.relay")).unwrap();
    run(&here, &[]).expect_success();
    assert_eq!(rows(&journal).len(), 5);
    assert!(here.join("out/0.relay").is_file());
    run(&here, &["--strip", "docs"]).expect_success();
    assert_eq!(rows(&journal).len(), 8);
}

#[test]
fn a_result_of_another_length_is_made_again() {
    let here = workshop("many-torn", 2);
    run(&here, &[]).expect_success();
    let (journal, result) = (here.join("out/relais-journal.jsonl"), here.join("out/0.relay"));
    let whole = fs::read(&result).unwrap();
    assert_eq!(rows(&journal)[0]["sizes"].as_array().unwrap().len(), 1);
    let torn = [Vec::new(), whole[..whole.len() - 1].to_vec(), [&whole[..], b"\n"].concat()];
    for (at, torn) in torn.into_iter().enumerate() {
        fs::write(&result, torn).unwrap();
        let said = run(&here, &[]).expect_success();
        assert_eq!((said.stdout.matches("known").count(), rows(&journal).len()), (1, 3 + at), "{}", said.stdout);
        assert_eq!(fs::read(&result).unwrap(), whole);
    }
    let said = run(&here, &[]).expect_success();
    assert_eq!(said.stdout.matches("known").count(), 2, "{}", said.stdout);
}

#[test]
fn results_are_taken_from_a_cache_as_long_as_they_are_whole() {
    let here = workshop("many-cached", 3);
    let cached = |arguments: &[&str]| {
        let _ = fs::remove_dir_all(here.join("out"));
        let said = run(&here, &[&["--cache", "cache"], arguments].concat()).expect_success();
        let found = rows(&here.join("out/relais-results.json"));
        let results: Vec<Vec<u8>> =
            (0..3).map(|at| fs::read(here.join("out").join(path(at).strip_prefix("in/").unwrap())).unwrap()).collect();
        let hits: Vec<bool> = found.iter().map(|row| row["cached"] == true).collect();
        (hits, results, found, said)
    };
    let (first, results, made, _) = cached(&[]);
    assert_eq!(first, [false; 3]);
    let (again, same, taken, said) = cached(&["--jobs", "1"]);
    assert_eq!((again, &same), (vec![true; 3], &results));
    assert!(said.stdout.contains("cached"), "{}", said.stdout);
    let of = |rows: &[Value], key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!((of(&made, "calls"), of(&made, "bytes")), (of(&taken, "calls"), of(&taken, "bytes")));
    // Another option is another result.
    assert_eq!(cached(&["--disable", "EliminateNoOp"]).0, [false; 3]);

    // Entries that are torn, changed, or lead elsewhere.
    let entries: Vec<_> = made.iter().map(|row| row["key"].as_str().unwrap()).collect();
    let file = |at: usize, ending: &str| here.join(format!("cache/{}/{}.{ending}", &entries[at][..2], entries[at]));
    fs::remove_file(file(0, "0")).unwrap();
    fs::write(file(1, "0"), "another one").unwrap();
    let note = fs::read_to_string(file(2, "json")).unwrap();
    fs::write(file(2, "json"), note.replace("[[\"", "[[\"../")).unwrap();
    let (hits, results_now, ..) = cached(&[]);
    assert_eq!((hits, results_now), (vec![false; 3], results));
    assert_eq!(cached(&[]).0, [true; 3], "they were put in again");
    // A file that is not the model's would replace another one.
    fs::write(file(2, "json"), note.replace("[[\"", "[[\"relais-journal")).unwrap();
    assert_eq!(cached(&[]).0.iter().filter(|hit| !**hit).count(), 1);
    // Without the model itself it is not a result, whatever its other files are.
    let other = note.replace(".relay\"", ".data\"");
    assert_ne!(other, note);
    for note in [other.as_str(), r#"{"calls":[1,1],"files":[]}"#] {
        fs::write(file(2, "json"), note).unwrap();
        assert_eq!(cached(&[]).0.iter().filter(|hit| !**hit).count(), 1);
    }
}

#[test]
fn a_cache_that_cannot_be_written_stops_nothing() {
    let here = workshop("many-no-cache", 1);
    fs::write(here.join("cache"), "a file").unwrap();
    let said = run(&here, &["--cache", "cache"]).expect_success();
    assert!(said.stderr.contains("nothing is kept in the cache `cache`"), "{}", said.stderr);
}

#[test]
fn a_model_that_failed_is_tried_again_on_request() {
    let here = workshop("many-retry", 2);
    let bad = plugin("bad");
    let folder = here.join("bad.so");
    fs::copy(bad, &folder).unwrap();
    fs::write(
        here.join("p.toml"),
        "opt_level = 3\nsteps = [{ pass = \"bad.Fault\", options = { fault = \"abort\" } }]\n",
    )
    .unwrap();
    let run = |arguments: &[&str]| {
        let mut run = command();
        run.current_dir(&here).args(["run", "--allow-writable-plugins", "--plugin", "bad.so", "-p", "p.toml"]);
        Run::of(run.args(["in/0.relay", "in/deep/1.relay", "--out-dir", "out"]).args(arguments)).expect_failure()
    };
    run(&[]);
    let found = rows(&here.join("out/relais-results.json"));
    assert_eq!(models(&found, "failed"), ["0.relay", "deep/1.relay"]);
    let error = found[0]["error"].as_str().unwrap();
    assert!(error.contains("plugin `bad-passes 6.6.6`, in pass `bad.Fault`, ended the process (SIGABRT)"), "{error}");
    let journal = here.join("out/relais-journal.jsonl");
    run(&[]);
    assert_eq!(rows(&journal).len(), 2);
    run(&["--retry"]);
    assert_eq!(rows(&journal).len(), 4);
}

#[test]
fn a_failing_pass_is_named_and_its_reproducer_kept() {
    let here = workshop("many-fails", 1);
    fs::copy(plugin("bad"), here.join("bad.so")).unwrap();
    fs::write(
        here.join("p.toml"),
        "opt_level = 3\nsteps = [{ pass = \"bad.Fault\", options = { fault = \"panic\" } }]\n",
    )
    .unwrap();
    let mut run = command();
    run.current_dir(&here).args(["run", "--allow-writable-plugins", "--plugin", "bad.so", "-p", "p.toml"]);
    Run::of(run.args(["in/0.relay", "--out-dir", "out"])).expect_failure();
    let found = rows(&here.join("out/relais-results.json"));
    let error = found[0]["error"].as_str().unwrap();
    assert!(error.starts_with("error") && error.contains("`bad.Fault`"), "{error}");
    assert_eq!(files(&here.join("out")).iter().filter(|name| name.contains("repro")).count(), 1);
}

#[test]
fn a_run_that_was_killed_goes_on() {
    let here = workshop("many-killed", 60);
    let mut killed = command();
    killed.current_dir(&here).args(["run", "--allow-writable-plugins", "--passes", "EliminateNoOp"]);
    let mut killed = killed
        .args((0..60).map(path))
        .args(["--out-dir", "out", "--jobs", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let journal = here.join("out/relais-journal.jsonl");
    let begun = Instant::now();
    while fs::read_to_string(&journal).is_ok_and(|text| text.lines().count() < 3) || !journal.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(1));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    // A line that was not written to its end, and results that were not finished.
    OpenOptions::new().append(true).open(&journal).unwrap().write_all(b"{\"model\": \"0.rel").unwrap();
    fs::create_dir_all(here.join("out/.relais-work/7")).unwrap();
    let n_before = fs::read_to_string(&journal).unwrap().lines().count() - 1;
    assert!(n_before < 60);
    let said = run(&here, &[]).expect_success();
    assert!(said.stdout.matches("known").count() >= n_before.min(3), "{}", said.stdout);
    let noted = rows(&journal);
    let mut names: Vec<&str> = noted.iter().map(|row| row["model"].as_str().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), noted.len()), (60, 60));
    assert!(!here.join("out/.relais-work").exists());
    assert_eq!(files(&here.join("out/deep")).len(), 30);
}

#[test]
fn parts_share_a_folder() {
    let here = workshop("many-parts", 5);
    run(&here, &["--shard", "1/2"]).expect_success();
    run(&here, &["--shard", "2/2"]).expect_success();
    let parts = ["1", "2"].map(|part| rows(&here.join(format!("out/relais-results-{part}-of-2.json"))));
    assert_eq!(parts.each_ref().map(|rows| models(rows, "ok").len()), [3, 2]);
    assert_eq!(files(&here.join("out/deep")).len() + 3, 5);
    for wrong in ["0/2", "3/2", "2", "a/b", "1/0"] {
        let said = run(&here, &["--shard", wrong]);
        assert_eq!(said.status, Some(2), "{wrong}");
        assert!(said.stderr.contains("such as `2/4`"), "{wrong}: {}", said.stderr);
    }
}

#[test]
fn two_runs_do_not_write_one_journal() {
    let here = workshop("many-two", 1);
    fs::create_dir_all(here.join("out")).unwrap();
    let journal = File::create(here.join("out/relais-journal.jsonl")).unwrap();
    journal.lock().unwrap();
    let said = run(&here, &[]).expect_failure();
    assert!(said.stderr.contains("another run writes into `out`"), "{}", said.stderr);
    assert!(!here.join("out/0.relay").exists());
    // Another part has another journal.
    run(&here, &["--shard", "1/1"]).expect_success();
    journal.unlock().unwrap();
    run(&here, &[]).expect_success();
}

#[test]
fn nothing_is_run_where_the_arguments_are_wrong() {
    let here = workshop("many-wrong", 2);
    for (arguments, status, why) in [
        (&["in/0.relay", "nowhere.relay", "--out-dir", "out"][..], 1, "model `"),
        (&["in/0.relay", "in", "--out-dir", "out"], 1, "is a folder"),
        (&["in/0.relay", "--out-dir", "in"], 1, "is in the folder of the results"),
        (&["in/0.relay", "--out-dir", "out", "--passes", "NoSuchPass"], 1, "NoSuchPass"),
        (&["in/0.relay", "in/deep/1.relay", "-o", "out.relay"], 2, "2 models for one output"),
        (&["in/0.relay", "-o", "out.relay", "--retry"], 2, "`--retry` is for many models"),
        (&["in/0.relay", "-o", "out.relay", "--out-dir", "out"], 2, "cannot be used with"),
        (&["in/0.relay", "--out-dir", "out", "--report", "r.json"], 2, "cannot be used with"),
        (&["in/0.relay", "in/deep/1.relay"], 2, "second model"),
    ] {
        let said = Run::of(command().current_dir(&here).arg("run").args(arguments).arg("--allow-writable-plugins"));
        assert_eq!(said.status, Some(status), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{arguments:?}: {}", said.stderr);
        assert_eq!(files(&here), ["in"], "{arguments:?}");
    }
}

#[test]
fn no_other_file_is_replaced_or_removed() {
    let here = workshop("many-links", 1);
    std::os::unix::fs::symlink("in", here.join("link")).unwrap();
    for out in ["link", "in/deep/..", "nowhere/../in"] {
        let mut run = command();
        run.current_dir(&here).args(["run", "--allow-writable-plugins", "--passes", "EliminateNoOp", "in/0.relay"]);
        let said = Run::of(run.args(["--out-dir", out])).expect_failure();
        assert!(said.stderr.contains("is in the folder of the results"), "{out}: {}", said.stderr);
        assert_eq!(fs::read_to_string(here.join("in/0.relay")).unwrap(), text(0), "{out}");
    }
    let mut here_alone = command();
    here_alone.current_dir(here.join("in")).args(["run", "--allow-writable-plugins", "--passes", "EliminateNoOp"]);
    Run::of(here_alone.args(["0.relay", "./0.relay", "../in/0.relay", "--out-dir", "../alone"])).expect_success();
    assert_eq!(files(&here.join("alone")), ["0.relay", "relais-journal.jsonl", "relais-results.json"]);
    assert_eq!(rows(&here.join("alone/relais-journal.jsonl")).len(), 1);
    // A journal that lies.
    run(&here, &[]).expect_success();
    fs::write(here.join("precious"), "").unwrap();
    let journal = here.join("out/relais-journal.jsonl");
    let row = fs::read_to_string(&journal).unwrap().replace("\"0.relay\"],", "\"0.relay\",\"../precious\",\"other\"],");
    assert!(row.contains("precious"), "{row}");
    fs::write(&journal, row).unwrap();
    fs::write(here.join("out/other"), "").unwrap();
    fs::write(here.join("in/0.relay"), text(9)).unwrap();
    run(&here, &[]).expect_success();
    assert!(here.join("precious").exists() && here.join("out/other").exists());
}
