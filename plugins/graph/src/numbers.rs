//! The limits of rewrites on numbers: the rules N1 to N3 and N7 of `docs/numbers.md`, once for all passes.

use relais_plugin_api::{
    ir::{OpId, is_same_domain},
    prelude::*,
};

/// The range and precision of a floating-point type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    elem: ElemType,
    /// M, the largest finite value.
    pub greatest: f64,
    /// m, the least normal value.
    pub least: f64,
}

/// Partial sums of this many terms as large as a weight may be still fit into the type.
const HEADROOM: f64 = 256.0;

/// Within this factor of 1, or of its inverse, the first of two constants hardly changes where a product leaves the range.
const NEAR_ONE: f64 = 1024.0;

/// Why weights are not scaled.
pub const NEAR_LIMITS: &str = "the scaled weights come too near the limits of the element type";

impl Limits {
    /// The limits of a type; an error if it is not a floating-point type that constants are computed in.
    pub fn of(elem: ElemType) -> Result<Self, &'static str> {
        let (greatest, least) = match elem {
            ElemType::FLOAT => (f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE)),
            ElemType::DOUBLE => (f64::MAX, f64::MIN_POSITIVE),
            ElemType::FLOAT16 => (65504.0, 6.103_515_625e-5),
            // As large an exponent as `float32` has, and 8 digits.
            ElemType::BFLOAT16 => (f64::from(f32::from_bits(0x7f7f_0000)), f64::from(f32::MIN_POSITIVE)),
            _ => return Err("the element type is not supported"),
        };
        Ok(Self { elem, greatest, least })
    }

    /// N1: the factor that may replace `first` and then `second`.
    pub fn product(self, first: f64, second: f64) -> Result<f64, &'static str> {
        let (a, b) = (first.abs(), second.abs());
        if !(a.is_finite() && b.is_finite()) || a == 0.0 || b == 0.0 {
            return Err("a factor is zero or not finite");
        }
        let is_one_sided = (a >= 1.0 && b >= 1.0) || (a <= 1.0 && b <= 1.0);
        if !is_one_sided {
            if self.elem == ElemType::FLOAT16 {
                return Err("of two factors one is above 1 and one below, which half precision does not allow");
            }
            if !(1.0 / NEAR_ONE..=NEAR_ONE).contains(&a) {
                return Err("of two factors one is above 1 and one below, and the first is far from 1");
            }
        }
        let product = first * second;
        match self.is_normal(product) {
            true => Ok(product),
            false => Err("the product of the factors is out of the element type's range"),
        }
    }

    /// N2: the summand that may replace two where sums are reassociated.
    pub fn sum(self, first: f64, second: f64) -> Result<f64, &'static str> {
        let sum = first + second;
        match first.is_finite() && second.is_finite() && self.rounded(sum).is_finite() {
            true => Ok(sum),
            false => Err("the sum of the summands is out of the element type's range"),
        }
    }

    /// N3: whether the weights of a channel may be what they are after scaling, where `largest` is the largest by
    /// magnitude; 0 where either all weights or the scale are.
    pub fn weights(self, largest: f64) -> Result<(), &'static str> {
        match largest == 0.0 || (self.least..=self.greatest / HEADROOM).contains(&largest) {
            true => Ok(()),
            false => Err(NEAR_LIMITS),
        }
    }

    /// N3: the bias `b * scale + shift` of a channel.
    pub fn bias(self, b: f64, scale: f64, shift: f64) -> Result<f64, &'static str> {
        let bias = b * scale + shift;
        let fits = |value: f64| value.abs() <= self.greatest / HEADROOM;
        match scale.is_finite() && fits(b * scale) && fits(shift) && fits(bias) {
            true => Ok(bias),
            false => Err("the scaled and shifted bias comes too near the limits of the element type"),
        }
    }

    fn is_normal(self, value: f64) -> bool {
        (self.least..=self.greatest).contains(&self.rounded(value).abs())
    }

    fn rounded(self, value: f64) -> f64 {
        Tensor::full(self.elem, &[], value).and_then(|one| one.to_f64()).unwrap_or(f64::NAN)
    }
}

/// N3: the largest magnitude of a weight and its scale; more than 0 where neither of them is 0, infinite where either is
/// NaN.
pub fn magnitude(weight: f64, scale: f64) -> f64 {
    match (weight * scale).abs() {
        scaled if scaled.is_nan() => f64::INFINITY,
        0.0 if weight != 0.0 && scale != 0.0 => f64::from_bits(1),
        scaled => scaled,
    }
}

/// N2: whether a value certainly is not -0.0, so that adding 0.0 leaves it as it is.
pub fn is_never_negative_zero(value: NodeId, cx: &RewriteCx<'_>) -> bool {
    let Some(call) = cx.call_of(value) else { return false };
    if !is_of_onnx(call.owner(), call) {
        return false;
    }
    match call.op_name() {
        "Abs" | "Exp" => true,
        "Cast" => call
            .arg(0)
            .and_then(|from| cx.type_of(from).elem())
            .is_some_and(|elem| elem == ElemType::BOOL || elem.is_integer()),
        // Only two negative zeros add up to one.
        "Add" => call.args().iter().any(|&arg| {
            let summand = cx.tensor(arg).and_then(Tensor::to_f64);
            summand.is_some_and(|summand| summand.to_bits() != (-0.0f64).to_bits())
        }),
        _ => false,
    }
}

/// N7: whether a call is one of those by which runtimes find integer kernels.
pub fn is_quantization(function: &Function, op: OpId) -> bool {
    let (domain, name) = (function.str(function.op(op).domain), function.str(function.op(op).name));
    (is_same_domain(domain, "") || domain == "com.microsoft")
        && matches!(name, "QuantizeLinear" | "DequantizeLinear" | "DynamicQuantizeLinear")
}

/// Whether a call is of an operator of the default domain.
pub fn is_of_onnx(function: &Function, call: CallView<'_>) -> bool {
    call.op().is_some_and(|op| is_same_domain(function.str(function.op(op).domain), ""))
}
