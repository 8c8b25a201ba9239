use relais_plugin_api::{op::Addition, prelude::*};

const NO_END: Operator = Operator::new("acme", "NoEnd", 1)
    .body(r#"def @NoEnd(%x) #[opset = {"": 13}] { %1 = Sigmoid(%x; Mul(%x, %1) }"#);

const NO_STRING: Operator = Operator::new("acme", "NoString", 1).doc("It is in its second line.").body(
    r#"def @NoString(%x) #[opset = {"": 13}] {
  Pad(%x, mode = "edge)
}"#,
);

const NO_FUNCTION: Operator = Operator::new("acme", "NoFunction", 1).body("Sigmoid(%x)");

operators! { &[Operator::new("acme", "NoOpset", 1).body("def @NoOpset(%x) { Sigmoid(%x) }")] }

additions! { &[Addition::of(Operator::new("", "Softplus", 1).body(r#"def @Softplus(%x) #[opset = {"": 13}] "#))] }

fn main() {}
