//! Indices that memory holds.

use super::{Done, declined, volume};
use relais_plugin_api::{
    ir::{ElemType, NodeId},
    op::Kernel,
    prim::PrimBuilder,
};

/// An index that memory holds, counted from the front.
pub fn index_at(b: &mut PrimBuilder<'_>, indices: NodeId, at: &[NodeId], size: u64) -> NodeId {
    let index = b.load(indices, at);
    let index = b.cast(index, ElemType::INT64);
    let (zero, size) = (b.index(0), b.index(size as i64));
    let from_end = b.add(index, size);
    let is_from_end = b.lt(index, zero);
    b.select(is_from_end, from_end, index)
}

/// Declines indices that are not integers.
pub fn integers(kernel: &Kernel<'_>, indices: NodeId) -> Done {
    if kernel.elem(indices).is_integer() { Ok(()) } else { declined("its indices are not integers") }
}

/// The sizes before an axis, of it, and behind it.
pub fn around(sizes: &[u64], axis: usize) -> [u64; 3] {
    [volume(&sizes[..axis]), sizes[axis], volume(&sizes[axis + 1..])]
}
