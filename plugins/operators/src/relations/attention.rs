//! `Attention`.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `Attention`, over heads on their own axis or within the last one.
pub fn attention(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let (q_elem, v_elem) = (cx.elem(0), cx.elem(2));
    let elems = [q_elem, cx.elem(1), v_elem, q_elem];
    let heads =
        |name: &str| -> Result<Dim, OpError> { Ok(opt_int(cx, name)?.map_or(Dim::Unknown, |n| Int::Known(n).into())) };
    let (q_heads, kv_heads) = (heads("q_num_heads")?, heads("kv_num_heads")?);
    // As `[batch, heads, length, size of a head]`.
    let per_head = |dims: &[Dim], heads: Dim| match (dims, heads) {
        (&[batch, heads, length, size], _) => Some([batch, heads, length, size]),
        (&[batch, length, all], Dim::Static(n)) if n > 0 => {
            Some([batch, heads, length, map_dim(all, |all| (all % n == 0).then(|| all / n))])
        }
        (&[batch, length, _], _) => Some([batch, heads, length, Dim::Unknown]),
        _ => None,
    };
    let [q, k, v] = [0, 1, 2].map(|index| cx.dims(index));
    let (Some(q_dims), Some(k_dims), Some(v_dims)) = (q, k, v) else {
        (0..4).for_each(|index| cx.set_any_rank(index, elems[index]));
        return Ok(());
    };
    let (Some(q), Some(k), Some(v)) =
        (per_head(&q_dims, q_heads), per_head(&k_dims, kv_heads), per_head(&v_dims, kv_heads))
    else {
        return invalid("the inputs must have rank 3 or 4");
    };
    let past = match (cx.arg(4), cx.dims(4).as_deref()) {
        (None, _) => Dim::Static(0),
        (Some(_), Some(&[_, _, length, _])) => length,
        _ => Dim::Unknown,
    };
    let total = sum(&[past, k[2]]);
    let y = if q_dims.len() == 3 { vec![q[0], q[2], product(&[q[1], v[3]])] } else { vec![q[0], q[1], q[2], v[3]] };
    cx.set_tensor(0, elems[0], &y);
    cx.set_tensor(1, elems[1], &[k[0], k[1], total, k[3]]);
    cx.set_tensor(2, elems[2], &[v[0], v[1], total, v[3]]);
    cx.set_tensor(3, elems[3], &[q[0], q[1], q[2], total]);
    Ok(())
}
