//! Filetests: a pass on text, and what holds for every pass on every text.

use crate::interpret::{self, Stop};
use relais::{
    pass::RunCx,
    plugin::{Policy, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
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
};

/// What the header of a case may say.
pub const KEYS: &[&str] = &["pass", "options", "before", "unchanged", "idempotent", "types", "judge", "tolerance"];

/// The line after which the expected text stands, in comments.
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
    /// The results of running the module before and after are compared.
    pub judge: bool,
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
    /// What is printed is read back equal, and prints the same.
    RoundTrip,
    /// The verifier finds nothing, before and after.
    Verified,
    /// A second run changes nothing.
    Idempotent,
    /// The pass says that it changed the module if and only if it did.
    HonestChanged,
    /// The module computes the same before and after.
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
    /// When one of them is refused.
    pub fn open(files: &[PathBuf]) -> Self {
        let policy = Policy { writable: WritableFiles::Allow };
        let registry = Registry::new(discover(&[], files, policy), Linked::Exclude, &Choices::new());
        assert_eq!(registry.refused(), []);
        Self(registry)
    }

    /// The names of all passes and operators, without what stands before the last dot.
    pub fn names(&self) -> BTreeSet<String> {
        let passes = self.0.passes().map(|(pass, _)| pass.name.as_str());
        let operators = self.0.operators().map(|(operator, _)| operator.name.as_str());
        passes.chain(operators).filter_map(|name| name.rsplit('.').next()).map(str::to_owned).collect()
    }

    fn run(&self, pass: &str, options: &Value, module: &IRModule) -> Result<IRModule, String> {
        let pass = self.0.create(pass, options).map_err(|error| error.to_string())?;
        let outcome = pass.run(module, &RunCx::new(&self.0)).map_err(|error| error.to_string())?;
        Ok(outcome.module.unwrap_or_else(|| module.clone()))
    }
}

impl Case {
    /// Reads a case; the pass is `folder` unless the header says otherwise.
    ///
    /// # Errors
    /// What is wrong with the header.
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
                judge: is("judge", true)?,
                tolerance: header.get("tolerance").map_or(Some(0.0), toml::Value::as_float)?,
                input: input.to_owned(),
                expected,
            })
        };
        case().ok_or_else(|| "a value in the header has the wrong type".to_owned())
    }

    /// The source with what the pass gives now as the expectation.
    pub fn blessed(&self, output: &str) -> String {
        if self.unchanged {
            return format!("{}\n", self.input.trim_end());
        }
        let comment: String =
            output.trim_end().lines().map(|line| format!("// {line}").trim_end().to_owned() + "\n").collect();
        format!("{}\n\n{EXPECTED}\n{comment}", self.input.trim_end())
    }

    /// Runs the case; gives the text of the result and every property that does not hold.
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
        if self.judge
            && let Err(how) = same_numbers(&before, &after, self.tolerance)
        {
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

    fn text(&self, module: &IRModule) -> String {
        let types = if self.types { Types::All } else { Types::Signatures };
        text::print(module, &PrintOptions { types, ..PrintOptions::default() })
    }
}

/// All cases below a folder, by name: `<folder>/<case>` and the path of the file.
///
/// # Errors
/// When the folder cannot be read.
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

fn same_numbers(before: &IRModule, after: &IRModule, tolerance: f64) -> Result<(), String> {
    let main = before.main().ok_or("no `@main`")?;
    for seed in 1..=3 {
        let Some(inputs) = inputs(main, seed) else { return Ok(()) };
        let [old, new] = [before, after].map(|module| interpret::run(module, MAIN, &inputs));
        let (old, new) = match (old, new) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(Stop::Wrong(how)), _) | (_, Err(Stop::Wrong(how))) => return Err(how),
            // Without an evaluator there is no judgement here; models are judged elsewhere.
            _ => return Ok(()),
        };
        if old.len() != new.len() {
            return Err(format!("{} results became {}", old.len(), new.len()));
        }
        for (at, (a, b)) in old.iter().zip(&new).enumerate() {
            if !is_close(a, b, tolerance) {
                return Err(format!("result {at} differs for seed {seed}: {:?} and {:?}", values(a), values(b)));
            }
        }
    }
    Ok(())
}

fn values(tensor: &Tensor) -> String {
    match (tensor.to_f32s(), tensor.to_i64s()) {
        (Some(values), _) => format!("{values:?}"),
        (_, Some(values)) => format!("{values:?}"),
        _ => format!("{:?}", tensor.to_bytes()),
    }
}

fn is_close(a: &Tensor, b: &Tensor, tolerance: f64) -> bool {
    if a == b {
        return true;
    }
    let (Some(x), Some(y)) = (a.to_f32s(), b.to_f32s()) else { return false };
    tolerance > 0.0
        && a.dims() == b.dims()
        && x.iter().zip(&y).all(|(&x, &y)| {
            let (x, y) = (f64::from(x), f64::from(y));
            (x.is_nan() && y.is_nan()) || x == y || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0)
        })
}

/// Values for each parameter, with negative zero, infinity and NaN among the floats; `None` for types that have no
/// such values here.
fn inputs(f: &Function, seed: u64) -> Option<Vec<Tensor>> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let params = f.params().iter().map(|&param| {
        let (elem, shape) = f.type_of(param).as_tensor()?;
        let dims: Vec<u64> = shape.iter().map(|&dim| Dim::from(dim).known().unwrap_or(2)).collect();
        let count = element_count(&dims).filter(|&count| count <= 1 << 16)? as usize;
        let mut special = [-0.0f32, f32::INFINITY, f32::NAN, 0.0].into_iter().filter(|_| seed == 3);
        let bytes: Vec<u8> = match elem {
            ElemType::FLOAT => {
                let mut value = || special.next().unwrap_or((next() % 2001) as f32 / 500.0 - 2.0);
                (0..count).flat_map(|_| value().to_le_bytes()).collect()
            }
            ElemType::INT64 => (0..count).flat_map(|_| ((next() % 17) as i64 - 8).to_le_bytes()).collect(),
            ElemType::BOOL => (0..count).map(|_| (next() % 2) as u8).collect(),
            ElemType::FLOAT16 => (0..count).flat_map(|_| [0, 0x3c + (next() % 8) as u8]).collect(),
            _ => return None,
        };
        Tensor::dense(elem, &dims, bytes).ok()
    });
    params.collect()
}

fn diff(expected: &str, found: &str) -> String {
    let diff = similar::TextDiff::from_lines(expected, found);
    diff.unified_diff().header("expected", "found").to_string()
}
