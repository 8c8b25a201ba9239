//! Elements taken by index.

use super::{Done, Terms, axis_of, declined, int, reduce::around, viewed, volume};
use relais_plugin_api::{
    ir::{ElemType, NodeId},
    op::{Kernel, OpCall},
    prim::PrimBuilder,
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
    kernel.over_all(&[outer, n], |b, at| {
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
    kernel.over_all(&made, |b, at| {
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
    kernel.over_all(&[batch, n], |b, at| {
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
    kernel.over_all(&[outer, depth, inner], |b, at| {
        let index = index_at(b, indices, &[at[0], at[2]], depth);
        let is_it = b.eq(index, at[1]);
        let value = b.select(is_it, on, off);
        b.store(y, value, at);
    });
    Ok(())
}
