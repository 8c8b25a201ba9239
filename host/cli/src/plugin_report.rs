//! The report of `relais plugin check` on a file, as text and as JSON.

use super::list::{
    describe_addition, describe_analysis, describe_instrument, describe_operator, describe_option, describe_pass,
    describe_pipeline, paragraph,
};
use relais::{
    inspect::{Inspection, Objection},
    listing::{ListedInstrument, addition_json, analysis_json, operator_json, option_json, pass_json},
    plugin::{EvaluatorRecord, Mover, Needed, Needs, Origin, PluginRecord, ProgramReport, Records, is_program},
    words::and_list,
};
use serde_json::{Value, json};
use std::{env::consts::DLL_EXTENSION, fmt::Write as _, path::PathBuf};

/// A file, and the facts about it.
pub(crate) struct Checked {
    pub inspection: Inspection,
    pub place: Place,
    /// Its own description, if it is a program that was loaded.
    pub report: Option<ProgramReport>,
}

/// The place where a run would find a file that the user did not name.
pub(crate) enum Place {
    /// In a folder that is searched.
    Found(PathBuf, Origin),
    /// Its folder is searched, for files with another extension.
    Extension(PathBuf),
    /// A copy of it is in a folder that is searched.
    Copy(PathBuf),
    /// Nowhere.
    Nowhere,
}

/// Everything that is known of a file, the verdict last.
pub(crate) fn text(Checked { inspection, place, report }: &Checked) -> String {
    let plugin = inspection.records.as_ref().map(|records| &records.plugin);
    let mut out = match plugin {
        Some(plugin) => format!("plugin {} {}\n", plugin.name, plugin.version),
        None => "no plugin\n".to_owned(),
    };
    let mut line = |key: &str, value: String| {
        if !value.is_empty() {
            writeln!(out, "  {key:<11} {value}").expect("a string takes everything");
        }
    };
    line("file", inspection.path.display().to_string());
    line("format", inspection.format.clone().unwrap_or_default());
    if let Some(ProgramReport { interpreter, program, reads, .. }) = report {
        line("runs in", format!("{interpreter} (`{program}`), in a process of its own"));
        let reads: Vec<String> = reads.iter().map(|folder| folder.display().to_string()).collect();
        line("can read", and_list(&reads));
    }
    if let Some(plugin) = plugin.filter(|_| !is_program(&inspection.path)) {
        line("licence", plugin.licence.clone());
        line("boundary", format!("{}, needs {}", plugin.boundary, plugin.needs));
        line("api", plugin.api.clone());
        line("compiler", plugin.rustc.clone());
        line("target", plugin.target.clone());
        line("panic", plugin.panic.clone());
        if plugin.takes_bytes {
            line("table", format!("{}, handed bytes", plugin.entry));
        } else {
            line("build", build(plugin).to_owned());
            line("entry", plugin.entry.clone());
            line("fingerprint", format!("{:016x}", plugin.fingerprint));
        }
        line("needs", needs_text(&inspection.needs));
    }
    line("found", place_text(place, inspection));
    if let Some(records) = &inspection.records {
        out.push_str(&paragraph(&records.plugin.description));
        records_text(records)
            .iter()
            .for_each(|part| writeln!(out, "\n{}", part.trim_end()).expect("a string takes everything"));
    }
    out.push_str(&verdict_text(inspection));
    out
}

fn build(plugin: &PluginRecord) -> &'static str {
    if plugin.debug { "debug" } else { "release" }
}

/// The libraries that a plugin asks for.
pub(crate) fn needs_text(needs: &Needs) -> String {
    match needs {
        Needs::NotChecked { why } => format!("not checked: {why}"),
        Needs::Checked(Needed { libraries, .. }) if libraries.is_empty() => "no library".into(),
        Needs::Checked(Needed { libraries, .. }) => {
            let one = |(name, path): &(String, Option<_>)| match path {
                Some(_) => name.clone(),
                None => format!("{name} (not found)"),
            };
            libraries.iter().map(one).collect::<Vec<_>>().join(", ")
        }
    }
}

fn place_text(place: &Place, inspection: &Inspection) -> String {
    match place {
        Place::Found(folder, origin) => format!("in `{}`, {}", folder.display(), origin_text(*origin)),
        Place::Extension(folder) => {
            format!(
                "not in a search: in `{}`, only files with the extension `{DLL_EXTENSION}` are taken",
                folder.display()
            )
        }
        Place::Copy(path) => format!("as its copy `{}`", path.display()),
        Place::Nowhere if inspection.is_accepted() => {
            "in no folder that is searched: name it with `--plugin`, or `relais plugin install` it".into()
        }
        Place::Nowhere => "in no folder that is searched".into(),
    }
}

fn origin_text(origin: Origin) -> &'static str {
    match origin {
        Origin::Beside => "the program's own folder",
        Origin::User => "the folder of installed plugins",
        Origin::Environment => "which `RELAIS_PLUGIN_PATH` names",
        Origin::Named => "which `--plugin-dir` names",
    }
}

/// A part for each thing that the plugin provides.
fn records_text(records: &Records) -> Vec<String> {
    let mut parts: Vec<String> = records.passes.iter().map(|pass| describe_pass(pass, None)).collect();
    parts.extend(records.operators.iter().map(|op| describe_operator(op, None, |_| None)));
    parts.extend(records.additions.iter().map(describe_addition));
    if !records.evaluators.is_empty() {
        let names = records.evaluators.iter().map(evaluator_name).collect::<Vec<_>>().join(", ");
        parts.push(format!("evaluators of operators of other plugins\n  {names}"));
    }
    let options = records.options.iter();
    parts.extend(options.map(|option| format!("option {}\n{}", option.name, describe_option(option, "  "))));
    parts.extend(records.instruments.iter().map(|instrument| {
        let plugin = &records.plugin;
        describe_instrument(&ListedInstrument {
            name: instrument.name.clone(),
            from: Some((plugin.name.clone(), plugin.version.to_string())),
            doc: instrument.doc.clone(),
            options: instrument.options.clone(),
        })
    }));
    parts.extend(records.analyses.iter().map(|it| describe_analysis(&it.facts(&records.plugin.name))));
    parts.extend(records.pipelines.iter().map(|pipeline| describe_pipeline(pipeline, None)));
    parts
}

fn evaluator_name(eval: &EvaluatorRecord) -> String {
    match eval.domain.as_str() {
        "" => format!("{}@{}", eval.name, eval.since_version),
        domain => format!("{domain}::{}@{}", eval.name, eval.since_version),
    }
}

fn verdict(inspection: &Inspection) -> &'static str {
    match (inspection.is_accepted(), inspection.objections.is_empty()) {
        (true, true) => "accepted",
        (true, false) => "accepted, with objections",
        (false, _) => "refused",
    }
}

fn verdict_text(inspection: &Inspection) -> String {
    let mut out = format!("\nverdict: {}\n", verdict(inspection));
    for objection in &inspection.objections {
        let mover = objection.mover();
        writeln!(out, "  {objection}\n    to change: {mover}").expect("a string takes everything");
        if let Some(help) = objection.help() {
            writeln!(out, "    help: {help}").expect("a string takes everything");
        }
    }
    out
}

/// The same for programs.
pub(crate) fn json(Checked { inspection, place, report }: &Checked) -> Value {
    let records = inspection.records.as_ref();
    json!({
        "file": inspection.path.display().to_string(),
        "format": inspection.format,
        "verdict": if inspection.is_accepted() { "accepted" } else { "refused" },
        "objections": inspection.objections.iter().map(objection_json).collect::<Vec<_>>(),
        "found": place_json(place),
        "interpreter": report.as_ref().map(|report| json!({
            "version": report.interpreter,
            "file": report.program,
            "reads": report.reads,
        })),
        "needs": needs_json(&inspection.needs),
        "plugin": records.map(|records| plugin_json(&records.plugin)),
        "passes": records.map(|records| records.passes.iter().map(pass_json).collect::<Vec<_>>()),
        "operators": records.map(|records| records.operators.iter().map(operator_json).collect::<Vec<_>>()),
        "additions": records.map(|records| records.additions.iter().map(addition_json).collect::<Vec<_>>()),
        "evaluators": records.map(|records| records.evaluators.iter().map(evaluator_json).collect::<Vec<_>>()),
        "options": records.map(|records| records.options.iter().map(option_json).collect::<Vec<_>>()),
        "instruments": records.map(|records| records.instruments.iter().map(|instrument| json!({
            "name": instrument.name,
            "doc": instrument.doc,
            "options": instrument.options.iter().map(option_json).collect::<Vec<_>>(),
        })).collect::<Vec<_>>()),
        "analyses": records.map(|records| {
            records.analyses.iter().map(|it| analysis_json(&it.facts(&records.plugin.name))).collect::<Vec<_>>()
        }),
        "pipelines": records.map(|records| records.pipelines.iter().map(|pipeline| json!({
            "name": pipeline.name,
            "text": pipeline.toml,
        })).collect::<Vec<_>>()),
    })
}

fn objection_json(objection: &Objection) -> Value {
    let mover = match objection.mover() {
        Mover::Plugin => "plugin",
        Mover::Host => "host",
        Mover::File => "file",
    };
    json!({
        "kind": objection.kind(),
        "refused": objection.is_refusal(),
        "message": objection.to_string(),
        "to_change": mover,
        "help": objection.help(),
    })
}

fn place_json(place: &Place) -> Value {
    match place {
        Place::Found(folder, origin) => {
            let origin = match origin {
                Origin::Beside => "beside",
                Origin::User => "user",
                Origin::Environment => "environment",
                Origin::Named => "named",
            };
            json!({ "folder": folder.display().to_string(), "origin": origin })
        }
        Place::Copy(path) => json!({ "copy": path.display().to_string() }),
        Place::Extension(_) | Place::Nowhere => Value::Null,
    }
}

fn needs_json(needs: &Needs) -> Value {
    match needs {
        Needs::NotChecked { why } => json!({ "checked": false, "why": why }),
        Needs::Checked(Needed { libraries, missing_versions, undefined, .. }) => {
            let libraries: Vec<Value> = libraries
                .iter()
                .map(|(name, path)| json!({ "name": name, "file": path.as_ref().map(|path| path.display().to_string()) }))
                .collect();
            let versions: Vec<Value> = missing_versions
                .iter()
                .map(|(library, version)| json!({ "library": library, "version": version }))
                .collect();
            json!({ "checked": true, "libraries": libraries, "missing_versions": versions, "undefined": undefined })
        }
    }
}

fn plugin_json(plugin: &PluginRecord) -> Value {
    json!({
        "name": plugin.name,
        "version": plugin.version.to_string(),
        "licence": plugin.licence,
        "description": plugin.description,
        "entry": plugin.entry,
        "takes_bytes": plugin.takes_bytes,
        "crate": plugin.crate_name,
        "boundary": plugin.boundary.to_string(),
        "needs": plugin.needs.to_string(),
        "api": plugin.api,
        "fingerprint": format!("{:016x}", plugin.fingerprint),
        "rustc": plugin.rustc,
        "target": plugin.target,
        "panic": plugin.panic,
        "build": build(plugin),
    })
}

fn evaluator_json(eval: &EvaluatorRecord) -> Value {
    json!({ "domain": eval.domain, "name": eval.name, "since_version": eval.since_version })
}
