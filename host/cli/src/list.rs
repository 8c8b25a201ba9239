//! `relais list` and `relais describe`: the contents of plugins' records. No plugin is opened.

use super::{
    args::{DescribeArgs, ListArgs, What},
    catalogue,
    markdown::{self, first_line},
    terminal::{self, CliError},
};
use relais::{
    instruments::find as find_built_in,
    ir::attr_kind,
    listing::{Listed, ListedInstrument, ListedRule, NOT_USED, headline, instruments, list_json, rules_of},
    options::{OptionSchema, ValueKind},
    pass::{AnalysisFacts, Catalogue},
    pipeline::{BUILT_IN, built_in},
    plugin::{AdditionRecord, AttrRecord, OperatorRecord, PassRecord, PipelineRecord, StatisticRecord},
    registry::{Provider, Registry, ResolveError},
    table::table,
    words::or_list,
};
use relais_plugin_api::{
    boundary::record::formal_kind,
    ir::ElemType,
    op::{AddedPart, FormalFacts, LayoutFacts, OpSchema, TypeVarFacts},
};
use std::{collections::BTreeSet, fmt::Write as _};

/// The name in the place of a plugin for items of the host itself.
const BUILT_IN_PLUGIN: &str = "(built in)";

/// Lists items of a kind.
pub(crate) fn list(args: &ListArgs) -> Result<(), CliError> {
    let registry = catalogue::registry(&args.plugins)?;
    if args.json {
        return terminal::print(&format!("{:#}\n", list_json(&registry, listed(args.what))));
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
                vec![it.name.clone(), names.join(", "), origin(&it), first_line(&it.doc)]
            });
            (vec!["instrument", "options", "plugin", ""], rows.collect())
        }
        What::Analyses => {
            let rows = Catalogue::analyses(&registry).into_iter().map(|it| {
                vec![it.name.clone(), it.subject.name().into(), plugin_of_analysis(&it).into(), first_line(&it.doc)]
            });
            (vec!["analysis", "of", "plugin", ""], rows.collect())
        }
        What::Rules => {
            let rows = registry.passes().flat_map(|(pass, provider)| {
                let row = |ListedRule { name, text }| {
                    vec![name.unwrap_or_else(|| "-".into()), pass.name.clone(), plugin_of(provider), text]
                };
                rules_of(pass).into_iter().map(row).collect::<Vec<_>>()
            });
            (vec!["rule", "pass", "plugin", ""], rows.collect())
        }
        What::Pipelines => {
            let own = BUILT_IN.iter().map(|(name, text)| vec![(*name).into(), BUILT_IN_PLUGIN.into(), headline(text)]);
            let provided = registry
                .pipelines()
                .map(|(it, provider)| vec![it.name.clone(), plugin_of(provider), headline(&it.toml)]);
            (vec!["pipeline", "plugin", ""], own.chain(provided).collect())
        }
    };
    terminal::print(&table(header.len(), &header, &rows))
}

fn listed(what: What) -> Listed {
    match what {
        What::Passes => Listed::Passes,
        What::Plugins => Listed::Plugins,
        What::Operators => Listed::Operators,
        What::Options => Listed::Options,
        What::Instruments => Listed::Instruments,
        What::Pipelines => Listed::Pipelines,
        What::Rules => Listed::Rules,
        What::Analyses => Listed::Analyses,
    }
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
        let own = find_built_in(name).map(ListedInstrument::from);
        let facts = || registry.instrument(name).is_ok().then(|| Catalogue::instrument(&registry, name).ok()).flatten();
        found.extend(own.or_else(|| facts().map(ListedInstrument::from)).map(|it| markdown::instrument(&it)));
        let Some(page) = found.first() else { return Err(no_page(&registry, name)) };
        return terminal::print(page);
    }
    let operators = registry.operators().filter(|(op, _)| operator_name(op) == name);
    found.extend(operators.map(|(op, provider)| {
        describe_operator(op, Some(provider), |part| registry.giver(op, part)) + &describe_additions(&registry, op)
    }));
    let is_named = |option: &OptionSchema| option.name == name || option.aliases.iter().any(|alias| alias == name);
    let options = registry.config_options().filter(|(option, _)| is_named(option));
    found.extend(options.map(|(option, provider)| {
        let aliases = match &*option.aliases {
            [] => String::new(),
            aliases => format!("  aliases  {}\n", aliases.join(", ")),
        };
        let described = describe_option(option, "  ");
        format!("option {}\n  plugin   {}\n{aliases}{described}", option.name, plugin_of(provider))
    }));
    let plugins = registry.plugins().filter(|provider| provider.records().plugin.name == name);
    found.extend(plugins.map(describe_plugin));
    found.extend(find_built_in(name).map(|it| describe_instrument(&ListedInstrument::from(it))));
    let instrument = registry.instrument(name);
    if instrument.is_ok() {
        let facts = Catalogue::instrument(&registry, name).ok();
        found.extend(facts.map(|facts| describe_instrument(&facts.into())));
    }
    found.extend(built_in(name).map(|text| format!("pipeline {name}\n\n{text}")));
    found.extend(Catalogue::analysis(&registry, name).ok().map(|facts| describe_analysis(&facts)));
    let pipeline = registry.pipeline(name);
    if let Ok((record, provider)) = &pipeline {
        found.push(describe_pipeline(record, Some(provider)));
    }
    if !found.is_empty() {
        return terminal::print(&format!("{}\n", found.join("\n").trim_end()));
    }
    let faults = [pass.err(), instrument.err(), pipeline.err(), registry.analysis(name).err()];
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
    known.extend(Catalogue::analyses(registry).into_iter().map(|it| it.name));
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
    line("runtime", pass.runtime.clone());
    line("target", pass.target.clone());
    line("required", pass.required.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    line("extends", pass.extends.clone().unwrap_or_default());
    line("before", pass.before.join(", "));
    line("after", pass.after.join(", "));
    line("members", pass.members.join(", "));
    line("preserves", pass.preserves.join(", "));
    line("plugin", provider.map(plugin_of).unwrap_or_default());
    out.push_str(&paragraph(&pass.doc));
    out.push_str(&describe_rules(pass));
    out.push_str(&describe_options(&pass.options));
    for (i, StatisticRecord { name, doc }) in pass.statistics.iter().enumerate() {
        let headline = if i == 0 { "\nstatistics\n" } else { "" };
        writeln!(out, "{headline}  {name}  {doc}").expect("a string takes everything");
    }
    out
}

/// Describes the rules of a pass.
fn describe_rules(pass: &PassRecord) -> String {
    let line = |ListedRule { name, text }| match name {
        Some(name) => format!("  {name}: {text}\n"),
        None => format!("  {text}\n"),
    };
    let lines: String = rules_of(pass).into_iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("\nrules\n{lines}") }
}

/// The plugin of an instrument, and its version.
fn origin(it: &ListedInstrument) -> String {
    it.from.as_ref().map_or_else(|| BUILT_IN_PLUGIN.into(), |(plugin, version)| format!("{plugin} {version}"))
}

pub(super) fn describe_instrument(it: &ListedInstrument) -> String {
    let ListedInstrument { name, doc, options, .. } = it;
    format!("instrument {name}\n  plugin   {}\n{}{}", origin(it), paragraph(doc), describe_options(options))
}

fn plugin_of_analysis(analysis: &AnalysisFacts) -> &str {
    if analysis.plugin.is_empty() { BUILT_IN_PLUGIN } else { &analysis.plugin }
}

pub(super) fn describe_analysis(it: &AnalysisFacts) -> String {
    let (plugin, depends) = (plugin_of_analysis(it), it.depends.name());
    let mut out = format!("analysis {}\n  of       {}\n", it.name, it.subject.name());
    writeln!(out, "  depends  on {depends}\n  plugin   {plugin}").expect("a string takes everything");
    out.push_str(&paragraph(&it.doc));
    for (i, (name, doc)) in it.lists.iter().enumerate() {
        let headline = if i == 0 { "\nlists\n" } else { "" };
        writeln!(out, "{headline}  {name:<8} {doc}").expect("a string takes everything");
    }
    out
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

/// A form of calls in some layouts.
fn layout(form: &LayoutFacts) -> String {
    let attrs = form.attrs.iter().map(|attr| format!(", {} = {}", attr.name, attr.default));
    let of = if form.op.is_empty() { String::new() } else { format!(", as `{}`", form.op) };
    format!("{} -> {}{of}{}", form.inputs.join(","), form.outputs.join(","), attrs.collect::<String>())
}

/// Describes what plugins add to an operator that another one describes.
fn describe_additions(registry: &Registry, op: &OperatorRecord) -> String {
    let mut out = String::new();
    for (i, (addition, provider)) in registry.additions_to(op).into_iter().enumerate() {
        out.push_str(if i == 0 { "\nadditions\n" } else { "" });
        let rank = rank_of(addition);
        writeln!(out, "  {}, {rank}\n    {}", plugin_of(provider), addition.names().join(", "))
            .expect("a string takes everything");
        out.extend(addition.parts.schema().layouts.iter().map(|form| format!("      {}\n", layout(form))));
    }
    out
}

/// Describes an addition that a plugin makes to an operator that another one describes.
pub(super) fn describe_addition(addition: &AdditionRecord) -> String {
    let (name, since) = (operator_name(&addition.parts), addition.parts.since_version);
    let mut out = format!("addition to operator {name} since version {since}, {}\n", rank_of(addition));
    addition.names().iter().for_each(|part| writeln!(out, "  {part}").expect("a string takes everything"));
    out.extend(addition.parts.schema().layouts.iter().map(|form| format!("    {}\n", layout(form))));
    out
}

fn rank_of(addition: &AdditionRecord) -> String {
    match addition.target.as_str() {
        "" => format!("priority {}", addition.priority),
        target => format!("priority {}, for the target `{target}`", addition.priority),
    }
}

/// Describes an operator; `giver` names the plugin of a part that is not the describing one's.
pub(super) fn describe_operator<'a>(
    op: &OperatorRecord,
    provider: Option<&Provider>,
    giver: impl Fn(&AddedPart) -> Option<&'a Provider>,
) -> String {
    let by = |part: &AddedPart| giver(part).map_or_else(String::new, |plugin| format!(", by {}", plugin_of(plugin)));
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
            Err(cause) => writeln!(out, "  one cannot be parsed: {cause}").expect("a string takes everything"),
        }
    }
    let schema = op.schema();
    if !schema.layouts.is_empty() {
        out.push_str("\nlayouts, the best ones first\n");
        out.extend(schema.layouts.iter().map(|form| format!("  {}\n", layout(form))));
    }
    if !schema.macs.is_empty() {
        writeln!(out, "\nmultiply-accumulates\n  {}{}", schema.macs, by(&AddedPart::Macs))
            .expect("a string takes everything");
    }
    if !schema.properties.is_empty() {
        out.push_str("\nproperties\n");
        for (name, value) in &schema.properties {
            let by = by(&AddedPart::Property(name.clone()));
            writeln!(out, "  {name} = {value:?}{by}").expect("a string takes everything");
        }
    }
    if op.has_verifier {
        out.push_str("\nverifier\n  calls that passes make are checked by it\n");
    }
    for (part, is_made) in
        [(AddedPart::Gradient, op.has_gradient), (AddedPart::Body, op.has_body_of), (AddedPart::Kernel, op.has_kernel)]
    {
        if is_made {
            write!(out, "\n{part}\n  made for each call{}\n", by(&part)).expect("a string takes everything");
        }
    }
    let body = schema.body;
    if !body.is_empty() {
        out.push_str("\nbody\n");
        for line in body.trim().lines() {
            writeln!(out, "  {line}").expect("a string takes everything");
        }
    }
    out
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
    let added = records.additions.iter().map(|addition| operator_name(&addition.parts));
    line("adds to", added.collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>().join(", "));
    let instruments = records.instruments.iter().map(|instrument| instrument.name.as_str());
    line("instruments", instruments.collect::<Vec<_>>().join(", "));
    line("analyses", records.analyses.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", "));
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
    let none = || if option.is_optional { "none unless it is given" } else { "none, it must be given" };
    let default = option.default_toml().unwrap_or_else(|| none().into());
    let mut out = format!("{indent}takes    {}\n{indent}default  {default}\n", option.kind);
    for line in option.doc.trim().lines() {
        writeln!(out, "{indent}{}", line.trim()).expect("a string takes everything");
    }
    match &option.kind {
        ValueKind::Struct(fields) => {
            for field in fields {
                writeln!(out, "{indent}{}", field.name).expect("a string takes everything");
                out.push_str(&describe_option(field, &format!("{indent}  ")));
            }
        }
        ValueKind::Choice(choices) => {
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
        let isolated = provider.isolation().map(|isolation| match isolation.to_string() {
            settings if settings.is_empty() => "isolated: ".to_owned(),
            settings => format!("isolated ({settings}): "),
        });
        let what = isolated.unwrap_or_default() + &first_line(&plugin.description);
        vec![plugin.name.clone(), plugin.version.to_string(), file, what]
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

/// The options of contexts, then those of passes.
fn option_rows(registry: &Registry) -> Vec<Vec<String>> {
    let row = |name: String, option: &OptionSchema, of: String| {
        let none = || if option.is_optional { "none" } else { "-" };
        let default = option.default_toml().unwrap_or_else(|| none().into());
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

pub(super) fn paragraph(doc: &str) -> String {
    match doc.trim() {
        "" => String::new(),
        doc => format!("\n{}\n", doc.lines().map(str::trim).collect::<Vec<_>>().join("\n")),
    }
}
