//! Running a pass over the globals of a module that it sees (rules R13, R14), and over the module as a whole.

use super::{Order, PassContext, RunCx};
use crate::ir::{Function, Global, IRModule};
use abi_stable::std_types::RArc;
use rayon::prelude::*;
use relais_plugin_api::{
    boundary::abi::error_kind,
    diagnostics::{Diagnostic, PassError, Severity},
};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, atomic::Ordering},
};

/// The result of a pass, and its messages.
pub(crate) struct Answer<T> {
    result: Result<T, PassError>,
    said: Vec<Diagnostic>,
}

impl<T> Answer<T> {
    /// An error among the messages is the pass's, unless it failed otherwise (rule R26).
    pub fn new(result: Result<T, PassError>, said: Vec<Diagnostic>) -> Self {
        let result = result.and_then(|new| first_error(&said).map_or(Ok(new), Err));
        Self { result, said }
    }

    /// The same, with the function that an error is about.
    pub fn in_function(self, name: &str) -> Self {
        Self { result: self.result.map_err(|error| error.in_function(name)), ..self }
    }

    /// Passes on the messages, and returns the result.
    pub fn tell(self, cx: &RunCx<'_>) -> Result<T, PassError> {
        self.said.into_iter().for_each(|said| (cx.diagnostics)(said));
        self.result
    }
}

/// The first thing of severity error among what a pass said, as what the pass failed with.
fn first_error(said: &[Diagnostic]) -> Option<PassError> {
    let rec = said.iter().map(Diagnostic::rec).find(|rec| rec.severity >= Severity::ERROR)?;
    let error = PassError::new(&rec.message).code(&rec.code).at(rec.node).in_function(&rec.function);
    Some(error.help(&rec.help))
}

/// Runs on each global that a pass of this level sees; messages and the first failure come in module order, whatever
/// the order of the work. Threads work in `context`. `None` if no global changed.
pub(crate) fn over_globals(
    module: &IRModule,
    cx: &RunCx<'_>,
    shown: Shown,
    order: Order,
    context: &Arc<PassContext>,
    run: impl Fn(&str, &RArc<Function>) -> Answer<Option<RArc<Function>>> + Sync,
) -> Result<Option<IRModule>, PassError> {
    let body = |global| shown.body(global);
    let bodies: Vec<(&str, &RArc<Function>)> =
        module.globals().iter().filter_map(|global| Some((global.name.as_str(), body(global)?))).collect();
    let one = |&(name, old): &(&str, &RArc<Function>)| match cx.cancel.load(Ordering::Relaxed) {
        // After a cancellation, globals that have not begun do not begin.
        true => Answer::new(Err(cancelled()), Vec::new()),
        false => run(name, old),
    };
    let entered = || context.adopt();
    let answers: Vec<Answer<Option<RArc<Function>>>> = if order == Order::Parallel && bodies.len() > 1 {
        cx.install(|| bodies.par_iter().map_init(entered, |_, body| one(body)).collect())
    } else {
        let _entered = entered();
        bodies.iter().map(one).collect()
    };
    let mut changed = Vec::new();
    for ((name, _), answer) in bodies.iter().zip(answers) {
        if let Some(new) = answer.tell(cx)? {
            changed.push((*name, new));
        }
    }
    Ok(shown.with_all(module, changed))
}

/// The module with the changes that a pass of this level, which received it as a whole, may make: those of the globals that it
/// sees.
///
/// # Errors
/// Returns an error if one of these globals is missing, or there are others.
pub(crate) fn changed_within(module: &IRModule, new: &IRModule, shown: Shown) -> Result<Option<IRModule>, PassError> {
    let after: HashMap<&str, &Global> = new.globals().iter().map(|global| (global.name.as_str(), global)).collect();
    let before: HashSet<&str> = module.globals().iter().map(|global| global.name.as_str()).collect();
    if let Some(added) = new.globals().iter().find(|new| !before.contains(new.name.as_str())) {
        return Err(PassError::new(format_args!("it adds `@{}`, and a pass of its level adds nothing", added.name)));
    }
    let mut changed = Vec::new();
    for old in module.globals() {
        let Some(body) = shown.body(old) else { continue };
        let kept = after.get(old.name.as_str()).filter(|new| new.kind == old.kind).map(|new| new.body());
        let kept = kept.ok_or_else(|| PassError::new(format_args!("`@{}` is not there after it", old.name)))?;
        if !std::ptr::eq(&**kept, &**body) {
            changed.push((old.name.as_str(), kept.clone()));
        }
    }
    Ok(shown.with_all(module, changed))
}

pub(crate) fn cancelled() -> PassError {
    PassError::with_kind(error_kind::CANCELLED, "cancelled")
}

/// The globals that a pass sees, except those that ask to be left alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// Graph functions (rule R13).
    Functions,
    /// Prim funcs (rule R14).
    PrimFuncs,
}

impl Shown {
    /// Returns the body of a global that is seen.
    fn body(self, global: &Global) -> Option<&RArc<Function>> {
        let body = match self {
            Self::Functions => global.function(),
            Self::PrimFuncs => global.prim_func(),
        };
        body.filter(|body| !body.skips_optimization())
    }

    /// The module with new bodies; `None` if there are none.
    fn with_all(self, module: &IRModule, new: Vec<(&str, RArc<Function>)>) -> Option<IRModule> {
        if new.is_empty() {
            return None;
        }
        let mut module = module.clone();
        match self {
            Self::Functions => module.set_functions(new),
            Self::PrimFuncs => new.into_iter().for_each(|(name, new)| module.set_prim_func(name, new)),
        }
        Some(module)
    }
}
