//! The messages of passes.

use relais_plugin_api::{
    diagnostics::{Diagnostic, PRINTED, Severity},
    ir::{IRModule, MAIN, NodeId},
    text,
};
use std::fmt;

/// Something that a pass said.
#[derive(Clone, Debug)]
pub struct PassMessage {
    /// The pass.
    pub pass: String,
    /// The diagnostic.
    pub diagnostic: Diagnostic,
    /// The line that it is about, as in the printed text of the module before the pass.
    pub line: Option<String>,
}

impl PassMessage {
    pub(crate) fn new(pass: &str, diagnostic: Diagnostic, before: &IRModule) -> Self {
        let rec = diagnostic.rec();
        let line = line_of(before, &rec.function, rec.node);
        Self { pass: pass.to_owned(), diagnostic, line }
    }

    /// Whether the pass printed it ([`Diagnostic::printed`]): it is shown at once, and whatever is left out otherwise.
    pub fn is_printed(&self) -> bool {
        self.diagnostic.rec().code == PRINTED
    }

    /// How grave it is.
    pub fn severity(&self) -> Severity {
        self.diagnostic.rec().severity
    }
}

pub(crate) fn line_of(module: &IRModule, function: &str, node: NodeId) -> Option<String> {
    if node.is_absent() {
        return None;
    }
    let function = if function.is_empty() { module.body(MAIN) } else { module.body(function) }?;
    (node.index() < function.n_nodes()).then(|| shortened(text::display(function, node).to_string()))
}

/// A line whose middle is cut out if it is too long to be read: both ends say what it is, the result and the name of the node.
fn shortened(line: String) -> String {
    const ENDS: [usize; 2] = [200, 100];
    if line.chars().nth(ENDS[0] + ENDS[1] + 1).is_none() {
        return line;
    }
    let start: String = line.chars().take(ENDS[0]).collect();
    let n = line.chars().count();
    let end: String = line.chars().skip(n - ENDS[1]).collect();
    format!("{start}…{end}")
}

impl fmt::Display for PassMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  said by pass `{}`", self.diagnostic, self.pass)?;
        match &self.line {
            Some(line) => write!(f, "\n  at: {line}"),
            None => Ok(()),
        }
    }
}
