//! Shapes: telling, changing, joining, cutting.

use super::{
    attr::{ANY, FLOAT, INT, INTS, STRING, default, optional, required},
    formals,
};
use crate::bodies::rearrange;
use crate::gradients;
use crate::kernels;
use crate::relations::{elementwise, join, shape, slice};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    CENTER_CROP_PAD.body_of(rearrange::center_crop_pad),
    CONCAT,
    CONCAT.since(11),
    CONCAT.since(4),
    CONCAT.since(1).attrs(&[optional(INT, "axis")]),
    EXPAND,
    EXPAND.since(8),
    FLATTEN,
    FLATTEN.since(24),
    FLATTEN.since(23),
    FLATTEN.since(21),
    FLATTEN.since(13),
    FLATTEN.since(11),
    FLATTEN.since(9),
    FLATTEN.since(1),
    IDENTITY,
    IDENTITY.since(24),
    IDENTITY.since(23),
    IDENTITY.since(21),
    IDENTITY.since(19),
    IDENTITY.since(16),
    IDENTITY.since(14),
    IDENTITY.since(13),
    IDENTITY.since(1),
    PAD,
    PAD.since(24),
    PAD.since(23),
    PAD.since(21),
    PAD.since(19),
    PAD.since(18),
    PAD.since(13).inputs(2, 3),
    PAD.since(11).inputs(2, 3),
    PAD.since(2).inputs(1, 1).attrs(&[
        default(STRING, "mode", "\"constant\""),
        required(INTS, "pads"),
        default(FLOAT, "value", "0.0"),
    ]),
    PAD.since(1).inputs(1, 1).attrs(&[
        default(STRING, "mode", "\"constant\""),
        required(INTS, "paddings"),
        default(FLOAT, "value", "0.0"),
    ]),
    RESHAPE,
    RESHAPE.since(24),
    RESHAPE.since(23),
    RESHAPE.since(21),
    RESHAPE.since(19),
    RESHAPE.since(14),
    RESHAPE.since(13).attrs(&[]),
    RESHAPE.since(5).attrs(&[]),
    RESHAPE.since(1).inputs(1, 1).attrs(&[optional(INTS, "consumed_inputs"), optional(INTS, "shape")]),
    SHAPE,
    SHAPE.since(24),
    SHAPE.since(23),
    SHAPE.since(21),
    SHAPE.since(19),
    SHAPE.since(15),
    SHAPE.since(13).attrs(&[]),
    SHAPE.since(1).attrs(&[]),
    SIZE,
    SIZE.since(24),
    SIZE.since(23),
    SIZE.since(21),
    SIZE.since(19),
    SIZE.since(13),
    SIZE.since(1),
    SLICE,
    SLICE.since(11),
    SLICE.since(10),
    SLICE.since(1).inputs(1, 1).attrs(&[optional(INTS, "axes"), required(INTS, "ends"), required(INTS, "starts")]),
    SPLIT,
    SPLIT.since(13).attrs(&[default(INT, "axis", "0")]),
    SPLIT.since(11).inputs(1, 1).attrs(&[default(INT, "axis", "0"), optional(INTS, "split")]),
    SPLIT.since(2).inputs(1, 1).attrs(&[default(INT, "axis", "0"), optional(INTS, "split")]),
    SPLIT.since(1).attrs(&[optional(INT, "axis"), optional(INTS, "split")]),
    SQUEEZE,
    SQUEEZE.since(24),
    SQUEEZE.since(23),
    SQUEEZE.since(21),
    SQUEEZE.since(13),
    SQUEEZE.since(11).inputs(1, 1).attrs(&[optional(INTS, "axes")]),
    SQUEEZE.since(1).inputs(1, 1).attrs(&[optional(INTS, "axes")]),
    TILE,
    TILE.since(6),
    TILE.since(1).inputs(3, 3),
    TRANSPOSE,
    TRANSPOSE.since(24),
    TRANSPOSE.since(23),
    TRANSPOSE.since(21),
    TRANSPOSE.since(13),
    TRANSPOSE.since(1),
    TRILU,
    UNSQUEEZE.effects(Effects::TRAPS),
    UNSQUEEZE.since(24).effects(Effects::TRAPS),
    UNSQUEEZE.since(23).effects(Effects::TRAPS),
    UNSQUEEZE.since(21).effects(Effects::TRAPS),
    UNSQUEEZE.since(13).effects(Effects::TRAPS),
    UNSQUEEZE.since(11).inputs(1, 1).attrs(&[required(INTS, "axes")]),
    UNSQUEEZE.since(1).inputs(1, 1).attrs(&[required(INTS, "axes")]),
];

const CENTER_CROP_PAD: Operator = Operator::new("", "CenterCropPad", 18)
    .inputs(2, 2)
    .attrs(&[optional(INTS, "axes")])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(slice::center_crop_pad)
    .doc("Crops or pads around the centre to a shape.");

const CONCAT: Operator = Operator::new("", "Concat", 13)
    .gradient_of(gradients::movement::concat)
    .compute(kernels::movement::concat)
    .inputs(1, ANY)
    .attrs(&[required(INT, "axis")])
    .fusion(FusionKind::INJECTIVE)
    .infer(join::concat)
    .doc("Tensors joined along an axis.");

const EXPAND: Operator = Operator::new("", "Expand", 13)
    .gradient_of(gradients::movement::expand)
    .compute(kernels::movement::expand)
    .inputs(2, 2)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::BROADCAST)
    .infer(shape::expand)
    .doc("A tensor broadcast to a shape.");

const FLATTEN: Operator = Operator::new("", "Flatten", 25)
    .gradient_of(gradients::movement::reshaped)
    .compute(kernels::movement::reshaped)
    .attrs(&[default(INT, "axis", "1")])
    .fusion(FusionKind::INJECTIVE)
    .infer(shape::flatten)
    .doc("The axes before and from an axis merged into two.");

const IDENTITY: Operator = Operator::new("", "Identity", 25)
    .gradient_of(gradients::math::identity)
    .compute(kernels::math::identity)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::identity)
    .doc("The value itself.");

const PAD: Operator = Operator::new("", "Pad", 25)
    .gradient_of(gradients::movement::pad)
    .compute(kernels::spatial::pad)
    .inputs(2, 4)
    .attrs(&[default(STRING, "mode", "\"constant\"")])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(slice::pad)
    .doc("A tensor with a border.");

const RESHAPE: Operator = Operator::new("", "Reshape", 25)
    .gradient_of(gradients::movement::reshaped)
    .compute(kernels::movement::reshaped)
    .inputs(2, 2)
    .attrs(&[default(INT, "allowzero", "0")])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(shape::reshape)
    .doc("The same elements in another shape.");

const SHAPE: Operator = Operator::new("", "Shape", 25)
    .compute(kernels::create::shape)
    .attrs(&[optional(INT, "end"), default(INT, "start", "0")])
    .infer(shape::shape)
    .doc("The shape of a tensor, or part of it.");

const SIZE: Operator =
    Operator::new("", "Size", 25).compute(kernels::create::size).infer(shape::size).doc("The number of elements.");

const SLICE: Operator = Operator::new("", "Slice", 13)
    .gradient_of(gradients::movement::slice)
    .compute(kernels::movement::slice)
    .inputs(3, 5)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(slice::slice)
    .doc("A part of each axis, in steps.");

const SPLIT: Operator = Operator::new("", "Split", 18)
    .gradient_of(gradients::movement::split)
    .compute(kernels::movement::split)
    .inputs(1, 2)
    .outputs(1, ANY)
    .attrs(&[default(INT, "axis", "0"), optional(INT, "num_outputs")])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(join::split)
    .doc("A tensor cut into parts along an axis.");

const SQUEEZE: Operator = Operator::new("", "Squeeze", 25)
    .gradient_of(gradients::movement::reshaped)
    .compute(kernels::movement::reshaped)
    .inputs(1, 2)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(shape::squeeze)
    .doc("A tensor without axes of size 1.");

const TILE: Operator = Operator::new("", "Tile", 13)
    .gradient_of(gradients::movement::tile)
    .compute(kernels::movement::tile)
    .inputs(2, 2)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(shape::tile)
    .doc("A tensor repeated along its axes.");

const TRANSPOSE: Operator = Operator::new("", "Transpose", 25)
    .gradient_of(gradients::movement::transpose)
    .compute(kernels::movement::transpose)
    .attrs(&[optional(INTS, "perm")])
    .fusion(FusionKind::INJECTIVE)
    .infer(shape::transpose)
    .doc("The axes in another order.");

const TRILU: Operator = Operator::new("", "Trilu", 14)
    .compute(kernels::create::trilu)
    .inputs(1, 2)
    .attrs(&[default(INT, "upper", "1")])
    .infer(elementwise::same)
    .doc("The upper or lower triangle of matrices.");

const UNSQUEEZE: Operator = Operator::new("", "Unsqueeze", 25)
    .gradient_of(gradients::movement::reshaped)
    .compute(kernels::movement::reshaped)
    .inputs(2, 2)
    .fusion(FusionKind::INJECTIVE)
    .infer(shape::unsqueeze)
    .doc("A tensor with new axes of size 1.");

relais_plugin_api::prelude::operators! { OPERATORS }
