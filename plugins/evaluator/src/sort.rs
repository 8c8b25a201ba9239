//! `TopK` and `Unique`.

use crate::shared::{
    cx::{Eval, flag, int, int_scalar, opt_int, table, tensor_error},
    elementwise::any,
    elems::Elems,
    lines::{Lines, Order, comparable},
    scalar::{Number, Scalar, dispatch},
    shape::{checked_len, sizes, strides, with_room},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError, shapes::axis_of},
};
use std::cmp::Ordering;

table! {
    "TopK" @ 1 => top_k,
    "Unique" @ 11 => unique,
}

/// Of equal elements the one with the lower index comes first. Results that need not be sorted are.
fn top_k(cx: &EvalCx<'_>) -> Eval<Vec<Tensor>> {
    let data = cx.require(0)?;
    let at = axis_of(int(cx, "axis")?, data.dims().len())?;
    let k = if cx.version() < 10 { int(cx, "k")? } else { int_scalar(cx, cx.require(1)?, "`K`")? };
    let order = if flag(cx, "largest")? { Order::Descending } else { Order::Ascending };
    let k = u64::try_from(k).ok().filter(|&k| k <= data.dims()[at]);
    let k = k.ok_or_else(|| OpError::invalid(format_args!("`K` is not a size up to {}", data.dims()[at])))?;
    if !flag(cx, "sorted")? {
        return Err(OpError::unsupported("results in an order of the implementation's choice"));
    }
    let mut dims = data.dims().to_vec();
    dims[at] = k;
    dispatch!(data.elem(), T in numbers => {
        // Indices are the wider ones.
        let len = checked_len(cx, ElemType::INT64, &dims)?;
        let bytes = comparable::<T>(cx, data)?;
        let elements = T::chunks(&bytes);
        let lines = Lines::new(data, at)?;
        let k = k as usize;
        let mut values: Vec<<T as Scalar>::Bytes> = with_room(len)?;
        let mut indices = with_room(len)?;
        values.resize(len, T::ZERO.store());
        indices.resize(len, 0i64.store());
        let mut line: Vec<(usize, T)> = Vec::new();
        for (n, start) in lines.starts().enumerate() {
            line.clear();
            line.extend((0..lines.len).map(|i| (i, T::load(elements[start + i * lines.stride]))));
            line.sort_by(|a, b| {
                let by_value = a.1.partial_cmp(&b.1).expect("there are no NaNs");
                if order == Order::Ascending { by_value } else { by_value.reverse() }
            });
            let out = n / lines.stride * k * lines.stride + n % lines.stride;
            for (i, &(index, value)) in line[..k].iter().enumerate() {
                values[out + i * lines.stride] = value.store();
                indices[out + i * lines.stride] = (index as i64).store();
            }
        }
        Ok(vec![
            Tensor::dense(T::ELEM, &dims, T::flatten(values)).map_err(tensor_error)?,
            Tensor::dense(ElemType::INT64, &dims, i64::flatten(indices)).map_err(tensor_error)?,
        ])
    })
}

fn unique(cx: &EvalCx<'_>) -> Eval<Vec<Tensor>> {
    let data = cx.require(0)?;
    checked_len(cx, data.elem(), data.dims())?;
    let sorted = flag(cx, "sorted")?;
    // Slices along axis 0 of data moved so that it comes first are rows of consecutive elements.
    let (data, moved_dims) = match opt_int(cx, "axis")? {
        None => (data.reshaped(&[data.len()]).map_err(tensor_error)?, None),
        Some(at) => {
            let at = axis_of(at, data.dims().len())?;
            let order: Vec<usize> = std::iter::once(at).chain((0..data.dims().len()).filter(|&i| i != at)).collect();
            (permuted(cx, data, &order)?, Some(order))
        }
    };
    let dims = sizes(data.dims())?;
    let n_slices = dims[0];
    let width = if data.is_empty() { 0 } else { dims[1..].iter().product::<usize>() };
    if n_slices > 0 && width == 0 {
        return Err(OpError::unsupported("slices without elements"));
    }
    let mut by_value: Vec<usize> = (0..n_slices).collect();
    let order = ordering(cx, &data, width)?;
    by_value.sort_by(|&a, &b| order(a, b));
    // Groups of equal slices, each with its first occurrence first, as sorting is stable.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for slice in by_value {
        match groups.last_mut() {
            Some(group) if order(group[0], slice) == Ordering::Equal => group.push(slice),
            _ => groups.push(vec![slice]),
        }
    }
    if !sorted {
        groups.sort_by_key(|group| group[0]);
    }
    let from = Elems::of(cx, &data)?;
    let mut values = from.empty(groups.len() * width)?;
    let mut inverse = vec![0; n_slices];
    for (at, group) in groups.iter().enumerate() {
        values.extend(&from, group[0] * width, width);
        for &slice in group {
            inverse[slice] = at as i64;
        }
    }
    let mut value_dims = data.dims().to_vec();
    value_dims[0] = groups.len() as u64;
    let mut values = values.into_tensor(cx, data.elem(), &value_dims)?;
    if let Some(order) = moved_dims {
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
        values = permuted(cx, &values, &back)?;
    }
    let list = |values: Vec<i64>| Tensor::from_i64(&[values.len() as u64], &values);
    let first = groups.iter().map(|group| group[0] as i64).collect();
    let counts = groups.iter().map(|group| group.len() as i64).collect();
    Ok(vec![values, list(first), list(inverse), list(counts)])
}

fn permuted(cx: &EvalCx<'_>, data: &Tensor, order: &[usize]) -> Eval {
    let from = strides(&sizes(data.dims())?);
    let dims: Vec<u64> = order.iter().map(|&at| data.dims()[at]).collect();
    let strides: Vec<isize> = order.iter().map(|&at| from[at]).collect();
    crate::shared::elems::strided(cx, data, &dims, &strides, 0)
}

type SliceOrder<'a> = Box<dyn Fn(usize, usize) -> Ordering + 'a>;

/// How slices of `width` elements compare.
fn ordering<'a>(cx: &EvalCx<'_>, data: &'a Tensor, width: usize) -> Eval<SliceOrder<'a>> {
    if data.elem() == ElemType::STRING {
        let strings: Vec<&[u8]> = data.strings().collect();
        return Ok(Box::new(move |a, b| strings[a * width..][..width].cmp(&strings[b * width..][..width])));
    }
    if data.elem() == ElemType::BOOL {
        let bytes = data.to_bytes();
        return Ok(Box::new(move |a, b| bytes[a * width..][..width].cmp(&bytes[b * width..][..width])));
    }
    crate::shared::cx::readable(cx, data)?;
    dispatch!(data.elem(), T in numbers => {
        if any(data, |x: T| Number::to_f64(x).is_nan()) {
            return Err(OpError::unsupported("a NaN is compared, which runtimes do differently"));
        }
        let values: Vec<T> = T::chunks(&data.to_bytes()).iter().map(|&chunk| T::load(chunk)).collect();
        Ok(Box::new(move |a, b| {
            let pairs = values[a * width..][..width].iter().zip(&values[b * width..][..width]);
            let mut orders = pairs.filter_map(|(a, b)| a.partial_cmp(b));
            orders.find(|&order| order != Ordering::Equal).unwrap_or(Ordering::Equal)
        }))
    })
}
