//! Convolutions. Their sums are added up in double precision and rounded once, as those of matrix products.

use crate::{
    cast::cast,
    quantize::{Requantize, scalar_scale},
    shared::{
        cx::{Eval, bounded_work, int, not_cancelled, same_elem, table, unsupported_elem, with_elem},
        doubles::{double_list, doubles, rounded, volume},
        doubt::{Extent, Limits, certain_products, refuse},
        shape::{checked_len, uniform},
        window::{Run, Windows, n_steps},
    },
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "Conv" @ 1 => conv,
    "ConvTranspose" @ 1 => conv_transpose,
    "ConvInteger" @ 10 => conv_integer,
    "QLinearConv" @ 10 => qlinear_conv,
}

/// Adds the products of a plane of the data and a kernel to a plane of the result.
type AddPlane = dyn Fn(&[Run], &[f64], &[f64], &mut [f64]);

/// Makes the sums of a convolution of the data and the weight.
type Sums<'a> = dyn Fn(&[f64], &[f64]) -> Eval<Vec<f64>> + 'a;

/// The shapes of a convolution.
struct Shape {
    windows: Windows,
    /// The shape of the result.
    dims: Vec<u64>,
    batch: usize,
    n_groups: usize,
    /// Channels of a group, of the data.
    in_channels: usize,
    /// Channels of a group, of the result.
    out_channels: usize,
    /// Spatial elements of the data and of the result.
    in_size: usize,
    out_size: usize,
    /// Elements of a kernel.
    n_taps: usize,
}

fn n_groups(cx: &EvalCx<'_>, channels: u64) -> Eval<u64> {
    let group = int(cx, "group")?;
    let n_groups = u64::try_from(group).ok().filter(|&n| n > 0 && channels.is_multiple_of(n));
    n_groups.ok_or_else(|| OpError::invalid(format_args!("{channels} channels do not make {group} equal groups")))
}

fn mismatch(data: &Tensor, weight: &Tensor) -> OpError {
    OpError::invalid(format_args!("a weight of shape {:?} does not fit {:?}", weight.dims(), data.dims()))
}

impl Shape {
    fn of_conv(cx: &EvalCx<'_>, data: &Tensor, weight: &Tensor) -> Eval<Self> {
        let (&[batch, channels, ref spatial @ ..], &[out, per_group, ref kernel @ ..]) = (data.dims(), weight.dims())
        else {
            return Err(mismatch(data, weight));
        };
        let n_groups = n_groups(cx, out)?;
        if kernel.len() != spatial.len() || per_group.checked_mul(n_groups) != Some(channels) {
            return Err(mismatch(data, weight));
        }
        let windows = Windows::over(cx, spatial, Some(kernel))?;
        let counts = windows.counts();
        Self::new(windows, [batch, n_groups, per_group, out / n_groups], [spatial, kernel, &counts])
    }

    fn of_transposed(cx: &EvalCx<'_>, data: &Tensor, weight: &Tensor) -> Eval<Self> {
        let (&[batch, channels, ref spatial @ ..], &[same, out, ref kernel @ ..]) = (data.dims(), weight.dims()) else {
            return Err(mismatch(data, weight));
        };
        let n_groups = n_groups(cx, channels)?;
        if kernel.len() != spatial.len() || same != channels {
            return Err(mismatch(data, weight));
        }
        let windows = Windows::transposed(cx, spatial, kernel)?;
        let image = windows.image();
        Self::new(windows, [batch, n_groups, channels / n_groups, out], [spatial, kernel, &image])
    }

    fn new(windows: Windows, channels: [u64; 4], [spatial, kernel, result]: [&[u64]; 3]) -> Eval<Self> {
        let [batch, n_groups, per_group, out] = channels;
        let out_channels = volume(&[n_groups, out])? as u64;
        let size = |size: u64| volume(&[size]);
        Ok(Self {
            windows,
            dims: [&[batch, out_channels], result].concat(),
            batch: size(batch)?,
            n_groups: size(n_groups)?,
            in_channels: size(per_group)?,
            out_channels: size(out)?,
            in_size: volume(spatial)?,
            out_size: volume(result)?,
            n_taps: volume(kernel)?,
        })
    }

    /// Returns the result of calling `add` for each pair of a plane of the data and a plane of the result, with the
    /// kernel between them.
    fn for_each_pair(
        &self,
        cx: &EvalCx<'_>,
        [data, weight]: [&[f64]; 2],
        kernel_at: &dyn Fn(usize, usize, usize) -> usize,
        add: &AddPlane,
    ) -> Eval<Vec<f64>> {
        let mut result = vec![0.0; volume(&self.dims)?];
        if result.is_empty() || self.in_size == 0 {
            return Ok(result);
        }
        let runs = self.windows.runs()?;
        let all = [self.batch, self.n_groups, self.in_channels, self.out_channels].map(|n| n as u64);
        bounded_work(cx, all.into_iter().chain([n_steps(&runs)]))?;
        for (at, out) in result.chunks_exact_mut(self.out_size).enumerate() {
            not_cancelled(cx)?;
            let (image, channel) = (at / (self.n_groups * self.out_channels), at % (self.n_groups * self.out_channels));
            let (group, out_channel) = (channel / self.out_channels, channel % self.out_channels);
            for in_channel in 0..self.in_channels {
                let plane = (image * self.n_groups + group) * self.in_channels + in_channel;
                let kernel = kernel_at(group, in_channel, out_channel);
                add(
                    &runs,
                    &data[plane * self.in_size..][..self.in_size],
                    &weight[kernel * self.n_taps..][..self.n_taps],
                    out,
                );
            }
        }
        Ok(result)
    }

    /// The sums of a convolution.
    fn convolve(&self, cx: &EvalCx<'_>, data: &[f64], weight: &[f64]) -> Eval<Vec<f64>> {
        let kernel_at =
            |group, in_channel, out_channel| (group * self.out_channels + out_channel) * self.in_channels + in_channel;
        self.for_each_pair(cx, [data, weight], &kernel_at, &|runs, plane, kernel, out| {
            for run in runs {
                let (factor, sums) = (kernel[run.tap], &mut out[run.window..][..run.len]);
                if run.step == 1 {
                    let pixels = &plane[run.pixel..][..run.len];
                    sums.iter_mut().zip(pixels).for_each(|(sum, x)| *sum += factor * x);
                } else {
                    let pixels = plane[run.pixel..].iter().step_by(run.step);
                    sums.iter_mut().zip(pixels).for_each(|(sum, x)| *sum += factor * x);
                }
            }
        })
    }

    /// The sums of a transposed convolution.
    fn spread(&self, cx: &EvalCx<'_>, data: &[f64], weight: &[f64]) -> Eval<Vec<f64>> {
        let kernel_at =
            |group, in_channel, out_channel| (group * self.in_channels + in_channel) * self.out_channels + out_channel;
        self.for_each_pair(cx, [data, weight], &kernel_at, &|runs, plane, kernel, out| {
            for run in runs {
                let (factor, values) = (kernel[run.tap], &plane[run.window..][..run.len]);
                let sums = out[run.pixel..].iter_mut().step_by(run.step);
                sums.zip(values).for_each(|(sum, x)| *sum += factor * x);
            }
        })
    }

    /// Adds a number to each channel of a result.
    fn add_bias(&self, result: &mut [f64], bias: &[f64]) {
        if self.out_size > 0 {
            for (plane, bias) in result.chunks_exact_mut(self.out_size).zip(bias.iter().cycle()) {
                plane.iter_mut().for_each(|sum| *sum += bias);
            }
        }
    }

    /// The number of products in a sum.
    fn n_products(&self) -> f64 {
        self.n_taps as f64 * self.in_channels as f64
    }
}

fn conv(cx: &EvalCx<'_>) -> Eval {
    let (data, weight) = (cx.require(0)?, cx.require(1)?);
    same_elem(data, weight)?;
    let shape = Shape::of_conv(cx, data, weight)?;
    of_floats(cx, &shape, &|x, w| shape.convolve(cx, x, w), &|_| true)
}

/// A sum to which no element contributes is the zero that it begins with.
fn conv_transpose(cx: &EvalCx<'_>) -> Eval {
    let (data, weight) = (cx.require(0)?, cx.require(1)?);
    same_elem(data, weight)?;
    let shape = Shape::of_transposed(cx, data, weight)?;
    let mut is_reached = vec![false; shape.out_size.min(checked_len(cx, data.elem(), &shape.dims)?)];
    if !is_reached.is_empty() {
        for run in shape.windows.runs()? {
            is_reached[run.pixel..].iter_mut().step_by(run.step).take(run.len).for_each(|pixel| *pixel = true);
        }
    }
    of_floats(cx, &shape, &|x, w| shape.spread(cx, x, w), &|pixel| is_reached[pixel % is_reached.len()])
}

/// Convolves floats, and adds the bias. `is_sum` is whether an element of the result is a sum of products.
fn of_floats(cx: &EvalCx<'_>, shape: &Shape, sums: &Sums<'_>, is_sum: &dyn Fn(usize) -> bool) -> Eval {
    let (data, weight) = (cx.require(0)?, cx.require(1)?);
    let (elem, limits) = (data.elem(), Limits::of_elem(data.elem())?);
    if checked_len(cx, elem, &shape.dims)? == 0 {
        return uniform(elem, &shape.dims, &[]);
    }
    let (x, w) = (doubles(cx, data)?, doubles(cx, weight)?);
    let mut result = sums(&x, &w)?;
    let (x, w) = (Extent::of(&x), Extent::of(&w));
    let mut has_negative = x.has_negative || w.has_negative;
    if let Some(bias) = cx.input(2) {
        same_elem(data, bias)?;
        let bias = double_list(cx, bias, shape.dims[1], "the bias")?;
        shape.add_bias(&mut result, &bias);
        let bias = Extent::of(&bias);
        let is_shaky = !limits.is_within(bias.largest, false) || bias.least < limits.least_normal;
        refuse(cx, is_shaky, "a bias is near the limits of the type")?;
        has_negative |= bias.has_negative;
    }
    let has_zero = has_negative && result.iter().enumerate().any(|(at, &sum)| sum == 0.0 && is_sum(at));
    certain_products(cx, limits, [x, w], shape.n_products(), has_zero)?;
    rounded(elem, &shape.dims, &result)
}

/// The elements of an 8-bit tensor less its zero point, which is one for all, or one for each block.
fn centred(cx: &EvalCx<'_>, tensor: &Tensor, zero: Option<&Tensor>, n_blocks: u64) -> Eval<Vec<f64>> {
    if !matches!(tensor.elem(), ElemType::INT8 | ElemType::UINT8) {
        return Err(unsupported_elem(tensor.elem()));
    }
    let mut values = doubles(cx, &cast(cx, tensor, ElemType::DOUBLE)?)?;
    let Some(zero) = zero else { return Ok(values) };
    same_elem(tensor, zero)?;
    let zero = cast(cx, zero, ElemType::DOUBLE)?;
    let zeros = if zero.len() == 1 { doubles(cx, &zero)? } else { double_list(cx, &zero, n_blocks, "the zero point")? };
    if !values.is_empty() {
        let block = values.len() / zeros.len();
        for (block, zero) in values.chunks_exact_mut(block).zip(&zeros) {
            block.iter_mut().for_each(|x| *x -= zero);
        }
    }
    Ok(values)
}

/// The sums of a convolution of 8-bit integers, which doubles hold exactly.
fn sums_of_integers(
    cx: &EvalCx<'_>,
    shape: &Shape,
    [x, w]: [&Tensor; 2],
    zeros: [Option<&Tensor>; 2],
) -> Eval<Vec<f64>> {
    if zeros[0].is_some_and(|zero| zero.len() != 1) {
        return Err(OpError::unsupported("more than one zero point of the data"));
    }
    let (x, w) = (centred(cx, x, zeros[0], 1)?, centred(cx, w, zeros[1], w.dims()[0])?);
    shape.convolve(cx, &x, &w)
}

fn conv_integer(cx: &EvalCx<'_>) -> Eval {
    let (data, weight) = (cx.require(0)?, cx.require(1)?);
    let shape = Shape::of_conv(cx, data, weight)?;
    checked_len(cx, ElemType::INT32, &shape.dims)?;
    let sums = sums_of_integers(cx, &shape, [data, weight], [cx.input(2), cx.input(3)])?;
    let bytes = sums.iter().flat_map(|&sum| (sum as i64 as i32).to_le_bytes()).collect::<Vec<u8>>();
    with_elem(ElemType::INT32, &shape.dims, bytes)
}

/// The weight has one scale, or one for each channel of the result.
fn qlinear_conv(cx: &EvalCx<'_>) -> Eval {
    let (data, weight) = (cx.require(0)?, cx.require(3)?);
    let shape = Shape::of_conv(cx, data, weight)?;
    checked_len(cx, ElemType::INT32, &shape.dims)?;
    let mut sums = sums_of_integers(cx, &shape, [data, weight], [Some(cx.require(2)?), Some(cx.require(5)?)])?;
    if let Some(bias) = cx.input(8) {
        if bias.elem() != ElemType::INT32 {
            return Err(unsupported_elem(bias.elem()));
        }
        shape.add_bias(&mut sums, &double_list(cx, &cast(cx, bias, ElemType::DOUBLE)?, shape.dims[1], "the bias")?);
    }
    let scale = scalar_scale(cx, 1)? / scalar_scale(cx, 6)?;
    let scales = match cx.require(4)? {
        scales if scales.len() == 1 => vec![scalar_scale(cx, 4)?; shape.dims[1] as usize],
        scales => double_list(cx, scales, shape.dims[1], "the scale of the weight")?,
    };
    let rounding = Requantize::new(cx, 7, cx.require(1)?.elem())?;
    let mut bytes = Vec::with_capacity(sums.len());
    for (plane, of_weight) in sums.chunks_exact(shape.out_size.max(1)).zip(scales.iter().cycle()) {
        bytes.extend(plane.iter().map(|&sum| rounding.round(sum, scale * of_weight)));
    }
    rounding.into_tensor(cx, &shape.dims, bytes)
}
