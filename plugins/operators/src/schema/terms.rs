//! The words of `onnx.rs`.

pub use relais_plugin_api::ir::attr_kind::*;
use relais_plugin_api::op::{AttrSchema, Formal, Operator, Required};

/// Any number of arguments or results.
pub const ANY: u16 = u16::MAX;

/// A version of an operator.
pub const fn op(domain: &'static str, name: &'static str, since_version: u32) -> Operator {
    Operator::new(domain, name, since_version)
}

/// An attribute that must be given.
pub const fn required(kind: u8, name: &'static str) -> AttrSchema {
    AttrSchema { name, kind, required: Required::Yes, default: "" }
}

/// An attribute that may be omitted.
pub const fn optional(kind: u8, name: &'static str) -> AttrSchema {
    AttrSchema { name, kind, required: Required::No, default: "" }
}

/// An attribute that has a default value, as text.
pub const fn default(kind: u8, name: &'static str, default: &'static str) -> AttrSchema {
    AttrSchema { name, kind, required: Required::No, default }
}

/// An argument or result that is always there.
pub const fn one(name: &'static str, var: &'static str) -> Formal {
    Formal::single(name, var)
}

/// One that may be absent.
pub const fn may(name: &'static str, var: &'static str) -> Formal {
    Formal::optional(name, var)
}

/// All that follow, of one type.
pub const fn all(name: &'static str, var: &'static str) -> Formal {
    Formal::variadic(name, var)
}

/// All that follow, each of a type of its own.
pub const fn mix(name: &'static str, var: &'static str) -> Formal {
    Formal::mixed(name, var)
}
