//! Opening a library: the one place where a plugin's code begins to run.
#![expect(unsafe_code, reason = "opening a library")]

use super::{
    c_table::CPlugin,
    exit_guard::{Running, loaded},
    file::{read_section, unreadable},
    hash::sha256_of,
    record::PluginRecord,
    setup::SETUP,
    verdict::Refusal,
};
use abi_stable::{
    StableAbi,
    abi_stability::abi_checking::check_layout_compatibility,
    library::{AbiHeaderRef, LibHeader},
};
use libloading::Library;
use relais_plugin_api::{
    boundary::{
        abi::{
            CallCx, CallEntry, EvalEntry, InferEntry, PassObject, PluginRef,
            analysis::{AnalysisObject, SubjectRec},
            error_kind,
            instrument::InstrumentObject,
        },
        guard::caught,
        record::BOUNDARY,
    },
    diagnostics::PassError,
};
use std::{
    ffi::OsStr,
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A plugin whose code may be called. It is never closed: its threads, thread-locals and values may outlive every use
/// that the host knows of.
#[derive(Clone)]
pub enum OpenPlugin {
    /// One that has this library's types: its table.
    Table(PluginRef),
    /// One that is handed bytes.
    Bytes(CPlugin),
    /// One in a process of its own.
    Away(Arc<dyn Away>),
}

/// A plugin in a process of its own.
pub trait Away: Send + Sync {
    /// Makes a pass: full name, options as an encoded table.
    ///
    /// # Errors
    /// Returns an error if the plugin does, or its process cannot be started.
    fn create_pass(self: Arc<Self>, name: &str, options: &[u8]) -> Result<PassObject, PassError>;

    /// Makes an instrument: full name, options as an encoded table.
    ///
    /// # Errors
    /// Returns an error if the plugin does, or its process cannot be started.
    fn create_instrument(self: Arc<Self>, _: &str, _: &[u8]) -> Result<InstrumentObject, PassError> {
        Err(PassError::with_kind(error_kind::HOST, "a plugin of this kind has no instruments"))
    }

    /// Has it compute an analysis.
    ///
    /// # Errors
    /// Returns an error if the analysis fails.
    fn analyse(&self, _: &str, _: &SubjectRec<'_>) -> Result<AnalysisObject, PassError> {
        Err(PassError::with_kind(error_kind::HOST, "a plugin of this kind has no analyses"))
    }

    /// The type relation of an operator: domain, name, first version.
    fn infer(self: Arc<Self>, _: (&str, &str, u32)) -> Option<InferEntry> {
        None
    }

    /// The evaluator of an operator: domain, name, first version.
    fn eval(self: Arc<Self>, _: (&str, &str, u32)) -> Option<EvalEntry> {
        None
    }

    /// A function of an operator that looks at one call; with a target, of an addition for it.
    fn call_entry(self: Arc<Self>, _: u8, _: (&str, &str, u32), _: Option<&str>) -> Option<CallEntry> {
        None
    }
}

impl OpenPlugin {
    /// Opens a plugin that was found and checked: its file, its record, and the bytes of all its records; also the
    /// SHA-256 that the file must have, if it is enforced.
    ///
    /// # Errors
    /// Returns an error if its bytes have changed, the system does not open it, it is built differently than its record
    /// claims, or its initialiser fails.
    pub fn open(file: &Path, plugin: &PluginRecord, section: &[u8], sha256: Option<&str>) -> Result<Self, Refusal> {
        let what: Arc<str> = format!("plugin `{} {}`, being opened,", plugin.name, plugin.version).into();
        let _running = Running::new(&what);
        let mut source = File::open(file).map_err(|error| unreadable(&error))?;
        let copy = sealed_copy(&mut source, file, Path::new(DESCRIPTORS));
        let path = copy.unwrap_or_else(|| file.to_owned());
        let hash = sha256.map(|_| sha256_of(&path)).transpose().map_err(|error| unreadable(&error))?;
        let is_other = hash.as_deref() != sha256;
        if is_other || read_section(&path).ok().as_deref() != Some(section) {
            return Err(Refusal::Replaced);
        }
        // The copy in memory has a name that means nothing to the user.
        let known = |why: &str| one_line(&why.replace(&*path.to_string_lossy(), &file.to_string_lossy()));
        let library =
            open_library(path.as_os_str()).map_err(|error| Refusal::Open { why: known(&error.to_string()) })?;
        let library: &'static Library = Box::leak(Box::new(library));
        let entry = |why: String| Refusal::Entry { symbol: plugin.entry.clone(), why: known(&why) };
        if plugin.takes_bytes {
            // SAFETY: the symbol is only looked at, as a number.
            let table = unsafe { library.get::<*const u32>(plugin.entry.as_bytes()) };
            let unusable = |why: String| Refusal::Table { symbol: plugin.entry.clone(), why: known(&why) };
            let table = *table.map_err(|error| unusable(error.to_string()))?;
            // SAFETY: according to the record the symbol is the table of a plugin that is handed bytes.
            let opened = unsafe { CPlugin::new(table, &plugin.name) }.map_err(unusable)?;
            loaded(opened.address(), &format!("plugin `{} {}`", plugin.name, plugin.version));
            return Ok(Self::Bytes(opened));
        }
        // SAFETY: according to the record the symbol is a `LibHeader`, whose first part is the header that
        // `AbiHeaderRef` points at; according to the fingerprint the record was written by this version's macros.
        let header = unsafe { library.get::<AbiHeaderRef>(plugin.entry.as_bytes()) };
        let header: AbiHeaderRef = *header.map_err(|error| entry(error.to_string()))?;
        loaded((&raw const *header).cast(), &format!("plugin `{} {}`", plugin.name, plugin.version));
        // A damaged description of types makes every reader of it panic.
        let opened = caught(|| {
            let header: &'static LibHeader = header.upgrade().map_err(|error| entry(error.to_string()))?;
            let layout = header.layout().ok_or_else(|| entry("it does not describe its types".into()))?;
            // The older one is the interface and the newer one the implementation, which may have more than it knows.
            let own = <PluginRef as StableAbi>::LAYOUT;
            let (interface, implementation) = if plugin.boundary > BOUNDARY { (own, layout) } else { (layout, own) };
            check_layout_compatibility(interface, implementation)
                .map_err(|errors| Refusal::Layout { why: first_difference(&errors.to_string()) })?;
            // SAFETY: the layout was checked.
            let root = unsafe { header.init_root_module_with_unchecked_layout::<PluginRef>() };
            let root = root.map_err(|error| entry(error.to_string()))?;
            Self::init(root)
        });
        opened.unwrap_or_else(|panic| {
            let why = format!("its description of its types is damaged: {}", panic.rec().message);
            Err(entry(why))
        })
    }

    /// A plugin that is linked into this program. It shares the program's logger, so there is nothing to set up.
    pub fn linked(root: PluginRef) -> Self {
        Self::Table(root)
    }

    /// Makes a pass: full name, options as an encoded table.
    ///
    /// # Errors
    /// Returns an error if the plugin does.
    pub(crate) fn create_pass(&self, name: &str, options: &[u8]) -> Result<PassObject, PassError> {
        match self {
            Self::Table(root) => (root.create_pass())(SETUP, name.into(), options.into()).into_result(),
            Self::Bytes(plugin) => plugin.create_pass(name, options),
            Self::Away(plugin) => plugin.clone().create_pass(name, options),
        }
    }

    /// Makes an instrument: full name, options as an encoded table.
    ///
    /// # Errors
    /// Returns an error if the plugin does, or can have none.
    pub(crate) fn create_instrument(&self, name: &str, options: &[u8]) -> Result<InstrumentObject, PassError> {
        match self {
            Self::Table(root) => (root.create_instrument())(SETUP, name.into(), options.into()).into_result(),
            Self::Bytes(_) => {
                Err(PassError::with_kind(error_kind::HOST, "a plugin that is handed bytes has no instruments"))
            }
            Self::Away(plugin) => plugin.clone().create_instrument(name, options),
        }
    }

    /// The type relation of an operator: domain, name, first version.
    pub(crate) fn infer(&self, op: (&str, &str, u32)) -> Option<InferEntry> {
        let (domain, name, since) = op;
        match self {
            Self::Table(root) => (root.infer())(domain.into(), name.into(), since).into_option(),
            Self::Bytes(plugin) => plugin.infer(op),
            Self::Away(plugin) => plugin.clone().infer(op),
        }
    }

    /// The evaluator of an operator: domain, name, first version.
    pub(crate) fn eval(&self, op: (&str, &str, u32)) -> Option<EvalEntry> {
        let (domain, name, since) = op;
        match self {
            Self::Table(root) => (root.eval())(domain.into(), name.into(), since).into_option(),
            Self::Bytes(plugin) => plugin.eval(op),
            Self::Away(plugin) => plugin.clone().eval(op),
        }
    }

    /// A function of an operator that looks at one call; with `target`, of an addition for it.
    pub(crate) fn call_entry(&self, part: u8, op: (&str, &str, u32), target: Option<&str>) -> Option<CallEntry> {
        let (domain, name, since) = op;
        match (self, target) {
            (Self::Table(root), None) => root.call()?(part, domain.into(), name.into(), since).into_option(),
            (Self::Table(root), Some(target)) => {
                root.added()?(part, domain.into(), name.into(), since, target.into()).into_option()
            }
            (Self::Bytes(plugin), _) => plugin.call_entry(part, op),
            (Self::Away(plugin), target) => plugin.clone().call_entry(part, op, target),
        }
    }

    /// Computes an analysis; nothing if it lacks the function that does.
    pub(crate) fn analyse(
        &self,
        call: &CallCx<'_>,
        name: &str,
        of: &SubjectRec<'_>,
    ) -> Option<Result<AnalysisObject, PassError>> {
        match self {
            Self::Table(root) => Some(root.analyse()?(call, name.into(), of).into_result()),
            Self::Bytes(_) => None,
            Self::Away(plugin) => Some(plugin.analyse(name, of)),
        }
    }

    fn init(root: PluginRef) -> Result<Self, Refusal> {
        (root.init())(SETUP, log::max_level() as u8).into_result().map_err(Refusal::Init)?;
        Ok(Self::Table(root))
    }
}

#[cfg(unix)]
fn open_library(path: &OsStr) -> Result<Library, libloading::Error> {
    use libloading::os::unix::{Library as UnixLibrary, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: opening runs the library's constructors, which is what the user asked for by naming the plugin; its
    // record was checked before.
    unsafe { UnixLibrary::open(Some(path), RTLD_NOW | RTLD_LOCAL).map(Library::from) }
}

#[cfg(not(unix))]
fn open_library(path: &OsStr) -> Result<Library, libloading::Error> {
    // SAFETY: as on Unix.
    unsafe { Library::new(path) }
}

/// Where the open files of this process have names.
const DESCRIPTORS: &str = "/proc/self/fd";

/// A copy of a file in memory that can no longer be changed, so that exactly the checked bytes are opened. `None` if the
/// system does not support this or does not allow the copy to be named: then the file itself is opened.
#[cfg(target_os = "linux")]
fn sealed_copy(file: &mut File, path: &Path, descriptors: &Path) -> Option<PathBuf> {
    use std::{
        ffi::CString,
        io,
        os::fd::{AsRawFd, FromRawFd, IntoRawFd},
    };
    let name = CString::new(path.file_name()?.to_string_lossy().as_bytes()).ok()?;
    // SAFETY: the name ends with a zero.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return None;
    }
    // SAFETY: the descriptor was made above and is not used elsewhere.
    let mut copy = unsafe { File::from_raw_fd(fd) };
    let len = io::copy(file, &mut copy).ok()?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE | libc::F_SEAL_SEAL;
    // SAFETY: the descriptor is open.
    if unsafe { libc::fcntl(copy.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
        return None;
    }
    let path = descriptors.join(copy.as_raw_fd().to_string());
    if path.metadata().ok()?.len() != len {
        return None;
    }
    // It stays open for readers of the library's symbols for a backtrace.
    let _ = copy.into_raw_fd();
    Some(path)
}

#[cfg(not(target_os = "linux"))]
fn sealed_copy(_: &mut File, _: &Path, _: &Path) -> Option<PathBuf> {
    None
}

/// The first difference in a report on layouts: the report may be a megabyte long, and begins with types that do not
/// differ.
fn first_difference(report: &str) -> String {
    let mut lines = report.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut ty = None;
    while let Some(line) = lines.next() {
        if line == "Layout of expected type:" {
            ty = lines.find_map(|line| line.strip_prefix("type:"));
        } else if let Some(what) = line.strip_prefix("Error:") {
            let mut after = |label: &str| lines.find(|line| *line == label).and_then(|_| lines.next());
            let sides = after("Expected:").zip(after("Found:"));
            let sides = sides.map(|(expected, found)| format!(" (expected {expected}, found {found})"));
            return one_line(&format!("`{}` has {what}{}", ty.unwrap_or("?"), sides.unwrap_or_default()));
        }
    }
    one_line(report)
}

/// The first line with content, cut to a reasonable length.
fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_copy_in_memory_needs_a_name() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let copy = |descriptors: &str| sealed_copy(&mut File::open(&file).unwrap(), &file, Path::new(descriptors));
        assert_eq!(fs::read(copy(DESCRIPTORS).unwrap()).unwrap(), fs::read(&file).unwrap());
        assert_eq!(copy("/nowhere"), None);
    }

    #[test]
    fn the_first_difference_of_a_report_is_shown() {
        let report = "Compared <this>:\n  type:Plugin\n0 error(s)inside:\n  <other>\n\nLayout of expected type:\n  \
                      --- Type Layout ---\n  type:HostSetup\n  size:8\n\nError:too many fields\nExpected:\n    2\n\
                      Found:\n    1\nError:another\n";
        assert_eq!(first_difference(report), "`HostSetup` has too many fields (expected 2, found 1)");
        assert_eq!(first_difference("Error:something\n"), "`?` has something");
        assert_eq!(first_difference("\n  another library's words\nand more\n"), "another library's words");
        assert!(first_difference(&format!("Error:{}", "x".repeat(1 << 20))).len() <= 200);
    }
}
