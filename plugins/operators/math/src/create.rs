//! Tensors made of numbers.

/// The number of integers of a range from `start` on, up to and without `limit`; `None` for a step of zero.
pub fn range_len(start: i128, limit: i128, step: i128) -> Option<u128> {
    let distance = limit - start;
    match step {
        0 => None,
        _ if distance.signum() != step.signum() => Some(0),
        _ => Some(distance.unsigned_abs().div_ceil(step.unsigned_abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_before_its_limit() {
        assert_eq!(range_len(0, 10, 3), Some(4));
        assert_eq!(range_len(0, 9, 3), Some(3));
        assert_eq!(range_len(10, 0, -4), Some(3));
        assert_eq!((range_len(0, 10, -1), range_len(5, 5, 1)), (Some(0), Some(0)));
        assert_eq!(range_len(0, 10, 0), None);
        assert_eq!(range_len(i64::MIN.into(), i64::MAX.into(), 1), Some(u64::MAX.into()));
    }
}
