//! Passes of a program's own are passes like those of plugins (rules R1, R4, R21, R25).

use super::*;
use relais::{
    manager::{FailureKind, Progress},
    options::{OptionSchema, ValueKind},
    pass::{Catalogue, PassContext, PassMessage, Remarks},
};
use relais_plugin_api::{
    boundary::record::Phase,
    infer::{Coverage, infer_function},
    ir::CallView,
    rewrite::{Rewrite, RewriteCx},
};
use std::time::Duration;

fn relus() -> IRModule {
    parse("def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n  %0 = Relu(%x);\n  %1 = Relu(%0);\n  %1\n}\n")
}

/// Makes one `Relu` of two in a row.
fn relu_relu() -> Pass {
    Pass::rewrite("my.ReluRelu", 1, &["Relu"], |call, cx| {
        cx.call_of_op(call.args()[0], "Relu")
            .map_or(Rewrite::decline("no other is before it"), |inner| Rewrite::Replace(inner.id))
    })
}

fn resolved(library: &PassLibrary<'_>, text: &str) -> relais::pipeline::Pipeline {
    let spec = PipelineSpec::parse("p.toml", text, &Disk).unwrap_or_else(|faults| panic!("{faults}"));
    spec.resolve(library).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn r01_a_rewrite_of_the_program_rewrites_counts_and_says_why_not() {
    let options = ManagerOptions { remarks: Remarks::Show, ..ManagerOptions::default() };
    let (after, report) = relu_relu().run_with(&library(), &relus(), &options).unwrap();
    assert_eq!(print(&after).matches("Relu(").count(), 1, "{}", print(&after));
    let counted: Vec<_> = report.statistics.iter().map(|it| (it.pass.as_str(), it.name.as_str(), it.count)).collect();
    assert_eq!(counted, [("my.ReluRelu", "rewritten", 1)]);
    assert!(said(&report).contains(&"no other is before it".to_owned()), "{:?}", said(&report));
    let (same, report) = relu_relu().run_with(&library(), &after, &ManagerOptions::default()).unwrap();
    assert_eq!((print(&same), report.executions[0].fate.clone()), (print(&after), manager::Fate::Unchanged));
}

#[test]
fn r14_a_rewrite_of_the_program_over_loop_programs_is_offered_core_operators() {
    let twice = Pass::prim_rewrite("my.Twice", 1, &["tir::neg"], |call, cx| {
        let inner = cx.call_of_op(call.args()[0], "tir::neg").map(|inner| inner.args()[0]);
        inner.map_or(Rewrite::decline("no other is before it"), Rewrite::Replace)
    });
    let program = parse(
        "def @main(%x: Tensor[(4), float32]) #[opset = {\"\": 17}] {\n  %0 = Neg(%x);\n  %1 = Neg(%0);\n  %1\n}\n\
         prim @k(%x: Tensor[(4), float32]) -> (%y: Tensor[(4), float32]) {\n  for %i in 0..4 {\n    \
         %y[%i] = -(-(-%x[%i]));\n  }\n}\n",
    );
    let options = ManagerOptions { remarks: Remarks::Show, ..ManagerOptions::default() };
    let (after, report) = twice.run_with(&library(), &program, &options).unwrap();
    let text = print(&after);
    assert!(text.contains("%y[%i] = -%x[%i];") && text.matches("= Neg(").count() == 2, "{text}");
    let counted: Vec<_> = report.statistics.iter().map(|it| (it.name.as_str(), it.count)).collect();
    assert_eq!(counted, [("rewritten", 1)]);
    assert!(said(&report).contains(&"no other is before it".to_owned()), "{:?}", said(&report));
}

/// Otherwise it would do nothing, without a word.
#[test]
fn r01_a_rewrite_of_the_program_names_operators_of_its_level() {
    let none = |_: CallView<'_>, _: &mut RewriteCx<'_>| Rewrite::Keep;
    let program = parse("prim @k(%x: Tensor[(4), float32]) -> (%y: Tensor[(4), float32]) {\n  %y[0] = -%x[0];\n}\n");
    for (pass, module, why) in [
        (
            Pass::rewrite("my.R", 0, &["Relu", "tir::neg"], none),
            relus(),
            "`tir::neg`, which is an operator of loop programs",
        ),
        (Pass::prim_rewrite("my.R", 0, &["Relu"], none), program.clone(), "`Relu`, which is an operator of graphs"),
        (
            Pass::prim_rewrite("my.R", 0, &["tir::store"], none),
            program.clone(),
            "`tir::store`, which is not a core operator",
        ),
        (Pass::prim_rewrite("my.R", 0, &["tir::nig"], none), program, "`tir::nig`, which is not a core operator"),
    ] {
        let error = pass.run(&library(), &module).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let other = Pass::rewrite("my.R", 0, &["org.example::Mine"], none);
    other.run(&library(), &relus()).unwrap();
}

#[test]
fn r01_a_rewrite_of_the_program_that_does_not_settle_fails() {
    let turns = Pass::rewrite("my.Turns", 0, &["Relu", "Neg"], |call, cx| {
        let other = if call.op_name() == "Relu" { "Neg" } else { "Relu" };
        let x = call.args()[0];
        Rewrite::Replace(cx.call(other, &[x]))
    });
    let error = turns.run(&library(), &relus()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("pass `my.Turns` failed: still rewriting after"), "{error}");
}

/// A pass that reports its option.
fn with_depth(default: Option<Value>) -> Pass {
    let kind = ValueKind::Int { min: 0, max: 9 };
    let options = vec![OptionSchema {
        name: "depth".into(),
        doc: "How deep.".into(),
        kind,
        default,
        is_optional: false,
        aliases: Vec::new(),
    }];
    let make = |options: &Value| {
        let depth = options.get("depth").map(Value::to_string).unwrap_or_default();
        Ok(Pass::module("my.Deep", 0, move |_, cx| {
            (cx.diagnostics)(relais_plugin_api::diagnostics::Diagnostic::note(format_args!("depth {depth}")));
            Ok(None)
        }))
    };
    Pass::module("my.Deep", 0, |_, _| Ok(None)).with_options(options, make).unwrap()
}

#[test]
fn r21_a_pass_of_the_program_has_options_as_those_of_plugins() {
    let mut library = library();
    library.register(&with_depth(Some(Value::Int(3))));
    let asked = |text: &str| {
        let pipeline = resolved(&library, text);
        said(&manager::run(&pipeline, &module(), &library, &ManagerOptions::default()).unwrap().1)
    };
    let text = "steps = [\"my.Deep\", { pass = \"Deep\", options = { depth = 7 } }]";
    assert_eq!(asked(text), ["depth 3", "depth 7"]);
    let given = library.get_pass_with("my.Deep", vec![("depth".into(), Value::Int(9))]).unwrap();
    let sequence = Pass::sequence("s", [given, with_depth(Some(Value::Int(1)))]);
    assert_eq!(said(&ran_well(&sequence, &module()).1), ["depth 9", "depth 1"]);
    let wrong = library.get_pass_with("my.Deep", vec![("depth".into(), Value::Int(10))]).map(|_| ()).unwrap_err();
    assert!(wrong.to_string().contains("option `depth` of `my.Deep` cannot be 10"), "{wrong}");
    let untold = with_depth(None).run(&library, &module()).map(|_| ()).unwrap_err().to_string();
    assert!(untold.contains("it must be given `depth`"), "{untold}");
}

/// An option of contexts.
fn config_of(key: &str) -> OptionSchema {
    let kind = ValueKind::Int { min: 0, max: 9 };
    OptionSchema {
        name: key.into(),
        doc: "How deep.".into(),
        kind,
        default: Some(Value::Int(1)),
        is_optional: false,
        aliases: Vec::new(),
    }
}

#[test]
fn r21_a_program_registers_options_of_contexts_for_its_passes() {
    let mut library = library();
    library.register_config(config_of("my.depth"));
    let pass = Pass::module("my.Deep", 0, |_, cx| {
        let depth = cx.config.get("my.depth").map_or("none".to_owned(), Value::to_string);
        (cx.diagnostics)(relais_plugin_api::diagnostics::Diagnostic::note(format_args!("depth {depth}")));
        Ok(None)
    });
    let asked = |value: Value| -> Result<Vec<String>, String> {
        let context = library.context().config("my.depth", value).build().map_err(|faults| faults.to_string())?;
        let _guard = Arc::new(context).enter().map_err(|error| error.to_string())?;
        Ok(said(&pass.run_with(&library, &module(), &ManagerOptions::default()).unwrap().1))
    };
    assert_eq!(asked(Value::Int(7)).unwrap(), ["depth 7"]);
    let wrong = asked(Value::Int(10)).unwrap_err();
    assert!(wrong.contains("`my.depth`") && wrong.contains("10"), "{wrong}");
    let unknown = library.context().config("my.dept", Value::Int(1)).build().map(|_| ()).unwrap_err().to_string();
    assert!(unknown.contains("my.depth"), "{unknown}");
    // The same key of a plugin.
    library.register_config(config_of("acme.depth"));
    let both = library.context().config("acme.depth", Value::Int(1)).build().map(|_| ()).unwrap_err().to_string();
    assert!(both.contains("this program"), "{both}");
}

#[test]
fn r01_a_pass_of_the_program_asks_the_catalogue_what_operators_are() {
    let typed = Pass::function("my.Types", 0, |function, _, _| {
        let mut function = (**function).clone();
        let mut relations = REGISTRY.relations();
        infer_function(&mut function, &mut *relations, Coverage::Everything);
        Ok(Some(function))
    });
    let after = typed.run(&library(), &relus()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(print(&after).matches("Tensor[(2), float32] = Relu(").count(), 2, "{}", print(&after));
}

#[test]
fn r04_a_pass_of_the_program_has_aliases_a_phase_and_documentation() {
    let mut library = library();
    let pass = Pass::module("my.Pass", 1, |_, _| Ok(None)).with_aliases(&["old.Name"]).documented("Does nothing.");
    library.register(&pass.in_phase(Phase::CLEAN_UP));
    for name in ["my.Pass", "Pass", "old.Name", "Name"] {
        let found = library.get_pass(name).unwrap_or_else(|faults| panic!("{faults}"));
        let info = found.info();
        assert_eq!((info.name.as_str(), info.doc.as_str(), info.phase), ("my.Pass", "Does nothing.", Phase::CLEAN_UP));
    }
}

#[test]
fn r04_a_plugin_runs_a_pass_of_the_program() {
    let mut library = library();
    library.register(&relu_relu());
    let runs = pass_with("RunsPass", &[("pass", word("my.ReluRelu"))]);
    let after = runs.run(&library, &relus()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(print(&after).matches("Relu(").count(), 1);
    let error = runs.run(&*REGISTRY, &relus()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("no pass `my.ReluRelu`"), "{error}");
}

#[test]
fn r25_a_provider_is_named_and_left_alone_instead_of_the_program() {
    let mut library = library();
    let provided = |pass: Pass| pass.provided_by("python module acme.passes", "1.2.0").unwrap();
    library.register(&provided(Pass::module("py.Fails", 0, |_, _| Err("told to fail".into()))));
    library.register(&provided(Pass::module("py.Other", 0, |_, _| Ok(None))));
    let pipeline = resolved(&library, "on_failure = \"quarantine\"\nsteps = [\"py.Fails\", \"py.Other\", \"Nothing\"]");
    let (_, report) = manager::run(&pipeline, &module(), &library, &ManagerOptions::default()).unwrap();
    assert_eq!(executed(&report), ["Fails", "Nothing"]);
    assert!(report.warnings[0].contains("of plugin `python module acme.passes` 1.2.0 failed"), "{:?}", report.warnings);
}

#[test]
fn r03_a_serial_function_pass_runs_on_its_thread_and_is_watched() {
    let here = std::thread::current().id();
    let runs = Pass::function("my.Serial", 0, move |_, module, cx| {
        assert_eq!(std::thread::current().id(), here);
        pass("Nothing").run_within(cx, module)?;
        Ok(None)
    });
    let (events, instruments) = scribes(1, "", Hook::Make, "");
    let library = library();
    let context = library.context().build().unwrap().with_instruments(instruments);
    let module = functions(8, |_| true);
    Arc::new(context).scope(|_| runs.serial().run(&library, &module).unwrap()).unwrap();
    assert_eq!(taken(&events).iter().filter(|event| *event == "a before Nothing").count(), 8);
}

#[derive(Default)]
struct Listens(Mutex<Vec<String>>);

impl Listens {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl Progress for Listens {
    fn begins(&self, pass: &str) {
        self.note(format!("begins {pass}"));
    }
    fn is_at(&self, _: u64, _: u64) {}
    fn said(&self, said: &PassMessage) {
        self.note(format!("said {}", said.diagnostic.rec().message));
    }
    fn counted(&self, pass: &str, statistic: &str, n: u64) {
        self.note(format!("counted {pass} {statistic} {n}"));
    }
    fn took(&self, pass: &str, _: Duration) {
        self.note(format!("took {pass}"));
    }
}

#[test]
fn r20_whoever_runs_passes_in_a_context_hears_what_they_say_and_count() {
    let (listens, library) = (Listens::default(), library());
    let options = ManagerOptions { progress: Some(&listens), ..ManagerOptions::default() };
    let sequence = Pass::sequence("s", [with_depth(Some(Value::Int(3))), relu_relu()]);
    let context = Arc::new(library.context().build().unwrap());
    context.scope(|_| sequence.run_with(&library, &relus(), &options).unwrap()).unwrap();
    let expected = [
        "begins my.Deep",
        "took my.Deep",
        "said depth 3",
        "begins my.ReluRelu",
        "took my.ReluRelu",
        "counted my.ReluRelu rewritten 1",
    ];
    assert_eq!(*listens.0.lock().unwrap(), expected);
}

#[test]
fn r09_a_run_on_a_pool_has_the_context_of_who_asked() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let ours = seen.clone();
    let looks = Pass::function("my.Looks", 0, move |_, _, _| {
        let level = PassContext::current().settings().opt_level;
        ours.lock().unwrap().push((level, rayon::current_thread_index()));
        Ok(None)
    });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let library = library();
    let options = ManagerOptions { pool: Some(&pool), ..ManagerOptions::default() };
    let context = Arc::new(library.context().opt_level(5).build().unwrap());
    let module = functions(3, |_| true);
    context.scope(|_| looks.run_with(&library, &module, &options).unwrap()).unwrap();
    assert_eq!(*seen.lock().unwrap(), [(5, Some(0)); 3]);
}

#[test]
fn r20_a_context_takes_instruments_by_name() {
    let library = library();
    let options = vec![("pass_seconds".to_owned(), Value::Float(0.001))];
    let context = library.context().instrument_by_name("budget", options).build().unwrap();
    let slow = Pass::module("my.Slow", 0, |_, _| {
        std::thread::sleep(Duration::from_millis(50));
        Ok(None)
    });
    let ran = Arc::new(context).scope(|_| slow.run(&library, &module()).map(|_| ())).unwrap();
    assert!(ran.unwrap_err().to_string().contains("my.Slow"));
    let unknown = library.context().instrument_by_name("bugdet", Vec::new()).build().map(|_| ()).unwrap_err();
    assert!(unknown.to_string().contains("did you mean `budget`?"), "{unknown}");
    let order = library.context().instrument_by_name("timing", Vec::new()).instrument(Arc::new(Scribe::default()));
    let names: Vec<String> =
        order.build().unwrap().instruments().iter().map(|instrument| instrument.name().to_owned()).collect();
    assert_eq!(names, ["timing", ""]);
}

#[test]
fn r25_a_failure_says_which_execution_it_was() {
    let sequence = Pass::sequence("s", ["Nothing", "Fails"].map(pass));
    let Err(RunError::Failed(failure)) = run(&sequence, &module()).map(|_| ()) else { panic!("it fails") };
    assert!(matches!(failure.kind, FailureKind::Pass { .. }));
    assert_eq!(failure.execution, 2);
}

#[test]
fn r04_a_library_may_own_what_it_looks_up_in() {
    let owned: PassLibrary<'static> = PassLibrary::shared(Arc::new(REGISTRY.clone()));
    let ran = std::thread::spawn(move || owned.get_pass("Nothing").unwrap().run(&owned, &module()).is_ok());
    assert!(ran.join().unwrap());
}
