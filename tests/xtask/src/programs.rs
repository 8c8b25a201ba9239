//! The programs with tests that cargo builds.

use crate::{
    failure::Failure,
    repository::{Repository, output},
};
use std::path::{Path, PathBuf};

/// A program with tests.
pub struct Program {
    /// The folder of its package.
    pub folder: PathBuf,
    /// The name of its target.
    pub name: String,
    pub file: PathBuf,
}

/// Builds programs with tests, of all packages: for some of them cargo would choose other features, and build
/// everything again.
pub fn build(repository: &Repository, targets: &[&str]) -> Result<Vec<Program>, Failure> {
    let mut cargo = repository.cargo(&["test", "--release", "--workspace", "--no-run", "--quiet"]);
    cargo.args(["--message-format=json-render-diagnostics"]).args(targets);
    Ok(output(&mut cargo)?.lines().filter_map(|line| program(repository, line)).collect())
}

/// Reads a message of cargo.
fn program(repository: &Repository, line: &str) -> Option<Program> {
    let file = text(line, "executable")?;
    // Of the profile: programs that tests run are built, too.
    if !line.contains("\"test\":true},\"features\"") {
        return None;
    }
    let manifest = PathBuf::from(text(line, "manifest_path")?);
    let (_, target) = line.split_once("\"target\":")?;
    Some(Program {
        folder: manifest.parent()?.strip_prefix(&repository.root).unwrap_or(Path::new("")).to_owned(),
        name: text(target, "name")?,
        file: file.into(),
    })
}

/// The text that is the first value of a key.
fn text(json: &str, key: &str) -> Option<String> {
    let (_, rest) = json.split_once(&format!("\"{key}\":\""))?;
    Some(rest.split_once('"')?.0.replace("\\\\", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As cargo prints them.
    fn message(name: &str, executable: &str, is_test: bool) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"path+file:///r/plugins/graph#relais-graph@0.1.0","manifest_path":"/r/plugins/graph/Cargo.toml","target":{{"kind":["test"],"crate_types":["bin"],"name":"{name}","src_path":"/r/plugins/graph/tests/all/main.rs","edition":"2024","doc":false,"doctest":false,"test":true}},"profile":{{"opt_level":"3","debuginfo":0,"debug_assertions":false,"overflow_checks":false,"test":{is_test}}},"features":[],"filenames":["/r/target/all"],"executable":{executable},"fresh":true}}"#
        )
    }

    #[test]
    fn programs_with_tests_are_read_and_nothing_else() {
        let repository = Repository { root: "/r".into() };
        let read = |line: &str| program(&repository, line);
        let all = read(&message("all", "\"/r/target/all-1\"", true)).unwrap();
        assert_eq!(
            (all.name.as_str(), all.file, all.folder),
            ("all", "/r/target/all-1".into(), "plugins/graph".into())
        );
        assert!(read(&message("relais", "\"/r/target/relais\"", false)).is_none());
        assert!(read(&message("all", "null", true)).is_none());
        assert!(read(r#"{"reason":"build-finished","success":true}"#).is_none());
    }
}
