//! Nodes that no pass may remove or change: `--keep`.

use relais_tests::cli::run_text as run;

const MODEL: &str = "def @main(%x: Tensor[(2, 4), float32], %b: Tensor[(), bool]) #[opset = {\"\": 17, \"acme\": 1}] {
  %a = Identity(%x) #[name = \"first\"];
  %c = Identity(%a) #[name = \"second\"];
  %k = const(float32, 2.0);
  %l = Neg(%k);
  %m = Neg(%k);
  %s = Split(%c, axis = 1) -> 2 #[name = \"halves\"];
  %p = %s[0];
  %q = %s[1];
  %d = Add(%p, %l);
  %e = Add(%q, %m);
  %f = if (%b) { %g = Identity(%d) #[name = \"inner\"]; %g } else { %e };
  %y = Relu(%f);
  %y
}
";

#[test]
fn nothing_is_kept_unless_it_is_named() {
    let (text, said) = run(MODEL, &[]);
    said.expect_success();
    assert!(!text.contains("Identity") && !text.contains("Neg"), "{text}");
}

#[test]
fn a_node_that_is_named_stays_as_it_was() {
    let (text, said) = run(MODEL, &["--keep", "second,inner", "--check"]);
    said.expect_success();
    assert!(text.contains("%c: Tensor[(2, 4), float32] = Identity(%x) #[name = \"second\"]"), "{text}");
    assert!(text.contains("%g: Tensor[(2, 2), float32] = Identity(%d) #[name = \"inner\"]"), "{text}");
    assert!(!text.contains("first") && !text.contains("Neg") && !text.contains("kept"), "{text}");
    assert!(text.contains("opset = {\"\": 17, \"acme\": 1}"), "{text}");
    // Types behind them are inferred as without them.
    assert!(text.contains("%y: Tensor[(2, 2), float32] = Relu(%f)"), "{text}");
}

#[test]
fn a_value_names_the_node_that_computes_it() {
    let (text, said) = run(MODEL, &["--keep", "l", "--keep", "q"]);
    said.expect_success();
    // `m` is the same, but is not kept.
    assert!(text.contains("%l: Tensor[(), float32] = Neg(%k)"), "{text}");
    assert_eq!(text.matches("Neg").count(), 1, "{text}");
    assert!(text.contains("= Split("), "{text}");
}

#[test]
fn a_name_that_a_nested_graph_has_too_is_that_of_the_model_itself() {
    let branch = "if (%b) { %y = const(float32, 3.0); %h = Add(%d, %y); %h } else { %e }";
    let model = MODEL.replace("if (%b) { %g = Identity(%d) #[name = \"inner\"]; %g } else { %e }", branch);
    let (text, said) = run(&model.replace("Relu(%f)", "Identity(%f)"), &["--keep", "y"]);
    said.expect_success();
    assert!(text.contains("%y: Tensor[(2, 2), float32] = Identity(%f)"), "{text}");
}

#[test]
fn a_node_that_nothing_uses_stays() {
    let unused = MODEL.replace("%y = Relu", "%u = acme::Count(%f) #[name = \"probe\"];\n  %v = Abs(%f);\n  %y = Relu");
    let (text, said) = run(&unused, &["--keep", "v,probe", "--infer-shapes"]);
    said.expect_success();
    assert!(text.contains("%v: Tensor[(2, 2), float32] = Abs(%f)") && text.contains("acme::Count(%f)"), "{text}");
}

#[test]
fn a_node_in_a_branch_that_is_never_run_goes_with_it_and_that_is_said() {
    let constant = MODEL.replace("%f = if (%b)", "%t = const(bool, false);\n  %f = if (%t)");
    let (text, said) = run(&constant, &["--keep", "inner,second"]);
    let stderr = said.expect_success().stderr;
    assert!(text.contains("second") && !text.contains("inner"), "{text}");
    assert!(stderr.contains("1 of the 2 nodes to keep are gone"), "{stderr}");
    let (_, said) = run(MODEL, &["--keep", "inner,second"]);
    assert!(!said.expect_success().stderr.contains("to keep"));
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let other = "def @main(%x) #[opset = {\"\": 17}] { %1 = relais.kept::Neg(%x); %2 = Abs(%1); %2 }";
    for (model, name, expected) in [
        (MODEL, "secon", "the model has no node or value `secon` to keep"),
        (MODEL, "secon", "did you mean `second`?"),
        (MODEL, "x", "the model has no node or value `x` to keep"),
        (MODEL, "k", "`k` cannot be kept: it is a constant"),
        (MODEL, "f", "`f` cannot be kept: it is a conditional"),
        (other, "2", "the model has operators of the domain `relais.kept`"),
    ] {
        let (text, said) = run(model, &["--keep", name]);
        let stderr = said.expect_failure().stderr;
        assert!(stderr.contains(expected), "{expected}\n{stderr}");
        assert!(text.is_empty(), "{text}");
    }
}

#[test]
fn what_a_model_calls_in_that_domain_stays_without_the_argument() {
    let model = "def @main(%x) #[opset = {\"\": 17, \"relais.kept\": 17}] { %1 = relais.kept::Neg(%x); %1 }";
    let (text, said) = run(model, &[]);
    said.expect_success();
    assert!(text.contains("relais.kept::Neg"), "{text}");
}
