//! The two levels of rules.

use crate::{RuleCode, RuleFault, TextSpan, ast::*};

/// The functions whose calls a rule rewrites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleLevel {
    /// Graph functions, whose values are tensors.
    Graph,
    /// Loop programs, whose values are numbers.
    Prim,
}

/// The domain of the operators of loop programs.
const PRIM_DOMAIN: &str = "tir";

impl Rule {
    /// The level of the rule, which its operators decide.
    pub fn level(&self) -> RuleLevel {
        self.roots().next().map_or(RuleLevel::Graph, |call| call.op.level())
    }
}

impl OpName {
    /// The level of the functions that call it.
    pub fn level(&self) -> RuleLevel {
        if self.domain == PRIM_DOMAIN { RuleLevel::Prim } else { RuleLevel::Graph }
    }
}

/// The text with nothing but the rules of a level, each at its place. `rules` are those of the text.
pub fn of_level(text: &str, rules: &[Rule], level: RuleLevel) -> String {
    let mut kept = String::new();
    let mut rest = text;
    for rule in rules.iter().filter(|rule| rule.level() == level) {
        let (before, from) = rest.split_at(rule.span.start - (text.len() - rest.len()));
        kept.extend(before.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        let (own, after) = from.split_at(rule.span.end - rule.span.start);
        kept.push_str(own);
        kept.push(';');
        // The separator is in the place of a character.
        let next = after.chars().next().filter(|&c| c != '\n');
        rest = &after[next.map_or(0, char::len_utf8)..];
    }
    kept
}

/// Reports operators of another level than the rule's, and what loop programs do not have.
pub(crate) fn check(rule: &Rule, faults: &mut Vec<RuleFault>) {
    let level = rule.level();
    let is_prim = level == RuleLevel::Prim;
    let mut fault = |span: TextSpan, message: String, help: &str| {
        faults.push(RuleFault::new(RuleCode::Level, span, message).help(help));
    };
    let foreign = |op: &OpName| {
        let [of, rule] = if is_prim { ["graphs", "loop programs"] } else { ["loop programs", "graphs"] };
        (op.level() != level).then(|| format!("`{op}` is an operator of {of}, in a rule for {rule}"))
    };
    let one_level =
        "operators of the domain `tir` compute in loop programs, all others in graphs: write a rule for each";
    let no_version = "operators of loop programs have no versions: leave it out";
    let no_list = "write a number: it matches a vector of that number, too";
    if let (true, Some(version)) = (is_prim, rule.opset) {
        fault(rule.span, format!("`@{version}` is a version of ONNX, in a rule for loop programs"), no_version);
    }
    let mut calls: Vec<&CallPattern> = rule.roots().collect();
    while let Some(call) = calls.pop() {
        if let Some(message) = foreign(&call.op) {
            fault(call.op.span, message, one_level);
        }
        if is_prim && call.versions.is_some() {
            fault(call.op.span, format!("`{}` has no versions", call.op), no_version);
        }
        for arg in &call.args {
            match arg {
                ArgPattern::Call(call) => calls.push(call),
                ArgPattern::Either(either, _) => calls.extend(either),
                ArgPattern::List(_, span) if is_prim => {
                    fault(*span, "a list is not a value of loop programs".to_owned(), no_list);
                }
                _ => {}
            }
        }
    }
    let mut values: Vec<&NewValue> = rule.results.iter().collect();
    while let Some(value) = values.pop() {
        match value {
            NewValue::Call { op, args, .. } => {
                if let Some(message) = foreign(op) {
                    fault(op.span, message, one_level);
                }
                values.extend(args);
            }
            NewValue::Like { args, .. } => values.extend(args),
            NewValue::Eval(_, span) if is_prim => {
                let help = "leave `eval` out: the call is made, and `Simplify` computes it";
                fault(*span, "`eval` computes tensors, and not numbers of loop programs".to_owned(), help);
            }
            NewValue::Eval(call, _) => values.push(call),
            NewValue::List(_, span) if is_prim => {
                fault(*span, "a list is not a value of loop programs".to_owned(), no_list);
            }
            _ => {}
        }
    }
}
