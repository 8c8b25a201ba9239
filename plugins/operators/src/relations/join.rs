//! `Concat` and `Split`.

use super::shared::util::*;
use relais_operator_math::join::{concat_axis, equal_parts};
use relais_plugin_api::{ir::*, op::*};

/// `Concat`.
pub fn concat(cx: &mut InferCx<'_>) -> Outcome {
    let n_args = cx.n_args();
    let elem = common_elem(cx, 0..n_args)?;
    let Some(axis) = concat_axis(opt_int(cx, "axis")?, cx.version()) else {
        return invalid("attribute `axis` is missing");
    };
    let mut merged: Option<Dims> = None;
    let mut parts = Vec::with_capacity(n_args);
    for index in 0..n_args {
        let Some(dims) = cx.dims(index) else {
            parts.push(Dim::Unknown);
            continue;
        };
        let at = axis_of(axis, dims.len())?;
        parts.push(dims[at]);
        merged = Some(match merged {
            None => dims,
            Some(old) if old.len() != dims.len() => {
                return invalid(format_args!("input {index} has rank {} where others have {}", dims.len(), old.len()));
            }
            Some(mut old) => {
                for (i, (old, dim)) in old.iter_mut().zip(dims).enumerate().filter(|&(i, _)| i != at) {
                    *old = merge_dim(*old, dim)
                        .map_err(|error| OpError::invalid(format_args!("axis {i} of input {index}: {error}")))?;
                }
                old
            }
        });
    }
    let Some(mut dims) = merged else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let axis = axis_of(axis, dims.len())?;
    dims[axis] = sum(&parts);
    cx.set_tensor(0, elem, &dims);
    if dims.len() == 1
        && let Some(ints) = concat_ints(cx, &parts)
    {
        set_ints(cx, 0, &ints);
    }
    Ok(())
}

/// The integers of joined vectors: those of unknown ones are unknown, where it is known how many they are.
fn concat_ints(cx: &InferCx<'_>, parts: &[Dim]) -> Option<Ints> {
    let mut joined = Ints::new();
    for (index, part) in parts.iter().enumerate() {
        let len = usize::try_from(part.known()?).ok()?;
        if joined.len() + len > MAX_LEN {
            return None;
        }
        match ints_of(cx, index) {
            Some(ints) if ints.len() == len => joined.extend(ints),
            _ => joined.extend(std::iter::repeat_n(Int::Unknown, len)),
        }
    }
    Some(joined)
}

/// `Split`.
pub fn split(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let n_outputs = cx.n_outputs();
    let Some(mut dims) = cx.dims(0) else {
        for index in 0..n_outputs {
            cx.set_any_rank(index, elem);
        }
        return Ok(());
    };
    let axis = axis_of(int(cx, "axis")?, dims.len())?;
    let whole = dims[axis];
    let sizes = split_sizes(cx, whole)?;
    let ints = ints_of(cx, 0).filter(|ints| dims.len() == 1 && whole == Dim::Static(ints.len() as u64));
    let mut at = 0usize;
    for index in 0..n_outputs {
        dims[axis] = sizes.as_ref().map_or(Dim::Unknown, |sizes| sizes.get(index).copied().unwrap_or(Dim::Unknown));
        cx.set_tensor(index, elem, &dims);
        let end = dims[axis].known().and_then(|size| at.checked_add(usize::try_from(size).ok()?));
        let Some(end) = end else {
            continue;
        };
        if let Some(part) = ints.as_ref().and_then(|ints| ints.get(at..end)) {
            let values: Dims = part.iter().map(|&int| int.into()).collect();
            cx.set_value(index, &values);
        }
        at = end;
    }
    Ok(())
}

/// The sizes of the parts; `None` when they are not known.
fn split_sizes(cx: &InferCx<'_>, whole: Dim) -> Result<Option<Dims>, OpError> {
    let is_given = cx.arg(1).is_some();
    let given = match cx.version() {
        ..13 => opt_ints(cx, "split")?,
        _ => known_ints(cx, 1),
    };
    if let Some(given) = given {
        let sizes: Dims = given.iter().map(|&size| Int::Known(size).into()).collect();
        if sizes.contains(&Dim::Unknown) {
            return invalid("a part has a negative size");
        }
        if let (Dim::Static(total), Dim::Static(whole)) = (sum(&sizes), whole)
            && total != whole
        {
            return invalid(format_args!("parts of {total} together do not fit an axis of size {whole}"));
        }
        return Ok(Some(sizes));
    }
    if is_given {
        return Ok(None);
    }
    let n_parts = match opt_int(cx, "num_outputs")? {
        Some(n) => u64::try_from(n).unwrap_or(0),
        None => cx.n_outputs() as u64,
    };
    if n_parts == 1 {
        return Ok(Some(smallvec![whole]));
    }
    let Dim::Static(size) = whole else {
        return Ok(None);
    };
    if n_parts == 0 || (size % n_parts != 0 && cx.version() < 18) {
        return invalid(format_args!("an axis of size {size} does not split into {n_parts} equal parts"));
    }
    // Too few elements for all parts but the last: runtimes disagree.
    let parts = equal_parts(size, n_parts);
    Ok(parts.map(|parts| parts.take(cx.n_outputs()).map(Dim::Static).collect()))
}
