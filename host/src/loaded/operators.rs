//! The facts about operators that a registry has, as passes, the manager and others look them up.

use crate::registry::Registry;
use relais_plugin_api::{
    boundary::abi::{CallEntry, EvalEntry, InferEntry, ResolvedOp},
    diagnostics::PassError,
    facts::OpSource,
};

impl<'a> OpSource<'a> for &'a Registry {
    fn resolve(self, domain: &str, name: &str, version: u32) -> ResolvedOp<'a> {
        let op = self.operator(domain, name, version);
        // An operator that several plugins describe exists, although it is not known which description holds.
        let is_disputed = || op.is_none() && self.is_disputed(domain, name, version);
        ResolvedOp {
            is_known: op.is_some().into(),
            is_closed: (self.is_closed(domain, version) && !is_disputed()).into(),
            facts: op.map_or(&[][..], |(_, record)| record.fields()).into(),
            infer: op.filter(|(_, record)| record.has_infer).map(|(id, _)| id).into(),
            eval: self.evaluator(domain, name, version).into(),
            compute: op.filter(|(_, record)| record.has_kernel).map(|(id, _)| id).into(),
            gradient: op.filter(|(_, record)| record.has_gradient).map(|(id, _)| id).into(),
            body: op.filter(|(_, record)| record.has_body_of).map(|(id, _)| id).into(),
            more: op.map_or(&[][..], |(id, _)| self.further_properties(id)).into(),
            ..ResolvedOp::UNKNOWN
        }
    }

    fn infer_entry(self, id: u32) -> Result<InferEntry, PassError> {
        Registry::infer_entry(self, id)
    }

    fn eval_entry(self, id: u32) -> Result<EvalEntry, PassError> {
        Registry::eval_entry(self, id)
    }

    fn call_entry(self, part: u8, id: u32) -> Result<CallEntry, PassError> {
        Registry::call_entry(self, part, id)
    }

    fn fault(self, part: u8, id: u32, message: &str) -> PassError {
        self.operator_fault(part, id, message)
    }

    fn plugin_of(self, part: u8, id: u32) -> Option<String> {
        self.operator_plugin(part, id)
    }
}
