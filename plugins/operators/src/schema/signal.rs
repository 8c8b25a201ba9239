//! Signals.

use super::{
    attr::{INT, default},
    formals,
};
use crate::bodies::create as made;
use crate::relations::{create, misc};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    BLACKMAN_WINDOW.body_of(made::blackman),
    DFT,
    DFT.since(17).inputs(1, 2).attrs(&[
        default(INT, "axis", "1"),
        default(INT, "inverse", "0"),
        default(INT, "onesided", "0"),
    ]),
    HAMMING_WINDOW.body_of(made::hamming),
    HANN_WINDOW.body_of(made::hann),
    MEL_WEIGHT_MATRIX,
    STFT,
];

const BLACKMAN_WINDOW: Operator = Operator::new("", "BlackmanWindow", 17)
    .attrs(&[default(INT, "output_datatype", "1"), default(INT, "periodic", "1")])
    .effects(Effects::TRAPS)
    .infer(create::window)
    .doc("A Blackman window.");

const DFT: Operator = Operator::new("", "DFT", 20)
    .inputs(1, 3)
    .attrs(&[default(INT, "inverse", "0"), default(INT, "onesided", "0")])
    .effects(Effects::TRAPS)
    .infer(misc::dft)
    .doc("The discrete Fourier transform.");

const HAMMING_WINDOW: Operator = Operator::new("", "HammingWindow", 17)
    .attrs(&[default(INT, "output_datatype", "1"), default(INT, "periodic", "1")])
    .effects(Effects::TRAPS)
    .infer(create::window)
    .doc("A Hamming window.");

const HANN_WINDOW: Operator = Operator::new("", "HannWindow", 17)
    .attrs(&[default(INT, "output_datatype", "1"), default(INT, "periodic", "1")])
    .effects(Effects::TRAPS)
    .infer(create::window)
    .doc("A Hann window.");

const MEL_WEIGHT_MATRIX: Operator = Operator::new("", "MelWeightMatrix", 17)
    .inputs(5, 5)
    .attrs(&[default(INT, "output_datatype", "1")])
    .effects(Effects::TRAPS)
    .infer(misc::mel_weight_matrix)
    .doc("A matrix that turns frequencies into mel bands.");

const STFT: Operator = Operator::new("", "STFT", 17)
    .inputs(2, 4)
    .attrs(&[default(INT, "onesided", "1")])
    .effects(Effects::TRAPS)
    .infer(misc::stft)
    .doc("The short-time Fourier transform.");

relais_plugin_api::prelude::operators! { OPERATORS }
