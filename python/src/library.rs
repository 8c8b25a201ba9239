//! The plugins and passes of this process.

use crate::{
    errors,
    pass::PyPass,
    rules::{Judged, own_rules},
    run::detached,
};
use pyo3::{
    exceptions::{PyKeyError, PyValueError},
    prelude::*,
};
use relais::{
    listing::{Listed, list_json, option_json},
    pass::{Catalogue, PassFacts},
    plugin::{Policy, WritableFiles},
    registry::{Choices, Linked, Registry},
    transform::{Pass, PassLibrary},
};
use relais_session::{Error, OwnPass, Search, Session};
use serde_json::json;
use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Where plugins are looked for, and what was found.
struct Found {
    search: Option<Search>,
    /// Changes with it.
    version: u64,
    registry: Option<&'static Registry>,
}

static FOUND: Mutex<Found> = Mutex::new(Found { search: None, version: 0, registry: None });
/// The passes of the program.
static OWN: Mutex<Vec<Registered>> = Mutex::new(Vec::new());

/// A pass of the program that is known by its name.
#[derive(Clone)]
struct Registered {
    pass: Pass,
    /// The rules that are judged before its first use.
    rules: Vec<Arc<Judged>>,
    /// The module of Python that registered it.
    module: String,
}

impl Registered {
    fn own(&self) -> OwnPass {
        OwnPass { pass: self.pass.clone(), rules: own_rules(&self.rules) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The plugins that are linked into the package and those that a search finds.
fn look(search: &Search) -> Result<&'static Registry, Error> {
    // Plugins that were opened stay open, and objects of Python may outlive any other holder.
    Ok(Box::leak(Box::new(Registry::new(search.find()?, Linked::Include, &Choices::new()))))
}

fn warn_of_refused(registry: &Registry) {
    for refused in registry.refused() {
        let help = refused.refusal.help().map(|help| format!("\n  help: {help}")).unwrap_or_default();
        crate::log::warn(format!("plugin `{}` is not used: {}{help}", refused.path.display(), refused.refusal));
    }
}

/// The plugins of the package and of its search, looked for once.
pub(crate) fn registry(py: Python<'_>) -> PyResult<&'static Registry> {
    let found = detached(py, || -> Result<&'static Registry, Error> {
        loop {
            // Not locked while plugins are looked for: a fork would find it locked for ever.
            let (search, version) = {
                let found = lock(&FOUND);
                if let Some(registry) = found.registry {
                    return Ok(registry);
                }
                (found.search.clone().unwrap_or_default(), found.version)
            };
            let new = look(&search)?;
            let mut found = lock(&FOUND);
            // Other threads may have been faster, or may have named other plugins.
            if found.version != version {
                continue;
            }
            if let Some(registry) = found.registry {
                return Ok(registry);
            }
            found.registry = Some(new);
            drop(found);
            warn_of_refused(new);
            return Ok(new);
        }
    })?;
    found.map_err(|error| errors::of_plugins(py, &error))
}

/// The same, with the passes of the program.
pub(crate) fn library(py: Python<'_>) -> PyResult<PassLibrary<'static>> {
    Ok(library_of(registry(py)?))
}

/// A registry, with the passes of the program.
pub(crate) fn library_of(registry: &Registry) -> PassLibrary<'static> {
    known_of(registry).0
}

/// The same, with the rules of these passes.
pub(crate) fn known_of(registry: &Registry) -> (PassLibrary<'static>, OwnPasses) {
    let own = OwnPasses(lock(&OWN).clone());
    let passes: Vec<OwnPass> = own.0.iter().map(Registered::own).collect();
    (relais_session::library(registry, &passes), own)
}

/// A session with the passes of the program.
pub(crate) fn session(registry: &Registry) -> Session {
    let own = lock(&OWN).clone();
    own.iter().map(Registered::own).fold(Session::of(registry.clone()), Session::with_pass)
}

/// The passes of the program at one time: another thread may replace one before its rules are judged.
pub(crate) struct OwnPasses(Vec<Registered>);

impl OwnPasses {
    /// The rules of a pass.
    pub fn rules_of(&self, facts: &PassFacts) -> Vec<Arc<Judged>> {
        let found = self.0.iter().find(|own| std::ptr::eq(own.pass.info(), facts));
        found.map(|own| own.rules.clone()).unwrap_or_default()
    }

    /// The rules of the passes that others require, by the names that these state.
    pub fn rules_of_required(&self, library: &PassLibrary<'_>, required: &[String]) -> Vec<Arc<Judged>> {
        let (mut open, mut seen, mut rules) = (required.to_vec(), BTreeSet::new(), Vec::new());
        while let Some(name) = open.pop() {
            // A name that does not resolve is an error of the run.
            if let (true, Ok(facts)) = (seen.insert(name.clone()), library.pass(&name)) {
                rules.extend(self.rules_of(&facts));
                open.extend(facts.required.iter().cloned());
            }
        }
        rules
    }
}

/// Adds plugins: files, and folders that are searched, beside those of `RELAIS_PLUGIN_PATH` and the user's own folder.
#[pyfunction]
#[pyo3(signature = (plugins, plugin_dirs, allow_writable))]
pub(crate) fn configure(
    py: Python<'_>,
    plugins: Vec<PathBuf>,
    plugin_dirs: Vec<PathBuf>,
    allow_writable: bool,
) -> PyResult<()> {
    let writable = if allow_writable { WritableFiles::Allow } else { WritableFiles::Refuse };
    let new = Search { beside: None, dirs: plugin_dirs, files: plugins, policy: Policy { writable } };
    // A file that cannot be used changes nothing, also for threads that look at the same time.
    let found = detached(py, || {
        let registry = look(&new)?;
        let mut found = lock(&FOUND);
        *found = Found { search: Some(new), version: found.version + 1, registry: Some(registry) };
        drop(found);
        warn_of_refused(registry);
        Ok(())
    })?;
    found.map_err(|error| errors::of_plugins(py, &error))
}

/// Makes a pass known by its name; one that the same module registered is replaced.
#[pyfunction]
pub(crate) fn register_pass(py: Python<'_>, pass_: &PyPass, module: String, is_override: bool) -> PyResult<()> {
    let name = pass_.pass.info().name.clone();
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
    let new = Registered { pass: pass_.pass.clone(), rules: pass_.rules.clone(), module: module.clone() };
    let is_same = |own: &Registered| own.pass.info().name == name;
    let replaced: Result<Vec<_>, String> = {
        let mut own = lock(&OWN);
        match own.iter().find(|own| is_same(own) && own.module != module && !is_override) {
            Some(other) => Err(other.module.clone()),
            None => {
                let replaced = own.extract_if(.., |own| is_same(own)).collect();
                own.push(new);
                Ok(replaced)
            }
        }
    };
    match replaced {
        Err(other) => conflict(&format!("`{other}`"), "rename one of them, or replace it by `override=True`"),
        // A pass may hold objects of Python, whose finalizers run here.
        Ok(replaced) => {
            drop(replaced);
            Ok(())
        }
    }
}

/// Forgets a pass of the program.
#[pyfunction]
pub(crate) fn unregister_pass(name: &str) -> PyResult<()> {
    let removed: Vec<_> = lock(&OWN).extract_if(.., |own| own.pass.info().name == name).collect();
    match removed.is_empty() {
        true => Err(PyKeyError::new_err(name.to_owned())),
        false => Ok(()),
    }
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
        _ => return Err(PyValueError::new_err(format!("`{kind}` cannot be listed"))),
    };
    let registry = registry(py)?;
    let mut list = list_json(registry, what);
    if let (Listed::Passes, Some(list)) = (what, list.as_array_mut()) {
        for facts in library_of(registry).passes().iter().filter(|facts| facts.plugin.is_empty()) {
            list.push(json!({
                "name": facts.name,
                "aliases": facts.aliases,
                "opt_level": facts.opt_level,
                "kind": facts.level.name(),
                "phase": facts.phase.name(),
                "required": facts.required,
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
