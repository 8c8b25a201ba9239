//! Models that `relais build` cannot build: all reasons at once, with the names of nodes, and nothing is written.

use crate::build::{build, c_files};
use relais_plugin_api::ir::ElemType;
use relais_tests::cli::folder;
use std::fmt::Write as _;

/// The errors of a build that writes nothing, in order, without the last one, which names the pass.
fn errors(name: &str, model: &str, args: &[&str]) -> Vec<String> {
    let folder = folder(name);
    let said = build(&folder, model, &[&["-o", "net.c"], args].concat()).expect_failure().stderr;
    assert!(said.contains("nothing was written"), "{said}");
    assert!(c_files(&folder).is_empty(), "{:?}", c_files(&folder));
    let mut parts: Vec<String> =
        said.split("\nerror").map(|part| part.trim_start_matches("error").to_owned()).collect();
    let last = parts.pop().unwrap_or_default();
    assert!(last.contains(" failed for this reason"), "{said}");
    parts
}

/// Each error begins with a text and contains another one.
fn check(errors: &[String], expected: &[(&str, &str)]) {
    assert_eq!(errors.len(), expected.len(), "{errors:#?}");
    for (error, (start, part)) in errors.iter().zip(expected) {
        assert!(error.starts_with(start) && error.contains(part), "{start}\n{part}\n{error}");
    }
}

/// Nothing is known of sizes, operators, elements and control flow, in one model.
const MODEL: &str = r#"def @main(%x: Tensor[(N, 4), float32], %y: Tensor[(2, 4), float32], %c: Tensor[(), bool], %h: Tensor[(4), float16], %s: Tensor[(3), string], %z: Tensor[(3), complex64]) #[opset = {"": 17}] {
  %a = Relu(%x) #[name = "first"];
  %b = Exp(%a) #[name = "second"];
  %d = acme::Unheard(%y) #[name = "third"];
  %e = acme::Unheard(%x);
  %f = Relu(%h) #[name = "half"];
  %g = if (%c) { %t = Neg(%y); %t } else { %u = Abs(%x); %u };
  (%b, %d, %e, %f, %g, %s, %z)
}
"#;

#[test]
fn all_reasons_come_at_once() {
    check(
        &errors("unbuildable-all", MODEL, &[]),
        &[
            (
                "[K001]: 3 calls have no loop programs, as the sizes of their arguments are not known: `first` (Relu), \
                 `second` (Exp) and `u` (Abs)\n",
                "help: fix the sizes of the inputs, with what you need in the place of 1 for `N`: `--input-shape \"x:1,4\"`",
            ),
            (
                "[K001]: `Unheard` has no loop program: the operator has no kernels\n  at @main",
                "note: the same holds for `e` (Unheard)\n",
            ),
            ("[K002]: the input `s` has elements of the type string, which loop programs do not handle", "at @main"),
            ("[K002]: the input `z` has elements of the type complex64, which loop programs do not handle", "at @main"),
            ("[K002]: `If` is not a loop program", "at @main"),
            ("[K006]: elements of the type float16 cannot be written in the end: `half` (Relu) have them", "at @main"),
        ],
    );
    let said = errors("unbuildable-all", MODEL, &[]).concat();
    assert!(!said.contains("keep"), "{said}");
}

#[test]
fn an_unknown_element_type_is_no_type_of_its_own() {
    let model = "def @main(%x: Tensor[(2), ?]) -> (%y) #[opset = {\"\": 17}] {\n  %y = Neg(%x);\n  %y\n}\n";
    let all = errors("unbuildable-unknown", model, &[]);
    let input = "[K002]: the type of the elements of the input `x` is not known\n";
    assert!(all.iter().any(|error| error.starts_with(input)) && !all.concat().contains("type ?"), "{all:#?}");
}

/// With the sizes that the help names, what is left is reported.
#[test]
fn sizes_are_fixed_as_the_help_says() {
    let model = r#"def @main(%x: Tensor[(N, 4), float32], %y: Tensor[(N, ?, 4), float32], %z: Tensor[*, float32]) #[opset = {"": 17}] {
  %a = Relu(%x);
  %b = Exp(%y);
  %c = Exp(%z);
  (%a, %b, %c)
}
"#;
    let all = errors("unbuildable-sizes", model, &[]);
    let help = "fix the sizes of the inputs, with what you need in the place of 1 for `N`: \
                `--input-shape \"x:1,4\" --input-shape \"y:1,1,4\" --input-shape \"z:DIMENSIONS\"`";
    check(&all, &[("[K001]: 3 calls have no loop programs", help)]);
    let shapes = ["--input-shape", "x:1,4", "--input-shape", "y:1,1,4", "--input-shape", "z:2"];
    build(&folder("unbuildable-fixed"), model, &[&["-o", "net.c"][..], &shapes].concat()).expect_success();
}

/// A model of a thousand calls with an open size is one error.
#[test]
fn a_thousand_calls_are_one_error() {
    let mut model =
        "def @main(%x: Tensor[(N, 4), float32]) -> (%v1000) #[opset = {\"\": 17}] {\n  %v0 = Exp(%x);\n".to_owned();
    for at in 0..1000 {
        writeln!(model, "  %v{} = {}(%v{at});", at + 1, ["Exp", "Tanh"][at % 2]).unwrap();
    }
    model += "  %v1000\n}\n";
    let all = errors("unbuildable-thousand", &model, &[]);
    let start = "[K001]: 1001 calls have no loop programs, as the sizes of their arguments are not known: `v0` (Exp), \
                 `v1` (Exp), `v2` (Tanh), `v3` (Exp) and 997 more\n";
    check(&all, &[(start, "--input-shape \"x:1,4\"")]);
}

/// Inputs of main decide no size here.
#[test]
fn sizes_that_depend_on_data_are_named() {
    let model = r#"def @main(%x: Tensor[(2, 4), float32]) #[opset = {"": 17}] {
  %n = NonZero(%x) #[name = "where"];
  %m = Neg(%n);
  %m
}
"#;
    check(
        &errors("unbuildable-data", model, &[]),
        &[
            (
                "[K001]: `Neg` has no loop program: the sizes of its argument 0 are not all known",
                "help: the inputs have fixed sizes; what is not known comes from `where` (NonZero)",
            ),
            ("[K001]: `NonZero` has no loop program: the operator has no kernels", "help: let a pass make other calls"),
        ],
    );
}

/// The line of a call with two thousand arguments is cut.
#[test]
fn lines_are_short() {
    let mut model = "def @main(%x: Tensor[(N), float32]) -> (%y) #[opset = {\"\": 17}] {\n  %y = Concat(%x".to_owned();
    model += &", %x".repeat(1999);
    model += ", axis = 0) #[name = \"all of them\"];\n  %y\n}\n";
    let all = errors("unbuildable-wide", &model, &[]);
    check(&all, &[("[K001]: `Concat` has no loop program: ", "…x, %x, %x")]);
    assert!(all[0].len() < 1000 && all[0].contains("axis = 0) #[name = \"all of them\"]\n"), "{}", all[0]);
}

/// A group with a call that has no loop program names the node of the model.
#[test]
fn a_node_of_a_group_is_named() {
    let model = r#"def @main(%x: Tensor[(4), float32], %s: Tensor[(4), string], %t: Tensor[(4), string]) #[opset = {"": 19}] {
  %e = Equal(%s, %t) #[name = "the same?"];
  %n = Not(%e);
  %y = Relu(%x);
  (%n, %y)
}
"#;
    let passes = ["--passes", "InferType,FuseOps,LowerOps,LowerMain"];
    let all = errors("unbuildable-group", model, &passes);
    check(
        &all,
        &[
            (
                "[K001]: `Equal` has no loop program: its argument 0 has elements of the type string",
                "#[name = \"the same?\"]",
            ),
            ("[K002]: the input `s` has elements of the type string", ""),
            ("[K002]: the input `t` has elements of the type string", ""),
        ],
    );
}

/// The state of a recurrent network is on the stack. That of weights without elements may have any size.
#[test]
fn states_that_do_not_fit_the_stack_are_refused() {
    let model = |hidden: u64| {
        format!(
            r#"def @main(%x: Tensor[(2, 1, 3), float32], %w: Tensor[(0, {hidden}, 3), float32], %r: Tensor[(0, {hidden}, {hidden}), float32]) #[opset = {{"": 14}}] {{
  (_, %h) = RNN(%x, %w, %r, hidden_size = {hidden}) -> 2;
  %h
}}
"#
        )
    };
    for (hidden, expected) in [
        ((1 << 16) + 1, "its state takes too much of the stack"),
        (1 << 62, "its argument 1 has more elements than can be counted"),
    ] {
        let all = errors("unbuildable-state", &model(hidden), &[]);
        assert!(all[0].starts_with(&format!("[K001]: `RNN` has no loop program: {expected}")), "{all:#?}");
    }
}

/// Each alone: what the passes after `LowerOps` report themselves.
#[test]
fn conditionals_and_foreign_numbers_are_refused() {
    let conditional = r#"def @main(%x: Tensor[(4), float32], %c: Tensor[(), bool]) #[opset = {"": 17}] {
  %y = if (%c) { %a = Relu(%x); %a } else { %b = Neg(%x); %b };
  %y
}
"#;
    let half = r#"def @main(%x: Tensor[(4), float16], %z: Tensor[(4), bfloat16]) #[opset = {"": 17}] {
  %a = Relu(%x) #[name = "first"];
  %y = Exp(%a) #[name = "second"];
  %w = Relu(%z);
  (%y, %w)
}
"#;
    let halves = [
        ("[C005]: C has no numbers of the type bfloat16, which there are in `w`, `z`", "at @"),
        ("[C005]: C has no numbers of the type float16, which there are in `first, second`, `x`, `y`", "at @"),
    ];
    let text = r#"def @main(%x: Tensor[(4), string]) #[opset = {"": 17}] { %x }"#;
    let both = conditional
        .replace("(%x: ", "(%h: Tensor[(4), float16], %x: ")
        .replace("  %y\n", "  %g = Relu(%h) #[name = \"half\"];\n  (%y, %g)\n");
    for (model, expected) in [
        (conditional, &[("[K002]: `If` is not a loop program", "conditionals of graphs")][..]),
        (half, &halves),
        (text, &[("[K002]: the input `x` has elements of the type string, which loop programs do not handle", "")]),
        (
            &both,
            &[
                ("[K002]: `If` is not a loop program", ""),
                ("[K006]: elements of the type float16 cannot be written in the end: `half` (Relu_1) have them", ""),
            ],
        ),
    ] {
        check(&errors("unbuildable-foreign", model, &[]), expected);
    }
}

/// The elements that the pipeline says can be written are those that are.
#[test]
fn the_pipeline_knows_which_elements_are_written() {
    let pipeline = include_str!("../../../pipelines/build-c.toml");
    let lists: Vec<&str> = pipeline.split("elements = [").skip(1).filter_map(|rest| rest.split(']').next()).collect();
    assert_eq!(lists.len(), 2);
    let numbers = ElemType::ALL.iter().copied().filter(|elem| elem.is_scalar());
    for name in numbers.filter_map(ElemType::name) {
        let model = format!(
            "prim @main(%x: Tensor[(2), {name}]) -> (%y: Tensor[(2), {name}]) {{\n  %y[0] = %x[0];\n  %y[1] = %x[1];\n}}\n"
        );
        let run = build(&folder("unbuildable-elements"), &model, &["-o", "net.c", "--passes", "PlanMemory,EmitC"]);
        for list in &lists {
            let is_listed = list.split(", ").any(|known| known == format!("\"{name}\""));
            assert_eq!(is_listed, run.status == Some(0), "{name}\n{}", run.stderr);
        }
    }
}
