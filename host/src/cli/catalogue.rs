//! Finding plugins, and the registry of what they provide.

use super::{args::PluginArgs, terminal};
use relais::{
    pipeline::PipelineSpec,
    plugin::{Discovery, Policy, SearchDir, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
};
use std::env;

/// Looks for plugins beside the program, in `RELAIS_PLUGIN_PATH`, and where the arguments say.
pub(crate) fn find(args: &PluginArgs) -> Discovery {
    let executable = env::current_exe().ok();
    let listed = env::var_os("RELAIS_PLUGIN_PATH");
    let dirs = SearchDir::standard(executable.as_deref(), listed.as_deref(), &args.plugin_dir);
    let writable = match args.allow_writable_plugins {
        true => WritableFiles::Allow,
        false => WritableFiles::Refuse,
    };
    discover(&dirs, &args.plugin, Policy { writable })
}

/// The registry for a pipeline: where several versions of a plugin were found, those that it demands count.
pub(crate) fn registry_for(args: &PluginArgs, spec: &PipelineSpec) -> Registry {
    let registry = spec.registry(find(args), Linked::Exclude);
    report_refused(&registry, args);
    if registry.plugins().next().is_none() && !spec.steps.is_empty() {
        log::warn!(
            "no plugin was found\n  help: plugins are looked for beside the program, in the folders of \
             `RELAIS_PLUGIN_PATH`, and where `--plugin-dir` and `--plugin` say"
        );
    }
    registry
}

/// The registry of everything that was found.
pub(crate) fn registry(args: &PluginArgs) -> Registry {
    Registry::new(find(args), Linked::Exclude, &Choices::new())
}

/// Says what is not used: what was named in any case, other files unless nobody wants to hear warnings.
fn report_refused(registry: &Registry, args: &PluginArgs) {
    for refused in registry.refused() {
        let is_named = args.plugin.contains(&refused.path) || args.plugin_dir.contains(&refused.path);
        if is_named || log::log_enabled!(log::Level::Warn) {
            let help = refused.refusal.help().map(|help| format!("\n  help: {help}")).unwrap_or_default();
            terminal::warn(format_args!("plugin `{}` is not used: {}{help}", refused.path.display(), refused.refusal));
        }
    }
}
