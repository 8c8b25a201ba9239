//! `relais plugin test`: tests a plugin by running it, in a separate process.

use super::{
    args_plugin::TestArgs,
    catalogue, model,
    plugin_bench::PluginBench,
    terminal::{self, CliError},
};
use relais::{
    plugin::{AdditionRecord, PluginRecord, Records, discover},
    registry::{Choices, Linked, Registry, described, qualified},
    words::{and_list, nearest, or_list, shell_word},
};
use relais_conformance::{
    Finding, Judged, Kind, Kit, KitReport, Settings,
    bench::{Bench, Knob},
    own_arguments,
};
use relais_plugin_api::text::{self, PrintOptions};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path, time::Duration};

/// Tests a plugin.
pub(crate) fn test(args: &TestArgs) -> Result<(), CliError> {
    let (registry, records) = registry(args)?;
    let plugin = &records.plugin;
    let bench = PluginBench::new(&registry, &plugin.name)
        .ok_or_else(|| CliError::new(format!("`{}` was found and is gone", args.file.display())))?;
    let kit = Kit::with(settings(args, &bench)?);
    // A process that was started for it tests, and ends here.
    kit.judges(&bench, || confine(&registry));
    let report = kit
        .supervise(&own_arguments())
        .map_err(|error| CliError::new(format!("`{}` cannot be tested: {error}", args.file.display())))?;
    let text = match args.json {
        true => format!("{:#}\n", report_json(&args.file, plugin, &report)),
        false => format!("plugin {} {}\n\n{report}", plugin.name, plugin.version),
    };
    terminal::print(&text)?;
    match report.findings.as_slice() {
        [] => Ok(()),
        [one] => Err(failed(plugin, "1 finding", one, args)),
        [first, ..] => Err(failed(plugin, &format!("{} findings", report.findings.len()), first, args)),
    }
}

/// Keeps the process in which plugins are tested from files, the network and other processes. Isolated ones are kept from
/// them already.
fn confine(registry: &Registry) {
    #[cfg(target_os = "linux")]
    if registry.plugins().all(|provider| provider.isolation().is_none()) {
        let files: Vec<_> = registry.plugins().filter_map(|provider| provider.path().map(Path::to_owned)).collect();
        if let Err(error) = relais::serve::confine(&files) {
            log::warn!("the process in which the plugin is tested cannot be limited: {error}");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = registry;
}

fn failed(plugin: &PluginRecord, n: &str, first: &Finding, args: &TestArgs) -> CliError {
    let name = first.subject.split_once(' ').map_or("", |(_, name)| name);
    let TestArgs { seed, modules, tolerance, .. } = args;
    let mut again = format!("--only {name} --seed {seed} --modules {modules} --tolerance {tolerance}");
    if args.strict {
        again.push_str(" --strict");
    }
    if let Some(target) = &args.target {
        again.push_str(&format!(" --target {}", shell_word(Path::new(target))));
    }
    for module in &args.module {
        again.push_str(&format!(" --module {}", shell_word(module)));
    }
    CliError::new(format!("{n} in plugin `{} {}`", plugin.name, plugin.version))
        .help(format!("`{again}` gives the first again"))
}

/// The registry of the plugin and all others, except other builds of the same plugin.
fn registry(args: &TestArgs) -> Result<(Registry, Records), CliError> {
    let file = args.file.display();
    let found = discover(&[], std::slice::from_ref(&args.file), catalogue::policy(&args.plugins));
    let mut found = described(found);
    if let Some(refused) = found.refused.first() {
        let error = CliError::new(format!("plugin `{file}` is refused: {}", refused.refusal));
        return Err(error.help(refused.refusal.help().unwrap_or_else(|| "see `relais plugin check`".to_owned())));
    }
    let Some(plugin) = found.plugins.first() else {
        return Err(CliError::new(format!("`{file}` is not a plugin")).help("see `relais plugin check`"));
    };
    let records = plugin.records.clone();
    let others = catalogue::find(&args.plugins)?.plugins.into_iter();
    found.plugins.extend(others.filter(|other| other.records.plugin.name != records.plugin.name));
    let mut registry = catalogue::with_isolated(Registry::new(found, Linked::Include, &Choices::new()))?;
    registry.set_target(&target(args, &records)?);
    for AdditionRecord { parts, .. } in &records.additions {
        registry.prefer_operator(&parts.domain, &parts.name, &records.plugin.name);
    }
    if let Some((addition, versions)) = registry.idle_additions(&records.plugin.name).into_iter().next() {
        let (name, since) = (qualified(&addition.parts.domain, &addition.parts.name), addition.parts.since_version);
        let error =
            CliError::new(format!("it adds to operator `{name}` since version {since}, which no plugin describes"));
        return Err(match versions.as_slice() {
            [] => error.help("`--plugin FILE` adds the plugin that describes it"),
            versions => {
                let versions: Vec<String> = versions.iter().map(u32::to_string).collect();
                error.help(format!(
                    "it is described since version {}: an addition names one of them",
                    versions.join(", ")
                ))
            }
        });
    }
    Ok((registry, records))
}

/// The target for which what the plugin adds is judged; empty if it is none.
fn target(args: &TestArgs, records: &Records) -> Result<String, CliError> {
    let targets: BTreeSet<&str> =
        records.additions.iter().map(|it| it.target.as_str()).filter(|it| !it.is_empty()).collect();
    let known: Vec<&str> = targets.iter().copied().collect();
    match (&args.target, known.as_slice()) {
        (Some(target), _) if targets.contains(target.as_str()) => Ok(target.clone()),
        (Some(target), []) => Err(CliError::new(format!("the plugin adds nothing for the target `{target}`"))),
        (Some(target), known) => {
            let error = CliError::new(format!("the plugin adds nothing for the target `{target}`"));
            Err(error.help(format!("it does for {}", or_list(known))))
        }
        (None, []) => Ok(String::new()),
        (None, [only]) => Ok((*only).to_owned()),
        (None, known) => {
            let error = CliError::new(format!("the plugin adds to operators for the targets {}", and_list(known)));
            Err(error.help("say which one is judged: `--target NAME`"))
        }
    }
}

fn settings(args: &TestArgs, bench: &PluginBench<'_>) -> Result<Settings, CliError> {
    let mut modules = Vec::new();
    for file in &args.module {
        modules.push(text::print(&model::read(file)?.module, &PrintOptions::default()));
    }
    let mut settings = Settings {
        seed: args.seed,
        n_modules: args.modules.into(),
        time_per_node: Duration::from_micros(args.budget),
        deadline: Duration::from_secs(args.timeout.into()),
        tolerance: args.tolerance,
        is_strict: args.strict,
        modules,
        ..Settings::default()
    };
    for name in &args.allow {
        // The arguments take no other names.
        settings.allowed.extend(Kind::from_name(name));
    }
    settings.only = only(&args.only, bench)?;
    settings.kept = kept(&args.keep, bench)?;
    Ok(settings)
}

/// The full names of the selected items.
fn only(names: &[String], bench: &PluginBench<'_>) -> Result<Vec<String>, CliError> {
    let mut known: Vec<String> = bench.passes().into_iter().map(|pass| pass.name).collect();
    let operators = bench.operators().into_iter().filter(|op| op.is_judged());
    known.extend(operators.map(|op| op.full_name()));
    known.extend(bench.instruments().into_iter().map(|(name, _)| name));
    let mut all = Vec::new();
    for name in names {
        // A pass without the part before the dot, an operator without domain and version.
        let is_short_for = |full: &str| {
            let unversioned = full.split_once('@').map_or(full, |(name, _)| name);
            let short = unversioned.rsplit(['.', ':']).next();
            full == name || unversioned == name || short == Some(name)
        };
        let meant: Vec<String> = known.iter().filter(|full| is_short_for(full)).cloned().collect();
        if meant.is_empty() {
            let error = CliError::new(format!("the plugin has nothing called `{name}`"));
            let near = nearest(name, known.iter().map(String::as_str));
            return Err(if near.is_empty() { error } else { error.help(format!("did you mean {}?", or_list(&near))) });
        }
        all.extend(meant);
    }
    Ok(all)
}

/// Checks the names of options.
fn kept(names: &[String], bench: &PluginBench<'_>) -> Result<Vec<String>, CliError> {
    let passes = bench.passes();
    let options = passes.iter().flat_map(|pass| pass.options.iter().map(|option| (&pass.name, option)));
    let may_stay = |option: &Knob| option.default.is_some() || option.is_optional;
    let known: Vec<(String, bool)> =
        options.map(|(pass, option)| (format!("{pass}.{}", option.name), may_stay(option))).collect();
    for name in names {
        match known.iter().find(|(full, _)| full == name) {
            Some((_, true)) => {}
            Some((_, false)) => return Err(CliError::new(format!("option `{name}` has no default to be left at"))),
            None => {
                let error = CliError::new(format!("the plugin has no option `{name}`"));
                let near = nearest(name, known.iter().map(|(full, _)| full.as_str()));
                return Err(if near.is_empty() {
                    error
                } else {
                    error.help(format!("did you mean {}?", or_list(&near)))
                });
            }
        }
    }
    Ok(names.to_vec())
}

fn report_json(file: &Path, plugin: &PluginRecord, report: &KitReport) -> Value {
    json!({
        "file": file.display().to_string(),
        "plugin": plugin.name,
        "version": plugin.version.to_string(),
        "seed": report.seed,
        "findings": report.findings.iter().map(finding_json).collect::<Vec<_>>(),
        "allowed": report.allowed.iter().map(finding_json).collect::<Vec<_>>(),
        "judged": report.judged.iter().map(judged_json).collect::<Vec<_>>(),
    })
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "subject": finding.subject,
        "kind": finding.kind.name(),
        "message": finding.message,
        "options": finding.options,
        "module": finding.module,
        "help": finding.kind.help(),
    })
}

fn judged_json(judged: &Judged) -> Value {
    json!({
        "subject": judged.subject,
        "cases": judged.n_cases,
        "changed": judged.n_changed,
        "errors": judged.n_errors,
        "compared": judged.n_compared,
        "not_judged": judged.not_judged,
        "not_evaluated": judged.not_evaluated,
        "silent": judged.silent,
        "rules_not_judged": judged.rules_not_judged,
        "seconds": judged.time.as_secs_f64(),
    })
}
