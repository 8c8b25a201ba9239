//! Windows that slide over the spatial axes of an image: the common part of convolutions and pooling.

use crate::shared::{
    cx::{Eval, flag, named, opt_ints},
    shape::{Walk, sizes, strides, with_room},
};
use relais_operator_math::window::{AutoPad, WindowAxis};
use relais_plugin_api::op::{EvalCx, OpError};

/// The largest stride, dilation, padding or kernel: the product of two of them does not overflow, nor do sums of a few
/// products.
const MAX_STEP: i64 = 1 << 30;

/// The largest image.
const MAX_SIZE: i64 = 1 << 40;

/// The most runs that are kept.
const MAX_RUNS: usize = 1 << 20;

/// Windows next to each other, of each of which one element is in the image.
#[derive(Clone, Copy)]
pub struct Run {
    /// The place in the kernel of the element.
    pub tap: usize,
    /// The first window.
    pub window: usize,
    /// The place in the image of its element.
    pub pixel: usize,
    /// Elements of the image from one window to the next.
    pub step: usize,
    /// Windows.
    pub len: usize,
}

/// The windows over an image.
pub struct Windows {
    axes: Vec<WindowAxis>,
    /// Whether a last window reaches beyond the padding.
    pub overhangs: bool,
    /// Whether the padding is as much as keeps the size.
    pub keeps_size: bool,
    /// Whether elements of a window are apart from each other.
    pub is_dilated: bool,
}

/// A list with a number for each of `len` places; `default` if it is not given.
fn list(cx: &EvalCx<'_>, name: &str, len: usize, default: i64, least: i64) -> Eval<Vec<i64>> {
    let Some(values) = opt_ints(cx, name)?.filter(|values| !values.is_empty()) else { return Ok(vec![default; len]) };
    if values.len() != len {
        let message = format_args!("attribute `{name}` has {} values, not {len}", values.len());
        return Err(OpError::invalid(message));
    }
    if values.iter().any(|value| !(least..=MAX_STEP).contains(value)) {
        return Err(OpError::unsupported(format_args!("attribute `{name}` is {values:?}")));
    }
    Ok(values)
}

fn auto_pad(cx: &EvalCx<'_>) -> Eval<AutoPad> {
    named(cx, "auto_pad", AutoPad::of)
}

fn too_large() -> OpError {
    OpError::unsupported("the windows are too large")
}

impl Windows {
    /// The attributes of a call, for axes of these sizes, without padding or counts. The sizes of the kernel are those
    /// of `weight`, or an attribute.
    fn read(cx: &EvalCx<'_>, spatial: &[u64], weight: Option<&[u64]>) -> Eval<Self> {
        if spatial.is_empty() {
            return Err(OpError::invalid("there is no spatial axis"));
        }
        let n = spatial.len();
        let given = list(cx, "kernel_shape", n, 0, 1)?;
        let kernel = match weight {
            Some(weight) => weight.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect(),
            None => given.clone(),
        };
        if kernel.len() != n || given.iter().zip(&kernel).any(|(&given, &size)| given != 0 && given != size) {
            return Err(OpError::invalid(format_args!("a kernel of shape {kernel:?} for {n} axes")));
        }
        if kernel.iter().any(|size| !(1..=MAX_STEP).contains(size)) {
            return Err(OpError::unsupported(format_args!("a kernel of shape {kernel:?}")));
        }
        let (strides, dilations) = (list(cx, "strides", n, 1, 1)?, list(cx, "dilations", n, 1, 1)?);
        let mut axes = Vec::with_capacity(n);
        for (at, &size) in spatial.iter().enumerate() {
            let size = i64::try_from(size).ok().filter(|&size| size <= MAX_SIZE);
            let size = size.ok_or_else(|| OpError::unsupported("an image is too large"))?;
            let (kernel, stride, dilation) = (kernel[at], strides[at], dilations[at]);
            axes.push(WindowAxis { size, kernel, stride, dilation, before: 0, after: 0, count: 0 });
        }
        let is_dilated = dilations.iter().any(|&dilation| dilation != 1);
        Ok(Self { axes, overhangs: false, keeps_size: false, is_dilated })
    }

    /// As [`Windows::read`], for axes whose sizes are multiplied by the strides.
    fn read_spread(cx: &EvalCx<'_>, spatial: &[u64], weight: Option<&[u64]>) -> Eval<Self> {
        match spatial.iter().any(|&size| size > MAX_STEP as u64) {
            true => Err(OpError::unsupported("an image is too large")),
            false => Self::read(cx, spatial, weight),
        }
    }

    /// The windows over an image whose spatial axes have these sizes.
    pub fn over(cx: &EvalCx<'_>, spatial: &[u64], weight: Option<&[u64]>) -> Eval<Self> {
        let mut windows = Self::read(cx, spatial, weight)?;
        let auto_pad = auto_pad(cx)?;
        let n = spatial.len();
        let pads = if auto_pad == AutoPad::Given { list(cx, "pads", 2 * n, 0, 0)? } else { vec![0; 2 * n] };
        // Convolutions do not have the choice.
        let rounds_up = weight.is_none() && flag(cx, "ceil_mode")?;
        windows.keeps_size = auto_pad.keeps_size();
        for (at, axis) in windows.axes.iter_mut().enumerate() {
            if windows.keeps_size {
                axis.count = axis.kept_count();
                (axis.before, axis.after) = axis.kept_padding(auto_pad).ok_or_else(too_large)?;
                continue;
            }
            (axis.before, axis.after) = (pads[at], pads[at + n]);
            let fit = axis.fit().ok_or_else(|| OpError::unsupported("the image is smaller than a window"))?;
            axis.count = if rounds_up { fit.all } else { fit.filled };
            if axis.count != fit.filled {
                if auto_pad == AutoPad::Valid {
                    return Err(OpError::unsupported("`VALID` with a last window that is not filled"));
                }
                windows.overhangs = true;
            }
        }
        Ok(windows)
    }

    /// The windows of a transposed convolution, of which there is one for each element of its input, over its result.
    pub fn transposed(cx: &EvalCx<'_>, input: &[u64], weight: &[u64]) -> Eval<Self> {
        let mut windows = Self::read_spread(cx, input, Some(weight))?;
        let auto_pad = auto_pad(cx)?;
        let n = input.len();
        let extra = list(cx, "output_padding", n, 0, 0)?;
        let pads = list(cx, "pads", 2 * n, 0, 0)?;
        let stated = opt_ints(cx, "output_shape")?.filter(|sizes| !sizes.is_empty());
        if stated.as_ref().is_some_and(|sizes| sizes.len() != n) {
            return Err(OpError::unsupported("attribute `output_shape` is not the spatial shape"));
        }
        for (at, axis) in windows.axes.iter_mut().enumerate() {
            axis.count = axis.size;
            let whole = axis.whole(extra[at]).ok_or_else(too_large)?;
            let size = match &stated {
                Some(sizes) => Some(sizes[at]),
                None => auto_pad.keeps_size().then(|| axis.count * axis.stride),
            };
            (axis.before, axis.after) = match size {
                None if auto_pad == AutoPad::Valid => (0, 0),
                None => (pads[at], pads[at + n]),
                Some(size) => {
                    let total = whole.checked_sub(size).filter(|total| (-MAX_SIZE..=MAX_STEP).contains(total));
                    let total = total.filter(|total| stated.is_some() || *total >= 0);
                    let total = total.ok_or_else(|| OpError::unsupported("a result larger than its parts"))?;
                    if total > 0 && total % 2 != 0 && cx.version() < 11 {
                        return Err(OpError::unsupported("odd padding before operator-set version 11"));
                    }
                    let halves = auto_pad.transposed(whole, size);
                    let is_other = total > 0 && auto_pad == AutoPad::Given && halves != (pads[at], pads[at + n]);
                    if is_other && opt_ints(cx, "pads")?.is_some_and(|pads| !pads.is_empty()) {
                        return Err(OpError::unsupported("a shape and padding that contradict each other"));
                    }
                    halves
                }
            };
            axis.size = whole - axis.before - axis.after;
            if axis.size < 0 || axis.count == 0 {
                return Err(OpError::unsupported("a result without elements"));
            }
        }
        Ok(windows)
    }

    /// The sizes of the image that windows came from; there is one for each element of these axes.
    pub fn unpooled(cx: &EvalCx<'_>, counts: &[u64]) -> Eval<Vec<u64>> {
        let windows = Self::read_spread(cx, counts, None)?;
        let n = counts.len();
        let pads = list(cx, "pads", 2 * n, 0, 0)?;
        let sizes = windows.axes.iter().enumerate().map(|(at, axis)| {
            let size = (axis.size - 1) * axis.stride + axis.kernel - pads[at] - pads[at + n];
            u64::try_from(size).map_err(|_| OpError::invalid("the padding is larger than the image"))
        });
        sizes.collect()
    }

    /// The number of windows along each axis.
    pub fn counts(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.count as u64).collect()
    }

    /// The sizes of the image.
    pub fn image(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.size as u64).collect()
    }

    /// The number of elements of a window.
    pub fn n_taps(&self) -> f64 {
        self.axes.iter().map(|axis| axis.kernel as f64).product()
    }

    /// For each window, the number of its elements that are in the image or its padding.
    pub fn n_padded_taps(&self) -> Eval<Vec<f64>> {
        let counts = sizes(&self.counts())?;
        let mut walk = Walk::<0>::new(&counts, []);
        let mut all = Vec::new();
        loop {
            let taps = walk.position().iter().zip(&self.axes).map(|(&at, axis)| axis.n_padded(at as i64) as f64);
            let taps = taps.product();
            if walk.next().is_none() {
                return Ok(all);
            }
            all.push(taps);
        }
    }

    /// All elements of all windows that are in the image, those of one place in the kernel after those of another.
    pub fn runs(&self) -> Eval<Vec<Run>> {
        let too_many = || OpError::unsupported("the windows are too much work");
        let (counts, image) = (sizes(&self.counts())?, sizes(&self.image())?);
        let kernel: Vec<usize> = self.axes.iter().map(|axis| axis.kernel as usize).collect();
        let rows = kernel.iter().chain(&counts[..counts.len() - 1]);
        let n_rows = rows.fold(1usize, |product, &size| product.saturating_mul(size));
        if n_rows > MAX_RUNS {
            return Err(too_many());
        }
        let (window_strides, pixel_strides) = (strides(&counts), strides(&image));
        let steps: Vec<isize> = pixel_strides
            .iter()
            .zip(&self.axes)
            .map(|(stride, axis)| stride.wrapping_mul(axis.stride as isize))
            .collect();
        let mut runs: Vec<Run> = with_room(n_rows)?;
        let last = self.axes.len() - 1;
        let mut taps = Walk::<0>::new(&kernel, []);
        for tap in 0.. {
            let at = taps.position().to_vec();
            if taps.next().is_none() {
                break;
            }
            let inside: Vec<(i64, i64)> = at.iter().zip(&self.axes).map(|(&at, axis)| axis.inside(at as i64)).collect();
            if inside.iter().any(|(first, end)| first >= end) {
                continue;
            }
            let lens: Vec<usize> = inside.iter().map(|(first, end)| (end - first) as usize).collect();
            let (mut window, mut pixel) = (0, 0);
            for (i, axis) in self.axes.iter().enumerate() {
                let first = inside[i].0;
                window += first as isize * window_strides[i];
                pixel += (first * axis.stride + at[i] as i64 * axis.dilation - axis.before) as isize * pixel_strides[i];
            }
            for [windows, pixels] in Walk::new(&lens[..last], [&window_strides[..last], &steps[..last]]) {
                let (window, pixel) = ((window + windows) as usize, (pixel + pixels) as usize);
                let (step, len) = (steps[last] as usize, lens[last]);
                match runs.last_mut() {
                    Some(run)
                        if run.tap == tap && run.window + run.len == window && run.pixel + run.len * step == pixel =>
                    {
                        run.len += len;
                    }
                    _ => runs.push(Run { tap, window, pixel, step, len }),
                }
            }
        }
        Ok(runs)
    }
}

/// The steps that it takes to go through runs once.
pub fn n_steps(runs: &[Run]) -> u64 {
    runs.iter().map(|run| run.len as u64 + 1).sum()
}
