//! The folder `plugin-api` builds wherever it is copied to: its manifests take nothing from this workspace, and say the
//! same as it.

use std::{collections::BTreeMap, fs, path::Path};
use toml::{Table, Value};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn table(path: &Path) -> Table {
    let text = fs::read_to_string(path).unwrap();
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The manifests of the crates in the folder, by the folders of these.
fn manifests() -> BTreeMap<String, Table> {
    let members = fs::read_dir(root().join("plugin-api")).unwrap();
    let members = members.map(|entry| format!("plugin-api/{}", entry.unwrap().file_name().to_str().unwrap()));
    let folders = members.chain(["plugin-api".to_owned()]);
    let manifest = |folder: String| {
        let path = root().join(&folder).join("Cargo.toml");
        path.exists().then(|| (folder, table(&path)))
    };
    folders.filter_map(manifest).collect()
}

/// Whether a dependency is the one of the workspace, with whatever features and whether or not it is optional.
fn is_of_workspace(found: &Value, wanted: &Value, folder: &str) -> bool {
    let version = |value: &Value| value.as_str().or_else(|| value.get("version")?.as_str()).map(str::to_owned);
    let path = |value: &Value, folder: &str| {
        Some(root().join(folder).join(value.get("path")?.as_str()?).canonicalize().unwrap())
    };
    let others = |value: &Value, key: &str| value.get(key).cloned();
    let (found_path, wanted_path) = (path(found, folder), path(wanted, ""));
    let has_features = others(wanted, "features").is_none_or(|features| others(found, "features") == Some(features));
    found_path == wanted_path
        && version(found) == version(wanted)
        && others(found, "default-features") == others(wanted, "default-features")
        && has_features
}

fn faults(manifests: &BTreeMap<String, Table>, workspace: &Table) -> Vec<String> {
    let mut faults = Vec::new();
    for (folder, manifest) in manifests {
        let package = manifest["package"].as_table().unwrap();
        let differing =
            workspace["package"].as_table().unwrap().iter().filter(|(key, value)| package.get(*key) != Some(value));
        faults.extend(differing.map(|(key, value)| format!("{folder}: `{key}` is not {value}")));
        if manifest.get("lints") != workspace.get("lints") {
            faults.push(format!("{folder}: `[lints]` are not those of the workspace"));
        }
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let all = manifest.get(kind).and_then(Value::as_table).into_iter().flatten();
            for (name, found) in all {
                let wanted = workspace["dependencies"].get(name);
                // Development dependencies within the folder have a path alone: they may be on a circle.
                let is_path =
                    kind == "dev-dependencies" && found.get("version").is_none() && found.get("path").is_some();
                if !is_path && wanted.is_some_and(|wanted| !is_of_workspace(found, wanted, folder)) {
                    faults.push(format!("{folder}: `{name}` is not the one of the workspace"));
                }
                let out = found
                    .get("path")
                    .map(|path| root().join(folder).join(path.as_str().unwrap()).canonicalize().unwrap());
                if out.is_some_and(|path| !path.starts_with(root().join("plugin-api").canonicalize().unwrap())) {
                    faults.push(format!("{folder}: `{name}` is in another folder"));
                }
            }
        }
    }
    faults
}

#[test]
fn the_manifests_say_what_the_workspace_says() {
    let workspace = table(&root().join("Cargo.toml"))["workspace"].as_table().unwrap().clone();
    let manifests = manifests();
    assert!(manifests.len() >= 9);
    assert_eq!(faults(&manifests, &workspace), [""; 0]);
    let mut other = workspace.clone();
    other["package"]["version"] = Value::from("9.9.9");
    other["dependencies"]["abi_stable"] = Value::from("9");
    other["lints"]["rust"]["missing_docs"] = Value::from("allow");
    let found = faults(&manifests, &other);
    for fault in [
        "plugin-api/ir: `version` is not \"9.9.9\"",
        "plugin-api/ir: `abi_stable` is not the one of the workspace",
        "plugin-api/ir: `[lints]` are not those of the workspace",
    ] {
        assert!(found.iter().any(|found| found == fault), "{found:#?}");
    }
    let inherited = "[package]\nversion.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
                     license.workspace = true\n[lints]\nworkspace = true\n[dependencies]\nlog.workspace = true";
    let inherited = BTreeMap::from([("plugin-api/ir".to_owned(), inherited.parse().unwrap())]);
    assert_eq!(faults(&inherited, &workspace).len(), 6);
}

/// A file that the compiler includes is copied, too; examples in the guides are tests of this workspace alone.
#[test]
fn sources_include_files_of_the_folder_alone() {
    let mut open = vec![root().join("plugin-api")];
    let (mut n_files, mut outside) = (0, Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "rs")
                && !path.components().any(|it| it.as_os_str() == "tests")
            {
                n_files += 1;
                let text = fs::read_to_string(&path).unwrap();
                let lines: Vec<&str> = text.lines().collect();
                let is_built =
                    |at: usize| !lines[..at].iter().rev().take(1).any(|line| line.trim() == "#[cfg(doctest)]");
                let out =
                    (0..lines.len()).filter(|&at| lines[at].contains("include_") && lines[at].contains("../docs"));
                let is_test = path.file_name().is_some_and(|name| name == "tests.rs");
                outside.extend(
                    out.filter(|&at| !is_test && is_built(at)).map(|at| format!("{}:{}", path.display(), at + 1)),
                );
            }
        }
    }
    assert!(n_files > 100 && outside.is_empty(), "{outside:?}");
}
