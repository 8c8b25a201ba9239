//! The ways in which a scenario is run.

use super::{
    REGISTRY,
    scenario::{Scenario, options, table, texts, value},
};
use relais::{
    instruments::Output,
    ir::IRModule,
    manager::{ContextBuilder, ManagerOptions, RunReport},
    pass::{Dependencies, PassContext, PassInfo, PassInstrument, SkipReason},
    pipeline::Faults,
    transform::{Pass, PassLibrary, RunError},
};
use relais_plugin_api::{boundary::record::Level, diagnostics::PassError, options::Value, pass::Requirement, text};
use relais_session::{
    Argument, Listener, ModelSource, Request, Session,
    model::Model,
    pipeline::{Chosen, InstrumentRequest, PipelineRequest},
};
use relais_tests::cli::{Run, command};
use std::{
    fs,
    path::Path,
    sync::{Arc, LazyLock, Mutex},
};
use toml::Table;

/// The answer of a front end.
pub(super) struct Answer {
    pub ran: String,
    pub printed: String,
    pub result: Result<String, Fault>,
}

/// The fault of a run that came to nothing.
pub(super) struct Fault {
    pub code: String,
    pub words: String,
}

type Way = fn(&Scenario, &Path) -> Answer;

/// The ways, with their names.
pub(super) const WAYS: [(&str, Way); 5] = [
    ("arguments", by_arguments),
    ("file", by_file),
    ("request", by_request),
    ("text", by_text),
    ("objects", by_objects),
];

static SESSION: LazyLock<Session> = LazyLock::new(|| Session::of(REGISTRY.clone()));

/// A module from its text.
pub(super) fn parsed_module(text: &str) -> IRModule {
    text::parse_str(text).unwrap_or_else(|faults| panic!("{text}: {faults:?}"))
}

fn parse(scenario: &Scenario) -> IRModule {
    parsed_module(&scenario.module)
}

pub(super) fn print(module: &IRModule) -> String {
    text::print(module, &Default::default())
}

/// A resulting module, in words if it is the one that was given.
fn told(result: &str, given: &str) -> String {
    if result == given { "as it was".to_owned() } else { result.to_owned() }
}

/// The lines that instruments and passes print, and nothing else.
fn printed(text: &str) -> String {
    let is_own = |line: &&str| {
        !line.is_empty() && !line.starts_with("  note: said by pass") && !line.starts_with("the trace is in ")
    };
    let lines: Vec<&str> = text.lines().filter(is_own).collect();
    plain(&lines.join("\n")).replace("note[printed]: ", "")
}

/// A text without colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// The whole pipeline in TOML.
fn whole(scenario: &Scenario) -> String {
    let Scenario { context, run, watch, steps, .. } = scenario;
    format!("{context}\n{run}\ninstruments = {watch}\nsteps = {steps}\n")
}

/// The same without what arguments state.
fn steps_alone(scenario: &Scenario) -> String {
    format!("{}\nsteps = {}\n", scenario.run, scenario.steps)
}

/// The steps of a scenario that names passes by themselves: names, and settings of their options.
fn named(scenario: &Scenario) -> (Vec<String>, Vec<String>) {
    let (mut names, mut settings) = (Vec::new(), Vec::new());
    for step in scenario.parsed_steps() {
        let name = step["pass"].as_str().unwrap().to_owned();
        let set = |(key, value): (&String, &toml::Value)| format!("{name}.{key}={value}");
        settings.extend(table(step.get("options")).iter().map(set));
        names.push(name);
    }
    (names, settings)
}

/// The options of the context, as settings.
fn settings(context: &Table) -> Vec<String> {
    table(context.get("config")).iter().map(|(key, value)| format!("{key}={value}")).collect()
}

/// An instrument with its options, as an argument.
fn instrument_text((name, options): &(String, Table)) -> String {
    let options: Vec<String> = options.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if options.is_empty() { name.clone() } else { format!("{name}:{}", options.join(",")) }
}

fn by_arguments(scenario: &Scenario, folder: &Path) -> Answer {
    let context = scenario.parsed_context();
    let (names, mut settings) = if scenario.is_named { named(scenario) } else { Default::default() };
    settings.extend(self::settings(&context));
    let mut arguments: Vec<String> = match scenario.is_named {
        true => vec!["--passes".into(), names.join(",")],
        false => {
            fs::write(folder.join("steps.toml"), steps_alone(scenario)).unwrap();
            vec!["-p".into(), "steps.toml".into()]
        }
    };
    let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    for (argument, key) in [("--disable", "disabled"), ("--require", "required")] {
        if let Some(names) = context.get(key) {
            add(argument, texts(Some(names)).join(","));
        }
    }
    context.get("opt_level").into_iter().for_each(|level| add("-O", level.to_string()));
    settings.into_iter().for_each(|setting| add("--set", setting));
    scenario.instruments().iter().for_each(|used| add("--instrument", instrument_text(used)));
    by_command_line(scenario, folder, &arguments)
}

fn by_file(scenario: &Scenario, folder: &Path) -> Answer {
    fs::write(folder.join("whole.toml"), whole(scenario)).unwrap();
    by_command_line(scenario, folder, &["-p".into(), "whole.toml".into()])
}

fn by_command_line(scenario: &Scenario, folder: &Path, arguments: &[String]) -> Answer {
    let given = print(&parse(scenario));
    fs::write(folder.join("in.relay"), &scenario.module).unwrap();
    let (output, trace) = (folder.join("out.relay"), folder.join("trace.json"));
    let mut run = command();
    run.current_dir(folder).args(["run", "in.relay", "-o", "out.relay", "--trace", "trace.json", "-q"]);
    let Run { status, stderr, .. } = Run::of(run.args(["--no-reproducer"]).args(arguments));
    let ran = fs::read(&trace).map_or(String::new(), |trace| traced(&serde_json::from_slice(&trace).unwrap()));
    let first = stderr.lines().find_map(|line| line.strip_prefix("error[")).and_then(|line| line.split_once(']'));
    let result = match status {
        Some(0) => Ok(told(&fs::read_to_string(&output).unwrap(), &given)),
        _ => Err(Fault { code: first.unwrap_or_default().0.to_owned(), words: stderr.clone() }),
    };
    for file in [output, trace] {
        let _ = fs::remove_file(file);
    }
    let printed = if result.is_ok() { printed(&stderr) } else { String::new() };
    Answer { ran, printed, result }
}

/// A pass that ran or was skipped, in words; of a sequence, with its members.
struct Ran {
    name: String,
    members: Option<Vec<Ran>>,
}

impl Ran {
    fn words(&self) -> String {
        let Self { name, members } = self;
        match members {
            Some(members) => format!("{name}({})", words(members)),
            None => name.clone(),
        }
    }
}

fn words(items: &[Ran]) -> String {
    items.iter().map(Ran::words).collect::<Vec<_>>().join(" ")
}

fn short(name: &str) -> String {
    name.strip_prefix("relais.").unwrap_or(name).to_owned()
}

/// A pass that was skipped.
fn skipped(name: &str, reason: &str) -> Ran {
    let reason = match reason {
        "what it establishes holds" => "holds",
        "its plugin is in quarantine" => "quarantined",
        other => other,
    };
    Ran { name: format!("{}:{reason}", short(name)), members: None }
}

/// The passes without the sequences that front ends make of what they are given, whose names differ.
fn within(top: Vec<Ran>) -> String {
    let inner = |item: Ran| match item.members {
        Some(members) => members,
        None => vec![item],
    };
    words(&top.into_iter().flat_map(inner).collect::<Vec<_>>())
}

/// The passes of a trace, in which each comes when it ends.
fn traced(trace: &serde_json::Value) -> String {
    let mut ended: Vec<(f64, Ran)> = Vec::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        let (name, began) = (event["name"].as_str().unwrap(), event["ts"].as_f64().unwrap());
        let ran = match event["cat"].as_str() {
            Some("skipped") => skipped(name.trim_start_matches("skipped "), event["args"]["reason"].as_str().unwrap()),
            Some("pass" | "sequence") => {
                let failed = if event["args"].get("error").is_some() { ":failed" } else { "" };
                let at = ended.iter().position(|(start, _)| *start >= began).unwrap_or(ended.len());
                let members: Vec<Ran> = ended.drain(at..).map(|(_, ran)| ran).collect();
                let is_sequence = event["args"]["kind"] == "sequential";
                Ran { name: short(name) + failed, members: is_sequence.then_some(members) }
            }
            _ => continue,
        };
        ended.push((began, ran));
    }
    within(ended.into_iter().map(|(_, ran)| ran).collect())
}

/// Keeps which passes ran in which sequences, and which ones were skipped.
struct Recorder(Mutex<Vec<Vec<Ran>>>);

impl Recorder {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(vec![Vec::new()])))
    }

    fn ran(&self) -> String {
        let mut open = self.0.lock().unwrap();
        assert_eq!(open.len(), 1, "each `before` has its end");
        within(open.pop().unwrap())
    }

    fn close(&self, pass: &PassInfo<'_>, fate: &str) {
        let mut open = self.0.lock().unwrap();
        let members = open.pop().unwrap();
        let members = (pass.level == Level::SEQUENTIAL).then_some(members);
        open.last_mut().unwrap().push(Ran { name: short(pass.name) + fate, members });
    }
}

impl PassInstrument for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }

    fn before(&self, _: &IRModule, _: &PassInfo<'_>) -> Result<(), PassError> {
        self.0.lock().unwrap().push(Vec::new());
        Ok(())
    }

    fn after(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.close(pass, "");
        Ok(())
    }

    fn failed(&self, pass: &PassInfo<'_>, _: &PassError) {
        self.close(pass, ":failed");
    }

    fn skipped(&self, _: &IRModule, pass: &PassInfo<'_>, reason: &SkipReason) {
        self.0.lock().unwrap().last_mut().unwrap().push(skipped(pass.name, &reason.to_string()));
    }
}

/// Keeps what is printed.
#[derive(Default)]
struct Kept(Mutex<String>);

impl Output for Kept {
    fn print(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
}

/// Adds the messages of passes to what was printed.
fn with_messages(kept: &Kept, report: &RunReport) {
    report.said.iter().for_each(|said| kept.print(&format!("{}\n", said.diagnostic.rec().message)));
}

struct Listening(Arc<Kept>);

impl Listener for Listening {
    fn output(&self) -> Option<Arc<dyn Output>> {
        Some(self.0.clone())
    }
}

fn by_request(scenario: &Scenario, folder: &Path) -> Answer {
    let context = scenario.parsed_context();
    let (names, mut settings) = if scenario.is_named { named(scenario) } else { Default::default() };
    settings.extend(self::settings(&context));
    let chosen = match scenario.is_named {
        true => Chosen::Passes(Argument::numbered("passes", names)),
        false => {
            let file = folder.join("steps.toml");
            fs::write(&file, steps_alone(scenario)).unwrap();
            Chosen::Named(file.to_str().expect("the folder has a name in UTF-8").to_owned())
        }
    };
    let pipeline = PipelineRequest {
        chosen,
        opt_level: context.get("opt_level").map(|level| level.as_integer().unwrap().try_into().unwrap()),
        disabled: Argument::each("disabled", texts(context.get("disabled"))),
        required: Argument::each("required", texts(context.get("required"))),
        settings: Argument::each("config", settings),
        ..PipelineRequest::default()
    };
    let instrument = |used| InstrumentRequest::Text(Argument::new("instruments", instrument_text(used)));
    let instruments = scenario.instruments().iter().map(instrument).collect();
    requested(scenario, Request { instruments, ..Request::default() }.through(pipeline))
}

fn by_text(scenario: &Scenario, _: &Path) -> Answer {
    requested(scenario, Request::default().through(PipelineRequest::toml("whole.toml", &whole(scenario))))
}

fn requested(scenario: &Scenario, request: Request) -> Answer {
    let given = print(&parse(scenario));
    let (recorder, kept) = (Recorder::new(), Arc::<Kept>::default());
    let model = Model::read_from(Path::new("in.relay"), scenario.module.as_bytes());
    let model = model.unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
    let request = Request { model: ModelSource::from(model), ..request };
    let session = SESSION.clone().with_instrument(recorder.clone());
    let result = match session.run_with(&Listening(kept.clone()), &request) {
        Ok(finished) => {
            with_messages(&kept, &finished.course.report);
            Ok(told(&print(&finished.module), &given))
        }
        Err(stopped) => Err(Fault { code: stopped.error.code().to_owned(), words: whole_error(&stopped.error) }),
    };
    Answer { ran: recorder.ran(), printed: printed(&kept.0.lock().unwrap()), result }
}

fn whole_error(error: &relais_session::Error) -> String {
    format!("{error}\n{}", error.help().unwrap_or_default())
}

fn by_objects(scenario: &Scenario, _: &Path) -> Answer {
    let (recorder, kept) = (Recorder::new(), Arc::<Kept>::default());
    let library = PassLibrary::new(&*REGISTRY);
    let dependencies = scenario.run_setting("dependencies").map(|name| match name.as_str() {
        "direct" => Dependencies::Direct,
        "assumed" => Dependencies::Assumed,
        _ => Dependencies::Transitive,
    });
    let calls = Calls { scenario, library: &library, dependencies, recorder: recorder.clone(), kept: kept.clone() };
    let module = parse(scenario);
    let given = print(&module);
    let result = calls.run(&module);
    assert_eq!(print(&module), given, "{}: a pass changed its input", scenario.name);
    let result = result.map(|module| told(&print(&module), &given));
    Answer { ran: recorder.ran(), printed: printed(&kept.0.lock().unwrap()), result }
}

/// Enters contexts and calls sequences; a scope is a context that inherits.
struct Calls<'a> {
    scenario: &'a Scenario,
    library: &'a PassLibrary<'a>,
    dependencies: Option<Dependencies>,
    recorder: Arc<Recorder>,
    kept: Arc<Kept>,
}

impl Calls<'_> {
    fn run(&self, module: &IRModule) -> Result<IRModule, Fault> {
        let context = self.context(self.library.context(), &self.scenario.parsed_context())?;
        let scope = context.scope(|_| self.steps(&self.scenario.parsed_steps(), module));
        scope.unwrap_or_else(|error| panic!("{}: {error}", self.scenario.name))
    }

    fn context(&self, builder: ContextBuilder<'_>, settings: &Table) -> Result<Arc<PassContext>, Fault> {
        let mut builder = builder.output(self.kept.clone());
        if let Some(level) = settings.get("opt_level") {
            builder = builder.opt_level(level.as_integer().unwrap().try_into().unwrap());
        }
        builder = texts(settings.get("disabled")).iter().fold(builder, |builder, name| builder.disable(name));
        builder = texts(settings.get("required")).iter().fold(builder, |builder, name| builder.require(name));
        let config = table(settings.get("config"));
        builder = config.iter().fold(builder, |builder, (key, given)| builder.config(key, value(given)));
        for (name, given) in self.scenario.instruments() {
            builder = builder.instrument_by_name(&name, options(&given));
        }
        builder = builder.instrument(self.recorder.clone());
        builder.build().map(Arc::new).map_err(of_faults)
    }

    /// Calls sequences of the steps between scopes.
    fn steps(&self, steps: &[toml::Value], module: &IRModule) -> Result<IRModule, Fault> {
        let mut module = module.clone();
        let (mut held, mut has_called) = (Vec::new(), false);
        for step in steps {
            let Some(scope) = step.get("scope") else {
                held.push(self.made(step)?);
                continue;
            };
            if !held.is_empty() {
                module = self.call(std::mem::take(&mut held), &module)?;
            }
            has_called = true;
            let context = self.context(self.library.inherited_context(), step.as_table().unwrap())?;
            let result = context.scope(|_| self.steps(scope.as_array().unwrap(), &module));
            module = result.unwrap_or_else(|error| panic!("{}: {error}", self.scenario.name))?;
        }
        match held.is_empty() && has_called {
            true => Ok(module),
            false => self.call(held, &module),
        }
    }

    fn call(&self, held: Vec<Pass>, module: &IRModule) -> Result<IRModule, Fault> {
        let options = ManagerOptions { dependencies: self.dependencies, ..ManagerOptions::default() };
        match Pass::sequence("steps", held).run_with(self.library, module, &options) {
            Ok((module, report)) => {
                with_messages(&self.kept, &report);
                Ok(module)
            }
            Err(RunError::Resolve(faults)) => Err(of_faults(faults)),
            Err(error) => Err(Fault { code: code_of(&error), words: error.to_string() }),
        }
    }

    fn made(&self, step: &toml::Value) -> Result<Pass, Fault> {
        if let Some(name) = step.as_str() {
            return self.library.get_pass(name).map_err(of_faults);
        }
        let level = step.get("opt_level").map(|level| level.as_integer().unwrap().try_into().unwrap());
        if let Some(name) = step.get("pass") {
            let given = options(&table(step.get("options")));
            let pass = self.library.get_pass_with(name.as_str().unwrap(), given).map_err(of_faults)?;
            return Ok(level.map_or_else(|| pass.clone(), |level| pass.clone().as_step(level)));
        }
        let members = step["sequence"].as_array().unwrap().iter().map(|member| self.made(member));
        let members = members.collect::<Result<Vec<Pass>, Fault>>()?;
        let name = step.get("name").map_or("sequential", |name| name.as_str().unwrap());
        let sequence = Pass::sequence(name, members).at_level(level.unwrap_or(0));
        let required = step.get("required").map(|required| required.as_array().unwrap().as_slice()).unwrap_or_default();
        Ok(required.iter().fold(sequence, |sequence, one| sequence.requiring_one(requirement(one))))
    }
}

fn requirement(one: &toml::Value) -> Requirement {
    match one.as_str() {
        Some(name) => name.into(),
        None => {
            let given = Value::Struct(options(&table(one.get("options"))));
            Requirement { options: given, ..one["pass"].as_str().unwrap().into() }
        }
    }
}

fn of_faults(faults: Faults) -> Fault {
    Fault { code: faults.list[0].code.as_str().to_owned(), words: faults.to_string() }
}

/// The code of the error of a pass.
fn code_of(error: &RunError) -> String {
    match error {
        RunError::Failed(failure) => failure.kind.code().to_owned(),
        _ => String::new(),
    }
}
