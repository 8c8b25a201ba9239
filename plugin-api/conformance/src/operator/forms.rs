//! The forms of a call in different layouts compute the same, their arguments and results being transposed.

use super::{MAX_BYTES, attribute, constant, shown, tensor_of};
use crate::bench::OpShape;
use relais_ir::wild::Tape;
use relais_plugin_api::{infer::Operators, ir::*, op::LayoutFacts};

/// How far floats may be apart, relative to the largest one: a form may add up in another order.
const TOLERANCE: f64 = 1e-3;

/// Evaluates a call in one form and in another. Returns how they differ, and the first one, as text.
pub fn differ(
    tape: &mut Tape<'_>,
    op: &OpShape,
    at: usize,
    ops: &mut dyn Operators,
    n_compared: &mut usize,
) -> Option<(String, String)> {
    let number = ops.other(&Function::new(), &op.domain, &op.name)?;
    let layouts = ops.schema(number)?.layouts.clone();
    let own: Vec<&LayoutFacts> = layouts.iter().filter(|form| form.op.is_empty()).collect();
    let from = *own.get(at % own.len().max(1))?;
    let others: Vec<&LayoutFacts> = layouts.iter().filter(|form| *form != from && from.has_axes_of(form)).collect();
    let to = *others.get(tape.below(others.len().max(1)))?;
    // The axes of one name have one size.
    let sizes: Vec<u64> = (b'A'..=b'Z').map(|_| 1 + tape.below(4) as u64).collect();
    let dims = |layout: &str| layout.bytes().map(|axis| sizes[usize::from(axis.saturating_sub(b'A')) % 26]).collect();
    let elem = [ElemType::FLOAT, ElemType::UINT8, ElemType::INT8, ElemType::INT64][tape.below(4)];
    let n_args = usize::from(op.inputs.1).min(from.inputs.len().max(usize::from(op.inputs.0)));
    let args: Vec<Tensor> = (0..n_args)
        .map(|nth| match from.inputs.get(nth).filter(|layout| *layout != LayoutFacts::SAME) {
            Some(layout) => {
                let dims: Vec<u64> = dims(layout);
                tensor_of(tape, elem, &dims)
            }
            // A scale, or a zero point.
            None => {
                let elem = [ElemType::FLOAT, elem][tape.below(2)];
                tensor_of(tape, elem, &[])
            }
        })
        .collect();
    let mut f = Function::new();
    let is_of_form = |name: &str| from.attrs.iter().chain(&to.attrs).any(|attr| attr.name == name);
    let free = op.attrs.iter().filter(|attr| !is_of_form(&attr.name));
    let attrs: Vec<AttrRec> = free.filter_map(|attr| attribute(tape, &mut f, attr, false)).collect();
    let version = ops.newest_version(&op.domain, &op.name)?;
    f.set_opset_imports(&[(op.domain.as_str(), version)]);
    let first = evaluate(&mut f, ops, (&op.domain, &op.name), (from, &args), &attrs)?;
    let text = shown(&f);

    let turned = args.iter().enumerate().map(|(nth, arg)| match (from.inputs.get(nth), to.inputs.get(nth)) {
        (Some(from), Some(to)) => transposed(arg, &LayoutFacts::order(from, to)?),
        _ => Some(arg.clone()),
    });
    let turned: Vec<Tensor> = turned.collect::<Option<_>>()?;
    let full = if to.op.is_empty() {
        (op.domain.as_str(), op.name.as_str())
    } else {
        to.op.rsplit_once("::").unwrap_or(("", &to.op))
    };
    if !to.op.is_empty() {
        let version = ops.newest_version(full.0, full.1)?;
        f.set_opset_imports(&[(full.0, version)]);
    }
    let second = evaluate(&mut f, ops, full, (to, &turned), &attrs)?;
    *n_compared += 1;
    for (nth, (first, second)) in first.iter().zip(&second).enumerate() {
        let (a, b) = (from.outputs.get(nth), to.outputs.get(nth));
        let (Some(a), Some(b)) = (a, b) else { continue };
        let back = transposed(second, &LayoutFacts::order(b, a)?)?;
        if !is_near(first, &back) {
            let (from, to) = (from.inputs.join(","), to.inputs.join(","));
            return Some((
                format!("its form with {to} does not compute what that with {from} does (result {nth})"),
                text,
            ));
        }
    }
    None
}

/// Evaluates a call of constants in a form, which it appends to a function; `None` if it is not evaluated.
fn evaluate(
    f: &mut Function,
    ops: &mut dyn Operators,
    (domain, name): (&str, &str),
    (form, args): (&LayoutFacts, &[Tensor]),
    attrs: &[AttrRec],
) -> Option<Vec<Tensor>> {
    let nodes: Vec<NodeId> = args.iter().map(|arg| constant(f, arg.clone())).collect();
    let op = f.add_op(domain, name, "", 0);
    let call = f.add_call(op, &nodes);
    let mut recs = attrs.to_vec();
    for attr in &form.attrs {
        recs.push(f.encode_attr(&Attr::new(attr.name.clone(), AttrData::from(attr.default_value()?))));
    }
    f.set_attr_recs(call, &recs);
    let body = f.body();
    f.append(body, call);
    f.set_results(body, &[call]);
    let inputs: Vec<Option<Tensor>> = args.iter().cloned().map(Some).collect();
    ops.evaluate(op, f, call, &inputs, MAX_BYTES)?.ok()
}

/// A tensor with its axes in another order.
fn transposed(tensor: &Tensor, order: &[usize]) -> Option<Tensor> {
    let (dims, bytes, width) = (tensor.dims(), tensor.to_bytes(), tensor.elem().bits() as usize / 8);
    if order.len() != dims.len() {
        // A layout that is the same in all forms, or a result of another rank than the record says.
        return (order == [0]).then(|| tensor.clone());
    }
    let to: Vec<u64> = order.iter().map(|&from| dims[from]).collect();
    let mut stride = width as u64;
    let mut strides = vec![0; dims.len()];
    for (at, &size) in dims.iter().enumerate().rev() {
        strides[at] = stride;
        stride *= size;
    }
    let mut moved = Vec::with_capacity(bytes.len());
    for element in 0..element_count(&to)? {
        let (mut left, mut start) = (element, 0);
        for (&size, &from) in to.iter().zip(order).rev() {
            start += left % size * strides[from];
            left /= size;
        }
        moved.extend_from_slice(bytes.get(start as usize..)?.get(..width)?);
    }
    Tensor::dense(tensor.elem(), &to, moved).ok()
}

fn is_near(a: &Tensor, b: &Tensor) -> bool {
    let (Some(x), Some(y)) = (a.to_f64s(), b.to_f64s()) else { return a == b };
    let largest = x.iter().filter(|x| x.is_finite()).fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let near = |(x, y): (&f64, &f64)| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= TOLERANCE * largest;
    a.elem() == b.elem() && a.dims() == b.dims() && x.iter().zip(&y).all(near)
}
