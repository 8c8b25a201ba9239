//! The last words of a process that code of a plugin ends by a signal: which plugin, in which pass, on which function.
//!
//! Handlers of signals may do little: they read what the thread wrote down before it called the plugin, and write a line.
#![cfg_attr(
    unix,
    expect(unsafe_code, reason = "handlers of signals, and texts that the thread keeps while the plugin runs")
)]

/// From now on, a plugin whose code ends the process by a signal (a bad access, an instruction that does not exist, an
/// abortion) is named on standard error before the signal takes its course, by earlier handlers or the system's. Programs that
/// embed the host choose whether they want that.
#[cfg(unix)]
pub fn name_crashes() {
    unix::install();
}

/// The same, told to a descriptor instead of standard error: by a worker, whose host says what happened.
#[cfg(target_os = "linux")]
pub(crate) fn tell_crashes_to(descriptor: std::os::fd::OwnedFd) {
    crate::plugin::exit_guard::leave_it_to_the_host();
    unix::tell_to(descriptor);
    unix::install();
}

/// Other systems name crashes by themselves, or not at all.
#[cfg(not(unix))]
pub fn name_crashes() {}

#[cfg(unix)]
mod unix {
    #[cfg(target_os = "linux")]
    use crate::plugin::exit_guard::each_frame;
    use crate::plugin::{
        exit_guard::{HERE, Kept, with_culprit},
        signal_stack::want,
    };
    use std::{
        ffi::{c_int, c_void},
        ptr::null_mut,
        sync::{
            Once, OnceLock,
            atomic::{AtomicI32, AtomicU8, Ordering},
        },
    };

    /// The signals, and what messages call them.
    const SIGNALS: [(c_int, &str); 4] =
        [(libc::SIGSEGV, "SIGSEGV"), (libc::SIGILL, "SIGILL"), (libc::SIGFPE, "SIGFPE"), (libc::SIGABRT, "SIGABRT")];

    /// The actions that were set before.
    static BEFORE: [OnceLock<libc::sigaction>; SIGNALS.len()] = [const { OnceLock::new() }; SIGNALS.len()];
    /// Whether a crash was told.
    static STATE: AtomicU8 = AtomicU8::new(BEFORE_TELLING);
    static INSTALL: Once = Once::new();
    /// How many seconds it may take to find the plugin.
    const PATIENCE: u32 = 5;

    /// Where crashes are told.
    static TELLS: AtomicI32 = AtomicI32::new(libc::STDERR_FILENO);

    #[cfg(target_os = "linux")]
    pub fn tell_to(descriptor: std::os::fd::OwnedFd) {
        use std::os::fd::IntoRawFd;
        TELLS.store(descriptor.into_raw_fd(), Ordering::Relaxed);
    }

    pub fn install() {
        INSTALL.call_once(|| {
            want();
            #[cfg(target_os = "linux")]
            if TELLS.load(Ordering::Relaxed) == libc::STDERR_FILENO {
                crate::plugin::exit_guard::exits::watch();
            }
            for ((signal, _), before) in SIGNALS.iter().zip(&BEFORE) {
                // SAFETY: empty actions are valid, and the handler calls only functions that handlers may call. It runs on
                // a stack for signals: an overflow leaves no other.
                unsafe {
                    let mut earlier: libc::sigaction = std::mem::zeroed();
                    if libc::sigaction(*signal, std::ptr::null(), &raw mut earlier) != 0 {
                        continue;
                    }
                    let _ = before.set(earlier);
                    let mut action: libc::sigaction = std::mem::zeroed();
                    action.sa_sigaction = handle as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
                    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                    libc::sigaction(*signal, &raw const action, null_mut());
                }
            }
        });
    }

    extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let place = SIGNALS.iter().position(|(known, _)| *known == signal).unwrap_or(0);
        let sender = Sender::of(info);
        if sender != Sender::OtherProcess {
            tell_once(place, info, context, sender);
        }
        // A handler for bad accesses may count on the instruction to come again, which only the system's do. An abortion ends
        // the process after any handler.
        let before = BEFORE[place].get().filter(|_| sender == Sender::System || signal == libc::SIGABRT);
        // SAFETY: actions that the system gave are set, and the functions may be called in a handler.
        unsafe {
            match before {
                Some(before) => {
                    libc::sigaction(signal, before, null_mut());
                }
                None => {
                    libc::signal(signal, libc::SIG_DFL);
                }
            }
            if sender != Sender::System {
                // Handled when this returns.
                libc::raise(signal);
            }
        }
    }

    /// The sender of a signal.
    #[derive(Clone, Copy, PartialEq)]
    enum Sender {
        /// The system, because of an instruction.
        System,
        /// This process: it aborts, for example.
        ThisProcess,
        OtherProcess,
    }

    impl Sender {
        fn of(info: *mut libc::siginfo_t) -> Self {
            // SAFETY: the system gives handlers of this kind a valid structure, and with these codes the number of a process.
            unsafe {
                match info.as_ref() {
                    None => Self::System,
                    Some(info) if info.si_code > 0 => Self::System,
                    Some(info) if info.si_pid() == libc::getpid() => Self::ThisProcess,
                    Some(_) => Self::OtherProcess,
                }
            }
        }
    }

    /// Nothing was told; it is being told; it was told.
    const BEFORE_TELLING: u8 = 0;
    const TELLING: u8 = 1;
    const TOLD: u8 = 2;

    /// Names the plugin, unless a crash was told: the handler that comes next may abort. Another thread that crashes meanwhile
    /// waits for the message.
    fn tell_once(place: usize, info: *mut libc::siginfo_t, context: *mut c_void, sender: Sender) {
        let order = Ordering::Relaxed;
        if STATE.compare_exchange(BEFORE_TELLING, TELLING, order, order).is_err() {
            for _ in 0..100 {
                if STATE.load(order) == TOLD {
                    break;
                }
                // SAFETY: it may be called in a handler.
                unsafe { libc::usleep(10_000) };
            }
            return;
        }
        // A thread that is at its end has no such place any more.
        let [what, function] = HERE.try_with(std::cell::Cell::get).unwrap_or([Kept::NONE; 2]);
        let (signal, name) = SIGNALS[place];
        if what.len > 0 {
            write(b"error: ");
            tell_task(what, function);
            tell_signal(name, info, sender);
        }
        // An abortion is in the C library. Looking for the plugin may wait for a lock that this thread holds.
        let address = if signal == libc::SIGABRT { None } else { address_of(context) };
        // SAFETY: it may be called in a handler.
        unsafe { libc::alarm(PATIENCE) };
        let is_known = with_culprit(address, |plugin| {
            if what.len == 0 {
                // On a thread of its own, or while the host infers types.
                write(b"error: ");
                write(plugin.as_bytes());
                tell_signal(name, info, sender);
            } else if !text(what).starts_with(plugin.as_bytes()) {
                write(b", in code of ");
                write(plugin.as_bytes());
            }
        });
        // SAFETY: as before.
        unsafe { libc::alarm(0) };
        if what.len > 0 || is_known {
            write(b"\n  note: no result was put in place\n");
            write(b"  help: unless memory ran out, its author has to mend it; `relais plugin test` looks for a small module \
                    that it crashes on\n");
        }
        STATE.store(TOLD, order);
        // Last of all: what has broken the stack may break this, too.
        #[cfg(target_os = "linux")]
        if TELLS.load(order) != libc::STDERR_FILENO {
            tell_frames();
        }
    }

    /// Writes where in code of plugins the thread is, for a host that knows the names of functions.
    #[cfg(target_os = "linux")]
    fn tell_frames() {
        // SAFETY: it may be called in a handler.
        unsafe { libc::alarm(PATIENCE) };
        each_frame(|plugin, place| {
            let mut digits = [0; 2 + 2 * size_of::<usize>()];
            write(crate::plugin::frames::LINE.as_bytes());
            write(hexadecimal(place, &mut digits));
            write(b" ");
            write(plugin.as_bytes());
            write(b"\n");
        });
        // SAFETY: as before.
        unsafe { libc::alarm(0) };
    }

    /// The address of the instruction at which a thread was, where that is known.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn address_of(context: *mut c_void) -> Option<usize> {
        // SAFETY: the system gives handlers of this kind the state of the thread.
        let state = unsafe { context.cast::<libc::ucontext_t>().as_ref()? };
        #[cfg(target_arch = "x86_64")]
        let address = state.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        #[cfg(target_arch = "aarch64")]
        let address = state.uc_mcontext.pc as usize;
        Some(address)
    }

    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    fn address_of(_: *mut c_void) -> Option<usize> {
        None
    }

    /// A text that the thread keeps as long as it is noted down.
    fn text<'a>(kept: Kept) -> &'a [u8] {
        // SAFETY: it is noted down now, and used in the handler alone.
        unsafe { std::slice::from_raw_parts(kept.start, kept.len) }
    }

    /// Writes whose code this thread runs.
    fn tell_task(what: Kept, function: Kept) {
        write(text(what));
        if function.len > 0 {
            write(b" on function `@");
            write(text(function));
            write(b"`,");
        }
    }

    /// Writes how it ended the process.
    fn tell_signal(signal: &str, info: *mut libc::siginfo_t, sender: Sender) {
        write(b" ended the process (");
        write(signal.as_bytes());
        if signal == "SIGSEGV" && sender == Sender::System && !info.is_null() {
            // SAFETY: the system gives the address with this signal.
            let address = unsafe { (*info).si_addr() } as usize;
            let mut digits = [0; 2 + 2 * size_of::<usize>()];
            write(b" at address ");
            write(hexadecimal(address, &mut digits));
        }
        write(b")");
    }

    fn write(bytes: &[u8]) {
        // SAFETY: it may be called in a handler. Nothing can be said when standard error is closed.
        unsafe { libc::write(TELLS.load(Ordering::Relaxed), bytes.as_ptr().cast(), bytes.len()) };
    }

    fn hexadecimal(mut number: usize, digits: &mut [u8; 2 + 2 * size_of::<usize>()]) -> &[u8] {
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b"0123456789abcdef"[number % 16];
            number /= 16;
            if number == 0 {
                break;
            }
        }
        at -= 2;
        digits[at..at + 2].copy_from_slice(b"0x");
        &digits[at..]
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn addresses_are_written_without_memory() {
            let text = |number| String::from_utf8(hexadecimal(number, &mut [0; 2 + 2 * size_of::<usize>()]).to_vec());
            assert_eq!(text(0).unwrap(), "0x0");
            assert_eq!(text(0xdead_beef).unwrap(), "0xdeadbeef");
            assert_eq!(text(usize::MAX).unwrap().len(), 2 + 2 * size_of::<usize>());
        }
    }
}
