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

/// An operator: domain, name, first version; and the target of an addition, or nothing.
pub(super) type Operator = [String; 4];

/// How an operator's function failed, as it crosses.
pub(crate) mod failure {
    /// The call is wrong.
    pub const INVALID: u64 = 0;
    /// The function does not cover the call.
    pub const UNSUPPORTED: u64 = 1;
    /// The plugin is at fault.
    pub const BROKEN: u64 = 2;
}

/// Asks about a call. Entries stay in memory, and so do not keep the process.
fn ask(worker: &Weak<Worker>, part: u8, op: &Operator, call: &Function, cx: RequestCx<'_>) -> Result<Asked, OpError> {
    let gone = || OpError::broken("the process of its plugin has ended");
    let worker = worker.upgrade().ok_or_else(gone)?;
    let mut held = worker.held().map_err(OpError::broken)?;
    let message =
        Message::new(kind::OPERATOR).number(tag::NUMBER, part.into()).with(tag::NAME, op.join("\0").as_bytes());
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
            let read = lane.exchange.function_back(&answer.ship, (call, &sent), |_| {});
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
    op: Operator,
) -> impl Fn(&Function, RequestCx<'_>) -> Result<Function, OpError> + Send + Sync + use<> {
    let worker = Arc::downgrade(worker);
    move |call, cx| {
        let function = ask(&worker, part, &op, call, cx)?.function;
        function.ok_or_else(|| OpError::lied("it gave no function"))
    }
}

fn operator((domain, name, since): (&str, &str, u32), target: &str) -> Operator {
    [domain.to_owned(), name.to_owned(), since.to_string(), target.to_owned()]
}

/// The type relation of an operator.
pub(super) fn infer(worker: &Arc<Worker>, op: (&str, &str, u32)) -> InferEntry {
    foreign_infer(Box::new(answers_by_functions(worker, operator_part::RELATION, operator(op, ""))))
}

/// The evaluator of an operator.
pub(super) fn eval(worker: &Arc<Worker>, op: (&str, &str, u32)) -> EvalEntry {
    foreign_eval(Box::new(answers_by_functions(worker, operator_part::EVALUATOR, operator(op, ""))))
}

/// A function of an operator, or of an addition for a target, that makes a text about a call, or verifies it.
pub(super) fn call_entry(worker: &Arc<Worker>, part: u8, op: (&str, &str, u32), target: Option<&str>) -> CallEntry {
    let (worker, op) = (Arc::downgrade(worker), operator(op, target.unwrap_or_default()));
    let code = move |call: &Function, cx: RequestCx<'_>| Ok(ask(&worker, part, &op, call, cx)?.text);
    foreign_text(part, Box::new(code))
}
