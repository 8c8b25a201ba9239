//! Why operators keep the precision of the model: TVM's list of those that are never converted, by reason.

use relais_plugin_api::op::Precision;

pub const SUMS: Precision<'static> = Precision::Keep("it adds up or multiplies many terms");
pub const NORMALIZES: Precision<'static> = Precision::Keep("it divides by a sum of many terms");
pub const GROWS: Precision<'static> = Precision::Keep("its results may be out of the range that its arguments are in");
pub const PLACES: Precision<'static> = Precision::Keep("its values are positions");
