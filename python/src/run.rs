//! Running native code: without the interpreter's lock, with a look at its signals, and on threads that are there.
//!
//! The manager and passes in Python run on the calling thread, since Python handles signals on the main thread alone, and
//! since such passes may read what is the thread's own. Where a number of threads is given, or the process is a fork of one
//! that had threads, only what the host spreads over threads runs in a pool.

use crate::{current::now, log};
use pyo3::{
    exceptions::{PyException, PyRuntimeError},
    prelude::*,
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use relais::{
    manager::{ManagerOptions, Progress},
    pass::{PassMessage, with_threads},
};
use relais_plugin_api::diagnostics::PassError;
use relais_session::{Listener, Notice};
use std::{
    cell::RefCell,
    process,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

/// How often signals are looked at.
const PATIENCE: Duration = Duration::from_millis(20);

/// What Python code did in a run.
pub(crate) struct RunState {
    /// The thread that began it, which looks at signals.
    thread: ThreadId,
    looked: Mutex<Instant>,
    /// Set when passes should stop.
    cancel: AtomicBool,
    /// The exceptions of passes and hooks, with the messages of the native errors made of them.
    raised: Mutex<Vec<(String, PyErr)>>,
    /// The exception that ends the run, whatever the policy: an interrupt, an exit.
    ended: Mutex<Option<PyErr>>,
}

thread_local! {
    /// The runs under way on this thread, the innermost last.
    static RUNS: RefCell<Vec<Arc<RunState>>> = const { RefCell::new(Vec::new()) };
}

impl Default for RunState {
    fn default() -> Self {
        Self {
            thread: thread::current().id(),
            looked: Mutex::new(Instant::now()),
            cancel: AtomicBool::new(false),
            raised: Mutex::default(),
            ended: Mutex::default(),
        }
    }
}

impl RunState {
    /// The exception that became a native error of that message.
    pub fn take(&self, message: &str) -> Option<PyErr> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let at = raised.iter().rposition(|(text, _)| text == message)?;
        Some(raised.swap_remove(at).1)
    }

    /// An exception of a pass or hook, if there was one.
    pub fn first(&self) -> Option<PyErr> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        (!raised.is_empty()).then(|| raised.swap_remove(0).1)
    }

    fn end(&self, error: PyErr) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// The exception that ended it.
    pub fn ended(&self) -> Option<PyErr> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether it should stop: the thread that began it looks at signals, and hands the log over, every now and then.
    pub fn is_stopped(&self) -> bool {
        if thread::current().id() == self.thread {
            let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            let is_due = looked.elapsed() >= PATIENCE;
            if is_due {
                *looked = Instant::now();
            }
            // A handler may run passes of its own.
            drop(looked);
            if is_due {
                Python::try_attach(|py| {
                    if let Err(error) = log::hand_over(py).and_then(|()| py.check_signals()) {
                        self.end(error);
                    }
                });
            }
        }
        self.cancel.load(Ordering::Relaxed)
    }
}

impl Progress for RunState {
    fn begins(&self, _: &str) {
        self.is_stopped();
    }

    fn is_at(&self, _: u64, _: u64) {
        self.is_stopped();
    }

    fn said(&self, said: &PassMessage) {
        if said.is_printed() {
            Python::attach(|py| {
                if let Err(error) = log::print(py, &format!("{}\n", said.diagnostic.rec().message)) {
                    self.end(error);
                }
            });
        }
    }
}

impl Listener for RunState {
    fn notice(&self, notice: &Notice) {
        log::notice(notice);
    }

    fn progress(&self) -> Option<&dyn Progress> {
        Some(self)
    }

    fn cancel(&self) -> Option<&AtomicBool> {
        Some(&self.cancel)
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped()
    }
}

/// The innermost run on this thread.
pub(crate) fn current() -> Option<Arc<RunState>> {
    RUNS.with_borrow(|runs| runs.last().cloned())
}

/// Ends the run under way, since Python code raised this where nothing can fail.
pub(crate) fn end(py: Python<'_>, error: PyErr) {
    match current() {
        Some(state) => state.end(error),
        None => error.write_unraisable(py, None),
    }
}

/// The native error of an exception in Python code; the exception is kept for the end of the run.
pub(crate) fn keep(py: Python<'_>, error: PyErr) -> PassError {
    let class = error.get_type(py).name().map_or_else(|_| "error".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map(|text| text.to_string()).unwrap_or_default();
    let message = if text.is_empty() { class } else { format!("{class}: {text}") };
    let Some(state) = current() else { return PassError::new(message) };
    if !error.is_instance_of::<PyException>(py) {
        state.end(error.clone_ref(py));
    }
    state.raised.lock().unwrap_or_else(PoisonError::into_inner).push((message.clone(), error));
    PassError::new(message)
}

/// Does something as a run: exceptions in Python code that it calls are kept in `state`.
pub(crate) fn within<T>(state: &Arc<RunState>, work: impl FnOnce() -> T) -> T {
    /// Ends it, also after a panic.
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            RUNS.with_borrow_mut(|runs| drop(runs.pop()));
        }
    }
    RUNS.with_borrow_mut(|runs| runs.push(state.clone()));
    let _ends = Ends;
    work()
}

/// Runs passes in the current context: `work` gets the options of the run. Returns its result, with the state of the run.
///
/// # Errors
/// Returns an error if Python's handler of a signal raised one, a pass exits, or threads cannot be started.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce(&ManagerOptions<'_>) -> T + Send,
) -> PyResult<(T, Arc<RunState>)> {
    let (state, context) = (Arc::new(RunState::default()), now(py)?);
    // It lasts as long as Python's code may be called from here: the log is handed to it, too.
    let active = Active::begin(py, &state);
    let begun = log::refresh(py);
    let result = begun.and_then(|()| {
        py.detach(|| {
            let pool = pool(threads)?;
            let options = ManagerOptions {
                progress: Some(&*state),
                cancel: Some(&state.cancel),
                remarks: log::remarks(),
                ..ManagerOptions::default()
            };
            // The host knows nothing of tasks.
            let work = || {
                let _current = context.adopt();
                within(&state, || work(&options))
            };
            Ok(match pool {
                Some(pool) => with_threads(pool, work),
                None => work(),
            })
        })
    });
    let told = log::hand_over(py);
    active.end(py);
    if let Some(error) = state.ended() {
        return Err(error);
    }
    told?;
    Ok((result?, state))
}

/// A run that is under way.
struct Run {
    /// A fork does not continue the runs of its parent.
    process: u32,
    thread: ThreadId,
    state: Arc<RunState>,
}

/// The runs under way, on any thread.
static ACTIVE: Mutex<Vec<Run>> = Mutex::new(Vec::new());

/// The thread that ends the program.
static LAST: OnceLock<ThreadId> = OnceLock::new();

/// How long the end of the program waits for runs to stop.
const LONGEST: Duration = Duration::from_secs(10);

fn active() -> MutexGuard<'static, Vec<Run>> {
    ACTIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run that is under way. At the end of the program, other threads than the last one stay here, as they do in the
/// interpreter: passes that run on while the process ends would be taken for its cause, and an interpreter that ends
/// threads by unwinding them must not find any that is called from here.
struct Active<'a>(&'a Arc<RunState>);

impl<'a> Active<'a> {
    fn begin(py: Python<'_>, state: &'a Arc<RunState>) -> Self {
        // First of all, so that the end of the program sees either this run, or is seen by it.
        active().push(Run { process: process::id(), thread: thread::current().id(), state: state.clone() });
        stay_at_the_end(py);
        Self(state)
    }

    fn end(self, py: Python<'_>) {
        drop(self);
        stay_at_the_end(py);
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        active().retain(|run| !Arc::ptr_eq(&run.state, self.0));
    }
}

fn stay_at_the_end(py: Python<'_>) {
    let here = thread::current().id();
    if LAST.get().is_none_or(|last| *last == here) {
        return;
    }
    // Whatever is under way on this thread does not go on.
    active().retain(|run| run.thread != here);
    py.detach(|| {
        loop {
            thread::park();
        }
    })
}

/// Stops the runs on other threads, since the program ends.
#[pyfunction]
pub(crate) fn stop_runs(py: Python<'_>) {
    py.detach(|| {
        let last = *LAST.get_or_init(|| thread::current().id());
        let began = Instant::now();
        while last == thread::current().id() && began.elapsed() < LONGEST {
            let active = active();
            let mut own = active.iter().filter(|run| run.process == process::id()).peekable();
            if own.peek().is_none() {
                break;
            }
            own.for_each(|run| run.state.cancel.store(true, Ordering::Relaxed));
            drop(active);
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Does something that runs no pass, but takes a while.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    run(py, None, |_| work()).map(|(result, _)| result)
}

/// The process that rayon's own threads are in.
static HOME: LazyLock<u32> = LazyLock::new(process::id);

/// The pool of a process that was forked, with that process.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Notes which process this is, before anything forks it.
pub(crate) fn start() {
    LazyLock::force(&HOME);
}

/// The threads to run on; none where rayon's own are there.
fn pool(threads: Option<usize>) -> PyResult<Option<Arc<ThreadPool>>> {
    let make = |n: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(n).build();
        let failed = |error| PyRuntimeError::new_err(format!("{n} threads cannot be started: {error}"));
        pool.map(Arc::new).map_err(failed)
    };
    if let Some(n) = threads {
        return make(n).map(Some);
    }
    let id = process::id();
    if id == *HOME {
        return Ok(None);
    }
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = forked.as_ref().filter(|(of, _)| *of == id) {
        return Ok(Some(pool.clone()));
    }
    let pool = make(0)?;
    // One of the parent is leaked: dropping it takes locks that threads hold which are not there.
    std::mem::forget(forked.replace((id, pool.clone())));
    Ok(Some(pool))
}
