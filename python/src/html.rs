//! Modules as HTML, for notebooks. Without a script, so that it survives where notebooks are converted.

use crate::operators::ops_of;
use relais::ir::{Function, IRModule};
use relais_conformance::diff::{Diff, DiffRow, NodeRow};
use relais_plugin_api::text::{self, PrintOptions};
use std::{collections::BTreeMap, fmt::Write};

/// The most lines of a function that are shown.
const MOST_LINES: usize = 200;

/// The most nodes of a comparison that are shown.
const MOST_NODES: usize = 200;

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

/// The differences of two modules: a table of what they have, and the nodes.
pub(crate) fn of_diff(diff: &Diff) -> String {
    if diff.is_same() {
        return "<div>no difference</div>".to_owned();
    }
    let mut html = String::from("<div><table><tr><th></th><th>old</th><th>new</th></tr>");
    for DiffRow { what, sides } in &diff.rows {
        let [old, new] = sides.each_ref().map(|side| escaped(side.as_deref().unwrap_or("none")));
        let _ = write!(html, "<tr><td>{}</td><td>{old}</td><td>{new}</td></tr>", escaped(what));
    }
    html.push_str("</table>");
    if !diff.nodes.is_empty() {
        let mut lines = String::new();
        for NodeRow { function, nodes: [old, new], why } in diff.nodes.iter().take(MOST_NODES) {
            let _ = writeln!(lines, "in @{function}: {why}");
            for (sign, node) in [('-', old), ('+', new)].iter().filter(|(_, node)| !node.is_empty()) {
                let _ = writeln!(lines, "  {sign} {node}");
            }
        }
        if diff.nodes.len() > MOST_NODES {
            let _ = writeln!(lines, "… and {} more nodes", diff.nodes.len() - MOST_NODES);
        }
        let n = diff.nodes.len();
        let nodes = if n == 1 { "one node".to_owned() } else { format!("{n} nodes") };
        let _ = write!(html, "<details open><summary>{nodes}</summary><pre>{}</pre></details>", escaped(&lines));
    }
    html.push_str("</div>");
    html
}
