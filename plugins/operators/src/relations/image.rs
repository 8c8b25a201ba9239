//! Sampling, regions and grids.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `GridSample`.
pub fn grid_sample(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let (Some(data), Some(grid)) = (dims_from_rank(cx, 0, 3)?, dims_from_rank(cx, 1, 3)?) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    if grid.len() != data.len() {
        return invalid(format_args!("a grid of rank {} does not fit an input of rank {}", grid.len(), data.len()));
    }
    let batch = merge_dim(data[0], grid[0])
        .map_err(|error| OpError::invalid(format_args!("the batch of input and grid: {error}")))?;
    let dims = [&[batch, data[1]], &grid[1..grid.len() - 1]].concat();
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `AffineGrid`.
pub fn affine_grid(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let size = ints_of(cx, 1).or_else(|| Some(smallvec![Int::Unknown; vector_len(cx, 1)?]));
    let dims = match size.as_deref() {
        Some([batch, _, space @ ..]) if (2..=3).contains(&space.len()) => {
            let mut dims: Dims = std::iter::once(batch).chain(space).map(|&int| int.into()).collect();
            dims.push(Dim::Static(space.len() as u64));
            Some(dims)
        }
        Some(_) => return invalid("`size` must have 4 or 5 values"),
        None => None,
    };
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

/// `MaxRoiPool`.
pub fn max_roi_pool(cx: &mut InferCx<'_>) -> Outcome {
    let pooled = match opt_ints(cx, "pooled_shape")?.as_deref() {
        Some(&[height, width]) => [height, width].map(|size| Dim::from(Int::Known(size))),
        _ => return invalid("attribute `pooled_shape` must have 2 values"),
    };
    regions(cx, pooled)
}

/// `RoiAlign`.
pub fn roi_align(cx: &mut InferCx<'_>) -> Outcome {
    let pooled = [int(cx, "output_height")?, int(cx, "output_width")?];
    regions(cx, pooled.map(|size| Int::Known(size).into()))
}

fn regions(cx: &mut InferCx<'_>, [height, width]: [Dim; 2]) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let channels = dims_of_rank(cx, 0, 4)?.map_or(Dim::Unknown, |dims| dims[1]);
    let n_regions = dims_of_rank(cx, 1, 2)?.map_or(Dim::Unknown, |dims| dims[0]);
    cx.set_tensor(0, elem, &[n_regions, channels, height, width]);
    Ok(())
}

/// `Col2Im`.
pub fn col2im(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let n_axes = vector_len(cx, 1).or_else(|| vector_len(cx, 2));
    let image = ints_of(cx, 1).or_else(|| Some(smallvec![Int::Unknown; n_axes?]));
    let Some(image) = image else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let data = dims_of_rank(cx, 0, 3)?.unwrap_or_else(|| smallvec![Dim::Unknown; 3]);
    let block: Option<Dims> = ints_of(cx, 2).map(|sizes| sizes.into_iter().map(Dim::from).collect());
    let channels = match block.map(|block| product(&block)) {
        Some(Dim::Static(block)) if block > 0 => map_dim(data[1], |size| (size % block == 0).then(|| size / block)),
        _ => Dim::Unknown,
    };
    let mut dims: Dims = smallvec![data[0], channels];
    dims.extend(image.into_iter().map(Dim::from));
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `ImageDecoder`.
pub fn image_decoder(cx: &mut InferCx<'_>) -> Outcome {
    let channels = match string(cx, "pixel_format")? {
        "RGB" | "BGR" => Dim::Static(3),
        "Grayscale" => Dim::Static(1),
        _ => Dim::Unknown,
    };
    cx.set_tensor(0, ElemType::UINT8, &[Dim::Unknown, Dim::Unknown, channels]);
    Ok(())
}

/// `NonMaxSuppression`: rows of batch, class and box.
pub fn non_max_suppression(cx: &mut InferCx<'_>) -> Outcome {
    cx.set_tensor(0, ElemType::INT64, &[Dim::Unknown, Dim::Static(3)]);
    Ok(())
}
