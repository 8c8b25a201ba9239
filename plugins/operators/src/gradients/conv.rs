//! Convolutions.

use super::{Made, Text, dims, output_dims, sizes};
use relais_plugin_api::op::{OpCall, OpError};

/// How a window moves over the spatial axes.
pub(super) struct Window {
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
        let attrs = call.attrs();
        let of = |name: &str, default: i64| match attrs.ints(name).filter(|values| !values.is_empty()) {
            None => Ok(vec![default; n]),
            Some(values) if values.len() == n && values.iter().all(|&value| value > 0) => Ok(values),
            Some(_) => Err(OpError::unsupported(format_args!("`{name}` is not one positive number for each axis"))),
        };
        let (strides, dilations) = (of("strides", 1)?, of("dilations", 1)?);
        let (x, y) = (dims(call, 0)?, output_dims(call, 0)?);
        if x.len() != n + 2 || y.len() != n + 2 {
            return Err(OpError::unsupported("its window has not as many axes as its input"));
        }
        let (input, output) = (sizes(&x[2..]), sizes(&y[2..]));
        let pads = match attrs.str("auto_pad").unwrap_or("NOTSET") {
            "NOTSET" => match attrs.ints("pads").filter(|pads| !pads.is_empty()) {
                None => vec![0; 2 * n],
                Some(pads) if pads.len() == 2 * n && pads.iter().all(|&pad| pad >= 0) => pads,
                Some(_) => return Err(OpError::unsupported("`pads` is negative or has another length")),
            },
            "VALID" => vec![0; 2 * n],
            same => {
                let (Some(input), Some(output)) = (&input, &output) else {
                    return Err(OpError::unsupported("its padding is computed from sizes that are not known"));
                };
                let total = |at: usize| {
                    let reach = (output[at] - 1) * strides[at] + dilations[at] * (kernel[at] - 1) + 1;
                    (reach - input[at]).max(0)
                };
                let less = |at: usize| total(at) / 2;
                let more = |at: usize| total(at) - total(at) / 2;
                match same {
                    "SAME_UPPER" => (0..n).map(less).chain((0..n).map(more)).collect(),
                    "SAME_LOWER" => (0..n).map(more).chain((0..n).map(less)).collect(),
                    other => return Err(OpError::unsupported(format_args!("`auto_pad` is `{other}`"))),
                }
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
pub(super) fn cut_like(t: &mut Text<'_, '_>, value: &str, like: &str, n_axes: usize) -> Made {
    if t.opset < 10 {
        return Err(OpError::unsupported("the sizes of its input are not known"));
    }
    let axes: Vec<usize> = (2..n_axes + 2).collect();
    let shape = t.shape(like);
    let ends = t.line(format_args!("Slice({shape}, [2], [{}])", n_axes + 2));
    Ok(t.line(format_args!("Slice({value}, {:?}, {ends}, {axes:?})", vec![0; n_axes])))
}

/// `Conv`: the input's gradient is a transposed convolution of the result's, the weights' one of the input with it.
pub fn conv(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let of_w = dims(call, 1)?;
    let unknown = || OpError::unsupported("the shape of its weights is not known");
    let shape = sizes(&of_w).filter(|shape| shape.len() > 2).ok_or_else(unknown)?;
    let (per_group, kernel) = (shape[1], shape[2..].to_vec());
    let window = Window::new(call, kernel.clone())?;
    let (n, group) = (kernel.len(), call.attrs().int("group").unwrap_or(1));
    // The input.
    let (attrs, is_too_long) = window.back(group);
    let mut x = t.line(format_args!("ConvTranspose(%d0, %a1, {attrs})"));
    if is_too_long {
        x = cut_like(&mut t, &x, "%a0", n)?;
    }
    // The weights: channels take the place of the batch, and steps and distances change places.
    let mut swap: Vec<usize> = (0..n + 2).collect();
    swap.swap(0, 1);
    let mut turned = t.line(format_args!("Transpose(%a0, perm = {swap:?})"));
    if group != 1 {
        if t.opset < 10 {
            return Err(OpError::unsupported("it has groups"));
        }
        // The channels of each group, one group after another.
        let groups = t.line(format_args!("Reshape({turned}, [{group}, {per_group}, -1])"));
        let channels = t.line(format_args!("Transpose({groups}, perm = [1, 0, 2])"));
        let all = t.shape("%a0");
        let spatial = t.line(format_args!("Slice({all}, [2], [{}])", n + 2));
        let shape = t.line(format_args!("Concat([{per_group}, -1], {spatial}, axis = 0)"));
        turned = t.line(format_args!("Reshape({channels}, {shape})"));
    }
    let gradient = t.line(format_args!("Transpose(%d0, perm = {swap:?})"));
    let Window { strides, dilations, pads, .. } = &window;
    let w = t.line(format_args!(
        "Conv({turned}, {gradient}, strides = {dilations:?}, dilations = {strides:?}, pads = {pads:?}, group = {group})"
    ));
    let mut w = t.line(format_args!("Transpose({w}, perm = {swap:?})"));
    if strides.iter().any(|&stride| stride > 1) {
        if t.opset < 10 {
            return Err(OpError::unsupported("it has strides, and before version 10 `Slice` has no arguments"));
        }
        let axes: Vec<usize> = (2..n + 2).collect();
        w = t.line(format_args!("Slice({w}, {:?}, {kernel:?}, {axes:?})", vec![0; n]));
    }
    let mut outer = vec![0];
    outer.extend(2..n as i64 + 2);
    let b = t.sum_away("%d0", &outer);
    t.gives([x, w, b])
}
