//! The work that folding may take to compute values.

use crate::bytes::stored_bytes;
use relais_plugin_api::{ir::Fuel, op::Macs, prelude::*};

/// The steps that folding any function may take.
const LEAST_STEPS: u64 = 1 << 32;

/// The work that folds may still take: multiplications with an addition, and bytes that are read.
pub(crate) struct Work<'w> {
    fuel: Fuel,
    /// The formula of the multiplications of a call, by its operator.
    macs: &'w dyn Fn(CallView<'_>) -> Option<String>,
}

impl<'w> Work<'w> {
    /// The work for a function: a number of steps for each byte of its constants.
    pub(crate) fn new(f: &Function, per_byte: i64, macs: &'w dyn Fn(CallView<'_>) -> Option<String>) -> Self {
        let bytes = f.all_bindings().filter_map(|id| f.constant(id)).map(stored_bytes).fold(0, u64::saturating_add);
        let all = bytes.saturating_mul(u64::try_from(per_byte).unwrap_or(0)).max(LEAST_STEPS);
        Self { fuel: Fuel::new(all), macs }
    }

    /// Takes what a call takes to be computed from these arguments; the error is why it is not computed.
    pub(crate) fn take(&mut self, call: CallView<'_>, inputs: &[Option<Tensor>]) -> Result<(), String> {
        let macs = (self.macs)(call).and_then(|formula| Macs::of_call(&formula, call.owner(), call)?.known());
        let macs = u64::try_from(macs.unwrap_or(0)).unwrap_or(u64::MAX);
        let read: u64 = inputs.iter().flatten().map(stored_bytes).fold(0, u64::saturating_add);
        match self.fuel.take(macs.saturating_add(read)) {
            true => Ok(()),
            false => Err(format!("all folds together would take more than {} steps (`max_work`)", self.fuel.all())),
        }
    }
}
