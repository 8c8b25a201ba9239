//! Versions of the boundary.

use std::fmt;

/// A version of the boundary. Versions are compatible as far as they agree up to their first part that is not 0: what
/// comes after it counts how often the boundary grew.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct BoundaryVersion {
    /// First part.
    pub major: u16,
    /// Second part.
    pub minor: u16,
    /// Third part.
    pub patch: u16,
}

impl BoundaryVersion {
    /// The first version that this one is compatible with.
    pub const fn first_compatible(self) -> Self {
        match self {
            Self { major: 0, minor: 0, .. } => self,
            Self { major: 0, minor, .. } => Self { major: 0, minor, patch: 0 },
            Self { major, .. } => Self { major, minor: 0, patch: 0 },
        }
    }

    /// Whether a host of this version takes plugins that were built for version `plugin` and use nothing that came after
    /// version `needs`: those of compatible versions that are not above its own, and those of later versions that need no
    /// later one.
    pub fn takes(self, plugin: Self, needs: Self) -> bool {
        let fits = |version| self.first_compatible() <= version && version <= self;
        needs <= self && (fits(plugin) || plugin > self && fits(needs))
    }

    /// The parts, two bytes each.
    pub const fn encode(self) -> [u8; 6] {
        let [a, b] = self.major.to_le_bytes();
        let [c, d] = self.minor.to_le_bytes();
        let [e, f] = self.patch.to_le_bytes();
        [a, b, c, d, e, f]
    }

    /// The version of an encoding.
    pub const fn decode([a, b, c, d, e, f]: [u8; 6]) -> Self {
        Self { major: u16::from_le_bytes([a, b]), minor: u16::from_le_bytes([c, d]), patch: u16::from_le_bytes([e, f]) }
    }
}

/// Returns the newest version whose feature is on, or `none` when no feature is.
pub const fn needs(features: &[(bool, [u16; 3])], none: BoundaryVersion) -> BoundaryVersion {
    let mut newest: Option<[u16; 3]> = None;
    let mut i = 0;
    while i < features.len() {
        let (is_on, version) = features[i];
        let is_newer = match newest {
            Some([a, b, c]) => {
                let [major, minor, patch] = version;
                major > a || major == a && (minor > b || minor == b && patch > c)
            }
            None => true,
        };
        if is_on && is_newer {
            newest = Some(version);
        }
        i += 1;
    }
    match newest {
        Some([major, minor, patch]) => BoundaryVersion { major, minor, patch },
        None => none,
    }
}

impl fmt::Display for BoundaryVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { major, minor, patch } = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compatible_up_to_their_first_part_that_counts() {
        let version = |[major, minor, patch]: [u16; 3]| BoundaryVersion { major, minor, patch };
        // For a plugin that needs the version that it was built for.
        let takes = |host, plugin| version(host).takes(version(plugin), version(plugin));
        for (host, plugin) in [
            ([0, 1, 0], [0, 1, 0]),
            ([0, 1, 3], [0, 1, 2]),
            ([0, 0, 4], [0, 0, 4]),
            ([2, 3, 0], [2, 0, 7]),
            ([2, 3, 1], [2, 3, 1]),
        ] {
            assert!(takes(host, plugin), "{host:?} takes {plugin:?}");
        }
        for (host, plugin) in [
            ([0, 1, 2], [0, 1, 3]),
            ([0, 2, 0], [0, 1, 0]),
            ([0, 1, 9], [0, 2, 0]),
            ([0, 0, 4], [0, 0, 3]),
            ([1, 0, 0], [0, 9, 0]),
            ([1, 1, 0], [1, 2, 0]),
            ([1, 1, 0], [1, 1, 1]),
            ([2, 0, 0], [1, 0, 0]),
        ] {
            assert!(!takes(host, plugin), "{host:?} does not take {plugin:?}");
        }
        // A later plugin that needs no later host, and one that does or is of another series.
        let takes = |host, plugin, needs| version(host).takes(version(plugin), version(needs));
        for (host, plugin, needs) in [
            ([0, 1, 2], [0, 1, 3], [0, 1, 2]),
            ([0, 1, 2], [0, 1, 9], [0, 1, 0]),
            ([0, 2, 1], [1, 0, 0], [0, 2, 0]),
            ([2, 3, 0], [2, 4, 1], [2, 0, 0]),
            ([0, 1, 3], [0, 1, 2], [0, 1, 0]),
            ([1, 0, 0], [1, 0, 0], [0, 2, 0]),
        ] {
            assert!(takes(host, plugin, needs), "{host:?} takes {plugin:?} that needs {needs:?}");
        }
        for (host, plugin, needs) in [
            ([0, 1, 2], [0, 1, 4], [0, 1, 3]),
            ([0, 2, 0], [0, 3, 0], [0, 1, 0]),
            ([0, 2, 0], [0, 1, 0], [0, 2, 0]),
            ([0, 0, 4], [0, 0, 5], [0, 0, 3]),
            ([1, 1, 0], [2, 0, 0], [0, 2, 0]),
            ([1, 1, 0], [1, 3, 0], [1, 2, 0]),
            // Its code may need more than the version that it says it was built for.
            ([0, 3, 0], [0, 3, 0], [0, 3, 1]),
        ] {
            assert!(!takes(host, plugin, needs), "{host:?} does not take {plugin:?} that needs {needs:?}");
        }
        let version = version([0x102, 3, 0xfffe]);
        assert_eq!(BoundaryVersion::decode(version.encode()), version);
        assert_eq!(version.to_string(), "258.3.65534");
    }

    #[test]
    fn the_newest_feature_says_what_is_needed() {
        let version = |[major, minor, patch]: [u16; 3]| BoundaryVersion { major, minor, patch };
        let of = |features: &[(bool, [u16; 3])]| needs(features, version([9, 9, 9]));
        let (old, new) = ([0, 2, 7], [0, 3, 0]);
        assert_eq!(of(&[]), version([9, 9, 9]));
        assert_eq!(of(&[(false, old), (false, new)]), version([9, 9, 9]));
        assert_eq!(of(&[(true, old), (false, new)]), version(old));
        for both in [[(true, old), (true, new)], [(true, new), (true, old)]] {
            assert_eq!(of(&both), version(new));
        }
        assert_eq!(of(&[(true, [1, 0, 9]), (true, [1, 1, 0]), (true, [1, 0, 10])]), version([1, 1, 0]));
    }
}
