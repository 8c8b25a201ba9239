//! A catalogue of passes that record their runs, for tests.

use crate::{
    ir::{Function, IRModule, MAIN, OpId},
    options::{OptionSchema, ValueKind},
    pass::{
        Candidate, Catalogue, ConfigFacts, InstrumentFacts, InstrumentFindings, Member, NoPass, PassFacts,
        PassInstrument, PassOwner, PluginFacts, RunCx, RunnablePass,
    },
};
use relais_plugin_api::{
    boundary::record::{Level, Phase},
    diagnostics::{Diagnostic, PassError, Severity},
    infer::{Blaming, Checking, TypeRelations, Typing},
    op::{InferRequest, OpError},
    options::Value,
    pass::Requirement,
};
use std::sync::{Arc, Mutex, atomic::Ordering};

/// The behaviour of a fake pass.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    /// Nothing.
    Nothing,
    /// Adds a call, each time.
    Change,
    /// Adds a call until there are that many.
    ChangeUpTo(usize),
    /// Returns an error.
    Fail,
    /// Emits a warning, and changes the module.
    Complain,
    /// Emits remarks about what it did and did not do, and counts from several threads.
    Remark,
    /// Waits for the request to stop, and returns as if nothing had happened.
    Wait,
    /// Makes the result refer to a node that is bound nowhere.
    Break,
    /// Consists of these.
    Consist(Vec<&'static str>),
}

/// Passes by name, and a record of those that ran.
#[derive(Default)]
pub(crate) struct Fakes {
    passes: Vec<(Arc<PassFacts>, Does)>,
    config: Vec<ConfigFacts>,
    plugins: Vec<PluginFacts>,
    refused: Vec<&'static str>,
    instruments: Vec<InstrumentFacts>,
    ran: Arc<Mutex<Vec<String>>>,
}

impl Fakes {
    /// Adds a pass: name, level, requirements.
    pub fn pass(mut self, name: &str, opt_level: u8, required: &[&str], does: Does) -> Self {
        let level = if matches!(does, Does::Consist(_)) { Level::SEQUENTIAL } else { Level::MODULE };
        let facts = PassFacts {
            name: name.into(),
            aliases: Vec::new(),
            plugin: "fakes".into(),
            plugin_version: semver::Version::new(1, 2, 3),
            level,
            opt_level,
            required: required.iter().map(|&name| name.into()).collect(),
            establishes_types: false,
            extends: None,
            before: Vec::new(),
            after: Vec::new(),
            phase: Phase::REWRITES,
            runtime: String::new(),
            target: String::new(),
            origin: PassOwner::Plugin,
            changes_interface: None,
            preserves: Vec::new(),
            options: Vec::new(),
            doc: String::new(),
        };
        self.passes.push((Arc::new(facts), does));
        self
    }

    /// Lets the last pass require another one with an option.
    pub fn requiring(mut self, pass: &str, option: &str, value: Value) -> Self {
        let (facts, _) = self.passes.last_mut().unwrap();
        let options = Value::Struct(vec![(option.to_owned(), value)]);
        Arc::get_mut(facts).unwrap().required.push(Requirement { pass: pass.to_owned(), options });
        self
    }

    /// Lets the last pass be for a runtime.
    pub fn for_runtime(mut self, runtime: &str) -> Self {
        let (facts, _) = self.passes.last_mut().unwrap();
        Arc::get_mut(facts).unwrap().runtime = runtime.into();
        self
    }

    /// Lets the last pass be for a target.
    pub fn for_target(mut self, target: &str) -> Self {
        let (facts, _) = self.passes.last_mut().unwrap();
        Arc::get_mut(facts).unwrap().target = target.into();
        self
    }

    /// Adds options to the last pass.
    pub fn options(mut self, options: Vec<OptionSchema>) -> Self {
        let (facts, _) = self.passes.last_mut().unwrap();
        Arc::get_mut(facts).unwrap().options = options;
        self
    }

    /// Adds the last pass at an extension point.
    /// When the last one runs among all passes of a level.
    pub fn in_phase(mut self, phase: Phase) -> Self {
        let (facts, _) = self.passes.last_mut().unwrap();
        Arc::make_mut(facts).phase = phase;
        self
    }

    pub fn extends(mut self, point: &str) -> Self {
        let (facts, _) = self.passes.last_mut().unwrap();
        Arc::get_mut(facts).unwrap().extends = Some(point.to_owned());
        self
    }

    /// Orders the last pass at its extension point.
    pub fn ordered(mut self, before: &[&str], after: &[&str]) -> Self {
        let facts = Arc::get_mut(&mut self.passes.last_mut().unwrap().0).unwrap();
        [facts.before, facts.after] = [before, after].map(|names| names.iter().map(|&name| name.to_owned()).collect());
        self
    }

    /// Declares that the last pass establishes types.
    pub fn establishing_types(mut self) -> Self {
        let (facts, _) = self.passes.last_mut().unwrap();
        Arc::get_mut(facts).unwrap().establishes_types = true;
        self
    }

    /// Moves the last pass to another plugin.
    pub fn of(mut self, plugin: &str) -> Self {
        let (facts, _) = self.passes.last_mut().unwrap();
        Arc::get_mut(facts).unwrap().plugin = plugin.into();
        self
    }

    /// Adds an option of the context.
    pub fn config(mut self, schema: OptionSchema, plugins: &[&str]) -> Self {
        let plugins = plugins.iter().map(|plugin| (*plugin).to_owned()).collect();
        self.config.push(ConfigFacts { schema, plugins });
        self
    }

    /// Adds a plugin.
    pub fn plugin(mut self, name: &str, version: &str) -> Self {
        let version = version.parse().unwrap();
        self.plugins.push(PluginFacts { name: name.into(), version, file: format!("{name}.so"), refusal: None });
        self
    }

    /// Makes a name one of a plugin that was refused.
    pub fn refused(mut self, name: &'static str) -> Self {
        self.refused.push(name);
        self
    }

    /// Adds an instrument of that plugin, with a mandatory option `what`.
    pub fn instrument(mut self, name: &str, plugin: &str) -> Self {
        self.instruments.push(InstrumentFacts {
            name: name.into(),
            plugin: plugin.into(),
            plugin_version: semver::Version::new(1, 2, 3),
            options: vec![option("what", ValueKind::Str, None)],
            doc: String::new(),
        });
        self
    }

    /// Returns the passes that ran since the last call.
    pub fn ran(&self) -> String {
        std::mem::take(&mut *self.ran.lock().unwrap()).join(" ")
    }
}

/// An option.
pub(crate) fn option(name: &str, kind: ValueKind, default: Option<Value>) -> OptionSchema {
    OptionSchema { name: name.into(), doc: String::new(), kind, default, is_optional: false, aliases: Vec::new() }
}

/// A module whose `main` returns its parameter.
pub(crate) fn module() -> IRModule {
    let mut f = Function::new();
    let x = f.add_var("x", relais_plugin_api::ir::TypeId::UNKNOWN);
    f.set_params(f.root(), &[x]);
    f.set_results(f.body(), &[x]);
    let mut module = IRModule::new();
    module.set_function(MAIN, f);
    module
}

struct Made {
    name: String,
    does: Does,
    ran: Arc<Mutex<Vec<String>>>,
}

impl RunnablePass for Made {
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        self.ran.lock().unwrap().push(self.name.clone());
        let mut new = module.clone();
        let main = new.function_mut(MAIN).unwrap();
        let body = main.body();
        let n_calls = main.bindings(body).len();
        match self.does {
            Does::Nothing | Does::Consist(_) => return Ok(None),
            Does::ChangeUpTo(most) if n_calls >= most => return Ok(None),
            Does::Fail => return Err(PassError::new("told to fail").at(main.params()[0])),
            Does::Change | Does::ChangeUpTo(_) => {}
            Does::Remark => {
                let at = |diagnostic: Diagnostic| diagnostic.in_function(MAIN).at(main.params()[0]);
                (cx.diagnostics)(at(Diagnostic::passed("did this")));
                (cx.diagnostics)(at(Diagnostic::new(Severity::REMARK, "did not do that").help("ask for it")));
                let count = cx.count;
                std::thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| (0..100).for_each(|_| count("things", 1)));
                    }
                });
                return Ok(None);
            }
            Does::Wait => {
                while !cx.cancel.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                return Ok(None);
            }
            Does::Complain => (cx.diagnostics)(Diagnostic::warning("told to complain")),
            Does::Break => {
                let op = main.add_op("", "Relu", "", 0);
                let floating = main.add_call(op, &[main.params()[0]]);
                main.set_results(body, &[floating]);
                return Ok(Some(new));
            }
        }
        let op = main.add_op("", "Relu", "", 0);
        let call = main.add_call(op, &[main.params()[0]]);
        main.append(body, call);
        Ok(Some(new))
    }

    fn members(&self) -> Result<Vec<Member>, PassError> {
        let Does::Consist(members) = &self.does else { return Ok(Vec::new()) };
        Ok(members.iter().map(|name| Member::Named((*name).to_owned(), Value::Struct(Vec::new()))).collect())
    }
}

impl Catalogue for Fakes {
    fn passes(&self) -> Vec<Arc<PassFacts>> {
        let mut passes: Vec<_> = self.passes.iter().map(|(facts, _)| facts.clone()).collect();
        passes.sort_by(|a, b| a.name.cmp(&b.name));
        passes
    }

    fn pass(&self, name: &str) -> Result<Arc<PassFacts>, NoPass> {
        if self.refused.contains(&name) {
            return Err(NoPass::Refused { plugin: "old.so".into(), reason: "it was built for another host".into() });
        }
        let is_named = |facts: &PassFacts| facts.name == name || facts.name.rsplit('.').next() == Some(name);
        let found: Vec<_> = self.passes.iter().filter(|(facts, _)| is_named(facts)).collect();
        match found.as_slice() {
            [(facts, _)] => Ok(facts.clone()),
            [] => {
                let known = self.passes.iter().map(|(facts, _)| facts.name.as_str());
                Err(NoPass::Unknown(crate::words::nearest(name, known)))
            }
            several if several.iter().all(|(facts, _)| facts.name == several[0].0.name) => {
                Err(NoPass::Conflict(several.iter().map(|(facts, _)| format!("`{}`", facts.plugin)).collect()))
            }
            several => {
                let candidate = |(facts, _): &&(Arc<PassFacts>, Does)| Candidate {
                    name: facts.name.clone(),
                    plugin: facts.plugin.clone(),
                };
                Err(NoPass::Ambiguous(several.iter().map(candidate).collect()))
            }
        }
    }

    fn config_options(&self) -> Vec<ConfigFacts> {
        self.config.clone()
    }

    fn plugins(&self) -> Vec<PluginFacts> {
        self.plugins.clone()
    }

    fn create(&self, pass: &PassFacts, options: &Value) -> Result<Arc<dyn RunnablePass>, PassError> {
        let (facts, does) = self.passes.iter().find(|(facts, _)| facts.name == pass.name).unwrap();
        let shown = match options {
            Value::Struct(entries) if entries.is_empty() => facts.name.clone(),
            options => format!("{}{options}", facts.name),
        };
        Ok(Arc::new(Made { name: shown, does: does.clone(), ran: self.ran.clone() }))
    }

    fn instruments(&self) -> Vec<InstrumentFacts> {
        self.instruments.clone()
    }

    fn create_instrument(&self, name: &str, options: &Value) -> Result<Arc<dyn PassInstrument>, PassError> {
        self.ran.lock().unwrap().push(format!("{name}{options}"));
        Ok(Arc::new(Watches))
    }

    fn relations(&self) -> Box<dyn TypeRelations + '_> {
        Box::new(NoRelations)
    }
}

/// An instrument that a plugin could provide.
struct Watches;

impl PassInstrument for Watches {
    fn name(&self) -> &str {
        "acme.watches"
    }

    fn findings(&self) -> Option<InstrumentFindings> {
        Some(InstrumentFindings { text: "seen\n".into(), data: serde_json::json!("seen") })
    }
}

struct NoRelations;

impl Typing for NoRelations {
    fn version(&mut self, _: &Function, _: OpId) -> i64 {
        0
    }

    fn infer(&mut self, _: OpId, _: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        None
    }
}

impl Checking for NoRelations {}

impl Blaming for NoRelations {}
