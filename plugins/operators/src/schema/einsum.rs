//! Products of tensors, summed over axes with equal labels.

use super::versions::{all, count};
use crate::{kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[EINSUM];

const EINSUM: Operator = Operator::new("", "Einsum", 28)
    .macs("?")
    .infer(relations::einsum::einsum)
    .compute(kernels::einsum::einsum)
    .precision(Precision::Lower)
    .doc("Einstein's summation convention.");

relais_plugin_api::prelude::operators! { OPERATORS }
