//! Names: whatever holds the name of a value has the one that the value is written under, or is left out.

use crate::common::proto::{Message, floats, graph, message, model, node, value};
use relais_onnx::{self as onnx, ReadOptions, StatedTypes, WriteOptions, inline_functions};
use relais_plugin_api::{
    ir::{Function, IRModule, MAIN, NodeId},
    text,
};

fn read(bytes: &[u8]) -> IRModule {
    onnx::read_bytes("test", bytes.to_vec().into(), &ReadOptions::default()).unwrap().module
}

/// A module as it is written, and as it comes back.
fn written(module: &IRModule) -> (Vec<u8>, IRModule) {
    let mut bytes = Vec::new();
    onnx::write_to(module, &mut bytes).unwrap_or_else(|error| panic!("{error}"));
    let module = read(&bytes);
    (bytes, module)
}

fn renamed(mut module: IRModule, names: &[(&str, &str)]) -> IRModule {
    let f = module.function_mut(MAIN).unwrap();
    let nodes: Vec<NodeId> = names.iter().map(|(from, _)| named(f, from)).collect();
    for (node, (_, to)) in nodes.into_iter().zip(names) {
        f.set_name(node, to);
    }
    module
}

fn named(f: &Function, name: &str) -> NodeId {
    (0..f.n_nodes()).map(NodeId::from_index).find(|&id| f.name(id) == name).unwrap()
}

/// The text of a sparse tensor with one element, in a list of initializers.
fn sparse(name: &str, element: f32) -> Message {
    let indices = message().int(1, 1).int(2, 7).bytes(8, "indices").bytes(9, 0i64.to_le_bytes());
    message().message(1, floats(name, &[1], &[element])).message(2, indices).int(3, 2)
}

#[test]
fn sparse_initializers_have_the_names_of_their_values() {
    let nodes = vec![node("Add", &["x", "s"], &["a"]), node("Sub", &["a", "t"], &["y"])];
    let graph = graph(&["x"], nodes, &["y"]).message(15, sparse("s", 1.5)).message(15, sparse("t", 2.5));
    let module = read(&model(graph).0);
    // Each takes the other's name: with the old ones the numbers would be wrong.
    let (bytes, _) = written(&renamed(module, &[("s", "t"), ("t", "s")]));
    // The name follows the elements in a tensor that has another one than it was read with.
    for (name, element) in [("t", 1.5f32), ("s", 2.5)] {
        let pattern = [&element.to_le_bytes()[..], b"\x42\x01", name.as_bytes()].concat();
        assert!(bytes.windows(pattern.len()).any(|window| window == pattern), "{bytes:?}");
    }
}

/// Inlining brings a branch's value of a name into the reach of another one.
#[test]
fn results_of_branches_do_not_take_names_of_outer_values() {
    let mut module = text::parse_str(
        "def @main(%c: Tensor[(), bool], %x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 17, \"local\": 1}] {\n\
         %w = Exp(%x); %r = @\"local::F\"(%c, %x); %y = Add(%r, %w); %y\n}\n\
         def @\"local::F\"(%c, %x) -> (%r) #[opset = {\"\": 17}, domain = \"local\", function_name = \"F\"] {\n\
         %p = if (%c) -> (%w) { %w = Relu(%x); %w } else -> (%w) { %w = Neg(%x); %w };\n\
         %q = if (%c) -> (%w) { %x } else -> (%w) { %w = Abs(%x); %w };\n\
         %r = Add(%p, %q); %r\n}\n",
    )
    .unwrap();
    assert_eq!(inline_functions(&mut module).unwrap().n_calls, 1);
    let (_, back) = written(&module);
    let text = text::print_function("main", back.main().unwrap(), &text::PrintOptions::default());
    assert!(text.contains("%w = Exp(") && text.matches("%w = ").count() == 1, "{text}");
}

#[test]
fn annotations_name_what_is_there() {
    let annotation = |tensor: &str, scale: &str| {
        message().bytes(1, tensor).message(2, message().bytes(1, "SCALE_TENSOR").bytes(2, scale))
    };
    let graph = graph(&["x"], vec![node("Add", &["x", "w"], &["a"]), node("Neg", &["a"], &["y"])], &["y"])
        .message(5, floats("w", &[2], &[1.0, 2.0]))
        .message(5, floats("s", &[1], &[0.5]))
        .message(14, annotation("a", "s"))
        .message(14, annotation("ghost", "s"))
        .message(14, annotation("w", "s"));
    let contains = |bytes: &[u8], message: Message| bytes.windows(message.0.len()).any(|window| window == message.0);
    let mut module = read(&model(graph).0);
    let f = module.function_mut(MAIN).unwrap();
    let (w, block) = (named(f, "w"), f.body());
    let others: Vec<NodeId> = f.bindings(block).iter().copied().filter(|&id| id != w).collect();
    let (x, add) = (f.params()[0], others[1]);
    let at = f.operands(add).iter().position(|&operand| operand == w).unwrap();
    f.set_operand(add, at, x);
    f.set_bindings(block, &others);
    let (bytes, _) = written(&module);
    // One that named nothing from the start is carried as it is; the tensor of the other is gone.
    assert!(contains(&bytes, annotation("a", "s")) && contains(&bytes, annotation("ghost", "s")));
    assert!(!contains(&bytes, annotation("w", "s")));
}

#[test]
fn types_are_stated_whole() {
    // A sequence whose element's type is unknown.
    let source = |op: &str| {
        let graph = graph(&["x"], vec![node(op, &["x"], &["s"]), node("Neg", &["x"], &["y"])], &["y"]);
        read(&model(graph.message(13, value("other", &[2]))).0)
    };
    let known = WriteOptions::default().with_stated_types(StatedTypes::Known);
    let folder = crate::common::TempFolder::new("whole-types");
    let mut module = source("SequenceConstruct");
    let f = module.function_mut(MAIN).unwrap();
    let unknown = relais_plugin_api::ir::TypeId::UNKNOWN;
    let sequence = f.add_type(relais_plugin_api::ir::Type::Sequence(unknown));
    let node = named(f, "s");
    f.set_type(node, sequence);
    onnx::write(&module, folder.join("out.onnx"), &known).unwrap();
    let bytes = std::fs::read(folder.join("out.onnx")).unwrap();
    // A value's name and a type without an element: `sequence_type {}`.
    let pattern = b"\x0a\x01s\x12\x02\x22\x00";
    assert!(!bytes.windows(pattern.len()).any(|window| window == pattern));
}

/// Runtimes take an output that is listed twice.
#[test]
fn an_output_is_listed_twice_under_its_name() {
    let listed = |results: &str, more: &str| {
        let text = format!(
            "def @main(%x: Tensor[(2), float32]) -> (%y, %y, %z) #[opset = {{\"\": 17}}] {{ {more} {results} }}"
        );
        let module = text::parse_str(&text).unwrap_or_else(|faults| panic!("{}", faults[0]));
        let (_, back) = written(&module);
        text::print_function("main", back.main().unwrap(), &text::PrintOptions::default())
    };
    let same = listed("(%y, %y, %z)", "%y = Exp(%x); %z = Neg(%y);");
    assert!(same.contains("(%y, %y, %z)") && !same.contains("Identity"), "{same}");
    // The value is an input, whose name is another one.
    let passed_on = listed("(%x, %x, %x)", "");
    assert!(passed_on.contains("(%y, %y, %z)") && passed_on.matches("Identity(%x)").count() == 2, "{passed_on}");
}

/// A constant may become an initializer, which graphs of nodes before it see.
#[test]
fn a_new_constant_has_its_name_alone() {
    let module = text::parse_str(
        "def @main(%c: Tensor[(), bool], %x: Tensor[(2), float32]) -> (%y, %w) #[opset = {\"\": 17}] {\n\
         %y = if (%c) -> (%w) { %w = Relu(%x); %w } else -> (%w) { %w = Neg(%x); %w };\n\
         %w = const(float32, 2.0); (%y, %w)\n}\n",
    )
    .unwrap();
    let (_, back) = written(&module);
    let text = text::print_function("main", back.main().unwrap(), &text::PrintOptions::default());
    assert!(text.contains("%w = const(float32, 2.0)") && text.contains("-> (%y, %w)"), "{text}");
    assert!(!text.contains("%w = Relu") && !text.contains("%w = Neg"), "{text}");
    // The name of a later value may be taken.
    let module = text::parse_str(
        "def @main(%c: Tensor[(), bool], %x: Tensor[(2), float32]) -> (%y, %w) #[opset = {\"\": 17}] {\n\
         %y = if (%c) -> (%w) { %w = Relu(%x); %w } else -> (%w) { %w = Neg(%x); %w };\n\
         %w = Exp(%x); (%y, %w)\n}\n",
    )
    .unwrap();
    let (_, back) = written(&module);
    let text = text::print_function("main", back.main().unwrap(), &text::PrintOptions::default());
    assert!(text.contains("%w = Relu") && text.contains("%w = Neg") && text.contains("%w = Exp"), "{text}");
}

/// Up to IR version 3 initializers are inputs of their graph, in nested ones, too.
#[test]
fn old_models_have_constants_of_nested_graphs_as_nodes() {
    let text = |ir_version: i64| {
        format!(
            "#[ir_version = {ir_version}]\n\
             def @main(%c: Tensor[(), bool], %x: Tensor[(2), float32]) -> (%y) #[opset = {{\"\": 7}}] {{\n\
             %y = if (%c) {{ %w = const(float32, 2.0); %a = Add(%x, %w); %a }} else {{ %n = Neg(%x); %n }}; %y\n}}\n"
        )
    };
    for (ir_version, is_node) in [(3, true), (4, false)] {
        let (_, back) = written(&text::parse_str(&text(ir_version)).unwrap());
        let text = text::print_function("main", back.main().unwrap(), &text::PrintOptions::default());
        assert_eq!(text.contains("%w = const(float32, 2.0) #[form = value]"), is_node, "{text}");
    }
}
