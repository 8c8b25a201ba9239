//! The smallest closed part of a module around a call at which a pass fails.

use relais_plugin_api::{
    boundary::abi::error_kind,
    diagnostics::PassError,
    ir::{Function, IRModule, NodeId, kind, verify},
};
use std::collections::{BTreeMap, BTreeSet};

/// The most steps from the call back to what its operands are computed from.
const MAX_DEPTH: usize = 64;

/// A part of a module, and the error with which the pass fails on it.
pub(super) struct Smaller {
    pub module: IRModule,
    pub error: PassError,
    /// A description of the rest, for people.
    pub note: String,
}

/// Returns the smallest part around the call that an error names at which `fails` returns the same error: the call, with
/// what its operands are computed from, step by step further back; values from before are parameters of their types.
/// None if no part smaller than the whole fails the same.
pub(super) fn around(
    module: &IRModule,
    error: &PassError,
    fails: impl Fn(&IRModule) -> Option<PassError>,
) -> Option<Smaller> {
    let rec = error.rec();
    let name = rec.function.as_str();
    let function = module.function(name)?;
    // Nodes that the pass added itself are not in the module.
    let call = Some(rec.node).filter(|node| !node.is_absent() && node.index() < function.n_nodes())?;
    let order: Vec<NodeId> = function.all_bindings().collect();
    if rec.kind == error_kind::CANCELLED || !order.contains(&call) || function.call(call).is_none() {
        return None;
    }
    let mut depth = 0;
    let mut before = 0;
    while depth <= MAX_DEPTH {
        let part = part(function, &order, call, depth)?;
        if part.len() == before || part.len() >= order.len() {
            return None;
        }
        before = part.len();
        let smaller = cut(module, name, function, call, &part);
        if verify(&smaller).is_empty()
            && let Some(error) = fails(&smaller)
        {
            let op = function.call(call).map_or("", |call| call.op_name());
            let rest = match depth {
                0 => String::new(),
                1 => ", with its operands,".into(),
                _ => format!(", with its operands to a depth of {depth},"),
            };
            let note = format!("only a call of `{op}` in `@{name}`{rest} is left: other values are parameters");
            return Some(Smaller { module: smaller, error, note });
        }
        depth = 2 * depth + 1;
    }
    None
}

/// Whether a node is a value that is computed, and can be a parameter instead.
fn is_computed(function: &Function, node: NodeId) -> bool {
    matches!(function.kind(node), kind::CALL | kind::TUPLE | kind::TUPLE_GET_ITEM | kind::IF)
}

/// The call, its projections, and what its operands are computed from in at most that many steps, in program order.
/// None if functions belong to one of them: their bodies may use any value.
fn part(function: &Function, order: &[NodeId], call: NodeId, depth: usize) -> Option<Vec<NodeId>> {
    let mut part = BTreeSet::from([call]);
    let mut last = vec![call];
    for _ in 0..depth {
        let operands = last.iter().flat_map(|&node| function.operands(node)).copied();
        let new: BTreeSet<NodeId> = operands
            .filter(|&node| is_computed(function, node) && function.kind(node) != kind::IF && !part.contains(&node))
            .collect();
        part.extend(&new);
        last = new.into_iter().collect();
    }
    let has_functions = |&node: &NodeId| !function.regions(node).is_empty() || function.kind(node) == kind::IF;
    if part.iter().any(has_functions) {
        return None;
    }
    let is_projection =
        |&node: &NodeId| function.kind(node) == kind::TUPLE_GET_ITEM && function.operands(node).contains(&call);
    part.extend(order.iter().copied().filter(is_projection));
    Some(order.iter().copied().filter(|node| part.contains(node)).collect())
}

/// The module with nothing but these nodes in the one function.
fn cut(module: &IRModule, name: &str, function: &Function, call: NodeId, part: &[NodeId]) -> IRModule {
    let mut new = function.clone();
    let mut params: Vec<NodeId> = Vec::new();
    let mut given: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    for &node in part {
        for &operand in function.operands(node) {
            if given.contains_key(&operand) || part.contains(&operand) {
                continue;
            }
            let param = match function.kind(operand) {
                kind::VAR => operand,
                _ if is_computed(function, operand) => {
                    let name = match function.name(operand) {
                        "" => format!("v{}", operand.index()),
                        name => name.to_owned(),
                    };
                    new.add_var(&name, function.type_id(operand))
                }
                _ => continue,
            };
            given.insert(operand, param);
            params.push(param);
        }
        new.map_operands(node, |operand| given.get(&operand).copied().unwrap_or(operand));
    }
    let projections = part.iter().copied().filter(|&node| node != call && function.operands(node).contains(&call));
    let projections: Vec<NodeId> = projections.collect();
    let results = if projections.is_empty() { vec![call] } else { projections };
    new.set_params(new.root(), &params);
    new.set_bindings(new.body(), part);
    new.set_results(new.body(), &results);
    let mut smaller = module.clone();
    let is_called = |node: &NodeId| function.operands(*node).iter().any(|&it| function.kind(it) == kind::GLOBAL_VAR);
    if !part.iter().any(is_called) {
        for other in module.globals().iter().filter(|other| other.name != name) {
            smaller.remove(&other.name);
        }
    }
    smaller.set_function(name, new);
    smaller
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_plugin_api::text;

    const MODULE: &str = "def @main(%x: Tensor[(2), float32], %c: Tensor[(), bool]) {
        %a = Relu(%x); %b = Neg(%a); %d = Add(%b, %b); %e = Sigmoid(%d); %e
    }
    def @other(%x: Tensor[(2), float32]) { %y = Relu(%x); %y }";

    /// The rest of the module when the pass fails at the call `%d`, as long as the text has some words.
    fn left(needed: &[&str]) -> Option<(String, String)> {
        let module = text::parse_str(MODULE).unwrap();
        let main = module.main().unwrap();
        let call = main.all_bindings().find(|&id| main.name(id) == "d").unwrap();
        let error = PassError::new("it fails").at(call).in_function("main");
        let print = |module: &IRModule| text::print(module, &text::PrintOptions::default());
        let fails = |module: &IRModule| {
            let text = print(module);
            needed.iter().all(|word| text.contains(word)).then(|| PassError::new("it fails"))
        };
        around(&module, &error, fails).map(|it| (print(&it.module), it.note))
    }

    #[test]
    fn the_call_alone_is_enough_if_the_pass_fails_at_it() {
        let (text, note) = left(&[]).unwrap();
        assert!(text.contains("Add(%b, %b)"), "{text}");
        for gone in ["Neg", "Relu", "Sigmoid", "@other", "%c"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        assert_eq!(note, "only a call of `Add` in `@main` is left: other values are parameters");
    }

    #[test]
    fn what_it_is_computed_from_comes_along_if_the_pass_needs_it() {
        let (text, note) = left(&["Neg("]).unwrap();
        assert!(text.contains("Neg(%a)") && !text.contains("Relu") && !text.contains("Sigmoid"), "{text}");
        assert_eq!(note, "only a call of `Add` in `@main`, with its operands, is left: other values are parameters");
    }

    #[test]
    fn the_whole_stays_if_nothing_smaller_fails() {
        assert!(left(&["Sigmoid("]).is_none());
        let module = text::parse_str(MODULE).unwrap();
        let fails = |_: &IRModule| Some(PassError::new("it fails"));
        for error in [
            PassError::new("it fails"),
            PassError::new("it fails").at(NodeId::from_index(1000)).in_function("main"),
            PassError::new("it fails").at(NodeId::from_index(0)).in_function("none"),
            PassError::with_kind(error_kind::CANCELLED, "it fails").in_function("main"),
        ] {
            assert!(around(&module, &error, fails).is_none());
        }
    }
}
