//! TVM's documentation of its pass infrastructure, example by example, through the public interface alone.

use embedder::{example, parse, print, registry, replace_func};
use relais::{
    instruments::Timing,
    ir::{Function, IRModule},
    manager::{Fate, RunReport, ManagerOptions},
    options::{OptionSchema, ValueKind},
    pass::{Catalogue, PassInstrument, PassContext, PassInfo},
    registry::Registry,
    transform::{Pass, PassLibrary, RunError},
};
use relais_plugin_api::{
    diagnostics::{Diagnostic, PassError},
    options::Value,
    rewrite::Rewrite,
};
use relais_session::{Request, Session, model::Model, pipeline::PipelineRequest};
use std::sync::{
    Arc, LazyLock, Mutex,
    atomic::{AtomicUsize, Ordering},
};

static REGISTRY: LazyLock<Registry> = LazyLock::new(registry);

fn library() -> PassLibrary<'static> {
    PassLibrary::new(&*REGISTRY)
}

fn pass(name: &str) -> Pass {
    library().get_pass(name).unwrap_or_else(|faults| panic!("{faults}"))
}

fn run(pass: &Pass, module: &IRModule) -> (IRModule, RunReport) {
    pass.run_with(&library(), module, &ManagerOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The passes that ran, by short name.
fn executed(report: &RunReport) -> Vec<&str> {
    let ran = report.executions.iter().filter(|execution| !matches!(execution.fate, Fate::Skipped(_)));
    ran.map(|execution| execution.name.rsplit('.').next().unwrap()).collect()
}

/// A pass that does nothing but count how often it runs.
fn counter(name: &str, opt_level: u8) -> (Pass, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let ours = count.clone();
    let pass = Pass::module(name, opt_level, move |_, _| {
        ours.fetch_add(1, Ordering::Relaxed);
        Ok(None)
    });
    (pass, count)
}

#[test]
fn registered_passes_run_one_by_one_and_in_a_sequence() {
    let folded = pass("relay._transform.FoldConstant").run(&library(), &example()).unwrap();
    assert!(!print(&folded).contains("Add(%c, %c)"), "{}", print(&folded));
    let names = ["SimplifyInference", "FoldConstant", "EliminateCommonSubexpr", "DeadCodeElimination"];
    let sequence = Pass::sequence("main", names.map(pass));
    let context = Arc::new(library().context().opt_level(3).build().unwrap());
    let (module, report) = context.scope(|_| run(&sequence, &example())).unwrap();
    let ran = executed(&report);
    assert!(names.iter().all(|name| ran.contains(name)), "{ran:?}");
    assert_eq!(print(&module).matches("Add(").count(), 2, "{}", print(&module));
    // A required pass is on at any level, and a disabled one is off at any.
    let strict = library().context().opt_level(0).require("FoldConstant").disable("DeadCodeElimination").build();
    let (_, report) = Arc::new(strict.unwrap()).scope(|_| run(&sequence, &example())).unwrap();
    let ran = executed(&report);
    assert!(ran.contains(&"FoldConstant") && !ran.contains(&"DeadCodeElimination"), "{ran:?}");
}

#[test]
fn two_instances_of_one_pass_stand_in_one_sequence() {
    let body = |name: &str| -> Function {
        let text = format!("def @main(%x: Tensor[(2), float32]) #[opset = {{\"\": 17}}] {{ %y = {name}(%x); %y }}");
        (**parse(&text).main().unwrap()).clone()
    };
    let (f1, f2) = (body("Neg"), body("Relu"));
    let input = parse("def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %y = Abs(%x); %y }");
    for (first, second, left) in [(&f1, &f2, "Relu"), (&f2, &f1, "Neg")] {
        let sequence = Pass::sequence("s", [replace_func(first.clone()), replace_func(second.clone())]);
        let (output, report) = run(&sequence, &input);
        assert_eq!(executed(&report), ["TestReplaceFunc", "TestReplaceFunc"]);
        assert!(print(&output).contains(left), "{}", print(&output));
    }
    assert!(print(&input).contains("Abs"));
}

#[test]
fn sequences_without_names_nest() {
    let ((a, n_a), (b, n_b), (c, n_c)) = (counter("a", 0), counter("b", 1), counter("c", 2));
    let anonymous = |passes: Vec<Pass>| Pass::sequence("sequential", passes);
    let nested = anonymous(vec![anonymous(vec![a.clone(), b]), anonymous(vec![anonymous(vec![c]), a])]);
    let context = Arc::new(library().context().opt_level(1).build().unwrap());
    context.scope(|_| run(&nested, &example())).unwrap();
    assert_eq!([n_a, n_b, n_c].map(|count| count.load(Ordering::Relaxed)), [2, 1, 0]);
}

#[test]
fn levels_and_requirements_of_members_hold() {
    let mut library = library();
    let (needed, n_needed) = counter("my.Needed", 9);
    library.register(&needed);
    let (member, n_member) = counter("my.Member", 0);
    let at = |opt_level: u8, pass: Pass| {
        let context = Arc::new(library.context().opt_level(opt_level).build().unwrap());
        context.scope(|_| Pass::sequence("s", [pass]).run(&library, &example()).unwrap()).unwrap();
    };
    at(3, member.clone().at_level(4).requiring(&["my.Needed"]));
    assert_eq!([&n_needed, &n_member].map(|count| count.load(Ordering::Relaxed)), [0, 0]);
    at(4, member.clone().at_level(4).requiring(&["my.Needed", "InferType"]));
    assert_eq!([&n_needed, &n_member].map(|count| count.load(Ordering::Relaxed)), [1, 1]);
    let missing = Pass::sequence("s", [member.requiring(&["my.Absent"])]).run(&library, &example());
    assert!(matches!(missing, Err(RunError::Resolve(faults)) if faults.to_string().contains("my.Absent")));
}

/// A pass with an option that says it.
fn with_depth() -> Pass {
    let kind = ValueKind::Int { min: 0, max: 9 };
    let schema = OptionSchema { name: "depth".into(), doc: "How deep.".into(), kind, default: Some(Value::Int(3)), is_optional: false, aliases: Vec::new() };
    let make = |options: &Value| {
        let depth = options.get("depth").map(Value::to_string).unwrap_or_default();
        Ok(Pass::module("my.Deep", 0, move |_, cx| {
            (cx.diagnostics)(Diagnostic::note(format_args!("depth {depth}")));
            Ok(None)
        }))
    };
    Pass::module("my.Deep", 0, |_, _| Ok(None)).with_options(vec![schema], make).unwrap()
}

#[test]
fn a_pass_of_the_program_has_options_and_takes_part_in_pipelines() {
    let mut library = library();
    library.register(&with_depth());
    let text = "steps = [\"my.Deep\", { pass = \"Deep\", options = { depth = 7 } }, \"FoldConstant\"]";
    let request = Request { model: Model::made(example()).into(), ..Request::default() };
    let session = Session::of(REGISTRY.clone()).with_pass(with_depth());
    let finished = session.run(&request.through(PipelineRequest::toml("p.toml", text)));
    let report = finished.unwrap_or_else(|stopped| panic!("{stopped}")).course.report;
    let said: Vec<_> = report.said.iter().map(|said| said.diagnostic.rec().message.to_string()).collect();
    assert_eq!(said, ["depth 3", "depth 7"]);
    let wrong = library.get_pass_with("my.Deep", vec![("depth".into(), Value::Int(10))]).map(|_| ());
    assert!(wrong.unwrap_err().to_string().contains("cannot be 10"));
}

#[test]
fn a_request_sets_the_level_of_a_pipeline_that_is_a_text() {
    let ran = |opt_level| {
        let text = PipelineRequest::toml("p.toml", "opt_level = 3\nsteps = [\"FoldConstant\"]");
        let request = Request { model: Model::made(example()).into(), ..Request::default() };
        let request = request.through(PipelineRequest { opt_level, ..text });
        let finished = Session::of(REGISTRY.clone()).run(&request);
        let report = finished.unwrap_or_else(|stopped| panic!("{stopped}")).course.report;
        executed(&report).contains(&"FoldConstant")
    };
    assert!(ran(None) && ran(Some(2)) && !ran(Some(0)));
}

#[test]
fn a_rewrite_of_the_program_rewrites_and_a_plugin_calls_it() {
    let twice = Pass::rewrite("my.AddSelf", 1, &["Add"], |call, cx| {
        let &[a, b] = call.args() else { return Rewrite::decline("it does not have two arguments") };
        if a != b {
            return Rewrite::decline("the arguments differ");
        }
        Rewrite::Replace(cx.call("Abs", &[a]))
    });
    let input = parse("def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %y = Add(%x, %x); %y }");
    let (output, report) = run(&twice, &input);
    assert!(print(&output).contains("Abs(%x)"), "{}", print(&output));
    assert_eq!(report.statistics[0].count, 1);

    let mut library = library();
    library.register(&twice);
    let named = vec![("pass".to_owned(), Value::Str("my.AddSelf".into()))];
    let calls = library.get_pass_with("acme.RunsPass", named).unwrap();
    assert!(print(&calls.run(&library, &input).unwrap()).contains("Abs(%x)"));
    // The plugin finds it only where the program registered it.
    assert!(calls.run(&*REGISTRY, &input).is_err());
}

#[test]
fn module_passes_add_functions_and_contexts_are_scoped() {
    let abs = pass("InferType").run(&library(), &example()).unwrap().main().unwrap().clone();
    let module_pass = Pass::module("my.AddLog", 2, move |module, _| {
        let mut new = module.clone();
        new.set_function("log", abs.clone());
        Ok(Some(new))
    });
    assert_eq!(module_pass.info().opt_level, 2);
    let output = module_pass.run(&library(), &example()).unwrap();
    assert!(output.function("log").is_some() && example().function("log").is_none());
    let context = Arc::new(library().context().opt_level(1).disable("InferType").build().unwrap());
    let seen = context.scope(|_| PassContext::current().settings().opt_level).unwrap();
    assert_eq!((seen, PassContext::current().settings().opt_level), (1, 2));
    assert!(library().context().config("acme.depth", Value::Int(101)).build().is_err());
    assert!(library().context().config("acme.nothing", Value::Int(1)).build().is_err());
}

#[test]
fn instruments_watch_time_and_are_replaced() {
    #[derive(Default)]
    struct RunOnce(Mutex<Vec<String>>);
    impl PassInstrument for RunOnce {
        fn name(&self) -> &str {
            "run-once"
        }

        fn should_run(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<bool, PassError> {
            let mut seen = self.0.lock().unwrap();
            let is_new = !seen.contains(&pass.name.to_owned());
            seen.push(pass.name.to_owned());
            Ok(is_new)
        }
    }
    let (pass, count) = counter("my.Count", 0);
    let (timing, once) = (Arc::new(Timing::default()), Arc::new(RunOnce::default()));
    let context = Arc::new(library().context().instrument(timing.clone()).build().unwrap());
    context
        .scope(|context| {
            run(&pass, &example());
            context.override_instruments(vec![once.clone()]).unwrap();
            run(&pass, &example());
            run(&pass, &example());
        })
        .unwrap();
    assert_eq!((count.load(Ordering::Relaxed), once.0.lock().unwrap().len()), (2, 2));
    let times = timing.times();
    assert_eq!(times.iter().map(|time| time.name.as_str()).collect::<Vec<_>>(), ["my.Count"]);
    assert!(Catalogue::instruments(&*REGISTRY).iter().any(|facts| facts.name == "acme.Scribe"));
}
