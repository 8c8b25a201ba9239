//! Windows that slide over spatial axes.

use super::{Made, Text, output_dims, sizes};
use crate::calls::{dims, list, named};
use relais_operator_math::window::{AutoPad, WindowAxis};
use relais_plugin_api::op::{OpCall, OpError};

/// How a window moves over the spatial axes.
pub struct Window {
    pub kernel: Vec<i64>,
    pub strides: Vec<i64>,
    pub dilations: Vec<i64>,
    /// Before all axes, then after all axes.
    pub pads: Vec<i64>,
    /// The spatial sizes of the input and of the output, if they are known.
    pub input: Option<Vec<i64>>,
    pub output: Option<Vec<i64>>,
}

impl Window {
    pub fn new(call: &OpCall<'_>, kernel: Vec<i64>) -> Result<Self, OpError> {
        let n = kernel.len();
        let of = |name: &str, len: usize, default: i64| match list(call, name, len, default)? {
            values if values.iter().all(|&value| value >= default) => Ok(values.to_vec()),
            values => Err(OpError::unsupported(format_args!("`{name}` is {values:?}"))),
        };
        let (strides, dilations) = (of("strides", n, 1)?, of("dilations", n, 1)?);
        let (x, y) = (dims(call, 0)?, output_dims(call, 0)?);
        if x.len() != n + 2 || y.len() != n + 2 {
            return Err(OpError::unsupported("its window has not as many axes as its input"));
        }
        let (input, output) = (sizes(&x[2..]), sizes(&y[2..]));
        let pads = match named(call, "auto_pad", AutoPad::of)? {
            AutoPad::Given => of("pads", 2 * n, 0)?,
            AutoPad::Valid => vec![0; 2 * n],
            same => {
                let (Some(input), Some(output)) = (&input, &output) else {
                    return Err(OpError::unsupported("its padding is computed from sizes that are not known"));
                };
                let padding = |at: usize| {
                    let (size, kernel, count) = (input[at], kernel[at], output[at]);
                    let (stride, dilation) = (strides[at], dilations[at]);
                    WindowAxis { size, kernel, stride, dilation, before: 0, after: 0, count }.kept_padding(same)
                };
                let pairs: Option<Vec<(i64, i64)>> = (0..n).map(padding).collect();
                let (before, after): (Vec<i64>, Vec<i64>) =
                    pairs.ok_or_else(|| OpError::unsupported("its window is too large"))?.into_iter().unzip();
                [before, after].concat()
            }
        };
        Ok(Self { kernel, strides, dilations, pads, input, output })
    }

    /// The input that the windows do not reach along an axis, if it is known.
    fn rest(&self, at: usize) -> Option<i64> {
        let n = self.kernel.len();
        if self.strides[at] == 1 {
            return Some(0);
        }
        let (input, output) = (self.input.as_ref()?[at], self.output.as_ref()?[at]);
        let reach = (output - 1) * self.strides[at] + self.dilations[at] * (self.kernel[at] - 1) + 1;
        Some(input + self.pads[at] + self.pads[n + at] - reach)
    }

    /// The attributes of the `ConvTranspose` that leads back, and whether it gives too much at the ends.
    pub fn back(&self, group: i64) -> (String, bool) {
        let rests: Option<Vec<i64>> = (0..self.kernel.len()).map(|at| self.rest(at)).collect();
        let most: Vec<i64> = self.strides.iter().map(|stride| stride - 1).collect();
        let fits = |rests: &Vec<i64>| rests.iter().zip(&most).all(|(&rest, &most)| (0..=most).contains(&rest));
        let rests = rests.filter(fits);
        let is_too_long = rests.is_none();
        let Self { kernel, strides, dilations, pads, .. } = self;
        let rests = rests.unwrap_or(most);
        let attrs = format!(
            "kernel_shape = {kernel:?}, strides = {strides:?}, dilations = {dilations:?}, pads = {pads:?}, output_padding \
             = {rests:?}, group = {group}"
        );
        (attrs, is_too_long)
    }
}

/// The beginning of a value along the spatial axes, as long as another one.
pub fn cut_like(t: &mut Text<'_, '_>, value: &str, like: &str, n_axes: usize) -> Made {
    if t.opset < 10 {
        return Err(OpError::unsupported("the sizes of its input are not known"));
    }
    let axes: Vec<usize> = (2..n_axes + 2).collect();
    let shape = t.shape(like);
    let ends = t.line(format_args!("Slice({shape}, [2], [{}])", n_axes + 2));
    Ok(t.line(format_args!("Slice({value}, {:?}, {ends}, {axes:?})", vec![0; n_axes])))
}
