//! A transpose of a transpose is one transpose, or none.
//!
//! ```text
//! %1 = Transpose(%x, perm = [0, 2, 3, 1]);
//! %2 = Transpose(%1, perm = [0, 2, 1, 3]);
//! ```
//! becomes
//! ```text
//! %2 = Transpose(%x, perm = [0, 3, 2, 1]);
//! ```

use relais_plugin_api::prelude::*;

/// Makes one transpose, or none, of two in a row.
#[rewrite_pass(
    name = "relais.SimplifyTranspose",
    opt_level = 1,
    required = ["relais.InferType"],
    ops = ["Transpose"],
)]
pub fn simplify_transpose(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let Some(inner) = call.arg(0).and_then(|arg| cx.call_of_op(arg, "Transpose")) else { return Rewrite::Keep };
    let Some(input) = inner.arg(0) else { return Rewrite::Keep };
    let (Some(outer), Some(first)) = (permutation(call, cx), permutation(inner, cx)) else {
        return Rewrite::decline("the order of the axes is not known");
    };
    let composed: Option<Vec<i64>> =
        outer.iter().map(|&axis| first.get(usize::try_from(axis).ok()?).copied()).collect();
    match composed {
        Some(perm) if perm.iter().enumerate().all(|(at, &axis)| axis == at as i64) => Rewrite::Replace(input),
        Some(perm) => Rewrite::Replace(cx.call_with("Transpose", &[input], vec![Attr::new("perm", perm)])),
        None => Rewrite::decline("the two have different ranks"),
    }
}

/// For each axis of the result, that of the argument. Without the attribute, the axes are reversed.
fn permutation(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<Vec<i64>> {
    call.attrs().ints("perm").or_else(|| {
        let rank = cx.type_of(call.id).shape()?.len() as i64;
        Some((0..rank).rev().collect())
    })
}
