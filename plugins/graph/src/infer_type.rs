//! Types every binding from the types of its operands.
//!
//! ```text
//! def @main(%x: Tensor[(2, 3), float32]) {
//!   %0 = Transpose(%x, perm = [1, 0]);
//! ```
//! becomes
//! ```text
//! def @main(%x: Tensor[(2, 3), float32]) {
//!   %0: Tensor[(3, 2), float32] = Transpose(%x, perm = [1, 0]);
//! ```
//!
//! An operator without a type relation gives unknown types, and a type that the file states is kept where the relation
//! knows less. A call that its operator does not accept, by its type relation (`E001`) or by its record (`M001` and so on),
//! gives a warning: it may be in a branch that is never executed, and a model that runs must not fail here. The option
//! `strict` makes it an error.

use relais_plugin_api::{
    build::CallChecker,
    infer::{Coverage, TypeRelations, infer_function},
    op::CallRule,
    prelude::*,
};
use std::collections::HashSet;

/// Options of `InferType`.
#[derive(PassOptions)]
pub struct InferTypeOptions {
    /// Whether a call that its operator does not accept is an error.
    #[option(default = false)]
    pub strict: bool,
}

/// Infers the types of all bindings.
#[function_pass(
    name = "relais.InferType",
    aliases = ["relay._transform.InferType", "relax.transform.InferType"],
    opt_level = 0,
    phase = "types",
    establishes = "types",
    preserves = ["structure"],
    statistics(typed = "bindings whose type became known, or another"),
)]
pub fn infer_type(edit: &mut Editor, cx: &PassCx<'_>, options: &InferTypeOptions) -> Result<(), PassError> {
    let mut ops = cx.ops(edit.function());
    let n_typed = infer(edit, &mut ops, &mut |node, code, message| {
        let said = if options.strict { Diagnostic::error(message) } else { Diagnostic::warning(message) };
        cx.diagnostic(said.code(code).at(node));
    });
    cx.count("typed", n_typed);
    Ok(())
}

/// Infers the types of a function, which is written only if one changes, and returns how many do. `fault` receives the
/// calls that their operators do not accept, each with a code and the reason.
pub fn infer(
    edit: &mut Editor,
    relations: &mut dyn TypeRelations,
    fault: &mut dyn FnMut(NodeId, &'static str, String),
) -> usize {
    let report = infer_function(edit.function_mut(), relations, Coverage::Everything);
    let f = edit.function();
    for invalid in &report.faults {
        let name = f.call(invalid.node).map_or("", |call| call.op_name());
        fault(invalid.node, "E001", format!("`{name}`: {}", invalid.error));
    }
    let reported: HashSet<NodeId> = report.faults.iter().map(|fault| fault.node).collect();
    // An operator that does not exist is reported once.
    let (mut unknown, mut checker) = (HashSet::new(), CallChecker::default());
    for id in f.all_bindings() {
        let Some((call, op)) = f.call(id).and_then(|call| Some((call, call.op()?))) else { continue };
        if unknown.contains(&op) || reported.contains(&id) {
            continue;
        }
        let Err(found) = checker.check(f, relations, id, op) else { continue };
        if found.rule == CallRule::UnknownOperator {
            unknown.insert(op);
        }
        // A plugin that breaks was reported as such.
        if found.broken.is_none() {
            fault(id, found.rule.code(), format!("`{}`: {}", call.op_name(), found.message));
        }
    }
    if report.n_changed == 0 {
        edit.revert();
    }
    report.n_changed
}
