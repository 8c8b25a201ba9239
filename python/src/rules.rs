//! Judging the rules that a run is given, before anything runs.

use relais::{
    frontend::StatedRules,
    pass::{PassContext, RunCx, Scope},
    registry::Registry,
};
use relais_conformance::{
    Finding, Settings, Verdict, bench::Passes, bench::requirements, interpret::Compute, judge_rule,
};
use relais_plugin_api::{
    diagnostics::PassError, facts::OpFactsTable, infer::Operators, ir::Function, ir::IRModule, options::Value,
    pattern::Rules,
};
use std::{collections::BTreeSet, sync::Arc};

/// The passes and operators of a registry.
struct Registered<'a>(&'a Registry);

impl Compute for Registered<'_> {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        body(&mut OpFactsTable::new(self.0, function));
    }
}

impl Passes for Registered<'_> {
    fn required(&self, pass: &str) -> Result<Vec<String>, PassError> {
        let of = |name: &str| Some(self.0.pass(name).ok()?.required.clone());
        let record = self.0.pass(pass).map_err(PassError::new)?;
        Ok(requirements(&record.name, of))
    }

    fn make(&self, pass: &str, options: &Value) -> Result<(), PassError> {
        self.0.create(pass, options).map(drop).map_err(PassError::new)
    }

    fn run(&self, pass: &str, options: &Value, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        let pass = self.0.create(pass, options).map_err(PassError::new)?;
        let context = Arc::new(PassContext::new(Scope { opt_level: u8::MAX, ..Scope::default() }));
        let ran = context.scope(|_| pass.run(module, &RunCx::new(self.0))).map_err(PassError::new)?;
        ran.map(|outcome| outcome.module).map_err(|failure| failure.error)
    }
}

/// Judges rules by small modules on which they apply; those that cannot be judged are warned of.
///
/// # Errors
/// Returns an error that names the first rule that changes what a module computes, with the module.
pub(crate) fn judge(stated: &[StatedRules], registry: &Registry) -> Result<(), String> {
    let mut judged = BTreeSet::new();
    for StatedRules { pass, origin, text, .. } in stated {
        // A text that cannot be parsed is left to its pass, which refuses it before the first one runs.
        let Ok(rules) = Rules::parse_all([(origin.clone(), text.clone())], &[]) else { continue };
        for rule in rules.iter().filter(|rule| judged.insert((pass.clone(), rule.to_string()))) {
            let name = rule.name.as_ref().map_or_else(|| rule.to_string(), |name| name.text.clone());
            match judge_rule(&Registered(registry), &Settings::default(), pass, &StatedRules::options_of(rule), rule) {
                Verdict::Sound(_) => {}
                Verdict::NotJudged(why) => crate::log::warn(format!("rule `{name}` is not judged: {why}")),
                Verdict::Unsound(finding) => {
                    let Finding { kind, message, module, .. } = &*finding;
                    let (line, column) = rule.span.place(text);
                    return Err(format!(
                        "{origin}:{line}:{column}: rule `{name}` changes what a module computes\n  {kind}: {message}\n  \
                         in the module\n{}",
                        module.trim_end()
                    ));
                }
            }
        }
    }
    Ok(())
}
