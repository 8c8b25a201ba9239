//! Comparing the result of a run with the model on random inputs.

use crate::{
    errors,
    library::registry,
    module::PyIrModule,
    run::{current, run},
};
use pyo3::prelude::*;
use relais::{
    frontend::{OperatorNames, with_bodies},
    ir::{IRModule, Tensor},
    registry::Registry,
};
use relais_conformance::{
    check::{Evaluators, random_inputs},
    interface::output_names,
    interpret::NotComputed,
    numbers::{Comparison, Difference, Tolerance, compare_tensors},
};

/// Why a check did not succeed.
pub(crate) enum Failed {
    /// The results differ.
    Differ(String),
    /// They cannot be compared.
    NotChecked(String),
}

impl Failed {
    pub fn exception(&self, py: Python<'_>) -> PyErr {
        match self {
            Self::Differ(message) => errors::exception(py, "CheckFailed", message, |_| Ok(())),
            Self::NotChecked(message) => {
                errors::helped(py, "NotCheckedError", message, "run the two models in onnxruntime instead")
            }
        }
    }
}

/// Compares a module with an earlier one on random inputs, by the evaluators of plugins.
#[pyfunction(name = "check")]
pub(crate) fn check_modules(
    py: Python<'_>,
    before: &PyIrModule,
    after: &PyIrModule,
    n: u32,
    rtol: f64,
    atol: Option<f64>,
) -> PyResult<()> {
    let registry = registry(py)?;
    let tolerance = Tolerance { relative: rtol, absolute: atol };
    let had = &after.origin.operators;
    let (checked, _) = run(py, None, |_| check(&before.module, &after.module, had, n, tolerance, registry))?;
    checked.map_err(|failed| failed.exception(py))
}

/// Compares two modules on `n` sets of random inputs, by the evaluators of plugins.
///
/// # Errors
/// Returns an error if results differ, or cannot be computed.
pub(crate) fn check(
    before: &IRModule,
    after: &IRModule,
    had: &OperatorNames,
    n: u32,
    tolerance: Tolerance,
    registry: &Registry,
) -> Result<(), Failed> {
    let not_checked = |why: String| Failed::NotChecked(format!("the result cannot be checked: {why}"));
    let whole = |module| with_bodies(module, had, registry).map_err(|error| not_checked(error.to_string()));
    let (before, after) = (whole(before)?, whole(after)?);
    let main = before.main().ok_or_else(|| not_checked("the module has no function `main`".into()))?;
    let state = current();
    let is_stopped = || state.as_ref().is_some_and(|state| state.is_stopped());
    let evaluators = Evaluators::new(registry, &|_| {}).stopped_by(&is_stopped);
    let names = output_names(main);
    for run in 0..n {
        let (inputs, old) = found(main, &evaluators, &before, run).map_err(&not_checked)?;
        let new = match evaluators.run(&after, &inputs) {
            Ok(new) => new,
            Err(NotComputed::NotCovered { why, .. }) => return Err(not_checked(why)),
            Err(NotComputed::Wrong(why)) => return Err(Failed::Differ(format!("the result cannot be run: {why}"))),
        };
        if old.len() != new.len() {
            return Err(Failed::Differ(format!("the model has {} outputs, and the result {}", old.len(), new.len())));
        }
        for (at, (old, new)) in old.iter().zip(&new).enumerate() {
            let name = names.get(at).map_or("", String::as_str);
            match compare_tensors(old, new, tolerance) {
                Comparison::Close(_) => {}
                Comparison::OtherType => {
                    return Err(Failed::Differ(format!("output `{name}` has another type than in the model")));
                }
                Comparison::Differ(Difference { index, values: [old, new], count, .. }) => {
                    let message = format!(
                        "output `{name}` differs in {count} elements; at {index:?} the model gives {old}, and the \
                         result {new}"
                    );
                    return Err(Failed::Differ(message));
                }
            }
        }
    }
    Ok(())
}

/// Random inputs that a model takes, and what it gives for them.
fn found(
    main: &relais::ir::Function,
    evaluators: &Evaluators<'_, &Registry>,
    before: &IRModule,
    run: u32,
) -> Result<(Vec<Tensor>, Vec<Tensor>), String> {
    let mut first = None;
    for inputs in random_inputs(main, 1, run.into()) {
        let inputs = inputs.map_err(|param| format!("there are no random values for input `{}`", main.name(param)))?;
        match evaluators.run(before, &inputs) {
            Ok(old) if old.is_empty() || old.iter().any(|output| !output.is_empty()) => return Ok((inputs, old)),
            Ok(_) => _ = first.get_or_insert("all its outputs are empty".to_owned()),
            Err(NotComputed::NotCovered { why, .. }) => return Err(why),
            Err(NotComputed::Wrong(why)) => _ = first.get_or_insert(why),
        }
    }
    Err(first.unwrap_or_else(|| "it has no inputs".to_owned()))
}
