//! Windows and transforms of signals.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `DFT`.
pub fn dft(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let is_onesided = flag(cx, "onesided")?;
    let is_inverse = flag(cx, "inverse")?;
    let axis = match (cx.version(), cx.arg(2)) {
        (..20, _) => Some(int(cx, "axis")?),
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
    let is_onesided = flag(cx, "onesided")?;
    let bins = if is_onesided { map_dim(length, |n| Some(n / 2 + 1)) } else { length };
    cx.set_tensor(0, elem, &[signal[0], frames, bins, Dim::Static(2)]);
    Ok(())
}

/// `MelWeightMatrix`.
pub fn mel_weight_matrix(cx: &mut InferCx<'_>) -> Outcome {
    let elem = elem_type(cx, "output_datatype")?;
    let bands = scalar_of(cx, 0).map_or(Dim::Unknown, Dim::from);
    let length = scalar_of(cx, 1).map_or(Dim::Unknown, Dim::from);
    cx.set_tensor(0, elem, &[map_dim(length, |n| Some(n / 2 + 1)), bands]);
    Ok(())
}

/// `HannWindow`, `HammingWindow` and `BlackmanWindow`.
pub fn window(cx: &mut InferCx<'_>) -> Outcome {
    let elem = elem_type(cx, "output_datatype")?;
    dims_of_rank(cx, 0, 0)?;
    let dim = scalar_of(cx, 0).map_or(Dim::Unknown, Dim::from);
    cx.set_tensor(0, elem, &[dim]);
    Ok(())
}
