//! Operators that are defined by other operators.
#![forbid(unsafe_code)]

use relais_plugin_api::{
    ir::attr_kind,
    op::{AttrSchema, OpCall, Required},
    prelude::*,
};

plugin! { description = "operators with bodies" }

const fn optional(name: &'static str, kind: u8, default: &'static str) -> AttrSchema {
    AttrSchema { name, kind, required: Required::No, default }
}

fn power(call: &OpCall<'_>) -> Result<String, OpError> {
    let exponent = call.attrs().int("exponent").unwrap_or(1);
    if !(1..=8).contains(&exponent) {
        return Err(OpError::unsupported(format_args!("the exponent {exponent} is not between 1 and 8")));
    }
    let steps: String = (1..exponent).map(|at| format!("%p{} = Mul(%p{at}, %x); ", at + 1)).collect();
    let opset = call.opset_version("").unwrap_or(13);
    Ok(format!(r#"def @Power(%x) #[opset = {{"": {opset}}}] {{ %p1 = Identity(%x); {steps} %p{exponent} }}"#))
}

fn cube_gradient(_: &OpCall<'_>) -> Result<String, OpError> {
    Ok(r#"def @Cube(%x, %y, %dy) #[opset = {"": 13, "acme": 1}] {
        %square = Mul(%x, %x);
        %slope = acme::Thrice(%square);
        Mul(%slope, %dy)
    }"#
    .to_owned())
}

operators! {
    &[
        Operator::new("acme", "Silu", 1)
            .body(r#"def @Silu(%x) #[opset = {"": 13}] { %1 = Sigmoid(%x); Mul(%x, %1) }"#),
        // With an attribute, and an argument that may be absent.
        Operator::new("acme", "Leak", 1)
            .inputs(1, 2)
            .attrs(&[optional("slope", attr_kind::FLOAT, "0.5")])
            .body(
                r#"def @Leak(%x, %low) #[opset = {"": 13}] {
                    %1 = LeakyRelu(%x, alpha = $slope: float);
                    Clip(%1, %low)
                }"#,
            ),
        // With several results, by another operator with a body.
        Operator::new("acme", "Halves", 1)
            .outputs(2, 2)
            .body(
                r#"def @Halves(%x) #[opset = {"": 13, "acme": 1}] {
                    %1 = acme::Silu(%x);
                    %2 = Neg(%1);
                    (%1, %2)
                }"#,
            ),
        Operator::new("acme", "Twice", 1).body(r#"def @Twice(%x) #[opset = {"": 13}] { Add(%x, %x) }"#),
        // With a gradient, by another operator with a body.
        Operator::new("acme", "Cube", 1)
            .body(r#"def @Cube(%x) #[opset = {"": 13}] { %1 = Mul(%x, %x); Mul(%1, %x) }"#)
            .gradient_of(cube_gradient),
        Operator::new("acme", "Thrice", 1).body(r#"def @Thrice(%x) #[opset = {"": 13}] { %1 = Add(%x, %x); Add(%1, %x) }"#),
        // With another body for each exponent.
        Operator::new("acme", "Power", 1).attrs(&[optional("exponent", attr_kind::INT, "1")]).body_of(power),
        // `Softmax` means something else from version 13 on.
        Operator::new("acme", "Old", 1).body(r#"def @Old(%x) #[opset = {"": 11}] { Softmax(%x) }"#),
        Operator::new("acme", "Ping", 1).body(r#"def @Ping(%x) #[opset = {"": 13, "acme": 1}] { acme::Pong(%x) }"#),
        Operator::new("acme", "Pong", 1).body(r#"def @Pong(%x) #[opset = {"": 13, "acme": 1}] { acme::Ping(%x) }"#),
    ]
}
