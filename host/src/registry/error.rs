//! Why a name names nothing, and why a pass or an instrument could not be made.

use crate::{
    options::OptionError,
    pass::Candidate,
    plugin::{Records, Refusal},
    words::list,
};
use relais_plugin_api::diagnostics::PassError;
use std::fmt;

/// The kinds of items with names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// Passes.
    Pass,
    /// Instruments.
    Instrument,
    /// Pipelines.
    Pipeline,
    /// Analyses.
    Analysis,
}

impl Named {
    /// The word for one.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Instrument => "instrument",
            Self::Pipeline => "pipeline",
            Self::Analysis => "analysis",
        }
    }

    /// The word for several.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Pass => "passes",
            Self::Instrument => "instruments",
            Self::Pipeline => "pipelines",
            Self::Analysis => "analyses",
        }
    }

    /// The names of each in a plugin, the full one first.
    pub(super) fn of(self, records: &Records) -> Vec<Vec<&String>> {
        match self {
            Self::Pass => {
                let passes = records.passes.iter();
                passes.map(|pass| std::iter::once(&pass.name).chain(&pass.aliases).collect()).collect()
            }
            Self::Instrument => records.instruments.iter().map(|instrument| vec![&instrument.name]).collect(),
            Self::Analysis => records.analyses.iter().map(|analysis| vec![&analysis.name]).collect(),
            Self::Pipeline => records.pipelines.iter().map(|pipeline| vec![&pipeline.name]).collect(),
        }
    }
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

/// Why a pass or an instrument could not be made.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum CreateError {
    /// Its name names nothing.
    Resolve(ResolveError),
    /// It does not take its options.
    Options {
        /// The kind of item, `pass` or `instrument`, and its name in backticks.
        what: String,
        /// Why.
        error: OptionError,
    },
    /// Its plugin could not be opened.
    Open {
        /// The kind of item, `pass` or `instrument`, and its name in backticks.
        what: String,
        /// The plugin, with its file.
        plugin: String,
        /// Why.
        refusal: Refusal,
    },
    /// Its plugin did not make it.
    Make {
        /// The kind of item, `pass` or `instrument`, and its name in backticks.
        what: String,
        /// The plugin, with its file.
        plugin: String,
        /// Why.
        error: PassError,
    },
}

impl From<ResolveError> for CreateError {
    fn from(error: ResolveError) -> Self {
        Self::Resolve(error)
    }
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolve(error) => error.fmt(f),
            Self::Options { what, error } => write!(f, "{what}: {error}"),
            Self::Open { what, plugin, refusal } => {
                write!(f, "{what} is not usable: plugin {plugin} was refused: {refusal}")?;
                refusal.help().map_or(Ok(()), |help| write!(f, "\n  help: {help}"))
            }
            Self::Make { what, plugin, error } => write!(f, "plugin {plugin} did not make {what}: {error}"),
        }
    }
}

impl std::error::Error for CreateError {}
