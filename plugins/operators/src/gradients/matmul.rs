//! Products of matrices.

use super::shared::{Made, Text, output_dims};
use crate::calls::{dims, elem, flag, float};
use relais_plugin_api::{
    ir::Dims,
    op::{OpCall, OpError},
};

/// The permutation that exchanges the last two axes.
fn exchanged(rank: usize) -> Vec<usize> {
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(rank - 1, rank - 2);
    perm
}

/// `MatMul`: vectors are matrices of one row or one column.
pub fn mat_mul(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let (mut of_a, mut of_b, mut of_y) = (dims(call, 0)?, dims(call, 1)?, output_dims(call, 0)?);
    if of_a.is_empty() || of_b.is_empty() {
        return Err(OpError::unsupported("an argument is a scalar"));
    }
    let (is_row, is_column) = (of_a.len() == 1, of_b.len() == 1);
    let (mut a, mut b, mut d) = ("%a0".to_owned(), "%a1".to_owned(), "%d0".to_owned());
    let one = relais_plugin_api::ir::Dim::Static(1);
    if is_column {
        b = t.unsqueezed(&b, &[1]);
        d = t.unsqueezed(&d, &[of_y.len() as i64]);
        of_b.push(one);
        of_y.push(one);
    }
    if is_row {
        let at = of_y.len() - 1;
        a = t.unsqueezed(&a, &[0]);
        d = t.unsqueezed(&d, &[at as i64]);
        of_a.insert(0, one);
        of_y.insert(at, one);
    }
    let (left, right) = (exchanged(of_a.len()), exchanged(of_b.len()));
    let from = |rows: &Dims, columns: &Dims| -> Dims {
        let rank = of_y.len();
        let mut from = of_y.clone();
        (from[rank - 2], from[rank - 1]) = (rows[rows.len() - 2], columns[columns.len() - 1]);
        from
    };
    let transposed = t.line(format_args!("Transpose({b}, perm = {right:?})"));
    let to_a = t.line(format_args!("MatMul({d}, {transposed})"));
    let transposed = t.line(format_args!("Transpose({a}, perm = {left:?})"));
    let to_b = t.line(format_args!("MatMul({transposed}, {d})"));
    let mut to_a = t.summed_to(&of_a, &a, &to_a, &from(&of_a, &of_a))?;
    let mut to_b = t.summed_to(&of_b, &b, &to_b, &from(&of_b, &of_b))?;
    if is_row {
        to_a = t.squeezed(&to_a, &[0]);
    }
    if is_column {
        to_b = t.squeezed(&to_b, &[1]);
    }
    t.gives([to_a, to_b])
}

/// `Gemm`.
pub fn gemm(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let elem = elem(call, 0)?;
    let scaled = |t: &mut Text<'_, '_>, factor: f64, value: &str| {
        if factor == 1.0 {
            return value.to_owned();
        }
        let factor = t.scalar(elem, factor);
        t.line(format_args!("Mul({value}, {factor})"))
    };
    let d = scaled(&mut t, float(call, "alpha")?, "%d0");
    let turned = |t: &mut Text<'_, '_>, value: &str, is_turned: bool| match is_turned {
        true => t.line(format_args!("Transpose({value}, perm = [1, 0])")),
        false => value.to_owned(),
    };
    let product = |t: &mut Text<'_, '_>, (a, turn_a): (&str, bool), (b, turn_b): (&str, bool)| {
        let (a, b) = (turned(t, a, turn_a), turned(t, b, turn_b));
        t.line(format_args!("MatMul({a}, {b})"))
    };
    let (turn_a, turn_b) = (flag(call, "transA")?, flag(call, "transB")?);
    let to_a = match turn_a {
        false => product(&mut t, (&d, false), ("%a1", !turn_b)),
        true => product(&mut t, ("%a1", turn_b), (&d, true)),
    };
    let to_b = match turn_b {
        false => product(&mut t, ("%a0", !turn_a), (&d, false)),
        true => product(&mut t, (&d, true), ("%a0", turn_a)),
    };
    let mut results = vec![to_a, to_b];
    if call.has_arg(2) {
        let scaled = scaled(&mut t, float(call, "beta")?, "%d0");
        results.push(t.summed(2, &scaled)?);
    }
    t.gives(results)
}
