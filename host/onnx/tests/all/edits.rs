//! The changes of an edit in the file, and the parts that it leaves alone.

use crate::common::{
    self,
    proto::{Message, floats, graph, graph_attr, message, model, node, value},
};
use relais_onnx::{self as onnx, ErrorKind, ReadOptions};
use relais_plugin_api::ir::{
    Attr, AttrData, ConstForm, ElemType, Function, IRModule, MAIN, NodeId, Tensor, inline_functions,
};

fn read(message: Message) -> IRModule {
    onnx::read_bytes("test", message.0.into(), &ReadOptions::default()).unwrap().module
}

fn write(module: &IRModule) -> Vec<u8> {
    let mut out = Vec::new();
    onnx::write_to(module, &mut out).unwrap();
    out
}

fn round_trip(message: Message) {
    assert_eq!(write(&read(message.clone())), message.0);
}

fn main(module: &mut IRModule) -> &mut Function {
    module.function_mut(MAIN).unwrap()
}

fn named(f: &Function, name: &str) -> NodeId {
    (0..f.n_nodes()).map(NodeId::from_index).find(|&id| f.name(id) == name).unwrap()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn chain() -> Message {
    let nodes = vec![
        node("Relu", &["x"], &["a"]).bytes(3, "first").bytes(6, "doc"),
        node("Neg", &["a"], &["b"]).long_bytes(6, "a length that is longer than it need be"),
        node("Abs", &["b"], &["y"]),
    ];
    model(graph(&["x"], nodes, &["y"]).message(13, value("a", &[2])).message(13, value("b", &[2])))
}

#[test]
fn untouched_models_keep_unusual_encodings() {
    round_trip(chain());
    let unknown = message().bytes(100, "unknown").raw(&[0x9b, 0x06, 0x08, 0x01, 0x9c, 0x06]);
    round_trip(unknown.clone().raw(&chain().0).raw(&unknown.0));
    // Values without a name, said with and without a field for it.
    let nameless = |info: Message| graph(&["x"], vec![node("Split", &["x"], &["a", ""])], &["a"]).message(13, info);
    round_trip(model(nameless(message())));
    round_trip(model(nameless(message().bytes(1, ""))));
    round_trip(model(graph(&["x"], vec![node("Split", &["x"], &["a", ""])], &["a"]).message(12, message())));
    round_trip(model(graph(&["x"], vec![node("Split", &["x"], &["a", ""])], &["a"]).message(12, value("", &[2]))));
    // A graph in two parts, with other fields between them.
    let first = message().message(1, node("Relu", &["x"], &["a"])).bytes(2, "first name");
    let second = graph(&["x"], vec![node("Abs", &["a"], &["y"])], &["y"]).message(5, floats("w", &[1], &[1.0]));
    round_trip(message().message(7, first).int(1, 8).message(8, message().bytes(1, "").int(2, 17)).message(7, second));
}

#[test]
fn touching_one_node_changes_its_bytes_only() {
    let before = write(&read(chain()));
    let mut module = read(chain());
    let f = main(&mut module);
    let neg = named(f, "b");
    f.set_attrs(neg, &[Attr::new("alpha", 1.5f32)]);
    let after = write(&module);
    assert_ne!(before, after);
    for untouched in [node("Relu", &["x"], &["a"]).bytes(3, "first").bytes(6, "doc"), node("Abs", &["b"], &["y"])] {
        assert!(contains(&after, &untouched.0));
    }
    assert!(!contains(&after, b"longer than it need be"));
}

#[test]
fn removed_nodes_leave_no_trace() {
    let mut module = read(chain());
    let f = main(&mut module);
    let (a, b, y) = (named(f, "a"), named(f, "b"), named(f, "y"));
    f.map_operands(y, |operand| if operand == b { a } else { operand });
    f.set_bindings(f.body(), &[a, y]);
    let after = write(&module);
    let expected = model(
        graph(
            &["x"],
            vec![node("Relu", &["x"], &["a"]).bytes(3, "first").bytes(6, "doc"), node("Abs", &["a"], &["y"])],
            &["y"],
        )
        .message(13, value("a", &[2])),
    );
    assert_eq!(after, expected.0);
}

#[test]
fn nodes_can_be_put_in_another_order() {
    let names = ["y0", "y1", "y2", "y3", "y4", "y5"];
    let nodes = names.iter().map(|name| node("Relu", &["x"], &[name])).collect();
    let source = model(graph(&["x"], nodes, &["y0"]));
    for order in [[3, 4, 5, 0, 1, 2], [5, 4, 3, 2, 1, 0], [0, 2, 3, 1, 4, 5]] {
        let mut module = read(source.clone());
        let f = main(&mut module);
        let moved = order.map(|index| f.bindings(f.body())[index]);
        f.set_bindings(f.body(), &moved);
        let nodes = order.iter().map(|&index| node("Relu", &["x"], &[names[index]])).collect();
        assert_eq!(write(&module), model(graph(&["x"], nodes, &["y0"])).0);
    }
}

#[test]
fn outputs_keep_their_names() {
    let mut module = read(chain());
    let f = main(&mut module);
    // The output is now an inner value: it takes the name, and its users follow.
    let (a, b) = (named(f, "a"), named(f, "b"));
    f.set_results(f.body(), &[a]);
    f.set_bindings(f.body(), &[a, b]);
    let after = write(&module);
    assert!(contains(&after, &node("Neg", &["y"], &["b"]).0[..8]));
    let again = onnx::read_bytes("again", after.into(), &ReadOptions::default()).unwrap().module;
    assert_eq!(again.main().unwrap().name(again.main().unwrap().result(again.main().unwrap().body())), "y");

    // The output is now an input: an `Identity` is between them.
    let mut module = read(chain());
    let f = main(&mut module);
    let x = f.params()[0];
    f.set_bindings(f.body(), &[]);
    f.set_results(f.body(), &[x]);
    assert!(contains(&write(&module), &node("Identity", &["x"], &["y"]).0));
}

#[test]
fn one_value_can_serve_two_outputs() {
    let nodes = vec![node("Relu", &["x"], &["a"]), node("Neg", &["x"], &["b"])];
    let mut module = read(model(graph(&["x"], nodes, &["a", "b"])));
    let f = main(&mut module);
    let a = named(f, "a");
    f.set_bindings(f.body(), &[a]);
    f.set_results(f.body(), &[a, a]);
    assert!(contains(&write(&module), &node("Identity", &["a"], &["b"]).0));
}

#[test]
fn new_constants_become_initializers_or_nodes() {
    let mut module = read(chain());
    let f = main(&mut module);
    let (a, b, y) = (named(f, "a"), named(f, "b"), named(f, "y"));
    let small = f.add_constant(Tensor::from_f32(&[2], &[1.0, 2.0]), ConstForm::ANY);
    let splat = Tensor::splat(ElemType::FLOAT, &[1000, 2], &1f32.to_le_bytes()).unwrap();
    let large = f.add_constant(splat, ConstForm::ANY);
    let add = f.add_op("", "Sum", "", 0);
    let sum = f.add_call(add, &[a, small, large]);
    f.set_operand(b, 1, sum);
    f.set_bindings(f.body(), &[a, small, large, sum, b, y]);
    let after = write(&module);
    assert!(contains(&after, b"ConstantOfShape") && contains(&after, b"shape"), "{after:?}");
    assert!(after.len() < 1000, "the splat is not written out");
    let again = onnx::read_bytes("again", after.into(), &ReadOptions::default()).unwrap().module;
    let forms: Vec<u16> = again
        .main()
        .unwrap()
        .nodes()
        .iter()
        .filter(|n| n.kind == relais_plugin_api::ir::kind::CONSTANT)
        .map(|n| n.aux)
        .collect();
    assert_eq!(forms, [ConstForm::INITIALIZER.0; 2]);
}

#[test]
fn operator_versions_must_be_the_models() {
    let mut module = read(chain());
    let f = main(&mut module);
    let y = named(f, "y");
    let op = f.add_op("", "Squeeze", "", 11);
    let call = f.add_call(op, &[y]);
    f.append(f.body(), call);
    f.set_results(f.body(), &[call]);
    let error = onnx::write_to(&module, &mut Vec::new()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OpsetMismatch { version: 11, imported: 17, .. }), "{error}");
}

#[test]
fn edits_inside_branches_leave_the_rest() {
    let then = graph(&[], vec![node("Relu", &["x"], &["t"]), node("Abs", &["t"], &["t2"])], &["t2"]);
    let other = graph(&[], vec![node("Neg", &["x"], &["e"])], &["e"]);
    let branch = node("If", &["c"], &["y"])
        .message(5, graph_attr("else_branch", other.clone()))
        .message(5, graph_attr("then_branch", then))
        .bytes(6, "kept");
    let whole = model(graph(&["x", "c"], vec![branch], &["y"]));
    round_trip(whole.clone());
    let mut module = read(whole);
    let f = main(&mut module);
    let t = named(f, "t");
    let then = f.block_of(f.regions(f.bindings(f.body())[0])[0]);
    f.set_bindings(then, &[t]);
    f.set_results(then, &[t]);
    let after = write(&module);
    let changed = graph(&[], vec![node("Relu", &["x"], &["t2"])], &["t2"]);
    let expected = node("If", &["c"], &["y"])
        .message(5, graph_attr("else_branch", other))
        .message(5, graph_attr("then_branch", changed))
        .bytes(6, "kept");
    assert_eq!(after, model(graph(&["x", "c"], vec![expected], &["y"])).0);
}

#[test]
fn functions_are_inlined() {
    let alpha = message().bytes(1, "alpha").int(20, 1).bytes(21, "slope");
    let opset = || message().bytes(1, "").int(2, 17);
    let function = message()
        .bytes(1, "Leaky")
        .bytes(4, "v")
        .bytes(5, "w")
        .message(7, node("LeakyRelu", &["v"], &["t"]).message(5, alpha))
        .message(7, node("Neg", &["t"], &["w"]))
        .message(9, opset())
        .bytes(10, "my")
        .message(11, message().bytes(1, "slope").float(2, 0.5).int(20, 1));
    let call = |input: &str, output: &str| node("Leaky", &[input], &[output]).bytes(7, "my");
    let whole = model(graph(&["x"], vec![call("x", "a"), call("a", "y")], &["y"]))
        .message(8, message().bytes(1, "my").int(2, 1))
        .message(25, function.clone());
    round_trip(whole.clone());
    let mut module = read(whole.clone());
    let inlined = inline_functions(&mut module).unwrap();
    assert_eq!((inlined.n_calls, inlined.declined.len()), (2, 0));
    let f = module.main().unwrap();
    let ops: Vec<&str> = f.bindings(f.body()).iter().filter_map(|&id| Some(f.call(id)?.op_name())).collect();
    assert_eq!(ops, ["LeakyRelu", "Neg", "LeakyRelu", "Neg"]);
    assert_eq!(f.call(f.bindings(f.body())[0]).unwrap().attrs().float("alpha"), Some(0.5));
    let names: Vec<&str> = f.bindings(f.body()).iter().map(|&id| f.name(id)).collect();
    assert_eq!(names, ["a/t", "a", "y/t", "y"]);

    // Another operator set: left alone, with the reason.
    let mut other = Message(whole.0.clone());
    let at = other.0.windows(4).rposition(|w| w == [0x0a, 0, 0x10, 17]).unwrap();
    other.0[at + 3] = 16;
    let mut module = read(other);
    let inlined = inline_functions(&mut module).unwrap();
    assert_eq!((inlined.n_calls, inlined.declined.len()), (0, 1));

    // A function that calls itself.
    let recursive = message()
        .bytes(1, "Leaky")
        .bytes(4, "v")
        .bytes(5, "w")
        .message(7, call("v", "w"))
        .message(9, opset())
        .bytes(10, "my");
    let whole = model(graph(&["x"], vec![call("x", "y")], &["y"])).message(25, recursive);
    assert!(inline_functions(&mut read(whole)).is_err());
}

#[test]
fn unsorted_nodes_are_sorted() {
    let nodes = vec![node("Abs", &["b"], &["y"]), node("Relu", &["x"], &["a"]), node("Neg", &["a"], &["b"])];
    let read = onnx::read_bytes("test", model(graph(&["x"], nodes, &["y"])).0.into(), &ReadOptions::default()).unwrap();
    let f = read.module.main().unwrap();
    let names: Vec<&str> = f.bindings(f.body()).iter().map(|&id| f.name(id)).collect();
    assert_eq!(names, ["a", "b", "y"]);
    assert_eq!(read.warnings.len(), 1);
    let again = onnx::read_bytes("again", write(&read.module).into(), &ReadOptions::default()).unwrap();
    assert!(again.warnings.is_empty());
}

#[test]
fn ten_thousand_nested_branches() {
    let run = || {
        let mut inner = graph(&[], vec![node("Relu", &["x"], &["r"])], &["r"]).0;
        for _ in 0..10_000 {
            let other = graph(&[], vec![node("Neg", &["x"], &["e"])], &["e"]);
            let branch = node("If", &["c"], &["r"])
                .message(5, graph_attr("then_branch", Message(inner)))
                .message(5, graph_attr("else_branch", other));
            inner = graph(&[], vec![branch], &["r"]).0;
        }
        let whole = model(Message(inner).message(11, value("x", &[2])).message(11, value("c", &[])));
        let module = read(whole.clone());
        assert_eq!(write(&module), whole.0);
        let mut touched = module.clone();
        common::touch_all(&mut touched, common::Forget::Provenance);
        assert_eq!(read(Message(write(&touched))).main().unwrap().n_blocks(), module.main().unwrap().n_blocks());
        // A model that no file was as deep as is none.
        touched.sources.clear();
        let error = onnx::write_to(&touched, &mut Vec::new()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TooDeep { depth: 10_000, limit: 31 }), "{error}");
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_model_without_operator_sets_is_not_written() {
    let module = relais_plugin_api::text::parse_str("def @main(%x) { Relu(%x) }").unwrap();
    let error = onnx::write_to(&module, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "no operator set is imported");
    let module = relais_plugin_api::text::parse_str("def @main(%x) #[opset = {\"\": 17}] { Relu(%x) }").unwrap();
    assert!(onnx::write_to(&module, &mut Vec::new()).is_ok());
}

#[test]
fn a_changed_node_stays_between_other_fields() {
    // Nodes with the graph's name between them, as no serialiser writes them.
    let first = message().message(1, node("Relu", &["x"], &["a"])).bytes(2, "name");
    let rest = graph(&["x"], vec![node("Abs", &["a"], &["y"])], &["y"]);
    let source = model(first.clone().raw(&rest.0));
    let mut module = read(source.clone());
    let f = main(&mut module);
    let a = named(f, "a");
    f.set_attrs(a, &[Attr::meta("doc", AttrData::String(b"touched".to_vec()))]);
    let touched = message().message(1, node("Relu", &["x"], &["a"]).bytes(6, "touched")).bytes(2, "name");
    assert_eq!(write(&module), model(touched.raw(&rest.0)).0);
}

#[test]
fn entries_in_unusual_order_are_kept() {
    let backwards = message().bytes(2, "value").bytes(1, "key");
    let source = model(graph(&["x"], vec![node("Relu", &["x"], &["y"])], &["y"]).message(16, backwards));
    let mut module = read(source.clone());
    assert_eq!(write(&module), source.0);
    let f = main(&mut module);
    let y = named(f, "y");
    f.touch(y);
    assert_eq!(write(&module), source.0);
}

#[test]
fn defaults_in_unusual_order_are_kept_until_they_change() {
    let default = message().int(20, 2).bytes(1, "alpha").int(3, 5);
    let function = message().bytes(1, "f").bytes(4, "a").bytes(5, "b").message(7, node("Relu", &["a"], &["b"]));
    let function = function.message(9, message().bytes(1, "").int(2, 17)).bytes(10, "local").message(11, default);
    let source = model(graph(&["x"], vec![node("Relu", &["x"], &["y"])], &["y"])).message(25, function);
    let mut module = read(source.clone());
    assert_eq!(write(&module), source.0);

    let f = module.function_mut("local::f").unwrap();
    let mut recs = f.attr_recs(f.root()).to_vec();
    let at = recs.iter().position(|rec| f.str(rec.name) == "default:alpha").unwrap();
    recs[at] = f.encode_attr(&Attr::meta("default:alpha", AttrData::Int(6)));
    f.set_attr_recs(f.root(), &recs);
    assert!(contains(&write(&module), &message().bytes(1, "alpha").int(3, 6).int(20, 2).0));
}

#[test]
fn an_empty_list_without_a_type_stays_one() {
    let untyped = |name: &str, field: u32| message().bytes(1, name).bytes(field, "");
    let nodes = vec![
        node("Foo", &["x"], &["a"]).message(5, untyped("floats", 7)).message(5, untyped("ints", 8)),
        node("Constant", &[], &["b"]).message(5, untyped("value_floats", 7)),
        node("Constant", &[], &["y"]).message(5, untyped("value_ints", 8)),
    ];
    let source = model(graph(&["x"], nodes, &["y"]));
    round_trip(source.clone());
    let mut module = read(source);
    common::touch_all(&mut module, common::Forget::Encodings);
    let again = read(Message(write(&module)));
    assert_eq!(relais_plugin_api::ir::equal(&module, &again), Ok(()));
}

#[test]
fn a_form_that_does_not_fit_its_constant_is_not_written() {
    let write = |tensor: Tensor, form: ConstForm| {
        let mut module = read(chain());
        let f = main(&mut module);
        let constant = f.add_constant(tensor, form);
        f.set_name(constant, "c");
        let bindings = [&[constant], f.bindings(f.body())].concat();
        f.set_bindings(f.body(), &bindings);
        let mut out = Vec::new();
        onnx::write_to(&module, &mut out).map(|_| read(Message(out)))
    };
    let (one, two) = (Tensor::from_i64(&[], &[1]), Tensor::from_i64(&[2], &[1, 2]));
    let float = Tensor::from_f32(&[], &[1.0]);
    let word = Tensor::from_strings(&[], [b"word".as_slice()]).unwrap();
    assert!(write(one.clone(), ConstForm::VALUE_INT).is_ok());
    assert!(write(two.clone(), ConstForm::VALUE_INTS).is_ok());
    assert!(write(float.clone(), ConstForm::VALUE_FLOAT).is_ok());
    assert!(write(word.clone(), ConstForm::VALUE_STRING).is_ok());
    for (tensor, form) in [
        (&two, ConstForm::VALUE_INT),
        (&one, ConstForm::VALUE_INTS),
        (&float, ConstForm::VALUE_INT),
        (&one, ConstForm::VALUE_FLOAT),
        (&float, ConstForm::VALUE_FLOATS),
        (&float, ConstForm::VALUE_STRING),
        (&word, ConstForm::VALUE_STRINGS),
    ] {
        let error = write(tensor.clone(), form).map(drop).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ConstantForm), "{form:?}: {error}");
        assert!(error.to_string().contains("`c`") && !error.help().is_empty(), "{error}");
    }
}

#[test]
fn a_model_beyond_the_limit_of_protobuf_is_not_written() {
    let write = |n_elements: u64| {
        let mut module = read(chain());
        let f = main(&mut module);
        let splat = Tensor::splat(ElemType::FLOAT, &[n_elements], &1.0f32.to_le_bytes()).unwrap();
        let constant = f.add_constant(splat, ConstForm::INITIALIZER);
        f.set_name(constant, "large");
        let bindings = [&[constant], f.bindings(f.body())].concat();
        f.set_bindings(f.body(), &bindings);
        onnx::write_to(&module, &mut std::io::sink())
    };
    assert!(write(1 << 20).is_ok());
    let error = write(1 << 29).map(drop).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TooLarge(size) if *size > 1 << 31), "{error}");
    assert!(!error.help().is_empty(), "{error}");
}
