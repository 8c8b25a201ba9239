//! Instruments that the arguments request: each argument is one that a pipeline could name.

use super::{args_instruments::InstrumentArgs, terminal::CliError};
use clap::ValueEnum;
use relais_session::{
    Argument,
    pipeline::{InstrumentRequest, OptionRequest},
};
use std::path::Path;

/// The instruments, in the order in which they watch.
pub(crate) fn requested(args: &InstrumentArgs) -> Result<Vec<InstrumentRequest>, CliError> {
    let mut uses = Vec::new();
    let mut add = |flag: &str, options: Vec<(String, OptionRequest)>, name: &str| {
        uses.push(InstrumentRequest::Named(Argument::new(flag, name.to_owned()), options));
    };
    if let Some(form) = args.time_passes {
        add("--time-passes", vec![text("format", value_name(form))], "timing");
    }
    if let Some(file) = &args.trace {
        add("--trace", vec![path("file", file)?], "trace");
    }
    let functions = || list("functions", "--filter-function", &args.filter_function);
    for (name, flag, passes) in
        [("print-before", "--print-before", &args.print_before), ("print-after", "--print-after", &args.print_after)]
    {
        // `*` is represented by no names.
        let named: &[String] = if passes.iter().any(|pass| pass == "*") { &[] } else { passes };
        if !passes.is_empty() {
            add(flag, list("passes", flag, named).into_iter().chain(functions()).collect(), name);
        }
    }
    if let Some(form) = args.print_changed {
        let form = text("form", value_name(form));
        add("--print-changed", std::iter::once(form).chain(functions()).collect(), "print-changed");
    }
    if let Some(dir) = &args.dump_dir {
        add("--dump-dir", vec![path("dir", dir)?], "dump");
    }
    if args.stats {
        add("--stats", Vec::new(), "statistics");
    }
    if let Some(kinds) = args.remarks {
        add("--remarks", vec![text("kind", value_name(kinds))], "remarks");
    }
    let texts = Argument::each("--instrument", args.instrument.iter().cloned());
    Ok(uses.into_iter().chain(texts.into_iter().map(InstrumentRequest::Text)).collect())
}

fn text(key: &str, value: String) -> (String, OptionRequest) {
    (key.to_owned(), OptionRequest::Text(value))
}

fn path(key: &str, path: &Path) -> Result<(String, OptionRequest), CliError> {
    let value = path.to_str().ok_or_else(|| {
        CliError::usage(format!("`{}` is not valid Unicode, as options of instruments must be", path.display()))
    })?;
    Ok(text(key, value.to_owned()))
}

/// An option that is a list; none if it has no items.
fn list(key: &str, flag: &str, items: &[String]) -> Option<(String, OptionRequest)> {
    let items = Argument::each(flag, items.iter().cloned());
    (!items.is_empty()).then(|| (key.to_owned(), OptionRequest::List(items)))
}

fn value_name(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
