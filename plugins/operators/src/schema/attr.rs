//! Attribute schemas in few words.

use relais_plugin_api::op::{AttrSchema, Required};

pub use relais_plugin_api::ir::attr_kind::*;

/// Any number of arguments or results.
pub const ANY: u16 = u16::MAX;

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
