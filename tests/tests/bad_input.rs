//! Files that are no models, plugins or pipelines, or hostile ones, given to the program itself. What it says is in
//! `golden/`; what it must never do is tested here: crash, hang, write half a file or change one that is there.
#![cfg(unix)]

#[path = "../../host/tests/onnx_common/proto.rs"]
#[expect(dead_code, reason = "a part is used")]
mod proto;

use proto::{Message, floats, graph, graph_attr, int_attr, message, model, node};
use relais_plugin_api::boundary::{
    record::{HEADER, Header, MAGIC, TARGET, pass_tag, plugin_tag, record_kind},
    wire::{Fields, checksum, push_field},
};
use relais_tests::{
    cargo_built::plugin,
    golden::{Golden, Said, Workshop},
};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::LazyLock,
};

// ---- models -------------------------------------------------------------------------------------------------------

const RUN: &[&str] = &["run", "-q", "model.onnx", "-o", "out.onnx"];

fn relu() -> Message {
    node("Relu", &["x"], &["y"])
}

/// A model of one `Relu` with an initializer.
fn with_initializer(tensor: Message) -> Message {
    model(graph(&["x"], vec![node("Add", &["x", "w"], &["y"])], &["y"]).message(5, tensor))
}

/// A tensor of two floats in another file.
fn external(location: &str, length: i64) -> Message {
    let entry = |key: &str, value: &str| message().bytes(1, key).bytes(2, value);
    let tensor = message().int(1, 2).int(2, 1).bytes(8, "w").message(13, entry("location", location));
    tensor.message(13, entry("offset", "0")).message(13, entry("length", &length.to_string())).int(14, 1)
}

fn of_opset(import: Option<i64>) -> Message {
    let model = message().int(1, 8).message(7, graph(&["x"], vec![relu()], &["y"]));
    match import {
        Some(version) => model.message(8, message().bytes(1, "").int(2, version)),
        None => model,
    }
}

/// A model with everything that has a place in the reader: a branch, an initializer, attributes.
fn rich() -> Vec<u8> {
    let branch = |op: &str| graph(&[], vec![node(op, &["a"], &["r"])], &["r"]);
    let nodes = vec![
        node("Add", &["x", "w"], &["a"]).bytes(3, "add"),
        node("Greater", &["a", "x"], &["gs"]),
        node("ReduceMax", &["x"], &["m"]).message(5, int_attr("keepdims", 0)),
        node("Greater", &["m", "k"], &["c"]),
        node("If", &["c"], &["y"])
            .message(5, graph_attr("then_branch", branch("Relu")))
            .message(5, graph_attr("else_branch", branch("Neg"))),
    ];
    let graph = graph(&["x"], nodes, &["y"]).message(5, floats("w", &[2], &[1.0, 2.0]));
    model(graph.message(5, floats("k", &[], &[0.5]))).0
}

/// Models that are refused, by case.
fn bad_models() -> Vec<(&'static str, Vec<u8>)> {
    let of = |nodes: Vec<Message>| model(graph(&["x"], nodes, &["y"])).0;
    let captured = graph(&[], vec![node("Relu", &["later"], &["r"])], &["r"]);
    let text = "%PDF-1.4 is what this might be, but not a model\n";
    let mut group = relu().0;
    group.extend([0x9b, 0x06]);
    vec![
        ("empty", Vec::new()),
        ("text", text.into()),
        ("half", {
            let whole = rich();
            whole[..whole.len() / 2].to_vec()
        }),
        ("no_graph", message().int(1, 8).0),
        ("group_not_closed", of(vec![Message(group)])),
        ("initializer_too_short", with_initializer(floats("w", &[3], &[1.0, 2.0])).0),
        ("initializer_too_long", with_initializer(floats("w", &[1], &[1.0, 2.0])).0),
        ("initializer_huge", with_initializer(floats("w", &[i64::MAX, i64::MAX], &[1.0])).0),
        ("initializer_negative", with_initializer(floats("w", &[-2], &[1.0, 2.0])).0),
        (
            "initializer_twice",
            model(
                graph(&["x"], vec![relu()], &["y"])
                    .message(5, floats("w", &[1], &[1.0]))
                    .message(5, floats("w", &[1], &[1.0])),
            )
            .0,
        ),
        ("external_missing", with_initializer(external("nowhere.bin", 8)).0),
        ("external_short", with_initializer(external("short.bin", 8)).0),
        ("external_disagrees", with_initializer(external("weights.bin", 4)).0),
        ("external_absolute", with_initializer(external("/etc/hostname", 8)).0),
        ("external_above", with_initializer(external("../weights.bin", 8)).0),
        ("external_above_hidden", with_initializer(external("folder/../../weights.bin", 8)).0),
        ("external_link", with_initializer(external("link.bin", 8)).0),
        ("external_link_folder", with_initializer(external("way_out/passwd", 8)).0),
        ("external_folder", with_initializer(external("folder", 8)).0),
        (
            "cycle",
            of(vec![
                node("Relu", &["b"], &["a"]).bytes(3, "one"),
                node("Neg", &["a"], &["b"]).bytes(3, "two"),
                node("Add", &["x", "b"], &["y"]),
            ]),
        ),
        ("own_input", of(vec![node("Relu", &["y"], &["y"])])),
        ("name_twice", of(vec![relu(), node("Neg", &["x"], &["y"])])),
        ("name_undefined", of(vec![node("Relu", &["X"], &["y"])])),
        ("output_undefined", of(vec![node("Relu", &["x"], &["z"])])),
        (
            "capture_of_later",
            of(vec![
                node("If", &["x"], &["y"])
                    .message(5, graph_attr("then_branch", captured.clone()))
                    .message(5, graph_attr("else_branch", captured)),
                node("Neg", &["y"], &["later"]),
            ]),
        ),
        ("attribute_twice", of(vec![relu().message(5, int_attr("a", 1)).message(5, int_attr("a", 2))])),
        ("not_utf8", of(vec![message().bytes(1, "x").bytes(2, "y").bytes(4, [0xff, 0xfe])])),
        ("opset_absent", of_opset(None).0),
        ("opset_0", of_opset(Some(0)).0),
        ("opset_negative", of_opset(Some(-1)).0),
    ]
}

#[test]
fn models_that_are_refused() {
    let here = Workshop::new();
    here.write("short.bin", [0; 4]);
    here.write("weights.bin", [0; 8]);
    fs::create_dir(here.path("folder")).unwrap();
    symlink("/etc/hostname", here.path("link.bin")).unwrap();
    symlink("/etc", here.path("way_out")).unwrap();
    let mut golden = Golden::new("models");
    golden.check("missing", &here.fails(RUN).golden());
    for (case, bytes) in bad_models() {
        here.write("model.onnx", bytes);
        golden.check(case, &here.fails(RUN).golden());
    }
    golden.check("folder", &here.fails(&["run", "-q", "folder", "-o", "out.onnx"]).golden());
    here.write("model.onnx", of_opset(Some(17)).0);
    golden.check("output_folder_missing", &here.run(&["run", "-q", "model.onnx", "-o", "no/out.onnx"]).golden());
    golden.check("output_is_folder", &here.run(&["run", "-q", "model.onnx", "-o", "folder"]).golden());
    here.write("model.relay", "def @main(%x) {\n  %1 = Relu(%z);\n  %1\n}\n");
    golden.check("text_undefined", &here.fails(&["run", "-q", "model.relay", "-o", "out.onnx"]).golden());
    here.write("model.relay", [b'd', b'e', b'f', 0xff, 0xfe]);
    golden.check("text_not_utf8", &here.fails(&["run", "-q", "model.relay", "-o", "out.onnx"]).golden());
    here.write("model.relay", "");
    golden.check("text_empty", &here.fails(&["run", "-q", "model.relay", "-o", "out.onnx"]).golden());
    golden.finish();
}

/// Runs on a model that may be anything: an error with a message, or an output that can be read.
fn survives(here: &Workshop, bytes: &[u8], what: &str) -> Said {
    here.write("model.onnx", bytes);
    let said = here.run(RUN);
    match said.status.as_str() {
        "status 0" => {
            let shown = here.run(&["show", "out.onnx"]);
            assert_eq!(shown.status, "status 0", "{what}: the output does not read: {shown:?}");
            fs::remove_file(here.path("out.onnx")).unwrap();
        }
        "status 1" => {
            assert!(said.stderr.starts_with("error: ") || said.stderr.contains("\nerror: "), "{what}: {said:?}");
            assert!(!here.path("out.onnx").exists(), "{what}: {said:?}");
        }
        _ => panic!("{what}: {said:?}"),
    }
    said
}

#[test]
fn a_truncated_model_is_an_error_or_a_smaller_model() {
    let (here, whole) = (Workshop::new(), rich());
    let n_refused = (0..100).filter(|percent| {
        let said = survives(&here, &whole[..whole.len() * percent / 100], &format!("{percent} %"));
        said.status != "status 0"
    });
    assert!(n_refused.count() > 90);
    assert_eq!(survives(&here, &whole, "whole").status, "status 0");
}

#[test]
fn flipped_bytes_never_crash_the_program() {
    let (here, whole) = (Workshop::new(), rich());
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for turn in 0..1000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random() % 4 {
            let at = random() % bytes.len();
            bytes[at] ^= 1 << (random() % 8);
        }
        survives(&here, &bytes, &format!("turn {turn}: {bytes:x?}"));
    }
}

#[test]
fn unusual_models_go_through() {
    let here = Workshop::new();
    let with = |bytes: &[u8]| model(graph(&["x"], vec![relu()], &["y"])).raw(bytes).0;
    // A group of an unknown field, an unknown field, an operator set of the future.
    for (what, bytes) in [
        ("group", with(&[0x9b, 0x06, 0x08, 0x01, 0x9c, 0x06])),
        ("unknown field", with(&[0x98, 0x06, 0x07])),
        ("future", of_opset(Some(9999)).0),
        ("external", with_initializer(external("weights.bin", 8)).0),
    ] {
        here.write("weights.bin", [0; 8]);
        let said = survives(&here, &bytes, what);
        assert_eq!(said.status, "status 0", "{what}: {said:?}");
        here.write("model.onnx", bytes);
    }
    let said = here.run(&["run", "-q", "-O0", "model.onnx", "-o", "out.onnx"]);
    assert_eq!(said.status, "status 0", "{said:?}");
}

#[test]
fn nested_conditionals_need_no_stack() {
    const DEPTH: usize = 10_000;
    let here = Workshop::new();
    // Lengths are known from the inside out, so that each level is written once, before what it holds.
    let mut text = "def @main(%c: Tensor[(), bool], %x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n".to_owned();
    for at in 0..DEPTH {
        text.push_str(&format!("%a{at} = Relu(%x); %b{at} = if (%c) {{\n"));
    }
    text.push_str("%z = Neg(%x); %z\n");
    for at in (0..DEPTH).rev() {
        text.push_str(&format!("}} else {{ %e{at} = Neg(%a{at}); %e{at} }}; %b{at}\n"));
    }
    text.push_str("}\n");
    here.write("model.relay", text);
    let said = here.run(&["run", "-q", "-O0", "model.relay", "-o", "model.onnx"]);
    assert_eq!(said.status, "status 0", "{said:?}");
    let said = here.run(&["run", "-q", "-O0", "model.onnx", "-o", "out.onnx"]);
    assert_eq!(said.status, "status 0", "{said:?}");
    assert_eq!(fs::read(here.path("model.onnx")).unwrap(), fs::read(here.path("out.onnx")).unwrap());
}

// ---- plugins ------------------------------------------------------------------------------------------------------

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

/// Gives a field of a record a value that is no longer than the old one.
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

/// Files that are refused, by case.
fn bad_plugins() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let half = BYTES[..BYTES.len() / 2].to_vec();
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
        ("record", "no_plugin", patched(plugin, |record| record[12] = 99)),
        ("record", "wrong_magic", patched(pass, |record| record[0] ^= 1)),
        ("record", "wrong_checksum", patched(pass, |record| record[HEADER + 8] ^= 1)),
        ("record", "newer_format", patched(pass, |record| record[8] = 2)),
        ("record", "two_plugins", two_plugins()),
        ("record", "not_utf8", of_pass(pass_tag::DOC, b"\xff\xfe")),
        ("record", "absurd_length", patched(pass, |record| record[16..20].fill(0xff))),
        ("record", "bad_name", of_pass(pass_tag::NAME, b"a b")),
        ("record", "bad_version", field(plugin_tag::VERSION, b"six")),
        ("record", "other_target", field(plugin_tag::TARGET, b"s390x-unknown-linux")),
        ("record", "panic_abort", field(plugin_tag::PANIC, b"abort")),
        ("record", "other_layout", field(plugin_tag::FINGERPRINT, &[1; 8])),
        ("record", "newer_boundary", field(plugin_tag::BOUNDARY, &[99, 0, 1, 0])),
    ]
}

/// What does not depend on the compiler or on what it made.
fn portable(said: &Said) -> String {
    let mut text = said.golden().replace(TARGET, "<TARGET>");
    for (before, after) in [
        ("built by `", "`"),
        ("this host by `", "`"),
        ("this host is `", "`"),
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

/// A run that needs the plugin `p.so`.
const WITH_PLUGIN: &[&str] =
    &["run", "-q", "model.onnx", "-o", "out.onnx", "--plugin", "p.so", "--passes", "InferType,bad.Fault"];

#[test]
fn plugins_that_are_refused() {
    let here = Workshop::new();
    here.write("model.onnx", of_opset(Some(17)).0);
    let (mut file, mut records) = (Golden::new("file"), Golden::new("record"));
    file.check("missing", &portable(&here.fails(WITH_PLUGIN)));
    for (row, case, bytes) in bad_plugins() {
        here.write("p.so", bytes);
        let said = portable(&here.fails(WITH_PLUGIN));
        let golden = if row == "file" { &mut file } else { &mut records };
        golden.check(case, &said);
        // Whoever does not need it goes on, and hears of it.
        let arguments = ["run", "model.onnx", "-o", "out.onnx", "--plugin", "p.so"];
        let others = here.run(&arguments);
        assert_eq!(others.status, "status 0", "{case}: {others:?}");
        assert!(others.stderr.contains("p.so") && others.stderr.contains("is not used: "), "{case}: {others:?}");
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
    here.write("model.onnx", of_opset(Some(17)).0);
    for percent in 0..100 {
        here.write("p.so", &BYTES[..BYTES.len() * percent / 100]);
        let said = here.run(WITH_PLUGIN);
        assert_eq!(said.status, "status 1", "{percent}: {said:?}");
        assert!(!here.path("out.onnx").exists(), "{percent}: {said:?}");
    }
}

// ---- pipelines and options ------------------------------------------------------------------------------------------

/// Pipelines that are refused, by case.
fn bad_pipelines() -> Vec<(&'static str, String)> {
    let fault = |options: &str| format!("steps = [{{ pass = \"FoldConstant\", options = {{ {options} }} }}]\n");
    let mut cases = vec![
        ("not_toml", "steps = [\"InferType\"\nopt_level 3\n".to_owned()),
        ("unknown_key", "opt_lvl = 3\nsteps = []\n".to_owned()),
        ("unknown_key_of_step", "steps = [{ pass = \"FoldConstant\", max_growth = 3 }]\n".to_owned()),
        ("unknown_key_of_fixpoint", "steps = [{ fixpoint = [\"FoldConstant\"], rounds = 3 }]\n".to_owned()),
        ("unknown_step", "steps = [{ loop = [\"FoldConstant\"] }]\n".to_owned()),
        ("unknown_pass", "steps = [\"InferTypes\", \"FoldConstnat\"]\n".to_owned()),
        ("unknown_pass_far", "steps = [\"VectorizeEverything\"]\n".to_owned()),
        ("wrong_type", "opt_level = \"three\"\nsteps = \"InferType\"\n".to_owned()),
        ("level_out_of_range", "opt_level = 300\nsteps = []\n".to_owned()),
        ("includes_itself", "steps = [{ include = \"pipeline.toml\" }]\n".to_owned()),
        ("include_missing", "steps = [{ include = \"other.toml\" }]\n".to_owned()),
        ("include_unknown_name", "steps = [{ include = \"acme.tidy\" }]\n".to_owned()),
        (
            "extension_unknown",
            "steps = [{ include = \"builtin:default\" }]\n[extend]\nafter-simplfy = [\"InferType\"]\n".to_owned(),
        ),
        ("extension_nowhere", "steps = [\"InferType\"]\n[extend]\nlast = [\"InferType\"]\n".to_owned()),
        ("extension_wrong_type", "steps = []\nextend = [\"InferType\"]\nextensions = \"no\"\n".to_owned()),
        (
            "extension_unknown_pass",
            "steps = [{ include = \"builtin:O1\" }]\n[extend]\nlast = [\"InferTypes\"]\n".to_owned(),
        ),
        ("include_unknown_builtin", "steps = [{ include = \"builtin:defualt\" }]\n".to_owned()),
        ("missing_plugin", "steps = []\n[plugins]\nrelais-graf = \"1\"\n".to_owned()),
        ("plugin_version", "steps = []\n[plugins]\nrelais-graph = \">=99\"\n".to_owned()),
        ("duplicate_key", "steps = []\nsteps = []\n".to_owned()),
        ("option_unknown", fault("max_grwth = 3")),
        ("option_wrong_type", fault("max_growth = \"much\"")),
        ("option_out_of_range", fault("max_growth = -1")),
        ("option_huge", fault("max_growth = 99999999999999999999")),
        ("option_nan", fault("max_growth = nan")),
        ("option_twice", fault("max_growth = 1, max_growth = 2")),
        ("option_nested", fault(&format!("max_growth = {}{}", "[".repeat(200), "]".repeat(200)))),
        ("config_unknown", "steps = []\n[config]\n\"relay.backend.x\" = 3\n".to_owned()),
    ];
    cases.push(("fixpoint_zero", "steps = [{ fixpoint = [\"InferType\"], max_rounds = 0 }]\n".to_owned()));
    cases
}

#[test]
fn pipelines_that_are_refused() {
    let here = Workshop::new();
    here.write("model.onnx", of_opset(Some(17)).0);
    let arguments = ["run", "-q", "model.onnx", "-o", "out.onnx", "-p", "pipeline.toml"];
    let mut golden = Golden::new("pipelines");
    golden.check("missing", &here.fails(&arguments).golden());
    for (case, text) in bad_pipelines() {
        here.write("pipeline.toml", text);
        golden.check(case, &here.fails(&arguments).golden());
    }
    here.write("pipeline.toml", [0x73, 0xff, 0xfe]);
    golden.check("not_utf8", &here.fails(&arguments).golden());
    for (case, extra) in [
        ("cli_level", ["-O4", "-q"]),
        ("cli_pass", ["--passes", "FoldConstnat"]),
        ("cli_pass_empty", ["--passes", "InferType,,FoldConstant"]),
        ("cli_set", ["--set", "FoldConstant.max_grwth=3"]),
        ("cli_set_no_value", ["--set", "FoldConstant.max_growth"]),
        ("cli_disable", ["--disable", "FoldConstnat"]),
        ("cli_pipeline_name", ["-p", "defualt"]),
        ("cli_input_shape", ["--input-shape", "z:1,2"]),
    ] {
        let arguments = [&["run", "model.onnx", "-o", "out.onnx"][..], &extra].concat();
        golden.check(case, &here.fails(&arguments).golden());
    }
    golden.finish();
}

/// Four faults of requirements, of passes in two plugins of which one is refused.
#[test]
fn r05_a_cycle_a_missing_a_disabled_and_a_refused_requirement_are_told_before_anything_runs() {
    let here = Workshop::new();
    here.write("model.onnx", of_opset(Some(17)).0);
    here.write(
        "refused.so",
        patched(record_kind::PLUGIN, |record| set_field(record, plugin_tag::FINGERPRINT, &[1; 8])),
    );
    let pipeline = "opt_level = 8\ndisabled = [\"InferType\"]\n\
                    instruments = [{ instrument = \"acme.Scribe\", options = { path = \"ran\" } }]\n\
                    steps = [\"DeadCodeElimination\", \"Chicken\", \"NeedsUnicorn\", \"NeedsTypes\", \"NeedsNeighbour\"]\n";
    here.write("pipeline.toml", pipeline);
    let rules = plugin("rules");
    let arguments = ["run", "-q", "model.onnx", "-o", "out.onnx", "-p", "pipeline.toml", "--plugin", "refused.so"];
    let arguments = [&arguments[..], &["--plugin", rules.to_str().unwrap()]].concat();
    let said = here.fails(&arguments);
    let mut golden = Golden::new("requirements");
    golden.check("four_at_once", &portable(&said));
    golden.finish();
    assert!(!here.path("ran").exists(), "no instrument was even entered");
    // Each alone is told, too, and without them the pipeline runs.
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

#[test]
fn ten_thousand_steps_run() {
    let here = Workshop::new();
    here.write("model.onnx", of_opset(Some(17)).0);
    here.write("pipeline.toml", format!("steps = [{}]\n", "\"DeadCodeElimination\", ".repeat(10_000)));
    let said = here.run(&["run", "-q", "model.onnx", "-o", "out.onnx", "-p", "pipeline.toml"]);
    assert_eq!(said.status, "status 0", "{said:?}");
}
