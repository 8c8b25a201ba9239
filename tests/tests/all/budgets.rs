//! Budgets: models that grow without bound end soon, with an answer.

use relais_tests::cli::{quick_folder, relais};
use std::{fs, path::Path};

/// Sixty functions, each of which calls the one before twice: 2^60 calls once they are inlined.
fn doubling(path: &Path) {
    let mut text = "def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 17, \"l\": 1}] { %y: Tensor[(2), float32] = @\"l::F59\"(%x); %y }\n\
                    def @\"l::F0\"(%a) -> (%b) #[opset = {\"\": 17}, domain = \"l\", function_name = \"F0\"] { %b = Neg(%a); %b }\n"
        .to_owned();
    for n in 1..60 {
        let before = n - 1;
        text.push_str(&format!(
            "def @\"l::F{n}\"(%a) -> (%b) #[opset = {{\"\": 17, \"l\": 1}}, domain = \"l\", function_name = \"F{n}\"] {{\n  \
             %t = @\"l::F{before}\"(%a); %b = @\"l::F{before}\"(%t); %b\n}}\n"
        ));
    }
    fs::write(path, text).unwrap();
}

/// The words of the program about the model, in some seconds on a machine that others use, too.
fn said(arguments: &[&str]) -> (bool, String) {
    let folder = quick_folder();
    let model = folder.path().join("model.relay");
    doubling(&model);
    let (model, out) = (model.display().to_string(), folder.path().display().to_string());
    let arguments = arguments.iter().map(|argument| argument.replace("MODEL", &model).replace("OUT", &out));
    let run = relais(arguments);
    assert!(run.time.as_secs() < 30, "{run:?}");
    (run.status == Some(0), run.stdout + &run.stderr)
}

#[test]
fn inlining_stops_at_its_budget_and_says_so() {
    let (is_fine, text) = said(&["run", "MODEL", "-o", "OUT/out.relay", "--passes", "Inline", "--remarks"]);
    assert!(is_fine, "{text}");
    assert!(text.contains("nodes to the module"), "{text}");
    assert!(text.contains("`Inline.max_growth` allows more"), "{text}");
}

#[test]
fn what_has_to_be_inlined_is_refused_with_its_place() {
    let (is_fine, text) = said(&["build", "MODEL", "-o", "OUT/out.c"]);
    assert!(!is_fine, "{text}");
    for part in
        ["error[F004]", "the call of `@l::F", "(in `@l::F", "help: functions that call each other several times"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn other_commands_end_with_an_answer() {
    for (arguments, is_right) in [
        (&["run", "MODEL", "-o", "OUT/out.onnx", "-O3"][..], true),
        (&["run", "MODEL", "-o", "OUT/out.onnx", "-O3", "--target-opset", "13"], true),
        (&["run", "MODEL", "-o", "OUT/out.onnx", "--infer-shapes", "-O0"], true),
        (&["run", "MODEL", "-o", "OUT/out.onnx", "-O3", "--check"], false),
        (&["inspect", "MODEL"], true),
        (&["show", "MODEL"], true),
    ] {
        let (is_fine, text) = said(arguments);
        assert_eq!(is_fine, is_right, "{arguments:?}: {text}");
        assert!(is_fine || text.contains("takes too many steps"), "{text}");
    }
}
