//! Instruments that a request has beside a pipeline: each is one that the pipeline could name.

use crate::{argument::Argument, listener::Notice};
use relais::{
    ir::IRModule,
    pipeline::{
        Code, Faults, PipelineFault, PipelineSpec,
        fault::{Place, Sources},
        parse_setting,
        spec::{InstrumentUse, SpecEntry, SpecValue, Written},
    },
    words::{nearest, or_list},
};

/// The option of instruments that names the functions that they show.
const FUNCTIONS: &str = "functions";

/// An instrument of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InstrumentRequest {
    /// A text: `NAME`, or `NAME:KEY=VALUE,KEY=VALUE`; commas within brackets and quotes part nothing.
    Text(Argument),
    /// Its name, of an argument of its own, and its options.
    Named(Argument, Vec<(String, OptionRequest)>),
}

/// The value of an instrument's option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OptionRequest {
    /// A text.
    Text(String),
    /// A list of texts.
    List(Vec<Argument>),
}

/// Adds instruments to those that a pipeline names.
///
/// # Errors
/// Returns all texts that cannot be parsed. Whether an instrument exists and takes its options is determined when the
/// pipeline is resolved.
pub(crate) fn add_instruments(spec: &mut PipelineSpec, requests: &[InstrumentRequest]) -> Result<(), Faults> {
    let mut faults = Vec::new();
    for request in requests {
        let used = match request {
            InstrumentRequest::Text(text) => parse(&mut spec.sources, text, &mut faults),
            InstrumentRequest::Named(name, options) => named(&mut spec.sources, name, options),
        };
        spec.run.instruments.push(used);
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Faults { list: faults, sources: spec.sources.clone() }),
    }
}

/// Warnings of functions that instruments are to show and that the model does not have. A pass may create them.
pub(crate) fn missing_functions(requests: &[InstrumentRequest], module: &IRModule) -> Vec<Notice> {
    let mut missing: Vec<&Argument> = Vec::new();
    for request in requests {
        let InstrumentRequest::Named(_, options) = request else { continue };
        for (key, value) in options {
            if let (FUNCTIONS, OptionRequest::List(names)) = (key.as_str(), value) {
                let new = names.iter().filter(|name| module.global(&name.value).is_none());
                missing.extend(new.filter(|name| !missing.contains(name)).collect::<Vec<_>>());
            }
        }
    }
    let notice = |Argument { origin, value }: &Argument| {
        let notice = Notice::warning(format_args!("`{origin}`: the model has no function `{value}`"));
        match nearest(value, module.bodies().map(|(name, _)| name)).as_slice() {
            [] => notice,
            near => notice.with_help(format_args!("did you mean {}?", or_list(near))),
        }
    };
    missing.into_iter().map(notice).collect()
}

fn named(sources: &mut Sources, name: &Argument, options: &[(String, OptionRequest)]) -> InstrumentUse {
    let place = sources.add_whole("command line", &name.origin);
    let option = |(key, value): &(String, OptionRequest)| {
        let value = match value {
            OptionRequest::Text(text) => SpecValue::Str(text.clone()),
            OptionRequest::List(items) => {
                let item = |Argument { origin, value }: &Argument| {
                    Written::at(sources.add_whole(origin, value), SpecValue::Str(value.clone()))
                };
                SpecValue::List(items.iter().map(item).collect())
            }
        };
        SpecEntry { key: Written::at(place, key.clone()), value: Written::at(place, value) }
    };
    let options = options.iter().map(option).collect();
    InstrumentUse { name: Written::at(place, name.value.clone()), options }
}

fn parse(
    sources: &mut Sources,
    Argument { origin, value: text }: &Argument,
    faults: &mut Vec<PipelineFault>,
) -> InstrumentUse {
    let (name, options) = text.split_once(':').unwrap_or((text, ""));
    let source = sources.add(origin, text);
    let place = Place::new(source, 0..name.len());
    let mut out = InstrumentUse { name: Written::at(place, name.to_owned()), options: Vec::new() };
    for option in split(options) {
        match parse_setting(sources, origin, option) {
            Ok(entry) if out.options.iter().any(|known| known.key.value == entry.key.value) => {
                let message = format!("option `{}` of `{name}` is given twice", entry.key.value);
                faults
                    .push(PipelineFault::new(Code::Duplicate, entry.key.place, message).help("remove one of the two"));
            }
            Ok(entry) => out.options.push(entry),
            Err(fault) => faults.push(*fault),
        }
    }
    out
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
