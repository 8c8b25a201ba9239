//! How passes of the program's own run.

use crate::{
    ir::{Editor, Function, IRModule},
    manager::PassContext,
    pass::{IntoGlobal, Remarks, cancelled, first_error},
    pipeline::{HeldPass, Member, RunCx, RunnablePass},
};
use abi_stable::std_types::RArc;
use rayon::prelude::*;
use relais_plugin_api::{
    boundary::guard::caught,
    diagnostics::{Diagnostic, PassError, Severity},
    rewrite::{DriveOptions, Rule, drive_with},
};
use std::{
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

/// A module pass of the program's own.
pub(super) struct OwnModule<F>(pub(super) F);

impl<F> RunnablePass for OwnModule<F>
where
    F: Fn(&IRModule, &RunCx<'_>) -> Result<Option<IRModule>, PassError> + Send + Sync,
{
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        let (result, said) = heard("", cx, |cx| (self.0)(module, cx));
        said.into_iter().for_each(|diagnostic| (cx.diagnostics)(diagnostic));
        result
    }
}

/// A pass of the program's own over functions or loop programs.
pub(super) struct OwnGlobals<T, F> {
    run: F,
    _of: PhantomData<fn(T)>,
}

impl<T, F> OwnGlobals<T, F> {
    pub fn new(run: F) -> Self {
        Self { run, _of: PhantomData }
    }
}

impl<T, F> RunnablePass for OwnGlobals<T, F>
where
    T: Send + Sync + IntoGlobal + 'static,
    RArc<T>: Send + Sync,
    F: Fn(&RArc<T>, &IRModule, &RunCx<'_>) -> Result<Option<T>, PassError> + Send + Sync,
{
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        over_globals(module, cx, &self.run)
    }
}

/// A sequence of the program's own. The manager runs its members.
pub(super) struct OwnSequence(pub(super) Vec<HeldPass>);

impl RunnablePass for OwnSequence {
    fn run(&self, _: &IRModule, _: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        Ok(None)
    }

    fn members(&self) -> Result<Vec<Member>, PassError> {
        Ok(self.0.iter().cloned().map(Member::Held).collect())
    }
}

/// A pass that receives its functions one after another.
pub(super) struct Serial(pub(super) Arc<dyn RunnablePass>);

impl RunnablePass for Serial {
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        self.0.run(module, &RunCx { nest: cx.nest.one_by_one(), ..*cx })
    }

    fn check(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<(), PassError> {
        self.0.check(module, cx)
    }

    fn members(&self) -> Result<Vec<Member>, PassError> {
        self.0.members()
    }
}

/// A pass that is asked before a run whether it can work.
pub(super) struct Checked<F> {
    pub pass: Arc<dyn RunnablePass>,
    pub check: Arc<F>,
}

impl<F> RunnablePass for Checked<F>
where
    F: Fn(&IRModule, &RunCx<'_>) -> Result<(), PassError> + Send + Sync,
{
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        self.pass.run(module, cx)
    }

    fn check(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<(), PassError> {
        self.pass.check(module, cx)?;
        let (result, said) = heard("", cx, |cx| (self.check)(module, cx));
        said.into_iter().for_each(|diagnostic| (cx.diagnostics)(diagnostic));
        result
    }

    fn members(&self) -> Result<Vec<Member>, PassError> {
        self.pass.members()
    }
}

/// A pass that cannot be made without options.
pub(super) struct Unmade(pub(super) PassError);

impl RunnablePass for Unmade {
    fn run(&self, _: &IRModule, _: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        Err(self.0.clone())
    }
}

/// A rewrite of the program's own on one function: as `drive` does for a plugin's.
pub(super) fn rewrite(
    function: &RArc<Function>,
    cx: &RunCx<'_>,
    ops: &[&str],
    rule: &mut Rule<'_>,
) -> Result<Option<Function>, PassError> {
    let mut editor = Editor::new(function.clone());
    let mut relations = cx.nest.catalogue.relations();
    let stats = drive_with(&mut editor, &mut *relations, rule, ops, DriveOptions::default())?;
    if stats.n_rewrites > 0 {
        (cx.count)("rewritten", stats.n_rewrites as u64);
    }
    if cx.remarks == Remarks::Show {
        if stats.n_rewrites > 0 {
            let calls = if stats.n_rewrites == 1 { "call" } else { "calls" };
            (cx.diagnostics)(Diagnostic::passed(format_args!("rewrote {} {calls}", stats.n_rewrites)));
        }
        let declined = stats.declined.iter();
        declined.for_each(|(node, why)| (cx.diagnostics)(Diagnostic::new(Severity::REMARK, why).at(*node)));
    }
    if !stats.settled {
        let error = PassError::new(format_args!("still rewriting after {} rounds", stats.n_rounds));
        return Err(error.help("make sure that no rewrite undoes another one's work"));
    }
    Ok(editor.is_changed().then(|| (*editor.into_function()).clone()))
}

/// Runs a pass, on a global or (without a name) on the module, and keeps its messages; an error among them is the
/// pass's, unless it failed otherwise (rule R26).
fn heard<T>(
    global: &str,
    cx: &RunCx<'_>,
    run: impl FnOnce(&RunCx<'_>) -> Result<T, PassError>,
) -> (Result<T, PassError>, Vec<Diagnostic>) {
    let said: Mutex<Vec<Diagnostic>> = Mutex::default();
    let diagnostics = |diagnostic: Diagnostic| {
        let is_placed = global.is_empty() || !diagnostic.rec().function.is_empty();
        let diagnostic = if is_placed { diagnostic } else { diagnostic.in_function(global) };
        said.lock().unwrap_or_else(PoisonError::into_inner).push(diagnostic);
    };
    let result = caught(|| run(&RunCx { diagnostics: &diagnostics, ..*cx })).and_then(|result| result);
    let said = said.into_inner().unwrap_or_else(PoisonError::into_inner);
    let result = result.and_then(|new| first_error(&said).map_or(Ok(new), Err));
    (result, said)
}

/// Runs on each global that a pass of this level sees, on all threads; messages and the first failure come in module
/// order.
fn over_globals<T: Send + Sync + IntoGlobal>(
    module: &IRModule,
    cx: &RunCx<'_>,
    run: &(impl Fn(&RArc<T>, &IRModule, &RunCx<'_>) -> Result<Option<T>, PassError> + Sync),
) -> Result<Option<IRModule>, PassError>
where
    RArc<T>: Sync,
{
    let (nest, is_serial) = cx.nest.for_globals();
    let cx = &RunCx { nest, ..*cx };
    let shown: Vec<(&str, &RArc<T>)> =
        module.globals().iter().filter_map(|global| Some((global.name.as_str(), T::shown(global)?))).collect();
    // Instruments do not see passes that a pass on several threads runs: their order would be undefined.
    let current = PassContext::current();
    let context = match is_serial {
        true => current,
        false => Arc::new(PassContext::new(current.settings().clone())),
    };
    let one = |&(name, function): &(&str, &RArc<T>)| {
        // After a cancellation, globals that have not begun do not begin.
        if cx.cancel.load(Ordering::Relaxed) {
            return (Err(cancelled()), Vec::new());
        }
        let _current = context.push_quietly();
        let (result, said) = heard(name, cx, |cx| run(function, module, cx));
        (result.map_err(|error| error.in_function(name)), said)
    };
    let results: Vec<_> = match is_serial || shown.len() < 2 {
        true => shown.iter().map(one).collect(),
        false => shown.par_iter().map(one).collect(),
    };
    let mut changed = Vec::new();
    for ((name, _), (result, said)) in shown.iter().zip(results) {
        said.into_iter().for_each(|diagnostic| (cx.diagnostics)(diagnostic));
        if let Some(new) = result? {
            changed.push((*name, RArc::new(new)));
        }
    }
    Ok((!changed.is_empty()).then(|| {
        let mut out = module.clone();
        T::set_all(&mut out, changed);
        out
    }))
}
