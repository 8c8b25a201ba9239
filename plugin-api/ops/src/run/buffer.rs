//! Memory of the interpreter.

use relais_ir::{ElemType, Tensor};

/// Elements by their width; each is the low bits of a register.
pub(super) enum Buffer {
    W1(Vec<u8>),
    W2(Vec<u16>),
    W4(Vec<u32>),
    W8(Vec<u64>),
}

/// Evaluates an expression with the elements, whatever their width.
macro_rules! elements {
    ($buffer:expr, $elements:ident => $body:expr) => {
        match $buffer {
            Buffer::W1($elements) => $body,
            Buffer::W2($elements) => $body,
            Buffer::W4($elements) => $body,
            Buffer::W8($elements) => $body,
        }
    };
}

impl Default for Buffer {
    fn default() -> Self {
        Self::W1(Vec::new())
    }
}

impl Buffer {
    /// As many equal elements.
    pub(super) fn new(elem: ElemType, len: usize, bits: u64) -> Self {
        match elem.bits() {
            8 => Self::W1(vec![bits as u8; len]),
            16 => Self::W2(vec![bits as u16; len]),
            32 => Self::W4(vec![bits as u32; len]),
            _ => Self::W8(vec![bits; len]),
        }
    }

    /// The elements of a tensor whose elements are scalars.
    pub(super) fn of(tensor: &Tensor) -> Self {
        let bytes = tensor.to_bytes();
        match tensor.elem() {
            // Any other byte than zero is true.
            ElemType::BOOL => Self::W1(bytes.iter().map(|&byte| u8::from(byte != 0)).collect()),
            elem => match elem.bits() {
                8 => Self::W1(bytes.into_owned()),
                16 => Self::W2(bytes.as_chunks().0.iter().map(|&bytes| u16::from_le_bytes(bytes)).collect()),
                32 => Self::W4(bytes.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect()),
                _ => Self::W8(bytes.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect()),
            },
        }
    }

    /// The elements, little-endian.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        elements!(self, elements => elements.iter().flat_map(|element| element.to_le_bytes()).collect())
    }

    pub(super) fn len(&self) -> usize {
        elements!(self, elements => elements.len())
    }

    /// An element.
    #[inline]
    pub(super) fn get(&self, at: u64) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        match self {
            Self::W1(elements) => elements.get(at).map(|&element| element.into()),
            Self::W2(elements) => elements.get(at).map(|&element| element.into()),
            Self::W4(elements) => elements.get(at).map(|&element| element.into()),
            Self::W8(elements) => elements.get(at).copied(),
        }
    }

    /// Sets an element; `None` if there is none.
    #[inline]
    pub(super) fn set(&mut self, at: u64, bits: u64) -> Option<()> {
        let at = usize::try_from(at).ok()?;
        elements!(self, elements => *elements.get_mut(at)? = bits as _);
        Some(())
    }

    /// Sets all elements.
    pub(super) fn fill(&mut self, bits: u64) {
        elements!(self, elements => elements.fill(bits as _));
    }
}

/// The bits of the elements of memory that was not written: zero, or for `poison` what spoils results that depend on it:
/// NaN, and integers with many bits set, which are odd.
pub(super) fn unwritten(elem: ElemType, poison: bool) -> u64 {
    let all = u64::MAX >> (64 - elem.bits().clamp(1, 64));
    match elem {
        _ if !poison => 0,
        ElemType::BOOL => 1,
        _ if elem.is_float() => all >> 1,
        _ => 0x5555_5555_5555_5555 & all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_ir::Imm;

    #[test]
    fn tensors_come_back() {
        for &elem in ElemType::ALL.iter().filter(|elem| elem.is_scalar() && **elem != ElemType::BOOL) {
            let bytes: Vec<u8> = (0..elem.bits() as u8 / 8 * 3).map(|byte| byte | 0x80).collect();
            let tensor = Tensor::dense(elem, &[3], bytes.clone()).unwrap();
            let mut buffer = Buffer::of(&tensor);
            assert_eq!((buffer.to_bytes(), buffer.len()), (bytes, 3), "{elem}");
            let last = buffer.get(2).unwrap();
            assert!(buffer.get(3).is_none() && buffer.set(3, 0).is_none() && buffer.set(0, last).is_some());
            assert_eq!(buffer.get(0), Some(last));
        }
        let truths = Tensor::dense(ElemType::BOOL, &[3], vec![0, 1, 7]).unwrap();
        assert_eq!(Buffer::of(&truths).to_bytes(), [0, 1, 1]);
    }

    #[test]
    fn poison_is_odd_or_no_number() {
        for &elem in ElemType::ALL.iter().filter(|elem| elem.is_scalar()) {
            assert_eq!(unwritten(elem, false), 0);
            let poison = Imm::new(elem, unwritten(elem, true)).unwrap();
            match poison.as_float() {
                Some(value) => assert!(value.is_nan(), "{elem}"),
                None => assert_eq!(poison.bits() % 2, 1, "{elem}"),
            }
        }
    }
}
