//! Hashes of the layouts of types, from which the fingerprint of the plugin boundary is made.

use crate::wire::mix;

/// Hashes a type's size, alignment and the name and offset of each field.
#[doc(hidden)]
#[macro_export]
macro_rules! __layout_hash {
    ($ty:ty { $($field:tt),* $(,)? }) => {{
        let hash = $crate::layout_hash::layout(stringify!($ty), size_of::<$ty>(), align_of::<$ty>());
        $(let hash = $crate::layout_hash::field(hash, stringify!($field), core::mem::offset_of!($ty, $field));)*
        hash
    }};
}

/// Hashes a name.
const fn text(mut hash: u64, text: &str) -> u64 {
    let mut bytes = text.as_bytes();
    while let [byte, rest @ ..] = bytes {
        hash = mix(hash, *byte as u64);
        bytes = rest;
    }
    hash
}

/// Hashes a type without its fields.
pub const fn layout(name: &str, size: usize, align: usize) -> u64 {
    mix(mix(text(0x005e_1a15, name), size as u64), align as u64)
}

/// Adds a field.
pub const fn field(hash: u64, name: &str, offset: usize) -> u64 {
    mix(text(hash, name), offset as u64)
}
