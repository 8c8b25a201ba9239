//! The operators, and an instrument.

use relais_plugin_api::{ir::TypeId, op::OpCall, prelude::*};
use std::sync::atomic::{AtomicBool, Ordering};

const DOMAIN: &str = "liar";

operators! {
    &[
        Operator::new(DOMAIN, "Panics", 1).inputs(1, 2).infer(panics).doc("A type relation that is not total."),
        Operator::new(DOMAIN, "NoSuchType", 1).infer(no_such_type).doc("A type that nothing added."),
        Operator::new(DOMAIN, "Contradicts", 1).infer(same_type).eval(gives_scalar).doc("Two truths."),
        Operator::new(DOMAIN, "EvalPanics", 1).infer(same_type).eval(eval_panics).doc("An evaluator that is not total."),
        Operator::new(DOMAIN, "VerifyPanics", 1).infer(same_type).verify(verify_panics).doc("A verifier that is not total."),
        Operator::new(DOMAIN, "Moody", 1).infer(same_type).verify(moody).doc("A verifier that changes its mind."),
        Operator::new(DOMAIN, "BodyPanics", 1).infer(same_type).body_of(body_panics).doc("A body that is not total."),
        Operator::new(DOMAIN, "BodyContradicts", 1).infer(same_type).body_of(other_body).doc("Two truths."),
        Operator::new(DOMAIN, "Defined", 1).infer(same_type).body_of(own_body).verify(is_known).doc("Nothing wrong."),
        Operator::new(DOMAIN, "Honest", 1).infer(same_type).eval(gives_argument).doc("Nothing wrong."),
    ]
}

fn panics(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let dims = cx.dims(0).ok_or_else(|| OpError::unsupported("the rank is unknown"))?;
    // A scalar has no last dimension.
    let last = dims[dims.len() - 1];
    cx.set_tensor(0, ElemType::FLOAT, &[last]);
    Ok(())
}

fn no_such_type(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    cx.set_output(0, TypeId(123_456));
    Ok(())
}

fn same_type(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let ty = cx.input_id(0);
    cx.set_output(0, ty);
    Ok(())
}

fn gives_argument(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    let result = cx.require(0)?.clone();
    cx.output(result);
    Ok(())
}

fn gives_scalar(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    cx.output(Tensor::from_i64(&[], &[1]));
    Ok(())
}

fn eval_panics(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    let input = cx.require(0)?.clone();
    assert_ne!(input.dims(), [2, 3], "of all shapes, this one");
    cx.output(input);
    Ok(())
}

fn verify_panics(call: &OpCall<'_>) -> Result<(), OpError> {
    let dims = call.dims(0).ok_or_else(|| OpError::unsupported("the rank is unknown"))?;
    assert_ne!(dims.len(), 1, "of all ranks, this one");
    Ok(())
}

fn moody(_: &OpCall<'_>) -> Result<(), OpError> {
    static WAS_CALLED: AtomicBool = AtomicBool::new(false);
    match WAS_CALLED.fetch_xor(true, Ordering::Relaxed) {
        true => Err(OpError::invalid("not again")),
        false => Ok(()),
    }
}

fn body_panics(call: &OpCall<'_>) -> Result<String, OpError> {
    assert_ne!(call.dims(0).map(|dims| dims.len()), Some(2), "of all ranks, this one");
    own_body(call)
}

fn own_body(_: &OpCall<'_>) -> Result<String, OpError> {
    Ok(r#"def @Body(%x) #[opset = {"": 17}] { Identity(%x) }"#.to_owned())
}

fn other_body(_: &OpCall<'_>) -> Result<String, OpError> {
    Ok(r#"def @Body(%x) #[opset = {"": 17}] { Shape(%x) }"#.to_owned())
}

fn is_known(call: &OpCall<'_>) -> Result<(), OpError> {
    if call.has_arg(0) { Ok(()) } else { Err(OpError::invalid("its argument is missing")) }
}

/// The state of [`Watch`]: nothing.
#[derive(Default)]
pub struct Watch;

/// Panics when a pass ran.
#[instrument(name = "liar.Watch")]
impl Instrument for Watch {
    fn after(&self, _: &IRModule, _: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        panic!("it was not prepared for that");
    }
}
