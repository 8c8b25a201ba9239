//! The messages, counts and analyses of passes in Python while they run.

use crate::{node::PyNode, value};
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use relais::pass::{RunAnalyses, RunCx};
use relais_plugin_api::diagnostics::Diagnostic;
use std::cell::RefCell;

/// Something that a pass says or counts.
enum Said {
    Diagnostic(Diagnostic),
    Count(String, u64),
}

thread_local! {
    /// For each pass that runs on this thread, the innermost last: what it said, and the analyses of its run.
    static SAID: RefCell<Vec<(Vec<Said>, RunAnalyses)>> = const { RefCell::new(Vec::new()) };
}

/// The analyses of the run of which the innermost pass on this thread is a part; none outside passes.
pub(crate) fn analyses() -> RunAnalyses {
    SAID.with_borrow(|said| said.last().map(|(_, analyses)| analyses.clone())).unwrap_or_default()
}

/// Calls the code of a pass, and hands over what it said and counted, also if it failed.
pub(crate) fn heard<T>(cx: &RunCx<'_>, call: impl FnOnce() -> T) -> T {
    /// Ends it, also after a panic.
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            SAID.with_borrow_mut(|said| drop(said.pop()));
        }
    }
    SAID.with_borrow_mut(|said| said.push((Vec::new(), cx.analyses())));
    let ends = Ends;
    let result = call();
    let all = SAID.with_borrow_mut(|said| said.last_mut().map(|(said, _)| std::mem::take(said))).unwrap_or_default();
    drop(ends);
    for said in all {
        match said {
            Said::Diagnostic(diagnostic) => (cx.diagnostics)(diagnostic),
            Said::Count(name, n) => (cx.count)(&name, n),
        }
    }
    result
}

fn say(what: &str, said: Said) -> PyResult<()> {
    SAID.with_borrow_mut(|all| match all.last_mut() {
        Some((innermost, _)) => {
            innermost.push(said);
            Ok(())
        }
        None => Err(PyRuntimeError::new_err(format!("`{what}` is for passes while they run"))),
    })
}

/// A message of a pass that runs on this thread.
pub(crate) fn diagnostic(
    what: &str,
    diagnostic: Diagnostic,
    node: Option<&Bound<'_, PyAny>>,
    code: Option<&str>,
    help: Option<&str>,
) -> PyResult<()> {
    let diagnostic = match node.filter(|node| !node.is_none()) {
        Some(node) => {
            let handle = node.cast::<PyNode>().map_err(|_| value::wrong(node, "`node`", "a Node"))?;
            diagnostic.at(handle.get().id)
        }
        None => diagnostic,
    };
    let diagnostic = code.into_iter().fold(diagnostic, Diagnostic::code);
    let diagnostic = help.into_iter().fold(diagnostic, Diagnostic::help);
    say(what, Said::Diagnostic(diagnostic))
}

/// Adds to a count of the pass that runs on this thread.
pub(crate) fn count(name: &str, n: u64) -> PyResult<()> {
    say("count", Said::Count(name.to_owned(), n))
}
