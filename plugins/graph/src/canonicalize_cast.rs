//! Gives each call its own copy of a `Cast` that several elementwise calls use, so that each can be fused with its own.
//!
//! ```text
//! %1 = Cast(%x, to = 1);
//! %2 = Relu(%1);
//! %3 = Neg(%1);
//! ```
//! becomes
//! ```text
//! %1 = Cast(%x, to = 1);
//! %2 = Relu(%1);
//! %4 = Cast(%x, to = 1);
//! %3 = Neg(%4);
//! ```
//!
//! It is for pipelines with `FuseOps`, which then computes a cast where it is used, rather than to store what it gives:
//! the value before is often the smaller one. `EliminateCommonSubexpr` merges the copies again.

use relais_plugin_api::{build::Builder, op::FusionKind, prelude::*};
use std::collections::HashSet;

/// Copies casts that several elementwise calls use.
#[function_pass(
    name = "relais.CanonicalizeCast",
    aliases = ["relay._transform.CanonicalizeCast"],
    opt_level = 3,
    required = ["relais.InferType"],
    phase = "none",
    statistics(copied = "casts copied"),
)]
pub fn canonicalize_cast(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let mut ops = cx.ops(edit.function());
    let mut taken: HashSet<NodeId> = HashSet::new();
    edit.rebuild(&mut |at: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
        let f = at.function();
        let is_elementwise =
            |call: &CallView<'_>| ops.of(*call).is_some_and(|facts| facts.fusion <= FusionKind::BROADCAST);
        let Some(call) = f.call(id).filter(is_elementwise) else { return Ok(Action::Keep) };
        let cast = |&arg: &NodeId| f.call(arg).filter(|cast| cast.is_op("Cast"));
        let casts: Vec<(usize, NodeId)> =
            call.args().iter().enumerate().filter_map(|(place, arg)| Some((place, cast(arg)?.id))).collect();
        for (place, cast) in casts {
            // The first call keeps it.
            if taken.insert(cast) {
                continue;
            }
            let Some(original) = at.function().call(cast) else { continue };
            let args = original.args().to_vec();
            let attrs = original.attrs().iter().filter_map(|(name, value)| Attr::of(name.to_owned(), value)).collect();
            let copy = Builder::before(at, &mut ops).call("Cast", &args, attrs)?;
            at.function_mut().set_operand(id, place + 1, copy);
            cx.count("copied", 1);
        }
        Ok(Action::Keep)
    })
}
