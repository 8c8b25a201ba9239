//! The initial inputs of the fuzz targets, and inputs that exposed bugs.

use crate::fuzz;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The files of a folder and of its folders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn every_seed_holds() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, target) in fuzz::TARGETS {
        let mut files = files(&tests.join("fuzz/seeds").join(name));
        // As `tests/fuzz/run` has it.
        match name {
            "text" => files.extend(self::files(&tests.join("filetests"))),
            "toml" => files.extend(self::files(&tests.join("../pipelines"))),
            _ => {}
        }
        files.sort();
        assert!(!files.is_empty(), "{name} has no seeds");
        for file in files {
            println!("{}", file.display());
            target(&fs::read(&file).unwrap());
        }
    }
}
