//! Several plugins whose passes have the same names (rule R4).

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

const MODEL: &str = "def @main(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {\"\": 17}] {
  %a = Identity(%x);
  %y = Relu(%a);
  %y
}
";

/// A folder with a model, and the plugin `rival` in its folder `plugins`: it has `acme.FoldConstant` and
/// `acme.InferType`, which fail when they are run.
fn here(name: &str) -> PathBuf {
    let folder = folder(&format!("names-{name}"));
    fs::write(folder.join("model.relay"), MODEL).unwrap();
    fs::create_dir(folder.join("plugins")).unwrap();
    let built = plugin("rival");
    fs::copy(&built, folder.join("plugins").join(built.file_name().unwrap())).unwrap();
    folder
}

fn relais(here: &Path, args: &[&str]) -> Run {
    Run::of(command().current_dir(here).env("RELAIS_PLUGIN_PATH", "plugins").args(args))
}

fn run(here: &Path, args: &[&str]) -> Run {
    relais(here, &[&["run", "model.relay", "-o", "out.relay"], args].concat())
}

#[test]
fn r04_the_short_names_of_shipped_passes_in_a_plugin_break_no_shipped_pipeline() {
    let here = here("shipped");
    for args in [&[][..], &["-O1"], &["-O2"], &["-O3"], &["--passes", "EliminateNoOp"], &["--passes", "FoldScaleAxis"]]
    {
        run(&here, args).expect_success();
    }
    assert!(!fs::read_to_string(here.join("out.relay")).unwrap().is_empty());
}

#[test]
fn r04_an_ambiguous_short_name_says_what_it_may_mean_and_how_to_choose() {
    let here = here("ambiguous");
    for args in [&["--passes", "FoldConstant"][..], &["--disable", "FoldConstant"], &["--require", "FoldConstant"]] {
        let said = run(&here, args).expect_failure().stderr;
        for part in [
            "`FoldConstant` can mean several passes",
            "`acme.FoldConstant` of plugin `acme-rival`",
            "`relais.FoldConstant` of plugin `relais-graph`",
            "write `acme.FoldConstant` or `relais.FoldConstant`",
            "`[plugins]`",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    run(&here, &["--passes", "relais.FoldConstant"]).expect_success();
    run(&here, &["--passes", "relay._transform.FoldConstant,relax.transform.FoldConstant"]).expect_success();
    let said = run(&here, &["--passes", "acme.FoldConstant"]).expect_failure().stderr;
    assert!(said.contains("the rival folds nothing"), "{said}");
}

#[test]
fn r04_the_plugins_table_says_which_pass_a_short_name_means() {
    let here = here("table");
    let pipeline = |plugin: &str, pass: &str| {
        let text = format!("steps = [\"FoldConstant\"]\n[plugins]\n{plugin} = {{ passes = [\"{pass}\"] }}\n");
        fs::write(here.join("p.toml"), text).unwrap();
        run(&here, &["-p", "p.toml"])
    };
    for pass in ["FoldConstant", "relais.FoldConstant", "relay._transform.FoldConstant"] {
        match pass {
            "FoldConstant" => _ = pipeline("relais-graph", pass).expect_success(),
            // The name that is then chosen is the full name, which is unique.
            _ => assert!(pipeline("relais-graph", pass).expect_failure().stderr.contains("can mean several passes")),
        }
    }
    let said = pipeline("acme-rival", "FoldConstant").expect_failure().stderr;
    assert!(said.contains("the rival folds nothing"), "{said}");
    let said = pipeline("acme-rival", "EliminateNoOp").expect_failure().stderr;
    assert!(said.contains("plugin `acme-rival` does not provide pass `EliminateNoOp`"), "{said}");
}

#[test]
fn r04_installing_a_plugin_warns_of_short_names_that_become_ambiguous() {
    let here = here("install");
    let home = here.join("home");
    let install = |name: &str| {
        let file = plugin(name);
        let mut command = command();
        command.current_dir(&here).env("RELAIS_HOME", &home).args(["plugin", "install"]).arg(file);
        Run::of(&mut command).expect_success().stderr
    };
    let said = install("rival");
    for short in ["FoldConstant", "InferType"] {
        let warning = format!("`{short}` can mean several passes now: `acme.{short}` of plugin `acme-rival`");
        assert!(said.contains(&warning), "{said}");
    }
    assert!(said.contains("help: write `acme.FoldConstant` or `relais.FoldConstant`"), "{said}");
    let said = install("tidy");
    assert!(!said.contains("can mean several passes"), "{said}");
}
