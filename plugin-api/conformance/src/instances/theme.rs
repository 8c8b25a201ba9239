//! The sort of floats in an instance.

use crate::random::Random;
use relais_plugin_api::ir::ElemType;

/// The sort of floats in the constants of an instance: those of one sort show together that arithmetic is not like that
/// of numbers.
#[derive(Clone, Copy)]
pub(super) enum Theme {
    Plain,
    Large,
    Small,
    Zero,
    NotFinite,
}

impl Theme {
    pub(super) fn any(random: &mut Random) -> Self {
        let themes = [Self::Plain, Self::Plain, Self::Large, Self::Small, Self::Zero, Self::NotFinite];
        themes[random.below(themes.len() as u64) as usize]
    }

    pub(super) fn numbers(self, elem: ElemType) -> [f64; 4] {
        let (largest, smallest) = match elem {
            ElemType::DOUBLE => (f64::MAX, f64::MIN_POSITIVE),
            ElemType::FLOAT16 => (65504.0, 6.103_515_625e-5),
            _ => (f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE)),
        };
        match self {
            Self::Plain => [0.5, 1.0, -1.0, 2.0],
            Self::Large => [largest, -largest, largest / 4.0, -largest / 4.0],
            Self::Small => [smallest, -smallest, smallest * 4.0, largest / 4.0],
            Self::Zero => [0.0, -0.0, 1.0, -1.0],
            Self::NotFinite => [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0],
        }
    }
}
