//! The values by which the error of an output is measured.

use super::Subject;
use relais::ir::{ElemType, Tensor};
use relais_conformance::{
    check::{Evaluators, TwinPrecision},
    numbers::{Tolerance, Yardstick},
};

/// The values of the outputs of a model in other precisions; `None` for outputs of other types, and where evaluators do not
/// cover the model.
pub(super) fn yardsticks(subject: &Subject<'_>, inputs: &[Tensor], max_bytes: u64) -> Option<Vec<Option<Yardstick>>> {
    let says = |operator: &str| subject.listener.begins(&format!("measuring the error of the model: {operator}"));
    let is_stopped = || subject.listener.is_stopped();
    let evaluators = Evaluators::new(subject.registry, &says).stopped_by(&is_stopped).within(max_bytes);
    let run = |precision| evaluators.run_in(precision, subject.before, inputs).ok();
    let exact = run(TwinPrecision::Double)?;
    let is_lowered = matches!(subject.computed, ElemType::FLOAT16 | ElemType::BFLOAT16);
    let rounded = if is_lowered { run(TwinPrecision::Digits(subject.computed)) } else { None };
    let one = |(at, exact): (usize, relais_conformance::interpret::Computed)| {
        let rounded = rounded.as_ref().and_then(|rounded| rounded.get(at)?.twin.clone());
        Some(Yardstick { evaluated: exact.tensor, reference: exact.twin?, rounded })
    };
    Some(exact.into_iter().enumerate().map(one).collect())
}

/// The bounds for an output: relative to a value, and beside that.
pub(super) fn bounds(old: &Tensor, tolerance: Tolerance, computed: ElemType) -> (f64, f64) {
    let values = old.to_f64s().unwrap_or_default();
    let largest = values.iter().filter(|x| x.is_finite()).fold(0.0f64, |largest, x| largest.max(x.abs()));
    tolerance.bounds_in(old.elem(), computed, largest)
}
