//! Many plugins, made from one.

use relais::plugin::{read_section, section_of};
use relais_plugin_api::boundary::{
    record::{HEADER, Header, SECTION, pass_tag, plugin_tag, record_kind},
    wire::{Fields, checksum, push_field},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A plugin to make others of. Names in it have four letters at least, and the first four make room for a number.
pub struct Pattern {
    file: Vec<u8>,
    section: Vec<u8>,
    /// The position of the records in the file.
    at: usize,
}

impl Pattern {
    /// The plugin in a file.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn of(library: &Path) -> Self {
        let file = fs::read(library).unwrap_or_else(|error| panic!("`{}`: {error}", library.display()));
        let section = read_section(library).expect("a plugin has records").to_vec();
        let at = file.windows(section.len()).position(|bytes| bytes == section);
        Self { at: at.expect("the records stand in the file"), file, section }
    }

    /// The whole file, with the names of the plugin with that number.
    pub fn file(&self, number: usize) -> Vec<u8> {
        let mut file = self.file.clone();
        file[self.at..][..self.section.len()].copy_from_slice(&renamed(&self.section, number));
        file
    }

    /// A file with the same records that no system opens: it consists of records.
    pub fn stub(&self, number: usize) -> Vec<u8> {
        elf(&renamed(&self.section, number))
    }
}

/// A library's path in a folder.
pub fn library(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX))
}

/// Returns the name of the plugin of that number, in the place of `name`.
pub fn renamed_text(name: &str, number: usize) -> String {
    format!("p{number:03}{}", &name[4..])
}

/// A plugin in another version, whose text is as long.
///
/// # Panics
/// Panics if the bytes are not those of a plugin.
pub fn with_version(file: &[u8], version: &str) -> Vec<u8> {
    let section = section_of(file).expect("a plugin has records");
    let at = file.windows(section.len()).position(|bytes| bytes == &*section).expect("the records stand in the file");
    let is_version = |kind: u32, tag: u16| kind == record_kind::PLUGIN && tag == plugin_tag::VERSION;
    let new = changed(&section, |kind, tag, _| is_version(kind, tag).then(|| version.to_owned()));
    let mut file = file.to_vec();
    file[at..][..new.len()].copy_from_slice(&new);
    file
}

fn renamed(section: &[u8], number: usize) -> Vec<u8> {
    changed(section, |kind, tag, text| {
        let names: &[u16] = match kind {
            record_kind::PLUGIN => &[plugin_tag::NAME],
            record_kind::PASS => &[pass_tag::NAME, pass_tag::ALIAS],
            _ => &[],
        };
        names.contains(&tag).then(|| renamed_text(text, number))
    })
}

/// Records with other texts of the same length.
fn changed(section: &[u8], change: impl Fn(u32, u16, &str) -> Option<String>) -> Vec<u8> {
    let mut section = section.to_vec();
    let mut at = 0;
    while let Some(skip) = section[at..].iter().position(|&byte| byte != 0) {
        at += skip;
        let header = Header::read(&section[at..]).expect("it is a record");
        let mut fields = Vec::new();
        for field in Fields::new(&section[at + HEADER..][..header.len]).map(|field| field.expect("it reads")) {
            let new = field.text().ok().and_then(|text| change(header.kind, field.tag, text));
            push_field(&mut fields, field.tag, new.as_deref().map_or(field.bytes, str::as_bytes));
        }
        assert_eq!(fields.len(), header.len, "the texts are as long as before");
        section[at + HEADER..][..fields.len()].copy_from_slice(&fields);
        section[at + 24..at + 32].copy_from_slice(&checksum(&fields).to_le_bytes());
        at += HEADER + header.len;
    }
    section
}

/// An ELF file for this machine with one section.
fn elf(section: &[u8]) -> Vec<u8> {
    let names = format!("\0{SECTION}\0.shstrtab\0");
    let machine: u16 = match std::env::consts::ARCH {
        "x86_64" => 62,
        "aarch64" => 183,
        other => panic!("{other} has no number here"),
    };
    let sections_at = (64 + section.len() + names.len()).next_multiple_of(8);
    let mut out = b"\x7fELF\x02\x01\x01".to_vec();
    out.resize(16, 0);
    out.extend([3u16, machine].iter().flat_map(|half| half.to_le_bytes()));
    out.extend(1u32.to_le_bytes());
    out.extend([0, 0, sections_at as u64].iter().flat_map(|word| word.to_le_bytes()));
    out.extend(0u32.to_le_bytes());
    out.extend([64u16, 56, 0, 64, 3, 2].iter().flat_map(|half| half.to_le_bytes()));
    out.extend(section);
    out.extend(names.as_bytes());
    out.resize(sections_at + 64, 0);
    // Name, type, then flags, address, place, length, link and info, alignment, length of an entry.
    for (name, kind, at, len) in [(1u32, 1u32, 64, section.len()), (10, 3, 64 + section.len(), names.len())] {
        out.extend([name, kind].iter().flat_map(|half| half.to_le_bytes()));
        out.extend([0, 0, at as u64, len as u64, 0, 1, 0].iter().flat_map(|word| word.to_le_bytes()));
    }
    out
}
