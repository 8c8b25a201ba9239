//! The consequences of a failing hook, row by row (rule R18), and printing between passes (rule R20).

use super::*;
use relais::{
    instruments::{Output, PrintAfter, PrintBefore, Selection},
    pass::{ContextError, PassContext},
};
use relais_tests::cli::{folder, relais};

/// The consequences when `b` of three instruments fails: the notes, how many instruments are left, and whether the
/// context is still entered afterwards.
fn failing_at(hook: Hook, at: &'static str, passes: &[&str]) -> (Vec<String>, usize, Result<(), String>) {
    let (events, instruments) = scribes(3, "b", hook, at);
    let context = Arc::new(library().context().opt_level(6).build().unwrap().with_instruments(instruments));
    let sequence = Pass::sequence("s", passes.iter().map(|name| pass(name)));
    let ran = context.scope(|_| run(&sequence, &module()).map(|_| ()).map_err(|error| error.to_string()));
    let result = match ran.map_err(|error| error.error) {
        Ok(result) => result,
        Err(ContextError::Hook(fault)) => Err(fault.to_string()),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(PassContext::current().settings().opt_level, 2, "the context is left");
    (taken(&events), context.instruments().len(), result)
}

/// One event of each of the three.
fn all(what: &str) -> Vec<String> {
    ["a", "b", "c"].iter().map(|who| format!("{who} {what}")).collect()
}

fn one(what: &str) -> Vec<String> {
    vec![what.to_owned()]
}

#[test]
fn r18_enter_fails() {
    let (events, n_left, result) = failing_at(Hook::Enter, "", &["Nothing"]);
    assert_eq!(events, ["a enter", "b enter", "a exit"]);
    assert_eq!((n_left, result), (0, Err("instrument `b` failed at `enter`: told to fail".to_owned())));
    // With two before it, they exit in reverse.
    let (events, instruments) = scribes(3, "c", Hook::Enter, "");
    let context = Arc::new(library().context().build().unwrap().with_instruments(instruments));
    assert!(context.scope(|_| panic!("it is not entered")).is_err());
    assert_eq!(taken(&events), ["a enter", "b enter", "c enter", "b exit", "a exit"]);
}

#[test]
fn r18_exit_fails() {
    let (events, n_left, result) = failing_at(Hook::Exit, "", &[]);
    assert_eq!(events[events.len() - 3..], ["c after s", "a exit", "b exit"]);
    assert_eq!((n_left, result), (0, Err("instrument `b` failed at `exit`: told to fail".to_owned())));
}

#[test]
fn r18_should_run_fails() {
    let (events, n_left, result) = failing_at(Hook::ShouldRun, "Nothing", &["Nothing", "EditGlobals"]);
    let asked = ["a should_run Nothing", "b should_run Nothing"].map(String::from).to_vec();
    let expected = [all("enter"), all("should_run s"), all("before s"), asked, all("failed s"), all("exit")].concat();
    assert_eq!(events, expected);
    assert_eq!((n_left, result), (3, Err("instrument `b` failed at `should_run`: told to fail".to_owned())));
}

#[test]
fn r18_before_fails() {
    let (events, n_left, result) = failing_at(Hook::Before, "Nothing", &["Nothing", "EditGlobals"]);
    let begun = ["a before Nothing", "b before Nothing"].map(String::from).to_vec();
    let expected = [
        all("enter"),
        all("should_run s"),
        all("before s"),
        all("should_run Nothing"),
        begun,
        one("a failed Nothing"),
        all("failed s"),
        all("exit"),
    ];
    assert_eq!(events, expected.concat());
    assert_eq!((n_left, result), (3, Err("instrument `b` failed at `before`: told to fail".to_owned())));
}

#[test]
fn r18_the_pass_fails() {
    let (events, n_left, result) = failing_at(Hook::Make, "", &["Fails", "Nothing"]);
    let expected = [
        all("enter"),
        all("should_run s"),
        all("before s"),
        all("should_run Fails"),
        all("before Fails"),
        all("failed Fails"),
        all("failed s"),
        all("exit"),
    ];
    assert_eq!(events, expected.concat());
    let message = "pass `acme.Fails` of plugin `acme-rules` 0.3.0 failed: told to fail".to_owned();
    assert_eq!((n_left, result), (3, Err(message)));
}

#[test]
fn r18_after_fails() {
    let (events, n_left, result) = failing_at(Hook::After, "Nothing", &["Nothing", "EditGlobals"]);
    let expected = [
        all("enter"),
        all("should_run s"),
        all("before s"),
        all("should_run Nothing"),
        all("before Nothing"),
        ["a after Nothing", "b after Nothing", "b failed Nothing", "c failed Nothing"].map(String::from).to_vec(),
        all("failed s"),
        all("exit"),
    ];
    assert_eq!(events, expected.concat());
    assert_eq!((n_left, result), (3, Err("instrument `b` failed at `after`: told to fail".to_owned())));
}

#[test]
fn r18_a_context_whose_pass_failed_can_be_used_again() {
    let (events, instruments) = scribes(1, "a", Hook::Before, "Nothing");
    let context = Arc::new(library().context().build().unwrap().with_instruments(instruments));
    for _ in 0..2 {
        context.scope(|_| assert!(run(&pass("Nothing"), &module()).is_err())).unwrap();
        assert_eq!(taken(&events), ["a enter", "a should_run Nothing", "a before Nothing", "a exit"]);
    }
    context.scope(|_| ran_well(&pass("EditGlobals"), &module())).unwrap();
    assert_eq!(taken(&events).len(), 5);
}

#[test]
fn r18_a_second_fault_is_attached_to_the_first() {
    let failing =
        |name, fails| -> Arc<dyn PassInstrument> { Arc::new(Scribe { name, fails: Some(fails), ..Scribe::default() }) };
    let instruments = vec![failing("a", (Hook::Exit, "")), failing("b", (Hook::Enter, ""))];
    let context = Arc::new(library().context().build().unwrap().with_instruments(instruments));
    let Err(ContextError::Hook(fault)) = context.scope(|_| ()).map_err(|error| error.error) else {
        panic!("it is not entered")
    };
    assert_eq!((fault.instrument.as_str(), fault.also[0].instrument.as_str()), ("b", "a"));
    let spec = PipelineSpec::parse("p.toml", "steps = [\"Fails\"]", &Disk).unwrap();
    let pipeline = spec.resolve(&*REGISTRY).unwrap();
    let options = ManagerOptions { instruments: vec![failing("c", (Hook::Exit, ""))], ..ManagerOptions::default() };
    let failure = manager::run(&pipeline, &module(), &*REGISTRY, &options).map(|_| ()).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "pass `acme.Fails` of plugin `acme-rules` 0.3.0 failed: told to fail\n  \
         then instrument `c` failed at `exit`: told to fail"
    );
}

fn foldable() -> IRModule {
    parse("def @main() #[opset = {\"\": 17}] {\n  %0 = Add(1.0, 2.0);\n  %0\n}\n")
}

#[test]
fn r20_print_ir_stands_between_passes() {
    let print_ir = |header: &str| pass_with("relais.PrintIR", &[("header", word(header))]);
    let sequence = Pass::sequence("s", [print_ir("first"), pass("FoldConstant"), print_ir("second"), pass("PrintIR")]);
    let module = foldable();
    let (out, report) = ran_well(&sequence, &module);
    let printed: Vec<String> = said(&report).into_iter().filter(|said| said.starts_with("PrintIR")).collect();
    let [first, second, third] = printed.as_slice() else { panic!("{printed:?}") };
    assert!(first.starts_with("PrintIR(first):\ndef @main()") && first.contains("Add("), "{first}");
    assert!(second.starts_with("PrintIR(second):\n") && !second.contains("Add("), "{second}");
    assert!(third.starts_with("PrintIR():\n") && third.ends_with(print(&out).trim_end()), "{third}");
    assert_eq!(changed(&module, &ran_well(&pass("PrintIR"), &module).0), Vec::<String>::new());
}

#[test]
fn r20_the_command_line_shows_what_is_printed_and_nothing_else() {
    let folder = folder("rules-print-ir");
    let [model, out] = ["in.relay", "out.relay"].map(|name| folder.join(name).to_str().unwrap().to_owned());
    std::fs::write(&model, print(&foldable())).unwrap();
    let said = relais(["run", &model, "-o", &out, "--passes", "PrintIR"]).expect_success().stderr;
    assert!(said.contains("PrintIR():\ndef @main()"), "{said}");
    let said = relais(["run", &model, "-o", &out, "--passes", "InferType"]).expect_success().stderr;
    assert!(!said.contains("def @main()"), "{said}");
    // At once, and once.
    let passes = "--passes=InferType,PrintIR,FoldConstant";
    let said = relais(["run", &model, "-o", &out, passes, "--instrument", "print-before"]).expect_success().stderr;
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text}: {said}"));
    assert!(at("before `relais.InferType`") < at("PrintIR():"), "{said}");
    assert!(at("PrintIR():") < at("before `relais.FoldConstant`"), "{said}");
    assert_eq!(said.matches("PrintIR():").count(), 1, "{said}");
}

#[test]
fn r20_the_program_is_printed_before_and_after_passes_of_plugins() {
    struct Lines(Events);
    impl Output for Lines {
        fn print(&self, text: &str) {
            self.0.lock().unwrap().extend(text.lines().filter(|line| line.starts_with("//")).map(str::to_owned));
        }
    }
    let lines = Events::default();
    let output: Arc<dyn Output> = Arc::new(Lines(lines.clone()));
    let every = || Selection::new([], []);
    let instruments: Vec<Arc<dyn PassInstrument>> =
        vec![Arc::new(PrintBefore::new(every(), output.clone())), Arc::new(PrintAfter::new(every(), output))];
    let context = Arc::new(library().context().build().unwrap().with_instruments(instruments));
    context.scope(|_| ran_well(&Pass::sequence("_pipeline", [pass("Nothing")]), &module())).unwrap();
    let of = "`acme.Nothing` of plugin `acme-rules`";
    let (before, after) = (format!("// before {of}"), format!("// after {of}"));
    assert_eq!(taken(&lines), [before, after], "sequences are not printed: what is in them is");
}

/// The short names of the passes that a finding of `timing` is about, in order.
fn timed(findings: &serde_json::Value) -> Vec<String> {
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let passes = list(findings).into_iter().flat_map(|pass| [vec![pass.clone()], list(&pass["within"])].concat());
    let names = passes.filter_map(|pass| pass["pass"].as_str().map(|name| short(name).to_owned()));
    names.filter(|name| name != "(types)").collect()
}

#[test]
fn r17_the_instruments_of_a_scope_alone_watch_its_steps() {
    let text = "instruments = [\"timing\"]\n\
                steps = [\"Count\", { scope = [\"ReluRelu\", \"Rename\"], instruments = [\"timing\"] }, \"Reverse\"]";
    let (_, report) = run_toml(text, &module()).unwrap();
    let timings: Vec<_> =
        report.findings.iter().map(|(name, findings)| (name.as_str(), timed(&findings.data))).collect();
    let [("timing", outer), ("timing", inner)] = &timings[..] else { panic!("{timings:?}") };
    assert_eq!(outer, &["p", "Count", "Reverse"]);
    assert_eq!(inner, &["ReluRelu", "Rename"]);
    // None at all.
    let silent = text.replace("instruments = [\"timing\"] }", "instruments = [] }");
    let (_, report) = run_toml(&silent, &module()).unwrap();
    assert_eq!(report.findings.len(), 1);
    // As before, without.
    let (_, report) = run_toml(&text.replace(", instruments = [\"timing\"] }", " }"), &module()).unwrap();
    assert_eq!(timed(&report.findings[0].1.data), ["p", "Count", "ReluRelu", "Rename", "Reverse"]);
}

#[test]
fn r17_the_instruments_of_a_scope_in_a_fixpoint_keep_their_data_from_round_to_round() {
    let text = "steps = [{ fixpoint = [{ scope = [\"Rename\"], instruments = [\"timing\"] }], max_rounds = 3 }]";
    let (_, report) = run_toml(text, &module()).unwrap();
    assert_eq!(report.findings.len(), 1);
    assert_eq!(timed(&report.findings[0].1.data), ["Rename"; 3]);
}

#[test]
fn r09_no_scope_sheds_the_limits_of_the_run() {
    let text = "instruments = [{ instrument = \"budget\", options = { nodes = 1 } }]\n\
                steps = [{ scope = [\"Total\"], instruments = [] }]";
    let failure = run_toml(text, &module()).err().expect("it makes two calls of one");
    assert!(failure.to_string().contains("Total"), "{failure}");
}

#[test]
fn r22_the_instruments_of_a_scope_are_checked_before_anything_runs() {
    let faults = |text: &str| {
        let spec = PipelineSpec::parse("p.toml", text, &Disk).unwrap_or_else(|faults| panic!("{faults}"));
        spec.resolve(&*REGISTRY).expect_err("it has a fault").to_string()
    };
    let unknown = faults("steps = [{ scope = [\"Count\"], instruments = [\"timer\"] }]");
    assert!(unknown.contains("no instrument `timer`") && unknown.contains("1:46"), "{unknown}");
    let option =
        "steps = [{ scope = [\"Count\"], instruments = [{ instrument = \"timing\", options = { form = 1 } }] }]";
    assert!(faults(option).contains("form"), "{}", faults(option));
}

#[test]
fn a_pipeline_with_instruments_of_scopes_is_printed_as_it_reads() {
    let text = "steps = [{ scope = [\"Count\"], instruments = [{ instrument = \"timing\", options = { format = \"list\" } }] }]";
    let resolve = |text: &str| PipelineSpec::parse("p.toml", text, &Disk).unwrap().resolve(&*REGISTRY).unwrap();
    let printed = resolve(text).print();
    assert!(printed.contains("instruments = [{ instrument = \"timing\""), "{printed}");
    assert_eq!(resolve(&printed).print(), printed);
}

#[test]
fn r09_limits_of_the_run_judge_a_scope_by_the_module_before_each_pass() {
    let budget = "instruments = [{ instrument = \"budget\", options = { nodes = 1 } }]";
    let text = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n  \
                %a = Relu(%x);\n  %b = Relu(%a);\n  %c = Neg(%b);\n  %c\n}\n";
    // It is too large before and after, and smaller.
    let shrinks = format!("{budget}\nsteps = [{{ scope = [\"ReluRelu\"], instruments = [] }}]");
    run_toml(&shrinks, &parse(text)).unwrap_or_else(|error| panic!("{error}"));
    // It grows again.
    let grows = format!("{budget}\nsteps = [{{ scope = [\"ReluRelu\", \"Total\"], instruments = [] }}]");
    let failure = run_toml(&grows, &parse(text)).err().expect("it is larger than before");
    assert!(failure.to_string().contains("acme.Total"), "{failure}");
}

#[test]
fn r17_scopes_with_instruments_are_within_each_other_up_to_a_number() {
    let nested = |n: usize| {
        let steps =
            (0..n).fold("\"Count\"".to_owned(), |inner, _| format!("{{ scope = [{inner}], instruments = [] }}"));
        run_toml(&format!("steps = [{steps}]"), &module())
    };
    assert!(nested(30).is_ok());
    // The reader of TOML stops before that; files that include each other do not.
    let here = relais_tests::cli::folder("nested-scopes");
    for file in 0..4 {
        let inner = if file == 3 { "\"Count\"".to_owned() } else { format!("{{ include = \"f{}.toml\" }}", file + 1) };
        let steps = (0..20).fold(inner, |inner, _| format!("{{ scope = [{inner}], instruments = [] }}"));
        std::fs::write(here.join(format!("f{file}.toml")), format!("steps = [{steps}]")).unwrap();
    }
    let spec = PipelineSpec::read(&here.join("f0.toml"), &Disk).unwrap_or_else(|faults| panic!("{faults}"));
    let pipeline = spec.resolve(&*REGISTRY).unwrap_or_else(|faults| panic!("{faults}"));
    let failure = manager::run(&pipeline, &module(), &*REGISTRY, &ManagerOptions::default()).err().unwrap();
    assert!(failure.to_string().contains("more than 64 scopes with instruments"), "{failure}");
}

#[test]
fn r22_instruments_of_scopes_are_made_before_the_first_pass() {
    let budget = "{ instrument = \"budget\", options = { end_seconds = 5.0 } }";
    let text = format!("steps = [\"Count\", {{ scope = [\"Count\"], instruments = [{budget}] }}]");
    let failure = run_toml(&text, &module()).err().expect("no time is limited");
    assert!(failure.report.executions.is_empty(), "{failure}");
}

#[test]
fn a_lock_has_the_plugins_of_the_instruments_of_scopes() {
    let text = "steps = [{ scope = [\"InferType\"], instruments = [\"acme.Counter\"] }]";
    let spec = PipelineSpec::parse("p.toml", text, &Disk).unwrap();
    let lock = relais::lock::Lock::of(&spec, &REGISTRY, &[]).unwrap();
    assert!(lock.to_toml().contains("acme-rules"), "{}", lock.to_toml());
}

#[test]
fn a_reproducer_of_a_scope_over_its_budget_fails_again() {
    let budget = "instruments = [{ instrument = \"budget\", options = { nodes = 1 } }]";
    let text = format!("steps = [{{ scope = [\"Total\"], {budget} }}]");
    let resolve = |spec: &PipelineSpec| spec.resolve(&*REGISTRY).unwrap_or_else(|faults| panic!("{faults}"));
    let pipeline = resolve(&PipelineSpec::parse("p.toml", &text, &Disk).unwrap());
    let failure = manager::run(&pipeline, &module(), &*REGISTRY, &ManagerOptions::default()).err().unwrap();
    let folder = relais_tests::cli::folder("reproducer-of-a-scope").join("repro");
    manager::Reproducer::write(&folder, &pipeline, &failure.report.faults[0], &*REGISTRY).unwrap();
    let read = manager::Reproducer::read(&folder).unwrap();
    let again = manager::run(&resolve(&read.pipeline), &read.module, &*REGISTRY, &ManagerOptions::default());
    assert!(again.is_err(), "the budget is a part of it");
}
