//! Windows of signals: a constant less a cosine of one turn, and a cosine of two turns, each with a weight.

/// The weights of `HannWindow`.
pub const HANN: [f64; 3] = [0.5, 0.5, 0.0];
/// The weights of `HammingWindow`.
pub const HAMMING: [f64; 3] = [25.0 / 46.0, 21.0 / 46.0, 0.0];
/// The weights of `BlackmanWindow`.
pub const BLACKMAN: [f64; 3] = [0.42, 0.5, 0.08];
