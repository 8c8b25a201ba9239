//! Judging the rules that a run is given, before anything runs.

use super::{
    args::{JudgeArgs, Verbosity},
    plugin_bench::Registered,
    terminal::{self, CliError},
};
use relais::{frontend::StatedRules, registry::Registry};
use relais_conformance::{Finding, Settings, Verdict, judge_rule};
use relais_plugin_api::{
    ir::Function,
    pattern::{RuleLevel, Rules, check_with},
    prim::CoreFacts,
};
use std::collections::BTreeSet;

/// The code of a rule whose two sides compute different results.
const UNSOUND: &str = "L030";

/// Judges rules by small modules on which they apply. A text that cannot be parsed, and a rule that is not for the level of
/// its pass, or for no values of it, are left to the pass, which refuses them before the first one runs. With `--no-judge`,
/// nothing is done.
///
/// # Errors
/// Returns an error that names the rules that change what a module computes, each with the module.
pub(crate) fn judge(
    args: &JudgeArgs,
    stated: &[StatedRules],
    registry: &Registry,
    verbosity: Verbosity,
) -> Result<(), CliError> {
    if args.no_judge {
        return Ok(());
    }
    let mut judged = BTreeSet::new();
    let mut unsound = Vec::new();
    for StatedRules { pass, origin, text, level, .. } in stated {
        let Ok(rules) = Rules::parse_all([(origin.clone(), text.clone())], &[]) else { continue };
        // The operators of loop programs are the same in all modules.
        if *level == RuleLevel::Prim && check_with(&rules, &Function::new(), &mut CoreFacts::default()).is_err() {
            continue;
        }
        for rule in rules.iter().filter(|rule| rule.level() == *level) {
            if !judged.insert((pass, rule.to_string())) {
                continue;
            }
            let name = rule.name.as_ref().map_or_else(|| rule.to_string(), |name| name.text.clone());
            let options = StatedRules::options_of(rule);
            match judge_rule(&Registered(registry), &Settings::default(), pass, &options, rule) {
                Verdict::Unsound(finding) => {
                    let (line, column) = rule.span.place(text);
                    unsound.push((name, format!("{origin}:{line}:{column}"), finding));
                }
                Verdict::NotJudged(why) if verbosity > Verbosity::Quiet => {
                    terminal::warn(format_args!("rule `{name}` is not judged: {why}"));
                }
                Verdict::NotJudged(_) | Verdict::Sound(_) => {}
            }
        }
    }
    let Some((name, place, finding)) = unsound.first() else { return Ok(()) };
    let error = CliError::new(format_args!("{place}: rule `{name}` changes what a module computes")).code(UNSOUND);
    let error = shown(error, finding);
    let error = unsound[1..].iter().fold(error, |error, (name, place, finding)| {
        shown(error.line(format_args!("and {place}: rule `{name}`")), finding)
    });
    let help = "state the conditions under which it holds, or use it as it is: `--no-judge`";
    Err(error.line("nothing was run").help(help))
}

/// Adds to an error how a rule changes a module.
fn shown(error: CliError, finding: &Finding) -> CliError {
    let Finding { kind, message, module, .. } = finding;
    let error = error.line(format_args!("{kind}: {}", message.replace('\n', "\n    ")));
    module.trim_end().lines().fold(error.line("in the module"), |error, line| error.line(format_args!("  {line}")))
}
