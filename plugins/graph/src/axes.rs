//! The axes that calls name, counted from the first.

use relais_plugin_api::{ir::DimRec, prelude::*};

/// Axes in ascending order, each once; `None` if one is not of a value of this rank.
pub fn normalized(axes: &[i64], rank: usize) -> Option<Vec<usize>> {
    let rank = i64::try_from(rank).ok()?;
    let axis = |&axis: &i64| usize::try_from(if axis < 0 { axis + rank } else { axis }).ok();
    let mut axes = axes.iter().map(axis).collect::<Option<Vec<usize>>>()?;
    axes.sort_unstable();
    axes.dedup();
    axes.iter().all(|&axis| (axis as i64) < rank).then_some(axes)
}

/// The axes that a call lists, as an attribute or as its second argument: an empty list if it has neither, `None` if they
/// are not constant.
pub fn listed(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<Vec<i64>> {
    // No rank is near this.
    const MOST: u64 = 1 << 10;
    match call.arg(1) {
        Some(axes) => cx.tensor(axes).filter(|axes| axes.len() <= MOST)?.to_i64s(),
        None if call.attrs().get("axes").is_some() => call.attrs().ints("axes"),
        None => Some(Vec::new()),
    }
}

/// A reduction: an operator with the attribute `keepdims`.
pub struct Reduction {
    /// The axes that are reduced.
    pub axes: Vec<usize>,
    /// Whether they stay, with a size of 1.
    pub keeps: bool,
    /// The sizes before.
    pub from: Vec<DimRec>,
}

impl Reduction {
    /// Reads a call; `None` if it is something else, or its rank or its axes are not known.
    pub fn of(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<Self> {
        let attrs = cx.attrs(call);
        let keeps = attrs.int("keepdims").filter(|_| call.n_results().is_none())? != 0;
        let from = cx.type_of(call.arg(0)?).shape()?.to_vec();
        let axes = match attrs.int("axis") {
            Some(axis) => vec![axis],
            None => listed(call, cx)?,
        };
        let axes = match axes.as_slice() {
            [] if attrs.int("noop_with_empty_axes").unwrap_or(0) != 0 => Vec::new(),
            [] => (0..from.len()).collect(),
            axes => normalized(axes, from.len())?,
        };
        Some(Self { axes, keeps, from })
    }

    /// The sizes after, if the reduced axes stay or not.
    pub fn sizes(&self, keeps: bool) -> Vec<Dim> {
        let size = |(axis, &dim): (usize, &DimRec)| match self.axes.contains(&axis) {
            true => keeps.then_some(Dim::Static(1)),
            false => Some(dim.into()),
        };
        self.from.iter().enumerate().filter_map(size).collect()
    }
}
