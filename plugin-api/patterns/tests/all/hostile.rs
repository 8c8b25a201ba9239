//! Texts that were made to harm.

use relais_patterns::{MAX_BYTES, MAX_FAULTS, parse, print};
use std::time::{Duration, Instant};

/// Parses a text, and prints and parses the rules again if there are any.
fn survives(text: &str) {
    match parse(text) {
        Ok(rules) => {
            let printed = print(&rules);
            assert_eq!(parse(&printed).as_ref(), Ok(&rules), "{text:?} prints {printed:?}");
        }
        Err(faults) => {
            assert!(!faults.is_empty() && faults.len() <= MAX_FAULTS);
            for fault in faults {
                assert!(!fault.message.is_empty() && fault.span.start <= text.len());
                fault.render(text);
            }
        }
    }
}

#[test]
fn deep_and_long_texts_are_refused_in_time() {
    let start = Instant::now();
    for part in [
        "(",
        "[",
        "{",
        "-",
        "A(",
        "A{x = ",
        "A(x) => [",
        "A(x) => x if (",
        "A(x) => x if -",
        "A(x) => A{a = 1 + ",
        "A(x) => x if f(",
        "A(x) => like x(",
        "\"",
        "\\",
        "A(x) => x;",
        "a: ",
        "@",
        "// ",
        "..",
        "1+1+",
        "é",
        "\0",
        "(A(x)|",
        "A([",
        "A(x) => (x,",
        "A((",
        "\"\n",
        ";",
    ] {
        survives(&part.repeat(100_000 / part.len()));
        survives(&format!("A(x) => x if 1{} == 1", part.repeat(50_000 / part.len())));
        survives(&format!("A({}) => x", part.repeat(50_000 / part.len())));
    }
    survives(&" ".repeat(MAX_BYTES + 1));
    survives(&format!("A(x) => x if 1{} == 1", " + 1".repeat(100_000)));
    survives(&format!("A({}) => x", "x, ".repeat(100_000)));
    survives(&format!("A(x) => {}x{}", "Neg(".repeat(100_000), ")".repeat(100_000)));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn many_rules_are_parsed_in_linear_time() {
    let time = |n: usize| {
        let text: String =
            (0..n).map(|i| format!("r{i}: Add(x, Mul(y, {i}.5)) => acme::F(x, y) if rank(x) == 2;\n")).collect();
        let start = Instant::now();
        assert_eq!(parse(&text).expect("they are rules").len(), n);
        start.elapsed()
    };
    let (few, many) = (time(1000).min(time(1000)), time(10_000));
    assert!(many < 60 * few + Duration::from_millis(200), "{few:?} for 1,000 rules, {many:?} for 10,000");
}

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

#[test]
fn random_texts_do_no_harm() {
    const PARTS: &[&str] = &[
        "Add",
        "acme::",
        "x",
        "y",
        "c",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        "=>",
        "if",
        "in",
        "as",
        "const ",
        "splat",
        "like ",
        "none",
        "_",
        "?",
        "..",
        "!",
        "~",
        "@",
        "13",
        "-1",
        "0.5",
        "1e9",
        "9223372036854775808",
        "\"s\"",
        "==",
        "<",
        "+",
        "-",
        "*",
        "/",
        "|",
        "=",
        ":",
        "rank(x)",
        "int64",
        " ",
        "// c\n",
        "\n",
        "é",
        "\"",
        "-9223372036854775808",
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..20_000 {
        let n = random.below(24);
        let text: String = (0..n).map(|_| PARTS[random.below(PARTS.len())]).collect();
        survives(&text);
    }
}

#[test]
fn changed_rules_do_no_harm() {
    let page = include_str!("../../../../docs/patterns.md");
    let blocks: Vec<&str> = page.split("```rules\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..20_000 {
        let mut bytes = blocks[random.below(blocks.len())].as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            let other = blocks[random.below(blocks.len())].as_bytes();
            match random.below(3) {
                0 => drop(bytes.remove(at)),
                1 => bytes[at] = other[random.below(other.len())],
                _ => {
                    let from = random.below(other.len());
                    let piece = other[from..].iter().take(random.below(12)).copied().collect::<Vec<u8>>();
                    bytes.splice(at..at, piece);
                }
            }
        }
        if let Ok(text) = String::from_utf8(bytes) {
            survives(&text);
        }
    }
}
