//! The models that readers of the format refuse, whatever their operators are.

use super::{
    error::Result,
    meta,
    read::FIRST_WITH_OPSETS,
    schema::{attribute, function, graph, model, node},
    wire::{Part, Scan},
};
use relais_plugin_api::ir::{Function, ModuleAttr, Walk, WalkStep};
use std::{collections::BTreeSet, ops::RangeInclusive};

/// The versions of the format whose models import operator sets, up to that of `onnx` 1.23.
const IR_VERSIONS: RangeInclusive<i64> = FIRST_WITH_OPSETS..=14;

/// How many graphs deep a graph may be in a model: protobuf reads messages in messages to a depth of 100, a graph is three
/// deeper than the one around it, and the size of an output is the deepest part of a graph.
pub(crate) const MAX_NESTED: usize = 31;

/// The fields that occur once in a model, by the module attribute that holds each, and whether this is a number.
const ONCE: [(&str, u32, bool); 6] = [
    (meta::IR_VERSION, model::IR_VERSION, true),
    (meta::PRODUCER_NAME, model::PRODUCER_NAME, false),
    (meta::PRODUCER_VERSION, model::PRODUCER_VERSION, false),
    (meta::MODEL_DOMAIN, model::DOMAIN, false),
    (meta::MODEL_VERSION, model::MODEL_VERSION, true),
    (meta::DOC_STRING, model::DOC_STRING, false),
];

/// The fields that modules have parts of their own for.
const PARTS: [u32; 4] = [model::GRAPH, model::OPSET_IMPORT, model::METADATA_PROPS, model::FUNCTIONS];

/// The field that a module attribute of this name holds, if it is one that occurs once.
pub(crate) fn field_once(name: &str) -> Option<u32> {
    ONCE.iter().find(|once| once.0 == name).map(|once| once.1)
}

/// Whether a field occurs once and is held by a module attribute.
pub(crate) fn is_once(number: u32) -> bool {
    ONCE.iter().any(|once| once.1 == number)
}

/// Returns why no ONNX model can have a module attribute; `None` for those that it has no place for.
///
/// This is for attributes that a pass made: one of a model that was read stays as it is.
pub fn attr_fault(attr: &ModuleAttr) -> Option<String> {
    let name = attr.name.as_str();
    let text_fault = || match attr.as_bytes() {
        None => Some("it is not text".to_owned()),
        Some(bytes) => std::str::from_utf8(bytes).is_err().then(|| "it is not UTF-8".to_owned()),
    };
    if let Some(&(_, number, is_number)) = ONCE.iter().find(|once| once.0 == name) {
        return match attr.as_int() {
            _ if !is_number => text_fault(),
            None => Some("it is not a number".to_owned()),
            Some(version) if number == model::IR_VERSION && !IR_VERSIONS.contains(&version) => {
                let (first, last) = (IR_VERSIONS.start(), IR_VERSIONS.end());
                Some(format!("{version} is not a version of the format: these are {first} to {last}"))
            }
            Some(_) => None,
        };
    }
    match name.split_once(':')? {
        (meta::MODEL_METADATA, _) => text_fault(),
        (meta::FIELD, number) => {
            let is_free = |number: &u32| !is_once(*number) && !PARTS.contains(number);
            // As the reader writes it: not `+101`, nor `0101`.
            let number = number.parse().ok().filter(|known: &u32| known.to_string() == number).filter(is_free);
            let is_one = |bytes: &[u8]| {
                let mut scan = Scan::new(bytes, 0);
                let first = scan.field().ok().flatten().map(|field| field.number);
                first.is_some() && first == number && matches!(scan.field(), Ok(None))
            };
            let is_field = attr.as_bytes().is_some_and(is_one);
            (!is_field).then(|| "it is not an encoded field of that number".to_owned())
        }
        _ => None,
    }
}

/// Returns the name of a module attribute that a model can have once and the module has twice.
pub fn attr_twice(attrs: &[ModuleAttr]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    attrs.iter().map(|attr| attr.name.as_str()).find(|name| field_once(name).is_some() && !seen.insert(*name))
}

/// How many graphs deep the deepest graph of a function is.
pub(crate) fn depth(f: &Function) -> usize {
    if f.n_blocks() <= MAX_NESTED {
        return 0;
    }
    let (mut open, mut deepest) = (0usize, 0);
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        match step {
            WalkStep::Enter(_) => open += 1,
            WalkStep::Exit(_) => open = open.saturating_sub(1),
            WalkStep::Binding(_) | WalkStep::Leave(_) => {}
        }
        deepest = deepest.max(open);
    }
    deepest.saturating_sub(1)
}

/// How many graphs deep the deepest graph of an encoded model is.
///
/// # Errors
/// Returns an error if the model is damaged.
pub(crate) fn depth_of_model(bytes: &[u8]) -> Result<usize> {
    /// The messages on the way from a graph to the graphs in it.
    #[derive(Clone, Copy)]
    enum Message {
        Model,
        Graph,
        Function,
        Node,
        Attribute,
    }
    use Message::{Attribute, Function, Graph, Model, Node};
    let whole = Part { at: 0, len: bytes.len() as u64 };
    let (mut open, mut deepest) = (vec![(Model, whole, 0)], 0);
    while let Some((message, part, depth)) = open.pop() {
        deepest = deepest.max(depth);
        let mut scan = Scan::part(bytes, part);
        while let Some(field) = scan.field()? {
            let (inner, depth) = match (message, field.number) {
                (Model, model::GRAPH) => (Graph, 0),
                (Model, model::FUNCTIONS) => (Function, 0),
                (Graph, graph::NODE) | (Function, function::NODE) => (Node, depth),
                (Node, node::ATTRIBUTE) => (Attribute, depth),
                (Attribute, attribute::G | attribute::GRAPHS) => (Graph, depth + 1),
                _ => continue,
            };
            open.push((inner, field.part()?, depth));
        }
    }
    Ok(deepest)
}
