//! Rules in passes: checked and applied with the facts that the host has about operators.

use crate::{
    pass::{PassCx, drive},
    record::Level,
};
use relais_ir::{Editor, Function, IRModule, NodeId, diagnostics::PassError};
use relais_ops::{
    core_facts::CoreFacts,
    pattern::{RuleLevel, Rules, WithOperators, apply_by, check_with},
    rewrite::{DriveStats, RewriteFn},
};

/// Checks rules for the operator sets that a function imports.
///
/// # Errors
/// Returns the faults, with their places.
pub fn check(rules: &Rules, function: &Function, cx: &PassCx<'_>) -> Result<(), PassError> {
    check_with(rules, function, &mut cx.ops(function))
}

/// The level of the functions that a pass rewrites by rules: that of the pass, or, if it sees all functions, of the rules.
///
/// # Errors
/// Returns an error if a rule is for another level.
fn level_in(rules: &Rules, cx: &PassCx<'_>) -> Result<RuleLevel, PassError> {
    let level = match cx.info().level {
        Level::PRIM_FUNC => RuleLevel::Prim,
        Level::FUNCTION | Level::REWRITE => RuleLevel::Graph,
        _ => rules.level().unwrap_or(RuleLevel::Graph),
    };
    rules.check_level(level).map(|()| level)
}

/// Checks rules for every function of a module that they are for.
///
/// # Errors
/// Returns the faults for the first function that has some, with their places, and an error if a rule is not for the
/// level of the pass.
pub fn check_module(rules: &Rules, module: &IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    if level_in(rules, cx)? == RuleLevel::Prim {
        return check_with(rules, &Function::new(), &mut CoreFacts::default());
    }
    module.functions().try_for_each(|(name, f)| check(rules, f, cx).map_err(|error| error.in_function(name)))
}

/// Rewrites a function by rules until none matches: a prim func in a pass over prim funcs, or, in a pass over modules,
/// if the rules are for them. Matches that are declined become remarks that name the rule.
///
/// # Errors
/// Returns an error if a rule is for another level, is not valid for the operator sets that the function imports, makes a call that its
/// operator does not accept, or if the rules still match after the most rounds that `DriveOptions` allow by default.
pub fn apply(editor: &mut Editor, cx: &PassCx<'_>, rules: &Rules) -> Result<DriveStats, PassError> {
    let skipped = &mut |why: &str| cx.remark(NodeId::ABSENT, why);
    let driven =
        |editor: &mut Editor, rule: &mut RewriteFn<'_>, ops: &[&str], options| drive(editor, cx, rule, ops, options);
    let says_why = cx.wants_remarks();
    if level_in(rules, cx)? == RuleLevel::Prim {
        let facts = &mut CoreFacts::new(editor.function());
        let compute: &WithOperators<'_> = &|f, body| body(&mut CoreFacts::new(f));
        return apply_by(editor, (facts, compute), rules, says_why, skipped, driven);
    }
    let facts = &mut cx.ops(editor.function());
    let compute: &WithOperators<'_> = &|f, body| body(&mut cx.ops(f));
    apply_by(editor, (facts, compute), rules, says_why, skipped, driven)
}
