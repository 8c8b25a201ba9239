//! The evaluators on the node cases of the `onnx` package.

use crate::node_cases::{Call, Case, INEXACT, Tolerance, call, cases, difference};
use std::collections::BTreeMap;

fn run(case: &Case) -> Result<(), (&'static str, String)> {
    let mut values = case.values.clone();
    for node in &case.nodes {
        let mut call: Call = call(&node.op, node.version).outputs(node.n_outputs);
        for input in &node.inputs {
            call = match values.get(input) {
                Some(tensor) => call.input(tensor.clone()),
                None => call.absent(),
            };
        }
        for (name, value) in &node.attrs {
            call = call.attr(name, value.clone());
        }
        let results = match call.try_eval() {
            None => return Err(("no evaluator", node.op.clone())),
            Some(Err(error)) if error.kind == 1 => return Err(("unsupported", format!("{}: {error}", node.op))),
            Some(Err(error)) => return Err(("invalid", format!("{}: {error}", node.op))),
            Some(Ok(results)) => results,
        };
        values.extend(node.outputs.iter().cloned().zip(results));
    }
    let is_inexact = case.nodes.iter().any(|node| INEXACT.contains(&&*node.op));
    let tolerance = if is_inexact { Tolerance::Digits } else { Tolerance::Exact };
    for (name, expected) in &case.expected {
        let Some(found) = values.get(name) else { return Err(("mismatch", format!("no value {name}"))) };
        if let Some(why) = difference(found, expected, tolerance) {
            if is_inexact && difference(found, expected, Tolerance::Suite).is_none() {
                return Err(("close", format!("{}: {why}", case.nodes[0].op)));
            }
            return Err(("mismatch", format!("{}: {why}", case.nodes[0].op)));
        }
    }
    Ok(())
}

#[test]
fn all_cases_match() {
    let cases = cases();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut by_operator: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut mismatches = Vec::new();
    for case in cases {
        let status = match run(case) {
            Ok(()) => "match",
            Err((status, why)) => {
                if matches!(status, "mismatch" | "invalid") {
                    mismatches.push(format!("{status} {}: {why}", case.name));
                }
                status
            }
        };
        *counts.entry(status).or_default() += 1;
        let operator = case.nodes.first().map_or("", |node| &node.op);
        *by_operator.entry(operator).or_default().entry(status).or_default() += 1;
    }
    for (operator, counts) in by_operator {
        println!("{operator}: {counts:?}");
    }
    println!("{} cases: {counts:?}", cases.len());
    assert_eq!(mismatches, [""; 0]);
    // The package states one mean with four digits.
    assert!(counts.get("close").is_none_or(|&n| n <= 1), "{counts:?}");
    // The cases left to runtimes are functions of their own and cases in which runtimes differ.
    assert!(counts["match"] > 1400, "{counts:?}");
}
