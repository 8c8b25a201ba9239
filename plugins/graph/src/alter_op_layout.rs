//! Converts calls to the layouts in which their operators work best, as the records of these say.
//!
//! ```text
//! %1 = com.microsoft::QLinearGlobalAveragePool(%x, %s, %z, %s, %z);          // %x: channels first
//! ```
//! becomes
//! ```text
//! %1 = Transpose(%x, perm = [0, 2, 3, 1]);
//! %2 = com.microsoft::QLinearGlobalAveragePool(%1, %s, %z, %s, %z, channels_last = 1);
//! %3 = Transpose(%2, perm = [0, 3, 1, 2]);
//! ```
//!
//! Of the forms that the record of an operator lists, the first one of the right rank is the best. `operators` names
//! operators that calls of others become, if their records list these as other forms of them: with
//! `operators = ["com.microsoft::NhwcMaxPool"]`, calls of `MaxPool` do. In TVM, it is the target that decides this.
//!
//! Then transposes are moved to where fewest of them are left, as by [SimplifyTranspose](SimplifyTranspose.md). Constants are
//! transposed by [FoldConstant](FoldConstant.md), which should run afterwards.
//!
//! A call stays as it is, with a remark, if the best form does not accept it: its element type, an attribute, or what the
//! operator's verifier says; and if its ranks are not known. [ConvertLayout](ConvertLayout.md) makes other forms.

use crate::layout::{
    self,
    forms::{self, Conversions, Family},
    moves::Sums,
};
use relais_plugin_api::{ir::is_same_domain, prelude::*};

/// Options of `AlterOpLayout`.
#[derive(PassOptions)]
pub struct AlterOpLayoutOptions {
    /// Operators that calls of others become.
    #[option(default = [])]
    pub operators: Vec<String>,
}

/// Checks that the operators have layouts.
fn can_alter(module: &IRModule, cx: &PassCx<'_>, options: &AlterOpLayoutOptions) -> Result<(), PassError> {
    let empty = Function::new();
    let f = module.function(MAIN).map_or(&empty, |main| &**main);
    let mut ops = cx.ops(f);
    let fault = |name: &String| match Family::of(f, &mut ops, name) {
        None => Some(format!("no plugin describes an operator `{name}`")),
        Some(family) if family.forms.is_empty() => Some(format!("the record of `{name}` names no layouts")),
        Some(_) => None,
    };
    let mut faults = options.operators.iter().filter_map(fault).peekable();
    if faults.peek().is_none() {
        return Ok(());
    }
    let error = PassError::new("calls cannot become calls of these operators").code("Y002");
    Err(faults.fold(error, |error, fault| error.with_note(fault)))
}

/// Converts calls to the layouts that their operators prefer.
#[function_pass(
    name = "relais.AlterOpLayout",
    aliases = ["relay._transform.AlterOpLayout"],
    opt_level = 3,
    required = ["relais.InferType"],
    phase = "none",
    statistics(converted = "calls in another layout"),
    check = can_alter,
)]
pub fn alter_op_layout(edit: &mut Editor, cx: &PassCx<'_>, options: &AlterOpLayoutOptions) -> Result<(), PassError> {
    let f = edit.function();
    let mut ops = cx.ops(f);
    // First those that were asked for.
    let mut names = options.operators.clone();
    for op in f.ops() {
        let (domain, name) = (f.str(op.domain), f.str(op.name));
        names.push(if is_same_domain(domain, "") { name.to_owned() } else { format!("{domain}::{name}") });
    }
    let families = names.iter().filter_map(|name| Family::of(f, &mut ops, name));
    let families: Vec<Family> = families.filter(|family| family.forms.len() > 1).collect();
    if families.is_empty() {
        return Ok(());
    }
    let mut conversions = Conversions::new();
    for call in f.all_bindings().filter_map(|id| f.call(id)) {
        let Some(family) = families.iter().find(|family| family.has(call)) else { continue };
        let Some(from) = family.form_of(f, &ops, call) else {
            cx.remark(call.id, "it is in none of the forms of its operator, or ranks are not known");
            continue;
        };
        let best = (0..family.forms.len()).find(|&to| family.is_reordered(from, to));
        if let Some(to) = best.filter(|&to| to != from) {
            conversions.insert(call.id, (family, from, to));
        }
    }
    let n_converted = forms::convert(edit, cx, &conversions)?;
    cx.count("converted", n_converted);
    if n_converted > 0 {
        layout::settle(edit, cx, Sums::Reorder)?;
    }
    Ok(())
}
