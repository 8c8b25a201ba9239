//! Normalisations: numbers less their mean, divided by their deviation or their norm.
//!
//! They are computed in double precision and rounded once. Where the deviation is small compared with the mean, results
//! depend on how a runtime adds up, and nothing is evaluated.

use crate::shared::{
    cx::{Eval, flag, float, int, ints, same_elem, table},
    doubles::{double_list, doubles, for_each_line, rounded, spread_doubles, volume},
    doubt::{Doubt, Limits, refuse},
    shape::{axes, checked_len, uniform},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError, shapes::axis_of},
};

table! {
    "BatchNormalization" @ 1 => batch_normalization,
    "InstanceNormalization" @ 1 => instance_normalization,
    "GroupNormalization" @ 18 => group_normalization,
    "LayerNormalization" @ 17 => layer_normalization,
    "RMSNormalization" @ 23 => rms_normalization,
    "LRN" @ 1 => local_response_normalization,
    "LpNormalization" @ 1 => lp_normalization,
    "MeanVarianceNormalization" @ 9 => mean_variance_normalization,
}

const SHAKY: &str = "the deviation is too small compared with the mean, or accumulators may overflow or underflow";

/// How far the variance must be above the rounding error of the squared mean.
const MARGIN: f64 = 16384.0;

/// Subtracts the mean of a line and divides by its deviation. Returns the mean and the divisor's reciprocal, and notes
/// where runtimes may give something else.
fn standardize(line: &mut [f64], epsilon: f64, limits: Limits, doubt: &Doubt) -> (f64, f64) {
    let n = line.len() as f64;
    let mean = line.iter().sum::<f64>() / n;
    let variance = line.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    let divisor = variance + epsilon;
    let size = line.iter().map(|x| x * x).filter(|x| x.is_finite()).sum::<f64>();
    doubt.note(divisor <= 0.0 || limits.unit * mean * mean * MARGIN > divisor);
    doubt.note(!limits.is_within(size, size != 0.0 && epsilon < limits.least_normal));
    let scale = 1.0 / divisor.sqrt();
    line.iter_mut().for_each(|x| *x = (*x - mean) * scale);
    (mean, scale)
}

/// The data and its number of channels, of which the axes after the second have one value each.
fn channels(data: &Tensor) -> Eval<(u64, usize)> {
    match data.dims() {
        [_] => Ok((1, 1)),
        [_, channels, rest @ ..] => Ok((*channels, volume(rest)?)),
        [] => Err(OpError::invalid("the data is a scalar")),
    }
}

/// With the given mean and variance, not those of the data.
fn batch_normalization(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let is_training = match cx.version() {
        ..7 => !flag(cx, "is_test")?,
        7..14 => false,
        _ => flag(cx, "training_mode")?,
    };
    if is_training || cx.n_outputs() > 1 {
        return Err(OpError::unsupported("a normalisation in training"));
    }
    if cx.version() < 9 && !flag(cx, "spatial")? {
        return Err(OpError::unsupported("a normalisation with a mean for each element"));
    }
    let limits = Limits::of_elem(data.elem())?;
    if data.is_empty() {
        return uniform(data.elem(), data.dims(), &[]);
    }
    checked_len(cx, data.elem(), data.dims())?;
    let (n_channels, size) = channels(data)?;
    let parameter = |index: usize, what: &str| double_list(cx, cx.require(index)?, n_channels, what);
    let (scale, bias) = (parameter(1, "the scale")?, parameter(2, "the bias")?);
    let (mean, variance) = (parameter(3, "the mean")?, parameter(4, "the variance")?);
    let epsilon = float(cx, "epsilon")?;
    let mut values = doubles(cx, data)?;
    let doubt = Doubt::default();
    for (plane, channel) in values.chunks_exact_mut(size).zip((0..scale.len()).cycle()) {
        let divisor = variance[channel] + epsilon;
        let (scale, bias, mean) = (scale[channel] / divisor.sqrt(), bias[channel], mean[channel]);
        doubt
            .note(divisor <= 0.0 || !(scale.is_finite() && limits.is_within((mean * scale).abs() + bias.abs(), false)));
        for x in plane {
            doubt.note(x.is_finite() && !limits.is_within((*x * scale).abs() + x.abs(), false));
            *x = (*x - mean) * scale + bias;
        }
    }
    doubt.settle(cx, rounded(data.elem(), data.dims(), &values), "a scale or a product is near the limits of the type")
}

fn instance_normalization(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let (n_channels, size) = channels(data)?;
    in_groups(cx, data, size, n_channels, 1)
}

/// The scale and bias are one for each group before version 21, and then one for each channel.
fn group_normalization(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let (n_channels, size) = channels(data)?;
    let n_groups = int(cx, "num_groups")?;
    let n_groups = u64::try_from(n_groups).ok().filter(|&n| n > 0 && n_channels.is_multiple_of(n));
    let Some(n_groups) = n_groups else {
        return Err(OpError::invalid(format_args!("{n_channels} channels do not make equal groups")));
    };
    single_stash(cx, data)?;
    let per_group = (n_channels / n_groups) as usize;
    match cx.version() {
        ..21 => in_groups(cx, data, size.saturating_mul(per_group), n_groups, 1),
        _ => in_groups(cx, data, size.saturating_mul(per_group), n_channels, per_group),
    }
}

/// Standardises blocks of `size` elements, each of which consists of `n_parts` with a scale and a bias of their own.
fn in_groups(cx: &EvalCx<'_>, data: &Tensor, size: usize, n_scales: u64, n_parts: usize) -> Eval {
    if data.dims().len() < 2 {
        return Err(OpError::invalid(format_args!("data of rank {} has no channels", data.dims().len())));
    }
    let limits = Limits::of_accumulator(data.elem())?;
    let (scale, bias) = (cx.require(1)?, cx.require(2)?);
    same_elem(data, scale)?;
    let (scale, bias) = (double_list(cx, scale, n_scales, "the scale")?, double_list(cx, bias, n_scales, "the bias")?);
    if data.is_empty() {
        return uniform(data.elem(), data.dims(), &[]);
    }
    checked_len(cx, data.elem(), data.dims())?;
    let epsilon = float(cx, "epsilon")?;
    let mut values = doubles(cx, data)?;
    let doubt = Doubt::default();
    values.chunks_exact_mut(size).for_each(|block| {
        standardize(block, epsilon, limits, &doubt);
    });
    for (part, at) in values.chunks_exact_mut(size / n_parts).zip((0..scale.len()).cycle()) {
        part.iter_mut().for_each(|x| *x = *x * scale[at] + bias[at]);
    }
    doubt.settle(cx, rounded(data.elem(), data.dims(), &values), SHAKY)
}

/// Refuses a first stage in another type than `float32`, and of doubles, which some runtimes keep as they are.
fn single_stash(cx: &EvalCx<'_>, data: &Tensor) -> Eval<()> {
    let is_staged = cx.op_name() != "GroupNormalization" || cx.version() >= 21;
    match int(cx, "stash_type")? {
        _ if !is_staged => Ok(()),
        1 => refuse(cx, data.elem() == ElemType::DOUBLE, "doubles that are normalised as `float32`"),
        other => Err(OpError::unsupported(format_args!("a first stage in element type {other}"))),
    }
}

/// The last axes that are normalised together, and the number of elements in them.
struct LastAxes<'a> {
    first: usize,
    dims: &'a [u64],
    size: usize,
}

impl<'a> LastAxes<'a> {
    fn of(cx: &EvalCx<'_>, data: &'a Tensor) -> Eval<Self> {
        single_stash(cx, data)?;
        let first = axis_of(int(cx, "axis")?, data.dims().len())?;
        if data.is_empty() {
            return Err(OpError::unsupported("the mean of nothing"));
        }
        checked_len(cx, data.elem(), data.dims())?;
        let dims = &data.dims()[first..];
        Ok(Self { first, dims, size: volume(dims)? })
    }

    /// A scale or bias, for the last axes or for all of them.
    fn factor(&self, cx: &EvalCx<'_>, data: &Tensor, factor: &Tensor, what: &str) -> Eval<Vec<f64>> {
        same_elem(data, factor)?;
        let dims = if factor.dims().len() > self.dims.len() { data.dims() } else { self.dims };
        spread_doubles(cx, factor, dims, what)
    }
}

fn layer_normalization(cx: &EvalCx<'_>) -> Eval<Vec<Tensor>> {
    let data = cx.require(0)?;
    let last = LastAxes::of(cx, data)?;
    let scale = last.factor(cx, data, cx.require(1)?, "the scale")?;
    let bias = cx.input(2).map(|bias| last.factor(cx, data, bias, "the bias")).transpose()?;
    let (epsilon, limits) = (float(cx, "epsilon")?, Limits::of_accumulator(data.elem())?);
    let mut values = doubles(cx, data)?;
    let doubt = Doubt::default();
    let (means, scales): (Vec<f64>, Vec<f64>) =
        values.chunks_exact_mut(last.size).map(|line| standardize(line, epsilon, limits, &doubt)).unzip();
    values.iter_mut().zip(scale.iter().cycle()).for_each(|(x, scale)| *x *= scale);
    if let Some(bias) = bias {
        values.iter_mut().zip(bias.iter().cycle()).for_each(|(x, bias)| *x += bias);
    }
    let mut dims = data.dims().to_vec();
    dims[last.first..].fill(1);
    checked_len(cx, ElemType::FLOAT, &dims)?;
    let results = vec![
        rounded(data.elem(), data.dims(), &values)?,
        rounded(ElemType::FLOAT, &dims, &means)?,
        rounded(ElemType::FLOAT, &dims, &scales)?,
    ];
    doubt.settle(cx, Ok(results), SHAKY)
}

fn rms_normalization(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let last = LastAxes::of(cx, data)?;
    let scale = last.factor(cx, data, cx.require(1)?, "the scale")?;
    let (epsilon, limits) = (float(cx, "epsilon")?, Limits::of_accumulator(data.elem())?);
    let mut values = doubles(cx, data)?;
    let doubt = Doubt::default();
    for line in values.chunks_exact_mut(last.size) {
        let size = line.iter().map(|x| x * x).sum::<f64>();
        let divisor = size / line.len() as f64 + epsilon;
        doubt.note(divisor <= 0.0 || (size.is_finite() && !limits.is_within(size, epsilon < limits.least_normal)));
        let root = divisor.sqrt();
        line.iter_mut().for_each(|x| *x /= root);
    }
    values.iter_mut().zip(scale.iter().cycle()).for_each(|(x, scale)| *x *= scale);
    doubt.settle(cx, rounded(data.elem(), data.dims(), &values), SHAKY)
}

/// Each element divided by a power of the squares in the channels around it.
fn local_response_normalization(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let (alpha, beta, bias) = (float(cx, "alpha")?, float(cx, "beta")?, float(cx, "bias")?);
    let width = int(cx, "size")?;
    let Some(width) = usize::try_from(width).ok().filter(|&width| width > 0) else {
        return Err(OpError::invalid(format_args!("attribute `size` is {width}")));
    };
    let limits = Limits::of_elem(data.elem())?;
    let &[_, n_channels, ref rest @ ..] = data.dims() else {
        return Err(OpError::invalid(format_args!("data of rank {} has no channels", data.dims().len())));
    };
    if data.is_empty() {
        return uniform(data.elem(), data.dims(), &[]);
    }
    checked_len(cx, data.elem(), data.dims())?;
    crate::shared::cx::bounded_work(cx, [data.len(), n_channels.min(width as u64)])?;
    let n_channels = n_channels as usize;
    let mut values = doubles(cx, data)?;
    let doubt = Doubt::default();
    let mut squares = vec![0.0; n_channels];
    for_each_line(&mut values, n_channels, volume(rest)?, &mut |line| {
        squares.iter_mut().zip(&*line).for_each(|(square, x)| *square = x * x);
        for (channel, x) in line.iter_mut().enumerate() {
            let first = channel.saturating_sub((width - 1) / 2);
            let end = channel.saturating_add(width / 2 + 1).min(n_channels);
            let sum = squares[first..end].iter().sum::<f64>();
            let base = bias + alpha / width as f64 * sum;
            doubt.note(base.is_nan() || base < limits.least_normal || !limits.is_within(sum.max(base), false));
            *x /= base.powf(beta);
        }
    });
    doubt.settle(cx, rounded(data.elem(), data.dims(), &values), SHAKY)
}

/// Elements whose norm is zero stay zero.
fn lp_normalization(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let at = axis_of(int(cx, "axis")?, data.dims().len())?;
    let is_square = match int(cx, "p")? {
        1 => false,
        2 => true,
        other => return Err(OpError::invalid(format_args!("attribute `p` is {other}, not 1 or 2"))),
    };
    let limits = Limits::of_elem(data.elem())?;
    if data.is_empty() {
        return uniform(data.elem(), data.dims(), &[]);
    }
    checked_len(cx, data.elem(), data.dims())?;
    let (len, stride) = (volume(&data.dims()[at..=at])?, volume(&data.dims()[at + 1..])?);
    let mut values = doubles(cx, data)?;
    let doubt = Doubt::default();
    for_each_line(&mut values, len, stride, &mut |line| {
        let terms = line.iter().map(|x| if is_square { x * x } else { x.abs() });
        let (sum, least) = terms
            .fold((0.0, f64::INFINITY), |(sum, least), x: f64| (sum + x, if x == 0.0 { least } else { least.min(x) }));
        // The reference evaluator adds the elements up as they are.
        doubt.note(!is_square && line.iter().any(|x| x.is_sign_negative()));
        doubt.note(sum.is_nan() || !limits.is_within(sum, least < limits.least_normal));
        let norm = if is_square { sum.sqrt() } else { sum };
        if norm != 0.0 {
            line.iter_mut().for_each(|x| *x /= norm);
        }
    });
    doubt.settle(cx, rounded(data.elem(), data.dims(), &values), SHAKY)
}

/// The divisor is the deviation and a small number, which does not depend on it.
fn mean_variance_normalization(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let rank = data.dims().len();
    let list = ints(cx, "axes")?;
    let mut is_reduced = vec![false; rank];
    axes(&list, rank)?.into_iter().for_each(|at| is_reduced[at] = true);
    let limits = Limits::of_elem(data.elem())?;
    if data.is_empty() {
        return uniform(data.elem(), data.dims(), &[]);
    }
    let len = checked_len(cx, data.elem(), data.dims())?;
    let values = doubles(cx, data)?;
    // The group of each element: its place along the axes that stay.
    let kept: Vec<u64> = (0..rank).map(|at| if is_reduced[at] { 1 } else { data.dims()[at] }).collect();
    let n_groups = volume(&kept)?;
    let strides = crate::shared::shape::broadcast_strides(&kept, data.dims())?;
    let groups =
        || crate::shared::shape::Walk::new(&crate::shared::shape::sizes(data.dims()).unwrap_or_default(), [&strides]);
    let mut means = vec![0.0; n_groups];
    let mut squares = vec![0.0; n_groups];
    let count = (len / n_groups) as f64;
    for (&x, [group]) in values.iter().zip(groups()) {
        means[group as usize] += x;
        squares[group as usize] += x * x;
    }
    means.iter_mut().for_each(|mean| *mean /= count);
    let mut variances = vec![0.0; n_groups];
    for (&x, [group]) in values.iter().zip(groups()) {
        let group = group as usize;
        variances[group] += (x - means[group]) * (x - means[group]) / count;
    }
    let doubt = Doubt::default();
    for ((mean, variance), square) in means.iter().zip(&variances).zip(&squares) {
        doubt.note(limits.unit * mean * mean * MARGIN > *variance || !limits.is_within(*square, true));
    }
    let out: Vec<f64> = values
        .iter()
        .zip(groups())
        .map(|(&x, [group])| (x - means[group as usize]) / (variances[group as usize].sqrt() + 1e-9))
        .collect();
    doubt.settle(cx, rounded(data.elem(), data.dims(), &out), SHAKY)
}
