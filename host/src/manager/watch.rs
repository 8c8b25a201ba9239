//! The instruments of a run, asked in order.

use super::{
    instrument::{Deadline, Hook, HookFault, Instrument, PassInfo, SkipReason},
    report::Said,
};
use relais_plugin_api::{diagnostics::PassError, ir::IRModule};
use std::{sync::Arc, time::Duration};

/// The instruments of the run's context.
pub(super) struct Watch {
    list: Vec<Arc<dyn Instrument>>,
}

impl Watch {
    pub fn new(list: Vec<Arc<dyn Instrument>>) -> Self {
        Self { list }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn list(&self) -> &[Arc<dyn Instrument>] {
        &self.list
    }

    /// Asks every one; one no is enough.
    pub fn should_run(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<bool, HookFault> {
        let mut all = true;
        for instrument in &self.list {
            all &= instrument.should_run(module, pass).map_err(|error| fault(instrument, Hook::ShouldRun, error))?;
        }
        Ok(all)
    }

    /// Those that had `before` hear `failed` when a later one fails.
    pub fn before(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), HookFault> {
        for (i, instrument) in self.list.iter().enumerate() {
            if let Err(error) = instrument.before(module, pass) {
                self.list[..i].iter().for_each(|instrument| instrument.failed(pass, &error));
                return Err(fault(instrument, Hook::Before, error));
            }
        }
        Ok(())
    }

    /// Those whose `after` did not run hear `failed` when one fails.
    pub fn after(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), HookFault> {
        for (i, instrument) in self.list.iter().enumerate() {
            if let Err(error) = instrument.after(module, pass) {
                self.list[i..].iter().for_each(|instrument| instrument.failed(pass, &error));
                return Err(fault(instrument, Hook::After, error));
            }
        }
        Ok(())
    }

    pub fn skipped(&self, module: &IRModule, pass: &PassInfo<'_>, reason: &SkipReason) {
        self.list.iter().for_each(|instrument| instrument.skipped(module, pass, reason));
    }

    pub fn failed(&self, pass: &PassInfo<'_>, error: &PassError) {
        self.list.iter().for_each(|instrument| instrument.failed(pass, error));
    }

    pub fn counted(&self, pass: &PassInfo<'_>, statistic: &str, n: u64) {
        self.list.iter().for_each(|instrument| instrument.counted(pass, statistic, n));
    }

    pub fn said(&self, pass: &PassInfo<'_>, said: &Said) {
        self.list.iter().for_each(|instrument| instrument.said(pass, said));
    }

    pub fn wants_remarks(&self) -> bool {
        self.list.iter().any(|instrument| instrument.wants_remarks())
    }

    /// The first one.
    pub fn deadline(&self, pass: &PassInfo<'_>) -> Option<Deadline> {
        self.list.iter().filter_map(|instrument| instrument.deadline(pass)).min()
    }

    pub fn accept(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.list.iter().try_for_each(|instrument| instrument.accept(module, pass))
    }

    pub fn took(&self, pass: &PassInfo<'_>, duration: Duration) {
        self.list.iter().for_each(|instrument| instrument.took(pass, duration));
    }

    pub fn types_took(&self, duration: Duration) {
        self.list.iter().for_each(|instrument| instrument.types_took(duration));
    }
}

fn fault(instrument: &Arc<dyn Instrument>, hook: Hook, error: PassError) -> HookFault {
    HookFault::new(&**instrument, hook, error)
}
