//! A plugin that ends the process must not make a run look as if it had succeeded, and one that panics where nothing
//! can be returned must not go unnoticed.
#![expect(unsafe_code, reason = "the C library's exit functions, and the stack of the thread that calls them")]

#[cfg(target_os = "linux")]
pub(super) mod exits;
#[cfg(windows)]
mod windows;

#[cfg(windows)]
use windows::library_of;

use super::signal_stack::prepare;
use crate::files::leave;
use relais_plugin_api::{
    boundary::{abi::PassObject, instrument::InstrumentObject},
    diagnostics::PassError,
};
use std::{
    cell::Cell,
    collections::BTreeMap,
    ffi::c_void,
    marker::PhantomData,
    mem::ManuallyDrop,
    ops::Deref,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The plugin code that runs now, in the order in which it began. With the places of libraries, this is the only state
/// that hosts of one process share: a process ends once.
static RUNNING: Mutex<BTreeMap<u64, Arc<str>>> = Mutex::new(BTreeMap::new());
/// Where the libraries of plugins begin in memory, and which plugins they are.
static LOADED: Mutex<BTreeMap<usize, Arc<str>>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);
#[cfg(not(windows))]
static REGISTER: std::sync::Once = std::sync::Once::new();
/// The process in which plugins that end it are named. A child that was forked is another one.
#[cfg(unix)]
static PROCESS: std::sync::OnceLock<u32> = std::sync::OnceLock::new();

/// The exit status of a process that a plugin ended.
const STATUS: i32 = 70;

/// A text that another place keeps.
#[derive(Clone, Copy)]
#[cfg_attr(not(unix), expect(dead_code, reason = "handlers of signals read it"))]
pub(super) struct Kept {
    pub start: *const u8,
    pub len: usize,
}

impl Kept {
    pub const NONE: Self = Self { start: std::ptr::null(), len: 0 };

    fn of(text: &str) -> Self {
        Self { start: text.as_ptr(), len: text.len() }
    }
}

thread_local! {
    /// The plugin's task on this thread, and the function that it was given.
    pub(super) static HERE: Cell<[Kept; 2]> = const { Cell::new([Kept::NONE; 2]) };
}

/// While this is alive, a crash of this thread is one of a plugin. The texts outlive it.
pub(crate) struct Here<'a> {
    before: [Kept; 2],
    texts: PhantomData<(&'a str, *const ())>,
}

impl<'a> Here<'a> {
    /// `what` completes "… ended the process"; `function` is the name of the function that the pass is given, or empty.
    pub(crate) fn new(what: &'a str, function: &'a str) -> Self {
        prepare();
        let before = HERE.replace([Kept::of(what), Kept::of(function)]);
        Self { before, texts: PhantomData }
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        HERE.set(self.before);
    }
}

/// While this is alive, a plugin is responsible if the process ends.
pub(crate) struct Running<'a> {
    id: u64,
    _here: Here<'a>,
}

impl<'a> Running<'a> {
    /// `what` completes "… ended the process".
    pub(crate) fn new(what: &'a Arc<str>) -> Self {
        #[cfg(windows)]
        windows::enter();
        #[cfg(not(windows))]
        REGISTER.call_once(|| {
            // SAFETY: the function is one of this program, which is never unloaded.
            unsafe { libc::atexit(at_exit) };
            #[cfg(unix)]
            PROCESS.get_or_init(std::process::id);
        });
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).insert(id, what.clone());
        Self { id, _here: Here::new(what, "") }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        #[cfg(windows)]
        windows::leave();
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// Something that a plugin made, and that its code drops.
pub(crate) struct Made<T: Close> {
    value: ManuallyDrop<T>,
    what: Arc<str>,
    faults: DropFaults,
}

/// Failures of a plugin where no error can be returned: it panicked while its objects were dropped.
pub(crate) type DropFaults = Arc<Mutex<Vec<String>>>;

/// Drops an object of a plugin.
pub(crate) trait Close {
    /// Drops it.
    ///
    /// # Errors
    /// Returns an error if the plugin's code panics.
    fn close(self) -> Result<(), PassError>;
}

impl<T: Close> Made<T> {
    /// `what` completes "… ended the process"; `faults` gets a failure to drop it.
    pub(crate) fn new(value: T, what: Arc<str>, faults: DropFaults) -> Self {
        Self { value: ManuallyDrop::new(value), what, faults }
    }

    /// For the guard: the subject of the plugin's code.
    pub(crate) fn what(&self) -> &Arc<str> {
        &self.what
    }
}

impl<T: Close> Deref for Made<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Close> Drop for Made<T> {
    fn drop(&mut self) {
        let _running = Running::new(&self.what);
        // SAFETY: it is taken once: nothing comes after this.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        if let Err(error) = value.close() {
            self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{} {error}", self.what));
        }
    }
}

impl Close for PassObject {
    fn close(self) -> Result<(), PassError> {
        self.close()
    }
}

impl Close for InstrumentObject {
    fn close(self) -> Result<(), PassError> {
        self.close()
    }
}

/// Remembers where a library is in memory, by an address in it.
pub(super) fn loaded(address: *const c_void, plugin: &str) {
    if let Some(base) = library_of(address) {
        LOADED.lock().unwrap_or_else(PoisonError::into_inner).insert(base, plugin.into());
    }
}

/// Calls `body` with the plugin whose code is at an address or, without one, on this thread's stack, the innermost first.
/// Returns whether one is known; takes no lock that another one holds.
#[cfg(unix)]
pub(super) fn with_culprit(address: Option<usize>, body: impl FnOnce(&str)) -> bool {
    let Ok(loaded) = LOADED.try_lock() else { return false };
    let mut frames = Frames::default();
    match address {
        Some(address) => frames.add(address),
        None => stack(&mut frames),
    }
    let culprit = frames.bases().find_map(|base| loaded.get(&base));
    culprit.map(|plugin| body(plugin)).is_some()
}

/// Calls `body` with each place on this thread's stack that is in code of a plugin, the innermost first: the plugin, and the
/// distance from where its library begins in memory. Takes no lock that another one holds.
#[cfg(target_os = "linux")]
pub(super) fn each_frame(mut body: impl FnMut(&str, usize)) {
    let Ok(loaded) = LOADED.try_lock() else { return };
    let mut frames = Frames::default();
    stack(&mut frames);
    for &address in frames.all() {
        let base = library_of(address as *const c_void);
        if let Some((base, plugin)) = base.and_then(|base| Some((base, loaded.get(&base)?))) {
            body(plugin, address - base);
        }
    }
}

/// Ends the process with a message, since a plugin's code does not return.
pub(crate) fn end_process(message: &str) -> ! {
    use std::io::Write;
    crate::files::abandon();
    // Nothing can be reported when standard error is closed.
    let _ = std::io::stderr().write_all(message.as_bytes());
    leave(STATUS)
}

#[cfg(not(windows))]
extern "C" fn at_exit() {
    // A child that was forked is another process, and ends as it likes; that of an isolated plugin has a host that says so.
    if !is_this_process() || is_worker() {
        return;
    }
    // The locks are held for moments only; who ended the process does not hold them.
    let (Ok(running), Ok(loaded)) = (RUNNING.lock(), LOADED.lock()) else { return };
    let mut frames = Frames::default();
    stack(&mut frames);
    let culprit = frames.bases().find_map(|base| loaded.get(&base));
    if culprit.is_none() && running.is_empty() {
        return;
    }
    crate::files::abandon();
    let mut stderr = std::io::stderr().lock();
    // Nothing can be reported when standard error is closed.
    tell(&running, culprit, &mut |text| _ = std::io::Write::write_all(&mut stderr, text.as_bytes()));
    leave(STATUS)
}

/// Whether this is the process of an isolated plugin, whose host says how it ended.
#[cfg(not(windows))]
static IS_WORKER: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// From now on, nothing is said about the end of this process: its host does that.
#[cfg(target_os = "linux")]
pub(in crate::plugin) fn leave_it_to_the_host() {
    IS_WORKER.store(true, Ordering::Relaxed);
}

#[cfg(not(windows))]
fn is_worker() -> bool {
    IS_WORKER.load(Ordering::Relaxed)
}

/// Whether this process is the one in which the exit function was registered.
#[cfg(unix)]
fn is_this_process() -> bool {
    PROCESS.get() == Some(&std::process::id())
}

#[cfg(not(any(unix, windows)))]
fn is_this_process() -> bool {
    true
}

/// Names the plugin that ended the process, if it is known, otherwise those that run; and the plugins that called it. Takes no
/// memory.
fn tell(running: &BTreeMap<u64, Arc<str>>, culprit: Option<&Arc<str>>, say: &mut dyn FnMut(&str)) {
    say("error: ");
    match culprit {
        None => running.values().enumerate().for_each(|(at, what)| {
            say(if at == 0 { "" } else { ", or " });
            say(what);
        }),
        // Its current task, if the host had requested one.
        Some(plugin) => say(running.values().rev().find(|what| what.starts_with(&**plugin)).unwrap_or(plugin)),
    }
    say(" ended the process\n");
    for what in running.values().filter(|what| culprit.is_some_and(|plugin| !what.starts_with(&**plugin))) {
        say("  note: ");
        say(what);
        say(" called it\n");
    }
    say("  help: a plugin returns an error instead\n");
}

/// Where the library begins that an address is in.
#[cfg(unix)]
fn library_of(address: *const c_void) -> Option<usize> {
    place_of(address).map(|info| info.dli_fbase as usize)
}

/// The library and the function that an address is in.
#[cfg(unix)]
fn place_of(address: *const c_void) -> Option<libc::Dl_info> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: it accepts any address, and fills in the given structure.
    let is_known = unsafe { libc::dladdr(address, &raw mut info) } != 0;
    is_known.then_some(info)
}

#[cfg(not(any(unix, windows)))]
fn library_of(_: *const c_void) -> Option<usize> {
    None
}

/// The addresses on a thread's stack, the innermost first: not in allocated memory, which who ends a process may have broken.
#[cfg(not(windows))]
struct Frames {
    addresses: [usize; 128],
    len: usize,
}

#[cfg(not(windows))]
impl Default for Frames {
    fn default() -> Self {
        Self { addresses: [0; 128], len: 0 }
    }
}

#[cfg(not(windows))]
impl Frames {
    fn add(&mut self, address: usize) {
        if let Some(slot) = self.addresses.get_mut(self.len) {
            *slot = address;
            self.len += 1;
        }
    }

    fn all(&self) -> &[usize] {
        &self.addresses[..self.len]
    }

    /// Where the libraries begin that they are in.
    fn bases(&self) -> impl Iterator<Item = usize> {
        self.all().iter().filter_map(|&address| library_of(address as *const c_void))
    }
}

/// The addresses on this thread's stack.
#[cfg(unix)]
fn stack(frames: &mut Frames) {
    type Callback = extern "C" fn(*mut c_void, *mut c_void) -> libc::c_int;
    // The library that unwinds panics; the standard library is linked with it.
    unsafe extern "C" {
        fn _Unwind_Backtrace(callback: Callback, argument: *mut c_void) -> libc::c_int;
        fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    }
    extern "C" fn add(frame: *mut c_void, found: *mut c_void) -> libc::c_int {
        // SAFETY: `stack` passes its list, and the unwinder a frame.
        let (found, address) = unsafe { (&mut *found.cast::<Frames>(), _Unwind_GetIP(frame)) };
        found.add(address);
        0
    }
    // SAFETY: the callback is called while the list is there, and does not unwind.
    unsafe { _Unwind_Backtrace(add, std::ptr::from_mut(frames).cast()) };
}

#[cfg(not(any(unix, windows)))]
fn stack(_: &mut Frames) {}
