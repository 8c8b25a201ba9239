//! Parts of tensors along an axis.

use super::{Computed, NotComputed, not_covered, wrong};
use relais_ir::*;
use std::ops::Range;

/// An axis, counted from the front.
pub(super) fn front(axis: i64, rank: usize) -> Result<usize, NotComputed> {
    let at = if axis < 0 { axis + rank as i64 } else { axis };
    let at = usize::try_from(at).ok().filter(|&at| at < rank);
    at.ok_or_else(|| wrong(format!("axis {axis} is not one of {rank}")))
}

/// The elements of a tensor in places along an axis: `outer` times a run of places, each of `inner` elements.
struct Along {
    outer: usize,
    places: usize,
    inner: usize,
}

impl Along {
    fn of(dims: &[u64], axis: usize) -> Option<Self> {
        let count = |dims: &[u64]| usize::try_from(element_count(dims)?).ok();
        let places = usize::try_from(*dims.get(axis)?).ok()?;
        Some(Self { outer: count(&dims[..axis])?, places, inner: count(&dims[axis + 1..])? })
    }

    /// The elements of some places in each of the runs.
    fn runs(&self, at: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let &Self { places, inner, .. } = self;
        (0..self.outer).map(move |outer| (outer * places + at.start) * inner..(outer * places + at.end) * inner)
    }
}

/// The bytes of an element; `None` where elements do not take whole bytes each.
fn width(elem: ElemType) -> Option<usize> {
    usize::try_from(elem.bits()).ok().filter(|&bits| bits > 0 && bits.is_multiple_of(8)).map(|bits| bits / 8)
}

fn packed(what: &str) -> NotComputed {
    not_covered(what, "is not evaluated for packed elements")
}

/// The places of a tensor along an axis that are in a range.
pub(super) fn places(what: &str, tensor: &Tensor, axis: usize, at: Range<usize>) -> Result<Tensor, NotComputed> {
    let mut dims = tensor.dims().to_vec();
    let along = Along::of(&dims, axis).filter(|along| at.end <= along.places);
    let along = along.ok_or_else(|| wrong(format!("`{what}` takes a part that is not there")))?;
    dims[axis] = at.len() as u64;
    let part = if let Some(element) = tensor.as_splat() {
        Tensor::splat(tensor.elem(), &dims, element)
    } else if tensor.elem() == ElemType::STRING {
        let strings: Vec<&[u8]> = tensor.strings().collect();
        Tensor::from_strings(&dims, along.runs(at).flat_map(|run| strings[run].iter().copied()))
    } else {
        let (bytes, width) = (tensor.to_bytes(), width(tensor.elem()).ok_or_else(|| packed(what))?);
        let runs = along.runs(at).map(|run| &bytes[run.start * width..run.end * width]);
        Tensor::dense(tensor.elem(), &dims, runs.collect::<Vec<_>>().concat())
    };
    part.map_err(wrong)
}

/// The tensor that has these one after another along an axis.
pub(super) fn joined(what: &str, parts: &[Tensor], axis: usize) -> Result<Tensor, NotComputed> {
    let [first, others @ ..] = parts else { return Err(wrong(format!("`{what}` has nothing to join"))) };
    let mut dims = first.dims().to_vec();
    let around = |tensor: &Tensor| {
        let mut dims = tensor.dims().to_vec();
        if let Some(dim) = dims.get_mut(axis) {
            *dim = 0;
        }
        (tensor.elem(), dims)
    };
    if others.iter().any(|part| around(part) != around(first)) || axis >= dims.len() {
        return Err(wrong(format!("`{what}` joins values of other types")));
    }
    let size = parts.iter().try_fold(0u64, |size, part| size.checked_add(part.dims()[axis]));
    dims[axis] = size.ok_or_else(|| wrong(format!("`{what}` makes too large a value")))?;
    let along: Option<Vec<Along>> = parts.iter().map(|part| Along::of(part.dims(), axis)).collect();
    let along = along.ok_or_else(|| wrong(format!("`{what}` makes too large a value")))?;
    let outer = along[0].outer;
    let run = |along: &Along, outer: usize| {
        let len = along.places * along.inner;
        outer * len..(outer + 1) * len
    };
    let joined = if first.elem() == ElemType::STRING {
        let strings: Vec<Vec<&[u8]>> = parts.iter().map(|part| part.strings().collect()).collect();
        let parts = || strings.iter().zip(&along);
        let runs = (0..outer).flat_map(|outer| parts().flat_map(move |(part, along)| &part[run(along, outer)]));
        Tensor::from_strings(&dims, runs.copied())
    } else {
        let width = width(first.elem()).ok_or_else(|| packed(what))?;
        let bytes: Vec<_> = parts.iter().map(Tensor::to_bytes).collect();
        let mut out = Vec::with_capacity(bytes.iter().map(|bytes| bytes.len()).sum());
        for outer in 0..outer {
            for (part, along) in bytes.iter().zip(&along) {
                let run = run(along, outer);
                out.extend_from_slice(&part[run.start * width..run.end * width]);
            }
        }
        Tensor::dense(first.elem(), &dims, out)
    };
    joined.map_err(wrong)
}

/// The tensor with an axis of size 1 more.
fn unsqueezed(tensor: &Tensor, axis: usize) -> Result<Tensor, NotComputed> {
    let mut dims = tensor.dims().to_vec();
    dims.insert(axis, 1);
    tensor.reshaped(&dims).map_err(wrong)
}

/// The tensor without an axis, which has size 1.
fn squeezed(tensor: &Tensor, axis: usize) -> Result<Tensor, NotComputed> {
    let mut dims = tensor.dims().to_vec();
    dims.remove(axis);
    tensor.reshaped(&dims).map_err(wrong)
}

impl Computed {
    /// The value and its twin, changed alike.
    pub(super) fn map(&self, f: impl Fn(&Tensor) -> Result<Tensor, NotComputed>) -> Result<Self, NotComputed> {
        let twin = self.twin.as_ref().map(&f).transpose()?;
        Ok(Self { tensor: f(&self.tensor)?, twin })
    }

    /// The part at one place of an axis, without the axis.
    pub(super) fn place(&self, what: &str, axis: usize, at: usize) -> Result<Self, NotComputed> {
        self.map(|tensor| squeezed(&places(what, tensor, axis, at..at + 1)?, axis))
    }

    /// The value that has these one after another along an axis.
    pub(super) fn joined(what: &str, parts: &[Self], axis: usize) -> Result<Self, NotComputed> {
        let of = |part: fn(&Self) -> &Tensor| {
            let parts: Vec<Tensor> = parts.iter().map(part).cloned().collect();
            joined(what, &parts, axis)
        };
        let has_twins = !parts.is_empty() && parts.iter().all(|part| part.twin.is_some());
        let twin = if has_twins { Some(of(Self::twin)?) } else { None };
        Ok(Self { tensor: of(|part| &part.tensor)?, twin })
    }

    /// The value that has these as its parts along a new axis.
    pub(super) fn stacked(what: &str, parts: &[Self], axis: i64) -> Result<Self, NotComputed> {
        let rank = parts.first().map_or(0, |part| part.tensor.dims().len());
        let axis = front(axis, rank + 1)?;
        if parts.iter().any(|part| part.tensor.dims().len() != rank) {
            return Err(wrong(format!("`{what}` joins values of other types")));
        }
        let parts: Vec<Self> =
            parts.iter().map(|part| part.map(|tensor| unsqueezed(tensor, axis))).collect::<Result<_, _>>()?;
        Self::joined(what, &parts, axis)
    }
}
