//! Windows that slide over the spatial axes of an image.

use super::{declined, terms::Terms};
use relais_plugin_api::{
    ir::{Attr, AttrRec, NodeId},
    op::{OpCall, OpError},
    prim::{CoreOp, PrimBuilder},
};

/// A window that slides along one axis.
#[derive(Clone, Copy)]
pub struct Axis {
    /// Elements of the image.
    pub size: i64,
    /// Elements of the window.
    pub kernel: i64,
    pub stride: i64,
    pub dilation: i64,
    /// Padding before the image, and after it.
    pub before: i64,
    pub after: i64,
    /// Windows.
    pub count: i64,
}

/// The windows of one place in the kernel, a tap, that find an element of the image there.
pub struct Inside {
    first: NodeId,
    turns: NodeId,
    /// The tap's place in the image for the first window of all.
    offset: NodeId,
}

/// An attribute with a number for each axis; the sizes that are computed with them are far from overflowing.
fn list(call: &OpCall<'_>, name: &str, len: usize, default: i64) -> Result<Vec<i64>, OpError> {
    let values = call.attrs().ints(name).filter(|values| !values.is_empty()).unwrap_or_else(|| vec![default; len]);
    match values.len() == len && values.iter().all(|value| (default.min(1)..1 << 30).contains(value)) {
        true => Ok(values),
        false => declined(format_args!("`{name}` is {values:?}")),
    }
}

/// The axes without padding and counts.
fn read(call: &OpCall<'_>, image: &[u64], kernel: &[u64]) -> Result<Vec<Axis>, OpError> {
    let n = image.len();
    let (strides, dilations) = (list(call, "strides", n, 1)?, list(call, "dilations", n, 1)?);
    if kernel.len() != n || n == 0 {
        return declined("its window has not as many axes as its image");
    }
    if image.iter().chain(kernel).any(|&size| size == 0 || size > 1 << 30) {
        return declined("an image or a window is empty or too large");
    }
    let given = list(call, "kernel_shape", n, 0)?;
    if given.iter().zip(kernel).any(|(&given, &size)| given != 0 && given as u64 != size) {
        return declined("`kernel_shape` is not that of its weights");
    }
    let axis = |at: usize| Axis {
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

/// Whether the padding keeps the size, and has the odd element before the image.
enum Same {
    Upper,
    Lower,
}

/// The value of `auto_pad`: padding that keeps the size, or that before all axes, then after all axes.
fn padding(call: &OpCall<'_>, n: usize) -> Result<Result<Vec<i64>, Same>, OpError> {
    Ok(match call.attrs().str("auto_pad").unwrap_or("NOTSET") {
        "" | "NOTSET" => Ok(list(call, "pads", 2 * n, 0)?),
        "VALID" => Ok(vec![0; 2 * n]),
        "SAME_UPPER" => Err(Same::Upper),
        "SAME_LOWER" => Err(Same::Lower),
        other => return declined(format_args!("`auto_pad` is `{other}`")),
    })
}

/// Splits padding into that before and that after the image.
fn split(total: i64, same: &Same) -> (i64, i64) {
    match same {
        Same::Upper => (total / 2, total - total / 2),
        Same::Lower => (total - total / 2, total / 2),
    }
}

impl Axis {
    /// The distance from the window's first element to the one after its last.
    fn extent(&self) -> i64 {
        (self.kernel - 1) * self.dilation + 1
    }

    /// Whether the windows are the elements of the image.
    fn is_plain(&self) -> bool {
        self.kernel == 1 && self.stride == 1 && self.before == 0 && self.size == self.count
    }

    /// Whether the last window reaches beyond the image.
    fn reaches_behind(&self) -> bool {
        (self.count - 1) * self.stride + self.extent() - self.before > self.size
    }

    /// The windows that have the element of a tap in the image.
    fn inside(&self, b: &mut PrimBuilder<'_>, tap: NodeId) -> Inside {
        let offset = b.times(tap, self.dilation as u64);
        let offset = b.shifted(offset, -self.before);
        let zero = b.index(0);
        let mut first = zero;
        if self.before > 0 {
            // Rounded up.
            let most = b.index(self.stride - 1);
            let start = self.divided(b, most, offset);
            first = self.extreme(b, CoreOp::Max, zero, start);
        }
        let mut end = b.index(self.count);
        if self.reaches_behind() {
            // Rounded up, too: the first window that is beyond the image.
            let last = b.index(self.size + self.stride - 1);
            let behind = self.divided(b, last, offset);
            end = self.extreme(b, CoreOp::Min, end, behind);
        }
        let turns = match (b.known(first), b.known(end)) {
            (Some(0), _) => end,
            (Some(first), Some(end)) => b.index(end - first),
            _ => b.sub(end, first),
        };
        Inside { first, turns, offset }
    }

    /// `(from - offset) / stride`, rounded down.
    fn divided(&self, b: &mut PrimBuilder<'_>, from: NodeId, offset: NodeId) -> NodeId {
        match (b.known(from), b.known(offset)) {
            (Some(from), Some(offset)) => b.index((from - offset).div_euclid(self.stride)),
            _ => {
                let distance = b.sub(from, offset);
                if self.stride == 1 {
                    return distance;
                }
                let stride = b.index(self.stride);
                b.op(CoreOp::FloorDiv, &[distance, stride])
            }
        }
    }

    /// The smaller or the larger one of two indices.
    fn extreme(&self, b: &mut PrimBuilder<'_>, op: CoreOp, x: NodeId, y: NodeId) -> NodeId {
        match (b.known(x), b.known(y)) {
            (Some(x), Some(y)) if op == CoreOp::Max => b.index(x.max(y)),
            (Some(x), Some(y)) => b.index(x.min(y)),
            _ => b.op(op, &[x, y]),
        }
    }
}

/// The windows over an image, of which there are `counts` along its axes.
pub fn windows(call: &OpCall<'_>, image: &[u64], kernel: &[u64], counts: &[u64]) -> Result<Vec<Axis>, OpError> {
    let mut axes = read(call, image, kernel)?;
    let (n, padding) = (axes.len(), padding(call, axes.len())?);
    for (at, axis) in axes.iter_mut().enumerate() {
        axis.count = counts[at] as i64;
        (axis.before, axis.after) = match &padding {
            Ok(pads) => (pads[at], pads[at + n]),
            Err(same) => split(((axis.count - 1) * axis.stride + axis.extent() - axis.size).max(0), same),
        };
    }
    Ok(axes)
}

/// The windows of a transposed convolution: one for each element of its input, over its result.
pub fn transposed(call: &OpCall<'_>, input: &[u64], kernel: &[u64], result: &[u64]) -> Result<Vec<Axis>, OpError> {
    let mut axes = read(call, input, kernel)?;
    let (n, padding) = (axes.len(), padding(call, axes.len())?);
    let extra = list(call, "output_padding", n, 0)?;
    let pads = call.attrs().ints("pads").filter(|pads| !pads.is_empty());
    let stated = call.attrs().ints("output_shape").filter(|sizes| !sizes.is_empty());
    if stated.as_ref().is_some_and(|stated| stated.len() != n) {
        return declined("`output_shape` is not the spatial shape");
    }
    for (at, axis) in axes.iter_mut().enumerate() {
        (axis.count, axis.size) = (axis.size, result[at] as i64);
        let total = (axis.count - 1) * axis.stride + extra[at] + axis.extent() - axis.size;
        (axis.before, axis.after) = match (&padding, &stated) {
            (Ok(pads), None) => (pads[at], pads[at + n]),
            // Zeros fill a result that is stated to be larger than its parts.
            (_, Some(_)) if total < 0 => (0, 0),
            _ if total < 0 => return declined("its result is larger than its parts"),
            _ if total % 2 != 0 && call.version() < 11 => return declined("its padding is odd, before version 11"),
            (padding, _) => {
                let halves = split(total, padding.as_ref().err().unwrap_or(&Same::Lower));
                if padding.is_ok() && pads.as_ref().is_some_and(|pads| (pads[at], pads[at + n]) != halves) {
                    return declined("its padding and the shape of its result contradict each other");
                }
                halves
            }
        };
    }
    Ok(axes)
}

/// One axis in the place of all, where the windows are the elements of the image.
pub fn merged(axes: Vec<Axis>) -> Vec<Axis> {
    match axes.as_slice() {
        [first, _, ..] if axes.iter().all(Axis::is_plain) => {
            let size = axes.iter().map(|axis| axis.size).product();
            vec![Axis { size, count: size, ..*first }]
        }
        _ => axes,
    }
}

/// The sizes of the image.
pub fn image(axes: &[Axis]) -> Vec<u64> {
    axes.iter().map(|axis| axis.size as u64).collect()
}

/// The numbers of windows.
pub fn counts(axes: &[Axis]) -> Vec<u64> {
    axes.iter().map(|axis| axis.count as u64).collect()
}

/// Loops over the taps of the kernel, whose indices and windows `body` gets.
pub fn each_tap<'b>(
    b: &mut PrimBuilder<'b>,
    axes: &[Axis],
    body: impl FnOnce(&mut PrimBuilder<'b>, &[NodeId], &[Inside]),
) {
    taps(
        b,
        axes,
        &mut Vec::new(),
        Box::new(|b, taps| {
            let inside: Vec<Inside> = axes.iter().zip(taps).map(|(axis, &tap)| axis.inside(b, tap)).collect();
            body(b, taps, &inside);
        }),
    );
}

/// The innermost part of the loops over taps: it gets their indices.
type OfTap<'f, 'b> = Box<dyn FnOnce(&mut PrimBuilder<'b>, &[NodeId]) + 'f>;

fn taps<'b>(b: &mut PrimBuilder<'b>, axes: &[Axis], at: &mut Vec<NodeId>, body: OfTap<'_, 'b>) {
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
    axes: &[Axis],
    inside: &[Inside],
    body: impl FnOnce(&mut PrimBuilder<'b>, &[NodeId], &[NodeId]),
) {
    along(b, axes, inside, &mut (Vec::new(), Vec::new()), Box::new(body));
}

/// The innermost part: it gets the indices of the window and of its element in the image.
type Body<'f, 'b> = Box<dyn FnOnce(&mut PrimBuilder<'b>, &[NodeId], &[NodeId]) + 'f>;

fn along<'b>(
    b: &mut PrimBuilder<'b>,
    axes: &[Axis],
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
