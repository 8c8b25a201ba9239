//! Elements of fewer than eight bits, packed one after another from the low bits up, across bytes.

/// Packs elements of `bits` bits (1 to 7), each given in the low bits of a byte.
pub fn pack(elements: &[u8], bits: u32) -> Vec<u8> {
    let mut packed = vec![0u8; (elements.len() * bits as usize).div_ceil(8)];
    let mask = (1u16 << bits) - 1;
    for (at, &element) in elements.iter().enumerate() {
        let first = at * bits as usize;
        let value = (u16::from(element) & mask) << (first % 8);
        packed[first / 8] |= value as u8;
        if value > 0xff {
            packed[first / 8 + 1] |= (value >> 8) as u8;
        }
    }
    packed
}

/// Element `at` of packed elements of `bits` bits (1 to 7); elements beyond the end are zero.
pub fn unpack(packed: &[u8], bits: u32, at: usize) -> u8 {
    let first = at * bits as usize;
    let byte = |index: usize| u16::from(packed.get(index).copied().unwrap_or(0));
    let value = (byte(first / 8) | byte(first / 8 + 1) << 8) >> (first % 8);
    (value & ((1u16 << bits) - 1)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        for bits in 1..8 {
            let elements: Vec<u8> = (0..19u8).map(|n| n.wrapping_mul(37) & ((1 << bits) - 1)).collect();
            let packed = pack(&elements, bits);
            assert_eq!(packed.len(), (19 * bits as usize).div_ceil(8));
            let unpacked: Vec<u8> = (0..19).map(|at| unpack(&packed, bits, at)).collect();
            assert_eq!(unpacked, elements);
        }
    }

    #[test]
    fn halves_of_a_byte_begin_with_the_low_one() {
        assert_eq!(pack(&[1, 2, 3], 4), [0x21, 0x03]);
        assert_eq!(unpack(&[0x21, 0x03], 4, 7), 0);
    }
}
