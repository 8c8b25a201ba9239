//! Instruments that plugins provide, as the manager asks them.

use super::services::HookState;
use crate::{
    pass::{Deadline, InstrumentFindings, PassInfo, PassInstrument, PassMessage, SkipReason},
    plugin::{InstrumentRecord, Made, Running, cut, cut_error, escaped},
    registry::{CreateError, Registry},
};
use abi_stable::std_types::{ROption, RSlice, RStr};
use relais_plugin_api::{
    boundary::{
        abi::wanted,
        instrument::{FindingsRec, HookCall, HookResult, InstrumentObject, PassInfoRec},
    },
    diagnostics::PassError,
    instrument::SkipKind,
    ir::IRModule,
    options::Value,
};
use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

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
        let (_, object) = provider.make(&format!("instrument `{name}`"), schema, options, |open, options| {
            open.create_instrument(name, options)
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

    /// Calls a hook.
    pub(crate) fn hook<T>(
        &self,
        call: impl FnOnce(&HookCall<'_>, &InstrumentObject) -> HookResult<T>,
    ) -> Result<T, PassError> {
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
    let required: Vec<RStr<'_>> = pass.required.iter().map(|required| required.pass.as_str().into()).collect();
    body(&PassInfoRec {
        name: pass.name.into(),
        plugin: pass.plugin.into(),
        level: pass.level.0,
        opt_level: pass.opt_level,
        required: RSlice::from_slice(&required),
    })
}

/// A value as JSON. A number that JSON does not have is null.
fn json(value: Value) -> serde_json::Value {
    match value {
        Value::Bool(value) => value.into(),
        Value::Int(value) => value.into(),
        Value::Float(value) => value.into(),
        Value::Str(value) => value.into(),
        Value::List(items) => items.into_iter().map(json).collect(),
        Value::Struct(entries) => entries.into_iter().map(|(key, value)| (key, json(value))).collect(),
        _ => serde_json::Value::Null,
    }
}

impl PassInstrument for PluginInstrument {
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

    fn counted(&self, pass: &PassInfo<'_>, statistic: &str, n: u64) {
        self.keep(self.hook(|call, object| with_rec(pass, |rec| object.counted(call, rec, statistic, n))));
    }

    fn said(&self, pass: &PassInfo<'_>, said: &PassMessage) {
        let line = said.line.as_deref().unwrap_or_default();
        let told = said.diagnostic.rec();
        self.keep(self.hook(|call, object| with_rec(pass, |rec| object.said(call, rec, told, line))));
    }

    fn took(&self, pass: &PassInfo<'_>, duration: Duration) {
        let nanoseconds = duration.as_nanos().try_into().unwrap_or(u64::MAX);
        self.keep(self.hook(|call, object| with_rec(pass, |rec| object.took(call, rec, nanoseconds))));
    }

    fn accept(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.hook(|call, object| with_rec(pass, |rec| object.accept(call, module, rec)))
    }

    fn findings(&self) -> Option<InstrumentFindings> {
        let found = self.hook(|call, object| object.findings(call));
        let FindingsRec { text, data, .. } = match found {
            Ok(found) => found.into_option()?,
            Err(error) => {
                let text = format!("its findings are lost: {error}\n");
                return Some(InstrumentFindings { text, data: serde_json::Value::Null });
            }
        };
        let mut text = escaped(&cut(&text)).into_owned();
        let data = Value::decode(&data).map(json).unwrap_or_else(|error| {
            text.push_str(&format!("its data cannot be decoded: {error}\n"));
            serde_json::Value::Null
        });
        Some(InstrumentFindings { text, data })
    }

    fn wants_remarks(&self) -> bool {
        let _running = Running::new(self.object.what());
        self.object.wants(wanted::REMARKS) != 0
    }

    fn deadline(&self, pass: &PassInfo<'_>) -> Option<Deadline> {
        let limit = self.hook(|call, object| with_rec(pass, |rec| object.time_limit(call, rec)));
        let limit = limit.map(ROption::into_option).map_err(|error| self.keep(Err(error))).ok().flatten()?;
        let at = Instant::now().checked_add(Duration::from_nanos(limit.nanoseconds))?;
        Some(Deadline { at, message: escaped(&cut(&limit.message)).into_owned(), ends_after: None })
    }
}
