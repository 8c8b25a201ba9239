//! Descriptors that a process did not open itself.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "closing what others may use is unsafe")]

/// Closes all descriptors except the three standard ones. For a process that was just started, and has opened nothing:
/// the program that started it may have left it files.
pub(crate) fn close_inherited() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: nothing in this process has opened a descriptor yet. A kernel that lacks the call refuses it.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) };
}
