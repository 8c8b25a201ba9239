//! Shapes.

use std::ops::Range;

/// The axes whose sizes `Shape` gives of a tensor, from its attributes, which count from either end.
pub fn shape_range(rank: usize, start: i64, end: Option<i64>) -> Range<usize> {
    let rank = rank as i64;
    let clamp = |at: i64| (if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize;
    let start = clamp(start);
    start..end.map_or(rank as usize, clamp).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_count_from_either_end() {
        assert_eq!(shape_range(4, 0, None), 0..4);
        assert_eq!(shape_range(4, -3, Some(-1)), 1..3);
        assert_eq!(shape_range(4, 1, Some(9)), 1..4);
        assert_eq!(shape_range(4, 3, Some(1)), 3..3);
        assert_eq!(shape_range(0, i64::MIN, Some(i64::MAX)), 0..0);
    }
}
