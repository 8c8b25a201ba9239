//! Filetests: a pass on text, and the properties of every pass on every text.

mod files;
mod header;

pub use super::outcome::{CaseFailure, CaseOutcome, Reason};
pub use files::{CaseFile, Cases};
pub use header::KEYS;

use super::{
    bench::Passes,
    interface::same_interface,
    numbers::{Judgement, same_numbers},
    report::Kind,
};
use header::{EXPECTED, Lines, NOT_EVALUATED};
use relais_plugin_api::{
    ir::*,
    options::Value,
    pass::Requirement,
    text::{self, PrintOptions, SideFile, TextError, Types},
};
use std::fmt;

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// The pass.
    pub pass: String,
    /// Its options.
    pub options: Value,
    /// Options of the context.
    pub config: Vec<(String, Value)>,
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
    lines: Lines,
}

impl CaseOutcome {
    /// Returns the source of the case with the current output as the expectation; `None` if the case passes, or fails
    /// for another reason than the expectation.
    pub fn blessed(&self, case: &Case) -> Option<String> {
        let is_blessed = !self.failures.is_empty() && self.failures.iter().all(|it| it.reason == Reason::Expected);
        let output = self.output.as_ref().filter(|_| is_blessed)?;
        let comment = |line: &str| format!("// {line}").trim_end().to_owned() + "\n";
        let comment: String = output.trim_end().lines().map(comment).collect();
        Some(format!("{}\n\n{EXPECTED}\n{comment}", case.input.trim_end()))
    }
}

impl Case {
    /// Runs the case.
    pub fn check(&self, passes: &dyn Passes) -> CaseOutcome {
        let mut failures = Vec::new();
        let output = match self.prepare(passes) {
            Ok(before) => self.run(&before, passes, &mut failures),
            Err(faults) => {
                failures = faults;
                None
            }
        };
        CaseOutcome { output, failures }
    }

    /// Returns the module that the pass is run on.
    ///
    /// # Errors
    /// Returns an error if the text is at fault, there is no such pass, or one that runs before it fails.
    pub fn prepare(&self, passes: &dyn Passes) -> Result<IRModule, Vec<CaseFailure>> {
        let of_text = |errors: Vec<TextError>| errors.into_iter().map(CaseFailure::from).collect::<Vec<_>>();
        let mut module = text::parse("", &self.input, &SideFile::default()).map_err(of_text)?;
        let pass_line = self.lines.of("pass");
        let one = |failure| vec![failure];
        let required = passes.required(&self.pass);
        let required = required.map_err(|error| one(CaseFailure::new(Reason::Case, pass_line, error)))?;
        let make = |pass: &str, options: &Value, line| {
            passes.make(pass, options).map_err(|error| one(CaseFailure::of_options(line, &error)))
        };
        make(&self.pass, &self.options, self.lines.of("options"))?;
        let before = self.before.iter().map(|name| (Requirement::from(name.as_str()), self.lines.of("before")));
        for (Requirement { pass, options }, line) in required.into_iter().map(|it| (it, pass_line)).chain(before) {
            make(&pass, &options, line)?;
            let ran = passes.run_in(&pass, &options, &self.config, &module);
            module = ran.map_err(|error| one(CaseFailure::of_pass(&pass, line, &error)))?.unwrap_or(module);
        }
        match verify(&module).as_slice() {
            [] => Ok(module),
            faults => {
                let message = format!("the module is not valid:\n{}", lines(faults));
                Err(vec![CaseFailure::new(Reason::Case, self.lines.module, message)])
            }
        }
    }

    /// Runs the pass, and returns the text of the result.
    fn run(&self, before: &IRModule, passes: &dyn Passes, failures: &mut Vec<CaseFailure>) -> Option<String> {
        let line = self.lines.module;
        let mut fail = |kind, message: String| failures.push(CaseFailure::new(Reason::Kind(kind), line, message));
        let text_before = printed(before);
        let ran = passes.run_in(&self.pass, &self.options, &self.config, before);
        if printed(before) != text_before {
            fail(Kind::InputModified, "the module that it was given is another one afterwards".into());
            return None;
        }
        let (after, says_changed) = match ran {
            Ok(after) => (after.clone().unwrap_or_else(|| before.clone()), after.is_some()),
            Err(error) => {
                failures.push(CaseFailure::of_pass(&self.pass, line, &error));
                return None;
            }
        };
        let faults = verify(&after);
        if !faults.is_empty() {
            // Nothing else can be asked of a module that is not valid.
            fail(Kind::Broken, lines(&faults));
            return None;
        }
        for module in [before, &after] {
            if let Err(how) = round_trip(module) {
                fail(Kind::Text, how);
            }
        }
        let difference = equal(before, &after).err();
        if says_changed && difference.is_none() {
            fail(Kind::FalseChange, "it says that it changed the module, and nothing differs".into());
        }
        if self.idempotent {
            let again = passes.run_in(&self.pass, &self.options, &self.config, &after);
            let again = again.map_err(|error| format!("the second run fails: {error}"));
            let same = again.and_then(|again| match again {
                Some(again) => equal(&after, &again).map_err(|difference| difference.to_string()),
                None => Ok(()),
            });
            if let Err(how) = same {
                fail(Kind::NotIdempotent, how);
            }
        }
        let interface = same_interface(before, &after);
        // Under another interface that the options ask for, there is nothing to compare.
        let is_comparable = interface.is_ok() || !passes.changes_interface(&self.pass, &self.options);
        if let Some(how) = interface.err().filter(|_| is_comparable) {
            fail(Kind::Interface, how);
        }
        failures.extend(self.numbers(before, &after, difference.is_some() && is_comparable, passes));
        let text = self.text(&after);
        failures.extend(self.expectation(&self.text(before), &text, difference));
        Some(text)
    }

    /// Compares the numbers before and after; an unchanged module computes the same.
    fn numbers(
        &self,
        before: &IRModule,
        after: &IRModule,
        is_changed: bool,
        passes: &dyn Passes,
    ) -> Option<CaseFailure> {
        let judgement = match is_changed {
            true => same_numbers(before, after, self.tolerance, passes),
            false => Ok(Judgement::Same),
        };
        let fail = |kind, line, message: String| CaseFailure::new(Reason::Kind(kind), line, message);
        match (judgement, &self.not_evaluated) {
            (Err(differ), _) => {
                let kind = if differ.is_special { Kind::SpecialNumbers } else { Kind::Numbers };
                Some(fail(kind, self.lines.module, differ.how))
            }
            (Ok(Judgement::Same), None) => None,
            (Ok(Judgement::NotEvaluated { what, .. }), Some(declared)) if what == *declared => None,
            (Ok(Judgement::Same), Some(declared)) => {
                let message = format!("the header says that `{declared}` is not evaluated, but it is");
                Some(fail(Kind::Numbers, self.lines.of("numbers"), message).help("remove `numbers` from the header"))
            }
            (Ok(Judgement::NotEvaluated { what, why }), _) => {
                let help = format!("use what can be evaluated, or write `numbers = \"{NOT_EVALUATED}{what}\"`");
                let message = format!("results cannot be compared: {why}");
                Some(fail(Kind::Numbers, self.lines.of("numbers"), message).help(help))
            }
        }
    }

    fn expectation(&self, before: &str, text: &str, difference: Option<Difference>) -> Option<CaseFailure> {
        let (unchanged, module) = (self.lines.of("unchanged"), self.lines.module);
        let fail = |reason, line, message: String| Some(CaseFailure::new(reason, line, message));
        match (&self.expected, self.unchanged, difference) {
            (None, true, None) => None,
            (None, true, Some(difference)) => {
                let how = if before == text { difference.to_string() } else { diff(before, text) };
                fail(Reason::Unchanged, unchanged, format!("expected no change, but {how}"))
            }
            (Some(_), true, _) => fail(Reason::Unchanged, unchanged, "there is an expectation, too".into()),
            (_, false, None) => fail(Reason::Unchanged, module, "nothing changes".into()),
            (None, false, Some(_)) => {
                fail(Reason::Expected, module, format!("there is no expectation; the output is\n{text}"))
            }
            (Some(expected), false, Some(_)) => {
                let (expected, text) = (expected.trim(), text.trim());
                let differs = expected.lines().zip(text.lines()).position(|(expected, found)| expected != found);
                let at = differs.unwrap_or_else(|| expected.lines().count().min(text.lines().count()));
                let line = self.lines.expected + at;
                if expected == text { None } else { fail(Reason::Expected, line, diff(expected, text)) }
            }
        }
    }

    fn text(&self, module: &IRModule) -> String {
        let types = if self.types { Types::All } else { Types::Signatures };
        text::print(module, &PrintOptions { types, ..PrintOptions::default() })
    }
}

fn lines(items: &[impl fmt::Display]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}

fn printed(module: &IRModule) -> String {
    text::print(module, &PrintOptions::default())
}

fn round_trip(module: &IRModule) -> Result<(), String> {
    let text = printed(module);
    let read = text::parse_str(&text).map_err(|errors| format!("{}in\n{text}", lines(&errors)))?;
    equal(module, &read).map_err(|difference| format!("{difference} in\n{text}"))?;
    let again = printed(&read);
    if again == text { Ok(()) } else { Err(diff(&text, &again)) }
}

fn diff(expected: &str, found: &str) -> String {
    let diff = similar::TextDiff::from_lines(expected, found);
    let diff = diff.unified_diff().missing_newline_hint(false).header("expected", "found").to_string();
    format!("the text differs:\n{diff}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut failures: Vec<CaseFailure> =
            Reason::OF_FILETESTS.map(|reason| CaseFailure::new(reason, 7, "how\n  help: what to do")).to_vec();
        failures.push(CaseFailure::new(Reason::Kind(Kind::Numbers), 1, "how"));
        assert_eq!((failures[0].message.as_str(), failures[0].help.as_str()), ("how", "what to do"));
        assert!(failures[4].help.contains("`tolerance`"));
        let outcome = CaseOutcome { output: Some("text".into()), failures };
        assert_eq!(CaseOutcome::from_value(&outcome.to_value()), Some(outcome));
        assert_eq!(CaseOutcome::from_value(&CaseOutcome::default().to_value()), Some(CaseOutcome::default()));
        assert_eq!(CaseOutcome::from_value(&Value::Bool(true)), None);
    }
}
