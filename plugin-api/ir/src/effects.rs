//! The side effects of operators.

use abi_stable::StableAbi;

/// The side effects of calling an operator. A bit set; no bit means pure.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effects(pub u32);

impl Effects {
    /// Results depend only on arguments and attributes, and the call always succeeds.
    pub const PURE: Self = Self(0);
    /// Keeps state between calls (TVM's `TOpIsStateful`).
    pub const STATEFUL: Self = Self(1);
    /// Results are random: two calls differ.
    pub const RANDOM: Self = Self(2);
    /// May fail for some arguments (an index out of range, an empty optional): never executed where it was not executed
    /// before.
    pub const TRAPS: Self = Self(4);
    /// Nothing is known: carried through, never folded, duplicated, merged or dropped.
    pub const OPAQUE: Self = Self(8);
    /// Reads memory: the result differs after a write.
    pub const READS: Self = Self(16);
    /// Writes memory.
    pub const WRITES: Self = Self(32);

    /// The bits that this version knows.
    const KNOWN: u32 = 63;

    /// The bits to decide by: an unknown effect of a later version counts as every effect.
    const fn cautious(self) -> u32 {
        if self.0 & !Self::KNOWN == 0 { self.0 } else { self.0 | Self::KNOWN }
    }

    /// Whether all bits of `other` are set; an unknown bit counts as all known bits.
    pub const fn contains(self, other: Self) -> bool {
        self.cautious() & other.0 == other.0
    }

    /// The union.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether two calls with equal arguments have equal results, so that one may replace both.
    pub const fn is_mergeable(self) -> bool {
        const DIFFERENT: u32 =
            Effects::STATEFUL.0 | Effects::RANDOM.0 | Effects::OPAQUE.0 | Effects::READS.0 | Effects::WRITES.0;
        self.cautious() & DIFFERENT == 0
    }

    /// Whether a call without used results may be removed.
    pub const fn is_removable(self) -> bool {
        self.cautious() & (Self::STATEFUL.0 | Self::OPAQUE.0 | Self::WRITES.0) == 0
    }
}
