//! `relais run --check`: outputs are compared with their models before they are put in place.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, files, folder},
    golden::{Golden, Workshop},
    venv::{models, program},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Cursor, Write},
    path::Path,
};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// A dense layer and a pair of transpositions, in batches of any size.
const MODEL: &str = r#"def @main(%x: Tensor[(N, 3), float32], %y: Tensor[(N, M), float32]) -> (%sum, %more) #[opset = {"": 17}] {
  %w = const(float32, [[1.0, 2.0], [0.5, -1.0], [-2.0, 0.25]]);
  %b = const(float32, [0.5, -0.5]);
  %product = MatMul(%x, %w);
  %biased = Add(%product, %b);
  %positive = Relu(%biased);
  %sum = ReduceSum(%positive) #[keepdims = 0];
  %twice = Transpose(%y) #[perm = [1, 0]];
  %once = Transpose(%twice) #[perm = [1, 0]];
  %more = Neg(%once);
  (%sum, %more)
}
"#;

/// Passes of which one is the liar's.
fn passes(lie: &str) -> String {
    format!("SimplifyTranspose,DeadCodeElimination,{lie},EliminateCommonSubexpr,FoldConstant")
}

/// Runs a model through the passes with a check.
fn check(here: &Path, model: &str, output: &str, args: &[&str]) -> Run {
    let mut relais = command();
    let temporary = here.join("temporary");
    if temporary.is_dir() {
        relais.env("TMPDIR", &temporary);
    }
    relais.current_dir(here).args(["run", model, "-o", output, "--allow-writable-plugins"]).args(args);
    Run::of(relais.arg("--plugin").arg(plugin("liar")))
}

fn report(here: &Path) -> Value {
    let text = fs::read_to_string(here.join("report.json")).unwrap();
    fs::remove_file(here.join("report.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn an_output_that_computes_the_same_is_written() {
    let here = folder("checked-good");
    fs::write(here.join("model.relay"), MODEL).unwrap();
    let plain = check(&here, "model.relay", "plain.onnx", &[]).expect_success();
    assert!(!plain.stdout.contains("checked"), "{}", plain.stdout);
    for (model, output) in [("model.relay", "out.onnx"), ("plain.onnx", "out.relay")] {
        let run = check(&here, model, output, &["--check", "--report", "report.json"]).expect_success();
        assert!(
            run.stdout.lines().any(|line| line.starts_with("checked") && line.contains("9 runs")),
            "{}",
            run.stdout
        );
        let check = &report(&here)["check"];
        assert_eq!((&check["passed"], &check["with"]), (&json!(true), &json!("relais")), "{check}");
        let shapes: Vec<&Value> = check["runs"].as_array().unwrap().iter().map(|run| &run["shapes"]).collect();
        let (even, odd) = (json!({"x": [2, 3], "y": [2, 5]}), json!({"x": [3, 3], "y": [3, 6]}));
        assert_eq!(shapes[..3], [&even, &odd, &even], "{check}");
        // Without a value, with one, and with many: for each size that is open.
        assert_eq!(shapes[3..5], [&json!({"x": [0, 3], "y": [0, 5]}), &json!({"x": [1, 3], "y": [1, 5]})], "{check}");
    }
    assert_eq!(fs::read(here.join("plain.onnx")).unwrap(), fs::read(here.join("out.onnx")).unwrap());
    let run =
        check(&here, "model.relay", "out.onnx", &["--check=1", "--input-shape", "x:7,3", "--report", "report.json"]);
    run.expect_success();
    assert_eq!(report(&here)["check"]["runs"][0]["shapes"], json!({"y": [2, 5]}));
    let unchecked = check(&here, "model.relay", "out.onnx", &["--report", "report.json"]);
    unchecked.expect_success();
    assert_eq!(report(&here)["check"], Value::Null);
}

/// The message with what depends on the machine left out.
fn said(run: Run) -> String {
    let version = env!("CARGO_PKG_VERSION");
    run.expect_failure().stderr.replace(&format!("`liar {version}`"), "`liar <version>`")
}

#[test]
fn an_output_that_differs_is_kept_apart_and_the_pass_is_named() {
    let mut golden = Golden::new("checked");
    for (lie, name) in [("liar.DropsRelu", "pass_wrong"), ("liar.Spoils", "weight_spoilt")] {
        let here = folder(&format!("checked-{name}"));
        fs::write(here.join("model.relay"), MODEL).unwrap();
        check(&here, "model.relay", "model.onnx", &["-O0"]).expect_success();
        fs::write(here.join("out.onnx"), "precious").unwrap();
        let passes = passes(lie);
        let args = ["--passes", &passes, "--check", "--report", "report.json"];
        golden.check(name, &said(check(&here, "model.onnx", "out.onnx", &args)));
        assert_eq!(fs::read(here.join("out.onnx")).unwrap(), b"precious");
        assert_eq!(files(&here), ["model.onnx", "model.relay", "out.onnx", "out.onnx.failed", "report.json"]);
        assert_eq!(files(&here.join("out.onnx.failed")), ["inputs.npz", "out.onnx"]);
        let check_of = |report: Value| report["check"].clone();
        let told = check_of(report(&here));
        assert_eq!((&told["passed"], &told["culprit"]["pass"]), (&json!(false), &json!(lie)), "{told}");
        assert_eq!(told["difference"]["output"], "output `sum`", "{told}");

        // The inputs show the difference again, and what is kept is the output that failed.
        let again = ["--passes", &passes, "--check-inputs", "out.onnx.failed/inputs.npz"];
        let text = check(&here, "model.onnx", "again.onnx", &again).expect_failure().stderr;
        assert!(text.contains("with the inputs in `out.onnx.failed/inputs.npz`") && text.contains(lie), "{text}");
        let same = ["-O0", "--check-inputs", "out.onnx.failed/inputs.npz"];
        check(&here, "out.onnx.failed/out.onnx", "same.onnx", &same).expect_success();

        // Bounds that are large enough allow it.
        let bounds = ["--passes", &passes, "--check", "--check-rtol", "1e6"];
        check(&here, "model.onnx", "loose.onnx", &bounds).expect_success();
        assert!(!here.join("loose.onnx.failed").exists());
    }
    let here = folder("checked-stream");
    fs::write(here.join("model.relay"), MODEL).unwrap();
    let run = check(&here, "model.relay", "-", &["--passes", "liar.DropsRelu", "--check"]).expect_failure();
    assert!(run.stdout.is_empty() && run.stderr.contains("nothing was written"), "{}{}", run.stdout, run.stderr);
    assert_eq!(files(&here), ["model.relay"]);
    golden.finish();
}

/// An archive of arrays, with their descriptions as NumPy writes them.
fn npz(compression: CompressionMethod, arrays: &[(&str, &str, &str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, descr, shape, data) in arrays {
        let options = SimpleFileOptions::default().compression_method(compression);
        archive.start_file(format!("{name}.npy"), options).unwrap();
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let len = u16::try_from(header.len()).unwrap().to_le_bytes();
        archive.write_all(&[b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), data].concat()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn inputs_may_be_given() {
    let here = folder("checked-inputs");
    fs::write(here.join("model.relay"), MODEL).unwrap();
    let (x, y) = (floats(&[1.0, 2.0, 3.0]), floats(&[1.0; 4]));
    for (at, compression) in [CompressionMethod::Stored, CompressionMethod::Deflated].into_iter().enumerate() {
        let arrays = [("y", "<f4", "(1, 4)", &y[..]), ("x", "<f4", "(1, 3)", &x[..])];
        fs::write(here.join(format!("{at}.npz")), npz(compression, &arrays)).unwrap();
    }
    let runs = |args: &[&str]| {
        let args = [&["--report", "report.json", "--check-inputs", "0.npz"], args].concat();
        check(&here, "model.relay", "out.onnx", &args).expect_success();
        let told = report(&here);
        let runs: Vec<Value> =
            told["check"]["runs"].as_array().unwrap().iter().map(|run| run["inputs"].clone()).collect();
        runs
    };
    assert_eq!(runs(&[]), ["0.npz"]);
    assert_eq!(runs(&["--check-inputs", "1.npz"]), ["0.npz", "1.npz"]);
    assert_eq!(runs(&["--check=2"])[..3], [json!("0.npz"), Value::Null, Value::Null]);
}

#[test]
fn errors_say_what_is_wrong_and_what_helps() {
    let mut golden = Golden::new("check-errors");
    let shop = Workshop::new();
    shop.write("model.relay", MODEL);
    shop.write(
        "foreign.relay",
        r#"def @main(%x: Tensor[(2), float32]) #[opset = {"": 17, "acme": 1}] {
  %1 = acme::Foo(%x);
  %2 = acme::Foo(%1);
  %3: Tensor[(2), float32] = RandomNormalLike(%2);
  %3
}
"#,
    );
    shop.write("text.relay", r#"def @main(%x: Seq[Tensor[(2), int64]]) #[opset = {"": 17}] { %x }"#);
    shop.write("not.npz", "x = 1");
    let (x, y) = (floats(&[1.0, 2.0, 3.0]), floats(&[1.0; 4]));
    let (good_x, good_y) = (("x", "<f4", "(1, 3)", &x[..]), ("y", "<f4", "(1, 4)", &y[..]));
    let stored = |name: &str, arrays: &[(&str, &str, &str, &[u8])]| {
        shop.write(name, npz(CompressionMethod::Stored, arrays));
    };
    stored("missing.npz", &[good_x]);
    stored("unknown.npz", &[good_x, good_y, ("z", "<f4", "()", &[0; 4])]);
    stored("type.npz", &[("x", "<i4", "(1, 3)", &x), good_y]);
    stored("shape.npz", &[("x", "<f4", "(3, 1)", &x), good_y]);
    stored("rank.npz", &[("x", "<f4", "(3,)", &x), good_y]);
    stored("symbol.npz", &[good_x, ("y", "<f4", "(2, 2)", &y)]);
    stored("objects.npz", &[("x", "|O", "(1, 3)", &x), good_y]);
    stored("short.npz", &[("x", "<f4", "(1, 3)", &x[..11]), good_y]);
    let whole = npz(CompressionMethod::Stored, &[good_x, good_y]);
    let data = whole.windows(x.len()).position(|bytes| bytes == x).unwrap();
    shop.write("damaged.npz", [&whole[..data], &[0xff], &whole[data + 1..]].concat());
    let run = ["run", "model.relay", "-o", "out.onnx"];
    for name in ["missing", "unknown", "type", "shape", "rank", "symbol", "objects", "short", "damaged", "not", "gone"]
    {
        let file = format!("{name}.npz");
        golden.check(&format!("inputs_{name}"), &shop.fails(&[&run[..], &["--check-inputs", &file]].concat()).golden());
    }
    for (name, arguments) in [
        ("no_runs", &["--check=0"][..]),
        ("unknown_checker", &["--check", "--check-with", "tract"]),
        ("seed_alone", &["--check-seed", "3"]),
        ("bound", &["--check", "--check-atol", "-1"]),
        ("no_python", &["--check", "--check-with", "onnxruntime", "--python", "./gone"]),
    ] {
        golden.check(name, &shop.fails(&[&run[..], arguments].concat()).golden());
    }
    let with_variable = shop
        .fails_with(&[("RELAIS_PYTHON", "./gone")], &[&run[..], &["--check", "--check-with", "onnxruntime"]].concat());
    golden.check("no_python_of_variable", &with_variable.golden());
    let python =
        shop.write("python", "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'onnxruntime'\" >&2\nexit 1\n");
    fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let arguments = ["--check", "--check-with", "onnxruntime", "--python", "./python"];
    golden.check("no_onnxruntime", &shop.fails(&[&run[..], &arguments].concat()).golden());
    golden.check("not_covered", &shop.fails(&["run", "foreign.relay", "-o", "out.onnx", "--check"]).golden());
    golden.check("no_values", &shop.fails(&["run", "text.relay", "-o", "out.onnx", "--check"]).golden());
    let own = ["run", "model.relay", "-o", "missing.npz", "--check-inputs", "missing.npz"];
    golden.check("output_is_inputs", &shop.fails(&own).golden());
    golden.finish();
}

/// A run with onnxruntime, that of the judge.
fn judged(here: &Path, model: &str, args: &[&str]) -> Run {
    let python = program("python");
    let python = ["--check-with", "onnxruntime", "--python", python.to_str().unwrap(), "--report", "report.json"];
    check(here, model, "out.onnx", &[args, &python].concat())
}

#[test]
fn onnxruntime_may_compare() {
    let here = folder("checked-runtime");
    fs::create_dir(here.join("temporary")).unwrap();
    fs::write(here.join("model.relay"), MODEL).unwrap();
    judged(&here, "model.relay", &["--check"]).expect_success();
    let told = report(&here)["check"].clone();
    assert_eq!((&told["passed"], told["runs"].as_array().unwrap().len()), (&json!(true), 9), "{told}");
    assert!(told["with"].as_str().unwrap().starts_with("onnxruntime 1."), "{told}");
    let text = judged(&here, "model.relay", &["--check", "--passes", &passes("liar.Spoils")]).expect_failure().stderr;
    assert!(text.contains("it is due to pass `liar.Spoils` of plugin `liar"), "{text}");
    assert_eq!(files(&here.join("out.onnx.failed")), ["inputs.npz", "out.onnx"]);

    // Other results each time are nobody's fault.
    let random = "def @main(%x: Tensor[(64), float32]) #[opset = {\"\": 17}] { %1 = RandomNormalLike(%x); %1 }";
    fs::write(here.join("random.relay"), random).unwrap();
    fs::remove_file(here.join("report.json")).unwrap();
    let text = judged(&here, "random.relay", &["--check"]).expect_failure().stderr;
    assert!(
        text.contains("the pass that did it is not known: the model itself gives other results each time"),
        "{text}"
    );
    // The runtime leaves a file of its own there.
    let left = files(&here.join("temporary"));
    assert!(left.iter().all(|name| !name.contains("relais-check")), "temporary folders are removed: {left:?}");
}

/// A model of strings, sequences and optionals, and the names of its outputs.
const CONTAINERS: &str = r#"def @main(%x: Tensor[(N, 3), float32], %s: Tensor[(M), string]) -> (%all, %same, %words, %lower) #[opset = {"": 20}] {
  %0 = Neg(%x);
  %1 = Ceil(%0);
  %2 = SequenceConstruct(%x, %0, %1);
  %all = SequenceInsert(%2, %1);
  %3 = SequenceAt(%all, -1);
  %same = Optional(%3);
  %4 = StringConcat(%s, ["-a"]);
  %words = SplitToSequence(%4, keepdims = 0);
  %lower = StringNormalizer(%4, case_change_action = "LOWER", locale = "C");
  (%all, %same, %words, %lower)
}"#;

#[test]
fn sequences_optionals_and_strings_are_compared() {
    let here = folder("checked-containers");
    fs::write(here.join("model.relay"), CONTAINERS).unwrap();
    let right = ["--passes", "InferType", "--no-judge", "--rule", "Neg(x) => Mul(x, -1.0)"];
    for judge in [check as fn(&Path, &str, &str, &[&str]) -> Run, |here, model, _, args| judged(here, model, args)] {
        let run = judge(&here, "model.relay", "out.onnx", &[&["--check"], &right[..]].concat()).expect_success();
        assert!(run.stdout.contains("checked "), "{}", run.stdout);
        for (wrong, said) in [
            ("Ceil(x) => Floor(x)", "item 2 of output `all` differs in "),
            ("SequenceInsert(s, x) => s", "output `all` is a sequence of 3 where the model gives a sequence of 4"),
            ("StringConcat(x, y) => x", "item 0 of output `words` differs in "),
        ] {
            let _ = fs::remove_file(here.join("report.json"));
            let wrong = ["--passes", "InferType", "--no-judge", "--rule", wrong];
            let text =
                judge(&here, "model.relay", "out.onnx", &[&["--check"], &wrong[..]].concat()).expect_failure().stderr;
            assert!(text.contains("error[D001]") && text.contains(said), "{text}");
        }
    }
}

/// Of the models of the judge, those that a build without optimisations computes in a few seconds.
#[test]
fn models_are_checked_by_evaluators_and_by_onnxruntime() {
    let here = folder("checked-models");
    for name in ["shufflenet", "squeezenet"] {
        let model = models().folder.join("light").join(name).join("model.onnx");
        let model = model.to_str().unwrap();
        judged(&here, model, &["--check=1"]).expect_success();
        assert_eq!(report(&here)["check"]["passed"], true);
        check(&here, model, "out.onnx", &["--check=1"]).expect_success();
    }
}
