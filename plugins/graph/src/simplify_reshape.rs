//! A reshape of a reshape is one reshape, and a computed shape becomes a constant where it can be expressed as one.
//!
//! ```text
//! %1 = Flatten(%x);                    // %x: Tensor[(2, 3, 4), float32]
//! %2 = Unsqueeze(%1, %axis);
//! ```
//! becomes
//! ```text
//! %2 = Reshape(%x, const(int64, [1, 2, 12]));
//! ```
//!
//! `Reshape`, `Flatten`, `Squeeze` and `Unsqueeze` change the shape alone, so of two in a row the last one decides. If the
//! value between the two is used elsewhere, too, nothing would be gained, and both stay.
//!
//! The shape of the result can be expressed if it is known; or if one size is not, and the others are not zero: that one is
//! `-1`; or if all sizes that are not known are those of the input at the same places: these are `0`. Both in one shape
//! would fail for an empty input, such as a batch of 0; `assume_non_empty = true` says that there is none.

use relais_plugin_api::{ir::DimRec, prelude::*};

/// Options of `SimplifyReshape`.
#[derive(PassOptions)]
pub struct SimplifyReshapeOptions {
    /// Whether no size that is not known is 0, so that a constant shape can have sizes of the input beside one that is
    /// computed.
    #[option(default = false)]
    pub assume_non_empty: bool,
}

/// Makes one reshape of several in a row, and constants of shapes that are computed.
#[rewrite_pass(
    name = "relais.SimplifyReshape",
    opt_level = 1,
    required = ["relais.InferType"],
    ops = ["Reshape", "Flatten", "Squeeze", "Unsqueeze"],
)]
pub fn simplify_reshape(call: CallView<'_>, cx: &mut RewriteCx<'_>, options: &SimplifyReshapeOptions) -> Rewrite {
    let Some(arg) = call.arg(0) else { return Rewrite::Keep };
    let before = cx.call_of(arg).filter(|before| is_reshape(*before)).and_then(|before| before.arg(0));
    let is_computed = call.is_op("Reshape") && call.arg(1).is_some_and(|shape| cx.tensor(shape).is_none());
    let input = match before {
        Some(input) if cx.n_uses(arg) == 1 => input,
        Some(_) if !is_computed => return Rewrite::decline("the reshape before it is used elsewhere, too"),
        _ if is_computed => arg,
        _ => return Rewrite::Keep,
    };
    if cx.opset() < 5 {
        return Rewrite::decline("before version 5 of the operator set, the shape is an attribute");
    }
    match shape(call, input, options, cx) {
        Ok(sizes) => {
            let shape = cx.constant(Tensor::from_i64(&[sizes.len() as u64], &sizes));
            Rewrite::Replace(cx.call("Reshape", &[input, shape]))
        }
        Err(reason) => Rewrite::decline(reason),
    }
}

fn is_reshape(call: CallView<'_>) -> bool {
    ["Reshape", "Flatten", "Squeeze", "Unsqueeze"].iter().any(|name| call.is_op(name))
}

/// The shape, as `Reshape` takes it, by which `input` becomes the result of `call`.
fn shape(
    call: CallView<'_>,
    input: NodeId,
    options: &SimplifyReshapeOptions,
    cx: &RewriteCx<'_>,
) -> Result<Vec<i64>, &'static str> {
    let to = cx.type_of(call.id).shape().ok_or("the rank of the result is not known")?;
    let from = cx.type_of(input).shape().unwrap_or_default();
    let is_known = |dim: &DimRec| Dim::from(*dim).known().is_some();
    let is_copied = |at: usize| from.get(at).is_some_and(|&dim| Dim::from(dim).is_same(to[at].into()));
    if to.iter().any(|&dim| Dim::from(dim).known() == Some(0)) {
        return Err("0 stands for a size of the input in a shape");
    }
    let unknown: Vec<usize> = (0..to.len()).filter(|&at| !is_known(&to[at])).collect();
    let n_computed = unknown.iter().filter(|&&at| !is_copied(at)).count();
    let computed = match (unknown.len(), n_computed) {
        (0, _) => None,
        (1, _) => Some(unknown[0]),
        (_, 0) => None,
        (_, 1) if options.assume_non_empty => unknown.into_iter().find(|&at| !is_copied(at)),
        (_, 1) => return Err("beside a size that is computed, one of the input must not be 0"),
        _ => return Err("several sizes of the result are not known"),
    };
    to.iter()
        .enumerate()
        .map(|(at, &dim)| match Dim::from(dim).known() {
            Some(size) => i64::try_from(size).map_err(|_| "a size is too large"),
            None => Ok(if computed == Some(at) { -1 } else { 0 }),
        })
        .collect()
}
