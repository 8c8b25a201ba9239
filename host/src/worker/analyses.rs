//! Analyses whose plugin is in another process. Their lists of numbers cross, their values do not.

use super::{
    message::{Message, kind, lists_of, tag},
    of_plugin::Worker,
    passes::{exchange_within, lied},
};
use relais_plugin_api::{
    analysis::{AnalysisObject, SubjectRec},
    diagnostics::PassError,
};

/// Has the process compute an analysis.
pub(super) fn analyse(worker: &Worker, name: &str, of: &SubjectRec<'_>) -> Result<AnalysisObject, PassError> {
    let mut held = worker.held()?;
    let process = held.process.clone();
    let message = Message::new(kind::ANALYSE)
        .with(tag::NAME, name.as_bytes())
        .number(tag::NUMBER, of.kind().0.into())
        .number(tag::LOG_LEVEL, log::max_level() as u64);
    let seconds = worker.seconds().or(Some(60));
    let answer = held.lane().and_then(|lane| {
        let ship = match (of.as_function(), of.as_module()) {
            (Some(function), _) => lane.exchange.ship_function(function),
            (None, Some(module)) => lane.exchange.ship_module(module),
            (None, None) => Vec::new(),
        };
        exchange_within(lane, &process, &message, &ship, seconds, &|| false)
    });
    let answer = answer.map_err(|error| process.end(&error).error(""))?;
    held.put_back();
    if answer.kind != kind::DONE {
        return Err(answer.failure());
    }
    Ok(AnalysisObject::new((), lists_of(&answer).map_err(lied)?))
}
