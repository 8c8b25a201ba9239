//! Testing a plugin on text, in an author's own tests, without a host.
//!
//! | what | how |
//! |---|---|
//! | a pass | [`run`] on a text, [`run_with`] options, a [`Trial`] to see what it says and counts, and how it fails |
//! | a type relation | [`infer`] |
//! | an evaluator | [`evaluate`] |
//! | an instrument | a [`Watch`] |
//!
//! Programs are written in the text form of [`crate::text`]. Everything that is linked into the test is available: the
//! crate itself, and its dependencies. Passes and operators of other plugins are not.

mod instruments;
mod operators;

pub use instruments::{Watch, Watched};
pub use operators::{evaluate, infer};

use crate::{
    boundary::{abi::wanted, local},
    diagnostics::{Diagnostic, PASSED, PassError, Severity},
    ir::{IRModule, verify},
    options::{OptionKind, OptionSpec, Value},
    pass::Requirement,
    text::{self, PrintOptions, Types},
};
use std::collections::BTreeMap;

/// Runs a pass of this crate on a module in text form, and returns the text of the result, with the types of functions
/// and parameters only. Its requirements run first, if they are linked too.
///
/// ```no_run
/// # use relais_plugin_api::testing;
/// let after = testing::run("acme.ReluRelu", "def @main(%x) { %1 = Relu(%x); %2 = Relu(%1); %2 }");
/// assert!(!after.contains("%2"));
/// ```
///
/// # Panics
/// Panics with the reason, if the text is at fault, the pass fails, or its result is not a valid module.
pub fn run(pass: &str, text: &str) -> String {
    run_with(pass, Value::Struct(Vec::new()), text)
}

/// As [`run`], with options: `Value::Struct` of their names and values.
///
/// # Panics
/// As for [`run`].
pub fn run_with(pass: &str, options: Value, text: &str) -> String {
    let Value::Struct(options) = options else { panic!("options are a table, `Value::Struct`") };
    match (Trial { options, ..Trial::of(pass) }).run(text) {
        Ok(outcome) => outcome.text,
        Err(error) => panic!("`{pass}` failed: {error}"),
    }
}

/// A pass of this crate that is to be tried, with options.
///
/// ```
/// use relais_plugin_api::{prelude::*, testing::Trial};
///
/// #[derive(PassOptions)]
/// struct Options {
///     /// The operator whose calls are looked for.
///     operator: String,
/// }
///
/// /// Says where calls of an operator are.
/// #[rewrite_pass(name = "acme.Find")]
/// fn find(call: CallView<'_>, _: &mut RewriteCx<'_>, options: &Options) -> Rewrite {
///     if call.is_op(&options.operator) { Rewrite::decline("here it is") } else { Rewrite::Keep }
/// }
///
/// # fn main() -> Result<(), PassError> {
/// let find = Trial::of("acme.Find").option("operator", "Relu");
/// let outcome = find.run("def @main(%x) { %y = Relu(%x); %y }")?;
/// assert!(!outcome.changed);
/// assert_eq!(outcome.declined(), ["here it is"]);
/// // An option is missing: the host would say so before anything runs.
/// assert!(Trial::of("acme.Find").run("def @main(%x) { %x }").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Trial {
    pass: String,
    options: Vec<(String, Value)>,
    config: Vec<(String, Value)>,
}

/// The outcome of a pass.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The resulting module, with the types of functions and parameters only.
    pub text: String,
    /// Whether the pass reports that it changed the module.
    pub changed: bool,
    /// The diagnostics that it emitted, including remarks.
    pub diagnostics: Vec<Diagnostic>,
    /// Its counts, by the name of the statistic.
    pub counts: BTreeMap<String, u64>,
    /// The files that it made, by name.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Outcome {
    /// Its reasons for not doing something, as shown by `relais run --remarks=missed`.
    pub fn declined(&self) -> Vec<&str> {
        let recs = self.diagnostics.iter().map(Diagnostic::rec);
        let missed = recs.filter(|rec| rec.severity == Severity::REMARK && rec.code != PASSED);
        missed.map(|rec| rec.message.as_str()).collect()
    }
}

impl Trial {
    /// A pass by its name, with its default options.
    pub fn of(pass: &str) -> Self {
        Self { pass: pass.to_owned(), options: Vec::new(), config: Vec::new() }
    }

    /// The same with an option of the pass.
    pub fn option(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.options.push((name.to_owned(), value.into()));
        self
    }

    /// The same with an option of the context. Otherwise, options that this crate registers have their defaults.
    pub fn config(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.config.push((key.to_owned(), value.into()));
        self
    }

    /// Runs it on a module in text form. Its requirements run first, if they are linked too. Options are checked as in
    /// a host, except for ranges. A pass that asks whether remarks are wanted runs a second time, where they are not.
    ///
    /// # Errors
    /// Returns an error if the pass fails, or has other options.
    ///
    /// # Panics
    /// Panics with the reason, if the text is at fault, the result of the pass is not a valid module, or is another where
    /// no remarks are wanted.
    pub fn run(&self, text: &str) -> Result<Outcome, PassError> {
        let mut module = parse(text);
        let info = local::info(&self.pass);
        check_options(&self.pass, info.map_or(&[], |info| info.options), &self.options)?;
        let required = info.map_or(&[][..], |info| info.required);
        for Requirement { pass, options } in required.iter().map(Requirement::from) {
            if local::info(&pass).is_some() {
                module = local::run_in(&pass, &options, &self.config, wanted::REMARKS, &module)?.module;
            }
        }
        let options = Value::Struct(self.options.clone());
        let run = |wanted| local::run_in(&self.pass, &options, &self.config, wanted, &module);
        let ran = run(wanted::REMARKS)?;
        let faults = verify(&ran.module);
        assert!(faults.is_empty(), "`{}` broke the module:\n{}", self.pass, lines(&faults));
        let signatures = PrintOptions { types: Types::Signatures, ..PrintOptions::default() };
        let text = text::print(&ran.module, &signatures);
        if ran.asked {
            let silent = text::print(&run(0)?.module, &signatures);
            assert_eq!(silent, text, "`{}` does something else where nobody wants its remarks", self.pass);
        }
        let local::LocalRun { changed, diagnostics, counts, files, .. } = ran;
        Ok(Outcome { text, changed, diagnostics, counts, files })
    }
}

/// Reports an option that is unknown or missing.
fn check_options(of: &str, known: &[OptionSpec], given: &[(String, Value)]) -> Result<(), PassError> {
    if let Some((name, _)) = given.iter().find(|(name, _)| known.iter().all(|option| option.name != name)) {
        return Err(PassError::new(format_args!("`{of}` has no option `{name}`")));
    }
    let is_missing = |option: &&OptionSpec| {
        let has_own = option.is_optional || matches!(option.kind, OptionKind::Struct(_));
        option.default.is_none() && !has_own && given.iter().all(|(name, _)| name != option.name)
    };
    match known.iter().find(is_missing) {
        Some(option) => Err(PassError::new(format_args!("`{of}` needs the option `{}`", option.name))),
        None => Ok(()),
    }
}

#[track_caller]
fn parse(text: &str) -> IRModule {
    match text::parse_str(text) {
        Ok(module) => module,
        Err(errors) => panic!("{}", lines(&errors)),
    }
}

fn lines(items: &[impl std::fmt::Display]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}
