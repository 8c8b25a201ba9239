//! Instruments that are linked into this program, without a host.

use super::*;
use crate::{
    abi::instrument::{HookApi, HookApiRef, HookCall, InstrumentObject},
    record::InstrumentSpec,
};

/// A linked instrument that was made, its options set.
pub struct LocalInstrument {
    object: InstrumentObject,
    local: Local,
}

/// Makes a linked instrument, by full name or the part of it after its last dot, in a context with these options.
///
/// # Errors
/// Returns an error if nothing of that name is linked, the options are not its own, or it cannot be made.
pub fn instrument(name: &str, options: &Value, config: &[(String, Value)]) -> Result<LocalInstrument, PassError> {
    let (_, create) = find(name).ok_or_else(|| PassError::new(format_args!("no instrument `{name}` is linked")))?;
    let other_options = || PassError::new(format_args!("`{name}` has other options"));
    let object = entered(|| create(options).ok_or_else(other_options)?)?;
    let local = Local { config: with_defaults(config), ..Local::new(IRModule::new()) };
    Ok(LocalInstrument { object, local })
}

/// Returns the record of a linked instrument.
pub fn instrument_info(name: &str) -> Option<&'static InstrumentSpec> {
    find(name).map(|(spec, _)| spec)
}

impl LocalInstrument {
    /// Calls hooks, in its context.
    pub fn hook<R>(&self, body: impl FnOnce(&InstrumentObject, &HookCall<'_>) -> R) -> R {
        let state = LocalCall { local: &self.local, module: &self.local.module, depth: 0, asking: None };
        // SAFETY: `HOOKS` takes the data for this type.
        let call = unsafe { HookCall::new(HOOKS, HostData::new(&state), log::max_level() as u8) };
        body(&self.object, &call)
    }
}

const HOOKS: HookApiRef = HookApiRef(HOOK_TABLE.static_as_prefix());
const HOOK_TABLE: &WithMetadata<HookApi> = &WithMetadata::new(HookApi { context });

type Create = fn(&Value) -> Option<Result<InstrumentObject, PassError>>;

fn find(name: &str) -> Option<(&'static InstrumentSpec, Create)> {
    registrations().find_map(|entry| match entry.item {
        Item::Instrument(spec, create) if spec.name == name || spec.name.rsplit('.').next() == Some(name) => {
            Some((spec, create))
        }
        _ => None,
    })
}
