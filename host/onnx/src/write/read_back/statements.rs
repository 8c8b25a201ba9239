//! Statements of a graph about its values: types of inner ones, and quantisation annotations.

use crate::{
    encode::renamed_annotation,
    meta,
    schema::value_info,
    wire::Scan,
    write::graph::{strings, types},
};
use relais_plugin_api::ir::{AttrValue, Function, NodeId, TypeId};
use std::cell::RefCell;

/// One of them.
pub(super) struct Statement {
    /// The names of the values that it is about.
    pub names: Vec<Vec<u8>>,
    /// Whether these named values of the graph from the start. Otherwise it is carried as it is.
    pub is_bound: bool,
    /// The type that is stated, if one is.
    pub ty: TypeId,
    /// The rest of it.
    pub rest: Vec<u8>,
}

/// The types that a graph states for inner values.
pub(super) fn value_info(f: &Function, graph: NodeId) -> Vec<Statement> {
    let attrs = f.attrs(graph);
    let (types, raws) = (types(attrs, meta::VALUE_INFO_TYPES), strings(attrs, meta::VALUE_INFO_RAW));
    let unbound = positions(f, graph, meta::VALUE_INFO_UNBOUND);
    let statement = |(index, name): (usize, &[u8])| Statement {
        names: vec![name.to_vec()],
        is_bound: !unbound.contains(&(index as i64)),
        ty: types.get(index).copied().unwrap_or(TypeId::UNKNOWN),
        rest: unknown_fields(raws.get(index).copied().unwrap_or_default()),
    };
    strings(attrs, meta::VALUE_INFO).into_iter().enumerate().map(statement).collect()
}

/// The quantisation annotations of a graph.
pub(super) fn annotations(f: &Function, graph: NodeId) -> Vec<Statement> {
    let unbound = positions(f, graph, meta::QUANTIZATION_UNBOUND);
    let statement = |(index, annotation): (usize, &[u8])| {
        let names = RefCell::new(Vec::new());
        let without_name = |name: &[u8]| {
            names.borrow_mut().push(name.to_vec());
            Some(Vec::new())
        };
        let rest = renamed_annotation(annotation, without_name).ok().flatten().unwrap_or_default();
        let is_bound = !unbound.contains(&(index as i64));
        Statement { names: names.into_inner(), is_bound, ty: TypeId::UNKNOWN, rest }
    };
    strings(f.attrs(graph), meta::QUANTIZATION_ANNOTATION).into_iter().enumerate().map(statement).collect()
}

/// The fields of an encoded `ValueInfoProto` beside name and type.
pub(super) fn unknown_fields(raw: &[u8]) -> Vec<u8> {
    let mut rest = Vec::new();
    let mut scan = Scan::new(raw, 0);
    while let Ok(Some(field)) = scan.field() {
        if !matches!(field.number, value_info::NAME | value_info::TYPE) {
            rest.extend_from_slice(field.raw);
        }
    }
    rest
}

fn positions(f: &Function, graph: NodeId, key: &str) -> Vec<i64> {
    match f.attrs(graph).meta(key) {
        Some(AttrValue::Ints(list)) => list.ints().collect(),
        _ => Vec::new(),
    }
}
