//! Judging rules before they are used, and passes of the program.

use crate::{
    errors,
    judged::{Judged, What},
    library::known_of,
    module::is_same,
    plugins::registry,
    run::{current, run},
};
use pyo3::prelude::*;
use relais::{
    manager::ManagerOptions,
    pass::{PassContext, Scope},
    registry::Registry,
    transform::{Pass, RunError},
};
use relais_conformance::{
    Finding, Kit, Log, Settings,
    bench::{Bench, Checks, LinkedItems, OpShape, PassShape, Passes},
    interpret::Compute,
};
use relais_plugin_api::{
    diagnostics::PassError,
    infer::Operators,
    ir::{Function, IRModule},
    options::Value,
    pass::Requirement,
    pattern::{Rule, Rules},
};
use relais_session::{
    JudgedRules, Listener,
    rules::{Registered, Unsound, judge, judge_one},
};
use std::sync::{Arc, Mutex, PoisonError};

impl Judged {
    /// Judges them, unless that was done.
    ///
    /// # Errors
    /// Returns an error if one changes what a module computes.
    pub fn judge(&self, py: Python<'_>) -> PyResult<()> {
        let unsound = match self.verdict() {
            Some(verdict) => verdict,
            None => {
                let registry = registry(py)?;
                run(py, None, |_| JudgedRules::judge(self, registry, &*current().unwrap_or_default()))?.0
            }
        };
        Unsound::error(&unsound).map_or(Ok(()), |error| Err(errors::of_error(py, "RuleError", &error)))
    }
}

impl JudgedRules for Judged {
    fn judge(&self, registry: &Registry, listener: &dyn Listener) -> Vec<Unsound> {
        if let Some(verdict) = self.verdict() {
            return verdict;
        }
        // Not locked meanwhile: conditions are functions of Python, which may do anything.
        let verdict = match &self.what {
            What::Stated(stated) => judge(stated, registry, listener),
            What::Own { is_judged: false, .. } => Vec::new(),
            What::Own { rules, pass, .. } => judge_rules(rules, pass, registry, listener),
        };
        // One that was stopped has no verdict.
        if !listener.is_stopped() {
            self.keep(verdict.clone());
        }
        verdict
    }
}

/// Rules as sessions judge them.
pub(crate) fn own_rules(rules: &[Arc<Judged>]) -> Vec<Arc<dyn JudgedRules>> {
    rules.iter().map(|rules| rules.clone() as Arc<dyn JudgedRules>).collect()
}

/// Judges the rules of a pass of the program.
fn judge_rules(rules: &Rules, pass: &Pass, registry: &Registry, listener: &dyn Listener) -> Vec<Unsound> {
    let bench = Own { registry: Registered::new(registry).with_listener(listener), listener, pass, shape: None };
    let name_of = |rule: &Rule| rule.name.as_ref().map_or_else(|| pass.info().name.clone(), |name| name.text.clone());
    let mut unsound = Vec::new();
    for rule in rules.iter().take_while(|_| !listener.is_stopped()) {
        let name = name_of(rule);
        let given = (pass.info().name.as_str(), &Value::Struct(Vec::new()));
        let found = judge_one(&bench, given, (&name, rule), listener);
        unsound.extend(found.map(|finding| Unsound { place: None, rule: name, finding }));
    }
    unsound
}

/// A pass of the program, with the passes and operators of a registry.
struct Own<'a> {
    registry: Registered<'a>,
    listener: &'a dyn Listener,
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
    fn required(&self, pass: &str) -> Result<Vec<Requirement>, PassError> {
        if !self.is(pass) {
            return self.registry.required(pass);
        }
        let mut all = Vec::new();
        for required in &self.pass.info().required {
            for pass in self.registry.required(&required.pass)?.into_iter().chain([required.clone()]) {
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
        let (library, _own) = known_of(self.registry.registry());
        let context = Arc::new(PassContext::new(Scope { opt_level: u8::MAX, ..Scope::default() }));
        let ran = context.scope(|_| {
            let options = ManagerOptions { cancel: self.listener.cancel(), ..ManagerOptions::default() };
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
        LinkedItems.operators()
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
    (pass, rules): (&Pass, &[Arc<Judged>]),
    n_modules: usize,
    modules: Vec<String>,
    seed: u64,
    is_strict: bool,
    registry: &Registry,
) -> Told {
    let facts = pass.info();
    let texts: Vec<String> = rules.iter().filter_map(|rules| rules.text()).collect();
    let state = current().unwrap_or_default();
    let listener: &dyn Listener = &*state;
    let registered = Registered::new(registry).with_listener(listener);
    let mut bench = Own { registry: registered, listener, pass, shape: None };
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
