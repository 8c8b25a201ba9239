//! Bodies in the places of calls that have no gradient of their own: of functions of the module, and of operators.

use crate::activity;
use relais_plugin_api::{
    infer::Coverage,
    ir::{Declined, InlineError, inline_functions, normal_domain},
    op::{Bodies, Body, OpError, OpSchema, add_bodies},
    pass::PassCx,
    prelude::*,
};
use std::collections::BTreeSet;

/// A function in which every call on the way of a gradient is one of an operator that has a gradient, as far as bodies
/// can achieve that. Its nodes have the numbers that they had.
pub struct Expanded {
    /// The function, typed.
    pub function: Function,
    /// Functions whose calls stay, and why.
    pub declined: Vec<(String, Declined)>,
}

/// Operators without a gradient that have a body.
struct Asked<B> {
    bodies: B,
    operators: BTreeSet<(String, String)>,
}

impl<B: Bodies> Bodies for Asked<B> {
    fn body(&mut self, domain: &str, name: &str, version: i64) -> Option<Result<Body, PassError>> {
        let is_asked = self.operators.contains(&(normal_domain(domain).to_owned(), name.to_owned()));
        if is_asked { self.bodies.any_body(domain, name, version) } else { None }
    }

    fn body_of(&mut self, function: &Function, call: NodeId) -> Result<Function, OpError> {
        self.bodies.body_of(function, call)
    }

    fn infer_types(&mut self, function: &mut Function) {
        self.bodies.infer_types(function);
    }

    fn schema(&mut self, domain: &str, name: &str, version: i64) -> Option<OpSchema> {
        self.bodies.schema(domain, name, version)
    }
}

/// Expands a function of the module.
///
/// # Errors
/// Returns the functions that call each other in a circle, or the fault of a body.
pub fn expand(
    module: &IRModule,
    name: &str,
    wrt: &[NodeId],
    cx: &PassCx<'_>,
) -> Result<Result<Expanded, Vec<String>>, PassError> {
    let mut scratch = with_callees(module, name);
    let mut asked = Asked { bodies: cx.bodies(), operators: BTreeSet::new() };
    loop {
        cx.check_cancelled()?;
        let declined = match inline_functions(&mut scratch) {
            Ok(inlined) => {
                let here = inlined.declined.into_iter().filter(|(caller, ..)| caller == name);
                here.map(|(_, callee, why)| (callee, why)).collect()
            }
            Err(InlineError::Recursive(names)) => return Ok(Err(names)),
            Err(error) => return Err(PassError::new(error)),
        };
        let Some(function) = scratch.function(name) else { return Err(PassError::new("the function is gone")) };
        let mut f = Function::clone(function);
        let mut ops = cx.ops(&f);
        ops.infer_types(&mut f, Coverage::Everything);
        let active = activity::active(&f, wrt);
        let n_asked = asked.operators.len();
        for id in f.all_bindings().filter(|id| active[id.index()]) {
            let Some(op) = f.call(id).and_then(CallView::op) else { continue };
            if !ops.get(op).has_gradient() && ops.get(op).has_body() {
                let rec = f.op(op);
                asked.operators.insert((normal_domain(f.str(rec.domain)).to_owned(), f.str(rec.name).to_owned()));
            }
        }
        if asked.operators.len() == n_asked {
            return Ok(Ok(Expanded { function: f, declined }));
        }
        scratch.set_function(name, f);
        add_bodies(&mut scratch, &mut asked)?;
    }
}

/// A module of a function and those that it calls, directly or through others. It has a `main` with the operator sets of
/// the function: bodies are written for those of `main`.
fn with_callees(module: &IRModule, name: &str) -> IRModule {
    let mut reached = BTreeSet::from([name.to_owned()]);
    let mut open = vec![name.to_owned()];
    while let Some(name) = open.pop() {
        let Some(f) = module.function(&name) else { continue };
        for operand in f.all_bindings().flat_map(|id| f.operands(id)) {
            if let Expr::GlobalVar(callee) = f.expr(*operand)
                && reached.insert(callee.to_owned())
            {
                open.push(callee.to_owned());
            }
        }
    }
    let mut scratch = IRModule::new();
    if !reached.contains(MAIN)
        && let Some(f) = module.function(name)
    {
        let mut main = Function::new();
        main.set_opset_imports(&f.opset_imports());
        scratch.set_function(MAIN, main);
    }
    for (name, function) in module.functions().filter(|(name, _)| reached.contains(*name)) {
        scratch.set_function(name, function.clone());
    }
    scratch
}
