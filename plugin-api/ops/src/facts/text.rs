//! The texts that operators make about calls, as they are.

use super::{OpFactsTable, OpSource};
use crate::{
    abi::operator_part,
    error::OpError,
    request::{CallParts, CallRequest},
};
use relais_ir::*;

impl<'a, S: OpSource<'a>> OpFactsTable<'a, S> {
    /// Returns the text that a part of an operator (one of [`operator_part`]) makes about a call, unread; that of a verifier
    /// is empty. `None` if the operator does not have the part.
    ///
    /// # Errors
    /// Returns an error if there is none for this call, or the operator's plugin is at fault.
    pub fn text(&mut self, part: u8, function: &Function, call: NodeId) -> Option<Result<String, OpError>> {
        let op = function.call(call).and_then(CallView::op)?;
        self.extend(function);
        let facts = self.find(op)?;
        let entry = match part {
            operator_part::BODY => &facts.body_of,
            operator_part::GRADIENT => &facts.gradient_of,
            operator_part::COMPUTE => &facts.compute,
            operator_part::VERIFIER => &facts.verifier,
            _ => return None,
        };
        let entry = entry.get(|id| self.source.call_entry(part, id))?;
        Some(entry.and_then(|entry| {
            let parts = CallParts::new(function, call);
            let has_results = matches!(part, operator_part::GRADIENT | operator_part::COMPUTE);
            let parts = if has_results { parts.with_results() } else { parts };
            let n_results = function.n_results(call).unwrap_or(1);
            let mut request = CallRequest::new(parts.value(op, facts.version), n_results);
            entry.call(self.source.request(), &mut request).into_result()?;
            Ok(request.text.into_string())
        }))
    }
}
