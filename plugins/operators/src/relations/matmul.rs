//! Matrix products.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `MatMul`.
pub fn matmul(cx: &mut InferCx<'_>) -> Outcome {
    let elem = common_elem(cx, 0..2)?;
    multiply(cx, 1, elem)
}

/// `MatMulInteger`.
pub fn matmul_integer(cx: &mut InferCx<'_>) -> Outcome {
    multiply(cx, 1, ElemType::INT32)
}

/// `QLinearMatMul`.
pub fn qlinear_matmul(cx: &mut InferCx<'_>) -> Outcome {
    let elem = cx.elem(7);
    multiply(cx, 3, elem)
}

fn multiply(cx: &mut InferCx<'_>, right: usize, elem: ElemType) -> Outcome {
    let (a, b) = (dims_from_rank(cx, 0, 1)?, dims_from_rank(cx, right, 1)?);
    let (Some(mut a), Some(mut b)) = (a, b) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let (a_is_vector, b_is_vector) = (a.len() == 1, b.len() == 1);
    if a_is_vector {
        a.insert(0, Dim::Static(1));
    }
    if b_is_vector {
        b.push(Dim::Static(1));
    }
    let (a_batch, a_matrix) = a.split_at(a.len() - 2);
    let (b_batch, b_matrix) = b.split_at(b.len() - 2);
    merge_dim(a_matrix[1], b_matrix[0])
        .map_err(|error| OpError::invalid(format_args!("the axes to be multiplied: {error}")))?;
    let mut dims = broadcast(a_batch, b_batch)?;
    dims.extend((!a_is_vector).then_some(a_matrix[0]));
    dims.extend((!b_is_vector).then_some(b_matrix[1]));
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `Gemm`.
pub fn gemm(cx: &mut InferCx<'_>) -> Outcome {
    let elem = common_elem(cx, 0..2)?;
    let oriented = |index: usize, name: &str| -> Result<[Dim; 2], OpError> {
        let dims = dims_of_rank(cx, index, 2)?.unwrap_or_else(|| smallvec![Dim::Unknown; 2]);
        Ok(if flag(cx, name)? { [dims[1], dims[0]] } else { [dims[0], dims[1]] })
    };
    let ([m, k], [k_too, n]) = (oriented(0, "transA")?, oriented(1, "transB")?);
    merge_dim(k, k_too).map_err(|error| OpError::invalid(format_args!("the axes to be multiplied: {error}")))?;
    cx.set_tensor(0, elem, &[m, n]);
    Ok(())
}

/// `Det`.
pub fn det(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let dims = dims_from_rank(cx, 0, 2)?;
    set(cx, 0, elem, dims.as_ref().map(|dims| &dims[..dims.len() - 2]));
    Ok(())
}
