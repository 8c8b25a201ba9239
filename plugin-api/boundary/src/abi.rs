//! The types that cross the boundary, beside the IR.
//!
//! Tables of functions are prefix types: they grow at the end. An entry after the first version's last one is `None` in
//! a table that was made before it, for the host as for a plugin, which says so with `entry!`. Everything else here is
//! frozen.
#![expect(unsafe_code, reason = "pointers that cross the boundary")]

pub mod instrument;

pub use relais_ir::diagnostics::{DiagnosticRec, PassErrorRec, error_kind};
pub use relais_ops::{abi::*, parts::with_fallback};

use abi_stable::{
    StableAbi,
    library::RootModule,
    sabi_types::VersionStrings,
    std_types::{RArc, ROption, RResult, RSlice, RStr, RString, RVec},
};
use analysis::{AnalysisObject, SubjectRec};
use instrument::InstrumentObject;
use relais_ir::{Function, IRModule, diagnostics::PassError};
use std::mem::ManuallyDrop;

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
    pub function: for<'a> unsafe extern "C" fn(*const (), &CallCx<'a>, &RArc<Function>) -> PassResult<RArc<Function>>,
    /// Runs a module pass.
    pub module: for<'a> unsafe extern "C" fn(*const (), &CallCx<'a>, &IRModule) -> PassResult<IRModule>,
    /// Runs a prim-func pass.
    pub prim_func: for<'a> unsafe extern "C" fn(*const (), &CallCx<'a>, &RArc<Function>) -> PassResult<RArc<Function>>,
    /// The members of a sequential pass.
    #[sabi(last_prefix_field)]
    pub steps: unsafe extern "C" fn(*const ()) -> RResult<RVec<StepRec>, PassError>,
    /// Says whether the pass can work on a module, before any pass of the run did. Where there is none, it can.
    pub check: for<'a> unsafe extern "C" fn(*const (), &CallCx<'a>, &IRModule) -> RResult<(), PassError>,
    /// Begins a pass over the functions of a module, if its record says that it begins: makes the state of its calls.
    pub begin: for<'a> unsafe extern "C" fn(*const (), &CallCx<'a>, &IRModule) -> RResult<BegunObject, PassError>,
    /// Runs a function pass or a prim-func pass that has begun.
    pub on_function: for<'a> unsafe extern "C" fn(
        *const (),
        &BegunObject,
        &CallCx<'a>,
        &RArc<Function>,
    ) -> PassResult<RArc<Function>>,
    /// Ends it, once no function failed: the module is its result.
    pub end: for<'a> unsafe extern "C" fn(*const (), BegunObject, &CallCx<'a>, &IRModule) -> RResult<(), PassError>,
}

/// The state of a pass that has begun, for its calls on functions. Like [`PassObject`], it cannot be taken apart.
#[repr(C)]
#[derive(StableAbi)]
pub struct BegunObject {
    /// A value that the library knows which made it.
    pub(crate) state: *mut (),
    pub(crate) drop: unsafe extern "C" fn(*mut ()) -> RResult<(), PassError>,
    /// The address by which that library knows itself.
    pub(crate) library: *const (),
}

// SAFETY: the state is a value of a type that is `Send + Sync` (see `entry`), owned by this object.
unsafe impl Send for BegunObject {}
// SAFETY: as above.
unsafe impl Sync for BegunObject {}

impl Drop for BegunObject {
    fn drop(&mut self) {
        // SAFETY: the state is this object's, and is not used afterwards. A panic while it is dropped changes no result.
        let _ = unsafe { (self.drop)(self.state) };
    }
}

impl PassObject {
    /// Runs a function pass or a rewrite.
    pub fn run_function(&self, cx: &CallCx<'_>, function: &RArc<Function>) -> PassResult<RArc<Function>> {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.function())(self.state, cx, function) }
    }

    /// Runs a module pass.
    pub fn run_module(&self, cx: &CallCx<'_>, module: &IRModule) -> PassResult<IRModule> {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.module())(self.state, cx, module) }
    }

    /// Runs a prim-func pass.
    pub fn run_prim_func(&self, cx: &CallCx<'_>, prim_func: &RArc<Function>) -> PassResult<RArc<Function>> {
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

    /// Begins a pass whose record says that it begins.
    pub fn begin(&self, cx: &CallCx<'_>, module: &IRModule) -> RResult<BegunObject, PassError> {
        match self.vtable.begin() {
            // SAFETY: the state is this object's.
            Some(begin) => unsafe { begin(self.state, cx, module) },
            None => RResult::RErr(PassError::with_kind(error_kind::HOST, "the pass cannot begin")),
        }
    }

    /// Runs a function pass or a prim-func pass that has begun.
    pub fn run_begun(
        &self,
        begun: &BegunObject,
        cx: &CallCx<'_>,
        function: &RArc<Function>,
    ) -> PassResult<RArc<Function>> {
        match self.vtable.on_function() {
            // SAFETY: the state is this object's.
            Some(run) => unsafe { run(self.state, begun, cx, function) },
            None => RResult::RErr(PassError::with_kind(error_kind::HOST, "the pass cannot begin")),
        }
    }

    /// Ends a pass that has begun.
    pub fn end(&self, begun: BegunObject, cx: &CallCx<'_>, module: &IRModule) -> RResult<(), PassError> {
        match self.vtable.end() {
            // SAFETY: the state is this object's.
            Some(end) => unsafe { end(self.state, begun, cx, module) },
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
    /// The same of an addition to an operator that another plugin describes: which, domain, name, first version, target.
    pub added: for<'a> extern "C" fn(u8, RStr<'a>, RStr<'a>, u32, RStr<'a>) -> ROption<CallEntry>,
    /// Computes an analysis: full name, and what it is of.
    pub analyse: for<'a> extern "C" fn(&CallCx<'a>, RStr<'a>, &SubjectRec<'a>) -> RResult<AnalysisObject, PassError>,
}

impl RootModule for PluginRef {
    abi_stable::declare_root_module_statics! {PluginRef}

    const BASE_NAME: &'static str = "relais_plugin";
    const NAME: &'static str = "relais_plugin";
    // The record's boundary version decides, before the library is opened.
    const VERSION_STRINGS: VersionStrings = VersionStrings::new("1.0.0");
}
