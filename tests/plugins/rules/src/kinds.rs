//! Passes of every level.

use relais_plugin_api::{ir::Global, prelude::*};

/// The edit that [`edit_globals`] makes.
#[derive(PassOptions)]
enum Edit {
    /// Nothing.
    Nothing,
    /// Adds the function `added`, a copy of `main`.
    Add,
    /// Makes `other` a copy of `main`.
    Change,
    /// Deletes `other`.
    Delete,
}

/// Options of [`edit_globals`].
#[derive(PassOptions)]
struct EditOptions {
    /// The edit that it makes.
    #[option(default = "nothing")]
    edit: Edit,
}

/// Adds, changes and deletes functions.
#[module_pass(name = "acme.EditGlobals", opt_level = 1)]
fn edit_globals(module: &mut IRModule, _: &PassCx<'_>, options: &EditOptions) -> Result<(), PassError> {
    let main = module.main().cloned().ok_or("the module has no main function")?;
    match options.edit {
        Edit::Nothing => {}
        Edit::Add => module.set_function("added", (*main).clone()),
        Edit::Change => module.set_function("other", (*main).clone()),
        Edit::Delete => {
            module.remove("other");
        }
    }
    Ok(())
}

/// Names the calls of `Neg`, and says how many bindings each function of the module has.
#[function_pass(name = "acme.NameNeg", opt_level = 2, required = ["acme.EditGlobals"])]
fn name_neg(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    let calls: Vec<NodeId> = f.all_bindings().filter(|&id| f.call(id).is_some_and(|c| c.op_name() == "Neg")).collect();
    for (at, id) in calls.into_iter().enumerate() {
        edit.function_mut().set_name(id, &format!("neg{at}"));
    }
    let is_named = |f: &Function| f.all_bindings().any(|id| f.name(id).starts_with("neg"));
    let n_named = cx.module().functions().filter(|(_, f)| is_named(f)).count();
    cx.diagnostic(Diagnostic::note(format_args!("{n_named} functions were named before")));
    Ok(())
}

/// Does nothing, after another pass with an option.
#[module_pass(name = "acme.AfterAdding", required = [("acme.EditGlobals", edit = "add")])]
fn after_adding(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Fails on functions that call `Neg`.
#[function_pass(name = "acme.RefuseNeg")]
fn refuse_neg(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    let neg = f.all_bindings().find(|&id| f.call(id).is_some_and(|call| call.op_name() == "Neg"));
    cx.diagnostic(Diagnostic::note("seen"));
    neg.map_or(Ok(()), |id| Err(PassError::new("`Neg` is refused").at(id)))
}

/// Options of [`reverse`].
#[derive(PassOptions)]
struct ReverseOptions {
    /// A body that begins so is refused; none is by default.
    #[option(default = -1, range = -1..=255)]
    refused: i64,
}

/// The constants of a prim func.
fn numbers(prim_func: &Function) -> Vec<i64> {
    let constants = prim_func.bindings(prim_func.body()).iter();
    constants.filter_map(|&id| prim_func.constant(id)?.to_i64s()?.first().copied()).collect()
}

/// Reverses the constants of prim funcs unless they are palindromes, and reports the first of each.
#[prim_func_pass(name = "acme.Reverse", opt_level = 1)]
fn reverse(edit: &mut Editor, cx: &PassCx<'_>, options: &ReverseOptions) -> Result<(), PassError> {
    let own = numbers(edit.function());
    if own.first() == Some(&options.refused) {
        return Err(PassError::new("this body is refused"));
    }
    let first = |global: &Global| Some(format!("{:02}", numbers(global.prim_func()?).first()?));
    let before: Vec<String> = cx.module().globals().iter().filter_map(first).collect();
    cx.diagnostic(Diagnostic::note(before.join(" ")));
    let body = edit.function().body();
    let reversed: Vec<NodeId> = edit.function().bindings(body).iter().rev().copied().collect();
    if !own.iter().eq(own.iter().rev()) {
        edit.function_mut().set_bindings(body, &reversed);
    }
    Ok(())
}

/// Names calls, then edits nothing.
#[sequential_pass(name = "acme.NameAndEdit", opt_level = 3, passes = ["acme.NameNeg", "acme.EditGlobals"])]
fn name_and_edit() {}

/// The first of its level.
#[module_pass(name = "acme.NineA", opt_level = 9)]
fn nine_a(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// The second of its level.
#[module_pass(name = "acme.NineB", opt_level = 9)]
fn nine_b(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}
