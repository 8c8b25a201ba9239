//! Tensors as lines along one axis, of which all elements are looked at.

use crate::shared::{
    cx::{Eval, readable},
    elementwise::any,
    scalar::Number,
    shape::sizes,
};
use relais_plugin_api::{
    ir::Tensor,
    op::{EvalCx, OpError},
};

/// Which elements come first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Ascending,
    Descending,
}

/// A tensor as lines along one axis.
pub struct Lines {
    /// Elements of a line.
    pub len: usize,
    /// Elements from one to the next.
    pub stride: usize,
    n_outer: usize,
}

impl Lines {
    pub fn new(data: &Tensor, at: usize) -> Eval<Self> {
        if data.is_empty() {
            return Ok(Self { len: 0, stride: 1, n_outer: 0 });
        }
        let dims = sizes(data.dims())?;
        let product = |dims: &[usize]| {
            let product = dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
            product.ok_or_else(|| OpError::unsupported("a shape does not fit memory"))
        };
        Ok(Self { len: dims[at], stride: product(&dims[at + 1..])?, n_outer: product(&dims[..at])? })
    }

    /// Returns where each line starts, those of the outer axes first; nothing if there are no elements.
    pub fn starts(&self) -> impl Iterator<Item = usize> {
        let (outer, stride) = (self.len * self.stride, self.stride);
        (0..self.n_outer).flat_map(move |at| at * outer..at * outer + stride)
    }
}

/// The data's elements, when comparing them makes sense.
pub fn comparable<'a, T: Number>(cx: &EvalCx<'_>, data: &'a Tensor) -> Eval<std::borrow::Cow<'a, [u8]>> {
    readable(cx, data)?;
    if any(data, |x: T| x.is_nan()) {
        return Err(OpError::unsupported("a NaN is compared, which runtimes do differently"));
    }
    Ok(data.to_bytes())
}
