//! Makes every binding a named one: `%3 = …` becomes `let %3 = …`.
//!
//! ```text
//! %0 = Mul(%b, %c);
//! %1 = Add(%a, %0);
//! ```
//! becomes
//! ```text
//! let %0 = Mul(%b, %c);
//! let %1 = Add(%a, %0);
//! ```
//!
//! Blocks are ordered, so nothing moves: the form differs from graph normal form in how bindings are written alone.
//! `ToGraphNormalForm` is the way back.

use relais_plugin_api::{ir::LetForm, prelude::*};

/// Turns graph bindings into named ones.
#[function_pass(
    name = "relais.ToANormalForm",
    aliases = ["relay._transform.ToANormalForm", "relax.transform.ToANormalForm"],
    opt_level = 1,
    phase = "none",
    statistics(turned = "bindings turned into named ones"),
)]
pub fn to_a_normal_form(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.count("turned", set_form(edit, LetForm::Let));
    Ok(())
}

/// Sets the form of every binding of a function, and returns how many had another.
pub(crate) fn set_form(edit: &mut Editor, form: LetForm) -> usize {
    set_forms(edit, |_| form)
}

/// Sets the form of each binding of a function, and returns how many had another.
pub(crate) fn set_forms(edit: &mut Editor, form: impl Fn(NodeId) -> LetForm) -> usize {
    let f = edit.function();
    let changed: Vec<NodeId> = f.all_bindings().filter(|&id| f.let_form(id) != form(id)).collect();
    for &id in &changed {
        edit.function_mut().set_let(id, form(id));
    }
    changed.len()
}
