//! Operators whose type relations or evaluators lie.

use relais_plugin_api::{
    ir::{MOST_NEW_TYPES, StrId, TypeId},
    prelude::*,
};

const DOMAIN: &str = "untrue";

operators! {
    &[
        Operator::new(DOMAIN, "BadId", 1).infer(bad_id).doc("Gives a type that does not exist."),
        Operator::new(DOMAIN, "ManyTypes", 1).infer(many_types).doc("Adds types without an end."),
        Operator::new(DOMAIN, "Symbol", 1).infer(symbol).doc("Gives a size a name that nobody gave."),
        Operator::new(DOMAIN, "BadValue", 1).infer(bad_value).doc("Gives known integers of a type that has none."),
        Operator::new(DOMAIN, "Panics", 1).infer(panics).doc("Panics."),
        Operator::new(DOMAIN, "EvalElem", 1).infer(same).eval(other_elem).doc("Gives elements of another type."),
        Operator::new(DOMAIN, "EvalShape", 1).infer(same).eval(other_shape).doc("Gives another shape."),
        Operator::new(DOMAIN, "EvalCount", 1).infer(same).eval(nothing).doc("Gives no result."),
        Operator::new(DOMAIN, "EvalPanics", 1).infer(same).eval(eval_panics).doc("Panics."),
        Operator::new(DOMAIN, "Honest", 1).infer(same).eval(argument).doc("Nothing wrong."),
    ]
}

fn same(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let ty = cx.input_id(0);
    cx.set_output(0, ty);
    Ok(())
}

fn bad_id(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    cx.set_output(0, TypeId(123_456));
    Ok(())
}

fn many_types(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    for size in 0..=MOST_NEW_TYPES as u64 {
        cx.set_tensor(0, ElemType::FLOAT, &[Dim::Static(1_000_000 + size)]);
    }
    Ok(())
}

fn symbol(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    cx.set_tensor(0, ElemType::FLOAT, &[Dim::Symbol(StrId(4))]);
    Ok(())
}

fn bad_value(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let ty = cx.input_id(0);
    cx.set_output(0, ty);
    cx.set_value(0, &[Dim::Symbol(StrId(4))]);
    Ok(())
}

fn panics(_: &mut InferCx<'_>) -> Result<(), OpError> {
    panic!("a type relation of a careless author");
}

fn argument(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    let result = cx.require(0)?.clone();
    cx.output(result);
    Ok(())
}

fn other_elem(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    cx.output(Tensor::from_i64(&[2], &[1, 2]));
    Ok(())
}

fn other_shape(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    cx.output(Tensor::from_f32(&[5], &[0.0; 5]));
    Ok(())
}

fn nothing(_: &mut EvalCx<'_>) -> Result<(), OpError> {
    Ok(())
}

fn eval_panics(_: &mut EvalCx<'_>) -> Result<(), OpError> {
    panic!("an evaluator of a careless author");
}
