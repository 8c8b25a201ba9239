//! Passes, sequences and contexts as a program that embeds the host uses them, over the plugins that are shipped.

use relais::{
    ir::IRModule,
    manager::ContextBuilder,
    pass::{Catalogue, NoPass, PassContext, PassInfo, PassInstrument},
    registry::{Choices, Linked, Registry},
    transform::{Pass, PassLibrary, RunError},
};
use relais_plugin_api::{diagnostics::PassError, options::Value, pass::Requirement, text};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// The shipped plugins, linked into this program.
fn registry() -> Registry {
    Registry::new(Default::default(), Linked::Include, &Choices::new())
}

fn module() -> IRModule {
    text::parse_str(
        "def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {\n  %0 = Identity(%x);\n  %1 = Relu(%0);\n  %1\n}\n",
    )
    .expect("it is valid text")
}

fn print(module: &IRModule) -> String {
    text::print(module, &Default::default())
}

/// Writes down its hooks, and vetoes some passes.
#[derive(Default)]
struct Scribe {
    said: Mutex<Vec<String>>,
    vetoes: Vec<&'static str>,
}

impl Scribe {
    fn note(&self, what: &str, pass: &str) {
        self.said.lock().unwrap().push(format!("{what} {}", pass.rsplit('.').next().unwrap_or(pass)));
    }

    fn said(&self) -> Vec<String> {
        std::mem::take(&mut self.said.lock().unwrap())
    }
}

impl PassInstrument for Scribe {
    fn name(&self) -> &str {
        "scribe"
    }

    fn should_run(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<bool, PassError> {
        Ok(!self.vetoes.contains(&pass.name))
    }

    fn before(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.note("before", pass.name);
        Ok(())
    }

    fn after(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.note("after", pass.name);
        Ok(())
    }
}

/// A pass that does nothing but count.
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
fn r01_a_pass_of_the_program_says_what_it_is() {
    let (pass, _) = counter("xyz", 1);
    let pass = pass.requiring(&["InferType"]);
    let info = pass.info();
    assert_eq!(
        (info.name.as_str(), info.opt_level, info.required.as_slice()),
        ("xyz", 1, &[Requirement::from("InferType")][..])
    );
    let sequence = Pass::sequence("sequential", [pass]);
    assert_eq!((sequence.info().opt_level, sequence.info().required.len()), (0, 0));
}

#[test]
fn r03_a_pass_called_directly_ignores_levels_and_lists_but_is_seen() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let (pass, count) = counter("my.Pass", 4);
    let pass = pass.requiring(&["my.NobodyProvidesThis"]);
    let scribe = Arc::new(Scribe::default());
    let mut library_with = PassLibrary::new(&registry);
    library_with.register(&pass);
    let context = library_with.context().opt_level(0).disable("my.Pass").instrument(scribe.clone()).build().unwrap();
    Arc::new(context).scope(|_| pass.run(&library, &module()).unwrap()).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert_eq!(scribe.said(), ["before Pass", "after Pass"]);
    // In a sequence, the same pass is off.
    let context = library_with.context().opt_level(0).disable("my.Pass").build().unwrap();
    let sequence = Pass::sequence("s", [pass]);
    Arc::new(context).scope(|_| sequence.run(&library, &module()).unwrap()).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn r03_a_veto_holds_for_a_direct_call() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let (pass, count) = counter("Mine", 0);
    let scribe = Arc::new(Scribe { vetoes: vec!["Mine"], ..Scribe::default() });
    let context = Arc::new(library.context().instrument(scribe.clone()).build().unwrap());
    context.scope(|_| pass.run(&library, &module()).unwrap()).unwrap();
    assert_eq!((count.load(Ordering::Relaxed), scribe.said().len()), (0, 0));
}

#[test]
fn r04_names_of_the_program_and_of_plugins_are_one_space() {
    let registry = registry();
    let mut library = PassLibrary::new(&registry);
    let full = library.get_pass("FoldConstant").unwrap().info().name.clone();
    assert_eq!(full, "relais.FoldConstant");
    library.register(&counter("acme.FoldConstant", 0).0);
    assert!(matches!(library.pass("FoldConstant"), Err(NoPass::Ambiguous(names)) if names.len() == 2));
    assert!(library.pass("acme.FoldConstant").is_ok() && library.pass(&full).is_ok());
    library.register(&counter(&full, 0).0);
    assert!(matches!(library.pass(&full), Err(NoPass::Conflict(_))));
    let error = library.get_pass("FoldConstnt").map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("FoldConstant"), "{error}");
}

#[test]
fn r04_names_of_a_context_are_those_of_what_runs_in_it() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let (pass, count) = counter("my.Pass", 4);
    let (other, n_others) = counter("my.Other", 0);
    let inner = Pass::sequence("inner", [pass.with_aliases(&["their.Alias"])]);
    let outer = Pass::sequence("outer", [inner, other]);
    let run = |context: ContextBuilder<'_>| {
        let result = Arc::new(context.build().unwrap()).scope(|_| outer.run(&library, &module())).unwrap();
        let ran = (count.swap(0, Ordering::Relaxed), n_others.swap(0, Ordering::Relaxed));
        result.map(|_| ran).map_err(|error| error.to_string())
    };
    let at = |opt_level| library.context().opt_level(opt_level);
    assert_eq!(run(at(4)), Ok((1, 1)));
    for name in ["my.Pass", "Pass", "their.Alias", "Alias", "inner", "Pass?", "inner?"] {
        assert_eq!(run(at(4).disable(name)), Ok((0, 1)), "{name}");
    }
    for name in ["my.Pass", "Pass", "their.Alias", "Pass?"] {
        assert_eq!(run(at(0).require(name)), Ok((1, 1)), "{name}");
        assert_eq!(run(at(4).require(name).disable("my.Pass")), Ok((0, 1)), "{name}");
    }
    assert_eq!(run(at(4).disable("Nowhere?").require("inner?")), Ok((1, 1)));
    for context in [at(4).disable("my.Othr"), at(4).require("my.Othr")] {
        let error = run(context).unwrap_err();
        assert!(error.contains("no pass `my.Othr`") && error.contains("`my.Other`"), "{error}");
        assert_eq!((count.load(Ordering::Relaxed), n_others.load(Ordering::Relaxed)), (0, 0), "nothing runs");
    }
    // A context that inherits keeps the names.
    let context = Arc::new(at(4).disable("Pass").build().unwrap());
    context.scope(|_| assert_eq!(run(library.inherited_context()), Ok((0, 1)))).unwrap();
}

#[test]
fn r04_names_that_a_context_has_for_others_do_not_disturb_what_a_pass_runs() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let (member, count) = counter("my.Member", 0);
    let sequence = Pass::sequence("within", [member]);
    let runs = Pass::module("my.Runs", 0, move |module, cx| sequence.run_within(cx, module));
    let (other, n_others) = counter("my.Other", 0);
    let outer = Pass::sequence("outer", [runs, other]);
    let run = |context: ContextBuilder<'_>| {
        let result = Arc::new(context.build().unwrap()).scope(|_| outer.run(&library, &module())).unwrap();
        result.unwrap_or_else(|error| panic!("{error}"));
        (count.swap(0, Ordering::Relaxed), n_others.swap(0, Ordering::Relaxed))
    };
    assert_eq!(run(library.context()), (1, 1));
    assert_eq!(run(library.context().disable("my.Other")), (1, 0));
    assert_eq!(run(library.context().disable("my.Member?")), (0, 1));
}

#[test]
fn r05_what_a_member_requires_runs_first_whoever_provides_it() {
    let registry = registry();
    let mut library = PassLibrary::new(&registry);
    let (needed, count) = counter("my.Needed", 9);
    library.register(&needed);
    let scribe = Arc::new(Scribe::default());
    let context = Arc::new(library.context().instrument(scribe.clone()).build().unwrap());
    let pass = counter("my.Needs", 0).0.requiring(&["InferType", "my.Needed"]);
    context.scope(|_| Pass::sequence("s", [pass.clone()]).run(&library, &module()).unwrap()).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);
    let before: Vec<String> = scribe.said().into_iter().filter(|said| said.starts_with("before")).collect();
    assert_eq!(before, ["before s", "before InferType", "before Needed", "before Needs"]);
    let missing = Pass::sequence("s", [pass.requiring(&["my.Neded"])]).run(&library, &module());
    let Err(RunError::Resolve(faults)) = missing else { panic!("nothing provides it") };
    assert!(faults.to_string().contains("my.Needed"), "{faults}");
}

#[test]
fn r08_a_context_ends_with_its_scope_and_threads_have_their_own() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let context = Arc::new(library.context().opt_level(3).build().unwrap());
    let inner = context.scope(|_| {
        let level = PassContext::current().settings().opt_level;
        let other = std::thread::spawn(|| PassContext::current().settings().opt_level).join().unwrap();
        (level, other, library.inherited_context().build().unwrap().settings().opt_level)
    });
    assert_eq!(inner.unwrap(), (3, 2, 3));
    assert_eq!(PassContext::current().settings().opt_level, 2);
}

#[test]
fn r09_workers_see_the_context_of_the_pass() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let mut module = module();
    let main = module.function("main").unwrap().clone();
    (0..50).for_each(|i| module.set_function(&format!("f{i}"), (*main).clone()));
    let levels: Arc<Mutex<Vec<u8>>> = Arc::default();
    let ours = levels.clone();
    let pass = Pass::function("look", 0, move |_, _, _| {
        ours.lock().unwrap().push(PassContext::current().settings().opt_level);
        Ok(None)
    });
    let context = Arc::new(library.context().opt_level(7).build().unwrap());
    context.scope(|_| pass.run(&library, &module).unwrap()).unwrap();
    assert_eq!(*levels.lock().unwrap(), vec![7; 51]);
}

#[test]
fn r11_nested_sequences_are_switched_and_filter_again() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let ((low, n_low), (high, n_high)) = (counter("low", 0), counter("high", 2));
    let inner = Pass::sequence("inner", [low, high]).at_level(1);
    let outer = Pass::sequence("outer", [inner]);
    let run = |opt_level: u8| {
        let context = Arc::new(library.context().opt_level(opt_level).build().unwrap());
        context.scope(|_| outer.run(&library, &module()).unwrap()).unwrap();
        (n_low.swap(0, Ordering::Relaxed), n_high.swap(0, Ordering::Relaxed))
    };
    assert_eq!([run(0), run(1), run(2)], [(0, 0), (1, 0), (1, 1)]);
}

#[test]
fn r11_an_empty_sequence_changes_nothing() {
    let registry = registry();
    let before = module();
    let after = Pass::sequence("sequential", []).run(&PassLibrary::new(&registry), &before).unwrap();
    assert_eq!(print(&after), print(&before));
}

#[test]
fn r13_a_function_pass_sees_the_module_as_it_was() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let mut module = module();
    let main = module.function("main").unwrap().clone();
    module.set_function("other", (*main).clone());
    let pass = Pass::function("rename", 0, |function, module, _| {
        let calls = |f: &relais::ir::Function| f.bindings(f.body()).len();
        assert!(module.functions().all(|(_, f)| calls(f) == 2), "no change of this pass shows");
        let mut new = (**function).clone();
        let first = new.bindings(new.body())[1];
        new.set_bindings(new.body(), &[first]);
        let x = new.params()[0];
        new.map_operands(first, |id| if function.call(id).is_some() { x } else { id });
        Ok(Some(new))
    });
    let after = pass.run(&library, &module).unwrap();
    assert!(after.functions().all(|(_, f)| f.bindings(f.body()).len() == 1));
    assert!(module.functions().all(|(_, f)| f.bindings(f.body()).len() == 2), "the input is as it was");
}

#[test]
fn r16_three_passes_call_the_hooks_five_times_directly_and_four_times_transitively() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let sequence = Pass::sequence(
        "sequential",
        ["InferType", "FoldConstant", "EliminateCommonSubexpr"].map(|name| library.get_pass(name).unwrap()),
    );
    for (dependencies, expected) in
        [(relais::pass::Dependencies::Direct, 5), (relais::pass::Dependencies::Transitive, 4)]
    {
        let scribe = Arc::new(Scribe::default());
        let context = Arc::new(library.context().opt_level(3).instrument(scribe.clone()).build().unwrap());
        let options = relais::manager::ManagerOptions { dependencies: Some(dependencies), ..Default::default() };
        context.scope(|_| sequence.run_with(&library, &module(), &options).unwrap()).unwrap();
        let n_after = scribe.said().iter().filter(|said| said.starts_with("after")).count();
        assert_eq!(n_after, expected, "{dependencies:?}");
    }
}

#[test]
fn r25_a_panic_in_the_programs_own_pass_is_its_failure() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let pass = Pass::module("my.Panics", 0, |_, _| panic!("on purpose"));
    let Err(RunError::Failed(failure)) = pass.run(&library, &module()) else { panic!("it fails") };
    let message = failure.to_string();
    assert!(message.starts_with("pass `my.Panics` panicked") && message.contains("on purpose"), "{message}");
}

#[test]
fn an_option_of_a_plugins_pass_is_checked_when_it_is_asked_for() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let wrong = library.get_pass_with("FoldConstant", vec![("no_such_option".into(), Value::Int(1))]);
    assert!(wrong.map(|_| ()).unwrap_err().to_string().contains("no_such_option"));
    let context = library.context().config("no.such.key", Value::Int(1)).build();
    assert!(context.map(|_| ()).unwrap_err().to_string().contains("no.such.key"));
}

#[test]
fn no_pass_removes_every_function() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let remove = |names: &[&str]| {
        let names = names.iter().map(|name| Value::Str((*name).to_owned())).collect();
        let pass = library.get_pass_with("RemoveUnusedFunctions", vec![("entry_functions".into(), Value::List(names))]);
        pass.unwrap_or_else(|faults| panic!("{faults}")).run(&library, &module())
    };
    let error = remove(&[]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("`entry_functions` is empty") && error.contains("help: name functions"), "{error}");
    assert_eq!(print(&remove(&["main"]).unwrap()), print(&module()));
}

/// `main` calls `middle`, which calls `leaf`, which returns its parameter or one of another shape.
const CALLS: &str = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n  %0 = @middle(%x);\n  %1 = Relu(%0);\n  %1\n}\n\
    def @middle(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n  %0 = @leaf(%x);\n  %0\n}\n\
    def @leaf(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n  %0 = Identity(%x);\n  %0\n}\n";

#[test]
fn r16_callers_are_typed_again_when_what_they_call_returns_another_type() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let module = text::parse_str(CALLS).expect("it is valid text");
    let typed = ["main", "middle", "leaf"].map(|name| typed_calls(&module, name));
    assert_eq!(typed, [0, 0, 0]);
    // A pass that touches only `leaf`: its new call is typed, and so are the values that depend on it.
    let touch = Pass::module("my.TouchLeaf", 0, |module, _| {
        let mut new = module.clone();
        let leaf = new.function_mut("leaf").expect("it is there");
        let abs = leaf.add_op("", "Abs", "", 0);
        let call = leaf.add_call(abs, &[leaf.params()[0]]);
        leaf.append(leaf.body(), call);
        leaf.set_results(leaf.body(), &[call]);
        Ok(Some(new))
    });
    let after = touch.run(&library, &module).unwrap();
    assert_eq!(["main", "middle", "leaf"].map(|name| typed_calls(&after, name)), [2, 1, 2]);
    assert!(print(&after).contains("%1: Tensor[(2), float32] = Relu"), "{}", print(&after));
}

#[test]
fn r16_functions_whose_callees_did_not_change_stay_the_same_object() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let module = text::parse_str(CALLS).expect("it is valid text");
    let touch = Pass::module("my.TouchMain", 0, |module, _| {
        let mut new = module.clone();
        let main = new.function_mut("main").expect("it is there");
        main.set_name(main.bindings(main.body())[0], "renamed");
        Ok(Some(new))
    });
    let after = touch.run(&library, &module).unwrap();
    let is_same = |name| std::ptr::eq(&**module.function(name).unwrap(), &**after.function(name).unwrap());
    assert_eq!(["main", "middle", "leaf"].map(is_same), [false, true, true]);
}

/// How many calls of a function have a type.
fn typed_calls(module: &IRModule, name: &str) -> usize {
    let f = module.function(name).expect("it is there");
    f.bindings(f.body()).iter().filter(|&&id| f.type_id(id) != relais::ir::TypeId::UNKNOWN).count()
}

#[test]
fn r25_quarantine_leaves_alone_the_pass_of_the_program_that_failed() {
    let registry = registry();
    let mut library = PassLibrary::new(&registry);
    library.register(&Pass::module("my.Fails", 0, |_, _| Err("told to fail".into())));
    let (other, count) = counter("my.Other", 0);
    library.register(&other);
    let text = "on_failure = \"quarantine\"\nsteps = [\"my.Fails\", \"my.Other\", \"my.Fails\"]";
    let spec = relais::pipeline::PipelineSpec::parse("p.toml", text, &relais::pipeline::Disk).unwrap();
    let pipeline = spec.resolve(&library).unwrap();
    let (_, report) = relais::manager::run(&pipeline, &module(), &library, &Default::default()).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert_eq!(report.warnings.len(), 1, "it is not tried again: {:?}", report.warnings);
    assert!(report.warnings[0].contains("without pass `my.Fails`"), "{:?}", report.warnings);
}

#[test]
fn after_a_cancellation_no_function_begins() {
    let registry = registry();
    let library = PassLibrary::new(&registry);
    let mut module = module();
    let main = module.function("main").unwrap().clone();
    (0..50).for_each(|i| module.set_function(&format!("f{i}"), main.clone()));
    let (count, cancel) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (ours, stop) = (count.clone(), cancel.clone());
    let pass = Pass::function("cancels", 0, move |_, _, _| {
        ours.fetch_add(1, Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
        Ok(None)
    });
    let options = relais::manager::ManagerOptions { cancel: Some(&cancel), ..Default::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let result = pool.install(|| pass.run_with(&library, &module, &options));
    let Err(RunError::Failed(failure)) = result else { panic!("it is cancelled") };
    assert!(failure.to_string().contains("cancelled"), "{failure}");
    assert_eq!(count.load(Ordering::Relaxed), 1);
}
