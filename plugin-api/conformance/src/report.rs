//! The findings of the kit.

use relais_plugin_api::options::Value;
use std::{collections::BTreeMap, fmt, time::Duration};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal, $help:literal;)*) => {
        /// The kinds of findings.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[doc = $doc])* $name,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name, as `--allow` takes it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// Returns a suggestion.
            pub const fn help(self) -> &'static str {
                match self {
                    $(Self::$name => $help,)*
                }
            }
        }
    };
}

kinds! {
    /// The library cannot be opened, or lacks what its records claim.
    NotMade = "not-made", "`relais plugin check` says what is wrong with the file";
    /// Values that the schema of its options takes are refused, or others are taken.
    Options = "options", "derive the options with `#[derive(PassOptions)]`";
    /// It panics.
    Panic = "panic", "return an error, or leave alone what it does not understand";
    /// The host refuses what it makes: a call, a replacement, an interface, or that it does not settle.
    Refused = "refused", "`docs/checks.md` says what is checked; decline where it does not hold";
    /// It changes the module that it is given, which others still use.
    InputModified = "input-modified", "change a copy: through the editor, or through `function_mut`";
    /// Its result is not a valid module.
    Broken = "broken", "the verifier's message names the node and the rule";
    /// Its result, printed as text and parsed again, is not the same.
    Text = "text", "use what the text form can say";
    /// It says that it changed a module and gives an equal one.
    FalseChange = "false-change", "ask for `function_mut` only when there is something to change";
    /// It does not make the same bytes of the same module each time.
    NotDeterministic = "not-deterministic", "let no order of a hash table, address, time or thread reach the result";
    /// The parameters or results of `@main` are not what they were.
    Interface = "interface", "leave names, types and order of inputs and outputs alone";
    /// The module computes other results than before.
    Numbers = "numbers", "compare the results of the module by hand; rounding is covered by the tolerance";
    /// With infinities, NaN or negative zeros among its inputs, the module computes other results than before.
    SpecialNumbers = "special-numbers", "leave values alone for which it does not hold, or say so in its documentation and allow it";
    /// A second run changes what the first one made.
    NotIdempotent = "not-idempotent", "run to the end at once, or allow it when that is not meant to be so";
    /// The module grows out of proportion.
    Growth = "growth", "do not copy what is used more than once";
    /// It takes too long for the size of the module.
    Slow = "slow", "avoid work for each pair of nodes; the budget can be set";
    /// It does not come to an end.
    Hangs = "hangs", "bound every loop; ask `cx.check_cancelled()` in long ones";
    /// It ends the process, or crashes.
    EndsProcess = "ends-process", "return an error; a plugin never ends the process that it runs in";
    /// It, or one of its rules, changed none of the modules.
    NeverApplies = "never-applies", "give a module on which it applies: `--module FILE`, or a filetest";
    /// One of its rules was not tested: a condition is a function, or no module was found on which it matches.
    NotJudged = "not-judged", "give examples of its left side: `samples(rule = \"…\")` in the attribute of the pass";
    /// The type relation of an operator infers what is not true, or contradicts its evaluator or body.
    Types = "types", "let the type relation know less, or the evaluator keep to it";
}

impl Kind {
    /// The kind of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A fault of a pass, an operator or an instrument: the smallest case of its kind that was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The item at fault, such as `pass acme.X`.
    pub subject: String,
    /// The kind of finding.
    pub kind: Kind,
    /// How it shows.
    pub message: String,
    /// The options, as written in a pipeline; empty for defaults.
    pub options: String,
    /// The module, as text; empty where none is to blame.
    pub module: String,
}

/// Statistics about one pass, operator or instrument.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Judged {
    /// The item, such as `pass acme.X`.
    pub subject: String,
    /// How many cases it ran on.
    pub n_cases: usize,
    /// How many it changed (of an operator: how many calls it accepted).
    pub n_changed: usize,
    /// How many it failed on with an error of its own.
    pub n_errors: usize,
    /// How many results before and after were compared as numbers.
    pub n_compared: usize,
    /// How many kernels of an operator ran.
    pub n_kernels: usize,
    /// The operators that could not be computed, and why.
    pub not_evaluated: BTreeMap<String, String>,
    /// The rules that never applied; `it` is the pass.
    pub silent: Vec<String>,
    /// The rules that were not tested, each with the reason; of an operator, that no kernel of it ran.
    pub rules_not_judged: Vec<String>,
    /// Why it was not tested, if it was not.
    pub not_judged: Option<String>,
    /// How long it took.
    pub time: Duration,
}

/// The findings of the kit, and what it tested.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KitReport {
    /// The seed that reproduces the same.
    pub seed: u64,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The findings that were allowed.
    pub allowed: Vec<Finding>,
    /// The items that were tested.
    pub judged: Vec<Judged>,
}

impl KitReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

/// The most lines of a module that are shown.
const MAX_LINES: usize = 100;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, kind, message, options, module } = self;
        writeln!(f, "{subject}: {kind}: {}", message.trim_end().replace('\n', "\n  "))?;
        if !options.is_empty() {
            writeln!(f, "  with options {options}")?;
        }
        if !module.is_empty() {
            writeln!(f, "  on the module")?;
            let lines = module.trim_end().lines();
            lines.clone().take(MAX_LINES).try_for_each(|line| writeln!(f, "    {line}"))?;
            if let more @ 1.. = lines.count().saturating_sub(MAX_LINES) {
                writeln!(f, "    … ({more} more lines)")?;
            }
        }
        writeln!(f, "  help: {}", kind.help())
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, n_cases, n_changed, n_errors, n_compared, not_evaluated, silent, .. } = self;
        if let Some(why) = &self.not_judged {
            return write!(f, "{subject}: not judged: {why}");
        }
        write!(f, "{subject}: {n_cases} cases, {n_changed} changed")?;
        if *n_compared > 0 {
            write!(f, ", {n_compared} compared as numbers")?;
        }
        if *n_errors > 0 {
            write!(f, ", {n_errors} errors")?;
        }
        if !not_evaluated.is_empty() {
            let names: Vec<&str> = not_evaluated.keys().map(String::as_str).collect();
            write!(f, "\n  not evaluated: {}", names.join(", "))?;
        }
        if !silent.is_empty() {
            let what = silent.join(", ");
            write!(f, "\n  never applied: {what} (`--module FILE` tries it on a module of yours)")?;
        }
        if !self.rules_not_judged.is_empty() {
            write!(f, "\n  not judged: {}", self.rules_not_judged.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for KitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        for Finding { subject, kind, .. } in &self.allowed {
            writeln!(f, "{subject}: {kind}: allowed\n")?;
        }
        // Of operators there are hundreds.
        let is_operator = |judged: &&Judged| judged.subject.starts_with("operator ");
        for judged in self.judged.iter().filter(|judged| !is_operator(judged)) {
            writeln!(f, "{judged}")?;
        }
        let operators: Vec<&Judged> = self.judged.iter().filter(is_operator).collect();
        for judged in operators.iter().filter(|judged| !judged.rules_not_judged.is_empty()) {
            writeln!(f, "{judged}")?;
        }
        if !operators.is_empty() {
            let sum = |of: fn(&Judged) -> usize| operators.iter().map(|judged| of(judged)).sum::<usize>();
            let counts: [fn(&Judged) -> usize; 4] =
                [|one| one.n_cases, |one| one.n_changed, |one| one.n_compared, |one| one.n_kernels];
            let [cases, taken, computed, kernels] = counts.map(sum);
            let n = operators.len();
            write!(f, "{n} operators: {cases} calls, {taken} taken by type relations, {computed} evaluated")?;
            let kernels = if kernels > 0 { format!(", {kernels} kernels run") } else { String::new() };
            writeln!(f, "{kernels}")?;
        }
        let findings = match self.findings.len() {
            0 => "no finding".to_owned(),
            1 => "1 finding".to_owned(),
            n => format!("{n} findings"),
        };
        writeln!(f, "{findings}; seed {}", self.seed)
    }
}

// ---- the encoding in a journal --------------------------------------------------------------------------------------

pub(super) fn str(value: &Value) -> Option<String> {
    match value {
        Value::Str(text) => Some(text.clone()),
        _ => None,
    }
}

pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    str(value.get(key)?)
}

pub(super) fn number(value: &Value, key: &str) -> Option<usize> {
    match value.get(key)? {
        Value::Int(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}

pub(super) fn table<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Struct(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn list(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|text| Value::Str(text.clone())).collect())
}

fn texts(value: &Value, key: &str) -> Option<Vec<String>> {
    match value.get(key)? {
        Value::List(items) => items.iter().map(str).collect(),
        _ => None,
    }
}

impl Finding {
    pub(super) fn to_value(&self) -> Value {
        table([
            ("subject", Value::Str(self.subject.clone())),
            ("kind", Value::Str(self.kind.name().to_owned())),
            ("message", Value::Str(self.message.clone())),
            ("options", Value::Str(self.options.clone())),
            ("module", Value::Str(self.module.clone())),
        ])
    }

    pub(super) fn from_value(value: &Value) -> Option<Self> {
        Some(Self {
            subject: text(value, "subject")?,
            kind: Kind::from_name(&text(value, "kind")?)?,
            message: text(value, "message")?,
            options: text(value, "options")?,
            module: text(value, "module")?,
        })
    }
}

impl Judged {
    pub(super) fn to_value(&self) -> Value {
        let not_evaluated = self.not_evaluated.iter().map(|(what, why)| (what.clone(), Value::Str(why.clone())));
        let count = |n: usize| Value::Int(n as i64);
        table([
            ("subject", Value::Str(self.subject.clone())),
            ("cases", count(self.n_cases)),
            ("changed", count(self.n_changed)),
            ("errors", count(self.n_errors)),
            ("compared", count(self.n_compared)),
            ("kernels", count(self.n_kernels)),
            ("not_evaluated", Value::Struct(not_evaluated.collect())),
            ("silent", list(&self.silent)),
            ("rules_not_judged", list(&self.rules_not_judged)),
            ("not_judged", Value::Str(self.not_judged.clone().unwrap_or_default())),
            ("micros", count(self.time.as_micros() as usize)),
        ])
    }

    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let mut not_evaluated = BTreeMap::new();
        if let Value::Struct(entries) = value.get("not_evaluated")? {
            for (what, _) in entries {
                not_evaluated.insert(what.clone(), text(value.get("not_evaluated")?, what)?);
            }
        }
        Some(Self {
            subject: text(value, "subject")?,
            n_cases: number(value, "cases")?,
            n_changed: number(value, "changed")?,
            n_errors: number(value, "errors")?,
            n_compared: number(value, "compared")?,
            n_kernels: number(value, "kernels")?,
            not_evaluated,
            silent: texts(value, "silent")?,
            rules_not_judged: texts(value, "rules_not_judged")?,
            not_judged: Some(text(value, "not_judged")?).filter(|why| !why.is_empty()),
            time: Duration::from_micros(number(value, "micros")? as u64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_of_their_own() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(Kind::from_name("no-such-kind"), None);
    }

    #[test]
    fn what_is_written_is_read() {
        let finding = Finding {
            subject: "pass a.B".into(),
            kind: Kind::Numbers,
            message: "m\n\"".into(),
            options: "{ n = 1 }".into(),
            module: "def @main() { () }\n".into(),
        };
        assert_eq!(Finding::from_value(&finding.to_value()), Some(finding.clone()));
        assert_eq!(Finding::from_value(&Value::Struct(Vec::new())), None);
        let judged = Judged {
            subject: "pass a.B".into(),
            n_cases: 7,
            silent: vec!["`a`".into()],
            not_judged: Some("an option must be given".into()),
            not_evaluated: BTreeMap::from([("Conv".to_owned(), "it has no evaluator".to_owned())]),
            time: Duration::from_millis(3),
            ..Judged::default()
        };
        assert_eq!(Judged::from_value(&judged.to_value()), Some(judged));
    }
}
