//! The types that relations infer for the node cases of the `onnx` package, compared with those of
//! `onnx.shape_inference` and of the package's own results.
//!
//! The judge writes the cases (`tests/judge/relations.py` says how).

#[path = "../../../plugins/operators/tests/all/support/mod.rs"]
mod support;

use relais_tests::{cli::folder, venv::judge};
use std::collections::BTreeMap;

/// The relation of an inferred type to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Relation {
    Equal,
    MorePrecise,
    LessPrecise,
    /// More precise in one place, less in another; or other symbols.
    Different,
    Contradictory,
}

#[test]
fn nothing_that_is_inferred_is_false() {
    let path = folder("relations").join("cases.txt");
    judge(["relations".as_ref(), path.as_os_str()]);
    let text = std::fs::read_to_string(path).unwrap();
    let mut counts = BTreeMap::new();
    let mut less: BTreeMap<&str, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    support::run(&text, |judged| {
        let relation = relate(&judged.found, judged.expected);
        *counts.entry(relation).or_insert(0) += 1;
        let is_false = is_false(&judged.found, judged.truth);
        // The other implementation is wrong where the results say so.
        let is_right = !is_false && is_concrete(judged.truth);
        if is_false || (relation == Relation::Contradictory && !is_right) {
            faults.push(judged.to_string());
        }
        if relation == Relation::LessPrecise {
            *less.entry(judged.op_name).or_default() += 1;
        }
    });
    println!("{counts:?}, less precise: {less:?}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(counts[&Relation::Equal] > 4000, "{counts:?}");
    // Most of these are reshapes by sizes that are computed from symbols.
    assert!(counts.get(&Relation::LessPrecise).is_none_or(|&n| n < 450), "{counts:?}: {less:?}");
}

/// Whether the inferred type contradicts the result of a run. A symbol `$name_3` means 3.
fn is_false(found: &str, truth: &str) -> bool {
    let concrete: Vec<&str> = found.split('$').collect();
    let found = concrete
        .iter()
        .enumerate()
        .map(|(i, part)| if i == 0 { part } else { &part[part.find('_').map_or(0, |at| at + 1)..] });
    let relation = relate(&found.collect::<String>(), truth);
    relation == Relation::Contradictory || (relation == Relation::MorePrecise && is_concrete(truth))
}

fn is_concrete(ty: &str) -> bool {
    !ty.contains(['?', '*', '$'])
}

fn relate(found: &str, other: &str) -> Relation {
    if found == other {
        return Relation::Equal;
    }
    match (found, other) {
        ("?", _) => return Relation::LessPrecise,
        (_, "?") => return Relation::MorePrecise,
        _ => {}
    }
    if let (Some((a, found)), Some((b, other))) = (wrapper(found), wrapper(other)) {
        return if a == b { relate(found, other) } else { Relation::Contradictory };
    }
    let (Some((elem, dims)), Some((other_elem, other_dims))) = (found.split_once('['), other.split_once('[')) else {
        return Relation::Contradictory;
    };
    let elem = part(elem, other_elem);
    if dims == "*]" || other_dims == "*]" {
        let dims = match (dims == other_dims, dims) {
            (true, _) => Relation::Equal,
            (_, "*]") => Relation::LessPrecise,
            _ => Relation::MorePrecise,
        };
        return combine(elem, dims);
    }
    let list = |dims: &str| -> Vec<String> {
        dims.trim_end_matches(']').split(',').filter(|dim| !dim.is_empty()).map(String::from).collect()
    };
    let (dims, other_dims) = (list(dims), list(other_dims));
    if dims.len() != other_dims.len() {
        return Relation::Contradictory;
    }
    dims.iter().zip(&other_dims).map(|(a, b)| part(a, b)).fold(elem, combine)
}

fn wrapper(ty: &str) -> Option<(&str, &str)> {
    ty.split_once(':')
}

fn part(found: &str, other: &str) -> Relation {
    match (found, other) {
        _ if found == other => Relation::Equal,
        ("?", _) => Relation::LessPrecise,
        (_, "?") => Relation::MorePrecise,
        _ => match (found.starts_with('$'), other.starts_with('$')) {
            (true, true) => Relation::Different,
            (true, false) => Relation::LessPrecise,
            (false, true) => Relation::MorePrecise,
            (false, false) => Relation::Contradictory,
        },
    }
}

fn combine(a: Relation, b: Relation) -> Relation {
    match (a, b) {
        (Relation::Contradictory, _) | (_, Relation::Contradictory) => Relation::Contradictory,
        (Relation::Equal, other) | (other, Relation::Equal) => other,
        (a, b) if a == b => a,
        _ => Relation::Different,
    }
}
