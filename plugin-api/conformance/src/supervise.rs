//! Testing in a separate process, which may hang, crash or end: the item at fault is named, and the others are still
//! tested.

use super::{
    journal::{self, Case, Entry},
    program,
    report::{self, Finding, Kind},
};
use relais_plugin_api::options::Value;
use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io, mem,
    num::NonZero,
    panic::resume_unwind,
    path::{Path, PathBuf},
    process::{self, Child, ExitStatus, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// In a process that tests: the file to write to.
const JOURNAL: &str = "RELAIS_CONFORMANCE_JOURNAL";
/// In a process that tests: the file with the items to skip, whose list may be longer than a variable.
const SKIP: &str = "RELAIS_CONFORMANCE_SKIP";
/// In a process that tests: the number of the check to run.
const CHECK: &str = "RELAIS_CONFORMANCE_CHECK";
/// In a process that tests: its [`Share`] of the items.
const SHARE: &str = "RELAIS_CONFORMANCE_SHARE";

/// How often the process is looked at.
const TICK: Duration = Duration::from_millis(15);

/// How long a process may take to begin.
const BEGINNING: Duration = Duration::from_secs(20);

/// The number of lines of a process's last output.
const LAST_WORDS: usize = 6;

/// The orders of a process that tests.
pub(super) struct Orders {
    pub journal: PathBuf,
    pub skip: Vec<String>,
    pub check: String,
    pub share: Share,
}

/// A share of the items, which are numbered in the order in which one process would test them.
#[derive(Clone, Copy)]
pub(super) struct Share {
    at: usize,
    n: usize,
}

impl Share {
    /// All items.
    pub const ALL: Self = Self { at: 0, n: 1 };

    fn parse(text: &str) -> Option<Self> {
        let (at, n) = text.split_once('/')?;
        Some(Self { at: at.parse().ok()?, n: n.parse().ok().filter(|&n| n > 0)? })
    }

    /// The items of this share.
    pub fn of<T>(self, items: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        items.into_iter().skip(self.at).step_by(self.n)
    }
}

/// Returns the orders of this process, if it is one that tests; then it ends with the one that started it.
pub(super) fn orders() -> Option<Orders> {
    let journal = env::var_os(JOURNAL)?.into();
    program::end_with_parent(|input| input, || process::exit(1));
    let skip = env::var_os(SKIP).and_then(|file| fs::read(file).ok());
    let skip = match skip.and_then(|bytes| Value::decode(&bytes).ok()) {
        Some(Value::List(names)) => names.iter().filter_map(report::str).collect(),
        _ => Vec::new(),
    };
    let share = env::var(SHARE).ok().and_then(|share| Share::parse(&share)).unwrap_or(Share::ALL);
    Some(Orders { journal, skip, check: env::var(CHECK).unwrap_or_default(), share })
}

/// Tests items in processes of their own, several at once, and returns what they wrote, in the order of the items: with
/// one finding for each item that ended a process or hung. Each process runs this program with `arguments`, and detects by
/// itself that it is to test.
///
/// # Errors
/// Returns an error if no process can be started, or one that tests ends before it begins.
pub(super) fn supervise(
    n_items: Option<usize>,
    deadline: Duration,
    check: &str,
    arguments: &[OsString],
) -> io::Result<Vec<Entry>> {
    let n = thread::available_parallelism().map_or(1, NonZero::get).min(n_items.unwrap_or(usize::MAX)).max(1);
    let shares = thread::scope(|scope| {
        let test = |at| scope.spawn(move || supervise_share(Share { at, n }, deadline, check, arguments));
        let threads: Vec<_> = (0..n).map(test).collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.collect::<io::Result<Vec<_>>>()
    })?;
    let mut shares: Vec<_> = shares.into_iter().map(Vec::into_iter).collect();
    let n_items = shares.iter().map(ExactSizeIterator::len).sum::<usize>();
    let in_turns = (0..).map(|turn| shares[turn % n].next());
    Ok(in_turns.take(n_items).flatten().flatten().collect())
}

/// Tests a share of the items, in one process after the other until everything was tested; returns the entries of each
/// item.
fn supervise_share(
    share: Share,
    deadline: Duration,
    check: &str,
    arguments: &[OsString],
) -> io::Result<Vec<Vec<Entry>>> {
    let scratch = Scratch::new()?;
    let [journal, said, skip] = ["journal", "said", "skip"].map(|name| scratch.path(name));
    let mut done: Vec<Value> = Vec::new();
    let mut items: Vec<Vec<Entry>> = Vec::new();
    loop {
        File::create(&journal)?;
        fs::write(&skip, Value::List(done.clone()).encode())?;
        let mut command = program::this_program()?;
        command.args(arguments).env(JOURNAL, &journal).env(SKIP, &skip).env(CHECK, check);
        command.env(SHARE, format!("{}/{}", share.at, share.n));
        // The last thing it printed is reported; a backtrace would displace it.
        command.env_remove("RUST_BACKTRACE").env_remove("RUST_LIB_BACKTRACE");
        command.stdout(Stdio::null()).stderr(File::create(&said)?);
        let ended = wait(command.spawn()?, &journal, deadline)?;
        let mut case = Case::default();
        let mut item = Vec::new();
        let n_done = done.len();
        for entry in journal::read(&fs::read(&journal)?) {
            let name = match &entry {
                Entry::Beat => continue,
                Entry::Finding(_) => None,
                Entry::Case(now) => {
                    case = now.clone();
                    continue;
                }
                Entry::Judged(judged) => Some(judged.subject.clone()),
                #[cfg(feature = "filetest")]
                Entry::Checked(name, _) => Some(name.clone()),
                Entry::End => return Ok(items),
            };
            item.push(entry);
            if let Some(name) = name {
                done.push(Value::Str(name));
                items.push(mem::take(&mut item));
                case = Case::default();
            }
        }
        let last_words = last_words(&said);
        if case.subject.is_empty() && done.len() == n_done {
            return Err(io::Error::other(format!("the process that judges ended before it began{last_words}")));
        }
        if case.subject.is_empty() {
            // It ended between two items, so the next one is not at fault.
            continue;
        }
        done.push(Value::Str(case.subject.clone()));
        let Case { subject, options, module } = case;
        let (kind, message) = match ended {
            Ended::Silent(time) => (Kind::Hangs, format!("it does not come to an end within {time:.0?}")),
            Ended::By(status) => (Kind::EndsProcess, format!("the process ended with {status}{last_words}")),
        };
        item.push(Entry::Finding(Finding { subject, kind, message, options, module }));
        items.push(item);
    }
}

/// How a process ended.
enum Ended {
    By(ExitStatus),
    /// It wrote nothing for so long, and was ended.
    Silent(Duration),
}

fn wait(mut child: Child, journal: &Path, deadline: Duration) -> io::Result<Ended> {
    let (mut len, mut since) = (0, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::By(status));
        }
        let now = fs::metadata(journal)?.len();
        if now != len {
            (len, since) = (now, Instant::now());
        }
        let patience = if len == 0 { deadline.max(BEGINNING) } else { deadline };
        if since.elapsed() > patience {
            // It may have ended by itself just now.
            let _ = child.kill();
            child.wait()?;
            return Ok(Ended::Silent(patience));
        }
        thread::sleep(TICK);
    }
}

fn last_words(said: &Path) -> String {
    let said = fs::read(said).unwrap_or_default();
    let text = String::from_utf8_lossy(&said).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LAST_WORDS)..].iter();
    last.map(|line| format!("\n{line}")).collect()
}

/// A folder that is removed when it is no longer needed.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let path = Self::named(NEXT.fetch_add(1, Ordering::Relaxed));
            match fs::create_dir(&path) {
                // A process that was killed had the number of this one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Self(path)),
            }
        }
    }

    fn named(number: u64) -> PathBuf {
        env::temp_dir().join(format!("relais-conformance-{}-{number}", process::id()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The system removes the remains in a folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_of_a_process_that_was_killed_are_passed_over() {
        let left: Vec<PathBuf> = (0..99).map(Scratch::named).filter(|path| fs::create_dir(path).is_ok()).collect();
        assert!(left.len() > 90);
        let made = Scratch::new().unwrap();
        assert!(made.0.is_dir() && !left.contains(&made.0));
        left.iter().for_each(|path| fs::remove_dir(path).unwrap());
    }
}
