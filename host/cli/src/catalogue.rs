//! Finding plugins, and the registry of the items that they provide.

use super::{
    args_search::PluginArgs,
    terminal::{self, CliError},
};
use relais::{
    frontend::Search,
    pipeline::PipelineSpec,
    plugin::{Discovery, Policy, WritableFiles},
    registry::{Choices, Linked, Registry},
};
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
