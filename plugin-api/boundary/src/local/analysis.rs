//! Analyses without a host library: of what is linked, each computed once for a function or a module.

use super::{LocalCall, call_cx, is_full_or_short, state};
use crate::{
    abi::{
        HostData, PassResult,
        analysis::{AnalysisObject, SubjectRec},
    },
    analysis::BUILT_IN,
    entry::{Item, registrations},
    record::AnalysisSpec,
};
use abi_stable::std_types::{RArc, ROption, RStr};
use relais_ir::{Function, IRModule, diagnostics::PassError, guard::caught};
use std::sync::PoisonError;

/// A result that was computed.
pub struct Known {
    name: &'static str,
    function: Option<RArc<Function>>,
    module: Option<IRModule>,
    object: RArc<AnalysisObject>,
}

impl Known {
    fn is_of(&self, name: &str, of: &SubjectRec<'_>) -> bool {
        let is_same_function = match (&self.function, of.as_function()) {
            (Some(own), Some(of)) => std::ptr::eq(&**own, &**of),
            (own, of) => own.is_none() && of.is_none(),
        };
        let is_same_module = match (&self.module, of.as_module()) {
            (Some(own), Some(of)) => {
                let mut pairs = own.globals().iter().zip(of.globals());
                own.globals().len() == of.globals().len()
                    && pairs.all(|(a, b)| a.name == b.name && a.is_same(b))
                    && own.attrs == of.attrs
            }
            (own, of) => own.is_none() && of.is_none(),
        };
        self.name == name && is_same_function && is_same_module
    }
}

/// Where the subject is, which tells two apart while both are alive.
fn address(of: &SubjectRec<'_>) -> usize {
    let function = of.as_function().map(|function| std::ptr::from_ref::<Function>(function).addr());
    function.or_else(|| of.as_module().map(|module| std::ptr::from_ref(module).addr())).unwrap_or(0)
}

pub(super) extern "C" fn analysis(
    data: HostData<'_>,
    name: RStr<'_>,
    of: &SubjectRec<'_>,
    only_known: u8,
) -> PassResult<RArc<AnalysisObject>> {
    let found = caught(|| find(state(data), &name, of, only_known != 0));
    found.and_then(|found| found).map(ROption::from).into()
}

fn find(
    call: &LocalCall<'_>,
    name: &str,
    of: &SubjectRec<'_>,
    only_known: bool,
) -> Result<Option<RArc<AnalysisObject>>, PassError> {
    let built_in = BUILT_IN.iter().find(|built_in| is_full_or_short(built_in.spec.name, name));
    let linked = registrations().find_map(|entry| match entry.item {
        Item::Analysis(spec, compute) if is_full_or_short(spec.name, name) => Some((spec, compute)),
        _ => None,
    });
    let spec = built_in.map(|built_in| built_in.spec).or(linked.map(|(spec, _)| spec));
    let Some(&AnalysisSpec { name, subject, .. }) = spec else {
        return Err(PassError::new(format_args!("no analysis `{name}` is linked")));
    };
    if subject != of.kind() {
        return Err(PassError::new(format_args!("`{name}` is an analysis of a {}", subject.name())));
    }
    let known = || call.local.known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known().iter().find(|known| known.is_of(name, of)) {
        return Ok(Some(known.object.clone()));
    }
    if only_known {
        return Ok(None);
    }
    let mut around = call.asking;
    while let Some((outer, asked, at)) = around {
        if asked == name && at == address(of) {
            return Err(PassError::new(format_args!("analysis `{name}` depends on itself")));
        }
        around = outer.asking;
    }
    let object = match (built_in, linked) {
        (Some(built_in), _) => (built_in.compute)(of),
        (None, Some((_, compute))) => {
            let state = LocalCall { asking: Some((call, name, address(of))), ..*call };
            Some(compute(call_cx(&state), of)?)
        }
        (None, None) => None,
    };
    let Some(object) = object else {
        return Err(PassError::new(format_args!("`{name}` is an analysis of another unit")));
    };
    let object = RArc::new(object);
    let (function, module) = (of.as_function().cloned(), of.as_module().cloned());
    known().push(Known { name, function, module, object: object.clone() });
    Ok(Some(object))
}
