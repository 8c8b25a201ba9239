//! Passes over functions that begin and end.

use relais_plugin_api::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Totals of one module.
struct Totals {
    n_functions: usize,
    n_calls: AtomicUsize,
}

/// The place at which the pass fails.
#[derive(PassOptions, PartialEq)]
enum Fails {
    /// It does not.
    Nowhere,
    /// At its beginning.
    Begin,
    /// In each function.
    Function,
    /// At its end.
    End,
    /// At its end, by a panic.
    Panic,
}

#[derive(PassOptions)]
struct Options {
    /// The place at which it fails.
    #[option(default = "nowhere")]
    fails: Fails,
}

impl Options {
    fn fail(&self, at: Fails) -> Result<(), PassError> {
        if self.fails == at { Err(PassError::new("told to fail")) } else { Ok(()) }
    }
}

fn begin(module: &IRModule, cx: &PassCx<'_>, options: &Options) -> Result<Totals, PassError> {
    options.fail(Fails::Begin)?;
    let n_functions = module.functions().count();
    cx.diagnostic(Diagnostic::note(format_args!("{n_functions} functions")));
    Ok(Totals { n_functions, n_calls: AtomicUsize::new(0) })
}

/// Adds a call to each function, and says in the end how many there were.
#[function_pass(name = "acme.Total", begin = begin, end = end, statistics(ended = "how often it ended"))]
fn total(edit: &mut Editor, _: &PassCx<'_>, totals: &Totals, options: &Options) -> Result<(), PassError> {
    options.fail(Fails::Function)?;
    let f = edit.function();
    let n_calls = f.all_bindings().filter(|&id| f.call(id).is_some()).count();
    totals.n_calls.fetch_add(n_calls, Ordering::Relaxed);
    let result = f.result(f.body());
    let f = edit.function_mut();
    let neg = f.add_op("", "Neg", "", 0);
    let call = f.add_call(neg, &[result]);
    f.append(f.body(), call);
    f.set_result(f.body(), call);
    Ok(())
}

fn end(totals: Totals, module: &IRModule, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    options.fail(Fails::End)?;
    assert!(options.fails != Fails::Panic, "in the end");
    let now: usize = module.functions().map(|(_, f)| f.all_bindings().filter(|&id| f.call(id).is_some()).count()).sum();
    let before = totals.n_calls.into_inner();
    let n_functions = totals.n_functions;
    cx.diagnostic(Diagnostic::note(format_args!("{before} calls before, {now} after, in {n_functions} functions")));
    cx.count("ended", 1);
    Ok(())
}

/// Only counts, without options.
#[prim_func_pass(name = "acme.TotalPrims", begin = begin_prims, end = end_prims)]
fn total_prims(_: &mut Editor, _: &PassCx<'_>, seen: &AtomicUsize) -> Result<(), PassError> {
    seen.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

fn begin_prims(_: &IRModule, _: &PassCx<'_>) -> Result<AtomicUsize, PassError> {
    Ok(AtomicUsize::new(0))
}

fn end_prims(seen: AtomicUsize, _: &IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.diagnostic(Diagnostic::note(format_args!("{} loop programs", seen.into_inner())));
    Ok(())
}
