//! Shared code of the evaluators: reading attributes and arguments with checks, and the table that lists them.

use relais_operator_math::defaults;
use relais_plugin_api::{
    ir::{AttrValue, ElemType, Tensor, TensorError},
    op::{EvalCx, OpError},
};

/// The result of an evaluator.
pub type Eval<T = Tensor> = Result<T, OpError>;

/// The results of an evaluator.
pub trait Results {
    /// Hands them over.
    fn give(self, cx: &mut EvalCx<'_>);
}

impl Results for Tensor {
    fn give(self, cx: &mut EvalCx<'_>) {
        cx.output(self);
    }
}

impl Results for Vec<Tensor> {
    fn give(self, cx: &mut EvalCx<'_>) {
        let n_outputs = cx.n_outputs().max(1);
        for tensor in self.into_iter().take(n_outputs) {
            cx.output(tensor);
        }
    }
}

/// Runs an evaluator.
pub fn run<R: Results>(cx: &mut EvalCx<'_>, eval: impl FnOnce(&EvalCx<'_>) -> Eval<R>) -> Result<(), OpError> {
    if cx.attrs().has_refs() {
        return Err(OpError::unsupported("an attribute is that of the enclosing function, whose value is not known"));
    }
    eval(cx)?.give(cx);
    Ok(())
}

/// The table of a file's evaluators, registered: `"Name" @ first version => function`.
macro_rules! table {
    ($($name:literal @ $since:literal => $eval:expr,)*) => {
        /// The evaluators of this file.
        pub const EVALUATORS: &[relais_plugin_api::op::Evaluator] = &[$(relais_plugin_api::op::Evaluator {
            domain: "",
            name: $name,
            since_version: $since,
            eval: |cx| crate::shared::cx::run(cx, $eval),
        },)*];

        relais_plugin_api::prelude::evaluators! { EVALUATORS }
    };
}

pub(crate) use table;

/// The error for an element type that an evaluator does not take.
pub fn unsupported_elem(elem: ElemType) -> OpError {
    OpError::unsupported(format_args!("elements of type `{elem}` are not evaluated"))
}

/// The error for a tensor that could not be made.
pub fn tensor_error(error: TensorError) -> OpError {
    OpError::unsupported(error)
}

/// A tensor of packed elements.
pub fn with_elem(elem: ElemType, dims: &[u64], bytes: Vec<u8>) -> Eval {
    Tensor::dense(elem, dims, bytes).map_err(tensor_error)
}

macro_rules! attr {
    ($(#[$doc:meta])* $name:ident$(<$life:lifetime>)?, $variant:ident($value:ident) -> $type:ty, $kind:literal, $result:expr) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// Returns an error if the attribute is of another kind.
        pub fn $name$(<$life>)?(cx: &$($life)? EvalCx<'_>, name: &str) -> Eval<Option<$type>> {
            match cx.attrs().get(name) {
                None => Ok(None),
                Some(AttrValue::$variant($value)) => Ok(Some($result)),
                Some(_) => Err(OpError::invalid(format_args!(concat!("attribute `{}` must be ", $kind), name))),
            }
        }
    };
}

attr! {
    /// An integer attribute that has no default.
    opt_int, Int(value) -> i64, "an integer", value
}

attr! {
    /// A float attribute that has no default.
    opt_float, Float(value) -> f32, "a float", value
}

attr! {
    /// A string attribute that has no default.
    opt_string<'a>, String(value) -> &'a [u8], "a string", value
}

attr! {
    /// An attribute that is a list of integers and has no default.
    opt_ints, Ints(values) -> Vec<i64>, "a list of integers", values.ints().collect()
}

attr! {
    /// An attribute that is a list of floats and has no default.
    opt_floats, Floats(values) -> Vec<f32>, "a list of floats", values.floats().collect()
}

attr! {
    /// An attribute that is a list of strings and has no default.
    opt_strings<'a>, Strings(values) -> Vec<&'a [u8]>, "a list of strings", values.strings().collect()
}

attr! {
    /// A tensor attribute.
    tensor<'a>, Tensor(value) -> &'a Tensor, "a tensor", value
}

macro_rules! attr_or_default {
    ($(#[$doc:meta])* $name:ident$(<$life:lifetime>)? = $given:ident, $default:path, $type:ty, $convert:expr) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// Returns an error if the attribute is of another kind, or missing and without a default.
        pub fn $name$(<$life>)?(cx: &$($life)? EvalCx<'_>, name: &str) -> Eval<$type> {
            match ($given(cx, name)?, $default(cx.op_name(), name, cx.version())) {
                (Some(given), _) => $convert(name, given),
                (None, Some(default)) => Ok(default.into()),
                (None, None) => Err(OpError::invalid(format_args!("attribute `{name}` is missing"))),
            }
        }
    };
}

attr_or_default! {
    /// An integer attribute, or its default in the version of the call.
    int = opt_int, defaults::int, i64, |_, given| Ok(given)
}

attr_or_default! {
    /// A float attribute, or its default in the version of the call.
    float = opt_float, defaults::float, f64, |_, given: f32| Ok(given.into())
}

attr_or_default! {
    /// A string attribute, or its default in the version of the call.
    string<'a> = opt_string, defaults::str, &'a str, text
}

attr_or_default! {
    /// An attribute that is a list of integers, or its default in the version of the call.
    ints = opt_ints, defaults::ints, Vec<i64>, |_, given| Ok(given)
}

fn text<'a>(name: &str, bytes: &'a [u8]) -> Eval<&'a str> {
    std::str::from_utf8(bytes).map_err(|_| OpError::invalid(format_args!("attribute `{name}` is not text")))
}

/// The value that `of` finds by the name which a string attribute gives, or its default.
///
/// # Errors
/// Returns an error if there is none of that name.
pub fn named<T>(cx: &EvalCx<'_>, name: &str, of: impl FnOnce(&str) -> Option<T>) -> Eval<T> {
    let given = string(cx, name)?;
    of(given).ok_or_else(|| OpError::invalid(format_args!("attribute `{name}` is `{given}`")))
}

/// An integer attribute that is a switch.
///
/// # Errors
/// Returns an error if it is neither 0 nor 1: some runtimes then take it as on, others as off.
pub fn flag(cx: &EvalCx<'_>, name: &str) -> Eval<bool> {
    match int(cx, name)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(OpError::unsupported(format_args!("attribute `{name}` is {other}, neither 0 nor 1"))),
    }
}

/// The integers of a tensor of `int32` or `int64`, whatever its shape; `what` is its name in messages.
pub fn int_values(cx: &EvalCx<'_>, tensor: &Tensor, what: &str) -> Eval<Vec<i64>> {
    readable(cx, tensor)?;
    tensor.to_i64s().ok_or_else(|| {
        OpError::invalid(format_args!("{what} must have element type `int64` or `int32`, not `{}`", tensor.elem()))
    })
}

/// The integers of a tensor that must be a list.
pub fn int_list(cx: &EvalCx<'_>, tensor: &Tensor, what: &str) -> Eval<Vec<i64>> {
    if tensor.dims().len() > 1 {
        return Err(OpError::invalid(format_args!("{what} must have rank 1, not {}", tensor.dims().len())));
    }
    int_values(cx, tensor, what)
}

/// The integer of a tensor that must have one element.
pub fn int_scalar(cx: &EvalCx<'_>, tensor: &Tensor, what: &str) -> Eval<i64> {
    match int_values(cx, tensor, what)?[..] {
        [value] => Ok(value),
        ref values => Err(OpError::invalid(format_args!("{what} must have one element, not {}", values.len()))),
    }
}

/// A list of integers that is an attribute up to some version, then an input; `None` when it is not given.
pub fn ints_attr_or_input(cx: &EvalCx<'_>, name: &str, input: usize, input_since: i64) -> Eval<Option<Vec<i64>>> {
    if cx.version() < input_since {
        return opt_ints(cx, name);
    }
    cx.input(input).map(|tensor| int_list(cx, tensor, name)).transpose()
}

/// Refuses a splat that is too large to be written out.
pub fn readable(cx: &EvalCx<'_>, tensor: &Tensor) -> Eval<()> {
    if tensor.as_splat().is_some() && tensor.byte_len() > cx.max_bytes() {
        return Err(OpError::unsupported("an argument is too large to be written out"));
    }
    Ok(())
}

/// The most steps of one computation that are worth waiting for: to fold it, and to compare modules.
const MAX_STEPS: u64 = 1 << 28;

const MAX_LENIENT_STEPS: u64 = 1 << 34;

/// Refuses a computation of too many steps: the product of `factors`.
pub fn bounded_work(cx: &EvalCx<'_>, factors: impl IntoIterator<Item = u64>) -> Eval<()> {
    let most = if cx.is_lenient() { MAX_LENIENT_STEPS } else { MAX_STEPS };
    let (mut steps, mut is_empty) = (Some(1u64), false);
    for factor in factors {
        is_empty |= factor == 0;
        steps = steps.and_then(|steps| steps.checked_mul(factor));
    }
    match is_empty || steps.is_some_and(|steps| steps <= most) {
        true => Ok(()),
        false => Err(OpError::unsupported("the result is too much work")),
    }
}

/// Refuses to continue once the run is cancelled.
pub fn not_cancelled(cx: &EvalCx<'_>) -> Eval<()> {
    match cx.is_cancelled() {
        true => Err(OpError::unsupported("the run is cancelled")),
        false => Ok(()),
    }
}

/// Refuses arguments of different element types.
pub fn same_elem(a: &Tensor, b: &Tensor) -> Eval<()> {
    if a.elem() != b.elem() {
        return Err(OpError::invalid(format_args!(
            "the arguments have different element types, `{}` and `{}`",
            a.elem(),
            b.elem()
        )));
    }
    Ok(())
}
