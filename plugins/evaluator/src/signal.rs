//! Windows of signals: sums of cosines.

use crate::shared::{
    cx::{Eval, flag, int, int_scalar, table},
    doubles::rounded,
    shape::{checked_len, with_room},
};
use relais_operator_math::signal;
use relais_plugin_api::op::{EvalCx, OpError};
use std::f64::consts::TAU;

table! {
    "HannWindow" @ 17 => |cx| window(cx, signal::HANN),
    "HammingWindow" @ 17 => |cx| window(cx, signal::HAMMING),
    "BlackmanWindow" @ 17 => |cx| window(cx, signal::BLACKMAN),
}

/// The first weight, less a cosine with the second one, and a cosine of twice the frequency with the third one.
fn window(cx: &EvalCx<'_>, [constant, first, second]: [f64; 3]) -> Eval {
    let size = int_scalar(cx, cx.require(0)?, "the size")?;
    let elem = crate::cast::elem_type(int(cx, "output_datatype")?)?;
    let len = u64::try_from(size).map_err(|_| OpError::invalid(format_args!("the size is {size}")))?;
    let n = checked_len(cx, elem, &[len])?;
    let period = if flag(cx, "periodic")? { size } else { size - 1 };
    if period < 1 {
        return Err(OpError::unsupported("a window without a period"));
    }
    let mut values = with_room(n)?;
    values.extend((0..n).map(|at| {
        let angle = TAU * at as f64 / period as f64;
        constant - first * angle.cos() + second * (2.0 * angle).cos()
    }));
    rounded(elem, &[len], &values)
}
