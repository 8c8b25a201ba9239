//! Whether a plugin can be used, from its record alone, and how to fix it otherwise.

use super::record::{PluginRecord, RecordError};
use relais_plugin_api::{
    boundary::{
        fingerprint::FINGERPRINT,
        record::{API, BOUNDARY, BoundaryVersion, RUSTC, TARGET},
    },
    diagnostics::PassError,
};
use std::{fmt, path::PathBuf};

/// A user or group that may change a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FileWriter {
    /// Everybody.
    Everybody,
    /// The members of the group of that number.
    Group(u32),
    /// The user of that number.
    User(u32),
}

/// Why a file is not used as a plugin. It never keeps other plugins from being used.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such file.
    Missing,
    /// It is a folder, a device, …
    NotAFile,
    /// It cannot be read.
    Unreadable {
        /// The system's error.
        why: String,
    },
    /// It is not a library that this system could open.
    NotALibrary {
        /// The error.
        why: String,
    },
    /// It has no records, so it is not a plugin.
    NoRecords,
    /// Its records cannot be read.
    Record(RecordError),
    /// Another user may change it.
    Writable {
        /// The file, or a folder on the way to it.
        path: PathBuf,
        /// That user.
        by: FileWriter,
    },
    /// It was built for another version of the boundary, and needs another one.
    Boundary {
        /// The version.
        plugin: BoundaryVersion,
        /// The least version that it uses.
        needs: BoundaryVersion,
    },
    /// It was built for another machine or system.
    Target {
        /// For which.
        plugin: String,
    },
    /// A panic in it would end the process.
    Panic {
        /// Its panic strategy.
        strategy: String,
    },
    /// The types that cross the boundary are laid out differently.
    Fingerprint {
        /// The version of `relais-plugin-api` it was built with; may be empty.
        api: String,
        /// The compiler it was built with.
        rustc: String,
    },
    /// The file beside it does not say how it is isolated.
    Isolation {
        /// The fault of that file.
        why: String,
    },
    /// The description of a program is none.
    Description {
        /// The error, with its place.
        why: String,
    },
    /// The file beside a program is of another state of it.
    OtherProgram {
        /// The file of records.
        records: PathBuf,
    },
    /// A program has no file of records beside it, and is not run.
    Undescribed,
    /// A program that has no file of records beside it does not say what it has.
    Program {
        /// Why.
        error: PassError,
    },
    /// Its bytes are no longer those that were checked.
    Replaced,
    /// The system does not open it.
    Open {
        /// The system's error.
        why: String,
    },
    /// Its entry symbol is missing or is not a plugin's.
    Entry {
        /// The symbol.
        symbol: String,
        /// The error.
        why: String,
    },
    /// The table of a plugin that is handed bytes is missing or is none.
    Table {
        /// Its symbol.
        symbol: String,
        /// The error.
        why: String,
    },
    /// The types that cross the boundary differ.
    Layout {
        /// The first difference.
        why: String,
    },
    /// Its initialiser failed.
    Init(PassError),
}

/// The side that has to change, so that a plugin and the host fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mover {
    /// The plugin has to be rebuilt, or built differently.
    Plugin,
    /// The host has to be updated.
    Host,
    /// The file, or its folder and who may write there.
    File,
}

impl fmt::Display for Mover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plugin => "the plugin",
            Self::Host => "this host",
            Self::File => "the file",
        })
    }
}

impl Refusal {
    /// Returns the side that has to change.
    pub fn mover(&self) -> Mover {
        match self {
            Self::Boundary { plugin, needs } if plugin.max(needs) > &BOUNDARY => Mover::Host,
            Self::Record(error) if error.is_of_later_version() => Mover::Host,
            Self::Record(
                RecordError::Foreign { .. }
                | RecordError::Length { .. }
                | RecordError::Checksum { .. }
                | RecordError::Kind { .. },
            ) => Mover::File,
            Self::Missing
            | Self::NotAFile
            | Self::Unreadable { .. }
            | Self::NotALibrary { .. }
            | Self::Writable { .. }
            | Self::Isolation { .. }
            | Self::Description { .. }
            | Self::OtherProgram { .. }
            | Self::Undescribed
            | Self::Replaced
            | Self::Open { .. } => Mover::File,
            _ => Mover::Plugin,
        }
    }

    /// Returns a suggestion.
    pub fn help(&self) -> Option<String> {
        let rebuild = |command: &str| {
            format!(
                "rebuild the plugin with this host's `relais-plugin-api`: `{command}{API} && cargo build --release`"
            )
        };
        // The versions in a manifest may have to change for another version of the boundary, but not for the same one.
        let change = || rebuild("cargo add relais-plugin-api@");
        let update = || rebuild("cargo update -p relais-plugin-api --precise ");
        Some(match self {
            Self::Writable { path, by: FileWriter::Everybody } => {
                format!("`chmod o-w {}`, or allow it with `--allow-writable-plugins`", path.display())
            }
            Self::Writable { path, by: FileWriter::Group(_) } => {
                format!("`chmod g-w {}`, or allow it with `--allow-writable-plugins`", path.display())
            }
            Self::Writable { by: FileWriter::User(_), .. } => {
                "copy it to make it your own, or allow it with `--allow-writable-plugins`".into()
            }
            Self::Table { .. } => "compile the plugin with the `relais.h` of this host's `relais-plugin-api`".into(),
            Self::NoRecords => "build it from a crate with `plugin! { … }`, `crate-type = [\"cdylib\"]`".into(),
            Self::Record(error) if error.is_of_later_version() => "update the host: `cargo install relais-opt`".into(),
            Self::Record(RecordError::NoPlugin) => "put `plugin! { description = \"…\" }` into its `lib.rs`".into(),
            Self::Record(RecordError::TwoPlugins { .. }) => {
                "a plugin must not depend on another one: move what both use into a third crate".into()
            }
            Self::Record(RecordError::TwoAdditions(_)) => {
                "one addition may have all parts: put them into one, or give one of the two another target".into()
            }
            Self::Record(RecordError::Reserved { .. }) => {
                "give the pass a name in a namespace of your own, such as `acme.FuseMyThing`".into()
            }
            Self::Record(_) => "build or copy it again".into(),
            Self::Boundary { plugin, needs } if plugin.max(needs) > &BOUNDARY => format!(
                "update the host: `cargo install relais-opt`; or build the plugin with the feature `api-{}-{}` of \
                 `relais-plugin-api`, if it can do without what is newer",
                BOUNDARY.major, BOUNDARY.minor
            ),
            Self::Boundary { .. } => change(),
            Self::Fingerprint { .. } | Self::Layout { .. } | Self::Entry { .. } => update(),
            Self::Target { .. } => format!("build it for this system: `cargo build --release --target {TARGET}`"),
            Self::Panic { .. } => {
                "remove `panic = \"abort\"` from the profile in its `Cargo.toml` and rebuild it".into()
            }
            Self::Isolation { .. } => "install the plugin again, or remove that file".into(),
            Self::Description { .. } | Self::OtherProgram { .. } | Self::Undescribed => {
                "`relais plugin record` writes the file of records beside a program".into()
            }
            Self::Program { error } if error.rec().help.is_empty() => return None,
            Self::Program { error } => error.rec().help.to_string(),
            Self::Replaced => "run again".into(),
            Self::Open { .. } => "`relais plugin check` shows the libraries and symbols that it needs and lacks".into(),
            Self::Missing | Self::Unreadable { .. } => "check the path and the permissions".into(),
            Self::NotAFile => "name the library's file; `--plugin-dir` takes a folder".into(),
            Self::NotALibrary { .. } => format!("build or copy it again, for `{TARGET}`"),
            Self::Init(_) => return None,
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::NotAFile => f.write_str("it is not a file"),
            Self::Unreadable { why } => write!(f, "it cannot be read: {why}"),
            Self::NotALibrary { why } => write!(f, "it is not a shared library: {why}"),
            Self::NoRecords => f.write_str("it is not a plugin: it has no records"),
            Self::Record(error) => error.fmt(f),
            Self::Writable { path, by: FileWriter::Everybody } => {
                write!(f, "everybody may change `{}`", path.display())
            }
            Self::Writable { path, by: FileWriter::Group(gid) } => {
                write!(f, "the members of group {gid} may change `{}`", path.display())
            }
            Self::Writable { path, by: FileWriter::User(uid) } => {
                write!(f, "`{}` belongs to user {uid}, who may change it", path.display())
            }
            Self::Boundary { plugin, needs } => {
                write!(f, "it was built for version {plugin} of the plugin boundary")?;
                if needs < plugin || *needs > BOUNDARY && needs != plugin {
                    write!(f, " and needs {needs}")?;
                }
                f.write_str(", and this host takes ")?;
                let first = BOUNDARY.first_compatible();
                if first == BOUNDARY { write!(f, "{BOUNDARY}") } else { write!(f, "{first} to {BOUNDARY}") }
            }
            Self::Target { plugin } => write!(f, "it was built for `{plugin}`, and this host is `{TARGET}`"),
            Self::Panic { strategy } => {
                write!(f, "it was built with `panic = \"{strategy}\"`: its first panic would end the process")
            }
            Self::Fingerprint { api, rustc } => {
                f.write_str("its types are laid out differently, though its version of the plugin boundary fits ")?;
                let api = if api.is_empty() { "?" } else { api };
                write!(f, "(built by `{rustc}` with `relais-plugin-api` {api}, this host by `{RUSTC}` with {API})")
            }
            Self::Isolation { why } => f.write_str(why),
            Self::Description { why } => write!(f, "its description is not one: {why}"),
            Self::OtherProgram { records } => {
                write!(f, "`{}` describes another state of it, or another program", records.display())
            }
            Self::Undescribed => f.write_str("what it has is in no file beside it, and it is not run to say it"),
            Self::Program { error } => {
                f.write_str(&error.rec().message)?;
                error.rec().notes.iter().try_for_each(|note| write!(f, "\n  note: {note}"))
            }
            Self::Replaced => f.write_str("it was replaced after it had been looked at"),
            Self::Open { why } => write!(f, "the system does not open it: {why}"),
            Self::Entry { symbol, why } => write!(f, "its entry `{symbol}` is not usable: {why}"),
            Self::Table { symbol, why } => write!(f, "its table `{symbol}` is not usable: {why}"),
            Self::Layout { why } => write!(f, "the types that cross the boundary differ: {why}"),
            Self::Init(error) => write!(f, "its initialiser failed: {error}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Whether a plugin with this record can be opened.
///
/// # Errors
/// Returns the most important reason against it.
pub fn judge(plugin: &PluginRecord) -> Result<(), Refusal> {
    reasons(plugin).next().map_or(Ok(()), Err)
}

/// Everything in its record that speaks against opening a plugin, the most important first.
pub(crate) fn reasons(plugin: &PluginRecord) -> impl Iterator<Item = Refusal> {
    let (built, needs) = (plugin.boundary, plugin.needs);
    let boundary = (!BOUNDARY.takes(built, needs)).then_some(Refusal::Boundary { plugin: built, needs });
    // Where no types are shared, the system's own check of the file is enough.
    let shares_types = !plugin.takes_bytes;
    let target = (shares_types && plugin.target != TARGET).then(|| Refusal::Target { plugin: plugin.target.clone() });
    let panic = (shares_types && plugin.panic != "unwind").then(|| Refusal::Panic { strategy: plugin.panic.clone() });
    // Another version or machine lays types out differently, and is the better reason.
    let is_other_layout = shares_types && plugin.fingerprint != FINGERPRINT && boundary.is_none() && target.is_none();
    let fingerprint =
        is_other_layout.then(|| Refusal::Fingerprint { api: plugin.api.clone(), rustc: plugin.rustc.clone() });
    [boundary, target, panic, fingerprint].into_iter().flatten()
}
