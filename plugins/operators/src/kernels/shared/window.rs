//! Windows that slide over the spatial axes of an image.

use super::{declined, terms::Terms};
use crate::calls::{IntList, list, named, opt_ints};
use relais_operator_math::window::{AutoPad, WindowAxis};
use relais_plugin_api::{
    ir::{Attr, AttrRec, NodeId},
    op::{OpCall, OpError},
    prim::{CoreOp, PrimBuilder},
};
use smallvec::smallvec;

/// The windows of one place in the kernel, a tap, that find an element of the image there.
pub struct Inside {
    first: NodeId,
    turns: NodeId,
    /// The tap's place in the image for the first window of all.
    offset: NodeId,
}

/// An attribute with a number for each axis; the sizes that are computed with them are far from overflowing.
fn bounded(call: &OpCall<'_>, name: &str, len: usize, default: i64) -> Result<IntList, OpError> {
    let values = list(call, name, len, default)?;
    match values.iter().all(|value| (default.min(1)..1 << 30).contains(value)) {
        true => Ok(values),
        false => declined(format_args!("`{name}` is {values:?}")),
    }
}

/// The axes without padding and counts.
fn read(call: &OpCall<'_>, image: &[u64], kernel: &[u64]) -> Result<Vec<WindowAxis>, OpError> {
    let n = image.len();
    let (strides, dilations) = (bounded(call, "strides", n, 1)?, bounded(call, "dilations", n, 1)?);
    if kernel.len() != n || n == 0 {
        return declined("its window has not as many axes as its image");
    }
    if image.iter().chain(kernel).any(|&size| size == 0 || size > 1 << 30) {
        return declined("an image or a window is empty or too large");
    }
    let given = bounded(call, "kernel_shape", n, 0)?;
    if given.iter().zip(kernel).any(|(&given, &size)| given != 0 && given as u64 != size) {
        return declined("`kernel_shape` is not that of its weights");
    }
    let axis = |at: usize| WindowAxis {
        size: image[at] as i64,
        kernel: kernel[at] as i64,
        stride: strides[at],
        dilation: dilations[at],
        before: 0,
        after: 0,
        count: 0,
    };
    Ok((0..n).map(axis).collect())
}

/// The value of `auto_pad`, and the padding before all axes, then after all axes, if it is given.
fn padding(call: &OpCall<'_>, n: usize) -> Result<(AutoPad, IntList), OpError> {
    let auto_pad = named(call, "auto_pad", AutoPad::of)?;
    let pads = if auto_pad == AutoPad::Given { bounded(call, "pads", 2 * n, 0)? } else { smallvec![0; 2 * n] };
    Ok((auto_pad, pads))
}

/// Windows as kernels use them.
pub trait Sliding {
    /// Whether the windows are the elements of the image.
    fn is_plain(&self) -> bool;
    /// Whether the last window reaches beyond the image.
    fn reaches_behind(&self) -> bool;
    /// The windows that have the element of a tap in the image.
    fn windows_inside(&self, b: &mut PrimBuilder<'_>, tap: NodeId) -> Inside;
}

impl Sliding for WindowAxis {
    fn is_plain(&self) -> bool {
        self.kernel == 1 && self.stride == 1 && self.before == 0 && self.size == self.count
    }

    fn reaches_behind(&self) -> bool {
        self.reach().is_none_or(|reach| reach - self.before > self.size)
    }

    fn windows_inside(&self, b: &mut PrimBuilder<'_>, tap: NodeId) -> Inside {
        let offset = b.times(tap, self.dilation as u64);
        let offset = b.shifted(offset, -self.before);
        let zero = b.index(0);
        let mut first = zero;
        if self.before > 0 {
            // Rounded up.
            let most = b.index(self.stride - 1);
            let start = divided(b, most, offset, self.stride);
            first = extreme(b, CoreOp::Max, zero, start);
        }
        let mut end = b.index(self.count);
        if self.reaches_behind() {
            // Rounded up, too: the first window that is beyond the image.
            let last = b.index(self.size + self.stride - 1);
            let behind = divided(b, last, offset, self.stride);
            end = extreme(b, CoreOp::Min, end, behind);
        }
        let turns = match (b.known(first), b.known(end)) {
            (Some(0), _) => end,
            (Some(first), Some(end)) => b.index(end - first),
            _ => b.sub(end, first),
        };
        Inside { first, turns, offset }
    }
}

/// `(from - offset) / stride`, rounded down.
fn divided(b: &mut PrimBuilder<'_>, from: NodeId, offset: NodeId, stride: i64) -> NodeId {
    match (b.known(from), b.known(offset)) {
        (Some(from), Some(offset)) => b.index((from - offset).div_euclid(stride)),
        _ => {
            let distance = b.sub(from, offset);
            if stride == 1 {
                return distance;
            }
            let stride = b.index(stride);
            b.op(CoreOp::FloorDiv, &[distance, stride])
        }
    }
}

/// The smaller or the larger one of two indices.
fn extreme(b: &mut PrimBuilder<'_>, op: CoreOp, x: NodeId, y: NodeId) -> NodeId {
    match (b.known(x), b.known(y)) {
        (Some(x), Some(y)) if op == CoreOp::Max => b.index(x.max(y)),
        (Some(x), Some(y)) => b.index(x.min(y)),
        _ => b.op(op, &[x, y]),
    }
}

/// The windows over an image, of which there are `counts` along its axes.
pub fn windows(call: &OpCall<'_>, image: &[u64], kernel: &[u64], counts: &[u64]) -> Result<Vec<WindowAxis>, OpError> {
    let mut axes = read(call, image, kernel)?;
    let (n, (auto_pad, pads)) = (axes.len(), padding(call, axes.len())?);
    for (at, axis) in axes.iter_mut().enumerate() {
        axis.count = counts[at] as i64;
        (axis.before, axis.after) = match auto_pad.keeps_size() {
            true => axis.kept_padding(auto_pad).ok_or_else(too_large)?,
            false => (pads[at], pads[at + n]),
        };
    }
    Ok(axes)
}

fn too_large() -> OpError {
    OpError::unsupported("its windows are too large")
}

/// The windows of a transposed convolution: one for each element of its input, over its result.
pub fn transposed(
    call: &OpCall<'_>,
    input: &[u64],
    kernel: &[u64],
    result: &[u64],
) -> Result<Vec<WindowAxis>, OpError> {
    let mut axes = read(call, input, kernel)?;
    let (n, (auto_pad, pads)) = (axes.len(), padding(call, axes.len())?);
    let extra = bounded(call, "output_padding", n, 0)?;
    let given = opt_ints(call, "pads")?.filter(|pads| !pads.is_empty());
    let stated = opt_ints(call, "output_shape")?.filter(|sizes| !sizes.is_empty());
    if stated.as_ref().is_some_and(|stated| stated.len() != n) {
        return declined("`output_shape` is not the spatial shape");
    }
    for (at, axis) in axes.iter_mut().enumerate() {
        (axis.count, axis.size) = (axis.size, result[at] as i64);
        let whole = axis.whole(extra[at]).ok_or_else(too_large)?;
        (axis.before, axis.after) = match (auto_pad.keeps_size(), whole - axis.size) {
            (false, _) if stated.is_none() => (pads[at], pads[at + n]),
            (_, total) if total < 0 && stated.is_none() => return declined("its result is larger than its parts"),
            (_, total) if total > 0 && total % 2 != 0 && call.version() < 11 => {
                return declined("its padding is odd, before version 11");
            }
            (keeps_size, total) => {
                let halves = auto_pad.transposed(whole, axis.size);
                let is_other = given.as_ref().is_some_and(|pads| (pads[at], pads[at + n]) != halves);
                if total > 0 && !keeps_size && is_other {
                    return declined("its padding and the shape of its result contradict each other");
                }
                halves
            }
        };
    }
    Ok(axes)
}

/// One axis in the place of all, where the windows are the elements of the image.
pub fn merged(axes: Vec<WindowAxis>) -> Vec<WindowAxis> {
    match axes.as_slice() {
        [first, _, ..] if axes.iter().all(WindowAxis::is_plain) => {
            let size = axes.iter().map(|axis| axis.size).product();
            vec![WindowAxis { size, count: size, ..*first }]
        }
        _ => axes,
    }
}

/// The sizes of the image.
pub fn image(axes: &[WindowAxis]) -> Vec<u64> {
    axes.iter().map(|axis| axis.size as u64).collect()
}

/// The numbers of windows.
pub fn counts(axes: &[WindowAxis]) -> Vec<u64> {
    axes.iter().map(|axis| axis.count as u64).collect()
}

/// Loops over the taps of the kernel, whose indices and windows `body` gets.
pub fn each_tap<'b>(
    b: &mut PrimBuilder<'b>,
    axes: &[WindowAxis],
    body: impl FnOnce(&mut PrimBuilder<'b>, &[NodeId], &[Inside]),
) {
    taps(
        b,
        axes,
        &mut Vec::new(),
        Box::new(|b, taps| {
            let inside: Vec<Inside> = axes.iter().zip(taps).map(|(axis, &tap)| axis.windows_inside(b, tap)).collect();
            body(b, taps, &inside);
        }),
    );
}

/// The innermost part of the loops over taps: it gets their indices.
type OfTap<'f, 'b> = Box<dyn FnOnce(&mut PrimBuilder<'b>, &[NodeId]) + 'f>;

fn taps<'b>(b: &mut PrimBuilder<'b>, axes: &[WindowAxis], at: &mut Vec<NodeId>, body: OfTap<'_, 'b>) {
    let Some((axis, inner)) = axes.split_first() else { return body(b, at) };
    let extent = b.index(axis.kernel);
    if axis.kernel == 1 {
        at.push(b.index(0));
        return taps(b, inner, at, body);
    }
    let id = b.each(extent, |b, tap| {
        at.push(tap);
        taps(b, inner, at, body);
    });
    if axis.before > 0 || axis.reaches_behind() {
        // The windows of a tap depend on it: `LoopPartition` is asked to tell those at the edges from the others.
        let f = b.function_mut();
        let hint = f.encode_attr(&Attr::meta("partition_hint", 1_i64));
        let all: Vec<AttrRec> = f.attr_recs(id).iter().chain([&hint]).copied().collect();
        f.set_attr_recs(id, &all);
    }
}

/// Loops over the windows of a tap; `body` gets the indices of the window and of its element in the image.
pub fn each_window<'b>(
    b: &mut PrimBuilder<'b>,
    axes: &[WindowAxis],
    inside: &[Inside],
    body: impl FnOnce(&mut PrimBuilder<'b>, &[NodeId], &[NodeId]),
) {
    along(b, axes, inside, &mut (Vec::new(), Vec::new()), Box::new(body));
}

/// The innermost part: it gets the indices of the window and of its element in the image.
type Body<'f, 'b> = Box<dyn FnOnce(&mut PrimBuilder<'b>, &[NodeId], &[NodeId]) + 'f>;

fn along<'b>(
    b: &mut PrimBuilder<'b>,
    axes: &[WindowAxis],
    inside: &[Inside],
    at: &mut (Vec<NodeId>, Vec<NodeId>),
    body: Body<'_, 'b>,
) {
    let (Some((axis, axes)), Some((this, inside))) = (axes.split_first(), inside.split_first()) else {
        return body(b, &at.0, &at.1);
    };
    let turn = |b: &mut PrimBuilder<'b>, window: NodeId| {
        let start = b.times(window, axis.stride as u64);
        at.1.push(b.plus(start, this.offset));
        at.0.push(window);
        along(b, axes, inside, at, body);
    };
    match (b.known(this.first), b.known(this.turns)) {
        (Some(0), Some(turns)) if turns > 0 => b.over(turns as u64, turn),
        _ => b.from(this.first, this.turns, turn),
    }
}
