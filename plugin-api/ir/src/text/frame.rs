//! The state of the parser about functions and bindings that it has begun.

use super::number::{Scalar, is_float};
use crate::*;
use std::{borrow::Cow, ops::Range};

/// A value's name or number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Symbol<'s> {
    Name(Cow<'s, [u8]>),
    Number(u32),
}

impl Symbol<'_> {
    pub fn shown(&self) -> String {
        match self {
            Self::Name(name) => format!("%{}", String::from_utf8_lossy(name)),
            Self::Number(number) => format!("%{number}"),
        }
    }
}

/// A number before its type is known.
pub(super) struct Literal<'s> {
    pub scalar: Scalar<'s>,
    /// The element type of its suffix.
    pub suffix: Option<ElemType>,
    pub span: Range<usize>,
}

impl Literal<'_> {
    /// The element type if nothing else gives it one.
    pub fn own_elem(&self) -> ElemType {
        let natural = match self.scalar {
            Scalar::Number(text) if !is_float(text) => ElemType::INT64,
            Scalar::Word("true" | "false") => ElemType::BOOL,
            _ => ElemType::FLOAT,
        };
        self.suffix.unwrap_or(natural)
    }
}

/// Whether a function has a list of parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Params {
    Required,
    /// The branch of an `If`.
    Optional,
}

/// A function up to its block.
pub(super) struct Header<'s> {
    pub function: NodeId,
    pub params: Vec<(Symbol<'s>, NodeId, Range<usize>)>,
}

/// A function whose block is being parsed.
pub(super) struct Frame<'s> {
    pub function: NodeId,
    pub bindings: Vec<NodeId>,
    /// The number of names that were visible outside.
    pub n_defined: usize,
    /// In loop programs, the types of the results, as far as they are known: for literals.
    pub expected: Vec<TypeId>,
    pub then: Then<'s>,
}

/// The continuation after a function ends.
pub(super) enum Then<'s> {
    /// Nothing: it is the global function.
    Root,
    /// Its binding.
    Bound(Statement<'s>),
    /// The call it belongs to.
    Region(Statement<'s>),
    /// The call it belongs to, in a list of functions.
    ListItem(Statement<'s>),
    /// The first branch of an `If`.
    Branch(Statement<'s>),
    /// The second branch of an `If`.
    OtherBranch(Statement<'s>),
    /// The last function of a `for`, `while` or `when` of a loop program.
    Control(Statement<'s>),
    /// The condition of a `while`; its parameters are those of the body, too.
    While(Statement<'s>, Vec<Param<'s>>),
    /// The first branch of a `when`.
    When(Statement<'s>),
}

/// A binding, as far as it is parsed.
pub(super) struct Statement<'s> {
    pub start: usize,
    pub let_form: LetForm,
    pub target: Target<'s>,
    pub ty: Option<TypeId>,
    pub expr: Expression,
    /// Callee and arguments, fields, or the condition.
    pub operands: Vec<NodeId>,
    pub regions: Vec<NodeId>,
    pub attrs: Vec<AttrRec>,
    /// Literals of a loop program, by their place among the operands.
    pub literals: Vec<(usize, Literal<'s>)>,
    /// The number of values that a `for` or `while` of a loop program carries.
    pub n_carried: Option<usize>,
}

/// A parameter: its name, the node and its place.
pub(super) type Param<'s> = (Symbol<'s>, NodeId, Range<usize>);

/// The target that a binding names.
pub(super) enum Target<'s> {
    /// Nothing: the block's result, or a call for its effect.
    None,
    /// The value.
    One(Symbol<'s>, Range<usize>),
    /// Its results.
    Each(Vec<TargetField<'s>>),
}

/// A result of a call in `(%a, _) = …`.
pub(super) struct TargetField<'s> {
    /// `None` is an absent result.
    pub symbol: Option<(Symbol<'s>, Range<usize>)>,
    pub ty: Option<TypeId>,
}

pub(super) enum Expression {
    Constant(Tensor),
    Tuple,
    Item(u16),
    Call,
    If,
    Function(NodeId),
    Raw { kind: u8, aux: u16, flags: u8 },
}
