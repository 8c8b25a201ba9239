//! Elements moved as they are: shapes, order, parts.

use super::{Done, Terms, axis_of, const_ints, copy, declined, given_ints, int, map, map_as, viewed, volume};
use relais_plugin_api::{
    ir::NodeId,
    op::{Kernel, OpCall, OpError},
    prim::PrimBuilder,
};

/// A part of an axis that is copied to a part of another one.
#[derive(Clone, Copy)]
pub struct Part {
    /// The sizes of both axes.
    pub x_size: u64,
    pub y_size: u64,
    /// How many elements are copied.
    pub count: u64,
    /// The first one of each axis.
    pub from: i64,
    pub to: i64,
    /// The distance between elements that are taken.
    pub step: i64,
}

impl Part {
    /// All of an axis.
    pub fn whole(size: u64) -> Self {
        Self { x_size: size, y_size: size, count: size, from: 0, to: 0, step: 1 }
    }

    fn is_whole(&self) -> bool {
        self.count == self.x_size && self.count == self.y_size && self.step == 1
    }
}

/// Copies a part of each axis. Axes whose parts are one piece of memory are one.
pub fn copy_part(b: &mut PrimBuilder<'_>, x: NodeId, y: NodeId, axes: &[Part]) {
    let mut parts: Vec<Part> = Vec::new();
    for &part in axes {
        match parts.last_mut() {
            Some(last) if part.is_whole() && last.step == 1 => {
                let size = part.count;
                let (from, to) = (last.from * size as i64, last.to * size as i64);
                let sizes = [last.x_size, last.y_size, last.count].map(|outer| outer * size);
                *last = Part { x_size: sizes[0], y_size: sizes[1], count: sizes[2], from, to, step: 1 };
            }
            _ => parts.push(part),
        }
    }
    if parts.iter().any(|part| part.count == 0) {
        return;
    }
    let sizes = |of: fn(&Part) -> u64| parts.iter().map(of).collect::<Vec<_>>();
    let (x, y) = (viewed(b, x, &sizes(|part| part.x_size)), viewed(b, y, &sizes(|part| part.y_size)));
    copy_along(b, (x, y), &parts, &mut (Vec::new(), Vec::new()));
}

fn copy_along(b: &mut PrimBuilder<'_>, memory: (NodeId, NodeId), parts: &[Part], at: &mut (Vec<NodeId>, Vec<NodeId>)) {
    let Some((part, rest)) = parts.split_first() else {
        let value = b.load(memory.0, &at.0);
        b.store(memory.1, value, &at.1);
        return;
    };
    b.over(part.count, |b, index| {
        at.0.push(if part.step >= 0 {
            let from = b.times(index, part.step as u64);
            b.shifted(from, part.from)
        } else {
            let (back, start) = (b.times(index, part.step.unsigned_abs()), b.index(part.from));
            b.sub(start, back)
        });
        at.1.push(b.shifted(index, part.to));
        copy_along(b, memory, rest, at);
    });
}

/// `Reshape`, `Flatten`, `Squeeze` and `Unsqueeze`, whose result is known.
pub fn reshaped(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    if volume(&kernel.sizes(x)) != volume(&kernel.sizes(y)) {
        return declined("its result has not as many elements");
    }
    copy(kernel, x, y);
    Ok(())
}

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
    let order: Vec<usize> = match call.attrs().ints("perm") {
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
    let block = u64::try_from(int(call, "blocksize", 0)).unwrap_or(0);
    match sizes.try_into() {
        Ok(sizes) if (1..1 << 15).contains(&block) => Ok((sizes, block)),
        _ => declined("it is not an image with two axes, or `blocksize` is not positive"),
    }
}

/// Whether the place in a block comes before the channel.
fn is_depth_first(call: &OpCall<'_>) -> Result<bool, OpError> {
    match call.attrs().str("mode") {
        None | Some("DCR") => Ok(true),
        Some("CRD") => Ok(false),
        Some(_) => declined("`mode` is neither `DCR` nor `CRD`"),
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

/// All axes, of which one has a part that begins at `from` and `to`.
fn along(x: &[u64], y: &[u64], axis: usize, count: u64, (from, to): (u64, u64)) -> Vec<Part> {
    let mut parts: Vec<Part> = x.iter().map(|&size| Part::whole(size)).collect();
    let (x_size, y_size) = (x[axis], y[axis]);
    parts[axis] = Part { x_size, y_size, count, from: from as i64, to: to as i64, step: 1 };
    parts
}

/// `Concat`.
pub fn concat(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let y = kernel.output(0);
    let sizes = kernel.sizes(y);
    let axis = axis_of(int(call, "axis", 1), sizes.len())?;
    let mut to = 0;
    for at in 0..call.n_args() {
        let x = kernel.needed_input(at)?;
        let given = kernel.sizes(x);
        let fits = given.len() == sizes.len() && (0..sizes.len()).all(|at| at == axis || given[at] == sizes[at]);
        if !fits || to + given[axis] > sizes[axis] {
            return declined("the shapes of its arguments do not fit its result");
        }
        copy_part(kernel, x, y, &along(&given, &sizes, axis, given[axis], (0, to)));
        to += given[axis];
    }
    Ok(())
}

/// `Split`, whose results are known.
pub fn split(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let x = kernel.needed_input(0)?;
    let sizes = kernel.sizes(x);
    let axis = axis_of(int(call, "axis", 0), sizes.len())?;
    let mut from = 0;
    for at in 0..call.n_outputs() {
        let Some(y) = kernel.optional_output(at) else { break };
        let made = kernel.sizes(y);
        if made.len() != sizes.len() || from + made[axis] > sizes[axis] {
            return declined("the shapes of its results do not fit its argument");
        }
        copy_part(kernel, x, y, &along(&sizes, &made, axis, made[axis], (from, 0)));
        from += made[axis];
    }
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
        let (size, step) = (sizes[axis] as i64, steps[at]);
        if step == 0 {
            return Err(OpError::invalid("a step is zero"));
        }
        let front = |bound: i64| if bound < 0 { bound.saturating_add(size) } else { bound };
        let (least, most) = if step > 0 { (0, size) } else { (-1, size - 1) };
        let (start, end) = (front(starts[at]).clamp(least.max(0), most.max(0)), front(ends[at]).clamp(least, most));
        let distance = if step > 0 { end - start } else { start - end };
        let count = if distance <= 0 { 0 } else { (distance as u64).div_ceil(step.unsigned_abs()) };
        let step = if count <= 1 { 1 } else { step };
        parts[axis] = Part { x_size: sizes[axis], y_size: count, count, from: start, to: 0, step };
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
