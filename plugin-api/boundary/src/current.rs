//! The context in which a thread of the host works while it is within the plugin. A work-stealing pool may run one
//! pass's task while another one waits on the same thread, so every entry sets it and restores the previous one.
#![expect(unsafe_code, reason = "the host's data is found without an argument")]

use crate::abi::{CallCx, HostData};
use abi_stable::std_types::RVec;
use std::cell::Cell;

/// A function of the host that returns the context that its data belongs to.
type AskContext = for<'a> extern "C" fn(HostData<'a>) -> RVec<u8>;

thread_local! {
    static CURRENT: Cell<Option<(AskContext, HostData<'static>)>> = const { Cell::new(None) };
}

struct Restore(Option<(AskContext, HostData<'static>)>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Runs `body` in a context.
#[inline]
pub(crate) fn within<T>(ask: AskContext, data: HostData<'_>, body: impl FnOnce() -> T) -> T {
    // SAFETY: the data lives while `body` runs; `Restore` removes it before this function is left on any path, and no
    // other thread can see it.
    let data = unsafe { data.extend() };
    let _restore = Restore(CURRENT.replace(Some((ask, data))));
    body()
}

/// Runs `body` in the context of a pass.
#[inline]
pub(crate) fn within_call<T>(call: CallCx<'_>, body: impl FnOnce() -> T) -> T {
    // SAFETY: the data goes to the function that it came with.
    let (host, data) = unsafe { call.parts() };
    within(host.context(), data, body)
}

/// The context of this thread, encoded; `None` outside everything that the host calls.
pub(crate) fn encoded() -> Option<RVec<u8>> {
    let (ask, data) = CURRENT.get()?;
    Some(ask(data))
}
