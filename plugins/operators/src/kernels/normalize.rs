//! Normalisations.

use super::shared::{Done, declined, floats, is_half, sizes_of, terms::Terms, viewed, volume, wide};
use crate::calls::{flag, float, int};
use relais_plugin_api::{
    ir::{ElemType, NodeId},
    op::{Kernel, OpCall, OpError, shapes::axis_of},
    prim::PrimBuilder,
};

/// The sizes of an image: samples, channels, and elements of a channel.
fn channels(sizes: &[u64]) -> Result<[u64; 3], OpError> {
    match sizes {
        [n] => Ok([*n, 1, 1]),
        [n, channels, rest @ ..] => Ok([*n, *channels, volume(rest)]),
        [] => declined("its data is a scalar"),
    }
}

/// An element as a number of another type.
fn load(b: &mut PrimBuilder<'_>, memory: NodeId, at: &[NodeId], to: ElemType) -> NodeId {
    let value = b.load(memory, at);
    b.cast(value, to)
}

/// Stores a number as an element of the memory.
fn store(b: &mut PrimBuilder<'_>, memory: NodeId, value: NodeId, at: &[NodeId]) {
    let elem = b.function().type_of(memory).elem().unwrap_or(ElemType::UNKNOWN);
    let value = b.cast(value, elem);
    b.store(memory, value, at);
}

/// The arguments from `first` on, which have `n` elements each; those of a type that the computation does not hold are
/// declined.
fn parameters<const N: usize>(
    kernel: &mut Kernel<'_>,
    first: usize,
    n: u64,
    within: ElemType,
) -> Result<[NodeId; N], OpError> {
    let mut found = [NodeId::ABSENT; N];
    for (at, found) in found.iter_mut().enumerate() {
        let parameter = kernel.needed_input(first + at)?;
        let elem = kernel.elem(parameter);
        if !elem.is_float() || elem == ElemType::DOUBLE && within != ElemType::DOUBLE {
            return declined(format_args!("a parameter is of {elem}"));
        }
        if volume(&kernel.sizes(parameter)) != n {
            return declined(format_args!("a parameter has not {n} elements"));
        }
        *found = viewed(kernel, parameter, &[n]);
    }
    Ok(found)
}

/// `BatchNormalization` that is not in training.
pub fn batch_normalization(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let is_training = match call.version() {
        ..7 => !flag(call, "is_test")?,
        7..14 => false,
        _ => flag(call, "training_mode")?,
    };
    if is_training || call.n_outputs() > 1 {
        return declined("it is in training");
    }
    if call.version() < 9 && !flag(call, "spatial")? {
        return declined("it has a mean for each element");
    }
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(x), kernel.elem(x));
    floats(elem)?;
    let (epsilon, to) = (float(call, "epsilon")?, wide(elem));
    let shape = channels(&sizes)?;
    let [scale, bias, mean, variance] = parameters(kernel, 1, shape[1], to)?;
    let (x, y) = (viewed(kernel, x, &shape), viewed(kernel, y, &shape));
    kernel.each_of_all(&shape[..2], |b, at| {
        let channel = &at[1..];
        let [scale, bias, mean, variance] = [scale, bias, mean, variance].map(|memory| load(b, memory, channel, to));
        let factor = scaled_reciprocal_root(b, to, variance, epsilon, scale);
        b.over(shape[2], |b, pixel| {
            let at = [at, &[pixel]].concat();
            let value = load(b, x, &at, to);
            let value = standardized(b, value, mean, factor, Some(bias));
            store(b, y, value, &at);
        });
    });
    Ok(())
}

/// `scale / sqrt(variance + epsilon)`
fn scaled_reciprocal_root(
    b: &mut PrimBuilder<'_>,
    elem: ElemType,
    variance: NodeId,
    epsilon: f64,
    scale: NodeId,
) -> NodeId {
    let epsilon = b.num(elem, epsilon);
    let sum = b.add(variance, epsilon);
    let root = b.sqrt(sum);
    b.div(scale, root)
}

/// `(x - mean) * factor + bias`
fn standardized(b: &mut PrimBuilder<'_>, x: NodeId, mean: NodeId, factor: NodeId, bias: Option<NodeId>) -> NodeId {
    let part = b.sub(x, mean);
    let product = b.mul(part, factor);
    match bias {
        Some(bias) => b.add(product, bias),
        None => product,
    }
}

/// The mean of what `value` gives for all indices of these sizes.
fn mean_of<'b>(
    b: &mut PrimBuilder<'b>,
    sizes: &[u64],
    elem: ElemType,
    value: impl FnOnce(&mut PrimBuilder<'b>, &[NodeId]) -> NodeId,
) -> NodeId {
    let (zero, n) = (b.num(elem, 0.0), b.num(elem, volume(sizes) as f64));
    let [sum] = b.fold_all(sizes, [zero], |b, at, [sum]| {
        let value = value(b, at);
        [b.add(sum, value)]
    });
    b.div(sum, n)
}

/// The mean and the variance of elements of memory, whose indices begin with some that are given.
fn moments(b: &mut PrimBuilder<'_>, x: NodeId, first: &[NodeId], sizes: &[u64], elem: ElemType) -> (NodeId, NodeId) {
    let mean = mean_of(b, sizes, elem, |b, at| load(b, x, &[first, at].concat(), elem));
    let variance = mean_of(b, sizes, elem, |b, at| {
        let value = load(b, x, &[first, at].concat(), elem);
        let part = b.sub(value, mean);
        b.mul(part, part)
    });
    (mean, variance)
}

/// `InstanceNormalization`.
pub fn instance_normalization(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let shape = channels(&kernel.sizes(kernel.needed_input(0)?))?;
    in_groups(call, kernel, shape[1], false)
}

/// `GroupNormalization`, whose scale and bias are one for each group before version 21.
pub fn group_normalization(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let groups = u64::try_from(int(call, "num_groups")?).unwrap_or(0);
    if call.version() >= 21 {
        single_precision(call, kernel.elem(kernel.needed_input(0)?))?;
    }
    in_groups(call, kernel, groups, call.version() < 21)
}

fn in_groups(call: &OpCall<'_>, kernel: &mut Kernel<'_>, groups: u64, has_scale_per_group: bool) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(x), kernel.elem(x));
    floats(elem)?;
    if sizes.len() < 2 || groups == 0 || !sizes[1].is_multiple_of(groups) {
        return declined("its channels do not make equal groups");
    }
    if volume(&sizes) == 0 {
        return Ok(());
    }
    let [n, channels, size] = channels(&sizes)?;
    let (to, epsilon, per_group) = (wide(elem), float(call, "epsilon")?, channels / groups);
    let n_scales = if has_scale_per_group { groups } else { channels };
    let [scale, bias] = parameters(kernel, 1, n_scales, to)?;
    let shape = [n, groups, per_group, size];
    let (blocks, x, y) =
        (viewed(kernel, x, &[n, groups, per_group * size]), viewed(kernel, x, &shape), viewed(kernel, y, &shape));
    kernel.each_of_all(&shape[..2], |b, at| {
        let (mean, variance) = moments(b, blocks, at, &[per_group * size], to);
        b.over(per_group, |b, channel| {
            let index = if has_scale_per_group { at[1] } else { b.within(at[1], per_group, channel) };
            let (scale, bias) = (load(b, scale, &[index], to), load(b, bias, &[index], to));
            let factor = scaled_reciprocal_root(b, to, variance, epsilon, scale);
            b.over(size, |b, pixel| {
                let at = [at, &[channel, pixel]].concat();
                let value = load(b, x, &at, to);
                let value = standardized(b, value, mean, factor, Some(bias));
                store(b, y, value, &at);
            });
        });
    });
    Ok(())
}

/// Declines a call whose mean and variance are not computed in single precision.
fn single_precision(call: &OpCall<'_>, elem: ElemType) -> Done {
    if int(call, "stash_type")? != 1 || elem == ElemType::DOUBLE {
        return declined("it is not computed in single precision");
    }
    Ok(())
}

/// The sizes before the normalised axes and of them, and the type that they are computed in.
fn last_axes(call: &OpCall<'_>, kernel: &Kernel<'_>, x: NodeId) -> Result<([u64; 2], ElemType), OpError> {
    let (sizes, elem) = (kernel.sizes(x), kernel.elem(x));
    floats(elem)?;
    single_precision(call, elem)?;
    let axis = axis_of(int(call, "axis")?, sizes.len())?;
    Ok(([volume(&sizes[..axis]), volume(&sizes[axis..])], wide(elem)))
}

/// A parameter with an element for each of the normalised ones, or one for all.
fn along_row(kernel: &mut Kernel<'_>, parameter: NodeId, row: u64) -> Result<NodeId, OpError> {
    floats(kernel.elem(parameter))?;
    match volume(&kernel.sizes(parameter)) {
        n if n == 1 || n == row => Ok(viewed(kernel, parameter, &[n])),
        n => declined(format_args!("a parameter has {n} elements for {row}")),
    }
}

/// The element of a parameter, as [`along_row`] gives it.
fn parameter_at(b: &mut PrimBuilder<'_>, parameter: NodeId, at: NodeId, to: ElemType) -> NodeId {
    let is_one = sizes_of(b, parameter) == [1];
    let at = if is_one { b.index(0) } else { at };
    load(b, parameter, &[at], to)
}

/// `LayerNormalization`.
pub fn layer_normalization(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (shape, to) = last_axes(call, kernel, x)?;
    let scale = kernel.needed_input(1)?;
    let scale = along_row(kernel, scale, shape[1])?;
    let bias = kernel.input(2).map(|bias| along_row(kernel, bias, shape[1])).transpose()?;
    let epsilon = float(call, "epsilon")?;
    if volume(&shape) == 0 {
        return declined("it has no elements");
    }
    let (x, y) = (viewed(kernel, x, &shape), viewed(kernel, y, &shape));
    let more = [1, 2].map(|at| kernel.optional_output(at).map(|memory| viewed(kernel, memory, &shape[..1])));
    kernel.over(shape[0], |b, row| {
        let (mean, variance) = moments(b, x, &[row], &shape[1..], to);
        let one = b.num(to, 1.0);
        let factor = scaled_reciprocal_root(b, to, variance, epsilon, one);
        b.over(shape[1], |b, at| {
            let value = load(b, x, &[row, at], to);
            let value = standardized(b, value, mean, factor, None);
            let value = scaled(b, value, scale, bias, at, to);
            store(b, y, value, &[row, at]);
        });
        for (memory, value) in more.into_iter().zip([mean, factor]) {
            if let Some(memory) = memory {
                store(b, memory, value, &[row]);
            }
        }
    });
    Ok(())
}

/// `value * scale + bias`
fn scaled(
    b: &mut PrimBuilder<'_>,
    value: NodeId,
    scale: NodeId,
    bias: Option<NodeId>,
    at: NodeId,
    to: ElemType,
) -> NodeId {
    let scale = parameter_at(b, scale, at, to);
    let product = b.mul(value, scale);
    match bias {
        Some(bias) => {
            let bias = parameter_at(b, bias, at, to);
            b.add(product, bias)
        }
        None => product,
    }
}

/// `RMSNormalization`.
pub fn rms_normalization(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (shape, to) = last_axes(call, kernel, x)?;
    let scale = kernel.needed_input(1)?;
    let scale = along_row(kernel, scale, shape[1])?;
    let epsilon = float(call, "epsilon")?;
    if volume(&shape) == 0 {
        return declined("it has no elements");
    }
    let (x, y) = (viewed(kernel, x, &shape), viewed(kernel, y, &shape));
    kernel.over(shape[0], |b, row| {
        let square = mean_of(b, &shape[1..], to, |b, at| {
            let value = load(b, x, &[row, at[0]], to);
            b.mul(value, value)
        });
        let one = b.num(to, 1.0);
        let factor = scaled_reciprocal_root(b, to, square, epsilon, one);
        b.over(shape[1], |b, at| {
            let value = load(b, x, &[row, at], to);
            let value = b.mul(value, factor);
            let value = scaled(b, value, scale, None, at, to);
            store(b, y, value, &[row, at]);
        });
    });
    Ok(())
}

/// `LRN`: each element divided by a power of a sum of squares across channels, which the result holds meanwhile.
pub fn lrn(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(x), kernel.elem(x));
    floats(elem)?;
    if is_half(elem) {
        return declined("a sum of its elements loses too much in half precision");
    }
    let size = int(call, "size")?;
    if sizes.len() < 2 || !(1..1 << 30).contains(&size) {
        return declined("it has no channels, or `size` is not positive");
    }
    let (alpha, beta, bias) = (float(call, "alpha")?, float(call, "beta")?, float(call, "bias")?);
    let shape = channels(&sizes)?;
    let (before, after) = ((size - 1) / 2, size - 1 - (size - 1) / 2);
    let (x, y) = (viewed(kernel, x, &shape), viewed(kernel, y, &shape));
    kernel.each_of_all(&shape[..2], |b, at| {
        let (sample, channel) = (at[0], at[1]);
        let zero = b.num(elem, 0.0);
        b.over(shape[2], |b, pixel| {
            b.store(y, zero, &[sample, channel, pixel]);
        });
        let (none, all) = (b.index(0), b.index(shape[1] as i64));
        let first = b.shifted(channel, -before);
        let first = b.max(first, none);
        let end = b.shifted(channel, after + 1);
        let end = b.min(end, all);
        let turns = b.sub(end, first);
        b.from(first, turns, |b, other| {
            b.over(shape[2], |b, pixel| {
                let (value, sum) = (b.load(x, &[sample, other, pixel]), b.load(y, &[sample, channel, pixel]));
                let square = b.mul(value, value);
                let sum = b.add(sum, square);
                b.store(y, sum, &[sample, channel, pixel]);
            });
        });
        let (part, bias, beta) = (b.num(elem, alpha / size as f64), b.num(elem, bias), b.num(elem, beta));
        b.over(shape[2], |b, pixel| {
            let at = [sample, channel, pixel];
            let (value, sum) = (b.load(x, &at), b.load(y, &at));
            let sum = b.mul(part, sum);
            let sum = b.add(bias, sum);
            let power = b.op(relais_plugin_api::prim::CoreOp::Pow, &[sum, beta]);
            let value = b.div(value, power);
            b.store(y, value, &at);
        });
    });
    Ok(())
}
