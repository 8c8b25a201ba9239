//! Plugins that are programs in another language, which the process loads instead of opening a library.

use super::{Server, arranged, enter_sandbox, linked, path};
use crate::{
    pass::RunnablePass,
    plugin::{Policy, WritableFiles, discover, is_program, sha256_of_bytes, writable},
    registry::{Choices, Registry},
    worker::{Message, kind, tag},
};
use relais_plugin_api::{diagnostics::PassError, options::Value};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A language in which plugins are programs.
pub trait Language: Sync {
    /// The version of its interpreter, such as `Python 3.11.7`.
    fn version(&self) -> String;

    /// Where that is.
    fn interpreter(&self) -> String;

    /// The folders that its programs read while they are loaded, and later: its library, and its packages.
    fn reads(&self) -> Vec<PathBuf>;

    /// Loads a program.
    ///
    /// # Errors
    /// Returns an error if it cannot be loaded.
    fn load(&self, loading: Loading<'_>) -> Result<Box<dyn Program>, PassError>;
}

/// A program that is to be loaded.
pub struct Loading<'a> {
    /// Its file.
    pub path: &'a Path,
    /// The bytes of the file.
    pub source: Vec<u8>,
    /// Their SHA-256, which the description states.
    pub sha256: String,
    /// The other programs in its folder, which it can read.
    pub beside: Vec<PathBuf>,
    /// The plugins that it may use.
    pub registry: Registry,
}

/// A program that was loaded.
pub trait Program: Send + Sync {
    /// A description of what it has, in TOML.
    fn description(&self) -> String;

    /// Makes a pass: full name, and a table with all of its options.
    ///
    /// # Errors
    /// Returns an error if it does not have the pass, or this cannot be made.
    fn create(&self, name: &str, options: Value) -> Result<Arc<dyn RunnablePass>, PassError>;
}

/// The other programs in the folder of one, except those that other users may write.
fn files_beside(file: &Path) -> Vec<PathBuf> {
    let folder = std::path::absolute(file).ok().and_then(|file| Some(file.parent()?.to_owned()));
    let entries = folder.and_then(|folder| folder.read_dir().ok()).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    // A link may lead anywhere, and others may write what they like.
    let is_whole = |other: &Path| other.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    files.retain(|other| is_program(other) && other.file_name() != file.file_name() && is_whole(other));
    files.retain(|other| writable(other, Policy::default()).is_none());
    files.sort();
    files
}

impl Server {
    /// Loads the program that the host wants.
    pub(super) fn load(mut message: Message, language: &dyn Language) -> Result<Self, PassError> {
        Self::begin(&mut message)?;
        let (name, file) = (message.text(tag::NAME).to_owned(), path(message.bytes(tag::OWN_FILE)));
        let unreadable = |error| PassError::new(format_args!("`{}` cannot be read: {error}", file.display()));
        let source = fs::read(&file).map_err(unreadable)?;
        let sha256 = sha256_of_bytes(&source);
        if message.has(tag::SHA256) && message.text(tag::SHA256) != sha256 {
            return Err(PassError::new("it was replaced after it had been looked at").help("run again"));
        }
        let files: Vec<PathBuf> = message.all(tag::FILE).map(|field| path(field.bytes)).collect();
        let libraries: Vec<PathBuf> = files.iter().filter(|other| **other != file).cloned().collect();
        let mut found = discover(&[], &libraries, Policy { writable: WritableFiles::Allow });
        // Processes are not started here.
        found.programs.clear();
        found.plugins.iter_mut().for_each(|plugin| plugin.isolation = None);
        let registry = arranged(Registry::new(found, linked(&message), &Choices::new()), &message);
        let reads = language.reads();
        let version = language.version();
        if message.has(tag::TEXT) && message.text(tag::TEXT) != version {
            let wanted = message.text(tag::TEXT);
            let error = format_args!("it is locked to {wanted}, and would run in {version}");
            return Err(PassError::new(error).help("`RELAIS_PYTHON` names another one; or lock the pipeline again"));
        }
        let opened = Message::new(kind::OPENED).with(tag::TEXT, version.as_bytes());
        let mut opened = opened.with(tag::NAME, language.interpreter().as_bytes());
        for folder in &reads {
            opened = opened.with(tag::READ, folder.as_os_str().as_encoded_bytes());
        }
        let beside = if message.has(tag::ALONE) { Vec::new() } else { files_beside(&file) };
        let files = [files, vec![file.clone()], beside.clone()].concat();
        let sandbox = enter_sandbox(&message, &name, &files, Some(reads))?;
        let loaded = language.load(Loading { path: &file, source, sha256, beside, registry: registry.clone() });
        if let Some(sandbox) = sandbox {
            sandbox.close().map_err(|why| PassError::new(format_args!("its sandbox cannot be closed: {why}")))?;
        }
        Ok(Self { opened, ..Self::new(name, registry, Some(loaded?)) })
    }
}
