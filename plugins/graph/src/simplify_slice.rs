//! A slice of a slice is one, and slices that cut a value into pieces are one `Split`.
//!
//! ```text
//! %1 = Slice(%x, const(int64, [1]), const(int64, [9]), const(int64, [2]));
//! %2 = Slice(%1, const(int64, [0]), const(int64, [-1]), const(int64, [3]));
//! ```
//! becomes
//! ```text
//! %2 = Slice(%x, const(int64, [1, 0]), const(int64, [9, -1]), const(int64, [2, 3]), const(int64, [1, 1]));
//! ```
//!
//! All ranges must be constant; along one axis, both must count from its beginning. If the inner slice is used elsewhere,
//! too, both stay.
//!
//! ```text
//! %1 = Slice(%x, const(int64, [0]), const(int64, [2]), const(int64, [1]));     // %x: Tensor[(n, 6), float32]
//! %2 = Slice(%x, const(int64, [2]), const(int64, [6]), const(int64, [1]));
//! ```
//! becomes
//! ```text
//! %3 = Split(%x, const(int64, [2, 4]), axis = 1) -> 2;
//! %1 = %3[0];
//! %2 = %3[1];
//! ```
//!
//! This needs all slices of the value along this axis in the block to be of the whole, without overlap, and the size of
//! the axis to be known. Vectors of 64-bit integers stay, because other passes look for the entries of shapes in slices.

use crate::axes::normalized;
use relais_plugin_api::{
    build::Builder,
    ir::{BlockTree, Users},
    pass::drive,
    prelude::*,
    rewrite::DriveOptions,
};
use std::{collections::BTreeMap, ops::Range};

/// Makes one slice of two in a row, and one split of those that cut a value into pieces.
#[function_pass(
    name = "relais.SimplifySlice",
    opt_level = 1,
    required = ["relais.InferType"],
    statistics(rewritten = "calls replaced", split = "slices that became parts of a split"),
)]
pub fn simplify_slice(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    drive(edit, cx, &mut slice_of_slice, &["Slice"], DriveOptions::default())?;
    split(edit, cx)
}

/// A slice along one axis.
struct Piece {
    slice: NodeId,
    input: NodeId,
    axis: usize,
    range: Range<u64>,
    /// The size of the axis.
    size: u64,
}

/// Makes a split of slices that are all pieces of a value.
fn split(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    if !f.all_bindings().any(|id| f.call(id).is_some_and(|call| call.is_op("Slice"))) {
        return Ok(());
    }
    let (users, places) = (cx.analysis::<Users>(edit)?, cx.analysis::<BlockTree>(edit)?);
    let f = edit.function();
    let mut cuts: BTreeMap<_, Vec<Piece>> = BTreeMap::new();
    for piece in f.all_bindings().filter(|&id| users.is_used(id)).filter_map(|id| Piece::of(f, id)) {
        cuts.entry((places.block_of(piece.slice), piece.input, piece.axis)).or_default().push(piece);
    }
    let mut cuts: BTreeMap<NodeId, (Vec<u64>, Vec<Piece>)> =
        cuts.into_values().filter_map(|pieces| Some((pieces[0].slice, (sizes(&pieces)?, pieces)))).collect();
    let is_attribute = f.opset_version("").unwrap_or(0) < 13;
    let mut relations = cx.ops(f);
    edit.rebuild(&mut |at: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
        if let Some((sizes, pieces)) = cuts.remove(&id) {
            cx.count("split", pieces.len());
            let list: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
            let mut args = vec![at.resolve(pieces[0].input)];
            let mut attrs = vec![Attr::new("axis", pieces[0].axis as i64)];
            let mut build = Builder::before(at, &mut relations);
            match is_attribute {
                true => attrs.push(Attr::new("split", list)),
                false => args.push(build.constant(Tensor::from_i64(&[list.len() as u64], &list))),
            }
            let parts = build.call_results("", "Split", &args, attrs, sizes.len() as u16)?.1;
            let ends = sizes.iter().scan(0, |end, size| {
                *end += size;
                Some(*end)
            });
            let parts: BTreeMap<u64, NodeId> = ends.zip(parts).collect();
            for piece in &pieces {
                at.take_over(piece.slice, parts[&piece.range.end]);
            }
        }
        Ok(Action::Keep)
    })
}

/// The sizes of pieces that are the whole, in order; `None` if some overlap or are missing, or there is one only.
fn sizes(pieces: &[Piece]) -> Option<Vec<u64>> {
    let mut ranges: Vec<(u64, u64)> = pieces.iter().map(|piece| (piece.range.start, piece.range.end)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    let is_whole = ranges.first()?.0 == 0
        && ranges.last()?.1 == pieces[0].size
        && ranges.windows(2).all(|pair| pair[0].1 == pair[1].0);
    let is_several = (2..=usize::from(u16::MAX)).contains(&ranges.len());
    (is_whole && is_several).then(|| ranges.iter().map(|(start, end)| end - start).collect())
}

impl Piece {
    fn of(f: &Function, id: NodeId) -> Option<Self> {
        // Before version 10, ranges are attributes.
        let call = f.call(id).filter(|call| call.is_op("Slice") && call.version() >= 10)?;
        let input = call.arg(0).filter(|&input| f.constant(input).is_none())?;
        let one = |at: usize| f.constant(call.arg(at)?).filter(|tensor| tensor.len() == 1)?.to_i64s()?.first().copied();
        let shape = f.type_of(input).shape()?;
        if shape.len() == 1 && f.type_of(input).elem().is_none_or(|elem| elem == ElemType::INT64) {
            return None;
        }
        let is_forward = call.arg(4).is_none() || one(4) == Some(1);
        let axis = if call.arg(3).is_some() { one(3)? } else { 0 };
        let axis = normalized(&[axis], shape.len())?[0];
        let size = Dim::from(shape[axis]).known().filter(|&size| i64::try_from(size).is_ok())?;
        let place = |at: i64| (if at < 0 { at.saturating_add(size as i64) } else { at }).clamp(0, size as i64) as u64;
        let range = place(one(1)?)..place(one(2)?);
        (is_forward && range.start < range.end).then_some(Self { slice: id, input, axis, range, size })
    }
}

/// Makes one slice of two in a row.
fn slice_of_slice(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let inner = call.arg(0).filter(|&arg| cx.n_uses(arg) == 1).and_then(|arg| cx.call_of_op(arg, "Slice"));
    let Some((inner, input)) = inner.and_then(|inner| Some((inner, inner.arg(0)?))) else { return Rewrite::Keep };
    if cx.opset() < 10 {
        return Rewrite::decline("before version 10 of the operator set, ranges are attributes");
    }
    let (Some(mut first), Some(second)) = (Ranges::of(inner, cx), Ranges::of(call, cx)) else {
        return Rewrite::decline("a range is not constant, or the rank is not known");
    };
    for (at, axis) in second.axes.iter().enumerate() {
        let (start, end, step) = (second.starts[at], second.ends[at], second.steps[at]);
        if let Some(same) = first.axes.iter().position(|other| other == axis) {
            let (from, to) = (first.starts[same], first.ends[same]);
            if [from, to, start, end].iter().any(|&place| place < 0) || step != 1 || first.steps[same] != 1 {
                return Rewrite::decline("both slice along the same axis, with steps or from its end");
            }
            // The second one counts from where the first one starts, and ends there at the latest.
            (first.starts[same], first.ends[same]) = (from.saturating_add(start), from.saturating_add(end).min(to));
        } else {
            for (all, more) in first.parts().into_iter().zip([start, end, *axis, step]) {
                all.push(more);
            }
        }
    }
    let lists = first.lists().map(|list| Tensor::from_i64(&[list.len() as u64], list));
    let args = lists.map(|list| cx.constant(list));
    Rewrite::Replace(cx.call("Slice", &[input, args[0], args[1], args[2], args[3]]))
}

/// The ranges of a slice; axes are counted from the first.
struct Ranges {
    starts: Vec<i64>,
    ends: Vec<i64>,
    axes: Vec<i64>,
    steps: Vec<i64>,
}

impl Ranges {
    fn of(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<Self> {
        let rank = cx.type_of(call.id).shape()?.len() as i64;
        // There is at most one for each axis; a list that is not valid may have any length.
        let list = |arg: NodeId| cx.tensor(arg).filter(|tensor| tensor.len() <= rank as u64)?.to_i64s();
        let (starts, ends) = (list(call.arg(1)?)?, list(call.arg(2)?)?);
        let or = |arg: Option<NodeId>, all: Vec<i64>| arg.map_or(Some(all), list);
        let axes = or(call.arg(3), (0..starts.len() as i64).collect())?;
        let steps = or(call.arg(4), vec![1; starts.len()])?;
        let axes = axes.into_iter().map(|axis| if axis < 0 { axis + rank } else { axis }).collect();
        let ranges = Self { starts, ends, axes, steps };
        let is_whole = ranges.lists().iter().all(|list| list.len() == ranges.starts.len());
        is_whole.then_some(ranges)
    }

    fn lists(&self) -> [&Vec<i64>; 4] {
        [&self.starts, &self.ends, &self.axes, &self.steps]
    }

    fn parts(&mut self) -> [&mut Vec<i64>; 4] {
        [&mut self.starts, &mut self.ends, &mut self.axes, &mut self.steps]
    }
}
