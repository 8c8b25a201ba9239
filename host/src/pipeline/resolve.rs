//! Resolves every name of a pipeline, and finds all its faults, before anything runs.

use super::{
    additions,
    fault::{Code, Faults, PipelineFault, Place},
    requirements,
    resolved::*,
    resolver::{ANONYMOUS, Makes, RequiringSequence, Resolver},
    schema::{mandatory, shorten},
    spec::*,
    watchers,
};
use crate::{
    pass::{Catalogue, Dependencies, Member, NoPass, OperatorName, PassFacts, Scope},
    words::{and_list, nearest},
};
use relais_plugin_api::{
    boundary::record::{Level, Phase},
    options::Value,
};
use semver::Version;
use std::{
    collections::{BTreeMap, BTreeSet},
    slice,
    sync::Arc,
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

    /// A context alone: names of passes that are unknown are kept, to be looked up when something runs in it.
    ///
    /// # Errors
    /// Returns an error if something else is wrong; all that is wrong is reported.
    pub(crate) fn context(&self, catalogue: &dyn Catalogue) -> Result<Pipeline, Faults> {
        let mut resolver = Resolver::new(self, catalogue);
        resolver.is_context = true;
        let pipeline = resolver.pipeline();
        match resolver.faults.is_empty() {
            true => Ok(pipeline),
            false => Err(Faults { list: resolver.faults, sources: self.sources.clone() }),
        }
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
    pub fn resolve_after(&self, before: Vec<PipelineFault>, catalogue: &dyn Catalogue) -> Result<Pipeline, Faults> {
        let is_torn = |code| matches!(code, Code::Syntax | Code::Limit | Code::Include | Code::IncludeCycle);
        if before.iter().any(|fault| is_torn(fault.code)) {
            return Err(Faults { list: before, sources: self.sources.clone() });
        }
        let mut resolver = Resolver::new(self, catalogue);
        let pipeline = resolver.pipeline();
        let mut faults: Vec<PipelineFault> = Vec::new();
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

impl<'a> Resolver<'a> {
    fn pipeline(&mut self) -> Pipeline {
        let spec = self.spec;
        (self.additions, self.warnings) = additions::additions(self);
        let plugins = self.plugins();
        let set = self.settings();
        let around = Scope { config: spec.around.clone(), ..Scope::default() };
        let scope = self.scope(&spec.scope, &around, &set);
        self.scopes.push(scope);
        let steps_of = self.steps();
        self.expand();
        if !self.is_context {
            self.settle();
        }
        let dependencies = spec.run.dependencies.unwrap_or_default();
        if dependencies != Dependencies::Assumed {
            requirements::check(self, &steps_of, dependencies);
        }
        if self.faults.is_empty() && self.makes == Makes::Passes {
            self.make();
        }
        self.warn_of_idle_members();
        self.unused_settings();
        for (node, written) in spec.nodes.iter().enumerate() {
            let StepSpec::Scope { instruments: Some(used), .. } = &written.value else { continue };
            let found = watchers::resolve(self, used);
            if let ResolvedStep::Scope { instruments, .. } = &mut self.nodes[node] {
                *instruments = Some(found);
            }
        }
        Pipeline {
            name: spec.name.clone(),
            run: RunSettings {
                dependencies,
                on_failure: spec.run.on_failure.unwrap_or_default(),
                verify: spec.run.verify,
                instruments: watchers::resolve(self, &spec.run.instruments),
                plugins,
                target: spec.run.target.as_ref().map_or_else(String::new, |target| target.value.clone()),
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
                    let fault =
                        PipelineFault::new(Code::Plugin, demand.name.place, format!("there is no plugin `{name}`"));
                    let near = nearest(name, known.iter().map(|plugin| plugin.name.as_str()));
                    self.faults.push(
                        fault
                            .note("`relais list plugins` shows the ones that were found; `--plugin FILE` adds one")
                            .nearest(&near),
                    );
                }
                Some(plugin) => {
                    if let Some(reason) = &plugin.refusal {
                        let fault = PipelineFault::new(
                            Code::Refused,
                            demand.name.place,
                            format!("plugin `{name}` was refused"),
                        );
                        self.faults.push(fault.note(reason.clone()).note(format!("its file is `{}`", plugin.file)));
                    } else if !demand.version.value.matches(&plugin.version) {
                        let message = format!("plugin `{name}` has version {}", plugin.version);
                        let fault = PipelineFault::new(Code::Plugin, demand.version.place, message);
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
                analyses: demand.analyses.iter().map(|analysis| analysis.value.clone()).collect(),
                isolate: demand.isolate.clone(),
            });
            if same_name.is_empty() {
                continue;
            }
            let Some(described) = self.catalogue.operators_of(name) else { continue };
            for op in &demand.operators {
                let full = OperatorName::parse(&op.value);
                if !described.contains(&full) {
                    let message =
                        format!("plugin `{name}` neither describes nor evaluates operator `{full}`, nor adds to it");
                    let known: Vec<String> = described.iter().map(OperatorName::to_string).collect();
                    let near = nearest(&op.value, known.iter().map(String::as_str));
                    self.faults.push(PipelineFault::new(Code::Plugin, op.place, message).nearest(&near));
                }
                let first = demands.iter().find(|demand: &&Demand| {
                    demand.name != *name && demand.operators.iter().any(|other| OperatorName::parse(other) == full)
                });
                if let Some(first) = first {
                    let message = format!("operator `{full}` is taken from `{}` already", first.name);
                    self.faults
                        .push(PipelineFault::new(Code::Plugin, op.place, message).help("name it for one plugin"));
                }
            }
        }
        for demand in &self.spec.run.plugins {
            for pass in &demand.passes {
                let Some(facts) = self.named(&pass.value, pass.place) else { continue };
                if facts.plugin != demand.name.value && known.iter().any(|plugin| plugin.name == demand.name.value) {
                    let message = format!("plugin `{}` does not provide pass `{}`", demand.name.value, pass.value);
                    let fault = PipelineFault::new(Code::Plugin, pass.place, message);
                    let note = format!("`{}` is provided by plugin `{}`", facts.name, facts.plugin);
                    self.faults.push(fault.note(note).help("name a pass that the plugin provides"));
                }
            }
        }
        demands
    }

    /// Returns the settings of a context on top of those of the enclosing one, with options that are set from outside.
    fn scope(&mut self, spec: &ScopeSpec, around: &Scope, set: &[SpecEntry]) -> Scope {
        let mut scope = around.clone();
        scope.opt_level = spec.opt_level.unwrap_or(around.opt_level);
        for name in &spec.required {
            let full = self.switch(name, &mut scope);
            scope.required.extend(full);
        }
        for name in &spec.disabled {
            if let Some(full) = self.switch(name, &mut scope) {
                self.disabled_at.entry(full.clone()).or_insert(name.place);
                scope.disabled.insert(full);
            }
        }
        let around = entries_of(Value::Struct(std::mem::take(&mut scope.config).into_iter().collect()));
        let tables = [&around[..], &spec.config].into_iter().chain(set.iter().map(slice::from_ref));
        scope.config = self.config_values(tables);
        scope
    }

    /// Resolves every step, outside in. Returns, for each context, the passes that are on in it.
    fn steps(&mut self) -> Vec<BTreeSet<usize>> {
        let spec = self.spec;
        let nothing =
            || ResolvedStep::Sequence { name: String::new(), opt_level: 0, required: Vec::new(), steps: Vec::new() };
        self.nodes = spec.nodes.iter().map(|_| nothing()).collect();
        let mut enabled: Vec<BTreeSet<usize>> = vec![BTreeSet::new()];
        let mut todo: Vec<(usize, usize, bool)> = spec.steps.iter().rev().map(|&step| (step, 0, true)).collect();
        while let Some((node, scope, is_on)) = todo.pop() {
            let written = &spec.nodes[node];
            let (step, steps, scope, is_on) = match &written.value {
                StepSpec::Pass { name, options, opt_level } => {
                    let Some(facts) = self.named(&name.value, name.place) else { continue };
                    let is_turned_on = opt_level.is_some();
                    let opt_level = opt_level.unwrap_or(facts.opt_level);
                    let is_on = is_on && self.scopes[scope].enables(&facts.name, opt_level);
                    let pass = self.instance(facts, options, name.place);
                    if is_on {
                        enabled[scope].insert(pass);
                        self.turned_on.extend(is_turned_on.then_some((scope, pass)));
                    }
                    self.nodes[node] = ResolvedStep::Pass { pass, opt_level };
                    continue;
                }
                StepSpec::Levels { set, runtime } => {
                    let steps = self.levels(*set, runtime.as_ref(), scope, written.place);
                    let is_on = is_on && self.scopes[scope].enables(ANONYMOUS, 0);
                    for &step in &steps {
                        if let ResolvedStep::Pass { pass, .. } = self.nodes[step]
                            && is_on
                            && self.enables(scope, pass)
                        {
                            enabled[scope].insert(pass);
                        }
                    }
                    let name = ANONYMOUS.into();
                    self.nodes[node] = ResolvedStep::Sequence { name, opt_level: 0, required: Vec::new(), steps };
                    continue;
                }
                StepSpec::Sequence { name, opt_level, required, steps } => {
                    let name = name.as_ref().map_or(ANONYMOUS, |name| &name.value).to_owned();
                    let is_on = is_on && self.scopes[scope].enables(&name, *opt_level);
                    let required = self.required_by_sequence(&name, is_on, required);
                    if is_on && !required.is_empty() {
                        let (name, required) = (name.clone(), required.clone());
                        self.requiring.push(RequiringSequence { name, place: written.place, scope, required });
                    }
                    let present = self.present(steps);
                    let step = ResolvedStep::Sequence { name, opt_level: *opt_level, required, steps: present };
                    (step, steps, scope, is_on)
                }
                StepSpec::Fixpoint { steps, max_rounds } => {
                    let present = self.present(steps);
                    (ResolvedStep::Fixpoint { steps: present, max_rounds: *max_rounds }, steps, scope, is_on)
                }
                StepSpec::Scope { scope: inner, steps, .. } => {
                    let around = self.scopes[scope].clone();
                    let inner = self.scope(inner, &around, &[]);
                    self.scopes.push(inner.clone());
                    enabled.push(BTreeSet::new());
                    let present = self.present(steps);
                    (
                        ResolvedStep::Scope { scope: inner, instruments: None, steps: present },
                        steps,
                        self.scopes.len() - 1,
                        is_on,
                    )
                }
                StepSpec::Extension { point, added, then } => {
                    let is_on = is_on && self.scopes[scope].enables(&point.value, 0);
                    let of_plugins = self.add(point);
                    for &(_, pass) in &of_plugins {
                        if is_on && self.enables(scope, pass) {
                            enabled[scope].insert(pass);
                            self.say_added(point, pass);
                        }
                    }
                    let written = added.iter().chain(then);
                    let [mut steps, late] = self.first_and_late(added, of_plugins);
                    steps.extend(self.present(added).into_iter().chain(late));
                    steps.extend(self.present(then));
                    let name = point.value.clone();
                    self.nodes[node] = ResolvedStep::Sequence { name, opt_level: 0, required: Vec::new(), steps };
                    todo.extend(written.rev().map(|&step| (step, scope, is_on)));
                    continue;
                }
                StepSpec::When { operators, steps } => {
                    let operators = operators.iter().map(|name| OperatorName::parse(&name.value)).collect();
                    (ResolvedStep::When { operators, steps: self.present(steps) }, steps, scope, is_on)
                }
            };
            self.nodes[node] = step;
            todo.extend(steps.iter().rev().map(|&step| (step, scope, is_on)));
        }
        enabled
    }

    /// The passes that run before a sequence of the pipeline, if it is on: otherwise they may be missing.
    fn required_by_sequence(&mut self, sequence: &str, is_on: bool, requirements: &[RequirementSpec]) -> Vec<usize> {
        let mut required = Vec::with_capacity(requirements.len());
        for RequirementSpec { name, options } in requirements {
            let facts = match self.find(&name.value) {
                Ok(facts) => facts,
                Err(None) => continue,
                Err(Some(NoPass::Unknown(_))) if !is_on => continue,
                Err(Some(why)) => {
                    let mut fault = self.no_pass(&name.value, name.place, &why);
                    if let NoPass::Unknown(_) = why {
                        fault.code = Code::RequirementMissing;
                        fault.message = format!("`{sequence}` requires `{}`, which nothing provides", name.value);
                    }
                    self.faults.push(fault);
                    continue;
                }
            };
            required.push(self.required_instance(facts, options, name.place, None));
        }
        match self.spec.run.dependencies {
            Some(Dependencies::Assumed) => Vec::new(),
            _ => required,
        }
    }

    /// Warns of steps that were turned on and yet do not all that is expected of them: members of the pass are off by their
    /// levels.
    fn warn_of_idle_members(&mut self) {
        for (scope, pass) in std::mem::take(&mut self.turned_on) {
            let PassInstance { facts, members, .. } = &self.passes[pass];
            let scope = &self.scopes[scope];
            let idle = members.iter().flatten().filter_map(|&step| {
                let ResolvedStep::Pass { pass, opt_level } = self.nodes[step] else { return None };
                let name = &self.passes[pass].facts.name;
                let is_idle = !scope.disabled.contains(name) && !scope.enables(name, opt_level);
                is_idle.then_some((name.as_str(), opt_level))
            });
            let idle: BTreeMap<&str, u8> = idle.collect();
            if let Some(level) = idle.values().max() {
                let names = and_list(&idle.keys().copied().collect::<Vec<_>>());
                let warning = format!("at level {}, `{}` runs without {names}", scope.opt_level, facts.name);
                let (they, are) = if idle.len() == 1 { ("it", "is") } else { ("they", "are") };
                let warning = format!("{warning}: {they} {are} on from level {level} on");
                if !self.warnings.contains(&warning) {
                    self.warnings.push(warning);
                }
            }
        }
    }

    fn enables(&self, scope: usize, pass: usize) -> bool {
        let facts = &self.passes[pass].facts;
        self.scopes[scope].enables(&facts.name, facts.opt_level)
    }

    /// The passes of some levels, except disabled ones, those that cannot be made without options, and those for a runtime
    /// that is not named or for another target.
    fn levels(
        &mut self,
        set: LevelSet,
        runtime: Option<&Written<String>>,
        scope: usize,
        place: Option<Place>,
    ) -> Vec<usize> {
        self.check_runtime(runtime);
        let mut steps = Vec::new();
        let mut names = BTreeSet::new();
        let mut wanted = Vec::new();
        for facts in self.catalogue.passes() {
            let is_wanted = set.contains(facts.opt_level) && !self.scopes[scope].disabled.contains(&facts.name);
            let is_for_another = !facts.runtime.is_empty() && runtime.is_none_or(|named| named.value != facts.runtime);
            let is_for_another = is_for_another || self.is_for_another_target(&facts);
            let is_left_out = facts.phase == Phase::NONE || !mandatory(&facts.options).is_empty() || is_for_another;
            if !is_wanted || is_left_out || !names.insert(facts.name.clone()) {
                continue;
            }
            // The same name from two plugins is a conflict here as anywhere.
            wanted.extend(self.named(&facts.name.clone(), place));
        }
        let scope = &self.scopes[scope];
        let off = wanted.iter().filter(|facts| !scope.enables(&facts.name, facts.opt_level));
        if let Some(highest) = off.map(|facts| facts.opt_level).max() {
            let level = scope.opt_level;
            let warning = format!(
                "passes of level {highest} are named by a set of levels and off at level {level}: `opt_level = {highest}` \
                 turns them on"
            );
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        wanted.sort_by(|a, b| (a.phase, &a.name).cmp(&(b.phase, &b.name)));
        for facts in self.requirements_first(wanted) {
            let opt_level = facts.opt_level;
            let pass = self.instance(facts, &[], place);
            steps.push(self.add_step(pass, opt_level));
        }
        steps
    }

    /// Checks that there are passes for a runtime.
    fn check_runtime(&mut self, runtime: Option<&Written<String>>) {
        let Some(Written { value: name, place }) = runtime else { return };
        let passes = self.catalogue.passes();
        let known: BTreeSet<&str> =
            passes.iter().map(|facts| facts.runtime.as_str()).filter(|it| !it.is_empty()).collect();
        if known.contains(name.as_str()) {
            return;
        }
        let fault =
            PipelineFault::new(Code::UnknownName, *place, format!("no pass is for the runtime `{}`", shorten(name)));
        let note = match known.is_empty() {
            true => "no pass is for one runtime".to_owned(),
            false => format!("runtimes: {}", and_list(&known.iter().collect::<Vec<_>>())),
        };
        self.faults.push(fault.note(note).nearest(&nearest(name, known)));
    }

    /// The same passes, each after those of them that it requires. Passes that require each other stay as they are: the
    /// cycle is reported when requirements are followed.
    fn requirements_first(&mut self, passes: Vec<Arc<PassFacts>>) -> Vec<Arc<PassFacts>> {
        let at: BTreeMap<String, usize> =
            passes.iter().enumerate().map(|(at, facts)| (facts.name.clone(), at)).collect();
        let required: Vec<Vec<usize>> = passes
            .iter()
            .map(|facts| {
                let found = facts.required.iter().filter_map(|required| self.find(&required.pass).ok());
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

    /// Finds the requirements of passes and the members of sequential passes, until nothing new is found.
    pub fn expand(&mut self) {
        let mut at = 0;
        while at < self.passes.len() {
            if self.passes.len() > MAX_PASSES {
                let fault = PipelineFault::new(
                    Code::Limit,
                    self.places[at],
                    format!("the pipeline needs over {MAX_PASSES} passes"),
                );
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
                self.faults.push(PipelineFault::new(Code::Create, place, message));
                return;
            }
        };
        let mut steps = Vec::with_capacity(members.len());
        for member in members {
            let (name, options) = match member {
                Member::Named(name, options) => (name, options),
                Member::Held(held) => {
                    let pass = self.hold(&held, place);
                    let opt_level = held.opt_level.unwrap_or(held.facts.opt_level);
                    steps.push(self.add_step(pass, opt_level));
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
            let opt_level = facts.opt_level;
            let pass = self.instance(facts, &entries_of(options), place);
            steps.push(self.add_step(pass, opt_level));
        }
        self.passes[at].members = Some(steps);
    }
}
