//! The plugins of this process.

use crate::{errors, log, run::detached};
use pyo3::prelude::*;
use relais::{
    plugin::{Policy, WritableFiles},
    registry::{Choices, Linked, Registry},
};
use relais_session::{Error, Search};
use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Where plugins are looked for, and what was found.
struct Found {
    search: Option<Search>,
    /// Changes with it.
    version: u64,
    registry: Option<&'static Registry>,
}

static FOUND: Mutex<Found> = Mutex::new(Found { search: None, version: 0, registry: None });

fn found() -> MutexGuard<'static, Found> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The plugins that are linked into the package and those that a search finds.
fn look(search: &Search) -> Result<&'static Registry, Error> {
    // Plugins that were opened stay open, and objects of Python may outlive any other holder.
    let registry = Box::leak(Box::new(Registry::new(search.find()?, Linked::Include, &Choices::new())));
    log::know(registry.plugins().map(|provider| provider.records().plugin.name.as_str()));
    Ok(registry)
}

/// From now on, the plugins of this registry are those of the process.
#[cfg(target_os = "linux")]
pub(crate) fn use_alone(registry: Registry) -> &'static Registry {
    let registry = Box::leak(Box::new(registry));
    let mut found = found();
    *found = Found { search: None, version: found.version + 1, registry: Some(registry) };
    registry
}

fn warn_of_refused(registry: &Registry) {
    for refused in registry.refused() {
        let help = refused.refusal.help().map(|help| format!("\n  help: {help}")).unwrap_or_default();
        log::warn(format!("plugin `{}` is not used: {}{help}", refused.path.display(), refused.refusal));
    }
}

/// The plugins of the package and of its search, looked for once.
pub(crate) fn registry(py: Python<'_>) -> PyResult<&'static Registry> {
    let found = detached(py, || -> Result<&'static Registry, Error> {
        loop {
            // Not locked while plugins are looked for: a fork would find it locked for ever.
            let (search, version) = {
                let found = found();
                if let Some(registry) = found.registry {
                    return Ok(registry);
                }
                (found.search.clone().unwrap_or_default(), found.version)
            };
            let new = look(&search)?;
            let mut found = found();
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
        let mut found = found();
        *found = Found { search: Some(new), version: found.version + 1, registry: Some(registry) };
        drop(found);
        warn_of_refused(registry);
        Ok(())
    })?;
    found.map_err(|error| errors::of_plugins(py, &error))
}
