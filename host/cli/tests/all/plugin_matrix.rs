//! Plugins of other builds: `relais plugin check` checks each from its record, without opening it.
//!
//! Those for other systems are in `plugin_foreign.rs`, those with damaged records in `plugin_file.rs`.

use crate::common::*;
use relais_plugin_api::boundary::{
    fingerprint::FINGERPRINT,
    record::{BOUNDARY, BoundaryVersion},
};
use serde_json::Value;
use std::{fs, path::Path, process::Command};

/// Returns the output of a check of a plugin that leaves a mark when it is opened.
fn check(plugin: &Path) -> Value {
    let mark = plugin.with_file_name("opened");
    let mut relais = Command::new(env!("CARGO_BIN_EXE_relais"));
    relais.args(["plugin", "check", "--no-open", "--json", "--allow-writable-plugins"]).arg(plugin);
    relais.env("RELAIS_TEST_MARK", &mark).env("RELAIS_HOME", plugin.with_file_name("home"));
    let output = relais.env_remove("RELAIS_PLUGIN_PATH").output().unwrap();
    assert!(!mark.exists(), "such a check opens nothing");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let is_accepted = said[0]["verdict"] == "accepted";
    assert_eq!(output.status.code(), Some(i32::from(!is_accepted)), "{said}");
    said[0].clone()
}

/// The plugin is accepted, and works.
fn accepted(plugin: &Path) -> Value {
    let said = check(plugin);
    assert_eq!((&said["verdict"], &said["objections"]), (&"accepted".into(), &Value::Array(Vec::new())), "{said}");
    assert_eq!(said["plugin"]["fingerprint"], format!("{FINGERPRINT:016x}"));
    let registry = registry(&[plugin]);
    assert_eq!(registry.refused(), []);
    assert!(run(&registry, "mark.Nothing", &table(&[]), &chain(&["Relu"])).is_ok());
    said
}

/// The plugin is refused for one reason only: the message, the side that has to change, and the suggestion.
fn refused(plugin: &Path, says: &str, mover: &str, help: &str) -> Value {
    let said = check(plugin);
    assert_eq!((&said["verdict"], said["objections"].as_array().unwrap().len()), (&"refused".into(), 1), "{said}");
    let objection = &said["objections"][0];
    assert_eq!(objection["to_change"], mover, "{said}");
    assert!(objection["message"].as_str().unwrap().contains(says), "{says}: {said}");
    assert!(objection["help"].as_str().unwrap().contains(help), "{help}: {said}");
    // Others are as usable as ever.
    let registry = registry(&[plugin, &SAMPLE]);
    assert_eq!(registry.refused().len(), 1);
    assert!(run(&registry, "sample.Nothing", &table(&[]), &chain(&[])).is_ok());
    said
}

const VERSION: &str = "plugin-api/boundary/src/record.rs";

/// The change that makes the boundary another version.
fn version(version: BoundaryVersion) -> [String; 2] {
    [BOUNDARY, version].map(|BoundaryVersion { major, minor, patch }| {
        format!("= BoundaryVersion {{ major: {major}, minor: {minor}, patch: {patch} }};")
    })
}

/// The changes that make the boundary a later version, with an entry more at the end of each table.
fn grown_api(later: BoundaryVersion) -> Vec<(&'static str, String, String)> {
    const ABI: &str = "plugin-api/boundary/src/abi.rs";
    const HOST: &str = "plugin-api/ops/src/abi.rs";
    const INSTRUMENT: &str = "plugin-api/boundary/src/abi/instrument.rs";
    const ENTRY: &str = "plugin-api/boundary/src/entry.rs";
    const ENTRY_OF_PASS: &str = "plugin-api/boundary/src/entry/pass.rs";
    const ENTRY_OF_INSTRUMENT: &str = "plugin-api/boundary/src/entry/instrument.rs";
    let [from, to] = version(later);
    let mut changes = vec![(VERSION, from, to)];
    let mut after = |file, text: &str, more: &str| changes.push((file, text.to_owned(), format!("{text}{more}")));
    let field = "\n    /// Later.\n    pub later: extern \"C\" fn() -> u64,";
    let value = "\n    later: { extern \"C\" fn later() -> u64 { 42 } later },";
    let plugins = [
        (ABI, ENTRY_OF_PASS, "PassVTable"),
        (ABI, ENTRY, "Plugin"),
        (INSTRUMENT, ENTRY_OF_INSTRUMENT, "InstrumentVTable"),
    ];
    let last = |table: &str| {
        let source = include_str!("../../../../plugin-api/boundary/src/abi.rs").to_owned();
        let source = source + include_str!("../../../../plugin-api/boundary/src/abi/instrument.rs");
        let source = source + include_str!("../../../../plugin-api/ops/src/abi.rs");
        let begin = source.find(&format!("pub struct {table} {{")).unwrap();
        let fields = &source[begin..begin + source[begin..].find("\n}").unwrap()];
        fields[fields.rfind("    pub ").unwrap()..].to_owned()
    };
    for (file, made, table) in plugins {
        after(file, &last(table), field);
        after(made, &format!("WithMetadata::new({table} {{"), value);
    }
    after("plugin-api/boundary/src/foreign.rs", "WithMetadata::new(PassVTable {", value);
    after(ABI, &last("HostSetup"), field);
    after(HOST, &last("HostApi"), field);
    after("plugin-api/boundary/src/local.rs", "WithMetadata::new(HostApi {", value);
    after(INSTRUMENT, &last("HookApi"), field);
    after("plugin-api/boundary/src/local/instrument.rs", "WithMetadata::new(HookApi {", value);
    let ask = format!(
        "\n    #[expect(missing_docs)]\n    pub fn later(self) -> Result<u64, PassError> {{\n        \
         const SINCE: BoundaryVersion = BoundaryVersion {{ major: {}, minor: {}, patch: {} }};\n        \
         Ok(entry!(self.host.later(), \"later\", SINCE)?())\n    }}\n",
        later.major, later.minor, later.patch
    );
    after(HOST, "impl<'a> CallCx<'a> {", &ask);
    let ask = "\n    #[expect(missing_docs)]\n    pub fn later(&self) -> Result<u64, PassError> {\n        \
               self.call.later()\n    }\n";
    after("plugin-api/boundary/src/pass.rs", "impl<'a> PassCx<'a> {", ask);
    changes
}

/// The change that gives `mark` a pass that asks for the host's later entry.
fn asking_pass() -> (&'static str, String, String) {
    let pass = "\n/// Asks for what the host may lack.\n#[module_pass(name = \"mark.Later\")]\n\
                fn later(_: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {\n    \
                assert_eq!(cx.later()?, 42);\n    Ok(())\n}\n\n/// Does nothing.";
    ("mark/src/lib.rs", "/// Does nothing.".into(), pass.to_owned())
}

#[test]
#[ignore = "rebuilds the boundary; `.ci/full variants` runs it"]
fn a_later_boundary() {
    let [from, to] = version(BoundaryVersion { major: 0, minor: BOUNDARY.minor + 1, patch: 0 });
    let plugin = plugin_of_another_api("later", &[(VERSION, &from, &to)], &[]);
    refused(&plugin, "of the plugin boundary, and this host takes", "host", "cargo install relais-opt");
}

/// A plugin may be built for a later version of the series and call nothing of it, or say that it can do without.
#[test]
#[ignore = "rebuilds the boundary; `.ci/full variants` runs it"]
fn a_later_boundary_of_which_nothing_is_needed() {
    let later = BoundaryVersion { patch: BOUNDARY.patch + 1, ..BOUNDARY };
    let mut changes = grown_api(later);
    let plain = changes.clone();
    let plain: Vec<_> = plain.iter().map(|(file, from, to)| (*file, &**from, &**to)).collect();
    // As debug builds keep it, and as optimised ones, which have less code, do.
    for (name, args) in [("grown", &[][..]), ("grown-release", &["--release"])] {
        let said = accepted(&plugin_of_another_api(name, &plain, args));
        let versions = (&said["plugin"]["boundary"], &said["plugin"]["needs"]);
        assert_eq!(versions, (&later.to_string().into(), &"0.3.0".into()));
    }
    changes.push(asking_pass());
    let changes: Vec<_> = changes.iter().map(|(file, from, to)| (*file, &**from, &**to)).collect();
    refused(
        &plugin_of_another_api("grown-needed-release", &changes, &["--release"]),
        &format!("it was built for version {later} of the plugin boundary, and this host takes"),
        "host",
        "update the host: `cargo install relais-opt`",
    );
    let needing_all = refused(
        &plugin_of_another_api("grown-needed", &changes, &[]),
        &format!("it was built for version {later} of the plugin boundary, and this host takes"),
        "host",
        "update the host: `cargo install relais-opt`; or build the plugin with the feature `api-0-3`",
    );
    assert_eq!(needing_all["plugin"]["needs"], later.to_string());
    let api = "relais-plugin-api = { path = \"../plugin-api\"";
    let feature = format!("{api}, features = [\"api-0-3\"]");
    let changes = [&[("mark/Cargo.toml", api, &*feature)], &*changes].concat();
    let plugin = plugin_of_another_api("grown-unneeded", &changes, &[]);
    let said = accepted(&plugin);
    assert_eq!((&said["plugin"]["boundary"], &said["plugin"]["needs"]), (&later.to_string().into(), &"0.3.0".into()));
    // The missing entry is an error of the one pass that requests it.
    let error = run(&registry(&[&plugin]), "mark.Later", &table(&[]), &chain(&["Relu"])).err().expect("it lacks one");
    let says = format!("this host has no `later`: it came with version {later} of the plugin boundary");
    assert!(error.to_string().contains(&says), "{error}");
}

/// Tables without the entries that came after the first version: the pass works.
#[test]
#[ignore = "rebuilds the boundary; `.ci/full variants` runs it"]
fn a_shorter_table() {
    const ABI: &str = "plugin-api/boundary/src/abi.rs";
    const MADE: [&str; 2] = ["plugin-api/boundary/src/entry/pass.rs", "plugin-api/boundary/src/foreign.rs"];
    let source = include_str!("../../../../plugin-api/boundary/src/abi.rs");
    let table = &source[source.find("pub struct PassVTable {").unwrap()..];
    let table = &table[..table.find("\n}").unwrap()];
    let later = &table[table.find("#[sabi(last_prefix_field)]").unwrap()..];
    let later = &later[later.find(",\n").unwrap() + 2..];
    let mut changes = vec![(ABI, later.to_owned(), String::new())];
    for field in later.split("    pub ").skip(1) {
        let (name, ty) = field.split_once(": ").unwrap();
        let ty = ty.split("    ///").next().unwrap().trim_end().trim_end_matches(',');
        changes.push((ABI, format!("self.vtable.{name}()"), format!("None::<{ty}>")));
        for file in MADE {
            let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)).unwrap();
            let of_table = &source[source.find("WithMetadata::new(PassVTable {").unwrap()..];
            let line = of_table.lines().find(|line| line.trim_start().starts_with(&format!("{name}: "))).unwrap();
            changes.push((file, format!("{line}\n"), String::new()));
        }
    }
    let changes: Vec<_> = changes.iter().map(|(file, from, to)| (*file, &**from, &**to)).collect();
    accepted(&plugin_of_another_api("shorter", &changes, &[]));
}

#[test]
#[ignore = "rebuilds the boundary; `.ci/full variants` runs it"]
fn another_layout_under_the_same_version() {
    let record = "pub struct BlockRec {";
    let wider = "#[expect(missing_docs)]\npub struct BlockRec {\n    pub first: u32,";
    let hash = "__layout_hash!(BlockRec { start,";
    let changes = [
        ("plugin-api/ir/src/node.rs", record, wider),
        ("plugin-api/boundary/src/fingerprint.rs", hash, "__layout_hash!(BlockRec { first, start,"),
        ("plugin-api/ir/src/ship/layout.rs", "record!(BlockRec { start:", "record!(BlockRec { first: u32, start:"),
        ("plugin-api/ir/src/function/build.rs", "self.blocks.push(BlockRec {", "self.blocks.push(BlockRec { first: 0,"),
    ];
    let plugin = plugin_of_another_api("layout", &changes, &[]);
    let says = "its types are laid out differently, though its version of the plugin boundary fits";
    refused(&plugin, says, "plugin", "cargo update -p relais-plugin-api --precise ");
}

#[test]
#[ignore = "rebuilds the boundary; `.ci/full variants` runs it"]
fn an_abort_at_the_first_panic() {
    let plugin = plugin_of_another_api("abort", &[], &["--config=profile.dev.panic=\"abort\""]);
    refused(&plugin, "it was built with `panic = \"abort\"`", "plugin", "remove `panic = \"abort\"`");
}

#[test]
#[ignore = "rebuilds the boundary; `.ci/full variants` runs it"]
fn another_optimisation_level() {
    let release = plugin_of_another_api("release", &[], &["--release", "--config=profile.release.opt-level=0"]);
    assert_eq!(accepted(&release)["plugin"]["build"], "release");
}

/// Features of the boundary's dependencies, and of the crate itself, change nothing in it.
#[test]
#[ignore = "rebuilds the boundary; `.ci/full variants` runs it"]
fn another_feature_set() {
    let manifest: toml::Table = include_str!("../../../../plugin-api/Cargo.toml").parse().unwrap();
    let features = manifest.get("features").and_then(toml::Value::as_table).into_iter().flatten();
    let features: Vec<&String> = features.map(|(feature, _)| feature).collect();
    let api = format!("relais-plugin-api = {{ path = \"../plugin-api\", features = {features:?} }}");
    let changes = [
        ("mark/Cargo.toml", "relais-plugin-api = { path = \"../plugin-api\" }", &*api),
        (
            "Cargo.toml",
            "smallvec = \"1\"",
            "smallvec = { version = \"1\", features = [\"union\", \"const_generics\"] }",
        ),
        (
            "Cargo.toml",
            "default-features = false }\nhalf",
            "default-features = false, features = [\"rust_1_64\"] }\nhalf",
        ),
    ];
    let plain = accepted(&plugin_of_another_api("features", &changes, &[]));
    assert_eq!(plain["plugin"]["build"], "debug");
}
