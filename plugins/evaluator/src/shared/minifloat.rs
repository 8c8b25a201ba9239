//! Floating-point types of at most a byte.

use relais_plugin_api::ir::ElemType;

/// A floating-point type of at most a byte with a sign.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Bits of the exponent and the mantissa together.
    bits: u32,
    mantissa: u32,
    bias: i32,
    /// The code of the greatest finite value.
    max: u8,
    special: Special,
}

/// The meaning of the codes beyond the finite values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Special {
    /// There are none.
    None,
    /// Both signs of the last code are NaN.
    Nan,
    /// As IEEE: an infinity, then NaNs.
    Infinite,
    /// The code of negative zero is the only NaN.
    NegativeZero,
}

/// The result for a value out of range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// The greatest finite value.
    Saturate,
    /// Infinity, or NaN where there is none.
    Special,
}

/// The format of an element type, if it is one.
pub fn format(elem: ElemType) -> Option<Format> {
    let (bits, mantissa, bias, max, special) = match elem {
        ElemType::FLOAT8E4M3FN => (7, 3, 7, 0x7e, Special::Nan),
        ElemType::FLOAT8E4M3FNUZ => (7, 3, 8, 0x7f, Special::NegativeZero),
        ElemType::FLOAT8E5M2 => (7, 2, 15, 0x7b, Special::Infinite),
        ElemType::FLOAT8E5M2FNUZ => (7, 2, 16, 0x7f, Special::NegativeZero),
        ElemType::FLOAT4E2M1 => (3, 1, 1, 7, Special::None),
        _ => return None,
    };
    Some(Format { bits, mantissa, bias, max, special })
}

impl Format {
    /// The value of a code.
    pub fn decode(self, code: u8) -> f32 {
        let sign = code >> self.bits & 1;
        let magnitude = code & ((1 << self.bits) - 1);
        let (exponent, mantissa) = (i32::from(magnitude >> self.mantissa), magnitude & ((1 << self.mantissa) - 1));
        let value = match self.special {
            Special::NegativeZero if sign == 1 && magnitude == 0 => return f32::NAN,
            Special::Infinite if magnitude == self.max + 1 => f32::INFINITY,
            Special::Infinite | Special::Nan if magnitude > self.max => f32::NAN,
            _ if exponent == 0 => f32::from(mantissa) * exp2(1 - self.bias - self.mantissa as i32),
            _ => f32::from(mantissa | 1 << self.mantissa) * exp2(exponent - self.bias - self.mantissa as i32),
        };
        if sign == 1 { -value } else { value }
    }

    /// The code nearest to a value, to the even one of two; `None` for a NaN of a type without.
    pub fn encode(self, value: f32, overflow: Overflow) -> Option<u8> {
        let sign = u8::from(value.is_sign_negative()) << self.bits;
        if value.is_nan() {
            return self.nan(sign);
        }
        let value = f64::from(value.abs());
        // The value in units of the last digit that it would have.
        let exponent = ((value.to_bits() >> 52) as i32 - 1023).clamp(1 - self.bias, 128);
        let units = value * f64::from(exp2(self.mantissa as i32 - exponent));
        let code = f64::from(((exponent + self.bias - 1) << self.mantissa) as u32) + units.round_ties_even();
        if code <= f64::from(self.max) {
            let code = code as u8;
            return Some(if code == 0 && self.special == Special::NegativeZero { 0 } else { sign | code });
        }
        match (overflow, self.special) {
            (Overflow::Special, Special::Infinite) => Some(sign | (self.max + 1)),
            (Overflow::Special, Special::Nan | Special::NegativeZero) => self.nan(sign),
            _ => Some(sign | self.max),
        }
    }

    fn nan(self, sign: u8) -> Option<u8> {
        match self.special {
            Special::None => None,
            Special::Nan => Some(sign | 0x7f),
            Special::Infinite => Some(sign | 0x7e),
            Special::NegativeZero => Some(0x80),
        }
    }
}

/// `2^exponent`, within the range of normal floats.
fn exp2(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}
