//! Pooling: the mean, maximum or norm of each window.

use crate::{
    cast::cast,
    shared::{
        cx::{
            Eval, bounded_work, flag, float, int, int_list, int_values, not_cancelled, table, unsupported_elem,
            with_elem,
        },
        doubles::{doubles, rounded, volume},
        doubt::{Doubt, Extent, Limits, refuse},
        elems::Elems,
        shape::{checked_len, uniform},
        window::{Run, Windows, n_steps},
    },
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "MaxPool" @ 1 => max_pool,
    "AveragePool" @ 1 => average_pool,
    "LpPool" @ 1 => lp_pool,
    "GlobalMaxPool" @ 1 => |cx| global_pool(cx, Pool::Max),
    "GlobalAveragePool" @ 1 => |cx| global_pool(cx, Pool::Average),
    "GlobalLpPool" @ 1 => |cx| global_pool(cx, Pool::Norm(exponent(cx)?)),
    "MaxUnpool" @ 9 => max_unpool,
}

const ALONE: &str = "a window is in the padding alone";
const SUMS_DIFFER: &str = "accumulators of the element type may overflow, underflow, or keep the sign of zero";
const COMPARED: &str = "NaN or zeros of both signs are compared";

/// The batch and channels of an image, and its spatial axes.
fn image(data: &Tensor) -> Eval<(&[u64], &[u64])> {
    match data.dims().len() {
        0..=2 => Err(OpError::invalid(format_args!("data of rank {} has no spatial axis", data.dims().len()))),
        _ => Ok(data.dims().split_at(2)),
    }
}

/// The windows over all planes of an image.
struct Planes {
    windows: Windows,
    runs: Vec<Run>,
    dims: Vec<u64>,
    /// Spatial elements of the data and of the result.
    in_size: usize,
    out_size: usize,
}

impl Planes {
    /// The windows of a call. Runtimes take dilation into account for the padding that keeps a size, or not.
    fn of(cx: &EvalCx<'_>, data: &Tensor) -> Eval<Self> {
        let (planes, spatial) = image(data)?;
        let windows = Windows::over(cx, spatial, None)?;
        if windows.keeps_size && windows.is_dilated {
            return Err(OpError::unsupported("padding that keeps the size under dilated windows"));
        }
        let counts = windows.counts();
        let dims = [planes, &counts].concat();
        let len = checked_len(cx, if cx.n_outputs() > 1 { ElemType::INT64 } else { data.elem() }, &dims)?;
        let runs = if len == 0 { Vec::new() } else { windows.runs()? };
        bounded_work(cx, [planes[0], planes[1], n_steps(&runs)])?;
        let (in_size, out_size) = if len == 0 { (1, 1) } else { (volume(spatial)?, volume(&counts)?) };
        Ok(Self { windows, runs, dims, in_size, out_size })
    }

    /// Folds the elements of each window, from `start` on.
    fn fold(&self, cx: &EvalCx<'_>, values: &[f64], start: f64, step: &dyn Fn(f64, f64) -> f64) -> Eval<Vec<f64>> {
        let mut out = vec![start; volume(&self.dims)?];
        if self.in_size > 0 {
            for (plane, out) in values.chunks_exact(self.in_size).zip(out.chunks_exact_mut(self.out_size)) {
                not_cancelled(cx)?;
                for run in &self.runs {
                    let pixels = plane[run.pixel..].iter().step_by(run.step);
                    let windows = &mut out[run.window..][..run.len];
                    windows.iter_mut().zip(pixels).for_each(|(all, &x)| *all = step(*all, x));
                }
            }
        }
        Ok(out)
    }

    /// For each window of a plane, the number of its elements in the image.
    fn n_pixels(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.out_size];
        for run in &self.runs {
            counts[run.window..][..run.len].iter_mut().for_each(|count| *count += 1.0);
        }
        counts
    }
}

/// The numbers of a tensor of floats or 8-bit integers that are compared.
fn comparable(cx: &EvalCx<'_>, data: &Tensor) -> Eval<Vec<f64>> {
    let values = match data.elem() {
        ElemType::INT8 | ElemType::UINT8 => doubles(cx, &cast(cx, data, ElemType::DOUBLE)?)?,
        _ => doubles(cx, data)?,
    };
    let has_zero = |is_negative: bool| values.iter().any(|x| *x == 0.0 && x.is_sign_negative() == is_negative);
    refuse(cx, values.iter().any(|x| x.is_nan()) || (has_zero(true) && has_zero(false)), COMPARED)?;
    Ok(values)
}

/// The places of the maxima count through all elements of the data, rows or columns first.
fn max_pool(cx: &EvalCx<'_>) -> Eval<Vec<Tensor>> {
    let data = cx.require(0)?;
    let by_column = flag(cx, "storage_order")?;
    if by_column && cx.n_outputs() > 1 && data.dims().len() > 4 {
        return Err(OpError::unsupported("columns of an image with more than two axes"));
    }
    let planes = Planes::of(cx, data)?;
    let values = comparable(cx, data)?;
    let mut maxima = vec![f64::NEG_INFINITY; volume(&planes.dims)?];
    let mut places = vec![usize::MAX; maxima.len()];
    if !maxima.is_empty() && planes.in_size > 0 {
        let outs = maxima.chunks_exact_mut(planes.out_size).zip(places.chunks_exact_mut(planes.out_size));
        for (plane, (maxima, places)) in values.chunks_exact(planes.in_size).zip(outs) {
            not_cancelled(cx)?;
            for run in &planes.runs {
                for i in 0..run.len {
                    let pixel = run.pixel + i * run.step;
                    let (x, window) = (plane[pixel], run.window + i);
                    if places[window] == usize::MAX || x > maxima[window] {
                        (maxima[window], places[window]) = (x, pixel);
                    }
                }
            }
        }
    }
    if places.contains(&usize::MAX) {
        return Err(OpError::unsupported(ALONE));
    }
    let mut results = vec![match data.elem() {
        elem @ (ElemType::INT8 | ElemType::UINT8) => {
            cast(cx, &rounded(ElemType::DOUBLE, &planes.dims, &maxima)?, elem)?
        }
        elem => rounded(elem, &planes.dims, &maxima)?,
    }];
    if cx.n_outputs() > 1 {
        let spatial = &data.dims()[2..];
        let bytes = places.iter().enumerate().flat_map(|(at, &place)| {
            let place = if by_column { column_first(place, spatial) } else { place };
            ((at / planes.out_size * planes.in_size + place) as i64).to_le_bytes()
        });
        results.push(with_elem(ElemType::INT64, &planes.dims, bytes.collect())?);
    }
    Ok(results)
}

/// A place in an image, counted along its first axis first.
fn column_first(place: usize, spatial: &[u64]) -> usize {
    let mut rest = place;
    let mut at: Vec<usize> =
        spatial.iter().rev().map(|&size| (rest % size as usize, rest /= size as usize).0).collect();
    at.reverse();
    at.iter().zip(spatial).rev().fold(0, |all, (&at, &size)| all * size as usize + at)
}

fn average_pool(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let with_padding = flag(cx, "count_include_pad")?;
    let planes = Planes::of(cx, data)?;
    let values = doubles(cx, data)?;
    let mut result = planes.fold(cx, &values, 0.0, &|sum, x| sum + x)?;
    let counts = if with_padding { planes.windows.n_padded_taps()? } else { planes.n_pixels() };
    if counts.contains(&0.0) {
        return Err(OpError::unsupported(ALONE));
    }
    result.iter_mut().zip(counts.iter().cycle()).for_each(|(sum, count)| *sum /= count);
    certain_sums(cx, data.elem(), &values, planes.windows.n_taps(), &result)?;
    rounded(data.elem(), &planes.dims, &result)
}

/// Refuses means of up to `n` elements for which runtimes may give another result.
fn certain_sums(cx: &EvalCx<'_>, elem: ElemType, values: &[f64], n: f64, means: &[f64]) -> Eval<()> {
    let (limits, extent) = (Limits::of_elem(elem)?, Extent::of(values));
    let has_minus_zero = || values.iter().any(|x| *x == 0.0 && x.is_sign_negative());
    let is_certain = limits.is_within(extent.largest * n, false) && extent.least >= limits.least_normal;
    refuse(cx, !is_certain || (means.contains(&0.0) && has_minus_zero()), SUMS_DIFFER)
}

/// The exponent of a norm, which is a float before version 2.
fn exponent(cx: &EvalCx<'_>) -> Eval<f64> {
    let p = if cx.version() < 2 { float(cx, "p")? } else { int(cx, "p")? as f64 };
    match p > 0.0 && p.is_finite() {
        true => Ok(p),
        false => Err(OpError::invalid(format_args!("attribute `p` is {p}"))),
    }
}

/// Of a window that reaches beyond the padding, the reference scales the norm up.
fn lp_pool(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let p = exponent(cx)?;
    let planes = Planes::of(cx, data)?;
    if planes.windows.overhangs {
        return Err(OpError::unsupported("a norm of a window that is not filled"));
    }
    let limits = Limits::of_elem(data.elem())?;
    let values = doubles(cx, data)?;
    let mut result = planes.fold(cx, &values, 0.0, &|sum, x| sum + power(x, p))?;
    let has_tiny = power(Extent::of(&values).least, p) < limits.least_normal;
    let doubt = Doubt::default();
    for sum in &mut result {
        doubt.note(!limits.is_within(*sum, has_tiny && *sum != 0.0));
        *sum = root(*sum, p);
    }
    doubt.settle(cx, rounded(data.elem(), &planes.dims, &result), SUMS_DIFFER)
}

fn power(x: f64, p: f64) -> f64 {
    if p == 2.0 { x * x } else { x.abs().powf(p) }
}

fn root(sum: f64, p: f64) -> f64 {
    if p == 2.0 { sum.sqrt() } else { sum.powf(1.0 / p) }
}

/// The function of all spatial elements of a plane.
#[derive(Clone, Copy)]
enum Pool {
    Max,
    Average,
    Norm(f64),
}

fn global_pool(cx: &EvalCx<'_>, pool: Pool) -> Eval {
    let data = cx.require(0)?;
    let (planes, spatial) = image(data)?;
    let dims: Vec<u64> = planes.iter().copied().chain(spatial.iter().map(|_| 1)).collect();
    let limits = Limits::of_elem(data.elem())?;
    if checked_len(cx, data.elem(), &dims)? == 0 {
        return uniform(data.elem(), &dims, &[]);
    }
    let size = volume(spatial)?;
    if size == 0 {
        return Err(OpError::unsupported("the image has no elements"));
    }
    let doubt = Doubt::default();
    let result: Vec<f64> = match pool {
        Pool::Max => {
            let values = comparable(cx, data)?;
            values.chunks_exact(size).map(|plane| plane.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect()
        }
        Pool::Average => {
            let values = doubles(cx, data)?;
            let means: Vec<f64> =
                values.chunks_exact(size).map(|plane| plane.iter().sum::<f64>() / size as f64).collect();
            certain_sums(cx, data.elem(), &values, size as f64, &means)?;
            means
        }
        Pool::Norm(p) => {
            let values = doubles(cx, data)?;
            let has_tiny = power(Extent::of(&values).least, p) < limits.least_normal;
            let sums = values.chunks_exact(size).map(|plane| plane.iter().map(|&x| power(x, p)).sum());
            let norm = |sum: f64| {
                doubt.note(!limits.is_within(sum, has_tiny && sum != 0.0));
                root(sum, p)
            };
            sums.map(norm).collect()
        }
    };
    doubt.settle(cx, rounded(data.elem(), &dims, &result), SUMS_DIFFER)
}

/// The places count through the result that the attributes imply.
fn max_unpool(cx: &EvalCx<'_>) -> Eval {
    let (data, places) = (cx.require(0)?, cx.require(1)?);
    if places.elem() != ElemType::INT64 {
        return Err(unsupported_elem(places.elem()));
    }
    if places.dims() != data.dims() {
        return Err(OpError::invalid(format_args!("places of shape {:?} for {:?}", places.dims(), data.dims())));
    }
    let (planes, spatial) = image(data)?;
    let dims = [planes, &Windows::unpooled(cx, spatial)?].concat();
    if let Some(shape) = cx.input(2)
        && !int_list(cx, shape, "the shape")?.iter().map(|&dim| dim as u64).eq(dims.iter().copied())
    {
        return Err(OpError::unsupported("a shape other than the one that the attributes imply"));
    }
    let len = checked_len(cx, data.elem(), &dims)?;
    let from = Elems::of(cx, data)?;
    let mut out = from.empty(len)?;
    out.repeat(&Elems::zero(data.elem()), 0, len);
    let mut is_taken = vec![false; len];
    for (at, &place) in int_values(cx, places, "the places")?.iter().enumerate() {
        let place = usize::try_from(place).ok().filter(|&place| place < len);
        let place = place.ok_or_else(|| OpError::invalid("a place is out of range"))?;
        if std::mem::replace(&mut is_taken[place], true) {
            return Err(OpError::unsupported("two maxima in one place"));
        }
        out.replace(place, &from, at, 1);
    }
    out.into_tensor(cx, data.elem(), &dims)
}
