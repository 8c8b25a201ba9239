//! Wording of messages: lists of names, the names most similar to a mistyped one, sizes, paths.

use std::path::Path;

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

/// The names most similar to a mistyped one: at most three, nearest first. Two of five letters may
/// differ, half of a short name, and names that are far less similar than the nearest one are left out.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = name.to_lowercase();
    let near = |known: &'a str| Some((distance(&wanted, &known.to_lowercase())?, known));
    let mut found: Vec<(usize, &str)> = known.into_iter().filter_map(near).collect();
    found.sort();
    found.dedup();
    let least = found.first().map_or(0, |(distance, _)| *distance);
    found.retain(|(distance, _)| *distance <= 2 * least);
    found.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// The number of letters from which on a name is not short.
const SHORT: usize = 6;

/// The number of letters that differ, unless they are too many. A namespace counts only if both have one and they
/// differ.
fn distance(wanted: &str, known: &str) -> Option<usize> {
    // Edit distance is quadratic: a name of a megabyte is similar to no other.
    if wanted.len() > 256 {
        return None;
    }
    let (wanted, known) = match (wanted.rsplit_once('.'), known.rsplit_once('.')) {
        (None, Some((_, known))) => (wanted, known),
        (Some((namespace, wanted)), Some((other, known))) if namespace == other => (wanted, known),
        _ => (wanted, known),
    };
    let letters = wanted.chars().count().max(known.chars().count());
    let distance = strsim::damerau_levenshtein(wanted, known);
    let most = if letters < SHORT { letters / 2 } else { letters * 2 / 5 };
    (distance <= most.max(1)).then_some(distance)
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

/// A path as shells take it.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = if cfg!(windows) { "-_./+:=\\" } else { "-_./+:=@," };
    let is_plain = |c: char| c.is_alphanumeric() || plain.contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text,
        // Paths of Windows have no quotation marks.
        false if cfg!(windows) => format!("\"{text}\""),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
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
