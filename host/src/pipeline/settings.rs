//! Options that are set: of contexts, and from outside of passes.

use super::{
    fault::{Code, PipelineFault, Place},
    resolver::Resolver,
    schema::{check_value, shorten},
    spec::*,
};
use crate::{
    pass::{Catalogue, ConfigFacts, PROGRAM, PassFacts},
    words::nearest,
};
use relais_plugin_api::options::Value;
use std::{collections::BTreeMap, sync::Arc};

impl PipelineSpec {
    /// The options of each step that names a pass, as they are written there and set from outside, with defaults filled in.
    /// Nothing is made; what is at fault is left out.
    pub fn options_of(&self, pass: &Arc<PassFacts>, catalogue: &dyn Catalogue) -> Vec<Value> {
        let names: Vec<&str> = std::iter::once(&pass.name).chain(&pass.aliases).map(String::as_str).collect();
        let may_mean = |name: &str| {
            let name = name.strip_suffix('?').unwrap_or(name);
            names.iter().any(|own| *own == name || own.rsplit('.').next() == Some(name))
        };
        let steps = self.nodes.iter().filter_map(|node| match &node.value {
            StepSpec::Pass { name, options, .. } if may_mean(&name.value) => Some((name, options)),
            _ => None,
        });
        let steps: Vec<_> = steps.collect();
        if steps.is_empty() {
            return Vec::new();
        }
        let mut resolver = Resolver::new(self, catalogue);
        resolver.settings();
        for (name, options) in steps {
            if let Ok(facts) = resolver.find(&name.value)
                && facts.is_same(pass)
            {
                resolver.instance(facts, options, name.place);
            }
        }
        resolver.passes.into_iter().map(|instance| instance.options).collect()
    }
}

impl Resolver<'_> {
    /// Splits nested tables into keys that are registered. Later tables replace settings of earlier ones, field by field;
    /// within one table nothing is set twice, by whichever of its names.
    pub fn config_values<'e>(&mut self, tables: impl IntoIterator<Item = &'e [SpecEntry]>) -> BTreeMap<String, Value> {
        let mut set: Vec<(ConfigFacts, SpecEntry)> = Vec::new();
        for table in tables {
            for (facts, entry) in self.config_entries(table) {
                match set.iter_mut().find(|(known, _)| known.schema.name == facts.schema.name) {
                    Some((_, before)) => *before = overlaid(before, &entry),
                    None => set.push((facts, entry)),
                }
            }
        }
        let values =
            set.iter().filter_map(|(facts, entry)| Some((facts.schema.name.clone(), self.config_value(facts, entry)?)));
        values.collect()
    }

    /// The options that one table sets.
    fn config_entries(&mut self, table: &[SpecEntry]) -> Vec<(ConfigFacts, SpecEntry)> {
        let mut set: Vec<(ConfigFacts, SpecEntry)> = Vec::new();
        let mut todo: Vec<(String, &SpecEntry)> =
            table.iter().rev().map(|entry| (entry.key.value.clone(), entry)).collect();
        while let Some((key, entry)) = todo.pop() {
            if let Some(facts) = self.config_named(&key) {
                let Some((_, before)) = set.iter_mut().find(|(known, _)| known.schema.name == facts.schema.name) else {
                    let key = Written { value: key, ..entry.key };
                    set.push((facts, SpecEntry { key, ..entry.clone() }));
                    continue;
                };
                if let Some((path, first, second)) = set_twice(before, entry) {
                    let message = format!("option `{}{path}` is given twice", facts.schema.name);
                    let fault = PipelineFault::new(Code::Duplicate, second, message).related(first, "first given here");
                    let fault = match before.key.value == key {
                        true => fault,
                        false => fault.note(format!("`{}` and `{key}` are names of one option", before.key.value)),
                    };
                    self.faults.push(fault.help("remove one of the two"));
                }
                *before = overlaid(before, entry);
                continue;
            }
            let prefix = format!("{key}.");
            match &entry.value.value {
                SpecValue::Table(inner)
                    if self.config.iter().flat_map(ConfigFacts::names).any(|name| name.starts_with(&prefix)) =>
                {
                    todo.extend(inner.iter().rev().map(|entry| (format!("{prefix}{}", entry.key.value), entry)));
                }
                _ => {
                    let fault = self.unknown_config(&key, entry.key.place);
                    self.faults.push(fault);
                }
            }
        }
        set
    }

    /// The option that a key sets; with the plugins of all, if there are several.
    fn config_named(&self, key: &str) -> Option<ConfigFacts> {
        let mut named = self.config.iter().filter(|facts| facts.is_named(key));
        let first = named.next()?.clone();
        Some(named.fold(first, |mut first, other| {
            first.plugins.extend(other.plugins.iter().cloned());
            first
        }))
    }

    fn unknown_config(&self, key: &str, place: Option<Place>) -> PipelineFault {
        let known = self.config.iter().flat_map(ConfigFacts::names);
        PipelineFault::new(Code::UnknownKey, place, format!("no option `{}` is registered", shorten(key)))
            .note("`relais list options` shows the ones that are")
            .nearest(&nearest(key, known))
    }

    fn config_value(&mut self, facts: &ConfigFacts, entry: &SpecEntry) -> Option<Value> {
        let key = &facts.schema.name;
        if let [_, _, ..] = facts.plugins.as_slice() {
            let fault = PipelineFault::new(
                Code::Ambiguous,
                entry.key.place,
                format!("several plugins register option `{key}`"),
            );
            let of =
                |plugin: &String| if plugin == PROGRAM { PROGRAM.to_owned() } else { format!("plugin `{plugin}`") };
            let plugins = facts.plugins.iter().map(of);
            let fault = plugins.fold(fault, PipelineFault::note);
            self.faults.push(fault.help("remove one of the plugins, or do not set the option"));
            return None;
        }
        let paths = self.paths();
        check_value(&facts.schema.kind, &entry.value, &format!("option `{key}`"), paths, &mut self.faults)
    }

    /// Applies the settings from outside. Returns the options of the context, and keeps those of passes.
    pub fn settings(&mut self) -> Vec<SpecEntry> {
        let mut entries = Vec::new();
        for setting in &self.spec.settings {
            let key = setting.key.value.as_str();
            let is_config = |key: &str| self.config.iter().any(|facts| facts.is_named(key));
            if prefixes(key).any(|(prefix, _)| is_config(prefix)) {
                entries.push(nest(setting, |prefix| is_config(prefix)));
                continue;
            }
            let pass = prefixes(key).skip(1).find_map(|(prefix, rest)| Some((self.find(prefix).ok()?, rest)));
            match pass {
                Some((facts, rest)) => {
                    let mut option = nest(
                        &SpecEntry {
                            key: Written { value: rest.to_owned(), place: setting.key.place },
                            value: setting.value.clone(),
                        },
                        |prefix| facts.options.iter().any(|option| option.name == prefix),
                    );
                    option.key.place = setting.key.place;
                    self.settings.entry(facts.name.clone()).or_default().push(option);
                }
                None => {
                    let mut fault = self.unknown_config(key, setting.key.place);
                    fault.notes.push("an option of a pass is set as `Pass.option=value`".into());
                    self.faults.push(fault);
                }
            }
        }
        entries
    }

    pub fn unused_settings(&mut self) {
        for pass in self.settings.keys() {
            if !self.by_options.keys().any(|(name, ..)| name == pass) {
                self.warnings.push(format!("options of `{pass}` are set, which the pipeline does not run"));
            }
        }
    }
}

/// The part of one option that two settings both set: its path within the option, and both places.
fn set_twice(before: &SpecEntry, entry: &SpecEntry) -> Option<(String, Option<Place>, Option<Place>)> {
    let mut todo = vec![(String::new(), before, entry)];
    while let Some((path, before, entry)) = todo.pop() {
        let (SpecValue::Table(old), SpecValue::Table(new)) = (&before.value.value, &entry.value.value) else {
            return Some((path, before.key.place, entry.key.place));
        };
        let both = new.iter().filter_map(|new| Some((old.iter().find(|old| old.key.value == new.key.value)?, new)));
        todo.extend(both.map(|(old, new)| (format!("{path}.{}", new.key.value), old, new)));
    }
    None
}

/// A key's prefixes that end before a dot, the whole key first, each with the part after the dot.
fn prefixes(key: &str) -> impl Iterator<Item = (&str, &str)> {
    std::iter::once((key, "")).chain(key.rmatch_indices('.').map(move |(at, _)| (&key[..at], &key[at + 1..])))
}

/// `a.b.c = 1` as `a.b = { c = 1 }`, where `a.b` is the longest known prefix.
fn nest(entry: &SpecEntry, is_known: impl Fn(&str) -> bool) -> SpecEntry {
    let key = entry.key.value.as_str();
    let Some((prefix, rest)) = prefixes(key).find(|(prefix, _)| is_known(prefix)) else { return entry.clone() };
    let place = entry.key.place;
    let mut value = entry.value.clone();
    for part in rest.split('.').rev().filter(|part| !part.is_empty()) {
        let inner = SpecEntry { key: Written { value: part.to_owned(), place }, value };
        value = Written { value: SpecValue::Table(vec![inner]), place };
    }
    SpecEntry { key: Written { value: prefix.to_owned(), place }, value }
}
