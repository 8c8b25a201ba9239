//! Finding plugins, and the registry of the items that they provide.

use super::{
    args_search::PluginArgs,
    terminal::{self, CliError},
};
use relais::{
    plugin::{Discovery, Policy, WritableFiles},
    registry::{Choices, Linked, Registry},
};
use relais_session::{Argument, Search, Session};
use std::{env, path::Path};

/// Where the arguments say that plugins are.
pub(crate) fn search(args: &PluginArgs) -> Search {
    let executable = env::current_exe().ok();
    let beside = executable.as_deref().and_then(Path::parent).map(Path::to_owned);
    Search { beside, dirs: args.plugin_dir.clone(), files: args.plugin.clone(), policy: policy(args) }
}

/// How careful to be.
pub(crate) fn policy(args: &PluginArgs) -> Policy {
    match args.allow_writable_plugins {
        true => Policy { writable: WritableFiles::Allow },
        false => Policy { writable: WritableFiles::Refuse },
    }
}

/// Looks for plugins.
///
/// # Errors
/// Returns an error if one that an argument names cannot be used.
pub(crate) fn find(args: &PluginArgs) -> Result<Discovery, CliError> {
    match args.no_plugins {
        true => Ok(Discovery::default()),
        false => Ok(search(args).find()?),
    }
}

/// The registry of everything that was found.
///
/// # Errors
/// Returns an error if a plugin that an argument names cannot be used.
pub(crate) fn registry(args: &PluginArgs) -> Result<Registry, CliError> {
    Ok(Registry::new(find(args)?, Linked::Include, &Choices::new()))
}

/// The plugins that `RELAIS_ISOLATE` isolates.
pub(crate) fn isolated() -> Vec<Argument> {
    let listed = std::env::var("RELAIS_ISOLATE").unwrap_or_default();
    Argument::each("RELAIS_ISOLATE", listed.split_whitespace().map(str::to_owned))
}

/// The registry with the plugins in processes of their own that `RELAIS_ISOLATE` names.
///
/// # Errors
/// Returns an error if it names one that is not there, or limits that are none.
pub(crate) fn with_isolated(registry: Registry) -> Result<Registry, CliError> {
    relais_session::pipeline::with_isolated(&registry, &isolated()).map_err(CliError::new)
}

/// A session with everything that was found. Warns about unused files that the user did not name, unless warnings are off.
///
/// # Errors
/// Returns an error if a plugin that an argument names cannot be used.
pub(crate) fn session(args: &PluginArgs) -> Result<Session, CliError> {
    let registry = registry(args)?;
    for refused in registry.refused().iter().filter(|_| log::log_enabled!(log::Level::Warn)) {
        let help = refused.refusal.help().map(|help| format!("\n  help: {help}")).unwrap_or_default();
        terminal::warn(format_args!("plugin `{}` is not used: {}{help}", refused.path.display(), refused.refusal));
    }
    Ok(Session::of(registry))
}
