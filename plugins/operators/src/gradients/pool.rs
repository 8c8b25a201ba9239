//! Pooling.

use super::shared::{
    Made, Text, int_text, ints_text,
    picked::scattered,
    ratio::{ratio, shared},
    window::{Window, cut_like},
};
use crate::calls::{dims, elem, flag, int, opt_ints, opt_string};
use relais_plugin_api::op::{OpCall, OpError};

/// The window of a pooling operator.
fn window(call: &OpCall<'_>) -> Result<Window, OpError> {
    let kernel = opt_ints(call, "kernel_shape")?.filter(|kernel| !kernel.is_empty());
    Window::new(call, kernel.ok_or_else(|| OpError::unsupported("`kernel_shape` is missing"))?.to_vec())
}

/// The attributes of the call that say where its windows are.
fn attrs(call: &OpCall<'_>) -> Made {
    let auto_pad = opt_string(call, "auto_pad")?.map_or_else(String::new, |pad| format!(", auto_pad = \"{pad}\""));
    let lists = ints_text(call, &["kernel_shape", "strides", "dilations", "pads"])?;
    Ok(lists + &int_text(call, "ceil_mode")? + &auto_pad)
}

/// `MaxPool`: the gradient goes to where the greatest elements were.
pub fn max_pool(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let window = window(call)?;
    let overlaps = window.strides.iter().zip(&window.kernel).any(|(stride, kernel)| stride < kernel)
        || window.dilations.iter().any(|&dilation| dilation != 1);
    let adding = match (overlaps, t.opset) {
        (_, 16..) => ", reduction = \"add\"",
        (false, 11..) => "",
        (true, 11..) => return Err(OpError::unsupported("before version 16, `ScatterElements` does not add")),
        _ => return Err(OpError::unsupported("before version 11, there is no `ScatterElements`")),
    };
    let pooled = t.line(format_args!("MaxPool(%a0{}) -> 2", attrs(call)?));
    let positions = t.line(format_args!("{pooled}[1]"));
    // A model may not leave the first result out, so it is used.
    let (values, zero) = (t.line(format_args!("{pooled}[0]")), t.scalar(elem(call, 0)?, 0.0));
    let is_it = t.line(format_args!("Equal({values}, %y0)"));
    let gradient = t.line(format_args!("Where({is_it}, %d0, {zero})"));
    let n = t.line("Size(%a0)");
    let x = scattered(&mut t, &n, &positions, &gradient, adding)?;
    t.gives([x])
}

/// `AveragePool`: a transposed convolution with ones, of each channel alone.
pub fn average_pool(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let (window, elem) = (window(call)?, elem(call, 0)?);
    if flag(call, "ceil_mode")? {
        return Err(OpError::unsupported("`ceil_mode` is set"));
    }
    if t.opset < 10 {
        return Err(OpError::unsupported("before version 10, `Slice` has no arguments"));
    }
    let n = window.kernel.len();
    let count: i64 = window.kernel.iter().product();
    let full = t.scalar(elem, count as f64);
    let is_padded = window.pads.iter().any(|&pad| pad != 0);
    let mut size = full.clone();
    if is_padded && int(call, "count_include_pad")? == 0 {
        // How many elements of each window are not padding.
        let one = t.scalar(elem, 1.0);
        let ones = t.spread_like(&one, "%a0");
        let part = t.line(format_args!("AveragePool({ones}{}, count_include_pad = 1)", attrs(call)?));
        size = t.line(format_args!("Mul({part}, {full})"));
    }
    let each = t.line(format_args!("Div(%d0, {size})"));
    let alone = |t: &mut Text<'_, '_>, value: &str| {
        let shape = t.shape(value);
        let spatial = t.line(format_args!("Slice({shape}, [2], [{}])", n + 2));
        let shape = t.line(format_args!("Concat([-1, 1], {spatial}, axis = 0)"));
        t.line(format_args!("Reshape({value}, {shape})"))
    };
    let each = alone(&mut t, &each);
    let mut dims = vec![1, 1];
    dims.extend(&window.kernel);
    let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
    let ones = t.line(format_args!("splat({elem}, ({}), 1.0)", dims.join(", ")));
    let (attrs, is_too_long) = window.back(1);
    let mut x = t.line(format_args!("ConvTranspose({each}, {ones}, {attrs})"));
    if is_too_long {
        x = cut_like(&mut t, &x, "%a0", n)?;
    }
    let x = t.reshaped_like(&x, "%a0");
    t.gives([x])
}

/// `GlobalAveragePool`.
pub fn global_average(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let n = ratio(&mut t)?;
    let each = t.line(format_args!("Div(%d0, {n})"));
    let x = t.spread_like(&each, "%a0");
    t.gives([x])
}

/// `GlobalMaxPool`.
pub fn global_max(call: &OpCall<'_>) -> Made {
    let t = Text::new(call)?;
    let axes: Vec<i64> = (2..dims(call, 0)?.len() as i64).collect();
    shared(t, "%y0", "%d0", |t, share| t.sum_to_one(share, &axes))
}
