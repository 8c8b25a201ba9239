//! Nothing is believed: results of type relations, evaluators, rewrites and passes are checked, and an untrue one is
//! reported with its plugin (`docs/checks.md`).

use relais_tests::{
    cargo_built::plugin,
    golden::{Golden, Transcript, Workshop},
};
use std::{path::PathBuf, sync::LazyLock};

static PLUGIN: LazyLock<PathBuf> = LazyLock::new(|| plugin("untrue"));

const TWO: &str = "def @main(%x: Tensor[(2, 3), float32], %z: Tensor[(2, 3), float32]) #[opset = {\"\": 17}] {
  %a = Sub(%x, %z);
  %b = Sub(%a, %z);
  %c = Exp(%b);
  %c
}
";

fn workshop(model: &str) -> Workshop {
    let here = Workshop::new();
    here.write("model.relay", model);
    std::fs::copy(&*PLUGIN, here.path("untrue.so")).expect("the plugin can be copied");
    here
}

/// Runs a pipeline that must fail, and see to it that nothing is written and the input is as it was.
fn fails(here: &Workshop, pipeline: &str) -> Transcript {
    here.write("pipeline.toml", pipeline);
    let before = std::fs::read(here.path("model.relay")).expect("the model is there");
    let arguments = ["-o", "out.relay", "-p", "pipeline.toml", "--plugin", "untrue.so", "--no-reproducer"];
    let said = here.fails(&[&["run", "-q", "model.relay"], &arguments[..]].concat());
    assert!(!here.path("out.relay").exists(), "{said:?}");
    assert_eq!(std::fs::read(here.path("model.relay")).expect("the model is there"), before);
    said
}

fn runs(here: &Workshop, pipeline: &str) -> String {
    here.write("pipeline.toml", pipeline);
    let arguments = ["-o", "out.relay", "-p", "pipeline.toml", "--plugin", "untrue.so"];
    let said = here.run(&[&["run", "-q", "model.relay"], &arguments[..]].concat());
    assert_eq!(said.status, "status 0", "{said:?}");
    std::fs::read_to_string(here.path("out.relay")).expect("the output is there")
}

fn call_of(op: &str) -> String {
    format!(
        "def @main(%x: Tensor[(2), float32]) #[opset = {{\"\": 17, \"untrue\": 1}}] {{
  %c = const(float32, [1.0, 2.0]);
  %y = untrue::{op}(%c);
  %z = Add(%x, %y);
  %z
}}
"
    )
}

#[test]
fn c01_what_a_type_relation_says_is_checked_and_its_plugin_is_named() {
    let mut golden = Golden::new("untrue-relations");
    for op in ["BadId", "ManyTypes", "Symbol", "BadValue", "Panics"] {
        let here = workshop(&call_of(op));
        // The pass that asks, and the host that types the changes of another pass.
        for (case, steps) in [("pass", "[\"InferType\"]"), ("host", "[\"ToANormalForm\"]")] {
            let said = fails(&here, &format!("opt_level = 3\nsteps = {steps}\n"));
            assert!(said.stderr.contains("of plugin `untrue 0.6.6`"), "{op}, {case}: {}", said.stderr);
            golden.check(&format!("{op}-{case}"), &portable(&said));
        }
        let mut skip = String::from("opt_level = 3\non_failure = \"skip\"\n");
        skip.push_str("steps = [\"InferType\"]\n");
        let kept = runs(&here, &skip);
        assert!(kept.contains(op), "{kept}");
    }
    golden.finish();
}

#[test]
fn c02_what_an_evaluator_gives_is_held_against_the_inferred_type() {
    let mut golden = Golden::new("untrue-evaluators");
    for op in ["EvalElem", "EvalShape", "EvalCount", "EvalPanics"] {
        let said = fails(&workshop(&call_of(op)), "opt_level = 3\nsteps = [\"InferType\", \"FoldConstant\"]\n");
        assert!(said.stderr.contains("the evaluator of `untrue::"), "{op}: {}", said.stderr);
        assert!(said.stderr.contains("of plugin `untrue 0.6.6`"), "{op}: {}", said.stderr);
        golden.check(op, &portable(&said));
    }
    golden.finish();
    let folded = runs(&workshop(&call_of("Honest")), "opt_level = 3\nsteps = [\"InferType\", \"FoldConstant\"]\n");
    assert!(!folded.contains("Honest"), "{folded}");
}

fn rewrite(gives: &str) -> String {
    let step = format!("{{ pass = \"untrue.Rewrite\", options = {{ gives = \"{gives}\" }} }}");
    format!("opt_level = 3\nsteps = [\"InferType\", {step}]\n")
}

#[test]
fn c03_ids_that_a_rewrite_gives_are_its_own_or_visible() {
    refuses("untrue-ids", &["stale_id", "no_argument", "later"]);
}

#[test]
fn c04_what_takes_the_place_of_a_value_does_not_contradict_it() {
    refuses("untrue-replacements", &["other_shape", "other_elem"]);
}

fn function_pass(gives: &str) -> String {
    let step = format!("{{ pass = \"untrue.Function\", options = {{ gives = \"{gives}\" }} }}");
    format!("opt_level = 3\nsteps = [\"InferType\", {step}]\n")
}

#[test]
fn c04_what_a_function_pass_puts_in_the_place_of_a_value_does_not_contradict_it() {
    let said = fails(&workshop(TWO), &function_pass("other_shape"));
    let guilty = "error[R002]: pass `untrue.Function` of plugin `untrue` 0.6.6 failed: ";
    assert!(said.stderr.contains(guilty), "{said:?}");
    assert!(said.stderr.contains("a call of `Sub`: rank 1 is not rank 2"), "{said:?}");
    let new = runs(&workshop(TWO), &function_pass("same_type"));
    assert!(new.contains("Exp(%b)") && !new.contains("Sub"), "{new}");
}

#[test]
fn c05_calls_that_a_rewrite_makes_fit_their_operators() {
    refuses("untrue-calls", &["many_arguments", "unknown_attribute", "attribute_kind", "types"]);
}

#[test]
fn c05_calls_that_a_rewrite_makes_satisfy_the_verifiers_of_their_operators() {
    refuses("untrue-verified", &["no_groups"]);
    let long = fails(&workshop(TWO), &rewrite("verify_long"));
    assert!(long.stderr.contains("bytes more)") && long.stderr.len() < 20_000, "{long:?}");
    let new = runs(&workshop(TWO), &rewrite("two_groups"));
    assert!(new.contains("untrue::Groups(%a, groups = 2)") && !new.contains("groups = 0"), "{new}");
}

#[test]
fn c13_a_verifier_that_fails_is_a_failure_of_its_plugin() {
    let mut golden = Golden::new("untrue-verifiers");
    let here = workshop(TWO);
    for gives in ["verify_panics", "verify_kind"] {
        let said = fails(&here, &rewrite(gives));
        assert!(said.stderr.contains("the verifier of `untrue::Verify"), "{gives}: {}", said.stderr);
        assert!(said.stderr.contains("of plugin `untrue 0.6.6`"), "{gives}: {}", said.stderr);
        golden.check(gives, &portable(&said));
    }
    let said = fails(&here, &breaks("verifier_panics", false));
    assert!(said.stderr.contains("the verifier of `untrue::VerifyPanics`, of plugin `untrue 0.6.6`"), "{said:?}");
    golden.finish();
}

#[test]
fn c13_a_body_that_is_made_for_a_call_is_checked_and_its_plugin_is_named() {
    let mut golden = Golden::new("untrue-bodies");
    for op in ["BodyText", "BodyCount", "BodyLong", "BodyPanics"] {
        let here = workshop(&call_of(op));
        let inline = format!("{{ pass = \"Inline\", options = {{ operators = [\"untrue::{op}\"] }} }}");
        for (case, steps) in [("inlined", inline.as_str()), ("folded", "\"InferType\", \"FoldConstant\"")] {
            let said = fails(&here, &format!("opt_level = 3\nsteps = [{steps}]\n"));
            let guilty = format!("the body of `untrue::{op}`, of plugin `untrue 0.6.6`, is at fault");
            assert!(said.stderr.contains(&guilty), "{op}, {case}: {}", said.stderr);
            golden.check(&format!("{op}-{case}"), &portable(&said));
        }
    }
    golden.finish();
}

#[test]
fn c13_what_a_body_computes_is_of_the_type_that_the_type_relation_infers() {
    let said = fails(&workshop(&call_of("BodyType")), "opt_level = 3\nsteps = [\"InferType\", \"FoldConstant\"]\n");
    let guilty = "the body of `untrue::BodyType`, of plugin `untrue 0.6.6`, is at fault";
    assert!(said.stderr.contains(guilty) && said.stderr.contains("elements of type `int64`"), "{said:?}");
}

#[test]
fn c06_a_name_that_a_closed_domain_does_not_have_is_refused() {
    refuses("untrue-names", &["typo"]);
}

fn refuses(topic: &str, cases: &[&str]) {
    let mut golden = Golden::new(topic);
    let here = workshop(TWO);
    for gives in cases {
        let said = fails(&here, &rewrite(gives));
        assert!(said.stderr.contains("pass `untrue.Rewrite` of plugin `untrue` 0.6.6 failed"), "{gives}: {said:?}");
        golden.check(gives, &portable(&said));
    }
    golden.finish();
}

#[test]
fn a_rewrite_that_gives_what_it_may_is_taken() {
    let new = runs(&workshop(TWO), &rewrite("right"));
    assert!(new.contains("Neg(%z)") && !new.contains("Sub"), "{new}");
}

#[test]
fn c10_a_call_of_another_domain_brings_its_import() {
    let new = runs(&workshop(TWO), &rewrite("other_domain"));
    assert!(new.contains("untrue::Honest(%x)") && new.contains("\"untrue\": 1"), "{new}");
}

/// A fault that the program had before is not the pass's.
#[test]
fn c05_a_fault_of_the_same_kind_that_was_there_is_not_the_rewrites() {
    let model = "def @main(%x: Tensor[(2, 3), float32], %z: Tensor[(2, 3), float32]) #[opset = {\"\": 17}] {
  %s = Softmax(%x, axes = 0);
  %a = Sub(%s, %z);
  %a
}
";
    let new = runs(&workshop(model), &rewrite("unknown_attribute"));
    assert_eq!(new.matches("Softmax").count(), 2, "{new}");
}

fn breaks(what: &str, asked: bool) -> String {
    let step = format!("{{ pass = \"untrue.Module\", options = {{ breaks = \"{what}\", asked = {asked} }} }}");
    format!("opt_level = 3\nsteps = [\"InferType\", {step}]\n")
}

#[test]
fn c05_calls_that_a_pass_makes_by_hand_are_checked_afterwards() {
    let said = fails(&workshop(TWO), &breaks("attribute", false));
    assert!(said.stderr.contains("it has no attribute `alpha`"), "{said:?}");
    let said = fails(&workshop(TWO), &breaks("verifier", false));
    assert!(said.stderr.contains("error[M013]") && said.stderr.contains("attribute `groups` is -1"), "{said:?}");
}

const CALLER: &str = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {
  %y = @helper(%x, %x);
  %y
}

def @helper(%a: Tensor[(2), float32], %b: Tensor[(2), float32]) #[opset = {\"\": 17}] {
  %c = Add(%a, %b);
  %c
}
";

const CALLER_OF_TWO: &str = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {
  (%y, %z) = @helper(%x, %x);
  (%y, %z)
}

def @helper(%a: Tensor[(2), float32], %b: Tensor[(2), float32]) #[opset = {\"\": 17}] {
  %c = Add(%a, %b);
  %d = Sub(%a, %b);
  (%c, %d)
}
";

#[test]
fn c07_a_function_that_is_called_keeps_what_its_callers_give() {
    for (model, what, wrong) in [
        (CALLER, "signature", "it has 2 arguments for 1 parameters"),
        (CALLER_OF_TWO, "fewer_results", "2 results are taken of 1"),
        (CALLER, "other_param_type", "argument 0: elements of type `float32` are not of type `int64`"),
    ] {
        let said = fails(&workshop(model), &breaks(what, false));
        let guilty = "error[M010]: pass `untrue.Module` of plugin `untrue` 0.6.6 failed: ";
        let wrong = format!("{guilty}it leaves a call of `@helper` that is wrong: {wrong}");
        assert!(said.stderr.contains(&wrong), "{what}: {said:?}");
    }
}

/// ONNX lets callers omit trailing arguments.
#[test]
fn c07_a_function_that_is_called_may_get_a_parameter_that_no_caller_gives() {
    let new = runs(&workshop(CALLER), &breaks("more_params", false));
    assert!(new.contains("%more: Tensor[(2), float32]") && new.contains("@helper(%x, %x)"), "{new}");
}

#[test]
fn c08_the_interface_of_the_program_stays() {
    let mut golden = Golden::new("untrue-interface");
    for what in ["input_name", "input_shape", "more_inputs", "many_outputs", "output_type"] {
        let said = fails(&workshop(TWO), &breaks(what, false));
        assert!(said.stderr.contains("it changes the interface of the program"), "{what}: {said:?}");
        golden.check(what, &portable(&said));
    }
    golden.finish();
}

#[test]
fn c08_a_pass_that_says_so_and_is_asked_may_change_the_interface() {
    let new = runs(&workshop(TWO), &breaks("input_name", true));
    assert!(new.contains("%renamed"), "{new}");
    // One that always may needs no option.
    let new = runs(&workshop(TWO), "steps = [\"untrue.Renames\"]");
    assert!(new.contains("%renamed"), "{new}");
}

/// The message without the parts that differ from build to build.
fn portable(said: &Transcript) -> String {
    let lines = said.golden();
    lines.lines().filter(|line| !line.starts_with("thread '")).map(|line| format!("{line}\n")).collect()
}
