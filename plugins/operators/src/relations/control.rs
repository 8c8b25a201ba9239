//! Control flow: result types come from the results of the functions that belong to the call, typed before it.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// The types of the results of the function that attribute `name` holds.
///
/// # Errors
/// Returns an error if the attribute is missing or holds something else.
pub fn region_results(cx: &InferCx<'_>, name: &str) -> Result<Vec<TypeId>, OpError> {
    if let Some(results) = cx.region_of(name) {
        return Ok(results.to_vec());
    }
    match cx.attrs().get(name) {
        Some(AttrValue::Ref { .. } | AttrValue::Raw(_) | AttrValue::Other(_)) => {
            Err(OpError::unsupported(format_args!("the value of attribute `{name}` is not known here")))
        }
        Some(_) => invalid(format_args!("attribute `{name}` must be a graph")),
        None => invalid(format_args!("attribute `{name}` is missing")),
    }
}

/// `If`: the type information common to both branches.
pub fn conditional(cx: &mut InferCx<'_>) -> Outcome {
    let (then, otherwise) = (region_results(cx, "then_branch")?, region_results(cx, "else_branch")?);
    if then.len() != otherwise.len() {
        return invalid(format_args!("the branches have {} and {} results", then.len(), otherwise.len()));
    }
    for (index, (a, b)) in then.into_iter().zip(otherwise).enumerate() {
        let ty = join(cx, a, b);
        cx.set_output(index, ty);
    }
    Ok(())
}

/// `Loop`: a carried value is the initial one if the body never runs; the values that the body yields at each turn are
/// stacked.
pub fn r#loop(cx: &mut InferCx<'_>) -> Outcome {
    let results = region_results(cx, "body")?;
    let n_carried = cx.n_args().saturating_sub(2);
    if results.len() < n_carried + 1 {
        return invalid(format_args!("the body has {} results for {n_carried} carried values", results.len()));
    }
    for (index, &ty) in results[1..].iter().enumerate() {
        let ty = if index < n_carried {
            let initial = cx.input_id(2 + index);
            join(cx, initial, ty)
        } else {
            let ty = without_symbols(cx, ty);
            stacked(cx, ty, 0, Dim::Unknown)?
        };
        cx.set_output(index, ty);
    }
    Ok(())
}

/// `Scan`. Version 8 has a batch axis and is not covered.
pub fn scan(cx: &mut InferCx<'_>) -> Outcome {
    if cx.version() < 9 {
        return Ok(());
    }
    let results = region_results(cx, "body")?;
    let n_args = cx.n_args();
    let n_scanned = usize::try_from(int(cx, "num_scan_inputs")?).unwrap_or(usize::MAX);
    let Some(n_states) = n_args.checked_sub(n_scanned).filter(|&n| n <= results.len()) else {
        return invalid(format_args!("{n_args} inputs cannot have {n_scanned} to scan"));
    };
    let in_axes = opt_ints(cx, "scan_input_axes")?.unwrap_or_default();
    let out_axes = opt_ints(cx, "scan_output_axes")?.unwrap_or_default();
    let mut length = Dim::Unknown;
    for index in 0..n_scanned {
        if let Some(dims) = cx.dims(n_states + index) {
            let axis = axis_of(in_axes.get(index).copied().unwrap_or(0), dims.len())?;
            length = merge_dim(length, dims[axis])
                .map_err(|error| OpError::invalid(format_args!("the lengths of scanned inputs: {error}")))?;
        }
    }
    for (index, &ty) in results.iter().enumerate() {
        let ty = match index.checked_sub(n_states) {
            Some(output) => stacked(cx, ty, out_axes.get(output).copied().unwrap_or(0), length)?,
            None => {
                let initial = cx.input_id(index);
                join(cx, initial, ty)
            }
        };
        cx.set_output(index, ty);
    }
    Ok(())
}

/// A tensor type whose symbols are unknown: without a turn, a runtime takes them to be zero.
fn without_symbols(cx: &mut InferCx<'_>, ty: TypeId) -> TypeId {
    let Type::Tensor { elem, shape: Some(shape) } = cx.ty(ty) else {
        return ty;
    };
    let dims: Dims = shape.iter().map(|&dim| Dim::from(dim).known().map_or(Dim::Unknown, Dim::Static)).collect();
    cx.tensor_type(elem, &dims)
}

/// The type of tensors of type `ty`, stacked on a new axis.
fn stacked(cx: &mut InferCx<'_>, ty: TypeId, axis: i64, length: Dim) -> Result<TypeId, OpError> {
    let Type::Tensor { elem, shape } = cx.ty(ty) else {
        return Ok(TypeId::UNKNOWN);
    };
    let Some(shape) = shape else {
        return Ok(cx.add_type(Type::Tensor { elem, shape: None }));
    };
    let mut dims = shape.to_vec();
    let axis = axis_of(axis, dims.len() + 1)?;
    dims.insert(axis, length.into());
    Ok(cx.add_type(Type::Tensor { elem, shape: Some(&dims) }))
}
