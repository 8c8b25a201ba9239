//! Options checked against their owner's schema (rules R21 and R22).

use super::{
    fault::{Code, Fault, Place},
    spec::{Entry, Literal, Written},
};
use crate::{
    options::{OptionSchema, OptionType},
    words::{and_list, nearest, or_list},
};
use relais_plugin_api::options::Value;

impl OptionType {
    /// Returns a description of the accepted values.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Bool => "`true` or `false`".into(),
            &Self::Int { min: i64::MIN, max: i64::MAX } => "an integer".into(),
            &Self::Int { min, max: i64::MAX } => format!("an integer from {min}"),
            &Self::Int { min: i64::MIN, max } => format!("an integer up to {max}"),
            Self::Int { min, max } => format!("an integer from {min} to {max}"),
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
    /// The default; of a struct, the defaults of its options. `None` when the option, or one within, is mandatory.
    pub(crate) fn default_value(&self) -> Option<Value> {
        match (&self.default, &self.kind) {
            (Some(value), _) => Some(value.clone()),
            (None, OptionType::Struct(fields)) => defaults(fields),
            (None, _) => None,
        }
    }
}

/// The empty table, with defaults filled in; `None` if an option is mandatory.
pub fn defaults(schema: &[OptionSchema]) -> Option<Value> {
    let entries: Option<Vec<(String, Value)>> =
        schema.iter().map(|option| Some((option.name.clone(), option.default_value()?))).collect();
    entries.map(Value::Struct)
}

/// The names of the options that have no default.
pub fn mandatory(schema: &[OptionSchema]) -> Vec<&str> {
    schema.iter().filter(|option| option.default_value().is_none()).map(|option| option.name.as_str()).collect()
}

/// Checks options against their schema. `owner` accepts the options, as in "option of `owner`"; `place` is where the
/// owner is named. Returns the whole table, with defaults filled in and without options at fault.
pub fn check_options(
    schema: &[OptionSchema],
    entries: &[Entry],
    owner: &str,
    place: Option<Place>,
    faults: &mut Vec<Fault>,
) -> Value {
    for (i, entry) in entries.iter().enumerate() {
        let name = &entry.key.value;
        if !schema.iter().any(|option| option.name == *name) {
            faults.push(unknown_option(schema, &entry.key, owner));
        } else if let Some(first) = entries[..i].iter().find(|first| first.key.value == *name) {
            let fault =
                Fault::new(Code::Duplicate, entry.key.place, format!("option `{name}` of `{owner}` is given twice"));
            faults.push(fault.related(first.key.place, "first given here").help("remove one of the two"));
        }
    }
    let mut table = Vec::with_capacity(schema.len());
    for option in schema {
        let value = match entries.iter().rev().find(|entry| entry.key.value == option.name) {
            Some(entry) => {
                check_value(&option.kind, &entry.value, &format!("option `{}` of `{owner}`", option.name), faults)
            }
            None => option.default_value().or_else(|| {
                let message = format!("`{owner}` needs its option `{}`", option.name);
                let fault = Fault::new(Code::Missing, place, message);
                faults.push(fault.help(format!("give it {}", option.kind.describe())));
                None
            }),
        };
        table.extend(value.map(|value| (option.name.clone(), value)));
    }
    Value::Struct(table)
}

/// Checks one value; `what` names it in messages.
pub fn check_value(
    kind: &OptionType,
    written: &Written<Literal>,
    what: &str,
    faults: &mut Vec<Fault>,
) -> Option<Value> {
    let place = written.place;
    let mut refuse = |code, message: String| {
        faults.push(Fault::new(code, place, message).label(format!("expected {}", kind.describe())));
        None
    };
    match (kind, &written.value) {
        (OptionType::Bool, Literal::Bool(value)) => Some(Value::Bool(*value)),
        (OptionType::Int { min, max }, Literal::Int(value)) if (min..=max).contains(&value) => Some(Value::Int(*value)),
        (OptionType::Int { .. }, Literal::Int(value)) => {
            refuse(Code::Value, format!("{what} cannot be {value}, which is out of range"))
        }
        (OptionType::Int { .. }, Literal::BigInt(value)) => {
            refuse(Code::Value, format!("{what} cannot be {}, which is out of range", shorten(value)))
        }
        (OptionType::Float { .. }, Literal::Float(value)) if value.is_nan() => {
            refuse(Code::Value, format!("{what} cannot be `nan`"))
        }
        (OptionType::Float { min, max }, Literal::Float(value)) if (min..=max).contains(&value) => {
            Some(Value::Float(*value))
        }
        (OptionType::Float { .. }, Literal::Float(value)) => {
            refuse(Code::Value, format!("{what} cannot be {value:?}, which is out of range"))
        }
        (OptionType::Float { .. }, Literal::Int(value)) => {
            refuse(Code::WrongType, format!("{what} must be a float, not an integer"));
            let last = faults.last_mut().expect("the fault just pushed");
            last.help = Some(format!("write `{value}.0`"));
            None
        }
        (OptionType::Str, Literal::Str(value)) => Some(Value::Str(value.clone())),
        (OptionType::Choice(choices), Literal::Str(value)) => {
            if choices.iter().any(|(name, _)| name == value) {
                return Some(Value::Str(value.clone()));
            }
            let near = nearest(value, choices.iter().map(|(name, _)| name.as_str()));
            refuse(Code::Value, format!("{what} cannot be `{}`", shorten(value)));
            let last = faults.last_mut().expect("the fault just pushed");
            *last = last.clone().nearest(&near);
            None
        }
        (OptionType::List(item), Literal::List(items)) => {
            let what = format!("an item of {what}");
            let values: Vec<Option<Value>> =
                items.iter().map(|value| check_value(item, value, &what, faults)).collect();
            values.into_iter().collect::<Option<Vec<Value>>>().map(Value::List)
        }
        (OptionType::Struct(fields), Literal::Table(entries)) => {
            let owner = what.trim_start_matches("option `").split('`').next().unwrap_or(what).to_owned();
            let n_before = faults.len();
            let value = check_options(fields, entries, &owner, place, faults);
            (faults.len() == n_before).then_some(value)
        }
        (kind, value) => {
            let expected = match kind {
                OptionType::Bool => "a boolean",
                OptionType::Int { .. } => "an integer",
                OptionType::Float { .. } => "a float",
                OptionType::Str | OptionType::Choice(_) => "a string",
                OptionType::List(_) => "an array",
                OptionType::Struct(_) => "a table",
            };
            refuse(Code::WrongType, format!("{what} must be {expected}, not {}", value.type_name()))
        }
    }
}

fn unknown_option(schema: &[OptionSchema], key: &Written<String>, owner: &str) -> Fault {
    let names: Vec<&str> = schema.iter().map(|option| option.name.as_str()).collect();
    let fault = Fault::new(Code::UnknownKey, key.place, format!("`{owner}` has no option `{}`", shorten(&key.value)));
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
