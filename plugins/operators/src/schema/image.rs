//! Images and regions of interest.

use super::{
    attr::{FLOAT, FLOATS, INT, INTS, STRING, default, optional, required},
    formals,
};
use crate::bodies::{create, rearrange};
use crate::kernels;
use crate::relations::{misc, spatial};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    AFFINE_GRID.body_of(create::affine_grid),
    COL2IM,
    DEPTH_TO_SPACE.body_of(rearrange::depth_to_space),
    DEPTH_TO_SPACE.since(13).body_of(rearrange::depth_to_space),
    DEPTH_TO_SPACE.since(11).body_of(rearrange::depth_to_space),
    DEPTH_TO_SPACE.since(1).attrs(&[required(INT, "blocksize")]),
    GRID_SAMPLE,
    GRID_SAMPLE.since(20),
    GRID_SAMPLE.since(16).attrs(&[
        default(INT, "align_corners", "0"),
        default(STRING, "mode", "\"bilinear\""),
        default(STRING, "padding_mode", "\"zeros\""),
    ]),
    IMAGE_DECODER,
    MAX_ROI_POOL,
    MAX_ROI_POOL.since(1),
    NON_MAX_SUPPRESSION,
    NON_MAX_SUPPRESSION.since(10),
    RESIZE,
    RESIZE.since(18),
    RESIZE.since(13).attrs(&[
        default(STRING, "coordinate_transformation_mode", "\"half_pixel\""),
        default(FLOAT, "cubic_coeff_a", "-0.75"),
        default(INT, "exclude_outside", "0"),
        default(FLOAT, "extrapolation_value", "0.0"),
        default(STRING, "mode", "\"nearest\""),
        default(STRING, "nearest_mode", "\"round_prefer_floor\""),
    ]),
    RESIZE.since(11).inputs(3, 4).attrs(&[
        default(STRING, "coordinate_transformation_mode", "\"half_pixel\""),
        default(FLOAT, "cubic_coeff_a", "-0.75"),
        default(INT, "exclude_outside", "0"),
        default(FLOAT, "extrapolation_value", "0.0"),
        default(STRING, "mode", "\"nearest\""),
        default(STRING, "nearest_mode", "\"round_prefer_floor\""),
    ]),
    RESIZE.since(10).inputs(2, 2).attrs(&[default(STRING, "mode", "\"nearest\"")]),
    ROI_ALIGN,
    ROI_ALIGN.since(16),
    ROI_ALIGN.since(10).attrs(&[
        default(STRING, "mode", "\"avg\""),
        default(INT, "output_height", "1"),
        default(INT, "output_width", "1"),
        default(INT, "sampling_ratio", "0"),
        default(FLOAT, "spatial_scale", "1.0"),
    ]),
    SPACE_TO_DEPTH.body_of(rearrange::space_to_depth),
    SPACE_TO_DEPTH.since(13).attrs(&[required(INT, "blocksize")]).body_of(rearrange::space_to_depth),
    SPACE_TO_DEPTH.since(1).attrs(&[required(INT, "blocksize")]),
    UPSAMPLE,
    UPSAMPLE.since(9),
    UPSAMPLE.since(7).inputs(1, 1).attrs(&[default(STRING, "mode", "\"nearest\""), required(FLOATS, "scales")]),
    UPSAMPLE.since(1).inputs(1, 1).attrs(&[
        required(FLOAT, "height_scale"),
        default(STRING, "mode", "\"nearest\""),
        required(FLOAT, "width_scale"),
    ]),
];

const AFFINE_GRID: Operator = Operator::new("", "AffineGrid", 20)
    .inputs(2, 2)
    .attrs(&[default(INT, "align_corners", "0")])
    .effects(Effects::TRAPS)
    .infer(spatial::affine_grid)
    .doc("Sampling positions of an affine transformation.");

const COL2IM: Operator = Operator::new("", "Col2Im", 18)
    .inputs(3, 3)
    .attrs(&[optional(INTS, "dilations"), optional(INTS, "pads"), optional(INTS, "strides")])
    .effects(Effects::TRAPS)
    .infer(spatial::col2im)
    .doc("Columns of overlapping blocks summed into an image.");

const DEPTH_TO_SPACE: Operator = Operator::new("", "DepthToSpace", 28)
    .compute(kernels::movement::depth_to_space)
    .attrs(&[required(INT, "blocksize"), default(STRING, "mode", "\"DCR\"")])
    .fusion(FusionKind::INJECTIVE)
    .infer(spatial::depth_to_space)
    .doc("Blocks of channels laid out in space.");

const GRID_SAMPLE: Operator = Operator::new("", "GridSample", 22)
    .inputs(2, 2)
    .attrs(&[
        default(INT, "align_corners", "0"),
        default(STRING, "mode", "\"linear\""),
        default(STRING, "padding_mode", "\"zeros\""),
    ])
    .infer(spatial::grid_sample)
    .doc("Samples at the positions of a grid.");

const IMAGE_DECODER: Operator = Operator::new("", "ImageDecoder", 20)
    .attrs(&[default(STRING, "pixel_format", "\"RGB\"")])
    .effects(Effects::TRAPS)
    .infer(spatial::image_decoder)
    .doc("The pixels of an encoded image.");

const MAX_ROI_POOL: Operator = Operator::new("", "MaxRoiPool", 22)
    .inputs(2, 2)
    .attrs(&[required(INTS, "pooled_shape"), default(FLOAT, "spatial_scale", "1.0")])
    .effects(Effects::TRAPS)
    .infer(spatial::max_roi_pool)
    .doc("Maxima over a grid in each region of interest.");

const NON_MAX_SUPPRESSION: Operator = Operator::new("", "NonMaxSuppression", 11)
    .inputs(2, 5)
    .attrs(&[default(INT, "center_point_box", "0")])
    .infer(misc::non_max_suppression)
    .doc("Boxes that overlap no better one.");

const RESIZE: Operator = Operator::new("", "Resize", 19)
    .compute(kernels::spatial::resize)
    .inputs(1, 4)
    .attrs(&[
        default(INT, "antialias", "0"),
        optional(INTS, "axes"),
        default(STRING, "coordinate_transformation_mode", "\"half_pixel\""),
        default(FLOAT, "cubic_coeff_a", "-0.75"),
        default(INT, "exclude_outside", "0"),
        default(FLOAT, "extrapolation_value", "0.0"),
        default(STRING, "keep_aspect_ratio_policy", "\"stretch\""),
        default(STRING, "mode", "\"nearest\""),
        default(STRING, "nearest_mode", "\"round_prefer_floor\""),
    ])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(spatial::resize)
    .doc("A tensor resized by interpolation.");

const ROI_ALIGN: Operator = Operator::new("", "RoiAlign", 22)
    .inputs(3, 3)
    .attrs(&[
        default(STRING, "coordinate_transformation_mode", "\"half_pixel\""),
        default(STRING, "mode", "\"avg\""),
        default(INT, "output_height", "1"),
        default(INT, "output_width", "1"),
        default(INT, "sampling_ratio", "0"),
        default(FLOAT, "spatial_scale", "1.0"),
    ])
    .effects(Effects::TRAPS)
    .infer(spatial::roi_align)
    .doc("Averages of interpolated samples in each region of interest.");

const SPACE_TO_DEPTH: Operator = Operator::new("", "SpaceToDepth", 28)
    .compute(kernels::movement::space_to_depth)
    .attrs(&[required(INT, "blocksize"), default(STRING, "mode", "\"DCR\"")])
    .fusion(FusionKind::INJECTIVE)
    .infer(spatial::space_to_depth)
    .doc("Blocks of space laid out in channels.");

const UPSAMPLE: Operator = Operator::new("", "Upsample", 10)
    .compute(kernels::spatial::upsample)
    .inputs(2, 2)
    .attrs(&[default(STRING, "mode", "\"nearest\"")])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(spatial::upsample)
    .doc("A tensor upsampled by interpolation.");

relais_plugin_api::prelude::operators! { OPERATORS }
