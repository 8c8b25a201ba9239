//! Elements taken by index.

use super::shared::{
    Done, declined,
    index::{around, index_at, integers},
    terms::Terms,
    viewed, volume,
};
use crate::calls::int;
use relais_plugin_api::op::{Kernel, OpCall, shapes::axis_of};

/// `Gather`.
pub fn gather(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, indices, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    integers(kernel, indices)?;
    let sizes = kernel.sizes(x);
    let [outer, size, inner] = around(&sizes, axis_of(int(call, "axis")?, sizes.len())?);
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
    let axis = axis_of(int(call, "axis")?, sizes.len())?;
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
    let n_batch = usize::try_from(int(call, "batch_dims")?).unwrap_or(usize::MAX);
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
