//! Shared code of the tests of the plugin boundary.
#![allow(dead_code, missing_docs)]

use relais::{
    ir::*,
    loaded::{PassFailure, PassOutcome},
    pass::RunCx,
    plugin::{Discovery, Policy, Refusal, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
};
use relais_plugin_api::{
    boundary::{
        record::{HEADER, Header, MAGIC},
        wire::{Fields, checksum, push_field},
    },
    diagnostics::Diagnostic,
    options::Value,
};
use relais_tests::cargo_built::{author_cargo, plugin, plugin_target};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
};

/// Trusts folders that everybody may write: the system's temporary one may be one of them.
pub const TRUSTING: Policy = Policy { writable: WritableFiles::Allow };

/// Copies the files below a folder, build folders and tests apart.
pub fn copy(from: &Path, to: &Path) {
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

/// Builds the plugin `mark` against a copy of this workspace's `relais-plugin-api`, both with changes (the file, the
/// text that occurs there once, its replacement), with these arguments of cargo.
pub fn plugin_of_another_api(name: &str, changes: &[(&str, &str, &str)], arguments: &[&str]) -> PathBuf {
    // To cargo all of these are one crate, distinguished by time: each is written after the previous one was built.
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    let _one = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = folder(&format!("api-{name}"));
    copy(&root.join("plugin-api"), &dir.join("plugin-api"));
    copy(&root.join("tests/plugins/mark"), &dir.join("mark"));
    let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let line = |key: &str| workspace.lines().find(|line| line.starts_with(key)).unwrap();
    let own = "members = [\"plugin-api\", \"plugin-api/boundary\", \"plugin-api/macros\", \"mark\"]";
    let own = workspace.replace(line("members = "), own).replace(line("default-members = "), "");
    fs::write(dir.join("Cargo.toml"), own).unwrap();
    fs::copy(root.join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    // A library with its own name, because it is beside those of other crates.
    let crate_name = format!("mark_{}", name.replace('-', "_"));
    let of_workspace = [
        ("mark/Cargo.toml", "../../../plugin-api", "../plugin-api"),
        ("mark/Cargo.toml", "[lib]\n", &format!("[lib]\nname = \"{crate_name}\"\n")),
    ];
    for (file, from, to) in of_workspace.iter().chain(changes) {
        let path = dir.join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(from).count(), 1, "`{from}` in {}", path.display());
        fs::write(path, text.replace(from, to)).unwrap();
    }
    let mut cargo = author_cargo();
    cargo.args(["build", "--quiet", "-p", "mark", "--manifest-path"]).arg(dir.join("Cargo.toml")).args(arguments);
    assert!(cargo.status().unwrap().success(), "{name} builds");
    let library = format!("{}{crate_name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let profile = if arguments.contains(&"--release") { "release" } else { "debug" };
    let plugin = dir.join("plugin").with_extension(std::env::consts::DLL_EXTENSION);
    fs::copy(plugin_target().join(profile).join(library), &plugin).unwrap();
    plugin
}

pub static SAMPLE: LazyLock<PathBuf> = LazyLock::new(|| plugin("sample"));
pub static RULES: LazyLock<PathBuf> = LazyLock::new(|| plugin("rules"));
pub static RIVAL: LazyLock<PathBuf> = LazyLock::new(|| plugin("rival"));
pub static MARK: LazyLock<PathBuf> = LazyLock::new(|| plugin("mark"));

/// An empty folder of that name.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

pub fn find(files: &[&Path]) -> Discovery {
    let files: Vec<PathBuf> = files.iter().map(|file| file.to_path_buf()).collect();
    discover(&[], &files, TRUSTING)
}

pub fn registry(files: &[&Path]) -> Registry {
    Registry::new(find(files), Linked::Exclude, &Choices::new())
}

/// A registry of the sample plugin.
pub fn sample() -> Registry {
    let registry = registry(&[&SAMPLE]);
    assert_eq!(registry.refused(), []);
    registry
}

/// Why a file of these bytes is refused.
pub fn refusal(folder: &Path, bytes: &[u8]) -> Refusal {
    let path = folder.join("plugin.so");
    std::fs::write(&path, bytes).unwrap();
    let mut found = find(&[&path]);
    assert_eq!(found.plugins, []);
    found.refused.remove(0).refusal
}

/// Where the records of a kind begin in a file.
pub fn records(bytes: &[u8], kind: u32) -> Vec<usize> {
    let mut found = Vec::new();
    for at in 0..bytes.len().saturating_sub(HEADER) {
        if bytes[at..].starts_with(&MAGIC) && Header::read(&bytes[at..]).is_some_and(|header| header.kind == kind) {
            found.push(at);
        }
    }
    found
}

/// Sets a field of the record at an offset to a value that is no longer than the old one.
pub fn set_field(bytes: &mut [u8], at: usize, tag: u16, value: &[u8]) {
    let header = Header::read(&bytes[at..]).unwrap();
    let mut fields = Vec::new();
    for field in Fields::new(&bytes[at + HEADER..][..header.len]).map(Result::unwrap) {
        push_field(&mut fields, field.tag, if field.tag == tag { value } else { field.bytes });
    }
    assert!(fields.len() <= header.len);
    let record = &mut bytes[at..][..HEADER + header.len];
    record[HEADER..].fill(0);
    record[HEADER..][..fields.len()].copy_from_slice(&fields);
    record[16..20].copy_from_slice(&(fields.len() as u32).to_le_bytes());
    record[24..32].copy_from_slice(&checksum(&fields).to_le_bytes());
}

/// A module whose `main` calls these operators one after another on its parameter.
pub fn chain(ops: &[&str]) -> IRModule {
    let mut module = IRModule::new();
    module.set_function(MAIN, function(ops));
    module
}

pub fn function(ops: &[&str]) -> Function {
    let mut f = Function::new();
    f.set_opset_imports(&[("", 17), ("sample", 1)]);
    let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2)]);
    let mut last = f.add_var("x", ty);
    f.set_params(f.root(), &[last]);
    for name in ops {
        let (domain, name) = name.split_once("::").unwrap_or(("", name));
        let op = f.add_op(domain, name, "", 0);
        last = f.add_call(op, &[last]);
        f.append(f.body(), last);
    }
    f.set_results(f.body(), &[last]);
    f
}

pub fn op_names(module: &IRModule) -> Vec<String> {
    let f = module.main().unwrap();
    f.bindings(f.body()).iter().filter_map(|&id| Some(f.call(id)?.op_name().to_owned())).collect()
}

/// Keeps the messages.
#[derive(Default)]
pub struct Said(Mutex<Vec<String>>);

impl Said {
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    pub fn hear(&self) -> impl Fn(Diagnostic) + Sync {
        |diagnostic| self.0.lock().unwrap().push(diagnostic.to_string())
    }
}

pub fn table(entries: &[(&str, Value)]) -> Value {
    Value::Struct(entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

pub fn text(value: &str) -> Value {
    Value::Str(value.to_owned())
}

/// Makes and runs a pass.
pub fn run(registry: &Registry, pass: &str, options: &Value, module: &IRModule) -> Result<PassOutcome, PassFailure> {
    let pass = registry.create(pass, options).unwrap_or_else(|error| panic!("{error}"));
    pass.run(module, &RunCx::new(registry))
}
