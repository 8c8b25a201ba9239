//! The rules of the pass infrastructure, over passes of a plugin that is built and loaded, of the shipped plugins, and
//! of this program. A test's name contains the number of its rule.

mod analyses;
mod checks;
mod contexts;
mod faults;
mod instruments;
mod kinds;
mod levels;
mod nested;
mod options;
mod own;
mod sequences;

use relais::{
    ir::IRModule,
    manager::{self, Failure, ManagerOptions, RunReport},
    pass::{Hook, PassInfo, PassInstrument, SkipReason},
    pipeline::{Disk, PipelineSpec},
    plugin::{Policy, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
    transform::{Pass, PassLibrary, RunError},
};
use relais_plugin_api::{diagnostics::PassError, options::Value, text};
use relais_tests::cargo_built::plugin;
use std::sync::{Arc, LazyLock, Mutex};

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let found = discover(&[], &[plugin("rules")], Policy { writable: WritableFiles::Allow });
    let registry = Registry::new(found, Linked::Include, &Choices::new());
    assert_eq!(registry.refused(), []);
    registry
});

/// The passes of the plugin and the shipped ones.
fn library() -> PassLibrary<'static> {
    PassLibrary::new(&*REGISTRY)
}

fn pass(name: &str) -> Pass {
    library().get_pass(name).unwrap_or_else(|faults| panic!("{faults}"))
}

fn pass_with(name: &str, options: &[(&str, Value)]) -> Pass {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    library().get_pass_with(name, options).unwrap_or_else(|faults| panic!("{faults}"))
}

fn word(text: &str) -> Value {
    Value::Str(text.to_owned())
}

fn parse(text: &str) -> IRModule {
    text::parse_str(text).unwrap_or_else(|faults| panic!("{faults:?}"))
}

fn print(module: &IRModule) -> String {
    text::print(module, &Default::default())
}

/// `main`, and functions `f1`, `f2` and so on, some of which call `Neg` and the others `Relu`.
fn functions(n: usize, calls_neg: impl Fn(usize) -> bool) -> IRModule {
    let mut text = String::new();
    for i in 0..n {
        let name = if i == 0 { "main".to_owned() } else { format!("f{i}") };
        let op = if calls_neg(i) { "Neg" } else { "Relu" };
        text.push_str(&format!(
            "def @{name}(%x: Tensor[(2), float32]) #[opset = {{\"\": 17}}] {{\n  %0 = {op}(%x);\n  %0\n}}\n"
        ));
    }
    parse(&text)
}

fn module() -> IRModule {
    functions(1, |_| false)
}

/// The globals that are other objects in another module.
fn changed(before: &IRModule, after: &IRModule) -> Vec<String> {
    let is_same = |name: &str| match (before.global(name), after.global(name)) {
        (Some(before), Some(after)) => before.is_same(after),
        _ => false,
    };
    let names = after.globals().iter().map(|global| global.name.to_string());
    names.filter(|name| !is_same(name)).collect()
}

fn run(pass: &Pass, module: &IRModule) -> Result<(IRModule, RunReport), RunError> {
    pass.run_with(&library(), module, &ManagerOptions::default())
}

fn ran_well(pass: &Pass, module: &IRModule) -> (IRModule, RunReport) {
    run(pass, module).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a pipeline.
fn run_toml(text: &str, module: &IRModule) -> Result<(IRModule, RunReport), Box<Failure>> {
    let spec = PipelineSpec::parse("p.toml", text, &Disk).unwrap_or_else(|faults| panic!("{faults}"));
    let pipeline = spec.resolve(&*REGISTRY).unwrap_or_else(|faults| panic!("{faults}"));
    manager::run(&pipeline, module, &*REGISTRY, &ManagerOptions::default())
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The passes that ran, sequences apart.
fn executed(report: &RunReport) -> Vec<&str> {
    let ran = report.executions.iter().filter(|execution| !matches!(execution.fate, manager::Fate::Skipped(_)));
    ran.map(|execution| short(&execution.name)).collect()
}

/// Returns the messages of passes.
fn said(report: &RunReport) -> Vec<String> {
    report.said.iter().map(|said| said.diagnostic.rec().message.to_string()).collect()
}

type Events = Arc<Mutex<Vec<String>>>;

/// Writes down every hook with its own name; vetoes a pass, or fails in a hook.
#[derive(Default)]
struct Scribe {
    name: &'static str,
    vetoes: Option<&'static str>,
    /// The hook, and the pass where it is asked about one.
    fails: Option<(Hook, &'static str)>,
    events: Events,
}

impl Scribe {
    fn hook(&self, hook: Hook, pass: &str) -> Result<(), PassError> {
        self.note(hook.name(), pass);
        match self.fails == Some((hook, short(pass))) {
            true => Err(PassError::new("told to fail")),
            false => Ok(()),
        }
    }

    fn note(&self, what: &str, pass: &str) {
        let text = format!("{} {what} {}", self.name, short(pass));
        self.events.lock().unwrap().push(text.trim_end().to_owned());
    }
}

impl PassInstrument for Scribe {
    fn name(&self) -> &str {
        self.name
    }

    fn enter(&self) -> Result<(), PassError> {
        self.hook(Hook::Enter, "")
    }

    fn exit(&self) -> Result<(), PassError> {
        self.hook(Hook::Exit, "")
    }

    fn should_run(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<bool, PassError> {
        self.hook(Hook::ShouldRun, pass.name)?;
        Ok(self.vetoes != Some(short(pass.name)))
    }

    fn before(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.hook(Hook::Before, pass.name)
    }

    fn after(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.hook(Hook::After, pass.name)
    }

    fn skipped(&self, _: &IRModule, pass: &PassInfo<'_>, _: &SkipReason) {
        self.note("skipped", pass.name);
    }

    fn failed(&self, pass: &PassInfo<'_>, _: &PassError) {
        self.note("failed", pass.name);
    }
}

/// Scribes `a`, `b` and so on that write into one list, one of which fails.
fn scribes(n: usize, failing: &str, hook: Hook, at: &'static str) -> (Events, Vec<Arc<dyn PassInstrument>>) {
    let events = Events::default();
    let scribe = |&name: &&'static str| -> Arc<dyn PassInstrument> {
        let fails = (name == failing).then_some((hook, at));
        Arc::new(Scribe { name, fails, events: events.clone(), ..Scribe::default() })
    };
    (events.clone(), ["a", "b", "c"][..n].iter().map(scribe).collect())
}

/// Returns the notes since the last call.
fn taken(events: &Events) -> Vec<String> {
    std::mem::take(&mut events.lock().unwrap())
}
