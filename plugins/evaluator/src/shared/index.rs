//! Places that an index tensor gives.

use crate::shared::{
    cx::{Eval, int, int_values},
    shape::{Walk, sizes, strides},
};
use relais_plugin_api::{
    ir::{Tensor, element_count},
    op::{EvalCx, OpError, shapes::axis_of},
};

/// An index along an axis, negative ones counting from the end.
pub fn index(index: i64, dim: usize) -> Eval<usize> {
    let at = if index < 0 { index.saturating_add(dim as i64) } else { index };
    usize::try_from(at)
        .ok()
        .filter(|&at| at < dim)
        .ok_or_else(|| OpError::invalid(format_args!("index {index} is out of range for size {dim}")))
}

pub fn product(dims: &[usize]) -> Eval<usize> {
    if dims.contains(&0) {
        return Ok(0);
    }
    let product = dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
    product.ok_or_else(|| OpError::unsupported("a shape does not fit memory"))
}

/// For every index of an elementwise gather or scatter, the element of the data it means.
pub fn element_targets(cx: &EvalCx<'_>, data: &Tensor, indices: &Tensor) -> Eval<Vec<usize>> {
    let rank = data.dims().len();
    let at = axis_of(int(cx, "axis")?, rank)?;
    let fits = |(i, (&index, &data)): (usize, (&u64, &u64))| i == at || index <= data;
    if indices.dims().len() != rank || !indices.dims().iter().zip(data.dims()).enumerate().all(fits) {
        return Err(OpError::invalid(format_args!(
            "indices of shape {:?} do not fit data of shape {:?}",
            indices.dims(),
            data.dims()
        )));
    }
    let values = int_values(cx, indices, "the indices")?;
    let data_dims = sizes(data.dims())?;
    let mut strides = strides(&data_dims);
    let stride = std::mem::replace(&mut strides[at], 0) as usize;
    let walk = Walk::new(&sizes(indices.dims())?, [&strides]);
    walk.zip(values)
        .map(|([offset], i)| Ok((offset as usize).wrapping_add(index(i, data_dims[at])?.wrapping_mul(stride))))
        .collect()
}

/// Where the pieces that rows of indices mean start, and how many dimensions of the data a row names beside the
/// batches.
pub fn piece_starts(cx: &EvalCx<'_>, data: &Tensor, indices: &Tensor, n_batch: usize) -> Eval<(Vec<usize>, usize)> {
    let (rank, index_rank) = (data.dims().len(), indices.dims().len());
    let Some((&depth, rows)) = indices.dims().split_last() else {
        return Err(OpError::invalid("the indices must not be a scalar"));
    };
    let depth = usize::try_from(depth).unwrap_or(usize::MAX);
    if n_batch >= rank.min(index_rank) || depth > rank - n_batch || depth == 0 {
        return Err(OpError::invalid(format_args!(
            "indices of shape {:?} with {n_batch} batch axes do not fit data of shape {:?}",
            indices.dims(),
            data.dims()
        )));
    }
    if indices.dims()[..n_batch] != data.dims()[..n_batch] {
        return Err(OpError::invalid("the batch axes of data and indices differ"));
    }
    let data_dims = sizes(data.dims())?;
    let strides = strides(&data_dims);
    let n_rows = element_count(rows).unwrap_or(0) as usize;
    let per_batch = n_rows / product(&data_dims[..n_batch])?.max(1);
    let batch = product(&data_dims[n_batch..])?;
    let values = int_values(cx, indices, "the indices")?;
    let starts = values.chunks_exact(depth).enumerate().map(|(row, values)| {
        let start = (row / per_batch.max(1)).wrapping_mul(batch);
        values.iter().enumerate().try_fold(start, |start, (i, &value)| {
            // Of empty data the products may overflow, and nothing is read there.
            let at = index(value, data_dims[n_batch + i])?;
            Ok(start.wrapping_add(at.wrapping_mul(strides[n_batch + i] as usize)))
        })
    });
    Ok((starts.collect::<Eval<_>>()?, depth))
}
