//! The facts about passes, options, plugins and instruments before they are made.

use crate::{options::OptionSchema, words::or_list};
use relais_plugin_api::{
    analysis::SubjectKind,
    boundary::{
        abi::error_kind,
        record::{AnalysisSpec, Depends, Level, Phase},
    },
    diagnostics::PassError,
    pass::Requirement,
};
use semver::Version;
use std::{fmt, sync::Arc};

/// Whose a pass is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PassOwner {
    /// A plugin's: its name identifies the pass.
    Plugin,
    /// The program's own: several may have one name.
    Program,
}

/// The facts about a pass before it is made.
#[derive(Clone, Debug)]
pub struct PassFacts {
    /// Its full name.
    pub name: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// The plugin that provides it.
    pub plugin: String,
    /// That plugin's version.
    pub plugin_version: Version,
    /// Whose it is.
    pub origin: PassOwner,
    /// The unit that it receives.
    pub level: Level,
    /// Its optimisation level.
    pub opt_level: u8,
    /// The passes that must have run.
    pub required: Vec<Requirement>,
    /// Whether it establishes types, which the driver then keeps up to date (rule R16).
    pub establishes_types: bool,
    /// The extension point that it is added at, in pipelines that have it.
    pub extends: Option<String>,
    /// The passes before which it is added there.
    pub before: Vec<String>,
    /// The passes after which it is added there.
    pub after: Vec<String>,
    /// When it runs among all passes of a level.
    pub phase: Phase,
    /// The runtime that it is for; empty if what it makes runs in any. A set of passes that does not name it is without it.
    pub runtime: String,
    /// The target that it is for; empty if it is for any. It is added at extension points, and is in sets of passes, of
    /// pipelines for that target alone.
    pub target: String,
    /// The option that asks it to change the interface of the entry function; without one it never does. It may need none,
    /// which the empty name says.
    pub changes_interface: Option<String>,
    /// The analyses whose results hold after it changed a function: by name, or
    /// [`STRUCTURE`](relais_plugin_api::boundary::record::STRUCTURE).
    pub preserves: Vec<String>,
    /// Its options.
    pub options: Vec<OptionSchema>,
    /// Its documentation.
    pub doc: String,
}

impl PassFacts {
    /// Its full name and its other names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }

    /// Whether both are about one pass at one level with the same requirements. Two passes of a program may have one
    /// name.
    pub(crate) fn is_same(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        let is_of_plugin = self.origin == PassOwner::Plugin && other.origin == PassOwner::Plugin;
        let is_of_plugin = is_of_plugin && self.plugin == other.plugin && self.name == other.name;
        let is_alike = self.plugin_version == other.plugin_version
            && self.opt_level == other.opt_level
            && self.required == other.required;
        Arc::ptr_eq(self, other) || is_of_plugin && is_alike
    }
}

/// The provider of what no plugin provides, as messages name it.
pub const PROGRAM: &str = "this program";

/// The facts about an option of the context.
#[derive(Clone, Debug)]
pub struct ConfigFacts {
    /// The option; its name is the key.
    pub schema: OptionSchema,
    /// The plugins that register the key. More than one is a conflict for its users.
    pub plugins: Vec<String>,
}

impl ConfigFacts {
    /// Whether a key sets it: its name, or one of its aliases.
    pub fn is_named(&self, key: &str) -> bool {
        self.schema.name == key || self.schema.aliases.iter().any(|alias| alias == key)
    }

    /// All keys that set it, its name first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.schema.name.as_str()).chain(self.schema.aliases.iter().map(String::as_str))
    }
}

/// The facts about a plugin.
#[derive(Clone, Debug)]
pub struct PluginFacts {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// Its file.
    pub file: String,
    /// Why it is not used, if it was refused.
    pub refusal: Option<String>,
}

/// The facts about an instrument before it is made.
#[derive(Clone, Debug)]
pub struct InstrumentFacts {
    /// Its name.
    pub name: String,
    /// The plugin that provides it.
    pub plugin: String,
    /// That plugin's version.
    pub plugin_version: Version,
    /// Its options.
    pub options: Vec<OptionSchema>,
    /// Its documentation.
    pub doc: String,
}

/// The facts about an analysis before it is computed.
#[derive(Clone, Debug)]
pub struct AnalysisFacts {
    /// Its full name.
    pub name: String,
    /// The plugin that provides it; empty if the host has it itself.
    pub plugin: String,
    /// The unit that it is of.
    pub subject: SubjectKind,
    /// The parts of that which it depends on.
    pub depends: Depends,
    /// The lists that everybody may read, each with its documentation.
    pub lists: Vec<(String, String)>,
    /// Its documentation.
    pub doc: String,
}

impl From<&AnalysisSpec> for AnalysisFacts {
    fn from(spec: &AnalysisSpec) -> Self {
        Self {
            name: spec.name.to_owned(),
            plugin: String::new(),
            subject: spec.subject,
            depends: spec.depends,
            lists: spec.lists.iter().map(|list| (list.name.to_owned(), list.doc.to_owned())).collect(),
            doc: spec.doc.to_owned(),
        }
    }
}

/// Why a name does not resolve to a pass.
#[derive(Clone, Debug)]
pub enum NoPass {
    /// Nothing provides it; the names most like it.
    Unknown(Vec<String>),
    /// Several passes have this short name.
    Ambiguous(Vec<Candidate>),
    /// Several plugins provide it; each described with its file.
    Conflict(Vec<String>),
    /// The only plugin that provides it was refused.
    Refused {
        /// The plugin.
        plugin: String,
        /// Why.
        reason: String,
    },
}

impl NoPass {
    /// The error about the name of an analysis.
    pub(crate) fn of_analysis(self, name: &str) -> PassError {
        let error = |message: std::fmt::Arguments<'_>| PassError::with_kind(error_kind::HOST, message);
        match self {
            Self::Unknown(near) => {
                let error = error(format_args!("nothing provides the analysis `{name}`"));
                match near.first() {
                    Some(near) => error.help(format_args!("did you mean `{near}`?")),
                    None => error.help("`relais list analyses` shows what there is"),
                }
            }
            Self::Ambiguous(several) => error(format_args!("`{name}` is the short name of several analyses"))
                .help(Candidate::help(&several, name, "")),
            Self::Conflict(plugins) => {
                error(format_args!("analysis `{name}` is provided more than once, by {}", plugins.join(" and ")))
                    .help("take one of the files away")
            }
            Self::Refused { plugin, reason } => {
                error(format_args!("analysis `{name}` is in plugin `{plugin}`, which was refused: {reason}"))
            }
        }
    }
}

/// One of several things that a short name may mean.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Candidate {
    /// Its full name.
    pub name: String,
    /// The plugin that provides it; empty for one of the program's own.
    pub plugin: String,
}

impl Candidate {
    /// Returns the names to write for one of several instead of their short name, and how to choose permanently.
    pub fn help(several: &[Self], short: &str, table: &str) -> String {
        let names: Vec<&str> = several.iter().map(|it| it.name.as_str()).collect();
        let help = format!("write {}", or_list(&names));
        match several.iter().find(|it| !it.plugin.is_empty()) {
            Some(it) if !table.is_empty() => {
                let choice = format!("{} = {{ {table} = [\"{short}\"] }}", it.plugin);
                format!("{help}, or choose one in the table `[plugins]` of a pipeline: `{choice}`")
            }
            _ => help,
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.plugin.as_str() {
            "" => write!(f, "`{}` of this program", self.name),
            plugin => write!(f, "`{}` of plugin `{plugin}`", self.name),
        }
    }
}

/// An operator's name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OperatorName {
    /// Its domain; empty is ONNX's own.
    pub domain: String,
    /// Its name.
    pub name: String,
}

impl OperatorName {
    /// Reads `Name` or `domain::Name`.
    pub fn parse(text: &str) -> Self {
        let (domain, name) = text.rsplit_once("::").unwrap_or(("", text));
        Self { domain: crate::ir::normal_domain(domain).into(), name: name.into() }
    }
}

impl fmt::Display for OperatorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.domain.as_str() {
            "" => f.write_str(&self.name),
            domain => write!(f, "{domain}::{}", self.name),
        }
    }
}
