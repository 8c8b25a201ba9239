//! Normalisations.

use super::{Made, body, cast, elem, rank, reduced, scalar, stash_type, unknown};
use relais_plugin_api::op::{OpCall, OpError};

/// The axes from the attribute `axis` to the last one, counted from the end.
fn last_axes(call: &OpCall<'_>) -> Result<Vec<i64>, OpError> {
    let axis = match call.attrs().int("axis").unwrap_or(-1) {
        axis if axis < 0 => axis,
        axis => axis - rank(call, 0)? as i64,
    };
    // No tensor has more axes than a shape of a constant may have.
    if axis < -64 { Err(OpError::unsupported("`axis` is out of range")) } else { Ok((axis..0).collect()) }
}

fn epsilon(call: &OpCall<'_>) -> f32 {
    call.attrs().float("epsilon").unwrap_or(1e-5)
}

/// `LayerNormalization`: mean and variance in the precision of `stash_type`.
pub fn layer_normalization(call: &OpCall<'_>) -> Made {
    let (elem, stash, axes) = (elem(call, 0)?, stash_type(call), last_axes(call)?);
    let mut lines = cast("u", "x", elem, stash);
    lines += &format!(
        "  %mean = {};\n  %d = Sub(%u, %mean);\n  %q = Mul(%d, %d);\n  %v = {};\n  %e = Add(%v, {});\n  %s = Sqrt(%e);\n  \
         %inverse = Reciprocal(%s);\n  %n = Mul(%d, %inverse);\n",
        reduced(call, "ReduceMean", "u", &axes, true),
        reduced(call, "ReduceMean", "q", &axes, true),
        scalar(stash, epsilon(call)),
    );
    lines += &cast("c", "n", stash, elem);
    lines += "  %scaled = Mul(%c, %scale);\n";
    lines += if call.has_arg(2) { "  %y = Add(%scaled, %bias);\n" } else { "  %y = Identity(%scaled);\n" };
    body(call, &["x", "scale", "bias"], &lines, &["y", "mean", "inverse"])
}

/// `RMSNormalization`.
pub fn rms_normalization(call: &OpCall<'_>) -> Made {
    let (elem, stash, axes) = (elem(call, 0)?, stash_type(call), last_axes(call)?);
    let mut lines = cast("u", "x", elem, stash);
    lines += &format!(
        "  %q = Mul(%u, %u);\n  %v = {};\n  %e = Add(%v, {});\n  %s = Sqrt(%e);\n  %n = Div(%u, %s);\n",
        reduced(call, "ReduceMean", "q", &axes, true),
        scalar(stash, epsilon(call)),
    );
    lines += &cast("c", "n", stash, elem);
    lines += "  %y = Mul(%c, %scale);\n";
    body(call, &["x", "scale"], &lines, &["y"])
}

/// `GroupNormalization`: up to version 20, scale and bias are those of groups, then those of channels.
pub fn group_normalization(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let is_by_channel = call.version() >= 21;
    let stash = if is_by_channel { stash_type(call) } else { elem };
    let groups = call.attrs().int("num_groups").ok_or_else(|| unknown("`num_groups`"))?;
    let mut lines = format!("  %shape = Shape(%x);\n  %g = Reshape(%x, [0, {groups}, -1]);\n");
    lines += &cast("u", "g", elem, stash);
    lines += &format!(
        "  %m = {};\n  %d = Sub(%u, %m);\n  %q = Mul(%d, %d);\n  %v = {};\n  %e = Add(%v, {});\n  %s = Sqrt(%e);\n  \
         %n = Div(%d, %s);\n",
        reduced(call, "ReduceMean", "u", &[2], true),
        reduced(call, "ReduceMean", "q", &[2], true),
        scalar(stash, epsilon(call)),
    );
    lines += &cast("c", "n", stash, elem);
    lines += match is_by_channel {
        true => {
            "  %front = Slice(%shape, [0], [2]);\n  %flat = Concat(%front, [-1], axis = 0);\n  \
             %channels = Reshape(%c, %flat);\n"
        }
        false => "  %channels = Identity(%c);\n",
    };
    lines += "  %w = Reshape(%scale, [-1, 1]);\n  %b = Reshape(%bias, [-1, 1]);\n  %scaled = Mul(%channels, %w);\n  \
              %moved = Add(%scaled, %b);\n  %y = Reshape(%moved, %shape);\n";
    body(call, &["x", "scale", "bias"], &lines, &["y"])
}

/// `MeanVarianceNormalization`.
pub fn mean_variance_normalization(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let axes = call.attrs().ints("axes").unwrap_or_else(|| vec![0, 2, 3]);
    if axes.is_empty() {
        return Err(OpError::unsupported("`axes` is empty"));
    }
    let lines = format!(
        "  %m = {};\n  %d = Sub(%x, %m);\n  %q = Mul(%x, %x);\n  %p = {};\n  %r = Mul(%m, %m);\n  %v = Sub(%p, %r);\n  \
         %s = Sqrt(%v);\n  %e = Add(%s, {});\n  %y = Div(%d, %e);\n",
        reduced(call, "ReduceMean", "x", &axes, true),
        reduced(call, "ReduceMean", "q", &axes, true),
        scalar(elem, 1e-9),
    );
    body(call, &["x"], &lines, &["y"])
}
