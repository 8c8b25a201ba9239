//! Operators that move, repeat or leave out elements.

use super::shared::util::*;
use relais_operator_math::movement as math;
use relais_plugin_api::{ir::*, op::*};

/// `Transpose`.
pub fn transpose(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let Some(perm) = opt_ints(cx, "perm")? else {
        let dims = cx.dims(0).map(|dims| dims.into_iter().rev().collect::<Dims>());
        set(cx, 0, elem, dims.as_deref());
        return Ok(());
    };
    let mut seen: SmallVec<[bool; 8]> = smallvec![false; perm.len()];
    for &axis in &perm {
        // Negative axes are not in the standard, but runtimes take them.
        let axis = axis_of(axis, perm.len())?;
        if std::mem::replace(&mut seen[axis], true) {
            return invalid(format_args!("`perm` names axis {axis} twice"));
        }
    }
    let dims: Dims = match dims_of_rank(cx, 0, perm.len())? {
        Some(dims) => {
            perm.iter().map(|&axis| axis_of(axis, dims.len()).map(|axis| dims[axis])).collect::<Result<_, _>>()?
        }
        None => smallvec![Dim::Unknown; perm.len()],
    };
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `Expand`.
pub fn expand(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    dims_of_rank(cx, 1, 1)?;
    let elem = cx.elem(0);
    let target = ints_of(cx, 1).or_else(|| Some(smallvec![Int::Unknown; vector_len(cx, 1)?]));
    let dims = match (cx.dims(0), target) {
        (Some(dims), Some(target)) => {
            let target: Dims = target.into_iter().map(Dim::from).collect();
            Some(broadcast(&dims, &target)?)
        }
        _ => None,
    };
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

/// `Tile`.
pub fn tile(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let dims: Option<Dims> = match cx.dims(0) {
        // Version 1 has one axis and one number, both arguments.
        Some(dims) if cx.version() < 6 => Some(smallvec![Dim::Unknown; dims.len()]),
        Some(dims) => Some(match ints_of(cx, 1) {
            Some(repeats) if repeats.len() != dims.len() => {
                return invalid(format_args!("{} repeats do not fit rank {}", repeats.len(), dims.len()));
            }
            Some(repeats) => dims.iter().zip(repeats).map(|(&dim, times)| product(&[dim, times.into()])).collect(),
            None => smallvec![Dim::Unknown; dims.len()],
        }),
        None => vector_len(cx, 1).filter(|_| cx.version() >= 6).map(|rank| smallvec![Dim::Unknown; rank]),
    };
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

/// The starts, ends, axes and steps of a `Slice`, as far as they are known.
struct Bounds {
    starts: Option<Ints>,
    ends: Option<Ints>,
    axes: Axes,
    steps: Option<Ints>,
}

/// An axis, with its start, end and step.
type AxisBounds = (usize, [Int; 3]);

enum Axes {
    LeftOff,
    These(IntList),
    Unknown,
}

impl Bounds {
    fn of(cx: &InferCx<'_>) -> Result<Self, OpError> {
        if cx.version() < 10 {
            let known = |ints: Option<IntList>| ints.map(|ints| ints.into_iter().map(Int::Known).collect::<Ints>());
            let starts = known(opt_ints(cx, "starts")?);
            let axes = opt_ints(cx, "axes")?.map_or(Axes::LeftOff, Axes::These);
            let steps = starts.as_ref().map(|starts| smallvec![Int::Known(1); starts.len()]);
            return Ok(Self { ends: known(opt_ints(cx, "ends")?), starts, axes, steps });
        }
        let starts = ints_of(cx, 1).or_else(|| Some(smallvec![Int::Unknown; vector_len(cx, 1)?]));
        let axes = match (cx.arg(3), known_ints(cx, 3)) {
            (None, _) => Axes::LeftOff,
            (Some(_), Some(axes)) => Axes::These(axes),
            (Some(_), None) => Axes::Unknown,
        };
        let steps = match cx.arg(4) {
            None => starts.as_ref().map(|starts| smallvec![Int::Known(1); starts.len()]),
            Some(_) => ints_of(cx, 4),
        };
        Ok(Self { starts, ends: ints_of(cx, 2), axes, steps })
    }

    /// The axes, each with start, end and step; `None` when the axes are not known.
    fn per_axis(self, rank: usize) -> Result<Option<Vec<AxisBounds>>, OpError> {
        let axes: IntList = match (self.axes, &self.starts) {
            (Axes::These(axes), _) => axes,
            (Axes::LeftOff, Some(starts)) => (0..starts.len() as i64).collect(),
            _ => return Ok(None),
        };
        let mut seen = vec![false; rank];
        let mut bounds = Vec::with_capacity(axes.len());
        for (at, &axis) in axes.iter().enumerate() {
            let axis = axis_of(axis, rank)?;
            if std::mem::replace(&mut seen[axis], true) {
                return invalid(format_args!("`axes` names axis {axis} twice"));
            }
            let mut part = [Int::Unknown; 3];
            for (part, list) in part.iter_mut().zip([&self.starts, &self.ends, &self.steps]) {
                match list {
                    Some(list) if list.len() != axes.len() => {
                        return invalid(format_args!("{} bounds do not fit {} axes", list.len(), axes.len()));
                    }
                    Some(list) => *part = list[at],
                    None => {}
                }
            }
            bounds.push((axis, part));
        }
        Ok(Some(bounds))
    }
}

/// `Slice`.
pub fn slice(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let Some(mut dims) = cx.dims(0) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let Some(bounds) = Bounds::of(cx)?.per_axis(dims.len())? else {
        cx.set_tensor(0, elem, &vec![Dim::Unknown; dims.len()]);
        return Ok(());
    };
    let size = dims.first().copied();
    for &(axis, bounds) in &bounds {
        dims[axis] = sliced(dims[axis], bounds)?;
    }
    cx.set_tensor(0, elem, &dims);
    if dims.len() == 1
        && let Some(ints) = ints_of(cx, 0)
        && size == Some(Dim::Static(ints.len() as u64))
        && let Some(ints) = slice_ints(&ints, &bounds)
    {
        set_ints(cx, 0, &ints);
    }
    Ok(())
}

fn slice_ints(ints: &[Int], bounds: &[AxisBounds]) -> Option<Ints> {
    let [(0, [Int::Known(start), Int::Known(end), Int::Known(step)])] = *bounds else {
        return bounds.is_empty().then(|| ints.into());
    };
    let (first, n) = range_of(ints.len() as i64, start, end, step)?;
    (0..n).map(|i| ints.get(usize::try_from(first + i * step).ok()?).copied()).collect()
}

/// The first index and the number of indices of a slice; `None` for a step of zero, and where runtimes disagree.
fn range_of(size: i64, start: i64, end: i64, step: i64) -> Option<(i64, i64)> {
    let slice = math::slice(size, start, end, step).filter(|slice| slice.disputed.is_none())?;
    Some((slice.first, i64::try_from(slice.count).ok()?))
}

/// The size of an axis after slicing.
fn sliced(dim: Dim, [start, end, step]: [Int; 3]) -> Result<Dim, OpError> {
    if step == Int::Known(0) {
        return invalid("a step is 0");
    }
    let whole = matches!((start, step), (Int::Known(0), Int::Known(1)))
        && (end == Int::Known(i64::MAX) || matches!((end, dim), (Int::Symbol(a), Dim::Symbol(b)) if a == b));
    if whole {
        return Ok(dim);
    }
    let (Int::Known(start), Int::Known(end), Int::Known(step), Dim::Static(size)) = (start, end, step, dim) else {
        return Ok(Dim::Unknown);
    };
    let Some((_, n)) = i64::try_from(size).ok().and_then(|size| range_of(size, start, end, step)) else {
        return Ok(Dim::Unknown);
    };
    Ok(Dim::Static(n as u64))
}

/// `DepthToSpace`.
pub fn depth_to_space(cx: &mut InferCx<'_>) -> Outcome {
    rearrange(cx, |[n, c, h, w], block| {
        let depth = map_dim(c, |c| (c % (block * block) == 0).then(|| c / (block * block)));
        let factor = Dim::Static(block);
        [n, depth, product(&[h, factor]), product(&[w, factor])]
    })
}

/// `SpaceToDepth`.
pub fn space_to_depth(cx: &mut InferCx<'_>) -> Outcome {
    rearrange(cx, |[n, c, h, w], block| {
        let part = |dim| map_dim(dim, |size| (size % block == 0).then(|| size / block));
        [n, product(&[c, Dim::Static(block * block)]), part(h), part(w)]
    })
}

fn rearrange(cx: &mut InferCx<'_>, f: impl FnOnce([Dim; 4], u64) -> [Dim; 4]) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let Some(block) = u32::try_from(int(cx, "blocksize")?).ok().filter(|&block| block > 0) else {
        return invalid("`blocksize` must be positive and fit 32 bits");
    };
    let dims = match dims_of_rank(cx, 0, 4)?.as_deref() {
        Some(&[n, c, h, w]) => f([n, c, h, w], block.into()),
        _ => [Dim::Unknown; 4],
    };
    cx.set_tensor(0, elem, &dims);
    Ok(())
}
