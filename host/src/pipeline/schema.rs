//! Options checked against their owner's schema (rules R21 and R22).

use super::{
    fault::{Code, PipelineFault, Place, Sources},
    print::toml,
    spec::{SpecEntry, SpecValue, Written, literal_of},
};
use crate::{
    options::{OptionSchema, ValueKind},
    words::{and_list, nearest, or_list},
};
use relais_plugin_api::options::{BytesError, Value, format_bytes, parse_bytes};
use std::path::{self, Path};

/// How relative paths are understood.
#[derive(Clone, Copy, Debug)]
pub enum Paths<'a> {
    /// They are left as they are written.
    Written,
    /// They start from the folder of the file that they are written in; what is not written in a file, from the current
    /// folder.
    Absolute(&'a Sources),
}

impl Paths<'_> {
    /// Returns the absolute path, or why there is none.
    fn resolve(self, path: &str, place: Option<Place>) -> Result<String, String> {
        let Self::Absolute(sources) = self else { return Ok(path.to_owned()) };
        let source = place.map_or("", |place| &sources.get(place.source).name);
        let folder = Path::new(source).parent().unwrap_or(Path::new(""));
        let absolute =
            path::absolute(folder.join(path)).map_err(|error| format!("it cannot be made absolute: {error}"))?;
        absolute.into_os_string().into_string().map_err(|_| "the name of its folder is not UTF-8".into())
    }
}

impl ValueKind {
    /// Returns a description of the accepted values.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Bool => "`true` or `false`".into(),
            &Self::Int { min: i64::MIN, max: i64::MAX } => "an integer".into(),
            &Self::Int { min, max: i64::MAX } => format!("an integer from {min}"),
            &Self::Int { min: i64::MIN, max } => format!("an integer up to {max}"),
            Self::Int { min, max } => format!("an integer from {min} to {max}"),
            Self::Bytes { .. } | Self::Path => self.to_string(),
            &Self::Float { min: f64::NEG_INFINITY, max: f64::INFINITY } => "a float".into(),
            Self::Float { min, max } => format!("a float from {min:?} to {max:?}"),
            Self::Str => "a string".into(),
            Self::Choice(choices) => {
                format!("one of {}", or_list(&choices.iter().map(|(name, _)| name).collect::<Vec<_>>()))
            }
            Self::List(item) => format!("an array, each item {}", item.describe()),
            Self::Struct(fields) => {
                format!("a table of {}", and_list(&fields.iter().map(|field| &field.name).collect::<Vec<_>>()))
            }
        }
    }
}

impl OptionSchema {
    /// Returns the default as TOML writes it, with units.
    pub fn default_toml(&self) -> Option<String> {
        self.default.as_ref().map(|default| toml(&with_units(&self.kind, default)))
    }

    /// The default; of a struct, the defaults of its options. `None` when the option, or one within, is mandatory, or
    /// it is optional.
    pub(crate) fn default_value(&self) -> Option<Value> {
        match (&self.default, &self.kind) {
            (Some(value), _) => Some(value.clone()),
            (None, _) if self.is_optional => None,
            (None, ValueKind::Struct(fields)) => defaults(fields),
            (None, _) => None,
        }
    }
}

/// A value with numbers of bytes as text with a unit, where they have one. As deep as schemas go.
fn with_units(kind: &ValueKind, value: &Value) -> Value {
    match (kind, value) {
        (ValueKind::Bytes { .. }, Value::Int(bytes)) => {
            let text = format_bytes(*bytes);
            if text.ends_with('B') { Value::Str(text) } else { Value::Int(*bytes) }
        }
        (ValueKind::Struct(fields), Value::Struct(entries)) => {
            let entry = |(name, value): &(String, Value)| {
                let field = fields.iter().find(|field| field.name == *name);
                (name.clone(), field.map_or_else(|| value.clone(), |field| with_units(&field.kind, value)))
            };
            Value::Struct(entries.iter().map(entry).collect())
        }
        _ => value.clone(),
    }
}

/// The empty table, with defaults filled in; `None` if an option is mandatory.
pub fn defaults(schema: &[OptionSchema]) -> Option<Value> {
    let given = schema.iter().map(|option| (option, option.default_value()));
    let given = given.filter(|(option, value)| value.is_some() || !option.is_optional);
    let entries: Option<Vec<(String, Value)>> =
        given.map(|(option, value)| Some((option.name.clone(), value?))).collect();
    entries.map(Value::Struct)
}

/// The names of the options that must be given.
pub fn mandatory(schema: &[OptionSchema]) -> Vec<&str> {
    let is_mandatory = |option: &&OptionSchema| !option.is_optional && option.default_value().is_none();
    schema.iter().filter(is_mandatory).map(|option| option.name.as_str()).collect()
}

/// Checks options against their schema. `owner` accepts the options, as in "option of `owner`"; `place` is where the
/// owner is named. Returns the whole table, with defaults filled in and without options at fault.
pub fn check_options(
    schema: &[OptionSchema],
    entries: &[SpecEntry],
    owner: &str,
    place: Option<Place>,
    paths: Paths<'_>,
    faults: &mut Vec<PipelineFault>,
) -> Value {
    for (i, entry) in entries.iter().enumerate() {
        let name = &entry.key.value;
        if !schema.iter().any(|option| option.name == *name) {
            faults.push(unknown_option(schema, &entry.key, owner));
        } else if let Some(first) = entries[..i].iter().find(|first| first.key.value == *name) {
            let fault = PipelineFault::new(
                Code::Duplicate,
                entry.key.place,
                format!("option `{name}` of `{owner}` is given twice"),
            );
            faults.push(fault.related(first.key.place, "first given here").help("remove one of the two"));
        }
    }
    let mut table = Vec::with_capacity(schema.len());
    for option in schema {
        let what = || format!("option `{}` of `{owner}`", option.name);
        let given = entries.iter().rev().find(|entry| entry.key.value == option.name);
        let value = match (given, option.default_value()) {
            (Some(entry), _) => check_value(&option.kind, &entry.value, &what(), paths, faults),
            // Paths in it may be relative.
            (None, Some(default)) => {
                check_value(&option.kind, &Written::made(literal_of(default)), &what(), paths, faults)
            }
            (None, None) if option.is_optional => None,
            (None, None) => {
                let message = format!("`{owner}` needs its option `{}`", option.name);
                let fault = PipelineFault::new(Code::Missing, place, message);
                faults.push(fault.help(format!("give it {}", option.kind.describe())));
                None
            }
        };
        table.extend(value.map(|value| (option.name.clone(), value)));
    }
    Value::Struct(table)
}

/// Checks one value; `what` names it in messages. [`ValueKind::check`] says whether a kind accepts a value; here a refusal
/// gets its place and its help.
pub fn check_value(
    kind: &ValueKind,
    written: &Written<SpecValue>,
    what: &str,
    paths: Paths<'_>,
    faults: &mut Vec<PipelineFault>,
) -> Option<Value> {
    let place = written.place;
    let accepted = scalar(&written.value).filter(|_| *kind != ValueKind::Path);
    if let Some(value) = accepted.and_then(|value| kind.check(&value, "").ok()) {
        return Some(value);
    }
    let mut refuse = |code, message: String| {
        faults.push(PipelineFault::new(code, place, message).label(format!("expected {}", kind.describe())));
        None
    };
    match (kind, &written.value) {
        (ValueKind::Int { .. }, SpecValue::Int(value)) => {
            refuse(Code::Value, format!("{what} cannot be {value}, which is out of range"))
        }
        (ValueKind::Int { .. }, SpecValue::BigInt(value)) => {
            refuse(Code::Value, format!("{what} cannot be {}, which is out of range", shorten(value)))
        }
        (ValueKind::Bytes { .. }, SpecValue::Int(_) | SpecValue::BigInt(_) | SpecValue::Str(_)) => {
            bytes(kind, written, what, faults)
        }
        (ValueKind::Float { .. }, SpecValue::Float(value)) if value.is_nan() => {
            refuse(Code::Value, format!("{what} cannot be `nan`"))
        }
        (ValueKind::Float { .. }, SpecValue::Float(value)) => {
            refuse(Code::Value, format!("{what} cannot be {value:?}, which is out of range"))
        }
        (ValueKind::Float { .. }, SpecValue::Int(value)) => {
            refuse(Code::WrongType, format!("{what} must be a float, not an integer"));
            let last = faults.last_mut().expect("the fault just pushed");
            last.help = Some(format!("write `{value}.0`"));
            None
        }
        (ValueKind::Path, SpecValue::Str(value)) if value.is_empty() => {
            refuse(Code::Value, format!("{what} must not be empty"))
        }
        (ValueKind::Path, SpecValue::Str(value)) => match paths.resolve(value, place) {
            Ok(path) => Some(Value::Str(path)),
            Err(why) => refuse(Code::Value, format!("{what} cannot be `{}`: {why}", shorten(value))),
        },
        (ValueKind::Choice(choices), SpecValue::Str(value)) => {
            let near = nearest(value, choices.iter().map(|(name, _)| name.as_str()));
            refuse(Code::Value, format!("{what} cannot be `{}`", shorten(value)));
            let last = faults.last_mut().expect("the fault just pushed");
            *last = last.clone().nearest(&near);
            None
        }
        (ValueKind::List(item), SpecValue::List(items)) => {
            let what = format!("an item of {what}");
            let values: Vec<Option<Value>> =
                items.iter().map(|value| check_value(item, value, &what, paths, faults)).collect();
            values.into_iter().collect::<Option<Vec<Value>>>().map(Value::List)
        }
        (ValueKind::Struct(fields), SpecValue::Table(entries)) => {
            let owner = what.trim_start_matches("option `").split('`').next().unwrap_or(what).to_owned();
            let n_before = faults.len();
            let value = check_options(fields, entries, &owner, place, paths, faults);
            (faults.len() == n_before).then_some(value)
        }
        (kind, value) => {
            let expected = match kind {
                ValueKind::Bool => "a boolean",
                ValueKind::Int { .. } => "an integer",
                ValueKind::Bytes { .. } => "a number of bytes",
                ValueKind::Float { .. } => "a float",
                ValueKind::Str | ValueKind::Path | ValueKind::Choice(_) => "a string",
                ValueKind::List(_) => "an array",
                ValueKind::Struct(_) => "a table",
            };
            refuse(Code::WrongType, format!("{what} must be {expected}, not {}", value.type_name()))
        }
    }
}

/// A value that has no parts.
fn scalar(written: &SpecValue) -> Option<Value> {
    match written {
        SpecValue::Bool(value) => Some(Value::Bool(*value)),
        SpecValue::Int(value) => Some(Value::Int(*value)),
        SpecValue::Float(value) => Some(Value::Float(*value)),
        SpecValue::Str(value) => Some(Value::Str(value.clone())),
        _ => None,
    }
}

/// Checks a number of bytes, which is an integer or a text with a unit.
fn bytes(kind: &ValueKind, written: &Written<SpecValue>, what: &str, faults: &mut Vec<PipelineFault>) -> Option<Value> {
    let (shown, number) = match &written.value {
        SpecValue::Int(value) => (value.to_string(), Ok(*value)),
        SpecValue::Str(text) => (format!("`{}`", shorten(text)), parse_bytes(text)),
        SpecValue::BigInt(digits) => (shorten(digits), Err(BytesError::Large)),
        other => (other.type_name().to_owned(), Err(BytesError::Form)),
    };
    let message = match number {
        Ok(number) if kind.check(&Value::Int(number), "").is_ok() => return Some(Value::Int(number)),
        Ok(_) | Err(BytesError::Large) => format!("{what} cannot be {shown}, which is out of range"),
        Err(BytesError::Form) => format!("{what} cannot be {shown}, which is not a number of bytes"),
    };
    let fault = PipelineFault::new(Code::Value, written.place, message).label(format!("expected {}", kind.describe()));
    faults.push(match number {
        Err(BytesError::Form) => fault.help(BYTES_HELP),
        _ => fault,
    });
    None
}

const BYTES_HELP: &str = "write an integer, or a whole number and a unit: `\"64K\"` and `\"64KiB\"` are 65536, `\"64KB\"` is \
                          64000; likewise with `M`, `G`, `T`, `P`, `E`";

fn unknown_option(schema: &[OptionSchema], key: &Written<String>, owner: &str) -> PipelineFault {
    let names: Vec<&str> = schema.iter().map(|option| option.name.as_str()).collect();
    let fault =
        PipelineFault::new(Code::UnknownKey, key.place, format!("`{owner}` has no option `{}`", shorten(&key.value)));
    let fault = match names.as_slice() {
        [] => fault.note(format!("`{owner}` has no options")),
        names => fault.note(format!("accepted options: {}", and_list(names))),
    };
    fault.nearest(&nearest(&key.value, names.iter().copied()))
}

/// A text that fits a line.
pub(super) fn shorten(text: &str) -> String {
    const MAX: usize = 60;
    match text.char_indices().nth(MAX) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
