//! The view and the rights of passes of each level (rules R12 to R15).

use super::*;
use relais::ir::{Attr, AttrData, ConstForm, Function, Tensor};

/// The names of the globals.
fn names(module: &IRModule) -> Vec<&str> {
    module.globals().iter().map(|global| global.name.as_str()).collect()
}

fn print_one(module: &IRModule, name: &str) -> String {
    text::print_function(name, module.function(name).unwrap(), &Default::default())
}

fn with_other() -> IRModule {
    let mut module = functions(1, |_| false);
    let other = functions(1, |_| true).main().unwrap().clone();
    module.set_function("other", other);
    module
}

/// Runs on as many threads.
fn by_threads<T: Send>(n: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads start").install(f)
}

#[test]
fn r12_a_module_pass_adds_changes_and_deletes_functions() {
    let module = with_other();
    let before = print(&module);
    let edit = |edit: &str| ran_well(&pass_with("EditGlobals", &[("edit", word(edit))]), &module).0;
    assert_eq!(names(&edit("add")), ["main", "other", "added"]);
    assert_eq!(names(&edit("delete")), ["main"]);
    let out = edit("change");
    assert_eq!((names(&out), changed(&module, &out)), (vec!["main", "other"], vec!["other".to_owned()]));
    assert!(print(&out).contains("def @other") && !print(&out).contains("Neg"), "{}", print(&out));
    assert_eq!(names(&ran_well(&pass("RemoveUnusedFunctions"), &module).0), ["main"]);
    assert_eq!(print(&module), before, "the input is as it was");
    // The same of a pass of the program.
    let delete = Pass::module("my.Delete", 0, |module, _| {
        let mut new = module.clone();
        new.remove("other");
        Ok(Some(new))
    });
    assert_eq!(names(&ran_well(&delete, &module).0), ["main"]);
}

#[test]
fn r12_a_module_that_is_returned_unchanged_costs_nothing() {
    let module = with_other();
    for pass in [pass("EditGlobals"), Pass::module("my.Nothing", 0, |_, _| Ok(None))] {
        let (out, report) = ran_well(&pass, &module);
        assert_eq!(changed(&module, &out), Vec::<String>::new());
        assert_eq!(report.executions[0].fate, manager::Fate::Unchanged);
    }
}

#[test]
fn r13_functions_that_ask_for_it_are_left_alone_and_loop_programs_are_not_shown() {
    for attr in [Attr::meta("SkipOptimization", 1i64), Attr::meta("Compiler", AttrData::String(b"acme".to_vec()))] {
        let mut module = functions(3, |_| true);
        module.set_prim_func("loops", prim_func(&[1, 2]));
        let f = module.function_mut("f1").unwrap();
        let attr = f.encode_attr(&attr);
        let recs: Vec<_> = f.attr_recs(f.root()).iter().copied().chain([attr]).collect();
        f.set_attr_recs(f.root(), &recs);
        let (out, report) = ran_well(&pass("NameNeg"), &module);
        let is_named = |name: &str| print_one(&out, name).contains("neg0");
        assert_eq!(["main", "f1", "f2"].map(is_named), [true, false, true]);
        assert_eq!(said(&report).len(), 2);
        let seen = Arc::new(Mutex::new(0));
        let n_seen = seen.clone();
        let count = Pass::function("my.Count", 0, move |_, _, _| {
            *n_seen.lock().unwrap() += 1;
            Ok(None)
        });
        ran_well(&count, &module);
        assert_eq!(*seen.lock().unwrap(), 2);
    }
}

#[test]
fn r13_a_function_pass_of_a_plugin_sees_the_module_as_it_was() {
    let module = functions(20, |_| true);
    for n_threads in [1, 2, 8] {
        let (out, report) = by_threads(n_threads, || ran_well(&pass("NameNeg"), &module));
        assert_eq!(print(&out).matches("%neg0: ").count(), 20);
        assert_eq!(said(&report), ["0 functions were named before"; 20], "{n_threads} threads");
    }
}

#[test]
fn r13_what_is_said_and_what_fails_first_come_in_module_order() {
    let module = functions(40, |i| i == 17 || i == 31);
    for n_threads in [1, 2, 8] {
        let failed = by_threads(n_threads, || run(&pass("RefuseNeg"), &module).map(|_| ()));
        let Err(RunError::Failed(failure)) = failed else { panic!("it fails") };
        assert!(failure.to_string().contains("in `@f17`"), "{n_threads} threads: {failure}");
        let places: Vec<&str> =
            failure.report.said.iter().map(|said| said.diagnostic.rec().function.as_str()).collect();
        let expected: Vec<String> = (0..18).map(|i| if i == 0 { "main".into() } else { format!("f{i}") }).collect();
        assert_eq!(places, expected, "{n_threads} threads");
    }
}

/// `main` and three loop programs.
fn loop_programs() -> IRModule {
    let mut module = functions(1, |_| true);
    for (name, body) in [("p", vec![1, 2, 3]), ("q", vec![4]), ("r", vec![5, 6])] {
        module.set_prim_func(name, prim_func(&body));
    }
    module
}

/// A prim func with numbers as its constants.
fn prim_func(numbers: &[i64]) -> Function {
    let mut f = Function::new();
    let body = f.body();
    let constant = |number: &i64| f.add_constant(Tensor::from_i64(&[], &[*number]), ConstForm::ANY);
    let constants: Vec<_> = numbers.iter().map(constant).collect();
    f.set_bindings(body, &constants);
    f.set_results(body, &[]);
    f
}

fn numbers(f: &Function) -> Vec<i64> {
    f.bindings(f.body()).iter().map(|&id| f.constant(id).unwrap().to_i64s().unwrap()[0]).collect()
}

fn body(module: &IRModule, name: &str) -> Vec<i64> {
    numbers(module.global(name).unwrap().prim_func().unwrap())
}

#[test]
fn r14_a_prim_func_pass_sees_loop_programs_alone_and_the_module_as_it_was() {
    let module = loop_programs();
    let (out, report) = ran_well(&pass("Reverse"), &module);
    assert_eq!([body(&out, "p"), body(&out, "q"), body(&out, "r")], [vec![3, 2, 1], vec![4], vec![6, 5]]);
    assert_eq!(said(&report), ["01 04 05"; 3]);
    let places: Vec<&str> = report.said.iter().map(|said| said.diagnostic.rec().function.as_str()).collect();
    assert_eq!(places, ["p", "q", "r"]);
}

#[test]
fn r14_a_loop_program_that_asks_for_it_is_left_alone() {
    let mut module = loop_programs();
    let mut alone = prim_func(&[5, 6]);
    let attr = alone.encode_attr(&Attr::meta("SkipOptimization", 1i64));
    alone.set_attr_recs(alone.root(), &[attr]);
    module.set_prim_func("r", alone);
    let (out, _) = ran_well(&pass("Reverse"), &module);
    assert_eq!([body(&out, "p"), body(&out, "r")], [vec![3, 2, 1], vec![5, 6]]);
}

#[test]
fn r14_loop_programs_are_copied_when_they_are_changed_and_the_input_stays() {
    let module = loop_programs();
    let (out, _) = ran_well(&pass("Reverse"), &module);
    assert_eq!(changed(&module, &out), ["p", "r"]);
    let (out, report) = ran_well(&Pass::sequence("s", [pass("Reverse"), pass("Reverse")]), &module);
    assert_eq!((print(&out), executed(&report).len()), (print(&module), 2));
    assert_eq!(body(&module, "p"), [1, 2, 3]);
}

#[test]
fn r14_of_several_failures_the_first_in_module_order_comes_out() {
    let mut module = loop_programs();
    (0..30).for_each(|i| module.set_prim_func(&format!("s{i}"), prim_func(&[9, i])));
    let refusing = pass_with("Reverse", &[("refused", Value::Int(9))]);
    for n_threads in [1, 8] {
        let failed = by_threads(n_threads, || run(&refusing, &module).map(|_| ()));
        let Err(RunError::Failed(failure)) = failed else { panic!("it fails") };
        assert!(failure.to_string().contains("this body is refused (in `@s0`)"), "{failure}");
    }
    assert_eq!(body(&module, "p"), [1, 2, 3]);
}

#[test]
fn r14_a_pass_of_the_program_over_loop_programs_is_the_same() {
    let module = loop_programs();
    let pass = Pass::prim_func("my.Clear", 0, |old, module, _| {
        assert!(
            module.globals().iter().filter_map(|global| global.prim_func()).all(|other| !numbers(other).is_empty())
        );
        Ok((numbers(old).len() > 1).then(|| prim_func(&[])))
    });
    let (out, _) = ran_well(&pass, &module);
    assert_eq!(changed(&module, &out), ["p", "r"]);
    assert_eq!((body(&out, "r"), body(&module, "r")), (vec![], vec![5, 6]));
}

#[test]
fn r15_a_pass_that_changes_one_function_of_a_thousand_copies_one() {
    let module = functions(1000, |i| i == 500);
    let before = print(&module);
    let (out, report) = ran_well(&pass("NameNeg"), &module);
    assert_eq!((changed(&module, &out), said(&report).len()), (vec!["f500".to_owned()], 1000));
    assert_eq!(print(&module), before);
}

/// TVM's check of an option, `testing.immutable_module`; here it holds of every pass.
#[test]
fn r15_no_pass_changes_a_module_that_somebody_keeps() {
    let module = with_other();
    let (kept, before) = (module.clone(), print(&module));
    for name in ["NameNeg", "Complain", "InferType", "ToANormalForm", "FoldConstant", "ReluRelu", "NameAndEdit"] {
        drop(run(&pass(name), &module));
        assert_eq!(print(&module), before, "{name}");
        assert_eq!(changed(&kept, &module), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn r13_a_function_pass_begins_before_the_first_function_and_ends_after_the_last_one() {
    for n in [1, 40] {
        // The second execution has nothing of the first one.
        let (_, report) = run_toml("steps = [\"Total\", \"Total\"]", &functions(n, |_| false)).unwrap();
        let expected = [
            format!("{n} functions"),
            format!("{n} calls before, {} after, in {n} functions", 2 * n),
            format!("{n} functions"),
            format!("{} calls before, {} after, in {n} functions", 2 * n, 3 * n),
        ];
        assert_eq!(said(&report), expected);
        assert_eq!(report.statistics.iter().map(|it| (it.name.as_str(), it.count)).collect::<Vec<_>>(), [("ended", 2)]);
    }
}

#[test]
fn r13_a_pass_over_loop_programs_begins_and_ends_too() {
    let (_, report) = run_toml("steps = [\"TotalPrims\"]", &module()).unwrap();
    assert_eq!(said(&report), ["0 loop programs"]);
}

#[test]
fn r25_a_pass_that_fails_as_it_begins_or_ends_changes_nothing() {
    for (fails, message) in
        [("begin", "told to fail"), ("function", "told to fail"), ("end", "told to fail"), ("panic", "panicked")]
    {
        let step = format!("{{ pass = \"Total\", options = {{ fails = \"{fails}\" }} }}");
        let failure = run_toml(&format!("steps = [{step}]"), &module()).err().unwrap();
        assert!(failure.to_string().contains(message), "{fails}: {failure}");
        let policy = format!("on_failure = \"skip\"\nsteps = [{step}, \"Total\"]");
        let (after, report) = run_toml(&policy, &module()).unwrap();
        assert_eq!(print(&after).matches("Neg").count(), 1, "{fails}");
        let ended = report.statistics.iter().find(|it| it.name == "ended").map(|it| it.count);
        assert_eq!(ended, Some(1), "{fails}");
    }
}
