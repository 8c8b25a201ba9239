//! `relais list` and `relais describe`: the contents of plugins' records. No plugin is opened.

use super::{
    args::{DescribeArgs, ListArgs, What},
    catalogue, markdown,
    terminal::{self, CliError},
};
use relais::{
    instruments::{BuiltIn, built_in as built_in_instruments, find as find_built_in},
    ir::attr_kind,
    options::{OptionSchema, OptionType},
    pass::{Catalogue, InstrumentFacts},
    pipeline::{BUILT_IN, built_in, toml},
    plugin::{AttrRecord, OperatorRecord, PassRecord, PipelineRecord, StatisticRecord},
    registry::{Provider, Registry, ResolveError},
    words::or_list,
};
use relais_plugin_api::{
    boundary::record::formal_kind,
    ir::ElemType,
    op::{FormalFacts, OpSchema, TypeVarFacts},
};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The name in the place of a plugin for items of the host itself.
const BUILT_IN_PLUGIN: &str = "(built in)";

/// Lists items of a kind.
pub(crate) fn list(args: &ListArgs) -> Result<(), CliError> {
    let registry = catalogue::registry(&args.plugins)?;
    if args.json {
        return terminal::print(&format!("{:#}\n", list_json(&registry, args.what)));
    }
    let (header, rows) = match args.what {
        What::Passes => {
            let mut passes: Vec<_> = registry
                .passes()
                .map(|(pass, provider)| (pass.phase, shown_name(&registry, pass), pass, provider))
                .collect();
            passes.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
            let rows = passes.into_iter().map(|(phase, name, pass, provider)| {
                let (level, kind) = (pass.opt_level.to_string(), pass.level.name().to_owned());
                vec![name, level, kind, phase.name().into(), plugin_of(provider), first_line(&pass.doc)]
            });
            (vec!["pass", "level", "kind", "phase", "plugin", ""], rows.collect::<Vec<_>>())
        }
        What::Plugins => (vec!["plugin", "version", "file", ""], plugin_rows(&registry)),
        What::Operators => {
            let rows = registry.operators().map(|(op, provider)| {
                vec![operator_name(op), op.since_version.to_string(), plugin_of(provider), first_line(op.doc())]
            });
            (vec!["operator", "since", "plugin", ""], rows.collect())
        }
        What::Options => (vec!["option", "takes", "default", "of", ""], option_rows(&registry)),
        What::Instruments => {
            let rows = instruments(&registry).into_iter().map(|it| {
                let names: Vec<&str> = it.options.iter().map(|option| option.name.as_str()).collect();
                vec![it.name.clone(), names.join(", "), it.plugin(), first_line(&it.doc)]
            });
            (vec!["instrument", "options", "plugin", ""], rows.collect())
        }
        What::Pipelines => {
            let own = BUILT_IN.iter().map(|(name, text)| vec![(*name).into(), BUILT_IN_PLUGIN.into(), headline(text)]);
            let provided = registry
                .pipelines()
                .map(|(it, provider)| vec![it.name.clone(), plugin_of(provider), headline(&it.toml)]);
            (vec!["pipeline", "plugin", ""], own.chain(provided).collect())
        }
    };
    terminal::print(&columns(&header, &rows))
}

/// The short name of a pass, where nothing else has it.
fn shown_name(registry: &Registry, pass: &PassRecord) -> String {
    let short = pass.name.rsplit('.').next().unwrap_or(&pass.name);
    let is_own = registry.pass(short).is_ok_and(|meant| std::ptr::eq(meant, pass));
    if is_own { short.to_owned() } else { pass.name.clone() }
}

/// Describes the item of a name.
pub(crate) fn describe(args: &DescribeArgs) -> Result<(), CliError> {
    let registry = catalogue::registry(&args.plugins)?;
    let name = args.name.as_str();
    let mut found = Vec::new();
    let pass = registry.pass(name);
    if let Ok(record) = pass {
        let provider = registry.passes().find(|(other, _)| std::ptr::eq(*other, record)).map(|(_, provider)| provider);
        let describe = if args.markdown { markdown::pass } else { describe_pass };
        found.push(describe(record, provider));
    }
    if args.markdown {
        let own = find_built_in(name).map(own_instrument);
        let facts = || registry.instrument(name).is_ok().then(|| Catalogue::instrument(&registry, name).ok()).flatten();
        found.extend(own.or_else(|| facts().map(Instrument::from)).map(|it| markdown::instrument(&it)));
        let Some(page) = found.first() else { return Err(no_page(&registry, name)) };
        return terminal::print(page);
    }
    let operators = registry.operators().filter(|(op, _)| operator_name(op) == name);
    found.extend(operators.map(|(op, provider)| describe_operator(op, Some(provider))));
    let options = registry.config_options().filter(|(option, _)| option.name == name);
    found.extend(options.map(|(option, provider)| {
        format!("option {}\n  plugin   {}\n{}", option.name, plugin_of(provider), describe_option(option, "  "))
    }));
    let plugins = registry.plugins().filter(|provider| provider.records().plugin.name == name);
    found.extend(plugins.map(describe_plugin));
    found.extend(find_built_in(name).map(|it| describe_instrument(&own_instrument(it))));
    let instrument = registry.instrument(name);
    if instrument.is_ok() {
        let facts = Catalogue::instrument(&registry, name).ok();
        found.extend(facts.map(|facts| describe_instrument(&facts.into())));
    }
    found.extend(built_in(name).map(|text| format!("pipeline {name}\n\n{text}")));
    let pipeline = registry.pipeline(name);
    if let Ok((record, provider)) = &pipeline {
        found.push(describe_pipeline(record, Some(provider)));
    }
    if !found.is_empty() {
        return terminal::print(&format!("{}\n", found.join("\n").trim_end()));
    }
    let faults = [pass.err(), instrument.err(), pipeline.err()];
    let fault = faults.into_iter().flatten().find(|error| !matches!(error, ResolveError::Unknown { .. }));
    Err(fault.map_or_else(|| unknown(&registry, name), CliError::new))
}

fn no_page(registry: &Registry, name: &str) -> CliError {
    CliError::new(format!("no pass and no instrument is named `{name}`")).help(match registry.pass(name) {
        Err(error) if !matches!(error, ResolveError::Unknown { .. }) => error.to_string(),
        _ => "others have no page; `relais describe` without `--markdown` describes them".into(),
    })
}

fn unknown(registry: &Registry, name: &str) -> CliError {
    let mut known: Vec<String> = registry.passes().map(|(pass, _)| pass.name.clone()).collect();
    known.extend(registry.operators().map(|(op, _)| operator_name(op)));
    known.extend(registry.config_options().map(|(option, _)| option.name.clone()));
    known.extend(instruments(registry).into_iter().map(|it| it.name));
    known.extend(registry.plugins().map(|provider| provider.records().plugin.name.clone()));
    known.extend(registry.pipelines().map(|(pipeline, _)| pipeline.name.clone()));
    known.extend(BUILT_IN.iter().map(|(name, _)| (*name).to_owned()));
    let near = relais::words::nearest(name, known.iter().map(String::as_str));
    let error = CliError::new(format!("nothing is named `{name}`"));
    match near.is_empty() {
        true => error.help("`relais list` shows what there is"),
        false => error.help(format!("did you mean {}?", or_list(&near))),
    }
}

pub(super) fn describe_pass(pass: &PassRecord, provider: Option<&Provider>) -> String {
    let mut out = format!("pass {}\n", pass.name);
    let mut line = |key: &str, value: String| {
        if !value.is_empty() {
            writeln!(out, "  {key:<8} {value}").expect("a string takes everything");
        }
    };
    line("aliases", pass.aliases.join(", "));
    line("level", pass.opt_level.to_string());
    line("kind", pass.level.name().to_owned());
    line("phase", pass.phase.name().to_owned());
    line("required", pass.required.join(", "));
    line("extends", pass.extends.clone().unwrap_or_default());
    line("members", pass.members.join(", "));
    line("plugin", provider.map(plugin_of).unwrap_or_default());
    out.push_str(&paragraph(&pass.doc));
    out.push_str(&describe_options(&pass.options));
    for (i, StatisticRecord { name, doc }) in pass.statistics.iter().enumerate() {
        let headline = if i == 0 { "\nstatistics\n" } else { "" };
        writeln!(out, "{headline}  {name}  {doc}").expect("a string takes everything");
    }
    out
}

/// An instrument of the host or of a plugin.
pub(super) struct Instrument {
    pub(super) name: String,
    /// The plugin and its version; none for the host's own.
    pub(super) from: Option<(String, String)>,
    pub(super) doc: String,
    pub(super) options: Vec<OptionSchema>,
}

impl Instrument {
    fn plugin(&self) -> String {
        self.from.as_ref().map_or_else(|| BUILT_IN_PLUGIN.into(), |(plugin, version)| format!("{plugin} {version}"))
    }
}

impl From<InstrumentFacts> for Instrument {
    fn from(facts: InstrumentFacts) -> Self {
        let from = Some((facts.plugin, facts.plugin_version.to_string()));
        Self { name: facts.name, from, doc: facts.doc, options: facts.options }
    }
}

/// Every instrument, ordered by name.
fn instruments(registry: &Registry) -> Vec<Instrument> {
    let mut all: Vec<Instrument> = built_in_instruments().into_iter().map(own_instrument).collect();
    all.extend(Catalogue::instruments(registry).into_iter().map(Instrument::from));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn own_instrument(it: &BuiltIn) -> Instrument {
    Instrument { name: it.name.into(), from: None, doc: it.doc.into(), options: (it.options)() }
}

pub(super) fn describe_instrument(it: &Instrument) -> String {
    let Instrument { name, doc, options, .. } = it;
    format!("instrument {name}\n  plugin   {}\n{}{}", it.plugin(), paragraph(doc), describe_options(options))
}

pub(super) fn describe_pipeline(pipeline: &PipelineRecord, provider: Option<&Provider>) -> String {
    let plugin = provider.map(|provider| format!("  plugin   {}\n", plugin_of(provider))).unwrap_or_default();
    format!("pipeline {}\n{plugin}\n{}", pipeline.name, pipeline.toml)
}

/// Describes the formal inputs and results, and their types.
fn describe_formals(schema: &OpSchema) -> String {
    let formals = |title: &str, formals: &[FormalFacts]| {
        let line = |formal: &FormalFacts| match formal_kind_name(formal.kind) {
            "single" => format!("  {:<24} {}\n", formal.name, formal.var),
            kind => format!("  {:<24} {}, {kind}\n", formal.name, formal.var),
        };
        if formals.is_empty() {
            String::new()
        } else {
            format!("\n{title}\n") + &formals.iter().map(line).collect::<String>()
        }
    };
    let list = |what: &str, elems: &[ElemType]| {
        let names: Vec<String> = elems.iter().map(ElemType::to_string).collect();
        (!elems.is_empty()).then(|| format!("{what}{}", names.join(", ")))
    };
    let variable = |var: &TypeVarFacts| {
        let parts = [
            list("", &var.tensors),
            list("sequences of ", &var.sequences),
            list("optional ", &var.optionals),
            list("optional sequences of ", &var.optional_sequences),
            (!var.others.is_empty()).then(|| var.others.join(", ")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let allowed = if parts.is_empty() { "anything".to_owned() } else { parts.join("; ") };
        format!("  {:<24} {allowed}\n", var.name)
    };
    let mut out = formals("takes", &schema.formal_inputs) + &formals("gives", &schema.formal_outputs);
    if schema.is_commutative {
        out.push_str("\nIts first two inputs can change places.\n");
    }
    if !schema.types.is_empty() {
        out.push_str("\ntypes\n");
        out.extend(schema.types.iter().map(variable));
    }
    out
}

fn formal_kind_name(kind: u8) -> &'static str {
    match kind {
        formal_kind::SINGLE => "single",
        formal_kind::OPTIONAL => "optional",
        formal_kind::VARIADIC => "any number, of one type",
        formal_kind::MIXED => "any number, each of a type of its own",
        _ => "unknown",
    }
}

fn formal_json(formal: &FormalFacts) -> Value {
    let kind = match formal.kind {
        formal_kind::VARIADIC => "variadic",
        formal_kind::MIXED => "mixed",
        kind => formal_kind_name(kind),
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

pub(super) fn describe_operator(op: &OperatorRecord, provider: Option<&Provider>) -> String {
    let count = |(fewest, most): (u16, u16)| match (fewest, most) {
        (fewest, u16::MAX) => format!("{fewest} or more"),
        (fewest, most) if fewest == most => fewest.to_string(),
        (fewest, most) => format!("{fewest} to {most}"),
    };
    let mut out = format!(
        "operator {} since version {}\n  inputs   {}\n  outputs  {}\n{}{}",
        operator_name(op),
        op.since_version,
        count(op.inputs),
        count(op.outputs),
        provider.map(|provider| format!("  plugin   {}\n", plugin_of(provider))).unwrap_or_default(),
        paragraph(op.doc())
    );
    out.push_str(&describe_formals(&op.schema()));
    if op.attrs().next().is_some() {
        out.push_str("\nattributes\n");
    }
    for attr in op.attrs() {
        match attr {
            Ok(AttrRecord { name, kind, required, default }) => {
                write!(out, "  {name:<24} {}", attr_kind::name(kind)).expect("a string takes everything");
                match (required, default) {
                    (true, _) => out.push_str(", must be given\n"),
                    (false, "") => out.push('\n'),
                    (false, default) => writeln!(out, ", default {default}").expect("a string takes everything"),
                }
            }
            Err(cause) => writeln!(out, "  one does not read: {cause}").expect("a string takes everything"),
        }
    }
    out
}

pub(super) fn attr_json(attr: AttrRecord<'_>) -> serde_json::Value {
    let AttrRecord { name, kind, required, default } = attr;
    let default = (!default.is_empty()).then_some(default);
    json!({ "name": name, "type": attr_kind::name(kind), "required": required, "default": default })
}

fn describe_plugin(provider: &Provider) -> String {
    let records = provider.records();
    let plugin = &records.plugin;
    let mut out = format!("plugin {} {}\n", plugin.name, plugin.version);
    let mut line = |key: &str, value: String| {
        if !value.is_empty() {
            writeln!(out, "  {key:<11} {value}").expect("a string takes everything");
        }
    };
    line("licence", plugin.licence.clone());
    line("file", provider.path().map_or_else(|| "linked".into(), |path| path.display().to_string()));
    line("compiler", plugin.rustc.clone());
    line("target", plugin.target.clone());
    line("passes", records.passes.iter().map(|pass| pass.name.as_str()).collect::<Vec<_>>().join(", "));
    line("operators", records.operators.len().to_string());
    let instruments = records.instruments.iter().map(|instrument| instrument.name.as_str());
    line("instruments", instruments.collect::<Vec<_>>().join(", "));
    let pipelines = records.pipelines.iter().map(|pipeline| pipeline.name.as_str());
    line("pipelines", pipelines.collect::<Vec<_>>().join(", "));
    out.push_str(&paragraph(&plugin.description));
    out
}

/// The options of a pass or an instrument, under a headline.
fn describe_options(options: &[OptionSchema]) -> String {
    let mut out = String::new();
    for (i, option) in options.iter().enumerate() {
        let headline = if i == 0 { "\noptions\n" } else { "" };
        writeln!(out, "{headline}  {}", option.name).expect("a string takes everything");
        out.push_str(&describe_option(option, "    "));
    }
    out
}

/// Type, default and documentation. As deep as schemas go.
pub(super) fn describe_option(option: &OptionSchema, indent: &str) -> String {
    let default = option.default.as_ref().map_or_else(|| "none, it must be given".into(), toml);
    let mut out = format!("{indent}takes    {}\n{indent}default  {default}\n", option.kind);
    for line in option.doc.trim().lines() {
        writeln!(out, "{indent}{}", line.trim()).expect("a string takes everything");
    }
    match &option.kind {
        OptionType::Struct(fields) => {
            for field in fields {
                writeln!(out, "{indent}{}", field.name).expect("a string takes everything");
                out.push_str(&describe_option(field, &format!("{indent}  ")));
            }
        }
        OptionType::Choice(choices) => {
            for (name, doc) in choices {
                writeln!(out, "{indent}  {name}  {}", first_line(doc)).expect("a string takes everything");
            }
        }
        _ => {}
    }
    out
}

fn plugin_rows(registry: &Registry) -> Vec<Vec<String>> {
    let used = registry.plugins().map(|provider| {
        let plugin = &provider.records().plugin;
        let file = provider.path().map_or_else(|| "linked".into(), |path| path.display().to_string());
        vec![plugin.name.clone(), plugin.version.to_string(), file, first_line(&plugin.description)]
    });
    let refused = registry.refused().iter().map(|refused| {
        let (name, version) = match &refused.records {
            Some(records) => (records.plugin.name.clone(), records.plugin.version.to_string()),
            None => ("-".into(), "-".into()),
        };
        vec![name, version, refused.path.display().to_string(), format!("refused: {}", refused.refusal)]
    });
    let aside = registry.set_aside().map(|provider| {
        let plugin = &provider.records().plugin;
        let file = provider.path().map_or_else(|| "linked".into(), |path| path.display().to_string());
        vec![plugin.name.clone(), plugin.version.to_string(), file, NOT_USED.to_owned()]
    });
    used.chain(aside).chain(refused).collect()
}

/// The note on a plugin that another one replaces.
const NOT_USED: &str = "not used: the other one of that name takes its place";

/// The options of contexts, then those of passes.
fn option_rows(registry: &Registry) -> Vec<Vec<String>> {
    let row = |name: String, option: &OptionSchema, of: String| {
        let default = option.default.as_ref().map_or_else(|| "-".into(), toml);
        vec![name, option.kind.to_string(), default, of, first_line(&option.doc)]
    };
    let config =
        registry.config_options().map(|(option, provider)| row(option.name.clone(), option, plugin_of(provider)));
    let passes = registry.passes().flat_map(|(pass, provider)| {
        pass.options.iter().map(move |option| {
            let short = pass.name.rsplit('.').next().unwrap_or(&pass.name);
            row(format!("{short}.{}", option.name), option, plugin_of(provider))
        })
    });
    config.chain(passes).collect()
}

fn list_json(registry: &Registry, what: What) -> Value {
    match what {
        What::Passes => registry
            .passes()
            .map(|(pass, provider)| {
                let mut json = with(pass_json(pass), "plugin", provider);
                json["version"] = json!(provider.records().plugin.version.to_string());
                json
            })
            .collect(),
        What::Plugins => {
            let used = registry.plugins().map(|provider| {
                let plugin = &provider.records().plugin;
                json!({
                    "name": plugin.name,
                    "version": plugin.version.to_string(),
                    "licence": plugin.licence,
                    "description": plugin.description,
                    "file": provider.path().map(|path| path.display().to_string()),
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
        What::Operators => {
            registry.operators().map(|(op, provider)| with(operator_json(op), "plugin", provider)).collect()
        }
        What::Options => {
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
        What::Instruments => instruments(registry)
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
        What::Pipelines => {
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

pub(super) fn pass_json(pass: &PassRecord) -> Value {
    json!({
        "name": pass.name,
        "aliases": pass.aliases,
        "opt_level": pass.opt_level,
        "kind": pass.level.name(),
        "phase": pass.phase.name(),
        "required": pass.required,
        "extends": pass.extends,
        "doc": pass.doc,
        "options": pass.options.iter().map(option_json).collect::<Vec<_>>(),
        "statistics": pass.statistics.iter().map(statistic_json).collect::<Vec<_>>(),
    })
}

pub(super) fn operator_json(op: &OperatorRecord) -> Value {
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
        "doc": op.doc(),
    })
}

fn with(mut json: Value, key: &str, provider: &Provider) -> Value {
    json[key] = json!(provider.records().plugin.name);
    json
}

pub(super) fn statistic_json(statistic: &StatisticRecord) -> Value {
    json!({ "name": statistic.name, "doc": statistic.doc })
}

/// As deep as schemas go.
pub(super) fn option_json(option: &OptionSchema) -> Value {
    json!({
        "name": option.name,
        "doc": option.doc,
        "takes": type_json(&option.kind),
        "default": option.default.as_ref().map(value_json),
    })
}

fn type_json(kind: &OptionType) -> Value {
    // Infinite bounds mean no bounds, and JSON has no number for them.
    let bound = |value: f64| value.is_finite().then_some(value);
    match kind {
        OptionType::Bool => json!({ "type": "bool" }),
        OptionType::Int { min, max } => json!({ "type": "int", "min": min, "max": max }),
        OptionType::Float { min, max } => json!({ "type": "float", "min": bound(*min), "max": bound(*max) }),
        OptionType::Str => json!({ "type": "string" }),
        OptionType::Choice(choices) => {
            let choices: Vec<Value> = choices.iter().map(|(name, doc)| json!({ "name": name, "doc": doc })).collect();
            json!({ "type": "choice", "choices": choices })
        }
        OptionType::List(item) => json!({ "type": "list", "item": type_json(item) }),
        OptionType::Struct(fields) => {
            json!({ "type": "struct", "fields": fields.iter().map(option_json).collect::<Vec<_>>() })
        }
        _ => json!({ "type": "unknown" }),
    }
}

fn value_json(value: &relais_plugin_api::options::Value) -> Value {
    use relais_plugin_api::options::Value as Set;
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

fn plugin_of(provider: &Provider) -> String {
    let plugin = &provider.records().plugin;
    format!("{} {}", plugin.name, plugin.version)
}

pub(super) fn operator_name(op: &OperatorRecord) -> String {
    match op.domain.as_str() {
        "" => op.name.clone(),
        domain => format!("{domain}::{}", op.name),
    }
}

pub(super) fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().trim().to_owned()
}

/// The first sentence of the comment that a pipeline opens with.
fn headline(text: &str) -> String {
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

pub(super) fn paragraph(doc: &str) -> String {
    match doc.trim() {
        "" => String::new(),
        doc => format!("\n{}\n", doc.lines().map(str::trim).collect::<Vec<_>>().join("\n")),
    }
}

/// A table whose last column may be of any width.
pub(super) fn columns(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&header).chain(rows).collect();
    let widths: Vec<usize> = (0..header.len())
        .map(|at| all.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for row in all {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}
