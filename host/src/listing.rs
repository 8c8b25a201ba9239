//! Lists of everything that is available, as JSON. No plugin is opened.

use crate::{
    instruments::{BuiltIn, built_in as built_in_instruments},
    ir::attr_kind,
    options::{OptionSchema, ValueKind},
    pass::{AnalysisFacts, Catalogue, InstrumentFacts},
    pipeline::BUILT_IN,
    plugin::{AdditionRecord, AttrRecord, OperatorRecord, PassRecord, StatisticRecord, cut, escaped},
    registry::{Provider, Registry},
};
use relais_plugin_api::{
    boundary::record::formal_kind,
    ir::ElemType,
    op::{FormalFacts, TypeVarFacts},
    options::Value as Set,
    pattern::{self, Rule},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The kinds of items that can be listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listed {
    /// Passes.
    Passes,
    /// Plugins, also those that are not used.
    Plugins,
    /// Operators.
    Operators,
    /// Options of contexts and of passes.
    Options,
    /// Instruments, those of the host too.
    Instruments,
    /// Pipelines, those of the host too.
    Pipelines,
    /// Rules of passes that consist of them.
    Rules,
    /// Analyses, those of the host too.
    Analyses,
}

/// A rule of a pass that consists of rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedRule {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The rule without its name.
    pub text: String,
}

/// The rules of a pass, in order. A text that cannot be parsed is one rule without a name.
pub fn rules_of(pass: &PassRecord) -> Vec<ListedRule> {
    let Some(text) = &pass.rules else { return Vec::new() };
    let listed = |rule: &Rule| ListedRule {
        name: rule.name.as_ref().map(|name| name.text.clone()),
        text: escaped(&Rule { name: None, ..rule.clone() }.to_string()).into_owned(),
    };
    match pattern::read("rules", text) {
        Ok(rules) => rules.iter().map(listed).collect(),
        Err(_) => vec![ListedRule { name: None, text: escaped(&cut(text)).into_owned() }],
    }
}

/// Everything of a kind, as a JSON array of objects.
pub fn list_json(registry: &Registry, what: Listed) -> Value {
    match what {
        Listed::Passes => registry
            .passes()
            .map(|(pass, provider)| {
                let mut json = with(pass_json(pass), "plugin", provider);
                json["version"] = json!(provider.records().plugin.version.to_string());
                json
            })
            .collect(),
        Listed::Plugins => {
            let used = registry.plugins().map(|provider| {
                let plugin = &provider.records().plugin;
                json!({
                    "name": plugin.name,
                    "version": plugin.version.to_string(),
                    "licence": plugin.licence,
                    "description": plugin.description,
                    "file": provider.path().map(|path| path.display().to_string()),
                    "isolated": provider.isolation().map(ToString::to_string),
                    "refused": null,
                })
            });
            let refused = registry.refused().iter().map(|refused| {
                let plugin = refused.records.as_ref().map(|records| &records.plugin);
                json!({
                    "name": plugin.map(|plugin| &plugin.name),
                    "version": plugin.map(|plugin| plugin.version.to_string()),
                    "file": refused.path.display().to_string(),
                    "refused": refused.refusal.to_string(),
                })
            });
            let aside = registry.set_aside().map(|provider| {
                json!({
                    "name": provider.records().plugin.name,
                    "version": provider.records().plugin.version.to_string(),
                    "file": provider.path().map(|path| path.display().to_string()),
                    "refused": NOT_USED,
                })
            });
            used.chain(aside).chain(refused).collect()
        }
        Listed::Operators => {
            let json = |(op, provider): (&OperatorRecord, &Provider)| {
                let mut json = with(operator_json(op), "plugin", provider);
                let additions = registry.additions_to(op);
                if !additions.is_empty() {
                    let added = additions.into_iter().map(|(it, by)| with(addition_json(it), "plugin", by));
                    json["additions"] = added.collect();
                }
                json
            };
            registry.operators().map(json).collect()
        }
        Listed::Options => {
            let config =
                registry.config_options().map(|(option, provider)| with(option_json(option), "plugin", provider));
            let passes = registry.passes().flat_map(|(pass, provider)| {
                pass.options.iter().map(move |option| {
                    let mut json = with(option_json(option), "plugin", provider);
                    json["pass"] = json!(pass.name);
                    json
                })
            });
            config.chain(passes).collect()
        }
        Listed::Instruments => instruments(registry)
            .into_iter()
            .map(|it| {
                json!({
                    "name": it.name,
                    "plugin": it.from.as_ref().map(|(plugin, _)| plugin),
                    "version": it.from.as_ref().map(|(_, version)| version),
                    "doc": it.doc,
                    "options": it.options.iter().map(option_json).collect::<Vec<_>>(),
                })
            })
            .collect(),
        Listed::Analyses => Catalogue::analyses(registry).iter().map(analysis_json).collect(),
        Listed::Rules => {
            let rules = registry.passes().flat_map(|(pass, provider)| {
                let json = move |it: ListedRule| json!({ "name": it.name, "text": it.text, "pass": pass.name });
                rules_of(pass).into_iter().map(move |it| with(json(it), "plugin", provider))
            });
            rules.collect()
        }
        Listed::Pipelines => {
            let own = BUILT_IN.iter().map(|(name, text)| (*name, *text, None));
            let provided =
                registry.pipelines().map(|(it, provider)| (it.name.as_str(), it.toml.as_str(), Some(provider)));
            own.chain(provided)
                .map(|(name, text, provider)| {
                    let plugin = provider.map(|provider| &provider.records().plugin);
                    json!({
                        "name": name,
                        "plugin": plugin.map(|plugin| &plugin.name),
                        "version": plugin.map(|plugin| plugin.version.to_string()),
                        "doc": headline(text),
                        "text": text,
                    })
                })
                .collect()
        }
    }
}

/// A pass, as its record describes it.
pub fn pass_json(pass: &PassRecord) -> Value {
    json!({
        "name": pass.name,
        "aliases": pass.aliases,
        "opt_level": pass.opt_level,
        "kind": pass.level.name(),
        "phase": pass.phase.name(),
        "runtime": pass.runtime,
        "target": pass.target,
        "required": pass.required.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "extends": pass.extends,
        "before": pass.before,
        "after": pass.after,
        "preserves": pass.preserves,
        "doc": pass.doc,
        "rules": rules_of(pass).into_iter().map(|it| json!({ "name": it.name, "text": it.text })).collect::<Vec<_>>(),
        "options": pass.options.iter().map(option_json).collect::<Vec<_>>(),
        "statistics": pass.statistics.iter().map(statistic_json).collect::<Vec<_>>(),
    })
}

/// An operator, as its record describes it.
pub fn operator_json(op: &OperatorRecord) -> Value {
    let schema = op.schema();
    json!({
        "name": op.name,
        "domain": op.domain,
        "since_version": op.since_version,
        "inputs": [op.inputs.0, op.inputs.1],
        "outputs": [op.outputs.0, op.outputs.1],
        "takes": schema.formal_inputs.iter().map(formal_json).collect::<Vec<_>>(),
        "gives": schema.formal_outputs.iter().map(formal_json).collect::<Vec<_>>(),
        "types": schema.types.iter().map(type_var_json).collect::<Vec<_>>(),
        "commutative": schema.is_commutative,
        "attributes": op.attrs().filter_map(Result::ok).map(attr_json).collect::<Vec<_>>(),
        "properties": schema.properties.iter().cloned().collect::<BTreeMap<String, String>>(),
        "macs": (!schema.macs.is_empty()).then_some(schema.macs),
        "body": (!schema.body.is_empty()).then_some(schema.body),
        "doc": op.doc(),
    })
}

/// An analysis, as its record describes it.
pub fn analysis_json(analysis: &AnalysisFacts) -> Value {
    json!({
        "name": analysis.name,
        "plugin": (!analysis.plugin.is_empty()).then_some(&analysis.plugin),
        "of": analysis.subject.name(),
        "depends": analysis.depends.name(),
        "lists": analysis.lists.iter().map(|(name, doc)| json!({ "name": name, "doc": doc })).collect::<Vec<_>>(),
        "doc": analysis.doc,
    })
}

/// An addition of a plugin to an operator.
pub fn addition_json(addition: &AdditionRecord) -> Value {
    json!({
        "name": addition.parts.name,
        "domain": addition.parts.domain,
        "since_version": addition.parts.since_version,
        "priority": addition.priority,
        "target": (!addition.target.is_empty()).then_some(&addition.target),
        "parts": addition.names(),
    })
}

fn with(mut json: Value, key: &str, provider: &Provider) -> Value {
    json[key] = json!(provider.records().plugin.name);
    json
}

fn statistic_json(statistic: &StatisticRecord) -> Value {
    json!({ "name": statistic.name, "doc": statistic.doc })
}

/// An option of a pass, an instrument or a context. As deep as schemas go.
pub fn option_json(option: &OptionSchema) -> Value {
    let mut json = json!({
        "name": option.name,
        "doc": option.doc,
        "takes": type_json(&option.kind),
        "default": option.default.as_ref().map(value_json),
        "optional": option.is_optional,
    });
    if !option.aliases.is_empty() {
        json["aliases"] = json!(option.aliases);
    }
    json
}

fn type_json(kind: &ValueKind) -> Value {
    // Infinite bounds mean no bounds, and JSON has no number for them.
    let bound = |value: f64| value.is_finite().then_some(value);
    match kind {
        ValueKind::Bool => json!({ "type": "bool" }),
        ValueKind::Int { min, max } => json!({ "type": "int", "min": min, "max": max }),
        ValueKind::Bytes { min, max } => json!({ "type": "bytes", "min": min, "max": max }),
        ValueKind::Float { min, max } => json!({ "type": "float", "min": bound(*min), "max": bound(*max) }),
        ValueKind::Str => json!({ "type": "string" }),
        ValueKind::Path => json!({ "type": "path" }),
        ValueKind::Choice(choices) => {
            let choices: Vec<Value> = choices.iter().map(|(name, doc)| json!({ "name": name, "doc": doc })).collect();
            json!({ "type": "choice", "choices": choices })
        }
        ValueKind::List(item) => json!({ "type": "list", "item": type_json(item) }),
        ValueKind::Struct(fields) => {
            json!({ "type": "struct", "fields": fields.iter().map(option_json).collect::<Vec<_>>() })
        }
    }
}

fn value_json(value: &Set) -> Value {
    match value {
        Set::Bool(value) => json!(value),
        Set::Int(value) => json!(value),
        Set::Float(value) => json!(value),
        Set::Str(value) => json!(value),
        Set::List(items) => items.iter().map(value_json).collect(),
        Set::Struct(entries) => entries.iter().map(|(key, value)| (key.clone(), value_json(value))).collect(),
        _ => Value::Null,
    }
}

fn formal_json(formal: &FormalFacts) -> Value {
    let kind = match formal.kind {
        formal_kind::VARIADIC => "variadic",
        formal_kind::SINGLE => "single",
        formal_kind::OPTIONAL => "optional",
        formal_kind::MIXED => "mixed",
        _ => "unknown",
    };
    json!({ "name": formal.name, "kind": kind, "type": formal.var })
}

fn type_var_json(var: &TypeVarFacts) -> Value {
    let elems = |elems: &[ElemType]| elems.iter().map(ElemType::to_string).collect::<Vec<_>>();
    json!({
        "name": var.name,
        "tensors": elems(&var.tensors),
        "sequences": elems(&var.sequences),
        "optionals": elems(&var.optionals),
        "optional_sequences": elems(&var.optional_sequences),
        "others": var.others,
    })
}

fn attr_json(attr: AttrRecord<'_>) -> Value {
    let AttrRecord { name, kind, required, default } = attr;
    let default = (!default.is_empty()).then_some(default);
    json!({ "name": name, "type": attr_kind::name(kind), "required": required, "default": default })
}

/// An instrument of the host or of a plugin.
#[derive(Clone, PartialEq, Debug)]
pub struct ListedInstrument {
    /// Its full name.
    pub name: String,
    /// The plugin and its version; none for the host's own.
    pub from: Option<(String, String)>,
    /// Its documentation.
    pub doc: String,
    /// Its options.
    pub options: Vec<OptionSchema>,
}

impl From<InstrumentFacts> for ListedInstrument {
    fn from(facts: InstrumentFacts) -> Self {
        let from = Some((facts.plugin, facts.plugin_version.to_string()));
        Self { name: facts.name, from, doc: facts.doc, options: facts.options }
    }
}

impl From<&BuiltIn> for ListedInstrument {
    fn from(it: &BuiltIn) -> Self {
        Self { name: it.name.into(), from: None, doc: it.doc.into(), options: (it.options)() }
    }
}

/// Every instrument, ordered by name.
pub fn instruments(registry: &Registry) -> Vec<ListedInstrument> {
    let mut all: Vec<ListedInstrument> = built_in_instruments().into_iter().map(ListedInstrument::from).collect();
    all.extend(Catalogue::instruments(registry).into_iter().map(ListedInstrument::from));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The note on a plugin that another one replaces.
pub const NOT_USED: &str = "not used: the other one of that name takes its place";

/// The first sentence of the comment that a pipeline opens with.
pub fn headline(text: &str) -> String {
    let comment: Vec<&str> = text
        .lines()
        // A line for editors precedes the text for people.
        .skip_while(|line| line.is_empty() || line.starts_with("#:"))
        .map_while(|line| line.strip_prefix('#'))
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let comment = comment.join(" ");
    comment.split_once(". ").map_or(comment.as_str(), |(first, _)| first).trim_end_matches('.').to_owned()
}
