//! The names in a new crate: those requested, checked against the grammars of all their readers.

use super::{args_plugin::NewArgs, terminal::CliError};
use relais_plugin_api::boundary::record::is_name;
use std::collections::BTreeMap;

/// Longer names would make lines unreadable.
const MAX_NAME: usize = 64;

/// The kinds of pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PassKind {
    Rules,
    Rewrite,
    Function,
    Module,
    Sequential,
}

/// The initial contents of a crate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// A pass, by its full name.
    Pass(PassKind, String),
    /// An operator: its domain, its name.
    Operator(String, String),
    /// An instrument, by its full name.
    Instrument(String),
}

impl Item {
    /// The name, as people write it.
    pub fn name(&self) -> String {
        match self {
            Self::Pass(_, name) | Self::Instrument(name) => name.clone(),
            Self::Operator(domain, name) => format!("{domain}::{name}"),
        }
    }

    /// Returns the kind of item.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass(..) => "pass",
            Self::Operator(..) => "operator",
            Self::Instrument(_) => "instrument",
        }
    }
}

/// Returns the initial items of the crate, by the names of their modules.
pub(crate) fn items(args: &NewArgs) -> Result<BTreeMap<String, Item>, CliError> {
    check_crate_name(&args.name)?;
    let mut items = Vec::new();
    for pass in &args.pass {
        items.push(parse_pass(pass, &args.name)?);
    }
    for operator in &args.operator {
        let (domain, name) = operator.split_once("::").unwrap_or((&args.name, operator));
        check_name("an operator's domain", domain)?;
        check_name("an operator", name)?;
        items.push(Item::Operator(domain.into(), name.into()));
    }
    for instrument in &args.instrument {
        items.push(Item::Instrument(full_name("an instrument", instrument, &args.name)?));
    }
    if items.is_empty() {
        let pass = format!("{}.{}", args.name, camel(&args.name));
        items.push(Item::Pass(PassKind::Rewrite, full_name("a pass", &pass, &args.name)?));
    }
    let mut modules: BTreeMap<String, Item> = BTreeMap::new();
    for item in items {
        let module = module_of(&item)?;
        if let Some(other) = modules.get(&module) {
            return Err(CliError::usage(format!(
                "{} `{}` and {} `{}` would both stand in `src/{module}.rs`",
                other.word(),
                other.name(),
                item.word(),
                item.name()
            ))
            .help("give them names that differ after their last dots"));
        }
        modules.insert(module, item);
    }
    Ok(modules)
}

fn parse_pass(text: &str, crate_name: &str) -> Result<Item, CliError> {
    let (kind, name) = text.split_once(':').unwrap_or(("rewrite", text));
    let kind = match kind {
        "rules" => PassKind::Rules,
        "rewrite" => PassKind::Rewrite,
        "function" => PassKind::Function,
        "module" => PassKind::Module,
        "sequential" => PassKind::Sequential,
        _ => {
            return Err(CliError::usage(format!("`{kind}` is not a kind of pass")).help(
                "the kinds are `rules`, `rewrite`, `function`, `module` and `sequential`, as in `rules:acme.Fold`",
            ));
        }
    };
    Ok(Item::Pass(kind, full_name("a pass", name, crate_name)?))
}

/// A name with a namespace: the crate's, where it has none.
fn full_name(what: &str, name: &str, crate_name: &str) -> Result<String, CliError> {
    let full = if name.contains('.') { name.to_owned() } else { format!("{crate_name}.{name}") };
    check_name(what, name)?;
    check_name(what, &full)?;
    Ok(full)
}

fn check_name(what: &str, name: &str) -> Result<(), CliError> {
    if !is_name(name) {
        return Err(CliError::usage(format!("{name:?} cannot be the name of {what}"))
            .help("a name is words of letters, digits, `_` and `-` joined by dots, such as `acme.FuseMyThing`"));
    }
    if name.len() > MAX_NAME {
        return Err(CliError::usage(format!("`{name}` is too long for the name of {what}"))
            .help(format!("take at most {MAX_NAME} letters")));
    }
    Ok(())
}

/// Checks that cargo accepts the name for a package with a library.
fn check_crate_name(name: &str) -> Result<(), CliError> {
    let wrong = |why: &str| Err(CliError::usage(format!("{name:?} cannot be the name of a crate: {why}")));
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let library = name.replace('-', "_");
    match name.chars().next() {
        None => wrong("it is empty"),
        Some(first) if !first.is_ascii_alphabetic() && first != '_' => wrong("it does not begin with a letter"),
        _ if !name.chars().all(is_letter) => wrong("it has more than letters, digits, `-` and `_`"),
        _ if name.len() > MAX_NAME => wrong("it is too long"),
        _ if is_keyword(&library) || library.trim_matches('_').is_empty() => wrong("Rust means something else by it"),
        _ if TAKEN.contains(&library.as_str()) => wrong("another crate has it that it depends on"),
        _ => Ok(()),
    }
}

/// Crates that every plugin depends on, and cargo's own `test`.
const TAKEN: [&str; 8] =
    ["alloc", "core", "proc_macro", "relais", "relais_conformance", "relais_plugin_api", "std", "test"];

const KEYWORDS: [&str; 53] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "lib",
];

fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Returns the module that contains an item: the last part of its name in snake case.
fn module_of(item: &Item) -> Result<String, CliError> {
    let name = item.name();
    let short = name.rsplit(['.', ':']).next().unwrap_or(&name);
    let module = snake(short);
    let is_identifier =
        !module.starts_with(|first: char| first.is_ascii_digit()) && !module.trim_matches('_').is_empty();
    if !is_identifier || is_keyword(&module) || TAKEN.contains(&module.as_str()) {
        return Err(CliError::usage(format!("{} `{name}` cannot stand in a module `{module}`", item.word()))
            .help("take a name whose last word begins with a letter and means nothing to Rust"));
    }
    Ok(module)
}

fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, &letter) in letters.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| letters[i]);
        let is_after_word = before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit());
        let ends_acronym = before.is_some_and(|before| before.is_ascii_uppercase())
            && letters.get(i + 1).is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && (is_after_word || ends_acronym) {
            out.push('_');
        }
        out.push(if letter == '-' { '_' } else { letter.to_ascii_lowercase() });
    }
    out
}

fn camel(name: &str) -> String {
    let words = name.split(['-', '_']);
    words
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
        })
        .collect()
}
