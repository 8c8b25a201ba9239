//! Operators that are defined by other operators.
#![forbid(unsafe_code)]

use relais_plugin_api::{
    ir::attr_kind,
    op::{AttrSchema, Required},
    prelude::*,
};

plugin! { description = "operators with bodies" }

const fn optional(name: &'static str, kind: u8, default: &'static str) -> AttrSchema {
    AttrSchema { name, kind, required: Required::No, default }
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
        // `Softmax` means something else from version 13 on.
        Operator::new("acme", "Old", 1).body(r#"def @Old(%x) #[opset = {"": 11}] { Softmax(%x) }"#),
        Operator::new("acme", "Ping", 1).body(r#"def @Ping(%x) #[opset = {"": 13, "acme": 1}] { acme::Pong(%x) }"#),
        Operator::new("acme", "Pong", 1).body(r#"def @Pong(%x) #[opset = {"": 13, "acme": 1}] { acme::Ping(%x) }"#),
    ]
}
