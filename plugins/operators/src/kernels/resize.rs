//! Images resized.

use super::shared::{
    Done, axis_of, const_ints, declined, flag, float,
    spread::map_as,
    tables::{Taps, by_tables},
    volume,
};
use relais_plugin_api::{
    ir::Tensor,
    op::{Kernel, OpCall, OpError},
};

/// The attributes of a call of `Resize` or `Upsample`.
struct Settings<'a> {
    mode: &'a str,
    coordinates: &'a str,
    nearest: &'a str,
    antialias: bool,
    exclude_outside: bool,
    cubic_coeff: f64,
}

/// An axis that is resized.
struct Resized {
    axis: usize,
    size: u64,
    made: u64,
    scale: f64,
}

/// `Resize`. Before version 11, places are multiples of the scale.
pub fn resize(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    if call.version() < 11 {
        return by_scales(call, kernel, const_floats(call, 1)?);
    }
    let (of_x, of_y) = (kernel.sizes(kernel.needed_input(0)?), kernel.sizes(kernel.output(0)));
    let attrs = call.attrs();
    let settings = Settings {
        mode: attrs.str("mode").unwrap_or("nearest"),
        coordinates: attrs.str("coordinate_transformation_mode").unwrap_or("half_pixel"),
        nearest: attrs.str("nearest_mode").unwrap_or("round_prefer_floor"),
        antialias: flag(call, "antialias", false),
        exclude_outside: flag(call, "exclude_outside", false),
        cubic_coeff: float(call, "cubic_coeff_a", -0.75),
    };
    let axes: Vec<usize> = match attrs.ints("axes") {
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
    if is_given(3) {
        let policy = attrs.str("keep_aspect_ratio_policy").unwrap_or("stretch");
        if policy != "stretch" {
            // The scale that all axes have is that of the sizes that were asked for, before they are adapted.
            let wanted = const_ints(call, 3)?;
            let asked = axes.iter().zip(&wanted).map(|(&axis, &size)| size as f64 / of_x[axis] as f64);
            let scale = match policy {
                "not_larger" => asked.fold(f64::INFINITY, f64::min),
                "not_smaller" => asked.fold(0.0, f64::max),
                _ => return declined(format_args!("`keep_aspect_ratio_policy` is `{policy}`")),
            };
            scales.fill(scale);
        }
    }
    interpolate(kernel, &settings, &axes, &scales)
}

/// `Upsample`, whose scales are attributes at first.
pub fn upsample(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let scales = match call.version() {
        ..7 => vec![1.0, 1.0, float(call, "height_scale", 0.0), float(call, "width_scale", 0.0)],
        7..9 => call.attrs().floats("scales").unwrap_or_default().into_iter().map(f64::from).collect(),
        _ => const_floats(call, 1)?,
    };
    by_scales(call, kernel, scales)
}

fn by_scales(call: &OpCall<'_>, kernel: &mut Kernel<'_>, scales: Vec<f64>) -> Done {
    let rank = kernel.sizes(kernel.output(0)).len();
    let mode = match call.attrs().str("mode") {
        Some("bilinear") if call.version() < 7 => "linear",
        mode => mode.unwrap_or("nearest"),
    };
    if scales.len() != rank || mode == "nearest" && scales.iter().any(|&scale| scale < 1.0) {
        return declined("the nearest element of a smaller result, before version 11");
    }
    let settings = Settings {
        mode,
        coordinates: "asymmetric",
        nearest: "floor",
        antialias: false,
        exclude_outside: false,
        cubic_coeff: 0.0,
    };
    interpolate(kernel, &settings, &(0..rank).collect::<Vec<_>>(), &scales)
}

/// The floats of an argument, which must be constant.
fn const_floats(call: &OpCall<'_>, index: usize) -> Result<Vec<f64>, OpError> {
    let floats = call.constant(index).and_then(Tensor::to_f64s);
    floats.ok_or_else(|| OpError::unsupported(format_args!("argument {index} is not a constant list of floats")))
}

fn interpolate(kernel: &mut Kernel<'_>, settings: &Settings<'_>, axes: &[usize], scales: &[f64]) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (of_x, of_y, elem) = (kernel.sizes(x), kernel.sizes(y), kernel.elem(x));
    if volume(&of_y) == 0 || volume(&of_x) == 0 {
        return declined("it has no elements");
    }
    let is_nearest = settings.mode == "nearest";
    if !is_nearest && !elem.is_float() || is_nearest && settings.antialias {
        return declined("its elements or its mode are not interpolated");
    }
    let mut tables = Vec::new();
    for (&axis, &scale) in axes.iter().zip(scales) {
        let resized = Resized { axis, size: of_x[axis], made: of_y[axis], scale };
        if resized.size == resized.made && scale == 1.0 {
            continue;
        }
        if scale.is_nan() || scale <= 0.0 {
            return Err(OpError::invalid(format_args!("a scale is {scale}")));
        }
        tables.push(resized.taps(settings)?);
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

impl Resized {
    /// The place in the data of an element of the result, in single or double precision.
    fn place(&self, coordinates: &str, at: u64, is_single: bool) -> Option<f64> {
        let round = |value: f64| if is_single { f64::from(value as f32) } else { value };
        let (x, scale, size, made) = (at as f64, round(self.scale), self.size as f64, self.made as f64);
        let half_pixel = round(round((x + 0.5) / scale) - 0.5);
        Some(match coordinates {
            "half_pixel" => half_pixel,
            "pytorch_half_pixel" | "align_corners" if self.made == 1 => 0.0,
            "pytorch_half_pixel" => half_pixel,
            "half_pixel_symmetric" => {
                let adjusted = round(made / round(scale * size));
                round(round(size / 2.0 * round(1.0 - adjusted)) + half_pixel)
            }
            "tf_half_pixel_for_nn" => round((x + 0.5) / scale),
            "asymmetric" => round(x / scale),
            "align_corners" => round(round(x * (size - 1.0)) / (made - 1.0)),
            _ => return None,
        })
    }

    /// The places in the data. Those that depend on how a number is rounded are declined.
    fn places(&self, settings: &Settings<'_>) -> Result<Vec<f64>, OpError> {
        let is_rounded = (self.scale * self.size as f64 - self.made as f64).abs() > 1e-6 * self.made as f64;
        if settings.coordinates == "align_corners" && is_rounded {
            return declined("its coordinates depend on how a size is rounded");
        }
        let is_single = settings.coordinates == "pytorch_half_pixel" && self.made == 1;
        if is_single && (settings.mode == "cubic" || settings.antialias || settings.exclude_outside) {
            return declined("it makes one element between others");
        }
        let last = self.size as f64 - 1.0;
        let mut places = Vec::new();
        for at in 0..self.made {
            let place = |is_single| {
                let place = self.place(settings.coordinates, at, is_single);
                place
                    .ok_or_else(|| OpError::unsupported(format_args!("its coordinates are `{}`", settings.coordinates)))
            };
            let (double, single) = (place(false)?, place(true)?);
            let pick = |place| pick(settings.nearest, place).map(|at| at.clamp(0.0, last));
            if settings.mode == "nearest" && pick(double)? != pick(single)? {
                return declined("an element depends on how its coordinates are rounded");
            }
            places.push(double);
        }
        Ok(places)
    }

    /// The elements that make each element of the result, and their weights.
    fn taps(&self, settings: &Settings<'_>) -> Result<Taps, OpError> {
        const MOST: usize = 8;
        let last = self.size as i64 - 1;
        let mut all = Vec::new();
        for place in self.places(settings)? {
            let coeff = settings.cubic_coeff;
            let (first, mut weights) = match (settings.mode, settings.antialias) {
                ("nearest", _) => (pick(settings.nearest, place)?, Vec::new()),
                ("linear", true) => spread(place, self.scale, 1.0, &|x| (1.0 - x.abs()).max(0.0)),
                ("cubic", true) => spread(place, self.scale, 2.0, &|x| cubic(x.abs(), coeff)),
                ("linear", false) => {
                    let ratio = place - place.floor();
                    (place.floor(), vec![1.0 - ratio, ratio])
                }
                ("cubic", false) => {
                    let ratio = place - place.floor();
                    let weights = (-1..=2).map(|at| cubic((ratio - f64::from(at)).abs(), coeff)).collect();
                    (place.floor() - 1.0, weights)
                }
                (mode, _) => return declined(format_args!("`mode` is `{mode}`")),
            };
            let first = first as i64;
            if settings.exclude_outside {
                for (at, weight) in weights.iter_mut().enumerate() {
                    *weight = if (0..=last).contains(&(first + at as i64)) { *weight } else { 0.0 };
                }
                let sum: f64 = weights.iter().sum();
                weights.iter_mut().for_each(|weight| *weight /= if sum == 0.0 { 1.0 } else { sum });
            }
            all.push((first, weights));
        }
        let n = all.iter().map(|(_, weights)| weights.len()).max().unwrap_or(0);
        if n > MOST || all.iter().any(|(_, weights)| weights.len() != n) {
            return declined("too many elements make one");
        }
        let from = |tap: usize| all.iter().map(|(first, _)| (first + tap as i64).clamp(0, last)).collect();
        let weights = |tap: usize| all.iter().map(|(_, weights)| weights[tap]).collect();
        Ok(Taps { axis: self.axis, from: (0..n.max(1)).map(from).collect(), weights: (0..n).map(weights).collect() })
    }
}

/// Which of two elements is the nearest one.
fn pick(nearest: &str, at: f64) -> Result<f64, OpError> {
    Ok(match nearest {
        "round_prefer_floor" => (at - 0.5).ceil(),
        "round_prefer_ceil" => (at + 0.5).floor(),
        "floor" => at.floor(),
        "ceil" => at.ceil(),
        other => return declined(format_args!("`nearest_mode` is `{other}`")),
    })
}

/// The weights around a place of a filter that reaches `reach` elements, or as much more as the data are larger than
/// the result. They add up to 1.
fn spread(place: f64, scale: f64, reach: f64, filter: &dyn Fn(f64) -> f64) -> (f64, Vec<f64>) {
    let scale = scale.clamp(1e-6, 1.0);
    let ratio = if place.fract() == 0.0 { 1.0 } else { place - place.floor() };
    let start = (-reach / scale).floor() + 1.0;
    let n = (2.0 - 2.0 * start) as usize;
    let mut weights: Vec<f64> = (0..n).map(|at| filter((start + at as f64 - ratio) * scale)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    (place - ratio + start, weights)
}

/// The weight of an element at a distance in cubic interpolation.
fn cubic(x: f64, a: f64) -> f64 {
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}
