//! The constant weights of dense layers are transposed, so that those of one input are adjacent.
//!
//! ```text
//! %y = Gemm(%x, %w, %b, transB = 1);
//! ```
//! becomes
//! ```text
//! %y = Gemm(%x, %v, %b, transB = 0);
//! ```
//!
//! where `%v` is `%w` transposed. Weights that something else uses stay, as they would be there twice. A loop over the outputs of
//! a layer then reads adjacent elements, of which compilers make vectors; `relais build` does so. Runtimes order weights as they
//! need them: no other built-in pipeline has the pass.

use relais_plugin_api::prelude::*;

/// Transposes the constant weights of dense layers.
#[rule_pass(name = "relais.TransposeWeights", opt_level = 0, required = ["relais.InferType"])]
const TRANSPOSE_WEIGHTS: &str = "
    dense: @7 Gemm{transB = 1, ..}(a, const b, ?c) as gemm
        => like gemm{transB = 0}(a, eval(Transpose{perm = [1, 0]}(b)), c) if users(b) == 1
";
