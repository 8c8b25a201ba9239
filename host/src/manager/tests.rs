use super::*;
use crate::{
    instruments::Timing,
    ir::MAIN,
    pass::{PassInfo, PassInstrument, SkipReason},
    pipeline::{
        Disk, PipelineSpec,
        fake::{Does, Fakes, module},
    },
};
use relais_plugin_api::diagnostics::PassError;
use std::sync::{Arc, Mutex, atomic::AtomicBool};

fn resolve(text: &str, fakes: &Fakes) -> Pipeline {
    let spec = PipelineSpec::parse("p.toml", text, &Disk).unwrap_or_else(|faults| panic!("{faults}"));
    spec.resolve(fakes).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Runs a pipeline and returns the passes that ran.
fn ran(text: &str, fakes: &Fakes) -> String {
    super::run(&resolve(text, fakes), &module(), fakes, &ManagerOptions::default()).unwrap();
    fakes.ran()
}

fn fakes() -> Fakes {
    Fakes::default()
        .pass("A", 0, &[], Does::Change)
        .pass("B", 1, &["A"], Does::Change)
        .pass("C", 2, &["B"], Does::Change)
        .pass("D", 3, &[], Does::Nothing)
        .pass("N", 0, &[], Does::Nothing)
        .pass("NeedsN", 0, &["N"], Does::Nothing)
        .pass("ChangesAfterN", 0, &["N"], Does::Change)
        .pass("F", 0, &[], Does::Fail)
        .pass("NeedsF", 0, &["F"], Does::Nothing)
        .pass("Broken", 0, &[], Does::Break)
        .pass("UpToThree", 0, &[], Does::ChangeUpTo(3))
        .pass("Seq", 2, &["N"], Does::Consist(vec!["A", "D"]))
}

#[test]
fn r02_levels_and_lists_decide_what_is_on() {
    let fakes = fakes();
    assert_eq!(ran("steps = [\"A\", \"D\"]", &fakes), "A");
    assert_eq!(ran("opt_level = 3\nsteps = [\"A\", \"D\"]", &fakes), "A D");
    assert_eq!(ran("opt_level = 0\nrequired = [\"D\"]\nsteps = [\"A\", \"D\"]", &fakes), "A D");
    assert_eq!(ran("opt_level = 3\nrequired = [\"D\"]\ndisabled = [\"D\", \"A\"]\nsteps = [\"A\", \"D\"]", &fakes), "");
}

#[test]
fn r02_all_passes_of_some_levels_run_in_the_order_of_their_names() {
    let fakes = Fakes::default()
        .pass("b", 1, &[], Does::Nothing)
        .pass("c", 2, &[], Does::Nothing)
        .pass("a", 2, &[], Does::Nothing)
        .pass("off", 1, &[], Does::Nothing);
    assert_eq!(ran("opt_level = 9\ndisabled = [\"off\"]\nsteps = [{ passes = \"level<=2\" }]", &fakes), "a b c");
    assert_eq!(ran("opt_level = 9\nsteps = [{ passes = \"level==2\" }]", &fakes), "a c");
}

#[test]
fn r02_all_passes_of_some_levels_run_phase_by_phase_with_requirements_first() {
    use relais_plugin_api::boundary::record::Phase;
    let fakes = Fakes::default()
        .pass("A.Cleans", 0, &[], Does::Nothing)
        .in_phase(Phase::CLEAN_UP)
        .pass("B.Needs", 0, &["Z.Late"], Does::Nothing)
        .in_phase(Phase::FOLDING)
        .pass("C.Rewrites", 0, &[], Does::Nothing)
        .pass("D.Prints", 0, &[], Does::Nothing)
        .in_phase(Phase::NONE)
        .pass("E.Types", 0, &[], Does::Nothing)
        .in_phase(Phase::TYPES)
        .pass("Z.Late", 0, &[], Does::Nothing)
        .in_phase(Phase::CLEAN_UP);
    let order = "E.Types Z.Late B.Needs C.Rewrites A.Cleans";
    assert_eq!(ran("dependencies = \"assumed\"\nsteps = [{ passes = \"level<=0\" }]", &fakes), order);
}

#[test]
fn r11_an_anonymous_sequence_is_switched_by_the_name_that_is_printed() {
    let fakes = fakes();
    let text = "disabled = [\"sequential\"]\nsteps = [{ sequence = [\"A\"] }, { passes = \"level==3\" }, \"N\"]";
    assert_eq!(ran(text, &fakes), "N");
    assert!(resolve(text, &fakes).print().contains("name = \"sequential\""));
    let spec = PipelineSpec::parse("p.toml", "disabled = [\"sequential\"]\nsteps = [\"N\"]", &Disk).unwrap();
    assert!(spec.resolve(&fakes).is_err(), "there is none");
}

#[test]
fn r05_requirements_run_first_and_transitively() {
    let fakes = fakes();
    assert_eq!(ran("steps = [\"C\"]", &fakes), "A B C");
    assert_eq!(ran("dependencies = \"direct\"\nsteps = [\"C\"]", &fakes), "B C");
}

#[test]
fn r05_a_requirement_does_not_run_again_while_it_holds() {
    let fakes = fakes();
    assert_eq!(ran("steps = [\"N\", \"NeedsN\", \"NeedsN\"]", &fakes), "N NeedsN NeedsN");
    assert_eq!(ran("steps = [\"NeedsN\", \"A\", \"NeedsN\"]", &fakes), "N NeedsN A N NeedsN");
    assert_eq!(
        ran("dependencies = \"direct\"\nsteps = [\"N\", \"NeedsN\", \"NeedsN\"]", &fakes),
        "N N NeedsN N NeedsN"
    );
}

#[test]
fn r05_direct_requirements_run_though_they_are_disabled() {
    let fakes = fakes();
    assert_eq!(ran("dependencies = \"direct\"\ndisabled = [\"N\"]\nsteps = [\"N\", \"NeedsN\"]", &fakes), "N NeedsN");
}

/// Records its calls; vetoes some passes.
#[derive(Default)]
struct Scribe {
    vetoes: Vec<&'static str>,
    fails_before: Option<&'static str>,
    said: Mutex<Vec<String>>,
}

impl Scribe {
    fn say(&self, what: &str, pass: &str) {
        self.said.lock().unwrap().push(format!("{what} {pass}"));
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().join(", ")
    }
}

impl PassInstrument for Scribe {
    fn name(&self) -> &str {
        "scribe"
    }

    fn exit(&self) -> Result<(), PassError> {
        self.say("exit", "");
        Ok(())
    }

    fn should_run(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<bool, PassError> {
        Ok(!self.vetoes.contains(&pass.name))
    }

    fn before(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.say("before", pass.name);
        match self.fails_before == Some(pass.name) {
            true => Err(PassError::new("told to fail")),
            false => Ok(()),
        }
    }

    fn after(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.say("after", pass.name);
        Ok(())
    }

    fn skipped(&self, _: &IRModule, pass: &PassInfo<'_>, reason: &SkipReason) {
        self.say("skipped", &format!("{} ({reason})", pass.name));
    }

    fn failed(&self, pass: &PassInfo<'_>, _: &PassError) {
        self.say("failed", pass.name);
    }
}

type PassOutcome = Result<(IRModule, RunReport), Box<Failure>>;

fn watched(text: &str, fakes: &Fakes, scribe: Scribe) -> (PassOutcome, Arc<Scribe>) {
    let scribe = Arc::new(scribe);
    let options = ManagerOptions { instruments: vec![scribe.clone()], ..ManagerOptions::default() };
    (super::run(&resolve(text, fakes), &module(), fakes, &options), scribe)
}

#[test]
fn r06_a_vetoed_requirement_takes_its_dependent_along_unless_direct() {
    let fakes = fakes();
    let veto = || Scribe { vetoes: vec!["N"], ..Scribe::default() };
    let (result, scribe) = watched("name = \"p\"\nsteps = [\"NeedsN\"]", &fakes, veto());
    assert_eq!(fakes.ran(), "");
    let (_, report) = result.unwrap();
    assert_eq!(report.warnings, ["`NeedsN` is skipped: `N`, which it requires, did not run"]);
    assert!(scribe.said().contains("skipped N (vetoed by an instrument), skipped NeedsN (`N`, which it requires"));
    let (result, _) = watched("dependencies = \"direct\"\nsteps = [\"NeedsN\"]", &fakes, veto());
    assert!(result.is_ok());
    assert_eq!(fakes.ran(), "NeedsN");
}

#[test]
fn r11_sequences_are_switched_by_name_and_level_and_filter_their_members() {
    let fakes = fakes();
    let text =
        |head: &str| format!("{head}\nsteps = [{{ sequence = [\"A\", \"D\"], name = \"s\", opt_level = 2 }}, \"N\"]");
    assert_eq!(ran(&text("opt_level = 2"), &fakes), "A N");
    assert_eq!(ran(&text("opt_level = 1"), &fakes), "N");
    assert_eq!(ran(&text("opt_level = 1\nrequired = [\"s\"]"), &fakes), "A N");
    assert_eq!(ran(&text("opt_level = 3\ndisabled = [\"s\"]"), &fakes), "N");
}

#[test]
fn r11_a_sequence_of_a_pipeline_runs_what_it_requires_first() {
    let fakes = fakes();
    let text =
        |head: &str| format!("{head}\nsteps = [{{ sequence = [\"D\", \"N\"], name = \"s\", required = [\"B\"] }}]");
    assert_eq!(ran(&text(""), &fakes), "A B N");
    assert_eq!(ran(&text("dependencies = \"direct\""), &fakes), "B N");
    assert_eq!(ran(&text("dependencies = \"assumed\""), &fakes), "N");
    assert_eq!(ran(&text("disabled = [\"s\"]"), &fakes), "");
    // It does not run again while it holds.
    let twice = "steps = [{ sequence = [\"D\"], required = [\"N\"] }, { sequence = [\"A\"], required = [\"N\"] }]";
    assert_eq!(ran(twice, &fakes), "N A");
    // It is on whatever its level, and instruments see it before the sequence.
    let late = "name = \"p\"\nsteps = [{ sequence = [\"N\"], name = \"s\", required = [\"D\"] }]";
    let (result, scribe) = watched(late, &fakes, Scribe::default());
    assert!(result.is_ok());
    assert_eq!(fakes.ran(), "D N");
    assert_eq!(scribe.said(), "before p, before D, after D, before s, before N, after N, after s, after p, exit ");
    // Vetoed, it takes the sequence along (rule R6).
    let (result, scribe) = watched(&text("name = \"p\""), &fakes, Scribe { vetoes: vec!["B"], ..Scribe::default() });
    assert_eq!(fakes.ran(), "");
    assert_eq!(result.unwrap().1.warnings, ["`s` is skipped: `B`, which it requires, did not run"]);
    assert!(scribe.said().contains("skipped s (`B`, which it requires"), "{}", scribe.said());
    let (result, _) =
        watched(&text("dependencies = \"direct\""), &fakes, Scribe { vetoes: vec!["B"], ..Scribe::default() });
    assert!(result.is_ok());
    assert_eq!(fakes.ran(), "N");
}

#[test]
fn r04_the_names_of_settings_that_a_context_starts_from_are_checked_and_made_full() {
    let fakes = Fakes::default().pass("acme.A", 0, &[], Does::Nothing);
    let disabled = |name: &str| crate::pass::Scope { disabled: [name.to_owned()].into(), ..Default::default() };
    let context = ContextBuilder::new(&fakes, &disabled("A")).build().unwrap();
    assert_eq!(context.settings().disabled, ["acme.A".to_owned()].into());
    // A pass that runs in it may have the name.
    let context = ContextBuilder::new(&fakes, &disabled("Nowhere")).build().unwrap();
    assert_eq!(context.settings().unknown, ["Nowhere".to_owned()].into());
}

#[test]
fn r02_passes_for_a_runtime_are_in_sets_that_name_it() {
    let fakes = Fakes::default()
        .pass("a", 1, &[], Does::Nothing)
        .pass("b", 1, &[], Does::Nothing)
        .for_runtime("acme")
        .pass("c", 1, &[], Does::Nothing)
        .for_runtime("other");
    assert_eq!(ran("steps = [{ passes = \"level==1\" }]", &fakes), "a");
    assert_eq!(ran("steps = [{ passes = \"level==1\", runtime = \"acme\" }]", &fakes), "a b");
    assert_eq!(ran("steps = [{ passes = \"level==1\", runtime = \"other\" }]", &fakes), "a c");
    // A step that names a pass runs it.
    assert_eq!(ran("steps = [\"b\"]", &fakes), "b");
}

#[test]
fn r11_sequential_passes_of_plugins_run_their_requirements_and_members() {
    let fakes = fakes();
    let (result, scribe) = watched("name = \"p\"\nsteps = [\"Seq\"]", &fakes, Scribe::default());
    assert!(result.is_ok());
    assert_eq!(fakes.ran(), "N A");
    assert_eq!(scribe.said(), "before p, before N, after N, before Seq, before A, after A, after Seq, after p, exit ");
}

#[test]
fn r15_the_input_stays_as_it_is() {
    let (fakes, input) = (fakes(), module());
    let pipeline = resolve("steps = [\"A\"]", &fakes);
    let (output, report) = super::run(&pipeline, &input, &fakes, &ManagerOptions::default()).unwrap();
    let n_bindings = |module: &IRModule| {
        let main = module.function(MAIN).unwrap();
        main.bindings(main.body()).len()
    };
    assert_eq!((n_bindings(&input), n_bindings(&output)), (0, 1));
    assert_eq!((report.executions[0].n_nodes_before, report.executions[0].n_nodes_after), (0, 1));
}

#[test]
fn r16_hooks_are_counted_as_the_rule_says() {
    let fakes = Fakes::default()
        .pass("Types", 0, &[], Does::Nothing)
        .establishing_types()
        .pass("FoldConstant", 2, &[], Does::Change)
        .pass("DCE", 1, &["Types"], Does::Change);
    let steps = "opt_level = 3\nsteps = [\"Types\", \"FoldConstant\", \"DCE\"]";
    for (mode, n) in [("transitive", 4), ("direct", 5)] {
        let (result, scribe) = watched(&format!("dependencies = \"{mode}\"\n{steps}"), &fakes, Scribe::default());
        assert!(result.is_ok());
        assert_eq!(scribe.said().matches("before").count(), n, "{mode}: {}", scribe.said());
    }
}

/// A pass that does not establish types has to run again once the module changed, whatever its name.
#[test]
fn r16_types_hold_after_the_pass_that_says_so() {
    let run = |fakes: Fakes| {
        let fakes = fakes.pass("A", 0, &[], Does::Change).pass("B", 0, &["InferType"], Does::Change);
        ran("steps = [\"InferType\", \"A\", \"B\", \"B\"]", &fakes)
    };
    let fakes = || Fakes::default().pass("relais.InferType", 0, &[], Does::Nothing);
    let name = "relais.InferType";
    assert_eq!(run(fakes().establishing_types()), format!("{name} A B B"));
    assert_eq!(run(fakes()), format!("{name} A {name} B {name} B"));
}

#[test]
fn r17_an_instrument_is_not_asked_about_what_the_context_requires() {
    let fakes = fakes();
    let veto = || Scribe { vetoes: vec!["A"], ..Scribe::default() };
    assert!(watched("steps = [\"A\"]", &fakes, veto()).0.is_ok());
    assert_eq!(fakes.ran(), "");
    assert!(watched("required = [\"A\"]\nsteps = [\"A\"]", &fakes, veto()).0.is_ok());
    assert_eq!(fakes.ran(), "A");
}

#[test]
fn r18_every_before_is_followed_by_one_after_or_failed() {
    let fakes = fakes();
    let (result, scribe) =
        watched("name = \"p\"\nsteps = [{ sequence = [\"A\", \"F\"], name = \"s\" }]", &fakes, Scribe::default());
    assert!(result.is_err());
    assert_eq!(scribe.said(), "before p, before s, before A, after A, before F, failed F, failed s, failed p, exit ");
    let failing = Scribe { fails_before: Some("A"), ..Scribe::default() };
    let (result, scribe) = watched("name = \"p\"\nsteps = [\"A\"]", &fakes, failing);
    assert!(matches!(result.err().unwrap().kind, FailureKind::Instrument(_)));
    assert_eq!(scribe.said(), "before p, before A, failed p, exit ");
    assert_eq!(fakes.ran(), "A F");
}

#[test]
fn r25_a_failing_pass_is_named_and_the_policy_decides() {
    let fakes = fakes();
    let failure =
        super::run(&resolve("steps = [\"A\", \"F\", \"N\"]", &fakes), &module(), &fakes, &ManagerOptions::default());
    let failure = failure.map(|_| ()).unwrap_err();
    let text = failure.to_string();
    assert!(text.starts_with("pass `F` of plugin `fakes` 1.2.3 failed: told to fail"), "{text}");
    assert_eq!((fakes.ran().as_str(), failure.report.executions.len()), ("A F", 2));
    let (_, report) = super::run(
        &resolve("on_failure = \"skip\"\nsteps = [\"A\", \"F\", \"N\"]", &fakes),
        &module(),
        &fakes,
        &ManagerOptions::default(),
    )
    .unwrap();
    assert_eq!((fakes.ran().as_str(), report.warnings.len()), ("A F N", 1));
    assert!(matches!(report.executions[1].fate, Fate::Failed(_)));
    assert_eq!(ran("on_failure = \"quarantine\"\nsteps = [\"A\", \"F\", \"N\"]", &fakes), "A F");
    assert_eq!(ran("on_failure = \"skip\"\nsteps = [\"NeedsF\", \"N\"]", &fakes), "F N");
}

#[test]
fn r25_a_pass_that_breaks_the_program_loses_its_result() {
    let fakes = fakes();
    let text = "verify = \"each\"\non_failure = \"skip\"\nsteps = [\"A\", \"Broken\", \"N\"]";
    let (module, report) = super::run(&resolve(text, &fakes), &module(), &fakes, &ManagerOptions::default()).unwrap();
    assert!(relais_plugin_api::ir::verify(&module).is_empty());
    assert!(report.warnings[0].contains("`Broken`") && report.warnings[0].contains("breaks the program"));
    let text = "verify = \"off\"\nsteps = [\"Broken\"]";
    let failure =
        super::run(&resolve(text, &fakes), &module, &fakes, &ManagerOptions::default()).map(|_| ()).unwrap_err();
    assert!(
        failure
            .to_string()
            .starts_with("a pass failed, one of `Broken` of plugin `fakes 1.2.3`: it breaks the program"),
        "{failure}"
    );
}

#[test]
fn r26_what_passes_say_is_kept_with_the_pass() {
    let fakes = Fakes::default().pass("Talks", 0, &[], Does::Complain);
    let (_, report) =
        super::run(&resolve("steps = [\"Talks\"]", &fakes), &module(), &fakes, &ManagerOptions::default()).unwrap();
    let said: Vec<String> = report.said.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["warning: told to complain\n  said by pass `Talks`"]);
}

#[test]
fn fixpoints_settle_or_say_that_they_did_not() {
    let fakes = fakes();
    assert_eq!(ran("steps = [{ fixpoint = [\"UpToThree\"] }]", &fakes), ["UpToThree"; 4].join(" "));
    let pipeline = resolve("steps = [{ fixpoint = [\"A\"], max_rounds = 3 }]", &fakes);
    let (_, report) = super::run(&pipeline, &module(), &fakes, &ManagerOptions::default()).unwrap();
    assert_eq!(report.warnings, ["a fixpoint did not settle in 3 rounds"]);
    assert_eq!(fakes.ran(), "A A A");
}

#[test]
fn a_pass_that_settled_is_not_run_again_within_a_fixpoint() {
    let fakes = fakes();
    // The second round begins with the module that `N` left unchanged at the end of the first.
    assert_eq!(
        ran("steps = [{ fixpoint = [\"UpToThree\", \"N\"] }]", &fakes),
        "UpToThree N UpToThree N UpToThree N UpToThree"
    );
    assert_eq!(ran("steps = [\"N\", \"N\"]", &fakes), "N N");
}

#[test]
fn steps_wait_for_their_operator() {
    let fakes = fakes();
    let text = |first: &str| format!("steps = [{first}{{ when_operator = \"Relu\", steps = [\"N\"] }}]");
    assert_eq!(ran(&text(""), &fakes), "");
    assert_eq!(ran(&text("\"A\", "), &fakes), "A N");
}

#[test]
fn cancellation_stops_whatever_the_policy() {
    let fakes = fakes();
    let cancel = AtomicBool::new(true);
    let options = ManagerOptions { cancel: Some(&cancel), ..ManagerOptions::default() };
    let pipeline = resolve("on_failure = \"skip\"\nsteps = [\"A\"]", &fakes);
    assert!(super::run(&pipeline, &module(), &fakes, &options).is_err());
    assert_eq!(fakes.ran(), "");
}

#[test]
fn timing_is_a_tree_and_right_after_a_fault() {
    let fakes = fakes();
    let timing = Arc::new(Timing::default());
    let options = ManagerOptions { instruments: vec![timing.clone()], ..ManagerOptions::default() };
    let pipeline = resolve("name = \"p\"\nsteps = [\"A\", \"F\"]", &fakes);
    assert!(super::run(&pipeline, &module(), &fakes, &options).is_err());
    let shape: Vec<(String, usize)> =
        timing.times().into_iter().filter(|time| time.name != "(types)").map(|time| (time.name, time.depth)).collect();
    assert_eq!(shape, [("p".into(), 0), ("A".into(), 1), ("F".into(), 1)]);
    let root = &timing.times()[0];
    assert!(root.own <= root.total && !root.total.is_zero());
}

#[test]
fn a_run_stops_after_so_many_executions() {
    let fakes = fakes();
    let stopped = |text: &str, stop_after| {
        let scribe = Arc::new(Scribe::default());
        let options = ManagerOptions {
            stop_after: Some(stop_after),
            instruments: vec![scribe.clone()],
            ..ManagerOptions::default()
        };
        let (module, report) = super::run(&resolve(text, &fakes), &module(), &fakes, &options).unwrap();
        let main = module.function(MAIN).unwrap();
        (fakes.ran(), report.stopped_after, main.bindings(main.body()).len(), scribe.said())
    };
    let text = "name = \"p\"\nsteps = [\"C\", { fixpoint = [\"A\"] }, \"D\"]";
    let (ran, stopped_after, n_calls, said) = stopped(text, 2);
    assert_eq!((ran.as_str(), stopped_after, n_calls), ("A B", Some((2, "B".to_owned())), 2));
    assert_eq!(said, "before p, before A, after A, before B, after B, after p, exit ");
    assert_eq!(stopped(text, 5).0, "A B C A A");
    assert_eq!(stopped("steps = [\"A\"]", 0), (String::new(), None, 0, "before p, after p, exit ".to_owned()));
    let (ran, stopped_after, ..) = stopped("steps = [\"A\", \"N\"]", 3);
    assert_eq!((ran.as_str(), stopped_after), ("A N", None));
}

#[test]
fn r25_a_failing_pass_at_step_7_of_12_leaves_the_module_of_step_6() {
    let fakes = fakes();
    let steps = ["A", "N", "A", "A", "N", "A", "F", "N", "N", "N", "N", "N"].map(|name| format!("\"{name}\""));
    let text = format!("on_failure = \"skip\"\ninstruments = [\"timing\"]\nsteps = [{}]", steps.join(", "));
    let (module, report) = super::run(&resolve(&text, &fakes), &module(), &fakes, &ManagerOptions::default()).unwrap();
    assert_eq!(fakes.ran(), "A N A A N A F N N N N N");
    let main = module.function(MAIN).unwrap();
    assert_eq!(main.bindings(main.body()).len(), 4);
    let [fault] = report.faults.as_slice() else { panic!("one pass failed") };
    assert_eq!((fault.execution, fault.error.rec().message.as_str()), (7, "told to fail"));
    assert!(fault.module.function(MAIN).unwrap().bindings(main.body()).len() == 4);
    let (_, findings) = &report.findings[0];
    let within = findings.data[0]["within"].as_array().unwrap();
    assert_eq!(within.iter().filter(|time| time["pass"] != "(types)").count(), 12, "{}", findings.text);
    // The times of a run that fails are also correct.
    let failure =
        super::run(&resolve(&text.replace("skip", "fail"), &fakes), &module, &fakes, &ManagerOptions::default());
    let report = failure.map(|_| ()).unwrap_err().report;
    let within = report.findings[0].1.data[0]["within"].as_array().unwrap().clone();
    assert_eq!(within.iter().filter(|time| time["pass"] != "(types)").count(), 7);
}

#[test]
fn r09_budgets_belong_to_the_run_and_their_faults_to_the_passes() {
    let fakes = Fakes::default().pass("Wait", 0, &[], Does::Wait).pass("N", 0, &[], Does::Nothing).pass(
        "A",
        0,
        &[],
        Does::Change,
    );
    let run = |text: &str| super::run(&resolve(text, &fakes), &module(), &fakes, &ManagerOptions::default());
    let budget = |options: &str, policy: &str, steps: &str| {
        format!(
            "on_failure = \"{policy}\"\ninstruments = [{{ instrument = \"budget\", options = {{ {options} }} }}]\nsteps = [{steps}]"
        )
    };
    let failure = run(&budget("pass_seconds = 0.02", "fail", "\"Wait\", \"N\"")).map(|_| ()).unwrap_err();
    let expected = "pass `Wait` of plugin `fakes` 1.2.3 failed: it took longer than 20ms, the budget of a pass\n";
    assert!(failure.to_string().starts_with(expected), "{failure}");
    assert_eq!(fakes.ran(), "Wait");
    assert!(run(&budget("pass_seconds = 0.02", "skip", "{ scope = [\"Wait\"] }, \"N\"")).is_ok());
    assert_eq!(fakes.ran(), "Wait N");
    // When the run's time is over, later passes are vetoed rather than failed one by one.
    let (_, report) = run(&budget("run_seconds = 0.02", "skip", "\"Wait\", \"N\", \"N\"")).unwrap();
    assert_eq!((fakes.ran().as_str(), report.faults.len()), ("Wait", 1));
    assert!(run(&budget("run_seconds = 600.0", "fail", "\"N\"")).is_ok());
    let (module, report) = run(&budget("nodes = 2", "skip", "\"A\", \"A\", \"A\", \"A\"")).unwrap();
    let main = module.function(MAIN).unwrap();
    assert_eq!((main.bindings(main.body()).len(), report.faults.len()), (2, 2));
    assert!(report.warnings[0].contains("it leaves 3 operator calls, over the budget of 2"), "{}", report.warnings[0]);
}
