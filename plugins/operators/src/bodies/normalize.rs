//! Normalisations.

use super::shared::{Made, body, cast, reduced, scalar, size};
use crate::calls::{dims, elem, elem_type, float, int, ints, opt_int, rank, unknown};
use relais_plugin_api::{
    ir::{Dim, ElemType},
    op::{OpCall, OpError},
};

/// The axes from the attribute `axis` to the last one, counted from the end.
fn last_axes(call: &OpCall<'_>) -> Result<Vec<i64>, OpError> {
    let axis = match int(call, "axis")? {
        axis if axis < 0 => axis,
        axis => axis - rank(call, 0)? as i64,
    };
    // No tensor has more axes than a shape of a constant may have.
    if axis < -64 { Err(OpError::unsupported("`axis` is out of range")) } else { Ok((axis..0).collect()) }
}

/// `LayerNormalization`: mean and variance in the precision of `stash_type`.
pub fn layer_normalization(call: &OpCall<'_>) -> Made {
    let (elem, stash, axes) = (elem(call, 0)?, elem_type(call, "stash_type")?, last_axes(call)?);
    let mut lines = cast("u", "x", elem, stash);
    lines += &format!(
        "  %mean = {};\n  %d = Sub(%u, %mean);\n  %q = Mul(%d, %d);\n  %v = {};\n  %e = Add(%v, {});\n  %s = Sqrt(%e);\n  \
         %inverse = Reciprocal(%s);\n  %n = Mul(%d, %inverse);\n",
        reduced(call, "ReduceMean", "u", &axes, true),
        reduced(call, "ReduceMean", "q", &axes, true),
        scalar(stash, float(call, "epsilon")? as f32),
    );
    lines += &cast("c", "n", stash, elem);
    lines += "  %scaled = Mul(%c, %scale);\n";
    lines += if call.has_arg(2) { "  %y = Add(%scaled, %bias);\n" } else { "  %y = Identity(%scaled);\n" };
    body(call, &["x", "scale", "bias"], &lines, &["y", "mean", "inverse"])
}

/// `RMSNormalization`.
pub fn rms_normalization(call: &OpCall<'_>) -> Made {
    let (elem, stash, axes) = (elem(call, 0)?, elem_type(call, "stash_type")?, last_axes(call)?);
    let mut lines = cast("u", "x", elem, stash);
    lines += &format!(
        "  %q = Mul(%u, %u);\n  %v = {};\n  %e = Add(%v, {});\n  %s = Sqrt(%e);\n  %n = Div(%u, %s);\n",
        reduced(call, "ReduceMean", "q", &axes, true),
        scalar(stash, float(call, "epsilon")? as f32),
    );
    lines += &cast("c", "n", stash, elem);
    lines += "  %y = Mul(%c, %scale);\n";
    body(call, &["x", "scale"], &lines, &["y"])
}

/// `InstanceNormalization`: scale and bias are those of channels.
pub fn instance_normalization(call: &OpCall<'_>) -> Made {
    let (elem, rank) = (elem(call, 0)?, rank(call, 0)?);
    if rank < 3 {
        return Err(OpError::unsupported("the input has no axes to normalise"));
    }
    one_for_each(call, size(call, 0, 1))?;
    let stash = wide(elem);
    let axes: Vec<i64> = (2..rank as i64).collect();
    let lines = cast("u", "x", elem, stash)
        + &deviations(call, stash, &axes)?
        + &cast("c", "n", stash, elem)
        + &scaled("y", "c", &in_channels(rank));
    body(call, &["x", "scale", "bias"], &lines, &["y"])
}

/// `GroupNormalization`: up to version 20, scale and bias are those of groups, then those of channels.
pub fn group_normalization(call: &OpCall<'_>) -> Made {
    let (elem, dims) = (elem(call, 0)?, dims(call, 0)?);
    let [batch, channels, ref places @ ..] = *dims else {
        return Err(OpError::unsupported("the input has no channels"));
    };
    let channels = channels.known().ok_or_else(|| unknown("the number of channels"))?;
    let groups = opt_int(call, "num_groups")?.ok_or_else(|| unknown("`num_groups`"))?;
    let n_groups = u64::try_from(groups).ok().filter(|&n| n > 0 && channels.is_multiple_of(n));
    let n_groups = n_groups.ok_or_else(|| OpError::unsupported("the channels are not those of equal groups"))?;
    let is_by_channel = call.version() >= 21;
    one_for_each(call, Some(if is_by_channel { channels } else { n_groups }))?;
    let stash = if is_by_channel { elem_type(call, "stash_type")? } else { wide(elem) };

    let each = channels / n_groups;
    let view: Vec<Dim> =
        [batch, Dim::Static(n_groups), Dim::Static(each)].into_iter().chain(places.iter().copied()).collect();
    let mut lines = match sizes(&view) {
        Some(view) => format!("  %g = Reshape(%x, {view});\n"),
        None => format!(
            "  %shape = Shape(%x);\n  %front = Slice(%shape, [0], [1]);\n  %back = Slice(%shape, [2], [{}]);\n  %view = \
             Concat(%front, [{n_groups}, {each}], %back, axis = 0);\n  %g = Reshape(%x, %view, allowzero = 1);\n",
            dims.len(),
        ),
    };
    let axes: Vec<i64> = (2..view.len() as i64).collect();
    lines += &(cast("u", "g", elem, stash) + &deviations(call, stash, &axes)? + &cast("c", "n", stash, elem));
    let restored = |from: &str, to: &str| match sizes(&dims) {
        Some(dims) => format!("  %{to} = Reshape(%{from}, {dims});\n"),
        None => format!("  %{to} = Reshape(%{from}, %shape, allowzero = 1);\n"),
    };
    lines += &match is_by_channel {
        true => restored("c", "r") + &scaled("y", "r", &in_channels(dims.len())),
        false => scaled("r", "c", &in_channels(view.len())) + &restored("r", "y"),
    };
    body(call, &["x", "scale", "bias"], &lines, &["y"])
}

/// `MeanVarianceNormalization`, with the mean of the squares of deviations for what ONNX writes as the mean of the squares
/// minus the square of the mean: rounded, the difference may be negative, and has no root.
pub fn mean_variance_normalization(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let axes = ints(call, "axes")?;
    if axes.is_empty() {
        return Err(OpError::unsupported("`axes` is empty"));
    }
    let stash = wide(elem);
    let mut lines = cast("u", "x", elem, stash);
    lines += &format!(
        "  %m = {};\n  %d = Sub(%u, %m);\n  %q = Mul(%d, %d);\n  %v = {};\n  %s = Sqrt(%v);\n  %e = Add(%s, {});\n  \
         %n = Div(%d, %e);\n",
        reduced(call, "ReduceMean", "u", &axes, true),
        reduced(call, "ReduceMean", "q", &axes, true),
        scalar(stash, 1e-9),
    );
    lines += &cast("y", "n", stash, elem);
    body(call, &["x"], &lines, &["y"])
}

/// `LpNormalization`: elements whose norm is zero are zero.
pub fn lp_normalization(call: &OpCall<'_>) -> Made {
    if call.version() < 11 {
        return Err(OpError::unsupported("before version 11, floats cannot be compared for equality"));
    }
    let elem = elem(call, 0)?;
    let op = match int(call, "p")? {
        1 => "ReduceL1",
        2 => "ReduceL2",
        other => return Err(OpError::unsupported(format_args!("`p` is {other}"))),
    };
    let axis = int(call, "axis")?;
    let stash = wide(elem);
    let zero = scalar(stash, 0.0);
    let mut lines = cast("u", "x", elem, stash);
    lines += &format!(
        "  %l = {};\n  %z = Equal(%l, {zero});\n  %q = Div(%u, %l);\n  %n = Where(%z, {zero}, %q);\n",
        reduced(call, op, "u", &[axis], true),
    );
    lines += &cast("y", "n", stash, elem);
    body(call, &["x"], &lines, &["y"])
}

/// The type in which numbers of a type are added up where the standard leaves it open.
fn wide(elem: ElemType) -> ElemType {
    match elem {
        ElemType::FLOAT16 | ElemType::BFLOAT16 => ElemType::FLOAT,
        elem => elem,
    }
}

/// The lines that compute `%n` from `%u`: minus the mean over axes, divided by the standard deviation.
fn deviations(call: &OpCall<'_>, elem: ElemType, axes: &[i64]) -> Made {
    Ok(format!(
        "  %m = {};\n  %d = Sub(%u, %m);\n  %q = Mul(%d, %d);\n  %v = {};\n  %e = Add(%v, {});\n  %s = Sqrt(%e);\n  \
         %n = Div(%d, %s);\n",
        reduced(call, "ReduceMean", "u", axes, true),
        reduced(call, "ReduceMean", "q", axes, true),
        scalar(elem, float(call, "epsilon")? as f32),
    ))
}

/// The lines that multiply by `%scale` and add `%bias`, both in a shape.
fn scaled(result: &str, value: &str, shape: &str) -> String {
    format!(
        "  %w = Reshape(%scale, {shape});\n  %b = Reshape(%bias, {shape});\n  %scaled = Mul(%{value}, %w);\n  \
         %{result} = Add(%scaled, %b);\n"
    )
}

/// The shape in which a vector goes along axis 1 of a tensor.
fn in_channels(rank: usize) -> String {
    let mut shape = vec![1; rank.saturating_sub(1)];
    shape.iter_mut().take(1).for_each(|size| *size = -1);
    format!("{shape:?}")
}

/// The text of a shape in which at most one size is not known, and none is zero.
fn sizes(dims: &[Dim]) -> Option<String> {
    let n_unknown = dims.iter().filter(|dim| dim.known().is_none()).count();
    let sizes = dims.iter().map(|dim| dim.known().map_or(-1, |size| size as i64));
    let sizes: Vec<i64> = sizes.collect();
    (n_unknown <= 1 && !sizes.contains(&0)).then(|| format!("{sizes:?}"))
}

/// Checks that scale and bias have one number for each of `n`, as far as their sizes are known.
fn one_for_each(call: &OpCall<'_>, n: Option<u64>) -> Result<(), OpError> {
    let is_other = |index| size(call, index, 0).zip(n).is_some_and(|(size, n)| size != n);
    match (1..=2).any(is_other) {
        true => Err(OpError::unsupported("scale and bias are of other sizes than the input")),
        false => Ok(()),
    }
}
