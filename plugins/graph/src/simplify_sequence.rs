//! An element of a sequence that was just made is the value that was put there.
//!
//! ```text
//! %1 = SequenceConstruct(%a, %b);
//! %2 = SequenceAt(%1, const(int64, 1));
//! %3 = SequenceLength(%1);
//! ```
//! becomes
//! ```text
//! %2 = %b;
//! %3 = const(int64, 2);
//! ```
//!
//! Likewise, what is taken out of an `Optional` is what was put into it. Positions are constant, and those that do not
//! exist stay for the runtime to report.

use relais_plugin_api::{ir::Type, prelude::*};

/// Takes values out of sequences and optionals that were just made of them.
#[rewrite_pass(
    name = "relais.SimplifySequence",
    opt_level = 1,
    required = ["relais.InferType"],
    ops = ["SequenceAt", "SequenceLength", "OptionalGetElement", "OptionalHasElement"],
)]
pub fn simplify_sequence(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let made_by = |name: &str| call.arg(0).and_then(|arg| cx.call_of_op(arg, name));
    match call.op_name() {
        "SequenceAt" => match made_by("SequenceConstruct") {
            Some(sequence) => element(call, sequence, cx).map_or_else(Rewrite::decline, Rewrite::Replace),
            None => Rewrite::Keep,
        },
        "SequenceLength" => match made_by("SequenceConstruct") {
            Some(sequence) => Rewrite::Replace(cx.constant(Tensor::from_i64(&[], &[sequence.args().len() as i64]))),
            None => Rewrite::Keep,
        },
        "OptionalGetElement" => match (made_by("Optional").and_then(|optional| optional.arg(0)), call.arg(0)) {
            (Some(value), _) => Rewrite::Replace(value),
            // From version 18 on, it takes other values, too.
            (None, Some(value)) if matches!(cx.type_of(value), Type::Tensor { .. }) => Rewrite::Replace(value),
            _ => Rewrite::Keep,
        },
        _ => match (made_by("Optional"), call.arg(0)) {
            (Some(optional), _) => has_element(optional.arg(0).is_some(), cx),
            (None, Some(value)) if matches!(cx.type_of(value), Type::Tensor { .. }) => has_element(true, cx),
            _ => Rewrite::Keep,
        },
    }
}

/// The element at a constant position, which counts from the end if it is negative.
fn element(call: CallView<'_>, sequence: CallView<'_>, cx: &RewriteCx<'_>) -> Result<NodeId, &'static str> {
    let place = call.arg(1).and_then(|place| cx.tensor(place)?.to_i64()).ok_or("the position is not constant")?;
    let n = sequence.args().len() as i64;
    let place = if place < 0 { place.saturating_add(n) } else { place };
    let value = usize::try_from(place).ok().and_then(|place| sequence.args().get(place));
    value.copied().ok_or("there is no such position")
}

fn has_element(has: bool, cx: &mut RewriteCx<'_>) -> Rewrite {
    match Tensor::splat(ElemType::BOOL, &[], &[u8::from(has)]) {
        Ok(answer) => Rewrite::Replace(cx.constant(answer)),
        Err(_) => Rewrite::Keep,
    }
}
