//! The parts that a vendor of an accelerator adds to operators of the shipped plugin.
#![forbid(unsafe_code)]

use relais_plugin_api::{
    op::{Addition, Kernel, Layout, OpCall},
    prelude::*,
};

plugin! { description = "kernels and layouts of an accelerator" }

/// A product of two matrices, each sum in memory; others are left to the kernel of the plugin that describes the operator.
fn mat_mul(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let (a, b, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    let (left, right, elem) = (kernel.sizes(a), kernel.sizes(b), kernel.elem(y));
    let ([m, k], [_, n]) = (&left[..], &right[..]) else {
        return Err(OpError::unsupported("the accelerator multiplies two matrices"));
    };
    kernel.each_of_all(&[*m, *n], |loops, at| {
        let (row, column) = (at[0], at[1]);
        let zero = loops.num(elem, 0.0);
        loops.store(y, zero, &[row, column]);
        let extent = loops.index(*k as i64);
        loops.each(extent, |loops, inner| {
            let sum = loops.load(y, &[row, column]);
            let (x, w) = (loops.load(a, &[row, inner]), loops.load(b, &[inner, column]));
            let product = loops.mul(x, w);
            let sum = loops.add(sum, product);
            loops.store(y, sum, &[row, column]);
        });
    });
    Ok(())
}

operators! {
    &[Operator::new("acme.npu", "PoolLast", 1).body(
        r#"def @PoolLast(%x) #[opset = {"": 13}] {
            %1 = Transpose(%x, perm = [0, 3, 1, 2]);
            %2 = GlobalAveragePool(%1);
            Transpose(%2, perm = [0, 2, 3, 1])
        }"#,
    )]
}

additions! {
    &[
        Addition::of(Operator::new("", "MatMul", 13).compute(mat_mul)).target("npu"),
        Addition::of(
            Operator::new("", "GlobalAveragePool", 1).layouts(&[Layout::new("NHWC->NHWC").of("acme.npu::PoolLast")]),
        )
        .priority(1),
        // The description says how many; another number, by its rank, does not count.
        Addition::of(Operator::new("", "MatMul", 13).macs("x0").properties(&[("acme.engine", "systolic")])),
        Addition::of(Operator::new("", "Softplus", 1).macs("y0")).priority(3),
    ]
}

/// Says that it ran.
#[module_pass(name = "acme.npu.Place", opt_level = 1, extends = "last", target = "npu")]
fn place(_: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.diagnostic(Diagnostic::warning("placed on the accelerator"));
    Ok(())
}

pipeline! { name = "build-npu", toml = "steps = [{ include = \"builtin:build-c\" }]" }
