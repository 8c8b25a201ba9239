//! Immediates: the numbers in loop programs.

use super::{ElemType, Function, NodeId, Type, half, kind};
use std::fmt;

/// A number of one element type: the contents of a leaf of kind [`kind::IMM`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Imm {
    elem: ElemType,
    bits: u64,
}

impl Imm {
    /// The number with these bits, of which the lowest count.
    ///
    /// # Errors
    /// Returns `None` for bits beyond the type, and for types whose elements loop programs do not handle; see
    /// [`ElemType::is_scalar`].
    pub fn new(elem: ElemType, bits: u64) -> Option<Self> {
        let is_valid = match elem {
            _ if !elem.is_scalar() => false,
            ElemType::BOOL => bits <= 1,
            _ => bits & !mask(elem.bits()) == 0,
        };
        is_valid.then_some(Self { elem, bits })
    }

    /// The integer, wrapped to the type. `None` if it is not an integer type.
    pub fn int(elem: ElemType, value: i64) -> Option<Self> {
        elem.is_integer().then(|| Self::new(elem, value as u64 & mask(elem.bits()))).flatten()
    }

    /// The nearest number. `None` if it is not a floating-point type.
    pub fn float(elem: ElemType, value: f64) -> Option<Self> {
        let bits = match elem {
            ElemType::FLOAT => u64::from((value as f32).to_bits()),
            ElemType::DOUBLE => value.to_bits(),
            ElemType::FLOAT16 => u64::from(half::Float16::from_f64(value)),
            ElemType::BFLOAT16 => u64::from(half::BFloat16::from_f64(value)),
            _ => return None,
        };
        Some(Self { elem, bits })
    }

    /// A truth value.
    pub const fn bool(value: bool) -> Self {
        Self { elem: ElemType::BOOL, bits: value as u64 }
    }

    /// An index.
    pub const fn index(value: i64) -> Self {
        Self { elem: ElemType::INT64, bits: value as u64 }
    }

    /// The element type.
    #[inline]
    pub const fn elem(self) -> ElemType {
        self.elem
    }

    /// The bits; those beyond the type are zero.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// The value of a signed or small unsigned integer. `None` for other types and for values from 2^63 on.
    #[inline]
    pub fn as_int(self) -> Option<i64> {
        if !self.elem.is_integer() {
            return None;
        }
        let unused = 64 - self.elem.bits();
        match self.elem {
            ElemType::INT8 | ElemType::INT16 | ElemType::INT32 | ElemType::INT64 => {
                Some((self.bits << unused) as i64 >> unused)
            }
            _ => i64::try_from(self.bits).ok(),
        }
    }

    /// The value of a floating-point number, exactly.
    pub fn as_float(self) -> Option<f64> {
        Some(match self.elem {
            ElemType::FLOAT => f64::from(f32::from_bits(self.bits as u32)),
            ElemType::DOUBLE => f64::from_bits(self.bits),
            ElemType::FLOAT16 => half::Float16::to_f64(self.bits as u16),
            ElemType::BFLOAT16 => half::BFloat16::to_f64(self.bits as u16),
            _ => return None,
        })
    }

    /// The truth value of a `bool`.
    pub fn as_bool(self) -> Option<bool> {
        (self.elem == ElemType::BOOL).then_some(self.bits != 0)
    }
}

impl fmt::Debug for Imm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.as_float(), self.as_int()) {
            (Some(value), _) => write!(f, "{value:?}")?,
            (_, Some(value)) => write!(f, "{value}")?,
            _ => write!(f, "{}", self.bits)?,
        }
        write!(f, " ({})", self.elem)
    }
}

/// The lowest bits.
const fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

impl ElemType {
    /// Whether loop programs compute with it: `bool`, integers and floating-point numbers of 8 to 64 bits that C or the
    /// project's own code has arithmetic for.
    pub const fn is_scalar(self) -> bool {
        matches!(
            self,
            Self::BOOL
                | Self::INT8
                | Self::INT16
                | Self::INT32
                | Self::INT64
                | Self::UINT8
                | Self::UINT16
                | Self::UINT32
                | Self::UINT64
                | Self::FLOAT16
                | Self::BFLOAT16
                | Self::FLOAT
                | Self::DOUBLE
        )
    }

    /// Whether integers of the type have a sign.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::INT8 | Self::INT16 | Self::INT32 | Self::INT64 | Self::INT4 | Self::INT2)
    }
}

impl Function {
    /// A leaf with that number, and its type.
    pub fn add_imm(&mut self, imm: Imm) -> NodeId {
        let id = self.add_leaf(kind::IMM, 0, imm.elem.0.into(), imm.bits as u32, (imm.bits >> 32) as u32);
        let ty = self.add_type(Type::Tensor { elem: imm.elem, shape: Some(&[]) });
        self.set_type(id, ty);
        id
    }

    /// The number of an immediate; `None` for other nodes, and for numbers that do not fit their type.
    #[inline]
    pub fn imm(&self, id: NodeId) -> Option<Imm> {
        let rec = self.node(id);
        if rec.kind != kind::IMM {
            return None;
        }
        Imm::new(ElemType(u8::try_from(rec.aux).ok()?), u64::from(rec.b) << 32 | u64::from(rec.a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        assert_eq!(Imm::int(ElemType::INT8, -1).unwrap().bits(), 0xff);
        assert_eq!(Imm::int(ElemType::INT8, -1).unwrap().as_int(), Some(-1));
        assert_eq!(Imm::int(ElemType::UINT8, 300).unwrap().as_int(), Some(44));
        assert_eq!(Imm::int(ElemType::UINT64, -1).unwrap().as_int(), None);
        assert_eq!(Imm::index(i64::MIN).as_int(), Some(i64::MIN));
        assert_eq!(Imm::float(ElemType::FLOAT16, 1.5).unwrap().as_float(), Some(1.5));
        assert_eq!(Imm::float(ElemType::FLOAT, -0.0).unwrap().bits(), 0x8000_0000);
        assert_eq!((Imm::bool(true).as_bool(), Imm::index(1).as_bool()), (Some(true), None));
        assert_eq!((Imm::int(ElemType::FLOAT, 1), Imm::float(ElemType::INT32, 1.0)), (None, None));
    }

    #[test]
    fn bits_beyond_the_type_are_refused() {
        assert!(Imm::new(ElemType::BOOL, 2).is_none() && Imm::new(ElemType::INT8, 0x100).is_none());
        assert!(Imm::new(ElemType::STRING, 0).is_none() && Imm::new(ElemType::INT4, 0).is_none());
        let mut f = Function::new();
        let good = f.add_imm(Imm::index(-7));
        assert_eq!(f.imm(good), Some(Imm::index(-7)));
        let bad = f.add_leaf(kind::IMM, 0, ElemType::INT8.0.into(), 0x100, 0);
        assert_eq!((f.imm(bad), f.imm(f.root())), (None, None));
    }
}
