//! The formal inputs and results of each operator and their types, by version.
//!
//! Made by `plugins/operators/formals.py` from the `onnx` package.

use relais_plugin_api::{
    ir::ElemType,
    op::{Formal, Operator, TypeVar},
};

/// One version of an operator.
struct Formals {
    domain: &'static str,
    name: &'static str,
    since: u32,
    commutative: bool,
    takes: &'static [Formal],
    gives: &'static [Formal],
    types: &'static [TypeVar],
}

/// Adds to each operator of a table what is said of it here.
///
/// # Panics
/// When nothing is said of one: `plugins/operators/formals.py` writes this file.
pub const fn with<const N: usize>(table: &[Operator]) -> [Operator; N] {
    let mut all = [table[0]; N];
    let mut i = 0;
    while i < N {
        let op = table[i];
        let formals = &ALL[find(&op)];
        all[i] = op.takes(formals.takes).gives(formals.gives).types(formals.types).commutative(formals.commutative);
        i += 1;
    }
    all
}

/// Returns the index of an operator; they are sorted by domain, name and version.
const fn find(op: &Operator) -> usize {
    let (mut low, mut high) = (0, ALL.len());
    while low < high {
        let middle = low.midpoint(high);
        let at = &ALL[middle];
        let mut order = compare(at.domain, op.domain);
        if order == 0 {
            order = compare(at.name, op.name);
        }
        if order == 0 {
            order = at.since as i64 - op.since_version as i64;
        }
        if order == 0 {
            return middle;
        }
        if order < 0 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    panic!("the operator has no formal inputs and results: run `plugins/operators/formals.py`")
}

/// Negative where `a` comes before `b`, 0 where both are equal.
const fn compare(a: &str, b: &str) -> i64 {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return a[i] as i64 - b[i] as i64;
        }
        i += 1;
    }
    a.len() as i64 - b.len() as i64
}

const fn one(name: &'static str, var: &'static str) -> Formal {
    Formal::single(name, var)
}

const fn may(name: &'static str, var: &'static str) -> Formal {
    Formal::optional(name, var)
}

const fn all(name: &'static str, var: &'static str) -> Formal {
    Formal::variadic(name, var)
}

const fn mix(name: &'static str, var: &'static str) -> Formal {
    Formal::mixed(name, var)
}

#[rustfmt::skip]
const fn of(
    domain: &'static str, name: &'static str, since: u32, commutative: bool,
    takes: &'static [Formal], gives: &'static [Formal], types: &'static [TypeVar],
) -> Formals {
    Formals { domain, name, since, commutative, takes, gives, types }
}

#[rustfmt::skip]
const E0: &[ElemType] = &[ElemType(1), ElemType(10), ElemType(11)];
#[rustfmt::skip]
const E1: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E2: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E3: &[ElemType] = &[ElemType(1), ElemType(10), ElemType(11), ElemType(16)];
#[rustfmt::skip]
const E4: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E5: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E6: &[ElemType] = &[ElemType(7)];
#[rustfmt::skip]
const E7: &[ElemType] = &[ElemType(9)];
#[rustfmt::skip]
const E8: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E9: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E10: &[ElemType] = &[ElemType(2), ElemType(4), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E11: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E12: &[ElemType] = &[ElemType(6), ElemType(7)];
#[rustfmt::skip]
const E13: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E14: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E15: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E16: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E17: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22)];
#[rustfmt::skip]
const E18: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23)];
#[rustfmt::skip]
const E19: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24)];
#[rustfmt::skip]
const E20: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E21: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26), ElemType(27), ElemType(28)];
#[rustfmt::skip]
const E22: &[ElemType] = &[ElemType(1), ElemType(10), ElemType(16)];
#[rustfmt::skip]
const E23: &[ElemType] = &[ElemType(1)];
#[rustfmt::skip]
const E24: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16)];
#[rustfmt::skip]
const E25: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15)];
#[rustfmt::skip]
const E26: &[ElemType] = &[];
#[rustfmt::skip]
const E27: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E28: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22)];
#[rustfmt::skip]
const E29: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23)];
#[rustfmt::skip]
const E30: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24)];
#[rustfmt::skip]
const E31: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E32: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E33: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22)];
#[rustfmt::skip]
const E34: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23)];
#[rustfmt::skip]
const E35: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24)];
#[rustfmt::skip]
const E36: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E37: &[ElemType] = &[ElemType(2), ElemType(3)];
#[rustfmt::skip]
const E38: &[ElemType] = &[ElemType(6)];
#[rustfmt::skip]
const E39: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E40: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(6)];
#[rustfmt::skip]
const E41: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(6), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E42: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22)];
#[rustfmt::skip]
const E43: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23)];
#[rustfmt::skip]
const E44: &[ElemType] = &[ElemType(1), ElemType(10), ElemType(16), ElemType(24)];
#[rustfmt::skip]
const E45: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E46: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(25), ElemType(26), ElemType(27), ElemType(28)];
#[rustfmt::skip]
const E47: &[ElemType] = &[ElemType(1), ElemType(10), ElemType(11), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E48: &[ElemType] = &[ElemType(2)];
#[rustfmt::skip]
const E49: &[ElemType] = &[ElemType(6), ElemType(7), ElemType(9)];
#[rustfmt::skip]
const E50: &[ElemType] = &[ElemType(1), ElemType(11)];
#[rustfmt::skip]
const E51: &[ElemType] = &[ElemType(1), ElemType(16)];
#[rustfmt::skip]
const E52: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(10), ElemType(11)];
#[rustfmt::skip]
const E53: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(10), ElemType(11), ElemType(16)];
#[rustfmt::skip]
const E54: &[ElemType] = &[ElemType(1), ElemType(3), ElemType(5), ElemType(6), ElemType(7), ElemType(10), ElemType(11)];
#[rustfmt::skip]
const E55: &[ElemType] = &[ElemType(1), ElemType(3), ElemType(5), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(16)];
#[rustfmt::skip]
const E56: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26), ElemType(27), ElemType(28)];
#[rustfmt::skip]
const E57: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(10), ElemType(11)];
#[rustfmt::skip]
const E58: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(16)];
#[rustfmt::skip]
const E59: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E60: &[ElemType] = &[ElemType(1), ElemType(6)];
#[rustfmt::skip]
const E61: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(10), ElemType(16)];
#[rustfmt::skip]
const E62: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22)];
#[rustfmt::skip]
const E63: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23)];
#[rustfmt::skip]
const E64: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(10), ElemType(16), ElemType(24)];
#[rustfmt::skip]
const E65: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E66: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(25), ElemType(26), ElemType(27), ElemType(28)];
#[rustfmt::skip]
const E67: &[ElemType] = &[ElemType(1), ElemType(5), ElemType(6), ElemType(7), ElemType(11)];
#[rustfmt::skip]
const E68: &[ElemType] = &[ElemType(1), ElemType(5), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(16)];
#[rustfmt::skip]
const E69: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E70: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E71: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E72: &[ElemType] = &[ElemType(8)];
#[rustfmt::skip]
const E73: &[ElemType] = &[ElemType(6), ElemType(7), ElemType(8)];
#[rustfmt::skip]
const E74: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11)];
#[rustfmt::skip]
const E75: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(8), ElemType(11)];
#[rustfmt::skip]
const E76: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(11)];
#[rustfmt::skip]
const E77: &[ElemType] = &[ElemType(1), ElemType(7), ElemType(8)];
#[rustfmt::skip]
const E78: &[ElemType] = &[ElemType(7), ElemType(8)];
#[rustfmt::skip]
const E79: &[ElemType] = &[ElemType(1), ElemType(7), ElemType(8), ElemType(11)];
#[rustfmt::skip]
const E80: &[ElemType] = &[ElemType(1), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(11)];

#[rustfmt::skip]
const T0: TypeVar = TypeVar::new("", E0);
#[rustfmt::skip]
const T1: TypeVar = TypeVar::new("", E1);
#[rustfmt::skip]
const T2: TypeVar = TypeVar::new("", E2);
#[rustfmt::skip]
const T3: TypeVar = TypeVar::new("", E3);
#[rustfmt::skip]
const T4: TypeVar = TypeVar::new("", E4);
#[rustfmt::skip]
const T5: TypeVar = TypeVar::new("", E5);
#[rustfmt::skip]
const T6: TypeVar = TypeVar::new("", E6);
#[rustfmt::skip]
const T7: TypeVar = TypeVar::new("", E7);
#[rustfmt::skip]
const T8: TypeVar = TypeVar::new("", E8);
#[rustfmt::skip]
const T9: TypeVar = TypeVar::new("", E9);
#[rustfmt::skip]
const T10: TypeVar = TypeVar::new("", E10);
#[rustfmt::skip]
const T11: TypeVar = TypeVar::new("", E11);
#[rustfmt::skip]
const T12: TypeVar = TypeVar::new("", E12);
#[rustfmt::skip]
const T13: TypeVar = TypeVar::new("", E13);
#[rustfmt::skip]
const T14: TypeVar = TypeVar::new("", E14);
#[rustfmt::skip]
const T15: TypeVar = TypeVar::new("", E15);
#[rustfmt::skip]
const T16: TypeVar = TypeVar::new("", E16);
#[rustfmt::skip]
const T17: TypeVar = TypeVar::new("", E17);
#[rustfmt::skip]
const T18: TypeVar = TypeVar::new("", E18);
#[rustfmt::skip]
const T19: TypeVar = TypeVar::new("", E19);
#[rustfmt::skip]
const T20: TypeVar = TypeVar::new("", E20);
#[rustfmt::skip]
const T21: TypeVar = TypeVar::new("", E21);
#[rustfmt::skip]
const T22: TypeVar = TypeVar::new("", E22);
#[rustfmt::skip]
const T23: TypeVar = TypeVar::new("", E23);
#[rustfmt::skip]
const T24: TypeVar = TypeVar::new("", E24);
#[rustfmt::skip]
const T25: TypeVar = TypeVar::new("", E25);
#[rustfmt::skip]
const T26: TypeVar = TypeVar::new("", E26).sequences(E25);
#[rustfmt::skip]
const T27: TypeVar = TypeVar::new("", E27);
#[rustfmt::skip]
const T28: TypeVar = TypeVar::new("", E28);
#[rustfmt::skip]
const T29: TypeVar = TypeVar::new("", E29);
#[rustfmt::skip]
const T30: TypeVar = TypeVar::new("", E30);
#[rustfmt::skip]
const T31: TypeVar = TypeVar::new("", E31);
#[rustfmt::skip]
const T32: TypeVar = TypeVar::new("", E32);
#[rustfmt::skip]
const T33: TypeVar = TypeVar::new("", E33);
#[rustfmt::skip]
const T34: TypeVar = TypeVar::new("", E34);
#[rustfmt::skip]
const T35: TypeVar = TypeVar::new("", E35);
#[rustfmt::skip]
const T36: TypeVar = TypeVar::new("", E36);
#[rustfmt::skip]
const T37: TypeVar = TypeVar::new("", E37);
#[rustfmt::skip]
const T38: TypeVar = TypeVar::new("", E38);
#[rustfmt::skip]
const T39: TypeVar = TypeVar::new("", E39);
#[rustfmt::skip]
const T40: TypeVar = TypeVar::new("", E40);
#[rustfmt::skip]
const T41: TypeVar = TypeVar::new("", E41);
#[rustfmt::skip]
const T42: TypeVar = TypeVar::new("", E42);
#[rustfmt::skip]
const T43: TypeVar = TypeVar::new("", E43);
#[rustfmt::skip]
const T44: TypeVar = TypeVar::new("", E44);
#[rustfmt::skip]
const T45: TypeVar = TypeVar::new("", E45);
#[rustfmt::skip]
const T46: TypeVar = TypeVar::new("", E46);
#[rustfmt::skip]
const T47: TypeVar = TypeVar::new("", E47);
#[rustfmt::skip]
const T48: TypeVar = TypeVar::new("", E48);
#[rustfmt::skip]
const T49: TypeVar = TypeVar::new("", E49);
#[rustfmt::skip]
const T50: TypeVar = TypeVar::new("", E24).sequences(E25);
#[rustfmt::skip]
const T51: TypeVar = TypeVar::new("", E24).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T52: TypeVar = TypeVar::new("", E27).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T53: TypeVar = TypeVar::new("", E28).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T54: TypeVar = TypeVar::new("", E29).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T55: TypeVar = TypeVar::new("", E30).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T56: TypeVar = TypeVar::new("", E31).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T57: TypeVar = TypeVar::new("", E25).sequences(E25);
#[rustfmt::skip]
const T58: TypeVar = TypeVar::new("", E24).sequences(E24).optionals(E24).optional_sequences(E24);
#[rustfmt::skip]
const T59: TypeVar = TypeVar::new("", E27).sequences(E27).optionals(E27).optional_sequences(E24);
#[rustfmt::skip]
const T60: TypeVar = TypeVar::new("", E28).sequences(E28).optionals(E28).optional_sequences(E24);
#[rustfmt::skip]
const T61: TypeVar = TypeVar::new("", E29).sequences(E29).optionals(E29).optional_sequences(E24);
#[rustfmt::skip]
const T62: TypeVar = TypeVar::new("", E30).sequences(E30).optionals(E30).optional_sequences(E24);
#[rustfmt::skip]
const T63: TypeVar = TypeVar::new("", E31).sequences(E31).optionals(E31).optional_sequences(E24);
#[rustfmt::skip]
const T64: TypeVar = TypeVar::new("", E50);
#[rustfmt::skip]
const T65: TypeVar = TypeVar::new("", E51);
#[rustfmt::skip]
const T66: TypeVar = TypeVar::new("", E52);
#[rustfmt::skip]
const T67: TypeVar = TypeVar::new("", E53);
#[rustfmt::skip]
const T68: TypeVar = TypeVar::new("", E54);
#[rustfmt::skip]
const T69: TypeVar = TypeVar::new("", E55);
#[rustfmt::skip]
const T70: TypeVar = TypeVar::new("", E26).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T71: TypeVar = TypeVar::new("", E56).sequences(E56);
#[rustfmt::skip]
const T72: TypeVar = TypeVar::new("", E26).optionals(E56).optional_sequences(E56);
#[rustfmt::skip]
const T73: TypeVar = TypeVar::new("", E25).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T74: TypeVar = TypeVar::new("", E56).sequences(E56).optionals(E56).optional_sequences(E56);
#[rustfmt::skip]
const T75: TypeVar = TypeVar::new("", E57);
#[rustfmt::skip]
const T76: TypeVar = TypeVar::new("", E58);
#[rustfmt::skip]
const T77: TypeVar = TypeVar::new("", E59);
#[rustfmt::skip]
const T78: TypeVar = TypeVar::new("", E60);
#[rustfmt::skip]
const T79: TypeVar = TypeVar::new("", E61);
#[rustfmt::skip]
const T80: TypeVar = TypeVar::new("", E62);
#[rustfmt::skip]
const T81: TypeVar = TypeVar::new("", E63);
#[rustfmt::skip]
const T82: TypeVar = TypeVar::new("", E64);
#[rustfmt::skip]
const T83: TypeVar = TypeVar::new("", E65);
#[rustfmt::skip]
const T84: TypeVar = TypeVar::new("", E66);
#[rustfmt::skip]
const T85: TypeVar = TypeVar::new("", E67);
#[rustfmt::skip]
const T86: TypeVar = TypeVar::new("", E68);
#[rustfmt::skip]
const T87: TypeVar = TypeVar::new("", E69);
#[rustfmt::skip]
const T88: TypeVar = TypeVar::new("", E70);
#[rustfmt::skip]
const T89: TypeVar = TypeVar::new("", E71);
#[rustfmt::skip]
const T90: TypeVar = TypeVar::new("", E72);
#[rustfmt::skip]
const T91: TypeVar = TypeVar::new("", E26).sequences(E24);
#[rustfmt::skip]
const T92: TypeVar = TypeVar::new("", E73);
#[rustfmt::skip]
const T93: TypeVar = TypeVar::new("", E74);
#[rustfmt::skip]
const T94: TypeVar = TypeVar::new("", E75);
#[rustfmt::skip]
const T95: TypeVar = TypeVar::new("", E76);
#[rustfmt::skip]
const T96: TypeVar = TypeVar::new("", E26).others(&["map(int64, float)", "map(int64, string)"]);
#[rustfmt::skip]
const T97: TypeVar = TypeVar::new("", E77);
#[rustfmt::skip]
const T98: TypeVar = TypeVar::new("", E78);
#[rustfmt::skip]
const T99: TypeVar = TypeVar::new("", E26).others(&["map(int64, double)", "map(int64, float)", "map(int64, string)", "map(string, double)", "map(string, float)", "map(string, int64)"]);
#[rustfmt::skip]
const T100: TypeVar = TypeVar::new("", E79);
#[rustfmt::skip]
const T101: TypeVar = TypeVar::new("", E80);
#[rustfmt::skip]
const T102: TypeVar = TypeVar::new("", E26).others(&["seq(map(int64, float))", "seq(map(string, float))"]);

#[rustfmt::skip]
const ALL: &[Formals] = &[
    of("", "Abs", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Abs", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T1.named("T")]),
    of("", "Abs", 13, false, &[one("X", "T")], &[one("Y", "T")], &[T2.named("T")]),
    of("", "Acos", 7, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Acos", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Acosh", 9, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Acosh", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Add", 1, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T0.named("T")]),
    of("", "Add", 6, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T4.named("T")]),
    of("", "Add", 7, true, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T4.named("T")]),
    of("", "Add", 13, true, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T5.named("T")]),
    of("", "Add", 14, true, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T2.named("T")]),
    of("", "AffineGrid", 20, false, &[one("theta", "T1"), one("size", "T2")], &[one("grid", "T1")], &[T3.named("T1"), T6.named("T2")]),
    of("", "And", 1, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T7.named("T"), T7.named("T1")]),
    of("", "And", 7, true, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T7.named("T"), T7.named("T1")]),
    of("", "ArgMax", 1, false, &[one("data", "T")], &[one("reduced", "tensor(int64)")], &[T1.named("T"), T6.named("tensor(int64)")]),
    of("", "ArgMax", 11, false, &[one("data", "T")], &[one("reduced", "tensor(int64)")], &[T1.named("T"), T6.named("tensor(int64)")]),
    of("", "ArgMax", 12, false, &[one("data", "T")], &[one("reduced", "tensor(int64)")], &[T1.named("T"), T6.named("tensor(int64)")]),
    of("", "ArgMax", 13, false, &[one("data", "T")], &[one("reduced", "tensor(int64)")], &[T2.named("T"), T6.named("tensor(int64)")]),
    of("", "ArgMin", 1, false, &[one("data", "T")], &[one("reduced", "tensor(int64)")], &[T1.named("T"), T6.named("tensor(int64)")]),
    of("", "ArgMin", 11, false, &[one("data", "T")], &[one("reduced", "tensor(int64)")], &[T1.named("T"), T6.named("tensor(int64)")]),
    of("", "ArgMin", 12, false, &[one("data", "T")], &[one("reduced", "tensor(int64)")], &[T1.named("T"), T6.named("tensor(int64)")]),
    of("", "ArgMin", 13, false, &[one("data", "T")], &[one("reduced", "tensor(int64)")], &[T2.named("T"), T6.named("tensor(int64)")]),
    of("", "Asin", 7, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Asin", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Asinh", 9, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Asinh", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Atan", 7, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Atan", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Atanh", 9, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Atanh", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Attention", 23, false, &[one("Q", "T1"), one("K", "T1"), one("V", "T2"), may("attn_mask", "U"), may("past_key", "T1"), may("past_value", "T2")], &[one("Y", "T1"), may("present_key", "T1"), may("present_value", "T2"), may("qk_matmul_output", "T1")], &[T3.named("T1"), T3.named("T2"), T8.named("U")]),
    of("", "Attention", 24, false, &[one("Q", "T1"), one("K", "T1"), one("V", "T2"), may("attn_mask", "U"), may("past_key", "T1"), may("past_value", "T2"), may("nonpad_kv_seqlen", "tensor(int64)")], &[one("Y", "T1"), may("present_key", "T1"), may("present_value", "T2"), may("qk_matmul_output", "T1")], &[T3.named("T1"), T3.named("T2"), T8.named("U"), T6.named("tensor(int64)")]),
    of("", "Attention", 25, false, &[one("Q", "T1"), one("K", "T1"), one("V", "T2"), may("attn_mask", "U"), may("past_key", "T1"), may("past_value", "T2"), may("nonpad_kv_seqlen", "tensor(int64)")], &[one("Y", "T1"), may("present_key", "T1"), may("present_value", "T2"), may("qk_matmul_output", "T1")], &[T3.named("T1"), T3.named("T2"), T8.named("U"), T6.named("tensor(int64)")]),
    of("", "AveragePool", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "AveragePool", 7, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "AveragePool", 10, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "AveragePool", 11, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "AveragePool", 19, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "AveragePool", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "BatchNormalization", 1, false, &[one("X", "T"), one("scale", "T"), one("B", "T"), one("mean", "T"), one("var", "T")], &[one("Y", "T"), may("mean", "T"), may("var", "T"), may("saved_mean", "T"), may("saved_var", "T")], &[T0.named("T")]),
    of("", "BatchNormalization", 6, false, &[one("X", "T"), one("scale", "T"), one("B", "T"), one("mean", "T"), one("var", "T")], &[one("Y", "T"), may("mean", "T"), may("var", "T"), may("saved_mean", "T"), may("saved_var", "T")], &[T0.named("T")]),
    of("", "BatchNormalization", 7, false, &[one("X", "T"), one("scale", "T"), one("B", "T"), one("mean", "T"), one("var", "T")], &[one("Y", "T"), may("mean", "T"), may("var", "T"), may("saved_mean", "T"), may("saved_var", "T")], &[T0.named("T")]),
    of("", "BatchNormalization", 9, false, &[one("X", "T"), one("scale", "T"), one("B", "T"), one("mean", "T"), one("var", "T")], &[one("Y", "T"), may("mean", "T"), may("var", "T"), may("saved_mean", "T"), may("saved_var", "T")], &[T0.named("T")]),
    of("", "BatchNormalization", 14, false, &[one("X", "T"), one("scale", "T"), one("B", "T"), one("input_mean", "U"), one("input_var", "U")], &[one("Y", "T"), may("running_mean", "U"), may("running_var", "U")], &[T3.named("T"), T3.named("U")]),
    of("", "BatchNormalization", 15, false, &[one("X", "T"), one("scale", "T1"), one("B", "T1"), one("input_mean", "T2"), one("input_var", "T2")], &[one("Y", "T"), may("running_mean", "T2"), may("running_var", "T2")], &[T3.named("T"), T3.named("T1"), T3.named("T2")]),
    of("", "Bernoulli", 15, false, &[one("input", "T1")], &[one("output", "T2")], &[T0.named("T1"), T8.named("T2")]),
    of("", "Bernoulli", 22, false, &[one("input", "T1")], &[one("output", "T2")], &[T3.named("T1"), T8.named("T2")]),
    of("", "BitCast", 26, false, &[one("input", "T1")], &[one("output", "T2")], &[T9.named("T1"), T9.named("T2")]),
    of("", "BitShift", 11, false, &[one("X", "T"), one("Y", "T")], &[one("Z", "T")], &[T10.named("T")]),
    of("", "BitShift", 28, false, &[one("X", "T"), one("Y", "T")], &[one("Z", "T")], &[T11.named("T")]),
    of("", "BitwiseAnd", 18, true, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T11.named("T")]),
    of("", "BitwiseNot", 18, false, &[one("X", "T")], &[one("Y", "T")], &[T11.named("T")]),
    of("", "BitwiseOr", 18, true, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T11.named("T")]),
    of("", "BitwiseXor", 18, true, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T11.named("T")]),
    of("", "BlackmanWindow", 17, false, &[one("size", "T1")], &[one("output", "T2")], &[T12.named("T1"), T2.named("T2")]),
    of("", "Cast", 1, false, &[one("input", "T1")], &[one("output", "T2")], &[T13.named("T1"), T13.named("T2")]),
    of("", "Cast", 6, false, &[one("input", "T1")], &[one("output", "T2")], &[T13.named("T1"), T13.named("T2")]),
    of("", "Cast", 9, false, &[one("input", "T1")], &[one("output", "T2")], &[T14.named("T1"), T14.named("T2")]),
    of("", "Cast", 13, false, &[one("input", "T1")], &[one("output", "T2")], &[T15.named("T1"), T15.named("T2")]),
    of("", "Cast", 19, false, &[one("input", "T1")], &[one("output", "T2")], &[T16.named("T1"), T16.named("T2")]),
    of("", "Cast", 21, false, &[one("input", "T1")], &[one("output", "T2")], &[T17.named("T1"), T17.named("T2")]),
    of("", "Cast", 23, false, &[one("input", "T1")], &[one("output", "T2")], &[T18.named("T1"), T18.named("T2")]),
    of("", "Cast", 24, false, &[one("input", "T1")], &[one("output", "T2")], &[T19.named("T1"), T19.named("T2")]),
    of("", "Cast", 25, false, &[one("input", "T1")], &[one("output", "T2")], &[T20.named("T1"), T20.named("T2")]),
    of("", "Cast", 28, false, &[one("input", "T1")], &[one("output", "T2")], &[T21.named("T1"), T21.named("T2")]),
    of("", "CastLike", 15, false, &[one("input", "T1"), one("target_type", "T2")], &[one("output", "T2")], &[T15.named("T1"), T15.named("T2")]),
    of("", "CastLike", 19, false, &[one("input", "T1"), one("target_type", "T2")], &[one("output", "T2")], &[T16.named("T1"), T16.named("T2")]),
    of("", "CastLike", 21, false, &[one("input", "T1"), one("target_type", "T2")], &[one("output", "T2")], &[T17.named("T1"), T17.named("T2")]),
    of("", "CastLike", 23, false, &[one("input", "T1"), one("target_type", "T2")], &[one("output", "T2")], &[T18.named("T1"), T18.named("T2")]),
    of("", "CastLike", 24, false, &[one("input", "T1"), one("target_type", "T2")], &[one("output", "T2")], &[T19.named("T1"), T19.named("T2")]),
    of("", "CastLike", 25, false, &[one("input", "T1"), one("target_type", "T2")], &[one("output", "T2")], &[T20.named("T1"), T20.named("T2")]),
    of("", "CausalConvWithState", 27, false, &[one("input", "T"), one("weight", "T"), may("bias", "T"), may("past_state", "T")], &[one("output", "T"), one("present_state", "T")], &[T22.named("T")]),
    of("", "Ceil", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Ceil", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Ceil", 13, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Celu", 12, false, &[one("X", "T")], &[one("Y", "T")], &[T23.named("T")]),
    of("", "Celu", 28, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "CenterCropPad", 18, false, &[one("input_data", "T"), one("shape", "Tind")], &[one("output_data", "T")], &[T24.named("T"), T12.named("Tind")]),
    of("", "Clip", 1, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Clip", 6, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Clip", 11, false, &[one("input", "T"), may("min", "T"), may("max", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Clip", 12, false, &[one("input", "T"), may("min", "T"), may("max", "T")], &[one("output", "T")], &[T1.named("T")]),
    of("", "Clip", 13, false, &[one("input", "T"), may("min", "T"), may("max", "T")], &[one("output", "T")], &[T2.named("T")]),
    of("", "Col2Im", 18, false, &[one("input", "T"), one("image_shape", "tensor(int64)"), one("block_shape", "tensor(int64)")], &[one("output", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Compress", 9, false, &[one("input", "T"), one("condition", "T1")], &[one("output", "T")], &[T25.named("T"), T7.named("T1")]),
    of("", "Compress", 11, false, &[one("input", "T"), one("condition", "T1")], &[one("output", "T")], &[T25.named("T"), T7.named("T1")]),
    of("", "Compress", 28, false, &[one("input", "T"), one("condition", "T1")], &[one("output", "T")], &[T24.named("T"), T7.named("T1")]),
    of("", "Concat", 1, false, &[all("inputs", "T")], &[one("concat_result", "T")], &[T0.named("T")]),
    of("", "Concat", 4, false, &[all("inputs", "T")], &[one("concat_result", "T")], &[T25.named("T")]),
    of("", "Concat", 11, false, &[all("inputs", "T")], &[one("concat_result", "T")], &[T25.named("T")]),
    of("", "Concat", 13, false, &[all("inputs", "T")], &[one("concat_result", "T")], &[T24.named("T")]),
    of("", "ConcatFromSequence", 11, false, &[one("input_sequence", "S")], &[one("concat_result", "T")], &[T26.named("S"), T25.named("T")]),
    of("", "Constant", 1, false, &[], &[one("output", "T")], &[T0.named("T")]),
    of("", "Constant", 9, false, &[], &[one("output", "T")], &[T25.named("T")]),
    of("", "Constant", 11, false, &[], &[one("output", "T")], &[T25.named("T")]),
    of("", "Constant", 12, false, &[], &[one("output", "T")], &[T25.named("T")]),
    of("", "Constant", 13, false, &[], &[one("output", "T")], &[T24.named("T")]),
    of("", "Constant", 19, false, &[], &[one("output", "T")], &[T27.named("T")]),
    of("", "Constant", 21, false, &[], &[one("output", "T")], &[T28.named("T")]),
    of("", "Constant", 23, false, &[], &[one("output", "T")], &[T29.named("T")]),
    of("", "Constant", 24, false, &[], &[one("output", "T")], &[T30.named("T")]),
    of("", "Constant", 25, false, &[], &[one("output", "T")], &[T31.named("T")]),
    of("", "ConstantOfShape", 9, false, &[one("input", "T1")], &[one("output", "T2")], &[T6.named("T1"), T13.named("T2")]),
    of("", "ConstantOfShape", 20, false, &[one("input", "T1")], &[one("output", "T2")], &[T6.named("T1"), T32.named("T2")]),
    of("", "ConstantOfShape", 21, false, &[one("input", "T1")], &[one("output", "T2")], &[T6.named("T1"), T33.named("T2")]),
    of("", "ConstantOfShape", 23, false, &[one("input", "T1")], &[one("output", "T2")], &[T6.named("T1"), T34.named("T2")]),
    of("", "ConstantOfShape", 24, false, &[one("input", "T1")], &[one("output", "T2")], &[T6.named("T1"), T35.named("T2")]),
    of("", "ConstantOfShape", 25, false, &[one("input", "T1")], &[one("output", "T2")], &[T6.named("T1"), T36.named("T2")]),
    of("", "Conv", 1, false, &[one("X", "T"), one("W", "T"), may("B", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Conv", 11, false, &[one("X", "T"), one("W", "T"), may("B", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Conv", 22, false, &[one("X", "T"), one("W", "T"), may("B", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "ConvInteger", 10, false, &[one("x", "T1"), one("w", "T2"), may("x_zero_point", "T1"), may("w_zero_point", "T2")], &[one("y", "T3")], &[T37.named("T1"), T37.named("T2"), T38.named("T3")]),
    of("", "ConvTranspose", 1, false, &[one("X", "T"), one("W", "T"), may("B", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "ConvTranspose", 11, false, &[one("X", "T"), one("W", "T"), may("B", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "ConvTranspose", 22, false, &[one("X", "T"), one("W", "T"), may("B", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Cos", 7, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Cos", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Cosh", 9, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Cosh", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "CumProd", 26, false, &[one("x", "T"), one("axis", "T2")], &[one("y", "T")], &[T5.named("T"), T12.named("T2")]),
    of("", "CumSum", 11, false, &[one("x", "T"), one("axis", "T2")], &[one("y", "T")], &[T39.named("T"), T12.named("T2")]),
    of("", "CumSum", 14, false, &[one("x", "T"), one("axis", "T2")], &[one("y", "T")], &[T5.named("T"), T12.named("T2")]),
    of("", "DFT", 17, false, &[one("input", "T1"), may("dft_length", "T2")], &[one("output", "T1")], &[T3.named("T1"), T12.named("T2")]),
    of("", "DFT", 20, false, &[one("input", "T1"), may("dft_length", "T2"), may("axis", "tensor(int64)")], &[one("output", "T1")], &[T3.named("T1"), T12.named("T2"), T6.named("tensor(int64)")]),
    of("", "DeformConv", 19, false, &[one("X", "T"), one("W", "T"), one("offset", "T"), may("B", "T"), may("mask", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "DeformConv", 22, false, &[one("X", "T"), one("W", "T"), one("offset", "T"), may("B", "T"), may("mask", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "DepthToSpace", 1, false, &[one("input", "T")], &[one("output", "T")], &[T25.named("T")]),
    of("", "DepthToSpace", 11, false, &[one("input", "T")], &[one("output", "T")], &[T25.named("T")]),
    of("", "DepthToSpace", 13, false, &[one("input", "T")], &[one("output", "T")], &[T24.named("T")]),
    of("", "DepthToSpace", 28, false, &[one("input", "T")], &[one("output", "T")], &[T24.named("T")]),
    of("", "DequantizeLinear", 10, false, &[one("x", "T"), one("x_scale", "tensor(float)"), may("x_zero_point", "T")], &[one("y", "tensor(float)")], &[T40.named("T"), T23.named("tensor(float)")]),
    of("", "DequantizeLinear", 13, false, &[one("x", "T"), one("x_scale", "tensor(float)"), may("x_zero_point", "T")], &[one("y", "tensor(float)")], &[T40.named("T"), T23.named("tensor(float)")]),
    of("", "DequantizeLinear", 19, false, &[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")], &[one("y", "T2")], &[T41.named("T1"), T22.named("T2")]),
    of("", "DequantizeLinear", 21, false, &[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")], &[one("y", "T2")], &[T42.named("T1"), T22.named("T2")]),
    of("", "DequantizeLinear", 23, false, &[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")], &[one("y", "T3")], &[T43.named("T1"), T22.named("T2"), T22.named("T3")]),
    of("", "DequantizeLinear", 24, false, &[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")], &[one("y", "T3")], &[T43.named("T1"), T44.named("T2"), T22.named("T3")]),
    of("", "DequantizeLinear", 25, false, &[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")], &[one("y", "T3")], &[T45.named("T1"), T44.named("T2"), T22.named("T3")]),
    of("", "DequantizeLinear", 28, false, &[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")], &[one("y", "T3")], &[T46.named("T1"), T44.named("T2"), T22.named("T3")]),
    of("", "Det", 11, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Det", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Div", 1, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T0.named("T")]),
    of("", "Div", 6, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T4.named("T")]),
    of("", "Div", 7, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T4.named("T")]),
    of("", "Div", 13, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T5.named("T")]),
    of("", "Div", 14, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T2.named("T")]),
    of("", "Dropout", 1, false, &[one("data", "T")], &[one("output", "T"), may("mask", "T")], &[T0.named("T")]),
    of("", "Dropout", 6, false, &[one("data", "T")], &[one("output", "T"), may("mask", "T")], &[T0.named("T")]),
    of("", "Dropout", 7, false, &[one("data", "T")], &[one("output", "T"), may("mask", "T")], &[T0.named("T")]),
    of("", "Dropout", 10, false, &[one("data", "T")], &[one("output", "T"), may("mask", "T1")], &[T0.named("T"), T7.named("T1")]),
    of("", "Dropout", 12, false, &[one("data", "T"), may("ratio", "T1"), may("training_mode", "T2")], &[one("output", "T"), may("mask", "T2")], &[T0.named("T"), T0.named("T1"), T7.named("T2")]),
    of("", "Dropout", 13, false, &[one("data", "T"), may("ratio", "T1"), may("training_mode", "T2")], &[one("output", "T"), may("mask", "T2")], &[T3.named("T"), T0.named("T1"), T7.named("T2")]),
    of("", "Dropout", 22, false, &[one("data", "T"), may("ratio", "T1"), may("training_mode", "T2")], &[one("output", "T"), may("mask", "T2")], &[T47.named("T"), T47.named("T1"), T7.named("T2")]),
    of("", "DynamicQuantizeLinear", 11, false, &[one("x", "T1")], &[one("y", "T2"), one("y_scale", "tensor(float)"), one("y_zero_point", "T2")], &[T23.named("T1"), T48.named("T2"), T23.named("tensor(float)")]),
    of("", "Einsum", 12, false, &[all("Inputs", "T")], &[one("Output", "T")], &[T1.named("T")]),
    of("", "Einsum", 28, false, &[all("Inputs", "T")], &[one("Output", "T")], &[T2.named("T")]),
    of("", "Elu", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Elu", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Elu", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Equal", 1, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T49.named("T"), T7.named("T1")]),
    of("", "Equal", 7, true, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T49.named("T"), T7.named("T1")]),
    of("", "Equal", 11, true, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T13.named("T"), T7.named("T1")]),
    of("", "Equal", 13, true, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T8.named("T"), T7.named("T1")]),
    of("", "Equal", 19, true, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T15.named("T"), T7.named("T1")]),
    of("", "Erf", 9, false, &[one("input", "T")], &[one("output", "T")], &[T1.named("T")]),
    of("", "Erf", 13, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Exp", 1, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Exp", 6, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Exp", 13, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Expand", 8, false, &[one("input", "T"), one("shape", "tensor(int64)")], &[one("output", "T")], &[T25.named("T"), T6.named("tensor(int64)")]),
    of("", "Expand", 13, false, &[one("input", "T"), one("shape", "tensor(int64)")], &[one("output", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "EyeLike", 9, false, &[one("input", "T1")], &[one("output", "T2")], &[T13.named("T1"), T13.named("T2")]),
    of("", "EyeLike", 22, false, &[one("input", "T1")], &[one("output", "T2")], &[T8.named("T1"), T8.named("T2")]),
    of("", "Flatten", 1, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Flatten", 9, false, &[one("input", "T")], &[one("output", "T")], &[T25.named("T")]),
    of("", "Flatten", 11, false, &[one("input", "T")], &[one("output", "T")], &[T25.named("T")]),
    of("", "Flatten", 13, false, &[one("input", "T")], &[one("output", "T")], &[T24.named("T")]),
    of("", "Flatten", 21, false, &[one("input", "T")], &[one("output", "T")], &[T28.named("T")]),
    of("", "Flatten", 23, false, &[one("input", "T")], &[one("output", "T")], &[T29.named("T")]),
    of("", "Flatten", 24, false, &[one("input", "T")], &[one("output", "T")], &[T30.named("T")]),
    of("", "Flatten", 25, false, &[one("input", "T")], &[one("output", "T")], &[T31.named("T")]),
    of("", "Floor", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Floor", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Floor", 13, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "GRU", 1, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")], &[may("Y", "T"), one("Y_h", "T")], &[T0.named("T"), T38.named("T1")]),
    of("", "GRU", 3, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")], &[may("Y", "T"), may("Y_h", "T")], &[T0.named("T"), T38.named("T1")]),
    of("", "GRU", 7, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")], &[may("Y", "T"), may("Y_h", "T")], &[T0.named("T"), T38.named("T1")]),
    of("", "GRU", 14, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")], &[may("Y", "T"), may("Y_h", "T")], &[T0.named("T"), T38.named("T1")]),
    of("", "GRU", 22, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")], &[may("Y", "T"), may("Y_h", "T")], &[T3.named("T"), T38.named("T1")]),
    of("", "Gather", 1, false, &[one("data", "T"), one("indices", "Tind")], &[one("output", "T")], &[T25.named("T"), T12.named("Tind")]),
    of("", "Gather", 11, false, &[one("data", "T"), one("indices", "Tind")], &[one("output", "T")], &[T25.named("T"), T12.named("Tind")]),
    of("", "Gather", 13, false, &[one("data", "T"), one("indices", "Tind")], &[one("output", "T")], &[T24.named("T"), T12.named("Tind")]),
    of("", "GatherElements", 11, false, &[one("data", "T"), one("indices", "Tind")], &[one("output", "T")], &[T25.named("T"), T12.named("Tind")]),
    of("", "GatherElements", 13, false, &[one("data", "T"), one("indices", "Tind")], &[one("output", "T")], &[T24.named("T"), T12.named("Tind")]),
    of("", "GatherND", 11, false, &[one("data", "T"), one("indices", "tensor(int64)")], &[one("output", "T")], &[T25.named("T"), T6.named("tensor(int64)")]),
    of("", "GatherND", 12, false, &[one("data", "T"), one("indices", "tensor(int64)")], &[one("output", "T")], &[T25.named("T"), T6.named("tensor(int64)")]),
    of("", "GatherND", 13, false, &[one("data", "T"), one("indices", "tensor(int64)")], &[one("output", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Gelu", 20, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Gemm", 1, false, &[one("A", "T"), one("B", "T"), one("C", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Gemm", 6, false, &[one("A", "T"), one("B", "T"), one("C", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Gemm", 7, false, &[one("A", "T"), one("B", "T"), one("C", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Gemm", 9, false, &[one("A", "T"), one("B", "T"), one("C", "T")], &[one("Y", "T")], &[T4.named("T")]),
    of("", "Gemm", 11, false, &[one("A", "T"), one("B", "T"), may("C", "T")], &[one("Y", "T")], &[T4.named("T")]),
    of("", "Gemm", 13, false, &[one("A", "T"), one("B", "T"), may("C", "T")], &[one("Y", "T")], &[T5.named("T")]),
    of("", "GlobalAveragePool", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "GlobalAveragePool", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "GlobalLpPool", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "GlobalLpPool", 2, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "GlobalLpPool", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "GlobalMaxPool", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "GlobalMaxPool", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Greater", 1, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T0.named("T"), T7.named("T1")]),
    of("", "Greater", 7, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T0.named("T"), T7.named("T1")]),
    of("", "Greater", 9, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T1.named("T"), T7.named("T1")]),
    of("", "Greater", 13, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T2.named("T"), T7.named("T1")]),
    of("", "GreaterOrEqual", 12, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T1.named("T"), T7.named("T1")]),
    of("", "GreaterOrEqual", 16, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T2.named("T"), T7.named("T1")]),
    of("", "GridSample", 16, false, &[one("X", "T1"), one("grid", "T2")], &[one("Y", "T1")], &[T25.named("T1"), T0.named("T2")]),
    of("", "GridSample", 20, false, &[one("X", "T1"), one("grid", "T2")], &[one("Y", "T1")], &[T25.named("T1"), T0.named("T2")]),
    of("", "GridSample", 22, false, &[one("X", "T1"), one("grid", "T2")], &[one("Y", "T1")], &[T24.named("T1"), T3.named("T2")]),
    of("", "GroupNormalization", 18, false, &[one("X", "T"), one("scale", "T"), one("bias", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "GroupNormalization", 21, false, &[one("X", "T"), one("scale", "T"), one("bias", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "HammingWindow", 17, false, &[one("size", "T1")], &[one("output", "T2")], &[T12.named("T1"), T2.named("T2")]),
    of("", "HannWindow", 17, false, &[one("size", "T1")], &[one("output", "T2")], &[T12.named("T1"), T2.named("T2")]),
    of("", "HardSigmoid", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "HardSigmoid", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "HardSigmoid", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "HardSwish", 14, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "HardSwish", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Hardmax", 1, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Hardmax", 11, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Hardmax", 13, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Identity", 1, false, &[one("input", "T")], &[one("output", "T")], &[T25.named("T")]),
    of("", "Identity", 13, false, &[one("input", "T")], &[one("output", "T")], &[T24.named("T")]),
    of("", "Identity", 14, false, &[one("input", "V")], &[one("output", "V")], &[T50.named("V")]),
    of("", "Identity", 16, false, &[one("input", "V")], &[one("output", "V")], &[T51.named("V")]),
    of("", "Identity", 19, false, &[one("input", "V")], &[one("output", "V")], &[T52.named("V")]),
    of("", "Identity", 21, false, &[one("input", "V")], &[one("output", "V")], &[T53.named("V")]),
    of("", "Identity", 23, false, &[one("input", "V")], &[one("output", "V")], &[T54.named("V")]),
    of("", "Identity", 24, false, &[one("input", "V")], &[one("output", "V")], &[T55.named("V")]),
    of("", "Identity", 25, false, &[one("input", "V")], &[one("output", "V")], &[T56.named("V")]),
    of("", "If", 1, false, &[one("cond", "B")], &[mix("outputs", "V")], &[T25.named("V"), T7.named("B")]),
    of("", "If", 11, false, &[one("cond", "B")], &[mix("outputs", "V")], &[T25.named("V"), T7.named("B")]),
    of("", "If", 13, false, &[one("cond", "B")], &[mix("outputs", "V")], &[T57.named("V"), T7.named("B")]),
    of("", "If", 16, false, &[one("cond", "B")], &[mix("outputs", "V")], &[T58.named("V"), T7.named("B")]),
    of("", "If", 19, false, &[one("cond", "B")], &[mix("outputs", "V")], &[T59.named("V"), T7.named("B")]),
    of("", "If", 21, false, &[one("cond", "B")], &[mix("outputs", "V")], &[T60.named("V"), T7.named("B")]),
    of("", "If", 23, false, &[one("cond", "B")], &[mix("outputs", "V")], &[T61.named("V"), T7.named("B")]),
    of("", "If", 24, false, &[one("cond", "B")], &[mix("outputs", "V")], &[T62.named("V"), T7.named("B")]),
    of("", "If", 25, false, &[one("cond", "B")], &[mix("outputs", "V")], &[T63.named("V"), T7.named("B")]),
    of("", "ImageDecoder", 20, false, &[one("encoded_stream", "T1")], &[one("image", "T2")], &[T48.named("T1"), T48.named("T2")]),
    of("", "InstanceNormalization", 1, false, &[one("input", "T"), one("scale", "T"), one("B", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "InstanceNormalization", 6, false, &[one("input", "T"), one("scale", "T"), one("B", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "InstanceNormalization", 22, false, &[one("input", "T"), one("scale", "T"), one("B", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "IsInf", 10, false, &[one("X", "T1")], &[one("Y", "T2")], &[T64.named("T1"), T7.named("T2")]),
    of("", "IsInf", 20, false, &[one("X", "T1")], &[one("Y", "T2")], &[T47.named("T1"), T7.named("T2")]),
    of("", "IsNaN", 9, false, &[one("X", "T1")], &[one("Y", "T2")], &[T0.named("T1"), T7.named("T2")]),
    of("", "IsNaN", 13, false, &[one("X", "T1")], &[one("Y", "T2")], &[T3.named("T1"), T7.named("T2")]),
    of("", "IsNaN", 20, false, &[one("X", "T1")], &[one("Y", "T2")], &[T47.named("T1"), T7.named("T2")]),
    of("", "LRN", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "LRN", 13, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "LSTM", 1, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T"), may("initial_c", "T"), may("P", "T")], &[may("Y", "T"), may("Y_h", "T"), may("Y_c", "T")], &[T0.named("T"), T38.named("T1")]),
    of("", "LSTM", 7, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T"), may("initial_c", "T"), may("P", "T")], &[may("Y", "T"), may("Y_h", "T"), may("Y_c", "T")], &[T0.named("T"), T38.named("T1")]),
    of("", "LSTM", 14, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T"), may("initial_c", "T"), may("P", "T")], &[may("Y", "T"), may("Y_h", "T"), may("Y_c", "T")], &[T0.named("T"), T38.named("T1")]),
    of("", "LSTM", 22, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T"), may("initial_c", "T"), may("P", "T")], &[may("Y", "T"), may("Y_h", "T"), may("Y_c", "T")], &[T3.named("T"), T38.named("T1")]),
    of("", "LayerNormalization", 17, false, &[one("X", "T"), one("Scale", "T"), may("B", "T")], &[one("Y", "T"), may("Mean", "U"), may("InvStdDev", "U")], &[T3.named("T"), T65.named("U")]),
    of("", "LeakyRelu", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "LeakyRelu", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "LeakyRelu", 16, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Less", 1, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T0.named("T"), T7.named("T1")]),
    of("", "Less", 7, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T0.named("T"), T7.named("T1")]),
    of("", "Less", 9, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T1.named("T"), T7.named("T1")]),
    of("", "Less", 13, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T2.named("T"), T7.named("T1")]),
    of("", "LessOrEqual", 12, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T1.named("T"), T7.named("T1")]),
    of("", "LessOrEqual", 16, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T2.named("T"), T7.named("T1")]),
    of("", "LinearAttention", 27, false, &[one("query", "T"), one("key", "T"), one("value", "T"), may("past_state", "S"), may("decay", "T"), may("beta", "T")], &[one("output", "T"), one("present_state", "S")], &[T22.named("T"), T22.named("S")]),
    of("", "Log", 1, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Log", 6, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Log", 13, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "LogSoftmax", 1, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "LogSoftmax", 11, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "LogSoftmax", 13, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Loop", 1, false, &[may("M", "I"), may("cond", "B"), mix("v_initial", "V")], &[mix("v_final_and_scan_outputs", "V")], &[T25.named("V"), T6.named("I"), T7.named("B")]),
    of("", "Loop", 11, false, &[may("M", "I"), may("cond", "B"), mix("v_initial", "V")], &[mix("v_final_and_scan_outputs", "V")], &[T25.named("V"), T6.named("I"), T7.named("B")]),
    of("", "Loop", 13, false, &[may("M", "I"), may("cond", "B"), mix("v_initial", "V")], &[mix("v_final_and_scan_outputs", "V")], &[T57.named("V"), T6.named("I"), T7.named("B")]),
    of("", "Loop", 16, false, &[may("M", "I"), may("cond", "B"), mix("v_initial", "V")], &[mix("v_final_and_scan_outputs", "V")], &[T58.named("V"), T6.named("I"), T7.named("B")]),
    of("", "Loop", 19, false, &[may("M", "I"), may("cond", "B"), mix("v_initial", "V")], &[mix("v_final_and_scan_outputs", "V")], &[T59.named("V"), T6.named("I"), T7.named("B")]),
    of("", "Loop", 21, false, &[may("M", "I"), may("cond", "B"), mix("v_initial", "V")], &[mix("v_final_and_scan_outputs", "V")], &[T60.named("V"), T6.named("I"), T7.named("B")]),
    of("", "Loop", 23, false, &[may("M", "I"), may("cond", "B"), mix("v_initial", "V")], &[mix("v_final_and_scan_outputs", "V")], &[T61.named("V"), T6.named("I"), T7.named("B")]),
    of("", "Loop", 24, false, &[may("M", "I"), may("cond", "B"), mix("v_initial", "V")], &[mix("v_final_and_scan_outputs", "V")], &[T62.named("V"), T6.named("I"), T7.named("B")]),
    of("", "Loop", 25, false, &[may("M", "I"), may("cond", "B"), mix("v_initial", "V")], &[mix("v_final_and_scan_outputs", "V")], &[T63.named("V"), T6.named("I"), T7.named("B")]),
    of("", "LpNormalization", 1, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "LpNormalization", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "LpPool", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "LpPool", 2, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "LpPool", 11, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "LpPool", 18, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "LpPool", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "MatMul", 1, false, &[one("A", "T"), one("B", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "MatMul", 9, false, &[one("A", "T"), one("B", "T")], &[one("Y", "T")], &[T4.named("T")]),
    of("", "MatMul", 13, false, &[one("A", "T"), one("B", "T")], &[one("Y", "T")], &[T5.named("T")]),
    of("", "MatMulInteger", 10, false, &[one("A", "T1"), one("B", "T2"), may("a_zero_point", "T1"), may("b_zero_point", "T2")], &[one("Y", "T3")], &[T37.named("T1"), T37.named("T2"), T38.named("T3")]),
    of("", "Max", 1, true, &[all("data_0", "T")], &[one("max", "T")], &[T0.named("T")]),
    of("", "Max", 6, true, &[all("data_0", "T")], &[one("max", "T")], &[T0.named("T")]),
    of("", "Max", 8, true, &[all("data_0", "T")], &[one("max", "T")], &[T0.named("T")]),
    of("", "Max", 12, true, &[all("data_0", "T")], &[one("max", "T")], &[T1.named("T")]),
    of("", "Max", 13, true, &[all("data_0", "T")], &[one("max", "T")], &[T2.named("T")]),
    of("", "MaxPool", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "MaxPool", 8, false, &[one("X", "T")], &[one("Y", "T"), may("Indices", "I")], &[T0.named("T"), T6.named("I")]),
    of("", "MaxPool", 10, false, &[one("X", "T")], &[one("Y", "T"), may("Indices", "I")], &[T0.named("T"), T6.named("I")]),
    of("", "MaxPool", 11, false, &[one("X", "T")], &[one("Y", "T"), may("Indices", "I")], &[T0.named("T"), T6.named("I")]),
    of("", "MaxPool", 12, false, &[one("X", "T")], &[one("Y", "T"), may("Indices", "I")], &[T66.named("T"), T6.named("I")]),
    of("", "MaxPool", 22, false, &[one("X", "T")], &[one("Y", "T"), may("Indices", "I")], &[T67.named("T"), T6.named("I")]),
    of("", "MaxRoiPool", 1, false, &[one("X", "T"), one("rois", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "MaxRoiPool", 22, false, &[one("X", "T"), one("rois", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "MaxUnpool", 9, false, &[one("X", "T1"), one("I", "T2"), may("output_shape", "T2")], &[one("output", "T1")], &[T0.named("T1"), T6.named("T2")]),
    of("", "MaxUnpool", 11, false, &[one("X", "T1"), one("I", "T2"), may("output_shape", "T2")], &[one("output", "T1")], &[T0.named("T1"), T6.named("T2")]),
    of("", "MaxUnpool", 22, false, &[one("X", "T1"), one("I", "T2"), may("output_shape", "T2")], &[one("output", "T1")], &[T3.named("T1"), T6.named("T2")]),
    of("", "Mean", 1, true, &[all("data_0", "T")], &[one("mean", "T")], &[T0.named("T")]),
    of("", "Mean", 6, true, &[all("data_0", "T")], &[one("mean", "T")], &[T0.named("T")]),
    of("", "Mean", 8, true, &[all("data_0", "T")], &[one("mean", "T")], &[T0.named("T")]),
    of("", "Mean", 13, true, &[all("data_0", "T")], &[one("mean", "T")], &[T3.named("T")]),
    of("", "MeanVarianceNormalization", 9, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "MeanVarianceNormalization", 13, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "MelWeightMatrix", 17, false, &[one("num_mel_bins", "T1"), one("dft_length", "T1"), one("sample_rate", "T1"), one("lower_edge_hertz", "T2"), one("upper_edge_hertz", "T2")], &[one("output", "T3")], &[T12.named("T1"), T3.named("T2"), T2.named("T3")]),
    of("", "Min", 1, true, &[all("data_0", "T")], &[one("min", "T")], &[T0.named("T")]),
    of("", "Min", 6, true, &[all("data_0", "T")], &[one("min", "T")], &[T0.named("T")]),
    of("", "Min", 8, true, &[all("data_0", "T")], &[one("min", "T")], &[T0.named("T")]),
    of("", "Min", 12, true, &[all("data_0", "T")], &[one("min", "T")], &[T1.named("T")]),
    of("", "Min", 13, true, &[all("data_0", "T")], &[one("min", "T")], &[T2.named("T")]),
    of("", "Mish", 18, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Mish", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Mod", 10, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T1.named("T")]),
    of("", "Mod", 13, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T2.named("T")]),
    of("", "Mod", 28, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T2.named("T")]),
    of("", "Mul", 1, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T0.named("T")]),
    of("", "Mul", 6, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T4.named("T")]),
    of("", "Mul", 7, true, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T4.named("T")]),
    of("", "Mul", 13, true, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T5.named("T")]),
    of("", "Mul", 14, true, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T2.named("T")]),
    of("", "Multinomial", 7, false, &[one("input", "T1")], &[one("output", "T2")], &[T0.named("T1"), T12.named("T2")]),
    of("", "Multinomial", 22, false, &[one("input", "T1")], &[one("output", "T2")], &[T3.named("T1"), T12.named("T2")]),
    of("", "Neg", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Neg", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T68.named("T")]),
    of("", "Neg", 13, false, &[one("X", "T")], &[one("Y", "T")], &[T69.named("T")]),
    of("", "NegativeLogLikelihoodLoss", 12, false, &[one("input", "T"), one("target", "Tind"), may("weight", "T")], &[one("loss", "T")], &[T0.named("T"), T12.named("Tind")]),
    of("", "NegativeLogLikelihoodLoss", 13, false, &[one("input", "T"), one("target", "Tind"), may("weight", "T")], &[one("loss", "T")], &[T0.named("T"), T12.named("Tind")]),
    of("", "NegativeLogLikelihoodLoss", 22, false, &[one("input", "T"), one("target", "Tind"), may("weight", "T")], &[one("loss", "T")], &[T3.named("T"), T12.named("Tind")]),
    of("", "NonMaxSuppression", 10, false, &[one("boxes", "tensor(float)"), one("scores", "tensor(float)"), may("max_output_boxes_per_class", "tensor(int64)"), may("iou_threshold", "tensor(float)"), may("score_threshold", "tensor(float)")], &[one("selected_indices", "tensor(int64)")], &[T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    of("", "NonMaxSuppression", 11, false, &[one("boxes", "tensor(float)"), one("scores", "tensor(float)"), may("max_output_boxes_per_class", "tensor(int64)"), may("iou_threshold", "tensor(float)"), may("score_threshold", "tensor(float)")], &[one("selected_indices", "tensor(int64)")], &[T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    of("", "NonZero", 9, false, &[one("X", "T")], &[one("Y", "tensor(int64)")], &[T25.named("T"), T6.named("tensor(int64)")]),
    of("", "NonZero", 13, false, &[one("X", "T")], &[one("Y", "tensor(int64)")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Not", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T7.named("T")]),
    of("", "OneHot", 9, false, &[one("indices", "T1"), one("depth", "T2"), one("values", "T3")], &[one("output", "T3")], &[T1.named("T1"), T1.named("T2"), T25.named("T3")]),
    of("", "OneHot", 11, false, &[one("indices", "T1"), one("depth", "T2"), one("values", "T3")], &[one("output", "T3")], &[T1.named("T1"), T1.named("T2"), T25.named("T3")]),
    of("", "OneHot", 28, false, &[one("indices", "T1"), one("depth", "T2"), one("values", "T3")], &[one("output", "T3")], &[T1.named("T1"), T1.named("T2"), T24.named("T3")]),
    of("", "Optional", 15, false, &[may("input", "V")], &[one("output", "O")], &[T57.named("V"), T70.named("O")]),
    of("", "Optional", 28, false, &[may("input", "V")], &[one("output", "O")], &[T71.named("V"), T72.named("O")]),
    of("", "OptionalGetElement", 15, false, &[one("input", "O")], &[one("output", "V")], &[T70.named("O"), T57.named("V")]),
    of("", "OptionalGetElement", 18, false, &[one("input", "O")], &[one("output", "V")], &[T73.named("O"), T57.named("V")]),
    of("", "OptionalGetElement", 28, false, &[one("input", "O")], &[one("output", "V")], &[T74.named("O"), T71.named("V")]),
    of("", "OptionalHasElement", 15, false, &[one("input", "O")], &[one("output", "B")], &[T70.named("O"), T7.named("B")]),
    of("", "OptionalHasElement", 18, false, &[may("input", "O")], &[one("output", "B")], &[T73.named("O"), T7.named("B")]),
    of("", "OptionalHasElement", 28, false, &[may("input", "O")], &[one("output", "B")], &[T74.named("O"), T7.named("B")]),
    of("", "Or", 1, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T7.named("T"), T7.named("T1")]),
    of("", "Or", 7, true, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T7.named("T"), T7.named("T1")]),
    of("", "PRelu", 1, false, &[one("X", "T"), one("slope", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "PRelu", 6, false, &[one("X", "T"), one("slope", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "PRelu", 7, false, &[one("X", "T"), one("slope", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "PRelu", 9, false, &[one("X", "T"), one("slope", "T")], &[one("Y", "T")], &[T4.named("T")]),
    of("", "PRelu", 16, false, &[one("X", "T"), one("slope", "T")], &[one("Y", "T")], &[T5.named("T")]),
    of("", "Pad", 1, false, &[one("data", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Pad", 2, false, &[one("data", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Pad", 11, false, &[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T")], &[one("output", "T")], &[T1.named("T"), T6.named("tensor(int64)")]),
    of("", "Pad", 13, false, &[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T")], &[one("output", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Pad", 18, false, &[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")], &[one("output", "T")], &[T24.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    of("", "Pad", 19, false, &[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")], &[one("output", "T")], &[T24.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    of("", "Pad", 21, false, &[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")], &[one("output", "T")], &[T28.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    of("", "Pad", 23, false, &[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")], &[one("output", "T")], &[T29.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    of("", "Pad", 24, false, &[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")], &[one("output", "T")], &[T30.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    of("", "Pad", 25, false, &[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")], &[one("output", "T")], &[T31.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    of("", "Pow", 1, false, &[one("X", "T"), one("Y", "T")], &[one("Z", "T")], &[T0.named("T")]),
    of("", "Pow", 7, false, &[one("X", "T"), one("Y", "T")], &[one("Z", "T")], &[T0.named("T")]),
    of("", "Pow", 12, false, &[one("X", "T"), one("Y", "T1")], &[one("Z", "T")], &[T75.named("T"), T1.named("T1")]),
    of("", "Pow", 13, false, &[one("X", "T"), one("Y", "T1")], &[one("Z", "T")], &[T76.named("T"), T1.named("T1")]),
    of("", "Pow", 15, false, &[one("X", "T"), one("Y", "T1")], &[one("Z", "T")], &[T76.named("T"), T2.named("T1")]),
    of("", "QLinearConv", 10, false, &[one("x", "T1"), one("x_scale", "tensor(float)"), one("x_zero_point", "T1"), one("w", "T2"), one("w_scale", "tensor(float)"), one("w_zero_point", "T2"), one("y_scale", "tensor(float)"), one("y_zero_point", "T3"), may("B", "T4")], &[one("y", "T3")], &[T37.named("T1"), T37.named("T2"), T37.named("T3"), T38.named("T4"), T23.named("tensor(float)")]),
    of("", "QLinearMatMul", 10, false, &[one("a", "T1"), one("a_scale", "tensor(float)"), one("a_zero_point", "T1"), one("b", "T2"), one("b_scale", "tensor(float)"), one("b_zero_point", "T2"), one("y_scale", "tensor(float)"), one("y_zero_point", "T3")], &[one("y", "T3")], &[T37.named("T1"), T37.named("T2"), T37.named("T3"), T23.named("tensor(float)")]),
    of("", "QLinearMatMul", 21, false, &[one("a", "T1"), one("a_scale", "TS"), one("a_zero_point", "T1"), one("b", "T2"), one("b_scale", "TS"), one("b_zero_point", "T2"), one("y_scale", "TS"), one("y_zero_point", "T3")], &[one("y", "T3")], &[T22.named("TS"), T77.named("T1"), T77.named("T2"), T77.named("T3")]),
    of("", "QuantizeLinear", 10, false, &[one("x", "T1"), one("y_scale", "tensor(float)"), may("y_zero_point", "T2")], &[one("y", "T2")], &[T78.named("T1"), T37.named("T2"), T23.named("tensor(float)")]),
    of("", "QuantizeLinear", 13, false, &[one("x", "T1"), one("y_scale", "tensor(float)"), may("y_zero_point", "T2")], &[one("y", "T2")], &[T78.named("T1"), T37.named("T2"), T23.named("tensor(float)")]),
    of("", "QuantizeLinear", 19, false, &[one("x", "T1"), one("y_scale", "T1"), may("y_zero_point", "T2")], &[one("y", "T2")], &[T79.named("T1"), T77.named("T2")]),
    of("", "QuantizeLinear", 21, false, &[one("x", "T1"), one("y_scale", "T1"), may("y_zero_point", "T2")], &[one("y", "T2")], &[T79.named("T1"), T80.named("T2")]),
    of("", "QuantizeLinear", 23, false, &[one("x", "T1"), one("y_scale", "T2"), may("y_zero_point", "T3")], &[one("y", "T3")], &[T79.named("T1"), T79.named("T2"), T81.named("T3")]),
    of("", "QuantizeLinear", 24, false, &[one("x", "T1"), one("y_scale", "T2"), may("y_zero_point", "T3")], &[one("y", "T3")], &[T79.named("T1"), T82.named("T2"), T81.named("T3")]),
    of("", "QuantizeLinear", 25, false, &[one("x", "T1"), one("y_scale", "T2"), may("y_zero_point", "T3")], &[one("y", "T3")], &[T79.named("T1"), T82.named("T2"), T83.named("T3")]),
    of("", "QuantizeLinear", 28, false, &[one("x", "T1"), one("y_scale", "T2"), may("y_zero_point", "T3")], &[one("y", "T3")], &[T79.named("T1"), T82.named("T2"), T84.named("T3")]),
    of("", "RMSNormalization", 23, false, &[one("X", "T"), one("scale", "V")], &[one("Y", "V")], &[T3.named("T"), T3.named("V")]),
    of("", "RNN", 1, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")], &[may("Y", "T"), may("Y_h", "T")], &[T0.named("T"), T38.named("T1")]),
    of("", "RNN", 7, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")], &[may("Y", "T"), may("Y_h", "T")], &[T0.named("T"), T38.named("T1")]),
    of("", "RNN", 14, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")], &[may("Y", "T"), may("Y_h", "T")], &[T0.named("T"), T38.named("T1")]),
    of("", "RNN", 22, false, &[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")], &[may("Y", "T"), may("Y_h", "T")], &[T3.named("T"), T38.named("T1")]),
    of("", "RandomNormal", 1, false, &[], &[one("output", "T")], &[T0.named("T")]),
    of("", "RandomNormal", 22, false, &[], &[one("output", "T")], &[T3.named("T")]),
    of("", "RandomNormalLike", 1, false, &[one("input", "T1")], &[one("output", "T2")], &[T25.named("T1"), T0.named("T2")]),
    of("", "RandomNormalLike", 22, false, &[one("input", "T1")], &[one("output", "T2")], &[T24.named("T1"), T3.named("T2")]),
    of("", "RandomUniform", 1, false, &[], &[one("output", "T")], &[T0.named("T")]),
    of("", "RandomUniform", 22, false, &[], &[one("output", "T")], &[T3.named("T")]),
    of("", "RandomUniformLike", 1, false, &[one("input", "T1")], &[one("output", "T2")], &[T25.named("T1"), T0.named("T2")]),
    of("", "RandomUniformLike", 22, false, &[one("input", "T1")], &[one("output", "T2")], &[T24.named("T1"), T3.named("T2")]),
    of("", "Range", 11, false, &[one("start", "T"), one("limit", "T"), one("delta", "T")], &[one("output", "T")], &[T85.named("T")]),
    of("", "Range", 27, false, &[one("start", "T"), one("limit", "T"), one("delta", "T")], &[one("output", "T")], &[T86.named("T")]),
    of("", "Reciprocal", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Reciprocal", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Reciprocal", 13, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "ReduceL1", 1, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceL1", 11, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceL1", 13, false, &[one("data", "T")], &[one("reduced", "T")], &[T5.named("T")]),
    of("", "ReduceL1", 18, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T5.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceL2", 1, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceL2", 11, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceL2", 13, false, &[one("data", "T")], &[one("reduced", "T")], &[T5.named("T")]),
    of("", "ReduceL2", 18, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T5.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceLogSum", 1, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceLogSum", 11, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceLogSum", 13, false, &[one("data", "T")], &[one("reduced", "T")], &[T5.named("T")]),
    of("", "ReduceLogSum", 18, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T5.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceLogSum", 28, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T3.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceLogSumExp", 1, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceLogSumExp", 11, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceLogSumExp", 13, false, &[one("data", "T")], &[one("reduced", "T")], &[T5.named("T")]),
    of("", "ReduceLogSumExp", 18, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T5.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceLogSumExp", 28, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T3.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceMax", 1, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceMax", 11, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceMax", 12, false, &[one("data", "T")], &[one("reduced", "T")], &[T87.named("T")]),
    of("", "ReduceMax", 13, false, &[one("data", "T")], &[one("reduced", "T")], &[T88.named("T")]),
    of("", "ReduceMax", 18, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T88.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceMax", 20, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T89.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceMean", 1, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceMean", 11, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceMean", 13, false, &[one("data", "T")], &[one("reduced", "T")], &[T5.named("T")]),
    of("", "ReduceMean", 18, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T5.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceMin", 1, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceMin", 11, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceMin", 12, false, &[one("data", "T")], &[one("reduced", "T")], &[T87.named("T")]),
    of("", "ReduceMin", 13, false, &[one("data", "T")], &[one("reduced", "T")], &[T88.named("T")]),
    of("", "ReduceMin", 18, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T88.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceMin", 20, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T89.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceProd", 1, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceProd", 11, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceProd", 13, false, &[one("data", "T")], &[one("reduced", "T")], &[T5.named("T")]),
    of("", "ReduceProd", 18, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T5.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceSum", 1, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceSum", 11, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceSum", 13, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T5.named("T"), T6.named("tensor(int64)")]),
    of("", "ReduceSumSquare", 1, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceSumSquare", 11, false, &[one("data", "T")], &[one("reduced", "T")], &[T4.named("T")]),
    of("", "ReduceSumSquare", 13, false, &[one("data", "T")], &[one("reduced", "T")], &[T5.named("T")]),
    of("", "ReduceSumSquare", 18, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("reduced", "T")], &[T5.named("T"), T6.named("tensor(int64)")]),
    of("", "RegexFullMatch", 20, false, &[one("X", "T1")], &[one("Y", "T2")], &[T90.named("T1"), T7.named("T2")]),
    of("", "Relu", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Relu", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Relu", 13, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Relu", 14, false, &[one("X", "T")], &[one("Y", "T")], &[T69.named("T")]),
    of("", "Reshape", 1, false, &[one("data", "T")], &[one("reshaped", "T")], &[T0.named("T")]),
    of("", "Reshape", 5, false, &[one("data", "T"), one("shape", "tensor(int64)")], &[one("reshaped", "T")], &[T25.named("T"), T6.named("tensor(int64)")]),
    of("", "Reshape", 13, false, &[one("data", "T"), one("shape", "tensor(int64)")], &[one("reshaped", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Reshape", 14, false, &[one("data", "T"), one("shape", "tensor(int64)")], &[one("reshaped", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Reshape", 19, false, &[one("data", "T"), one("shape", "tensor(int64)")], &[one("reshaped", "T")], &[T27.named("T"), T6.named("tensor(int64)")]),
    of("", "Reshape", 21, false, &[one("data", "T"), one("shape", "tensor(int64)")], &[one("reshaped", "T")], &[T28.named("T"), T6.named("tensor(int64)")]),
    of("", "Reshape", 23, false, &[one("data", "T"), one("shape", "tensor(int64)")], &[one("reshaped", "T")], &[T29.named("T"), T6.named("tensor(int64)")]),
    of("", "Reshape", 24, false, &[one("data", "T"), one("shape", "tensor(int64)")], &[one("reshaped", "T")], &[T30.named("T"), T6.named("tensor(int64)")]),
    of("", "Reshape", 25, false, &[one("data", "T"), one("shape", "tensor(int64)")], &[one("reshaped", "T")], &[T31.named("T"), T6.named("tensor(int64)")]),
    of("", "Resize", 10, false, &[one("X", "T"), one("scales", "tensor(float)")], &[one("Y", "T")], &[T25.named("T"), T23.named("tensor(float)")]),
    of("", "Resize", 11, false, &[one("X", "T1"), one("roi", "T2"), one("scales", "tensor(float)"), may("sizes", "tensor(int64)")], &[one("Y", "T1")], &[T25.named("T1"), T0.named("T2"), T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    of("", "Resize", 13, false, &[one("X", "T1"), may("roi", "T2"), may("scales", "tensor(float)"), may("sizes", "tensor(int64)")], &[one("Y", "T1")], &[T24.named("T1"), T0.named("T2"), T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    of("", "Resize", 18, false, &[one("X", "T1"), may("roi", "T2"), may("scales", "tensor(float)"), may("sizes", "tensor(int64)")], &[one("Y", "T1")], &[T24.named("T1"), T0.named("T2"), T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    of("", "Resize", 19, false, &[one("X", "T1"), may("roi", "T2"), may("scales", "tensor(float)"), may("sizes", "tensor(int64)")], &[one("Y", "T1")], &[T24.named("T1"), T0.named("T2"), T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    of("", "ReverseSequence", 10, false, &[one("input", "T"), one("sequence_lens", "tensor(int64)")], &[one("Y", "T")], &[T25.named("T"), T6.named("tensor(int64)")]),
    of("", "ReverseSequence", 28, false, &[one("input", "T"), one("sequence_lens", "tensor(int64)")], &[one("Y", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "RoiAlign", 10, false, &[one("X", "T1"), one("rois", "T1"), one("batch_indices", "T2")], &[one("Y", "T1")], &[T0.named("T1"), T6.named("T2")]),
    of("", "RoiAlign", 16, false, &[one("X", "T1"), one("rois", "T1"), one("batch_indices", "T2")], &[one("Y", "T1")], &[T0.named("T1"), T6.named("T2")]),
    of("", "RoiAlign", 22, false, &[one("X", "T1"), one("rois", "T1"), one("batch_indices", "T2")], &[one("Y", "T1")], &[T3.named("T1"), T6.named("T2")]),
    of("", "RotaryEmbedding", 23, false, &[one("X", "T"), one("cos_cache", "T"), one("sin_cache", "T"), may("position_ids", "M")], &[one("Y", "T")], &[T22.named("T"), T6.named("M")]),
    of("", "Round", 11, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Round", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "STFT", 17, false, &[one("signal", "T1"), one("frame_step", "T2"), may("window", "T1"), may("frame_length", "T2")], &[one("output", "T1")], &[T3.named("T1"), T12.named("T2")]),
    of("", "Scan", 8, false, &[may("sequence_lens", "I"), mix("initial_state_and_scan_inputs", "V")], &[mix("final_state_and_scan_outputs", "V")], &[T6.named("I"), T25.named("V")]),
    of("", "Scan", 9, false, &[mix("initial_state_and_scan_inputs", "V")], &[mix("final_state_and_scan_outputs", "V")], &[T25.named("V")]),
    of("", "Scan", 11, false, &[mix("initial_state_and_scan_inputs", "V")], &[mix("final_state_and_scan_outputs", "V")], &[T25.named("V")]),
    of("", "Scan", 16, false, &[mix("initial_state_and_scan_inputs", "V")], &[mix("final_state_and_scan_outputs", "V")], &[T24.named("V")]),
    of("", "Scan", 19, false, &[mix("initial_state_and_scan_inputs", "V")], &[mix("final_state_and_scan_outputs", "V")], &[T27.named("V")]),
    of("", "Scan", 21, false, &[mix("initial_state_and_scan_inputs", "V")], &[mix("final_state_and_scan_outputs", "V")], &[T28.named("V")]),
    of("", "Scan", 23, false, &[mix("initial_state_and_scan_inputs", "V")], &[mix("final_state_and_scan_outputs", "V")], &[T29.named("V")]),
    of("", "Scan", 24, false, &[mix("initial_state_and_scan_inputs", "V")], &[mix("final_state_and_scan_outputs", "V")], &[T30.named("V")]),
    of("", "Scan", 25, false, &[mix("initial_state_and_scan_inputs", "V")], &[mix("final_state_and_scan_outputs", "V")], &[T31.named("V")]),
    of("", "Scatter", 9, false, &[one("data", "T"), one("indices", "Tind"), one("updates", "T")], &[one("output", "T")], &[T25.named("T"), T12.named("Tind")]),
    of("", "Scatter", 11, false, &[one("data", "T"), one("indices", "Tind"), one("updates", "T")], &[one("output", "T")], &[T25.named("T"), T12.named("Tind")]),
    of("", "ScatterElements", 11, false, &[one("data", "T"), one("indices", "Tind"), one("updates", "T")], &[one("output", "T")], &[T25.named("T"), T12.named("Tind")]),
    of("", "ScatterElements", 13, false, &[one("data", "T"), one("indices", "Tind"), one("updates", "T")], &[one("output", "T")], &[T24.named("T"), T12.named("Tind")]),
    of("", "ScatterElements", 16, false, &[one("data", "T"), one("indices", "Tind"), one("updates", "T")], &[one("output", "T")], &[T24.named("T"), T12.named("Tind")]),
    of("", "ScatterElements", 18, false, &[one("data", "T"), one("indices", "Tind"), one("updates", "T")], &[one("output", "T")], &[T24.named("T"), T12.named("Tind")]),
    of("", "ScatterND", 11, false, &[one("data", "T"), one("indices", "tensor(int64)"), one("updates", "T")], &[one("output", "T")], &[T25.named("T"), T6.named("tensor(int64)")]),
    of("", "ScatterND", 13, false, &[one("data", "T"), one("indices", "tensor(int64)"), one("updates", "T")], &[one("output", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "ScatterND", 16, false, &[one("data", "T"), one("indices", "tensor(int64)"), one("updates", "T")], &[one("output", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "ScatterND", 18, false, &[one("data", "T"), one("indices", "tensor(int64)"), one("updates", "T")], &[one("output", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Selu", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Selu", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Selu", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "SequenceAt", 11, false, &[one("input_sequence", "S"), one("position", "I")], &[one("tensor", "T")], &[T26.named("S"), T25.named("T"), T12.named("I")]),
    of("", "SequenceConstruct", 11, false, &[all("inputs", "T")], &[one("output_sequence", "S")], &[T25.named("T"), T26.named("S")]),
    of("", "SequenceEmpty", 11, false, &[], &[one("output", "S")], &[T26.named("S")]),
    of("", "SequenceErase", 11, false, &[one("input_sequence", "S"), may("position", "I")], &[one("output_sequence", "S")], &[T26.named("S"), T12.named("I")]),
    of("", "SequenceInsert", 11, false, &[one("input_sequence", "S"), one("tensor", "T"), may("position", "I")], &[one("output_sequence", "S")], &[T25.named("T"), T26.named("S"), T12.named("I")]),
    of("", "SequenceLength", 11, false, &[one("input_sequence", "S")], &[one("length", "I")], &[T26.named("S"), T6.named("I")]),
    of("", "SequenceMap", 17, false, &[one("input_sequence", "S"), mix("additional_inputs", "V")], &[mix("out_sequence", "S")], &[T26.named("S"), T57.named("V")]),
    of("", "Shape", 1, false, &[one("data", "T")], &[one("shape", "T1")], &[T25.named("T"), T6.named("T1")]),
    of("", "Shape", 13, false, &[one("data", "T")], &[one("shape", "T1")], &[T24.named("T"), T6.named("T1")]),
    of("", "Shape", 15, false, &[one("data", "T")], &[one("shape", "T1")], &[T24.named("T"), T6.named("T1")]),
    of("", "Shape", 19, false, &[one("data", "T")], &[one("shape", "T1")], &[T27.named("T"), T6.named("T1")]),
    of("", "Shape", 21, false, &[one("data", "T")], &[one("shape", "T1")], &[T28.named("T"), T6.named("T1")]),
    of("", "Shape", 23, false, &[one("data", "T")], &[one("shape", "T1")], &[T29.named("T"), T6.named("T1")]),
    of("", "Shape", 24, false, &[one("data", "T")], &[one("shape", "T1")], &[T30.named("T"), T6.named("T1")]),
    of("", "Shape", 25, false, &[one("data", "T")], &[one("shape", "T1")], &[T31.named("T"), T6.named("T1")]),
    of("", "Shrink", 9, false, &[one("input", "T")], &[one("output", "T")], &[T1.named("T")]),
    of("", "Sigmoid", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Sigmoid", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Sigmoid", 13, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Sign", 9, false, &[one("input", "T")], &[one("output", "T")], &[T1.named("T")]),
    of("", "Sign", 13, false, &[one("input", "T")], &[one("output", "T")], &[T2.named("T")]),
    of("", "Sin", 7, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Sin", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Sinh", 9, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Sinh", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Size", 1, false, &[one("data", "T")], &[one("size", "T1")], &[T25.named("T"), T6.named("T1")]),
    of("", "Size", 13, false, &[one("data", "T")], &[one("size", "T1")], &[T24.named("T"), T6.named("T1")]),
    of("", "Size", 19, false, &[one("data", "T")], &[one("size", "T1")], &[T27.named("T"), T6.named("T1")]),
    of("", "Size", 21, false, &[one("data", "T")], &[one("size", "T1")], &[T28.named("T"), T6.named("T1")]),
    of("", "Size", 23, false, &[one("data", "T")], &[one("size", "T1")], &[T29.named("T"), T6.named("T1")]),
    of("", "Size", 24, false, &[one("data", "T")], &[one("size", "T1")], &[T30.named("T"), T6.named("T1")]),
    of("", "Size", 25, false, &[one("data", "T")], &[one("size", "T1")], &[T31.named("T"), T6.named("T1")]),
    of("", "Slice", 1, false, &[one("data", "T")], &[one("output", "T")], &[T25.named("T")]),
    of("", "Slice", 10, false, &[one("data", "T"), one("starts", "Tind"), one("ends", "Tind"), may("axes", "Tind"), may("steps", "Tind")], &[one("output", "T")], &[T25.named("T"), T12.named("Tind")]),
    of("", "Slice", 11, false, &[one("data", "T"), one("starts", "Tind"), one("ends", "Tind"), may("axes", "Tind"), may("steps", "Tind")], &[one("output", "T")], &[T25.named("T"), T12.named("Tind")]),
    of("", "Slice", 13, false, &[one("data", "T"), one("starts", "Tind"), one("ends", "Tind"), may("axes", "Tind"), may("steps", "Tind")], &[one("output", "T")], &[T24.named("T"), T12.named("Tind")]),
    of("", "Softmax", 1, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Softmax", 11, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Softmax", 13, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "SoftmaxCrossEntropyLoss", 12, false, &[one("scores", "T"), one("labels", "Tind"), may("weights", "T")], &[one("output", "T"), may("log_prob", "T")], &[T0.named("T"), T12.named("Tind")]),
    of("", "SoftmaxCrossEntropyLoss", 13, false, &[one("scores", "T"), one("labels", "Tind"), may("weights", "T")], &[one("output", "T"), may("log_prob", "T")], &[T3.named("T"), T12.named("Tind")]),
    of("", "Softplus", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Softplus", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Softsign", 1, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Softsign", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "SpaceToDepth", 1, false, &[one("input", "T")], &[one("output", "T")], &[T25.named("T")]),
    of("", "SpaceToDepth", 13, false, &[one("input", "T")], &[one("output", "T")], &[T24.named("T")]),
    of("", "SpaceToDepth", 28, false, &[one("input", "T")], &[one("output", "T")], &[T24.named("T")]),
    of("", "Split", 1, false, &[one("input", "T"), may("split", "T")], &[all("outputs...", "T")], &[T0.named("T")]),
    of("", "Split", 2, false, &[one("input", "T")], &[all("outputs", "T")], &[T25.named("T")]),
    of("", "Split", 11, false, &[one("input", "T")], &[all("outputs", "T")], &[T25.named("T")]),
    of("", "Split", 13, false, &[one("input", "T"), may("split", "tensor(int64)")], &[all("outputs", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Split", 18, false, &[one("input", "T"), may("split", "tensor(int64)")], &[all("outputs", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "SplitToSequence", 11, false, &[one("input", "T"), may("split", "I")], &[one("output_sequence", "S")], &[T25.named("T"), T12.named("I"), T26.named("S")]),
    of("", "SplitToSequence", 24, false, &[one("input", "T"), may("split", "I")], &[one("output_sequence", "S")], &[T24.named("T"), T12.named("I"), T91.named("S")]),
    of("", "Sqrt", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Sqrt", 6, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "Sqrt", 13, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Squeeze", 1, false, &[one("data", "T")], &[one("squeezed", "T")], &[T25.named("T")]),
    of("", "Squeeze", 11, false, &[one("data", "T")], &[one("squeezed", "T")], &[T25.named("T")]),
    of("", "Squeeze", 13, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("squeezed", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Squeeze", 21, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("squeezed", "T")], &[T28.named("T"), T6.named("tensor(int64)")]),
    of("", "Squeeze", 23, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("squeezed", "T")], &[T29.named("T"), T6.named("tensor(int64)")]),
    of("", "Squeeze", 24, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("squeezed", "T")], &[T30.named("T"), T6.named("tensor(int64)")]),
    of("", "Squeeze", 25, false, &[one("data", "T"), may("axes", "tensor(int64)")], &[one("squeezed", "T")], &[T31.named("T"), T6.named("tensor(int64)")]),
    of("", "StringConcat", 20, false, &[one("X", "T"), one("Y", "T")], &[one("Z", "T")], &[T90.named("T")]),
    of("", "StringNormalizer", 10, false, &[one("X", "tensor(string)")], &[one("Y", "tensor(string)")], &[T90.named("tensor(string)")]),
    of("", "StringSplit", 20, false, &[one("X", "T1")], &[one("Y", "T2"), one("Z", "T3")], &[T90.named("T1"), T90.named("T2"), T6.named("T3")]),
    of("", "Sub", 1, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T0.named("T")]),
    of("", "Sub", 6, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T4.named("T")]),
    of("", "Sub", 7, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T4.named("T")]),
    of("", "Sub", 13, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T5.named("T")]),
    of("", "Sub", 14, false, &[one("A", "T"), one("B", "T")], &[one("C", "T")], &[T2.named("T")]),
    of("", "Sum", 1, true, &[all("data_0", "T")], &[one("sum", "T")], &[T0.named("T")]),
    of("", "Sum", 6, true, &[all("data_0", "T")], &[one("sum", "T")], &[T0.named("T")]),
    of("", "Sum", 8, true, &[all("data_0", "T")], &[one("sum", "T")], &[T0.named("T")]),
    of("", "Sum", 13, true, &[all("data_0", "T")], &[one("sum", "T")], &[T3.named("T")]),
    of("", "SwiGLU", 28, false, &[one("A", "T"), one("B", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Swish", 24, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Tan", 7, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Tan", 22, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "Tanh", 1, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Tanh", 6, false, &[one("input", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Tanh", 13, false, &[one("input", "T")], &[one("output", "T")], &[T3.named("T")]),
    of("", "TensorScatter", 24, false, &[one("past_cache", "T"), one("update", "T"), may("write_indices", "tensor(int64)")], &[one("present_cache", "T")], &[T30.named("T"), T6.named("tensor(int64)")]),
    of("", "TfIdfVectorizer", 9, false, &[one("X", "T")], &[one("Y", "T1")], &[T92.named("T"), T23.named("T1")]),
    of("", "ThresholdedRelu", 10, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("", "ThresholdedRelu", 22, false, &[one("X", "T")], &[one("Y", "T")], &[T3.named("T")]),
    of("", "Tile", 1, false, &[one("input", "T"), one("tiles", "T"), one("axis", "T")], &[one("output", "T")], &[T0.named("T")]),
    of("", "Tile", 6, false, &[one("input", "T"), one("repeats", "T1")], &[one("output", "T")], &[T25.named("T"), T6.named("T1")]),
    of("", "Tile", 13, false, &[one("input", "T"), one("repeats", "T1")], &[one("output", "T")], &[T24.named("T"), T6.named("T1")]),
    of("", "TopK", 1, false, &[one("X", "T")], &[one("Values", "T"), one("Indices", "I")], &[T0.named("T"), T6.named("I")]),
    of("", "TopK", 10, false, &[one("X", "T"), one("K", "tensor(int64)")], &[one("Values", "T"), one("Indices", "I")], &[T0.named("T"), T6.named("I"), T6.named("tensor(int64)")]),
    of("", "TopK", 11, false, &[one("X", "T"), one("K", "tensor(int64)")], &[one("Values", "T"), one("Indices", "I")], &[T1.named("T"), T6.named("I"), T6.named("tensor(int64)")]),
    of("", "TopK", 24, false, &[one("X", "T"), one("K", "tensor(int64)")], &[one("Values", "T"), one("Indices", "I")], &[T2.named("T"), T6.named("I"), T6.named("tensor(int64)")]),
    of("", "Transpose", 1, false, &[one("data", "T")], &[one("transposed", "T")], &[T25.named("T")]),
    of("", "Transpose", 13, false, &[one("data", "T")], &[one("transposed", "T")], &[T24.named("T")]),
    of("", "Transpose", 21, false, &[one("data", "T")], &[one("transposed", "T")], &[T28.named("T")]),
    of("", "Transpose", 23, false, &[one("data", "T")], &[one("transposed", "T")], &[T29.named("T")]),
    of("", "Transpose", 24, false, &[one("data", "T")], &[one("transposed", "T")], &[T30.named("T")]),
    of("", "Transpose", 25, false, &[one("data", "T")], &[one("transposed", "T")], &[T31.named("T")]),
    of("", "Trilu", 14, false, &[one("input", "T"), may("k", "tensor(int64)")], &[one("output", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Unique", 11, false, &[one("X", "T")], &[one("Y", "T"), may("indices", "tensor(int64)"), may("inverse_indices", "tensor(int64)"), may("counts", "tensor(int64)")], &[T25.named("T"), T6.named("tensor(int64)")]),
    of("", "Unique", 28, false, &[one("X", "T")], &[one("Y", "T"), may("indices", "tensor(int64)"), may("inverse_indices", "tensor(int64)"), may("counts", "tensor(int64)")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Unsqueeze", 1, false, &[one("data", "T")], &[one("expanded", "T")], &[T25.named("T")]),
    of("", "Unsqueeze", 11, false, &[one("data", "T")], &[one("expanded", "T")], &[T25.named("T")]),
    of("", "Unsqueeze", 13, false, &[one("data", "T"), one("axes", "tensor(int64)")], &[one("expanded", "T")], &[T24.named("T"), T6.named("tensor(int64)")]),
    of("", "Unsqueeze", 21, false, &[one("data", "T"), one("axes", "tensor(int64)")], &[one("expanded", "T")], &[T28.named("T"), T6.named("tensor(int64)")]),
    of("", "Unsqueeze", 23, false, &[one("data", "T"), one("axes", "tensor(int64)")], &[one("expanded", "T")], &[T29.named("T"), T6.named("tensor(int64)")]),
    of("", "Unsqueeze", 24, false, &[one("data", "T"), one("axes", "tensor(int64)")], &[one("expanded", "T")], &[T30.named("T"), T6.named("tensor(int64)")]),
    of("", "Unsqueeze", 25, false, &[one("data", "T"), one("axes", "tensor(int64)")], &[one("expanded", "T")], &[T31.named("T"), T6.named("tensor(int64)")]),
    of("", "Upsample", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T93.named("T")]),
    of("", "Upsample", 7, false, &[one("X", "T")], &[one("Y", "T")], &[T25.named("T")]),
    of("", "Upsample", 9, false, &[one("X", "T"), one("scales", "tensor(float)")], &[one("Y", "T")], &[T25.named("T"), T23.named("tensor(float)")]),
    of("", "Upsample", 10, false, &[one("X", "T"), one("scales", "tensor(float)")], &[one("Y", "T")], &[T25.named("T"), T23.named("tensor(float)")]),
    of("", "Where", 9, false, &[one("condition", "B"), one("X", "T"), one("Y", "T")], &[one("output", "T")], &[T7.named("B"), T25.named("T")]),
    of("", "Where", 16, false, &[one("condition", "B"), one("X", "T"), one("Y", "T")], &[one("output", "T")], &[T7.named("B"), T24.named("T")]),
    of("", "Xor", 1, false, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T7.named("T"), T7.named("T1")]),
    of("", "Xor", 7, true, &[one("A", "T"), one("B", "T")], &[one("C", "T1")], &[T7.named("T"), T7.named("T1")]),
    of("ai.onnx.ml", "ArrayFeatureExtractor", 1, false, &[one("X", "T"), one("Y", "tensor(int64)")], &[one("Z", "T")], &[T94.named("T"), T6.named("tensor(int64)")]),
    of("ai.onnx.ml", "Binarizer", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T95.named("T")]),
    of("ai.onnx.ml", "CastMap", 1, false, &[one("X", "T1")], &[one("Y", "T2")], &[T96.named("T1"), T97.named("T2")]),
    of("ai.onnx.ml", "CategoryMapper", 1, false, &[one("X", "T1")], &[one("Y", "T2")], &[T98.named("T1"), T98.named("T2")]),
    of("ai.onnx.ml", "DictVectorizer", 1, false, &[one("X", "T1")], &[one("Y", "T2")], &[T99.named("T1"), T100.named("T2")]),
    of("ai.onnx.ml", "FeatureVectorizer", 1, false, &[all("X", "T1")], &[one("Y", "tensor(float)")], &[T95.named("T1"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "Imputer", 1, false, &[one("X", "T")], &[one("Y", "T")], &[T95.named("T")]),
    of("ai.onnx.ml", "LabelEncoder", 1, false, &[one("X", "T1")], &[one("Y", "T2")], &[T98.named("T1"), T98.named("T2")]),
    of("ai.onnx.ml", "LabelEncoder", 2, false, &[one("X", "T1")], &[one("Y", "T2")], &[T97.named("T1"), T97.named("T2")]),
    of("ai.onnx.ml", "LabelEncoder", 4, false, &[one("X", "T1")], &[one("Y", "T2")], &[T101.named("T1"), T101.named("T2")]),
    of("ai.onnx.ml", "LinearClassifier", 1, false, &[one("X", "T1")], &[one("Y", "T2"), one("Z", "tensor(float)")], &[T95.named("T1"), T98.named("T2"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "LinearRegressor", 1, false, &[one("X", "T")], &[one("Y", "tensor(float)")], &[T95.named("T"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "Normalizer", 1, false, &[one("X", "T")], &[one("Y", "tensor(float)")], &[T95.named("T"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "OneHotEncoder", 1, false, &[one("X", "T")], &[one("Y", "tensor(float)")], &[T94.named("T"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "SVMClassifier", 1, false, &[one("X", "T1")], &[one("Y", "T2"), one("Z", "tensor(float)")], &[T95.named("T1"), T98.named("T2"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "SVMRegressor", 1, false, &[one("X", "T")], &[one("Y", "tensor(float)")], &[T95.named("T"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "Scaler", 1, false, &[one("X", "T")], &[one("Y", "tensor(float)")], &[T95.named("T"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "TreeEnsemble", 5, false, &[one("X", "T")], &[one("Y", "T")], &[T0.named("T")]),
    of("ai.onnx.ml", "TreeEnsembleClassifier", 1, false, &[one("X", "T1")], &[one("Y", "T2"), one("Z", "tensor(float)")], &[T95.named("T1"), T98.named("T2"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "TreeEnsembleClassifier", 3, false, &[one("X", "T1")], &[one("Y", "T2"), one("Z", "tensor(float)")], &[T95.named("T1"), T98.named("T2"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "TreeEnsembleClassifier", 5, false, &[one("X", "T1")], &[one("Y", "T2"), one("Z", "tensor(float)")], &[T95.named("T1"), T98.named("T2"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "TreeEnsembleRegressor", 1, false, &[one("X", "T")], &[one("Y", "tensor(float)")], &[T95.named("T"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "TreeEnsembleRegressor", 3, false, &[one("X", "T")], &[one("Y", "tensor(float)")], &[T95.named("T"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "TreeEnsembleRegressor", 5, false, &[one("X", "T")], &[one("Y", "tensor(float)")], &[T95.named("T"), T23.named("tensor(float)")]),
    of("ai.onnx.ml", "ZipMap", 1, false, &[one("X", "tensor(float)")], &[one("Z", "T")], &[T102.named("T"), T23.named("tensor(float)")]),
    of("ai.onnx.preview", "FlexAttention", 1, false, &[one("Q", "T1"), one("K", "T1"), one("V", "T1")], &[one("Y", "T1")], &[T3.named("T1")]),
    of("ai.onnx.preview.training", "Adagrad", 1, false, &[one("R", "T1"), one("T", "T2"), mix("inputs", "T3")], &[mix("outputs", "T3")], &[T64.named("T1"), T6.named("T2"), T64.named("T3")]),
    of("ai.onnx.preview.training", "Adam", 1, false, &[one("R", "T1"), one("T", "T2"), mix("inputs", "T3")], &[mix("outputs", "T3")], &[T64.named("T1"), T6.named("T2"), T64.named("T3")]),
    of("ai.onnx.preview.training", "Gradient", 1, false, &[mix("Inputs", "T1")], &[mix("Outputs", "T2")], &[T25.named("T1"), T0.named("T2")]),
    of("ai.onnx.preview.training", "Momentum", 1, false, &[one("R", "T1"), one("T", "T2"), mix("inputs", "T3")], &[mix("outputs", "T3")], &[T64.named("T1"), T6.named("T2"), T64.named("T3")]),
];
