//! The built-in instruments, each in its own file. A file registers its instrument; there is no list.

mod budget;
mod dump;
mod ir_size;
mod memory;
mod output;
mod print_after;
mod print_before;
mod print_changed;
mod remarks;
mod select;
mod statistics;
mod timing;
mod trace;
mod verifier;

pub use budget::{Budget, OVER_BUDGET};
pub use dump::Dump;
pub use ir_size::{IrSize, Size};
pub use memory::Memory;
pub use output::{Output, StandardError};
pub use print_after::PrintAfter;
pub use print_before::PrintBefore;
pub use print_changed::{ChangeForm, PrintChanged};
pub use remarks::RemarkPrinter;
pub use select::Selection;
pub use statistics::Statistics;
pub use timing::{Timed, Timing};
pub use trace::Trace;
pub use verifier::VerifyInstrument;

use crate::{
    options::{OptionSchema, ValueKind, complete},
    pass::{Catalogue, PassInstrument},
};
use relais_plugin_api::{diagnostics::PassError, options::Value};
use std::{fmt, sync::Arc};

/// An instrument that is part of the host. By convention an option `passes` of one is a list of names of passes, which
/// mean the same as anywhere in a pipeline.
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its documentation.
    pub doc: &'static str,
    /// Its options.
    pub options: fn() -> Vec<OptionSchema>,
    /// Makes it from options that were checked.
    pub make: Make,
}

/// Makes an instrument that prints there.
pub type Make = fn(&Given<'_>, &Arc<dyn Output>) -> Result<Arc<dyn PassInstrument>, PassError>;

inventory::collect!(BuiltIn);

/// The option by which built-in instruments choose passes.
pub const PASSES: &str = "passes";

/// The built-in instruments, ordered by name.
pub fn built_in() -> Vec<&'static BuiltIn> {
    let mut all: Vec<&BuiltIn> = inventory::iter::<BuiltIn>().collect();
    all.sort_by_key(|built_in| built_in.name);
    all
}

/// The built-in instrument of a name.
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    inventory::iter::<BuiltIn>().find(|built_in| built_in.name == name)
}

/// Makes the instrument of a name, the host's own or a plugin's, from options that were checked.
pub(crate) fn make(
    name: &str,
    options: &Value,
    catalogue: &dyn Catalogue,
    output: &Arc<dyn Output>,
) -> Result<Arc<dyn PassInstrument>, PassError> {
    match find(name) {
        Some(built_in) => built_in.create(options, output),
        None => catalogue.create_instrument(name, options),
    }
}

impl BuiltIn {
    /// Makes it. Omitted options have their defaults.
    ///
    /// # Errors
    /// Returns an error if the options are not accepted, or the system lacks a requirement.
    pub fn create(&self, options: &Value, output: &Arc<dyn Output>) -> Result<Arc<dyn PassInstrument>, PassError> {
        let options = complete(&(self.options)(), options).map_err(PassError::new)?;
        (self.make)(&Given(&options), output)
    }
}

impl fmt::Debug for BuiltIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Options that were checked against the schema of their reader.
pub struct Given<'a>(&'a Value);

impl<'a> Given<'a> {
    /// A text, or the name of a choice.
    pub fn text(&self, name: &str) -> &'a str {
        match self.0.get(name) {
            Some(Value::Str(text)) => text,
            _ => "",
        }
    }

    /// A list of texts.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let Some(Value::List(items)) = self.0.get(name) else { return Vec::new() };
        let text = |item: &Value| match item {
            Value::Str(text) => Some(text.clone()),
            _ => None,
        };
        items.iter().filter_map(text).collect()
    }

    /// An integer that the schema keeps from being negative.
    pub fn count(&self, name: &str) -> u64 {
        match self.0.get(name) {
            Some(Value::Int(value)) => u64::try_from(*value).unwrap_or(0),
            _ => 0,
        }
    }

    /// A float.
    pub fn float(&self, name: &str) -> f64 {
        match self.0.get(name) {
            Some(Value::Float(value)) => *value,
            _ => 0.0,
        }
    }

    /// Whether a boolean is true.
    pub fn is_on(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Bool(true))
    }
}

fn option(name: &str, doc: &str, kind: ValueKind, default: Option<Value>) -> OptionSchema {
    OptionSchema { name: name.into(), doc: doc.into(), kind, default, is_optional: false, aliases: Vec::new() }
}

/// An option with a choice of names; the first one is the default.
fn choice(name: &str, doc: &str, choices: &[(&str, &str)]) -> OptionSchema {
    let default = choices.first().map(|(name, _)| Value::Str((*name).to_owned()));
    let choices = choices.iter().map(|(name, doc)| ((*name).to_owned(), (*doc).to_owned())).collect();
    option(name, doc, ValueKind::Choice(choices), default)
}

/// An option that is a list of texts, empty by default.
fn texts(name: &str, doc: &str) -> OptionSchema {
    option(name, doc, ValueKind::List(Box::new(ValueKind::Str)), Some(Value::List(Vec::new())))
}

#[cfg(test)]
mod tests;
