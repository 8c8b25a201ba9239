//! The types that cross the boundary, beside the IR.
//!
//! Tables of functions are prefix types: they grow at the end. An entry after the first version's last one is `None` in
//! a table that was made before it, for the host as for a plugin, which says so with [`entry`]. Everything else here is
//! frozen.
#![expect(unsafe_code, reason = "pointers that cross the boundary")]

pub use super::request::RequestCx;

use super::{instrument::InstrumentObject, record::BoundaryVersion};
use crate::{
    diagnostics::{PassError, Severity},
    ir::*,
    op::{CallRequest, EvalRequest, InferRequest, OpError},
};
use abi_stable::{
    StableAbi,
    library::RootModule,
    sabi_types::VersionStrings,
    std_types::{RArc, ROption, RResult, RSlice, RStr, RString, RVec},
};
use std::{marker::PhantomData, mem::ManuallyDrop};

/// Why a pass failed: the kinds. Append-only.
pub mod error_kind {
    /// It returned an error.
    pub const RETURNED: u8 = 0;
    /// It panicked.
    pub const PANIC: u8 = 1;
    /// It was cancelled.
    pub const CANCELLED: u8 = 2;
    /// The host could not do what it asked for.
    pub const HOST: u8 = 3;
    /// It does not accept its options, each of which is within its schema.
    pub const OPTIONS: u8 = 4;
}

/// The severity of a log message, and the most verbose level that is logged: a greater number is more verbose.
pub mod log_level {
    /// Nothing is logged.
    pub const OFF: u8 = 0;
    /// An error.
    pub const ERROR: u8 = 1;
    /// A warning.
    pub const WARN: u8 = 2;
    /// Something that is good to know.
    pub const INFO: u8 = 3;
    /// For authors.
    pub const DEBUG: u8 = 4;
    /// Every step. A greater number means the same.
    pub const TRACE: u8 = 5;
}

/// The fields of a [`Diagnostic`](crate::diagnostics::Diagnostic).
#[repr(C)]
#[derive(StableAbi, Clone, PartialEq, Debug)]
pub struct DiagnosticRec {
    /// How grave.
    pub severity: Severity,
    /// Code; may be empty.
    pub code: RString,
    /// The function of the module that it is about; may be empty.
    pub function: RString,
    /// The node that it is about; may be absent.
    pub node: NodeId,
    /// Message.
    pub message: RString,
    /// Notes.
    pub notes: RVec<RString>,
    /// A suggestion; may be empty.
    pub help: RString,
    /// Tagged fields of later versions (see `docs/abi.md`); empty.
    pub more: RVec<u8>,
}

impl Default for DiagnosticRec {
    fn default() -> Self {
        Self {
            severity: Severity::NOTE,
            code: RString::new(),
            function: RString::new(),
            node: NodeId::ABSENT,
            message: RString::new(),
            notes: RVec::new(),
            help: RString::new(),
            more: RVec::new(),
        }
    }
}

/// The fields of a [`PassError`].
#[repr(C)]
#[derive(StableAbi, Clone, PartialEq, Debug)]
pub struct PassErrorRec {
    /// One of [`error_kind`].
    pub kind: u8,
    /// Code; may be empty.
    pub code: RString,
    /// Message.
    pub message: RString,
    /// The function of the module where it happened; may be empty.
    pub function: RString,
    /// The node where it happened; may be absent.
    pub node: NodeId,
    /// A suggestion; may be empty.
    pub help: RString,
    /// Notes.
    pub notes: RVec<RString>,
    /// The place in the source code, for a panic.
    pub place: RString,
    /// The backtrace, for a panic.
    pub backtrace: RString,
    /// The plugin at fault, if it is not the pass's, such as that of an operator; may be empty.
    pub plugin: RString,
    /// Tagged fields of later versions (see `docs/abi.md`); empty.
    pub more: RVec<u8>,
}

impl Default for PassErrorRec {
    fn default() -> Self {
        Self {
            kind: error_kind::RETURNED,
            code: RString::new(),
            message: RString::new(),
            function: RString::new(),
            node: NodeId::ABSENT,
            help: RString::new(),
            notes: RVec::new(),
            place: RString::new(),
            backtrace: RString::new(),
            plugin: RString::new(),
            more: RVec::new(),
        }
    }
}

/// Returns an entry of a table of the host, which may be older than the entry.
///
/// # Errors
/// If the table ends before the entry. The error names the entry and the version that introduced it.
pub fn entry<F>(entry: Option<F>, name: &str, since: BoundaryVersion) -> Result<F, PassError> {
    entry.ok_or_else(|| {
        let message = format!("this host has no `{name}`: it came with version {since} of the plugin boundary");
        PassError::with_kind(error_kind::HOST, message).help("update the host: `cargo install relais-cli`")
    })
}

/// The result of a pass: nothing if it changed nothing.
pub type Outcome<T> = RResult<ROption<T>, PassError>;

/// A call's context: the host's functions and their data.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct CallCx<'a> {
    /// The host's functions.
    pub(crate) host: HostApiRef,
    /// The data of these functions.
    pub(crate) data: HostData<'a>,
    /// The most verbose level that the host logs: one of [`log_level`].
    pub(crate) log_level: u8,
}

impl<'a> CallCx<'a> {
    /// A call's context.
    ///
    /// # Safety
    /// The data are those that these functions work on.
    pub unsafe fn new(host: HostApiRef, data: HostData<'a>, log_level: u8) -> Self {
        Self { host, data, log_level }
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
    pub(super) unsafe fn extend<'b>(self) -> HostData<'b> {
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
    pub(super) call:
        for<'a, 'b> unsafe extern "C" fn(InferKey, RequestCx<'a>, &'a mut InferRequest<'b>) -> RResult<(), OpError>,
    /// Which one.
    pub(super) key: InferKey,
}

impl InferEntry {
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
    pub(super) call:
        for<'a, 'b> unsafe extern "C" fn(EvalKey, RequestCx<'a>, &'a mut EvalRequest<'b>) -> RResult<(), OpError>,
    /// Which one.
    pub(super) key: EvalKey,
}

impl EvalEntry {
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
    pub(super) call:
        for<'a, 'b> unsafe extern "C" fn(CallKey, RequestCx<'a>, &'a mut CallRequest<'b>) -> RResult<(), OpError>,
    /// Which one.
    pub(super) key: CallKey,
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
pub struct InferKey(pub(super) *const ());

/// An evaluator, as its own library knows it.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct EvalKey(pub(super) *const ());

/// A function that looks at one call, as its own library knows it.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct CallKey(pub(super) *const ());

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
    pub(crate) call: unsafe extern "C" fn(*const (), usize),
}

impl ParallelBody {
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

/// A step of a sequential pass.
#[repr(C)]
#[derive(StableAbi, Clone, PartialEq, Debug)]
pub struct StepRec {
    /// The pass.
    pub pass: RString,
    /// Its options, as an encoded table.
    pub options: RVec<u8>,
    /// Tagged fields of later versions (see `docs/abi.md`); empty.
    pub more: RVec<u8>,
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
    pub run_pass: for<'a, 'b> extern "C" fn(HostData<'a>, u32, &'b IRModule) -> Outcome<IRModule>,
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
}

/// A pass that was made, its options set. Like [`InferEntry`], it cannot be taken apart: the functions trust that the
/// state is their own, and that only one object has it.
///
/// ```compile_fail,E0616
/// fn functions_of(pass: &relais_plugin_api::boundary::abi::PassObject) {
///     let _ = pass.vtable;
/// }
/// ```
///
/// ```compile_fail,E0616
/// fn state_of(pass: &relais_plugin_api::boundary::abi::PassObject) {
///     let _ = pass.state;
/// }
/// ```
#[repr(C)]
#[derive(StableAbi)]
pub struct PassObject {
    pub(crate) state: *mut (),
    pub(crate) vtable: PassVTableRef,
}

// SAFETY: the state is a value of a type that is `Send + Sync` (see `entry`), owned by this object.
unsafe impl Send for PassObject {}
// SAFETY: as above.
unsafe impl Sync for PassObject {}

impl Drop for PassObject {
    fn drop(&mut self) {
        // SAFETY: the state is this object's, and is not used afterwards. To learn of a panic, call `close`.
        let _ = unsafe { (self.vtable.drop())(self.state) };
    }
}

/// The functions of a pass. A function that does not belong to the pass's level returns an error.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PassVTableRef, prefix_fields = PassVTablePrefix)))]
#[sabi(missing_field(option))]
pub struct PassVTable {
    /// Drops the state; catches its panics.
    pub drop: unsafe extern "C" fn(*mut ()) -> RResult<(), PassError>,
    /// Runs a function pass or a rewrite.
    pub function: for<'a> unsafe extern "C" fn(*const (), &CallCx<'a>, &RArc<Function>) -> Outcome<RArc<Function>>,
    /// Runs a module pass.
    pub module: for<'a> unsafe extern "C" fn(*const (), &CallCx<'a>, &IRModule) -> Outcome<IRModule>,
    /// Runs a prim-func pass.
    pub prim_func: for<'a> unsafe extern "C" fn(*const (), &CallCx<'a>, &RArc<Function>) -> Outcome<RArc<Function>>,
    /// The members of a sequential pass.
    #[sabi(last_prefix_field)]
    pub steps: unsafe extern "C" fn(*const ()) -> RResult<RVec<StepRec>, PassError>,
    /// Says whether the pass can work on a module, before any pass of the run did. Where there is none, it can.
    pub check: for<'a> unsafe extern "C" fn(*const (), &CallCx<'a>, &IRModule) -> RResult<(), PassError>,
}

impl PassObject {
    /// Runs a function pass or a rewrite.
    pub fn run_function(&self, cx: &CallCx<'_>, function: &RArc<Function>) -> Outcome<RArc<Function>> {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.function())(self.state, cx, function) }
    }

    /// Runs a module pass.
    pub fn run_module(&self, cx: &CallCx<'_>, module: &IRModule) -> Outcome<IRModule> {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.module())(self.state, cx, module) }
    }

    /// Runs a prim-func pass.
    pub fn run_prim_func(&self, cx: &CallCx<'_>, prim_func: &RArc<Function>) -> Outcome<RArc<Function>> {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.prim_func())(self.state, cx, prim_func) }
    }

    /// The members of a sequential pass.
    pub fn steps(&self) -> RResult<RVec<StepRec>, PassError> {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.steps())(self.state) }
    }

    /// Asks the pass whether it can work on a module. One that is never asked says yes.
    pub fn check(&self, cx: &CallCx<'_>, module: &IRModule) -> RResult<(), PassError> {
        match self.vtable.check() {
            // SAFETY: the state is this object's.
            Some(check) => unsafe { check(self.state, cx, module) },
            None => RResult::ROk(()),
        }
    }

    /// Drops it.
    ///
    /// # Errors
    /// Returns an error if the pass's options panic while they are dropped.
    pub fn close(self) -> Result<(), PassError> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the state is this object's, and is not dropped again.
        unsafe { (this.vtable.drop())(this.state) }.into_result()
    }
}

/// A message for the host's log.
#[repr(C)]
#[derive(StableAbi)]
pub struct LogRec<'a> {
    /// One of [`log_level`], but not `OFF`.
    pub level: u8,
    /// The plugin.
    pub target: RStr<'a>,
    /// Message.
    pub message: RStr<'a>,
    /// The module of the plugin's source.
    pub module: RStr<'a>,
    /// The file of the plugin's source.
    pub file: RStr<'a>,
    /// The line in it.
    pub line: u32,
    /// Tagged fields of later versions (see `docs/abi.md`); empty.
    pub more: RSlice<'a, u8>,
}

/// The functions that a plugin receives when it is opened. They need no context, so they also serve threads that a pass
/// starts.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
#[sabi(kind(Prefix(prefix_ref = HostSetupRef, prefix_fields = HostSetupPrefix)))]
#[sabi(missing_field(option))]
pub struct HostSetup {
    /// Takes a log message.
    #[sabi(last_prefix_field)]
    pub log: for<'a, 'b> extern "C" fn(&'b LogRec<'a>),
}

/// A plugin's entry.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRef, prefix_fields = PluginPrefix)))]
#[sabi(missing_field(option))]
pub struct Plugin {
    /// Called once, before anything else: log level and the host's functions.
    pub init: extern "C" fn(HostSetupRef, u8) -> RResult<(), PassError>,
    /// Makes a pass: the host's functions, full name, options as an encoded table.
    pub create_pass: for<'a> extern "C" fn(HostSetupRef, RStr<'a>, RSlice<'a, u8>) -> RResult<PassObject, PassError>,
    /// The type relation of an operator: domain, name, first version.
    pub infer: for<'a> extern "C" fn(RStr<'a>, RStr<'a>, u32) -> ROption<InferEntry>,
    /// The evaluator of an operator: domain, name, first version.
    pub eval: for<'a> extern "C" fn(RStr<'a>, RStr<'a>, u32) -> ROption<EvalEntry>,
    /// Makes an instrument: the host's functions, full name, options as an encoded table.
    #[sabi(last_prefix_field)]
    pub create_instrument:
        for<'a> extern "C" fn(HostSetupRef, RStr<'a>, RSlice<'a, u8>) -> RResult<InstrumentObject, PassError>,
    /// A function of an operator that looks at one call: which (see [`operator_part`]), domain, name, first version.
    pub call: for<'a> extern "C" fn(u8, RStr<'a>, RStr<'a>, u32) -> ROption<CallEntry>,
}

impl RootModule for PluginRef {
    abi_stable::declare_root_module_statics! {PluginRef}

    const BASE_NAME: &'static str = "relais_plugin";
    const NAME: &'static str = "relais_plugin";
    // The record's boundary version decides, before the library is opened.
    const VERSION_STRINGS: VersionStrings = VersionStrings::new("1.0.0");
}
