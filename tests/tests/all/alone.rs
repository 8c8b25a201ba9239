//! The program alone does the main job: copied away from its plugins, it has those that are shipped.

use relais_tests::{
    cargo_built::workspace,
    cli::{Run, folder},
    venv::models,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The program in an empty folder, for a user whose home is empty.
struct Alone {
    here: PathBuf,
    program: PathBuf,
}

impl Alone {
    fn new(name: &str) -> Self {
        let here = folder(name);
        let bin = here.join("bin");
        fs::create_dir_all(here.join("home")).unwrap();
        fs::create_dir_all(&bin).unwrap();
        let program = bin.join(workspace().relais.file_name().unwrap());
        fs::copy(&workspace().relais, &program).unwrap();
        Self { here, program }
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let mut program = Command::new(&self.program);
        program.current_dir(&self.here).env_clear().env("HOME", self.here.join("home"));
        Run::of(program.args(arguments))
    }

    /// The rows of `relais list plugins` about the plugin of the graph passes.
    fn rows(&self) -> Vec<String> {
        let said = self.run(&["list", "plugins"]).expect_success();
        said.stdout.lines().filter(|line| line.starts_with("relais-graph ")).map(str::to_owned).collect()
    }
}

/// The shipped plugin of the graph passes.
fn graph() -> &'static Path {
    let is_graph = |path: &&PathBuf| path.to_string_lossy().contains("relais_graph");
    workspace().plugins.iter().find(is_graph).unwrap()
}

#[test]
fn the_program_alone_optimises_a_real_model() {
    let alone = Alone::new("alone-model");
    let model = models().folder.join("light/resnet50/model.onnx");
    let model = model.to_str().unwrap();
    let said = alone.run(&["run", model, "-o", "out.onnx"]).expect_success();
    let row = |name: &str| {
        let line = said.stdout.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        (numbers[0], numbers[1])
    };
    let (before, after) = row("total nodes");
    assert!(after < before, "{}", said.stdout);
    let (before, after) = row("BatchNormalization");
    assert!(after < before, "{}", said.stdout);
    assert!(alone.rows().iter().any(|row| row.contains(" linked ")), "{:?}", alone.rows());
}

#[test]
fn a_file_of_a_linked_plugin_takes_its_place_unless_it_is_older() {
    let alone = Alone::new("alone-beside");
    fs::copy(graph(), alone.program.with_file_name(graph().file_name().unwrap())).unwrap();
    let rows = alone.rows();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows[0].contains(".so") && !rows[0].contains("not used"), "{rows:?}");
    assert!(rows[1].contains("linked") && rows[1].contains("not used"), "{rows:?}");
    fs::write(alone.here.join("m.relay"), "def @main(%x) { Relu(%x) }\n").unwrap();
    let run = ["run", "m.relay", "-o", "o.relay", "--passes", "EliminateNoOp"];
    alone.run(&run).expect_success();
    alone.run(&["lock", "-o", "file.lock", "--passes", "EliminateNoOp"]).expect_success();
    let lock = fs::read_to_string(alone.here.join("file.lock")).unwrap();
    assert!(lock.contains("librelais_graph.so"), "{lock}");
    alone.run(&["run", "m.relay", "-o", "o.relay", "--passes", "EliminateNoOp", "--locked=file.lock"]).expect_success();
    // An older build of it is not the one that runs.
    let bytes = fs::read(graph()).unwrap();
    let older = relais_tests::many::with_version(&bytes, "0.0.9");
    fs::write(alone.program.with_file_name(graph().file_name().unwrap()), older).unwrap();
    let rows = alone.rows();
    assert!(rows[0].contains("linked") && !rows[0].contains("not used"), "{rows:?}");
    assert!(rows[1].contains("0.0.9") && rows[1].contains("not used"), "{rows:?}");
    alone.run(&run).expect_success();
    let said = alone.run(&["run", "m.relay", "-o", "o.relay", "--passes", "EliminateNoOp", "--locked=file.lock"]);
    assert!(said.expect_failure().stderr.contains("relais-graph"));
}
