//! The arguments of `relais run` about checking the output.

use clap::{ArgGroup, Args, ValueEnum, value_parser};
use relais_conformance::numbers::Tolerance;
use relais_session::check::{DEFAULT_GIB, DEFAULT_SECONDS};
use std::path::PathBuf;

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Checking the output", group = ArgGroup::new("checks").multiple(true))]
pub(crate) struct CheckArgs {
    /// Compare the output with the model on N sets of random inputs before it is put in place; if they differ, the run
    /// fails, and names the pass that did it. With `strict`, alone or after N and a comma, it also fails if a branch, a loop's
    /// body or a function that the passes changed never ran.
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3",
        value_parser = runs,
        group = "checks"
    )]
    pub check: Option<Runs>,

    /// Compare them on the inputs in a file of NumPy, too; without `--check`, on no others.
    #[arg(long, value_name = "FILE.npz", group = "checks")]
    pub check_inputs: Vec<PathBuf>,

    /// The seed of the random inputs.
    #[arg(long, value_name = "S", default_value_t = 1, requires = "checks")]
    pub check_seed: u64,

    /// How far floats may be apart, relative to the larger of the two.
    #[arg(long, value_name = "X", default_value_t = 1e-4, value_parser = bound, allow_negative_numbers = true, requires = "checks")]
    pub check_rtol: f64,

    /// How far floats may be apart in any case; by default 1e-5, less for an output whose values are all below 1.
    #[arg(long, value_name = "X", value_parser = bound, allow_negative_numbers = true, requires = "checks")]
    pub check_atol: Option<f64>,

    /// Make no further run after N seconds, and say what was left out; 0 for no limit.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SECONDS, requires = "checks")]
    pub check_seconds: u64,

    /// How much memory the results of a model may take at once where `relais` computes them, in GiB.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_GIB, value_parser = value_parser!(u64).range(1..1 << 20), requires = "checks")]
    pub check_memory: u64,

    /// The program that computes the two models.
    #[arg(long, value_name = "PROGRAM", value_enum, default_value_t = CheckWith::Relais, requires = "checks")]
    pub check_with: CheckWith,

    /// The Python that has onnxruntime; by default that of the variable RELAIS_PYTHON, otherwise `python3`.
    #[arg(long, value_name = "PROGRAM", requires = "checks")]
    pub python: Option<PathBuf>,
}

impl CheckArgs {
    pub fn tolerance(&self) -> Tolerance {
        Tolerance { relative: self.check_rtol, absolute: self.check_atol }
    }
}

/// On how many sets of random inputs a check compares, and whether it must reach all that the passes changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Runs {
    pub n: u32,
    pub is_strict: bool,
}

/// Parses `N`, `strict` and `N,strict`.
fn runs(text: &str) -> Result<Runs, String> {
    let (n, is_strict) = match text.strip_suffix("strict") {
        Some("") => ("3", true),
        Some(n) => (n.strip_suffix(',').unwrap_or(text), true),
        None => (text, false),
    };
    let n = n.parse().ok().filter(|n| (1..=1000).contains(n));
    let n = n.ok_or_else(|| "it is a number from 1 to 1000, `strict`, or both: `10,strict`".to_owned())?;
    Ok(Runs { n, is_strict })
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum CheckWith {
    /// The evaluators of plugins.
    #[default]
    Relais,
    /// The runtime, in Python, without optimisations.
    Onnxruntime,
}

/// A bound of differences.
pub(crate) fn bound(text: &str) -> Result<f64, String> {
    let bound = text.parse().ok().filter(|bound: &f64| bound.is_finite() && *bound >= 0.0);
    bound.ok_or_else(|| "a bound is a number that is not negative".to_owned())
}
