//! `remarks`: what passes did, and why they did nothing.

use super::{BuiltIn, Output, Selection, choice, texts};
use crate::pass::{PassInfo, PassInstrument, PassMessage};
use anstyle::AnsiColor;
use relais_plugin_api::diagnostics::{PASSED, Severity};
use std::sync::Arc;

inventory::submit! {
    BuiltIn {
        name: "remarks",
        doc: "Prints the remarks of passes as they are made.\nWhat a pass did is passed, why it did not is missed.",
        options: || vec![
            choice("kind", "which remarks", &[
                ("all", "passed and missed ones"),
                ("missed", "why something was not done"),
                ("passed", "what was done"),
            ]),
            texts(super::PASSES, "the passes, by short or full names; none means all"),
            texts("functions", "the functions, by name; none means all"),
        ],
        make: |given, output| {
            let kinds = match given.text("kind") {
                "missed" => RemarkKinds::Missed,
                "passed" => RemarkKinds::Passed,
                _ => RemarkKinds::All,
            };
            Ok(Arc::new(RemarkPrinter { kinds, selection: Selection::given(given), output: output.clone() }))
        },
    }
}

/// Which remarks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RemarkKinds {
    All,
    Missed,
    Passed,
}

/// Prints remarks.
pub struct RemarkPrinter {
    kinds: RemarkKinds,
    selection: Selection,
    output: Arc<dyn Output>,
}

impl PassInstrument for RemarkPrinter {
    fn name(&self) -> &str {
        "remarks"
    }

    fn wants_remarks(&self) -> bool {
        true
    }

    fn said(&self, pass: &PassInfo<'_>, said: &PassMessage) {
        let rec = said.diagnostic.rec();
        let is_wanted = rec.severity == Severity::REMARK
            && self.selection.has_pass(pass)
            && (rec.function.is_empty() || self.selection.has_function(&rec.function));
        if !is_wanted {
            return;
        }
        let (label, colour) = match (self.kinds, rec.code == PASSED) {
            (RemarkKinds::Missed, true) | (RemarkKinds::Passed, false) => return,
            (_, true) => ("passed", AnsiColor::Green),
            (_, false) => ("missed", AnsiColor::Yellow),
        };
        let style = colour.on_default().bold();
        let place = match (rec.function.as_str(), rec.node.is_absent()) {
            ("", true) => String::new(),
            (function, true) => format!(" (in `@{function}`)"),
            ("", false) => format!(" (at {})", rec.node),
            (function, false) => format!(" (at {} in `@{function}`)", rec.node),
        };
        let mut text = format!("{style}{label}{style:#}: `{}`: {}{place}\n", pass.name, rec.message);
        if let Some(line) = &said.line {
            text.push_str(&format!("  at: {line}\n"));
        }
        rec.notes.iter().for_each(|note| text.push_str(&format!("  note: {note}\n")));
        if !rec.help.is_empty() {
            text.push_str(&format!("  help: {}\n", rec.help));
        }
        self.output.print(&text);
    }
}
