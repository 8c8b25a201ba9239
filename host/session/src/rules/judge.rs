//! Judging the rules that are given to a run, before anything runs.

use super::bench::Registered;
use crate::{
    error::Error,
    listener::{Listener, Notice},
    pipeline::StatedRules,
};
use relais::registry::Registry;
use relais_conformance::{Finding, Settings, Verdict, bench::Passes, judge_rule};
use relais_plugin_api::{
    ir::Function,
    options::Value,
    pattern::{Rule, RuleLevel, Rules, check_with},
    prim::CoreFacts,
};
use std::collections::BTreeSet;

/// The code of a rule whose two sides compute different results.
const UNSOUND: &str = "L030";

/// A rule that changes what a module computes.
#[derive(Clone, Debug)]
pub struct Unsound {
    /// Where the rule is: `origin:line:column`; none if it is in no text.
    pub place: Option<String>,
    /// Its name, or its text.
    pub rule: String,
    /// How it changes a module, and which.
    pub finding: Finding,
}

/// Judges a rule of a pass by small modules on which it applies; warns of one that cannot be judged. Returns how it changes
/// a module, if it does.
pub fn judge_one(
    bench: &impl Passes,
    (pass, options): (&str, &Value),
    (name, rule): (&str, &Rule),
    listener: &dyn Listener,
) -> Option<Finding> {
    match judge_rule(bench, &Settings::default(), pass, options, rule) {
        Verdict::Sound(_) => None,
        Verdict::Unsound(finding) => Some(*finding),
        Verdict::NotJudged(why) => {
            // One that is stopped is not judged, and that is said elsewhere.
            if !listener.is_stopped() {
                listener.notice(&Notice::warning(format_args!("rule `{name}` is not judged: {why}")));
            }
            None
        }
    }
}

/// Judges the rules that a pipeline states. A text that cannot be parsed, and a rule that is not for the level of its pass, or
/// for no values of it, are left to the pass, which refuses them before the first one runs. Returns those that change what a
/// module computes; not all, if the listener stops it.
pub fn judge(stated: &[StatedRules], registry: &Registry, listener: &dyn Listener) -> Vec<Unsound> {
    let bench = Registered::new(registry).with_listener(listener);
    let (mut judged, mut unsound) = (BTreeSet::new(), Vec::new());
    for StatedRules { pass, origin, text, level, .. } in stated {
        let Ok(rules) = Rules::parse_all([(origin.clone(), text.clone())], &[]) else { continue };
        // The operators of loop programs are the same in all modules.
        if *level == RuleLevel::Prim && check_with(&rules, &Function::new(), &mut CoreFacts::default()).is_err() {
            continue;
        }
        for rule in rules.iter().filter(|rule| rule.level() == *level) {
            if listener.is_stopped() {
                return unsound;
            }
            if !judged.insert((pass, rule.to_string())) {
                continue;
            }
            let name = rule.name.as_ref().map_or_else(|| rule.to_string(), |name| name.text.clone());
            let found = judge_one(&bench, (pass, &StatedRules::options_of(rule)), (&name, rule), listener);
            unsound.extend(found.map(|finding| {
                let (line, column) = rule.span.place(text);
                Unsound { place: Some(format!("{origin}:{line}:{column}")), rule: name, finding }
            }));
        }
    }
    unsound
}

impl Unsound {
    /// The error about some rules; none if there are no rules.
    pub fn error(all: &[Self]) -> Option<Error> {
        let (first, others) = all.split_first()?;
        let error = Error::new(format_args!("{} changes what a module computes", first.named())).with_code(UNSOUND);
        let error = others.iter().fold(first.shown(error), |error, other| {
            other.shown(error.with_line(format_args!("and {}", other.named())))
        });
        let help = "state the conditions under which it holds, or use it as it is: `--no-judge`";
        Some(error.with_line("nothing was run").with_help(help))
    }

    fn named(&self) -> String {
        let place = self.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        format!("{place}rule `{}`", self.rule)
    }

    /// Adds to an error how the rule changes a module.
    fn shown(&self, error: Error) -> Error {
        let Finding { kind, message, module, .. } = &self.finding;
        let error = error.with_line(format_args!("{kind}: {}", message.replace('\n', "\n    ")));
        let lines = module.trim_end().lines();
        lines.fold(error.with_line("in the module"), |error, line| error.with_line(format_args!("  {line}")))
    }
}
