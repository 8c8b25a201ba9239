//! The parts of nodes, in the form in which they are compared.

use crate::{
    meta,
    names::FastMap,
    types::encode_type,
    write::{
        graph::{listed_initializer, weave},
        tensor::renamed_initializer,
    },
};
use relais_plugin_api::ir::{
    AttrRec, AttrValue, Dim, DimRec, ElemType, Expr, Function, NodeId, Tensor, Type, TypeId, attr_flag, kind,
    normal_domain,
};

/// A value: a node, and which of its results.
pub(super) type Value = (NodeId, usize);

/// The value that a node stands for, with projections taken apart.
pub(super) fn value(f: &Function, id: NodeId) -> Value {
    let mut id = id;
    while f.kind(id) == kind::TUPLE_GET_ITEM
        && let Expr::TupleGetItem { tuple, index } = f.expr(id)
    {
        match f.kind(tuple) {
            kind::TUPLE => id = f.operands(tuple)[index],
            _ => return (tuple, index),
        }
    }
    (id, 0)
}

/// The operands that are written as names, without absent ones at the end.
pub(super) fn inputs(f: &Function, id: NodeId) -> &[NodeId] {
    let operands = f.operands(id);
    let operands = &operands[usize::from(f.kind(id) == kind::CALL)..operands.len() - f.n_regions(id)];
    let n_given = operands.iter().rposition(|operand| !operand.is_absent()).map_or(0, |last| last + 1);
    &operands[..n_given]
}

/// Domain, name and overload of a node's operator.
pub(super) fn operator(f: &Function, id: NodeId) -> (&str, &str, &str) {
    match f.expr(id) {
        Expr::If(_) => ("", "If", ""),
        Expr::Call(call) => match call.op() {
            Some(op) => {
                let op = f.op(op);
                (normal_domain(f.str(op.domain)), f.str(op.name), f.str(op.overload))
            }
            None => ("", "", ""),
        },
        _ => ("", "", ""),
    }
}

/// The types that a value is declared with as an output, which a model may do whatever else is known of the value.
pub(super) fn declared_types(f: &Function, id: NodeId) -> Vec<TypeId> {
    let of_outputs = |graph: NodeId| match f.attrs(graph).meta(meta::OUTPUT_TYPES) {
        Some(AttrValue::Types(types)) => {
            let outputs = types.types().zip(f.results(f.block_of(graph)));
            outputs.filter(|&(_, &result)| result == id).map(|(ty, _)| ty).collect()
        }
        _ => Vec::new(),
    };
    (0..f.n_nodes()).map(NodeId::from_index).flat_map(of_outputs).collect()
}

pub(super) fn callee(f: &Function, id: NodeId) -> Option<&str> {
    let Expr::Call(call) = f.expr(id) else { return None };
    match f.expr(call.callee()) {
        Expr::GlobalVar(global) => Some(global),
        _ => None,
    }
}

/// The name of a node, which is not that of its value; empty if it has none.
pub(super) fn node_name(f: &Function, id: NodeId) -> &[u8] {
    match f.attrs(id).meta(meta::NAME) {
        Some(AttrValue::String(name)) => name,
        _ => &[],
    }
}

/// Whether a node is a constant: those of forms that the IR does not hold are calls.
pub(super) fn is_constant(f: &Function, id: NodeId) -> bool {
    f.kind(id) == kind::CONSTANT
        || f.kind(id) == kind::CALL && inputs(f, id).is_empty() && operator(f, id) == ("", "Constant", "")
}

/// An initializer that is a call: its list, and its encoding except for the name.
pub(super) fn listed(f: &Function, id: NodeId) -> Option<(u32, Vec<u8>)> {
    let attrs = f.attrs(id);
    let Some(AttrValue::Int(list)) = attrs.meta(meta::INITIALIZER_LIST) else { return None };
    let list = u32::try_from(list).ok()?;
    let encoded = listed_initializer(attrs).ok()?;
    Some((list, renamed_initializer(list, &encoded, "").ok()?))
}

/// The inputs of a graph and the constants that are listed among them, in order; none if no constant is.
pub(super) fn listed_inputs(f: &Function, graph: NodeId) -> Vec<NodeId> {
    let index = |&id: &NodeId| match f.attrs(id).meta(meta::INPUT_INDEX) {
        Some(AttrValue::Int(index)) => Some((index, id)),
        _ => None,
    };
    let constants = f.bindings(f.block_of(graph)).iter().filter(|&&id| is_constant(f, id));
    let listed: Vec<(i64, NodeId)> = constants.filter_map(index).collect();
    if listed.is_empty() { Vec::new() } else { weave(f.operands(graph).to_vec(), listed) }
}

/// The tensor of a call of `Constant`, which is read as a constant.
pub(super) fn stated_tensor(f: &Function, id: NodeId) -> Option<Tensor> {
    let rec = attributes(f, id).next()?;
    let scalar = |elem, bytes: &[u8]| Tensor::dense(elem, &[], bytes.to_vec()).ok();
    match (f.str(rec.name), f.attrs(id).decode(rec)) {
        ("value", AttrValue::Tensor(tensor)) => Some(tensor.clone()),
        ("value_int", AttrValue::Int(value)) => scalar(ElemType::INT64, &value.to_le_bytes()),
        ("value_float", AttrValue::Float(value)) => scalar(ElemType::FLOAT, &value.to_le_bytes()),
        ("value_ints", AttrValue::Ints(list)) => {
            let values: Vec<i64> = list.ints().collect();
            Some(Tensor::from_i64(&[values.len() as u64], &values))
        }
        ("value_floats", AttrValue::Floats(list)) => {
            let values: Vec<f32> = list.floats().collect();
            Some(Tensor::from_f32(&[values.len() as u64], &values))
        }
        ("value_string", AttrValue::String(value)) => Tensor::from_strings(&[], std::iter::once(value)).ok(),
        ("value_strings", AttrValue::Strings(list)) => {
            let n_strings = list.strings().count() as u64;
            Tensor::from_strings(&[n_strings], list.strings()).ok()
        }
        _ => None,
    }
}

pub(super) fn attributes(f: &Function, id: NodeId) -> impl Iterator<Item = AttrRec> {
    f.attr_recs(id).iter().copied().filter(|rec| rec.flags & attr_flag::META == 0)
}

/// The graphs of a node, by the attributes that hold them.
pub(super) fn graphs(f: &Function, id: NodeId) -> Vec<(&str, Vec<NodeId>)> {
    let of_attribute = |rec: AttrRec| match f.attrs(id).decode(rec) {
        AttrValue::Graph(region) => Some((f.str(rec.name), vec![region])),
        AttrValue::Graphs(regions) => Some((f.str(rec.name), regions.to_vec())),
        _ => None,
    };
    let mut graphs: Vec<_> = attributes(f, id).filter_map(of_attribute).collect();
    if let Expr::If(view) = f.expr(id) {
        graphs.push(("then_branch", vec![view.then_branch()]));
        graphs.push(("else_branch", vec![view.else_branch()]));
    }
    graphs.sort();
    graphs
}

/// Where a difference is.
pub(super) fn place(f: &Function, id: NodeId) -> String {
    format!("node `{}` ({})", f.name(id), operator(f, id).1)
}

/// The values of a graph by their names.
pub(super) fn values_by_name(f: &Function, graph: NodeId) -> FastMap<&[u8], NodeId> {
    let values = f.operands(graph).iter().chain(f.bindings(f.block_of(graph)));
    values.map(|&id| (f.name(id).as_bytes(), id)).collect()
}

/// Whether ONNX has a type for it.
pub(super) fn has_encoding(f: &Function, ty: TypeId) -> bool {
    encode_type(f, ty).is_some()
}

/// Whether types of two functions are the same, down to the names of sizes. Encodings are not compared: what the writer
/// leaves out of them would be left out twice.
pub(super) fn is_same_type((f, a): (&Function, TypeId), (g, b): (&Function, TypeId)) -> bool {
    let (mut a, mut b) = (a, b);
    loop {
        (a, b) = match (f.ty(a), g.ty(b)) {
            (Type::Unknown, Type::Unknown) => return true,
            (Type::Tensor { elem, shape }, Type::Tensor { elem: other, shape: other_shape })
            | (Type::SparseTensor { elem, shape }, Type::SparseTensor { elem: other, shape: other_shape }) => {
                let is_same_size = |(&a, &b): (&DimRec, &DimRec)| match (Dim::from(a), Dim::from(b)) {
                    (Dim::Static(a), Dim::Static(b)) => a == b,
                    (Dim::Symbol(a), Dim::Symbol(b)) => f.bytes(a) == g.bytes(b),
                    (a, b) => a == b,
                };
                let is_same_shape = match (shape, other_shape) {
                    (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(is_same_size),
                    (a, b) => a.is_none() && b.is_none(),
                };
                return elem == other && is_same_shape;
            }
            (Type::Opaque { domain, name }, Type::Opaque { domain: other_domain, name: other }) => {
                return f.bytes(domain) == g.bytes(other_domain) && f.bytes(name) == g.bytes(other);
            }
            (Type::Sequence(a), Type::Sequence(b)) | (Type::Optional(a), Type::Optional(b)) => (a, b),
            (Type::Map { key, value: a }, Type::Map { key: other, value: b }) if key == other => (a, b),
            _ => return false,
        };
    }
}
