//! Schemas of options as stored in records, and checking values against them.

use crate::words::{list, nearest};
use relais_plugin_api::{
    boundary::wire::{Fields, Malformed},
    options::{MAX_DEPTH, Value, format_bytes, kind_number, kind_tag, tag, unit_number},
};
use std::fmt;

/// An option.
#[derive(Clone, PartialEq, Debug)]
pub struct OptionSchema {
    /// Name.
    pub name: String,
    /// Documentation.
    pub doc: String,
    /// The values that it accepts.
    pub kind: ValueKind,
    /// The default; an option without one is mandatory, unless it is optional.
    pub default: Option<Value>,
    /// Whether it may be left out although it has no default.
    pub is_optional: bool,
    /// Other keys that set it, if it is one of the context.
    pub aliases: Vec<String>,
}

/// The values that an option accepts.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ValueKind {
    /// `true` or `false`.
    Bool,
    /// An integer from `min` to `max`.
    Int {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A number of bytes from `min` to `max`.
    Bytes {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A number from `min` to `max`.
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
    /// One of some names, each with its documentation.
    Choice(Vec<(String, String)>),
    /// A list.
    List(Box<ValueKind>),
    /// A table of options.
    Struct(Vec<OptionSchema>),
}

/// Why a value is not taken.
#[derive(Clone, PartialEq, Debug)]
pub struct OptionError {
    /// Which option: names joined by dots, indices in brackets.
    pub path: String,
    /// The error.
    pub fault: OptionFault,
}

/// An error in a value.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum OptionFault {
    /// The option does not exist.
    Unknown {
        /// The nearest name there is.
        nearest: Option<String>,
        /// All names there are.
        known: Vec<String>,
    },
    /// It is given twice.
    Duplicate,
    /// It has no default and is not given.
    Missing {
        /// The values that it accepts.
        expected: String,
    },
    /// It has another type.
    Type {
        /// The values that it accepts.
        expected: String,
        /// The kind of value that was given.
        found: &'static str,
    },
    /// It is out of range, or none of the choices.
    Value {
        /// The values that it accepts.
        expected: String,
        /// The value that was given.
        found: String,
        /// The nearest choice.
        nearest: Option<String>,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        let did_you_mean = |f: &mut fmt::Formatter<'_>, nearest: &Option<String>| match nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        };
        match &self.fault {
            OptionFault::Unknown { nearest, known } => {
                write!(f, "there is no option `{path}`")?;
                if known.is_empty() {
                    return f.write_str(": there are no options here");
                }
                if nearest.is_none() {
                    return write!(f, "; there are {}", list(known));
                }
                did_you_mean(f, nearest)
            }
            OptionFault::Duplicate => write!(f, "option `{path}` is given twice"),
            OptionFault::Missing { expected } => {
                write!(f, "option `{path}` must be given: it takes {expected} and has no default")
            }
            OptionFault::Type { expected, found } => write!(f, "option `{path}` takes {expected}, not {found}"),
            OptionFault::Value { expected, found, nearest } => {
                write!(f, "option `{path}` takes {expected}, not {found}")?;
                did_you_mean(f, nearest)
            }
        }
    }
}

impl std::error::Error for OptionError {}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("`true` or `false`"),
            Self::Int { min: i64::MIN, max: i64::MAX } => f.write_str("an integer"),
            Self::Int { min, max: i64::MAX } => write!(f, "an integer from {min} on"),
            Self::Int { min: i64::MIN, max } => write!(f, "an integer up to {max}"),
            Self::Int { min, max } => write!(f, "an integer from {min} to {max}"),
            &Self::Bytes { min: ..=0, max: i64::MAX } => f.write_str("a number of bytes"),
            &Self::Bytes { min, max: i64::MAX } => write!(f, "a number of bytes from {} on", format_bytes(min)),
            &Self::Bytes { min: ..=0, max } => write!(f, "a number of bytes up to {}", format_bytes(max)),
            &Self::Bytes { min, max } => {
                write!(f, "a number of bytes from {} to {}", format_bytes(min), format_bytes(max))
            }
            Self::Float { min, max } if min.is_infinite() && max.is_infinite() => f.write_str("a float"),
            Self::Float { min, max } if max.is_infinite() => write!(f, "a float from {min:?} on"),
            Self::Float { min, max } if min.is_infinite() => write!(f, "a float up to {max:?}"),
            Self::Float { min, max } => write!(f, "a float from {min:?} to {max:?}"),
            Self::Str => f.write_str("a string"),
            Self::Path => f.write_str("a path"),
            Self::Choice(choices) => {
                let names: Vec<String> = choices.iter().map(|(name, _)| format!("{name:?}")).collect();
                write!(f, "one of {}", names.join(", "))
            }
            Self::List(item) => write!(f, "a list, each item {item}"),
            Self::Struct(_) => f.write_str("a table"),
        }
    }
}

impl OptionSchema {
    /// Reads a schema from a record.
    ///
    /// # Errors
    /// Returns an error if it cannot be decoded.
    pub fn read(fields: &[u8]) -> Result<Self, Malformed> {
        Self::read_nested(fields, 0)
    }

    /// At most [`MAX_DEPTH`] deep.
    fn read_nested(fields: &[u8], depth: usize) -> Result<Self, Malformed> {
        let (mut name, mut doc, mut kind, mut default, mut is_optional) = (None, String::new(), None, None, false);
        for field in Fields::new(fields) {
            let field = field?;
            match field.tag {
                tag::NAME => name = Some(field.text()?.to_owned()),
                tag::DOC => doc = field.text()?.to_owned(),
                tag::KIND => kind = Some(ValueKind::read(field.bytes, depth)?),
                tag::DEFAULT => default = Some(Value::decode(field.bytes)?),
                tag::OPTIONAL => is_optional = field.u8()? != 0,
                _ => field.skip()?,
            }
        }
        let name = name.ok_or(Malformed::Missing("option's name"))?;
        let kind = kind.ok_or(Malformed::Missing("option's type"))?;
        let mut schema = Self { name, doc, kind, default, is_optional, aliases: Vec::new() };
        // The default is checked like a user's value; the default of a struct consists of those of its options.
        schema.default = match (&schema.default, &schema.kind) {
            (Some(default), kind) => {
                Some(kind.check(default, &schema.name).map_err(|_| Malformed::Missing("default"))?)
            }
            (None, ValueKind::Struct(fields)) if !is_optional => complete(fields, &Value::Struct(Vec::new())).ok(),
            (None, _) => None,
        };
        Ok(schema)
    }
}

impl ValueKind {
    fn read(fields: &[u8], depth: usize) -> Result<Self, Malformed> {
        if depth >= MAX_DEPTH {
            return Err(Malformed::Depth);
        }
        let (mut number, mut unit, mut min, mut max, mut item) = (None, 0, None, None, None);
        let (mut choices, mut options) = (Vec::new(), Vec::new());
        for field in Fields::new(fields) {
            let field = field?;
            match field.tag {
                kind_tag::NUMBER => number = Some(field.u8()?),
                kind_tag::UNIT => unit = field.u8()?,
                kind_tag::MIN => min = Some(field),
                kind_tag::MAX => max = Some(field),
                kind_tag::CHOICE => choices.push(read_choice(field.bytes)?),
                kind_tag::ITEM => item = Some(Self::read(field.bytes, depth + 1)?),
                kind_tag::FIELD => options.push(OptionSchema::read_nested(field.bytes, depth + 1)?),
                _ => field.skip()?,
            }
        }
        Ok(match number.ok_or(Malformed::Missing("option's type"))? {
            kind_number::BOOL => Self::Bool,
            kind_number::INT if unit == unit_number::BYTES => Self::Bytes {
                min: min.map_or(Ok(0), |field| field.i64())?.max(0),
                max: max.map_or(Ok(i64::MAX), |field| field.i64())?,
            },
            kind_number::INT => Self::Int {
                min: min.map_or(Ok(i64::MIN), |field| field.i64())?,
                max: max.map_or(Ok(i64::MAX), |field| field.i64())?,
            },
            kind_number::FLOAT => Self::Float {
                min: min.map_or(Ok(f64::NEG_INFINITY), |field| field.f64())?,
                max: max.map_or(Ok(f64::INFINITY), |field| field.f64())?,
            },
            kind_number::STR => Self::Str,
            kind_number::PATH => Self::Path,
            kind_number::CHOICE => Self::Choice(choices),
            kind_number::LIST => Self::List(Box::new(item.ok_or(Malformed::Missing("type of a list's items"))?)),
            kind_number::STRUCT => Self::Struct(options),
            _ => return Err(Malformed::Later("option's type")),
        })
    }

    /// The value, with the defaults of omitted parts.
    ///
    /// # Errors
    /// Returns the first error in it.
    pub fn check(&self, value: &Value, path: &str) -> Result<Value, OptionError> {
        let error = |fault| OptionError { path: path.to_owned(), fault };
        let expected = || self.to_string();
        let out_of_range = || {
            let nearest = match (self, value) {
                (Self::Choice(choices), Value::Str(name)) => {
                    nearest(name, choices.iter().map(|(name, _)| name.as_str())).into_iter().next()
                }
                _ => None,
            };
            error(OptionFault::Value { expected: expected(), found: value.to_string(), nearest })
        };
        let is_taken = match (self, value) {
            (Self::Bool, Value::Bool(_)) | (Self::Str, Value::Str(_)) => true,
            (Self::Path, Value::Str(path)) => !path.is_empty(),
            (Self::Int { min, max } | Self::Bytes { min, max }, Value::Int(value)) => min <= value && value <= max,
            (Self::Float { min, max }, Value::Float(value)) => min <= value && value <= max,
            (Self::Choice(choices), Value::Str(value)) => choices.iter().any(|(name, _)| name == value),
            (Self::List(item), Value::List(values)) => {
                let items = values.iter().enumerate();
                let items: Result<_, _> = items.map(|(i, value)| item.check(value, &format!("{path}[{i}]"))).collect();
                return Ok(Value::List(items?));
            }
            (Self::Struct(options), Value::Struct(_)) => {
                return complete(options, value)
                    .map_err(|inner| OptionError { path: format!("{path}.{}", inner.path), fault: inner.fault });
            }
            _ => return Err(error(OptionFault::Type { expected: expected(), found: value.type_name() })),
        };
        if is_taken { Ok(value.clone()) } else { Err(out_of_range()) }
    }
}

fn read_choice(fields: &[u8]) -> Result<(String, String), Malformed> {
    let (mut name, mut doc) = (String::new(), String::new());
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            tag::NAME => name = field.text()?.to_owned(),
            tag::DOC => doc = field.text()?.to_owned(),
            _ => field.skip()?,
        }
    }
    Ok((name, doc))
}

/// A table with a value for each option, in the schema's order: the given value, checked, otherwise the default. An
/// optional one that is not given is left out.
///
/// # Errors
/// Returns the first error: an unknown option before a missing one.
pub fn complete(options: &[OptionSchema], given: &Value) -> Result<Value, OptionError> {
    let Value::Struct(entries) = given else {
        let fault = OptionFault::Type { expected: "a table".into(), found: given.type_name() };
        return Err(OptionError { path: String::new(), fault });
    };
    for (i, (name, _)) in entries.iter().enumerate() {
        let fault = if !options.iter().any(|option| option.name == *name) {
            let nearest = nearest(name, options.iter().map(|option| option.name.as_str())).into_iter().next();
            OptionFault::Unknown { nearest, known: options.iter().map(|option| option.name.clone()).collect() }
        } else if entries[..i].iter().any(|(other, _)| other == name) {
            OptionFault::Duplicate
        } else {
            continue;
        };
        return Err(OptionError { path: name.clone(), fault });
    }
    let mut complete = Vec::with_capacity(options.len());
    for option in options {
        let value = match (given.get(&option.name), &option.default) {
            (Some(value), _) => option.kind.check(value, &option.name)?,
            (None, Some(default)) => default.clone(),
            (None, None) if option.is_optional => continue,
            (None, None) => {
                let fault = OptionFault::Missing { expected: option.kind.to_string() };
                return Err(OptionError { path: option.name.clone(), fault });
            }
        };
        complete.push((option.name.clone(), value));
    }
    Ok(Value::Struct(complete))
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_plugin_api::boundary::wire::push_field;

    fn schema(name: &str, kind: ValueKind, default: Option<Value>) -> OptionSchema {
        OptionSchema { name: name.into(), doc: String::new(), kind, default, is_optional: false, aliases: Vec::new() }
    }

    fn options() -> Vec<OptionSchema> {
        let choice = ValueKind::Choice(vec![("fast".into(), String::new()), ("small".into(), String::new())]);
        let inner = ValueKind::Struct(vec![schema("on", ValueKind::Bool, Some(Value::Bool(true)))]);
        vec![
            schema("depth", ValueKind::Int { min: 0, max: 8 }, Some(Value::Int(3))),
            schema("rate", ValueKind::Float { min: 0.0, max: 1.0 }, Some(Value::Float(0.5))),
            schema("mode", choice, Some(Value::Str("fast".into()))),
            schema("inner", inner, Some(Value::Struct(vec![("on".into(), Value::Bool(true))]))),
            schema("names", ValueKind::List(Box::new(ValueKind::Str)), Some(Value::List(vec![]))),
        ]
    }

    fn fault(name: &str, value: Value) -> String {
        complete(&options(), &Value::Struct(vec![(name.into(), value)])).unwrap_err().to_string()
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let given = Value::Struct(vec![("depth".into(), Value::Int(8))]);
        let all = complete(&options(), &given).unwrap();
        assert_eq!(all.to_string(), r#"{ depth = 8, rate = 0.5, mode = "fast", inner = { on = true }, names = [] }"#);
    }

    #[test]
    fn rule_r22_every_fault_names_what_is_taken() {
        assert_eq!(fault("dept", Value::Int(1)), "there is no option `dept`; did you mean `depth`?");
        assert_eq!(fault("depth", Value::Bool(true)), "option `depth` takes an integer from 0 to 8, not a boolean");
        assert_eq!(fault("depth", Value::Int(9)), "option `depth` takes an integer from 0 to 8, not 9");
        assert_eq!(fault("rate", Value::Int(1)), "option `rate` takes a float from 0.0 to 1.0, not an integer");
        assert_eq!(fault("rate", Value::Float(f64::NAN)), "option `rate` takes a float from 0.0 to 1.0, not NaN");
        let typo = fault("mode", Value::Str("fasst".into()));
        assert_eq!(typo, "option `mode` takes one of \"fast\", \"small\", not \"fasst\"; did you mean `fast`?");
        let nested = fault("inner", Value::Struct(vec![("of".into(), Value::Bool(true))]));
        assert_eq!(nested, "there is no option `inner.of`; did you mean `on`?");
        let item = fault("names", Value::List(vec![Value::Str("a".into()), Value::Int(1)]));
        assert_eq!(item, "option `names[1]` takes a string, not an integer");
        let twice = Value::Struct(vec![("depth".into(), Value::Int(1)), ("depth".into(), Value::Int(1))]);
        assert_eq!(complete(&options(), &twice).unwrap_err().to_string(), "option `depth` is given twice");
    }

    #[test]
    fn an_option_without_a_default_must_be_given() {
        let options = [schema("path", ValueKind::Str, None)];
        let error = complete(&options, &Value::Struct(vec![])).unwrap_err();
        assert_eq!(error.to_string(), "option `path` must be given: it takes a string and has no default");
    }

    #[test]
    fn an_optional_option_is_left_out_unless_it_is_given() {
        let depth = || schema("depth", ValueKind::Int { min: 0, max: 8 }, None);
        let inner = ValueKind::Struct(vec![schema("on", ValueKind::Bool, Some(Value::Bool(true)))]);
        let optional = |schema: OptionSchema| OptionSchema { is_optional: true, ..schema };
        let options = [optional(depth()), optional(schema("inner", inner, None))];
        let all =
            |entries: Vec<(String, Value)>| complete(&options, &Value::Struct(entries)).map(|all| all.to_string());
        assert_eq!(complete(&options, &Value::Struct(vec![])), Ok(Value::Struct(vec![])));
        assert_eq!(all(vec![("depth".into(), Value::Int(3))]).unwrap(), "{ depth = 3 }");
        assert_eq!(all(vec![("inner".into(), Value::Struct(vec![]))]).unwrap(), "{ inner = { on = true } }");
        let error = all(vec![("depth".into(), Value::Int(9))]).unwrap_err();
        assert_eq!(error.to_string(), "option `depth` takes an integer from 0 to 8, not 9");
    }

    #[test]
    fn numbers_of_bytes_and_paths_say_what_they_are() {
        let bytes = |min, max| ValueKind::Bytes { min, max };
        for (kind, value, told) in [
            (bytes(0, i64::MAX), Value::Int(-1), "option `it` takes a number of bytes, not -1"),
            (bytes(1024, i64::MAX), Value::Int(1), "option `it` takes a number of bytes from 1KiB on, not 1"),
            (bytes(0, 1 << 20), Value::Int(1 << 21), "option `it` takes a number of bytes up to 1MiB, not 2097152"),
            (bytes(1, 1 << 20), Value::Bool(true), "option `it` takes a number of bytes from 1 to 1MiB, not a boolean"),
            (ValueKind::Path, Value::Int(1), "option `it` takes a path, not an integer"),
            (ValueKind::Path, Value::Str(String::new()), "option `it` takes a path, not \"\""),
        ] {
            assert_eq!(kind.check(&value, "it").unwrap_err().to_string(), told);
        }
        assert_eq!(bytes(0, 9).check(&Value::Int(9), "it"), Ok(Value::Int(9)));
        let path = Value::Str("a/b".into());
        assert_eq!(ValueKind::Path.check(&path, "it"), Ok(path));
    }

    fn fields(parts: &[(u16, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        parts.iter().for_each(|(tag, bytes)| push_field(&mut out, *tag, bytes));
        out
    }

    #[test]
    fn schemas_of_later_versions_are_refused_or_read_in_part() {
        let read = |kind: &[(u16, &[u8])]| {
            OptionSchema::read(&fields(&[(tag::NAME, b"it"), (tag::KIND, &fields(kind))])).map(|schema| schema.kind)
        };
        assert_eq!(read(&[(kind_tag::NUMBER, &[200])]), Err(Malformed::Later("option's type")));
        assert_eq!(read(&[]), Err(Malformed::Missing("option's type")));
        let with_unit = |unit: u8| read(&[(kind_tag::NUMBER, &[kind_number::INT]), (kind_tag::UNIT, &[unit])]);
        assert_eq!(with_unit(unit_number::BYTES), Ok(ValueKind::Bytes { min: 0, max: i64::MAX }));
        assert_eq!(with_unit(200), Ok(ValueKind::Int { min: i64::MIN, max: i64::MAX }));
    }
}
