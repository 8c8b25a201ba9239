//! The built-in instruments, made and around passes that are made up.

use super::{output::Kept, *};
use crate::{
    manager::{self, Failure, FailureKind, ManagerOptions, RunReport},
    pass::{PassInfo, PassInstrument},
    pipeline::{
        Disk, Pipeline, PipelineSpec, defaults,
        fake::{Does, Fakes, module},
    },
};
use relais_plugin_api::{boundary::record::Level, ir::IRModule, text};
use std::{fs, path::PathBuf, time::Duration};

fn fakes() -> Fakes {
    Fakes::default()
        .pass("acme.Add", 0, &[], Does::Change)
        .pass("acme.Nothing", 0, &[], Does::Nothing)
        .pass("acme.Fail", 0, &[], Does::Fail)
        .pass("acme.Remark", 0, &[], Does::Remark)
        .pass("acme.Broken", 0, &[], Does::Break)
}

fn resolve(instruments: &str, steps: &str) -> Result<Pipeline, String> {
    let text = format!("name = \"p\"\non_failure = \"skip\"\ninstruments = [{instruments}]\nsteps = [{steps}]");
    let spec = PipelineSpec::parse("p.toml", &text, &Disk).unwrap_or_else(|faults| panic!("{faults}"));
    spec.resolve(&fakes()).map_err(|faults| faults.to_string())
}

struct Ran {
    printed: String,
    styled: String,
    result: Result<(IRModule, RunReport), Box<Failure>>,
}

impl Ran {
    fn report(&self) -> &RunReport {
        match &self.result {
            Ok((_, report)) => report,
            Err(failure) => &failure.report,
        }
    }

    fn found(&self) -> (&str, &serde_json::Value) {
        let [(_, findings)] = self.report().findings.as_slice() else { panic!("one instrument found something") };
        (&findings.text, &findings.data)
    }
}

fn run(instruments: &str, steps: &str) -> Ran {
    let pipeline = resolve(instruments, steps).unwrap_or_else(|faults| panic!("{faults}"));
    let kept = Arc::new(Kept::default());
    let options = ManagerOptions { output: Some(kept.clone()), ..ManagerOptions::default() };
    let result = manager::run(&pipeline, &module(), &fakes(), &options);
    Ran { printed: kept.text(), styled: kept.styled(), result }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("relais-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

#[test]
fn r04_short_and_full_names_choose_passes_and_wrong_ones_are_told() {
    for name in ["Add", "acme.Add", "Add\", \"Nothing?"] {
        let used = format!("{{ instrument = \"print-before\", options = {{ passes = [\"{name}\"] }} }}");
        let printed = run(&used, "\"Add\", \"Fail\"").printed;
        assert_eq!(printed.matches("// before").count(), 1, "{name}: {printed}");
    }
    // A pass that may be missing, and is missing, does not mean all passes.
    let used = "{ instrument = \"print-before\", options = { passes = [\"Gone?\"] } }";
    assert_eq!(run(used, "\"Add\"").printed, "");
    let wrong = "{ instrument = \"print-before\", options = { passes = [\"Ad\"] } }";
    let faults = resolve(wrong, "\"Add\"").unwrap_err();
    assert!(faults.contains("no pass `Ad`") && faults.contains("p.toml:3:"), "{faults}");
    assert!(faults.contains("did you mean `acme.Add`?"), "{faults}");
    let faults = resolve("\"print-bfore\"", "\"Add\"").unwrap_err();
    assert!(
        faults.contains("no instrument `print-bfore`") && faults.contains("did you mean `print-before`"),
        "{faults}"
    );
}

#[test]
fn r20_the_program_is_printed_before_and_after_passes() {
    let printed = run("\"print-before\", \"print-after\"", "\"Add\", \"Fail\"").printed;
    let expected = "\
// before `acme.Add` of plugin `fakes`
def @main(%x) {
  %x
}

// after `acme.Add` of plugin `fakes`
def @main(%x) {
  %4 = Relu(%x);
  %x
}

// before `acme.Fail` of plugin `fakes`
def @main(%x) {
  %4 = Relu(%x);
  %x
}

// `acme.Fail` of plugin `fakes` failed, the program is as before it: told to fail

";
    assert_eq!(printed, expected);
}

#[test]
fn r20_functions_that_are_not_asked_for_are_not_printed() {
    let used = "{ instrument = \"print-after\", options = { functions = [\"other\"] } }";
    let printed = run(used, "\"Add\"").printed;
    assert!(printed.contains("none of the functions") && !printed.contains("Relu"), "{printed}");
    let used = "{ instrument = \"print-changed\", options = { functions = [\"other\"] } }";
    let expected = "// `acme.Add` of plugin `fakes` changed none of the functions that were asked for\n";
    assert_eq!(run(used, "\"Add\"").printed, expected);
}

#[test]
fn r20_what_changed_is_printed_whole_or_as_a_diff() {
    let steps = "\"Add\", \"Nothing\", \"Fail\"";
    let printed = run("\"print-changed\"", steps).printed;
    let expected = "\
// changed by `acme.Add` of plugin `fakes`
def @main(%x) {
  %4 = Relu(%x);
  %x
}

// `acme.Nothing` of plugin `fakes` changed nothing
// `acme.Fail` of plugin `fakes` failed, the program is as before it
";
    assert_eq!(printed, expected);
    let ran = run("{ instrument = \"print-changed\", options = { form = \"diff\", context = 1 } }", "\"Add\"");
    let expected = "\
// changed by `acme.Add` of plugin `fakes`
--- @main before
+++ @main after
@@ -1,2 +1,3 @@
 def @main(%x) {
+  %4 = Relu(%x);
   %x

";
    assert_eq!(ran.printed, expected);
    assert!(ran.styled.contains("\u{1b}[32m+  %4 = Relu(%x);\u{1b}[0m"), "{:?}", ran.styled);
}

#[test]
fn r20_statistics_are_summed_up_with_threads() {
    let ran = run("\"statistics\"", "\"Remark\", \"Nothing\", \"Remark\"");
    let (text, data) = ran.found();
    assert_eq!(text, "pass         statistic  count\nacme.Remark  things       800\n");
    assert_eq!(data["acme.Remark"]["things"], 800);
    assert_eq!(ran.report().statistics[0].count, 800);
    assert_eq!(run("\"statistics\"", "\"Nothing\"").found().0, "no pass counted anything\n");
}

#[test]
fn r26_remarks_are_made_when_somebody_reads_them() {
    let remarks = |kind: &str| {
        run(&format!("{{ instrument = \"remarks\", options = {{ kind = \"{kind}\" }} }}"), "\"Remark\"").printed
    };
    let passed = "passed: `acme.Remark`: did this (at %2 in `@main`)\n  at: %x\n";
    let missed = "missed: `acme.Remark`: did not do that (at %2 in `@main`)\n  at: %x\n  help: ask for it\n";
    assert_eq!(remarks("passed"), passed);
    assert_eq!(remarks("missed"), missed);
    assert_eq!(remarks("all"), format!("{passed}{missed}"));
    assert_eq!(run("\"statistics\"", "\"Remark\"").printed, "");
}

#[test]
fn r20_sizes_are_those_around_passes() {
    let ran = run("\"ir-size\"", "\"Add\", \"Fail\", \"Nothing\"");
    let (text, data) = ran.found();
    let calls: Vec<_> = data.as_array().unwrap().iter().map(|it| (&it["pass"], &it["after"]["calls"])).collect();
    let calls: Vec<String> = calls.iter().map(|(pass, n)| format!("{} {n}", pass.as_str().unwrap())).collect();
    assert_eq!(calls, ["p 1", "acme.Add 1", "acme.Fail 1", "acme.Nothing 1"]);
    assert!(text.lines().nth(1).unwrap().starts_with("p               0 -> 1"), "{text}");
}

#[test]
fn r20_memory_is_measured_or_said_not_to_be() {
    let ran = run("\"memory\"", "\"Add\", \"Fail\"");
    let (text, data) = ran.found();
    match data["passes"].as_array() {
        Some(passes) => {
            assert_eq!(passes.len(), 3);
            assert!(passes.iter().all(|pass| pass["peak_bytes"].as_u64().unwrap() > 0), "{text}");
            // Passes that run within another one count for it.
            assert!(passes[0]["peak_bytes"].as_u64() >= passes[1]["peak_bytes"].as_u64(), "{text}");
        }
        None => assert!(text.contains("not measured"), "{text}"),
    }
}

#[test]
fn r20_a_dump_reads_back_and_its_index_says_what_each_pass_did() {
    let folder = folder("dump");
    let used = format!("{{ instrument = \"dump\", options = {{ dir = {:?} }} }}", folder.to_str().unwrap());
    let ran = run(&used, "\"Add\", \"Nothing\", \"Fail\", { sequence = [\"Add\"] }");
    assert!(ran.found().0.starts_with("3 dumps are in "), "{}", ran.found().0);
    let index = fs::read_to_string(folder.join("index.jsonl")).unwrap();
    let entries: Vec<serde_json::Value> = index.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<String> = entries
        .iter()
        .map(|entry| format!("{} {} {}", entry["execution"], entry["fate"], entry["file"]).replace('"', ""))
        .collect();
    let expected =
        ["1 changed 001-Add.relay", "2 unchanged 001-Add.relay", "3 failed 001-Add.relay", "4 changed 004-Add.relay"];
    assert_eq!(told, expected);
    let read = |name: &str| text::parse_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap();
    let n_calls = |module: IRModule| Size::of(&module).n_calls;
    assert_eq!(["000-initial.relay", "001-Add.relay", "004-Add.relay"].map(|name| n_calls(read(name))), [0, 1, 2]);
    // A second run does not overwrite the first, unless this is requested.
    let failure = run(&used, "\"Add\"").result.map(|_| ()).unwrap_err();
    assert!(failure.to_string().contains("has files in it"), "{failure}");
    assert!(run(&used.replace(" } }", ", overwrite = true } }"), "\"Add\"").result.is_ok());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn r20_a_trace_is_written_also_after_a_fault() {
    let folder = folder("trace");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("t.json");
    let used = format!("{{ instrument = \"trace\", options = {{ file = {:?} }} }}", file.to_str().unwrap());
    assert!(run(&used, "\"Add\", \"Fail\", { sequence = [\"Nothing\"] }").result.is_ok());
    let trace: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    for event in events {
        // The properties that the format requires of every event, and of complete ones.
        assert!(event["name"].is_string() && event["ph"].is_string() && event["ts"].is_number(), "{event}");
        assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
        assert_eq!(event["ph"] == "X", event["dur"].is_number(), "{event}");
    }
    let spans: Vec<&serde_json::Value> = events.iter().filter(|it| it["cat"] == "pass").collect();
    let names: Vec<&str> = spans.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["acme.Add", "acme.Fail", "acme.Nothing"]);
    assert_eq!(spans[1]["args"]["error"], "told to fail");
    assert_eq!(spans[2]["args"]["execution"], 3);
    // Spans of one track nest: each ends within the one around it.
    let end = |it: &serde_json::Value| it["ts"].as_f64().unwrap() + it["dur"].as_f64().unwrap();
    let around = events.iter().find(|it| it["name"] == "p").unwrap();
    assert!(spans.iter().all(|it| it["ts"].as_f64() >= around["ts"].as_f64() && end(it) <= end(around)));
    let used = used.replace("t.json", "gone/t.json");
    let failure = run(&used, "\"Add\"").result.map(|_| ()).unwrap_err();
    assert!(failure.to_string().contains("does not exist"), "{failure}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn r25_the_verifier_takes_back_what_a_pass_broke() {
    let ran = run("\"verifier\"", "\"Add\", \"Broken\", \"Nothing\"");
    let (module, report) = ran.result.as_ref().unwrap_or_else(|failure| panic!("{failure}"));
    assert!(report.warnings[0].contains("`acme.Broken`") && report.warnings[0].contains("breaks the program"));
    assert_eq!(Size::of(module).n_calls, 1);
}

#[test]
fn an_instrument_that_cannot_be_made_fails_the_run_before_any_pass() {
    let failure =
        run("{ instrument = \"trace\", options = { file = \"/\" } }", "\"Add\"").result.map(|_| ()).unwrap_err();
    assert!(matches!(failure.kind, FailureKind::Instrument(_)) && failure.report.executions.is_empty());
}

#[test]
fn r20_instruments_of_plugins_are_named_as_built_in_ones_are() {
    let fakes = fakes().instrument("acme.watches", "acme").instrument("twice", "acme").instrument("twice", "other");
    let resolve = |used: &str| {
        let text = format!("instruments = [{used}]\nsteps = [\"Nothing\"]");
        PipelineSpec::parse("p.toml", &text, &Disk).unwrap().resolve(&fakes).map_err(|faults| faults.to_string())
    };
    let pipeline = resolve("\"verifier\", { instrument = \"acme.watches\", options = { what = \"x\" } }").unwrap();
    let (_, report) = manager::run(&pipeline, &module(), &fakes, &ManagerOptions::default()).unwrap();
    assert_eq!(fakes.ran(), "acme.watches{ what = \"x\" } acme.Nothing");
    assert_eq!((report.findings[0].0.as_str(), report.findings[0].1.text.as_str()), ("acme.watches", "seen\n"));
    for (used, why) in [
        ("\"acme.watches\"", "`acme.watches` needs its option `what`"),
        ("{ instrument = \"acme.watches\", options = { waht = \"x\" } }", "did you mean `what`?"),
        ("\"acme.wacthes\"", "did you mean `acme.watches`?"),
        ("\"twice\"", "several plugins provide instrument `twice`"),
    ] {
        let faults = resolve(used).unwrap_err();
        assert!(faults.contains(why), "{used}: {faults}");
    }
}

#[test]
fn every_file_registers_its_instrument() {
    let names: Vec<&str> = built_in().iter().map(|built_in| built_in.name).collect();
    let expected = [
        "budget",
        "dump",
        "ir-size",
        "memory",
        "print-after",
        "print-before",
        "print-changed",
        "remarks",
        "statistics",
        "timing",
        "trace",
        "verifier",
    ];
    assert_eq!(names, expected);
    assert!(find("timing").is_some() && find("timming").is_none());
}

#[test]
fn r20_instruments_have_documentation_and_are_made_from_their_defaults() {
    let output: Arc<dyn Output> = Arc::new(StandardError);
    for built_in in built_in() {
        assert!(!built_in.doc.is_empty(), "{built_in:?}");
        for option in (built_in.options)() {
            assert!(!option.doc.is_empty(), "{built_in:?}: {}", option.name);
        }
        // An instrument with a mandatory option cannot be made without it.
        let options = defaults(&(built_in.options)());
        let is_made = options.is_some_and(|options| built_in.create(&options, &output).is_ok());
        assert_eq!(is_made, !["dump", "trace"].contains(&built_in.name), "{built_in:?}");
    }
}

#[test]
fn r22_options_of_instruments_are_checked() {
    let output: Arc<dyn Output> = Arc::new(StandardError);
    let options = Value::Struct(vec![("fromat".into(), Value::Str("tree".into()))]);
    let error = find("timing").unwrap().create(&options, &output).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "there is no option `fromat`; did you mean `format`?");
}

#[test]
fn r20_what_other_instruments_take_is_not_the_passes_time() {
    struct Slow;

    impl PassInstrument for Slow {
        fn name(&self) -> &str {
            "slow"
        }

        fn before(&self, _: &IRModule, _: &crate::pass::PassInfo<'_>) -> Result<(), PassError> {
            std::thread::sleep(std::time::Duration::from_millis(30));
            Ok(())
        }
    }

    let pipeline = resolve("", "\"Nothing\"").unwrap();
    let timing = Arc::new(Timing::default());
    let options = ManagerOptions { instruments: vec![timing.clone(), Arc::new(Slow)], ..ManagerOptions::default() };
    assert!(manager::run(&pipeline, &module(), &fakes(), &options).is_ok());
    let times = timing.times();
    let millis = |at: usize| times[at].total.as_millis();
    assert!(millis(0) >= 30 && millis(1) < 25, "{times:?}");
}

#[test]
fn r20_what_a_pass_runs_counts_once() {
    let (timing, module) = (Timing::default(), module());
    let info = |name| PassInfo { name, plugin: "", level: Level::MODULE, opt_level: 0, required: &[] };
    let [outer, inner] = ["acme.Outer", "acme.Inner"].map(info);
    let seconds = Duration::from_secs;
    timing.before(&module, &outer).unwrap();
    timing.before(&module, &inner).unwrap();
    timing.took(&inner, seconds(3));
    timing.after(&module, &inner).unwrap();
    timing.took(&outer, seconds(5));
    timing.types_took(seconds(1));
    timing.after(&module, &outer).unwrap();
    let times: Vec<_> = timing.times().into_iter().map(|time| (time.name, time.depth, time.total, time.own)).collect();
    let row = |name: &str, depth, total, own| (name.to_owned(), depth, seconds(total), seconds(own));
    assert_eq!(times, [row("acme.Outer", 0, 6, 2), row("acme.Inner", 1, 3, 3), row("(types)", 1, 1, 1)]);
}
