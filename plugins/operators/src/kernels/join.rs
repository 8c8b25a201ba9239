//! `Concat` and `Split`.

use super::shared::{
    Done, declined,
    parts::{Part, copy_part},
};
use crate::calls::{int, opt_int};
use relais_operator_math::join::concat_axis;
use relais_plugin_api::op::{Kernel, OpCall, OpError, shapes::axis_of};

/// All axes, of which one has a part that begins at `from` and `to`.
fn along(x: &[u64], y: &[u64], axis: usize, count: u64, (from, to): (u64, u64)) -> Vec<Part> {
    let mut parts: Vec<Part> = x.iter().map(|&size| Part::whole(size)).collect();
    let (x_size, y_size) = (x[axis], y[axis]);
    parts[axis] = Part { x_size, y_size, count, from: from as i64, to: to as i64, step: 1 };
    parts
}

/// `Concat`.
pub fn concat(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let y = kernel.output(0);
    let sizes = kernel.sizes(y);
    let axis = concat_axis(opt_int(call, "axis")?, call.version());
    let axis = axis_of(axis.ok_or_else(|| OpError::invalid("attribute `axis` is missing"))?, sizes.len())?;
    let mut to = 0;
    for at in 0..call.n_args() {
        let x = kernel.needed_input(at)?;
        let given = kernel.sizes(x);
        let fits = given.len() == sizes.len() && (0..sizes.len()).all(|at| at == axis || given[at] == sizes[at]);
        if !fits || to + given[axis] > sizes[axis] {
            return declined("the shapes of its arguments do not fit its result");
        }
        copy_part(kernel, x, y, &along(&given, &sizes, axis, given[axis], (0, to)));
        to += given[axis];
    }
    Ok(())
}

/// `Split`, whose results are known.
pub fn split(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let x = kernel.needed_input(0)?;
    let sizes = kernel.sizes(x);
    let axis = axis_of(int(call, "axis")?, sizes.len())?;
    let mut from = 0;
    for at in 0..call.n_outputs() {
        let Some(y) = kernel.optional_output(at) else { break };
        let made = kernel.sizes(y);
        if made.len() != sizes.len() || from + made[axis] > sizes[axis] {
            return declined("the shapes of its results do not fit its argument");
        }
        copy_part(kernel, x, y, &along(&sizes, &made, axis, made[axis], (from, 0)));
        from += made[axis];
    }
    Ok(())
}
