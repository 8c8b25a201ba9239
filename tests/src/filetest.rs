//! Filetests: a pass on text, and the properties of every pass on every text.

use crate::reference::Judge;
use relais::{
    pass::{PassContext, RunCx, Scope},
    plugin::{Policy, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
};
use relais_conformance::{
    interface::same_interface,
    numbers::{Judgement, same_numbers},
};
use relais_plugin_api::{
    boundary::local::{self, LocalRun},
    ir::*,
    options::Value,
    text::{self, PrintOptions, Types},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The keys that the header of a case may have.
pub const KEYS: &[&str] = &["pass", "options", "before", "unchanged", "idempotent", "types", "numbers", "tolerance"];

/// The beginning of the key `numbers`, followed by the reason why the case cannot be compared.
const NOT_EVALUATED: &str = "not evaluated: ";

/// The line before the expected text, in comments.
const EXPECTED: &str = "// expected:";

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// The pass.
    pub pass: String,
    /// Its options.
    pub options: Value,
    /// Passes to run first.
    pub before: Vec<String>,
    /// The pass leaves the module alone.
    pub unchanged: bool,
    /// A second run changes nothing.
    pub idempotent: bool,
    /// Types of bindings are part of the expectation.
    pub types: bool,
    /// Why the results before and after cannot be compared: an operator without an evaluator (`Erf`), or a parameter
    /// for whose type no values can be generated here (`%x`).
    pub not_evaluated: Option<String>,
    /// How far floats may be apart, relative to their size; 0 is bit for bit.
    pub tolerance: f64,
    /// The module.
    pub input: String,
    /// The expected text.
    pub expected: Option<String>,
}

/// A property that does not hold for a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// The case itself can be read and run.
    Case,
    /// Printed text parses to an equal module, and prints the same.
    RoundTrip,
    /// The verifier finds nothing, before and after.
    Verified,
    /// A second run changes nothing.
    Idempotent,
    /// The pass reports a change if and only if it changed the module.
    HonestChanged,
    /// The parameters and results of `@main` keep their names and types.
    SameInterface,
    /// The module computes the same before and after, or the case states what cannot be evaluated.
    SameNumbers,
    /// Linked and loaded, the pass does the same.
    StaticEqualsLoaded,
    /// The text is the expected one.
    Expected,
}

/// A property that does not hold, and how that shows.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Which.
    pub property: Property,
    /// How it shows.
    pub how: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.property, self.how)
    }
}

/// Passes that are loaded from libraries, as the program loads them.
pub struct Libraries(Registry);

impl Libraries {
    /// Finds the plugins in these files.
    ///
    /// # Panics
    /// Panics if one of them is refused.
    pub fn open(files: &[PathBuf]) -> Self {
        let policy = Policy { writable: WritableFiles::Allow };
        let registry = Registry::new(discover(&[], files, policy), Linked::Exclude, &Choices::new());
        assert_eq!(registry.refused(), []);
        Self(registry)
    }

    /// Returns the names of all passes and operators, without the part before the last dot.
    pub fn names(&self) -> BTreeSet<String> {
        let passes = self.0.passes().map(|(pass, _)| pass.name.as_str());
        let operators = self.0.operators().map(|(operator, _)| operator.name.as_str());
        passes.chain(operators).filter_map(|name| name.rsplit('.').next()).map(str::to_owned).collect()
    }

    /// The full names of all passes.
    pub fn passes(&self) -> Vec<String> {
        self.0.passes().map(|(pass, _)| pass.name.clone()).collect()
    }

    fn run(&self, pass: &str, options: &Value, module: &IRModule) -> Result<IRModule, String> {
        let pass = self.0.create(pass, options).map_err(|error| error.to_string())?;
        // Every member of a sequential pass is on, as where it is linked.
        let context = Arc::new(PassContext::new(Scope { opt_level: u8::MAX, ..Scope::default() }));
        let ran = context.scope(|_| pass.run(module, &RunCx::new(&self.0))).map_err(|error| error.to_string())?;
        let outcome = ran.map_err(|error| error.to_string())?;
        Ok(outcome.module.unwrap_or_else(|| module.clone()))
    }
}

impl Case {
    /// Parses a case; the pass is `folder` unless the header names another.
    ///
    /// # Errors
    /// Returns the error in the header.
    pub fn parse(folder: &str, source: &str) -> Result<Self, String> {
        let header: String =
            source.lines().map_while(|line| line.strip_prefix("//!")).map(|line| format!("{line}\n")).collect();
        let header: toml::Table = header.parse().map_err(|error| format!("the header is no TOML: {error}"))?;
        if let Some(key) = header.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("unknown key `{key}` in the header; known are {KEYS:?}"));
        }
        let (input, expected) = match source.split_once(EXPECTED) {
            Some((input, expected)) => (input, Some(uncommented(expected)?)),
            None => (source, None),
        };
        let is = |key: &str, default: bool| header.get(key).map_or(Some(default), toml::Value::as_bool);
        let list = |key: &str| -> Option<Vec<String>> {
            let Some(value) = header.get(key) else { return Some(Vec::new()) };
            value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let case = || -> Option<Self> {
            Some(Self {
                pass: header.get("pass").map_or(Some(folder), toml::Value::as_str)?.to_owned(),
                options: header.get("options").map_or(Value::Struct(Vec::new()), to_value),
                before: list("before")?,
                unchanged: is("unchanged", false)?,
                idempotent: is("idempotent", true)?,
                types: is("types", false)?,
                not_evaluated: match header.get("numbers") {
                    Some(value) => Some(value.as_str()?.strip_prefix(NOT_EVALUATED)?.to_owned()),
                    None => None,
                },
                tolerance: header.get("tolerance").map_or(Some(0.0), toml::Value::as_float)?,
                input: input.to_owned(),
                expected,
            })
        };
        case().ok_or_else(|| "a value in the header has the wrong type".to_owned())
    }

    /// Returns the source with the current output of the pass as the expectation.
    pub fn blessed(&self, output: &str) -> String {
        if self.unchanged {
            return format!("{}\n", self.input.trim_end());
        }
        let comment: String =
            output.trim_end().lines().map(|line| format!("// {line}").trim_end().to_owned() + "\n").collect();
        format!("{}\n\n{EXPECTED}\n{comment}", self.input.trim_end())
    }

    /// Runs the case; returns the text of the result and every property that does not hold.
    pub fn check(&self, loaded: Option<&Libraries>) -> (String, Vec<Failure>) {
        let mut failures = Vec::new();
        match self.run(loaded, &mut failures) {
            Ok(text) => (text, failures),
            Err(how) => {
                failures.push(Failure { property: Property::Case, how });
                (String::new(), failures)
            }
        }
    }

    fn run(&self, loaded: Option<&Libraries>, failures: &mut Vec<Failure>) -> Result<String, String> {
        let none = Value::Struct(Vec::new());
        let mut before = text::parse_str(&self.input).map_err(|errors| lines(&errors))?;
        let info = local::info(&self.pass).ok_or_else(|| format!("no pass `{}` is linked", self.pass))?;
        for name in info.required.iter().copied().chain(self.before.iter().map(String::as_str)) {
            before = local::run(name, &none, &before).map_err(|error| format!("`{name}`: {error}"))?.module;
        }
        let faults = verify(&before);
        if !faults.is_empty() {
            return Err(format!("the input is not sound:\n{}", lines(&faults)));
        }
        let LocalRun { module: after, changed, .. } =
            local::run(&self.pass, &self.options, &before).map_err(|error| format!("`{}`: {error}", self.pass))?;
        let mut fail = |property, how: String| failures.push(Failure { property, how });

        let faults = verify(&after);
        if !faults.is_empty() {
            // Nothing else can be asked of a module that is not sound.
            fail(Property::Verified, lines(&faults));
            return Ok(String::new());
        }
        for module in [&before, &after] {
            if let Err(how) = round_trip(module) {
                fail(Property::RoundTrip, how);
            }
        }
        let difference = equal(&before, &after).err();
        match (&difference, changed) {
            (Some(difference), false) => fail(Property::HonestChanged, format!("says unchanged, but {difference}")),
            (None, true) => fail(Property::HonestChanged, "says changed, but nothing differs".into()),
            _ => {}
        }
        if self.idempotent {
            match local::run(&self.pass, &self.options, &after) {
                Ok(again) => {
                    if let Err(difference) = equal(&after, &again.module) {
                        fail(Property::Idempotent, difference.to_string());
                    }
                }
                Err(error) => fail(Property::Idempotent, format!("the second run fails: {error}")),
            }
        }
        if let Err(how) = same_interface(&before, &after) {
            fail(Property::SameInterface, how);
        }
        // An unchanged module computes the same.
        let judgement =
            difference.as_ref().map_or(Ok(Judgement::Same), |_| same_numbers(&before, &after, self.tolerance, &Judge));
        if let Err(how) = judgement.map_err(|differ| differ.how).and_then(|judgement| self.accept(judgement)) {
            fail(Property::SameNumbers, how);
        }
        if let Some(loaded) = loaded {
            let same = loaded.run(&self.pass, &self.options, &before);
            let same = same.and_then(|module| equal(&after, &module).map_err(|difference| difference.to_string()));
            if let Err(how) = same {
                fail(Property::StaticEqualsLoaded, how);
            }
        }
        let text = self.text(&after);
        match (&self.expected, self.unchanged) {
            (None, true) => {
                if let Some(difference) = difference {
                    fail(Property::Expected, format!("expected no change, but {difference}"));
                }
            }
            (Some(_), true) => fail(Property::Expected, "a case that is `unchanged` expects no text".into()),
            (None, false) => fail(Property::Expected, format!("there is no expectation; the result is\n{text}")),
            (Some(_), false) if difference.is_none() => {
                fail(Property::Expected, "nothing changes, and the header does not say `unchanged`".into());
            }
            (Some(expected), false) if expected.trim() != text.trim() => {
                fail(Property::Expected, diff(expected.trim(), text.trim()));
            }
            _ => {}
        }
        Ok(text)
    }

    fn accept(&self, judgement: Judgement) -> Result<(), String> {
        match (judgement, &self.not_evaluated) {
            (Judgement::Same, None) => Ok(()),
            (Judgement::NotEvaluated { what, .. }, Some(declared)) if what == *declared => Ok(()),
            (Judgement::Same, Some(declared)) => {
                Err(format!("the header says that `{declared}` is not evaluated, but it is"))
            }
            (Judgement::NotEvaluated { what, why }, _) => Err(format!(
                "results cannot be compared: {why}; use what can be evaluated, or say `numbers = \"{NOT_EVALUATED}{what}\"`"
            )),
        }
    }

    fn text(&self, module: &IRModule) -> String {
        let types = if self.types { Types::All } else { Types::Signatures };
        text::print(module, &PrintOptions { types, ..PrintOptions::default() })
    }
}

/// All cases below a folder, by name: `<folder>/<case>` and the path of the file.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn find_cases(root: &Path) -> std::io::Result<BTreeMap<String, PathBuf>> {
    let mut cases = BTreeMap::new();
    for folder in std::fs::read_dir(root)? {
        let folder = folder?.path();
        if !folder.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&folder)? {
            let file = file?.path();
            if let (Some(folder), Some(stem)) = (folder.file_name(), file.file_stem()) {
                cases.insert(format!("{}/{}", folder.display(), stem.display()), file);
            }
        }
    }
    Ok(cases)
}

fn lines(items: &[impl fmt::Display]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}

fn uncommented(text: &str) -> Result<String, String> {
    let lines = text.trim().lines().map(|line| {
        let line = line.strip_prefix("//").ok_or_else(|| format!("`{line}` after `{EXPECTED}` is no comment"))?;
        Ok(format!("{}\n", line.strip_prefix(' ').unwrap_or(line)))
    });
    lines.collect()
}

fn to_value(value: &toml::Value) -> Value {
    match value {
        toml::Value::Boolean(value) => Value::Bool(*value),
        toml::Value::Integer(value) => Value::Int(*value),
        toml::Value::Float(value) => Value::Float(*value),
        toml::Value::Array(items) => Value::List(items.iter().map(to_value).collect()),
        toml::Value::Table(table) => {
            Value::Struct(table.iter().map(|(name, value)| (name.clone(), to_value(value))).collect())
        }
        other => Value::Str(other.as_str().map_or_else(|| other.to_string(), str::to_owned)),
    }
}

fn round_trip(module: &IRModule) -> Result<(), String> {
    let text = text::print(module, &PrintOptions::default());
    let read = text::parse_str(&text).map_err(|errors| format!("{}in\n{text}", lines(&errors)))?;
    equal(module, &read).map_err(|difference| format!("{difference} in\n{text}"))?;
    let again = text::print(&read, &PrintOptions::default());
    if again == text { Ok(()) } else { Err(diff(&text, &again)) }
}

fn diff(expected: &str, found: &str) -> String {
    let diff = similar::TextDiff::from_lines(expected, found);
    diff.unified_diff().header("expected", "found").to_string()
}
