//! Converts calls to the layouts that the options name, where the records of their operators list forms in these layouts.
//!
//! ```text
//! %1 = Transpose(%x, perm = [0, 3, 1, 2]);           // %x: uint8, channels last
//! %2 = MaxPool(%1, kernel_shape = [2, 2]);
//! %3 = Transpose(%2, perm = [0, 2, 3, 1]);
//! ```
//! becomes, with `desired_layouts = [{ op = "com.microsoft::NhwcMaxPool", layouts = ["NHWC"] }]`,
//! ```text
//! %2 = com.microsoft::NhwcMaxPool(%x, kernel_shape = [2, 2]);
//! ```
//!
//! The record of an operator names the layouts of its arguments and results, with a capital letter for each axis, and the
//! forms of a call in others: an attribute with another value, or another operator. `op` is the operator whose record that
//! is, and `layouts` has the layout of each argument in the wanted form, or `default` where any will do, as in TVM. All calls
//! in a form that the record lists are converted, whichever operator they are of: those of `MaxPool`, too, in the example,
//! and those of `NhwcMaxPool` to `MaxPool` with `layouts = ["NCHW"]`. An operator with several ranks has an entry for each.
//!
//! The arguments and results of a call that is converted are transposed, and then transposes are moved to where fewest of
//! them are left, as by [SimplifyTranspose](SimplifyTranspose.md). Constants are transposed by
//! [FoldConstant](FoldConstant.md), which should run afterwards.
//!
//! A layout that is not one of the operator's, or whose axes are not as many as those of a call, is an error that names
//! all of them, and nothing is converted; so is an operator that does not exist, or has no layouts. A call stays as it is,
//! with a remark, if its ranks are not known, or the other form does not accept it: its element type, an attribute, or what
//! the operator's verifier says.

use crate::layout::{
    self,
    forms::{self, Conversions, Family},
    moves::Sums,
};
use relais_plugin_api::{op::LayoutFacts, prelude::*};

/// The code of layouts that cannot be.
const WRONG: &str = "Y001";

/// Any layout.
const DEFAULT: &str = "default";

/// The layouts that calls shall have.
#[derive(PassOptions)]
pub struct DesiredLayouts {
    /// The operator whose record lists the forms, such as `com.microsoft::NhwcMaxPool`.
    pub op: String,
    /// The layout of each argument, such as `NHWC`; `default` for any.
    pub layouts: Vec<String>,
}

/// Options of `ConvertLayout`.
#[derive(PassOptions)]
pub struct ConvertLayoutOptions {
    /// The layouts of the arguments, by operator.
    #[option(default = [])]
    pub desired_layouts: Vec<DesiredLayouts>,
}

/// An entry of the options: the family, and the forms that have the layouts.
struct Wanted<'a> {
    entry: &'a DesiredLayouts,
    family: Family,
    forms: Vec<usize>,
}

/// Checks that the operators have these layouts.
fn can_convert(module: &IRModule, cx: &PassCx<'_>, options: &ConvertLayoutOptions) -> Result<(), PassError> {
    let empty = Function::new();
    let f = module.function(MAIN).map_or(&empty, |main| &**main);
    wanted(f, cx, options).map(|_| ())
}

/// Reads the entries of the options.
fn wanted<'a>(f: &Function, cx: &PassCx<'_>, options: &'a ConvertLayoutOptions) -> Result<Vec<Wanted<'a>>, PassError> {
    let mut ops = cx.ops(f);
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    for entry in &options.desired_layouts {
        match Family::of(f, &mut ops, &entry.op) {
            None => faults.push(format!("no plugin describes an operator `{}`", entry.op)),
            Some(family) if family.forms.is_empty() => {
                faults.push(format!("the record of `{}` names no layouts", entry.op));
            }
            Some(family) => {
                let before = faults.len();
                faults.extend(wrong_layouts(entry, &family));
                let forms: Vec<usize> =
                    (0..family.forms.len()).filter(|&form| is_wanted(entry, &family, form)).collect();
                if forms.is_empty() && faults.len() == before {
                    let listed = entry.layouts.join(", ");
                    faults.push(format!("no form of `{}` has the layouts {listed} together", entry.op));
                }
                all.push(Wanted { entry, family, forms });
            }
        }
    }
    match faults.is_empty() {
        true => Ok(all),
        false => Err(refused(faults)),
    }
}

fn refused(faults: impl IntoIterator<Item = String>) -> PassError {
    let error = PassError::new("calls cannot have these layouts").code(WRONG);
    faults.into_iter().fold(error, |error, fault| error.with_note(fault))
}

/// The layouts of an entry that no form of the operator has.
fn wrong_layouts(entry: &DesiredLayouts, family: &Family) -> Vec<String> {
    let op = &entry.op;
    let most = family.forms.iter().map(|form| form.inputs.len()).max().unwrap_or(0);
    let mut faults = Vec::new();
    if let Some(layout) = entry.layouts.iter().skip(most).find(|layout| *layout != DEFAULT) {
        faults.push(format!("argument {most} of `{op}`, and all after it, have no layouts: `{layout}` is listed"));
    }
    for (at, layout) in entry.layouts.iter().enumerate().take(most).filter(|(_, layout)| *layout != DEFAULT) {
        let mut known: Vec<&str> = family.forms.iter().filter_map(|form| Some(form.inputs.get(at)?.as_str())).collect();
        known.sort_unstable();
        known.dedup();
        if known.contains(&layout.as_str()) {
            continue;
        }
        let listed = known.join(", ");
        let is_reordered = known.iter().any(|known| LayoutFacts::order(known, layout).is_some());
        faults.push(match known.iter().any(|known| known.len() == layout.len() && *known != LayoutFacts::SAME) {
            true if is_reordered => format!("`{op}` has no form in which argument {at} is {layout}: it has {listed}"),
            true => format!("`{layout}` is not a layout of argument {at} of `{op}`: it has {listed}"),
            false => {
                let n = layout.chars().count();
                format!("`{layout}` has {n} axes, which argument {at} of `{op}` has not: it has {listed}")
            }
        });
    }
    faults
}

/// Whether a form has the layouts of an entry.
fn is_wanted(entry: &DesiredLayouts, family: &Family, form: usize) -> bool {
    let inputs = &family.forms[form].inputs;
    entry.layouts.iter().enumerate().all(|(at, layout)| layout == DEFAULT || inputs.get(at) == Some(layout))
}

/// Converts calls to other layouts.
#[function_pass(
    name = "relais.ConvertLayout",
    aliases = ["relay._transform.ConvertLayout", "relax.transform.ConvertLayout"],
    opt_level = 3,
    required = ["relais.InferType"],
    phase = "none",
    statistics(converted = "calls in another layout"),
    check = can_convert,
)]
pub fn convert_layout(edit: &mut Editor, cx: &PassCx<'_>, options: &ConvertLayoutOptions) -> Result<(), PassError> {
    let f = edit.function();
    let wanted = wanted(f, cx, options)?;
    if wanted.is_empty() {
        return Ok(());
    }
    let ops = cx.ops(f);
    let (mut conversions, mut faults) = (Conversions::new(), Vec::new());
    for call in f.all_bindings().filter_map(|id| f.call(id)) {
        let mut of_rank = wanted.iter().filter(|wanted| wanted.family.has(call)).peekable();
        let Some(first) = of_rank.peek().copied() else { continue };
        let Some((family, from)) =
            of_rank.clone().find_map(|wanted| Some((&wanted.family, wanted.family.form_of(f, &ops, call)?)))
        else {
            cx.remark(
                call.id,
                format_args!("it is in none of the forms of `{}`, or ranks are not known", first.entry.op),
            );
            continue;
        };
        let mut targets = of_rank.flat_map(|wanted| wanted.forms.iter().copied());
        let Some(to) = targets.find(|&to| family.is_reordered(from, to)) else {
            let (listed, has) = (first.entry.layouts.join(", "), family.forms[from].inputs.join(", "));
            faults.push(format!("{} is a call of `{}` with arguments {has}, not {listed}", call.id, call.op_name()));
            continue;
        };
        if from != to {
            conversions.insert(call.id, (family, from, to));
        }
    }
    if !faults.is_empty() {
        return Err(refused(faults));
    }
    let n_converted = forms::convert(edit, cx, &conversions)?;
    cx.count("converted", n_converted);
    if n_converted > 0 {
        layout::settle(edit, cx, Sums::Reorder)?;
    }
    Ok(())
}
