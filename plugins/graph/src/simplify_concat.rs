//! A concatenation of concatenations along the same axis is one, and one of all parts of a `Split` is what was split.
//!
//! ```text
//! %1 = Concat(%a, %b, axis = 1);
//! %2 = Concat(%1, %c, axis = 1);
//! ```
//! becomes
//! ```text
//! %2 = Concat(%a, %b, %c, axis = 1);
//! ```
//!
//! An inner concatenation that is used elsewhere, too, stays. Values without elements are left out.

use relais_plugin_api::{ir::Expr, prelude::*};

/// Makes one concatenation of several, without empty values, and none of all parts of a split.
#[rewrite_pass(
    name = "relais.SimplifyConcat",
    opt_level = 1,
    required = ["relais.InferType"],
    ops = ["Concat"],
)]
pub fn simplify_concat(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let Some(axis) = axis(call, cx) else { return Rewrite::Keep };
    if let Some(whole) = split_value(call, axis, cx) {
        return Rewrite::Replace(whole);
    }
    let inner = |arg: NodeId| {
        let inner = cx.call_of_op(arg, "Concat").filter(|_| cx.n_uses(arg) == 1 && cx.is_in_same_block(arg))?;
        (self::axis(inner, cx) == Some(axis)).then_some(inner)
    };
    let args: Vec<NodeId> = call
        .args()
        .iter()
        .flat_map(|arg| inner(*arg).map_or(std::slice::from_ref(arg), CallView::args))
        .copied()
        .collect();
    let is_empty = |arg: &NodeId| {
        let size = usize::try_from(axis).ok().and_then(|axis| cx.type_of(*arg).shape()?.get(axis).copied());
        size.map(Dim::from) == Some(Dim::Static(0))
    };
    let mut args = args;
    // The sizes of what is left out must not be the only ones that are known.
    if args.iter().any(|arg| !is_empty(arg) && cx.type_of(*arg).shape().is_some()) {
        args.retain(|arg| !is_empty(arg));
    } else if args.iter().all(is_empty) {
        args.truncate(1);
    }
    if args.len() == call.args().len() {
        return Rewrite::Keep;
    }
    Rewrite::Replace(cx.call_like(call, &args, Vec::new()))
}

/// The axis along which a call concatenates, counted from the first.
fn axis(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<i64> {
    from_first(cx.attrs(call).int("axis")?, call.id, cx)
}

/// An axis of a value, counted from the first.
fn from_first(axis: i64, value: NodeId, cx: &RewriteCx<'_>) -> Option<i64> {
    if axis >= 0 {
        return Some(axis);
    }
    let rank = cx.type_of(value).shape()?.len() as i64;
    (axis + rank >= 0).then_some(axis + rank)
}

/// The value whose parts along an axis, all and in order, are the arguments.
fn split_value(call: CallView<'_>, axis: i64, cx: &RewriteCx<'_>) -> Option<NodeId> {
    let part = |arg: NodeId| match cx.function().expr(arg) {
        Expr::TupleGetItem { tuple, index } => Some((tuple, index)),
        _ => None,
    };
    let (tuple, _) = part(*call.args().first()?)?;
    let is_next = |(at, &arg): (usize, &NodeId)| part(arg) == Some((tuple, at));
    let split = cx.call_of_op(tuple, "Split").filter(|split| split.n_results() == Some(call.args().len()))?;
    let input = split.arg(0)?;
    let along = from_first(cx.attrs(split).int("axis")?, input, cx);
    (along == Some(axis) && call.args().iter().enumerate().all(is_next)).then_some(input)
}
