//! Arithmetic of shapes and element types, for type relations.
//!
//! A size, a rank or an element type that is not known is not a fault, and a result is as precise as the arguments allow.
//!
//! ```
//! use relais_plugin_api::{op::shapes::{broadcast, common_elem}, prelude::*, testing};
//!
//! operators! { &[Operator::new("acme", "Mix", 1).inputs(2, 2).infer(mix)] }
//!
//! fn mix(cx: &mut InferCx<'_>) -> Result<(), OpError> {
//!     let elem = common_elem(cx, [0, 1])?;
//!     match (cx.dims(0), cx.dims(1)) {
//!         (Some(a), Some(b)) => cx.set_tensor(0, elem, &broadcast(&a, &b)?),
//!         _ => cx.set_any_rank(0, elem),
//!     }
//!     Ok(())
//! }
//!
//! # fn main() {
//! let call = |y| format!("def @main(%x: Tensor[(2, 1), float32], %y: {y}) {{ acme::Mix(%x, %y) }}");
//! assert!(testing::infer(&call("Tensor[(3), float32]")).unwrap().contains("Tensor[(2, 3), float32]"));
//! assert!(testing::infer(&call("Tensor[(3), int64]")).is_err());
//! # }
//! ```

use super::InferCx;
use crate::error::OpError;
use relais_ir::*;
use std::fmt;

fn invalid<T>(message: impl fmt::Display) -> Result<T, OpError> {
    Err(OpError::invalid(message))
}

/// Fails if an argument is known not to be a dense tensor.
///
/// # Errors
/// Returns an error that names the argument.
pub fn expect_tensor(cx: &InferCx<'_>, index: usize) -> Result<(), OpError> {
    match cx.input(index) {
        Type::Unknown | Type::Tensor { .. } | Type::Other(_) => Ok(()),
        _ => invalid(format_args!("input {index} must be a tensor")),
    }
}

/// Returns the dimensions of an argument that must have `rank` of them; `None` if they are not known.
///
/// # Errors
/// Returns an error if it is known to have another number of dimensions.
pub fn dims_of_rank(cx: &InferCx<'_>, index: usize, rank: usize) -> Result<Option<Dims>, OpError> {
    let dims = cx.dims(index);
    match &dims {
        Some(found) if found.len() != rank => {
            invalid(format_args!("input {index} must have rank {rank}, not {}", found.len()))
        }
        _ => Ok(dims),
    }
}

/// Returns the dimensions of an argument that must have at least `rank` of them; `None` if they are not known.
///
/// # Errors
/// Returns an error if it is known to have fewer dimensions.
pub fn dims_from_rank(cx: &InferCx<'_>, index: usize, rank: usize) -> Result<Option<Dims>, OpError> {
    let dims = cx.dims(index);
    match &dims {
        Some(found) if found.len() < rank => {
            invalid(format_args!("input {index} must have at least rank {rank}, not {}", found.len()))
        }
        _ => Ok(dims),
    }
}

/// Returns the element type that arguments share: that of the first whose element type is known.
///
/// # Errors
/// Returns an error if two are known to differ, or one is known not to be a tensor.
pub fn common_elem(cx: &InferCx<'_>, indices: impl IntoIterator<Item = usize>) -> Result<ElemType, OpError> {
    let mut common = ElemType::UNKNOWN;
    for index in indices {
        expect_tensor(cx, index)?;
        let elem = cx.elem(index);
        if common == ElemType::UNKNOWN {
            common = elem;
        } else if elem != ElemType::UNKNOWN && elem != common {
            return invalid(format_args!("input {index} has elements of type `{elem}` where others have `{common}`"));
        }
    }
    Ok(common)
}

/// Returns an axis counted from the front; a negative one counts from the end.
///
/// # Errors
/// Returns an error if there is no such axis.
///
/// ```
/// use relais_plugin_api::op::shapes::axis_of;
///
/// assert_eq!(axis_of(-1, 4), Ok(3));
/// assert!(axis_of(4, 4).is_err());
/// ```
pub fn axis_of(axis: i64, rank: usize) -> Result<usize, OpError> {
    let from_front = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    match from_front.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank) {
        Some(axis) => Ok(axis),
        None => invalid(format_args!("axis {axis} is out of range for rank {rank}")),
    }
}

/// Returns for each of `rank` axes whether a list of axes names it.
///
/// # Errors
/// Returns an error if an axis is out of range.
///
/// ```
/// use relais_plugin_api::op::shapes::axis_mask;
///
/// assert_eq!(axis_mask(&[0, -1], 3), Ok(vec![true, false, true]));
/// assert!(axis_mask(&[3], 3).is_err());
/// ```
pub fn axis_mask(axes: &[i64], rank: usize) -> Result<Vec<bool>, OpError> {
    let mut mask = vec![false; rank];
    for &axis in axes {
        mask[axis_of(axis, rank)?] = true;
    }
    Ok(mask)
}

/// Returns the known facts about a size that two dimensions describe.
///
/// # Errors
/// Returns an error if both are known and differ.
///
/// ```
/// use relais_plugin_api::{ir::Dim, op::shapes::merge_dim};
///
/// assert_eq!(merge_dim(Dim::Unknown, Dim::Static(3)), Ok(Dim::Static(3)));
/// assert!(merge_dim(Dim::Static(2), Dim::Static(3)).is_err());
/// ```
pub fn merge_dim(a: Dim, b: Dim) -> Result<Dim, OpError> {
    match (a, b) {
        (Dim::Static(a), Dim::Static(b)) if a != b => {
            invalid(format_args!("sizes {a} and {b} differ where they must be the same"))
        }
        (Dim::Static(_), _) | (_, Dim::Unknown) => Ok(a),
        (_, Dim::Static(_)) | (Dim::Unknown, _) => Ok(b),
        _ => Ok(a),
    }
}

/// Returns the known facts about a size that is one of two.
///
/// ```
/// use relais_plugin_api::{ir::Dim, op::shapes::join_dim};
///
/// assert_eq!(join_dim(Dim::Static(2), Dim::Static(2)), Dim::Static(2));
/// assert_eq!(join_dim(Dim::Static(2), Dim::Static(3)), Dim::Unknown);
/// ```
pub fn join_dim(a: Dim, b: Dim) -> Dim {
    if a.is_same(b) { a } else { Dim::Unknown }
}

/// Returns the shape that two shapes broadcast to, in both directions, as in NumPy.
///
/// # Errors
/// Returns an error if they cannot be broadcast.
///
/// ```
/// use relais_plugin_api::{ir::Dim, op::shapes::broadcast};
///
/// let dims = |sizes: &[u64]| sizes.iter().map(|&size| Dim::Static(size)).collect::<Vec<_>>();
/// assert_eq!(broadcast(&dims(&[2, 1, 4]), &dims(&[3, 1])).unwrap().as_slice(), dims(&[2, 3, 4]));
/// assert!(broadcast(&dims(&[2]), &dims(&[3])).is_err());
/// // A size that is not known is the other one, or 1.
/// assert_eq!(broadcast(&[Dim::Unknown], &dims(&[3])).unwrap().as_slice(), dims(&[3]));
/// assert_eq!(broadcast(&[Dim::Unknown], &dims(&[1])).unwrap().as_slice(), [Dim::Unknown]);
/// ```
pub fn broadcast(a: &[Dim], b: &[Dim]) -> Result<Dims, OpError> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut dims = Dims::from_slice(long);
    for (dim, &other) in dims[long.len() - short.len()..].iter_mut().zip(short) {
        *dim = match (*dim, other) {
            (Dim::Static(1), other) => other,
            (dim, Dim::Static(1)) => dim,
            (Dim::Static(a), Dim::Static(b)) if a != b => {
                return invalid(format_args!("sizes {a} and {b} cannot be broadcast"));
            }
            (size @ Dim::Static(_), _) | (_, size @ Dim::Static(_)) => size,
            (a, b) => join_dim(a, b),
        };
    }
    Ok(dims)
}

/// Returns the product of sizes; unknown if it cannot be written as a dimension.
///
/// ```
/// use relais_plugin_api::{ir::Dim, op::shapes::product};
///
/// assert_eq!(product(&[Dim::Static(2), Dim::Static(3)]), Dim::Static(6));
/// assert_eq!(product(&[Dim::Static(2), Dim::Unknown]), Dim::Unknown);
/// assert_eq!(product(&[Dim::Static(0), Dim::Unknown]), Dim::Static(0));
/// assert_eq!(product(&[Dim::Static(1 << 40), Dim::Static(1 << 40)]), Dim::Unknown);
/// ```
pub fn product(dims: &[Dim]) -> Dim {
    if dims.contains(&Dim::Static(0)) {
        return Dim::Static(0);
    }
    let mut product = 1u64;
    let mut symbol = None;
    for &dim in dims {
        match dim {
            Dim::Static(size) => match product.checked_mul(size) {
                Some(next) => product = next,
                None => return Dim::Unknown,
            },
            _ if symbol.is_none() => symbol = Some(dim),
            _ => return Dim::Unknown,
        }
    }
    match (symbol, product) {
        (None, product) => Dim::Static(product),
        (Some(symbol), 1) => symbol,
        _ => Dim::Unknown,
    }
}

/// Returns the sum of sizes; unknown if it cannot be written as a dimension.
///
/// ```
/// use relais_plugin_api::{ir::Dim, op::shapes::sum};
///
/// assert_eq!(sum(&[Dim::Static(2), Dim::Static(3)]), Dim::Static(5));
/// assert_eq!(sum(&[Dim::Static(2), Dim::Unknown]), Dim::Unknown);
/// ```
pub fn sum(dims: &[Dim]) -> Dim {
    let mut sum = 0u64;
    let mut symbol = None;
    for &dim in dims {
        match dim {
            Dim::Static(size) => match sum.checked_add(size) {
                Some(next) => sum = next,
                None => return Dim::Unknown,
            },
            _ if symbol.is_none() => symbol = Some(dim),
            _ => return Dim::Unknown,
        }
    }
    match (symbol, sum) {
        (None, sum) => Dim::Static(sum),
        (Some(symbol), 0) => symbol,
        _ => Dim::Unknown,
    }
}

/// Returns a size, changed by a function if it is known; unknown if it is not or the function returns nothing.
///
/// ```
/// use relais_plugin_api::{ir::Dim, op::shapes::map_dim};
///
/// assert_eq!(map_dim(Dim::Static(4), |size| size.checked_sub(1)), Dim::Static(3));
/// assert_eq!(map_dim(Dim::Static(0), |size| size.checked_sub(1)), Dim::Unknown);
/// assert_eq!(map_dim(Dim::Unknown, |size| size.checked_sub(1)), Dim::Unknown);
/// ```
pub fn map_dim(dim: Dim, f: impl FnOnce(u64) -> Option<u64>) -> Dim {
    dim.known().and_then(f).map_or(Dim::Unknown, Dim::Static)
}
