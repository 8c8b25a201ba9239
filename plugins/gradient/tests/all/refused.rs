//! Refusals, and their messages.

use crate::common::parse;
use relais_plugin_api::{options::Value, testing::Trial};

/// The error of the pass on a module.
#[track_caller]
fn refused(pass: Trial, text: &str) -> String {
    parse(text);
    pass.run(text).expect_err("the pass fails").to_string()
}

fn pass() -> Trial {
    Trial::of("FirstOrderGradient")
}

fn names(names: &[&str]) -> Value {
    Value::List(names.iter().map(|name| Value::Str((*name).to_owned())).collect())
}

#[test]
fn calls_without_a_gradient_are_named() {
    for (lines, expected) in [
        ("%y = acme::Made(%x);", "`acme::Made` has no gradient: no plugin describes its gradient"),
        ("%y = Det(%x);", "`Det` has no gradient: no plugin describes its gradient"),
        ("%y = @missing(%x);", "`@missing` has no gradient: the module has no such function"),
        (
            "%y = Loop(3, true, %x, body = fn(%i: Tensor[(), int64], %c: Tensor[(), bool], %v) { %w = Exp(%v); (%c, %w) });",
            "`Loop` has no gradient: operators with functions of their own have no gradient",
        ),
        ("%d = Dropout(%x, 0.5, true); %y = Exp(%d);", "`Dropout` has no gradient: it may be in training mode"),
    ] {
        let text =
            format!("def @main(%x: Tensor[(2, 2), float32]) #[opset = {{\"\": 17, \"acme\": 1}}] {{ {lines} %y }}");
        let error = refused(pass(), &text);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn unknown_ranks_are_refused() {
    let text =
        "def @main(%x: Tensor[*, float32], %w: Tensor[*, float32]) #[opset = {\"\": 17}] { %y = Add(%x, %w); %y }";
    let error = refused(pass(), text);
    assert!(error.contains("`Add` has no gradient: the rank of output 0 is not known"), "{error}");
}

/// The rank of the sum is not known because nothing is known about the call before it.
#[test]
fn a_cause_comes_before_what_follows_from_it() {
    let text = "def @main(%x: Tensor[(2, 2), float32], %w: Tensor[(2), float32]) #[opset = {\"\": 17, \"acme\": 1}] {
        %a = acme::Made(%x); %b = Add(%a, %w); %y = Mul(%b, %w); %y }";
    let error = refused(pass(), text);
    assert!(error.contains("`acme::Made` has no gradient: no plugin describes its gradient"), "{error}");
}

#[test]
fn functions_in_a_circle_are_named() {
    let text = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %y = @a(%x); %y }
        def @a(%x) #[opset = {\"\": 17}] { %y = @b(%x); %y }
        def @b(%x) #[opset = {\"\": 17}] { %y = @a(%x); %y }";
    let error = refused(pass(), text);
    assert!(error.contains("functions call themselves: `@a`, `@b`"), "{error}");
}

#[test]
fn names_that_nothing_has_are_refused() {
    let text = "def @main(%x: Tensor[(2), float32], %i: Tensor[(2), int64]) #[opset = {\"\": 17}] { %y = Exp(%x); %y }";
    for (option, name, expected) in [
        ("wrt", "w", "it has no parameter and no constant `%w`"),
        ("wrt", "i", "`%i` has no floats, which alone have gradients"),
        ("of", "z", "it has no result `%z`"),
        ("functions", "other", "the module has no function `@other`"),
    ] {
        let error = refused(pass().option(option, names(&[name])), text);
        assert!(error.contains(expected), "{error}");
    }
    let error = refused(pass().option("outputs", true).option("functions", names(&["other"])), text);
    assert!(error.contains("`outputs` is about `main`"), "{error}");
}

#[test]
fn a_random_value_in_a_branch_is_not_computed_again() {
    let text = "def @main(%x: Tensor[(2), float32], %c: Tensor[(), bool]) #[opset = {\"\": 17}] {
        %y = if (%c) { %r = RandomNormal(shape = [2]); %1 = Mul(%x, %r); %1 } else { %x };
        %y
    }";
    let error = refused(pass(), text);
    assert!(error.contains("a branch calls `RandomNormal`, which may give something else"), "{error}");
}
