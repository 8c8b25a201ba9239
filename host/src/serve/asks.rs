//! The requests of a call to its host.

use super::{
    context_of,
    logger::{flush, lock, patient},
};
use crate::{
    loaded::Outer,
    pass::PassContext,
    worker::{LOST, Lane, Message, kind, tag},
};
use relais_plugin_api::{boundary::abi::error_kind, diagnostics::PassError, ir::IRModule};
use std::{
    borrow::Cow,
    sync::{Mutex, OnceLock},
    thread::{self, ThreadId},
};

/// For a message that ships nothing.
pub(super) fn nothing(_: &mut Lane) -> Cow<'static, [u8]> {
    Cow::Borrowed(&[])
}

/// The requests of a call to its host.
pub(super) struct Asks<'a> {
    pub lane: &'a Mutex<Lane>,
    /// The thread of the call.
    pub thread: ThreadId,
    /// The module before the pass, once it is here.
    pub module: OnceLock<IRModule>,
}

impl Asks<'_> {
    /// The module that the call was given, which is the one before the pass.
    pub fn given(&self, module: IRModule) -> &IRModule {
        self.module.get_or_init(|| module)
    }

    /// Sends something that has no answer.
    pub fn tell(&self, message: &Message) {
        let mut lane = lock(self.lane);
        flush(&mut lane);
        if lane.send(message, &[], &mut patient).is_err() {
            relais_files::leave(LOST);
        }
    }

    /// Sends something and what it ships, and returns the answer.
    pub fn ask<'s>(
        &self,
        message: &Message,
        ship: impl FnOnce(&mut Lane) -> Cow<'s, [u8]>,
    ) -> Result<Message, PassError> {
        let mut lane = lock(self.lane);
        flush(&mut lane);
        let ship = ship(&mut lane);
        let sent = lane.send(message, &ship, &mut patient);
        // Without its host, it has nothing to do.
        let Ok(answer) = sent.and_then(|()| lane.receive(&mut patient)) else { relais_files::leave(LOST) };
        if answer.has(tag::ERROR) { Err(answer.failure()) } else { Ok(answer) }
    }

    fn shipped(&self, answer: &Message) -> Result<IRModule, PassError> {
        let unreadable = |error| PassError::new(format_args!("what the host sent cannot be read: {error}"));
        lock(self.lane).exchange.module(&answer.ship).map_err(unreadable)
    }
}

impl Outer for Asks<'_> {
    fn module(&self) -> &IRModule {
        self.module.get_or_init(|| {
            let answer = self.ask(&Message::new(kind::ASK_MODULE), nothing);
            answer.and_then(|answer| self.shipped(&answer)).unwrap_or_else(|error| panic!("{error}"))
        })
    }

    fn get_pass(&self, name: &str, options: &[u8]) -> Result<u32, PassError> {
        let message = Message::new(kind::GET_PASS).with(tag::NAME, name.as_bytes()).with(tag::BYTES, options);
        Ok(self.ask(&message, nothing)?.get(tag::NUMBER) as u32)
    }

    fn run_pass(&self, id: u32, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        let message = Message::new(kind::RUN_PASS).number(tag::NUMBER, id.into());
        let answer = self.ask(&message, |lane| Cow::Owned(lane.exchange.ship_module(module)))?;
        if answer.has(tag::UNCHANGED) { Ok(None) } else { self.shipped(&answer).map(Some) }
    }

    fn enter_context(&self, settings: &[u8]) -> Result<PassContext, PassError> {
        if thread::current().id() != self.thread {
            let message = "a pass that is isolated enters contexts on the thread on which it is called";
            return Err(PassError::with_kind(error_kind::HOST, message));
        }
        let answer = self.ask(&Message::new(kind::ENTER).with(tag::BYTES, settings), nothing)?;
        context_of(answer.bytes(tag::CONTEXT))
    }

    fn leave_context(&self) -> Result<(), PassError> {
        self.ask(&Message::new(kind::LEAVE), nothing).map(|_| ())
    }
}
