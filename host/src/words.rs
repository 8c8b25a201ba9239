//! Wording of messages: lists of names, the names most similar to a mistyped one, sizes.

/// Names in backticks, joined by commas.
pub(crate) fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// `a`, `b` or `c`, in backticks.
pub fn or_list<S: AsRef<str>>(names: &[S]) -> String {
    join(names, "or")
}

/// `a`, `b` and `c`, in backticks.
pub fn and_list<S: AsRef<str>>(names: &[S]) -> String {
    join(names, "and")
}

fn join<S: AsRef<str>>(names: &[S], word: &str) -> String {
    let mut out = String::new();
    for (i, name) in names.iter().enumerate() {
        match i {
            0 => {}
            i if i + 1 == names.len() => out.push_str(&format!(" {word} ")),
            _ => out.push_str(", "),
        }
        out.push_str(&format!("`{}`", name.as_ref()));
    }
    out
}

/// The names most similar to a mistyped one: at most three, nearest first.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    const LETTERS_PER_MISTAKE: usize = 3;
    let wanted = name.to_lowercase();
    let limit = wanted.chars().count() / LETTERS_PER_MISTAKE;
    let mut found: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|known| {
            let distance = distance(&wanted, &known.to_lowercase());
            (distance <= limit).then_some((distance, known))
        })
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// The distance to the name or to its last word, which is its short name.
fn distance(wanted: &str, known: &str) -> usize {
    // Edit distance is quadratic: a name of a megabyte is similar to no other.
    if wanted.len() > 256 {
        return usize::MAX;
    }
    let short = known.rsplit('.').next().unwrap_or(known);
    strsim::damerau_levenshtein(wanted, known).min(strsim::damerau_levenshtein(wanted, short))
}

/// A number of bytes for people.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_by_short_name_and_by_full_name() {
        let known = ["relais.FoldConstant", "relais.InferType"];
        assert_eq!(nearest("FoldConstnat", known), [known[0]]);
        assert_eq!(nearest("foldconstant", known), [known[0]]);
        assert!(nearest("Zebra", known).is_empty());
        assert!(nearest(&"x".repeat(1_000_000), known).is_empty());
    }

    #[test]
    fn bytes_are_for_people() {
        assert_eq!([0, 1023, 1024, 1 << 30].map(bytes), ["0 B", "1023 B", "1.00 KiB", "1.00 GiB"]);
        assert_eq!(bytes(u64::MAX), "16384.00 PiB");
    }
}
