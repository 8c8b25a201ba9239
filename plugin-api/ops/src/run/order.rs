//! The order of the turns of parallel loops.

/// The order in which the turns of `parallel` loops run. A program that gives different results in different orders has a
/// race.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// From the first to the last.
    #[default]
    Forward,
    /// From the last to the first.
    Backward,
    /// In an order that a seed determines, another one each time that a loop begins.
    Shuffled(u64),
}

impl Order {
    /// Which of `n` turns comes at place `at`; `loops` counts the loops that began before.
    pub(super) fn turn(self, loops: u64, at: u64, n: u64) -> u64 {
        match self {
            Self::Forward => at,
            Self::Backward => n - 1 - at,
            Self::Shuffled(seed) => shuffled(mixed(mixed(seed) ^ loops), at, n),
        }
    }
}

/// A permutation of the numbers below `n` that takes no memory: a Feistel network permutes the numbers of as many bits,
/// again and again until one is below `n`.
fn shuffled(key: u64, mut at: u64, n: u64) -> u64 {
    let half = (u64::BITS - n.leading_zeros()).div_ceil(2);
    let mask = (1 << half) - 1;
    loop {
        let (mut high, mut low) = (at >> half, at & mask);
        for round in 0..4 {
            (high, low) = (low, high ^ mixed(key.wrapping_add(round) ^ low << 8) & mask);
        }
        at = high << half | low;
        if at < n {
            return at;
        }
    }
}

/// The finalizer of SplitMix64.
fn mixed(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_comes_once() {
        for order in [Order::Forward, Order::Backward, Order::Shuffled(0), Order::Shuffled(7)] {
            for n in [1, 2, 3, 4, 5, 64, 65, 1000] {
                let mut turns: Vec<u64> = (0..n).map(|at| order.turn(3, at, n)).collect();
                turns.sort_unstable();
                assert_eq!(turns, (0..n).collect::<Vec<_>>(), "{order:?} {n}");
            }
        }
        assert!(Order::Shuffled(1).turn(0, 5, u64::MAX) < u64::MAX);
        assert!(Order::Shuffled(1).turn(0, 5, 1 << 63) < 1 << 63);
    }

    #[test]
    fn orders_differ_by_seed_and_by_loop() {
        let turns = |seed, loops| (0..100).map(|at| Order::Shuffled(seed).turn(loops, at, 100)).collect::<Vec<u64>>();
        assert!(turns(1, 0) != turns(2, 0) && turns(1, 0) != turns(1, 1) && turns(1, 0) == turns(1, 0));
        assert_ne!(turns(1, 0), (0..100).collect::<Vec<u64>>());
        let first: std::collections::HashSet<u64> =
            (0..200).map(|loops| Order::Shuffled(1).turn(loops, 0, 100)).collect();
        assert!(first.len() > 50, "{}", first.len());
    }
}
