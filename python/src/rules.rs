//! Judging rules before they are used, and passes of the program.

use crate::{
    errors,
    library::{self, library_of},
    module::is_same,
    pass::PyPass,
    run::{RunState, current, run},
};
use pyo3::prelude::*;
use relais::{
    frontend::StatedRules,
    manager::RunOptions,
    pass::{PassContext, RunCx, Scope},
    registry::Registry,
    transform::{Pass, RunError},
};
use relais_conformance::{
    Finding, Kit, Log, Settings, Verdict,
    bench::{Bench, Checks, Linked, OpShape, PassShape, Passes, requirements},
    interpret::Compute,
    judge_rule,
};
use relais_plugin_api::{
    diagnostics::PassError, facts::OpFactsTable, infer::Operators, ir::Function, ir::IRModule, options::Value,
    pattern::Rules,
};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

/// The passes and operators of a registry, for the run under way.
struct Registered<'a> {
    registry: &'a Registry,
    state: Arc<RunState>,
}

impl<'a> Registered<'a> {
    fn new(registry: &'a Registry) -> Self {
        Self { registry, state: current().unwrap_or_default() }
    }
}

impl Compute for Registered<'_> {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        body(&mut OpFactsTable::new(self.registry, function));
    }

    fn is_stopped(&self) -> bool {
        self.state.is_stopped()
    }
}

impl Passes for Registered<'_> {
    fn required(&self, pass: &str) -> Result<Vec<String>, PassError> {
        let of = |name: &str| Some(self.registry.pass(name).ok()?.required.clone());
        let record = self.registry.pass(pass).map_err(PassError::new)?;
        Ok(requirements(&record.name, of))
    }

    fn make(&self, pass: &str, options: &Value) -> Result<(), PassError> {
        self.registry.create(pass, options).map(drop).map_err(PassError::new)
    }

    fn run(&self, pass: &str, options: &Value, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        let pass = self.registry.create(pass, options).map_err(PassError::new)?;
        let context = Arc::new(PassContext::new(Scope { opt_level: u8::MAX, ..Scope::default() }));
        let ran = context
            .scope(|_| pass.run(module, &RunCx::new(self.registry).with_cancel(self.state.cancel())))
            .map_err(PassError::new)?;
        ran.map(|outcome| outcome.module).map_err(|failure| failure.error)
    }
}

/// Why there is no verdict about a rule: the exception that stopped the run says more.
const STOPPED: &str = "the rules were not judged to the end";

/// Judges rules by small modules on which they apply; those that cannot be judged are warned of.
///
/// # Errors
/// Returns an error that names the first rule that changes what a module computes, with the module.
pub(crate) fn judge(stated: &[StatedRules], registry: &Registry) -> Result<(), String> {
    let bench = Registered::new(registry);
    let mut judged = BTreeSet::new();
    for StatedRules { pass, origin, text, .. } in stated {
        // A text that cannot be parsed is left to its pass, which refuses it before the first one runs.
        let Ok(rules) = Rules::parse_all([(origin.clone(), text.clone())], &[]) else { continue };
        for rule in rules.iter().filter(|rule| judged.insert((pass.clone(), rule.to_string()))) {
            let name = rule.name.as_ref().map_or_else(|| rule.to_string(), |name| name.text.clone());
            match judge_rule(&bench, &Settings::default(), pass, &StatedRules::options_of(rule), rule) {
                _ if bench.is_stopped() => return Err(STOPPED.to_owned()),
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

/// Rules that are judged before the first use of the pass that has them.
pub(crate) struct Judged {
    what: What,
    verdict: Mutex<Option<Result<(), String>>>,
}

enum What {
    Stated(Vec<StatedRules>),
    Own { rules: Arc<Rules>, pass: Pass, is_judged: bool },
}

impl Judged {
    /// Rules that a pass of a plugin was given.
    pub fn stated(stated: Vec<StatedRules>) -> Self {
        Self { what: What::Stated(stated), verdict: Mutex::default() }
    }

    /// Rules of the program.
    pub fn own(rules: Arc<Rules>, pass: Pass, is_judged: bool) -> Self {
        Self { what: What::Own { rules, pass, is_judged }, verdict: Mutex::default() }
    }

    /// The rules of the program, as text.
    fn text(&self) -> Option<String> {
        match &self.what {
            What::Own { rules, .. } => Some(rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(";\n")),
            What::Stated(_) => None,
        }
    }

    /// Judges them, unless that was done.
    ///
    /// # Errors
    /// Returns an error if one changes what a module computes.
    pub fn judge(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(verdict) = self.verdict() {
            return verdict.map_err(|message| unsound(py, message));
        }
        let registry = library::registry(py)?;
        let (verdict, _) = run(py, None, |_| self.judge_here(registry))?;
        verdict.map_err(|message| unsound(py, message))
    }

    /// The same in a run that is under way.
    ///
    /// # Errors
    /// As for [`judge`](Self::judge).
    pub fn judge_here(&self, registry: &Registry) -> Result<(), String> {
        if let Some(verdict) = self.verdict() {
            return verdict;
        }
        // Not locked meanwhile: conditions are functions of Python, which may do anything.
        let verdict = match &self.what {
            What::Stated(stated) => judge(stated, registry),
            What::Own { is_judged: false, .. } => Ok(()),
            What::Own { rules, pass, .. } => judge_rules(rules, pass, registry),
        };
        // One that was stopped has no verdict.
        if current().is_none_or(|state| !state.is_stopped()) {
            *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict.clone());
        }
        verdict
    }

    fn verdict(&self) -> Option<Result<(), String>> {
        self.verdict.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The exception of a rule that changes what a module computes.
pub(crate) fn unsound(py: Python<'_>, message: String) -> PyErr {
    errors::helped(py, "RuleError", message, "state the conditions under which it holds")
}

/// Judges the rules of a pass of the program.
fn judge_rules(rules: &Rules, pass: &Pass, registry: &Registry) -> Result<(), String> {
    let bench = Own { registry: Registered::new(registry), pass, shape: None };
    for rule in rules.iter() {
        let name = rule.name.as_ref().map_or_else(|| pass.info().name.clone(), |name| name.text.clone());
        match judge_rule(&bench, &Settings::default(), &pass.info().name, &Value::Struct(Vec::new()), rule) {
            _ if bench.is_stopped() => return Err(STOPPED.to_owned()),
            Verdict::Sound(_) => {}
            Verdict::NotJudged(why) => crate::log::warn(format!("rule `{name}` is not judged: {why}")),
            Verdict::Unsound(finding) => return Err(told(&name, &finding)),
        }
    }
    Ok(())
}

fn told(name: &str, Finding { kind, message, module, .. }: &Finding) -> String {
    let module = module.trim_end();
    format!("rule `{name}` changes what a module computes\n  {kind}: {message}\n  in the module\n{module}")
}

/// A pass of the program, with the passes and operators of a registry.
struct Own<'a> {
    registry: Registered<'a>,
    pass: &'a Pass,
    shape: Option<PassShape>,
}

impl Own<'_> {
    fn is(&self, pass: &str) -> bool {
        pass == self.pass.info().name
    }
}

impl Compute for Own<'_> {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        self.registry.with_ops(function, body);
    }

    fn is_stopped(&self) -> bool {
        self.registry.is_stopped()
    }
}

impl Passes for Own<'_> {
    fn required(&self, pass: &str) -> Result<Vec<String>, PassError> {
        if !self.is(pass) {
            return self.registry.required(pass);
        }
        let mut all = Vec::new();
        for name in &self.pass.info().required {
            for pass in self.registry.required(name)?.into_iter().chain([name.clone()]) {
                if !all.contains(&pass) {
                    all.push(pass);
                }
            }
        }
        Ok(all)
    }

    fn make(&self, pass: &str, options: &Value) -> Result<(), PassError> {
        if self.is(pass) { Ok(()) } else { self.registry.make(pass, options) }
    }

    fn run(&self, pass: &str, options: &Value, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        if !self.is(pass) {
            return self.registry.run(pass, options, module);
        }
        let library = library_of(self.registry.registry);
        let context = Arc::new(PassContext::new(Scope { opt_level: u8::MAX, ..Scope::default() }));
        let ran = context.scope(|_| {
            let options = RunOptions { cancel: Some(self.registry.state.cancel()), ..RunOptions::default() };
            self.pass.run_with(&library, module, &options)
        });
        match ran.map_err(PassError::new)? {
            Ok((new, _)) => Ok((!is_same(&new, module)).then_some(new)),
            Err(RunError::Failed(failure)) => Err(failure.kind.error().clone()),
            Err(error) => Err(PassError::new(error)),
        }
    }

    fn changes_interface(&self, pass: &str, _: &Value) -> bool {
        self.is(pass) && self.pass.info().changes_interface.is_some()
    }
}

impl Bench for Own<'_> {
    fn passes(&self) -> Vec<PassShape> {
        self.shape.iter().cloned().collect()
    }

    fn operators(&self) -> Vec<OpShape> {
        Linked.operators()
    }

    fn checks_options(&self) -> Checks {
        Checks::Nobody
    }
}

/// What the kit found and did.
#[derive(Default)]
struct Findings {
    found: Mutex<Vec<Finding>>,
    judged: Mutex<Vec<String>>,
}

impl Log for Findings {
    fn case(&self, _: &str, _: &str, _: &str) {}

    fn finding(&self, finding: &Finding) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).push(finding.clone());
    }

    fn judged(&self, judged: &relais_conformance::Judged) {
        let relais_conformance::Judged {
            n_cases, n_changed, n_errors, n_compared, not_judged, rules_not_judged, ..
        } = judged;
        let mut told = format!("{n_cases} modules, {n_changed} changed, {n_errors} failed, {n_compared} compared");
        for why in not_judged.iter().chain(rules_not_judged) {
            told += &format!("; not judged: {why}");
        }
        self.judged.lock().unwrap_or_else(PoisonError::into_inner).push(told);
    }
}

/// What is wrong with a pass, as kind, message and module, and a line that says how much was tested.
pub(crate) type Told = (Vec<(String, String, String)>, String);

/// Tests a pass of the program on random modules and on given ones, and its rules on instances of their left sides.
pub(crate) fn judge_own(
    pass: &PyPass,
    n_modules: usize,
    modules: Vec<String>,
    seed: u64,
    is_strict: bool,
    registry: &Registry,
) -> Told {
    let facts = pass.pass.info();
    let texts: Vec<String> = pass.rules.iter().filter_map(|rules| rules.text()).collect();
    let mut bench = Own { registry: Registered::new(registry), pass: &pass.pass, shape: None };
    bench.shape = Some(PassShape {
        name: facts.name.clone(),
        level: facts.level,
        before: bench.required(&facts.name).unwrap_or_default(),
        ops: Vec::new(),
        options: Vec::new(),
        rules: texts.join(";\n"),
        samples: Vec::new(),
    });
    let only = vec![facts.name.clone()];
    let settings = Settings { n_modules, modules, seed, is_strict, only, ..Settings::default() };
    let log = Findings::default();
    Kit::with(settings).judge(&bench, &log);
    let found = log.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let found = found.into_iter().map(|finding| (finding.kind.to_string(), finding.message, finding.module)).collect();
    (found, log.judged.into_inner().unwrap_or_else(PoisonError::into_inner).join("; "))
}
