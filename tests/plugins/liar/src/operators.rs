//! The operators, and an instrument.

use relais_plugin_api::prelude::*;

const DOMAIN: &str = "liar";

operators! {
    &[
        Operator::new(DOMAIN, "Panics", 1).inputs(1, 2).infer(panics).doc("A type relation that is not total."),
        Operator::new(DOMAIN, "Contradicts", 1).infer(same_type).eval(gives_scalar).doc("Two truths."),
        Operator::new(DOMAIN, "EvalPanics", 1).infer(same_type).eval(eval_panics).doc("An evaluator that is not total."),
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
