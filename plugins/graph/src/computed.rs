//! Values that follow from constants, where a pass needs one that is not folded yet.

use crate::fold_constant::known_tensor;
use relais_plugin_api::{infer::Operators, prelude::*};
use std::collections::HashMap;

/// The most calls that are computed for one value.
const MOST_CALLS: usize = 64;

/// The most bytes of a result.
const MOST_BYTES: u64 = 1 << 16;

/// The values that were computed, by node.
pub(crate) type Computed = HashMap<NodeId, Tensor>;

/// Returns the tensor that folding would put in the place of a value, if that takes few calls and few bytes. The values of
/// the calls that it takes are among `computed` afterwards.
pub(crate) fn value_of(f: &Function, ops: &mut dyn Operators, id: NodeId, computed: &mut Computed) -> Option<Tensor> {
    let known = |computed: &Computed, id: NodeId| f.constant(id).or_else(|| computed.get(&id)).cloned();
    let mut open = vec![id];
    let mut n_calls = 0;
    while let Some(&at) = open.last() {
        if known(computed, at).is_some() {
            open.pop();
            continue;
        }
        let call = f.call(at).filter(|call| is_foldable(&*ops, *call));
        if let Some(value) = known_tensor(f, at) {
            // A call that may do more than compute is still needed.
            match call {
                Some(_) => drop(computed.insert(at, value)),
                None if at == id => return Some(value),
                None => return None,
            }
            continue;
        }
        let call = call?;
        let missing = |arg: &&NodeId| !arg.is_absent() && known(computed, **arg).is_none();
        if let Some(&arg) = call.args().iter().find(missing) {
            open.push(arg);
            (open.len() <= MOST_CALLS).then_some(())?;
            continue;
        }
        n_calls += 1;
        (n_calls <= MOST_CALLS).then_some(())?;
        let inputs: Vec<Option<Tensor>> = call.args().iter().map(|&arg| known(computed, arg)).collect();
        let results = ops.evaluate(call.op()?, f, at, &inputs, MOST_BYTES)?.ok()?;
        let [result] = <[Tensor; 1]>::try_from(results).ok()?;
        computed.insert(at, result);
    }
    known(computed, id)
}

/// Whether a call computes one value and does nothing else.
fn is_foldable(ops: &dyn Operators, call: CallView<'_>) -> bool {
    let effects = call.op().map(|op| ops.effects(op));
    effects.is_some_and(|effects| effects.is_mergeable() && effects.is_removable())
        && call.n_results().is_none()
        && call.regions().is_empty()
        && !call.attrs().has_refs()
        && call.args().iter().any(|arg| !arg.is_absent())
}
