//! The records of ONNX's operators agree with the `onnx` package.

use relais_tests::{
    cli::{folder, relais},
    venv::{judge, program},
};
use std::{fs, path::Path, process::Command};

#[test]
fn records_say_what_the_onnx_package_says() {
    let records = folder("operator-records").join("ops.json");
    let said = relais(["list", "operators", "--json"]).expect_success().stdout;
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let is_onnx = |op: &&serde_json::Value| op["plugin"] == "relais-operators";
    let onnx: Vec<_> = said.as_array().unwrap().iter().filter(is_onnx).cloned().collect();
    fs::write(&records, serde_json::Value::from(onnx).to_string()).unwrap();
    let said = judge(["operators".as_ref(), records.as_os_str()]);
    assert!(said.ends_with(" compared, 0 differences\n"), "{said}");
}

#[test]
fn formal_inputs_and_results_are_those_of_the_onnx_package() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/operators/schemas.py");
    let output = Command::new(program("python")).arg(script).arg("--check").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_description_says_what_goes_in_and_comes_out() {
    let said = relais(["describe", "Add"]).expect_success().stdout;
    for part in [
        "\ntakes\n  A                        T\n  B                        T\n",
        "\ngives\n  C                        T\n",
        "\nIts first two inputs can change places.\n",
        "\ntypes\n  T                        float32, uint8, ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let said = relais(["describe", "Conv"]).expect_success().stdout;
    assert!(said.contains("  B                        T, optional\n") && !said.contains("change places"), "{said}");
    let said = relais(["describe", "Concat"]).expect_success().stdout;
    assert!(said.contains("  inputs                   T, any number, of one type\n"), "{said}");
}
