//! The instruments that a pipeline names: the host's own, else those of plugins.

use super::{
    fault::{Code, Fault, and_list, nearest},
    resolve::Resolver,
    schema::{check_options, shorten},
    spec::{InstrumentUse, Literal, Written},
};
use crate::{
    instruments::{self, PASSES},
    options::OptionSchema,
};
use relais_plugin_api::options::Value;

/// Finds the instruments, checks their options, and gives passes that these name their full names.
pub(super) fn resolve(resolver: &mut Resolver<'_>, used: &[InstrumentUse]) -> Vec<(String, Value)> {
    let provided = resolver.catalogue.instruments();
    let mut out = Vec::new();
    for used in used {
        let name = &used.name.value;
        if let Some(built_in) = instruments::find(name) {
            let mut options = check(resolver, &(built_in.options)(), used);
            full_names(resolver, used, &mut options);
            out.push((name.clone(), options));
            continue;
        }
        match provided.iter().filter(|facts| facts.name == *name).collect::<Vec<_>>().as_slice() {
            [facts] => out.push((name.clone(), check(resolver, &facts.options, used))),
            [] => {
                let own = instruments::built_in();
                let known = own.iter().map(|it| it.name).chain(provided.iter().map(|facts| facts.name.as_str()));
                let known: Vec<&str> = known.collect();
                let fault =
                    Fault::new(Code::UnknownName, used.name.place, format!("no instrument `{}`", shorten(name)));
                let fault = fault.note(format!("instruments: {}", and_list(&known)));
                resolver.faults.push(fault.nearest(&nearest(name, known.iter().copied())));
            }
            several => {
                let fault = Fault::new(
                    Code::Ambiguous,
                    used.name.place,
                    format!("several plugins provide instrument `{name}`"),
                );
                let plugins = several.iter().map(|facts| format!("plugin `{}` {}", facts.plugin, facts.plugin_version));
                resolver.faults.push(plugins.fold(fault, Fault::note).help("use one of these plugins at a time"));
            }
        }
    }
    out
}

fn check(resolver: &mut Resolver<'_>, schema: &[OptionSchema], used: &InstrumentUse) -> Value {
    check_options(schema, &used.options, &used.name.value, used.name.place, &mut resolver.faults)
}

/// The option of built-in instruments that chooses passes takes every name that a pass or a sequence has.
fn full_names(resolver: &mut Resolver<'_>, used: &InstrumentUse, options: &mut Value) {
    let Some(entry) = used.options.iter().find(|entry| entry.key.value == PASSES) else { return };
    let (Literal::List(items), Value::Struct(options)) = (&entry.value.value, options) else { return };
    let mut full = Vec::new();
    for item in items {
        if let Literal::Str(name) = &item.value {
            let name = Written { value: name.clone(), place: item.place };
            // One that may be missing, and is, stays: an empty list would stand for all passes.
            full.push(Value::Str(resolver.switch(&name).unwrap_or(name.value)));
        }
    }
    if let Some((_, value)) = options.iter_mut().find(|(name, _)| name == PASSES) {
        *value = Value::List(full);
    }
}
