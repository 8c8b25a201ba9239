//! Sizes of inputs, and what a model declares about values that depend on them.

use relais_tests::cli::{Run, quick_folder, relais};
use std::{fs, path::Path};

/// A model of one input `x`, whose value `r` is declared with a batch of 1.
fn model(batch: &str, body: &str) -> String {
    format!(
        "def @main(%x: Tensor[({batch}, 3, 4), float32]) -> (%y) #[opset = {{\"\": 17}}, ir_version = 9, \
         output_types = [type(Tensor[(1, 12), float32])], value_info = [\"r\"], \
         value_info_types = [type(Tensor[(1, 3, 4), float32])]] {{\n{body}  %y\n}}\n"
    )
}

/// The result has as many rows as `r`, which a pass may take for 1.
const ROWS: &str = "  %zero = const(int64, [0]);
  %rest = const(int64, [-1]);
  %r: Tensor[(1, 3, 4), float32] = Relu(%x);
  %s = Shape(%r);
  %b = Gather(%s, %zero);
  %t = Concat(%b, %rest, axis = 0);
  %y: Tensor[(1, 12), float32] = Reshape(%r, %t);
";

const FIXED: &str = "  %r: Tensor[(1, 3, 4), float32] = Relu(%x);
  %t = const(int64, [1, 12]);
  %y: Tensor[(1, 12), float32] = Reshape(%r, %t);
";

/// Runs passes over a model, and returns the result with what was said.
fn run(model: &str, passes: &str, arguments: &[&str]) -> (String, Run) {
    let folder = quick_folder();
    let [input, output] = ["in.relay", "out.relay"].map(|name| folder.path().join(name));
    fs::write(&input, model).unwrap();
    let [from, to] = [&input, &output].map(|path: &std::path::PathBuf| path.to_str().unwrap());
    let said = relais(["run", from, "-o", to, "--passes", passes].iter().chain(arguments));
    (fs::read_to_string(Path::new(to)).unwrap_or_default(), said)
}

const FOLDED: &str = "InferType,SimplifyReshape,FoldConstant,DeadCodeElimination";

#[test]
fn a_declared_size_that_an_input_leaves_open_is_not_used() {
    for batch in ["N", "?"] {
        let (text, said) = run(&model(batch, ROWS), FOLDED, &[]);
        let said = said.expect_success();
        assert!(said.stderr.contains("the model fixes sizes of `r` and of one more value"), "{}", said.stderr);
        assert!(!text.contains("[1, -1]") && !text.contains("[1, 12]"), "{text}");
        assert!(text.contains(&format!("value_info_types = [type(Tensor[({batch}, 3, 4), float32])]")), "{text}");
        // The interface stays.
        assert!(text.contains("output_types = [type(Tensor[(1, 12), float32])]"), "{text}");
    }
}

#[test]
fn a_declared_size_is_used_where_the_model_does_not_tell_better() {
    // The input's batch is fixed.
    let (text, said) = run(&model("1", ROWS), FOLDED, &[]);
    assert!(!said.expect_success().stderr.contains("warning"));
    assert!(text.contains("const(int64, [1, 12])"), "{text}");
    // Nothing says how the sizes of the result follow from those of the argument.
    let body = ROWS.replace("Relu(%x)", "acme::Pool(%x)");
    let (text, said) = run(&model("N", &body).replace("17}", "17, \"acme\": 1}"), FOLDED, &[]);
    assert!(!said.expect_success().stderr.contains("fixes sizes"));
    assert!(text.contains("const(int64, [1, 12])"), "{text}");
}

#[test]
fn another_input_shape_renews_what_the_model_declares() {
    for (shape, rows, declared) in
        [("x:4,3,4", "4", "[4, 12]"), ("x:B,3,4", "B", "[-1, 12]"), ("x:?,3,4", "?", "[0, -1]")]
    {
        let (text, said) = run(&model("1", ROWS), FOLDED, &["--input-shape", shape]);
        let said = said.expect_success();
        let note = format!("output `y` was `Tensor[(1, 12), float32]` and is `Tensor[({rows}, ");
        assert!(said.stderr.contains(&note), "{}", said.stderr);
        assert!(text.contains(&format!("value_info_types = [type(Tensor[({rows}, 3, 4), float32])]")), "{text}");
        assert!(text.contains(declared), "{text}");
    }
    // A more precise shape invalidates nothing.
    let (_, said) = run(&model("N", ROWS).replace("(1, 3, 4)", "(N, 3, 4)"), FOLDED, &["--input-shape", "x:1,3,4"]);
    assert!(!said.expect_success().stderr.contains("note"));
}

#[test]
fn a_size_that_the_model_fixes_cannot_be_changed() {
    for (shape, why) in [
        ("x:2,3,4", "with these input shapes, the call `%y: Tensor[(?, ?), float32] = Reshape(%r, %t)` is invalid"),
        ("x:B,3,4", "the model fixes a size of input `x`: with twice the size, the call"),
        ("x:?,3,4", "the model fixes a size of input `x`: with twice the size, the call"),
    ] {
        let (text, said) = run(&model("1", FIXED), "InferType", &["--input-shape", shape]);
        let said = said.expect_failure();
        assert!(said.stderr.contains(why), "{}", said.stderr);
        assert!(text.is_empty());
    }
}

#[test]
fn values_of_a_body_depend_on_what_it_captures() {
    let body = "  %n = const(int64, 3);
  %c = const(bool, true);
  %r: Tensor[(1, 3, 4), float32] = Relu(%x);
  %t = const(int64, [-1, 12]);
  %f: Tensor[(1, 12), float32] = Reshape(%r, %t);
  %y: Tensor[(1, 12), float32] = Loop(%n, %c, %f, body = fn(%i: Tensor[(), int64], %k: Tensor[(), bool], %v: Tensor[(1, 12), float32]) {
    %w: Tensor[(1, 12), float32] = Add(%v, %f);
    (%k, %w)
  });
";
    let (text, said) = run(&model("1", body), "InferType", &["--input-shape", "x:4,3,4"]);
    said.expect_success();
    assert!(!text.contains("Tensor[(1, 12)") && !text.contains("(1, 3, 4)"), "{text}");
}
