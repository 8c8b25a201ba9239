//! Instruments that plugins provide, as the manager asks them.

use super::{CreateError, Provider, Registry};
use crate::{
    manager::{Instrument, PassInfo, SkipReason},
    options::complete,
    plugin::{InstrumentRecord, Made, Running, cut_error},
    services::{SETUP, hook_call},
};
use abi_stable::std_types::{RSlice, RStr};
use relais_plugin_api::{
    boundary::instrument::{HookCall, HookResult, InstrumentObject, PassInfoRec},
    diagnostics::PassError,
    instrument::SkipKind,
    ir::IRModule,
    options::Value,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// An instrument of a plugin that was made, its options set.
pub struct PluginInstrument {
    registry: Registry,
    provider: Arc<Provider>,
    index: usize,
    object: Made<InstrumentObject>,
    /// The first panic of a hook that has no way to fail; reported when the context is left.
    fault: Mutex<Option<PassError>>,
}

impl PluginInstrument {
    pub(super) fn new(
        registry: &Registry,
        provider: &Arc<Provider>,
        index: usize,
        options: &Value,
    ) -> Result<Self, CreateError> {
        let record = &provider.records.instruments[index];
        let what = || format!("instrument `{}`", record.name);
        let options =
            complete(&record.options, options).map_err(|error| CreateError::Options { what: what(), error })?;
        let describe = || provider.describe();
        let open =
            provider.open().map_err(|refusal| CreateError::Open { what: what(), plugin: describe(), refusal })?;
        let make_error = |error| CreateError::Make { what: what(), plugin: describe(), error };
        let guarded = provider.guarded(&what());
        let running = Running::new(&guarded);
        let create = open.root.create_instrument();
        let object = create(SETUP, record.name.as_str().into(), options.encode().as_slice().into()).into_result();
        let object = Made::new(object.map_err(make_error)?, guarded);
        drop(running);
        let (registry, provider) = (registry.clone(), provider.clone());
        Ok(Self { registry, provider, index, object, fault: Mutex::default() })
    }

    /// Returns its record.
    pub fn record(&self) -> &InstrumentRecord {
        &self.provider.records.instruments[self.index]
    }

    /// Where it is from.
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The defaults of the options of contexts, as its plugin has them.
    pub(crate) fn config_defaults(&self) -> BTreeMap<String, Value> {
        self.registry.config_defaults(&self.provider.records.plugin)
    }

    fn hook<T>(&self, call: impl FnOnce(&HookCall<'_>, &InstrumentObject) -> HookResult<T>) -> Result<T, PassError> {
        let _running = Running::new(self.object.what());
        call(&hook_call(self), &self.object).into_result().map_err(cut_error)
    }

    fn keep(&self, result: Result<(), PassError>) {
        if let Err(error) = result {
            self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

fn with_rec<T>(pass: &PassInfo<'_>, body: impl FnOnce(&PassInfoRec<'_>) -> T) -> T {
    let required: Vec<RStr<'_>> = pass.required.iter().map(|name| name.as_str().into()).collect();
    body(&PassInfoRec {
        name: pass.name.into(),
        plugin: pass.plugin.into(),
        level: pass.level.0,
        opt_level: pass.opt_level,
        required: RSlice::from_slice(&required),
    })
}

impl Instrument for PluginInstrument {
    fn name(&self) -> &str {
        &self.record().name
    }

    fn enter(&self) -> Result<(), PassError> {
        self.hook(|call, object| object.enter(call))
    }

    fn exit(&self) -> Result<(), PassError> {
        let result = self.hook(|call, object| object.exit(call));
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.and(fault.map_or(Ok(()), Err))
    }

    fn should_run(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<bool, PassError> {
        self.hook(|call, object| with_rec(pass, |rec| object.should_run(call, module, rec))).map(|yes| yes != 0)
    }

    fn before(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.hook(|call, object| with_rec(pass, |rec| object.before(call, module, rec)))
    }

    fn after(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.hook(|call, object| with_rec(pass, |rec| object.after(call, module, rec)))
    }

    fn skipped(&self, module: &IRModule, pass: &PassInfo<'_>, reason: &SkipReason) {
        let kind = match reason {
            SkipReason::Vetoed => SkipKind::VETOED,
            SkipReason::Holds => SkipKind::HOLDS,
            SkipReason::Settled => SkipKind::SETTLED,
            SkipReason::RequirementLost(_) => SkipKind::REQUIREMENT_LOST,
            SkipReason::Quarantined => SkipKind::QUARANTINED,
        };
        let text = reason.to_string();
        self.keep(self.hook(|call, object| with_rec(pass, |rec| object.skipped(call, module, rec, kind, &text))));
    }

    fn failed(&self, pass: &PassInfo<'_>, error: &PassError) {
        self.keep(self.hook(|call, object| with_rec(pass, |rec| object.failed(call, rec, error))));
    }
}
