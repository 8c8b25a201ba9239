//! Numbers as they are written.

use super::words::SUFFIXES;
use crate::*;
use std::borrow::Cow;

/// One element.
pub(super) enum Scalar<'s> {
    Number(&'s str),
    Word(&'s str),
    NanBits(u64),
    String(Cow<'s, [u8]>),
}

/// Whether a literal is a float.
pub(super) fn is_float(text: &str) -> bool {
    let (digits, suffix) = split_suffix(text);
    match suffix {
        Some(elem) => elem.is_float(),
        None => !digits.starts_with("0x") && digits.contains(['.', 'e', 'E']),
    }
}

pub(super) fn split_suffix(text: &str) -> (&str, Option<ElemType>) {
    if text.starts_with("0x") || text.starts_with("-0x") {
        return (text, None);
    }
    let found = SUFFIXES.iter().find_map(|&(suffix, elem)| Some((text.strip_suffix(suffix)?, Some(elem))));
    found.unwrap_or((text, None))
}

/// The value of an integer literal without a suffix.
pub(super) fn int_value(text: &str) -> Option<i128> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) if !digits.starts_with(['-', '+']) => i128::from_str_radix(digits, 16).ok()?,
        Some(_) => return None,
        None => digits.parse().ok()?,
    };
    Some(if is_negative { -value } else { value })
}
