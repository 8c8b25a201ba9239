//! The costs of having a thousand plugins: finding them, and building a registry from their records.

use crate::timing::{line, median};
use relais::{
    plugin::{Discovery, Origin, Policy, SearchDir, discover},
    registry::{Choices, Linked, Registry},
};
use relais_tests::many::{Pattern, library};
use std::{
    fs,
    hint::black_box,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

const N_PLUGINS: usize = 1000;

pub fn run() {
    let pattern = Pattern::of(&crate::author_plugin("mark", "mark"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("many");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder can be made");
    for number in 0..N_PLUGINS {
        fs::write(library(&folder, &format!("many_{number}")), pattern.file(number)).expect("it can be written");
    }
    let dir = SearchDir { path: folder.clone(), origin: Origin::Named };
    let find = || discover(std::slice::from_ref(&dir), &[], Policy::default());
    let found = find();
    assert!(found.plugins.len() == N_PLUGINS && found.refused.is_empty());
    println!("{N_PLUGINS} plugins of {} bytes each", pattern.file(0).len());
    let cold = (0..3).map(|_| {
        forget(&folder);
        time(|| drop(black_box(find())))
    });
    // The contents of the files are read from the disk; the system still knows the folder.
    line("  finding them, files not in memory", median(cold.collect()), "-");
    let warm = (0..9).map(|_| time(|| drop(black_box(find()))));
    line("  finding them, files in memory", median(warm.collect()), "100 ms");
    let registry = |found: Discovery| Registry::new(found, Linked::Exclude, &Choices::new());
    let made = (0..9).map(|_| {
        let found = found.clone();
        time(|| drop(black_box(registry(found))))
    });
    line("  a registry of them", median(made.collect()), "20 ms");
    let registry = registry(found);
    let lookup = (0..9).map(|_| time(|| assert!(black_box(registry.pass("p500.Nothing")).is_ok())));
    line("  finding a pass by name", median(lookup.collect()), "-");
    let _ = fs::remove_dir_all(&folder);
}

fn time(f: impl FnOnce()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

/// Has the system forget the contents of files. It does so for clean pages alone, so they are written first.
fn forget(folder: &Path) {
    for entry in fs::read_dir(folder).expect("it is there").flatten() {
        let mut dd = Command::new("dd");
        dd.arg(format!("of={}", entry.path().display()));
        dd.args(["oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"]);
        assert!(dd.status().is_ok_and(|status| status.success()), "`dd` cannot make the system forget a file");
    }
}
