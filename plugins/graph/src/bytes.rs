//! How many bytes constants take.

use relais_plugin_api::{ir::element_count, prelude::*};

/// The expanded bytes of a call's only result, if its type determines them.
pub(crate) fn size_of(f: &Function, call: NodeId) -> Option<u64> {
    let ty = f.type_of(call);
    ty.elem()?.bytes_for(element_count(&ty.static_shape()?)?)
}

/// The bytes that a tensor takes in a file; a splat takes next to none.
pub(crate) fn stored_bytes(tensor: &Tensor) -> u64 {
    match tensor.as_splat() {
        Some(element) => element.len() as u64,
        None => tensor.byte_len(),
    }
}
