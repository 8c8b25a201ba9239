//! Files that are not plugins, or that cannot be used: the rows "The file", "The record", "Compatibility" and
//! "Registration" of possible errors.

use crate::common::*;
use relais::{
    lock::Lock,
    pipeline::{Disk, PipelineSpec},
    plugin::{FileWriter, Mover, Origin, Policy, RecordError, Refusal, SearchDir, WritableFiles, discover},
    registry::{Choices, CreateError, Linked, Registry, ResolveError},
};
use relais_plugin_api::boundary::{
    record::{
        API, BOUNDARY, BoundaryVersion, FORMAT, HEADER, Header, MAX_LEN, RUSTC, TARGET, instrument_tag, op_tag,
        pass_tag, plugin_tag, record_kind,
    },
    wire::{CRITICAL, Fields, checksum, push_field},
};
use std::{
    fs,
    path::{Path, PathBuf},
    slice,
};

fn sample_bytes() -> Vec<u8> {
    fs::read(&*SAMPLE).unwrap()
}

/// The sample with a field of its plugin's record changed.
fn with_plugin_field(tag: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = sample_bytes();
    let at = records(&bytes, record_kind::PLUGIN)[0];
    set_field(&mut bytes, at, tag, value);
    bytes
}

/// The sample as if it was built for a version of the boundary, and needed another one.
fn with_versions(built: BoundaryVersion, needs: BoundaryVersion) -> Vec<u8> {
    let mut bytes = with_plugin_field(plugin_tag::BOUNDARY, &built.encode());
    let at = records(&bytes, record_kind::PLUGIN)[0];
    set_field(&mut bytes, at, plugin_tag::NEEDS, &needs.encode());
    bytes
}

fn named(dir: &Path) -> [SearchDir; 1] {
    [SearchDir { path: dir.to_owned(), origin: Origin::Named }]
}

#[test]
fn what_is_no_library_is_refused() {
    let dir = folder("no_library");
    assert_eq!(find(&[&dir.join("missing.so")]).refused[0].refusal, Refusal::Missing);
    assert_eq!(find(&[&dir]).refused[0].refusal, Refusal::NotAFile);
    assert_eq!(refusal(&dir, b"").to_string(), "it is not a shared library: it is empty");
    let text = refusal(&dir, b"this is a text, not a library\n").to_string();
    assert!(text.starts_with("it is not a shared library: "), "{text}");
}

#[test]
fn a_truncated_library_is_refused_at_every_length() {
    let (dir, bytes) = (folder("truncated"), sample_bytes());
    for percent in 0..100 {
        let cut = &bytes[..bytes.len() * percent / 100];
        let refusal = refusal(&dir, cut);
        assert!(matches!(refusal, Refusal::NotALibrary { .. } | Refusal::NoRecords), "{percent}: {refusal:?}");
    }
}

#[test]
fn flipped_bytes_never_crash_the_search() {
    let (dir, bytes) = (folder("flipped"), sample_bytes());
    let at = records(&bytes, record_kind::PASS)[0];
    let mut seed = 1u64;
    for _ in 0..100 {
        let mut damaged = bytes.clone();
        for _ in 0..4 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Among the records and in the header, where it matters.
            let offset = (seed >> 33) as usize % 2048;
            let place = if seed & 1 == 0 { at + offset } else { offset % 64 };
            damaged[place] ^= (seed >> 20) as u8 | 1;
        }
        let path = dir.join("plugin.so");
        fs::write(&path, &damaged).unwrap();
        let found = find(&[&path]);
        assert_eq!(found.plugins.len() + found.refused.len(), 1);
    }
}

#[cfg(unix)]
#[test]
fn a_dangling_link_is_refused_and_a_good_one_is_not() {
    let dir = folder("links");
    let link = dir.join("link.so");
    std::os::unix::fs::symlink(dir.join("nowhere.so"), &link).unwrap();
    assert_eq!(find(&[&link]).refused[0].refusal, Refusal::Missing);
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&*SAMPLE, &link).unwrap();
    assert_eq!(find(&[&link]).plugins.len(), 1);
}

#[test]
fn libraries_without_records_are_passed_over_in_a_scan_alone() {
    let dir = folder("no_records");
    let path = dir.join("other").with_extension(std::env::consts::DLL_EXTENSION);
    let mut bytes = sample_bytes();
    // Another name for the section.
    let name = bytes.windows(9).rposition(|window| window == b".passrec\0").unwrap();
    bytes[name..name + 8].copy_from_slice(b".passxxx");
    fs::write(&path, bytes).unwrap();
    let scan = discover(&named(&dir), &[], TRUSTING);
    assert_eq!((scan.plugins.len(), scan.refused.len()), (0, 0));
    assert_eq!(find(&[&path]).refused[0].refusal, Refusal::NoRecords);
}

#[test]
fn a_folder_that_was_named_must_be_there() {
    let missing = folder("named").join("missing");
    assert_eq!(discover(&named(&missing), &[], TRUSTING).refused[0].refusal, Refusal::Missing);
    let dirs = [SearchDir { path: missing, origin: Origin::Environment }];
    assert_eq!(discover(&dirs, &[], TRUSTING).refused, []);
}

#[test]
fn folders_are_searched_in_the_order_of_the_convention() {
    let list = std::env::join_paths(["/a", "/b"]).unwrap();
    let (program, user) = (Path::new("/bin"), Path::new("/home/user"));
    let dirs = SearchDir::standard(Some(program), Some(user), Some(&list), &[PathBuf::from("/c")]);
    let dirs: Vec<(&str, Origin)> = dirs.iter().map(|dir| (dir.path.to_str().unwrap(), dir.origin)).collect();
    use Origin::*;
    assert_eq!(dirs, [("/bin", Beside), ("/home/user", User), ("/a", Environment), ("/b", Environment), ("/c", Named)]);
}

#[cfg(unix)]
#[test]
fn what_everybody_may_write_is_refused_unless_told_otherwise() {
    use std::os::unix::fs::PermissionsExt;
    let dir = folder("writable");
    let path = dir.join("plugin").with_extension(std::env::consts::DLL_EXTENSION);
    fs::copy(&*SAMPLE, &path).unwrap();
    let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    chmod(&dir, 0o755);
    chmod(&path, 0o777);
    let found = discover(&named(&dir), &[], Policy::default());
    assert_eq!(found.refused[0].refusal, Refusal::Writable { path: path.clone(), by: FileWriter::Everybody });
    assert_eq!(discover(&named(&dir), &[], TRUSTING).plugins.len(), 1);
    chmod(&path, 0o755);
    assert_eq!(discover(&named(&dir), &[], Policy::default()).plugins.len(), 1);
    chmod(&dir, 0o777);
    let found = discover(&named(&dir), &[], Policy::default());
    assert_eq!(found.refused[0].refusal.to_string(), format!("everybody may change `{}`", dir.display()));
    let found = discover(&[], std::slice::from_ref(&path), Policy::default());
    assert_eq!(found.refused[0].refusal, Refusal::Writable { path: dir.clone(), by: FileWriter::Everybody });
    chmod(&dir, 0o755);
}

#[cfg(unix)]
#[test]
fn what_others_may_replace_on_the_way_is_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = folder("replaceable");
    let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let name = Path::new("plugin").with_extension(std::env::consts::DLL_EXTENSION);
    for folder in ["mine", "open", "open/inner", "sticky"] {
        fs::create_dir(dir.join(folder)).unwrap();
        chmod(&dir.join(folder), 0o755);
        fs::copy(&*SAMPLE, dir.join(folder).join(&name)).unwrap();
        chmod(&dir.join(folder).join(&name), 0o644);
    }
    chmod(&dir.join("open"), 0o777);
    chmod(&dir.join("sticky"), 0o1777);
    let refusal = |path: &Path| {
        let found = discover(&[], &[path.to_owned()], Policy::default());
        found.refused.first().map(|refused| refused.refusal.clone())
    };
    let open = || Some(Refusal::Writable { path: dir.join("open").canonicalize().unwrap(), by: FileWriter::Everybody });
    assert_eq!(refusal(&dir.join("mine").join(&name)), None);
    // The folder around the plugin's folder.
    assert_eq!(refusal(&dir.join("open/inner").join(&name)), open());
    assert_eq!(discover(&named(&dir.join("open/inner")), &[], Policy::default()).refused[0].refusal, open().unwrap());
    // Where a link leads, and the folder of the link.
    symlink(dir.join("open").join(&name), dir.join("mine/out.so")).unwrap();
    assert_eq!(refusal(&dir.join("mine/out.so")), open());
    symlink(dir.join("mine").join(&name), dir.join("open/in.so")).unwrap();
    assert_eq!(
        refusal(&dir.join("open/in.so")),
        Some(Refusal::Writable { path: dir.join("open"), by: FileWriter::Everybody })
    );
    symlink(dir.join("mine").join(&name), dir.join("sticky/link.so")).unwrap();
    assert_eq!(refusal(&dir.join("sticky/link.so")), None);
    // Others cannot replace a file there, only add one: files that the user names are taken, files that are found there
    // are not.
    assert_eq!(refusal(&dir.join("sticky").join(&name)), None);
    let found = discover(&named(&dir.join("sticky")), &[], Policy::default());
    assert_eq!(found.refused[0].refusal, Refusal::Writable { path: dir.join("sticky"), by: FileWriter::Everybody });
    chmod(&dir.join("open"), 0o755);
}

#[cfg(unix)]
#[test]
fn what_a_group_may_write_is_refused_unless_it_is_a_group_of_one() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let dir = folder("of-a-group");
    let path = dir.join("plugin").with_extension(std::env::consts::DLL_EXTENSION);
    fs::copy(&*SAMPLE, &path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    // The members of a group without an entry are unknown. Only the administrator may give files away to it.
    let unknown = 54_321;
    if chown(&path, None, Some(unknown)).is_err() {
        return;
    }
    let found = discover(&named(&dir), &[], Policy::default());
    let refusal = &found.refused[0].refusal;
    assert_eq!(*refusal, Refusal::Writable { path: path.clone(), by: FileWriter::Group(unknown) });
    assert_eq!(refusal.to_string(), format!("the members of group 54321 may change `{}`", path.display()));
    assert!(refusal.help().unwrap().contains("chmod g-w"));
    chown(&path, Some(unknown), Some(path.metadata().unwrap().gid())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let found = discover(&named(&dir), &[], Policy::default());
    let refusal = &found.refused[0].refusal;
    assert_eq!(*refusal, Refusal::Writable { path: path.clone(), by: FileWriter::User(unknown) });
    assert!(refusal.to_string().contains("belongs to user 54321, who may change it"));
    assert_eq!(discover(&named(&dir), &[], TRUSTING).plugins.len(), 1);
}

#[test]
fn damaged_records_are_refused() {
    let dir = folder("damaged");
    let bytes = sample_bytes();
    let at = records(&bytes, record_kind::PASS)[0];
    let with = |change: &dyn Fn(&mut [u8])| {
        let mut bytes = bytes.clone();
        change(&mut bytes[at..]);
        match refusal(&dir, &bytes) {
            Refusal::Record(error) => error,
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(with(&|record| record[0] ^= 1), RecordError::Foreign { .. }));
    assert!(matches!(with(&|record| record[HEADER + 8] ^= 1), RecordError::Checksum { .. }));
    assert!(matches!(with(&|record| record[24] ^= 1), RecordError::Checksum { .. }));
    assert_eq!(with(&|record| record[8] = 2), RecordError::NewerFormat { format: FORMAT + 1 });
    assert_eq!(Refusal::Record(with(&|record| record[12] ^= 1)).mover(), Mover::File);
    for bit in 0..32 {
        for byte in [12, 20] {
            let kind = with(&|record| record[byte + bit / 8] ^= 1 << (bit % 8));
            assert!(matches!(kind, RecordError::Kind { .. }), "{kind}");
        }
    }
    let absurd = with(&|record| record[16..20].copy_from_slice(&u32::MAX.to_le_bytes()));
    assert!(matches!(absurd, RecordError::Length { len, .. } if len == u32::MAX as usize));
    let long = with(&|record| record[16..20].copy_from_slice(&(MAX_LEN as u32 + 1).to_le_bytes()));
    assert!(matches!(long, RecordError::Length { .. }));
    let text = with(&|record| set_field(record, 0, pass_tag::DOC, b"\xff"));
    assert!(text.to_string().ends_with("cannot be parsed: text is not UTF-8"), "{text}");
    let number = with(&|record| set_field(record, 0, pass_tag::FLAGS, b"\0"));
    assert!(number.to_string().ends_with("cannot be parsed: a number has the wrong width"), "{number}");
    let name = with(&|record| set_field(record, 0, pass_tag::NAME, b"a b"));
    assert_eq!(name, RecordError::Name { name: "a b".into() });
    // A later version's kind of record is skipped.
    let mut later = bytes.clone();
    set_kind(&mut later[at..], 99);
    fs::write(dir.join("plugin.so"), later).unwrap();
    assert_eq!(find(&[&dir.join("plugin.so")]).plugins.len(), 1);
}

/// Makes a record one of another kind.
fn set_kind(record: &mut [u8], kind: u32) {
    record[12..16].copy_from_slice(&kind.to_le_bytes());
    record[20..24].copy_from_slice(&(!kind).to_le_bytes());
}

/// Makes the field of a tag one of another tag.
fn rename_field(record: &mut [u8], from: u16, to: u16) {
    let len = Header::read(record).unwrap().len;
    let mut fields = Vec::new();
    for field in Fields::new(&record[HEADER..][..len]).map(Result::unwrap) {
        push_field(&mut fields, if field.tag == from { to } else { field.tag }, field.bytes);
    }
    record[HEADER..][..len].copy_from_slice(&fields);
    record[24..32].copy_from_slice(&checksum(&fields).to_le_bytes());
}

#[test]
fn what_a_later_version_says_more_is_passed_over_unless_it_is_critical() {
    let (dir, bytes) = (folder("later_fields"), sample_bytes());
    let path = dir.join("plugin.so");
    let kinds = [
        (record_kind::PLUGIN, plugin_tag::DESCRIPTION),
        (record_kind::PASS, pass_tag::DOC),
        (record_kind::OPERATOR, op_tag::DOC),
        (record_kind::INSTRUMENT, instrument_tag::DOC),
    ];
    for (kind, tag) in kinds {
        let at = records(&bytes, kind)[0];
        let mut optional = bytes.clone();
        rename_field(&mut optional[at..], tag, 0x7fff);
        fs::write(&path, optional).unwrap();
        assert_eq!(find(&[&path]).plugins.len(), 1, "{kind}");
        let mut critical = bytes.clone();
        rename_field(&mut critical[at..], tag, CRITICAL | 99);
        let refusal = refusal(&dir, &critical);
        let says = "cannot be parsed: its field 0x8063 is of a later version, and nothing can be understood without it";
        assert!(refusal.to_string().ends_with(says), "{kind}: {refusal}");
        assert_eq!(refusal.mover(), Mover::Host);
        assert_eq!(refusal.help().unwrap(), "update the host: `cargo install relais-opt`");
    }
    let mut critical = bytes.clone();
    let at = records(&bytes, record_kind::PASS)[0];
    set_kind(&mut critical[at..], record_kind::CRITICAL | 99);
    let refusal = refusal(&dir, &critical);
    let says = "its record of kind 0x80000063 is of a later version, and nothing can be understood without it";
    assert_eq!((refusal.to_string().as_str(), refusal.mover()), (says, Mover::Host));
}

#[test]
fn damaged_records_of_statistics_and_instruments_are_refused() {
    let dir = folder("damaged_parts");
    let damaged = |kind: u32, tag: u16, value: &[u8]| {
        let mut bytes = sample_bytes();
        let has_tag = |&at: &usize| {
            let header = Header::read(&bytes[at..]).unwrap();
            Fields::new(&bytes[at + HEADER..][..header.len]).flatten().any(|field| field.tag == tag)
        };
        let at = records(&bytes, kind).into_iter().find(has_tag).unwrap();
        set_field(&mut bytes, at, tag, value);
        refusal(&dir, &bytes).to_string()
    };
    let nameless = damaged(record_kind::PASS, pass_tag::STATISTIC, b"");
    assert!(nameless.ends_with("cannot be parsed: the name is missing"), "{nameless}");
    let cut = damaged(record_kind::PASS, pass_tag::STATISTIC, b"\x01\x00\x09\x00\x00\x00");
    assert!(cut.contains("cannot be parsed"), "{cut}");
    let name = damaged(record_kind::INSTRUMENT, instrument_tag::NAME, b"a b");
    assert_eq!(name, RecordError::Name { name: "a b".into() }.to_string());
    let option = damaged(record_kind::INSTRUMENT, instrument_tag::DOC, b"\xff");
    assert!(option.ends_with("cannot be parsed: text is not UTF-8"), "{option}");
}

#[test]
fn a_file_has_one_plugin() {
    let dir = folder("one_plugin");
    let mut bytes = sample_bytes();
    let at = records(&bytes, record_kind::PLUGIN)[0];
    set_kind(&mut bytes[at..], 99);
    let none = refusal(&dir, &bytes);
    assert_eq!(none, Refusal::Record(RecordError::NoPlugin));
    assert_eq!(none.help().unwrap(), "put `plugin! { description = \"…\" }` into its `lib.rs`");
    // A plugin's record in the place of a pass's that is longer.
    let mut bytes = sample_bytes();
    let plugin = bytes[at..].to_vec();
    let len = HEADER + u32::from_le_bytes(plugin[16..20].try_into().unwrap()) as usize;
    let is_longer =
        |&&at: &&usize| u32::from_le_bytes(bytes[at + 16..at + 20].try_into().unwrap()) as usize + HEADER > len;
    let places = records(&bytes, record_kind::PASS);
    let place = *places.iter().find(is_longer).expect("the sample has a pass with many options");
    let end = place + HEADER + u32::from_le_bytes(bytes[place + 16..place + 20].try_into().unwrap()) as usize;
    bytes[place..end].fill(0);
    bytes[place..place + len].copy_from_slice(&plugin[..len]);
    let two = refusal(&dir, &bytes).to_string();
    assert_eq!(two, "two plugins are in one file: `sample-passes` and `sample-passes`");
}

#[test]
fn a_locked_plugin_is_opened_in_the_bytes_that_were_locked_or_not_at_all() {
    let dir = folder("locked");
    let path = dir.join("plugin.so");
    fs::copy(&*SAMPLE, &path).unwrap();
    let spec = PipelineSpec::parse("p.toml", "steps = [\"sample.Nothing\"]", &registry(&[&path])).unwrap();
    let lock = Lock::of(&spec, &registry(&[&path]), &[]).unwrap();
    let enforce = || lock.enforce(&spec, &registry(&[&path])).unwrap();
    assert!(spec.resolve(&enforce()).is_ok());
    let (locked, free) = (enforce(), registry(&[&path]));
    // Bytes after the library are not part of it: its records are unchanged.
    let mut bytes = sample_bytes();
    bytes.push(0);
    fs::write(&path, &bytes).unwrap();
    let faults = spec.resolve(&locked).unwrap_err().to_string();
    assert!(faults.contains("it was replaced after it had been looked at"), "{faults}");
    assert!(spec.resolve(&free).is_ok());
    assert!(lock.enforce(&spec, &registry(&[&path])).is_err_and(|told| told[0].contains("is another build")));
}

#[test]
fn what_was_built_for_another_host_is_refused_with_what_to_do() {
    let dir = folder("other_host");
    let checked = |bytes: Vec<u8>, says: &str, help: &str| {
        let refusal = refusal(&dir, &bytes);
        assert_eq!(refusal.to_string(), says);
        let said = refusal.help().unwrap();
        assert!(said.starts_with(help), "{said}");
    };
    let check = |tag: u16, value: &[u8], says: &str, help: &str| checked(with_plugin_field(tag, value), says, help);
    let range = match BOUNDARY.first_compatible() {
        first if first == BOUNDARY => BOUNDARY.to_string(),
        first => format!("{first} to {BOUNDARY}"),
    };
    let of_version = |version: BoundaryVersion, help: &str| {
        let says = format!("it was built for version {version} of the plugin boundary, and this host takes {range}");
        checked(with_versions(version, version), &says, help);
    };
    // Grown once more than the host's, or of a later series: the host has to be updated. Of an earlier series: the
    // plugin.
    of_version(
        BoundaryVersion { patch: BOUNDARY.patch + 1, ..BOUNDARY },
        "update the host: `cargo install relais-opt`",
    );
    of_version(BoundaryVersion { minor: BOUNDARY.minor + 1, patch: 0, ..BOUNDARY }, "update the host");
    of_version(BoundaryVersion { major: 1, minor: 0, patch: 0 }, "update the host");
    let rebuild = format!(
        "rebuild the plugin with this host's `relais-plugin-api`: `cargo add relais-plugin-api@{API} && cargo "
    );
    of_version(BoundaryVersion { major: 0, minor: 0, patch: 9 }, &rebuild);
    // If it was built for a later version, the version that it needs counts: then the host has to be updated, too.
    let later = |by| BoundaryVersion { patch: BOUNDARY.patch + by, ..BOUNDARY };
    let (built, needs) = (later(2), later(1));
    let says = format!("it was built for version {built} of the plugin boundary and needs {needs}, and this host ");
    checked(
        with_versions(built, needs),
        &format!("{says}takes {range}"),
        "update the host: `cargo install relais-opt`; or",
    );
    let path = dir.join("needs_less.so");
    for needs in [BOUNDARY, BOUNDARY.first_compatible()] {
        fs::write(&path, with_versions(built, needs)).unwrap();
        let plugin = find(&[&path]).plugins.remove(0).records.plugin;
        assert_eq!((plugin.boundary, plugin.needs), (built, needs));
    }
    // A plugin without the field needs the version that it was built for.
    let mut silent = with_versions(built, BOUNDARY);
    let at = records(&silent, record_kind::PLUGIN)[0];
    rename_field(&mut silent[at..], plugin_tag::NEEDS, 0x7fff);
    let says = format!("it was built for version {built} of the plugin boundary, and this host takes {range}");
    checked(silent, &says, "update the host: `cargo install relais-opt`; or");
    let target = format!("it was built for `s390x-unknown-linux`, and this host is `{TARGET}`");
    check(plugin_tag::TARGET, b"s390x-unknown-linux", &target, "build it for this system");
    let abort = "it was built with `panic = \"abort\"`: its first panic would end the process";
    check(plugin_tag::PANIC, b"abort", abort, "remove `panic = \"abort\"`");
    let layout = format!(
        "its types are laid out differently, though its version of the plugin boundary fits (built by `{RUSTC}` with \
         `relais-plugin-api` {API}, this host by `{RUSTC}` with {API})"
    );
    let update = format!(
        "rebuild the plugin with this host's `relais-plugin-api`: `cargo update -p relais-plugin-api --precise {API} && cargo "
    );
    check(plugin_tag::FINGERPRINT, &[1; 8], &layout, &update);
}

#[test]
fn a_refused_plugin_is_named_where_its_pass_is_wanted() {
    let dir = folder("wanted");
    let path = dir.join("plugin.so");
    fs::write(&path, with_plugin_field(plugin_tag::PANIC, b"abort")).unwrap();
    let registry = registry(&[&path, &MARK]);
    let error = registry.pass("sample.ReluRelu").unwrap_err().to_string();
    assert!(error.starts_with("pass `sample.ReluRelu` is in plugin `"), "{error}");
    assert!(error.contains("which was refused: it was built with `panic = \"abort\"`"), "{error}");
    // The other plugin is as usable as ever.
    assert!(run(&registry, "mark.Nothing", &table(&[]), &chain(&[])).is_ok());
}

#[test]
fn a_wrong_entry_is_an_error_when_the_plugin_is_needed() {
    let dir = folder("entry");
    let path = dir.join("plugin.so");
    fs::write(&path, with_plugin_field(plugin_tag::ENTRY, b"relais_plugin_v1_other")).unwrap();
    let registry = registry(&[&path]);
    assert!(registry.pass("ReluRelu").is_ok());
    let error = registry.create("ReluRelu", &table(&[])).err().unwrap();
    let CreateError::Open { refusal: Refusal::Entry { symbol, .. }, .. } = error else { panic!("{error}") };
    assert_eq!(symbol, "relais_plugin_v1_other");
}

#[test]
fn a_file_that_was_replaced_is_not_opened() {
    let dir = folder("replaced");
    let path = dir.join("plugin.so");
    fs::copy(&*SAMPLE, &path).unwrap();
    let registry = registry(&[&path]);
    fs::write(&path, fs::read(&*MARK).unwrap()).unwrap();
    let error = registry.create("ReluRelu", &table(&[])).err().unwrap();
    assert!(matches!(error, CreateError::Open { refusal: Refusal::Replaced, .. }), "{error}");
}

#[test]
fn one_plugin_under_several_paths_counts_once() {
    let dir = folder("same");
    let copy = dir.join("copy.so");
    fs::copy(&*SAMPLE, &copy).unwrap();
    let found = find(&[&SAMPLE, &SAMPLE, &copy]);
    assert_eq!((found.plugins.len(), found.duplicates.len()), (1, 2));
    assert_eq!(found.duplicates[1], (copy, SAMPLE.clone()));
}

#[test]
fn rule_r4_two_versions_of_a_plugin_conflict_where_they_are_used() {
    let dir = folder("versions");
    let path = dir.join("newer.so");
    fs::write(&path, with_plugin_field(plugin_tag::VERSION, b"1.2.4")).unwrap();
    let found = find(&[&SAMPLE, &path, &MARK]);
    let both = Registry::new(found.clone(), Linked::Exclude, &Choices::new());
    assert!(both.pass("mark.Nothing").is_ok());
    let error = both.pass("sample.ReluRelu").unwrap_err();
    assert!(matches!(&error, ResolveError::Conflict(conflict) if conflict.plugins.len() == 2), "{error}");
    let text = error.to_string();
    assert!(text.contains("`sample-passes 1.2.3` (`") && text.contains("`sample-passes 1.2.4` (`"), "{text}");
    assert!(both.conflicts().iter().any(|conflict| conflict.name == "sample.ReluRelu"));
    // Its operators contradict each other perhaps, so they are opaque.
    assert!(both.operator("", "Relu", 14).is_none());
    let choices = [("sample-passes".to_owned(), ">=1.2.4".parse().unwrap())].into();
    let chosen = Registry::new(found, Linked::Exclude, &choices);
    assert!(chosen.pass("sample.ReluRelu").is_ok());
    assert!(chosen.operator("", "Relu", 14).is_some());
}

#[test]
fn rule_r4_a_named_file_counts_before_those_in_folders() {
    let dir = folder("named");
    let path = dir.join(format!("newer.{}", std::env::consts::DLL_EXTENSION));
    fs::write(&path, with_plugin_field(plugin_tag::VERSION, b"1.2.4")).unwrap();
    let dirs = [SearchDir { path: dir, origin: Origin::User }];
    let policy = Policy { writable: WritableFiles::Allow };
    let found = discover(&dirs, &[SAMPLE.to_path_buf()], policy);
    let files = |registry: &Registry| registry.plugins().map(|it| it.path().unwrap().to_owned()).collect::<Vec<_>>();
    let registry = Registry::new(found.clone(), Linked::Exclude, &Choices::new());
    assert_eq!(files(&registry), [SAMPLE.to_path_buf()]);
    assert_eq!(
        registry.set_aside().map(|it| it.path().unwrap().to_owned()).collect::<Vec<_>>(),
        slice::from_ref(&path)
    );
    assert!(registry.pass("sample.ReluRelu").is_ok() && registry.conflicts().is_empty());
    // A version that a pipeline demands is taken from wherever it is.
    let choices = [("sample-passes".to_owned(), "=1.2.4".parse().unwrap())].into();
    assert_eq!(files(&registry.choose(&choices)), slice::from_ref(&path));
    let alone = discover(&dirs, &[], policy);
    assert_eq!(files(&Registry::new(alone, Linked::Exclude, &Choices::new())), [path]);
}

/// The sample twice: as it is, and as a plugin of another name.
fn two_providers(name: &str) -> relais::plugin::Discovery {
    let path = folder(name).join("other.so");
    fs::write(&path, with_plugin_field(plugin_tag::NAME, b"other-passes")).unwrap();
    find(&[&SAMPLE, &path, &MARK])
}

#[test]
fn rule_r4_a_pass_is_taken_from_the_plugin_that_is_preferred() {
    let found = two_providers("prefer");
    let provider = |registry: &Registry, name: &str| {
        let failure = run(registry, name, &table(&[("fault", text("error"))]), &chain(&[])).err().unwrap();
        failure.plugin
    };
    let mut registry = Registry::new(found.clone(), Linked::Exclude, &Choices::new());
    let conflict = registry.pass("sample.Bad").unwrap_err().to_string();
    assert!(
        conflict.contains("`other-passes 1.2.3` (`") && conflict.contains("`sample-passes 1.2.3` (`"),
        "{conflict}"
    );
    assert!(conflict.contains("help: "), "{conflict}");
    registry.prefer("sample.Bad", "other-passes");
    assert_eq!(provider(&registry, "sample.Bad"), "other-passes");
    assert_eq!(provider(&registry, "Bad"), "other-passes");
    // A choice applies to every name of the pass.
    assert!(matches!(registry.pass("relay._transform.ReluRelu"), Err(ResolveError::Conflict(_))));
    registry.prefer("sample.ReluRelu", "other-passes");
    assert_eq!(registry.pass("relay._transform.ReluRelu").unwrap().name, "sample.ReluRelu");
    // Others are still in conflict, and a plugin that does not provide the pass chooses nothing.
    assert!(matches!(registry.pass("sample.Rename"), Err(ResolveError::Conflict(_))));
    let mut registry = Registry::new(found, Linked::Exclude, &Choices::new());
    registry.prefer("sample.Bad", "mark");
    assert!(matches!(registry.pass("sample.Bad"), Err(ResolveError::Conflict(_))));
    registry.prefer("Bad", "sample-passes");
    assert_eq!(provider(&registry, "sample.Bad"), "sample-passes");
}

#[test]
fn an_operator_that_two_plugins_describe_is_told_where_it_is_used() {
    use relais::ir::{Function, IRModule, MAIN};
    let module = |domain: &str, op: &str| {
        let mut f = Function::new();
        f.add_op(domain, op, "", 1);
        let mut module = IRModule::new();
        module.set_function(MAIN, f);
        module
    };
    let twice = Registry::new(two_providers("operators"), Linked::Exclude, &Choices::new());
    let told = twice.operator_conflicts(&module("sample", "Random"));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("`sample::Random`") && told[0].contains("other-passes") && told[0].contains("sample-passes")
    );
    assert!(twice.operator_conflicts(&module("sample", "NobodyHasThis")).is_empty());
    let once = Registry::new(find(&[&SAMPLE]), Linked::Exclude, &Choices::new());
    assert!(once.operator_conflicts(&module("sample", "Random")).is_empty());
}

#[test]
fn rule_r4_the_plugins_table_takes_a_pass_from_one_of_two_plugins() {
    let registry = |table: &str| {
        let spec = PipelineSpec::parse("p.toml", &format!("steps = []\n[plugins]\n{table}\n"), &Disk).unwrap();
        spec.registry(two_providers("prefer-table"), Linked::Exclude)
    };
    let names = |registry: &Registry| registry.pass("sample.Bad").map(|pass| pass.name.clone());
    assert!(matches!(names(&registry("mark = \"*\"")), Err(ResolveError::Conflict(_))));
    assert_eq!(names(&registry("other-passes = { passes = [\"sample.Bad\"] }")).unwrap(), "sample.Bad");
    let chosen = registry("sample-passes = { passes = [\"Bad\"] }");
    let failure = run(&chosen, "Bad", &table(&[("fault", text("error"))]), &chain(&[])).err().unwrap();
    assert_eq!(failure.plugin, "sample-passes");
}

#[test]
fn rule_r4_the_plugins_table_takes_an_operator_from_one_of_two_plugins() {
    use relais::pipeline::{Disk, PipelineSpec};
    let resolve = |table: &str| {
        let spec = PipelineSpec::parse("p.toml", &format!("steps = []\n[plugins]\n{table}\n"), &Disk).unwrap();
        let registry = spec.registry(two_providers("prefer-operator"), Linked::Exclude);
        let found = registry.operator("", "Relu", 14).map(|(id, _)| id);
        let evaluator = registry.evaluator("", "Relu", 14);
        let resolved = spec.resolve(&registry).map(|pipeline| pipeline.print()).map_err(|faults| faults.to_string());
        (found, evaluator, registry, resolved)
    };
    let (found, evaluator, ..) = resolve("mark = \"*\"");
    assert_eq!((found, evaluator), (None, None), "none of the two is believed");
    for name in ["Relu", "ai.onnx::Relu"] {
        let mut chosen = Vec::new();
        for plugin in ["sample-passes", "other-passes"] {
            let (found, evaluator, registry, resolved) = resolve(&format!("{plugin} = {{ operators = [\"{name}\"] }}"));
            assert!(evaluator.is_some(), "its evaluator, too");
            chosen.push(found.unwrap());
            assert!(registry.operator("sample", "Random", 1).is_none(), "others are as they were");
            let line = format!("\"{plugin}\" = {{ version = \"*\", operators = [\"{name}\"] }}");
            assert!(resolved.as_ref().unwrap().contains(&line), "{resolved:?}");
        }
        assert_ne!(chosen[0], chosen[1]);
    }
    let fault = |table: &str| resolve(table).3.unwrap_err();
    let typo = fault("sample-passes = { operators = [\"Rleu\"] }");
    assert!(typo.contains("plugin `sample-passes` neither describes nor evaluates operator `Rleu`"), "{typo}");
    assert!(typo.contains("did you mean `Relu`?"), "{typo}");
    let both = fault("sample-passes = { operators = [\"Relu\"] }\nother-passes = { operators = [\"ai.onnx::Relu\"] }");
    assert!(both.contains("operator `Relu` is taken from `sample-passes` already"), "{both}");
    let none = fault("sample-pases = { operators = [\"Relu\"] }");
    assert!(none.contains("there is no plugin `sample-pases`") && !none.contains("neither describes"), "{none}");
    let spec = PipelineSpec::parse("p.toml", "steps = []\n[plugins]\nmark = { operator = [\"Relu\"] }\n", &Disk);
    assert!(spec.unwrap_err().to_string().contains("did you mean `operators`?"));
}

#[test]
fn rule_r22_an_option_key_of_two_plugins_conflicts_where_it_is_set() {
    use relais_plugin_api::options::Value;
    let registry = Registry::new(two_providers("option-twice"), Linked::Exclude, &Choices::new());
    let error = registry.check_config("sample.depth", &Value::Int(1)).unwrap_err().to_string();
    assert!(error.contains("`sample.depth`"), "{error}");
    assert!(error.contains("`other-passes 1.2.3` (`") && error.contains("`sample-passes 1.2.3` (`"), "{error}");
    // A run that does not set it is not told.
    assert!(run(&registry, "mark.Nothing", &table(&[]), &chain(&[])).is_ok());
}

#[test]
fn rule_r4_full_names_aliases_and_short_names_mean_one_pass() {
    let registry = registry(&[&SAMPLE, &MARK]);
    for name in ["sample.ReluRelu", "relay._transform.ReluRelu", "ReluRelu"] {
        assert_eq!(registry.pass(name).unwrap().name, "sample.ReluRelu");
    }
    assert_eq!(registry.pass("tir.transform.mark.Nothing").unwrap().name, "mark.Nothing");
    let ambiguous = registry.pass("Nothing").unwrap_err().to_string();
    assert_eq!(ambiguous, "`Nothing` may be `mark.Nothing`, `sample.Nothing`\n  help: write the full name");
    let typo = registry.pass("sample.RenluRelu").unwrap_err().to_string();
    assert_eq!(typo, "no plugin provides pass `sample.RenluRelu`; did you mean `sample.ReluRelu`?");
    let unknown = registry.pass("Zzz").unwrap_err().to_string();
    assert!(unknown.starts_with("no plugin provides pass `Zzz`\n"), "{unknown}");
}

#[test]
fn options_are_checked_before_a_library_is_opened() {
    use relais_plugin_api::options::Value;
    let registry = sample();
    let error =
        |options: &[(&str, Value)]| registry.create("sample.Rename", &table(options)).err().unwrap().to_string();
    let prefix = ("prefix", text("n"));
    assert_eq!(error(&[]), "pass `sample.Rename`: option `prefix` must be given: it takes a string and has no default");
    let typo = error(&[prefix.clone(), ("weigth", Value::Float(0.1))]);
    assert_eq!(typo, "pass `sample.Rename`: there is no option `weigth`; did you mean `weight`?");
    let range = error(&[prefix.clone(), ("weight", Value::Float(2.0))]);
    assert_eq!(range, "pass `sample.Rename`: option `weight` takes a float from 0.0 to 1.0, not 2.0");
    let nested = error(&[prefix, ("inner", table(&[("times", Value::Int(4))]))]);
    assert_eq!(nested, "pass `sample.Rename`: option `inner.times` takes an integer from 0 to 3, not 4");
    assert!(registry.plugins().all(|plugin| !plugin.is_open()));
    let config = registry.check_config("sample.dept", &Value::Int(1)).unwrap_err().to_string();
    assert_eq!(config, "nothing registers option `sample.dept`; did you mean `sample.depth`?");
    assert!(registry.check_config("sample.depth", &Value::Int(101)).is_err());
    assert!(registry.check_config("sample.depth", &Value::Int(100)).is_ok());
}

#[test]
fn records_say_what_is_in_a_plugin() {
    let registry = sample();
    let plugin = &registry.plugins().next().unwrap().records().plugin;
    assert_eq!((plugin.name.as_str(), plugin.version.to_string().as_str()), ("sample-passes", "1.2.3"));
    assert_eq!((plugin.licence.as_str(), plugin.panic.as_str()), ("MIT", "unwind"));
    assert_eq!(plugin.entry, "relais_plugin_v1_sample_passes");
    let pass = registry.pass("sample.Rename").unwrap();
    assert_eq!((pass.doc.as_str(), pass.opt_level, pass.parallel), ("Names every call.", 2, true));
    assert_eq!(pass.required, ["sample.ReluRelu".into()]);
    let inner = pass.options.iter().find(|option| option.name == "inner").unwrap();
    assert_eq!(inner.doc, "Nested options.");
    assert_eq!(inner.default.as_ref().unwrap().to_string(), "{ times = 1, separator = \"\" }");
    let rewrite = registry.pass("ReluRelu").unwrap();
    assert!(rewrite.doc.contains("Relu(Relu(x))  ->  Relu(x)"), "{}", rewrite.doc);
    assert_eq!(rewrite.ops, ["Relu"]);
    assert!(!registry.pass("Parallel").unwrap().parallel);
}

/// Runs `child_process` in a separate process, with the variable that the plugin's constructor reads.
fn child(open: &str, variable: &str, value: &Path) -> std::process::Output {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "plugin_file::child_process", "--ignored", "--nocapture"]);
    child.env("RELAIS_TEST_OPEN", open).env(variable, value).output().unwrap()
}

#[test]
#[ignore = "run by other tests, in a process of its own"]
fn child_process() {
    let registry = registry(&[&MARK]);
    assert_eq!(registry.passes().count(), 1);
    if std::env::var("RELAIS_TEST_OPEN").unwrap() == "yes" {
        registry.create("mark.Nothing", &table(&[])).unwrap();
    }
}

#[test]
fn reading_records_opens_no_library() {
    let mark = folder("mark").join("mark");
    assert!(child("no", "RELAIS_TEST_MARK", &mark).status.success());
    assert!(!mark.exists());
    assert!(child("yes", "RELAIS_TEST_MARK", &mark).status.success());
    assert!(mark.exists());
}

#[test]
fn a_plugin_that_ends_the_process_when_it_is_opened_makes_it_fail() {
    let output = child("yes", "RELAIS_TEST_EXIT", Path::new("1"));
    assert_eq!(output.status.code(), Some(70), "{output:?}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("error: plugin `mark 0.1.0`, being opened, ended the process"), "{stderr}");
}
