//! A number that differs when two builds lay out the types that cross the boundary differently.

use crate::abi::{
    analysis::{AnalysisObject, AnalysisVTable, SubjectRec},
    instrument::{FindingsRec, HookApi, HookCall, InstrumentObject, InstrumentVTable, PassInfoRec, TimeLimitRec},
    *,
};
use relais_ir::{
    __layout_hash, AttrRec, Blob, BlockRec, DimRec, Function, IRModule, Lists, NodeRec, OpRec, SideList, SideTable,
    Source, Tensor, TypeRec,
    layout_hash::{field, layout},
    wire::mix,
};
use relais_ops::{error as op, request};

/// Hashes the name and offset of each entry that a table of functions had when the boundary's version was set. Entries
/// that are added at its end later are not named: they leave the hash unchanged.
macro_rules! table_hash {
    ($ty:ident { $($field:ident),* $(,)? }) => {{
        let hash = layout(stringify!($ty), 0, align_of::<$ty>());
        $(let hash = field(hash, stringify!($field), core::mem::offset_of!($ty, $field));)*
        hash
    }};
}

const fn all(hashes: &[u64]) -> u64 {
    let mut hash = 0;
    let mut i = 0;
    while i < hashes.len() {
        hash = mix(hash, hashes[i]);
        i += 1;
    }
    hash
}

/// The layout of this build.
pub const FINGERPRINT: u64 = all(&[
    __layout_hash!(NodeRec { kind, flags, aux, a, b, c }),
    __layout_hash!(AttrRec { name, kind, flags, aux, a, b }),
    __layout_hash!(TypeRec { kind, elem, aux, a, b }),
    __layout_hash!(DimRec { 0 }),
    __layout_hash!(BlockRec { start, len, room, result, owner }),
    __layout_hash!(OpRec { domain, name, overload, version, node }),
    __layout_hash!(SideTable { key, stride, policy, bytes }),
    __layout_hash!(SideList { key, size, policy, bytes }),
    __layout_hash!(Source { name, bytes }),
    Function::LAYOUT_HASH,
    Tensor::LAYOUT_HASH,
    IRModule::LAYOUT_HASH,
    Blob::LAYOUT_HASH,
    request::InferRequest::<'static>::LAYOUT_HASH,
    request::EvalRequest::<'static>::LAYOUT_HASH,
    RequestCx::LAYOUT_HASH,
    __layout_hash!(op::OpError { kind, message }),
    CallCx::LAYOUT_HASH,
    __layout_hash!(DiagnosticRec { severity, code, function, node, message, notes, help, more }),
    __layout_hash!(PassErrorRec { kind, code, message, function, node, help, notes, place, backtrace, plugin, more }),
    __layout_hash!(PassObject { state, vtable }),
    InferEntry::LAYOUT_HASH,
    EvalEntry::LAYOUT_HASH,
    __layout_hash!(ResolvedOp<'static> {
        is_known,
        is_closed,
        facts,
        infer,
        eval,
        compute,
        layouts,
        gradient,
        body,
        more
    }),
    __layout_hash!(StepRec { pass, options, more }),
    __layout_hash!(LogRec<'static> { level, target, message, module, file, line, more }),
    HookCall::LAYOUT_HASH,
    __layout_hash!(PassInfoRec<'static> { name, plugin, level, opt_level, required }),
    InstrumentObject::LAYOUT_HASH,
    __layout_hash!(FindingsRec { text, data, more }),
    __layout_hash!(TimeLimitRec { nanoseconds, message, more }),
    SubjectRec::LAYOUT_HASH,
    __layout_hash!(BegunObject { state, drop, library }),
    AnalysisObject::LAYOUT_HASH,
    Lists::LAYOUT_HASH,
    table_hash!(AnalysisVTable { drop, equals }),
    table_hash!(Plugin { init, create_pass, infer, eval, create_instrument }),
    table_hash!(PassVTable { drop, function, module, prim_func, steps }),
    table_hash!(InstrumentVTable { drop, enter, exit, should_run, before, after, skipped, failed }),
    table_hash!(HostSetup { log }),
    table_hash!(HostApi {
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
        operator_failed
    }),
    table_hash!(HookApi { context }),
]);
