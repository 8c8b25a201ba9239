//! Numbers of bytes as text: `64K`, `2MiB`.

/// The units.
const UNITS: [(&str, i64); 19] = [
    ("B", 1),
    ("KB", 1000),
    ("MB", 1000_i64.pow(2)),
    ("GB", 1000_i64.pow(3)),
    ("TB", 1000_i64.pow(4)),
    ("PB", 1000_i64.pow(5)),
    ("EB", 1000_i64.pow(6)),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
    ("P", 1 << 50),
    ("E", 1 << 60),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("EiB", 1 << 60),
];

/// Where the units begin that numbers are shown in.
const SHOWN: usize = 13;

/// Why a text is not a number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BytesError {
    /// It is not a number with a unit.
    Form,
    /// It does not fit 64 bits.
    Large,
}

/// Returns the number of bytes that a text states: a whole number, and at most one unit. `K` and `KiB` are 1024,
/// `KB` is 1000; so are `M`, `G`, `T`, `P`, `E`; `B` is 1.
///
/// # Errors
/// Returns an error if the text is something else, or the number does not fit.
pub const fn parse_bytes(text: &str) -> Result<i64, BytesError> {
    let text = text.as_bytes();
    let (mut number, mut at, mut is_large) = (0_i64, 0, false);
    while at < text.len() && text[at].is_ascii_digit() {
        match number.checked_mul(10) {
            Some(tens) => match tens.checked_add((text[at] - b'0') as i64) {
                Some(next) => number = next,
                None => is_large = true,
            },
            None => is_large = true,
        }
        at += 1;
    }
    if at == 0 {
        return Err(BytesError::Form);
    }
    let factor = match unit(text, at) {
        Some(factor) => factor,
        None => return Err(BytesError::Form),
    };
    match number.checked_mul(factor) {
        Some(bytes) if !is_large => Ok(bytes),
        _ => Err(BytesError::Large),
    }
}

/// Returns the factor of the unit that is the rest of a text.
const fn unit(text: &[u8], start: usize) -> Option<i64> {
    if start == text.len() {
        return Some(1);
    }
    let mut i = 0;
    while i < UNITS.len() {
        let name = UNITS[i].0.as_bytes();
        let mut j = 0;
        while j < name.len() && start + j < text.len() && name[j] == text[start + j] {
            j += 1;
        }
        if j == name.len() && start + j == text.len() {
            return Some(UNITS[i].1);
        }
        i += 1;
    }
    None
}

/// Returns the number with the largest binary unit of which it is a multiple: `64KiB`; without a unit if there is none.
pub fn format_bytes(bytes: i64) -> String {
    let units = UNITS[SHOWN..].iter().rev();
    match units.into_iter().find(|(_, factor)| bytes != 0 && bytes % factor == 0) {
        Some((name, factor)) => format!("{}{name}", bytes / factor),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bytes_have_at_most_one_unit() {
        for (text, bytes) in [
            ("0", 0),
            ("1024", 1024),
            ("12B", 12),
            ("64K", 65536),
            ("64KiB", 65536),
            ("64KB", 64000),
            ("2MiB", 2 << 20),
            ("1GB", 1_000_000_000),
            ("7EiB", 7 << 60),
            ("9223372036854775807", i64::MAX),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "-1K", "+1K", "1.5K", "64k", "64 K", " 64K", "64KBB", "64Ki", "1_000", "0x10", "1K1", "é"]
        {
            assert_eq!(parse_bytes(text), Err(BytesError::Form), "{text}");
        }
        for text in ["8E", "8EiB", "10EB", "9223372036854775808", "99999999999999999999999999K"] {
            assert_eq!(parse_bytes(text), Err(BytesError::Large), "{text}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for (bytes, text) in [
            (0, "0"),
            (1, "1"),
            (1000, "1000"),
            (1024, "1KiB"),
            (1536, "1536"),
            (65536, "64KiB"),
            (3 << 30, "3GiB"),
            (1 << 60, "1EiB"),
            (i64::MAX, "9223372036854775807"),
        ] {
            assert_eq!(format_bytes(bytes), text);
            assert_eq!(parse_bytes(text), Ok(bytes));
        }
    }
}
