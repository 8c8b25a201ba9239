//! A plugin that provides something.

use super::error::CreateError;
use crate::{
    isolation::Isolation,
    options::{OptionSchema, complete},
    plugin::{Close, DropFaults, Made, OWN_PLUGINS, OpenPlugin, PluginRecord, Records, Refusal, Running},
    worker::{Worker, WorkerSpec},
};
use relais_plugin_api::{boundary::abi::PluginRef, diagnostics::PassError, options::Value};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// A plugin that provides something.
pub struct Provider {
    pub(super) records: Records,
    source: ProviderSource,
    open: OnceLock<Result<OpenPlugin, Refusal>>,
    /// The SHA-256 that its file must have when it is opened.
    sha256: OnceLock<String>,
    /// How its process is started and limited, if it is isolated.
    isolated: Option<Isolated>,
    pub(super) faults: DropFaults,
}

/// How a plugin's process is started and limited.
#[derive(Clone)]
pub(super) struct Isolated {
    pub isolation: Isolation,
    /// The knowledge of the registry that its process needs.
    pub around: Arc<Around>,
}

/// The knowledge of the registry that the process of an isolated plugin needs.
#[derive(Default)]
pub(super) struct Around {
    pub files: Vec<PathBuf>,
    pub is_linked: bool,
    pub target: String,
    pub preferences: Vec<[String; 3]>,
}

#[derive(Clone)]
pub(super) enum ProviderSource {
    /// The file, the bytes of its records as they were read, whether the user named it, and how the file beside it
    /// isolates it.
    File(PathBuf, Arc<[u8]>, bool, Option<Isolation>),
    Linked(fn() -> PluginRef),
}

impl Provider {
    pub(super) fn new(records: Records, source: ProviderSource) -> Self {
        Self {
            records,
            source,
            open: OnceLock::new(),
            sha256: OnceLock::new(),
            isolated: None,
            faults: DropFaults::default(),
        }
    }

    /// The same plugin, isolated.
    pub(super) fn isolate(&self, isolated: Isolated) -> Self {
        let sha256 = self.sha256.clone();
        Self { sha256, isolated: Some(isolated), ..Self::new(self.records.clone(), self.source.clone()) }
    }

    /// How its process is limited, and what that can reach, if it is isolated.
    pub fn isolation(&self) -> Option<&Isolation> {
        self.isolated.as_ref().map(|isolated| &isolated.isolation)
    }

    /// How the file beside its own isolates it.
    pub(super) fn demanded(&self) -> Option<&Isolation> {
        match &self.source {
            ProviderSource::File(.., isolation) => isolation.as_ref(),
            ProviderSource::Linked(_) => None,
        }
    }

    /// Returns its records.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Its file; none when it is linked into this program.
    pub fn path(&self) -> Option<&Path> {
        match &self.source {
            ProviderSource::File(path, ..) => Some(path),
            ProviderSource::Linked(_) => None,
        }
    }

    /// Whether it is one of those that are shipped with the host: what it describes stands until another is chosen.
    pub(super) fn is_shipped(&self) -> bool {
        self.records.plugin.name.starts_with(OWN_PLUGINS)
    }

    /// Whether the user named its file.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.source, ProviderSource::File(_, _, true, _))
    }

    /// Whether its library was opened.
    pub fn is_open(&self) -> bool {
        self.open.get().is_some()
    }

    /// Opens it, once.
    pub(crate) fn open(&self) -> Result<OpenPlugin, Refusal> {
        let open = || match (&self.isolated, &self.source) {
            (Some(isolated), _) => Ok(OpenPlugin::Away(Arc::new(self.worker(isolated)))),
            (None, ProviderSource::File(path, section, ..)) => {
                OpenPlugin::open(path, &self.records.plugin, section, self.sha256.get().map(String::as_str))
            }
            (None, ProviderSource::Linked(root)) => Ok(OpenPlugin::linked(root())),
        };
        let open = || {
            log::debug!("plugin {} is opened", self.describe());
            open()
        };
        self.open.get_or_init(open).clone()
    }

    fn worker(&self, isolated: &Isolated) -> Worker {
        let Isolated { isolation, around } = isolated.clone();
        Worker::new(WorkerSpec {
            plugin: self.records.plugin.name.clone(),
            file: self.path().map(Path::to_owned),
            sha256: self.sha256.get().cloned(),
            files: around.files.clone(),
            is_linked: around.is_linked,
            target: around.target.clone(),
            preferences: around.preferences.clone(),
            isolation,
            faults: self.faults.clone(),
        })
    }

    /// Refuses to open any bytes except those of that SHA-256. The first one set applies.
    pub(crate) fn insist_on(&self, sha256: &str) {
        if self.path().is_some() {
            let _ = self.sha256.set(sha256.to_owned());
        }
    }

    /// Has the plugin make a pass or an instrument: checks its options, opens the library if it was not, and calls
    /// `make` with all options. Returns these and the item.
    pub(crate) fn make<T: Close>(
        &self,
        what: &str,
        schema: &[OptionSchema],
        options: &Value,
        make: impl FnOnce(OpenPlugin, &[u8]) -> Result<T, PassError>,
    ) -> Result<(Value, Made<T>), CreateError> {
        let plugin = || self.describe();
        let options =
            complete(schema, options).map_err(|error| CreateError::Options { what: what.to_owned(), error })?;
        let open = self.open();
        let open = open.map_err(|refusal| CreateError::Open { what: what.to_owned(), plugin: plugin(), refusal })?;
        let guarded = self.guarded(what);
        let running = Running::new(&guarded);
        let made = make(open, &options.encode());
        drop(running);
        let made = made.map_err(|error| CreateError::Make { what: what.to_owned(), plugin: plugin(), error })?;
        Ok((options, Made::new(made, guarded, self.faults.clone())))
    }

    /// Itself in `what`, for the guard against plugins that end the process.
    pub(crate) fn guarded(&self, what: &str) -> Arc<str> {
        let PluginRecord { name, version, .. } = &self.records.plugin;
        format!("plugin `{name} {version}`, in {what},").into()
    }

    /// Name, version and file, for messages.
    pub(crate) fn describe(&self) -> String {
        let PluginRecord { name, version, .. } = &self.records.plugin;
        match self.path() {
            Some(path) => format!("`{name} {version}` (`{}`)", path.display()),
            None => format!("`{name} {version}` (linked)"),
        }
    }
}
