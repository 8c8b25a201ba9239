//! Operators that work element by element.

use super::{util::*, values};
use relais_plugin_api::{ir::*, op::*};

/// The result has the type of the first argument, a tensor.
pub fn same(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let ty = cx.input_id(0);
    cx.set_output(0, ty);
    Ok(())
}

/// The result has the shape of the first argument and elements of type `bool`.
pub fn predicate(cx: &mut InferCx<'_>) -> Outcome {
    with_elem(cx, ElemType::BOOL)
}

/// The result has the shape of the first argument; attribute `dtype`, if any, sets its element type.
pub fn like(cx: &mut InferCx<'_>) -> Outcome {
    let elem = opt_elem(cx, "dtype")?.unwrap_or(cx.elem(0));
    with_elem(cx, elem)
}

/// Two tensors of one element type, broadcast.
pub fn binary(cx: &mut InferCx<'_>) -> Outcome {
    let elem = common_elem(cx, 0..2)?;
    broadcast_args(cx, elem)?;
    values::binary(cx);
    Ok(())
}

/// Two tensors of one element type, broadcast and compared.
pub fn compare(cx: &mut InferCx<'_>) -> Outcome {
    common_elem(cx, 0..2)?;
    broadcast_args(cx, ElemType::BOOL)
}

/// `Pow` and `BitShift`: the result has the element type of the first argument.
pub fn binary_of_first(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    expect_tensor(cx, 1)?;
    let elem = cx.elem(0);
    broadcast_args(cx, elem)
}

/// The result has the shape of the first argument and elements of a type.
pub fn with_elem(cx: &mut InferCx<'_>, elem: ElemType) -> Outcome {
    expect_tensor(cx, 0)?;
    let dims = cx.dims(0);
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

/// The shape that all arguments broadcast to, when all ranks are known.
pub fn broadcast_all(cx: &InferCx<'_>, indices: impl IntoIterator<Item = usize>) -> Result<Option<Dims>, OpError> {
    let mut dims = Some(Dims::new());
    for index in indices {
        dims = match (dims, cx.dims(index)) {
            (Some(dims), Some(other)) => Some(broadcast(&dims, &other)?),
            _ => None,
        };
    }
    Ok(dims)
}

fn broadcast_args(cx: &mut InferCx<'_>, elem: ElemType) -> Outcome {
    // Before version 7, only the second argument is broadcast.
    let dims = if cx.version() < 7 { cx.dims(0) } else { broadcast_all(cx, 0..2)? };
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}
