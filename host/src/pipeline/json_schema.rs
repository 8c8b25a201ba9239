//! The JSON Schema of pipelines, for editors and validators: the constructs of the grammar, and the items that the
//! plugins provide.
//!
//! Draft 7, which the language servers for TOML read. It cannot distinguish an integer from a float of the same value,
//! nor does it know which sequences a pipeline names: `relais pipeline check` does.

use super::schema::mandatory;
use crate::{
    instruments,
    isolation::Sandbox,
    options::{OptionSchema, ValueKind},
    pass::{Catalogue, PassFacts},
};
use relais_plugin_api::options::Value as Set;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// Keys of more parts can be set in one piece only: the tables that they may be split into grow with the square.
const MAX_SPLIT: usize = 6;

/// The schema of pipelines that use the items of a catalogue.
pub fn json_schema(catalogue: &dyn Catalogue) -> Value {
    let passes = passes(catalogue);
    let config: Vec<(String, Value)> = catalogue
        .config_options()
        .iter()
        .filter(|facts| facts.plugins.len() == 1)
        .flat_map(|facts| facts.names().map(|name| (name.to_owned(), option(&facts.schema))).collect::<Vec<_>>())
        .collect();
    let level = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
    let names = |what: &str| {
        // Sequences of the pipeline also have names.
        let item = json!({ "anyOf": [{ "$ref": "#/definitions/pass_name" }, { "type": "string", "minLength": 1 }] });
        json!({ "type": "array", "description": what, "items": item })
    };
    let scope = json!({
        "opt_level": with(level.clone(), "passes up to this level are on; 2 by default"),
        "required": names("passes and sequences that are on at any level"),
        "disabled": names("passes and sequences that are off"),
        "config": with(config_tables(&config), "options of the context"),
    });
    let mut properties = json!({
        "name": { "type": "string", "minLength": 1, "description": "the pipeline's name; else that of its file" },
        "dependencies": choice("how requirements are followed", &["transitive", "direct", "assumed"]),
        "on_failure": choice("what a failing pass leads to", &["fail", "skip", "quarantine"]),
        "target": { "type": "string", "minLength": 1, "description": "the target that it is for: what plugins add to operators for it counts" },
        "verify": choice("when the verifier runs", &["each", "off"]),
        "extensions": choice("whether passes of plugins are added at extension points", &["on", "off"]),
        "extend": {
            "type": "object",
            "description": "steps that are added at extension points, by the point's name",
            "additionalProperties": steps(),
        },
        "instruments": {
            "type": "array",
            "description": "what watches the passes",
            "items": { "$ref": "#/definitions/instrument" },
        },
        "plugins": {
            "type": "object",
            "description": "what is demanded of plugins, by name",
            "additionalProperties": { "anyOf": [version(), object(
                "a plugin",
                json!({
                    "version": version(),
                    "passes": chosen("passes"),
                    "pipelines": chosen("pipelines"),
                    "operators": chosen("operators"),
                    "analyses": chosen("analyses"),
                    "isolate": isolation(),
                }),
                &[],
            )] },
        },
        "steps": with(steps(), "what runs, in order"),
    });
    extend(&mut properties, &scope);
    let mut root = object("a pipeline of Relais", properties, &[]);
    root["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    root["title"] = "Relais pipeline".into();
    root["definitions"] = json!({
        "pass_name": pass_name(&passes, |_| true),
        "step": step(&passes, &scope, &level),
        "instrument": instrument(catalogue),
    });
    root
}

/// Whether a plugin runs in a process of its own, and how that is limited.
fn isolation() -> Value {
    let number =
        |description: &str, least: u64| json!({ "type": "integer", "minimum": least, "description": description });
    let names = |description: &str| json!({ "type": "array", "items": { "type": "string", "minLength": 1 }, "description": description });
    let settings = json!({
        "memory": {
            "anyOf": [{ "type": "string", "pattern": "^[0-9]+ ?(KiB|MiB|GiB)?$" }, { "type": "integer", "minimum": 1 }],
            "description": "the most memory, such as `4 GiB`",
        },
        "pass_seconds": number("the most seconds of a call", 1),
        "threads": number("the threads that work for its passes", 1),
        "restarts": number("how often it is started again after it died", 0),
        "sandbox": {
            "enum": Sandbox::ALL.map(|(name, _)| name),
            "description": "whether it is kept from files, the network and other processes",
        },
        "read": names("files and folders that it can read, seen from the folder of this file"),
        "env": names("variables of the environment that it is given"),
    });
    json!({
        "anyOf": [{ "type": "boolean" }, object("the limits of its process, and what that can reach", settings, &[])],
        "description": "whether it runs in a process of its own",
    })
}

/// The passes with every name that means them here: full, alias, short where that is unambiguous.
fn passes(catalogue: &dyn Catalogue) -> Vec<(Arc<PassFacts>, Vec<String>)> {
    let mut out: BTreeMap<String, (Arc<PassFacts>, Vec<String>)> = BTreeMap::new();
    for facts in catalogue.passes() {
        let full = [facts.name.as_str()].into_iter().chain(facts.aliases.iter().map(String::as_str));
        let mut names: Vec<String> = full.map(str::to_owned).collect();
        names.extend(names.clone().iter().filter_map(|name| Some(name.rsplit_once('.')?.1.to_owned())));
        names.sort();
        names.dedup();
        names.retain(|name| catalogue.pass(name).is_ok_and(|found| found.name == facts.name));
        if !names.is_empty() {
            out.insert(facts.name.clone(), (facts, names));
        }
    }
    out.into_values().collect()
}

/// The name of a pass; with a question mark it may be missing.
fn pass_name(passes: &[(Arc<PassFacts>, Vec<String>)], is_wanted: impl Fn(&PassFacts) -> bool) -> Value {
    let wanted = passes.iter().filter(|(facts, _)| is_wanted(facts));
    let names: Vec<&String> = wanted.flat_map(|(_, names)| names).collect();
    json!({ "description": "the name of a pass", "anyOf": [
        { "type": "string", "enum": names },
        { "type": "string", "pattern": "^.+\\?$" },
    ] })
}

fn step(passes: &[(Arc<PassFacts>, Vec<String>)], scope: &Value, level: &Value) -> Value {
    let mut kinds = vec![pass_name(passes, |facts| mandatory(&facts.options).is_empty())];
    let own_level = with(level.clone(), "the level of this step; that of the pass by default");
    for (facts, names) in passes {
        let pass = json!({ "type": "string", "enum": names, "description": facts.doc.trim() });
        let must: &[&str] = if mandatory(&facts.options).is_empty() { &["pass"] } else { &["pass", "options"] };
        let doc = format!("the pass `{}`", facts.name);
        kinds.push(object(
            &doc,
            json!({ "pass": pass, "options": table(&facts.options), "opt_level": own_level }),
            must,
        ));
    }
    let missing = json!({ "type": "string", "pattern": "^.+\\?$" });
    kinds.push(object(
        "a pass that may be missing",
        json!({ "pass": missing, "options": { "type": "object" }, "opt_level": own_level }),
        &["pass"],
    ));
    let sequence = json!({
        "sequence": steps(),
        "name": { "type": "string", "minLength": 1, "description": "to be disabled and required by" },
        "opt_level": level,
        "required": { "type": "array", "description": "passes that run before it", "items": { "anyOf": [
            { "$ref": "#/definitions/pass_name" },
            object("a pass with options", json!({ "pass": { "$ref": "#/definitions/pass_name" }, "options": { "type": "object" } }), &["pass"]),
        ] } },
    });
    kinds.push(object("steps that are switched together", sequence, &["sequence"]));
    let rounds =
        json!({ "type": "integer", "minimum": 1, "maximum": 1_000_000, "default": super::spec::DEFAULT_MAX_ROUNDS });
    let fixpoint = json!({ "fixpoint": steps(), "max_rounds": rounds });
    kinds.push(object("steps that are repeated until they change nothing", fixpoint, &["fixpoint"]));
    let mut scoped = json!({ "scope": steps() });
    scoped["instruments"] = json!({
        "type": "array",
        "description": "what watches these steps, in place of what watches the others",
        "items": { "$ref": "#/definitions/instrument" },
    });
    extend(&mut scoped, scope);
    kinds.push(object("steps in a context of their own", scoped, &["scope"]));
    let include = json!({ "include": { "type": "string", "minLength": 1, "description": "a file, `builtin:NAME`, or the name of a plugin's pipeline" } });
    kinds.push(object("the steps of another file", include, &["include"]));
    let levels = json!({
        "passes": { "type": "string", "pattern": "^\\s*level\\s*(<=|<|==|=|>=|>)\\s*[0-9]+\\s*$" },
        "runtime": { "type": "string", "minLength": 1, "description": "a runtime whose passes are among them" },
    });
    kinds.push(object("every pass of some levels", levels, &["passes"]));
    let name = json!({ "type": "string", "minLength": 1 });
    let when = json!({
        "when_operator": { "anyOf": [name, { "type": "array", "items": name }] },
        "steps": steps(),
    });
    kinds.push(object("steps that run when the module calls an operator", when, &["when_operator", "steps"]));
    let point = json!({
        "extension": { "type": "string", "minLength": 1, "description": "the point's name" },
        "then": with(steps(), "what follows, where something is added"),
    });
    kinds.push(object("a place where plugins and files add steps", point, &["extension"]));
    json!({ "anyOf": kinds })
}

fn instrument(catalogue: &dyn Catalogue) -> Value {
    let own = instruments::built_in();
    let own = own.into_iter().map(|it| (vec![it.name.to_owned()], it.doc.to_owned(), (it.options)()));
    let provided = catalogue.instruments().into_iter().map(|facts| {
        let short = facts.name.rsplit_once('.').map(|(_, short)| short.to_owned());
        let means_it = |name: &String| catalogue.instrument(name).is_ok_and(|found| found.name == facts.name);
        let names = [facts.name.clone()].into_iter().chain(short).filter(means_it);
        (names.collect(), facts.doc.clone(), facts.options.clone())
    });
    let all: Vec<(Vec<String>, String, Vec<OptionSchema>)> =
        own.chain(provided).filter(|(names, ..)| !names.is_empty()).collect();
    let plain = all.iter().filter(|(.., options)| mandatory(options).is_empty()).flat_map(|(names, ..)| names);
    let mut kinds = vec![json!({ "type": "string", "enum": plain.collect::<Vec<_>>() })];
    for (names, doc, options) in &all {
        let must: &[&str] = if mandatory(options).is_empty() { &["instrument"] } else { &["instrument", "options"] };
        let name = json!({ "type": "string", "enum": names });
        kinds.push(object(doc, json!({ "instrument": name, "options": table(options) }), must));
    }
    json!({ "anyOf": kinds })
}

fn steps() -> Value {
    json!({ "type": "array", "items": { "$ref": "#/definitions/step" } })
}

fn chosen(what: &str) -> Value {
    json!({
        "type": "array",
        "description": format!("the {what} that are taken from it though others provide them, too"),
        "items": { "type": "string", "minLength": 1 },
    })
}

fn version() -> Value {
    json!({ "type": "string", "minLength": 1, "description": "the versions that will do, as in `^1.2` or `>=1.2, <3`" })
}

fn choice(doc: &str, names: &[&str]) -> Value {
    json!({ "type": "string", "enum": names, "description": doc })
}

fn with(mut schema: Value, doc: &str) -> Value {
    schema["description"] = doc.into();
    schema
}

fn object(doc: &str, properties: Value, required: &[&str]) -> Value {
    let mut out = json!({
        "type": "object",
        "description": doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    out
}

fn extend(properties: &mut Value, more: &Value) {
    if let (Value::Object(properties), Value::Object(more)) = (properties, more) {
        properties.extend(more.clone());
    }
}

/// Options as a table. As deep as schemas go.
fn table(options: &[OptionSchema]) -> Value {
    let properties: Map<String, Value> = options.iter().map(|it| (it.name.clone(), option(it))).collect();
    object("options", properties.into(), &mandatory(options))
}

fn option(option: &OptionSchema) -> Value {
    let mut schema = kind(&option.kind);
    let mut doc = option.doc.trim().to_owned();
    if let ValueKind::Choice(choices) = &option.kind {
        for (name, what) in choices.iter().filter(|(_, what)| !what.trim().is_empty()) {
            doc.push_str(&format!("\n`{name}`: {}", what.trim()));
        }
    }
    if !doc.is_empty() {
        schema["description"] = doc.into();
    }
    if let Some(default) = option.default.as_ref().and_then(value) {
        schema["default"] = default;
    }
    schema
}

fn kind(kind: &ValueKind) -> Value {
    let mut out = match kind {
        ValueKind::Bool => json!({ "type": "boolean" }),
        ValueKind::Int { .. } => json!({ "type": "integer" }),
        ValueKind::Bytes { min, max } => {
            let with_unit = json!({ "type": "string", "pattern": "^[0-9]+(B|[KMGTPE](i?B)?)?$" });
            json!({ "anyOf": [self::kind(&ValueKind::Int { min: *min, max: *max }), with_unit] })
        }
        ValueKind::Float { .. } => json!({ "type": "number" }),
        ValueKind::Path => json!({ "type": "string", "minLength": 1 }),
        ValueKind::Str => json!({ "type": "string" }),
        ValueKind::Choice(choices) => {
            json!({ "type": "string", "enum": choices.iter().map(|(name, _)| name).collect::<Vec<_>>() })
        }
        ValueKind::List(item) => json!({ "type": "array", "items": self::kind(item) }),
        ValueKind::Struct(fields) => table(fields),
    };
    let bounds = match *kind {
        ValueKind::Int { min, max } => {
            [("minimum", (min > i64::MIN).then(|| json!(min))), ("maximum", (max < i64::MAX).then(|| json!(max)))]
        }
        ValueKind::Float { min, max } => {
            [("minimum", min.is_finite().then(|| json!(min))), ("maximum", max.is_finite().then(|| json!(max)))]
        }
        _ => [("minimum", None), ("maximum", None)],
    };
    for (name, bound) in bounds {
        if let Some(bound) = bound {
            out[name] = bound;
        }
    }
    out
}

/// A value as JSON; none where JSON has no such number.
fn value(set: &Set) -> Option<Value> {
    Some(match set {
        Set::Bool(value) => json!(value),
        Set::Int(value) => json!(value),
        Set::Float(value) if value.is_finite() => json!(value),
        Set::Str(value) => json!(value),
        Set::List(items) => items.iter().map(value).collect::<Option<Vec<_>>>()?.into(),
        Set::Struct(entries) => {
            let entry = |(key, set): &(String, Set)| Some((key.clone(), value(set)?));
            entries.iter().map(entry).collect::<Option<Map<_, _>>>()?.into()
        }
        _ => return None,
    })
}

/// Keys with dots, in one piece or split into tables anywhere.
fn config_tables(keys: &[(String, Value)]) -> Value {
    let mut properties = Map::new();
    let mut nested: BTreeMap<&str, Vec<(String, Value)>> = BTreeMap::new();
    for (key, schema) in keys {
        properties.insert(key.clone(), schema.clone());
        if key.split('.').count() > MAX_SPLIT {
            continue;
        }
        for (at, _) in key.match_indices('.') {
            nested.entry(&key[..at]).or_default().push((key[at + 1..].to_owned(), schema.clone()));
        }
    }
    for (prefix, keys) in nested {
        // A key that is a prefix of another takes its own values first.
        properties.entry(prefix).or_insert_with(|| config_tables(&keys));
    }
    object("options", properties.into(), &[])
}
