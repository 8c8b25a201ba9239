//! The end of a process on Windows, which runs no exit functions when a plugin calls `ExitProcess`, as
//! `std::process::exit` does. The system stops all other threads, then calls back for each fiber-local value of the
//! thread that ends the process: every thread has one here.

use std::{
    ffi::c_void,
    fs::File,
    io::Write,
    mem::ManuallyDrop,
    os::windows::io::{AsRawHandle, FromRawHandle},
    ptr,
    sync::atomic::{AtomicU32, Ordering},
};

#[link(name = "kernel32")]
unsafe extern "system" {
    fn FlsAlloc(callback: unsafe extern "system" fn(*const c_void)) -> u32;
    fn FlsGetValue(index: u32) -> *const c_void;
    fn FlsSetValue(index: u32, value: *const c_void) -> i32;
    fn GetCurrentProcess() -> *mut c_void;
    fn RtlCaptureStackBackTrace(skip: u32, count: u32, frames: *mut *const c_void, hash: *mut u32) -> u16;
    fn RtlPcToFileHeader(address: *const c_void, base: *mut *const c_void) -> *const c_void;
    fn TerminateProcess(process: *mut c_void, status: u32) -> i32;
}

#[link(name = "ntdll")]
unsafe extern "system" {
    fn RtlDllShutdownInProgress() -> u8;
}

/// The index of the values, or `NONE`.
static INDEX: AtomicU32 = AtomicU32::new(NONE);
const NONE: u32 = u32::MAX;
const PROCESS_ATTACH: u32 = 1;
const THREAD_ATTACH: u32 = 2;
/// The most frames of a stack.
const FRAMES: usize = 256;

/// The system calls this in each thread that begins, even in those that plugins start.
#[used]
#[unsafe(link_section = ".CRT$XLB")]
static ATTACH: unsafe extern "system" fn(*const c_void, u32, *const c_void) = attach;

unsafe extern "system" fn attach(_: *const c_void, reason: u32, _: *const c_void) {
    if reason == PROCESS_ATTACH {
        // SAFETY: the function is one of this program, which is never unloaded.
        INDEX.store(unsafe { FlsAlloc(ending) }, Ordering::Relaxed);
    }
    if reason == PROCESS_ATTACH || reason == THREAD_ATTACH {
        set_depth(0);
    }
}

/// How many calls of plugins this thread has begun and not ended.
fn depth() -> usize {
    // SAFETY: it accepts any index; the value is a number.
    let value = unsafe { FlsGetValue(INDEX.load(Ordering::Relaxed)) };
    value.addr().saturating_sub(1)
}

fn set_depth(depth: usize) {
    // The callback is called for values that are not null. SAFETY: it accepts any index; the value is never followed.
    unsafe { FlsSetValue(INDEX.load(Ordering::Relaxed), ptr::without_provenance(depth + 1)) };
}

pub(super) fn enter() {
    set_depth(depth() + 1);
}

pub(super) fn leave() {
    set_depth(depth().saturating_sub(1));
}

/// Called when a thread ends, or the process: then no other thread runs, and locks may never be released.
unsafe extern "system" fn ending(value: *const c_void) {
    // SAFETY: it takes nothing.
    if unsafe { RtlDllShutdownInProgress() } == 0 {
        return;
    }
    let is_inside = value.addr() > 1;
    let message = match (super::RUNNING.try_lock(), super::LOADED.try_lock()) {
        (Ok(running), Ok(loaded)) => {
            let culprit = stack().into_iter().find_map(|base| loaded.get(&base));
            // An interrupt ends the process from a thread that has no part in any plugin.
            if culprit.is_none() && !is_inside {
                return;
            }
            let mut message = String::new();
            super::tell(&running, culprit, &mut |text| message.push_str(text));
            message
        }
        _ if is_inside => "error: a plugin ended the process\n".into(),
        _ => return,
    };
    crate::files::abandon();
    // SAFETY: the handle is open, and this does not close it. The lock of the standard library may be taken.
    let stderr = unsafe { File::from_raw_handle(std::io::stderr().as_raw_handle()) };
    // Nothing can be reported when standard error is closed.
    let _ = (&*ManuallyDrop::new(stderr)).write_all(message.as_bytes());
    // SAFETY: ends the process at once, with another status.
    unsafe { TerminateProcess(GetCurrentProcess(), super::STATUS as u32) };
}

/// Where the library begins that an address is in.
pub(super) fn library_of(address: *const c_void) -> Option<usize> {
    let mut base = ptr::null();
    // SAFETY: it accepts any address, and fills in the given place.
    unsafe { RtlPcToFileHeader(address, &raw mut base) };
    (!base.is_null()).then(|| base.addr())
}

/// The libraries whose functions are on this thread's stack, the innermost first.
fn stack() -> Vec<usize> {
    let mut frames = [ptr::null(); FRAMES];
    // SAFETY: it fills in at most that many frames.
    let n = unsafe { RtlCaptureStackBackTrace(0, FRAMES as u32, frames.as_mut_ptr(), ptr::null_mut()) };
    frames[..n.into()].iter().filter_map(|&address| library_of(address)).collect()
}
