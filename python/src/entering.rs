//! Entering and leaving contexts, and code of Python that the host calls in one.

use crate::{
    current::{By, Entered, find, now, pop, push, top},
    errors,
    run::{RunState, within},
};
use pyo3::prelude::*;
use relais::pass::{ContextError, HookFault, PassContext};
use std::sync::Arc;

/// Runs hooks of instruments, in the current context and without the interpreter's lock.
pub(crate) fn hooks<T: Send>(py: Python<'_>, run: impl FnOnce() -> Result<T, HookFault> + Send) -> PyResult<T> {
    let (state, context) = (Arc::new(RunState::default()), now(py)?);
    let result = py.detach(|| {
        let _current = context.adopt();
        within(&state, run)
    });
    if let Some(error) = state.ended() {
        return Err(error);
    }
    result.map_err(|fault| errors::of_hook(py, &fault, &state))
}

/// Enters a context: its `enter` hooks run first.
pub(crate) fn enter(py: Python<'_>, context: &Arc<PassContext>, object: Py<PyAny>) -> PyResult<()> {
    let mut is_entered = false;
    let entered = hooks(py, || {
        context.enter_instruments()?;
        is_entered = true;
        Ok(())
    });
    let result = entered.and_then(|()| push(py, context.clone(), By::Program, Some(object)).map(drop));
    if result.is_err() && is_entered {
        // The error that is raised is the one to know: nothing else leaves the context.
        let _ = hooks(py, || context.exit_instruments());
    }
    result
}

/// Leaves a context, if it is the innermost one and was entered in this task or thread: its `exit` hooks run last.
pub(crate) fn leave(py: Python<'_>, context: &Arc<PassContext>) -> PyResult<()> {
    let top = top(py)?;
    let wrong = |message: &str| Err(errors::exception(py, "ContextError", message, |_| Ok(())));
    match &top {
        Some(top) if top.get().by == By::Program && Arc::ptr_eq(&top.get().context, context) => match pop(top)? {
            true => hooks(py, || context.exit_instruments()),
            false => wrong("this pass context was entered in another task or thread, and is left there"),
        },
        top if find(top.as_ref(), context).is_some() => {
            Err(errors::exception(py, "ContextError", ContextError::OutOfOrder, |_| Ok(())))
        }
        _ => wrong("this pass context was not entered in this task or thread"),
    }
}

/// Code of Python that the host calls: the host's context is the current one.
pub(crate) struct Called(Py<Entered>);

impl Called {
    /// Before the code is called.
    pub fn begin(py: Python<'_>) -> PyResult<Self> {
        push(py, PassContext::current(), By::Host, None).map(|entered| Self(entered.unbind()))
    }

    /// After it was called: leaves the contexts that it has not left, which would be its caller's.
    ///
    /// # Errors
    /// Returns an error if there are some.
    pub fn end(self, py: Python<'_>) -> PyResult<()> {
        let mut result = Ok(());
        while let Some(above) = top(py)?.filter(|top| !top.is(&self.0)) {
            // The code may have put what another task entered there.
            if !pop(&above)? {
                break;
            }
            let Entered { by, context, .. } = above.get();
            let left = if *by == By::Program { hooks(py, || context.exit_instruments()) } else { Ok(()) };
            let message = "a pass context that was entered here was not left\n  help: enter it by `with`";
            result = result.and(left).and(Err(errors::exception(py, "ContextError", message, |_| Ok(()))));
        }
        pop(self.0.bind(py))?;
        result
    }
}

/// Calls code of Python in the context of the host.
pub(crate) fn scope<T>(py: Python<'_>, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let called = Called::begin(py)?;
    let result = call();
    let ended = called.end(py);
    result.and_then(|result| ended.map(|()| result))
}
