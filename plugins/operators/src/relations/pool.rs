//! Pooling.

use super::shared::{util::*, window::Window};
use relais_plugin_api::{ir::*, op::*};

/// `MaxPool`, `AveragePool` and `LpPool`.
pub fn pool(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let Some(mut dims) = dims_from_rank(cx, 0, 2)? else {
        cx.set_any_rank(0, elem);
        cx.set_any_rank(1, ElemType::INT64);
        return Ok(());
    };
    let window = Window::of(cx, dims.len() - 2)?;
    for (axis, dim) in dims[2..].iter_mut().enumerate() {
        *dim = window.n_windows(axis, *dim);
    }
    cx.set_tensor(0, elem, &dims);
    cx.set_tensor(1, ElemType::INT64, &dims);
    Ok(())
}

/// `Global…Pool`.
pub fn global_pool(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let mut dims = dims_from_rank(cx, 0, 2)?;
    if let Some(dims) = &mut dims {
        dims[2..].fill(Dim::Static(1));
    }
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

/// `MaxUnpool`.
pub fn max_unpool(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let Some(mut dims) = dims_from_rank(cx, 0, 2)? else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let window = Window::of(cx, dims.len() - 2)?;
    if cx.arg(2).is_some() {
        dims = match ints_of(cx, 2) {
            Some(sizes) if sizes.len() != dims.len() => {
                return invalid(format_args!("`output_shape` has {} sizes for rank {}", sizes.len(), dims.len()));
            }
            Some(sizes) => sizes.into_iter().map(Dim::from).collect(),
            None => smallvec![Dim::Unknown; dims.len()],
        };
    } else {
        for (axis, dim) in dims[2..].iter_mut().enumerate() {
            *dim = map_dim(*dim, |size| window.transposed(axis, size, 0));
        }
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}
