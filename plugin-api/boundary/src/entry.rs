//! The expansion of the macros: a plugin's constructors, collected inside it, and the functions that its entry points
//! at. Not intended for authors.
#![expect(unsafe_code, reason = "values that cross the boundary as pointers")]

pub(crate) mod instrument;
mod pass;

pub use instrument::{InstrumentImpl, create as create_instrument};
pub use pass::{Begun, PassImpl, create};

use crate::{
    abi::{
        analysis::{AnalysisObject, SubjectRec},
        instrument::InstrumentObject,
        *,
    },
    current, logger,
    options::{ConfigSpec, Value},
    record::{AnalysisSpec, InstrumentSpec, PassSpec},
};
use abi_stable::{
    library::{CheckTypeLayout, LibHeader, RootModuleResult},
    prefix_type::WithMetadata,
    std_types::{ROption, RResult, RSlice, RStr},
};
use relais_ir::{
    diagnostics::PassError,
    guard::{caught, entered},
    is_same_domain,
};
use relais_ops::{
    op::{Addition, EvalFn, Evaluator, Operator},
    parts::{call_entry, eval_entry, infer_entry},
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
    Pass(&'static PassSpec, fn(&Value) -> Option<Result<PassObject, PassError>>),
    /// Operators.
    Operators(&'static [Operator]),
    /// Additions to operators that other crates describe.
    Additions(&'static [Addition]),
    /// Evaluators.
    Evaluators(&'static [Evaluator]),
    /// An instrument: its record and constructor.
    Instrument(&'static InstrumentSpec, fn(&Value) -> Option<Result<InstrumentObject, PassError>>),
    /// An option of the context.
    Option(&'static ConfigSpec),
    /// A pipeline.
    Pipeline,
    /// An analysis: its record, and the function that computes it.
    Analysis(&'static AnalysisSpec, ComputeAnalysis),
}

/// Computes an analysis.
pub type ComputeAnalysis = fn(CallCx<'_>, &SubjectRec<'_>) -> Result<AnalysisObject, PassError>;

inventory::collect!(Registration);

/// Returns the registrations of the crates that are linked into this library or program.
pub fn registrations() -> impl Iterator<Item = &'static Registration> {
    inventory::iter::<Registration>()
}

// ---- operators ------------------------------------------------------------------------------------------------------

fn matches(domain: RStr<'_>, name: RStr<'_>, since: u32) -> impl Fn(&str, &str, u32) -> bool {
    move |d, n, s| s == since && n == name && is_same_domain(d, domain.as_str())
}

/// Returns a part of an operator of a crate.
fn find_part<T: 'static>(
    crate_name: &str,
    matches: impl Fn(&str, &str, u32) -> bool,
    part: impl Fn(&'static Operator) -> Option<T>,
) -> Option<T> {
    registrations().filter(|entry| entry.crate_name == crate_name).find_map(|entry| match entry.item {
        Item::Operators(operators) => {
            let mut operators = operators.iter().filter(|op| matches(op.domain, op.name, op.since_version));
            operators.find_map(&part)
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
        Item::Additions(additions) => {
            let mut ops = additions.iter().map(|addition| &addition.op);
            ops.find_map(|op| op.eval.as_ref().filter(|_| matches(op.domain, op.name, op.since_version)))
        }
        _ => None,
    })
}

/// Drops the state of an object that was made with `Box::<T>::into_raw`.
///
/// # Safety
/// `state` belongs to an object of this kind, and is not used afterwards.
pub(crate) unsafe extern "C" fn drop_box<T>(state: *mut ()) -> RResult<(), PassError> {
    caught(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(state.cast::<T>()) });
    })
    .into()
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
        create_pass: make_pass::<P>,
        infer: infer::<P>,
        eval: eval::<P>,
        create_instrument: make_instrument::<P>,
        call: call::<P>,
        added: added::<P>,
        analyse: analyse::<P>,
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

extern "C" fn make_pass<P: PluginImpl>(
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
        create(&options)
            .ok_or_else(|| failed(format!("the options of `{name}` are not those of its record")))
            .and_then(|made| made)
    })
    .into()
}

extern "C" fn make_instrument<P: PluginImpl>(
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

extern "C" fn analyse<P: PluginImpl>(
    call: &CallCx<'_>,
    name: RStr<'_>,
    of: &SubjectRec<'_>,
) -> RResult<AnalysisObject, PassError> {
    logger::follow(call.log_level());
    let compute = || {
        let compute = registrations().find_map(|entry| match entry.item {
            Item::Analysis(spec, compute) if entry.crate_name == P::CRATE && spec.name == name => Some(compute),
            _ => None,
        });
        let failed = || format!("`{}` has a record of `{name}` but no such analysis", P::NAME);
        compute.ok_or_else(|| PassError::with_kind(error_kind::HOST, failed()))?(*call, of)
    };
    current::within_call(*call, || entered(compute)).into()
}

extern "C" fn infer<P: PluginImpl>(domain: RStr<'_>, name: RStr<'_>, since: u32) -> ROption<InferEntry> {
    let found = caught(|| find_part(P::CRATE, matches(domain, name, since), |op| op.infer.as_ref()));
    found.ok().flatten().map(infer_entry).into()
}

extern "C" fn call<P: PluginImpl>(part: u8, domain: RStr<'_>, name: RStr<'_>, since: u32) -> ROption<CallEntry> {
    caught(|| find_part(P::CRATE, matches(domain, name, since), |op| call_entry(op, part))).ok().flatten().into()
}

extern "C" fn added<P: PluginImpl>(
    part: u8,
    domain: RStr<'_>,
    name: RStr<'_>,
    since: u32,
    target: RStr<'_>,
) -> ROption<CallEntry> {
    let is_match = matches(domain, name, since);
    let found = caught(|| {
        let mut of_crate = registrations().filter(|entry| entry.crate_name == P::CRATE);
        of_crate.find_map(|entry| {
            let Item::Additions(additions) = entry.item else { return None };
            let mut fitting = additions.iter().filter(|it| it.target == target.as_str());
            fitting.find_map(|Addition { op, .. }| {
                call_entry(op, part).filter(|_| is_match(op.domain, op.name, op.since_version))
            })
        })
    });
    found.ok().flatten().into()
}

extern "C" fn eval<P: PluginImpl>(domain: RStr<'_>, name: RStr<'_>, since: u32) -> ROption<EvalEntry> {
    let found = caught(|| find_eval(P::CRATE, matches(domain, name, since)));
    found.ok().flatten().map(eval_entry).into()
}
