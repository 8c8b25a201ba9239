//! A resolved pipeline as TOML that runs the same.

use super::resolved::*;
use crate::pass::{Dependencies, OnFailure, Scope, Verify};
use relais_plugin_api::options::Value;
use std::fmt::Write as _;

impl Pipeline {
    /// The pipeline as TOML that resolves to the same pipeline, with full names and every option.
    pub fn print(&self) -> String {
        let mut out = String::new();
        line(&mut out, "name", &quote(&self.name));
        line(&mut out, "opt_level", &self.scope.opt_level.to_string());
        names(&mut out, "required", &self.scope.required);
        names(&mut out, "disabled", &self.scope.disabled);
        line(
            &mut out,
            "dependencies",
            match self.run.dependencies {
                Dependencies::Transitive => "\"transitive\"",
                Dependencies::Direct => "\"direct\"",
                Dependencies::Assumed => "\"assumed\"",
            },
        );
        line(
            &mut out,
            "on_failure",
            match self.run.on_failure {
                OnFailure::Fail => "\"fail\"",
                OnFailure::Skip => "\"skip\"",
                OnFailure::Quarantine => "\"quarantine\"",
            },
        );
        match self.run.verify {
            Some(Verify::Each) => line(&mut out, "verify", "\"each\""),
            Some(Verify::Off) => line(&mut out, "verify", "\"off\""),
            None => {}
        }
        if !self.run.target.is_empty() {
            line(&mut out, "target", &quote(&self.run.target));
        }
        if !self.run.instruments.is_empty() {
            let used = self.run.instruments.iter().map(|used| format!("    {},\n", instrument(used)));
            line(&mut out, "instruments", &format!("[\n{}]", used.collect::<String>()));
        }
        out.push('\n');
        self.steps(&mut out);
        if !self.scope.config.is_empty() {
            out.push_str("\n[config]\n");
            for (key, value) in &self.scope.config {
                line(&mut out, &quote(key), &toml(value));
            }
        }
        if !self.run.plugins.is_empty() {
            out.push_str("\n[plugins]\n");
            for demand in &self.run.plugins {
                let version = quote(&demand.version.to_string());
                let choices = [
                    ("passes", &demand.passes),
                    ("operators", &demand.operators),
                    ("pipelines", &demand.pipelines),
                    ("analyses", &demand.analyses),
                ];
                let chosen = choices.into_iter().filter(|(_, names)| !names.is_empty()).map(|(key, names)| {
                    let names = names.iter().cloned().map(Value::Str).collect();
                    format!(", {key} = {}", toml(&Value::List(names)))
                });
                let isolated = demand.isolate.as_ref().map(|isolation| match isolation.toml() {
                    settings if settings.is_empty() => ", isolate = true".to_owned(),
                    settings => format!(", isolate = {{ {settings} }}"),
                });
                let chosen: String = chosen.chain(isolated).collect();
                let demanded = if chosen.is_empty() { version } else { format!("{{ version = {version}{chosen} }}") };
                line(&mut out, &quote(&demand.name), &demanded);
            }
        }
        out
    }

    /// With its own stack: steps may be nested more deeply than the program's stack allows.
    fn steps(&self, out: &mut String) {
        enum Work<'a> {
            Step(usize),
            Text(&'a str),
            Owned(String),
            Deeper,
            Shallower,
        }
        out.push_str("steps = [\n");
        let mut depth = 1usize;
        let mut commented = None;
        let mut work = vec![Work::Text("]\n"), Work::Shallower];
        work.extend(self.steps.iter().rev().map(|&step| Work::Step(step)));
        while let Some(item) = work.pop() {
            let (text, tail, steps) = match item {
                Work::Deeper => {
                    depth += 1;
                    continue;
                }
                Work::Shallower => {
                    depth -= 1;
                    continue;
                }
                Work::Text(text) => {
                    indent(out, depth);
                    out.push_str(text);
                    continue;
                }
                Work::Owned(text) => {
                    indent(out, depth);
                    out.push_str(&text);
                    continue;
                }
                Work::Step(node) if commented != Some(node) && self.origins.contains_key(&node) => {
                    indent(out, depth);
                    out.push_str(&format!("# {}\n", self.origins[&node]));
                    commented = Some(node);
                    work.push(Work::Step(node));
                    continue;
                }
                Work::Step(node) => match &self.nodes[node] {
                    ResolvedStep::Pass { pass, opt_level } => {
                        let PassInstance { facts, options, .. } = &self.passes[*pass];
                        let has_options = matches!(options, Value::Struct(entries) if !entries.is_empty());
                        let options = has_options.then(|| format!(", options = {}", toml(options)));
                        let level = (*opt_level != facts.opt_level).then(|| format!(", opt_level = {opt_level}"));
                        let name = quote(&facts.name);
                        work.push(Work::Owned(match (level, options) {
                            (None, None) => format!("{name},\n"),
                            (level, options) => {
                                let (level, options) = (level.unwrap_or_default(), options.unwrap_or_default());
                                format!("{{ pass = {name}{level}{options} }},\n")
                            }
                        }));
                        continue;
                    }
                    ResolvedStep::Sequence { name, opt_level, required, steps } => {
                        let one = |&pass: &usize| {
                            let PassInstance { facts, options, .. } = &self.passes[pass];
                            let name = quote(&facts.name);
                            match options {
                                Value::Struct(entries) if entries.is_empty() => name,
                                options => format!("{{ pass = {name}, options = {} }}", toml(options)),
                            }
                        };
                        let required: Vec<String> = required.iter().map(one).collect();
                        let required = match required.is_empty() {
                            true => String::new(),
                            false => format!(", required = [{}]", required.join(", ")),
                        };
                        let tail = format!("], name = {}, opt_level = {opt_level}{required} }},\n", quote(name));
                        ("{ sequence = [\n", tail, steps)
                    }
                    ResolvedStep::Fixpoint { steps, max_rounds } => {
                        ("{ fixpoint = [\n", format!("], max_rounds = {max_rounds} }},\n"), steps)
                    }
                    ResolvedStep::Scope { scope, instruments, steps } => {
                        ("{ scope = [\n", scope_tail(scope, instruments.as_deref()), steps)
                    }
                    ResolvedStep::When { operators, steps } => {
                        let names = operators.iter().map(|name| Value::Str(name.to_string())).collect();
                        let tail = format!("], when_operator = {} }},\n", toml(&Value::List(names)));
                        ("{ steps = [\n", tail, steps)
                    }
                },
            };
            work.push(Work::Owned(tail));
            work.push(Work::Shallower);
            work.extend(steps.iter().rev().map(|&step| Work::Step(step)));
            work.push(Work::Deeper);
            indent(out, depth);
            out.push_str(text);
        }
    }
}

/// An instrument and its options, as an inline table.
fn instrument((name, options): &(String, Value)) -> String {
    format!("{{ instrument = {}, options = {} }}", quote(name), toml(options))
}

fn scope_tail(scope: &Scope, instruments: Option<&[(String, Value)]>) -> String {
    let list = |names: &std::collections::BTreeSet<String>| {
        toml(&Value::List(names.iter().cloned().map(Value::Str).collect()))
    };
    let config = Value::Struct(scope.config.clone().into_iter().collect());
    let instruments = instruments.map_or_else(String::new, |used| {
        format!(", instruments = [{}]", used.iter().map(instrument).collect::<Vec<_>>().join(", "))
    });
    format!(
        "], opt_level = {}, required = {}, disabled = {}, config = {}{instruments} }},\n",
        scope.opt_level,
        list(&scope.required),
        list(&scope.disabled),
        toml(&config)
    )
}

fn line(out: &mut String, key: &str, value: &str) {
    writeln!(out, "{key} = {value}").expect("a string takes everything");
}

fn names(out: &mut String, key: &str, names: &std::collections::BTreeSet<String>) {
    if !names.is_empty() {
        line(out, key, &toml(&Value::List(names.iter().cloned().map(Value::Str).collect())));
    }
}

fn indent(out: &mut String, depth: usize) {
    // Beyond this depth, columns are useless, and a pipeline's text would grow with the square of its depth.
    out.extend(std::iter::repeat_n("    ", depth.min(8)));
}

/// A string as TOML writes it.
pub fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A value as TOML writes it. As deep as schemas go.
pub fn toml(value: &Value) -> String {
    match value {
        Value::Float(value) if value.is_infinite() => if *value > 0.0 { "inf" } else { "-inf" }.into(),
        Value::Str(text) => quote(text),
        Value::List(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Struct(entries) if entries.is_empty() => "{}".into(),
        Value::Struct(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{} = {}", quote(key), toml(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}
