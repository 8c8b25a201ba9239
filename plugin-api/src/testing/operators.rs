//! Trying type relations and evaluators.

use super::parse;
use crate::{
    boundary::local,
    diagnostics::PassError,
    infer::{Coverage, Operators, infer_function},
    ir::*,
    text::{self, PrintOptions},
};
use std::collections::BTreeMap;

/// Infers the types of a module in text form by the linked type relations, and returns its text with them.
///
/// If a function does not import the operator set of a domain, the newest linked version is used.
///
/// ```
/// use relais_plugin_api::{prelude::*, testing};
///
/// operators! {
///     &[Operator::new("acme", "Pair", 1).infer(pair).doc("Two of its argument, one after the other.")]
/// }
///
/// fn pair(cx: &mut InferCx<'_>) -> Result<(), OpError> {
///     let Some(dims) = cx.dims(0) else { return Ok(()) };
///     let [n] = dims[..] else { return Err(OpError::invalid("its argument is a vector")) };
///     let twice = n.known().map_or(Dim::Unknown, |n| Dim::Static(2 * n));
///     cx.set_tensor(0, cx.elem(0), &[twice]);
///     Ok(())
/// }
///
/// # fn main() -> Result<(), PassError> {
/// let typed = testing::infer("def @main(%x: Tensor[(3), float32]) { %y = acme::Pair(%x); %y }")?;
/// assert!(typed.contains("%y: Tensor[(6), float32] = acme::Pair(%x);"), "{typed}");
/// let error = testing::infer("def @main(%x: Tensor[(3, 3), float32]) { acme::Pair(%x) }").unwrap_err();
/// assert!(error.to_string().contains("its argument is a vector"), "{error}");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns the first call that its type relation refuses.
///
/// # Panics
/// With the reason, when the text is at fault.
#[track_caller]
pub fn infer(text: &str) -> Result<String, PassError> {
    let mut module = parse(text);
    for (name, shared) in module.functions_mut() {
        let mut function = (**shared).clone();
        import_domains(&mut function);
        let known = function.clone();
        let inferred = local::with_ops(&known, |ops| infer_function(&mut function, ops, Coverage::Everything));
        if let Some(fault) = inferred.faults.first() {
            let op = function.call(fault.node).map_or("", CallView::op_name);
            return Err(PassError::new(format_args!("`{op}`: {}", fault.error)).at(fault.node).in_function(name));
        }
        *shared = function.into();
    }
    Ok(text::print(&module, &PrintOptions::default()))
}

/// Evaluates the calls of `@main` in a module in text form by the linked evaluators, one after another, and returns its
/// results. It has no parameters: arguments are written in the text.
///
/// If it does not import the operator set of a domain, the newest linked version is used.
///
/// ```
/// use relais_plugin_api::{prelude::*, testing};
///
/// operators! { &[Operator::new("acme", "Halve", 1).eval(halve)] }
///
/// fn halve(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
///     let half = cx.require(0)?.map_f64s(|value| value / 2.0);
///     let half = half.ok_or_else(|| OpError::unsupported("the argument is not of floats"))?;
///     cx.output(half);
///     Ok(())
/// }
///
/// # fn main() -> Result<(), PassError> {
/// let results = testing::evaluate("def @main() { acme::Halve([1.0, 3.0]) }")?;
/// assert_eq!(results, [Tensor::from_f32(&[2], &[0.5, 1.5])]);
/// assert!(testing::evaluate("def @main() { acme::Halve([1, 3]) }").is_err());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns the error of the evaluator, or one if there is no evaluator.
///
/// # Panics
/// Panics with the reason, if the text is at fault: `@main` has parameters, or contains more than constants, tuples and
/// calls.
#[track_caller]
pub fn evaluate(text: &str) -> Result<Vec<Tensor>, PassError> {
    let module = parse(text);
    let main = module.main().unwrap_or_else(|| panic!("the text has no function `@main`"));
    let mut f = (**main).clone();
    assert!(f.params().is_empty(), "`@main` has parameters: write their values as literals");
    import_domains(&mut f);
    let mut known = Values::default();
    local::with_ops(&f, |ops| f.bindings(f.body()).iter().try_for_each(|&id| known.binding(&f, ops, id)))?;
    Ok(f.results(f.body()).iter().map(|&id| known.of(&f, id)[0].clone()).collect())
}

/// The values of bindings: one tensor, or those of a tuple.
#[derive(Default)]
struct Values(BTreeMap<NodeId, Vec<Tensor>>);

impl Values {
    fn of(&self, f: &Function, id: NodeId) -> &[Tensor] {
        self.0.get(&id).unwrap_or_else(|| panic!("`{}` is nothing that can be evaluated here", text::display(f, id)))
    }

    fn binding(&mut self, f: &Function, ops: &mut dyn Operators, id: NodeId) -> Result<(), PassError> {
        let values = match f.expr(id) {
            Expr::Constant(tensor) => vec![tensor.clone()],
            Expr::Tuple(fields) => fields.iter().map(|&field| self.of(f, field)[0].clone()).collect(),
            Expr::TupleGetItem { tuple, index } => vec![self.of(f, tuple)[index].clone()],
            Expr::Call(call) => self.call(f, ops, call)?,
            _ => panic!("`{}` is nothing that can be evaluated here", text::display(f, id)),
        };
        self.0.insert(id, values);
        Ok(())
    }

    fn call(&self, f: &Function, ops: &mut dyn Operators, call: CallView<'_>) -> Result<Vec<Tensor>, PassError> {
        let failed = |why: &dyn std::fmt::Display| PassError::new(format_args!("`{}`: {why}", call.op_name()));
        let Some(op) = call.op() else { panic!("`{}` calls no operator", text::display(f, call.id)) };
        let value = |&arg: &NodeId| (!arg.is_absent()).then(|| self.of(f, arg)[0].clone());
        let inputs: Vec<Option<Tensor>> = call.args().iter().map(value).collect();
        let results = ops.evaluate(op, f, call.id, &inputs, u64::MAX);
        let results = results.ok_or_else(|| failed(&"no evaluator is linked"))?.map_err(|error| failed(&error))?;
        let n = call.n_results().unwrap_or(1);
        match results.len() {
            given if given < n => Err(failed(&format_args!("its evaluator gives {given} of {n} results"))),
            _ => Ok(results),
        }
    }
}

/// Lets a function import the operator sets that it uses and does not name.
fn import_domains(function: &mut Function) {
    let mut imports: Vec<(String, i64)> =
        function.opset_imports().into_iter().map(|(domain, version)| (domain.to_owned(), version)).collect();
    let n_before = imports.len();
    for op in function.ops() {
        let domain = function.str(op.domain);
        if imports.iter().all(|(known, _)| !is_same_domain(known, domain))
            && let Some(version) = local::newest_version(domain)
        {
            imports.push((domain.to_owned(), version.into()));
        }
    }
    if imports.len() > n_before {
        let imports: Vec<(&str, i64)> = imports.iter().map(|(domain, version)| (domain.as_str(), *version)).collect();
        function.set_opset_imports(&imports);
    }
}
