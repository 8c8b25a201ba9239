//! The places of transposes: each value is computed with its axes in that order in which fewest transposes are left.
//!
//! For two orders of axes, `First` and `Second`, each value that a transpose from one to the other can be moved to belongs
//! to a net: the value, its transposes, and the users of these. A call that computes the same in both orders is free to be in
//! either; everything else is in the order in which it was written. A net costs one transpose if something uses it in the
//! other order than the one in which it is computed. The orders with the least cost are a least cut of the graph whose source
//! and sink are the two orders, so that no other choice leaves fewer transposes between them. Parts of the graph whose cost
//! is the same as before stay as they are.
mod apply;
mod cut;
pub mod forms;
pub mod moves;
mod orders;
mod plan;
mod planner;

use apply::Apply;
use moves::{Asked, FIXED, Sums};
use relais_plugin_api::{
    ir::{BlockTree, Users},
    prelude::*,
};

/// How many rounds there are at most: one pair of orders may uncover work for another.
const MAX_ROUNDS: usize = 8;

/// Moves the transposes of a function to where fewest are left; returns how many are gone.
///
/// # Errors
/// Returns an error if a call that is made is refused, or the pass should stop.
pub fn settle(edit: &mut Editor, cx: &PassCx<'_>, sums: Sums) -> Result<usize, PassError> {
    let mut n_gone = 0;
    for _ in 0..MAX_ROUNDS {
        let before = n_gone;
        for pair in orders::pairs(edit.function()) {
            cx.check_cancelled()?;
            let (users, places) = (cx.analysis::<Users>(edit)?, cx.analysis::<BlockTree>(edit)?);
            let ops = cx.ops(edit.function());
            let asked = Asked { f: edit.function(), ops: &ops, users: &users, sums };
            let plan = planner::plan(asked, &places, pair);
            if plan.n_gone == 0 {
                for (&call, reason) in plan.refused.iter().filter(|(_, reason)| **reason != FIXED) {
                    cx.remark(call, reason);
                }
                continue;
            }
            n_gone += plan.n_gone;
            let ops = cx.ops(edit.function());
            edit.rebuild(&mut Apply::new(ops, plan))?;
        }
        if n_gone == before {
            break;
        }
    }
    Ok(n_gone)
}
