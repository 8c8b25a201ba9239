//! Gives calls whose shapes are computed the shapes that follow from what is known: types are inferred and constants are
//! folded until nothing changes.
//!
//! ```text
//! %1 = Shape(%x);                       // %x: Tensor[(2, 3), float32]
//! %2 = Mul(%1, const(int64, [2, 1]));
//! %3 = Expand(%y, %2);
//! ```
//! becomes
//! ```text
//! %3: Tensor[(4, 3), float32] = Expand(%y, const(int64, [4, 3]));
//! ```
//!
//! In ONNX a shape is an argument, which is a constant or not: there is no second operator for shapes that are not known,
//! as in TVM. Sizes of inputs are made known by `--input-shape`.

use relais_plugin_api::prelude::*;

/// Makes constants of shapes that follow from what is known.
#[sequential_pass(
    name = "relais.DynamicToStatic",
    aliases = ["relay._transform.DynamicToStatic"],
    opt_level = 2,
    passes = ["relais.InferType", "relais.FoldConstant", "relais.InferType", "relais.FoldConstant"],
)]
pub fn dynamic_to_static() {}
