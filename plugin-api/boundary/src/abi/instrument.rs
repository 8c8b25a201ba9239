//! Instruments as they cross the boundary: their object, its table, and the calls of their hooks.
#![expect(unsafe_code, reason = "values that cross the boundary as pointers")]

use crate::abi::{DiagnosticRec, HostData};
use abi_stable::{
    StableAbi,
    std_types::{ROption, RResult, RSlice, RStr, RString, RVec},
};
use relais_ir::{IRModule, diagnostics::PassError};
use std::mem::ManuallyDrop;

/// Why a pass did not run: the kinds. Append-only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SkipKind(pub u8);

impl SkipKind {
    /// A level that is unknown to this version.
    pub const OTHER: Self = Self(0);
    /// An instrument said no.
    pub const VETOED: Self = Self(1);
    /// It is a requirement, and its result holds.
    pub const HOLDS: Self = Self(2);
    /// It left this same module unchanged before, in an earlier round of a fixpoint.
    pub const SETTLED: Self = Self(3);
    /// A pass that it requires did not run.
    pub const REQUIREMENT_LOST: Self = Self(4);
    /// A pass of its plugin failed, and the policy is to exclude the plugin.
    pub const QUARANTINED: Self = Self(5);
}

/// The host's functions for an instrument while one of its hooks runs.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = HookApiRef, prefix_fields = HookApiPrefix)))]
#[sabi(missing_field(option))]
pub struct HookApi {
    /// The current context, encoded.
    #[sabi(last_prefix_field)]
    pub context: for<'a> extern "C" fn(HostData<'a>) -> RVec<u8>,
}

/// A call of a hook: the host's functions and their data.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct HookCall<'a> {
    /// The host's functions.
    pub(crate) host: HookApiRef,
    /// The data of these functions.
    pub(crate) data: HostData<'a>,
    /// The most verbose level that the host logs: 0 is off, 5 is trace.
    pub(crate) log_level: u8,
}

impl<'a> HookCall<'a> {
    /// A hash of the layout, for the boundary's fingerprint.
    pub(crate) const LAYOUT_HASH: u64 = relais_ir::__layout_hash!(HookCall<'static> { host, data, log_level });

    /// A call of a hook.
    ///
    /// # Safety
    /// The data are those that these functions work on.
    pub unsafe fn new(host: HookApiRef, data: HostData<'a>, log_level: u8) -> Self {
        Self { host, data, log_level }
    }
}

/// The description of a pass that a hook receives. Additions of later versions are functions of [`HookApi`].
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct PassInfoRec<'a> {
    /// Full name.
    pub name: RStr<'a>,
    /// The plugin that provides it; empty for a sequence of the pipeline.
    pub plugin: RStr<'a>,
    /// One of [`Level`](crate::record::Level).
    pub level: u8,
    /// Optimisation level.
    pub opt_level: u8,
    /// The names of the passes that it requires.
    pub required: RSlice<'a, RStr<'a>>,
}

/// The result of a hook.
pub type HookResult<T = ()> = RResult<T, PassError>;

/// An instrument that was made, its options set.
#[repr(C)]
#[derive(StableAbi)]
pub struct InstrumentObject {
    pub(crate) state: *mut (),
    pub(crate) vtable: InstrumentVTableRef,
}

// SAFETY: the state is an `Instrument`, so `Send + Sync`, owned by this object.
unsafe impl Send for InstrumentObject {}
// SAFETY: as above.
unsafe impl Sync for InstrumentObject {}

impl Drop for InstrumentObject {
    fn drop(&mut self) {
        // SAFETY: the state is this object's, and is not used afterwards. To learn of a panic, call `close`.
        let _ = unsafe { (self.vtable.drop())(self.state) };
    }
}

/// The hooks of an instrument. Every function catches its panics.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = InstrumentVTableRef, prefix_fields = InstrumentVTablePrefix)))]
#[sabi(missing_field(option))]
pub struct InstrumentVTable {
    /// Drops the state.
    pub drop: unsafe extern "C" fn(*mut ()) -> HookResult,
    /// Its context is about to be entered.
    pub enter: for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>) -> HookResult,
    /// Its context was left.
    pub exit: for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>) -> HookResult,
    /// 1 when the pass may run.
    pub should_run:
        for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>, &IRModule, &PassInfoRec<'a>) -> HookResult<u8>,
    /// A pass is about to run.
    pub before: for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>, &IRModule, &PassInfoRec<'a>) -> HookResult,
    /// A pass ran.
    pub after: for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>, &IRModule, &PassInfoRec<'a>) -> HookResult,
    /// A pass did not run: why, as one of [`SkipKind`] and as text.
    pub skipped:
        for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>, &IRModule, &PassInfoRec<'a>, u8, RStr<'a>) -> HookResult,
    /// A pass failed.
    #[sabi(last_prefix_field)]
    pub failed: for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>, &PassInfoRec<'a>, &PassError) -> HookResult,
    /// A pass counted: the statistic, and by how much it grew.
    pub counted: for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>, &PassInfoRec<'a>, RStr<'a>, u64) -> HookResult,
    /// A pass said something: the message, and the line that it is about, which is empty if there is none.
    pub said: for<'a> unsafe extern "C" fn(
        *const (),
        &HookCall<'a>,
        &PassInfoRec<'a>,
        &DiagnosticRec,
        RStr<'a>,
    ) -> HookResult,
    /// The time that a pass took, in nanoseconds.
    pub took: for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>, &PassInfoRec<'a>, u64) -> HookResult,
    /// Whether the result of a pass is accepted; if not, the error is the pass's.
    pub accept: for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>, &IRModule, &PassInfoRec<'a>) -> HookResult,
    /// The findings, after the context was left.
    pub findings: for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>) -> HookResult<ROption<FindingsRec>>,
    /// The bits of [`wanted`](crate::abi::wanted) among these that it wants.
    pub wants: unsafe extern "C" fn(*const (), u32) -> u32,
    /// The time that a pass has, which begins now.
    pub time_limit:
        for<'a> unsafe extern "C" fn(*const (), &HookCall<'a>, &PassInfoRec<'a>) -> HookResult<ROption<TimeLimitRec>>,
}

/// The findings of an instrument, as they cross the boundary.
#[repr(C)]
#[derive(StableAbi, Debug)]
pub struct FindingsRec {
    /// As text.
    pub text: RString,
    /// As data: an encoded value.
    pub data: RVec<u8>,
    /// Tagged fields of later versions.
    pub more: RVec<u8>,
}

/// The time that a pass has, as it crosses the boundary.
#[repr(C)]
#[derive(StableAbi, Debug)]
pub struct TimeLimitRec {
    /// In nanoseconds.
    pub nanoseconds: u64,
    /// The message about a pass that takes longer, after its name.
    pub message: RString,
    /// Tagged fields of later versions.
    pub more: RVec<u8>,
}

impl InstrumentObject {
    /// A hash of the layout, for the boundary's fingerprint.
    pub(crate) const LAYOUT_HASH: u64 = relais_ir::__layout_hash!(InstrumentObject { state, vtable });

    /// Drops it.
    ///
    /// # Errors
    /// Returns an error if the instrument panics while it is dropped.
    pub fn close(self) -> Result<(), PassError> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the state is this object's, and is not dropped again.
        unsafe { (this.vtable.drop())(this.state) }.into_result()
    }

    /// Its context is about to be entered.
    pub fn enter(&self, call: &HookCall<'_>) -> HookResult {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.enter())(self.state, call) }
    }

    /// Its context was left.
    pub fn exit(&self, call: &HookCall<'_>) -> HookResult {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.exit())(self.state, call) }
    }

    /// Whether a pass may run: 1 when it may.
    pub fn should_run<'a>(&self, call: &HookCall<'a>, module: &IRModule, pass: &PassInfoRec<'a>) -> HookResult<u8> {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.should_run())(self.state, call, module, pass) }
    }

    /// A pass is about to run.
    pub fn before<'a>(&self, call: &HookCall<'a>, module: &IRModule, pass: &PassInfoRec<'a>) -> HookResult {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.before())(self.state, call, module, pass) }
    }

    /// A pass ran.
    pub fn after<'a>(&self, call: &HookCall<'a>, module: &IRModule, pass: &PassInfoRec<'a>) -> HookResult {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.after())(self.state, call, module, pass) }
    }

    /// A pass did not run.
    pub fn skipped<'a>(
        &self,
        call: &HookCall<'a>,
        module: &IRModule,
        pass: &PassInfoRec<'a>,
        kind: SkipKind,
        reason: &'a str,
    ) -> HookResult {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.skipped())(self.state, call, module, pass, kind.0, reason.into()) }
    }

    /// A pass failed.
    pub fn failed<'a>(&self, call: &HookCall<'a>, pass: &PassInfoRec<'a>, error: &PassError) -> HookResult {
        // SAFETY: the state is this object's.
        unsafe { (self.vtable.failed())(self.state, call, pass, error) }
    }
}

impl InstrumentObject {
    /// A pass counted something. A plugin without this hook is not told.
    pub fn counted<'a>(&self, call: &HookCall<'a>, pass: &PassInfoRec<'a>, statistic: &'a str, n: u64) -> HookResult {
        let Some(hook) = self.vtable.counted() else { return RResult::ROk(()) };
        // SAFETY: the state is this object's.
        unsafe { hook(self.state, call, pass, statistic.into(), n) }
    }

    /// A pass said something.
    pub fn said<'a>(
        &self,
        call: &HookCall<'a>,
        pass: &PassInfoRec<'a>,
        said: &DiagnosticRec,
        line: &'a str,
    ) -> HookResult {
        let Some(hook) = self.vtable.said() else { return RResult::ROk(()) };
        // SAFETY: the state is this object's.
        unsafe { hook(self.state, call, pass, said, line.into()) }
    }

    /// The time that a pass took, in nanoseconds.
    pub fn took<'a>(&self, call: &HookCall<'a>, pass: &PassInfoRec<'a>, nanoseconds: u64) -> HookResult {
        let Some(hook) = self.vtable.took() else { return RResult::ROk(()) };
        // SAFETY: the state is this object's.
        unsafe { hook(self.state, call, pass, nanoseconds) }
    }

    /// Whether the result of a pass is accepted.
    pub fn accept<'a>(&self, call: &HookCall<'a>, module: &IRModule, pass: &PassInfoRec<'a>) -> HookResult {
        let Some(hook) = self.vtable.accept() else { return RResult::ROk(()) };
        // SAFETY: the state is this object's.
        unsafe { hook(self.state, call, module, pass) }
    }

    /// Its findings.
    pub fn findings(&self, call: &HookCall<'_>) -> HookResult<ROption<FindingsRec>> {
        let Some(hook) = self.vtable.findings() else { return RResult::ROk(ROption::RNone) };
        // SAFETY: the state is this object's.
        unsafe { hook(self.state, call) }
    }

    /// The bits of [`wanted`](crate::abi::wanted) among these that it wants.
    pub fn wants(&self, bits: u32) -> u32 {
        let Some(wants) = self.vtable.wants() else { return 0 };
        // SAFETY: the state is this object's.
        bits & unsafe { wants(self.state, bits) }
    }

    /// The time that a pass has.
    pub fn time_limit<'a>(&self, call: &HookCall<'a>, pass: &PassInfoRec<'a>) -> HookResult<ROption<TimeLimitRec>> {
        let Some(hook) = self.vtable.time_limit() else { return RResult::ROk(ROption::RNone) };
        // SAFETY: the state is this object's.
        unsafe { hook(self.state, call, pass) }
    }
}
