//! Scale and shift for each channel, `y = x * scale + shift` along axis 1: what a batch normalisation in inference, and
//! arithmetic with a constant for each channel, have in common.

use crate::numbers::{Limits, NEAR_LIMITS, magnitude};
use relais_plugin_api::{
    ir::{DimRec, attr_flag},
    prelude::*,
};

/// One number for each channel, or one for all.
#[derive(Clone, PartialEq, Debug)]
pub enum PerChannel {
    /// The same for all.
    Uniform(f64),
    /// One each.
    Each(Vec<f64>),
}

/// The known parts of a value's shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The number of dimensions.
    pub rank: usize,
    /// The size of dimension 1.
    pub n_channels: Option<u64>,
}

impl Layout {
    /// The layout of a value of a known shape.
    pub fn of(shape: &[DimRec]) -> Self {
        Self { rank: shape.len(), n_channels: shape.get(1).and_then(|&dim| Dim::from(dim).known()) }
    }
}

/// `y = x * scale + shift`.
#[derive(Clone, PartialEq, Debug)]
pub struct Affine {
    /// The operand.
    pub input: NodeId,
    /// Factor.
    pub scale: PerChannel,
    /// Summand.
    pub shift: PerChannel,
}

impl PerChannel {
    /// A constant of one element, or of one for each channel, when it is broadcast against a value of that layout and
    /// leaves the value's shape as it is.
    pub fn of_constant(tensor: &Tensor, layout: Layout) -> Result<Self, &'static str> {
        let dims = tensor.dims();
        if dims.len() > layout.rank {
            return Err("the constant raises the rank of the value");
        }
        // Counted from the end, as broadcasting does; axis 1 of the value is this one.
        let channel = layout.rank.checked_sub(2);
        for (from_end, &dim) in dims.iter().rev().enumerate().filter(|&(_, &dim)| dim != 1) {
            if Some(from_end) != channel {
                return Err("the constant is not one value for each channel");
            }
            if layout.n_channels != Some(dim) {
                return Err("the number of channels is not known, or the constant has another");
            }
        }
        Self::of_vector(tensor).ok_or("the constant is not of floating-point numbers")
    }

    /// The elements of a vector; one for all where they are equal.
    pub fn of_vector(tensor: &Tensor) -> Option<Self> {
        match tensor.to_f64() {
            Some(value) => Some(Self::Uniform(value)),
            None if tensor.is_empty() => None,
            None => Some(Self::of_values(tensor.to_f64s()?)),
        }
    }

    /// One number for each channel; one for all where they are equal.
    pub fn of_values(values: Vec<f64>) -> Self {
        match values.first() {
            Some(&first) if values.iter().all(|value| value.to_bits() == first.to_bits()) => Self::Uniform(first),
            _ => Self::Each(values),
        }
    }

    /// The number for a channel.
    pub fn at(&self, channel: usize) -> f64 {
        match self {
            Self::Uniform(value) => *value,
            Self::Each(values) => values.get(channel).copied().unwrap_or(f64::NAN),
        }
    }

    /// Whether it has a number for each of `n` channels.
    pub fn fits(&self, n: u64) -> bool {
        match self {
            Self::Uniform(_) => true,
            Self::Each(values) => values.len() as u64 == n,
        }
    }

    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        match self {
            Self::Uniform(value) => value.is_finite(),
            Self::Each(values) => values.iter().all(|value| value.is_finite()),
        }
    }

    /// Each number put through `f`.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Uniform(value) => Self::Uniform(f(*value)),
            Self::Each(values) => Self::of_values(values.iter().map(|&value| f(value)).collect()),
        }
    }

    /// How many numbers there are; `None` for one that is the same for all.
    pub fn n(&self) -> Option<usize> {
        match self {
            Self::Uniform(_) => None,
            Self::Each(values) => Some(values.len()),
        }
    }

    /// Whether all numbers are `value`.
    pub fn is(&self, value: f64) -> bool {
        *self == Self::Uniform(value)
    }

    /// Combines two, channel by channel; `None` when they have different numbers of channels.
    pub fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Option<Self> {
        Some(match (self, other) {
            (Self::Uniform(a), Self::Uniform(b)) => Self::Uniform(f(*a, *b)),
            (Self::Each(a), Self::Uniform(b)) => Self::of_values(a.iter().map(|&a| f(a, *b)).collect()),
            (Self::Uniform(a), Self::Each(b)) => Self::of_values(b.iter().map(|&b| f(*a, b)).collect()),
            (Self::Each(a), Self::Each(b)) if a.len() == b.len() => {
                Self::of_values(a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect())
            }
            _ => return None,
        })
    }

    /// A tensor of as many elements; a splat when all are equal.
    pub fn to_tensor(&self, elem: ElemType, dims: &[u64]) -> Option<Tensor> {
        match self {
            Self::Uniform(value) => Tensor::full(elem, dims, *value),
            Self::Each(values) => Tensor::from_f64s(elem, dims, values),
        }
    }
}

/// The parameters of a batch normalisation in inference.
pub struct BatchNorm {
    /// Scale, bias, mean and variance, in this order.
    pub params: [PerChannel; 4],
    /// Added to the variance.
    pub epsilon: f64,
    /// Number of channels.
    pub n_channels: u64,
    /// Element type of scale and bias.
    pub elem: ElemType,
    /// Element type of mean and variance.
    pub mean_elem: ElemType,
}

impl BatchNorm {
    /// Reads a `BatchNormalization` call; `Err` says why it is not a fixed scale and shift.
    pub fn of(call: CallView<'_>, cx: &RewriteCx<'_>) -> Result<Self, &'static str> {
        let version = call.owner().op_version(call.op().ok_or("not an operator")?);
        let attrs = cx.attrs(call);
        let is = |name, value| attrs.int(name) == Some(value);
        let is_inference = match version {
            ..=6 => is("is_test", 1) && is("spatial", 1),
            7..=8 => is("spatial", 1),
            9..=13 => true,
            _ => is("training_mode", 0),
        };
        if !is_inference || attrs.has_refs() {
            return Err("the batch normalisation is not for inference alone");
        }
        if call.n_results().is_some() {
            return Err("the batch normalisation has more than one result");
        }
        let [input, params @ ..] = call.args() else { return Err("inputs are missing") };
        let params: [NodeId; 4] = params.try_into().map_err(|_| "the number of inputs is wrong")?;
        let [Some(scale), Some(bias), Some(mean), Some(variance)] = params.map(|param| cx.tensor(param)) else {
            return Err("the parameters are not constant");
        };
        let (elem, mean_elem, n_channels) = (scale.elem(), mean.elem(), scale.len());
        let tensors = [scale, bias, mean, variance];
        let [Some(scale), Some(bias), Some(mean), Some(variance)] = tensors.map(PerChannel::of_vector) else {
            return Err("the parameters are not floating-point numbers");
        };
        if tensors.iter().any(|param| *param.dims() != [n_channels]) {
            return Err("the parameters have different numbers of channels");
        }
        let channels = cx.type_of(*input).shape().and_then(|dims| Dim::from(*dims.get(1)?).known());
        let other_elem = cx.type_of(*input).elem().is_some_and(|other| other != ElemType::UNKNOWN && other != elem);
        if channels.is_some_and(|n| n != n_channels) || other_elem {
            return Err("the parameters do not go with the input");
        }
        let epsilon = f64::from(attrs.float("epsilon").ok_or("the batch normalisation has no epsilon")?);
        Ok(Self { params: [scale, bias, mean, variance], epsilon, n_channels, elem, mean_elem })
    }

    /// As scale and shift.
    pub fn affine(&self, input: NodeId) -> Result<Affine, &'static str> {
        let [scale, bias, mean, variance] = &self.params;
        let factor = scale.zip(variance, |s, v| s / (v + self.epsilon).sqrt());
        let factor = factor.filter(PerChannel::is_finite).ok_or("the variance is not positive")?;
        let shift = mean.zip(&factor, |m, s| m * s).and_then(|moved| bias.zip(&moved, |b, m| b - m));
        Ok(Affine { input, scale: factor, shift: shift.ok_or("the parameters have different numbers of channels")? })
    }
}

/// The effect of a call of `Mul`, `Div`, `Add` or `Sub` with one constant on its other operand `x`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// `x * c`.
    Times,
    /// `x / c`.
    Over,
    /// `x + c`.
    Plus,
    /// `x - c`.
    Minus,
    /// `c - x`.
    From,
}

impl Action {
    /// Whether it is a product with a factor.
    pub fn is_product(self) -> bool {
        matches!(self, Self::Times | Self::Over)
    }

    /// Whether it is a sum with a summand.
    pub fn is_sum(self) -> bool {
        matches!(self, Self::Plus | Self::Minus)
    }

    /// The factor or summand that a constant is.
    pub fn number(self, constant: f64) -> f64 {
        match self {
            Self::Over => 1.0 / constant,
            Self::Minus => -constant,
            _ => constant,
        }
    }
}

/// Arithmetic with one constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arithmetic {
    /// The other operand.
    pub input: NodeId,
    /// The constant.
    pub constant: NodeId,
    /// The effect on the operand.
    pub action: Action,
}

impl Arithmetic {
    /// Reads a call; `None` when it is something else. The constant is not looked into.
    pub fn of(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<Self> {
        let [a, b] = *call.args() else { return None };
        // Broadcasting was by attributes before version 7.
        if call.n_results().is_some() || call.attrs().recs().iter().any(|rec| rec.flags & attr_flag::META == 0) {
            return None;
        }
        let (input, constant, is_left) = match (cx.tensor(a), cx.tensor(b)) {
            (None, Some(_)) => (a, b, false),
            (Some(_), None) => (b, a, true),
            _ => return None,
        };
        let action = match (call.op_name(), is_left) {
            ("Mul", _) => Action::Times,
            ("Div", false) => Action::Over,
            ("Add", _) => Action::Plus,
            ("Sub", false) => Action::Minus,
            ("Sub", true) => Action::From,
            _ => return None,
        };
        Some(Self { input, constant, action })
    }

    /// As scale and shift of the other operand, which has that layout.
    pub fn affine(self, layout: Layout, cx: &RewriteCx<'_>) -> Result<Affine, &'static str> {
        let tensor = cx.tensor(self.constant).ok_or("the operand is not constant")?;
        let number = PerChannel::of_constant(tensor, layout)?.map(|c| self.action.number(c));
        let (scale, shift) = match self.action {
            Action::Times | Action::Over => (number, PerChannel::Uniform(0.0)),
            Action::Plus | Action::Minus => (PerChannel::Uniform(1.0), number),
            Action::From => (PerChannel::Uniform(-1.0), number),
        };
        match scale.is_finite() && shift.is_finite() {
            true => Ok(Affine { input: self.input, scale, shift }),
            false => Err("the constant is not finite"),
        }
    }
}

/// The channels of the weights in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channels {
    /// The same one.
    One(usize),
    /// Consecutive ones from this one on, each of as many weights as [`Rows`] says.
    From(usize),
}

/// Weights as rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rows {
    /// Weights of a row.
    pub len: u64,
    /// Weights in a row that belong to one of several channels.
    pub each: u64,
}

/// Below the least positive weight of any type with fewer bits than `float64`.
const LEAST_WEIGHT: f64 = 1e-50;

/// N3: multiplies each weight by a factor. For the index of a row, `channels` returns the channels of the factors and those
/// of the results, of which there are `n_channels`. A splat stays one if the factor is the same for all.
pub fn scaled(
    weights: &Tensor,
    rows: Rows,
    factor: &PerChannel,
    n_channels: u64,
    channels: impl Fn(usize) -> (Channels, Channels),
) -> Result<Tensor, &'static str> {
    let limits = Limits::of(weights.elem())?;
    if let (Some(weight), &PerChannel::Uniform(factor)) = (weights.to_f64(), factor) {
        limits.weights(magnitude(weight, factor))?;
        return weights.map_f64s(|x| x * factor).ok_or("the element type is not supported");
    }
    let [len, each, n_channels] =
        [rows.len, rows.each, n_channels].map(|n| usize::try_from(n).map_err(|_| "the weights are too large"));
    let (len, each, n_channels) = (len?, each?.max(1), n_channels?);
    let repeated: Vec<f64> = match factor {
        PerChannel::Uniform(factor) => vec![*factor],
        PerChannel::Each(factors) => factors.iter().flat_map(|&factor| std::iter::repeat_n(factor, each)).collect(),
    };
    // Otherwise a product is zero where neither weight nor factor is.
    let least_weight = match weights.elem() {
        ElemType::DOUBLE => least_of(&weights.to_f64s().ok_or("the element type is not supported")?),
        _ => LEAST_WEIGHT,
    };
    if least_of(&repeated) * least_weight == 0.0 {
        return Err(NEAR_LIMITS);
    }
    // Of the channels that rows have for themselves, and of each place of a row with several.
    let (mut of_rows, mut of_places) = (vec![0.0_f64; n_channels], Vec::new());
    let mut has_channels = true;
    let new = weights.map_f64_rows(len, |row, start, values| {
        let (of_factor, of_result) = channels(row);
        let n = values.len();
        let places = |first: usize| first * each + start..first * each + start + n;
        match (factor, of_factor) {
            (&PerChannel::Uniform(factor), _) => multiply(values, factor),
            (PerChannel::Each(_), Channels::One(channel)) => multiply(values, factor.at(channel)),
            (PerChannel::Each(_), Channels::From(first)) => match repeated.get(places(first)) {
                Some(factors) => values.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor),
                None => has_channels = false,
            },
        }
        match of_result {
            Channels::One(channel) => match of_rows.get_mut(channel) {
                Some(largest) => *largest = larger(*largest, largest_of(values)),
                None => has_channels = false,
            },
            Channels::From(first) => {
                of_places.resize(n_channels * each, 0.0_f64);
                match of_places.get_mut(places(first)) {
                    Some(places) => {
                        places
                            .iter_mut()
                            .zip(&*values)
                            .for_each(|(place, value)| *place = larger(*place, size(*value)));
                    }
                    None => has_channels = false,
                }
            }
        }
    });
    if !has_channels {
        return Err("the numbers of channels differ");
    }
    for (largest, places) in of_rows.iter_mut().zip(of_places.chunks(each)) {
        *largest = larger(*largest, largest_of(places));
    }
    of_rows.iter().try_for_each(|&largest| limits.weights(largest))?;
    new.ok_or("the element type is not supported")
}

fn multiply(values: &mut [f64], factor: f64) {
    values.iter_mut().for_each(|value| *value *= factor);
}

/// The least magnitude of those that are not zero.
fn least_of(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min)
}

/// The magnitude of a number; infinite for NaN.
fn size(value: f64) -> f64 {
    let size = value.abs();
    if size.is_nan() { f64::INFINITY } else { size }
}

/// The larger of two numbers, of which none is NaN.
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The largest magnitude.
fn largest_of(values: &[f64]) -> f64 {
    /// Independent of each other, so that the processor can compute them at once.
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let whole = values.chunks_exact(LANES);
    let rest = whole.remainder().iter().fold(0.0, |largest, &value| larger(largest, size(value)));
    for values in whole {
        lanes.iter_mut().zip(values).for_each(|(lane, value)| *lane = larger(*lane, size(*value)));
    }
    lanes.into_iter().fold(rest, larger)
}

/// Whether weights would take more room scaled than they do: where others use them too, or they are a splat and the factors
/// differ. That does not matter for a few.
pub fn takes_more_room(weights: &Tensor, factor: &PerChannel, is_shared: bool) -> bool {
    const FEW: u64 = 4096;
    let is_splat = weights.as_splat().is_some();
    let stays_splat = is_splat && factor.n().is_none();
    weights.byte_len() > FEW && !stays_splat && (is_shared || is_splat)
}

/// N3: the bias `b * scale + shift`, channel by channel.
pub fn biased(limits: Limits, b: &PerChannel, by: &Affine) -> Result<PerChannel, &'static str> {
    let n = [b, &by.scale, &by.shift].into_iter().filter_map(PerChannel::n).max();
    if [b, &by.scale, &by.shift].into_iter().any(|values| values.n().is_some() && values.n() != n) {
        return Err("the numbers of channels differ");
    }
    let values: Result<Vec<f64>, _> = (0..n.unwrap_or(1))
        .map(|channel| limits.bias(b.at(channel), by.scale.at(channel), by.shift.at(channel)))
        .collect();
    Ok(PerChannel::of_values(values?))
}
