//! The hooks of instruments, which the host calls.

use super::{Server, context_of, lock, log_filter};
use crate::{
    loaded::PluginInstrument,
    worker::{Lane, Message, diagnostic_of, error_of, hook, kind, tag},
};
use abi_stable::std_types::{ROption, RResult, RSlice, RStr};
use relais_plugin_api::{
    boundary::instrument::{HookCall, HookResult, InstrumentObject, PassInfoRec},
    diagnostics::PassError,
    instrument::SkipKind,
    ir::IRModule,
    options::Value,
};
use std::sync::{Arc, Mutex, atomic::Ordering};

impl Server {
    /// Makes an instrument.
    pub(super) fn create_instrument(&self, message: &Message) -> Result<Message, PassError> {
        let options = Value::decode(message.bytes(tag::BYTES)).map_err(PassError::new)?;
        let made = self.registry.create_instrument(message.text(tag::NAME), &options).map_err(|error| match error {
            crate::registry::CreateError::Make { error, .. } => error,
            error => PassError::new(error),
        })?;
        let wants_remarks = crate::pass::PassInstrument::wants_remarks(&made);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.instruments).insert(number, Arc::new(made));
        Ok(Message::new(kind::DONE).number(tag::NUMBER, number).number(tag::REMARKS, wants_remarks.into()))
    }

    /// Calls a hook.
    pub(super) fn hook(&self, message: &Message, lane: &Mutex<Lane>) -> Result<Message, PassError> {
        log::set_max_level(log_filter(message.get(tag::LOG_LEVEL)));
        let lacks = || PassError::new("its process does not have the instrument");
        let instrument = lock(&self.instruments).get(&message.get(tag::INSTRUMENT)).cloned().ok_or_else(lacks)?;
        let module = match &*message.ship {
            [] => IRModule::new(),
            ship => lock(lane).exchange.module(ship).map_err(unreadable)?,
        };
        let _guard = Arc::new(context_of(message.bytes(tag::CONTEXT))?).adopt();
        call_hook(&instrument, message, &module)
    }
}

fn unreadable(error: impl std::fmt::Display) -> PassError {
    PassError::new(format_args!("what the host sent cannot be read: {error}"))
}

fn call_hook(instrument: &PluginInstrument, message: &Message, module: &IRModule) -> Result<Message, PassError> {
    let required: Vec<&str> = message.all(tag::REQUIRED).map_while(|field| field.text().ok()).collect();
    let required: Vec<RStr<'_>> = required.into_iter().map(RStr::from).collect();
    let (levels, name) = message.bytes(tag::PASS).split_at_checked(2).unwrap_or((&[0, 0], &[]));
    let pass = PassInfoRec {
        name: std::str::from_utf8(name).map_err(unreadable)?.into(),
        plugin: message.text(tag::PLUGIN).into(),
        level: levels[0],
        opt_level: levels[1],
        required: RSlice::from_slice(&required),
    };
    let (number, text) = (message.get(tag::NUMBER), message.text(tag::TEXT));
    let done = || Message::new(kind::DONE);
    let answer = |message: Message| move |()| message;
    type Call<'a> = (&'a HookCall<'a>, &'a InstrumentObject);
    let simple =
        |hook: &dyn Fn(Call<'_>) -> HookResult| instrument.hook(|call, it| hook((call, it))).map(answer(done()));
    match message.get(tag::HOOK) {
        hook::ENTER => simple(&|(call, it)| it.enter(call)),
        hook::EXIT => simple(&|(call, it)| it.exit(call)),
        hook::SHOULD_RUN => {
            let may_run = instrument.hook(|call, it| it.should_run(call, module, &pass))?;
            Ok(done().number(tag::NUMBER, may_run.into()))
        }
        hook::BEFORE => simple(&|(call, it)| it.before(call, module, &pass)),
        hook::AFTER => simple(&|(call, it)| it.after(call, module, &pass)),
        hook::SKIPPED => simple(&|(call, it)| it.skipped(call, module, &pass, SkipKind(number as u8), text)),
        hook::FAILED => {
            let error = error_of(message.bytes(tag::BYTES)).map_err(unreadable)?;
            simple(&|(call, it)| it.failed(call, &pass, &error))
        }
        hook::COUNTED => simple(&|(call, it)| it.counted(call, &pass, text, number)),
        hook::SAID => {
            let said = diagnostic_of(message.bytes(tag::DIAGNOSTIC)).map_err(unreadable)?;
            simple(&|(call, it)| it.said(call, &pass, said.rec(), text))
        }
        hook::TOOK => simple(&|(call, it)| it.took(call, &pass, number)),
        hook::ACCEPT => simple(&|(call, it)| it.accept(call, module, &pass)),
        hook::FINDINGS => Ok(match instrument.hook(|call, it| it.findings(call))? {
            ROption::RSome(found) => done().with(tag::TEXT, found.text.as_bytes()).with(tag::BYTES, &found.data),
            ROption::RNone => done(),
        }),
        hook::TIME_LIMIT => Ok(match instrument.hook(|call, it| it.time_limit(call, &pass))? {
            ROption::RSome(limit) => {
                done().number(tag::NUMBER, limit.nanoseconds).with(tag::TEXT, limit.message.as_bytes())
            }
            ROption::RNone => done(),
        }),
        other => {
            instrument.hook(|_, _| RResult::ROk(())).and(Err(unreadable(format_args!("there is no hook {other}"))))
        }
    }
}
