//! Choosing passes and functions.

use super::{Given, PASSES, texts};
use crate::{ir::IRModule, options::OptionSchema, pass::PassInfo};
use relais_plugin_api::{
    boundary::record::Level,
    text::{self, Large, PrintOptions},
};
use std::collections::BTreeSet;

/// Some passes and some functions; without names, all of them.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    passes: BTreeSet<String>,
    functions: BTreeSet<String>,
}

impl Selection {
    /// The passes of those full names and the functions of those names.
    pub fn new(passes: impl IntoIterator<Item = String>, functions: impl IntoIterator<Item = String>) -> Self {
        Self { passes: passes.into_iter().collect(), functions: functions.into_iter().collect() }
    }

    /// Whether a pass is selected. A sequence is selected if it is named: the passes in it are reported separately.
    pub fn has_pass(&self, pass: &PassInfo<'_>) -> bool {
        match self.passes.is_empty() {
            true => pass.level != Level::SEQUENTIAL,
            false => self.passes.contains(pass.name),
        }
    }

    /// Whether a function is among them.
    pub fn has_function(&self, name: &str) -> bool {
        self.functions.is_empty() || self.functions.contains(name)
    }

    /// Whether no function was named.
    pub(super) fn has_every_function(&self) -> bool {
        self.functions.is_empty()
    }

    /// The chosen functions of a module as text, for people: large constants are left out.
    pub(super) fn print(&self, module: &IRModule) -> String {
        let functions = module.bodies().filter(|(name, _)| self.has_function(name));
        let texts: Vec<String> =
            functions.map(|(name, function)| text::print_function(name, function, &for_people())).collect();
        match texts.is_empty() {
            true => "(none of the functions that were asked for)\n".into(),
            false => texts.join("\n"),
        }
    }

    pub(super) fn options() -> Vec<OptionSchema> {
        vec![
            texts(PASSES, "the passes, by short or full names; none means all"),
            texts("functions", "the functions, by name; none means all"),
        ]
    }

    pub(super) fn given(given: &Given<'_>) -> Self {
        Self::new(given.texts(PASSES), given.texts("functions"))
    }
}

/// Whether two modules have the same functions, determined without looking into them.
pub(super) fn is_same(a: &IRModule, b: &IRModule) -> bool {
    let globals = a.globals().iter().zip(b.globals());
    a.globals().len() == b.globals().len() && a.attrs == b.attrs && globals.into_iter().all(|(a, b)| a.is_same(b))
}

/// How functions are printed for people.
pub(super) fn for_people() -> PrintOptions {
    PrintOptions { large: Large::Elide, ..PrintOptions::default() }
}

/// A pass, with its plugin where it has one.
pub(super) fn pass_title(pass: &PassInfo<'_>) -> String {
    match pass.plugin {
        "" => format!("`{}`", pass.name),
        plugin => format!("`{}` of plugin `{plugin}`", pass.name),
    }
}
