//! Names of passes and of instruments.

use super::Provider;
use crate::{
    pass::Candidate,
    plugin::{Records, RefusedPlugin},
    words::{list, nearest},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// TVM's namespaces: an unregistered name in one of them means the name without it.
const NAMESPACES: [&str; 3] = ["relay._transform.", "relax.transform.", "tir.transform."];

/// A plugin's number, then the item's in it.
type Id = (usize, usize);

/// The kinds of items with names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// Passes.
    Pass,
    /// Instruments.
    Instrument,
    /// Pipelines.
    Pipeline,
}

impl Named {
    /// The word for one.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Instrument => "instrument",
            Self::Pipeline => "pipeline",
        }
    }

    /// The word for several.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Pass => "passes",
            Self::Instrument => "instruments",
            Self::Pipeline => "pipelines",
        }
    }

    /// The names of each in a plugin, the full one first.
    fn of(self, records: &Records) -> Vec<Vec<&String>> {
        match self {
            Self::Pass => {
                let passes = records.passes.iter();
                passes.map(|pass| std::iter::once(&pass.name).chain(&pass.aliases).collect()).collect()
            }
            Self::Instrument => records.instruments.iter().map(|instrument| vec![&instrument.name]).collect(),
            Self::Pipeline => records.pipelines.iter().map(|pipeline| vec![&pipeline.name]).collect(),
        }
    }
}

/// Names, full ones and aliases, and the parts after their last dots.
pub(super) struct Names {
    named: Named,
    full: BTreeMap<String, Vec<Id>>,
    short: BTreeMap<String, BTreeSet<String>>,
}

/// A name that several plugins provide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The kind of item.
    pub named: Named,
    /// The name.
    pub name: String,
    /// The plugins, with their files.
    pub plugins: Vec<String>,
}

/// Why a name names nothing.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ResolveError {
    /// Nothing provides it.
    Unknown {
        /// The kind of item to find.
        named: Named,
        /// The name.
        name: String,
        /// The nearest names there are.
        nearest: Option<String>,
    },
    /// A plugin that was refused provides it.
    Refused {
        /// The kind of item.
        named: Named,
        /// The name.
        name: String,
        /// The plugin's file.
        file: String,
        /// Why it was refused.
        refusal: String,
        /// A suggestion.
        help: Option<String>,
    },
    /// Several plugins provide it.
    Conflict(Conflict),
    /// It is the short name of several.
    Ambiguous {
        /// The name.
        name: String,
        /// The possible meanings.
        candidates: Vec<Candidate>,
    },
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { named, name, nearest: Some(nearest) } => {
                write!(f, "no plugin provides {} `{name}`; did you mean `{nearest}`?", named.word())
            }
            Self::Unknown { named, name, nearest: None } => {
                let (word, words) = (named.word(), named.words());
                write!(f, "no plugin provides {word} `{name}`\n  help: `relais list {words}` shows what there is")
            }
            Self::Refused { named, name, file, refusal, help } => {
                write!(f, "{} `{name}` is in plugin `{file}`, which was refused: {refusal}", named.word())?;
                help.as_ref().map_or(Ok(()), |help| write!(f, "\n  help: {help}"))
            }
            Self::Conflict(Conflict { named, name, plugins }) => write!(
                f,
                "{} `{name}` is provided more than once, by {}\n  help: choose a version in the table `[plugins]`, or take one of the files away",
                named.word(),
                plugins.join(" and ")
            ),
            Self::Ambiguous { name, candidates } => {
                let names: Vec<String> = candidates.iter().map(|it| it.name.clone()).collect();
                write!(f, "`{name}` may be {}\n  help: write the full name", list(&names))
            }
        }
    }
}

impl std::error::Error for ResolveError {}

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
