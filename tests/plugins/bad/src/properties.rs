//! Passes that lack exactly one property that every pass must have.

use relais_plugin_api::{ir::NodeRec, prelude::*};
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls of an operator in the body.
fn calls_of(function: &Function, name: &str) -> Vec<NodeId> {
    let is_wanted = |id: &NodeId| function.call(*id).is_some_and(|call| call.op_name() == name);
    function.bindings(function.body()).iter().copied().filter(is_wanted).collect()
}

/// A flag without a meaning, and so without a text.
const NEW_FLAG: u8 = 1 << 6;

/// Gives calls a flag that no text says.
#[function_pass(name = "bad.LosesInText")]
fn loses_in_text(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    for old in calls_of(edit.function(), "Relu") {
        let NodeRec { kind, flags, aux, .. } = *edit.function().node(old);
        if flags & NEW_FLAG != 0 {
            continue;
        }
        let f = edit.function_mut();
        let operands = f.operands(old).to_vec();
        let new = f.add_raw(kind, flags | NEW_FLAG, aux, &operands, Some(0));
        f.inherit_value(new, old);
        let bindings: Vec<NodeId> = f.bindings(f.body()).iter().map(|&id| if id == old { new } else { id }).collect();
        f.set_bindings(f.body(), &bindings);
        for id in bindings {
            f.map_operands(id, |operand| if operand == old { new } else { operand });
        }
    }
    Ok(())
}

/// Uses a value before it is made.
#[function_pass(name = "bad.UsesTooEarly")]
fn uses_too_early(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    if let [.., last] = *f.bindings(f.body())
        && let Some(&first) = calls_of(f, "Relu").first()
    {
        edit.function_mut().set_operand(first, 1, last);
    }
    Ok(())
}

/// Swaps the arguments of each sum, each time.
#[function_pass(name = "bad.NeverDone")]
fn never_done(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    for id in calls_of(edit.function(), "Add") {
        let &[left, right] = edit.function().call(id).expect("it was found as a call").args() else { continue };
        edit.function_mut().set_operand(id, 1, right);
        edit.function_mut().set_operand(id, 2, left);
    }
    Ok(())
}

/// Says that it changed what it left alone.
#[function_pass(name = "bad.SaysChanged")]
fn says_changed(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    edit.function_mut();
    Ok(())
}

/// Gives the first parameter another name.
#[function_pass(name = "bad.RenamesParameter")]
fn renames_parameter(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    if let Some(&param) = edit.function().params().first()
        && edit.function().name(param) != "renamed"
    {
        edit.function_mut().set_name(param, "renamed");
    }
    Ok(())
}

/// Takes `Relu` for something that does nothing.
#[rewrite_pass(name = "bad.RemovesRelu", ops = ["Relu"])]
fn removes_relu(call: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Replace(call.args()[0])
}

/// Set by a program that has this pass linked: a loaded library has a static of its own.
pub static IS_ON: AtomicBool = AtomicBool::new(false);

/// Depends on what the program did to a static.
#[rewrite_pass(name = "bad.DependsOnStatic", ops = ["Identity"])]
fn depends_on_static(call: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    match IS_ON.load(Ordering::Relaxed) {
        true => Rewrite::Replace(call.args()[0]),
        false => Rewrite::Keep,
    }
}

/// Panics at a call.
#[rewrite_pass(name = "bad.PanicsAtCall", ops = ["Neg"])]
fn panics_at_call(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    panic!("the rule of a careless author");
}

/// Takes a long time for a call, and does nothing.
#[rewrite_pass(name = "bad.DawdlesAtCall", ops = ["Neg"])]
fn dawdles_at_call(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    std::thread::sleep(std::time::Duration::from_millis(1200));
    Rewrite::Keep
}
