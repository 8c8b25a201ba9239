//! The functions of C that end a process without exit functions: a program that has its own gives libraries these, so that a
//! plugin that calls one is named. A system call of its own goes unseen, and so does one that looks C's function up.
//!
//! They may be called in handlers of signals: nothing here takes memory before the message is written, or waits forever.

use super::{Frames, LOADED, PROCESS, RUNNING, STATUS, is_this_process, library_of, place_of, stack, tell};
use crate::files::{abandon, leave};
use std::{
    ffi::{c_int, c_void},
    ptr::null_mut,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// Whether plugins are named.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);
/// Whether a plugin was found that ends the process.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// How many seconds it may take to find the plugin, and to remove files.
const PATIENCE: u32 = 5;

/// From now on, plugins that call these functions are named.
pub(in crate::plugin) fn watch() {
    PROCESS.get_or_init(std::process::id);
    IS_WATCHED.store(true, Ordering::Relaxed);
}

/// Ends the process with a message if a plugin is responsible: one whose code is on this thread's stack or, if the caller is
/// not the program itself, one that runs.
fn name_plugin() {
    if !IS_WATCHED.load(Ordering::Relaxed) || !is_this_process() {
        return;
    }
    wait_for_the_end();
    let alarm = Alarm::set();
    let mut frames = Frames::default();
    stack(&mut frames);
    let own = [_exit, _Exit, quick_exit].map(|function| function as *const () as usize);
    let is_own = |&address: &usize| {
        place_of(address as *const c_void).is_some_and(|place| own.contains(&(place.dli_saddr as usize)))
    };
    let frames = frames.all();
    let callers = &frames[frames.iter().position(is_own).map_or(0, |at| at + 1)..];
    let mut bases = callers.iter().map(|&address| library_of(address as *const c_void));
    let program = library_of(name_plugin as *const c_void);
    if bases.next().is_some_and(|base| base == program) {
        return alarm.put_off();
    }
    let locked = (0..100).find_map(|_| {
        let locked = RUNNING.try_lock().ok().zip(LOADED.try_lock().ok());
        if locked.is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        locked
    });
    let Some((running, loaded)) = locked else {
        // The thread that ends the process keeps the locks, and its alarm.
        wait_for_the_end();
        return alarm.put_off();
    };
    let mut bases = callers.iter().filter_map(|&address| library_of(address as *const c_void));
    let culprit = bases.find_map(|base| loaded.get(&base));
    if culprit.is_none() && running.is_empty() {
        return alarm.put_off();
    }
    IS_ENDING.store(true, Ordering::Relaxed);
    tell(&running, culprit, &mut say);
    abandon();
    leave(STATUS)
}

/// Returns unless another thread is about to end the process, in the name of a plugin.
fn wait_for_the_end() {
    if IS_ENDING.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_secs(PATIENCE.into()));
        leave(STATUS);
    }
}

fn say(text: &str) {
    // SAFETY: it may be called in a handler. Nothing can be said when standard error is closed.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// Ends the process unless it is put off: a plugin may have broken what is waited for, or hold it.
struct Alarm {
    before: libc::sigaction,
}

impl Alarm {
    fn set() -> Self {
        extern "C" fn give_up(_: c_int) {
            if !IS_ENDING.load(Ordering::Relaxed) {
                say("error: a plugin ended the process\n  help: a plugin returns an error instead\n");
            }
            leave(STATUS)
        }
        // SAFETY: empty actions and sets are valid, all functions may be called in a handler, and so may those that this
        // handler calls.
        unsafe {
            let [mut action, mut before]: [libc::sigaction; 2] = std::mem::zeroed();
            action.sa_sigaction = give_up as extern "C" fn(c_int) as usize;
            libc::sigaction(libc::SIGALRM, &raw const action, &raw mut before);
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&raw mut set, libc::SIGALRM);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, null_mut());
            libc::alarm(PATIENCE);
            Self { before }
        }
    }

    fn put_off(self) {
        // SAFETY: as above; the action is the one that the system gave.
        unsafe {
            libc::alarm(0);
            libc::sigaction(libc::SIGALRM, &raw const self.before, null_mut());
        }
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
            std::mem::transmute::<*mut c_void, extern "C" fn(c_int)>(own)(status);
        }
    }
    leave(status)
}
