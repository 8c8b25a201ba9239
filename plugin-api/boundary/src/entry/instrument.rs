//! An instrument of a plugin: its object, and the functions that its table points at.
#![expect(unsafe_code, reason = "values that cross the boundary as pointers")]

use super::drop_box;
use crate::{
    abi::{
        DiagnosticRec,
        instrument::{
            FindingsRec, HookCall, HookResult, InstrumentObject, InstrumentVTable, InstrumentVTableRef, PassInfoRec,
            SkipKind, TimeLimitRec,
        },
        wanted,
    },
    current,
    instrument::{Findings, Instrument, InstrumentCx, PassInfo, Said, Skipped, TimeLimit},
    logger,
    options::{OptionType, Value, check},
    record::{InstrumentSpec, Level},
};
use abi_stable::{
    prefix_type::WithMetadata,
    std_types::{ROption, RStr, RVec},
};
use relais_ir::{IRModule, diagnostics::PassError, guard::entered};
use std::{marker::PhantomData, time::Duration};

/// An instrument, as the macro writes it.
pub trait InstrumentImpl: 'static {
    /// The author's type.
    type Instrument: Instrument;
    /// The contents of its record.
    const SPEC: &'static InstrumentSpec;
}

/// An instrument with these options; `None` when they do not fit its type.
pub fn create<I: InstrumentImpl>(options: &Value) -> Option<Result<InstrumentObject, PassError>> {
    let options = <<I::Instrument as Instrument>::Options as OptionType>::from_value(options)?;
    let made = check(&options).and_then(|()| I::Instrument::new(options));
    Some(made.map(|instrument| InstrumentObject {
        state: Box::into_raw(Box::new(instrument)).cast(),
        vtable: VTableOf::<I>::REF,
    }))
}

/// An instrument that was made already, as every other one is called. Its name is its own matter.
pub fn foreign_instrument<I: Instrument<Options = ()>>(instrument: I) -> InstrumentObject {
    struct Foreign<I>(PhantomData<I>);
    impl<I: Instrument<Options = ()>> InstrumentImpl for Foreign<I> {
        type Instrument = I;
        const SPEC: &'static InstrumentSpec = &InstrumentSpec { name: "", doc: "", options: &[] };
    }
    InstrumentObject { state: Box::into_raw(Box::new(instrument)).cast(), vtable: VTableOf::<Foreign<I>>::REF }
}

struct VTableOf<I>(PhantomData<I>);

impl<I: InstrumentImpl> VTableOf<I> {
    const TABLE: &'static WithMetadata<InstrumentVTable> = &WithMetadata::new(InstrumentVTable {
        drop: drop_box::<I::Instrument>,
        enter: enter::<I>,
        exit: exit::<I>,
        should_run: should_run::<I>,
        before: before::<I>,
        after: after::<I>,
        skipped: skipped::<I>,
        failed: failed::<I>,
        counted: counted::<I>,
        said: said::<I>,
        took: took::<I>,
        accept: accept::<I>,
        findings: findings::<I>,
        wants: wants::<I>,
        time_limit: time_limit::<I>,
    });
    const REF: InstrumentVTableRef = InstrumentVTableRef(Self::TABLE.static_as_prefix());
}

fn hook<'a, I: InstrumentImpl, T>(
    state: *const (),
    call: &HookCall<'a>,
    f: impl FnOnce(&I::Instrument, &InstrumentCx<'a>) -> Result<T, PassError>,
) -> HookResult<T> {
    logger::follow(call.log_level);
    // SAFETY: `create::<I>` made the state, and the object that calls this holds it.
    let instrument = unsafe { &*state.cast::<I::Instrument>() };
    let cx = InstrumentCx::new(I::SPEC);
    current::within(call.host.context(), call.data, || entered(|| f(instrument, &cx))).into()
}

/// Calls `body` with an author's view of a pass.
fn view<T>(pass: &PassInfoRec<'_>, body: impl FnOnce(&PassInfo<'_>) -> T) -> T {
    let required: Vec<&str> = pass.required.iter().map(RStr::as_str).collect();
    let PassInfoRec { name, plugin, level, opt_level, .. } = pass;
    body(&PassInfo {
        name: name.as_str(),
        plugin: plugin.as_str(),
        level: Level(*level),
        opt_level: *opt_level,
        required: &required,
    })
}

unsafe extern "C" fn enter<I: InstrumentImpl>(state: *const (), call: &HookCall<'_>) -> HookResult {
    hook::<I, _>(state, call, |instrument, cx| instrument.enter(cx))
}

unsafe extern "C" fn exit<I: InstrumentImpl>(state: *const (), call: &HookCall<'_>) -> HookResult {
    hook::<I, _>(state, call, |instrument, cx| instrument.exit(cx))
}

unsafe extern "C" fn should_run<I: InstrumentImpl>(
    state: *const (),
    call: &HookCall<'_>,
    module: &IRModule,
    pass: &PassInfoRec<'_>,
) -> HookResult<u8> {
    hook::<I, _>(state, call, |instrument, cx| view(pass, |pass| instrument.should_run(module, pass, cx)).map(u8::from))
}

unsafe extern "C" fn before<I: InstrumentImpl>(
    state: *const (),
    call: &HookCall<'_>,
    module: &IRModule,
    pass: &PassInfoRec<'_>,
) -> HookResult {
    hook::<I, _>(state, call, |instrument, cx| view(pass, |pass| instrument.before(module, pass, cx)))
}

unsafe extern "C" fn after<I: InstrumentImpl>(
    state: *const (),
    call: &HookCall<'_>,
    module: &IRModule,
    pass: &PassInfoRec<'_>,
) -> HookResult {
    hook::<I, _>(state, call, |instrument, cx| view(pass, |pass| instrument.after(module, pass, cx)))
}

unsafe extern "C" fn skipped<I: InstrumentImpl>(
    state: *const (),
    call: &HookCall<'_>,
    module: &IRModule,
    pass: &PassInfoRec<'_>,
    kind: u8,
    reason: RStr<'_>,
) -> HookResult {
    let reason = Skipped { kind: SkipKind(kind), reason: reason.as_str() };
    hook::<I, _>(state, call, |instrument, cx| {
        view(pass, |pass| instrument.skipped(module, pass, &reason, cx));
        Ok(())
    })
}

unsafe extern "C" fn failed<I: InstrumentImpl>(
    state: *const (),
    call: &HookCall<'_>,
    pass: &PassInfoRec<'_>,
    error: &PassError,
) -> HookResult {
    hook::<I, _>(state, call, |instrument, cx| {
        view(pass, |pass| instrument.failed(pass, error, cx));
        Ok(())
    })
}

unsafe extern "C" fn counted<I: InstrumentImpl>(
    state: *const (),
    call: &HookCall<'_>,
    pass: &PassInfoRec<'_>,
    statistic: RStr<'_>,
    n: u64,
) -> HookResult {
    hook::<I, _>(state, call, |instrument, cx| {
        view(pass, |pass| instrument.counted(pass, statistic.as_str(), n, cx));
        Ok(())
    })
}

unsafe extern "C" fn said<I: InstrumentImpl>(
    state: *const (),
    call: &HookCall<'_>,
    pass: &PassInfoRec<'_>,
    said: &DiagnosticRec,
    line: RStr<'_>,
) -> HookResult {
    hook::<I, _>(state, call, |instrument, cx| {
        let said = Said { diagnostic: said.clone().into(), line: (!line.is_empty()).then_some(line.as_str()) };
        view(pass, |pass| instrument.said(pass, &said, cx));
        Ok(())
    })
}

unsafe extern "C" fn took<I: InstrumentImpl>(
    state: *const (),
    call: &HookCall<'_>,
    pass: &PassInfoRec<'_>,
    nanoseconds: u64,
) -> HookResult {
    hook::<I, _>(state, call, |instrument, cx| {
        view(pass, |pass| instrument.took(pass, Duration::from_nanos(nanoseconds), cx));
        Ok(())
    })
}

unsafe extern "C" fn accept<I: InstrumentImpl>(
    state: *const (),
    call: &HookCall<'_>,
    module: &IRModule,
    pass: &PassInfoRec<'_>,
) -> HookResult {
    hook::<I, _>(state, call, |instrument, cx| view(pass, |pass| instrument.accept(module, pass, cx)))
}

unsafe extern "C" fn findings<I: InstrumentImpl>(
    state: *const (),
    call: &HookCall<'_>,
) -> HookResult<ROption<FindingsRec>> {
    hook::<I, _>(state, call, |instrument, cx| {
        let found = instrument.findings(cx).map(|Findings { text, data }| FindingsRec {
            text: text.into(),
            data: data.encode().into(),
            more: RVec::new(),
        });
        Ok(found.into())
    })
}

unsafe extern "C" fn wants<I: InstrumentImpl>(state: *const (), bits: u32) -> u32 {
    // SAFETY: `create::<I>` made the state, and the object that calls this holds it.
    let instrument = unsafe { &*state.cast::<I::Instrument>() };
    let wants_remarks = entered(|| Ok(instrument.wants_remarks())).unwrap_or(false);
    if wants_remarks { bits & wanted::REMARKS } else { 0 }
}

unsafe extern "C" fn time_limit<I: InstrumentImpl>(
    state: *const (),
    call: &HookCall<'_>,
    pass: &PassInfoRec<'_>,
) -> HookResult<ROption<TimeLimitRec>> {
    hook::<I, _>(state, call, |instrument, cx| {
        let limit = view(pass, |pass| instrument.time_limit(pass, cx));
        let rec = limit.map(|TimeLimit { duration, message }| TimeLimitRec {
            nanoseconds: duration.as_nanos().try_into().unwrap_or(u64::MAX),
            message: message.into(),
            more: RVec::new(),
        });
        Ok(rec.into())
    })
}
