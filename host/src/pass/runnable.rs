//! A pass that was made, its environment while it runs, and the catalogue that makes passes and the ones that they call.

use super::{
    AnalysisFacts, Candidate, ConfigFacts, InstrumentFacts, Nest, NoPass, OperatorName, PassContext, PassFacts,
    PassInstrument, PluginFacts, Scope,
};
use crate::words::nearest;
use relais_plugin_api::{
    analysis::{AnalysisObject, BUILT_IN, BuiltInAnalysis, SubjectRec},
    boundary::guard::caught,
    diagnostics::{Diagnostic, PassError},
    infer::TypeRelations,
    ir::IRModule,
    options::Value,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::AtomicBool},
};

/// Whether passes explain why they did not do something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Remarks {
    /// They do not.
    #[default]
    Hide,
    /// They do.
    Show,
}

/// Receives a file: its name and its contents. An error is one of the pass.
pub type TakeFile<'a> = dyn Fn(&str, &[u8]) -> Result<(), PassError> + Sync + 'a;

/// The environment of a pass while it runs, in addition to the module.
#[derive(Clone, Copy)]
pub struct RunCx<'a> {
    /// Receives the diagnostics of the pass.
    pub diagnostics: &'a (dyn Fn(Diagnostic) + Sync),
    /// Takes how far the pass is: done, of a total.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    /// Receives a count of the pass: the statistic's name, and by how much it grew.
    pub count: &'a (dyn Fn(&str, u64) + Sync),
    /// Receives a file that the pass made: its name and its contents.
    pub file: &'a TakeFile<'a>,
    /// Whether the pass explains why it did not do something.
    pub remarks: Remarks,
    /// Set when the pass should stop.
    pub cancel: &'a AtomicBool,
    /// The options of the context that are set, by their first names.
    pub config: &'a BTreeMap<String, Value>,
    /// The threads that functions are distributed over; rayon's own if there are none.
    pub pool: Option<&'a rayon::ThreadPool>,
    /// Where the passes that it calls come from.
    pub(crate) catalogue: &'a dyn Catalogue,
    /// The run that it is a part of, for the passes that it calls.
    pub(crate) nest: Nest<'a>,
}

static NEVER: AtomicBool = AtomicBool::new(false);
static NO_CONFIG: BTreeMap<String, Value> = BTreeMap::new();

impl<'a> RunCx<'a> {
    /// Returns an option of the context by any of its names: as it is set, or its default. `None` if none has that name, or
    /// it is neither set nor has a default (TVM: `PassContext::GetConfig`).
    pub fn get_config(&self, key: &str) -> Option<Value> {
        let facts = self.catalogue.config_options().into_iter().find(|facts| facts.is_named(key))?;
        self.config.get(&facts.schema.name).cloned().or(facts.schema.default)
    }

    /// The same where the passes that it calls come from elsewhere.
    pub fn in_catalogue<'b>(&self, catalogue: &'b dyn Catalogue) -> RunCx<'b>
    where
        'a: 'b,
    {
        RunCx { catalogue, ..*self }
    }

    /// The environment of a pass that is run by itself: its messages are discarded, and nothing stops it.
    pub fn new(catalogue: &'a dyn Catalogue) -> Self {
        Self {
            diagnostics: &|_| {},
            progress: &|_, _| {},
            count: &|_, _| {},
            file: &|_, _| Ok(()),
            remarks: Remarks::default(),
            cancel: &NEVER,
            config: &NO_CONFIG,
            pool: None,
            catalogue,
            nest: Nest::alone(),
        }
    }

    /// The same with a receiver of diagnostics.
    pub fn with_diagnostics(self, diagnostics: &'a (dyn Fn(Diagnostic) + Sync)) -> Self {
        Self { diagnostics, ..self }
    }

    /// The same with a receiver of counts.
    pub fn with_count(self, count: &'a (dyn Fn(&str, u64) + Sync)) -> Self {
        Self { count, ..self }
    }

    /// The same with options of the context, which were checked.
    pub fn with_config(self, config: &'a BTreeMap<String, Value>) -> Self {
        Self { config, ..self }
    }

    /// The same with a flag that asks passes to stop.
    pub fn with_cancel(self, cancel: &'a AtomicBool) -> Self {
        Self { cancel, ..self }
    }

    /// The same with threads.
    pub fn with_pool(self, pool: &'a rayon::ThreadPool) -> Self {
        Self { pool: Some(pool), ..self }
    }

    pub(crate) fn wants_remarks(&self) -> bool {
        self.remarks == Remarks::Show
    }

    /// The settings of the context, with the options of this run. Unknown names need mean nothing if it is that of the run,
    /// of which a pass runs a part.
    pub(crate) fn scope(&self, context: &PassContext) -> Scope {
        let scope = context.settings().clone();
        let is_of_run = self.nest.watch.is_some_and(|watch| watch.is_of(context));
        let mut scope = if is_of_run { scope.tolerant() } else { scope };
        scope.config.extend(self.config.iter().map(|(key, value)| (key.clone(), value.clone())));
        scope
    }

    /// Runs `f` on the threads.
    pub(crate) fn install<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        match self.pool {
            Some(pool) => pool.install(f),
            None => super::spread(f),
        }
    }
}

/// A pass as a sequence holds it: not its name, but the pass.
#[derive(Clone)]
pub struct HeldPass {
    /// The facts about it.
    pub facts: Arc<PassFacts>,
    /// Its options, defaults filled in.
    pub options: Value,
    /// The pass itself.
    pub pass: Arc<dyn RunnablePass>,
    /// The level of the steps that run it; that of the pass by default.
    pub opt_level: Option<u8>,
}

/// A member of a sequential pass.
#[derive(Clone)]
#[non_exhaustive]
pub enum Member {
    /// One that is looked up by its name, with its options.
    Named(String, Value),
    /// A pass object.
    Held(HeldPass),
}

/// A pass that was made, its options set.
pub trait RunnablePass: Send + Sync {
    /// Runs it; `None` when it changed nothing.
    ///
    /// # Errors
    /// Returns an error if it fails.
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError>;

    /// Says whether it can work on a module, before any pass of the run did.
    ///
    /// # Errors
    /// When it cannot.
    fn check(&self, _module: &IRModule, _cx: &RunCx<'_>) -> Result<(), PassError> {
        Ok(())
    }

    /// The members of a sequential pass.
    ///
    /// # Errors
    /// Returns an error if they cannot be determined.
    fn members(&self) -> Result<Vec<Member>, PassError> {
        Ok(Vec::new())
    }
}

/// One of the host's own analyses, by full or short name.
pub(crate) fn built_in_analysis(name: &str) -> Option<&'static BuiltInAnalysis> {
    let is_meant = |full: &str| full == name || full.rsplit_once('.').is_some_and(|(_, short)| short == name);
    BUILT_IN.iter().find(|built_in| is_meant(built_in.spec.name))
}

/// Where passes, options and operators come from.
pub trait Catalogue: Sync {
    /// Every pass, ordered by name.
    fn passes(&self) -> Vec<Arc<PassFacts>>;

    /// Every pass that plugins add at an extension point, ordered by name.
    fn extensions(&self) -> Vec<Arc<PassFacts>> {
        self.passes().into_iter().filter(|facts| facts.extends.is_some()).collect()
    }

    /// The pass of a name: full, alias, or short where that is unambiguous.
    ///
    /// # Errors
    /// Returns an error if the name does not resolve to a pass.
    fn pass(&self, name: &str) -> Result<Arc<PassFacts>, NoPass>;

    /// The extension points of the pipelines that plugins provide.
    fn extension_points(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Every option of the context, ordered by key.
    fn config_options(&self) -> Vec<ConfigFacts>;

    /// Every plugin, ordered by name.
    fn plugins(&self) -> Vec<PluginFacts>;

    /// The operators that a plugin describes or evaluates, with their domains; `None` where that is not known.
    fn operators_of(&self, _plugin: &str) -> Option<Vec<OperatorName>> {
        None
    }

    /// Makes a pass.
    ///
    /// # Errors
    /// Returns an error if its plugin cannot be opened or its constructor fails.
    fn create(&self, pass: &PassFacts, options: &Value) -> Result<Arc<dyn RunnablePass>, PassError>;

    /// Every instrument that a plugin provides, ordered by name.
    fn instruments(&self) -> Vec<InstrumentFacts> {
        Vec::new()
    }

    /// The instrument of a name: full, or short where that is unambiguous (rule R4).
    ///
    /// # Errors
    /// Returns an error if the name does not resolve to an instrument.
    fn instrument(&self, name: &str) -> Result<InstrumentFacts, NoPass> {
        let all = self.instruments();
        let is_short_for = |full: &str| full.rsplit_once('.').is_some_and(|(_, short)| short == name);
        let exact: Vec<&InstrumentFacts> = all.iter().filter(|facts| facts.name == name).collect();
        let found = match exact.is_empty() {
            true => all.iter().filter(|facts| is_short_for(&facts.name)).collect(),
            false => exact,
        };
        match found.as_slice() {
            [] => Err(NoPass::Unknown(nearest(name, all.iter().map(|facts| facts.name.as_str())))),
            [one] => Ok((*one).clone()),
            several if several.iter().all(|facts| facts.name == several[0].name) => {
                let provider = |facts: &&InstrumentFacts| format!("`{} {}`", facts.plugin, facts.plugin_version);
                Err(NoPass::Conflict(several.iter().map(provider).collect()))
            }
            several => {
                let candidate =
                    |facts: &&InstrumentFacts| Candidate { name: facts.name.clone(), plugin: facts.plugin.clone() };
                Err(NoPass::Ambiguous(several.iter().map(candidate).collect()))
            }
        }
    }

    /// Makes an instrument of [`instruments`](Self::instruments); its options were checked.
    ///
    /// # Errors
    /// Returns an error if its plugin cannot be opened or its constructor fails.
    fn create_instrument(&self, name: &str, _options: &Value) -> Result<Arc<dyn PassInstrument>, PassError> {
        Err(PassError::new(format!("nothing provides the instrument `{name}`")))
    }

    /// Every analysis, ordered by name: those of plugins, and those that the host has itself.
    fn analyses(&self) -> Vec<AnalysisFacts> {
        BUILT_IN.iter().map(|built_in| built_in.spec.into()).collect()
    }

    /// The analysis of a name: full, or short where that is unambiguous (rule R4).
    ///
    /// # Errors
    /// Returns an error if the name does not resolve to an analysis.
    fn analysis(&self, name: &str) -> Result<AnalysisFacts, NoPass> {
        built_in_analysis(name)
            .map(|built_in| built_in.spec.into())
            .ok_or_else(|| NoPass::Unknown(nearest(name, BUILT_IN.iter().map(|built_in| built_in.spec.name))))
    }

    /// Computes an analysis of [`analyses`](Self::analyses). It asks `cx` for others that it needs; the result is not kept here.
    ///
    /// # Errors
    /// Returns an error if its plugin cannot be opened, or it fails.
    fn compute_analysis(
        &self,
        analysis: &AnalysisFacts,
        of: &SubjectRec<'_>,
        _cx: &RunCx<'_>,
    ) -> Result<AnalysisObject, PassError> {
        let built_in = built_in_analysis(&analysis.name);
        let computed = caught(|| built_in.and_then(|built_in| (built_in.compute)(of)))?;
        computed.ok_or_else(|| PassError::new(format_args!("nothing computes the analysis `{}`", analysis.name)))
    }

    /// The type relations of operators, for one function.
    fn relations(&self) -> Box<dyn TypeRelations + '_>;
}
