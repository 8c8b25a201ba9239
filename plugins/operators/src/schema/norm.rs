//! Normalisations, and `Dropout`.

use super::{
    attr::{FLOAT, INT, INTS, default, optional, required},
    formals,
};
use crate::bodies::normalize as made;
use crate::gradients;
use crate::kernels;
use crate::relations::{elementwise, normalize};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    BATCH_NORMALIZATION,
    BATCH_NORMALIZATION.since(14),
    BATCH_NORMALIZATION
        .since(9)
        .outputs(1, 5)
        .attrs(&[default(FLOAT, "epsilon", "1e-5"), default(FLOAT, "momentum", "0.9")]),
    BATCH_NORMALIZATION.since(7).outputs(1, 5).attrs(&[
        default(FLOAT, "epsilon", "1e-5"),
        default(FLOAT, "momentum", "0.9"),
        default(INT, "spatial", "1"),
    ]),
    BATCH_NORMALIZATION.since(6).outputs(1, 5).attrs(&[
        default(FLOAT, "epsilon", "1e-5"),
        default(INT, "is_test", "0"),
        default(FLOAT, "momentum", "0.9"),
        default(INT, "spatial", "1"),
    ]),
    BATCH_NORMALIZATION.since(1).outputs(1, 5).attrs(&[
        required(INTS, "consumed_inputs"),
        default(FLOAT, "epsilon", "1e-5"),
        default(INT, "is_test", "0"),
        default(FLOAT, "momentum", "0.9"),
        default(INT, "spatial", "1"),
    ]),
    DROPOUT.effects(Effects::RANDOM),
    DROPOUT.since(13).effects(Effects::RANDOM),
    DROPOUT.since(12).effects(Effects::RANDOM),
    DROPOUT.since(10).inputs(1, 1).attrs(&[default(FLOAT, "ratio", "0.5")]),
    DROPOUT.since(7).inputs(1, 1).attrs(&[default(FLOAT, "ratio", "0.5")]),
    DROPOUT
        .since(6)
        .inputs(1, 1)
        .attrs(&[default(INT, "is_test", "0"), default(FLOAT, "ratio", "0.5")])
        .effects(Effects::RANDOM),
    DROPOUT
        .since(1)
        .inputs(1, 1)
        .attrs(&[optional(INTS, "consumed_inputs"), default(INT, "is_test", "0"), default(FLOAT, "ratio", "0.5")])
        .effects(Effects::RANDOM),
    GROUP_NORMALIZATION.body_of(made::group_normalization),
    GROUP_NORMALIZATION
        .since(18)
        .attrs(&[default(FLOAT, "epsilon", "1e-5"), required(INT, "num_groups")])
        .body_of(made::group_normalization),
    INSTANCE_NORMALIZATION.body_of(made::instance_normalization),
    INSTANCE_NORMALIZATION.since(6).body_of(made::instance_normalization),
    INSTANCE_NORMALIZATION.since(1).attrs(&[optional(INTS, "consumed_inputs"), default(FLOAT, "epsilon", "1e-5")]),
    LRN,
    LRN.since(1),
    LAYER_NORMALIZATION.body_of(made::layer_normalization),
    LP_NORMALIZATION.body_of(made::lp_normalization),
    LP_NORMALIZATION.since(1).body_of(made::lp_normalization),
    MEAN_VARIANCE_NORMALIZATION.body_of(made::mean_variance_normalization),
    MEAN_VARIANCE_NORMALIZATION.since(9).body_of(made::mean_variance_normalization),
    RMS_NORMALIZATION.body_of(made::rms_normalization),
];

const BATCH_NORMALIZATION: Operator = Operator::new("", "BatchNormalization", 15)
    .gradient_of(gradients::normalize::batch_normalization)
    .compute(kernels::normalize::batch_normalization)
    .inputs(5, 5)
    .outputs(1, 3)
    .attrs(&[default(FLOAT, "epsilon", "1e-5"), default(FLOAT, "momentum", "0.9"), default(INT, "training_mode", "0")])
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(normalize::batch_normalization)
    .doc("Each channel normalised by its mean and variance, scaled and shifted.");

const DROPOUT: Operator = Operator::new("", "Dropout", 22)
    .gradient_of(gradients::activation::dropout)
    .compute(kernels::math::dropout)
    .inputs(1, 3)
    .outputs(1, 2)
    .attrs(&[optional(INT, "seed")])
    .infer(normalize::dropout)
    .doc("Random elements set to zero in training; nothing else.");

const GROUP_NORMALIZATION: Operator = Operator::new("", "GroupNormalization", 21)
    .compute(kernels::normalize::group_normalization)
    .inputs(3, 3)
    .attrs(&[default(FLOAT, "epsilon", "1e-5"), required(INT, "num_groups"), default(INT, "stash_type", "1")])
    .infer(elementwise::same)
    .doc("Groups of channels normalised, scaled and shifted.");

const INSTANCE_NORMALIZATION: Operator = Operator::new("", "InstanceNormalization", 22)
    .compute(kernels::normalize::instance_normalization)
    .inputs(3, 3)
    .attrs(&[default(FLOAT, "epsilon", "1e-5")])
    .infer(elementwise::same)
    .doc("Each channel of each sample normalised, scaled and shifted.");

const LRN: Operator = Operator::new("", "LRN", 13)
    .compute(kernels::normalize::lrn)
    .attrs(&[
        default(FLOAT, "alpha", "1e-4"),
        default(FLOAT, "beta", "0.75"),
        default(FLOAT, "bias", "1.0"),
        required(INT, "size"),
    ])
    .infer(elementwise::same)
    .doc("Local response normalisation across channels.");

const LAYER_NORMALIZATION: Operator = Operator::new("", "LayerNormalization", 17)
    .compute(kernels::normalize::layer_normalization)
    .inputs(2, 3)
    .outputs(1, 3)
    .attrs(&[default(INT, "axis", "-1"), default(FLOAT, "epsilon", "1e-5"), default(INT, "stash_type", "1")])
    .infer(normalize::layer_normalization)
    .doc("The last axes normalised, scaled and shifted.");

const LP_NORMALIZATION: Operator = Operator::new("", "LpNormalization", 22)
    .attrs(&[default(INT, "axis", "-1"), default(INT, "p", "2")])
    .infer(elementwise::same)
    .doc("Slices along an axis divided by their p-norm.");

const MEAN_VARIANCE_NORMALIZATION: Operator = Operator::new("", "MeanVarianceNormalization", 13)
    .attrs(&[default(INTS, "axes", "[0, 2, 3]")])
    .infer(elementwise::same)
    .doc("Normalised by mean and variance over axes.");

const RMS_NORMALIZATION: Operator = Operator::new("", "RMSNormalization", 23)
    .compute(kernels::normalize::rms_normalization)
    .inputs(2, 2)
    .attrs(&[default(INT, "axis", "-1"), default(FLOAT, "epsilon", "1e-5"), default(INT, "stash_type", "1")])
    .infer(normalize::rms_normalization)
    .doc("The last axes divided by their root mean square and scaled.");

relais_plugin_api::prelude::operators! { OPERATORS }
