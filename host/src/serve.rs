//! The worker: the process in which an isolated plugin runs, for a host that sends it messages.

mod analyses;
mod asks;
mod instruments;
mod logger;
mod program;
mod sandbox;

pub use logger::logger;
pub use program::{Language, Loading, Program};

use crate::{
    loaded::{Answered, Asked, PassHandle, PluginInstrument},
    pass::{PassContext, Remarks, RunCx, RunnablePass, Scope},
    plugin::{Discovery, Policy, Records, Running, WritableFiles, close_inherited, discover, tell_crashes_to},
    registry::{Choices, Linked, Provider, Registry},
    worker::{
        Files, LOST, Lane, Message, PROTOCOL, diagnostic_bytes, failure, kind, sandbox as confinement, tag,
        usual_memory,
    },
};
use abi_stable::std_types::RArc;
use asks::Asks;
use logger::{flush, lock, log_filter, patient, serves};
use relais_plugin_api::{
    boundary::{
        abi::{BegunObject, StepRec, operator_part},
        guard::caught,
    },
    context::PassContext as SentContext,
    diagnostics::{Diagnostic, PassError},
    facts::OpFactsTable,
    infer::{Coverage, Operators, Way, infer_function},
    ir::{CallView, ConstForm, Function, IRModule, NodeId},
    op::OpError,
    options::Value,
};
use rustix::{
    io::{FdFlags, dup, fcntl_setfd},
    process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit},
};
use sandbox::Sandbox;
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    fs::File,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStringExt, net::UnixStream},
    },
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

/// The state of this process.
struct Server {
    registry: Registry,
    plugin: String,
    /// The plugin, if it is a program.
    program: Option<Box<dyn Program>>,
    /// The answer to the host, once the plugin is open.
    opened: Message,
    next: AtomicU64,
    passes: Mutex<HashMap<u64, Pass>>,
    begun: Mutex<HashMap<u64, Arc<BegunObject>>>,
    instruments: Mutex<HashMap<u64, Arc<PluginInstrument>>>,
    /// The calls on lanes, by the lanes' numbers.
    calls: Mutex<HashMap<u64, Arc<LaneCall>>>,
}

/// A pass that was made.
#[derive(Clone)]
enum Pass {
    OfPlugin(Arc<PassHandle>),
    /// With what it is, for the guard against plugins that end the process.
    OfProgram(Arc<dyn RunnablePass>, Arc<str>),
}

/// Serves the host whose connection is standard input, until that is closed: opens the plugin that it names, and runs its
/// passes. A program that embeds the host, and is to be its own worker, calls this when it is started as one, before it
/// opens a file or starts a thread: all descriptors but the three standard ones are closed.
pub fn serve() -> ExitCode {
    serve_as(None)
}

/// The same in a process of another language, whose plugins are files that it loads. Returns if it cannot begin.
pub fn serve_programs(language: &'static dyn Language) {
    serve_as(Some(language));
}

fn serve_as(language: Option<&'static dyn Language>) -> ExitCode {
    match connected() {
        Ok(control) => run(control, language),
        Err(error) => {
            eprintln!("error: this is the process of an isolated plugin, which `relais` starts by itself: {error}");
            ExitCode::from(2)
        }
    }
}

/// Confines this process, which is about to test plugins from these files, as it confines a worker: it can read them and
/// the libraries of the system, write 512 MiB to the files that are open, and take half of the machine's memory. Returns
/// the features that the kernel lacks for that.
///
/// # Errors
/// Returns an error if it cannot be limited.
pub fn confine(files: &[PathBuf]) -> std::io::Result<Vec<String>> {
    for (resource, most) in [(Resource::Data, usual_memory()), (Resource::Core, 0), (Resource::Fsize, MOST_WRITTEN)] {
        lower(resource, most)?;
    }
    Ok(Sandbox::enter(files, &[]).lacks)
}

/// Reads bytes as the host reads those of a plugin's process, with what it makes of each message, and returns how many messages
/// they are. For fuzz targets.
///
/// # Errors
/// Returns an error if the system has no connection.
#[doc(hidden)]
pub fn count_messages(bytes: &[u8]) -> std::io::Result<usize> {
    crate::worker::count_messages(bytes)
}

/// The most bytes of a file that a plugin's process writes, or a library that it opens has.
const MOST_WRITTEN: u64 = 512 << 20;

/// Sets a limit of the system, which may be lower already.
fn lower(resource: Resource, most: u64) -> Result<(), rustix::io::Errno> {
    let most = Some(most.min(getrlimit(resource).maximum.unwrap_or(u64::MAX)));
    setrlimit(resource, Rlimit { current: most, maximum: most })
}

/// The connection, away from the descriptors that code of plugins knows.
fn connected() -> std::io::Result<Lane> {
    close_inherited();
    // With the host, whatever the plugin does meanwhile.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let stdin = std::io::stdin();
    let control = dup(&stdin)?;
    fcntl_setfd(&control, FdFlags::CLOEXEC)?;
    rustix::net::getsockname(&control).map_err(|_| std::io::Error::other("its standard input is not a connection"))?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Lane::new(UnixStream::from(control), Files::Taken, u64::MAX)
}

fn run(mut control: Lane, language: Option<&'static dyn Language>) -> ExitCode {
    // No plugin is to blame for that.
    relais_files::mapped::explain_shortened_files();
    let Ok(open) = control.receive(&mut patient) else { return ExitCode::from(2) };
    // Leaving runs no code of the plugin.
    let leave = || -> ! { relais_files::leave(LOST) };
    let opened = match language {
        None => Server::open(open),
        Some(language) => Server::load(open, language),
    };
    let server = match opened {
        Ok(server) => Arc::new(server),
        Err(error) => {
            let _ = control.send(&Message::new(kind::REFUSED).error(&error), &[], &mut patient);
            return ExitCode::from(2);
        }
    };
    let description = server.program.as_ref().map(|program| program.description()).unwrap_or_default();
    if control.send(&server.opened, description.as_bytes(), &mut patient).is_err() {
        leave();
    }
    loop {
        let Ok(mut message) = control.receive(&mut patient) else { leave() };
        let number = message.get(tag::NUMBER);
        match message.kind {
            kind::LANE => {
                let Some(file) = message.files.pop() else { leave() };
                let Ok(lane) = Lane::new(UnixStream::from(OwnedFd::from(file)), Files::Taken, u64::MAX) else {
                    leave()
                };
                let call = Arc::new(LaneCall::default());
                lock(&server.calls).insert(number, call.clone());
                let server = server.clone();
                let name = format!("lane {number}");
                let work = move || {
                    server.lane(lane, &call);
                    lock(&server.calls).remove(&number);
                };
                if thread::Builder::new().name(name).stack_size(STACK).spawn(work).is_err() {
                    leave();
                }
            }
            kind::CANCEL => {
                if let Some(call) = lock(&server.calls).get(&number) {
                    call.cancel(message.get(tag::CALL));
                }
            }
            _ => {}
        }
    }
}

/// The most messages of a call.
const MOST_SAID: usize = 60_000;

/// Whether a call should end, and the threads that work for it.
type Means<'a> = (&'a AtomicBool, Option<&'a rayon::ThreadPool>);

/// The most bytes that an evaluator's result may take; the host looks at what comes.
const MOST_COMPUTED: u64 = 1 << 32;

/// As much stack as the first thread of a process usually has.
const STACK: usize = 8 << 20;

/// The call on a lane, and whether it should end.
#[derive(Default)]
struct LaneCall {
    is_cancelled: AtomicBool,
    number: AtomicU64,
    /// The last one that was to end.
    cancelled: AtomicU64,
}

impl LaneCall {
    fn begin(&self, number: u64) {
        self.number.store(number, Ordering::SeqCst);
        self.is_cancelled.store(self.cancelled.load(Ordering::SeqCst) == number, Ordering::SeqCst);
    }

    fn cancel(&self, number: u64) {
        self.cancelled.store(number, Ordering::SeqCst);
        if self.number.load(Ordering::SeqCst) == number {
            self.is_cancelled.store(true, Ordering::SeqCst);
        }
    }
}

/// Takes the first step into the sandbox that the host wants.
fn enter_sandbox(
    message: &Message,
    plugin: &str,
    files: &[PathBuf],
    language: Option<Vec<PathBuf>>,
) -> Result<Option<Sandbox>, PassError> {
    let wanted = message.get(tag::SANDBOX);
    if wanted == confinement::NONE {
        return Ok(None);
    }
    let loads_late = language.is_some();
    let read = message.all(tag::READ).map(|field| path(field.bytes));
    let read: Vec<PathBuf> = read.chain(language.unwrap_or_default()).collect();
    let mut sandbox = Sandbox::enter(files, &read);
    sandbox.loads_late = loads_late;
    let lacks = sandbox.lacks.join("; ");
    if !lacks.is_empty() && wanted == confinement::STRICT {
        let why = format!("the sandbox that plugin `{plugin}` is to run in cannot be had here: {lacks}");
        return Err(PassError::new(why));
    }
    if !lacks.is_empty() {
        log::warn!("plugin `{plugin}` runs without a whole sandbox: {lacks}");
    }
    Ok(Some(sandbox))
}

/// Whether passes of others may need the code of a plugin: for operators, or for analyses.
fn serves_others(records: &Records) -> bool {
    let Records { operators, additions, evaluators, analyses, .. } = records;
    !(operators.is_empty() && additions.is_empty() && evaluators.is_empty() && analyses.is_empty())
}

/// Whether linked plugins count for the host.
fn linked(message: &Message) -> Linked {
    if message.get(tag::LINKED) != 0 { Linked::Include } else { Linked::Exclude }
}

/// A registry with the choices of the host.
fn arranged(mut registry: Registry, message: &Message) -> Registry {
    registry.set_target(message.text(tag::TARGET));
    for field in message.all(tag::PREFERENCE) {
        let text = field.text().unwrap_or_default();
        if let [domain, name, plugin] = text.split('\0').collect::<Vec<_>>()[..] {
            registry.prefer_operator(domain, name, plugin);
        }
    }
    registry
}

/// A path as the host sends it.
fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

impl Pass {
    /// The members of a sequence, as its plugin names them; a program runs its own.
    fn steps(&self) -> Result<Vec<StepRec>, PassError> {
        match self {
            Self::OfPlugin(pass) => pass.steps(),
            Self::OfProgram(..) => Ok(Vec::new()),
        }
    }
}

impl Server {
    /// Limits the process as the host wants.
    fn begin(message: &mut Message) -> Result<(), PassError> {
        let is_known = message.kind == kind::OPEN && message.get(tag::PROTOCOL) == u64::from(PROTOCOL);
        if !is_known || message.text(tag::HOST) != env!("CARGO_PKG_VERSION") {
            return Err(PassError::new("the program of the worker is of another version than its host"));
        }
        log::set_max_level(log_filter(message.get(tag::LOG_LEVEL)));
        logger::install();
        if let Some(crashes) = message.files.pop() {
            tell_crashes_to(crashes.into());
        }
        let not_limited =
            |error: rustix::io::Errno| PassError::new(format_args!("its process cannot be limited: {error}"));
        lower(Resource::Data, message.get(tag::MEMORY)).map_err(not_limited)?;
        lower(Resource::Core, 0).map_err(not_limited)?;
        // Files in memory, to which libraries are copied, do not count as memory.
        lower(Resource::Fsize, MOST_WRITTEN).map_err(not_limited)
    }

    fn open(mut message: Message) -> Result<Self, PassError> {
        Self::begin(&mut message)?;
        let files: Vec<PathBuf> = message.all(tag::FILE).map(|field| path(field.bytes)).collect();
        // The host has looked at who may change them.
        let mut found = discover(&[], &files, Policy { writable: WritableFiles::Allow });
        // This is the process in which it is.
        found.plugins.iter_mut().for_each(|plugin| plugin.isolation = None);
        let linked = linked(&message);
        let own = message.has(tag::OWN_FILE).then(|| path(message.bytes(tag::OWN_FILE)));
        let name = message.text(tag::NAME).to_owned();
        let refusal = refused(&found, own.as_ref());
        let sandbox = enter_sandbox(&message, &name, &files, None)?;
        let mut registry = arranged(Registry::new(found, linked, &Choices::new()), &message);
        let is_meant =
            |provider: &&Provider| provider.records().plugin.name == name && provider.path() == own.as_deref();
        let provider = registry.plugins().find(is_meant);
        let provider = provider.ok_or_else(|| {
            let why = refusal.unwrap_or_else(|| "it is not found there".into());
            PassError::new(format_args!("plugin `{name}` is not used by its process: {why}"))
        })?;
        // Of two plugins that have a pass, the host has chosen.
        let passes: Vec<String> = provider.records().passes.iter().map(|pass| pass.name.clone()).collect();
        passes.iter().for_each(|pass| registry.prefer(pass, &name));
        let provider = registry.plugins().find(is_meant).ok_or_else(|| PassError::new("its plugin is not found"))?;
        if message.has(tag::SHA256) {
            provider.insist_on(message.text(tag::SHA256));
        }
        provider.open().map_err(|refusal| {
            let error = PassError::new(format_args!("plugin {} was refused: {refusal}", provider.describe()));
            refusal.help().into_iter().fold(error, PassError::help)
        })?;
        if let Some(sandbox) = sandbox {
            // Libraries are opened now or never. One that cannot be opened is told of where it is used.
            registry.plugins().filter(|provider| serves_others(provider.records())).for_each(|it| drop(it.open()));
            sandbox.close().map_err(|why| PassError::new(format_args!("its sandbox cannot be closed: {why}")))?;
        }
        Ok(Self::new(name, registry, None))
    }

    fn new(plugin: String, registry: Registry, program: Option<Box<dyn Program>>) -> Self {
        Self {
            plugin,
            registry,
            program,
            opened: Message::new(kind::OPENED),
            next: AtomicU64::new(1),
            passes: Mutex::default(),
            begun: Mutex::default(),
            instruments: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    /// Serves one lane until it is closed.
    fn lane(&self, lane: Lane, call: &LaneCall) {
        let lane = Arc::new(Mutex::new(lane));
        serves(lane.clone());
        let mut pool = None;
        loop {
            let message = lock(&lane).receive(&mut patient);
            let Ok(message) = message else { return };
            if message.has(tag::CALL) {
                call.begin(message.get(tag::CALL));
                // A pass that waits for one on another lane keeps the threads of its own loops.
                pool = pool.or_else(|| rayon::ThreadPoolBuilder::new().build().ok());
            }
            let (answer, ship) = self.answer(&message, &lane, (&call.is_cancelled, pool.as_ref()));
            let mut lane = lock(&lane);
            flush(&mut lane);
            let ship = ship.map(|ship| match ship {
                Shipped::Function(function) => lane.exchange.ship_function(&function),
                Shipped::Module(module) => lane.exchange.ship_module(&module),
            });
            if lane.send(&answer, ship.as_deref().unwrap_or_default(), &mut patient).is_err() {
                return;
            }
        }
    }

    fn answer(&self, message: &Message, lane: &Mutex<Lane>, means: Means<'_>) -> (Message, Option<Shipped>) {
        let done = || Message::new(kind::DONE);
        let failed = |error: PassError| (Message::new(kind::FAILED).error(&error), None);
        let number = message.get(tag::NUMBER);
        match message.kind {
            kind::CREATE => match self.create(message) {
                Ok(pass) => {
                    let number = self.next.fetch_add(1, Ordering::Relaxed);
                    lock(&self.passes).insert(number, pass);
                    (done().number(tag::NUMBER, number), None)
                }
                Err(error) => failed(error),
            },
            kind::DROP => {
                let begun = lock(&self.begun).remove(&message.get(tag::BEGUN));
                let pass = lock(&self.passes).remove(&number);
                let instrument = lock(&self.instruments).remove(&message.get(tag::INSTRUMENT));
                drop((begun, pass, instrument));
                match self.registry.take_faults().into_iter().next() {
                    Some(fault) => failed(PassError::new(fault)),
                    None => (done(), None),
                }
            }
            kind::STEPS => match self.pass(number).and_then(|pass| pass.steps()) {
                Ok(steps) => (steps.iter().fold(done(), |done, step| done.with(tag::STEP, &step_bytes(step))), None),
                Err(error) => failed(error),
            },
            kind::OPERATOR => self.operator(message, lane),
            kind::INSTRUMENT => self.create_instrument(message).map_or_else(failed, |done| (done, None)),
            kind::ANALYSE => self.analyse(message, lane).map_or_else(failed, |done| (done, None)),
            kind::HOOK => self.hook(message, lane).map_or_else(failed, |done| (done, None)),
            _ => match self.pass(number) {
                Ok(pass) => self.run(&pass, message, lane, means),
                Err(error) => failed(error),
            },
        }
    }

    /// Asks a part of an operator about a call, which is the one of the function that was sent.
    fn operator(&self, message: &Message, lane: &Mutex<Lane>) -> (Message, Option<Shipped>) {
        let answer = (|| {
            let unreadable = |error| OpError::broken(format_args!("what the host sent cannot be read: {error}"));
            let mut f = lock(lane).exchange.function(&message.ship).map_err(unreadable)?;
            let call = f.results(f.body()).first().copied().unwrap_or(NodeId::ABSENT);
            let op =
                f.call(call).and_then(CallView::op).ok_or_else(|| OpError::broken("what was sent is not a call"))?;
            let mut table = OpFactsTable::new(&self.registry, &f);
            let done = Message::new(kind::DONE);
            let lacks = || OpError::broken("its process lacks what its records say");
            match message.get(tag::NUMBER) as u8 {
                operator_part::RELATION => {
                    let inferred = infer_function(&mut f, &mut table, Coverage::Everything);
                    match inferred.faults.into_iter().next() {
                        Some(fault) => Err(fault.error),
                        None => Ok((done, Some(Shipped::Function(RArc::new(f))))),
                    }
                }
                operator_part::EVALUATOR => {
                    let args = f.call(call).map(CallView::args).unwrap_or_default().to_vec();
                    let inputs: Vec<_> = args.iter().map(|&arg| f.constant(arg).cloned()).collect();
                    let results = table.evaluate_by(Way::Evaluator, op, &f, call, &inputs, MOST_COMPUTED);
                    let results = results.ok_or_else(lacks)??;
                    let mut made = Function::new();
                    let ids: Vec<_> = results.into_iter().map(|it| made.add_constant(it, ConstForm::ANY)).collect();
                    ids.iter().for_each(|&id| made.append(made.body(), id));
                    made.set_results(made.body(), &ids);
                    Ok((done, Some(Shipped::Function(RArc::new(made)))))
                }
                part => {
                    let text = table.text(part, &f, call).ok_or_else(lacks)??;
                    Ok((done.with(tag::TEXT, text.as_bytes()), None))
                }
            }
        })();
        answer.unwrap_or_else(|error: OpError| {
            let how = match error.kind {
                _ if error.is_broken() => failure::BROKEN,
                _ if error.is_unsupported() => failure::UNSUPPORTED,
                _ => failure::INVALID,
            };
            (Message::new(kind::FAILED).number(tag::NUMBER, how).with(tag::TEXT, error.message.as_bytes()), None)
        })
    }

    fn create(&self, message: &Message) -> Result<Pass, PassError> {
        let options = Value::decode(message.bytes(tag::BYTES)).map_err(PassError::new)?;
        if let Some(program) = &self.program {
            let name = message.text(tag::NAME);
            let what = format!("plugin `{}`, in pass `{name}`,", self.plugin).into();
            return Ok(Pass::OfProgram(program.create(name, options)?, what));
        }
        let made = self.registry.create(message.text(tag::NAME), &options).map_err(|error| match error {
            crate::registry::CreateError::Make { error, .. } => error,
            error => PassError::new(error),
        })?;
        match made.plugin().name == self.plugin {
            true => Ok(Pass::OfPlugin(Arc::new(made))),
            false => Err(PassError::new(format_args!("plugin `{}` has the pass, too", made.plugin().name))),
        }
    }

    fn pass(&self, number: u64) -> Result<Pass, PassError> {
        lock(&self.passes).get(&number).cloned().ok_or_else(|| PassError::new("its process does not have the pass"))
    }

    fn run(
        &self,
        pass: &Pass,
        message: &Message,
        lane: &Mutex<Lane>,
        (cancel, pool): Means<'_>,
    ) -> (Message, Option<Shipped>) {
        log::set_max_level(log_filter(message.get(tag::LOG_LEVEL)));
        let said: Mutex<Vec<Diagnostic>> = Mutex::default();
        let counts: Mutex<Vec<(String, u64)>> = Mutex::default();
        let asks = Asks { lane, thread: thread::current().id(), module: OnceLock::new() };
        let result = (|| {
            let context = context_of(message.bytes(tag::CONTEXT))?;
            let config = context.settings().config.clone();
            let cx = RunCx {
                diagnostics: &|diagnostic| {
                    let mut said = lock(&said);
                    match said.len() {
                        n if n < MOST_SAID => said.push(diagnostic),
                        MOST_SAID => said.push(Diagnostic::note("the rest of the pass's messages are left out")),
                        _ => {}
                    }
                },
                progress: &|done, total| {
                    asks.tell(&Message::new(kind::PROGRESS).number(tag::NUMBER, done).number(tag::TOTAL, total))
                },
                count: &|statistic, n| lock(&counts).push((statistic.to_owned(), n)),
                file: &|name, contents| {
                    let file = Message::new(kind::FILE).with(tag::NAME, name.as_bytes());
                    asks.ask(&file, |_| Cow::Borrowed(contents)).map(|_| ())
                },
                remarks: if message.get(tag::REMARKS) != 0 { Remarks::Show } else { Remarks::Hide },
                cancel,
                config: &config,
                pool,
                ..RunCx::new(&self.registry)
            };
            let _guard = Arc::new(context).adopt();
            let unreadable = |error| PassError::new(format_args!("what the host sent cannot be read: {error}"));
            let function = || {
                let mut lane = lock(lane);
                if message.has(tag::SAME) {
                    let last = lane.last.as_ref().map(|(last, _)| last.clone());
                    return last.ok_or_else(|| PassError::new("the host has sent no function"));
                }
                lane.last = None;
                let function = RArc::new(lane.exchange.function(&message.ship).map_err(unreadable)?);
                lane.last = Some((function.clone(), Vec::new()));
                Ok(function)
            };
            let module = || lock(lane).exchange.module(&message.ship).map_err(unreadable);
            let global = message.text(tag::GLOBAL);
            let begun = message.get(tag::BEGUN);
            let pass = match pass {
                Pass::OfPlugin(pass) => pass,
                Pass::OfProgram(pass, what) => {
                    let _running = Running::new(what);
                    let new = caught(|| pass.run(asks.given(module()?), &cx)).and_then(|result| result)?;
                    return Ok(new.map_or(Answered::Nothing, Answered::Module));
                }
            };
            match message.kind {
                kind::FUNCTION => pass.answer(Asked::Function(&function()?), global, &cx, &asks),
                kind::PRIM_FUNC => pass.answer(Asked::PrimFunc(&function()?), global, &cx, &asks),
                kind::MODULE => pass.answer(Asked::Module(asks.given(module()?)), "", &cx, &asks),
                kind::CHECK => pass.answer(Asked::Check(asks.given(module()?)), "", &cx, &asks),
                kind::BEGIN => pass.answer(Asked::Begin(asks.given(module()?)), "", &cx, &asks),
                kind::ON_FUNCTION => {
                    let state = lock(&self.begun).get(&begun).cloned().ok_or_else(not_begun)?;
                    pass.answer(Asked::OnFunction(&state, &function()?), global, &cx, &asks)
                }
                kind::END => {
                    let state = lock(&self.begun).remove(&begun).ok_or_else(not_begun)?;
                    let state = Arc::into_inner(state).ok_or_else(not_begun)?;
                    pass.answer(Asked::End(state, &module()?), "", &cx, &asks)
                }
                other => Err(PassError::new(format_args!("its process does not know messages of kind {other}"))),
            }
        })();
        let (mut answer, ship) = match result {
            Ok(Answered::Nothing) => (Message::new(kind::DONE).number(tag::UNCHANGED, 1), None),
            Ok(Answered::Function(function)) => (Message::new(kind::DONE), Some(Shipped::Function(function))),
            Ok(Answered::Module(module)) => (Message::new(kind::DONE), Some(Shipped::Module(module))),
            Ok(Answered::Begun(state)) => {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                lock(&self.begun).insert(number, Arc::new(state));
                (Message::new(kind::DONE).number(tag::BEGUN, number), None)
            }
            Err(error) => (Message::new(kind::FAILED).error(&error), None),
        };
        for diagnostic in said.into_inner().unwrap_or_else(PoisonError::into_inner) {
            answer = answer.with(tag::DIAGNOSTIC, &diagnostic_bytes(&diagnostic));
        }
        for (statistic, n) in counts.into_inner().unwrap_or_else(PoisonError::into_inner) {
            answer = answer.with(tag::COUNT, &[&n.to_le_bytes()[..], statistic.as_bytes()].concat());
        }
        (answer, ship)
    }
}

fn not_begun() -> PassError {
    PassError::new("its process has not begun, or has ended")
}

/// The shipped part of an answer.
enum Shipped {
    Function(RArc<Function>),
    Module(IRModule),
}

/// Why a file is not used here.
fn refused(found: &Discovery, own: Option<&PathBuf>) -> Option<String> {
    found.refused.iter().find(|refused| Some(&refused.path) == own).map(|refused| refused.refusal.to_string())
}

/// A member of a sequence as it crosses.
fn step_bytes(step: &StepRec) -> Vec<u8> {
    let options = step.options.as_slice();
    [&(options.len() as u32).to_le_bytes()[..], options, step.pass.as_bytes()].concat()
}

/// The context that the host sent.
fn context_of(bytes: &[u8]) -> Result<PassContext, PassError> {
    let sent = SentContext::decode(bytes).map_err(PassError::new)?;
    let config: BTreeMap<String, Value> = match sent.options() {
        Value::Struct(entries) => entries.iter().cloned().collect(),
        _ => BTreeMap::new(),
    };
    Ok(PassContext::new(Scope {
        opt_level: sent.opt_level(),
        required: sent.required().map(str::to_owned).collect(),
        disabled: sent.disabled().map(str::to_owned).collect(),
        config,
        ..Scope::default()
    }))
}
