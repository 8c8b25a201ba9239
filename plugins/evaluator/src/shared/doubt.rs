//! N5: where runtimes are known to differ from the standard's text or from each other, nothing is folded.
//! `docs/numbers.md` lists the cases.

use crate::shared::{
    cx::Eval,
    scalar::{Float, dispatch},
};
use relais_plugin_api::{
    ir::ElemType,
    op::{EvalCx, OpError},
};
use std::cell::Cell;

/// Notes, while elements are computed, that runtimes differ in one of them.
#[derive(Default)]
pub struct Doubt(Cell<bool>);

impl Doubt {
    /// Notes it.
    #[inline]
    pub fn note(&self, is_doubtful: bool) {
        self.0.set(self.0.get() | is_doubtful);
    }

    /// Whether it was noted.
    pub fn is_noted(&self) -> bool {
        self.0.get()
    }

    /// The result, unless something was noted and the call is strict.
    pub fn settle<T>(&self, cx: &EvalCx<'_>, result: Eval<T>, why: &'static str) -> Eval<T> {
        refuse(cx, self.is_noted(), why)?;
        result
    }
}

/// Refuses a call that runtimes compute differently, unless any of their results will do.
pub fn refuse(cx: &EvalCx<'_>, is_doubtful: bool, why: &'static str) -> Eval<()> {
    match is_doubtful && !cx.is_lenient() {
        true => Err(OpError::unsupported(why)),
        false => Ok(()),
    }
}

/// Whether two numbers are zeros of different signs: ONNX does not specify which of them is greater.
pub fn are_both_zeros(a: f64, b: f64) -> bool {
    a == 0.0 && b == 0.0 && a.is_sign_negative() != b.is_sign_negative()
}

/// Why some sums of floats are refused.
pub const ACCUMULATORS_DIFFER: &str = "accumulators of the element type may overflow or underflow";

pub const ZERO_OF_EITHER_SIGN: &str = "a sum is a zero whose sign depends on where it began";

/// Room that is left above a sum of magnitudes.
const HEADROOM: f64 = 256.0;

/// The range and precision of a floating-point type.
#[derive(Clone, Copy)]
pub struct Limits {
    /// The largest finite value.
    pub greatest_finite: f64,
    /// The least normal value.
    pub least_normal: f64,
    /// Half the distance from 1 to the next value.
    pub unit: f64,
}

impl Limits {
    /// Those of a Rust type.
    pub const fn of<T: Float>() -> Self {
        Self { greatest_finite: T::GREATEST_FINITE, least_normal: T::LEAST_NORMAL, unit: T::UNIT }
    }

    /// Those of an element type.
    pub fn of_elem(elem: ElemType) -> Eval<Self> {
        dispatch!(elem, T in floats => Ok(Self::of::<T>()))
    }

    /// Those of the accumulators for an element type where every runtime widens the halves to `float32`.
    pub fn of_accumulator(elem: ElemType) -> Eval<Self> {
        match elem {
            ElemType::FLOAT16 | ElemType::BFLOAT16 => Ok(Self::of::<f32>()),
            _ => Self::of_elem(elem),
        }
    }

    /// Whether a sum of terms whose magnitudes add up to `size`, some of which may underflow, fits into accumulators.
    pub fn is_within(self, size: f64, has_tiny: bool) -> bool {
        size <= self.greatest_finite / HEADROOM && !(has_tiny && size < self.least_normal / self.unit)
    }
}

/// The magnitudes of numbers, and whether some have a negative sign.
#[derive(Clone, Copy)]
pub struct Extent {
    /// The largest finite magnitude.
    pub largest: f64,
    /// The least magnitude that is not zero; infinite if there is none.
    pub least: f64,
    /// Whether a number, or a zero, is negative.
    pub has_negative: bool,
}

impl Extent {
    /// The extent of some numbers.
    pub fn of(values: &[f64]) -> Self {
        let none = Self { largest: 0.0, least: f64::INFINITY, has_negative: false };
        values.iter().fold(none, |all, &x| {
            let magnitude = x.abs();
            let has_negative = all.has_negative | (x.is_sign_negative() & !x.is_nan());
            match magnitude.is_finite() && magnitude != 0.0 {
                true => Self { largest: all.largest.max(magnitude), least: all.least.min(magnitude), has_negative },
                false => Self { has_negative, ..all },
            }
        })
    }
}

/// Refuses sums of `k` products of numbers of two tensors for which runtimes may give another result. `has_zero` is
/// whether a sum is zero though a term may be negative.
pub fn certain_products(cx: &EvalCx<'_>, limits: Limits, [a, b]: [Extent; 2], k: f64, has_zero: bool) -> Eval<()> {
    let largest = a.largest * b.largest;
    // The terms that underflow, and the sum of the others, are not examined more closely.
    let is_shaky = !limits.is_within(largest * k, false) || (largest > 0.0 && a.least * b.least < limits.least_normal);
    refuse(cx, is_shaky, ACCUMULATORS_DIFFER)?;
    refuse(cx, k > 0.0 && has_zero, ZERO_OF_EITHER_SIGN)
}

/// A sum of numbers, in double precision, with the information whether accumulators of another width, and another
/// order, give the same result except for the last digits.
#[derive(Clone, Copy)]
pub struct Sum {
    /// The sum.
    pub value: f64,
    /// The sum of the finite terms' magnitudes.
    size: f64,
    /// Whether a term is below the normal numbers.
    is_tiny: bool,
    /// Whether a term is not zero.
    is_any: bool,
    /// Whether a term is negative zero.
    is_minus_zero: bool,
}

impl Sum {
    /// The sum of nothing.
    pub const EMPTY: Self = Self { value: 0.0, size: 0.0, is_tiny: false, is_any: false, is_minus_zero: false };

    /// One term more, of numbers of type `T`.
    #[inline]
    pub fn add<T: Float>(self, term: f64) -> Self {
        let magnitude = if term.is_finite() { term.abs() } else { 0.0 };
        Self {
            value: self.value + term,
            size: self.size + magnitude,
            is_tiny: self.is_tiny | (magnitude != 0.0 && magnitude < T::LEAST_NORMAL),
            is_any: self.is_any | (term != 0.0),
            is_minus_zero: self.is_minus_zero | (term == 0.0 && term.is_sign_negative()),
        }
    }

    /// Whether accumulators of type `T` may give another result.
    pub fn is_doubtful<T: Float>(self) -> bool {
        !is_within::<T>(self.size, self.is_tiny) || (self.is_minus_zero && !self.is_any)
    }
}

/// Whether a sum of terms whose magnitudes add up to `size`, some of which may underflow, fits into accumulators of type
/// `T`.
pub fn is_within<T: Float>(size: f64, has_tiny: bool) -> bool {
    Limits::of::<T>().is_within(size, has_tiny)
}

/// A product of numbers; as [`Sum`].
#[derive(Clone, Copy)]
pub struct Product {
    /// The product.
    pub value: f64,
    /// The product of the magnitudes above 1.
    large: f64,
    /// The product of those below 1, zeros left out.
    small: f64,
}

impl Product {
    /// The product of nothing.
    pub const EMPTY: Self = Self { value: 1.0, large: 1.0, small: 1.0 };

    /// One factor more.
    pub fn times(self, factor: f64) -> Self {
        let magnitude = factor.abs();
        Self {
            value: self.value * factor,
            large: if magnitude.is_finite() { self.large * magnitude.max(1.0) } else { self.large },
            small: if magnitude == 0.0 || magnitude.is_nan() { self.small } else { self.small * magnitude.min(1.0) },
        }
    }

    /// Whether accumulators of type `T` may give another result.
    pub fn is_doubtful<T: Float>(self) -> bool {
        self.large > T::GREATEST_FINITE / HEADROOM || self.small < T::LEAST_NORMAL
    }
}
