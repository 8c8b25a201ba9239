//! The instruments of a run, asked in order.

use super::{AnalysisUse, Deadline, Hook, HookFault, PassContext, PassInfo, PassInstrument, PassMessage, SkipReason};
use relais_plugin_api::{boundary::guard::caught, diagnostics::PassError, ir::IRModule};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

type List = Vec<Arc<dyn PassInstrument>>;

/// The instruments that watch a run: those that its contexts have at the moment. A panic of one is its fault.
#[derive(Default)]
pub(crate) struct Watch {
    /// The contexts whose instruments watch.
    contexts: Vec<Arc<PassContext>>,
    /// Those around them. Their limits of the run watch, too; the deadlines of their other instruments apply, and a result
    /// that these do not accept is a failure (rule R9).
    around: Vec<Arc<PassContext>>,
    /// For each pass under way, the instruments that were told of its beginning: only they are told how it ends (rule
    /// R17).
    begun: Mutex<Vec<List>>,
    /// For each pass that instruments were asked about and that has not begun, those that were asked: only they are told
    /// of its beginning.
    asked: Mutex<Vec<(String, List)>>,
    /// The first fault of a hook that has no way to fail.
    fault: Mutex<Option<HookFault>>,
}

impl Watch {
    /// The instruments of a context.
    pub fn of(context: Arc<PassContext>) -> Self {
        Self { contexts: vec![context], ..Self::default() }
    }

    /// The same, and those of another context.
    pub fn and(mut self, context: Arc<PassContext>) -> Self {
        self.contexts.push(context);
        self
    }

    /// The same within what another one watches.
    pub fn limited_by(mut self, outer: &Self) -> Self {
        self.around.extend(outer.around.iter().chain(&outer.contexts).cloned());
        self
    }

    /// The same for a run within this one.
    pub fn again(&self) -> Self {
        Self { contexts: self.contexts.clone(), around: self.around.clone(), ..Self::default() }
    }

    /// The instruments that limit passes: those that watch, and those around them.
    fn limiting(&self) -> impl Iterator<Item = Arc<dyn PassInstrument>> {
        let around = self.around.iter().flat_map(|context| context.instruments()).filter(|it| !it.is_limit());
        self.list().into_iter().chain(around.collect::<List>())
    }

    /// Whether that context's instruments watch.
    pub fn is_of(&self, context: &PassContext) -> bool {
        self.contexts.iter().any(|own| own.shares_instruments(context))
    }

    /// The contexts whose instruments watch.
    pub fn contexts(&self) -> &[Arc<PassContext>] {
        &self.contexts
    }

    fn list(&self) -> List {
        match (&self.around[..], &self.contexts[..]) {
            ([], []) => Vec::new(),
            ([], [one]) => one.instruments(),
            (around, contexts) => {
                let limits = around.iter().flat_map(|context| context.instruments()).filter(|it| it.is_limit());
                limits.chain(contexts.iter().flat_map(|context| context.instruments())).collect()
            }
        }
    }

    /// The first fault of a hook that has no way to fail.
    pub fn take_fault(&self) -> Option<HookFault> {
        lock(&self.fault).take()
    }

    /// Whether an instrument watches now. Another one's hook may have replaced it.
    fn has(&self, instrument: &Arc<dyn PassInstrument>) -> bool {
        self.contexts.iter().chain(&self.around).any(|context| context.has(instrument))
    }

    /// The instruments that were asked about a pass; none if there was no question.
    fn take_asked(&self, pass: &PassInfo<'_>) -> Option<List> {
        let mut asked = lock(&self.asked);
        let at = asked.iter().rposition(|(name, _)| name == pass.name)?;
        Some(asked.remove(at).1)
    }

    /// Calls a hook that returns nothing for every instrument of a list that watches.
    fn tell(&self, list: &[Arc<dyn PassInstrument>], hook: Hook, tell: impl Fn(&dyn PassInstrument)) {
        for instrument in list.iter().filter(|instrument| self.has(instrument)) {
            if let Err(error) = caught(|| tell(&**instrument)) {
                lock(&self.fault).get_or_insert_with(|| fault(instrument, hook, error));
            }
        }
    }

    /// Asks every one; one no is enough.
    pub fn should_run(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<bool, HookFault> {
        let (mut all, mut asked) = (true, Vec::new());
        for instrument in self.list() {
            if self.has(&instrument) {
                let answer = caught(|| instrument.should_run(module, pass)).and_then(|answer| answer);
                all &= answer.map_err(|error| fault(&instrument, Hook::ShouldRun, error))?;
                asked.push(instrument);
            }
        }
        if all {
            lock(&self.asked).push((pass.name.to_owned(), asked));
        }
        Ok(all)
    }

    /// Instruments whose `before` was called receive `failed` when a later one fails.
    pub fn before(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), HookFault> {
        let mut told = List::new();
        for instrument in self.take_asked(pass).unwrap_or_else(|| self.list()) {
            if !self.has(&instrument) {
                continue;
            }
            if let Err(error) = caught(|| instrument.before(module, pass)).and_then(|done| done) {
                self.tell(&told, Hook::Failed, |instrument| instrument.failed(pass, &error));
                return Err(fault(&instrument, Hook::Before, error));
            }
            told.push(instrument);
        }
        lock(&self.begun).push(told);
        Ok(())
    }

    /// The instruments that were told of the pass's beginning; the pass ends.
    fn ended(&self) -> List {
        lock(&self.begun).pop().unwrap_or_default()
    }

    /// Instruments whose `after` did not run receive `failed` when one fails.
    pub fn after(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), HookFault> {
        let list = self.ended();
        for (i, instrument) in list.iter().enumerate() {
            if !self.has(instrument) {
                continue;
            }
            if let Err(error) = caught(|| instrument.after(module, pass)).and_then(|done| done) {
                self.tell(&list[i..], Hook::Failed, |instrument| instrument.failed(pass, &error));
                return Err(fault(instrument, Hook::After, error));
            }
        }
        Ok(())
    }

    pub fn skipped(&self, module: &IRModule, pass: &PassInfo<'_>, reason: &SkipReason) {
        drop(self.take_asked(pass));
        self.tell(&self.list(), Hook::Skipped, |instrument| instrument.skipped(module, pass, reason));
    }

    pub fn failed(&self, pass: &PassInfo<'_>, error: &PassError) {
        self.tell(&self.ended(), Hook::Failed, |instrument| instrument.failed(pass, error));
    }

    pub fn counted(&self, pass: &PassInfo<'_>, statistic: &str, n: u64) {
        self.tell(&self.list(), Hook::Counted, |instrument| instrument.counted(pass, statistic, n));
    }

    pub fn said(&self, pass: &PassInfo<'_>, said: &PassMessage) {
        self.tell(&self.list(), Hook::Said, |instrument| instrument.said(pass, said));
    }

    pub fn took(&self, pass: &PassInfo<'_>, duration: Duration) {
        self.tell(&self.list(), Hook::Took, |instrument| instrument.took(pass, duration));
    }

    pub fn types_took(&self, duration: Duration) {
        self.tell(&self.list(), Hook::Took, |instrument| instrument.types_took(duration));
    }

    pub fn analysed(&self, pass: &PassInfo<'_>, name: &str, used: &AnalysisUse) {
        self.tell(&self.list(), Hook::Took, |instrument| instrument.analysed(pass, name, used));
    }

    pub fn wants_remarks(&self) -> bool {
        self.list().iter().any(|instrument| caught(|| instrument.wants_remarks()).unwrap_or(false))
    }

    /// The first one.
    pub fn deadline(&self, pass: &PassInfo<'_>) -> Option<Deadline> {
        self.limiting().filter_map(|instrument| caught(|| instrument.deadline(pass)).ok().flatten()).min()
    }

    pub fn accept(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.limiting().try_for_each(|instrument| caught(|| instrument.accept(module, pass)).and_then(|answer| answer))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fault(instrument: &Arc<dyn PassInstrument>, hook: Hook, error: PassError) -> HookFault {
    HookFault::new(&**instrument, hook, error)
}
