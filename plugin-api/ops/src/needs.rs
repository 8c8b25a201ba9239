//! The least version of the boundary that a plugin needs, as far as it follows from the functions of the host that its code
//! keeps.
//!
//! A function that calls a later entry of a table of the host has a record beside it that names the version. The function refers
//! to the section of the record, so that a linker that drops the one drops the other: a plugin's file has the records of what
//! it may call. That works in ELF files. In files of other formats, a plugin needs the version that it was built with, unless
//! its author says otherwise.

use crate::version::BoundaryVersion;
use relais_ir::wire::Writer;

/// Whether the files of this target's libraries say what the linked code needs, and this crate's features do not.
pub const IS_LINKED: bool = cfg!(all(
    any(target_os = "linux", target_os = "android", target_os = "freebsd"),
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(feature = "api-0-3")
));

/// The kind of these records.
pub const KIND: u32 = 10;
/// The tag of their only field, and of that of a plugin's record which means the same.
pub const TAG: u16 = 15;

/// Returns the record for a version, as numbers of the machine.
#[doc(hidden)]
pub const fn record(since: BoundaryVersion) -> [u64; 6] {
    let mut bytes = [0; 48];
    let mut w = Writer::filling(&mut bytes);
    let start = w.begin_record(KIND);
    w.field(TAG, &since.encode());
    w.end_record(start);
    let mut words = [0; 6];
    let mut i = 0;
    while i < words.len() {
        let (_, rest) = bytes.split_at(8 * i);
        words[i] = match rest.first_chunk() {
            Some(word) => u64::from_ne_bytes(*word),
            None => 0,
        };
        i += 1;
    }
    words
}

/// Puts a record beside the function that this is in, if files say what is needed: it needs a version of the boundary.
macro_rules! needs {
    ($since:expr) => {
        #[cfg(all(
            any(target_os = "linux", target_os = "android", target_os = "freebsd"),
            any(target_arch = "x86_64", target_arch = "aarch64"),
            not(feature = "api-0-3")
        ))]
        // SAFETY: no instruction is added, and nothing that the function does changes.
        unsafe {
            const RECORD: [u64; 6] = crate::needs::record($since);
            ::core::arch::asm!(
                // One section for each version: what a linker keeps is a section.
                ".pushsection .passrec,\"a\",@progbits,unique,{section}",
                ".p2align 3",
                "771:",
                ".quad {a}, {b}, {c}, {d}, {e}, {f}",
                ".popsection",
                ".reloc ., BFD_RELOC_NONE, 771b",
                section = const (($since.major as u32) << 20 | ($since.minor as u32) << 10 | $since.patch as u32),
                a = const RECORD[0],
                b = const RECORD[1],
                c = const RECORD[2],
                d = const RECORD[3],
                e = const RECORD[4],
                f = const RECORD[5],
                options(nomem, nostack, preserves_flags)
            );
        }
    };
}
pub(crate) use needs;
