//! Elements placed by index.

use super::shared::{
    Done, copy, declined,
    index::{index_at, integers},
    numbers, same_elem,
    terms::Terms,
    viewed, volume,
};
use crate::calls::{int, opt_string};
use relais_plugin_api::{
    ir::{ElemType, NodeId},
    op::{Kernel, OpCall, OpError, shapes::axis_of},
    prim::{CoreOp, PrimBuilder},
};

/// The core operator by which updates are combined with elements; `None` if they take the place of elements, as those of
/// `Scatter` do.
fn combination(call: &OpCall<'_>, elem: ElemType) -> Result<Option<CoreOp>, OpError> {
    let op = match opt_string(call, "reduction")? {
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
    let axis = axis_of(int(call, "axis")?, sizes.len())?;
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
