//! Plugins that are not plugins, that are damaged, that were built for another host or that get in each other's way,
//! given to the program itself: its output is in `golden/`, and runs that do not need them go on.
#![cfg(unix)]

use crate::proto::{graph, model, node};
use relais_plugin_api::boundary::{
    record::{BOUNDARY, BoundaryVersion, HEADER, Header, MAGIC, TARGET, op_tag, pass_tag, plugin_tag, record_kind},
    wire::{Fields, checksum, push_field},
};
use relais_tests::{
    cargo_built::plugin,
    golden::{Golden, Transcript, Workshop},
};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::LazyLock,
};

fn relu() -> Vec<u8> {
    model(graph(&["x"], vec![node("Relu", &["x"], &["y"])], &["y"])).0
}

static PLUGIN: LazyLock<PathBuf> = LazyLock::new(|| plugin("bad"));
static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| fs::read(&*PLUGIN).unwrap());

/// Where the first record of a kind begins.
fn record(bytes: &[u8], kind: u32) -> usize {
    let is_record = |at: &usize| {
        bytes[*at..].starts_with(&MAGIC) && Header::read(&bytes[*at..]).is_some_and(|header| header.kind == kind)
    };
    (0..bytes.len() - HEADER).find(is_record).expect("the plugin has such a record")
}

/// The plugin with a change to its first record of a kind.
fn patched(kind: u32, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = BYTES.clone();
    let at = record(&bytes, kind);
    change(&mut bytes[at..]);
    bytes
}

/// Sets a field of a record to a value that is no longer than the old one.
fn set_field(record: &mut [u8], tag: u16, value: &[u8]) {
    let header = Header::read(record).unwrap();
    let mut fields = Vec::new();
    for field in Fields::new(&record[HEADER..][..header.len]).map(Result::unwrap) {
        push_field(&mut fields, field.tag, if field.tag == tag { value } else { field.bytes });
    }
    assert!(fields.len() <= header.len);
    record[HEADER..][..header.len].fill(0);
    record[HEADER..][..fields.len()].copy_from_slice(&fields);
    record[16..20].copy_from_slice(&(fields.len() as u32).to_le_bytes());
    record[24..32].copy_from_slice(&checksum(&fields).to_le_bytes());
}

/// Two plugin records: the plugin's in the place of a longer one.
fn two_plugins() -> Vec<u8> {
    let bytes = BYTES.clone();
    let at = record(&bytes, record_kind::PLUGIN);
    let len = |at: usize| HEADER + Header::read(&bytes[at..]).unwrap().len;
    let plugin = bytes[at..at + len(at)].to_vec();
    let is_long = |place: &usize| {
        bytes[*place..].starts_with(&MAGIC)
            && Header::read(&bytes[*place..]).is_some_and(|header| header.kind == record_kind::PASS)
            && len(*place) >= plugin.len()
    };
    let place = (0..bytes.len() - HEADER).find(is_long).expect("there is a pass with many options");
    let end = place + len(place);
    let mut bytes = bytes;
    bytes[place..end].fill(0);
    bytes[place..place + plugin.len()].copy_from_slice(&plugin);
    bytes
}

/// Two additions to one version of an operator: one was for a target.
fn two_additions() -> Vec<u8> {
    let npu = fs::read(plugin("npu")).unwrap();
    with_field(&npu, record_kind::ADDITION, op_tag::FOR_TARGET, "npu", "")
}

/// A version of the boundary that grew once more than this one.
static GROWN: LazyLock<[u8; 6]> = LazyLock::new(|| BoundaryVersion { patch: BOUNDARY.patch + 1, ..BOUNDARY }.encode());

/// Files that are refused, by case.
fn bad_plugins() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let half = BYTES[..BYTES.len() / 2].to_vec();
    // Built for a version of the boundary, and in need of all of it.
    let of_boundary = |version: &[u8; 6]| {
        patched(record_kind::PLUGIN, |record| {
            set_field(record, plugin_tag::BOUNDARY, version);
            set_field(record, plugin_tag::NEEDS, version);
        })
    };
    let machine = |low: u8, high: u8| {
        let mut bytes = BYTES.clone();
        (bytes[18], bytes[19]) = (low, high);
        bytes
    };
    let mut word_size = BYTES.clone();
    word_size[4] = 1;
    let (plugin, pass) = (record_kind::PLUGIN, record_kind::PASS);
    let field = |tag, value: &'static [u8]| patched(plugin, move |record| set_field(record, tag, value));
    let of_pass = |tag, value: &'static [u8]| patched(pass, move |record| set_field(record, tag, value));
    let mut no_records = BYTES.clone();
    let name = no_records.windows(9).rposition(|window| window == b".passrec\0").unwrap();
    no_records[name..name + 8].copy_from_slice(b".passxxx");
    vec![
        ("file", "empty", Vec::new()),
        ("file", "text", b"echo I am a script\n".to_vec()),
        ("file", "half", half),
        ("file", "other_architecture", machine(0xb7, 0)),
        ("file", "other_word_size", word_size),
        ("file", "windows", b"MZ\x90\0\x03\0\0\0".to_vec()),
        ("record", "none", no_records),
        (
            "record",
            "no_plugin",
            patched(plugin, |record| {
                record[12] = 99;
                record[20] = !99;
            }),
        ),
        ("record", "wrong_kind", patched(pass, |record| record[12] = 99)),
        ("record", "wrong_magic", patched(pass, |record| record[0] ^= 1)),
        ("record", "wrong_checksum", patched(pass, |record| record[HEADER + 8] ^= 1)),
        ("record", "newer_format", patched(pass, |record| record[8] = 2)),
        ("record", "two_plugins", two_plugins()),
        ("record", "two_additions", two_additions()),
        ("record", "not_utf8", of_pass(pass_tag::DOC, b"\xff\xfe")),
        ("record", "absurd_length", patched(pass, |record| record[16..20].fill(0xff))),
        ("record", "bad_name", of_pass(pass_tag::NAME, b"a b")),
        ("record", "reserved_name", of_pass(pass_tag::NAME, b"relais.A")),
        ("record", "bad_version", field(plugin_tag::VERSION, b"six")),
        ("record", "other_target", field(plugin_tag::TARGET, b"s390x-unknown-linux")),
        ("record", "panic_abort", field(plugin_tag::PANIC, b"abort")),
        ("record", "other_layout", field(plugin_tag::FINGERPRINT, &[1; 8])),
        ("record", "newer_boundary", of_boundary(&[1, 0, 99, 0, 0, 0])),
        ("record", "older_boundary", of_boundary(&[0, 0, 0, 0, 9, 0])),
        ("record", "grown_boundary", of_boundary(&GROWN)),
    ]
}

/// Returns the part of the output that does not depend on the compiler or on its output.
fn portable(said: &Transcript) -> String {
    let mut text = said.golden().replace(TARGET, "<TARGET>");
    for (before, after) in [
        ("built by `", "`"),
        ("this host by `", "`"),
        ("this host is `", "`"),
        ("this host takes ", "\n"),
        ("for version ", " "),
        ("--precise ", " "),
        ("relais-plugin-api@", " "),
        ("` with ", ")"),
        ("--target ", "`"),
        ("offset ", " "),
        ("byte ", " "),
    ] {
        let mut from = 0;
        while let Some(at) = text[from..].find(before).map(|at| from + at + before.len()) {
            let end = text[at..].find(after).map_or(text.len(), |end| at + end);
            text.replace_range(at..end, "…");
            from = at;
        }
    }
    text
}

/// The versions that the functions of a plugin need, as its file says.
fn needed(bytes: &[u8]) -> Vec<BoundaryVersion> {
    let places = (0..bytes.len() - HEADER).filter(|&at| bytes[at..].starts_with(&MAGIC));
    let records = places.filter_map(|at| Some((at + HEADER, Header::read(&bytes[at..])?)));
    let needs = records.filter(|(_, header)| header.kind == record_kind::NEEDS);
    let version = |(at, header): (usize, Header)| {
        let field = Fields::new(&bytes[at..][..header.len]).next().unwrap().unwrap();
        BoundaryVersion::decode(field.array().unwrap())
    };
    needs.map(version).collect()
}

/// Changes of the first records of some kinds.
fn changed(bytes: &[u8], kinds: &[(u32, u16, &[u8])]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (kind, tag, value) in kinds {
        let at = record(&bytes, *kind);
        set_field(&mut bytes[at..], *tag, value);
    }
    bytes
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "files of other formats do not say it")]
fn a_file_says_what_the_code_that_is_linked_needs() {
    // One asks for analyses, the other does not.
    let asking = fs::read(plugin("rules")).unwrap();
    let analyses = BoundaryVersion { major: 0, minor: 3, patch: 0 };
    assert!(needed(&asking).contains(&analyses), "{:?}", needed(&asking));
    let plain = fs::read(plugin("mark")).unwrap();
    assert!(!needed(&plain).contains(&analyses), "{:?}", needed(&plain));
    // A host takes a plugin of a later version whose code calls nothing later, and no other one.
    let here = Workshop::new();
    let grown = (record_kind::PLUGIN, plugin_tag::BOUNDARY, &GROWN[..]);
    let later = (record_kind::NEEDS, plugin_tag::NEEDS, &GROWN[..]);
    for (bytes, changes, is_taken) in [
        (&plain, &[grown][..], true),
        (&asking, &[grown], true),
        (&asking, &[grown, later], false),
        (&asking, &[later], false),
    ] {
        here.write("p.so", changed(bytes, changes));
        let checked = here.run(&["plugin", "check", "--no-open", "--allow-writable-plugins", "p.so"]);
        let built = if changes.contains(&grown) {
            "0.3.1 of the plugin boundary, and"
        } else {
            "0.3.0 of the plugin boundary and needs 0.3.1, and"
        };
        let says_so = checked.golden().contains(&format!("it was built for version {built} this host takes 0.3.0"));
        assert_eq!(says_so, !is_taken, "{changes:?}: {}", checked.golden());
        assert_eq!(checked.golden().contains("\nverdict: accepted"), is_taken, "{changes:?}: {}", checked.golden());
    }
    // Half a version is none, and neither is nothing.
    let mut empty = asking.clone();
    let at = record(&empty, record_kind::NEEDS);
    empty[at + 16..at + 24].fill(0);
    empty[at + 24..][..8].copy_from_slice(&checksum(&[]).to_le_bytes());
    empty[at + HEADER..][..12].fill(0);
    let half = changed(&asking, &[(record_kind::NEEDS, plugin_tag::NEEDS, &[0, 0, 3])]);
    for bytes in [half, empty] {
        here.write("p.so", bytes);
        let checked = here.fails(&["plugin", "check", "--no-open", "--allow-writable-plugins", "p.so"]);
        assert!(checked.golden().contains("cannot be parsed"), "{}", checked.golden());
    }
}

/// A run that needs the plugin `p.so`.
const WITH_PLUGIN: &[&str] =
    &["run", "-q", "model.onnx", "-o", "out.onnx", "--plugin", "p.so", "--passes", "InferType,bad.Fault"];

#[test]
fn plugins_that_are_refused() {
    let here = Workshop::new();
    here.write("model.onnx", relu());
    let (mut file, mut records) = (Golden::new("file"), Golden::new("record"));
    file.check("missing", &portable(&here.fails(WITH_PLUGIN)));
    for (row, case, bytes) in bad_plugins() {
        here.write("p.so", bytes);
        let said = portable(&here.fails(WITH_PLUGIN));
        let golden = if row == "file" { &mut file } else { &mut records };
        golden.check(case, &said);
        // A run that names it needs it. Any other run goes on, with a warning, unless it may be any library.
        let named = here.fails(&["run", "model.onnx", "-o", "out.onnx", "--plugin", "p.so"]);
        assert!(named.stderr.contains("error: plugin `p.so` is not used: "), "{case}: {named:?}");
        let others = here.run(&["run", "model.onnx", "-o", "out.onnx", "--plugin-dir", "."]);
        assert_eq!(others.status, "status 0", "{case}: {others:?}");
        let is_any = named.stderr.contains("it has no records");
        assert_eq!(others.stderr.contains("p.so` is not used: "), !is_any, "{case}: {others:?}");
        fs::remove_file(here.path("out.onnx")).unwrap();
    }
    fs::remove_file(here.path("p.so")).unwrap();
    symlink("nowhere.so", here.path("p.so")).unwrap();
    file.check("dangling_link", &portable(&here.fails(WITH_PLUGIN)));
    fs::remove_file(here.path("p.so")).unwrap();
    fs::create_dir(here.path("p.so")).unwrap();
    file.check("folder", &portable(&here.fails(WITH_PLUGIN)));
    fs::remove_dir(here.path("p.so")).unwrap();
    let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    here.write("p.so", &*BYTES);
    chmod(&here.path("p.so"), 0o666);
    file.check("writable_file", &portable(&here.fails(WITH_PLUGIN)));
    let allowed = here.run(&[WITH_PLUGIN, &["--allow-writable-plugins"]].concat());
    assert_eq!(allowed.status, "status 0", "{allowed:?}");
    fs::remove_file(here.path("out.onnx")).unwrap();
    fs::create_dir(here.path("open")).unwrap();
    here.write("open/p.so", &*BYTES);
    chmod(&here.path("open/p.so"), 0o644);
    chmod(&here.path("open"), 0o777);
    let dir = ["run", "-q", "model.onnx", "-o", "out.onnx", "--plugin-dir", "open", "--passes", "bad.Fault"];
    file.check("writable_folder", &portable(&here.fails(&dir)));
    let dir = ["run", "-q", "model.onnx", "-o", "out.onnx", "--plugin-dir", "nowhere", "--passes", "bad.Fault"];
    file.check("folder_missing", &portable(&here.fails(&dir)));
    chmod(&here.path("p.so"), 0o000);
    match here.fails_unprivileged(WITH_PLUGIN) {
        Ok(said) => file.check("not_readable", &portable(&said)),
        Err(why) => {
            println!("left out: a file that cannot be read: {why}");
            file.leave_out("not_readable");
        }
    }
    file.finish();
    records.finish();
}

#[test]
fn a_truncated_plugin_is_refused_at_every_length() {
    let here = Workshop::new();
    here.write("model.onnx", relu());
    for percent in 0..100 {
        here.write("p.so", &BYTES[..BYTES.len() * percent / 100]);
        let said = here.run(WITH_PLUGIN);
        assert_eq!(said.status, "status 1", "{percent}: {said:?}");
        assert!(!here.path("out.onnx").exists(), "{percent}: {said:?}");
    }
}

// ---- plugins that are in order, and do not go together ----------------------------------------------------------------

static SAMPLE: LazyLock<Vec<u8>> = LazyLock::new(|| fs::read(plugin("sample")).unwrap());

/// A plugin with a field of each of its records changed, where that has the old value.
fn with_field(bytes: &[u8], kind: u32, tag: u16, old: &str, new: &str) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut n_changed = 0;
    for at in 0..bytes.len() - HEADER {
        let is_record = bytes[at..].starts_with(&MAGIC);
        let Some(header) = Header::read(&bytes[at..]).filter(|header| is_record && header.kind == kind) else {
            continue;
        };
        let has = |field: Fields<'_>| field.flatten().any(|field| field.tag == tag && field.bytes == old.as_bytes());
        if has(Fields::new(&bytes[at + HEADER..][..header.len])) {
            set_field(&mut bytes[at..], tag, new.as_bytes());
            n_changed += 1;
        }
    }
    assert_eq!(n_changed, 1, "one record says {old:?}");
    bytes
}

#[test]
fn one_plugin_under_several_names_counts_once() {
    let here = Workshop::new();
    here.write("model.onnx", relu());
    here.write("p.so", &*BYTES);
    here.write("copy.so", &*BYTES);
    symlink("p.so", here.path("link.so")).unwrap();
    for other in ["p.so", "link.so", "copy.so", "./p.so"] {
        let said = here.run(&[WITH_PLUGIN, &["--plugin", other]].concat());
        assert_eq!((said.status.as_str(), said.stderr.as_str()), ("status 0", ""), "{other}");
        fs::remove_file(here.path("out.onnx")).unwrap();
    }
}

#[test]
fn plugins_that_get_in_each_others_way() {
    let here = Workshop::new();
    here.write("model.onnx", relu());
    let mut golden = Golden::new("registration");
    let mut check = |case: &str, one: &[u8], other: &[u8], passes: &str, more: &[&str]| {
        here.write("p.so", one);
        here.write("q.so", other);
        let both = ["run", "-q", "model.onnx", "-o", "out.onnx", "--plugin", "p.so", "--plugin", "q.so", "--passes"];
        golden.check(case, &portable(&here.fails(&[&both[..], &[passes], more].concat())));
        // A run that needs neither goes on.
        let others = here.run(&[&both[..], &["InferType"]].concat());
        assert_eq!(others.status, "status 0", "{case}: {others:?}");
        fs::remove_file(here.path("out.onnx")).unwrap();
    };
    let renamed = |name: &str| with_field(&SAMPLE, record_kind::PLUGIN, plugin_tag::NAME, "sample-passes", name);
    let (pass, sample) = (record_kind::PASS, &*SAMPLE);
    let newer = with_field(sample, record_kind::PLUGIN, plugin_tag::VERSION, "1.2.3", "1.2.4");
    check("two_versions", sample, &newer, "sample.Nothing", &[]);
    check("two_providers", sample, &renamed("other-passes"), "sample.Nothing", &[]);
    let key = ["--set", "sample.depth=3"];
    check("option_twice", sample, &renamed("other-passes"), "InferType", &key);
    let twice = with_field(sample, pass, pass_tag::NAME, "sample.Parallel", "sample.Nothing");
    check("one_name_twice", &twice, &BYTES, "sample.Nothing", &[]);
    let rename = ["--set", "Rename.prefix=a"];
    let absent = with_field(sample, pass, pass_tag::REQUIRED, "sample.ReluRelu", "sample.ReluReul");
    check("requirement_absent", &absent, &BYTES, "sample.Rename", &rename);
    let rules = fs::read(plugin("rules")).unwrap();
    let cycle = with_field(&rules, pass, pass_tag::REQUIRED, "acme.EditGlobals", "acme.NameNeg");
    check("requirement_cycle", &cycle, &BYTES, "acme.NameNeg", &[]);
    golden.finish();
}

/// Four faults of requirements, of passes in two plugins, one of which is refused.
#[test]
fn r05_a_cycle_a_missing_a_disabled_and_a_refused_requirement_are_told_before_anything_runs() {
    let here = Workshop::new();
    here.write("model.onnx", relu());
    here.write(
        "refused.so",
        patched(record_kind::PLUGIN, |record| set_field(record, plugin_tag::FINGERPRINT, &[1; 8])),
    );
    let pipeline = "opt_level = 8\ndisabled = [\"InferType\"]\n\
                    instruments = [{ instrument = \"acme.Scribe\", options = { path = \"ran\" } }]\n\
                    steps = [\"DeadCodeElimination\", \"Chicken\", \"NeedsUnicorn\", \"NeedsTypes\", \"NeedsNeighbour\"]\n";
    here.write("pipeline.toml", pipeline);
    let rules = plugin("rules");
    let arguments = ["run", "-q", "model.onnx", "-o", "out.onnx", "-p", "pipeline.toml", "--plugin-dir", "."];
    let arguments = [&arguments[..], &["--plugin", rules.to_str().unwrap()]].concat();
    let said = here.fails(&arguments);
    let mut golden = Golden::new("requirements");
    golden.check("four_at_once", &portable(&said));
    golden.finish();
    assert!(!here.path("ran").exists(), "no instrument was even entered");
    // Each is also reported alone, and without them the pipeline runs.
    for step in ["Chicken", "NeedsUnicorn", "NeedsTypes", "NeedsNeighbour"] {
        let others = ["Chicken", "NeedsUnicorn", "NeedsTypes", "NeedsNeighbour"].into_iter().filter(|it| *it != step);
        let alone = others.fold(pipeline.to_owned(), |text, other| text.replace(&format!(", {other:?}"), ""));
        here.write("pipeline.toml", alone);
        let said = here.fails(&arguments);
        assert_eq!(said.stderr.matches("error[P").count(), 1, "{said:?}");
        assert!(!here.path("ran").exists());
    }
    here.write(
        "pipeline.toml",
        pipeline.replace(", \"Chicken\", \"NeedsUnicorn\", \"NeedsTypes\", \"NeedsNeighbour\"", ""),
    );
    let said = here.run(&arguments);
    assert_eq!(said.status, "status 0", "{said:?}");
    assert!(here.path("ran").exists());
}

// ---- plugins that do not open ------------------------------------------------------------------------------------------

/// A plugin with a text in it changed to one of the same length, wherever it is not part of a longer text.
fn with_text(old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut bytes = BYTES.clone();
    let (old, new) = [old, new].map(|text| [b"\0", text.as_bytes(), b"\0"].concat()).into();
    let places: Vec<usize> = (0..bytes.len() - old.len()).filter(|&at| bytes[at..].starts_with(&old)).collect();
    assert!(!places.is_empty(), "the plugin has it");
    places.into_iter().for_each(|at| bytes[at..][..new.len()].copy_from_slice(&new));
    bytes
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn plugins_that_do_not_open() {
    let here = Workshop::new();
    here.write("model.onnx", relu());
    let mut golden = Golden::new("open");
    let plugin = record_kind::PLUGIN;
    let other_entry = patched(plugin, |record| set_field(record, plugin_tag::ENTRY, b"relais_plugin_v1_other"));
    for (case, bytes) in [
        ("entry", other_entry),
        ("library", with_text("libgcc_s.so.1", "libgone.so.99")),
        ("symbol", with_text("realpath", "surepath")),
    ] {
        here.write("p.so", bytes);
        let said = here.fails(WITH_PLUGIN);
        let text = portable(&said);
        let text = text.split(", version GLIBC").next().unwrap_or_default();
        golden.check(case, text);
        let others =
            here.run(&["run", "-q", "model.onnx", "-o", "out.onnx", "--plugin", "p.so", "--passes", "InferType"]);
        assert_eq!(others.status, "status 0", "{case}: {others:?}");
        fs::remove_file(here.path("out.onnx")).unwrap();
    }
    fs::copy(relais_tests::cargo_built::plugin("mark"), here.path("p.so")).unwrap();
    let mark = ["run", "-q", "model.onnx", "-o", "out.onnx", "--plugin", "p.so", "--passes", "mark.Nothing"];
    golden.check("exit", &here.fails_with(&[("RELAIS_TEST_EXIT", "1")], &mark).golden());
    golden.finish();
}

/// A call of an operator of the plugin `untrue` whose type relation is honest.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const CALLS: &str = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17, \"untrue\": 1}] {
  %c = const(float32, [1.0, 2.0]);
  %y = untrue::Honest(%c);
  %z = Add(%x, %y);
  %z
}
";

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn c01_a_type_relation_whose_library_does_not_open_is_a_failure_of_its_plugin() {
    let here = Workshop::new();
    here.write("calls.relay", CALLS);
    here.write("others.relay", CALLS.replace("untrue::Honest", "Relu").replace(", \"untrue\": 1", ""));
    let run = |model: &'static str, pass: &'static str| {
        ["run", "-q", model, "-o", "out.relay", "--no-reproducer", "--plugin", "p.so", "--passes", pass]
    };
    let bytes = fs::read(plugin("untrue")).unwrap();
    let mut other_entry = bytes.clone();
    let at = record(&other_entry, record_kind::PLUGIN);
    set_field(&mut other_entry[at..], plugin_tag::ENTRY, b"relais_plugin_v1_other");
    // The pass that asks, and the host that types the changes of another pass.
    for pass in ["InferType", "ToANormalForm"] {
        here.write("p.so", &other_entry);
        let said = here.fails(&run("calls.relay", pass));
        let guilty = "the type relation of `untrue::Honest`, of plugin `untrue 0.6.6`, is at fault: ";
        let why = "plugin `untrue 0.6.6` (`p.so`) was refused: its entry `relais_plugin_v1_other` is not usable";
        assert!(said.stderr.contains("error[operator-fault]: ") && said.stderr.contains(guilty), "{pass}: {said:?}");
        assert!(said.stderr.contains(why), "{pass}: {said:?}");
        // A run that does not need it goes on, and so does one whose plugin opens.
        let others = here.run(&run("others.relay", pass));
        assert_eq!(others.status, "status 0", "{pass}: {others:?}");
        here.write("p.so", &bytes);
        let good = here.run(&run("calls.relay", pass));
        assert_eq!(good.status, "status 0", "{pass}: {good:?}");
        fs::remove_file(here.path("out.relay")).unwrap();
    }
}
