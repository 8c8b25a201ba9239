//! Numbers of rules and constants of models.

use relais_ir::*;
use relais_patterns::Number;

/// The most bytes of a constant that are compared with each other or with a number.
const MAX_BYTES: u64 = 1 << 20;

/// The bytes that a tensor takes in a file; a splat takes next to none.
pub(super) fn stored_bytes(tensor: &Tensor) -> u64 {
    tensor.as_splat().map_or(tensor.byte_len(), |element| element.len() as u64)
}

/// A tensor of numbers, rounded to the element type; `None` if an element type cannot hold one of them.
pub(super) fn tensor(elem: ElemType, dims: &[u64], numbers: &[Number]) -> Option<Tensor> {
    if elem.is_float() {
        let values: Vec<f64> = numbers.iter().map(|number| number.to_f64()).collect();
        let tensor = Tensor::from_f64s(elem, dims, &values)?;
        let is_finite = tensor.to_f64s()?.into_iter().all(f64::is_finite);
        return is_finite.then_some(tensor);
    }
    if elem == ElemType::BOOL {
        let byte = |number: &Number| match number {
            Number::Int(value @ 0..=1) => Some(*value as u8),
            _ => None,
        };
        return Tensor::dense(elem, dims, numbers.iter().map(byte).collect::<Option<Vec<u8>>>()?).ok();
    }
    let bits = elem.bits();
    if !elem.is_integer() || !(8..=64).contains(&bits) {
        return None;
    }
    let is_unsigned = matches!(elem, ElemType::UINT8 | ElemType::UINT16 | ElemType::UINT32 | ElemType::UINT64);
    let (least, most) = match is_unsigned {
        true => (0, (1_i128 << bits) - 1),
        false => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
    };
    let mut bytes = Vec::with_capacity(numbers.len() * bits as usize / 8);
    for number in numbers {
        let &Number::Int(value) = number else { return None };
        if !(least..=most).contains(&i128::from(value)) {
            return None;
        }
        bytes.extend(&value.to_le_bytes()[..bits as usize / 8]);
    }
    Tensor::dense(elem, dims, bytes).ok()
}

/// The number of a loop program that is the one element of a tensor.
pub(super) fn imm(tensor: &Tensor) -> Option<Imm> {
    let mut bits = [0; 8];
    let bytes = tensor.to_bytes();
    bits.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    Imm::new(tensor.elem(), u64::from_le_bytes(bits))
}

/// Whether two constants are equal in all bits.
pub(super) fn is_equal(a: &Tensor, b: &Tensor) -> bool {
    if a.is_same(b) {
        return true;
    }
    if a.elem() != b.elem() || a.dims() != b.dims() || a.opaque_form().is_some() || b.opaque_form().is_some() {
        return false;
    }
    match (a.as_splat(), b.as_splat()) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.as_dense().is_some() && a.to_bytes() == b.to_bytes(),
        _ => a.byte_len() <= MAX_BYTES && a.to_bytes() == b.to_bytes(),
    }
}

/// Whether all elements of a constant are equal.
pub(super) fn is_splat(tensor: &Tensor) -> bool {
    if tensor.as_splat().is_some() {
        return true;
    }
    let width = tensor.elem().bits() as usize / 8;
    if width == 0 || tensor.is_empty() || tensor.opaque_form().is_some() || tensor.byte_len() > MAX_BYTES {
        return false;
    }
    let bytes = tensor.to_bytes();
    bytes.chunks_exact(width).all(|element| element == &bytes[..width])
}

/// Whether a constant has one element, which is a number.
pub(super) fn is_number(constant: &Tensor, number: Number, tolerance: Option<f64>) -> bool {
    if constant.len() != 1 || constant.opaque_form().is_some() {
        return false;
    }
    let Some(wanted) = tensor(constant.elem(), constant.dims(), &[number]) else { return false };
    match (tolerance, constant.to_f64(), wanted.to_f64()) {
        (Some(tolerance), Some(is), Some(wanted)) => (is - wanted).abs() <= tolerance * wanted.abs(),
        _ => constant.to_bytes() == wanted.to_bytes(),
    }
}

/// Whether a constant is a vector of numbers.
pub(super) fn is_vector(constant: &Tensor, numbers: &[Number]) -> bool {
    constant.dims() == [numbers.len() as u64]
        && constant.opaque_form().is_none()
        && tensor(constant.elem(), constant.dims(), numbers)
            .is_some_and(|wanted| wanted.to_bytes() == constant.to_bytes())
}

/// The elements of a constant as numbers.
///
/// # Errors
/// Returns why they cannot be compared.
pub(super) fn elements(constant: &Tensor) -> Result<Vec<Number>, &'static str> {
    if constant.opaque_form().is_some() {
        return Err("its elements are stored in an unknown form");
    }
    if let Some(value) = constant.to_i64() {
        return Ok(vec![Number::Int(value)]);
    }
    if let Some(value) = constant.to_f64() {
        return Ok(vec![Number::Float(value)]);
    }
    if constant.byte_len() > MAX_BYTES {
        return Err("it has too many elements");
    }
    if let Some(values) = constant.to_i64s() {
        return Ok(values.into_iter().map(Number::Int).collect());
    }
    match constant.to_f64s() {
        Some(values) => Ok(values.into_iter().map(Number::Float).collect()),
        None => Err("its element type cannot be compared"),
    }
}
