//! The facts that passes state about a module beside its calls: types, attributes of functions and of the module (rule C16).

use relais::{
    ir::{Attr, AttrData, IRModule},
    onnx::{self, ReadOptions, meta},
    registry::{Choices, Linked, Registry},
    transform::{Pass, PassLibrary, RunError},
};
use relais_plugin_api::{
    ir::{Dim, ElemType, ModuleAttr, has_function_attribute},
    text::{self, display_type},
};

const MODULE: &str = "\
def @main(%x: Tensor[(2), float32]) -> (%z) #[opset = {\"\": 17, \"my\": 1}] {
  %r: Tensor[(2), float32] = Relu(%x);
  %y: Tensor[(2), float32] = Neg(%r);
  %z = @\"my::scale\"(%y, alpha = 2.0);
  %z
}

def @\"my::scale\"(%x) #[opset = {\"\": 17}, attributes = [\"alpha\"], domain = \"my\", function_name = \"scale\"] {
  %a = Constant(value_float = $alpha: float);
  %y = Mul(%x, %a);
  %y
}
";

fn parse(source: &str) -> IRModule {
    text::parse_str(source).unwrap_or_else(|faults| panic!("{}", faults[0]))
}

/// Runs a pass that changes the module as `change` says; returns its failure, if any.
fn run(module: &IRModule, change: impl Fn(&mut IRModule) + Send + Sync + 'static) -> Result<IRModule, String> {
    let registry = Registry::new(Default::default(), Linked::Include, &Choices::new());
    let library = PassLibrary::new(&registry);
    let pass = Pass::module("my.Changes", 0, move |module, _| {
        let mut new = module.clone();
        change(&mut new);
        Ok(Some(new))
    });
    pass.run(&library, module).map_err(|error| match error {
        RunError::Failed(failure) => failure.to_string(),
        other => panic!("{other:?}"),
    })
}

#[test]
fn c16_module_attributes_are_those_that_a_model_can_have() {
    let module = parse(MODULE);
    let with = |attrs: &[ModuleAttr]| {
        let attrs = attrs.to_vec();
        run(&module, move |module| module.attrs.extend(attrs.iter().cloned()))
    };
    let version = |version| ModuleAttr::int(meta::IR_VERSION, version);
    let raw = [0xa8, 0x06, 0x01];
    for good in [
        vec![version(3)],
        vec![version(13), ModuleAttr::bytes(meta::PRODUCER_NAME, b"me")],
        vec![ModuleAttr::bytes("metadata_props:owner", b"me"), ModuleAttr::bytes("field:101", &raw)],
        vec![ModuleAttr::int("my.counter", -1)],
    ] {
        let bytes = with(&good).map(|module| {
            let mut bytes = Vec::new();
            onnx::write_to(&module, &mut bytes).map(|_| bytes).map_err(|error| error.to_string())
        });
        assert!(matches!(bytes, Ok(Ok(_))), "{good:?}: {bytes:?}");
    }
    for (bad, why) in [
        (vec![version(0)], "0 is not a version of the format: these are 3 to 14"),
        (vec![version(i64::MAX)], "is not a version of the format"),
        (vec![ModuleAttr::bytes(meta::IR_VERSION, b"8")], "it is not a number"),
        (vec![version(8), version(9)], "it is there twice"),
        (vec![ModuleAttr::int(meta::PRODUCER_NAME, 1)], "it is not text"),
        (vec![ModuleAttr::bytes(meta::DOC_STRING, b"\xff")], "it is not UTF-8"),
        (vec![ModuleAttr::bytes("metadata_props:owner", b"\xff")], "it is not UTF-8"),
        (vec![ModuleAttr::bytes("field:102", &raw)], "it is not an encoded field of that number"),
        (vec![ModuleAttr::bytes("field:101", &[raw, raw].concat())], "it is not an encoded field"),
        (vec![ModuleAttr::bytes("field:101", &raw[..2])], "it is not an encoded field"),
        (vec![ModuleAttr::bytes("field:7", b"\x3a\x00")], "it is not an encoded field"),
        (vec![ModuleAttr::bytes("field:x", &raw)], "it is not an encoded field"),
        (vec![ModuleAttr::bytes("field:+101", &raw)], "it is not an encoded field"),
        (vec![ModuleAttr::bytes("field:0101", &raw)], "it is not an encoded field"),
    ] {
        let said = with(&bad).map(drop).expect_err(why);
        assert!(said.starts_with("pass `my.Changes`") && said.contains(why), "{bad:?}: {said}");
        assert!(said.contains("module attribute `"), "{said}");
    }
}

#[test]
fn c16_what_a_model_says_of_itself_already_is_not_held_against_a_pass() {
    let mut module = parse(MODULE);
    module.attrs.push(ModuleAttr::int(meta::IR_VERSION, 99));
    let after = run(&module, |module| module.attrs.push(ModuleAttr::bytes(meta::PRODUCER_NAME, b"me"))).unwrap();
    assert_eq!(after.attr(meta::IR_VERSION).and_then(ModuleAttr::as_int), Some(99));
}

#[test]
fn c16_attributes_of_a_call_are_those_of_the_function() {
    let other = MODULE.replace("alpha = 2.0);", "beta = 2.0);");
    let said = run(&parse(MODULE), move |module| *module = parse(&other)).map(drop).unwrap_err();
    assert!(said.contains("a call of `@my::scale` that is wrong: it has no attribute `beta`"), "{said}");
    // One that the module had is not the pass's.
    let had = MODULE.replace("alpha = 2.0);", "alpha = 2.0, beta = 1);");
    let renamed = had.replace("%r", "%s");
    run(&parse(&had), move |module| *module = parse(&renamed)).unwrap();
}

#[test]
fn c16_a_function_keeps_the_attributes_that_its_calls_refer_to() {
    let declare = |name: &'static [u8]| {
        run(&parse(MODULE), move |module| {
            let f = module.function_mut("my::scale").expect("it is there");
            let declared = Attr::meta(meta::ATTRIBUTES, AttrData::Strings(vec![name.to_vec()]));
            f.set_attrs(f.root(), &[declared]);
        })
    };
    let same = declare(b"alpha").unwrap();
    assert!(has_function_attribute(same.function("my::scale").unwrap(), "alpha"));
    let said = declare(b"beta").map(drop).unwrap_err();
    assert!(said.contains("it refers to the attribute `alpha`, which the function does not have"), "{said}");
}

#[test]
fn c16_calls_are_held_against_the_operator_set_that_a_pass_imports() {
    // From 13 on, the axes of `Squeeze` are an argument.
    let module = parse(
        "def @main(%x: Tensor[(1, 2), float32]) -> (%y) #[opset = {\"\": 12}] { %y = Squeeze(%x, axes = [0]); %y }\n",
    );
    let import = |version: i64| {
        run(&module, move |module| {
            module.function_mut("main").expect("it is there").set_opset_imports(&[("", version)])
        })
    };
    assert!(import(11).is_ok());
    let said = import(13).map(drop).unwrap_err();
    assert!(said.contains("`Squeeze` that is wrong: it has no attribute `axes`"), "{said}");
}

#[test]
fn types_that_a_pass_states_do_not_count_against_those_that_are_inferred() {
    let module = parse(MODULE);
    let type_of = |module: &IRModule, at: usize| {
        let main = module.main().unwrap();
        display_type(main, main.type_id(main.bindings(main.body())[at])).to_string()
    };
    const TWO: &[Dim] = &[Dim::Static(2)];
    const THREE: &[Dim] = &[Dim::Static(3)];
    const SQUARE: &[Dim] = &[Dim::Static(2), Dim::Static(2)];
    // Of a call that it made, and of one that was there and uses it.
    let state = |elem: ElemType, dims: &'static [Dim]| {
        run(&module, move |module| {
            let main = module.function_mut("main").expect("it is there");
            let abs = main.add_op("", "Abs", "", 0);
            let call = main.add_call(abs, &[main.params()[0]]);
            let ty = main.tensor_type(elem, dims);
            main.set_type(call, ty);
            let rest = main.bindings(main.body()).to_vec();
            main.map_operands(rest[1], |id| if id == rest[0] { call } else { id });
            main.set_type(rest[1], ty);
            main.set_bindings(main.body(), &[&[call], &rest[1..]].concat());
        })
        .unwrap()
    };
    for lie in [state(ElemType::INT64, TWO), state(ElemType::FLOAT, THREE), state(ElemType::FLOAT, SQUARE)] {
        assert_eq!([0, 1].map(|at| type_of(&lie, at)), ["Tensor[(2), float32]"; 2]);
    }
    assert_eq!(type_of(&state(ElemType::FLOAT, TWO), 0), "Tensor[(2), float32]");
}

#[test]
fn types_follow_operands_that_are_others() {
    // `Neg` stays what it is, and its operand is of another type.
    let after = run(&parse(MODULE), |module| {
        let main = module.function_mut("main").expect("it is there");
        let concat = main.add_op("", "Concat", "", 0);
        let [relu, neg, call] = main.bindings(main.body()) else { panic!("three calls") };
        let (relu, neg, call) = (*relu, *neg, *call);
        let double = main.add_call(concat, &[relu, relu]);
        main.set_attrs(double, &[Attr::new("axis", 0)]);
        let ty = main.tensor_type(ElemType::FLOAT, &[Dim::Static(4)]);
        main.set_type(double, ty);
        main.map_operands(neg, |id| if id == relu { double } else { id });
        main.set_bindings(main.body(), &[relu, double, neg, call]);
    });
    assert!(text::print(&after.unwrap(), &Default::default()).contains("%y: Tensor[(4), float32] = Neg"));
}

/// Conditionals in one another, as deep as that.
fn nest(depth: usize) -> String {
    let body = (0..depth).fold("Relu(%x)".to_owned(), |inner, _| format!("if (%c) {{ {inner} }} else {{ Neg(%x) }}"));
    let inputs = "%x: Tensor[(2), float32], %c: Tensor[(), bool]";
    format!("def @main({inputs}) -> (%y) #[opset = {{\"\": 17}}] {{ %y = {body}; %y }}\n")
}

#[test]
fn c16_graphs_are_not_nested_deeper_than_protobuf_reads() {
    let write = |module: &IRModule| {
        let mut bytes = Vec::new();
        onnx::write_to(module, &mut bytes).map(|_| bytes).map_err(|error| error.to_string())
    };
    let deepest = write(&parse(&nest(31))).unwrap();
    let said = write(&parse(&nest(32))).unwrap_err();
    assert!(said.contains("a graph that is 32 graphs deep: protobuf reads 31 in one another"), "{said}");
    let read = onnx::read_bytes("deep", deepest.into(), &ReadOptions::default()).unwrap().module;
    write(&read).unwrap();
}
