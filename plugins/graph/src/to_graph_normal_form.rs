//! Makes every binding a graph binding: `let %3 = …` becomes `%3 = …`.
//!
//! ```text
//! let %0 = Mul(%b, %c);
//! let %1 = Add(%a, %0);
//! ```
//! becomes
//! ```text
//! %0 = Mul(%b, %c);
//! %1 = Add(%a, %0);
//! ```
//!
//! Order and sharing stay as they are. `ToANormalForm` is the way back.

use relais_plugin_api::{ir::LetForm, prelude::*};

/// Turns named bindings into graph bindings.
#[function_pass(
    name = "relais.ToGraphNormalForm",
    aliases = ["relay._transform.ToGraphNormalForm", "relax.transform.ToGraphNormalForm"],
    opt_level = 1,
    phase = "none",
    statistics(turned = "bindings turned into graph bindings"),
)]
pub fn to_graph_normal_form(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.count("turned", crate::to_a_normal_form::set_form(edit, LetForm::Graph));
    Ok(())
}
