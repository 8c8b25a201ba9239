//! The definition of passes, which ones are on, and what they require (rules R1, R2, R6, R7, R11).

use super::*;
use relais::{manager::ContextBuilder, pass::Dependencies};
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn r01_passes_of_every_level_say_what_they_are_and_map_modules_to_modules() {
    for (name, level, opt_level, required) in [
        ("acme.EditGlobals", "module", 1, &[][..]),
        ("acme.NameNeg", "function", 2, &["acme.EditGlobals"]),
        ("acme.Reverse", "prim func", 1, &[]),
        ("acme.ReluRelu", "rewrite", 0, &[]),
        ("acme.NameAndEdit", "sequential", 3, &[]),
    ] {
        let pass = pass(short(name));
        let info = pass.info();
        assert_eq!((info.name.as_str(), info.level.name(), info.opt_level), (name, level, opt_level));
        assert_eq!(info.required.iter().map(|required| required.pass.as_str()).collect::<Vec<_>>(), required);
        assert_eq!(print(&ran_well(&pass, &module()).0), print(&ran_well(&pass, &module()).0), "{name}");
    }
}

#[test]
fn r05_a_plugin_requires_passes_with_options() {
    let pass = pass(short("acme.AfterAdding"));
    assert_eq!(pass.info().required[0].to_string(), "acme.EditGlobals { edit = \"add\" }");
    let ran = |dependencies| {
        let sequence = Pass::sequence("s", [pass.clone()]);
        let options = ManagerOptions { dependencies: Some(dependencies), ..Default::default() };
        sequence.run_with(&library(), &module(), &options).unwrap().0.function("added").is_some()
    };
    assert_eq!([Dependencies::Transitive, Dependencies::Direct, Dependencies::Assumed].map(ran), [true, true, false]);
}

/// The equivalent of a class in TVM: state, and a method that transforms.
struct AddFunctions {
    names: Vec<&'static str>,
    n_runs: AtomicUsize,
}

impl AddFunctions {
    fn transform(&self, module: &IRModule) -> Option<IRModule> {
        self.n_runs.fetch_add(1, Ordering::Relaxed);
        let mut new = module.clone();
        let main = module.main()?;
        self.names.iter().for_each(|name| new.set_function(name, (**main).clone()));
        (!self.names.is_empty()).then_some(new)
    }
}

/// TVM's decorator is the attribute in the plugin, its direct call a closure, its class a struct.
#[test]
fn r01_passes_of_the_program_have_the_levels_of_what_they_are_made_of() {
    let forms = [
        (Pass::module("my.Module", 3, |_, _| Ok(None)), "module"),
        (Pass::function("my.Function", 3, |_, _, _| Ok(None)), "function"),
        (Pass::prim_func("my.PrimFunc", 3, |_, _, _| Ok(None)), "prim func"),
        (Pass::sequence("my.Sequence", []).at_level(3), "sequential"),
    ];
    for (pass, level) in forms {
        assert_eq!((pass.info().level.name(), pass.info().opt_level), (level, 3));
        let module = module();
        assert_eq!(changed(&module, &ran_well(&pass, &module).0), Vec::<String>::new(), "{level}");
    }
    let class = Arc::new(AddFunctions { names: vec!["abs", "sub"], n_runs: AtomicUsize::new(0) });
    let transform = class.clone();
    let pass = Pass::module("AddFunctions", 2, move |module, _| Ok(transform.transform(module)));
    let module = module();
    let (out, report) = ran_well(&Pass::sequence("s", [pass]), &module);
    assert_eq!(changed(&module, &out), ["abs", "sub"]);
    assert_eq!((executed(&report), class.n_runs.load(Ordering::Relaxed)), (vec!["AddFunctions"], 1));
}

/// Returns the members of a sequence that run in a context.
fn on(sequence: &Pass, set: impl FnOnce(ContextBuilder<'_>) -> ContextBuilder<'_>) -> Vec<String> {
    let library = library();
    let context = Arc::new(set(library.context()).build().unwrap_or_else(|faults| panic!("{faults}")));
    let (_, report) = context.scope(|_| ran_well(sequence, &module())).unwrap();
    executed(&report).into_iter().map(str::to_owned).collect()
}

#[test]
fn r02_levels_and_lists_of_a_context_decide_what_is_on() {
    let sequence = Pass::sequence("s", ["InferType", "Reverse", "NineA"].map(pass));
    let all = ["InferType", "Reverse", "NineA"];
    assert_eq!(on(&sequence, |cx| cx), all[..2], "the default is level 2");
    assert_eq!(on(&sequence, |cx| cx.opt_level(0)), all[..1]);
    assert_eq!(on(&sequence, |cx| cx.opt_level(8)), all[..2]);
    assert_eq!(on(&sequence, |cx| cx.opt_level(9)), all);
    assert_eq!(on(&sequence, |cx| cx.opt_level(0).require("NineA")), ["InferType", "NineA"]);
    assert_eq!(on(&sequence, |cx| cx.opt_level(9).disable("acme.NineA")), all[..2]);
    assert_eq!(on(&sequence, |cx| cx.opt_level(9).require("NineA").disable("NineA")), all[..2], "disabled wins");
}

#[test]
fn r02_a_set_of_levels_leaves_out_what_must_be_told_more() {
    let set = "opt_level = 9\nsteps = [{ passes = \"level==9\" }]";
    assert_eq!(executed(&run_toml(set, &module()).unwrap().1), ["NineA", "NineB"]);
    let less = format!("disabled = [\"NineA\"]\n{set}");
    assert_eq!(executed(&run_toml(&less, &module()).unwrap().1), ["NineB"]);
}

#[test]
fn r02_all_shipped_passes_fold_before_they_clean_up_and_print_nothing() {
    let shipped = Registry::new(Default::default(), Linked::Include, &Choices::new());
    let spec = PipelineSpec::parse("p.toml", "opt_level = 3\nsteps = [{ passes = \"level<=3\" }]", &Disk).unwrap();
    let pipeline = spec.resolve(&shipped).unwrap_or_else(|faults| panic!("{faults}"));
    let (_, report) = manager::run(&pipeline, &module(), &shipped, &ManagerOptions::default()).unwrap();
    let ran: Vec<&str> = executed(&report);
    let at = |name: &str| ran.iter().position(|it| *it == name).unwrap_or_else(|| panic!("{name}: {ran:?}"));
    assert!(at("InferType") < at("FoldConstant") && at("FoldConstant") < at("EliminateCommonSubexpr"));
    assert!(at("EliminateCommonSubexpr") < at("DeadCodeElimination"));
    for left_out in ["PrintIR", "ToANormalForm", "ToGraphNormalForm"] {
        assert!(!ran.contains(&left_out), "{ran:?}");
    }
}

#[test]
fn r06_a_veto_of_a_requirement_holds_for_what_requires_it_unless_direct() {
    let library = library();
    let sequence = Pass::sequence("s", [pass("NeedsNothing")]);
    let run = |dependencies| {
        let scribe = Arc::new(Scribe { vetoes: Some("Nothing"), ..Scribe::default() });
        let context = Arc::new(library.context().instrument(scribe).build().unwrap());
        let options = ManagerOptions { dependencies: Some(dependencies), ..ManagerOptions::default() };
        let (_, report) = context.scope(|_| sequence.run_with(&library, &module(), &options).unwrap()).unwrap();
        (executed(&report).len(), report.warnings)
    };
    let warning = "`acme.NeedsNothing` is skipped: `acme.Nothing`, which it requires, did not run";
    assert_eq!(run(Dependencies::Transitive), (0, vec![warning.to_owned()]));
    assert_eq!(run(Dependencies::Direct), (1, vec![]));
}

#[test]
fn r07_a_requirement_takes_its_defaults() {
    let (_, report) = ran_well(&Pass::sequence("s", [pass("NeedsEvery")]), &module());
    assert_eq!(executed(&report), ["EveryOption", "NeedsEvery"]);
    assert_eq!(said(&report), ["true 3 0.5 a slow [\"b\"] false"]);
}

#[test]
fn r07_a_requirement_that_must_be_told_more_is_refused_before_anything_runs() {
    let (events, instruments) = scribes(1, "", Hook::Make, "");
    let context = library().context().build().unwrap().with_instruments(instruments);
    let sequence = Pass::sequence("s", [pass("Nothing"), pass("NeedsTold")]);
    let result = Arc::new(context).scope(|_| run(&sequence, &module()).map(|_| ())).unwrap();
    let Err(RunError::Resolve(faults)) = result else { panic!("it needs its option") };
    let text = faults.to_string();
    assert!(text.contains("`acme.NeedsTold` requires `acme.Told`, which cannot be made without options"), "{text}");
    assert!(text.contains("`what`"), "{text}");
    assert_eq!(taken(&events), ["a enter", "a exit"]);
}

#[test]
fn r11_a_sequential_pass_is_switched_and_filters_its_members_again() {
    let outer = Pass::sequence("outer", [Pass::sequence("inner", [pass("NameAndEdit")])]);
    assert_eq!(on(&outer, |cx| cx), Vec::<String>::new(), "its level is 3");
    assert_eq!(on(&outer, |cx| cx.opt_level(3)), ["EditGlobals", "NameNeg", "EditGlobals"]);
    assert_eq!(on(&outer, |cx| cx.opt_level(1).require("NameAndEdit")), ["EditGlobals"], "one member is of level 2");
    assert_eq!(on(&outer, |cx| cx.opt_level(3).disable("NameAndEdit")), Vec::<String>::new());
}

#[test]
fn r11_sequences_have_level_0_unless_they_say_otherwise() {
    assert_eq!(Pass::sequence("s", []).info().opt_level, 0);
    let low = Pass::sequence("outer", [Pass::sequence("inner", [pass("AskThread")])]);
    assert_eq!(on(&low, |cx| cx.opt_level(0)), ["AskThread"]);
    let high = Pass::sequence("outer", [Pass::sequence("inner", [pass("AskThread")]).at_level(2)]);
    assert_eq!(on(&high, |cx| cx.opt_level(1)), Vec::<String>::new());
    assert_eq!(on(&high, |cx| cx.opt_level(2)), ["AskThread"]);
}

#[test]
fn r11_what_a_sequence_requires_counts_only_when_it_is_nested() {
    let sequence = Pass::sequence("inner", [pass("Nothing")]).requiring(&["EditGlobals"]);
    assert_eq!(on(&sequence, |cx| cx), ["Nothing"]);
    assert_eq!(on(&Pass::sequence("outer", [sequence]), |cx| cx), ["EditGlobals", "Nothing"]);
}

#[test]
fn r11_a_sequence_of_shipped_passes_runs_in_order() {
    let module = parse(
        "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n  %a = Add(1.0, 2.0);\n  %b = Mul(%x, %a);\n  \
         %c = Mul(%x, %a);\n  %d = Add(%b, %c);\n  %e = Neg(%x);\n  %d\n}\n",
    );
    let names = ["InferType", "FoldConstant", "EliminateCommonSubexpr", "DeadCodeElimination"];
    let sequence = Pass::sequence("sequential", names.map(pass));
    let library = library();
    let context = Arc::new(library.context().opt_level(3).build().unwrap());
    let (out, report) = context.scope(|_| ran_well(&sequence, &module)).unwrap();
    assert_eq!(executed(&report), names);
    let main = out.main().unwrap();
    let ops: Vec<&str> = main.bindings(main.body()).iter().filter_map(|&id| Some(main.call(id)?.op_name())).collect();
    assert_eq!(ops, ["Mul", "Add"], "{}", print(&out));
}

#[test]
fn r05_a_requirement_holds_although_types_were_added() {
    let ran = |steps: &str| {
        let (_, report) = run_toml(&format!("opt_level = 9\nsteps = [{steps}]"), &module()).unwrap();
        executed(&report).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let typed = ran("\"NeedsCount\", \"InferType\", \"NeedsCount\"");
    assert_eq!(typed, ["Count", "NeedsCount", "InferType", "NeedsCount"]);
    let changed = ran("\"NeedsCount\", \"Rename\", \"NeedsCount\"");
    assert_eq!(changed, ["Count", "NeedsCount", "Rename", "Count", "NeedsCount"]);
}

#[test]
fn r05_a_requirement_does_not_hold_after_a_pass_that_adds_more_than_types() {
    let text = "opt_level = 9\nsteps = [\"NeedsCount\", \"TypesAndMore\", \"NeedsCount\"]";
    let (_, report) = run_toml(text, &module()).unwrap();
    assert_eq!(executed(&report), ["Count", "NeedsCount", "TypesAndMore", "Count", "NeedsCount"]);
}
