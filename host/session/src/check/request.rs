//! The check of a request.

use relais_conformance::numbers::Tolerance;
use std::{path::PathBuf, time::Duration};

/// How long a check takes at most by default.
pub const DEFAULT_SECONDS: u64 = 300;

/// The memory for results that a check takes at most by default, in units of 2^30 bytes.
pub const DEFAULT_GIB: u64 = 16;

/// A comparison of the output with the model.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckRequest {
    /// On how many sets of random inputs.
    pub n_random: u32,
    /// Files of NumPy with inputs: on these, too.
    pub inputs: Vec<PathBuf>,
    /// The seed of the random inputs.
    pub seed: u64,
    /// How far floats may be apart.
    pub tolerance: Tolerance,
    /// For how long runs are made at most, if there is a limit: what is not done then is left out.
    pub time: Option<Duration>,
    /// The most bytes that the results of a model may take at once, where evaluators compute it. Constants do not count.
    pub max_bytes: u64,
    /// The program that computes the two models.
    pub with: CheckWith,
    /// Whether an output that differs is kept beside its place, with the inputs.
    pub failed: FailedOutput,
    /// The consequence of a part that the passes changed and no run reaches.
    pub unseen: UnseenParts,
}

/// The consequence of a part of the output that the passes changed and no run of a check reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnseenParts {
    /// A warning.
    #[default]
    Warn,
    /// The check does not pass.
    Refuse,
}

/// The program that computes the two models of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum CheckWith {
    /// The evaluators of plugins.
    #[default]
    Evaluators,
    /// onnxruntime, in the Python of this name; by default that of the variable `RELAIS_PYTHON`, otherwise `python3`.
    Onnxruntime(Option<PathBuf>),
}

/// Whether an output that differs from its model is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FailedOutput {
    /// It is kept in a new folder beside its place, with the inputs.
    Keep,
    /// Nothing of it is written.
    #[default]
    Discard,
}

impl Default for CheckRequest {
    fn default() -> Self {
        Self {
            n_random: 0,
            inputs: Vec::new(),
            seed: 1,
            tolerance: Tolerance { relative: 1e-4, absolute: None },
            time: Some(Duration::from_secs(DEFAULT_SECONDS)),
            max_bytes: DEFAULT_GIB << 30,
            with: CheckWith::default(),
            failed: FailedOutput::default(),
            unseen: UnseenParts::default(),
        }
    }
}

impl CheckRequest {
    /// On that many sets of random inputs.
    pub fn random(n: u32) -> Self {
        Self { n_random: n, ..Self::default() }
    }

    /// Whether anything is compared.
    pub fn is_wanted(&self) -> bool {
        self.n_random > 0 || !self.inputs.is_empty()
    }
}
