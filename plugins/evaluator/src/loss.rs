//! Losses of a classification.

use crate::shared::{
    cx::{Eval, int_values, opt_int, same_elem, string, table},
    doubles::{double_list, doubles, for_each_line, rounded, volume},
    doubt::{Doubt, Limits},
    shape::{checked_len, uniform},
};
use relais_plugin_api::{
    ir::Tensor,
    op::{EvalCx, OpError},
};

table! {
    "NegativeLogLikelihoodLoss" @ 12 => |cx| {
        let data = cx.require(0)?;
        Ok(vec![loss(cx, &doubles(cx, data)?)?])
    },
    "SoftmaxCrossEntropyLoss" @ 12 => |cx| {
        let data = cx.require(0)?;
        let mut logs = doubles(cx, data)?;
        let (n_classes, stride) = (classes(data)?, volume(&data.dims()[2..])?);
        for_each_line(&mut logs, n_classes, stride, &mut |line| {
            let max = line.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum = line.iter().map(|x| (x - max).exp()).sum::<f64>();
            line.iter_mut().for_each(|x| *x -= max + sum.ln());
        });
        Ok(vec![loss(cx, &logs)?, rounded(data.elem(), data.dims(), &logs)?])
    },
}

fn classes(data: &Tensor) -> Eval<usize> {
    match data.dims() {
        [_, classes, ..] => volume(&[*classes]),
        _ => Err(OpError::invalid(format_args!("data of rank {} have no classes", data.dims().len()))),
    }
}

/// The negative weighted logarithm of each element's class, and their mean or sum.
fn loss(cx: &EvalCx<'_>, logs: &[f64]) -> Eval {
    let (data, target) = (cx.require(0)?, cx.require(1)?);
    let (elem, limits) = (data.elem(), Limits::of_elem(data.elem())?);
    let n_classes = classes(data)?;
    let (batch, spatial) = (data.dims()[0], &data.dims()[2..]);
    if target.dims() != [&[batch], spatial].concat() {
        return Err(OpError::invalid(format_args!("a target of shape {:?} for {:?}", target.dims(), data.dims())));
    }
    let weights = match cx.input(2) {
        Some(weights) => {
            same_elem(data, weights)?;
            double_list(cx, weights, n_classes as u64, "the weights")?
        }
        None => vec![1.0; checked_len(cx, elem, &[n_classes as u64])?],
    };
    let ignored = opt_int(cx, "ignore_index")?;
    let reduction = string(cx, "reduction")?;
    if !matches!(reduction, "mean" | "sum" | "none") {
        return Err(OpError::invalid(format_args!("attribute `reduction` is `{reduction}`")));
    }
    if target.is_empty() && reduction == "none" {
        return uniform(elem, target.dims(), &[]);
    }
    checked_len(cx, elem, target.dims())?;
    let size = volume(spatial)?;
    let targets = int_values(cx, target, "the target")?;
    let mut losses = Vec::with_capacity(targets.len());
    let (mut sum, mut magnitude, mut weight_sum) = (0.0, 0.0, 0.0);
    for (at, &class) in targets.iter().enumerate() {
        if ignored == Some(class) {
            losses.push(0.0);
            continue;
        }
        let class = usize::try_from(class).ok().filter(|&class| class < n_classes);
        let class = class.ok_or_else(|| OpError::invalid("a target is not a class"))?;
        let loss = -logs[(at / size * n_classes + class) * size + at % size] * weights[class];
        losses.push(loss);
        sum += loss;
        magnitude += loss.abs();
        weight_sum += weights[class];
    }
    let doubt = Doubt::default();
    let loss = match reduction {
        "none" => return rounded(elem, target.dims(), &losses),
        "sum" => sum,
        _ => sum / weight_sum,
    };
    doubt.note(!limits.is_within(magnitude, false) || (reduction == "mean" && weight_sum == 0.0));
    doubt.settle(
        cx,
        rounded(elem, &[], &[loss]),
        "accumulators of the element type may overflow, or all weights are zero",
    )
}
