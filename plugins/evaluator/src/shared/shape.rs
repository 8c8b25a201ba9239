//! Shapes: sizes that are checked before anything is allocated, axes, broadcasting, and walks along strides.

use crate::shared::cx::{Eval, tensor_error};
use relais_plugin_api::{
    ir::{ElemType, Tensor, element_count},
    op::{EvalCx, OpError, shapes::axis_of},
};

/// The number of elements of a result that is to be written out, when it is within the limit.
pub fn checked_len(cx: &EvalCx<'_>, elem: ElemType, dims: &[u64]) -> Eval<usize> {
    let too_large = || OpError::unsupported(format_args!("a result of shape {dims:?} is too large"));
    let len = element_count(dims).ok_or_else(too_large)?;
    // A string takes at least its length.
    let bytes = if elem == ElemType::STRING { len.checked_mul(4) } else { elem.bytes_for(len) };
    if bytes.ok_or_else(too_large)? > cx.max_bytes() {
        return Err(too_large());
    }
    usize::try_from(len).map_err(|_| too_large())
}

/// A vector with room for `len` items, or an error when memory does not suffice.
pub fn with_room<T>(len: usize) -> Eval<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len).map_err(|_| OpError::unsupported("a result does not fit memory"))?;
    Ok(vec)
}

/// A tensor whose elements are all equal: a splat, unless it has at most one element.
pub fn uniform(elem: ElemType, dims: &[u64], element: &[u8]) -> Eval<Tensor> {
    match element_count(dims) {
        Some(0) => Tensor::dense(elem, dims, Vec::new()),
        Some(1) => Tensor::dense(elem, dims, element.to_vec()),
        _ => Tensor::splat(elem, dims, element),
    }
    .map_err(tensor_error)
}

/// Sizes as the machine counts.
pub fn sizes(dims: &[u64]) -> Eval<Vec<usize>> {
    let convert = |&dim| usize::try_from(dim).map_err(|_| OpError::unsupported("a dimension does not fit memory"));
    dims.iter().map(convert).collect()
}

/// Axes of a tensor of that rank, each once.
pub fn axes(list: &[i64], rank: usize) -> Eval<Vec<usize>> {
    let mut seen = vec![false; rank];
    let mut axes = Vec::with_capacity(list.len().min(rank));
    for &item in list {
        let at = axis_of(item, rank)?;
        if std::mem::replace(&mut seen[at], true) {
            return Err(OpError::invalid(format_args!("axis {item} is given twice")));
        }
        axes.push(at);
    }
    Ok(axes)
}

/// The shape that shapes broadcast to, each to all others.
pub fn broadcast(shapes: &[&[u64]]) -> Eval<Vec<u64>> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut dims = vec![1; rank];
    for shape in shapes {
        let skip = rank - shape.len();
        for (dim, &other) in dims[skip..].iter_mut().zip(*shape) {
            if *dim == 1 {
                *dim = other;
            } else if other != 1 && other != *dim {
                return Err(OpError::invalid(format_args!("shapes {shapes:?} do not broadcast")));
            }
        }
    }
    Ok(dims)
}

/// Elements between neighbours along each axis of a packed tensor.
pub fn strides(dims: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; dims.len()];
    let mut stride = 1isize;
    for (at, &dim) in dims.iter().enumerate().rev() {
        strides[at] = stride;
        stride = stride.wrapping_mul(dim as isize);
    }
    strides
}

/// Strides by which a tensor of shape `from` is read as one of shape `to`: zero where it repeats.
pub fn broadcast_strides(from: &[u64], to: &[u64]) -> Eval<Vec<isize>> {
    let from = sizes(from)?;
    let mut all = vec![0; to.len() - from.len()];
    all.extend(strides(&from).iter().zip(&from).map(|(&stride, &dim)| if dim == 1 { 0 } else { stride }));
    Ok(all)
}

/// A walk over all positions of a shape in order, with the offsets of `K` tensors.
pub struct Walk<const K: usize> {
    dims: Vec<usize>,
    strides: [Vec<isize>; K],
    position: Vec<usize>,
    offsets: [isize; K],
    rest: usize,
}

impl<const K: usize> Walk<K> {
    /// A walk over `dims`, with strides of each tensor.
    pub fn new(dims: &[usize], strides: [&[isize]; K]) -> Self {
        let rest = if dims.contains(&0) { 0 } else { dims.iter().product() };
        Self {
            dims: dims.to_vec(),
            strides: strides.map(<[isize]>::to_vec),
            position: vec![0; dims.len()],
            offsets: [0; K],
            rest,
        }
    }

    /// The position of the item that comes next.
    pub fn position(&self) -> &[usize] {
        &self.position
    }
}

impl<const K: usize> Iterator for Walk<K> {
    type Item = [isize; K];

    fn next(&mut self) -> Option<[isize; K]> {
        self.rest = self.rest.checked_sub(1)?;
        let item = self.offsets;
        for at in (0..self.dims.len()).rev() {
            self.position[at] += 1;
            if self.position[at] < self.dims[at] {
                for (offset, strides) in self.offsets.iter_mut().zip(&self.strides) {
                    *offset += strides[at];
                }
                break;
            }
            self.position[at] = 0;
            for (offset, strides) in self.offsets.iter_mut().zip(&self.strides) {
                *offset -= strides[at] * (self.dims[at] as isize - 1);
            }
        }
        Some(item)
    }
}

/// A walk by rows: the outer positions, and the length and strides of a row. Axes that are contiguous for all tensors
/// are merged, so that rows are as long as they can be.
pub struct Rows<const K: usize> {
    /// The outer positions.
    pub walk: Walk<K>,
    /// Elements of a row.
    pub len: usize,
    /// Strides within a row.
    pub strides: [isize; K],
}

impl<const K: usize> Rows<K> {
    /// Rows over `dims`, all of which are nonzero, with strides of each tensor.
    pub fn new(dims: &[usize], strides: [&[isize]; K]) -> Self {
        // Built from the innermost axis outwards.
        let mut merged: Vec<(usize, [isize; K])> = Vec::with_capacity(dims.len());
        for at in (0..dims.len()).rev() {
            let outer = strides.map(|strides| strides[at]);
            match merged.last_mut() {
                _ if dims[at] == 1 => {}
                Some((len, inner)) if (0..K).all(|k| outer[k] == inner[k] * *len as isize) => *len *= dims[at],
                _ => merged.push((dims[at], outer)),
            }
        }
        let (len, row) = if merged.is_empty() { (1, [1; K]) } else { merged.remove(0) };
        merged.reverse();
        let dims: Vec<usize> = merged.iter().map(|(len, _)| *len).collect();
        let strides: [Vec<isize>; K] = std::array::from_fn(|k| merged.iter().map(|(_, strides)| strides[k]).collect());
        Self { walk: Walk::new(&dims, std::array::from_fn(|k| &strides[k][..])), len, strides: row }
    }
}
