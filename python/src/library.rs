//! The passes and options of this process: those of plugins, and those of the program.

use crate::{errors, judged::Judged, plugins::registry, schema};
use pyo3::{
    exceptions::{PyKeyError, PyValueError},
    prelude::*,
};
use relais::{
    listing::{Listed, analysis_json, list_json, option_json},
    options::OptionSchema,
    pass::{Catalogue, PassFacts},
    registry::Registry,
    transform::{OwnAnalysis, Pass, PassLibrary},
};
use relais_plugin_api::pass::Requirement;
use serde_json::json;
use std::{
    collections::BTreeSet,
    iter,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The passes of the program.
static OWN: Mutex<Vec<Arc<Registered>>> = Mutex::new(Vec::new());

/// A pass of the program that is known by its name.
pub(crate) struct Registered {
    pub pass: Pass,
    /// The pass as an object, which owns what its native part calls.
    pub object: Py<PyAny>,
    /// The rules that are judged before its first use.
    pub rules: Vec<Arc<Judged>>,
    /// The module of Python that registered it.
    pub module: String,
}

/// The analyses of the program.
static ANALYSES: Mutex<Vec<Arc<RegisteredAnalysis>>> = Mutex::new(Vec::new());

/// An analysis of the program that is known by its name.
pub(crate) struct RegisteredAnalysis {
    pub analysis: OwnAnalysis,
    /// The module of Python that registered it.
    pub module: String,
}

fn analyses() -> MutexGuard<'static, Vec<Arc<RegisteredAnalysis>>> {
    ANALYSES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The options of contexts of the program.
static CONFIG: Mutex<Vec<OwnOption>> = Mutex::new(Vec::new());

/// An option of contexts of the program.
#[derive(Clone)]
pub(crate) struct OwnOption {
    pub schema: OptionSchema,
    /// The class of Python that describes it.
    pub class: String,
}

impl OwnOption {
    /// Its key and the other keys that set it.
    fn names(&self) -> impl Iterator<Item = &String> {
        iter::once(&self.schema.name).chain(&self.schema.aliases)
    }
}

fn config() -> MutexGuard<'static, Vec<OwnOption>> {
    CONFIG.lock().unwrap_or_else(PoisonError::into_inner)
}

fn own() -> MutexGuard<'static, Vec<Arc<Registered>>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The plugins of this process, with the passes of the program.
pub(crate) fn library(py: Python<'_>) -> PyResult<PassLibrary<'static>> {
    Ok(library_of(registry(py)?))
}

/// A registry, with the passes of the program: to look at, since nothing keeps them for a run.
pub(crate) fn library_of(registry: &Registry) -> PassLibrary<'static> {
    known_of(registry).0
}

/// The same with these passes themselves, which run as long as they are kept.
pub(crate) fn known_of(registry: &Registry) -> (PassLibrary<'static>, OwnItems) {
    let own = OwnItems::now();
    let config = own.config.iter().map(|own| &own.schema);
    let analyses = own.analyses.iter().map(|own| &own.analysis);
    (relais_session::library(registry, own.passes.iter().map(|own| &own.pass), config, analyses), own)
}

/// The passes, options and analyses that are the program's own at one time: another thread may replace a pass while it is in use.
pub(crate) struct OwnItems {
    pub passes: Vec<Arc<Registered>>,
    pub config: Vec<OwnOption>,
    pub analyses: Vec<Arc<RegisteredAnalysis>>,
}

impl OwnItems {
    /// Those that are known now.
    pub fn now() -> Self {
        Self { passes: own().clone(), config: config().clone(), analyses: analyses().clone() }
    }

    /// The one that has these facts.
    pub fn find(&self, facts: &PassFacts) -> Option<&Registered> {
        self.passes.iter().map(|own| &**own).find(|own| std::ptr::eq(own.pass.info(), facts))
    }

    /// The rules of the passes that others require, by the names that these state.
    pub fn rules_of_required(&self, library: &PassLibrary<'_>, required: &[Requirement]) -> Vec<Arc<Judged>> {
        let (mut open, mut seen, mut rules) = (required.to_vec(), BTreeSet::new(), Vec::new());
        while let Some(Requirement { pass: name, .. }) = open.pop() {
            // A name that does not resolve is an error of the run.
            if let (true, Ok(facts)) = (seen.insert(name.clone()), library.pass(&name)) {
                rules.extend(self.find(&facts).into_iter().flat_map(|own| own.rules.iter().cloned()));
                open.extend(facts.required.iter().cloned());
            }
        }
        rules
    }
}

/// Adds an item in place of the one of its name; returns what it replaces. `named` returns an item's name and the module of
/// Python that registered it.
///
/// # Errors
/// Returns the other module that registered an item of this name, unless that is to be replaced.
fn put<T>(
    all: &Mutex<Vec<Arc<T>>>,
    new: T,
    is_override: bool,
    named: impl Fn(&T) -> (&String, &String),
) -> Result<Vec<Arc<T>>, String> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    let (name, module) = named(&new);
    let is_same = |own: &Arc<T>| named(own).0 == name;
    match all.iter().find(|own| is_same(own) && named(own).1 != module && !is_override) {
        Some(other) => Err(named(other).1.clone()),
        None => {
            let replaced = all.extract_if(.., |own| is_same(own)).collect();
            all.push(Arc::new(new));
            Ok(replaced)
        }
    }
}

/// Makes a pass known by its name; one that the same module registered is replaced.
pub(crate) fn register(py: Python<'_>, new: Registered, is_override: bool) -> PyResult<()> {
    let (name, module) = (new.pass.info().name.clone(), new.module.clone());
    if !name.contains('.') {
        let message = format!("the name of a registered pass has a prefix and a dot, as in `acme.{name}`");
        return Err(PyValueError::new_err(message));
    }
    let conflict = |other: &str, help: &str| {
        let message = format!("`{module}` registers a pass `{name}`, and {other} has one of this name");
        Err(errors::helped(py, "RegistrationError", message, help))
    };
    if let Ok(facts) = Catalogue::pass(registry(py)?, &name)
        && (facts.name == name || facts.aliases.contains(&name))
    {
        return conflict(&format!("the plugin `{}`", facts.plugin), "choose another prefix");
    }
    let replaced = put(&OWN, new, is_override, |own| (&own.pass.info().name, &own.module));
    let help = "rename one of them, or replace it by `override=True`";
    // A pass may hold objects of Python, whose finalizers run here.
    replaced.map(drop).or_else(|other| conflict(&format!("`{other}`"), help))
}

/// Makes an analysis known by its name; one that the same module registered is replaced.
pub(crate) fn register_analysis(py: Python<'_>, new: RegisteredAnalysis, is_override: bool) -> PyResult<()> {
    let (name, module) = (new.analysis.info().name.clone(), new.module.clone());
    let conflict = |other: &str, help: &str| {
        let message = format!("`{module}` registers an analysis `{name}`, and {other} has one of this name");
        Err(errors::helped(py, "RegistrationError", message, help))
    };
    if let Some(facts) = Catalogue::analyses(registry(py)?).into_iter().find(|facts| facts.name == name) {
        let other =
            if facts.plugin.is_empty() { "the host".to_owned() } else { format!("the plugin `{}`", facts.plugin) };
        return conflict(&other, "choose another prefix");
    }
    let replaced = put(&ANALYSES, new, is_override, |own| (&own.analysis.info().name, &own.module));
    let help = "rename one of them, or replace it by `override=True`";
    // It may hold objects of Python, whose finalizers run here.
    replaced.map(drop).or_else(|other| conflict(&format!("`{other}`"), help))
}

/// Forgets an analysis of the program.
#[pyfunction]
pub(crate) fn unregister_analysis(name: &str) -> PyResult<()> {
    let removed: Vec<_> = analyses().extract_if(.., |own| own.analysis.info().name == name).collect();
    match removed.is_empty() {
        true => Err(PyKeyError::new_err(name.to_owned())),
        false => Ok(()),
    }
}

/// Forgets a pass of the program.
#[pyfunction]
pub(crate) fn unregister_pass(name: &str) -> PyResult<()> {
    let removed: Vec<_> = own().extract_if(.., |own| own.pass.info().name == name).collect();
    match removed.is_empty() {
        true => Err(PyKeyError::new_err(name.to_owned())),
        false => Ok(()),
    }
}

/// Makes options of contexts known that a class describes; those that the class registered before are replaced.
#[pyfunction]
pub(crate) fn register_config(
    py: Python<'_>,
    source: &str,
    options: &Bound<'_, PyAny>,
    is_override: bool,
) -> PyResult<()> {
    let new: Vec<OwnOption> =
        schema::options(options)?.into_iter().map(|schema| OwnOption { schema, class: source.to_owned() }).collect();
    let conflict = |name: &str, other: &str, help: &str| {
        let message = format!("`{source}` registers an option `{name}`, and {other} has one of this name");
        Err(errors::helped(py, "RegistrationError", message, help))
    };
    let mut seen = BTreeSet::new();
    if let Some(twice) = new.iter().flat_map(OwnOption::names).find(|name| !seen.insert(*name)) {
        return Err(PyValueError::new_err(format!("`{source}` names two options `{twice}`")));
    }
    let (registry, library) = (registry(py)?, library(py)?);
    for name in &seen {
        let of_plugin = Catalogue::config_options(registry).into_iter().find(|facts| facts.is_named(name));
        if let Some(facts) = of_plugin {
            return conflict(name, &format!("the plugin `{}`", facts.plugins.join("`, `")), "choose another prefix");
        }
        // The key would set the option of the pass no more.
        let of_pass = name.rsplit_once('.').and_then(|(pass, option)| Some((library.pass(pass).ok()?, option)));
        if let Some((pass, _)) = of_pass.filter(|(pass, name)| pass.options.iter().any(|option| option.name == *name)) {
            return conflict(name, &format!("the pass `{}`", pass.name), "choose another prefix");
        }
    }
    let mut config = config();
    let is_taken = |own: &OwnOption| own.class != source && own.names().any(|name| seen.contains(name));
    if let Some(other) = config.iter().find(|own| is_taken(own)).filter(|_| !is_override) {
        let (name, other) = (other.names().find(|name| seen.contains(name)).cloned(), other.class.clone());
        drop(config);
        let help = "rename one of them, or replace it by `override=True`";
        return conflict(&name.unwrap_or_default(), &format!("`{other}`"), help);
    }
    config.retain(|own| own.class != source && !is_taken(own));
    drop(seen);
    config.extend(new);
    Ok(())
}

/// Forgets an option of contexts of the program.
#[pyfunction]
pub(crate) fn unregister_config(key: &str) -> PyResult<()> {
    let mut config = config();
    let at = config.iter().position(|own| own.schema.name == key);
    at.map(|at| drop(config.remove(at))).ok_or_else(|| PyKeyError::new_err(key.to_owned()))
}

/// The full name of a pass.
#[pyfunction]
pub(crate) fn full_name(py: Python<'_>, name: &str) -> PyResult<String> {
    let library = library(py)?;
    // One with a mandatory option is not made, but has a name.
    if let Ok(facts) = library.pass(name) {
        return Ok(facts.name.clone());
    }
    let found = library.get_pass(name);
    found.map(|pass| pass.info().name.clone()).map_err(|faults| errors::of_faults(py, "PipelineError", &faults))
}

/// Everything of a kind, as JSON.
#[pyfunction]
pub(crate) fn list_items(py: Python<'_>, kind: &str) -> PyResult<String> {
    let what = match kind {
        "passes" => Listed::Passes,
        "plugins" => Listed::Plugins,
        "operators" => Listed::Operators,
        "options" => Listed::Options,
        "instruments" => Listed::Instruments,
        "pipelines" => Listed::Pipelines,
        "rules" => Listed::Rules,
        "analyses" => Listed::Analyses,
        _ => return Err(PyValueError::new_err(format!("`{kind}` cannot be listed"))),
    };
    let registry = registry(py)?;
    let mut list = list_json(registry, what);
    if let (Listed::Options, Some(list)) = (what, list.as_array_mut()) {
        list.extend(OwnItems::now().config.iter().map(|own| {
            let mut json = option_json(&own.schema);
            json["plugin"] = serde_json::Value::Null;
            json["class"] = json!(own.class);
            json
        }));
    }
    if let (Listed::Analyses, Some(list)) = (what, list.as_array_mut()) {
        list.extend(OwnItems::now().analyses.iter().map(|own| {
            let mut json = analysis_json(own.analysis.info());
            json["module"] = json!(own.module);
            json
        }));
    }
    if let (Listed::Passes, Some(list)) = (what, list.as_array_mut()) {
        for facts in library_of(registry).passes().iter().filter(|facts| facts.plugin.is_empty()) {
            list.push(json!({
                "name": facts.name,
                "aliases": facts.aliases,
                "opt_level": facts.opt_level,
                "kind": facts.level.name(),
                "phase": facts.phase.name(),
                "runtime": facts.runtime,
                "target": facts.target,
                "required": facts.required.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "extends": facts.extends,
                "doc": facts.doc,
                "rules": [],
                "options": facts.options.iter().map(option_json).collect::<Vec<_>>(),
                "statistics": [],
                "plugin": null,
                "version": null,
            }));
        }
    }
    Ok(list.to_string())
}
