//! The values of a model in another precision, computed beside its own: what its error is measured by.
//!
//! Conditions, indices and sizes are those of the model itself, so that a number that is decided otherwise in another
//! precision does not change which values are compared.

use super::Evaluators;
use crate::interpret::{Compute, Computed};
use relais_plugin_api::{facts::OpSource, infer::Operators, ir::*};

/// The most elements of a tensor that has a twin.
const MOST: u64 = 1 << 27;

/// A precision in which floats are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TwinPrecision {
    /// `float64`: the reference.
    Double,
    /// That of an element type of fewer digits, with exponents as large as are needed: what a model costs that is computed in
    /// this type throughout.
    Digits(ElemType),
}

impl TwinPrecision {
    /// A tensor of floats in this precision; `None` for others.
    fn of(self, tensor: &Tensor) -> Option<Tensor> {
        if tensor.len() > MOST || !tensor.elem().is_float() {
            return None;
        }
        let values = tensor.to_f64s()?;
        match self {
            Self::Double => Tensor::from_f64s(ElemType::DOUBLE, tensor.dims(), &values),
            Self::Digits(elem) => {
                let n_digits = digits(elem)?;
                let rounded: Vec<f64> = values.into_iter().map(|value| rounded(value, n_digits)).collect();
                Tensor::from_f64s(tensor.elem(), tensor.dims(), &rounded)
            }
        }
    }
}

/// The binary digits of a type of floats after the first.
fn digits(elem: ElemType) -> Option<u32> {
    match elem {
        ElemType::FLOAT16 => Some(10),
        ElemType::BFLOAT16 => Some(7),
        ElemType::FLOAT => Some(23),
        _ => None,
    }
}

/// A number rounded to that many binary digits after the first; of two that are as near, the one with an even last digit.
fn rounded(value: f64, n_digits: u32) -> f64 {
    if !value.is_finite() {
        return value;
    }
    let n_dropped = f64::MANTISSA_DIGITS - 1 - n_digits;
    let bits = value.to_bits();
    let is_odd = (bits >> n_dropped) & 1;
    f64::from_bits((bits + (1 << (n_dropped - 1)) - 1 + is_odd) >> n_dropped << n_dropped)
}

/// Evaluators, with twins in a precision.
pub(super) struct WithTwins<'e, 'a, S> {
    pub evaluators: &'e Evaluators<'a, S>,
    pub precision: TwinPrecision,
}

impl<'s, S: OpSource<'s>> WithTwins<'_, '_, S> {
    /// The results of a call on doubles in the place of floats.
    fn in_double(&self, call: CallView<'_>, inputs: &[Option<Tensor>], n_results: usize) -> Option<Vec<Tensor>> {
        let (function, id) = on_doubles(call, inputs, n_results)?;
        let op = function.call(id)?.op()?;
        let mut results = None;
        self.with_ops(&function, &mut |ops| results = ops.evaluate(op, &function, id, inputs, self.max_bytes()));
        results?.ok()
    }
}

impl<'s, S: OpSource<'s>> Compute for WithTwins<'_, '_, S> {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        self.evaluators.with_ops(function, body);
    }

    fn known(&self, call: CallView<'_>, inputs: &[Option<Tensor>]) -> Option<Tensor> {
        self.evaluators.known(call, inputs)
    }

    fn has_twins(&self) -> bool {
        true
    }

    fn twin(&self, tensor: &Tensor) -> Option<Tensor> {
        self.precision.of(tensor)
    }

    fn twins(
        &self,
        call: CallView<'_>,
        args: &[Option<Computed>],
        results: &[Tensor],
        ops: &mut dyn Operators,
    ) -> Vec<Option<Tensor>> {
        if !results.iter().any(|result| result.elem().is_float()) {
            return Vec::new();
        }
        let twins: Vec<Option<Tensor>> = args.iter().map(|arg| Some(arg.as_ref()?.twin().clone())).collect();
        let is_twin = |twin: &&Tensor, result: &Tensor| twin.dims() == result.dims() && twin.elem().is_float();
        let mut found = match self.precision {
            TwinPrecision::Double => self.in_double(call, &twins, results.len()),
            TwinPrecision::Digits(_) => None,
        };
        if !found.as_ref().is_some_and(|found| {
            results.iter().zip(found).all(|(result, twin)| !result.elem().is_float() || is_twin(&twin, result))
        }) {
            // The operator does not take doubles: its results are of the arguments as it takes them.
            let narrow = |arg: &Option<Computed>| Some(arg.as_ref()?.narrowed());
            let narrowed: Vec<Option<Tensor>> = args.iter().map(narrow).collect();
            let evaluated =
                call.op().and_then(|op| ops.evaluate(op, call.owner(), call.id, &narrowed, self.max_bytes()));
            found = evaluated.and_then(Result::ok);
        }
        let found = found.unwrap_or_default();
        let twin = |(at, result): (usize, &Tensor)| {
            let found = found.get(at).filter(|twin| is_twin(twin, result)).unwrap_or(result);
            self.precision.of(found)
        };
        results.iter().enumerate().map(twin).collect()
    }

    fn enters(&self, function: &Function, block: BlockId) {
        self.evaluators.enters(function, block);
    }

    fn is_stopped(&self) -> bool {
        self.evaluators.is_stopped()
    }

    fn max_bytes(&self) -> u64 {
        self.evaluators.max_bytes()
    }

    fn max_bytes_alive(&self) -> u64 {
        self.evaluators.max_bytes_alive()
    }
}

/// A function of one call that is like another one, apart from `float64` in the place of other floats among its attributes.
/// `None` for one with functions of its own or references among its attributes.
fn on_doubles(call: CallView<'_>, inputs: &[Option<Tensor>], n_results: usize) -> Option<(Function, NodeId)> {
    let of = call.owner();
    if !call.regions().is_empty() || call.attrs().has_refs() {
        return None;
    }
    let mut f = Function::new();
    f.set_opset_imports(&of.opset_imports());
    let rec = of.op(call.op()?);
    let op = f.add_op(of.str(rec.domain), of.str(rec.name), of.str(rec.overload), rec.version);
    let args: Vec<NodeId> = inputs
        .iter()
        .map(|input| {
            let Some(input) = input else { return NodeId::ABSENT };
            let dims: Vec<Dim> = input.dims().iter().map(|&dim| Dim::Static(dim)).collect();
            let ty = f.tensor_type(input.elem(), &dims);
            f.add_var("", ty)
        })
        .collect();
    let params: Vec<NodeId> = args.iter().copied().filter(|arg| !arg.is_absent()).collect();
    let root = f.root();
    f.set_params(root, &params);
    let attrs: Vec<Attr> = call.attrs().iter().map(|(name, value)| in_double(name, value)).collect::<Option<_>>()?;
    let is_tuple = call.n_results().is_some();
    let callee = f.op(op).node;
    let id = f.add_call_with(callee, &args, &[], is_tuple.then_some(n_results as u16));
    f.set_attrs(id, &attrs);
    let body = f.body();
    f.append(body, id);
    f.set_result(body, id);
    Some((f, id))
}

/// An attribute with `float64` in the place of other floats: of the element type that it names, or of its tensor.
fn in_double(name: &str, value: AttrValue<'_>) -> Option<Attr> {
    let is_narrow = |elem: ElemType| elem.is_float() && elem != ElemType::DOUBLE && digits(elem).is_some();
    let data = match value {
        AttrValue::Int(elem)
            if matches!(name, "to" | "dtype") && u8::try_from(elem).is_ok_and(|it| is_narrow(ElemType(it))) =>
        {
            AttrData::Int(ElemType::DOUBLE.0.into())
        }
        AttrValue::Tensor(tensor) if is_narrow(tensor.elem()) => AttrData::Tensor(TwinPrecision::Double.of(tensor)?),
        value => return Attr::of(name.to_owned(), value),
    };
    Some(Attr::new(name.to_owned(), data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_digits_whatever_their_exponents() {
        assert_eq!(rounded(1.0 + 1.0 / 2048.0, 10), 1.0);
        assert_eq!(rounded(1.0 + 3.0 / 2048.0, 10), 1.0 + 2.0 / 1024.0);
        assert_eq!(rounded(-70000.0, 10), -70016.0);
        assert_eq!(rounded(1e-30, 7), f64::from_bits(rounded(1e-30, 7).to_bits() >> 45 << 45));
        assert!(rounded(f64::NAN, 7).is_nan() && rounded(f64::INFINITY, 7).is_infinite());
        let half = Tensor::from_f64s(ElemType::FLOAT16, &[1], &[0.1]).unwrap();
        assert_eq!(TwinPrecision::Double.of(&half).unwrap().elem(), ElemType::DOUBLE);
        assert_eq!(TwinPrecision::Double.of(&Tensor::from_i64(&[1], &[3])), None);
    }
}
