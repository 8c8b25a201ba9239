//! Passes and operators whose code shares no types with this library: a host hands over and takes back something else for
//! them.
#![expect(unsafe_code, reason = "values that cross the boundary as pointers")]

pub use crate::entry::instrument::foreign_instrument;
pub use relais_ops::parts::{ForeignCode, ForeignText, foreign_eval, foreign_infer, foreign_text};

use crate::{
    abi::{
        BegunObject, CallCx, PassObject, PassResult, PassVTable, PassVTableRef, StepRec, analysis::this_library,
        error_kind,
    },
    entry::drop_box,
};
use abi_stable::{
    prefix_type::WithMetadata,
    std_types::{RArc, ROption, RResult, RVec},
};
use relais_ir::{Function, IRModule, diagnostics::PassError, guard::entered};
use std::{any::Any, mem::ManuallyDrop};

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

    /// The members of a sequential pass.
    ///
    /// # Errors
    /// Returns an error if the pass fails, or can have none.
    fn steps(&self) -> Result<Vec<StepRec>, PassError> {
        Err(cannot("has no members"))
    }

    /// Says whether it can work on a module.
    ///
    /// # Errors
    /// Returns an error if it cannot.
    fn check(&self, _: &CallCx<'_>, _: &IRModule) -> Result<(), PassError> {
        Ok(())
    }

    /// Begins; the result is what the functions of this run are given.
    ///
    /// # Errors
    /// Returns an error if the pass fails, or cannot begin.
    fn begin(&self, _: &CallCx<'_>, _: &IRModule) -> Result<ForeignBegun, PassError> {
        Err(cannot("cannot begin"))
    }

    /// Runs on a function or a loop program after it has begun.
    ///
    /// # Errors
    /// Returns an error if the pass fails, or its answer cannot be read.
    fn on_function(
        &self,
        _: &ForeignBegun,
        _: &CallCx<'_>,
        _: &RArc<Function>,
    ) -> Result<Option<RArc<Function>>, PassError> {
        Err(cannot("cannot begin"))
    }

    /// Ends; the module is the result.
    ///
    /// # Errors
    /// Returns an error if the pass fails.
    fn end(&self, _: ForeignBegun, _: &CallCx<'_>, _: &IRModule) -> Result<(), PassError> {
        Ok(())
    }
}

/// The state of a pass that has begun.
pub type ForeignBegun = Box<dyn Any + Send + Sync>;

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
    steps: run_steps,
    check: run_check,
    begin: run_begin,
    on_function: run_begun,
    end: run_end,
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
fn cannot(what: &str) -> PassError {
    PassError::with_kind(error_kind::HOST, format_args!("a pass of this kind of plugin {what}"))
}

unsafe extern "C" fn run_steps(state: *const ()) -> RResult<RVec<StepRec>, PassError> {
    // SAFETY: the object that calls this holds the state.
    let pass = unsafe { pass(state) };
    entered(|| pass.steps()).map(RVec::from).into()
}

unsafe extern "C" fn run_check(state: *const (), call: &CallCx<'_>, module: &IRModule) -> RResult<(), PassError> {
    // SAFETY: the object that calls this holds the state.
    let pass = unsafe { pass(state) };
    entered(|| pass.check(call, module)).into()
}

unsafe extern "C" fn run_begin(
    state: *const (),
    call: &CallCx<'_>,
    module: &IRModule,
) -> RResult<BegunObject, PassError> {
    // SAFETY: the object that calls this holds the state.
    let pass = unsafe { pass(state) };
    let begun = |state: ForeignBegun| BegunObject {
        state: Box::into_raw(Box::new(state)).cast(),
        drop: drop_box::<ForeignBegun>,
        library: this_library(),
    };
    entered(|| pass.begin(call, module)).map(begun).into()
}

unsafe extern "C" fn run_begun(
    state: *const (),
    begun: &BegunObject,
    call: &CallCx<'_>,
    function: &RArc<Function>,
) -> PassResult<RArc<Function>> {
    // SAFETY: the object that calls this holds the state; the host hands over what `run_begin` made.
    let (pass, begun) = unsafe { (pass(state), &*begun.state.cast::<ForeignBegun>()) };
    entered(|| pass.on_function(begun, call, function)).map(ROption::from).into()
}

unsafe extern "C" fn run_end(
    state: *const (),
    begun: BegunObject,
    call: &CallCx<'_>,
    module: &IRModule,
) -> RResult<(), PassError> {
    let begun = ManuallyDrop::new(begun);
    // SAFETY: the object that calls this holds the state; the host hands over what `run_begin` made, which is not dropped.
    let (pass, begun) = unsafe { (pass(state), *Box::from_raw(begun.state.cast::<ForeignBegun>())) };
    entered(|| pass.end(begun, call, module)).into()
}
