//! The functions of C that end a process without exit functions: a program that has its own gives libraries these, so that a
//! plugin that calls one is named. A system call of its own goes unseen.

use crate::files::leave;
use std::{ffi::c_int, sync::OnceLock};

/// The process in which plugins that end it are named, and the function that does so. A child that was forked is another
/// process, and may end so.
static WATCHED: OnceLock<(c_int, fn())> = OnceLock::new();

/// From now on, the functions below call this one first, which does not return if a plugin is responsible.
pub(super) fn watch(name_plugin: fn()) {
    // SAFETY: it may be called at any time.
    let _ = WATCHED.set((unsafe { libc::getpid() }, name_plugin));
}

fn name_plugin() {
    // SAFETY: it may be called at any time.
    let process = unsafe { libc::getpid() };
    if let Some((_, name)) = WATCHED.get().filter(|(watched, _)| *watched == process) {
        name();
    }
}

/// In the place of C's function.
// SAFETY: it does the same, and libraries that are linked with C's own are not given this one.
#[unsafe(no_mangle)]
extern "C" fn _exit(status: c_int) -> ! {
    name_plugin();
    leave(status)
}

/// In the place of C's function.
// SAFETY: as for `_exit`, which is the same function.
#[unsafe(no_mangle)]
extern "C" fn _Exit(status: c_int) -> ! {
    name_plugin();
    leave(status)
}

/// In the place of C's function.
// SAFETY: it does the same, by C's own function.
#[unsafe(no_mangle)]
extern "C" fn quick_exit(status: c_int) -> ! {
    name_plugin();
    // SAFETY: C's function has this type, and is never unloaded.
    unsafe {
        let own = libc::dlsym(libc::RTLD_NEXT, c"quick_exit".as_ptr());
        if !own.is_null() {
            std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn(c_int)>(own)(status);
        }
    }
    leave(status)
}
