//! Functions for the gradients of several families.

pub mod picked;
pub mod ratio;
pub mod window;

use crate::calls::{dims, opt_int, opt_ints, unknown};
use relais_plugin_api::{
    ir::{Dim, Dims, ElemType},
    op::{OpCall, OpError},
};
use std::fmt::Display;

/// The text of a gradient.
pub type Made = Result<String, OpError>;

/// An argument without a gradient.
pub const NONE: &str = "_";

/// A gradient being written.
pub struct Text<'c, 'a> {
    pub call: &'c OpCall<'a>,
    pub opset: i64,
    lines: String,
    n_lines: usize,
}

impl<'c, 'a> Text<'c, 'a> {
    pub fn new(call: &'c OpCall<'a>) -> Result<Self, OpError> {
        if call.version() < 7 {
            return Err(OpError::unsupported("before version 7, operators do not broadcast"));
        }
        let opset = call.opset_version("").unwrap_or(call.version());
        Ok(Self { call, opset, lines: String::new(), n_lines: 0 })
    }

    /// Adds a binding; returns its name.
    pub fn line(&mut self, expr: impl Display) -> String {
        let name = format!("%t{}", self.n_lines);
        self.n_lines += 1;
        self.lines += &format!("  {name} = {expr};\n");
        name
    }

    /// The gradient, whose results are the gradients of the arguments.
    pub fn gives<S: AsRef<str>>(self, gradients: impl IntoIterator<Item = S>) -> Made {
        let list = |letter: char, n: usize| (0..n).map(move |at| format!("%{letter}{at}"));
        let (n_args, n_results) = (self.call.n_args(), self.call.n_outputs());
        let params: Vec<String> = list('a', n_args).chain(list('y', n_results)).chain(list('d', n_results)).collect();
        let mut results: Vec<String> = gradients.into_iter().map(|gradient| gradient.as_ref().to_owned()).collect();
        results.truncate(n_args);
        let is_there = |(at, result): (usize, &String)| result != NONE && self.call.has_arg(at);
        let n = results.iter().enumerate().rposition(is_there).map_or(0, |last| last + 1);
        results.truncate(n);
        (0..n).filter(|&at| !self.call.has_arg(at)).for_each(|at| NONE.clone_into(&mut results[at]));
        let results = match results.as_slice() {
            [one] => one.clone(),
            all => format!("({})", all.join(", ")),
        };
        let (params, opset, lines) = (params.join(", "), self.opset, self.lines);
        Ok(format!("def @gradient({params}) #[opset = {{\"\": {opset}}}] {{\n{lines}  {results}\n}}"))
    }

    /// A scalar constant.
    pub fn scalar(&self, elem: ElemType, value: f64) -> String {
        format!("const({elem}, {value:?})").to_lowercase()
    }

    /// `Shape` of a value.
    pub fn shape(&mut self, value: &str) -> String {
        self.line(format_args!("Shape({value})"))
    }

    /// A value with the shape of another one that has as many elements.
    pub fn reshaped_like(&mut self, value: &str, like: &str) -> String {
        let shape = self.shape(like);
        // Otherwise a size of 0 would be that of the value.
        let zero = if self.opset >= 14 { ", allowzero = 1" } else { "" };
        self.line(format_args!("Reshape({value}, {shape}{zero})"))
    }

    /// A value, repeated to the shape of another one.
    pub fn spread_like(&mut self, value: &str, like: &str) -> String {
        let shape = self.shape(like);
        self.line(format_args!("Expand({value}, {shape})"))
    }

    /// An operator that takes its axes as an argument, or as an attribute before some version.
    pub fn along(&mut self, op: &str, since: i64, value: &str, axes: &[i64], more: &str) -> String {
        let name = if self.opset >= since { "" } else { "axes = " };
        self.line(format_args!("{op}({value}, {name}{axes:?}{more})"))
    }

    /// The sum over axes, which are gone.
    pub fn sum_away(&mut self, value: &str, axes: &[i64]) -> String {
        if axes.is_empty() { value.to_owned() } else { self.along("ReduceSum", 13, value, axes, ", keepdims = 0") }
    }

    /// The sum over axes, which have the size 1.
    pub fn sum_to_one(&mut self, value: &str, axes: &[i64]) -> String {
        if axes.is_empty() { value.to_owned() } else { self.along("ReduceSum", 13, value, axes, ", keepdims = 1") }
    }

    pub fn unsqueezed(&mut self, value: &str, axes: &[i64]) -> String {
        if axes.is_empty() { value.to_owned() } else { self.along("Unsqueeze", 13, value, axes, "") }
    }

    pub fn squeezed(&mut self, value: &str, axes: &[i64]) -> String {
        if axes.is_empty() { value.to_owned() } else { self.along("Squeeze", 13, value, axes, "") }
    }

    /// Sums a value with the shape of the first result over the axes along which an argument was repeated.
    pub fn summed(&mut self, index: usize, value: &str) -> Made {
        let result = output_dims(self.call, 0)?;
        self.summed_from(index, value, &result)
    }

    /// As [`summed`](Self::summed), of a value of any shape.
    pub fn summed_from(&mut self, index: usize, value: &str, from: &[Dim]) -> Made {
        self.summed_to(&dims(self.call, index)?, &format!("%a{index}"), value, from)
    }

    /// Sums a value to the shape of another one, which was repeated to that of the value.
    pub fn summed_to(&mut self, to: &[Dim], like: &str, value: &str, from: &[Dim]) -> Made {
        let Some(n_more) = from.len().checked_sub(to.len()) else {
            return Err(OpError::unsupported("its result has fewer axes than an argument"));
        };
        let first: Vec<i64> = (0..n_more as i64).collect();
        let value = self.sum_away(value, &first);
        let (mut ones, mut has_open) = (Vec::new(), false);
        for (at, (&to, &from)) in to.iter().zip(&from[n_more..]).enumerate() {
            match to.known() {
                Some(1) if from.known() != Some(1) => ones.push(at as i64),
                None if !to.is_same(from) && from.known() != Some(1) => has_open = true,
                _ => {}
            }
        }
        if !has_open {
            return Ok(self.sum_to_one(&value, &ones));
        }
        if self.opset < 13 {
            return Err(OpError::unsupported("an argument may be repeated along an axis of unknown size"));
        }
        let shape = self.shape(like);
        let is_one = self.line(format_args!("Equal({shape}, [1])"));
        let axes = self.line(format_args!("NonZero({is_one})"));
        let axes = self.line(format_args!("Squeeze({axes}, [0])"));
        Ok(self.line(format_args!("ReduceSum({value}, {axes}, keepdims = 1, noop_with_empty_axes = 1)")))
    }
}

/// A gradient that is the product of that of the result and a slope.
pub fn by_slope(call: &OpCall<'_>, slope: &[&str]) -> Made {
    let mut t = Text::new(call)?;
    let mut last = String::new();
    for line in slope {
        last = t.line(line.replace('$', &last));
    }
    let x = t.line(format_args!("Mul(%d0, {last})"));
    t.gives([x])
}

/// The dimensions of a result, whose rank must be known.
pub fn output_dims(call: &OpCall<'_>, index: usize) -> Result<Dims, OpError> {
    let shape = call.output(index).shape();
    let shape = shape.ok_or_else(|| unknown(format_args!("the rank of output {index}")))?;
    Ok(shape.iter().map(|&dim| dim.into()).collect())
}

/// The sizes of all axes, if they are known.
pub fn sizes(dims: &[Dim]) -> Option<Vec<i64>> {
    dims.iter().map(|dim| i64::try_from(dim.known()?).ok()).collect()
}

/// Attributes of the call that are lists of integers, as the text form writes them.
pub fn ints_text(call: &OpCall<'_>, names: &[&str]) -> Made {
    let mut text = String::new();
    for name in names {
        if let Some(values) = opt_ints(call, name)?.filter(|values| !values.is_empty()) {
            text += &format!(", {name} = {values:?}");
        }
    }
    Ok(text)
}

/// Attributes of the call that are integers, as the text form writes them.
pub fn int_text(call: &OpCall<'_>, name: &str) -> Made {
    Ok(opt_int(call, name)?.map_or_else(String::new, |value| format!(", {name} = {value}")))
}
