//! The libraries in `tests/museum`, built in the past, by several compilers, in the host of today: each gives the results that the same plugin gives when it is built today, or is refused by its version.
#![cfg(target_os = "linux")]

use relais_plugin_api::boundary::record::{BOUNDARY, BoundaryVersion, HEADER, MAGIC};
use relais_tests::{
    cargo_built::{library, plugin},
    cli::{Run, command, files, folder},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const MODEL: &str = include_str!("../../museum/model.relay");

const SAMPLE: &str = include_str!("../../museum/sample.toml");

const ACME: &str = "steps = [\"acme.DoubleToAdd\"]\n";

fn museum() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("museum")
}

/// The libraries, each with the version of its boundary.
fn libraries() -> Vec<(String, BoundaryVersion)> {
    let names = files(&museum()).into_iter().filter(|name| name.ends_with(".so.xz"));
    let version = |name: &str| {
        let mut parts = name.split('-').next().unwrap().split('.').map(|part| part.parse().unwrap());
        let mut part = || parts.next().unwrap();
        BoundaryVersion { major: part(), minor: part(), patch: part() }
    };
    names.map(|name| (name.clone(), version(&name))).collect()
}

/// Unpacks a library into a folder.
fn unpack(name: &str, here: &Path) -> PathBuf {
    let unpacked = here.join(name.strip_suffix(".xz").unwrap());
    let script = "import lzma, sys; open(sys.argv[2], 'wb').write(lzma.open(sys.argv[1]).read())";
    let mut python = Command::new("python3");
    Run::of(python.args(["-c", script]).arg(museum().join(name)).arg(&unpacked)).expect_success();
    unpacked
}

fn run(here: &Path, library: &Path, pipeline: &str) -> Run {
    fs::write(here.join("m.relay"), MODEL).unwrap();
    fs::write(here.join("p.toml"), pipeline).unwrap();
    let mut relais = command();
    relais.current_dir(here).args(["run", "m.relay", "-o", "out.relay", "-p", "p.toml", "--no-reproducer", "-q"]);
    Run::of(relais.args(["--remarks", "--allow-writable-plugins", "--plugin"]).arg(library))
}

/// The module that comes out, and the messages.
fn result(here: &Path, run: Run) -> (String, String) {
    let Run { stderr, .. } = run.expect_success();
    (fs::read_to_string(here.join("out.relay")).unwrap(), stderr)
}

#[test]
fn libraries_of_earlier_hosts_give_equal_results_or_are_refused_by_their_version() {
    let here = folder("museum");
    let all = libraries();
    assert!(all.len() >= 4, "{all:?}");
    let today = |library: &Path, pipeline: &str| result(&here, run(&here, library, pipeline));
    let sample = today(&plugin("sample"), SAMPLE);
    assert!(sample.0.contains("%s3") && sample.1.contains("`sample.Cancel`: rewrote 1 call"), "{sample:?}");
    let acme = today(&library(&museum().join("../../docs/examples/c-plugin").canonicalize().unwrap()), ACME);
    assert!(acme.0.contains("Add(%d, %d)"), "{acme:?}");
    for (name, version) in all {
        let unpacked = unpack(&name, &here);
        let is_c = name.contains("-c.");
        let said = run(&here, &unpacked, if is_c { ACME } else { SAMPLE });
        if BOUNDARY.takes(version, version) {
            assert_eq!(&result(&here, said), if is_c { &acme } else { &sample }, "{name}");
        } else {
            let told = format!("it was built for version {version} of the plugin boundary");
            assert!(said.status == Some(1) && said.stderr.contains(&told), "{name}: {}", said.stderr);
        }
    }
}

/// A bit of any record of a library is another one: it is refused, and named.
#[test]
fn damaged_libraries_of_earlier_hosts_are_refused() {
    let here = folder("museum-damaged");
    for (name, version) in libraries() {
        let whole = fs::read(unpack(&name, &here)).unwrap();
        let records: Vec<usize> = (0..whole.len() - HEADER).filter(|&at| whole[at..].starts_with(&MAGIC)).collect();
        assert!(!records.is_empty(), "{name}");
        for (number, at) in records.into_iter().enumerate() {
            let mut bytes = whole.clone();
            bytes[at + HEADER + number % 7] ^= 1 << (number % 8);
            let damaged = here.join("damaged.so");
            fs::write(&damaged, bytes).unwrap();
            let said = run(&here, &damaged, if name.contains("-c.") { ACME } else { SAMPLE }).expect_failure();
            let is_refused =
                said.stderr.contains("is not used: the record at offset") && said.stderr.contains("checksum");
            assert!(is_refused || !BOUNDARY.takes(version, version), "{name}, record {number}: {}", said.stderr);
        }
    }
}

#[test]
fn the_museum_is_small() {
    let sizes = files(&museum()).into_iter().map(|name| museum().join(name).metadata().unwrap().len());
    assert!(sizes.sum::<u64>() < 5_000_000);
    // There is one of the version of today, so that the next host has it.
    assert!(libraries().iter().any(|(_, version)| *version == BOUNDARY), "`tests/museum/add` adds it");
}
