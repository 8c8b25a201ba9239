//! Two operators, an evaluator, and a pass that uses them.

use relais_plugin_api::{
    infer::Coverage,
    op::{Effects, Evaluator, FusionKind},
    prelude::*,
};

fn same(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let ty = cx.input_id(0);
    cx.set_output(0, ty);
    Ok(())
}

fn faulty(_: &mut InferCx<'_>) -> Result<(), OpError> {
    panic!("in a type relation")
}

fn identity(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    let input = cx.require(0)?.clone();
    cx.output(input);
    Ok(())
}

operators! {
    &[
        Operator::new("", "Relu", 6).fusion(FusionKind::ELEMWISE).infer(same).doc("Rectifies."),
        Operator::new("", "Relu", 14).fusion(FusionKind::ELEMWISE).infer(same).doc("Rectifies more types."),
        Operator::new("sample", "Faulty", 1).infer(faulty),
        Operator::new("sample", "Random", 1).inputs(0, 2).effects(Effects::RANDOM),
    ]
}

evaluators! { &[Evaluator { domain: "", name: "Relu", since_version: 1, eval: identity }] }

/// Infers types, and says what it knows.
#[function_pass(name = "sample.Types")]
fn types(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let mut ops = cx.ops(edit.function());
    for id in edit.function().bindings(edit.function().body()) {
        let Some(call) = edit.function().call(*id) else { continue };
        let Some(facts) = ops.of(call) else { continue };
        let said = format!(
            "{} {} since {} eval {} effects {}",
            call.op_name(),
            facts.is_known(),
            facts.since_version,
            facts.has_eval(),
            facts.effects.0
        );
        cx.diagnostic(Diagnostic::note(said).at(*id));
    }
    for fault in ops.infer_types(edit.function_mut(), Coverage::Everything).faults {
        cx.diagnostic(Diagnostic::warning(fault.error).at(fault.node));
    }
    Ok(())
}
