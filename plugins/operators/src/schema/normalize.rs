//! Normalisations.

use super::{
    precision,
    versions::{all, count},
};
use crate::{bodies, gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    BATCH_NORMALIZATION,
    GROUP_NORMALIZATION,
    INSTANCE_NORMALIZATION.body_of(bodies::normalize::instance_normalization),
    INSTANCE_NORMALIZATION.since(1),
    LRN,
    LAYER_NORMALIZATION,
    LP_NORMALIZATION,
    MEAN_VARIANCE_NORMALIZATION,
    RMS_NORMALIZATION,
];

const BATCH_NORMALIZATION: Operator = Operator::new("", "BatchNormalization", 15)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(relations::normalize::batch_normalization)
    .compute(kernels::normalize::batch_normalization)
    .gradient_of(gradients::normalize::batch_normalization)
    .precision(precision::NORMALIZES)
    // In training, its kernel writes all results, whether they are there or not.
    .properties(&[("onnxruntime.results", "stated")])
    .doc("Each channel normalised by its mean and variance, scaled and shifted.");

const GROUP_NORMALIZATION: Operator = Operator::new("", "GroupNormalization", 21)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::normalize::group_normalization)
    .body_of(bodies::normalize::group_normalization)
    .precision(precision::NORMALIZES)
    .doc("Groups of channels normalised, scaled and shifted.");

const INSTANCE_NORMALIZATION: Operator = Operator::new("", "InstanceNormalization", 22)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::normalize::instance_normalization)
    .precision(precision::NORMALIZES)
    .doc("Each channel of each sample normalised, scaled and shifted.");

const LRN: Operator = Operator::new("", "LRN", 13)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::normalize::lrn)
    .precision(precision::NORMALIZES)
    .doc("Local response normalisation across channels.");

const LAYER_NORMALIZATION: Operator = Operator::new("", "LayerNormalization", 17)
    .infer(relations::normalize::layer_normalization)
    .compute(kernels::normalize::layer_normalization)
    .body_of(bodies::normalize::layer_normalization)
    .precision(precision::NORMALIZES)
    .doc("The last axes normalised, scaled and shifted.");

const LP_NORMALIZATION: Operator = Operator::new("", "LpNormalization", 22)
    .infer(relations::shared::elementwise::same)
    .body_of(bodies::normalize::lp_normalization)
    .precision(precision::NORMALIZES)
    .doc("Slices along an axis divided by their p-norm.");

const MEAN_VARIANCE_NORMALIZATION: Operator = Operator::new("", "MeanVarianceNormalization", 13)
    .infer(relations::shared::elementwise::same)
    .body_of(bodies::normalize::mean_variance_normalization)
    .precision(precision::NORMALIZES)
    .doc("Normalised by mean and variance over axes.");

const RMS_NORMALIZATION: Operator = Operator::new("", "RMSNormalization", 23)
    .infer(relations::normalize::rms_normalization)
    .compute(kernels::normalize::rms_normalization)
    .body_of(bodies::normalize::rms_normalization)
    .precision(precision::NORMALIZES)
    .doc("The last axes divided by their root mean square and scaled.");

relais_plugin_api::prelude::operators! { OPERATORS }
