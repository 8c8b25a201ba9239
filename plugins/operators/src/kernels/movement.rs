//! Elements moved as they are: order, parts, repetitions.

use super::shared::{
    Done, const_ints, copy, declined, given_ints,
    parts::{Part, copy_part},
    spread::{map, map_as},
    terms::Terms,
    viewed, volume,
};
use crate::calls::{flag, int, opt_ints, string};
use relais_operator_math::movement::{self as math, Disputed};
use relais_plugin_api::{
    ir::{ElemType, NodeId},
    op::{Kernel, OpCall, OpError, shapes::axis_of},
    prim::{CoreOp, PrimBuilder},
};

/// Puts axes, whose sizes are given, into another order. Axes that stay next to each other are one.
fn turn(b: &mut PrimBuilder<'_>, x: NodeId, sizes: &[u64], order: &[usize], y: NodeId) {
    let mut groups: Vec<(usize, usize, u64)> = Vec::new();
    // Axes of size 1 are nowhere.
    let place = |axis: usize| sizes[..axis].iter().filter(|&&size| size != 1).count();
    for &axis in order.iter().filter(|&&axis| sizes[axis] != 1) {
        match groups.last_mut() {
            Some((_, end, size)) if *end == place(axis) => (*end, *size) = (*end + 1, *size * sizes[axis]),
            _ => groups.push((place(axis), place(axis) + 1, sizes[axis])),
        }
    }
    if groups.len() <= 1 || volume(sizes) == 0 {
        return copy(b, x, y);
    }
    let mut places: Vec<usize> = (0..groups.len()).collect();
    places.sort_by_key(|&at| groups[at].0);
    let in_y: Vec<u64> = groups.iter().map(|&(_, _, size)| size).collect();
    let in_x: Vec<u64> = places.iter().map(|&at| in_y[at]).collect();
    let (x, y) = (viewed(b, x, &in_x), viewed(b, y, &in_y));
    b.each_of_all(&in_y, |b, at| {
        let from: Vec<NodeId> = places.iter().map(|&place| at[place]).collect();
        let value = b.load(x, &from);
        b.store(y, value, at);
    });
}

/// `Transpose`.
pub fn transpose(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let sizes = kernel.sizes(x);
    let order: Vec<usize> = match opt_ints(call, "perm")? {
        Some(order) => order.iter().map(|&axis| axis_of(axis, sizes.len())).collect::<Result<_, _>>()?,
        None => (0..sizes.len()).rev().collect(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..sizes.len()) {
        return Err(OpError::invalid("`perm` does not name each axis once"));
    }
    turn(kernel, x, &sizes, &order, y);
    Ok(())
}

/// The sizes of an image with two axes, and the attribute `blocksize`.
fn image(call: &OpCall<'_>, kernel: &Kernel<'_>) -> Result<([u64; 4], u64), OpError> {
    let sizes = kernel.sizes(kernel.needed_input(0)?);
    let block = u64::try_from(int(call, "blocksize")?).unwrap_or(0);
    match sizes.try_into() {
        Ok(sizes) if (1..1 << 15).contains(&block) => Ok((sizes, block)),
        _ => declined("it is not an image with two axes, or `blocksize` is not positive"),
    }
}

/// Whether the place in a block comes before the channel.
fn is_depth_first(call: &OpCall<'_>) -> Result<bool, OpError> {
    match string(call, "mode")? {
        "DCR" => Ok(true),
        "CRD" => Ok(false),
        _ => declined("`mode` is neither `DCR` nor `CRD`"),
    }
}

/// `DepthToSpace`.
pub fn depth_to_space(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let ([n, c, h, w], block) = image(call, kernel)?;
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let rest = c / (block * block);
    if is_depth_first(call)? {
        turn(kernel, x, &[n, block, block, rest, h, w], &[0, 3, 4, 1, 5, 2], y);
    } else {
        turn(kernel, x, &[n, rest, block, block, h, w], &[0, 1, 4, 2, 5, 3], y);
    }
    Ok(())
}

/// `SpaceToDepth`.
pub fn space_to_depth(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let ([n, c, h, w], block) = image(call, kernel)?;
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let order = if is_depth_first(call)? { [0, 3, 5, 1, 2, 4] } else { [0, 1, 3, 5, 2, 4] };
    turn(kernel, x, &[n, c, h / block, block, w / block, block], &order, y);
    Ok(())
}

/// `Slice`, whose bounds are attributes before version 10.
pub fn slice(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, made) = (kernel.sizes(x), kernel.sizes(y));
    let missing = || OpError::invalid("it has no bounds");
    let starts = given_ints(call, 1, "starts")?.ok_or_else(missing)?;
    let ends = given_ints(call, 2, "ends")?.ok_or_else(missing)?;
    let axes = given_ints(call, 3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = if call.has_arg(4) { const_ints(call, 4)? } else { vec![1; starts.len()] };
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] || made.len() != sizes.len() {
        return Err(OpError::invalid("its bounds have different lengths"));
    }
    let mut parts: Vec<Part> = sizes.iter().map(|&size| Part::whole(size)).collect();
    for (at, &axis) in axes.iter().enumerate() {
        let axis = axis_of(axis, sizes.len())?;
        let taken = math::slice(sizes[axis] as i64, starts[at], ends[at], steps[at])
            .ok_or_else(|| OpError::invalid("a step is zero"))?;
        if taken.disputed == Some(Disputed::End) {
            return declined("it goes backwards, and its end is behind its axis");
        }
        let (from, count) = (taken.first, taken.count);
        let step = if count <= 1 { 1 } else { steps[at] };
        parts[axis] = Part { x_size: sizes[axis], y_size: count, count, from, to: 0, step };
    }
    if parts.iter().zip(&made).any(|(part, &size)| part.count != size) {
        return declined("its bounds do not fit its result");
    }
    copy_part(kernel, x, y, &parts);
    Ok(())
}

/// `Expand`, whose result is known.
pub fn expand(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    map(kernel, &[x], y, |_, values| values[0])
}

/// `Tile`, whose result is known.
pub fn tile(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, made) = (kernel.sizes(x), kernel.sizes(y));
    if volume(&made) == 0 {
        return Ok(());
    }
    if sizes.len() != made.len() || sizes.iter().zip(&made).any(|(&size, made)| !made.is_multiple_of(size)) {
        return declined("its result does not repeat its argument");
    }
    let shape = |repeats: &dyn Fn(u64, u64) -> u64| {
        sizes.iter().zip(&made).flat_map(|(&size, &made)| [repeats(made, size), size]).collect::<Vec<_>>()
    };
    let (of_x, of_y) = (shape(&|_, _| 1), shape(&|made, size| made / size));
    map_as(kernel, &[(x, of_x)], y, &of_y, |_, values| values[0])
}

/// `Trilu`.
pub fn trilu(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(x), kernel.elem(x));
    let [batch @ .., m, n] = sizes.as_slice() else { return declined("its argument is not a matrix") };
    let shape = [volume(batch), *m, *n];
    let is_upper = flag(call, "upper")?;
    let k = match (kernel.input(1), call.constant(1).and_then(|k| k.to_i64())) {
        (None, _) => kernel.index(0),
        // Beyond the matrix, all is on one side.
        (_, Some(k)) => kernel.index(k.clamp(-(1 << 40), 1 << 40)),
        (Some(_), None) => return declined("its diagonal is not a constant"),
    };
    let (x, y) = (viewed(kernel, x, &shape), viewed(kernel, y, &shape));
    kernel.each_of_all(&shape, |b, at| {
        let zero = b.num(elem, 0.0);
        let diagonal = b.plus(at[1], k);
        let stays = b.op(if is_upper { CoreOp::Ge } else { CoreOp::Le }, &[at[2], diagonal]);
        let value = b.load(x, at);
        let value = b.select(stays, value, zero);
        b.store(y, value, at);
    });
    Ok(())
}

/// `ReverseSequence`.
pub fn reverse_sequence(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, lens, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    let sizes = kernel.sizes(x);
    let [first, second, rest @ ..] = sizes.as_slice() else { return declined("its argument has no two axes") };
    let is_time_first = match (int(call, "time_axis")?, int(call, "batch_axis")?) {
        (0, 1) => true,
        (1, 0) => false,
        _ => return declined("`time_axis` and `batch_axis` are not the first two axes"),
    };
    let shape = [*first, *second, volume(rest)];
    if kernel.sizes(lens) != [if is_time_first { *second } else { *first }] {
        return declined("there is not a length for each sequence");
    }
    let (x, y) = (viewed(kernel, x, &shape), viewed(kernel, y, &shape));
    kernel.each_of_all(&shape[..2], |b, at| {
        let (time, batch) = if is_time_first { (at[0], at[1]) } else { (at[1], at[0]) };
        let len = b.load(lens, &[batch]);
        let len = b.cast(len, ElemType::INT64);
        let (last, is_within) = (b.shifted(len, -1), b.lt(time, len));
        let from_end = b.sub(last, time);
        let from = b.select(is_within, from_end, time);
        b.over(shape[2], |b, within| {
            let from = if is_time_first { [from, batch, within] } else { [batch, from, within] };
            let value = b.load(x, &from);
            b.store(y, value, &[at[0], at[1], within]);
        });
    });
    Ok(())
}
