//! Sums of products along labelled axes. Of integers they are exact and wrap around; of floats they are added up in
//! double precision and rounded once.

use crate::shared::{
    cx::{Eval, bounded_work, not_cancelled, opt_string, readable, same_elem, table, unsupported_elem, with_elem},
    doubles::{doubles, rounded, volume},
    doubt::{ACCUMULATORS_DIFFER, Extent, Limits, ZERO_OF_EITHER_SIGN, refuse},
    shape::{Rows, checked_len, sizes, strides, uniform},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};
use std::collections::BTreeMap;

table! {
    "Einsum" @ 12 => einsum,
}

/// A label of an axis: a letter, or the place of an axis of the ellipsis, counted from its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Letter(u8),
    More(usize),
}

/// The labels of the arguments and the result, and the size of each.
struct Equation {
    terms: Vec<Vec<Label>>,
    result: Vec<Label>,
    sizes: BTreeMap<Label, u64>,
}

fn bad_equation(why: impl std::fmt::Display) -> OpError {
    OpError::invalid(format_args!("attribute `equation`: {why}"))
}

/// The labels of a term, in which the ellipsis represents `n_more` axes.
fn labels(term: &[u8], n_more: usize) -> Eval<Vec<Label>> {
    let mut labels = Vec::new();
    let mut rest = term;
    let mut has_ellipsis = false;
    while let [first, others @ ..] = rest {
        rest = match rest.strip_prefix(b"...") {
            Some(others) if !has_ellipsis => {
                has_ellipsis = true;
                labels.extend((0..n_more).rev().map(Label::More));
                others
            }
            None if first.is_ascii_alphabetic() => {
                labels.push(Label::Letter(*first));
                others
            }
            _ => return Err(bad_equation("only letters and an ellipsis are allowed in a term")),
        };
    }
    Ok(labels)
}

impl Equation {
    fn of(cx: &EvalCx<'_>) -> Eval<Self> {
        let text = opt_string(cx, "equation")?.ok_or_else(|| bad_equation("it is missing"))?;
        let text: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let arrow = text.windows(2).position(|pair| pair == b"->");
        let (left, right) = arrow.map_or((&text[..], None), |at| (&text[..at], Some(&text[at + 2..])));
        let texts: Vec<&[u8]> = left.split(|&byte| byte == b',').collect();
        if texts.len() != cx.n_inputs() {
            return Err(bad_equation(format_args!("{} terms for {} inputs", texts.len(), cx.n_inputs())));
        }
        let (mut terms, mut sizes, mut n_shared) = (Vec::new(), BTreeMap::new(), 0);
        for (index, text) in texts.iter().enumerate() {
            let dims = cx.require(index)?.dims();
            let n_letters = text.iter().filter(|&&byte| byte != b'.').count();
            let n_more = dims.len().saturating_sub(n_letters);
            let term = labels(text, n_more)?;
            if term.len() != dims.len() {
                return Err(bad_equation(format_args!("a term does not fit an argument of rank {}", dims.len())));
            }
            if term.len() > n_letters {
                n_shared = n_shared.max(n_more);
            }
            for (&label, &dim) in term.iter().zip(dims) {
                let size = sizes.entry(label).or_insert(1);
                if *size == 1 {
                    *size = dim;
                } else if dim != 1 && dim != *size {
                    return Err(bad_equation(format_args!("an axis has sizes {size} and {dim}")));
                }
            }
            terms.push(term);
        }
        let result = match right {
            Some(right) => labels(right, n_shared)?,
            // Those that occur once, in alphabetical order, after those of the ellipsis.
            None => {
                let count = |label: Label| terms.iter().flatten().filter(|&&other| other == label).count();
                let once =
                    sizes.keys().copied().filter(|&label| matches!(label, Label::Letter(_)) && count(label) == 1);
                (0..n_shared).rev().map(Label::More).chain(once).collect()
            }
        };
        let is_twice = |(at, label): (usize, &Label)| result[..at].contains(label);
        if result.iter().enumerate().any(is_twice) || result.iter().any(|label| !sizes.contains_key(label)) {
            return Err(bad_equation("a label of the result is in no term, or twice in the result"));
        }
        if (0..n_shared).any(|at| !result.contains(&Label::More(at))) {
            return Err(OpError::unsupported("axes of an ellipsis that the result does not have"));
        }
        Ok(Self { terms, result, sizes })
    }

    fn dims(&self, labels: &[Label]) -> Vec<u64> {
        labels.iter().map(|label| self.sizes[label]).collect()
    }
}

/// Numbers that are multiplied and added up.
trait Ring: Copy {
    const ONE: Self;
    /// The number that sums begin with, so that a single term is taken as it is.
    const START: Self;
    fn add_product(self, a: Self, b: Self) -> Self;
}

impl Ring for f64 {
    const ONE: Self = 1.0;
    const START: Self = -0.0;

    #[inline]
    fn add_product(self, a: Self, b: Self) -> Self {
        self + a * b
    }
}

impl Ring for u64 {
    const ONE: Self = 1;
    const START: Self = 0;

    #[inline]
    fn add_product(self, a: Self, b: Self) -> Self {
        self.wrapping_add(a.wrapping_mul(b))
    }
}

/// Elements with labelled axes.
struct Labelled<V> {
    labels: Vec<Label>,
    dims: Vec<u64>,
    values: Vec<V>,
}

impl<V: Ring> Labelled<V> {
    /// Strides along some axes: those of an axis that occurs several times add up, and one of size 1 repeats.
    fn strides_along(&self, labels: &[Label]) -> Eval<Vec<isize>> {
        let strides = strides(&sizes(&self.dims)?);
        let along = |label: &Label| {
            let of_label = self.labels.iter().zip(&self.dims).zip(&strides);
            of_label.filter(|((other, dim), _)| *other == label && **dim != 1).map(|(_, stride)| stride).sum()
        };
        Ok(labels.iter().map(along).collect())
    }

    /// The products of the elements of two, added up along the axes that are not in `labels`.
    fn contract(&self, cx: &EvalCx<'_>, other: &Self, labels: Vec<Label>, equation: &Equation) -> Eval<Self> {
        let mut all: Vec<Label> = self.labels.iter().chain(&other.labels).copied().collect();
        all.sort_unstable();
        all.dedup();
        all.retain(|label| !labels.contains(label));
        all.extend(&labels);
        let (dims, all_dims) = (equation.dims(&labels), equation.dims(&all));
        bounded_work(cx, all_dims.iter().copied())?;
        let out_strides = {
            let mut out = vec![0; all.len() - labels.len()];
            out.extend(strides(&sizes(&dims)?));
            out
        };
        let is_empty = all_dims.contains(&0);
        let mut values =
            vec![if is_empty { V::START.add_product(V::START, V::START) } else { V::START }; volume(&dims)?];
        if !is_empty {
            let (a, b) = (self.strides_along(&all)?, other.strides_along(&all)?);
            let rows = Rows::new(&sizes(&all_dims)?, [&out_strides, &a, &b]);
            let ([out_step, a_step, b_step], len) = (rows.strides, rows.len as isize);
            for [out, a, b] in rows.walk {
                for i in 0..len {
                    let sum = &mut values[(out + i * out_step) as usize];
                    let (x, y) = (self.values[(a + i * a_step) as usize], other.values[(b + i * b_step) as usize]);
                    *sum = sum.add_product(x, y);
                }
            }
        }
        Ok(Self { labels, dims, values })
    }
}

/// The result, term by term: an axis stays as long as a later term or the result has it.
fn evaluate<V: Ring>(cx: &EvalCx<'_>, equation: &Equation, args: Vec<Labelled<V>>) -> Eval<Vec<V>> {
    let elem = cx.require(0)?.elem();
    let mut all = Labelled { labels: Vec::new(), dims: Vec::new(), values: vec![V::ONE] };
    let n_args = args.len();
    for (at, arg) in args.iter().enumerate() {
        let kept = if at + 1 == n_args {
            equation.result.clone()
        } else {
            let mut kept: Vec<Label> = all.labels.iter().chain(&arg.labels).copied().collect();
            kept.sort_unstable();
            kept.dedup();
            let is_later = |label: &Label| equation.terms[at + 1..].iter().flatten().any(|other| other == label);
            kept.retain(|label| equation.result.contains(label) || is_later(label));
            kept
        };
        checked_len(cx, elem, &equation.dims(&kept))?;
        not_cancelled(cx)?;
        all = all.contract(cx, arg, kept, equation)?;
    }
    Ok(all.values)
}

fn einsum(cx: &EvalCx<'_>) -> Eval {
    let equation = Equation::of(cx)?;
    let elem = cx.require(0)?.elem();
    let dims = equation.dims(&equation.result);
    let args: Vec<&Tensor> = (0..cx.n_inputs()).map(|index| cx.require(index)).collect::<Eval<_>>()?;
    for &arg in &args {
        same_elem(args[0], arg)?;
        readable(cx, arg)?;
    }
    if checked_len(cx, elem, &dims)? == 0 {
        return uniform(elem, &dims, &[]);
    }
    if elem.is_float() {
        let labelled = args.iter().zip(&equation.terms).map(|(arg, term)| {
            Ok(Labelled { labels: term.clone(), dims: arg.dims().to_vec(), values: doubles(cx, arg)? })
        });
        let labelled = labelled.collect::<Eval<Vec<_>>>()?;
        let extents: Vec<Extent> = labelled.iter().map(|arg| Extent::of(&arg.values)).collect();
        let sums = evaluate(cx, &equation, labelled)?;
        certain(cx, &equation, elem, &extents, &sums)?;
        return rounded(elem, &dims, &sums);
    }
    let width = elem.bits() as usize / 8;
    if !elem.is_integer() || width == 0 {
        return Err(unsupported_elem(elem));
    }
    // Sums and products that wrap around have the same low bytes whatever the sign.
    let labelled = args.iter().zip(&equation.terms).map(|(arg, term)| {
        let bytes = arg.to_bytes();
        let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let values = bytes.chunks_exact(width).map(value).collect();
        Labelled { labels: term.clone(), dims: arg.dims().to_vec(), values }
    });
    let sums = evaluate(cx, &equation, labelled.collect())?;
    with_elem(elem, &dims, sums.iter().flat_map(|sum| sum.to_le_bytes().into_iter().take(width)).collect())
}

/// Refuses sums for which runtimes may give another result; elements that are only moved are certain.
fn certain(cx: &EvalCx<'_>, equation: &Equation, elem: ElemType, extents: &[Extent], sums: &[f64]) -> Eval<()> {
    let summed = equation.sizes.iter().filter(|(label, _)| !equation.result.contains(label));
    let n_terms: f64 = summed.map(|(_, &size)| size as f64).product();
    if n_terms == 0.0 || (extents.len() == 1 && n_terms == 1.0) {
        return Ok(());
    }
    let limits = Limits::of_elem(elem)?;
    // A product of some of the factors may be the first one that a runtime makes.
    let (mut largest, mut least) = (1.0f64, 1.0f64);
    for extent in extents {
        largest *= if extents.len() == 1 { extent.largest } else { extent.largest.max(1.0) };
        least *= if extents.len() == 1 { extent.least } else { extent.least.min(1.0) };
    }
    let is_zero = extents.iter().any(|extent| extent.largest == 0.0);
    let is_shaky = !limits.is_within(largest * n_terms, false) || (!is_zero && least < limits.least_normal);
    refuse(cx, is_shaky, ACCUMULATORS_DIFFER)?;
    let has_zero = extents.iter().any(|extent| extent.has_negative) && sums.contains(&0.0);
    refuse(cx, has_zero, ZERO_OF_EITHER_SIGN)
}
