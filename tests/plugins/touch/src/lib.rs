//! Passes that show the costs of an edit: nothing is lost, and nothing else changes.
#![forbid(unsafe_code)]

mod all;
mod one;

use relais_plugin_api::{
    ir::{AttrData, AttrRec, AttrValue},
    prelude::*,
};

plugin! { description = "touches nodes" }

/// The attributes of a node, to be given to another one with as many function operands.
fn attributes(f: &Function, id: NodeId) -> Vec<Attr> {
    let attrs = f.attrs(id);
    let attr = |rec: &AttrRec| {
        let name = f.str(rec.name).to_owned().into();
        Attr { name, value: data(*rec, attrs.decode(*rec)), flags: rec.flags }
    };
    attrs.recs().iter().map(attr).collect()
}

fn data(rec: AttrRec, value: AttrValue<'_>) -> AttrData {
    match value {
        AttrValue::Float(value) => AttrData::Float(value),
        AttrValue::Int(value) => AttrData::Int(value),
        AttrValue::String(value) => AttrData::String(value.to_vec()),
        AttrValue::Tensor(value) => AttrData::Tensor(all::tensor(value)),
        AttrValue::Graph(_) => AttrData::Graph(rec.a),
        AttrValue::Floats(values) => AttrData::Floats(values.floats().collect()),
        AttrValue::Ints(values) => AttrData::Ints(values.ints().collect()),
        AttrValue::Strings(values) => AttrData::Strings(values.strings().map(<[u8]>::to_vec).collect()),
        AttrValue::Tensors(values) => AttrData::Tensors(values.tensors().map(all::tensor).collect()),
        AttrValue::Graphs(regions) => AttrData::Graphs { first: rec.a, count: regions.len() as u32 },
        AttrValue::SparseTensor(value) => AttrData::SparseTensor(value.to_vec()),
        AttrValue::SparseTensors(values) => AttrData::SparseTensors(values.strings().map(<[u8]>::to_vec).collect()),
        AttrValue::Type(ty) => AttrData::Type(ty),
        AttrValue::Types(types) => AttrData::Types(types.types().collect()),
        AttrValue::Ref { name, kind } => AttrData::Ref { name: name.to_owned(), kind },
        AttrValue::Raw(bytes) => AttrData::Raw(bytes.to_vec()),
        other => panic!("an attribute of an unknown kind: {other:?}"),
    }
}
