//! Losses.

use super::{
    attr::{INT, STRING, default, optional},
    formals,
};
use crate::bodies::loss;
use crate::relations::misc;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    NEGATIVE_LOG_LIKELIHOOD_LOSS.body_of(loss::negative_log_likelihood),
    NEGATIVE_LOG_LIKELIHOOD_LOSS.since(13).body_of(loss::negative_log_likelihood),
    NEGATIVE_LOG_LIKELIHOOD_LOSS.since(12).body_of(loss::negative_log_likelihood),
    SOFTMAX_CROSS_ENTROPY_LOSS.body_of(loss::softmax_cross_entropy),
    SOFTMAX_CROSS_ENTROPY_LOSS.since(12).body_of(loss::softmax_cross_entropy),
];

const NEGATIVE_LOG_LIKELIHOOD_LOSS: Operator = Operator::new("", "NegativeLogLikelihoodLoss", 22)
    .inputs(2, 3)
    .attrs(&[optional(INT, "ignore_index"), default(STRING, "reduction", "\"mean\"")])
    .effects(Effects::TRAPS)
    .infer(misc::nll_loss)
    .doc("The negative log-likelihood loss.");

const SOFTMAX_CROSS_ENTROPY_LOSS: Operator = Operator::new("", "SoftmaxCrossEntropyLoss", 13)
    .inputs(2, 3)
    .outputs(1, 2)
    .attrs(&[optional(INT, "ignore_index"), default(STRING, "reduction", "\"mean\"")])
    .effects(Effects::TRAPS)
    .infer(misc::cross_entropy_loss)
    .doc("The cross entropy of the softmax.");

relais_plugin_api::prelude::operators! { OPERATORS }
