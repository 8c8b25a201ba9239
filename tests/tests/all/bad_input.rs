//! Files that are not models or pipelines, or hostile ones, given to the program itself. Its output is in `golden/`;
//! the tests here check that it does not crash, hang, write half a file or change an existing one.
#![cfg(unix)]

use crate::proto::{Message, floats, graph, graph_attr, int_attr, message, model, node, value};
use relais_tests::{
    golden::{Golden, Transcript, Workshop},
    venv::share,
};
use std::{fs, os::unix::fs::symlink};

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
fn survives(here: &Workshop, bytes: &[u8], what: &str) -> Transcript {
    here.write("model.onnx", bytes);
    let said = here.run(RUN);
    match said.status.as_str() {
        "status 0" => {
            let shown = here.run(&["show", "out.onnx"]);
            assert_eq!(shown.status, "status 0", "{what}: the output cannot be parsed: {shown:?}");
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
    for turn in 0..share(400) {
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
    // Lengths are known from the inside out, so that each level is written once, before its contents.
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
    let said = here.run(&["run", "-q", "-O0", "model.relay", "-o", "out.relay"]);
    assert_eq!(said.status, "status 0", "{said:?}");
    let said = here.run(&["run", "-q", "-O0", "model.relay", "-o", "model.onnx"]);
    assert!(said.status == "status 1" && said.stderr.contains("a graph that is 10000 graphs deep"), "{said:?}");
    let mut inner = graph(&[], vec![node("Neg", &["x"], &["b"])], &["b"]);
    for _ in 0..DEPTH {
        let other = graph(&[], vec![node("Neg", &["x"], &["e"])], &["e"]);
        let branch = node("If", &["c"], &["b"]);
        let branch = branch.message(5, graph_attr("then_branch", inner)).message(5, graph_attr("else_branch", other));
        inner = graph(&[], vec![branch], &["b"]);
    }
    here.write("model.onnx", model(inner.message(11, value("x", &[2])).message(11, value("c", &[]))).0);
    let said = here.run(&["run", "-q", "-O0", "model.onnx", "-o", "out.onnx"]);
    assert_eq!(said.status, "status 0", "{said:?}");
    assert_eq!(fs::read(here.path("model.onnx")).unwrap(), fs::read(here.path("out.onnx")).unwrap());
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
        ("option_wrong_type", fault("max_total_growth = \"much\"")),
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

#[test]
fn ten_thousand_steps_run() {
    let here = Workshop::new();
    here.write("model.onnx", of_opset(Some(17)).0);
    here.write("pipeline.toml", format!("steps = [{}]\n", "\"DeadCodeElimination\", ".repeat(10_000)));
    let said = here.run(&["run", "-q", "model.onnx", "-o", "out.onnx", "-p", "pipeline.toml"]);
    assert_eq!(said.status, "status 0", "{said:?}");
}
