//! The information about passes, options and plugins that resolving a pipeline needs: an abstraction of the registry.

use super::{fault::nearest, resolved::OperatorName};
use crate::{
    manager::{Instrument, Nest},
    options::OptionSchema,
    pass::Remarks,
    registry::Candidate,
};
use relais_plugin_api::{
    boundary::record::{Level, Phase},
    diagnostics::{Diagnostic, PassError},
    infer::TypeRelations,
    ir::IRModule,
    options::Value,
};
use semver::Version;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::AtomicBool},
};

/// Whose a pass is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A plugin's: its name identifies the pass.
    Plugin,
    /// The program's own: several may have one name.
    Program,
}

/// The facts about a pass before it is made.
#[derive(Clone, Debug)]
pub struct PassFacts {
    /// Its full name.
    pub name: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// The plugin that provides it.
    pub plugin: String,
    /// That plugin's version.
    pub plugin_version: Version,
    /// Whose it is.
    pub origin: Origin,
    /// The unit that it receives.
    pub level: Level,
    /// Its optimisation level.
    pub opt_level: u8,
    /// The passes that must have run.
    pub required: Vec<String>,
    /// Whether it establishes types, which the driver then keeps up to date (rule R16).
    pub establishes_types: bool,
    /// The extension point that it is added at, in pipelines that have it.
    pub extends: Option<String>,
    /// When it runs among all passes of a level.
    pub phase: Phase,
    /// The option that asks it to change the interface of the entry function; without one it never does.
    pub changes_interface: Option<String>,
    /// Its options.
    pub options: Vec<OptionSchema>,
    /// Its documentation.
    pub doc: String,
}

impl PassFacts {
    /// Whether both are about one pass at one level with the same requirements. Two passes of a program may have one
    /// name.
    pub(super) fn is_same(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        let is_of_plugin = self.origin == Origin::Plugin && other.origin == Origin::Plugin;
        let is_of_plugin = is_of_plugin && self.plugin == other.plugin && self.name == other.name;
        let is_alike = self.plugin_version == other.plugin_version
            && self.opt_level == other.opt_level
            && self.required == other.required;
        Arc::ptr_eq(self, other) || is_of_plugin && is_alike
    }
}

/// The facts about an option of the context.
#[derive(Clone, Debug)]
pub struct ConfigFacts {
    /// The option; its name is the key.
    pub schema: OptionSchema,
    /// The plugins that register the key. More than one is a conflict for its users.
    pub plugins: Vec<String>,
}

/// The facts about a plugin.
#[derive(Clone, Debug)]
pub struct PluginFacts {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// Its file.
    pub file: String,
    /// Why it is not used, if it was refused.
    pub refusal: Option<String>,
}

/// The facts about an instrument before it is made.
#[derive(Clone, Debug)]
pub struct InstrumentFacts {
    /// Its name.
    pub name: String,
    /// The plugin that provides it.
    pub plugin: String,
    /// That plugin's version.
    pub plugin_version: Version,
    /// Its options.
    pub options: Vec<OptionSchema>,
    /// Its documentation.
    pub doc: String,
}

/// Why a name does not resolve to a pass.
#[derive(Clone, Debug)]
pub enum NoPass {
    /// Nothing provides it; the names most like it.
    Unknown(Vec<String>),
    /// Several passes have this short name.
    Ambiguous(Vec<Candidate>),
    /// Several plugins provide it; each described with its file.
    Conflict(Vec<String>),
    /// The only plugin that provides it was refused.
    Refused {
        /// The plugin.
        plugin: String,
        /// Why.
        reason: String,
    },
}

/// The environment of a pass while it runs, in addition to the module.
pub struct RunCx<'a> {
    /// Receives the diagnostics of the pass.
    pub diagnostics: &'a (dyn Fn(Diagnostic) + Sync),
    /// Takes how far the pass is: done, of a total.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    /// Receives a count of the pass: the statistic's name, and by how much it grew.
    pub count: &'a (dyn Fn(&str, u64) + Sync),
    /// Whether the pass explains why it did not do something.
    pub remarks: Remarks,
    /// Set when the pass should stop.
    pub cancel: &'a AtomicBool,
    /// The options of the context.
    pub config: &'a BTreeMap<String, Value>,
    /// The run that it is a part of, for the passes that it calls.
    pub(crate) nest: Nest<'a>,
}

impl<'a> RunCx<'a> {
    /// Returns the environment of a pass that is run by itself: its messages are discarded, and nothing stops it.
    pub fn alone(catalogue: &'a dyn Catalogue) -> Self {
        Self {
            diagnostics: &|_| {},
            progress: &|_, _| {},
            count: &|_, _| {},
            remarks: Remarks::default(),
            cancel: &NEVER,
            config: &NO_CONFIG,
            nest: Nest::alone(catalogue),
        }
    }
}

static NEVER: AtomicBool = AtomicBool::new(false);
static NO_CONFIG: BTreeMap<String, Value> = BTreeMap::new();

/// A pass as a sequence holds it: not its name, but the pass.
#[derive(Clone)]
pub struct HeldPass {
    /// The facts about it.
    pub facts: Arc<PassFacts>,
    /// Its options, defaults filled in.
    pub options: Value,
    /// The pass itself.
    pub pass: Arc<dyn RunnablePass>,
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

/// Where passes, options and operators come from.
pub trait Catalogue: Sync {
    /// Every pass, ordered by name.
    fn passes(&self) -> Vec<Arc<PassFacts>>;

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
    fn create_instrument(&self, name: &str, _options: &Value) -> Result<Arc<dyn Instrument>, PassError> {
        Err(PassError::new(format!("nothing provides the instrument `{name}`")))
    }

    /// The type relations of operators, for one function.
    fn relations(&self) -> Box<dyn TypeRelations + '_>;
}
