//! Attention, losses, signals and strings.

use super::{elementwise::with_elem, util::*};
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

/// `NegativeLogLikelihoodLoss`.
pub fn nll_loss(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let dims = if opt_str(cx, "reduction")?.as_deref() == Some("none") { cx.dims(1) } else { Some(Dims::new()) };
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

/// `SoftmaxCrossEntropyLoss`.
pub fn cross_entropy_loss(cx: &mut InferCx<'_>) -> Outcome {
    nll_loss(cx)?;
    let ty = cx.input_id(0);
    cx.set_output(1, ty);
    Ok(())
}

/// `NonMaxSuppression`: rows of batch, class and box.
pub fn non_max_suppression(cx: &mut InferCx<'_>) -> Outcome {
    cx.set_tensor(0, ElemType::INT64, &[Dim::Unknown, Dim::Static(3)]);
    Ok(())
}

/// `DFT`.
pub fn dft(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let is_onesided = flag(cx, "onesided", false)?;
    let is_inverse = flag(cx, "inverse", false)?;
    let axis = match (cx.version(), cx.arg(2)) {
        (..20, _) => Some(int_or(cx, "axis", 1)?),
        (_, None) => Some(-2),
        (_, Some(_)) => known_ints(cx, 2).and_then(|axis| axis.first().copied()),
    };
    let Some(mut dims) = dims_from_rank(cx, 0, 2)? else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let last = dims.len() - 1;
    let Some(axis) = axis.filter(|_| !(is_onesided && is_inverse)) else {
        cx.set_tensor(0, elem, &vec![Dim::Unknown; last + 1]);
        return Ok(());
    };
    let axis = axis_of(axis, dims.len())?;
    let length = match cx.arg(1) {
        Some(_) => scalar_of(cx, 1).map_or(Dim::Unknown, Dim::from),
        None => dims[axis],
    };
    dims[axis] = if is_onesided { map_dim(length, |n| (n / 2).checked_add(1)) } else { length };
    dims[last] = Dim::Static(2);
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `STFT`.
pub fn stft(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let signal = dims_of_rank(cx, 0, 3)?.unwrap_or_else(|| smallvec![Dim::Unknown; 3]);
    let length = match (cx.arg(3), cx.arg(2)) {
        (Some(_), _) => scalar_of(cx, 3).map_or(Dim::Unknown, Dim::from),
        (None, Some(_)) => dims_of_rank(cx, 2, 1)?.map_or(Dim::Unknown, |dims| dims[0]),
        (None, None) => Dim::Unknown,
    };
    let frames = match (signal[1], length, scalar_of(cx, 1)) {
        (Dim::Static(n), Dim::Static(length), Some(Int::Known(step))) if step > 0 && length <= n => {
            Dim::Static((n - length) / step as u64 + 1)
        }
        _ => Dim::Unknown,
    };
    let is_onesided = flag(cx, "onesided", true)?;
    let bins = if is_onesided { map_dim(length, |n| Some(n / 2 + 1)) } else { length };
    cx.set_tensor(0, elem, &[signal[0], frames, bins, Dim::Static(2)]);
    Ok(())
}

/// `MelWeightMatrix`.
pub fn mel_weight_matrix(cx: &mut InferCx<'_>) -> Outcome {
    let elem = opt_elem(cx, "output_datatype")?.unwrap_or(ElemType::FLOAT);
    let bands = scalar_of(cx, 0).map_or(Dim::Unknown, Dim::from);
    let length = scalar_of(cx, 1).map_or(Dim::Unknown, Dim::from);
    cx.set_tensor(0, elem, &[map_dim(length, |n| Some(n / 2 + 1)), bands]);
    Ok(())
}

/// `StringNormalizer`: stop words are removed, and one empty string represents an empty list.
pub fn string_normalizer(cx: &mut InferCx<'_>) -> Outcome {
    match cx.dims(0).as_deref() {
        Some([_]) => cx.set_tensor(0, ElemType::STRING, &[Dim::Unknown]),
        Some([_, _]) => cx.set_tensor(0, ElemType::STRING, &[Dim::Static(1), Dim::Unknown]),
        Some(dims) => return invalid(format_args!("input 0 must have rank 1 or 2, not {}", dims.len())),
        None => cx.set_any_rank(0, ElemType::STRING),
    }
    Ok(())
}

/// `StringSplit`: the longest list of parts determines the size of the new axis.
pub fn string_split(cx: &mut InferCx<'_>) -> Outcome {
    let dims = cx.dims(0);
    let parts = dims.as_ref().map(|dims| [&dims[..], &[Dim::Unknown]].concat());
    set(cx, 0, ElemType::STRING, parts.as_deref());
    set(cx, 1, ElemType::INT64, dims.as_deref());
    Ok(())
}

/// `TfIdfVectorizer`: the last axis holds one number for each index.
pub fn tf_idf(cx: &mut InferCx<'_>) -> Outcome {
    let largest = opt_ints(cx, "ngram_indexes")?.unwrap_or_default().into_iter().max();
    let width = largest.and_then(|index| index.checked_add(1)).map_or(Dim::Unknown, |n| Int::Known(n).into());
    let dims = match cx.dims(0).as_deref() {
        Some([_]) => Some(vec![width]),
        Some(&[batch, _]) => Some(vec![batch, width]),
        _ => None,
    };
    set(cx, 0, ElemType::FLOAT, dims.as_deref());
    Ok(())
}

/// `StringConcat`: the arguments are broadcast.
pub fn string_concat(cx: &mut InferCx<'_>) -> Outcome {
    let dims = match (cx.dims(0), cx.dims(1)) {
        (Some(a), Some(b)) => Some(broadcast(&a, &b)?),
        _ => None,
    };
    set(cx, 0, ElemType::STRING, dims.as_deref());
    Ok(())
}

/// `CausalConvWithState`: the second result is the state for the next call.
pub fn causal_conv(cx: &mut InferCx<'_>) -> Outcome {
    let elem = cx.elem(0);
    with_elem(cx, elem)?;
    let data = dims_of_rank(cx, 0, 3)?.unwrap_or_else(|| smallvec![Dim::Unknown; 3]);
    let weight = dims_of_rank(cx, 1, 3)?.unwrap_or_else(|| smallvec![Dim::Unknown; 3]);
    let state = map_dim(weight[2], |kernel| kernel.checked_sub(1));
    cx.set_tensor(1, elem, &[data[0], data[1], state]);
    Ok(())
}
