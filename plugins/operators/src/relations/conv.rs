//! Convolutions.

use super::shared::{elementwise::with_elem, util::*, window::Window};
use relais_plugin_api::{ir::*, op::*};

/// `Conv` and `DeformConv`.
pub fn conv(cx: &mut InferCx<'_>) -> Outcome {
    let elem = common_elem(cx, 0..2)?;
    convolve(cx, 1, elem)
}

/// `ConvInteger`.
pub fn conv_integer(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    convolve(cx, 1, ElemType::INT32)
}

/// `QLinearConv`.
pub fn qlinear_conv(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(7);
    convolve(cx, 3, elem)
}

fn convolve(cx: &mut InferCx<'_>, weight: usize, elem: ElemType) -> Outcome {
    let (data, weight) = (dims_from_rank(cx, 0, 2)?, dims_from_rank(cx, weight, 2)?);
    let Some(rank) = data.as_ref().or(weight.as_ref()).map(|dims| dims.len()) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let data = data.unwrap_or_else(|| smallvec![Dim::Unknown; rank]);
    let weight = weight.unwrap_or_else(|| smallvec![Dim::Unknown; rank]);
    if data.len() != weight.len() {
        return invalid(format_args!("a weight of rank {} does not fit an input of rank {rank}", weight.len()));
    }
    let mut window = Window::of(cx, rank - 2)?;
    let group = int(cx, "group")?;
    if group <= 0 {
        return invalid(format_args!("attribute `group` is {group}"));
    }
    if let (Dim::Static(channels), Dim::Static(per_group)) = (data[1], weight[1])
        && per_group.checked_mul(group as u64) != Some(channels)
    {
        return invalid(format_args!(
            "the input has {channels} channels where the weight asks for {group} times {per_group}"
        ));
    }
    let kernel = window.kernel.get_or_insert_with(|| weight[2..].into());
    for (stated, &size) in kernel.iter_mut().zip(&weight[2..]) {
        *stated = merge_dim(*stated, size)
            .map_err(|error| OpError::invalid(format_args!("`kernel_shape` does not fit the weight: {error}")))?;
    }
    let mut dims: Dims = smallvec![data[0], weight[0]];
    dims.extend(data[2..].iter().enumerate().map(|(axis, &dim)| window.n_windows(axis, dim)));
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `ConvTranspose`.
pub fn conv_transpose(cx: &mut InferCx<'_>) -> Outcome {
    let elem = common_elem(cx, 0..2)?;
    let (data, weight) = (dims_from_rank(cx, 0, 2)?, dims_from_rank(cx, 1, 2)?);
    let (Some(data), Some(weight)) = (data, weight) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let rank = data.len();
    if weight.len() != rank {
        return invalid(format_args!("a weight of rank {} does not fit an input of rank {rank}", weight.len()));
    }
    merge_dim(data[1], weight[0])
        .map_err(|error| OpError::invalid(format_args!("channels of input and weight: {error}")))?;
    let mut window = Window::of(cx, rank - 2)?;
    window.kernel.get_or_insert_with(|| weight[2..].into());
    let group = int(cx, "group")?;
    let channels = map_dim(weight[1], |per_group| per_group.checked_mul(u64::try_from(group).ok()?));
    let channels = if group == 1 { weight[1] } else { channels };
    let mut dims: Dims = smallvec![data[0], channels];
    let n_axes = rank - 2;
    match opt_ints(cx, "output_shape")?.filter(|sizes| !sizes.is_empty()) {
        Some(sizes) if sizes.len() == n_axes => {
            dims.extend(sizes.into_iter().map(|size| Dim::from(Int::Known(size))));
        }
        // Some exporters store the whole shape.
        Some(_) => dims.extend(std::iter::repeat_n(Dim::Unknown, n_axes)),
        None => {
            let extra = opt_ints(cx, "output_padding")?.unwrap_or_default();
            let same_is_defined = cx.version() >= 11;
            dims.extend(data[2..].iter().enumerate().map(|(axis, &dim)| match window.auto_pad {
                auto_pad if auto_pad.keeps_size() && !same_is_defined => Dim::Unknown,
                auto_pad if auto_pad.keeps_size() => product(&[dim, Int::Known(window.strides[axis]).into()]),
                _ => map_dim(dim, |size| window.transposed(axis, size, extra.get(axis).copied().unwrap_or(0))),
            }));
        }
    }
    cx.set_tensor(0, elem, &dims);
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
