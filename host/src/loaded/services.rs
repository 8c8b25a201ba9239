//! The host's functions for a running pass.
#![expect(unsafe_code, reason = "the data of the host's functions")]

use super::outer::Outer;
use crate::{
    manager::{ContextBuilder, resolve_nested, run_nested},
    pass::{Catalogue, ContextGuard, PassContext, RunCx, Scope},
    pipeline::{Callee, Pipeline},
    plugin::{PluginRecord, StatisticRecord, cut, cut_diagnostic, escaped},
    registry::{Provider, Registry},
};
use abi_stable::{
    prefix_type::WithMetadata,
    std_types::{RArc, ROption, RResult, RSlice, RStr, RVec},
};
use rayon::prelude::*;
use relais_plugin_api::{
    self as plugin_api,
    analysis::{AnalysisObject, SubjectRec},
    boundary::{
        abi::{
            CallCx, CallEntry, DiagnosticRec, EvalEntry, HostApi, HostApiRef, HostData, InferEntry, ParallelBody,
            PassResult, ResolvedOp, error_kind, wanted,
        },
        guard::caught,
        instrument::{HookApi, HookApiRef, HookCall},
    },
    context::ContextSettings,
    diagnostics::{Diagnostic, PassError, Severity},
    facts::OpSource,
    ir::{IRModule, NodeId},
    options::Value,
};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

/// The state that one run of a pass shares between all threads.
pub(super) struct Run<'a> {
    pub cx: &'a RunCx<'a>,
    /// Where operators are looked up.
    registry: &'a Registry,
    plugin: &'a PluginRecord,
    /// The statistics of the pass.
    statistics: &'a [StatisticRecord],
    /// The context of the thread that runs the pass; that of all others, while they work for it (rule R9).
    pub context: Arc<PassContext>,
    /// The context as encoded for plugins, once requested.
    encoded: OnceLock<Vec<u8>>,
    /// The analyses of the module before the pass, by the names that it asked for, with their full ones: modules are compared global by global
    /// otherwise, and each function may ask.
    of_module: Mutex<BTreeMap<String, (String, RArc<AnalysisObject>)>>,
    /// The counts, by statistic; sums do not depend on which thread came first.
    counts: Vec<AtomicU64>,
    /// The host, if this process is a worker.
    pub outer: Option<&'a dyn Outer>,
    /// Whether the pass may count what it does not declare, as one of a program.
    pub counts_all: bool,
}

impl<'a> Run<'a> {
    pub fn new(
        cx: &'a RunCx<'a>,
        registry: &'a Registry,
        plugin: &'a PluginRecord,
        statistics: &'a [StatisticRecord],
    ) -> Self {
        let counts = statistics.iter().map(|_| AtomicU64::new(0)).collect();
        Self {
            cx,
            registry,
            plugin,
            statistics,
            context: PassContext::current(),
            encoded: OnceLock::new(),
            of_module: Mutex::default(),
            counts,
            outer: None,
            counts_all: false,
        }
    }

    /// Whether a context is the one that the pass was run in, not one that it entered.
    fn is_own(&self, context: &PassContext) -> bool {
        std::ptr::eq(&*self.context, context)
    }

    /// The environment in a context: the options of the run do not reach into one that the pass entered, and the
    /// instruments of that one watch, since it belongs to one thread.
    fn cx_in(&self, context: &PassContext) -> RunCx<'_> {
        match self.is_own(context) {
            true => *self.cx,
            false => RunCx { config: &NO_CONFIG, nest: self.cx.nest.watched(), ..*self.cx },
        }
    }

    /// Adds to a statistic of the pass; returns whether it declares it.
    fn count(&self, statistic: &str, n: u64) -> bool {
        let index = self.statistics.iter().position(|declared| declared.name == statistic);
        let count = index.and_then(|index| self.counts.get(index));
        count.map(|count| count.fetch_add(n, Ordering::Relaxed)).is_some()
    }

    /// Passes on the counts of the pass, in the order of their declaration.
    pub fn tell_counts(&self) {
        for (statistic, count) in self.statistics.iter().zip(&self.counts) {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                (self.cx.count)(&statistic.name, count);
            }
        }
    }
}

static NO_CONFIG: BTreeMap<String, Value> = BTreeMap::new();

thread_local! {
    /// The contexts that plugins entered on this thread and have not left.
    static ENTERED: RefCell<Vec<(Arc<PassContext>, ContextGuard)>> = const { RefCell::new(Vec::new()) };
    /// The number of those that belong to callers of the current call.
    static N_OUTER: Cell<usize> = const { Cell::new(0) };
}

/// The contexts that a call enters on this thread. Those that it has not left when it ends are left then.
pub(super) struct Entered {
    n_outer: usize,
}

impl Entered {
    pub fn begin() -> Self {
        let n_entered = ENTERED.with_borrow(Vec::len);
        Self { n_outer: N_OUTER.replace(n_entered) }
    }

    fn push(context: Arc<PassContext>, guard: ContextGuard) {
        ENTERED.with_borrow_mut(|entered| entered.push((context, guard)));
    }

    /// Leaves the innermost context of this call; `None` if there is none.
    fn leave() -> Option<Result<(), PassError>> {
        let is_own = ENTERED.with_borrow(Vec::len) > N_OUTER.get();
        // The guard is not left while the list is borrowed: an instrument may run passes.
        let (context, guard) = is_own.then(|| ENTERED.with_borrow_mut(Vec::pop)).flatten()?;
        let left = guard.leave();
        if let Some(fault) = context.take_fault() {
            PassContext::current().keep_fault(fault);
        }
        Some(left.map_err(|error| host(&error)))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // The fault of one exit does not keep the others entered.
        while let Some(left) = Self::leave() {
            left.unwrap_or_else(|error| log::error!("{error}"));
        }
        N_OUTER.set(self.n_outer);
    }
}

pub(super) fn host(message: &dyn std::fmt::Display) -> PassError {
    PassError::with_kind(error_kind::HOST, message)
}

/// The state that a call of a pass may query.
pub(super) struct CallState<'a> {
    run: &'a Run<'a>,
    /// The module as it was before the pass.
    module: &'a IRModule,
    /// The global that the pass was given; empty for the module.
    global: &'a str,
    /// The messages, to be output in module order.
    pub said: Mutex<Vec<Diagnostic>>,
    /// How many rewrites were about to be committed.
    n_rewrites: AtomicU64,
    /// The first operator whose type relation or evaluator panicked or returned something untrue, as its plugin's
    /// failure.
    pub broken: Mutex<Option<PassError>>,
    /// The passes that `get_pass` made.
    passes: Mutex<Vec<Arc<Pipeline>>>,
    /// How many parallel loops are under way.
    n_loops: AtomicUsize,
    /// The first panic of the host itself, which no plugin sees: the pass has failed, whatever it returns.
    fault: Mutex<Option<PassError>>,
}

impl<'a> CallState<'a> {
    pub fn new(run: &'a Run<'a>, module: &'a IRModule, global: &'a str) -> Self {
        Self {
            run,
            module,
            global,
            said: Mutex::default(),
            broken: Mutex::default(),
            n_rewrites: AtomicU64::new(0),
            passes: Mutex::default(),
            n_loops: AtomicUsize::new(0),
            fault: Mutex::default(),
        }
    }

    /// Returns the host's error while it worked for the pass.
    pub fn fault(&self) -> Option<PassError> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The module as it was before the pass.
    fn module(&self) -> &'a IRModule {
        self.run.outer.map_or(self.module, Outer::module)
    }

    /// Runs the host's part of a call. A panic in it stays here, and the plugin gets `T`'s default.
    fn guarded<T: Default>(&self, f: impl FnOnce() -> T) -> T {
        caught(f).unwrap_or_else(|panic| {
            self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
            T::default()
        })
    }
}

const TABLE: &WithMetadata<HostApi> = &WithMetadata::new(HostApi {
    module,
    diagnostic,
    wants,
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
    may_rewrite,
    operator_failed,
    enter_context,
    leave_context,
    call_entry,
    file,
    analysis,
});

/// The functions.
const HOST: HostApiRef = HostApiRef(TABLE.static_as_prefix());

const HOOK_TABLE: &WithMetadata<HookApi> = &WithMetadata::new(HookApi { context: hook_context });
const HOOK: HookApiRef = HookApiRef(HOOK_TABLE.static_as_prefix());

/// The state that a hook of a plugin's instrument may query.
pub(super) struct HookState {
    pub registry: Registry,
    pub provider: Arc<Provider>,
}

impl HookState {
    /// Returns the arguments for a hook.
    pub fn call(&self) -> HookCall<'_> {
        // SAFETY: `HOOK` takes the data for a `HookState`.
        unsafe { HookCall::new(HOOK, HostData::new(self), log::max_level() as u8) }
    }
}

impl CallState<'_> {
    /// Returns the arguments for a pass.
    pub fn call(&self) -> CallCx<'_> {
        // SAFETY: `HOST` takes the data for a `CallState`.
        unsafe { CallCx::new(HOST, HostData::new(self), log::max_level() as u8) }
    }
}

fn state<'a>(data: HostData<'a>) -> &'a CallState<'a> {
    // SAFETY: `CallState::call` makes the data of these functions, from a `CallState` alone.
    unsafe { data.get() }
}

extern "C" fn module(data: HostData<'_>) -> &IRModule {
    state(data).module()
}

extern "C" fn diagnostic(data: HostData<'_>, mut rec: DiagnosticRec) {
    let state = state(data);
    state.guarded(|| {
        cut_diagnostic(&mut rec);
        if rec.function.is_empty() {
            rec.function = state.global.into();
        }
        if rec.severity != Severity::REMARK || state.run.cx.wants_remarks() {
            state.said.lock().unwrap_or_else(PoisonError::into_inner).push(rec.into());
        }
    });
}

extern "C" fn wants(data: HostData<'_>, bits: u32) -> u32 {
    if state(data).run.cx.wants_remarks() { bits & wanted::REMARKS } else { 0 }
}

extern "C" fn is_cancelled(data: HostData<'_>) -> u8 {
    state(data).run.cx.cancel.load(Ordering::Relaxed).into()
}

extern "C" fn progress(data: HostData<'_>, done: u64, total: u64) {
    let state = state(data);
    // A fault in drawing the progress must not affect others.
    let _ = caught(|| (state.run.cx.progress)(done, total));
}

unsafe extern "C" fn parallel_for(data: HostData<'_>, n: usize, body_state: *const (), body: ParallelBody) {
    struct Shared(*const ());
    // SAFETY: the plugin's side passes a pointer to data that its threads may share.
    unsafe impl Sync for Shared {}
    let shared = Shared(body_state);
    let shared = &shared;
    let state = state(data);
    let CallState { run, n_loops, .. } = state;
    let context = PassContext::current();
    let entered = || (Entered::begin(), context.adopt());
    // SAFETY: the caller passes the state with the body, and waits for this function.
    let turn = |_: &mut _, index| unsafe { body.turn(shared.0, index) };
    n_loops.fetch_add(1, Ordering::Relaxed);
    state.guarded(|| run.cx.install(|| (0..n).into_par_iter().for_each_init(entered, turn)));
    n_loops.fetch_sub(1, Ordering::Relaxed);
}

extern "C" fn resolve_op<'a>(data: HostData<'a>, domain: RStr<'_>, name: RStr<'_>, version: u32) -> ResolvedOp<'a> {
    let state = state(data);
    let registry = state.run.registry;
    state.guarded(|| Some(registry.resolve(&domain, &name, version))).unwrap_or(ResolvedOp::UNKNOWN)
}

extern "C" fn infer_entry(data: HostData<'_>, id: u32) -> RResult<InferEntry, PassError> {
    let entry = caught(|| state(data).run.registry.infer_entry(id));
    entry.and_then(|entry| entry).into()
}

extern "C" fn call_entry(data: HostData<'_>, part: u8, id: u32) -> RResult<CallEntry, PassError> {
    let entry = caught(|| state(data).run.registry.call_entry(part, id));
    entry.and_then(|entry| entry).into()
}

extern "C" fn eval_entry(data: HostData<'_>, id: u32) -> RResult<EvalEntry, PassError> {
    let entry = caught(|| state(data).run.registry.eval_entry(id));
    entry.and_then(|entry| entry).into()
}

extern "C" fn get_pass(data: HostData<'_>, name: RStr<'_>, options: RSlice<'_, u8>) -> RResult<u32, PassError> {
    let state = state(data);
    if let Some(outer) = state.run.outer {
        return caught(|| outer.get_pass(&name, options.as_slice())).and_then(|made| made).into();
    }
    let made = caught(|| {
        let options = Value::decode(options.as_slice()).map_err(|error| host(&error))?;
        let context = PassContext::current();
        let pass = resolve_nested(Callee::Named(&name, options), &context, &state.run.cx_in(&context))?;
        let mut passes = state.passes.lock().unwrap_or_else(PoisonError::into_inner);
        passes.push(Arc::new(pass));
        Ok((passes.len() - 1) as u32)
    });
    made.and_then(|made| made).into()
}

extern "C" fn run_pass(data: HostData<'_>, id: u32, module: &IRModule) -> PassResult<IRModule> {
    let state = state(data);
    if let Some(outer) = state.run.outer {
        let ran = caught(|| outer.run_pass(id, module)).and_then(|ran| ran);
        return ran.map(ROption::from).into();
    }
    let pass = state.passes.lock().unwrap_or_else(PoisonError::into_inner).get(id as usize).cloned();
    let Some(pass) = pass else {
        return RResult::RErr(PassError::with_kind(error_kind::HOST, "the pass was not made for this call"));
    };
    let ran = caught(|| {
        let context = PassContext::current();
        let mut inner = state.run.cx_in(&context);
        if state.run.is_own(&context) && state.n_loops.load(Ordering::Relaxed) > 0 {
            inner.nest = inner.nest.shared_out();
        }
        run_nested(&pass, module, &inner).map(ROption::from)
    });
    ran.and_then(|ran| ran).into()
}

extern "C" fn config(data: HostData<'_>, key: RStr<'_>) -> ROption<RVec<u8>> {
    let state = state(data);
    let Run { registry, plugin, .. } = state.run;
    let encoded = state.guarded(|| {
        let context = PassContext::current();
        let cx = state.run.cx_in(&context);
        let key = registry.config_name(&key);
        let set = cx.config.get(key).or_else(|| context.settings().config.get(key));
        let value = set.cloned().or_else(|| registry.config_default(key, plugin));
        value.map(|value| value.encode().into())
    });
    encoded.into()
}

extern "C" fn context(data: HostData<'_>) -> RVec<u8> {
    let state = state(data);
    let run = state.run;
    let encode = |context: &PassContext| {
        let defaults = run.registry.config_defaults(run.plugin);
        encode_context(context, run.cx.catalogue, defaults, run.cx_in(context).config)
    };
    state.guarded(|| {
        let context = PassContext::current();
        match run.is_own(&context) {
            true => run.encoded.get_or_init(|| encode(&context)).as_slice().into(),
            false => encode(&context).into(),
        }
    })
}

extern "C" fn count(data: HostData<'_>, statistic: RStr<'_>, n: u64) {
    let state = state(data);
    state.guarded(|| {
        if !state.run.count(&statistic, n) {
            let statistic = cut(&statistic);
            let named = escaped(&statistic);
            if state.run.counts_all {
                (state.run.cx.count)(&named, n);
                return;
            }
            let error = format_args!("the pass counts `{named}`, which its record does not declare");
            let mut rec = Diagnostic::error(error).code("undeclared-statistic").into_rec();
            rec.function = state.global.into();
            state.said.lock().unwrap_or_else(PoisonError::into_inner).push(rec.into());
        }
    });
}

extern "C" fn file(data: HostData<'_>, name: RStr<'_>, contents: RSlice<'_, u8>) -> RResult<(), PassError> {
    let state = state(data);
    state
        .guarded(|| Some((state.run.cx.file)(&name, contents.as_slice())))
        .unwrap_or_else(|| Err(host(&"panicked")))
        .into()
}

extern "C" fn analysis(
    data: HostData<'_>,
    name: RStr<'_>,
    of: &SubjectRec<'_>,
    only_known: u8,
) -> PassResult<RArc<AnalysisObject>> {
    let state = state(data);
    let run = state.run;
    let found = caught(|| {
        let cx = run.cx_in(&PassContext::current());
        // The pass cannot change that one.
        let is_own = of.as_module().is_some_and(|of| std::ptr::eq(of, state.module()));
        let of_module = || run.of_module.lock().unwrap_or_else(PoisonError::into_inner);
        let known = is_own.then(|| of_module().get(name.as_str()).cloned()).flatten();
        if let Some((full, known)) = known {
            cx.reused(&full);
            return Ok(ROption::RSome(known));
        }
        let found = cx.analysis(&name, of, only_known != 0)?;
        if let Some(found) = found.as_ref().filter(|_| is_own) {
            let full = cx.catalogue.analysis(&name).map_or_else(|_| name.to_string(), |facts| facts.name);
            of_module().insert(name.to_string(), (full, found.clone()));
        }
        Ok(ROption::from(found))
    });
    found.and_then(|found| found).into()
}

extern "C" fn may_rewrite(data: HostData<'_>, _: NodeId) -> u8 {
    // Rewrites cannot be held back yet; a search for a harmful one will use this number.
    state(data).n_rewrites.fetch_add(1, Ordering::Relaxed);
    1
}

extern "C" fn operator_failed(data: HostData<'_>, part: u8, id: u32, message: RStr<'_>) {
    let CallState { run, broken, .. } = state(data);
    // A number that the registry never issued does not name an operator, and only the pass itself can be blamed.
    let _ = caught(|| {
        let error = run.registry.operator_fault(part, id, &message);
        broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    });
}

extern "C" fn enter_context(data: HostData<'_>, settings: RSlice<'_, u8>) -> RResult<(), PassError> {
    let catalogue = state(data).run.cx.catalogue;
    if let Some(outer) = state(data).run.outer {
        let entered = caught(|| {
            let context = Arc::new(outer.enter_context(settings.as_slice())?);
            let guard = context.adopt();
            Entered::push(context, guard);
            Ok(())
        });
        return entered.and_then(|entered| entered).into();
    }
    let entered = caught(|| {
        let ContextSettings { inherits, opt_level, required, disabled, config, instruments, .. } =
            ContextSettings::decode(settings.as_slice())?;
        let scope = if inherits {
            state(data).run.cx_in(&PassContext::current()).scope(&PassContext::current())
        } else {
            Scope::default()
        };
        let mut builder = ContextBuilder::new(catalogue, &scope);
        builder = opt_level.into_iter().fold(builder, ContextBuilder::opt_level);
        builder = required.iter().fold(builder, |builder, pass| builder.require(pass));
        builder = disabled.iter().fold(builder, |builder, pass| builder.disable(pass));
        builder = config.into_iter().fold(builder, |builder, (key, value)| builder.config(&key, value));
        for (name, options) in instruments {
            let Value::Struct(options) = options else {
                return Err(host(&format_args!("the options of instrument `{name}` are not a table")));
            };
            builder = builder.instrument_by_name(&name, options);
        }
        let context = Arc::new(builder.build()?);
        let guard = context.enter().map_err(|fault| host(&fault))?;
        Entered::push(context, guard);
        Ok(())
    });
    entered.and_then(|entered| entered).into()
}

extern "C" fn leave_context(data: HostData<'_>) -> RResult<(), PassError> {
    if let Some(outer) = state(data).run.outer {
        let left = caught(|| match Entered::leave() {
            Some(_) => outer.leave_context(),
            None => Err(host(&"the call has not entered a context")),
        });
        return left.and_then(|left| left).into();
    }
    let left = caught(Entered::leave);
    left.and_then(|left| left.unwrap_or_else(|| Err(host(&"the call has not entered a context")))).into()
}

extern "C" fn hook_context(data: HostData<'_>) -> RVec<u8> {
    // SAFETY: `HookState::call` makes the data of this function, from a `HookState`.
    let HookState { registry, provider }: &HookState = unsafe { data.get() };
    let encode = || {
        let defaults = registry.config_defaults(&provider.records().plugin);
        encode_context(&PassContext::current(), registry, defaults, &BTreeMap::new())
    };
    caught(encode).map(RVec::from).unwrap_or_default()
}

/// A context as encoded for plugins: its settings, and every option of a context, as it was set or by default. Settings
/// in `config` take precedence over those of the context.
fn encode_context(
    context: &PassContext,
    catalogue: &dyn Catalogue,
    defaults: BTreeMap<String, Value>,
    config: &BTreeMap<String, Value>,
) -> Vec<u8> {
    let scope = context.settings();
    let mut all = defaults;
    all.extend(scope.config.iter().chain(config).map(|(key, value)| (key.clone(), value.clone())));
    let all = Value::Struct(all.into_iter().collect());
    let aliases = |name: &str| catalogue.pass(name).map(|facts| facts.aliases.clone()).unwrap_or_default();
    plugin_api::context::PassContext::encode(scope.opt_level, &scope.required, &scope.disabled, aliases, &all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pass::{ConfigFacts, NoPass, PassFacts, PassInstrument, PluginFacts, RunnablePass},
        plugin::{Discovery, read_records},
        registry::{Choices, Linked},
    };
    use relais_plugin_api::{
        boundary::{
            record::{FORMAT, MAGIC, pass_tag, plugin_tag, record_kind},
            wire::{checksum, push_field},
        },
        infer::TypeRelations,
    };

    /// Fails when its context is left.
    struct Fails;

    impl PassInstrument for Fails {
        fn name(&self) -> &str {
            "fails"
        }

        fn exit(&self) -> Result<(), PassError> {
            Err(PassError::new("told to fail"))
        }
    }

    #[test]
    fn r08_contexts_that_a_call_did_not_leave_are_left_whatever_their_instruments_do() {
        let outer = Entered::begin();
        let entered = Entered::begin();
        for opt_level in [6, 7] {
            let scope = Scope { opt_level, ..Scope::default() };
            let context = Arc::new(PassContext::new(scope).with_instruments(vec![Arc::new(Fails)]));
            let guard = context.enter().unwrap();
            Entered::push(context, guard);
        }
        let inner = Entered::begin();
        assert!(Entered::leave().is_none(), "a call leaves no context of its caller");
        drop(inner);
        assert_eq!(PassContext::current().settings().opt_level, 7);
        drop(entered);
        assert_eq!(PassContext::current().settings().opt_level, 2);
        assert!(Entered::leave().is_none());
        drop(outer);
    }

    /// A catalogue that panics when a pass is looked up.
    struct Broken;

    impl Catalogue for Broken {
        fn passes(&self) -> Vec<Arc<PassFacts>> {
            Vec::new()
        }

        fn pass(&self, _: &str) -> Result<Arc<PassFacts>, NoPass> {
            panic!("the catalogue is broken")
        }

        fn config_options(&self) -> Vec<ConfigFacts> {
            Vec::new()
        }

        fn plugins(&self) -> Vec<PluginFacts> {
            Vec::new()
        }

        fn create(&self, _: &PassFacts, _: &Value) -> Result<Arc<dyn RunnablePass>, PassError> {
            Err(PassError::new("there are no passes"))
        }

        fn relations(&self) -> Box<dyn TypeRelations + '_> {
            unreachable!("there are no operators")
        }
    }

    /// A record as a plugin's file has it.
    fn record(kind: u32, texts: &[(u16, &str)]) -> Vec<u8> {
        let mut fields = Vec::new();
        texts.iter().for_each(|(tag, text)| push_field(&mut fields, *tag, text.as_bytes()));
        let head = [FORMAT.to_le_bytes(), kind.to_le_bytes(), (fields.len() as u32).to_le_bytes(), [0; 4]].concat();
        [&MAGIC[..], &head[..], &checksum(&fields).to_le_bytes()[..], &fields[..]].concat()
    }

    /// Calls `f` with the state of a call of a pass, in a host whose catalogue and progress bar panic.
    fn in_call(f: impl FnOnce(&CallState<'_>)) {
        let names =
            [(plugin_tag::NAME, "acme"), (plugin_tag::VERSION, "1.0.0"), (plugin_tag::ENTRY, "relais_plugin_a")];
        let plugin = record(record_kind::PLUGIN, &names);
        let pass = record(record_kind::PASS, &[(pass_tag::NAME, "acme.Test")]);
        let records = read_records(&[plugin, pass].concat().into()).unwrap();
        let registry = Registry::new(Discovery::default(), Linked::Exclude, &Choices::new());
        let cx = RunCx { progress: &|_, _| panic!("the progress bar is broken"), ..RunCx::new(&Broken) };
        let run = Run::new(&cx, &registry, &records.plugin, &records.passes[0].statistics);
        f(&CallState::new(&run, &IRModule::new(), ""));
    }

    #[test]
    fn the_first_panic_of_the_host_is_kept_as_the_fault_of_the_call() {
        in_call(|state| {
            assert_eq!(state.guarded(|| 7), 7);
            assert!(state.fault().is_none());
            assert_eq!(state.guarded(|| -> u32 { panic!("the first") }), 0);
            assert_eq!(state.guarded(|| -> Option<u32> { panic!("the second") }), None);
            let fault = state.fault().unwrap();
            assert!(fault.is_panic() && fault.to_string().contains("the first"), "{fault}");
        });
    }

    #[test]
    fn a_panic_of_the_host_stays_in_the_function_that_the_plugin_called() {
        let scope = Scope { required: ["acme.Test".to_owned()].into(), ..Scope::default() };
        let guard = Arc::new(PassContext::new(scope)).adopt();
        in_call(|state| {
            // SAFETY: these functions take the data for a `CallState`.
            let data = unsafe { HostData::new(state) };
            // A fault in drawing the progress does not affect the pass.
            progress(data, 1, 2);
            assert!(state.fault().is_none());
            // The names of required passes are looked up.
            assert!(context(data).is_empty());
            let fault = state.fault().unwrap();
            assert!(fault.is_panic() && fault.to_string().contains("the catalogue is broken"), "{fault}");
        });
        drop(guard);
    }
}
