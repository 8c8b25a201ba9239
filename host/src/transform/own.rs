//! How passes of the program's own run.

use crate::{
    ir::{CallView, Editor, Function, IRModule},
    pass::{Answer, HeldPass, Member, Order, PassContext, Remarks, RunCx, RunnablePass, Shown, over_globals},
};
use abi_stable::std_types::RArc;
use relais_plugin_api::{
    boundary::guard::caught,
    diagnostics::{Diagnostic, PassError, Severity},
    rewrite::{DriveOptions, Rewrite, RewriteCx, RewriteFn, drive_with},
};
use std::sync::{Arc, Mutex, PoisonError};

/// A module pass of the program's own.
pub(super) struct OwnModule<F>(pub(super) F);

impl<F> RunnablePass for OwnModule<F>
where
    F: Fn(&IRModule, &RunCx<'_>) -> Result<Option<IRModule>, PassError> + Send + Sync,
{
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        heard("", cx, |cx| (self.0)(module, cx)).tell(cx)
    }
}

/// A pass of the program's own over graph functions or prim funcs: `begin` makes something of the module, which `run`
/// receives with each function.
pub(super) struct OwnGlobals<B, F> {
    pub shown: Shown,
    pub begin: B,
    pub run: F,
}

impl<S, B, F> RunnablePass for OwnGlobals<B, F>
where
    S: Send + Sync,
    B: Fn(&IRModule, &RunCx<'_>) -> Result<S, PassError> + Send + Sync,
    F: Fn(&S, &str, &RArc<Function>, &IRModule, &RunCx<'_>) -> Result<Option<Function>, PassError> + Send + Sync,
{
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        let (nest, order) = cx.nest.for_globals();
        let cx = &RunCx { nest, ..*cx };
        let current = PassContext::current();
        // Instruments do not see passes that a pass on several threads runs: their order would be undefined.
        let context = match order {
            Order::Serial => current,
            Order::Parallel => current.unwatched(),
        };
        let state = heard("", cx, |cx| (self.begin)(module, cx)).tell(cx)?;
        over_globals(module, cx, self.shown, order, &context, |name, old| {
            let answer = heard(name, cx, |cx| (self.run)(&state, name, old, module, cx).map(|new| new.map(RArc::new)));
            answer.in_function(name)
        })
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
        heard("", cx, |cx| (self.check)(module, cx)).tell(cx)
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

/// A rewrite of the program's own, as what runs on each function.
pub(super) fn rewrite<R>(
    ops: &[&str],
    rule: R,
    is_prim: bool,
) -> impl Fn(&(), &str, &RArc<Function>, &IRModule, &RunCx<'_>) -> Result<Option<Function>, PassError> + Send + Sync + use<R>
where
    R: for<'a> Fn(CallView<'a>, &mut RewriteCx<'a>) -> Rewrite + Send + Sync + 'static,
{
    let ops: Vec<String> = ops.iter().map(|&op| op.to_owned()).collect();
    let options = DriveOptions { is_prim, ..DriveOptions::default() };
    move |(), _, function, _, cx| {
        let ops: Vec<&str> = ops.iter().map(String::as_str).collect();
        rewrite_one(function, cx, &ops, &mut |call, cx| rule(call, cx), options)
    }
}

/// As `drive` does for a plugin's.
fn rewrite_one(
    function: &RArc<Function>,
    cx: &RunCx<'_>,
    ops: &[&str],
    rule: &mut RewriteFn<'_>,
    options: DriveOptions,
) -> Result<Option<Function>, PassError> {
    let mut editor = Editor::new(function.clone());
    let mut relations = cx.catalogue.relations();
    let stats = drive_with(&mut editor, &mut *relations, rule, ops, options)?;
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
    Ok(editor.into_changed())
}

/// Runs a pass, on a global or (without a name) on the module, and keeps its messages.
fn heard<T>(global: &str, cx: &RunCx<'_>, run: impl FnOnce(&RunCx<'_>) -> Result<T, PassError>) -> Answer<T> {
    let said: Mutex<Vec<Diagnostic>> = Mutex::default();
    let diagnostics = |diagnostic: Diagnostic| {
        let is_placed = global.is_empty() || !diagnostic.rec().function.is_empty();
        let diagnostic = if is_placed { diagnostic } else { diagnostic.in_function(global) };
        said.lock().unwrap_or_else(PoisonError::into_inner).push(diagnostic);
    };
    let result = caught(|| run(&RunCx { diagnostics: &diagnostics, ..*cx })).and_then(|result| result);
    Answer::new(result, said.into_inner().unwrap_or_else(PoisonError::into_inner))
}
