//! Elements in order.

use super::versions::{all, count};
use crate::{kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[TOP_K, UNIQUE];

const TOP_K: Operator = Operator::new("", "TopK", 24)
    .effects(Effects::TRAPS)
    .infer(relations::sort::top_k)
    .compute(kernels::sort::top_k)
    .exact(Exactness::Rounded)
    .doc("The largest or smallest elements along an axis, and where they are.");

const UNIQUE: Operator = Operator::new("", "Unique", 28)
    .infer(relations::sort::unique)
    .doc("The elements or slices that differ, and where they are.");

relais_plugin_api::prelude::operators! { OPERATORS }
