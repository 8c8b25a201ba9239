//! Names of passes.

use super::Provider;
use crate::{
    options::{list, nearest},
    plugin::RefusedPlugin,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// TVM's namespaces: a name in one of them that nobody registers so means the name without it.
const NAMESPACES: [&str; 3] = ["relay._transform.", "relax.transform.", "tir.transform."];

/// A plugin's number, then the pass's in it.
type Id = (usize, usize);

/// Names of passes, full ones and aliases, and the parts after their last dots.
pub(super) struct Names {
    full: BTreeMap<String, Vec<Id>>,
    short: BTreeMap<String, BTreeSet<String>>,
}

/// A name that several plugins provide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The name.
    pub name: String,
    /// The plugins, with their files.
    pub plugins: Vec<String>,
}

/// Why a name names no pass.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ResolveError {
    /// Nothing provides it.
    Unknown {
        /// The name.
        name: String,
        /// The nearest names there are.
        nearest: Option<String>,
    },
    /// A plugin that was refused provides it.
    Refused {
        /// The name.
        name: String,
        /// The plugin's file.
        file: String,
        /// Why it was refused.
        refusal: String,
        /// What to do about it.
        help: Option<String>,
    },
    /// Several plugins provide it.
    Conflict(Conflict),
    /// It is the short name of several passes.
    Ambiguous {
        /// The name.
        name: String,
        /// Their full names.
        candidates: Vec<String>,
    },
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, nearest: Some(nearest) } => {
                write!(f, "no plugin provides pass `{name}`; did you mean `{nearest}`?")
            }
            Self::Unknown { name, nearest: None } => {
                write!(f, "no plugin provides pass `{name}`\n  help: `relais list passes` shows what there is")
            }
            Self::Refused { name, file, refusal, help } => {
                write!(f, "pass `{name}` is in plugin `{file}`, which was refused: {refusal}")?;
                help.as_ref().map_or(Ok(()), |help| write!(f, "\n  help: {help}"))
            }
            Self::Conflict(Conflict { name, plugins }) => write!(
                f,
                "pass `{name}` is provided more than once, by {}\n  help: choose a version in the table `[plugins]`, or take one of the files away",
                plugins.join(" and ")
            ),
            Self::Ambiguous { name, candidates } => {
                write!(f, "`{name}` may be {}\n  help: write the full name", list(candidates))
            }
        }
    }
}

impl std::error::Error for ResolveError {}

fn short_of(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, short)| short)
}

impl Names {
    pub fn new(providers: &[Arc<Provider>]) -> Self {
        let mut names = Self { full: BTreeMap::new(), short: BTreeMap::new() };
        for (plugin, provider) in providers.iter().enumerate() {
            for (index, pass) in provider.records.passes.iter().enumerate() {
                let own: BTreeSet<&String> = std::iter::once(&pass.name).chain(&pass.aliases).collect();
                for name in own {
                    names.full.entry(name.clone()).or_default().push((plugin, index));
                    names.short.entry(short_of(name).to_owned()).or_default().insert(name.clone());
                }
            }
        }
        names
    }

    /// Takes a name, full or short, from some plugins alone, where they provide it.
    pub fn prefer(&mut self, name: &str, is_preferred: impl Fn(usize) -> bool) {
        for (full, ids) in &mut self.full {
            let is_meant = full == name || short_of(full) == name;
            if is_meant && ids.iter().any(|&(plugin, _)| is_preferred(plugin)) {
                ids.retain(|&(plugin, _)| is_preferred(plugin));
            }
        }
    }

    pub fn conflicts(&self, providers: &[Arc<Provider>]) -> Vec<Conflict> {
        let conflicts = self.full.iter().filter(|(_, ids)| ids.len() > 1);
        conflicts.map(|(name, ids)| conflict(name, ids, providers)).collect()
    }

    pub fn find(&self, name: &str, providers: &[Arc<Provider>], refused: &[RefusedPlugin]) -> Result<Id, ResolveError> {
        let without_namespace = NAMESPACES.iter().find_map(|namespace| name.strip_prefix(namespace));
        let full = self.full.get(name).or_else(|| self.full.get(without_namespace?));
        if let Some(ids) = full {
            return match ids[..] {
                [id] => Ok(id),
                _ => Err(ResolveError::Conflict(conflict(name, ids, providers))),
            };
        }
        if let Some(names) = self.short.get(name) {
            let ids: BTreeSet<Id> = names.iter().flat_map(|name| &self.full[name]).copied().collect();
            let ids: Vec<Id> = ids.into_iter().collect();
            if let [id] = ids[..] {
                return Ok(id);
            }
            let full_name = |&(plugin, pass): &Id| providers[plugin].records.passes[pass].name.clone();
            let candidates: BTreeSet<String> = ids.iter().map(full_name).collect();
            if candidates.len() == 1 {
                return Err(ResolveError::Conflict(conflict(name, &ids, providers)));
            }
            return Err(ResolveError::Ambiguous {
                name: name.to_owned(),
                candidates: candidates.into_iter().collect(),
            });
        }
        Err(in_refused(name, refused).unwrap_or_else(|| self.unknown(name)))
    }

    fn unknown(&self, name: &str) -> ResolveError {
        let known = self.full.keys().chain(self.short.keys()).map(String::as_str);
        ResolveError::Unknown { name: name.to_owned(), nearest: nearest(name, known).map(str::to_owned) }
    }
}

fn conflict(name: &str, ids: &[Id], providers: &[Arc<Provider>]) -> Conflict {
    let plugins = ids.iter().map(|&(plugin, _)| providers[plugin].describe()).collect();
    Conflict { name: name.to_owned(), plugins }
}

fn in_refused(name: &str, refused: &[RefusedPlugin]) -> Option<ResolveError> {
    let provides = |full: &String| full == name || short_of(full) == name;
    let refused = refused.iter().find(|refused| {
        let passes = refused.records.iter().flat_map(|records| &records.passes);
        passes.flat_map(|pass| std::iter::once(&pass.name).chain(&pass.aliases)).any(provides)
    })?;
    Some(ResolveError::Refused {
        name: name.to_owned(),
        file: refused.path.display().to_string(),
        refusal: refused.refusal.to_string(),
        help: refused.refusal.help(),
    })
}
