//! Plugins of today meet a host of a later version: this repository is copied, given one more kind of node, of
//! attribute and of type, side tables, and an entry at the end of every table, and built.

use relais_plugin_api::boundary::{
    fingerprint::FINGERPRINT,
    record::{BOUNDARY, BoundaryVersion},
};
use relais_tests::cargo_built::{author_cargo, plugin, plugin_source, workspace};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Copies files that are newer or of another size below a folder, except build folders and tests.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        match entry.file_type().unwrap().is_dir() {
            true if name == "target" || name == "tests" => {}
            true => copy(&entry.path(), &to.join(name)),
            false => _ = fs::copy(entry.path(), to.join(name)).unwrap(),
        }
    }
}

/// A source that is made one of a later version.
struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    fn open(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        Self { path, text }
    }

    /// Returns where a text ends that occurs once.
    fn after(&self, text: &str) -> usize {
        assert_eq!(self.text.matches(text).count(), 1, "`{text}` in {}", self.path.display());
        self.text.find(text).unwrap() + text.len()
    }

    fn insert(mut self, after: &str, text: &str) -> Self {
        let at = self.after(after);
        self.text.insert_str(at, text);
        self
    }

    /// Appends to the item that begins like this, at the start of a line.
    fn append(mut self, item: &str, text: &str) -> Self {
        let at = self.after(item);
        let end = at + self.text[at..].find("\n}").unwrap();
        self.text.insert_str(end, text);
        self
    }

    fn replace(mut self, old: &str, new: &str) -> Self {
        let end = self.after(old);
        self.text.replace_range(end - old.len()..end, new);
        self
    }

    fn save(self) {
        fs::write(self.path, self.text).unwrap();
    }
}

const FIELD: &str = "\n    /// Later.\n    pub later: extern \"C\" fn() -> u64,";
const VALUE: &str = "\n        later: { extern \"C\" fn later() -> u64 { 42 } later },";

/// A copy of the host and of `relais-plugin-api`, of a later version.
fn later_version(dir: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // The plugins are named by the manifest of the command line; this one links none of them, so that those of today are used.
    for folder in ["plugin-api", "host", "pipelines", "plugins"] {
        copy(&root.join(folder), &dir.join(folder));
    }
    copy(&root.join("tests/later"), &dir.join("later/src"));
    fs::rename(dir.join("later/src/Cargo.toml"), dir.join("later/Cargo.toml")).unwrap();
    fs::copy(root.join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let members = workspace.lines().find(|line| line.starts_with("members = ")).unwrap();
    let own = "members = [\"host\", \"host/cli\", \"host/files\", \"host/onnx\", \"plugin-api\", \"plugin-api/conformance\", \"plugin-api/macros\", \"plugins/*\", \"later\"]";
    fs::write(dir.join("Cargo.toml"), workspace.replace(members, own)).unwrap();

    let api = |file: &str| Source::open(dir.join("plugin-api").join(file));
    let BoundaryVersion { major, minor, patch } = BOUNDARY;
    let version =
        |patch: u16| format!("BoundaryVersion = BoundaryVersion {{ major: {major}, minor: {minor}, patch: {patch} }};");
    api("boundary/src/record.rs").replace(&version(patch), &version(patch + 1)).save();
    api("ops/src/abi.rs").append("pub struct HostApi {", FIELD).save();
    api("boundary/src/abi.rs")
        .append("pub struct HostSetup {", FIELD)
        .append("pub struct PassVTable {", FIELD)
        .append("pub struct Plugin {", FIELD)
        .save();
    api("boundary/src/entry.rs").insert("WithMetadata::new(Plugin {", VALUE).save();
    for file in ["boundary/src/entry/pass.rs", "boundary/src/foreign.rs"] {
        api(file).insert("WithMetadata::new(PassVTable {", VALUE).save();
    }
    api("boundary/src/entry/instrument.rs").insert("WithMetadata::new(InstrumentVTable {", VALUE).save();
    api("boundary/src/abi/instrument.rs")
        .append("pub struct HookApi {", FIELD)
        .append("pub struct InstrumentVTable {", FIELD)
        .save();
    api("boundary/src/local.rs").insert("WithMetadata::new(HostApi {", VALUE).save();
    api("boundary/src/local/instrument.rs").insert("WithMetadata::new(HookApi {", VALUE).save();
    let host = |file: &str| Source::open(dir.join("host/src").join(file));
    host("loaded/services.rs")
        .insert("WithMetadata::new(HostApi {", VALUE)
        .insert("WithMetadata::new(HookApi {", VALUE)
        .save();
    host("plugin/setup.rs").insert("WithMetadata::new(HostSetup {", VALUE).save();
    let constant = |number: u8| format!("\n    /// Later.\n    pub const LATER: u8 = {number};");
    api("ir/src/node.rs")
        .replace("pub const N_KINDS: u8 = 10;", "pub const N_KINDS: u8 = 11;")
        .insert("pub mod kind {", &constant(10))
        .insert("pub mod attr_kind {", &constant(200))
        .save();
    api("ir/src/types.rs").insert("pub mod type_kind {", &constant(200)).save();
    let table = |key: &str, policy: &str| {
        format!("\n        function.tables.push(SideTable::new(\"later-{key}\", 8, table_policy::{policy}));")
    };
    let tables = [table("value", "VALUE"), table("provenance", "PROVENANCE"), table("derived", "DERIVED")].concat();
    let spans = "function.tables.push(SideTable::new(table_key::SPANS, Span::STRIDE, table_policy::PROVENANCE));";
    api("ir/src/function.rs").insert(spans, &tables).save();
}

/// The later host and the program that drives it.
fn build(dir: &Path) -> (PathBuf, PathBuf) {
    let target = workspace().scratch.join("later-target");
    let mut cargo = author_cargo();
    cargo.args(["build", "--quiet", "-p", "later", "-p", "relais-opt", "--manifest-path"]).arg(dir.join("Cargo.toml"));
    cargo.arg("--no-default-features").arg("--target-dir").arg(&target).env_remove("RUSTFLAGS");
    assert!(cargo.status().unwrap().success(), "the later version builds");
    let built = |name: &str| target.join("debug").join(format!("{name}{}", env::consts::EXE_SUFFIX));
    (built("later"), built("relais"))
}

#[test]
#[ignore = "rebuilds the host; `.ci/full variants` runs it"]
fn plugins_of_today_work_in_a_host_that_knows_more() {
    let dir = workspace().scratch.join("later-source");
    let _ = fs::remove_dir_all(&dir);
    later_version(&dir);
    let (later, relais) = build(&dir);
    let output = Command::new(later).args(&workspace().plugins).arg(plugin("sample")).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");

    // Contexts, instruments, counting and logs go through tables that have grown.
    let here = tempfile::tempdir().unwrap();
    let model = "def @main(%x: Tensor[(2,), float32]) { %y = Relu(%x); %z = Relu(%y); %z }\n";
    fs::write(here.path().join("model.relay"), model).unwrap();
    let mut command = Command::new(relais);
    command.current_dir(here.path()).env_remove("RELAIS_PLUGIN_PATH").env("RELAIS_HOME", here.path());
    command.args(["run", "model.relay", "-o", "out.relay", "--passes", "acme.ReluRelu,acme.AskContext,acme.AskThread"]);
    command.args(["--instrument", "acme.Counter", "--stats", "--plugin"]).arg(plugin("rules"));
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stderr.contains(" passes ran"), "{stderr}");
    let out = fs::read_to_string(here.path().join("out.relay")).unwrap();
    assert_eq!(out.matches("Relu(").count(), 1, "{out}");

    // Today's host refuses a plugin of that version, and names the side that has to change.
    let mark = plugin_source("mark");
    copy(&mark, &dir.join("mark"));
    Source::open(dir.join("mark/Cargo.toml")).replace("../../../plugin-api", "../plugin-api").save();
    Source::open(dir.join("Cargo.toml")).replace("\"later\"]", "\"later\", \"mark\"]").save();
    let target = workspace().scratch.join("later-target");
    let mut cargo = author_cargo();
    cargo.args(["build", "--quiet", "-p", "mark", "--manifest-path"]).arg(dir.join("Cargo.toml"));
    assert!(cargo.arg("--target-dir").arg(&target).status().unwrap().success(), "its plugin builds");
    let library = format!("{}mark{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let (file, opened) = (target.join("debug").join(library), here.path().join("opened"));
    let mut check = Command::new(&workspace().relais);
    check.args(["plugin", "check", "--allow-writable-plugins"]).arg(file).env("RELAIS_TEST_MARK", &opened);
    let output = check.env("RELAIS_HOME", here.path()).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    let later = BoundaryVersion { patch: BOUNDARY.patch + 1, ..BOUNDARY };
    assert!(stdout.contains(&format!("it was built for version {later} of the plugin boundary")), "{stdout}");
    assert!(stdout.contains("update the host: `cargo install relais-opt`"), "{stdout}");
    assert!(stdout.contains(&format!("{FINGERPRINT:016x}")), "what was there before lies where it lay: {stdout}");
    assert!(!opened.exists(), "it was not opened");
}
