//! Zeros that are put around a value become the padding of the convolution or average that uses it.
//!
//! ```text
//! %1 = Pad(%x, [0, 0, 1, 1, 0, 0, 1, 1]);
//! %2 = Conv(%1, %w);
//! ```
//! becomes
//! ```text
//! %2 = Conv(%x, %w, pads = [1, 1, 1, 1]);
//! ```
//!
//! Only spatial axes may be padded, nothing may be cut off, and the weights are constant and finite: runtimes do not
//! multiply them by the zeros of the padding. `AveragePool` counts the zeros, and pads by less than its kernel. `MaxPool`
//! stays, since its padding is below every number.

use crate::axes::normalized;
use relais_plugin_api::prelude::*;

/// Makes zeros around a value part of the `Conv` or `AveragePool` after it.
#[rewrite_pass(
    name = "relais.FusePad",
    aliases = ["relay._transform.FoldExplicitPadding"],
    opt_level = 2,
    required = ["relais.InferType"],
    ops = ["Conv", "AveragePool"],
)]
pub fn fuse_pad(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    match call.arg(0).and_then(|arg| cx.call_of_op(arg, "Pad")) {
        Some(pad) => fused(call, pad, cx).unwrap_or_else(Rewrite::decline),
        None => Rewrite::Keep,
    }
}

fn fused(call: CallView<'_>, pad: CallView<'_>, cx: &mut RewriteCx<'_>) -> Result<Rewrite, &'static str> {
    if cx.n_uses(pad.id) != 1 {
        return Err("something else uses the padded value");
    }
    let around = zeros(pad, cx)?;
    let n_spatial = around.len() / 2;
    let attrs = cx.attrs(call);
    match attrs.str("auto_pad") {
        None | Some("NOTSET" | "VALID") => {}
        Some(_) => return Err("the padding depends on the size"),
    }
    let is_stated = call.attrs().get("auto_pad").is_some();
    let own = attrs.ints("pads").unwrap_or_else(|| vec![0; around.len()]);
    if own.len() != around.len() {
        return Err("the number of axes is another one");
    }
    let pads: Option<Vec<i64>> = own.iter().zip(&around).map(|(a, b)| a.checked_add(*b)).collect();
    let pads = pads.ok_or("the padding is too large")?;
    let mut made = vec![Attr::new("pads", pads.clone())];
    made.extend(is_stated.then(|| Attr::new("auto_pad", "NOTSET")));
    if call.is_op("Conv") {
        let weights = call.arg(1).and_then(|weights| cx.tensor(weights)).ok_or("the weights are not constant")?;
        let weights = weights.to_f64s().ok_or("the element type of the weights is not supported")?;
        if !weights.iter().all(|weight| weight.is_finite()) {
            return Err("a weight is not finite");
        }
    } else {
        let is_set = |name: &str| attrs.int(name).is_some_and(|value| value != 0);
        if is_set("ceil_mode") {
            return Err("the last windows reach beyond the padding");
        }
        if cx.opset() < 7 || (!is_set("count_include_pad") && own.iter().any(|&pad| pad != 0)) {
            return Err("padding of its own does not count");
        }
        let kernel = attrs.ints("kernel_shape").ok_or("the size of the kernel is not known")?;
        if kernel.len() != n_spatial || pads.iter().enumerate().any(|(at, &pad)| pad >= kernel[at % n_spatial]) {
            return Err("the padding is as large as the kernel");
        }
        made.push(Attr::new("count_include_pad", 1));
    }
    let mut args = call.args().to_vec();
    args[0] = pad.arg(0).ok_or("nothing is padded")?;
    Ok(Rewrite::Replace(cx.call_like(call, &args, made)))
}

/// The numbers of zeros before and after each spatial axis.
fn zeros(pad: CallView<'_>, cx: &RewriteCx<'_>) -> Result<Vec<i64>, &'static str> {
    let attrs = cx.attrs(pad);
    if attrs.str("mode").is_some_and(|mode| mode != "constant") {
        return Err("what is put around is not constant");
    }
    let (pads, value) = match cx.opset() {
        11.. => {
            let pads = pad.arg(1).and_then(|pads| cx.tensor(pads)?.to_i64s());
            let value = match pad.arg(2) {
                Some(value) => cx.tensor(value).and_then(Tensor::to_f64),
                None => Some(0.0),
            };
            (pads, value)
        }
        _ => (attrs.ints("pads"), attrs.float("value").map(f64::from)),
    };
    if value.map(f64::to_bits) != Some(0.0_f64.to_bits()) {
        return Err("what is put around is not known to be 0");
    }
    let pads = pads.ok_or("the padding is not constant")?;
    let pads = match pad.arg(3) {
        None => pads,
        Some(axes) => {
            let rank = pad.arg(0).and_then(|value| cx.type_of(value).shape()).ok_or("the rank is not known")?.len();
            let axes = cx.tensor(axes).and_then(Tensor::to_i64s).ok_or("the axes are not constant")?;
            let (n, mut all) = (axes.len(), vec![0; 2 * rank]);
            if pads.len() != 2 * n {
                return Err("the padding has another number of axes");
            }
            for (at, axis) in axes.iter().enumerate() {
                let axis = *normalized(&[*axis], rank).ok_or("an axis does not exist")?.first().ok_or("no axis")?;
                (all[axis], all[rank + axis]) = (pads[at], pads[n + at]);
            }
            all
        }
    };
    let rank = pads.len() / 2;
    if pads.len() % 2 != 0 || rank < 3 || [0, 1, rank, rank + 1].iter().any(|&at| pads[at] != 0) {
        return Err("axes that are not spatial are padded");
    }
    if pads.iter().any(|&pad| pad < 0) {
        return Err("something is cut off");
    }
    Ok([&pads[2..rank], &pads[rank + 2..]].concat())
}
