//! The words about outputs that differ.

use super::{Closeness, Largest};
use relais::ir::{Function, Tensor};
use relais_conformance::{interface::output_names, interpret::ResultForm, numbers::TensorDifference};
use serde_json::{Value, json};
use std::{cmp::Ordering, collections::BTreeMap, fmt};

/// How an output differs: lines for the user, and JSON.
pub(super) struct Told {
    pub lines: Vec<String>,
    pub json: Value,
}

/// The name of an output, or of an item of one that is a sequence, as messages show it.
pub(super) fn output_name(main: &Function, (output, item): (usize, Option<usize>)) -> String {
    let name =
        output_names(main).get(output).map_or_else(|| format!("output {output}"), |name| format!("output `{name}`"));
    match item {
        None => name,
        Some(item) => format!("item {item} of {name}"),
    }
}

/// The difference between outputs that have other forms.
pub(super) fn other_forms(main: &Function, old: &[ResultForm], new: &[ResultForm]) -> Option<Told> {
    if old.len() != new.len() {
        let lines = vec![format!("the model has {} outputs, and the output {}", old.len(), new.len())];
        return Some(Told { lines, json: json!({ "n_outputs": [old.len(), new.len()] }) });
    }
    let (at, (old, new)) = old.iter().zip(new).enumerate().find(|(_, (old, new))| old != new)?;
    let shown = |form: &ResultForm| match form {
        ResultForm::Tensor => "a tensor".to_owned(),
        ResultForm::Sequence(n) => format!("a sequence of {n}"),
        ResultForm::Nothing => "nothing".to_owned(),
    };
    let (name, old, new) = (output_name(main, (at, None)), shown(old), shown(new));
    let lines = vec![format!("{name} is {new} where the model gives {old}")];
    Some(Told { lines, json: json!({ "output": name, "forms": [old, new] }) })
}

/// The shapes of the inputs that may have several ones.
pub(super) fn shapes<'a>(main: &'a Function, inputs: &'a [Tensor]) -> BTreeMap<&'a str, &'a [u64]> {
    let is_open = |&(&param, _): &(&_, &Tensor)| main.type_of(param).static_shape().is_none();
    let open = main.params().iter().zip(inputs).filter(is_open);
    open.map(|(&param, input)| (main.name(param), input.dims())).collect()
}

pub(super) fn shape(dims: &[u64]) -> String {
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    format!("({})", dims.join(", "))
}

pub(super) fn type_of(tensor: &Tensor) -> String {
    format!("{} of shape {}", tensor.elem().name().unwrap_or("?"), shape(tensor.dims()))
}

pub(super) fn other_type(name: &str, old: &Tensor, new: &Tensor) -> Told {
    let (old, new) = (type_of(old), type_of(new));
    let lines = vec![format!("{name} is {new} where the model gives {old}")];
    Told { lines, json: json!({ "output": name, "types": [old, new] }) }
}

pub(super) fn differ(name: &str, difference: &TensorDifference, len: u64) -> Told {
    let TensorDifference { index, values: [old, new], distance, count } = difference;
    let by = if distance.is_finite() { format!(", by up to {}", short(*distance)) } else { String::new() };
    let mut lines = vec![format!("{name} differs in {count} of {len} elements{by}")];
    if !old.is_empty() {
        let index: Vec<String> = index.iter().map(u64::to_string).collect();
        lines.push(format!("most at [{}]: the model gives {old}, and the output {new}", index.join(", ")));
    }
    let distance = distance.is_finite().then_some(*distance);
    let json = json!({
        "output": name,
        "index": index,
        "values": [old, new],
        "distance": distance,
        "n_differing": count,
        "n_elements": len,
    });
    Told { lines, json }
}

impl Closeness {
    fn name(self) -> &'static str {
        match self {
            Self::Bounds => "bounds",
            Self::Error => "error",
            Self::Tie => "tie",
        }
    }
}

impl Largest {
    /// By how much is told: a difference of numbers rather than one of indices.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let key = |it: &Self| (it.by != Closeness::Tie, it.distance);
        let (a, b) = (key(self), key(other));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    }

    /// The values, by name.
    pub(super) fn to_json(&self) -> Value {
        let Self { distance, output, bounds: (relative, absolute), by } = self;
        json!({
            "distance": distance,
            "output": output,
            "relative_bound": relative,
            "absolute_bound": absolute,
            "allowed_by": by.name(),
        })
    }
}

impl fmt::Display for Largest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { distance, output, bounds: (relative, absolute), by } = self;
        let [distance, relative, absolute] = [*distance, *relative, *absolute].map(short);
        write!(f, "{distance} in {output}, bound {relative} of a value and {absolute}")?;
        f.write_str(match by {
            Closeness::Bounds => "",
            Closeness::Error => "; more, but as near to float64 as the model",
            Closeness::Tie => "; more, but what decides it ties",
        })
    }
}

/// A number with the digits that matter.
fn short(number: f64) -> String {
    if number == 0.0 || (1e-4..1e6).contains(&number) {
        format!("{}", (number * 1e6).round() / 1e6)
    } else {
        format!("{number:.3e}")
    }
}
