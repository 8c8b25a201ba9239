//! Passes and operators whose code shares no types with this library: a host hands over and takes back something else for
//! them.
#![expect(unsafe_code, reason = "values that cross the boundary as pointers")]

pub use relais_ops::parts::{ForeignCode, ForeignText, foreign_eval, foreign_infer, foreign_text};

use crate::{
    abi::{BegunObject, CallCx, PassObject, PassResult, PassVTable, PassVTableRef, StepRec, error_kind},
    entry::drop_box,
};
use abi_stable::{
    prefix_type::WithMetadata,
    std_types::{RArc, ROption, RResult, RVec},
};
use relais_ir::{Function, IRModule, diagnostics::PassError, guard::entered};

/// A pass whose code is elsewhere: behind another entry, in another process.
pub trait ForeignPass: Send + Sync + 'static {
    /// Runs on a function.
    ///
    /// # Errors
    /// Returns an error if the pass fails, or its answer cannot be read.
    fn function(&self, call: &CallCx<'_>, function: &RArc<Function>) -> Result<Option<RArc<Function>>, PassError>;

    /// Runs on a loop program.
    ///
    /// # Errors
    /// Returns an error if the pass fails, or its answer cannot be read.
    fn prim_func(&self, call: &CallCx<'_>, prim_func: &RArc<Function>) -> Result<Option<RArc<Function>>, PassError>;

    /// Runs on a module.
    ///
    /// # Errors
    /// Returns an error if the pass fails, or its answer cannot be read.
    fn module(&self, call: &CallCx<'_>, module: &IRModule) -> Result<Option<IRModule>, PassError>;
}

/// The pass as every other one is called.
pub fn foreign_pass(pass: impl ForeignPass) -> PassObject {
    let pass: Box<dyn ForeignPass> = Box::new(pass);
    PassObject { state: Box::into_raw(Box::new(pass)).cast(), vtable: VTABLE }
}

const TABLE: &WithMetadata<PassVTable> = &WithMetadata::new(PassVTable {
    drop: drop_box::<Box<dyn ForeignPass>>,
    function: run_function,
    module: run_module,
    prim_func: run_prim_func,
    steps: no_steps,
    check: no_check,
    begin: no_begin,
    on_function: run_begun,
    end: no_end,
});
const VTABLE: PassVTableRef = PassVTableRef(TABLE.static_as_prefix());

/// The pass behind a state.
///
/// # Safety
/// `foreign_pass` made the state, and it is alive for `'a`.
unsafe fn pass<'a>(state: *const ()) -> &'a dyn ForeignPass {
    // SAFETY: the caller's promise.
    unsafe { &**state.cast::<Box<dyn ForeignPass>>() }
}

unsafe extern "C" fn run_function(
    state: *const (),
    call: &CallCx<'_>,
    function: &RArc<Function>,
) -> PassResult<RArc<Function>> {
    // SAFETY: the object that calls this holds the state.
    let pass = unsafe { pass(state) };
    entered(|| pass.function(call, function)).map(ROption::from).into()
}

unsafe extern "C" fn run_prim_func(
    state: *const (),
    call: &CallCx<'_>,
    prim_func: &RArc<Function>,
) -> PassResult<RArc<Function>> {
    // SAFETY: the object that calls this holds the state.
    let pass = unsafe { pass(state) };
    entered(|| pass.prim_func(call, prim_func)).map(ROption::from).into()
}

unsafe extern "C" fn run_module(state: *const (), call: &CallCx<'_>, module: &IRModule) -> PassResult<IRModule> {
    // SAFETY: the object that calls this holds the state.
    let pass = unsafe { pass(state) };
    entered(|| pass.module(call, module)).map(ROption::from).into()
}

#[cold]
fn cannot<T>(what: &str) -> RResult<T, PassError> {
    RResult::RErr(PassError::with_kind(error_kind::HOST, format_args!("a pass of this kind of plugin {what}")))
}

unsafe extern "C" fn no_steps(_: *const ()) -> RResult<RVec<StepRec>, PassError> {
    cannot("has no members")
}

unsafe extern "C" fn no_check(_: *const (), _: &CallCx<'_>, _: &IRModule) -> RResult<(), PassError> {
    RResult::ROk(())
}

unsafe extern "C" fn no_begin(_: *const (), _: &CallCx<'_>, _: &IRModule) -> RResult<BegunObject, PassError> {
    cannot("cannot begin")
}

unsafe extern "C" fn run_begun(
    _: *const (),
    _: &BegunObject,
    _: &CallCx<'_>,
    _: &RArc<Function>,
) -> PassResult<RArc<Function>> {
    cannot("cannot begin")
}

unsafe extern "C" fn no_end(_: *const (), _: BegunObject, _: &CallCx<'_>, _: &IRModule) -> RResult<(), PassError> {
    RResult::ROk(())
}
