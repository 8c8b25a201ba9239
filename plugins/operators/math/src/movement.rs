//! Elements moved.

/// The elements that a slice takes of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AxisSlice {
    /// The first one.
    pub first: i64,
    /// Their number.
    pub count: u64,
    /// The reason for which some runtimes take other elements, if there is one.
    pub disputed: Option<Disputed>,
}

/// The bound of a slice backwards that is read in two ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disputed {
    /// The start is before the axis: the standard begins with the first element, its reference takes none.
    Start,
    /// The end is behind the axis: some runtimes interpret the greatest integer as "everything".
    End,
}

/// The elements of an axis from `start` up to and without `end`, with a step, where negative bounds count from the end of
/// the axis; `None` for a step of zero. Unlike in Python, a start before the first element means that one when going
/// backwards, too.
pub fn slice(size: i64, start: i64, end: i64, step: i64) -> Option<AxisSlice> {
    let from_front = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
    let (start, end) = (from_front(start), from_front(end));
    let (first, distance, disputed) = match step {
        0 => return None,
        _ if size == 0 => (0, 0, None),
        1.. => {
            let first = start.clamp(0, size);
            (first, end.clamp(0, size) - first, None)
        }
        _ => {
            let first = start.clamp(0, size - 1);
            let disputed = if end >= size { Some(Disputed::End) } else { (start < 0).then_some(Disputed::Start) };
            (first, first - end.clamp(-1, size - 1), disputed)
        }
    };
    let count = u64::try_from(distance).unwrap_or(0).div_ceil(step.unsigned_abs());
    Some(AxisSlice { first, count, disputed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(size: i64, start: i64, end: i64, step: i64) -> (i64, u64, Option<Disputed>) {
        let slice = slice(size, start, end, step).unwrap();
        (slice.first, slice.count, slice.disputed)
    }

    #[test]
    fn bounds_count_from_either_end() {
        assert_eq!(taken(10, 2, 8, 3), (2, 2, None));
        assert_eq!(taken(10, -3, i64::MAX, 1), (7, 3, None));
        assert_eq!(taken(10, i64::MIN, 4, 1), (0, 4, None));
        assert_eq!(taken(10, 8, 2, 1), (8, 0, None));
        assert_eq!(taken(10, 8, 2, -4), (8, 2, None));
        assert_eq!(taken(10, -1, i64::MIN, -1), (9, 10, None));
        assert_eq!(taken(10, 4, 2, i64::MIN), (4, 1, None));
        assert_eq!(taken(0, 3, -3, -1), (0, 0, None));
        assert_eq!(slice(10, 0, 10, 0), None);
    }

    #[test]
    fn backwards_some_bounds_are_read_in_two_ways() {
        assert_eq!(taken(10, -20, i64::MIN, -1), (0, 1, Some(Disputed::Start)));
        assert_eq!(taken(10, 5, i64::MAX, -1), (5, 0, Some(Disputed::End)));
        // Forwards, bounds beyond the axis are its ends.
        assert_eq!(taken(10, -20, 20, 1), (0, 10, None));
    }
}
