//! Passes that are called: one pass alone, and all that it consists of (rules R3, R11).

use super::{
    fault::Faults,
    requirements,
    resolved::{Pipeline, RunSettings},
    resolver::Resolver,
    spec::{PipelineSpec, RunSpec, entries_of},
};
use crate::pass::{Catalogue, Dependencies, HeldPass, NoPass, Scope};
use relais_plugin_api::options::Value;
use std::collections::BTreeSet;

/// The pass that is called.
pub(crate) enum Callee<'a> {
    /// A pass object of the caller.
    Held(&'a HeldPass),
    /// One of that name, with options.
    Named(&'a str, Value),
}

impl Pipeline {
    /// A pass that is called in a context: it runs whatever its level and the lists, and without its own requirements
    /// (rule R3). The requirements of a sequence's members are found.
    pub(crate) fn of_call(
        callee: Callee<'_>,
        scope: &Scope,
        dependencies: Option<Dependencies>,
        catalogue: &dyn Catalogue,
    ) -> Result<Self, Faults> {
        let run = RunSpec { dependencies, ..RunSpec::default() };
        let spec = PipelineSpec { run, ..PipelineSpec::default() };
        let mut resolver = Resolver::new(&spec, catalogue);
        resolver.scopes.push(scope.clone());
        match callee {
            Callee::Held(held) => _ = resolver.hold(held, None),
            Callee::Named(name, options) => match resolver.find(name) {
                Ok(facts) => _ = resolver.instance(facts, &entries_of(options), None),
                Err(why) => {
                    let fault = resolver.no_pass(name, None, &why.unwrap_or(NoPass::Unknown(Vec::new())));
                    resolver.faults.push(fault);
                }
            },
        }
        resolver.is_called = true;
        resolver.expand();
        resolver.settle();
        let dependencies = dependencies.unwrap_or_default();
        if dependencies != Dependencies::Assumed && !resolver.passes.is_empty() {
            requirements::check(&mut resolver, &[BTreeSet::from([0])], dependencies);
        }
        if resolver.faults.is_empty() {
            resolver.make();
        }
        if !resolver.faults.is_empty() {
            return Err(Faults { list: resolver.faults, sources: spec.sources.clone() });
        }
        Ok(Self {
            name: resolver.passes[0].facts.name.clone(),
            run: RunSettings { dependencies, ..RunSettings::default() },
            scope: resolver.scopes.swap_remove(0),
            nodes: resolver.nodes,
            passes: resolver.passes,
            ..Self::default()
        })
    }
}
