//! A concatenation of concatenations along the same axis is one.
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
//! An inner concatenation that is used elsewhere, too, stays.

use relais_plugin_api::prelude::*;

/// Makes one concatenation of those along the same axis.
#[rewrite_pass(
    name = "relais.SimplifyConcat",
    opt_level = 1,
    required = ["relais.InferType"],
    ops = ["Concat"],
)]
pub fn simplify_concat(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let Some(axis) = axis(call, cx) else { return Rewrite::Keep };
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
    if args.len() == call.args().len() {
        return Rewrite::Keep;
    }
    Rewrite::Replace(cx.call_like(call, &args, Vec::new()))
}

/// The axis along which a call concatenates, counted from the first.
fn axis(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<i64> {
    let axis = cx.attrs(call).int("axis")?;
    if axis >= 0 {
        return Some(axis);
    }
    let rank = cx.type_of(call.id).shape()?.len() as i64;
    (axis + rank >= 0).then_some(axis + rank)
}
