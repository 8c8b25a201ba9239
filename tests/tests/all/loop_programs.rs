//! Loop programs from the command line: both levels in one pipeline, instruments that see both, and wrong ones.

use relais::{
    ir::IRModule,
    pass::{PassInfo, PassInstrument},
    registry::{Choices, Linked, Registry},
    transform::{Pass, PassLibrary},
};
use relais_plugin_api::{diagnostics::PassError, ir::FaultCode, options::Value, prim::CoreOp, text};
use relais_tests::cli::{Run, quick_folder, relais, run_text};
use std::{
    fs,
    sync::{Arc, Mutex},
};

/// A graph that calls a loop program. Both have something to do.
const BOTH: &str = r#"def @main(%x: Tensor[(4), float32]) -> (%r: Tensor[(4), float32]) #[opset = {"": 17}] {
  %c = Add(const(float32, 1.0), const(float32, 2.0));
  %y = @scale(%x);
  %r = Mul(%y, %c);
  %r
}

prim @scale(%a: Tensor[(4), float32]) -> (%b: Tensor[(4), float32]) {
  for %i in 0..4 {
    when (%i < 4) {
      %b[%i] = %a[%i] * 2.0;
    }
  }
}
"#;

/// Runs a pipeline of a file over a text.
fn run_pipeline(text: &str, pipeline: &str, arguments: &[&str]) -> (String, Run) {
    let folder = quick_folder();
    let file = folder.path().join("p.toml");
    fs::write(&file, pipeline).unwrap();
    run_text(text, &[&["--pipeline", file.to_str().unwrap()], arguments].concat())
}

fn is_done(text: &str) {
    assert!(text.contains("const(float32, 3.0)"), "{text}");
    for expected in ["%b[0] = %a[0] * 2.0;", "%b[3] = %a[3] * 2.0;"] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(!text.contains("for %i") && !text.contains("when"), "{text}");
}

#[test]
fn vectors_are_made_unless_the_context_says_otherwise() {
    let text = "prim @main(%x: Tensor[(4), float32]) -> (%y: Tensor[(4), float32]) {
  for %i in 0..4 vectorized {
    %y[%i] = %x[%i] + 1.0;
  }
}
";
    let passes = ["--passes", "tir.transform.VectorizeLoop"];
    let (made, said) = run_text(text, &passes);
    said.expect_success();
    assert!(made.contains("load(%x, 0, lanes = 4)"), "{made}");
    let (made, said) = run_text(text, &[&passes[..], &["--set", "tir.disable_vectorize=true"]].concat());
    said.expect_success();
    assert!(made.contains("for %i in 0..4 {"), "{made}");
    // A name that no plugin registered is an error, not an option that nothing reads.
    let (_, said) = run_text(text, &[&passes[..], &["--set", "tir.vectorize_disable=true"]].concat());
    assert!(said.stderr.contains("no option `tir.vectorize_disable` is registered"), "{said:?}");
}

#[test]
fn a_pipeline_goes_through_both_levels() {
    let steps = "steps = [\"FoldConstant\", \"Simplify\", \"UnrollLoop\"]";
    let config = "config = { \"tir.UnrollLoop\" = { auto_max_step = 16 } }\n";
    let (text, said) = run_pipeline(BOTH, &format!("{config}{steps}"), &["--instrument", "ir-size"]);
    let said = said.expect_success();
    is_done(&text);
    // The instrument counts the nodes of both.
    assert!(said.stderr.contains("Simplify") || said.stdout.contains("Simplify"), "{said:?}");
    // The same from the command line, one pass after the other.
    let passes = ["--passes", "FoldConstant,Simplify,UnrollLoop"];
    let (text, said) = run_text(BOTH, &[&passes[..], &["--set", "tir.UnrollLoop={ auto_max_step = 16 }"]].concat());
    said.expect_success();
    is_done(&text);
    // Without the option, loops stay.
    let (text, said) = run_text(BOTH, &passes);
    said.expect_success();
    assert!(text.contains("for %i in 0..4 {"), "{text}");
}

/// Writes down after which pass the text of which level is another one.
#[derive(Default)]
struct Levels {
    seen: Mutex<Vec<String>>,
    before: Mutex<[String; 2]>,
}

impl Levels {
    fn texts(module: &IRModule) -> [String; 2] {
        let text = text::print(module, &Default::default());
        let (graph, program) = text.split_once("\n\n").unwrap();
        [graph.to_owned(), program.to_owned()]
    }
}

impl PassInstrument for Levels {
    fn name(&self) -> &str {
        "levels"
    }

    fn before(&self, module: &IRModule, _: &PassInfo<'_>) -> Result<(), PassError> {
        *self.before.lock().unwrap() = Self::texts(module);
        Ok(())
    }

    fn after(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        let (before, after) = (self.before.lock().unwrap(), Self::texts(module));
        for (level, changed) in ["graph", "loops"].into_iter().zip(before.iter().zip(&after)) {
            if changed.0 != changed.1 {
                self.seen.lock().unwrap().push(format!("{} {level}", pass.name));
            }
        }
        Ok(())
    }
}

/// As TVM's documentation has it: a context with the struct of `tir.UnrollLoop`, a sequence, and an instrument.
#[test]
fn a_sequence_of_a_program_that_embeds_the_host_goes_through_both_levels() {
    let registry = Registry::new(Default::default(), Linked::Include, &Choices::new());
    let library = PassLibrary::new(&registry);
    let levels = Arc::new(Levels::default());
    let fields = [("auto_max_step", Value::Int(16)), ("explicit_unroll", Value::Bool(true))];
    let unroll = Value::Struct(fields.map(|(name, value)| (name.to_owned(), value)).into());
    let context = library.context().opt_level(3).config("tir.UnrollLoop", unroll).instrument(levels.clone());
    let context = Arc::new(context.build().unwrap());
    let passes = ["relax.transform.FoldConstant", "tir.transform.Simplify", "tir.transform.UnrollLoop"];
    let sequence = Pass::sequence("both", passes.map(|name| library.get_pass(name).unwrap()));
    let module = text::parse_str(BOTH).unwrap();
    let made = context.scope(|_| sequence.run(&library, &module).unwrap()).unwrap();
    is_done(&text::print(&made, &Default::default()));
    // The sequence is seen, too, and types are inferred before.
    let mut seen = levels.seen.lock().unwrap().clone();
    seen.retain(|it| it.starts_with("relais.") && !it.starts_with("relais.InferType"));
    assert_eq!(seen, ["relais.FoldConstant graph", "relais.Simplify loops", "relais.UnrollLoop loops"]);
}

/// TVM marks both loops, as the product of their turns is 0 in 32 bits; with 0 steps it marks none.
#[test]
fn loops_that_tvm_unrolls_by_an_overflow_are_named() {
    let text = include_str!("../../filetests/UnrollLoop/overflow.relay");
    for steps in ["70000", "0"] {
        let text = text.replace("auto_unroll_max_step = 70000", &format!("auto_unroll_max_step = {steps}"));
        let (_, said) = run_text(&text, &["--passes", "UnrollLoop", "--remarks=missed"]);
        let said = said.expect_success().stderr;
        let remark = "missed: `relais.UnrollLoop`: the loop stays: it takes 4294967296 steps; TVM counts in 32 bits";
        let is_named = said.contains(remark);
        assert_eq!(is_named, steps == "70000", "{said}");
    }
    let (_, said) = run_text(BOTH, &["--passes", "UnrollLoop,Simplify", "--remarks=missed"]);
    assert!(!said.stderr.contains("missed: "), "{said:?}");
}

/// One remark for a function, however many operations there are.
#[test]
fn identities_of_real_numbers_are_named() {
    let text = include_str!("../../filetests/Simplify/floats_stay.relay");
    let (_, said) = run_text(text, &["--passes", "Simplify", "--remarks=missed"]);
    let said = said.expect_success().stderr;
    let start =
        "missed: `relais.Simplify`: it stays, and so do 2 more in this function: with real numbers it would be 0";
    assert!(said.contains(start) && said.contains("at: %a = %v * 0.0"), "{said}");
    assert_eq!(said.matches("missed: ").count(), 1, "{said}");
}

#[test]
fn graph_pipelines_leave_loop_programs_alone() {
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let (text, said) = run_text(BOTH, &[level]);
        said.expect_success();
        let program = BOTH.split_once("\n\n").unwrap().1;
        assert!(text.contains(program.trim_end()), "{text}");
        // The call has the type of the output.
        assert!(text.contains("@scale(%x)") && !text.contains("%y: Tensor[*"), "{text}");
    }
}

#[test]
fn printing_shows_loop_programs_and_what_changed_in_them() {
    let (_, said) = run_text(BOTH, &["--passes", "Simplify", "--print-changed"]);
    let said = said.expect_success();
    let shown = format!("{}{}", said.stdout, said.stderr);
    assert!(shown.contains("// changed by `relais.Simplify`") && shown.contains("prim @scale("), "{shown}");
    assert!(!shown.contains("def @main"), "{shown}");
    let (_, said) = run_text(BOTH, &["--passes", "Simplify", "--print-after", "Simplify"]);
    let said = said.expect_success();
    let shown = format!("{}{}", said.stdout, said.stderr);
    assert!(shown.contains("prim @scale(%a: Tensor[(4), float32]) -> (%b: Tensor[(4), float32]) {"), "{shown}");
}

#[test]
fn onnx_has_no_loop_programs() {
    let folder = quick_folder();
    let [input, output] = ["in.relay", "out.onnx"].map(|name| folder.path().join(name));
    fs::write(&input, BOTH).unwrap();
    let said = relais(["run", input.to_str().unwrap(), "-o", output.to_str().unwrap()]).expect_failure();
    assert!(said.stderr.contains("`scale`: ONNX cannot express a prim func"), "{}", said.stderr);
    assert!(!output.exists());
}

#[test]
fn wrong_programs_are_found_before_anything_runs() {
    for (body, code) in [
        ("%b[0, 0] = 1.0;", "V203"),
        ("%a[0] = 1.0;", "V205"),
        ("%b[0] = 1i64;", "V204"),
        ("%b[0] = Relu(%a);", "V201"),
        ("%v = %a + 1.0;", "V202"),
    ] {
        let text = format!("prim @k(%a: Tensor[(4), float32]) -> (%b: Tensor[(4), float32]) {{ {body} }}");
        let (out, said) = run_text(&text, &["--passes", "RemoveNoOp", "--verify-each"]);
        let said = said.expect_failure();
        assert!(said.stderr.contains(code), "{body}: {}", said.stderr);
        assert!(out.is_empty(), "{out}");
    }
}

#[test]
fn the_page_has_every_operator_and_fault() {
    let page = include_str!("../../../docs/loop-programs.md");
    let rows: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| `")).collect();
    for op in CoreOp::ALL {
        let is_row = |row: &&&str| row.split(['(', '`']).next() == Some(op.name());
        assert_eq!(rows.iter().filter(is_row).count(), 1, "`{}`", op.name());
    }
    let faults: Vec<&str> = page.lines().filter(|line| line.starts_with("| V2")).collect();
    assert_eq!(faults.len(), 13);
    assert!(faults[12].starts_with(&format!("| {} |", FaultCode::PrimType.as_str())));
}
