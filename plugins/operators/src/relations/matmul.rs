//! Matrix products.

use super::util::*;
use relais_plugin_api::{ir::*, op::*};
use std::collections::BTreeMap;

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
        Ok(if flag(cx, name, false)? { [dims[1], dims[0]] } else { [dims[0], dims[1]] })
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

/// `Einsum`.
pub fn einsum(cx: &mut InferCx<'_>) -> Outcome {
    let n_args = cx.n_args();
    let elem = common_elem(cx, 0..n_args)?;
    let Some(mut equation) = opt_str(cx, "equation")? else {
        return invalid("attribute `equation` is missing");
    };
    equation.retain(|c| !c.is_whitespace());
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != n_args {
        return invalid(format_args!("`equation` has {} terms for {n_args} inputs", terms.len()));
    }
    // `.` represents the axes of an ellipsis.
    let mut sizes: BTreeMap<char, (Dim, usize)> = BTreeMap::new();
    let mut ellipsis: Option<Dims> = Some(Dims::new());
    for (index, term) in terms.iter().enumerate() {
        let labels: Vec<char> = term.replace("...", ".").chars().collect();
        let n_labels = labels.iter().filter(|&&label| label != '.').count();
        let dims = cx.dims(index);
        let n_more = match &dims {
            Some(dims) if dims.len() < n_labels || (dims.len() > n_labels && !labels.contains(&'.')) => {
                return invalid(format_args!("term `{term}` does not fit input {index} of rank {}", dims.len()));
            }
            Some(dims) => Some(dims.len() - n_labels),
            None => None,
        };
        let mut at = 0;
        for label in labels {
            if label == '.' {
                ellipsis = match (ellipsis, &dims, n_more) {
                    (Some(old), Some(dims), Some(n)) => Some(broadcast(&old, &dims[at..at + n])?),
                    _ => None,
                };
                at += n_more.unwrap_or(0);
                continue;
            }
            let dim = dims.as_ref().map_or(Dim::Unknown, |dims| dims[at]);
            at += 1;
            let entry = sizes.entry(label).or_insert((Dim::Static(1), 0));
            entry.0 = broadcast(&[entry.0], &[dim])?[0];
            entry.1 += 1;
        }
    }
    let right = match right {
        Some(right) => right.replace("...", "."),
        None => {
            let once = sizes.iter().filter(|(_, (_, count))| *count == 1).map(|(&label, _)| label);
            let dots = if left.contains("...") { "." } else { "" };
            dots.chars().chain(once).collect()
        }
    };
    let mut dims = Vec::new();
    for label in right.chars() {
        match (label, &ellipsis) {
            ('.', Some(more)) => dims.extend(more),
            ('.', None) => {
                cx.set_any_rank(0, elem);
                return Ok(());
            }
            _ => match sizes.get(&label) {
                Some(&(dim, _)) => dims.push(dim),
                None => return invalid(format_args!("label `{label}` of the result is in no term")),
            },
        }
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}
