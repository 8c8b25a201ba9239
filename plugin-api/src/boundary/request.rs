//! The requests that a type relation or an evaluator may make of its caller.

use super::abi::{CallCx, HostApiRef, HostData};
use abi_stable::{StableAbi, std_types::ROption};

/// The host's functions and their data, if there is a host.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct RequestCx<'a> {
    pub(crate) host: ROption<HostApiRef>,
    pub(crate) data: HostData<'a>,
}

impl RequestCx<'static> {
    /// No host: nothing is cancelled or limited.
    pub const NONE: Self = Self { host: ROption::RNone, data: HostData::NOTHING };
}

impl<'a> RequestCx<'a> {
    /// The requests of a pass to its host.
    pub(crate) fn of_pass(call: &CallCx<'a>) -> Self {
        Self { host: ROption::RSome(call.host), data: call.data }
    }

    /// Whether the run should stop.
    pub fn is_cancelled(&self) -> bool {
        self.host.into_option().is_some_and(|host| (host.is_cancelled())(self.data) != 0)
    }
}
