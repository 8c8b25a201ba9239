//! The forms that calls have in different layouts, as the records of their operators list them.

use relais_plugin_api::{
    build::Builder,
    facts::OpFactsTable,
    infer::{Checking, Typing},
    ir::{AttrData, BlockTree, Users, kind},
    op::LayoutFacts,
    prelude::*,
};
use std::collections::BTreeMap;

/// An operator, and the forms that its record lists.
pub struct Family {
    pub name: String,
    pub forms: Vec<LayoutFacts>,
}

impl Family {
    /// The family of an operator, in the version that a function imports or the newest one: without forms if nothing
    /// describes any, `None` if nothing describes the operator.
    pub fn of(f: &Function, ops: &mut OpFactsTable<'_>, name: &str) -> Option<Self> {
        let (domain, own) = split(name);
        let op = ops.other(f, domain, own)?;
        let forms = ops.schema(op)?.layouts.clone();
        Some(Self { name: name.to_owned(), forms })
    }

    /// The operator that calls in a form are of.
    fn operator(&self, form: usize) -> &str {
        match self.forms[form].op.as_str() {
            "" => &self.name,
            other => other,
        }
    }

    /// Whether calls of an operator may be in a form of the family.
    pub fn has(&self, call: CallView<'_>) -> bool {
        (0..self.forms.len()).any(|form| call.is_op(self.operator(form)))
    }

    /// The form that a call is in; `None` if it is in none, or ranks are not known.
    pub fn form_of(&self, f: &Function, ops: &OpFactsTable<'_>, call: CallView<'_>) -> Option<usize> {
        let attrs = ops.attrs(call);
        let is_it = |&form: &usize| call.is_op(self.operator(form)) && self.forms[form].fits(f, call, attrs);
        (0..self.forms.len()).find(is_it)
    }

    /// Whether a call that is in one form can be in another.
    pub fn is_reordered(&self, from: usize, to: usize) -> bool {
        self.forms[from].has_axes_of(&self.forms[to])
    }
}

/// The domain and the name of an operator.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once("::").unwrap_or(("", name))
}

/// Calls to be made in other forms: the family, the form that each is in, and that which it becomes.
pub type Conversions<'a> = BTreeMap<NodeId, (&'a Family, usize, usize)>;

/// Makes calls in other forms, and transposes their arguments and results. Returns how many were made; a call that the other
/// form does not accept stays, with a remark.
///
/// # Errors
/// Returns an error if an operator's plugin is at fault.
pub fn convert(edit: &mut Editor, cx: &PassCx<'_>, conversions: &Conversions<'_>) -> Result<usize, PassError> {
    if conversions.is_empty() {
        return Ok(0);
    }
    let (users, places) = (cx.analysis::<Users>(edit)?, cx.analysis::<BlockTree>(edit)?);
    let mut ops = cx.ops(edit.function());
    let mut n_converted = 0;
    edit.rebuild(&mut |at: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
        let Some(&(family, from, to)) = conversions.get(&id) else { return Ok(Action::Keep) };
        let results = at.function().n_results(id).map(|_| users.of(id).to_vec());
        let is_projection = |&user: &NodeId| {
            at.function().kind(user) == kind::TUPLE_GET_ITEM && places.block_of(user) == places.block_of(id)
        };
        if results.as_ref().is_some_and(|users_of| users.is_result(id) || !users_of.iter().all(is_projection)) {
            cx.remark(id, "something uses all results at once");
            return Ok(Action::Keep);
        }
        match made(at, &mut ops, id, family, (from, to)) {
            Ok(made) => {
                n_converted += 1;
                made.nodes.into_iter().for_each(|node| at.insert(node));
                if results.is_some() {
                    at.replace_results(id, made.results);
                    return Ok(Action::Drop);
                }
                Ok(Action::Replace(made.results[0]))
            }
            Err(error) if is_refused(&error) => {
                cx.remark(id, format_args!("it cannot be in another layout: {}", error.rec().message));
                Ok(Action::Keep)
            }
            Err(error) => Err(error),
        }
    })?;
    if n_converted == 0 {
        edit.revert();
    }
    Ok(n_converted)
}

/// Whether a call does not fit its operator, rather than the operator's plugin being at fault.
fn is_refused(error: &PassError) -> bool {
    error.rec().code.starts_with('M')
}

/// The nodes that take the place of a call.
struct Made {
    /// All nodes, in order.
    nodes: Vec<NodeId>,
    results: Vec<NodeId>,
}

fn made(
    at: &mut RebuildCx<'_>,
    ops: &mut OpFactsTable<'_>,
    id: NodeId,
    family: &Family,
    (from, to): (usize, usize),
) -> Result<Made, PassError> {
    let (old, new) = (&family.forms[from], &family.forms[to]);
    let f = at.function();
    let (mut args, n_results) = (f.call(id).map(|call| call.args().to_vec()).unwrap_or_default(), f.n_results(id));
    let is_of_form = |name: &str| old.attrs.iter().chain(&new.attrs).any(|attr| attr.name == name);
    let kept = f.attrs(id).iter().filter(|(name, _)| !is_of_form(name));
    let mut attrs: Vec<Attr> = kept.filter_map(|(name, value)| Attr::of(name.to_owned(), value)).collect();
    let values =
        new.attrs.iter().filter_map(|attr| Some(Attr::new(attr.name.clone(), AttrData::from(attr.default_value()?))));
    attrs.extend(values);
    let mut nodes = Vec::new();
    let mut build = Builder::new(at.function_mut(), ops);
    for (arg, (old, new)) in args.iter_mut().zip(old.inputs.iter().zip(&new.inputs)).filter(|(arg, _)| !arg.is_absent())
    {
        *arg = transposed(&mut build, &mut nodes, *arg, (old, new))?;
    }
    let (domain, name) = split(family.operator(to));
    let (domain, name) = (domain.to_owned(), name.to_owned());
    let mut results = match n_results {
        None => {
            let call = build.call_in(domain, name, &args, attrs)?;
            nodes.push(call);
            vec![call]
        }
        Some(n) => {
            let n = u16::try_from(n).unwrap_or(u16::MAX);
            let (call, results) = build.call_results(domain, name, &args, attrs, n)?;
            nodes.push(call);
            nodes.extend(&results);
            results
        }
    };
    for (result, (old, new)) in results.iter_mut().zip(old.outputs.iter().zip(&new.outputs)) {
        *result = transposed(&mut build, &mut nodes, *result, (new, old))?;
    }
    Ok(Made { nodes, results })
}

/// A value in another layout.
fn transposed(
    build: &mut Builder<'_>,
    nodes: &mut Vec<NodeId>,
    value: NodeId,
    (from, to): (&str, &str),
) -> Result<NodeId, PassError> {
    let Some(order) = LayoutFacts::order(from, to).filter(|order| !order.is_sorted()) else { return Ok(value) };
    let perm: Vec<i64> = order.iter().map(|&axis| axis as i64).collect();
    let transposed = build.call("Transpose", &[value], vec![Attr::new("perm", perm)])?;
    nodes.push(transposed);
    Ok(transposed)
}
