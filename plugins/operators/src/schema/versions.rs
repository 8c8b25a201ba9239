//! From the rows of a family to all versions of its operators.

use super::onnx::ALL;
use relais_plugin_api::op::{Axes, Exactness, Operator};

/// All versions of the operators that the rows of a family describe: what ONNX says of each, and what the row says that
/// stands for it.
///
/// Calls of ONNX's own operators of integers are exact unless the row says something else.
///
/// The rows of an operator stand together, and each is for a version and those before it, down to the next row.
///
/// # Panics
/// Panics if the first row of an operator is not for its newest version: a newer one is to be looked at before what is
/// said here is said of it.
pub const fn all<const N: usize>(rows: &[Operator]) -> [Operator; N] {
    let mut made = [rows[0]; N];
    let (mut row, mut n) = (0, 0);
    while row < rows.len() {
        let (oldest, mut at) = span(rows, row);
        while at > oldest {
            at -= 1;
            made[n] = described(&rows[row], &ALL[at]);
            n += 1;
        }
        row += 1;
    }
    made
}

/// The number of versions of the operators in these rows.
pub const fn count(rows: &[Operator]) -> usize {
    let (mut row, mut n) = (0, 0);
    while row < rows.len() {
        let (oldest, end) = span(rows, row);
        n += end - oldest;
        row += 1;
    }
    n
}

/// A row as the description of one version, by what ONNX says of that.
const fn described(row: &Operator, version: &Operator) -> Operator {
    let (inputs, outputs) = (version.inputs, version.outputs);
    let (mut row, is_own) = (*row, version.domain.is_empty());
    // Arguments were broadcast in another way while an attribute asked for it.
    if matches!(row.axes, Some(Axes::Broadcast)) && has_attr(version, "broadcast") {
        row.axes = None;
    }
    if is_own && row.exact.is_none() {
        row.exact = Some(Exactness::Integers);
    }
    row.since(version.since_version)
        .inputs(inputs.0, inputs.1)
        .outputs(outputs.0, outputs.1)
        .takes(version.takes)
        .gives(version.gives)
        .types(version.types)
        .attrs(version.attrs)
}

const fn has_attr(op: &Operator, name: &str) -> bool {
    let mut i = 0;
    while i < op.attrs.len() {
        if compare(op.attrs[i].name, name) == 0 {
            return true;
        }
        i += 1;
    }
    false
}

/// The oldest version that a row is for, and the end of its versions, as places in the list of all.
const fn span(rows: &[Operator], row: usize) -> (usize, usize) {
    let newest = find(&rows[row]);
    let is_first = row == 0 || !is_one(&rows[row - 1], &rows[row]);
    let has_newer = newest + 1 < ALL.len() && is_one(&ALL[newest + 1], &rows[row]);
    assert!(!(is_first && has_newer), "ONNX has a newer version than the first row of an operator");
    let has_next = row + 1 < rows.len() && is_one(&rows[row + 1], &rows[row]);
    let end = if has_next { find(&rows[row + 1]) + 1 } else { 0 };
    let mut oldest = newest;
    while oldest > end && is_one(&ALL[oldest - 1], &rows[row]) {
        oldest -= 1;
    }
    (oldest, newest + 1)
}

/// The place of a version in the list of all, which is sorted by domain, name and version.
const fn find(op: &Operator) -> usize {
    let (mut low, mut high) = (0, ALL.len());
    while low < high {
        let middle = low.midpoint(high);
        let order = order(&ALL[middle], op);
        if order == 0 {
            return middle;
        }
        if order < 0 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    panic!("ONNX has no such operator, or no such version: see `onnx.rs`, which `plugins/operators/schemas.py` writes")
}

/// Whether two versions are of one operator.
const fn is_one(a: &Operator, b: &Operator) -> bool {
    compare(a.domain, b.domain) == 0 && compare(a.name, b.name) == 0
}

/// Negative where `a` comes before `b`, 0 where both are equal.
const fn order(a: &Operator, b: &Operator) -> i64 {
    let domain = compare(a.domain, b.domain);
    let name = if domain == 0 { compare(a.name, b.name) } else { domain };
    if name == 0 { a.since_version as i64 - b.since_version as i64 } else { name }
}

/// Negative where `a` comes before `b`, 0 where both are equal.
const fn compare(a: &str, b: &str) -> i64 {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return a[i] as i64 - b[i] as i64;
        }
        i += 1;
    }
    a.len() as i64 - b.len() as i64
}
