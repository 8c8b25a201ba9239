//! An operator's record, as used to check calls of it.

use super::CallValue;
use crate::{
    boundary::{
        record::{attr_tag, op_tag},
        wire::Fields,
    },
    ir::*,
};
use std::fmt;

/// How many arguments, results and which attributes an operator takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpSchema {
    /// Fewest and most arguments; `u16::MAX` is any number.
    pub inputs: (u16, u16),
    /// Fewest and most results.
    pub outputs: (u16, u16),
    /// The attributes.
    pub attrs: Vec<AttrFacts>,
}

/// An attribute of an operator's record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AttrFacts {
    /// Name.
    pub name: String,
    /// One of [`attr_kind`].
    pub kind: u8,
    /// Whether a call without it is invalid.
    pub is_required: bool,
    /// Default value in the text form; empty when there is none.
    pub default: String,
}

/// A way in which a call does not fit its operator's record. The number is that of the diagnostic code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum CallRule {
    /// It has too few arguments, or one that must be present is absent.
    TooFewInputs,
    /// It has too many arguments.
    TooManyInputs,
    /// It has more results than the operator.
    Outputs,
    /// An attribute that the operator does not have.
    UnknownAttr,
    /// An attribute of another kind.
    AttrKind,
    /// An attribute that must be given is not.
    MissingAttr,
    /// Two attributes have one name.
    DuplicateAttr,
    /// The type relation refuses the arguments.
    Types,
    /// The operator does not exist, in a domain that is described whole.
    UnknownOperator,
    /// A function of the module is called with arguments that it does not accept, or for results that it does not have.
    Callee,
}

impl CallRule {
    /// The code of diagnostics about it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::TooFewInputs => "M001",
            Self::TooManyInputs => "M002",
            Self::Outputs => "M003",
            Self::UnknownAttr => "M004",
            Self::AttrKind => "M005",
            Self::MissingAttr => "M006",
            Self::DuplicateAttr => "M007",
            Self::Types => "M008",
            Self::UnknownOperator => "M009",
            Self::Callee => "M010",
        }
    }
}

/// An error in a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallFault {
    /// The rule that it breaks.
    pub rule: CallRule,
    /// The error, to be printed after "`Conv`: …".
    pub message: String,
}

impl CallFault {
    pub(crate) fn new(rule: CallRule, message: impl fmt::Display) -> Self {
        Self { rule, message: message.to_string() }
    }
}

impl OpSchema {
    /// Reads the fields of a record; one that is malformed leaves the cautious value.
    pub fn read(fields: &[u8]) -> Self {
        let mut schema = Self { inputs: (0, u16::MAX), outputs: (0, u16::MAX), attrs: Vec::new() };
        let pair = |pair: u32| (pair as u16, (pair >> 16) as u16);
        for field in Fields::new(fields).map_while(Result::ok) {
            match field.tag {
                op_tag::INPUTS => schema.inputs = field.u32().map_or(schema.inputs, pair),
                op_tag::OUTPUTS => schema.outputs = field.u32().map_or(schema.outputs, pair),
                op_tag::ATTR => schema.attrs.push(AttrFacts::read(field.bytes)),
                _ => {}
            }
        }
        schema
    }

    /// The attribute of a name.
    pub fn attr(&self, name: &str) -> Option<&AttrFacts> {
        self.attrs.iter().find(|attr| attr.name == name)
    }

    /// Checks a call with that many results (`None` is one that is not a tuple) against the record.
    ///
    /// # Errors
    /// Returns the first mismatch.
    pub fn check(&self, call: &CallValue<'_>, n_results: Option<usize>) -> Result<(), CallFault> {
        let (fewest, most) = (usize::from(self.inputs.0), usize::from(self.inputs.1));
        let n_args = call.args.len();
        if n_args < fewest {
            return Err(CallFault::new(
                CallRule::TooFewInputs,
                format_args!("it has {n_args} inputs and needs at least {fewest}"),
            ));
        }
        if self.inputs.1 != u16::MAX && n_args > most {
            return Err(CallFault::new(
                CallRule::TooManyInputs,
                format_args!("it has {n_args} inputs and takes at most {most}"),
            ));
        }
        let n_results = n_results.unwrap_or(1);
        if self.outputs.1 != u16::MAX && n_results > usize::from(self.outputs.1) {
            return Err(CallFault::new(
                CallRule::Outputs,
                format_args!("it has {n_results} results where the operator gives at most {}", self.outputs.1),
            ));
        }
        self.check_attrs(call)
    }

    fn check_attrs(&self, call: &CallValue<'_>) -> Result<(), CallFault> {
        let f = call.attrs_of;
        let given = || call.attrs.iter().filter(|rec| rec.flags & attr_flag::META == 0);
        let mut n_required = 0;
        for (at, rec) in given().enumerate() {
            let name = f.str(rec.name);
            if given().take(at).any(|other| f.bytes(other.name) == name.as_bytes()) {
                let message = format_args!("attribute `{name}` is given twice");
                return Err(CallFault::new(CallRule::DuplicateAttr, message));
            }
            let Some(attr) = self.attr(name) else {
                let known: Vec<&str> = self.attrs.iter().map(|attr| attr.name.as_str()).collect();
                let help = match crate::pass::nearest(name, known.iter().copied()) {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None if known.is_empty() => "it has none".to_owned(),
                    None => format!("it has {}", known.join(", ")),
                };
                let message = format_args!("it has no attribute `{name}`: {help}");
                return Err(CallFault::new(CallRule::UnknownAttr, message));
            };
            n_required += usize::from(attr.is_required);
            let kind = if rec.kind == attr_kind::REF { rec.b as u8 } else { rec.kind };
            // A value that only the reader of a file understands may be of any kind.
            if kind != attr.kind && kind != attr_kind::RAW && attr.kind != 0 {
                let message = format_args!(
                    "attribute `{name}` is of kind `{}` where `{}` is wanted",
                    attr_kind::name(kind),
                    attr_kind::name(attr.kind)
                );
                return Err(CallFault::new(CallRule::AttrKind, message));
            }
        }
        if n_required < self.attrs.iter().filter(|attr| attr.is_required).count() {
            let is_given = |attr: &AttrFacts| given().any(|rec| f.bytes(rec.name) == attr.name.as_bytes());
            let missing = self.attrs.iter().find(|attr| attr.is_required && !is_given(attr));
            let missing = missing.map_or("?", |attr| attr.name.as_str());
            let message = format_args!("attribute `{missing}` must be given");
            return Err(CallFault::new(CallRule::MissingAttr, message));
        }
        Ok(())
    }
}

impl AttrFacts {
    fn read(fields: &[u8]) -> Self {
        let mut attr = Self::default();
        for field in Fields::new(fields).map_while(Result::ok) {
            let text = |old: String| field.text().map_or(old, str::to_owned);
            match field.tag {
                attr_tag::NAME => attr.name = text(attr.name),
                attr_tag::KIND => attr.kind = field.u8().unwrap_or(0),
                attr_tag::REQUIRED => attr.is_required = field.u8().is_ok_and(|required| required != 0),
                attr_tag::DEFAULT => attr.default = text(attr.default),
                _ => {}
            }
        }
        attr
    }
}
