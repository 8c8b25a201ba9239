//! Asking passes whether they can work, before the first one runs (rule R27).

use super::*;
use relais::{manager::FailureKind, pass::RunCx};
use relais_plugin_api::diagnostics::Diagnostic;
use relais_tests::cli::{Run, command, files, folder};
use std::fs;

/// Calls `Relu` and not `Neg`.
fn relu() -> IRModule {
    functions(2, |_| false)
}

/// Calls `Neg`, in `main`.
fn neg() -> IRModule {
    functions(2, |i| i == 0)
}

/// A pipeline that no pass of which ran.
fn refused(text: &str, module: &IRModule) -> (String, Vec<String>) {
    let failure = run_toml(text, module).map(|_| ()).expect_err("it is refused");
    assert!(matches!(failure.kind, FailureKind::Check { .. }), "{failure}");
    assert!(failure.report.executions.is_empty() && failure.execution == 0, "no pass ran");
    (failure.to_string(), said(&failure.report))
}

#[test]
fn r27_a_pass_that_cannot_work_refuses_the_run_before_the_first_pass() {
    let text = "steps = [\"NameNeg\", { pass = \"NeedsOperator\", options = { operator = \"Conv\" } }]";
    let (refusal, said) = refused(text, &relu());
    assert_eq!(
        refusal,
        "pass `acme.NeedsOperator` of plugin `acme-rules` 0.3.0, asked before the first pass ran, refuses the run: \
         `main` does not call `Conv` (in `@main`)\n  in the pipeline: step 2"
    );
    assert_eq!(said, ["looking for `Conv`"], "what it says is shown");
    // Whatever is to follow from passes that fail.
    for policy in ["skip", "quarantine"] {
        assert_eq!(refused(&format!("on_failure = \"{policy}\"\n{text}"), &relu()).0, refusal);
    }
    let (_, report) = run_toml("steps = [\"NeedsOperator\"]", &relu()).unwrap();
    assert_eq!(super::said(&report), ["looking for `Relu`", "ran", "ran"], "asked once, and then run");
}

#[test]
fn r27_members_and_requirements_are_asked_with_their_places() {
    let within = [
        ("[\"RequiresNeg\"]", "step 1, required by `acme.RequiresNeg`"),
        ("[\"Nothing\", \"HoldsNeg\"]", "step 2, `acme.HoldsNeg`, member 2"),
        ("[{ sequence = [\"Nothing\", \"NeedsNeg\"], name = \"tidy\" }]", "step 1, sequence `tidy`, step 2"),
        ("[{ fixpoint = [\"NeedsNeg\"] }]", "step 1, fixpoint, step 1"),
        ("[{ scope = [\"Nothing\", \"NeedsNeg\"], opt_level = 1 }]", "step 1, scope, step 2"),
        ("[{ when_operator = [\"Conv\"], steps = [\"NeedsNeg\"] }]", "step 1, condition, step 1"),
    ];
    for (steps, place) in within {
        let text = format!("steps = {steps}");
        let (refusal, _) = refused(&text, &relu());
        let whole = "pass `acme.NeedsNeg` of plugin `acme-rules` 0.3.0, asked before the first pass ran, refuses the run: \
                     `main` does not call `Neg`";
        assert_eq!(refusal, format!("{whole}\n  in the pipeline: {place}"), "{text}");
        if !place.contains("member") {
            let (_, report) = run_toml(&text, &neg()).unwrap();
            assert!(report.statistics.is_empty(), "what a check counts is no work");
        }
    }
}

#[test]
fn r27_a_pass_that_is_off_is_not_asked() {
    for off in ["disabled = [\"NeedsNeg\"]\n", "disabled = [\"HoldsNeg\"]\n"] {
        let step = if off.contains("Holds") { "HoldsNeg" } else { "NeedsNeg" };
        let (_, report) = run_toml(&format!("{off}steps = [\"Nothing\", \"{step}\"]"), &relu()).unwrap();
        assert_eq!(executed(&report), ["Nothing"]);
    }
}

#[test]
fn r27_an_error_that_is_said_refuses_too() {
    let (refusal, said) = refused("steps = [\"Nothing\", \"acme.Complains\"]", &relu());
    assert!(refusal.contains("`acme.Complains`") && refusal.contains("something is wrong"), "{refusal}");
    assert_eq!(said, ["something is wrong"]);
}

#[test]
fn r27_nothing_is_written_by_a_run_that_is_refused() {
    let here = folder("refused-run");
    fs::write(here.join("m.relay"), print(&relu())).unwrap();
    let relais = |passes: &str| {
        let mut relais = command();
        relais.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "--allow-writable-plugins"]);
        Run::of(relais.arg("--plugin").arg(plugin("rules")).args(["--passes", passes]))
    };
    let said = relais("acme.Nothing,acme.NeedsOperator,acme.NeedsNeg");
    assert_eq!((said.status, files(&here)), (Some(1), vec!["m.relay".to_owned()]), "{}", said.stderr);
    for part in [
        "pass `acme.NeedsNeg` of plugin `acme-rules` 0.3.0",
        "`main` does not call `Neg`",
        "in the pipeline: ",
        "looking for `Relu`",
        "nothing was written",
    ] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    relais("acme.Nothing,acme.NeedsOperator").expect_success();
    assert_eq!(files(&here), ["m.relay", "out.relay"]);
}

#[test]
fn r27_a_pass_that_is_run_directly_or_by_another_is_asked() {
    let Err(RunError::Failed(failure)) = run(&pass("NeedsNeg"), &relu()).map(|_| ()) else { panic!("it is refused") };
    assert!(matches!(&failure.kind, FailureKind::Check { place, .. } if place.is_empty()), "{failure}");
    assert!(run(&pass("NeedsNeg"), &neg()).is_ok());
    let failure = run_toml("steps = [\"RunsNeg\"]", &relu()).map(|_| ()).unwrap_err();
    assert!(matches!(&failure.kind, FailureKind::Pass { pass, .. } if pass == "acme.RunsNeg"), "{failure}");
    assert!(failure.to_string().contains("`main` does not call `Neg`"), "{failure}");
    assert!(run_toml("steps = [\"RunsNeg\"]", &neg()).is_ok());
}

#[test]
fn r27_passes_of_the_program_are_asked_too() {
    let ran = Arc::new(Mutex::new(0));
    let counting = ran.clone();
    let needs_neg = |module: &IRModule, cx: &RunCx<'_>| {
        (cx.diagnostics)(Diagnostic::note("asked"));
        let main = module.main().unwrap();
        let calls = main.all_bindings().any(|id| main.call(id).is_some_and(|call| call.is_op("Neg")));
        calls.then_some(()).ok_or_else(|| PassError::new("no `Neg`"))
    };
    let own = Pass::module("my.NeedsNeg", 0, move |_, _| {
        *counting.lock().unwrap() += 1;
        Ok(None)
    });
    let own = own.checked_by(needs_neg).serial();
    let sequence = Pass::sequence("s", [pass("Nothing"), own]);
    let Err(RunError::Failed(failure)) = run(&sequence, &relu()).map(|_| ()) else { panic!("it is refused") };
    let text = failure.to_string();
    assert!(
        text.starts_with("pass `my.NeedsNeg`, asked before the first pass ran, refuses the run: no `Neg`\n"),
        "{text}"
    );
    assert!(text.ends_with("in the pipeline: `s`, member 2"), "{text}");
    assert_eq!((said(&failure.report), *ran.lock().unwrap()), (vec!["asked".to_owned()], 0));
    assert_eq!((said(&ran_well(&sequence, &neg()).1), *ran.lock().unwrap()), (vec!["asked".to_owned()], 1));
    let panics = Pass::module("my.Panics", 0, |_, _| Ok(None)).checked_by(|_, _| panic!("told to panic"));
    let text = run(&panics, &neg()).map(|_| ()).unwrap_err().to_string();
    assert!(text.starts_with("pass `my.Panics`, asked before the first pass ran, panicked: told to panic\n"), "{text}");
}
