//! Elements as Rust values: reading and writing them without assuming alignment, and the arithmetic on them.

use half::{bf16, f16};
use relais_plugin_api::ir::ElemType;

/// An element type with a Rust counterpart.
pub trait Scalar: Copy + PartialEq + PartialOrd + 'static {
    /// The element type.
    const ELEM: ElemType;
    /// Its little-endian bytes.
    type Bytes: Copy + AsRef<[u8]>;

    /// The elements in packed bytes.
    fn chunks(bytes: &[u8]) -> &[Self::Bytes];
    /// The elements in packed bytes, to be written.
    fn chunks_mut(bytes: &mut [u8]) -> &mut [Self::Bytes];
    /// Elements as packed bytes; nothing is copied.
    fn flatten(chunks: Vec<Self::Bytes>) -> Vec<u8>;
    /// Decodes an element.
    fn load(bytes: Self::Bytes) -> Self;
    /// Encodes an element. Every NaN becomes the positive quiet NaN, so that results are the same on all machines.
    fn store(self) -> Self::Bytes;
}

/// A number that operators compute with. Integers wrap around on overflow. No method has the name of one that the
/// types have themselves with another meaning, which would be taken instead.
pub trait Number: Scalar {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// The least value: the maximum of no elements.
    const LEAST: Self;
    /// The greatest value: the minimum of no elements.
    const GREATEST: Self;

    /// Sum.
    fn add(self, other: Self) -> Self;
    /// Difference.
    fn sub(self, other: Self) -> Self;
    /// Product.
    fn mul(self, other: Self) -> Self;
    /// Quotient; of integers truncated, and the divisor must not be zero.
    fn div(self, other: Self) -> Self;
    /// Remainder with the sign of `self`; an integer divisor must not be zero.
    fn rem(self, other: Self) -> Self;
    /// Remainder with the sign of `other`; an integer divisor must not be zero.
    fn modulo(self, other: Self) -> Self;
    /// Negation.
    fn negated(self) -> Self;
    /// Absolute value.
    fn magnitude(self) -> Self;
    /// Whether this is less than zero.
    fn below_zero(self) -> bool {
        self.to_f64() < 0.0
    }

    /// Whether this is a NaN.
    fn is_nan(self) -> bool;
    /// The value as a double; exact for floats.
    fn to_f64(self) -> f64;
    /// The nearest value; of an integer type the truncated one.
    fn rounded(value: f64) -> Self;

    /// The greater one; NaN when either is.
    fn greater_of(self, other: Self) -> Self {
        if self >= other || self.is_nan() { self } else { other }
    }

    /// The lesser one; NaN when either is.
    fn lesser_of(self, other: Self) -> Self {
        if self <= other || self.is_nan() { self } else { other }
    }

    /// -1, 0 or 1; NaN stays, and negative zero becomes zero.
    fn sign(self) -> Self {
        if self > Self::ZERO {
            Self::ONE
        } else if self < Self::ZERO {
            Self::ONE.negated()
        } else if self.is_nan() {
            self
        } else {
            Self::ZERO
        }
    }
}

/// A floating-point number.
pub trait Float: Number {
    /// The largest finite value.
    const GREATEST_FINITE: f64;
    /// The least normal value.
    const LEAST_NORMAL: f64;
    /// Half the distance from 1 to the next value.
    const UNIT: f64;

    /// The correctly rounded result of a function that is exact, or nearly so, in doubles.
    fn via_f64(self, f: impl Fn(f64) -> f64) -> Self {
        Self::rounded(f(self.to_f64()))
    }
}

/// An integer.
pub trait Integer: Number + Ord {
    /// `self & other`.
    fn and(self, other: Self) -> Self;
    /// `self | other`.
    fn or(self, other: Self) -> Self;
    /// `self ^ other`.
    fn xor(self, other: Self) -> Self;
    /// `!self`.
    fn not(self) -> Self;
    /// Shifts left; `by` is below the number of bits.
    fn shift_left(self, by: u32) -> Self;
    /// Shifts right, arithmetically when signed; `by` is below the number of bits.
    fn shift_right(self, by: u32) -> Self;
    /// The value, widened.
    fn to_i128(self) -> i128;
    /// The value, when it is within range.
    fn from_i128(value: i128) -> Option<Self>;
}

macro_rules! scalar {
    ($type:ty, $elem:ident, $width:literal, $load:expr, $store:expr) => {
        impl Scalar for $type {
            const ELEM: ElemType = ElemType::$elem;
            type Bytes = [u8; $width];

            #[inline]
            fn chunks(bytes: &[u8]) -> &[[u8; $width]] {
                bytes.as_chunks().0
            }

            #[inline]
            fn chunks_mut(bytes: &mut [u8]) -> &mut [[u8; $width]] {
                bytes.as_chunks_mut().0
            }

            #[inline]
            fn flatten(chunks: Vec<[u8; $width]>) -> Vec<u8> {
                chunks.into_flattened()
            }

            #[inline]
            fn load(bytes: [u8; $width]) -> Self {
                $load(bytes)
            }

            #[inline]
            fn store(self) -> [u8; $width] {
                $store(self)
            }
        }
    };
}

macro_rules! float_scalar {
    ($type:ty, $elem:ident, $width:literal) => {
        scalar!($type, $elem, $width, <$type>::from_le_bytes, |value: $type| {
            if value.is_nan() { <$type>::NAN.to_le_bytes() } else { value.to_le_bytes() }
        });
    };
}

macro_rules! integer {
    ($type:ty, $elem:ident, $width:literal, $abs:expr, $modulo:expr) => {
        scalar!($type, $elem, $width, <$type>::from_le_bytes, <$type>::to_le_bytes);

        impl Number for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LEAST: Self = <$type>::MIN;
            const GREATEST: Self = <$type>::MAX;

            #[inline]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline]
            fn div(self, other: Self) -> Self {
                self.wrapping_div(other)
            }

            #[inline]
            fn rem(self, other: Self) -> Self {
                self.wrapping_rem(other)
            }

            #[inline]
            fn modulo(self, other: Self) -> Self {
                $modulo(self, other)
            }

            #[inline]
            fn negated(self) -> Self {
                self.wrapping_neg()
            }

            #[inline]
            fn magnitude(self) -> Self {
                $abs(self)
            }

            #[inline]
            fn is_nan(self) -> bool {
                false
            }

            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline]
            fn rounded(value: f64) -> Self {
                value as Self
            }
        }

        impl Integer for $type {
            #[inline]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }

            #[inline]
            fn not(self) -> Self {
                !self
            }

            #[inline]
            fn shift_left(self, by: u32) -> Self {
                self.wrapping_shl(by)
            }

            #[inline]
            fn shift_right(self, by: u32) -> Self {
                self.wrapping_shr(by)
            }

            #[inline]
            fn to_i128(self) -> i128 {
                self.into()
            }

            #[inline]
            fn from_i128(value: i128) -> Option<Self> {
                Self::try_from(value).ok()
            }
        }
    };
    ($($type:ty, $elem:ident, $width:literal;)* @signed) => {
        $(integer!($type, $elem, $width, |v: $type| v.wrapping_abs(), |a: $type, b: $type| {
            let rem = a.wrapping_rem(b);
            if rem != 0 && (rem < 0) != (b < 0) { rem.wrapping_add(b) } else { rem }
        });)*
    };
    ($($type:ty, $elem:ident, $width:literal;)* @unsigned) => {
        $(integer!($type, $elem, $width, |v: $type| v, |a: $type, b: $type| a % b);)*
    };
}

integer! { i8, INT8, 1; i16, INT16, 2; i32, INT32, 4; i64, INT64, 8; @signed }
integer! { u8, UINT8, 1; u16, UINT16, 2; u32, UINT32, 4; u64, UINT64, 8; @unsigned }
scalar!(bool, BOOL, 1, |bytes: [u8; 1]| bytes[0] != 0, |value: bool| [u8::from(value)]);
float_scalar!(f32, FLOAT, 4);
float_scalar!(f64, DOUBLE, 8);
float_scalar!(f16, FLOAT16, 2);
float_scalar!(bf16, BFLOAT16, 2);

/// Sums, differences, products, quotients and remainders of halves are those of floats, rounded: a float has more
/// than twice the digits, so that rounding twice is rounding once.
macro_rules! float {
    (
        $type:ty, $wide:ty, $zero:expr, $one:expr, $widen:expr, $narrow:expr, $to_f64:expr, $from_f64:expr,
        $greatest:expr, $least:expr, $unit:expr
    ) => {
        impl Number for $type {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const LEAST: Self = <$type>::NEG_INFINITY;
            const GREATEST: Self = <$type>::INFINITY;

            #[inline]
            fn add(self, other: Self) -> Self {
                $narrow($widen(self) + $widen(other))
            }

            #[inline]
            fn sub(self, other: Self) -> Self {
                $narrow($widen(self) - $widen(other))
            }

            #[inline]
            fn mul(self, other: Self) -> Self {
                $narrow($widen(self) * $widen(other))
            }

            #[inline]
            fn div(self, other: Self) -> Self {
                $narrow($widen(self) / $widen(other))
            }

            #[inline]
            fn rem(self, other: Self) -> Self {
                $narrow($widen(self) % $widen(other))
            }

            #[inline]
            fn modulo(self, other: Self) -> Self {
                let (a, b): ($wide, $wide) = ($widen(self), $widen(other));
                let rem = a % b;
                $narrow(if rem == 0.0 {
                    (0.0 as $wide).copysign(b)
                } else if (rem < 0.0) != (b < 0.0) {
                    rem + b
                } else {
                    rem
                })
            }

            #[inline]
            fn negated(self) -> Self {
                -self
            }

            #[inline]
            fn magnitude(self) -> Self {
                $narrow($widen(self).abs())
            }

            #[inline]
            fn is_nan(self) -> bool {
                self != self
            }

            #[inline]
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }

            #[inline]
            fn rounded(value: f64) -> Self {
                $from_f64(value)
            }
        }

        impl Float for $type {
            const GREATEST_FINITE: f64 = $greatest;
            const LEAST_NORMAL: f64 = $least;
            const UNIT: f64 = $unit;
        }
    };
}

float!(
    f32,
    f32,
    0.0,
    1.0,
    |v: f32| v,
    |v: f32| v,
    |v: f32| f64::from(v),
    |v: f64| v as f32,
    f32::MAX as f64,
    f32::MIN_POSITIVE as f64,
    f32::EPSILON as f64 / 2.0
);

float!(
    f64,
    f64,
    0.0,
    1.0,
    |v: f64| v,
    |v: f64| v,
    |v: f64| v,
    |v: f64| v,
    f64::MAX,
    f64::MIN_POSITIVE,
    f64::EPSILON / 2.0
);

float!(
    f16,
    f32,
    f16::ZERO,
    f16::ONE,
    f16::to_f32,
    f16::from_f32,
    f16::to_f64,
    |v| f16::from_f32(to_odd_f32(v)),
    65504.0,
    1.0 / 16384.0,
    1.0 / 2048.0
);

float!(
    bf16,
    f32,
    bf16::ZERO,
    bf16::ONE,
    bf16::to_f32,
    bf16::from_f32,
    bf16::to_f64,
    |v| bf16::from_f32(to_odd_f32(v)),
    f32::from_bits(0x7f7f_0000) as f64,
    f32::MIN_POSITIVE as f64,
    1.0 / 256.0
);

/// The float next to `value` whose last digit is odd, or `value` itself: rounding it to a type with fewer digits has
/// the same result as rounding `value` directly.
pub fn to_odd_f32(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || !near.is_finite() {
        return near;
    }
    let towards_zero = if f64::from(near).abs() > value.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(towards_zero | 1)
}

/// As [`to_odd_f32`], from an integer to a double.
pub fn to_odd_f64(value: i128) -> f64 {
    let near = value as f64;
    if near as i128 == value {
        return near;
    }
    let beyond = (near as i128).unsigned_abs() > value.unsigned_abs();
    f64::from_bits((near.to_bits() - u64::from(beyond)) | 1)
}

/// Evaluates `$body` with `$T` as the Rust type of an element type; an error value when the set does not have it.
macro_rules! dispatch {
    ($elem:expr, $T:ident in signed => $body:expr) => {
        dispatch!(@ $elem, $T, $body, INT8 = i8, INT16 = i16, INT32 = i32, INT64 = i64)
    };
    ($elem:expr, $T:ident in integers => $body:expr) => {
        dispatch!(@ $elem, $T, $body, INT8 = i8, INT16 = i16, INT32 = i32, INT64 = i64, UINT8 = u8, UINT16 = u16,
            UINT32 = u32, UINT64 = u64)
    };
    ($elem:expr, $T:ident in floats => $body:expr) => {
        dispatch!(@ $elem, $T, $body, FLOAT = f32, DOUBLE = f64, FLOAT16 = half::f16, BFLOAT16 = half::bf16)
    };
    ($elem:expr, $T:ident in numbers => $body:expr) => {
        dispatch!(@ $elem, $T, $body, FLOAT = f32, DOUBLE = f64, FLOAT16 = half::f16, BFLOAT16 = half::bf16,
            INT8 = i8, INT16 = i16, INT32 = i32, INT64 = i64, UINT8 = u8, UINT16 = u16, UINT32 = u32, UINT64 = u64)
    };
    ($elem:expr, $T:ident in scalars => $body:expr) => {
        dispatch!(@ $elem, $T, $body, FLOAT = f32, DOUBLE = f64, FLOAT16 = half::f16, BFLOAT16 = half::bf16,
            INT8 = i8, INT16 = i16, INT32 = i32, INT64 = i64, UINT8 = u8, UINT16 = u16, UINT32 = u32, UINT64 = u64,
            BOOL = bool)
    };
    (@ $elem:expr, $T:ident, $body:expr, $($const:ident = $type:ty),*) => {
        match $elem {
            $(relais_plugin_api::ir::ElemType::$const => {
                type $T = $type;
                $body
            })*
            other => Err(crate::shared::cx::unsupported_elem(other)),
        }
    };
}

pub(crate) use dispatch;
