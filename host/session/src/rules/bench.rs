//! The conformance kit over the passes and operators of a registry.

use crate::listener::{Listener, Silent};
use relais::{
    manager::ContextBuilder,
    pass::{RunCx, Scope},
    registry::{CreateError, Registry},
};
use relais_conformance::{
    bench::{Passes, asks_for_interface, requirements},
    interpret::Compute,
};
use relais_plugin_api::{
    diagnostics::PassError,
    facts::OpFactsTable,
    infer::Operators,
    ir::{Function, IRModule},
    options::Value,
    pass::Requirement,
};
use std::sync::Arc;

/// The passes and operators of a registry.
#[derive(Clone, Copy)]
pub struct Registered<'a> {
    registry: &'a Registry,
    listener: &'a dyn Listener,
}

impl<'a> Registered<'a> {
    /// Those of a registry, which nothing stops.
    pub fn new(registry: &'a Registry) -> Self {
        Self { registry, listener: &Silent }
    }

    /// The same that a listener may stop.
    pub fn with_listener(self, listener: &'a dyn Listener) -> Self {
        Self { listener, ..self }
    }

    /// The registry.
    pub fn registry(&self) -> &'a Registry {
        self.registry
    }
}

impl Compute for Registered<'_> {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        body(&mut OpFactsTable::new(self.registry, function));
    }

    fn is_stopped(&self) -> bool {
        self.listener.is_stopped()
    }
}

impl Passes for Registered<'_> {
    fn required(&self, pass: &str) -> Result<Vec<Requirement>, PassError> {
        let of = |name: &str| Some(self.registry.pass(name).ok()?.required.clone());
        let record = self.registry.pass(pass).map_err(PassError::new)?;
        Ok(requirements(&record.name, of))
    }

    fn make(&self, pass: &str, options: &Value) -> Result<(), PassError> {
        self.registry.create(pass, options).map(drop).map_err(not_made)
    }

    fn run(&self, pass: &str, options: &Value, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        self.run_in(pass, options, &[], module)
    }

    fn run_in(
        &self,
        pass: &str,
        options: &Value,
        config: &[(String, Value)],
        module: &IRModule,
    ) -> Result<Option<IRModule>, PassError> {
        let pass = self.registry.create(pass, options).map_err(not_made)?;
        // Every member of a sequential pass is on.
        let mut builder = ContextBuilder::new(self.registry, &Scope::default()).opt_level(u8::MAX);
        for (key, value) in config {
            builder = builder.config(key, value.clone());
        }
        let context = Arc::new(builder.build().map_err(PassError::new)?);
        let cx = RunCx::new(self.registry);
        let cx = self.listener.cancel().map_or(cx, |cancel| cx.with_cancel(cancel));
        let ran = context.scope(|_| pass.run(module, &cx)).map_err(PassError::new)?;
        ran.map(|outcome| outcome.module).map_err(|failure| failure.error)
    }

    fn changes_interface(&self, pass: &str, options: &Value) -> bool {
        let option = self.registry.pass(pass).ok().and_then(|record| record.changes_interface.as_deref());
        asks_for_interface(option, options)
    }
}

/// The error of a pass that could not be created; a panic stays one.
pub fn not_made(error: CreateError) -> PassError {
    match error {
        CreateError::Make { error, .. } => error,
        error => PassError::new(error),
    }
}
