//! The state of resolving a pipeline: looking up names, and adding passes.

use super::{
    fault::{Code, PipelineFault, Place, described, first_of},
    resolved::*,
    schema::{Paths, check_options, shorten},
    spec::*,
};
use crate::{
    pass::{Candidate, Catalogue, ConfigFacts, HeldPass, NoPass, PassFacts, PassOwner, RunnablePass, Scope},
    words::nearest,
};
use relais_plugin_api::options::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

/// The name of a sequence without one, by which it is switched.
pub(super) const ANONYMOUS: &str = "sequential";

/// Whether passes are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Makes {
    Passes,
    Nothing,
}

/// A sequence of the pipeline that requires passes.
#[derive(Clone)]
pub(super) struct RequiringSequence {
    pub name: String,
    pub place: Option<Place>,
    /// The context that it runs in.
    pub scope: usize,
    pub required: Vec<usize>,
}

pub(super) struct Resolver<'a> {
    pub spec: &'a PipelineSpec,
    pub catalogue: &'a dyn Catalogue,
    pub faults: Vec<PipelineFault>,
    pub config: Vec<ConfigFacts>,
    /// The names of the pipeline's own sequences.
    sequences: BTreeSet<&'a str>,
    pub found: BTreeMap<String, Result<Arc<PassFacts>, NoPass>>,
    /// Options set from outside, by full name of the pass.
    pub settings: BTreeMap<String, Vec<SpecEntry>>,
    pub passes: Vec<PassInstance>,
    /// Where each pass was first named.
    pub places: Vec<Option<Place>>,
    /// The passes of a name, a plugin and options: several, if a sequence holds different ones.
    pub by_options: BTreeMap<(String, String, String), Vec<usize>>,
    pub nodes: Vec<ResolvedStep>,
    /// The steps that are on by a level of their own: the context and the pass.
    pub turned_on: Vec<(usize, usize)>,
    /// The sequences of the pipeline that are on and require passes.
    pub requiring: Vec<RequiringSequence>,
    /// Every context, the outermost first, with the places of its disabled names.
    pub scopes: Vec<Scope>,
    pub disabled_at: BTreeMap<String, Option<Place>>,
    /// The passes that plugins add, by extension point.
    pub additions: BTreeMap<String, Vec<Arc<PassFacts>>>,
    /// Those that are on.
    pub added: Vec<AddedPass>,
    pub origins: BTreeMap<usize, String>,
    pub warnings: Vec<String>,
    /// Where names that are unknown yet were written, and before which fault.
    pub unknown_at: BTreeMap<String, (Option<Place>, usize)>,
    /// Whether the first pass is called by itself: its requirements do not count (rule R3).
    pub is_called: bool,
    /// Whether it is a context alone: what runs in it is not known.
    pub is_context: bool,
    pub makes: Makes,
}

impl<'a> Resolver<'a> {
    pub fn new(spec: &'a PipelineSpec, catalogue: &'a dyn Catalogue) -> Self {
        let sequence = |node: &'a Written<StepSpec>| match &node.value {
            StepSpec::Sequence { name, .. } => Some(name.as_ref().map_or(ANONYMOUS, |name| &name.value)),
            StepSpec::Levels { .. } => Some(ANONYMOUS),
            StepSpec::Extension { point, .. } => Some(point.value.as_str()),
            _ => None,
        };
        Self {
            spec,
            catalogue,
            faults: Vec::new(),
            config: catalogue.config_options(),
            sequences: spec.nodes.iter().filter_map(sequence).collect(),
            found: BTreeMap::new(),
            settings: BTreeMap::new(),
            passes: Vec::new(),
            places: Vec::new(),
            by_options: BTreeMap::new(),
            nodes: Vec::new(),
            turned_on: Vec::new(),
            requiring: Vec::new(),
            scopes: Vec::new(),
            disabled_at: BTreeMap::new(),
            additions: BTreeMap::new(),
            added: Vec::new(),
            origins: spec.origins.clone(),
            warnings: Vec::new(),
            unknown_at: BTreeMap::new(),
            is_called: false,
            is_context: false,
            makes: Makes::Passes,
        }
    }

    /// How relative paths are understood. A pipeline that is not going to run keeps them: locks hold on other machines.
    pub fn paths(&self) -> Paths<'a> {
        match self.makes {
            Makes::Passes => Paths::Absolute(&self.spec.sources),
            Makes::Nothing => Paths::Written,
        }
    }

    fn is_nothing(&self, step: usize) -> bool {
        match self.spec.nodes.get(step).map(|node| &node.value) {
            Some(StepSpec::Extension { point, added, .. }) => {
                added.is_empty() && !self.additions.contains_key(&point.value)
            }
            _ => false,
        }
    }

    /// Whether a sequence or an extension point of that name is in the resolved pipeline.
    pub fn is_there(&self, name: &str) -> bool {
        let mut nodes = self.spec.nodes.iter().enumerate();
        nodes.any(|(at, node)| match &node.value {
            StepSpec::Sequence { name: own, .. } => own.as_ref().map_or(ANONYMOUS, |own| &own.value) == name,
            StepSpec::Levels { .. } => name == ANONYMOUS,
            StepSpec::Extension { point, .. } => point.value == name && !self.is_nothing(at),
            _ => false,
        })
    }

    /// The steps of a list without the points at which nothing is added.
    pub fn present(&self, steps: &[usize]) -> Vec<usize> {
        steps.iter().copied().filter(|&step| !self.is_nothing(step)).collect()
    }

    /// The full name of a disabled or required pass, or of a sequence of the pipeline. One that is unknown is as it was
    /// written: a pass that a sequence holds may have it.
    pub fn switch(&mut self, name: &Written<String>, scope: &mut Scope) -> Option<String> {
        if let Some(present) = self.sequence(&name.value) {
            return present;
        }
        match self.find(&name.value) {
            Ok(facts) => Some(facts.name.clone()),
            Err(None | Some(NoPass::Unknown(_))) if self.sequence_of_short_name(&name.value).is_some() => {
                self.sequence_of_short_name(&name.value)?
            }
            Err(None | Some(NoPass::Unknown(_))) if self.makes != Makes::Nothing => {
                self.unknown_at.entry(name.value.clone()).or_insert((name.place, self.faults.len()));
                scope.unknown.insert(name.value.clone());
                Some(name.value.clone())
            }
            Err(None) => None,
            Err(Some(why)) => {
                let fault = self.no_pass(&name.value, name.place, &why);
                self.faults.push(fault);
                None
            }
        }
    }

    /// The full names of a pass, or of a sequence of the pipeline, that an instrument watches: those of passes that run are
    /// known by now.
    pub fn watched(&mut self, name: &Written<String>) -> Vec<String> {
        if let Some(present) = self.sequence(&name.value) {
            return present.into_iter().collect();
        }
        match self.find(&name.value) {
            Ok(facts) => return vec![facts.name.clone()],
            Err(None | Some(NoPass::Unknown(_))) if self.sequence_of_short_name(&name.value).is_some() => {
                return self.sequence_of_short_name(&name.value).flatten().into_iter().collect();
            }
            Err(None) => return Vec::new(),
            Err(Some(NoPass::Unknown(_))) => {}
            Err(Some(why)) => {
                let fault = self.no_pass(&name.value, name.place, &why);
                self.faults.push(fault);
                return Vec::new();
            }
        }
        let full = full_among(self.passes.iter().map(|instance| &*instance.facts), &name.value);
        if full.is_empty() {
            self.named(&name.value, name.place);
        }
        full
    }

    /// A name that is one of a sequence of the pipeline; none within if nothing is in it: an empty extension point does not
    /// exist when the resolved pipeline is read again.
    fn sequence(&self, name: &str) -> Option<Option<String>> {
        let name = name.strip_suffix('?').unwrap_or(name);
        self.sequences.contains(name).then(|| self.is_there(name).then(|| name.to_owned()))
    }

    /// The same for the part of a sequence's name after the last dot, if no other sequence has it.
    fn sequence_of_short_name(&self, name: &str) -> Option<Option<String>> {
        let name = name.strip_suffix('?').unwrap_or(name);
        let mut full = self.sequences.iter().filter(|full| full.rsplit('.').next() == Some(name));
        let only = full.next().filter(|_| full.next().is_none())?;
        self.sequence(only)
    }

    /// Looks up the names of contexts that nothing in the catalogue has among all passes that run.
    pub fn settle(&mut self) {
        let passes: Vec<Arc<PassFacts>> = self.passes.iter().map(|instance| instance.facts.clone()).collect();
        let full = |name: &str| full_among(passes.iter().map(|facts| &**facts), name);
        let inner = self.nodes.iter_mut().filter_map(|node| match node {
            ResolvedStep::Scope { scope, .. } => Some(scope),
            _ => None,
        });
        let missing: BTreeSet<String> =
            self.scopes.iter_mut().chain(inner).flat_map(|scope| scope.settle(full)).collect();
        let mut faults = Vec::new();
        for name in missing {
            let (place, at) = self.unknown_at.get(&name).copied().unwrap_or_default();
            let Err(NoPass::Unknown(mut near)) = self.catalogue.pass(&name) else { continue };
            let own = passes.iter().filter(|facts| facts.origin == PassOwner::Program);
            near.extend(nearest(&name, own.map(|facts| facts.name.as_str())));
            faults.push((at, self.no_pass(&name, place, &NoPass::Unknown(near))));
        }
        faults.sort_by_key(|(at, _)| *at);
        for (at, fault) in faults.into_iter().rev() {
            self.faults.insert(at, fault);
        }
    }

    /// The pass of a name; a fault when there is none, unless the name ends in `?`.
    pub fn named(&mut self, name: &str, place: Option<Place>) -> Option<Arc<PassFacts>> {
        match self.find(name) {
            Ok(facts) => Some(facts),
            Err(None) => None,
            Err(Some(why)) => {
                let fault = self.no_pass(name, place, &why);
                self.faults.push(fault);
                None
            }
        }
    }

    /// The pass of a name; `Err(None)` if it is missing and its name allows this.
    pub fn find(&mut self, name: &str) -> Result<Arc<PassFacts>, Option<NoPass>> {
        let (wanted, may_miss) = match name.strip_suffix('?') {
            Some(wanted) => (wanted, true),
            None => (name, false),
        };
        let found = match self.found.get(wanted) {
            Some(found) => found.clone(),
            None => {
                let found = self.catalogue.pass(wanted);
                self.found.insert(wanted.to_owned(), found.clone());
                found
            }
        };
        found.map_err(|why| match why {
            NoPass::Unknown(_) if may_miss => None,
            why => Some(why),
        })
    }

    /// Returns the fault for a name that does not resolve to a pass.
    pub fn no_pass(&self, name: &str, place: Option<Place>, why: &NoPass) -> PipelineFault {
        match why {
            NoPass::Unknown(near) => {
                let mut near = near.clone();
                near.extend(nearest(name, self.sequences.iter().copied()));
                PipelineFault::new(Code::UnknownName, place, format!("no pass `{}`", shorten(name)))
                    .note("`relais list passes` shows the ones that were found; `--plugin FILE` adds those of a plugin")
                    .nearest(&near)
            }
            NoPass::Ambiguous(several) => {
                let fault = PipelineFault::new(Code::Ambiguous, place, format!("`{name}` can mean several passes"));
                let fault = several.iter().fold(fault, |fault, candidate| fault.note(candidate.to_string()));
                fault.help(Candidate::help(several, name.strip_suffix('?').unwrap_or(name), "passes"))
            }
            NoPass::Conflict(providers) => {
                let message = match &providers[..] {
                    [one, others @ ..] if others.iter().all(|other| other == one) => {
                        return PipelineFault::new(
                            Code::Ambiguous,
                            place,
                            format!("one plugin provides `{name}` twice"),
                        )
                        .note(format!("plugin {one}"))
                        .help("each of its passes needs a name of its own: tell its author");
                    }
                    _ => format!("several plugins provide `{name}`"),
                };
                let fault = PipelineFault::new(Code::Ambiguous, place, message);
                let fault = providers.iter().fold(fault, |fault, plugin| fault.note(format!("plugin {plugin}")));
                let choice = match one_of_versions(providers) {
                    Some((plugin, version)) => format!("{plugin} = \"={version}\""),
                    None => format!("{} = {{ passes = [\"{name}\"] }}", first_of(providers)),
                };
                fault.help(format!("choose one in a pipeline file, in the table `[plugins]`: `{choice}`"))
            }
            NoPass::Refused { plugin, reason } => PipelineFault::new(
                Code::Refused,
                place,
                format!("plugin `{plugin}`, which provides `{name}`, was refused"),
            )
            .note(reason.clone()),
        }
    }

    /// The pass with those options: the same one for the same options.
    pub fn instance(&mut self, facts: Arc<PassFacts>, options: &[SpecEntry], place: Option<Place>) -> usize {
        let settings = self.settings.get(&facts.name).map(Vec::as_slice).unwrap_or_default();
        let entries = match settings {
            [] => options.to_vec(),
            settings => settings.iter().fold(options.to_vec(), overlay),
        };
        let options = check_options(&facts.options, &entries, &facts.name, place, self.paths(), &mut self.faults);
        self.add_instance(facts, options, OnceLock::new(), place)
    }

    /// The instance of a required pass. `dependent` is the pass that requires it, whose record states the options.
    pub fn required_instance(
        &mut self,
        facts: Arc<PassFacts>,
        options: &[SpecEntry],
        place: Option<Place>,
        dependent: Option<&str>,
    ) -> usize {
        let n_faults = self.faults.len();
        let name = facts.name.clone();
        let instance = self.instance(facts, options, place);
        // A mandatory option is reported as a requirement's, once, when requirements are checked.
        let faults = self.faults.split_off(n_faults).into_iter().filter(|fault| fault.code != Code::Missing);
        let noted = faults.map(|fault| match dependent {
            Some(dependent) => fault.note(format!("`{dependent}` requires `{name}` with this option")),
            None => fault,
        });
        self.faults.extend(noted.collect::<Vec<_>>());
        instance
    }

    /// A pass that a sequence holds: the same one as any other that is the same pass with the same options.
    pub fn hold(&mut self, held: &HeldPass, place: Option<Place>) -> usize {
        self.add_instance(held.facts.clone(), held.options.clone(), OnceLock::from(held.pass.clone()), place)
    }

    fn add_instance(
        &mut self,
        facts: Arc<PassFacts>,
        options: Value,
        made: OnceLock<Arc<dyn RunnablePass>>,
        place: Option<Place>,
    ) -> usize {
        let key = (facts.name.clone(), facts.plugin.clone(), options.to_string());
        let same = self.by_options.entry(key).or_default();
        if let Some(&known) = same.iter().find(|&&known| self.passes[known].facts.is_same(&facts)) {
            return known;
        }
        same.push(self.passes.len());
        self.passes.push(PassInstance { facts, options, required: Vec::new(), members: None, made });
        self.places.push(place);
        self.passes.len() - 1
    }

    /// Adds a step that runs a pass.
    pub fn add_step(&mut self, pass: usize, opt_level: u8) -> usize {
        self.nodes.push(ResolvedStep::Pass { pass, opt_level });
        self.nodes.len() - 1
    }

    pub fn make(&mut self) {
        for at in 0..self.passes.len() {
            self.make_one(at);
        }
    }

    pub fn make_one(&mut self, at: usize) -> Option<Arc<dyn RunnablePass>> {
        let instance = &self.passes[at];
        if let Some(made) = instance.made.get() {
            return Some(made.clone());
        }
        match self.catalogue.create(&instance.facts, &instance.options) {
            Ok(pass) => Some(instance.made.get_or_init(|| pass).clone()),
            Err(error) => {
                let PassFacts { name, plugin, plugin_version, .. } = &*instance.facts;
                let fault = PipelineFault::new(
                    Code::Create,
                    self.places[at],
                    format!("`{name}` could not be made: {}", error.rec().message),
                );
                let fault = fault.note(format!("plugin `{plugin}` {plugin_version} provides it"));
                let help = error.rec().help.as_str();
                self.faults.push(if help.is_empty() { fault } else { fault.help(help) });
                None
            }
        }
    }
}

/// The full names of the passes that a name means: several passes of a program may have one name. A full name or an alias
/// means those alone that have it.
fn full_among<'f>(passes: impl Iterator<Item = &'f PassFacts> + Clone, name: &str) -> Vec<String> {
    let named = |is_meant: &dyn Fn(&str) -> bool| -> Vec<String> {
        passes.clone().filter(|facts| facts.names().any(is_meant)).map(|facts| facts.name.clone()).collect()
    };
    match named(&|own| own == name) {
        exact if !exact.is_empty() => exact,
        _ => named(&|own| own.rsplit_once('.').is_some_and(|(_, short)| short == name)),
    }
}

/// The name and a version of the plugin that several descriptions of the form `NAME VERSION` refer to.
fn one_of_versions(plugins: &[String]) -> Option<(&str, &str)> {
    let mut described = plugins.iter().map(|plugin| described(plugin)).collect::<Option<Vec<_>>>()?;
    let (name, version) = described.pop()?;
    described.iter().all(|(other, _)| *other == name).then_some((name, version))
}
