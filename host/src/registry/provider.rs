//! A plugin that provides something.

use super::error::CreateError;
use crate::{
    isolation::Isolation,
    options::{OptionSchema, complete},
    plugin::{
        Close, Described, DropFaults, FoundPlugin, Made, OWN_PLUGINS, OpenPlugin, PluginRecord, Records, Refusal,
        Running,
    },
    worker::{Beside, Worker, WorkerSpec},
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
    /// The version that its interpreter must have when it is opened.
    interpreter: OnceLock<String>,
    /// How its process is started and limited, if it is isolated.
    isolated: Option<Isolated>,
    /// How many times the plugin was read, this one included.
    generation: u32,
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
    File(ProviderFile),
    Linked(fn() -> PluginRef),
}

/// The file of a plugin.
#[derive(Clone)]
pub(super) struct ProviderFile {
    pub path: PathBuf,
    /// The bytes of its records as they were read.
    pub section: Arc<[u8]>,
    /// Whether the user named it.
    pub is_named: bool,
    /// How the file beside it isolates it.
    pub isolation: Option<Isolation>,
    /// The SHA-256 of the file that the records are of, if it is a program.
    pub sha256: Option<String>,
}

impl Provider {
    pub(super) fn new(records: Records, source: ProviderSource) -> Self {
        Self {
            records,
            source,
            open: OnceLock::new(),
            sha256: OnceLock::new(),
            interpreter: OnceLock::new(),
            isolated: None,
            generation: 1,
            faults: DropFaults::default(),
        }
    }

    /// The same plugin, isolated.
    pub(super) fn isolate(&self, isolated: Isolated) -> Self {
        let (sha256, interpreter) = (self.sha256.clone(), self.interpreter.clone());
        let generation = self.generation;
        let new = Self::new(self.records.clone(), self.source.clone());
        Self { sha256, interpreter, isolated: Some(isolated), generation, ..new }
    }

    /// The plugin that its file is now, isolated as the file beside it says now, or else as this one is.
    pub(crate) fn again(&self, found: FoundPlugin) -> Self {
        let FoundPlugin { path, records, section, isolation, sha256, .. } = found;
        let file = ProviderFile { path, section, is_named: self.is_named(), isolation, sha256 };
        let isolated = self.isolated.clone().map(|isolated| match &file.isolation {
            Some(isolation) => Isolated { isolation: isolation.clone(), ..isolated },
            None => isolated,
        });
        let new = Self::new(records, ProviderSource::File(file));
        Self { isolated, generation: self.generation + 1, ..new }
    }

    /// How many times the plugin was read.
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// How its process is limited, and what that can reach, if it is isolated.
    pub fn isolation(&self) -> Option<&Isolation> {
        self.isolated.as_ref().map(|isolated| &isolated.isolation)
    }

    /// How the file beside its own isolates it.
    pub(super) fn demanded(&self) -> Option<&Isolation> {
        self.file().and_then(|file| file.isolation.as_ref())
    }

    fn file(&self) -> Option<&ProviderFile> {
        match &self.source {
            ProviderSource::File(file) => Some(file),
            ProviderSource::Linked(_) => None,
        }
    }

    /// Whether it is a file of Python. It is isolated, and its passes receive modules as a whole.
    pub fn is_program(&self) -> bool {
        self.file().is_some_and(|file| file.sha256.is_some())
    }

    /// Returns its records.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Its file; none when it is linked into this program.
    pub fn path(&self) -> Option<&Path> {
        self.file().map(|file| &*file.path)
    }

    /// Whether it is one of those that are shipped with the host: what it describes stands until another is chosen.
    pub(super) fn is_shipped(&self) -> bool {
        self.records.plugin.name.starts_with(OWN_PLUGINS)
    }

    /// Whether the user named its file.
    pub(super) fn is_named(&self) -> bool {
        self.file().is_some_and(|file| file.is_named)
    }

    /// Whether its library was opened.
    pub fn is_open(&self) -> bool {
        self.open.get().is_some()
    }

    /// Opens it, once.
    pub(crate) fn open(&self) -> Result<OpenPlugin, Refusal> {
        let open = || match (&self.isolated, &self.source) {
            (Some(isolated), _) => Ok(OpenPlugin::Away(Arc::new(self.worker(isolated)))),
            (None, ProviderSource::File(file)) => {
                let sha256 = self.sha256.get().map(String::as_str);
                OpenPlugin::open(&file.path, &self.records.plugin, &file.section, sha256)
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
        let program = self.file().and_then(|file| {
            let (records, section) = (self.records.clone(), file.section.clone());
            Some(Described { records, section, sha256: file.sha256.clone()? })
        });
        Worker::new(WorkerSpec {
            plugin: self.records.plugin.name.clone(),
            file: self.path().map(Path::to_owned),
            sha256: self.sha256.get().cloned(),
            interpreter: self.interpreter.get().cloned(),
            beside: Beside::Imported,
            program: program.map(Some),
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

    /// Refuses to run it in another interpreter than one of that version.
    pub(crate) fn insist_on_interpreter(&self, version: &str) {
        if self.is_program() && !version.is_empty() {
            let _ = self.interpreter.set(version.to_owned());
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
