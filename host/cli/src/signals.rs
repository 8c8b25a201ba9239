//! Interrupts, and the end of the process that started this one: incomplete files are removed, and the status contains the
//! signal.

use relais::files;
use relais_conformance::program::end_with_parent;
#[cfg(unix)]
use std::{
    fs::File,
    io::{Read, Stdin},
    os::fd::AsFd,
};

#[cfg(unix)]
pub(crate) fn watch() {
    use relais::mapped;
    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM},
        flag,
        iterator::Signals,
        low_level::signal_name,
    };
    use std::{fs, io::Write, sync::Arc, thread};

    /// `setrlimit`'s limit of the size of files: without a handler, its signal would end the process.
    const SIGXFSZ: i32 = libc::SIGXFSZ;

    mapped::explain_shortened_files();
    relais::plugin::name_crashes();
    end_with_parent(own_standard_input, || {
        files::abandon();
        files::leave(1);
    });
    let _ = flag::register(SIGXFSZ, Arc::default());
    // A signal that the parent process ignores, as `nohup` does, stays ignored.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let watched = Signals::new(wanted).and_then(|mut signals| {
        let wait = move || {
            if let Some(signal) = signals.forever().next() {
                files::abandon();
                let name = signal_name(signal).unwrap_or("a signal");
                let _ = writeln!(std::io::stderr(), "error: ended by {name}");
                files::leave(128 + signal);
            }
        };
        thread::Builder::new().name("signals".into()).spawn(wait)
    });
    if let Err(error) = watched {
        log::debug!("signals are not watched: {error}");
    }
}

/// Takes standard input; for the rest of the process, it is empty.
#[cfg(unix)]
fn own_standard_input(input: Stdin) -> Box<dyn Read + Send> {
    let own = input.as_fd().try_clone_to_owned();
    match own {
        Ok(own) => {
            // Without an empty device, a plugin that reads waits.
            let _ = File::open("/dev/null").and_then(|empty| Ok(rustix::stdio::dup2_stdin(empty)?));
            Box::new(File::from(own))
        }
        Err(_) => Box::new(input),
    }
}

#[cfg(not(unix))]
pub(crate) fn watch() {
    end_with_parent(
        |input| input,
        || {
            files::abandon();
            files::leave(1);
        },
    );
}
