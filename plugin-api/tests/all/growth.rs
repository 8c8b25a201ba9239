//! Items unknown to this version are carried along: the rules by which the IR may grow, each tested from an older
//! version.
//!
//! Numbers without a meaning represent those of a later version.

use relais_plugin_api::{
    ir::*,
    op::Effects,
    text::{self, PrintOptions, SideFile},
};

/// A kind of node, attribute and type of a later version.
const LATER: u8 = 122;
/// A kind of leaf of a later version.
const LEAF: u8 = 222;

/// `%a = Relu(%x); %k = later(%a, fn { Neg(%x) }); %b = Relu(%k)`, with two results.
fn function() -> (Function, NodeId) {
    let mut f = Function::new();
    f.set_opset_imports(&[("", 17)]);
    let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2)]);
    let x = f.add_var("x", ty);
    f.set_params(f.root(), &[x]);
    let call = |f: &mut Function, name: &str, arg: NodeId, block: BlockId| {
        let op = f.add_op("", name, "", 0);
        let call = f.add_call(op, &[arg]);
        f.append(block, call);
        call
    };
    let body = f.body();
    let a = call(&mut f, "Relu", x, body);
    let region = f.add_function(&[]);
    let block = f.block_of(region);
    let inner = call(&mut f, "Neg", x, block);
    f.set_results(block, &[inner]);
    let later = f.add_raw(LATER, flag::LET | 0x40, 77, &[a, region], Some(1));
    f.append(body, later);
    let name = f.intern("later");
    f.set_attr_recs(later, &[AttrRec { name, kind: LATER, flags: 0, aux: 3, a: 4, b: 5 }]);
    let ty = f.add_type(Type::Other(LATER));
    f.set_type(later, ty);
    let b = call(&mut f, "Relu", later, body);
    f.set_results(body, &[b, later]);
    assert_eq!(verify_function(&f, None), []);
    (f, later)
}

fn calls(f: &Function, name: &str) -> usize {
    f.all_bindings().filter(|&id| f.call(id).is_some_and(|call| call.is_op(name))).count()
}

#[test]
fn a_later_kind_of_node_is_visited_with_all_below_it() {
    #[derive(Default)]
    struct Seen(Vec<String>);
    impl ExprVisitor for Seen {
        fn visit_call(&mut self, _: &Function, call: CallView<'_>) -> Children {
            self.0.push(call.op_name().to_owned());
            Children::All
        }
    }
    let (f, later) = function();
    assert!(matches!(f.expr(later), Expr::Unknown(LATER)));
    let mut seen = Seen::default();
    seen.visit(&f, f.root());
    assert_eq!(seen.0, ["Relu", "Neg", "Relu"]);
    assert_eq!(f.use_counts()[later.index()], 2);
}

#[test]
fn a_later_kind_of_node_keeps_what_it_is_while_its_operands_are_rewritten() {
    struct ToNeg;
    impl ExprMutator for ToNeg {
        fn mutate_call(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Action {
            let Some(call) = cx.function().call(id).filter(|call| call.is_op("Relu")) else { return Action::Keep };
            let arg = call.args()[0];
            let neg = cx.function_mut().add_op("", "Neg", "", 0);
            let call = cx.function_mut().add_call(neg, &[arg]);
            cx.insert(call);
            Action::Replace(call)
        }
    }
    let (f, later) = function();
    let mut editor = Editor::new(f.clone().into());
    ToNeg.run(&mut editor);
    let g = editor.into_function();
    assert_eq!((calls(&g, "Relu"), calls(&g, "Neg")), (0, 3));
    let (old, new) = (f.node(later), g.node(later));
    assert_eq!((old.kind, old.flags, old.aux), (new.kind, new.flags, new.aux));
    assert_eq!(f.attr_recs(later), g.attr_recs(later));
    assert_eq!(g.type_of(later), Type::Other(LATER));
    assert_ne!(f.operands(later)[0], g.operands(later)[0], "it uses what took the place of its operand");
    assert_eq!(f.operands(later)[1], g.operands(later)[1]);
    assert_eq!(verify_function(&g, None), []);
}

#[test]
fn a_later_kind_survives_compaction_text_and_comparison() {
    let (mut f, later) = function();
    for _ in 0..100 {
        f.add_raw(LATER, 0, 0, &[later], None);
    }
    let g = f.compacted();
    assert!(g.n_nodes() < f.n_nodes());
    let kept = g.all_bindings().find(|&id| g.kind(id) == LATER).expect("it is still there");
    assert_eq!((g.node(kept).aux, g.node(kept).flags), (77, f.node(later).flags));
    let [attr] = g.attr_recs(kept) else { panic!("one attribute") };
    assert_eq!((attr.kind, attr.a, attr.b), (LATER, 4, 5));
    assert!(matches!(g.attrs(kept).get("later"), Some(AttrValue::Other(LATER))));
    assert_eq!(g.type_of(kept), Type::Other(LATER));
    assert_eq!(verify_function(&g, None), []);
    equal_functions(&f, &g).unwrap();
    let mut module = IRModule::new();
    module.set_function(MAIN, g);
    let printed = text::print(&module, &PrintOptions::default());
    let again =
        text::parse("m", &printed, &SideFile::default()).unwrap_or_else(|errors| panic!("{errors:?}\n{printed}"));
    equal(&module, &again).unwrap();
}

#[test]
fn later_side_tables_follow_their_nodes_by_policy() {
    let (mut f, later) = function();
    const LATER_POLICY: u8 = 9;
    let policies = [table_policy::VALUE, table_policy::PROVENANCE, table_policy::DERIVED, LATER_POLICY]
        .map(|p| (format!("t{p}"), p));
    for (key, policy) in &policies {
        f.table_mut(key, 3, *policy).get_mut(later).copy_from_slice(&[1, 2, *policy]);
    }
    let said =
        |f: &Function, id: NodeId| policies.clone().map(|(key, _)| f.table(&key).unwrap().get(id).unwrap()[0] != 0);
    assert_eq!(said(&f.clone(), later), [true; 4]);
    let g = f.compacted();
    let kept = g.all_bindings().find(|&id| g.kind(id) == LATER).unwrap();
    assert_ne!(kept, later, "it moved");
    assert_eq!(said(&g, kept), [true; 4]);
    assert_eq!(g.table("t0").unwrap().get(kept), Some(&[1, 2, 0][..]));
    // An edit clears where it came from and computed data; an unknown policy changes nothing.
    f.touch(later);
    assert_eq!(said(&f, later), [true, false, true, true]);
    f.forget_derived(later);
    assert_eq!(said(&f, later), [true, false, false, true]);
    let new = f.add_raw(LATER, 0, 0, &[], None);
    policies.iter().for_each(|(key, _)| _ = f.table_mut(key, 3, 0).get_mut(new));
    f.inherit_value(new, later);
    assert_eq!(said(&f, new), [true, false, false, false]);
}

#[test]
fn a_function_with_a_later_kind_is_not_inlined() {
    let (callee, _) = function();
    let mut main = Function::new();
    main.set_opset_imports(&[("", 17)]);
    let x = main.add_var("x", TypeId::UNKNOWN);
    main.set_params(main.root(), &[x]);
    let global = main.add_global_var("helper");
    let call = main.add_call_with(global, &[x], &[], None);
    main.append(main.body(), call);
    main.set_results(main.body(), &[call]);
    let mut module = IRModule::new();
    module.set_function("helper", callee);
    module.set_function(MAIN, main);
    let inlined = inline_functions(&mut module).unwrap();
    assert_eq!(inlined.n_calls, 0);
    assert_eq!(inlined.declined[0].2, Declined::Binding);
}

#[test]
fn a_later_effect_is_every_effect() {
    let later = Effects(1 << 20);
    assert!(!later.is_mergeable() && !later.is_removable());
    for known in [Effects::STATEFUL, Effects::RANDOM, Effects::TRAPS, Effects::OPAQUE] {
        assert!(later.contains(known));
        assert!(!Effects::PURE.contains(known) && known.contains(known));
    }
    assert!(Effects::PURE.is_mergeable() && Effects::TRAPS.is_removable() && !Effects::RANDOM.is_mergeable());
}

#[test]
fn later_kinds_of_types_elements_and_globals_are_nothing_that_is_known() {
    let (mut f, later) = function();
    assert_eq!(f.type_of(later).as_tensor(), None);
    let ty = f.tensor_type(ElemType(99), &[Dim::Static(2)]);
    assert_eq!(f.ty(ty).elem(), Some(ElemType(99)));
    assert_eq!((ElemType(99).bits(), ElemType(99).bytes_for(8), ElemType(99).is_float()), (0, None, false));
    assert_eq!(ElemType(99).to_string(), "elem99");
}

/// `%a = Relu(%x, leaf)`, the leaf also being a result.
fn with_leaf() -> (Function, NodeId) {
    let mut f = Function::new();
    f.set_opset_imports(&[("", 17)]);
    let x = f.add_var("x", TypeId::UNKNOWN);
    f.set_params(f.root(), &[x]);
    let leaf = f.add_leaf(LEAF, 0x80, 3, u32::MAX, 5);
    let op = f.add_op("", "Relu", "", 0);
    let call = f.add_call(op, &[x, leaf]);
    f.append(f.body(), call);
    f.set_results(f.body(), &[call, leaf]);
    assert_eq!(verify_function(&f, None), []);
    (f, leaf)
}

#[test]
fn a_later_leaf_keeps_its_numbers_wherever_its_function_goes() {
    let (f, leaf) = with_leaf();
    assert!(matches!(f.expr(leaf), Expr::Unknown(LEAF)) && f.operands(leaf).is_empty());
    let g = f.compacted();
    let call = g.all_bindings().find_map(|id| g.call(id)).unwrap();
    let moved = *g.node(call.args()[1]);
    let numbers = |rec: NodeRec| (rec.kind, rec.flags, rec.aux, rec.a, rec.b);
    assert_eq!(numbers(moved), (LEAF, 0x80, 3, u32::MAX, 5));
    assert!(equal_functions(&f, &g).is_ok());
    let text = text::print_function("f", &f, &PrintOptions::default());
    assert!(text.contains("leaf(222, 3, 128, 4294967295, 5)"), "{text}");
    let parsed = text::parse_str(&text).unwrap();
    assert!(equal_functions(&f, parsed.function("f").unwrap()).is_ok(), "{text}");
    let other = text::parse_str(&text.replace("4294967295", "4294967294")).unwrap();
    assert!(equal_functions(&f, other.function("f").unwrap()).is_err());
}

#[test]
fn a_later_leaf_is_bound_in_no_block_and_its_function_is_not_inlined() {
    let (mut callee, leaf) = with_leaf();
    let mut main = Function::new();
    main.set_opset_imports(&[("", 17)]);
    let x = main.add_var("x", TypeId::UNKNOWN);
    main.set_params(main.root(), &[x]);
    let global = main.add_global_var("helper");
    let call = main.add_call_with(global, &[x], &[], Some(2));
    main.append(main.body(), call);
    main.set_results(main.body(), &[call]);
    let mut module = IRModule::new();
    module.set_function("helper", callee.clone());
    module.set_function(MAIN, main);
    assert_eq!(inline_functions(&mut module).unwrap().n_calls, 0);
    callee.append(callee.body(), leaf);
    let codes: Vec<FaultCode> = verify_function(&callee, None).iter().map(|fault| fault.code).collect();
    assert_eq!(codes, [FaultCode::NoBinding]);
}

#[test]
fn later_side_lists_go_along_by_policy() {
    let (mut f, later) = function();
    let element = |id: NodeId| [&id.0.to_le_bytes()[..], &[7; 4]].concat();
    let dead = f.add_var("dead", TypeId::UNKNOWN);
    for policy in [list_policy::KEPT, list_policy::NODES, list_policy::DERIVED, 77] {
        let list = f.list_mut(&format!("l{policy}"), 8, policy);
        assert_eq!([later, dead].map(|id| list.push(&element(id))), [0, 1]);
    }
    assert_eq!(verify_function(&f, None), []);
    let of = |f: &Function, policy: u8| f.list(&format!("l{policy}")).unwrap().clone();
    assert_eq!(f.clone().lists(), f.lists());
    let g = f.compacted();
    let moved = g.all_bindings().find(|&id| g.kind(id) == LATER).unwrap();
    assert_eq!(of(&g, list_policy::KEPT), of(&f, list_policy::KEPT));
    let nodes = of(&g, list_policy::NODES);
    assert_eq!([nodes.get(0), nodes.get(1)], [Some(&*element(moved)), Some(&*element(NodeId::ABSENT))]);
    assert!(of(&g, list_policy::DERIVED).is_empty() && of(&g, 77).is_empty());
    // An edit makes computed data stale.
    f.forget_derived(later);
    let lens = [list_policy::KEPT, list_policy::NODES, list_policy::DERIVED, 77].map(|policy| of(&f, policy).len());
    assert_eq!(lens, [2, 2, 0, 2]);
    f.list_mut("l1", 8, list_policy::NODES).bytes.pop();
    assert!(!verify_arena(&f).is_empty());
    let mut module = IRModule::new();
    module.lists.push(SideList::new("of the module", 4, list_policy::KEPT));
    assert_eq!(module.clone().lists, module.lists);
}

#[test]
fn a_tensor_in_a_later_form_is_carried_and_is_no_constant() {
    let tensor = |form, bytes: &[u8]| Tensor::opaque(form, ElemType::FLOAT, &[1 << 40, 2], bytes.to_vec());
    assert!(tensor(9, b"ab").as_dense().is_none() && tensor(9, b"ab").as_splat().is_none());
    assert_eq!(tensor(9, b"ab"), tensor(9, b"ab"));
    assert_ne!(tensor(9, b"ab"), tensor(9, b"ac"));
    assert_ne!(tensor(9, b"ab"), tensor(10, b"ab"));
    assert_eq!(tensor(9, b"ab").bucket_hash(), tensor(9, b"ac").bucket_hash());
    let mut f = Function::new();
    let constant = f.add_constant(tensor(9, b"ab"), ConstForm::ANY);
    let (op, body) = (f.add_op("", "Relu", "", 0), f.body());
    f.append(body, constant);
    let call = f.add_call(op, &[constant]);
    f.append(body, call);
    f.set_results(body, &[call]);
    assert_eq!((f.constant(constant), verify_function(&f, None)), (None, vec![]));
    assert!(matches!(f.expr(constant), Expr::Unknown(kind::CONSTANT)));
    assert_eq!(f.stored_constant(constant), Some(&tensor(9, b"ab")));
    let text = text::print_function("f", &f, &PrintOptions::default());
    let parsed = text::parse_str(&text).unwrap();
    assert!(equal_functions(&f, parsed.function("f").unwrap()).is_ok(), "{text}");
}

#[test]
fn a_later_kind_of_global_is_verified_and_kept() {
    let text = "global(9) @later(%x) {\n  %y = Relu(%x);\n  %y\n}\n";
    let module = text::parse_str(text).unwrap();
    assert!(module.function("later").is_none() && module.globals()[0].prim_func().is_none());
    assert_eq!((module.bodies().count(), verify(&module)), (1, vec![]));
    assert_eq!(text::print(&module, &PrintOptions::default()), text);
    let broken = text.replace("  %y\n", "  @nowhere\n");
    assert_eq!(verify(&text::parse_str(&broken).unwrap()).len(), 1);
    for wrong in ["global(1) @f() { () }", "global @f() { () }", "global(300) @f() { () }"] {
        assert!(text::parse_str(wrong).is_err(), "{wrong}");
    }
}
