//! Operators whose type relations, evaluators, bodies, gradients or verifiers lie.

use relais_plugin_api::{
    ir::{MOST_NEW_TYPES, StrId, TypeId, attr_kind},
    op::{AttrSchema, OpCall, Required},
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
        Operator::new(DOMAIN, "BodyText", 1).infer(same).body_of(no_program).doc("Its body is not a program."),
        Operator::new(DOMAIN, "BodyCount", 1).infer(same).body_of(two_results).doc("Its body has two results."),
        Operator::new(DOMAIN, "BodyLong", 1).infer(same).body_of(long_text).doc("Its body is a million characters long."),
        Operator::new(DOMAIN, "BodyPanics", 1).infer(same).body_of(body_panics).doc("Panics."),
        Operator::new(DOMAIN, "BodyType", 1).body_of(other_body).infer(same).doc("Its body gives another type."),
        Operator::new(DOMAIN, "GradientText", 1).infer(same).gradient_of(no_program).doc("Its gradient is not a program."),
        Operator::new(DOMAIN, "GradientCount", 1).infer(same).gradient_of(one_parameter).doc("Its gradient has one parameter."),
        Operator::new(DOMAIN, "GradientLong", 1).infer(same).gradient_of(long_text).doc("Its gradient is a million characters long."),
        Operator::new(DOMAIN, "GradientType", 1).infer(same).gradient_of(integers).doc("Its gradient gives another type."),
        Operator::new(DOMAIN, "GradientPanics", 1).infer(same).gradient_of(body_panics).doc("Panics."),
        Operator::new(DOMAIN, "Groups", 1).attrs(GROUPS).infer(same).verify(groups).doc("Takes one group or more."),
        Operator::new(DOMAIN, "VerifyLong", 1).infer(same).verify(long_error).doc("Refuses in a million characters."),
        Operator::new(DOMAIN, "VerifyPanics", 1).infer(same).verify(verify_panics).doc("Panics."),
        Operator::new(DOMAIN, "VerifyKind", 1).infer(same).verify(no_kind).doc("Refuses for no reason that there is."),
    ]
}

const GROUPS: &[AttrSchema] =
    &[AttrSchema { name: "groups", kind: attr_kind::INT, required: Required::No, default: "1" }];

fn no_program(_: &OpCall<'_>) -> Result<String, OpError> {
    Ok("def @Body(%x) { no program".to_owned())
}

fn two_results(_: &OpCall<'_>) -> Result<String, OpError> {
    Ok(r#"def @Body(%x) #[opset = {"": 17}] { (%x, %x) }"#.to_owned())
}

fn long_text(_: &OpCall<'_>) -> Result<String, OpError> {
    Ok("x".repeat(1_000_000))
}

fn body_panics(_: &OpCall<'_>) -> Result<String, OpError> {
    panic!("a body of a careless author");
}

fn other_body(_: &OpCall<'_>) -> Result<String, OpError> {
    Ok(r#"def @Body(%x) #[opset = {"": 17}] { Cast(%x, to = 7) }"#.to_owned())
}

fn one_parameter(_: &OpCall<'_>) -> Result<String, OpError> {
    Ok(r#"def @Gradient(%x) #[opset = {"": 17}] { %x }"#.to_owned())
}

fn integers(_: &OpCall<'_>) -> Result<String, OpError> {
    Ok(r#"def @Gradient(%x, %y, %dy) #[opset = {"": 17}] { Cast(%dy, to = 7) }"#.to_owned())
}

fn groups(call: &OpCall<'_>) -> Result<(), OpError> {
    match call.attrs().int("groups") {
        Some(groups) if groups < 1 => Err(OpError::invalid(format_args!("attribute `groups` is {groups}"))),
        _ => Ok(()),
    }
}

fn long_error(_: &OpCall<'_>) -> Result<(), OpError> {
    Err(OpError::invalid("y".repeat(1_000_000)))
}

fn verify_panics(_: &OpCall<'_>) -> Result<(), OpError> {
    panic!("a verifier of a careless author");
}

fn no_kind(_: &OpCall<'_>) -> Result<(), OpError> {
    Err(OpError { kind: 77, ..OpError::invalid("there is no such kind") })
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
