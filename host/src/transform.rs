//! Passes, sequences and contexts for programs that embed the host: what `tvm.transform` is to TVM.
//!
//! A pass is one of a plugin, found by name, or one of the program, made of a closure. It is called directly
//! ([`Pass::run`]), or as a member of a sequence; both run in the current [`PassContext`], whose instruments watch.
//!
//! ```
//! use relais::{ir::IRModule, manager::PassContext, transform::{Pass, PassLibrary}};
//! use std::sync::Arc;
//!
//! # let registry = relais::registry::Registry::new(Default::default(), relais::registry::Linked::Exclude, &Default::default());
//! let library = PassLibrary::new(&registry);
//! let note = Pass::module("my.Note", 0, |module, _| {
//!     println!("{} functions", module.functions().count());
//!     Ok(None)
//! });
//! let sequence = Pass::sequence("my.Pipeline", [note]);
//! let context = Arc::new(library.context().opt_level(3).build()?);
//! let module = context.scope(|_| sequence.run(&library, &IRModule::new()))??;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{
    ir::{Function, Global, IRModule, PrimFunc},
    manager::{self, Failure, Instrument, PassContext, Report, RunOptions},
    pass::{IntoGlobal, cancelled, first_error, shown_function},
    pipeline::{
        Catalogue, Code, ConfigFacts, Fault, Faults, InstrumentFacts, NoPass, OperatorName, PassFacts, PassInstance,
        Pipeline, PipelineSpec, PluginFacts, RunCx, RunnablePass, Scope,
        fault::{Sources, nearest},
        spec::{Dependencies, ScopeSpec, StepSpec, Written, entries_of},
    },
};
use abi_stable::std_types::RArc;
use rayon::prelude::*;
use relais_plugin_api::{
    boundary::{guard::caught, record::Level},
    diagnostics::{Diagnostic, PassError},
    infer::TypeRelations,
    options::Value,
};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

/// What a program's own module pass does: a new module, or nothing when it changed nothing.
type ModuleFn = dyn Fn(&IRModule, &RunCx<'_>) -> Result<Option<IRModule>, PassError> + Send + Sync;

/// What a program's own pass does with one function or loop program of a module: a new one, or nothing.
type GlobalFn<T> = dyn Fn(&RArc<T>, &IRModule, &RunCx<'_>) -> Result<Option<T>, PassError> + Send + Sync;

/// A pass that can be called, or put into sequences. Cloning it gives the same pass.
#[derive(Clone)]
pub struct Pass {
    facts: Arc<PassFacts>,
    options: Value,
    /// `None` where a plugin provides it.
    body: Option<Arc<Body>>,
}

enum Body {
    Module(Box<ModuleFn>),
    Function(Box<GlobalFn<Function>>),
    PrimFunc(Box<GlobalFn<PrimFunc>>),
    Sequence(Vec<Pass>),
}

/// Why a pass did not run to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// Names or options stand for nothing; nothing ran.
    Resolve(Faults),
    /// A pass or an instrument failed.
    Failed(Box<Failure>),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolve(faults) => faults.fmt(f),
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl Pass {
    /// A module pass of the program's own: name, level, and what it does.
    pub fn module(
        name: &str,
        opt_level: u8,
        run: impl Fn(&IRModule, &RunCx<'_>) -> Result<Option<IRModule>, PassError> + Send + Sync + 'static,
    ) -> Self {
        Self::own(name, opt_level, Level::MODULE, Body::Module(Box::new(run)))
    }

    /// A function pass of the program's own (rule R13): it gets each function with the module as it was before the
    /// pass. Functions are shared out among threads, and results come in module order.
    pub fn function(
        name: &str,
        opt_level: u8,
        run: impl Fn(&RArc<Function>, &IRModule, &RunCx<'_>) -> Result<Option<Function>, PassError> + Send + Sync + 'static,
    ) -> Self {
        Self::own(name, opt_level, Level::FUNCTION, Body::Function(Box::new(run)))
    }

    /// The same over loop programs (rule R14).
    pub fn prim_func(
        name: &str,
        opt_level: u8,
        run: impl Fn(&RArc<PrimFunc>, &IRModule, &RunCx<'_>) -> Result<Option<PrimFunc>, PassError> + Send + Sync + 'static,
    ) -> Self {
        Self::own(name, opt_level, Level::PRIM_FUNC, Body::PrimFunc(Box::new(run)))
    }

    /// Passes that run one after the other, those that are off left out. Its level is 0, as in TVM (rule R11).
    pub fn sequence(name: &str, passes: impl IntoIterator<Item = Pass>) -> Self {
        Self::own(name, 0, Level::SEQUENTIAL, Body::Sequence(passes.into_iter().collect()))
    }

    /// The same at another level.
    pub fn at_level(self, opt_level: u8) -> Self {
        Self { facts: Arc::new(PassFacts { opt_level, ..(*self.facts).clone() }), ..self }
    }

    /// The same that requires others, by name. A sequence's requirements count when it is a member of another.
    pub fn requiring(self, required: &[&str]) -> Self {
        let required = required.iter().map(|&name| name.to_owned()).collect();
        Self { facts: Arc::new(PassFacts { required, ..(*self.facts).clone() }), ..self }
    }

    /// What is known about it: name, level, requirements.
    pub fn info(&self) -> &PassFacts {
        &self.facts
    }

    /// Its options, defaults included; none of a program's own.
    pub fn options(&self) -> &Value {
        &self.options
    }

    /// Runs the pass in the current context. A pass that is no sequence runs whatever its level and the lists say, and
    /// without what it requires (rule R3); a sequence asks of each member whether it is on, and runs what that requires.
    /// The module that is given stays as it is.
    ///
    /// # Errors
    /// When a name stands for nothing, or a pass or an instrument fails.
    pub fn run(&self, catalogue: &dyn Catalogue, module: &IRModule) -> Result<IRModule, RunError> {
        self.run_with(catalogue, module, &RunOptions::default()).map(|(module, _)| module)
    }

    /// The same, with a report of what was done.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_with(
        &self,
        catalogue: &dyn Catalogue,
        module: &IRModule,
        options: &RunOptions<'_>,
    ) -> Result<(IRModule, Report), RunError> {
        let context = PassContext::current();
        let mut library = PassLibrary::new(catalogue);
        library.adopt(self);
        let options = RunOptions { context: Some(context.clone()), ..options.clone() };
        let made = || -> Result<Arc<dyn RunnablePass>, RunError> {
            library.create(&self.facts, &self.options).map_err(|error| RunError::Resolve(not_made(&self.facts, &error)))
        };
        let ran = if self.facts.level == Level::SEQUENTIAL {
            let members = made()?.members().map_err(|error| RunError::Resolve(not_made(&self.facts, &error)))?;
            let mut spec = PipelineSpec { name: self.facts.name.clone(), ..PipelineSpec::default() };
            spec.run.dependencies = options.dependencies;
            spec.scope = context.settings().to_spec();
            for (name, options) in members {
                spec.nodes.push(Written::made(step(&name, options)));
            }
            spec.steps = (0..spec.nodes.len()).collect();
            let pipeline = spec.resolve(&library).map_err(RunError::Resolve)?;
            manager::run(&pipeline, module, &library, &options)
        } else {
            let pass = PassInstance::new(self.facts.clone(), self.options.clone(), made()?);
            let pipeline = Pipeline::of_one(pass, context.settings().clone());
            manager::run_directly(&pipeline, module, &library, &options)
        };
        ran.map_err(RunError::Failed)
    }

    fn own(name: &str, opt_level: u8, level: Level, body: Body) -> Self {
        let facts = PassFacts {
            name: name.to_owned(),
            plugin: String::new(),
            plugin_version: semver::Version::new(0, 0, 0),
            level,
            opt_level,
            aliases: Vec::new(),
            required: Vec::new(),
            establishes_types: false,
            extends: None,
            options: Vec::new(),
            doc: String::new(),
        };
        Self { facts: Arc::new(facts), options: Value::Struct(Vec::new()), body: Some(Arc::new(body)) }
    }
}

fn step(name: &str, options: Value) -> StepSpec {
    StepSpec::Pass { name: Written::made(name.to_owned()), options: entries_of(options) }
}

fn not_made(facts: &PassFacts, error: &PassError) -> Faults {
    let fault = Fault::new(Code::Create, None, format!("`{}` could not be made: {error}", facts.name));
    Faults { list: vec![fault], sources: Sources::default() }
}

/// Passes of the program's own beside those of a registry: where names are looked up.
pub struct PassLibrary<'a> {
    base: &'a dyn Catalogue,
    own: Vec<Pass>,
}

impl<'a> PassLibrary<'a> {
    /// The passes of a registry, or of any other catalogue.
    pub fn new(base: &'a dyn Catalogue) -> Self {
        Self { base, own: Vec::new() }
    }

    /// Adds a pass of the program's own, to be found by name: as a requirement, in pipelines, by
    /// [`get_pass`](Self::get_pass). A name that something else has, too, is a conflict of those who use it (rule R4).
    pub fn register(&mut self, pass: &Pass) {
        self.adopt(pass);
    }

    /// The pass of a name, full or short, with its default options.
    ///
    /// # Errors
    /// When the name stands for none, or it has a mandatory option.
    pub fn get_pass(&self, name: &str) -> Result<Pass, Faults> {
        self.get_pass_with(name, Vec::new())
    }

    /// The pass of a name, full or short, with options.
    ///
    /// # Errors
    /// When the name stands for none, or it has no such options.
    pub fn get_pass_with(&self, name: &str, options: Vec<(String, Value)>) -> Result<Pass, Faults> {
        let mut spec =
            PipelineSpec { nodes: vec![Written::made(step(name, Value::Struct(options)))], ..Default::default() };
        spec.steps.push(0);
        // What it requires is looked up, and made, when it runs as part of a sequence.
        spec.run.dependencies = Some(Dependencies::Assumed);
        let pipeline = spec.resolve(self)?;
        let instance = &pipeline.passes[0];
        let own = self.own.iter().find(|pass| Arc::ptr_eq(&pass.facts, &instance.facts));
        let body = own.and_then(|pass| pass.body.clone());
        Ok(Pass { facts: instance.facts.clone(), options: instance.options.clone(), body })
    }

    /// A context that starts from defaults (rule R9).
    pub fn context(&self) -> ContextBuilder<'_> {
        self.context_from(&Scope::default())
    }

    /// A context that starts from the settings of the current one, without its instruments (rule R9).
    pub fn inherited_context(&self) -> ContextBuilder<'_> {
        self.context_from(PassContext::current().settings())
    }

    fn context_from(&self, scope: &Scope) -> ContextBuilder<'_> {
        ContextBuilder { library: self, scope: scope.to_spec(), instruments: Vec::new() }
    }

    /// Adds a pass, and what it consists of.
    fn adopt(&mut self, pass: &Pass) {
        let mut todo = vec![pass.clone()];
        while let Some(pass) = todo.pop() {
            let Some(body) = &pass.body else { continue };
            if self.own.iter().any(|known| Arc::ptr_eq(&known.facts, &pass.facts)) {
                continue;
            }
            if let Body::Sequence(members) = &**body {
                todo.extend(members.iter().cloned());
            }
            self.own.push(pass);
        }
    }

    fn own_pass(&self, facts: &PassFacts) -> Option<&Pass> {
        self.own.iter().find(|pass| std::ptr::eq(&*pass.facts, facts))
    }
}

impl Catalogue for PassLibrary<'_> {
    fn passes(&self) -> Vec<Arc<PassFacts>> {
        let mut passes = self.base.passes();
        passes.extend(self.own.iter().map(|pass| pass.facts.clone()));
        passes.sort_by(|a, b| a.name.cmp(&b.name));
        passes
    }

    fn pass(&self, name: &str) -> Result<Arc<PassFacts>, NoPass> {
        let is_short_for = |full: &str| full.rsplit_once('.').is_some_and(|(_, short)| short == name);
        let exact: Vec<&Pass> = self.own.iter().filter(|pass| pass.facts.name == name).collect();
        let short: Vec<&Pass> = self.own.iter().filter(|pass| is_short_for(&pass.facts.name)).collect();
        let provider = |facts: &PassFacts| match facts.plugin.as_str() {
            "" => "this program".to_owned(),
            plugin => plugin.to_owned(),
        };
        let found = self.base.pass(name);
        match (exact.as_slice(), short.as_slice(), found) {
            ([one], _, Ok(other)) if other.name == name => {
                Err(NoPass::Conflict(vec![provider(&one.facts), provider(&other)]))
            }
            ([one], ..) => Ok(one.facts.clone()),
            ([_, _, ..], ..) => Err(NoPass::Conflict(exact.iter().map(|pass| provider(&pass.facts)).collect())),
            ([], [], Err(NoPass::Unknown(mut near))) => {
                near.extend(nearest(name, self.own.iter().map(|pass| pass.facts.name.as_str())));
                Err(NoPass::Unknown(near))
            }
            ([], [], found) => found,
            ([], [one], Err(NoPass::Unknown(_))) => Ok(one.facts.clone()),
            ([], [_, ..], found) => {
                let others = found.map(|other| other.name.clone());
                let names = short.iter().map(|pass| pass.facts.name.clone()).chain(others);
                Err(NoPass::Ambiguous(names.collect()))
            }
        }
    }

    fn extension_points(&self) -> std::collections::BTreeSet<String> {
        self.base.extension_points()
    }

    fn config_options(&self) -> Vec<ConfigFacts> {
        self.base.config_options()
    }

    fn plugins(&self) -> Vec<PluginFacts> {
        self.base.plugins()
    }

    fn operators_of(&self, plugin: &str) -> Option<Vec<OperatorName>> {
        self.base.operators_of(plugin)
    }

    fn create(&self, pass: &PassFacts, options: &Value) -> Result<Arc<dyn RunnablePass>, PassError> {
        match self.own_pass(pass).and_then(|pass| pass.body.clone()) {
            Some(body) => Ok(Arc::new(Own(body))),
            None => self.base.create(pass, options),
        }
    }

    fn instruments(&self) -> Vec<InstrumentFacts> {
        self.base.instruments()
    }

    fn instrument(&self, name: &str) -> Result<InstrumentFacts, NoPass> {
        self.base.instrument(name)
    }

    fn create_instrument(&self, name: &str, options: &Value) -> Result<Arc<dyn Instrument>, PassError> {
        self.base.create_instrument(name, options)
    }

    fn relations(&self) -> Box<dyn TypeRelations + '_> {
        self.base.relations()
    }
}

/// A pass context being put together; names and values are checked when it is built.
pub struct ContextBuilder<'a> {
    library: &'a PassLibrary<'a>,
    scope: ScopeSpec,
    instruments: Vec<Arc<dyn Instrument>>,
}

impl ContextBuilder<'_> {
    /// Passes up to this level are on.
    pub fn opt_level(mut self, opt_level: u8) -> Self {
        self.scope.opt_level = Some(opt_level);
        self
    }

    /// A pass that is on at any level, and that no instrument is asked about.
    pub fn require(mut self, pass: &str) -> Self {
        self.scope.required.push(Written::made(pass.to_owned()));
        self
    }

    /// A pass that is off, whatever else is said. `"Name?"` need not exist.
    pub fn disable(mut self, pass: &str) -> Self {
        self.scope.disabled.push(Written::made(pass.to_owned()));
        self
    }

    /// An option of the context.
    pub fn config(mut self, key: &str, value: Value) -> Self {
        self.scope.config.extend(entries_of(Value::Struct(vec![(key.to_owned(), value)])));
        self
    }

    /// Something that watches the passes; what is added first is asked first.
    pub fn instrument(mut self, instrument: Arc<dyn Instrument>) -> Self {
        self.instruments.push(instrument);
        self
    }

    /// The context, not entered yet.
    ///
    /// # Errors
    /// When a name stands for nothing, or an option does not take its value.
    pub fn build(self) -> Result<PassContext, Faults> {
        let spec = PipelineSpec { scope: self.scope, ..PipelineSpec::default() };
        let pipeline = spec.resolve(self.library)?;
        Ok(PassContext::new(pipeline.scope).with_instruments(self.instruments))
    }
}

/// A pass of the program's own, to be run by the manager.
struct Own(Arc<Body>);

impl RunnablePass for Own {
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        match &*self.0 {
            Body::Module(run) => {
                let (result, said) = heard("", cx, |cx| run(module, cx));
                said.into_iter().for_each(|diagnostic| (cx.diagnostics)(diagnostic));
                result
            }
            Body::Function(run) => over_globals(module, cx, shown_function, run),
            Body::PrimFunc(run) => over_globals(module, cx, Global::prim_func, run),
            Body::Sequence(_) => Ok(None),
        }
    }

    fn members(&self) -> Result<Vec<(String, Value)>, PassError> {
        let Body::Sequence(members) = &*self.0 else { return Ok(Vec::new()) };
        Ok(members.iter().map(|member| (member.facts.name.clone(), member.options.clone())).collect())
    }
}

/// Runs a pass, on a global or (without a name) on the module, and keeps what it says; an error among it is the pass's,
/// unless it failed otherwise (rule R26).
fn heard<T>(
    global: &str,
    cx: &RunCx<'_>,
    run: impl FnOnce(&RunCx<'_>) -> Result<T, PassError>,
) -> (Result<T, PassError>, Vec<Diagnostic>) {
    let said: Mutex<Vec<Diagnostic>> = Mutex::default();
    let diagnostics = |diagnostic: Diagnostic| {
        let is_placed = global.is_empty() || !diagnostic.rec().function.is_empty();
        let diagnostic = if is_placed { diagnostic } else { diagnostic.in_function(global) };
        said.lock().unwrap_or_else(PoisonError::into_inner).push(diagnostic);
    };
    let result = caught(|| run(&RunCx { diagnostics: &diagnostics, ..*cx })).and_then(|result| result);
    let said = said.into_inner().unwrap_or_else(PoisonError::into_inner);
    let result = result.and_then(|new| first_error(&said).map_or(Ok(new), Err));
    (result, said)
}

/// Runs on each global that `show` gives, on all threads; what is said and what fails first come in module order.
fn over_globals<T: Send + Sync + IntoGlobal>(
    module: &IRModule,
    cx: &RunCx<'_>,
    show: impl Fn(&Global) -> Option<&RArc<T>>,
    run: &GlobalFn<T>,
) -> Result<Option<IRModule>, PassError>
where
    RArc<T>: Sync,
{
    let shown: Vec<(&str, &RArc<T>)> =
        module.globals().iter().filter_map(|global| Some((global.name.as_str(), show(global)?))).collect();
    let context = PassContext::current();
    let one = |&(name, function): &(&str, &RArc<T>)| {
        // After a cancellation, what has not begun does not begin.
        if cx.cancel.load(Ordering::Relaxed) {
            return (Err(cancelled()), Vec::new());
        }
        let _current = context.push_quietly();
        let (result, said) = heard(name, cx, |cx| run(function, module, cx));
        (result.map_err(|error| error.in_function(name)), said)
    };
    let results: Vec<_> = match shown.len() {
        0 | 1 => shown.iter().map(one).collect(),
        _ => shown.par_iter().map(one).collect(),
    };
    let mut changed = Vec::new();
    for ((name, _), (result, said)) in shown.iter().zip(results) {
        said.into_iter().for_each(|diagnostic| (cx.diagnostics)(diagnostic));
        if let Some(new) = result? {
            changed.push((*name, RArc::new(new)));
        }
    }
    Ok((!changed.is_empty()).then(|| {
        let mut out = module.clone();
        T::set_all(&mut out, changed);
        out
    }))
}
