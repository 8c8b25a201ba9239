//! Scenarios with passes and instruments of their own: a script of calls, and what passes and hooks write down.

use super::{
    REGISTRY,
    scenario::{names, options, parsed, table, texts},
    ways::{parsed_module, print},
};
use relais::{
    ir::IRModule,
    manager::{self, Failure, FailureKind, ManagerOptions},
    options::{OptionSchema, ValueKind},
    pass::{ContextError, Dependencies, Hook, HookFault, PassContext, PassInfo, PassInstrument, RunCx, SkipReason},
    pipeline::{Disk, Faults, PipelineSpec},
    transform::{Pass, PassLibrary, RunError},
};
use relais_plugin_api::{diagnostics::PassError, options::Value};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    sync::{Arc, LazyLock, Mutex},
};
use toml::Table;

/// The passes of scripts turn one into the other.
static MODULES: LazyLock<[IRModule; 2]> = LazyLock::new(|| {
    ["Neg", "Abs"].map(|op| {
        let result = format!("%y: Tensor[(2), float32] = {op}(%x);");
        parsed_module(&format!(
            "def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {{\"\": 17}}] {{\n  {result}\n  %y\n}}\n"
        ))
    })
});

macro_rules! files {
    ($($file:ident)*) => {
        const FILES: &[&str] = &[$(stringify!($file)),*];

        $(
            #[test]
            fn $file() {
                each_log(stringify!($file));
            }
        )*
    };
}

files! {
    contexts
    defaults
    instruments
    sequences
}

#[test]
fn every_file_of_events_is_run() {
    assert_eq!(names("events"), FILES);
}

/// Runs the scenarios of a file.
#[track_caller]
fn each_log(file: &str) {
    let mut wrong = String::new();
    for scenario in parsed(&format!("events/{file}"))["scenario"].as_array().unwrap() {
        let scenario = scenario.as_table().unwrap();
        let (log, expected) = (log_of(scenario), text(scenario, "log").trim());
        if log != expected {
            wrong += &format!("\n{}\n{log}\n  instead of\n{expected}\n", text(scenario, "name"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn text<'a>(fields: &'a Table, key: &str) -> &'a str {
    fields.get(key).map_or("", |text| text.as_str().unwrap())
}

/// The items of a list, which may be left out and each of which may be its name alone.
fn items(fields: &Table, key: &str) -> Vec<Table> {
    let list = fields.get(key).map(|list| list.as_array().unwrap().as_slice()).unwrap_or_default();
    let item = |item: &toml::Value| match item.as_str() {
        Some(name) => Table::from_iter([("name".to_owned(), name.into())]),
        None => item.as_table().unwrap().clone(),
    };
    list.iter().map(item).collect()
}

type Log = Arc<Mutex<Vec<String>>>;
type Passes = Arc<Mutex<BTreeMap<String, Pass>>>;
type Instruments = BTreeMap<String, Arc<dyn PassInstrument>>;

fn note(log: &Log, line: String) {
    log.lock().unwrap().push(line);
}

/// Runs a script, in which each action that fails ends alone, and returns its log.
fn log_of(scenario: &Table) -> String {
    let log = Log::default();
    let instrument = |fields: Table| -> (String, Arc<dyn PassInstrument>) {
        let name = text(&fields, "name").to_owned();
        (name.clone(), Arc::new(Scribe { name, fields, log: log.clone() }))
    };
    let instruments: Instruments = items(scenario, "instruments").into_iter().map(instrument).collect();
    let passes = Passes::default();
    let mut library = PassLibrary::new(&*REGISTRY);
    for option in items(scenario, "options") {
        library.register_config(schema(&option));
    }
    for fields in items(scenario, "passes") {
        let pass = own(&fields, &log, &passes, &instruments);
        if !fields.contains_key("unregistered") {
            library.register(&pass);
        }
        passes.lock().unwrap().insert(text(&fields, "name").to_owned(), pass);
    }
    let settings = table(scenario.get("contexts"));
    let script = Script { library, passes, instruments, settings, contexts: RefCell::default(), log: log.clone() };
    for action in scenario["do"].as_array().unwrap() {
        script.attempt(std::slice::from_ref(action));
    }
    PassContext::current().override_instruments(Vec::new()).unwrap_or_else(|fault| panic!("{fault}"));
    log.lock().unwrap().join("\n")
}

fn schema(option: &Table) -> OptionSchema {
    let number = |key: &str| option[key].as_integer().unwrap();
    OptionSchema {
        name: text(option, "key").to_owned(),
        doc: "How deep.".to_owned(),
        kind: ValueKind::Int { min: number("least"), max: number("most") },
        default: Some(Value::Int(number("default"))),
        is_optional: false,
        aliases: Vec::new(),
    }
}

/// A pass that does what its fields say.
fn own(fields: &Table, log: &Log, passes: &Passes, instruments: &Instruments) -> Pass {
    let name = text(fields, "name").to_owned();
    let level = fields.get("opt_level").map_or(0, |level| level.as_integer().unwrap().try_into().unwrap());
    let required = texts(fields.get("required"));
    let (log, passes, fields) = (log.clone(), Arc::downgrade(passes), fields.clone());
    let new: Vec<_> = texts(fields.get("overrides")).iter().map(|name| instruments[name].clone()).collect();
    let run = move |module: &IRModule, cx: &RunCx<'_>| {
        let name = text(&fields, "name");
        note(&log, format!("{name} runs"));
        match text(&fields, "shows") {
            "" => {}
            "level" => note(&log, format!("{name}: level = {}", PassContext::current().settings().opt_level)),
            key => {
                let value = cx.get_config(key).map_or("none".to_owned(), |value| value.to_string());
                note(&log, format!("{name}: {key} = {value}"));
            }
        }
        if fields.contains_key("runs") {
            let other = passes.upgrade().unwrap().lock().unwrap()[text(&fields, "runs")].clone();
            other.run_within(cx, module)?;
        }
        if fields.contains_key("overrides") {
            PassContext::current().override_instruments(new.clone()).map_err(PassError::new)?;
        }
        if fields.contains_key("fails") {
            return Err(PassError::new("told to fail"));
        }
        let other = &MODULES[usize::from(print(module) == print(&MODULES[0]))];
        Ok(fields.contains_key("changes").then(|| other.clone()))
    };
    let required: Vec<&str> = required.iter().map(String::as_str).collect();
    Pass::module(&name, level, run).requiring(&required)
}

/// Writes down its hooks, vetoes passes, and fails in a hook.
struct Scribe {
    name: String,
    fields: Table,
    log: Log,
}

impl Scribe {
    fn hook(&self, event: &str) -> Result<(), PassError> {
        note(&self.log, format!("{} {event}", self.name));
        match text(&self.fields, "fails") == event {
            true => Err(PassError::new("told to fail")),
            false => Ok(()),
        }
    }
}

impl PassInstrument for Scribe {
    fn name(&self) -> &str {
        &self.name
    }

    fn enter(&self) -> Result<(), PassError> {
        self.hook("enter")
    }

    fn exit(&self) -> Result<(), PassError> {
        self.hook("exit")
    }

    fn should_run(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<bool, PassError> {
        self.hook(&format!("should_run {}", pass.name))?;
        Ok(!texts(self.fields.get("vetoes")).iter().any(|name| name == pass.name))
    }

    fn before(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.hook(&format!("before {}", pass.name))
    }

    fn after(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.hook(&format!("after {}", pass.name))
    }

    fn skipped(&self, _: &IRModule, pass: &PassInfo<'_>, reason: &SkipReason) {
        note(&self.log, format!("{} skipped {}: {reason}", self.name, pass.name));
    }

    fn failed(&self, pass: &PassInfo<'_>, _: &PassError) {
        // It can fail by a panic only.
        self.hook(&format!("failed {}", pass.name)).unwrap();
    }
}

struct Script<'a> {
    library: PassLibrary<'a>,
    passes: Passes,
    instruments: Instruments,
    settings: Table,
    contexts: RefCell<BTreeMap<String, Arc<PassContext>>>,
    log: Log,
}

impl Script<'_> {
    /// Does something, and writes down the fault if there is one.
    fn attempt(&self, actions: &[toml::Value]) {
        if let Err(fault) = self.do_all(actions) {
            note(&self.log, format!("fault: {fault}"));
        }
    }

    fn do_all(&self, actions: &[toml::Value]) -> Result<(), String> {
        actions.iter().try_for_each(|action| self.do_one(action))
    }

    fn do_one(&self, action: &toml::Value) -> Result<(), String> {
        let Some(fields) = action.as_table() else {
            match action.as_str().unwrap() {
                "look" => self.look(),
                name => return self.call(&self.member(&name.into())?, None),
            }
            return Ok(());
        };
        let inner = |key: &str| fields[key].as_array().unwrap().as_slice();
        if fields.contains_key("sequence") {
            let dependencies = match text(fields, "dependencies") {
                "direct" => Some(Dependencies::Direct),
                "assumed" => Some(Dependencies::Assumed),
                _ => None,
            };
            self.call(&self.member(action)?, dependencies)
        } else if fields.contains_key("override") {
            PassContext::current().override_instruments(self.named(&texts(fields.get("override")))).map_err(of_hook)
        } else if fields.contains_key("pipeline") {
            self.pipeline(text(fields, "pipeline"))
        } else if fields.contains_key("try") {
            self.attempt(inner("try"));
            Ok(())
        } else {
            let scope = self.context(text(fields, "in"))?.scope(|_| self.do_all(inner("do")));
            scope.unwrap_or_else(|error| {
                let fault = match error.error {
                    ContextError::Hook(fault) => of_hook(fault),
                    other => other.to_string(),
                };
                Err(match error.result {
                    Some(Err(first)) => format!("{fault} after {first}"),
                    _ => fault,
                })
            })
        }
    }

    fn look(&self) {
        let now = PassContext::current();
        let instruments = now.instruments();
        let names: Vec<&str> = instruments.iter().map(|instrument| instrument.name()).collect();
        note(&self.log, format!("level {}, instruments [{}]", now.settings().opt_level, names.join(", ")));
    }

    fn named(&self, names: &[String]) -> Vec<Arc<dyn PassInstrument>> {
        names.iter().map(|name| self.instruments[name].clone()).collect()
    }

    fn context(&self, name: &str) -> Result<Arc<PassContext>, String> {
        if let Some(known) = self.contexts.borrow().get(name) {
            return Ok(known.clone());
        }
        let settings = self.settings[name].as_table().unwrap();
        let mut builder = match settings.contains_key("inherit") {
            true => self.library.inherited_context(),
            false => self.library.context(),
        };
        if let Some(level) = settings.get("opt_level") {
            builder = builder.opt_level(level.as_integer().unwrap().try_into().unwrap());
        }
        builder = texts(settings.get("disabled")).iter().fold(builder, |builder, name| builder.disable(name));
        builder = texts(settings.get("required")).iter().fold(builder, |builder, name| builder.require(name));
        for (key, value) in options(&table(settings.get("config"))) {
            builder = builder.config(&key, value);
        }
        let instruments = self.named(&texts(settings.get("instruments")));
        let context = Arc::new(builder.build().map_err(|faults| of_faults(&faults))?.with_instruments(instruments));
        self.contexts.borrow_mut().insert(name.to_owned(), context.clone());
        Ok(context)
    }

    fn member(&self, member: &toml::Value) -> Result<Pass, String> {
        if let Some(name) = member.as_str() {
            let own = self.passes.lock().unwrap().get(name).cloned();
            return own.map_or_else(|| self.library.get_pass(name).map_err(|faults| of_faults(&faults)), Ok);
        }
        let fields = member.as_table().unwrap();
        let members = fields["sequence"].as_array().unwrap().iter().map(|member| self.member(member));
        let level = fields.get("opt_level").map_or(0, |level| level.as_integer().unwrap().try_into().unwrap());
        let name = fields.get("name").map_or("sequential", |name| name.as_str().unwrap());
        let required = texts(fields.get("required"));
        let required: Vec<&str> = required.iter().map(String::as_str).collect();
        Ok(Pass::sequence(name, members.collect::<Result<Vec<_>, _>>()?).at_level(level).requiring(&required))
    }

    fn call(&self, pass: &Pass, dependencies: Option<Dependencies>) -> Result<(), String> {
        let options = ManagerOptions { dependencies, ..ManagerOptions::default() };
        match pass.run_with(&self.library, &MODULES[0], &options) {
            Ok(_) => Ok(()),
            Err(RunError::Resolve(faults)) => Err(of_faults(&faults)),
            Err(RunError::Failed(failure)) => Err(of_failure(&failure)),
            Err(other) => Err(other.to_string()),
        }
    }

    fn pipeline(&self, text: &str) -> Result<(), String> {
        let spec = PipelineSpec::parse("pipeline.toml", text, &Disk).map_err(|faults| of_faults(&faults))?;
        let pipeline = spec.resolve(&self.library).map_err(|faults| of_faults(&faults))?;
        let ran = manager::run(&pipeline, &MODULES[0], &self.library, &ManagerOptions::default());
        ran.map(drop).map_err(|failure| of_failure(&failure))
    }
}

fn of_faults(faults: &Faults) -> String {
    format!("{} {}", faults.list[0].code.as_str(), faults.list[0].message)
}

fn named_hook(instrument: &str, hook: Hook) -> String {
    format!("hook {} of {instrument}", hook.name())
}

fn of_hook(fault: HookFault) -> String {
    let all = std::iter::once(&fault).chain(&fault.also);
    all.map(|fault| named_hook(&fault.instrument, fault.hook)).collect::<Vec<_>>().join("; then ")
}

fn of_failure(failure: &Failure) -> String {
    let first = match &failure.kind {
        FailureKind::Pass { pass, .. } => format!("pass {pass}"),
        FailureKind::Instrument(fault) => named_hook(&fault.instrument, fault.hook),
        other => other.to_string(),
    };
    let also = failure.also.iter().map(|fault| named_hook(&fault.instrument, fault.hook));
    std::iter::once(first).chain(also).collect::<Vec<_>>().join("; then ")
}
