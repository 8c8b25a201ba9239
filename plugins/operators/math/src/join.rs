//! Tensors joined and split.

/// The axis along which `Concat` joins: before version 4, it need not be given.
pub fn concat_axis(given: Option<i64>, version: i64) -> Option<i64> {
    given.or((version < 4).then_some(1))
}

/// The sizes of `n` parts of an axis that are to be equal: the last one may be smaller. `None` where there are too few
/// elements for all parts but the last, of which runtimes make different things, and where there is no part.
pub fn equal_parts(size: u64, n: u64) -> Option<impl Iterator<Item = u64>> {
    let before_last = n.checked_sub(1)?;
    let part = size.div_ceil(n);
    let last = size.checked_sub(part.checked_mul(before_last)?)?;
    Some((0..n).map(move |at| if at < before_last { part } else { last }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_versions_have_an_axis_of_their_own() {
        assert_eq!(
            [(None, 1), (None, 4), (Some(0), 1)].map(|(axis, version)| concat_axis(axis, version)),
            [Some(1), None, Some(0)]
        );
    }

    #[test]
    fn the_last_part_may_be_smaller() {
        let parts = |size, n| equal_parts(size, n).map(Iterator::collect::<Vec<_>>);
        assert_eq!(parts(6, 3), Some(vec![2, 2, 2]));
        assert_eq!(parts(7, 3), Some(vec![3, 3, 1]));
        assert_eq!(parts(4, 3), Some(vec![2, 2, 0]));
        assert_eq!(parts(5, 1), Some(vec![5]));
        // Two parts of two are four elements, and a third one would be one too many.
        assert_eq!(parts(5, 4), None);
        assert_eq!(parts(5, 0), None);
        assert_eq!(parts(0, 2), Some(vec![0, 0]));
    }
}
