//! The command line over the plugins that are shipped.

use relais_tests::cli::{folder, relais};
use std::fs;

const CONV_AND_NORM: &str = r#"def @main(%x: Tensor[(1, 1, 3, 3), float32]) -> (%y) #[opset = {"": 17}] {
  %s = const(float32, (2), [6.0, 3.0]);
  %b = const(float32, (2), [0.5, 0.25]);
  %m = const(float32, (2), [0.0, 1.0]);
  %v = const(float32, (2), [1.0, 4.0]);
  %w = const(float32, (2, 1, 1, 1), [2.0, 3.0]);
  %c = Conv(%x, %w);
  %y = BatchNormalization(%c, %s, %b, %m, %v);
  %y
}
"#;

#[test]
fn passes_that_are_named_run_with_all_that_they_consist_of() {
    let folder = folder("named-passes");
    let (model, out) = (folder.join("model.relay"), folder.join("out.relay"));
    fs::write(&model, CONV_AND_NORM).unwrap();
    let has_norm = |args: &[&str]| {
        let files = ["run", model.to_str().unwrap(), "-o", out.to_str().unwrap(), "--allow-writable-plugins"];
        relais(files.iter().chain(args)).expect_success();
        fs::read_to_string(&out).unwrap().contains("BatchNormalization(")
    };
    assert!(!has_norm(&["--passes", "FoldScaleAxis"]), "a member of level 3 runs");
    assert!(has_norm(&["--passes", "FoldScaleAxis", "--disable", "BackwardFoldScaleAxis"]));
    assert!(has_norm(&["--passes", "FoldConstant"]));
}
