//! `Concat` and `Split`.

use crate::shared::{
    cx::{Eval, int, ints_attr_or_input, opt_int, same_elem, table},
    elems::{Elems, data_strides, dims_from, strided},
    shape::{checked_len, sizes, uniform},
};
use relais_operator_math::join::{concat_axis, equal_parts};
use relais_plugin_api::{
    ir::{Tensor, element_count},
    op::{EvalCx, OpError, shapes::axis_of},
};

table! {
    "Split" @ 1 => split,
    "Concat" @ 1 => concat,
}

fn split(cx: &EvalCx<'_>) -> Eval<Vec<Tensor>> {
    let data = cx.require(0)?;
    if cx.version() < 2 && cx.input(1).is_some() {
        return Err(OpError::unsupported("lengths as an input before operator-set version 2"));
    }
    let at = axis_of(int(cx, "axis")?, data.dims().len())?;
    let dim = data.dims()[at];
    let parts: Vec<u64> = match ints_attr_or_input(cx, "split", 1, 13)? {
        Some(parts) => dims_from(&parts, "`split`")?,
        None => {
            let n = match opt_int(cx, "num_outputs")? {
                Some(n) => u64::try_from(n).unwrap_or(0),
                None => cx.n_outputs() as u64,
            };
            if n == 0 || n > cx.n_outputs().max(1) as u64 {
                return Err(OpError::invalid(format_args!("{n} parts for {} results", cx.n_outputs())));
            }
            if cx.version() < 18 && dim % n != 0 {
                return Err(OpError::invalid(format_args!("size {dim} cannot be split into {n} equal parts")));
            }
            let parts = equal_parts(dim, n).ok_or_else(|| OpError::unsupported("too few elements for the parts"))?;
            parts.collect()
        }
    };
    if parts.len() < cx.n_outputs() {
        return Err(OpError::invalid(format_args!("{} parts for {} results", parts.len(), cx.n_outputs())));
    }
    if parts.iter().try_fold(0u64, |sum, &part| sum.checked_add(part)) != Some(dim) {
        return Err(OpError::invalid(format_args!("parts {parts:?} do not add up to size {dim}")));
    }
    let strides = data_strides(data)?;
    let mut offset = 0;
    let mut results = Vec::with_capacity(parts.len());
    for part in parts {
        let mut dims = data.dims().to_vec();
        dims[at] = part;
        results.push(strided(cx, data, &dims, &strides, offset)?);
        offset = offset.wrapping_add((part as isize).wrapping_mul(strides[at]));
    }
    Ok(results)
}

fn concat(cx: &EvalCx<'_>) -> Eval {
    let first = cx.require(0)?;
    let wanted = concat_axis(opt_int(cx, "axis")?, cx.version());
    let wanted = wanted.ok_or_else(|| OpError::invalid("attribute `axis` is missing"))?;
    let at = axis_of(wanted, first.dims().len())?;
    let inputs: Vec<&Tensor> = (0..cx.n_inputs()).map(|index| cx.require(index)).collect::<Eval<_>>()?;
    let mut dims = first.dims().to_vec();
    dims[at] = 0;
    for input in &inputs {
        same_elem(first, input)?;
        let others = |tensor: &Tensor| {
            tensor.dims().iter().enumerate().filter(|(i, _)| *i != at).map(|(_, &d)| d).collect::<Vec<_>>()
        };
        if input.dims().len() != dims.len() || others(input) != others(first) {
            return Err(OpError::invalid(format_args!(
                "shapes {:?} and {:?} differ beside axis {at}",
                first.dims(),
                input.dims()
            )));
        }
        dims[at] = dims[at]
            .checked_add(input.dims()[at])
            .ok_or_else(|| OpError::unsupported("a dimension of the result is beyond 64 bits"))?;
    }
    let parts: Vec<&Tensor> = inputs.iter().copied().filter(|input| !input.is_empty()).collect();
    if let Some(element) = parts.first().and_then(|part| part.as_splat())
        && parts.iter().all(|part| part.as_splat() == Some(element))
    {
        return uniform(first.elem(), &dims, element);
    }
    let len = checked_len(cx, first.elem(), &dims)?;
    let parts: Vec<(Elems<'_>, usize)> = parts
        .into_iter()
        .map(|part| Ok((Elems::of(cx, part)?, sizes(&part.dims()[at..])?.iter().product())))
        .collect::<Eval<_>>()?;
    let mut out = Elems::zero(first.elem()).empty(len)?;
    let n_rows = if len == 0 { 0 } else { element_count(&dims[..at]).unwrap_or(0) as usize };
    for row in 0..n_rows {
        for (part, width) in &parts {
            out.extend(part, row * width, *width);
        }
    }
    out.into_tensor(cx, first.elem(), &dims)
}
