//! The entries of a computed shape, as far as they are known.

use relais_plugin_api::prelude::*;

/// Longer shapes are not looked at.
const MOST_ENTRIES: usize = 64;
/// How many calls are followed to the origin of an entry.
const MOST_CALLS: usize = 16;

/// An entry of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    /// A known integer, -1 and 0 included.
    Int(i64),
    /// A size of a value.
    Size {
        /// The size, as far as it is known; never a static one.
        dim: Dim,
        /// The value and its axis.
        of: Option<(NodeId, usize)>,
    },
}

/// The entries of a vector of integers; `None` if not even their number is known.
pub(crate) fn entries(shape: NodeId, cx: &RewriteCx<'_>) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut parts = vec![shape];
    let mut n_calls = 0;
    while let Some(part) = parts.pop() {
        n_calls += 1;
        if n_calls > MOST_ENTRIES || entries.len() > MOST_ENTRIES {
            return None;
        }
        match cx.call_of_op(part, "Concat") {
            Some(concat) => parts.extend(concat.args().iter().rev()),
            None => entries.extend(entries_of_part(part, cx)?),
        }
    }
    Some(entries)
}

fn entries_of_part(part: NodeId, cx: &RewriteCx<'_>) -> Option<Vec<Entry>> {
    if let Some(tensor) = cx.tensor(part) {
        let is_short = tensor.len() <= MOST_ENTRIES as u64;
        return Some(tensor.to_i64s().filter(|_| is_short)?.into_iter().map(Entry::Int).collect());
    }
    let n_entries = match *cx.type_of(part).static_shape()? {
        [] => 1,
        [n] => usize::try_from(n).ok().filter(|&n| n <= MOST_ENTRIES)?,
        _ => return None,
    };
    let known = cx.known_value(part).filter(|known| known.len() == n_entries);
    let of = if n_entries == 1 { origin(part, cx) } else { None };
    let entry = |at: usize| match known.as_ref().map_or(Dim::Unknown, |known| known[at]) {
        Dim::Static(size) => Some(Entry::Int(i64::try_from(size).ok()?)),
        dim => Some(Entry::Size { dim, of }),
    };
    (0..n_entries).map(entry).collect()
}

/// The value and the axis whose size a single integer is.
fn origin(mut id: NodeId, cx: &RewriteCx<'_>) -> Option<(NodeId, usize)> {
    let ints = |id: NodeId| cx.tensor(id).filter(|tensor| tensor.len() == 1)?.to_i64s();
    for _ in 0..MOST_CALLS {
        let call = cx.call_of(id)?;
        if ["Identity", "Unsqueeze", "Squeeze", "Reshape"].iter().any(|name| call.is_op(name)) {
            id = call.arg(0)?;
            continue;
        }
        // A negative position counts from an end that a slice of a shape moves.
        let shape = cx.call_of_op(call.arg(0)?, "Shape")?;
        let is_whole = shape.attrs().get("start").is_none() && shape.attrs().get("end").is_none();
        let position = match () {
            _ if !is_whole => return None,
            _ if call.is_op("Gather") => ints(call.arg(1)?)?[0],
            _ if call.is_op("Slice") && call.args().len() == 3 => {
                let (start, end) = (ints(call.arg(1)?)?[0], ints(call.arg(2)?)?[0]);
                Some(start).filter(|start| start.checked_add(1) == Some(end))?
            }
            _ => return None,
        };
        return Some((shape.arg(0)?, usize::try_from(position).ok()?));
    }
    None
}
