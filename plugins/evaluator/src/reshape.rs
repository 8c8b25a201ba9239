//! Operators that change the dimensions of a tensor, or return them. No element is copied.

use crate::shared::{
    cx::{Eval, flag, int, int_list, ints_attr_or_input, opt_int, opt_ints, table, tensor_error},
    shape::axes,
};
use relais_operator_math::reshape::shape_range;
use relais_plugin_api::{
    ir::{Tensor, element_count},
    op::{EvalCx, OpError, shapes::axis_of},
};

table! {
    "Reshape" @ 1 => reshape,
    "Flatten" @ 1 => flatten,
    "Squeeze" @ 1 => squeeze,
    "Unsqueeze" @ 1 => unsqueeze,
    "Identity" @ 1 => |cx| Ok::<Tensor, OpError>(cx.require(0)?.clone()),
    "Shape" @ 1 => shape,
    "Size" @ 1 => size,
}

fn with_dims(data: &Tensor, dims: &[u64]) -> Eval {
    data.reshaped(dims).map_err(|_| {
        OpError::invalid(format_args!("shape {:?} cannot become {dims:?}: the number of elements differs", data.dims()))
    })
}

fn reshape(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let wanted = if cx.version() < 5 {
        opt_ints(cx, "shape")?.ok_or_else(|| OpError::invalid("attribute `shape` is missing"))?
    } else {
        int_list(cx, cx.require(1)?, "the shape")?
    };
    let allow_zero = flag(cx, "allowzero")?;
    let mut dims = Vec::with_capacity(wanted.len());
    let mut inferred = None;
    for (at, &dim) in wanted.iter().enumerate() {
        dims.push(match dim {
            0 if !allow_zero => *data.dims().get(at).ok_or_else(|| {
                OpError::invalid(format_args!("dimension {at} is to be kept, but the data has none such"))
            })?,
            -1 if inferred.is_none() => {
                inferred = Some(at);
                1
            }
            -1 => return Err(OpError::invalid("the shape has more than one -1")),
            dim => {
                u64::try_from(dim).map_err(|_| OpError::invalid(format_args!("the shape has the dimension {dim}")))?
            }
        });
    }
    if let Some(at) = inferred {
        match element_count(&dims) {
            Some(0) => return Err(OpError::invalid("the shape has a -1 beside a dimension of zero")),
            Some(others) if data.len() % others == 0 => dims[at] = data.len() / others,
            _ => {
                return Err(OpError::invalid(format_args!("{} elements do not fill shape {wanted:?}", data.len())));
            }
        }
    }
    with_dims(data, &dims)
}

fn flatten(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let rank = data.dims().len();
    // The axis may also be one past the last.
    let at = match int(cx, "axis")? {
        negative @ ..0 => axis_of(negative, rank)?,
        at => axis_of(at, rank + 1)?,
    };
    let count =
        |dims| element_count(dims).ok_or_else(|| OpError::unsupported("a dimension of the result is beyond 64 bits"));
    with_dims(data, &[count(&data.dims()[..at])?, count(&data.dims()[at..])?])
}

fn squeeze(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let rank = data.dims().len();
    let mut keep: Vec<bool> = data.dims().iter().map(|&dim| dim != 1).collect();
    if let Some(list) = ints_attr_or_input(cx, "axes", 1, 13)? {
        keep = vec![true; rank];
        for at in axes(&list, rank)? {
            if data.dims()[at] != 1 {
                return Err(OpError::invalid(format_args!("axis {at} has size {}, not 1", data.dims()[at])));
            }
            keep[at] = false;
        }
    }
    let dims: Vec<u64> = data.dims().iter().zip(keep).filter(|(_, keep)| *keep).map(|(&dim, _)| dim).collect();
    with_dims(data, &dims)
}

fn unsqueeze(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let list = ints_attr_or_input(cx, "axes", 1, 13)?.ok_or_else(|| OpError::invalid("`axes` are missing"))?;
    let rank = data.dims().len() + list.len();
    let mut dims: Vec<Option<u64>> = vec![None; rank];
    for at in axes(&list, rank)? {
        dims[at] = Some(1);
    }
    let mut old = data.dims().iter().copied();
    let dims: Vec<u64> = dims.into_iter().filter_map(|dim| dim.or_else(|| old.next())).collect();
    with_dims(data, &dims)
}

fn shape(cx: &EvalCx<'_>) -> Eval {
    let dims = cx.require(0)?.dims();
    let part = shape_range(dims.len(), int(cx, "start")?, opt_int(cx, "end")?);
    let convert = |&dim| i64::try_from(dim).map_err(|_| OpError::unsupported("a dimension is beyond 63 bits"));
    let dims: Vec<i64> = dims[part].iter().map(convert).collect::<Eval<_>>()?;
    Ok(Tensor::from_i64(&[dims.len() as u64], &dims))
}

fn size(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let len = element_count(data.dims()).and_then(|len| i64::try_from(len).ok());
    let len = len.ok_or_else(|| OpError::unsupported("the number of elements is beyond 63 bits"))?;
    Tensor::dense(relais_plugin_api::ir::ElemType::INT64, &[], len.to_le_bytes().to_vec()).map_err(tensor_error)
}
