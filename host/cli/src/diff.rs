//! `relais diff`: where two models differ.

use super::{
    args::DiffArgs,
    model,
    terminal::{self, CliError},
};
use relais_conformance::{
    diff::{Diff, DiffRow, NodeRow},
    numbers::Tolerance,
};
use relais_session::model::Model;
use serde_json::{Value, json};

/// Compares two models. Returns whether they are the same.
pub(crate) fn diff(args: &DiffArgs) -> Result<bool, CliError> {
    let Model { module: left, .. } = model::read(&args.left)?;
    let Model { module: right, .. } = model::read(&args.right)?;
    let tolerance = Tolerance { relative: args.rtol, absolute: Some(args.atol) };
    let diff = Diff::of(&left, &right, args.numeric.then_some(tolerance));
    if args.json {
        terminal::print(&format!("{:#}\n", to_json(&diff)))?;
    } else if !diff.is_same() {
        let files = [&args.left, &args.right].map(|path| path.display().to_string());
        terminal::print(&format!("--- {}\n+++ {}\n{}", files[0], files[1], diff))?;
    }
    Ok(diff.is_same())
}

fn to_json(diff: &Diff) -> Value {
    let row = |DiffRow { what, sides: [left, right] }: &DiffRow| json!({ "what": what, "left": left, "right": right });
    let node = |NodeRow { function, nodes: [left, right], why }: &NodeRow| json!({ "function": function, "why": why, "left": left, "right": right });
    json!({
        "same": diff.is_same(),
        "differences": diff.rows.iter().map(row).collect::<Vec<_>>(),
        "nodes": diff.nodes.iter().map(node).collect::<Vec<_>>(),
    })
}
