//! Parts of models as models of their own: `--inputs` and `--outputs`.

use relais_tests::cli::{Run, quick_folder, relais};
use std::fs;

/// Runs nothing over a part of a model, and returns the result with what was said.
fn part(model: &str, arguments: &[&str]) -> (String, Run) {
    let folder = quick_folder();
    let [input, output] = ["in.relay", "out.relay"].map(|name| folder.path().join(name));
    fs::write(&input, model).unwrap();
    let run = ["run", input.to_str().unwrap(), "-o", output.to_str().unwrap(), "-O0"];
    let said = relais(run.iter().chain(arguments));
    (fs::read_to_string(&output).unwrap_or_default(), said)
}

/// The part, without what stands around it.
fn lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("%") || line.starts_with("def"));
    lines.map(|line| line.split(" #[").next().unwrap().to_owned() + "\n").collect()
}

#[test]
fn sizes_that_the_contents_of_a_new_input_fixed_are_open() {
    let model = "def @main(%x: Tensor[(N, 4), float32]) -> (%y) #[opset = {\"\": 17}, ir_version = 9,
        output_types = [type(Tensor[(2, 2), float32])], value_info = [\"r\", \"v\"],
        value_info_types = [type(Tensor[(2, 2), float32]), type(Tensor[(N, 4), float32])]] {
        %s = const(int64, [2, 2]);
        %r: Tensor[(2, 2), float32] = Reshape(%x, %s);
        %n = Shape(%r);
        %v = Neg(%x);
        %u: Tensor[(N, 4), float32] = Reshape(%v, %n);
        %y = Relu(%r);
        %y
    }";
    let (text, said) = part(model, &["--inputs", "x,s"]);
    assert_eq!(
        lines(&text),
        "def @main(%x: Tensor[(N, 4), float32], %s: Tensor[(2), int64]) -> (%y)\n\
         %r: Tensor[(?, ?), float32] = Reshape(%x, %s);\n\
         %y: Tensor[(?, ?), float32] = Relu(%r);\n%y\n"
    );
    assert!(text.contains("output_types = [type(Tensor[(?, ?), float32])]"), "{text}");
    assert!(text.contains("value_info_types = [type(Tensor[(?, ?), float32])"), "{text}");
    let stderr = said.expect_success().stderr;
    assert!(stderr.contains("the inputs were `x` and are `x` (`Tensor[(N, 4), float32]`), `s` (`"), "{stderr}");
    assert!(stderr.contains("output `y` was `Tensor[(2, 2), float32]` and is `Tensor[(?, ?), float32]`"), "{stderr}");
    // Names of sizes that may have come from the contents are not believed, either.
    let (text, said) = part(model, &["--inputs", "x,n", "--outputs", "u"]);
    said.expect_success();
    assert!(text.contains("%u: Tensor[(?, ?), float32] = Reshape(%v, %n)"), "{text}");
    // Nothing is opened where the types alone tell.
    let (text, said) = part(model, &["--inputs", "r"]);
    let stderr = said.expect_success().stderr;
    assert!(text.contains("%y: Tensor[(2, 2), float32] = Relu(%r)") && !stderr.contains("output"), "{text}{stderr}");
}

#[test]
fn a_call_that_stays_keeps_all_of_its_results() {
    let model = "def @main(%x: Tensor[(N, 4), float32]) #[opset = {\"\": 17}] {
        %p = Split(%x, axis = 1) -> 2; %a = %p[0]; %b = %p[1]; %q = Concat(%a, %b, %b, axis = 1); %q
    }";
    let (text, said) = part(model, &["--inputs", "a,x"]);
    said.expect_success();
    let body = lines(&text);
    assert!(body.starts_with("def @main(%a: Tensor[(N, 2), float32], %x: Tensor[(N, 4), float32])"), "{body}");
    assert!(body.matches("%p[").count() == 2 && body.contains("= Concat(%a, %b, %b, axis = 1)"), "{body}");
    let (text, said) = part(model, &["--inputs", "b,a"]);
    said.expect_success();
    assert!(lines(&text).starts_with("def @main(%b: ") && !text.contains("Split"), "{text}");
}

#[test]
fn what_nested_graphs_use_is_needed_and_replaced() {
    let model = "def @half(%v) #[opset = {\"\": 17}] { %h = Neg(%v); %h }
        def @whole(%v) #[opset = {\"\": 17}] { %w = @half(%v); %w }
        def @main(%x: Tensor[(4), float32], %c: Tensor[(), bool], %d: Tensor[(4), float32] = const(float32, [1.0, 2.0, 3.0, 4.0])) #[opset = {\"\": 17}] {
        %e = Exp(%x);
        %f = Abs(%d);
        %g = @whole(%x);
        %k = if (%c) { %l = if (%c) { %e } else { %m = Add(%e, %f); %m }; %l } else { %e };
        (%k, %g) }";
    let (text, said) = part(model, &["--outputs", "k", "--inputs", "e,c"]);
    said.expect_success();
    assert_eq!(
        lines(&text),
        "def @main(%e: Tensor[(4), float32], %c: Tensor[(), bool], %d: Tensor[(4), float32] = const(float32, [1.0, 2.0, 3.0, 4.0])) -> (%k)\n\
         %f: Tensor[(4), float32] = Abs(%d);\n\
         %k: Tensor[(4), float32] = if (%c) {\n\
         %l: Tensor[(4), float32] = if (%c) {\n%e\n\
         %m: Tensor[(4), float32] = Add(%e, %f);\n%m\n%l\n%e\n%k\n"
    );
    // Functions stay as long as something calls them.
    let (text, said) = part(model, &["--outputs", "g"]);
    assert!(!said.expect_failure().stderr.contains("panicked") && text.is_empty());
    let (text, said) = part(&model.replace("%g = @whole", "%g: Tensor[(4), float32] = @whole"), &["--outputs", "g"]);
    said.expect_success();
    assert!(text.contains("@half(") && !text.contains("Exp"), "{text}");
}

#[test]
fn a_new_input_takes_its_name_from_values_of_nested_graphs() {
    let model = "def @main(%x: Tensor[(4), float32], %c: Tensor[(), bool]) #[opset = {\"\": 17}] {
        %k = if (%c) { %e = Neg(%x); %f = Abs(%e); %f } else { %x };
        %e = Exp(%k);
        %y = Add(%e, %k);
        %y
    }";
    let (text, said) = part(model, &["--inputs", "e,x,c"]);
    said.expect_success();
    let body = lines(&text);
    assert!(body.starts_with("def @main(%e: Tensor[(4), float32], %x"), "{body}");
    assert!(!body.contains("%e = Neg(%x)") && body.contains("%y: Tensor[(4), float32] = Add(%e, %k)"), "{body}");
}

#[test]
fn ranks_of_new_inputs_and_outputs_are_known() {
    let model = "def @main(%x: Tensor[(4), float32], %s: Tensor[(?), int64]) #[opset = {\"\": 17}] {
        %r: Tensor[*, float32] = Reshape(%x, %s);
        %y = Relu(%r);
        %z = Flatten(%y);
        %z
    }";
    for (arguments, expected) in [
        (["--inputs", "r"], "the value `r` cannot be an input: how many dimensions it has is not known"),
        (["--inputs", "r"], "state them, as in `--input-shape r:?,3`"),
        (["--outputs", "y"], "the value `y` cannot be an output: how many dimensions it has is not known"),
    ] {
        let (text, said) = part(model, &arguments);
        let stderr = said.expect_failure().stderr;
        assert!(stderr.contains(expected) && text.is_empty(), "{stderr}");
    }
    let (text, said) = part(model, &["--inputs", "r", "--input-shape", "r:?,3"]);
    said.expect_success();
    assert!(lines(&text).starts_with("def @main(%r: Tensor[(?, 3), float32]) -> (%z)\n"), "{text}");
}
