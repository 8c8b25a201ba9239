//! Operators whose plugin is in another process.

use super::{
    lane::LaneError,
    message::{Message, kind, tag},
    of_plugin::Worker,
    passes::exchange_within,
};
use relais_plugin_api::{
    boundary::{
        abi::{CallEntry, EvalEntry, InferEntry, RequestCx, operator_part},
        foreign::{foreign_eval, foreign_infer, foreign_text},
    },
    ir::Function,
    op::OpError,
};
use std::sync::{Arc, Weak};

/// How an operator's function failed, as it crosses.
pub(crate) mod failure {
    /// The call is wrong.
    pub const INVALID: u64 = 0;
    /// The function does not cover the call.
    pub const UNSUPPORTED: u64 = 1;
    /// The plugin is at fault.
    pub const BROKEN: u64 = 2;
}

/// Asks about a call, which names its operator: the process knows the same plugins, and the same choices among them. Entries
/// stay in memory, and so do not keep the process.
fn ask(worker: &Weak<Worker>, part: u8, call: &Function, cx: RequestCx<'_>) -> Result<Asked, OpError> {
    let gone = || OpError::broken("the process of its plugin has ended");
    let worker = worker.upgrade().ok_or_else(gone)?;
    let mut held = worker.held().map_err(OpError::broken)?;
    let message = Message::new(kind::OPERATOR).number(tag::NUMBER, part.into());
    let process = held.process.clone();
    let answer = held.lane().and_then(|lane| {
        let sent = lane.exchange.ship_function(call);
        let is_cancelled = || cx.is_cancelled();
        let answer = exchange_within(lane, &process, &message, &sent, worker.seconds(), &is_cancelled)?;
        Ok((answer, sent))
    });
    let (answer, sent) = answer.map_err(|error| OpError::broken(process.end(&error).error("")))?;
    if answer.kind == kind::FAILED {
        held.put_back();
        let why = answer.text(tag::TEXT);
        return Err(match answer.get(tag::NUMBER) {
            failure::INVALID => OpError::invalid(why),
            failure::UNSUPPORTED => OpError::unsupported(why),
            _ => OpError::broken(why),
        });
    }
    let text = answer.text(tag::TEXT).to_owned();
    let function = match answer.ship.is_empty() {
        true => None,
        false => {
            let lane = held.lane().map_err(OpError::broken)?;
            let read = lane.exchange.answer(&answer.ship, (call, &sent));
            Some(read.map_err(|error| {
                process.end(&LaneError::Broken(error.to_string()));
                OpError::lied(format_args!("its answer cannot be read: {error}"))
            })?)
        }
    };
    held.put_back();
    Ok(Asked { text, function })
}

struct Asked {
    text: String,
    function: Option<Function>,
}

fn answers_by_functions(
    worker: &Arc<Worker>,
    part: u8,
) -> impl Fn(&Function, RequestCx<'_>) -> Result<Function, OpError> + Send + Sync + use<> {
    let worker = Arc::downgrade(worker);
    move |call, cx| ask(&worker, part, call, cx)?.function.ok_or_else(|| OpError::lied("it gave no function"))
}

/// The type relation of an operator.
pub(super) fn infer(worker: &Arc<Worker>) -> InferEntry {
    foreign_infer(Box::new(answers_by_functions(worker, operator_part::RELATION)))
}

/// The evaluator of an operator.
pub(super) fn eval(worker: &Arc<Worker>) -> EvalEntry {
    foreign_eval(Box::new(answers_by_functions(worker, operator_part::EVALUATOR)))
}

/// A function of an operator, or of an addition, that makes a text about a call, or verifies it.
pub(super) fn call_entry(worker: &Arc<Worker>, part: u8) -> CallEntry {
    let worker = Arc::downgrade(worker);
    let code = move |call: &Function, cx: RequestCx<'_>| Ok(ask(&worker, part, call, cx)?.text);
    foreign_text(part, Box::new(code))
}
