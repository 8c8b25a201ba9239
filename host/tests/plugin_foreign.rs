//! Plugins of other systems, as their linkers make them: their records read, and they are refused for what they are.
//!
//! The linkers are those of the compiler's own `rust-lld`; a library is made of the sample's records alone.

mod common;

use common::*;
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind,
    write::{Object, StandardSegment},
};
use relais::plugin::{Needs, Objection, Refusal, inspect, section_of};
use relais_plugin_api::boundary::record::{HEADER, Header, SECTION, SECTION_MACHO, plugin_tag, record_kind};
use std::{fs, path::PathBuf, process::Command};

/// A system, and how a library for it is linked.
struct System {
    target: &'static str,
    format: BinaryFormat,
    architecture: Architecture,
    /// Arguments for `rust-lld`, before the name of the output.
    link: &'static [&'static str],
}

const WINDOWS: System = System {
    target: "x86_64-pc-windows-gnu",
    format: BinaryFormat::Coff,
    architecture: Architecture::X86_64,
    link: &["-flavor", "link", "/dll", "/noentry", "/nologo", "/machine:x64", "/out:"],
};

const MACOS: System = System {
    target: "x86_64-apple-darwin",
    format: BinaryFormat::MachO,
    architecture: Architecture::X86_64,
    link: &["-flavor", "darwin", "-dylib", "-arch", "x86_64", "-platform_version", "macos", "11.0", "11.0", "-o"],
};

const MACOS_ARM: System = System {
    target: "aarch64-apple-darwin",
    format: BinaryFormat::MachO,
    architecture: Architecture::Aarch64,
    link: &["-flavor", "darwin", "-dylib", "-arch", "arm64", "-platform_version", "macos", "11.0", "11.0", "-o"],
};

/// The sample's records, as they would be for another system.
fn records_for(target: &str) -> Vec<u8> {
    let mut bytes = fs::read(&*SAMPLE).unwrap();
    let at = records(&bytes, record_kind::PLUGIN)[0];
    set_field(&mut bytes, at, plugin_tag::TARGET, target.as_bytes());
    let kinds = [record_kind::PLUGIN, record_kind::PASS, record_kind::OPERATOR, record_kind::OPTION];
    let places = kinds.into_iter().flat_map(|kind| records(&bytes, kind));
    places.flat_map(|at| bytes[at..][..HEADER + Header::read(&bytes[at..]).unwrap().len].to_vec()).collect()
}

fn rust_lld() -> Option<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir"]).output().ok()?;
    let libraries = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    let lld = libraries.parent()?.join("bin").join(format!("rust-lld{}", std::env::consts::EXE_SUFFIX));
    lld.exists().then_some(lld)
}

/// Links a library of these records.
fn link(lld: PathBuf, system: &System, section: &[u8]) -> Vec<u8> {
    let dir = folder(&format!("foreign-{}", system.target));
    let mut object = Object::new(system.format, system.architecture, Endianness::Little);
    let name = if system.format == BinaryFormat::MachO { SECTION_MACHO } else { SECTION };
    let segment = object.segment_name(StandardSegment::Data).to_vec();
    let id = object.add_section(segment, name.into(), SectionKind::Data);
    object.append_section_data(id, section, 8);
    let (input, output) = (dir.join("records.o"), dir.join("plugin"));
    fs::write(&input, object.write().unwrap()).unwrap();
    let (out, before) = system.link.split_last().unwrap();
    let mut command = Command::new(lld);
    command.args(before);
    match out.strip_suffix(':') {
        Some(_) => command.arg(format!("{out}{}", output.display())),
        None => command.arg(out).arg(&output),
    };
    let run = command.arg(&input).output().unwrap();
    assert!(run.status.success(), "{command:?}: {}", String::from_utf8_lossy(&run.stderr));
    fs::read(output).unwrap()
}

fn check(system: &System, refused: impl FnOnce(&Refusal)) {
    let Some(lld) = rust_lld() else {
        eprintln!("not tested for {}: the compiler has no `rust-lld` beside it", system.target);
        return;
    };
    let section = records_for(system.target);
    let library = link(lld, system, &section);
    if system.architecture == Architecture::X86_64 && cfg!(target_arch = "x86_64") {
        let found = section_of(library.as_slice()).unwrap();
        assert!(found.starts_with(&section), "the records of {} read", system.target);
    }
    let dir = folder(&format!("foreign-{}-found", system.target));
    let refusal = refusal(&dir, &library);
    assert!(refusal.help().is_some(), "{refusal}");
    refused(&refusal);
    // However far it is from being opened here, its record says what it is.
    let inspection = inspect(&dir.join("plugin.so"), TRUSTING);
    let target = Refusal::Target { plugin: system.target.to_owned() };
    assert!(inspection.records.is_some() && inspection.objections.contains(&Objection::Refused(target)));
    assert!(matches!(inspection.needs, Needs::NotChecked { .. }));
    // The others are as usable as ever.
    let registry = registry(&[&dir.join("plugin.so"), &MARK]);
    assert!(run(&registry, "mark.Nothing", &table(&[]), &chain(&[])).is_ok());
}

fn for_another_target(system: &System) -> impl FnOnce(&Refusal) {
    let target = system.target.to_owned();
    move |refusal| {
        if cfg!(target_arch = "x86_64") {
            assert_eq!(*refusal, Refusal::Target { plugin: target });
        }
    }
}

#[test]
fn a_library_of_windows() {
    check(&WINDOWS, for_another_target(&WINDOWS));
}

#[test]
fn a_library_of_macos() {
    check(&MACOS, for_another_target(&MACOS));
}

#[test]
fn a_library_of_macos_for_another_processor() {
    check(&MACOS_ARM, |refusal| {
        let Refusal::NotALibrary { why } = refusal else { panic!("{refusal}") };
        assert!(why.starts_with("it is for Aarch64, and this machine is "), "{why}");
    });
}
