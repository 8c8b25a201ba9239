//! A number that differs when two builds lay out the types that cross the boundary differently.

use super::{
    abi::{
        CallCx, DiagnosticRec, EvalEntry, HostApi, HostSetup, InferEntry, LogRec, PassErrorRec, PassObject, PassVTable,
        Plugin, RequestCx, ResolvedOp, StepRec,
    },
    bytes::Blob,
    instrument::{FindingsRec, HookApi, HookCall, InstrumentObject, InstrumentVTable, PassInfoRec, TimeLimitRec},
    wire::mix,
};
use crate::{ir::*, op};

/// Hashes a type's size, alignment and the name and offset of each field.
#[doc(hidden)]
#[macro_export]
macro_rules! __layout_hash {
    ($ty:ty { $($field:tt),* $(,)? }) => {{
        let hash = $crate::boundary::fingerprint::layout(stringify!($ty), size_of::<$ty>(), align_of::<$ty>());
        $(let hash = $crate::boundary::fingerprint::field(hash, stringify!($field), core::mem::offset_of!($ty, $field));)*
        hash
    }};
}

/// Hashes the name and offset of each entry that a table of functions had when the boundary's version was set. Entries
/// that are added at its end later are not named: they leave the hash unchanged.
macro_rules! table_hash {
    ($ty:ident { $($field:ident),* $(,)? }) => {{
        let hash = layout(stringify!($ty), 0, align_of::<$ty>());
        $(let hash = field(hash, stringify!($field), core::mem::offset_of!($ty, $field));)*
        hash
    }};
}

/// Hashes a name.
const fn text(mut hash: u64, text: &str) -> u64 {
    let mut bytes = text.as_bytes();
    while let [byte, rest @ ..] = bytes {
        hash = mix(hash, *byte as u64);
        bytes = rest;
    }
    hash
}

/// Hashes a type without its fields.
pub const fn layout(name: &str, size: usize, align: usize) -> u64 {
    mix(mix(text(0x005e_1a15, name), size as u64), align as u64)
}

/// Adds a field.
pub const fn field(hash: u64, name: &str, offset: usize) -> u64 {
    mix(text(hash, name), offset as u64)
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
    op::InferRequest::<'static>::LAYOUT_HASH,
    op::EvalRequest::<'static>::LAYOUT_HASH,
    __layout_hash!(RequestCx<'static> { host, data }),
    __layout_hash!(op::OpError { kind, message }),
    __layout_hash!(CallCx<'static> { host, data, log_level }),
    __layout_hash!(DiagnosticRec { severity, code, function, node, message, notes, help, more }),
    __layout_hash!(PassErrorRec { kind, code, message, function, node, help, notes, place, backtrace, plugin, more }),
    __layout_hash!(PassObject { state, vtable }),
    __layout_hash!(InferEntry { call, key }),
    __layout_hash!(EvalEntry { call, key }),
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
