//! Compares inferred types with those of another implementation, and with results of runs: the case files that
//! `RELAIS_INFER_CASES` names (joined by `:`).

use crate::support;
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
fn agrees_with_other_implementations() {
    let Ok(files) = std::env::var("RELAIS_INFER_CASES") else {
        return;
    };
    for file in files.split(':') {
        let text = std::fs::read_to_string(file).unwrap();
        let mut counts = BTreeMap::new();
        let mut contradictions = Vec::new();
        let mut by_op: BTreeMap<(Relation, &str), Vec<String>> = BTreeMap::new();
        let n_cases = support::run(&text, |judged| {
            let relation = relate(&judged.found, judged.expected);
            *counts.entry(relation).or_insert(0) += 1;
            let line = judged.to_string();
            let is_false = is_false(&judged.found, judged.truth);
            // The other implementation is wrong if a run shows so.
            let is_right = !is_false && is_concrete(judged.truth);
            if is_false || (relation == Relation::Contradictory && !is_right) {
                contradictions.push(line.clone());
            }
            if relation != Relation::Equal {
                by_op.entry((relation, judged.op_name)).or_default().push(line);
            }
        });
        eprintln!("{file}: {n_cases} cases, {counts:?}");
        for ((relation, op_name), lines) in by_op {
            eprintln!("  {relation:?} {op_name}: {} such as {}", lines.len(), lines[0]);
        }
        assert!(contradictions.is_empty(), "{}", contradictions.join("\n"));
    }
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
