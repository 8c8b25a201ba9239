//! The functions of an operator as other libraries call them: each catches its own panics.
#![expect(unsafe_code, reason = "the functions are found again by keys")]

use crate::{
    abi::{CallEntry, CallKey, EvalEntry, EvalKey, InferEntry, InferKey, RequestCx, operator_part},
    error::OpError,
    one_call::{evaluate_by, infer_by, text_by},
    op::{BodyFn, ComputeFn, EvalCx, EvalFn, GradientFn, InferCx, InferFn, OpCall, Operator, VerifyFn, make_kernel},
    request::{CallRequest, EvalRequest, InferRequest},
};
use abi_stable::std_types::RResult;
use relais_ir::{Function, diagnostics::PassError, guard::caught};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Code of an operator that shares no types with this library: it is given a call as a function of its own, and gives a
/// function back.
pub type ForeignCode = dyn Fn(&Function, RequestCx<'_>) -> Result<Function, OpError> + Send + Sync;

/// The same for what makes a text.
pub type ForeignText = dyn Fn(&Function, RequestCx<'_>) -> Result<String, OpError> + Send + Sync;

/// A type relation whose code is foreign. It stays in memory.
pub fn foreign_infer(code: Box<ForeignCode>) -> InferEntry {
    InferEntry { call: call_foreign_infer, key: InferKey(std::ptr::from_ref(Box::leak(Box::new(code))).cast()) }
}

/// An evaluator whose code is foreign. It stays in memory.
pub fn foreign_eval(code: Box<ForeignCode>) -> EvalEntry {
    EvalEntry { call: call_foreign_eval, key: EvalKey(std::ptr::from_ref(Box::leak(Box::new(code))).cast()) }
}

/// A function of an operator that makes a text, whose code is foreign; `part` is one of [`operator_part`]. It stays in
/// memory.
pub fn foreign_text(part: u8, code: Box<ForeignText>) -> CallEntry {
    let has_results = matches!(part, operator_part::GRADIENT | operator_part::COMPUTE);
    CallEntry {
        call: call_foreign_text,
        key: CallKey(std::ptr::from_ref(Box::leak(Box::new((has_results, code)))).cast()),
    }
}

/// # Safety
/// The key is one that `foreign_infer` made in this library.
unsafe extern "C" fn call_foreign_infer(
    key: InferKey,
    cx: RequestCx<'_>,
    request: &mut InferRequest<'_>,
) -> RResult<(), OpError> {
    // SAFETY: the caller's promise: the key was made from a reference of this type.
    let code = unsafe { &*key.0.cast::<Box<ForeignCode>>() };
    flatten(caught(|| infer_by(request, |f| code(f, cx))))
}

/// # Safety
/// The key is one that `foreign_eval` made in this library.
unsafe extern "C" fn call_foreign_eval(
    key: EvalKey,
    cx: RequestCx<'_>,
    request: &mut EvalRequest<'_>,
) -> RResult<(), OpError> {
    // SAFETY: the caller's promise: the key was made from a reference of this type.
    let code = unsafe { &*key.0.cast::<Box<ForeignCode>>() };
    flatten(caught(|| evaluate_by(request, |f| code(f, cx))))
}

/// # Safety
/// The key is one that `foreign_text` made in this library.
unsafe extern "C" fn call_foreign_text(
    key: CallKey,
    cx: RequestCx<'_>,
    request: &mut CallRequest<'_>,
) -> RResult<(), OpError> {
    // SAFETY: the caller's promise: the key was made from a reference of this type.
    let (has_results, code) = unsafe { &*key.0.cast::<(bool, Box<ForeignText>)>() };
    flatten(caught(|| text_by(request, *has_results, |f| code(f, cx))))
}

/// A type relation, for other libraries.
pub fn infer_entry(infer: &'static InferFn) -> InferEntry {
    InferEntry { call: call_infer, key: InferKey(std::ptr::from_ref(infer).cast()) }
}

/// The function of an operator that looks at one call; one of [`operator_part`].
pub fn call_entry(op: &'static Operator, part: u8) -> Option<CallEntry> {
    match part {
        operator_part::BODY => {
            op.body_of.as_ref().map(|body| CallEntry { call: call_body, key: CallKey(std::ptr::from_ref(body).cast()) })
        }
        operator_part::VERIFIER => op
            .verify
            .as_ref()
            .map(|verify| CallEntry { call: call_verify, key: CallKey(std::ptr::from_ref(verify).cast()) }),
        operator_part::GRADIENT => op
            .gradient_of
            .as_ref()
            .map(|gradient| CallEntry { call: call_gradient, key: CallKey(std::ptr::from_ref(gradient).cast()) }),
        operator_part::COMPUTE => op
            .compute
            .as_ref()
            .map(|compute| CallEntry { call: call_compute, key: CallKey(std::ptr::from_ref(compute).cast()) }),
        _ => None,
    }
}

/// An evaluator, for other libraries.
pub fn eval_entry(eval: &'static EvalFn) -> EvalEntry {
    EvalEntry { call: call_eval, key: EvalKey(std::ptr::from_ref(eval).cast()) }
}

/// # Safety
/// The key is one that `infer_entry` made in this library.
unsafe extern "C" fn call_infer(
    key: InferKey,
    cx: RequestCx<'_>,
    request: &mut InferRequest<'_>,
) -> RResult<(), OpError> {
    // SAFETY: the caller's promise: the key was made from a reference of this type.
    let infer = unsafe { *key.0.cast::<InferFn>() };
    flatten(caught(|| infer(&mut InferCx::new(request, cx))))
}

/// # Safety
/// The key is one that `eval_entry` made in this library.
unsafe extern "C" fn call_eval(key: EvalKey, cx: RequestCx<'_>, request: &mut EvalRequest<'_>) -> RResult<(), OpError> {
    // SAFETY: the caller's promise: the key was made from a reference of this type.
    let eval = unsafe { *key.0.cast::<EvalFn>() };
    flatten(caught(|| eval(&mut EvalCx::new(request, cx))))
}

/// # Safety
/// The key is one that `call_entry` made in this library, of a body.
unsafe extern "C" fn call_body(key: CallKey, cx: RequestCx<'_>, request: &mut CallRequest<'_>) -> RResult<(), OpError> {
    // SAFETY: the caller's promise: the key was made from a reference of this type.
    let body = unsafe { *key.0.cast::<BodyFn>() };
    flatten(caught(|| body(&OpCall::new(request, cx)).map(|text| request.text = text.into())))
}

/// # Safety
/// The key is one that `call_entry` made in this library, of a gradient.
unsafe extern "C" fn call_gradient(
    key: CallKey,
    cx: RequestCx<'_>,
    request: &mut CallRequest<'_>,
) -> RResult<(), OpError> {
    // SAFETY: the caller's promise: the key was made from a reference of this type.
    let gradient = unsafe { *key.0.cast::<GradientFn>() };
    flatten(caught(|| gradient(&OpCall::with_results(request, cx)).map(|text| request.text = text.into())))
}

/// # Safety
/// The key is one that `call_entry` made in this library, of a kernel.
unsafe extern "C" fn call_compute(
    key: CallKey,
    cx: RequestCx<'_>,
    request: &mut CallRequest<'_>,
) -> RResult<(), OpError> {
    // SAFETY: the caller's promise: the key was made from a reference of this type.
    let compute = unsafe { *key.0.cast::<ComputeFn>() };
    flatten(caught(|| make_kernel(&OpCall::with_results(request, cx), compute).map(|text| request.text = text.into())))
}

/// # Safety
/// The key is one that `call_entry` made in this library, of a verifier.
unsafe extern "C" fn call_verify(
    key: CallKey,
    cx: RequestCx<'_>,
    request: &mut CallRequest<'_>,
) -> RResult<(), OpError> {
    // SAFETY: the caller's promise: the key was made from a reference of this type.
    let verify = unsafe { *key.0.cast::<VerifyFn>() };
    flatten(caught(|| verify(&OpCall::new(request, cx))))
}

/// A function, and the one that is asked about calls that it does not cover.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Fallback {
    first: Parts,
    then: Parts,
}

/// The function and the key of an entry, to be compared.
type Parts = (usize, usize);

/// The entries of fallbacks that were made, each once: they are as many as there are functions of plugins.
static FALLBACKS: Mutex<Option<HashMap<Fallback, &'static [CallEntry; 2]>>> = Mutex::new(None);

/// A function that asks `first`, and `then` about the calls that the first does not cover.
pub fn with_fallback(first: CallEntry, then: CallEntry) -> CallEntry {
    let parts = |entry: CallEntry| (entry.call as usize, entry.key.0 as usize);
    let key = Fallback { first: parts(first), then: parts(then) };
    let mut known = FALLBACKS.lock().unwrap_or_else(PoisonError::into_inner);
    let entries = known.get_or_insert_default().entry(key).or_insert_with(|| Box::leak(Box::new([first, then])));
    CallEntry { call: call_with_fallback, key: CallKey(std::ptr::from_ref(*entries).cast()) }
}

/// # Safety
/// The key is one that `with_fallback` made in this library.
unsafe extern "C" fn call_with_fallback(
    key: CallKey,
    cx: RequestCx<'_>,
    request: &mut CallRequest<'_>,
) -> RResult<(), OpError> {
    // SAFETY: the caller's promise: the key was made from a reference of this type.
    let [first, then] = unsafe { *key.0.cast::<[CallEntry; 2]>() };
    match first.call(cx, request) {
        RResult::RErr(error) if error.is_unsupported() => {
            request.text.clear();
            then.call(cx, request)
        }
        answer => answer,
    }
}

fn flatten(result: Result<Result<(), OpError>, PassError>) -> RResult<(), OpError> {
    result.unwrap_or_else(|panic| Err(OpError::panicked(&panic))).into()
}
