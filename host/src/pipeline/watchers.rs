//! The instruments that a pipeline names: the host's own, otherwise those of plugins.

use super::{
    fault::{Code, PipelineFault},
    resolver::Resolver,
    schema::{check_options, shorten},
    spec::{InstrumentUse, SpecValue, Written},
};
use crate::{
    instruments::{self, PASSES},
    options::OptionSchema,
    pass::{Candidate, NoPass},
    words::{and_list, nearest},
};
use relais_plugin_api::options::Value;

/// Finds the instruments, checks their options, and replaces names of passes in these by full names.
pub(super) fn resolve(resolver: &mut Resolver<'_>, used: &[InstrumentUse]) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    for used in used {
        let name = &used.name.value;
        if let Some(built_in) = instruments::find(name) {
            let mut options = check(resolver, &(built_in.options)(), used);
            full_names(resolver, used, &mut options);
            out.push((name.clone(), options));
            continue;
        }
        match resolver.catalogue.instrument(name) {
            Ok(facts) => out.push((facts.name.clone(), check(resolver, &facts.options, used))),
            Err(why) => {
                let fault = none(resolver, &used.name, why);
                resolver.faults.push(fault);
            }
        }
    }
    out
}

/// Returns the fault for a name that does not resolve to an instrument.
fn none(resolver: &Resolver<'_>, name: &Written<String>, why: NoPass) -> PipelineFault {
    let (name, place) = (&name.value, name.place);
    match why {
        NoPass::Unknown(mut near) => {
            let own = instruments::built_in();
            near.extend(nearest(name, own.iter().map(|it| it.name)));
            let provided = resolver.catalogue.instruments();
            let known: Vec<&str> =
                own.iter().map(|it| it.name).chain(provided.iter().map(|facts| facts.name.as_str())).collect();
            let fault = PipelineFault::new(Code::UnknownName, place, format!("no instrument `{}`", shorten(name)));
            fault.note(format!("instruments: {}", and_list(&known))).nearest(&near)
        }
        NoPass::Ambiguous(several) => {
            let fault = PipelineFault::new(Code::Ambiguous, place, format!("`{name}` can mean several instruments"));
            let fault = several.iter().fold(fault, |fault, candidate| fault.note(candidate.to_string()));
            fault.help(Candidate::help(&several, name, ""))
        }
        NoPass::Conflict(plugins) => {
            let fault =
                PipelineFault::new(Code::Ambiguous, place, format!("several plugins provide instrument `{name}`"));
            let fault = plugins.iter().fold(fault, |fault, plugin| fault.note(format!("plugin {plugin}")));
            fault.help("use one of these plugins at a time")
        }
        NoPass::Refused { plugin, reason } => {
            PipelineFault::new(Code::Refused, place, format!("plugin `{plugin}`, which provides `{name}`, was refused"))
                .note(reason)
        }
    }
}

fn check(resolver: &mut Resolver<'_>, schema: &[OptionSchema], used: &InstrumentUse) -> Value {
    let paths = resolver.paths();
    check_options(schema, &used.options, &used.name.value, used.name.place, paths, &mut resolver.faults)
}

/// The option of built-in instruments that selects passes accepts every name of a pass or a sequence.
fn full_names(resolver: &mut Resolver<'_>, used: &InstrumentUse, options: &mut Value) {
    let Some(entry) = used.options.iter().find(|entry| entry.key.value == PASSES) else { return };
    let (SpecValue::List(items), Value::Struct(options)) = (&entry.value.value, options) else { return };
    let mut full = Vec::new();
    for item in items {
        if let SpecValue::Str(name) = &item.value {
            let name = Written { value: name.clone(), place: item.place };
            // A pass that may be missing, and is missing, stays: an empty list would mean all passes.
            match resolver.watched(&name).as_slice() {
                [] => full.push(Value::Str(name.value)),
                names => full.extend(names.iter().cloned().map(Value::Str)),
            }
        }
    }
    if let Some((_, value)) = options.iter_mut().find(|(name, _)| name == PASSES) {
        *value = Value::List(full);
    }
}
