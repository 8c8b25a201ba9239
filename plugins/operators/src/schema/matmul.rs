//! Matrix products.

use super::{
    attr::{ANY, FLOAT, INT, STRING, default, required},
    formals,
};
use crate::gradients;
use crate::kernels;
use crate::relations::matmul;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    DET,
    DET.since(11),
    EINSUM,
    EINSUM.since(12),
    GEMM,
    GEMM.since(11),
    GEMM.since(9).inputs(3, 3),
    GEMM.since(7).inputs(3, 3),
    GEMM.since(6).inputs(3, 3).attrs(&[
        default(FLOAT, "alpha", "1.0"),
        default(FLOAT, "beta", "1.0"),
        default(INT, "broadcast", "0"),
        default(INT, "transA", "0"),
        default(INT, "transB", "0"),
    ]),
    GEMM.since(1).inputs(3, 3).attrs(&[
        default(FLOAT, "alpha", "1.0"),
        default(FLOAT, "beta", "1.0"),
        default(INT, "broadcast", "0"),
        default(INT, "transA", "0"),
        default(INT, "transB", "0"),
    ]),
    MAT_MUL,
    MAT_MUL.since(9),
    MAT_MUL.since(1),
    MAT_MUL_INTEGER,
];

const DET: Operator = Operator::new("", "Det", 22).infer(matmul::det).doc("The determinant of square matrices.");

const EINSUM: Operator = Operator::new("", "Einsum", 28)
    .macs("?")
    .compute(kernels::matmul::einsum)
    .inputs(1, ANY)
    .attrs(&[required(STRING, "equation")])
    .infer(matmul::einsum)
    .doc("Einstein's summation convention.");

const GEMM: Operator = Operator::new("", "Gemm", 13)
    .macs("y0 * x0 / y0[0]")
    .gradient_of(gradients::matmul::gemm)
    .compute(kernels::matmul::gemm)
    .inputs(2, 3)
    .attrs(&[
        default(FLOAT, "alpha", "1.0"),
        default(FLOAT, "beta", "1.0"),
        default(INT, "transA", "0"),
        default(INT, "transB", "0"),
    ])
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(matmul::gemm)
    .doc("A matrix product, scaled, plus a scaled third matrix.");

const MAT_MUL: Operator = Operator::new("", "MatMul", 13)
    .macs("y0 * x0[-1]")
    .gradient_of(gradients::matmul::mat_mul)
    .compute(kernels::matmul::mat_mul)
    .inputs(2, 2)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(matmul::matmul)
    .doc("Matrix product, as NumPy's.");

const MAT_MUL_INTEGER: Operator = Operator::new("", "MatMulInteger", 10)
    .macs("y0 * x0[-1]")
    .compute(kernels::matmul::mat_mul_integer)
    .inputs(2, 4)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(matmul::matmul_integer)
    .doc("Matrix product of 8-bit integers into 32-bit ones.");

relais_plugin_api::prelude::operators! { OPERATORS }
