//! Reading the files of plugins again.

use crate::{
    plugin::{Discovery, Policy, Refusal, discover},
    registry::{Provider, Registry, described},
};
use std::{fmt, path::PathBuf, sync::Arc};

/// The number of loads in this process at which a warning says that none of them is ever undone.
const MANY: u32 = 64;

/// Why a plugin is not read again.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ReloadError {
    /// No plugin that is in use has this name.
    Unknown {
        /// The name.
        plugin: String,
    },
    /// It is linked into this program.
    Linked {
        /// The name.
        plugin: String,
    },
    /// Its file is not used as it is now.
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        refusal: Refusal,
    },
}

impl fmt::Display for ReloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { plugin } => write!(f, "there is no plugin `{plugin}`"),
            Self::Linked { plugin } => write!(f, "plugin `{plugin}` is linked into this program"),
            Self::Refused { path, refusal } => write!(f, "plugin `{}` is not used: {refusal}", path.display()),
        }
    }
}

impl std::error::Error for ReloadError {}

impl Registry {
    /// The same with the file of a plugin read again: what it provides now, in the bytes that are there now. This registry, its
    /// clones and the passes that were made stay as they are, so that runs under way end with what they began with. Choices
    /// among plugins ([`prefer`](Self::prefer) and the like) have to be made again.
    ///
    /// A library that was opened in this process stays in its memory, since threads and values of it may be left; the process
    /// of an isolated plugin ends with the registries that use it.
    ///
    /// # Errors
    /// Returns an error if no plugin has this name, it has no file, or the file is refused.
    pub fn reload(&self, plugin: &str, policy: Policy) -> Result<Self, ReloadError> {
        let is_meant = |provider: &Provider| provider.records().plugin.name == plugin;
        if !self.plugins().any(is_meant) {
            return Err(ReloadError::Unknown { plugin: plugin.to_owned() });
        }
        self.replace(|provider| match is_meant(provider) {
            true => reloaded(provider, policy).map(Arc::new),
            false => Ok(provider.clone()),
        })
    }
}

fn reloaded(old: &Provider, policy: Policy) -> Result<Provider, ReloadError> {
    let Some(path) = old.path() else {
        return Err(ReloadError::Linked { plugin: old.records().plugin.name.clone() });
    };
    let Discovery { plugins, refused, .. } = described(discover(&[], &[path.to_owned()], policy));
    if let Some(refused) = refused.into_iter().next() {
        return Err(ReloadError::Refused { path: refused.path, refusal: refused.refusal });
    }
    let Some(found) = plugins.into_iter().next() else {
        return Err(ReloadError::Refused { path: path.to_owned(), refusal: Refusal::NoRecords });
    };
    let new = old.again(found);
    let n_loads = new.generation();
    if n_loads.is_multiple_of(MANY) && new.isolation().is_none() {
        let name = &new.records().plugin.name;
        log::warn!(
            "plugin `{name}` was loaded {n_loads} times, and each of them stays in memory; an isolated plugin ends"
        );
    }
    Ok(new)
}
