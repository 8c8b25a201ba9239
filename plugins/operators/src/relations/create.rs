//! Operators that make tensors out of shapes, indices and numbers.

use super::shared::util::*;
use relais_operator_math::create as math;
use relais_plugin_api::{ir::*, op::*};

/// `Constant`, where it is a call.
pub fn constant(cx: &mut InferCx<'_>) -> Outcome {
    match cx.attrs().iter().filter(|(name, _)| name.contains("value")).count() {
        0 => return invalid("no attribute says the value"),
        1 => {}
        _ => return invalid("more than one attribute says the value"),
    }
    if let Some((elem, dims)) = opt_tensor(cx, "value")? {
        cx.set_tensor(0, elem, &dims);
    } else if opt_float(cx, "value_float")?.is_some() {
        cx.set_tensor(0, ElemType::FLOAT, &[]);
    } else if opt_int(cx, "value_int")?.is_some() {
        cx.set_tensor(0, ElemType::INT64, &[]);
    } else if opt_string(cx, "value_string")?.is_some() {
        cx.set_tensor(0, ElemType::STRING, &[]);
    } else if let Some(values) = opt_floats(cx, "value_floats")? {
        cx.set_tensor(0, ElemType::FLOAT, &[Dim::Static(values.len() as u64)]);
    } else if let Some(values) = opt_ints(cx, "value_ints")? {
        cx.set_tensor(0, ElemType::INT64, &[Dim::Static(values.len() as u64)]);
    } else if let Some(n_values) = opt_strs(cx, "value_strings")?.map(|all| all.len()) {
        cx.set_tensor(0, ElemType::STRING, &[Dim::Static(n_values as u64)]);
    }
    Ok(())
}

/// `ConstantOfShape`.
pub fn constant_of_shape(cx: &mut InferCx<'_>) -> Outcome {
    let (elem, value) = match cx.attrs().tensor("value") {
        Some(tensor) if tensor.len() == 1 => (tensor.elem(), tensor.to_i64s()),
        Some(_) => return invalid("attribute `value` must have one element"),
        None => (opt_tensor(cx, "value")?.map_or(ElemType::FLOAT, |(elem, _)| elem), None),
    };
    let sizes = ints_of(cx, 0).or_else(|| Some(smallvec![Int::Unknown; vector_len(cx, 0)?]));
    let dims = sizes.map(|sizes| sizes.into_iter().map(Dim::from).collect::<Vec<_>>());
    set(cx, 0, elem, dims.as_deref());
    let len = match dims.as_deref() {
        Some([]) => Some(1),
        Some([Dim::Static(len)]) => usize::try_from(*len).ok().filter(|&len| len <= MAX_LEN),
        _ => None,
    };
    if let (Some(len), Some([value])) = (len, value.as_deref()) {
        set_ints(cx, 0, &vec![Int::Known(*value); len]);
    }
    Ok(())
}

/// `Range`.
pub fn range(cx: &mut InferCx<'_>) -> Outcome {
    let elem = common_elem(cx, 0..3)?;
    let [start, limit, delta] = [0, 1, 2].map(|index| scalar_of(cx, index).unwrap_or(Int::Unknown));
    let dim = match (start, limit, delta) {
        (Int::Known(0), Int::Symbol(name), Int::Known(1)) => Dim::Symbol(name),
        (Int::Known(start), Int::Known(limit), Int::Known(delta)) => range_len(start, limit, delta)?,
        _ => Dim::Unknown,
    };
    cx.set_tensor(0, elem, &[dim]);
    if let (Dim::Static(len), Int::Known(start), Int::Known(delta)) = (dim, start, delta)
        && len <= MAX_LEN as u64
    {
        let at = |i: i64| delta.checked_mul(i).and_then(|offset| offset.checked_add(start));
        let ints: Vec<Int> = (0..len as i64).map(|i| at(i).map_or(Int::Unknown, Int::Known)).collect();
        set_ints(cx, 0, &ints);
    }
    Ok(())
}

fn range_len(start: i64, limit: i64, delta: i64) -> Result<Dim, OpError> {
    match math::range_len(start.into(), limit.into(), delta.into()) {
        Some(len) => Ok(u64::try_from(len).map_or(Dim::Unknown, Dim::Static)),
        None => invalid("`delta` is 0"),
    }
}

/// `NonZero`. For a scalar, runtimes disagree on the number of rows.
pub fn non_zero(cx: &mut InferCx<'_>) -> Outcome {
    let rank = cx.dims(0).map_or(0, |dims| dims.len() as u64);
    let rows = if rank == 0 { Dim::Unknown } else { Dim::Static(rank) };
    cx.set_tensor(0, ElemType::INT64, &[rows, Dim::Unknown]);
    Ok(())
}

/// `OneHot`.
pub fn one_hot(cx: &mut InferCx<'_>) -> Outcome {
    // The depth, and the values for off and on.
    for (at, n) in [(1, 1), (2, 2)] {
        let len =
            cx.dims(at).and_then(|dims| dims.iter().try_fold(1_u64, |n, dim| Some(n.saturating_mul(dim.known()?))));
        if len.is_some_and(|len| len != n) {
            return Err(OpError::invalid(format_args!("input {at} must have {n} elements, not {}", len.unwrap_or(0))));
        }
    }
    let elem = cx.elem(2);
    let axis = int(cx, "axis")?;
    let dims = match cx.dims(0) {
        Some(mut dims) => {
            let axis = axis_of(axis, dims.len() + 1)?;
            dims.insert(axis, scalar_of(cx, 1).map_or(Dim::Unknown, Dim::from));
            Some(dims)
        }
        None => None,
    };
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}
