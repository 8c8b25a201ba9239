//! Resizing by interpolation, one axis after another.
//!
//! Places in the data are computed in double precision. Where a runtime that computes them in `float32` would take
//! another element, or would take the size that is scaled for the resulting one, nothing is evaluated.

use crate::shared::{
    cx::{Eval, bounded_work, flag, float, int_list, ints, not_cancelled, string, table, unsupported_elem},
    doubles::{doubles, rounded, volume},
    doubt::refuse,
    elems::Elems,
    shape::{Walk, axes, checked_len, sizes, strides, uniform},
};
use relais_plugin_api::{
    ir::{AttrValue, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "Resize" @ 10 => resize,
    "Upsample" @ 1 => upsample,
}

/// How elements between those of the data come about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Nearest,
    Linear,
    Cubic,
}

impl Mode {
    fn of(cx: &EvalCx<'_>) -> Eval<Self> {
        match string(cx, "mode")? {
            None | Some(b"nearest") => Ok(Self::Nearest),
            Some(b"linear") => Ok(Self::Linear),
            Some(b"bilinear") if cx.version() < 7 => Ok(Self::Linear),
            Some(b"cubic") if cx.version() >= 11 => Ok(Self::Cubic),
            Some(other) => {
                let other = String::from_utf8_lossy(other);
                Err(OpError::invalid(format_args!("attribute `mode` is `{other}`")))
            }
        }
    }
}

/// How places of the result become places of the data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    TfHalfPixelForNearest,
    TfCropAndResize,
}

impl Coordinates {
    fn of(cx: &EvalCx<'_>) -> Eval<Self> {
        Ok(match string(cx, "coordinate_transformation_mode")? {
            None | Some(b"half_pixel") => Self::HalfPixel,
            Some(b"half_pixel_symmetric") if cx.version() >= 19 => Self::HalfPixelSymmetric,
            Some(b"pytorch_half_pixel") => Self::PytorchHalfPixel,
            Some(b"align_corners") => Self::AlignCorners,
            Some(b"asymmetric") => Self::Asymmetric,
            Some(b"tf_half_pixel_for_nn") if cx.version() < 13 => Self::TfHalfPixelForNearest,
            Some(b"tf_crop_and_resize") => Self::TfCropAndResize,
            Some(other) => {
                let message = format_args!("the coordinates are `{}`", String::from_utf8_lossy(other));
                return Err(OpError::unsupported(message));
            }
        })
    }
}

/// Which of two elements is the nearest one.
#[derive(Clone, Copy)]
enum Nearest {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
}

impl Nearest {
    fn of(cx: &EvalCx<'_>) -> Eval<Self> {
        Ok(match string(cx, "nearest_mode")? {
            None | Some(b"round_prefer_floor") => Self::RoundPreferFloor,
            Some(b"round_prefer_ceil") => Self::RoundPreferCeil,
            Some(b"floor") => Self::Floor,
            Some(b"ceil") => Self::Ceil,
            Some(other) => {
                let other = String::from_utf8_lossy(other);
                return Err(OpError::invalid(format_args!("attribute `nearest_mode` is `{other}`")));
            }
        })
    }

    fn pick(self, at: f64) -> f64 {
        match self {
            Self::RoundPreferFloor => (at - 0.5).ceil(),
            Self::RoundPreferCeil => (at + 0.5).floor(),
            Self::Floor => at.floor(),
            Self::Ceil => at.ceil(),
        }
    }
}

/// The attributes of a call.
struct Settings {
    mode: Mode,
    coordinates: Coordinates,
    nearest: Nearest,
    antialias: bool,
    exclude_outside: bool,
    cubic_coeff: f64,
    extrapolation: f64,
}

/// One axis that is resized.
struct Axis {
    at: usize,
    size: usize,
    result: usize,
    scale: f64,
    /// The part of the axis that is taken, between 0 and 1.
    region: (f64, f64),
}

/// The elements of the data that make one of the result, and the weight of each.
struct Taps {
    first: i64,
    weights: Vec<f64>,
    /// Whether the place is outside of the data, and a constant takes it.
    is_outside: bool,
}

fn resize(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    if cx.version() < 11 {
        let scales = doubles(cx, cx.require(1)?)?;
        return by_scales(cx, &scales);
    }
    let settings = Settings {
        mode: Mode::of(cx)?,
        coordinates: Coordinates::of(cx)?,
        nearest: Nearest::of(cx)?,
        antialias: flag(cx, "antialias", false)?,
        exclude_outside: flag(cx, "exclude_outside", false)?,
        cubic_coeff: float(cx, "cubic_coeff_a")?.unwrap_or(-0.75).into(),
        extrapolation: float(cx, "extrapolation_value")?.unwrap_or(0.0).into(),
    };
    if settings.antialias && settings.mode == Mode::Nearest {
        return Err(OpError::unsupported("`antialias` of the nearest element"));
    }
    let at = match ints(cx, "axes")? {
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
        if settings.mode == Mode::Cubic || settings.antialias {
            return Err(OpError::unsupported("a region in a mode other than `nearest` or `linear`"));
        }
        let region = doubles(cx, cx.require(1)?)?;
        if region.len() != 2 * at.len() || region.iter().any(|at| !at.is_finite()) {
            return Err(OpError::invalid(format_args!("a region of {} numbers for {} axes", region.len(), at.len())));
        }
        for (i, axis) in resized.iter_mut().enumerate() {
            axis.region = (region[i], region[i + at.len()]);
        }
        if resized.iter().any(|axis| axis.scale == 1.0 && !axis.is_same()) {
            return Err(OpError::unsupported("a region of an axis that is not resized"));
        }
    }
    interpolate(cx, data, &settings, &resized)
}

/// The scales are attributes at first.
fn upsample(cx: &EvalCx<'_>) -> Eval {
    let scales = match cx.version() {
        ..7 => match (float(cx, "height_scale")?, float(cx, "width_scale")?) {
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
    let settings = Settings {
        mode: Mode::of(cx)?,
        coordinates: Coordinates::Asymmetric,
        nearest: Nearest::Floor,
        antialias: false,
        exclude_outside: false,
        cubic_coeff: 0.0,
        extrapolation: 0.0,
    };
    if settings.mode == Mode::Nearest && scales.iter().any(|&scale| scale < 1.0) {
        return Err(OpError::unsupported("the nearest element of a smaller result before operator-set version 11"));
    }
    let at: Vec<usize> = (0..data.dims().len()).collect();
    interpolate(cx, data, &settings, &scaled_axes(cx, data, &at, scales)?)
}

/// The size of a result.
fn result_size(size: f64) -> Eval<usize> {
    match (0.0..1e9).contains(&size) {
        true => Ok(size as usize),
        false => Err(OpError::unsupported(format_args!("a result of size {size}"))),
    }
}

fn scaled_axes(cx: &EvalCx<'_>, data: &Tensor, at: &[usize], scales: &[f64]) -> Eval<Vec<Axis>> {
    if scales.len() != at.len() {
        return Err(OpError::invalid(format_args!("{} scales for {} axes", scales.len(), at.len())));
    }
    let all_sizes = sizes(data.dims())?;
    let axis = |(&at, &scale): (&usize, &f64)| {
        let size = all_sizes[at];
        if scale.is_nan() || scale <= 0.0 {
            return Err(OpError::invalid(format_args!("a scale is {scale}")));
        }
        let result = (size as f64 * scale).floor();
        let is_doubtful = f64::from((size as f32 * scale as f32).floor()) != result;
        refuse(cx, is_doubtful, "a size that depends on how a product is rounded")?;
        Ok(Axis { at, size, result: result_size(result)?, scale, region: (0.0, 1.0) })
    };
    at.iter().zip(scales).map(axis).collect()
}

fn sized_axes(cx: &EvalCx<'_>, data: &Tensor, at: &[usize], wanted: &[i64]) -> Eval<Vec<Axis>> {
    if wanted.len() != at.len() {
        return Err(OpError::invalid(format_args!("{} sizes for {} axes", wanted.len(), at.len())));
    }
    let sizes = sizes(data.dims())?;
    let mut resized = Vec::with_capacity(at.len());
    for (&at, &result) in at.iter().zip(wanted) {
        let (size, result) = (sizes[at], result_size(result as f64)?);
        resized.push(Axis { at, size, result, scale: result as f64 / size as f64, region: (0.0, 1.0) });
    }
    let scales = resized.iter().map(|axis| axis.scale);
    let scale = match string(cx, "keep_aspect_ratio_policy")? {
        None | Some(b"stretch") => return Ok(resized),
        Some(b"not_larger") => scales.fold(f64::INFINITY, f64::min),
        Some(b"not_smaller") => scales.fold(0.0, f64::max),
        Some(other) => {
            let other = String::from_utf8_lossy(other);
            return Err(OpError::invalid(format_args!("attribute `keep_aspect_ratio_policy` is `{other}`")));
        }
    };
    for axis in &mut resized {
        axis.scale = scale;
        axis.result = result_size((scale * axis.size as f64 + 0.5).floor())?;
    }
    Ok(resized)
}

/// A place in the data, computed with numbers of type `$float`.
macro_rules! place {
    ($float:ty, $axis:expr, $coordinates:expr, $x:expr) => {{
        let axis: &Axis = $axis;
        let (x, scale, size, result) = ($x as $float, axis.scale as $float, axis.size as $float, axis.result as $float);
        let half_pixel = (x + 0.5) / scale - 0.5;
        match $coordinates {
            Coordinates::HalfPixel => half_pixel,
            Coordinates::PytorchHalfPixel if axis.result == 1 => 0.0,
            Coordinates::PytorchHalfPixel => half_pixel,
            Coordinates::HalfPixelSymmetric => size / 2.0 * (1.0 - result / (scale * size)) + half_pixel,
            Coordinates::TfHalfPixelForNearest => (x + 0.5) / scale,
            Coordinates::Asymmetric => x / scale,
            Coordinates::AlignCorners if axis.result == 1 => 0.0,
            Coordinates::AlignCorners => x * (size - 1.0) / (result - 1.0),
            Coordinates::TfCropAndResize => {
                let (start, end) = (axis.region.0 as $float, axis.region.1 as $float);
                match axis.result {
                    1 => (start + end) * (size - 1.0) / 2.0,
                    _ => start * (size - 1.0) + x * (end - start) * (size - 1.0) / (result - 1.0),
                }
            }
        }
    }};
}

impl Axis {
    /// Whether the axis stays as it is.
    fn is_same(&self) -> bool {
        self.size == self.result && self.scale == 1.0 && self.region == (0.0, 1.0)
    }

    /// The place in the data of each place of the result.
    fn places(&self, cx: &EvalCx<'_>, settings: &Settings) -> Eval<Vec<f64>> {
        let takes_size = matches!(settings.coordinates, Coordinates::AlignCorners | Coordinates::TfCropAndResize);
        let is_rounded = (self.scale * self.size as f64 - self.result as f64).abs() > 1e-6 * self.result as f64;
        refuse(cx, takes_size && is_rounded, "coordinates that depend on how a size is rounded")?;
        let is_single = settings.coordinates == Coordinates::PytorchHalfPixel && self.result == 1;
        if is_single && (settings.mode == Mode::Cubic || settings.antialias || settings.exclude_outside) {
            // The reference evaluator takes the place before the first element.
            return Err(OpError::unsupported("one element between others"));
        }
        let mut places = Vec::with_capacity(self.result);
        for x in 0..self.result {
            let place = place!(f64, self, settings.coordinates, x);
            let single = f64::from(place!(f32, self, settings.coordinates, x));
            let last = self.size as f64 - 1.0;
            let is_outside = |place: f64| place < 0.0 || place > last;
            let pick = |place: f64| settings.nearest.pick(place).clamp(0.0, last);
            let is_doubtful = (settings.mode == Mode::Nearest && pick(place) != pick(single))
                || (settings.coordinates == Coordinates::TfCropAndResize && is_outside(place) != is_outside(single));
            refuse(cx, is_doubtful, "an element that depends on how coordinates are rounded")?;
            places.push(place);
        }
        Ok(places)
    }

    /// The elements of the data that make each element of the result.
    fn taps(&self, cx: &EvalCx<'_>, settings: &Settings) -> Eval<Vec<Taps>> {
        let crops = settings.coordinates == Coordinates::TfCropAndResize;
        let last = self.size as f64 - 1.0;
        let taps = |place: f64| {
            let (first, mut weights) = match settings.mode {
                Mode::Nearest => (settings.nearest.pick(place), vec![1.0]),
                Mode::Linear if settings.antialias => spread(place, self.scale, 1.0, &|x| (1.0 - x.abs()).max(0.0)),
                Mode::Cubic if settings.antialias => {
                    spread(place, self.scale, 2.0, &|x| cubic(x.abs(), settings.cubic_coeff))
                }
                Mode::Linear => {
                    let ratio = place - place.floor();
                    (place.floor(), vec![1.0 - ratio, ratio])
                }
                Mode::Cubic => {
                    let ratio = place - place.floor();
                    let weight = |x: f64| cubic((ratio - x).abs(), settings.cubic_coeff);
                    (place.floor() - 1.0, vec![weight(-1.0), weight(0.0), weight(1.0), weight(2.0)])
                }
            };
            if settings.exclude_outside && settings.mode != Mode::Nearest {
                for (i, weight) in weights.iter_mut().enumerate() {
                    let at = first + i as f64;
                    *weight = if at < 0.0 || at > last { 0.0 } else { *weight };
                }
                let sum: f64 = weights.iter().sum();
                weights.iter_mut().for_each(|weight| *weight /= if sum == 0.0 { 1.0 } else { sum });
            }
            Taps { first: first as i64, weights, is_outside: crops && (place < 0.0 || place > last) }
        };
        Ok(self.places(cx, settings)?.into_iter().map(taps).collect())
    }
}

/// The weights around a place of a filter that reaches `reach` elements, or as much more as the data are larger than the
/// result. They add up to 1.
fn spread(place: f64, scale: f64, reach: f64, filter: &dyn Fn(f64) -> f64) -> (f64, Vec<f64>) {
    let scale = scale.min(1.0);
    let ratio = if place.fract() == 0.0 { 1.0 } else { place - place.floor() };
    let start = (-reach / scale).floor() + 1.0;
    let end = 2.0 - start;
    let n = (end - start) as usize;
    let mut weights: Vec<f64> = (0..n).map(|i| filter((start + i as f64 - ratio) * scale)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    (place - ratio + start, weights)
}

/// The weight of an element at a distance in cubic interpolation.
fn cubic(x: f64, a: f64) -> f64 {
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

fn interpolate(cx: &EvalCx<'_>, data: &Tensor, settings: &Settings, resized: &[Axis]) -> Eval {
    let mut dims = data.dims().to_vec();
    for axis in resized {
        dims[axis.at] = axis.result as u64;
    }
    let crops = settings.coordinates == Coordinates::TfCropAndResize;
    let len = checked_len(cx, data.elem(), &dims)?;
    if len == 0 {
        return uniform(data.elem(), &dims, &[]);
    }
    if data.is_empty() {
        return Err(OpError::invalid("the data have no elements to make a result of"));
    }
    if settings.mode == Mode::Nearest && !crops {
        return nearest(cx, data, settings, resized, &dims);
    }
    if !data.elem().is_float() {
        return Err(unsupported_elem(data.elem()));
    }
    let mut values = doubles(cx, data)?;
    let mut current = data.dims().to_vec();
    for axis in resized.iter().filter(|axis| !axis.is_same()) {
        let reach = if settings.antialias { (4.0 / axis.scale.min(1.0)).ceil() as u64 + 2 } else { 4 };
        bounded_work(cx, [axis.result as u64, reach])?;
        let (outer, inner) = (volume(&current[..axis.at])?, volume(&current[axis.at + 1..])?);
        bounded_work(cx, [outer as u64, axis.result as u64, inner as u64, reach])?;
        current[axis.at] = axis.result as u64;
        checked_len(cx, data.elem(), &current)?;
        let taps = axis.taps(cx, settings)?;
        let mut out = vec![0.0; outer * axis.result * inner];
        for (block, from) in out.chunks_exact_mut(axis.result * inner).zip(values.chunks_exact(axis.size * inner)) {
            not_cancelled(cx)?;
            for (row, taps) in block.chunks_exact_mut(inner).zip(&taps) {
                if taps.is_outside {
                    row.fill(settings.extrapolation);
                    continue;
                }
                for (i, &weight) in taps.weights.iter().enumerate() {
                    let at = taps.first.saturating_add(i as i64).clamp(0, axis.size as i64 - 1) as usize;
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
fn nearest(cx: &EvalCx<'_>, data: &Tensor, settings: &Settings, resized: &[Axis], dims: &[u64]) -> Eval {
    if let Some(element) = data.as_splat() {
        return uniform(data.elem(), dims, element);
    }
    let data_sizes = sizes(data.dims())?;
    let mut sources: Vec<Vec<usize>> = data_sizes.iter().map(|&size| (0..size).collect()).collect();
    for axis in resized.iter().filter(|axis| !axis.is_same()) {
        let last = axis.size as f64 - 1.0;
        let pick = |&place: &f64| settings.nearest.pick(place).clamp(0.0, last) as usize;
        sources[axis.at] = axis.places(cx, settings)?.iter().map(pick).collect();
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
