//! Names of passes and of instruments.

use super::{
    error::{Conflict, Named, ResolveError},
    provider::Provider,
};
use crate::{pass::Candidate, plugin::RefusedPlugin, words::nearest};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// TVM's namespaces: an unregistered name in one of them means the name without it.
const NAMESPACES: [&str; 3] = ["relay._transform.", "relax.transform.", "tir.transform."];

/// A plugin's number, then the item's in it.
type Id = (usize, usize);

/// Names, full ones and aliases, and the parts after their last dots.
pub(super) struct Names {
    named: Named,
    full: BTreeMap<String, Vec<Id>>,
    short: BTreeMap<String, BTreeSet<String>>,
}

fn short_of(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, short)| short)
}

impl Names {
    pub fn new(named: Named, providers: &[Arc<Provider>]) -> Self {
        let mut names = Self { named, full: BTreeMap::new(), short: BTreeMap::new() };
        for (plugin, provider) in providers.iter().enumerate() {
            for (index, own) in named.of(&provider.records).into_iter().enumerate() {
                for name in own.into_iter().collect::<BTreeSet<_>>() {
                    names.full.entry(name.clone()).or_default().push((plugin, index));
                    names.short.entry(short_of(name).to_owned()).or_default().insert(name.clone());
                }
            }
        }
        names
    }

    /// Restricts a name, full or short, to items of some plugins, if they provide it: under this name and under all its
    /// other names.
    pub fn prefer(&mut self, name: &str, is_preferred: impl Fn(usize) -> bool) {
        let meant = self.full.iter().filter(|(full, _)| *full == name || short_of(full) == name);
        let chosen: BTreeSet<Id> =
            meant.flat_map(|(_, ids)| ids).copied().filter(|&(plugin, _)| is_preferred(plugin)).collect();
        if let Some(meant) = self.short.get_mut(name).filter(|_| !chosen.is_empty()) {
            meant.retain(|full| self.full[full].iter().any(|id| chosen.contains(id)));
        }
        for ids in self.full.values_mut().filter(|ids| ids.iter().any(|id| chosen.contains(id))) {
            ids.retain(|id| chosen.contains(id));
        }
    }

    pub fn conflicts(&self, providers: &[Arc<Provider>]) -> Vec<Conflict> {
        let conflicts = self.full.iter().filter(|(_, ids)| ids.len() > 1);
        conflicts.map(|(name, ids)| self.conflict(name, ids, providers)).collect()
    }

    pub fn find(&self, name: &str, providers: &[Arc<Provider>], refused: &[RefusedPlugin]) -> Result<Id, ResolveError> {
        let without_namespace = NAMESPACES.iter().find_map(|namespace| name.strip_prefix(namespace));
        let full = self.full.get(name).or_else(|| self.full.get(without_namespace?));
        if let Some(ids) = full {
            return match ids[..] {
                [id] => Ok(id),
                _ => Err(ResolveError::Conflict(self.conflict(name, ids, providers))),
            };
        }
        if let Some(names) = self.short.get(name) {
            let ids: BTreeSet<Id> = names.iter().flat_map(|name| &self.full[name]).copied().collect();
            let ids: Vec<Id> = ids.into_iter().collect();
            if let [id] = ids[..] {
                return Ok(id);
            }
            let candidates = self.candidates(&ids, providers);
            let is_one_name = candidates.iter().all(|it| it.name == candidates[0].name);
            return Err(match is_one_name {
                true => ResolveError::Conflict(self.conflict(name, &ids, providers)),
                false => ResolveError::Ambiguous { name: name.to_owned(), candidates },
            });
        }
        Err(self.in_refused(name, refused).unwrap_or_else(|| self.unknown(name)))
    }

    /// The short names that mean an item of that plugin and also another one.
    pub fn ambiguous(&self, plugin: usize, providers: &[Arc<Provider>]) -> Vec<(String, Vec<Candidate>)> {
        let meant = self.short.iter().map(|(short, names)| {
            let ids: BTreeSet<Id> = names.iter().flat_map(|name| &self.full[name]).copied().collect();
            (short, ids.into_iter().collect::<Vec<Id>>())
        });
        let of_plugin = meant.filter(|(short, ids)| {
            !self.full.contains_key(*short) && ids.len() > 1 && ids.iter().any(|(provider, _)| *provider == plugin)
        });
        of_plugin.map(|(short, ids)| (short.clone(), self.candidates(&ids, providers))).collect()
    }

    fn candidates(&self, ids: &[Id], providers: &[Arc<Provider>]) -> Vec<Candidate> {
        let candidate = |&(plugin, index): &Id| {
            let records = &providers[plugin].records;
            Candidate { name: self.named.of(records)[index][0].clone(), plugin: records.plugin.name.clone() }
        };
        ids.iter().map(candidate).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn unknown(&self, name: &str) -> ResolveError {
        let known = self.full.keys().chain(self.short.keys()).map(String::as_str);
        let nearest = nearest(name, known).into_iter().next();
        ResolveError::Unknown { named: self.named, name: name.to_owned(), nearest }
    }

    fn conflict(&self, name: &str, ids: &[Id], providers: &[Arc<Provider>]) -> Conflict {
        let plugins = ids.iter().map(|&(plugin, _)| providers[plugin].describe()).collect();
        Conflict { named: self.named, name: name.to_owned(), plugins }
    }

    fn in_refused(&self, name: &str, refused: &[RefusedPlugin]) -> Option<ResolveError> {
        let provides = |full: &String| full == name || short_of(full) == name;
        let refused = refused.iter().find(|refused| {
            let records = refused.records.iter();
            records.flat_map(|records| self.named.of(records)).flatten().any(provides)
        })?;
        Some(ResolveError::Refused {
            named: self.named,
            name: name.to_owned(),
            file: refused.path.display().to_string(),
            refusal: refused.refusal.to_string(),
            help: refused.refusal.help(),
        })
    }
}
