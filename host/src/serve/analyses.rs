//! Analyses, which the host asks for.

use super::{Server, lock, log_filter};
use crate::{
    loaded::compute_analysis,
    pass::RunCx,
    worker::{Lane, Message, kind, tag, with_lists},
};
use abi_stable::std_types::RArc;
use relais_plugin_api::{
    analysis::{SubjectKind, SubjectRec},
    diagnostics::PassError,
};
use std::sync::Mutex;

impl Server {
    /// Computes an analysis of what was shipped. Its lists are the answer.
    pub(super) fn analyse(&self, message: &Message, lane: &Mutex<Lane>) -> Result<Message, PassError> {
        log::set_max_level(log_filter(message.get(tag::LOG_LEVEL)));
        let unreadable = |error| PassError::new(format_args!("what the host sent cannot be read: {error}"));
        let name = message.text(tag::NAME);
        let cx = RunCx::new(&self.registry);
        let object = match SubjectKind(message.get(tag::NUMBER) as u8) {
            SubjectKind::MODULE => {
                let module = lock(lane).exchange.module(&message.ship).map_err(unreadable)?;
                compute_analysis(&self.registry, name, &SubjectRec::module(&module), &cx)?
            }
            _ => {
                let function = RArc::new(lock(lane).exchange.function(&message.ship).map_err(unreadable)?);
                compute_analysis(&self.registry, name, &SubjectRec::function(&function), &cx)?
            }
        };
        Ok(with_lists(Message::new(kind::DONE), object.lists()))
    }
}
