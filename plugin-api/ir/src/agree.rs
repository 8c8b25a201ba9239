//! Two statements about the type of one value: whether they agree, what both say, and what follows from both.

use crate::*;

/// Why a value cannot have both types; sizes and element types that are not known agree with all.
pub fn contradiction(a: Type<'_>, b: Type<'_>) -> Option<String> {
    let kind_of = |ty: Type<'_>| match ty {
        Type::Tensor { .. } => Some("a tensor"),
        Type::SparseTensor { .. } => Some("a sparse tensor"),
        Type::Tuple(_) => Some("a tuple"),
        Type::Func { .. } => Some("a function"),
        Type::Sequence(_) => Some("a sequence"),
        Type::Optional(_) => Some("an optional"),
        Type::Map { .. } => Some("a map"),
        _ => None,
    };
    let (kind_a, kind_b) = (kind_of(a)?, kind_of(b)?);
    if kind_a != kind_b {
        return Some(format!("{kind_b} is not {kind_a}"));
    }
    match (a, b) {
        (Type::Tensor { elem, shape }, Type::Tensor { elem: other, shape: other_shape })
        | (Type::SparseTensor { elem, shape }, Type::SparseTensor { elem: other, shape: other_shape }) => {
            if elem != other && elem != ElemType::UNKNOWN && other != ElemType::UNKNOWN {
                return Some(format!("elements of type `{other}` are not of type `{elem}`"));
            }
            let (shape, other) = (shape?, other_shape?);
            if shape.len() != other.len() {
                return Some(format!("rank {} is not rank {}", other.len(), shape.len()));
            }
            let sizes = shape.iter().zip(other).map(|(&a, &b)| (Dim::from(a).known(), Dim::from(b).known()));
            for (axis, sizes) in sizes.enumerate() {
                if let (Some(a), Some(b)) = sizes
                    && a != b
                {
                    return Some(format!("axis {axis} has size {b}, not {a}"));
                }
            }
            None
        }
        (Type::Tuple(a), Type::Tuple(b)) if a.len() != b.len() => {
            Some(format!("{} fields are not {}", b.len(), a.len()))
        }
        _ => None,
    }
}

/// As [`contradiction`], of types of two functions, down to what sequences and optionals hold.
pub fn contradiction_within((f, a): (&Function, TypeId), (g, b): (&Function, TypeId)) -> Option<String> {
    match (f.ty(a), g.ty(b)) {
        (Type::Sequence(a), Type::Sequence(b)) | (Type::Optional(a), Type::Optional(b)) => {
            contradiction_within((f, a), (g, b))
        }
        (a, b) => contradiction(a, b),
    }
}

/// Returns the type information common to both types.
pub fn join(f: &mut Function, a: TypeId, b: TypeId) -> TypeId {
    if a == b {
        return a;
    }
    match (f.ty(a), f.ty(b)) {
        (Type::Tensor { elem, shape: x }, Type::Tensor { elem: other, shape: y }) => {
            let elem = if elem == other { elem } else { ElemType::UNKNOWN };
            let shape: Option<Vec<DimRec>> = match (x, y) {
                (Some(x), Some(y)) if x.len() == y.len() => {
                    let dims = x.iter().zip(y);
                    Some(dims.map(|(&x, &y)| if x == y { x } else { Dim::Unknown.into() }).collect())
                }
                _ => None,
            };
            f.add_type(Type::Tensor { elem, shape: shape.as_deref() })
        }
        _ => TypeId::UNKNOWN,
    }
}

/// All that is known from two sources about one value; where they contradict each other, `inferred` is right.
pub fn merge(f: &mut Function, declared: TypeId, inferred: TypeId) -> TypeId {
    if declared == inferred || declared == TypeId::UNKNOWN {
        return inferred;
    }
    if inferred == TypeId::UNKNOWN {
        return declared;
    }
    match (f.ty(declared), f.ty(inferred)) {
        (Type::Tensor { elem: a, shape: x }, Type::Tensor { elem: b, shape: y }) => {
            let elem = if b == ElemType::UNKNOWN { a } else { b };
            let shape: Option<Vec<DimRec>> = match (x, y) {
                (x, None) => x.map(<[DimRec]>::to_vec),
                (Some(x), Some(y)) if x.len() == y.len() => {
                    Some(x.iter().zip(y).map(|(&x, &y)| merge_dim(x, y)).collect())
                }
                (_, Some(y)) => Some(y.to_vec()),
            };
            f.add_type(Type::Tensor { elem, shape: shape.as_deref() })
        }
        (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
            // Fields of tuples are tensors in practice; deeper ones are taken as inferred.
            let pairs: Vec<(TypeId, TypeId)> = a.iter().copied().zip(b.iter().copied()).collect();
            let is_flat = |id: TypeId, f: &Function| !matches!(f.ty(id), Type::Tuple(_));
            let fields: Vec<TypeId> = pairs
                .into_iter()
                .map(|(a, b)| if is_flat(a, f) && is_flat(b, f) { merge(f, a, b) } else { b })
                .collect();
            f.add_type(Type::Tuple(&fields))
        }
        _ => inferred,
    }
}

fn merge_dim(declared: DimRec, inferred: DimRec) -> DimRec {
    match (Dim::from(declared), Dim::from(inferred)) {
        (_, Dim::Static(_)) | (Dim::Unknown, _) => inferred,
        (Dim::Static(_), _) | (_, Dim::Unknown) => declared,
        (Dim::Symbol(_), Dim::Symbol(_)) => inferred,
    }
}
