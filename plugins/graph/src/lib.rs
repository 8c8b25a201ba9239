//! The graph passes shipped with Relais. One pass, one file, one name.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `numbers`: the limits of rewrites on numbers: the rules N1 to N3 and N7 of `docs/numbers.md`, once for all
//!    passes
//! 2. `affine`: scale and shift for each channel, `y = x * scale + shift` along axis 1: what a batch normalisation in
//!    inference, and arithmetic with a constant for each channel, have in common
//! 3. `axes`: the axes that calls name, counted from the first
//! 4. `layout`: the places of transposes: each value is computed with its axes in that order in which fewest
//!    transposes are left
//! 5. `combine`: two multiplications, or two additions, by constants as one
//! 6. `bytes`: how many bytes constants take
//! 7. `combine_parallel`: several calls with one input and weights of their own as one call, whose result is split:
//!    what the passes `CombineParallelConv2D`, `CombineParallelDense` and `CombineParallelBatchMatmul` have in common
//! 8. `inline`: replaces calls of the module's own functions by their bodies
//! 9. `counted`: counting the fates of bindings, in addition to the code that decides them
//! 10. `dead_code_elimination`: removes bindings whose value is not used and whose execution has no effect
//! 11. `eliminate_no_op`: removes calls whose result is their argument
//! 12. `exact`: N6: which operators every runtime computes to the same bits
//! 13. `fold_work`: the work that folding may take to compute values
//! 14. `fold_groups`: calls of constants that are worth folding together, although each of them alone would enlarge
//!     the model
//! 15. `fold_constant`: evaluates what can be known before the model runs
//! 16. `computed`: values that follow from constants, where a pass needs one that is not folded yet
//! 17. `opset_changes`: the changes of ONNX's operators from one version of the operator set to the next, and back
//! 18. `precision`: the part of a function that is computed in a lower precision: which calls, and which values are
//!     of that precision then
//! 19. `shape_entries`: the entries of a computed shape, as far as they are known
//! 20. `to_a_normal_form`: makes every binding a named one: `%3 = …` becomes `let %3 = …`

use relais_plugin_api::prelude::*;

mod affine;
pub mod alter_op_layout;
mod axes;
pub mod backward_fold_scale_axis;
mod bytes;
pub mod canonicalize_cast;
pub mod cast_like_to_cast;
mod combine;
mod combine_parallel;
pub mod combine_parallel_batch_matmul;
pub mod combine_parallel_conv2d;
pub mod combine_parallel_dense;
mod computed;
pub mod convert_layout;
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
mod fold_work;
pub mod forward_fold_scale_axis;
pub mod fuse_activation;
pub mod fuse_attention;
pub mod fuse_gemm;
pub mod fuse_layer_normalization;
pub mod fuse_ops;
pub mod fuse_pad;
pub mod fuse_rms_normalization;
pub mod fuse_rotary_embedding;
pub mod fuse_swish;
pub mod infer_type;
pub mod inline;
pub mod lambda_lift;
mod layout;
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
pub mod sizes;
pub mod to_a_normal_form;
pub mod to_basic_block_normal_form;
pub mod to_graph_normal_form;
pub mod to_mixed_precision;
pub mod transpose_weights;

plugin! { description = "The graph passes shipped with Relais." }
