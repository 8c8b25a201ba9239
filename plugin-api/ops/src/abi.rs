//! The functions of the host, and those of operators, as they cross the plugin boundary.
//!
//! The table of the host's functions is a prefix type: it grows at the end. An entry after the first version's last one is
//! `None` in a table that was made before it, and a plugin that needs it says so with `entry!`. Everything else here is
//! frozen.
#![expect(unsafe_code, reason = "pointers that cross the boundary")]

pub mod analysis;

use crate::{
    error::OpError,
    request::{CallRequest, EvalRequest, InferRequest},
    version::BoundaryVersion,
};
use abi_stable::{
    StableAbi,
    std_types::{RArc, ROption, RResult, RSlice, RStr, RVec},
};
use analysis::{AnalysisObject, SubjectRec};
use relais_ir::{
    IRModule, NodeId,
    diagnostics::{DiagnosticRec, PassError, error_kind},
};
use std::marker::PhantomData;

/// Returns an entry of a table of the host, which may be older than the entry, or an error that names the entry and the
/// version that introduced it. The file of a plugin that keeps this code says that it needs that version.
macro_rules! entry {
    ($entry:expr, $name:literal, $since:expr) => {{
        crate::needs::needs!($since);
        present($entry, $name, $since)
    }};
}

fn present<F>(entry: Option<F>, name: &str, since: BoundaryVersion) -> Result<F, PassError> {
    entry.ok_or_else(|| {
        let message = format!("this host has no `{name}`: it came with version {since} of the plugin boundary");
        PassError::with_kind(error_kind::HOST, message).help("update the host: `cargo install relais-opt`")
    })
}

/// The version that introduced contexts that passes enter.
const CONTEXTS: BoundaryVersion = BoundaryVersion { major: 0, minor: 2, patch: 0 };

/// The version that introduced bodies of calls and verifiers.
const CALLS: BoundaryVersion = BoundaryVersion { major: 0, minor: 2, patch: 2 };

/// The version that introduced files that passes make.
const FILES: BoundaryVersion = BoundaryVersion { major: 0, minor: 2, patch: 4 };

/// The version that introduced analyses.
const ANALYSES: BoundaryVersion = BoundaryVersion { major: 0, minor: 3, patch: 0 };

/// The result of a pass: nothing if it changed nothing.
pub type PassResult<T> = RResult<ROption<T>, PassError>;

/// A call's context: the host's functions and their data.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct CallCx<'a> {
    /// The host's functions.
    host: HostApiRef,
    /// The data of these functions.
    data: HostData<'a>,
    /// The most verbose level that the host logs: one of [`log_level`].
    log_level: u8,
}

impl<'a> CallCx<'a> {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = relais_ir::__layout_hash!(CallCx<'static> { host, data, log_level });

    /// A call's context.
    ///
    /// # Safety
    /// The data are those that these functions work on.
    pub unsafe fn new(host: HostApiRef, data: HostData<'a>, log_level: u8) -> Self {
        Self { host, data, log_level }
    }

    /// The host's functions and their data.
    ///
    /// # Safety
    /// The data are only passed to these functions.
    pub unsafe fn parts(self) -> (HostApiRef, HostData<'a>) {
        (self.host, self.data)
    }

    /// The most verbose level that the host logs.
    pub fn log_level(self) -> u8 {
        self.log_level
    }

    /// The module as it was before the pass.
    pub fn module(self) -> &'a IRModule {
        (self.host.module())(self.data)
    }

    /// Hands over a diagnostic.
    pub fn diagnostic(self, rec: DiagnosticRec) {
        (self.host.diagnostic())(self.data, rec);
    }

    /// Returns those of some bits of [`wanted`] that were requested.
    pub fn wants(self, bits: u32) -> u32 {
        (self.host.wants())(self.data, bits)
    }

    /// Whether the pass should stop.
    pub fn is_cancelled(self) -> bool {
        (self.host.is_cancelled())(self.data) != 0
    }

    /// Reports how far the pass is.
    pub fn progress(self, done: u64, total: u64) {
        (self.host.progress())(self.data, done, total);
    }

    /// Calls the body for each number below `n`, on several threads.
    ///
    /// # Safety
    /// `state` is what the body takes, and several threads may use it at once.
    pub unsafe fn parallel_for(self, n: usize, state: *const (), body: ParallelBody) {
        // SAFETY: the caller's promise.
        unsafe { (self.host.parallel_for())(self.data, n, state, body) }
    }

    /// Makes a pass, by name, with options as an encoded table; returns its number.
    ///
    /// # Errors
    /// Returns an error if nothing provides it, or it has no such options.
    pub fn get_pass(self, name: &str, options: &[u8]) -> Result<u32, PassError> {
        (self.host.get_pass())(self.data, name.into(), options.into()).into_result()
    }

    /// Runs a pass that [`get_pass`](Self::get_pass) made; returns the new module, if it changed anything.
    ///
    /// # Errors
    /// Returns an error if it fails.
    pub fn run_pass(self, id: u32, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        Ok((self.host.run_pass())(self.data, id, module).into_result()?.into_option())
    }

    /// An option of the context, encoded; `None` if it is neither registered nor set.
    pub fn config(self, key: &str) -> Option<RVec<u8>> {
        (self.host.config())(self.data, key.into()).into_option()
    }

    /// The context that the pass runs in, encoded.
    pub fn context(self) -> RVec<u8> {
        (self.host.context())(self.data)
    }

    /// Adds to a statistic that the pass's record declares.
    pub fn count(self, statistic: &str, n: u64) {
        (self.host.count())(self.data, statistic.into(), n);
    }

    /// Whether a rewrite of a node may be committed.
    pub fn may_rewrite(self, node: NodeId) -> bool {
        (self.host.may_rewrite())(self.data, node) != 0
    }

    /// Enters a context on this thread: its settings, encoded.
    ///
    /// # Errors
    /// Returns an error if a setting is refused, or the host is too old.
    pub fn enter_context(self, settings: &[u8]) -> Result<(), PassError> {
        entry!(self.host.enter_context(), "enter_context", CONTEXTS)?(self.data, settings.into()).into_result()
    }

    /// Leaves the innermost context that the pass entered on this thread.
    ///
    /// # Errors
    /// Returns an error if an instrument of the context fails, or the host is too old.
    pub fn leave_context(self) -> Result<(), PassError> {
        entry!(self.host.leave_context(), "leave_context", CONTEXTS)?(self.data).into_result()
    }

    /// Hands over a file that the pass made.
    ///
    /// # Errors
    /// Returns an error if the host refuses the name, or is too old.
    pub fn file(self, name: &str, contents: &[u8]) -> Result<(), PassError> {
        entry!(self.host.file(), "file", FILES)?(self.data, name.into(), contents.into()).into_result()
    }

    /// Whether the host has analyses.
    pub fn has_analyses(self) -> bool {
        self.host.analysis().is_some()
    }

    /// An analysis, by name: computed unless it is known, or, if `only_known`, nothing then.
    ///
    /// # Errors
    /// Returns an error if nothing provides it, or it is of something else, it fails, or the host is too old.
    pub fn analysis(
        self,
        name: &str,
        of: &SubjectRec<'_>,
        only_known: bool,
    ) -> Result<Option<RArc<AnalysisObject>>, PassError> {
        let analysis = entry!(self.host.analysis(), "analysis", ANALYSES)?;
        Ok(analysis(self.data, name.into(), of, only_known.into()).into_result()?.into_option())
    }

    /// Looks an operator up: domain, name, version.
    pub fn resolve_op(self, domain: &str, name: &str, version: u32) -> ResolvedOp<'a> {
        (self.host.resolve_op())(self.data, domain.into(), name.into(), version)
    }

    /// The type relation of a resolved operator.
    ///
    /// # Errors
    /// Returns an error if its library cannot be opened.
    pub fn infer_entry(self, id: u32) -> Result<InferEntry, PassError> {
        (self.host.infer_entry())(self.data, id).into_result()
    }

    /// The evaluator of a resolved operator.
    ///
    /// # Errors
    /// Returns an error if its library cannot be opened.
    pub fn eval_entry(self, id: u32) -> Result<EvalEntry, PassError> {
        (self.host.eval_entry())(self.data, id).into_result()
    }

    /// A function of a resolved operator that looks at one call: one of [`operator_part`], and its number.
    ///
    /// # Errors
    /// Returns an error if its library cannot be opened, or the host is too old.
    pub fn call_entry(self, part: u8, id: u32) -> Result<CallEntry, PassError> {
        entry!(self.host.call_entry(), "call_entry", CALLS)?(self.data, part, id).into_result()
    }

    /// Reports that a part of an operator panicked or returned something untrue.
    pub fn operator_failed(self, part: u8, id: u32, message: &str) {
        (self.host.operator_failed())(self.data, part, id, message.into());
    }
}

/// The host's functions and their data, if there is a host.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct RequestCx<'a> {
    host: ROption<HostApiRef>,
    data: HostData<'a>,
}

impl RequestCx<'static> {
    /// No host: nothing is cancelled or limited.
    pub const NONE: Self = Self { host: ROption::RNone, data: HostData::NOTHING };
}

impl<'a> RequestCx<'a> {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = relais_ir::__layout_hash!(RequestCx<'static> { host, data });

    /// The requests of a pass to its host.
    pub fn of_pass(call: &CallCx<'a>) -> Self {
        Self { host: ROption::RSome(call.host), data: call.data }
    }

    /// Whether the run should stop.
    pub fn is_cancelled(&self) -> bool {
        self.host.into_option().is_some_and(|host| (host.is_cancelled())(self.data) != 0)
    }
}

/// The data of the host's functions; only the host looks inside. Safe code cannot make any, since the functions trust
/// that they are their own:
///
/// ```compile_fail,E0133
/// let _ = relais_plugin_api::boundary::abi::HostData::new(&0);
/// ```
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy)]
pub struct HostData<'a> {
    pointer: *const (),
    _lifetime: PhantomData<&'a ()>,
}

// SAFETY: only the host's functions dereference the pointer, and a host makes one only from a reference to a `Sync`
// value.
unsafe impl Send for HostData<'_> {}
// SAFETY: as above.
unsafe impl Sync for HostData<'_> {}

impl HostData<'static> {
    /// Nothing, for functions that look at nothing.
    pub(crate) const NOTHING: Self = Self { pointer: std::ptr::null(), _lifetime: PhantomData };
}

impl<'a> HostData<'a> {
    /// Hides a reference.
    ///
    /// # Safety
    /// It is only passed to functions that use it as a `T`.
    pub unsafe fn new<T: Sync>(data: &'a T) -> Self {
        Self { pointer: std::ptr::from_ref(data).cast(), _lifetime: PhantomData }
    }

    /// The same for any lifetime.
    ///
    /// # Safety
    /// It must not be used after the reference that it was made from has ended.
    pub unsafe fn extend<'b>(self) -> HostData<'b> {
        HostData { pointer: self.pointer, _lifetime: PhantomData }
    }

    /// The reference.
    ///
    /// # Safety
    /// It was made from a `&'a T`.
    pub unsafe fn get<T: Sync>(self) -> &'a T {
        // SAFETY: the caller's promise, and the lifetime is the one it was made with.
        unsafe { &*self.pointer.cast() }
    }
}

/// A type relation, called straight from one library in another. Safe code cannot take it apart, since the function
/// trusts that the key is its own:
///
/// ```compile_fail,E0616
/// fn key_of(entry: relais_plugin_api::boundary::abi::InferEntry) {
///     let _ = entry.key;
/// }
/// ```
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct InferEntry {
    /// The function; catches its own panics.
    pub(crate) call:
        for<'a, 'b> unsafe extern "C" fn(InferKey, RequestCx<'a>, &'a mut InferRequest<'b>) -> RResult<(), OpError>,
    /// Which one.
    pub(crate) key: InferKey,
}

impl InferEntry {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = relais_ir::__layout_hash!(InferEntry { call, key });

    /// Calls it.
    pub fn call(self, cx: RequestCx<'_>, request: &mut InferRequest<'_>) -> RResult<(), OpError> {
        // SAFETY: the fields are private to the boundary, which makes an entry of a function and a key that belong
        // together; libraries are never closed.
        unsafe { (self.call)(self.key, cx, request) }
    }
}

/// An evaluator, called straight from one library in another. Like [`InferEntry`], it cannot be taken apart:
///
/// ```compile_fail,E0616
/// fn key_of(entry: relais_plugin_api::boundary::abi::EvalEntry) {
///     let _ = entry.key;
/// }
/// ```
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct EvalEntry {
    /// The function; catches its own panics.
    pub(crate) call:
        for<'a, 'b> unsafe extern "C" fn(EvalKey, RequestCx<'a>, &'a mut EvalRequest<'b>) -> RResult<(), OpError>,
    /// Which one.
    pub(crate) key: EvalKey,
}

impl EvalEntry {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = relais_ir::__layout_hash!(EvalEntry { call, key });

    /// Calls it.
    pub fn call(self, cx: RequestCx<'_>, request: &mut EvalRequest<'_>) -> RResult<(), OpError> {
        // SAFETY: the fields are private to the boundary, which makes an entry of a function and a key that belong
        // together; libraries are never closed.
        unsafe { (self.call)(self.key, cx, request) }
    }
}

/// A function of an operator that looks at one call, called straight from one library in another. Like [`InferEntry`], it
/// cannot be taken apart:
///
/// ```compile_fail,E0616
/// fn key_of(entry: relais_plugin_api::boundary::abi::CallEntry) {
///     let _ = entry.key;
/// }
/// ```
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct CallEntry {
    /// The function; catches its own panics.
    pub(crate) call:
        for<'a, 'b> unsafe extern "C" fn(CallKey, RequestCx<'a>, &'a mut CallRequest<'b>) -> RResult<(), OpError>,
    /// Which one.
    pub(crate) key: CallKey,
}

impl CallEntry {
    /// Calls it.
    pub fn call(self, cx: RequestCx<'_>, request: &mut CallRequest<'_>) -> RResult<(), OpError> {
        // SAFETY: the fields are private to the boundary, which makes an entry of a function and a key that belong
        // together; libraries are never closed.
        unsafe { (self.call)(self.key, cx, request) }
    }
}

/// A type relation, as its own library knows it.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct InferKey(pub(crate) *const ());

/// An evaluator, as its own library knows it.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct EvalKey(pub(crate) *const ());

/// A function that looks at one call, as its own library knows it.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct CallKey(pub(crate) *const ());

// SAFETY: the pointer is to a static description, and only its own library dereferences it.
unsafe impl Send for InferKey {}
// SAFETY: as above.
unsafe impl Sync for InferKey {}
// SAFETY: as above.
unsafe impl Send for EvalKey {}
// SAFETY: as above.
unsafe impl Sync for EvalKey {}
// SAFETY: as above.
unsafe impl Send for CallKey {}
// SAFETY: as above.
unsafe impl Sync for CallKey {}

/// One turn of a parallel loop. Plugins can neither take out its function nor put in another, since it trusts that the
/// state is its own:
///
/// ```compile_fail,E0616
/// fn call_of(body: relais_plugin_api::boundary::abi::ParallelBody) {
///     let _ = body.call;
/// }
/// ```
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct ParallelBody {
    /// The function; catches its own panics. Takes the state that was passed to `parallel_for`, and a number.
    call: unsafe extern "C" fn(*const (), usize),
}

impl ParallelBody {
    /// One turn by a function that takes a state and a number.
    ///
    /// # Safety
    /// The function panics never, and may be called by several threads at once.
    pub unsafe fn new(call: unsafe extern "C" fn(*const (), usize)) -> Self {
        Self { call }
    }

    /// Takes one turn.
    ///
    /// # Safety
    /// `state` was passed to `parallel_for` with this body, and `parallel_for` has not returned.
    pub unsafe fn turn(self, state: *const (), index: usize) {
        // SAFETY: the caller's promise.
        unsafe { (self.call)(state, index) }
    }
}

/// Messages that a pass may omit unless they were requested: bits. Append-only.
pub mod wanted {
    /// Remarks: what was done, and why something was not.
    pub const REMARKS: u32 = 1;
}

/// The callable parts of an operator. Append-only.
pub mod operator_part {
    /// Its type relation.
    pub const RELATION: u8 = 0;
    /// Its evaluator.
    pub const EVALUATOR: u8 = 1;
    /// The function that makes the body of a call.
    pub const BODY: u8 = 2;
    /// Its verifier.
    pub const VERIFIER: u8 = 3;
    /// The function that makes the gradient of a call.
    pub const GRADIENT: u8 = 4;
    /// The function that makes the kernel of a call: the loop program that computes it.
    pub const COMPUTE: u8 = 5;

    /// How messages call a part.
    pub const fn name(part: u8) -> &'static str {
        match part {
            RELATION => "type relation",
            EVALUATOR => "evaluator",
            BODY => "body",
            VERIFIER => "verifier",
            GRADIENT => "gradient",
            COMPUTE => "kernel",
            _ => "part of a later version",
        }
    }
}

/// The facts that the registry has about an operator.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct ResolvedOp<'a> {
    /// Whether a plugin describes it: 1 when it does.
    pub is_known: u8,
    /// Whether a plugin describes the whole of its domain in the requested version: 1 if one does.
    pub is_closed: u8,
    /// The fields of its record.
    pub facts: RSlice<'a, u8>,
    /// To ask for its type relation with.
    pub infer: ROption<u32>,
    /// To ask for its evaluator with.
    pub eval: ROption<u32>,
    /// A number to request the function that makes the kernel of a call.
    pub compute: ROption<u32>,
    /// A number to request the layouts that it can work in; absent in this version.
    pub layouts: ROption<u32>,
    /// A number to request the function that makes the gradient of a call.
    pub gradient: ROption<u32>,
    /// A number to request the function that makes the body of a call.
    pub body: ROption<u32>,
    /// Fields for further properties: see [`resolved_tag`].
    pub more: RSlice<'a, u8>,
}

/// The tags of the further properties of a [`ResolvedOp`]. Append-only; what is not known is skipped.
pub mod resolved_tag {
    /// A number to request its verifier.
    pub const VERIFIER: u16 = 1;
}

/// The further properties of an operator with a verifier of that number.
pub fn verifier_field(number: u32) -> Vec<u8> {
    [&resolved_tag::VERIFIER.to_le_bytes()[..], &4u32.to_le_bytes(), &number.to_le_bytes()].concat()
}

impl ResolvedOp<'_> {
    /// An operator that no plugin describes.
    pub const UNKNOWN: Self = Self {
        is_known: 0,
        is_closed: 0,
        facts: RSlice::EMPTY,
        infer: ROption::RNone,
        eval: ROption::RNone,
        compute: ROption::RNone,
        layouts: ROption::RNone,
        gradient: ROption::RNone,
        body: ROption::RNone,
        more: RSlice::EMPTY,
    };
}

/// The host's functions for a pass. Each may be called from any thread while the call lasts.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = HostApiRef, prefix_fields = HostApiPrefix)))]
#[sabi(missing_field(option))]
pub struct HostApi {
    /// The module as it was before the pass.
    pub module: for<'a> extern "C" fn(HostData<'a>) -> &'a IRModule,
    /// Takes a diagnostic.
    pub diagnostic: for<'a> extern "C" fn(HostData<'a>, DiagnosticRec),
    /// Returns those of some bits of [`wanted`] that were requested.
    pub wants: for<'a> extern "C" fn(HostData<'a>, u32) -> u32,
    /// 1 when the pass should stop.
    pub is_cancelled: for<'a> extern "C" fn(HostData<'a>) -> u8,
    /// How far the pass is.
    pub progress: for<'a> extern "C" fn(HostData<'a>, u64, u64),
    /// Calls the body for each number below a limit, on several threads, and returns when all calls have returned.
    pub parallel_for: for<'a> unsafe extern "C" fn(HostData<'a>, usize, *const (), ParallelBody),
    /// Looks an operator up: domain, name, version.
    pub resolve_op: for<'a, 'b> extern "C" fn(HostData<'a>, RStr<'b>, RStr<'b>, u32) -> ResolvedOp<'a>,
    /// The type relation of a resolved operator.
    pub infer_entry: for<'a> extern "C" fn(HostData<'a>, u32) -> RResult<InferEntry, PassError>,
    /// The evaluator of a resolved operator.
    pub eval_entry: for<'a> extern "C" fn(HostData<'a>, u32) -> RResult<EvalEntry, PassError>,
    /// Makes a pass: name, options as an encoded table.
    pub get_pass: for<'a, 'b> extern "C" fn(HostData<'a>, RStr<'b>, RSlice<'b, u8>) -> RResult<u32, PassError>,
    /// Runs a pass that `get_pass` made.
    pub run_pass: for<'a, 'b> extern "C" fn(HostData<'a>, u32, &'b IRModule) -> PassResult<IRModule>,
    /// An option of the context: nothing if it is neither registered nor set, otherwise an encoded value.
    pub config: for<'a, 'b> extern "C" fn(HostData<'a>, RStr<'b>) -> ROption<RVec<u8>>,
    /// The context that the pass runs in, encoded.
    pub context: for<'a> extern "C" fn(HostData<'a>) -> RVec<u8>,
    /// Adds to a statistic that the pass's record declares.
    pub count: for<'a, 'b> extern "C" fn(HostData<'a>, RStr<'b>, u64),
    /// Whether a rewrite of a node may be committed: 1 when it may. The host counts the calls in each function, so that one
    /// rewrite of a run can be named by its number.
    pub may_rewrite: for<'a> extern "C" fn(HostData<'a>, NodeId) -> u8,
    /// Reports that the type relation (see [`operator_part`]) or evaluator of this number panicked or returned
    /// something untrue: the plugin that it belongs to has failed, whatever the pass does next.
    #[sabi(last_prefix_field)]
    pub operator_failed: for<'a, 'b> extern "C" fn(HostData<'a>, u8, u32, RStr<'b>),
    /// Enters a context on this thread, for the passes that the pass gets and runs until it leaves it: its settings,
    /// encoded.
    pub enter_context: for<'a, 'b> extern "C" fn(HostData<'a>, RSlice<'b, u8>) -> RResult<(), PassError>,
    /// Leaves the innermost context that the pass entered on this thread.
    pub leave_context: for<'a> extern "C" fn(HostData<'a>) -> RResult<(), PassError>,
    /// A function of a resolved operator that looks at one call: which (see [`operator_part`]), and its number.
    pub call_entry: for<'a> extern "C" fn(HostData<'a>, u8, u32) -> RResult<CallEntry, PassError>,
    /// Takes a file that the pass made: its name and its contents.
    pub file: for<'a, 'b> extern "C" fn(HostData<'a>, RStr<'b>, RSlice<'b, u8>) -> RResult<(), PassError>,
    /// An analysis, by name, computed unless it is known, or only if it is known: 1.
    pub analysis:
        for<'a, 'b> extern "C" fn(HostData<'a>, RStr<'b>, &'b SubjectRec<'b>, u8) -> PassResult<RArc<AnalysisObject>>,
}
