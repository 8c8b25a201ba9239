//! Passes that passes run.

use super::*;
use relais::{
    manager::{FailureKind, Fate},
    pass::{Catalogue, ConfigFacts, NoPass, PassFacts, PluginFacts, RunnablePass},
};
use relais_plugin_api::infer::TypeRelations;
use relais_tests::cli::folder;

type Ran = Result<(IRModule, RunReport), Box<Failure>>;

fn watched(scribe: Scribe, text: &str) -> (Vec<String>, Ran) {
    let events = scribe.events.clone();
    let spec = PipelineSpec::parse("p.toml", text, &Disk).unwrap_or_else(|faults| panic!("{faults}"));
    let pipeline = spec.resolve(&*REGISTRY).unwrap_or_else(|faults| panic!("{faults}"));
    let options = ManagerOptions { instruments: vec![Arc::new(scribe)], ..ManagerOptions::default() };
    let result = manager::run(&pipeline, &module(), &*REGISTRY, &options);
    let events = taken(&events).into_iter().filter(|event| !event.ends_with(" p"));
    (events.collect(), result)
}

fn scribe() -> Scribe {
    Scribe { name: "a", ..Scribe::default() }
}

#[test]
fn r03_instruments_see_a_pass_that_a_pass_runs() {
    let (events, result) = watched(scribe(), "steps = [\"HaveCounted\"]");
    let expected = [
        "a enter",
        "a should_run HaveCounted",
        "a before HaveCounted",
        "a should_run Count",
        "a before Count",
        "a after Count",
        "a after HaveCounted",
        "a exit",
    ];
    assert_eq!(events, expected);
    // It is a part of the step.
    assert_eq!(executed(&result.unwrap().1), ["HaveCounted"]);
}

#[test]
fn r03_a_nested_scope_keeps_the_instruments_of_the_run() {
    let (events, result) = watched(scribe(), "steps = [{ scope = [\"HaveCounted\"], opt_level = 3 }]");
    assert!(result.is_ok());
    assert!(events.contains(&"a before Count".to_owned()), "{events:?}");
}

#[test]
fn r03_an_instrument_stops_a_pass_that_a_pass_runs() {
    let (events, result) = watched(Scribe { vetoes: Some("Count"), ..scribe() }, "steps = [\"HaveCounted\"]");
    let (_, report) = result.unwrap();
    assert!(events.contains(&"a skipped Count".to_owned()), "{events:?}");
    assert!(!events.contains(&"a before Count".to_owned()), "{events:?}");
    assert_eq!(report.executions.last().unwrap().fate, Fate::Unchanged);
}

#[test]
fn r17_no_instrument_is_asked_about_a_required_pass_that_a_pass_runs() {
    let text = "required = [\"Count\"]\nsteps = [\"HaveCounted\"]";
    let (events, _) = watched(Scribe { vetoes: Some("Count"), ..scribe() }, text);
    assert!(events.contains(&"a after Count".to_owned()), "{events:?}");
    assert!(!events.contains(&"a should_run Count".to_owned()), "{events:?}");
}

#[test]
fn r18_a_hook_that_fails_for_a_nested_pass_ends_the_run_whatever_the_policy() {
    for hook in [Hook::ShouldRun, Hook::Before, Hook::After] {
        let scribe = Scribe { fails: Some((hook, "Count")), ..scribe() };
        let (events, result) = watched(scribe, "on_failure = \"skip\"\nsteps = [\"HaveCounted\", \"Count\"]");
        let FailureKind::Instrument(fault) = result.map(|_| ()).unwrap_err().kind else {
            panic!("the instrument is to blame")
        };
        assert_eq!((fault.instrument.as_str(), fault.hook), ("a", hook));
        assert!(events.contains(&"a failed HaveCounted".to_owned()), "{events:?}");
        assert_eq!(events.iter().filter(|event| *event == "a should_run Count").count(), 1, "{events:?}");
    }
}

#[test]
fn r03_what_runs_beside_others_is_told_to_nobody() {
    // 32 turns of a loop run the same pass as the one call after the loop.
    let (events, result) = watched(scribe(), "steps = [\"AskTwice\"]");
    assert!(result.is_ok());
    assert_eq!(events.iter().filter(|event| *event == "a before AskContext").count(), 1, "{events:?}");
}

#[test]
fn r20_dumps_and_traces_number_a_nested_pass_within_its_step() {
    let folder = folder("nested-dump");
    let (dir, trace) = (folder.join("dump"), folder.join("trace.json"));
    let text = format!(
        "instruments = [{{ instrument = \"dump\", options = {{ dir = {dir:?} }} }},\n\
         {{ instrument = \"trace\", options = {{ file = {trace:?} }} }}]\n\
         steps = [\"RunsTwo\", \"Count\"]"
    );
    let spec = PipelineSpec::parse("p.toml", &text, &Disk).unwrap_or_else(|faults| panic!("{faults}"));
    let pipeline = spec.resolve(&*REGISTRY).unwrap_or_else(|faults| panic!("{faults}"));
    let twice = parse(
        "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n  %0 = Relu(%x);\n  %1 = Relu(%0);\n  %1\n}\n",
    );
    manager::run(&pipeline, &twice, &*REGISTRY, &ManagerOptions::default())
        .unwrap_or_else(|failure| panic!("{failure}"));
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let index: Vec<serde_json::Value> =
        read(&dir.join("index.jsonl")).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let row = |entry: &serde_json::Value| {
        let pass = short(entry["pass"].as_str().unwrap()).to_owned();
        (entry["execution"].as_u64().unwrap(), entry["within"].to_string(), pass, entry["file"].to_string())
    };
    let rows: Vec<_> = index.iter().map(row).collect();
    let expected = [
        (1, "[1]", "ReluRelu", "\"001.1-ReluRelu.relay\""),
        (1, "[2]", "Count", "\"000-initial.relay\""),
        (1, "null", "RunsTwo", "\"001-RunsTwo.relay\""),
        (2, "null", "Count", "\"001-RunsTwo.relay\""),
    ];
    assert_eq!(rows, expected.map(|(n, within, pass, file)| (n, within.to_owned(), pass.to_owned(), file.to_owned())));
    let events: serde_json::Value = serde_json::from_str(&read(&trace)).unwrap();
    let number = |name: &str| {
        let events = events["traceEvents"].as_array().unwrap();
        let of_name = events.iter().filter(|event| event["name"].as_str().is_some_and(|it| short(it) == name));
        of_name.map(|event| event["args"]["execution"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!(number("RunsTwo"), [Some(1)]);
    assert_eq!(number("Count"), [None, Some(2)]);
}

/// A catalogue of a program that panics when one pass is requested.
struct Panicking;

impl Catalogue for Panicking {
    fn passes(&self) -> Vec<Arc<PassFacts>> {
        Catalogue::passes(&*REGISTRY)
    }

    fn pass(&self, name: &str) -> Result<Arc<PassFacts>, NoPass> {
        assert!(name != "my.Boom", "the catalogue is broken");
        Catalogue::pass(&*REGISTRY, name)
    }

    fn config_options(&self) -> Vec<ConfigFacts> {
        Catalogue::config_options(&*REGISTRY)
    }

    fn plugins(&self) -> Vec<PluginFacts> {
        Catalogue::plugins(&*REGISTRY)
    }

    fn create(&self, pass: &PassFacts, options: &Value) -> Result<Arc<dyn RunnablePass>, PassError> {
        Catalogue::create(&*REGISTRY, pass, options)
    }

    fn relations(&self) -> Box<dyn TypeRelations + '_> {
        REGISTRY.relations()
    }
}

#[test]
fn r03_a_panic_of_the_host_for_a_plugin_is_an_error_of_the_pass() {
    let runs = pass_with("RunsPass", &[("pass", word("my.Boom"))]);
    let error = runs.run(&Panicking, &module()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("pass `acme.RunsPass`") && error.contains("the catalogue is broken"), "{error}");
    let runs = pass_with("RunsPass", &[("pass", word("Nothing"))]);
    assert!(runs.run(&Panicking, &module()).is_ok());
}
