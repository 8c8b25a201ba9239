//! The registry: from names to the items that plugins register.

mod error;
mod names;
mod operators;
mod programs;
mod provider;

pub use crate::worker::Beside;
pub use error::{Conflict, CreateError, Named, ResolveError};
pub use operators::qualified;
pub use programs::{described, report_program};
pub use provider::Provider;

use crate::{
    ir::{IRModule, OpId, normal_domain},
    isolation::Isolation,
    options::{OptionError, OptionSchema},
    pass::Candidate,
    plugin::{
        AdditionRecord, AnalysisRecord, Discovery, FoundPlugin, InstrumentRecord, OperatorRecord, PassRecord,
        PipelineRecord, PluginRecord, Refusal, RefusedPlugin,
    },
    words::nearest,
};
use names::Names;
use operators::{Dispute, Operators};
use provider::{Around, Isolated, ProviderFile, ProviderSource};
use relais_plugin_api::{
    boundary::{
        abi::{CallEntry, EvalEntry, InferEntry},
        entry::{Item, registrations},
    },
    diagnostics::PassError,
    op::AddedPart,
    options::Value,
};
use semver::VersionReq;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

/// Everything that plugins register, by name. It knows it from records; a library is opened when something in it is
/// first needed. Cloning shares.
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

struct Inner {
    providers: Vec<Arc<Provider>>,
    /// Plugins that others replace: linked builds of the same plugin, older files of it, or files that were not named.
    set_aside: Vec<Arc<Provider>>,
    refused: Vec<RefusedPlugin>,
    duplicates: Vec<(PathBuf, PathBuf)>,
    names: Names,
    instruments: Names,
    pipelines: Names,
    analyses: Names,
    operators: Operators,
    options: BTreeMap<String, Vec<(usize, usize)>>,
}

/// Which plugin provides something that several do, by the plugin's name: the role of a pipeline's `[plugins]` table.
pub type Choices = BTreeMap<String, VersionReq>;

/// Whether plugins that are linked into this program count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linked {
    /// They do.
    Include,
    /// They do not.
    Exclude,
}

impl Registry {
    /// A registry of the plugins that were found; of plugins that `choices` names, only versions that match count.
    pub fn new(found: Discovery, linked: Linked, choices: &Choices) -> Self {
        let Discovery { plugins, mut refused, duplicates, .. } = described(found);
        let mut providers = Vec::new();
        let is_chosen =
            |plugin: &PluginRecord| choices.get(&plugin.name).is_none_or(|wanted| wanted.matches(&plugin.version));
        if linked == Linked::Include {
            for (crate_name, records) in linked_records() {
                let root = registrations().find_map(|entry| match entry.item {
                    Item::Plugin(root) if entry.crate_name == crate_name => Some(root),
                    _ => None,
                });
                match (crate::plugin::read_records(&records.into()), root) {
                    (Ok(records), Some(root)) if is_chosen(&records.plugin) => {
                        providers.push((records, ProviderSource::Linked(root)))
                    }
                    (Err(error), _) => refused.push(RefusedPlugin {
                        path: crate_name.into(),
                        records: None,
                        refusal: Refusal::Record(error),
                    }),
                    // Passes of a crate that is not a plugin, such as a test's own, are not registered.
                    _ => {}
                }
            }
        }
        let found = plugins.into_iter().filter(|found| is_chosen(&found.records.plugin));
        providers.extend(found.map(|found| {
            let FoundPlugin { path, records, section, is_named, isolation, sha256 } = found;
            (records, ProviderSource::File(ProviderFile { path, section, is_named, isolation, sha256 }))
        }));
        let provider = |(records, source)| Arc::new(Provider::new(records, source));
        let all = Self::of(providers.into_iter().map(provider).collect(), refused, duplicates);
        all.isolate(|_| None, "", Vec::new())
    }

    /// Returns the failures since the last call where no error could be returned: plugins that panicked while their objects
    /// were dropped.
    pub fn take_faults(&self) -> Vec<String> {
        let faults = |provider: &Arc<Provider>| {
            std::mem::take(&mut *provider.faults.lock().unwrap_or_else(PoisonError::into_inner))
        };
        self.0.providers.iter().flat_map(faults).collect()
    }

    fn of(all: Vec<Arc<Provider>>, refused: Vec<RefusedPlugin>, duplicates: Vec<(PathBuf, PathBuf)>) -> Self {
        let (providers, set_aside) = arranged(all);
        let mut options: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
        for (plugin, provider) in providers.iter().enumerate() {
            for (index, option) in provider.records.options.iter().enumerate() {
                for name in std::iter::once(&option.name).chain(&option.aliases) {
                    options.entry(name.clone()).or_default().push((plugin, index));
                }
            }
        }
        let names = Names::new(Named::Pass, &providers);
        let instruments = Names::new(Named::Instrument, &providers);
        let pipelines = Names::new(Named::Pipeline, &providers);
        let analyses = Names::new(Named::Analysis, &providers);
        let operators = Operators::new(&providers);
        Self(Arc::new(Inner {
            providers,
            set_aside,
            refused,
            duplicates,
            names,
            instruments,
            pipelines,
            analyses,
            operators,
            options,
        }))
    }

    /// The same with other choices: of plugins that `choices` names, only versions that match count. Opened plugins
    /// stay open in both.
    pub fn choose(&self, choices: &Choices) -> Self {
        let Inner { providers, set_aside, refused, duplicates, .. } = &*self.0;
        let is_chosen = |provider: &&Arc<Provider>| {
            let plugin = &provider.records.plugin;
            choices.get(&plugin.name).is_none_or(|wanted| wanted.matches(&plugin.version))
        };
        // A plugin that was set aside may be chosen. Linked plugins come first.
        let (mut linked, mut files): (Vec<_>, Vec<_>) =
            set_aside.iter().chain(providers).filter(is_chosen).cloned().partition(|it| it.path().is_none());
        linked.append(&mut files);
        Self::of(linked, refused.clone(), duplicates.clone())
    }

    /// The same with other providers in the place of some. None of the choices among them is kept.
    pub(crate) fn replace<E>(&self, replaced: impl Fn(&Arc<Provider>) -> Result<Arc<Provider>, E>) -> Result<Self, E> {
        let Inner { providers, refused, duplicates, .. } = &*self.0;
        let providers = providers.iter().map(replaced).collect::<Result<Vec<_>, E>>()?;
        // The file beside a plugin's may isolate it since.
        let is_isolated_now = |it: &Arc<Provider>| it.isolation().is_none() && it.demanded().is_some();
        let is_changed = providers.iter().any(is_isolated_now);
        let new = Self::of(providers, refused.clone(), duplicates.clone());
        Ok(if is_changed { new.isolate(|_| None, "", Vec::new()) } else { new })
    }

    /// The same with plugins in processes of their own: those that are chosen, those that the file beside theirs isolates, with
    /// the settings there, and all programs. Each is started when something of it is first needed. Choices of a
    /// pipeline are made afterwards, and are stated here for these processes: its target, and the operators that are taken
    /// from a plugin (domain, name, plugin).
    pub fn isolate(
        &self,
        which: impl Fn(&PluginRecord) -> Option<Isolation>,
        target: &str,
        preferences: Vec<[String; 3]>,
    ) -> Self {
        let Inner { providers, set_aside, refused, duplicates, .. } = &*self.0;
        // The user has said so for every use of the plugin; a pipeline may come from anywhere.
        let which = |provider: &Provider| {
            let wanted = provider.demanded().cloned().or_else(|| which(&provider.records.plugin));
            wanted.or_else(|| provider.is_program().then(Isolation::default))
        };
        if !providers.iter().any(|provider| which(provider).is_some()) {
            return self.clone();
        }
        let libraries = providers.iter().filter(|provider| !provider.is_program());
        let around = Arc::new(Around {
            files: libraries.filter_map(|provider| provider.path().map(Path::to_owned)).collect(),
            is_linked: providers.iter().any(|provider| provider.path().is_none()),
            target: target.to_owned(),
            preferences,
        });
        let isolated = |provider: &Arc<Provider>| match which(provider) {
            Some(isolation) => Arc::new(provider.isolate(Isolated { isolation, around: around.clone() })),
            None => provider.clone(),
        };
        let new = Self::of(providers.iter().map(isolated).collect(), refused.clone(), duplicates.clone());
        match Arc::try_unwrap(new.0) {
            Ok(inner) => Self(Arc::new(Inner { set_aside: set_aside.clone(), ..inner })),
            Err(shared) => Self(shared),
        }
    }

    /// Plugins that are not used, because others of the same name replace them: all others of one whose file was named,
    /// those that are linked into this program if a file is not older, and files that are older than the linked ones.
    pub fn set_aside(&self) -> impl Iterator<Item = &Provider> {
        self.0.set_aside.iter().map(|provider| &**provider)
    }

    /// The same with only some plugins, given by their places in [`plugins`](Self::plugins).
    pub(crate) fn only(&self, is_kept: impl Fn(usize, &Provider) -> bool) -> Self {
        let Inner { providers, refused, duplicates, .. } = &*self.0;
        let kept = providers.iter().enumerate().filter(|(at, provider)| is_kept(*at, provider));
        Self::of(kept.map(|(_, provider)| provider.clone()).collect(), refused.clone(), duplicates.clone())
    }

    /// Takes a pass, by full or short name, from this plugin, although others also provide it.
    ///
    /// # Panics
    /// Panics if the registry is shared already.
    pub fn prefer(&mut self, pass: &str, plugin: &str) {
        let inner = Arc::get_mut(&mut self.0).expect("a registry is arranged before it is shared");
        let providers = &inner.providers;
        inner.names.prefer(pass, |id| providers[id].records.plugin.name == plugin);
    }

    /// Takes the description and the evaluator of an operator from this plugin, as far as it has them, although others
    /// also have them.
    ///
    /// # Panics
    /// Panics if the registry is shared already.
    pub fn prefer_operator(&mut self, domain: &str, name: &str, plugin: &str) {
        let inner = Arc::get_mut(&mut self.0).expect("a registry is arranged before it is shared");
        let providers = &inner.providers;
        inner.operators.prefer(domain, name, |id| providers[id].records.plugin.name == plugin);
    }

    /// Takes a pipeline, by full or short name, from this plugin, although others also provide it.
    ///
    /// # Panics
    /// Panics if the registry is shared already.
    pub fn prefer_pipeline(&mut self, pipeline: &str, plugin: &str) {
        let inner = Arc::get_mut(&mut self.0).expect("a registry is arranged before it is shared");
        let providers = &inner.providers;
        inner.pipelines.prefer(pipeline, |id| providers[id].records.plugin.name == plugin);
    }

    /// Takes an analysis, by full or short name, from this plugin, although others also provide it.
    ///
    /// # Panics
    /// Panics if the registry is shared already.
    pub fn prefer_analysis(&mut self, analysis: &str, plugin: &str) {
        let inner = Arc::get_mut(&mut self.0).expect("a registry is arranged before it is shared");
        let providers = &inner.providers;
        inner.analyses.prefer(analysis, |id| providers[id].records.plugin.name == plugin);
    }

    /// The plugins, in the order of the search; linked ones first.
    pub fn plugins(&self) -> impl Iterator<Item = &Provider> {
        self.0.providers.iter().map(|provider| &**provider)
    }

    /// Files and folders that are not used, and why.
    pub fn refused(&self) -> &[RefusedPlugin] {
        &self.0.refused
    }

    /// Files that are the same plugin as an earlier one: the later file, then the earlier.
    pub fn duplicates(&self) -> &[(PathBuf, PathBuf)] {
        &self.0.duplicates
    }

    /// All passes, by full name, with their plugins.
    pub fn passes(&self) -> impl Iterator<Item = (&PassRecord, &Provider)> {
        let mut passes: Vec<(&PassRecord, &Provider)> = Vec::new();
        for provider in self.plugins() {
            passes.extend(provider.records.passes.iter().map(|pass| (pass, provider)));
        }
        passes.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        passes.into_iter()
    }

    /// Names that several plugins provide.
    pub fn conflicts(&self) -> Vec<Conflict> {
        self.0.names.conflicts(&self.0.providers)
    }

    /// Returns the short names of passes of a plugin that have another meaning too, until one is chosen.
    pub fn ambiguous_passes(&self, plugin: &str) -> Vec<(String, Vec<Candidate>)> {
        let plugins = self.0.providers.iter().enumerate();
        let of_plugin = plugins.filter(|(_, provider)| provider.records.plugin.name == plugin);
        of_plugin.flat_map(|(at, _)| self.0.names.ambiguous(at, &self.0.providers)).collect()
    }

    /// A pass's record, by full name, alias or short name (rule R4).
    ///
    /// # Errors
    /// Returns an error if nothing provides it, several plugins do, or the short name is ambiguous.
    pub fn pass(&self, name: &str) -> Result<&PassRecord, ResolveError> {
        let (plugin, pass) = self.find(name)?;
        Ok(&self.0.providers[plugin].records.passes[pass])
    }

    fn find(&self, name: &str) -> Result<(usize, usize), ResolveError> {
        self.0.names.find(name, &self.0.providers, &self.0.refused)
    }

    /// All instruments, by full name, with their plugins.
    pub fn instruments(&self) -> impl Iterator<Item = (&InstrumentRecord, &Provider)> {
        let mut instruments: Vec<(&InstrumentRecord, &Provider)> = Vec::new();
        for provider in self.plugins() {
            instruments.extend(provider.records.instruments.iter().map(|instrument| (instrument, provider)));
        }
        instruments.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        instruments.into_iter()
    }

    /// An instrument's record and plugin, by full or short name.
    ///
    /// # Errors
    /// Returns an error if nothing provides it, several plugins do, or the short name is ambiguous.
    pub fn instrument(&self, name: &str) -> Result<(&InstrumentRecord, &Provider), ResolveError> {
        let (plugin, index) = self.0.instruments.find(name, &self.0.providers, &self.0.refused)?;
        let provider = &*self.0.providers[plugin];
        Ok((&provider.records.instruments[index], provider))
    }

    /// Returns the plugin that provides a pass, and the pass's place in it.
    pub(crate) fn provider_of_pass(&self, name: &str) -> Result<(&Arc<Provider>, usize), ResolveError> {
        let (plugin, index) = self.find(name)?;
        Ok((&self.0.providers[plugin], index))
    }

    /// Returns the plugin that provides an instrument, and the instrument's place in it.
    pub(crate) fn provider_of_instrument(&self, name: &str) -> Result<(&Arc<Provider>, usize), ResolveError> {
        let (plugin, index) = self.0.instruments.find(name, &self.0.providers, &self.0.refused)?;
        Ok((&self.0.providers[plugin], index))
    }

    /// All analyses of plugins, by full name, with their plugins.
    pub fn analyses(&self) -> impl Iterator<Item = (&AnalysisRecord, &Provider)> {
        let mut analyses: Vec<(&AnalysisRecord, &Provider)> = Vec::new();
        for provider in self.plugins() {
            analyses.extend(provider.records.analyses.iter().map(|analysis| (analysis, provider)));
        }
        analyses.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        analyses.into_iter()
    }

    /// The record and the plugin of an analysis of a plugin, by full or short name.
    ///
    /// # Errors
    /// Returns an error if nothing provides it, several plugins do, or the short name is ambiguous.
    pub fn analysis(&self, name: &str) -> Result<(&AnalysisRecord, &Provider), ResolveError> {
        let (provider, index) = self.provider_of_analysis(name)?;
        Ok((&provider.records.analyses[index], provider))
    }

    /// Returns the plugin that provides an analysis, and the place of the analysis in it.
    pub(crate) fn provider_of_analysis(&self, name: &str) -> Result<(&Arc<Provider>, usize), ResolveError> {
        let (plugin, index) = self.0.analyses.find(name, &self.0.providers, &self.0.refused)?;
        Ok((&self.0.providers[plugin], index))
    }

    /// All pipelines, by full name, with their plugins.
    pub fn pipelines(&self) -> impl Iterator<Item = (&PipelineRecord, &Provider)> {
        let mut pipelines: Vec<(&PipelineRecord, &Provider)> = Vec::new();
        for provider in self.plugins() {
            pipelines.extend(provider.records.pipelines.iter().map(|pipeline| (pipeline, provider)));
        }
        pipelines.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        pipelines.into_iter()
    }

    /// A pipeline's record and plugin, by full or short name.
    ///
    /// # Errors
    /// Returns an error if nothing provides it, several plugins do, or the short name is ambiguous.
    pub fn pipeline(&self, name: &str) -> Result<(&PipelineRecord, &Provider), ResolveError> {
        let (plugin, index) = self.0.pipelines.find(name, &self.0.providers, &self.0.refused)?;
        let provider = &*self.0.providers[plugin];
        Ok((&provider.records.pipelines[index], provider))
    }

    /// Returns warnings about the operators that a module uses: of what several plugins describe or give, none counts but what
    /// a shipped plugin has.
    pub fn operator_conflicts(&self, module: &IRModule) -> Vec<String> {
        let used: BTreeSet<(String, String, u32)> = module
            .functions()
            .flat_map(|(_, f)| (0..f.n_ops()).map(move |index| (f, OpId::from_index(index))))
            .map(|(f, op)| {
                let (rec, version) = (f.op(op), u32::try_from(f.op_version(op)).unwrap_or(0));
                (normal_domain(f.str(rec.domain)).to_owned(), f.str(rec.name).to_owned(), version)
            })
            .collect();
        let told = used.iter().flat_map(|(domain, name, version)| {
            let full = qualified(domain, name);
            let providers = &self.0.providers;
            let disputes = self.0.operators.disputes(domain, name, *version, providers);
            disputes.into_iter().map(move |Dispute { part, plugins, stands }| {
                let plugins: Vec<String> = plugins.iter().map(|&plugin| providers[plugin].describe()).collect();
                let plugins = plugins.join(" and ");
                let what = match part.as_str() {
                    "" => format!("operator `{full}` is described by {plugins}"),
                    part => format!("the {part} of operator `{full}` is given by {plugins}"),
                };
                let stands = match stands {
                    Some(plugin) => format!("that of `{}` stands", providers[plugin].records.plugin.name),
                    None if part.is_empty() => "none of them is believed: its calls stay as they are, untyped".into(),
                    None => "none of them counts".into(),
                };
                format!(
                    "{what}\n  {stands}\n  help: choose one in a pipeline's table `[plugins]`: `NAME = {{ operators = \
                     [\"{full}\"] }}`"
                )
            })
        });
        told.collect()
    }

    /// All options of the context, by key, with their plugins.
    pub fn config_options(&self) -> impl Iterator<Item = (&OptionSchema, &Provider)> {
        let all = self.0.options.iter().flat_map(|(key, all)| all.iter().map(move |place| (key, place)));
        all.filter_map(|(key, &(plugin, index))| {
            let provider = &*self.0.providers[plugin];
            let option = &provider.records.options[index];
            (option.name == *key).then_some((option, provider))
        })
    }

    /// The name of the option of the context that a key sets: the key itself unless it is an alias of one.
    pub(crate) fn config_name<'a>(&'a self, key: &'a str) -> &'a str {
        match self.0.options.get(key).map(Vec::as_slice) {
            Some(&[(plugin, index)]) => &self.0.providers[plugin].records.options[index].name,
            _ => key,
        }
    }

    /// Checks a value of an option of the context.
    ///
    /// # Errors
    /// Returns an error if nothing registers the key, several plugins do (rule R22), or the value is not taken.
    pub fn check_config(&self, key: &str, value: &Value) -> Result<Value, ConfigError> {
        let Some(providers) = self.0.options.get(key) else {
            let nearest = nearest(key, self.0.options.keys().map(String::as_str)).into_iter().next();
            return Err(ConfigError::Unknown { key: key.to_owned(), nearest });
        };
        let [(plugin, index)] = providers[..] else {
            let plugins = providers.iter().map(|&(plugin, _)| self.0.providers[plugin].describe()).collect();
            return Err(ConfigError::Conflict { key: key.to_owned(), plugins });
        };
        self.0.providers[plugin].records.options[index].kind.check(value, key).map_err(ConfigError::Value)
    }

    /// Returns the default of an option of the context. If several plugins register it, each of them gets its own.
    pub(crate) fn config_default(&self, key: &str, asking: &PluginRecord) -> Option<Value> {
        let registered = self.0.options.get(key)?;
        let is_asking = |plugin: usize| std::ptr::eq(&self.0.providers[plugin].records.plugin, asking);
        let own = registered.iter().find(|(plugin, _)| is_asking(*plugin));
        let (plugin, index) = *own.or(registered.first().filter(|_| registered.len() == 1))?;
        self.0.providers[plugin].records.options[index].default.clone()
    }

    /// The defaults of all options of the context, by key, for a plugin that asks.
    pub(crate) fn config_defaults(&self, asking: &PluginRecord) -> BTreeMap<String, Value> {
        let keys: BTreeSet<&String> = self.config_options().map(|(option, _)| &option.name).collect();
        keys.into_iter().filter_map(|key| Some((key.clone(), self.config_default(key, asking)?))).collect()
    }

    /// The description of an operator that applies to a version: the one with the greatest first version that is not
    /// above it. The number is the argument of [`infer_entry`](Self::infer_entry).
    pub fn operator(&self, domain: &str, name: &str, version: u32) -> Option<(u32, &OperatorRecord)> {
        self.0.operators.operator(domain, name, version, &self.0.providers)
    }

    /// Whether several plugins describe an operator in the same version, and none of them is believed.
    pub fn is_disputed(&self, domain: &str, name: &str, version: u32) -> bool {
        let disputes = self.0.operators.disputes(domain, name, version, &self.0.providers);
        disputes.iter().any(|dispute| dispute.part.is_empty() && dispute.stands.is_none())
    }

    /// The plugin that gives a part of an operator of [`operators`](Self::operators) that another one describes.
    pub fn giver(&self, op: &OperatorRecord, part: &AddedPart) -> Option<&Provider> {
        self.0.operators.giver_of(op, part, &self.0.providers).map(|plugin| &*self.0.providers[plugin])
    }

    /// All that plugins add to an operator of [`operators`](Self::operators), for whatever target.
    pub fn additions_to(&self, op: &OperatorRecord) -> Vec<(&AdditionRecord, &Provider)> {
        self.0.operators.additions_to(op, &self.0.providers)
    }

    /// The additions of a plugin to operators that nothing describes in that version, each with the versions that are described.
    pub fn idle_additions(&self, plugin: &str) -> Vec<(&AdditionRecord, Vec<u32>)> {
        let plugins = self.0.providers.iter().enumerate();
        let of_name = plugins.filter(|(_, provider)| provider.records.plugin.name == plugin);
        of_name.flat_map(|(at, _)| self.0.operators.idle_additions(at, &self.0.providers)).collect()
    }

    /// The targets that plugins add something for.
    pub fn targets(&self) -> BTreeSet<&str> {
        let passes = self.0.providers.iter().flat_map(|provider| &provider.records.passes);
        let of_passes = passes.map(|pass| pass.target.as_str()).filter(|target| !target.is_empty());
        self.0.operators.targets(&self.0.providers).chain(of_passes).collect()
    }

    /// Takes what plugins add to operators for a target: the role of a pipeline's `target`.
    ///
    /// # Panics
    /// Panics if the registry is shared already.
    pub fn set_target(&mut self, target: &str) {
        let inner = Arc::get_mut(&mut self.0).expect("a registry is arranged before it is shared");
        inner.operators.set_target(target);
    }

    /// Whether a plugin describes the whole of a domain in a version of its operator set.
    pub fn is_closed(&self, domain: &str, version: u32) -> bool {
        self.0.operators.is_closed(domain, version)
    }

    /// All operators, by domain, name and version, with their plugins.
    pub fn operators(&self) -> impl Iterator<Item = (&OperatorRecord, &Provider)> {
        self.0.operators.all(&self.0.providers)
    }

    /// The number of the evaluator for an operator in a version.
    pub fn evaluator(&self, domain: &str, name: &str, version: u32) -> Option<u32> {
        self.0.operators.evaluator(domain, name, version, &self.0.providers)
    }

    /// The type relation of an operator; opens its library.
    ///
    /// # Errors
    /// Returns an error if the library cannot be opened or lacks it.
    pub fn infer_entry(&self, id: u32) -> Result<InferEntry, PassError> {
        self.0.operators.infer_entry(id, &self.0.providers)
    }

    /// A function of an operator that looks at one call: its body or its verifier (see
    /// [`operator_part`](relais_plugin_api::boundary::abi::operator_part)); opens its library.
    ///
    /// # Errors
    /// Returns an error if the library cannot be opened or lacks it.
    pub fn call_entry(&self, part: u8, id: u32) -> Result<CallEntry, PassError> {
        self.0.operators.call_entry(part, id, &self.0.providers)
    }

    /// The fields of an operator's further properties, as they cross the boundary.
    pub(crate) fn further_properties(&self, id: u32) -> &[u8] {
        self.0.operators.further_properties(id)
    }

    /// Returns the failure of an operator's plugin, when a part of this number (see
    /// [`operator_part`](relais_plugin_api::boundary::abi::operator_part)) panicked or returned something untrue.
    pub fn operator_fault(&self, part: u8, id: u32, message: &str) -> PassError {
        self.0.operators.fault(part, id, message, &self.0.providers)
    }

    /// Returns the name of the plugin that a part of an operator belongs to; `None` if there is no such number.
    pub fn operator_plugin(&self, part: u8, id: u32) -> Option<String> {
        let (provider, _) = self.0.operators.named(part, id, &self.0.providers)?;
        Some(provider.records.plugin.name.clone())
    }

    /// An evaluator; opens its library.
    ///
    /// # Errors
    /// Returns an error if the library cannot be opened or lacks it.
    pub fn eval_entry(&self, id: u32) -> Result<EvalEntry, PassError> {
        self.0.operators.eval_entry(id, &self.0.providers)
    }
}

/// Why an option of the context is not taken.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// Nothing registers it.
    Unknown {
        /// The key.
        key: String,
        /// The nearest key there is.
        nearest: Option<String>,
    },
    /// Several plugins register it.
    Conflict {
        /// The key.
        key: String,
        /// The plugins, with their files.
        plugins: Vec<String>,
    },
    /// Its value is not taken.
    Value(OptionError),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { key, nearest: Some(nearest) } => {
                write!(f, "nothing registers option `{key}`; did you mean `{nearest}`?")
            }
            Self::Unknown { key, nearest: None } => write!(f, "nothing registers option `{key}`"),
            Self::Conflict { key, plugins } => {
                write!(f, "option `{key}` is registered more than once, by {}", plugins.join(" and "))
            }
            Self::Value(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Returns the plugins that count, and those that are set aside: of a linked plugin and files of it, the files count,
/// so that a rebuilt plugin is used, except for files that are older. A file that the user named counts before all others.
fn arranged(all: Vec<Arc<Provider>>) -> (Vec<Arc<Provider>>, Vec<Arc<Provider>>) {
    let id = |provider: &Provider| (provider.records.plugin.name.clone(), provider.records.plugin.version.clone());
    let (linked, files): (Vec<_>, Vec<_>) =
        all.iter().map(|it| (&**it, id(it))).partition(|(it, _)| it.path().is_none());
    let is_set_aside = |provider: &Provider| {
        let (name, version) = id(provider);
        let rivals = |others: &[(&Provider, (String, semver::Version))]| {
            others.iter().filter(|(_, other)| other.0 == name).map(|(_, other)| other.1.clone()).max()
        };
        if provider.is_named() {
            return false;
        }
        if all.iter().any(|other| other.is_named() && other.records.plugin.name == name) {
            return true;
        }
        match provider.path() {
            None => rivals(&files).is_some_and(|file| file.cmp_precedence(&version).is_ge()),
            Some(_) => rivals(&linked).is_some_and(|linked| linked.cmp_precedence(&version).is_gt()),
        }
    };
    let set_aside: Vec<bool> = all.iter().map(|provider| is_set_aside(provider)).collect();
    let (aside, used): (Vec<_>, Vec<_>) = all.into_iter().zip(set_aside).partition(|(_, aside)| *aside);
    let only = |list: Vec<(Arc<Provider>, bool)>| list.into_iter().map(|(provider, _)| provider).collect();
    (only(used), only(aside))
}

/// The records of each crate that is linked into this program and registers something.
fn linked_records() -> BTreeMap<&'static str, Vec<u8>> {
    let mut records: BTreeMap<&'static str, Vec<u8>> = BTreeMap::new();
    for entry in registrations() {
        records.entry(entry.crate_name).or_default().extend_from_slice(entry.records);
    }
    let is_plugin = |crate_name: &str| {
        registrations().any(|entry| entry.crate_name == crate_name && matches!(entry.item, Item::Plugin(_)))
    };
    records.retain(|crate_name, _| is_plugin(crate_name));
    records
}
