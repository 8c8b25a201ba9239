//! An operator that says what it computes, and the rule that finds what it stands for.

use relais_plugin_api::{op::FusionKind, prelude::*};

plugin! { description = "SiLU as one operator" }

operators! {
    &[Operator::new("acme", "Silu", 1)
        .fusion(FusionKind::ELEMWISE)
        .body(r#"def @Silu(%x) #[opset = {"": 13}] { %sigmoid = Sigmoid(%x); Mul(%x, %sigmoid) }"#)
        .doc("The product of a value and its sigmoid.")]
}

/// Makes one call of the parts of SiLU.
#[rule_pass(name = "acme.FuseSilu", opt_level = 1)]
const FUSE_SILU: &str = "silu: Mul(x, Sigmoid(x)) => acme::Silu(x)";

#[cfg(test)]
mod tests {
    use relais_graph as _;
    use relais_operators as _;
    use relais_plugin_api::testing::{self, Trial};

    #[test]
    fn the_parts_become_one_call() {
        let text = "def @main(%x) #[opset = {\"\": 18}] { %s = Sigmoid(%x); %y = Mul(%s, %x); %y }";
        let after = testing::run("acme.FuseSilu", text);
        assert!(after.contains("%y = acme::Silu(%x);") && after.contains("\"acme\": 1"), "{after}");
    }

    #[test]
    fn a_sigmoid_that_something_else_uses_stays() {
        let text = "def @main(%x) #[opset = {\"\": 18}] { %s = Sigmoid(%x); %y = Mul(%s, %x); (%s, %y) }";
        let outcome = Trial::of("acme.FuseSilu").run(text).unwrap();
        assert!(!outcome.changed && outcome.declined()[0].contains("another user"), "{:?}", outcome.declined());
    }

    #[test]
    fn the_body_gives_the_types() {
        let text = "def @main(%x: Tensor[(2, N), float16]) #[opset = {\"acme\": 1}] { %y = acme::Silu(%x); %y }";
        let typed = testing::infer(text).unwrap();
        assert!(typed.contains("%y: Tensor[(2, N), float16]"), "{typed}");
    }
}
