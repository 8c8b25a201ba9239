//! Opening a library: the one place where a plugin's code begins to run.
#![expect(unsafe_code, reason = "opening a library")]

use super::{exit_guard::Running, file::section_of, record::PluginRecord, verdict::Refusal};
use crate::services;
use abi_stable::{
    StableAbi,
    abi_stability::abi_checking::check_layout_compatibility,
    library::{AbiHeaderRef, LibHeader},
};
use libloading::Library;
use relais_plugin_api::boundary::abi::PluginRef;
use std::{ffi::OsString, fs, path::Path, sync::Arc};

/// A plugin whose code may be called. It is never closed: threads, thread-locals and values of its may outlive every
/// use that the host knows of.
#[derive(Clone, Copy)]
pub struct OpenPlugin {
    /// Its table.
    pub root: PluginRef,
}

impl OpenPlugin {
    /// Opens a plugin that was found and judged: its file, its record, and the bytes of all its records.
    ///
    /// # Errors
    /// When its bytes changed since, the system does not open it, it is built differently than its record says, or
    /// its initialiser fails.
    pub fn open(file: &Path, plugin: &PluginRecord, section: &[u8]) -> Result<Self, Refusal> {
        let what: Arc<str> = format!("plugin `{} {}`, being opened,", plugin.name, plugin.version).into();
        let _running = Running::new(&what);
        let bytes = fs::read(file).map_err(|error| super::file::unreadable(&error))?;
        if section_of(&*bytes).ok().as_deref() != Some(section) {
            return Err(Refusal::Replaced);
        }
        let path = sealed_copy(&bytes, file).unwrap_or_else(|| file.as_os_str().to_owned());
        drop(bytes);
        let library = open_library(&path).map_err(|error| Refusal::Open { why: one_line(&error.to_string()) })?;
        let library: &'static Library = Box::leak(Box::new(library));
        let entry = |why: String| Refusal::Entry { symbol: plugin.entry.clone(), why: one_line(&why) };
        // SAFETY: the record says that the symbol is a `LibHeader`, whose first part is the header that
        // `AbiHeaderRef` points at; the fingerprint says that the record was written by this version's macros.
        let header = unsafe { library.get::<AbiHeaderRef>(plugin.entry.as_bytes()) };
        let header: AbiHeaderRef = *header.map_err(|error| entry(error.to_string()))?;
        let header: &'static LibHeader = header.upgrade().map_err(|error| entry(error.to_string()))?;
        let layout = header.layout().ok_or_else(|| entry("it does not describe its types".into()))?;
        // The plugin is the interface and the host the implementation: a host may have more than a plugin knows.
        check_layout_compatibility(layout, <PluginRef as StableAbi>::LAYOUT)
            .map_err(|errors| Refusal::Layout { why: one_line(&errors.to_string()) })?;
        // SAFETY: the layout was checked.
        let root = unsafe { header.init_root_module_with_unchecked_layout::<PluginRef>() };
        let root = root.map_err(|error| entry(error.to_string()))?;
        Self::init(root)
    }

    /// A plugin that is linked into this program. It shares the program's logger, so there is nothing to set up.
    pub fn linked(root: PluginRef) -> Self {
        Self { root }
    }

    fn init(root: PluginRef) -> Result<Self, Refusal> {
        (root.init())(services::SETUP, log::max_level() as u8).into_result().map_err(Refusal::Init)?;
        Ok(Self { root })
    }
}

#[cfg(unix)]
fn open_library(path: &OsString) -> Result<Library, libloading::Error> {
    use libloading::os::unix::{Library as UnixLibrary, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: opening runs the library's constructors, which is what the user asked for by naming the plugin; its
    // record was judged before.
    unsafe { UnixLibrary::open(Some(path), RTLD_NOW | RTLD_LOCAL).map(Library::from) }
}

#[cfg(not(unix))]
fn open_library(path: &OsString) -> Result<Library, libloading::Error> {
    // SAFETY: as on Unix.
    unsafe { Library::new(path) }
}

/// A copy of the bytes in memory that nobody can change any more, so that what is opened is what was judged. `None`
/// where the system has no such thing or does not allow to run it.
#[cfg(target_os = "linux")]
fn sealed_copy(bytes: &[u8], path: &Path) -> Option<OsString> {
    use std::{
        ffi::CString,
        io::Write,
        os::fd::{AsRawFd, FromRawFd, IntoRawFd},
    };
    let name = CString::new(path.file_name()?.to_string_lossy().as_bytes()).ok()?;
    // SAFETY: the name ends with a zero.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return None;
    }
    // SAFETY: the descriptor was made above and nobody else has it.
    let mut file = unsafe { fs::File::from_raw_fd(fd) };
    file.write_all(bytes).ok()?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE | libc::F_SEAL_SEAL;
    // SAFETY: the descriptor is open.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
        return None;
    }
    // It stays open, for whoever reads the library's symbols for a backtrace.
    let fd = file.into_raw_fd();
    Some(format!("/proc/self/fd/{fd}").into())
}

#[cfg(not(target_os = "linux"))]
fn sealed_copy(_: &[u8], _: &Path) -> Option<OsString> {
    None
}

/// The first line that says something, and not too much of it: layout reports run to a megabyte.
fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(200).collect()
}
