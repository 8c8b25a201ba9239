//! Suggestions in messages of Relais: the name that a mistyped one was probably meant to be.

/// The name that another one was probably meant to be, if at most a third of its letters have to change.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return None;
    }
    let limit = (name.chars().count() + 1) / 3;
    let near = known.into_iter().filter(|other| other.len() <= LONGEST).map(|other| (distance(name, other), other));
    near.filter(|&(distance, _)| distance <= limit).min().map(|(_, other)| other)
}

/// The number of characters to insert, delete, replace or swap.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut rows = [Vec::new(), (0..=b.len()).collect::<Vec<usize>>(), vec![0; b.len() + 1]];
    let mut last = None;
    for (i, x) in a.chars().enumerate() {
        rows[2] = vec![i + 1; b.len() + 1];
        for (j, &y) in b.iter().enumerate() {
            let replaced = rows[1][j] + usize::from(x != y);
            let mut best = replaced.min(rows[1][j + 1] + 1).min(rows[2][j] + 1);
            if j > 0 && last == Some(y) && b[j - 1] == x {
                best = best.min(rows[0][j - 1] + 1);
            }
            rows[2][j + 1] = best;
        }
        rows.rotate_left(1);
        last = Some(x);
    }
    rows[1][b.len()]
}

/// The example of the page in the registry.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names() {
        assert_eq!(nearest("conv", ["relu", "cnov", "convolution"]), Some("cnov"));
        assert_eq!(nearest("x", ["yyy", "zzz"]), None);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
