use relais_plugin_api::{
    op::{Addition, Evaluator},
    prelude::*,
};

const GELU: Operator = Operator::new("acme", "Gelu", 1);

const RELU: Operator = Operator::new("", "Relu", 14).properties(&[("acme.engine", "vector")]);

operators! { &[GELU, Operator::new("acme", "Gelu", 2), GELU.doc("Once more.")] }

additions! { &[Addition::of(RELU).target("cpu"), Addition::of(RELU).target("npu"), Addition::of(RELU).target("cpu")] }

fn evaluate(_: &mut EvalCx<'_>) -> Result<(), OpError> {
    Ok(())
}

const EVALUATOR: Evaluator = Evaluator { domain: "acme", name: "Erf", since_version: 1, eval: evaluate };

evaluators! { &[EVALUATOR, EVALUATOR] }

fn main() {}
