//! Passes whose plugin is in another process, for the host as those of every other plugin.

use super::{
    lane::{Lane, LaneError},
    message::{Message, diagnostic_of, kind, tag},
    of_plugin::{Held, Worker},
    process::{Logged, Process},
};
use crate::isolation::Sandbox;
use abi_stable::std_types::RArc;
use relais_plugin_api::{
    boundary::{
        abi::{CallCx, StepRec, error_kind, wanted},
        foreign::{ForeignBegun, ForeignPass},
    },
    context::ContextSettings,
    diagnostics::PassError,
    facts::OpFactsTable,
    infer::{Coverage, infer_function},
    ir::{Function, Global, IRModule},
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The most diagnostics of a call, and the most bytes of them.
const MOST_SAID: (usize, usize) = (64 << 10, 8 << 20);
/// The most counts of a call.
const MOST_COUNTS: usize = 1024;
/// How long a call may go on after it was told to end.
const GRACE: Duration = Duration::from_millis(250);

/// A pass of a plugin in another process.
pub(super) struct AwayPass {
    worker: Arc<Worker>,
    name: String,
    options: Vec<u8>,
    /// The process that has it, and its number there.
    made: Mutex<(u64, u64)>,
}

/// The state of a pass that has begun: the process that has it, and its number there.
struct AwayBegun {
    worker: Arc<Worker>,
    generation: u64,
    number: u64,
}

impl Drop for AwayBegun {
    fn drop(&mut self) {
        let Ok(mut held) = self.worker.held_of(self.generation) else { return };
        let gone = Message::new(kind::DROP).number(tag::BEGUN, self.number);
        match exchange_alone(&mut held, gone, self.worker.seconds()) {
            Ok(_) => held.put_back(),
            Err(error) => drop(held.process.end(&error)),
        }
    }
}

impl Drop for AwayPass {
    fn drop(&mut self) {
        let (generation, number) = *self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(mut held) = self.worker.held_of(generation) else { return };
        let gone = Message::new(kind::DROP).number(tag::NUMBER, number);
        match exchange_alone(&mut held, gone, self.worker.seconds()) {
            Ok(answer) => {
                held.put_back();
                if answer.kind == kind::FAILED {
                    self.worker.fault(answer.failure().rec().message.to_string());
                }
            }
            Err(error) => {
                let end = held.process.end(&error);
                self.worker.fault(format!("pass `{}`, when it was dropped: {}", self.name, end.how));
            }
        }
    }
}

pub(super) fn lied(why: impl std::fmt::Display) -> PassError {
    PassError::with_kind(error_kind::HOST, format_args!("the answer of its process cannot be used: {why}"))
        .code("worker-lied")
        .help("its author has to mend it; `--disable` runs a pipeline without a pass")
}

/// Asks for something other than a run of a pass, for which there is a minute if there is no limit.
pub(super) fn exchange_alone(held: &mut Held, message: Message, seconds: Option<u64>) -> Result<Message, LaneError> {
    let process = held.process.clone();
    exchange_within(held.lane()?, &process, &message, &[], seconds.or(Some(60)), &|| false)
}

/// Asks something that runs code of the plugin, and takes as long as it may.
pub(super) fn exchange_within(
    lane: &mut Lane,
    process: &Process,
    message: &Message,
    ship: &[u8],
    seconds: Option<u64>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Message, LaneError> {
    let begun = Instant::now();
    let mut told: Option<Instant> = None;
    let mut watch = || {
        if let Some(seconds) = seconds.filter(|&seconds| begun.elapsed() >= Duration::from_secs(seconds)) {
            return Err(LaneError::Stopped(format!("it took longer than {seconds} s")));
        }
        match told {
            None if is_cancelled() => told = Some(Instant::now()),
            Some(since) if since.elapsed() > GRACE => {
                return Err(LaneError::Stopped("it did not stop when it was told to".into()));
            }
            _ if process.has_ended() => return Err(LaneError::Closed),
            _ => {}
        }
        Ok(())
    };
    lane.send(message, ship, &mut watch)?;
    let mut logged = Logged::default();
    loop {
        match lane.receive(&mut watch)? {
            message if message.kind == kind::LOG => logged.take(&message),
            message => return Ok(message),
        }
    }
}

/// The argument of a call.
#[derive(Clone, Copy)]
enum Given<'a> {
    Function(&'a RArc<Function>),
    Module(&'a IRModule),
}

/// The result of a call.
enum Back {
    Message(Message),
    Function(Option<RArc<Function>>),
    Module(Option<IRModule>),
}

impl AwayPass {
    /// Makes a pass.
    pub fn create(worker: Arc<Worker>, name: &str, options: &[u8]) -> Result<Self, PassError> {
        let this = Self { worker, name: name.to_owned(), options: options.to_vec(), made: Mutex::new((0, 0)) };
        let (held, _) = this.held()?;
        held.put_back();
        Ok(this)
    }

    /// A lane of a process in which the pass is made, and its number there.
    fn held(&self) -> Result<(Held, u64), PassError> {
        let mut held = self.worker.held()?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.0 != held.process.generation {
            let message =
                Message::new(kind::CREATE).with(tag::NAME, self.name.as_bytes()).with(tag::BYTES, &self.options);
            let answer = exchange_alone(&mut held, message, self.worker.seconds())
                .map_err(|error| held.process.end(&error).error(""))?;
            if answer.kind != kind::DONE {
                held.put_back();
                return Err(answer.failure());
            }
            *made = (held.process.generation, answer.get(tag::NUMBER));
        }
        Ok((held, made.1))
    }

    fn number(&self) -> u64 {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    fn run(&self, call: &CallCx<'_>, message: Message, given: Given<'_>) -> Result<Back, PassError> {
        let (held, number) = self.held()?;
        self.run_on(held, call, message.number(tag::NUMBER, number), given)
    }

    /// Calls the pass, and does what it asks for meanwhile.
    fn run_on(&self, mut held: Held, call: &CallCx<'_>, message: Message, given: Given<'_>) -> Result<Back, PassError> {
        let remarks = call.wants(wanted::REMARKS) & wanted::REMARKS;
        let message = message
            .with(tag::CONTEXT, &call.context())
            .number(tag::REMARKS, remarks.into())
            .number(tag::LOG_LEVEL, call.log_level().into());
        let (process, number) = (held.process.clone(), held.number);
        let call_number = process.next_call();
        let message = message.number(tag::CALL, call_number);
        let begun = Instant::now();
        let mut told: Option<Instant> = None;
        let seconds = self.worker.seconds();
        let mut cause = None;
        let mut watch = || {
            if let Some(seconds) = seconds.filter(|&seconds| begun.elapsed() >= Duration::from_secs(seconds)) {
                return Err(LaneError::Stopped(format!("it took longer than {seconds} s")));
            }
            match told {
                None if call.is_cancelled() => {
                    told = Some(Instant::now());
                    process.tell(&Message::new(kind::CANCEL).number(tag::NUMBER, number).number(tag::CALL, call_number))
                }
                Some(since) if since.elapsed() > GRACE => {
                    let message = "it did not stop when it was told to, and its process was ended";
                    cause = Some(PassError::with_kind(error_kind::CANCELLED, message));
                    Err(LaneError::Stopped(String::new()))
                }
                _ if process.has_ended() => Err(LaneError::Closed),
                _ => Ok(()),
            }
        };
        let is_prim_func = match given {
            Given::Function(function) => {
                let is_meant = |global: &&Global| std::ptr::eq(&**global.body(), &**function);
                call.module().globals().iter().find(is_meant).is_some_and(|global| global.prim_func().is_some())
            }
            Given::Module(_) => false,
        };
        let is_confined = self.worker.spec.isolation.sandbox != Sandbox::None;
        let (is_program, logged) = (self.worker.spec.program.is_some(), Logged::default());
        let mut turn = Turn {
            call,
            given,
            sent: Vec::new(),
            is_prim_func,
            is_confined,
            is_program,
            logged,
            n_said: 0,
            bytes_said: 0,
        };
        let result = held.lane().and_then(|lane| turn.take(message, lane, &mut watch));
        let message = result.map_err(|error| {
            let end = process.end(&error);
            cause.unwrap_or_else(|| match error {
                LaneError::Broken(_) => lied(&end.how),
                _ => end.error(""),
            })
        })?;
        let answer = held.lane().map_err(lied).and_then(|lane| turn.finish(message, lane));
        match answer {
            Ok(answer) => {
                if let (Given::Function(function), Ok(lane)) = (given, held.lane()) {
                    lane.last = Some((function.clone(), std::mem::take(&mut turn.sent)));
                }
                held.put_back();
                answer
            }
            Err(lie) => {
                // It is not believed again.
                process.end(&LaneError::Broken(lie.rec().message.to_string()));
                Err(lie)
            }
        }
    }

    fn run_function(
        &self,
        kind: u16,
        call: &CallCx<'_>,
        function: &RArc<Function>,
        begun: Option<&AwayBegun>,
    ) -> Result<Option<RArc<Function>>, PassError> {
        let name = call.module().bodies().find(|(_, body)| std::ptr::eq(&***body, &**function));
        let message = Message::new(kind).with(tag::GLOBAL, name.map_or("", |(name, _)| name).as_bytes());
        let back = match begun {
            None => self.run(call, message, Given::Function(function))?,
            Some(begun) => {
                let message = message.number(tag::BEGUN, begun.number).number(tag::NUMBER, self.number());
                self.run_on(self.worker.held_of(begun.generation)?, call, message, Given::Function(function))?
            }
        };
        match back {
            Back::Function(function) => Ok(function),
            _ => Err(lied("it is of another kind")),
        }
    }
}

impl ForeignPass for AwayPass {
    fn function(&self, call: &CallCx<'_>, function: &RArc<Function>) -> Result<Option<RArc<Function>>, PassError> {
        self.run_function(kind::FUNCTION, call, function, None)
    }

    fn prim_func(&self, call: &CallCx<'_>, prim_func: &RArc<Function>) -> Result<Option<RArc<Function>>, PassError> {
        self.run_function(kind::PRIM_FUNC, call, prim_func, None)
    }

    fn module(&self, call: &CallCx<'_>, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        match self.run(call, Message::new(kind::MODULE), Given::Module(module))? {
            Back::Module(module) => Ok(module),
            _ => Err(lied("it is of another kind")),
        }
    }

    fn steps(&self) -> Result<Vec<StepRec>, PassError> {
        let (mut held, number) = self.held()?;
        let message = Message::new(kind::STEPS).number(tag::NUMBER, number);
        let answer = exchange_alone(&mut held, message, self.worker.seconds())
            .map_err(|error| held.process.end(&error).error(""))?;
        held.put_back();
        if answer.kind != kind::DONE {
            return Err(answer.failure());
        }
        let step = |bytes: &[u8]| {
            let (len, rest) = bytes.split_at_checked(4)?;
            let len = u32::from_le_bytes(len.try_into().ok()?) as usize;
            let (options, name) = rest.split_at_checked(len)?;
            let pass = std::str::from_utf8(name).ok()?.into();
            Some(StepRec { pass, options: options.into(), more: Vec::new().into() })
        };
        answer.all(tag::STEP).map(|field| step(field.bytes).ok_or_else(|| lied("a member is none"))).collect()
    }

    fn check(&self, call: &CallCx<'_>, module: &IRModule) -> Result<(), PassError> {
        if self.worker.spec.program.is_some() {
            return Ok(());
        }
        self.run(call, Message::new(kind::CHECK), Given::Module(module)).map(|_| ())
    }

    fn begin(&self, call: &CallCx<'_>, module: &IRModule) -> Result<ForeignBegun, PassError> {
        let (held, number) = self.held()?;
        let generation = held.process.generation;
        match self.run_on(held, call, Message::new(kind::BEGIN).number(tag::NUMBER, number), Given::Module(module))? {
            Back::Message(message) => {
                let number = message.get(tag::BEGUN);
                Ok(Box::new(AwayBegun { worker: self.worker.clone(), generation, number }))
            }
            _ => Err(lied("it is of another kind")),
        }
    }

    fn on_function(
        &self,
        begun: &ForeignBegun,
        call: &CallCx<'_>,
        function: &RArc<Function>,
    ) -> Result<Option<RArc<Function>>, PassError> {
        let begun = begun.downcast_ref().ok_or_else(|| lied("the state is another pass's"))?;
        self.run_function(kind::ON_FUNCTION, call, function, Some(begun))
    }

    fn end(&self, begun: ForeignBegun, call: &CallCx<'_>, module: &IRModule) -> Result<(), PassError> {
        let begun = begun.downcast::<AwayBegun>().map_err(|_| lied("the state is another pass's"))?;
        let message = Message::new(kind::END).number(tag::BEGUN, begun.number).number(tag::NUMBER, self.number());
        self.run_on(self.worker.held_of(begun.generation)?, call, message, Given::Module(module)).map(|_| ())
    }
}

/// Infers the types of a function; faults of calls are found again when the host takes it over.
fn infer_types(call: CallCx<'_>, f: &mut Function) {
    let mut relations = OpFactsTable::new(call, f);
    infer_function(f, &mut relations, Coverage::Missing);
}

/// A call while it lasts.
struct Turn<'a, 'b> {
    call: &'a CallCx<'b>,
    given: Given<'a>,
    /// Its argument, as it was shipped.
    sent: Vec<u8>,
    /// Whether it is a loop program, all types of which the host infers when it takes it over.
    is_prim_func: bool,
    /// Whether its process is in a sandbox.
    is_confined: bool,
    /// Whether its plugin is a program.
    is_program: bool,
    logged: Logged,
    n_said: usize,
    bytes_said: usize,
}

impl Turn<'_, '_> {
    /// Calls the pass, and answers until it is done.
    fn take(
        &mut self,
        message: Message,
        lane: &mut Lane,
        watch: &mut super::lane::Watch<'_>,
    ) -> Result<Message, LaneError> {
        let known = lane.last.take();
        match self.given {
            Given::Function(function) => match known.filter(|(last, _)| std::ptr::eq(&**last, &**function)) {
                Some((_, sent)) => {
                    self.sent = sent;
                    lane.send(&message.number(tag::SAME, 1), &[], watch)?;
                }
                None => {
                    self.sent = lane.exchange.ship_function(function);
                    lane.send(&message, &self.sent, watch)?;
                }
            },
            Given::Module(module) => {
                self.sent = lane.exchange.ship_module(module);
                lane.send(&message, &self.sent, watch)?;
            }
        }
        loop {
            let message = lane.receive(watch)?;
            if matches!(message.kind, kind::DONE | kind::FAILED) {
                return Ok(message);
            }
            if let Some((answer, ship)) = self.answer(&message, lane)? {
                lane.send(&answer, &ship, watch)?;
            }
        }
    }

    /// Does what the pass asks for.
    fn answer(&mut self, message: &Message, lane: &mut Lane) -> Result<Option<(Message, Vec<u8>)>, LaneError> {
        let call = self.call;
        let answer = Message::new(kind::ANSWER);
        let of = |result: Result<(), PassError>| match result {
            Ok(()) => Message::new(kind::ANSWER),
            Err(error) => Message::new(kind::ANSWER).error(&error),
        };
        let answer = match message.kind {
            kind::LOG => {
                self.logged.take(message);
                return Ok(None);
            }
            kind::PROGRESS => {
                call.progress(message.get(tag::NUMBER), message.get(tag::TOTAL));
                return Ok(None);
            }
            kind::ASK_MODULE => {
                let ship = lane.exchange.ship_module(call.module());
                return Ok(Some((answer, ship)));
            }
            // It runs passes of others itself.
            kind::GET_PASS | kind::RUN_PASS | kind::ENTER | kind::LEAVE if self.is_program => {
                return Err(LaneError::Broken(format!("it sent a message of kind {}", message.kind)));
            }
            kind::GET_PASS => match call.get_pass(message.text(tag::NAME), message.bytes(tag::BYTES)) {
                Ok(number) => answer.number(tag::NUMBER, number.into()),
                Err(error) => answer.error(&error),
            },
            kind::RUN_PASS => {
                // A pass of the host's sees the module, so it is checked as a result is.
                let before = call.module();
                let sent = match self.given {
                    Given::Module(module) if std::ptr::eq(module, before) => None,
                    _ => Some(lane.exchange.ship_module(before)),
                };
                let sent = sent.as_deref().unwrap_or(&self.sent);
                let module = lane.exchange.module_back(&message.ship, (before, sent), |f| infer_types(*call, f));
                let module = module.map_err(|error| LaneError::Broken(error.to_string()))?;
                let number = u32::try_from(message.get(tag::NUMBER)).unwrap_or(u32::MAX);
                match call.run_pass(number, &module) {
                    Ok(Some(new)) => {
                        let ship = lane.exchange.ship_module(&new);
                        return Ok(Some((answer, ship)));
                    }
                    Ok(None) => answer.number(tag::UNCHANGED, 1),
                    Err(error) => answer.error(&error),
                }
            }
            kind::FILE => of(call.file(message.text(tag::NAME), &message.ship)),
            kind::ENTER => {
                let settings = message.bytes(tag::BYTES);
                let entered = self.may_enter(settings).and_then(|()| call.enter_context(settings));
                of(entered).with(tag::CONTEXT, &call.context())
            }
            kind::LEAVE => of(call.leave_context()).with(tag::CONTEXT, &call.context()),
            other => return Err(LaneError::Broken(format!("it sent a message of kind {other}"))),
        };
        Ok(Some((answer, Vec::new())))
    }

    /// Refuses the instruments of a context: those of the host write files, with the rights of the user.
    fn may_enter(&self, settings: &[u8]) -> Result<(), PassError> {
        let settings = ContextSettings::decode(settings)?;
        match settings.instruments.first() {
            Some((name, _)) if self.is_confined => {
                let message =
                    format_args!("it enters a context with the instrument `{name}`, which a sandbox denies it");
                Err(PassError::new(message)
                    .help("`sandbox = \"none\"` in the pipeline's `[plugins]` allows it everything"))
            }
            _ => Ok(()),
        }
    }

    /// Reads the result. The outer error is a lie of the process.
    fn finish(&mut self, message: Message, lane: &Lane) -> Result<Result<Back, PassError>, PassError> {
        for field in message.all(tag::DIAGNOSTIC) {
            self.n_said += 1;
            self.bytes_said += field.bytes.len();
            if self.n_said > MOST_SAID.0 || self.bytes_said > MOST_SAID.1 {
                return Err(lied("it said too much"));
            }
            self.call.diagnostic(diagnostic_of(field.bytes).map_err(lied)?.into_rec());
        }
        let mut n_counts = 0;
        for field in message.all(tag::COUNT) {
            n_counts += 1;
            if n_counts > MOST_COUNTS {
                return Err(lied("it counted too much"));
            }
            let (n, statistic) = field.bytes.split_at_checked(8).ok_or_else(|| lied("a count is none"))?;
            let n = u64::from_le_bytes(n.try_into().map_err(lied)?);
            self.call.count(std::str::from_utf8(statistic).map_err(lied)?, n);
        }
        if message.kind == kind::FAILED {
            return Ok(Err(message.failure()));
        }
        let (call, is_unchanged) = (self.call, message.has(tag::UNCHANGED));
        let infer = |f: &mut Function| infer_types(*call, f);
        Ok(Ok(match self.given {
            Given::Function(_) if is_unchanged => Back::Function(None),
            Given::Function(function) if !message.ship.is_empty() => {
                let sent = (&**function, &*self.sent);
                let new = match self.is_prim_func {
                    true => lane.exchange.function_back(&message.ship, sent, |_| {}),
                    false => lane.exchange.function_back(&message.ship, sent, infer),
                };
                let new = new.map_err(lied)?;
                Back::Function(Some(RArc::new(new)))
            }
            Given::Module(_) if is_unchanged => Back::Module(None),
            Given::Module(module) if !message.ship.is_empty() => {
                let new = lane.exchange.module_back(&message.ship, (module, &self.sent), infer).map_err(lied)?;
                Back::Module(Some(new))
            }
            _ => Back::Message(message),
        }))
    }
}
