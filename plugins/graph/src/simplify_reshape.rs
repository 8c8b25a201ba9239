//! A reshape of a reshape is one reshape, and a computed shape becomes a constant where it can be expressed as one.
//!
//! ```text
//! %1 = Flatten(%x);                    // %x: Tensor[(2, 3, 4), float32]
//! %2 = Unsqueeze(%1, %axis);
//! ```
//! becomes
//! ```text
//! %2 = Reshape(%x, const(int64, [1, 2, 12]));
//! ```
//!
//! `Reshape`, `Flatten`, `Squeeze` and `Unsqueeze` change the shape alone, so of two in a row the last one decides. If the
//! value between the two is used elsewhere, too, nothing would be gained, and both stay.
//!
//! The shape of the result can be expressed if it is known; or if one size is not, and the others are not zero: that one is
//! `-1`; or if all sizes that are not known are those of the input at the same places: these are `0`. Both in one shape
//! would fail for an empty input, such as a batch of 0, unless the computed shape has the `-1` already, or another reshape
//! that is always computed has both over the same size, and fails for it as well; `assume_non_empty = true` says that no
//! input is empty.
//!
//! A reshape to a computed shape that leaves out or inserts sizes of 1 alone is a `Squeeze` or `Unsqueeze`, and so is a
//! `Squeeze` or `Unsqueeze` of another one whose shape cannot be expressed. Two that undo each other are removed, even if
//! the value between them is used elsewhere. A `Transpose` between two reshapes or beside one counts as a reshape if it
//! moves sizes of 1 alone. A reduction takes up a reshape that removes or inserts the axes that it reduced.

use super::{
    axes::{Reduction, listed, normalized},
    numbers::is_of_onnx,
    shape_entries::{Entry, entries},
};
use relais_plugin_api::{
    ir::{DimRec, Dims, kind},
    pass::drive,
    prelude::*,
    rewrite::DriveOptions,
};
use std::collections::HashSet;

/// Options of `SimplifyReshape`.
#[derive(PassOptions)]
pub struct SimplifyReshapeOptions {
    /// Whether no size that is not known is 0, so that a constant shape can have sizes of the input beside one that is
    /// computed.
    #[option(default = false)]
    pub assume_non_empty: bool,
}

/// Makes one reshape of several in a row, and constants of shapes that are computed.
#[function_pass(
    name = "relais.SimplifyReshape",
    opt_level = 1,
    required = ["relais.InferType"],
    statistics(rewritten = "calls replaced"),
)]
pub fn simplify_reshape(edit: &mut Editor, cx: &PassCx<'_>, options: &SimplifyReshapeOptions) -> Result<(), PassError> {
    let sizes = NonZero::of(edit.function(), options);
    let ops = ["Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose"];
    drive(edit, cx, &mut |call, cx| reshape(call, cx, &sizes), &ops, DriveOptions::default()).map(|_| ())
}

fn reshape(call: CallView<'_>, cx: &mut RewriteCx<'_>, non_zero: &NonZero) -> Rewrite {
    let Some(arg) = call.arg(0).filter(|_| is_reshape(call, cx)) else { return Rewrite::Keep };
    let producer = cx.call_of(arg);
    if let Some((reduce, reduction)) = producer.and_then(|reduce| Some((reduce, taken_up(call, reduce, cx)?))) {
        return Rewrite::Replace(with_other_rank(reduce, &reduction, cx));
    }
    let producer = producer.filter(|before| is_reshape(*before, cx));
    let before = producer.and_then(|before| before.arg(0));
    let steps = producer.and_then(|inner| Steps::of(inner, call, cx));
    if let Some(input) = before.filter(|&input| is_undone(call, input, cx) || steps == Some(Steps::Nothing)) {
        return Rewrite::Replace(input);
    }
    let computed = call.arg(1).filter(|&shape| call.is_op("Reshape") && cx.tensor(shape).is_none());
    let input = match before {
        Some(input) if cx.n_uses(arg) == 1 => input,
        Some(_) if computed.is_none() => return Rewrite::decline("the reshape before it is used elsewhere, too"),
        _ if computed.is_some() => arg,
        _ => return Rewrite::Keep,
    };
    if cx.opset() < 5 {
        return Rewrite::decline("before version 5 of the operator set, the shape is an attribute");
    }
    let sizes = shape(call, input, non_zero, cx);
    let alone = computed.filter(|_| sizes.is_err());
    let is_zero_copied = cx.attrs(call).int("allowzero").unwrap_or(0) == 0;
    let unit_sizes = match alone {
        Some(_) => unit_sizes(call, arg, cx).map(|steps| (arg, steps)),
        None => steps.map(|steps| (input, steps)),
    };
    let sizes = match alone.filter(|_| is_zero_copied).and_then(|shape| copied_shape(call, arg, shape, cx)) {
        Some(sizes) => Ok((arg, sizes)),
        None => sizes.map(|sizes| (input, sizes)),
    };
    let (name, input, axes) = match (sizes, unit_sizes) {
        (Ok((input, sizes)), _) => ("Reshape", input, sizes),
        (Err(_), Some((input, Steps::Squeeze(axes)))) => ("Squeeze", input, axes),
        (Err(_), Some((input, Steps::Unsqueeze(axes)))) => ("Unsqueeze", input, axes),
        (Err(reason), _) => return Rewrite::decline(reason),
    };
    if name != "Reshape" && cx.opset() < 13 {
        return Rewrite::Replace(cx.call_with(name, &[input], vec![Attr::new("axes", axes)]));
    }
    let list = cx.constant(Tensor::from_i64(&[axes.len() as u64], &axes));
    Rewrite::Replace(cx.call(name, &[input, list]))
}

fn is_reshape(call: CallView<'_>, cx: &RewriteCx<'_>) -> bool {
    ["Reshape", "Flatten", "Squeeze", "Unsqueeze"].iter().any(|name| call.is_op(name)) || moves_units_alone(call, cx)
}

/// Whether a call is a transpose that leaves the order of all axes but those of size 1.
fn moves_units_alone(call: CallView<'_>, cx: &RewriteCx<'_>) -> bool {
    let from = call.arg(0).filter(|_| call.is_op("Transpose")).and_then(|input| dims(input, cx));
    let Some((perm, from)) = call.attrs().ints("perm").zip(from) else { return false };
    let size = |axis: i64| usize::try_from(axis).ok().and_then(|axis| from.get(axis).copied());
    perm.into_iter().filter(|&axis| size(axis) != Some(Dim::Static(1))).is_sorted()
}

/// Whether the result has certainly the shape of `input`, whose elements it has.
fn is_undone(call: CallView<'_>, input: NodeId, cx: &RewriteCx<'_>) -> bool {
    let (Some(from), Some(to)) = (dims(input, cx), dims(call.id, cx)) else { return false };
    is_same_shape(&from, &to)
}

fn is_same_shape(a: &[Dim], b: &[Dim]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, &b)| a.is_same(b))
}

/// The reduction, if one that keeps its axes where it did not, or the other way round, gives what `call` makes of it.
fn taken_up(call: CallView<'_>, reduce: CallView<'_>, cx: &RewriteCx<'_>) -> Option<Reduction> {
    let is_free = is_of_onnx(reduce.owner(), reduce) && cx.n_uses(reduce.id) == 1 && cx.is_in_same_block(reduce.id);
    let reduction = Some(reduce).filter(|_| is_free).and_then(|reduce| Reduction::of(reduce, cx))?;
    let is_by_axes = call.is_op(if reduction.keeps { "Squeeze" } else { "Unsqueeze" });
    let axes = listed(call, cx).filter(|_| is_by_axes).and_then(|axes| normalized(&axes, reduction.from.len()));
    let is_it = axes.is_some_and(|axes| axes == reduction.axes)
        || dims(call.id, cx).is_some_and(|to| is_same_shape(&reduction.sizes(!reduction.keeps), &to));
    is_it.then_some(reduction)
}

/// A reduction that keeps its axes if it did not, or does not if it did. It counts them from the first: of a value without
/// elements, onnxruntime (1.31) does not reduce axes that are counted from the last, which a reshape hides.
fn with_other_rank(reduce: CallView<'_>, reduction: &Reduction, cx: &mut RewriteCx<'_>) -> NodeId {
    let mut args = reduce.args().to_vec();
    let mut attrs = vec![Attr::new("keepdims", i64::from(!reduction.keeps))];
    if listed(reduce, cx).is_some_and(|axes| axes.iter().any(|&axis| axis < 0)) {
        let axes: Vec<i64> = reduction.axes.iter().map(|&axis| axis as i64).collect();
        match reduce.arg(1) {
            Some(_) => args[1] = cx.constant(Tensor::from_i64(&[axes.len() as u64], &axes)),
            None => attrs.push(Attr::new("axes", axes)),
        }
    }
    cx.call_like(reduce, &args, attrs)
}

/// The effect of a `Squeeze` or `Unsqueeze`, or of several, on a value of which the rank is known.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Steps {
    Nothing,
    Squeeze(Vec<i64>),
    Unsqueeze(Vec<i64>),
}

impl Steps {
    /// The effect of `inner` and then `outer`, if one call has it.
    fn of(inner: CallView<'_>, outer: CallView<'_>, cx: &RewriteCx<'_>) -> Option<Self> {
        let rank = cx.type_of(inner.arg(0)?).shape()?.len();
        // The axes of the input that are left, and those of size 1 that are new.
        let mut places: Vec<Option<usize>> = (0..rank).map(Some).collect();
        for call in [inner, outer] {
            let axes = listed(call, cx).filter(|axes| !axes.is_empty())?;
            if call.is_op("Squeeze") {
                let axes = normalized(&axes, places.len())?;
                places = (0..places.len()).filter(|at| !axes.contains(at)).map(|at| places[at]).collect();
            } else if call.is_op("Unsqueeze") {
                for axis in normalized(&axes, places.len() + axes.len())? {
                    places.insert(axis, None);
                }
            } else {
                return None;
            }
        }
        // A new axis of size 1 in the place of one that was removed is that one.
        let mut next = 0;
        for at in 0..places.len() {
            let end = places[at..].iter().flatten().next().copied().unwrap_or(rank);
            places[at] = places[at].or((next < end).then_some(next));
            next = places[at].map_or(next, |axis| axis + 1);
        }
        let left: Vec<usize> = places.iter().flatten().copied().collect();
        let new: Vec<i64> = (0..places.len()).filter(|&at| places[at].is_none()).map(|at| at as i64).collect();
        match (left.len() == rank, new.is_empty()) {
            (true, true) => Some(Self::Nothing),
            (true, false) => Some(Self::Unsqueeze(new)),
            (false, true) => {
                Some(Self::Squeeze((0..rank).filter(|at| !left.contains(at)).map(|at| at as i64).collect()))
            }
            (false, false) => None,
        }
    }
}

/// The computed shape of a reshape, if all of its entries are known or sizes of the input at the same places: with a 0
/// for these, the result is the same even if the input is empty.
fn copied_shape(call: CallView<'_>, input: NodeId, shape: NodeId, cx: &RewriteCx<'_>) -> Option<Vec<i64>> {
    let from = dims(input, cx).unwrap_or_default();
    let to = dims(call.id, cx)?;
    let entries = entries(shape, cx)?;
    let size = |(at, entry): (usize, &Entry)| match *entry {
        Entry::Int(value) => Some(value),
        Entry::Size { of: Some((value, axis)), .. } if (value, axis) == (input, at) => Some(0),
        Entry::Size { dim, .. } if from.get(at).is_some_and(|from| from.is_same(dim)) => Some(0),
        Entry::Size { .. } => i64::try_from(to.get(at)?.known()?).ok(),
    };
    entries.iter().enumerate().map(size).collect()
}

/// How an input gets the shape of a result, if the two differ in sizes of 1 alone.
fn unit_sizes(call: CallView<'_>, input: NodeId, cx: &RewriteCx<'_>) -> Option<Steps> {
    let (from, to) = (dims(input, cx)?, dims(call.id, cx)?);
    match from.len() > to.len() {
        true => Some(Steps::Squeeze(units_between(&from, &to)?)),
        false => Some(Steps::Unsqueeze(units_between(&to, &from)?)),
    }
}

/// The axes of `long` without which it is `short`, if there are any, and all have size 1.
fn units_between(long: &[Dim], short: &[Dim]) -> Option<Vec<i64>> {
    let mut rest = short;
    let mut axes = Vec::new();
    for (axis, &dim) in long.iter().enumerate() {
        match rest {
            [first, after @ ..] if first.is_same(dim) => rest = after,
            _ if dim == Dim::Static(1) => axes.push(axis as i64),
            _ => return None,
        }
    }
    (rest.is_empty() && !axes.is_empty()).then_some(axes)
}

fn dims(id: NodeId, cx: &RewriteCx<'_>) -> Option<Dims> {
    Some(cx.type_of(id).shape()?.iter().map(|&dim| dim.into()).collect())
}

/// The shape, as `Reshape` takes it, by which `input` becomes the result of `call`.
fn shape(call: CallView<'_>, input: NodeId, non_zero: &NonZero, cx: &RewriteCx<'_>) -> Result<Vec<i64>, &'static str> {
    let to = cx.type_of(call.id).shape().ok_or("the rank of the result is not known")?;
    let from = cx.type_of(input).shape().unwrap_or_default();
    let is_known = |dim: &DimRec| Dim::from(*dim).known().is_some();
    let is_copied = |at: usize| from.get(at).is_some_and(|&dim| Dim::from(dim).is_same(to[at].into()));
    if to.iter().any(|&dim| Dim::from(dim).known() == Some(0)) {
        return Err("0 stands for a size of the input in a shape");
    }
    let unknown: Vec<usize> = (0..to.len()).filter(|&at| !is_known(&to[at])).collect();
    let n_computed = unknown.iter().filter(|&&at| !is_copied(at)).count();
    let computed = match (unknown.len(), n_computed) {
        (0, _) => None,
        (1, _) => Some(unknown[0]),
        (_, 0) => None,
        (_, 1) if unknown.iter().all(|&at| !is_copied(at) || non_zero.has(to[at].into())) => {
            unknown.into_iter().find(|&at| !is_copied(at))
        }
        (_, 1) => return Err("beside a size that is computed, one of the input must not be 0"),
        _ => return Err("several sizes of the result are not known"),
    };
    to.iter()
        .enumerate()
        .map(|(at, &dim)| match Dim::from(dim).known() {
            Some(size) => i64::try_from(size).map_err(|_| "a size is too large"),
            None => Ok(if computed == Some(at) { -1 } else { 0 }),
        })
        .collect()
}

/// Sizes that are not 0 in any run that gives a result.
enum NonZero {
    All,
    These(HashSet<Dim>),
}

impl NonZero {
    /// The sizes that a function's reshapes copy beside a `-1`, which fails for 0. Only calls count on which a result of
    /// the function depends, and not through a branch: they are computed in every run.
    fn of(f: &Function, options: &SimplifyReshapeOptions) -> Self {
        let mut sizes = HashSet::new();
        if options.assume_non_empty {
            return Self::All;
        }
        let bindings = f.bindings(f.body());
        if bindings.iter().all(|&id| copied_beside_computed(f, id).is_none_or(|(_, places)| places.is_empty())) {
            return Self::These(sizes);
        }
        let mut live: HashSet<NodeId> = f.results(f.body()).iter().copied().collect();
        for &id in bindings.iter().rev() {
            if f.kind(id) == kind::FUNCTION || !live.contains(&id) {
                continue;
            }
            live.extend(f.operands(id));
            if let Some((from, places)) = copied_beside_computed(f, id) {
                let dims = places.into_iter().filter_map(|at| from.get(at).map(|&dim| Dim::from(dim)));
                sizes.extend(dims.filter(|dim| matches!(dim, Dim::Symbol(_))));
            }
        }
        Self::These(sizes)
    }

    fn has(&self, size: Dim) -> bool {
        match self {
            Self::All => true,
            Self::These(sizes) => sizes.contains(&size),
        }
    }
}

/// The sizes before a reshape to a constant shape with a `-1`, and the places of a `0` in it.
fn copied_beside_computed(f: &Function, id: NodeId) -> Option<(&[DimRec], Vec<usize>)> {
    // No rank is near this.
    const MOST: u64 = 1 << 10;
    let call = f.call(id).filter(|call| call.is_op("Reshape") && is_of_onnx(f, *call))?;
    let shape = f.constant(call.arg(1)?).filter(|shape| shape.len() <= MOST)?.to_i64s()?;
    let copies_zero = call.attrs().int("allowzero").unwrap_or(0) == 0 && shape.contains(&-1);
    let from = f.type_of(call.arg(0)?).shape().filter(|_| copies_zero)?;
    Some((from, (0..shape.len()).filter(|&at| shape[at] == 0).collect()))
}
