//! The graph passes shipped with Relais. One pass, one file, one name.

use relais_plugin_api::prelude::*;

mod affine;
mod axes;
pub mod backward_fold_scale_axis;
pub mod canonicalize_cast;
pub mod cast_like_to_cast;
mod combine;
mod combine_parallel;
pub mod combine_parallel_batch_matmul;
pub mod combine_parallel_conv2d;
pub mod combine_parallel_dense;
pub mod convert_opset;
mod counted;
pub mod dead_code_elimination;
pub mod dynamic_to_static;
pub mod eliminate_common_subexpr;
pub mod eliminate_no_op;
mod exact;
pub mod fold_constant;
mod fold_groups;
pub mod fold_scale_axis;
pub mod forward_fold_scale_axis;
pub mod fuse_activation;
pub mod fuse_attention;
pub mod fuse_gemm;
pub mod fuse_layer_normalization;
pub mod fuse_ops;
pub mod fuse_pad;
pub mod fuse_rms_normalization;
pub mod fuse_swish;
pub mod infer_type;
pub mod inline;
pub mod lambda_lift;
mod numbers;
mod opset_changes;
mod precision;
pub mod print_ir;
pub mod remove_unused_functions;
pub mod rewrite;
mod shape_entries;
pub mod simplify_concat;
pub mod simplify_expr;
pub mod simplify_if;
pub mod simplify_inference;
pub mod simplify_quantization;
pub mod simplify_recurrent;
pub mod simplify_reshape;
pub mod simplify_sequence;
pub mod simplify_slice;
pub mod simplify_transpose;
pub mod to_a_normal_form;
pub mod to_basic_block_normal_form;
pub mod to_graph_normal_form;
pub mod to_mixed_precision;

plugin! { description = "The graph passes shipped with Relais." }
