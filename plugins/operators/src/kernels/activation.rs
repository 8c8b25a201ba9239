//! Activation functions.

use super::shared::{
    Done, declined,
    elementwise::each,
    floats, numbers, same_elem,
    spread::{map, map_as},
    volume, wide,
};
use crate::calls::{float, string};
use relais_operator_math::activation::{GELU_CUBE, GELU_SCALE, HARD_SWISH};
use relais_plugin_api::{
    ir::{ElemType, Imm, NodeId},
    op::{Kernel, OpCall, OpError},
    prim::{CoreOp, PrimBuilder},
};

/// `1 / (1 + exp(-x))`
pub fn sigmoid_of(b: &mut PrimBuilder<'_>, elem: ElemType, x: NodeId) -> NodeId {
    let one = b.num(elem, 1.0);
    let minus = b.neg(x);
    let exp = b.exp(minus);
    let sum = b.add(one, exp);
    b.div(one, sum)
}

/// `log(1 + exp(x))`, which does not overflow.
pub fn softplus_of(b: &mut PrimBuilder<'_>, elem: ElemType, x: NodeId) -> NodeId {
    let (zero, one) = (b.num(elem, 0.0), b.num(elem, 1.0));
    let size = b.abs(x);
    let minus = b.neg(size);
    let exp = b.exp(minus);
    let sum = b.add(one, exp);
    let log = b.log(sum);
    let is_below = b.lt(x, zero);
    let linear = b.select(is_below, zero, x);
    b.add(linear, log)
}

/// `x / (1 + abs(x))`
pub fn softsign_of(b: &mut PrimBuilder<'_>, elem: ElemType, x: NodeId) -> NodeId {
    let (one, size) = (b.num(elem, 1.0), b.abs(x));
    let sum = b.add(one, size);
    b.div(x, sum)
}

/// `x` limited to a range; NaN stays.
fn limited(b: &mut PrimBuilder<'_>, x: NodeId, least: Option<NodeId>, most: Option<NodeId>) -> NodeId {
    let x = match least {
        Some(least) => {
            let is_below = b.lt(x, least);
            b.select(is_below, least, x)
        }
        None => x,
    };
    match most {
        Some(most) => {
            let is_above = b.gt(x, most);
            b.select(is_above, most, x)
        }
        None => x,
    }
}

/// `x` above zero, else another value.
pub fn above_zero(b: &mut PrimBuilder<'_>, elem: ElemType, x: NodeId, otherwise: NodeId) -> NodeId {
    let zero = b.num(elem, 0.0);
    let is_below = b.lt(x, zero);
    b.select(is_below, otherwise, x)
}

/// `alpha * (exp(x) - 1)`
fn exponential(b: &mut PrimBuilder<'_>, elem: ElemType, x: NodeId, alpha: f64) -> NodeId {
    let (one, alpha) = (b.num(elem, 1.0), b.num(elem, alpha));
    let exp = b.exp(x);
    let exp = b.sub(exp, one);
    b.mul(alpha, exp)
}

/// The functions of one number that have attributes or several steps.
pub fn unary(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    floats(kernel.elem(kernel.needed_input(0)?))?;
    let of = |name: &str| float(call, name);
    match call.op_name() {
        "Celu" => {
            let alpha = of("alpha")?;
            each(kernel, |b, elem, x| {
                let by = b.num(elem, alpha);
                let part = b.div(x, by);
                let low = exponential(b, elem, part, alpha);
                above_zero(b, elem, x, low)
            })
        }
        "Elu" => {
            let alpha = of("alpha")?;
            each(kernel, |b, elem, x| {
                let low = exponential(b, elem, x, alpha);
                above_zero(b, elem, x, low)
            })
        }
        "Selu" => {
            let (alpha, gamma) = (of("alpha")?, of("gamma")?);
            if !(alpha.is_finite() && gamma.is_finite()) {
                return declined("an attribute is not finite");
            }
            each(kernel, |b, elem, x| {
                let low = exponential(b, elem, x, alpha);
                let value = above_zero(b, elem, x, low);
                let gamma = b.num(elem, gamma);
                b.mul(gamma, value)
            })
        }
        "Sigmoid" => each(kernel, |b, elem, x| sigmoid_of(b, elem, x)),
        "HardSigmoid" => {
            let (alpha, beta) = (of("alpha")?, of("beta")?);
            each(kernel, |b, elem, x| hard_sigmoid_of(b, elem, x, alpha, beta))
        }
        "HardSwish" => each(kernel, |b, elem, x| {
            let gate = hard_sigmoid_of(b, elem, x, HARD_SWISH.0, HARD_SWISH.1);
            b.mul(x, gate)
        }),
        "LeakyRelu" => {
            let alpha = of("alpha")?;
            each(kernel, |b, elem, x| {
                let alpha = b.num(elem, alpha);
                let low = b.mul(alpha, x);
                above_zero(b, elem, x, low)
            })
        }
        "Softplus" => each(kernel, |b, elem, x| softplus_of(b, elem, x)),
        "Softsign" => each(kernel, |b, elem, x| softsign_of(b, elem, x)),
        "Mish" => each(kernel, |b, elem, x| {
            let soft = softplus_of(b, elem, x);
            let gate = b.op(CoreOp::Tanh, &[soft]);
            b.mul(x, gate)
        }),
        "Swish" => {
            let alpha = of("alpha")?;
            each(kernel, |b, elem, x| swish_of(b, elem, x, alpha))
        }
        "ThresholdedRelu" => {
            let alpha = of("alpha")?;
            each(kernel, |b, elem, x| {
                let (zero, alpha) = (b.num(elem, 0.0), b.num(elem, alpha));
                let is_above = b.gt(x, alpha);
                b.select(is_above, x, zero)
            })
        }
        "Gelu" => gelu(call, kernel),
        _ => declined("no kernel has that name"),
    }
}

pub fn hard_sigmoid_of(b: &mut PrimBuilder<'_>, elem: ElemType, x: NodeId, alpha: f64, beta: f64) -> NodeId {
    let (zero, one) = (b.num(elem, 0.0), b.num(elem, 1.0));
    let (alpha, beta) = (b.num(elem, alpha), b.num(elem, beta));
    let product = b.mul(alpha, x);
    let sum = b.add(product, beta);
    limited(b, sum, Some(zero), Some(one))
}

fn swish_of(b: &mut PrimBuilder<'_>, elem: ElemType, x: NodeId, alpha: f64) -> NodeId {
    let inner = match alpha == 1.0 {
        true => x,
        false => {
            let alpha = b.num(elem, alpha);
            b.mul(alpha, x)
        }
    };
    let gate = sigmoid_of(b, elem, inner);
    b.mul(x, gate)
}

fn gelu(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let is_exact = match string(call, "approximate")? {
        "none" => true,
        "tanh" => false,
        _ => return declined("`approximate` is neither `none` nor `tanh`"),
    };
    each(kernel, |b, elem, x| {
        let (half, one) = (b.num(elem, 0.5), b.num(elem, 1.0));
        let bent = if is_exact {
            let by = b.num(elem, std::f64::consts::FRAC_1_SQRT_2);
            let part = b.mul(x, by);
            b.op(CoreOp::Erf, &[part])
        } else {
            let (by, cubic) = (b.num(elem, GELU_SCALE), b.num(elem, GELU_CUBE));
            let square = b.mul(x, x);
            let square = b.mul(cubic, square);
            let sum = b.add(one, square);
            let sum = b.mul(x, sum);
            let part = b.mul(by, sum);
            b.op(CoreOp::Tanh, &[part])
        };
        let sum = b.add(one, bent);
        let half = b.mul(half, x);
        b.mul(half, sum)
    })
}

/// `Relu`, as runtimes compute it: NaN and -0.0 stay.
pub fn relu(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    numbers(kernel.elem(kernel.needed_input(0)?))?;
    each(kernel, |b, elem, x| {
        let zero = b.num(elem, 0.0);
        above_zero(b, elem, x, zero)
    })
}

/// `PRelu` from version 7 on, and before of slopes that broadcast in the same way.
pub fn prelu(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, slope, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    let elem = same_elem(kernel, &[x, slope])?;
    numbers(elem)?;
    let sizes = kernel.sizes(slope);
    if call.version() < 7 && volume(&sizes) != 1 && sizes != kernel.sizes(x) {
        return declined("before version 7, its slope is one for each channel");
    }
    let data = kernel.sizes(x);
    let is_spread = |(&slope, &size): (&u64, &u64)| slope == 1 || slope == size;
    if sizes.len() > data.len() || !sizes.iter().rev().zip(data.iter().rev()).all(is_spread) {
        return declined("its slope does not fit its argument");
    }
    map(kernel, &[x, slope], y, |b, values| {
        let low = b.mul(values[0], values[1]);
        above_zero(b, elem, values[0], low)
    })
}

/// `Shrink`.
pub fn shrink(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let elem = kernel.elem(kernel.needed_input(0)?);
    numbers(elem)?;
    let (bias, lambda) = (float(call, "bias")?, float(call, "lambd")?);
    let is_exact = |number: f64| number.fract() == 0.0 && (0.0..=127.0).contains(&number);
    if !(elem.is_float() || is_exact(bias) && is_exact(lambda)) {
        return declined("a threshold for integers is not a small positive integer");
    }
    let has_sign = elem.is_float() || elem.is_signed();
    each(kernel, |b, elem, x| {
        let (zero, bias, most) = (b.num(elem, 0.0), b.num(elem, bias), b.num(elem, lambda));
        let (more, less) = (b.add(x, bias), b.sub(x, bias));
        let is_above = b.gt(x, most);
        let other = b.select(is_above, less, zero);
        if !has_sign {
            return other;
        }
        // First, as a negative threshold lets both hold.
        let least = b.num(elem, -lambda);
        let is_below = b.lt(x, least);
        b.select(is_below, more, other)
    })
}

/// `Clip`, whose bounds are attributes before version 11.
pub fn clip(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let elem = kernel.elem(x);
    numbers(elem)?;
    if call.version() < 11 {
        floats(elem)?;
        let (least, most) = (Imm::float(elem, float(call, "min")?), Imm::float(elem, float(call, "max")?));
        return map(kernel, &[x], y, |b, x| {
            let (least, most) = (least.map(|bound| b.imm(bound)), most.map(|bound| b.imm(bound)));
            limited(b, x[0], least, most)
        });
    }
    let bounds: Vec<Option<NodeId>> = [1, 2].into_iter().map(|at| kernel.input(at)).collect();
    for &bound in bounds.iter().flatten() {
        if volume(&kernel.sizes(bound)) != 1 || kernel.elem(bound) != elem {
            return Err(OpError::invalid("a bound is not one element of its type"));
        }
    }
    let inputs: Vec<(NodeId, Vec<u64>)> = std::iter::once((x, kernel.sizes(x)))
        .chain(bounds.iter().flatten().map(|&bound| (bound, Vec::new())))
        .collect();
    let sizes = kernel.sizes(y);
    map_as(kernel, &inputs, y, &sizes, |b, values| {
        let (least, most) = match (bounds[0].is_some(), bounds[1].is_some()) {
            (true, has_most) => (Some(values[1]), has_most.then(|| values[2])),
            (false, has_most) => (None, has_most.then(|| values[1])),
        };
        limited(b, values[0], least, most)
    })
}

/// `SwiGLU`.
pub fn swiglu(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, gate, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    let elem = same_elem(kernel, &[x, gate])?;
    floats(elem)?;
    let alpha = float(call, "alpha")?;
    map(kernel, &[x, gate], y, |b, values| {
        let (x, gate) = (b.cast(values[0], wide(elem)), b.cast(values[1], wide(elem)));
        let swish = swish_of(b, wide(elem), x, alpha);
        let value = b.mul(swish, gate);
        b.cast(value, elem)
    })
}
