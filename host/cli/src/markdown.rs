//! The contents of a record, as a page in Markdown: `relais describe NAME --markdown`.

use relais::{
    listing::ListedInstrument,
    options::{OptionSchema, ValueKind},
    plugin::{PassRecord, StatisticRecord},
    registry::Provider,
};
use std::fmt::Write as _;

/// The page of a pass.
pub(super) fn pass(pass: &PassRecord, provider: Option<&Provider>) -> String {
    let short = pass.name.rsplit('.').next().unwrap_or(&pass.name);
    let mut out = format!("# {short}\n\n");
    paragraphs(&mut out, &pass.doc);
    out.push_str("| | |\n|---|---|\n");
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            writeln!(out, "| {name} | {value} |").expect("a string takes everything");
        }
    };
    fact("full name", code(&pass.name));
    fact("aliases", codes(&pass.aliases));
    fact("plugin", provider.map(|provider| code(&provider.records().plugin.name)).unwrap_or_default());
    fact("level", pass.opt_level.to_string());
    fact("kind", pass.level.name().to_owned());
    fact("requires", codes(&pass.required.iter().map(ToString::to_string).collect::<Vec<_>>()));
    fact("members", codes(&pass.members));
    fact("asked about", codes(&pass.ops));
    fact("establishes", if pass.establishes_types { "types".into() } else { String::new() });
    fact("functions", if pass.parallel { String::new() } else { "one at a time".into() });
    options(&mut out, &pass.options);
    for (i, StatisticRecord { name, doc }) in pass.statistics.iter().enumerate() {
        let headline = if i == 0 { "\n## Statistics\n\n| statistic | counts |\n|---|---|\n" } else { "" };
        writeln!(out, "{headline}| {} | {} |", code(name), cell(doc)).expect("a string takes everything");
    }
    out
}

/// The page of an instrument.
pub(super) fn instrument(it: &ListedInstrument) -> String {
    let mut out = format!("# {}\n\n", it.name);
    paragraphs(&mut out, &it.doc);
    let plugin = it.from.as_ref().map_or_else(|| "built in".into(), |(name, _)| code(name));
    write!(out, "| | |\n|---|---|\n| plugin | {plugin} |\n").expect("a string takes everything");
    options(&mut out, &it.options);
    out
}

/// A documentation comment, which is Markdown, without the space that each line begins with.
fn paragraphs(out: &mut String, doc: &str) {
    for line in doc.trim().lines() {
        out.push_str(line.strip_prefix(' ').unwrap_or(line).trim_end());
        out.push('\n');
    }
    out.push_str(if doc.trim().is_empty() { "" } else { "\n" });
}

fn options(out: &mut String, options: &[OptionSchema]) {
    if options.is_empty() {
        return;
    }
    out.push_str("\n## Options\n\n| option | takes | default | |\n|---|---|---|---|\n");
    // Those of a table follow it, under its name. As many as there are in the schema.
    let mut open: Vec<(String, &OptionSchema)> = options.iter().rev().map(|option| (String::new(), option)).collect();
    let mut choices = String::new();
    while let Some((prefix, option)) = open.pop() {
        let name = format!("{prefix}{}", option.name);
        let default = match (option.default_toml(), &option.kind) {
            (Some(default), _) => code(&default),
            (None, _) if option.is_optional => "none unless it is given".into(),
            (None, ValueKind::Struct(_)) => String::new(),
            (None, _) => "must be given".into(),
        };
        let (takes, doc) = (cell(&option.kind.to_string()), cell(&option.doc));
        writeln!(out, "| {} | {takes} | {default} | {doc} |", code(&name)).expect("a string takes everything");
        match &option.kind {
            ValueKind::Struct(fields) => {
                open.extend(fields.iter().rev().map(|field| (format!("{name}."), field)));
            }
            ValueKind::Choice(of) if of.iter().any(|(_, doc)| !doc.trim().is_empty()) => {
                write!(choices, "\n`{name}` is one of\n\n").expect("a string takes everything");
                for (choice, doc) in of {
                    writeln!(choices, "- {}: {}", code(&format!("{choice:?}")), first_line(doc))
                        .expect("a string takes everything");
                }
            }
            _ => {}
        }
    }
    out.push_str(&choices);
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

fn codes(names: &[String]) -> String {
    names.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ")
}

/// Text in a cell of a table: on one line, without characters that end the cell.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

pub(super) fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().trim().to_owned()
}
