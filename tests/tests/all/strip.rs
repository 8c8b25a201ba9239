//! Documentation, metadata, names and types in models: leaving them out, and stating more types.

use relais_tests::cli::{quick_folder, relais};
use std::fs;

const MODEL: &str = r#"#[ir_version = 8, producer_name = "maker", doc_string = "about", "metadata_props:stride" = "32"]
def @main(%x: Tensor[(N, 4), float32], %c: Tensor[(), bool]) -> (%y) #[opset = {"": 17}, graph_name = "g", doc = "graph", metadata_props = ["key", "v"], value_info = ["a", "b"], value_info_types = [type(Tensor[(N, 4), float32]), type(Tensor[(N, 4), float32])]] {
  %w = const(float32, [1.0, 2.0, 3.0, 4.0]);
  %a: Tensor[(N, 4), float32] = Add(%x, %w) #[name = "node", doc = "sum", metadata_props = ["from", "f"]];
  %b: Tensor[(N, 4), float32] = if (%c) { %v0 = Neg(%a) #[name = "inner"]; %v0 } else { %j = Abs(%a); %k = Neg(%j); %k };
  %y: Tensor[(N, 4), float32] = Mul(%a, %b);
  %y
}
"#;

/// The model after a run that does nothing but what the arguments say, from ONNX to ONNX, and whether its bytes changed.
fn after(model: &str, arguments: &str) -> (String, bool) {
    let folder = quick_folder();
    let [text, input, output] = ["in.relay", "in.onnx", "out.onnx"].map(|name| folder.path().join(name));
    fs::write(&text, model).unwrap();
    let [text, input, output] = [&text, &input, &output].map(|path| path.to_str().unwrap());
    relais(["run", "-q", text, "-o", input, "-O0"]).expect_success();
    let run = ["run", "-q", input, "-o", output, "-O0"];
    relais(run.into_iter().chain(arguments.split_whitespace())).expect_success();
    let is_changed = fs::read(input).unwrap() != fs::read(output).unwrap();
    (relais(["show", output]).expect_success().stdout, is_changed)
}

#[test]
fn each_part_is_left_out_alone() {
    let parts: [(&str, &[&str]); 5] = [
        ("docs", &["doc_string = ", "doc = \"graph\"", "doc = \"sum\""]),
        ("metadata", &["metadata_props:stride", "\"key\"", "\"from\""]),
        ("value-info", &["value_info = ", "value_info_types = "]),
        ("names", &["name = \"node\"", "name = \"inner\"", "%a", "%b", "%w", "%j"]),
        ("", &["producer_name = \"maker\"", "graph_name = \"g\"", "-> (%y)", "%x: Tensor[(N, 4)", "%v0"]),
    ];
    let all = parts.iter().flat_map(|(_, said)| said.iter());
    for (part, left_out) in parts {
        let (text, is_changed) = after(MODEL, &if part.is_empty() { String::new() } else { format!("--strip {part}") });
        assert_eq!(is_changed, !part.is_empty());
        for said in all.clone() {
            assert_eq!(text.contains(said), part.is_empty() || !left_out.contains(said), "{part}: {said}\n{text}");
        }
    }
    let (text, _) = after(MODEL, "--strip docs,metadata,names,value-info");
    assert!(parts[..4].iter().flat_map(|(_, said)| said.iter()).all(|said| !text.contains(said)), "{text}");
}

#[test]
fn numbers_are_the_names_of_nothing_else() {
    let (text, _) = after(MODEL, "--strip names");
    for line in [
        "value_info = [\"v2\", \"v3\"]",
        "  %v2: Tensor[(N, 4), float32] = Add(%x, %v1)",
        "    %v0 = Neg(%v2);",
        "    %v4 = Abs(%v2);",
        "  %y: Tensor[(N, 4), float32] = Mul(%v2, %v3);",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // An annotation refers to values by their names.
    let annotated = MODEL.replace("doc = \"graph\"", "quantization_annotation = [\"\"]");
    let (text, _) = after(&annotated, "--strip names");
    assert!(text.contains("%a: ") && !text.contains("name = \"node\""), "{text}");
}

#[test]
fn types_are_stated_where_they_are_known() {
    let (text, _) = after(MODEL, "--infer-shapes");
    assert!(text.contains("value_info = [\"j\"], value_info_types = [type(Tensor[(N, 4), float32])]"), "{text}");
    assert!(text.contains("value_info = [\"a\", \"b\"]"), "{text}");
    assert!(!text.contains("\"k\"]") && !text.contains("\"y\"]") && !text.contains("\"w\""), "{text}");
    // The model states less than is inferred; an unknown type is not stated.
    let open = MODEL.replace("Tensor[(N, 4), float32]) -", "Tensor[?, float32]) -");
    let open = open.replace("type(Tensor[(N, 4), float32])]", "type(Tensor[(?, ?), float32])]");
    let open = open.replace("%b: Tensor[(N, 4), float32]", "%b");
    let (text, _) = after(&open, "--infer-shapes");
    assert!(text.contains("type(Tensor[(N, 4), float32]), type(Tensor[(N, 4), float32])"), "{text}");
    let unknown = MODEL.replace("Abs(%a)", "acme::Own(%a)").replace("17}", "17, \"acme\": 1}");
    let (text, _) = after(&unknown, "--infer-shapes");
    assert!(!text.contains("\"j\""), "{text}");
}

#[test]
fn what_is_stated_is_not_left_out() {
    let folder = quick_folder();
    let [text, output] = ["in.relay", "out.relay"].map(|name| folder.path().join(name));
    fs::write(&text, MODEL).unwrap();
    let run = ["run", text.to_str().unwrap(), "-o", output.to_str().unwrap(), "-O0", "--infer-shapes"];
    let said = relais(run.into_iter().chain(["--strip", "docs,value-info"]));
    assert_eq!(said.status, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("`--infer-shapes` writes what `--strip value-info` leaves out"), "{}", said.stderr);
    assert!(!output.exists());
}
