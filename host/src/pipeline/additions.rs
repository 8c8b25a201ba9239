//! The passes that plugins add at extension points.

use super::{
    resolved::AddedPass,
    resolver::Resolver,
    schema::mandatory,
    spec::{Extensions, StepSpec, Written},
};
use crate::{
    pass::PassFacts,
    words::{and_list, nearest},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The passes of plugins that are added, by point, in the order of their names; and warnings about others.
pub(super) fn additions(resolver: &Resolver<'_>) -> (BTreeMap<String, Vec<Arc<PassFacts>>>, Vec<String>) {
    let mut additions: BTreeMap<String, Vec<Arc<PassFacts>>> = BTreeMap::new();
    let mut warnings = Vec::new();
    let point = |node: &Written<StepSpec>| match &node.value {
        StepSpec::Extension { point, .. } => Some(point.value.clone()),
        _ => None,
    };
    let points: BTreeSet<String> = resolver.spec.nodes.iter().filter_map(point).collect();
    if points.is_empty() || resolver.spec.run.extensions == Some(Extensions::Off) {
        return (additions, warnings);
    }
    let mut elsewhere: Option<BTreeSet<String>> = None;
    for facts in resolver.catalogue.extensions() {
        let Some(point) = &facts.extends else { continue };
        let PassFacts { name, plugin, plugin_version, .. } = &*facts;
        if !points.contains(point) {
            let is_built_in = super::EXTENSION_POINTS.contains(&point.as_str());
            if is_built_in || elsewhere.get_or_insert_with(|| resolver.catalogue.extension_points()).contains(point) {
                continue;
            }
            let near = nearest(point, points.iter().map(String::as_str).chain(super::EXTENSION_POINTS.iter().copied()));
            let near: String = near.first().map(|near| format!("; did it mean `{near}`?")).unwrap_or_default();
            warnings.push(format!(
                "pass `{name}` of plugin `{plugin} {plugin_version}` extends `{point}`, which no pipeline has{near}"
            ));
            continue;
        }
        if resolver.is_for_another_target(&facts) {
            continue;
        }
        if !facts.runtime.is_empty() && super::EXTENSION_POINTS.contains(&point.as_str()) {
            warnings.push(format!(
                "pass `{name}` of plugin `{plugin} {plugin_version}` extends `{point}`, but is not added: it is for the \
                 runtime `{}`, and that point is of pipelines for any",
                facts.runtime
            ));
            continue;
        }
        if let Some(option) = mandatory(&facts.options).first() {
            warnings.push(format!(
                "pass `{name}` of plugin `{plugin} {plugin_version}` extends `{point}`, but is not added: it needs its \
                 option `{option}`"
            ));
            continue;
        }
        let same = additions.entry(point.clone()).or_default();
        if same.last().is_none_or(|last| last.name != *name) {
            same.push(facts);
        }
    }
    for (point, passes) in &mut additions {
        warnings.extend(put_in_order(point, passes));
    }
    (additions, warnings)
}

/// Puts the passes of a point in the order that they ask for: those that may come first by their names. Returns warnings
/// about orders that contradict each other.
fn put_in_order(point: &str, passes: &mut Vec<Arc<PassFacts>>) -> Vec<String> {
    let (mut left, mut warnings) = (std::mem::take(passes), Vec::new());
    while !left.is_empty() {
        let before = |at: usize| (0..left.len()).find(|&other| other != at && is_first(&left[other], &left[at]));
        let free = (0..left.len()).find(|&at| before(at).is_none());
        let next = free.unwrap_or_else(|| {
            let mut cycle = cycle(before);
            cycle.sort_unstable();
            let names: Vec<&str> = cycle.iter().map(|&at| left[at].name.as_str()).collect();
            let (all, first) = (and_list(&names), names[0]);
            warnings.push(format!(
                "at `{point}`, {all} each are to come before another of them: `{first}`, the first by name, does"
            ));
            cycle[0]
        });
        passes.push(left.remove(next));
    }
    warnings
}

/// Whether a pass asks to come before another one of its point.
fn is_first(a: &PassFacts, b: &PassFacts) -> bool {
    let is = |pass: &PassFacts, name: &String| {
        let wanted = name.strip_suffix('?').unwrap_or(name);
        pass.names().any(|own| own == wanted || own.rsplit_once('.').is_some_and(|(_, short)| short == wanted))
    };
    a.before.iter().any(|name| is(b, name)) || b.after.iter().any(|name| is(a, name))
}

/// The elements of the cycle that is reached from the first one, which is not empty.
fn cycle(before: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut chain = vec![0];
    while let Some(next) = chain.last().and_then(|&at| before(at)) {
        if let Some(start) = chain.iter().position(|&at| at == next) {
            return chain.split_off(start);
        }
        chain.push(next);
    }
    chain
}

impl Resolver<'_> {
    /// Whether a pass is for a target which is not that of the pipeline.
    pub fn is_for_another_target(&self, facts: &PassFacts) -> bool {
        !facts.target.is_empty() && self.spec.run.target.as_ref().is_none_or(|target| target.value != facts.target)
    }

    /// Adds the passes of plugins at a point. Returns their steps and the passes.
    pub fn add(&mut self, point: &Written<String>) -> Vec<(usize, usize)> {
        let mut added = Vec::new();
        for facts in self.additions.get(&point.value).cloned().unwrap_or_default() {
            let n_faults = self.faults.len();
            // The same name from two plugins is a conflict here as anywhere.
            let Some(facts) = self.named(&facts.name, point.place) else {
                let told = self.faults[n_faults..].iter_mut();
                told.for_each(|fault| fault.notes.push(format!("it extends `{}`", point.value)));
                continue;
            };
            let origin = format!("plugin `{} {}` adds it", facts.plugin, facts.plugin_version);
            let opt_level = facts.opt_level;
            let pass = self.instance(facts, &[], point.place);
            let step = self.add_step(pass, opt_level);
            self.origins.insert(step, origin);
            added.push((step, pass));
        }
        added
    }

    /// Splits the passes that plugins add at a point, which are in order, where those begin that ask to come after a step
    /// which files add there.
    pub fn first_and_late(&mut self, written: &[usize], passes: Vec<(usize, usize)>) -> [Vec<usize>; 2] {
        let mut of_files = Vec::new();
        let mut todo = written.to_vec();
        while let Some(step) = todo.pop() {
            let spec = &self.spec.nodes[step].value;
            todo.extend(spec.steps());
            if let StepSpec::Pass { name, .. } = spec {
                of_files.extend(self.find(&name.value).ok());
            }
        }
        let [mut first, mut late] = [Vec::new(), Vec::new()];
        for (step, pass) in passes {
            let pass = self.passes[pass].facts.clone();
            let is_late = of_files.iter().any(|other| is_first(other, &pass));
            match is_late {
                true => late.push(step),
                false => first.push(step),
            }
            // Others may ask to come after this one.
            of_files.extend(is_late.then_some(pass));
        }
        [first, late]
    }

    /// Remembers that a pass which is on was added.
    pub fn say_added(&mut self, point: &Written<String>, pass: usize) {
        let PassFacts { name, plugin, plugin_version, .. } = &*self.passes[pass].facts;
        let addition = AddedPass {
            point: point.value.clone(),
            pass: name.clone(),
            plugin: plugin.clone(),
            version: plugin_version.to_string(),
        };
        if !self.added.contains(&addition) {
            self.added.push(addition);
        }
    }
}
