//! A program outside this workspace embeds the host: its tests, with plugins that are built and loaded, pass.

use relais_tests::{
    cargo_built::{author_cargo, plugin, workspace},
    cli::Run,
};
use std::{env, path::Path};

#[test]
#[ignore = "builds the host outside the workspace; `.ci/full variants` runs it"]
fn a_program_outside_the_workspace_runs_the_examples_of_tvms_documentation() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("embedder");
    let plugins = env::join_paths(workspace().plugins.iter().cloned().chain([plugin("rules")])).unwrap();
    let mut cargo = author_cargo();
    cargo.args(["test", "--quiet", "--manifest-path"]).arg(folder.join("Cargo.toml")).env("EMBEDDER_PLUGINS", plugins);
    let said = Run::of(&mut cargo).expect_success().stdout;
    assert!(said.contains("8 passed"), "{said}");
}
