//! Keys and values of TOML, and their errors.

use super::{
    fault::{Code, PipelineFault, Place, Sources},
    file_parser::{FileParser, Node, Pairs},
    spec::*,
};
use crate::words::{and_list, nearest, or_list};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Reads `KEY=VALUE` of the command line: the value is TOML, or else a string that needs no quotes.
///
/// # Errors
/// Returns an error if there is no key or no `=`.
pub fn parse_setting(sources: &mut Sources, origin: &str, text: &str) -> Result<SpecEntry, Box<PipelineFault>> {
    let place = sources.add_whole(origin, text);
    let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
        let fault = PipelineFault::new(Code::Syntax, place, format!("`{text}` sets nothing"));
        return Err(Box::new(fault.label("expected `KEY=VALUE`").help("write the option, `=` and its value")));
    };
    let start = key.len() + 1;
    let at = |span: std::ops::Range<usize>| Place::new(place.source, span);
    let value_place = at(start..text.len());
    let literal = match DeValue::parse(value) {
        Ok(parsed) => {
            let mut faults = Vec::new();
            let mut nodes = Vec::new();
            let mut file = FileParser::new(place.source, &mut faults, &mut nodes);
            file.literal(&parsed).value
        }
        Err(_) => SpecValue::Str(value.trim().to_owned()),
    };
    Ok(SpecEntry {
        key: Written::at(at(0..key.len()), key.trim().to_owned()),
        value: flatten_places(Written::at(value_place, literal), value_place),
    })
}

/// Assigns a value and everything in it one place. Recurses as deep as the parser did.
fn flatten_places(mut value: Written<SpecValue>, place: Place) -> Written<SpecValue> {
    value.place = Some(place);
    value.value = match value.value {
        SpecValue::List(items) => SpecValue::List(items.into_iter().map(|item| flatten_places(item, place)).collect()),
        SpecValue::Table(entries) => SpecValue::Table(
            entries
                .into_iter()
                .map(|entry| SpecEntry {
                    key: Written::at(place, entry.key.value),
                    value: flatten_places(entry.value, place),
                })
                .collect(),
        ),
        other => other,
    };
    value
}

impl FileParser<'_> {
    /// The pairs of a table in the order of the file, without the unknown keys, which are faults.
    pub(super) fn pairs<'t, 'a>(&mut self, table: &'a DeTable<'t>, what: &str, accepted: &[&str]) -> Pairs<'t, 'a> {
        let mut pairs: Pairs<'t, 'a> = table.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        pairs.retain(|(key, _)| {
            let is_known = accepted.contains(&&**key.get_ref());
            if !is_known {
                let fault =
                    PipelineFault::new(Code::UnknownKey, self.place(key), format!("unknown key `{}`", key.get_ref()))
                        .label(format!("not a key of {what}"))
                        .note(format!("accepted keys: {}", and_list(accepted)))
                        .nearest(&nearest(key.get_ref(), accepted.iter().copied()));
                let is_option = accepted.contains(&"options") && fault.help.is_none();
                let help = || format!("options of the pass go into a table: `options = {{ {} = … }}`", key.get_ref());
                self.faults.push(if is_option { fault.help(help()) } else { fault });
            }
            is_known
        });
        pairs
    }

    pub(super) fn wrong_type(&mut self, place: Place, what: &str, expected: &str, found: &str) {
        let fault = PipelineFault::new(Code::WrongType, place, format!("{what} must be {expected}, not {found}"));
        self.fault(fault.label(format!("this is {found}")));
    }

    pub(super) fn array<'t, 'a>(&mut self, node: &'a Node<'t>, key: &str) -> Option<&'a [Node<'t>]> {
        match node.get_ref() {
            DeValue::Array(items) => Some(items),
            other => {
                self.wrong_type(self.place(node), &format!("`{key}`"), "an array", type_name(other));
                None
            }
        }
    }

    pub(super) fn string(&mut self, node: &Node<'_>, key: &str) -> Option<Written<String>> {
        let place = self.place(node);
        match node.get_ref() {
            DeValue::String(text) if !text.is_empty() => Some(Written::at(place, text.to_string())),
            DeValue::String(_) => {
                self.fault(PipelineFault::new(Code::Value, place, format!("`{key}` must not be empty")));
                None
            }
            other => {
                self.wrong_type(place, &format!("`{key}`"), "a string", type_name(other));
                None
            }
        }
    }

    pub(super) fn names(&mut self, node: &Node<'_>, key: &str) -> Vec<Written<String>> {
        let Some(items) = self.array(node, key) else { return Vec::new() };
        items.iter().filter_map(|item| self.string(item, key)).collect()
    }

    pub(super) fn integer(&mut self, node: &Node<'_>, key: &str, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let place = self.place(node);
        match self.literal(node).value {
            SpecValue::Int(value) if range.contains(&value) => Some(value),
            SpecValue::Int(_) | SpecValue::BigInt(_) => {
                let message = format!("`{key}` must be from {} to {}", range.start(), range.end());
                self.fault(PipelineFault::new(Code::Value, place, message));
                None
            }
            other => {
                self.wrong_type(place, &format!("`{key}`"), "an integer", other.type_name());
                None
            }
        }
    }

    pub(super) fn level(&mut self, node: &Node<'_>, key: &str) -> Option<u8> {
        self.integer(node, key, 0..=255).and_then(|level| u8::try_from(level).ok())
    }

    pub(super) fn rounds(&mut self, node: &Node<'_>) -> u32 {
        let rounds = self.integer(node, "max_rounds", 1..=1_000_000);
        rounds.and_then(|rounds| u32::try_from(rounds).ok()).unwrap_or(DEFAULT_MAX_ROUNDS)
    }

    pub(super) fn choice<T: Copy>(&mut self, node: &Node<'_>, key: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.string(node, key)?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text.value) {
            return Some(*value);
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let fault = PipelineFault::new(Code::Value, text.place, format!("`{key}` cannot be `{}`", text.value));
        self.fault(
            fault
                .note(format!("accepted values: {}", or_list(&names)))
                .nearest(&nearest(&text.value, names.iter().copied())),
        );
        None
    }

    /// Options as a table. Dotted keys make nested tables: `config.relay.FuseOps.max_depth = 4` is the option
    /// `relay.FuseOps.max_depth`; only the registry knows which part of a path is a name.
    pub(super) fn config(&mut self, node: &Node<'_>) -> Vec<SpecEntry> {
        self.entries(node, "config")
    }

    pub(super) fn entries(&mut self, node: &Node<'_>, key: &str) -> Vec<SpecEntry> {
        match self.literal(node).value {
            SpecValue::Table(entries) => entries,
            other => {
                self.wrong_type(self.place(node), &format!("`{key}`"), "a table", other.type_name());
                Vec::new()
            }
        }
    }

    /// As deep as the TOML parser went.
    pub(super) fn literal(&mut self, node: &Node<'_>) -> Written<SpecValue> {
        let value = match node.get_ref() {
            DeValue::Boolean(value) => SpecValue::Bool(*value),
            DeValue::Integer(value) => {
                let digits: String = value.as_str().chars().filter(|&c| c != '_').collect();
                match i64::from_str_radix(&digits, value.radix()) {
                    Ok(value) => SpecValue::Int(value),
                    Err(_) => SpecValue::BigInt(value.as_str().to_owned()),
                }
            }
            DeValue::Float(value) => {
                let digits: String = value.as_str().chars().filter(|&c| c != '_').collect();
                SpecValue::Float(digits.parse().unwrap_or(f64::NAN))
            }
            DeValue::String(value) => SpecValue::Str(value.to_string()),
            DeValue::Datetime(_) => SpecValue::Datetime,
            DeValue::Array(items) => SpecValue::List(items.iter().map(|item| self.literal(item)).collect()),
            DeValue::Table(table) => {
                let mut pairs: Pairs<'_, '_> = table.iter().collect();
                pairs.sort_by_key(|(key, _)| key.span().start);
                let entry = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Node<'_>)| SpecEntry {
                    key: Written::at(self.place(key), key.get_ref().to_string()),
                    value: self.literal(value),
                };
                SpecValue::Table(pairs.into_iter().map(entry).collect())
            }
        };
        Written::at(self.place(node), value)
    }
}

pub(super) fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
