//! Types, printed.

use super::literal;
use crate::{Dim, DimRec, Function, MOST_TYPE_PARTS, StrId, Type, TypeId};

enum Work {
    Type(TypeId),
    Text(&'static str),
}

pub(super) fn ty(out: &mut String, function: &Function, id: TypeId) {
    let mut work = vec![Work::Type(id)];
    // Only the type of a broken function has more.
    let mut budget = MOST_TYPE_PARTS + 1;
    while let Some(next) = work.pop() {
        let id = match next {
            Work::Text(text) => {
                out.push_str(text);
                continue;
            }
            Work::Type(id) => id,
        };
        let ty = function.ty(id);
        let n_dims = match ty {
            Type::Tensor { shape: Some(dims), .. } | Type::SparseTensor { shape: Some(dims), .. } => dims.len(),
            _ => 0,
        };
        budget = budget.saturating_sub(1 + n_dims);
        if budget == 0 {
            out.push('…');
            continue;
        }
        match ty {
            Type::Unknown => out.push('?'),
            Type::Tensor { elem, shape } => tensor(out, function, "Tensor", &elem, shape),
            Type::SparseTensor { elem, shape } => tensor(out, function, "Sparse", &elem, shape),
            Type::Tuple(fields) => {
                out.push_str("Tuple[");
                work.push(Work::Text("]"));
                list(&mut work, fields);
            }
            Type::Func { params, result } => {
                out.push_str("fn(");
                work.push(Work::Type(result));
                work.push(Work::Text(") -> "));
                list(&mut work, params);
            }
            Type::Sequence(item) => one(out, &mut work, "Seq[", item),
            Type::Optional(item) => one(out, &mut work, "Optional[", item),
            Type::Map { key, value } => {
                literal::push(out, format_args!("Map[{key}, "));
                one(out, &mut work, "", value);
            }
            Type::Opaque { domain, name } => {
                out.push_str("Opaque[");
                literal::quoted(out, function.bytes(domain));
                out.push_str(", ");
                literal::quoted(out, function.bytes(name));
                out.push(']');
            }
            Type::Other(kind) => literal::push(out, format_args!("Other[{kind}]")),
        }
    }
}

fn one(out: &mut String, work: &mut Vec<Work>, head: &str, item: TypeId) {
    out.push_str(head);
    work.push(Work::Text("]"));
    work.push(Work::Type(item));
}

fn list(work: &mut Vec<Work>, items: &[TypeId]) {
    for (at, &item) in items.iter().enumerate().rev() {
        work.push(Work::Type(item));
        if at > 0 {
            work.push(Work::Text(", "));
        }
    }
}

fn tensor(out: &mut String, function: &Function, head: &str, elem: &dyn std::fmt::Display, shape: Option<&[DimRec]>) {
    out.push_str(head);
    out.push('[');
    match shape {
        None => out.push('*'),
        Some(dims) => {
            out.push('(');
            for (at, &dim) in dims.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                match dim.into() {
                    Dim::Static(size) => literal::push(out, format_args!("{size}")),
                    Dim::Unknown => out.push('?'),
                    Dim::Symbol(name) => symbol(out, function, name),
                }
            }
            out.push(')');
        }
    }
    literal::push(out, format_args!(", {elem}]"));
}

fn symbol(out: &mut String, function: &Function, name: StrId) {
    literal::word(out, function.bytes(name), &[]);
}
