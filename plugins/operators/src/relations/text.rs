//! Strings.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

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
