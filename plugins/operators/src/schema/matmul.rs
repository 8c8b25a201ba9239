//! Matrix products.

use super::{
    precision,
    versions::{all, count},
};
use crate::{gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[DET, GEMM, MAT_MUL, MAT_MUL_INTEGER, QLINEAR_MAT_MUL];

const DET: Operator = Operator::new("", "Det", 22)
    .infer(relations::matmul::det)
    .precision(precision::SUMS)
    .doc("The determinant of square matrices.");

const GEMM: Operator = Operator::new("", "Gemm", 13)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .macs("y0 * x0 / y0[0]")
    .infer(relations::matmul::gemm)
    .compute(kernels::matmul::gemm)
    .gradient_of(gradients::matmul::gemm)
    .precision(Precision::Lower)
    .doc("A matrix product, scaled, plus a scaled third matrix.");

const MAT_MUL: Operator = Operator::new("", "MatMul", 13)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .macs("y0 * x0[-1]")
    .infer(relations::matmul::matmul)
    .compute(kernels::matmul::mat_mul)
    .gradient_of(gradients::matmul::mat_mul)
    .precision(Precision::Lower)
    .doc("Matrix product, as NumPy's.");

const MAT_MUL_INTEGER: Operator = Operator::new("", "MatMulInteger", 10)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .macs("y0 * x0[-1]")
    .infer(relations::matmul::matmul_integer)
    .compute(kernels::matmul::mat_mul_integer)
    .doc("Matrix product of 8-bit integers into 32-bit ones.");

const QLINEAR_MAT_MUL: Operator = Operator::new("", "QLinearMatMul", 21)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .macs("y0 * x0[-1]")
    .infer(relations::matmul::qlinear_matmul)
    .doc("Matrix product of quantised tensors.");

relais_plugin_api::prelude::operators! { OPERATORS }
