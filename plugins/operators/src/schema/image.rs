//! Images: sampling, regions and grids.

use super::{
    precision,
    versions::{all, count},
};
use crate::{bodies, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] =
    &[AFFINE_GRID, COL2IM, GRID_SAMPLE, IMAGE_DECODER, MAX_ROI_POOL, NON_MAX_SUPPRESSION, ROI_ALIGN];

const AFFINE_GRID: Operator = Operator::new("", "AffineGrid", 20)
    .effects(Effects::TRAPS)
    .infer(relations::image::affine_grid)
    .body_of(bodies::image::affine_grid)
    .precision(precision::PLACES)
    .doc("Sampling positions of an affine transformation.");

const COL2IM: Operator = Operator::new("", "Col2Im", 18)
    .effects(Effects::TRAPS)
    .infer(relations::image::col2im)
    .doc("Columns of overlapping blocks summed into an image.");

const GRID_SAMPLE: Operator = Operator::new("", "GridSample", 22)
    .infer(relations::image::grid_sample)
    .precision(precision::PLACES)
    .doc("Samples at the positions of a grid.");

const IMAGE_DECODER: Operator = Operator::new("", "ImageDecoder", 20)
    .effects(Effects::TRAPS)
    .infer(relations::image::image_decoder)
    .doc("The pixels of an encoded image.");

const MAX_ROI_POOL: Operator = Operator::new("", "MaxRoiPool", 22)
    .effects(Effects::TRAPS)
    .infer(relations::image::max_roi_pool)
    .precision(precision::PLACES)
    .doc("Maxima over a grid in each region of interest.");

const NON_MAX_SUPPRESSION: Operator = Operator::new("", "NonMaxSuppression", 11)
    .infer(relations::image::non_max_suppression)
    .doc("Boxes that overlap no better one.");

const ROI_ALIGN: Operator = Operator::new("", "RoiAlign", 22)
    .effects(Effects::TRAPS)
    .infer(relations::image::roi_align)
    .precision(precision::PLACES)
    .doc("Averages of interpolated samples in each region of interest.");

relais_plugin_api::prelude::operators! { OPERATORS }
