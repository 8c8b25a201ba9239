//! Replaces calls of the module's own functions by their bodies.
//!
//! ```text
//! def @main(%x) { %1 = @double(%x); %1 }
//! def @double(%v) { %1 = Add(%v, %v); %1 }
//! ```
//! becomes
//! ```text
//! def @main(%x) { %1 = Add(%x, %x); %1 }
//! def @double(%v) { … }
//! ```
//!
//! Calls of operators that have a body, outside the domains that are described completely, are replaced by the body. So
//! are those of ONNX's operators that the option `operators` names, where ONNX defines them by others: `operators =
//! ["Mish"]` makes `Softplus`, `Tanh` and `Mul` of a `Mish`, for a runtime that has no kernel for it. The body of most of
//! them depends on the call: on attributes, on which arguments there are, or on their types and numbers of axes. A call of
//! which too little is known stays, with a remark. Of the operators that ONNX defines by others, only `SequenceMap` has
//! no body here: it would be a `Loop` over the function that the call has as an attribute, which no text can name.
//! `InstanceNormalization` and `LpNormalization`, which ONNX describes in words, have one. The option `without_kernels` does the
//! same for all operators that no loop program can be made of (`LowerOps`).
//!
//! Innermost calls go first. A function is inlined only where it and its caller import the same versions of the operator
//! sets that it uses; others stay calls, with a remark. The functions stay in the module: `RemoveUnusedFunctions` takes
//! those that nothing calls any more. A function that is called often is copied as often, so the model may grow; that is
//! why no default pipeline inlines. Functions that call each other twice double each time: at most `max_growth` times the
//! nodes of the module are added (at least 65,536, at most 8,388,608), and the calls beyond stay, with a remark, or with
//! `strict` an error.

use relais_plugin_api::{
    diagnostics::Severity,
    ir::{Declined, Fuel, InlineError, Walk, WalkStep, inline_some_functions},
    op::{Bodies, Body, OpError, OpSchema, add_bodies},
    prelude::*,
};
use std::collections::BTreeSet;

/// Options of `Inline`.
#[derive(PassOptions)]
pub struct InlineOptions {
    /// Operators of completely described domains that are replaced by their bodies, too: `Mish`, `acme::Silu`.
    #[option(default = [])]
    pub operators: Vec<String>,
    /// Whether operators of completely described domains that have a body, and no kernels to make loop programs of their calls,
    /// are replaced, too.
    #[option(default = false)]
    pub without_kernels: bool,
    /// The most nodes that are added, as a multiple of those of the module.
    #[option(default = 256, range = 1..=65_536)]
    pub max_growth: u32,
    /// Whether a call that stays because of `max_growth` is an error.
    #[option(default = false)]
    pub strict: bool,
}

/// The bodies of operators outside the domains that are described completely, and those that are requested.
pub(crate) struct Asked<'o, B> {
    pub bodies: B,
    pub operators: &'o [String],
    /// Whether those of all operators without kernels are.
    pub without_kernels: bool,
}

/// The domain and the name of an operator.
fn parts(operator: &str) -> (&str, &str) {
    match operator.rsplit_once("::") {
        Some(("ai.onnx", name)) => ("", name),
        Some(parts) => parts,
        None => ("", operator),
    }
}

impl<B: Bodies> Bodies for Asked<'_, B> {
    fn body(&mut self, domain: &str, name: &str, version: i64) -> Option<Result<Body, PassError>> {
        let is_asked = self.operators.iter().any(|operator| parts(operator) == (domain, name));
        let mut has_no_kernel = || self.bodies.schema(domain, name, version).is_some_and(|schema| !schema.has_kernel);
        match is_asked || self.without_kernels && has_no_kernel() {
            true => self.bodies.any_body(domain, name, version),
            false => self.bodies.body(domain, name, version),
        }
    }

    fn body_of(&mut self, function: &Function, call: NodeId) -> Result<Function, OpError> {
        self.bodies.body_of(function, call)
    }

    fn infer_types(&mut self, function: &mut Function) {
        self.bodies.infer_types(function);
    }

    fn schema(&mut self, domain: &str, name: &str, version: i64) -> Option<OpSchema> {
        self.bodies.schema(domain, name, version)
    }
}

/// Checks that the requested operators have bodies.
fn can_inline(_: &IRModule, cx: &PassCx<'_>, options: &InlineOptions) -> Result<(), PassError> {
    let mut bodies = cx.bodies();
    options.operators.iter().try_for_each(|operator| {
        let (domain, name) = parts(operator);
        match bodies.any_body(domain, name, u32::MAX.into()) {
            Some(body) => body.map(drop),
            None => Err(PassError::new(format_args!("no plugin describes a body of `{operator}`"))
                .code("F003")
                .help("`relais describe NAME` shows the body of an operator that has one")),
        }
    })
}

/// Replaces calls of the module's own functions by their bodies.
#[module_pass(
    name = "relais.Inline",
    aliases = ["relay._transform.Inline", "relay._transform.InlineGlobals"],
    opt_level = 1,
    statistics(inlined = "calls inlined"),
    check = can_inline,
)]
pub fn inline(module: &mut IRModule, cx: &PassCx<'_>, options: &InlineOptions) -> Result<(), PassError> {
    let InlineOptions { operators, without_kernels, max_growth, strict } = options;
    let mut asked = Asked { bodies: cx.bodies(), operators, without_kernels: *without_kernels };
    let added = add_bodies(module, &mut asked)?;
    let mut fuel = Fuel::of_module(module, *max_growth);
    let inlined = inline_some_functions(module, &|_| true, &mut fuel).map_err(recursive)?;
    cx.count("inlined", inlined.n_calls);
    remove_unused(module, &added.functions);
    let (too_large, declined): (Vec<_>, Vec<_>) =
        inlined.declined.iter().partition(|(.., reason)| *reason == Declined::TooLarge);
    if let Some((caller, callee, _)) = too_large.first() {
        let why = beyond(callee, &fuel);
        if *strict {
            return Err(PassError::new(why).code("F004").in_function(caller).help(MORE));
        }
        if cx.wants_remarks() {
            let note = format_args!("calls in {} functions stay for this reason", callers(&too_large));
            let remark = Diagnostic::new(Severity::REMARK, why).code("F004").in_function(caller);
            cx.diagnostic(remark.with_note(note).help(MORE));
        }
    }
    if cx.wants_remarks() {
        for (caller, callee, reason) in declined {
            let remark = Diagnostic::note(format_args!("the call of `@{callee}` stays: {reason}"));
            cx.diagnostic(remark.code("F002").in_function(caller));
        }
        for (caller, operator, reason) in &added.declined {
            let remark = Diagnostic::note(format_args!("a call of `{operator}` stays: {reason}"));
            cx.diagnostic(remark.code("F002").in_function(caller));
        }
    }
    Ok(())
}

const MORE: &str = "functions that call each other several times grow with each; `Inline.max_growth` allows more";

/// The number of functions that calls stay in.
fn callers(declined: &[&(String, String, Declined)]) -> usize {
    declined.iter().map(|(caller, ..)| caller).collect::<BTreeSet<_>>().len()
}

/// Why a call stays once the fuel is used up.
fn beyond(callee: &str, fuel: &Fuel) -> String {
    format!("the call of `@{callee}` stays: inlining would add more than {} nodes to the module", fuel.all())
}

fn recursive(error: InlineError) -> PassError {
    PassError::new(error).code("F001").help("break the circle; ONNX does not allow recursion")
}

/// Removes bodies that nothing calls. One that another body calls goes after it.
fn remove_unused(module: &mut IRModule, bodies: &[String]) {
    for name in bodies.iter().rev() {
        if !module.functions().any(|(_, f)| calls(f, name)) {
            module.remove(name);
        }
    }
}

/// Replaces calls of operators by these bodies, as far as the fuel is enough for the nodes that are added, and leaves calls of the module's own functions
/// alone. Returns the calls that stay: the function they are in, the operator, and the reason.
pub(crate) fn inline_bodies(
    module: &mut IRModule,
    bodies: &mut dyn Bodies,
    fuel: &mut Fuel,
) -> Result<Vec<(String, String, String)>, PassError> {
    let added = add_bodies(module, bodies)?;
    let inlined = inline_some_functions(module, &|name| added.functions.iter().any(|added| added == name), fuel);
    let inlined = inlined.map_err(recursive)?;
    remove_unused(module, &added.functions);
    let without_body = added.declined.into_iter().map(|(caller, operator, why)| (caller, operator, why.to_string()));
    let calls = inlined.declined.into_iter().map(|(caller, callee, why)| (caller, callee, why.to_string()));
    Ok(without_body.chain(calls).collect())
}

/// Whether a function calls another one of the module.
fn calls(f: &Function, name: &str) -> bool {
    let mut walk = Walk::new(f);
    let mut is_called = false;
    while let Some(step) = walk.next(f) {
        if let WalkStep::Binding(id) | WalkStep::Leave(id) = step {
            let callee = f.call(id).map(|call| f.expr(call.callee()));
            is_called |= matches!(callee, Some(Expr::GlobalVar(other)) if other == name);
        }
    }
    is_called
}
