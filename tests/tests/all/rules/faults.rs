//! Passes that fail, and messages of passes (rules R25, R26).

use super::*;
use relais::{ir::NodeId, manager::FailureKind};
use relais_plugin_api::diagnostics::{Diagnostic, Severity};

fn failure(pass: &Pass, module: &IRModule) -> Failure {
    match run(pass, module) {
        Err(RunError::Failed(failure)) => *failure,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it fails"),
    }
}

#[test]
fn r25_a_panic_of_a_plugin_is_its_failure_and_the_module_stays() {
    let module = functions(2, |_| true);
    let failed = failure(&Pass::sequence("s", [pass("NameNeg"), pass("Panics")]), &module);
    let text = failed.to_string();
    assert!(text.starts_with("pass `acme.Panics` of plugin `acme-rules` 0.3.0 panicked: told to panic\n"), "{text}");
    let skipping = "on_failure = \"skip\"\nsteps = [\"NameNeg\", \"Fails\", \"Panics\", \"Nothing\"]";
    let (out, report) = run_toml(skipping, &module).unwrap();
    assert_eq!(report.faults.len(), 2);
    assert_eq!(print(&out), print(&ran_well(&pass("NameNeg"), &module).0), "as after the pass before");
    let quarantine = skipping.replace("skip", "quarantine");
    let (_, report) = run_toml(&quarantine, &module).unwrap();
    assert_eq!((report.faults.len(), executed(&report).contains(&"Nothing")), (1, false));
}

#[test]
fn r26_an_error_fails_a_pass_after_it_returned_and_all_it_said_is_kept() {
    let module = functions(1, |_| true);
    let failed = failure(&pass("Complain"), &module);
    let FailureKind::Pass { pass, error, line, .. } = &failed.kind else { panic!("{failed}") };
    assert_eq!((pass.as_str(), error.rec().code.as_str()), ("acme.Complain", "A002"), "the first error");
    assert!(line.as_ref().is_some_and(|line| line.contains("Neg(")), "{line:?}");
    let said = &failed.report.said;
    let kinds: Vec<(Severity, &str)> =
        said.iter().map(|said| (said.severity(), said.diagnostic.rec().code.as_str())).collect();
    assert_eq!(kinds, [(Severity::WARNING, "A001"), (Severity::ERROR, "A002"), (Severity::ERROR, "A003")]);
    let (first, second) = (said[0].diagnostic.rec(), said[1].diagnostic.rec());
    assert_eq!((first.message.as_str(), first.notes[0].as_str()), ("this looks odd", "it may be meant"));
    assert_eq!((second.function.as_str(), second.help.as_str()), ("main", "mend it"));
    assert!(said[0].line.as_ref().is_some_and(|line| line.contains("Neg(")), "{:?}", said[0].line);
}

#[test]
fn r26_a_pass_of_the_program_fails_by_what_it_says_too() {
    let module = functions(3, |_| true);
    let wrong = |message: &str| Diagnostic::error(message).code("M001").help("mend it");
    let of_module = Pass::module("my.Module", 0, move |module, cx| {
        (cx.diagnostics)(wrong("wrong"));
        Ok(Some(module.clone()))
    });
    let text = failure(&of_module, &module).to_string();
    assert!(text.contains("`my.Module`") && text.contains("wrong\n") && text.ends_with("help: mend it"), "{text}");
    let of_function = Pass::function("my.Function", 0, move |f, _, cx| {
        (cx.diagnostics)(wrong("wrong").at(f.params()[0]));
        (cx.diagnostics)(Diagnostic::note("said").at(NodeId::ABSENT));
        Ok(None)
    });
    let failed = failure(&of_function, &module);
    assert!(failed.to_string().contains("`@main`"), "the first in module order: {failed}");
    let places: Vec<&str> = failed.report.said.iter().map(|said| said.diagnostic.rec().function.as_str()).collect();
    assert_eq!(places, ["main", "main"], "as from a plugin");
    let of_warning = Pass::module("my.Warns", 0, |_, cx| {
        (cx.diagnostics)(Diagnostic::warning("odd"));
        Ok(None)
    });
    assert_eq!(said(&ran_well(&of_warning, &module).1), ["odd"]);
}
