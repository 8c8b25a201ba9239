//! Fuel: how much may be made or computed before something is given up.

use crate::module::IRModule;

/// An amount that is used up piece by piece: of nodes that are added to a program, or of steps that are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fuel {
    all: u64,
    left: u64,
}

impl Fuel {
    /// How many times its own nodes a program may be given, by default.
    pub const GROWTH: u32 = 256;
    /// The nodes that any program may be given.
    const LEAST_NODES: u64 = 1 << 16;
    /// The nodes that no program is given more than.
    const MOST_NODES: u64 = 1 << 23;

    /// Creates an amount.
    pub const fn new(all: u64) -> Self {
        Self { all, left: all }
    }

    /// Creates the number of nodes that may be added to a program of `n_nodes`: `growth` times as many, but at least 65,536
    /// and at most 8,388,608.
    pub fn of_growth(n_nodes: usize, growth: u32) -> Self {
        let all = (n_nodes as u64).saturating_mul(growth.into());
        Self::new(all.clamp(Self::LEAST_NODES, Self::MOST_NODES))
    }

    /// As [`of_growth`](Self::of_growth), for the functions of a module together.
    pub fn of_module(module: &IRModule, growth: u32) -> Self {
        Self::of_growth(module.functions().map(|(_, f)| f.n_nodes()).sum(), growth)
    }

    /// Takes an amount if there is as much, and returns whether there was.
    #[must_use]
    pub fn take(&mut self, amount: u64) -> bool {
        let left = self.left.checked_sub(amount);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// The amount at first.
    pub const fn all(&self) -> u64 {
        self.all
    }

    /// The amount that is left.
    pub const fn left(&self) -> u64 {
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_relative_to_the_program_within_bounds() {
        let all = |n_nodes, growth| Fuel::of_growth(n_nodes, growth).all();
        assert_eq!([all(10, 256), all(1000, 256), all(1 << 30, 256)], [1 << 16, 256_000, 1 << 23]);
        assert_eq!(all(usize::MAX, u32::MAX), 1 << 23);
    }

    #[test]
    fn what_exceeds_it_is_not_taken() {
        let mut fuel = Fuel::new(5);
        assert!(fuel.take(3) && fuel.left() == 2);
        assert!(!fuel.take(3) && fuel.take(2) && !fuel.take(1) && fuel.take(0));
        assert_eq!((fuel.all(), fuel.left()), (5, 0));
    }
}
