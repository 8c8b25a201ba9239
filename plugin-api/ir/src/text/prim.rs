//! The rules that the printer and the parser of loop programs share: precedence, and the types of literals.

use super::words::SUFFIXES;
use crate::{
    prim::{Class, CoreOp, DOMAIN},
    *,
};
use std::ops::Range;

/// The infix operators by precedence, as in C, from the weakest on.
const LEVELS: [&[&str]; 8] =
    [&["|"], &["^"], &["&"], &["==", "!="], &["<", "<=", ">", ">="], &["<<", ">>"], &["+", "-"], &["*", "/"]];
/// The precedence of any expression.
pub(super) const WEAKEST: u8 = 0;
/// The precedence of `-x` and `!x`.
pub(super) const PREFIX: u8 = LEVELS.len() as u8 + 1;
/// The precedence of calls, names and the like.
pub(super) const PRIMARY: u8 = PREFIX + 1;

/// The precedence of an infix operator.
pub(super) fn level(mark: &[u8]) -> Option<u8> {
    let level = LEVELS.iter().position(|marks| marks.iter().any(|other| other.as_bytes() == mark))?;
    Some(level as u8 + 1)
}

/// The operator that is written with this mark between its operands, and its precedence.
pub(super) fn infix(mark: &[u8]) -> Option<(CoreOp, u8)> {
    let level = level(mark)?;
    let op = CoreOp::ALL.iter().find(|op| op.info().infix.is_some_and(|other| other.as_bytes() == mark))?;
    Some((*op, level))
}

/// The operators that are written with a mark before their operand.
pub(super) const PREFIXES: [(u8, CoreOp); 2] = [(b'-', CoreOp::Neg), (b'!', CoreOp::Not)];

/// The word between the bounds of a loop if the second one is the number of turns.
pub(super) const COUNT: &str = "count";
/// The values of the attribute `scope` of `alloc`.
pub(super) const SCOPES: [&str; 2] = ["stack", "static"];

/// The core operator that a callee is.
pub(super) fn core_op(f: &Function, callee: NodeId) -> Option<CoreOp> {
    let rec = f.node(callee);
    if rec.kind != kind::OP {
        return None;
    }
    let op = f.op(OpId(rec.a));
    let is_core = f.bytes(op.domain) == DOMAIN.as_bytes() && f.bytes(op.overload).is_empty() && op.version <= 1;
    is_core.then(|| CoreOp::from_name(std::str::from_utf8(f.bytes(op.name)).ok()?)).flatten()
}

/// The arguments among those of a call from which a literal at place `at` takes its element type.
pub(super) fn partners(op: CoreOp, at: usize, n_args: usize) -> Range<usize> {
    use CoreOp::*;
    match op {
        _ if op.info().class != Class::Own => 0..n_args,
        Ramp => 0..n_args,
        For if at < 2 => 0..n_args.min(2),
        Select if at > 0 => 1..n_args,
        // The memory.
        Store | Scatter | StoreMasked if at == 1 => 0..1,
        _ => 0..0,
    }
}

/// The element type that a value or memory gives to literals beside it.
pub(super) fn elem_of(f: &Function, id: NodeId) -> Option<ElemType> {
    if f.kind(id) >= kind::FIRST_LEAF {
        return None;
    }
    scalar_elem(f, f.type_id(id))
}

/// The element type of a type, if loop programs compute with it.
pub(super) fn scalar_elem(f: &Function, ty: TypeId) -> Option<ElemType> {
    f.ty(ty).as_tensor().map(|(elem, _)| elem).filter(|elem| elem.is_scalar())
}

/// The element type of a literal that nothing else gives one.
pub(super) fn default_elem(elem: ElemType) -> ElemType {
    match elem {
        ElemType::BOOL => ElemType::BOOL,
        _ if elem.is_float() => ElemType::FLOAT,
        _ => ElemType::INT64,
    }
}

/// The suffix of literals of an element type.
pub(super) fn suffix(elem: ElemType) -> &'static str {
    SUFFIXES.iter().find(|&&(_, other)| other == elem).map_or("", |&(suffix, _)| suffix)
}

/// `inf`, `-inf` and `nan`, with the element type that they are given in `inf_f64`.
pub(super) fn split_word(word: &str) -> Option<(&str, Option<ElemType>)> {
    let (head, elem) = match word.split_once('_') {
        None => (word, None),
        Some((head, suffix)) => {
            let &(_, elem) = SUFFIXES.iter().find(|&&(other, elem)| other == suffix && elem.is_float())?;
            (head, Some(elem))
        }
    };
    matches!(head, "inf" | "-inf" | "nan").then_some((head, elem))
}

/// Whether an operator of this name in the default domain is quoted in loop programs, because the bare word is something
/// else.
pub(super) fn is_reserved(word: &str) -> bool {
    CoreOp::from_name(word).is_some() || ElemType::from_name(word).is_some() || split_word(word).is_some()
}

/// Whether a function is a loop program, as far as one can see.
pub(super) fn is_prim(f: &Function) -> bool {
    f.attrs(f.root()).meta(crate::prim::OUTPUTS).is_some() || f.ops().iter().any(|op| core_op(f, op.node).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_infix_operator_has_a_precedence() {
        for op in CoreOp::ALL {
            if let Some(mark) = op.info().infix {
                assert_eq!(infix(mark.as_bytes()).map(|(op, _)| op), Some(*op), "{mark}");
            }
        }
        let level = |mark: &str| infix(mark.as_bytes()).unwrap().1;
        assert!(level("|") < level("&") && level("&") < level("==") && level("<<") < level("+"));
        assert!(level("+") < level("*") && level("*") < PREFIX && level("|") > WEAKEST);
        assert!(infix(b"..").is_none() && infix(b"=").is_none());
    }

    #[test]
    fn every_number_has_a_suffix() {
        for elem in ElemType::ALL.iter().copied().filter(|elem| elem.is_scalar()) {
            assert_eq!(suffix(elem).is_empty(), elem == ElemType::BOOL, "{elem}");
            let word = format!("inf_{}", suffix(elem));
            assert_eq!(split_word(&word).is_some(), elem.is_float());
        }
        assert_eq!(split_word("nan"), Some(("nan", None)));
        assert!(split_word("inf_").is_none() && split_word("info").is_none() && split_word("nan_i8").is_none());
    }
}
