//! The end of the process, at once.
#![cfg_attr(unix, expect(unsafe_code, reason = "the system call that ends a process"))]

/// Ends the process at once, without exit functions: by the system call, and not by C's function, of which a host may have its
/// own for the plugins that call it.
pub fn leave(status: i32) -> ! {
    #[cfg(target_os = "linux")]
    // SAFETY: it may be called at any time, in a signal handler, too, and ends all threads.
    unsafe {
        libc::syscall(libc::SYS_exit_group, status);
    }
    // SAFETY: it may be called at any time, in a signal handler, too.
    #[cfg(unix)]
    unsafe {
        libc::_exit(status)
    }
    #[cfg(not(unix))]
    std::process::exit(status)
}
