//! Comparing a module with an earlier one on random inputs.

use crate::{
    errors, log,
    module::PyIrModule,
    plugins::registry,
    run::{current, run},
};
use pyo3::prelude::*;
use relais_conformance::numbers::Tolerance;
use relais_session::check::{CheckRequest, compare};

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
    let request = CheckRequest { tolerance: Tolerance { relative: rtol, absolute: atol }, ..CheckRequest::random(n) };
    let modules = (&before.module, &after.module);
    let had = &after.origin.operators;
    let (checked, _) = run(py, None, |_| compare(modules, had, &request, registry, &*current().unwrap_or_default()))?;
    log::hand_over(py)?;
    checked.map(drop).map_err(|failed| {
        let class = if failed.is_difference() { "CheckFailed" } else { "NotCheckedError" };
        errors::of_error(py, class, &failed.error)
    })
}
