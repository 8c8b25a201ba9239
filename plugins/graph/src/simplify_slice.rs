//! A slice of a slice along other axes is one.
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
//! All ranges must be constant. If the inner slice is used elsewhere, too, both stay.

use relais_plugin_api::prelude::*;

/// Makes one slice of two in a row along different axes.
#[rewrite_pass(
    name = "relais.SimplifySlice",
    opt_level = 1,
    required = ["relais.InferType"],
    ops = ["Slice"],
)]
pub fn simplify_slice(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let inner = call.arg(0).filter(|&arg| cx.n_uses(arg) == 1).and_then(|arg| cx.call_of_op(arg, "Slice"));
    let Some((inner, input)) = inner.and_then(|inner| Some((inner, inner.arg(0)?))) else { return Rewrite::Keep };
    if cx.opset() < 10 {
        return Rewrite::decline("before version 10 of the operator set, ranges are attributes");
    }
    let (Some(mut first), Some(second)) = (Ranges::of(inner, cx), Ranges::of(call, cx)) else {
        return Rewrite::decline("a range is not constant, or the rank is not known");
    };
    if second.axes.iter().any(|axis| first.axes.contains(axis)) {
        return Rewrite::decline("both slice along the same axis");
    }
    for (all, more) in first.parts().into_iter().zip(second.lists()) {
        all.extend(more);
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
