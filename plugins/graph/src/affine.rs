//! Scale and shift for each channel, `y = x * scale + shift` along axis 1: what a batch normalisation in inference, and
//! arithmetic with a constant for each channel, have in common.

use relais_plugin_api::prelude::*;

/// One number for each channel, or one for all.
#[derive(Clone, PartialEq, Debug)]
pub enum PerChannel {
    /// The same for all.
    Uniform(f64),
    /// One each.
    Each(Vec<f64>),
}

/// `y = x * scale + shift`.
#[derive(Clone, PartialEq, Debug)]
pub struct Affine {
    /// What it applies to.
    pub input: NodeId,
    /// Factor.
    pub scale: PerChannel,
    /// Summand.
    pub shift: PerChannel,
}

impl PerChannel {
    /// A constant of one element, or of one for each channel when it is broadcast against a value of rank `rank`.
    pub fn of_constant(tensor: &Tensor, rank: usize) -> Option<Self> {
        let dims = tensor.dims();
        if dims.len() > rank {
            return None;
        }
        // Counted from the end, as broadcasting does; axis 1 of the value is this one.
        let channel = rank.checked_sub(2)?;
        let is_per_channel = dims.iter().rev().enumerate().all(|(from_end, &dim)| from_end == channel || dim == 1);
        if is_per_channel { Self::of_vector(tensor) } else { None }
    }

    /// The elements of a vector; one for all where they are equal.
    pub fn of_vector(tensor: &Tensor) -> Option<Self> {
        match tensor.to_f64() {
            Some(value) => Some(Self::Uniform(value)),
            None if tensor.is_empty() => None,
            None => Some(Self::Each(tensor.to_f64s()?).normal()),
        }
    }

    fn normal(self) -> Self {
        match &self {
            Self::Each(values) if values.iter().all(|v| v.to_bits() == values[0].to_bits()) => Self::Uniform(values[0]),
            _ => self,
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

    /// Whether all numbers are `value`.
    pub fn is(&self, value: f64) -> bool {
        *self == Self::Uniform(value)
    }

    /// Combines two, channel by channel; `None` when they have different numbers of channels.
    pub fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Option<Self> {
        Some(match (self, other) {
            (Self::Uniform(a), Self::Uniform(b)) => Self::Uniform(f(*a, *b)),
            (Self::Each(a), Self::Uniform(b)) => Self::Each(a.iter().map(|&a| f(a, *b)).collect()).normal(),
            (Self::Uniform(a), Self::Each(b)) => Self::Each(b.iter().map(|&b| f(*a, b)).collect()).normal(),
            (Self::Each(a), Self::Each(b)) if a.len() == b.len() => {
                Self::Each(a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()).normal()
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
}

impl BatchNorm {
    /// Reads a `BatchNormalization` call; `Err` says why it is no fixed scale and shift.
    pub fn of(call: CallView<'_>, cx: &RewriteCx<'_>) -> Result<Self, &'static str> {
        let version = call.owner().op_version(call.op().ok_or("not an operator")?);
        let attrs = call.attrs();
        let is_inference = match version {
            ..=6 => attrs.int("is_test").unwrap_or(0) != 0 && attrs.int("spatial").unwrap_or(1) != 0,
            7..=8 => attrs.int("spatial").unwrap_or(1) != 0,
            _ => attrs.int("training_mode").unwrap_or(0) == 0,
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
        let (elem, n_channels) = (scale.elem(), scale.len());
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
        let epsilon = f64::from(attrs.float("epsilon").unwrap_or(1e-5));
        Ok(Self { params: [scale, bias, mean, variance], epsilon, n_channels, elem })
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

/// Reads arithmetic with one constant as scale and shift of a value of rank `rank`, its other operand; `None` when it
/// is something else.
pub fn arithmetic(call: CallView<'_>, rank: impl Fn(NodeId) -> Option<usize>, cx: &RewriteCx<'_>) -> Option<Affine> {
    let [a, b] = *call.args() else { return None };
    // Broadcasting was by attributes before version 7.
    if call.n_results().is_some() || call.attrs().recs().iter().any(|rec| rec.flags & attr_flag::META == 0) {
        return None;
    }
    let constant = |value: NodeId, constant: NodeId| PerChannel::of_constant(cx.tensor(constant)?, rank(value)?);
    let (zero, one) = (PerChannel::Uniform(0.0), PerChannel::Uniform(1.0));
    let (input, c, is_left) = match (constant(a, b), constant(b, a)) {
        (Some(c), _) => (a, c, false),
        (_, Some(c)) => (b, c, true),
        _ => return None,
    };
    let (scale, shift) = match (call.op_name(), is_left) {
        ("Mul", _) => (c, zero),
        ("Add", _) => (one, c),
        ("Sub", false) => (one, c.zip(&zero, |c, _| -c)?),
        ("Sub", true) => (PerChannel::Uniform(-1.0), c),
        ("Div", false) => (c.zip(&zero, |c, _| 1.0 / c)?, zero),
        _ => return None,
    };
    (scale.is_finite() && shift.is_finite()).then_some(Affine { input, scale, shift })
}

/// Multiplies each element of a tensor by the factor of its channel, which `channel` gives for the index of a run of
/// `run` elements. A splat stays one when the factor is the same for all.
pub fn scaled(tensor: &Tensor, run: u64, factor: &PerChannel, channel: impl Fn(u64) -> usize) -> Option<Tensor> {
    match factor {
        &PerChannel::Uniform(factor) => tensor.map_f64s(|x| x * factor),
        PerChannel::Each(_) => tensor.map_f64_runs(usize::try_from(run).ok()?, |at| {
            let factor = factor.at(channel(at as u64));
            move |x| x * factor
        }),
    }
}
