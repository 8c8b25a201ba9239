//! Analyses (rule R28): shared by the passes of a run, kept as long as they hold, and the faults of those that lie.

use super::*;
use relais::{
    pass::{AnalysisUse, Catalogue, RunCx, Verify},
    transform::OwnAnalysis,
};
use relais_plugin_api::{
    analysis::{SubjectKind, SubjectRec},
    ir::{Lists, NodeId, Numbers, Users},
};

/// A chain of three calls, and another function of one.
fn chain() -> IRModule {
    parse(
        "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n  \
           %a = Relu(%x);\n  %b = Neg(%a);\n  %c = Abs(%b);\n  %c\n}\n\
         def @other(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n  %a = Relu(%x);\n  %a\n}\n",
    )
}

fn ran(steps: &str) -> RunReport {
    ran_as(steps, Verify::Off).unwrap_or_else(|error| panic!("{error}")).1
}

fn ran_as(steps: &str, verify: Verify) -> Result<(IRModule, RunReport), Box<Failure>> {
    let spec = PipelineSpec::parse("p.toml", &format!("steps = [{steps}]"), &Disk).unwrap();
    let pipeline = spec.resolve(&*REGISTRY).unwrap_or_else(|faults| panic!("{faults}"));
    let options = ManagerOptions { verify: Some(verify), ..ManagerOptions::default() };
    manager::run(&pipeline, &chain(), &*REGISTRY, &options)
}

/// Computed, reused and preserved.
fn used(report: &RunReport, analysis: &str) -> [u64; 3] {
    let AnalysisUse { computed, reused, preserved, .. } = report.analyses.get(analysis).copied().unwrap_or_default();
    [computed, reused, preserved]
}

fn count(report: &RunReport, pass: &str, name: &str) -> u64 {
    let mut all = report.statistics.iter();
    all.find(|it| short(&it.pass) == pass && it.name == name).map_or(0, |it| it.count)
}

fn fault(steps: &str, verify: Verify) -> String {
    ran_as(steps, verify).err().expect("it fails").to_string()
}

#[test]
fn r28_an_analysis_is_computed_once_for_a_function_and_shared_by_passes() {
    let report = ran("\"AskChain\", \"AskChain\", \"Count\", \"AskChain\"");
    // Each asks twice about each of two functions: without computing, and if need be with.
    assert_eq!(used(&report, "acme.Depth"), [2, 8, 0]);
    assert_eq!(count(&report, "AskChain", "depth"), 3 * (3 + 1));
    assert_eq!(count(&report, "AskChain", "known"), 4);
}

#[test]
fn r28_a_result_holds_for_the_functions_that_a_pass_did_not_change() {
    let report = ran("\"AskChain\", { pass = \"Shorten\" }, \"AskChain\"");
    // Both were changed; without verification nothing tells that what the pass declares is wrong.
    assert_eq!(used(&report, "acme.Depth"), [2, 4, 2]);
    let report = ran("\"AskChain\", \"ReluRelu\", \"DeepenAndAsk\", \"AskChain\"");
    assert_eq!(used(&report, "acme.Depth"), [4, 2, 0]);
    assert_eq!([count(&report, "DeepenAndAsk", "before"), count(&report, "DeepenAndAsk", "after")], [3 + 1, 4 + 2]);
    assert_eq!(count(&report, "AskChain", "depth"), 3 + 1 + 4 + 2);
}

#[test]
fn r28_inferred_types_leave_what_depends_on_the_structure_alone() {
    let report = ran("\"AskWhole\", \"InferType\", \"AskWhole\"");
    assert_eq!(used(&report, "acme.Depth"), [2, 2, 2]);
    assert_eq!(used(&report, "acme.Typed"), [4, 0, 0]);
    assert_eq!(used(&report, "acme.Whole"), [2, 0, 0]);
    assert_eq!(count(&report, "AskWhole", "typed"), 4);
    let again = ran("\"AskWhole\", \"AskWhole\"");
    assert_eq!(used(&again, "acme.Whole"), [1, 1, 0]);
}

#[test]
fn r28_a_pass_preserves_what_it_declares() {
    let report = ran("\"AskChain\", \"Rename\", \"AskChain\"");
    assert_eq!(used(&report, "acme.Depth"), [2, 4, 2]);
    let (_, report) = ran_as("\"AskChain\", \"Rename\", \"AskChain\"", Verify::Each).unwrap();
    assert_eq!(used(&report, "acme.Depth"), [2, 4, 2]);
}

#[test]
fn r28_a_pass_that_does_not_preserve_what_it_declares_is_named() {
    let message = fault("\"AskChain\", \"Shorten\"", Verify::Each);
    let says = "`acme.Shorten` declares that it preserves `acme.Depth`, and what it made of `@main` has another result";
    assert!(message.contains(says), "{message}");
    // Nothing was asked for, and nothing is preserved.
    assert!(ran_as("\"Shorten\"", Verify::Each).is_ok());
}

#[test]
fn r28_an_analysis_with_two_results_for_one_function_is_named() {
    let steps = "{ pass = \"AskByName\", options = { name = \"Moody\" } }";
    let twice = format!("{steps}, {steps}");
    assert_eq!(used(&ran(&twice), "acme.Moody"), [2, 2, 0]);
    let message = fault(&twice, Verify::Each);
    assert!(message.contains("analysis `acme.Moody` has two results for one function"), "{message}");
    assert!(message.contains("acme-rules"), "{message}");
}

#[test]
fn r28_faults_of_analyses_are_those_of_their_plugins_and_name_them() {
    let asked =
        |name: &str| fault(&format!("{{ pass = \"AskByName\", options = {{ name = \"{name}\" }} }}"), Verify::Off);
    for (name, says) in [
        ("Hen", "analysis `acme.Hen` depends on itself: `acme.Hen` needs `acme.Egg` needs `acme.Hen`"),
        ("Broken", "in pieces"),
        ("Broken", "in analysis `acme.Broken` of plugin `acme-rules 0.3.0`"),
        ("Mislabelled", "analysis `acme.Mislabelled` gave the lists `pears`, and its record declares `apples`"),
        ("Typed", "`Typed` has no lists: only its own plugin can read it"),
        ("Whole", "`acme.Whole` is an analysis of a module, and was asked for of a function"),
        ("acme.Dept", "nothing provides the analysis `acme.Dept`"),
        ("acme.Dept", "did you mean `acme.Depth`?"),
    ] {
        let message = asked(name);
        assert!(message.contains(says), "{name}: {message}");
    }
}

#[test]
fn r28_lists_of_any_analysis_are_found_by_name() {
    let steps = |name: &str| format!("{{ pass = \"AskByName\", options = {{ name = \"{name}\" }} }}");
    let report = ran(&[steps("acme.Depth"), steps("relais.BlockTree")].join(", "));
    let said = said(&report);
    assert!(said[0].starts_with("acme.Depth: ") && said[0].ends_with(" numbers in `depth`"), "{said:?}");
    assert!(said[2].ends_with(" numbers in `block`, `parent`, `depth`"), "{said:?}");
}

/// An analysis of a function of a module, by the names of its values: what `of` makes of its lists.
fn by_name<T>(module: &IRModule, analysis: &str, of: impl Fn(&Lists, usize) -> T) -> Vec<(String, T)> {
    let f = module.globals()[0].body();
    let found = RunCx::new(&*REGISTRY).analysis(analysis, &SubjectRec::function(f), false).unwrap().unwrap();
    let named = (0..f.n_nodes()).filter(|&at| !f.name(NodeId::from_index(at)).is_empty());
    named.map(|at| (f.name(NodeId::from_index(at)).to_owned(), of(found.lists(), at))).collect()
}

#[test]
fn r28_sizes_that_are_equal_have_one_number() {
    let module = parse(
        "def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(?, 3), float32], %n: Tensor[(n, n), float32], %u: Tensor[*, float32]) \
         #[opset = {\"\": 18}] {\n  %r = Relu(%x);\n  %t = Transpose(%r, perm = [1, 0]);\n  %c = Concat(%x, %y, axis = 0);\n  \
         (%p, %q) = Split(%y, axis = 1, num_outputs = 2);\n  %m = MatMul(%x, %t);\n  %v = Abs(%u);\n  (%t, %c, %m, %n, %p, %q, %v)\n}\n",
    );
    let sizes = by_name(&module, "relais.Sizes", |lists, at| {
        let (ranks, starts, sizes) = (lists.narrow("ranks")?, lists.narrow("starts")?, lists.wide("sizes")?);
        (ranks[at] > 0).then(|| sizes[starts[at] as usize..starts[at + 1] as usize].to_vec())
    });
    let of = |name: &str| sizes.iter().find(|(own, _)| own == name).unwrap().1.clone();
    let [x, y, n] = ["x", "y", "n"].map(|name| of(name).unwrap());
    assert!(x[0] < 0 && y[0] < 0 && x[0] != y[0] && (x[1], y[1]) == (3, 3), "{sizes:?}");
    assert!(n[0] < 0 && n[0] == n[1] && n[0] != x[0], "{sizes:?}");
    assert_eq!((of("r"), of("t"), of("m")), (Some(x.clone()), Some(vec![3, x[0]]), Some(vec![x[0], x[0]])));
    let c = of("c").unwrap();
    assert!(c[0] < 0 && c[0] != x[0] && c[0] != y[0] && c[1] == 3, "{sizes:?}");
    assert_eq!(of("p").map(|p| p[0]), Some(y[0]));
    assert_eq!((of("u"), of("v")), (None, None), "nothing is known of a rank that is not known");
}

#[test]
fn r28_intervals_are_those_of_the_place() {
    let module = parse(
        "prim @main(%a: Tensor[(100), float32]) -> (%b: Tensor[(100), float32]) {\n  for %i in 0..10 {\n    \
         %t = %i * 10;\n    for %j in 0..10 {\n      %k = %t + %j;\n      %m = floormod(%k, 7);\n      \
         when (%k < 50) {\n        %l = %k + 1;\n        %b[%l] = %a[%k];\n      }\n      when (%j < 5) {\n        %h = %j + 1;\n        %b[%h] = 2.0;\n      }\n      %b[%m] = 0.0;\n    }\n  }\n}\n",
    );
    let ranges = by_name(&module, "relais.Intervals", |lists, at| {
        (lists.wide("least").unwrap()[at], lists.wide("largest").unwrap()[at])
    });
    let of = |name: &str| ranges.iter().find(|(own, _)| own == name).unwrap().1;
    assert_eq!(["i", "t", "j", "k", "m"].map(of), [(0, 9), (0, 90), (0, 9), (0, 99), (0, 6)]);
    assert_eq!((of("l"), of("h")), ((1, 50), (1, 5)), "where `%k` is below 50, and `%j` below 5");
    assert_eq!(of("a"), (i64::MIN, i64::MAX), "memory is not a number");
}

#[test]
fn r28_a_plugin_reads_the_analyses_of_the_host() {
    let report = ran("\"AskUsers\", \"SimplifySlice\", \"AskUsers\"");
    assert_eq!(count(&report, "AskUsers", "users"), 4);
    assert_eq!(used(&report, "relais.Users"), [2, 2, 2]);
}

#[test]
fn r28_threads_share_results_and_count_the_same() {
    let module = functions(60, |_| false);
    let spec = PipelineSpec::parse("p.toml", "steps = [\"AskChain\", \"AskWhole\", \"AskChain\"]", &Disk).unwrap();
    let pipeline = spec.resolve(&*REGISTRY).unwrap();
    for _ in 0..3 {
        let (_, report) = manager::run(&pipeline, &module, &*REGISTRY, &ManagerOptions::default()).unwrap();
        assert_eq!(used(&report, "acme.Depth"), [60, 60 + 2 * 60, 0]);
    }
}

#[test]
fn r28_passes_of_a_program_ask_for_analyses() {
    let pass = Pass::function("own.Users", 0, |f, _, cx| {
        let found = cx.analysis("Users", &SubjectRec::function(f), false)?.expect("it was computed");
        let users = Users::of_lists(found.lists()).expect("they are its lists");
        assert_eq!(users.of(f.params()[0]).len(), 1);
        Ok(None)
    });
    let (_, report) = ran_well(&pass, &chain());
    assert_eq!(used(&report, "relais.Users"), [2, 0, 0]);
}

#[test]
fn r28_a_program_has_analyses_of_its_own() {
    let lists = |of: usize| Lists::new().with("n", &Numbers::from(vec![of as i64]));
    let calls =
        OwnAnalysis::new("own.Calls", SubjectKind::FUNCTION, &[("n", "how many calls there are")], move |of, cx| {
            let users = cx.analysis("Users", of, false)?.expect("it was computed");
            assert!(users.lists().narrow("users").is_some());
            Ok(lists(of.as_function().expect("it is of functions").all_bindings().count()))
        });
    let mut library = PassLibrary::new(&*REGISTRY);
    library.register_analysis(calls.clone().of_structure().documented("Calls."));
    let ask = |name: &'static str| {
        Pass::function("own.Ask", 0, move |f, _, cx| {
            let found = cx.analysis(name, &SubjectRec::function(f), false)?.expect("it was computed");
            assert!(found.lists().wide("n").is_some_and(|n| [1, 3].contains(&n[0])));
            Ok(None)
        })
    };
    let run = |library: &PassLibrary<'_>, passes: Vec<Pass>| {
        Pass::sequence("s", passes).run_with(library, &chain(), &ManagerOptions::default())
    };
    let (_, report) = run(&library, vec![ask("Calls"), ask("own.Calls")]).unwrap();
    assert_eq!(used(&report, "own.Calls"), [2, 2, 0]);
    let facts = Catalogue::analysis(&library, "Calls").unwrap();
    assert_eq!((facts.name.as_str(), facts.doc.as_str(), facts.plugin.as_str()), ("own.Calls", "Calls.", ""));
    // Two of one name, one that a plugin has, a short name for two, and one that gives other lists.
    library.register_analysis(calls);
    let said = |library: &PassLibrary<'_>, name: &'static str| match run(library, vec![ask(name)]) {
        Err(RunError::Failed(failure)) => failure.to_string(),
        _ => panic!("`{name}` fails"),
    };
    assert!(said(&library, "Calls").contains("own.Calls"), "{}", said(&library, "Calls"));
    for (name, asked) in
        [("acme.Depth", "acme.Depth"), ("own.Users", "Users"), ("own.Other", "Other"), ("own.Panics", "Panics")]
    {
        let mut library = PassLibrary::new(&*REGISTRY);
        let is_bad = name == "own.Panics";
        library.register_analysis(OwnAnalysis::new(name, SubjectKind::FUNCTION, &[("m", "")], move |_, _| {
            assert!(!is_bad, "told to panic");
            Ok(lists(1))
        }));
        let says = match asked {
            "Other" => "gave the lists `n`, and its record declares `m`",
            "Panics" => "told to panic",
            asked => asked,
        };
        assert!(said(&library, asked).contains(says), "{name}: {}", said(&library, asked));
    }
}

#[test]
fn r28_an_analysis_can_be_computed_outside_a_run() {
    let module = chain();
    let cx = RunCx::new(&*REGISTRY);
    let of = SubjectRec::function(module.function("main").unwrap());
    let depth = cx.analysis("Depth", &of, false).unwrap().unwrap();
    assert_eq!(depth.lists().narrow("depth").unwrap().iter().max(), Some(&3));
    assert!(cx.analysis("Depth", &of, true).unwrap().is_none(), "nothing is kept");
    let names: Vec<String> = Catalogue::analyses(&*REGISTRY).into_iter().map(|it| it.name).collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
    assert!(["acme.Depth", "relais.Users"].iter().all(|name| names.iter().any(|it| it == name)), "{names:?}");
}

#[test]
fn r28_nothing_holds_for_an_arena_with_other_numbers_or_other_types() {
    for steps in [
        "\"InsertFirst\", \"CheckKnown\", \"TryOut\", \"CheckKnown\"",
        "\"CheckKnown\", \"RenameTyped\", \"CheckKnown\"",
        "\"CheckKnown\", \"InferType\", \"CheckKnown\", \"Rename\", \"CheckKnown\"",
    ] {
        for verify in [Verify::Off, Verify::Each] {
            let (_, report) = ran_as(steps, verify).unwrap_or_else(|error| panic!("{steps}: {error}"));
            assert_eq!(count(&report, "CheckKnown", "wrong"), 0, "{steps}");
            assert!(used(&report, "acme.Typed")[0] >= 2, "it was compared: {steps}");
        }
    }
}

#[test]
fn r28_analyses_that_need_themselves_end() {
    let message = fault("\"AskHenLate\"", Verify::Off);
    assert!(message.contains("analysis `acme.Hen` depends on itself"), "{message}");
    let message = fault("\"AskCopies\"", Verify::Off);
    assert!(message.contains("analysis `acme.Copies` needs others without an end"), "{message}");
}

#[test]
fn r28_verification_computes_each_result_again_once() {
    let steps = ["\"AskChain\""; 6].join(", ");
    let (_, report) = ran_as(&steps, Verify::Each).unwrap();
    assert_eq!(used(&report, "acme.Depth"), [2, 20, 0]);
}

#[test]
fn r28_functions_may_all_ask_about_the_module() {
    let module = functions(60, |_| false);
    let (_, report) = run_toml("steps = [\"AskWholeOften\", \"AskWhole\"]", &module).unwrap();
    let [computed, reused, _] = used(&report, "acme.Whole");
    // Threads that ask at the same time compute it each.
    assert!((1..60).contains(&computed) && computed + reused == 61, "{computed}, {reused}");
    assert_eq!(count(&report, "AskWholeOften", "depth"), 60);
}

#[test]
fn r28_results_for_loop_programs_hold_as_those_for_functions() {
    let module = parse(
        "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n  %a = Relu(%x);\n  %a\n}\n\
         prim @k(%n: Tensor[(), int64]) -> (%y: Tensor[(2), int64]) {\n  %y[0] = %n[];\n}\n",
    );
    let known = |between: &str, verify: Verify| {
        let text = format!("steps = [\"AskUsersOfPrims\", {between}, \"AskUsersOfPrims\"]");
        let pipeline = PipelineSpec::parse("p.toml", &text, &Disk).unwrap().resolve(&*REGISTRY).unwrap();
        let options = ManagerOptions { verify: Some(verify), ..ManagerOptions::default() };
        let (_, report) = manager::run(&pipeline, &module, &*REGISTRY, &options).unwrap_or_else(|it| panic!("{it}"));
        (count(&report, "AskUsersOfPrims", "known"), used(&report, "relais.Users"))
    };
    for verify in [Verify::Off, Verify::Each] {
        assert_eq!(known("\"NotePrims\"", verify), (1, [1, 2, 1]), "it preserves the structure");
        assert_eq!(known("\"EditGlobals\"", verify).1[2], 0, "it declares nothing");
    }
}
