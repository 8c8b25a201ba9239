//! Judging a single rule by instances of its left side.

use super::{
    Settings,
    bench::Passes,
    instances::{self, Miss},
    interface::same_interface,
    judge::{message, printed, shown},
    numbers::{Judgement, same_numbers, same_prims},
    report::{Finding, Kind},
};
use relais_patterns::{Rule, RuleLevel};
use relais_plugin_api::{
    ir::{IRModule, MAIN, verify},
    options::Value,
};
use std::collections::BTreeMap;

/// The most instances of a rule, and the most attempts to make them: no clock decides what is found.
const MOST: usize = 128;
const ATTEMPTS: usize = 4_000;

/// How many more instances may make the pass fail than are compared: others would fail in the same way.
const MOST_FAILURES: usize = 3;

/// The result of judging a rule.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// Both sides computed the same on that many instances.
    Sound(usize),
    /// Nothing, for this reason.
    NotJudged(String),
    /// The two sides differ on an instance.
    Unsound(Box<Finding>),
}

/// Judges a rule: a pass with options that state this rule and no other runs on instances of the left side, and both
/// modules are computed and compared. Equal arguments give equal verdicts.
///
/// The settings' seed and tolerance apply; rules for loop programs keep all bits.
pub fn judge_rule(bench: &dyn Passes, settings: &Settings, pass: &str, options: &Value, rule: &Rule) -> Verdict {
    let mut n_compared = 0;
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut note = |why: String| *reasons.entry(why).or_default() += 1;
    let attempts = instances::attempts(rule, settings.seed, bench).take(ATTEMPTS);
    let (mut n_made, mut n_failed) = (0, 0);
    for attempt in attempts {
        if bench.is_stopped() {
            return Verdict::NotJudged("it was stopped".to_owned());
        }
        let module = match attempt {
            Ok(module) => module,
            Err(Miss::Unfit) => continue,
            Err(Miss::NotComputed(why)) => {
                note(why);
                continue;
            }
        };
        n_made += 1;
        match bench.run(pass, options, &module) {
            Err(error) => {
                n_failed += 1;
                note(message(&error));
            }
            Ok(None) => note("its conditions hold for none of the instances".to_owned()),
            Ok(Some(after)) => match compare(bench, settings, rule.level(), (&module, &after)) {
                Ok(Judgement::Same) => n_compared += 1,
                Ok(Judgement::NotEvaluated { why, .. }) => note(why),
                Err((kind, message)) => {
                    let name = rule.name.as_ref().map_or_else(|| rule.to_string(), |name| name.text.clone());
                    return Verdict::Unsound(Box::new(Finding {
                        subject: format!("rule `{name}`"),
                        kind,
                        message,
                        options: shown(options),
                        module: printed(&module),
                    }));
                }
            },
        }
        if n_made == MOST || n_failed > n_compared + MOST_FAILURES {
            break;
        }
    }
    match reasons.into_iter().max_by_key(|(_, n)| *n) {
        _ if n_compared > 0 => Verdict::Sound(n_compared),
        Some((why, _)) => Verdict::NotJudged(why),
        None => Verdict::NotJudged("no instance of its left side was found".to_owned()),
    }
}

/// Compares the module before and after a rule was applied.
fn compare(
    bench: &dyn Passes,
    settings: &Settings,
    level: RuleLevel,
    (before, after): (&IRModule, &IRModule),
) -> Result<Judgement, (Kind, String)> {
    if let Some(fault) = verify(after).first() {
        return Err((Kind::Broken, fault.to_string()));
    }
    same_interface(before, after).map_err(|how| (Kind::Interface, how))?;
    let not_evaluated = |why: String| Judgement::NotEvaluated { what: MAIN.to_owned(), why };
    let judged = match level {
        RuleLevel::Graph => same_numbers(before, after, settings.tolerance, bench),
        RuleLevel::Prim => same_prims(before, after)
            .map(|judged| judged.unwrap_or_else(|| not_evaluated("it has no loop program".to_owned()))),
    };
    judged.or_else(|differ| {
        if !differ.is_fault_of_after {
            return Ok(not_evaluated(format!("its left side is at fault: {}", differ.how)));
        }
        let inputs = differ.inputs.iter().map(|(name, values)| format!("\n{name} is {values}"));
        let kind = if differ.is_special { Kind::SpecialNumbers } else { Kind::Numbers };
        Err((kind, inputs.fold(differ.how.clone(), |all, input| all + &input)))
    })
}
