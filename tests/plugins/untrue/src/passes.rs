//! Passes that break a rule.

use relais_plugin_api::{ir::ConstForm, prelude::*};

/// The part that it breaks.
#[derive(PassOptions)]
enum Breaks {
    /// Another name of the first input.
    InputName,
    /// Another shape of the first input.
    InputShape,
    /// Another input.
    MoreInputs,
    /// Another result, many times.
    ManyOutputs,
    /// A result of another element type.
    OutputType,
    /// A function that is called gets a parameter less.
    Signature,
    /// A function that is called gets a result less.
    FewerResults,
    /// The parameters of a function that is called get another element type.
    OtherParamType,
    /// A function that is called gets another parameter, which is allowed.
    MoreParams,
    /// A call by hand with an attribute that the operator does not have.
    Attribute,
    /// A call by hand that the operator's verifier refuses.
    Verifier,
    /// A call by hand of an operator whose verifier panics.
    VerifierPanics,
}

impl Breaks {
    /// Whether it is a part of a function that is called.
    fn is_of_callee(&self) -> bool {
        matches!(self, Self::Signature | Self::FewerResults | Self::OtherParamType | Self::MoreParams)
    }
}

/// The part that it breaks.
#[derive(PassOptions)]
struct Options {
    /// The part that it breaks.
    breaks: Breaks,
    /// Whether it may change inputs and outputs.
    #[option(default = false)]
    asked: bool,
}

/// Breaks something.
#[module_pass(name = "untrue.Module", changes_interface = "asked")]
fn breaks(module: &mut IRModule, _: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    if options.breaks.is_of_callee() {
        change_callee(module.function_mut("helper").ok_or("there is no function `helper`")?, &options.breaks);
        return Ok(());
    }
    let f = module.function_mut(MAIN).ok_or("there is no entry function")?;
    let (first, body) = (f.params()[0], f.body());
    match options.breaks {
        Breaks::InputName => f.set_name(first, "renamed"),
        Breaks::InputShape => {
            let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(9)]);
            f.set_type(first, ty);
        }
        Breaks::MoreInputs => {
            let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2)]);
            let more = f.add_var("more", ty);
            let params = [f.params(), &[more]].concat();
            f.set_params(f.root(), &params);
        }
        Breaks::ManyOutputs => {
            let result = f.results(body)[0];
            f.set_results(body, &vec![result; 1000]);
        }
        Breaks::OutputType => {
            let cast = f.add_op("", "Cast", "", 0);
            let cast = f.add_call(cast, &[first]);
            f.set_attrs(cast, &[Attr::new("to", 7)]);
            f.append(body, cast);
            f.set_results(body, &[cast]);
        }
        Breaks::Attribute => {
            let op = f.add_op("", "Relu", "", 0);
            let call = f.add_call(op, &[first]);
            f.set_attrs(call, &[Attr::new("alpha", 1.0f32)]);
            f.append(body, call);
        }
        Breaks::Verifier | Breaks::VerifierPanics => {
            let imports = [("", 17), ("untrue", 1)];
            f.set_opset_imports(&imports);
            let is_honest = matches!(options.breaks, Breaks::Verifier);
            let op = f.add_op("untrue", if is_honest { "Groups" } else { "VerifyPanics" }, "", 0);
            let call = f.add_call(op, &[first]);
            let groups = if is_honest { vec![Attr::new("groups", -1)] } else { Vec::new() };
            f.set_attrs(call, &groups);
            f.append(body, call);
        }
        _ => unreachable!("it is a part of a function that is called"),
    }
    Ok(())
}

/// Renames the first input.
#[module_pass(name = "untrue.Renames", changes_interface = true)]
fn renames(module: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = module.function_mut(MAIN).ok_or("there is no entry function")?;
    let first = f.params()[0];
    f.set_name(first, "renamed");
    Ok(())
}

/// Changes a part of a function that is called.
fn change_callee(callee: &mut Function, part: &Breaks) {
    let (root, body) = (callee.root(), callee.body());
    match part {
        Breaks::Signature => {
            let params = callee.params()[..1].to_vec();
            callee.set_params(root, &params);
            callee.set_results(body, &params);
            callee.set_bindings(body, &[]);
        }
        Breaks::FewerResults => {
            let first = callee.results(body)[0];
            callee.set_results(body, &[first]);
        }
        Breaks::OtherParamType => {
            let ty = callee.tensor_type(ElemType::INT64, &[Dim::Static(2)]);
            for param in callee.params().to_vec() {
                callee.set_type(param, ty);
            }
        }
        Breaks::MoreParams => {
            let ty = callee.tensor_type(ElemType::FLOAT, &[Dim::Static(2)]);
            let more = callee.add_var("more", ty);
            let params = [callee.params(), &[more]].concat();
            callee.set_params(root, &params);
        }
        _ => unreachable!("it is a part of the entry function"),
    }
}

/// The constant that takes the place of a `Sub`.
#[derive(PassOptions)]
enum Constant {
    /// One of the same type.
    SameType,
    /// One of another shape.
    OtherShape,
}

/// The constant that takes the place of a `Sub`.
#[derive(PassOptions)]
struct FunctionOptions {
    /// The constant that takes the place of a `Sub`.
    gives: Constant,
}

/// Replaces each `Sub` of shape (2, 3) by a constant.
#[function_pass(name = "untrue.Function")]
fn replaces(edit: &mut Editor, _: &PassCx<'_>, options: &FunctionOptions) -> Result<(), PassError> {
    edit.rebuild(&mut |cx: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
        if !cx.function().call(id).is_some_and(|call| call.is_op("Sub")) {
            return Ok(Action::Keep);
        }
        let tensor = match options.gives {
            Constant::SameType => Tensor::from_f32(&[2, 3], &[0.0; 6]),
            Constant::OtherShape => Tensor::from_f32(&[7], &[0.0; 7]),
        };
        let constant = cx.function_mut().add_constant(tensor, ConstForm::ANY);
        cx.insert(constant);
        Ok(Action::Replace(constant))
    })
}
