//! The expansion of the macros: a plugin's constructors, collected inside it, and the functions that its entry points
//! at. Not intended for authors.
#![expect(unsafe_code, reason = "values that cross the boundary as pointers")]

use super::{
    abi::*,
    current,
    guard::{caught, entered},
    instrument::InstrumentObject,
    logger,
    record::{InstrumentSpec, PassSpec},
};
use crate::{
    diagnostics::PassError,
    ir::*,
    op::{EvalCx, EvalFn, EvalRequest, Evaluator, InferCx, InferFn, InferRequest, OpError, Operator},
    options::{OptionSpec, PassOptions, Value},
    pass::{PassCx, Step},
    rewrite::check_replacements,
};
use abi_stable::{
    library::{CheckTypeLayout, LibHeader, RootModuleResult},
    prefix_type::WithMetadata,
    std_types::{RArc, ROption, RResult, RSlice, RStr, RVec},
};
use std::marker::PhantomData;

/// Something that a crate registers.
pub struct Registration {
    /// The crate.
    pub crate_name: &'static str,
    /// Its records, as stored in the file.
    pub records: &'static [u8],
    /// The registered item.
    pub item: Item,
}

/// An item that a crate registers.
#[derive(Clone, Copy)]
pub enum Item {
    /// The plugin.
    Plugin(fn() -> PluginRef),
    /// A pass: its record and constructor.
    Pass(&'static PassSpec, fn(&Value) -> Option<PassObject>),
    /// Operators.
    Operators(&'static [Operator]),
    /// Evaluators.
    Evaluators(&'static [Evaluator]),
    /// An instrument: its record and constructor.
    Instrument(&'static InstrumentSpec, fn(&Value) -> Option<Result<InstrumentObject, PassError>>),
    /// An option of the context.
    Option(&'static OptionSpec),
    /// A pipeline.
    Pipeline,
}

inventory::collect!(Registration);

/// Returns the registrations of the crates that are linked into this library or program.
pub fn registrations() -> impl Iterator<Item = &'static Registration> {
    inventory::iter::<Registration>()
}

// ---- passes ---------------------------------------------------------------------------------------------------------

/// A pass, as the macros write it: one of the functions is there, the others belong to other levels.
pub trait PassImpl: Sized + 'static {
    /// Its options.
    type Options: PassOptions;
    /// The contents of its record.
    const SPEC: &'static PassSpec;

    /// Runs on one function.
    fn function(_: &Self::Options, _: &PassCx<'_>, _: &mut Editor) -> Result<(), PassError> {
        Err(wrong_level(Self::SPEC))
    }

    /// Runs on a module.
    fn module(_: &Self::Options, _: &PassCx<'_>, _: &mut IRModule) -> Result<(), PassError> {
        Err(wrong_level(Self::SPEC))
    }

    /// Runs on one loop program.
    fn prim_func(_: &Self::Options, _: &PassCx<'_>, _: &mut PrimFunc) -> Result<(), PassError> {
        Err(wrong_level(Self::SPEC))
    }

    /// Names its members.
    fn steps(_: &Self::Options) -> Result<Vec<Step>, PassError> {
        Err(wrong_level(Self::SPEC))
    }

    /// Says whether it can work on a module.
    fn check(_: &Self::Options, _: &PassCx<'_>, _: &IRModule) -> Result<(), PassError> {
        Ok(())
    }
}

#[cold]
fn wrong_level(spec: &PassSpec) -> PassError {
    let message = format!("`{}` is a {} pass and was called as another", spec.name, spec.level.name());
    PassError::with_kind(error_kind::HOST, message)
}

/// A pass with these options; `None` when they do not fit its type.
pub fn create<P: PassImpl>(options: &Value) -> Option<PassObject> {
    let options = <P::Options as crate::options::OptionType>::from_value(options)?;
    Some(PassObject { state: Box::into_raw(Box::new(options)).cast(), vtable: VTableOf::<P>::REF })
}

struct VTableOf<P>(PhantomData<P>);

impl<P: PassImpl> VTableOf<P> {
    const TABLE: &'static WithMetadata<PassVTable> = &WithMetadata::new(PassVTable {
        drop: drop_box::<P::Options>,
        function: run_function::<P>,
        module: run_module::<P>,
        prim_func: run_prim_func::<P>,
        steps: run_steps::<P>,
        check: run_check::<P>,
    });
    const REF: PassVTableRef = PassVTableRef(Self::TABLE.static_as_prefix());
}

/// Drops the state of an object that was made with `Box::<T>::into_raw`.
///
/// # Safety
/// `state` belongs to an object of this kind, and is not used afterwards.
pub(super) unsafe extern "C" fn drop_box<T>(state: *mut ()) -> RResult<(), PassError> {
    caught(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(state.cast::<T>()) });
    })
    .into()
}

/// The options behind a state.
///
/// # Safety
/// `create::<P>` made the state, and it is alive for `'a`.
unsafe fn options<'a, P: PassImpl>(state: *const ()) -> &'a P::Options {
    // SAFETY: the caller's promise.
    unsafe { &*state.cast() }
}

fn run<'a, P: PassImpl, T>(
    call: &CallCx<'a>,
    f: impl FnOnce(&PassCx<'a>) -> Result<Option<T>, PassError>,
) -> Outcome<T> {
    logger::follow(call.log_level);
    let body = || entered(|| f(&PassCx::new(*call, P::SPEC)));
    current::within(call.host.context(), call.data, body).map(ROption::from).into()
}

unsafe extern "C" fn run_function<P: PassImpl>(
    state: *const (),
    call: &CallCx<'_>,
    function: &RArc<Function>,
) -> Outcome<RArc<Function>> {
    // SAFETY: the object that calls this holds the state.
    let options = unsafe { options::<P>(state) };
    run::<P, _>(call, |cx| {
        let mut editor = Editor::new(function.clone());
        P::function(options, cx, &mut editor)?;
        let mut relations = cx.relations();
        check_replacements(&mut editor, &mut relations)?;
        Ok(editor.is_changed().then(|| editor.into_function()))
    })
}

unsafe extern "C" fn run_module<P: PassImpl>(
    state: *const (),
    call: &CallCx<'_>,
    module: &IRModule,
) -> Outcome<IRModule> {
    // SAFETY: the object that calls this holds the state.
    let options = unsafe { options::<P>(state) };
    run::<P, _>(call, |cx| {
        let mut new = module.clone();
        P::module(options, cx, &mut new)?;
        Ok((!is_same_module(module, &new)).then_some(new))
    })
}

unsafe extern "C" fn run_prim_func<P: PassImpl>(
    state: *const (),
    call: &CallCx<'_>,
    prim_func: &RArc<PrimFunc>,
) -> Outcome<RArc<PrimFunc>> {
    // SAFETY: the object that calls this holds the state.
    let options = unsafe { options::<P>(state) };
    run::<P, _>(call, |cx| {
        let mut new = (**prim_func).clone();
        P::prim_func(options, cx, &mut new)?;
        Ok((new != **prim_func).then(|| RArc::new(new)))
    })
}

unsafe extern "C" fn run_steps<P: PassImpl>(state: *const ()) -> RResult<RVec<StepRec>, PassError> {
    // SAFETY: the object that calls this holds the state.
    let options = unsafe { options::<P>(state) };
    entered(|| Ok(P::steps(options)?.into_iter().map(Step::into_rec).collect())).into()
}

unsafe extern "C" fn run_check<P: PassImpl>(
    state: *const (),
    call: &CallCx<'_>,
    module: &IRModule,
) -> RResult<(), PassError> {
    // SAFETY: the object that calls this holds the state.
    let options = unsafe { options::<P>(state) };
    run::<P, ()>(call, |cx| P::check(options, cx, module).map(|()| None)).map(|_| ())
}

/// Whether every function is the same object under the same name, and everything else is equal.
fn is_same_module(old: &IRModule, new: &IRModule) -> bool {
    let same_globals = old.globals().len() == new.globals().len()
        && old.globals().iter().zip(new.globals()).all(|(old, new)| old.name == new.name && old.is_same(new));
    same_globals && old.attrs == new.attrs && old.sources.len() == new.sources.len()
}

// ---- operators ------------------------------------------------------------------------------------------------------

fn matches(domain: RStr<'_>, name: RStr<'_>, since: u32) -> impl Fn(&str, &str, u32) -> bool {
    move |d, n, s| s == since && n == name && is_same_domain(d, domain.as_str())
}

fn find_infer(crate_name: &str, matches: impl Fn(&str, &str, u32) -> bool) -> Option<&'static InferFn> {
    registrations().filter(|entry| entry.crate_name == crate_name).find_map(|entry| match entry.item {
        Item::Operators(operators) => {
            let mut operators = operators.iter().filter(|op| matches(op.domain, op.name, op.since_version));
            operators.find_map(|op| op.infer.as_ref())
        }
        _ => None,
    })
}

fn find_eval(crate_name: &str, matches: impl Fn(&str, &str, u32) -> bool) -> Option<&'static EvalFn> {
    registrations().filter(|entry| entry.crate_name == crate_name).find_map(|entry| match entry.item {
        Item::Operators(operators) => {
            let mut operators = operators.iter().filter(|op| matches(op.domain, op.name, op.since_version));
            operators.find_map(|op| op.eval.as_ref())
        }
        Item::Evaluators(evaluators) => {
            let mut evaluators = evaluators.iter();
            evaluators.find(|eval| matches(eval.domain, eval.name, eval.since_version)).map(|eval| &eval.eval)
        }
        _ => None,
    })
}

pub(super) fn infer_entry(infer: &'static InferFn) -> InferEntry {
    InferEntry { call: call_infer, key: InferKey(std::ptr::from_ref(infer).cast()) }
}

pub(super) fn eval_entry(eval: &'static EvalFn) -> EvalEntry {
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

fn flatten(result: Result<Result<(), OpError>, PassError>) -> RResult<(), OpError> {
    result.unwrap_or_else(|panic| Err(OpError::panicked(&panic))).into()
}

// ---- the plugin -----------------------------------------------------------------------------------------------------

/// A plugin, as the macros write it.
pub trait PluginImpl: 'static {
    /// Its crate's name.
    const CRATE: &'static str;
    /// Its package's name.
    const NAME: &'static str;
}

/// The table of a plugin.
pub fn root<P: PluginImpl>() -> PluginRef {
    RootOf::<P>::REF
}

/// The header that the entry symbol of a library is.
pub const fn lib_header<P: PluginImpl>() -> LibHeader {
    // SAFETY: `erased_root` returns a `PluginRef`.
    unsafe { LibHeader::from_constructor::<PluginRef>(erased_root::<P>, CheckTypeLayout::Yes) }
}

extern "C" fn erased_root<P: PluginImpl>() -> RootModuleResult {
    abi_stable::library::__call_root_module_loader(root::<P>)
}

struct RootOf<P>(PhantomData<P>);

impl<P: PluginImpl> RootOf<P> {
    const TABLE: &'static WithMetadata<Plugin> = &WithMetadata::new(Plugin {
        init: init::<P>,
        create_pass: create_pass::<P>,
        infer: infer::<P>,
        eval: eval::<P>,
        create_instrument: create_instrument::<P>,
    });
    const REF: PluginRef = PluginRef(Self::TABLE.static_as_prefix());
}

extern "C" fn init<P: PluginImpl>(host: HostSetupRef, log_level: u8) -> RResult<(), PassError> {
    entered(|| {
        logger::install(host, P::NAME, log_level);
        Ok(())
    })
    .into()
}

extern "C" fn create_pass<P: PluginImpl>(
    _: HostSetupRef,
    name: RStr<'_>,
    options: RSlice<'_, u8>,
) -> RResult<PassObject, PassError> {
    entered(|| {
        let failed = |message: String| PassError::with_kind(error_kind::HOST, message);
        let options = Value::decode(options.as_slice())
            .map_err(|error| failed(format!("the options of `{name}` do not read: {error}")))?;
        let create = registrations().find_map(|entry| match entry.item {
            Item::Pass(spec, create) if entry.crate_name == P::CRATE && spec.name == name => Some(create),
            _ => None,
        });
        let create = create.ok_or_else(|| failed(format!("`{}` has a record of `{name}` but no pass", P::NAME)))?;
        create(&options).ok_or_else(|| failed(format!("the options of `{name}` are not those of its record")))
    })
    .into()
}

extern "C" fn create_instrument<P: PluginImpl>(
    _: HostSetupRef,
    name: RStr<'_>,
    options: RSlice<'_, u8>,
) -> RResult<InstrumentObject, PassError> {
    entered(|| {
        let failed = |message: String| PassError::with_kind(error_kind::HOST, message);
        let options = Value::decode(options.as_slice())
            .map_err(|error| failed(format!("the options of `{name}` do not read: {error}")))?;
        let create = registrations().find_map(|entry| match entry.item {
            Item::Instrument(spec, create) if entry.crate_name == P::CRATE && spec.name == name => Some(create),
            _ => None,
        });
        let create = create.ok_or_else(|| failed(format!("`{}` has a record of `{name}` but no such", P::NAME)))?;
        create(&options)
            .ok_or_else(|| failed(format!("the options of `{name}` are not those of its record")))
            .and_then(|made| made)
    })
    .into()
}

extern "C" fn infer<P: PluginImpl>(domain: RStr<'_>, name: RStr<'_>, since: u32) -> ROption<InferEntry> {
    let found = caught(|| find_infer(P::CRATE, matches(domain, name, since)));
    found.ok().flatten().map(infer_entry).into()
}

extern "C" fn eval<P: PluginImpl>(domain: RStr<'_>, name: RStr<'_>, since: u32) -> ROption<EvalEntry> {
    let found = caught(|| find_eval(P::CRATE, matches(domain, name, since)));
    found.ok().flatten().map(eval_entry).into()
}
