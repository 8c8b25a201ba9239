//! Resolves every name of a pipeline, and finds all its faults, before anything runs.

use super::{
    extend,
    fault::{Code, Fault, Faults, Place},
    requirements,
    resolved::*,
    schema::{check_options, mandatory, shorten},
    settings::overlay,
    spec::*,
    watchers,
};
use crate::{
    pass::{
        Candidate, Catalogue, ConfigFacts, Dependencies, HeldPass, Member, NoPass, OperatorName, PassFacts,
        RunnablePass, Scope,
    },
    words::nearest,
};
use relais_plugin_api::{
    boundary::record::{Level, Phase},
    options::Value,
};
use semver::Version;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

/// The most passes of a pipeline: sequential passes that name new ones without end are stopped here.
const MAX_PASSES: usize = 100_000;

impl PipelineSpec {
    /// Resolves every name, and makes the passes.
    ///
    /// # Errors
    /// Returns an error if something is wrong; all that is wrong is reported.
    pub fn resolve(&self, catalogue: &dyn Catalogue) -> Result<Pipeline, Faults> {
        self.resolve_after(Vec::new(), catalogue)
    }

    /// Resolves every name, and makes no pass: no plugin is opened. Members of sequential passes remain unknown.
    ///
    /// # Errors
    /// Returns an error if something is wrong; all that is wrong is reported.
    pub(crate) fn outline(&self, catalogue: &dyn Catalogue) -> Result<Outline, Faults> {
        let mut resolver = Resolver::new(self, catalogue);
        resolver.makes = Makes::Nothing;
        let pipeline = resolver.pipeline();
        if !resolver.faults.is_empty() {
            return Err(Faults { list: resolver.faults, sources: self.sources.clone() });
        }
        let found = resolver.found.values().flatten();
        let plugins = found.map(|facts| (facts.plugin.clone(), facts.plugin_version.clone())).collect();
        let config = resolver.scopes.iter().flat_map(|scope| scope.config.keys().cloned()).collect();
        Ok(Outline { pipeline, plugins, config, named: self.sources.plugin_pipelines() })
    }

    /// The same for a pipeline that was parsed in part: also reports errors in its names. If missing parts may contain
    /// names that are used elsewhere, names are not checked.
    ///
    /// # Errors
    /// Returns an error if something is wrong; all that is wrong is reported.
    pub fn resolve_after(&self, before: Vec<Fault>, catalogue: &dyn Catalogue) -> Result<Pipeline, Faults> {
        let is_torn = |code| matches!(code, Code::Syntax | Code::Limit | Code::Include | Code::IncludeCycle);
        if before.iter().any(|fault| is_torn(fault.code)) {
            return Err(Faults { list: before, sources: self.sources.clone() });
        }
        let mut resolver = Resolver::new(self, catalogue);
        let pipeline = resolver.pipeline();
        let mut faults: Vec<Fault> = Vec::new();
        let mut told = BTreeSet::new();
        for fault in before.into_iter().chain(resolver.faults) {
            // One name may be looked up for several reasons.
            let place = fault.place.map(|place| (place.source, place.span().start));
            if told.insert((fault.code, place, fault.message.clone())) {
                faults.push(fault);
            }
        }
        match faults.is_empty() {
            true => Ok(pipeline),
            false => Err(Faults { list: faults, sources: self.sources.clone() }),
        }
    }
}

/// A pipeline whose passes have not been made.
pub(crate) struct Outline {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// The plugins of all passes that were looked up.
    pub plugins: BTreeSet<(String, Version)>,
    /// The options of contexts that are set.
    pub config: BTreeSet<String>,
    /// The pipelines of plugins that it includes.
    pub named: BTreeSet<String>,
}

/// The name of a sequence without one, by which it is switched.
pub(super) const ANONYMOUS: &str = "sequential";

/// Whether passes are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Makes {
    Passes,
    Nothing,
}

pub(super) struct Resolver<'a> {
    pub spec: &'a PipelineSpec,
    pub catalogue: &'a dyn Catalogue,
    pub faults: Vec<Fault>,
    pub config: Vec<ConfigFacts>,
    /// The names of the pipeline's own sequences.
    sequences: BTreeSet<&'a str>,
    found: BTreeMap<String, Result<Arc<PassFacts>, NoPass>>,
    /// Options set from outside, by full name of the pass.
    pub settings: BTreeMap<String, Vec<Entry>>,
    pub passes: Vec<PassInstance>,
    /// Where each pass was first named.
    pub places: Vec<Option<Place>>,
    /// The passes of a name, a plugin and options: several, if a sequence holds different ones.
    pub by_options: BTreeMap<(String, String, String), Vec<usize>>,
    pub nodes: Vec<Step>,
    /// Every context, the outermost first, with the places of its disabled names.
    pub scopes: Vec<Scope>,
    pub disabled_at: BTreeMap<String, Option<Place>>,
    /// The passes that plugins add, by extension point.
    pub additions: BTreeMap<String, Vec<Arc<PassFacts>>>,
    /// Those that are on.
    pub added: Vec<Addition>,
    pub origins: BTreeMap<usize, String>,
    pub warnings: Vec<String>,
    /// Whether the first pass is called by itself: its requirements do not count (rule R3).
    pub is_called: bool,
    makes: Makes,
}

impl<'a> Resolver<'a> {
    pub fn new(spec: &'a PipelineSpec, catalogue: &'a dyn Catalogue) -> Self {
        let sequence = |node: &'a Written<StepSpec>| match &node.value {
            StepSpec::Sequence { name, .. } => Some(name.as_ref().map_or(ANONYMOUS, |name| &name.value)),
            StepSpec::Levels(_) => Some(ANONYMOUS),
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
            scopes: Vec::new(),
            disabled_at: BTreeMap::new(),
            additions: BTreeMap::new(),
            added: Vec::new(),
            origins: spec.origins.clone(),
            warnings: Vec::new(),
            is_called: false,
            makes: Makes::Passes,
        }
    }

    fn pipeline(&mut self) -> Pipeline {
        let spec = self.spec;
        (self.additions, self.warnings) = extend::additions(self);
        let plugins = self.plugins();
        let set = self.settings();
        let config = [spec.scope.config.clone(), set].concat();
        let scope = self.scope(&ScopeSpec { config, ..spec.scope.clone() }, &Scope::default());
        self.scopes.push(scope);
        let steps_of = self.steps();
        self.expand();
        let dependencies = spec.run.dependencies.unwrap_or_default();
        if dependencies != Dependencies::Assumed {
            requirements::check(self, &steps_of, dependencies);
        }
        if self.faults.is_empty() && self.makes == Makes::Passes {
            self.make();
        }
        self.unused_settings();
        Pipeline {
            name: spec.name.clone(),
            run: RunSettings {
                dependencies,
                on_failure: spec.run.on_failure.unwrap_or_default(),
                verify: spec.run.verify,
                instruments: watchers::resolve(self, &spec.run.instruments),
                plugins,
            },
            scope: self.scopes[0].clone(),
            steps: self.present(&spec.steps),
            nodes: std::mem::take(&mut self.nodes),
            passes: std::mem::take(&mut self.passes),
            origins: std::mem::take(&mut self.origins),
            additions: std::mem::take(&mut self.added),
            warnings: std::mem::take(&mut self.warnings),
        }
    }

    fn plugins(&mut self) -> Vec<Demand> {
        let known = self.catalogue.plugins();
        let mut demands = Vec::new();
        for demand in &self.spec.run.plugins {
            let name = &demand.name.value;
            let same_name: Vec<_> = known.iter().filter(|plugin| plugin.name == *name).collect();
            match same_name.iter().find(|plugin| plugin.refusal.is_none()).or(same_name.first()) {
                None => {
                    let fault = Fault::new(Code::Plugin, demand.name.place, format!("there is no plugin `{name}`"));
                    let near = nearest(name, known.iter().map(|plugin| plugin.name.as_str()));
                    self.faults.push(fault.note("`relais list plugins` shows the ones that were found").nearest(&near));
                }
                Some(plugin) => {
                    if let Some(reason) = &plugin.refusal {
                        let fault =
                            Fault::new(Code::Refused, demand.name.place, format!("plugin `{name}` was refused"));
                        self.faults.push(fault.note(reason.clone()).note(format!("its file is `{}`", plugin.file)));
                    } else if !demand.version.value.matches(&plugin.version) {
                        let message = format!("plugin `{name}` has version {}", plugin.version);
                        let fault = Fault::new(Code::Plugin, demand.version.place, message);
                        let label = format!("this demands {}", demand.version.value);
                        self.faults.push(fault.label(label).note(format!("its file is `{}`", plugin.file)));
                    }
                }
            }
            demands.push(Demand {
                name: name.clone(),
                version: demand.version.value.clone(),
                passes: demand.passes.iter().map(|pass| pass.value.clone()).collect(),
                operators: demand.operators.iter().map(|op| op.value.clone()).collect(),
                pipelines: demand.pipelines.iter().map(|pipeline| pipeline.value.clone()).collect(),
            });
            if same_name.is_empty() {
                continue;
            }
            let Some(described) = self.catalogue.operators_of(name) else { continue };
            for op in &demand.operators {
                let full = OperatorName::parse(&op.value);
                if !described.contains(&full) {
                    let message = format!("plugin `{name}` neither describes nor evaluates operator `{full}`");
                    let known: Vec<String> = described.iter().map(OperatorName::to_string).collect();
                    let near = nearest(&op.value, known.iter().map(String::as_str));
                    self.faults.push(Fault::new(Code::Plugin, op.place, message).nearest(&near));
                }
                let first = demands.iter().find(|demand: &&Demand| {
                    demand.name != *name && demand.operators.iter().any(|other| OperatorName::parse(other) == full)
                });
                if let Some(first) = first {
                    let message = format!("operator `{full}` is taken from `{}` already", first.name);
                    self.faults.push(Fault::new(Code::Plugin, op.place, message).help("name it for one plugin"));
                }
            }
        }
        for demand in &self.spec.run.plugins {
            for pass in &demand.passes {
                let Some(facts) = self.named(&pass.value, pass.place) else { continue };
                if facts.plugin != demand.name.value && known.iter().any(|plugin| plugin.name == demand.name.value) {
                    let message = format!("plugin `{}` does not provide pass `{}`", demand.name.value, pass.value);
                    let fault = Fault::new(Code::Plugin, pass.place, message);
                    let note = format!("`{}` is provided by plugin `{}`", facts.name, facts.plugin);
                    self.faults.push(fault.note(note).help("name a pass that the plugin provides"));
                }
            }
        }
        demands
    }

    /// Returns the settings of a context on top of those of the enclosing one.
    fn scope(&mut self, spec: &ScopeSpec, around: &Scope) -> Scope {
        let mut scope = around.clone();
        scope.opt_level = spec.opt_level.unwrap_or(around.opt_level);
        for name in &spec.required {
            scope.required.extend(self.switch(name));
        }
        for name in &spec.disabled {
            if let Some(full) = self.switch(name) {
                self.disabled_at.entry(full.clone()).or_insert(name.place);
                scope.disabled.insert(full);
            }
        }
        let around = Value::Struct(std::mem::take(&mut scope.config).into_iter().collect());
        scope.config = self.config_values(&[entries_of(around), spec.config.clone()].concat());
        scope
    }

    /// The full name of a disabled or required pass, or of a sequence of the pipeline.
    pub fn switch(&mut self, name: &Written<String>) -> Option<String> {
        if self.sequences.contains(name.value.as_str()) {
            // An empty extension point does not exist when the resolved pipeline is read again.
            return self.is_there(&name.value).then(|| name.value.clone());
        }
        self.named(&name.value, name.place).map(|facts| facts.name.clone())
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
    pub fn no_pass(&self, name: &str, place: Option<Place>, why: &NoPass) -> Fault {
        match why {
            NoPass::Unknown(near) => {
                let mut near = near.clone();
                near.extend(nearest(name, self.sequences.iter().copied()));
                Fault::new(Code::UnknownName, place, format!("no pass `{}`", shorten(name)))
                    .note("`relais list passes` shows the ones that were found")
                    .nearest(&near)
            }
            NoPass::Ambiguous(several) => {
                let fault = Fault::new(Code::Ambiguous, place, format!("`{name}` can mean several passes"));
                let fault = several.iter().fold(fault, |fault, candidate| fault.note(candidate.to_string()));
                fault.help(Candidate::help(several, name.strip_suffix('?').unwrap_or(name), "passes"))
            }
            NoPass::Conflict(providers) => {
                let message = match &providers[..] {
                    [one, others @ ..] if others.iter().all(|other| other == one) => {
                        return Fault::new(Code::Ambiguous, place, format!("one plugin provides `{name}` twice"))
                            .note(format!("plugin {one}"))
                            .help("each of its passes needs a name of its own: tell its author");
                    }
                    _ => format!("several plugins provide `{name}`"),
                };
                let fault = Fault::new(Code::Ambiguous, place, message);
                let fault = providers.iter().fold(fault, |fault, plugin| fault.note(format!("plugin {plugin}")));
                let choice = match one_of_versions(providers) {
                    Some((plugin, version)) => format!("{plugin} = \"={version}\""),
                    None => format!("NAME = {{ passes = [\"{name}\"] }}"),
                };
                fault.help(format!("choose one in the table `[plugins]`: `{choice}`"))
            }
            NoPass::Refused { plugin, reason } => {
                Fault::new(Code::Refused, place, format!("plugin `{plugin}`, which provides `{name}`, was refused"))
                    .note(reason.clone())
            }
        }
    }

    /// Resolves every step, outside in. Returns, for each context, the passes that are on in it.
    fn steps(&mut self) -> Vec<BTreeSet<usize>> {
        let spec = self.spec;
        let nothing = || Step::Sequence { name: String::new(), opt_level: 0, steps: Vec::new() };
        self.nodes = spec.nodes.iter().map(|_| nothing()).collect();
        let mut enabled: Vec<BTreeSet<usize>> = vec![BTreeSet::new()];
        let mut todo: Vec<(usize, usize, bool)> = spec.steps.iter().rev().map(|&step| (step, 0, true)).collect();
        while let Some((node, scope, is_on)) = todo.pop() {
            let written = &spec.nodes[node];
            let (step, steps, scope, is_on) = match &written.value {
                StepSpec::Pass { name, options } => {
                    let Some(facts) = self.named(&name.value, name.place) else { continue };
                    let pass = self.instance(facts, options, name.place);
                    if is_on && self.enables(scope, pass) {
                        enabled[scope].insert(pass);
                    }
                    self.nodes[node] = Step::Pass(pass);
                    continue;
                }
                StepSpec::Levels(set) => {
                    let steps = self.levels(*set, scope, written.place);
                    let is_on = is_on && self.scopes[scope].enables(ANONYMOUS, 0);
                    for &step in &steps {
                        if let (true, Step::Pass(pass)) = (is_on, &self.nodes[step]) {
                            let pass = *pass;
                            if self.enables(scope, pass) {
                                enabled[scope].insert(pass);
                            }
                        }
                    }
                    self.nodes[node] = Step::Sequence { name: ANONYMOUS.into(), opt_level: 0, steps };
                    continue;
                }
                StepSpec::Sequence { name, opt_level, steps } => {
                    let name = name.as_ref().map_or(ANONYMOUS, |name| &name.value).to_owned();
                    let is_on = is_on && self.scopes[scope].enables(&name, *opt_level);
                    let present = self.present(steps);
                    (Step::Sequence { name, opt_level: *opt_level, steps: present }, steps, scope, is_on)
                }
                StepSpec::Fixpoint { steps, max_rounds } => {
                    let present = self.present(steps);
                    (Step::Fixpoint { steps: present, max_rounds: *max_rounds }, steps, scope, is_on)
                }
                StepSpec::Scope { scope: inner, steps } => {
                    let around = self.scopes[scope].clone();
                    let inner = self.scope(inner, &around);
                    self.scopes.push(inner.clone());
                    enabled.push(BTreeSet::new());
                    let present = self.present(steps);
                    (Step::Scope { scope: inner, steps: present }, steps, self.scopes.len() - 1, is_on)
                }
                StepSpec::Extension { point, added, then } => {
                    let is_on = is_on && self.scopes[scope].enables(&point.value, 0);
                    let mut steps = Vec::new();
                    for (step, pass) in self.add(point) {
                        steps.push(step);
                        if is_on && self.enables(scope, pass) {
                            enabled[scope].insert(pass);
                            self.say_added(point, pass);
                        }
                    }
                    let written = added.iter().chain(then);
                    steps.extend(self.present(&written.clone().copied().collect::<Vec<_>>()));
                    self.nodes[node] = Step::Sequence { name: point.value.clone(), opt_level: 0, steps };
                    todo.extend(written.rev().map(|&step| (step, scope, is_on)));
                    continue;
                }
                StepSpec::When { operators, steps } => {
                    let operators = operators.iter().map(|name| OperatorName::parse(&name.value)).collect();
                    (Step::When { operators, steps: self.present(steps) }, steps, scope, is_on)
                }
            };
            self.nodes[node] = step;
            todo.extend(steps.iter().rev().map(|&step| (step, scope, is_on)));
        }
        enabled
    }

    fn enables(&self, scope: usize, pass: usize) -> bool {
        let facts = &self.passes[pass].facts;
        self.scopes[scope].enables(&facts.name, facts.opt_level)
    }

    /// The passes of some levels, except disabled ones and those that cannot be made without options.
    fn levels(&mut self, set: LevelSet, scope: usize, place: Option<Place>) -> Vec<usize> {
        let mut steps = Vec::new();
        let mut names = BTreeSet::new();
        let mut wanted = Vec::new();
        for facts in self.catalogue.passes() {
            let is_wanted = set.contains(facts.opt_level) && !self.scopes[scope].disabled.contains(&facts.name);
            let is_left_out = facts.phase == Phase::NONE || !mandatory(&facts.options).is_empty();
            if !is_wanted || is_left_out || !names.insert(facts.name.clone()) {
                continue;
            }
            // The same name from two plugins is a conflict here as anywhere.
            wanted.extend(self.named(&facts.name.clone(), place));
        }
        wanted.sort_by(|a, b| (a.phase, &a.name).cmp(&(b.phase, &b.name)));
        for facts in self.requirements_first(wanted) {
            let pass = self.instance(facts, &[], place);
            self.nodes.push(Step::Pass(pass));
            steps.push(self.nodes.len() - 1);
        }
        steps
    }

    /// The same passes, each after those of them that it requires. Passes that require each other stay as they are: the
    /// cycle is reported when requirements are followed.
    fn requirements_first(&mut self, passes: Vec<Arc<PassFacts>>) -> Vec<Arc<PassFacts>> {
        let at: BTreeMap<String, usize> =
            passes.iter().enumerate().map(|(at, facts)| (facts.name.clone(), at)).collect();
        let required: Vec<Vec<usize>> = passes
            .iter()
            .map(|facts| {
                let found = facts.required.iter().filter_map(|name| self.find(name).ok());
                found.filter_map(|facts| at.get(&facts.name).copied()).collect()
            })
            .collect();
        let mut is_met = vec![false; passes.len()];
        let mut order = Vec::with_capacity(passes.len());
        for start in 0..passes.len() {
            let mut todo = vec![(start, 0)];
            while let Some((pass, next)) = todo.pop() {
                if next == 0 && std::mem::replace(&mut is_met[pass], true) {
                    continue;
                }
                match required[pass].get(next) {
                    Some(&requirement) => todo.extend([(pass, next + 1), (requirement, 0)]),
                    None => order.push(passes[pass].clone()),
                }
            }
        }
        order
    }

    /// The pass with those options: the same one for the same options.
    pub fn instance(&mut self, facts: Arc<PassFacts>, options: &[Entry], place: Option<Place>) -> usize {
        let settings = self.settings.get(&facts.name).map(Vec::as_slice).unwrap_or_default();
        let entries = match settings {
            [] => options.to_vec(),
            settings => settings.iter().fold(options.to_vec(), overlay),
        };
        let options = check_options(&facts.options, &entries, &facts.name, place, &mut self.faults);
        self.add_instance(facts, options, OnceLock::new(), place)
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

    /// Finds the requirements of passes and the members of sequential passes, until nothing new is found.
    pub fn expand(&mut self) {
        let mut at = 0;
        while at < self.passes.len() {
            if self.passes.len() > MAX_PASSES {
                let fault =
                    Fault::new(Code::Limit, self.places[at], format!("the pipeline needs over {MAX_PASSES} passes"));
                self.faults.push(fault.help("a sequential pass may name new passes without end"));
                return;
            }
            if self.spec.run.dependencies != Some(Dependencies::Assumed) {
                requirements::of(self, at);
            }
            if self.passes[at].facts.level == Level::SEQUENTIAL && self.makes == Makes::Passes {
                self.members(at);
            }
            at += 1;
        }
    }

    fn members(&mut self, at: usize) {
        let Some(pass) = self.make_one(at) else { return };
        let place = self.places[at];
        let members = match pass.members() {
            Ok(members) => members,
            Err(error) => {
                let message = format!("`{}` cannot say what it consists of: {error}", self.passes[at].facts.name);
                self.faults.push(Fault::new(Code::Create, place, message));
                return;
            }
        };
        let mut steps = Vec::with_capacity(members.len());
        for member in members {
            let (name, options) = match member {
                Member::Named(name, options) => (name, options),
                Member::Held(held) => {
                    let pass = self.hold(&held, place);
                    self.nodes.push(Step::Pass(pass));
                    steps.push(self.nodes.len() - 1);
                    continue;
                }
            };
            let facts = match self.find(&name) {
                Ok(facts) => facts,
                Err(None) => continue,
                Err(Some(why)) => {
                    let owner = format!("`{}` consists of `{name}`, among others", self.passes[at].facts.name);
                    let fault = self.no_pass(&name, place, &why).note(owner);
                    self.faults.push(fault);
                    continue;
                }
            };
            let pass = self.instance(facts, &entries_of(options), place);
            self.nodes.push(Step::Pass(pass));
            steps.push(self.nodes.len() - 1);
        }
        self.passes[at].members = Some(steps);
    }

    pub fn make(&mut self) {
        for at in 0..self.passes.len() {
            self.make_one(at);
        }
    }

    fn make_one(&mut self, at: usize) -> Option<Arc<dyn RunnablePass>> {
        let instance = &self.passes[at];
        if let Some(made) = instance.made.get() {
            return Some(made.clone());
        }
        match self.catalogue.create(&instance.facts, &instance.options) {
            Ok(pass) => Some(instance.made.get_or_init(|| pass).clone()),
            Err(error) => {
                let PassFacts { name, plugin, plugin_version, .. } = &*instance.facts;
                let fault = Fault::new(
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

/// The name and a version of the plugin that several descriptions of the form `NAME VERSION` refer to.
fn one_of_versions(plugins: &[String]) -> Option<(&str, &str)> {
    let mut described = plugins
        .iter()
        .map(|plugin| plugin.strip_prefix('`')?.split_once('`')?.0.split_once(' '))
        .collect::<Option<Vec<_>>>()?;
    let (name, version) = described.pop()?;
    described.iter().all(|(other, _)| *other == name).then_some((name, version))
}
