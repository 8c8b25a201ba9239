//! The rules of a function in the form that is searched by: patterns, conditions and right sides.

use super::{Placed, found::Slot, matched::Asked};
use crate::op::OpSchema;
use relais_ir::{AttrData, Dim, ElemType};
use relais_patterns::{Comparison, Condition, Literal, NewValue, Number, Operation, Setting};
use smallvec::SmallVec;
use std::sync::Arc;

/// The pattern of an argument.
pub(super) enum Pat {
    Any,
    Absent,
    Var(Slot),
    Optional(Slot),
    Rest(Slot),
    Const(Slot, bool),
    Number(Number, Option<f64>),
    List(Vec<Number>),
    Call(CallPat),
    Either(Vec<CallPat>),
}

/// The pattern of a call.
pub(super) struct CallPat {
    /// The operator's index among those of all left sides.
    pub symbol: usize,
    pub versions: Option<(i64, Option<i64>)>,
    pub attrs: Vec<(String, Wanted)>,
    pub any_attrs: bool,
    pub args: Vec<Pat>,
    pub result: u16,
    pub bind: Option<Slot>,
    pub is_shared: bool,
}

impl CallPat {
    /// The place of a variable's value as positions of arguments, from this call on: its own result, an argument, the
    /// result of a call that is an argument, or an argument of that.
    pub fn place_of(&self, slot: Slot) -> Option<SmallVec<[usize; 2]>> {
        let is_value = |pat: &Pat| matches!(pat, Pat::Var(it) | Pat::Const(it, _) if *it == slot);
        if self.bind == Some(slot) {
            return Some(SmallVec::new());
        }
        self.args.iter().enumerate().find_map(|(at, arg)| match arg {
            Pat::Call(inner) if inner.bind == Some(slot) => Some(SmallVec::from_slice(&[at])),
            Pat::Call(inner) => inner.args.iter().position(is_value).map(|within| SmallVec::from_slice(&[at, within])),
            arg => is_value(arg).then(|| SmallVec::from_slice(&[at])),
        })
    }

    /// Whether it binds a variable outside alternatives.
    pub fn has(&self, slot: Slot) -> bool {
        self.bind == Some(slot)
            || self.args.iter().any(|arg| match arg {
                Pat::Var(it) => *it == slot,
                Pat::Call(call) => call.has(slot),
                _ => false,
            })
    }

    /// Returns the nearest variable outside alternatives that `is_known`, with the number of calls between its value and
    /// the result of this one.
    pub fn nearest(&self, is_known: &dyn Fn(Slot) -> bool) -> Option<(Slot, usize)> {
        let mut calls = vec![self];
        for depth in 1.. {
            let mut inner = Vec::new();
            for arg in calls.iter().flat_map(|call| &call.args) {
                match arg {
                    Pat::Var(slot) if is_known(*slot) => return Some((*slot, depth)),
                    Pat::Call(call) => match call.bind {
                        Some(slot) if is_known(slot) => return Some((slot, depth)),
                        _ => inner.push(call),
                    },
                    _ => {}
                }
            }
            if inner.is_empty() {
                break;
            }
            calls = inner;
        }
        None
    }
}

/// The value that an attribute must have.
pub(super) enum Wanted {
    Literal(Literal),
    Bind(Slot),
    Any,
}

/// A rule that applies in a function.
pub(super) struct Compiled<'r> {
    /// Its index among those that apply.
    pub index: usize,
    /// The name, or the place in the list.
    pub name: String,
    /// Whether it is for loop programs.
    pub is_prim: bool,
    /// The names of variables.
    pub slots: Vec<&'r str>,
    /// The patterns of outermost calls: alternatives of one, or, if there are plans, one of each.
    pub roots: Vec<CallPat>,
    /// By outermost call, the first one in the program: how the others are found.
    pub plans: Vec<Vec<Step>>,
    /// The number of calls in the pattern.
    pub size: usize,
    pub conditions: Vec<(Test, &'r Condition)>,
    pub results: Vec<Made<'r>>,
}

impl Compiled<'_> {
    /// Whether what it does with a call depends on nothing but the values that the call is computed from, and on whether
    /// the calls among these have other users.
    pub fn is_local(&self) -> bool {
        self.plans.is_empty()
            && self.conditions.iter().all(|(test, _)| test.is_local())
            && self.results.iter().all(Made::is_local)
    }
}

/// How an outermost call is found from those that were matched before.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// The outermost call.
    pub root: usize,
    /// A variable of it that is bound.
    pub from: Slot,
    /// The number of calls from the variable's value to the result.
    pub depth: usize,
}

/// A value of the right side.
pub(super) enum Made<'r> {
    Var(Slot),
    Rest(Slot),
    Absent,
    Numbers {
        values: Vec<Calc>,
        shown: &'r NewValue,
    },
    Call {
        symbol: usize,
        attrs: Vec<Set<'r>>,
        args: Vec<Made<'r>>,
    },
    Like {
        call: Slot,
        attrs: Vec<Set<'r>>,
        args: Vec<Made<'r>>,
    },
    /// A call of constants, computed.
    Eval {
        call: Box<Made<'r>>,
        shown: &'r NewValue,
    },
}

impl Made<'_> {
    fn is_local(&self) -> bool {
        match self {
            Self::Var(_) | Self::Rest(_) | Self::Absent => true,
            Self::Numbers { values, .. } => values.iter().all(Calc::is_local),
            Self::Call { attrs, args, .. } | Self::Like { attrs, args, .. } => {
                attrs.iter().all(|set| set.value.is_local()) && args.iter().all(Self::is_local)
            }
            // Its size is compared with that of constants which nothing else uses.
            Self::Eval { .. } => false,
        }
    }
}

/// An attribute of the right side.
pub(super) struct Set<'r> {
    pub value: Calc,
    pub setting: &'r Setting,
}

/// An operator that rules name.
pub(super) struct Symbol {
    pub domain: String,
    pub name: String,
    /// The hash of both.
    pub hash: u64,
    /// Its record in the imported version.
    pub schema: Option<Arc<OpSchema>>,
}

/// The rules of a function.
#[derive(Default)]
pub(super) struct Program<'r> {
    pub rules: Vec<Compiled<'r>>,
    /// The operators of both sides.
    pub symbols: Vec<Symbol>,
    /// Why rules do not apply in this function.
    pub skipped: Vec<String>,
    /// The faults of rules.
    pub faults: Vec<Placed>,
}

/// A condition, with its variables found.
pub(super) enum Test {
    /// The most frequent conditions: the rank is a number, the element type is one of several.
    Rank(Slot, usize),
    Elem(Slot, Vec<ElemType>),
    Compare(Calc, Comparison, Calc),
    In(Calc, Vec<Calc>),
    Broadcasts(Slot, Slot),
    Finite(Slot),
    Function(Asked, Vec<Slot>),
    /// Of another version of the language.
    Unknown,
}

/// A computation, with its variables found.
pub(super) enum Calc {
    Is(Val),
    Var(Slot),
    Rank(Slot),
    Elem(Slot),
    Shape(Slot),
    Users(Slot),
    Dim(Slot, Box<Calc>),
    List(Vec<Calc>),
    Neg(Box<Calc>),
    Binary(Operation, Box<(Calc, Calc)>),
    /// Of another version of the language.
    Unknown,
}

/// The value of a computation.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Val {
    Number(Number),
    String(Vec<u8>),
    Elem(ElemType),
    /// A size that is not a known number.
    Size(Dim),
    Shape(Vec<Dim>),
    List(Vec<Val>),
    /// The elements of a constant that has several.
    Elements(Vec<Number>),
    /// An attribute of another kind.
    Data(Box<AttrData>),
}

impl Test {
    /// Whether the condition is about the values of a match alone, and not about their users.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Rank(..) | Self::Elem(..) | Self::Broadcasts(..) | Self::Finite(_) => true,
            Self::Compare(left, _, right) => left.is_local() && right.is_local(),
            Self::In(left, options) => left.is_local() && options.iter().all(Calc::is_local),
            Self::Function(..) | Self::Unknown => false,
        }
    }
}

impl Calc {
    /// Whether it is about the values of a match alone, and not about their users.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Is(_) | Self::Var(_) | Self::Rank(_) | Self::Elem(_) | Self::Shape(_) => true,
            Self::Dim(_, inner) | Self::Neg(inner) => inner.is_local(),
            Self::List(items) => items.iter().all(Self::is_local),
            Self::Binary(_, sides) => sides.0.is_local() && sides.1.is_local(),
            Self::Users(_) | Self::Unknown => false,
        }
    }

    /// Whether the rule states the value, rather than computing it.
    pub fn is_stated(&self) -> bool {
        match self {
            Self::Is(_) => true,
            Self::Neg(inner) => inner.is_stated(),
            _ => false,
        }
    }
}
