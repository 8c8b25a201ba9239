//! Leaving out what a model says about itself and does not compute with.

use crate::{error::Result, meta, schema::value_info, wire::Scan};
use abi_stable::std_types::RArc;
use relais_plugin_api::ir::{
    Attr, AttrData, AttrRec, AttrValue, Function, IRModule, ModuleAttr, NodeId, OUTPUT_NAMES, Walk, WalkStep,
    attr_flag, kind,
};
use std::collections::{HashMap, HashSet};

/// The parts of a model that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Strip {
    /// The documentation of the model, of its graphs, functions and nodes, and of values.
    pub docs: bool,
    /// The keys and values of the model, of its graphs, functions and nodes, and of values (`metadata_props`).
    pub metadata: bool,
    /// The names of nodes. Values other than the inputs and outputs of the model, of functions and of nested graphs are
    /// numbered, in functions without quantisation annotations, which refer to them.
    pub names: bool,
    /// The types of values inside graphs (`value_info`).
    pub value_info: bool,
}

/// Leaves parts of a model out. Its computation, inputs and outputs stay. A function that has none of the parts is not
/// touched.
///
/// # Errors
/// Returns an error if an encoded field that the module carries along is malformed.
pub fn strip(module: &mut IRModule, what: Strip) -> Result<()> {
    let is_about = |attr: &ModuleAttr, key: &str| attr.name.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    module.attrs.retain(|attr| {
        !(what.docs && attr.name == meta::DOC_STRING || what.metadata && is_about(attr, meta::MODEL_METADATA))
    });
    for (_, function) in module.functions_mut() {
        let changes = changes(function, what)?;
        let names = if what.names { short_names(function) } else { HashMap::new() };
        if changes.is_empty() && names.is_empty() {
            continue;
        }
        let f = RArc::make_mut(function);
        for (id, attrs) in changes {
            let recs: Vec<AttrRec> = attrs
                .into_iter()
                .map(|attr| match attr {
                    Kept::Rec(rec) => rec,
                    Kept::New(attr) => f.encode_attr(&attr),
                })
                .collect();
            f.set_attr_recs(id, &recs);
        }
        rename(f, &names);
    }
    Ok(())
}

/// A piece of metadata that stays, as it was or with less in it.
enum Kept {
    Rec(AttrRec),
    New(Attr),
}

/// The nodes that lose metadata, with what they keep.
fn changes(f: &Function, what: Strip) -> Result<Vec<(NodeId, Vec<Kept>)>> {
    let mut dropped: Vec<&str> = Vec::new();
    dropped.extend(what.docs.then_some(meta::DOC));
    dropped.extend(what.metadata.then_some(meta::METADATA_PROPS));
    dropped.extend(what.names.then_some(meta::NAME));
    if what.value_info {
        let all = [meta::VALUE_INFO, meta::VALUE_INFO_TYPES, meta::VALUE_INFO_RAW, meta::VALUE_INFO_UNBOUND];
        dropped.extend(all);
    }
    let mut fields: Vec<u32> = Vec::new();
    fields.extend(what.docs.then_some(value_info::DOC_STRING));
    fields.extend(what.metadata.then_some(value_info::METADATA_PROPS));
    let mut changes = Vec::new();
    for id in (0..f.n_nodes()).map(NodeId::from_index).filter(|&id| !f.attr_recs(id).is_empty()) {
        let attrs = f.attrs(id);
        let (mut kept, mut is_changed) = (Vec::new(), false);
        for &rec in attrs.recs() {
            let key = f.str(rec.name);
            let is_meta = rec.flags & attr_flag::META != 0;
            if is_meta && dropped.contains(&key) {
                is_changed = true;
                continue;
            }
            let new = match attrs.decode(rec) {
                AttrValue::Raw(raw) if is_meta && key == meta::INPUT_RAW => {
                    without(raw, &fields)?.map(|less| Attr::meta(meta::INPUT_RAW, AttrData::Raw(less)))
                }
                AttrValue::Strings(raws) if is_meta && [meta::OUTPUT_RAW, meta::VALUE_INFO_RAW].contains(&key) => {
                    let raws: Vec<&[u8]> = raws.strings().collect();
                    let less = raws.iter().map(|raw| without(raw, &fields)).collect::<Result<Vec<_>>>()?;
                    let is_less = less.iter().any(Option::is_some);
                    let all = less.into_iter().zip(&raws).map(|(less, raw)| less.unwrap_or_else(|| raw.to_vec()));
                    is_less.then(|| Attr::meta(key.to_owned(), AttrData::Strings(all.collect())))
                }
                _ => None,
            };
            is_changed |= new.is_some();
            kept.push(new.map_or(Kept::Rec(rec), Kept::New));
        }
        if is_changed {
            changes.push((id, kept));
        }
    }
    Ok(changes)
}

/// A message without some of its fields; `None` if it has none of them.
fn without(message: &[u8], fields: &[u32]) -> Result<Option<Vec<u8>>> {
    let (mut less, mut is_less) = (Vec::new(), false);
    let mut scan = Scan::new(message, 0);
    while let Some(field) = scan.field()? {
        match fields.contains(&field.number) {
            true => is_less = true,
            false => less.extend_from_slice(field.raw),
        }
    }
    Ok(is_less.then_some(less))
}

/// Numbers for the values of a function that are neither inputs nor outputs of a graph.
fn short_names(f: &Function) -> HashMap<NodeId, String> {
    let mut values = Vec::new();
    let mut taken: HashSet<&str> = HashSet::new();
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        match step {
            WalkStep::Binding(id) => values.push(id),
            WalkStep::Enter(block) => {
                let function = f.block(block).owner;
                if f.attrs(function).meta(meta::QUANTIZATION_ANNOTATION).is_some() {
                    return HashMap::new();
                }
                let kept = f.operands(function).iter().chain(f.results(block));
                taken.extend(kept.map(|&id| f.name(id)));
                if let Some(AttrValue::Strings(names)) = f.attrs(function).meta(OUTPUT_NAMES) {
                    taken.extend(names.strings().filter_map(|name| std::str::from_utf8(name).ok()));
                }
            }
            WalkStep::Exit(_) | WalkStep::Leave(_) => {}
        }
    }
    let mut numbers = (0..).map(|n: usize| format!("v{n}"));
    let named = values
        .into_iter()
        .filter(|&id| !f.name(id).is_empty() && !taken.contains(f.name(id)) && f.kind(id) != kind::FUNCTION);
    named.filter_map(|id| Some((id, numbers.find(|name| !taken.contains(name.as_str()))?))).collect()
}

/// Renames values, also where types are stated for them.
fn rename(f: &mut Function, names: &HashMap<NodeId, String>) {
    if names.is_empty() {
        return;
    }
    let functions: Vec<NodeId> =
        (0..f.n_nodes()).map(NodeId::from_index).filter(|&id| f.kind(id) == kind::FUNCTION).collect();
    for function in functions {
        let Some(AttrValue::Strings(stated)) = f.attrs(function).meta(meta::VALUE_INFO) else { continue };
        let bindings = f.bindings(f.block_of(function)).iter();
        let new: HashMap<&[u8], &str> =
            bindings.filter_map(|id| Some((f.name(*id).as_bytes(), names.get(id)?.as_str()))).collect();
        let renamed = |name: &[u8]| new.get(name).map_or_else(|| name.to_vec(), |new| new.as_bytes().to_vec());
        let stated = AttrData::Strings(stated.strings().map(renamed).collect());
        let new = f.encode_attr(&Attr::meta(meta::VALUE_INFO, stated));
        let same = |rec: &AttrRec| if rec.name == new.name && rec.flags == new.flags { new } else { *rec };
        let recs: Vec<AttrRec> = f.attr_recs(function).iter().map(same).collect();
        f.set_attr_recs(function, &recs);
    }
    let mut names: Vec<(&NodeId, &String)> = names.iter().collect();
    names.sort();
    for (&id, name) in names {
        f.set_name(id, name);
    }
}
