//! Elements taken and placed by index.

use super::{Done, Terms, axis_of, copy, declined, flag, int, numbers, reduce::around, same_elem, viewed, volume};
use relais_plugin_api::{
    ir::{ElemType, NodeId},
    op::{Kernel, OpCall, OpError},
    prim::{CoreOp, PrimBuilder},
};

/// An index that memory holds, counted from the front.
fn index_at(b: &mut PrimBuilder<'_>, indices: NodeId, at: &[NodeId], size: u64) -> NodeId {
    let index = b.load(indices, at);
    let index = b.cast(index, ElemType::INT64);
    let (zero, size) = (b.index(0), b.index(size as i64));
    let from_end = b.add(index, size);
    let is_from_end = b.lt(index, zero);
    b.select(is_from_end, from_end, index)
}

/// Declines indices that are not integers.
fn integers(kernel: &Kernel<'_>, indices: NodeId) -> Done {
    if kernel.elem(indices).is_integer() { Ok(()) } else { declined("its indices are not integers") }
}

/// `Gather`.
pub fn gather(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, indices, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    integers(kernel, indices)?;
    let sizes = kernel.sizes(x);
    let [outer, size, inner] = around(&sizes, axis_of(int(call, "axis", 0), sizes.len())?);
    let n = volume(&kernel.sizes(indices));
    if outer * n * inner == 0 {
        return Ok(());
    }
    let (x, indices) = (viewed(kernel, x, &[outer, size, inner]), viewed(kernel, indices, &[n]));
    let y = viewed(kernel, y, &[outer, n, inner]);
    kernel.each_of_all(&[outer, n], |b, at| {
        let index = index_at(b, indices, &at[1..], size);
        b.over(inner, |b, within| {
            let value = b.load(x, &[at[0], index, within]);
            b.store(y, value, &[at[0], at[1], within]);
        });
    });
    Ok(())
}

/// `GatherElements`.
pub fn gather_elements(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, indices, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    integers(kernel, indices)?;
    let (sizes, made) = (kernel.sizes(x), kernel.sizes(y));
    let axis = axis_of(int(call, "axis", 0), sizes.len())?;
    let fits = |at: usize| at == axis || made[at] <= sizes[at];
    if made.len() != sizes.len() || made != kernel.sizes(indices) || !(0..made.len()).all(fits) {
        return declined("its indices do not fit its argument");
    }
    kernel.each_of_all(&made, |b, at| {
        let mut from = at.to_vec();
        from[axis] = index_at(b, indices, at, sizes[axis]);
        let value = b.load(x, &from);
        b.store(y, value, at);
    });
    Ok(())
}

/// `GatherND`.
pub fn gather_nd(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, indices, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    integers(kernel, indices)?;
    let (sizes, of_indices) = (kernel.sizes(x), kernel.sizes(indices));
    let n_batch = usize::try_from(int(call, "batch_dims", 0)).unwrap_or(usize::MAX);
    let Some((&n_indices, places)) = of_indices.split_last() else { return declined("its indices are a scalar") };
    let n_indexed = n_indices as usize;
    if n_batch > places.len() || n_batch + n_indexed > sizes.len() || sizes[..n_batch] != places[..n_batch] {
        return declined("its indices do not fit its argument");
    }
    let (batch, indexed) = (volume(&sizes[..n_batch]), &sizes[n_batch..n_batch + n_indexed]);
    let (n, inner) = (volume(&places[n_batch..]), volume(&sizes[n_batch + n_indexed..]));
    if batch * n * inner == 0 {
        return Ok(());
    }
    let x = viewed(kernel, x, &[&[batch], indexed, &[inner]].concat());
    let (indices, y) = (viewed(kernel, indices, &[batch, n, n_indices]), viewed(kernel, y, &[batch, n, inner]));
    kernel.each_of_all(&[batch, n], |b, at| {
        let mut from = vec![at[0]];
        for (place, &size) in indexed.iter().enumerate() {
            let place = b.index(place as i64);
            from.push(index_at(b, indices, &[at[0], at[1], place], size));
        }
        b.over(inner, |b, within| {
            let value = b.load(x, &[&from[..], &[within]].concat());
            b.store(y, value, &[at[0], at[1], within]);
        });
    });
    Ok(())
}

/// `OneHot`, whose result is known.
pub fn one_hot(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (indices, values, y) = (kernel.needed_input(0)?, kernel.needed_input(2)?, kernel.output(0));
    let sizes = kernel.sizes(y);
    let [outer, depth, inner] = around(&sizes, axis_of(int(call, "axis", -1), sizes.len())?);
    if volume(&kernel.sizes(indices)) != outer * inner || kernel.sizes(values) != [2] {
        return declined("its indices do not fit its result");
    }
    if kernel.elem(indices) == ElemType::BOOL {
        return declined("its indices are truth values");
    }
    let (indices, y) = (viewed(kernel, indices, &[outer, inner]), viewed(kernel, y, &[outer, depth, inner]));
    let (zero, one) = (kernel.index(0), kernel.index(1));
    let (off, on) = (kernel.load(values, &[zero]), kernel.load(values, &[one]));
    kernel.each_of_all(&[outer, depth, inner], |b, at| {
        let index = index_at(b, indices, &[at[0], at[2]], depth);
        let is_it = b.eq(index, at[1]);
        let value = b.select(is_it, on, off);
        b.store(y, value, at);
    });
    Ok(())
}

/// The core operator by which updates are combined with elements; `None` if they take the place of elements.
fn combination(call: &OpCall<'_>, elem: ElemType) -> Result<Option<CoreOp>, OpError> {
    let op = match call.attrs().str("reduction") {
        None | Some("none") => return Ok(None),
        Some("add") => CoreOp::Add,
        Some("mul") => CoreOp::Mul,
        Some("max") => CoreOp::Max,
        Some("min") => CoreOp::Min,
        Some(other) => return declined(format_args!("`reduction` is `{other}`")),
    };
    numbers(elem)?;
    Ok(Some(op))
}

/// Puts an update into the place of an element, or combines it with the element.
fn put(b: &mut PrimBuilder<'_>, y: NodeId, at: &[NodeId], update: NodeId, combine: Option<CoreOp>) {
    let value = match combine {
        Some(op) => {
            let element = b.load(y, at);
            b.op(op, &[element, update])
        }
        None => update,
    };
    b.store(y, value, at);
}

/// `Scatter` and `ScatterElements`.
pub fn scatter_elements(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, indices, updates) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.needed_input(2)?);
    integers(kernel, indices)?;
    let (y, sizes, places) = (kernel.output(0), kernel.sizes(x), kernel.sizes(indices));
    let axis = axis_of(int(call, "axis", 0), sizes.len())?;
    let fits = |at: usize| at == axis || places[at] <= sizes[at];
    let are_places = places.len() == sizes.len() && places == kernel.sizes(updates);
    if !are_places || !(0..places.len()).all(fits) || kernel.sizes(y) != sizes {
        return declined("its indices do not fit its argument");
    }
    let combine = combination(call, same_elem(kernel, &[x, updates])?)?;
    copy(kernel, x, y);
    kernel.each_of_all(&places, |b, at| {
        let mut to = at.to_vec();
        to[axis] = index_at(b, indices, at, sizes[axis]);
        let update = b.load(updates, at);
        put(b, y, &to, update, combine);
    });
    Ok(())
}

/// `ScatterND`.
pub fn scatter_nd(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, indices, updates) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.needed_input(2)?);
    integers(kernel, indices)?;
    let (y, sizes, of_indices) = (kernel.output(0), kernel.sizes(x), kernel.sizes(indices));
    let Some((&n_indices, places)) = of_indices.split_last() else { return declined("its indices are a scalar") };
    let n_indexed = n_indices as usize;
    if n_indexed > sizes.len() || kernel.sizes(updates) != [places, &sizes[n_indexed..]].concat() {
        return declined("its indices do not fit its argument");
    }
    let combine = combination(call, same_elem(kernel, &[x, updates])?)?;
    copy(kernel, x, y);
    let (indexed, n, inner) = (&sizes[..n_indexed], volume(places), volume(&sizes[n_indexed..]));
    if n * inner == 0 {
        return Ok(());
    }
    let y = viewed(kernel, y, &[indexed, &[inner]].concat());
    let (indices, updates) = (viewed(kernel, indices, &[n, n_indices]), viewed(kernel, updates, &[n, inner]));
    kernel.over(n, |b, at| {
        let mut to = Vec::new();
        for (place, &size) in indexed.iter().enumerate() {
            let place = b.index(place as i64);
            to.push(index_at(b, indices, &[at, place], size));
        }
        b.over(inner, |b, within| {
            let update = b.load(updates, &[at, within]);
            put(b, y, &[&to[..], &[within]].concat(), update, combine);
        });
    });
    Ok(())
}

/// `ReverseSequence`.
pub fn reverse_sequence(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, lens, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    let sizes = kernel.sizes(x);
    let [first, second, rest @ ..] = sizes.as_slice() else { return declined("its argument has no two axes") };
    let is_time_first = match (int(call, "time_axis", 0), int(call, "batch_axis", 1)) {
        (0, 1) => true,
        (1, 0) => false,
        _ => return declined("`time_axis` and `batch_axis` are not the first two axes"),
    };
    let shape = [*first, *second, volume(rest)];
    if kernel.sizes(lens) != [if is_time_first { *second } else { *first }] {
        return declined("there is not a length for each sequence");
    }
    let (x, y) = (viewed(kernel, x, &shape), viewed(kernel, y, &shape));
    kernel.each_of_all(&shape[..2], |b, at| {
        let (time, batch) = if is_time_first { (at[0], at[1]) } else { (at[1], at[0]) };
        let len = b.load(lens, &[batch]);
        let len = b.cast(len, ElemType::INT64);
        let (last, is_within) = (b.shifted(len, -1), b.lt(time, len));
        let from_end = b.sub(last, time);
        let from = b.select(is_within, from_end, time);
        b.over(shape[2], |b, within| {
            let from = if is_time_first { [from, batch, within] } else { [batch, from, within] };
            let value = b.load(x, &from);
            b.store(y, value, &[at[0], at[1], within]);
        });
    });
    Ok(())
}

/// `TopK`, whose results are known: each element is inserted into those that are the best so far, behind equal ones.
pub fn top_k(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, values) = (kernel.needed_input(0)?, kernel.output(0));
    let Some(places) = kernel.optional_output(1) else { return declined("it has one result") };
    let (sizes, made) = (kernel.sizes(x), kernel.sizes(values));
    numbers(kernel.elem(x))?;
    let axis = axis_of(int(call, "axis", -1), sizes.len())?;
    let ([outer, size, inner], k) = (around(&sizes, axis), made[axis]);
    if k > size {
        return declined("there are fewer elements than are to be found");
    }
    if volume(&made) == 0 {
        return Ok(());
    }
    let is_before = if flag(call, "largest", true) { CoreOp::Ge } else { CoreOp::Le };
    let (x, shape) = (viewed(kernel, x, &[outer, size, inner]), [outer, k, inner]);
    let (values, places) = (viewed(kernel, values, &shape), viewed(kernel, places, &shape));
    kernel.each_of_all(&[outer, inner], |b, line| {
        let at = |index: NodeId| [line[0], index, line[1]];
        b.over(size, |b, from| {
            let value = b.load(x, &at(from));
            let (zero, all) = (b.index(0), b.index(k as i64));
            let n_found = b.min(from, all);
            let [place] = b.fold(zero, n_found, [zero], |b, index, [place]| {
                let other = b.load(values, &at(index));
                let is_before = b.op(is_before, &[other, value]);
                let next = b.shifted(place, 1);
                [b.select(is_before, next, place)]
            });
            let is_found = b.lt(place, all);
            b.when(is_found, |b| {
                let most = b.index(k as i64 - 1);
                let last = b.min(from, most);
                let n_moved = b.sub(last, place);
                b.each(n_moved, |b, step| {
                    let to = b.sub(last, step);
                    let from = b.shifted(to, -1);
                    for memory in [values, places] {
                        let moved = b.load(memory, &at(from));
                        b.store(memory, moved, &at(to));
                    }
                });
                b.store(values, value, &at(place));
                b.store(places, from, &at(place));
            });
        });
    });
    Ok(())
}
