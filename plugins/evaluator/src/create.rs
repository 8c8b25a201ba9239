//! Operators that make a tensor of little: a shape, a range, indices.

use crate::shared::{
    cx::{Eval, int, int_list, opt_float, opt_int, opt_ints, opt_string, same_elem, table, tensor, tensor_error},
    doubt::{Doubt, refuse},
    elementwise::uniform_value,
    elems::{Elems, encode_strings},
    scalar::{Integer, Number, Scalar, dispatch},
    shape::{Walk, checked_len, sizes, strides, uniform, with_room},
};
use relais_operator_math::create;
use relais_plugin_api::{
    ir::{AttrValue, ElemType, Tensor},
    op::{EvalCx, OpError, shapes::axis_of},
};

table! {
    "Constant" @ 1 => constant,
    "ConstantOfShape" @ 9 => constant_of_shape,
    "Range" @ 11 => range,
    "EyeLike" @ 9 => eye_like,
    "OneHot" @ 9 => one_hot,
    "NonZero" @ 9 => non_zero,
}

fn constant(cx: &EvalCx<'_>) -> Eval {
    if cx.attrs().iter().filter(|(name, _)| name.contains("value")).count() > 1 {
        return Err(OpError::invalid("more than one attribute says the value"));
    }
    if let Some(value) = tensor(cx, "value")? {
        return Ok(value.clone());
    }
    if let Some(value) = opt_int(cx, "value_int")? {
        return Tensor::dense(ElemType::INT64, &[], value.to_le_bytes().to_vec()).map_err(tensor_error);
    }
    if let Some(values) = opt_ints(cx, "value_ints")? {
        return Ok(Tensor::from_i64(&[values.len() as u64], &values));
    }
    if let Some(value) = opt_float(cx, "value_float")? {
        return Ok(Tensor::from_f32(&[], &[value]));
    }
    if let Some(values) = cx.attrs().floats("value_floats") {
        return Ok(Tensor::from_f32(&[values.len() as u64], &values));
    }
    if let Some(value) = opt_string(cx, "value_string")? {
        return Tensor::dense(ElemType::STRING, &[], encode_strings(cx, &[value])?).map_err(tensor_error);
    }
    if let Some(AttrValue::Strings(values)) = cx.attrs().get("value_strings") {
        let values: Vec<&[u8]> = values.strings().collect();
        let bytes = encode_strings(cx, &values)?;
        return Tensor::dense(ElemType::STRING, &[values.len() as u64], bytes).map_err(tensor_error);
    }
    Err(OpError::unsupported("no attribute says the value"))
}

fn constant_of_shape(cx: &EvalCx<'_>) -> Eval {
    let shape = int_list(cx, cx.require(0)?, "the shape")?;
    let convert =
        |&dim| u64::try_from(dim).map_err(|_| OpError::invalid(format_args!("the shape has the dimension {dim}")));
    let dims: Vec<u64> = shape.iter().map(convert).collect::<Eval<_>>()?;
    let Some(value) = tensor(cx, "value")? else {
        return uniform(ElemType::FLOAT, &dims, &0f32.to_le_bytes());
    };
    match (value.len(), value.as_splat(), value.as_dense()) {
        (1, Some(element), _) => uniform(value.elem(), &dims, element),
        (1, _, Some(element)) if value.elem() != ElemType::STRING => uniform(value.elem(), &dims, element),
        (1, ..) => Err(crate::shared::cx::unsupported_elem(value.elem())),
        (n, ..) => Err(OpError::invalid(format_args!("attribute `value` has {n} elements, not one"))),
    }
}

fn range(cx: &EvalCx<'_>) -> Eval {
    let (start, limit, delta) = (cx.require(0)?, cx.require(1)?, cx.require(2)?);
    same_elem(start, limit)?;
    same_elem(start, delta)?;
    if [start, limit, delta].iter().any(|argument| argument.len() != 1) {
        return Err(OpError::invalid("the arguments must be scalars"));
    }
    match start.elem() {
        ElemType::DOUBLE => real_range::<f64, f64>(cx, start, limit, delta, |x| x),
        ElemType::FLOAT => real_range::<f32, f32>(cx, start, limit, delta, |x| x),
        ElemType::FLOAT16 | ElemType::BFLOAT16 => match int(cx, "stash_type")? {
            1 => dispatch!(start.elem(), T in floats => {
                let wide = |tensor| crate::shared::elementwise::map::<T, f32>(cx, tensor, |x| x.to_f64() as f32);
                real_range::<f32, T>(cx, &wide(start)?, &wide(limit)?, &wide(delta)?, |x| T::rounded(x.into()))
            }),
            _ => Err(OpError::unsupported("an intermediate type other than `float32`")),
        },
        elem => dispatch!(elem, T in integers => integer_range::<T>(cx, start, limit, delta)),
    }
}

fn scalar<T: Scalar>(tensor: &Tensor) -> Eval<T> {
    uniform_value(tensor).ok_or_else(|| OpError::invalid("the arguments must be scalars"))
}

fn range_len(cx: &EvalCx<'_>, elem: ElemType, len: f64) -> Eval<usize> {
    // Doubles hold every integer up to this size.
    if len.is_nan() || len > 9_007_199_254_740_992.0 {
        return Err(OpError::unsupported("the range has no end, or is too long"));
    }
    checked_len(cx, elem, &[len.max(0.0) as u64])
}

fn real_range<T: Number, R: Scalar>(
    cx: &EvalCx<'_>,
    start: &Tensor,
    limit: &Tensor,
    delta: &Tensor,
    narrow: impl Fn(T) -> R,
) -> Eval {
    let (start, limit, delta): (T, T, T) = (scalar(start)?, scalar(limit)?, scalar(delta)?);
    if delta == T::ZERO {
        return Err(OpError::invalid("the step is zero"));
    }
    let len = ((limit.to_f64() - start.to_f64()) / delta.to_f64()).ceil();
    let len = range_len(cx, R::ELEM, len)?;
    let mut out = with_room(len)?;
    // Some runtimes add the step up, others multiply it: where that is the same, both are exact.
    let doubt = Doubt::default();
    let mut sum = start;
    out.extend((0..len).map(|i| {
        let value = start.add(T::rounded(i as f64).mul(delta));
        doubt.note(value != sum);
        sum = sum.add(delta);
        narrow(value).store()
    }));
    doubt.settle(cx, Ok(()), "the values depend on how often the step is rounded")?;
    Tensor::dense(R::ELEM, &[len as u64], R::flatten(out)).map_err(tensor_error)
}

fn integer_range<T: Integer>(cx: &EvalCx<'_>, start: &Tensor, limit: &Tensor, delta: &Tensor) -> Eval {
    let (start, limit, delta): (T, T, T) = (scalar(start)?, scalar(limit)?, scalar(delta)?);
    let (first, step) = (start.to_i128(), delta.to_i128());
    let len = create::range_len(first, limit.to_i128(), step);
    let len = len.ok_or_else(|| OpError::invalid("the step is zero"))?;
    let len = u64::try_from(len).map_err(|_| OpError::unsupported("the range is too long"))?;
    let len = checked_len(cx, T::ELEM, &[len])?;
    let mut out = with_room(len)?;
    // Every element is between start and limit, and so within range.
    out.extend((0..len as i128).map(|i| T::from_i128(first + i * step).unwrap_or(T::ZERO).store()));
    Tensor::dense(T::ELEM, &[len as u64], T::flatten(out)).map_err(tensor_error)
}

fn eye_like(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let &[n_rows, n_columns] = data.dims() else {
        return Err(OpError::invalid(format_args!("the argument must be a matrix, not of rank {}", data.dims().len())));
    };
    let elem = match opt_int(cx, "dtype")? {
        Some(dtype) => crate::cast::elem_type(dtype)?,
        None => data.elem(),
    };
    let k = int(cx, "k")?;
    dispatch!(elem, T in scalars => {
        let len = checked_len(cx, T::ELEM, data.dims())?;
        let mut bytes = with_room(len * elem.bits() as usize / 8)?;
        bytes.resize(len * elem.bits() as usize / 8, 0);
        let one = crate::shared::elementwise::map::<bool, u8>(cx, &uniform(ElemType::BOOL, &[], &[1])?, u8::from)?;
        let one = crate::cast::cast(cx, &one, elem)?.to_bytes().into_owned();
        let n_rows = if len == 0 { 0 } else { n_rows };
        for row in 0..n_rows {
            let column = i128::from(row) + i128::from(k);
            if (0..i128::from(n_columns)).contains(&column) {
                let at = (row * n_columns) as usize + column as usize;
                bytes[at * one.len()..][..one.len()].copy_from_slice(&one);
            }
        }
        Tensor::dense(T::ELEM, data.dims(), bytes).map_err(tensor_error)
    })
}

/// Numbers that are to be integers, of whatever type: floats are truncated.
fn as_integers(cx: &EvalCx<'_>, tensor: &Tensor) -> Eval<Vec<i64>> {
    int_values_of(cx, &crate::cast::cast(cx, tensor, ElemType::INT64)?)
}

fn int_values_of(cx: &EvalCx<'_>, tensor: &Tensor) -> Eval<Vec<i64>> {
    crate::shared::cx::int_values(cx, tensor, "an argument")
}

fn one_hot(cx: &EvalCx<'_>) -> Eval {
    let (indices, depth, values) = (cx.require(0)?, cx.require(1)?, cx.require(2)?);
    let depth = match as_integers(cx, depth)?[..] {
        [depth] if depth >= 0 => depth,
        _ => return Err(OpError::invalid("the depth must be one number that is not negative")),
    };
    if values.dims() != [2] {
        return Err(OpError::invalid(format_args!("the values must be two, not of shape {:?}", values.dims())));
    }
    let rank = indices.dims().len();
    let at = axis_of(int(cx, "axis")?, rank + 1)?;
    let mut dims = indices.dims().to_vec();
    dims.insert(at, depth as u64);
    if let Some(element) = values.as_splat() {
        return uniform(values.elem(), &dims, element);
    }
    let is_rounded = values.elem().is_float() && !survive_subtraction(values);
    refuse(cx, is_rounded, "some runtimes compute the second value as a sum, which rounds")?;
    let len = checked_len(cx, values.elem(), &dims)?;
    let from = Elems::of(cx, values)?;
    let mut out = from.empty(len)?;
    out.repeat(&from, 0, len);
    if len > 0 {
        let strides = strides(&sizes(&dims)?);
        let (stride, mut outer) = (strides[at] as usize, strides);
        outer.remove(at);
        let walk = Walk::new(&sizes(indices.dims())?, [&outer]);
        for ([offset], index) in walk.zip(as_integers(cx, indices)?) {
            let index = if index < 0 { index.saturating_add(depth) } else { index };
            if (0..depth).contains(&index) {
                out.replace(offset as usize + index as usize * stride, &from, 1, 1);
            }
        }
    }
    out.into_tensor(cx, values.elem(), &dims)
}

/// Whether a float remains what it is when another one is subtracted from it and added again, whatever their type: one
/// of them is zero, and none is negative zero.
fn survive_subtraction(values: &Tensor) -> bool {
    let bytes = values.to_bytes();
    let (a, b) = bytes.split_at(bytes.len() / 2);
    let is_zero = |float: &[u8]| float.iter().all(|&byte| byte == 0);
    let is_negative_zero = |float: &[u8]| float.split_last().is_some_and(|(last, rest)| *last == 0x80 && is_zero(rest));
    (is_zero(a) || is_zero(b)) && ![a, b].into_iter().any(is_negative_zero)
}

fn non_zero(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let rank = data.dims().len();
    if rank == 0 {
        return Err(OpError::unsupported("a scalar, whose coordinates runtimes have zero or one of"));
    }
    crate::shared::cx::readable(cx, data)?;
    let len = checked_len(cx, data.elem(), data.dims())?;
    let found: Vec<usize> = if data.elem() == ElemType::STRING {
        data.strings().enumerate().filter(|(_, string)| !string.is_empty()).map(|(at, _)| at).collect()
    } else {
        let bytes = data.to_bytes();
        dispatch!(data.elem(), T in scalars => Ok((0..len).filter(|&at| is_set(T::load(T::chunks(&bytes)[at]))).collect()))?
    };
    let n_found = found.len() as u64;
    let mut out = with_room(checked_len(cx, ElemType::INT64, &[rank as u64, n_found])?)?;
    let dims = sizes(data.dims())?;
    for (stride, dim) in strides(&dims).into_iter().zip(&dims) {
        out.extend(found.iter().map(|at| ((at / stride.max(1) as usize % dim.max(&1)) as i64).store()));
    }
    Tensor::dense(ElemType::INT64, &[rank as u64, n_found], i64::flatten(out)).map_err(tensor_error)
}

fn is_set<T: Scalar>(value: T) -> bool {
    let zero = vec![0; value.store().as_ref().len()];
    T::chunks(&zero).first().is_some_and(|&zero| value != T::load(zero))
}
