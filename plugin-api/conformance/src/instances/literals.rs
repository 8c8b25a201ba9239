//! Literals of rules, and numbers as they are written in modules.

use relais_patterns::{Computation, Literal, Number};
use relais_plugin_api::ir::{ElemType, attr_kind};

/// A number in the text form.
pub(super) fn number(elem: ElemType, value: f64) -> String {
    match elem {
        ElemType::BOOL => (value > 0.0).to_string(),
        _ if elem.is_float() && value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
        _ if elem.is_float() && value.is_nan() => "nan".to_owned(),
        _ if elem.is_float() => format!("{value:?}"),
        _ => format!("{}", value as i64),
    }
}

pub(super) fn integer(expr: &Computation) -> Option<i64> {
    match expr {
        Computation::Number(Number::Int(value), _) => Some(*value),
        Computation::Neg(inner, _) => integer(inner)?.checked_neg(),
        _ => None,
    }
}

pub(super) fn literal_of(expr: &Computation) -> Option<Literal> {
    Some(match expr {
        Computation::Number(number, _) => Literal::Number(*number),
        Computation::String(text, _) => Literal::String(text.clone()),
        Computation::List(items, _) => Literal::List(items.iter().map(literal_of).collect::<Option<_>>()?),
        _ => return None,
    })
}

/// A literal as the value of an attribute of a kind.
pub(super) fn shown(literal: &Literal, kind: u8) -> String {
    match literal {
        Literal::Number(number) if kind == attr_kind::FLOAT || kind == attr_kind::FLOATS => {
            format!("{:?}", number.to_f64())
        }
        Literal::List(items) if items.is_empty() => match kind {
            attr_kind::FLOATS => "floats[]".to_owned(),
            attr_kind::STRINGS => "strings[]".to_owned(),
            _ => "ints[]".to_owned(),
        },
        Literal::List(items) => {
            format!("[{}]", items.iter().map(|item| shown(item, kind)).collect::<Vec<_>>().join(", "))
        }
        Literal::Number(Number::Int(number)) => number.to_string(),
        Literal::Number(number) => format!("{:?}", number.to_f64()),
        Literal::String(text) => format!("{text:?}"),
    }
}
