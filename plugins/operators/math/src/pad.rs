//! Borders.

/// The elements that are put around an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PadMode {
    /// One value.
    Constant,
    /// The element at the end of the axis.
    Edge,
    /// The elements before it, in the other order.
    Reflect,
    /// The elements at the other end.
    Wrap,
}

impl PadMode {
    /// The mode of a name, which a version of `Pad` knows.
    pub fn of(name: &str, version: i64) -> Option<Self> {
        match name {
            "constant" => Some(Self::Constant),
            "edge" => Some(Self::Edge),
            "reflect" => Some(Self::Reflect),
            "wrap" if version >= 19 => Some(Self::Wrap),
            _ => None,
        }
    }

    /// The element of an axis, which has some, that is put at a place before, in or behind it; `None` for the constant.
    pub fn source(self, at: i64, size: i64) -> Option<i64> {
        match self {
            _ if (0..size).contains(&at) => Some(at),
            Self::Constant => None,
            Self::Edge => Some(at.clamp(0, size - 1)),
            Self::Reflect if size == 1 => Some(0),
            Self::Reflect => {
                let turn = at.rem_euclid(2 * (size - 1));
                Some(turn.min(2 * (size - 1) - turn))
            }
            Self::Wrap => Some(at.rem_euclid(size)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_made_of_the_elements() {
        let sources = |mode: PadMode, size| (-4..7).map(|at| mode.source(at, size)).collect::<Vec<_>>();
        let known = |all: [i64; 11]| all.map(Some).to_vec();
        assert_eq!(sources(PadMode::Edge, 3), known([0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2]));
        assert_eq!(sources(PadMode::Reflect, 3), known([0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2]));
        assert_eq!(sources(PadMode::Wrap, 3), known([2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]));
        assert_eq!(sources(PadMode::Reflect, 1), known([0; 11]));
        assert_eq!([-1, 0, 2, 3].map(|at| PadMode::Constant.source(at, 3)), [None, Some(0), Some(2), None]);
    }

    #[test]
    fn a_mode_is_known_from_a_version_on() {
        assert_eq!((PadMode::of("wrap", 18), PadMode::of("wrap", 19)), (None, Some(PadMode::Wrap)));
        assert_eq!(PadMode::of("mirror", 25), None);
    }
}
