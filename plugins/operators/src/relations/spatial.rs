//! Image operators: resizing, rearranging and sampling.

use super::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `DepthToSpace`.
pub fn depth_to_space(cx: &mut InferCx<'_>) -> Outcome {
    rearrange(cx, |[n, c, h, w], block| {
        let depth = map_dim(c, |c| (c % (block * block) == 0).then(|| c / (block * block)));
        let factor = Dim::Static(block);
        [n, depth, product(&[h, factor]), product(&[w, factor])]
    })
}

/// `SpaceToDepth`.
pub fn space_to_depth(cx: &mut InferCx<'_>) -> Outcome {
    rearrange(cx, |[n, c, h, w], block| {
        let part = |dim| map_dim(dim, |size| (size % block == 0).then(|| size / block));
        [n, product(&[c, Dim::Static(block * block)]), part(h), part(w)]
    })
}

fn rearrange(cx: &mut InferCx<'_>, f: impl FnOnce([Dim; 4], u64) -> [Dim; 4]) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let Some(block) = u32::try_from(int(cx, "blocksize")?).ok().filter(|&block| block > 0) else {
        return invalid("`blocksize` must be positive and fit 32 bits");
    };
    let dims = match dims_of_rank(cx, 0, 4)?.as_deref() {
        Some(&[n, c, h, w]) => f([n, c, h, w], block.into()),
        _ => [Dim::Unknown; 4],
    };
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `Upsample`: the scales are two attributes, then one, then an argument.
pub fn upsample(cx: &mut InferCx<'_>) -> Outcome {
    let scales = match cx.version() {
        ..7 => match (opt_float(cx, "height_scale")?, opt_float(cx, "width_scale")?) {
            (Some(height), Some(width)) => Some(vec![1.0, 1.0, height, width]),
            _ => None,
        },
        7..9 => opt_floats(cx, "scales")?,
        _ => known_floats(cx, 1),
    };
    scale(cx, scales, None)
}

/// `Resize`: from version 11 on with a region of interest, and sizes instead of scales.
pub fn resize(cx: &mut InferCx<'_>) -> Outcome {
    if cx.version() < 11 {
        let scales = known_floats(cx, 1);
        return scale(cx, scales, None);
    }
    let axes = opt_ints(cx, "axes")?;
    let is_cropped = opt_str(cx, "coordinate_transformation_mode")?.as_deref() == Some("tf_crop_and_resize");
    let policy = opt_str(cx, "keep_aspect_ratio_policy")?;
    let sizes_given = cx.arg(3).is_some() && cx.dims(3).as_deref() != Some(&[Dim::Static(0)]);
    if !sizes_given {
        let scales = if is_cropped { None } else { known_floats(cx, 2) };
        return scale(cx, scales, axes);
    }
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let Some(mut dims) = cx.dims(0) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let axes = resized_axes(axes, dims.len())?;
    let is_stretched = policy.is_none_or(|policy| policy == "stretch");
    match ints_of(cx, 3).filter(|_| is_stretched) {
        Some(sizes) if sizes.len() != axes.len() => {
            return invalid(format_args!("{} sizes do not fit {} axes", sizes.len(), axes.len()));
        }
        Some(sizes) => {
            for (&axis, size) in axes.iter().zip(sizes) {
                dims[axis] = size.into();
            }
        }
        None => axes.iter().for_each(|&axis| dims[axis] = Dim::Unknown),
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

fn resized_axes(axes: Option<IntList>, rank: usize) -> Result<Vec<usize>, OpError> {
    match axes {
        Some(axes) => axes.iter().map(|&axis| axis_of(axis, rank)).collect(),
        None => Ok((0..rank).collect()),
    }
}

fn scale(cx: &mut InferCx<'_>, scales: Option<Vec<f32>>, axes: Option<IntList>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let Some(mut dims) = cx.dims(0) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let axes = resized_axes(axes, dims.len())?;
    match scales {
        Some(scales) if scales.len() != axes.len() => {
            return invalid(format_args!("{} scales do not fit {} axes", scales.len(), axes.len()));
        }
        Some(scales) => {
            for (&axis, scale) in axes.iter().zip(scales) {
                dims[axis] = if scale == 1.0 { dims[axis] } else { map_dim(dims[axis], |size| scaled(size, scale)) };
            }
        }
        None => axes.iter().for_each(|&axis| dims[axis] = Dim::Unknown),
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// The size after scaling; `None` where it depends on the precision that a runtime computes with.
fn scaled(size: u64, scale: f32) -> Option<u64> {
    let single = (size as f32 * scale).floor();
    let double = (size as f64 * f64::from(scale)).floor();
    ((0.0..1e9).contains(&single) && f64::from(single) == double).then_some(single as u64)
}

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
    let pooled = [int_or(cx, "output_height", 1)?, int_or(cx, "output_width", 1)?];
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
    let channels = match opt_str(cx, "pixel_format")?.as_deref() {
        None | Some("RGB" | "BGR") => Dim::Static(3),
        Some("Grayscale") => Dim::Static(1),
        Some(_) => Dim::Unknown,
    };
    cx.set_tensor(0, ElemType::UINT8, &[Dim::Unknown, Dim::Unknown, channels]);
    Ok(())
}
