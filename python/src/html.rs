//! Modules as HTML, for notebooks. Without a script, so that it survives where notebooks are converted.

use crate::module::ops_of;
use relais::ir::{Function, IRModule};
use relais_plugin_api::text::{self, PrintOptions};
use std::{collections::BTreeMap, fmt::Write};

/// The most lines of a function that are shown.
const MOST_LINES: usize = 200;

/// The most operators in a table.
const MOST_OPS: usize = 20;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A module: a foldable part for each function.
pub(crate) fn of_module(module: &IRModule) -> String {
    let globals = module.globals();
    let parts: Vec<String> = globals
        .iter()
        .take(MOST_OPS)
        .map(|global| of_function(&global.name, global.body(), globals.len() == 1))
        .collect();
    let rest = match globals.len().saturating_sub(MOST_OPS) {
        0 => String::new(),
        n => format!("<p>… and {n} more functions</p>"),
    };
    format!("<div>{}{rest}</div>", parts.concat())
}

/// A function: a table of its operators, and its text.
pub(crate) fn of_function(name: &str, f: &Function, is_open: bool) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let ops = ops_of(f);
    for op in &ops {
        *counts.entry(op.clone()).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
    let mut html = format!(
        "<details{}><summary><code>@{}</code>: {} calls</summary><table><tr>",
        if is_open { " open" } else { "" },
        escaped(name),
        ops.len(),
    );
    // Writing to a string does not fail.
    for (op, n) in counts.iter().take(MOST_OPS) {
        let _ = write!(html, "<td><code>{}</code> {n}</td>", escaped(op));
    }
    if counts.len() > MOST_OPS {
        let _ = write!(html, "<td>… {} others</td>", counts.len() - MOST_OPS);
    }
    let printed = text::print_function(name, f, &PrintOptions::default());
    let mut lines: Vec<&str> = printed.lines().take(MOST_LINES).collect();
    let n_lines = printed.lines().count();
    let rest = format!("… {} more lines", n_lines.saturating_sub(MOST_LINES));
    if n_lines > MOST_LINES {
        lines.push(&rest);
    }
    let _ = write!(html, "</tr></table><pre>{}</pre></details>", escaped(&lines.join("\n")));
    html
}
