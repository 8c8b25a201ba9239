//! Pipelines that plugins provide, and passes that they add to those of others.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

const MODEL: &str = "def @main(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {\"\": 17}] {
  %a = Identity(%x);
  %b = Neg(%a);
  %c = Neg(%b);
  %y = Relu(%c);
  %y
}
";

/// A folder with a model, and plugins in the folder `plugins` of it.
fn here(name: &str, plugins: &[&str]) -> PathBuf {
    let folder = folder(&format!("from-plugins-{name}"));
    fs::write(folder.join("model.relay"), MODEL).unwrap();
    fs::create_dir(folder.join("plugins")).unwrap();
    for name in plugins {
        let built = plugin(name);
        fs::copy(&built, folder.join("plugins").join(built.file_name().unwrap())).unwrap();
    }
    folder
}

fn relais(here: &Path, args: &str) -> Run {
    let args = args.split(' ').filter(|arg| !arg.is_empty());
    Run::of(command().current_dir(here).env("RELAIS_PLUGIN_PATH", "plugins").args(args))
}

fn run(here: &Path, args: &str) -> Run {
    relais(here, &format!("run model.relay -o out.relay {args}"))
}

/// How often the output of the last run calls `Neg`.
fn n_negations(here: &Path) -> usize {
    fs::read_to_string(here.join("out.relay")).unwrap().matches("Neg(").count()
}

#[test]
fn a_pipeline_of_a_plugin_is_run_by_full_and_by_short_name() {
    let here = here("run", &["tidy"]);
    for name in ["tidy.All", "All", "plugin:tidy.All", "plugin:All"] {
        let said = run(&here, &format!("-p {name} --report {name}.json")).expect_success();
        assert_eq!(n_negations(&here), 0, "{name}: {}", said.stderr);
        let report: Value =
            serde_json::from_str(&fs::read_to_string(here.join(format!("{name}.json"))).unwrap()).unwrap();
        assert!(report["pipeline"].as_str().unwrap().contains("name = \"tidy.All\""), "{name}");
    }
    // A file of the name comes first.
    fs::write(here.join("tidy.All"), "steps = []").unwrap();
    run(&here, "-p tidy.All").expect_success();
    assert_eq!(n_negations(&here), 2);
}

#[test]
fn a_pipeline_of_a_plugin_is_included_and_printed_in_place() {
    let here = here("include", &["tidy"]);
    fs::write(here.join("mine.toml"), "opt_level = 0\nsteps = [\"InferType\", { include = \"tidy.All\" }]\n").unwrap();
    run(&here, "-p mine.toml").expect_success();
    assert_eq!(n_negations(&here), 0);
    let printed = relais(&here, "pipeline print mine.toml").expect_success().stdout;
    for part in [
        "# from `tidy.All` of plugin `tidy 0.3.0`",
        "# from `builtin:O1`",
        "# from `tidy.Inner` of plugin `tidy 0.3.0`",
        "# plugin `tidy 0.3.0` adds it",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    fs::write(here.join("printed.toml"), &printed).unwrap();
    assert_eq!(
        relais(&here, "pipeline print printed.toml").expect_success().stdout.replace("printed", "mine"),
        without_origins(&printed)
    );
    assert!(relais(&here, "pipeline check tidy.All").expect_success().stdout.contains("`tidy.All` is in order"));
}

fn without_origins(printed: &str) -> String {
    printed.lines().filter(|line| !line.trim_start().starts_with('#')).map(|line| format!("{line}\n")).collect()
}

#[test]
fn pipelines_of_plugins_are_listed_and_described() {
    let here = here("list", &["tidy"]);
    let listed = relais(&here, "list pipelines").expect_success().stdout;
    let line = |name: &str| listed.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{listed}"));
    assert!(line("tidy.All ").contains("tidy 0.3.0  Everything that the plugin has, after level 1"), "{listed}");
    assert!(line("O1 ").contains("(built in)  Level 1: removes what does nothing"), "{listed}");
    let json: Value = serde_json::from_str(&relais(&here, "list pipelines --json").expect_success().stdout).unwrap();
    let all = json.as_array().unwrap();
    let tidy = all.iter().find(|it| it["name"] == "tidy.All").unwrap();
    assert_eq!((tidy["plugin"].as_str(), tidy["version"].as_str()), (Some("tidy"), Some("0.3.0")));
    assert_eq!(tidy["text"], include_str!("../../plugins/tidy/src/all.toml"));
    assert!(all.iter().any(|it| it["name"] == "O1" && it["plugin"].is_null()));
    let described = relais(&here, "describe All").expect_success().stdout;
    assert!(described.starts_with("pipeline tidy.All\n  plugin   tidy 0.3.0\n\n# Everything"), "{described}");
    let described = relais(&here, "describe tidy.NegNeg").expect_success().stdout;
    assert!(described.contains("  extends  after-simplify\n"), "{described}");
    assert!(relais(&here, "describe tidy").expect_success().stdout.contains("pipelines   tidy.All, tidy.Inner"));
    let said = relais(&here, "describe tidy.Al").expect_failure().stderr;
    assert!(said.contains("did you mean `tidy.All`"), "{said}");
}

#[test]
fn a_plugin_extends_the_shipped_pipelines_and_it_is_said() {
    let here = here("extend", &["tidy"]);
    let note = "note: plugins add to the pipeline:\n  `tidy.NegNeg` of plugin `tidy 0.3.0` at `after-simplify`\n  \
                help: `--no-extensions` runs it without\n";
    // A shipped pass would remove them, too.
    let run_without = |args: &str| run(&here, &format!("--disable relais.SimplifyExpr {args}"));
    for args in ["", "-O2", "-O3"] {
        let said = run_without(args).expect_success();
        assert!(said.stderr.contains(note), "{args}: {}", said.stderr);
        assert_eq!(n_negations(&here), 0, "{args}");
    }
    // Its level counts, names switch it off, and so does the argument.
    for args in
        ["-O1", "-O0", "--disable tidy.NegNeg", "--disable after-simplify", "--no-extensions", "--passes InferType"]
    {
        let said = run_without(args).expect_success();
        assert!(!said.stderr.contains("add to the pipeline"), "{args}: {}", said.stderr);
        assert_eq!(n_negations(&here), 2, "{args}");
    }
    let said = run(&here, "-q --time-passes").expect_success();
    let times = said.stdout + &said.stderr;
    assert!(times.contains("  after-simplify") && times.contains("    tidy.NegNeg"), "{times}");
    assert!(!times.contains("add to the pipeline"), "{times}");
    run(&here, "-q --report report.json").expect_success();
    let report: Value = serde_json::from_str(&fs::read_to_string(here.join("report.json")).unwrap()).unwrap();
    let expected = serde_json::json!([
        { "point": "after-simplify", "pass": "tidy.NegNeg", "plugin": "tidy", "version": "0.3.0" }
    ]);
    assert_eq!(report["extensions"], expected);
}

#[test]
fn a_file_extends_the_shipped_pipelines_without_touching_them() {
    let here = here("file", &["tidy"]);
    let text = "steps = [{ include = \"builtin:O1\" }]\n\n[extend]\nlast = [{ pass = \"PrintIR\", options = { header = \"mine\" } }]\n";
    fs::write(here.join("mine.toml"), text).unwrap();
    for args in ["-q -p mine.toml", "-q -p mine.toml --no-extensions"] {
        let said = run(&here, args).expect_success();
        assert!(said.stderr.contains("PrintIR(mine)"), "{args}: {}", said.stderr);
    }
    let printed = relais(&here, "pipeline print mine.toml").expect_success().stdout;
    assert!(printed.contains("# `mine.toml` adds it"), "{printed}");
}

#[test]
fn what_is_wrong_with_a_plugins_pipelines_is_told_by_check_and_by_those_that_use_them() {
    let here = here("wrong", &["untidy"]);
    let file = plugin("untidy");
    let checked = Run::of(command().current_dir(&here).args(["plugin", "check"]).arg(&file)).expect_failure().stdout;
    for part in [
        "pipeline untidy.Broken\n\n# Two faults.",
        "pipeline `untidy.Broken` cannot be parsed: untidy.Broken:2:1: unknown key `opt_lvl`",
        "pipeline `untidy.Broken` cannot be parsed: untidy.Broken:3:10: ",
        "help: did you mean `opt_level`?",
        "pass `untidy.Nothing` extends `after-simplfy`, which neither a shipped pipeline nor one of its own has",
        "help: did you mean `after-simplify`?",
        "accepted, with objections",
    ] {
        assert!(checked.contains(part), "{part}: {checked}");
    }
    let json = Run::of(command().args(["plugin", "check", "--json"]).arg(&file)).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let kinds: Vec<&str> =
        json[0]["objections"].as_array().unwrap().iter().filter_map(|it| it["kind"].as_str()).collect();
    for kind in ["malformed-pipeline", "unknown-extension-point"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert_eq!(json[0]["pipelines"].as_array().unwrap().len(), 4);
    for (args, parts) in [
        (
            "-p untidy.Broken",
            &["plugin:untidy.Broken:2:1", "did you mean `opt_level`?", "plugin:untidy.Broken:3:10"][..],
        ),
        ("-p untidy.Cycle", &["error[P008]", "`plugin:untidy.Cycle` includes `untidy.Cycle`"]),
        ("-p untidy.Files", &["no file and no plugin's pipeline is called `../../etc/passwd`", "called `all.toml`"]),
        ("-p untidy.Brokn", &["error[P007]", "did you mean `untidy.Broken`?"]),
        ("-p plugin:untidy.Brokn", &["error[P010]", "did you mean `untidy.Broken`?"]),
    ] {
        let said = run(&here, args).expect_failure().stderr;
        for part in parts {
            assert!(said.contains(part), "{args}: {part}: {said}");
        }
        assert!(!here.join("out.relay").exists());
    }
    // A point that is nowhere is the plugin's mistake, and no reason not to run.
    let said = run(&here, "-O2").expect_success().stderr;
    let warning = "warning: pass `untidy.Nothing` of plugin `untidy 0.1.0` extends `after-simplfy`, which no pipeline has; did it mean `after-simplify`?";
    assert!(said.contains(warning), "{said}");
}

#[test]
fn an_analysis_of_two_plugins_is_a_conflict_until_a_file_chooses() {
    let here = here("clash-of-analyses", &["guide", "rules"]);
    let steps = "steps = [{ pass = \"acme.AskByName\", options = { name = \"acme.Depth\" } }]\n";
    let run_with = |plugins: &str| {
        fs::write(here.join("p.toml"), format!("{steps}{plugins}")).unwrap();
        run(&here, "-v -p p.toml --no-reproducer")
    };
    let said = run_with("").expect_failure().stderr;
    assert!(said.contains("analysis `acme.Depth` is provided more than once"), "{said}");
    for (plugin, other) in [("acme-guide", "acme-rules"), ("acme-rules", "acme-guide")] {
        let said =
            run_with(&format!("[plugins]\n{plugin} = {{ analyses = [\"acme.Depth\"] }}\n")).expect_success().stderr;
        assert!(said.contains("acme.Depth: ") && said.contains("numbers in `depth`"), "{said}");
        let said = relais(&here, "pipeline print p.toml").expect_success().stdout;
        assert!(said.contains(&format!("\"{plugin}\" = {{ version = \"*\", analyses = [\"acme.Depth\"] }}")), "{said}");
        assert!(!said.contains(other), "{said}");
    }
}

#[test]
fn a_name_of_two_plugins_is_a_conflict_until_a_file_chooses() {
    let here = here("clash", &["tidy", "untidy"]);
    let said = run(&here, "-q -p tidy.All").expect_failure().stderr;
    assert!(said.contains("error[P011]: several plugins provide pipeline `tidy.All`"), "{said}");
    assert!(said.contains("`tidy 0.3.0`") && said.contains("`untidy 0.1.0`"), "{said}");
    fs::write(here.join("unsure.toml"), "steps = [{ include = \"tidy.All\" }]").unwrap();
    assert!(run(&here, "-q -p unsure.toml").expect_failure().stderr.contains("unsure.toml:1:22"));
    // Neither of them is in the way of others.
    run(&here, "-q -p tidy.Inner").expect_success();
    let choose = "steps = [{ include = \"tidy.All\" }]\n[plugins]\ntidy = { pipelines = [\"tidy.All\"], passes = [\"tidy.Check\"] }\n";
    fs::write(here.join("chosen.toml"), choose).unwrap();
    let said = run(&here, "-p chosen.toml").expect_success();
    assert!(said.stderr.contains("checked"), "{}", said.stderr);
    assert_eq!(n_negations(&here), 0);
    // The pass that both add is also a conflict if only the pipeline is chosen.
    let choose = choose.replace(", passes = [\"tidy.Check\"]", "");
    fs::write(here.join("half.toml"), choose).unwrap();
    let said = run(&here, "-p half.toml").expect_failure().stderr;
    assert!(
        said.contains("several plugins provide `tidy.Check`") && said.contains("it extends `tidy-checks`"),
        "{said}"
    );
    run(&here, "-q -p half.toml --no-extensions").expect_success();
    assert!(
        relais(&here, "describe tidy.All")
            .expect_failure()
            .stderr
            .contains("pipeline `tidy.All` is provided more than once")
    );
}
