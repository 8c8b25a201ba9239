//! The files that were changed, and the packages that they belong to.

use crate::{
    failure::Failure,
    repository::{Repository, output},
};
use std::path::{Path, PathBuf};

/// A package of the workspace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    pub name: String,
    /// From the root of the repository.
    pub folder: PathBuf,
}

/// The files that differ from a commit, from the root of the repository; new ones included.
pub fn files(repository: &Repository, since: &str) -> Result<Vec<PathBuf>, Failure> {
    let changed = output(&mut repository.git(&["diff", "--name-only", "-z", since, "--"]))?;
    let new = output(&mut repository.git(&["ls-files", "--others", "--exclude-standard", "-z"]))?;
    let names = changed.split('\0').chain(new.split('\0'));
    Ok(names.filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

/// All packages of the workspace.
pub fn packages(repository: &Repository) -> Result<Vec<Package>, Failure> {
    let arguments = ["tree", "--workspace", "--offline", "--depth", "0", "--prefix", "none"];
    let mut packages: Vec<Package> =
        output(&mut repository.cargo(&arguments))?.lines().filter_map(|line| package(repository, line)).collect();
    packages.sort();
    packages.dedup();
    Ok(packages)
}

/// Reads a line such as `relais v0.1.0 (/somewhere/host)`.
fn package(repository: &Repository, line: &str) -> Option<Package> {
    let (name, _) = line.split_once(' ')?;
    let (_, folder) = line.strip_suffix(')')?.rsplit_once('(')?;
    Some(Package { name: name.to_owned(), folder: Path::new(folder).strip_prefix(&repository.root).ok()?.to_owned() })
}

/// The package that a file is in, if its folder is one of the workspace's.
pub fn package_of<'a>(repository: &Repository, packages: &'a [Package], file: &Path) -> Option<&'a Package> {
    let has_manifest = |folder: &&Path| repository.root.join(folder).join("Cargo.toml").is_file();
    let nearest = file.ancestors().skip(1).find(has_manifest)?;
    packages.iter().find(|package| package.folder == nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_in_the_package_around_it() {
        let repository =
            Repository { root: Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap() };
        let packages = packages(&repository).ok().expect("cargo lists them");
        let of = |file: &str| package_of(&repository, &packages, Path::new(file)).map(|package| package.name.as_str());
        assert_eq!(of("plugins/graph/src/fold_constant.rs"), Some("relais-graph"));
        assert_eq!(of("plugin-api/macros/src/lib.rs"), Some("relais-plugin-api-macros"));
        assert_eq!(of("tests/tests/filetests.rs"), Some("relais-tests"));
        // A workspace of its own, and none.
        assert_eq!(of("tests/plugins/rules/src/lib.rs"), None);
        assert_eq!(of("docs/running.md"), None);
    }
}
