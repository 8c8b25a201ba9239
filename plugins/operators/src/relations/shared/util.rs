//! Known integers, and what all relations read.

pub use crate::calls::*;
pub use relais_plugin_api::op::shapes::*;
use relais_plugin_api::{ir::*, op::*};
pub use smallvec::{SmallVec, smallvec};
use std::fmt;

/// The result of a type relation.
pub type Outcome = Result<(), OpError>;

/// The most dimensions and known integers that a relation writes out because of a number somewhere in the file.
pub const MAX_LEN: usize = 1024;

/// An integer that a tensor holds, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Int {
    /// This one.
    Known(i64),
    /// The size that the symbol represents.
    Symbol(StrId),
    /// Any.
    Unknown,
}

impl From<Dim> for Int {
    fn from(dim: Dim) -> Self {
        match dim {
            Dim::Static(size) => i64::try_from(size).map_or(Self::Unknown, Self::Known),
            Dim::Symbol(name) => Self::Symbol(name),
            Dim::Unknown => Self::Unknown,
        }
    }
}

impl From<Int> for Dim {
    /// The size that an integer represents; a negative one represents no size.
    fn from(int: Int) -> Self {
        match int {
            Int::Known(size) => u64::try_from(size).map_or(Self::Unknown, Self::Static),
            Int::Symbol(name) => Self::Symbol(name),
            Int::Unknown => Self::Unknown,
        }
    }
}

/// The integers that a vector holds.
pub type Ints = SmallVec<[Int; 6]>;

/// The call is invalid.
pub fn invalid<T>(message: impl fmt::Display) -> Result<T, OpError> {
    Err(OpError::invalid(message))
}

/// The integers that argument `index` holds, where something is known of them.
pub fn ints_of(cx: &InferCx<'_>, index: usize) -> Option<Ints> {
    if let Some(tensor) = cx.constant(index) {
        let values = (tensor.len() <= MAX_LEN as u64).then(|| tensor.to_i64s())??;
        return Some(values.into_iter().map(Int::Known).collect());
    }
    Some(cx.computed_value(index)?.into_iter().map(Int::from).collect())
}

/// The integers that argument `index` holds, when all are known.
pub fn known_ints(cx: &InferCx<'_>, index: usize) -> Option<IntList> {
    let known = |int| if let Int::Known(value) = int { Some(value) } else { None };
    ints_of(cx, index)?.into_iter().map(known).collect()
}

/// The one integer that argument `index` holds.
pub fn scalar_of(cx: &InferCx<'_>, index: usize) -> Option<Int> {
    match ints_of(cx, index)?[..] {
        [int] => Some(int),
        _ => None,
    }
}

/// The floats that argument `index`, a constant, holds.
pub fn known_floats(cx: &InferCx<'_>, index: usize) -> Option<Vec<f32>> {
    let tensor = cx.constant(index)?;
    (tensor.len() <= MAX_LEN as u64).then(|| tensor.to_f32s())?
}

/// The number of elements of argument `index`, a vector, when it is one that may be written out.
pub fn vector_len(cx: &InferCx<'_>, index: usize) -> Option<usize> {
    match cx.dims(index)?[..] {
        [Dim::Static(len)] => usize::try_from(len).ok().filter(|&len| len <= MAX_LEN),
        _ => None,
    }
}

/// Sets the integers that result `index` holds, if any are known.
pub fn set_ints(cx: &mut InferCx<'_>, index: usize, ints: &[Int]) {
    let values: Dims = ints.iter().map(|&int| int.into()).collect();
    if values.len() <= MAX_LEN && values.iter().any(|&value| value != Dim::Unknown) {
        cx.set_value(index, &values);
    }
}

/// Sets result `index` to a dense tensor, of unknown rank when there are no dimensions.
pub fn set(cx: &mut InferCx<'_>, index: usize, elem: ElemType, dims: Option<&[Dim]>) {
    match dims {
        Some(dims) => cx.set_tensor(index, elem, dims),
        None => cx.set_any_rank(index, elem),
    }
}

/// Sets the result to the first argument with other sizes of the axes that attribute `axes` names, or of all: what `size`
/// makes of the size of an axis and its value, or unknown ones without `values`, which are called `what`.
pub fn set_axes<T: Copy>(
    cx: &mut InferCx<'_>,
    what: &str,
    values: Option<&[T]>,
    size: impl Fn(Dim, T) -> Dim,
) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let Some(mut dims) = cx.dims(0) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let axes = match opt_ints(cx, "axes")? {
        Some(axes) => axes.iter().map(|&axis| axis_of(axis, dims.len())).collect::<Result<Vec<_>, _>>()?,
        None => (0..dims.len()).collect(),
    };
    if let Some(values) = values.filter(|values| values.len() != axes.len()) {
        return invalid(format_args!("{} {what} do not fit {} axes", values.len(), axes.len()));
    }
    for (at, &axis) in axes.iter().enumerate() {
        dims[axis] = values.map_or(Dim::Unknown, |values| size(dims[axis], values[at]));
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// Returns the known facts about a value whose type is one of two.
pub fn join(cx: &mut InferCx<'_>, mut a: TypeId, mut b: TypeId) -> TypeId {
    // The sequences and optionals around the difference, outermost first.
    let mut wrappers: Vec<fn(TypeId) -> Type<'static>> = Vec::new();
    let mut joined = loop {
        if a == b {
            break a;
        }
        match (cx.ty(a), cx.ty(b)) {
            (Type::Sequence(x), Type::Sequence(y)) => {
                wrappers.push(Type::Sequence);
                (a, b) = (x, y);
            }
            (Type::Optional(x), Type::Optional(y)) => {
                wrappers.push(Type::Optional);
                (a, b) = (x, y);
            }
            (Type::Tensor { elem: x, shape: x_dims }, Type::Tensor { elem: y, shape: y_dims }) => {
                let elem = if x == y { x } else { ElemType::UNKNOWN };
                let shape: Option<Vec<DimRec>> = match (x_dims, y_dims) {
                    (Some(x), Some(y)) if x.len() == y.len() => {
                        Some(x.iter().zip(y).map(|(&x, &y)| join_dim(x.into(), y.into()).into()).collect())
                    }
                    _ => None,
                };
                break cx.add_type(Type::Tensor { elem, shape: shape.as_deref() });
            }
            _ => break TypeId::UNKNOWN,
        }
    };
    for wrap in wrappers.into_iter().rev() {
        joined = cx.add_type(wrap(joined));
    }
    joined
}
