//! Contradictions of others: a kernel of the same rank, a second description, an addition to nothing.
#![forbid(unsafe_code)]

use relais_plugin_api::{
    op::{Addition, Kernel, OpCall},
    prelude::*,
};

plugin! { description = "another accelerator's, of the same target" }

fn nothing(_: &OpCall<'_>, _: &mut Kernel<'_>) -> Result<(), OpError> {
    Err(OpError::unsupported("the rival multiplies nothing"))
}

operators! { &[Operator::new("", "Softsign", 1).inputs(1, 1)] }

additions! {
    &[
        Addition::of(Operator::new("", "MatMul", 13).compute(nothing)).target("npu"),
        Addition::of(Operator::new("", "Gemm", 12).macs("x0")).priority(1),
        Addition::of(Operator::new("acme.nowhere", "Op", 3).macs("x0")),
    ]
}
