//! Tries to reach what a plugin does not need, and says of each attempt whether the system kept it from that.

use relais_plugin_api::prelude::*;

plugin! { description = "tries to reach files, the network and other processes" }

// It would give itself what it wants.
pipeline! { name = "prowl.All", toml = "steps = [\"prowl.Read\"]\n[plugins]\nprowler = { isolate = { read = [\"/etc\"] } }\n" }

/// Tries everything, and computes.
#[module_pass(name = "prowl.Everything")]
fn everything(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    #[cfg(target_os = "linux")]
    attempts::report();
    works()
}

/// Reads the file that `RELAIS_TEST_PROWL` names.
#[module_pass(name = "prowl.Read")]
fn read(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    let file = std::env::var("RELAIS_TEST_PROWL").map_err(PassError::new)?;
    let text = std::fs::read_to_string(file).map_err(PassError::new)?;
    println!("read: {}", text.trim());
    Ok(())
}

/// Does what passes do: threads, memory, clocks, random numbers.
fn works() -> Result<(), PassError> {
    let threads: Vec<_> = (0..4_u8)
        .map(|n| {
            let name = format!("prowler {n}");
            std::thread::Builder::new()
                .name(name)
                .spawn(move || vec![n; 8 << 20].iter().map(|&it| u64::from(it)).sum::<u64>())
        })
        .collect::<Result<_, _>>()
        .map_err(PassError::new)?;
    let sums: Vec<u64> = threads.into_iter().map(|thread| thread.join().unwrap_or(0)).collect();
    std::thread::sleep(std::time::Duration::from_millis(1));
    let random: std::collections::BTreeSet<u32> = sums.iter().map(|&sum| (sum >> 23) as u32).collect();
    let caught = std::panic::catch_unwind(|| panic!("caught")).is_err();
    let time = std::time::SystemTime::now().elapsed().is_ok();
    println!("works: {} {random:?} {caught} {time}", sums.len());
    Ok(())
}

#[cfg(target_os = "linux")]
mod attempts {
    use std::{
        fs, io,
        net::{TcpListener, TcpStream, UdpSocket},
        os::unix::net::UnixDatagram,
        process::Command,
        ptr::null_mut,
        sync::Mutex,
    };

    /// The attempts that were made while the library was opened.
    static EARLY: Mutex<Vec<(&str, bool)>> = Mutex::new(Vec::new());

    #[used]
    #[unsafe(link_section = ".init_array")]
    static AT_OPENING: extern "C" fn() = {
        extern "C" fn at_opening() {
            // Programs that merely look at the plugin open it, too.
            if std::env::var_os("RELAIS_TEST_PROWL").is_some() {
                *EARLY.lock().unwrap() = all();
            }
        }
        at_opening
    };

    /// Prints what was kept from this code, and what was not.
    pub fn report() {
        for (when, attempts) in [("at opening", std::mem::take(&mut *EARLY.lock().unwrap())), ("in a pass", all())] {
            let word = |kept| if kept { "kept" } else { "reached" };
            attempts.iter().for_each(|(what, kept)| println!("{when}, {}: {what}", word(*kept)));
        }
    }

    /// Whether an error says that something is not allowed, not that it is not there.
    fn is_denied(error: &io::Error) -> bool {
        matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
    }

    fn kept<T>(result: io::Result<T>) -> bool {
        result.is_err_and(|error| is_denied(&error))
    }

    /// The same of a call of the C library.
    fn denied(result: impl TryInto<i64>) -> bool {
        let error = io::Error::last_os_error();
        result.try_into().is_ok_and(|number| number == -1) && is_denied(&error)
    }

    fn all() -> Vec<(&'static str, bool)> {
        let here = std::env::var("RELAIS_TEST_PROWL").unwrap_or_default();
        let name = c"/etc/hostname".as_ptr();
        // SAFETY: numbers and null pointers, and names that end with zeros. Calls that would do harm have arguments with which they
        // cannot succeed.
        unsafe {
            let parent = libc::getppid();
            let call = |number, first: i64, second: i64| denied(libc::syscall(number, first, second, 0, 0, 0, 0));
            vec![
                ("a file of the user is read", kept(fs::read(&here))),
                ("a file of the system is read", kept(fs::read("/etc/hostname"))),
                ("a folder is listed", kept(fs::read_dir("/home"))),
                ("a file of its own process is read", kept(fs::read("/proc/self/environ"))),
                ("a file is made", kept(fs::write(format!("{here}.made"), ""))),
                ("a file is changed", kept(fs::OpenOptions::new().append(true).open(&here))),
                ("a file is removed", kept(fs::remove_file(format!("{here}.none")))),
                ("a file is renamed", kept(fs::rename(format!("{here}.none"), format!("{here}.other")))),
                ("rights are changed", denied(libc::chmod(c"/nowhere".as_ptr(), 0))),
                ("a file is shortened", denied(libc::truncate(c"/nowhere".as_ptr(), 0))),
                ("the folder is changed", denied(libc::chdir(c"/nowhere".as_ptr()))),
                ("a connection is made", kept(TcpStream::connect("127.0.0.1:9"))),
                ("a port is opened", kept(TcpListener::bind("127.0.0.1:0"))),
                ("datagrams are sent", kept(UdpSocket::bind("127.0.0.1:0"))),
                ("a local socket is made", kept(UnixDatagram::unbound())),
                ("a program is started", kept(Command::new("/bin/true").status())),
                ("the program is replaced", denied(libc::execv(c"/nowhere".as_ptr(), [std::ptr::null()].as_ptr()))),
                ("the process is doubled", {
                    match libc::fork() {
                        0 => libc::_exit(0),
                        child => denied(child),
                    }
                }),
                ("the host is signalled", denied(libc::kill(parent, 0))),
                ("the host is signalled by a descriptor", denied(libc::fcntl(0, libc::F_SETOWN, parent))),
                ("the host is traced", denied(libc::ptrace(libc::PTRACE_SEIZE, parent, 0, 0))),
                ("memory of the host is read", call(libc::SYS_process_vm_readv, parent.into(), 0)),
                (
                    "limits of the host are changed",
                    denied(libc::prlimit(parent, libc::RLIMIT_CORE, std::ptr::null(), null_mut())),
                ),
                ("a descriptor of the host is taken", call(libc::SYS_pidfd_open, parent.into(), 0)),
                (
                    "memory without a limit is made",
                    denied(
                        libc::mmap(null_mut(), 4096, libc::PROT_READ, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)
                            as i64,
                    ),
                ),
                ("a namespace is entered", denied(libc::unshare(libc::CLONE_NEWUSER))),
                ("something is mounted", denied(libc::mount(name, name, name, libc::MS_BIND, std::ptr::null()))),
                ("a key is read", call(libc::SYS_keyctl, 0, -3)),
                ("events are counted", call(libc::SYS_perf_event_open, 0, 0)),
                ("code is loaded into the kernel", call(libc::SYS_bpf, 99, 0)),
                ("a ring of requests is made", call(libc::SYS_io_uring_setup, 0, 0)),
                ("faults of memory are handled", call(libc::SYS_userfaultfd, 1 << 30, 0)),
                ("the environment has a secret", std::env::var_os("RELAIS_TEST_SECRET").is_none()),
                (
                    "a file was left open",
                    !(3..64).any(|descriptor| {
                        let mut start = [0_u8; 6];
                        libc::pread(descriptor, start.as_mut_ptr().cast(), start.len(), 0) == 6 && &start == b"secret"
                    }),
                ),
            ]
        }
    }
}
