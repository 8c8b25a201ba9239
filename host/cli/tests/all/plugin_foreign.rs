//! Plugins of other systems, as their linkers make them: their records can be read, and they are refused for their
//! format.
//!
//! The linkers are those of the compiler's own `rust-lld`; a library is made from the sample's records alone.

use crate::common::*;
use relais::{
    inspect::{Objection, inspect},
    plugin::{Needs, Refusal, section_of},
};
use relais_plugin_api::boundary::record::{HEADER, Header, SECTION, SECTION_MACHO, plugin_tag, record_kind};
use std::{fs, path::PathBuf, process::Command};

/// The numbers of processors in files of macOS.
const X86_64: u32 = 0x0100_0007;
const ARM64: u32 = 0x0100_000c;

/// A system, and how a library for it is linked.
struct System {
    target: &'static str,
    /// An object file with these records in its only section.
    object: fn(&[u8]) -> Vec<u8>,
    /// Arguments for `rust-lld`, before the name of the output.
    link: &'static [&'static str],
}

const WINDOWS: System = System {
    target: "x86_64-pc-windows-gnu",
    object: coff,
    link: &["-flavor", "link", "/dll", "/noentry", "/nologo", "/machine:x64", "/out:"],
};

const MACOS: System = System {
    target: "x86_64-apple-darwin",
    object: |records| mach_o(X86_64, 3, records),
    link: &["-flavor", "darwin", "-dylib", "-arch", "x86_64", "-platform_version", "macos", "11.0", "11.0", "-o"],
};

const MACOS_ARM: System = System {
    target: "aarch64-apple-darwin",
    object: |records| mach_o(ARM64, 0, records),
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

/// Numbers of 32 bits, one after another.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A name in a field of 8 or 16 bytes.
fn padded<const N: usize>(name: &str) -> [u8; N] {
    let mut field = [0; N];
    field[..name.len()].copy_from_slice(name.as_bytes());
    field
}

/// An object file of Windows for x86-64.
fn coff(records: &[u8]) -> Vec<u8> {
    const MACHINE: u32 = 0x8664;
    const HEADERS: usize = 20 + 40;
    // Initialised data that is read and written, at multiples of 8.
    const FLAGS: u32 = 0xc040_0040;
    let header = words(&[MACHINE | 1 << 16, 0, 0, 0, 0]);
    let places = [0, 0, records.len() as u32, HEADERS as u32, 0, 0, 0, FLAGS];
    [&header, &padded::<8>(SECTION)[..], &words(&places), records].concat()
}

/// An object file of macOS for this processor.
fn mach_o(cpu: u32, subtype: u32, records: &[u8]) -> Vec<u8> {
    const MAGIC: u32 = 0xfeed_facf;
    const OBJECT: u32 = 1;
    const SEGMENT: u32 = 0x19;
    const SEGMENT_LEN: u32 = 72 + 80;
    const HEADERS: u32 = 32 + SEGMENT_LEN;
    const READ_AND_WRITE: u32 = 3;
    let len = records.len() as u32;
    let header = words(&[MAGIC, cpu, subtype, OBJECT, 1, SEGMENT_LEN, 0, 0]);
    let segment = [SEGMENT, SEGMENT_LEN, 0, 0, 0, 0];
    let places = [0, 0, len, 0, HEADERS, 0, len, 0, READ_AND_WRITE, READ_AND_WRITE, 1, 0];
    // At multiples of 2 to the power of 3.
    let section = [0, 0, len, 0, HEADERS, 3, 0, 0, 0, 0, 0, 0];
    let names = [padded::<16>(SECTION_MACHO), padded::<16>("__DATA")].concat();
    [header, words(&segment), words(&places), names, words(&section), records.to_vec()].concat()
}

/// Links a library of these records.
fn link(lld: PathBuf, system: &System, section: &[u8]) -> Vec<u8> {
    let dir = folder(&format!("foreign-{}", system.target));
    let (input, output) = (dir.join("records.o"), dir.join("plugin"));
    fs::write(&input, (system.object)(section)).unwrap();
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
    if system.target.starts_with("x86_64") && cfg!(target_arch = "x86_64") {
        let found = section_of(library.as_slice()).unwrap();
        assert!(found.starts_with(&section), "the records of {} read", system.target);
    }
    let dir = folder(&format!("foreign-{}-found", system.target));
    let refusal = refusal(&dir, &library);
    assert!(refusal.help().is_some(), "{refusal}");
    refused(&refusal);
    // It cannot be opened here, but its record describes it.
    let inspection = inspect(&dir.join("plugin.so"), TRUSTING);
    let target = Refusal::Target { plugin: system.target.to_owned() };
    assert!(inspection.records.is_some() && inspection.objections.contains(&Objection::Refused(target)));
    assert!(matches!(inspection.needs, Needs::NotChecked { .. }));
    // The others are as usable as ever.
    let registry = registry(&[&dir.join("plugin.so"), &MARK]);
    assert!(run(&registry, "mark.Nothing", &table(&[]), &chain(&[])).is_ok());
}

/// A universal file of these libraries: a header with numbers of 32 or 64 bits, then the libraries, each at a page.
fn universal(libraries: &[(u32, &[u8])], is_long: bool) -> Vec<u8> {
    const PAGE: usize = 1 << 14;
    let magic: u32 = if is_long { 0xcafe_babf } else { 0xcafe_babe };
    let mut bytes = [magic, libraries.len() as u32].map(u32::to_be_bytes).concat();
    let mut offset = PAGE;
    for (cpu, library) in libraries {
        bytes.extend([*cpu, 0].map(u32::to_be_bytes).concat());
        if is_long {
            bytes.extend([offset as u64, library.len() as u64].map(u64::to_be_bytes).concat());
            bytes.extend([14u32, 0].map(u32::to_be_bytes).concat());
        } else {
            bytes.extend([offset as u32, library.len() as u32, 14].map(u32::to_be_bytes).concat());
        }
        offset = (offset + library.len()).next_multiple_of(PAGE);
    }
    for (_, library) in libraries {
        bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
        bytes.extend(*library);
    }
    bytes
}

#[test]
fn a_universal_library_of_macos() {
    let Some(lld) = rust_lld() else {
        eprintln!("not tested for universal files: the compiler has no `rust-lld` beside it");
        return;
    };
    let [intel, arm] = [&MACOS, &MACOS_ARM].map(|system| link(lld.clone(), system, &records_for(system.target)));
    let dir = folder("foreign-universal");
    let own = match std::env::consts::ARCH {
        "x86_64" => Some((X86_64, &MACOS)),
        "aarch64" => Some((ARM64, &MACOS_ARM)),
        _ => None,
    };
    for is_long in [false, true] {
        let both = universal(&[(ARM64, &arm), (X86_64, &intel)], is_long);
        let refused = refusal(&dir, &both);
        let Some((cpu, system)) = own else {
            assert!(refused.to_string().contains("it is a universal file for Aarch64 and X86_64"), "{refused}");
            continue;
        };
        // Of the two libraries in it, the one for this machine is read.
        assert_eq!(refused, Refusal::Target { plugin: system.target.to_owned() });
        let inspection = inspect(&dir.join("plugin.so"), TRUSTING);
        assert_eq!(inspection.records.unwrap().plugin.target, system.target);
        assert!(inspection.format.unwrap().ends_with(" in a universal file"));
        let (other_cpu, other) = if cpu == X86_64 { (ARM64, &arm) } else { (X86_64, &intel) };
        let refused = refusal(&dir, &universal(&[(other_cpu, other)], is_long)).to_string();
        let says = "it is not a shared library: it is a universal file for ";
        assert!(refused.starts_with(says) && refused.contains(", and this machine is "), "{refused}");
        // Its contents can be read anyway, and the better reason comes first.
        let inspection = inspect(&dir.join("plugin.so"), TRUSTING);
        assert!(inspection.records.is_some() && inspection.objections[0].to_string() == refused, "{inspection:?}");
        assert_eq!(inspection.objections.len(), 2, "{:?}", inspection.objections);
    }
    let both = universal(&[(ARM64, &arm), (X86_64, &intel)], false);
    for percent in 0..100 {
        refusal(&dir, &both[..both.len() * percent / 100]);
        assert!(!inspect(&dir.join("plugin.so"), TRUSTING).is_accepted());
    }
    for (at, value) in [(4, 0xff), (4, 0), (7, 0), (7, 200), (16, 0xff), (20, 0xff), (20, 0x7f)] {
        let mut damaged = both.clone();
        damaged[at] = value;
        let refused = refusal(&dir, &damaged).to_string();
        let inspection = inspect(&dir.join("plugin.so"), TRUSTING);
        assert!(!inspection.is_accepted(), "{at}: {refused}");
    }
    let class = [&[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61][..], &[0; 4096]].concat();
    let why = "it is not a shared library: it begins as a universal file and is none";
    assert_eq!(refusal(&dir, &class).to_string(), why);
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
