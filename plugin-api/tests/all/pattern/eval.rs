//! Constants that rules compute.

use super::{becomes, module, stays, try_rules};

const RULE: &str = "t::Mul(t::Mul(x, const a), const b) => t::Mul(x, eval(t::Mul(a, b)))";

#[test]
fn calls_of_constants_are_computed() {
    let body = "%a = t::Mul(%x, [1.0, 2.0, 3.0]); %b = t::Mul([2.0, 2.0, 0.5], %a); %b";
    let outcome = try_rules(&[RULE], &module(body, 13)).unwrap();
    assert!(outcome.text.contains("[2.0, 4.0, 1.5]") && outcome.text.contains("%b = t::Mul(%x, "), "{}", outcome.text);
    assert_eq!(outcome.text.matches("t::Mul").count(), 2, "{}", outcome.text);
    // Inner calls, numbers and computed lists.
    let rule = "t::Sub(x, const c) => t::Add(x, eval(t::Mul(t::Mul(c, -1.0), 3.0)))";
    becomes(rule, "%b = t::Sub(%x, 1.5); %b", "%b = t::Add(%x, ");
    assert!(try_rules(&[rule], &module("%b = t::Sub(%x, 1.5); %b", 13)).unwrap().text.contains("-4.5"));
    // In place of the whole value.
    becomes("t::Sub(const a, const b) => eval(t::Mul(a, b))", "%b = t::Sub(2.0, 4.0); %b", "const(float32, 8.0)");
}

#[test]
fn a_computation_that_fails_or_is_too_large_is_declined() {
    let rule = "t::Sub(x, const c) => t::Add(x, eval(t::Mul(c, c)))";
    let text = "def @main(%x) #[opset = {\"t\": 13}] { t::Sub(%x, [1, 2]) }";
    let outcome = try_rules(&[rule], text).unwrap();
    let declined = outcome.declined().join(", ");
    assert!(!outcome.changed && declined.contains("`eval(t::Mul(c, c))` is not computed: "), "{declined}");
    assert!(declined.contains("they are no floats"), "{declined}");
    // As large as the constants that it replaces, and 4 KiB.
    let large = |uses: &str| {
        let items: Vec<String> = (0..2000).map(|i| format!("{i}.0")).collect();
        let text = format!(
            "def @main(%x) #[opset = {{\"t\": 13}}] {{ %c = [{}]; %a = t::Sub(%x, %c); (%a, {uses}) }}",
            items.join(", ")
        );
        try_rules(&[rule], &text).unwrap()
    };
    assert!(large("%x").changed);
    let outcome = large("%c");
    let declined = outcome.declined().join(", ");
    assert!(!outcome.changed && declined.contains("8000 bytes"), "{declined}");
}

#[test]
fn operators_that_cannot_be_computed_are_refused_before_the_pass() {
    for (right, code, expected) in [
        ("eval(t::Neg(c))", "L025", "calls of `t::Neg` cannot be computed: it has neither an evaluator nor a body"),
        ("eval(t::Random(c))", "L025", "calls of `t::Random` are random or keep state"),
        ("eval(t::Mul(c, t::Neg(c)))", "L025", "calls of `t::Neg` cannot be computed"),
        ("eval(t::Mul(c))", "L021", "`t::Mul` has 1 arguments"),
        ("eval(t::Mul(c, x))", "L007", "`x` is not known to be a constant"),
        ("eval(t::Mul(c, eval(t::Mul(c, c))))", "L007", "`eval(t::Mul(c, c))` cannot be an argument within `eval`"),
        ("eval(c)", "L001", "expected a call, found `c`"),
        ("eval(like r(c))", "L001", "expected a call, found `like`"),
    ] {
        let rule = format!("t::Sub(x, const c) as r => t::Add(x, {right})");
        let error = try_rules(&[&rule], &module("%b = t::Sub(%x, 1.0); %b", 13)).unwrap_err();
        assert_eq!(error.rec().code, code, "{rule}: {error}");
        assert!(error.to_string().contains(expected), "{rule}: {error}");
    }
    // A variable and an operator can have that name.
    becomes("t::Neg(eval) => t::Abs(eval)", "%b = t::Neg(%x); %b", "t::Abs(%x)");
    stays("t::Neg(t::Abs(eval)) => eval", "%b = t::Neg(%x); %b", "");
}
