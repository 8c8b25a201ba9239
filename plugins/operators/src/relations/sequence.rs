//! Sequences and optionals.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `SequenceEmpty`.
pub fn empty(cx: &mut InferCx<'_>) -> Outcome {
    let elem = opt_elem(cx, "dtype")?.unwrap_or(ElemType::FLOAT);
    let item = cx.add_type(Type::Tensor { elem, shape: None });
    set_sequence(cx, 0, item);
    Ok(())
}

/// `SequenceConstruct`.
pub fn construct(cx: &mut InferCx<'_>) -> Outcome {
    let mut item = cx.input_id(0);
    for index in 1..cx.n_args() {
        let other = cx.input_id(index);
        item = join(cx, item, other);
    }
    set_sequence(cx, 0, item);
    Ok(())
}

/// `SequenceInsert`.
pub fn insert(cx: &mut InferCx<'_>) -> Outcome {
    let Some(item) = item_of(cx, 0)? else {
        return Ok(());
    };
    let new = cx.input_id(1);
    let item = join(cx, item, new);
    set_sequence(cx, 0, item);
    Ok(())
}

/// `SequenceErase`.
pub fn erase(cx: &mut InferCx<'_>) -> Outcome {
    if item_of(cx, 0)?.is_some() {
        let ty = cx.input_id(0);
        cx.set_output(0, ty);
    }
    Ok(())
}

/// `SequenceAt`.
pub fn at(cx: &mut InferCx<'_>) -> Outcome {
    if let Some(item) = item_of(cx, 0)? {
        cx.set_output(0, item);
    }
    Ok(())
}

/// `SequenceLength`.
pub fn length(cx: &mut InferCx<'_>) -> Outcome {
    item_of(cx, 0)?;
    cx.set_tensor(0, ElemType::INT64, &[]);
    Ok(())
}

/// `SplitToSequence`.
pub fn split_to_sequence(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let axis = int(cx, "axis")?;
    let keep = flag(cx, "keepdims")?;
    let dims = match cx.dims(0) {
        Some(mut dims) => {
            let axis = axis_of(axis, dims.len())?;
            match cx.arg(1) {
                None if keep => dims[axis] = Dim::Static(1),
                None => {
                    dims.remove(axis);
                }
                Some(_) => dims[axis] = part_size(cx, dims[axis]),
            }
            Some(dims)
        }
        None => None,
    };
    let dims: Option<Vec<DimRec>> = dims.map(|dims| dims.into_iter().map(DimRec::from).collect());
    let item = cx.add_type(Type::Tensor { elem, shape: dims.as_deref() });
    set_sequence(cx, 0, item);
    Ok(())
}

/// The size that all parts have.
fn part_size(cx: &InferCx<'_>, whole: Dim) -> Dim {
    let (Some(rank), Some(sizes)) = (cx.dims(1).map(|dims| dims.len()), known_ints(cx, 1)) else {
        return Dim::Unknown;
    };
    let Some((&first, rest)) = sizes.split_first() else {
        return Dim::Unknown;
    };
    let is_even = match (rank, whole) {
        (0, Dim::Static(whole)) => u64::try_from(first).is_ok_and(|size| size != 0 && whole % size == 0),
        (0, _) => false,
        _ => rest.iter().all(|&size| size == first),
    };
    if is_even { Int::Known(first).into() } else { Dim::Unknown }
}

/// `ConcatFromSequence`.
pub fn concat_from_sequence(cx: &mut InferCx<'_>) -> Outcome {
    let axis = int(cx, "axis")?;
    let is_stacked = flag(cx, "new_axis")?;
    let Some(item) = item_of(cx, 0)? else {
        return Ok(());
    };
    let (elem, dims) = match cx.ty(item) {
        Type::Tensor { elem, shape } => {
            (elem, shape.map(|dims| dims.iter().map(|&dim| Dim::from(dim)).collect::<Vec<_>>()))
        }
        _ => return Ok(()),
    };
    let dims = match dims {
        Some(mut dims) if is_stacked => {
            let axis = axis_of(axis, dims.len() + 1)?;
            dims.insert(axis, Dim::Unknown);
            Some(dims)
        }
        Some(mut dims) => {
            let axis = axis_of(axis, dims.len())?;
            dims[axis] = Dim::Unknown;
            Some(dims)
        }
        None => None,
    };
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

/// `Optional`.
pub fn optional(cx: &mut InferCx<'_>) -> Outcome {
    let item = match cx.arg(0) {
        Some(_) => cx.input_id(0),
        None => opt_type(cx, "type")?.unwrap_or(TypeId::UNKNOWN),
    };
    let ty = cx.add_type(Type::Optional(item));
    cx.set_output(0, ty);
    Ok(())
}

/// `OptionalHasElement`.
pub fn optional_has_element(cx: &mut InferCx<'_>) -> Outcome {
    cx.set_tensor(0, ElemType::BOOL, &[]);
    Ok(())
}

/// `OptionalGetElement`: from version 18 on, a value that is not an optional is its own element.
pub fn optional_get_element(cx: &mut InferCx<'_>) -> Outcome {
    let ty = match cx.input(0) {
        Type::Optional(item) => item,
        Type::Tensor { .. } | Type::Sequence(_) if cx.version() >= 18 => cx.input_id(0),
        Type::Unknown | Type::Other(_) => return Ok(()),
        _ => return invalid("input 0 must be an optional"),
    };
    cx.set_output(0, ty);
    Ok(())
}

/// `SequenceMap`: each result is the sequence of a result of the body.
pub fn map(cx: &mut InferCx<'_>) -> Outcome {
    let results = super::control::region_results(cx, "body")?;
    for (index, item) in results.into_iter().enumerate() {
        set_sequence(cx, index, item);
    }
    Ok(())
}

fn set_sequence(cx: &mut InferCx<'_>, index: usize, item: TypeId) {
    let ty = cx.add_type(Type::Sequence(item));
    cx.set_output(index, ty);
}

/// The type of the items of argument `index`.
fn item_of(cx: &InferCx<'_>, index: usize) -> Result<Option<TypeId>, OpError> {
    match cx.input(index) {
        Type::Sequence(item) => Ok(Some(item)),
        Type::Unknown | Type::Other(_) => Ok(None),
        _ => invalid(format_args!("input {index} must be a sequence")),
    }
}
