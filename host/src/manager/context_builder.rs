//! Making pass contexts whose names and values are checked.

use crate::{
    instruments::{self, Output, StandardError},
    pass::{Catalogue, PassContext, PassInstrument, Scope},
    pipeline::{
        Code, Faults, PipelineFault, PipelineSpec,
        spec::{InstrumentUse, RunSpec, ScopeSpec, Written, entries_of},
    },
};
use relais_plugin_api::options::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A pass context being put together; names and values are checked when it is built.
pub struct ContextBuilder<'a> {
    catalogue: &'a dyn Catalogue,
    around: BTreeMap<String, Value>,
    scope: ScopeSpec,
    /// `None` is a placeholder for the next of the named ones.
    instruments: Vec<Option<Arc<dyn PassInstrument>>>,
    named: Vec<InstrumentUse>,
    output: Arc<dyn Output>,
}

impl<'a> ContextBuilder<'a> {
    /// A context that starts from settings, without instruments.
    pub fn new(catalogue: &'a dyn Catalogue, scope: &Scope) -> Self {
        let names = |names: &BTreeSet<String>| names.iter().cloned().map(Written::made).collect();
        Self {
            catalogue,
            around: scope.config.clone(),
            scope: ScopeSpec {
                opt_level: Some(scope.opt_level),
                required: names(&scope.required),
                disabled: names(&scope.disabled),
                config: Vec::new(),
            },
            instruments: Vec::new(),
            named: Vec::new(),
            output: Arc::new(StandardError),
        }
    }

    /// Passes up to this level are on.
    pub fn opt_level(mut self, opt_level: u8) -> Self {
        self.scope.opt_level = Some(opt_level);
        self
    }

    /// A pass that is on at any level, and that no instrument is asked about. A name that no pass of the catalogue has is
    /// looked up among the passes that run in the context, and is an error there if none has it.
    pub fn require(mut self, pass: &str) -> Self {
        self.scope.required.push(Written::made(pass.to_owned()));
        self
    }

    /// A pass that is off, whatever else applies. `"Name?"` need not exist. An unknown name is looked up when something
    /// runs, as for [`require`](Self::require).
    pub fn disable(mut self, pass: &str) -> Self {
        self.scope.disabled.push(Written::made(pass.to_owned()));
        self
    }

    /// An option of the context.
    pub fn config(mut self, key: &str, value: Value) -> Self {
        self.scope.config.extend(entries_of(Value::Struct(vec![(key.to_owned(), value)])));
        self
    }

    /// Adds an instrument; those that are added first are asked first.
    pub fn instrument(mut self, instrument: Arc<dyn PassInstrument>) -> Self {
        self.instruments.push(Some(instrument));
        self
    }

    /// The output of the instruments that are named; standard error by default.
    pub fn output(mut self, output: Arc<dyn Output>) -> Self {
        self.output = output;
        self
    }

    /// An instrument by name, of the host or of a plugin, with options.
    pub fn instrument_by_name(mut self, name: &str, options: Vec<(String, Value)>) -> Self {
        self.instruments.push(None);
        let (name, options) = (Written::made(name.to_owned()), entries_of(Value::Struct(options)));
        self.named.push(InstrumentUse { name, options });
        self
    }

    /// The context, not entered yet.
    ///
    /// # Errors
    /// Returns an error if a name does not resolve, an option does not accept its value, or an instrument cannot be
    /// made.
    pub fn build(self) -> Result<PassContext, Faults> {
        let run = RunSpec { instruments: self.named, ..RunSpec::default() };
        let spec = PipelineSpec { around: self.around, scope: self.scope, run, ..PipelineSpec::default() };
        let pipeline = spec.context(self.catalogue)?;
        let mut named = pipeline.run.instruments.iter();
        let mut instruments = Vec::with_capacity(self.instruments.len());
        for given in self.instruments {
            let made = match given {
                Some(given) => Some(Ok(given)),
                None => named.next().map(|(name, options)| {
                    let made = instruments::make(name, options, self.catalogue, &self.output);
                    made.map_err(|error| format!("instrument `{name}` could not be made: {error}"))
                }),
            };
            match made {
                Some(Ok(made)) => instruments.push(made),
                Some(Err(message)) => {
                    let list = vec![PipelineFault::new(Code::Create, None, message)];
                    return Err(Faults { list, sources: spec.sources });
                }
                None => {}
            }
        }
        Ok(PassContext::new(pipeline.scope).with_instruments(instruments))
    }
}
