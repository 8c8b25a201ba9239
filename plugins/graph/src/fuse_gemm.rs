//! A product of matrices and what is added to it are one `Gemm`.
//!
//! ```text
//! %1 = MatMul(%a, %b);
//! %2 = Add(%1, %c);
//! ```
//! becomes
//! ```text
//! %2 = Gemm(%a, %b, %c);
//! ```
//!
//! So are a `Gemm` without a summand and what is added to it. A transposed factor or result becomes an attribute of the
//! `Gemm`. The summand must broadcast to the product. Results may be rounded differently, within the bound that
//! `docs/numbers.md` states. Products of integers stay, because runtimes have no `Gemm` for them.

use relais_plugin_api::prelude::*;

/// Makes one `Gemm` of a `MatMul` of matrices and an `Add`, and takes up transposed factors and results.
#[rule_pass(name = "relais.FuseGemm", opt_level = 2, required = ["relais.InferType"])]
const FUSE_GEMM: &str = "
    sum: @7 Add(MatMul(a, b) as ab, c) => Gemm(a, b, c)
        if rank(a) == 2, rank(b) == 2, broadcasts(c, ab), elem(a) in {float16, float32, float64}, users(ab) == 1;
    second_sum: @11 (Add(Gemm{beta = _, ..}(a, b) as gemm, c) | Sum(Gemm{beta = _, ..}(a, b) as gemm, c)
        | Sum(c, Gemm{beta = _, ..}(a, b) as gemm)) => like gemm{beta = 1.0}(a, b, c)
        if broadcasts(c, gemm), elem(a) in {float16, float32, float64}, users(gemm) == 1;
    left: @7 Gemm{transA = t, ..}(Transpose{perm = [1, 0]}(a), b, ?c) as gemm => like gemm{transA = 1 - t}(a, b, c);
    right: @7 Gemm{transB = t, ..}(a, Transpose{perm = [1, 0]}(b), ?c) as gemm => like gemm{transB = 1 - t}(a, b, c);
    product: @11 Transpose{perm = [1, 0]}(MatMul(a, b)) => Gemm{transA = 1, transB = 1}(b, a)
        if rank(a) == 2, rank(b) == 2, elem(a) in {float16, float32, float64};
    result: @11 Transpose{perm = [1, 0]}(Gemm{transA = s, transB = t, ..}(a, b) as gemm) =>
        like gemm{transA = 1 - t, transB = 1 - s}(b, a) if elem(a) in {float16, float32, float64}
";
