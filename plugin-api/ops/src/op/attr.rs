//! An attribute of an operator's record.

use super::tags::attr_tag;
use relais_ir::{wire::Fields, *};

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

impl AttrFacts {
    /// Returns the default value of a string attribute; `None` if there is none.
    pub fn default_str(&self) -> Option<&str> {
        if self.kind == attr_kind::STRING { unquoted(self.default.trim()) } else { None }
    }

    /// Returns the default value; `None` when there is none, or it is of another kind than these.
    pub fn default_value(&self) -> Option<AttrDefault> {
        fn list<T>(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
            let items = text.strip_prefix('[')?.strip_suffix(']')?.trim();
            if items.is_empty() {
                return Some(Vec::new());
            }
            items.split(',').map(|text| item(text.trim())).collect()
        }
        let text = self.default.trim();
        let string = |text: &str| unquoted(text).map(str::to_owned);
        match self.kind {
            _ if text.is_empty() => None,
            attr_kind::FLOAT => text.parse().ok().map(AttrDefault::Float),
            attr_kind::INT => text.parse().ok().map(AttrDefault::Int),
            attr_kind::STRING => self.default_str().map(|text| AttrDefault::String(text.to_owned())),
            attr_kind::FLOATS => list(text, |item| item.parse().ok()).map(AttrDefault::Floats),
            attr_kind::INTS => list(text, |item| item.parse().ok()).map(AttrDefault::Ints),
            attr_kind::STRINGS => list(text, string).map(AttrDefault::Strings),
            _ => None,
        }
    }

    /// Whether attributes have the default value, given or not.
    pub fn is_default(&self, attrs: Attrs<'_>) -> bool {
        match self.default_value() {
            Some(AttrDefault::Int(value)) => attrs.int(&self.name) == Some(value),
            Some(AttrDefault::Float(value)) => attrs.float(&self.name) == Some(value),
            Some(AttrDefault::String(value)) => attrs.str(&self.name) == Some(value.as_str()),
            Some(AttrDefault::Ints(values)) => attrs.ints(&self.name) == Some(values),
            Some(AttrDefault::Floats(values)) => attrs.floats(&self.name) == Some(values),
            _ => false,
        }
    }

    pub(super) fn read(fields: &[u8]) -> Self {
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

/// The contents of a string in the text form, which has no escapes.
fn unquoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}
