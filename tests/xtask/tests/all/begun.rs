//! A pass that is begun builds, and its filetest passes.

use crate::command_line::xtask;
use relais_tests::{
    cargo_built::{library, lock_versions},
    cli::{Run, command, files, folder},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

const LIBRARY: &str = "//! Passes.\n\nuse relais_plugin_api::prelude::*;\n\nmod axes;\npub mod rewrite;\n\n\
                       plugin! { description = \"Passes.\" }\n";

/// A folder with as much of the repository as the command looks at.
fn repository(name: &str) -> PathBuf {
    let here = folder(name);
    let source = here.join("plugins/graph/src");
    for folder in [&here.join(".ci"), &source] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(here.join(".ci/run"), "").unwrap();
    fs::write(source.join("lib.rs"), LIBRARY).unwrap();
    for module in ["axes", "rewrite"] {
        fs::write(source.join(module).with_extension("rs"), "").unwrap();
    }
    here
}

#[test]
fn a_pass_that_is_begun_does_nothing() {
    let here = repository("xtask-new-pass");
    for arguments in [&["FuseGelu"][..], &["CountConv2D", "--kind", "function"], &["--kind", "module", "ToSSA"]] {
        xtask(&here, &[&["new-pass"], arguments].concat()).expect_success();
    }
    let plugin = here.join("plugins/graph");
    let modules = fs::read_to_string(plugin.join("src/lib.rs")).unwrap();
    let lines: Vec<&str> = modules.lines().filter(|line| line.contains("mod ")).collect();
    let expected = ["mod axes;", "pub mod count_conv2d;", "pub mod fuse_gelu;", "pub mod rewrite;", "pub mod to_ssa;"];
    assert_eq!(lines, expected);
    assert_eq!(files(&here.join("tests/filetests")), ["CountConv2D", "FuseGelu", "ToSSA"]);
    // As a plugin of its own: the namespace is that of this repository.
    for file in files(&plugin.join("src")) {
        let file = plugin.join("src").join(file);
        let source = fs::read_to_string(&file).unwrap();
        assert!(!source.contains("{{"), "{source}");
        fs::write(&file, source.replace("\"relais.", "\"begun.")).unwrap();
    }
    let api = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin-api").canonicalize().unwrap();
    let manifest = format!(
        "[workspace]\n\n[package]\nname = \"begun\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\ncrate-type = [\"cdylib\"]\n\n\
         [lints.rust]\nwarnings = \"deny\"\n\n[dependencies]\nrelais-plugin-api = {{ path = {api:?} }}\n"
    );
    fs::write(plugin.join("Cargo.toml"), manifest).unwrap();
    lock_versions(&plugin);
    let mut filetests = command();
    filetests.arg("filetest").arg(here.join("tests/filetests")).arg("--plugin").arg(library(&plugin));
    assert_eq!(Run::of(filetests.arg("--allow-writable-plugins")).expect_success().stdout, "3 cases: 3 passed\n");
}

#[test]
fn what_is_there_is_left_alone() {
    let here = repository("xtask-there");
    let library = || fs::read_to_string(here.join("plugins/graph/src/lib.rs")).unwrap();
    let said = xtask(&here, &["new-pass", "Rewrite"]).expect_failure().stderr;
    assert!(said.contains("error: `plugins/graph/src/rewrite.rs` is there already\n  help: "), "{said}");
    let said = xtask(&here, &["new-pass", "Fuse", "--plugin", "grahp"]).expect_failure().stderr;
    assert!(said.contains("error: there is no plugin `grahp`\n  help: "), "{said}");
    fs::create_dir_all(here.join("tests/filetests/Fuse")).unwrap();
    fs::write(here.join("tests/filetests/Fuse/other_calls_stay.relay"), "mine").unwrap();
    xtask(&here, &["new-pass", "Fuse"]).expect_failure();
    assert_eq!(library(), LIBRARY);
    assert_eq!(files(&here.join("plugins/graph/src")), ["axes.rs", "lib.rs", "rewrite.rs"]);
}
