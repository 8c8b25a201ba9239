//! The section of records in a library's file.

use super::verdict::Refusal;
use object::{
    Architecture, FileKind, Object, ObjectSection, ReadCache, ReadRef,
    read::macho::{FatArch, MachOFatFile32, MachOFatFile64},
};
use relais_plugin_api::boundary::record::{SECTION, SECTION_MACHO};
use std::{fs::File, io, path::Path, sync::Arc};

/// The most bytes of records that are read from one file.
const MAX_SECTION: u64 = 64 << 20;

/// The most slices of a universal file. Files of another kind begin in the same way, with a larger number.
const MAX_SLICES: usize = 32;

/// The bytes of a file's records: only the parts of the file that locate them are read, and nothing is run.
///
/// # Errors
/// Returns an error if the file cannot be read, is not a library, or has no records.
pub fn read_section(path: &Path) -> Result<Arc<[u8]>, Refusal> {
    section_of(&open(path)?)
}

/// A file that exists and may be a library, to be read where it is needed.
pub(crate) fn open(path: &Path) -> Result<ReadCache<File>, Refusal> {
    let metadata = path.metadata().map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err(Refusal::NotAFile);
    }
    if metadata.len() == 0 {
        return Err(Refusal::NotALibrary { why: "it is empty".into() });
    }
    File::open(path).map(ReadCache::new).map_err(|error| unreadable(&error))
}

/// The bytes of the records of a library that is in memory.
///
/// # Errors
/// Returns an error if it is not a library, or has no records.
pub fn section_of<'a, R: ReadRef<'a>>(data: R) -> Result<Arc<[u8]>, Refusal> {
    match slices(data)? {
        None => section_of_one(data),
        Some(slices) => section_of_one(own_slice(&slices)?),
    }
}

fn section_of_one<'a, R: ReadRef<'a>>(data: R) -> Result<Arc<[u8]>, Refusal> {
    let file = object::File::parse(data).map_err(|error| Refusal::NotALibrary { why: error.to_string() })?;
    // Without this, only the record would tell which machine it is for, and the system that it does not open it.
    if let Some(why) = foreign(&file) {
        return Err(Refusal::NotALibrary { why });
    }
    records_of(&file)
}

/// A library for one kind of machine within a universal file.
pub(super) type Slice<'a> = (Architecture, &'a [u8]);

/// The libraries in a universal file of macOS; `None` if it is not one.
///
/// # Errors
/// Returns an error if its table of them is wrong.
pub(crate) fn slices<'a, R: ReadRef<'a>>(data: R) -> Result<Option<Vec<Slice<'a>>>, Refusal> {
    fn read<'a, R: ReadRef<'a>, A: FatArch>(data: R, arches: &[A]) -> Option<Vec<Slice<'a>>> {
        let len = data.len().ok()?;
        let one = |arch: &A| {
            let (offset, size): (u64, u64) = (arch.offset().into(), arch.size().into());
            let bytes =
                if offset.checked_add(size)? <= len { data.read_bytes_at(offset, size).ok()? } else { return None };
            Some((arch.architecture(), bytes))
        };
        if arches.len() > MAX_SLICES { None } else { arches.iter().map(one).collect() }
    }
    let read = match FileKind::parse(data) {
        Ok(FileKind::MachOFat32) => MachOFatFile32::parse(data).ok().and_then(|file| read(data, file.arches())),
        Ok(FileKind::MachOFat64) => MachOFatFile64::parse(data).ok().and_then(|file| read(data, file.arches())),
        _ => return Ok(None),
    };
    let slices = read.filter(|slices| !slices.is_empty());
    slices.map(Some).ok_or_else(|| Refusal::NotALibrary { why: "it begins as a universal file and is none".into() })
}

/// The library that this machine opens.
pub(crate) fn own_slice<'a>(slices: &[Slice<'a>]) -> Result<&'a [u8], Refusal> {
    let own = own_architecture();
    let found = slices.iter().find(|(other, _)| Some(*other) == own);
    found.map(|(_, bytes)| *bytes).ok_or_else(|| {
        let names: Vec<String> = slices.iter().map(|(other, _)| format!("{other:?}")).collect();
        let machine = own.map_or_else(|| std::env::consts::ARCH.to_owned(), |own| format!("{own:?}"));
        Refusal::NotALibrary {
            why: format!("it is a universal file for {}, and this machine is {machine}", names.join(" and ")),
        }
    })
}

/// The bytes of the records of a library, whatever system it is for.
pub(crate) fn records_of<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Result<Arc<[u8]>, Refusal> {
    let section = file.section_by_name(SECTION).or_else(|| file.section_by_name(SECTION_MACHO));
    let section = section.ok_or(Refusal::NoRecords)?;
    if section.size() > MAX_SECTION {
        return Err(Refusal::NotALibrary { why: format!("it claims {} bytes of records", section.size()) });
    }
    let data = section.data().map_err(|error| Refusal::NotALibrary { why: error.to_string() })?;
    Ok(data.into())
}

/// Why this system could not open a library; `None` if it could.
pub(crate) fn foreign<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Option<String> {
    let bits = if file.is_64() { 64 } else { 32 };
    if bits != usize::BITS {
        return Some(format!("it is for a {bits}-bit system, and this one has {} bits", usize::BITS));
    }
    // If it is unknown, opening the file will tell.
    let own = own_architecture()?;
    let other = file.architecture();
    (other != own).then(|| format!("it is for {other:?}, and this machine is {own:?}"))
}

/// Returns the architecture of this machine, as encoded in files.
fn own_architecture() -> Option<Architecture> {
    Some(match std::env::consts::ARCH {
        "x86_64" => Architecture::X86_64,
        "x86" => Architecture::I386,
        "aarch64" => Architecture::Aarch64,
        "arm" => Architecture::Arm,
        "riscv64" => Architecture::Riscv64,
        "powerpc64" => Architecture::PowerPc64,
        "s390x" => Architecture::S390x,
        "loongarch64" => Architecture::LoongArch64,
        _ => return None,
    })
}

pub(super) fn unreadable(error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::NotFound => Refusal::Missing,
        _ => Refusal::Unreadable { why: error.to_string() },
    }
}
