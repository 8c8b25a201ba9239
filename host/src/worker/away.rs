//! A worker as the registry has it: in the place of a library.

use super::{analyses, instruments::AwayInstrument, of_plugin::Worker, operators, passes::AwayPass};
use crate::plugin::Away;
use relais_plugin_api::{
    analysis::{AnalysisObject, SubjectRec},
    boundary::{
        abi::{CallEntry, EvalEntry, InferEntry, PassObject},
        foreign::{foreign_instrument, foreign_pass},
        instrument::InstrumentObject,
    },
    diagnostics::PassError,
};
use std::sync::Arc;

impl Away for Worker {
    fn create_pass(self: Arc<Self>, name: &str, options: &[u8]) -> Result<PassObject, PassError> {
        AwayPass::create(self, name, options).map(foreign_pass)
    }

    fn create_instrument(self: Arc<Self>, name: &str, options: &[u8]) -> Result<InstrumentObject, PassError> {
        AwayInstrument::create(self, name, options).map(foreign_instrument)
    }

    fn analyse(&self, name: &str, of: &SubjectRec<'_>) -> Result<AnalysisObject, PassError> {
        analyses::analyse(self, name, of)
    }

    fn infer(self: Arc<Self>, _: (&str, &str, u32)) -> Option<InferEntry> {
        Some(operators::infer(&self))
    }

    fn eval(self: Arc<Self>, _: (&str, &str, u32)) -> Option<EvalEntry> {
        Some(operators::eval(&self))
    }

    fn call_entry(self: Arc<Self>, part: u8, _: (&str, &str, u32), _: Option<&str>) -> Option<CallEntry> {
        Some(operators::call_entry(&self, part))
    }
}
