//! Random graphs through every pass: onnxruntime computes the same for the result as for the original, within the
//! limits of `docs/numbers.md`. `.ci/full` runs more of them.

use relais_tests::venv::random_graphs;

#[test]
fn random_graphs_compute_what_they_did() {
    println!("{}", random_graphs(&["--graphs", "60", "--seed", "1", "--jobs", "1"]));
}

#[test]
fn n06_the_strict_pipeline_keeps_every_bit_of_random_graphs() {
    println!("{}", random_graphs(&["--graphs", "60", "--seed", "6", "--jobs", "1", "--only", "strict"]));
}
