//! Resizing by interpolation, one axis after another.
//!
//! Places in the data are computed in double precision, and in single precision, as some runtimes do: where these take
//! another element, the result is disputed.

/// How elements between those of the data come about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResizeMode {
    /// The nearest element.
    Nearest,
    /// A line between two elements.
    Linear,
    /// A cubic curve through four.
    Cubic,
}

impl ResizeMode {
    /// The mode of a name, which a version of `Resize` or `Upsample` knows.
    pub fn of(name: &str, version: i64) -> Option<Self> {
        match name {
            "nearest" => Some(Self::Nearest),
            "linear" => Some(Self::Linear),
            "bilinear" if version < 7 => Some(Self::Linear),
            "cubic" if version >= 11 => Some(Self::Cubic),
            _ => None,
        }
    }
}

/// How places of the result become places of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coordinates {
    /// The middles of elements lie on each other.
    HalfPixel,
    /// The same, and the middles of both images.
    HalfPixelSymmetric,
    /// As [`HalfPixel`](Self::HalfPixel), except where there is one element.
    PytorchHalfPixel,
    /// The first and the last elements lie on each other.
    AlignCorners,
    /// The beginnings of elements lie on each other.
    Asymmetric,
    /// The beginning of an element of the data is where the middle of one of the result is.
    TfHalfPixelForNearest,
    /// A region of the data is taken.
    TfCropAndResize,
}

impl Coordinates {
    /// The coordinates of a name, which a version of `Resize` knows.
    pub fn of(name: &str, version: i64) -> Option<Self> {
        match name {
            "half_pixel" => Some(Self::HalfPixel),
            "half_pixel_symmetric" if version >= 19 => Some(Self::HalfPixelSymmetric),
            "pytorch_half_pixel" => Some(Self::PytorchHalfPixel),
            "align_corners" => Some(Self::AlignCorners),
            "asymmetric" => Some(Self::Asymmetric),
            "tf_half_pixel_for_nn" if version < 13 => Some(Self::TfHalfPixelForNearest),
            "tf_crop_and_resize" => Some(Self::TfCropAndResize),
            _ => None,
        }
    }
}

/// Which of two elements is the nearest one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nearest {
    /// The nearer one, in the middle the first.
    RoundPreferFloor,
    /// The nearer one, in the middle the second.
    RoundPreferCeil,
    /// The first one.
    Floor,
    /// The second one.
    Ceil,
}

impl Nearest {
    /// The one of a name.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "round_prefer_floor" => Some(Self::RoundPreferFloor),
            "round_prefer_ceil" => Some(Self::RoundPreferCeil),
            "floor" => Some(Self::Floor),
            "ceil" => Some(Self::Ceil),
            _ => None,
        }
    }

    /// The element for a place.
    pub fn pick(self, place: f64) -> f64 {
        match self {
            Self::RoundPreferFloor => (place - 0.5).ceil(),
            Self::RoundPreferCeil => (place + 0.5).floor(),
            Self::Floor => place.floor(),
            Self::Ceil => place.ceil(),
        }
    }
}

/// The way in which sizes that do not keep the ratio of the axes are changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RatioPolicy {
    /// They are taken as they are.
    Stretch,
    /// The result is as large as fits into them.
    NotLarger,
    /// The result is as small as covers them.
    NotSmaller,
}

impl RatioPolicy {
    /// The policy of a name.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "stretch" => Some(Self::Stretch),
            "not_larger" => Some(Self::NotLarger),
            "not_smaller" => Some(Self::NotSmaller),
            _ => None,
        }
    }

    /// The scale of all axes, from those of the requested sizes; `None` if each axis has its own.
    pub fn scale(self, scales: impl Iterator<Item = f64>) -> Option<f64> {
        match self {
            Self::Stretch => None,
            Self::NotLarger => Some(scales.fold(f64::INFINITY, f64::min)),
            Self::NotSmaller => Some(scales.fold(0.0, f64::max)),
        }
    }
}

/// The attributes of a call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ResizeSettings {
    /// How elements between those of the data come about.
    pub mode: ResizeMode,
    /// How places of the result become places of the data.
    pub coordinates: Coordinates,
    /// Which of two elements is the nearest one.
    pub nearest: Nearest,
    /// Whether filters reach further where the result is smaller than the data.
    pub antialias: bool,
    /// Whether elements outside of the data have no weight, instead of being those at its ends.
    pub exclude_outside: bool,
    /// The coefficient of cubic curves.
    pub cubic_coeff: f64,
}

impl ResizeSettings {
    /// Those of `Upsample`, and of `Resize` before version 11, where places are multiples of the scale.
    pub fn by_scale(mode: ResizeMode) -> Self {
        Self {
            mode,
            coordinates: Coordinates::Asymmetric,
            nearest: Nearest::Floor,
            antialias: false,
            exclude_outside: false,
            cubic_coeff: 0.0,
        }
    }
}

/// One axis that is resized.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ResizedAxis {
    /// Elements of the data.
    pub size: u64,
    /// Elements of the result.
    pub result: u64,
    /// How much larger the result is.
    pub scale: f64,
    /// The part of the axis that is taken, between 0 and 1.
    pub region: (f64, f64),
}

/// The size of an axis after scaling.
///
/// # Errors
/// Returns what double precision gives where single precision gives another size.
pub fn scaled_size(size: u64, scale: f64) -> Result<f64, f64> {
    let double = (size as f64 * scale).floor();
    let single = (size as f32 * scale as f32).floor();
    if f64::from(single) == double { Ok(double) } else { Err(double) }
}

/// Places in the data, and why runtimes may take others.
#[derive(Clone, PartialEq, Debug)]
pub struct Places {
    /// The place for each element of the result.
    pub places: Vec<f64>,
    /// Why runtimes may compute other results, if they may.
    pub disputed: Option<&'static str>,
}

/// The elements of the data that make one of the result, and the weight of each.
#[derive(Clone, PartialEq, Debug)]
pub struct Taps {
    /// The first one, which may be outside of the data.
    pub first: i64,
    /// The weights of it and those that follow.
    pub weights: Vec<f64>,
    /// Whether the place is outside of the data, and a constant takes it.
    pub is_outside: bool,
}

/// A place in the data, computed with numbers of type `$float`.
macro_rules! place {
    ($float:ty, $axis:expr, $coordinates:expr, $x:expr) => {{
        let axis: &ResizedAxis = $axis;
        let (x, scale, size, result) = ($x as $float, axis.scale as $float, axis.size as $float, axis.result as $float);
        let half_pixel = (x + 0.5) / scale - 0.5;
        match $coordinates {
            Coordinates::HalfPixel => half_pixel,
            Coordinates::PytorchHalfPixel if axis.result == 1 => 0.0,
            Coordinates::PytorchHalfPixel => half_pixel,
            Coordinates::HalfPixelSymmetric => size / 2.0 * (1.0 - result / (scale * size)) + half_pixel,
            Coordinates::TfHalfPixelForNearest => (x + 0.5) / scale,
            Coordinates::Asymmetric => x / scale,
            Coordinates::AlignCorners if axis.result == 1 => 0.0,
            Coordinates::AlignCorners => x * (size - 1.0) / (result - 1.0),
            Coordinates::TfCropAndResize => {
                let (start, end) = (axis.region.0 as $float, axis.region.1 as $float);
                match axis.result {
                    1 => (start + end) * (size - 1.0) / 2.0,
                    _ => start * (size - 1.0) + x * (end - start) * (size - 1.0) / (result - 1.0),
                }
            }
        }
    }};
}

impl ResizedAxis {
    /// An axis of which all is taken.
    pub fn new(size: u64, result: u64, scale: f64) -> Self {
        Self { size, result, scale, region: (0.0, 1.0) }
    }

    /// Whether the axis stays as it is.
    pub fn is_same(&self) -> bool {
        self.size == self.result && self.scale == 1.0 && self.region == (0.0, 1.0)
    }

    /// Whether a place is outside of the data.
    fn is_outside(&self, place: f64) -> bool {
        place < 0.0 || place > self.size as f64 - 1.0
    }

    /// The nearest element to a place.
    pub fn nearest(&self, settings: &ResizeSettings, place: f64) -> f64 {
        settings.nearest.pick(place).clamp(0.0, self.size as f64 - 1.0)
    }

    /// The place in the data of each place of the result.
    ///
    /// # Errors
    /// Returns an error if the reference differs from the standard.
    pub fn places(&self, settings: &ResizeSettings) -> Result<Places, &'static str> {
        let crops = settings.coordinates == Coordinates::TfCropAndResize;
        let takes_size = crops || settings.coordinates == Coordinates::AlignCorners;
        let is_rounded = (self.scale * self.size as f64 - self.result as f64).abs() > 1e-6 * self.result as f64;
        let mut disputed = (takes_size && is_rounded).then_some("coordinates that depend on how a size is rounded");
        let is_single = settings.coordinates == Coordinates::PytorchHalfPixel && self.result == 1;
        if is_single && (settings.mode == ResizeMode::Cubic || settings.antialias || settings.exclude_outside) {
            // The reference takes the place before the first element.
            return Err("one element between others");
        }
        let mut places = Vec::new();
        for x in 0..self.result {
            let place = place!(f64, self, settings.coordinates, x);
            let single = f64::from(place!(f32, self, settings.coordinates, x));
            let differ = |f: &dyn Fn(f64) -> f64| f(place) != f(single);
            if settings.mode == ResizeMode::Nearest && differ(&|place| self.nearest(settings, place))
                || crops && self.is_outside(place) != self.is_outside(single)
            {
                disputed = disputed.or(Some("an element that depends on how coordinates are rounded"));
            }
            places.push(place);
        }
        Ok(Places { places, disputed })
    }

    /// The number of elements that make one of the result.
    pub fn n_taps(&self, settings: &ResizeSettings) -> f64 {
        let reach = match settings.mode {
            ResizeMode::Nearest => return 1.0,
            ResizeMode::Linear => 1.0,
            ResizeMode::Cubic => 2.0,
        };
        if settings.antialias { 2.0 - 2.0 * first_tap(reach, self.scale) } else { 2.0 * reach }
    }

    /// The elements that make the one of the result whose place in the data is given.
    pub fn taps(&self, settings: &ResizeSettings, place: f64) -> Taps {
        let coeff = settings.cubic_coeff;
        let ratio = place - place.floor();
        let (first, mut weights) = match settings.mode {
            ResizeMode::Nearest => (settings.nearest.pick(place), vec![1.0]),
            ResizeMode::Linear if settings.antialias => spread(place, self.scale, 1.0, &|x| (1.0 - x.abs()).max(0.0)),
            ResizeMode::Cubic if settings.antialias => spread(place, self.scale, 2.0, &|x| cubic(x.abs(), coeff)),
            ResizeMode::Linear => (place.floor(), vec![1.0 - ratio, ratio]),
            ResizeMode::Cubic => {
                let weights = (-1..=2).map(|at| cubic((ratio - f64::from(at)).abs(), coeff)).collect();
                (place.floor() - 1.0, weights)
            }
        };
        if settings.exclude_outside && settings.mode != ResizeMode::Nearest {
            for (at, weight) in weights.iter_mut().enumerate() {
                *weight = if self.is_outside(first + at as f64) { 0.0 } else { *weight };
            }
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= if sum == 0.0 { 1.0 } else { sum });
        }
        let crops = settings.coordinates == Coordinates::TfCropAndResize;
        Taps { first: first as i64, weights, is_outside: crops && self.is_outside(place) }
    }
}

/// The first element that a filter reaches, counted from the one before the place. It reaches `reach` elements, or as much
/// further as the data are larger than the result.
fn first_tap(reach: f64, scale: f64) -> f64 {
    (-reach / scale.min(1.0)).floor() + 1.0
}

/// The weights around a place of a filter, which add up to 1.
fn spread(place: f64, scale: f64, reach: f64, filter: &dyn Fn(f64) -> f64) -> (f64, Vec<f64>) {
    let ratio = if place.fract() == 0.0 { 1.0 } else { place - place.floor() };
    let start = first_tap(reach, scale);
    let n = (2.0 - 2.0 * start) as usize;
    let mut weights: Vec<f64> = (0..n).map(|at| filter((start + at as f64 - ratio) * scale.min(1.0))).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(mode: ResizeMode, coordinates: Coordinates) -> ResizeSettings {
        ResizeSettings { coordinates, cubic_coeff: -0.75, ..ResizeSettings::by_scale(mode) }
    }

    #[test]
    fn names_are_those_of_a_version() {
        assert_eq!(
            [("bilinear", 6), ("bilinear", 7), ("cubic", 10), ("cubic", 11)]
                .map(|(name, version)| ResizeMode::of(name, version).is_some()),
            [true, false, false, true]
        );
        assert!(
            Coordinates::of("half_pixel_symmetric", 18).is_none()
                && Coordinates::of("half_pixel_symmetric", 19).is_some()
        );
        assert!(
            Coordinates::of("tf_half_pixel_for_nn", 13).is_none()
                && Coordinates::of("tf_half_pixel_for_nn", 11).is_some()
        );
        assert!(Nearest::of("round").is_none() && RatioPolicy::of("fit").is_none());
    }

    #[test]
    fn places_are_those_of_the_coordinates() {
        let places = |coordinates, size, result| {
            let axis = ResizedAxis::new(size, result, result as f64 / size as f64);
            axis.places(&settings(ResizeMode::Linear, coordinates)).unwrap().places
        };
        assert_eq!(places(Coordinates::HalfPixel, 2, 4), [-0.25, 0.25, 0.75, 1.25]);
        assert_eq!(places(Coordinates::Asymmetric, 2, 4), [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(places(Coordinates::AlignCorners, 3, 5), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(places(Coordinates::PytorchHalfPixel, 4, 1), [0.0]);
    }

    #[test]
    fn what_depends_on_rounding_is_disputed() {
        // 0.7 is another number in single precision.
        let axis = ResizedAxis::new(10, 7, 0.7);
        let disputed =
            |axis: ResizedAxis, mode, coordinates| axis.places(&settings(mode, coordinates)).unwrap().disputed;
        assert_eq!(disputed(axis, ResizeMode::Linear, Coordinates::HalfPixel), None);
        let shifted = ResizedAxis::new(10, 7, 0.72);
        assert!(disputed(shifted, ResizeMode::Linear, Coordinates::AlignCorners).is_some());
        assert!(disputed(shifted, ResizeMode::Linear, Coordinates::HalfPixel).is_none());
    }

    #[test]
    fn weights_add_up_to_one() {
        for (mode, antialias, n) in [
            (ResizeMode::Linear, false, 2.0),
            (ResizeMode::Cubic, false, 4.0),
            (ResizeMode::Linear, true, 6.0),
            (ResizeMode::Cubic, true, 10.0),
        ] {
            let (axis, settings) =
                (ResizedAxis::new(10, 4, 0.4), ResizeSettings { antialias, ..settings(mode, Coordinates::HalfPixel) });
            assert_eq!(axis.n_taps(&settings), n);
            for place in axis.places(&settings).unwrap().places {
                let taps = axis.taps(&settings, place);
                assert_eq!(taps.weights.len() as f64, n);
                assert!((taps.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            }
        }
    }

    /// A filter reaches as far as the scale says, however small that is: nothing limits it.
    #[test]
    fn filters_reach_as_far_as_the_scale_says() {
        let axis = ResizedAxis::new(1 << 40, 1, 1e-8);
        let settings = ResizeSettings { antialias: true, ..settings(ResizeMode::Linear, Coordinates::HalfPixel) };
        assert_eq!(axis.n_taps(&settings), 2e8);
        let axis = ResizedAxis::new(10, 20, 2.0);
        assert_eq!(axis.n_taps(&settings), 2.0);
    }
}
