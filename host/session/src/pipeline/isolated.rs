//! Plugins that a user wants to run in processes of their own.

use crate::argument::Argument;
use relais::{
    isolation::Isolation,
    pipeline::Code,
    registry::{Provider, Registry},
    words::nearest,
};

/// A plugin that is to run in a process of its own.
pub(crate) struct Isolated {
    /// The place of the argument that asks for it.
    pub argument: usize,
    /// Its name.
    pub plugin: String,
    /// Its limits; none if none are stated.
    pub limits: Option<Isolation>,
}

/// An argument that asks for something impossible.
pub(crate) struct NotIsolated {
    /// The place of the argument.
    pub argument: usize,
    /// Its kind.
    pub code: Code,
    /// The fault.
    pub message: String,
    /// How it can be right.
    pub help: Option<String>,
}

/// The plugins that arguments name: `NAME`, or `all` for each that has passes, with limits after a colon.
pub(crate) fn isolated(arguments: &[Argument], registry: &Registry) -> Result<Vec<Isolated>, Vec<NotIsolated>> {
    let (mut isolated, mut faults) = (Vec::new(), Vec::new());
    for (argument, Argument { value, .. }) in arguments.iter().enumerate() {
        let (name, limits) = value.split_once(':').unwrap_or((value, ""));
        let limits = match limits.parse::<Isolation>() {
            Ok(isolation) => (!limits.is_empty()).then_some(isolation),
            Err(message) => {
                faults.push(NotIsolated { argument, code: Code::Value, message, help: None });
                continue;
            }
        };
        let plugins = registry.plugins().chain(registry.set_aside());
        let is_meant = |provider: &&Provider| match name {
            "all" => !provider.records().passes.is_empty(),
            _ => provider.records().plugin.name == name,
        };
        let mut names: Vec<&String> =
            plugins.filter(is_meant).map(|provider| &provider.records().plugin.name).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() && name != "all" {
            let known = registry.plugins().map(|provider| &*provider.records().plugin.name);
            let help = match nearest(name, known).first() {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => "`relais list plugins` shows the ones that were found".to_owned(),
            };
            let message = format!("there is no plugin `{name}` to isolate");
            faults.push(NotIsolated { argument, code: Code::UnknownName, message, help: Some(help) });
        }
        isolated.extend(names.into_iter().map(|plugin| Isolated {
            argument,
            plugin: plugin.clone(),
            limits: limits.clone(),
        }));
    }
    if faults.is_empty() { Ok(isolated) } else { Err(faults) }
}

/// The same registry with the plugins that arguments name in processes of their own.
///
/// # Errors
/// Returns what is wrong with the first argument that asks for something impossible.
pub fn with_isolated(registry: &Registry, arguments: &[Argument]) -> Result<Registry, String> {
    let isolated = isolated(arguments, registry).map_err(|faults| {
        faults.into_iter().next().map_or_else(String::new, |NotIsolated { argument, message, help, .. }| {
            let Argument { origin, value } = &arguments[argument];
            let help = help.map(|help| format!("; {help}")).unwrap_or_default();
            format!("`{origin}` is `{value}`: {message}{help}")
        })
    })?;
    let limits = |plugin: &str| {
        let asked = isolated.iter().rfind(|isolated| isolated.plugin == plugin)?;
        Some(asked.limits.clone().unwrap_or_default())
    };
    Ok(registry.isolate(|plugin| limits(&plugin.name), "", Vec::new()))
}
