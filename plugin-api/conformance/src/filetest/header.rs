//! Reading a case: the header, the module and the expectation.

use super::{Case, CaseFailure, Reason};
use relais_plugin_api::options::Value;
use std::collections::BTreeMap;
use toml::de::DeTable;

/// The keys that the header of a case may have.
pub const KEYS: [&str; 9] =
    ["pass", "options", "config", "before", "unchanged", "idempotent", "types", "numbers", "tolerance"];

/// The beginning of the key `numbers`, followed by the reason why the case cannot be compared.
pub(super) const NOT_EVALUATED: &str = "not evaluated: ";

/// The line before the expected text, in comments.
pub(super) const EXPECTED: &str = "// expected:";

/// The beginning of a line of the header.
const HEADER: &str = "//!";

/// The lines of the parts of a case, counted from 1.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    keys: BTreeMap<String, usize>,
    /// The first line of the module.
    pub module: usize,
    /// The first line of the expected text.
    pub expected: usize,
}

impl Lines {
    /// The line of a key of the header; that of the module if the header does not have it.
    pub fn of(&self, key: &str) -> usize {
        self.keys.get(key).copied().unwrap_or(self.module)
    }
}

impl Case {
    /// Parses a case; the pass is `folder` unless the header names another.
    ///
    /// # Errors
    /// Returns the first fault in the header, or in the form of the expectation.
    pub fn parse(folder: &str, source: &str) -> Result<Self, CaseFailure> {
        let (input, expected) = split(source);
        let is_blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with("//");
        let module = input.lines().position(|line| !is_blank(line)).unwrap_or(0) + 1;
        let mut lines = Lines { keys: BTreeMap::new(), module, expected: 0 };
        let table = header(input, &mut lines)?;
        let expected = expected.map(|(line, text)| uncommented(line, text, &mut lines)).transpose()?;
        let read = Reader { table: &table, lines: &lines };
        let flag = |key| read.value(key, "`true` or `false`", toml::Value::as_bool);
        let names = |value: &toml::Value| {
            value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        };
        let text = |value: &toml::Value| value.as_str().map(str::to_owned);
        let reason = |value: &toml::Value| Some(value.as_str()?.strip_prefix(NOT_EVALUATED)?.to_owned());
        let number = |value: &toml::Value| {
            let number = value.as_float().or_else(|| value.as_integer().map(|integer| integer as f64));
            number.filter(|number| *number >= 0.0)
        };
        let options = |value: &toml::Value| value.is_table().then(|| to_value(value));
        let config = |value: &toml::Value| match options(value)? {
            Value::Struct(config) => Some(config),
            _ => None,
        };
        let reasons = format!("a text that begins with `{NOT_EVALUATED}`");
        Ok(Self {
            pass: read.value("pass", "a name", text)?.unwrap_or_else(|| folder.to_owned()),
            options: read.value("options", "a table", options)?.unwrap_or_else(|| Value::Struct(Vec::new())),
            config: read.value("config", "a table", config)?.unwrap_or_default(),
            before: read.value("before", "a list of names", names)?.unwrap_or_default(),
            unchanged: flag("unchanged")?.unwrap_or(false),
            idempotent: flag("idempotent")?.unwrap_or(true),
            types: flag("types")?.unwrap_or(false),
            not_evaluated: read.value("numbers", &reasons, reason)?,
            tolerance: read.value("tolerance", "a number that is not negative", number)?.unwrap_or(0.0),
            input: input.to_owned(),
            expected,
            lines,
        })
    }
}

/// The values of a header.
struct Reader<'a> {
    table: &'a toml::Table,
    lines: &'a Lines,
}

impl Reader<'_> {
    fn value<T>(
        &self,
        key: &str,
        what: &str,
        read: impl Fn(&toml::Value) -> Option<T>,
    ) -> Result<Option<T>, CaseFailure> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let wrong = || fault(self.lines.of(key), format!("`{key}` is not {what}"));
        read(value).map(Some).ok_or_else(wrong)
    }
}

fn fault(line: usize, message: impl ToString) -> CaseFailure {
    CaseFailure::new(Reason::Case, line, message)
}

/// The text before the expectation, and the expectation with the line of its beginning.
fn split(source: &str) -> (&str, Option<(usize, &str)>) {
    let mut end = 0;
    for (at, line) in source.split_inclusive('\n').enumerate() {
        if line.trim_end() == EXPECTED {
            return (&source[..end], Some((at + 2, &source[end + line.len()..])));
        }
        end += line.len();
    }
    (source, None)
}

fn header(input: &str, lines: &mut Lines) -> Result<toml::Table, CaseFailure> {
    let header: Vec<&str> = input.lines().map_while(|line| line.strip_prefix(HEADER)).collect();
    let stray = input.lines().skip(header.len()).position(|line| line.trim_start().starts_with(HEADER));
    if let Some(at) = stray {
        let failure = fault(header.len() + at + 1, format!("a line with `{HEADER}` is not at the top of the file"));
        return Err(failure.help("the header is the first lines; comments begin with `//`"));
    }
    let header = header.join("\n");
    let line = |at: usize| header[..at].matches('\n').count() + 1;
    let malformed = |error: toml::de::Error| {
        let at = error.span().map_or(1, |span| line(span.start));
        fault(at, format!("the header is not TOML: {}", error.message()))
    };
    let places = DeTable::parse(&header).map_err(malformed)?;
    for key in places.get_ref().keys() {
        let at = line(key.span().start);
        if !KEYS.contains(&key.get_ref().as_ref()) {
            let known = KEYS.map(|key| format!("`{key}`")).join(", ");
            return Err(fault(at, format!("unknown key `{}`", key.get_ref())).help(format!("the keys are {known}")));
        }
        lines.keys.insert(key.get_ref().to_string(), at);
    }
    header.parse().map_err(malformed)
}

fn uncommented(first: usize, text: &str, lines: &mut Lines) -> Result<String, CaseFailure> {
    let blank = text.lines().take_while(|line| line.trim().is_empty()).count();
    lines.expected = first + blank;
    let line = |(at, line): (usize, &str)| {
        let comment = line.strip_prefix("//").ok_or_else(|| {
            let failure = fault(lines.expected + at, format!("`{line}` after `{EXPECTED}` is not a comment"));
            failure.help("the expected text is a comment, up to the end of the file")
        })?;
        Ok(format!("{}\n", comment.strip_prefix(' ').unwrap_or(comment)))
    };
    text.trim().lines().enumerate().map(line).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "def @main(%x) { %x }\n";

    fn failure(source: &str) -> (usize, String) {
        let CaseFailure { line, message, help, .. } = Case::parse("a.B", source).unwrap_err();
        (line, format!("{message}; {help}"))
    }

    #[test]
    fn a_header_is_read() {
        let source = format!(
            "//! pass = \"c.D\"\n//! options = {{ list = [\"a\", 0.5, true], n = 1 }}\n//! before = [\n//!   \"e.F\",\n//! ]\n\
             //! unchanged = true\n//! idempotent = false\n//! types = true\n//! numbers = \"not evaluated: Erf\"\n\
             //! tolerance = 1\n// About.\n\n{MODULE}"
        );
        let case = Case::parse("a.B", &source).unwrap();
        assert_eq!(case.pass, "c.D");
        assert_eq!(case.options.to_string(), "{ list = [\"a\", 0.5, true], n = 1 }");
        assert_eq!(case.before, ["e.F"]);
        assert!(case.unchanged && !case.idempotent && case.types);
        assert_eq!((case.not_evaluated.as_deref(), case.tolerance), (Some("Erf"), 1.0));
        assert_eq!((case.lines.of("before"), case.lines.of("unchanged"), case.lines.module), (3, 6, 13));
    }

    #[test]
    fn without_a_header_there_are_defaults() {
        let case = Case::parse("a.B", &format!("{MODULE}\n// expected:\n//\n// x\n//   y\n")).unwrap();
        assert_eq!((case.pass.as_str(), case.input.trim_end()), ("a.B", MODULE.trim_end()));
        assert_eq!(case.expected.as_deref(), Some("\nx\n  y\n"));
        assert!(!case.unchanged && case.idempotent && !case.types && case.tolerance == 0.0);
        // Only a line of its own begins the expectation.
        let case = Case::parse("a.B", &format!("// not // expected:\n{MODULE}")).unwrap();
        assert_eq!(case.expected, None);
    }

    #[test]
    fn a_fault_has_its_line() {
        let (line, how) = failure(&format!("//! types = true\n//! unchange = true\n{MODULE}"));
        assert_eq!(
            (line, how.as_str()),
            (
                2,
                "unknown key `unchange`; the keys are `pass`, `options`, `config`, `before`, `unchanged`, `idempotent`, `types`, `numbers`, `tolerance`"
            )
        );
        let (line, how) = failure(&format!("//! types = true\n//! unchanged = \n{MODULE}"));
        assert!(line == 2 && how.starts_with("the header is not TOML: "), "{line}: {how}");
        let (line, how) = failure(&format!("//! types = true\n//! types = true\n{MODULE}"));
        assert!(line == 2 && how.starts_with("the header is not TOML: duplicate key"), "{line}: {how}");
        for (value, what) in [
            ("pass = 1", "`pass` is not a name; "),
            ("options = []", "`options` is not a table; "),
            ("config = 1", "`config` is not a table; "),
            ("before = [1]", "`before` is not a list of names; "),
            ("unchanged = 1", "`unchanged` is not `true` or `false`; "),
            ("numbers = \"wrong\"", "`numbers` is not a text that begins with `not evaluated: `; "),
            ("tolerance = -1", "`tolerance` is not a number that is not negative; "),
        ] {
            assert_eq!(failure(&format!("//! {value}\n{MODULE}")), (1, what.to_owned()));
        }
        let (line, how) = failure(&format!("// About.\n//! unchanged = true\n{MODULE}"));
        assert!(line == 2 && how.starts_with("a line with `//!` is not at the top of the file"), "{how}");
        let (line, how) = failure(&format!("{MODULE}// expected:\n\n// a\nb\n"));
        assert!(line == 5 && how.starts_with("`b` after `// expected:` is not a comment"), "{line}: {how}");
    }
}
