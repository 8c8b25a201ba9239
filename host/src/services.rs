//! What the host does for a pass that runs.
#![expect(unsafe_code, reason = "the data of the host's functions")]

use crate::{
    manager::{PassContext, run_nested},
    pass::{PassHandle, Run},
    registry::PluginInstrument,
};
use abi_stable::{
    prefix_type::WithMetadata,
    std_types::{ROption, RResult, RSlice, RStr, RVec},
};
use rayon::prelude::*;
use relais_plugin_api::{
    self as plugin_api,
    boundary::{
        abi::{
            DiagnosticRec, EvalEntry, HostApi, HostApiRef, HostData, HostSetup, HostSetupRef, InferEntry, LogRec,
            Outcome, ParallelBody, ResolvedOp, error_kind,
        },
        guard::caught,
        instrument::{HookApi, HookApiRef, HookCall},
        logger,
    },
    diagnostics::{Diagnostic, PassError, Severity},
    ir::IRModule,
    options::Value,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// What a call of a pass may ask about.
pub(crate) struct CallState<'a> {
    pub run: &'a Run<'a>,
    /// The pass.
    pub pass: &'a PassHandle,
    /// The module as it was before the pass.
    pub module: &'a IRModule,
    /// The global that the pass was given; empty for the module.
    pub global: &'a str,
    /// What was said, to come out in module order.
    pub said: Mutex<Vec<Diagnostic>>,
    /// The passes that `get_pass` made.
    passes: Mutex<Vec<Arc<PassHandle>>>,
    /// How many parallel loops are under way.
    n_loops: AtomicUsize,
}

impl<'a> CallState<'a> {
    pub fn new(run: &'a Run<'a>, pass: &'a PassHandle, module: &'a IRModule, global: &'a str) -> Self {
        Self {
            run,
            pass,
            module,
            global,
            said: Mutex::default(),
            passes: Mutex::default(),
            n_loops: AtomicUsize::new(0),
        }
    }
}

const TABLE: &WithMetadata<HostApi> = &WithMetadata::new(HostApi {
    module,
    diagnostic,
    wants_remarks,
    is_cancelled,
    progress,
    parallel_for,
    resolve_op,
    infer_entry,
    eval_entry,
    get_pass,
    run_pass,
    config,
    context,
    count,
});

/// The functions.
pub(crate) const HOST: HostApiRef = HostApiRef(TABLE.static_as_prefix());

const HOOK_TABLE: &WithMetadata<HookApi> = &WithMetadata::new(HookApi { context: hook_context });
const HOOK: HookApiRef = HookApiRef(HOOK_TABLE.static_as_prefix());

/// What a hook of a plugin's instrument is called with.
pub(crate) fn hook_call(instrument: &PluginInstrument) -> HookCall<'_> {
    HookCall { host: HOOK, data: HostData::new(instrument), log_level: log::max_level() as u8 }
}

const SETUP_TABLE: &WithMetadata<HostSetup> = &WithMetadata::new(HostSetup { log });

/// What a plugin is given when it is opened.
pub(crate) const SETUP: HostSetupRef = HostSetupRef(SETUP_TABLE.static_as_prefix());

fn state<'a>(data: HostData<'a>) -> &'a CallState<'a> {
    // SAFETY: `PassHandle` makes the data of these functions, from a `CallState` alone.
    unsafe { data.get() }
}

extern "C" fn module(data: HostData<'_>) -> &IRModule {
    state(data).module
}

extern "C" fn diagnostic(data: HostData<'_>, mut rec: DiagnosticRec) {
    let state = state(data);
    if rec.function.is_empty() {
        rec.function = state.global.into();
    }
    if rec.severity != Severity::REMARK || state.run.cx.wants_remarks() {
        state.said.lock().unwrap_or_else(PoisonError::into_inner).push(rec.into());
    }
}

extern "C" fn wants_remarks(data: HostData<'_>) -> u8 {
    state(data).run.cx.wants_remarks().into()
}

extern "C" fn is_cancelled(data: HostData<'_>) -> u8 {
    state(data).run.cx.cancel.load(Ordering::Relaxed).into()
}

extern "C" fn progress(data: HostData<'_>, done: u64, total: u64) {
    let state = state(data);
    // A fault of whoever draws the progress is not the pass's.
    let _ = caught(|| state.run.cx.sink.progress(state.pass.record(), done, total));
}

extern "C" fn parallel_for(data: HostData<'_>, n: usize, body_state: *const (), body: ParallelBody) {
    struct Shared(*const ());
    // SAFETY: the plugin's side gives a pointer to what its threads may share.
    unsafe impl Sync for Shared {}
    let shared = Shared(body_state);
    let shared = &shared;
    let CallState { run, n_loops, .. } = state(data);
    let entered = || run.context.push_quietly();
    let turn = |_: &mut _, index| (body.call)(shared.0, index);
    n_loops.fetch_add(1, Ordering::Relaxed);
    run.cx.install(|| (0..n).into_par_iter().for_each_init(entered, turn));
    n_loops.fetch_sub(1, Ordering::Relaxed);
}

extern "C" fn resolve_op<'a>(data: HostData<'a>, domain: RStr<'_>, name: RStr<'_>, version: u32) -> ResolvedOp<'a> {
    let registry = state(data).run.cx.registry;
    let op = registry.operator(&domain, &name, version);
    ResolvedOp {
        is_known: op.is_some().into(),
        facts: op.map_or(&[][..], |(_, record)| record.fields()).into(),
        infer: op.filter(|(_, record)| record.has_infer).map(|(id, _)| id).into(),
        eval: registry.evaluator(&domain, &name, version).into(),
    }
}

extern "C" fn infer_entry(data: HostData<'_>, id: u32) -> RResult<InferEntry, PassError> {
    state(data).run.cx.registry.infer_entry(id).into()
}

extern "C" fn eval_entry(data: HostData<'_>, id: u32) -> RResult<EvalEntry, PassError> {
    state(data).run.cx.registry.eval_entry(id).into()
}

extern "C" fn get_pass(data: HostData<'_>, name: RStr<'_>, options: RSlice<'_, u8>) -> RResult<u32, PassError> {
    let state = state(data);
    let host = |error: &dyn std::fmt::Display| PassError::with_kind(error_kind::HOST, error);
    let made = caught(|| {
        let options = Value::decode(options.as_slice()).map_err(|error| host(&error))?;
        let pass = state.run.cx.registry.create(&name, &options).map_err(|error| host(&error))?;
        let mut passes = state.passes.lock().unwrap_or_else(PoisonError::into_inner);
        passes.push(Arc::new(pass));
        Ok((passes.len() - 1) as u32)
    });
    made.and_then(|made| made).into()
}

extern "C" fn run_pass(data: HostData<'_>, id: u32, module: &IRModule) -> Outcome<IRModule> {
    let state = state(data);
    let pass = state.passes.lock().unwrap_or_else(PoisonError::into_inner).get(id as usize).cloned();
    let Some(pass) = pass else {
        return RResult::RErr(PassError::with_kind(error_kind::HOST, "the pass was not made for this call"));
    };
    let ran = caught(|| {
        let cx = state.run.cx.deeper(state.n_loops.load(Ordering::Relaxed)).ok_or_else(|| {
            let message = format!("`{}` is run by passes that it runs itself", pass.record().name);
            PassError::with_kind(error_kind::HOST, message)
        })?;
        let outcome = run_nested(&pass, module, &cx).map_err(|failure| failure.error)?;
        Ok(ROption::from(outcome.module))
    });
    ran.and_then(|ran| ran).into()
}

extern "C" fn config(data: HostData<'_>, key: RStr<'_>) -> ROption<RVec<u8>> {
    let CallState { run: Run { cx, context, .. }, pass, .. } = state(data);
    let set = cx.config.get(key.as_str()).or_else(|| context.settings().config.get(key.as_str()));
    let value = set.cloned().or_else(|| cx.registry.config_default(&key, pass.plugin()));
    value.map(|value| value.encode().into()).into()
}

extern "C" fn context(data: HostData<'_>) -> RVec<u8> {
    let CallState { run, pass, .. } = state(data);
    let encode = || encode_context(&run.context, run.cx.registry.config_defaults(pass.plugin()), run.cx.config);
    let encoded = caught(|| run.encoded.get_or_init(encode).as_slice().into());
    encoded.unwrap_or_default()
}

extern "C" fn count(data: HostData<'_>, statistic: RStr<'_>, n: u64) {
    let CallState { run, pass, .. } = state(data);
    run.count(pass.record(), &statistic, n);
}

extern "C" fn hook_context(data: HostData<'_>) -> RVec<u8> {
    // SAFETY: `hook_call` makes the data of this function, from a `PluginInstrument`.
    let instrument: &PluginInstrument = unsafe { data.get() };
    let encode = || encode_context(&PassContext::current(), instrument.config_defaults(), &BTreeMap::new());
    caught(encode).map(RVec::from).unwrap_or_default()
}

/// A context as plugins are told it: its settings, and every option of a context, as it was set or by default. What is
/// in `config` counts before what the context says.
fn encode_context(
    context: &PassContext,
    defaults: BTreeMap<String, Value>,
    config: &BTreeMap<String, Value>,
) -> Vec<u8> {
    let scope = context.settings();
    let mut all = defaults;
    all.extend(scope.config.iter().chain(config).map(|(key, value)| (key.clone(), value.clone())));
    let all = Value::Struct(all.into_iter().collect());
    plugin_api::context::PassContext::encode(scope.opt_level, &scope.required, &scope.disabled, &all)
}

extern "C" fn log(message: &LogRec<'_>) {
    // A logger that panics must not end the process.
    let _ = caught(|| {
        log::logger().log(
            &log::Record::builder()
                .level(logger::level(message.level))
                .target(message.target.as_str())
                .module_path(Some(message.module.as_str()))
                .file(Some(message.file.as_str()))
                .line(Some(message.line))
                .args(format_args!("{}", message.message))
                .build(),
        );
    });
}
