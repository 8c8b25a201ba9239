//! Options of passes and of contexts: their schemas, which are stored in records, and their values.

mod bytes;
mod declared;
mod value;

pub use bytes::{BytesError, format_bytes, parse_bytes};
pub use value::Value;

use relais_ir::{
    diagnostics::{PassError, error_kind},
    wire::{Fields, Malformed, Writer, is_equal, push_field},
};
use relais_ops::pattern::RuleFile;
use std::{fmt, path::PathBuf};
use value::value_tag;

/// The tags of a schema in a record.
pub mod tag {
    /// The option's name.
    pub const NAME: u16 = 1;
    /// Its documentation.
    pub const DOC: u16 = 2;
    /// Its kind: fields of [`kind_tag`](super::kind_tag).
    pub const KIND: u16 = 3;
    /// Its default: one value.
    pub const DEFAULT: u16 = 4;
    /// 1 when it may be left out although it has no default.
    pub const OPTIONAL: u16 = 5;
}

/// The tags of an option's kind in a record.
pub mod kind_tag {
    /// One of [`kind_number`](super::kind_number).
    pub const NUMBER: u16 = 1;
    /// The least value.
    pub const MIN: u16 = 2;
    /// The greatest value.
    pub const MAX: u16 = 3;
    /// A choice: fields `NAME` and `DOC` of [`tag`](super::tag).
    pub const CHOICE: u16 = 4;
    /// The kind of a list's items.
    pub const ITEM: u16 = 5;
    /// An option of a struct.
    pub const FIELD: u16 = 6;
    /// The unit of an integer: one of [`unit_number`](super::unit_number).
    pub const UNIT: u16 = 7;
}

/// The kinds of option. Append-only.
pub mod kind_number {
    /// `true` or `false`.
    pub const BOOL: u8 = 1;
    /// A 64-bit integer.
    pub const INT: u8 = 2;
    /// A 64-bit float.
    pub const FLOAT: u8 = 3;
    /// Text.
    pub const STR: u8 = 4;
    /// One of some names.
    pub const CHOICE: u8 = 5;
    /// A list.
    pub const LIST: u8 = 6;
    /// A table of options.
    pub const STRUCT: u8 = 7;
    /// The path of a file or a folder, as text.
    pub const PATH: u8 = 8;
}

/// The units of integers. Append-only; a reader that does not know one takes the integer without it.
pub mod unit_number {
    /// Bytes.
    pub const BYTES: u8 = 1;
}

/// How deep schemas and values may be nested.
pub const MAX_DEPTH: usize = 8;

/// An option, as its author describes it. `#[derive(PassOptions)]` makes these.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Name.
    pub name: &'static str,
    /// Documentation.
    pub doc: &'static str,
    /// The values that it accepts.
    pub kind: OptionKind,
    /// The default; an option without one is mandatory, except a struct, whose options have their own.
    pub default: Option<DefaultSpec>,
    /// Whether it may be left out although it has no default.
    pub is_optional: bool,
}

/// An option of the context, as its author describes it. `config_option!` makes these.
#[derive(Clone, Copy, Debug)]
pub struct ConfigSpec {
    /// The option, its name being the key.
    pub option: OptionSpec,
    /// Other keys that set it, such as those of other systems.
    pub aliases: &'static [&'static str],
}

/// The values that an option accepts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum OptionKind {
    /// `true` or `false`.
    Bool,
    /// An integer from `min` to `max`.
    Int {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A number of bytes from `min` to `max`; never negative.
    Bytes {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A number from `min` to `max`; never a NaN.
    Float {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// Text.
    Str,
    /// The path of a file or a folder.
    Path,
    /// One of some names.
    Choice(&'static [ChoiceSpec]),
    /// A list.
    List(&'static OptionKind),
    /// A table of options.
    Struct(&'static [OptionSpec]),
}

/// A name that an option takes.
#[derive(Clone, Copy, Debug)]
pub struct ChoiceSpec {
    /// Name.
    pub name: &'static str,
    /// Documentation.
    pub doc: &'static str,
}

/// A default value.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum DefaultSpec {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text, a path, or the name of a choice.
    Str(&'static str),
    /// A list.
    List(&'static [DefaultSpec]),
}

/// Checks a value in ways that its kind does not describe.
pub type Check<T> = fn(&T) -> Result<(), PassError>;

/// A Rust type that an option can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that an option can have",
    note = "`bool`, integers, floats, `String`, `PathBuf`, `Vec<_>`, `Option<_>`, and structs and enums that derive \
            `PassOptions` are"
)]
pub trait OptionType: Sized {
    /// The values that the option accepts.
    const KIND: OptionKind;

    /// Makes the value of an option that is not given and has no default; none if the option must be given.
    const ABSENT: Option<fn() -> Self> = None;

    /// Checks a value in ways that its kind does not describe; none if every value of the kind is accepted.
    const CHECK: Option<Check<Self>> = None;

    /// Whether it is a list with items that may be absent, which no option has.
    #[doc(hidden)]
    const HAS_OPTIONAL_ITEMS: bool = false;

    /// The value, when it is of this type.
    fn from_value(value: &Value) -> Option<Self>;
}

/// The value of an option of the context as a type of the plugin.
pub(crate) fn of_type<T: OptionType>(key: &str, value: &Value) -> Result<T, PassError> {
    T::from_value(value).ok_or_else(|| {
        let (found, wanted) = (value.type_name(), std::any::type_name::<T>());
        PassError::new(format_args!("option `{key}` of the context is {found}, and is read as `{wanted}`"))
    })
}

/// A struct whose fields are options.
#[diagnostic::on_unimplemented(
    message = "`{Self}` holds no options",
    note = "put `#[derive(PassOptions)]` before the struct"
)]
pub trait PassOptions: OptionType + Send + Sync + 'static {
    /// Its options.
    const FIELDS: &'static [OptionSpec];
}

impl OptionKind {
    /// Whether a default is within the kind.
    const fn takes(self, default: DefaultSpec) -> bool {
        match (self, default) {
            (Self::Bool, DefaultSpec::Bool(_)) | (Self::Str, DefaultSpec::Str(_)) => true,
            (Self::Path, DefaultSpec::Str(value)) => !value.is_empty(),
            (Self::Int { min, max } | Self::Bytes { min, max }, DefaultSpec::Int(value)) => {
                min <= value && value <= max
            }
            (Self::Float { min, max }, DefaultSpec::Float(value)) => min <= value && value <= max,
            (Self::Choice(choices), DefaultSpec::Str(value)) => {
                let mut i = 0;
                while i < choices.len() {
                    if is_equal(choices[i].name, value) {
                        return true;
                    }
                    i += 1;
                }
                false
            }
            (Self::List(item), DefaultSpec::List(values)) => {
                let mut i = 0;
                while i < values.len() {
                    if !item.takes(values[i]) {
                        return false;
                    }
                    i += 1;
                }
                true
            }
            _ => false,
        }
    }

    const fn write(self, w: &mut Writer<'_>, depth: usize) {
        assert!(depth < MAX_DEPTH, "options are nested at most 8 deep");
        let number = match self {
            Self::Bool => kind_number::BOOL,
            // A reader that does not know the unit takes the integer.
            Self::Int { .. } | Self::Bytes { .. } => kind_number::INT,
            Self::Float { .. } => kind_number::FLOAT,
            Self::Str => kind_number::STR,
            Self::Path => kind_number::PATH,
            Self::Choice(_) => kind_number::CHOICE,
            Self::List(_) => kind_number::LIST,
            Self::Struct(_) => kind_number::STRUCT,
        };
        w.field(kind_tag::NUMBER, &[number]);
        match self {
            Self::Int { min, max } => {
                assert!(min <= max, "a `range` has at least one value");
                w.field(kind_tag::MIN, &min.to_le_bytes());
                w.field(kind_tag::MAX, &max.to_le_bytes());
            }
            Self::Bytes { min, max } => {
                assert!(min <= max, "a `range` has at least one value");
                assert!(min >= 0, "a number of bytes is not negative");
                w.field(kind_tag::MIN, &min.to_le_bytes());
                w.field(kind_tag::MAX, &max.to_le_bytes());
                w.field(kind_tag::UNIT, &[unit_number::BYTES]);
            }
            Self::Float { min, max } => {
                assert!(min <= max, "a `range` has at least one value");
                w.field(kind_tag::MIN, &min.to_le_bytes());
                w.field(kind_tag::MAX, &max.to_le_bytes());
            }
            Self::Choice(choices) => {
                let mut i = 0;
                while i < choices.len() {
                    let start = w.begin(kind_tag::CHOICE);
                    w.text(tag::NAME, choices[i].name);
                    w.text(tag::DOC, choices[i].doc);
                    w.end(start);
                    i += 1;
                }
            }
            Self::List(item) => {
                let start = w.begin(kind_tag::ITEM);
                item.write(w, depth + 1);
                w.end(start);
            }
            Self::Struct(fields) => write_options(w, kind_tag::FIELD, fields, depth + 1),
            Self::Bool | Self::Str | Self::Path => {}
        }
    }
}

/// Writes options as fields of that tag, each once by name.
pub(crate) const fn write_options(w: &mut Writer<'_>, field_tag: u16, options: &[OptionSpec], depth: usize) {
    let mut i = 0;
    while i < options.len() {
        let mut j = 0;
        while j < i {
            assert!(!is_equal(options[i].name, options[j].name), "two options have one name");
            j += 1;
        }
        let start = w.begin(field_tag);
        options[i].write(w, depth);
        w.end(start);
        i += 1;
    }
}

impl OptionSpec {
    const fn write(&self, w: &mut Writer<'_>, depth: usize) {
        w.text(tag::NAME, self.name);
        w.text(tag::DOC, self.doc);
        let start = w.begin(tag::KIND);
        self.kind.write(w, depth);
        w.end(start);
        if self.is_optional {
            assert!(self.default.is_none(), "an option of type `Option` has no `default`: it is `None` unless given");
            w.field(tag::OPTIONAL, &[1]);
        }
        if let Some(default) = self.default {
            assert!(self.kind.takes(default), "the `default` of an option is within its type, range and choices");
            let start = w.begin(tag::DEFAULT);
            default.write(w);
            w.end(start);
        }
    }
}

impl DefaultSpec {
    pub(crate) const fn write(self, w: &mut Writer<'_>) {
        match self {
            Self::Bool(value) => w.field(value_tag::BOOL, &[value as u8]),
            Self::Int(value) => w.field(value_tag::INT, &value.to_le_bytes()),
            Self::Float(value) => w.field(value_tag::FLOAT, &value.to_le_bytes()),
            Self::Str(value) => w.text(value_tag::STR, value),
            Self::List(values) => {
                let start = w.begin(value_tag::LIST);
                let mut i = 0;
                while i < values.len() {
                    values[i].write(w);
                    i += 1;
                }
                w.end(start);
            }
        }
    }

    /// The default as a value.
    pub fn to_value(self) -> Value {
        match self {
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Int(value),
            Self::Float(value) => Value::Float(value),
            Self::Str(value) => Value::Str(value.to_owned()),
            Self::List(values) => Value::List(values.iter().map(|value| value.to_value()).collect()),
        }
    }
}

impl OptionType for RuleFile {
    const KIND: OptionKind = OptionKind::Path;
    const CHECK: Option<Check<Self>> = Some(|file| file.text().map(drop));

    fn from_value(value: &Value) -> Option<Self> {
        PathBuf::from_value(value).map(Self::new)
    }
}

/// The field of a struct of options: the value in the table, otherwise the default. The derive calls this.
#[doc(hidden)]
pub fn field<T: OptionType>(table: &Value, spec: &OptionSpec) -> Option<T> {
    if let Some(value) = table.get(spec.name) {
        return T::from_value(value);
    }
    match (spec.default, T::ABSENT, spec.kind) {
        (Some(default), ..) => T::from_value(&default.to_value()),
        (None, Some(absent), _) => Some(absent()),
        (None, None, OptionKind::Struct(_)) => T::from_value(&Value::Struct(Vec::new())),
        (None, None, _) => None,
    }
}

/// Checks a value in ways that its kind does not describe.
///
/// # Errors
/// Returns the error of the check that refuses it.
pub fn check<T: OptionType>(value: &T) -> Result<(), PassError> {
    T::CHECK.map_or(Ok(()), |check| check(value))
}

/// Calls the author's check of a struct of options. The derive calls this.
#[doc(hidden)]
pub fn check_with<T, E: Into<PassError>>(check: fn(&T) -> Result<(), E>, options: &T) -> Result<(), PassError> {
    check(options).map_err(|error| {
        let mut rec = error.into().rec().clone();
        rec.kind = error_kind::OPTIONS;
        PassError::from_rec(rec)
    })
}

impl OptionType for bool {
    const KIND: OptionKind = OptionKind::Bool;

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

macro_rules! int_options {
    ($($ty:ty),*) => {$(
        impl OptionType for $ty {
            const KIND: OptionKind = OptionKind::Int {
                min: if (<$ty>::MIN as i128) < i64::MIN as i128 { i64::MIN } else { <$ty>::MIN as i64 },
                max: if (<$ty>::MAX as i128) > i64::MAX as i128 { i64::MAX } else { <$ty>::MAX as i64 },
            };

            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::Int(value) => (*value).try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

int_options!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl OptionType for f64 {
    const KIND: OptionKind = OptionKind::Float { min: Self::NEG_INFINITY, max: Self::INFINITY };

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }
}

impl OptionType for f32 {
    const KIND: OptionKind = <f64 as OptionType>::KIND;

    fn from_value(value: &Value) -> Option<Self> {
        f64::from_value(value).map(|value| value as Self)
    }
}

impl OptionType for String {
    const KIND: OptionKind = OptionKind::Str;

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Str(value) => Some(value.clone()),
            _ => None,
        }
    }
}

impl OptionType for PathBuf {
    const KIND: OptionKind = OptionKind::Path;

    fn from_value(value: &Value) -> Option<Self> {
        String::from_value(value).map(Self::from)
    }
}

/// An option that may be left out.
impl<T: OptionType> OptionType for Option<T> {
    const KIND: OptionKind = T::KIND;
    const ABSENT: Option<fn() -> Self> = Some(|| None);
    const HAS_OPTIONAL_ITEMS: bool = T::HAS_OPTIONAL_ITEMS;
    const CHECK: Option<Check<Self>> = match T::CHECK {
        Some(_) => Some(|value| value.iter().try_for_each(check)),
        None => None,
    };

    fn from_value(value: &Value) -> Option<Self> {
        T::from_value(value).map(Some)
    }
}

impl<T: OptionType> OptionType for Vec<T> {
    const KIND: OptionKind = OptionKind::List(&T::KIND);
    const HAS_OPTIONAL_ITEMS: bool = T::ABSENT.is_some() || T::HAS_OPTIONAL_ITEMS;
    const CHECK: Option<Check<Self>> = match T::CHECK {
        Some(_) => Some(|values| values.iter().try_for_each(check)),
        None => None,
    };

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::List(values) => values.iter().map(T::from_value).collect(),
            _ => None,
        }
    }
}

impl OptionType for () {
    const KIND: OptionKind = OptionKind::Struct(&[]);

    fn from_value(_: &Value) -> Option<Self> {
        Some(())
    }
}

impl PassOptions for () {
    const FIELDS: &'static [OptionSpec] = &[];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Value {
        Value::Struct(vec![
            ("on".into(), Value::Bool(true)),
            ("list".into(), Value::List(vec![Value::Int(-1), Value::Float(0.5)])),
            ("inner".into(), Value::Struct(vec![("text".into(), Value::Str("a\"b".into()))])),
        ])
    }

    #[test]
    fn values_survive_their_encoding() {
        assert_eq!(Value::decode(&sample().encode()), Ok(sample()));
    }

    #[test]
    fn cut_encodings_are_errors() {
        let bytes = sample().encode();
        for len in 0..bytes.len() {
            assert!(Value::decode(&bytes[..len]).is_err());
        }
    }

    #[test]
    fn endless_nesting_is_an_error() {
        let mut bytes = Vec::new();
        for _ in 0..10_000 {
            let inner = std::mem::take(&mut bytes);
            push_field(&mut bytes, value_tag::LIST, &inner);
        }
        assert_eq!(Value::decode(&bytes), Err(Malformed::Depth));
    }

    #[test]
    fn values_print_as_toml() {
        assert_eq!(sample().to_string(), r#"{ on = true, list = [-1, 0.5], inner = { text = "a\"b" } }"#);
    }

    #[test]
    fn types_do_not_convert_silently() {
        assert_eq!(i64::from_value(&Value::Bool(true)), None);
        assert_eq!(f64::from_value(&Value::Int(1)), None);
        assert_eq!(u8::from_value(&Value::Int(300)), None);
        assert_eq!(u8::from_value(&Value::Int(200)), Some(200));
    }
}
