//! Two multiplications, or two additions, by constants as one.

use crate::{
    affine::{Action, Arithmetic},
    numbers::Limits,
};
use relais_plugin_api::prelude::*;

/// Whether sums of floating-point constants may be added up first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sums {
    /// Never: `x + c1 + c2` stays as it was written.
    Keep,
    /// Also where that changes results.
    Reassociate,
}

/// `x * c1 * c2` as `x * c` (N1), and `x + c1 + c2` as `x + c` (N2); `inner` is computed first.
pub fn combine(
    inner: Arithmetic,
    outer: Arithmetic,
    sums: Sums,
    cx: &mut RewriteCx<'_>,
) -> Result<NodeId, &'static str> {
    let (Some(first), Some(second)) = (cx.tensor(inner.constant), cx.tensor(outer.constant)) else {
        return Err("an operand is not constant");
    };
    let elem = first.elem();
    if elem != second.elem() {
        return Err("the operands have different element types");
    }
    let is_shared = |arithmetic: Arithmetic| cx.n_uses(arithmetic.constant) > 1;
    if [(first, inner), (second, outer)].iter().any(|&(tensor, of)| is_large(tensor) && is_shared(of)) {
        return Err("the constants would take more room");
    }
    let numbers = |a: f64, b: f64| (inner.action.number(a), outer.action.number(b));
    let (name, combined) = match (inner.action.is_product(), elem.is_integer()) {
        (true, true) if inner.action == Action::Over || outer.action == Action::Over => {
            return Err("quotients of integers are not folded");
        }
        (true, true) => ("Mul", integers(first, second, u64::wrapping_mul)?),
        (true, false) => {
            let limits = Limits::of(elem)?;
            let product = |a, b| {
                let (a, b) = numbers(a, b);
                limits.product(a, b)
            };
            ("Mul", floats(first, second, product)?)
        }
        (false, true) => {
            let summand = |of: Arithmetic, value: u64| match of.action {
                Action::Minus => value.wrapping_neg(),
                _ => value,
            };
            ("Add", integers(first, second, |a, b| summand(inner, a).wrapping_add(summand(outer, b)))?)
        }
        (false, false) if sums == Sums::Keep => {
            return Err("sums of floating-point numbers are computed in the order in which they stand");
        }
        (false, false) => {
            let limits = Limits::of(elem)?;
            let sum = |a, b| {
                let (a, b) = numbers(a, b);
                limits.sum(a, b)
            };
            ("Add", floats(first, second, sum)?)
        }
    };
    let constant = cx.constant(combined);
    Ok(cx.call(name, &[inner.input, constant]))
}

/// Whether copies of a constant matter.
fn is_large(tensor: &Tensor) -> bool {
    const SMALL: u64 = 4096;
    tensor.as_splat().is_none() && tensor.byte_len() > SMALL
}

/// The shape that two constants broadcast to, where one of them has it already.
fn broadcast(first: &Tensor, second: &Tensor) -> Result<Vec<u64>, &'static str> {
    let (a, b) = (first.dims(), second.dims());
    let rank = a.len().max(b.len());
    let at_rank = |dims: &[u64]| [vec![1; rank - dims.len()], dims.to_vec()].concat();
    match (at_rank(a), at_rank(b)) {
        (a, b) if a == b => Ok(a),
        (_, b) if first.len() == 1 => Ok(b),
        (a, _) if second.len() == 1 => Ok(a),
        _ => Err("the constants have different shapes"),
    }
}

fn floats(
    first: &Tensor,
    second: &Tensor,
    f: impl Fn(f64, f64) -> Result<f64, &'static str>,
) -> Result<Tensor, &'static str> {
    let dims = broadcast(first, second)?;
    let combined = match (first.to_f64(), second.to_f64()) {
        (Some(a), Some(b)) if dims.iter().all(|&dim| dim == 1) => Tensor::from_f64s(first.elem(), &dims, &[f(a, b)?]),
        (Some(a), Some(b)) => Tensor::full(first.elem(), &dims, f(a, b)?),
        _ => {
            let (a, b) = (first.to_f64s().unwrap_or_default(), second.to_f64s().unwrap_or_default());
            let values: Result<Vec<f64>, _> = pairs(&a, &b).map(|(&a, &b)| f(a, b)).collect();
            Tensor::from_f64s(first.elem(), &dims, &values?)
        }
    };
    combined.ok_or("the element type is not supported")
}

/// Integers wrap, so that their sums and products are the same in any order. Signs do not matter to the low digits.
fn integers(first: &Tensor, second: &Tensor, f: impl Fn(u64, u64) -> u64) -> Result<Tensor, &'static str> {
    let elem = first.elem();
    let width = elem.bits() as usize / 8;
    if width == 0 {
        return Err("the element type is not supported");
    }
    let dims = broadcast(first, second)?;
    let read = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..width].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let write = |(a, b): (&[u8], &[u8])| f(read(a), read(b)).to_le_bytes()[..width].to_vec();
    let one = |tensor: &Tensor| match tensor.as_splat() {
        Some(element) => Some(element.to_vec()),
        None => (tensor.len() == 1).then(|| tensor.to_bytes().to_vec()),
    };
    let combined = match (one(first), one(second)) {
        (Some(a), Some(b)) if dims.iter().all(|&dim| dim == 1) => Tensor::dense(elem, &dims, write((&a, &b))),
        (Some(a), Some(b)) => Tensor::splat(elem, &dims, &write((&a, &b))),
        _ => {
            let (a, b) = (first.to_bytes(), second.to_bytes());
            let chunks = |bytes: &'_ [u8]| bytes.chunks_exact(width).map(<[u8]>::to_vec).collect::<Vec<_>>();
            let bytes: Vec<u8> = pairs(&chunks(&a), &chunks(&b)).flat_map(|(a, b)| write((a, b))).collect();
            Tensor::dense(elem, &dims, bytes)
        }
    };
    combined.map_err(|_| "the element type is not supported")
}

/// The elements of two lists side by side; a list of one element is repeated to match the other.
fn pairs<'a, T>(a: &'a [T], b: &'a [T]) -> impl Iterator<Item = (&'a T, &'a T)> {
    let at = |list: &'a [T], at: usize| if list.len() == 1 { &list[0] } else { &list[at] };
    let n = if a.len() == 1 { b.len() } else { a.len() };
    (0..n).map(move |index| (at(a, index), at(b, index)))
}
