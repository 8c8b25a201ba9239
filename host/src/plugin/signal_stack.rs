//! Stacks on which handlers of signals run. Those of the standard library have 8 KiB, of which a processor with large registers
//! fills half before a handler begins, and looking for the plugin whose code it was takes more.
#![cfg_attr(unix, expect(unsafe_code, reason = "stacks for signals"))]

/// From now on, threads that call plugins get a stack like this.
#[cfg(unix)]
pub(super) use unix::want;

/// Gives this thread a stack like this, if they are wanted.
pub(super) fn prepare() {
    #[cfg(unix)]
    unix::prepare();
}

#[cfg(unix)]
mod unix {
    use std::{
        ffi::c_void,
        ptr::{null, null_mut},
        sync::atomic::{AtomicBool, Ordering},
    };

    /// The bytes of a stack.
    const SIZE: usize = 64 << 10;

    static WANTED: AtomicBool = AtomicBool::new(false);

    thread_local! {
        static STACK: Stack = Stack::new();
    }

    pub fn want() {
        WANTED.store(true, Ordering::Relaxed);
    }

    pub fn prepare() {
        if WANTED.load(Ordering::Relaxed) {
            // A thread that is at its end keeps what it has.
            let _ = STACK.try_with(|_| ());
        }
    }

    /// The stack of a thread; null if it has another one that is large enough, or there is no memory for one.
    struct Stack(*mut c_void);

    impl Stack {
        fn new() -> Self {
            // SAFETY: the memory is new, and becomes the stack of this thread until it is taken back.
            unsafe {
                let mut old: libc::stack_t = std::mem::zeroed();
                let has_own = libc::sigaltstack(null(), &raw mut old) == 0
                    && old.ss_flags & libc::SS_DISABLE == 0
                    && old.ss_size >= SIZE;
                if has_own {
                    return Self(null_mut());
                }
                let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                let memory = libc::mmap(null_mut(), SIZE, libc::PROT_READ | libc::PROT_WRITE, kind, -1, 0);
                if memory == libc::MAP_FAILED {
                    return Self(null_mut());
                }
                let new = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: SIZE };
                if libc::sigaltstack(&raw const new, null_mut()) != 0 {
                    libc::munmap(memory, SIZE);
                    return Self(null_mut());
                }
                Self(memory)
            }
        }
    }

    impl Drop for Stack {
        fn drop(&mut self) {
            if self.0.is_null() {
                return;
            }
            // SAFETY: the thread ends, and its stack is taken back before its memory is.
            unsafe {
                let mut now: libc::stack_t = std::mem::zeroed();
                if libc::sigaltstack(null(), &raw mut now) == 0 && now.ss_sp == self.0 {
                    let none = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: SIZE };
                    libc::sigaltstack(&raw const none, null_mut());
                }
                libc::munmap(self.0, SIZE);
            }
        }
    }
}
