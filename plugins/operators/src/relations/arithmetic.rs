//! Arithmetic on several tensors.

use super::shared::{elementwise::broadcast_all, util::*, values};
use relais_plugin_api::{ir::*, op::*};

/// Any number of tensors of one element type, broadcast.
pub fn variadic(cx: &mut InferCx<'_>) -> Outcome {
    let elem = common_elem(cx, 0..cx.n_args())?;
    if cx.version() >= 8 {
        let dims = broadcast_all(cx, 0..cx.n_args())?;
        set(cx, 0, elem, dims.as_deref());
        values::binary(cx);
        return Ok(());
    }
    // All shapes are equal before version 8.
    let mut merged: Option<Dims> = None;
    for index in 0..cx.n_args() {
        let Some(dims) = cx.dims(index) else {
            continue;
        };
        merged = Some(match merged {
            None => dims,
            Some(old) if old.len() != dims.len() => {
                return invalid(format_args!("input {index} has rank {} where others have {}", dims.len(), old.len()));
            }
            Some(old) => old.into_iter().zip(dims).map(|(a, b)| merge_dim(a, b)).collect::<Result<_, _>>()?,
        });
    }
    set(cx, 0, elem, merged.as_deref());
    Ok(())
}
