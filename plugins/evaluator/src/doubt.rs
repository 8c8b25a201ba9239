//! N5: where runtimes are known to differ from the standard's text or from each other, nothing is folded.
//! `docs/numbers.md` lists the cases.

use crate::{cx::Eval, scalar::Float};
use relais_plugin_api::op::OpError;
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

    /// The result, unless something was noted.
    pub fn settle<T>(&self, result: Eval<T>, why: &'static str) -> Eval<T> {
        match self.0.get() {
            true => Err(OpError::unsupported(why)),
            false => result,
        }
    }
}

/// Whether two numbers are zeros of different signs: ONNX does not specify which of them is greater.
pub fn are_both_zeros(a: f64, b: f64) -> bool {
    a == 0.0 && b == 0.0 && a.is_sign_negative() != b.is_sign_negative()
}

/// Room that is left above a sum of magnitudes.
const HEADROOM: f64 = 256.0;

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
    size <= T::GREATEST_FINITE / HEADROOM && !(has_tiny && size < T::LEAST_NORMAL / T::UNIT)
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
