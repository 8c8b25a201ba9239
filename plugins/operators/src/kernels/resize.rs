//! Images resized.

use super::shared::{
    Done, const_ints, declined,
    spread::map_as,
    tables::{Taps, by_tables},
    volume,
};
use crate::calls::{flag, float, named, opt_floats, opt_ints};
use relais_operator_math::resize::{
    self as math, Coordinates, Nearest, RatioPolicy, ResizeMode, ResizeSettings, ResizedAxis,
};
use relais_plugin_api::{
    ir::Tensor,
    op::{Kernel, OpCall, OpError, shapes::axis_of},
};

/// The most elements along an axis that make one.
const MOST: usize = 8;

/// `Resize`. Before version 11, places are multiples of the scale.
pub fn resize(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    if call.version() < 11 {
        return by_scales(call, kernel, const_floats(call, 1)?);
    }
    let (of_x, of_y) = (kernel.sizes(kernel.needed_input(0)?), kernel.sizes(kernel.output(0)));
    let settings = ResizeSettings {
        mode: mode(call)?,
        coordinates: named(call, "coordinate_transformation_mode", |name| Coordinates::of(name, call.version()))?,
        nearest: named(call, "nearest_mode", Nearest::of)?,
        antialias: flag(call, "antialias")?,
        exclude_outside: flag(call, "exclude_outside")?,
        cubic_coeff: float(call, "cubic_coeff_a")?,
    };
    let axes: Vec<usize> = match opt_ints(call, "axes")? {
        Some(axes) => axes.iter().map(|&axis| axis_of(axis, of_x.len())).collect::<Result<_, _>>()?,
        None => (0..of_x.len()).collect(),
    };
    let is_given = |index: usize| call.has_arg(index) && !call.constant(index).is_some_and(Tensor::is_empty);
    let mut scales = match (is_given(2), is_given(3)) {
        (true, false) => const_floats(call, 2)?,
        (false, true) => axes.iter().map(|&axis| of_y[axis] as f64 / of_x[axis] as f64).collect(),
        _ => return declined("neither or both of scales and sizes are given"),
    };
    if scales.len() != axes.len() {
        return Err(OpError::invalid("there is not a scale for each axis"));
    }
    let policy = named(call, "keep_aspect_ratio_policy", RatioPolicy::of)?;
    if is_given(3) && policy != RatioPolicy::Stretch {
        // The scale that all axes have is that of the sizes that were asked for, before they are adapted.
        let wanted = const_ints(call, 3)?;
        let asked = axes.iter().zip(&wanted).map(|(&axis, &size)| size as f64 / of_x[axis] as f64);
        policy.scale(asked).into_iter().for_each(|scale| scales.fill(scale));
    }
    interpolate(kernel, &settings, &axes, &scales)
}

/// `Upsample`, whose scales are attributes at first.
pub fn upsample(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let scales = match call.version() {
        ..7 => vec![1.0, 1.0, float(call, "height_scale")?, float(call, "width_scale")?],
        7..9 => opt_floats(call, "scales")?.unwrap_or_default().into_iter().map(f64::from).collect(),
        _ => const_floats(call, 1)?,
    };
    by_scales(call, kernel, scales)
}

fn by_scales(call: &OpCall<'_>, kernel: &mut Kernel<'_>, scales: Vec<f64>) -> Done {
    let rank = kernel.sizes(kernel.output(0)).len();
    let settings = ResizeSettings::by_scale(mode(call)?);
    if scales.len() != rank || settings.mode == ResizeMode::Nearest && scales.iter().any(|&scale| scale < 1.0) {
        return declined("the nearest element of a smaller result, before version 11");
    }
    interpolate(kernel, &settings, &(0..rank).collect::<Vec<_>>(), &scales)
}

fn mode(call: &OpCall<'_>) -> Result<ResizeMode, OpError> {
    named(call, "mode", |name| ResizeMode::of(name, call.version()))
}

/// The floats of an argument, which must be constant.
fn const_floats(call: &OpCall<'_>, index: usize) -> Result<Vec<f64>, OpError> {
    let floats = call.constant(index).and_then(Tensor::to_f64s);
    floats.ok_or_else(|| OpError::unsupported(format_args!("argument {index} is not a constant list of floats")))
}

fn interpolate(kernel: &mut Kernel<'_>, settings: &ResizeSettings, axes: &[usize], scales: &[f64]) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (of_x, of_y, elem) = (kernel.sizes(x), kernel.sizes(y), kernel.elem(x));
    if volume(&of_y) == 0 || volume(&of_x) == 0 {
        return declined("it has no elements");
    }
    if settings.coordinates == Coordinates::TfCropAndResize {
        return declined("it takes a region");
    }
    let is_nearest = settings.mode == ResizeMode::Nearest;
    if !is_nearest && !elem.is_float() || is_nearest && settings.antialias {
        return declined("its elements or its mode are not interpolated");
    }
    let mut tables = Vec::new();
    for (&axis, &scale) in axes.iter().zip(scales) {
        let resized = ResizedAxis::new(of_x[axis], of_y[axis], scale);
        if resized.is_same() {
            continue;
        }
        if scale.is_nan() || scale <= 0.0 {
            return Err(OpError::invalid(format_args!("a scale is {scale}")));
        }
        tables.push(taps(&resized, axis, settings)?);
    }
    // Whole repetitions need no tables.
    let repeats = |axis: usize| match tables.iter().find(|taps| taps.axis == axis) {
        None => Some(1),
        Some(taps) if !of_y[axis].is_multiple_of(of_x[axis]) || !taps.weights.is_empty() => None,
        Some(taps) => {
            let n = of_y[axis] / of_x[axis];
            let is_repeated = taps.from[0].iter().zip(0..).all(|(&from, at): (_, u64)| from as u64 == at / n);
            is_repeated.then_some(n)
        }
    };
    let Some(repeats) = (0..of_x.len()).map(repeats).collect::<Option<Vec<u64>>>() else {
        return by_tables(kernel, x, y, &tables, elem);
    };
    let (mut in_x, mut in_y) = (Vec::new(), Vec::new());
    for (&size, &n) in of_x.iter().zip(&repeats) {
        in_x.extend([size, 1]);
        in_y.extend([size, n]);
    }
    map_as(kernel, &[(x, in_x)], y, &in_y, |_, values| values[0])
}

/// The elements that make each element of the result along an axis, and their weights. Those that depend on how a number is
/// rounded are declined.
fn taps(resized: &ResizedAxis, axis: usize, settings: &ResizeSettings) -> Result<Taps, OpError> {
    if resized.n_taps(settings) > MOST as f64 {
        return declined("too many elements make one");
    }
    let found = resized.places(settings).or_else(declined)?;
    if let Some(why) = found.disputed {
        return declined(why);
    }
    let all: Vec<math::Taps> = found.places.into_iter().map(|place| resized.taps(settings, place)).collect();
    let (n, last) = (resized.n_taps(settings) as i64, resized.size as i64 - 1);
    let from = |tap: i64| all.iter().map(|taps| (taps.first + tap).clamp(0, last)).collect();
    let weights = |tap: i64| all.iter().map(|taps| taps.weights[tap as usize]).collect();
    let has_weights = settings.mode != ResizeMode::Nearest;
    Ok(Taps { axis, from: (0..n).map(from).collect(), weights: (0..n).filter(|_| has_weights).map(weights).collect() })
}
