//! Padding and cropping.

use crate::shared::{
    cx::{Eval, float, int_list, named, opt_ints, same_elem, table},
    elems::Elems,
    scalar::{Float, dispatch},
    shape::{Walk, axes, checked_len, sizes, strides, uniform},
};
use relais_operator_math::pad::PadMode;
use relais_plugin_api::{
    ir::Tensor,
    op::{EvalCx, OpError},
};

table! {
    "Pad" @ 1 => pad,
    "CenterCropPad" @ 18 => center_crop_pad,
}

fn pad(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let rank = data.dims().len();
    let mode = named(cx, "mode", |name| PadMode::of(name, cx.version()))?;
    let (pads, value) = if cx.version() < 11 {
        let name = if cx.version() < 2 { "paddings" } else { "pads" };
        let pads =
            opt_ints(cx, name)?.ok_or_else(|| OpError::invalid(format_args!("attribute `{name}` is missing")))?;
        let value = float(cx, "value")?;
        let value = dispatch!(data.elem(), T in floats => {
            fn element<T: Float>(value: f64) -> Eval {
                uniform(T::ELEM, &[], T::rounded(value).store().as_ref())
            }
            element::<T>(value)
        })?;
        (pads, Some(value))
    } else {
        (int_list(cx, cx.require(1)?, "the pads")?, cx.input(2).cloned())
    };
    let at = match cx.input(3).filter(|_| cx.version() >= 18) {
        Some(list) => axes(&int_list(cx, list, "the axes")?, rank)?,
        None => (0..rank).collect(),
    };
    if pads.len() != at.len() * 2 {
        return Err(OpError::invalid(format_args!("{} pads are given for {} axes", pads.len(), at.len())));
    }
    let mut around = vec![(0, 0); rank];
    for (i, &axis) in at.iter().enumerate() {
        around[axis] = (pads[i], pads[at.len() + i]);
    }
    if let Some(value) = &value {
        same_elem(data, value)?;
        if value.len() != 1 {
            return Err(OpError::invalid(format_args!("the value must be a scalar, not {} elements", value.len())));
        }
    }
    extend(cx, data, &around, mode, value.as_ref())
}

fn center_crop_pad(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let rank = data.dims().len();
    let wanted = int_list(cx, cx.require(1)?, "the shape")?;
    let at = match opt_ints(cx, "axes")? {
        Some(list) => axes(&list, rank)?,
        None => (0..rank).collect(),
    };
    if wanted.len() != at.len() || wanted.iter().any(|&dim| dim < 0) {
        return Err(OpError::invalid(format_args!("shape {wanted:?} is given for {} axes", at.len())));
    }
    let mut around = vec![(0, 0); rank];
    for (&axis, &dim) in at.iter().zip(&wanted) {
        let more = i64::try_from(data.dims()[axis]).ok().and_then(|old| dim.checked_sub(old));
        let more = more.ok_or_else(|| OpError::unsupported("a dimension is beyond 63 bits"))?;
        // A crop begins at half the excess, a pad with half the lack, both rounded down.
        around[axis] = (more / 2, more - more / 2);
    }
    extend(cx, data, &around, PadMode::Constant, None)
}

/// The data with as many elements more, or fewer when negative, before and after each axis.
fn extend(cx: &EvalCx<'_>, data: &Tensor, around: &[(i64, i64)], mode: PadMode, value: Option<&Tensor>) -> Eval {
    let mut dims = Vec::with_capacity(around.len());
    for (&dim, &(before, after)) in data.dims().iter().zip(around) {
        let padded = i128::from(dim) + i128::from(before) + i128::from(after);
        dims.push(
            u64::try_from(padded)
                .map_err(|_| OpError::invalid(format_args!("size {dim} cannot be padded by {before} and {after}")))?,
        );
    }
    if dims == data.dims() && around.iter().all(|&pads| pads == (0, 0)) {
        return Ok(data.clone());
    }
    let zero = Elems::zero(data.elem());
    let value_elems = value.map_or(zero, Elems::first);
    if let Some(element) = data.as_splat()
        && (mode != PadMode::Constant || value.is_some_and(|value| is_element(value, element)))
        && !data.is_empty()
    {
        return uniform(data.elem(), &dims, element);
    }
    let len = checked_len(cx, data.elem(), &dims)?;
    let from = Elems::of(cx, data)?;
    let mut out = from.empty(len)?;
    if len > 0 {
        let sources = sources(data, around, &dims, mode)?;
        fill(&mut out, &from, &value_elems, &sources, &sizes(data.dims())?);
    }
    out.into_tensor(cx, data.elem(), &dims)
}

fn is_element(value: &Tensor, element: &[u8]) -> bool {
    value.as_splat().or_else(|| value.as_dense().map(|blob| &**blob)) == Some(element)
}

/// For each axis and each index along it in the result, the index in the data; `None` is padding.
fn sources(data: &Tensor, around: &[(i64, i64)], dims: &[u64], mode: PadMode) -> Eval<Vec<Vec<Option<usize>>>> {
    let mut sources = Vec::with_capacity(dims.len());
    for ((&dim, &(before, after)), &padded) in data.dims().iter().zip(around).zip(dims) {
        let dim = dim as i64;
        if mode != PadMode::Constant && dim == 0 {
            return Err(OpError::invalid("an axis of size 0 has nothing to pad with"));
        }
        if mode == PadMode::Reflect && before.max(after) >= dim && before.max(after) > 0 {
            return Err(OpError::unsupported("an axis is reflected more than once"));
        }
        // Cropping removes its elements first, and the rest is repeated.
        if mode != PadMode::Constant && before.min(after) < 0 {
            return Err(OpError::unsupported("an axis is cropped in a mode other than `constant`"));
        }
        let source = |index: u64| {
            let at = mode.source((index as i64).saturating_sub(before), dim)?;
            Some(at as usize)
        };
        sources.push((0..padded).map(source).collect());
    }
    Ok(sources)
}

fn fill<'a>(
    out: &mut Elems<'a>,
    from: &Elems<'a>,
    value: &Elems<'a>,
    sources: &[Vec<Option<usize>>],
    data_dims: &[usize],
) {
    let Some((row, outer)) = sources.split_last() else {
        return out.extend(from, 0, 1);
    };
    // The part of a row that is copied in one piece.
    let first = row.iter().position(Option::is_some).unwrap_or(row.len());
    let start = row.get(first).copied().flatten().unwrap_or(0);
    let run = row[first..].iter().enumerate().take_while(|&(i, &source)| source == Some(start + i)).count();
    let strides = strides(data_dims);
    let outer_dims: Vec<usize> = outer.iter().map(Vec::len).collect();
    let mut walk = Walk::<0>::new(&outer_dims, []);
    loop {
        let offset = walk.position().iter().zip(outer).zip(&strides).try_fold(0, |offset, ((&at, sources), stride)| {
            sources[at].map(|source| offset + source * *stride as usize)
        });
        if walk.next().is_none() {
            return;
        }
        let Some(offset) = offset else {
            out.repeat(value, 0, row.len());
            continue;
        };
        out.repeat(value, 0, first);
        out.extend(from, offset + start, run);
        for source in &row[first + run..] {
            match source {
                Some(source) => out.extend(from, offset + source, 1),
                None => out.extend(value, 0, 1),
            }
        }
    }
}
