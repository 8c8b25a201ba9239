//! Damaged and hostile models: an error with a place each, never a panic.

use crate::common::{
    self,
    proto::{Message, floats, graph, graph_attr, int_attr, message, model, node, value},
};
use relais_onnx::{self as onnx, ErrorKind, OnnxError, ReadOptions};
use relais_plugin_api::ir::Blob;

fn read(bytes: &[u8]) -> Result<onnx::ReadModel, OnnxError> {
    onnx::read_bytes("test.onnx", Blob::from(bytes.to_vec()), &ReadOptions::default())
}

fn fails(message: Message) -> OnnxError {
    let error = read(&message.0).map(|_| ()).expect_err("a fault");
    assert!(!error.help().is_empty());
    assert!(error.to_string().starts_with("`test.onnx`: "), "{error}");
    error
}

macro_rules! assert_fault {
    ($message:expr, $pattern:pat) => {
        let error = fails($message);
        assert!(matches!(error.kind(), $pattern), "{error}");
    };
}

fn sample() -> Message {
    let branch = |op| graph(&[], vec![node(op, &["a"], &["r"])], &["r"]);
    let nodes = vec![
        node("Add", &["x", "w"], &["a"]).bytes(3, "add"),
        node("Split", &["a"], &["s", "", "u"]).message(5, int_attr("axis", 0)),
        node("If", &["c"], &["y"])
            .message(5, graph_attr("then_branch", branch("Relu")))
            .message(5, graph_attr("else_branch", branch("Neg"))),
        node("Constant", &[], &["k"])
            .message(5, message().bytes(1, "value").message(5, floats("t", &[1], &[1.0])).int(20, 4)),
    ];
    let typed = message().int(1, 2).int(2, 7).bytes(7, [1, 2]).bytes(8, "v");
    let graph = graph(&["x", "c"], nodes, &["y"]).message(5, floats("w", &[2], &[1.0, 2.0])).message(5, typed);
    model(graph.message(13, value("a", &[2]))).message(14, message().bytes(1, "k").bytes(2, "v"))
}

#[test]
fn what_is_no_model() {
    assert_fault!(message(), ErrorKind::Empty);
    for text in ["{\"a\": 1}", "PK\u{3}\u{4}", "import torch", "\u{89}HDF", "<html>"] {
        assert_fault!(message().raw(text.as_bytes()), ErrorKind::NotOnnx);
    }
    assert_fault!(message().int(1, 8), ErrorKind::Missing("graph"));
}

#[test]
fn every_truncation_is_a_fault_or_a_model() {
    let bytes = sample().0;
    assert!(read(&bytes).is_ok());
    let mut n_faults = 0;
    for len in 0..bytes.len() {
        n_faults += usize::from(read(&bytes[..len]).is_err());
    }
    assert!(n_faults > bytes.len() / 2);
}

#[test]
fn flipped_bytes_never_panic_and_what_is_read_is_written_back() {
    let bytes = sample().0;
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff, 0x04, 0x10] {
            let mut bytes = bytes.clone();
            bytes[at] ^= flip;
            let Ok(read) = read(&bytes) else { continue };
            let mut out = Vec::new();
            let written = onnx::write_to(&read.module, &mut out);
            assert!(written.is_err() || out == bytes || !read.warnings.is_empty(), "byte {at} ^ {flip:#x}");
            let mut module = read.module;
            common::touch_all(&mut module, common::Forget::Provenance);
            drop(onnx::write_to(&module, &mut Vec::new()));
        }
    }
}

#[test]
fn random_damage_never_panics() {
    let original = sample().0;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for _ in 0..20_000 {
        let mut bytes = original.clone();
        for _ in 0..1 + random() % 4 {
            let at = random() % bytes.len();
            match random() % 3 {
                0 => bytes[at] = random() as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, random() as u8),
            }
        }
        if let Ok(read) = read(&bytes) {
            drop(onnx::write_to(&read.module, &mut Vec::new()));
        }
    }
}

#[test]
fn names() {
    let relu = |input, output| node("Relu", &[input], &[output]);
    assert_fault!(model(graph(&["x"], vec![relu("nobody", "y")], &["y"])), ErrorKind::UndefinedName(_));
    assert_fault!(model(graph(&["x"], vec![relu("x", "a")], &["y"])), ErrorKind::UndefinedName(_));
    assert_fault!(model(graph(&["x"], vec![relu("x", "y"), relu("x", "y")], &["y"])), ErrorKind::DuplicateName(_));
    assert_fault!(model(graph(&["x", "x"], vec![relu("x", "y")], &["y"])), ErrorKind::DuplicateName(_));
    assert_fault!(model(graph(&["x"], vec![relu("b", "a"), relu("a", "b")], &["b"])), ErrorKind::Cycle(_));
    assert_fault!(model(graph(&["x"], vec![relu("x", "y")], &[""])), ErrorKind::Missing("output name"));
    let error =
        fails(model(graph(&["x"], vec![relu("b", "a").bytes(3, "one"), relu("a", "b").bytes(3, "two")], &["b"])));
    assert!(error.to_string().contains("`one`, `two`"), "{error}");
    assert_fault!(
        model(graph(&["x"], vec![relu("x", "y").message(5, int_attr("a", 1)).message(5, int_attr("a", 2))], &["y"])),
        ErrorKind::DuplicateAttribute(_)
    );
    assert_fault!(model(graph(&["x"], vec![message().bytes(1, [0xff]).bytes(4, "Relu")], &[])), ErrorKind::NotUtf8);
}

#[test]
fn tensors() {
    let with = |tensor| model(graph(&["x"], vec![node("Relu", &["x"], &["y"])], &["y"]).message(5, tensor));
    assert_fault!(with(floats("w", &[3], &[1.0])), ErrorKind::Tensor(_));
    assert_fault!(with(floats("w", &[i64::MAX, i64::MAX, 8], &[1.0])), ErrorKind::Tensor(_));
    assert_fault!(with(floats("w", &[-1], &[1.0])), ErrorKind::NegativeDim(-1));
    assert_fault!(with(floats("", &[1], &[1.0])), ErrorKind::Missing("initializer name"));
    assert_fault!(with(floats("w", &[1], &[1.0]).float(4, 1.0)), ErrorKind::TensorData { .. });
    assert_fault!(with(message().int(1, 1).int(2, 7).bytes(8, "w").float(4, 1.0)), ErrorKind::TensorData { .. });
    assert_fault!(with(floats("w", &[1], &[1.0]).bytes(2, "x")), ErrorKind::WireType { .. });
    let error = fails(with(floats("weight", &[3], &[1.0])));
    assert!(error.to_string().contains("tensor `weight`"), "{error}");
}

#[test]
fn operator_sets() {
    let graph = || graph(&["x"], vec![node("Relu", &["x"], &["y"])], &["y"]);
    let opset = |version| message().int(1, 8).message(7, graph()).message(8, message().bytes(1, "").int(2, version));
    assert_fault!(message().int(1, 8).message(7, graph()), ErrorKind::NoOpset);
    assert!(read(&message().int(1, 1).message(7, graph()).0).is_ok());
    assert_fault!(opset(0), ErrorKind::OpsetVersion { version: 0, .. });
    assert_fault!(opset(-5), ErrorKind::OpsetVersion { .. });
    assert_eq!(read(&opset(9999).0).unwrap().warnings.len(), 1);
}

#[test]
fn stray_graphs_and_deep_groups() {
    let empty = || graph(&[], vec![], &[]);
    let with = |attr: Message| model(graph(&["x"], vec![node("Foo", &["x"], &["y"]).message(5, attr)], &["y"]));
    assert_fault!(with(graph_attr("g", empty()).int(20, 2)), ErrorKind::StrayGraph(_));
    // A graph among a list's fields, or a list beside the graph.
    assert!(read(&with(graph_attr("g", empty())).0).is_ok());
    assert!(read(&with(message().bytes(1, "g").message(11, empty()).int(20, 10)).0).is_ok());
    assert_fault!(with(graph_attr("g", empty()).message(11, empty())), ErrorKind::StrayGraph(_));
    assert_fault!(
        with(message().bytes(1, "g").message(6, empty()).message(11, empty()).int(20, 10)),
        ErrorKind::StrayGraph(_)
    );
    let mut deep = [0x9b, 0x06].repeat(100_000);
    deep.extend([0x9c, 0x06].repeat(100_000));
    let whole = sample().raw(&deep);
    let module = read(&whole.0).unwrap().module;
    let mut out = Vec::new();
    onnx::write_to(&module, &mut out).unwrap();
    assert_eq!(out, whole.0);
}

#[test]
fn functions() {
    let function = |name, overload| {
        let node = node("Relu", &["v"], &["w"]);
        let head = message().bytes(1, name).bytes(4, "v").bytes(5, "w").message(7, node);
        head.message(9, message().bytes(1, "").int(2, 17)).bytes(10, "my").bytes(13, overload)
    };
    let with = |other| {
        let graph = graph(&["x"], vec![node("F", &["x"], &["y"]).bytes(7, "my")], &["y"]);
        model(graph).message(25, function("F", "")).message(25, other)
    };
    assert!(read(&with(function("G", "")).0).is_ok());
    assert!(read(&with(function("F", "second")).0).is_ok());
    assert_fault!(with(function("F", "")), ErrorKind::DuplicateFunction(_));
    let error = fails(with(function("F", "")));
    assert!(error.to_string().contains("`my::F`") && error.offset().is_some(), "{error}");
}

#[test]
fn outputs_are_counted() {
    let with = |count: usize| {
        let outputs: Vec<String> = (0..count).map(|index| format!("o{index}")).collect();
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        model(graph(&["x"], vec![node("Split", &["x"], &outputs)], &["o0"]))
    };
    let most = usize::from(u16::MAX);
    let whole = with(most);
    let mut out = Vec::new();
    onnx::write_to(&read(&whole.0).unwrap().module, &mut out).unwrap();
    assert!(out == whole.0);
    assert_fault!(with(most + 1), ErrorKind::TooManyOutputs(65_536));
    let error = fails(with(most + 1));
    assert!(error.to_string().contains("(Split)"), "{error}");
}
