//! Operators that change or return the shape of one tensor.

use super::shared::{util::*, values};
use relais_operator_math::reshape::shape_range;
use relais_plugin_api::{ir::*, op::*};

/// `Identity`: the value itself, of any type.
pub fn identity(cx: &mut InferCx<'_>) -> Outcome {
    let ty = cx.input_id(0);
    cx.set_output(0, ty);
    values::forward(cx, 0);
    Ok(())
}

/// `Reshape`. A symbol in its shape is assumed not to be zero, which would mean a copied dimension.
pub fn reshape(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let target = match opt_ints(cx, "shape")? {
        Some(shape) if cx.version() < 5 => Some(shape.into_iter().map(Int::Known).collect()),
        _ => ints_of(cx, 1),
    };
    let Some(target) = target.or_else(|| Some(smallvec![Int::Unknown; vector_len(cx, 1)?])) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let zero = if flag(cx, "allowzero")? { Zero::IsZero } else { Zero::IsCopied };
    let dims = reshape_dims(cx.dims(0).as_deref(), &target, zero)?;
    cx.set_tensor(0, elem, &dims);
    if dims.len() <= 1 {
        values::forward(cx, 0);
    }
    Ok(())
}

/// The meaning of a zero in a `Reshape`'s shape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zero {
    IsZero,
    IsCopied,
}

fn reshape_dims(input: Option<&[Dim]>, target: &[Int], zero: Zero) -> Result<Dims, OpError> {
    // The sizes whose products must be equal: copied ones are on both sides and are omitted.
    let mut before: Dims = input.unwrap_or_default().into();
    let mut after = Dims::new();
    let mut dims = Dims::with_capacity(target.len());
    let mut minus_one = None;
    let mut unknowns = Vec::new();
    for (at, &int) in target.iter().enumerate() {
        let dim = match int {
            Int::Known(0) if zero == Zero::IsCopied => match input.map(|dims| dims.get(at)) {
                Some(Some(&dim)) => {
                    before[at] = Dim::Static(1);
                    dims.push(dim);
                    continue;
                }
                Some(None) => return invalid(format_args!("the shape copies dimension {at}, which the input lacks")),
                None => Dim::Unknown,
            },
            Int::Known(-1) if minus_one.replace(at).is_some() => {
                return invalid("the shape has more than one -1");
            }
            Int::Known(-1) => {
                dims.push(Dim::Unknown);
                continue;
            }
            Int::Known(size) if size < 0 => return invalid(format_args!("the shape has the size {size}")),
            Int::Unknown => {
                unknowns.push(at);
                dims.push(Dim::Unknown);
                continue;
            }
            _ => int.into(),
        };
        after.push(dim);
        dims.push(dim);
    }
    if input.is_none() {
        return Ok(dims);
    }
    let n_copied = dims.len() - after.len() - unknowns.len() - usize::from(minus_one.is_some());
    let is_static = input.is_some_and(|dims| dims.iter().all(|dim| dim.known().is_some()));
    // A copied size is on both sides, but does not help if it is zero.
    let copies_nothing = n_copied > 0 && input.is_none_or(|dims| product(dims).known().is_none_or(|size| size == 0));
    let (Dim::Static(after_size), Some((Dim::Static(size), symbol))) = (known_product(&after), cancel(before, &after))
    else {
        return Ok(dims);
    };
    // The remainder for the one size that is not given.
    let quotient = match symbol {
        _ if after_size == 0 => None,
        None if size % after_size == 0 => Some(Dim::Static(size / after_size)),
        Some(symbol) if size == after_size => Some(symbol),
        _ => None,
    };
    let is_exact = is_static && !copies_nothing;
    match (minus_one, &unknowns[..], quotient) {
        (Some(at), [], Some(quotient)) => dims[at] = quotient,
        (Some(_), [], None) if is_exact && after_size != 0 => {
            return invalid(format_args!("{size} elements cannot be divided by {after_size}"));
        }
        // One unknown size follows from the number of elements.
        (None, &[at], Some(quotient)) if !copies_nothing => dims[at] = quotient,
        (None, [], _) if is_exact && size != after_size && after.iter().all(|dim| dim.known().is_some()) => {
            return invalid(format_args!("{size} elements cannot be given a shape of {after_size}"));
        }
        _ => {}
    }
    Ok(dims)
}

/// The product of the static sizes.
fn known_product(dims: &[Dim]) -> Dim {
    let known: Dims = dims.iter().copied().filter(|dim| dim.known().is_some()).collect();
    product(&known)
}

/// The product of `before` without the symbols of `after`: the static sizes, and the one that is not; `None` when there
/// are several, or `before` lacks a symbol.
fn cancel(before: Dims, after: &[Dim]) -> Option<(Dim, Option<Dim>)> {
    let symbol = |dim: &Dim| if let Dim::Symbol(name) = *dim { Some(name) } else { None };
    let mut cancelled: Vec<StrId> = after.iter().filter_map(symbol).collect();
    cancelled.sort();
    if after.contains(&Dim::Unknown) {
        return None;
    }
    let (mut symbols, mut rest): (Dims, Dims) = before.into_iter().partition(|dim| symbol(dim).is_some());
    symbols.sort_by_key(|dim| symbol(dim));
    let mut cancelled = cancelled.into_iter().peekable();
    for dim in symbols {
        if cancelled.peek().copied() == symbol(&dim) {
            cancelled.next();
        } else {
            rest.push(dim);
        }
    }
    let mut left = rest.iter().copied().filter(|dim| dim.known().is_none());
    let symbol = left.next();
    (cancelled.peek().is_none() && left.next().is_none()).then(|| (known_product(&rest), symbol))
}

/// `Flatten`.
pub fn flatten(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let axis = int(cx, "axis")?;
    let dims = match cx.dims(0) {
        Some(dims) => {
            let rank = dims.len();
            let axis = if axis == rank as i64 { rank } else { axis_of(axis, rank)? };
            [product(&dims[..axis]), product(&dims[axis..])]
        }
        None => [Dim::Unknown; 2],
    };
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// The axes of `Squeeze` and `Unsqueeze`: an attribute before version 13.
fn axes_of(cx: &InferCx<'_>) -> Result<Option<IntList>, OpError> {
    if cx.version() < 13 { opt_ints(cx, "axes") } else { Ok(known_ints(cx, 1)) }
}

/// `Squeeze`.
pub fn squeeze(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let axes = axes_of(cx)?;
    let is_given = axes.is_some() || (cx.version() >= 13 && cx.arg(1).is_some());
    let dims = match (cx.dims(0), axes) {
        (Some(dims), Some(axes)) => {
            let mask = axis_mask(&axes, dims.len())?;
            let mut kept = Vec::with_capacity(dims.len());
            for (axis, (dim, squeezed)) in dims.into_iter().zip(mask).enumerate() {
                match dim {
                    _ if !squeezed => kept.push(dim),
                    Dim::Static(size) if size != 1 => {
                        return invalid(format_args!("axis {axis} has size {size}, not 1"));
                    }
                    _ => {}
                }
            }
            Some(kept)
        }
        (Some(dims), None) if !is_given && dims.iter().all(|dim| dim.known().is_some()) => {
            Some(dims.into_iter().filter(|&dim| dim != Dim::Static(1)).collect())
        }
        _ => None,
    };
    set(cx, 0, elem, dims.as_deref());
    if dims.is_some_and(|dims| dims.len() <= 1) {
        values::forward(cx, 0);
    }
    Ok(())
}

/// `Unsqueeze`.
pub fn unsqueeze(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let dims = match (cx.dims(0), axes_of(cx)?) {
        (Some(dims), Some(axes)) => {
            let rank = dims.len() + axes.len();
            let mask = axis_mask(&axes, rank)?;
            let mut rest = dims.into_iter();
            let dims: Dims =
                mask.iter().map(|&new| if new { Some(Dim::Static(1)) } else { rest.next() }).map_while(|d| d).collect();
            if mask.iter().filter(|&&new| new).count() != axes.len() {
                return invalid("`axes` names an axis twice");
            }
            Some(dims)
        }
        (Some(dims), None) => vector_len(cx, 1).map(|n_new| smallvec![Dim::Unknown; dims.len() + n_new]),
        _ => None,
    };
    set(cx, 0, elem, dims.as_deref());
    if dims.is_some_and(|dims| dims.len() <= 1) {
        values::forward(cx, 0);
    }
    Ok(())
}

/// `Shape`.
pub fn shape(cx: &mut InferCx<'_>) -> Outcome {
    let (start, end) = (int(cx, "start")?, opt_int(cx, "end")?);
    let Some(dims) = cx.dims(0) else {
        cx.set_tensor(0, ElemType::INT64, &[Dim::Unknown]);
        return Ok(());
    };
    let part = &dims[shape_range(dims.len(), start, end)];
    cx.set_tensor(0, ElemType::INT64, &[Dim::Static(part.len() as u64)]);
    if part.len() <= MAX_LEN {
        cx.set_value(0, part);
    }
    Ok(())
}

/// `Size`.
pub fn size(cx: &mut InferCx<'_>) -> Outcome {
    cx.set_tensor(0, ElemType::INT64, &[]);
    if let Some(dims) = cx.dims(0) {
        set_ints(cx, 0, &[product(&dims).into()]);
    }
    Ok(())
}
