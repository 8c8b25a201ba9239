//! Strings, numbers and tensors, printed.

use super::{
    lex::{is_bare_name, is_bare_word},
    options::{Large, PrintOptions},
};
use crate::{
    ElemType, Tensor,
    half::{BFloat16, Float16},
    packed,
};
use std::fmt::Write;

/// Beyond this rank a tensor is printed as a shape and a flat list.
const MOST_NESTED: usize = 8;

/// The number of bits of a float type and its quiet NaN, for the types whose values print as decimals.
pub(super) const fn nan_bits(elem: ElemType) -> Option<u64> {
    match elem {
        ElemType::FLOAT => Some(0x7fc0_0000),
        ElemType::DOUBLE => Some(0x7ff8_0000_0000_0000),
        ElemType::FLOAT16 => Some(0x7e00),
        ElemType::BFLOAT16 => Some(0x7fc0),
        _ => None,
    }
}

pub(super) fn quoted(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '\0'..='\x1f' | '\x7f' => push(out, format_args!("\\x{:02x}", u32::from(c))),
                _ => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            push(out, format_args!("\\x{byte:02x}"));
        }
    }
    out.push('"');
}

/// A name after its sigil.
pub(super) fn name(out: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(name) if is_bare_name(bytes) => out.push_str(name),
        _ => quoted(out, bytes),
    }
}

/// A word without a sigil: an operator, an attribute name, a symbol. `reserved` are the words that mean something else
/// at its place.
pub(super) fn word(out: &mut String, bytes: &[u8], reserved: &[&str]) {
    match std::str::from_utf8(bytes) {
        Ok(word) if is_bare_word(bytes) && !reserved.contains(&word) => out.push_str(word),
        _ => quoted(out, bytes),
    }
}

pub(super) fn push(out: &mut String, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).expect("a string takes everything");
}

/// A number as formatted by `Display`: names of values are most of a text.
pub(super) fn number(out: &mut String, mut number: u32) {
    let mut digits = [0; 10];
    let mut from = digits.len();
    loop {
        from -= 1;
        digits[from] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend(digits[from..].iter().map(|&digit| char::from(digit)));
}

pub(super) fn hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push_str("hex\"");
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    out.push('"');
}

pub(super) fn shape(out: &mut String, dims: &[u64]) {
    out.push('(');
    for (i, dim) in dims.iter().enumerate() {
        push(out, format_args!("{}{dim}", if i == 0 { "" } else { ", " }));
    }
    out.push(')');
}

pub(super) fn float(out: &mut String, value: f32) {
    float_bits(out, ElemType::FLOAT, u64::from(value.to_bits()), f64::from(value));
}

/// A float whose value is `value`: as a decimal that parses to the same bits.
fn float_bits(out: &mut String, elem: ElemType, bits: u64, value: f64) {
    if value.is_nan() {
        match nan_bits(elem) {
            Some(quiet) if quiet == bits => out.push_str("nan"),
            _ => push(out, format_args!("nan({bits:#x})")),
        }
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    } else if elem == ElemType::DOUBLE {
        push(out, format_args!("{value:?}"));
    } else {
        push(out, format_args!("{:?}", value as f32));
    }
}

pub(super) fn tensor(out: &mut String, tensor: &Tensor, options: &PrintOptions, side_file: &mut Vec<(String, Tensor)>) {
    let elem = tensor.elem();
    if let Some(element) = tensor.as_splat() {
        push(out, format_args!("splat({elem}, "));
        shape(out, tensor.dims());
        out.push_str(", ");
        match is_plain(elem, element, 1) {
            true => elements(out, elem, element, 1, |_, _| {}),
            false => hex(out, element),
        }
        out.push(')');
        return;
    }
    if let Some(form) = tensor.opaque_form() {
        push(out, format_args!("opaque({form}, {elem}, "));
        shape(out, tensor.dims());
        out.push_str(", ");
        hex(out, &tensor.to_bytes());
        out.push(')');
        return;
    }
    let data: &[u8] = tensor.as_dense().map_or(&[], |data| data);
    let count = tensor.len();
    let is_large = count > options.inline_elements;
    let is_plain = is_plain(elem, data, count);
    push(out, format_args!("const({elem}, "));
    if is_large || !is_plain {
        shape(out, tensor.dims());
        out.push_str(", ");
        match options.large {
            Large::SideFile if is_large => {
                let key = format!("t{}", side_file.len());
                push(out, format_args!("@\"{key}\""));
                side_file.push((key, tensor.clone()));
            }
            Large::Elide if is_large => out.push('…'),
            _ => hex(out, data),
        }
    } else {
        nested(out, tensor, data, count);
    }
    out.push(')');
}

fn nested(out: &mut String, tensor: &Tensor, data: &[u8], count: u64) {
    let dims = tensor.dims();
    let is_flat = dims.len() > MOST_NESTED || (count == 0 && dims.len() > 1);
    if is_flat {
        shape(out, dims);
        out.push_str(", ");
    }
    if count == 0 {
        return out.push_str("[]");
    }
    // The number of elements in one item of each axis: where it divides the index, the item's list begins.
    let mut sizes = Vec::with_capacity(dims.len());
    for dim in dims.iter().rev() {
        sizes.push(sizes.last().unwrap_or(&1) * dim);
    }
    if is_flat {
        sizes = vec![count];
    }
    elements(out, tensor.elem(), data, count, |out, at| {
        let n_lists = |at: u64| sizes.iter().filter(|&&size| at.is_multiple_of(size)).count();
        if at > 0 {
            (0..n_lists(at)).for_each(|_| out.push(']'));
        }
        if at > 0 && at < count {
            out.push_str(", ");
        }
        if at < count {
            (0..n_lists(at)).for_each(|_| out.push('['));
        }
    });
}

/// Whether the elements can be written as a list without losing bits: unused bits are zero, and booleans 0 or 1.
fn is_plain(elem: ElemType, data: &[u8], count: u64) -> bool {
    match elem.bits() {
        _ if elem == ElemType::BOOL => data.iter().all(|&byte| byte <= 1),
        bits @ 1..8 => {
            let used = count.wrapping_mul(bits.into()) % 8;
            used == 0 || data.last().is_none_or(|&last| last >> used == 0)
        }
        _ => true,
    }
}

/// Calls `between` before each element and after the last.
fn elements(out: &mut String, elem: ElemType, data: &[u8], count: u64, mut between: impl FnMut(&mut String, u64)) {
    if elem == ElemType::STRING {
        let mut rest = data;
        for at in 0..count {
            between(out, at);
            let Some((len, tail)) = rest.split_first_chunk::<4>() else { break };
            let (string, tail) = tail.split_at(tail.len().min(u32::from_le_bytes(*len) as usize));
            quoted(out, string);
            rest = tail;
        }
        return between(out, count);
    }
    let bits = u64::from(elem.bits());
    for at in 0..count {
        between(out, at);
        if bits < 8 {
            element(out, elem, &[packed::unpack(data, bits as u32, at as usize)]);
        } else {
            let width = (bits / 8) as usize;
            element(out, elem, &data[at as usize * width..][..width]);
        }
    }
    between(out, count);
}

/// One element, of its own bytes.
pub(super) fn element(out: &mut String, elem: ElemType, bytes: &[u8]) {
    let mut wide = [0; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let raw = u128::from_le_bytes(wide) as u64;
    match elem {
        ElemType::BOOL => out.push_str(if raw == 0 { "false" } else { "true" }),
        ElemType::FLOAT => float(out, f32::from_bits(raw as u32)),
        ElemType::DOUBLE => float_bits(out, elem, raw, f64::from_bits(raw)),
        ElemType::FLOAT16 => float_bits(out, elem, raw, Float16::to_f64(raw as u16)),
        ElemType::BFLOAT16 => float_bits(out, elem, raw, BFloat16::to_f64(raw as u16)),
        ElemType::COMPLEX64 | ElemType::COMPLEX128 => {
            let (re, im) = bytes.split_at(bytes.len() / 2);
            let part = if elem == ElemType::COMPLEX64 { ElemType::FLOAT } else { ElemType::DOUBLE };
            out.push('(');
            element_part(out, part, re);
            out.push_str(", ");
            element_part(out, part, im);
            out.push(')');
        }
        _ if elem.is_float() => push(out, format_args!("{raw:#x}")),
        ElemType::INT8 => push(out, format_args!("{}", raw as i8)),
        ElemType::INT16 => push(out, format_args!("{}", raw as i16)),
        ElemType::INT32 => push(out, format_args!("{}", raw as i32)),
        ElemType::INT64 => push(out, format_args!("{}", raw as i64)),
        ElemType::INT4 => push(out, format_args!("{}", (raw as i8) << 4 >> 4)),
        ElemType::INT2 => push(out, format_args!("{}", (raw as i8) << 6 >> 6)),
        _ => push(out, format_args!("{raw}")),
    }
}

fn element_part(out: &mut String, part: ElemType, bytes: &[u8]) {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let raw = u64::from_le_bytes(wide);
    match part {
        ElemType::FLOAT => float(out, f32::from_bits(raw as u32)),
        _ => float_bits(out, part, raw, f64::from_bits(raw)),
    }
}
