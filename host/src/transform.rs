//! Passes, sequences and contexts for programs that embed the host: the counterpart of `tvm.transform` in TVM.
//!
//! A pass is one of a plugin, found by name, or one of the program, made from a closure. It is called directly
//! ([`Pass::run`]), or as a member of a sequence; both run in the current [`PassContext`], whose instruments watch.
//!
//! ```
//! use relais::{ir::IRModule, pass::PassContext, transform::{Pass, PassLibrary}};
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

mod analysis;
mod own;

pub use analysis::OwnAnalysis;

use crate::{
    ir::{CallView, Function, IRModule},
    manager::{self, ContextBuilder, Failure, ManagerOptions, RunReport, resolve_nested, run_nested},
    options::OptionSchema,
    pass::{
        AnalysisFacts, Candidate, Catalogue, ConfigFacts, Dependencies, HeldPass, InstrumentFacts, NoPass,
        OperatorName, PROGRAM, PassContext, PassFacts, PassInstrument, PassOwner, PluginFacts, RunCx, RunnablePass,
        Scope, Shown,
    },
    pipeline::{Callee, Faults, PassInstance, Pipeline, defaults, mandatory},
    words::nearest,
};
use abi_stable::std_types::RArc;
use own::{Checked, OwnGlobals, OwnModule, OwnSequence, Serial, Unmade};
use relais_plugin_api::{
    analysis::{AnalysisObject, SubjectRec},
    boundary::record::{Level, Phase},
    diagnostics::PassError,
    infer::TypeRelations,
    options::Value,
    pass::Requirement,
    rewrite::{Rewrite, RewriteCx},
};
use std::{fmt, sync::Arc};

/// A pass that can be called, or put into sequences. A clone is the same pass.
#[derive(Clone)]
pub struct Pass {
    held: HeldPass,
    /// Makes it with other options; of the program's own passes that have some.
    make: Option<Arc<MakePass>>,
}

/// The beginning of passes that need nothing of the module as a whole.
fn nothing(_: &IRModule, _: &RunCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Makes a pass with options that were checked.
type MakePass = dyn Fn(&Value) -> Result<Pass, PassError> + Send + Sync;

/// Why a pass did not run to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// Names or options cannot be resolved; nothing ran.
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
    /// A module pass of the program's own: name, level, and function.
    pub fn module(
        name: &str,
        opt_level: u8,
        run: impl Fn(&IRModule, &RunCx<'_>) -> Result<Option<IRModule>, PassError> + Send + Sync + 'static,
    ) -> Self {
        Self::own(name, opt_level, Level::MODULE, OwnModule(run))
    }

    /// A function pass of the program's own (rule R13): it receives each function with the module as it was before the
    /// pass. Functions are distributed over threads, and results come in module order.
    pub fn function(
        name: &str,
        opt_level: u8,
        run: impl Fn(&RArc<Function>, &IRModule, &RunCx<'_>) -> Result<Option<Function>, PassError> + Send + Sync + 'static,
    ) -> Self {
        let run = move |(): &(), _: &str, f: &RArc<Function>, module: &IRModule, cx: &RunCx<'_>| run(f, module, cx);
        Self::own(name, opt_level, Level::FUNCTION, OwnGlobals { shown: Shown::Functions, begin: nothing, run })
    }

    /// The same with something that is made once for the module as it was before the pass: `run` receives it, and the
    /// name of the function.
    pub fn function_with<S: Send + Sync + 'static>(
        name: &str,
        opt_level: u8,
        begin: impl Fn(&IRModule, &RunCx<'_>) -> Result<S, PassError> + Send + Sync + 'static,
        run: impl Fn(&S, &str, &RArc<Function>, &RunCx<'_>) -> Result<Option<Function>, PassError> + Send + Sync + 'static,
    ) -> Self {
        let with =
            move |state: &S, name: &str, f: &RArc<Function>, _: &IRModule, cx: &RunCx<'_>| run(state, name, f, cx);
        Self::own(name, opt_level, Level::FUNCTION, OwnGlobals { shown: Shown::Functions, begin, run: with })
    }

    /// The same over prim funcs (rule R14).
    pub fn prim_func(
        name: &str,
        opt_level: u8,
        run: impl Fn(&RArc<Function>, &IRModule, &RunCx<'_>) -> Result<Option<Function>, PassError> + Send + Sync + 'static,
    ) -> Self {
        let run = move |(): &(), _: &str, f: &RArc<Function>, module: &IRModule, cx: &RunCx<'_>| run(f, module, cx);
        Self::own(name, opt_level, Level::PRIM_FUNC, OwnGlobals { shown: Shown::PrimFuncs, begin: nothing, run })
    }

    /// The same over prim funcs, as [`function_with`](Self::function_with).
    pub fn prim_func_with<S: Send + Sync + 'static>(
        name: &str,
        opt_level: u8,
        begin: impl Fn(&IRModule, &RunCx<'_>) -> Result<S, PassError> + Send + Sync + 'static,
        run: impl Fn(&S, &str, &RArc<Function>, &RunCx<'_>) -> Result<Option<Function>, PassError> + Send + Sync + 'static,
    ) -> Self {
        let with =
            move |state: &S, name: &str, f: &RArc<Function>, _: &IRModule, cx: &RunCx<'_>| run(state, name, f, cx);
        Self::own(name, opt_level, Level::PRIM_FUNC, OwnGlobals { shown: Shown::PrimFuncs, begin, run: with })
    }

    /// A rewrite of the program's own: `rule` is offered every call of the operators `ops`, or every call if there are
    /// none, until nothing changes. New nodes are typed as they are inserted, and `rewritten` is counted.
    pub fn rewrite(
        name: &str,
        opt_level: u8,
        ops: &[&str],
        rule: impl for<'a> Fn(CallView<'a>, &mut RewriteCx<'a>) -> Rewrite + Send + Sync + 'static,
    ) -> Self {
        let run = own::rewrite(ops, rule, false);
        Self::own(name, opt_level, Level::REWRITE, OwnGlobals { shown: Shown::Functions, begin: nothing, run })
    }

    /// The same over prim funcs: `rule` is offered the calls of core operators, such as `tir::add`, that compute values from
    /// values, and what nothing uses any more is removed.
    pub fn prim_rewrite(
        name: &str,
        opt_level: u8,
        ops: &[&str],
        rule: impl for<'a> Fn(CallView<'a>, &mut RewriteCx<'a>) -> Rewrite + Send + Sync + 'static,
    ) -> Self {
        let run = own::rewrite(ops, rule, true);
        Self::own(name, opt_level, Level::PRIM_FUNC, OwnGlobals { shown: Shown::PrimFuncs, begin: nothing, run })
    }

    /// Passes that run one after another, except those that are off. Its level is 0, as in TVM (rule R11).
    pub fn sequence(name: &str, passes: impl IntoIterator<Item = Pass>) -> Self {
        Self::own(name, 0, Level::SEQUENTIAL, OwnSequence(passes.into_iter().map(|pass| pass.held).collect()))
    }

    /// The same at another level.
    pub fn at_level(self, opt_level: u8) -> Self {
        self.with(|facts| facts.opt_level = opt_level)
    }

    /// The same as a step of another level in the sequences that it is a member of: 0 turns it on in every context that does
    /// not disable it. The pass keeps its own level.
    pub fn as_step(mut self, opt_level: u8) -> Self {
        self.held.opt_level = Some(opt_level);
        self
    }

    /// The same that requires others, by name. A sequence's requirements count when it is a member of another.
    pub fn requiring(self, required: &[&str]) -> Self {
        self.with(|facts| facts.required = required.iter().map(|&name| name.into()).collect())
    }

    /// The same, requiring another pass after those that it requires already; this one may run with options.
    pub fn requiring_one(self, requirement: Requirement) -> Self {
        self.with(|facts| facts.required.push(requirement))
    }

    /// The same with additional names.
    pub fn with_aliases(self, aliases: &[&str]) -> Self {
        self.with(|facts| facts.aliases = aliases.iter().map(|&name| name.to_owned()).collect())
    }

    /// The same with documentation.
    pub fn documented(self, doc: &str) -> Self {
        self.with(|facts| doc.clone_into(&mut facts.doc))
    }

    /// The same in a phase of all passes of a level (rule R2).
    pub fn in_phase(self, phase: Phase) -> Self {
        self.with(|facts| facts.phase = phase)
    }

    /// The same for one runtime: what it makes runs in no other, and sets of passes that do not name it are without it.
    pub fn for_runtime(self, runtime: &str) -> Self {
        self.with(|facts| runtime.clone_into(&mut facts.runtime))
    }

    /// The same for one target: pipelines for others are without it, unless they name it.
    pub fn for_target(self, target: &str) -> Self {
        self.with(|facts| target.clone_into(&mut facts.target))
    }

    /// The same that may change the interface of the entry function.
    pub fn changing_interface(self) -> Self {
        self.with(|facts| facts.changes_interface = Some(String::new()))
    }

    /// The same, added at an extension point of pipelines that are resolved against a library where it is registered.
    pub fn extending(self, point: &str) -> Self {
        self.with(|facts| facts.extends = Some(point.to_owned()))
    }

    /// The same as a pass of another provider, which messages name instead of the program, and which is excluded when
    /// it fails and the policy is quarantine.
    ///
    /// # Errors
    /// Returns an error if the version is not a semantic one.
    pub fn provided_by(self, provider: &str, version: &str) -> Result<Self, semver::Error> {
        let version = version.parse()?;
        Ok(self.with(|facts| (facts.plugin, facts.plugin_version) = (provider.to_owned(), version)))
    }

    /// The same, but receiving functions one after another, on the thread that runs it. Instruments see the passes that
    /// it runs.
    pub fn serial(self) -> Self {
        let pass = Arc::new(Serial(self.held.pass));
        let make = self.make.map(|make| -> Arc<MakePass> { Arc::new(move |options| Ok(make(options)?.serial())) });
        Self { held: HeldPass { pass, ..self.held }, make }
    }

    /// The same with a check that is made before the first pass of a run: whether the pass can work on the module that
    /// the run begins with. If it cannot, nothing runs.
    pub fn checked_by(
        self,
        check: impl Fn(&IRModule, &RunCx<'_>) -> Result<(), PassError> + Send + Sync + 'static,
    ) -> Self {
        self.asking(Arc::new(check))
    }

    fn asking<F>(self, check: Arc<F>) -> Self
    where
        F: Fn(&IRModule, &RunCx<'_>) -> Result<(), PassError> + Send + Sync + 'static,
    {
        let pass = Arc::new(Checked { pass: self.held.pass, check: check.clone() });
        let make = self
            .make
            .map(|make| -> Arc<MakePass> { Arc::new(move |options| Ok(make(options)?.asking(check.clone()))) });
        Self { held: HeldPass { pass, ..self.held }, make }
    }

    /// The same with options: they are checked and listed like those of plugins, and `make` returns the pass that they
    /// describe, of which only the function is used.
    ///
    /// # Errors
    /// Returns an error if `make` fails for the defaults.
    pub fn with_options(
        self,
        options: Vec<OptionSchema>,
        make: impl Fn(&Value) -> Result<Self, PassError> + Send + Sync + 'static,
    ) -> Result<Self, PassError> {
        let (pass, given) = match defaults(&options) {
            Some(defaults) => (make(&defaults)?.held.pass, defaults),
            None => {
                let needed: Vec<String> = mandatory(&options).iter().map(|name| format!("`{name}`")).collect();
                let error = PassError::new(format_args!("it must be given {}", needed.join(", ")));
                (Arc::new(Unmade(error)) as Arc<dyn RunnablePass>, Value::Struct(Vec::new()))
            }
        };
        let named = self.with(|facts| facts.options = options);
        Ok(Self { held: HeldPass { pass, options: given, ..named.held }, make: Some(Arc::new(make)) })
    }

    /// The same with values of its options.
    ///
    /// # Errors
    /// Returns an error if it has no such options, they do not take these values, or the pass cannot be made.
    pub fn with_values(&self, options: Vec<(String, Value)>, base: &dyn Catalogue) -> Result<Self, Faults> {
        let mut library = PassLibrary::new(base);
        // By a name that no other pass can have, and that messages do not say.
        let name = self.held.facts.name.clone();
        let apart = format!("{name} of this program");
        library.register(&self.clone().with(|facts| facts.name.clone_from(&apart)));
        let named = library.get_pass_with(&apart, options).map_err(|mut faults| {
            faults.list.iter_mut().for_each(|fault| fault.message = fault.message.replace(&apart, &name));
            faults
        })?;
        Ok(named.with(|facts| facts.name = name))
    }

    fn with(self, change: impl FnOnce(&mut PassFacts)) -> Self {
        let mut facts = (*self.held.facts).clone();
        change(&mut facts);
        Self { held: HeldPass { facts: Arc::new(facts), ..self.held }, ..self }
    }

    /// Returns the facts about it: name, level, requirements.
    pub fn info(&self) -> &PassFacts {
        &self.held.facts
    }

    /// Its options, defaults included; none of a program's own.
    pub fn options(&self) -> &Value {
        &self.held.options
    }

    /// Runs the pass in the current context. A pass that is not a sequence runs whatever its level and the lists, and
    /// without its requirements (rule R3); a sequence checks for each member whether it is on, and runs its
    /// requirements. The input module is unchanged.
    ///
    /// # Errors
    /// Returns an error if a name does not resolve, or a pass or an instrument fails.
    pub fn run(&self, catalogue: &dyn Catalogue, module: &IRModule) -> Result<IRModule, RunError> {
        self.run_with(catalogue, module, &ManagerOptions::default()).map(|(module, _)| module)
    }

    /// The same, with a report of the run.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_with(
        &self,
        catalogue: &dyn Catalogue,
        module: &IRModule,
        options: &ManagerOptions<'_>,
    ) -> Result<(IRModule, RunReport), RunError> {
        let context = PassContext::current();
        let callee = Callee::Held(&self.held);
        let pipeline = Pipeline::of_call(callee, context.settings(), options.dependencies, catalogue);
        let options = ManagerOptions { context: Some(context), ..options.clone() };
        let ran = manager::run_directly(&pipeline.map_err(RunError::Resolve)?, module, catalogue, &options);
        ran.map_err(RunError::Failed)
    }

    /// Runs the pass for another one of the program, which received `cx`: it is a part of the same run, so that the
    /// run's policy, cancellation and quarantine apply to it, and its messages are reported by the pass that runs it.
    /// `None` if it changed nothing.
    ///
    /// # Errors
    /// Returns an error if a name does not resolve, or the pass or an instrument fails.
    pub fn run_within(&self, cx: &RunCx<'_>, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        let pipeline = resolve_nested(Callee::Held(&self.held), &PassContext::current(), cx)?;
        run_nested(&pipeline, module, cx)
    }

    fn own(name: &str, opt_level: u8, level: Level, pass: impl RunnablePass + 'static) -> Self {
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
            before: Vec::new(),
            after: Vec::new(),
            phase: Phase::REWRITES,
            runtime: String::new(),
            target: String::new(),
            origin: PassOwner::Program,
            changes_interface: None,
            preserves: Vec::new(),
            options: Vec::new(),
            doc: String::new(),
        };
        let (facts, options, pass) = (Arc::new(facts), Value::Struct(Vec::new()), Arc::new(pass));
        let held = HeldPass { facts, options, pass, opt_level: None };
        Self { held, make: None }
    }
}

/// Passes of the program's own beside those of a registry: where names are looked up.
pub struct PassLibrary<'a> {
    base: Base<'a>,
    own: Vec<Pass>,
    config: Vec<OptionSchema>,
    analyses: Vec<OwnAnalysis>,
}

/// Where passes come from that are not the program's own.
enum Base<'a> {
    Borrowed(&'a dyn Catalogue),
    Shared(Arc<dyn Catalogue + Send + 'a>),
}

impl Base<'_> {
    fn get(&self) -> &dyn Catalogue {
        match self {
            Self::Borrowed(base) => *base,
            Self::Shared(base) => &**base,
        }
    }
}

impl<'a> PassLibrary<'a> {
    /// The passes of a registry, or of any other catalogue.
    pub fn new(base: &'a dyn Catalogue) -> Self {
        Self::on(Base::Borrowed(base))
    }

    /// The same of a catalogue that is shared: nothing is borrowed.
    pub fn shared(base: Arc<dyn Catalogue + Send + 'a>) -> Self {
        Self::on(Base::Shared(base))
    }

    fn on(base: Base<'a>) -> Self {
        Self { base, own: Vec::new(), config: Vec::new(), analyses: Vec::new() }
    }

    /// Adds a pass of the program's own, to be found by name: as a requirement, in pipelines, by
    /// [`get_pass`](Self::get_pass). A name that another item also has is a conflict for its users (rule R4).
    pub fn register(&mut self, pass: &Pass) {
        if !self.own.iter().any(|known| Arc::ptr_eq(&known.held.facts, &pass.held.facts)) {
            self.own.push(pass.clone());
        }
    }

    /// Registers an option of contexts, whose name is its key (rule R21); passes read what a context sets from
    /// [`RunCx::config`](crate::pass::RunCx). A key that a plugin registers too is a conflict for its users.
    pub fn register_config(&mut self, option: OptionSchema) {
        self.config.push(option);
    }

    /// Registers an analysis, to be found by name by passes and other analyses. A name that another one also has is a
    /// conflict for its users (rule R4).
    pub fn register_analysis(&mut self, analysis: OwnAnalysis) {
        self.analyses.push(analysis);
    }

    /// The pass of a name, full or short, with its default options.
    ///
    /// # Errors
    /// Returns an error if the name does not resolve to a pass, or the pass has a mandatory option.
    pub fn get_pass(&self, name: &str) -> Result<Pass, Faults> {
        self.get_pass_with(name, Vec::new())
    }

    /// The pass of a name, full or short, with options.
    ///
    /// # Errors
    /// Returns an error if the name does not resolve to a pass, or the pass does not have these options.
    pub fn get_pass_with(&self, name: &str, options: Vec<(String, Value)>) -> Result<Pass, Faults> {
        let callee = Callee::Named(name, Value::Struct(options));
        // Its requirements are looked up, and made, when it runs as part of a sequence.
        let pipeline = Pipeline::of_call(callee, &Scope::default(), Some(Dependencies::Assumed), self)?;
        let PassInstance { facts, options, .. } = &pipeline.passes[0];
        let pass = pipeline.passes[0].pass().clone();
        let make = self.own_pass(facts).and_then(|own| own.make.clone());
        let held = HeldPass { facts: facts.clone(), options: options.clone(), pass, opt_level: None };
        Ok(Pass { held, make })
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
        ContextBuilder::new(self, scope)
    }

    fn own_pass(&self, facts: &PassFacts) -> Option<&Pass> {
        self.own.iter().find(|pass| std::ptr::eq(&*pass.held.facts, facts))
    }
}

/// Whether a name, full or short, means what has a full name.
fn is_named(full: &str, name: &str) -> bool {
    full == name || full.rsplit_once('.').is_some_and(|(_, short)| short == name)
}

impl Catalogue for PassLibrary<'_> {
    fn passes(&self) -> Vec<Arc<PassFacts>> {
        let mut passes = self.base.get().passes();
        passes.extend(self.own.iter().map(|pass| pass.held.facts.clone()));
        passes.sort_by(|a, b| a.name.cmp(&b.name));
        passes
    }

    fn extensions(&self) -> Vec<Arc<PassFacts>> {
        let own = self.own.iter().map(|pass| &pass.held.facts).filter(|facts| facts.extends.is_some());
        let mut passes = self.base.get().extensions();
        passes.extend(own.cloned());
        passes.sort_by(|a, b| a.name.cmp(&b.name));
        passes
    }

    fn pass(&self, name: &str) -> Result<Arc<PassFacts>, NoPass> {
        let is_short_for = |full: &str| full.rsplit_once('.').is_some_and(|(_, short)| short == name);
        let named = |is_meant: &dyn Fn(&str) -> bool| -> Vec<&Pass> {
            self.own.iter().filter(|pass| pass.held.facts.names().any(is_meant)).collect()
        };
        let exact = named(&|own| own == name);
        let short = named(&is_short_for);
        let provider = |facts: &PassFacts| match facts.plugin.as_str() {
            "" => PROGRAM.to_owned(),
            plugin => plugin.to_owned(),
        };
        let found = self.base.get().pass(name);
        match (exact.as_slice(), short.as_slice(), found) {
            ([one], _, Ok(other)) if other.name == name => {
                Err(NoPass::Conflict(vec![provider(&one.held.facts), provider(&other)]))
            }
            ([one], ..) => Ok(one.held.facts.clone()),
            ([_, _, ..], ..) => Err(NoPass::Conflict(exact.iter().map(|pass| provider(&pass.held.facts)).collect())),
            ([], [], Err(NoPass::Unknown(mut near))) => {
                near.extend(nearest(name, self.own.iter().map(|pass| pass.held.facts.name.as_str())));
                Err(NoPass::Unknown(near))
            }
            ([], [], found) => found,
            ([], [one], Err(NoPass::Unknown(_))) => Ok(one.held.facts.clone()),
            ([], [_, ..], found) => {
                let candidate =
                    |facts: &PassFacts| Candidate { name: facts.name.clone(), plugin: facts.plugin.clone() };
                let mut several: Vec<Candidate> = short.iter().map(|pass| candidate(&pass.held.facts)).collect();
                match found {
                    Ok(other) => several.push(candidate(&other)),
                    Err(NoPass::Ambiguous(others)) => several.extend(others),
                    Err(_) => {}
                }
                Err(NoPass::Ambiguous(several))
            }
        }
    }

    fn extension_points(&self) -> std::collections::BTreeSet<String> {
        self.base.get().extension_points()
    }

    fn config_options(&self) -> Vec<ConfigFacts> {
        let mut all = self.base.get().config_options();
        for schema in &self.config {
            match all.iter_mut().find(|facts| facts.schema.name == schema.name) {
                Some(known) => known.plugins.push(PROGRAM.to_owned()),
                None => all.push(ConfigFacts { schema: schema.clone(), plugins: vec![PROGRAM.to_owned()] }),
            }
        }
        all.sort_by(|a, b| a.schema.name.cmp(&b.schema.name));
        all
    }

    fn plugins(&self) -> Vec<PluginFacts> {
        self.base.get().plugins()
    }

    fn operators_of(&self, plugin: &str) -> Option<Vec<OperatorName>> {
        self.base.get().operators_of(plugin)
    }

    fn create(&self, pass: &PassFacts, options: &Value) -> Result<Arc<dyn RunnablePass>, PassError> {
        match self.own_pass(pass) {
            Some(Pass { make: Some(make), .. }) => Ok(make(options)?.held.pass),
            Some(own) => Ok(own.held.pass.clone()),
            None => self.base.get().create(pass, options),
        }
    }

    fn instruments(&self) -> Vec<InstrumentFacts> {
        self.base.get().instruments()
    }

    fn instrument(&self, name: &str) -> Result<InstrumentFacts, NoPass> {
        self.base.get().instrument(name)
    }

    fn create_instrument(&self, name: &str, options: &Value) -> Result<Arc<dyn PassInstrument>, PassError> {
        self.base.get().create_instrument(name, options)
    }

    fn analyses(&self) -> Vec<AnalysisFacts> {
        let mut all = self.base.get().analyses();
        all.extend(self.analyses.iter().map(|own| own.facts.clone()));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn analysis(&self, name: &str) -> Result<AnalysisFacts, NoPass> {
        let provider = |facts: &AnalysisFacts| match facts.plugin.as_str() {
            "" => "the host".to_owned(),
            plugin => format!("plugin `{plugin}`"),
        };
        let own: Vec<&AnalysisFacts> =
            self.analyses.iter().map(|own| &own.facts).filter(|facts| is_named(&facts.name, name)).collect();
        let exact = own.iter().filter(|facts| facts.name == name).count();
        match (own.as_slice(), self.base.get().analysis(name)) {
            ([], Err(NoPass::Unknown(mut near))) => {
                near.extend(nearest(name, self.analyses.iter().map(|own| own.facts.name.as_str())));
                Err(NoPass::Unknown(near))
            }
            ([], found) => found,
            (_, Ok(other)) if exact > 0 && other.name == name => {
                Err(NoPass::Conflict(vec![PROGRAM.to_owned(), provider(&other)]))
            }
            (_, _) if exact > 1 => Err(NoPass::Conflict(vec![PROGRAM.to_owned(); exact])),
            (own, _) if exact == 1 => {
                Ok(own.iter().find(|facts| facts.name == name).copied().unwrap_or(own[0]).clone())
            }
            ([one], Err(NoPass::Unknown(_))) => Ok((*one).clone()),
            (own, found) => {
                let candidate =
                    |facts: &AnalysisFacts| Candidate { name: facts.name.clone(), plugin: facts.plugin.clone() };
                let own = own.iter().copied().map(candidate);
                Err(NoPass::Ambiguous(match found {
                    Err(NoPass::Ambiguous(others)) => own.chain(others).collect(),
                    found => own.chain(found.ok().as_ref().map(candidate)).collect(),
                }))
            }
        }
    }

    fn compute_analysis(
        &self,
        analysis: &AnalysisFacts,
        of: &SubjectRec<'_>,
        cx: &RunCx<'_>,
    ) -> Result<AnalysisObject, PassError> {
        match self.analyses.iter().find(|own| own.facts.name == analysis.name) {
            Some(own) => own.compute(of, cx),
            None => self.base.get().compute_analysis(analysis, of, cx),
        }
    }

    fn relations(&self) -> Box<dyn TypeRelations + '_> {
        self.base.get().relations()
    }
}
