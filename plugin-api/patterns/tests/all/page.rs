//! The blocks of `docs/patterns.md`.

use relais_patterns::{parse, print};

const PAGE: &str = include_str!("../../../../docs/patterns.md");

/// The blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let open = format!("```{language}\n");
    let blocks: Vec<&str> = PAGE.split(open.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty(), "the page has blocks of `{language}`");
    blocks
}

#[test]
fn every_example_parses_and_prints_to_the_same_rules() {
    for block in blocks("rules") {
        let rules = parse(block).unwrap_or_else(|faults| {
            let faults: Vec<String> = faults.iter().map(|fault| fault.render(block)).collect();
            panic!("{block}\n{}", faults.join("\n"))
        });
        let printed = print(&rules);
        assert_eq!(parse(&printed).as_ref(), Ok(&rules), "{printed}");
        assert_eq!(print(&parse(&printed).expect("it is equal")), printed);
    }
}

#[test]
fn every_wrong_example_has_the_faults_that_the_page_shows() {
    for block in blocks("wrong") {
        let (text, expected) = block.split_once("\n\n").expect("an empty line is between the rules and the faults");
        let faults = parse(text).expect_err(text);
        let faults: Vec<String> = faults.iter().map(|fault| fault.render(text)).collect();
        assert_eq!(faults.join("\n"), expected.trim_end(), "{text}");
    }
}

#[test]
fn every_code_is_on_the_page() {
    for text in [("Relu(x => x", "L001"), ("Relu(x) => 99999999999999999999(x)", "L002"), ("(Relu(x) => x", "L001")] {
        assert_eq!(parse(text.0).expect_err(text.0)[0].code.as_str(), text.1);
    }
    for code in ["L001", "L002", "L003", "L004", "L005", "L006", "L007", "L008", "L009", "L010", "L011"] {
        assert!(PAGE.contains(&format!("| {code} |")), "{code}");
    }
}

/// Returns the faults of a text without their suggestions.
fn faults(text: &str) -> Vec<String> {
    let faults = parse(text).expect_err(text);
    faults.iter().map(|fault| format!("{} {}", fault.code.as_str(), fault.message)).collect()
}

#[test]
fn wrong_uses_are_named() {
    for (text, expected) in [
        ("Add{axis = 1, axis = 2}(x, y) => x", "L008 `axis` is given twice"),
        ("a: Neg(x) => x; a: Abs(x) => x", "L008 two rules are named `a`"),
        ("Concat(..x) => Sum(x)", "L007 `x` stands for several values"),
        ("Neg(x) => Sum(..x)", "L007 `x` stands for one value"),
        ("Clip(x, ?lo, lo) => x", "L007 `lo` may be absent in one place and not in another"),
        ("Neg(x) => like x(x)", "L007 `x` does not name a call"),
        ("Clip(x, ?lo) => lo", "L007 `lo` may be absent"),
        ("Neg(x) => none", "L007 `none` cannot replace a value"),
        ("Neg(x) as y => Abs(y)", "L007 `y` is the value that is replaced"),
        ("Neg(x)[1] => x", "L007 the outermost call cannot stand for one of its results"),
        ("Elu{alpha = a}(x) => Mul(x, a)", "L007 `a` is the value of an attribute"),
        ("Neg(x) => x if elem(x) == 3", "L007 an element type is compared with a number"),
        ("Neg(x) => x if elem(x) < int8", "L007 an element type is not less or greater than another"),
        ("Neg(x) => x if rank(x, x) == 3", "L007 `rank` has 2 arguments"),
        ("Neg(x) => x if rank(x)", "L009 there is no function `rank`"),
        ("Neg(x) => x if is_even(x)", "L009 there is no function `is_even`"),
        ("Neg(x) => x if finite(x)", "L007 `x` is not known to be a constant"),
        ("Add(x, [[1], [2]]) => x", "L007 a list that is a constant has only numbers"),
        ("Add(x, 1 ~ 2) => x", "L007 the tolerance is not between 0 and 1"),
        ("Neg(x) => Neg(x)", "L010 the right side is the left side"),
        ("Neg(x) => x if elem(x) == flot32", "L004 `flot32` is not bound on the left side"),
        ("A((Neg(const c) | Abs(c))) => c", "L006 the alternatives bind different variables"),
        ("Neg(x) => x é", "L002 `é` has no meaning here"),
        ("Neg(\"x) => x", "L002 the string does not end"),
        ("", "L001 expected an operator, found the end"),
        ("Neg(x) => x if", "L001 expected a value, found the end"),
        ("Squeeze@13..1(x) => x", "L002 the last version comes before the first"),
        ("Concat(..x, y) => y", "L001 expected `)`, found `,`"),
        ("(p = Neg(x)) => x", "L001 expected `,`, found `)`"),
        ("(p = Neg(x), Abs(x)) => (x, x)", "L001 expected `=`, found `(`"),
        ("(p = Neg(x) as y, q = Abs(x)) => (x, x)", "L008 the call is given a second name"),
        ("(p = Neg(x), p = Abs(x)) => (x, x)", "L007 `p` is the value that is replaced"),
        ("(p = Neg(p), q = Abs(p)) => (q, q)", "L007 `p` is the value that is replaced"),
        ("(p = Neg(x), q = Abs(x)) => (p, x)", "L007 `p` is the value that is replaced"),
        ("(p = Neg(x), q = Abs(x)) => x", "L007 `x` stands for 2 outermost calls"),
        ("(p = Neg(x), q = Abs(x)) => (x, none)", "L007 `none` cannot replace a value"),
        (
            "(p = Neg(x, const c), q = Abs(y, const c)) => (x, y)",
            "L011 `q` has no value in common with the other outermost calls",
        ),
        (
            "(p = Neg{a = k}(x), q = Abs{a = k}((Neg(x) | Abs(x)))) => (x, x)",
            "L011 `q` has no value in common with the other outermost calls",
        ),
        ("Neg(x) => Abs([x])", "L007 `x` is not known to be a constant"),
        ("Neg(x) => Abs([elem(x)])", "L007 a list that is a constant has only numbers"),
        ("Neg(x) => x Neg(x) => x", "L001 expected `;`, `if` or the end, found `Neg`"),
    ] {
        let found = faults(text);
        assert!(found.iter().any(|found| found == expected), "{text}: {found:?}");
    }
}

#[test]
fn the_rules_of_a_level_stay_at_their_places() {
    use relais_patterns::{RuleLevel, of_level, parse};
    let text = "// \u{e4}; a comment\nNeg(Neg(x)) => x; b: tir::neg(tir::neg(x)) => x if elem(x) == int32\n; Abs(x) => x // the end";
    let rules = parse(text).unwrap();
    for level in [RuleLevel::Graph, RuleLevel::Prim] {
        let kept = of_level(text, &rules, level);
        let expected: Vec<_> = rules.iter().filter(|rule| rule.level() == level).collect();
        let read = parse(&kept).unwrap();
        assert_eq!(read.iter().collect::<Vec<_>>(), expected);
        for (read, expected) in read.iter().zip(expected) {
            assert_eq!(read.span.place(&kept), expected.span.place(text));
            assert_eq!(kept[read.span.start..read.span.end], text[expected.span.start..expected.span.end]);
        }
    }
}
