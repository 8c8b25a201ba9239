//! Passes, operators and an instrument that each break one rule, and only that one.

mod kernels;
mod lies;
mod operators;

use relais_plugin_api::prelude::*;

plugin! { description = "passes and operators that each break one rule" }

/// Calls of an operator in the body.
fn calls_of(function: &Function, name: &str) -> Vec<NodeId> {
    let is_wanted = |id: &NodeId| function.call(*id).is_some_and(|call| call.op_name() == name);
    function.bindings(function.body()).iter().copied().filter(is_wanted).collect()
}
