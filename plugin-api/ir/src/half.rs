//! The 16-bit floating-point formats: `float16` (IEEE 754 binary16) and `bfloat16`.

/// A format with a sign bit and `FRACTION` bits of fraction; the bits between are the exponent's.
pub struct Half<const FRACTION: u32>;

/// `float16`.
pub type Float16 = Half<10>;
/// `bfloat16`.
pub type BFloat16 = Half<7>;

/// Bits of the fraction of a 64-bit float, and the bias of its exponent.
const WIDE_FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
const WIDE_BIAS: i32 = f64::MAX_EXP - 1;

impl<const FRACTION: u32> Half<FRACTION> {
    /// The bits of infinity; the magnitude of a number is below them, that of a NaN above.
    pub const INFINITY: u16 = (i16::MAX as u16 >> FRACTION) << FRACTION;
    const SIGN: u16 = 1 << 15;
    const QUIET: u16 = 1 << (FRACTION - 1);
    const BIAS: i32 = (1 << (14 - FRACTION)) - 1;
    /// The exponent of the least step between two numbers.
    const LEAST: i32 = 1 - Self::BIAS - FRACTION as i32;

    /// The number with these bits, exactly. A NaN becomes quiet and keeps its payload.
    #[inline]
    pub fn to_f64(bits: u16) -> f64 {
        let sign = u64::from(bits & Self::SIGN) << 48;
        let magnitude = bits & !Self::SIGN;
        let fraction = u64::from(magnitude) << (WIDE_FRACTION - FRACTION);
        if magnitude > Self::INFINITY {
            return f64::from_bits(sign | f64::NAN.to_bits() | fraction);
        }
        let wide = if magnitude == Self::INFINITY {
            f64::INFINITY
        } else if magnitude >> FRACTION == 0 {
            f64::from(magnitude) * power_of_two(Self::LEAST)
        } else {
            f64::from_bits(fraction + (((WIDE_BIAS - Self::BIAS) as u64) << WIDE_FRACTION))
        };
        f64::from_bits(sign | wide.to_bits())
    }

    /// The bits of the nearest number, of two the one with an even fraction. A NaN becomes quiet and keeps the high bits
    /// of its payload.
    #[inline]
    pub fn from_f64(value: f64) -> u16 {
        let sign = (value.to_bits() >> 48) as u16 & Self::SIGN;
        if value.is_nan() {
            let payload = (value.to_bits() >> (WIDE_FRACTION - FRACTION)) as u16 & (Self::QUIET - 1);
            return sign | Self::INFINITY | Self::QUIET | payload;
        }
        let exponent = (value.abs().to_bits() >> WIDE_FRACTION) as i32 - WIDE_BIAS;
        if exponent > Self::BIAS {
            return sign | Self::INFINITY;
        }
        // The number in steps of its own size: scaling by a power of two is exact, and a carry leads to the next
        // exponent, at last to infinity.
        let step = (exponent - FRACTION as i32).max(Self::LEAST);
        let steps = (value.abs() * power_of_two(-step)).round_ties_even() as u16;
        sign | (((step - Self::LEAST) as u16) << FRACTION).wrapping_add(steps)
    }
}

/// A power of two within the range of normal numbers.
#[inline]
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + WIDE_BIAS) as u64) << WIDE_FRACTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number of the format, the middle between it and the next, and what is just beside that middle.
    fn each_is_nearest<const FRACTION: u32>(to_f64: impl Fn(u16) -> f64) {
        for sign in [0, Half::<FRACTION>::SIGN] {
            let of_magnitude = |magnitude: u16| Half::<FRACTION>::to_f64(sign | magnitude);
            let nearest = |value: f64| Half::<FRACTION>::from_f64(value) ^ sign;
            for magnitude in 0..Half::<FRACTION>::INFINITY {
                let value = of_magnitude(magnitude);
                assert_eq!(value.to_bits(), to_f64(sign | magnitude).to_bits(), "{magnitude:#x}");
                assert_eq!(nearest(value), magnitude, "{value:e}");
                let next = match of_magnitude(magnitude + 1) {
                    next if next.is_finite() => next,
                    _ => 2.0 * value - of_magnitude(magnitude - 1),
                };
                let middle = (value + next) / 2.0;
                // The magnitude's bits count upwards for either sign.
                let beside = |step: i64| f64::from_bits(middle.to_bits().wrapping_add_signed(step));
                assert_eq!(nearest(beside(-1)), magnitude, "below {middle:e}");
                assert_eq!(nearest(beside(1)), magnitude + 1, "above {middle:e}");
                assert_eq!(nearest(middle), magnitude + magnitude % 2, "{middle:e}");
            }
            for beyond in [f64::INFINITY, f64::MAX] {
                assert_eq!(nearest(if sign == 0 { beyond } else { -beyond }), Half::<FRACTION>::INFINITY);
            }
            for nan in Half::<FRACTION>::INFINITY + 1..=i16::MAX as u16 {
                let wide = of_magnitude(nan);
                assert_eq!(wide.to_bits(), to_f64(sign | nan).to_bits(), "{nan:#x}");
                assert_eq!(nearest(wide), nan | Half::<FRACTION>::QUIET, "{nan:#x}");
            }
        }
    }

    #[test]
    fn float16() {
        each_is_nearest::<10>(|bits| half::f16::from_bits(bits).to_f64());
    }

    #[test]
    fn bfloat16() {
        each_is_nearest::<7>(|bits| half::bf16::from_bits(bits).to_f64());
    }

    #[test]
    fn numbers_below_the_least_become_zero() {
        for value in [f64::from_bits(1), f64::MIN_POSITIVE, 1e-300] {
            assert_eq!((Float16::from_f64(value), BFloat16::from_f64(-value)), (0, 1 << 15));
        }
    }
}
