//! Windows and transforms of signals.

use super::{
    precision,
    versions::{all, count},
};
use crate::{bodies, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[BLACKMAN_WINDOW, DFT, HAMMING_WINDOW, HANN_WINDOW, MEL_WEIGHT_MATRIX, STFT];

const BLACKMAN_WINDOW: Operator = Operator::new("", "BlackmanWindow", 17)
    .effects(Effects::TRAPS)
    .infer(relations::signal::window)
    .body_of(bodies::signal::blackman)
    .doc("A Blackman window.");

const DFT: Operator = Operator::new("", "DFT", 20)
    .effects(Effects::TRAPS)
    .infer(relations::signal::dft)
    .precision(precision::SUMS)
    .doc("The discrete Fourier transform.");

const HAMMING_WINDOW: Operator = Operator::new("", "HammingWindow", 17)
    .effects(Effects::TRAPS)
    .infer(relations::signal::window)
    .body_of(bodies::signal::hamming)
    .doc("A Hamming window.");

const HANN_WINDOW: Operator = Operator::new("", "HannWindow", 17)
    .effects(Effects::TRAPS)
    .infer(relations::signal::window)
    .body_of(bodies::signal::hann)
    .doc("A Hann window.");

const MEL_WEIGHT_MATRIX: Operator = Operator::new("", "MelWeightMatrix", 17)
    .effects(Effects::TRAPS)
    .infer(relations::signal::mel_weight_matrix)
    .doc("A matrix that turns frequencies into mel bands.");

const STFT: Operator = Operator::new("", "STFT", 17)
    .effects(Effects::TRAPS)
    .infer(relations::signal::stft)
    .precision(precision::SUMS)
    .doc("The short-time Fourier transform.");

relais_plugin_api::prelude::operators! { OPERATORS }
