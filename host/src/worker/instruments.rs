//! Instruments whose plugin is in another process, for the host as those of every other plugin.

use super::{
    message::{Message, diagnostic_bytes, error_bytes, hook, kind, tag},
    of_plugin::Worker,
    passes::{exchange_alone, exchange_within},
};
use relais_plugin_api::{
    context::PassContext,
    diagnostics::{Diagnostic, PassError},
    instrument::{Findings, Instrument, InstrumentCx, PassInfo, Said, Skipped, TimeLimit},
    ir::IRModule,
    options::Value,
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// An instrument of a plugin in another process. It has a state, so that it ends with that process.
pub(super) struct AwayInstrument {
    worker: Arc<Worker>,
    name: String,
    generation: u64,
    number: u64,
    wants_remarks: bool,
    /// The first failure of a hook that has no way to fail; it is that of the end.
    fault: Mutex<Option<PassError>>,
}

impl Drop for AwayInstrument {
    fn drop(&mut self) {
        let Ok(mut held) = self.worker.held_of(self.generation) else { return };
        let gone = Message::new(kind::DROP).number(tag::INSTRUMENT, self.number);
        match exchange_alone(&mut held, gone, self.worker.seconds()) {
            Ok(answer) => {
                held.put_back();
                if answer.kind == kind::FAILED {
                    self.worker.fault(answer.failure().rec().message.to_string());
                }
            }
            Err(error) => {
                let end = held.process.end(&error);
                self.worker.fault(format!("instrument `{}`, when it was dropped: {}", self.name, end.how));
            }
        }
    }
}

impl AwayInstrument {
    /// Makes an instrument.
    pub fn create(worker: Arc<Worker>, name: &str, options: &[u8]) -> Result<Self, PassError> {
        let mut held = worker.held()?;
        let message = Message::new(kind::INSTRUMENT).with(tag::NAME, name.as_bytes()).with(tag::BYTES, options);
        let answer = exchange_alone(&mut held, message, worker.seconds());
        let answer = answer.map_err(|error| held.process.end(&error).error(""))?;
        let generation = held.process.generation;
        held.put_back();
        if answer.kind != kind::DONE {
            return Err(answer.failure());
        }
        let (number, wants_remarks) = (answer.get(tag::NUMBER), answer.get(tag::REMARKS) != 0);
        Ok(Self { worker, name: name.to_owned(), generation, number, wants_remarks, fault: Mutex::default() })
    }

    /// Calls a hook with the module and the pass that it is about.
    fn hook(
        &self,
        hook: u64,
        cx: &InstrumentCx<'_>,
        module: Option<&IRModule>,
        pass: Option<&PassInfo<'_>>,
        more: impl FnOnce(Message) -> Message,
    ) -> Result<Message, PassError> {
        let mut held = self.worker.held_of(self.generation)?;
        let mut message = Message::new(kind::HOOK)
            .number(tag::INSTRUMENT, self.number)
            .number(tag::HOOK, hook)
            .number(tag::LOG_LEVEL, log::max_level() as u64)
            .with(tag::CONTEXT, &encoded(&cx.context()));
        if let Some(pass) = pass {
            let levels = [pass.level.0, pass.opt_level];
            message = message.with(tag::PASS, &[&levels[..], pass.name.as_bytes()].concat());
            message = message.with(tag::PLUGIN, pass.plugin.as_bytes());
            message = pass.required.iter().fold(message, |message, pass| message.with(tag::REQUIRED, pass.as_bytes()));
        }
        let message = more(message);
        let process = held.process.clone();
        let seconds = self.worker.seconds().or(Some(60));
        let answer = held.lane().and_then(|lane| {
            let ship = module.map(|module| lane.exchange.ship_module(module)).unwrap_or_default();
            exchange_within(lane, &process, &message, &ship, seconds, &|| false)
        });
        let answer = answer.map_err(|error| process.end(&error).error(""))?;
        held.put_back();
        if answer.kind == kind::DONE { Ok(answer) } else { Err(answer.failure()) }
    }

    /// Calls a hook that cannot fail.
    fn tell(
        &self,
        hook: u64,
        cx: &InstrumentCx<'_>,
        module: Option<&IRModule>,
        pass: &PassInfo<'_>,
        more: impl FnOnce(Message) -> Message,
    ) {
        if let Err(error) = self.hook(hook, cx, module, Some(pass), more) {
            self.keep(error);
        }
    }

    fn keep(&self, error: PassError) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// A context as messages have it.
fn encoded(context: &PassContext) -> Vec<u8> {
    let [required, disabled] = [context.required().collect::<Vec<_>>(), context.disabled().collect()]
        .map(|names| names.into_iter().map(str::to_owned).collect::<Vec<String>>());
    PassContext::encode(context.opt_level(), &required, &disabled, |_| Vec::new(), context.options())
}

/// With nothing more.
fn no_more(message: Message) -> Message {
    message
}

impl Instrument for AwayInstrument {
    type Options = ();

    fn new((): ()) -> Result<Self, PassError> {
        Err(PassError::new("an instrument of another process is made there"))
    }

    fn enter(&self, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        self.hook(hook::ENTER, cx, None, None, no_more).map(|_| ())
    }

    fn exit(&self, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        let left = self.hook(hook::EXIT, cx, None, None, no_more);
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        left.and(fault.map_or(Ok(()), Err))
    }

    fn should_run(&self, module: &IRModule, pass: &PassInfo<'_>, cx: &InstrumentCx<'_>) -> Result<bool, PassError> {
        self.hook(hook::SHOULD_RUN, cx, Some(module), Some(pass), no_more).map(|answer| answer.get(tag::NUMBER) != 0)
    }

    fn before(&self, module: &IRModule, pass: &PassInfo<'_>, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        self.hook(hook::BEFORE, cx, Some(module), Some(pass), no_more).map(|_| ())
    }

    fn after(&self, module: &IRModule, pass: &PassInfo<'_>, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        self.hook(hook::AFTER, cx, Some(module), Some(pass), no_more).map(|_| ())
    }

    fn skipped(&self, module: &IRModule, pass: &PassInfo<'_>, reason: &Skipped<'_>, cx: &InstrumentCx<'_>) {
        self.tell(hook::SKIPPED, cx, Some(module), pass, |message| {
            message.number(tag::NUMBER, reason.kind.0.into()).with(tag::TEXT, reason.reason.as_bytes())
        });
    }

    fn failed(&self, pass: &PassInfo<'_>, error: &PassError, cx: &InstrumentCx<'_>) {
        self.tell(hook::FAILED, cx, None, pass, |message| message.with(tag::BYTES, &error_bytes(error)));
    }

    fn counted(&self, pass: &PassInfo<'_>, statistic: &str, n: u64, cx: &InstrumentCx<'_>) {
        self.tell(hook::COUNTED, cx, None, pass, |message| {
            message.number(tag::NUMBER, n).with(tag::TEXT, statistic.as_bytes())
        });
    }

    fn said(&self, pass: &PassInfo<'_>, said: &Said<'_>, cx: &InstrumentCx<'_>) {
        let said_bytes = |said: &Diagnostic| diagnostic_bytes(said);
        self.tell(hook::SAID, cx, None, pass, |message| {
            let message = message.with(tag::DIAGNOSTIC, &said_bytes(&said.diagnostic));
            message.with(tag::TEXT, said.line.unwrap_or_default().as_bytes())
        });
    }

    fn took(&self, pass: &PassInfo<'_>, duration: Duration, cx: &InstrumentCx<'_>) {
        let nanoseconds = duration.as_nanos().try_into().unwrap_or(u64::MAX);
        self.tell(hook::TOOK, cx, None, pass, |message| message.number(tag::NUMBER, nanoseconds));
    }

    fn accept(&self, module: &IRModule, pass: &PassInfo<'_>, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        self.hook(hook::ACCEPT, cx, Some(module), Some(pass), no_more).map(|_| ())
    }

    fn findings(&self, cx: &InstrumentCx<'_>) -> Option<Findings> {
        let answer = match self.hook(hook::FINDINGS, cx, None, None, no_more) {
            Ok(answer) => answer,
            Err(error) => {
                let text = format!("its findings are lost: {error}\n");
                return Some(Findings { text, data: Value::Struct(Vec::new()) });
            }
        };
        answer.has(tag::TEXT).then(|| {
            let data = Value::decode(answer.bytes(tag::BYTES)).unwrap_or(Value::Struct(Vec::new()));
            Findings { text: answer.text(tag::TEXT).to_owned(), data }
        })
    }

    fn wants_remarks(&self) -> bool {
        self.wants_remarks
    }

    fn time_limit(&self, pass: &PassInfo<'_>, cx: &InstrumentCx<'_>) -> Option<TimeLimit> {
        let answer = self.hook(hook::TIME_LIMIT, cx, None, Some(pass), no_more);
        let answer = answer.map_err(|error| self.keep(error)).ok()?;
        answer.has(tag::NUMBER).then(|| TimeLimit {
            duration: Duration::from_nanos(answer.get(tag::NUMBER)),
            message: answer.text(tag::TEXT).to_owned(),
        })
    }
}
