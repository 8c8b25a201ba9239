//! Rewrites and rules for loop programs, on modules as text.

use relais_plugin_api::{
    ir::Imm,
    pattern::{self, Matched, Rules, Unmet},
    prelude::*,
    prim::CoreOp,
    testing::{Outcome, Trial},
};

/// A prim func whose loop has this body.
fn prim(body: &str) -> String {
    format!(
        "def @main(%x: Tensor[(8), float32]) {{ %a = Neg(%x); Neg(%a) }}
        prim @k(%x: Tensor[(8), float32], %n: Tensor[(8), int64]) -> (%y: Tensor[(8), float32]) {{
            for %i in 0..8 {{ {body} }}
        }}"
    )
}

fn run(pass: &str, body: &str) -> Outcome {
    Trial::of(pass).run(&prim(body)).unwrap()
}

fn error(pass: &str, body: &str) -> String {
    Trial::of(pass).run(&prim(body)).unwrap_err().to_string()
}

/// Makes sums of products with two.
#[rewrite_pass(name = "p.Twice", level = "prim", ops = ["tir::mul"])]
fn twice(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let is_two = |id: NodeId| cx.number_of(id).and_then(Imm::as_float) == Some(2.0);
    match call.args() {
        &[x, two] if is_two(two) => Rewrite::Replace(cx.op(CoreOp::Add, &[x, x])),
        _ => Rewrite::decline("the second factor is not two"),
    }
}

#[test]
fn a_rewrite_is_offered_the_calls_of_its_operators_in_loop_programs() {
    let outcome = run("p.Twice", "%a = %x[%i] * 2.0; %y[%i] = sqrt(%a) * 3.0;");
    assert!(outcome.text.contains("sqrt(%a) * 3.0") && !outcome.text.contains("* 2.0"), "{}", outcome.text);
    assert!(outcome.text.contains("Neg("), "the graph stays");
    assert_eq!((outcome.counts["rewritten"], outcome.declined()), (1, vec!["the second factor is not two"]));
    let vector = "store(%y, load(%x, 0, lanes = 4) * broadcast(2.0, lanes = 4), 0);";
    assert!(!run("p.Twice", vector).text.contains("broadcast"), "what is not used any more is removed");
}

/// Says what it is offered.
#[rewrite_pass(name = "p.All", level = "prim")]
fn all(call: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::decline(call.op_name().to_owned())
}

#[test]
fn a_rewrite_without_operators_is_offered_what_computes_values() {
    let body = "%b = alloc float32[4]; when (%i < 4) { %b[%i] = %x[%i]; }
        %s = for %j in 0..4 with %acc = 0.0 { %acc + %b[%j] };
        %l = if (%s < 1.0) { exp(%s) } else { %s };
        %y[%i] = %l;";
    assert_eq!(run("p.All", body).declined(), ["lt", "add", "lt", "exp"]);
}

/// Options of [`bad`].
#[derive(PassOptions)]
struct Bad {
    /// The call that it makes.
    what: String,
}

/// Makes a call that it must not make.
#[rewrite_pass(name = "p.Bad", level = "prim", ops = ["tir::exp"])]
fn bad(call: CallView<'_>, cx: &mut RewriteCx<'_>, options: &Bad) -> Rewrite {
    let x = call.args()[0];
    let memory = cx.function().params()[0];
    let other = |op: CoreOp| {
        cx.function().all_bindings().find(|&id| cx.call_of_op(id, &format!("tir::{}", op.name())).is_some())
    };
    Rewrite::Replace(match options.what.as_str() {
        "store" => cx.op(CoreOp::Store, &[memory, x, x]),
        "load" => cx.op(CoreOp::Load, &[memory, x]),
        "graph" => cx.call("Relu", &[x]),
        "type" => cx.op(CoreOp::Lt, &[x, x]),
        "operand" => cx.op(CoreOp::And, &[x, x]),
        "constant" => {
            let constant = cx.constant(Tensor::from_f32(&[], &[1.0]));
            cx.op(CoreOp::Add, &[x, constant])
        }
        "region" => other(CoreOp::Sin).unwrap(),
        "number" => cx.number(Imm::float(ElemType::FLOAT, 1.0).unwrap(), x),
        _ => cx.number(Imm::index(1), x),
    })
}

fn bad_error(what: &str) -> String {
    let body = "for %j in 0..4 { %s = sin(%x[%j]); %y[%j] = %s; } %y[%i] = exp(%x[%i]);";
    let trial = Trial::of("p.Bad").option("what", Value::Str(what.into()));
    match trial.run(&prim(body)) {
        Ok(outcome) => outcome.text,
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_a_rewrite_must_not_make_is_named() {
    for (what, expected) in [
        ("store", "it makes a call of `tir::store` that is wrong: it is a statement or uses memory"),
        ("load", "it makes a call of `tir::load` that is wrong: it is a statement or uses memory"),
        ("graph", "it makes a call of `Relu` that is wrong: loop programs have no such operator"),
        ("type", "a call of `exp`: elements of type `bool` are not of type `float32`"),
        ("operand", "it makes a call of `tir::and` that is wrong: its input 0 (`a`) has elements of type float32"),
        ("constant", "it makes a call of `tir::add` that is wrong: its argument 1 is neither a scalar nor a vector"),
        ("region", "which is not visible at the call"),
        ("other number", "cannot take the place of"),
    ] {
        let said = bad_error(what);
        assert!(said.contains(expected), "{what}: {said}");
    }
    assert!(bad_error("number").contains("%y[%i] = 1.0;"), "{}", bad_error("number"));
}

/// Rules for loop programs.
#[rule_pass(name = "p.Rules", conditions = [is_power_of_two])]
const RULES: &str = "
    negneg: tir::neg(tir::neg(x)) => x;
    shift: tir::mul(x, const c) => tir::shl(x, 1) if elem(x) == int64, c == 2;
    exact: tir::div(x, const c) => tir::mul(x, 0.25) if is_power_of_two(c), c == 4.0
";

fn is_power_of_two(found: &Matched<'_>, _: &RewriteCx<'_>) -> Result<(), Unmet> {
    let number = found.number(0)?.as_float().ok_or("it is not a float")?;
    if number.log2().fract() == 0.0 { Ok(()) } else { Err(format!("{number} is not a power of two").into()) }
}

#[test]
fn rules_of_loop_programs_make_a_pass() {
    let outcome = run("p.Rules", "%y[%n[%i] * 2] = neg(neg(%x[%i])) / 4.0 + %x[%i] / 3.0;");
    assert!(outcome.text.contains("%y[%n[%i] << 1] = %x[%i] * 0.25 + %x[%i] / 3.0;"), "{}", outcome.text);
    assert!(outcome.text.contains("Neg("), "the graph stays");
    let expected = [
        "`shift`: `elem(x) == int64` does not hold",
        "`exact`: `is_power_of_two(c)` does not hold: 3 is not a power of two",
    ];
    assert_eq!(outcome.declined(), expected);
}

/// Rules in a file, of which the compiler sees nothing.
#[rule_pass(name = "p.File", level = "prim")]
const FILE: &str = concat!("tir::neg(tir::", "neg(x)) => x");

/// The same without the level.
#[rule_pass(name = "p.NoLevel", required = [])]
const NO_LEVEL: &str = concat!("tir::neg(tir::", "neg(x)) => x");

/// Of the other level.
#[rule_pass(name = "p.OtherLevel", level = "prim")]
const OTHER_LEVEL: &str = concat!("Neg(", "Neg(x)) => x");

#[test]
fn the_level_of_rules_that_the_compiler_does_not_see_is_checked_before_they_run() {
    assert!(run("p.File", "%y[%i] = neg(neg(%x[%i]));").text.contains("%y[%i] = %x[%i];"));
    let said = error("p.NoLevel", "%y[%i] = neg(neg(%x[%i]));");
    assert!(said.contains("rules:1:1: the rule is for loop programs, by its operator `tir::neg`"), "{said}");
    let said = error("p.OtherLevel", "%y[%i] = neg(neg(%x[%i]));");
    assert!(
        said.contains("the rule is for graphs, by its operator `Neg`, and this pass is for loop programs"),
        "{said}"
    );
}

/// Options of [`made`].
#[derive(PassOptions)]
struct Made {
    /// The rules.
    rules: Vec<String>,
}

/// Applies rules to all loop programs.
#[prim_func_pass(name = "p.Made", statistics(rewritten = "calls replaced"))]
fn made(edit: &mut Editor, cx: &PassCx<'_>, options: &Made) -> Result<(), PassError> {
    pattern::apply(edit, cx, &Rules::parse("rules", &options.rules)?).map(|_| ())
}

/// The code and the message of the error.
fn made_error(rule: &str) -> (String, String) {
    let rules = Value::List(vec![Value::Str(rule.into())]);
    let trial = Trial::of("p.Made").option("rules", rules);
    let error = trial.run(&prim("%y[%i] = exp(%x[%i]);")).unwrap_err();
    (error.rec().code.to_string(), error.to_string())
}

#[test]
fn rules_that_are_not_about_values_are_refused() {
    for (rule, code, expected) in [
        ("tir::load(x, i) => x", "L023", "`tir::load` is not an operation on values"),
        ("tir::store(b, x, i) => x", "L023", "`tir::store` is not an operation on values"),
        ("tir::alloc() => 1", "L023", "`tir::alloc` is not an operation on values"),
        ("tir::for(a, b) => a", "L023", "`tir::for` is not an operation on values"),
        ("tir::exp(tir::load(b, i)) => b", "L023", "`tir::load` is not an operation on values"),
        ("tir::exp(x) => tir::load(x, 0)", "L023", "`tir::load` is not an operation on values"),
        ("tir::exq(x) => x", "L020", "loop programs have no operator `tir::exq`"),
        ("tir::exp(x, y) => x", "L021", "it takes at most 1"),
        ("tir::exp{base = 2}(x) => x", "L022", "`tir::exp` has no attribute `base`"),
        ("tir::cast(x) => tir::cast{elem = 1}(x)", "L022", "attribute `elem` is of kind"),
        ("tir::exp(Log(x)) => x", "L012", "`Log` is an operator of graphs, in a rule for loop programs"),
        ("tir::exp(x) => Exp(x)", "L012", "`Exp` is an operator of graphs, in a rule for loop programs"),
        ("@13 tir::exp(x) => x", "L012", "`@13` is a version of ONNX"),
        ("tir::exp@2(x) => x", "L012", "`tir::exp` has no versions"),
        ("tir::add(x, [1, 2]) => x", "L012", "a list is not a value of loop programs"),
        ("tir::add(const a, const b) => eval(tir::add(a, b))", "L012", "`eval` computes tensors"),
        ("Exp(x) => x", "L012", "this pass is for loop programs"),
    ] {
        let (found, said) = made_error(rule);
        assert!(said.contains(expected) && found == code, "{rule}: {found} {said}");
    }
}
