//! The values that the core operators compute: the one definition of their arithmetic, shared by all that compute with it.

use relais_ir::prim::{Class, CoreOp};
use relais_ir::{ElemType, Imm, half::Half};
use std::{
    f64::consts::{FRAC_2_SQRT_PI, PI},
    fmt,
};

/// Why an operator gives no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoValue {
    /// A division by zero: it ends the program.
    DivisionByZero,
    /// The number is a float that the integer type of a `cast` does not hold: the result is undefined.
    Undefined,
    /// It is not an operator of numbers, or takes none of these types.
    Mistyped,
}

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DivisionByZero => "division by zero",
            Self::Undefined => "the cast of a float that the integer type does not hold is undefined",
            Self::Mistyped => "the operator does not take numbers of these types",
        })
    }
}

impl std::error::Error for NoValue {}

/// The result of a core operator for these numbers. `elem` is the element type of the result; only `cast` and `bitcast` read
/// it.
///
/// ```
/// use relais_plugin_api::{ir::{ElemType, Imm}, prim::{CoreOp, NoValue, fold}};
///
/// let number = |value| Imm::int(ElemType::INT8, value).unwrap();
/// let fold = |op, a, b| fold(op, &[number(a), number(b)], ElemType::INT8);
/// assert_eq!(fold(CoreOp::Add, 127, 1), Ok(number(-128)));
/// assert_eq!(fold(CoreOp::FloorDiv, -7, 2), Ok(number(-4)));
/// assert_eq!(fold(CoreOp::Div, 1, 0), Err(NoValue::DivisionByZero));
/// ```
///
/// # Errors
/// Returns an error if there is no such number.
pub fn fold(op: CoreOp, args: &[Imm], elem: ElemType) -> Result<Imm, NoValue> {
    let (is_selected, operands) = match (op, args) {
        (CoreOp::Select, [c, operands @ ..]) => (c.elem() == ElemType::BOOL, operands),
        _ => (true, args),
    };
    let from = operands.first().map_or(ElemType::UNKNOWN, |imm| imm.elem());
    if !is_selected || operands.iter().any(|imm| imm.elem() != from) {
        return Err(NoValue::Mistyped);
    }
    let elem = match op.info().class {
        Class::Comparison | Class::Test => ElemType::BOOL,
        _ if matches!(op, CoreOp::Cast | CoreOp::Bitcast) => elem,
        _ => from,
    };
    let bits = match (Code::new(op, from, elem), args) {
        (Some(Code::Unary(f)), [a]) => f(a.bits()),
        (Some(Code::Binary(f)), [a, b]) => f(a.bits(), b.bits()),
        (Some(Code::Ternary(f)), [a, b, c]) => f(a.bits(), b.bits(), c.bits()),
        (Some(Code::Division(f)), [a, b]) => f(a.bits(), b.bits()).ok_or(NoValue::DivisionByZero)?,
        (Some(Code::Conversion(f)), [a]) => f(a.bits()).ok_or(NoValue::Undefined)?,
        _ => return Err(NoValue::Mistyped),
    };
    Imm::new(elem, bits).ok_or(NoValue::Mistyped)
}

/// The code of an operator for one element type. Numbers are their bits, as in an [`Imm`].
#[derive(Clone, Copy)]
pub(super) enum Code {
    Unary(fn(u64) -> u64),
    Binary(fn(u64, u64) -> u64),
    Ternary(fn(u64, u64, u64) -> u64),
    /// `None` for a division by zero.
    Division(fn(u64, u64) -> Option<u64>),
    /// `None` for what is undefined.
    Conversion(fn(u64) -> Option<u64>),
}

/// Evaluates `$body` with `$T` as the type of the elements; `None` for types that are not listed.
macro_rules! typed {
    ($elem:expr, $T:ident => $body:expr, [$($name:ident: $type:ty),*]) => {
        match $elem {
            $(ElemType::$name => {
                type $T = $type;
                $body
            })*
            _ => None,
        }
    };
    ($elem:expr, $T:ident in integers => $body:expr) => {
        typed!($elem, $T => $body, [INT8: i8, INT16: i16, INT32: i32, INT64: i64, UINT8: u8, UINT16: u16, UINT32: u32,
            UINT64: u64])
    };
    ($elem:expr, $T:ident in floats => $body:expr) => {
        typed!($elem, $T => $body, [FLOAT: f32, DOUBLE: f64, FLOAT16: Short<10>, BFLOAT16: Short<7>])
    };
    ($elem:expr, $T:ident in scalars => $body:expr) => {
        typed!($elem, $T => $body, [INT8: i8, INT16: i16, INT32: i32, INT64: i64, UINT8: u8, UINT16: u16, UINT32: u32,
            UINT64: u64, FLOAT: f32, DOUBLE: f64, FLOAT16: Short<10>, BFLOAT16: Short<7>, BOOL: bool])
    };
}

/// Code that applies a function of typed numbers.
macro_rules! code {
    ($T:ty, |$a:ident| $body:expr) => {
        Code::Unary(|a| {
            let $a = <$T>::of(a);
            Number::bits($body)
        })
    };
    ($T:ty, |$a:ident, $b:ident| $body:expr) => {
        Code::Binary(|a, b| {
            let ($a, $b) = (<$T>::of(a), <$T>::of(b));
            Number::bits($body)
        })
    };
    ($T:ty, |$a:ident, $b:ident, $c:ident| $body:expr) => {
        Code::Ternary(|a, b, c| {
            let ($a, $b, $c) = (<$T>::of(a), <$T>::of(b), <$T>::of(c));
            Number::bits($body)
        })
    };
}

impl Code {
    /// The code of an operator on operands of the type `from`, with a result of the type `to`. `None` if it is not an
    /// operator of numbers of that type.
    pub(super) fn new(op: CoreOp, from: ElemType, to: ElemType) -> Option<Self> {
        match op {
            CoreOp::Cast => typed!(from, A in scalars => typed!(to, B in scalars => Some(cast::<A, B>()))),
            CoreOp::Bitcast => {
                let is_right = from.is_scalar() && to.is_scalar() && from.bits() == to.bits();
                (is_right && ![from, to].contains(&ElemType::BOOL)).then_some(Self::Unary(|a| a))
            }
            CoreOp::Select => from.is_scalar().then_some(Self::Ternary(|c, a, b| if c != 0 { a } else { b })),
            _ if from == ElemType::BOOL => logic(op),
            _ if from.is_integer() => typed!(from, T in integers => integer::<T>(op)),
            _ => typed!(from, T in floats => float::<T>(op)),
        }
    }
}

fn compare<T: Number>(op: CoreOp) -> Option<Code> {
    Some(match op {
        CoreOp::Eq => code!(T, |a, b| a == b),
        CoreOp::Ne => code!(T, |a, b| a != b),
        CoreOp::Lt => code!(T, |a, b| a < b),
        CoreOp::Le => code!(T, |a, b| a <= b),
        CoreOp::Gt => code!(T, |a, b| a > b),
        CoreOp::Ge => code!(T, |a, b| a >= b),
        _ => return None,
    })
}

fn logic(op: CoreOp) -> Option<Code> {
    Some(match op {
        CoreOp::And => code!(bool, |a, b| a & b),
        CoreOp::Or => code!(bool, |a, b| a | b),
        CoreOp::Xor => code!(bool, |a, b| a ^ b),
        CoreOp::Not => code!(bool, |a| !a),
        _ => return compare::<bool>(op),
    })
}

fn integer<T: Integer>(op: CoreOp) -> Option<Code> {
    use CoreOp::*;
    /// Code of one of the divisions.
    macro_rules! division {
        (|$a:ident, $b:ident| $body:expr) => {
            Code::Division(|a, b| {
                let ($a, $b) = (T::of(a), T::of(b));
                (b != 0).then(|| Number::bits($body))
            })
        };
    }
    Some(match op {
        Add => code!(T, |a, b| a.add(b)),
        Sub => code!(T, |a, b| a.sub(b)),
        Mul => code!(T, |a, b| a.mul(b)),
        Div => division!(|a, b| a.div(b)),
        Mod => division!(|a, b| a.rem(b)),
        FloorDiv => division!(|a, b| a.div(b).sub(T::from_signed(a.is_uneven(b).into()))),
        FloorMod => division!(|a, b| if a.is_uneven(b) { a.rem(b).add(b) } else { a.rem(b) }),
        Min => code!(T, |a, b| if b < a { b } else { a }),
        Max => code!(T, |a, b| if b > a { b } else { a }),
        Neg => code!(T, |a| a.neg()),
        Abs => code!(T, |a| if a < T::from_signed(0) { a.neg() } else { a }),
        Shl => code!(T, |a, b| a.shl(b)),
        Shr => code!(T, |a, b| a.shr(b)),
        And => code!(T, |a, b| a.and(b)),
        Or => code!(T, |a, b| a.or(b)),
        Xor => code!(T, |a, b| a.xor(b)),
        Not => code!(T, |a| a.not()),
        _ => return compare::<T>(op),
    })
}

fn float<T: Float>(op: CoreOp) -> Option<Code> {
    use CoreOp::*;
    /// Code of a function that the standard library has for both widths.
    macro_rules! function {
        ($name:ident) => {
            code!(T, |a| a.map(f32::$name, f64::$name))
        };
    }
    Some(match op {
        Add => code!(T, |a, b| a.with(b, |a, b| a + b, |a, b| a + b)),
        Sub => code!(T, |a, b| a.with(b, |a, b| a - b, |a, b| a - b)),
        Mul => code!(T, |a, b| a.with(b, |a, b| a * b, |a, b| a * b)),
        Div => code!(T, |a, b| a.with(b, |a, b| a / b, |a, b| a / b)),
        Mod => code!(T, |a, b| a.with(b, |a, b| a % b, |a, b| a % b)),
        Min => code!(T, |a, b| if a.is_nan() || a < b || a == b && a.is_negative() { a } else { b }),
        Max => code!(T, |a, b| if a.is_nan() || a > b || a == b && !a.is_negative() { a } else { b }),
        Neg => Code::Unary(|a| a ^ T::SIGN),
        Abs => Code::Unary(|a| a & !T::SIGN),
        Fma => code!(T, |a, b, c| a.fma(b, c)),
        Pow => code!(T, |a, b| a.pow(b)),
        Erf => code!(T, |a| a.map(|a| erf(a.into()) as f32, erf)),
        Log => function!(ln),
        Sqrt => function!(sqrt),
        Exp => function!(exp),
        Sin => function!(sin),
        Cos => function!(cos),
        Tan => function!(tan),
        Asin => function!(asin),
        Acos => function!(acos),
        Atan => function!(atan),
        Sinh => function!(sinh),
        Cosh => function!(cosh),
        Tanh => function!(tanh),
        Asinh => function!(asinh),
        Acosh => function!(acosh),
        Atanh => function!(atanh),
        Floor => function!(floor),
        Ceil => function!(ceil),
        Round => function!(round_ties_even),
        Trunc => function!(trunc),
        IsNan => code!(T, |a| a.is_nan()),
        IsInf => code!(T, |a| a.wide().is_infinite()),
        _ => return compare::<T>(op),
    })
}

fn cast<A: Number, B: Number>() -> Code {
    Code::Conversion(|a| A::of(a).to::<B>().map(B::bits))
}

// ---- types ------------------------------------------------------------------------------------------------------------

/// A type of numbers.
trait Number: Copy + PartialOrd {
    /// The number with these bits; those beyond the type are zero.
    fn of(bits: u64) -> Self;
    /// The bits.
    fn bits(self) -> u64;
    /// The number in another type; `None` if that is undefined.
    fn to<B: Number>(self) -> Option<B>;

    /// An integer, wrapped, or rounded once.
    fn from_signed(value: i64) -> Self;
    /// An integer, wrapped, or rounded once.
    fn from_unsigned(value: u64) -> Self;
    /// A float, rounded once; `None` if that is an integer beyond the type, or the float is NaN.
    fn from_float(value: f64) -> Option<Self>;
}

trait Integer: Number {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// The truncated quotient by a number that is not zero.
    fn div(self, other: Self) -> Self;
    /// The remainder of [`div`](Self::div).
    fn rem(self, other: Self) -> Self;
    fn neg(self) -> Self;
    fn shl(self, places: Self) -> Self;
    fn shr(self, places: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn not(self) -> Self;

    /// Whether the quotient is negative and not whole, so that rounding down and truncating differ.
    fn is_uneven(self, other: Self) -> bool {
        let (rem, zero) = (self.rem(other), Self::from_signed(0));
        rem != zero && (rem < zero) != (other < zero)
    }
}

trait Float: Number {
    /// The bit of the sign.
    const SIGN: u64;
    /// The number, exactly.
    fn wide(self) -> f64;
    /// A function of two numbers that is exact except for one rounding.
    fn with(self, other: Self, single: impl Fn(f32, f32) -> f32, double: impl Fn(f64, f64) -> f64) -> Self;
    /// A function of one number, of 16-bit types through `f32`. Also right for a function that is exact except for one
    /// rounding and gives no number below the normal ones: the second rounding changes nothing, as in [`Short`].
    fn map(self, single: impl Fn(f32) -> f32, double: impl Fn(f64) -> f64) -> Self;
    fn pow(self, other: Self) -> Self;
    fn fma(self, factor: Self, term: Self) -> Self;

    fn is_nan(self) -> bool {
        self.wide().is_nan()
    }

    fn is_negative(self) -> bool {
        self.wide().is_sign_negative()
    }
}

macro_rules! integers {
    ($($type:ident as $same:ident, $from:ident $wide:ident;)*) => {$(
        impl Number for $type {
            #[inline]
            fn of(bits: u64) -> Self {
                bits as Self
            }

            #[inline]
            fn bits(self) -> u64 {
                self as $same as u64
            }

            fn to<B: Number>(self) -> Option<B> {
                Some(B::$from(self as $wide))
            }

            #[inline]
            fn from_signed(value: i64) -> Self {
                value as Self
            }

            #[inline]
            fn from_unsigned(value: u64) -> Self {
                value as Self
            }

            fn from_float(value: f64) -> Option<Self> {
                // The bound above is a power of two, so it is exact; so is the one below.
                let (value, above) = (value.trunc(), 2.0 * (Self::MAX / 2 + 1) as f64);
                (value >= Self::MIN as f64 && value < above).then_some(value as Self)
            }
        }

        impl Integer for $type {
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
            fn neg(self) -> Self {
                self.wrapping_neg()
            }

            #[inline]
            fn shl(self, places: Self) -> Self {
                self.wrapping_shl(places as u32)
            }

            #[inline]
            fn shr(self, places: Self) -> Self {
                self.wrapping_shr(places as u32)
            }

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
        }
    )*};
}

integers! {
    i8 as u8, from_signed i64;
    i16 as u16, from_signed i64;
    i32 as u32, from_signed i64;
    i64 as u64, from_signed i64;
    u8 as u8, from_unsigned u64;
    u16 as u16, from_unsigned u64;
    u32 as u32, from_unsigned u64;
    u64 as u64, from_unsigned u64;
}

impl Number for bool {
    fn of(bits: u64) -> Self {
        bits != 0
    }

    fn bits(self) -> u64 {
        self.into()
    }

    fn to<B: Number>(self) -> Option<B> {
        Some(B::from_unsigned(self.into()))
    }

    fn from_signed(value: i64) -> Self {
        value != 0
    }

    fn from_unsigned(value: u64) -> Self {
        value != 0
    }

    fn from_float(value: f64) -> Option<Self> {
        Some(value != 0.0)
    }
}

macro_rules! floats {
    ($($type:ident as $bits:ident, |$a:ident, $b:ident, $single:ident, $double:ident| $with:expr, $map:expr;)*) => {$(
        impl Number for $type {
            #[inline]
            fn of(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }

            #[inline]
            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            fn to<B: Number>(self) -> Option<B> {
                B::from_float(self.into())
            }

            fn from_signed(value: i64) -> Self {
                value as Self
            }

            fn from_unsigned(value: u64) -> Self {
                value as Self
            }

            fn from_float(value: f64) -> Option<Self> {
                Some(value as Self)
            }
        }

        impl Float for $type {
            const SIGN: u64 = 1 << ($bits::BITS - 1);

            #[inline]
            fn wide(self) -> f64 {
                self.into()
            }

            #[inline]
            fn with(self, $b: Self, $single: impl Fn(f32, f32) -> f32, $double: impl Fn(f64, f64) -> f64) -> Self {
                let $a = self;
                $with
            }

            #[inline]
            fn map(self, $single: impl Fn(f32) -> f32, $double: impl Fn(f64) -> f64) -> Self {
                let $a = self;
                $map
            }

            fn pow(self, other: Self) -> Self {
                self.powf(other)
            }

            fn fma(self, factor: Self, term: Self) -> Self {
                self.mul_add(factor, term)
            }
        }
    )*};
}

floats! {
    f32 as u32, |a, b, single, _double| single(a, b), single(a);
    f64 as u64, |a, b, _single, double| double(a, b), double(a);
}

/// A number of one of the 16-bit formats.
///
/// The basic operations are done in `f64` and rounded again. That is as good as one rounding: the exact result of `+`, `-`,
/// `*`, `/` or a square root of numbers of `p` bits is either within `2p + 2` bits or further from the middle between two
/// of them than rounding to that number of bits moves it, `f64` has 53 bits for the 24 that are needed, and its range is so much
/// wider that no intermediate result is below its normal numbers. Remainders are exact.
#[derive(Clone, Copy)]
struct Short<const FRACTION: u32>(u16);

impl<const FRACTION: u32> Short<FRACTION> {
    fn rounded(value: f64) -> Self {
        Self(Half::<FRACTION>::from_f64(value))
    }
}

impl<const FRACTION: u32> PartialEq for Short<FRACTION> {
    fn eq(&self, other: &Self) -> bool {
        self.wide() == other.wide()
    }
}

impl<const FRACTION: u32> PartialOrd for Short<FRACTION> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.wide().partial_cmp(&other.wide())
    }
}

impl<const FRACTION: u32> Number for Short<FRACTION> {
    fn of(bits: u64) -> Self {
        Self(bits as u16)
    }

    fn bits(self) -> u64 {
        self.0.into()
    }

    fn to<B: Number>(self) -> Option<B> {
        B::from_float(self.wide())
    }

    fn from_signed(value: i64) -> Self {
        let magnitude = odd(value.unsigned_abs());
        Self::rounded(if value < 0 { -magnitude } else { magnitude })
    }

    fn from_unsigned(value: u64) -> Self {
        Self::rounded(odd(value))
    }

    fn from_float(value: f64) -> Option<Self> {
        Some(Self::rounded(value))
    }
}

/// The number, or one beside it that rounds to the same number of a 16-bit format: what is cut off leaves a one behind, so
/// that no middle between two numbers is hit by rounding.
fn odd(value: u64) -> f64 {
    const CUT: u64 = (1 << (u64::BITS - f64::MANTISSA_DIGITS)) - 1;
    let cut = value & CUT;
    if value >> f64::MANTISSA_DIGITS == 0 || cut == 0 {
        return value as f64;
    }
    (value & !CUT | (CUT + 1)) as f64
}

impl<const FRACTION: u32> Float for Short<FRACTION> {
    const SIGN: u64 = 1 << 15;

    fn wide(self) -> f64 {
        Half::<FRACTION>::to_f64(self.0)
    }

    fn with(self, other: Self, _single: impl Fn(f32, f32) -> f32, double: impl Fn(f64, f64) -> f64) -> Self {
        Self::rounded(double(self.wide(), other.wide()))
    }

    fn map(self, single: impl Fn(f32) -> f32, _double: impl Fn(f64) -> f64) -> Self {
        Self::rounded(single(self.wide() as f32).into())
    }

    fn pow(self, other: Self) -> Self {
        Self::rounded((self.wide() as f32).powf(other.wide() as f32).into())
    }

    fn fma(self, factor: Self, term: Self) -> Self {
        // The product is exact. The part that the sum loses decides whether it is a middle between two numbers: a sum with a
        // last bit of one is none.
        let (product, term) = (self.wide() * factor.wide(), term.wide());
        let sum = product + term;
        let kept = sum - product;
        let lost = (product - (sum - kept)) + (term - kept);
        if !sum.is_finite() || lost == 0.0 || sum.to_bits() & 1 == 1 {
            return Self::rounded(sum);
        }
        let step = if (lost > 0.0) == (sum > 0.0) { 1 } else { -1 };
        Self::rounded(f64::from_bits(sum.to_bits().wrapping_add_signed(step)))
    }
}

/// The error function, which [`CoreOp::Erf`] computes: its series near zero, otherwise by its complement.
pub fn erf(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.abs() > 2.0 {
        return x.signum() * (1.0 - erfc_far(x.abs()));
    }
    // 2/sqrt(pi) * exp(-x^2) * sum of 2^n x^(2n+1) / (2n+1)!!: all terms have one sign.
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// The complementary error function.
pub fn erfc(x: f64) -> f64 {
    if x > 2.0 { erfc_far(x) } else { 1.0 - erf(x) }
}

/// `erfc` beyond 2: Lentz's continued fraction.
fn erfc_far(x: f64) -> f64 {
    if x > 28.0 {
        return 0.0;
    }
    let mut fraction = x;
    for n in (1..=120).rev() {
        fraction = x + f64::from(n) / 2.0 / fraction;
    }
    (-x * x).exp() / (fraction * PI.sqrt())
}

#[cfg(test)]
mod tests;
