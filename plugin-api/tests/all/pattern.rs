//! Rules as text, on modules as text.

mod eval;
mod roots;

use relais_plugin_api::{
    ir::attr_kind,
    op::{AttrSchema, Effects, Formal, Required, TypeVar},
    pattern::{self, ConditionFn, Matched, Rules, Unmet},
    prelude::*,
    testing::{Outcome, Trial},
};

const FLOATS: &[ElemType] = &[ElemType::FLOAT, ElemType::FLOAT16, ElemType::INT64];
const T: TypeVar = TypeVar::new("T", FLOATS);
const I: TypeVar = TypeVar::new("I", &[ElemType::INT64]);

const fn attr(name: &'static str, kind: u8, default: &'static str) -> AttrSchema {
    AttrSchema { name, kind, required: Required::No, default }
}

const UNARY: Operator = Operator::new("t", "", 1)
    .takes(&[Formal::single("X", "T")])
    .gives(&[Formal::single("Y", "T")])
    .types(&[T])
    .infer(same);
const BINARY: Operator = UNARY.inputs(2, 2).takes(&[Formal::single("A", "T"), Formal::single("B", "T")]).infer(wider);

const fn named(mut operator: Operator, name: &'static str) -> Operator {
    operator.name = name;
    operator
}

operators! {
    &[
        named(UNARY, "Neg"),
        named(UNARY, "Abs"),
        named(UNARY, "Relu"),
        named(UNARY, "Random").effects(Effects::RANDOM),
        named(UNARY, "State").effects(Effects::STATEFUL),
        named(BINARY, "Add").commutative(true).attrs(&[attr("axis", attr_kind::INT, "")]),
        named(BINARY, "Add").since(7).commutative(true),
        named(BINARY, "Mul").commutative(true).eval(product),
        named(BINARY, "Sub"),
        named(BINARY, "Later").since(20),
        named(UNARY, "Soft").attrs(&[attr("axis", attr_kind::INT, "1"), attr("scale", attr_kind::FLOAT, "0.5")]),
        named(UNARY, "Soft").since(13).attrs(&[attr("axis", attr_kind::INT, "-1"), attr("scale", attr_kind::FLOAT, "0.5")]),
        named(UNARY, "Turn").attrs(&[attr("perm", attr_kind::INTS, "")]).infer(unknown),
        named(UNARY, "Clip")
            .inputs(1, 3)
            .takes(&[Formal::single("X", "T"), Formal::optional("lo", "T"), Formal::optional("hi", "T")]),
        named(UNARY, "Shape").inputs(2, 2).takes(&[Formal::single("X", "T"), Formal::single("shape", "I")]).types(&[T, I]).infer(unknown),
        named(UNARY, "Cat").inputs(1, u16::MAX).takes(&[Formal::variadic("X", "T")]).attrs(&[AttrSchema {
            name: "axis",
            kind: attr_kind::INT,
            required: Required::Yes,
            default: "",
        }]).infer(unknown),
        named(UNARY, "Both").outputs(2, 2).gives(&[Formal::single("A", "T"), Formal::single("B", "T")]),
    ]
}

fn same(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    (0..cx.n_outputs()).for_each(|index| cx.set_output(index, cx.input_id(0)));
    Ok(())
}

fn wider(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let rank = |cx: &InferCx<'_>, at| cx.dims(at).map_or(0, |dims| dims.len());
    let at = usize::from(rank(cx, 1) > rank(cx, 0));
    cx.set_output(0, cx.input_id(at));
    Ok(())
}

/// Products of equally many floats.
fn product(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    let (a, b) = (cx.require(0)?, cx.require(1)?);
    let (Some(x), Some(y)) = (a.to_f64s(), b.to_f64s()) else { return Err(OpError::unsupported("they are no floats")) };
    let values: Vec<f64> = x.iter().zip(y).map(|(x, y)| x * y).collect();
    let product =
        Tensor::from_f64s(a.elem(), a.dims(), &values).ok_or_else(|| OpError::unsupported("no such floats"))?;
    cx.output(product);
    Ok(())
}

fn unknown(_: &mut InferCx<'_>) -> Result<(), OpError> {
    Ok(())
}

#[derive(PassOptions)]
struct Options {
    /// Rules.
    rules: Vec<String>,
}

/// Checks rules, and applies them.
#[function_pass(name = "pattern.Apply", statistics(rewritten = "calls replaced"), check = can_apply)]
fn apply_rules(edit: &mut Editor, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    pattern::apply(edit, cx, &Rules::parse("rules", &options.rules)?).map(|_| ())
}

fn can_apply(module: &IRModule, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    let rules = Rules::parse("rules", &options.rules)?;
    module.functions().try_for_each(|(name, f)| pattern::check(&rules, f, cx).map_err(|error| error.in_function(name)))
}

fn try_rules(rules: &[&str], text: &str) -> Result<Outcome, PassError> {
    let rules = rules.iter().map(|rule| Value::Str((*rule).to_owned())).collect();
    Trial::of("pattern.Apply").option("rules", Value::List(rules)).run(text)
}

/// A function of these bindings, over `%x`, `%y` and `%z`.
fn module(body: &str, version: i64) -> String {
    let param = |name: &str| format!("%{name}: Tensor[(2, 3), float32]");
    let params = ["x", "y", "z"].map(param).join(", ");
    format!("def @main({params}) #[opset = {{\"\": {version}, \"t\": {version}}}] {{ {body} }}")
}

/// Returns the last line of the function after the rules, and the remarks.
fn run_in(version: i64, rules: &str, body: &str) -> (String, Vec<String>) {
    let outcome = try_rules(&[rules], &module(body, version)).unwrap_or_else(|error| panic!("{rules}: {error}"));
    let lines: Vec<&str> = outcome.text.lines().map(str::trim).collect();
    let declined = outcome.declined().into_iter().map(str::to_owned).collect();
    // The last binding, and the result.
    (lines[lines.len() - 3..lines.len() - 1].join(" "), declined)
}

/// Checks that the last call of a body becomes another.
#[track_caller]
fn becomes(rules: &str, body: &str, expected: &str) {
    let (last, declined) = run_in(13, rules, body);
    assert!(last.contains(expected), "{rules} on {body}: {last} {declined:?}");
}

/// Checks that a body stays, and for which reason; an empty one is that nothing matches.
#[track_caller]
fn stays(rules: &str, body: &str, reason: &str) {
    let outcome = try_rules(&[rules], &module(body, 13)).unwrap_or_else(|error| panic!("{rules}: {error}"));
    assert!(!outcome.changed, "{rules} on {body}: {}", outcome.text);
    let declined = outcome.declined().join(", ");
    assert!(if reason.is_empty() { declined.is_empty() } else { declined.contains(reason) }, "{rules}: {declined:?}");
}

#[test]
fn a_pattern_is_replaced_and_the_name_stays() {
    becomes("t::Neg(t::Neg(x)) => x", "%a = t::Neg(%x); %b = t::Neg(%a); %c = t::Abs(%b); %c", "%c = t::Abs(%x); %c");
    let body = "%a = t::Neg(%x); %b = t::Abs(%a); %b";
    becomes("t::Abs(t::Neg(x)) => t::Relu(t::Mul(x, x))", body, "%b = t::Relu(");
    stays("t::Neg(t::Abs(x)) => x", body, "");
}

#[test]
fn both_orders_are_tried_and_the_one_that_matched_stays() {
    let rule = "t::Add(t::Neg(x), y) => t::Sub(y, x)";
    becomes(rule, "%a = t::Neg(%x); %b = t::Add(%a, %y); %b", "t::Sub(%y, %x)");
    becomes(rule, "%a = t::Neg(%x); %b = t::Add(%y, %a); %b", "t::Sub(%y, %x)");
    let rule = "t::Sub(t::Neg(x), y) => t::Add(y, x)";
    stays(rule, "%a = t::Neg(%x); %b = t::Sub(%y, %a); %b", "");
    // Inner calls, too, and what was tried in vain leaves nothing behind.
    let rule = "t::Add(t::Mul(x, t::Neg(y)), t::Mul(y, t::Abs(x))) => t::Sub(x, y)";
    let body = "%n = t::Neg(%y); %a = t::Abs(%x); %p = t::Mul(%n, %x); %q = t::Mul(%a, %y); %r = t::Add(%q, %p); %r";
    becomes(rule, body, "t::Sub(%x, %y)");
}

#[test]
fn a_repeated_variable_is_one_value_or_equal_constants() {
    becomes("t::Sub(x, x) => t::Neg(x)", "%a = t::Sub(%x, %x); %a", "t::Neg(%x)");
    stays("t::Sub(x, x) => t::Neg(x)", "%a = t::Sub(%x, %y); %a", "");
    let rule = "t::Sub(t::Sub(x, c), c) => t::Relu(x)";
    becomes(rule, "%c = 1.0; %d = 1.0; %a = t::Sub(%x, %c); %b = t::Sub(%a, %d); %b", "t::Relu(%x)");
    stays(rule, "%c = 0.0; %d = -0.0; %a = t::Sub(%x, %c); %b = t::Sub(%a, %d); %b", "");
}

#[test]
fn numbers_and_lists_are_constants() {
    becomes("t::Mul(x, 2) => t::Add(x, x)", "%b = t::Mul(2.0, %x); %b", "t::Add(%x, %x)");
    becomes("t::Mul(x, 2.0) => t::Add(x, x)", "%b = t::Mul(%x, [2.0]); %b", "t::Add(%x, %x)");
    stays("t::Mul(x, 2) => t::Add(x, x)", "%b = t::Mul(%x, [2.0, 2.0, 2.0]); %b", "");
    stays("t::Mul(x, 0.0) => t::Abs(x)", "%b = t::Mul(%x, -0.0); %b", "");
    let third = "%c = const(float16, [1.0]); %h = t::Soft(0.3333f16); %b = t::Mul(%h, 0.3333f16); %b";
    stays("t::Mul(x, 0.3) => t::Abs(x)", third, "");
    becomes("t::Mul(x, 0.3333) => t::Abs(x)", third, "t::Abs(%h)");
    becomes("t::Mul(x, 0.3 ~ 0.2) => t::Abs(x)", third, "t::Abs(%h)");
    becomes("t::Shape(x, [3, -1]) => t::Abs(x)", "%b = t::Shape(%x, [3, -1]); %b", "t::Abs(%x)");
    stays("t::Shape(x, [3, -1]) => t::Abs(x)", "%b = t::Shape(%x, [3, 2]); %b", "");
    // A constant that could add a dimension does not match.
    let text = "def @main(%x) #[opset = {\"t\": 13}] { %b = t::Mul(%x, [2.0]); %b }";
    assert!(!try_rules(&["t::Mul(x, 2) => t::Add(x, x)"], text).unwrap().changed);
    // On the right side they have the element type of their neighbours.
    becomes("t::Neg(x) => t::Sub(0, x)", "%b = t::Neg(%x); %b", "t::Sub(");
    let text = "def @main(%x: Tensor[(2), float16]) #[opset = {\"t\": 13}] { %b = t::Neg(%x); %b }";
    assert!(try_rules(&["t::Neg(x) => t::Mul(x, -1.0)"], text).unwrap().text.contains("float16, -1.0"));
    let text = "def @main(%x) #[opset = {\"t\": 13}] { %b = t::Neg(%x); %b }";
    let outcome = try_rules(&["t::Neg(x) => t::Mul(x, -1.0)"], text).unwrap();
    assert!(!outcome.changed && outcome.declined()[0].contains("rule 1: the element type"), "{:?}", outcome.declined());
    becomes("t::Neg(x) => t::Shape(x, [3, 2])", "%b = t::Neg(%x); %b", "t::Shape(%x, ");
    // A number for a whole value has its type.
    becomes("t::Sub(x, x) => 0", "%b: Tensor[(2, 3), float32] = t::Sub(%x, %x); %b", "splat(float32, (2, 3), 0.0)");
}

#[test]
fn constants_are_bound() {
    becomes("t::Sub(const c, x) => t::Add(x, c)", "%c = 1.5; %b = t::Sub(%c, %x); %b", "t::Add(%x, %c)");
    stays("t::Sub(const c, x) => t::Add(x, c)", "%b = t::Sub(%y, %x); %b", "");
    let splat = "t::Sub(x, const c splat) => t::Add(x, c)";
    becomes(splat, "%c = [2.0, 2.0, 2.0]; %b = t::Sub(%x, %c); %b", "t::Add(%x, %c)");
    stays(splat, "%c = [2.0, 2.0, 3.0]; %b = t::Sub(%x, %c); %b", "");
}

#[test]
fn arguments_may_be_absent_or_several() {
    let rule = "t::Clip(t::Relu(x), ?lo, ?hi) => t::Clip(x, lo, hi)";
    becomes(rule, "%a = t::Relu(%x); %b = t::Clip(%a, _, %y); %b", "t::Clip(%x, _, %y)");
    becomes(rule, "%a = t::Relu(%x); %b = t::Clip(%a, %y); %b", "t::Clip(%x, %y)");
    becomes(rule, "%a = t::Relu(%x); %b = t::Clip(%a); %b", "t::Clip(%x)");
    becomes("t::Clip(x, none, hi) => t::Sub(x, hi)", "%b = t::Clip(%x, _, %y); %b", "t::Sub(%x, %y)");
    stays("t::Clip(x, none, hi) => t::Sub(x, hi)", "%b = t::Clip(%x, %y, %y); %b", "");
    stays("t::Clip(x) => t::Abs(x)", "%b = t::Clip(%x, %y); %b", "");
    becomes("t::Clip(x, _) => t::Abs(x)", "%b = t::Clip(%x, %y); %b", "t::Abs(%x)");
    let rule = "t::Cat{axis = a}(t::Cat{axis = a}(..p), ..q) => t::Cat{axis = a}(..p, ..q)";
    let body = |axis: i64| format!("%a = t::Cat(%x, %y, axis = {axis}); %b = t::Cat(%a, %z, axis = 1); %b");
    becomes(rule, &body(1), "t::Cat(%x, %y, %z, axis = 1)");
    stays(rule, &body(0), "");
}

#[test]
fn attributes_are_compared_with_the_defaults_of_the_version() {
    let rule = "t::Soft{axis = -1}(x) => t::Abs(x)";
    let body = |attrs: &str| format!("%b = t::Soft(%x{attrs}); %b");
    becomes(rule, &body(""), "t::Abs(%x)");
    becomes(rule, &body(", scale = 0.5"), "t::Abs(%x)");
    stays(rule, &body(", scale = 0.25"), "");
    stays(rule, &body(", axis = 1"), "");
    let (last, _) = run_in(12, rule, &body(""));
    assert!(last.contains("t::Soft(%x)"), "{last}");
    let (last, _) = run_in(12, "t::Soft(x) => t::Abs(x)", &body(", axis = 1"));
    assert!(last.contains("t::Abs(%x)"), "{last}");
    becomes("t::Soft{..}(x) => t::Abs(x)", &body(", scale = 0.25"), "t::Abs(%x)");
    becomes("t::Soft{scale = _}(x) => t::Abs(x)", &body(", scale = 0.25"), "t::Abs(%x)");
    stays("t::Turn{perm = p}(x) => t::Abs(x)", "%b = t::Turn(%x); %b", "");
    becomes("t::Turn{perm = [1, 0]}(x) => t::Abs(x)", "%b = t::Turn(%x, perm = [1, 0]); %b", "t::Abs(%x)");
    // An old attribute is an attribute that is not listed.
    let (last, _) = run_in(6, "t::Add(x, y) => t::Sub(x, y)", "%b = t::Add(%x, %y, axis = 1); %b");
    assert!(last.contains("t::Add"), "{last}");
}

#[test]
fn attributes_are_bound_and_computed() {
    let rule =
        "t::Soft{axis = a, scale = s}(t::Soft{axis = b, scale = t}(x)) => t::Soft{axis = a + b * 2, scale = s * t}(x)";
    let body = "%a = t::Soft(%x, axis = 3, scale = 0.25); %b = t::Soft(%a, axis = 1); %b";
    becomes(rule, body, "t::Soft(%x, axis = 7, scale = 0.125)");
    let rule = "t::Soft{axis = a}(t::Abs(x)) => t::Soft{axis = 1 / a}(x)";
    let body = |axis: i64| format!("%a = t::Abs(%x); %b = t::Soft(%a, axis = {axis}); %b");
    stays(rule, &body(0), "`axis = 1 / a` cannot be computed");
    stays(rule, &body(2), "`axis = 1 / a` cannot be computed");
    let rule = "t::Soft{scale = s}(t::Abs(x)) => t::Soft{scale = -s}(x)";
    becomes(rule, "%a = t::Abs(%x); %b = t::Soft(%a, scale = 0.0); %b", "t::Soft(%x, scale = -0.0)");
    becomes("t::Neg(x) => t::Turn{perm = [1, rank(x) - 2]}(x)", "%b = t::Neg(%x); %b", "perm = [1, 0]");
    becomes("t::Neg(x) => t::Cat{axis = elem(x)}(x)", "%b = t::Neg(%x); %b", "axis = 1");
}

#[test]
fn inner_values_have_no_other_users_unless_the_rule_says_so() {
    let body = "%a = t::Neg(%x); %b = t::Abs(%a); (%a, %b)";
    stays("t::Abs(t::Neg(x)) => t::Relu(x)", body, "rule 1: the result of the inner `Neg` has another user");
    let outcome = try_rules(&["abs: t::Abs(t::Neg(x)!) => t::Relu(x)"], &module(body, 13)).unwrap();
    assert!(outcome.text.contains("%b = t::Relu(%x)") && outcome.text.contains("%a = t::Neg(%x)"), "{}", outcome.text);
    // A use inside the match is none.
    becomes("t::Sub(t::Neg(x) as n, n) => t::Relu(x)", "%a = t::Neg(%x); %b = t::Sub(%a, %a); %b", "t::Relu(%x)");
    // Nor is one by a call that a rule made useless, even if the same variable is used again.
    let rules = "t::Abs(t::Neg(x)) => t::Relu(x); t::Relu(t::Soft(x)) => t::Soft(x)";
    let body = "%s = t::Soft(%x); %a = t::Neg(%s); %b = t::Abs(%a); %b";
    becomes(rules, body, "%b = t::Soft(%x)");
    // Constants may have other users.
    becomes(
        "t::Sub(x, const c) => t::Add(x, c)",
        "%c = 2.0; %d = t::Add(%c, %y); %b = t::Sub(%d, %c); %b",
        "t::Add(%d, %c)",
    );
}

#[test]
fn captures_and_blocks_keep_inner_calls() {
    let rule = "t::Abs(t::Neg(x)) => t::Relu(x)";
    let body = "%c = true; %a = t::Neg(%x); %b = if (%c) { %i = t::Abs(%a); %i } else { %y }; %b";
    stays(rule, body, "");
    let body = "%c = true; %a = t::Neg(%x); %b = t::Abs(%a); %d = if (%c) { t::Soft(%a) } else { %y }; (%b, %d)";
    stays(rule, body, "another user");
    let body = "%c = true; %d = if (%c) { %a = t::Neg(%x); %b = t::Abs(%a); %b } else { %y }; %d";
    let outcome = try_rules(&[rule], &module(body, 13)).unwrap();
    assert!(outcome.text.contains("t::Relu(%x)"), "{}", outcome.text);
}

#[test]
fn results_are_selected_and_replaced() {
    let both = "(%p, %q) = t::Both(%x);";
    becomes("t::Abs(t::Both(x)) => t::Relu(x)", &format!("{both} %b = t::Abs(%p); %b"), "t::Relu(%x)");
    stays("t::Abs(t::Both(x)) => t::Relu(x)", &format!("{both} %b = t::Abs(%q); %b"), "");
    stays("t::Abs(t::Both(x)) => t::Relu(x)", &format!("{both} %b = t::Abs(%p); (%b, %q)"), "another user");
    becomes(
        "t::Abs(t::Both(x)[1]) => t::Relu(x)",
        "%t = t::Both(%x) -> 2; %q = %t[1]; %b = t::Abs(%q); %b",
        "t::Relu(%x)",
    );
    becomes("t::Both(x) => (t::Neg(x), x)", &format!("{both} %b = t::Sub(%q, %p); %b"), "t::Sub(%x, ");
    stays("t::Both(x) => t::Neg(x)", &format!("{both} %b = t::Sub(%q, %p); %b"), "something uses result 1");
    becomes("t::Both(x) => (none, x)", "%t = t::Both(%x) -> 2; %q = %t[1]; %b = t::Abs(%q); %b", "t::Abs(%x)");
    stays("t::Neg(x) => (x, x)", "%b = t::Neg(%x); %b", "has 1 results, and the right side 2");
}

#[test]
fn alternatives_are_tried_in_order_and_larger_patterns_first() {
    let rule = "t::Sub((t::Neg(x) | t::Abs(x)), y) => t::Add(x, y)";
    becomes(rule, "%a = t::Abs(%x); %b = t::Sub(%a, %y); %b", "t::Add(%x, %y)");
    becomes("(t::Neg(x) | t::Abs(x)) => t::Relu(x)", "%b = t::Abs(%x); %b", "t::Relu(%x)");
    let rules = "t::Abs(x) => t::Soft(x); t::Abs(t::Neg(x)) => t::Relu(x); t::Abs(x) => t::Neg(x)";
    becomes(rules, "%a = t::Neg(%x); %b = t::Abs(%a); %b", "t::Relu(%x)");
    becomes(rules, "%b = t::Abs(%x); %b", "t::Soft(%x)");
}

#[test]
fn conditions_hold_or_the_reason_is_a_remark() {
    let body = "%b: Tensor[(2, 3), float32] = t::Neg(%x); %b";
    for condition in [
        "rank(x) == 2",
        "dim(x, 1) == 3",
        "dim(x, -2) == 2",
        "elem(x) == float32",
        "elem(x) in {float16, float32}",
        "shape(x) == [2, 3]",
        "shape(x) == shape(r)",
        "users(x) == 1",
        "rank(x) * 2 - 1 >= 3",
        "dim(x, 0) != dim(x, 1)",
        "broadcasts(x, r)",
    ] {
        becomes(&format!("t::Neg(x) as r => t::Abs(x) if {condition}"), body, "t::Abs(%x)");
    }
    stays("n: t::Neg(x) => t::Abs(x) if rank(x) == 3", body, "`n`: `rank(x) == 3` does not hold");
    stays("t::Neg(x) => t::Abs(x) if dim(x, 5) == 3", body, "cannot be decided: `x` has no such dimension");
    stays("t::Neg(x) => t::Abs(x) if elem(x) in {float16, int8}", body, "does not hold");
    let constant = "%c = [1.0, 2.0, 3.0]; %b = t::Sub(%x, %c); %b";
    for (condition, holds) in [("c > 0", true), ("c > 1", false), ("finite(c)", true), ("broadcasts(c, x)", true)] {
        let rule = format!("t::Sub(x, const c) => t::Add(x, c) if {condition}");
        if holds { becomes(&rule, constant, "t::Add(") } else { stays(&rule, constant, "does not hold") }
    }
    // A number is rounded to the type of what it is compared with.
    let attribute = "%b = t::Soft(%x, scale = -0.1); %b";
    let constant = "%b = t::Sub(%x, 0.1); %b";
    let holds = [
        ("s", "== -0.1"),
        ("s", ">= -0.1"),
        ("s", "in {0.5, -0.1}"),
        ("c", "== 0.1"),
        ("c", "<= 0.1"),
        ("c", "< 1e300"),
    ];
    let does_not =
        [("s", "!= -0.1"), ("s", "< -0.1"), ("s", "== -0.10001"), ("c", "> 0.1"), ("c", "in {0.5, 0.10001}")];
    for (variable, condition) in holds.into_iter().chain(does_not) {
        let (rule, body) = match variable {
            "s" => (format!("t::Soft{{scale = s}}(x) => t::Abs(x) if s {condition}"), attribute),
            _ => (format!("t::Sub(x, const c) => t::Abs(x) if c {condition}"), constant),
        };
        match holds.contains(&(variable, condition)) {
            true => becomes(&rule, body, "t::Abs(%x)"),
            false => stays(&rule, body, "does not hold"),
        }
    }
    becomes(
        "t::Turn{perm = p}(x) => t::Abs(x) if p != [16777217.0, 0]",
        "%b = t::Turn(%x, perm = [16777216, 0]); %b",
        "t::Abs(%x)",
    );
    let text = "def @main(%x: Tensor[(N, M), float32]) #[opset = {\"t\": 13}] { %b = t::Neg(%x); %b }";
    let declined = |condition: &str| {
        let outcome = try_rules(&[&format!("t::Neg(x) => t::Abs(x) if {condition}")], text).unwrap();
        outcome.declined().join(", ")
    };
    assert_eq!(declined("dim(x, 0) == dim(x, 0)"), "");
    assert!(declined("dim(x, 0) == dim(x, 1)").contains("cannot be decided: a size is not known"));
    assert!(declined("dim(x, 0) > 1").contains("a size is not known"));
}

/// Such conditions are tried before a match is looked for: at the place that the value has in every match.
#[test]
fn a_condition_about_a_type_finds_its_value_in_every_order() {
    let column: &str = "%c: Tensor[(3), float32] = t::Turn(%x); ";
    let add = |args: &str| format!("{column}%a = t::Neg(%c); %b = t::Add({args}); %b");
    for rule in
        ["t::Add(t::Neg(v), w) => t::Sub(w, v) if rank(v) == 1", "t::Add(v, t::Neg(c)) => t::Sub(v, c) if rank(v) == 2"]
    {
        becomes(rule, &add("%a, %x"), "t::Sub(%x, %c)");
        becomes(rule, &add("%x, %a"), "t::Sub(%x, %c)");
    }
    stays("t::Add(t::Neg(v), w) => t::Sub(w, v) if rank(v) == 2", &add("%a, %x"), "does not hold");
    let ty = "Tensor[(2, 3), float32]";
    let sub = format!("{column}%m: {ty} = t::Mul(%c, %x); %b: {ty} = t::Sub(%m, %y); %b");
    becomes("t::Sub(t::Mul(v, w), z) => t::Add(v, z) if rank(v) == 1", &sub, "t::Add(%c, %y)");
    becomes("t::Sub(t::Mul(v, w), z) => t::Add(v, z) if rank(v) == 2", &sub, "t::Add(%x, %y)");
    stays("t::Sub(t::Mul(v, w), z) => t::Add(v, z) if rank(v) == 3", &sub, "does not hold");
    becomes("t::Sub(t::Mul(v, w) as m, z) => t::Add(m, z) if rank(m) == 2, rank(z) == 2", &sub, "t::Add(%m, %y)");
    stays("t::Sub(t::Mul(v, w) as m, z) => t::Add(m, z) if rank(m) == 1", &sub, "does not hold");
    becomes("t::Sub(v, w) as r => t::Add(v, w) if elem(r) == float32", &sub, "t::Add(%m, %y)");
}

#[test]
fn versions_decide_where_a_rule_applies() {
    let body = "%b = t::Neg(%x); %b";
    let (last, declined) = run_in(13, "late: @18 t::Neg(x) => t::Abs(x)", body);
    assert!(last.contains("t::Neg") && declined[0].contains("`late` needs version 18"), "{declined:?}");
    assert!(run_in(18, "@18 t::Neg(x) => t::Abs(x)", body).0.contains("t::Abs"));
    assert!(run_in(13, "t::Neg@14(x) => t::Abs(x)", body).0.contains("t::Neg"));
    assert!(run_in(13, "t::Neg@1..12(x) => t::Abs(x)", body).0.contains("t::Neg"));
    assert!(run_in(13, "t::Neg@1..13(x) => t::Abs(x)", body).0.contains("t::Abs"));
    // An operator that a version does not have cannot be matched in it.
    let (kept, declined) = run_in(13, "late: t::Neg(t::Later(x, x)) => t::Abs(x)", body);
    assert!(kept.contains("t::Neg") && declined[0].contains("`late` matches `t::Later`"), "{declined:?}");
    // No plugin describes the default domain here.
    let (_, declined) = run_in(13, "onnx: Relu(Relu(x)) => Relu(x)", body);
    assert!(declined[0].contains("`onnx` matches `Relu`, which no plugin describes"), "{declined:?}");
    // A later operator is ignored together with its rule.
    assert!(run_in(13, "@20 t::Neg(x) => t::Later(x, x)", body).0.contains("t::Neg"));
    assert!(run_in(20, "@20 t::Neg(x) => t::Later(x, x)", body).0.contains("t::Later"));
}

#[test]
fn like_repeats_a_call() {
    let rule = "t::Neg(t::Soft{..}(x) as s) => like s{axis = 7}(t::Abs(x))";
    let body = "%a = t::Soft(%x, scale = 0.25) #[doc = \"d\"]; %b = t::Neg(%a); %b";
    becomes(rule, body, ", scale = 0.25, axis = 7)");
}

#[test]
fn a_wrong_rule_is_refused_before_the_pass() {
    for (rules, code, expected) in [
        (&["t::Neg(x) => y"][..], "L004", "rules[0]:1:14: `y` is not bound on the left side"),
        (&["t::Neg(x) => x", "t::Nge(x) => x"], "L020", "rules[1]:1:1: no plugin describes an operator `t::Nge`"),
        (&["t::Neg(x, y) => x"], "L021", "`t::Neg` has 2 arguments"),
        (&["t::Sub(x) => x"], "L021", "`t::Sub` has 1 arguments"),
        (&["t::Soft{axs = 1}(x) => x"], "L022", "`t::Soft` has no attribute `axs`"),
        (&["t::Soft{axis = \"a\"}(x) => x"], "L022", "attribute `axis` is of kind `int`"),
        (&["t::Neg(x) => t::Cat(x)"], "L022", "`t::Cat` needs the attribute `axis`"),
        (&["t::Neg(x) => t::Later(x, x)"], "L020", "version 13 of the domain has no operator `t::Later`"),
        (&["t::Random(x) => x"], "L023", "calls of `t::Random` are random or keep state"),
        (&["t::Abs(t::State(x)) => x"], "L023", "calls of `t::State` are random or keep state"),
    ] {
        let error = try_rules(rules, &module("%b = t::Abs(%x); %b", 13)).expect_err(rules[0]);
        assert!(error.rec().code == code && error.rec().message.contains(expected), "{error:?}");
        assert!(!error.rec().help.is_empty());
    }
    let error = try_rules(&["t::Nge(x) => t::Soft{axs = 1}(y)"], &module("%x", 13)).unwrap_err();
    assert!(error.to_string().contains("is not bound"), "{error}");
    let error = try_rules(&["t::Nge(x) => t::Soft{axs = 1}(x)"], &module("%x", 13)).unwrap_err().to_string();
    assert!(error.contains("did you mean `t::Neg`?") && error.contains("did you mean `axis`?"), "{error}");
    let deep = "t::Add(t::Add(t::Add(t::Add(t::Add(t::Add(t::Add(a, b), c), d), e), f), g), h) => a";
    let error = try_rules(&[deep], &module("%x", 13)).unwrap_err();
    assert_eq!(error.rec().code.as_str(), "L024");
}

#[test]
fn rules_that_undo_each_other_are_named() {
    let rules = ["up: t::Neg(x) => t::Abs(x); down: t::Abs(x) => t::Neg(x)"];
    let error = try_rules(&rules, &module("%b = t::Neg(%x); %b", 13)).unwrap_err().to_string();
    assert!(error.contains("still rewriting") && error.contains("`up`") && error.contains("`down`"), "{error}");
}

/// A pass whose rules have functions as conditions.
#[rule_pass(
    name = "pattern.Functions",
    required = [],
    conditions = [is_even, functions::says_all, has_one_use, panics],
    samples(even = "def @main() { () }", other = ["def @main() { () }", ""])
)]
const FUNCTIONS: &str = "
    even: t::Sub(x, const n) => t::Abs(x) if is_even(n);
    other: t::Soft{axis = a}(t::Clip(x, ?lo)) => x if rank(x) == 2, says_all(x, lo, a);
    rest: t::Cat{axis = 3}(..xs) => t::Cat{axis = 4}(..xs) if says_all(xs);
    users: t::Relu(t::Neg(x)!) => t::Relu(x) if has_one_use();
    dead: t::Mul(t::Abs(x), y) => y;
    bad: t::Turn(x) => x if panics(x)
";

/// The argument, and the variable by its name, are the same constant.
fn is_even(found: &Matched<'_>, cx: &RewriteCx<'_>) -> Result<(), Unmet> {
    let n = found.constant(0)?;
    assert!(std::ptr::eq(n, found.constant("n")?) && cx.tensor(found.value("n")?).is_some());
    match n.to_i64() {
        Some(n) if n % 2 == 0 => Ok(()),
        Some(n) => Err(format!("{n} is odd").into()),
        None => Err("it is not an integer".into()),
    }
}

mod functions {
    use super::*;

    /// Declines with everything that the match says about its variables.
    pub(super) fn says_all(found: &Matched<'_>, _: &RewriteCx<'_>) -> Result<(), Unmet> {
        let said = |position: usize| {
            let value = found.value(position).map(|id| found.type_of(position).map(|ty| ty.elem()).map_or(id, |_| id));
            let value = value.map_or_else(|why| why.to_string(), |id| id.to_string());
            let values = found.values(position).map_or_else(|why| why.to_string(), |ids| ids.len().to_string());
            let attr = found.attr(position).map_or_else(|why| why.to_string(), |attr| format!("{attr:?}"));
            let constant = found.constant(position).map_or_else(|why| why.to_string(), |_| "constant".to_owned());
            [value, values, attr, constant].join(", ")
        };
        Err([0, 1, 2].map(said).join("; ").into())
    }
}

fn has_one_use(found: &Matched<'_>, _: &RewriteCx<'_>) -> Result<(), Unmet> {
    match found.n_uses("x")? {
        1 => Ok(()),
        n => Err(format!("it has {n} uses").into()),
    }
}

fn panics(_: &Matched<'_>, _: &RewriteCx<'_>) -> Result<(), Unmet> {
    panic!("a condition of an author")
}

/// Runs the rules with functions over a body; returns the module as text, and the remarks.
fn run_functions(body: &str) -> (String, Vec<String>) {
    let outcome = Trial::of("pattern.Functions").run(&module(body, 13)).unwrap();
    (outcome.text.clone(), outcome.declined().into_iter().map(str::to_owned).collect())
}

#[test]
fn a_function_decides_and_its_reason_is_the_remark() {
    let body = |n: &str| format!("%n = const({n}); %b = t::Sub(%x, %n); %b");
    assert!(run_functions(&body("int64, (), [4]")).0.contains("t::Abs(%x)"));
    let (text, said) = run_functions(&body("int64, (), [5]"));
    assert!(text.contains("t::Sub"), "{text}");
    assert_eq!(said, ["`even`: `is_even(n)` does not hold: 5 is odd"]);
    assert_eq!(run_functions(&body("float32, 0.5")).1, ["`even`: `is_even(n)` does not hold: it is not an integer"]);
}

#[test]
fn a_function_sees_the_variables_of_the_match() {
    let said = |body: &str| run_functions(body).1.join("\n");
    let (x, lo) =
        ("%0, 1, `x` is not an attribute, `x` is not a constant", "`lo` is absent, 0, `lo` is not an attribute");
    let of_other = said("%a = t::Clip(%x); %b = t::Soft(%a, axis = 5); %b");
    let a = "`a` is not one value, `a` is not a value, Int(5), `a` is not one value";
    let x = x.replace("%0", "%2");
    assert_eq!(of_other, format!("`other`: `says_all(x, lo, a)` does not hold: {x}; {lo}, `lo` is absent; {a}"));
    let of_rest = said("%a = t::Cat(%x, %y, %x, axis = 3); %a");
    assert!(of_rest.contains("`xs` is not one value, 3, `xs` is not an attribute"), "{of_rest}");
    assert!(of_rest.contains("the condition has no argument 1"), "{of_rest}");
    // The default in the version of the call.
    assert!(said("%a = t::Clip(%x); %b = t::Soft(%a); %b").contains("Int(-1)"));
}

#[test]
fn uses_by_calls_that_were_replaced_do_not_count_for_a_function() {
    let relu = "%c = t::Neg(%x); %d = t::Relu(%c); %e = t::Add(%b, %d); %e";
    let (text, said) = run_functions(&format!("%a = t::Abs(%x); %b = t::Mul(%a, %y); {relu}"));
    assert!(text.contains("t::Relu(%x)") && text.contains("t::Abs(%x)"), "{text} {said:?}");
    let (text, _) = run_functions(&format!("%a = t::Abs(%x); %b = t::Sub(%a, %y); {relu}"));
    assert!(text.contains("t::Relu(%c)"), "{text}");
    let (text, said) = run_functions("%a = t::Neg(%x); %b = t::Relu(%a); %c = t::Mul(%x, %b); %c");
    assert!(text.contains("t::Relu(%a)"), "{text}");
    assert_eq!(said, ["`users`: `has_one_use()` does not hold: it has 2 uses"]);
}

#[test]
fn a_panic_in_a_function_names_the_call_and_the_rule() {
    let error = Trial::of("pattern.Functions").run(&module("%b = t::Turn(%x); %b", 13)).unwrap_err();
    assert!(error.is_panic(), "{error}");
    let said = error.to_string();
    for expected in ["a condition of an author", "a call of `Turn`", "the condition `panics(x)` of `bad`"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn functions_are_for_rules_in_rust_only() {
    let rule = "t::Sub(x, const n) => x if is_even(n)";
    let error = try_rules(&[rule], &module("%x", 13)).unwrap_err();
    assert!(
        error.rec().code == "L009" && error.rec().message.contains("1:28: there is no function `is_even`"),
        "{error}"
    );
    assert!(error.rec().help.contains("in Rust only"), "{error}");
    let functions = [ConditionFn::new("is_even", is_even)];
    let rules = Rules::parse_with("rules", &[rule], &functions).unwrap();
    assert_eq!(rules.iter().next().unwrap().to_string(), rule);
    let error = Rules::parse_with("rules", &["t::Sub(x, const n) => x if is_evn(n)"], &functions).unwrap_err();
    assert!(error.to_string().contains("did you mean `is_even`?"), "{error}");
    let error = Rules::parse_with("rules", &["t::Neg(x) => x if is_even(y)"], &functions).unwrap_err();
    assert!(error.to_string().contains("`y` is not bound"), "{error}");
    let error = Rules::parse_with("rules", &["t::Neg(x) => x if is_even(x) == 1"], &functions).unwrap_err();
    assert!(error.to_string().contains("it is a condition by itself"), "{error}");
}

#[test]
fn a_result_of_another_type_is_declined() {
    let text = "def @main(%x: Tensor[(2), float32], %y: Tensor[(3, 2), float32]) #[opset = {\"t\": 13}] { %a: Tensor[(3, 2), float32] = t::Add(%x, %y); %b = t::Neg(%a); %b }";
    let outcome = try_rules(&["t::Add(x, y) => t::Abs(x)"], text).unwrap();
    assert!(!outcome.changed && outcome.declined()[0].contains("of another type"), "{:?}", outcome.declined());
}
