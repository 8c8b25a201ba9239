//! Finding plugins, and the registry of the items that they provide.

use super::{
    args::PluginArgs,
    terminal::{self, CliError},
};
use etcetera::BaseStrategy;
use relais::{
    pipeline::PipelineSpec,
    plugin::{Discovery, Policy, SearchDir, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
};
use std::{env, path::PathBuf};

/// The folders that are searched for plugins: the program's, the user's own, those of `RELAIS_PLUGIN_PATH`, and those
/// of the arguments.
pub(crate) fn search_dirs(args: &PluginArgs) -> Vec<SearchDir> {
    let executable = env::current_exe().ok();
    let listed = env::var_os("RELAIS_PLUGIN_PATH");
    SearchDir::standard(executable.as_deref(), user_dir().as_deref(), listed.as_deref(), &args.plugin_dir)
}

/// The user's own folder of plugins: in `RELAIS_HOME`, otherwise where the system keeps the data of programs for each
/// user. `None` for a user without a home.
pub(crate) fn user_dir() -> Option<PathBuf> {
    let home = env::var_os("RELAIS_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let home = home.or_else(|| Some(etcetera::choose_base_strategy().ok()?.data_dir().join("relais")))?;
    Some(home.join("plugins"))
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
    if args.no_plugins {
        return Ok(Discovery::default());
    }
    let found = discover(&search_dirs(args), &args.plugin, policy(args));
    let is_named = |path: &PathBuf| args.plugin.contains(path) || args.plugin_dir.contains(path);
    match found.refused.iter().find(|refused| is_named(&refused.path)) {
        None => Ok(found),
        Some(refused) => {
            let error = format!("plugin `{}` is not used: {}", refused.path.display(), refused.refusal);
            Err(refused.refusal.help().into_iter().fold(CliError::new(error), CliError::help))
        }
    }
}

/// The registry for a pipeline: where several versions of a plugin were found, those that it demands count.
///
/// # Errors
/// Returns an error if a plugin that an argument names cannot be used.
pub(crate) fn registry_for(args: &PluginArgs, spec: &PipelineSpec) -> Result<Registry, CliError> {
    Ok(choose(&registry(args)?, spec, args))
}

/// The same, of everything that was found.
pub(crate) fn choose(all: &Registry, spec: &PipelineSpec, args: &PluginArgs) -> Registry {
    let registry = spec.choose(all);
    report_refused(&registry);
    let is_empty = registry.plugins().next().is_none() && !spec.steps.is_empty();
    if is_empty && args.no_plugins {
        log::warn!(
            "no plugin is used: `--no-plugins` leaves out those in files, and none is linked into this program\n  \
             help: run without `--no-plugins` what needs passes"
        );
    } else if is_empty {
        log::warn!(
            "no plugin was found\n  help: plugins are looked for beside the program, in the user's own folder \
             (`relais plugin install`), in those of `RELAIS_PLUGIN_PATH`, and where `--plugin-dir` and `--plugin` say"
        );
    }
    registry
}

/// The registry of everything that was found.
///
/// # Errors
/// Returns an error if a plugin that an argument names cannot be used.
pub(crate) fn registry(args: &PluginArgs) -> Result<Registry, CliError> {
    Ok(Registry::new(find(args)?, Linked::Include, &Choices::new()))
}

/// Warns about unused files that the user did not name, unless warnings are off.
fn report_refused(registry: &Registry) {
    for refused in registry.refused().iter().filter(|_| log::log_enabled!(log::Level::Warn)) {
        let help = refused.refusal.help().map(|help| format!("\n  help: {help}")).unwrap_or_default();
        terminal::warn(format_args!("plugin `{}` is not used: {}{help}", refused.path.display(), refused.refusal));
    }
}
