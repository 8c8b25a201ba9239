//! Resizing by interpolation, one axis after another.
//!
//! Where a runtime that computes places in the data in `float32` would take another element, or would take the size that
//! is scaled for the resulting one, nothing is evaluated.

use crate::shared::{
    cx::{
        Eval, bounded_work, flag, float, int_list, named, not_cancelled, opt_float, opt_ints, string, table,
        unsupported_elem,
    },
    doubles::{doubles, rounded, volume},
    doubt::refuse,
    elems::Elems,
    shape::{Walk, axes, checked_len, sizes, strides, uniform},
};
use relais_operator_math::resize::{
    Coordinates, Nearest, RatioPolicy, ResizeMode, ResizeSettings, ResizedAxis, Taps, scaled_size,
};
use relais_plugin_api::{
    ir::{AttrValue, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "Resize" @ 10 => resize,
    "Upsample" @ 1 => upsample,
}

/// One axis that is resized, of a tensor.
struct Resized {
    at: usize,
    axis: ResizedAxis,
}

fn resize(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    if cx.version() < 11 {
        let scales = doubles(cx, cx.require(1)?)?;
        return by_scales(cx, &scales);
    }
    let settings = ResizeSettings {
        mode: named(cx, "mode", |name| ResizeMode::of(name, cx.version()))?,
        coordinates: coordinates(cx)?,
        nearest: named(cx, "nearest_mode", Nearest::of)?,
        antialias: flag(cx, "antialias")?,
        exclude_outside: flag(cx, "exclude_outside")?,
        cubic_coeff: float(cx, "cubic_coeff_a")?,
    };
    if settings.antialias && settings.mode == ResizeMode::Nearest {
        return Err(OpError::unsupported("`antialias` of the nearest element"));
    }
    let at = match opt_ints(cx, "axes")? {
        Some(list) => axes(&list, data.dims().len())?,
        None => (0..data.dims().len()).collect(),
    };
    let is_given = |index: usize| cx.input(index).filter(|list| !list.is_empty() || at.is_empty());
    let mut resized = match (is_given(2), is_given(3)) {
        (Some(scales), None) => scaled_axes(cx, data, &at, &doubles(cx, scales)?)?,
        (None, Some(sizes)) => sized_axes(cx, data, &at, &int_list(cx, sizes, "the sizes")?)?,
        _ => return Err(OpError::invalid("either the scales or the sizes must be given")),
    };
    if settings.coordinates == Coordinates::TfCropAndResize {
        if settings.mode == ResizeMode::Cubic || settings.antialias {
            return Err(OpError::unsupported("a region in a mode other than `nearest` or `linear`"));
        }
        let region = doubles(cx, cx.require(1)?)?;
        if region.len() != 2 * at.len() || region.iter().any(|at| !at.is_finite()) {
            return Err(OpError::invalid(format_args!("a region of {} numbers for {} axes", region.len(), at.len())));
        }
        for (i, resized) in resized.iter_mut().enumerate() {
            resized.axis.region = (region[i], region[i + at.len()]);
        }
        if resized.iter().any(|resized| resized.axis.scale == 1.0 && !resized.axis.is_same()) {
            return Err(OpError::unsupported("a region of an axis that is not resized"));
        }
    }
    interpolate(cx, data, &settings, &resized)
}

fn coordinates(cx: &EvalCx<'_>) -> Eval<Coordinates> {
    let name = string(cx, "coordinate_transformation_mode")?;
    Coordinates::of(name, cx.version())
        .ok_or_else(|| OpError::unsupported(format_args!("the coordinates are `{name}`")))
}

/// The scales are attributes at first.
fn upsample(cx: &EvalCx<'_>) -> Eval {
    let scales = match cx.version() {
        ..7 => match (opt_float(cx, "height_scale")?, opt_float(cx, "width_scale")?) {
            (Some(height), Some(width)) => vec![1.0, 1.0, f64::from(height), f64::from(width)],
            _ => return Err(OpError::invalid("a scale is missing")),
        },
        7..9 => match cx.attrs().get("scales") {
            Some(AttrValue::Floats(scales)) => scales.floats().map(f64::from).collect(),
            _ => return Err(OpError::invalid("attribute `scales` must be a list of floats")),
        },
        _ => doubles(cx, cx.require(1)?)?,
    };
    by_scales(cx, &scales)
}

/// Places are multiples of the scale before version 11. How they are rounded when the result is smaller than the data,
/// the standard does not specify.
fn by_scales(cx: &EvalCx<'_>, scales: &[f64]) -> Eval {
    let data = cx.require(0)?;
    let settings = ResizeSettings::by_scale(named(cx, "mode", |name| ResizeMode::of(name, cx.version()))?);
    if settings.mode == ResizeMode::Nearest && scales.iter().any(|&scale| scale < 1.0) {
        return Err(OpError::unsupported("the nearest element of a smaller result before operator-set version 11"));
    }
    let at: Vec<usize> = (0..data.dims().len()).collect();
    interpolate(cx, data, &settings, &scaled_axes(cx, data, &at, scales)?)
}

/// The size of a result.
fn result_size(size: f64) -> Eval<u64> {
    match (0.0..1e9).contains(&size) {
        true => Ok(size as u64),
        false => Err(OpError::unsupported(format_args!("a result of size {size}"))),
    }
}

fn scaled_axes(cx: &EvalCx<'_>, data: &Tensor, at: &[usize], scales: &[f64]) -> Eval<Vec<Resized>> {
    if scales.len() != at.len() {
        return Err(OpError::invalid(format_args!("{} scales for {} axes", scales.len(), at.len())));
    }
    let resized = |(&at, &scale): (&usize, &f64)| {
        let size = data.dims()[at];
        if scale.is_nan() || scale <= 0.0 {
            return Err(OpError::invalid(format_args!("a scale is {scale}")));
        }
        let scaled = scaled_size(size, scale);
        refuse(cx, scaled.is_err(), "a size that depends on how a product is rounded")?;
        let result = result_size(scaled.unwrap_or_else(|in_double| in_double))?;
        Ok(Resized { at, axis: ResizedAxis::new(size, result, scale) })
    };
    at.iter().zip(scales).map(resized).collect()
}

fn sized_axes(cx: &EvalCx<'_>, data: &Tensor, at: &[usize], wanted: &[i64]) -> Eval<Vec<Resized>> {
    if wanted.len() != at.len() {
        return Err(OpError::invalid(format_args!("{} sizes for {} axes", wanted.len(), at.len())));
    }
    let mut resized = Vec::with_capacity(at.len());
    for (&at, &result) in at.iter().zip(wanted) {
        let (size, result) = (data.dims()[at], result_size(result as f64)?);
        resized.push(Resized { at, axis: ResizedAxis::new(size, result, result as f64 / size as f64) });
    }
    let policy = named(cx, "keep_aspect_ratio_policy", RatioPolicy::of)?;
    if let Some(scale) = policy.scale(resized.iter().map(|resized| resized.axis.scale)) {
        for Resized { axis, .. } in &mut resized {
            axis.scale = scale;
            axis.result = result_size((scale * axis.size as f64 + 0.5).floor())?;
        }
    }
    Ok(resized)
}

/// The place in the data of each place of the result.
fn places(cx: &EvalCx<'_>, axis: &ResizedAxis, settings: &ResizeSettings) -> Eval<Vec<f64>> {
    let found = axis.places(settings).map_err(OpError::unsupported)?;
    refuse(cx, found.disputed.is_some(), found.disputed.unwrap_or_default())?;
    Ok(found.places)
}

fn interpolate(cx: &EvalCx<'_>, data: &Tensor, settings: &ResizeSettings, resized: &[Resized]) -> Eval {
    let mut dims = data.dims().to_vec();
    for Resized { at, axis } in resized {
        dims[*at] = axis.result;
    }
    let crops = settings.coordinates == Coordinates::TfCropAndResize;
    let len = checked_len(cx, data.elem(), &dims)?;
    if len == 0 {
        return uniform(data.elem(), &dims, &[]);
    }
    if data.is_empty() {
        return Err(OpError::invalid("the data have no elements to make a result of"));
    }
    if settings.mode == ResizeMode::Nearest && !crops {
        return nearest(cx, data, settings, resized, &dims);
    }
    if !data.elem().is_float() {
        return Err(unsupported_elem(data.elem()));
    }
    let extrapolation = if crops { float(cx, "extrapolation_value")? } else { 0.0 };
    let mut values = doubles(cx, data)?;
    let mut current = data.dims().to_vec();
    for Resized { at, axis } in resized.iter().filter(|resized| !resized.axis.is_same()) {
        let n_taps = axis.n_taps(settings) as u64;
        bounded_work(cx, [axis.result, n_taps])?;
        let (outer, inner) = (volume(&current[..*at])?, volume(&current[at + 1..])?);
        bounded_work(cx, [outer as u64, axis.result, inner as u64, n_taps])?;
        current[*at] = axis.result;
        checked_len(cx, data.elem(), &current)?;
        let taps: Vec<Taps> = places(cx, axis, settings)?.into_iter().map(|place| axis.taps(settings, place)).collect();
        let (size, result) = (axis.size as usize, axis.result as usize);
        let mut out = vec![0.0; outer * result * inner];
        for (block, from) in out.chunks_exact_mut(result * inner).zip(values.chunks_exact(size * inner)) {
            not_cancelled(cx)?;
            for (row, taps) in block.chunks_exact_mut(inner).zip(&taps) {
                if taps.is_outside {
                    row.fill(extrapolation);
                    continue;
                }
                for (i, &weight) in taps.weights.iter().enumerate() {
                    let at = taps.first.saturating_add(i as i64).clamp(0, size as i64 - 1) as usize;
                    let from = &from[at * inner..][..inner];
                    row.iter_mut().zip(from).for_each(|(sum, x)| *sum += weight * x);
                }
            }
        }
        values = out;
    }
    rounded(data.elem(), &dims, &values)
}

/// The nearest elements, of any type.
fn nearest(cx: &EvalCx<'_>, data: &Tensor, settings: &ResizeSettings, resized: &[Resized], dims: &[u64]) -> Eval {
    if let Some(element) = data.as_splat() {
        return uniform(data.elem(), dims, element);
    }
    let data_sizes = sizes(data.dims())?;
    let mut sources: Vec<Vec<usize>> = data_sizes.iter().map(|&size| (0..size).collect()).collect();
    for Resized { at, axis } in resized.iter().filter(|resized| !resized.axis.is_same()) {
        let nearest = |&place: &f64| axis.nearest(settings, place) as usize;
        sources[*at] = places(cx, axis, settings)?.iter().map(nearest).collect();
    }
    let from = Elems::of(cx, data)?;
    let mut out = from.empty(volume(dims)?)?;
    let data_strides = strides(&data_sizes);
    let Some((row, outer)) = sources.split_last() else { return Ok(data.clone()) };
    let outer_dims: Vec<usize> = outer.iter().map(Vec::len).collect();
    let mut walk = Walk::<0>::new(&outer_dims, []);
    loop {
        let starts = walk.position().iter().zip(outer).zip(&data_strides);
        let start: usize = starts.map(|((&at, sources), &stride)| sources[at] * stride as usize).sum();
        if walk.next().is_none() {
            return out.into_tensor(cx, data.elem(), dims);
        }
        row.iter().for_each(|&at| out.extend(&from, start + at, 1));
    }
}
