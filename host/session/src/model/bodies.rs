//! Models with operators that their plugin defines by other operators.

use crate::error::Error;
use relais::{
    ir::{Function, IRModule, NodeId, normal_domain},
    registry::Registry,
};
use relais_plugin_api::{
    diagnostics::PassError,
    facts::OpFactsTable,
    op::{Bodies, Body, OpError, OpSchema, add_bodies},
};
use std::{borrow::Cow, collections::BTreeSet};

/// Operators by domain and name.
pub type OperatorNames = BTreeSet<(String, String)>;

/// Returns the operators that the functions of a module name.
pub fn operators_of(module: &IRModule) -> OperatorNames {
    let names = |f: &Function| -> Vec<(String, String)> {
        let names = f.ops().iter().map(|op| (normal_domain(f.str(op.domain)), f.str(op.name)));
        names.map(|(domain, name)| (domain.to_owned(), name.to_owned())).collect()
    };
    module.functions().flat_map(|(_, f)| names(f)).collect()
}

/// The bodies of the operators of a registry that `body` chooses.
pub(super) struct Chosen<'a, F> {
    pub table: OpFactsTable<'a, &'a Registry>,
    pub body: F,
}

impl<F> Bodies for Chosen<'_, F>
where
    F: FnMut(&mut dyn Bodies, &str, &str, i64) -> Option<Result<Body, PassError>>,
{
    fn body(&mut self, domain: &str, name: &str, version: i64) -> Option<Result<Body, PassError>> {
        (self.body)(&mut self.table, domain, name, version)
    }

    fn body_of(&mut self, function: &Function, call: NodeId) -> Result<Function, OpError> {
        self.table.body_of(function, call)
    }

    fn infer_types(&mut self, function: &mut Function) {
        Bodies::infer_types(&mut self.table, function);
    }

    fn schema(&mut self, domain: &str, name: &str, version: i64) -> Option<OpSchema> {
        self.table.schema(domain, name, version)
    }
}

/// Returns a module with functions for the operators that have a body, so that a runtime that does not know them runs
/// it. Operators of the domains that are described completely stay as they are, and so do those in `without`: the ones
/// that the model had before, with which it runs already.
///
/// # Errors
/// Returns an error if a body is at fault, or if the module has another function of an operator's name.
pub fn with_bodies<'m>(
    module: &'m IRModule,
    without: &OperatorNames,
    registry: &Registry,
) -> Result<Cow<'m, IRModule>, Error> {
    let mut bodies = Chosen {
        table: OpFactsTable::empty(registry),
        body: |table: &mut dyn Bodies, domain: &str, name: &str, version| {
            let key = (normal_domain(domain).to_owned(), name.to_owned());
            if without.contains(&key) { None } else { table.body(domain, name, version) }
        },
    };
    let mut has_body = |f: &Function| {
        f.ops().iter().any(|op| {
            let (domain, name) = (f.str(op.domain), f.str(op.name));
            let version = f.opset_version(domain).unwrap_or(i64::from(u32::MAX));
            bodies.body(domain, name, version).is_some()
        })
    };
    if !module.functions().any(|(_, f)| has_body(f)) {
        return Ok(Cow::Borrowed(module));
    }
    let mut module = module.clone();
    match add_bodies(&mut module, &mut bodies) {
        Ok(_) => Ok(Cow::Owned(module)),
        Err(error) => {
            let rec = error.rec();
            let said = Error::new(format_args!("[{}] {}", rec.code, rec.message));
            Err(if rec.help.is_empty() { said } else { said.with_help(&rec.help) })
        }
    }
}
