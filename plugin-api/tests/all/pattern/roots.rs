//! Rules with several outermost calls.

use super::{module, try_rules};

/// Returns the bindings of the function after the rules, without those that nothing uses, and the remarks.
#[track_caller]
fn after(rules: &str, body: &str) -> (String, Vec<String>) {
    let outcome = try_rules(&[rules], &module(body, 13)).unwrap_or_else(|error| panic!("{rules}: {error}"));
    let declined = outcome.declined().into_iter().map(str::to_owned).collect();
    (outcome.text, declined)
}

/// Checks that a body becomes one with all of these parts, in this order, and without others.
#[track_caller]
fn becomes(rules: &str, body: &str, expected: &[&str], gone: &[&str]) {
    let (text, declined) = after(rules, body);
    let mut rest = text.as_str();
    for part in expected {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part} in {rest} of {text} {declined:?}"));
        rest = &rest[at + part.len()..];
    }
    for part in gone {
        assert!(!text.contains(part), "{part}: {text}");
    }
}

#[track_caller]
fn stays(rules: &str, body: &str, reason: &str) {
    let outcome = try_rules(&[rules], &module(body, 13)).unwrap_or_else(|error| panic!("{rules}: {error}"));
    assert!(!outcome.changed, "{rules} on {body}: {}", outcome.text);
    let declined = outcome.declined().join(", ");
    assert!(if reason.is_empty() { declined.is_empty() } else { declined.contains(reason) }, "{rules}: {declined:?}");
}

const PAIR: &str = "(p = t::Neg(x), q = t::Abs(x)) => t::Both(x)";

#[test]
fn both_calls_are_replaced_wherever_they_stand() {
    let first = "%a = t::Neg(%x); %b = t::Relu(%a); %c = t::Abs(%x); %d = t::Mul(%b, %c); %d";
    let parts = ["= t::Both(%x)", "%b = t::Relu(%a)", "%d = t::Mul(%b, %c)"];
    becomes(PAIR, first, &parts, &["t::Neg", "t::Abs"]);
    // In the other order, as results, and where a nested block uses one.
    let second = "%c = t::Abs(%x); %b = t::Relu(%c); %a = t::Neg(%x); (%a, %b, %c)";
    becomes(PAIR, second, &["= t::Both(%x)", "%b = t::Relu(%c)", "(%a, %b, %c)"], &["t::Neg", "t::Abs"]);
    let nested = "%a = t::Neg(%x); %c = t::Abs(%x); %d = if (true) { t::Relu(%c) } else { %a }; %d";
    becomes(PAIR, nested, &["= t::Both(%x)", "t::Relu(%c)"], &["t::Neg", "t::Abs"]);
}

#[test]
fn each_can_have_a_value_of_its_own() {
    let rule = "(p = t::Neg(x), q = t::Abs(x)) => (t::Relu(x), t::Soft(x))";
    becomes(rule, "%a = t::Neg(%x); %b = t::Abs(%x); (%a, %b)", &["%a = t::Relu(%x)", "%b = t::Soft(%x)"], &["t::Neg"]);
    let rule = "(p = t::Neg(x), q = t::Abs(x)) => (x, t::Soft(x))";
    becomes(rule, "%a = t::Neg(%x); %b = t::Abs(%x); (%a, %b)", &["%b = t::Soft(%x)", "(%x, %b)"], &["t::Neg"]);
}

#[test]
fn what_the_right_side_needs_is_computed_before_the_first_call() {
    let rule = "(p = t::Sub(x, a), q = t::Sub(x, b)) => (t::Mul(a, b), t::Add(a, b))";
    let body = "%p = t::Sub(%x, %y); %u = t::Relu(%p); %c = 2.0; %i = t::Neg(%z); %k = t::Mul(%i, %c); %q = t::Sub(%x, %k); (%u, %q)";
    let parts = [
        "%c = const(float32, 2.0)",
        "%i = t::Neg(%z)",
        "%k = t::Mul(%i, %c)",
        "%p = t::Mul(%y, %k)",
        "%q = t::Add(%y, %k)",
        "%u = t::Relu(%p)",
    ];
    becomes(rule, body, &parts, &["t::Sub"]);
    // A call that depends on the other one, and what cannot be moved.
    let body = "%p = t::Sub(%x, %y); %k = t::Relu(%p); %q = t::Sub(%x, %k); %q";
    stays(
        rule,
        body,
        "`b` cannot be computed before the first of the calls that are replaced: it depends on one of them",
    );
    let body = "%p = t::Sub(%x, %y); %k = t::Random(%z); %q = t::Sub(%x, %k); (%p, %q)";
    stays(rule, body, "a call of `Random` stays where it is");
    let body = "%p = t::Sub(%x, %y); %k = if (true) { %z } else { %x }; %q = t::Sub(%x, %k); (%p, %q)";
    stays(rule, body, "something between stays where it is");
    // Values that the right side does not use can depend on it.
    let rule = "(p = t::Sub(x, a), q = t::Sub(x, _)) => (t::Mul(a, x), x)";
    let body = "%p = t::Sub(%x, %y); %k = t::Relu(%p); %q = t::Sub(%x, %k); (%p, %q)";
    becomes(rule, body, &["%p = t::Mul(%y, %x)", "(%p, %x)"], &["= t::Sub"]);
}

#[test]
fn one_call_can_use_the_other() {
    let rule = "(p = t::Add(x, y), q = t::Soft(p)) => (t::Mul(x, y), t::Both(x))";
    let rule_both = "(q = t::Soft(p), p = t::Add(x, y)) => acme::Norm(x, y)";
    let body = "%s = t::Add(%x, %y); %n = t::Soft(%s); %r = t::Relu(%s); (%n, %r)";
    becomes(rule, body, &["%s = t::Mul(%x, %y)", "t::Both(%x)", "%r = t::Relu(%s)"], &["t::Soft"]);
    becomes(
        rule_both,
        body,
        &["acme::Norm(%x, %y) -> 2", "%n = ", "%s = ", "%r = t::Relu(%s)"],
        &["t::Soft", "t::Add"],
    );
    stays(rule, "%s = t::Add(%x, %y); %n = t::Soft(%z); (%s, %n)", "");
}

#[test]
fn inner_calls_are_used_by_the_match_alone() {
    let rule = "(p = t::Neg(t::Mul(x, y) as m), q = t::Abs(m)) => t::Both(x)";
    let body = "%m = t::Mul(%x, %y); %a = t::Neg(%m); %b = t::Abs(%m); (%a, %b)";
    becomes(rule, body, &["t::Both(%x)", "(%a, %b)"], &["t::Neg", "t::Abs"]);
    let body = "%m = t::Mul(%x, %y); %a = t::Neg(%m); %b = t::Abs(%m); (%a, %b, %m)";
    stays(rule, body, "the result of the inner `Mul` has another user");
    // A call that is found through an inner one.
    let rule = "(p = t::Neg(x), q = t::Abs(t::Relu(x))) => t::Both(x)";
    let body = "%r = t::Relu(%x); %a = t::Neg(%x); %b = t::Abs(%r); (%a, %b)";
    becomes(rule, body, &["t::Both(%x)", "(%a, %b)"], &["t::Neg", "t::Abs"]);
    let body = "%a = t::Neg(%x); %r = t::Relu(%x); %b = t::Abs(%r); (%a, %b)";
    becomes(rule, body, &["t::Both(%x)", "(%a, %b)"], &["t::Neg", "t::Abs"]);
}

#[test]
fn calls_of_other_values_blocks_and_without_users_stay() {
    stays(PAIR, "%a = t::Neg(%x); %b = t::Abs(%y); (%a, %b)", "");
    stays(PAIR, "%a = t::Neg(%x); %b = t::Abs(%x); %b", "");
    stays(PAIR, "%a = t::Neg(%x); %b = t::Abs(%x); %a", "");
    stays(PAIR, "%a = t::Neg(%x); %b = if (true) { t::Abs(%x) } else { %x }; (%a, %b)", "");
    stays("(p = t::Neg(x), q = t::Neg(x)) => t::Both(x)", "%a = t::Neg(%x); t::Abs(%a)", "");
}

#[test]
fn other_results_must_not_be_used() {
    let rule = "(p = t::Neg(x), q = t::Both(x)[1]) => (t::Relu(x), t::Soft(x))";
    let body = "%a = t::Neg(%x); (%b, %c) = t::Both(%x); (%a, %c)";
    becomes(rule, body, &["%a = t::Relu(%x)", "t::Soft(%x)"], &["t::Both"]);
    let body = "(%b, %c) = t::Both(%x); %a = t::Neg(%x); (%a, %c)";
    becomes(rule, body, &["%c = t::Soft(%x)", "%a = t::Relu(%x)"], &["t::Both"]);
    let body = "%a = t::Neg(%x); (%b, %c) = t::Both(%x); (%a, %b, %c)";
    stays(rule, body, "another result of `Both` is used");
    // Both results of one call.
    let rule = "(p = t::Neg(t::Both(x)[0]), q = t::Abs(t::Both(x)[1])) => (t::Relu(x), t::Soft(x))";
    let body = "(%b, %c) = t::Both(%x); %p = t::Neg(%b); %q = t::Abs(%c); (%p, %q)";
    becomes(rule, body, &["%p = t::Relu(%x)", "%q = t::Soft(%x)"], &["t::Neg", "t::Abs"]);
    let body = "(%b, %c) = t::Both(%x); %p = t::Neg(%b); %q = t::Abs(%c); (%p, %q, %b)";
    stays(rule, body, "the result of the inner `Both` has another user");
}

#[test]
fn three_calls_and_the_same_operator_twice() {
    let rule = "(p = t::Mul(x, const a), q = t::Mul(x, const b), r = t::Mul(x, const c)) => (t::Sub(x, c), t::Sub(x, b), t::Sub(x, a)) if a < b, b < c";
    let body = "%p = t::Mul(%x, 1.0); %u = t::Neg(%p); %q = t::Mul(%x, 3.0); %r = t::Mul(%x, 2.0); (%u, %q, %r)";
    // The constants are in another order than the calls.
    becomes(rule, body, &["t::Sub(%x, ", "t::Sub(%x, ", "t::Sub(%x, "], &["t::Mul"]);
    stays(
        rule,
        "%p = t::Mul(%x, 1.0); %q = t::Mul(%x, 3.0); %r = t::Mul(%x, 3.0); (%p, %q, %r)",
        "`b < c` does not hold",
    );
    // Calls that are left after a match can match again, and a value is never replaced twice.
    let pairs = "(p = t::Mul(x, const a), q = t::Mul(x, const b)) => (t::Sub(x, a), t::Sub(x, b))";
    let body =
        "%p = t::Mul(%x, 1.0); %q = t::Mul(%x, 2.0); %r = t::Mul(%x, 3.0); %s = t::Mul(%x, 4.0); (%p, %q, %r, %s)";
    becomes(pairs, body, &["%p = t::Sub", "%q = t::Sub", "%r = t::Sub", "%s = t::Sub"], &["t::Mul"]);
    let body = "%p = t::Mul(%x, 1.0); %q = t::Mul(%x, 2.0); %r = t::Mul(%x, 3.0); (%p, %q, %r)";
    becomes(pairs, body, &["%p = t::Sub", "%q = t::Sub", "%r = t::Mul"], &[]);
}

#[test]
fn what_was_rewritten_in_the_same_round_is_seen_in_the_next() {
    let rules = "t::Relu(t::Relu(x)) => t::Relu(x); (p = t::Neg(t::Relu(x)), q = t::Abs(t::Relu(x))) => t::Both(x)";
    let body = "%a = t::Relu(%x); %b = t::Relu(%a); %c = t::Relu(%x); %p = t::Neg(%b); %q = t::Abs(%c); (%p, %q)";
    becomes(rules, body, &["t::Both(%x)", "(%p, %q)"], &["t::Neg", "t::Abs"]);
}

#[test]
fn a_result_of_another_type_is_declined() {
    let rule = "(p = t::Neg(x), q = t::Add(x, y)) => (t::Abs(x), t::Abs(x))";
    let text = "def @main(%x: Tensor[(3), float32], %y: Tensor[(2, 3), float32]) #[opset = {\"t\": 13}] {
        %a = t::Neg(%x); %b: Tensor[(2, 3), float32] = t::Add(%x, %y); (%a, %b) }";
    let outcome = try_rules(&[rule], text).unwrap();
    assert!(!outcome.changed && outcome.declined()[0].contains("of another type"), "{:?}", outcome.declined());
}

#[test]
fn many_users_of_one_value_take_linear_time() {
    let time = |n: usize| {
        let body: String = (0..n).map(|i| format!("%a{i} = t::Abs(%x); ")).collect();
        let sum: String = (0..n).map(|i| format!("%a{i}, ")).collect();
        let text = module(&format!("{body} t::Cat({sum} axis = 0)"), 13);
        let start = std::time::Instant::now();
        assert!(!try_rules(&["(p = t::Abs(x), q = t::Abs(x), r = t::Neg(x)) => (x, x, x)"], &text).unwrap().changed);
        start.elapsed()
    };
    let (few, many) = (time(500), time(4000));
    assert!(many < 40 * few + std::time::Duration::from_secs(1), "{few:?}, {many:?}");
}
