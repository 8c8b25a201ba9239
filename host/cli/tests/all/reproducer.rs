//! Failing passes leave reproducers, and these fail again.

use crate::common;
use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

/// A model with a constant that is written to a side file.
fn model() -> String {
    let weights = (0..64).map(|n| format!("{n}.5")).collect::<Vec<_>>().join(", ");
    format!(
        "def @main(%x: Tensor[(64,), float32]) {{ %w = const(float32, [{weights}]); \
         %y = Relu(%x); %z = Relu(%y); %s = Add(%z, %w); %s }}\n"
    )
}

/// Twelve steps; the seventh fails, and the second and eighth change the module.
fn pipeline(policy: &str) -> String {
    let steps = ["Nothing", "ReluRelu", "Nothing", "Nothing", "Nothing", "Nothing", "BAD", "NAME", "Nothing"];
    let steps = steps.iter().chain(&["Nothing"; 3]).map(|name| match *name {
        "BAD" => "{ scope = [{ pass = \"Bad\", options = { fault = \"error\" } }], config = { \"sample.depth\" = 4 } }"
            .into(),
        "NAME" => "{ pass = \"Rename\", options = { prefix = \"named\" } }".into(),
        name => format!("\"{name}\""),
    });
    let steps = steps.collect::<Vec<String>>().join(", ");
    format!("dependencies = \"assumed\"\non_failure = \"{policy}\"\ninstruments = [\"timing\"]\nsteps = [{steps}]\n")
}

fn relais(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relais"));
    command.current_dir(folder).args(args).env("RELAIS_PLUGIN_PATH", "").env("NO_COLOR", "1");
    command.env("RELAIS_HOME", folder.join("home"));
    command.args(["--plugin", common::SAMPLE.to_str().unwrap(), "--allow-writable-plugins"]).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn workshop(name: &str, policy: &str) -> std::path::PathBuf {
    let folder = common::folder(&format!("reproducer-{name}"));
    fs::write(folder.join("m.relay"), model()).unwrap();
    fs::write(folder.join("p.toml"), pipeline(policy)).unwrap();
    folder
}

const RUN: &[&str] = &["run", "m.relay", "-o", "out.relay", "-p", "p.toml"];

#[test]
fn r25_a_skipped_failure_at_step_7_of_12_leaves_what_it_should_and_replays() {
    let folder = workshop("skip", "skip");
    let output = relais(&folder, &[RUN, &["--report", "r.json", "--trace", "t.json"]].concat());
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("the run goes on without it") && said.contains("`out.relay.repro` is a reproducer"),
        "{said}"
    );
    let text = fs::read_to_string(folder.join("out.relay")).unwrap();
    assert!(text.matches("Relu(").count() == 1 && text.contains("%named0 = Relu("), "{text}");
    let report: Value = serde_json::from_slice(&fs::read(folder.join("r.json")).unwrap()).unwrap();
    let fates: Vec<&str> =
        report["run"]["passes"].as_array().unwrap().iter().map(|it| it["fate"].as_str().unwrap()).collect();
    assert_eq!(fates.len(), 12);
    assert_eq!((fates[1], fates[6], fates[7]), ("changed", "failed", "changed"));
    assert_eq!(report["reproducers"][0], "out.relay.repro");
    let trace: Value = serde_json::from_slice(&fs::read(folder.join("t.json")).unwrap()).unwrap();
    let passes = trace["traceEvents"].as_array().unwrap().iter().filter(|it| it["cat"] == "pass");
    assert_eq!(passes.count(), 12);
    // The module just before the seventh step: the second has run, the eighth has not.
    let module = fs::read_to_string(folder.join("out.relay.repro/module.relay")).unwrap();
    assert!(module.matches("Relu(").count() == 1 && !module.contains("named"), "{module}");
    assert!(folder.join("out.relay.repro/module.relay.safetensors").exists());
    let pipeline = fs::read_to_string(folder.join("out.relay.repro/pipeline.toml")).unwrap();
    assert!(
        pipeline.contains("sample.Bad") && !pipeline.contains("Nothing") && !pipeline.contains("timing"),
        "{pipeline}"
    );
    assert!(pipeline.contains("\"sample.depth\" = 4"), "{pipeline}");
    let output = relais(&folder, &["replay", "out.relay.repro"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("pass `sample.Bad` of plugin `sample-passes` 1.2.3 failed: `x` has no shape"), "{said}");
    assert!(said.contains("this is the error that was recorded") && !said.contains("not as it was"), "{said}");
    // It is a pipeline and a model like any other.
    let args = [
        "run",
        "out.relay.repro/module.relay",
        "-o",
        "o.relay",
        "-p",
        "out.relay.repro/pipeline.toml",
        "--no-reproducer",
    ];
    assert!(stderr(&relais(&folder, &args)).contains("`x` has no shape"));
}

#[test]
fn r25_a_failing_run_writes_nothing_but_the_reproducer_and_overwrites_none() {
    let folder = workshop("fail", "fail");
    let first = relais(&folder, RUN);
    assert_eq!(first.status.code(), Some(1));
    assert!(
        stderr(&first).contains("nothing was written\n  note: `out.relay.repro` is a reproducer"),
        "{}",
        stderr(&first)
    );
    assert!(stderr(&first).contains("relais replay out.relay.repro --plugin "), "{}", stderr(&first));
    let facts = fs::read(folder.join("out.relay.repro/reproducer.json")).unwrap();
    let second = relais(&folder, RUN);
    assert!(stderr(&second).contains("`out.relay.repro2` is a reproducer"), "{}", stderr(&second));
    assert_eq!(fs::read(folder.join("out.relay.repro/reproducer.json")).unwrap(), facts);
    let third = relais(&folder, &[RUN, &["--reproducer-dir", "deep/er"]].concat());
    assert!(stderr(&third).contains("`deep/er/out.relay.repro` is a reproducer"), "{}", stderr(&third));
    let fourth = relais(&folder, &[RUN, &["--no-reproducer"]].concat());
    assert!(!stderr(&fourth).contains("reproducer"), "{}", stderr(&fourth));
    let mut names: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["deep", "m.relay", "out.relay.repro", "out.relay.repro2", "p.toml"]);
    // If it cannot be written, that is a warning: the failure itself matters more.
    fs::write(folder.join("file"), "").unwrap();
    let fifth = relais(&folder, &[RUN, &["--reproducer-dir", "file"]].concat());
    let said = stderr(&fifth);
    assert!(said.contains("warning: no reproducer was written") && said.contains("`x` has no shape"), "{said}");
}

#[test]
fn r25_a_replay_says_what_is_different() {
    let folder = workshop("different", "fail");
    assert!(!relais(&folder, RUN).status.success());
    let path = folder.join("out.relay.repro/reproducer.json");
    let mut facts: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    // Those beside the program are also there, if there are any.
    let at = facts["plugins"].as_array().unwrap().iter().position(|it| it["name"] == "sample-passes").unwrap();
    let plugin = &facts["plugins"][at];
    assert_eq!((&plugin["name"], &plugin["version"]), (&"sample-passes".into(), &"1.2.3".into()));
    assert_eq!(plugin["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(facts["host"], env!("CARGO_PKG_VERSION"));
    facts["plugins"][at]["sha256"] = "00".into();
    facts["error"]["message"] = "another".into();
    fs::write(&path, facts.to_string()).unwrap();
    let said = stderr(&relais(&folder, &["replay", "out.relay.repro/reproducer.json"]));
    assert!(said.contains("plugin `sample-passes` was another build of the same version"), "{said}");
    assert!(said.contains("note: another error was recorded: another"), "{said}");
    // A pass that was fixed.
    let pipeline = folder.join("out.relay.repro/pipeline.toml");
    let mended = fs::read_to_string(&pipeline).unwrap().replace("\"error\"", "\"print\"");
    fs::write(&pipeline, mended).unwrap();
    let output = relais(&folder, &["replay", "out.relay.repro"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("`sample.Bad` no longer fails"));
    // Without its plugin it reports that it is missing.
    let mut command = Command::new(env!("CARGO_BIN_EXE_relais"));
    command.current_dir(&folder).args(["replay", "out.relay.repro"]);
    let output = command.env("RELAIS_PLUGIN_PATH", "").env("RELAIS_HOME", folder.join("home")).output();
    let said = stderr(&output.unwrap());
    assert!(said.contains("plugin `sample-passes` 1.2.3 was there, from `"), "{said}");
}

#[test]
fn r25_panics_replay_as_well() {
    let folder = workshop("panic", "fail");
    let args = ["run", "m.relay", "-o", "out.relay", "--passes", "ReluRelu,Bad", "--set", "Bad.fault=formatted"];
    assert!(!relais(&folder, &args).status.success());
    let said = stderr(&relais(&folder, &["replay", "out.relay.repro"]));
    assert!(said.contains("formatted 42") && said.contains("this is the error that was recorded"), "{said}");
}

#[test]
fn reproducers_that_are_damaged_are_refused() {
    let folder = workshop("damaged", "fail");
    assert!(!relais(&folder, RUN).status.success());
    for (file, text, why) in [
        ("module.relay", "def", "cannot be read"),
        ("pipeline.toml", "steps = 3", "must be an array"),
        ("reproducer.json", "{", "does not describe a reproducer"),
    ] {
        let path = folder.join("out.relay.repro").join(file);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, text).unwrap();
        let output = relais(&folder, &["replay", "out.relay.repro"]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        assert!(stderr(&output).contains(why), "{file}: {}", stderr(&output));
        fs::write(&path, whole).unwrap();
    }
}
