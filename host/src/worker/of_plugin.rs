//! The worker of a plugin: a process, and after its death another one.

use super::{
    WorkerSpec,
    lane::{Lane, LaneError},
    process::Process,
};
use relais_plugin_api::{boundary::abi::error_kind, diagnostics::PassError};
use std::sync::{Arc, Mutex, PoisonError};

/// The worker of a plugin.
pub(crate) struct Worker {
    pub(super) spec: WorkerSpec,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    process: Option<Arc<Process>>,
    n_started: u64,
}

/// A lane while a call has it.
pub(super) struct Held {
    pub process: Arc<Process>,
    pub number: u64,
    lane: Option<Lane>,
}

impl Held {
    /// The lane.
    pub fn lane(&mut self) -> Result<&mut Lane, LaneError> {
        self.lane.as_mut().ok_or(LaneError::Closed)
    }

    /// Gives the lane back, its call having ended.
    pub fn put_back(mut self) {
        if let Some(lane) = self.lane.take().filter(|lane| !lane.is_full()) {
            self.process.put_back((self.number, lane));
        }
    }
}

impl Worker {
    /// A worker that is started when something is asked of it.
    pub fn new(spec: WorkerSpec) -> Self {
        Self { spec, state: Mutex::default() }
    }

    /// Returns a lane of the process, which is started if it does not run.
    pub(super) fn held(&self) -> Result<Held, PassError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let process = match &state.process {
            Some(process) if !process.has_ended() => process.clone(),
            _ if state.n_started > u64::from(self.spec.isolation.restarts) => {
                let message = format_args!("its process is not started again after {} deaths", state.n_started);
                let error = PassError::with_kind(error_kind::HOST, message).code("worker-died");
                return Err(error.help("`restarts` in the pipeline's `[plugins]` says how often it may be"));
            }
            _ => {
                state.n_started += 1;
                let process = Process::start(&self.spec, state.n_started)?;
                state.process.insert(process).clone()
            }
        };
        drop(state);
        let (number, lane) = process.lane().map_err(|error| process.end(&error).error(""))?;
        Ok(Held { process, number, lane: Some(lane) })
    }

    /// Returns a lane of a process that runs, if it is that one.
    pub(super) fn held_of(&self, generation: u64) -> Result<Held, PassError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let process = state.process.clone().filter(|process| process.generation == generation && !process.has_ended());
        drop(state);
        let gone = || PassError::with_kind(error_kind::HOST, "its process died since it began").code("worker-died");
        let process = process.ok_or_else(gone)?;
        let (number, lane) = process.lane().map_err(|_| gone())?;
        Ok(Held { process, number, lane: Some(lane) })
    }

    /// Keeps a failure of the plugin where no error can be returned.
    pub(super) fn fault(&self, fault: String) {
        self.spec.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    /// The most seconds that a call may take.
    pub(super) fn seconds(&self) -> Option<u64> {
        self.spec.isolation.pass_seconds
    }
}
