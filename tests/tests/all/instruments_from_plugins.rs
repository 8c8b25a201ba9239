//! Instruments of plugins: made by name, asked at every hook, and named when they fail (rules R17, R18, R20).

use relais::{
    ir::IRModule,
    manager::{self, Failure, FailureKind, ManagerOptions, RunReport},
    pass::{Catalogue, NoPass, PassInstrument},
    pipeline::{Disk, Pipeline, PipelineSpec},
    plugin::{Discovery, Policy, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
};
use relais_plugin_api::{options::Value, text};
use relais_tests::{
    cargo_built::plugin,
    cli::{Run, folder, relais},
};
use std::{fs, path::PathBuf, sync::Arc};

type Outcome = Result<(IRModule, RunReport), Box<Failure>>;

fn registry(plugins: &[&str]) -> Registry {
    let files: Vec<PathBuf> = plugins.iter().map(|name| plugin(name)).collect();
    let found = discover(&[], &files, Policy { writable: WritableFiles::Allow });
    let registry = Registry::new(found, Linked::Exclude, &Choices::new());
    assert_eq!(registry.refused(), []);
    registry
}

fn table(entries: &[(&str, Value)]) -> Value {
    Value::Struct(entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

fn word(value: &str) -> Value {
    Value::Str(value.to_owned())
}

fn pipeline(registry: &Registry, text: &str) -> Pipeline {
    let spec = PipelineSpec::parse("p.toml", text, &Disk).unwrap_or_else(|faults| panic!("{faults}"));
    spec.resolve(registry).unwrap_or_else(|faults| panic!("{faults}"))
}

fn module() -> IRModule {
    text::parse_str("def @main(%x) { %1 = Relu(%x); %1 }").unwrap()
}

fn run(registry: &Registry, text: &str, instruments: Vec<Arc<dyn PassInstrument>>) -> Outcome {
    let options = ManagerOptions { instruments, ..ManagerOptions::default() };
    manager::run(&pipeline(registry, text), &module(), registry, &options)
}

/// The notes of `acme.Scribe` about a run.
struct Scribe {
    path: PathBuf,
}

impl Scribe {
    fn new(test: &str) -> Self {
        Self { path: folder(test).join("said") }
    }

    fn options(&self, more: &[(&str, Value)]) -> Value {
        let path = ("path", word(self.path.to_str().unwrap()));
        table(&[&[path], more].concat())
    }

    fn said(&self) -> Vec<String> {
        fs::read_to_string(&self.path).unwrap().lines().map(str::to_owned).collect()
    }

    /// Runs a pipeline under a scribe with these options.
    fn watch(&self, text: &str, more: &[(&str, Value)]) -> Outcome {
        let registry = registry(&["rules"]);
        let scribe = Catalogue::create_instrument(&registry, "acme.Scribe", &self.options(more)).unwrap();
        run(&registry, text, vec![scribe])
    }
}

const STEPS: &str = "name = \"p\"\nsteps = [\"NeedsNothing\", \"NeedsNothing\"]";

#[test]
fn r17_every_hook_is_called_in_its_place() {
    let scribe = Scribe::new("instrument-hooks");
    assert!(scribe.watch(STEPS, &[]).is_ok());
    assert_eq!(
        scribe.said(),
        [
            "new",
            "acme.Scribe enter, level 2",
            "should_run p",
            "before p of \"\", sequential, 0, [], 1 global, level 2",
            "should_run Nothing",
            "before acme.Nothing of \"acme-rules\", function, 1, [], 1 global, level 2",
            "after acme.Nothing",
            "should_run NeedsNothing",
            "before acme.NeedsNothing of \"acme-rules\", module, 0, [\"Nothing\"], 1 global, level 2",
            "after acme.NeedsNothing",
            "should_run Nothing",
            "skipped acme.Nothing: what it establishes holds (other)",
            "should_run NeedsNothing",
            "before acme.NeedsNothing of \"acme-rules\", module, 0, [\"Nothing\"], 1 global, level 2",
            "after acme.NeedsNothing",
            "after p",
            "exit, level 2",
        ]
    );
}

#[test]
fn r17_one_no_is_enough() {
    let scribe = Scribe::new("instrument-veto");
    let vetoes = ("vetoes", Value::List(vec![word("Nothing")]));
    let (_, report) = scribe.watch("steps = [\"NeedsNothing\"]", &[vetoes]).unwrap();
    let said = scribe.said();
    assert!(said.contains(&"skipped acme.Nothing: vetoed by an instrument (vetoed)".to_owned()), "{said:?}");
    assert!(!said.iter().any(|line| line.starts_with("before acme.")), "{said:?}");
    assert_eq!(report.warnings, ["`acme.NeedsNothing` is skipped: `acme.Nothing`, which it requires, did not run"]);
}

#[test]
fn r18_what_fails_is_told() {
    let scribe = Scribe::new("instrument-told");
    assert!(scribe.watch("name = \"p\"\nsteps = [\"Fails\"]", &[]).is_err());
    let said = scribe.said();
    let end = ["failed acme.Fails: told to fail", "failed p: told to fail", "exit, level 2"];
    assert_eq!(said[said.len() - 3..], end, "{said:?}");
}

/// Runs with a scribe that fails at a hook, and returns the outcome.
fn fault(test: &str, hook: &str, how: &str) -> (Outcome, Vec<String>) {
    let scribe = Scribe::new(&format!("{test}-{hook}-{how}"));
    let outcome = scribe.watch("steps = [\"Nothing\"]", &[("fails_at", word(hook)), ("how", word(how))]);
    (outcome, scribe.said())
}

#[test]
fn r18_an_error_in_a_hook_keeps_its_code_and_its_help() {
    for hook in ["enter", "exit", "should_run", "before", "after"] {
        let (outcome, said) = fault("instrument-error", hook, "error");
        let FailureKind::Instrument(fault) = outcome.err().unwrap().kind else { panic!("{hook}") };
        assert_eq!(
            fault.to_string(),
            format!("instrument `acme.Scribe` failed at `{hook}`: told to fail\n  help: tell it otherwise")
        );
        assert_eq!(fault.error.rec().code, "told");
        assert_eq!(said.iter().filter(|line| line.starts_with("exit")).count(), usize::from(hook != "enter"));
        assert_eq!(said.iter().any(|line| line.starts_with("after acme.")), ["exit", "after"].contains(&hook));
    }
}

#[test]
fn r18_a_panic_in_a_hook_is_an_error_with_its_place() {
    for hook in ["enter", "exit", "should_run", "before", "after"] {
        let (outcome, _) = fault("instrument-panic", hook, "panic");
        let failure = outcome.err().unwrap().to_string();
        let start = format!(
            "instrument `acme.Scribe` failed at `{hook}`: panicked: told to panic\n  at rules/src/instruments.rs:"
        );
        assert!(failure.starts_with(&start), "{failure}");
    }
}

/// These hooks return nothing, so their panics are reported when the context is left.
#[test]
fn r18_a_panic_in_a_hook_that_cannot_fail_is_not_lost() {
    let scribe = Scribe::new("instrument-skipped-panic");
    let skips = [("fails_at", word("skipped")), ("how", word("panic"))];
    let failure = scribe.watch(STEPS, &skips).err().unwrap().to_string();
    assert!(
        failure.starts_with("instrument `acme.Scribe` failed at `exit`: panicked: told to panic\n  at rules/src"),
        "{failure}"
    );
    assert!(scribe.said().contains(&"after p".to_owned()));

    let scribe = Scribe::new("instrument-failed-panic");
    let fails = [("fails_at", word("failed")), ("how", word("panic"))];
    let failure = scribe.watch("steps = [\"Fails\"]", &fails).err().unwrap();
    assert!(matches!(failure.kind, FailureKind::Pass { .. }), "{failure}");
    assert!(failure.to_string().contains("then instrument `acme.Scribe` failed at `exit`: panicked"), "{failure}");
}

#[test]
fn a_constructor_that_fails_is_named() {
    let registry = registry(&["rules"]);
    for (how, said) in [("error", "told to fail"), ("panic", "panicked: told to panic\n  at rules/src")] {
        let options = Scribe::new("instrument-new").options(&[("fails_at", word("new")), ("how", word(how))]);
        let error = Catalogue::create_instrument(&registry, "Scribe", &options).err().unwrap().to_string();
        assert!(error.contains("did not make instrument `acme.Scribe`") && error.contains(said), "{error}");
    }
}

#[test]
fn a_panic_while_it_is_dropped_ends_nothing() {
    let (outcome, _) = fault("instrument-drop", "drop", "panic");
    assert!(outcome.is_ok());
}

#[test]
fn r22_the_options_of_an_instrument_are_checked() {
    let registry = registry(&["rules"]);
    let error = |options| registry.create_instrument("Scribe", &options).err().unwrap().to_string();
    assert_eq!(
        error(table(&[])),
        "instrument `acme.Scribe`: option `path` must be given: it takes a string and has no default"
    );
    let unknown = error(table(&[("path", word("p")), ("veto", Value::List(Vec::new()))]));
    assert_eq!(unknown, "instrument `acme.Scribe`: there is no option `veto`; did you mean `vetoes`?");
}

#[test]
fn r04_instruments_have_full_and_short_names() {
    let one = registry(&["rules"]);
    assert!(one.create_instrument("Counter", &table(&[])).is_ok());
    let error = one.create_instrument("Countr", &table(&[])).err().unwrap().to_string();
    assert_eq!(error, "no plugin provides instrument `Countr`; did you mean `Counter`?");
    assert_eq!(Catalogue::instrument(&one, "Scribe").unwrap().name, "acme.Scribe");
    assert!(matches!(Catalogue::instrument(&one, "Scrib"), Err(NoPass::Unknown(near)) if near == ["Scribe"]));
    let names: Vec<String> = Catalogue::instruments(&one).into_iter().map(|facts| facts.name).collect();
    assert_eq!(names, ["acme.Counter", "acme.Reviewer", "acme.Scribe"]);

    let two = registry(&["rules", "rival"]);
    for name in ["acme.Counter", "Counter"] {
        let error = two.create_instrument(name, &table(&[])).err().unwrap().to_string();
        assert!(error.starts_with(&format!("instrument `{name}` is provided more than once, by `acme-rules 0.3.0`")));
        assert!(error.contains("and `acme-rival 0.1.0`"), "{error}");
        assert!(matches!(Catalogue::instrument(&two, name), Err(NoPass::Conflict(plugins)) if plugins.len() == 2));
    }
    // An item that only one of them has works.
    assert!(two.create_instrument("Scribe", &Scribe::new("instrument-two").options(&[])).is_ok());
}

fn cli(args: &[&str]) -> Run {
    let library = plugin("rules");
    relais([args, &["--plugin", library.to_str().unwrap()]].concat())
}

#[test]
fn they_are_listed_and_described() {
    let list = cli(&["list", "instruments"]).expect_success().stdout;
    let line = list.lines().find(|line| line.starts_with("acme.Counter")).unwrap();
    assert!(line.contains("acme-rules 0.3.0") && line.ends_with("Counts the passes that ran."), "{list}");
    assert!(list.lines().any(|line| line.starts_with("timing ") && line.contains("(built in)")), "{list}");

    let json = cli(&["list", "instruments", "--json"]).expect_success().stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let scribe = json.as_array().unwrap().iter().find(|entry| entry["name"] == "acme.Scribe").unwrap();
    assert_eq!(scribe["plugin"], "acme-rules");
    let options: Vec<&str> =
        scribe["options"].as_array().unwrap().iter().map(|option| option["name"].as_str().unwrap()).collect();
    assert_eq!(options, ["path", "vetoes", "fails_at", "how"]);

    let described = cli(&["describe", "Scribe"]).expect_success().stdout;
    for said in
        ["instrument acme.Scribe", "acme-rules 0.3.0", "Writes down what it is told.", "Passes that it does not"]
    {
        assert!(described.contains(said), "{described}");
    }
    let described = cli(&["describe", "acme-rules"]).expect_success().stdout;
    assert!(described.contains("instruments acme.Counter, acme.Reviewer, acme.Scribe"), "{described}");
}

#[test]
fn what_passes_count_is_described() {
    let described = cli(&["describe", "acme.Count"]).expect_success().stdout;
    assert!(described.contains("\nstatistics\n  calls  calls seen\n  turns  turns of a loop\n"), "{described}");
    let json = cli(&["list", "passes", "--json"]).expect_success().stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let pass = json.as_array().unwrap().iter().find(|pass| pass["name"] == "acme.HaveCounted").unwrap();
    assert_eq!(pass["statistics"], serde_json::json!([{ "name": "asked", "doc": "passes asked" }]));
}

#[test]
fn pipelines_and_the_command_line_name_them() {
    let scribe = Scribe::new("instrument-named");
    let folder = scribe.path.parent().unwrap();
    let [model, file, out] = ["in.relay", "p.toml", "out.relay"].map(|name| folder.join(name));
    fs::write(&model, "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %1 = Relu(%x); %1 }").unwrap();
    let named = "{ instrument = \"Scribe\", options = { path = \"PATH\" } }";
    let named = named.replace("PATH", scribe.path.to_str().unwrap());
    fs::write(&file, format!("name = \"p\"\ninstruments = [{named}]\nsteps = [\"Nothing\", \"acme.Count\"]\n"))
        .unwrap();
    let [model, file, out] = [&model, &file, &out].map(|path| path.to_str().unwrap());
    let run = cli(&["run", model, "-o", out, "-p", file, "--instrument", "Counter", "--stats"]).expect_success();
    assert!(scribe.said().contains(&"after acme.Count".to_owned()));
    // The passes and the pipeline itself.
    assert!(run.stderr.contains("acme.Counter: 3 passes ran"), "{}", run.stderr);
    assert!(run.stderr.contains("calls") && run.stderr.contains("turns"), "{}", run.stderr);

    let run = cli(&["run", model, "-o", out, "--passes", "Nothing", "--instrument", "Countr"]).expect_failure();
    assert!(
        run.stderr.contains("no instrument `Countr`") && run.stderr.contains("did you mean `Counter`"),
        "{}",
        run.stderr
    );
}

/// The counts of a shipped pass on a module.
fn counted(pass: &str, text: &str) -> Vec<String> {
    let registry = Registry::new(Discovery::default(), Linked::Include, &Choices::new());
    let pipeline = pipeline(&registry, &format!("opt_level = 3\nsteps = [\"{pass}\"]"));
    let module = text::parse_str(text).unwrap_or_else(|faults| panic!("{faults:?}"));
    let (_, report) = manager::run(&pipeline, &module, &registry, &ManagerOptions::default()).unwrap();
    let own = report.statistics.iter().filter(|statistic| statistic.pass.ends_with(pass));
    own.map(|statistic| format!("{} {}", statistic.name, statistic.count)).collect()
}

#[test]
fn what_shipped_passes_count() {
    let f = |body: &str| format!("def @main(%x: Tensor[(2), float32]) #[opset = {{\"\": 17}}] {{ {body} }}");
    let twice = f("%1 = Relu(%x); %2 = Relu(%x); %3 = Add(%1, %2); %3");
    assert_eq!(counted("EliminateCommonSubexpr", &twice), ["merged 1"]);
    let dead = f("%1 = Relu(%x); %2 = Neg(%1); %3 = Relu(%x); %3");
    assert_eq!(counted("DeadCodeElimination", &dead), ["removed 2"]);
    assert_eq!(counted("InferType", &dead), ["typed 3"]);
    assert_eq!(counted("ToANormalForm", &dead), ["turned 3"]);
    assert_eq!(counted("EliminateNoOp", &f("%1 = Identity(%x); %2 = Relu(%1); %2")), ["rewritten 1"]);
    let constant = f("%1 = const(float32, [1.0, 2.0]); %2 = Add(%1, %1); %3 = Mul(%2, %1); %4 = Mul(%x, %3); %4");
    assert_eq!(counted("FoldConstant", &constant), ["folded 2"]);
    // A pass that has nothing to do counts nothing.
    for pass in ["DeadCodeElimination", "EliminateCommonSubexpr", "EliminateNoOp", "FoldConstant"] {
        assert_eq!(counted(pass, &f("%1 = Relu(%x); %1")), Vec::<String>::new(), "{pass}");
    }
}

/// Runs a pipeline on two `Relu`s under `acme.Reviewer`: the failure, if any, and the findings.
fn reviewed(text: &str, options: &[(&str, Value)]) -> (Option<String>, Vec<String>) {
    let registry = registry(&["rules"]);
    let reviewer = Catalogue::create_instrument(&registry, "acme.Reviewer", &table(options)).unwrap();
    let module = text::parse_str("def @main(%x) { %1 = Relu(%x); %2 = Relu(%1); %2 }").unwrap();
    let run_options = ManagerOptions { instruments: vec![reviewer], ..ManagerOptions::default() };
    let outcome = manager::run(&pipeline(&registry, text), &module, &registry, &run_options);
    let (failure, report) = match outcome {
        Ok((_, report)) => (None, report),
        Err(failure) => (Some(failure.to_string()), failure.report),
    };
    let [(name, findings)] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!(name, "acme.Reviewer");
    if let Some(seen) = findings.data["seen"].as_array() {
        let seen: String = seen.iter().map(|line| format!("{}\n", line.as_str().unwrap())).collect();
        assert_eq!((&findings.text, &findings.data["half"]), (&seen, &0.5.into()));
    }
    (failure, findings.text.lines().map(str::to_owned).collect())
}

#[test]
fn r17_an_instrument_of_a_plugin_is_told_what_built_in_ones_are() {
    let (failure, seen) = reviewed("steps = [\"Count\", \"RefuseNeg\", \"ReluRelu\"]", &[]);
    let expected = [
        "took acme.Count",
        "counted acme.Count calls 2",
        "counted acme.Count turns 100",
        "took acme.RefuseNeg",
        "said acme.RefuseNeg seen about nothing",
        "took acme.ReluRelu",
        "said acme.ReluRelu rewrote 1 call about nothing",
        "counted acme.ReluRelu rewritten 1",
        "accept acme.ReluRelu",
    ];
    assert_eq!((failure, seen), (None, expected.map(str::to_owned).to_vec()));
}

#[test]
fn r17_a_panic_in_such_a_hook_is_the_instruments_fault() {
    for hook in ["counted", "said", "took"] {
        let (failure, _) = reviewed("steps = [\"Count\", \"RefuseNeg\"]", &[("panics", word(hook))]);
        let failure = failure.unwrap();
        assert!(failure.contains("`acme.Reviewer`") && failure.contains("told to panic"), "{hook}: {failure}");
    }
    let (failure, seen) = reviewed("steps = [\"Count\"]", &[("panics", word("findings"))]);
    assert!(failure.is_none() && seen[0].starts_with("its findings are lost") && seen[0].contains("told to panic"));
}

#[test]
fn r25_an_instrument_of_a_plugin_refuses_results_and_gives_passes_no_time() {
    let (failure, _) = reviewed("steps = [\"ReluRelu\"]", &[("refused", word("Relu"))]);
    let failure = failure.unwrap();
    assert!(failure.contains("pass `acme.ReluRelu`") && failure.contains("`Relu` is left"), "{failure}");
    let (failure, seen) =
        reviewed("on_failure = \"skip\"\nsteps = [\"ReluRelu\", \"Count\"]", &[("refused", word("Relu"))]);
    assert!(failure.is_none() && seen.contains(&"counted acme.Count calls 2".to_owned()), "{seen:?}");
    let (failure, _) = reviewed("steps = [\"Sleeps\"]", &[("hurried", word("acme.Sleeps"))]);
    let failure = failure.unwrap();
    assert!(failure.contains("pass `acme.Sleeps`") && failure.contains("was hurried"), "{failure}");
}
