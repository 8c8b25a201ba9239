//! The process of a worker, from its start to its end.

use super::{
    Beside, WorkerSpec,
    lane::{Files, Lane, LaneError},
    message::{LOST, Message, PROTOCOL, kind, sandbox, tag},
};
use crate::{
    isolation::{self, ENVIRONMENT, Isolation, Sandbox, size_text},
    plugin::{Described, MOST_DESCRIBED, ProgramReport, Refusal, cut, escaped, functions},
    words::and_list,
};
use relais_plugin_api::{boundary::logger, diagnostics::PassError};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead, BufReader, PipeReader, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{
            net::UnixStream,
            process::{CommandExt, ExitStatusExt},
        },
    },
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// The last lines of standard error that are kept.
const LINES: usize = 20;
/// The most bytes of standard error that are passed on.
const MOST_SAID: usize = 64 << 10;
/// The most records of the log that are passed on of a call.
const MOST_LOGGED: usize = 10_000;
/// How long a process may take to end after its connection did.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it may take to start and to open the plugin.
const START: Duration = Duration::from_secs(60);

/// Which Python is used.
const PYTHON: &str = "`RELAIS_PYTHON` names a Python in which `relais-onnx` is installed";

/// A process that runs, or has.
pub(crate) struct Process {
    pub generation: u64,
    child: Mutex<Child>,
    /// The end of the control lane to which the host writes.
    control: Mutex<Lane>,
    idle: Mutex<Vec<(u64, Lane)>>,
    next_lane: AtomicU64,
    next_call: AtomicU64,
    end: Mutex<Option<Arc<End>>>,
    said: Arc<Written>,
    crash: Mutex<PipeReader>,
    memory: u64,
    /// The plugin, and its library, for the names of functions.
    plugin: String,
    library: Option<PathBuf>,
}

/// The output of a process on standard error.
#[derive(Default)]
struct Written {
    /// The last lines.
    lines: Mutex<VecDeque<String>>,
    /// Whether it said that there was no memory for it.
    lacked_memory: AtomicBool,
}

/// How a process ended.
pub(crate) struct End {
    /// In words.
    pub how: String,
    /// The last lines that it wrote to standard error.
    pub lines: Vec<String>,
    /// The functions of the plugin in which it was, the innermost first, if a signal ended it.
    pub functions: Vec<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Half of the machine's memory.
pub fn usual_memory() -> u64 {
    let info = rustix::system::sysinfo();
    (info.totalram as u64).saturating_mul(info.mem_unit.into()) / 2
}

impl Process {
    /// Starts a worker, and has it open the plugin.
    ///
    /// # Errors
    /// Returns an error if it cannot be started, or the plugin is refused there.
    pub fn start(spec: &WorkerSpec, generation: u64) -> Result<Arc<Self>, PassError> {
        let (this, opened) = Self::opened(spec, generation)?;
        let Some(Some(known)) = &spec.program else { return Ok(this) };
        let report = report(&opened)?;
        if report.described != *known {
            let error = format_args!("plugin `{}` has other passes or options than its records say", spec.plugin);
            let help = "`relais plugin record` writes the file of records beside it again";
            return Err(PassError::new(error).help(help));
        }
        let ProgramReport { interpreter, program, reads, .. } = &report;
        let reads: Vec<String> = reads.iter().map(|folder| folder.display().to_string()).collect();
        log::info!(
            "plugin `{}` runs in {interpreter} (`{program}`), whose process can read {}",
            spec.plugin,
            and_list(&reads)
        );
        Ok(this)
    }

    /// Starts a worker, and returns it with its answer.
    fn opened(spec: &WorkerSpec, generation: u64) -> Result<(Arc<Self>, Message), PassError> {
        let not_started = |error: io::Error| {
            let message = format_args!("the process of plugin `{}` cannot be started: {error}", spec.plugin);
            match spec.program.is_some() {
                true => PassError::new(message).help(PYTHON),
                false => PassError::new(message),
            }
        };
        let (ours, theirs) = UnixStream::pair().map_err(not_started)?;
        let (said, says) = io::pipe().map_err(not_started)?;
        let (crash, crashes) = io::pipe().map_err(not_started)?;
        let command = if spec.program.is_some() { isolation::python() } else { isolation::command() };
        let mut command = command.map_err(not_started)?;
        command.stdin(OwnedFd::from(theirs)).stdout(says.try_clone().map_err(not_started)?).stderr(Stdio::from(says));
        // A signal of the terminal is for the host, which ends its workers.
        command.process_group(0);
        clear_environment(&mut command, &spec.isolation);
        if let Some(threads) = spec.isolation.threads {
            command.env("RAYON_NUM_THREADS", threads.to_string());
        }
        let program = command.get_program().to_string_lossy().into_owned();
        let child = spawn(command).map_err(|error| not_started(io::Error::other(format!("`{program}`: {error}"))))?;
        let memory = spec.isolation.memory.unwrap_or_else(usual_memory);
        let most = if spec.program.is_some() { MOST_DESCRIBED } else { MOST_SAID as u64 };
        let control = Lane::new(ours, Files::Refused, most).map_err(not_started)?;
        let written = Arc::new(Written::default());
        pass_on(said, written.clone());
        let this = Self {
            generation,
            child: Mutex::new(child),
            control: Mutex::new(control),
            idle: Mutex::default(),
            next_lane: AtomicU64::new(1),
            next_call: AtomicU64::new(1),
            end: Mutex::new(None),
            said: written,
            crash: Mutex::new(crash),
            memory,
            plugin: spec.plugin.clone(),
            library: spec.file.clone().filter(|_| spec.program.is_none()),
        };
        let opened = this.open(spec, crashes.into())?;
        Ok((Arc::new(this), opened))
    }

    fn open(&self, spec: &WorkerSpec, crashes: OwnedFd) -> Result<Message, PassError> {
        let path = |path: &std::path::Path| path.as_os_str().as_encoded_bytes().to_vec();
        let mut open = Message::new(kind::OPEN)
            .number(tag::PROTOCOL, PROTOCOL.into())
            .with(tag::HOST, env!("CARGO_PKG_VERSION").as_bytes())
            .with(tag::NAME, spec.plugin.as_bytes())
            .number(tag::LINKED, spec.is_linked.into())
            .number(tag::MEMORY, self.memory)
            .number(tag::LOG_LEVEL, log::max_level() as u64);
        for file in &spec.files {
            open = open.with(tag::FILE, &path(file));
        }
        if let Some(file) = &spec.file {
            open = open.with(tag::OWN_FILE, &path(file));
        }
        if let Some(sha256) = &spec.sha256 {
            open = open.with(tag::SHA256, sha256.as_bytes());
        }
        if spec.beside == Beside::Left {
            open = open.number(tag::ALONE, 1);
        }
        if let Some(interpreter) = &spec.interpreter {
            open = open.with(tag::TEXT, interpreter.as_bytes());
        }
        if !spec.target.is_empty() {
            open = open.with(tag::TARGET, spec.target.as_bytes());
        }
        for [domain, name, plugin] in &spec.preferences {
            open = open.with(tag::PREFERENCE, [&**domain, name, plugin].join("\0").as_bytes());
        }
        let sandbox = match spec.isolation.sandbox {
            Sandbox::None => sandbox::NONE,
            Sandbox::Usual => sandbox::USUAL,
            Sandbox::Strict => sandbox::STRICT,
        };
        open = open.number(tag::SANDBOX, sandbox);
        for file in &spec.isolation.read {
            let unreadable = |error| {
                let plugin = &spec.plugin;
                PassError::new(format_args!(
                    "`{}`, which plugin `{plugin}` may read, cannot be read: {error}",
                    file.display()
                ))
            };
            open = open.with(tag::READ, &path(&file.canonicalize().map_err(unreadable)?));
        }
        open.files.push(File::from(crashes));
        let mut watch = until(START, "it did not open the plugin");
        let mut control = lock(&self.control);
        let answer = control.send(&open, &[], &mut watch).and_then(|()| {
            let mut logged = Logged::default();
            loop {
                match control.receive(&mut watch)? {
                    message if message.kind == kind::LOG => logged.take(&message),
                    message => return Ok(message),
                }
            }
        });
        drop(control);
        match answer {
            Ok(message) if message.kind == kind::OPENED => Ok(message),
            Ok(message) if message.kind == kind::REFUSED => Err(message.failure()),
            Ok(_) => Err(PassError::new("its process does not answer as one")),
            Err(error) => {
                let end = self.end(&error);
                let error = end.error(&format!("the process of plugin `{}` ended while it was opened", spec.plugin));
                let lacks_package = |line: &String| line.contains("No module named") && line.contains("relais_onnx");
                Err(match spec.program.is_some() && end.lines.iter().any(lacks_package) {
                    true => error.help(PYTHON),
                    false => error,
                })
            }
        }
    }

    /// Returns an idle lane, or a new one, with its number.
    ///
    /// # Errors
    /// Returns an error if the process is gone.
    pub fn lane(&self) -> Result<(u64, Lane), LaneError> {
        if let Some(lane) = lock(&self.idle).pop() {
            return Ok(lane);
        }
        let no_lane = |error: io::Error| LaneError::Stopped(format!("no connection to it can be made: {error}"));
        let (ours, theirs) = UnixStream::pair().map_err(no_lane)?;
        let number = self.next_lane.fetch_add(1, Ordering::Relaxed);
        let mut message = Message::new(kind::LANE).number(tag::NUMBER, number);
        message.files.push(File::from(OwnedFd::from(theirs)));
        self.tell(&message)?;
        Ok((number, Lane::new(ours, Files::Refused, self.memory).map_err(no_lane)?))
    }

    /// Returns a number that no other call has.
    pub fn next_call(&self) -> u64 {
        self.next_call.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a lane back once its call has ended.
    pub fn put_back(&self, lane: (u64, Lane)) {
        lock(&self.idle).push(lane);
    }

    /// Sends a message that has no answer.
    pub fn tell(&self, message: &Message) -> Result<(), LaneError> {
        lock(&self.control).send(message, &[], &mut until(PATIENCE, "it does not listen"))
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        // One lock after the other: who ends it takes them in the other order.
        let has_end = lock(&self.end).is_some();
        has_end || lock(&self.child).try_wait().is_ok_and(|status| status.is_some())
    }

    /// Ends it, if it has not ended by itself, and says how it did.
    pub fn end(&self, why: &LaneError) -> Arc<End> {
        if let Some(end) = &*lock(&self.end) {
            return end.clone();
        }
        let mut child = lock(&self.child);
        if let Some(end) = &*lock(&self.end) {
            // Another thread has ended it meanwhile.
            return end.clone();
        }
        let until = Instant::now() + if matches!(why, LaneError::Closed) { PATIENCE } else { Duration::ZERO };
        let mut status = child.try_wait().ok().flatten();
        while status.is_none() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
            status = child.try_wait().ok().flatten();
        }
        let by_itself = status;
        let _ = child.kill();
        if by_itself.is_none() {
            let _ = child.wait();
        }
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // Processes that the plugin started, too.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // Its last lines are on their way.
        thread::sleep(Duration::from_millis(2));
        let lines: Vec<String> = lock(&self.said.lines).iter().cloned().collect();
        let told = self.told();
        let how = match by_itself {
            Some(status) => self.ended(status, &told),
            None => match why {
                LaneError::Broken(why) => format!("its process broke the rules ({why}), and was ended"),
                LaneError::Closed => "its process closed its connection, and was ended".into(),
                LaneError::Stopped(why) => format!("{why}, and its process was ended"),
            },
        };
        let functions = self.library.as_deref().map(|library| functions(&told, &self.plugin, library));
        let end = Arc::new(End { how, lines, functions: functions.unwrap_or_default() });
        *lock(&self.end) = Some(end.clone());
        drop(child);
        end
    }

    /// The words that its handler of signals wrote before it died.
    fn told(&self) -> String {
        let mut text = Vec::new();
        let crash = lock(&self.crash);
        let _ = rustix::io::ioctl_fionbio(&*crash, true);
        let _ = (&*crash).take(MOST_SAID as u64).read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn ended(&self, status: ExitStatus, told: &str) -> String {
        if self.said.lacked_memory.load(Ordering::Relaxed) && status.signal() == Some(libc::SIGABRT) {
            return format!("its process wanted more memory than its limit of {}", size_text(self.memory));
        }
        match (status.signal(), status.code()) {
            (Some(signal), _) => {
                // The handler of the worker knows the address.
                let told = told.split_once(" ended the process (").and_then(|(_, rest)| rest.lines().next());
                let told = told
                    .and_then(|told| told.split_once(')'))
                    .filter(|(told, _)| told.starts_with(signal_name(signal).as_str()));
                // With the plugin whose code it was, if it was another one's.
                let name = told.map_or_else(|| signal_name(signal), |(told, whose)| format!("{told}{whose}"));
                format!("its process died: {}", escaped(&cut(&name)))
            }
            (None, Some(LOST)) => "its process lost its connection".into(),
            (None, Some(status)) => format!("its process ended with status {status}"),
            (None, None) => "its process ended".into(),
        }
    }
}

/// Has the process of a program say what it has: the text, and what it says.
///
/// # Errors
/// Returns an error if the process cannot be started, the program cannot be loaded, or this host cannot use what it has.
pub fn description(spec: &WorkerSpec) -> Result<ProgramReport, PassError> {
    let (_process, opened) = Process::opened(spec, 1)?;
    report(&opened)
}

/// A program, as its process says in its answer.
fn report(opened: &Message) -> Result<ProgramReport, PassError> {
    let wrong =
        |why: &dyn std::fmt::Display| PassError::new(format_args!("what its process says of it cannot be used: {why}"));
    let text = std::str::from_utf8(&opened.ship).map_err(|error| wrong(&error))?;
    let described = Described::read(text).map_err(|refusal| match refusal {
        Refusal::Description { why } => wrong(&why),
        refusal => wrong(&refusal),
    })?;
    let shown = |text: &str| escaped(&cut(text)).into_owned();
    let report = ProgramReport {
        text: text.to_owned(),
        described,
        interpreter: shown(opened.text(tag::TEXT)),
        program: shown(opened.text(tag::NAME)),
        reads: opened.all(tag::READ).map(|field| shown(&String::from_utf8_lossy(field.bytes)).into()).collect(),
    };
    Ok(report)
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ends when its connections do; what it started may not.
        self.end(&LaneError::Stopped(String::new()));
    }
}

impl End {
    /// The failure of a pass, or of what `what` says.
    pub fn error(&self, what: &str) -> PassError {
        let message = if what.is_empty() { self.how.clone() } else { format!("{what}: {}", self.how) };
        let notes = [("it was in:", &self.functions), ("it wrote last:", &self.lines)];
        let notes = notes.into_iter().filter(|(_, lines)| !lines.is_empty());
        notes.fold(PassError::new(message).code("worker-died"), |error, (what, lines)| {
            error.with_note(format_args!("{what}\n    {}", lines.join("\n    ")))
        })
    }
}

/// Starts a process on a thread that lasts as long as this process: the system ends a worker with the thread that started
/// it.
fn spawn(command: Command) -> io::Result<Child> {
    type Wish = (Command, mpsc::Sender<io::Result<Child>>);
    static STARTER: Mutex<Option<mpsc::Sender<Wish>>> = Mutex::new(None);
    let gone = || io::Error::other("the thread that starts processes is gone");
    let mut starter = lock(&STARTER);
    let wishes = match &*starter {
        Some(wishes) => wishes.clone(),
        None => {
            let (wishes, wished) = mpsc::channel::<Wish>();
            let work = move || {
                for (mut command, answer) in wished {
                    let _ = answer.send(command.spawn());
                }
            };
            thread::Builder::new().name("workers".into()).spawn(work)?;
            starter.insert(wishes).clone()
        }
    };
    drop(starter);
    let (answer, answered) = mpsc::channel();
    wishes.send((command, answer)).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

/// Gives a process in a sandbox no variables of the environment but those that its plugin may see, and those that the
/// command sets.
fn clear_environment(command: &mut Command, isolation: &Isolation) {
    if isolation.sandbox == Sandbox::None {
        return;
    }
    let own: Vec<_> = command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
    command.env_clear();
    for name in ENVIRONMENT.into_iter().chain(isolation.env.iter().map(String::as_str)) {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    for (name, value) in own.into_iter().filter(|(name, _)| name != "PATH") {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// A watch that ends a wait after a time.
fn until(time: Duration, what: &'static str) -> impl FnMut() -> Result<(), LaneError> {
    let end = Instant::now() + time;
    move || match Instant::now() < end {
        true => Ok(()),
        false => Err(LaneError::Stopped(format!("{what} within {} s", time.as_secs()))),
    }
}

/// The name of a signal.
fn signal_name(signal: i32) -> String {
    let names = [
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGSYS, "SIGSYS"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGXCPU, "SIGXCPU"),
    ];
    names.iter().find(|(number, _)| *number == signal).map_or_else(|| format!("signal {signal}"), |it| it.1.to_owned())
}

/// Hands records of the log of a call to the host's, as far as they are not too many.
#[derive(Default)]
pub(super) struct Logged {
    n: usize,
}

impl Logged {
    /// Takes a record.
    pub fn take(&mut self, message: &Message) {
        self.n += 1;
        let level = logger::level(message.get(tag::LEVEL) as u8);
        let target = escaped(&cut(message.text(tag::NAME))).into_owned();
        match self.n {
            n if n < MOST_LOGGED => log::log!(target: &target, level, "{}", escaped(&cut(message.text(tag::TEXT)))),
            MOST_LOGGED => log::warn!(target: &target, "the rest of what it logs in this call is left out"),
            _ => {}
        }
    }
}

/// Passes on what a process writes, as far as it is not too much, and keeps the last lines.
fn pass_on(said: PipeReader, written: Arc<Written>) {
    let work = move || {
        let mut left = MOST_SAID;
        let mut said = BufReader::new(said);
        loop {
            let mut line = Vec::new();
            match (&mut said).take(4096).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&line);
            let text = escaped(text.trim_end_matches('\n')).into_owned();
            if left > text.len() {
                left -= text.len() + 1;
                // Nothing can be reported when standard error is closed.
                let _ = writeln!(io::stderr(), "{text}");
            } else if left > 0 {
                left = 0;
                let _ = writeln!(io::stderr(), "… (the rest of what it writes is left out)");
            }
            // As the standard library says it before it aborts.
            if text.starts_with("memory allocation of ") {
                written.lacked_memory.store(true, Ordering::Relaxed);
            }
            let mut lines = lock(&written.lines);
            if lines.len() == LINES {
                lines.pop_front();
            }
            lines.push_back(text);
        }
    };
    let _ = thread::Builder::new().name("standard error of a worker".into()).spawn(work);
}
