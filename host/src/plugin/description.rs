//! Descriptions of plugins, as `describe` reads them.

use crate::{
    options::{OptionSchema, ValueKind},
    pass::PassFacts,
    pipeline::{quote, toml},
};
use relais_plugin_api::{
    boundary::record::{Level, Phase},
    options::Value,
    pass::Requirement,
};

/// A program, as it describes itself.
pub struct ProgramFacts<'a> {
    /// The plugin's name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// A sentence about it.
    pub description: &'a str,
    /// The SHA-256 of its file.
    pub sha256: &'a str,
    /// Its passes.
    pub passes: Vec<&'a PassFacts>,
    /// Its options of the context.
    pub options: Vec<&'a OptionSchema>,
}

/// A table of TOML that is written key by key.
struct Lines(String);

impl Lines {
    fn head(&mut self, head: &str) {
        self.0 += &format!("\n{head}\n");
    }

    fn value(&mut self, key: &str, value: &str) {
        self.0 += &format!("{key} = {value}\n");
    }

    fn text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.value(key, &quote(text));
        }
    }

    fn texts(&mut self, key: &str, texts: &[String]) {
        if !texts.is_empty() {
            self.value(key, &toml(&strings(texts)));
        }
    }
}

/// The description of a program.
pub fn describe_facts(program: &ProgramFacts<'_>) -> String {
    let mut lines = Lines(String::new());
    lines.text("sha256", program.sha256);
    lines.text("name", program.name);
    lines.text("version", program.version);
    lines.text("description", program.description);
    for facts in &program.passes {
        lines.head("[[pass]]");
        pass(&mut lines, facts);
    }
    if !program.options.is_empty() {
        lines.head("[option]");
    }
    for schema in &program.options {
        let mut table = option(schema);
        if !schema.aliases.is_empty() {
            table.push(("aliases".into(), strings(&schema.aliases)));
        }
        lines.value(&quote(&schema.name), &toml(&Value::Struct(table)));
    }
    lines.0
}

fn pass(lines: &mut Lines, facts: &PassFacts) {
    lines.text("name", &facts.name);
    lines.texts("aliases", &facts.aliases);
    // Its process runs the members of a sequence, and the rules of a rewrite.
    let level = match facts.level {
        Level::FUNCTION | Level::REWRITE => "function",
        Level::PRIM_FUNC => "prim_func",
        _ => "module",
    };
    lines.text("level", level);
    lines.value("opt_level", &facts.opt_level.to_string());
    let requirement = |requirement: &Requirement| match &requirement.options {
        Value::Struct(options) if options.is_empty() => Value::Str(requirement.pass.clone()),
        options => Value::Struct(vec![
            ("pass".into(), Value::Str(requirement.pass.clone())),
            ("options".into(), options.clone()),
        ]),
    };
    if !facts.required.is_empty() {
        lines.value("required", &toml(&Value::List(facts.required.iter().map(requirement).collect())));
    }
    lines.text("doc", &facts.doc);
    if facts.phase != Phase::REWRITES {
        lines.text("phase", facts.phase.name());
    }
    lines.text("extends", facts.extends.as_deref().unwrap_or_default());
    lines.texts("before", &facts.before);
    lines.texts("after", &facts.after);
    lines.text("runtime", &facts.runtime);
    lines.text("target", &facts.target);
    if let Some(option) = &facts.changes_interface {
        lines.value("changes_interface", &quote(option));
    }
    lines.texts("preserves", &facts.preserves);
    if !facts.options.is_empty() {
        let options = facts.options.iter().map(|schema| (schema.name.clone(), Value::Struct(option(schema)))).collect();
        lines.value("options", &toml(&Value::Struct(options)));
    }
}

fn strings(texts: &[String]) -> Value {
    Value::List(texts.iter().cloned().map(Value::Str).collect())
}

/// The table of an option.
fn option(schema: &OptionSchema) -> Vec<(String, Value)> {
    let mut table = kind(&schema.kind);
    if !schema.doc.is_empty() {
        table.push(("doc".into(), Value::Str(schema.doc.clone())));
    }
    if schema.is_optional {
        table.push(("optional".into(), Value::Bool(true)));
    }
    if let Some(default) = &schema.default {
        table.push(("default".into(), default.clone()));
    }
    table
}

/// The keys of a kind of values.
fn kind(kind: &ValueKind) -> Vec<(String, Value)> {
    let typed = |name: &str| vec![("type".to_owned(), Value::Str(name.into()))];
    let limited = |mut table: Vec<(String, Value)>, limits: [(&str, Option<Value>); 2]| {
        table.extend(limits.into_iter().filter_map(|(key, limit)| Some((key.to_owned(), limit?))));
        table
    };
    let whole = |(min, max): (i64, i64)| {
        let limit = |limit: i64, none: i64| (limit != none).then_some(Value::Int(limit));
        [("min", limit(min, i64::MIN)), ("max", limit(max, i64::MAX))]
    };
    match kind {
        ValueKind::Bool => typed("bool"),
        ValueKind::Int { min, max } => limited(typed("integer"), whole((*min, *max))),
        ValueKind::Bytes { min, max } => {
            let mut table = limited(typed("integer"), whole((*min, *max)));
            table.push(("unit".into(), Value::Str("bytes".into())));
            table
        }
        ValueKind::Float { min, max } => {
            let limit = |limit: f64| limit.is_finite().then_some(Value::Float(limit));
            limited(typed("float"), [("min", limit(*min)), ("max", limit(*max))])
        }
        ValueKind::Str => typed("string"),
        ValueKind::Path => typed("path"),
        ValueKind::Choice(choices) => {
            let choices = choices.iter().map(|(name, doc)| (name.clone(), Value::Str(doc.clone()))).collect();
            let mut table = typed("choice");
            table.push(("choices".into(), Value::Struct(choices)));
            table
        }
        ValueKind::List(item) => {
            let mut table = typed("list");
            table.push(("items".into(), Value::Struct(self::kind(item))));
            table
        }
        ValueKind::Struct(fields) => {
            let fields = fields.iter().map(|field| (field.name.clone(), Value::Struct(option(field)))).collect();
            let mut table = typed("table");
            table.push(("fields".into(), Value::Struct(fields)));
            table
        }
    }
}
