//! What the fuzz targets begin with, and what they once found.

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use std::{fs, path::Path};

#[test]
fn every_seed_holds() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    for (name, target) in fuzz::TARGETS {
        let mut files: Vec<_> = fs::read_dir(seeds.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no seeds");
        for file in files {
            println!("{}", file.display());
            target(&fs::read(&file).unwrap());
        }
    }
}
