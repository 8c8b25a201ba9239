//! Instruments that the arguments request: each argument is one that a pipeline could name.

use super::{
    args_watch::WatchArgs,
    terminal::{self, CliError},
};
use clap::ValueEnum;
use relais::{
    ir::IRModule,
    pipeline::{
        Fault, Faults, PipelineSpec,
        fault::{Code, Place, Sources},
        parse_setting,
        spec::{Entry, InstrumentUse, Literal, Written},
    },
    words::{nearest, or_list},
};
use std::path::Path;

/// Adds the instruments to those that the pipeline names.
pub(crate) fn add(args: &WatchArgs, spec: &mut PipelineSpec) -> Result<(), CliError> {
    let sources = &mut spec.sources;
    let mut uses = Vec::new();
    if let Some(form) = args.time_passes {
        uses.push(Use::new(sources, "timing", "--time-passes").text("format", &value_name(form)));
    }
    if let Some(file) = &args.trace {
        uses.push(Use::new(sources, "trace", "--trace").path("file", file)?);
    }
    for (name, flag, passes) in
        [("print-before", "--print-before", &args.print_before), ("print-after", "--print-after", &args.print_after)]
    {
        if passes.is_empty() {
            continue;
        }
        // `*` is represented by no names.
        let passes: &[String] = if passes.iter().any(|pass| pass == "*") { &[] } else { passes };
        let print = Use::new(sources, name, flag).texts(sources, "passes", flag, passes);
        uses.push(print.texts(sources, "functions", "--filter-function", &args.filter_function));
    }
    if let Some(form) = args.print_changed {
        let print = Use::new(sources, "print-changed", "--print-changed").text("form", &value_name(form));
        uses.push(print.texts(sources, "functions", "--filter-function", &args.filter_function));
    }
    if let Some(dir) = &args.dump_dir {
        uses.push(Use::new(sources, "dump", "--dump-dir").path("dir", dir)?);
    }
    if args.stats {
        uses.push(Use::new(sources, "statistics", "--stats"));
    }
    if let Some(kinds) = args.remarks {
        uses.push(Use::new(sources, "remarks", "--remarks").text("kind", &value_name(kinds)));
    }
    let mut faults = Vec::new();
    for text in &args.instrument {
        uses.push(parse(sources, text, &mut faults));
    }
    if !faults.is_empty() {
        return Err(Faults { list: faults, sources: spec.sources.clone() }.into());
    }
    spec.run.instruments.extend(uses.into_iter().map(|it| it.0));
    Ok(())
}

/// Warns of functions to print that the model does not have. A pass may create them.
pub(crate) fn check_functions(args: &WatchArgs, module: &IRModule) {
    for name in args.filter_function.iter().filter(|name| module.global(name).is_none()) {
        let near = nearest(name, module.bodies().map(|(name, _)| name));
        let help = if near.is_empty() { String::new() } else { format!("\n  help: did you mean {}?", or_list(&near)) };
        terminal::warn(format_args!("`--filter-function`: the model has no function `{name}`{help}"));
    }
}

/// An instrument that is being put together.
struct Use(InstrumentUse, Place);

impl Use {
    fn new(sources: &mut Sources, name: &str, flag: &str) -> Self {
        let place = sources.add_whole("command line", flag);
        Self(InstrumentUse { name: Written::at(place, name.to_owned()), options: Vec::new() }, place)
    }

    fn text(mut self, key: &str, value: &str) -> Self {
        let (key, value) = (key.to_owned(), Literal::Str(value.to_owned()));
        self.0.options.push(Entry { key: Written::at(self.1, key), value: Written::at(self.1, value) });
        self
    }

    fn path(self, key: &str, path: &Path) -> Result<Self, CliError> {
        let text = path.to_str().ok_or_else(|| {
            CliError::usage(format!("`{}` is not valid Unicode, as options of instruments must be", path.display()))
        })?;
        Ok(self.text(key, text))
    }

    fn texts(mut self, sources: &mut Sources, key: &str, flag: &str, items: &[String]) -> Self {
        if items.is_empty() {
            return self;
        }
        let item = |item: &String| Written::at(sources.add_whole(flag, item), Literal::Str(item.clone()));
        let value = Literal::List(items.iter().map(item).collect());
        self.0.options.push(Entry { key: Written::at(self.1, key.to_owned()), value: Written::at(self.1, value) });
        self
    }
}

/// `NAME` or `NAME:KEY=VALUE,KEY=VALUE`; commas within brackets and quotes part nothing.
fn parse(sources: &mut Sources, text: &str, faults: &mut Vec<Fault>) -> Use {
    let (name, options) = text.split_once(':').unwrap_or((text, ""));
    let source = sources.add("--instrument", text);
    let place = Place::new(source, 0..name.len());
    let mut out = InstrumentUse { name: Written::at(place, name.to_owned()), options: Vec::new() };
    for option in split(options) {
        match parse_setting(sources, "--instrument", option) {
            Ok(entry) if out.options.iter().any(|known| known.key.value == entry.key.value) => {
                let message = format!("option `{}` of `{name}` is given twice", entry.key.value);
                faults.push(Fault::new(Code::Duplicate, entry.key.place, message).help("remove one of the two"));
            }
            Ok(entry) => out.options.push(entry),
            Err(fault) => faults.push(*fault),
        }
    }
    Use(out, place)
}

fn split(options: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0usize, None);
    for (at, c) in options.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(&options[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !options.is_empty() {
        parts.push(&options[start..]);
    }
    parts
}

fn value_name(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_brackets_and_quotes_part_nothing() {
        assert_eq!(split("a=1,b=[1,2],c=\"x,y\",d={e=1,f=2}"), ["a=1", "b=[1,2]", "c=\"x,y\"", "d={e=1,f=2}"]);
        assert_eq!(split("a='[,',b"), ["a='[,'", "b"]);
        assert_eq!(split("a,"), ["a", ""]);
        assert!(split("").is_empty());
    }
}
