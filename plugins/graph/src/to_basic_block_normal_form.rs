//! Makes named bindings of the values that inner blocks use, and graph bindings of all others.
//!
//! ```text
//! %0 = Mul(%b, %c);
//! let %1 = Neg(%a);
//! %2 = if (%d) { %3 = Abs(%0); %3 } else { %1 };
//! ```
//! becomes
//! ```text
//! let %0 = Mul(%b, %c);
//! let %1 = Neg(%a);
//! %2 = if (%d) { %3 = Abs(%0); %3 } else { %1 };
//! ```
//!
//! Blocks are ordered, so nothing moves: a named value is computed in its block, before the inner one.

use crate::to_a_normal_form::set_forms;
use relais_plugin_api::{
    ir::{BlockTree, LetForm, Walk, WalkStep},
    prelude::*,
};
use std::collections::HashSet;

/// Names the values that inner blocks use, and no others.
#[function_pass(
    name = "relais.ToBasicBlockNormalForm",
    aliases = ["relay._transform.ToBasicBlockNormalForm"],
    opt_level = 1,
    phase = "none",
    statistics(turned = "bindings turned into the other form"),
)]
pub fn to_basic_block_normal_form(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let places = cx.analysis::<BlockTree>(edit)?;
    let f = edit.function();
    let mut shared: HashSet<NodeId> = HashSet::new();
    let mut open = Vec::new();
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        let used = match step {
            WalkStep::Enter(block) => {
                open.push(block);
                continue;
            }
            WalkStep::Binding(id) => f.operands(id),
            WalkStep::Exit(block) => f.results(block),
            WalkStep::Leave(_) => continue,
        };
        let here = open.last().copied();
        shared.extend(used.iter().copied().filter(|&id| places.block_of(id).is_some_and(|home| Some(home) != here)));
        if let WalkStep::Exit(_) = step {
            open.pop();
        }
    }
    let form = |id: NodeId| if shared.contains(&id) { LetForm::Let } else { LetForm::Graph };
    cx.count("turned", set_forms(edit, form));
    Ok(())
}
