//! Convolutions.

use super::shared::{
    Made, Text, sizes,
    window::{Window, cut_like},
};
use crate::calls::{dims, int};
use relais_plugin_api::op::{OpCall, OpError};

/// `Conv`: the input's gradient is a transposed convolution of the result's, the weights' one of the input with it.
pub fn conv(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let of_w = dims(call, 1)?;
    let unknown = || OpError::unsupported("the shape of its weights is not known");
    let shape = sizes(&of_w).filter(|shape| shape.len() > 2).ok_or_else(unknown)?;
    let (per_group, kernel) = (shape[1], shape[2..].to_vec());
    let window = Window::new(call, kernel.clone())?;
    let (n, group) = (kernel.len(), int(call, "group")?);
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
