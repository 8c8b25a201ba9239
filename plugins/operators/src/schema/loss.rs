//! Losses of a classification.

use super::{
    precision,
    versions::{all, count},
};
use crate::{bodies, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[NEGATIVE_LOG_LIKELIHOOD_LOSS, SOFTMAX_CROSS_ENTROPY_LOSS];

const NEGATIVE_LOG_LIKELIHOOD_LOSS: Operator = Operator::new("", "NegativeLogLikelihoodLoss", 22)
    .effects(Effects::TRAPS)
    .infer(relations::loss::nll_loss)
    .body_of(bodies::loss::negative_log_likelihood)
    .precision(precision::SUMS)
    .doc("The negative log-likelihood loss.");

const SOFTMAX_CROSS_ENTROPY_LOSS: Operator = Operator::new("", "SoftmaxCrossEntropyLoss", 13)
    .effects(Effects::TRAPS)
    .infer(relations::loss::cross_entropy_loss)
    .body_of(bodies::loss::softmax_cross_entropy)
    .precision(precision::SUMS)
    .doc("The cross entropy of the softmax.");

relais_plugin_api::prelude::operators! { OPERATORS }
