//! Written models load (rule C10): what ONNX requires beyond a module's contents is added, or the module is refused.

use crate::common::proto::{graph, message, node};
use relais_onnx::{self as onnx, ErrorKind, OnnxError, ReadOptions, meta};
use relais_plugin_api::ir::{Attr, AttrValue, Editor, ElemType, Function, IRModule, MAIN, ModuleAttr};
use relais_plugin_api::text;

fn parse(source: &str) -> IRModule {
    text::parse_str(source).unwrap_or_else(|faults| panic!("{}", faults[0]))
}

fn write(module: &IRModule) -> Result<Vec<u8>, OnnxError> {
    let mut bytes = Vec::new();
    onnx::write_to(module, &mut bytes).map(|_| bytes)
}

/// The module as it comes back.
fn written(module: &IRModule) -> IRModule {
    let bytes = write(module).unwrap_or_else(|error| panic!("{error}"));
    onnx::read_bytes("written", bytes.into(), &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}")).module
}

fn imports(f: &Function) -> Vec<(&str, i64)> {
    f.opset_imports()
}

const CALLS: &str = "def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 17}] {\n  %y = @double(%x);\n  %y\n}\n\
                     def @double(%x) {\n  %y = Add(%x, %x);\n  %y\n}\n";

#[test]
fn c10_a_function_that_a_pass_added_has_a_domain_that_is_imported() {
    let module = written(&parse(CALLS));
    assert_eq!(imports(module.main().unwrap()), [("", 17), ("local", 1)]);
    assert_eq!(imports(module.function("local::double").unwrap()), [("", 17)]);
    // A domain of operators is not taken for it, and the model imports it as the function does.
    let module = written(&parse(&CALLS.replace("Add(%x, %x)", "local::Add(%x, %x)")));
    assert_eq!(imports(module.main().unwrap()), [("", 17), ("local", 1), ("local_1", 1)]);
    assert_eq!(imports(module.function("local_1::double").unwrap()), [("local", 1)]);
}

#[test]
fn c10_a_model_with_functions_is_of_a_version_that_has_them() {
    let version = |stated: i64| {
        let mut module = parse(CALLS);
        module.attrs.push(ModuleAttr::int(meta::IR_VERSION, stated));
        written(&module).attr(meta::IR_VERSION).and_then(ModuleAttr::as_int)
    };
    assert_eq!((version(7), version(8), version(9)), (Some(8), Some(8), Some(9)));
}

#[test]
fn c10_every_domain_that_is_called_is_imported() {
    let source = |opset: &str| {
        format!("def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {opset}] {{ %y = acme::Fused(%x); %y }}\n")
    };
    let main = |opset: &str| written(&parse(&source(opset))).main().unwrap().clone();
    assert_eq!(imports(&main("{\"\": 17}")), [("", 17), ("acme", 1)]);
    assert_eq!(imports(&main("{\"\": 17, \"acme\": 3}")), [("", 17), ("acme", 3)]);
    // The version of ONNX's own operators is unspecified.
    let error = write(&parse(&source("{\"acme\": 3}").replace("acme::Fused", "Relu"))).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoOpset), "{error}");
}

#[test]
fn c10_what_the_writer_adds_is_imported_too() {
    // The name of the output needs an `Identity`.
    let same = CALLS.replace("%y = Add(%x, %x);\n  %y", "%x");
    let module = written(&parse(&same));
    assert_eq!(imports(module.function("local::double").unwrap()), [("", 17)]);
    let error = write(&parse("def @main(%x) -> (%y) #[opset = {\"acme\": 3}] { %x }\n")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoOpset), "{error}");
}

#[test]
fn c16_a_sequence_has_a_second_name_only_where_an_operator_carries_it_over() {
    let source = |ty: &str, version: u32| {
        format!("def @main(%x: {ty}[Tensor[(2), float32]]) -> (%y) #[opset = {{\"\": {version}}}] {{ %x }}\n")
    };
    for (ty, since) in [("Seq", 14), ("Optional", 16)] {
        assert!(write(&parse(&source(ty, since))).is_ok(), "{ty}");
        let error = write(&parse(&source(ty, since - 1))).unwrap_err().to_string();
        assert!(error.contains(&format!("as two outputs before version {since} of the operators")), "{error}");
    }
    assert!(write(&parse("def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 1}] { %x }\n")).is_ok());
}

#[test]
fn c10_versions_that_cannot_be_are_refused() {
    for version in ["0", "-1", "2147483648"] {
        let error = write(&parse(&CALLS.replace("17", version))).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OpsetVersion { .. }), "{error}");
    }
}

#[test]
fn c10_what_nothing_could_load_is_refused() {
    let cases = [("\"\"(%x, %x)", "an operator without a name"), ("Split(%x) -> 2", "a tuple as an output")];
    for (call, what) in cases {
        let error = write(&parse(&CALLS.replace("Add(%x, %x)", call))).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotExpressible(found) if *found == what), "{error}");
    }
}

#[test]
fn c10_functions_of_old_operator_sets_hold_constants_of_floats_only() {
    let function = |version: u32, constant: &str| {
        let body = format!("%c = const({constant}); %y = acme::Use(%x, %c); %y");
        let callee = format!("def @\"local::f\"(%x) -> (%y) #[opset = {{\"\": {version}, \"acme\": 1}}] {{ {body} }}");
        let main = format!("def @main(%x) -> (%y) #[opset = {{\"\": {version}}}] {{ %y = @\"local::f\"(%x); %y }}");
        write(&parse(&format!("{main}\n{callee}\n")))
    };
    assert!(function(9, "int64, [1]").is_ok() && function(8, "float32, [1.0]").is_ok());
    let error = function(8, "int64, [1]").unwrap_err();
    assert!(error.to_string().contains("a constant of this type in a function in this version"), "{error}");
}

#[test]
fn c10_a_type_is_stated_whole_or_not_at_all() {
    let output = |ty: &str| {
        let body = format!("%y{ty} = acme::Fused(%x); %y");
        let source = format!("def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {{\"\": 17}}] {{ {body} }}\n");
        write(&parse(&source)).unwrap()
    };
    for part in [": Tensor[(2), ?]", ": Seq[Tensor[(2), ?]]", ": Optional[?]", ": Map[int64, ?]"] {
        assert_eq!(output(part), output(""), "{part}");
    }
    for whole in [": Tensor[*, float32]", ": Seq[Tensor[(2), int64]]"] {
        assert_ne!(output(whole), output(""), "{whole}");
    }
}

#[test]
fn c10_what_never_was_a_model_gets_a_version_and_a_name() {
    let module = written(&parse("def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 17}] { %x }\n"));
    assert_eq!(module.attr(meta::IR_VERSION).and_then(ModuleAttr::as_int), Some(10));
    let main = module.main().unwrap();
    assert!(matches!(main.attrs(main.root()).meta(meta::GRAPH_NAME), Some(AttrValue::String(b"graph"))));
    // The output has the type that is known of its value.
    assert!(main.attrs(main.root()).meta(meta::OUTPUT_TYPES).is_some());
}

#[test]
fn c10_an_output_whose_type_is_not_known_has_the_one_that_its_function_states() {
    let outputs = |stated: &str| {
        let body = "%y = acme::Fused(%x); %z: Tensor[(3), int64] = acme::Fused(%x); (%y, %z)";
        let module = written(&parse(&format!(
            "def @main(%x: Tensor[(2), float32]) -> {stated} #[opset = {{\"\": 17}}] {{ {body} }}\n"
        )));
        let main = module.main().unwrap();
        let Some(AttrValue::Types(types)) = main.attrs(main.root()).meta(meta::OUTPUT_TYPES) else {
            panic!("{stated}")
        };
        types.types().map(|ty| main.ty(ty).elem()).collect::<Vec<_>>()
    };
    let (float, int) = (Some(ElemType::FLOAT), Some(ElemType::INT64));
    assert_eq!(outputs("(%y, %z)"), [None, int]);
    assert_eq!(outputs("(%y: Tensor[(2), float32], %z: Tensor[(3), int64])"), [float, int]);
    // The type of the value itself comes first; a type without an element type cannot be written.
    assert_eq!(outputs("(%y: Tensor[(2), ?], %z: Tensor[*, float32])"), [None, int]);
}

#[test]
fn c10_what_was_read_is_written_as_it_was() {
    // A domain that is not imported, and no name.
    let call = node("Fused", &["x"], &["y"]).bytes(7, "acme");
    let opset = message().bytes(1, "").int(2, 17);
    let bytes = message().message(7, graph(&["x"], vec![call], &["y"])).message(8, opset).0;
    let module = onnx::read_bytes("odd", bytes.clone().into(), &ReadOptions::default()).unwrap().module;
    assert_eq!(write(&module).unwrap(), bytes);
}

#[test]
fn c10_two_functions_of_one_name_are_refused() {
    let mut module = parse(CALLS);
    let double = module.function("double").unwrap().clone();
    module.set_function("local::double", double);
    let error = write(&module).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DuplicateFunction(_)), "{error}");
    assert!(module.function(MAIN).is_some());
}

#[test]
fn a_value_of_an_inner_graph_does_not_hide_an_outer_one_that_is_used_there() {
    let source = |outputs: &str| {
        format!(
            "def @main(%x: Tensor[(2), int64], %c: Tensor[(), bool]) -> (%y) #[opset = {{\"\": 17}}] {{\n\
             %y = if (%c){outputs} {{\n%1 = Neg(%x) #[as %x, shadows = 1];\n%2 = Add(%1, %x);\n(%1, %2)\n}} \
             else {{\n(%x, %x)\n}} -> 2;\n%z = %y[0];\n%z\n}}\n"
        )
    };
    let module = written(&parse(&source("")));
    assert!(!text::print(&module, &Default::default()).contains("shadows"));
    // The name of an output must stay.
    let error = write(&parse(&source(" -> (%x, %o)"))).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DuplicateName(name) if name == "x"), "{error}");
}

#[test]
fn a_name_that_is_made_is_made_once() {
    // The second `acme::A` would have the name that the first `acme::A_1` has.
    let source = "def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 17, acme: 1}] {
        %1 = acme::A(%x);
        %2 = acme::A_1(%1);
        %3 = acme::A(%2);
        %4 = acme::A_1(%3);
        Add(%4, %2)
    }";
    let module = written(&parse(source));
    let f = module.main().unwrap();
    let names: Vec<_> = f.all_bindings().map(|id| f.name(id)).filter(|name| !name.is_empty()).collect();
    assert_eq!(names.len(), names.iter().collect::<std::collections::BTreeSet<_>>().len(), "{names:?}");
    assert!(names.contains(&"y/A") && names.contains(&"y/A_1") && names.contains(&"y/A_1_1"), "{names:?}");
}

#[test]
fn a_value_without_a_name_is_named_after_the_first_one_that_needs_it() {
    let source = "def @main(%x: Tensor[(2), float32], %c: Tensor[(), bool]) -> (%y, %z) #[opset = {\"\": 17}] {
        %1 = Neg(%x);
        %2 = Abs(%1);
        %b = Mul(%2, [3.0, 4.0]);
        %4 = if (%c) { %5 = Relu(%b); %d = Sign(%5); %d } else { %x };
        %7 = Neg(%4);
        %8 = Add(%7, %1);
        %9 = Split(%8) -> 2;
        %10 = %9[0];
        %f = %9[1];
        %12 = Concat(%10, %f, axis = 0);
        (%12, %b)
    }";
    let names = |source: &str| {
        let module = written(&parse(source));
        let f = module.main().unwrap();
        let names = f.all_bindings().filter(|&id| f.kind(id) != relais_plugin_api::ir::kind::FUNCTION);
        names.map(|id| f.name(id).to_owned()).filter(|name| !name.is_empty()).collect::<Vec<_>>()
    };
    let found = names(source);
    let expected = ["z/const", "z/Neg", "z/Abs", "z", "d/Relu", "d", "y/If", "y/Neg", "y/Add"];
    for name in expected.iter().chain(&["y/Split", "f", "y"]) {
        assert!(found.contains(&(*name).to_owned()), "{name}: {found:?}");
    }
    // In the same way each time, and never twice.
    assert_eq!(found, names(source));
    let taken = names(&source.replace("%d = Sign(%5)", "%\"z/Neg\" = Sign(%5)").replace("%d }", "%\"z/Neg\" }"));
    assert!(taken.contains(&"z/Neg_1".to_owned()), "{taken:?}");
}

#[test]
fn c10_no_two_nodes_of_a_graph_have_one_name() {
    let source = "def @main(%x: Tensor[(2), float32], %c: Tensor[(), bool]) -> (%y) #[opset = {\"\": 17}] {
        %a = Neg(%x) #[name = \"n\"];
        %b = Abs(%a) #[name = \"n\"];
        %d = Relu(%b) #[name = \"n_1\"];
        %e = Exp(%d) #[name = \"n\"];
        %f = Log(%e) #[name = \"\"];
        %g = Sin(%f) #[name = \"\"];
        %y = if (%c) { Neg(%g) #[name = \"n\"] } else { Cos(%g) #[name = \"n\"] } #[name = \"if\"];
        %y
    }";
    let names = |module: &IRModule| -> Vec<String> {
        let f = module.main().unwrap();
        let name = |id| match f.attrs(id).meta(meta::NAME) {
            Some(AttrValue::String(name)) => Some(String::from_utf8_lossy(name).into_owned()),
            _ => None,
        };
        f.all_bindings().filter_map(name).collect()
    };
    let module = written(&parse(source));
    assert_eq!(names(&module), ["n", "n_2", "n_1", "n_3", "", "", "if", "n", "n"]);
    // A node that is as it was read keeps its name, wherever it is.
    let mut read = module.clone();
    let f = read.main().unwrap();
    let first = f.all_bindings().find(|&id| f.call(id).is_some_and(|call| call.is_op("Neg"))).unwrap();
    let mut editor = Editor::new(read.main().unwrap().clone());
    editor.function_mut().set_attrs(first, &[Attr::meta(meta::NAME, "n_3")]);
    read.set_function(MAIN, editor.into_function());
    assert_eq!(names(&written(&read)), ["n_3_1", "n_2", "n_1", "n_3", "", "", "if", "n", "n"]);
    // As it was read, even if it was wrong.
    let mut bytes = write(&module).unwrap();
    let at = bytes.windows(3).position(|name| name == b"n_2").unwrap();
    bytes[at + 2] = b'1';
    let wrong = onnx::read_bytes("wrong", bytes.clone().into(), &ReadOptions::default()).unwrap().module;
    assert_eq!(write(&wrong).unwrap(), bytes);
}
