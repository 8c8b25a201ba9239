//! `Einsum`.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};
use std::collections::BTreeMap;

/// `Einsum`.
pub fn einsum(cx: &mut InferCx<'_>) -> Outcome {
    let n_args = cx.n_args();
    let elem = common_elem(cx, 0..n_args)?;
    let mut equation = string(cx, "equation")?.to_owned();
    equation.retain(|c| !c.is_whitespace());
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != n_args {
        return invalid(format_args!("`equation` has {} terms for {n_args} inputs", terms.len()));
    }
    // `.` represents the axes of an ellipsis.
    let mut sizes: BTreeMap<char, (Dim, usize)> = BTreeMap::new();
    let mut ellipsis: Option<Dims> = Some(Dims::new());
    for (index, term) in terms.iter().enumerate() {
        let labels: Vec<char> = term.replace("...", ".").chars().collect();
        let n_labels = labels.iter().filter(|&&label| label != '.').count();
        let dims = cx.dims(index);
        let n_more = match &dims {
            Some(dims) if dims.len() < n_labels || (dims.len() > n_labels && !labels.contains(&'.')) => {
                return invalid(format_args!("term `{term}` does not fit input {index} of rank {}", dims.len()));
            }
            Some(dims) => Some(dims.len() - n_labels),
            None => None,
        };
        let mut at = 0;
        for label in labels {
            if label == '.' {
                ellipsis = match (ellipsis, &dims, n_more) {
                    (Some(old), Some(dims), Some(n)) => Some(broadcast(&old, &dims[at..at + n])?),
                    _ => None,
                };
                at += n_more.unwrap_or(0);
                continue;
            }
            let dim = dims.as_ref().map_or(Dim::Unknown, |dims| dims[at]);
            at += 1;
            let entry = sizes.entry(label).or_insert((Dim::Static(1), 0));
            entry.0 = broadcast(&[entry.0], &[dim])?[0];
            entry.1 += 1;
        }
    }
    let right = match right {
        Some(right) => right.replace("...", "."),
        None => {
            let once = sizes.iter().filter(|(_, (_, count))| *count == 1).map(|(&label, _)| label);
            let dots = if left.contains("...") { "." } else { "" };
            dots.chars().chain(once).collect()
        }
    };
    let mut dims = Vec::new();
    for label in right.chars() {
        match (label, &ellipsis) {
            ('.', Some(more)) => dims.extend(more),
            ('.', None) => {
                cx.set_any_rank(0, elem);
                return Ok(());
            }
            _ => match sizes.get(&label) {
                Some(&(dim, _)) => dims.push(dim),
                None => return invalid(format_args!("label `{label}` of the result is in no term")),
            },
        }
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}
