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
//! knows less. A call that its operator does not take gives a warning and unknown types: it may be in a branch that is
//! never executed, and a model that runs must not fail here. The option `strict` makes it an error.

use relais_plugin_api::{
    infer::{Coverage, TypeRelations, infer_function},
    prelude::*,
};

/// Options of `InferType`.
#[derive(PassOptions)]
pub struct InferTypeOptions {
    /// Whether a call that its operator does not take is an error.
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
    statistics(typed = "bindings whose type became known, or another"),
)]
pub fn infer_type(edit: &mut Editor, cx: &PassCx<'_>, options: &InferTypeOptions) -> Result<(), PassError> {
    let mut ops = cx.ops(edit.function());
    let n_typed = infer(edit, &mut ops, &mut |node, message| {
        let said = if options.strict { Diagnostic::error(message) } else { Diagnostic::warning(message) };
        cx.diagnostic(said.code("T001").at(node));
    });
    cx.count("typed", n_typed);
    Ok(())
}

/// Infers the types of a function, which is written only if one changes, and returns how many do.
pub fn infer(edit: &mut Editor, relations: &mut dyn TypeRelations, fault: &mut dyn FnMut(NodeId, String)) -> usize {
    let report = infer_function(edit.function_mut(), relations, Coverage::Everything);
    for invalid in &report.faults {
        let name = edit.function().call(invalid.node).map_or("", |call| call.op_name());
        fault(invalid.node, format!("`{name}`: {}", invalid.error));
    }
    if report.n_changed == 0 {
        edit.revert();
    }
    report.n_changed
}
