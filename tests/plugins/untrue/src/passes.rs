//! A module pass that breaks a rule.

use relais_plugin_api::prelude::*;

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
    /// A call by hand with an attribute that the operator does not have.
    Attribute,
    /// A call by hand that the operator's verifier refuses.
    Verifier,
    /// A call by hand of an operator whose verifier panics.
    VerifierPanics,
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
    if let Breaks::Signature = options.breaks {
        let helper = module.function_mut("helper").ok_or("there is no function `helper`")?;
        let params = helper.params()[..1].to_vec();
        helper.set_params(helper.root(), &params);
        let result = params[0];
        helper.set_results(helper.body(), &[result]);
        helper.set_bindings(helper.body(), &[]);
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
        Breaks::Signature => unreachable!("it was dealt with"),
    }
    Ok(())
}
