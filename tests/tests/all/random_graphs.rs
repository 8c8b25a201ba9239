//! Random graphs through every pass: onnxruntime computes the same for the result as for the original, within the
//! limits of `docs/numbers.md`. Random models of every form through random command lines: who took the input takes the
//! result. `.ci/full` runs more of them.

use relais_tests::venv::{random_graphs, random_graphs_tests};

#[test]
fn random_graphs_compute_what_they_did() {
    println!("{}", random_graphs(&["--graphs", "60", "--seed", "1", "--jobs", "1", "--some", "10"]));
}

#[test]
fn n06_the_strict_pipeline_keeps_every_bit_of_random_graphs() {
    println!("{}", random_graphs(&["--graphs", "40", "--seed", "6", "--jobs", "1", "--only", "strict"]));
}

#[test]
fn random_command_lines_keep_what_models_are() {
    println!("{}", random_graphs(&["--commands", "--graphs", "60", "--seed", "1", "--jobs", "1"]));
}

#[test]
fn random_command_lines_notice_planted_faults() {
    random_graphs_tests(&["test_combine", "test_judges"]);
}
