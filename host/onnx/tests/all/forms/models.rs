//! Models that have, between them, every form in which ONNX holds a name and every form in which it holds a constant.

use crate::common::proto::{Message, floats, graph, graph_attr, message, node, value};

/// The name of a model, and its bytes.
type File = (&'static str, fn() -> Vec<u8>);

/// Those that are read from bytes.
pub const FILES: [File; 5] = [
    ("names", names),
    ("constants", constants),
    ("listed", listed),
    ("external", || external(580_000)),
    ("parts", || external(300_000)),
];

/// The data file of [`external`], large enough to be copied from file to file.
pub fn data() -> Vec<u8> {
    (0..600_000u32).flat_map(|value| (value as f32).to_le_bytes()).collect()
}

fn opset(domain: &str, version: i64) -> Message {
    message().bytes(1, domain).int(2, version)
}

fn model(version: i64, graph: Message) -> Message {
    message().int(1, version).bytes(2, "maker").message(7, graph).message(8, opset("", 21)).message(8, opset("acme", 1))
}

fn entry(key: &str, value: &str) -> Message {
    message().bytes(1, key).bytes(2, value)
}

/// A `ValueInfoProto` of shape (`n`, 2) with documentation.
fn symbolic(name: &str) -> Message {
    let shape = message().message(1, message().bytes(2, "n")).message(1, message().int(1, 2));
    let ty = message().message(1, message().int(1, 1).message(2, shape));
    message().bytes(1, name).message(2, ty).bytes(3, "what it is")
}

fn scalar(name: &str, elem: i64) -> Message {
    message().bytes(1, name).message(2, message().message(1, message().int(1, elem).message(2, message())))
}

fn sparse(name: &str, element: f32) -> Message {
    let indices = message().int(1, 1).int(2, 7).bytes(8, "indices").bytes(9, 0i64.to_le_bytes());
    message().message(1, floats(name, &[1], &[element])).message(2, indices).int(3, 2)
}

fn names() -> Vec<u8> {
    let annotation = |tensor: &str, scale: &str| message().bytes(1, tensor).message(2, entry("SCALE_TENSOR", scale));
    let branch = |op: &str, from: &str| graph(&[], vec![node(op, &[from], &["u"])], &["u"]);
    let nodes = vec![
        node("Add", &["x", "w"], &["a"]).bytes(3, "first").bytes(6, "it adds").message(9, entry("key", "value")),
        node("Mul", &["a", "s"], &["b"]),
        node("Add", &["b", "t"], &["d"]).bytes(3, "third"),
        node("Split", &["d"], &["", "e"]).bytes(100, "of a later version"),
        node("Clip", &["e", "", "k"], &["f"]),
        node("If", &["c"], &["r"])
            .message(5, graph_attr("else_branch", branch("Neg", "a")))
            .message(5, graph_attr("then_branch", branch("Relu", "f"))),
        node("Scale", &["r"], &["y"]).message(5, float("beta", 3.5)).bytes(7, "my").bytes(8, "soft"),
        node("Scale", &["y"], &["z"]).message(5, float("beta", 3.5)).bytes(7, "my"),
    ];
    let graph = nodes.into_iter().fold(message(), |graph, node| graph.message(1, node)).bytes(2, "graph");
    let graph = [("w", 1.0), ("k", 9.0), ("q", 0.5)]
        .into_iter()
        .fold(graph, |graph, (name, value)| graph.message(5, floats(name, &[1], &[value])))
        .bytes(10, "what it does")
        .message(11, symbolic("x"))
        .message(11, scalar("c", 9))
        .message(12, symbolic("y"))
        .message(12, value("z", &[]))
        .message(13, symbolic("a"))
        .message(13, value("b", &[2, 2]))
        .message(14, annotation("a", "q"))
        .message(14, annotation("b", "k"))
        .message(15, sparse("s", 1.5))
        .message(15, sparse("t", 2.5))
        .message(16, entry("key", "value"));
    let imported = message().int(2, 1).bytes(1, "my");
    let model = model(10, graph).message(8, imported).message(14, entry("author", "somebody"));
    model.message(25, function("soft", 0.5)).message(25, function("", 0.25)).0
}

fn float(name: &str, value: f32) -> Message {
    message().bytes(1, name).float(2, value).int(20, 1)
}

/// Two attributes, one of which has a default, and a tensor that is the default of a third.
fn function(overload: &str, alpha: f32) -> Message {
    let reference = |name: &str, of: &str| message().bytes(1, name).int(20, 1).bytes(21, of);
    let constant = message().bytes(1, "value").message(5, floats("", &[1], &[4.5])).int(20, 4);
    let function = message()
        .bytes(1, "Scale")
        .bytes(4, "v")
        .bytes(5, "w")
        .bytes(6, "beta")
        .message(7, node("Elu", &["v"], &["t"]).message(5, reference("alpha", "alpha")))
        .message(7, node("Constant", &[], &["k"]).message(5, constant))
        .message(7, node("Elu", &["k"], &["m"]).message(5, reference("alpha", "beta")))
        .message(7, node("Add", &["t", "m"], &["w"]))
        .message(9, opset("", 21))
        .bytes(10, "my")
        .message(11, float("alpha", alpha))
        .message(11, message().bytes(1, "table").message(5, floats("", &[2], &[6.5, 7.5])).int(20, 4))
        .message(12, value("t", &[2, 2]));
    if overload.is_empty() { function } else { function.bytes(13, overload) }
}

/// Elements of each type, in the field for it.
fn constants() -> Vec<u8> {
    let typed = |name: &str, dim: i64, elem: i64, field: u32, elements: &[u8]| {
        message().int(1, dim).int(2, elem).bytes(field, elements).bytes(8, name)
    };
    let strings = ["one", "", "three"].into_iter().fold(message().int(1, 3).int(2, 8), |t, text| t.bytes(6, text));
    let initializers = vec![
        typed("floats", 2, 1, 4, &[0, 0, 128, 63, 0, 0, 0, 64]),
        typed("doubles", 1, 11, 10, &1.5f64.to_le_bytes()),
        typed("int8s", 2, 3, 5, &[7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        typed("int64s", 2, 7, 7, &[3, 0x80, 1]),
        typed("uint64s", 2, 13, 11, &[5, 6]),
        typed("halves", 1, 10, 5, &[0x80, 0x78]),
        typed("int4s", 3, 22, 5, &[0x21, 3]),
        typed("packed", 3, 22, 9, &[0x21, 3]),
        strings.bytes(8, "strings"),
        floats("raw", &[2], &[1.0, 2.0]).bytes(12, "what it is"),
        floats("same", &[2], &[1.0, 2.5]),
    ];
    let made = |name: &str, kind: i64, fill: fn(Message) -> Message| fill(message().bytes(1, name)).int(20, kind);
    let forms = [
        ("c0", made("value_float", 1, |attr| attr.float(2, 0.5))),
        ("c1", made("value_int", 2, |attr| attr.int(3, 7))),
        ("c2", made("value_string", 3, |attr| attr.bytes(4, "text"))),
        ("c3", made("value_floats", 6, |attr| attr.float(7, 1.5).float(7, 2.5))),
        ("c4", made("value_ints", 7, |attr| attr.int(8, 7).int(8, 8))),
        ("c5", made("value_strings", 8, |attr| attr.bytes(9, "a").bytes(9, "b"))),
        ("c6", made("value", 4, |attr| attr.message(5, floats("", &[2], &[3.5, 4.5])))),
        ("c7", made("sparse_value", 11, |attr| attr.message(22, sparse("", 5.5)))),
    ];
    let ty = || message().message(1, message().int(1, 1).message(2, message().message(1, message().int(1, 2))));
    let attributes = [
        made("tensor", 4, |attr| attr.message(5, floats("", &[2], &[8.5, 9.5]))),
        made("tensors", 9, |attr| attr.message(10, floats("", &[1], &[1.5])).message(10, floats("", &[1], &[2.5]))),
        made("words", 8, |attr| attr.bytes(9, "a").bytes(9, "")),
        made("numbers", 7, |attr| attr.int(8, -1).int(8, 300)),
        message().bytes(1, "type").message(14, ty()).int(20, 13),
        made("sparse", 11, |attr| attr.message(22, sparse("", 2.5))),
    ];
    let taken = ["x", "floats", "doubles", "int8s", "int64s", "uint64s", "halves", "int4s", "packed", "strings", "raw"];
    let taken: Vec<&str> = taken.into_iter().chain(["same"]).chain(forms.iter().map(|(name, _)| *name)).collect();
    let call = attributes.into_iter().fold(node("Use", &taken, &["y"]), |node, attr| node.message(5, attr));
    let nodes = forms.into_iter().map(|(name, attr)| node("Constant", &[], &[name]).message(5, attr));
    let nodes = nodes.chain([call.bytes(7, "acme")]).collect();
    let graph = graph(&["x"], nodes, &["y"]);
    model(10, initializers.into_iter().fold(graph, |graph, tensor| graph.message(5, tensor))).0
}

/// A weight between the inputs, as the third version of the format has it, where it is not a default yet.
fn listed() -> Vec<u8> {
    let nodes = vec![node("Sub", &["a", "w"], &["d"]), node("Sub", &["d", "b"], &["y"])];
    let graph = graph(&["a", "w", "b"], nodes, &["y"]).message(5, floats("w", &[2], &[1.0, 2.0]));
    message().int(1, 3).message(7, graph).message(8, opset("", 7)).0
}

/// Weights in another file, of which one has `n` elements, and an input that has a default.
fn external(n: i64) -> Vec<u8> {
    let tensor = |name: &str, dim: i64, offset: &str| {
        let tensor = message().int(1, dim).int(2, 1).bytes(8, name).message(13, entry("location", "weights.bin"));
        tensor.message(13, entry("offset", offset)).int(14, 1)
    };
    let held = message().bytes(1, "value").message(5, tensor("", 2, "16")).int(20, 4);
    let nodes = vec![
        node("Constant", &[], &["held"]).message(5, held),
        node("Add", &["x", "p"], &["a"]),
        node("Sub", &["a", "q"], &["b"]),
        node("Use", &["b", "large", "d", "held"], &["y"]).bytes(7, "acme"),
    ];
    let graph = graph(&["x", "d"], nodes, &["y"]).message(5, tensor("p", 2, "0")).message(5, tensor("q", 2, "8"));
    let graph = graph.message(5, floats("d", &[2], &[1.0, 2.0])).message(5, tensor("large", n, "4096"));
    model(10, graph).0
}

/// The things that passes make: values, constants and nodes without names, functions and domains that nothing imports.
pub const MADE: &str = r#"
def @main(%c: Tensor[(), bool], %x: Tensor[(n, 2), float32]) -> (%y, %z, %same) #[opset = {"": 21}] {
  %1 = Neg(%x) #[name = "n"];
  %2 = Abs(%1) #[name = "n"];
  %w = Exp(%2);
  %opaque: Opaque["acme", "Table"] = acme::Table(%w);
  %fill = splat(float32, (300, 2), 1.5);
  %fill2 = splat(int32, (200, 3), 7);
  %nibbles = splat(int4, (8193), 5) #[form = initializer];
  %ones = splat(float32, (30001), 1.5) #[form = initializer];
  %3 = acme::Fused(%w, %opaque, %fill, %fill2, %nibbles, %ones, const(float32, [1.0, 2.0]));
  %5 = @choose(%c, %x);
  %4 = @double(%3);
  %6 = Split(%4) -> 2;
  %7 = %6[1];
  %8 = Add(%5, %7);
  (%8, %2, %x)
}

def @choose(%c, %x) -> (%y) #[opset = {"": 21}] {
  %r = if (%c) -> (%w) { %w = Relu(%x); %w } else -> (%w) { %w = Abs(%x); %w };
  %q = if (%c) -> (%w) { %x } else -> (%w) { %w = Neg(%x); %w };
  %y = Sub(%r, %q);
  %y
}

def @double(%x) -> (%y) {
  %1 = acme2::Half(%x, const(float32, [3.0]));
  %y = Add(%1, %1);
  %y
}
"#;
