//! The conformance kit: one finding for each lie and fault, none for plugins that are honest.

// The same source that is loaded: a crate of another workspace cannot be a dependency here.
#[path = "../../plugins/liar/src/lib.rs"]
mod liar;

use relais_conformance::{Kind, Kit};
use relais_tests::{
    cargo_built::{library, plugin, workspace},
    cli::{Run, command, folder},
    filetest::cases,
    venv::{every, share},
};
use serde_json::Value;
use std::{
    any::Any,
    collections::BTreeSet,
    env, fs, panic,
    path::{Path, PathBuf},
    time::Duration,
};

/// The fault of each pass, operator and instrument of the liar: one each.
const LIES: &[(&str, Kind)] = &[
    ("instrument liar.Watch", Kind::Panic),
    ("operator liar::BodyContradicts@1", Kind::Types),
    ("operator liar::BodyPanics@1", Kind::Panic),
    ("operator liar::Contradicts@1", Kind::Types),
    ("operator liar::EvalContradicts@1", Kind::Numbers),
    ("operator liar::EvalPanics@1", Kind::Panic),
    ("operator liar::KernelContradicts@1", Kind::Numbers),
    ("operator liar::KernelDivides@1", Kind::Panic),
    ("operator liar::KernelEndless@1", Kind::Hangs),
    ("operator liar::KernelForgets@1", Kind::NotDeterministic),
    ("operator liar::KernelForgetsNaN@1", Kind::SpecialNumbers),
    ("operator liar::KernelGivesUp@1", Kind::Panic),
    ("operator liar::KernelHungry@1", Kind::Growth),
    ("operator liar::KernelLong@1", Kind::Hangs),
    ("operator liar::KernelMistyped@1", Kind::Broken),
    ("operator liar::KernelOfItself@1", Kind::Broken),
    ("operator liar::KernelOfOther@1", Kind::Broken),
    ("operator liar::KernelPanics@1", Kind::Panic),
    ("operator liar::KernelRaces@1", Kind::NotDeterministic),
    ("operator liar::KernelRecalls@1", Kind::NotDeterministic),
    ("operator liar::KernelStrays@1", Kind::Panic),
    ("operator liar::Moody@1", Kind::NotDeterministic),
    ("operator liar::NoSuchType@1", Kind::Types),
    ("operator liar::Panics@1", Kind::Panic),
    ("operator liar::VerifyPanics@1", Kind::Panic),
    ("pass liar.Aborts", Kind::EndsProcess),
    ("pass liar.AddsOne", Kind::Refused),
    ("pass liar.Breaks", Kind::Broken),
    ("pass liar.Counts", Kind::NotDeterministic),
    ("pass liar.Dawdles", Kind::Slow),
    ("pass liar.DropsRelu", Kind::Numbers),
    ("pass liar.Exits", Kind::EndsProcess),
    ("pass liar.Grows", Kind::Growth),
    ("pass liar.Hangs", Kind::Hangs),
    ("pass liar.LosesInText", Kind::Text),
    ("pass liar.NeverSettles", Kind::Refused),
    ("pass liar.Panics", Kind::Panic),
    ("pass liar.Races", Kind::NotDeterministic),
    ("pass liar.Refuses", Kind::Options),
    ("pass liar.Renames", Kind::Interface),
    ("pass liar.Retypes", Kind::Refused),
    ("pass liar.SaysChanged", Kind::FalseChange),
    ("pass liar.SaysUnchanged", Kind::InputModified),
    ("pass liar.Simplifies", Kind::SpecialNumbers),
    ("pass liar.Spoils", Kind::Numbers),
    ("pass liar.Swaps", Kind::NotIdempotent),
];

/// Runs `relais plugin test FILE ARGUMENTS`. Folders that tests make belong to groups that may write, on some machines.
fn test(file: &Path, arguments: &[&str]) -> Run {
    let mut command = command();
    command.args(["plugin", "test"]).arg(file).args(arguments).arg("--allow-writable-plugins");
    Run::of(&mut command)
}

/// Subjects and kinds of the findings.
fn found(run: &Run) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    let findings = report["findings"].as_array().unwrap().iter();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let mut found: Vec<(String, String)> =
        findings.map(|finding| (text(finding, "subject"), text(finding, "kind"))).collect();
    found.sort();
    found
}

/// The names of all but those two that are a matter of time.
fn timeless() -> Vec<&'static str> {
    let is_timed = |kind: &Kind, name: &str| [Kind::Slow, Kind::Hangs].contains(kind) && name.starts_with("liar.");
    let names = LIES.iter().filter_map(|(subject, kind)| Some((subject.split_once(' ')?.1, kind)));
    let timeless = names.filter(|(name, kind)| !is_timed(kind, name)).map(|(name, _)| name);
    timeless.chain(["liar::Honest@1", "liar::HonestKernel@1"]).collect()
}

/// The lie that few modules show.
const RARE: &str = "liar.Simplifies";

#[test]
fn each_lie_is_one_finding() {
    let liar = plugin("liar");
    // Other tests may take all the time there is: cases that are not about time get plenty.
    let settings = ["--json", "--timeout", "120", "--budget", "100000"];
    let n_modules = share(512).to_string();
    let others = timeless().into_iter().filter(|&name| name != RARE).flat_map(|name| ["--only", name]);
    let patient: Vec<&str> = others.chain(["--modules", &n_modules]).chain(settings).collect();
    let rare: Vec<&str> = ["--only", RARE].into_iter().chain(settings).collect();
    let slow = ["--only", "Dawdles", "--json", "--timeout", "120", "--budget", "300"];
    let hanging = ["--only", "Hangs", "--json", "--timeout", "5", "--budget", "100000"];
    let runs = [&patient[..], &rare, &slow, &hanging].map(|arguments| found(&test(&liar, arguments).expect_failure()));
    let mut all = runs.concat();
    all.sort();
    let lies: Vec<(String, String)> =
        LIES.iter().map(|&(subject, kind)| (subject.to_owned(), kind.name().to_owned())).collect();
    // A lie of a pass about numbers shows in either kind, or both, if random modules have infinities on the way.
    let numbers = [Kind::Numbers, Kind::SpecialNumbers].map(Kind::name);
    let as_known = |found: (String, String)| {
        let is_about_numbers = found.0.starts_with("pass ") && numbers.contains(&found.1.as_str());
        let known = lies.iter().find(|lie| is_about_numbers && lie.0 == found.0 && numbers.contains(&lie.1.as_str()));
        known.cloned().unwrap_or(found)
    };
    let mut all: Vec<(String, String)> = all.into_iter().map(as_known).collect();
    all.dedup();
    assert_eq!(all, lies);
    let kinds: BTreeSet<Kind> = LIES.iter().map(|&(_, kind)| kind).collect();
    let missing: Vec<&Kind> = Kind::ALL.iter().filter(|kind| !kinds.contains(kind)).collect();
    assert_eq!(missing, [&Kind::NotMade, &Kind::NeverApplies, &Kind::NotJudged]);
}

/// A kernel, an evaluator and a body say what an operator computes: two against one know who is wrong, and of which
/// plugin it is.
#[test]
fn what_contradicts_a_kernel_is_named_with_its_plugin() {
    let said = |name: &str| test(&plugin("liar"), &["--only", name, "--timeout", "120"]).expect_failure().stdout;
    let three = said("liar::EvalContradicts@1");
    assert!(three.contains("its evaluator (plugin `liar`) is wrong, since its body agrees with its kernel"), "{three}");
    let two = said("liar::KernelContradicts@1");
    assert!(two.contains("its kernel (plugin `liar`) or its evaluator (plugin `liar`) is wrong"), "{two}");
}

/// An operator that wants a particular attribute, and an author's module that has it.
#[test]
fn a_kernel_that_never_ran_is_named_and_a_finding_if_that_is_asked_for() {
    let vision =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/vision-operators").canonicalize().unwrap();
    let (library, model) = (library(&vision), vision.join("demo/camera.relay"));
    let few = ["--modules", "4", "--timeout", "120"];
    let plain = test(&library, &few).expect_success().stdout;
    assert!(plain.contains("not judged: its kernel ("), "{plain}");
    let strict = [&few[..], &["--strict", "--json"]].concat();
    let found = found(&test(&library, &strict).expect_failure());
    assert!(found.contains(&("operator vision::LetterBox@1".into(), "not-judged".into())), "{found:?}");
    let given = [&strict[..], &["--module", model.to_str().unwrap()]].concat();
    test(&library, &given).expect_success();
}

#[test]
fn a_pass_that_never_applies_is_named_and_a_finding_if_that_is_asked_for() {
    let sample = plugin("sample");
    let only = ["--only", "sample.Nothing", "--modules", "4", "--json"];
    let report = test(&sample, &only).expect_success();
    assert!(report.stdout.contains(r#""silent": ["#), "{}", report.stdout);
    let strict = [&only[..], &["--strict"]].concat();
    let expected = [("pass sample.Nothing".to_owned(), Kind::NeverApplies.name().to_owned())];
    assert_eq!(found(&test(&sample, &strict).expect_failure()), expected);
}

/// Inputs of the filetests: programs that passes look for. Each pass is given all of them, so that there are fewer.
fn examples() -> Vec<PathBuf> {
    let all = cases();
    assert!(all.len() > 400);
    let step = if every() == 1 { 1 } else { 8 * every() };
    all.into_values().map(|file| file.path).step_by(step).collect()
}

/// The shipped plugin with the graph passes.
const GRAPH: &str = "librelais_graph";

/// The arguments that name the passes in `RELAIS_ONLY` which a plugin has; without the variable, all are judged. `None` if
/// it has none of them.
fn only(plugin: &Path) -> Option<Vec<String>> {
    let Ok(wanted) = env::var("RELAIS_ONLY") else { return Some(Vec::new()) };
    let said = Run::of(command().args(["plugin", "check", "--no-open"]).arg(plugin)).expect_success().stdout;
    let has = |name: &&str| said.lines().any(|line| line.split(' ').take(2).eq(["pass", *name]));
    let found: Vec<String> = wanted.split(',').filter(has).map(str::to_owned).collect();
    (!found.is_empty()).then(|| found.into_iter().flat_map(|name| ["--only".to_owned(), name]).collect())
}

/// A plugin has no findings but those that are allowed: by subject and kind.
fn is_honest(plugin: &Path, settings: &[&str], allowed: &[(&str, &str)]) {
    let Some(only) = only(plugin) else { return };
    let (examples, n_modules) = (examples(), share(64).to_string());
    let examples = examples.iter().flat_map(|file| ["--module", file.to_str().unwrap()]);
    let arguments =
        ["--modules", &n_modules, "--budget", "10000", "--timeout", "60"].into_iter().chain(settings.iter().copied());
    let kinds = allowed.iter().flat_map(|&(_, kind)| ["--allow", kind]);
    let only = only.iter().map(String::as_str);
    let run = test(plugin, &arguments.chain(kinds).chain(only).chain(examples).collect::<Vec<_>>());
    assert!(run.status == Some(0), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("no finding; seed 1"), "{}", run.stdout);
    // A kind is allowed of all subjects.
    let is_known = |line: &&str| allowed.iter().any(|(subject, kind)| *line == format!("{subject}: {kind}: allowed"));
    let others: Vec<&str> = run.stdout.lines().filter(|line| line.ends_with(": allowed") && !is_known(line)).collect();
    assert!(others.is_empty(), "{others:#?}\n{}", run.stdout);
}

fn shipped(is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = (&'static Path, &'static str)> {
    let stems = workspace().plugins.iter().map(|plugin| (&**plugin, plugin.file_stem().unwrap().to_str().unwrap()));
    stems.filter(move |(_, stem)| is_wanted(stem))
}

#[test]
fn graph_passes_are_honest() {
    let (graph, _) = shipped(|stem| stem == GRAPH).next().unwrap();
    // Their purpose is to change results.
    let options = ["relais.BackwardFoldScaleAxis.reassociate", "relais.Rewrite.rules", "relais.ToMixedPrecision.dtype"];
    is_honest(graph, &options.map(|option| ["--keep", option]).concat(), &[]);
}

#[test]
fn other_plugins_are_honest() {
    let others: Vec<_> = shipped(|stem| stem != GRAPH).collect();
    assert!(others.len() >= 6);
    for (plugin, stem) in others {
        let (settings, allowed): (&[&str], &[(&str, &str)]) = match stem {
            // Its purpose is to change the interface, and a gradient computes more than the function.
            "librelais_gradient" => {
                (&["--keep", "relais.FirstOrderGradient.outputs"], &[("pass relais.FirstOrderGradient", "growth")])
            }
            // It counts steps as TVM's pass does: what it unrolled may let it unroll the loop around.
            "librelais_loops" => (&[], &[("pass relais.UnrollLoop", "not-idempotent")]),
            _ => (&[], &[]),
        };
        is_honest(plugin, settings, allowed);
    }
}

/// Everything about it but the numbers, which it rounds on purpose.
#[test]
fn lower_precisions_are_honest() {
    let (graph, _) = shipped(|stem| stem == GRAPH).next().unwrap();
    let rounds = ["--allow", "numbers", "--allow", "special-numbers", "--timeout", "60", "--budget", "10000"];
    let (examples, n_modules) = (examples(), share(400).to_string());
    let examples = examples.iter().flat_map(|file| ["--module", file.to_str().unwrap()]);
    let only = ["--only", "relais.ToMixedPrecision", "--modules", &n_modules];
    let run = test(graph, &[&only[..], &rounds].concat().into_iter().chain(examples).collect::<Vec<_>>());
    assert!(run.status == Some(0), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_finding_comes_again() {
    let liar = plugin("liar");
    let once = test(&liar, &["--only", "Renames", "--seed", "7"]).expect_failure();
    assert!(once.stdout.contains("pass liar.Renames: interface: "), "{}", once.stdout);
    let told: Vec<&str> = once.stderr.split('`').find(|part| part.starts_with("--only")).unwrap().split(' ').collect();
    assert!(told.starts_with(&["--only", "liar.Renames", "--seed", "7"]), "{}", once.stderr);
    let again = test(&liar, &told).expect_failure();
    assert_eq!(once.stdout, again.stdout);
    // The module that is shown has the fault by itself.
    let json = test(&liar, &["--only", "Renames", "--seed", "7", "--json"]);
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    let module = report["findings"][0]["module"].as_str().unwrap();
    assert!(module.lines().count() < 5, "{module}");
    let file = folder("conformance").join("a module.relay");
    fs::write(&file, module).unwrap();
    let given = ["--only", "Renames", "--modules", "0", "--module", file.to_str().unwrap(), "--json"];
    let run = test(&liar, &given);
    assert!(run.stderr.contains(&format!(" --module '{}'`", file.display())), "{}", run.stderr);
    let found = found(&run);
    assert_eq!(found, [("pass liar.Renames".to_owned(), "interface".to_owned())]);
}

#[test]
fn a_crash_names_the_pass_and_its_module() {
    let run = test(&plugin("liar"), &["--only", "Exits", "--only", "Aborts", "--only", "Renames"]).expect_failure();
    for fault in ["pass liar.Exits: ends-process: ", "pass liar.Aborts: ends-process: ", "pass liar.Renames: interface"]
    {
        assert!(run.stdout.contains(fault), "{fault}: {}", run.stdout);
    }
    assert!(run.stdout.contains("in pass `liar.Exits`, ended the process"), "{}", run.stdout);
    assert!(run.stdout.contains("Relu("), "{}", run.stdout);
}

#[test]
fn what_is_allowed_is_no_finding() {
    let liar = plugin("liar");
    let run = test(&liar, &["--only", "Renames", "--allow", "interface"]).expect_success();
    assert!(run.stdout.contains("pass liar.Renames: interface: allowed"), "{}", run.stdout);
    test(&liar, &["--only", "Renames", "--allow", "numbers"]).expect_failure();
    let run = test(&liar, &["--allow", "no-such-kind"]);
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("not-idempotent"), "{}", run.stderr);
}

/// The constructor of the library ends the process.
#[test]
fn a_plugin_that_cannot_even_be_opened_is_named() {
    let mut command = command();
    command.args(["plugin", "test"]).arg(plugin("mark")).arg("--allow-writable-plugins").env("RELAIS_TEST_EXIT", "1");
    let run = Run::of(&mut command).expect_failure();
    assert!(run.stdout.contains("pass mark.Nothing: ends-process: "), "{}", run.stdout);
    let run = test(&plugin("mark"), &[]).expect_success();
    assert!(run.stdout.contains("pass mark.Nothing: 257 cases, 0 changed"), "{}", run.stdout);
}

#[test]
fn the_page_names_every_kind() {
    let page = include_str!("../../../docs/conformance.md");
    for kind in Kind::ALL {
        assert_eq!(page.matches(&format!("| `{kind}` |")).count(), 1, "{kind}");
    }
}

#[test]
fn names_and_files_that_are_not_there() {
    let liar = plugin("liar");
    let run = test(&liar, &["--only", "Rename"]).expect_failure();
    assert!(run.stderr.contains("the plugin has nothing called `Rename`"), "{}", run.stderr);
    let run = test(&liar.with_file_name("none.so"), &[]).expect_failure();
    assert!(run.stderr.contains("none.so"), "{}", run.stderr);
    let run = test(&workspace().relais, &[]).expect_failure();
    assert!(run.stderr.contains("relais"), "{}", run.stderr);
    let run = test(&liar, &["--module", "none.relay"]).expect_failure();
    assert!(run.stderr.contains("none.relay"), "{}", run.stderr);
}

/// Returns the report at the end of an author's test.
fn report_of(check: impl FnOnce() + panic::UnwindSafe) -> String {
    let payload = panic::catch_unwind(check).expect_err("something is wrong");
    text_of(&*payload)
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

#[test]
fn in_a_test_a_pass_that_is_honest_passes() {
    relais_conformance::check("relais.RemoveUnusedFunctions");
}

#[test]
fn in_a_test_instruments_are_judged_too() {
    let report = report_of(|| relais_conformance::check("liar.Watch"));
    assert!(report.contains("instrument liar.Watch: panic: "), "{report}");
}

#[test]
fn in_a_test_a_pass_that_lies_is_named() {
    let report = report_of(|| relais_conformance::check("liar.SaysChanged"));
    assert!(report.contains("pass liar.SaysChanged: false-change: "), "{report}");
    assert!(report.contains("1 finding; seed 1"), "{report}");
}

#[test]
fn in_a_test_a_pass_that_ends_the_process_is_named() {
    let report = report_of(|| Kit::new().modules(32).check("liar.Exits"));
    assert!(report.contains("pass liar.Exits: ends-process: "), "{report}");
}

#[test]
fn in_a_test_a_pass_that_hangs_is_named() {
    let report = report_of(|| Kit::new().deadline(Duration::from_secs(5)).check("liar.Hangs"));
    assert!(report.contains("pass liar.Hangs: hangs: "), "{report}");
}

#[test]
fn in_a_test_what_is_allowed_passes() {
    Kit::new().modules(16).allow(Kind::Interface).check("liar.Renames");
}

#[test]
fn in_a_test_what_is_not_there_is_an_error() {
    assert!(report_of(|| relais_conformance::check("liar.NoSuchPass")).contains("nothing to judge"));
}

/// Where no test of that name can be started, as in a test on the main thread or one that has a thread of its own.
#[test]
fn without_a_process_of_its_own_a_hanging_pass_is_named() {
    let check = || Kit::new().modules(32).deadline(Duration::from_secs(5)).check("liar.Hangs");
    let thread = std::thread::Builder::new().name("main".into()).spawn(check).unwrap();
    let payload = thread.join().expect_err("something is wrong");
    let report = text_of(&*payload);
    assert!(report.contains("pass liar.Hangs: hangs: "), "{report}");
}
