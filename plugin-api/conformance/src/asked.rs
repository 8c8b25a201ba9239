//! Types and numbers that the conditions of a rule ask for, so that instances of its left side fulfil them.

use super::random::Random;
use relais_patterns::{Comparison, Computation, Condition, Name, Rule};
use relais_plugin_api::ir::ElemType;

/// The conditions of a rule that compare a function of a variable, or the variable itself, with something.
pub(super) fn asked<'r>(rule: &'r Rule, function: &str, variable: &str) -> Vec<(Comparison, &'r Computation)> {
    let is_meant = |expr: &Computation| match expr {
        Computation::Call(name, args) => {
            name.text == function && matches!(args.first(), Some(Computation::Var(name)) if name.text == variable)
        }
        Computation::Var(name) => function.is_empty() && name.text == variable,
        _ => false,
    };
    let asked = |condition: &'r Condition| match condition {
        Condition::Compare(left, comparison, right) if is_meant(left) => vec![(*comparison, right)],
        Condition::Compare(left, comparison, right) if is_meant(right) => vec![(*comparison, left)],
        Condition::In(left, options) if is_meant(left) => {
            options.iter().map(|option| (Comparison::Eq, option)).collect()
        }
        _ => Vec::new(),
    };
    rule.conditions.iter().flat_map(asked).collect()
}

/// The element type of a variable: one that a condition asks for, if there is one.
pub(super) fn elem_asked(rule: &Rule, random: &mut Random, name: &Name, elem: ElemType) -> ElemType {
    let asked: Vec<ElemType> = asked(rule, "elem", &name.text)
        .iter()
        .filter_map(|(_, expr)| if let Computation::Var(elem) = expr { ElemType::from_name(&elem.text) } else { None })
        .collect();
    match asked.as_slice() {
        [] => elem,
        asked => asked[random.below(asked.len() as u64) as usize],
    }
}

/// The numbers that conditions compare a variable with.
pub(super) fn numbers_asked(rule: &Rule, variable: &str) -> Vec<(Comparison, f64)> {
    let number = |(comparison, expr): (Comparison, &Computation)| match expr {
        Computation::Number(number, _) => Some((comparison, number.to_f64())),
        Computation::Neg(inner, _) => match &**inner {
            Computation::Number(number, _) => Some((comparison, -number.to_f64())),
            _ => None,
        },
        _ => None,
    };
    asked(rule, "", variable).into_iter().filter_map(number).collect()
}

/// Whether comparisons with numbers hold for a number.
pub(super) fn satisfies(asked: &[(Comparison, f64)], value: f64) -> bool {
    asked.iter().all(|&(comparison, other)| match comparison {
        Comparison::Eq => value == other,
        Comparison::Ne => value != other,
        Comparison::Lt => value < other,
        Comparison::Le => value <= other,
        Comparison::Gt => value > other,
        Comparison::Ge => value >= other,
    })
}
