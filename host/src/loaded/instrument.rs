//! Instruments that plugins provide, as the manager asks them.

use super::services::HookState;
use crate::{
    pass::{Instrument, PassInfo, SkipReason},
    plugin::{InstrumentRecord, Made, Running, SETUP, cut_error},
    registry::{CreateError, Registry},
};
use abi_stable::std_types::{RSlice, RStr};
use relais_plugin_api::{
    boundary::instrument::{HookCall, HookResult, InstrumentObject, PassInfoRec},
    diagnostics::PassError,
    instrument::SkipKind,
    ir::IRModule,
    options::Value,
};
use std::sync::{Mutex, PoisonError};

/// An instrument of a plugin that was made, its options set.
pub struct PluginInstrument {
    state: HookState,
    index: usize,
    object: Made<InstrumentObject>,
    /// The first panic of a hook that has no way to fail; reported when the context is left.
    fault: Mutex<Option<PassError>>,
}

impl Registry {
    /// Makes an instrument, by full or short name; `options` is a table. Its library is opened if it was not.
    ///
    /// # Errors
    /// Returns an error if it has no such options, or its plugin cannot be opened.
    pub fn create_instrument(&self, name: &str, options: &Value) -> Result<PluginInstrument, CreateError> {
        let (provider, index) = self.provider_of_instrument(name)?;
        let InstrumentRecord { name, options: schema, .. } = &provider.records().instruments[index];
        let (_, object) = provider.make(&format!("instrument `{name}`"), schema, options, |root, options| {
            (root.create_instrument())(SETUP, name.as_str().into(), options).into_result()
        })?;
        let state = HookState { registry: self.clone(), provider: provider.clone() };
        Ok(PluginInstrument { state, index, object, fault: Mutex::default() })
    }
}

impl PluginInstrument {
    /// Returns its record.
    pub fn record(&self) -> &InstrumentRecord {
        &self.state.provider.records().instruments[self.index]
    }

    fn hook<T>(&self, call: impl FnOnce(&HookCall<'_>, &InstrumentObject) -> HookResult<T>) -> Result<T, PassError> {
        let _running = Running::new(self.object.what());
        call(&self.state.call(), &self.object).into_result().map_err(cut_error)
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
