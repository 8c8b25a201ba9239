//! Random numbers that are the same everywhere.

/// A generator (SplitMix64): small, and good enough to try things with.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    #[cfg(test)]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The generator of one part of a seed's output, so that no part depends on how much another one consumed.
    pub fn of(seed: u64, part: &str, index: u64) -> Self {
        let name = relais_plugin_api::boundary::wire::checksum(part.as_bytes());
        let mut mixed = Self(seed ^ name.rotate_left(17) ^ index.wrapping_mul(0xd6e8_feb8_6659_fd93));
        mixed.next();
        mixed
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`; 0 when that is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next().checked_rem(n).unwrap_or(0)
    }

    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.below(1 << 20) as f64 / (1 << 20) as f64
    }

    /// Returns `n` bytes.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}
