//! The passes that plugins add at extension points.

use super::{
    resolved::{Addition, ResolvedStep},
    resolver::Resolver,
    schema::mandatory,
    spec::{Extensions, StepSpec, Written},
};
use crate::{pass::PassFacts, words::nearest};
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
    (additions, warnings)
}

impl Resolver<'_> {
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
            let pass = self.instance(facts, &[], point.place);
            self.nodes.push(ResolvedStep::Pass(pass));
            self.origins.insert(self.nodes.len() - 1, origin);
            added.push((self.nodes.len() - 1, pass));
        }
        added
    }

    /// Remembers that a pass which is on was added.
    pub fn say_added(&mut self, point: &Written<String>, pass: usize) {
        let PassFacts { name, plugin, plugin_version, .. } = &*self.passes[pass].facts;
        let addition = Addition {
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
