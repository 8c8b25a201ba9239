//! How good an output is, by the error of its model.

use super::{MOST, Tolerance};
use relais_plugin_api::ir::{ElemType, Tensor};

/// How many times the error of a model its output's may be.
pub(crate) const MANY_TIMES: f64 = 16.0;

/// Four roundings of numbers of about 1 to `float32`. Outputs of other types have the bounds alone.
const ROUNDINGS: f64 = 4.0 / (1u32 << 24) as f64;

/// The fewest elements whose errors together tell how large an error of one of them may be.
const FEW: usize = 16;

/// The values of an output in other precisions.
#[derive(Debug, Clone)]
pub struct Yardstick {
    /// As evaluators compute it.
    pub evaluated: Tensor,
    /// In `float64`.
    pub reference: Tensor,
    /// In the digits of the type that the output was asked to be computed in, if that has fewer than the model's.
    pub rounded: Option<Tensor>,
}

impl Yardstick {
    /// How far each element may be from the reference, beside what a tolerance allows: a multiple of how far the model is
    /// around it, or the model in fewer digits, where half of the output must not be lost. `None` if the tensors are not of
    /// floats.
    pub fn allows(&self, model: &Tensor) -> Option<Vec<f64>> {
        let (model, reference) = (model.to_f64s()?, self.reference.to_f64s()?);
        let dims = self.reference.dims();
        let around = |values: &[f64]| {
            let errors: Vec<f64> = values.iter().zip(&reference).map(|(a, b)| a - b).collect();
            largest_around(dims, &errors)
        };
        let of_model = around(&model);
        let of_rounded = self.rounded.as_ref().and_then(Tensor::to_f64s).map(|rounded| around(&rounded));
        let largest = largest_around(dims, &reference);
        let allowed = |at: usize| {
            let rounded = of_rounded.as_ref().map_or(0.0, |errors| errors[at]);
            (MANY_TIMES * rounded).min(largest[at] / 2.0).max(MANY_TIMES * of_model[at])
        };
        Some((0..reference.len()).map(allowed).collect())
    }
}

/// For each element of a tensor, the largest magnitude around it: along an axis, in the places that have its index or one
/// near it, so that there are a few elements. Of several axes, the one counts along which it is least: boxes in pixels
/// say nothing about the scores that are in the same tensor. Infinities and NaN have no magnitude.
pub(crate) fn largest_around(dims: &[u64], values: &[f64]) -> Vec<f64> {
    let magnitude = |value: f64| if value.is_finite() { value.abs() } else { 0.0 };
    let whole = values.iter().fold(0.0f64, |most, &value| most.max(magnitude(value)));
    let mut least = vec![whole; values.len()];
    let mut inner = values.len();
    for size in dims.iter().map(|&size| size as usize).filter(|&size| size > 1) {
        if values.is_empty() {
            break;
        }
        inner /= size;
        let n_indices = FEW.div_ceil(values.len() / size);
        if n_indices >= size {
            continue;
        }
        let group = |at: usize| at / inner % size / n_indices;
        let mut most = vec![0.0f64; size.div_ceil(n_indices)];
        // The rest at the end belongs to the group before it.
        let last = most.len() - 1 - usize::from(!size.is_multiple_of(n_indices));
        for (at, &value) in values.iter().enumerate() {
            let most = &mut most[group(at).min(last)];
            *most = most.max(magnitude(value));
        }
        least.iter_mut().enumerate().for_each(|(at, least)| *least = least.min(most[group(at).min(last)]));
    }
    least
}

/// Whether an output is as good as its model, of which it is too far for a tolerance: each element is as near to the reference
/// as [`Yardstick`] says, or as numbers of the magnitude `around` are rounded.
pub fn is_as_good(
    model: &Tensor,
    output: &Tensor,
    yardstick: &Yardstick,
    tolerance: Tolerance,
    (computed, around): (ElemType, f64),
) -> bool {
    let dims = yardstick.reference.dims();
    if [model, output].iter().any(|tensor| tensor.dims() != dims || tensor.len() > MOST) {
        return false;
    }
    let (Some(x), Some(y), Some(reference)) = (model.to_f64s(), output.to_f64s(), yardstick.reference.to_f64s()) else {
        return false;
    };
    let Some(allowed) = yardstick.allows(model) else { return false };
    let largest = reference.iter().filter(|x| x.is_finite()).fold(0.0f64, |largest, x| largest.max(x.abs()));
    let (relative, absolute) = tolerance.bounds_in(model.elem(), computed, largest);
    let absolute = if model.elem() == ElemType::FLOAT { absolute.max(ROUNDINGS * around) } else { absolute };
    (0..reference.len()).all(|at| {
        let (x, y, r) = (x[at], y[at], reference[at]);
        let is_near = (y - r).abs() <= (relative * r.abs() + absolute).max(allowed[at]);
        x == y || (x.is_nan() && y.is_nan()) || (x.is_finite() && r.is_finite() && is_near)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_tensor_have_magnitudes_of_their_own() {
        // Four rows of sizes in thousands, then twelve of scores.
        let values: Vec<f64> = (0..64).map(|at| if at < 16 { 1000.0 + f64::from(at) } else { 0.5 }).collect();
        let around = largest_around(&[1, 16, 4], &values);
        assert!(around[..16].iter().all(|&most| most > 1000.0) && around[16..].iter().all(|&most| most == 0.5));
        // Too few to tell them apart.
        assert_eq!(largest_around(&[2, 4], &[9.0, 9.0, 9.0, 9.0, 1.0, 1.0, 1.0, 1.0]), [9.0; 8]);
        assert_eq!(largest_around(&[3], &[1.0, f64::NAN, f64::INFINITY]), [1.0; 3]);
        assert_eq!(largest_around(&[0, 2], &[]), [0.0; 0]);
        // The last one of 17 is not alone.
        let mut values = vec![1.0; 33];
        values[32] = 7.0;
        assert_eq!(
            largest_around(&[33], &values)[..17],
            [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 7.0]
        );
    }
}
