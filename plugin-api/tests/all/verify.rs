//! The verifier: each kind of fault is found, with its place; and structural equality.

use abi_stable::std_types::RArc;
use relais_plugin_api::{
    ir::*,
    text::{self, PrintOptions},
};

/// A function with a parameter `%x` and the binding `%y = Relu(%x)`, its result.
struct Built {
    f: Function,
    body: BlockId,
    x: NodeId,
    y: NodeId,
    relu: OpId,
}

fn built() -> Built {
    let mut f = Function::new();
    let x = f.add_var("x", TypeId::UNKNOWN);
    f.set_params(f.root(), &[x]);
    let relu = f.add_op("", "Relu", "", 0);
    let y = f.add_call(relu, &[x]);
    f.set_name(y, "y");
    let body = f.body();
    f.append(body, y);
    f.set_results(body, &[y]);
    assert_eq!(verify_function(&f, None), []);
    Built { f, body, x, y, relu }
}

impl Built {
    /// Binds a node at the end.
    fn bind(&mut self, node: NodeId) -> NodeId {
        self.f.append(self.body, node);
        node
    }

    /// A nested function whose result is `result`.
    fn nested(&mut self, params: &[NodeId], result: NodeId) -> NodeId {
        let function = self.f.add_function(params);
        self.f.set_results(self.f.block_of(function), &[result]);
        function
    }
}

#[track_caller]
fn faults(b: &Built, codes: &[FaultCode]) -> Vec<Fault> {
    let faults = verify_function(&b.f, Some(&IRModule::new()));
    let found: Vec<FaultCode> = faults.iter().map(|fault| fault.code).collect();
    assert_eq!(found, codes, "{faults:#?}");
    if codes[0].as_str().starts_with("V1") {
        // A function that can be read can be printed, however broken it is.
        text::print_function("f", &b.f, &PrintOptions::default());
    }
    faults
}

#[test]
fn order_and_visibility() {
    let mut b = built();
    let late = b.f.add_call(b.relu, &[b.x]);
    let early = b.f.add_call(b.relu, &[late]);
    b.bind(early);
    b.bind(late);
    let found = faults(&b, &[FaultCode::Order]);
    assert_eq!(found[0].node, Some(early));
    assert_eq!(
        found[0].to_string(),
        format!(
            "error[V101]: operand `{late}` is bound later, in block0, in block0, at {early}: `{early} = Relu({late})`"
        )
    );

    let mut b = built();
    let own = b.f.add_call(b.relu, &[b.x]);
    b.f.set_operand(own, 1, own);
    b.bind(own);
    faults(&b, &[FaultCode::Order]);

    let mut b = built();
    let (inner, p) = (b.f.add_call(b.relu, &[b.y]), b.f.add_var("p", TypeId::UNKNOWN));
    let function = b.nested(&[p], inner);
    b.f.append(b.f.block_of(function), inner);
    b.bind(function);
    assert_eq!(verify_function(&b.f, None), []);
    let outside = b.f.add_call(b.relu, &[inner, p]);
    b.bind(outside);
    faults(&b, &[FaultCode::Visibility, FaultCode::Visibility]);

    let mut b = built();
    let (free, floating) = (b.f.add_var("free", TypeId::UNKNOWN), b.f.add_call(b.relu, &[b.x]));
    let user = b.f.add_call(b.relu, &[free, floating]);
    b.bind(user);
    faults(&b, &[FaultCode::Unbound, FaultCode::Unbound]);
}

#[test]
fn bindings() {
    let mut b = built();
    b.bind(b.y);
    faults(&b, &[FaultCode::BoundTwice]);

    let mut b = built();
    b.bind(b.x);
    faults(&b, &[FaultCode::NoBinding]);

    let mut b = built();
    let z = b.f.add_call(b.relu, &[b.x]);
    b.f.set_name(z, "y");
    b.bind(z);
    faults(&b, &[FaultCode::DuplicateName]);
    assert!(text::print_function("f", &b.f, &PrintOptions::default()).contains("%5 = Relu(%x) #[as %y];"));
    b.f.set_attrs(z, &[Attr::meta(SHADOWS, 1)]);
    assert_eq!(verify_function(&b.f, None), []);

    let mut b = built();
    let z = b.f.add_call(b.relu, &[NodeId::ABSENT]);
    b.bind(z);
    assert_eq!(verify_function(&b.f, None), []);
    b.f.set_operand(z, 0, NodeId::ABSENT);
    faults(&b, &[FaultCode::Absent]);

    let mut b = built();
    let z = b.f.add_tuple(&[NodeId::ABSENT]);
    b.bind(z);
    b.f.set_result(b.body, NodeId::ABSENT);
    faults(&b, &[FaultCode::Absent, FaultCode::Absent]);

    let mut b = built();
    let ids: Vec<NodeId> = (0..b.f.n_nodes()).map(|at| NodeId((at * 2) as u32)).collect();
    b.f.renumber(&ids, ids.len() * 2);
    assert_eq!(verify_function(&b.f, None), []);
    let z = b.f.add_tuple(&[NodeId(3)]);
    b.bind(z);
    faults(&b, &[FaultCode::Dead]);
}

#[test]
fn functions() {
    let mut b = built();
    let region = b.nested(&[], b.x);
    let callee = b.f.op(b.relu).node;
    for _ in 0..2 {
        let call = b.f.add_call_with(callee, &[], &[region], None);
        b.bind(call);
    }
    faults(&b, &[FaultCode::Region]);

    let mut b = built();
    let region = b.nested(&[], b.x);
    b.bind(region);
    let callee = b.f.op(b.relu).node;
    let call = b.f.add_call_with(callee, &[], &[region, b.x], None);
    b.bind(call);
    faults(&b, &[FaultCode::Region, FaultCode::Region]);

    let mut b = built();
    let inside = b.f.add_call_with(b.y, &[], &[], None);
    let region = b.nested(&[], b.x);
    b.f.append(b.f.block_of(region), inside);
    let call = b.f.add_call_with(b.y, &[], &[region], None);
    b.f.append(b.f.block_of(region), call);
    b.bind(call);
    // A function that contains itself.
    assert!(!verify_function(&b.f, None).is_empty());

    let mut b = built();
    let function = b.nested(&[b.y, b.x], b.x);
    b.bind(function);
    faults(&b, &[FaultCode::Parameter, FaultCode::Parameter]);

    let mut b = built();
    let global = b.f.add_global_var("g");
    let call = b.f.add_call_with(global, &[], &[], None);
    b.bind(call);
    faults(&b, &[FaultCode::UnknownGlobal]);
    let mut module = IRModule::new();
    module.set_function("g", RArc::new(b.f));
    assert_eq!(verify(&module), []);

    let mut b = built();
    b.f.set_attrs(b.y, &[Attr::new("body", AttrData::Graph(0))]);
    faults(&b, &[FaultCode::GraphAttr]);
}

#[test]
fn results() {
    let mut b = built();
    b.f.set_results(b.body, &[b.x, b.y]);
    assert_eq!(verify_function(&b.f, None), []);
    let tuple = b.f.result(b.body);
    let user = b.f.add_call(b.relu, &[tuple]);
    b.bind(user);
    faults(&b, &[FaultCode::ResultTuple]);
    b.bind(tuple);
    faults(&b, &[FaultCode::ResultTuple, FaultCode::ResultTuple]);

    let mut b = built();
    let [one, two] = [b.nested(&[], b.x), b.nested(&[b.x], b.x)];
    b.f.set_results(b.f.block_of(one), &[b.x, b.y]);
    let branch = b.f.add_if(b.x, one, two, None);
    b.bind(branch);
    faults(&b, &[FaultCode::Branches, FaultCode::Branches, FaultCode::Parameter]);

    let mut b = built();
    let bad = b.f.add_raw(kind::IF, 0, 0, &[b.x], Some(0));
    b.bind(bad);
    faults(&b, &[FaultCode::Operands]);

    let mut b = built();
    let tuple = b.f.add_tuple(&[b.x, b.y]);
    let item = b.f.add_tuple_get_item(tuple, 2);
    b.bind(tuple);
    b.bind(item);
    faults(&b, &[FaultCode::Projection]);

    let mut b = built();
    let ty = b.f.tensor_type(ElemType::FLOAT, &[]);
    b.f.set_type(b.y, ty);
    let item = b.f.add_tuple_get_item(b.y, 0);
    b.bind(item);
    faults(&b, &[FaultCode::Projection]);
}

#[test]
fn types() {
    let mut b = built();
    let constant = b.f.add_constant(Tensor::from_f32(&[2], &[1.0, 2.0]), ConstForm::ANY);
    b.bind(constant);
    assert_eq!(verify_function(&b.f, None), []);
    let ty = b.f.tensor_type(ElemType::FLOAT, &[Dim::Static(3)]);
    b.f.set_type(constant, ty);
    faults(&b, &[FaultCode::TypeMismatch]);

    let mut b = built();
    let float = b.f.tensor_type(ElemType::FLOAT, &[Dim::Unknown]);
    let int = b.f.tensor_type(ElemType::INT64, &[Dim::Static(3)]);
    b.f.set_type(b.x, float);
    let tuple = b.f.add_tuple(&[b.x, b.y]);
    let item = b.f.add_tuple_get_item(tuple, 1);
    let right = b.f.add_type(Type::Tuple(&[float, int]));
    b.f.set_type(tuple, right);
    b.f.set_type(item, int);
    b.bind(tuple);
    b.bind(item);
    assert_eq!(verify_function(&b.f, None), []);
    let wrong = b.f.add_type(Type::Tuple(&[int, float]));
    b.f.set_type(tuple, wrong);
    faults(&b, &[FaultCode::TypeMismatch, FaultCode::TypeMismatch]);

    let mut b = built();
    let ty = b.f.add_type(Type::Func { params: &[], result: TypeId::UNKNOWN });
    b.f.set_type(b.f.root(), ty);
    faults(&b, &[FaultCode::TypeMismatch]);
}

#[test]
fn the_arena() {
    let change = |change: fn(&mut Built), code: FaultCode| {
        let mut b = built();
        change(&mut b);
        let found = verify_function(&b.f, None);
        assert!(found.iter().any(|fault| fault.code == code), "{code:?} in {found:#?}");
    };
    change(|b| b.f.set_operand(b.y, 1, NodeId(999)), FaultCode::NodeRange);
    change(|b| _ = b.f.add_raw(kind::IF, 0, 0, &[b.x], None), FaultCode::ExtraWord);
    change(|b| _ = b.f.add_raw(kind::CALL, 0, 0, &[b.x], Some(2)), FaultCode::ExtraWord);
    change(|b| _ = b.f.add_raw(kind::FUNCTION, 0, 0, &[b.x], Some(9)), FaultCode::ExtraWord);
    change(|b| b.f.set_result(b.body, NodeId(999)), FaultCode::BlockRange);
    change(|b| b.f.append(b.body, NodeId(999)), FaultCode::BlockRange);
    change(|b| _ = b.f.add_type(Type::Sequence(TypeId(99))), FaultCode::TypeRange);
    change(|b| _ = b.f.add_type(Type::Tuple(&[TypeId(1)])), FaultCode::TypeRange);
    change(|b| _ = b.f.tensor_type(ElemType::FLOAT, &[Dim::Symbol(StrId(999))]), FaultCode::TypeRange);
    change(|b| b.f.set_type(b.y, TypeId(99)), FaultCode::SideTable);
    change(|b| b.f.set_name_id(b.y, StrId(9999)), FaultCode::SideTable);
    change(|b| _ = b.f.table_mut("mine", 0, 0), FaultCode::SideTable);
    let rec = |kind, a, b| AttrRec { name: StrId::EMPTY, kind, flags: 0, aux: 0, a, b };
    for bad in [rec(3, 999, 0), rec(4, 9, 0), rec(7, 0, 9), rec(8, 9, 1), rec(13, 9, 0), rec(32, 0, 256)] {
        let mut b = built();
        b.f.set_attr_recs(b.y, &[bad]);
        let found = verify_function(&b.f, None);
        assert!(found.iter().all(|fault| fault.code == FaultCode::AttrRange) && found.len() == 1, "{found:#?}");
    }
    let mut b = built();
    let name = b.f.add_string(b"\xff");
    b.f.set_name_id(b.y, name);
    faults(&b, &[FaultCode::Utf8]);
}

#[test]
fn equality_finds_differences() {
    let parse = |text: &str| text::parse_str(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
    let base = "#[a = 1] def @f(%x: ?) { %y = Relu(%x, axis = 1, f = [1.0]) #[doc = \"d\", name = \"n\"]; %c = const(float32, [1.0]); %t = (%y, %c); %u = %t[0]; (%y, %c) } prim @p(%i: ?) { %s = tir::f(%i, leaf(200, 1, 0, 2, 3)); %o = opaque(2, int8, (4), hex\"01\"); (%s, %o) }";
    for (from, to) in [
        ("a = 1", "a = 2"),
        ("prim @p", "prim @q"),
        ("hex\"01\"", "hex\"02\""),
        ("opaque(2,", "opaque(3,"),
        ("leaf(200, 1, 0, 2, 3)", "leaf(200, 1, 0, 2, 4)"),
        ("prim @p", "def @p"),
        (
            " prim @p(%i: ?) { %s = tir::f(%i, leaf(200, 1, 0, 2, 3)); %o = opaque(2, int8, (4), hex\"01\"); (%s, %o) }",
            "",
        ),
        ("%x: ?", "%x: Tensor[*]"),
        ("%x: ?", "%x: ?, %z"),
        ("%x: ?", "%x = const(bool, true)"),
        ("%y", "%yy"),
        ("Relu", "Relu@3"),
        ("axis = 1", "axis = 2"),
        ("axis = 1, f = [1.0]", "f = [1.0], axis = 1"),
        ("[1.0])", "[-1.0])"),
        ("doc = \"d\"", "doc = \"e\""),
        ("#[doc = \"d\", ", "#["),
        ("const(float32, [1.0])", "const(float32, [1.0]) #[form = value]"),
        ("const(float32, [1.0])", "const(float32, [2.0])"),
        ("const(float32, [1.0])", "const(float32, [1.0]) #[listed_input]"),
        ("%c = ", "let %c = "),
        ("%c = ", "%c: ? = "),
        ("%t[0]", "%t[1]"),
        ("%t[0]", "%x[0]"),
        ("%t = (%y, %c);", "%t = (%y, %c); %v = Relu(%x);"),
        ("(%y, %c) }", "(%c, %y) }"),
        ("(%y, %c) }", "%t }"),
        ("(%y, %c) }", "(%y, %c): Tuple[] }"),
    ] {
        let (left, right) = (parse(base), parse(&base.replace(from, to)));
        let difference = equal(&left, &right).expect_err(from);
        assert!(!difference.to_string().is_empty() && equal(&right, &left).is_err() && equal(&right, &right).is_ok());
    }
    let reordered =
        base.replace("doc = \"d\", name = \"n\"", "name = \"n\", doc = \"d\"").replace("%u", "%u /* dead */");
    assert_eq!(equal(&parse(base), &parse(&reordered)), Ok(()));
}
