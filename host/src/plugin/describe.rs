//! The records of a plugin that is not written in Rust, from a description in TOML.

use super::{operator_record::OperatorRecord, record::read_records};
use crate::{
    options::{OptionSchema, ValueKind},
    words::{nearest, or_list},
};
use relais_plugin_api::{
    boundary::{
        record::{
            BOUNDARY, FORMAT, Level, MAGIC, Phase, attr_tag, formal_kind, formal_tag, op_flag, op_tag, option_tag,
            pass_flag, pass_tag, pipeline_tag, plugin_tag, property_tag, record_kind, required_option_tag,
            required_tag, statistic_tag, type_var_tag,
        },
        wire::{MAX_LEN, checksum, push_field},
    },
    ir::{ElemType, attr_kind},
    op::{Effects, FusionKind},
    options::{self, Value, kind_number, kind_tag, unit_number},
};
use std::{fmt, ops::Range, sync::Arc};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// An error in a description.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescriptionError {
    /// The bytes of the text that it is about; none if it is about the whole.
    pub span: Option<Range<usize>>,
    /// The error message.
    pub message: String,
    /// A suggestion.
    pub help: Option<String>,
}

impl DescriptionError {
    /// The line and the column in the text, counted from 1.
    pub fn place(&self, text: &str) -> Option<(usize, usize)> {
        let before = text.get(..self.span.as_ref()?.start)?;
        let line = before.rsplit('\n').next().unwrap_or_default();
        Some((before.matches('\n').count() + 1, line.chars().count() + 1))
    }
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DescriptionError {}

type Node<'t> = Spanned<DeValue<'t>>;

/// How the names of tables begin.
const SYMBOL: &str = "relais_plugin_";

/// How a value is written.
#[derive(Clone, Copy)]
enum Form {
    Text,
    /// The name of the table in C.
    Symbol,
    /// A field for each text.
    Texts,
    Byte,
    Number,
    Short,
    /// A name that stands for a byte.
    Name(&'static [(&'static str, u8)]),
    /// A bit of the flags, if it is true.
    Flag(u32),
    /// Names that stand for bits.
    Effects,
    /// The fewest and the most, or one number for both.
    Range,
    /// Element types, by name.
    Elems,
    /// A byte, if it is true.
    Truth,
    /// A kind of attribute, by name.
    AttrKind,
    /// A table: a name and what it stands for, which is one text.
    Named(u16, u16),
    /// A table of tables, each with its name.
    Tables(u16, &'static [Key]),
    /// Tables in an order, each with its keys.
    List(&'static [Key]),
    /// A table of options.
    Options,
    /// Passes: a text for each, or a table where it has options.
    Requirements,
    /// A table: names of options, and their values.
    Values,
    /// A table: a domain, and the last version of its operator set.
    Domains,
}

/// A key of a table: the tag of its field, and how it is written.
struct Key {
    name: &'static str,
    tag: u16,
    form: Form,
}

/// The keys of a kind of table, in groups.
type Keys = &'static [&'static [Key]];

const fn key(name: &'static str, tag: u16, form: Form) -> Key {
    Key { name, tag, form }
}

const LEVELS: &[(&str, u8)] =
    &[("module", Level::MODULE.0), ("function", Level::FUNCTION.0), ("prim_func", Level::PRIM_FUNC.0)];

const PHASES: &[(&str, u8)] = &[
    ("types", Phase::TYPES.0),
    ("folding", Phase::FOLDING.0),
    ("rewrites", Phase::REWRITES.0),
    ("clean-up", Phase::CLEAN_UP.0),
];

const FUSIONS: &[(&str, u8)] = &[
    ("elementwise", FusionKind::ELEMWISE.0),
    ("broadcast", FusionKind::BROADCAST.0),
    ("injective", FusionKind::INJECTIVE.0),
    ("reduce", FusionKind::COMM_REDUCE.0),
    ("out-elementwise", FusionKind::OUT_ELEMWISE_FUSABLE.0),
    ("opaque", FusionKind::OPAQUE.0),
];

const EFFECTS: &[(&str, u32)] = &[
    ("stateful", Effects::STATEFUL.0),
    ("random", Effects::RANDOM.0),
    ("traps", Effects::TRAPS.0),
    ("opaque", Effects::OPAQUE.0),
    ("reads", Effects::READS.0),
    ("writes", Effects::WRITES.0),
];

const FORMALS: &[(&str, u8)] = &[
    ("single", formal_kind::SINGLE),
    ("optional", formal_kind::OPTIONAL),
    ("variadic", formal_kind::VARIADIC),
    ("mixed", formal_kind::MIXED),
];

const PLUGIN: &[Key] = &[
    key("name", plugin_tag::NAME, Form::Text),
    key("version", plugin_tag::VERSION, Form::Text),
    key("licence", plugin_tag::LICENCE, Form::Text),
    key("description", plugin_tag::DESCRIPTION, Form::Text),
    key("symbol", plugin_tag::SHIP_ENTRY, Form::Symbol),
    key("domains", plugin_tag::CLOSED_DOMAIN, Form::Domains),
];

const PASS: &[Key] = &[
    key("name", pass_tag::NAME, Form::Text),
    key("aliases", pass_tag::ALIAS, Form::Texts),
    key("level", pass_tag::LEVEL, Form::Name(LEVELS)),
    key("opt_level", pass_tag::OPT_LEVEL, Form::Byte),
    key("required", pass_tag::REQUIRED, Form::Requirements),
    key("doc", pass_tag::DOC, Form::Text),
    key("serial", pass_tag::FLAGS, Form::Flag(pass_flag::SERIAL)),
    key("phase", pass_tag::PHASE, Form::Name(PHASES)),
    key("extends", pass_tag::EXTENDS, Form::Text),
    key("before", pass_tag::BEFORE, Form::Texts),
    key("after", pass_tag::AFTER, Form::Texts),
    key("runtime", pass_tag::RUNTIME, Form::Text),
    key("target", pass_tag::TARGET, Form::Text),
    key("changes_interface", pass_tag::CHANGES_INTERFACE, Form::Text),
    key("preserves", pass_tag::PRESERVES, Form::Texts),
    key("statistics", pass_tag::STATISTIC, Form::Named(statistic_tag::NAME, statistic_tag::DOC)),
    key("options", pass_tag::OPTION, Form::Options),
];

const REQUIREMENT: &[Key] =
    &[key("pass", required_tag::NAME, Form::Text), key("options", required_tag::OPTION, Form::Values)];

const ATTRIBUTE: &[Key] = &[
    key("kind", attr_tag::KIND, Form::AttrKind),
    key("required", attr_tag::REQUIRED, Form::Truth),
    key("default", attr_tag::DEFAULT, Form::Text),
];

const FORMAL: &[Key] = &[
    key("name", formal_tag::NAME, Form::Text),
    key("kind", formal_tag::KIND, Form::Name(FORMALS)),
    key("type", formal_tag::TYPE_VAR, Form::Text),
];

const TYPE_VAR: &[Key] = &[
    key("tensors", type_var_tag::TENSORS, Form::Elems),
    key("sequences", type_var_tag::SEQUENCES, Form::Elems),
    key("optionals", type_var_tag::OPTIONALS, Form::Elems),
    key("others", type_var_tag::OTHER, Form::Texts),
];

/// The keys of an operator and of an addition to one: which it is, and the parts that can be added.
const PARTS: &[Key] = &[
    key("domain", op_tag::DOMAIN, Form::Text),
    key("name", op_tag::NAME, Form::Text),
    key("since", op_tag::SINCE, Form::Number),
    key("evaluator", op_tag::FLAGS, Form::Flag(op_flag::EVAL)),
    key("makes_body", op_tag::FLAGS, Form::Flag(op_flag::BODY)),
    key("gradient", op_tag::FLAGS, Form::Flag(op_flag::GRADIENT)),
    key("kernel", op_tag::FLAGS, Form::Flag(op_flag::COMPUTE)),
    key("body", op_tag::BODY, Form::Text),
    key("macs", op_tag::MACS, Form::Text),
    key("properties", op_tag::PROPERTY, Form::Named(property_tag::NAME, property_tag::VALUE)),
];

const OPERATOR: &[Key] = &[
    key("doc", op_tag::DOC, Form::Text),
    key("inputs", op_tag::INPUTS, Form::Range),
    key("outputs", op_tag::OUTPUTS, Form::Range),
    key("takes", op_tag::INPUT, Form::List(FORMAL)),
    key("gives", op_tag::OUTPUT, Form::List(FORMAL)),
    key("types", op_tag::TYPE_VAR, Form::Tables(type_var_tag::NAME, TYPE_VAR)),
    key("attributes", op_tag::ATTR, Form::Tables(attr_tag::NAME, ATTRIBUTE)),
    key("effects", op_tag::EFFECTS, Form::Effects),
    key("fusion", op_tag::FUSION, Form::Name(FUSIONS)),
    key("commutative", op_tag::FLAGS, Form::Flag(op_flag::COMMUTATIVE)),
    key("relation", op_tag::FLAGS, Form::Flag(op_flag::INFER)),
    key("verifier", op_tag::FLAGS, Form::Flag(op_flag::VERIFY)),
];

const ADDITION: &[Key] =
    &[key("priority", op_tag::PRIORITY, Form::Short), key("target", op_tag::FOR_TARGET, Form::Text)];

const PIPELINE: &[Key] = &[key("name", pipeline_tag::NAME, Form::Text), key("toml", pipeline_tag::TOML, Form::Text)];

/// A kind of record: the key of its tables, what it is, its keys, and those that must be there.
const RECORDS: &[(&str, u32, Keys, &[&str])] = &[
    ("pass", record_kind::PASS, &[PASS], &["name", "level"]),
    ("operator", record_kind::OPERATOR, &[PARTS, OPERATOR], &["domain", "name", "since", "inputs", "outputs"]),
    ("addition", record_kind::ADDITION, &[PARTS, ADDITION], &["domain", "name", "since"]),
    ("pipeline", record_kind::PIPELINE, &[PIPELINE], &["name", "toml"]),
];

/// The key of the hash of the file that a description is of.
const SHA256: &str = "sha256";

/// The records of the plugin that a text describes: an array for its section.
///
/// # Errors
/// Returns the first error in the text.
pub fn describe(text: &str) -> Result<Vec<u8>, DescriptionError> {
    read(text, None)
}

/// The records of a program that a text describes, and the SHA-256 of the program's file, which the text states.
pub(super) fn describe_program(text: &str) -> Result<(Vec<u8>, String), DescriptionError> {
    let mut sha256 = String::new();
    let section = read(text, Some(&mut sha256))?;
    Ok((section, sha256))
}

fn read(text: &str, sha256: Option<&mut String>) -> Result<Vec<u8>, DescriptionError> {
    let table = DeTable::parse(text).map_err(|error| DescriptionError {
        span: error.span(),
        message: error.message().to_owned(),
        help: None,
    })?;
    let mut table = table.into_inner();
    if let Some(sha256) = sha256 {
        let stated = table.remove(SHA256).ok_or_else(|| whole(&format_args!("a program has no `{SHA256}`")))?;
        self::text(&stated)?.clone_into(sha256);
    }
    let mut out = Vec::new();
    let mut fields = Vec::new();
    push_field(&mut fields, plugin_tag::BOUNDARY, &BOUNDARY.encode());
    push_field(&mut fields, plugin_tag::NEEDS, &BOUNDARY.encode());
    let is_record = |name: &str| name == "option" || RECORDS.iter().any(|(record, ..)| *record == name);
    let own: Vec<_> = table.iter().filter(|(name, _)| !is_record(name.get_ref())).collect();
    let others = RECORDS.iter().map(|(name, ..)| *name).chain(["option"]);
    write_keys(&mut fields, &[PLUGIN], &own, &["name", "version"], "a plugin", others)?;
    if let Some(name) = table.get("name").and_then(|name| name.get_ref().as_str())
        && !table.contains_key("symbol")
    {
        let symbol = format!("{SYMBOL}{}", name.replace('-', "_"));
        push_field(&mut fields, plugin_tag::SHIP_ENTRY, symbol.as_bytes());
    }
    push_record(&mut out, record_kind::PLUGIN, &fields)?;
    for (name, kind, keys, mandatory) in RECORDS {
        let Some(list) = table.get(*name) else { continue };
        let list = array(list, name)
            .map_err(|error| DescriptionError { help: Some(format!("write `[[{name}]]`")), ..error })?;
        for item in list {
            let item = table_of(item, &format!("a {name}"))?;
            let pairs: Vec<_> = item.iter().collect();
            let mut fields = Vec::new();
            if *kind == record_kind::OPERATOR && !item.contains_key("fusion") {
                push_field(&mut fields, op_tag::FUSION, &[FusionKind::OPAQUE.0]);
            }
            write_keys(&mut fields, keys, &pairs, mandatory, &format!("a {name}"), [])?;
            push_record(&mut out, *kind, &fields)?;
        }
    }
    if let Some(options) = table.get("option") {
        for (name, option) in table_of(options, "the options of the context")? {
            let mut fields = Vec::new();
            let mut schema = table_of(option, "an option")?.clone();
            let aliases = schema.remove("aliases");
            let option = Spanned::new(option.span(), DeValue::Table(schema));
            write_option(&mut fields, option_tag::OPTION, Some(name.get_ref()), &option, 0)?;
            aliases.map_or(Ok(()), |aliases| write_value(&mut fields, option_tag::ALIAS, Form::Texts, &aliases))?;
            push_record(&mut out, record_kind::OPTION, &fields)?;
        }
    }
    let section: Arc<[u8]> = out.clone().into();
    let records = read_records(&section).map_err(|error| whole(&error))?;
    let mut names: Vec<&str> = records.passes.iter().map(|pass| pass.name.as_str()).collect();
    names.extend(records.passes.iter().flat_map(|pass| &pass.aliases).map(String::as_str));
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(whole(&format_args!("two passes are called `{}`", twice[0])));
    }
    // The request for a part of an operator does not name a target.
    let key = |parts: &OperatorRecord| (parts.domain.clone(), parts.name.clone(), parts.since_version);
    let mut added: Vec<_> = records.additions.iter().map(|addition| key(&addition.parts)).collect();
    added.sort_unstable();
    if let Some(twice) = added.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(whole(&format_args!(
            "it adds twice to `{}`, for whatever targets: put one into another plugin",
            twice[0].1
        )));
    }
    Ok(out)
}

fn whole(error: &dyn fmt::Display) -> DescriptionError {
    DescriptionError { span: None, message: error.to_string(), help: None }
}

fn push_record(out: &mut Vec<u8>, kind: u32, fields: &[u8]) -> Result<(), DescriptionError> {
    if fields.len() > MAX_LEN {
        let message = format!("a record has {} bytes, and {MAX_LEN} are allowed", fields.len());
        return Err(DescriptionError { span: None, message, help: None });
    }
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&FORMAT.to_le_bytes());
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&(fields.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&checksum(fields).to_le_bytes());
    out.extend_from_slice(fields);
    Ok(())
}

fn fault(node: &Node<'_>, message: String) -> DescriptionError {
    DescriptionError { span: Some(node.span()), message, help: None }
}

/// Writes the fields of a table: those of an order in that order, the flags together at the end.
fn write_keys<'k>(
    out: &mut Vec<u8>,
    keys: &[&[Key]],
    pairs: &[(&Spanned<std::borrow::Cow<'_, str>>, &Node<'_>)],
    mandatory: &[&str],
    what: &str,
    others: impl IntoIterator<Item = &'k str>,
) -> Result<(), DescriptionError> {
    let others: Vec<&str> = others.into_iter().collect();
    if let Some(missing) = mandatory.iter().find(|name| !pairs.iter().any(|(key, _)| key.get_ref() == **name)) {
        let message = format!("{what} has no `{missing}`");
        return Err(DescriptionError { span: pairs.first().map(|(key, _)| key.span()), message, help: None });
    }
    let (mut flags, mut flags_tag) = (0, None);
    for (name, node) in pairs {
        let keys = || keys.iter().copied().flatten();
        let Some(key) = keys().find(|key| key.name == name.get_ref()) else {
            let known = keys().map(|key| key.name).chain(others.iter().copied());
            let near = nearest(name.get_ref(), known);
            let help = (!near.is_empty()).then(|| format!("did you mean {}?", or_list(&near)));
            let message = format!("`{}` is not a key of {what}", name.get_ref());
            return Err(DescriptionError { span: Some(name.span()), message, help });
        };
        match key.form {
            Form::Flag(bit) => {
                flags |= if truth(node)? { bit } else { 0 };
                flags_tag = Some(key.tag);
            }
            form => write_value(out, key.tag, form, node)?,
        }
    }
    if let Some(tag) = flags_tag {
        push_field(out, tag, &flags.to_le_bytes());
    }
    Ok(())
}

fn write_value(out: &mut Vec<u8>, tag: u16, form: Form, node: &Node<'_>) -> Result<(), DescriptionError> {
    match form {
        Form::Text => push_field(out, tag, text(node)?.as_bytes()),
        Form::Symbol => {
            let name = text(node)?;
            let is_symbol = name.starts_with(SYMBOL) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_symbol {
                return Err(fault(node, format!("`{name}` is not a name in C that begins with `{SYMBOL}`")));
            }
            push_field(out, tag, name.as_bytes());
        }
        Form::Texts => {
            for item in array(node, "the list")? {
                push_field(out, tag, text(item)?.as_bytes());
            }
        }
        Form::Requirements => {
            for item in array(node, "the list")? {
                let Some(table) = item.get_ref().as_table() else {
                    push_field(out, tag, text(item)?.as_bytes());
                    continue;
                };
                let (mut inner, pairs) = (Vec::new(), table.iter().collect::<Vec<_>>());
                write_keys(&mut inner, &[REQUIREMENT], &pairs, &["pass"], "a requirement", [])?;
                push_field(out, pass_tag::REQUIRED_WITH, &inner);
            }
        }
        Form::Values => {
            for (name, value) in table_of(node, "this")? {
                let mut inner = Vec::new();
                push_field(&mut inner, required_option_tag::NAME, name.get_ref().as_bytes());
                push_field(&mut inner, required_option_tag::VALUE, &plain(value)?.encode());
                push_field(out, tag, &inner);
            }
        }
        Form::Byte => push_field(out, tag, &[number(node)?]),
        Form::Number => push_field(out, tag, &number::<u32>(node)?.to_le_bytes()),
        Form::Short => push_field(out, tag, &number::<u16>(node)?.to_le_bytes()),
        Form::Name(names) => push_field(out, tag, &[named(node, names)?]),
        Form::Truth => push_field(out, tag, &[u8::from(truth(node)?)]),
        Form::Flag(_) => {}
        Form::Effects => {
            let mut effects = 0;
            for item in array(node, "the effects")? {
                effects |= named(item, EFFECTS)?;
            }
            push_field(out, tag, &effects.to_le_bytes());
        }
        Form::Range => {
            let (fewest, most) = match node.get_ref() {
                DeValue::Array(list) if list.len() == 2 => (number::<u16>(&list[0])?, number::<u16>(&list[1])?),
                DeValue::Array(list) if list.len() == 1 => (number::<u16>(&list[0])?, u16::MAX),
                DeValue::Array(_) => return Err(fault(node, "a range is `[FEWEST, MOST]` or `[FEWEST]`".into())),
                _ => [number::<u16>(node)?; 2].into(),
            };
            push_field(out, tag, &(u32::from(fewest) | u32::from(most) << 16).to_le_bytes());
        }
        Form::Elems => {
            let elem = |item: &Node<'_>| {
                let name = text(item)?;
                let elem = ElemType::from_name(name);
                elem.map(|elem| elem.0).ok_or_else(|| fault(item, format!("`{name}` is not an element type")))
            };
            let elems: Vec<u8> = array(node, "the element types")?.iter().map(elem).collect::<Result<_, _>>()?;
            push_field(out, tag, &elems);
        }
        Form::AttrKind => {
            let name = text(node)?;
            let kind = (1..=attr_kind::TYPES).find(|&kind| attr_kind::name(kind) == name);
            let kind = kind.ok_or_else(|| fault(node, format!("`{name}` is not a kind of attribute")))?;
            push_field(out, tag, &[kind]);
        }
        Form::Named(name_tag, value_tag) => {
            for (name, value) in table_of(node, "this")? {
                let mut inner = Vec::new();
                push_field(&mut inner, name_tag, name.get_ref().as_bytes());
                push_field(&mut inner, value_tag, text(value)?.as_bytes());
                push_field(out, tag, &inner);
            }
        }
        Form::Tables(name_tag, keys) => {
            for (name, value) in table_of(node, "this")? {
                let mut inner = Vec::new();
                push_field(&mut inner, name_tag, name.get_ref().as_bytes());
                let pairs: Vec<_> = table_of(value, name.get_ref())?.iter().collect();
                write_keys(&mut inner, &[keys], &pairs, &[], &format!("`{}`", name.get_ref()), [])?;
                push_field(out, tag, &inner);
            }
        }
        Form::List(keys) => {
            for item in array(node, "the list")? {
                let mut inner = Vec::new();
                let pairs: Vec<_> = table_of(item, "an entry")?.iter().collect();
                write_keys(&mut inner, &[keys], &pairs, &["name", "type"], "an entry", [])?;
                push_field(out, tag, &inner);
            }
        }
        Form::Options => {
            for (name, option) in table_of(node, "the options")? {
                write_option(out, tag, Some(name.get_ref()), option, 0)?;
            }
        }
        Form::Domains => {
            for (domain, version) in table_of(node, "the domains")? {
                let mut inner = number::<u32>(version)?.to_le_bytes().to_vec();
                inner.extend_from_slice(domain.get_ref().as_bytes());
                push_field(out, tag, &inner);
            }
        }
    }
    Ok(())
}

/// The types of options.
const TYPES: &[(&str, u8)] = &[
    ("bool", kind_number::BOOL),
    ("integer", kind_number::INT),
    ("float", kind_number::FLOAT),
    ("string", kind_number::STR),
    ("choice", kind_number::CHOICE),
    ("list", kind_number::LIST),
    ("table", kind_number::STRUCT),
    ("path", kind_number::PATH),
];

/// Writes the schema of an option, or only its kind if it has no name.
fn write_option(
    out: &mut Vec<u8>,
    tag: u16,
    name: Option<&str>,
    node: &Node<'_>,
    depth: usize,
) -> Result<(), DescriptionError> {
    if depth > options::MAX_DEPTH {
        return Err(fault(node, "options are nested too deep".into()));
    }
    let table = table_of(node, "an option")?;
    let ty = table.get("type").ok_or_else(|| fault(node, "an option has no `type`".into()))?;
    let number = named(ty, TYPES)?;
    let (mut kind, mut fields) = (Vec::new(), Vec::new());
    push_field(&mut kind, kind_tag::NUMBER, &[number]);
    let mut default = None;
    for (key, value) in table {
        match (key.get_ref().as_ref(), number) {
            ("type", _) => {}
            ("doc", _) => push_field(&mut fields, options::tag::DOC, text(value)?.as_bytes()),
            ("optional", _) if name.is_some() => {
                push_field(&mut fields, options::tag::OPTIONAL, &[u8::from(truth(value)?)]);
            }
            ("default", _) if name.is_some() => default = Some(value),
            (limit @ ("min" | "max"), kind_number::INT | kind_number::FLOAT) => {
                let bytes = match (plain(value)?, number) {
                    (Value::Int(limit), kind_number::INT) => limit.to_le_bytes(),
                    (Value::Int(limit), _) => (limit as f64).to_le_bytes(),
                    (Value::Float(limit), kind_number::FLOAT) => limit.to_le_bytes(),
                    _ => return Err(fault(value, "this is not a number".into())),
                };
                push_field(&mut kind, if limit == "min" { kind_tag::MIN } else { kind_tag::MAX }, &bytes);
            }
            ("unit", kind_number::INT) => {
                push_field(&mut kind, kind_tag::UNIT, &[named(value, &[("bytes", unit_number::BYTES)])?]);
            }
            ("choices", kind_number::CHOICE) => {
                for (choice, doc) in table_of(value, "the choices")? {
                    let mut inner = Vec::new();
                    push_field(&mut inner, options::tag::NAME, choice.get_ref().as_bytes());
                    push_field(&mut inner, options::tag::DOC, text(doc)?.as_bytes());
                    push_field(&mut kind, kind_tag::CHOICE, &inner);
                }
            }
            ("items", kind_number::LIST) => write_option(&mut kind, kind_tag::ITEM, None, value, depth + 1)?,
            ("fields", kind_number::STRUCT) => {
                for (field, option) in table_of(value, "the fields")? {
                    write_option(&mut kind, kind_tag::FIELD, Some(field.get_ref()), option, depth + 1)?;
                }
            }
            (other, _) => {
                let ty = text(ty)?;
                let span = Some(key.span());
                let message = format!("`{other}` is not a key of an option of type `{ty}`");
                return Err(DescriptionError { span, message, help: None });
            }
        }
    }
    let Some(name) = name else {
        push_field(out, tag, &kind);
        return Ok(());
    };
    let mut inner = Vec::new();
    push_field(&mut inner, options::tag::NAME, name.as_bytes());
    push_field(&mut inner, options::tag::KIND, &kind);
    inner.extend_from_slice(&fields);
    if let Some(node) = default {
        // It is read as it will be, by itself.
        let schema = OptionSchema::read(&inner).map_err(|cause| fault(node, cause.to_string()))?;
        let value = as_kind(plain(node)?, &schema.kind);
        schema.kind.check(&value, name).map_err(|why| fault(node, why.to_string()))?;
        push_field(&mut inner, options::tag::DEFAULT, &value.encode());
    }
    push_field(out, tag, &inner);
    Ok(())
}

/// A value, its whole numbers being floats where the option takes these.
fn as_kind(value: Value, kind: &ValueKind) -> Value {
    match (value, kind) {
        (Value::Int(number), ValueKind::Float { .. }) => Value::Float(number as f64),
        (Value::List(items), ValueKind::List(kind)) => {
            Value::List(items.into_iter().map(|item| as_kind(item, kind)).collect())
        }
        (Value::Struct(fields), ValueKind::Struct(options)) => {
            let field = |(name, value): (String, Value)| match options.iter().find(|option| option.name == name) {
                Some(option) => (name, as_kind(value, &option.kind)),
                None => (name, value),
            };
            Value::Struct(fields.into_iter().map(field).collect())
        }
        (value, _) => value,
    }
}

/// A value as it is written.
fn plain(node: &Node<'_>) -> Result<Value, DescriptionError> {
    Ok(match node.get_ref() {
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::String(text) => Value::Str(text.clone().into_owned()),
        DeValue::Integer(_) => Value::Int(number(node)?),
        DeValue::Float(float) => {
            let float: Option<f64> = float.as_str().replace('_', "").parse().ok();
            Value::Float(float.ok_or_else(|| fault(node, "this is not a number".into()))?)
        }
        DeValue::Array(items) => Value::List(items.iter().map(plain).collect::<Result<_, _>>()?),
        DeValue::Table(table) => {
            let pair = |(name, value): (&Spanned<std::borrow::Cow<'_, str>>, &Node<'_>)| {
                Ok((name.get_ref().to_string(), plain(value)?))
            };
            Value::Struct(table.iter().map(pair).collect::<Result<_, _>>()?)
        }
        DeValue::Datetime(_) => return Err(fault(node, "no option is a date".into())),
    })
}

fn text<'n>(node: &'n Node<'_>) -> Result<&'n str, DescriptionError> {
    node.get_ref().as_str().ok_or_else(|| fault(node, "this is not a string".into()))
}

fn truth(node: &Node<'_>) -> Result<bool, DescriptionError> {
    node.get_ref().as_bool().ok_or_else(|| fault(node, "this is neither `true` nor `false`".into()))
}

fn number<N: TryFrom<i64>>(node: &Node<'_>) -> Result<N, DescriptionError> {
    let number = match node.get_ref() {
        DeValue::Integer(number) => i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok(),
        _ => None,
    };
    let number = number.and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| fault(node, "this is not a whole number that fits".into()))
}

fn named<T: Copy>(node: &Node<'_>, names: &[(&'static str, T)]) -> Result<T, DescriptionError> {
    let name = text(node)?;
    let found = names.iter().find(|(known, _)| *known == name);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let known: Vec<String> = names.iter().map(|(known, _)| format!("`{known}`")).collect();
        fault(node, format!("`{name}` is none of {}", known.join(", ")))
    })
}

fn array<'n, 't>(node: &'n Node<'t>, what: &str) -> Result<&'n [Node<'t>], DescriptionError> {
    match node.get_ref() {
        DeValue::Array(items) => Ok(&items[..]),
        _ => Err(fault(node, format!("{what} is not an array"))),
    }
}

fn table_of<'n, 't>(node: &'n Node<'t>, what: &str) -> Result<&'n DeTable<'t>, DescriptionError> {
    node.get_ref().as_table().ok_or_else(|| fault(node, format!("{what} is not a table")))
}
